//! Memories and directives in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM, GOOD, PLAIN, WARN, ago, left, more, paint, wrap};
use comity_api::{DirectiveAnswer, DirectivesPage, MemoriesPage, MemoryAnswer};
use comity_core::view::DirectiveView;

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn field(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        out.push_str(&format!("  {}  {value}\n", paint(DIM, &format!("{name:<8}"))));
    }
}

pub fn memories(answer: &MemoriesPage, screen: &Screen) -> String {
    let memories = &answer.memories;
    let others = super::post::found(&answer.posts, screen);
    if memories.is_empty() && screen.terminal {
        return if others.is_empty() { "No memories.\n".to_owned() } else { others };
    }
    let mut table = Table::new(&["ID", "TYPE", "SCOPE", "TEXT"], "TEXT");
    for memory in memories {
        let text = if screen.terminal { first_line(&memory.text) } else { memory.text.clone() };
        let text = match &memory.superseded_by {
            Some(by) if screen.terminal => format!("(now {by}) {text}"),
            _ => text,
        };
        let style = if memory.superseded_by.is_some() { DIM } else { PLAIN };
        table.row(vec![
            (memory.id.clone(), BOLD),
            plain(memory.r#type.as_str()),
            plain(&memory.scope),
            (text, style),
        ]);
    }
    let table = table.render(screen) + &more(answer.next.as_ref(), screen);
    if others.is_empty() { table } else { format!("{table}\n{others}") }
}

pub fn memory(answer: &MemoryAnswer, screen: &Screen) -> String {
    let memory = &answer.memory;
    let mut out = format!("{}  {}\n", paint(BOLD, &memory.id), memory.r#type);
    out.push_str(&wrap(&memory.text, "  ", screen.columns));
    out.push('\n');
    field(&mut out, "scope", &memory.scope);
    field(&mut out, "tags", &memory.tags.join(", "));
    let task = memory.source.task.as_ref().map(|task| format!(" on {task}")).unwrap_or_default();
    let (agent, event) = (&memory.source.agent, memory.source.event);
    let written = ago(memory.created_at, screen);
    field(&mut out, "written", &format!("{written} by {agent}{task}, event {event}"));
    let expires = memory.expires_at.map(|at| left(at, screen)).unwrap_or_default();
    field(&mut out, "expires", &expires);
    field(
        &mut out,
        "replaced",
        &memory.superseded_by.as_ref().map(|id| format!("by {id}")).unwrap_or_default(),
    );
    out
}

pub fn forgotten(answer: &MemoryAnswer, _: &Screen) -> String {
    let memory = &answer.memory;
    format!("Forgot {}: {}\n", memory.id, first_line(&memory.text))
}

/// How a directive stands: on, off, or over.
fn standing(directive: &DirectiveView, screen: &Screen) -> &'static str {
    match (directive.enabled, directive.expires_at) {
        (_, Some(at)) if at <= screen.now => "over",
        (true, _) => "on",
        (false, _) => "off",
    }
}

pub fn directives(answer: &DirectivesPage, screen: &Screen) -> String {
    let directives = &answer.directives;
    if directives.is_empty() && screen.terminal {
        return "No directives.\n".to_owned();
    }
    let heads = ["ID", "STATE", "TRIGGER", "PRIORITY", "ENDS", "TEXT"];
    let mut table = Table::new(&heads, "TEXT");
    for directive in directives {
        let state = standing(directive, screen);
        let ends = match (directive.expires_at, screen.terminal) {
            (None, _) => "never".to_owned(),
            (Some(at), true) if at <= screen.now => ago(at, screen),
            (Some(at), true) => left(at, screen),
            (Some(at), false) => at.to_string(),
        };
        let text =
            if screen.terminal { first_line(&directive.text) } else { directive.text.clone() };
        table.row(vec![
            (directive.id.clone(), BOLD),
            (state.to_owned(), if state == "on" { GOOD } else { WARN }),
            plain(directive.trigger.as_str()),
            plain(directive.priority.to_string()),
            plain(ends),
            plain(text),
        ]);
    }
    table.render(screen) + &more(answer.next.as_ref(), screen)
}

pub fn directive(answer: &DirectiveAnswer, screen: &Screen) -> String {
    let directive = &answer.directive;
    let state = standing(directive, screen);
    let mut out = format!("{}  {state}\n", paint(BOLD, &directive.id));
    out.push_str(&wrap(&directive.text, "  ", screen.columns));
    if let Some(description) = &directive.description {
        out.push('\n');
        out.push_str(&wrap(description, "  ", screen.columns));
    }
    out.push('\n');
    field(&mut out, "trigger", directive.trigger.as_str());
    field(&mut out, "priority", &directive.priority.to_string());
    field(&mut out, "given", &ago(directive.created_at, screen));
    let ends = match directive.expires_at {
        Some(at) if at <= screen.now => ago(at, screen),
        Some(at) => left(at, screen),
        None => "never".to_owned(),
    };
    field(&mut out, "ends", &ends);
    let followed = directive.last_triggered_at.map(|at| ago(at, screen));
    field(&mut out, "followed", &followed.unwrap_or_else(|| "never yet".to_owned()));
    out
}

pub fn deleted(answer: &DirectiveAnswer, _: &Screen) -> String {
    let directive = &answer.directive;
    format!("Deleted {}: {}\n", directive.id, first_line(&directive.text))
}
