// Pictures of the dashboard for the documents: a day of a scripted crew is played into a store with the real binary, each command
// at its time of that day (faketime), and photographed at 14:32. scripts/pictures calls it.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sleep, World } from "./harness.mjs";

const DAY = "2026-11-17";
const [A, B, C, D, E, F, G] = [
  "claude-code:7f3a9c21",
  "codex:90d3e7a4",
  "claude-code:c04d17be",
  "gemini:4c1d08f2",
  "opencode:d5e2196c",
  "codex:b81e44d0",
  "gemini:a7730b5e",
];
const PERSON = "human:you";
const out = process.argv[2] ?? "docs/pictures";

const preload = spawnSync("faketime", ["now", "printenv", "LD_PRELOAD"], { encoding: "utf8" }).stdout.trim();
const world = await World.start({ who: PERSON, served: false, more: { COMITY_REPO: "acme/ledger" } });
const setTime = (time) => {
  world.more = {
    COMITY_REPO: "acme/ledger",
    LD_PRELOAD: preload,
    FAKETIME: `@${DAY} ${time}:00`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
};

/** The steps of the day; they are played in the order of their times. */
const day = [];
const plan = (time, step) => day.push({ time, step });
const at = (time, who, ...args) =>
  plan(time, () => world.run(who, ...args.map((arg) => (typeof arg === "function" ? arg() : arg))));
/** A call that a rule refuses: the refusal is part of the story. */
const refused = (time, who, ...args) =>
  plan(time, () => {
    try {
      world.run(who, ...args.map((arg) => (typeof arg === "function" ? arg() : arg)));
    } catch {
      return;
    }
    throw new Error(`${args.join(" ")} was not refused`);
  });
const ids = {};
const id = (key) => () => ids[key];
const task = (time, key, title, file, priority = "P2", ...more) =>
  plan(time, () => {
    const after = more.map((arg) => (typeof arg === "function" ? arg() : arg));
    ids[key] = world.run(PERSON, "task", "create", title, "--file", file, "--priority", priority, ...after).task.id;
  });
const claim = (time, who, key) => at(time, who, "task", "claim", id(key), "--start", "--ttl", "12h");
const onBranch = (key, step) => {
  const branch = `feat/${key}`;
  if (!world.git("branch", "--list", branch)) world.git("branch", branch, "main");
  world.git("checkout", "-q", branch);
  step();
  world.git("checkout", "-q", "main");
};
/** The agent's commit on the task's branch, with the gates that it ran there. */
const change = (time, who, key, file, gates, text = `// ${key}\npub fn ${key}() {}\n`) =>
  plan(time, () =>
    onBranch(key, () => {
      mkdirSync(dirname(join(world.dir, file)), { recursive: true });
      writeFileSync(join(world.dir, file), text);
      world.commit(`${key}: ${file}`);
      for (const gate of gates) world.run(who, "with", "--task", ids[key], "--gate", gate, "--", "true");
    }),
  );
const submit = (time, who, key, ...more) =>
  plan(time, () => onBranch(key, () => world.run(who, "task", "submit", ids[key], ...more)));
function finish(reviewed, merged, key) {
  at(reviewed, "critic-1", "task", "approve", id(key));
  plan(merged, () => {
    world.run("integrator-1", "task", "merge", ids[key]);
    world.git("merge", "-q", "--no-ff", "-m", `Land ${key}`, `feat/${key}`);
    world.run("integrator-1", "task", "done", ids[key]);
  });
}

at("08:05", PERSON, "agent", "register", "critic-1", "--role", "critic");
at("08:05", PERSON, "agent", "register", "critic-2", "--role", "critic");
at("08:05", PERSON, "agent", "register", "integrator-1", "--role", "integrator");
const GATES = ["--gate", "build", "--gate", "test"];
task("08:10", "flags", "Drop unused feature flags", "src/flags.rs", "P3", ...GATES);
task("08:10", "locks", "Lock accounts in id order", "src/locks.rs", "P0", ...GATES);
task("08:10", "exports", "Stream large exports", "src/exports.rs", "P1", ...GATES);
task(
  "09:40",
  "rate",
  "Store the exchange rate with each posting",
  "src/rates.rs",
  "P1",
  ...GATES,
  "--dod",
  "No float in the money path",
);
task("09:41", "unbalance", "Reject postings that would unbalance a journal", "src/posting.rs", "P0", ...GATES);
task("09:41", "keys", "Store idempotency keys as 128-bit values", "src/idempotency.rs", "P1", ...GATES);
task("09:42", "client", "Generate the web client from the API description", "web/client.ts", "P1", ...GATES);
task("09:42", "fees", "Show fees as their own statement lines", "src/fees.rs", "P2", ...GATES);
task("09:43", "bank", "Fetch statements from the bank’s test system", "src/bank.rs", "P2");
task("09:43", "reverse", "Reverse a journal in one call", "src/posting.rs", "P1");
task("09:44", "pending", "Show pending postings on statements", "web/statements/**", "P2", ...GATES);
task("09:44", "root", "Run the containers without root", "deploy/Dockerfile", "P2");
task("09:45", "audit", "Sort the audit list newest first", "src/audit.rs", "P3", ...GATES);
task("13:05", "closed", "Revalue open balances at month end", "src/month.rs", "P2", "--depends-on", id("rate"));
task("13:05", "round", "Round half to even in statement totals", "src/round.rs", "P2");
task("13:05", "mt940", "Import MT940 bank statements", "src/mt940.rs", "P2", "--depends-on", id("bank"));
task("13:05", "docs", "Document the posting rules with examples", "docs/posting.md", "P3");

for (const [from, to, reviewed, merged, who, key] of [
  ["08:20", "09:10", "09:30", "09:50", B, "flags"],
  ["08:25", "09:20", "09:40", "10:05", A, "locks"],
  ["08:40", "10:10", "10:30", "10:52", E, "exports"],
]) {
  claim(from, who, key);
  change(to, who, key, `src/${key}.rs`, ["build", "test"]);
  submit(to, who, key);
  finish(reviewed, merged, key);
}
claim("10:20", F, "rate");
claim("10:50", A, "unbalance");
refused("10:58", B, "lease", "acquire", "src/posting.rs");
change(
  "11:40",
  F,
  "rate",
  "src/rates.rs",
  ["build", "test"],
  "pub fn today(currency: Currency) -> Rate {\n    latest(currency)\n}\n",
);
submit("11:50", F, "rate");
at(
  "12:15",
  "critic-2",
  "task",
  "request-changes",
  id("rate"),
  "--reason",
  "Old postings have no rate. Backfill them and test it.",
);
claim("11:05", D, "bank");
at("11:28", D, "task", "block", id("bank"), "--needs", "a test account");
claim("12:00", G, "root");
at("12:20", F, "task", "start", id("rate"));
claim("12:30", E, "pending");
claim("12:40", B, "client");
refused("12:52", C, "lease", "acquire", "src/posting.rs");
claim("12:55", D, "fees");
claim("13:10", "opencode:77aa01f2", "audit");
change("13:20", "opencode:77aa01f2", "audit", "src/audit.rs", ["build", "test"]);
submit("13:22", "opencode:77aa01f2", "audit");
at("13:40", "critic-1", "task", "approve", id("audit"));
claim("13:20", C, "keys");
refused("13:50", F, "task", "claim", id("reverse"));
change(
  "14:02",
  F,
  "rate",
  "src/rates.rs",
  ["build", "test"],
  "pub fn at(currency: Currency, day: Day) -> Rate {\n    booked(currency, day).round_to(DECIMALS)\n}\n",
);
change(
  "14:04",
  F,
  "rate",
  "migrations/0041_posting_rate.sql",
  ["build", "test"],
  "alter table posting add column rate numeric(20, 10);\n",
);
submit("14:06", F, "rate", "--reviewer", PERSON);
change("13:26", D, "fees", "src/fees.rs", ["build", "test"]);
submit("13:27", D, "fees");
at(
  "14:08",
  C,
  "decision",
  "ask",
  "Keep the first idempotency table for one release, or drop it now?",
  "--task",
  id("keys"),
  "--expires",
  "35m",
  "--default",
  "keep",
  "--context",
  "The settlement and webhook services still read `idempotency_keys_v1`. Dropping it makes migration 0042 one-way. Keeping it costs 1.2 GB and a second migration.",
  "--option",
  "keep:Keep it one release",
  "--option",
  "drop:Drop it now",
  "--option",
  "readonly:Keep it, read-only",
);
at(
  "14:24",
  E,
  "decision",
  "ask",
  "Approve the plan for “Show pending postings on statements”?",
  "--task",
  id("pending"),
  "--type",
  "approval",
  "--expires",
  "4h",
);
for (const who of [A, B, C, E]) at("14:31", who, "agent", "heartbeat");
at("14:31", A, "note", "progress", "tests for the closed period", "--task", id("unbalance"));

day.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
for (const { time, step } of day) {
  setTime(time);
  step();
}
setTime("14:32");
await world.serve();
mkdirSync(out, { recursive: true });
const page = await world.person({ who: PERSON });
const shoot = async (name, path, scheme) => {
  await page.emulateMedia({ colorScheme: scheme });
  await world.open(page, path);
  await sleep(1200);
  await page.screenshot({ path: join(out, `${name}.png`) });
};
await shoot("inbox", "/inbox", "light");
await shoot("board", "/board", "dark");
await shoot("task", `/task/${ids.rate}`, "light");
await shoot("timeline", "/timeline?range=4h", "light");
await world.stop();
spawnSync("ls", ["-l", out], { stdio: "inherit" });
