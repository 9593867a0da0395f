//! The brief: what somebody should know before touching something. Which of what others left concerns whom, in which order
//! it comes, and where it is cut.

use crate::ids::{AgentId, RepoName, TaskId};
use crate::limits::{BRIEF_BYTES_MAX, BRIEF_ENTRIES_MAX, EXCERPT_BYTES_MAX};
use crate::memory::{GLOBAL_SCOPE, Memory};
use crate::pattern::{CaseRule, Pattern, overlap};
use crate::post::{PlaceKind, Post, PostKind, Recipient, memories_of, place_of, places_near};
use crate::role::Role;
use crate::time::Timestamp;
use crate::view::MemoryView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whom something may concern: who it is, and what is at hand.
#[derive(Clone, Debug)]
pub struct Scope {
    pub repo: RepoName,
    pub agent: AgentId,
    pub roles: Vec<Role>,
    pub tasks: Vec<TaskId>,
    pub paths: Vec<Pattern>,
    /// Whether what this one wrote itself counts, too: to look at it, not to be told.
    pub own_too: bool,
}

impl Scope {
    /// Returns the places at which everything lies that may concern this scope.
    pub fn places(&self, kind: PostKind) -> Vec<String> {
        let place = PlaceKind::of(kind);
        let mut places = match kind {
            PostKind::Change | PostKind::Interface => self.near(place),
            PostKind::Message | PostKind::Pad => Vec::new(),
        };
        if kind != PostKind::Change {
            places.extend(self.names().iter().map(|name| place_of(place, name)));
        }
        places.sort();
        places.dedup();
        places
    }

    /// Returns the places of the memories for the paths at hand.
    pub fn memory_places(&self) -> Vec<String> {
        let mut places = self.near(PlaceKind::Memory);
        places.extend(self.tasks.iter().map(|id| memories_of(id.as_str())));
        places.sort();
        places.dedup();
        places
    }

    fn near(&self, kind: PlaceKind) -> Vec<String> {
        self.paths.iter().flat_map(|path| places_near(kind, path.literal_prefix())).collect()
    }

    /// Returns every name under which somebody may have meant this one.
    fn names(&self) -> Vec<Recipient> {
        let mut names = vec![Recipient::All, Recipient::Agent(self.agent.clone())];
        names.extend(self.roles.iter().map(|role| Recipient::Role(*role)));
        names.extend(self.tasks.iter().cloned().map(Recipient::Task));
        names
    }

    /// Decides whether a post concerns this scope. Nobody is told what they wrote themselves.
    pub fn concerns(&self, post: &Post) -> bool {
        if (post.by == self.agent && !self.own_too) || post.repo != self.repo {
            return false;
        }
        let meant = |to: &Recipient| match to {
            Recipient::Path(path) => self.touches(path),
            Recipient::All | Recipient::Role(_) | Recipient::Task(_) | Recipient::Agent(_) => {
                self.names().contains(to)
            }
        };
        match post.kind {
            PostKind::Change => post.paths.iter().any(|path| self.touches(path)),
            PostKind::Interface => {
                post.paths.iter().any(|path| self.touches(path)) || post.to.iter().any(meant)
            }
            PostKind::Message => post.to.iter().any(meant),
            PostKind::Pad => false,
        }
    }

    /// Decides whether a memory is about something at hand.
    pub fn recalls(&self, memory: &Memory) -> bool {
        memory.scope == GLOBAL_SCOPE
            || self.tasks.iter().any(|id| id.as_str() == memory.scope)
            || self.touches(&memory.scope)
    }

    /// Tells whether a stored pattern overlaps a path at hand, by the rule that leases are held to.
    pub fn touches(&self, text: &str) -> bool {
        let rule = self.paths.first().map_or(CaseRule::Sensitive, Pattern::case_rule);
        let Ok(pattern) = Pattern::parse_with(text, rule) else { return false };
        self.paths.iter().any(|path| overlap(path, &pattern).is_some())
    }

    /// Returns the scope in few characters: two scopes with the same ones are the same.
    pub fn digest(&self) -> String {
        let roles = self.roles.iter().map(|role| format!("%{role}"));
        let tasks = self.tasks.iter().map(|id| format!("#{id}"));
        let paths = self.paths.iter().map(|path| format!("={}", path.as_str()));
        let mut parts: Vec<String> = roles.chain(tasks).chain(paths).collect();
        parts.sort();
        let mut text = crate::chain::Hash::of(parts.join("\n").as_bytes()).to_string();
        text.truncate(16);
        text
    }
}

