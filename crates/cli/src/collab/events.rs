//! The events of a tree: ours out into `events.jsonl`, others' in from it and from the agents' own files.

use super::sync::Syncer;
use super::tree::{Tree, failed};
use comity_core::command::Command;
use comity_core::refusal::Refusal;
use comity_engine::{EventFilter, Page, Query, Since};
use comity_protocol::collab::{Etags, Kind, etag, event_line, line, log, normal_event, seconds};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The field that says which file an event was read from.
const ORIGIN: &str = "origin";
/// Bytes that are read of a file at once; the rest comes the next time.
const READ_MAX: u64 = 16 * 1024 * 1024;
/// Events that are asked for at once.
const PAGE: usize = 500;

/// Whole lines that were added to a file since the last look: each with its place, and where they end.
fn added(path: &Path, from: u64) -> Result<(Vec<(u64, String)>, u64), Refusal> {
    let Ok(mut file) = File::open(path) else { return Ok((Vec::new(), from)) };
    let length = file.metadata().map_or(0, |found| found.len());
    // Cut short by somebody: what is left was seen.
    let from = if length < from { length } else { from };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.take(READ_MAX).read_to_end(&mut bytes))
        .map_err(|error| failed("read", path, &error))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    let mut at = from;
    for part in bytes.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        lines.push((at, String::from_utf8_lossy(part).trim().to_owned()));
        at += part.len() as u64;
    }
    Ok((lines, at))
}

