// Several repositories on one server, the first minutes of a project, and what a page that is left open tells by itself.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { sleep, World } from "./harness.mjs";

let world, page, other;
before(async () => {
  world = await World.start({ served: false });
  other = world.neighbour("other");
  // Two clients are on this host; comity is registered with one of them.
  const bin = join(world.home, "bin");
  mkdirSync(bin);
  for (const name of ["claude", "codex"]) {
    writeFileSync(join(bin, name), "#!/bin/sh\n");
    chmodSync(join(bin, name), 0o755);
  }
  world.more = { PATH: `${bin}:${process.env.PATH}` };
  world.run("human:ann", "init", "--clients", "claude", "--no-hooks", "--yes");
  await world.serve(world.dir, other);
  page = await world.person();
  page.setDefaultTimeout(15_000);
});
after(async () => {
  await world?.stop();
});
const shot = async (name) => {
  const dir = process.env.COMITY_WEB_SHOTS;
  if (dir) await page.screenshot({ path: join(dir, `${name}.png`) });
};
const there = (who, ...args) => world.run(who, "--root", other, ...args);

test("the first page of a project has three commands and the clients that were found", async () => {
  await world.open(page, "/inbox");
  await page.waitForSelector("text=Three commands fill this page");
  assert.equal(await page.locator(".first-run ol .command").count(), 3);
  await shot("first-run");
  await page.locator(".clients li:has-text('Claude Code'):has-text('ready')").waitFor();
  await page.locator(".clients li:has-text('Codex'):has-text('comity init --clients codex')").waitFor();
});

test("one inbox over all repositories: items say where they are, and are answered there", async () => {
  world.run("codex:1", "decision", "ask", "Here or there?", "--option", "here", "--option", "there");
  const asks = there("codex:2", "decision", "ask", "Now or later?", "--option", "now:At once", "--option", "later");
  assert.equal(asks.decision.id, "D1");
  await world.open(page, "/inbox");
  await page.waitForSelector("text=Here or there?");
  assert.equal(await page.locator("text=Now or later?").count(), 0);
  await page.locator(".top .repo button").click();
  await shot("repositories");
  await page.locator("[role=menuitem]:has-text('All repositories')").click();
  await page.waitForSelector(".rail .badge:text-is('2')");
  const here = basename(world.dir);
  await page.locator(`article:has-text('Here or there?'):has-text('${here}')`).waitFor();
  const far = page.locator("article:has-text('Now or later?')");
  await far.locator(".in-repo:text-is('other')").waitFor();
  await page.waitForFunction(() => document.title.includes("(2)") && document.title.includes("all repositories"));
  await shot("inbox-all");
  await far.locator("[data-option=now]").click();
  await page.waitForSelector(".item.was");
  assert.equal(there("human:ann", "decision", "show", "D1").decision.answer, "now");
  assert.equal(world.run("human:ann", "decision", "show", "D1").decision.state, "open");
  // What happens in a repository that the stream does not tell of comes, too. The list stands still under the pointer.
  await page.mouse.move(2, 2);
  there("codex:2", "decision", "ask", "And after that?", "--option", "rest");
  await page.waitForSelector("text=And after that?");
});

test("from the inbox of all, a task opens in its own repository", async () => {
  const { id } = there("human:ann", "task", "create", "Only there").task;
  there("codex:2", "task", "claim", id, "--start");
  there("codex:2", "task", "block", id, "--needs", "a key");
  await page.goto(world.to("/inbox?repo=*"));
  await page.locator("article:has-text('Only there') .title a").click();
  await page.waitForSelector(`[data-panel=${id}] h1:has-text('Only there')`);
  assert.equal(new URL(page.url()).searchParams.get("repo"), "other");
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await page.waitForSelector(`[data-column=blocked] [data-task=${id}]`);
  await page.goto(world.to("/inbox?repo=*"));
  await page.locator(".rail a[href='/board']").click();
  await page.waitForSelector("main.board-page h1");
  assert.equal(await page.locator("text=Only there").count(), 0);
});

test("a decision past half of its time notifies whoever asked for it, once", async () => {
  const context = await world.browser.newContext({ permissions: ["notifications"] });
  await world.pages(context);
  await context.addInitScript(() => {
    window.told = [];
    window.Notification = class extends EventTarget {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title) {
        super();
        window.told.push(title);
      }
      close() {}
    };
  });
  const left = await context.newPage();
  left.setDefaultTimeout(15_000);
  await left.goto(world.link());
  await left.waitForSelector(".rail");
  await world.open(left, "/more?tab=settings");
  await left.locator("text=Notify me").click();
  await world.open(left, "/board");
  world.run("codex:3", "decision", "ask", "Soon too late?", "--option", "a", "--expires", "12s");
  await sleep(1_500);
  assert.deepEqual(await left.evaluate(() => window.told), []);
  await sleep(5_500);
  // Time alone is looked at every half minute; an event makes the page look at once.
  world.run("codex:3", "decision", "ask", "No hurry", "--option", "a");
  await left.waitForFunction(() => window.told.length > 0);
  world.run("codex:3", "decision", "ask", "None either", "--option", "a");
  await sleep(1_000);
  assert.deepEqual(await left.evaluate(() => window.told), ["Soon too late?"]);
  assert.equal(await left.locator("link[rel=icon]").getAttribute("href"), "/icon-needs.svg");
  await context.close();
});
