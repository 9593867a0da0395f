//! What agents leave for each other: change notices, messages, pads and interfaces.

use super::access::not_found;
use super::input::{Check, at_most, patterns, said, word};
use super::{Answer, Rule};
use crate::command::{NewInterface, PadWrite};
use crate::event::{ChangeNoted, Event, InterfacePublished, MessageSent, PadChange, PadWritten};
use crate::facts::{Facts, Halt, Ruling};
use crate::hint::{op, say};
use crate::ids::{AgentId, RepoName, Seq, TaskId, shorten};
use crate::limits;
use crate::memory::GLOBAL_SCOPE;
use crate::pad;
use crate::pattern::Pattern;
use crate::post::{Post, PostId, PostKind, Recipient};
use crate::refusal::{Code, Refusal};
use crate::role::{Role, Verb};
use crate::task::Task;

/// The name that stands for everybody.
const ALL: &str = "all";

/// Finds the task that a word means where it may mean something else as well: by its id, or by its number, as in `7` and
/// `t7`. A word like `T7` can mean nothing else, so there has to be such a task.
pub(super) fn task_meant<'f>(
    facts: &'f Facts,
    repo: &RepoName,
    text: &str,
) -> Ruling<Option<&'f Task>> {
    for id in TaskId::parse(text).ok().iter().chain(&TaskId::numbered(text)) {
        if let Some(task) = facts.task(repo, id)? {
            return Ok(Some(task));
        }
    }
    let number = text.strip_prefix(['T', 't']).unwrap_or_default();
    if !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(not_found("task", text).into());
    }
    Ok(None)
}

/// Returns the scope of the pad that a task's worker shares with others: its nearest parent, epic or initiative.
fn shared_scope(task: &Task) -> String {
    let parent = task.parent.as_ref().map(ToString::to_string);
    parent
        .or_else(|| task.epic.clone())
        .or_else(|| task.initiative.clone())
        .unwrap_or_else(|| GLOBAL_SCOPE.to_owned())
}

/// Returns the scope of the pad that a text names: a task with parts has a pad of its own, another task shares one, and
/// whatever else is the name of an initiative or an epic.
pub fn pad_scope(facts: &Facts, repo: &RepoName, text: Option<&str>) -> Ruling<String> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(GLOBAL_SCOPE.to_owned());
    };
    // Epics are often called by a number, and whoever is told "pad 7" has to find that one.
    let is_number = text.bytes().all(|digit| digit.is_ascii_digit());
    let task = if is_number { None } else { task_meant(facts, repo, text)? };
    let Some(task) = task else { return Ok(text.to_owned()) };
    let id = PostId::named(PostKind::Pad, task.id.as_str());
    let is_parent = !facts.children(repo, &task.id)?.is_empty() || facts.post(repo, &id)?.is_some();
    Ok(if is_parent { task.id.to_string() } else { shared_scope(task) })
}

/// Finds an interface by its name.
pub fn find_interface<'f>(facts: &'f Facts, repo: &RepoName, name: &str) -> Ruling<&'f Post> {
    let id = PostId::named(PostKind::Interface, name.trim());
    facts.post(repo, &id)?.ok_or_else(|| {
        Refusal::new(Code::NotFound, format!("there is no interface {:?}", shorten(name)))
            .hint(say("list the interfaces with ").quote(op("interface.list")))
            .into()
    })
}

/// Checks the form of a change notice: a change of nothing would be told to nobody.
pub(super) fn check_change(text: &str, paths: &[String]) -> Check {
    if paths.is_empty() {
        return Err(Refusal::input("a change needs the paths that it is about")
            .hint(say("add ").ask("path", "GLOB").say(" once or several times")));
    }
    said("text", text)?;
    at_most("text", text.len(), limits::MESSAGE_BYTES_MAX, "bytes")?;
    patterns("path", paths)
}

pub(super) fn check_message(to: &str, text: &str) -> Check {
    word("to", to)?;
    said("text", text)?;
    at_most("text", text.len(), limits::MESSAGE_BYTES_MAX, "bytes")
}

pub(super) fn check_pad(given: &PadWrite) -> Check {
    if let Some(scope) = &given.scope {
        word("scope", scope)?;
    }
    if let PadChange::Section(name) = &given.how {
        word("section", name)?;
    }
    if given.how == PadChange::Append {
        said("text", &given.text)?;
    }
    at_most("text", given.text.len(), limits::PAD_BYTES_MAX, "bytes")
}

