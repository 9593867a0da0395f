//! Tokens: who calls over HTTP, and how far it reaches. They are kept beside the store, outside the log, as hashes; the log
//! says that they were made and revoked.

use crate::beside::{Beside, hash, secret};
use comity_api::{EmitEvent, Kind, RegisterAgent, Row, op};
pub use comity_api::{NewTokenInput, TokenAnswer, TokenView, TokensAnswer};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_core::time::{Millis, Timestamp};
use comity_core::via::Via;
use comity_engine::{Caller, Service};
use comity_project::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What every token begins with, so that people and scanners know it.
const PREFIX: &str = "cmty_";
/// Tokens that are kept at once.
const TOKENS_MAX: usize = 1_000;
/// How long a token is good for when nothing else is said.
pub const LIFE: Millis = Millis::from_secs(30 * 86_400);

/// How far a token reaches; empty lists and absent values leave it as far as its agent reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scope {
    /// The one task that it may change.
    pub task: Option<String>,
    /// The verbs that it may use, as operations name them: `claim`, `submit`, `approve`.
    pub verbs: Vec<String>,
}

impl Scope {
    /// Refuses what the token does not reach. Reading is never narrowed.
    pub fn check(&self, row: &Row, input: &Value) -> Result<(), Refusal> {
        if row.kind != Kind::Write {
            return Ok(());
        }
        let verb = row.name.rsplit('.').next().unwrap_or(row.name);
        if !self.verbs.is_empty() && !self.verbs.iter().any(|known| known == verb) {
            let message = format!("this token is only for: {}", self.verbs.join(", "));
            return Err(Refusal::new(Code::Scope, message).detail("verbs", json!(self.verbs)));
        }
        let Some(task) = &self.task else { return Ok(()) };
        // Of a task, its own id; of everything else, the task that it is about.
        let key = if row.name.starts_with("task.") || row.name.starts_with("gate.") {
            "id"
        } else {
            "task"
        };
        let named = input.get(key).and_then(Value::as_str);
        match named.is_some_and(|named| named == task) || row.name == "agent.heartbeat" {
            true => Ok(()),
            false => {
                let message = format!("this token is only for {task}");
                Err(Refusal::new(Code::Scope, message).detail("task", task.as_str()))
            }
        }
    }
}

/// A token as it is kept: everything but its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub id: String,
    pub agent: AgentId,
    pub created_by: AgentId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(default)]
    pub scope: Scope,
    hash: String,
}

/// A token to be made.
pub struct NewToken {
    pub agent: AgentId,
    /// Roles that the agent gets; none leaves them as they are.
    pub roles: Vec<Role>,
    pub expires: Option<Millis>,
    pub scope: Scope,
}

/// Whom a request over HTTP comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    pub agent: AgentId,
    /// The id of the token.
    pub token: String,
    pub scope: Scope,
}

impl Holder {
    /// One token is one session.
    pub fn via(&self) -> Via {
        let session = Some(format!("token/{}", self.token));
        Via { client: Some("http".to_owned()), session, ..Via::default() }
    }
}

/// The tokens of a project.
#[derive(Clone)]
pub struct Tokens {
    kept: Beside<Kept>,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    /// The number of the last token, so that no id is used twice.
    last: u64,
    tokens: Vec<Token>,
}

impl Tokens {
    pub fn of(context: &Context) -> Tokens {
        Tokens { kept: Beside::at(context.beside_store().join("tokens.json")) }
    }

    /// Makes a token for an agent. Only a person may.
    pub fn create(
        &self,
        service: &Service,
        caller: &Caller,
        new: NewToken,
    ) -> Result<TokenAnswer, Refusal> {
        person(caller, "handles tokens")?;
        if new.agent.is_person() {
            return Err(Refusal::input("a token names an agent, not a person"));
        }
        new.agent.not_reserved()?;
        check_verbs(&new.scope.verbs)?;
        let mut scope = new.scope;
        if let Some(task) = &mut scope.task {
            *task = service.task(caller, task)?.id.to_string();
        }
        let now = service.store_time()?;
        let secret = format!("{PREFIX}{}", secret()?);
        if !new.roles.is_empty() {
            let (id, roles) = (new.agent.clone(), new.roles);
            let input = RegisterAgent { id, roles, skills: Vec::new() };
            service.call::<op::AgentRegister>(caller, input)?;
        }
        let expires_at = now.plus(new.expires.unwrap_or(LIFE));
        let token = self.kept.change(|kept| {
            kept.tokens.retain(|token| token.expires_at > now);
            if kept.tokens.len() >= TOKENS_MAX {
                let message = format!("there are {TOKENS_MAX} tokens already");
                return Err(Refusal::new(Code::LimitExceeded, message).hint("revoke some first"));
            }
            kept.last += 1;
            let token = Token {
                id: format!("K{}", kept.last),
                agent: new.agent,
                created_by: caller.actor.clone(),
                created_at: now,
                expires_at,
                scope,
                hash: hash(&secret),
            };
            kept.tokens.push(token.clone());
            Ok(token)
        })?;
        report(service, caller, "token_created", &token)?;
        Ok(TokenAnswer { token: TokenView { secret: Some(secret), ..view(&token) } })
    }

