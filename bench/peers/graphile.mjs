// Jobs that do nothing, through graphile-worker: node graphile.mjs URL WORKERS JOBS; prints seconds.
import { Logger, makeWorkerUtils, runTaskList } from "graphile-worker";
import pg from "pg";

const [url, workers, jobs] = process.argv.slice(2);
const quiet = new Logger(() => () => {});
const pool = new pg.Pool({ connectionString: url, max: Number(workers) });
const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
await utils.migrate();
await pool.query(
  "SELECT graphile_worker.add_job('work', json_build_object('n', n)) FROM generate_series(1, $1::int) n",
  [jobs],
);
await pool.query("VACUUM ANALYZE");
let done = 0;
let finish;
const finished = new Promise((resolve) => (finish = resolve));
const start = process.hrtime.bigint();
const workerPool = runTaskList(
  { concurrency: Number(workers), logger: quiet, noHandleSignals: true },
  { work: async () => { if (++done === Number(jobs)) finish(); } },
  pool,
);
await finished;
// The last jobs are completed when none is left.
for (;;) {
  const left = await pool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs");
  if (left.rows[0].n === 0) break;
  await new Promise((resolve) => setTimeout(resolve, 2));
}
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
console.log(JSON.stringify({ seconds }));
await workerPool.gracefulShutdown();
await utils.release();
await pool.end();
