//! `comity mcp`, `comity serve`, `comity up`, `comity link` and `comity token …`

#![deny(clippy::wildcard_enum_match_arm)]

use crate::args::{Global, InitArgs, ServeArgs, TokenCommand};
use crate::env;
use crate::human::Screen;
use crate::output::{self, Reply};
use comity_core::refusal::Refusal;
use comity_core::time::Timestamp;
use comity_fleet::supervise::{post, stop};
use comity_project::store::Access;
use comity_project::{Asked, Context};
use comity_server::tokens::{NewToken, Scope, TokenAnswer, TokenView, Tokens, TokensAnswer};
use comity_server::{Listen, Listening, Served};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

fn served(global: &Global, root: Option<&String>) -> Result<Served, Refusal> {
    let asked = Asked { root: root.cloned(), ..global.asked() };
    let context = Context::find(&env::machine()?, &asked)?;
    Served::open(env::seeing_branches(context), env::var("COMITY_RUN")?.is_some())
}

pub(super) fn mcp(global: &Global, client: Option<String>) -> Result<Reply, Refusal> {
    let asked = Asked { root: global.roots.first().cloned(), ..global.asked() };
    let context = Context::find(&env::machine()?, &asked)?;
    if let Some(server) = context.server_in_place() {
        // A client that is gone hears nothing; its input ends, too.
        let say = |message: &serde_json::Value| drop(output::line(message));
        comity_server::forward(server, std::io::stdin().lock(), say);
        return Ok(Reply::printed());
    }
    comity_server::serve_stdio(served(global, global.roots.first())?, env::machine()?, client)?;
    Ok(Reply::printed())
}

pub(super) fn serve(global: &Global, args: ServeArgs) -> Result<Reply, Refusal> {
    let roots = match global.roots.is_empty() {
        true => served_by_user(global)?,
        false => {
            global.roots.iter().map(|root| served(global, Some(root))).collect::<Result<_, _>>()?
        }
    };
    let listen = Listen {
        address: args.listen,
        tls: args.tls_cert.zip(args.tls_key),
        behind_proxy: args.behind_proxy,
        hosts: args.hosts,
    };
    let (json, open) = (global.json, args.open);
    let mut unsaid = Ok(());
    comity_server::serve(roots, &listen, |listening| {
        unsaid = said(listening, json);
        if let (true, Some(link)) = (open, &listening.link) {
            crate::child::open(link);
        }
    })?;
    // Who reads the URL has it, or is gone.
    drop(unsaid);
    Ok(Reply::printed())
}

/// Serves the project of the working directory, and the further ones that the user's own settings name.
fn served_by_user(global: &Global) -> Result<Vec<Served>, Refusal> {
    let mut roots = vec![served(global, None)?];
    for root in comity_project::serve_roots(&env::machine()?.environment)? {
        let more = served(global, Some(&root))?;
        if roots.iter().all(|known| known.context.root.dir != more.context.root.dir) {
            roots.push(more);
        }
    }
    Ok(roots)
}

/// Says where the server listens, once.
fn said(listening: &Listening, json: bool) -> std::io::Result<()> {
    let Listening { url, socket, link } = listening;
    let socket = socket.as_ref().map(|path| path.display().to_string());
    if json {
        let (url, link) = (url.clone(), link.clone());
        return output::line(&ServingAnswer { url, socket, link });
    }
    output::remark(&format!("comity serves {url} (MCP: {url}/mcp); Ctrl-C ends it"));
    match link {
        Some(link) => output::text(&format!("{link}\n")),
        None => Ok(()),
    }
}

pub(super) fn up(global: &Global, args: ServeArgs) -> Result<Reply, Refusal> {
    let context = Context::find_or_here(&env::machine()?, &global.asked())?;
    if !context.store.exists() {
        let reply = crate::init::run(global, &InitArgs::quiet())?;
        if !global.json {
            output::show(&reply)?;
        }
    }
    let context = Context::find(&env::machine()?, &global.asked())?;
    if let Some(url) = comity_server::running(&context)? {
        return runs_already(&context, url, args.open);
    }
    let is_supervised = context.config.wants_supervisor() && post(&context)?.state == "stopped";
    if is_supervised {
        super::supervise::detach(&context, &crate::args::SuperviseArgs::default(), global)?;
        output::remark("the supervisor runs, too; it ends with the server");
    }
    let done = serve(global, args);
    if is_supervised {
        stop(&context)?;
    }
    done
}

/// Prints another link to the server that runs, in the shape in which a server says where it listens.
fn runs_already(context: &Context, url: String, open: bool) -> Result<Reply, Refusal> {
    let link = match context.actor.is_person() {
        true => Some(comity_server::link(context, &context.service(Access::Write)?)?.0),
        false => None,
    };
    if let (true, Some(link)) = (open, &link) {
        crate::child::open(link);
    }
    let socket = Some(context.socket().display().to_string());
    let note = format!("a server runs for this project already, at {url}");
    let answer = ServingAnswer { url, socket, link };
    let words = |answer: &ServingAnswer, _: &Screen| {
        answer.link.iter().map(|link| format!("{link}\n")).collect()
    };
    Ok(Reply::new(answer, words).note(note))
}

#[derive(Serialize, Deserialize)]
struct ServingAnswer {
    url: String,
    socket: Option<String>,
    link: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct LinkAnswer {
    url: String,
    me: String,
    expires_at: Timestamp,
}

pub(super) fn link(context: &Context) -> Result<Reply, Refusal> {
    let service = context.service(Access::Write)?;
    let (url, expires_at) = comity_server::link(context, &service)?;
    let answer = LinkAnswer { url, me: context.actor.to_string(), expires_at };
    Ok(Reply::new(answer, |answer, _| format!("{}\n", answer.url))
        .note("the link opens once, in the next ten minutes"))
}

pub(super) fn token(context: &Context, command: TokenCommand) -> Result<Reply, Refusal> {
    let (tokens, caller) = (Tokens::of(context), context.caller());
    Ok(match command {
        TokenCommand::Create { agent, roles, task, verbs, expires } => {
            let service = context.service(Access::Write)?;
            let scope = Scope { task, verbs };
            let new = NewToken { agent, roles, expires, scope };
            let answer = tokens.create(&service, &caller, new)?;
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
    let task = token.task.iter().map(|task| format!("  only {task}"));
    let verbs = token.verbs.iter().map(|verb| format!("  only {verb}"));
    let narrowed: String = task.chain(verbs).collect();
    format!("{}  {}  until {}{narrowed}", token.id, token.agent, token.expires_at)
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
