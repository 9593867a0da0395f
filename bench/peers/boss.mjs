// Jobs that do nothing, through pg-boss: node boss.mjs URL WORKERS JOBS; prints seconds.
//
// Each worker fetches one job and completes it, and goes on at once: `boss.work` would wait half a second
// between two, whatever there is to do.
import PgBoss from "pg-boss";

const [url, workers, jobs] = process.argv.slice(2);
const boss = new PgBoss({ connectionString: url, max: Number(workers), supervise: false, schedule: false });
boss.on("error", (error) => { throw error; });
await boss.start();
await boss.createQueue("work");
const all = Array.from({ length: Number(jobs) }, (_, n) => ({ name: "work", data: { n } }));
for (let at = 0; at < all.length; at += 1000) await boss.insert(all.slice(at, at + 1000));
const start = process.hrtime.bigint();
await Promise.all(Array.from({ length: Number(workers) }, async () => {
  for (;;) {
    const fetched = await boss.fetch("work");
    if (fetched.length === 0) return;
    await boss.complete("work", fetched[0].id);
  }
}));
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
console.log(JSON.stringify({ seconds }));
await boss.stop({ graceful: false });
