//! The cards of the board.

use super::{COLUMNS, DAY, age, column, life, mark};
use crate::batch::settle;
use crate::read::Reader;
use comity_api::{
    At, BoardAnswer, BoardFilter, Card, CardsMessage, Column, Line, Strip, TaskFilter,
};
use comity_core::attention::{Item, Kind};
use comity_core::ids::{Seq, TaskId};
use comity_core::ready::{Caller as Claimant, Obstacle, obstacles};
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::Timestamp;
use comity_core::view;
use comity_store::EventQuery;
use std::collections::{BTreeMap, BTreeSet};

/// Cards that a board has at the most.
const CARDS_MAX: usize = 5_000;
/// Events after which any task may look different.
const FREEING: [&str; 5] =
    ["file_locked", "lease_released", "locks_reclaimed", "agent_registered", "agent_updated"];
/// Events whose cards are sent together.
const EVENTS_MAX: usize = 500;

/// What all cards of one answer have in common.
struct Desk {
    roles: Vec<Role>,
    /// Items of the inbox by task, the most urgent first.
    items: BTreeMap<String, Item>,
    inbox: usize,
}

impl Reader<'_> {
    pub(crate) fn board(&mut self, wanted: &BoardFilter) -> Result<BoardAnswer, Refusal> {
        let desk = self.desk()?;
        let (tasks, more) = self.on_board(wanted.abandoned)?;
        let mut cards = Vec::new();
        for (task, since) in &tasks {
            cards.push(self.card(task, *since, &desk)?);
        }
        cards.sort_by_key(|card| (place(card), card.rank, card.number));
        let head = self.tx.head()?;
        Ok(BoardAnswer {
            seq: self.seq(),
            at: self.at(),
            repo: self.caller.repo.to_string(),
            me: self.caller.actor.to_string(),
            now: self.now(),
            tasks: cards.iter().filter(|card| card.column != "abandoned").count(),
            ready: cards.iter().filter(|card| card.ready).count(),
            more,
            columns: columns(&cards, wanted.abandoned),
            cards,
            last_event: (head.seq.0 > 0).then_some(At { seq: head.seq.0, ts: head.ts }),
        })
    }

    /// Returns the cards that the events after a place changed. Who counts all cards completes the message.
    pub(crate) fn changed_cards(&mut self, after: Seq) -> Result<CardsMessage, Refusal> {
        let repo = Some(self.caller.repo.clone());
        let limit = EVENTS_MAX;
        let events = self.tx.events(&EventQuery { repo, after, limit, ..EventQuery::default() })?;
        let mut touched: BTreeSet<String> = events.iter().filter_map(|e| e.task.clone()).collect();
        touched.extend(self.dependants(&touched)?);
        // Who waits for a file looks different when a lease begins or ends.
        if events.iter().any(|event| FREEING.contains(&event.event.as_str())) {
            let filter = TaskFilter { statuses: vec![Status::Queued], ..TaskFilter::default() };
            let (queued, _) = self.task_rows(&filter, 0, CARDS_MAX)?;
            let with_files = queued.iter().filter(|task| !task.files.is_empty());
            touched.extend(with_files.map(|task| task.id.to_string()));
        }
        let desk = self.desk()?;
        let (mut cards, mut gone) = (Vec::new(), Vec::new());
        for id in touched {
            let Ok(task) = self.find(&id) else { continue };
            if task.status == Status::Abandoned {
                gone.push(id);
                continue;
            }
            let since = self.fold()?.of(task.repo.as_str()).since(&id);
            cards.push(self.card(&task, since.unwrap_or(task.updated_at), &desk)?);
        }
        let changed = ["inbox", "tree", "crew", "timeline", "flow"].map(str::to_owned).to_vec();
        Ok(CardsMessage {
            seq: self.seq(),
            cards,
            gone,
            columns: Vec::new(),
            tasks: 0,
            ready: 0,
            inbox: desk.inbox,
            changed,
        })
    }

    fn dependants(&mut self, of: &BTreeSet<String>) -> Result<Vec<String>, Refusal> {
        let mut found = Vec::new();
        for id in of.iter().filter_map(|id| TaskId::parse(id).ok()) {
            let repo = self.caller.repo.clone();
            found.extend(settle(self.tx, &mut self.facts, |facts| {
                let tasks = facts.dependants(&repo, &id)?;
                Ok(tasks.iter().map(|task| task.id.to_string()).collect::<Vec<_>>())
            })?);
        }
        Ok(found)
    }

    fn desk(&mut self) -> Result<Desk, Refusal> {
        let all = self.attention()?;
        let inbox = all.len();
        let mut items = BTreeMap::new();
        for item in all {
            if let Some(task) = &item.task {
                items.entry(task.to_string()).or_insert(item);
            }
        }
        Ok(Desk { roles: self.caller_roles()?, items, inbox })
    }

    /// Returns the card of one task.
    pub(crate) fn card_of(&mut self, task: &Task) -> Result<Card, Refusal> {
        let desk = self.desk()?;
        let past = self.fold()?;
        let since = past.of(task.repo.as_str()).since(task.id.as_str());
        drop(past);
        self.card(task, since.unwrap_or(task.updated_at), &desk)
    }

    /// Returns the tasks of the board with the time since when they are as they are.
    fn on_board(&mut self, abandoned: bool) -> Result<(Vec<(Task, Timestamp)>, bool), Refusal> {
        let wanted = |status: &Status| {
            *status != Status::Done && (*status != Status::Abandoned || abandoned)
        };
        let statuses = Status::ALL.into_iter().filter(wanted).collect();
        let filter = TaskFilter { statuses, ..TaskFilter::default() };
        let (mut tasks, mut more) = self.task_rows(&filter, 0, CARDS_MAX)?;
        let (repo, now) = (self.caller.repo.to_string(), self.now());
        let done: Vec<String> = {
            let fold = self.fold()?;
            let past = fold.of(&repo);
            let recent = past.steps.iter().rev().take_while(|step| now.since(step.ts) < DAY);
            let done = recent.filter(|step| step.status == Status::Done);
            done.map(|step| past.name(step.task).to_owned()).collect()
        };
        let done: BTreeSet<String> = done.into_iter().collect();
        for id in done {
            let task = self.find(&id)?;
            if task.status == Status::Done {
                tasks.push(task);
            }
        }
        if tasks.len() > CARDS_MAX {
            tasks.truncate(CARDS_MAX);
            more = Some(0);
        }
        let fold = self.fold()?;
        let past = fold.of(&repo);
        let dated = tasks.into_iter().map(|task| {
            let since = past.since(task.id.as_str()).unwrap_or(task.updated_at);
            (task, since)
        });
        Ok((dated.collect(), more.is_some()))
    }

    fn card(&mut self, task: &Task, since: Timestamp, desk: &Desk) -> Result<Card, Refusal> {
        let now = self.now();
        let life = match &task.claim {
            Some(claim) => {
                let until = settle(self.tx, &mut self.facts, |facts| facts.claim_expiry(claim))?;
                Some(life(until, claim.ttl, now))
            }
            None => None,
        };
        let obstacles = match task.status {
            Status::Queued => {
                let caller = Claimant { id: &self.caller.actor, roles: &desk.roles };
                let policy = self.policy;
                settle(self.tx, &mut self.facts, |facts| obstacles(facts, task, caller, policy))?
            }
            _ => Vec::new(),
        };
        let item = desk.items.get(task.id.as_str());
        let strip = item.map(|item| strip(item, task, self.caller.actor.as_str(), now));
        let line = if strip.is_some() { None } else { line(task, &obstacles) };
        let agent = task.claim.as_ref().map(|claim| &claim.agent).or(task.assignee.as_ref());
        let column = column(task.status);
        Ok(Card {
            id: task.id.to_string(),
            number: task.number,
            version: task.version,
            title: task.title.clone(),
            status: task.status,
            column: column.to_owned(),
            rank: rank(task, since),
            priority: task.priority.to_string(),
            labels: task.labels.clone(),
            role: task.role,
            files: task.files.clone(),
            parent: task.parent.as_ref().map(ToString::to_string),
            epic: task.epic.clone(),
            initiative: task.initiative.clone(),
            round: task.round,
            agent: agent.map(ToString::to_string),
            life,
            reviewer: task.reviewer.as_ref().map(ToString::to_string),
            since,
            gates: view::gates(task, self.policy).iter().map(mark).collect(),
            ready: task.status == Status::Queued && obstacles.is_empty(),
            stuck: strip.is_some(),
            line,
            strip,
        })
    }
}

