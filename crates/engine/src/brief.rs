//! The brief, put together from one snapshot: what others left for whoever works somewhere, found by index.

use crate::read::Reader;
use comity_api::AskBrief;
use comity_core::brief::{
    Brief, DecisionLine, Neighbour, Room, Scope, change_line, cut, excerpt, interface_line,
    message_line, pad_head,
};
use comity_core::decide::pad_scope;
use comity_core::decision::DecisionState;
use comity_core::hint::op;
use comity_core::ids::{DecisionId, Seq, TaskId};
use comity_core::lease::Lease;
use comity_core::limits::PAGE_MAX;
use comity_core::memory::GLOBAL_SCOPE;
use comity_core::news::{Cursor, NEWS_LIFE, Unread};
use comity_core::pattern::Pattern;
use comity_core::post::{Post, PostId, PostKind, memories_of};
use comity_core::refusal::Refusal;
use comity_core::state::Key;
use comity_core::task::Task;
use comity_core::view;
use comity_store::{DecisionQuery, PostsFrom};
use std::collections::BTreeSet;

/// Posts of a kind that a brief chooses from, the newest ones; and posts that are looked up at a time.
pub(crate) const LOOK_MAX: usize = 64;
/// Times that a brief looks up posts of a kind, where it passes by what its reader wrote or was given.
const LOOKS_MAX: usize = 4;
/// Interfaces and memories that are looked at in one place.
const FEW: usize = 16;
/// Tasks whose answered questions a brief looks at: the task, what it is part of, what it waits for.
const TASKS_MAX: usize = 16;
/// Leases of others that a brief looks at in one directory.
const NEIGHBOURS_MAX: usize = 32;
/// Tasks that an agent holds, as far as a scope goes.
const HELD_MAX: usize = 50;

/// What a brief is for.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtHand {
    pub(crate) task: Option<TaskId>,
    pub(crate) paths: Vec<String>,
}

/// A post that somebody was not given yet, or may see anyway.
pub(crate) struct PostForReader {
    pub(crate) post: Post,
    pub(crate) unread: Option<Unread>,
}

impl PostForReader {
    fn is_repeated(&self) -> bool {
        self.unread == Some(Unread::Repeated)
    }
}

/// Whether a brief has everything, or what its reader was not given yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    Unread,
}