/// BRIEF: excerpts of what others left, newest and nearest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub pad: Option<PadHead>,
    pub interfaces: Vec<InterfaceLine>,
    pub changes: Vec<ChangeLine>,
    pub memories: Vec<MemoryView>,
    pub decisions: Vec<DecisionLine>,
    pub neighbours: Vec<Neighbour>,
    pub messages: Vec<MessageLine>,
    pub more: Option<More>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PadHead {
    pub scope: String,
    pub version: u64,
    pub head: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceLine {
    pub name: String,
    pub version: u64,
    pub paths: Vec<String>,
    /// Whether this version is new to the reader.
    pub changed: bool,
    pub seq: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeLine {
    pub seq: u64,
    pub ts: Timestamp,
    pub by: String,
    pub task: Option<String>,
    pub paths: Vec<String>,
    pub text: String,
    /// Of work that landed: the commit that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether it was sent before, in an answer that perhaps never arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionLine {
    pub id: String,
    pub question: String,
    pub answer: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    pub agent: String,
    pub task: Option<String>,
    pub title: Option<String>,
    pub paths: Vec<String>,
    pub branch: Option<String>,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageLine {
    pub from: String,
    pub text: String,
    pub ts: Timestamp,
    pub seq: u64,
    /// Whether it was sent before, in an answer that perhaps never arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// What did not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct More {
    pub count: u64,
    /// Whether there may be more than were counted: only the newest ones are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// How to get it, in the words of the door.
    pub how: String,
}

/// NEWS: a change, an interface version or a message that somebody was not given before; where somebody searches, what was
/// found, and pads too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewsItem {
    pub kind: PostKind,
    pub seq: u64,
    pub ts: Timestamp,
    pub by: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Of an interface, or the scope of a pad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Whether it was sent before, in an answer that perhaps never arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

pub fn news_item(post: &Post, repeated: bool) -> NewsItem {
    let is_named = matches!(post.kind, PostKind::Interface | PostKind::Pad);
    NewsItem {
        kind: post.kind,
        seq: post.seq.0,
        ts: post.ts,
        by: post.by.to_string(),
        text: excerpt(&post.text),
        task: post.task.as_ref().map(ToString::to_string),
        paths: shown_paths(&post.paths),
        name: is_named.then(|| post.id.name().to_owned()),
        version: is_named.then_some(post.version),
        repeated,
    }
}

pub fn change_line(post: &Post, repeated: bool) -> ChangeLine {
    ChangeLine {
        seq: post.seq.0,
        ts: post.ts,
        by: post.by.to_string(),
        task: post.task.as_ref().map(ToString::to_string),
        paths: shown_paths(&post.paths),
        text: excerpt(&post.text),
        commit: post.commit.clone(),
        repeated,
    }
}

pub fn message_line(post: &Post, repeated: bool) -> MessageLine {
    let (from, text) = (post.by.to_string(), excerpt(&post.text));
    MessageLine { from, text, ts: post.ts, seq: post.seq.0, repeated }
}

pub fn interface_line(post: &Post, changed: bool) -> InterfaceLine {
    InterfaceLine {
        name: post.id.name().to_owned(),
        version: post.version,
        paths: shown_paths(&post.paths),
        changed,
        seq: post.seq.0,
    }
}

pub fn pad_head(post: &Post) -> PadHead {
    let (scope, head) = (post.id.name().to_owned(), excerpt(&post.text));
    PadHead { scope, version: post.version, head }
}

/// Paths of one entry that are shown; the rest is in the log.
const PATHS_SHOWN: usize = 5;

fn shown_paths(paths: &[String]) -> Vec<String> {
    paths.iter().take(PATHS_SHOWN).cloned().collect()
}

/// Returns the beginning of a text, cut at a character.
pub fn excerpt(text: &str) -> String {
    let text = text.trim();
    if text.len() <= EXCERPT_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=EXCERPT_BYTES_MAX - "…".len()).rev().find(|at| text.is_char_boundary(*at));
    format!("{}…", text.get(..end.unwrap_or(0)).unwrap_or_default().trim_end())
}

/// How much of a brief somebody gets.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub entries: usize,
    pub bytes: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room { entries: BRIEF_ENTRIES_MAX, bytes: BRIEF_BYTES_MAX }
    }
}

impl Room {
    /// Returns the room for so many entries, as long as an excerpt each may be.
    pub fn of(entries: usize) -> Room {
        Room { entries, bytes: BRIEF_BYTES_MAX.max(entries * EXCERPT_BYTES_MAX) }
    }

    /// Takes the room of a text; tells whether there was any.
    pub fn take(&mut self, bytes: usize) -> bool {
        let fits = self.entries > 0 && bytes <= self.bytes;
        if fits {
            self.entries -= 1;
            self.bytes -= bytes;
        }
        fits
    }
}

