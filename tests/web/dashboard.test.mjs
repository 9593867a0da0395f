// What a person does with the dashboard, in a real browser against a real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sleep, World } from "./harness.mjs";

let world, page;
before(async () => {
  world = await World.start();
  page = await world.person();
  page.setDefaultTimeout(8000);
});
after(async () => {
  await world?.stop();
});
const card = (id, column) => page.locator(`${column ? `[data-column=${column}] ` : ""}[data-task="${id}"]`);
const create = (title, ...more) => world.run("human:ann", "task", "create", title, ...more).task.id;

/** Waits until a field has the focus: keys that come earlier are lost. */
const typing = (page) => page.waitForFunction(() => document.activeElement?.matches("input, textarea"));

test("a link opens the page once, and its key leaves the address", async () => {
  const link = world.link();
  const context = await world.browser.newContext();
  await world.pages(context);
  const first = await context.newPage();
  await first.goto(link);
  await first.waitForSelector(".rail");
  assert.equal(new URL(first.url()).hash, "");
  await first.reload();
  await first.waitForSelector(".rail");
  const foreign = await world.browser.newContext();
  await world.pages(foreign);
  const other = await foreign.newPage();
  await other.goto(link);
  await other.waitForSelector("text=This page needs a link");
});

test("an empty store says which commands fill it", async () => {
  await world.open(page, "/inbox");
  await page.waitForSelector("text=Three commands fill this page");
  await world.open(page, "/board");
  await page.waitForSelector("text=No tasks yet.");
});

test("a task that is created elsewhere appears by itself", async () => {
  await world.open(page, "/board");
  const id = create("Parse dates", "--file", "src/dates.rs");
  await card(id, "queued").waitFor();
});

test("an answer wakes the process that waits for it", async () => {
  const id = create("Store keys");
  world.run("codex:1", "task", "claim", id, "--start");
  await world.open(page, "/inbox");
  const asks = world.begin(
    "codex:1",
    "decision",
    "ask",
    "Keep the table, or drop it?",
    "--task",
    id,
    "--option",
    "keep:Keep it",
    "--option",
    "drop:Drop it",
    "--wait",
  );
  const item = page.locator("[data-decision=D1]");
  await item.waitFor();
  await item.locator("[data-option=drop]").click();
  const { status, out, err } = await asks.ended;
  assert.equal(status, 0, err);
  assert.equal(JSON.parse(out).decision.answer, "drop");
  await page.waitForSelector(".item.was");
  await page.mouse.move(2, 2);
  await item.waitFor({ state: "detached", timeout: 8000 });
});

test("the keyboard alone: choose, send, go to the board, move a card", async () => {
  const id = create("Write the parser");
  const asks = world.begin(
    "codex:2",
    "decision",
    "ask",
    "Which of the two?",
    "--option",
    "a:The first",
    "--option",
    "b:The second",
    "--wait",
  );
  await world.open(page, "/inbox");
  await page.waitForSelector("[data-decision=D2]");
  await page.keyboard.press("j");
  await page.keyboard.press("2");
  assert.equal(await page.locator("[data-decision=D2] [aria-pressed=true]").getAttribute("data-option"), "b");
  await page.keyboard.press("Enter");
  assert.equal(JSON.parse((await asks.ended).out).decision.answer, "b");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await card(id, "queued").waitFor();
  for (let i = 0; i < 20 && (await page.evaluate(() => document.activeElement?.dataset?.task)) !== id; i++)
    await page.keyboard.press("j");
  assert.equal(await page.evaluate(() => document.activeElement?.dataset?.task), id);
  await page.keyboard.press("m");
  await page.waitForSelector("[role=menu]");
  await page.keyboard.press("Enter");
  await card(id, "working").waitFor();
});

test("a legal drag moves the card, an illegal one says why in the rule's words", async () => {
  const id = create("Drag me");
  await world.open(page, "/board");
  await card(id, "queued").waitFor();
  await page.dragAndDrop(`[data-task="${id}"]`, "[data-column=done]");
  await page.waitForSelector(".card-box .refused");
  assert.match(await page.locator(".card-box .refused").innerText(), new RegExp(id));
  assert.equal(world.run("human:ann", "task", "show", id).task.status, "queued");
  await page.dragAndDrop(`[data-task="${id}"]`, "[data-column=working]");
  await card(id, "working").waitFor();
  assert.equal(world.run("human:ann", "task", "show", id).task.status, "in_progress");
});

