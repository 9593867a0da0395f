//! What somebody asks for on GitHub, as commands. Pure: who may is for the rules to say.

use crate::model::IssueEvent;
use crate::rows::IssueRow;
use comity_core::command::{ClaimWish, Command, Submission, TaskVerb};
use comity_core::status::Status;
use comity_core::time::Millis;
use comity_protocol::labels::{Carrier, Dialect, Issue, Mark, Outside, Wish};

/// A person who takes a task on GitHub gives no sign of life here.
const PERSON_TTL: Millis = Millis::from_secs(7 * 86_400);

/// Somebody put an issue on a board, or moved it there. What to is not said.
pub const BOARD_EVENTS: [&str; 2] = ["added_to_project_v2", "project_v2_item_status_changed"];

/// What a difference between an issue and its task means.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// There is none.
    Nothing,
    /// Nobody made it: GitHub's answer is old, or comity's own steps are not all done.
    Stale,
    Wish {
        by: String,
        word: String,
        source: u64,
        wish: Wish,
    },
    Refused {
        by: String,
        word: String,
        source: u64,
        why: String,
    },
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    pub dialect: &'a Dialect,
    /// The status that GitHub should show.
    pub shown: Status,
    /// The status that the task has.
    pub known: Status,
    pub code: bool,
    pub row: &'a IssueRow,
}

impl Look<'_> {
    fn issue(&self) -> Issue {
        match (self.row.seen.closed, self.row.seen.not_planned) {
            (false, _) => Issue::Open,
            (true, false) => Issue::Completed,
            (true, true) => Issue::NotPlanned,
        }
    }

    fn word(&self) -> Option<String> {
        self.dialect.settle(&self.row.seen.labels, Some(self.shown)).map(|settled| settled.word)
    }

    /// Tells whether the issue shows something else than it should.
    pub fn differs(&self) -> bool {
        let word = self.word();
        let seen = Mark { word: word.as_deref(), issue: self.issue() };
        let should = self.dialect.mark(self.shown);
        let closed = self.row.left_closed && self.issue() != Issue::Open;
        let like = |word: Option<&str>| word.map(str::to_lowercase);
        like(seen.word) != like(should.word) || (seen.issue != should.issue && !closed)
    }

    /// Says what is asked for, from what happened there since the last look. `own` tells comity's own steps.
    pub fn asked(&self, events: &[IssueEvent], own: &dyn Fn(&IssueEvent) -> bool) -> Asked {
        if !self.differs() {
            return Asked::Nothing;
        }
        let word = self.word();
        let newest = events
            .iter()
            .filter(|event| self.explains(event, word.as_deref()))
            .max_by_key(|event| event.id);
        let newest = newest.filter(|event| event.id > self.row.event && !own(event));
        let Some(event) = newest else { return Asked::Stale };
        let by = event.actor.login.clone();
        let source = event.id;
        let issue = self.issue();
        let said = match (issue, &word) {
            (Issue::Open, Some(word)) => word.clone(),
            (Issue::Open, None) => "no label".to_owned(),
            (Issue::Completed, _) => "closed".to_owned(),
            (Issue::NotPlanned, _) => "closed as not planned".to_owned(),
        };
        // What shows as under way although it is queued is judged as what it is.
        let outside =
            self.dialect.outside(self.known, Mark { word: word.as_deref(), issue }, self.code);
        match outside {
            Outside::Agrees => Asked::Stale,
            Outside::Wish(wish) => Asked::Wish { by, word: said, source, wish },
            Outside::Refused(why) => Asked::Refused { by, word: said, source, why },
        }
    }

    /// Tells whether an event can have made what the issue shows.
    fn explains(&self, event: &IssueEvent, word: Option<&str>) -> bool {
        let should = self.dialect.mark(self.shown);
        let label = &event.label.name;
        match (event.event.as_str(), self.issue()) {
            ("closed", Issue::Completed | Issue::NotPlanned) => true,
            ("reopened", Issue::Open) => should.issue != Issue::Open,
            ("labeled", _) => word.is_some_and(|word| word.eq_ignore_ascii_case(label)),
            (kind, Issue::Open) if BOARD_EVENTS.contains(&kind) => {
                self.dialect.carrier() == Carrier::Field
            }
            ("unlabeled", _) => {
                word.is_none() && !self.dialect.states_in(std::slice::from_ref(label)).is_empty()
            }
            _ => false,
        }
    }
}

/// Tells whether an event may be the one that queued an issue.
pub fn queues(event: &IssueEvent, word: &str) -> bool {
    event.event == "labeled" && event.label.name.eq_ignore_ascii_case(word)
        || BOARD_EVENTS.contains(&event.event.as_str())
}

