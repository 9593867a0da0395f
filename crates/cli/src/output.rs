//! What a command leaves behind: data on stdout, everything else on stderr, an exit status. This is the one room that
//! writes to the streams, and `terminal` makes safe what is written.

#![expect(clippy::disallowed_methods, reason = "this is the room that writes to stdout and stderr")]

use crate::human::{self, Screen};
use crate::pager;
use crate::terminal::{Ink, Outlet, escaped, neutral, paint, shown};
use crate::wording::CommandLine;
use anstream::{AutoStream, ColorChoice};
use comity_api::At;
use comity_core::brief::NewsItem;
use comity_core::refusal::{Code, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

pub type Words<A> = fn(&A, &Screen) -> String;

#[derive(Default)]
pub struct Reply {
    /// None when the command has written its own stream.
    answer: Option<Box<dyn Answer>>,
    /// Remarks, on stderr whatever stdout is for.
    pub notes: Vec<String>,
    /// Words for people on stderr, where the words on stdout are for somebody else.
    beside: String,
    pub exit: u8,
    /// Whether a long answer may go through a pager: it only shows something.
    paged: bool,
    /// What is new for the caller, beside the answer.
    news: Vec<NewsItem>,
    /// The moment of the past that it is about.
    at: Option<At>,
    /// The refusal that comes beside the answer.
    refusal: Option<Refusal>,
}

/// An answer that is made JSON or words of, whichever is wanted.
trait Answer {
    fn json(&self) -> Result<String, serde_json::Error>;
    fn words(&self, screen: &Screen) -> Result<String, serde_json::Error>;
}

struct Typed<A>(A, Words<A>);

impl<A: Serialize + DeserializeOwned> Answer for Typed<A> {
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&self.0)
    }

    fn words(&self, screen: &Screen) -> Result<String, serde_json::Error> {
        // Whatever an answer holds was written by somebody: it never reaches a terminal as it is.
        let cleaned = human::cleaned(&self.0)?;
        Ok((self.1)(cleaned.as_ref().unwrap_or(&self.0), screen))
    }
}

struct Text<A>(A, String);

impl<A: Serialize> Answer for Text<A> {
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&self.0)
    }

    fn words(&self, _: &Screen) -> Result<String, serde_json::Error> {
        Ok(self.1.clone())
    }
}

impl Reply {
    /// An answer and how people see it.
    pub fn new<A: Serialize + DeserializeOwned + 'static>(answer: A, words: Words<A>) -> Reply {
        Reply { answer: Some(Box::new(Typed(answer, words))), ..Reply::printed() }
    }

    /// An answer for programs, and a text for people.
    pub fn text<A: Serialize + 'static>(answer: A, text: impl Into<String>) -> Reply {
        Reply { answer: Some(Box::new(Text(answer, text.into()))), ..Reply::printed() }
    }

    /// Nothing more to print: the command has written its own stream.
    pub fn printed() -> Reply {
        Reply::default()
    }

    /// Says which moment of the past it is about.
    pub fn at(mut self, at: Option<At>) -> Reply {
        self.at = at;
        self
    }

    /// Lets a long answer go through a pager.
    pub fn paged(mut self) -> Reply {
        self.paged = true;
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Reply {
        self.notes.push(text.into());
        self
    }

    /// Adds words for people beside an answer whose words are for somebody else.
    pub fn beside(mut self, words: String) -> Reply {
        self.beside = words;
        self
    }

    /// Adds remarks before those that are there.
    pub fn noted(mut self, notes: Vec<String>) -> Reply {
        self.notes.splice(0..0, notes);
        self
    }

    pub fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Adds what is new for the caller.
    pub fn news(mut self, news: Vec<NewsItem>) -> Reply {
        self.news = news;
        self
    }

    /// Adds a refusal: the answer tells all that was found, the refusal what is wrong with it.
    pub fn refused(mut self, refusal: Refusal) -> Reply {
        self.refusal = Some(refusal);
        self
    }

    pub fn exit(mut self, status: u8) -> Reply {
        self.exit = status;
        self
    }
}

