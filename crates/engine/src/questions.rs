//! What a stopped task waits to be told, and an answer to all of it in one comment.

use crate::caller::Caller;
use crate::read::Reader;
use crate::service::Service;
use comity_api::QuestionsAnswer;
use comity_core::command::{GivenAnswer, TaskAnswers};
use comity_core::decision::{Decision, DecisionPurpose, DecisionState};
use comity_core::refusal::{Code, Refusal};
use comity_core::task::Task;
use comity_core::view;
use comity_protocol::ace::{Answer, Comment, Generation};

impl Reader<'_> {
    pub(crate) fn questions(&mut self, id: &str) -> Result<QuestionsAnswer, Refusal> {
        let task = self.find(id)?;
        let questions = self.asked(&task)?;
        let questions = questions.iter().map(view::decision).collect();
        Ok(QuestionsAnswer { task: self.task_view(&task)?, questions })
    }

    /// The questions it was blocked with, answered ones too, since people count them; else what was asked about
    /// the block itself.
    pub(crate) fn asked(&mut self, task: &Task) -> Result<Vec<Decision>, Refusal> {
        let Some(block) = &task.block else { return Ok(Vec::new()) };
        let mut asked = Vec::new();
        for id in &task.decisions {
            let repo = &task.repo;
            let found = self.settled(|facts| Ok(facts.decision(repo, *id)?.cloned()))?;
            asked.extend(found);
        }
        if block.questions.is_empty() {
            asked.retain(|decision| {
                decision.state == DecisionState::Open
                    && decision.purpose != DecisionPurpose::Question
                    && decision.created_at >= block.since
            });
        } else {
            asked.retain(|decision| block.questions.contains(&decision.id));
        }
        Ok(asked)
    }
}

/// How an answer comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// A comment: what counts follows `ANSWER:` at the start of a line; the second generation needs no word.
    Comment(Generation),
    /// The answer itself.
    Text,
}

impl Service {
    /// Reads an answer to the open questions of a task and gives each question its own; none where the task waits
    /// for nothing.
    pub fn read_answer(
        &self,
        caller: &Caller,
        id: &str,
        text: &str,
        form: AnswerForm,
    ) -> Result<TaskAnswers, Refusal> {
        let QuestionsAnswer { task, questions } =
            self.read(caller, |reader| reader.questions(id))?;
        let given = match form {
            AnswerForm::Text => Answer::of_text(text),
            AnswerForm::Comment(generation) => {
                Comment::answer_in(text, generation).ok_or_else(no_answer)?
            }
        };
        let (id, text) = (task.id.clone(), Some(text.to_owned()));
        let whole = TaskAnswers { id, text, ..TaskAnswers::default() };
        if questions.is_empty() {
            return Ok(whole);
        }
        let mut open: Vec<bool> =
            questions.iter().map(|one| one.state == DecisionState::Open.as_str()).collect();
        if !open.contains(&true) {
            // Whoever answers what is answered is told so by the rules.
            open.fill(true);
        }
        let matched = given.matched_to(&open).map_err(|wrong| {
            Refusal::new(Code::InvalidAnswer, format!("{}: {wrong}", task.id))
                .hint("answer each question: '- Answer to question 1: …'")
        })?;
        let answers = questions
            .into_iter()
            .zip(matched.answers)
            .filter_map(|(question, answer)| {
                Some(GivenAnswer { decision: question.id, answer: answer? })
            })
            .collect();
        Ok(TaskAnswers { answers, notes: matched.beside, ..whole })
    }
}

fn no_answer() -> Refusal {
    Refusal::input("the comment has no line that begins with ANSWER:").hint(
        "start a line with ANSWER:, outside code and quotations, and write the answers after it",
    )
}
