// pg-boss, fetching in batches and woken by NOTIFY.
import { load, Peer, serve, version } from "./serve.mjs";

const { PgBoss } = load("pg-boss");
const { Pool } = load("pg");
const BATCH = 1000;
const WORKERS = 4;

class Boss extends Peer {
  clients = ["pg"];
  describe() {
    return {
      version: version("pg-boss"),
      settings:
        `work() with batchSize=${BATCH}, localConcurrency=${WORKERS} (of 1, 2 and 4 the fastest here), burstWhenBatchFull (its docs: fetch on while batches are full), the queue with notify ` +
        "and useListenNotify, polling 0.5 s (its least); insert() in batches; jobs kept (its default retention); supervise and schedule off",
    };
  }
  async open(url, make) {
    this.pool = new Pool({ connectionString: url, max: 2 });
    this.boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, useListenNotify: true, max: WORKERS + 4 });
    this.boss.on("error", (error) => console.error(error));
    await this.boss.start();
    if (make) await this.boss.createQueue("q", { notify: true });
  }
  async push(message) {
    await this.boss.send("q", message);
  }
  async pushMany(messages) {
    await this.boss.insert("q", messages.map((data) => ({ data })));
  }
  async start() {
    const options = { batchSize: BATCH, localConcurrency: WORKERS, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    await this.boss.work("q", options, async (jobs) => {
      for (const job of jobs) this.handle(job.data.n);
    });
  }
  async stop() {
    await this.boss.offWork("q", { wait: true });
  }
  async left() {
    const found = await this.pool.query("SELECT count(*)::int AS n FROM pgboss.job WHERE name = 'q' AND state < 'completed'");
    return found.rows[0].n;
  }
  async seed(finished, body) {
    await this.pool.query(
      "INSERT INTO pgboss.job (name, state, completed_on, data) SELECT 'q', 'completed', now(), $2::jsonb FROM generate_series(1, $1::int)",
      [finished, JSON.stringify(body)],
    );
    return finished;
  }
}

serve(new Boss());
