//! Readers of option values. What they refuse is a usage error.

use anstream::ColorChoice;
use clap::Args;
use comity_api::{CostBy, Since};
use comity_core::budget::Per;
use comity_core::command::GateVerdict;
use comity_core::decision::{Addressee, DecisionOption, DecisionType};
use comity_core::directive::Trigger;
use comity_core::ids::{AgentId, Fence};
use comity_core::limits::TEXT_BYTES_MAX;
use comity_core::memory::MemoryType;
use comity_core::money::Usd;
use comity_core::refusal::Refusal;
use comity_core::role::Role;
use comity_core::run::{GitStrategy, RunState, Stage};
use comity_core::status::Status;
use comity_core::task::{Deliverable, Priority};
use comity_core::time::{Millis, Timestamp};
use comity_protocol::contract::{ContractKind, KINDS, kind};

#[expect(clippy::needless_pass_by_value, reason = "it is called with what map_err hands over")]
fn words(refusal: Refusal) -> String {
    format!("{} ({})", refusal.message, crate::wording::next_step(&refusal))
}

/// Reads a fence.
pub fn fence(text: &str) -> Result<Fence, String> {
    let number = text.parse().ok().and_then(Fence::new);
    number.ok_or_else(|| {
        "a fence is a whole number from 1 up; `comity task claim` prints it".to_owned()
    })
}

/// Reads when colours are used.
pub fn colour(text: &str) -> Result<ColorChoice, String> {
    match text {
        "auto" => Ok(ColorChoice::Auto),
        "always" => Ok(ColorChoice::AlwaysAnsi),
        "never" => Ok(ColorChoice::Never),
        _ => Err("use auto, always or never".to_owned()),
    }
}

/// Takes a text as it is given; `-` stands for what standard input has, without the end of its last line.
pub(super) fn text(given: &str) -> Result<String, String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let bytes = crate::stdin::read(TEXT_BYTES_MAX).map_err(|error| error.to_string())?;
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(format!("standard input has more than {TEXT_BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "standard input is not UTF-8".to_owned())?;
    match text.trim_end() {
        "" => Err("standard input is empty".to_owned()),
        text => Ok(text.to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<Millis, String> {
    Millis::parse(text).ok_or_else(|| "write a duration such as 90s, 15m, 24h or 7d".to_owned())
}

pub(super) fn gate_verdict(text: &str) -> Result<GateVerdict, String> {
    let (gate, verdict) = text.split_once('=').unwrap_or((text, ""));
    let pass = match verdict {
        "pass" => true,
        "fail" => false,
        _ => return Err("a gate is written NAME=pass or NAME=fail".to_owned()),
    };
    Ok(GateVerdict { gate: gate.to_owned(), pass })
}

macro_rules! parsed {
    ($($name:ident: $kind:ident;)*) => {
        $(pub(super) fn $name(text: &str) -> Result<$kind, String> {
            $kind::parse(text).map_err(words)
        })*
    };
}

parsed! {
    agent: AgentId;
    role: Role;
    status: Status;
    priority: Priority;
    deliverable: Deliverable;
    decision_type: DecisionType;
    memory_type: MemoryType;
    trigger: Trigger;
    run_state: RunState;
    stage: Stage;
    git_strategy: GitStrategy;
    period: Per;
}

pub(super) fn addressee(text: &str) -> Result<Addressee, String> {
    Addressee::try_from(text.to_owned()).map_err(words)
}

pub(super) fn option(text: &str) -> Result<DecisionOption, String> {
    let (key, label) = match text.split_once(':') {
        Some((key, label)) => (key.trim(), Some(label.trim())),
        None => (text.trim(), None),
    };
    if key.is_empty() {
        return Err("write KEY or KEY:LABEL".to_owned());
    }
    let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
    Ok(DecisionOption { key: key.to_owned(), label, description: None })
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

pub(super) fn since(text: &str) -> Result<Since, String> {
    if let Ok(seq) = text.parse() {
        return Ok(Since::Seq(seq));
    }
    if let Some(time) = Timestamp::parse(text) {
        return Ok(Since::Time(time));
    }
    let back = Millis::parse(text).ok_or_else(|| {
        "give a seq such as 120, a time such as 2026-01-31T12:00:00Z, or a duration such as 2h"
            .to_owned()
    })?;
    let now = crate::human::now();
    Ok(Since::Time(Timestamp::from_ms(now.ms() - back.ms())))
}

/// The part of a list that is shown.
#[derive(Clone, Debug, Args)]
pub struct PageArgs {
    /// Show at most N entries (default: 50, at most 500)
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    pub limit: Option<u16>,
    /// Continue after this cursor: the `next` of the previous page
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

/// Reads the name of a kind of contract.
pub fn contract_kind(text: &str) -> Result<&'static ContractKind, String> {
    let names = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    kind(text).ok_or_else(|| format!("use one of: {}", names()))
}

pub(super) fn dollars(text: &str) -> Result<Usd, String> {
    let amount = text.trim_start_matches('$').parse().ok().and_then(Usd::from_dollars);
    amount.ok_or_else(|| "write a number of US dollars such as 20 or 0.50".to_owned())
}

pub(super) fn cost_by(text: &str) -> Result<CostBy, String> {
    match text {
        "agent" => Ok(CostBy::Agent),
        "task" => Ok(CostBy::Task),
        "repo" => Ok(CostBy::Repo),
        "day" => Ok(CostBy::Day),
        "model" => Ok(CostBy::Model),
        "run" => Ok(CostBy::Run),
        _ => Err("use agent, task, repo, day, model or run".to_owned()),
    }
}
