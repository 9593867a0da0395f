//! The `comity` binary: arguments in, operations called, words or JSON out.
//!
//! Owns what only an edge may know: the terminal, the environment, the file system around the
//! project, the git binary. It must never decide a rule; those are `core`'s.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod board;
mod child;
mod completion;
mod demo;
mod doctor;
mod env;
mod human;
mod init;
mod local_time;
mod output;
mod pager;
mod run;
mod stdin;
mod terminal;
mod wording;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(words) = env::child_words() {
        return ExitCode::from(comity_guard::child::main(&words));
    }
    if let Some(job) = env::keeper_job() {
        return match run::keeper(&job) {
            Ok(()) => ExitCode::SUCCESS,
            Err(refusal) => output::refusal(&refusal, true),
        };
    }
    if let Some(words) = completion::asked() {
        return completion::run(words);
    }
    output::colour(args::colour_asked());
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage_error(&error),
    };
    run::run(cli)
}
