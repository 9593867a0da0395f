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

impl Part {
    const ALL: [Part; 18] = [
        Part::Status,
        Part::Reason,
        Part::Title,
        Part::Description,
        Part::Priority,
        Part::Labels,
        Part::Requirements,
        Part::Type,
        Part::Complexity,
        Part::Files,
        Part::Blockers,
        Part::Assignee,
        Part::Initiative,
        Part::Parent,
        Part::Dependencies,
        Part::Comments,
        Part::References,
        Part::Context,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Part::Status => "status",
            Part::Reason => "reason",
            Part::Title => "title",
            Part::Description => "description",
            Part::Priority => "priority",
            Part::Labels => "labels",
            Part::Requirements => "requirements",
            Part::Type => "type",
            Part::Complexity => "complexity",
            Part::Files => "files",
            Part::Blockers => "blockers",
            Part::Assignee => "assignee",
            Part::Initiative => "initiative",
            Part::Parent => "parent",
            Part::Dependencies => "dependencies",
            Part::Comments => "comments",
            Part::References => "references",
            Part::Context => "context",
        }
    }

    fn of(self, task: &Planned) -> String {
        let new = &task.new;
        let value = match self {
            Part::Status => return task.target.as_str().to_owned(),
            Part::Reason => json!(task.target.said()),
            Part::Title => json!(new.title),
            Part::Description => json!(new.description),
            Part::Priority => json!(new.priority.unwrap_or(Priority::DEFAULT)),
            Part::Labels => json!(new.labels),
            Part::Requirements => json!(new.requirements),
            Part::Type => json!([new.kind, new.deliverable]),
            Part::Complexity => json!(new.complexity),
            Part::Files => json!(new.files),
            Part::Blockers => json!(new.blockers),
            Part::Assignee => json!(new.assignee),
            Part::Initiative => json!(new.initiative),
            Part::Parent => json!(task.parent),
            Part::Dependencies => json!(task.depends_on),
            Part::Comments => json!(task.notes),
            Part::References => json!(task.links),
            Part::Context => Value::Object(new.context.clone()),
        };
        Hash::of(value.to_string().as_bytes()).to_string().chars().take(8).collect()
    }
}

/// The imported parts of an item with their values: the word of a state, and a short hash of everything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportRecord(BTreeMap<Part, String>);

impl ImportRecord {
    /// Returns the record of an item that is imported as far as possible.
    pub fn of(task: &Planned) -> ImportRecord {
        let all = ImportRecord(Part::ALL.into_iter().map(|part| (part, part.of(task))).collect());
        all.without(&task.lacks)
    }

    /// Reads a record; none for a text that is no record.
    pub fn parse(text: &str) -> Option<ImportRecord> {
        let pair = |word: &str| {
            let (name, value) = word.split_once('=')?;
            let part = Part::ALL.into_iter().find(|part| part.as_str() == name)?;
            Some((part, value.to_owned()))
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

    /// Returns the parts that only the other record has.
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
