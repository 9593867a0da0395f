//! A part of the command line that is defined when it is used: a call of one command does not pay for the definition of
//! all the others.

use clap::builder::Resettable;
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use std::cell::Cell;

thread_local! {
    static AT_ONCE: Cell<bool> = const { Cell::new(false) };
}

/// Makes a definition with nothing deferred: what completes `help` must see the commands of commands.
pub fn at_once(make: fn() -> Command) -> Command {
    AT_ONCE.set(true);
    let made = make();
    AT_ONCE.set(false);
    made
}

fn later(command: Command, define: fn(Command) -> Command) -> Command {
    if AT_ONCE.get() { define(command) } else { command.defer(define) }
}

/// The arguments or the commands of a command, defined when somebody calls it or asks for its help.
#[derive(Debug)]
pub struct Deferred<T>(pub Box<T>);

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|value| Deferred(Box::new(value)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(|value| Deferred(Box::new(value)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: Command) -> Command {
        later(command, |command| keep_about(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        later(command, |command| keep_about(command, T::augment_subcommands_for_update))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        later(command, |command| keep_about(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        later(command, |command| keep_about(command, T::augment_args_for_update))
    }
}

/// Defines what was deferred. What the type says about itself does not replace what is said where it is used.
fn keep_about(command: Command, define: fn(Command) -> Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    define(command).about(Resettable::from(about)).long_about(Resettable::from(long_about))
}