    pub fn list(&self, caller: &Caller) -> Result<TokensAnswer, Refusal> {
        person(caller, "handles tokens")?;
        let tokens = self.kept.value()?.tokens.iter().map(view).collect();
        Ok(TokensAnswer { tokens, next: None })
    }

    pub fn revoke(
        &self,
        service: &Service,
        caller: &Caller,
        id: &str,
    ) -> Result<TokenAnswer, Refusal> {
        person(caller, "handles tokens")?;
        let token = self.kept.change(|kept| {
            let at = kept.tokens.iter().position(|token| token.id == id);
            let unknown = || {
                Refusal::new(Code::NotFound, format!("there is no token {id:?}"))
                    .hint("list the tokens")
            };
            Ok(kept.tokens.remove(at.ok_or_else(unknown)?))
        })?;
        report(service, caller, "token_revoked", &token)?;
        Ok(TokenAnswer { token: view(&token) })
    }

    /// Finds who holds a token that is good now.
    pub fn holder(&self, secret: &str, now: Timestamp) -> Result<Option<Holder>, Refusal> {
        let wanted = hash(secret);
        let kept = self.kept.value()?;
        let found = kept.tokens.iter().find(|token| token.hash == wanted);
        let good = found.filter(|token| token.expires_at > now);
        Ok(good.map(|token| Holder {
            agent: token.agent.clone(),
            token: token.id.clone(),
            scope: token.scope.clone(),
        }))
    }
}

/// Refuses verbs that no operation has.
fn check_verbs(verbs: &[String]) -> Result<(), Refusal> {
    let writes = comity_api::TABLE.iter().filter(|row| row.kind == Kind::Write);
    let known: Vec<&str> =
        writes.map(|row| row.name.rsplit('.').next().unwrap_or(row.name)).collect();
    match verbs.iter().find(|verb| !known.contains(&verb.as_str())) {
        None => Ok(()),
        Some(verb) => {
            let nearest = comity_core::nearest::nearest(verb, known.iter().copied());
            let refusal =
                Refusal::new(Code::UnknownName, format!("no operation has the verb {verb:?}"));
            Err(match nearest {
                Some(near) => refusal
                    .hint(format!("did you mean {near:?}?"))
                    .detail("nearest", near.to_owned()),
                None => refusal,
            })
        }
    }
}

fn view(token: &Token) -> TokenView {
    TokenView {
        id: token.id.clone(),
        agent: token.agent.to_string(),
        task: token.scope.task.clone(),
        verbs: token.scope.verbs.clone(),
        created_by: token.created_by.to_string(),
        created_at: token.created_at,
        expires_at: token.expires_at,
        secret: None,
    }
}

/// Refuses whoever is no person.
pub fn person(caller: &Caller, does: &str) -> Result<(), Refusal> {
    match caller.actor.is_person() {
        true => Ok(()),
        false => {
            let message = format!("only a person {does}, and you are {}", caller.actor);
            Err(Refusal::new(Code::HumanOnly, message))
        }
    }
}

/// Writes into the log that a token was made or revoked.
fn report(service: &Service, caller: &Caller, event: &str, token: &Token) -> Result<(), Refusal> {
    let said = json!({"event": event, "id": token.id, "holder": token.agent,
                      "scope": token.scope, "expires_at": token.expires_at});
    let event = said.as_object().cloned().unwrap_or_default();
    let caller = Caller { key: None, fence: None, ..caller.clone() };
    service.call::<op::EventEmit>(&caller, EmitEvent { event }).map(drop)
}
