//! Tokens: who calls over HTTP. They are kept beside the store, outside the log, as hashes; the log says that they were
//! made and revoked.

use comity_api::{EmitEvent, RegisterAgent, op};
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_core::role::Role;
use comity_core::time::{Millis, Timestamp};
use comity_core::via::Via;
use comity_engine::{Caller, Service};
use comity_project::Context;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What every token begins with, so that people and scanners know it.
const PREFIX: &str = "cmty_";
const SECRET_BYTES: usize = 32;
/// Tokens that are kept at once.
const TOKENS_MAX: usize = 1_000;
/// How long a token is good for when nothing else is said.
pub const LIFE: Millis = Millis::from_secs(30 * 86_400);

/// A token as it is kept: everything but its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub id: String,
    pub agent: AgentId,
    pub created_by: AgentId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    hash: String,
}

/// A token as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenView {
    pub id: String,
    pub agent: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// The token itself, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenAnswer {
    pub token: TokenView,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokensAnswer {
    pub tokens: Vec<TokenView>,
    pub next: Option<String>,
}

/// A token to be made.
pub struct NewToken {
    pub agent: AgentId,
    /// Roles that the agent gets; none leaves them as they are.
    pub roles: Vec<Role>,
    pub expires: Option<Millis>,
}

/// Whom a request over HTTP comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    pub agent: AgentId,
    /// The id of the token.
    pub token: String,
}

impl Holder {
    /// One token is one session.
    pub fn via(&self) -> Via {
        let session = Some(format!("token/{}", self.token));
        Via { client: Some("http".to_owned()), session, ..Via::default() }
    }
}

/// The file of a project's tokens.
#[derive(Clone)]
pub struct Tokens {
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    /// The number of the last token, so that no id is used twice.
    last: u64,
    tokens: Vec<Token>,
}

impl Tokens {
    pub fn of(context: &Context) -> Tokens {
        Tokens { file: context.beside_store().join("tokens.json") }
    }

    /// Makes a token for an agent. Only a person may.
    pub fn create(
        &self,
        service: &Service,
        caller: &Caller,
        new: NewToken,
    ) -> Result<TokenAnswer, Refusal> {
        person(caller)?;
        if new.agent.is_person() {
            return Err(Refusal::input("a token names an agent, not a person"));
        }
        let now = service.store_time()?;
        let secret = secret().map_err(|error| failed("make a secret", &error))?;
        if !new.roles.is_empty() {
            let (id, roles) = (new.agent.clone(), new.roles);
            let input = RegisterAgent { id, roles, skills: Vec::new() };
            service.call::<op::AgentRegister>(caller, input)?;
        }
        let expires_at = now.plus(new.expires.unwrap_or(LIFE));
        let token = self.change(|kept| {
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
                hash: hash(&secret),
            };
            kept.tokens.push(token.clone());
            Ok(token)
        })?;
        report(service, caller, "token_created", &token)?;
        Ok(TokenAnswer { token: TokenView { secret: Some(secret), ..view(&token) } })
    }

    pub fn list(&self, caller: &Caller) -> Result<TokensAnswer, Refusal> {
        person(caller)?;
        Ok(TokensAnswer { tokens: self.read()?.tokens.iter().map(view).collect(), next: None })
    }

    pub fn revoke(
        &self,
        service: &Service,
        caller: &Caller,
        id: &str,
    ) -> Result<TokenAnswer, Refusal> {
        person(caller)?;
        let token = self.change(|kept| {
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
        let kept = self.read()?;
        let found = kept.tokens.iter().find(|token| token.hash == wanted);
        let good = found.filter(|token| token.expires_at > now);
        Ok(good.map(|token| Holder { agent: token.agent.clone(), token: token.id.clone() }))
    }

    fn read(&self) -> Result<Kept, Refusal> {
        match std::fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| failed(&format!("read {}", self.file.display()), &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Kept::default()),
            Err(error) => Err(failed(&format!("read {}", self.file.display()), &error)),
        }
    }

    /// Changes the file in one step, one process at a time.
    fn change<T>(&self, work: impl FnOnce(&mut Kept) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let cannot = |error: &dyn std::fmt::Display| {
            failed(&format!("write {}", self.file.display()), error)
        };
        let lock = owned(&self.file.with_extension("lock")).map_err(|error| cannot(&error))?;
        let turn = rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive);
        turn.map_err(|error| cannot(&error))?;
        let mut kept = self.read()?;
        let done = work(&mut kept)?;
        let text = serde_json::to_vec(&kept).map_err(|error| cannot(&error))?;
        let new = self.file.with_extension("new");
        let write = || -> std::io::Result<()> {
            let mut file = owned(&new)?;
            file.set_len(0)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&new, &self.file)
        };
        write().map_err(|error| cannot(&error))?;
        Ok(done)
    }
}

/// Opens a file that nobody else can read.
fn owned(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

fn view(token: &Token) -> TokenView {
    TokenView {
        id: token.id.clone(),
        agent: token.agent.to_string(),
        created_by: token.created_by.to_string(),
        created_at: token.created_at,
        expires_at: token.expires_at,
        secret: None,
    }
}

fn person(caller: &Caller) -> Result<(), Refusal> {
    match caller.actor.is_person() {
        true => Ok(()),
        false => {
            let message = format!("only a person handles tokens, and you are {}", caller.actor);
            Err(Refusal::new(Code::HumanOnly, message))
        }
    }
}

/// Writes into the log that a token was made or revoked.
fn report(service: &Service, caller: &Caller, event: &str, token: &Token) -> Result<(), Refusal> {
    let said = json!({"event": event, "id": token.id, "holder": token.agent,
                      "expires_at": token.expires_at});
    let event = said.as_object().cloned().unwrap_or_default();
    let caller = Caller { key: None, fence: None, ..caller.clone() };
    service.call::<op::EventEmit>(&caller, EmitEvent { event }).map(drop)
}

fn secret() -> std::io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::StoreUnavailable, format!("comity cannot {what}: {error}"))
}
