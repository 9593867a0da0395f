//! Measurements, one command: `cargo run --release -p comity-bench [SECTION…] [--quick] [--beside BINARY]`.
//!
//! Prints one Markdown table a section. Figures that are compared come from the same run, taken in
//! turns, since another run meets another machine. Nothing here is a test: a slow run is not an error.

#![expect(clippy::disallowed_methods, reason = "measurements run other programs")]

mod beside;
mod brief;
mod cli;
mod crew;
mod fill;
mod fleet;
mod github;
mod guard;
mod lease;
mod log;
mod machine;
mod mcp;
mod postgres;
mod process;
mod raw;
mod record;
mod redact;
mod rpc;
mod script;
mod serve;
mod sim;
mod stats;
mod table;
mod write;

use std::error::Error;
use std::process::ExitCode;

/// What a measurement answers; whatever goes wrong ends the run with its message.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How much to measure.
#[derive(Clone, Copy)]
struct Scale {
    quick: bool,
}

impl Scale {
    fn of<T>(self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

type Section = fn(Scale) -> Outcome<()>;

const SECTIONS: &[(&str, Section)] = &[
    ("write", write::run),
    ("lease", lease::run),
    ("brief", brief::run),
    ("crew", crew::run),
    ("fleet", fleet::run),
    ("log", log::run),
    ("redact", redact::run),
    ("sim", sim::run),
    ("cli", cli::run),
    ("rpc", rpc::run),
    ("mcp", mcp::run),
    ("serve", serve::run),
    ("guard", guard::run_all),
    ("github", github::run),
    ("postgres", postgres::run),
    ("postgres-past", postgres::run_past),
    ("postgres-queues", postgres::run_queues),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome<()> {
    if let [mark, step, rest @ ..] = arguments
        && mark == process::STEP
    {
        return match step.as_str() {
            "postgres" => postgres::step(rest),
            "postgres-queue" => postgres::queue_step(rest),
            mcp::BARE => mcp::serve_bare(rest),
            serve::BARE => serve::serve_bare(rest),
            _ => log::step(step, rest),
        };
    }
    let mut scale = Scale { quick: false };
    let mut named: Vec<&String> = Vec::new();
    let mut other = None;
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        match argument.as_str() {
            "--quick" => scale.quick = true,
            "--beside" => other = Some(left.next().ok_or("--beside takes another binary")?),
            _ => named.push(argument),
        }
    }
    if let Some(unknown) =
        named.iter().find(|name| SECTIONS.iter().all(|(known, _)| known != *name))
    {
        let known: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "unknown section {unknown}; one of {}, --quick or --beside BINARY",
            known.join(", ")
        )
        .into());
    }
    machine::print()?;
    if let Some(other) = other {
        beside::run(scale, other.as_ref())?;
        if named.is_empty() {
            return Ok(());
        }
    }
    for (name, section) in SECTIONS {
        if named.is_empty() || named.iter().any(|wanted| *wanted == name) {
            section(scale)?;
        }
    }
    Ok(())
}
