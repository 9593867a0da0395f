//! `comity mcp`, `comity serve` and `comity token …`

use crate::args::{Global, TokenCommand};
use crate::env;
use crate::human::Screen;
use crate::output::{self, Reply};
use comity_core::refusal::Refusal;
use comity_project::Context;
use comity_project::store::Access;
use comity_server::Served;
use comity_server::tokens::{NewToken, TokenAnswer, TokenView, Tokens, TokensAnswer};
use serde_json::json;
use std::fmt::Write;
use std::net::SocketAddr;

fn served(global: &Global) -> Result<Served, Refusal> {
    let context = Context::find(&env::machine()?, &global.asked())?;
    Served::open(env::seeing_branches(context), env::var("COMITY_RUN")?.is_some())
}

pub(super) fn mcp(global: &Global, client: Option<String>) -> Result<Reply, Refusal> {
    comity_server::serve_stdio(served(global)?, env::machine()?, client)?;
    Ok(Reply::printed())
}

pub(super) fn serve(global: &Global, listen: SocketAddr) -> Result<Reply, Refusal> {
    let json = global.json;
    let mut unsaid = Ok(());
    comity_server::serve(served(global)?, listen, |listening| {
        let url = &listening.url;
        output::remark(&format!("comity serves {url}/mcp; Ctrl-C ends it"));
        if json {
            unsaid = output::line(&json!({"url": url, "socket": null}));
        }
    })?;
    // Who reads the URL has it, or is gone.
    drop(unsaid);
    Ok(Reply::printed())
}

pub(super) fn token(context: &Context, command: TokenCommand) -> Result<Reply, Refusal> {
    let (tokens, caller) = (Tokens::of(context), context.caller());
    Ok(match command {
        TokenCommand::Create { agent, roles, expires } => {
            let service = context.service(Access::Write)?;
            let answer = tokens.create(&service, &caller, NewToken { agent, roles, expires })?;
            Reply::new(answer, created).note("comity keeps only a hash: copy the token now")
        }
        TokenCommand::List => Reply::new(tokens.list(&caller)?, list),
        TokenCommand::Revoke { id } => {
            let service = context.service(Access::Write)?;
            Reply::new(tokens.revoke(&service, &caller, &id)?, revoked)
        }
    })
}

fn created(answer: &TokenAnswer, _: &Screen) -> String {
    format!("{}\n", answer.token.secret.as_deref().unwrap_or_default())
}

fn row(token: &TokenView) -> String {
    format!("{}  {}  until {}", token.id, token.agent, token.expires_at)
}

fn revoked(answer: &TokenAnswer, _: &Screen) -> String {
    format!("revoked {}\n", row(&answer.token))
}

fn list(answer: &TokensAnswer, _: &Screen) -> String {
    let mut lines = String::new();
    for token in &answer.tokens {
        let _ = writeln!(lines, "{}  by {}", row(token), token.created_by);
    }
    if lines.is_empty() { "there are no tokens\n".to_owned() } else { lines }
}
