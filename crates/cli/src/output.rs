//! What a command leaves behind: data on stdout, everything else on stderr, an exit status.

use crate::human::{self, Screen};
use crate::wording::CommandLine;
use comity_core::refusal::{Code, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::process::ExitCode;

pub type Words<A> = fn(&A, &Screen) -> String;

pub struct Reply {
    /// None when the command has written its own stream.
    answer: Option<Box<dyn Answer>>,
    /// Remarks, on stderr whatever stdout is for.
    pub notes: Vec<String>,
    pub exit: u8,
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
        Ok((self.1)(&human::clean(&self.0)?, screen))
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
        Reply { answer: Some(Box::new(Typed(answer, words))), notes: Vec::new(), exit: 0 }
    }

    /// An answer for programs, and a text for people.
    pub fn text<A: Serialize + 'static>(answer: A, text: impl Into<String>) -> Reply {
        Reply { answer: Some(Box::new(Text(answer, text.into()))), notes: Vec::new(), exit: 0 }
    }

    /// Nothing more to print: the command has written its own stream.
    pub fn printed() -> Reply {
        Reply { answer: None, notes: Vec::new(), exit: 0 }
    }

    pub fn note(mut self, text: impl Into<String>) -> Reply {
        self.notes.push(text.into());
        self
    }

    /// Adds remarks before those that are there.
    pub fn noted(mut self, notes: Vec<String>) -> Reply {
        self.notes.splice(0..0, notes);
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
        Some(answer) if json => answer.json().map(|line| Some(line + "\n")),
        Some(answer) => answer.words(&Screen::detect()).map(Some),
    };
    let written = match made {
        Ok(None) => Ok(()),
        Ok(Some(line)) if json => raw(&line),
        Ok(Some(words)) => text(&words),
        Err(error) => Err(io::Error::other(error)),
    };
    for note in &reply.notes {
        remark(note);
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

/// Prints one JSON object on one line.
pub fn line(value: &impl Serialize) -> io::Result<()> {
    raw(&(serde_json::to_string(value)? + "\n"))
}

fn raw(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints words, with colour only where they are seen.
pub fn text(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

pub fn remark(text: &str) {
    // A remark that nobody can read is not worth a failure.
    let _ = writeln!(anstream::stderr(), "{}", human::clean_text(text));
}

pub fn refusal(refusal: &Refusal, json: bool) -> ExitCode {
    if json {
        let _ = writeln!(io::stderr(), "{}", refusal.to_json(&CommandLine));
    } else {
        let _ = anstream::stderr().write_all(human::refusal(refusal).as_bytes());
    }
    ExitCode::from(refusal.code.exit_status())
}

/// Prints what clap has to say: help and version as they are, errors like any other refusal.
pub fn usage_error(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().skip(1).any(|arg| arg == "--json");
    if json && !error.use_stderr() {
        let key = match error.kind() {
            clap::error::ErrorKind::DisplayVersion => "version",
            _ => "help",
        };
        let text = error.render().to_string();
        let text = if key == "version" { env!("CARGO_PKG_VERSION") } else { text.trim_end() };
        let printed = line(&serde_json::json!({ key: text }));
        return ExitCode::from(u8::from(printed.is_err()));
    }
    if !error.use_stderr() || !json {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() {
            Code::InvalidInput.exit_status()
        } else {
            0
        });
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let missing = Refusal::input("a command is missing").hint("see `comity help`");
        return refusal(&missing, true);
    }
    let text = error.render().to_string();
    let mut parts = text.trim().splitn(2, "\n\n");
    let first = parts.next().unwrap_or_default().trim();
    let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let usage = parts.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = if usage.is_empty() { "see `comity --help`".to_owned() } else { usage };
    refusal(&Refusal::input(message).hint(hint), true)
}
