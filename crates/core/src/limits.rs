//! Every bound in one place. At a bound there is a clear refusal, never a hang.

use crate::time::Millis;

/// Those who worked on a task, remembered at most.
pub const WORKERS_MAX: usize = 200;
/// Longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 500;
/// Longest free text, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest prompt of a run, in bytes.
pub const PROMPT_BYTES_MAX: usize = 100 * 1024;
/// Longest text of another system that a task is made of, in bytes: what GitHub takes as the body of an issue.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// Longest short text (a label, a gate's name, a skill), in bytes.
pub const WORD_BYTES_MAX: usize = 200;
/// Most entries in any list of a task, a decision or an agent.
pub const LIST_ENTRIES_MAX: usize = 200;
/// Most files, log lines or issues in one result contract.
pub const REPORT_ENTRIES_MAX: usize = 1000;
/// Most steps in one command that is made of several.
pub const STEPS_MAX: usize = 1000;
/// Largest result contract, in bytes.
pub const REPORT_BYTES_MAX: usize = 512 * 1024;
/// Most patterns in one lease command.
pub const PATTERNS_MAX: usize = 200;
/// Most candidates that one claim looks at.
pub const CANDIDATES_MAX: usize = 200;
/// Clocks further apart than this were set.
pub const CLOCK_SLACK: Millis = Millis::from_secs(60);
/// Most expired things that one mutation applies before its own work.
pub const EXPIRED_MAX: usize = 100;
/// Shortest and longest life of a claim or lease.
pub const TTL_MIN: Millis = Millis::from_secs(1);
/// Longest life of a claim or lease.
pub const TTL_MAX: Millis = Millis::from_secs(7 * 86_400);
/// Life of a claim or lease when none is asked for.
pub const TTL_DEFAULT: Millis = Millis::from_secs(900);
/// How often a sign of life is written at most.
pub const PRESENCE_EVERY: Millis = Millis::from_secs(10);
/// How long an idempotency key is remembered.
pub const IDEMPOTENCY_LIFE: Millis = Millis::from_secs(7 * 86_400);
/// Longest idempotency key, in bytes.
pub const KEY_BYTES_MAX: usize = 200;
/// Longest wait for a lease, an answer or an event.
pub const WAIT_MAX: Millis = Millis::from_secs(7 * 86_400);
/// Entries on a page when no limit is given.
pub const PAGE_DEFAULT: usize = 50;
/// Most entries on a page.
pub const PAGE_MAX: usize = 500;
/// Memories with every word of a query that a search ranks, the newest of them.
pub const MATCHES_MAX: usize = 2_000;
/// Longest scope of a memory, in bytes: that of the longest path.
pub const SCOPE_BYTES_MAX: usize = 4_096;
/// Highest priority of a directive: the last number that every reader of JSON takes as it is.
pub const PRIORITY_MAX: u64 = (1 << 53) - 1;
/// How long a directive is kept after it expired.
pub const DIRECTIVE_KEPT: Millis = Millis::from_secs(86_400);
/// Deepest nesting of a JSON value that a caller may report.
pub const JSON_DEPTH_MAX: usize = 32;
/// Violations of the land rule that an event keeps. One is enough to refuse; the rest tells how much there is to mend.
pub const VIOLATIONS_MAX: usize = 50;
/// Leases that an agent gets by writing files. From then on it writes free files without one.
pub const AUTOMATIC_LEASES_MAX: usize = 200;
/// Longest message or change notice, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 2 * 1024;
/// Largest pad, in bytes.
pub const PAD_BYTES_MAX: usize = 64 * 1024;
/// From here on a pad wants tidying, in bytes.
pub const PAD_BYTES_TIDY: usize = 48 * 1024;
/// Versions of a pad or an interface that can be shown.
pub const POST_HISTORY_MAX: usize = 100;
/// Directories above a path that posts are found under; what lies deeper counts as lying there.
pub const PLACE_DEPTH_MAX: usize = 16;
/// Entries of a brief.
pub const BRIEF_ENTRIES_MAX: usize = 12;
/// Text of a brief, in bytes.
pub const BRIEF_BYTES_MAX: usize = 2 * 1024;
/// Text of one entry of a brief, in bytes.
pub const EXCERPT_BYTES_MAX: usize = 240;
