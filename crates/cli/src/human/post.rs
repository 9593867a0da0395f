//! Pads, interfaces, messages, briefs and news in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM, ago, clean, more, paint, wrap};
use comity_api::{
    BriefAnswer, InterfaceAnswer, InterfacesPage, PadAnswer, PadVersions, ToldAnswer,
};
use comity_core::brief::{Brief, NewsItem};
use comity_core::event::PadChange;
use comity_core::post::PostKind;
use serde_json::Value;

pub fn pad(answer: &PadAnswer, screen: &Screen) -> String {
    let pad = &answer.pad;
    if pad.version == 0 {
        return format!("Nobody has written to the pad {} yet.\n", pad.scope);
    }
    if !screen.terminal {
        return pad.text.clone();
    }
    let when = pad.ts.map(|at| ago(at, screen)).unwrap_or_default();
    let by = pad.by.as_deref().unwrap_or_default();
    let head = format!("pad {}, version {}, written {when} by {by}", pad.scope, pad.version);
    format!("{}\n\n{}", paint(DIM, &head), pad.text)
}

pub fn written(answer: &PadAnswer, _: &Screen) -> String {
    let pad = &answer.pad;
    let tidy = if pad.wants_tidying {
        "It is long: shorten it with `comity pad write`, or a section with --section.\n"
    } else {
        ""
    };
    format!("The pad {} is at version {}.\n{tidy}", pad.scope, pad.version)
}

pub fn history(answer: &PadVersions, screen: &Screen) -> String {
    if answer.versions.is_empty() && screen.terminal {
        return format!("Nobody has written to the pad {} yet.\n", answer.scope);
    }
    let mut table = Table::new(&["VERSION", "WHEN", "BY", "HOW", "TEXT"], "TEXT");
    for version in &answer.versions {
        let how = match &version.how {
            PadChange::Append => "append".to_owned(),
            PadChange::Replace => "replace".to_owned(),
            PadChange::Section(name) => format!("section {name}"),
        };
        table.row(vec![
            (version.version.to_string(), BOLD),
            plain(ago(version.ts, screen)),
            plain(&version.by),
            plain(how),
            plain(version.text.lines().next().unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

pub fn published(answer: &InterfaceAnswer, _: &Screen) -> String {
    let it = &answer.interface;
    format!("The interface {} is at version {}.\n", it.name, it.version)
}

pub fn interface(answer: &InterfaceAnswer, screen: &Screen) -> String {
    let it = &answer.interface;
    let text = answer.diff.as_ref().unwrap_or(&it.text);
    if !screen.terminal {
        return text.clone();
    }
    let head = format!(
        "interface {}, version {}, published {} by {}",
        it.name,
        it.version,
        ago(it.ts, screen),
        it.by
    );
    format!("{}\n\n{text}", paint(DIM, &head))
}

pub fn interfaces(answer: &InterfacesPage, screen: &Screen) -> String {
    if answer.interfaces.is_empty() && screen.terminal {
        return "No interfaces.\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "VERSION", "BY", "PATHS"], "PATHS");
    for it in &answer.interfaces {
        table.row(vec![
            (it.name.clone(), BOLD),
            plain(it.version.to_string()),
            plain(&it.by),
            plain(it.paths.join(" ")),
        ]);
    }
    table.render(screen) + &more(answer.next.as_ref(), screen)
}

pub fn told(answer: &ToldAnswer, _: &Screen) -> String {
    format!("Told {}; it comes with their next answer.\n", answer.message.to)
}

pub fn brief(answer: &BriefAnswer, screen: &Screen) -> String {
    let words = brief_words(&answer.brief, screen);
    if words.is_empty() { "Nothing was left for whoever works there.\n".to_owned() } else { words }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a brief beside something else, under a heading; nothing for an empty one.
pub fn from_others(brief: Option<&Brief>, screen: &Screen) -> String {
    let words = brief.map(|brief| brief_words(brief, screen)).unwrap_or_default();
    if words.is_empty() { words } else { format!("\nFrom others:\n{words}") }
}

/// Returns a brief that is shown outside an answer, so that nothing made its texts safe yet.
pub fn beside(brief: Value) -> String {
    let brief = serde_json::from_value::<Brief>(clean(brief)).ok();
    from_others(brief.as_ref(), &Screen::detect())
}

/// Returns an entry with its kind before it, as wide as the screen.
fn line_of(kind: &str, text: &str, screen: &Screen) -> String {
    let wrapped = wrap(&one_line(text), "            ", screen.columns);
    format!("  {}{}\n", paint(DIM, &format!("{kind:<10}")), wrapped.trim())
}

/// Returns what a search found of what agents left for each other; nothing where it found nothing.
pub fn found(posts: &[NewsItem], screen: &Screen) -> String {
    let mut out = String::new();
    for it in posts {
        let of = match it.kind {
            PostKind::Change => format!("{} ({}, {})", it.text, it.paths.join(" "), it.by),
            PostKind::Message => format!("{}: {}", it.by, it.text),
            PostKind::Interface | PostKind::Pad => format!(
                "{}, version {}: {}",
                it.name.as_deref().unwrap_or_default(),
                it.version.unwrap_or_default(),
                it.text
            ),
        };
        out.push_str(&line_of(it.kind.as_str(), &of, screen));
    }
    if out.is_empty() { out } else { format!("From others:\n{out}") }
}

/// Returns a brief in words; nothing for an empty one.
fn brief_words(brief: &Brief, screen: &Screen) -> String {
    let mut out = String::new();
    let mut entry = |kind: &str, text: String| out.push_str(&line_of(kind, &text, screen));
    for it in &brief.messages {
        entry("message", format!("{}: {}", it.from, it.text));
    }
    for it in &brief.changes {
        let task = it.task.as_ref().map(|task| format!(" on {task}")).unwrap_or_default();
        entry("change", format!("{} ({}, {}{task})", it.text, it.paths.join(" "), it.by));
    }
    for it in &brief.interfaces {
        let new = if it.changed { ", new to you" } else { "" };
        entry(
            "interface",
            format!("{} version {}{new} ({})", it.name, it.version, it.paths.join(" ")),
        );
    }
    for it in &brief.decisions {
        entry("decision", format!("{} {}: {}", it.id, it.question, it.answer));
    }
    for it in &brief.memories {
        entry("memory", format!("{} ({}, {})", it.text, it.id, it.scope));
    }
    for it in &brief.neighbours {
        let task = it.task.as_ref().map(|task| format!(" on {task}")).unwrap_or_default();
        entry("nearby", format!("{}{task}: {}", it.agent, it.paths.join(" ")));
    }
    if let Some(pad) = &brief.pad {
        entry("pad", format!("{}, version {}: {}", pad.scope, pad.version, pad.head));
    }
    if let Some(more) = &brief.more {
        let at_least = if more.at_least { "at least " } else { "" };
        entry("more", format!("{at_least}{} left out: {}", more.count, more.how));
    }
    out
}

/// Returns a piece of news as a remark.
pub fn news_line(item: &NewsItem) -> String {
    let again = if item.repeated { " (perhaps told before)" } else { "" };
    let text = one_line(&item.text);
    let said = match item.kind {
        PostKind::Message => format!("message from {}: {text}", item.by),
        PostKind::Interface => format!(
            "{} published {} version {}: {text}",
            item.by,
            item.name.as_deref().unwrap_or_default(),
            item.version.unwrap_or_default()
        ),
        PostKind::Change | PostKind::Pad => {
            format!("{} changed {}: {text}", item.by, item.paths.join(" "))
        }
    };
    format!("news: {said}{again}")
}
