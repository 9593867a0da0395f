//! What git's pre-commit hook asks: whether the next commit leaves alone what others have leased.

use crate::check::Guard;
use crate::git::Git;
use comity_api::{CheckPaths, StagedAnswer, op};
use comity_core::hint::{op as operation, say};
use comity_core::limits::PATTERNS_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Answered, Caller};
use serde_json::{Value, json};

impl Guard {
    /// Refuses a commit of an agent that touches what another owner has leased; a person is told. A renamed file counts
    /// under both names.
    pub(crate) fn staged(&self, caller: &Caller) -> Result<Answered<StagedAnswer>, Refusal> {
        let Some(tree) = &self.observer.tree else {
            return Err(Refusal::input("there is no git repository to check")
                .hint("run the command inside the work tree"));
        };
        let args = ["diff", "--cached", "--name-only", "-z", "--no-renames"];
        let output = Git::at(tree)
            .output(&args)
            .filter(|output| output.status.success())
            .ok_or_else(|| Refusal::new(Code::Unobserved, "git could not tell what is staged"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let files: Vec<String> =
            text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let service = self.service()?;
        let mut violations: Vec<Value> = Vec::new();
        for some in files.chunks(PATTERNS_MAX) {
            let paths = some.iter().map(|file| comity_project::escape(file)).collect();
            let seen = service.call::<op::LeaseCheck>(caller, CheckPaths { paths })?.paths;
            for (file, seen) in some.iter().zip(seen) {
                violations.extend(seen.conflicts.first().map(|conflict| {
                    let held = &conflict.held;
                    json!({"constraint": "lease", "path": file, "holder": held.owner,
                        "lock_id": held.lock_id, "until": held.expires_at})
                }));
            }
        }
        let Some(first) = violations.first() else {
            return Ok(Answered { output: StagedAnswer { ok: true, files }, remarks: Vec::new() });
        };
        let word = |key: &str| first.get(key).and_then(Value::as_str).unwrap_or_default();
        let others = violations.len().saturating_sub(1);
        let more = if others > 0 { format!(" and {others} more files") } else { String::new() };
        let message = format!(
            "{}{more}: {} has leased what this commit changes (until {})",
            word("path"),
            word("holder"),
            word("until")
        );
        if caller.actor.is_person() || caller.actor.is_script() {
            let remarks = vec![format!("warning: {message}")];
            return Ok(Answered { output: StagedAnswer { ok: false, files }, remarks });
        }
        let how = operation("lease.list");
        Err(Refusal::new(Code::LeaseHeld, message)
            .hint(say("take those files out of the commit, or wait for their leases: ").quote(how))
            .detail("violations", violations))
    }
}
