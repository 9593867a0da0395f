//! Pads and interfaces as they are asked for, and briefs beside claims and leases.

use crate::answer::Reply;
use crate::brief::AtHand;
use crate::caller::Caller;
use crate::observer::Answered;
use crate::pages::limit;
use crate::read::Reader;
use crate::service::Service;
use comity_api::{
    InterfaceAnswer, InterfacesPage, LeasesAnswer, ListInterfaces, PadAnswer, PadVersion,
    PadVersions, ShowInterface,
};
use comity_core::brief::Brief;
use comity_core::chain::Stored;
use comity_core::decide::{find_interface, pad_scope, waits_for_others};
use comity_core::event::Event;
use comity_core::facts::Entity;
use comity_core::ids::{Seq, TaskId};
use comity_core::limits::PAGE_MAX;
use comity_core::post::{Post, PostId, PostKind};
use comity_core::refusal::{Code, Refusal};
use comity_core::state::Key;
use comity_core::status::Status;
use comity_core::view::{self, InterfaceView};
use comity_store::{EventQuery, TaskQuery};

/// Tasks that the refusal of a claim names.
const SENT_BACK_MAX: usize = 3;

impl Service {
    /// Returns the task that the caller works on, if it is asked for one: the one claimed last.
    pub(crate) fn task_at_hand(
        &self,
        caller: &Caller,
        wanted: bool,
    ) -> Result<Option<String>, Refusal> {
        if !wanted {
            return Ok(None);
        }
        let last = self.read(caller, |reader| Ok(reader.held_tasks()?.pop()))?;
        Ok(last.map(|task| task.id.to_string()))
    }

    /// Returns the scope of the pad that is meant: the one that is named, else that of the task at hand.
    pub(crate) fn pad_at_hand(
        &self,
        caller: &Caller,
        scope: Option<String>,
    ) -> Result<Option<String>, Refusal> {
        match scope {
            Some(scope) => Ok(Some(scope)),
            None => self.task_at_hand(caller, true),
        }
    }

    /// Returns the brief beside a claim. A claim stands whether or not there is one.
    pub fn brief_of_task(&self, caller: &Caller, id: &str, again: bool) -> Option<Brief> {
        let at_hand = AtHand { task: TaskId::parse(id).ok(), paths: Vec::new() };
        self.brief_for(caller, at_hand, again).ok()
    }

    /// Adds the brief to leases that were granted, or refused because others have them.
    pub fn brief_of_leases(
        &self,
        caller: &Caller,
        paths: Vec<String>,
        reply: Result<Answered<Reply>, Refusal>,
    ) -> Result<Answered<LeasesAnswer>, Refusal> {
        let again = matches!(&reply, Ok(Answered { output: Reply::Again(_), .. }));
        let brief = || self.brief_for(caller, AtHand { task: None, paths }, again).ok();
        match reply {
            Ok(Answered { output, remarks }) => {
                let mut output = output.take::<LeasesAnswer>()?;
                output.brief = brief();
                Ok(Answered { output, remarks })
            }
            Err(refusal) if refusal.code == Code::LeaseHeld => Err(with_brief(refusal, brief())),
            Err(refusal) => Err(refusal),
        }
    }

    /// Adds the brief to the refusal of a claim, if others have leased what the task needs.
    pub(crate) fn briefed_refusal(
        &self,
        caller: &Caller,
        wanted: Option<&str>,
        refusal: Refusal,
    ) -> Refusal {
        let Some(wanted) = wanted.filter(|_| refusal.code == Code::LeaseHeld) else {
            return refusal;
        };
        let task = self.task(caller, wanted).ok();
        let at_hand = task.map(|task| AtHand { task: Some(task.id), paths: Vec::new() });
        let brief = at_hand.and_then(|at_hand| self.brief_for(caller, at_hand, false).ok());
        with_brief(refusal, brief)
    }
}

impl Service {
    /// Says in the refusal of a claim for which agents work waits that was sent back.
    pub(crate) fn says_what_waits(&self, caller: &Caller, refusal: Refusal) -> Refusal {
        if refusal.code != Code::NothingReady {
            return refusal;
        }
        let sent_back = self.read(caller, |reader| {
            let statuses = vec![Status::ChangesRequested];
            let query = TaskQuery::of(caller.repo.clone(), SENT_BACK_MAX);
            Ok(reader.tx.tasks(&TaskQuery { statuses, ..query })?)
        });
        let ttl = self.settings().policy.default_ttl;
        waits_for_others(refusal, &sent_back.unwrap_or_default(), ttl)
    }
}

fn with_brief(refusal: Refusal, brief: Option<Brief>) -> Refusal {
    match brief.map(serde_json::to_value) {
        Some(Ok(brief)) => refusal.detail("brief", brief),
        _ => refusal,
    }
}

