// The scene of the drawn pages, in the shapes of the API. It is for building and looking at the pages without a server.

const ZERO = Date.parse("2026-11-17T14:32:00Z");
const iso = (ms) => new Date(ms).toISOString().replace(/(\.\d{3})?Z$/, (m) => m.length > 1 ? m : ".000Z");
const MIN = 60_000;

// id, column, priority, files, age or time, title, agent, percent of its time left, gates, quiet line, strip
const CARDS = [
  ["T129", "queued", "P1", 2, 41, "Show which posting broke the balance in the error", null, null, "", ["after", "After T118"]],
  ["T130", "queued", "P1", 2, 38, "Reverse a journal in one call", null, null, "", ["held", "Held: crates/ledger/src/posting.rs"]],
  ["T131", "queued", "P1", 3, 38, "Refuse postings dated before a closed period", null, null, "", ["after", "After T118, T133"]],
  ["T125", "queued", "P2", 2, 180, "Show who approved a manual posting", null, null, "", ["ready", "Ready to claim"]],
  ["T132", "queued", "P2", 1, 87, "Round half to even in statement totals", null, null, "", ["ready", "Ready to claim"]],
  ["T133", "queued", "P2", 4, 87, "Revalue open balances at month end", null, null, "", ["after", "After T112"]],
  ["T134", "queued", "P2", 3, 87, "Explain a rejected import line by line", null, null, "", ["ready", "Ready to claim"]],
  ["T135", "queued", "P2", 3, 87, "Import MT940 bank statements", null, null, "", ["after", "After T126"]],
  ["T136", "queued", "P3", 2, 87, "Retry webhooks with a growing pause", null, null, "", ["ready", "Ready to claim"]],
  ["T137", "queued", "P3", 1, 72, "Delete the first idempotency table", null, null, "", ["after", "After T121"]],
  ["T138", "queued", "P3", 1, 87, "Document the posting rules with examples", null, null, "", ["ready", "Ready to claim"]],
  ["T139", "queued", "P4", 6, 87, "Say “account” instead of “acct” in recon", null, null, "", ["ready", "Ready to claim"]],
  ["T118", "working", "P0", 3, 38, "Reject postings that would unbalance a journal", "claude-code:7f3a9c21", 99, "observed open open"],
  ["T117", "working", "P1", 2, 3, "List accounts by cursor, not by page", "claude-code:1e92aa50", 98, "observed observed failed", ["sent_back", "Sent back, round 2"]],
  ["T121", "working", "P1", 2, 72, "Store idempotency keys as 128-bit values", "claude-code:c04d17be", 99, "observed observed open", null, ["decision", "D37 waits for you", "D37"]],
  ["T123", "working", "P1", 2, 94, "Generate the web client from the API description", "codex:90d3e7a4", 99, "observed observed open"],
  ["T126", "working", "P1", 4, 56, "Split the bank importer by file format", "codex:2f6ac913", 99, "open open open", null, ["decision", "D38 waits for you", "D38"]],
  ["T122", "working", "P2", 2, 142, "Run the containers without root", "gemini:a7730b5e", 27, "observed open open", null, ["silent", "Silent for 11 m", "T122"]],
  ["T124", "working", "P2", 3, 160, "Show pending postings on statements", "opencode:d5e2196c", 95, "observed claimed open"],
  ["T127", "working", "P2", 2, 2, "Sort accounts by last activity", "claude-code:58b0f3d7", 98, "open open open", ["claimed", "Claimed, not started"]],
  ["T128", "working", "P3", 2, 7, "Sign webhooks and document how to check", "gemini:4c1d08f2", 96, "open open open"],
  ["T112", "review", "P1", 6, 26, "Store the exchange rate with each posting", "codex:b81e44d0", 99, "verified verified observed observed", null, ["review", "Asks for your review", "T112"]],
  ["T116", "review", "P1", 5, 14, "Trace a request across services", "claude-code:58b0f3d7", 98, "verified observed observed", ["reviewer", "With critic-2"]],
  ["T114", "review", "P2", 3, 9, "Warn before an import overwrites matches", "gemini:4c1d08f2", 96, "observed observed observed", ["reviewer", "With critic-1"]],
  ["T119", "review", "P2", 3, 65, "Show fees as their own statement lines", "claude-code:1e92aa50", 98, "verified observed claimed", null, ["review", "Nobody reviews it", "T119"]],
  ["T104", "approved", "P1", 3, 48, "Limit the size of one export", "codex:90d3e7a4", null, "verified failed verified", null, ["red_gate", "Test failed on merge", "T104"]],
  ["T107", "approved", "P1", 4, 1, "Name the failing field in API errors", "integrator-1", 99, "verified verified verified", ["merging", "Merging, gates run"]],
  ["T110", "approved", "P3", 1, 130, "Sort the audit list newest first", "opencode:d5e2196c", null, "verified verified observed", null, ["merge", "Not in merge queue", "T110"]],
  ["T109", "blocked", "P1", 2, 80, "Settlement cut-off test fails when the clocks change", "codex:2f6ac913", null, "verified failed observed", null, ["decision", "Attempts used up, D39", "D39"]],
  ["T115", "blocked", "P2", 2, 180, "Fetch statements from the bank’s test system", "gemini:4c1d08f2", null, "observed open open", null, ["blocked", "Needs a test account", "T115"]],
  ["T111", "done", "P1", 3, 34, "Reject duplicate external references", "claude-code:7f3a9c21", null, "verified verified verified"],
  ["T108", "done", "P2", 4, 71, "Cache balances per closed period", "claude-code:c04d17be", null, "verified verified verified"],
  ["T113", "done", "P1", 7, 105, "Answer every error as problem+json", "codex:2f6ac913", null, "verified verified verified"],
  ["T106", "done", "P0", 2, 176, "Lock accounts in id order", "claude-code:7f3a9c21", null, "verified verified verified"],
  ["T103", "done", "P1", 3, 220, "Stream large exports", "opencode:d5e2196c", null, "verified verified observed"],
  ["T101", "done", "P2", 3, 258, "Add the currency to the account list", "codex:b81e44d0", null, "verified verified verified"],
  ["T100", "done", "P1", 2, 292, "Test the ledger with random journals", "claude-code:58b0f3d7", null, "verified verified verified"],
  ["T99", "done", "P3", 9, 335, "Drop unused feature flags", "claude-code:1e92aa50", null, "verified observed waived"],
  ["T98", "done", "P2", 2, 371, "Report the replica’s lag in the health check", "codex:90d3e7a4", null, "verified verified verified"],
  ["T97", "done", "P1", 2, 1248, "Move secrets out of the compose file", "gemini:a7730b5e", null, "verified observed observed"],
];
const GATES = ["build", "test", "lint", "migrate"];
const STATUS = { queued: "queued", working: "in_progress", review: "review", approved: "approved", blocked: "blocked", done: "done" };
const TITLES = { queued: "Queued", working: "Working", review: "Review", approved: "Approved", blocked: "Blocked", done: "Done" };

