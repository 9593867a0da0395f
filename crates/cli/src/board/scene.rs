//! What the board shows, from one look at the store, as lists of rows.

use super::state::Pane;
use crate::human::{self, Screen};
use comity_api::{
    BoardAnswer, BoardFilter, Card, CostBy, CostFilter, EventFilter, EventView, InboxAnswer,
    InboxItem, LeaseFilter, Nothing, RunFilter, Since, op,
};
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::RunState;
use comity_core::status::Status;
use comity_core::view::{LeaseView, RunView};
use comity_engine::{Caller, Service};
use comity_project::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The columns of the board that are shown.
pub const COLUMNS: usize = 6;
/// Events in the tail.
const EVENTS: u64 = 100;
/// Leases that are listed.
const LEASES: usize = 200;

pub struct Scene {
    pub board: BoardAnswer,
    pub inbox: InboxAnswer,
    pub leases: Vec<LeaseView>,
    pub events: Vec<EventView>,
    /// Runs, what they cost, and what waits to be merged; none where there is nothing of it.
    pub fleet: Option<String>,
}

/// One line of a list.
pub struct Row {
    /// What it is about: the cursor stays with it when the list changes.
    pub key: String,
    pub left: String,
    pub right: String,
    /// The whole of it, for the line below the board and for the filter.
    pub whole: String,
    pub tone: Tone,
}

/// How a row is meant, beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Quiet,
    Busy,
    Review,
    Good,
    Bad,
}

/// Makes every text of an answer safe for a terminal.
pub fn safe<T: Serialize + DeserializeOwned>(answer: T) -> Result<T, Refusal> {
    let cleaned = human::cleaned(&answer)
        .map_err(|error| Refusal::new(Code::Internal, format!("an answer: {error}")))?;
    Ok(cleaned.unwrap_or(answer))
}

impl Scene {
    pub fn gather(context: &Context, service: &Service) -> Result<Scene, Refusal> {
        let caller = context.caller();
        let board = safe(service.call::<op::Board>(&caller, BoardFilter::default())?)?;
        let inbox = safe(service.call::<op::Inbox>(&caller, Nothing {})?)?;
        let wanted = LeaseFilter { limit: Some(LEASES), ..LeaseFilter::default() };
        let leases = safe(service.call::<op::LeaseList>(&caller, wanted)?)?.leases;
        let since = Some(Since::Seq(board.seq.saturating_sub(EVENTS)));
        let wanted = EventFilter { since, ..EventFilter::default() };
        let mut events = safe(service.call::<op::EventList>(&caller, wanted)?)?.events;
        events.reverse();
        // None of it is known of the past.
        let fleet = if context.is_past() { None } else { fleet(service, &caller)? };
        Ok(Scene { board, inbox, leases, events, fleet })
    }

    /// Returns the rows of a list that a filter leaves.
    pub fn rows(&self, pane: Pane, filter: &str, screen: &Screen) -> Vec<Row> {
        let mut rows: Vec<Row> = match pane {
            Pane::Inbox => self.inbox.items.iter().map(|item| inbox_row(item, screen)).collect(),
            Pane::Column(at) => self.cards(at).map(|card| card_row(card, screen)).collect(),
            Pane::Leases => self.leases.iter().map(|lease| lease_row(lease, screen)).collect(),
            Pane::Log => self.events.iter().map(event_row).collect(),
        };
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        rows.retain(|row| {
            let whole = row.whole.to_lowercase();
            words.iter().all(|word| whole.contains(word))
        });
        rows
    }

    /// Returns the cards of a column in the order of the board.
    fn cards(&self, at: usize) -> impl Iterator<Item = &Card> {
        let name = self.board.columns.get(at).map(|column| column.name.as_str());
        let mut cards: Vec<&Card> =
            self.board.cards.iter().filter(|card| Some(card.column.as_str()) == name).collect();
        cards.sort_by_key(|card| card.rank);
        cards.into_iter()
    }

    pub fn item(&self, key: &str) -> Option<&InboxItem> {
        self.inbox.items.iter().find(|item| item.key == key)
    }
}

