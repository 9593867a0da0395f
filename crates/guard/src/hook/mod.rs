//! What an agent client's hooks ask: before a tool writes, and after a shell command wrote.
//!
//! Before a tool, the answer may be no. After a tool, comity looks at the work tree and tells the agent when it changed files
//! that another one has leased. Such work does not land.

mod event;
mod look;

pub use event::{HookClient, HookEvent, Moment};

use crate::staged::{held_by_others, is_exclusive};
use comity_api::{AcquireLeases, ById, CheckPaths, EmitEvent, LeaseFilter, op};
use comity_core::hint::{op as operation, say};
use comity_core::limits::{AUTOMATIC_LEASES_MAX, PAGE_MAX};
use comity_core::pattern::Pattern;
use comity_core::refusal::{Code, Refusal};
use comity_core::view::LeaseView;
use comity_core::write_guard::{
    WantedFile, WriteRuling, automatic_purpose, covers, is_automatic, may_write,
};
use comity_engine::{Caller, Service};
use comity_project::store::Access;
use comity_project::{Context, WriteSettings};
use look::{Look, Memory, was_at_work};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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
        let unleased = match self.denied(&targets, event)? {
            Ok(unleased) => unleased,
            Err(refusal) => return Ok(HookAnswer { denied: Some(refusal), told: None }),
        };
        self.note_call(true)?;
        if event.may_write_anything {
            // What changed before this call is nobody's news: it is written down, and sets where the next look begins.
            let others = self.look()?;
            self.report_seen(&others, None);
        }
        let told = unleased.map(|path| {
            format!(
                "comity: {path} is free, but {AUTOMATIC_LEASES_MAX} files were leased to you already, so it was not leased to you. \
                 Lease a directory instead of single files."
            )
        });
        Ok(HookAnswer { denied: None, told })
    }

    /// Notes that a tool call of the agent begins or ends in its work tree.
    fn note_call(&self, begins: bool) -> Result<(), Refusal> {
        if let Some(mut memory) = self.memory()? {
            memory.call(begins, now_ms());
            memory.keep();
        }
        Ok(())
    }

    fn looks(&self) -> PathBuf {
        self.context.beside_store().join("looks")
    }

    fn memory(&self) -> Result<Option<Memory>, Refusal> {
        let Some(tree) = self.context.git_tree() else { return Ok(None) };
        Memory::of(&self.looks(), tree, self.caller.actor.as_str()).map(Some)
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

    /// Says why the files may not be written, all or none of them, or takes the leases that are missing; returns a file that
    /// is written without one.
    fn denied(
        &self,
        targets: &[Target],
        event: &HookEvent,
    ) -> Result<Result<Option<String>, Refusal>, Refusal> {
        if targets.is_empty() {
            return Ok(Ok(None));
        }
        let paths = targets.iter().map(|target| target.path.clone()).collect();
        let seen = self.service.call::<op::LeaseCheck>(&self.caller, CheckPaths { paths })?.paths;
        let held = self.held()?;
        let (mut missing, mut unleased) = (Vec::new(), None);
        for (target, seen) in targets.iter().zip(&seen) {
            // Shared leases stand beside each other: one is in the way only of who would take the file for itself alone.
            let is_shared = seen.mine || self.settings.shared;
            let mut others = seen.conflicts.iter().map(|conflict| &conflict.held);
            let other = others.find(|held| !is_shared || is_exclusive(held));
            let file = WantedFile {
                is_protected: covers(&self.settings.protected, &target.pattern),
                is_declared: held.task_of(&target.pattern).is_some(),
                is_undeclared: held.declares_others(&target.pattern),
                is_mine: seen.mine && other.is_none(),
                holder: other.map(|held| held.owner.as_str()),
            };
            match may_write(file, self.settings.rules, held.automatic) {
                WriteRuling::Allowed => {}
                WriteRuling::AllowedUnleased => unleased = Some(target.path.clone()),
                WriteRuling::AfterLease => missing.push(target),
                WriteRuling::DeniedProtected => {
                    let message = format!("{} is protected", target.path);
                    let refusal = Refusal::new(Code::RoleForbidden, message)
                        .hint("agents write it only for a task that declares it; ask a person");
                    return Ok(Err(self.refuse(event, target, None, refusal)));
                }
                WriteRuling::DeniedHeld => {
                    return Ok(Err(self.refuse(
                        event,
                        target,
                        other,
                        is_held(&target.path, other),
                    )));
                }
                WriteRuling::DeniedUnleased => {
                    let message = format!("you have no lease on {}", target.path);
                    let take = operation("lease.acquire").arg("patterns", &target.path);
                    let refusal = Refusal::new(Code::NotHolder, message)
                        .hint(say("take one first: ").quote(take));
                    return Ok(Err(self.refuse(event, target, None, refusal)));
                }
                WriteRuling::DeniedUndeclared => {
                    let task = held.last().unwrap_or_default();
                    let message = format!("{task} does not declare {}", target.path);
                    let take = operation("lease.acquire").arg("patterns", &target.path);
                    let refusal = Refusal::new(Code::UndeclaredFiles, message)
                        .hint(say("if it belongs to the task, lease it first: ").quote(take));
                    return Ok(Err(self.refuse(event, target, None, refusal)));
                }
            }
        }
        Ok(self.lease(&missing, &held, event)?.map_or(Ok(unleased), Err))
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
            purpose: Some(automatic_purpose(&event.tool)),
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
        let memory = self.memory().ok().flatten();
        let tells = memory.is_none_or(|mut memory| {
            let tells = memory.tells_refusal(&target.path, now_ms());
            memory.keep();
            tells
        });
        if tells {
            self.report("write_refused", &target.path, held, Some(event));
        }
        refusal
    }

    fn after(&self, event: &HookEvent) -> Result<HookAnswer, Refusal> {
        let is_edit = !event.may_write_anything && event.moment == Moment::After;
        if is_edit {
            self.note_call(false)?;
            return Ok(HookAnswer::default());
        }
        let mut others = self.look()?;
        if let Some(mut memory) = self.memory()? {
            match event.moment {
                Moment::After => memory.call(false, now_ms()),
                Moment::Before | Moment::Other => memory.no_calls(),
            }
            // Who was told of a file and has put it back did what it was told to do.
            others.retain(|(path, _)| !memory.was_put_back(path));
            memory.tell(others.iter().map(|(path, _)| path));
            memory.keep();
        }
        self.report_seen(&others, Some(event));
        if others.is_empty() || event.moment == Moment::Other {
            return Ok(HookAnswer::default());
        }
        let named: Vec<String> = others
            .iter()
            .take(NAMED_MAX)
            .map(|(path, held)| format!("{path} ({})", held.owner))
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

    /// Looks at the caller's work tree, and returns what changed since its last look on files that others have leased. If the
    /// holder was at work there meanwhile, the change is the holder's.
    fn look(&self) -> Result<Vec<(String, LeaseView)>, Refusal> {
        let Some(tree) = self.context.git_tree() else { return Ok(Vec::new()) };
        let Some(mut memory) = self.memory()? else { return Ok(Vec::new()) };
        let looked = Look::now(tree)?;
        let now = now_ms();
        let before = memory.replace(looked.clone(), now);
        memory.keep();
        let Some((before, since)) = before else { return Ok(Vec::new()) };
        let changed = before.changed(&looked, tree);
        let changed: Vec<String> = changed.into_iter().collect();
        let mut others = held_by_others(&self.caller, &self.service, &changed)?;
        let looks = self.looks();
        others.retain(|(_, held)| !was_at_work(&looks, tree, &held.owner, since, now));
        Ok(others)
    }

    /// Writes down what a look found. Without an event nobody knows who wrote it.
    fn report_seen(&self, others: &[(String, LeaseView)], event: Option<&HookEvent>) {
        for (path, held) in others.iter().take(NAMED_MAX) {
            self.report("write_seen", path, Some(held), event);
        }
    }

    /// Writes down what the hook saw. The verdict does not depend on it.
    fn report(&self, name: &str, path: &str, held: Option<&LeaseView>, event: Option<&HookEvent>) {
        let layer = if name == "write_seen" { "look" } else { "hook" };
        let writer = event.map(|_| self.caller.actor.as_str());
        let fields = json!({"event": name, "path": path, "holder": held.map(|held| &held.owner),
            "layer": layer, "tool": event.map(|event| &event.tool), "writer": writer});
        let Value::Object(event) = fields else { return };
        let _ = self.service.call::<op::EventEmit>(&self.caller, EmitEvent { event });
    }

    fn held(&self) -> Result<Held, Refusal> {
        let id = self.caller.actor.to_string();
        let agent = match self.service.call::<op::AgentShow>(&self.caller, ById { id }) {
            Err(refusal) if refusal.code == Code::NotFound => return Ok(Held::default()),
            answer => answer?.agent,
        };
        // Only who has so many leases at all can have so many automatic ones.
        let automatic = match agent.holds.leases.len() {
            few if few < AUTOMATIC_LEASES_MAX => few,
            _ => self.automatic_leases()?,
        };
        let mut held = Held { tasks: Vec::new(), automatic };
        for id in agent.holds.tasks {
            let task = self.service.call::<op::TaskShow>(&self.caller, ById { id })?.task;
            let files = task.files.iter().filter_map(|file| Pattern::parse(file).ok()).collect();
            held.tasks.push((task.fence.unwrap_or_default(), task.id, files));
        }
        held.tasks.sort_by_key(|(fence, ..)| *fence);
        Ok(held)
    }

    /// Counts the leases that the agent got by itself, as far as the count matters.
    fn automatic_leases(&self) -> Result<usize, Refusal> {
        let (mut count, mut after) = (0, None);
        loop {
            let owner = Some(self.caller.actor.clone());
            let input = LeaseFilter { owner, limit: Some(PAGE_MAX), after };
            let page = self.service.call::<op::LeaseList>(&self.caller, input)?;
            let is_ours = |lease: &&LeaseView| is_automatic(lease.purpose.as_deref());
            count += page.leases.iter().filter(is_ours).count();
            after = page.next;
            if after.is_none() || count >= AUTOMATIC_LEASES_MAX {
                return Ok(count);
            }
        }
    }
}

/// What the agent holds: its tasks with their files, the last claimed one last, and at the most how many leases that it got
/// by itself.
#[derive(Default)]
struct Held {
    tasks: Vec<(u64, String, Vec<Pattern>)>,
    automatic: usize,
}

impl Held {
    /// Returns the task that declares a file.
    fn task_of(&self, file: &Pattern) -> Option<&str> {
        let found = self.tasks.iter().rev().find(|(_, _, files)| covers(files, file));
        found.map(|(_, id, _)| id.as_str())
    }

    /// Tells whether the agent's tasks declare files, and none of them this one.
    fn declares_others(&self, file: &Pattern) -> bool {
        self.tasks.iter().any(|(_, _, files)| !files.is_empty()) && self.task_of(file).is_none()
    }

    fn last(&self) -> Option<&str> {
        self.tasks.last().map(|(_, id, _)| id.as_str())
    }
}

/// The clock of this host, by which the calls of its own clients are told apart.
#[expect(
    clippy::disallowed_methods,
    reason = "calls of clients on one host are told apart by its own clock"
)]
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn is_held(path: &str, held: Option<&LeaseView>) -> Refusal {
    let message = match held {
        None => format!("{path} is leased to somebody else"),
        Some(held) => format!(
            "{path} is leased to {} ({}{}) until {}",
            held.owner,
            held.lock_id,
            held.purpose.as_ref().map(|purpose| format!(", {purpose}")).unwrap_or_default(),
            held.expires_at
        ),
    };
    let wait = operation("lease.acquire").arg("patterns", path).arg("wait", "5m");
    Refusal::new(Code::LeaseHeld, message)
        .hint(say("work on something else, or wait for it: ").quote(wait))
}
