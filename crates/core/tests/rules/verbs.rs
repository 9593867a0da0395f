//! Commands as sentences: `world.by(IMPL).claim("T1").accepted()`.

use crate::world::{Verdict, World, good_eyes};
use comity_core::command::{
    ClaimWish, Command, ConstraintChanges, GivenAnswer, LeaseChange, NewTask, Question, Request,
    StepVerb, Submission, TaskAnswers, TaskVerb,
};
use comity_core::event::TaskUpdated;
use comity_core::observed::{Observed, WorkSeen};
use comity_core::role::Role;
use comity_core::status::Status;
use comity_core::time::Millis;
use serde_json::{Value, json};

/// Somebody about to do something.
pub struct Act<'w> {
    world: &'w mut World,
    who: String,
    fence: Option<u64>,
    session: Option<String>,
}

impl World {
    pub fn by(&mut self, who: &str) -> Act<'_> {
        Act { world: self, who: who.to_owned(), fence: None, session: None }
    }

    /// Applies what time did.
    pub fn sweep(&mut self) -> crate::world::Done {
        self.by(crate::world::ANN).does(Command::Sweep).unwrap()
    }
}

pub fn task(title: &str) -> NewTask {
    NewTask { title: title.to_owned(), ..NewTask::default() }
}

/// A task that declares files.
pub fn task_on(title: &str, files: &[&str]) -> NewTask {
    NewTask { files: texts(files), ..task(title) }
}

pub fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

pub fn question(text: &str) -> Question {
    Question {
        question: text.to_owned(),
        task: None,
        options: Vec::new(),
        kind: None,
        context: None,
        default: None,
        to: None,
        expires: None,
        proposes: None,
    }
}

