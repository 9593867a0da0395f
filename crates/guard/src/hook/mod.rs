//! What an agent client's hooks ask: before a tool writes, and after a shell command wrote.
//!
//! Before a tool, the answer may be no. After a tool, comity looks at the work tree and tells the agent when it changed files
//! that another one has leased. Such work does not land.

mod event;
mod look;

pub use event::{HookClient, HookEvent, Moment};

use comity_api::{AcquireLeases, ById, CheckPaths, ConflictView, EmitEvent, PathView, op};
use comity_core::hint::{op as operation, say};
use comity_core::pattern::Pattern;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::LeaseView;
use comity_core::write_guard::{WantedFile, WriteRuling, covers, may_write};
use comity_engine::{Caller, Service};
use comity_project::store::Access;
use comity_project::{Context, WriteSettings};
use look::{LastLook, Look};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The most files that one answer names.
const NAMED_MAX: usize = 5;

/// What a hook answers its client.
#[derive(Debug, Default)]
pub struct HookAnswer {
    /// Why the tool must not run, and what to do instead.
    pub denied: Option<Refusal>,
    /// What the agent is told beside the tool's own output.
    pub told: Option<String>,
}

/// A hook's view of one project, as one agent.
pub struct Hook<'a> {
    context: &'a Context,
    caller: Caller,
    service: Service,
    settings: WriteSettings,
}

/// A file that a tool is about to write, by its name in the project.
struct Target {
    pattern: Pattern,
    path: String,
}

