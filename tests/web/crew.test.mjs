// What agents leave and do, on the pages: runs with their output, the brief, pads, interfaces, messages, tokens.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { World } from "./harness.mjs";

let world, page;
before(async () => {
  world = await World.start();
  const script = join(world.home, "agent.sh");
  writeFileSync(
    script,
    `echo "looking at the dates"
echo '{"comity":{"usage":{"input":1200,"output":80},"cost_usd":0.25}}'
while [ ! -e "${world.home}/go" ]; do sleep 0.1; done
echo "the dates are done"
`,
  );
  const settings = join(world.dir, ".comity/config.toml");
  writeFileSync(settings, `${readFileSync(settings, "utf8")}\n[drivers.script]\ncommand = ['sh', '${script}']\n`);
  world.commit("A driver");
  world.run("human:ann", "trust");
  page = await world.person();
  page.setDefaultTimeout(30_000);
});
after(async () => {
  await world?.stop();
});

test("a run is in the panel of its task: state, what its agent says as it says it, and its end", async () => {
  const { id } = world.run("human:ann", "task", "create", "Parse dates", "--file", "src/date.rs").task;
  await world.open(page, `/task/${id}`);
  assert.equal(await page.locator("[data-run]").count(), 0);
  const run = world.run("human:ann", "run", "developer", "--task", id, "--driver", "script").run.id;
  const box = page.locator(`[data-run="${run}"]`);
  await box.waitFor();
  await box.locator("text=looking at the dates").waitFor();
  await box.locator(".state:has-text('Running')").waitFor();
  await world.open(page, "/agents");
  await page.locator(`td.fill:has-text("${run} running")`).waitFor();
  await page.locator("th:has-text('Spent today')").waitFor();
  await world.open(page, `/task/${id}`);
  writeFileSync(join(world.home, "go"), "");
  await page.locator(`[data-run="${run}"] .state:has-text('Failed'), [data-run="${run}"] .state:has-text('Succeeded')`).waitFor();
});

test("a run can be stopped in the panel", async () => {
  const { id } = world.run("human:ann", "task", "create", "Print dates").task;
  writeFileSync(join(world.home, "agent.sh"), "echo waiting; sleep 600\n");
  const run = world.run("human:ann", "run", "developer", "--task", id, "--driver", "script").run.id;
  await world.open(page, `/task/${id}`);
  const box = page.locator(`[data-run="${run}"]`);
  await box.locator("text=waiting").first().waitFor();
  await box.getByRole("button", { name: "Stop" }).click();
  await box.locator(".state:has-text('Stopped')").waitFor();
  assert.equal(world.run("human:ann", "run", "show", run).run.state, "stopped");
});

test("the brief of a task, and what agents leave for each other", async () => {
  mkdirSync(join(world.dir, "src"), { recursive: true });
  writeFileSync(join(world.dir, "api.ts"), "export type Day = string;\n");
  const { id } = world.run("human:ann", "task", "create", "Show days", "--file", "src/day.ts").task;
  world.run("codex:2", "interface", "publish", "day-api", "api.ts", "--path", "src/day.ts");
  world.run("codex:2", "note", "change", "Day is a string now", "--path", "src/day.ts");
  await world.open(page, `/task/${id}`);
  const brief = page.locator('[aria-label="Brief"]');
  await brief.locator("text=day-api").waitFor();
  await brief.locator("text=Day is a string now").waitFor();
  await brief.locator("a:has-text('day-api')").click();
  await page.locator("[aria-label='Interface day-api']:has-text('export type Day')").waitFor();
  await world.open(page, "/more?tab=pads");
  await page.getByLabel("Add to it").fill("Days are in UTC");
  await page.getByRole("button", { name: "Add" }).click();
  await page.locator("pre:has-text('Days are in UTC')").waitFor();
  assert.match(world.run("codex:2", "pad", "show").pad.text, /Days are in UTC/);
  await world.open(page, "/more?tab=messages");
  world.run("codex:2", "tell", "all", "the importer is slow today");
  await page.locator("li:has-text('the importer is slow today')").waitFor();
});

test("a token is revoked on the page", async () => {
  const { id, secret } = world.run("human:ann", "token", "create", "--agent", "codex:web").token;
  const ask = () => fetch(world.to("/api/v1/board"), { headers: { Authorization: `Bearer ${secret}` } });
  assert.equal((await ask()).status, 200);
  await world.open(page, "/more?tab=tokens");
  const row = page.locator(`li:has(code:text-is("${id}"))`);
  await row.getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
  assert.equal((await ask()).status, 401);
});