/// Cuts a brief to its room: one entry of each kind in turn, each kind in its own order. Where something is left out, `how`
/// is said, and whether there may be more than is left out here.
pub fn cut(all: Brief, mut room: Room, (how, at_least): (&str, bool)) -> Brief {
    let mut brief = Brief::default();
    let mut left = 0;
    match all.pad {
        Some(pad) if room.take(pad.head.len()) => brief.pad = Some(pad),
        Some(_) => left += 1,
        None => {}
    }
    let mut messages = all.messages.into_iter();
    let mut changes = all.changes.into_iter();
    let mut interfaces = all.interfaces.into_iter();
    let mut decisions = all.decisions.into_iter();
    let mut memories = all.memories.into_iter();
    let mut neighbours = all.neighbours.into_iter();
    loop {
        let mut any = false;
        macro_rules! turn {
            ($from:ident, $text:expr) => {
                if let Some(next) = $from.next() {
                    any = true;
                    let bytes: fn(&_) -> usize = $text;
                    if room.take(bytes(&next)) {
                        brief.$from.push(next);
                    } else {
                        left += 1;
                    }
                }
            };
        }
        turn!(messages, |it: &MessageLine| it.text.len());
        turn!(changes, |it: &ChangeLine| it.text.len() + bytes_of(&it.paths));
        turn!(interfaces, |it: &InterfaceLine| it.name.len() + bytes_of(&it.paths));
        turn!(decisions, |it: &DecisionLine| it.question.len() + it.answer.len());
        turn!(memories, |it: &MemoryView| it.text.len());
        turn!(neighbours, |it: &Neighbour| {
            it.title.as_ref().map_or(0, String::len) + bytes_of(&it.paths)
        });
        if !any {
            break;
        }
    }
    brief.more = (left > 0).then(|| More { count: left, at_least, how: how.to_owned() });
    brief
}

fn bytes_of(paths: &[String]) -> usize {
    paths.iter().map(String::len).sum()
}

impl Brief {
    pub fn is_empty(&self) -> bool {
        *self == Brief::default()
    }

    /// Returns the places in the log of what counts as given with this brief.
    pub fn seqs(&self) -> Vec<u64> {
        let changes = self.changes.iter().map(|it| it.seq);
        let messages = self.messages.iter().map(|it| it.seq);
        let interfaces = self.interfaces.iter().filter(|it| it.changed).map(|it| it.seq);
        changes.chain(messages).chain(interfaces).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(seq: u64, text: &str) -> ChangeLine {
        ChangeLine {
            seq,
            ts: Timestamp::default(),
            by: "w1".to_owned(),
            task: None,
            paths: vec!["src".to_owned()],
            text: text.to_owned(),
            commit: None,
            repeated: false,
        }
    }

    fn message(seq: u64) -> MessageLine {
        let (from, text) = ("w1".to_owned(), "hello".to_owned());
        MessageLine { from, text, ts: Timestamp::default(), seq, repeated: false }
    }

    #[test]
    fn a_brief_has_at_most_twelve_entries_and_says_what_is_left_out() {
        let changes = (0..20).map(|seq| change(seq, "renamed")).collect();
        let messages = (0..3).map(message).collect();
        let brief =
            cut(Brief { changes, messages, ..Brief::default() }, Room::default(), ("look", true));
        assert_eq!((brief.changes.len(), brief.messages.len()), (9, 3));
        let how = "look".to_owned();
        assert_eq!(brief.more, Some(More { count: 11, at_least: true, how }));
        assert_eq!(brief.changes[0].seq, 0);
    }

    #[test]
    fn a_brief_has_at_most_two_kib_of_text() {
        let changes = (0..12).map(|seq| change(seq, &"x".repeat(EXCERPT_BYTES_MAX))).collect();
        let brief = cut(Brief { changes, ..Brief::default() }, Room::default(), ("look", false));
        let bytes: usize = brief.changes.iter().map(|it| it.text.len()).sum();
        assert!(bytes <= BRIEF_BYTES_MAX && bytes > BRIEF_BYTES_MAX / 2, "{bytes}");
        assert_eq!(brief.more.unwrap().count, 12 - brief.changes.len() as u64);
    }

    #[test]
    fn an_excerpt_is_cut_at_a_character() {
        let text = excerpt(&"ä".repeat(EXCERPT_BYTES_MAX));
        assert!(text.len() <= EXCERPT_BYTES_MAX && text.ends_with('…'));
        assert_eq!(excerpt(" short \n"), "short");
    }
}
