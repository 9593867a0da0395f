//! What a client does: the life of a task from its creation to the review, over and over.

use crate::Outcome;
use comity_core::command::{ClaimWish, Command, NewTask, Request, Submission};
use comity_core::ids::{AgentId, Fence, RepoName};
use comity_core::observed::Observed;
use comity_core::policy::Policy;
use comity_core::role::Role;
use comity_engine::{Answer, Reply, Settings};

/// Commands in the life of one task.
pub const LIFE: usize = 7;
/// The life in words, for the method notes.
pub const LIFE_WORDS: &str =
    "task.create, task.claim (with a lease), task.start, note, note, gate.record, task.submit";

/// Something as long as what people write in a task.
const DESCRIPTION: &str = "The parser accepts a trailing comma in lists but not in maps. Make both \
    behave alike, keep the error positions as they are, and say in the change log what changed.";
const COMMIT: &str = "4f1c7b1e5a0d3c9b8e7f6a5d4c3b2a1908172635";

/// The repository that everything is about.
pub fn repo() -> Outcome<RepoName> {
    Ok(RepoName::parse("bench/app")?)
}

/// Makes a request.
pub fn request(
    actor: &AgentId,
    repo: &RepoName,
    fence: Option<Fence>,
    command: Command,
) -> Request {
    Request {
        actor: actor.clone(),
        repo: repo.clone(),
        fence,
        key: None,
        via: comity_core::via::Via::default(),
        workspace: None,
        command,
        observed: Observed::default(),
    }
}

/// Registers an agent by a person.
pub fn register(agent: &AgentId, repo: &RepoName) -> Outcome<Request> {
    let person = AgentId::parse("human:bench")?;
    let command = Command::AgentRegister {
        id: agent.clone(),
        roles: vec![Role::Implementer],
        skills: Vec::new(),
    };
    Ok(request(&person, repo, None, command))
}

/// Makes a task as a planner would, with files of its own.
pub fn new_task(id: Option<String>, name: &str) -> NewTask {
    NewTask {
        id,
        title: format!("Accept trailing commas in {name}"),
        description: DESCRIPTION.to_owned(),
        labels: vec!["parser".to_owned()],
        files: vec![format!("src/{name}/**")],
        gates: vec!["tests".to_owned()],
        dod: vec!["a test with a trailing comma in a map".to_owned()],
        ..NewTask::default()
    }
}

/// One client at its place in the script.
pub struct Client {
    /// Who.
    pub agent: AgentId,
    repo: RepoName,
    number: usize,
    sent: usize,
    fence: Option<Fence>,
}

impl Client {
    /// Makes a client before its first command.
    pub fn new(number: usize) -> Outcome<Client> {
        let agent = AgentId::parse(&format!("agent-{number:02}"))?;
        Ok(Client { agent, repo: repo()?, number, sent: 0, fence: None })
    }

    /// Names the task that the next command is about.
    pub fn task(&self) -> String {
        format!("C{:02}-{:04}", self.number, self.sent / LIFE)
    }

    /// Makes the next command.
    pub fn next(&mut self) -> Request {
        let id = self.task();
        let command = match self.sent % LIFE {
            0 => {
                let name = format!("{}-{}", self.agent, self.sent / LIFE);
                Command::CreateTask(Box::new(new_task(Some(id), &name)))
            }
            1 => Command::Claim(ClaimWish { id: Some(id), ..ClaimWish::default() }),
            2 => Command::Start { id, ttl: None, reason: None },
            3 => note(id, "The list parser takes it; the map parser shares the code path now."),
            4 => note(id, "All tests pass here but one, which expects the old error position."),
            5 => Command::GateRecord {
                id,
                gate: "tests".to_owned(),
                pass: true,
                report: Some("target/report.txt".to_owned()),
                commit: Some(COMMIT.to_owned()),
                new: false,
            },
            _ => Command::Submit(Submission {
                id,
                commit: Some(COMMIT.to_owned()),
                ..Submission::default()
            }),
        };
        self.sent += 1;
        request(&self.agent, &self.repo, self.fence, command)
    }

    /// Remembers the fence of a claim until the task is handed in.
    pub fn learn(&mut self, answer: &Reply) {
        match (self.sent % LIFE, answer) {
            (2, Reply::New(Answer::Claim(claim))) => {
                self.fence = claim.fence.and_then(Fence::new);
            }
            (0, _) => self.fence = None,
            _ => {}
        }
    }
}

fn note(id: String, text: &str) -> Command {
    Command::Note { kind: "progress".to_owned(), text: text.to_owned(), task: Some(id) }
}

/// Settings of a project without git: nothing is looked at before a command is decided.
pub fn without_git() -> Settings {
    let policy = Policy { has_git: false, ..Policy::default() };
    Settings { policy, ..Settings::default() }
}
