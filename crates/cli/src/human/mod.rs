//! Answers in words: short lines, aligned columns, relative times, at home in 80 columns.

mod decision;
mod event;
mod import;
mod intervention;
mod log;
mod memory;
mod status;
mod table;
mod task;
mod team;
mod words;

pub use event::line as event_line;
pub use words::{clean_text, now, refusal};

use comity_core::time::Timestamp;
use serde_json::Value;

/// Columns that are assumed where there is no terminal.
const COLUMNS_DEFAULT: usize = 80;
/// The narrowest screen that is laid out for.
const COLUMNS_MIN: usize = 40;

/// How an answer is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Not at all.
    Nothing,
    /// As it is.
    Text(String),
    /// `{"task":…}`, in full.
    Task,
    /// `{"task":…}`, in one line.
    TaskLine,
    /// `{"tasks":…}`
    Tasks,
    /// The answer to a claim.
    Claim,
    /// `{"why":…}`
    Why,
    /// A stuck task with all that is known of it.
    Intervention,
    /// `{"gates":…}`
    Gates,
    /// `{"leases":…}`
    Leases,
    /// `{"released":…}`
    Released,
    /// `{"paths":…}`
    Paths,
    /// `{"agents":…}`
    Agents,
    /// `{"agent":…}`
    Agent,
    /// `{"suggestions":…}`
    Suggestions,
    /// `{"decisions":…}`
    Decisions,
    /// `{"decision":…}`
    Decision,
    /// `{"memories":…}`
    Memories,
    /// `{"memory":…}`
    Memory,
    /// `{"memory":…}` that is no more.
    Forgotten,
    /// `{"directives":…}`
    Directives,
    /// `{"directive":…}`
    Directive,
    /// `{"directive":…}` that is no more.
    Deleted,
    /// `{"events":…}`
    Events,
    /// `{"event":…}`
    Event,
    /// The answer to `status`.
    Status,
    /// `{"seq":…,"hash":…}`
    Head,
    /// The answer to `log verify`.
    Verify,
    /// The answer to `log rebuild`.
    Rebuild,
    /// What a sweep did.
    Sweep,
    /// What an import did.
    Import,
}

/// What there is to show it on.
pub struct Screen {
    /// Whether somebody looks at it; tables are for people, tabs for programs.
    pub terminal: bool,
    /// How wide it is.
    pub columns: usize,
    /// The time that "ago" counts from.
    pub now: Timestamp,
}

impl Screen {
    /// Looks at stdout. `COMITY_COLUMNS` lays out as for a terminal of that width.
    pub fn detect() -> Screen {
        use std::io::IsTerminal;
        let forced = crate::env::var("COMITY_COLUMNS").ok().flatten();
        let forced = forced.and_then(|text| text.parse::<usize>().ok());
        let terminal = forced.is_some() || std::io::stdout().is_terminal();
        let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns = forced.or_else(measured).unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN);
        Screen { terminal, columns, now: now() }
    }
}

/// Puts an answer into words.
pub fn render(shape: &Shape, answer: &Value, screen: &Screen) -> String {
    let answer = words::clean(answer.clone());
    let answer = &answer;
    match shape {
        Shape::Nothing => String::new(),
        Shape::Text(text) => text.clone(),
        Shape::Task => task::full(answer, screen),
        Shape::TaskLine => task::line(answer, screen),
        Shape::Tasks => task::list(answer, screen),
        Shape::Claim => task::claim(answer, screen),
        Shape::Why => task::why(answer, screen),
        Shape::Intervention => intervention::full(answer, screen),
        Shape::Gates => team::gates(answer, screen),
        Shape::Leases => team::leases(answer, screen),
        Shape::Released => team::released(answer),
        Shape::Paths => team::paths(answer, screen),
        Shape::Agents => team::agents(answer, screen),
        Shape::Agent => team::agent(answer, screen),
        Shape::Suggestions => team::suggestions(answer, screen),
        Shape::Decisions => decision::list(answer, screen),
        Shape::Decision => decision::full(answer, screen),
        Shape::Memories => memory::memories(answer, screen),
        Shape::Memory => memory::memory(answer, screen),
        Shape::Forgotten => memory::forgotten(answer),
        Shape::Directives => memory::directives(answer, screen),
        Shape::Directive => memory::directive(answer, screen),
        Shape::Deleted => memory::deleted(answer),
        Shape::Events => event::list(answer, screen),
        Shape::Event => event::one(answer, screen),
        Shape::Status => status::status(answer, screen),
        Shape::Head => log::head(answer, screen),
        Shape::Verify => log::verify(answer),
        Shape::Rebuild => log::rebuild(answer),
        Shape::Sweep => log::sweep(answer),
        Shape::Import => import::import(answer, screen),
    }
}