impl Syncer {
    /// Takes over what others wrote into the event files.
    pub(super) fn consume_events(&mut self) -> Result<(), Refusal> {
        let path = self.tree.events();
        let (lines, end) = added(&path, self.history.events_read)?;
        for (at, text) in lines {
            match own_seq(&text).filter(|seq| !self.foreign || self.has_event(*seq, &text)) {
                Some(_) if self.foreign => {}
                Some(seq) => self.history.events_seq = self.history.events_seq.max(seq),
                None => self.take_event(&path, "events.jsonl", at, &text)?,
            }
        }
        self.history.events_read = end;
        let mut names: Vec<String> = std::fs::read_dir(self.tree.agent_events())
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".jsonl"))
            .collect();
        names.sort();
        for name in names {
            let path = self.tree.agent_events().join(&name);
            let from = self.history.agents_read.get(&name).and_then(Value::as_u64).unwrap_or(0);
            let (lines, end) = added(&path, from)?;
            for (at, text) in lines {
                self.take_event(&path, &format!("agents/{name}"), at, &text)?;
            }
            self.history.agents_read.insert(name, json!(end));
        }
        Ok(())
    }

    /// Tells whether a line is an event of this very store.
    fn has_event(&mut self, seq: u64, text: &str) -> bool {
        let page = Page { limit: Some(1), after: None };
        let since = seq.checked_sub(1).map(Since::Seq);
        let filter = EventFilter { since, page, ..EventFilter::default() };
        let Ok(answer) = self.engine.query(&self.context.asker(), Query::Events(filter)) else {
            return false;
        };
        let stored = answer.get("events").and_then(|events| events.get(0));
        let theirs: Value = serde_json::from_str(text).unwrap_or_default();
        let ours = stored.map(|event| event_line(event, &|_| None));
        let same = |key: &str| ours.as_ref().and_then(|ours| ours.get(key)) == theirs.get(key);
        ["seq", "event", "ts", "agent"].into_iter().all(same)
    }

    fn take_event(&mut self, path: &Path, file: &str, at: u64, text: &str) -> Result<(), Refusal> {
        if text.is_empty() {
            return Ok(());
        }
        let Ok(Value::Object(event)) = serde_json::from_str(text) else {
            let said = format!("{} at byte {at}: not a JSON object", path.display());
            self.report.problems.push(said);
            return Ok(());
        };
        let mut event = normal_event(event).into_event();
        event.insert(ORIGIN.to_owned(), json!(file));
        let place = format!("{}\n{at}\n{text}", path.display());
        let key = format!("collab-event:{}", etag(place.as_bytes()));
        match self.execute(Command::EmitEvent { event }, Some(key)) {
            Ok(_) => Ok(()),
            Err(refusal) if matches!(refusal.code.exit_status(), 1 | 5) => Err(refusal),
            Err(refusal) => {
                let said = format!("{} at byte {at}: {}", path.display(), refusal.message);
                self.report.refused.push(said);
                Ok(())
            }
        }
    }

    /// Appends the events that the file has not.
    pub(super) fn write_events(&mut self, tags: &BTreeMap<Kind, Etags>) -> Result<(), Refusal> {
        let path = self.tree.events();
        let mut out: Option<File> = None;
        let head = self.engine.query(&self.context.asker(), Query::Head)?;
        if head.get("seq").and_then(Value::as_u64).unwrap_or(0) < self.history.events_seq {
            // Another store is in the place of the one that was exported.
            self.history.events_seq = 0;
        }
        loop {
            let page = Page { limit: Some(PAGE), after: None };
            let since = Some(Since::Seq(self.history.events_seq));
            let filter = EventFilter { since, page, ..EventFilter::default() };
            let answer = self.engine.query(&self.context.asker(), Query::Events(filter))?;
            let events =
                answer.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
            let Some(last) = events.last().and_then(|e| e.get("seq")).and_then(Value::as_u64)
            else {
                break;
            };
            // What another tool wrote into this very file is there already.
            let there = |event: &&Value| event.get(ORIGIN) != Some(&json!("events.jsonl"));
            let text: String = events
                .iter()
                .filter(there)
                .map(|event| {
                    line(&Value::Object(event_line(event, &|kind| tags.get(&kind).cloned()))) + "\n"
                })
                .collect();
            if out.is_none() {
                Tree::make_room(&path)?;
                let opened = File::options().create(true).append(true).open(&path);
                out = Some(opened.map_err(|error| failed("open", &path, &error))?);
            }
            if let Some(file) = &mut out {
                file.write_all(text.as_bytes()).map_err(|error| failed("write", &path, &error))?;
            }
            self.history.events_seq = last;
        }
        if out.is_some() {
            self.history.save()?;
            self.report.written.push(path.display().to_string());
        } else if !path.exists() {
            Tree::make_room(&path)?;
            File::create(&path).map_err(|error| failed("write", &path, &error))?;
        }
        Ok(())
    }

    /// Writes the log for people when there is something new in it.
    pub(super) fn write_log(&mut self) -> Result<(), Refusal> {
        let path = self.tree.log();
        if self.history.log_seq == self.history.events_seq && path.exists() {
            return Ok(());
        }
        let text = self.log_text()?;
        Tree::make_room(&path)?;
        let tag = Tree::read(&path)?.map(|bytes| etag(&bytes));
        // The log is made from the events alone; an edit of it is nobody's.
        if let super::tree::Published::Overtaken(displaced) =
            Tree::publish(&path, text.as_bytes(), tag.as_deref())?
        {
            let _ = std::fs::remove_file(displaced);
        }
        self.history.log_seq = self.history.events_seq;
        self.report.written.push(path.display().to_string());
        Ok(())
    }

    /// Makes the log from `events.jsonl`; a line that is no event is passed over.
    fn log_text(&mut self) -> Result<String, Refusal> {
        let bytes = Tree::read(&self.tree.events())?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let event = |line: &str| -> Option<Map<String, Value>> { serde_json::from_str(line).ok() };
        let events: Vec<Map<String, Value>> = text.lines().filter_map(event).collect();
        let now = self.engine.store_time()?;
        Ok(log(&events, &seconds(now)))
    }
}

/// The place in our log that a line of ours has.
fn own_seq(text: &str) -> Option<u64> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("seq")?.as_u64()
}
