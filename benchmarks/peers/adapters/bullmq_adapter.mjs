// BullMQ on Redis.
import { load, Peer, serve, version } from "./serve.mjs";

const { Queue, Worker } = load("bullmq");
const CONCURRENCY = 300;

class Bull extends Peer {
  clients = ["ioredis"];
  describe() {
    return {
      version: version("bullmq"),
      settings:
        `two workers, each a process (its guide's way), with concurrency=${CONCURRENCY}: of 100, 300 and 500 with one and with two ` +
        "workers the fastest here, one worker with 100 being close; addBulk; completed jobs kept " +
        "(its default); batches of jobs are for its paid edition",
    };
  }
  async open(url) {
    const { hostname: host, port, pathname } = new URL(url);
    this.connection = { host, port: Number(port), db: Number(pathname.slice(1)), maxRetriesPerRequest: null };
    this.queue = new Queue("q", { connection: this.connection });
    await this.queue.waitUntilReady();
  }
  async push(message) {
    await this.queue.add("job", message);
  }
  async pushMany(messages) {
    await this.queue.addBulk(messages.map((data) => ({ name: "job", data })));
  }
  async start() {
    const work = async (job) => this.handle(job.data.n);
    this.worker = new Worker("q", work, { connection: this.connection, concurrency: CONCURRENCY });
    await this.worker.waitUntilReady();
  }
  async stop() {
    await this.worker.close();
  }
  async left() {
    return this.queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized");
  }
}

serve(new Bull());