fn columns(cards: &[Card], abandoned: bool) -> Vec<Column> {
    let more = abandoned.then_some(("abandoned", "Abandoned"));
    let count = |name: &str| cards.iter().filter(|card| card.column == name).count();
    let all = COLUMNS.into_iter().chain(more);
    all.map(|(name, title)| Column {
        name: name.to_owned(),
        title: title.to_owned(),
        count: count(name),
    })
    .collect()
}

/// Where a column stands on the board.
fn place(card: &Card) -> usize {
    COLUMNS.iter().position(|(name, _)| *name == card.column).unwrap_or(COLUMNS.len())
}

/// Queued tasks stand in the order of claims, finished ones the newest first, the others by priority and age.
fn rank(task: &Task, since: Timestamp) -> i64 {
    /// More than any time in seconds.
    const PRIORITY: i64 = 1_000_000_000_000;
    let priority = i64::from(task.priority.rank()) * PRIORITY;
    match task.status {
        Status::Queued => priority + i64::try_from(task.number).unwrap_or(i64::MAX / 2),
        Status::Done | Status::Abandoned => -since.ms() / 1_000,
        _ => priority + since.ms() / 1_000,
    }
}

fn strip(item: &Item, task: &Task, me: &str, now: Timestamp) -> Strip {
    let words = match item.kind {
        Kind::Decision | Kind::Stuck => format!("{} waits for you", item.id),
        Kind::Exhausted => format!("Attempts used up, {}", item.id),
        Kind::RedGate => "A gate failed".to_owned(),
        Kind::Failed => "The attempt failed".to_owned(),
        Kind::Blocked => match &task.block {
            Some(block) => format!("Needs {}", block.needs),
            None => "Blocked".to_owned(),
        },
        Kind::Review if task.reviewer.as_ref().is_some_and(|who| who.as_str() == me) => {
            "Asks for your review".to_owned()
        }
        Kind::Review if task.reviewer.is_none() => "Nobody reviews it".to_owned(),
        Kind::Review => "Waits for a review".to_owned(),
        Kind::Merge => "Waits to be merged".to_owned(),
        Kind::Silent => format!("Silent for {}", age(now.since(item.since))),
        Kind::SentBack => format!("Sent back, round {}", task.round),
        Kind::RunWaiting
        | Kind::Clock
        | Kind::Budget
        | Kind::RunPaused
        | Kind::MergeEjected
        | Kind::TargetDirty
        | Kind::WorkerLost
        | Kind::StrayLease
        | Kind::WriteSeen => item.kind.words().to_owned(),
    };
    Strip { kind: item.kind.to_string(), words, id: item.id.clone() }
}

