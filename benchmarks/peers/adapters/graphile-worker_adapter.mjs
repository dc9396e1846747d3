// graphile-worker with the batching that its performance guide describes. Jobs are deleted: it keeps no history.
import { load, Peer, serve, version } from "./serve.mjs";

const { Logger, makeWorkerUtils, run } = load("graphile-worker");
const { Pool } = load("pg");
const LOCAL = 500;
const CONCURRENCY = 24;
const quiet = new Logger(() => () => {});

class Graphile extends Peer {
  clients = ["pg"];
  describe() {
    return {
      version: version("graphile-worker"),
      settings:
        `localQueue.size=${LOCAL}, completeJobBatchDelay=0, failJobBatchDelay=0, concurrentJobs=${CONCURRENCY}: the values ` +
        "of its own performance test (docs/performance, batching); addJobs in batches; LISTEN on; jobs are deleted, no history",
    };
  }
  async open(url, make) {
    this.pool = new Pool({ connectionString: url, max: CONCURRENCY + 4 });
    this.pool.on("error", (error) => console.error(error));
    this.preset = {
      worker: {
        concurrentJobs: CONCURRENCY,
        maxPoolSize: CONCURRENCY + 4,
        localQueue: { size: LOCAL },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    };
    this.jobs = await makeWorkerUtils({ pgPool: this.pool, logger: quiet, preset: this.preset });
    if (make) await this.jobs.migrate();
  }
  async push(message) {
    await this.jobs.addJob("job", message);
  }
  async pushMany(messages) {
    await this.jobs.addJobs(messages.map((payload) => ({ identifier: "job", payload })));
  }
  async start() {
    this.runner = await run({
      pgPool: this.pool,
      logger: quiet,
      noHandleSignals: true,
      preset: this.preset,
      taskList: { job: async ({ n }) => this.handle(n) },
    });
  }
  async stop() {
    await this.runner.stop();
  }
  async left() {
    const found = await this.pool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs");
    return found.rows[0].n;
  }
}

serve(new Graphile());
