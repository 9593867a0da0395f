//! The scene "ledger": fourteen days of a crew at an accounting system, up to a busy moment. The pages of the documents show it.

use super::stage::{Eyes, Stage, Step, Trust, What};
use comity_core::refusal::Refusal;
use serde_json::{Value, json};
use std::path::Path;

/// The settings of the repository.
pub(super) const SETTINGS: &str = "[project]\nrepo = \"acme/ledger\"\n";
const YOU: &str = "human:you";
const REPO: &str = "acme/ledger";
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Tasks of the days before; the tasks of today begin after them.
const BEFORE: usize = 96;
const GATES: [&str; 4] = ["build", "test", "lint", "migrate"];
const A: &str = "claude-code:7f3a9c21";
const B: &str = "codex:90d3e7a4";
const C: &str = "claude-code:c04d17be";
const D: &str = "codex:2f6ac913";
const E: &str = "claude-code:1e92aa50";
const F: &str = "claude-code:58b0f3d7";
const G: &str = "opencode:d5e2196c";
const H: &str = "gemini:4c1d08f2";
const I: &str = "gemini:a7730b5e";
const J: &str = "codex:b81e44d0";
const CREW: [&str; 10] = [A, B, C, D, E, F, G, H, I, J];
/// Seconds since the last sign of life of each.
const HEARD: [(&str, i64); 14] = [
    (A, 4),
    (B, 12),
    (C, 9),
    (D, 3),
    (E, 21),
    (F, 16),
    (G, 48),
    (H, 33),
    (I, 660),
    (J, 5),
    ("critic-1", 7),
    ("critic-2", 14),
    ("integrator-1", 2),
    ("planner-1", 360),
];
/// What done means for the task whose review is shown.
const DONE_MEANS: [&str; 3] = [
    "Each posting stores rate and source",
    "Old postings get the rate of their day",
    "No float in the money path",
];
const TAIL: &str = "$ cargo test -p ledger\ntest rates::keeps_ten_decimals ... ok\n\
    test rates::backfills_old_postings ... ok\ntest result: ok. 418 passed; 0 failed; finished in 41.2s\n";

/// A task of today: number, priority, title, files, agent, marks of its gates, and how it went.
struct Today {
    number: usize,
    priority: &'static str,
    title: &'static str,
    files: &'static [&'static str],
    after: &'static [usize],
    agent: &'static str,
    /// One letter a gate: Verified, Observed, Claimed, Failed, - open, Waived.
    gates: &'static str,
    went: Went,
}