test("a drop that wants words opens the panel and asks for them", async () => {
  const id = create("Needs an account");
  await card(id, "queued").waitFor();
  await page.dragAndDrop(`[data-task="${id}"]`, "[data-column=blocked]");
  await page.waitForSelector(`[data-panel=${id}] textarea`);
  await typing(page);
  await page.keyboard.type("a test account");
  await page.keyboard.press("Control+Enter");
  await card(id, "blocked").waitFor();
  assert.equal(world.run("human:ann", "task", "show", id).task.needs, "a test account");
});

test("review: the diff is shown, lines are quoted, changes are requested, and approving meets the gate", async () => {
  const id = create("Round half to even");
  world.submit(id, "codex:3", "round.rs");
  await world.open(page, "/inbox");
  await page.waitForSelector(`[data-task="${id}"] .meta:has-text("1 file, +1")`);
  await world.open(page, `/task/${id}?review=1`);
  await page.waitForSelector("text=round.rs");
  await page.locator("text=Quote hunk").click();
  await page.locator(".review-files >> text=Request changes").click();
  const reason = page.locator("textarea[name=reason]");
  await reason.waitFor();
  assert.match(await reason.inputValue(), /round\.rs:1\n> \+ pub fn/);
  await reason.focus();
  await page.keyboard.press("Control+End");
  await typing(page);
  await page.keyboard.type("Test it.");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".state.changes");
  assert.match(world.run("human:ann", "task", "show", id).task.feedback.text, /Test it\./);

  const other = create("Name the field");
  world.submit(other, "codex:4", "field.rs");
  await world.open(page, "/inbox");
  const row = page.locator(`[data-task="${other}"][data-kind=review]`);
  await row.waitFor();
  await row.focus();
  await page.keyboard.press("a");
  await page.waitForSelector(".item.was");
  assert.equal(world.run("human:ann", "task", "show", other).task.status, "approved");
});

test("a refusal is shown where it was asked for, with its hint", async () => {
  const id = create("Gate it", "--gate", "test");
  world.submit(id, "codex:5", "gate.rs");
  await world.open(page, "/inbox");
  const row = page.locator(`[data-task="${id}"][data-kind=review]`);
  await row.waitFor();
  const approve = row.locator("[data-verb='task.approve']");
  if (await approve.count()) {
    await approve.click();
    await row.locator(".refused").waitFor();
  }
  assert.equal(world.run("human:ann", "task", "show", id).task.status, "review");
});

test("what was just done can be taken back while a rule allows it", async () => {
  const id = create("Give me up");
  world.run("codex:7", "task", "claim", id, "--start");
  world.run("codex:7", "task", "block", id, "--needs", "patience");
  await world.open(page, "/inbox");
  const row = page.locator(`[data-task="${id}"][data-kind=blocked]`);
  await row.locator("[data-verb='task.abandon']").click();
  const why = row.locator("textarea");
  if (await why.count()) {
    await why.fill("not wanted");
    await page.keyboard.press("Control+Enter");
  }
  await page.waitForSelector(".item.was");
  assert.equal(world.run("human:ann", "task", "show", id).task.status, "abandoned");
  await page.locator(".item.was >> text=Undo").click();
  await page.waitForSelector(".item.was", { state: "detached" });
  assert.notEqual(world.run("human:ann", "task", "show", id).task.status, "abandoned");
});

test("a person waives a gate in the panel, checks an item off, and approves", async () => {
  const id = create("Waive it", "--gate", "slow", "--dod", "It is documented", "--file", "waive.rs");
  world.submit(id, "codex:8", "waive.rs");
  await world.open(page, `/task/${id}`);
  await page.locator("[data-panel] button:text-is('Waive')").click();
  await typing(page);
  await page.keyboard.type("the machine is gone");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("text=waived");
  await page.locator("text=Check off").click();
  const approve = page.locator("[data-verb=approve]");
  await approve.waitFor();
  await approve.click();
  await page.waitForSelector(".state.approved");
  assert.equal(world.run("human:ann", "task", "show", id).task.status, "approved");
});