fn why(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Act<'_> {
    pub fn with_fence(mut self, fence: u64) -> Self {
        self.fence = Some(fence);
        self
    }

    /// From a session of an agent client.
    pub fn in_session(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    pub fn does(self, command: Command) -> Verdict {
        let mut request = self.world.request(&self.who, self.fence, command);
        if self.session.is_some() {
            request.via.client = Some("claude-code".to_owned());
            request.via.session = self.session;
        }
        self.world.run(&request)
    }

    /// Does it with what a door sees of good work, changed in some way.
    pub fn does_seeing(self, command: Command, change: impl FnOnce(&mut Observed)) -> Verdict {
        let id = command.task_ref().unwrap_or_default();
        let task = self.world.state.tasks.values().find(|task| task.id.as_str() == id);
        let mut observed = good_eyes(&command, task.map(Box::as_ref));
        change(&mut observed);
        let request = self.world.request(&self.who, self.fence, command);
        self.world.run(&Request { observed, ..request })
    }

    /// Hands T1 in with something seen of the work.
    pub fn submits_seeing(self, change: impl FnOnce(&mut WorkSeen)) -> Verdict {
        let submission = Submission { id: "T1".into(), ..Submission::default() };
        self.does_seeing(Command::Submit(submission), |seen| change(seen.work.as_mut().unwrap()))
    }

    pub fn creates(self, new: NewTask) -> Verdict {
        self.does(Command::CreateTask(Box::new(new)))
    }

    pub fn updates(self, id: &str, changes: TaskUpdated) -> Verdict {
        self.does(Command::UpdateTask {
            id: id.into(),
            changes: Box::new(changes),
            constraints: ConstraintChanges::default(),
            if_match: None,
        })
    }

    pub fn makes_wait(self, id: &str, on: &str) -> Verdict {
        self.does(Command::Depend {
            id: id.into(),
            on: on.into(),
            remove: false,
            awaits_unknown: false,
        })
    }

    pub fn assigns(self, id: &str, agent: Option<&str>) -> Verdict {
        self.does(Command::Assign { id: id.into(), agent: agent.map(crate::world::id), new: true })
    }

    pub fn claims(self, id: &str) -> Verdict {
        self.does(Command::Claim(ClaimWish { id: Some(id.into()), ..ClaimWish::default() }))
    }

    pub fn claims_for(self, id: &str, secs: i64) -> Verdict {
        let ttl = Some(Millis::from_secs(secs));
        self.does(Command::Claim(ClaimWish { id: Some(id.into()), ttl, ..ClaimWish::default() }))
    }

    pub fn claims_best(self) -> Verdict {
        self.does(Command::Claim(ClaimWish::default()))
    }

    pub fn claims_best_of(self, role: Role) -> Verdict {
        self.does(Command::Claim(ClaimWish { role: Some(role), ..ClaimWish::default() }))
    }

    pub fn starts(self, id: &str) -> Verdict {
        self.does(Command::Start { id: id.into(), ttl: None, reason: None })
    }

    pub fn submits(self, id: &str) -> Verdict {
        self.does(Command::Submit(Submission { id: id.into(), ..Submission::default() }))
    }

    pub fn submits_commit(self, id: &str, commit: &str) -> Verdict {
        let commit = Some(commit.to_owned());
        self.does(Command::Submit(Submission { id: id.into(), commit, ..Submission::default() }))
    }

    pub fn submits_keeping_leases(self, id: &str) -> Verdict {
        let keep_leases = true;
        self.does(Command::Submit(Submission {
            id: id.into(),
            keep_leases,
            ..Submission::default()
        }))
    }

    pub fn takes_review(self, id: &str) -> Verdict {
        self.does(TaskVerb::Review.on(id, None))
    }

    pub fn approves(self, id: &str) -> Verdict {
        self.does(TaskVerb::Approve.on(id, None))
    }

    pub fn requests_changes(self, id: &str) -> Verdict {
        self.does(TaskVerb::RequestChanges.on(id, why("please mend it")))
    }

    pub fn merges(self, id: &str) -> Verdict {
        self.does(TaskVerb::Merge.on(id, None))
    }

    pub fn finishes(self, id: &str) -> Verdict {
        self.does(Command::Done { id: id.into(), merged: None, unmerged: false, reason: None })
    }

    pub fn blocks(self, id: &str, needs: &str) -> Verdict {
        self.blocks_with(id, needs, &[], None)
    }

    pub fn blocks_with(
        self,
        id: &str,
        needs: &str,
        questions: &[&str],
        retry: Option<i64>,
    ) -> Verdict {
        self.does(Command::Block {
            id: id.into(),
            needs: why(needs),
            questions: texts(questions),
            retry_after: retry.map(Millis::from_secs),
            reason: None,
        })
    }

    pub fn unblocks(self, id: &str) -> Verdict {
        self.does(TaskVerb::Unblock.on(id, None))
    }

    pub fn fails(self, id: &str) -> Verdict {
        self.does(TaskVerb::Fail.on(id, why("it broke")))
    }

    pub fn releases(self, id: &str) -> Verdict {
        self.does(TaskVerb::Release.on(id, None))
    }

    pub fn abandons(self, id: &str) -> Verdict {
        self.does(TaskVerb::Abandon.on(id, why("not wanted")))
    }

    pub fn requeues(self, id: &str) -> Verdict {
        self.does(TaskVerb::Requeue.on(id, None))
    }

    pub fn reopens(self, id: &str, reason: &str) -> Verdict {
        self.does(TaskVerb::Reopen.on(id, why(reason)))
    }

    pub fn checks(self, id: &str, item: &str) -> Verdict {
        self.does(Command::Check { id: id.into(), item: item.into(), waive: false, reason: None })
    }

    pub fn waives_item(self, id: &str, item: &str, reason: &str) -> Verdict {
        let reason = why(reason);
        self.does(Command::Check { id: id.into(), item: item.into(), waive: true, reason })
    }

    pub fn step(self, id: &str, step: StepVerb, text: &str) -> Verdict {
        self.does(Command::Subtask { id: id.into(), step, text: text.into() })
    }

    pub fn moves(self, id: &str, status: Status) -> Verdict {
        self.does(Command::Transition {
            id: id.into(),
            status,
            reason: why("because"),
            needs: why("something"),
        })
    }

    pub fn leases(self, patterns: &[&str]) -> Verdict {
        self.takes_leases(patterns, None, 900, false)
    }

    pub fn shares(self, patterns: &[&str]) -> Verdict {
        self.takes_leases(patterns, None, 900, true)
    }

    pub fn leases_for(self, patterns: &[&str], secs: i64) -> Verdict {
        self.takes_leases(patterns, None, secs, false)
    }

    pub fn leases_for_task(self, id: &str, patterns: &[&str]) -> Verdict {
        self.takes_leases(patterns, Some(id), 900, false)
    }

    fn takes_leases(
        self,
        patterns: &[&str],
        task: Option<&str>,
        secs: i64,
        shared: bool,
    ) -> Verdict {
        self.does(Command::Lease(LeaseChange::Acquire {
            patterns: texts(patterns),
            task: task.map(str::to_owned),
            purpose: None,
            ttl: Some(Millis::from_secs(secs)),
            shared,
        }))
    }

    pub fn renews(self, ids: &[&str]) -> Verdict {
        self.does(Command::Lease(LeaseChange::Renew { ids: texts(ids), ttl: None }))
    }

    pub fn gives_back(self, ids: &[&str]) -> Verdict {
        self.does(Command::Lease(LeaseChange::Release { ids: texts(ids), all: false }))
    }

    pub fn gives_back_all(self) -> Verdict {
        self.does(Command::Lease(LeaseChange::Release { ids: Vec::new(), all: true }))
    }

    pub fn registers(self, who: &str, roles: &[Role]) -> Verdict {
        let id = crate::world::id(who);
        self.does(Command::AgentRegister { id, roles: roles.to_vec(), skills: Vec::new() })
    }

    pub fn heartbeats(self) -> Verdict {
        self.does(Command::Heartbeat)
    }

    pub fn records(self, id: &str, gate: &str, pass: bool) -> Verdict {
        self.records_for(id, gate, pass, None)
    }

    pub fn records_for(self, id: &str, gate: &str, pass: bool, commit: Option<&str>) -> Verdict {
        self.does(Command::GateRecord {
            id: id.into(),
            gate: gate.into(),
            pass,
            report: None,
            commit: commit.map(str::to_owned),
            new: true,
        })
    }

    pub fn waives(self, id: &str, gate: &str, reason: &str) -> Verdict {
        self.does(Command::GateWaive { id: id.into(), gate: gate.into(), reason: reason.into() })
    }

    pub fn asks(self, question: Question) -> Verdict {
        self.does(Command::DecisionAsk(Box::new(question)))
    }

    pub fn answers(self, id: &str, answer: &str) -> Verdict {
        self.does(Command::DecisionAnswer { id: id.into(), answer: answer.into() })
    }

    pub fn answers_all(self, id: &str, answers: &[(&str, &str)]) -> Verdict {
        let given = |(decision, answer): &(&str, &str)| GivenAnswer {
            decision: (*decision).to_owned(),
            answer: (*answer).to_owned(),
        };
        let answers = answers.iter().map(given).collect();
        self.does(Command::AnswerTask(TaskAnswers {
            id: id.into(),
            answers,
            ..TaskAnswers::default()
        }))
    }

    pub fn intervenes(self, id: &str, feedback: &str) -> Verdict {
        self.does(Command::Intervene { id: id.into(), feedback: feedback.into() })
    }

    pub fn notes(self, text: &str) -> Verdict {
        self.does(Command::Note { kind: "progress".into(), text: text.into(), task: None })
    }

    pub fn notes_on(self, id: &str, text: &str) -> Verdict {
        let task = Some(id.to_owned());
        self.does(Command::Note { kind: "progress".into(), text: text.into(), task })
    }

    pub fn emits(self, event: Value) -> Verdict {
        let Value::Object(event) = event else { panic!("not an object") };
        self.does(Command::EmitEvent { event })
    }

    pub fn emits_tests(self, id: &str, gate: &str, result: &str) -> Verdict {
        self.emits(json!({"event": "tests_run", "task": id, "gate": gate, "result": result}))
    }
}
