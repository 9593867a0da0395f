"""Jobs that do nothing, through procrastinate: procrastinate_jobs.py URL WORKERS JOBS; prints seconds."""

import asyncio
import json
import sys
import time

import procrastinate

url, workers, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
connector = procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=workers)
app = procrastinate.App(connector=connector)


@app.task(name="work")
async def work(n: int) -> None:
    pass


async def main() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for at in range(0, jobs, 1000):
            await work.batch_defer_async(*({"n": n} for n in range(at, min(jobs, at + 1000))))
        start = time.perf_counter()
        await app.run_worker_async(concurrency=workers, wait=False, install_signal_handlers=False)
        seconds = time.perf_counter() - start
        left = await connector.execute_query_one_async(
            "SELECT count(*) AS n FROM procrastinate_jobs WHERE status <> 'succeeded'"
        )
        assert left["n"] == 0, left
        print(json.dumps({"seconds": seconds}))


asyncio.run(main())