test("tree: a person sees who holds a path and why, and releases it", async () => {
  world.run("codex:9", "lease", "acquire", "src/held.rs");
  await world.open(page, "/tree?path=src/held.rs");
  await page.waitForSelector("tr.held:has-text('codex:9')");
  await page.locator("button:has-text('more, not held')").last().click();
  await page.waitForSelector("td:has-text('README.md')");
  await page.locator(".side >> text=Release").click();
  await page.waitForSelector("tr.held:has-text('held.rs')", { state: "detached" });
  assert.equal(world.run("human:ann", "lease", "list").leases.filter((lease) => lease.path === "src/held.rs").length, 0);
});

test("agents: a person gives a role", async () => {
  await world.open(page, "/agents");
  await page.locator("[aria-label^='Role of codex:9']").click();
  await page.locator("[role=menuitem]:has-text('Critic')").click();
  await page.waitForSelector("tr:has-text('codex:9'):has-text('Critic')");
  assert.ok(world.run("human:ann", "agent", "show", "codex:9").agent.roles.includes("critic"));
});

test("timeline: the playhead is moved by keys, and every mark is a link", async () => {
  await world.open(page, "/timeline?range=1h");
  await page.locator("[role=slider][aria-label^='Moment']").focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForSelector(".band");
  await page.keyboard.press("n");
  await page.waitForSelector(".band", { state: "detached" });
  await page.locator(".lanes a[href*='/task/']").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-panel]");
});

test("`c` makes a task", async () => {
  await world.open(page, "/board");
  await page.locator("body").click({ position: { x: 700, y: 80 } });
  await page.keyboard.press("c");
  await page.waitForSelector("dialog[open]");
  await typing(page);
  await page.keyboard.type("Made in the browser");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-panel] h1:has-text('Made in the browser')");
  const found = world.run("human:ann", "task", "list", "--search", "browser").tasks;
  assert.equal(found[0].title, "Made in the browser");
});

test("markup in texts stays text", async () => {
  const evil = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
  const id = create(evil, "--description", evil, "--label", "x", "--dod", evil);
  world.run("codex:6", "task", "claim", id, "--start");
  world.run("codex:6", "note", "progress", evil, "--task", id);
  world.begin("codex:6", "decision", "ask", evil, "--task", id, "--context", evil, "--option", `a:${evil}`);
  await sleep(300);
  for (const path of ["/inbox", "/board", `/task/${id}`, "/agents", "/more", "/more?tab=decisions", "/timeline"]) {
    await world.open(page, path);
    await sleep(300);
    assert.equal(await page.evaluate(() => window.hit), undefined, path);
    assert.equal(await page.locator("img").count(), 0, path);
  }
});

test("the past: one event back on every page, read-only, and back to now", async () => {
  const id = create("Not there yet");
  await world.open(page, "/board");
  await card(id, "queued").waitFor();
  await page.keyboard.press("[");
  await page.waitForSelector(".band");
  await card(id).waitFor({ state: "detached" });
  assert.equal(await page.locator("text=New task").count(), 0);
  assert.match(page.url(), /at=\d+/);
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.waitForSelector(".agents-page .band");
  await page.keyboard.press("n");
  await page.waitForSelector(".band", { state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await card(id, "queued").waitFor();
});

test("nothing moves under the pointer: new cards wait behind a pill", async () => {
  await world.open(page, "/board");
  await page.locator("[data-column=queued] .cards").hover();
  const before = await page.locator("[data-column=queued] [data-task]").first().boundingBox();
  const id = create("Comes in above", "--priority", "P0");
  await page.waitForSelector(".pill:has-text('1 new')");
  assert.deepEqual(await page.locator("[data-column=queued] [data-task]").first().boundingBox(), before);
  await page.locator(".pill").click();
  await card(id, "queued").waitFor();
});

test("letter keys can be turned off", async () => {
  await world.open(page, "/more?tab=settings");
  await page.locator("text=Letters are keys").click();
  await world.open(page, "/board");
  await page.keyboard.press("c");
  await sleep(200);
  assert.equal(await page.locator("dialog").count(), 0);
  await world.open(page, "/more?tab=settings");
  await page.locator("text=Letters are keys").click();
});

test("no page complained", () => {
  assert.deepEqual(
    page.problems.filter((text) => !/40[49] /.test(text)),
    [],
  );
});