/// How a task of today went, in minutes before the end of the scene.
#[derive(Clone, Copy)]
enum Went {
    Queued,
    Claimed(i64),
    Working(i64),
    /// Claimed and submitted, and who reviews it since when.
    Review(i64, i64, Option<(&'static str, i64)>),
    /// Claimed, submitted, sent back.
    SentBack(i64, i64, i64),
    /// Claimed, submitted, approved.
    Approved(i64, i64, i64),
    /// Claimed, submitted, approved, merging since.
    Merging(i64, i64, i64, i64),
    Blocked(i64, i64, &'static str),
    /// The last of three attempts failed then.
    Exhausted(i64),
    Done(i64),
    /// Given up by a person.
    Abandoned(i64),
}
use Went::*;

const fn today(
    number: usize,
    priority: &'static str,
    title: &'static str,
    files: &'static [&'static str],
    agent: &'static str,
    gates: &'static str,
    went: Went,
) -> Today {
    Today { number, priority, title, files, after: &[], agent, gates, went }
}

const fn after(mut task: Today, after: &'static [usize]) -> Today {
    task.after = after;
    task
}

const POSTING: &str = "crates/ledger/src/posting.rs";
#[rustfmt::skip]
const TODAY: [Today; 43] = [
    today(97, "P1", "Move secrets out of the compose file", &["deploy/compose.yaml"], I, "VOO", Done(1248)),
    today(98, "P2", "Report the replica’s lag in the health check", &["crates/api/src/health.rs"], B, "VVV", Done(371)),
    today(99, "P3", "Drop unused feature flags", &["crates/api/src/flags.rs"], E, "VOW", Done(335)),
    today(100, "P1", "Test the ledger with random journals", &["crates/ledger/tests/random.rs"], F, "VVV", Done(292)),
    today(101, "P2", "Add the currency to the account list", &["crates/api/src/list.rs"], J, "VVV", Done(258)),
    today(102, "P2", "Name the owner of each report", &["crates/api/src/reports.rs"], E, "---", Abandoned(240)),
    today(103, "P1", "Stream large exports", &["crates/api/src/exports.rs"], G, "VVO", Done(220)),
    today(104, "P1", "Limit the size of one export", &["crates/api/src/limits.rs"], B, "VOV", Approved(207, 112, 48)),
    today(105, "P3", "Say why a login failed", &["crates/api/src/login.rs"], C, "---", Abandoned(200)),
    today(106, "P0", "Lock accounts in id order", &["crates/ledger/src/locks.rs"], A, "VVV", Done(176)),
    today(107, "P1", "Name the failing field in API errors", &["crates/api/src/errors.rs"], D, "VVV", Merging(240, 150, 60, 1)),
    today(108, "P2", "Cache balances per closed period", &["crates/ledger/src/cache.rs"], C, "VVV", Done(71)),
    today(109, "P1", "Settlement cut-off test fails when the clocks change", &["crates/ledger/src/cutoff.rs"], D, "---", Exhausted(80)),
    today(110, "P3", "Sort the audit list newest first", &["crates/api/src/audit.rs"], G, "VVO", Approved(300, 200, 130)),
    today(111, "P1", "Reject duplicate external references", &["crates/ledger/src/refs.rs"], A, "VVV", Done(34)),
    after(today(112, "P1", "Store the exchange rate with each posting", &["crates/ledger/src/rates.rs", "crates/ledger/src/currency.rs", "migrations/0041_posting_rate.sql"], J, "VVOO", Review(252, 26, None)), &[100, 101]),
    today(113, "P1", "Answer every error as problem+json", &["crates/api/src/problem.rs"], D, "VVV", Done(105)),
    today(114, "P2", "Warn before an import overwrites matches", &["crates/recon/src/matches.rs"], H, "OOO", Review(182, 9, Some(("critic-1", 3)))),
    today(115, "P2", "Fetch statements from the bank’s test system", &["crates/recon/src/bank.rs"], H, "O--", Blocked(240, 184, "a test account")),
    today(116, "P1", "Trace a request across services", &["crates/api/src/trace.rs", "crates/recon/src/trace.rs"], F, "VOO", Review(202, 14, Some(("critic-2", 12)))),
    today(117, "P1", "List accounts by cursor, not by page", &["crates/api/src/cursor.rs"], E, "OOO", SentBack(62, 24, 3)),
    today(118, "P0", "Reject postings that would unbalance a journal", &["crates/ledger/src/balance.rs", POSTING, "crates/ledger/tests/balance.rs"], A, "O--", Working(38)),
    today(119, "P2", "Show fees as their own statement lines", &["crates/recon/src/fees.rs"], E, "VOC", Review(168, 65, None)),
    today(120, "P3", "Shorten the invoice footer", &["web/src/invoice.ts"], F, "---", Abandoned(150)),
    today(121, "P1", "Store idempotency keys as 128-bit values", &["crates/api/src/idempotency.rs", "migrations/0042_idempotency_keys.sql"], C, "OO-", Working(72)),
    today(122, "P2", "Run the containers without root", &["deploy/Dockerfile", "deploy/values.yaml"], I, "O--", Working(142)),
    today(123, "P1", "Generate the web client from the API description", &["openapi.yaml", "web/src/api/client.ts"], B, "OO-", Working(94)),
    today(124, "P2", "Show pending postings on statements", &["web/src/pages/statements/"], G, "OC-", Working(160)),
    today(125, "P2", "Show who approved a manual posting", &["crates/ledger/src/approval.rs"], "", "", Queued),
    today(126, "P1", "Split the bank importer by file format", &["crates/recon/src/import/**"], D, "---", Working(56)),
    today(127, "P2", "Sort accounts by last activity", &["crates/api/src/routes/accounts.rs"], F, "---", Claimed(2)),
    today(128, "P3", "Sign webhooks and document how to check", &["crates/api/src/webhooks/", "docs/webhooks.md"], H, "---", Working(7)),
    after(today(129, "P1", "Show which posting broke the balance in the error", &["crates/api/src/balance_error.rs"], "", "", Queued), &[118]),
    today(130, "P1", "Reverse a journal in one call", &[POSTING], "", "", Queued),
    after(today(131, "P1", "Refuse postings dated before a closed period", &["crates/ledger/src/period.rs"], "", "", Queued), &[118]),
    today(132, "P2", "Round half to even in statement totals", &["crates/recon/src/round.rs"], "", "", Queued),
    after(today(133, "P2", "Revalue open balances at month end", &["crates/ledger/src/month.rs"], "", "", Queued), &[112]),
    today(134, "P2", "Explain a rejected import line by line", &["crates/recon/src/explain.rs"], "", "", Queued),
    after(today(135, "P2", "Import MT940 bank statements", &["crates/recon/src/mt940.rs"], "", "", Queued), &[126]),
    today(136, "P3", "Retry webhooks with a growing pause", &["crates/api/src/retry.rs"], "", "", Queued),
    after(today(137, "P3", "Delete the first idempotency table", &["migrations/0043_drop.sql"], "", "", Queued), &[121]),
    today(138, "P3", "Document the posting rules with examples", &["docs/posting.md"], "", "", Queued),
    today(139, "P4", "Say “account” instead of “acct” in recon", &["crates/recon/src/names.rs"], "", "", Queued),
];

/// Plays the scene into a store; returns how many steps and events it has.
pub(super) fn play(store: &Path, commit: String, change: String) -> Result<(usize, u64), Refusal> {
    let eyes = Eyes { commit, change: (super::rates::TASK, change) };
    let stage = Stage::new(store, REPO, eyes)?;
    let mut script = Script::default();
    script.begin();
    script.days_before();
    TODAY.iter().for_each(|task| script.today(task));
    // It was made before the task that it waits for.
    let waits = json!({"id": "T131", "on": "T133"});
    script.call(80 * MINUTE, YOU, "task.depend", waits);
    script.questions();
    script.writes();
    script.signs_of_life();
    let steps = stage.play(script.0)?;
    Ok((steps, stage.events()?))
}

#[derive(Default)]
struct Script(Vec<Step>);

impl Script {
    fn call(&mut self, ago: i64, who: &str, name: &'static str, input: Value) {
        self.0.push(Step { ago, who: who.to_owned(), what: What::Call(name, input) });
    }

    fn on(&mut self, ago: i64, who: &str, name: &'static str, number: usize) {
        self.call(ago, who, name, json!({"id": format!("T{number}")}));
    }

    fn gate(&mut self, ago: i64, who: &str, number: usize, gate: &'static str, mark: char) {
        let (trust, pass) = match mark {
            'V' => (Trust::Verified, true),
            'O' | 'W' => (Trust::Observed, mark == 'O'),
            'F' => (Trust::Verified, false),
            _ => (Trust::Claimed, true),
        };
        let tail = if gate == "test" && pass { TAIL } else { "" };
        let what = What::Gate { task: format!("T{number}"), gate, trust, pass, tail };
        self.0.push(Step { ago, who: who.to_owned(), what });
    }

    fn begin(&mut self) {
        let start = 15 * DAY;
        for (who, role) in CREW
            .map(|who| (who, "implementer"))
            .into_iter()
            .chain([("critic-1", "critic"), ("critic-2", "critic"), ("integrator-1", "integrator")])
            .chain([("planner-1", "planner")])
        {
            self.call(start, YOU, "agent.register", json!({"id": who, "roles": [role]}));
        }
        let fact = "Rates come from the day the posting is booked, never from today.";
        let memory = json!({"text": fact, "type": "fact", "scope": "crates/ledger/**"});
        self.call(start - 1, J, "memory.write", memory);
        self.call(
            start - 2,
            YOU,
            "directive.create",
            json!({"text": "Write the test before the fix"}),
        );
    }

    fn create(&mut self, ago: i64, task: &Today) {
        let gates = GATES.get(..task.gates.len().max(3)).unwrap_or(&GATES);
        let after: Vec<String> = task.after.iter().map(|number| format!("T{number}")).collect();
        let mut new = json!({"title": task.title, "priority": task.priority, "files": task.files,
                             "gates": gates, "depends_on": after});
        if task.number == 112
            && let Some(fields) = new.as_object_mut()
        {
            fields.insert("dod".to_owned(), json!(DONE_MEANS));
            fields.insert("constraints".to_owned(), json!({"max_files": 8}));
        }
        self.call(ago, YOU, "task.create", new);
    }

    /// Fourteen days in which tasks were finished, faster from day to day.
    fn days_before(&mut self) {
        let spread = [0.5, 0.7, 0.85, 1.0, 1.2, 1.9, 2.9];
        let mut lives = Vec::new();
        for place in 0..BEFORE {
            let (day, nth) = (place / 7, place % 7);
            #[expect(clippy::cast_precision_loss, reason = "a number of days")]
            let middle = 5.2 - 0.16 * day as f64;
            #[expect(clippy::cast_possible_truncation, reason = "seconds of a few hours")]
            let lead = (middle * spread.get(nth).unwrap_or(&1.0) * 3600.0) as i64;
            let at = |number: usize| i64::try_from(number).unwrap_or(0);
            let done = DAY * (14 - at(day)) - HOUR * 7 - at(nth) * 200 * MINUTE;
            lives.push((done.max(28 * HOUR) + lead, lead, done.max(28 * HOUR), place));
        }
        // Numbers follow from the order in which tasks were made.
        lives.sort_by_key(|(created, ..)| std::cmp::Reverse(*created));
        for (number, (created, lead, done, place)) in (1..).zip(lives) {
            let who = CREW.get(place % CREW.len()).copied().unwrap_or(A);
            let file = format!("crates/old/src/part{number}.rs");
            let new = json!({"title": format!("Settle entry {number} of the import"), "priority": "P2",
                             "files": [file], "gates": ["build", "test"]});
            self.call(created, YOU, "task.create", new);
            let claimed = done + lead * 45 / 100;
            self.claim(claimed, who, number, true);
            if place % 11 == 5 {
                self.call(
                    claimed - 60,
                    who,
                    "task.block",
                    json!({"id": format!("T{number}"), "needs": reason(place)}),
                );
                self.on(claimed - lead / 4, YOU, "task.unblock", number);
                self.claim(claimed - lead / 4 - 1, who, number, true);
            }
            let again = place % 7 == 2 || place % 7 == 5;
            if again {
                self.hand_in(done + lead / 6, who, number, "OO");
                let why = json!({"id": format!("T{number}"), "reason": "The edge of the month is not tested."});
                self.call(done + lead / 8, "critic-2", "task.request-changes", why);
                self.on(done + lead / 9, who, "task.start", number);
            }
            self.hand_in(done + lead / 12, who, number, "VO");
            self.finish(done, number, lead / 20, lead / 40);
        }
    }

    fn claim(&mut self, ago: i64, who: &str, number: usize, start: bool) {
        // Work of days ago must not end for want of a sign of life that nobody looks at.
        let ttl = if ago > 6 * HOUR { "12h" } else { "15m" };
        let claim = json!({"id": format!("T{number}"), "ttl": ttl, "start": start});
        self.call(ago, who, "task.claim", claim);
    }

    fn hand_in(&mut self, ago: i64, who: &str, number: usize, gates: &str) {
        for (gate, mark) in GATES.iter().zip(gates.chars()).filter(|(_, mark)| *mark != '-') {
            self.gate(ago + 2, who, number, gate, mark);
        }
        self.on(ago, who, "task.submit", number);
    }

    fn finish(&mut self, done: i64, number: usize, approved: i64, merged: i64) {
        let critic = if number.is_multiple_of(3) { "critic-2" } else { "critic-1" };
        self.on(done + approved.max(3) + approved / 2, critic, "task.review", number);
        self.on(done + approved.max(3), critic, "task.approve", number);
        self.on(done + merged.max(2), "integrator-1", "task.merge", number);
        self.on(done, "integrator-1", "task.done", number);
    }

    /// A task of today, from its creation to where it stands.
    fn today(&mut self, task: &Today) {
        let number = task.number;
        let place = i64::try_from(number - BEFORE).unwrap_or(0);
        let created = match number {
            97 => 1_450 * MINUTE,
            98..129 => (541 - 11 * place) * MINUTE,
            _ => (90 - place / 10) * MINUTE - place,
        };
        self.create(created, task);
        match task.went {
            Queued => {}
            Claimed(ago) => self.claim(ago * MINUTE, task.agent, number, false),
            Working(ago) => {
                self.claim(ago * MINUTE, task.agent, number, true);
                self.gates(ago * MINUTE * 2 / 3, task);
            }
            Review(claimed, submitted, by) => self.in_review(task, claimed, submitted, by),
            SentBack(claimed, submitted, back) => {
                self.claim(claimed * MINUTE, task.agent, number, true);
                let why = "The cursor skips a row when two are equal.";
                self.sent_back(submitted, back, number, task.agent, why);
            }
            Approved(claimed, submitted, approved) | Merging(claimed, submitted, approved, _) => {
                self.claim(claimed * MINUTE, task.agent, number, true);
                self.hand_in(submitted * MINUTE, task.agent, number, task.gates);
                let critic = if number == 110 { "critic-2" } else { "critic-1" };
                self.on(approved * MINUTE, critic, "task.approve", number);
                if let Merging(.., since) = task.went {
                    self.on(since * MINUTE, "integrator-1", "task.merge", number);
                }
                if number == 104 {
                    self.gate(16 * MINUTE, "integrator-1", number, "test", 'F');
                }
            }
            Blocked(claimed, ago, needs) => {
                self.claim(claimed * MINUTE, task.agent, number, true);
                self.gates(ago * MINUTE + 60, task);
                let stop = json!({"id": format!("T{number}"), "needs": needs});
                self.call(ago * MINUTE, task.agent, "task.block", stop);
            }
            Exhausted(ago) => self.exhausted(task, ago),
            Done(ago) => self.done(task, ago * MINUTE),
            Abandoned(ago) => {
                let why =
                    json!({"id": format!("T{number}"), "reason": "Nobody asks for it any more."});
                self.call(ago * MINUTE, YOU, "task.abandon", why);
            }
        }
    }

    /// Evidence for the gates of a task, as far as it has any.
    fn gates(&mut self, ago: i64, task: &Today) {
        for (gate, mark) in GATES.iter().zip(task.gates.chars()).filter(|(_, mark)| *mark != '-') {
            self.gate(ago, task.agent, task.number, gate, mark);
        }
    }

    fn in_review(
        &mut self,
        task: &Today,
        claimed: i64,
        submitted: i64,
        by: Option<(&'static str, i64)>,
    ) {
        let (number, who) = (task.number, task.agent);
        self.claim(claimed * MINUTE, who, number, true);
        let is_second = number == 112;
        if is_second {
            let why = "Old postings have no rate. Backfill them and test it.";
            self.sent_back(162, 137, number, who, why);
            self.on(132 * MINUTE, who, "task.start", number);
            for item in DONE_MEANS {
                let check = json!({"id": format!("T{number}"), "item": item});
                self.call((submitted + 1) * MINUTE, who, "task.check", check);
            }
        }
        self.gates(submitted * MINUTE + 30, task);
        let work = json!({"id": format!("T{number}"), "reviewer": is_second.then_some(YOU)});
        self.call(submitted * MINUTE, who, "task.submit", work);
        if let Some((critic, since)) = by {
            self.on(since * MINUTE, critic, "task.review", number);
        }
    }

    fn exhausted(&mut self, task: &Today, ago: i64) {
        let (number, who) = (task.number, task.agent);
        for attempt in (0..3).rev() {
            let end = (ago + attempt * 30) * MINUTE;
            self.claim(end + 20 * MINUTE, who, number, true);
            let why = "expected 23 hours, got 24";
            self.call(end, who, "task.fail", json!({"id": format!("T{number}"), "reason": why}));
            if attempt > 0 {
                self.on(end - 5 * MINUTE, YOU, "task.requeue", number);
            }
        }
    }

    fn done(&mut self, task: &Today, done: i64) {
        let (number, who) = (task.number, task.agent);
        self.claim(done + 100 * MINUTE, who, number, true);
        self.hand_in(done + 30 * MINUTE, who, number, task.gates.trim_end_matches('W'));
        if task.gates.ends_with('W') {
            let why = json!({"id": format!("T{number}"), "gate": "lint",
                             "reason": "The linter does not know the macro."});
            self.call(done + 29 * MINUTE, YOU, "gate.waive", why);
        }
        self.finish(done, number, 18 * MINUTE, 10 * MINUTE);
    }

    fn sent_back(&mut self, submitted: i64, back: i64, number: usize, who: &str, why: &str) {
        self.hand_in(submitted * MINUTE, who, number, "OOO");
        let reason = json!({"id": format!("T{number}"), "reason": why});
        self.call(back * MINUTE, "critic-2", "task.request-changes", reason);
    }

    fn questions(&mut self) {
        // Answered today, each after a while in which its agent waited.
        for (asked, answered, who, task, question, id, answer) in [
            (228, 210, J, "T112", "How many decimals has a rate?", "D1", "ten"),
            (
                120,
                100,
                A,
                "T111",
                "May an external reference be used again after a year?",
                "D2",
                "no",
            ),
            (96, 77, H, "T114", "Warn, or refuse to overwrite?", "D3", "warn"),
        ] {
            let ask = json!({"question": question, "task": task});
            self.call(asked * MINUTE, who, "decision.ask", ask);
            let answer = json!({"id": id, "answer": answer});
            self.call(answered * MINUTE, YOU, "decision.answer", answer);
        }
        let keys = json!({
            "task": "T121",
            "question": "Keep the first idempotency table for one release, or drop it now?",
            "context": "The settlement and webhook services still read `idempotency_keys_v1`. Dropping it makes migration 0042 \
                one-way. Keeping it costs 1.2 GB and a second migration, which is queued as T137.",
            "options": [{"key": "keep", "label": "Keep it one release"},
                        {"key": "drop", "label": "Drop it now", "description": "No way back after deploy"},
                        {"key": "readonly", "label": "Keep it, read-only", "description": "Writes to it fail loudly"}],
            "default": "keep",
            "expires": "2130s",
        });
        self.call(24 * MINUTE, C, "decision.ask", keys);
        let plan = json!({"task": "T126", "type": "approval", "expires": "216m",
                          "question": "Approve the plan for “Split the bank importer by file format”?"});
        self.call(8 * MINUTE, D, "decision.ask", plan);
        self.call(
            31 * MINUTE,
            A,
            "note",
            json!({"type": "progress", "text": "tests for the closed period", "task": "T118"}),
        );
        self.call(
            11 * MINUTE,
            B,
            "note",
            json!({"type": "progress", "text": "the client compiles", "task": "T123"}),
        );
        let told = json!({"to": J, "text": "posting.rs is free in about ten minutes"});
        self.call(12 * MINUTE, A, "tell", told);
    }

    /// Writes that the guard refused, or saw too late.
    fn writes(&mut self) {
        let mut write = |ago: i64, who: &str, event: &str, path: &str, holder: &str| {
            let said = json!({"event": {"event": event, "path": path, "holder": holder}});
            self.call(ago, who, "event.emit", said);
        };
        for (place, ago) in [6, 15, 121, 148, 170, 200, 260, 380, 500].into_iter().enumerate() {
            let who = [J, F, B, E, G].get(place % 5).copied().unwrap_or(J);
            write(ago * MINUTE, who, "write_refused", POSTING, A);
        }
        for (ago, who, path) in
            [(90, G, "openapi.yaml"), (191, C, "migrations/0041_posting_rate.sql")]
        {
            write(ago * MINUTE, who, "write_refused", path, B);
        }
        for (place, path) in
            [POSTING, "openapi.yaml", POSTING, "Cargo.lock", "migrations/", POSTING]
                .iter()
                .cycle()
                .take(48)
                .enumerate()
        {
            let ago = 28 * HOUR + i64::try_from(place).unwrap_or(0) * 6 * HOUR;
            let who = CREW.get(place % CREW.len()).copied().unwrap_or(A);
            write(ago, who, "write_refused", path, A);
        }
        write(21 * MINUTE, G, "write_seen", "web/src/api/client.ts", B);
    }

    /// Whoever holds something says so every ten minutes, up to the last sign of each.
    fn signs_of_life(&mut self) {
        for (who, heard) in HEARD {
            for minutes in (0..=46).map(|nth| nth * 9) {
                let ago = minutes * MINUTE + heard;
                self.call(ago, who, "agent.heartbeat", json!({}));
            }
        }
    }
}

fn reason(place: usize) -> &'static str {
    ["a test account", "an answer of the bank", "access to the archive"]
        .get(place % 3)
        .copied()
        .unwrap_or("help")
}
