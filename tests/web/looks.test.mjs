// What every page has to be in both themes and at 390 px: accessible, not wider than the screen, and still.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PAGES, PACKAGES, sleep, World } from "./harness.mjs";

const axe = readFileSync(join(PACKAGES, "node_modules/axe-core/axe.min.js"), "utf8");
const shots = process.env.COMITY_WEB_SHOTS;
const SCREENS = [
  ["light", 1440, 900],
  ["dark", 1440, 900],
  ["light", 390, 844],
  ["dark", 390, 844],
];

let world, pages;
before(async () => {
  world = await World.start();
  const make = (...args) => world.run("human:ann", "task", "create", ...args).task.id;
  const waiting = make("Store keys as 128-bit values", "--file", "src/keys.rs", "--priority", "P1");
  world.run("codex:4f21ab90", "task", "claim", waiting, "--start");
  world.run(
    "codex:4f21ab90",
    "decision",
    "ask",
    "Keep the table for one release, or drop it now?",
    "--task",
    waiting,
    "--option",
    "keep:Keep it",
    "--option",
    "drop:Drop it",
    "--context",
    "Two services still read `keys_v1`.",
    "--expires",
    "40m",
  );
  const review = make("Round half to even", "--gate", "test", "--dod", "No float in the money path");
  world.submit(review, "claude-code:7f3a9c21", "round.rs");
  make("Show who approved", "--depends-on", review);
  const blocked = make("Fetch from the test system");
  world.run("gemini:a7730b5e", "task", "claim", blocked, "--start");
  world.run("gemini:a7730b5e", "task", "block", blocked, "--needs", "a test account");
  world.run("codex:4f21ab90", "memory", "write", "Rates come from the day of booking", "--type", "fact");
  world.run("human:ann", "directive", "create", "Write the test first");
  world.run("codex:4f21ab90", "pad", "append", "The old table stays for one release");
  world.run("human:ann", "tell", "all", "The freeze begins at noon");
  world.run("human:ann", "token", "create", "--agent", "codex:web", "--verb", "claim");
  writeFileSync(join(world.dir, "api.ts"), "export type Key = string;\n");
  world.run("codex:4f21ab90", "interface", "publish", "keys-api", "api.ts", "--path", "src/keys.rs");
  pages = [
    ...PAGES,
    `/task/${review}`,
    `/task/${review}?review=1`,
    "/more?tab=memories",
    "/more?tab=directives",
    "/more?tab=pads",
    "/more?tab=interfaces",
    "/more?tab=messages",
    "/more?tab=tokens",
    "/more?tab=settings",
    "/board?at=5",
    `/timeline?range=1h`,
  ];
});
after(async () => {
  await world?.stop();
});

for (const [scheme, width, height] of SCREENS) {
  test(`${scheme}, ${width} px: no serious problem, nothing wider than the screen, nothing shifts`, async () => {
    const page = await world.person({ scheme, width, height, bypassCSP: true });
    for (const path of pages) {
      await page.goto(world.to(path));
      await page.waitForSelector("main h1");
      await page.evaluate(() => {
        window.shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
      });
      await sleep(600);
      if (shots) {
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: join(shots, `${path.slice(1).replace(/[^a-z0-9]+/gi, "-")}-${scheme}-${width}.png`) });
      }
      const shift = await page.evaluate(() => window.shift);
      assert.ok(shift < 0.02, `${path} shifts by ${shift}`);
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `${path} is wider than ${width} px`,
      );
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document));
      const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
      assert.deepEqual(
        serious.map((one) => `${one.id}: ${one.nodes[0].target} ${one.nodes[0].failureSummary}`),
        [],
        path,
      );
    }
    await page.context().close();
  });
}

test("at 390 px what can be pressed is 44 px high, and a task is a page of its own", async () => {
  const page = await world.person({ width: 390, height: 844 });
  await page.waitForSelector("[data-decision=D1]");
  for (const button of await page.locator(".opt, .item .acts .btn, .reply .btn, .rail a.to").all()) {
    const box = await button.boundingBox();
    if (box) assert.ok(box.height >= 44, `${await button.innerText()} is ${box.height} px high`);
  }
  await world.open(page, "/board");
  await page.locator(".tabs a:has-text('Review')").click();
  await page.locator("[data-column=review] [data-task]").click();
  const panel = await page.locator("[data-panel]").boundingBox();
  assert.equal(panel.width, 390);
  await page.locator("[aria-label='Close (Esc)']").click();
  await page.waitForSelector("[data-panel]", { state: "detached" });
});

test("with reduced motion nothing is animated", async () => {
  const page = await world.person({ reducedMotion: "reduce" });
  await world.open(page, "/board");
  await page.waitForSelector("[data-task=T1]");
  await page.evaluate(() => {
    window.animated = 0;
    const animate = Element.prototype.animate;
    Element.prototype.animate = function (...args) {
      window.animated += 1;
      return animate.apply(this, args);
    };
  });
  world.run("human:ann", "task", "update", "T3", "--title", "Show who approved it");
  await page.waitForSelector("text=Show who approved it");
  await sleep(100);
  assert.equal(await page.evaluate(() => window.animated + document.getAnimations().length), 0);
});

test("the theme can be chosen, and holds", async () => {
  const page = await world.person();
  await page.locator("[aria-label^='Theme']").click();
  await page.locator("[aria-label^='Theme']").click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.reload();
  await page.waitForSelector(".rail");
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(14, 17, 22)");
});
