//! What a task remembers of the item it was imported from. A later import sees by it what changed in the other tracker,
//! and which parts the earlier importer had no right to import.

use super::Planned;
use comity_core::chain::Hash;
use comity_core::task::Priority;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Status,
    Reason,
    Title,
    Description,
    Priority,
    Labels,
    Requirements,
    Type,
    Complexity,
    Files,
    Blockers,
    Assignee,
    Initiative,
    Parent,
    Dependencies,
    Comments,
    References,
    Context,
}

/// A part, its name in a record, and its value in an item.
type PartRow = (Part, &'static str, fn(&Planned) -> Value);

const PARTS: [PartRow; 18] = [
    (Part::Status, "status", |task| json!(task.target.as_str())),
    (Part::Reason, "reason", |task| json!(task.target.said())),
    (Part::Title, "title", |task| json!(task.new.title)),
    (Part::Description, "description", |task| json!(task.new.description)),
    (Part::Priority, "priority", |task| json!(task.new.priority.unwrap_or(Priority::DEFAULT))),
    (Part::Labels, "labels", |task| json!(task.new.labels)),
    (Part::Requirements, "requirements", |task| json!(task.new.requirements)),
    (Part::Type, "type", |task| json!([task.new.kind, task.new.deliverable])),
    (Part::Complexity, "complexity", |task| json!(task.new.complexity)),
    (Part::Files, "files", |task| json!(task.new.files)),
    (Part::Blockers, "blockers", |task| json!(task.new.blockers)),
    (Part::Assignee, "assignee", |task| json!(task.new.assignee)),
    (Part::Initiative, "initiative", |task| json!(task.new.initiative)),
    (Part::Parent, "parent", |task| json!(task.parent)),
    (Part::Dependencies, "dependencies", |task| json!(task.depends_on)),
    (Part::Comments, "comments", |task| json!(task.notes)),
    (Part::References, "references", |task| json!(task.links)),
    (Part::Context, "context", |task| json!(task.new.context)),
];

impl Part {
    pub fn as_str(self) -> &'static str {
        PARTS.iter().find(|(part, ..)| *part == self).map_or("", |(_, name, _)| name)
    }
}

fn print(value: &Value) -> String {
    Hash::of(value.to_string().as_bytes()).to_string().chars().take(8).collect()
}

/// The imported parts of an item with their values: the word of a state, and a short hash of everything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportRecord(BTreeMap<Part, String>);

impl ImportRecord {
    pub fn of(task: &Planned) -> ImportRecord {
        let values = PARTS.iter().map(|(part, _, value)| match part {
            Part::Status => (*part, task.target.as_str().to_owned()),
            _ => (*part, print(&value(task))),
        });
        ImportRecord(values.collect()).without(&task.lacks)
    }

    pub fn parse(text: &str) -> Option<ImportRecord> {
        let pair = |word: &str| {
            let (name, value) = word.split_once('=')?;
            let (part, ..) = PARTS.iter().find(|(_, known, _)| *known == name)?;
            Some((*part, value.to_owned()))
        };
        text.split_whitespace().map(pair).collect::<Option<_>>().map(ImportRecord)
    }

    /// Returns the record without some parts. A later import adds them.
    #[must_use]
    pub fn without(mut self, parts: &[Part]) -> ImportRecord {
        self.0.retain(|part, _| !parts.contains(part));
        self
    }

    #[must_use]
    pub fn with(mut self, part: Part, of: &ImportRecord) -> ImportRecord {
        self.0.extend(of.0.get(&part).map(|value| (part, value.clone())));
        self
    }

    pub fn lacking(&self, all: &ImportRecord) -> Vec<Part> {
        all.0.keys().filter(|part| !self.0.contains_key(part)).copied().collect()
    }

    /// Names the imported parts that are different now. A new state and its reason count as one change.
    pub fn changed(&self, now: &ImportRecord) -> Vec<&'static str> {
        let differs = |part: &Part| {
            let (before, after) = (self.0.get(part), now.0.get(part));
            before.is_some() && after.is_some() && before != after
        };
        let parts = self.0.keys().filter(|part| differs(part));
        parts
            .filter(|part| **part != Part::Reason || !differs(&Part::Status))
            .map(|part| part.as_str())
            .collect()
    }
}

impl fmt::Display for ImportRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (part, value)) in self.0.iter().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}{}={value}", part.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beads;
    use crate::plan::Earlier;

    fn one(more: &str) -> ImportRecord {
        let text =
            format!("{{\"id\":\"a\",\"title\":\"t\"{more}}}\n{{\"id\":\"b\",\"title\":\"u\"}}");
        ImportRecord::of(&beads::read(&text, &Earlier::default()).unwrap().tasks[0])
    }

    #[test]
    fn a_mark_reads_back_and_says_what_changed() {
        let before = one("");
        assert_eq!(ImportRecord::parse(&before.to_string()), Some(before.clone()));
        assert_eq!(ImportRecord::parse("queued:0123"), None);
        assert!(before.changed(&one("")).is_empty());
        let now = one(",\"assignee\":\"bob\",\"comments\":[{\"text\":\"x\"}],\
                       \"dependencies\":[{\"depends_on_id\":\"b\"}],\"status\":\"blocked\"");
        assert_eq!(before.changed(&now), ["status", "assignee", "dependencies", "comments"]);
    }

    #[test]
    fn what_was_not_taken_over_is_lacking_and_no_change() {
        let all = one(",\"assignee\":\"bob\"");
        let some = all.clone().without(&[Part::Assignee, Part::Status]);
        assert_eq!(some.lacking(&all), [Part::Status, Part::Assignee]);
        assert!(some.changed(&one("")).is_empty());
        let more = some.with(Part::Assignee, &all);
        assert_eq!(more.lacking(&all), [Part::Status]);
    }
}
