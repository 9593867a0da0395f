//! The ACE labels protocol, both generations: comments that say what happens to an issue, the hand-over file,
//! branch names. Written exactly as the protocol's own tools write them, read as people write them.

mod answer;
mod branch;
mod claim;
mod contract;
mod hand_over;
mod instructions;
mod items;
mod outcome;
mod posted;
mod question;

pub use answer::{Answer, AnswerPart, Matched, Mismatch};
pub use branch::{branch, issue_of_branch, slug};
pub use claim::Claim;
pub use contract::{DONE, is_workers_own};
pub use hand_over::{DONE_FILE, HandOver, HandOverError, HandOverState};
pub use instructions::instructions;
pub(crate) use outcome::pull_request_number;
pub use outcome::{Done, Failed};
pub use posted::COMMENT;
pub(crate) use posted::ends;
pub use question::{Asked, Blocked, with_options};

use crate::markdown::{self, Line};
use comity_core::command::ReportStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the two forms is written. Both are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// State in labels `agent:*`.
    #[default]
    Labels,
    /// State in a project's status field.
    Project,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Agent,
    Allowed,
    Other,
}

/// What a comment that comity has written begins a line with, so that it never answers itself.
pub const OWN_MARK: &str = "<!-- comity";

#[derive(Clone, Debug, PartialEq)]
pub enum Comment {
    Claim(Claim),
    Blocked(Blocked),
    Answer(Answer),
    Resuming,
    Done(Done),
    Failed(Failed),
}

const CLAIM: &str = "**Agent Claim**";
const RESUMING: &str = "**Agent Resuming**";
const COMPLETE: &str = "**Agent Complete**";
const OPENED: &str = "PR opened:";
const FAILED: &str = "**Agent Failed**";

enum Word<'a> {
    Answer,
    Blocked(&'a str, Generation),
    Claim,
    Resuming,
    Complete,
    Opened(&'a str),
    Failed,
}

impl<'a> Word<'a> {
    fn of(line: &Line<'a>) -> Option<Word<'a>> {
        let says = |word| markdown::after_word(line, word);
        let asked = || {
            let (first, generation) = question::marked(line)?;
            Some(Word::Blocked(first, generation))
        };
        let answered = answer::marked(line).map(|_| Word::Answer);
        answered
            .or_else(asked)
            .or_else(|| says(CLAIM).map(|_| Word::Claim))
            .or_else(|| says(RESUMING).map(|_| Word::Resuming))
            .or_else(|| says(COMPLETE).map(|_| Word::Complete))
            .or_else(|| says(OPENED).map(Word::Opened))
            .or_else(|| says(FAILED).map(|_| Word::Failed))
    }

    fn all(lines: &[Line<'a>]) -> impl Iterator<Item = (usize, Word<'a>)> {
        lines.iter().enumerate().filter_map(|(place, line)| Some((place, Word::of(line)?)))
    }

    fn status(&self) -> Option<ReportStatus> {
        match self {
            Word::Blocked(..) => Some(ReportStatus::Blocked),
            Word::Complete | Word::Opened(_) => Some(ReportStatus::Completed),
            Word::Failed => Some(ReportStatus::Failed),
            Word::Answer | Word::Claim | Word::Resuming => None,
        }
    }
}

impl Comment {
    /// Reads a comment, whoever wrote it. The first line that says what it is decides.
    pub fn parse(text: &str) -> Option<Comment> {
        let lines = markdown::lines(text);
        let (place, word) = Word::all(&lines).next()?;
        let rest = lines.get(place + 1..).unwrap_or_default();
        match word {
            Word::Answer => Answer::of_lines(&lines).map(Comment::Answer),
            Word::Blocked(first, generation) => {
                Blocked::read(first, rest, generation).map(Comment::Blocked)
            }
            Word::Claim => Some(Comment::Claim(Claim::read(rest))),
            Word::Resuming => Some(Comment::Resuming),
            Word::Complete => Some(Comment::Done(Done::read(rest))),
            Word::Opened(what) => Some(Comment::Done(Done::opened(what))),
            Word::Failed => Some(Comment::Failed(Failed::read(rest))),
        }
    }

    /// Reads a comment as far as its author may say it: answers come from who is allowed to answer, everything
    /// else from the agent.
    pub fn read(text: &str, author: Author) -> Option<Comment> {
        match (author, Comment::parse(text)?) {
            (Author::Allowed, Comment::Answer(_)) if is_own(text) => None,
            (Author::Allowed, answer @ Comment::Answer(_)) => Some(answer),
            // Who answers may have copied the question above the answer.
            (Author::Allowed, _) if !is_own(text) => Answer::find(text).map(Comment::Answer),
            (Author::Agent, Comment::Answer(_)) => None,
            (Author::Agent, comment) => Some(comment),
            (Author::Allowed | Author::Other, _) => None,
        }
    }

    /// Reads what somebody who may answer says in a comment. The second generation asks for a plain reply, so
    /// there an answer needs no word before it.
    pub fn answer_in(text: &str, generation: Generation) -> Option<Answer> {
        match (Comment::read(text, Author::Allowed), generation) {
            (Some(Comment::Answer(answer)), _) => Some(answer),
            (None, Generation::Project) if !is_own(text) && Comment::parse(text).is_none() => {
                Answer::of_reply(text)
            }
            _ => None,
        }
    }

    pub fn render(&self, generation: Generation) -> String {
        match self {
            Comment::Claim(claim) => claim.render(generation),
            Comment::Blocked(blocked) => blocked.render(generation),
            Comment::Answer(answer) => answer.render(),
            Comment::Resuming => format!("{RESUMING}\n\nContinuing with provided answers."),
            Comment::Done(done) => done.render(generation),
            Comment::Failed(failed) => failed.render(generation),
        }
    }
}

pub fn is_own(text: &str) -> bool {
    markdown::lines(text).iter().any(|line| line.fence.is_none() && line.text.starts_with(OWN_MARK))
}