fn line(task: &Task, obstacles: &[Obstacle]) -> Option<Line> {
    let line = |kind: &str, words: String| Some(Line { kind: kind.to_owned(), words });
    match task.status {
        Status::Queued => waiting(obstacles),
        Status::Claimed => line("claimed", "Claimed, not started".to_owned()),
        Status::ChangesRequested => line("sent_back", format!("Sent back, round {}", task.round)),
        Status::Review => {
            let reviewer = task.reviewer.as_ref().filter(|_| task.review_taken)?;
            line("reviewer", format!("With {reviewer}"))
        }
        Status::Merging => line("merging", "Merging".to_owned()),
        Status::InProgress
        | Status::Approved
        | Status::Blocked
        | Status::Failed
        | Status::Done
        | Status::Abandoned => None,
    }
}

fn waiting(obstacles: &[Obstacle]) -> Option<Line> {
    let line = |kind: &str, words: String| Some(Line { kind: kind.to_owned(), words });
    let after: Vec<&str> = obstacles
        .iter()
        .filter_map(|obstacle| match obstacle {
            Obstacle::Dependency(id, _) => Some(id.as_str()),
            _ => None,
        })
        .collect();
    if !after.is_empty() {
        return line("after", format!("After {}", after.join(", ")));
    }
    match obstacles.first() {
        None => line("ready", "Ready to claim".to_owned()),
        Some(Obstacle::Files(conflict)) => {
            let path = conflict.held.path.trim_end_matches('/');
            let name = path.rsplit('/').next().unwrap_or(path);
            line("held", format!("Held: {name}"))
        }
        Some(Obstacle::Assigned(agent)) => line("assigned", format!("For {agent}")),
        Some(Obstacle::Role(role)) => line("role", format!("For the role {role}")),
        Some(Obstacle::Blocker(text)) => line("blocker", text.clone()),
        Some(Obstacle::Dependency(..) | Obstacle::Status(..)) => None,
    }
}