impl Reader<'_> {
    /// Shows a brief to whoever asks. Nothing counts as given by it.
    pub(crate) fn asked_brief(&mut self, asked: &AskBrief) -> Result<Brief, Refusal> {
        let room = match asked.limit {
            Some(0) => return Err(Refusal::input("a brief has at least one entry")),
            Some(most) => Room::of(most.min(PAGE_MAX)),
            None => Room::default(),
        };
        let task = asked.task.as_ref().map(|id| self.find(id)).transpose()?;
        let at_hand = match task {
            None if asked.paths.is_empty() => self.held()?,
            task => AtHand { task: task.map(|task| task.id), paths: asked.paths.clone() },
        };
        let mut scope = self.scope(&at_hand)?;
        scope.own_too = true;
        self.brief(&at_hand, &scope, &Cursor::default(), (Extent::Whole, room))
    }

    /// Returns what the caller holds: its tasks, and the paths of its leases.
    pub(crate) fn held(&mut self) -> Result<AtHand, Refusal> {
        let task = self.held_tasks()?.pop().map(|task| task.id);
        Ok(AtHand { task, paths: self.leased()? })
    }

    /// Returns the paths that the caller has leased here.
    fn leased(&mut self) -> Result<Vec<String>, Refusal> {
        let (repo, me) = (self.caller.repo.clone(), self.caller.actor.clone());
        self.settled(|facts| {
            let own = facts.leases_of(&repo, &me)?;
            Ok(own.iter().map(|lease| lease.path.clone()).collect())
        })
    }

    /// Returns the tasks that the caller holds here, the one claimed last at the end.
    pub(crate) fn held_tasks(&mut self) -> Result<Vec<Task>, Refusal> {
        let me = self.caller.actor.clone();
        let mut tasks = Vec::new();
        for (repo, id) in self.tx.held_by(&me, HELD_MAX)? {
            if repo == self.caller.repo {
                let task = self.settled(|facts| Ok(facts.task(&repo, &id)?.cloned()))?;
                let is_held = |task: &Task| task.claim.as_ref().is_some_and(|it| it.agent == me);
                tasks.extend(task.filter(is_held));
            }
        }
        tasks.sort_by_key(|task| task.claim.as_ref().map(|claim| claim.fence));
        Ok(tasks)
    }

    /// Returns whom something would have to concern: the caller, with what it holds.
    pub(crate) fn own_scope(&mut self) -> Result<Scope, Refusal> {
        let paths = self.leased()?;
        let mut scope = self.scope(&AtHand { task: None, paths })?;
        for task in self.held_tasks()? {
            self.add_paths(&mut scope, &task.files)?;
            scope.tasks.push(task.id);
        }
        Ok(scope)
    }

    pub(crate) fn scope(&mut self, at_hand: &AtHand) -> Result<Scope, Refusal> {
        let (repo, agent) = (self.caller.repo.clone(), self.caller.actor.clone());
        let roles = self.caller_roles()?;
        let (tasks, paths) = (at_hand.task.iter().cloned().collect(), Vec::new());
        let mut scope = Scope { repo, agent, roles, tasks, paths, own_too: false };
        self.add_paths(&mut scope, &at_hand.paths)?;
        if let Some(id) = &at_hand.task {
            let files = self.task_by_id(id)?.map(|task| task.files).unwrap_or_default();
            self.add_paths(&mut scope, &files)?;
        }
        Ok(scope)
    }

    fn add_paths(&mut self, scope: &mut Scope, texts: &[String]) -> Result<(), Refusal> {
        let repo = scope.repo.clone();
        let rule = self.settled(|facts| facts.case_rule_of(&repo))?;
        for text in texts {
            // Stored patterns were parsed when they came in; one that no longer parses covers nothing.
            if let Ok(pattern) = Pattern::parse_with(text, rule)
                && !scope.paths.iter().any(|known| known.as_str() == pattern.as_str())
            {
                scope.paths.push(pattern);
            }
        }
        Ok(())
    }

    fn task_by_id(&mut self, id: &TaskId) -> Result<Option<Task>, Refusal> {
        let repo = self.caller.repo.clone();
        self.settled(|facts| Ok(facts.task(&repo, id)?.cloned()))
    }

    /// Finds the newest posts of a kind that concern a scope, as far as they are wanted; and whether there may be more.
    fn concerning(
        &mut self,
        kind: PostKind,
        scope: &Scope,
        cursor: &Cursor,
        (extent, most): (Extent, usize),
    ) -> Result<(Vec<PostForReader>, bool), Refusal> {
        let places = scope.places(kind);
        let mut from = PostsFrom::NEWEST;
        let mut found = Vec::new();
        for _ in 0..LOOKS_MAX {
            let page = self.tx.posts_at(&scope.repo, &places, from, most)?;
            let is_last = page.len() < most;
            // Beyond that many, posts of another place may lie between.
            for (seq, id) in page.into_iter().take(most) {
                from = PostsFrom::Before(seq);
                let Some(it) = self.found(scope, cursor, (seq, &id), extent)? else { continue };
                if extent == Extent::Unread && it.unread.is_none() {
                    // Whatever lies before it is as old.
                    return Ok((found, false));
                }
                if found.len() == most {
                    return Ok((found, true));
                }
                found.push(it);
            }
            if is_last {
                return Ok((found, false));
            }
        }
        Ok((found, true))
    }

    /// Loads a post, if it still says what it said at that place in the log, concerns the scope, and is wanted. What is too
    /// old to be told is not unread.
    pub(crate) fn found(
        &mut self,
        scope: &Scope,
        cursor: &Cursor,
        (seq, id): (Seq, &PostId),
        extent: Extent,
    ) -> Result<Option<PostForReader>, Refusal> {
        let now = self.facts.moment.now;
        let unread = cursor.unread(seq, now);
        if extent == Extent::Unread && unread.is_none() {
            return Ok(None);
        }
        let repo = scope.repo.clone();
        let post = self.settled(|facts| Ok(facts.post(&repo, id)?.cloned()))?;
        let is_current = |post: &Post| post.seq == seq && scope.concerns(post);
        let Some(post) = post.filter(is_current) else { return Ok(None) };
        let is_fresh = now.since(post.ts) < NEWS_LIFE;
        Ok(Some(PostForReader { post, unread: unread.filter(|_| is_fresh) }))
    }

    pub(crate) fn brief(
        &mut self,
        at_hand: &AtHand,
        scope: &Scope,
        cursor: &Cursor,
        (extent, room): (Extent, Room),
    ) -> Result<Brief, Refusal> {
        let task = at_hand.task.as_ref().map(|id| self.task_by_id(id)).transpose()?.flatten();
        // One more than there is room for tells that something is left out.
        let most = LOOK_MAX.max(room.entries + 1);
        let few = FEW.max(room.entries + 1);
        let (changes, more_changes) =
            self.concerning(PostKind::Change, scope, cursor, (extent, most))?;
        let (messages, more_messages) =
            self.concerning(PostKind::Message, scope, cursor, (extent, most))?;
        let (interfaces, more_interfaces) =
            self.concerning(PostKind::Interface, scope, cursor, (Extent::Whole, few))?;
        let all = Brief {
            pad: self.pad_of(task.as_ref())?,
            interfaces: interfaces
                .iter()
                .map(|it| interface_line(&it.post, extent == Extent::Unread && it.unread.is_some()))
                .collect(),
            changes: changes.iter().map(|it| change_line(&it.post, it.is_repeated())).collect(),
            memories: self.recalled_for(scope)?,
            decisions: self.decisions_for(task.as_ref())?,
            neighbours: self.holders_near(scope)?,
            messages: messages.iter().map(|it| message_line(&it.post, it.is_repeated())).collect(),
            more: None,
        };
        let asked = match &at_hand.task {
            Some(id) => op("brief").arg("task", id),
            None => at_hand.paths.iter().fold(op("brief"), |call, path| call.arg("paths", path)),
        };
        let how = comity_core::hint::Hint::from(asked.arg("limit", &PAGE_MAX)).to_string();
        let at_least = more_changes || more_messages || more_interfaces;
        Ok(cut(all, room, (&how, at_least)))
    }

    fn pad_of(
        &mut self,
        task: Option<&Task>,
    ) -> Result<Option<comity_core::brief::PadHead>, Refusal> {
        let repo = self.caller.repo.clone();
        self.settled(|facts| {
            let scope = pad_scope(facts, &repo, task.map(|task| task.id.as_str()))?;
            let id = PostId::named(PostKind::Pad, &scope);
            Ok(facts.post(&repo, &id)?.filter(|post| !post.text.is_empty()).map(pad_head))
        })
    }

    /// Finds the memories about what is at hand, then those about everything, each the newest first.
    fn recalled_for(&mut self, scope: &Scope) -> Result<Vec<view::MemoryView>, Refusal> {
        let repo = scope.repo.clone();
        let mut ids = self.tx.posts_at(&repo, &scope.memory_places(), PostsFrom::NEWEST, FEW)?;
        let global = [memories_of(GLOBAL_SCOPE)];
        ids.extend(self.tx.posts_at(&repo, &global, PostsFrom::NEWEST, FEW)?);
        let now = self.facts.moment.now;
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for id in ids.into_iter().filter_map(|(_, id)| id.memory()) {
            if !seen.insert(id) {
                continue;
            }
            let memory = self.settled(|facts| Ok(facts.memory(&repo, id)?.cloned()))?;
            let Some(memory) = memory.filter(|it| !it.is_expired(now) && scope.recalls(it)) else {
                continue;
            };
            let mut memory = view::memory(&memory);
            memory.text = excerpt(&memory.text);
            found.push(memory);
        }
        Ok(found)
    }

    /// Finds the answers to what was asked for a task, what it is part of, what it waits for, and its initiative.
    fn decisions_for(&mut self, task: Option<&Task>) -> Result<Vec<DecisionLine>, Refusal> {
        let Some(task) = task else { return Ok(Vec::new()) };
        let mut ids: BTreeSet<_> = task.decisions.iter().copied().collect();
        for id in task.parent.iter().chain(&task.dependencies).take(TASKS_MAX) {
            ids.extend(self.task_by_id(id)?.into_iter().flat_map(|task| task.decisions));
        }
        if let Some(initiative) = &task.initiative {
            ids.extend(self.asked_in(initiative)?);
        }
        let repo = self.caller.repo.clone();
        let mut lines = Vec::new();
        for id in ids.into_iter().rev().take(LOOK_MAX) {
            let asked = self.settled(|facts| Ok(facts.decision(&repo, id)?.cloned()))?;
            let settled =
                |state| matches!(state, DecisionState::Answered | DecisionState::Defaulted);
            let Some(asked) = asked.filter(|asked| settled(asked.state)) else { continue };
            let answer = [asked.answer.as_deref(), asked.text.as_deref()];
            let answer = answer.into_iter().flatten().collect::<Vec<_>>().join(": ");
            let (id, question) = (id.to_string(), excerpt(&asked.question));
            lines.push(DecisionLine { id, question, answer: excerpt(&answer) });
        }
        Ok(lines)
    }

    /// Finds those of the newest questions that were asked for a task of an initiative.
    fn asked_in(&mut self, initiative: &str) -> Result<Vec<DecisionId>, Refusal> {
        let repo = self.caller.repo.clone();
        let asked = self.settled(|facts| Ok(facts.counters(&repo)?.decisions))?;
        let after = asked.checked_sub(LOOK_MAX as u64).map(DecisionId);
        let newest = DecisionQuery { repo, open_only: false, after, limit: LOOK_MAX };
        let mut found = Vec::new();
        for decision in self.tx.decisions(&newest)? {
            let Some(of) = decision.task else { continue };
            let of = self.task_by_id(&of)?.and_then(|task| task.initiative);
            if of.as_deref() == Some(initiative) {
                found.push(decision.id);
            }
        }
        Ok(found)
    }

    /// Finds who else is at work on the paths at hand, and then who is in the same directories, by their live leases.
    fn holders_near(&mut self, scope: &Scope) -> Result<Vec<Neighbour>, Refusal> {
        let mut on_them = Vec::new();
        for path in &scope.paths {
            let (repo, prefix) = (&scope.repo, path.literal_prefix());
            let near = self.settled(|facts| {
                let near = facts.leases_near(repo, prefix)?;
                Ok(near.filter(|lease| scope.touches(&lease.path)).cloned().collect::<Vec<_>>())
            })?;
            on_them.extend(near);
        }
        let parent = |path: &Pattern| {
            path.literal_prefix().rsplit_once('/').map(|(above, _)| above.to_owned())
        };
        let directories: BTreeSet<String> = scope.paths.iter().filter_map(parent).collect();
        let mut beside = Vec::new();
        for directory in directories.into_iter().take(TASKS_MAX) {
            beside.extend(self.tx.leases_below(&scope.repo, &directory, NEIGHBOURS_MAX)?);
        }
        let mut found = self.at_work(scope, on_them, Vec::new())?;
        let nearest = found.len();
        found = self.at_work(scope, beside, found)?;
        let (near, far) = found.split_at_mut(nearest);
        near.sort_by_key(|it| std::cmp::Reverse(it.since));
        far.sort_by_key(|it| std::cmp::Reverse(it.since));
        found.iter_mut().for_each(|it| it.paths.truncate(FEW));
        Ok(found)
    }

    /// Adds the owners of leases to those that are known: one entry for each owner and task.
    fn at_work(
        &mut self,
        scope: &Scope,
        leases: Vec<Lease>,
        mut found: Vec<Neighbour>,
    ) -> Result<Vec<Neighbour>, Refusal> {
        for lease in leases {
            let ended = self.changed.contains(&Key::Lease(lease.repo.clone(), lease.id));
            if ended || lease.owner == scope.agent {
                continue;
            }
            let task = lease.claim_of.as_ref().map(ToString::to_string);
            let agent = lease.owner.to_string();
            let known = found.iter_mut().find(|it| it.agent == agent && it.task == task);
            if let Some(known) = known {
                known.since = known.since.min(lease.acquired_at);
                if !known.paths.contains(&lease.path) {
                    known.paths.push(lease.path);
                }
                continue;
            }
            let about =
                lease.claim_of.as_ref().map(|id| self.task_by_id(id)).transpose()?.flatten();
            found.push(Neighbour {
                agent,
                task,
                title: about.as_ref().map(|task| excerpt(&task.title)),
                paths: vec![lease.path],
                branch: about.and_then(|task| task.branch),
                since: lease.acquired_at,
            });
        }
        Ok(found)
    }
}