/// Returns the commands of a wish, each step with the verb that leads there.
pub fn commands(id: &str, wish: &Wish, by: &str) -> Vec<Command> {
    let mut from = wish.from;
    let mut commands = Vec::new();
    for to in &wish.steps {
        commands.push(command(id, from, *to, by));
        from = *to;
    }
    commands
}

fn command(id: &str, from: Status, to: Status, by: &str) -> Command {
    let id = id.to_owned();
    let reason = Some(format!("{by} asked for it on GitHub"));
    let moved = |verb| Command::Move { verb, id: id.clone(), reason: reason.clone() };
    match to {
        Status::Queued if from.is_finished() => moved(TaskVerb::Reopen),
        Status::Queued if from.is_held() => moved(TaskVerb::Release),
        Status::Queued if from == Status::Blocked => moved(TaskVerb::Unblock),
        Status::Queued => moved(TaskVerb::Requeue),
        Status::Claimed | Status::InProgress => Command::Claim(ClaimWish {
            id: Some(id),
            ttl: Some(PERSON_TTL),
            no_lease: true,
            start: to == Status::InProgress,
            ..ClaimWish::default()
        }),
        Status::Review => Command::Submit(Submission { id, reason, ..Submission::default() }),
        Status::Approved => moved(TaskVerb::Approve),
        Status::ChangesRequested => moved(TaskVerb::RequestChanges),
        Status::Merging => moved(TaskVerb::Merge),
        Status::Done => Command::Done { id, merged: None, unmerged: false, reason },
        Status::Blocked => {
            let needs =
                Some(format!("{by} withdrew it on GitHub; set the label again to queue it"));
            Command::Block { id, needs, questions: Vec::new(), retry_after: None, reason }
        }
        Status::Failed => moved(TaskVerb::Fail),
        Status::Abandoned => moved(TaskVerb::Abandon),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Label, User};

    fn event(id: u64, kind: &str, label: &str, by: &str) -> IssueEvent {
        IssueEvent {
            id,
            event: kind.to_owned(),
            actor: User { login: by.to_owned() },
            label: Label { name: label.to_owned(), ..Label::default() },
            created_at: String::new(),
        }
    }

    fn row(labels: &[&str]) -> IssueRow {
        let mut row = IssueRow { event: 10, ..IssueRow::default() };
        row.seen.labels = labels.iter().map(|label| (*label).to_owned()).collect();
        row
    }

    fn look<'a>(dialect: &'a Dialect, status: Status, row: &'a IssueRow) -> Look<'a> {
        Look { dialect, shown: status, known: status, code: true, row }
    }

    #[test]
    fn a_difference_that_nobody_made_asks_for_nothing() {
        let (ace, row) = (Dialect::ace(), row(&["agent:in-progress"]));
        let look = look(&ace, Status::Queued, &row);
        let own = |event: &IssueEvent| event.actor.login == "bot";
        let handled = event(9, "labeled", "agent:in-progress", "ann");
        let another = event(13, "labeled", "agent:ready", "ann");
        let ours = event(12, "labeled", "agent:in-progress", "bot");
        let other = event(14, "labeled", "bug", "ann");
        assert_eq!(look.asked(&[handled, ours, another, other], &own), Asked::Stale);
        let new = event(11, "labeled", "agent:in-progress", "ann");
        assert!(matches!(look.asked(&[new], &own), Asked::Wish { .. }));
    }

    #[test]
    fn a_word_that_somebody_set_is_a_wish_by_that_login() {
        let (ace, row) = (Dialect::ace(), row(&["agent:failed", "agent:ready"]));
        let look = look(&ace, Status::Failed, &row);
        let asked = look.asked(&[event(11, "labeled", "agent:ready", "ann")], &|_| false);
        let Asked::Wish { by, word, source, wish } = asked else { panic!("{asked:?}") };
        assert_eq!((by.as_str(), word.as_str(), source), ("ann", "agent:ready", 11));
        assert_eq!(wish.steps, [Status::Queued]);
        assert!(matches!(
            commands("T1", &wish, "ann").as_slice(),
            [Command::Move { verb: TaskVerb::Requeue, .. }]
        ));
    }

    #[test]
    fn a_word_that_cannot_follow_is_refused_with_the_reason() {
        let (neo, row) = (Dialect::neo(), row(&["agent-task:review"]));
        let look = look(&neo, Status::Blocked, &row);
        let asked = look.asked(&[event(11, "labeled", "agent-task:review", "ann")], &|_| false);
        assert!(matches!(asked, Asked::Refused { .. }), "{asked:?}");
    }

    #[test]
    fn a_word_there_that_agrees_asks_for_nothing() {
        let (neo, row) = (Dialect::neo(), row(&["Agent-Task:Pending", "bug"]));
        let events = [event(11, "labeled", "bug", "ann")];
        assert_eq!(look(&neo, Status::Queued, &row).asked(&events, &|_| false), Asked::Nothing);
    }
}