pub(super) fn check_interface(given: &NewInterface) -> Check {
    word("name", &given.name)?;
    said("text", &given.text)?;
    patterns("path", &given.paths)?;
    at_most("for", given.audience.len(), limits::LIST_ENTRIES_MAX, "entries")?;
    given.audience.iter().try_for_each(|name| word("for", name))
}

impl Rule<'_> {
    /// Writes patterns in one spelling, each once.
    pub(super) fn normal(&self, texts: &[String]) -> Ruling<Vec<String>> {
        let mut patterns: Vec<String> = Vec::new();
        for text in texts {
            let pattern = Pattern::parse(text).map_err(|error| {
                Halt::from(Refusal::new(error.code(), format!("pattern {text:?}: {error}")))
            })?;
            if !patterns.iter().any(|seen| seen == pattern.as_str()) {
                patterns.push(pattern.as_str().to_owned());
            }
        }
        Ok(patterns)
    }

    pub(super) fn note_change(
        &mut self,
        text: &str,
        paths: &[String],
        task: Option<&String>,
    ) -> Ruling<Answer> {
        let task = task.map(|text| self.task(text)).transpose()?;
        self.require(Verb::Note)?;
        let place = self.events.len();
        let body = ChangeNoted { paths: self.normal(paths)?, text: text.trim().to_owned() };
        self.push(task.map(|task| &task.id), Event::ChangeNoted(body));
        Ok(Answer::Event(place))
    }

    pub(super) fn tell(&mut self, to: &str, text: &str) -> Ruling<Answer> {
        let recipient = self.recipient(to)?.ok_or_else(|| {
            Refusal::new(Code::UnknownName, format!("nobody is called {:?}", shorten(to)))
                .hint(
                    say("name an agent, a task, a role or all; see ")
                        .quote(op("agent.list"))
                        .say(" and ")
                        .quote(op("task.list")),
                )
                .detail("agent", to)
        })?;
        self.require(Verb::Note)?;
        let body = MessageSent { to: recipient, text: text.trim().to_owned() };
        let id = PostId::at(PostKind::Message, Seq(self.next_seq()));
        self.push(None, Event::MessageSent(body));
        Ok(Answer::Post(id))
    }

    /// Finds out whom a name means.
    fn recipient(&self, name: &str) -> Ruling<Option<Recipient>> {
        if name == ALL {
            return Ok(Some(Recipient::All));
        }
        if let Ok(role) = Role::parse(name) {
            return Ok(Some(Recipient::Role(role)));
        }
        if let Ok(id) = AgentId::parse(name)
            && self.facts.agent(&id)?.is_some()
        {
            return Ok(Some(Recipient::Agent(id)));
        }
        let task = task_meant(self.facts, &self.request.repo, name)?;
        Ok(task.map(|task| Recipient::Task(task.id.clone())))
    }

    pub(super) fn write_pad(&mut self, given: &PadWrite) -> Ruling<Answer> {
        let repo = &self.request.repo;
        let scope = pad_scope(self.facts, repo, given.scope.as_deref())?;
        let id = PostId::named(PostKind::Pad, &scope);
        let before = self.facts.post(repo, &id)?;
        self.require(Verb::Note)?;
        let version = before.map_or(0, |post| post.version);
        // Two who replace different sections do not meet.
        let changed = match (&given.how, before) {
            (PadChange::Section(name), Some(post)) => {
                post.sections.get(name.trim()).copied().unwrap_or(0)
            }
            _ => version,
        };
        let seen = match (&given.how, given.if_match) {
            (_, Some(seen)) => seen,
            (PadChange::Replace, None) => 0,
            (PadChange::Append | PadChange::Section(_), None) => version,
        };
        if seen < changed || seen > version {
            return Err(Refusal::new(
                Code::VersionMismatch,
                format!("the pad {scope} is at version {version}; the caller saw {seen}"),
            )
            .hint(
                say("read it with ")
                    .quote(op("pad.show").arg("scope", &scope))
                    .say(" and write again with ")
                    .arg("if_match", &version),
            )
            .detail("version", version)
            .into());
        }
        let old = before.map_or("", |post| post.text.as_str());
        let text = given.text.trim_end().to_owned();
        let (how, whole) = match &given.how {
            PadChange::Append => (PadChange::Append, pad::appended(old, &text)),
            PadChange::Replace => (PadChange::Replace, text.clone()),
            PadChange::Section(name) => {
                let name = name.trim().to_owned();
                let whole = pad::with_section(old, &name, &text);
                (PadChange::Section(name), whole)
            }
        };
        if whole.len() > limits::PAD_BYTES_MAX {
            let message = format!("a pad has at most {} bytes", limits::PAD_BYTES_MAX);
            return Err(Refusal::new(Code::LimitExceeded, message)
                .hint(
                    say("tidy it: replace the page or a section with ")
                        .quote(op("pad.write").ask("file", "FILE").arg("scope", &scope)),
                )
                .detail("limit", limits::PAD_BYTES_MAX)
                .into());
        }
        let body = PadWritten { scope, version: version + 1, how, text };
        self.push(None, Event::PadWritten(Box::new(body)));
        Ok(Answer::Post(id))
    }

    pub(super) fn publish(&mut self, given: &NewInterface) -> Ruling<Answer> {
        let repo = &self.request.repo;
        let name = given.name.trim();
        let id = PostId::named(PostKind::Interface, name);
        let before = self.facts.post(repo, &id)?;
        let task = given.task.as_ref().map(|text| self.task(text)).transpose()?;
        self.require(Verb::Note)?;
        if let Some(before) = before {
            self.may_publish(before, name)?;
        }
        let version = before.map_or(0, |post| post.version);
        if let Some(seen) = given.if_match.filter(|seen| *seen != version) {
            return Err(Refusal::new(
                Code::VersionMismatch,
                format!("the interface {name} is at version {version}; the caller saw {seen}"),
            )
            .hint(say("read it with ").quote(op("interface.show").arg("name", name)))
            .detail("version", version)
            .into());
        }
        let paths = match before {
            Some(before) if given.paths.is_empty() => before.paths.clone(),
            _ => self.normal(&given.paths)?,
        };
        let to = match before {
            Some(before) if given.audience.is_empty() => before.to.clone(),
            _ => self.audience(&given.audience)?,
        };
        let body = InterfacePublished {
            name: name.to_owned(),
            version: version + 1,
            text: given.text.clone(),
            paths,
            to,
            owner_task: task.filter(|_| before.is_none()).map(|task| task.id.clone()),
        };
        let task: Option<TaskId> = task.map(|task| task.id.clone());
        self.push(task.as_ref(), Event::InterfacePublished(Box::new(body)));
        Ok(Answer::Post(id))
    }

    /// The owner of an interface publishes its next version: whoever has the owning task now, or who published it first
    /// where no task owns it. So do planners and people.
    fn may_publish(&self, before: &Post, name: &str) -> Ruling<()> {
        let Some(owner) = &before.owner else { return Ok(()) };
        let actor = &self.request.actor;
        if self.is_person() || self.roles.contains(&Role::Planner) {
            return Ok(());
        }
        let holder = match &owner.task {
            Some(id) => self.facts.task(&self.request.repo, id)?.and_then(|it| it.assignee.clone()),
            None => Some(owner.agent.clone()),
        };
        if holder.as_ref() == Some(actor) {
            return Ok(());
        }
        let whom = holder.unwrap_or_else(|| owner.agent.clone());
        Err(self
            .not_holder(&format!("interface {name}"), Some(whom.as_str()))
            .hint(
                say("ask its owner: ")
                    .call(op("decision.ask").ask("question", "QUESTION").arg("to", &whom)),
            )
            .detail("owner", owner.task.as_ref().map(ToString::to_string))
            .into())
    }

    /// Reads whom an interface is for. What is neither a task nor an agent is a path.
    fn audience(&self, names: &[String]) -> Ruling<Vec<Recipient>> {
        let mut all = Vec::new();
        for name in names {
            let found = self.recipient(name)?;
            all.push(match found {
                Some(recipient) => recipient,
                None => Recipient::Path(self.normal(std::slice::from_ref(name))?.concat()),
            });
        }
        all.sort();
        all.dedup();
        Ok(all)
    }
}