impl Reader<'_> {
    /// Finds the pad that a text names, or that of the task at hand.
    fn pad_post(&mut self, scope: Option<&str>) -> Result<(String, Option<Post>), Refusal> {
        let held = match scope {
            Some(_) => None,
            None => self.held_tasks()?.pop().map(|task| task.id.to_string()),
        };
        let repo = self.caller.repo.clone();
        self.settled(|facts| {
            let scope = pad_scope(facts, &repo, scope.or(held.as_deref()))?;
            let id = PostId::named(PostKind::Pad, &scope);
            let post = facts.post(&repo, &id)?.cloned();
            Ok((scope, post))
        })
    }

    pub(crate) fn pad(&mut self, scope: Option<&str>) -> Result<PadAnswer, Refusal> {
        let (scope, post) = self.pad_post(scope)?;
        Ok(PadAnswer { pad: view::pad(&scope, post.as_ref()) })
    }

    pub(crate) fn pad_history(&mut self, scope: Option<&str>) -> Result<PadVersions, Refusal> {
        let (scope, post) = self.pad_post(scope)?;
        let mut versions = Vec::new();
        for seq in post.iter().flat_map(|post| post.history.iter().rev()) {
            let Some((stored, Event::PadWritten(e))) = self.event_at(*seq)? else { continue };
            versions.push(PadVersion {
                version: e.version,
                seq: seq.0,
                ts: stored.ts,
                by: stored.agent,
                how: e.how,
                text: e.text,
            });
        }
        Ok(PadVersions { scope, versions })
    }

    /// Returns an event with its fields; none where its body was purged.
    fn event_at(&mut self, seq: Seq) -> Result<Option<(Stored, Event)>, Refusal> {
        let after = Seq(seq.0.saturating_sub(1));
        let query = EventQuery { after, limit: 1, ..EventQuery::default() };
        let Some(stored) = self.tx.events(&query)?.pop() else { return Ok(None) };
        let Some(body) = &stored.body else { return Ok(None) };
        let event = Event::decode(&stored.event, body)
            .map_err(|error| Refusal::new(Code::Internal, format!("event {seq}: {error}")))?;
        Ok(Some((stored, event)))
    }

    pub(crate) fn interface(&mut self, asked: &ShowInterface) -> Result<InterfaceAnswer, Refusal> {
        let repo = self.caller.repo.clone();
        let post = self.settled(|facts| find_interface(facts, &repo, &asked.name).cloned())?;
        let version = asked.version.unwrap_or(post.version);
        let interface = self.version_of(&post, version)?;
        let diff = if asked.diff {
            let old = match version {
                0 | 1 => String::new(),
                _ => self.version_of(&post, version - 1)?.text,
            };
            Some(difference(&old, &interface.text))
        } else {
            None
        };
        Ok(InterfaceAnswer { interface, diff })
    }

    /// Returns a version of an interface, as far back as they are kept.
    fn version_of(&mut self, post: &Post, version: u64) -> Result<InterfaceView, Refusal> {
        let newest = view::interface(post);
        if version == post.version {
            return Ok(newest);
        }
        let back = post.version.checked_sub(version).and_then(|back| usize::try_from(back).ok());
        let place = back.and_then(|back| post.history.len().checked_sub(back + 1));
        let seq = place.and_then(|place| post.history.get(place)).copied();
        let found = seq.map(|seq| self.event_at(seq)).transpose()?.flatten();
        let Some((stored, Event::InterfacePublished(e))) = found else {
            let message = format!("the interface {} has no version {version}", newest.name);
            let versions = format!("it has versions up to {}", newest.version);
            return Err(Refusal::new(Code::NotFound, message).hint(versions));
        };
        Ok(InterfaceView {
            version: e.version,
            text: e.text,
            paths: e.paths,
            r#for: e.to.iter().map(ToString::to_string).collect(),
            by: stored.agent,
            task: stored.task,
            ts: stored.ts,
            seq: stored.seq.0,
            ..newest
        })
    }

    pub(crate) fn interfaces(&mut self, asked: &ListInterfaces) -> Result<InterfacesPage, Refusal> {
        let limit = limit(asked.limit)?;
        let repo = self.caller.repo.clone();
        let paths: Vec<String> = asked.path.iter().cloned().collect();
        let mut scope = self.scope(&AtHand { task: None, paths })?;
        scope.own_too = true;
        let mut after = PostId::named(PostKind::Interface, asked.after.as_deref().unwrap_or(""));
        let mut interfaces = Vec::new();
        loop {
            let page = self.tx.entities(Some(&Key::Post(repo.clone(), after)), PAGE_MAX)?;
            let mut last = None;
            for (key, entity) in page {
                let (Key::Post(of, id), Entity::Post(post)) = (key, entity) else { break };
                if of != repo || post.kind != PostKind::Interface {
                    last = None;
                    break;
                }
                last = Some(id);
                let meant = |to: &_| matches!(to, comity_core::post::Recipient::Path(path) if scope.touches(path));
                if asked.path.is_none()
                    || post.paths.iter().any(|path| scope.touches(path))
                    || post.to.iter().any(meant)
                {
                    interfaces.push(view::interface(&post));
                }
                if interfaces.len() > limit {
                    break;
                }
            }
            match last {
                Some(id) if interfaces.len() <= limit => after = id,
                _ => break,
            }
        }
        let (interfaces, next) = crate::pages::page(interfaces, limit, |it| it.name.clone());
        Ok(InterfacesPage { interfaces, next })
    }
}

/// Says what differs between two texts, line by line.
fn difference(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().context_radius(3).to_string()
}