fn fleet(service: &Service, caller: &Caller) -> Result<Option<String>, Refusal> {
    let status = RunState::ALL.iter().copied().filter(|state| state.is_live()).collect();
    let wanted = RunFilter { status, limit: Some(PAGE_MAX), ..RunFilter::default() };
    let runs = safe(service.call::<op::Runs>(caller, wanted)?)?.runs;
    let today = service.call::<op::Cost>(caller, CostFilter { by: CostBy::Agent })?.cost.today;
    let queue = safe(service.call::<op::MergeQueue>(caller, Nothing {})?)?.queue;
    let mut parts = Vec::new();
    if !runs.is_empty() {
        let one = |run: &RunView| {
            let (id, task) = (run.id.as_deref(), run.task.as_deref());
            let (id, task) = (id.unwrap_or_default(), task.unwrap_or("-"));
            format!("{id} {} {task} {}", run.agent, run.state)
        };
        let each: Vec<String> = runs.iter().map(one).collect();
        parts.push(format!("Runs {}: {}", runs.len(), each.join(", ")));
    }
    if today.runs > 0 {
        parts.push(format!("Today ${:.2}", today.usd.dollars()));
    }
    if !queue.is_empty() {
        let tasks: Vec<&str> = queue.iter().map(|queued| queued.task.as_str()).collect();
        parts.push(format!("To merge {}: {}", tasks.len(), tasks.join(", ")));
    }
    Ok((!parts.is_empty()).then(|| parts.join("   ")))
}

fn inbox_row(item: &InboxItem, screen: &Screen) -> Row {
    let right = match item.deadline {
        Some(deadline) => human::left(deadline, screen),
        None => human::ago(item.since, screen),
    };
    let asks = item.decision.is_some();
    let tone = match (item.urgent, asks) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Review,
        (false, false) => Tone::Plain,
    };
    Row {
        key: item.key.clone(),
        left: format!("{:<11} {:<5} {}", item.word, item.id, item.title),
        whole: format!("{} {}: {} ({})", item.word, item.id, item.title, item.reason),
        right,
        tone,
    }
}

fn card_row(card: &Card, screen: &Screen) -> Row {
    let tone = match card.status {
        _ if card.stuck => Tone::Bad,
        Status::Queued if card.ready => Tone::Plain,
        Status::Queued | Status::Done | Status::Abandoned => Tone::Quiet,
        Status::Claimed | Status::InProgress => Tone::Busy,
        Status::Review | Status::ChangesRequested => Tone::Review,
        Status::Approved | Status::Merging => Tone::Good,
        Status::Blocked | Status::Failed => Tone::Bad,
    };
    let agent = card.agent.as_ref().map(|agent| format!(" {agent},")).unwrap_or_default();
    let gates: Vec<String> =
        card.gates.iter().map(|gate| format!("{} {}", gate.name, gate.mark)).collect();
    let gates = if gates.is_empty() { String::new() } else { format!("; {}", gates.join(", ")) };
    let line = card.strip.as_ref().map(|strip| &strip.words);
    let line = line.or(card.line.as_ref().map(|line| &line.words));
    let line = line.map(|words| format!(". {words}")).unwrap_or_default();
    Row {
        key: card.id.clone(),
        left: format!("{} {}", card.id, card.title),
        right: String::new(),
        whole: format!(
            "{} {}:{agent} {} {}{gates}{line}",
            card.id,
            card.title,
            card.status,
            human::ago(card.since, screen)
        ),
        tone,
    }
}

fn lease_row(lease: &LeaseView, screen: &Screen) -> Row {
    let left = human::left(lease.expires_at, screen);
    Row {
        key: lease.lock_id.clone(),
        left: format!("{} {}", lease.path, lease.owner),
        whole: format!(
            "{} {} of {}, {}, ends {left} without a sign of life",
            lease.lock_id, lease.path, lease.owner, lease.mode
        ),
        right: left,
        tone: Tone::Plain,
    }
}

fn event_row(event: &EventView) -> Row {
    let ts = event.ts.to_string();
    let clock = ts.get(11..19).unwrap_or(&ts);
    let task = event.task.as_ref().map(|task| format!(" {task}")).unwrap_or_default();
    let says = human::story::words(event);
    Row {
        key: event.seq.to_string(),
        left: format!("{clock} {}{task} {says}", event.agent),
        right: String::new(),
        whole: format!("{} {clock} {}{task} {says} ({})", event.seq, event.agent, event.event),
        tone: Tone::Quiet,
    }
}