pub fn reply(reply: &Reply, json: bool) -> ExitCode {
    let made = match &reply.answer {
        None => Ok(None),
        Some(answer) if json => answer
            .json()
            .and_then(|line| with_news(line, &reply.news))
            .and_then(|line| dated(line, reply.at))
            .map(Some),
        Some(answer) => answer.words(&Screen::detect()).map(Some),
    };
    let written = match made {
        Ok(None) => Ok(()),
        Ok(Some(line)) if json => raw(&line),
        Ok(Some(words)) if reply.paged => paged(&words),
        Ok(Some(words)) => text(&words),
        Err(error) => Err(io::Error::other(error)),
    };
    for note in &reply.notes {
        remark(note);
    }
    if !json {
        aside(&reply.beside);
        reply.news.iter().for_each(|item| remark(&human::post::news_line(item)));
    }
    if let (Ok(()), Some(refused)) = (&written, &reply.refusal) {
        return refusal(refused, json);
    }
    match written {
        Ok(()) => ExitCode::from(reply.exit),
        // Whoever read us has seen enough; what was done is done.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(reply.exit),
        Err(error) => {
            let message = format!("cannot write the answer: {error}");
            refusal(&Refusal::new(Code::Internal, message), json)
        }
    }
}

/// Adds news to an answer that is one JSON object; others have no place for it.
fn with_news(line: String, news: &[NewsItem]) -> Result<String, serde_json::Error> {
    match line.strip_suffix('}').filter(|_| !news.is_empty() && line.starts_with('{')) {
        Some(open) => {
            let comma = if open == "{" { "" } else { "," };
            Ok(format!("{open}{comma}\"news\":{}}}", serde_json::to_string(news)?))
        }
        None => Ok(line),
    }
}

/// Adds the moment of the past that an answer is about.
fn dated(line: String, at: Option<At>) -> Result<String, serde_json::Error> {
    let Some(at) = at else { return Ok(line + "\n") };
    let mut value: serde_json::Value = serde_json::from_str(&line)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("at".to_owned(), serde_json::to_value(at)?);
    }
    Ok(format!("{value}\n"))
}

/// Prints the words of an answer that is followed by more.
pub fn show(reply: &Reply) -> Result<(), Refusal> {
    let failed = |error: &dyn std::fmt::Display| {
        Refusal::new(Code::Internal, format!("cannot write the answer: {error}"))
    };
    if let Some(answer) = &reply.answer {
        let words = answer.words(&Screen::detect()).map_err(|error| failed(&error))?;
        text(&words).map_err(|error| failed(&error))?;
    }
    reply.notes.iter().for_each(|note| remark(note));
    Ok(())
}

/// Prints one JSON object on one line.
pub fn line(value: &impl Serialize) -> io::Result<()> {
    raw(&(serde_json::to_string(value)? + "\n"))
}

/// Prints JSON that is laid out already.
pub fn raw(json: &str) -> io::Result<()> {
    put(io::stdout().lock(), &escaped(json))
}

/// Prints one JSON object as the last line of stderr, where stdout belongs to somebody else.
pub fn last_line(value: &serde_json::Value) {
    let _ = put(io::stderr().lock(), &escaped(&format!("{value}\n")));
}

/// Prints words, with colour only where they are seen.
pub fn text(text: &str) -> io::Result<()> {
    put(io::stdout().lock(), &shown(text, coloured(&io::stdout())))
}

/// Prints words through a pager where they are longer than the screen of a person.
fn paged(words: &str) -> io::Result<()> {
    let pager = seen().then(|| pager::wanted(words.lines().count())).flatten();
    match pager {
        Some(pager) if pager::show(&pager, &shown(words, coloured(&io::stdout())))? => Ok(()),
        _ => text(words),
    }
}

/// Tells whether somebody looks at stdout.
pub fn seen() -> bool {
    io::stdout().is_terminal()
}

/// A long text for people, written piece by piece.
pub fn words() -> Outlet<io::StdoutLock<'static>> {
    Outlet::words(io::stdout().lock())
}

/// JSON for programs, written piece by piece.
pub fn json() -> Outlet<io::StdoutLock<'static>> {
    Outlet::json(io::stdout().lock())
}