// agent, bars [kind, from, to, task or decision], leases [from, to, refused], marks [kind, at, decision]; minutes after 10:30
const LANES = [
  ["human:you", [], [], [["answered", 32, "D31"], ["answered", 134, "D33"], ["answered", 165, "D35"], ["answered", 241, "D36"]]],
  ["claude-code:7f3a9c21", [["work", 20, 110, "T111"], ["wait", 110, 134, "D33"], ["work", 134, 148, "T111"], ["work", 200, null, "T118"]], [[20, 148, 3], [200, null, 9]], []],
  ["claude-code:c04d17be", [["work", 0, 78, "T108"], ["work", 170, 218, "T121"], ["wait", 218, null, "D37"]], [[0, 78, 0], [170, null, 0]], [["refused", 51]]],
  ["codex:90d3e7a4", [["work", 35, 130, "T104"], ["work", 148, null, "T123"]], [[35, 130, 0], [148, null, 2]], [["refused", 121]]],
  ["codex:2f6ac913", [["work", 0, 50, "T113"], ["work", 64, 162, "T109"], ["work", 186, 234, "T126"], ["wait", 234, null, "D38"]], [[0, 50, 0], [64, 162, 0], [186, null, 0]], [["failed", 164]]],
  ["claude-code:1e92aa50", [["work", 0, 60, "T117"], ["work", 74, 177, "T119"], ["work", 180, 218, "T117"]], [[0, 60, 0], [98, 177, 0], [180, 218, 0]], [["refused", 94]]],
  ["claude-code:58b0f3d7", [["work", 40, 228, "T116"], ["work", 240, null, "T127"]], [[40, 140, 0], [155, 228, 0], [240, null, 0]], [["refused", 227]]],
  ["opencode:d5e2196c", [["work", 82, null, "T124"]], [[82, null, 0]], [["refused", 152], ["write_seen", 221]]],
  ["gemini:4c1d08f2", [["work", 0, 58, "T115"], ["work", 60, 140, "T114"], ["wait", 140, 165, "D35"], ["work", 165, 233, "T114"], ["work", 235, null, "T128"]], [[0, 58, 0], [60, 233, 0], [235, null, 0]], [["blocked", 58]]],
  ["gemini:a7730b5e", [["work", 100, null, "T122"]], [[100, null, 0]], []],
  ["codex:b81e44d0", [["work", 0, 14, "T112"], ["wait", 14, 32, "D31"], ["work", 32, 80, "T112"], ["work", 110, 216, "T112"]], [[0, 80, 0], [110, 216, 0]], [["refused", 236]]],
  ["critic-1", [["review", 60, 100, "T113"], ["review", 158, 194, "T104"], ["review", 220, 239, "T117"], ["review", 239, null, "T114"]], [], []],
  ["critic-2", [["review", 82, 104, "T112"], ["review", 106, 112, "T103"], ["review", 114, 148, "T108"], ["review", 156, 188, "T111"], ["review", 230, null, "T116"]], [], []],
  ["integrator-1", [["merge", 14, 22, "T103"], ["merge", 58, 66, "T106"], ["merge", 126, 137, "T113"], ["merge", 158, 171, "T108"], ["merge", 197, 208, "T111"], ["merge", 214, 226, "T104"], ["merge", 241, null, "T107"]], [], [["done", 24], ["done", 68], ["done", 139], ["done", 173], ["done", 210], ["failed", 228]]],
];
const HELD = [
  ["crates/api/src/routes/accounts.rs", "claude-code:58b0f3d7", "T127", 15, 1], ["crates/api/src/idempotency.rs", "claude-code:c04d17be", "T121", 30, 0], ["crates/api/src/webhooks/", "gemini:4c1d08f2", "T128", 14, 0],
  ["crates/ledger/src/balance.rs", "claude-code:7f3a9c21", "T118", 15, 2], ["crates/ledger/src/posting.rs", "claude-code:7f3a9c21", "T118", 15, 9], ["crates/ledger/tests/balance.rs", "claude-code:7f3a9c21", "T118", 15, 0],
  ["crates/recon/src/import/**", "codex:2f6ac913", "T126", 30, 1], ["deploy/Dockerfile", "gemini:a7730b5e", "T122", 4, 0], ["deploy/values.yaml", "gemini:a7730b5e", "T122", 4, 0], ["docs/webhooks.md", "gemini:4c1d08f2", "T128", 14, 0],
  ["migrations/0042_idempotency_keys.sql", "claude-code:c04d17be", "T121", 30, 3], ["openapi.yaml", "codex:90d3e7a4", "T123", 59, 4], ["web/src/api/client.ts", "codex:90d3e7a4", "T123", 59, 2], ["web/src/pages/statements/", "opencode:d5e2196c", "T124", 14, 0],
];
// agent, roles, group, doing, task, words, seconds since its last sign, leases, done, failed
const CREW = [
  ["gemini:a7730b5e", "implementer", "silent", "silent", "T122", "leases end at 14:36", 660, 2, 3, 2], ["claude-code:c04d17be", "implementer", "waiting", "for_decision", "T121", "asks D37, 24 m", 9, 2, 8, 1],
  ["codex:2f6ac913", "implementer", "waiting", "for_decision", "T126", "asks D38, 8 m", 3, 1, 6, 1], ["codex:b81e44d0", "implementer", "waiting", "for_file", "T130", "crates/ledger/src/posting.rs, 6 m", 5, 0, 10, 0],
  ["claude-code:7f3a9c21", "implementer", "at_work", "working", "T118", null, 4, 3, 11, 0], ["codex:90d3e7a4", "implementer", "at_work", "working", "T123", null, 12, 2, 9, 0],
  ["claude-code:58b0f3d7", "implementer", "at_work", "working", "T127", null, 16, 2, 9, 0], ["opencode:d5e2196c", "implementer", "at_work", "working", "T124", null, 48, 1, 4, 1],
  ["gemini:4c1d08f2", "implementer", "at_work", "working", "T128", null, 33, 2, 5, 1], ["critic-1", "critic", "at_work", "reviewing", "T114", null, 7, 0, 0, 0],
  ["critic-2", "critic", "at_work", "reviewing", "T116", null, 14, 0, 0, 0], ["integrator-1", "integrator", "at_work", "merging", "T107", null, 2, 0, 0, 0],
  ["claude-code:1e92aa50", "implementer", "idle", "sent_back", "T117", "sent back 3 m ago", 21, 0, 7, 2], ["planner-1", "planner", "idle", "idle", null, "Nothing to plan", 360, 0, 0, 0],
  ["human:you", "", "person", "here", null, "Answered D36", 1, 0, 0, 0],
];