impl<'a> Hook<'a> {
    pub fn new(context: &'a Context) -> Result<Hook<'a>, Refusal> {
        let service = context.service(Access::Write)?;
        // The agent writes by its leases: a fence of its shell is about something else.
        let caller = Caller { fence: None, key: None, ..context.caller() };
        Ok(Hook { context, caller, service, settings: context.config.writes()? })
    }

    pub fn answer(&self, event: &HookEvent) -> Result<HookAnswer, Refusal> {
        match event.moment {
            Moment::Before => self.before(event),
            Moment::After | Moment::Other => self.after(event),
        }
    }

    fn before(&self, event: &HookEvent) -> Result<HookAnswer, Refusal> {
        let targets = self.targets(&event.files)?;
        if let Some(refusal) = self.denied(&targets, event)? {
            return Ok(HookAnswer { denied: Some(refusal), told: None });
        }
        if event.may_write_anything {
            // What changed before this call is nobody's news: it only sets where the next look begins.
            self.look()?;
        }
        Ok(HookAnswer::default())
    }

    /// Names the files as the project does. A file outside of it is none of comity's business.
    fn targets(&self, files: &[String]) -> Result<Vec<Target>, Refusal> {
        let mapper = self.context.mapper();
        let mut targets = Vec::new();
        for file in files {
            let Some(path) = mapper.literal(Path::new(file))? else { continue };
            let pattern = Pattern::parse(&path)
                .map_err(|error| Refusal::input(format!("path {file:?}: {error}")))?;
            targets.push(Target { pattern, path });
        }
        Ok(targets)
    }

    /// Returns why the files may not be written, all or none of them, or takes the leases that are missing.
    fn denied(&self, targets: &[Target], event: &HookEvent) -> Result<Option<Refusal>, Refusal> {
        if targets.is_empty() {
            return Ok(None);
        }
        let paths = targets.iter().map(|target| target.path.clone()).collect();
        let seen = self.service.call::<op::LeaseCheck>(&self.caller, CheckPaths { paths })?.paths;
        let held = self.held()?;
        let mut missing = Vec::new();
        for (target, seen) in targets.iter().zip(&seen) {
            let file = WantedFile {
                is_protected: covers(&self.settings.protected, &target.pattern),
                is_declared: held.task_of(&target.pattern).is_some(),
                is_mine: seen.mine && seen.free,
                holder: (!seen.free).then(|| holder(seen)).flatten(),
            };
            match may_write(file, self.settings.free, held.leases) {
                WriteRuling::Allowed | WriteRuling::AllowedUnleased => {}
                WriteRuling::AfterLease => missing.push(target),
                WriteRuling::DeniedProtected => {
                    let message = format!("{} is protected", target.path);
                    let refusal = Refusal::new(Code::RoleForbidden, message)
                        .hint("agents write it only for a task that declares it; ask a person");
                    return Ok(Some(self.refuse(event, target, None, refusal)));
                }
                WriteRuling::DeniedHeld => {
                    let held = seen.conflicts.first().map(|conflict| &conflict.held);
                    return Ok(Some(self.refuse(event, target, held, is_held(&target.path, held))));
                }
                WriteRuling::DeniedUnleased => {
                    let message = format!("you have no lease on {}", target.path);
                    let take = operation("lease.acquire").arg("patterns", &target.path);
                    let refusal = Refusal::new(Code::NotHolder, message)
                        .hint(say("take one first: ").quote(take));
                    return Ok(Some(self.refuse(event, target, None, refusal)));
                }
            }
        }
        self.lease(&missing, &held, event)
    }

    /// Leases free files to the task that declares them, else to the task that was claimed last, else to no task.
    fn lease(
        &self,
        missing: &[&Target],
        held: &Held,
        event: &HookEvent,
    ) -> Result<Option<Refusal>, Refusal> {
        let Some(first) = missing.first() else { return Ok(None) };
        let task = held.task_of(&first.pattern).or_else(|| held.last()).map(str::to_owned);
        let wish = AcquireLeases {
            patterns: missing.iter().map(|target| target.path.clone()).collect(),
            task,
            purpose: Some(format!("written with {}", event.tool)),
            ttl: None,
            owner: None,
            wait: None,
            shared: self.settings.shared,
        };
        match self.service.call::<op::LeaseAcquire>(&self.caller, wish) {
            Ok(_) => Ok(None),
            // Somebody was faster.
            Err(refusal) if refusal.code == Code::LeaseHeld => {
                Ok(Some(self.refuse(event, first, None, refusal)))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Notes a denial in the log.
    fn refuse(
        &self,
        event: &HookEvent,
        target: &Target,
        held: Option<&LeaseView>,
        refusal: Refusal,
    ) -> Refusal {
        self.report("write_refused", &target.path, held, event);
        refusal
    }

    fn after(&self, event: &HookEvent) -> Result<HookAnswer, Refusal> {
        if !event.may_write_anything && event.moment == Moment::After {
            return Ok(HookAnswer::default());
        }
        let changed = self.look()?;
        if changed.is_empty() {
            return Ok(HookAnswer::default());
        }
        let paths: Vec<String> = changed.iter().map(|path| comity_project::escape(path)).collect();
        let mut others = Vec::new();
        for some in paths.chunks(comity_core::limits::PATTERNS_MAX) {
            let input = CheckPaths { paths: some.to_vec() };
            let seen = self.service.call::<op::LeaseCheck>(&self.caller, input)?.paths;
            others.extend(seen.into_iter().filter(|path| !path.free && !path.mine));
        }
        if others.is_empty() || event.moment == Moment::Other {
            return Ok(HookAnswer::default());
        }
        for seen in others.iter().take(NAMED_MAX) {
            let held = seen.conflicts.first().map(|conflict| &conflict.held);
            self.report("write_seen", &seen.path, held, event);
        }
        let named: Vec<String> = others
            .iter()
            .take(NAMED_MAX)
            .map(|seen| format!("{} ({})", seen.path, holder(seen).unwrap_or("somebody")))
            .collect();
        let more = others.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let told = format!(
            "comity: files that others have leased changed: {}{more}. Such changes cannot be merged. \
             If this was you, restore the files, or ask the holder.",
            named.join(", ")
        );
        Ok(HookAnswer { denied: None, told: Some(told) })
    }

    /// Looks at the caller's work tree, and returns what changed since the last look.
    fn look(&self) -> Result<Vec<String>, Refusal> {
        let Some(tree) = self.context.git_tree() else { return Ok(Vec::new()) };
        let mut last = LastLook::of(tree, &self.context.beside_store().join("looks"))?;
        let now = Look::now(tree)?;
        let Some(before) = last.replace(&now) else { return Ok(Vec::new()) };
        Ok(before.changed(&now, tree).into_iter().collect())
    }

    /// Writes down what the hook saw. The verdict does not depend on it.
    fn report(&self, name: &str, path: &str, held: Option<&LeaseView>, event: &HookEvent) {
        let mut fields = Map::new();
        fields.insert("event".to_owned(), json!(name));
        fields.insert("path".to_owned(), json!(path));
        fields.insert("holder".to_owned(), held.map_or(Value::Null, |held| json!(held.owner)));
        fields.insert("layer".to_owned(), json!("hook"));
        fields.insert("tool".to_owned(), json!(event.tool));
        let _ = self.service.call::<op::EventEmit>(&self.caller, EmitEvent { event: fields });
    }

    fn held(&self) -> Result<Held, Refusal> {
        let id = self.caller.actor.to_string();
        let agent = match self.service.call::<op::AgentShow>(&self.caller, ById { id }) {
            Err(refusal) if refusal.code == Code::NotFound => return Ok(Held::default()),
            answer => answer?.agent,
        };
        let mut held = Held { tasks: Vec::new(), leases: agent.holds.leases.len() };
        for id in agent.holds.tasks {
            let task = self.service.call::<op::TaskShow>(&self.caller, ById { id })?.task;
            let files = task.files.iter().filter_map(|file| Pattern::parse(file).ok()).collect();
            held.tasks.push((task.fence.unwrap_or_default(), task.id, files));
        }
        held.tasks.sort_by_key(|(fence, ..)| *fence);
        Ok(held)
    }
}

/// What the agent holds: its tasks with their files, the last claimed one last, and how many leases.
#[derive(Default)]
struct Held {
    tasks: Vec<(u64, String, Vec<Pattern>)>,
    leases: usize,
}

impl Held {
    /// Returns the task that declares a file.
    fn task_of(&self, file: &Pattern) -> Option<&str> {
        let found = self.tasks.iter().rev().find(|(_, _, files)| covers(files, file));
        found.map(|(_, id, _)| id.as_str())
    }

    fn last(&self) -> Option<&str> {
        self.tasks.last().map(|(_, id, _)| id.as_str())
    }
}

fn holder(seen: &PathView) -> Option<&str> {
    seen.conflicts.first().map(|ConflictView { held, .. }| held.owner.as_str())
}

fn is_held(path: &str, held: Option<&LeaseView>) -> Refusal {
    let message = match held {
        None => format!("{path} is leased to somebody else"),
        Some(held) => format!(
            "{path} is leased to {} ({}) until {}",
            held.owner, held.lock_id, held.expires_at
        ),
    };
    let wait = operation("lease.acquire").arg("patterns", path).ask("wait", "DUR");
    Refusal::new(Code::LeaseHeld, message)
        .hint(say("work on something else, or wait for it: ").quote(wait))
}