fn put(mut out: impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Says when colours are used, from now on.
pub fn colour(asked: Option<ColorChoice>) {
    if let Some(choice) = asked {
        choice.write_global();
    }
}

/// Tells whether what is on the screen may have colours.
pub fn is_coloured() -> bool {
    coloured(&io::stdout())
}

fn coloured(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Prints words that are laid out already to stderr. What nobody can read is not worth a failure.
pub fn aside(text: &str) {
    let _ = put(io::stderr().lock(), &shown(text, coloured(&io::stderr())));
}

pub fn remark(text: &str) {
    aside(&(neutral(text) + "\n"));
}

/// Draws a line over the one before it, where somebody looks.
pub fn progress(line: &str) {
    let _ = put(io::stderr().lock(), &format!("\r{}", shown(line, false)));
}

/// Tells whether somebody looks at stderr.
pub fn progress_is_seen() -> bool {
    io::stderr().is_terminal()
}

pub fn refusal(refusal: &Refusal, json: bool) -> ExitCode {
    if json {
        let line = format!("{}\n", refusal.to_json(&CommandLine));
        let _ = put(io::stderr().lock(), &escaped(&line));
    } else {
        aside(&human::refusal(refusal));
    }
    ExitCode::from(refusal.code.exit_status())
}

/// Prints what clap has to say: help and version as they are, errors like any other refusal.
pub fn usage_error(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().skip(1).any(|arg| arg == "--json");
    if !error.use_stderr() {
        return help(error, json);
    }
    let help_instead =
        error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if let Some(better) = suggestion(error) {
        return refusal(&better, json);
    }
    match (json, help_instead) {
        (true, true) => {
            let missing = Refusal::input("a command is missing").hint("see `comity help`");
            return refusal(&missing, true);
        }
        (false, true) => aside(&inked(error)),
        (false, false) => {
            // What was typed is in it, as it was typed.
            let text = neutral(&error.render().to_string());
            let red = paint(Ink::Error, "error:");
            aside(&text.strip_prefix("error:").map_or(text.clone(), |rest| red + rest));
        }
        (true, false) => return refusal(&usage(error), true),
    }
    ExitCode::from(Code::InvalidInput.exit_status())
}

/// Prints help and version.
fn help(error: &clap::Error, json: bool) -> ExitCode {
    let is_version = error.kind() == clap::error::ErrorKind::DisplayVersion;
    let printed = match (json, is_version) {
        (true, true) => line(&serde_json::json!({"version": env!("CARGO_PKG_VERSION")})),
        (true, false) => {
            let text = error.render().to_string();
            line(&serde_json::json!({"help": text.trim_end()}))
        }
        (false, _) => paged(&inked(error)),
    };
    // Whoever read us has seen enough.
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    ExitCode::from(u8::from(printed.is_err_and(|error| !closed(&error))))
}

/// Returns help with clap's weights as inks of our own; nothing in it was typed by anybody.
fn inked(error: &clap::Error) -> String {
    let ansi = error.render().ansi().to_string();
    let (bold, plain) = (Ink::Bold, Ink::Bold);
    let ansi = ansi.replace("\u{1b}[1m", &bold.to_string());
    ansi.replace("\u{1b}[0m", &format!("{plain:#}")).replace("\u{1b}[4m", "")
}

/// Returns what to do instead of a command that does not exist.
fn suggestion(error: &clap::Error) -> Option<Refusal> {
    use clap::error::{ContextKind, ContextValue};
    if error.kind() != clap::error::ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    // The usage names the group: `Usage: comity task …`.
    let group = usage.split_whitespace().nth(2).filter(|name| name.starts_with(char::is_lowercase));
    let path = group.map(|group| format!("{group} ")).unwrap_or_default();
    let similar = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(similar)) => similar.first().map(String::as_str),
        _ => None,
    };
    let near = || match group {
        None => crate::args::nearest_command(word).or(similar),
        Some(_) => similar,
    };
    let hint = match (crate::args::instead(group, word), near()) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(near)) => format!("did you mean `comity {path}{near}`?"),
        (None, None) => format!("see `comity {path}--help`"),
    };
    Some(Refusal::input(format!("there is no command `{path}{word}`")).hint(hint))
}

/// Returns what clap says about wrong usage as a refusal.
fn usage(error: &clap::Error) -> Refusal {
    let text = error.render().to_string();
    let mut parts = text.trim().splitn(2, "\n\n");
    let first = parts.next().unwrap_or_default().trim();
    let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let usage = parts.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = if usage.is_empty() { "see `comity --help`".to_owned() } else { usage };
    Refusal::input(message).hint(hint)
}