export function scene(started = Date.now()) {
  const now = () => ZERO + (Date.now() - started);
  const ago = (minutes) => iso(ZERO - minutes * MIN);
  const life = (percent) => percent == null ? null : { last_seen: iso(ZERO - (100 - percent) * 9000), ttl_seconds: 900, expires_at: iso(ZERO + percent * 9000), silent: percent < 50 };
  const cards = CARDS.map(([id, column, priority, files, age, title, agent, left, gates, line, strip], rank) => ({
    id, number: Number(id.slice(1)), version: 7, title, status: id === "T117" ? "changes_requested" : id === "T127" ? "claimed" : id === "T107" ? "merging" : STATUS[column], column, rank, priority,
    labels: [], role: null, files: HELD.filter((held) => held[2] === id).map((held) => held[0]).concat(Array.from({ length: files }, (_, i) => `crates/recon/src/part${i}.rs`)).slice(0, files), parent: null, epic: null, initiative: null,
    round: id === "T112" || id === "T117" ? 2 : 1, agent, life: life(left), reviewer: null, since: ago(age),
    gates: gates ? gates.split(" ").map((mark, i) => ({ name: GATES[i], mark })) : [], ready: line?.[0] === "ready", stuck: !!strip,
    line: line ? { kind: line[0], words: line[1] } : null, strip: strip ? { kind: strip[0], words: strip[1], id: strip[2] } : null,
  }));
  const card = (id) => cards.find((one) => one.id === id);
  const columns = Object.entries(TITLES).map(([name, title]) => ({ name, title, get count() { return cards.filter((one) => one.column === name).length; } }));
  const last = () => ({ seq: 4812, ts: iso(ZERO - 2000) });
  const post = (path, label, body = {}, wants = [], note = null, operation = path.split("/").slice(-1)[0]) => ({ label, operation, method: "POST", path: `/api/v1/${path}`, body, wants, note });
  const verb = (id, name, label, wants = []) => post(`tasks/${id}/${name}`, label, {}, wants, null, `task.${name}`);
  const answer = (id, key, label, note = null) => post(`decisions/${id}/answer`, label, { answer: key }, [], note, "decision.answer");
  const decision = (id, question, context, options, task, asked_by, expires) => ({ id, question, context, type: "choice", options, default: options[0]?.key ?? null, to: "person", task, asked_by, created_at: ago(24), expires_at: expires, answer: null, text: null, answered_by: null, answered_at: null, state: "open" });
  const item = (kind, word, id, task, title, reason, age, more) => ({ key: `${kind}:${id}`, kind, word, id, task, title, about: task && task !== id ? card(task)?.title ?? null : null, reason, since: ago(age), deadline: null, left: null, urgent: false, agent: null, decision: null, gates: [], path: null, seq: null, actions: [], next: null, ...more });
  const D37 = decision("D37", "Keep the first idempotency table for one release, or drop it now?", "The settlement and webhook services still read `idempotency_keys_v1`. Dropping it makes migration 0042 one-way. Keeping it costs 1.2 GB and a second migration, which is queued as T137.", [{ key: "keep", label: "Keep it one release", description: null }, { key: "drop", label: "Drop it now", description: "No way back after deploy" }, { key: "readonly", label: "Keep it, read-only", description: "Writes to it fail loudly" }], "T121", "claude-code:c04d17be", iso(ZERO + 11.5 * MIN));
  const review = (id) => [verb(id, "approve", "Approve"), verb(id, "request-changes", "Request changes", ["reason"])];
  const items = [
    item("decision", "Decision", "D37", "T121", D37.question, "claude-code:c04d17be waits", 24, { decision: D37, deadline: D37.expires_at, left: 0.31, urgent: true, agent: "claude-code:c04d17be", actions: [answer("D37", "keep", "Keep it one release", "Default, applies at 14:43"), answer("D37", "drop", "Drop it now", "No way back after deploy"), answer("D37", "readonly", "Keep it, read-only", "Writes to it fail loudly")] }),
    item("decision", "Decision", "D38", "T126", "Approve the plan for “Split the bank importer by file format”?", "asked by codex:2f6ac913, which waits", 8, { decision: { ...decision("D38", "Approve the plan?", null, [], "T126", "codex:2f6ac913", iso(ZERO + 208 * MIN)), type: "approval" }, deadline: iso(ZERO + 208 * MIN), left: 0.9, agent: "codex:2f6ac913", actions: [answer("D38", "approved", "Approve"), answer("D38", "approved_with_changes", "With changes"), answer("D38", "rejected", "Reject")] }),
    item("exhausted", "Exhausted", "T109", "T109", card("T109").title, "3 of 3 attempts failed, the last with “expected 23 hours, got 24” · D39", 80, { actions: [answer("D39", "retry", "Retry"), answer("D39", "split", "Split"), answer("D39", "abandon", "Abandon")] }),
    item("red_gate", "Red gate", "T104", "T104", card("T104").title, "`test` failed on the merged tree after approval by `critic-1` · 2 of 418 tests", 16, { actions: [verb("T104", "request-changes", "Send back", ["reason"])] }),
    item("blocked", "Blocked", "T115", "T115", card("T115").title, "needs a test account · stopped by gemini:4c1d08f2, work kept", 180, { actions: [verb("T115", "unblock", "Unblock"), verb("T115", "abandon", "Abandon", ["reason"])] }),
    item("review", "Review", "T112", "T112", card("T112").title, "codex:b81e44d0 asks for you · round 2 · 6 files, +212 −64", 26, { gates: card("T112").gates, actions: review("T112") }),
    item("review", "Review", "T119", "T119", card("T119").title, "claude-code:1e92aa50 · nobody has taken it · 3 files, +88 −12", 65, { gates: card("T119").gates, actions: review("T119") }),
    item("merge", "Merge", "T110", "T110", card("T110").title, "approved by `critic-2` · not in the merge queue", 130, { actions: [verb("T110", "merge", "Add to queue")] }),
    item("silent", "Silent", "gemini:a7730b5e", "T122", "gemini:a7730b5e gives no sign of life", "holds 2 leases", 11, { agent: "gemini:a7730b5e", deadline: iso(ZERO + 4.5 * MIN), actions: [verb("T122", "release", "Release now")] }),
    item("write_seen", "Write seen", "W1", null, "web/src/api/client.ts was written by somebody else", "By opencode:d5e2196c at 14:11, while codex:90d3e7a4 holds it for T123", 21, { path: "web/src/api/client.ts", agent: "opencode:d5e2196c", seq: 4770, actions: [{ label: "Why", operation: "why", method: "GET", path: "/api/v1/why?of=web/src/api/client.ts", body: {}, wants: [], note: null }] }),
  ];
  const at = (url) => { const asked = url.searchParams.get("at"); return asked ? /^\d+$/.test(asked) ? { seq: Number(asked), ts: ago(30) } : { seq: 4731, ts: asked } : null; };
  const base = (url) => ({ seq: 4812, at: at(url), now: iso(now()) });
  const line = (minutes, seq, who, what, mark, reason = null) => ({ seq, ts: ago(minutes), who, what, reason, task: null, event: mark, mark });
  const verbs = (id) => {
    const one = card(id), may = { queued: ["start", "block", "abandon"], working: ["submit", "block", "fail", "release", "abandon"], review: ["approve", "request-changes", "block", "abandon"], approved: ["merge", "done", "request-changes", "abandon"], blocked: ["unblock", "abandon"], done: ["reopen"] }[one.column] ?? [];
    const all = [["approve", "Approve", "approved", []], ["request-changes", "Request changes", "working", ["reason"]], ["start", "Start", "working", []], ["submit", "Submit", "review", []], ["merge", "Merge", "approved", []], ["done", "Done", "done", []], ["block", "Block", "blocked", ["needs"]], ["unblock", "Unblock", "queued", []], ["release", "Release", "queued", []], ["fail", "Fail", "blocked", ["reason"]], ["abandon", "Abandon", "abandoned", ["reason"]], ["reopen", "Reopen", "queued", ["reason"]]];
    return all.map(([name, label, to, wants]) => ({ verb: name, label, to, wants, operation: `task.${name}`, allowed: may.includes(name), code: may.includes(name) ? null : "invalid-transition", why: may.includes(name) ? null : `${id} is in ${one.column} and cannot go to ${to}` }));
  };
  const RUNS = [
    ["R41", "T118", "claude-code:7f3a9c21", "running", 1.84, 2.4, null, 38], ["R39", "T123", "codex:90d3e7a4", "running", 3.12, 2.4, null, 94],
    ["R38", "T121", "claude-code:c04d17be", "waiting", 1.05, 2.4, "D37", 72], ["R36", "T126", "codex:2f6ac913", "waiting", 0.62, 2.4, "D38", 56], ["R30", "T112", "codex:b81e44d0", "succeeded", 4.2, 0, null, 132],
  ].map(([id, task, identity, state, cost_usd, reserved_usd, waiting_on, age]) => ({ id, number: Number(id.slice(1)), repo: "acme/ledger", task, agent: "developer", identity, driver: "claude", model: "sonnet", stage: "develop", state, reason: null, error: null, attempt: 1, turns: 27, tokens: { input: 184_220, cached: 0, cache_write: 0, output: 9_140 }, cost_usd, reserved_usd, waiting_on, not_before: null, created_at: ago(age), started_at: ago(age), ended_at: null }));
  const counts = { total: 14, at_work: 8, waiting: 3, silent: 1, idle: 2 };
  const flowDays = Array.from({ length: 14 }, (_, i) => `2026-11-${String(4 + i).padStart(2, "0")}`);
  const lead50 = [5.2, 4.8, 5.6, 4.9, 4.4, 4.7, 4.1, 4.3, 3.9, 3.6, 4, 3.4, 3.2, 3.1], lead85 = [14.1, 13.2, 15, 13.8, 12.1, 12.9, 11.4, 12.2, 11.8, 10.3, 11.1, 10.4, 9.8, 9.4];
  const cyc50 = [2.4, 2.2, 2.6, 2.3, 2.1, 2.2, 1.9, 2, 1.8, 1.7, 1.9, 1.6, 1.5, 1.5], cyc85 = [6.8, 6.1, 7.2, 6.6, 5.9, 6.1, 5.4, 5.8, 5.2, 4.9, 5.3, 4.7, 4.5, 4.3];
  const wip = [[7, 3, 1, 1], [8, 2, 2, 1], [8, 4, 1, 2], [6, 3, 2, 2], [7, 2, 1, 1], [8, 3, 2, 1], [9, 4, 2, 2], [8, 5, 3, 2], [9, 4, 2, 3], [8, 3, 2, 2], [9, 3, 2, 1], [9, 5, 3, 2], [8, 4, 2, 2], [9, 4, 3, 2]];
  return {
    now, cards, card, items, verbs, columns,
    board: (url) => ({ ...base(url), repo: "acme/ledger", me: "human:you", tasks: cards.length, ready: 6, more: false, columns, cards, last_event: last() }),
    inbox: (url) => ({ ...base(url), me: "human:you", count: items.length, more: 0, items: at(url) ? items.slice(0, 4).map((one) => ({ ...one, actions: [] })) : items, aside: {
      agents: counts, at_work: CREW.filter((one) => one[2] === "at_work").map(([agent, , , doing, task]) => ({ agent, task, title: card(task).title, doing, note: null })),
      wanted: [{ path: "crates/ledger/src/posting.rs", held_by: "claude-code:7f3a9c21", task: "T118", wanted_by: ["T130", "T131"], refused_24h: 9 }],
      merging: [{ task: "T107", agent: "integrator-1", since: ago(1) }], done_24h: { tasks: 10, verified: 7, partly: 2, waived: 1 },
      log: { events: 4812, head: "9f2c41d0a7", verified_at: ago(3), ok: true }, last_event: last() } }),
    crew: (url) => ({ ...base(url), counts, agents: CREW.map(([id, role, group, doing, task, words, heard, leases, done_7d, failed_7d], n) => ({
      id, person: group === "person", roles: role ? [role] : [], skills: [], group, doing, words, task, title: task ? card(task).title : null, decision: null, last_seen: iso(ZERO - heard * 1000),
      life: group === "person" ? null : life(id.startsWith("gemini:a7") ? 27 : id === "planner-1" ? 60 : 98), tasks: task ? [task] : [], leases, lock_ids: HELD.map((held, i) => held[1] === id ? `L${i}` : null).filter(Boolean), done_7d, failed_7d,
      hours: Array.from({ length: 24 }, (_, h) => Math.round((h > 4 && h < 17 ? 3 : 11) * (0.6 + ((h * 7 + n * 13) % 10) / 12) * (n > 12 ? 0.25 : 1))), now_doing: null })) }),
    tree: (url) => ({ ...base(url), leases: 15, holders: 8, contended: 1, under: url.searchParams.get("under"),
      entries: HELD.map(([path, agent, task, until, refused], i) => ({ path, mode: path === "openapi.yaml" ? "shared" : "exclusive", refused_24h: refused, wanted_by: path.endsWith("posting.rs") ? ["T130", "T131"] : [], write_seen: path.endsWith("client.ts"),
        held: (path === "openapi.yaml" ? [[agent, task], ["claude-code:58b0f3d7", "T127"]] : [[agent, task]]).map(([who, what]) => ({ lock_id: `L${i}`, agent: who, task: what, since: ago(42), until: iso(ZERO + until * MIN + 5000), life: life(who.startsWith("gemini:a7") ? 27 : 98) })) })),
      files: url.searchParams.has("under") ? [{ name: "crates", path: "crates", kind: "dir", files: 46 }, { name: "web", path: "web", kind: "dir", files: 66 }, { name: "openapi.yaml", path: "openapi.yaml", kind: "file", files: 1 }].map((one) => ({ ...one, path: (url.searchParams.get("under") ?? "") + one.path })) : [] }),
    timeline: (url) => {
      const start = ZERO - 242 * MIN, ts = (minute) => minute === null ? null : iso(start + minute * MIN);
      return { ...base(url), from: iso(start), to: iso(ZERO), log: { from: ago(20000), to: iso(ZERO - 2000) },
        lanes: LANES.map(([agent, bars, leases, marks], n) => ({ agent, person: agent.startsWith("human"),
          bars: bars.map(([kind, from, to, what], i) => ({ kind, task: kind === "wait" ? null : what, decision: kind === "wait" ? what : null, from: ts(from === 0 ? -20 : from), to: ts(to), seq: 4000 + n * 40 + (i && bars[i - 2]?.[3] === what ? i - 2 : i), end: null })),
          leases: leases.map(([from, to, refused], i) => ({ lock_id: `L${n}${i}`, path: "crates/ledger/src/posting.rs", task: null, from: ts(from === 0 ? -20 : from), to: ts(to), seq: 1, refused })),
          marks: marks.map(([kind, minute, what], i) => ({ kind, ts: ts(minute), seq: 3000 + n * 10 + i, task: null, decision: what ?? null, path: kind === "refused" || kind === "write_seen" ? "crates/ledger/src/posting.rs" : null, words: `${kind.replace("_", " ")} ${what ?? ""}` })) })),
        folded: ["planner-1"], density: { from: iso(ZERO - 24 * 60 * MIN), bucket_seconds: 900, counts: Array.from({ length: 96 }, (_, i) => Math.round((i < 18 || i > 66 ? 60 : 14) * (0.5 + ((i * 37) % 11) / 14))) } };
    },
    flow: (url) => ({ ...base(url), from: flowDays[0], to: flowDays[13], days: 14, done: 131, headline: "Waiting for decisions costs most time, one file most refusals.",
      lead: flowDays.map((day, i) => ({ day, p50: lead50[i], p85: lead85[i], tasks: ["T97", "T98"] })), cycle: flowDays.map((day, i) => ({ day, p50: cyc50[i], p85: cyc85[i], tasks: ["T97"] })),
      wip: flowDays.map((day, i) => ({ day, working: wip[i][0], review: wip[i][1], approved: wip[i][2], blocked: wip[i][3], tasks: ["T118", "T121"] })),
      blocked: [["Waits for a decision", 21.5], ["Missing access", 14], ["Attempts used up", 6.5], ["Vendor limit", 3.5], ["Dependency dropped", 2]].map(([reason, hours]) => ({ reason, hours, tasks: ["T121"] })), blocked_hours: 47.5,
      refused: [["crates/ledger/src/posting.rs", 31], ["openapi.yaml", 17], ["migrations/", 12], ["web/src/api/client.ts", 9], ["Cargo.lock", 7], ["api/src/errors.rs", 4]].map(([path, count]) => ({ path, count, tasks: ["T118"], seqs: [] })), refused_total: 80,
      rounds: [["1", 74], ["2", 38], ["3", 13], ["4 or more", 6]].map(([rounds, count]) => ({ rounds, count, tasks: ["T112"] })), first_pass: 56 }),
    why: (url) => ({ of: url.searchParams.get("of"), kind: "path", summary: "Held alone by claude-code:7f3a9c21 for T118 since 13:50. It renews until the work is submitted.", more: false, commits: [],
      lines: [line(6, 4806, "codex:b81e44d0", "refused: claim of T130. It waits.", "refused"), line(15, 4771, "claude-code:58b0f3d7", "refused: edit for T116", "refused"), line(34, 4714, "integrator-1", "landed T111 as 9f2c1ab", "done"), line(42, 4698, "claude-code:7f3a9c21", "got it with T118, fence 4698", "lease"), line(94, 4590, "claude-code:7f3a9c21", "freed it: T111 submitted", "approved"), line(121, 4538, "codex:90d3e7a4", "refused: edit for T104", "refused"), line(148, 4487, "claude-code:1e92aa50", "refused: lease for T119", "refused"), line(176, 4421, "integrator-1", "landed T106 as 41d77e0", "done")] }),
    panel: (url, id) => { const one = card(id); return one && { ...base(url), card: one, verbs: verbs(id),
      task: { id, version: 7, title: one.title, description: "", deliverable: "code", status: one.status, priority: one.priority, labels: [], role: null, assignee: one.agent, reviewer: id === "T112" ? "human:you" : null, dependencies: ["T101", "T106"], files: ["crates/ledger/src/rates.rs"], branch: "feat/T112-posting-rate", commit: "e1f09c7a4410", pr: "https://example.org/acme/ledger/pull/318", merged_sha: null, round: 2, requirements: [],
        dod: ["Each posting stores rate and source", "Old postings get the rate of their day", "No float in the money path"].map((text) => ({ text, state: "met", by: null, at: null })),
        gates: [...one.gates.map((gate) => ({ name: gate.name, required: true, state: gate.mark === "open" || gate.mark === "failed" || gate.mark === "waived" ? gate.mark : "met", tier: ["verified", "observed", "claimed"].includes(gate.mark) ? gate.mark : null, commit: "e1f09c7a4410", by: one.agent, at: ago(23) })), { name: "review", required: true, state: "open", tier: null, commit: null, by: null, at: null }],
        constraints: { max_files: 8, no_git_commit: false, no_new_deps: true, allow_delete: [] }, attempts: 1, max_attempts: 3, needs: null, feedback: null, epic: null, initiative: null, parent: null, created_at: ago(292), updated_at: ago(26) },
      why: { summary: "In review because codex:b81e44d0 submitted round 2 at 14:06, after `critic-2` asked for a backfill of old postings.", reasons: ["It asks for you because the change touches stored money."], next: null },
      evidence: [{ gate: "test", passed: true, tier: "verified", commit: "e1f09c7", round: 2, by: "codex:b81e44d0", at: ago(20), seq: 4740, report: null, tail: "$ cargo test -p ledger\ntest rates::keeps_ten_decimals ... ok\ntest rates::backfills_old_postings ... ok\ntest result: ok. 418 passed; 0 failed; finished in 41.2s\n" }],
      graph: { nodes: [["T94", "done", -2], ["T101", "done", -1], ["T106", "done", -1], ["T112", "review", 0], ["T133", "queued", 1], ["T131", "queued", 2]].map(([node, status, step]) => ({ id: node, title: card(node)?.title ?? "Name the currencies", status, column: status, step })), edges: [["T94", "T101"], ["T101", "T112"], ["T106", "T112"], ["T112", "T133"], ["T133", "T131"]].map(([from, to]) => ({ from, to })) },
      spans: [["queued", 292, 252, null], ["in_progress", 252, 162, 1], ["review", 162, 137, 1], ["changes_requested", 137, 132, 1], ["in_progress", 132, 26, 2], ["review", 26, null, 2]].map(([status, from, to, round]) => ({ status, column: status === "in_progress" || status === "changes_requested" ? "working" : status, from: ago(from), to: to === null ? null : ago(to), agent: one.agent, round })),
      history: [line(26, 4741, "codex:b81e44d0", "submitted `e1f09c7`, round 2, and asked for you", "review"), line(137, 4560, "critic-2", "requested changes", "changes", "Old postings have no rate. Backfill them and test it."), line(210, 4402, "human:you", "answered D31: ten decimals", "decision")], folded: 14, more: true,
      leases: [], ended_leases: ["crates/ledger/src/currency.rs", "crates/ledger/src/rates.rs", "migrations/0041_posting_rate.sql"].map((path, i) => ({ path, lock_id: `L9${i}`, ended_at: ago(26), how: "submitted" })),
      decisions: [{ ...D37, id: "D31", question: "How many decimals?", answer: "ten", answered_by: "human:you", answered_at: ago(210), state: "answered" }], memories: [{ id: "M12", type: "fact", scope: "crates/ledger/**", text: "Rates come from the day the posting is booked, never from today.", tags: [], source: { agent: "codex:b81e44d0", task: "T88" }, created_at: ago(3000), expires_at: null }],
      children: [], runs: RUNS.filter((run) => run.task === id), position: { of: 4, place: 1, column: one.column } }; },
    diff: () => ({ base: "9f2c1ab", commit: "e1f09c7a4410", added: 212, removed: 64, bytes: 9123, cut: false, files: [
      { path: "crates/ledger/src/rates.rs", old_path: null, status: "modified", added: 96, removed: 12, binary: false, patch: "@@ -41,5 +41,6 @@ impl Ledger\n   pub fn post(&mut self, p: Posting) -> Result<Entry> {\n-      let rate = self.rates.today(p.currency)?;\n+      let rate = self.rates.at(p.currency, p.booked_on)?;\n+      let rate = rate.round_to(RATE_DECIMALS);\n       Entry::new(p, rate)\n" },
      { path: "migrations/0041_posting_rate.sql", old_path: null, status: "added", added: 31, removed: 0, binary: false, patch: "@@ -0,0 +1,2 @@\n+alter table posting add column rate numeric(20, 10);\n+alter table posting add column rate_source text;\n" },
      { path: "crates/ledger/src/currency.rs", old_path: null, status: "modified", added: 85, removed: 52, binary: false, patch: "@@ -1,2 +1,2 @@\n-const DECIMALS: u32 = 6;\n+const DECIMALS: u32 = 10;\n fn round() {}\n" }] }),
    status: () => ({ root: "", store: "", me: "human:you", repo: "acme/ledger", repos: ["acme/ledger", "acme/site"], counts: {}, version: "0" }),
    log: () => ({ events: [{ seq: 4812, ts: iso(ZERO - 2000), event: "lease_renewed", agent: "claude-code:7f3a9c21", task: "T118", lock_id: "L4" }, { seq: 4811, ts: iso(ZERO - 9000), event: "tests_run", agent: "codex:90d3e7a4", task: "T123", gate: "test", passed: true }], next: null }),
    runs: () => ({ runs: RUNS, next: null }),
    logs: (url) => ({ lines: url.searchParams.has("from") ? [] : [["text", "The journal is checked before it is written."], ["tool", "edit crates/ledger/src/posting.rs"], ["tool", "cargo test -p ledger"], ["text", "412 tests pass, 6 fail: the closed period is not covered yet."]].map(([kind, text], i) => ({ at: ago(4 - i), kind, text })), next: 900, more: false, live: true }),
    cost: (url) => ({ cost: { today: { usd: 38.42, tokens: {}, runs: 31, by: {} }, all: { usd: 412, tokens: {}, runs: 214, by: url.searchParams.get("by") === "day" ? Object.fromEntries(flowDays.map((day, i) => [day, { usd: 22 + ((i * 37) % 19) + (i === 13 ? 10 : 0), runs: 14 + (i % 5), tokens: {} }])) : {} }, reserved_usd: 9.6, unpriced_runs: 0 } }),
    budgets: () => ({ budgets: [{ scope: "repo", per: "day", usd: 60, runs: null, spent: { usd: 38.42, runs: 31 }, reserved: { usd: 9.6, runs: 4 }, state: "open", default: false }] }),
    brief: () => ({ brief: { pad: { scope: "T88", version: 4, head: "Rates are kept with ten decimals." }, interfaces: [{ name: "rates-api", version: 3, paths: ["crates/ledger/src/rates.rs"], changed: true, seq: 4700 }], changes: [{ seq: 4714, ts: ago(34), by: "integrator-1", task: "T111", paths: [], text: "T111 landed: `Posting::external_ref` is unique now" }], memories: [], decisions: [], neighbours: [{ agent: "claude-code:7f3a9c21", task: "T118", title: "Reject postings that would unbalance a journal", paths: [], branch: null, since: ago(38) }], messages: [], more: null } }),
    pads: (url) => ({ pad: { scope: url.searchParams.get("scope") ?? "global", version: 4, text: "## Decisions\n- Rates are kept with ten decimals (D31).\n\n## Open\n- Who drops the first idempotency table?\n", sections: ["Decisions", "Open"], by: "codex:b81e44d0", ts: ago(70), wants_tidying: false } }),
    interfaces: () => ({ interfaces: [{ name: "rates-api", version: 3, text: "pub fn at(currency: Currency, day: Day) -> Result<Rate>;\n", paths: ["crates/ledger/src/rates.rs"], for: ["T133"], by: "codex:b81e44d0", task: "T112", ts: ago(90), seq: 4600 }], next: null }),
    events: () => ({ events: [{ seq: 4790, ts: ago(12), event: "message_sent", agent: "claude-code:7f3a9c21", task: "T118", to: "codex:b81e44d0", text: "posting.rs is free in about ten minutes" }], next: null }),
    tokens: () => ({ tokens: [{ id: "K3", agent: "codex:web", task: null, verbs: ["claim", "submit"], created_by: "human:you", created_at: ago(4000), expires_at: iso(ZERO + 20000 * MIN) }], next: null }),
    decisions: () => ({ decisions: [D37], next: null }),
    memories: () => ({ memories: [{ id: "M12", type: "fact", scope: "crates/ledger/**", text: "Rates come from the day the posting is booked, never from today.", tags: [], source: { agent: "codex:b81e44d0", task: "T88" }, created_at: ago(3000), expires_at: null }], next: null }),
    directives: () => ({ directives: [{ id: "V1", text: "Write the test before the fix", trigger: "startup", priority: 0, enabled: true, description: null, created_at: ago(5000), expires_at: null, last_triggered_at: null }], next: null }),
  };
}
