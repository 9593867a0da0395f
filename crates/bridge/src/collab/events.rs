//! The events of a tree: ours out into `events.jsonl`, others' in from it and from the agents' own files.

use super::mark::{Added, Mark, added};
use super::sync::Syncer;
use super::tree::{Published, Tree, failed};
use comity_api::{EventAnswer, EventFilter, EventView, Nothing, Since, op};
use comity_core::command::Command;
use comity_core::ids::AgentId;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::{Code, Refusal};
use comity_protocol::collab::{
    Etags, Known, ORIGIN_LINE, StateFile as Kind, etag, event_line, line, line_mark, log,
    normal_event, read_json, seconds,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The field that says which file an event was read from.
const ORIGIN: &str = "origin";
/// The file that all events come together in.
const ALL: &str = "events.jsonl";

/// What the log says about lines: which are ours, and which were taken over before.
#[derive(Default)]
struct InLog {
    /// What makes a line the one of an event, by its seq.
    ours: BTreeMap<u64, Value>,
    /// The events that were read from lines, by what stands for the line.
    taken: BTreeMap<String, Vec<u64>>,
}

impl InLog {
    fn see(&mut self, event: &EventView) -> Result<(), Refusal> {
        if let Some(mark) = event.text(ORIGIN_LINE) {
            self.taken.entry(mark.to_owned()).or_default().push(event.seq);
        }
        self.ours.insert(event.seq, proof(&line_of(event, &BTreeMap::new())?));
        Ok(())
    }

    /// Returns the event that a line is the one of.
    fn own(&self, found: &Map<String, Value>) -> Option<u64> {
        let seq = found.get("seq")?.as_u64()?;
        (self.ours.get(&seq)? == &proof(found)).then_some(seq)
    }

    /// Returns the event that was made from a line before; each event stands for one line.
    fn was_taken(&mut self, mark: &str) -> Option<u64> {
        let seqs = self.taken.get_mut(mark)?;
        if seqs.is_empty() { None } else { Some(seqs.remove(0)) }
    }
}

fn line_of(event: &EventView, tags: &BTreeMap<Kind, Etags>) -> Result<Map<String, Value>, Refusal> {
    let written = serde_json::to_value(event)
        .map_err(|error| Refusal::new(Code::Internal, format!("an event: {error}")))?;
    Ok(event_line(&written, &|kind| tags.get(&kind).cloned()))
}

/// What of a line shows whose it is: a number alone can be anybody's.
fn proof(found: &Map<String, Value>) -> Value {
    ["event", "agent", "actor", "ts"].map(|key| found.get(key).cloned().unwrap_or_default()).into()
}

/// Which events `events.jsonl` has.
pub(super) enum There {
    /// Those up to the last one that was written, and these.
    UpToLast(BTreeSet<u64>),
    /// These alone: it is another file than before.
    Only(BTreeSet<u64>),
    /// Somebody is writing a line of it.
    Open,
    Odd,
}

impl Syncer {
    /// Takes over what others wrote into the event files.
    pub(super) fn consume_events(&mut self) -> Result<There, Refusal> {
        let head = self.service.call::<op::LogHead>(&self.caller, Nothing {})?;
        if head.seq < self.history.progress.events_seq {
            // Another store is in the place of the one that was exported.
            self.history.progress.events = Mark::default();
        }
        let path = self.tree.events();
        if !self.is_plain(&path)? {
            self.agents_own()?;
            return Ok(There::Odd);
        }
        let found = added(&self.tree, &path, &self.history.progress.events)?;
        let (anew, open, end) = (found.anew, found.open, found.end);
        let there = self.take_lines(&path, ALL, None, &found)?;
        self.history.progress.events = Mark::set(&self.tree, &path, end);
        self.agents_own()?;
        Ok(match (open && self.tree.is_young(&path), anew) {
            (true, _) => There::Open,
            (false, true) => There::Only(there),
            (false, false) => There::UpToLast(there),
        })
    }

    /// Takes over what agents wrote into files of their own.
    fn agents_own(&mut self) -> Result<(), Refusal> {
        let names = self.tree.names(&self.tree.agent_events());
        for name in names.into_iter().filter(|name| name.ends_with(".jsonl")) {
            let path = self.tree.agent_events().join(&name);
            if !self.is_plain(&path)? {
                continue;
            }
            let mark = self.history.progress.agents.get(&name).cloned().unwrap_or_default();
            let found = added(&self.tree, &path, &mark)?;
            let end = found.end;
            // Who writes into its own file does not say each time who it is.
            let agent = name.strip_suffix(".jsonl").filter(|name| AgentId::parse(name).is_ok());
            self.take_lines(&path, &format!("agents/{name}"), agent, &found)?;
            self.history.progress.agents.insert(name, Mark::set(&self.tree, &path, end));
        }
        Ok(())
    }

    /// Takes over lines that are not ours and were not taken before; returns the events that the lines stand for.
    fn take_lines(
        &mut self,
        path: &Path,
        file: &str,
        agent: Option<&str>,
        found: &Added,
    ) -> Result<BTreeSet<u64>, Refusal> {
        let mut there = BTreeSet::new();
        let mut count = 0;
        let mut in_log = self.in_log(found)?;
        for (at, text) in found.lines.iter().filter(|(_, text)| !text.is_empty()) {
            let Ok(Value::Object(event)) = read_json(text) else {
                let said = format!("{} at byte {at}: not a JSON object", path.display());
                self.report.problems.push(said);
                continue;
            };
            if let Some(seq) = in_log.own(&event) {
                there.insert(seq);
                continue;
            }
            let mut event = normal_event(event).into_event();
            if let Some(agent) = agent {
                event.entry("agent").or_insert_with(|| json!(agent));
            }
            let mark = line_mark(&event);
            if let Some(seq) = in_log.was_taken(&mark) {
                there.insert(seq);
                continue;
            }
            event.insert(ORIGIN.to_owned(), json!(file));
            event.insert(ORIGIN_LINE.to_owned(), json!(mark));
            let place = format!("{}\n{file}\n{at}\n{text}", self.history.name());
            let key = format!("collab-event:{}", etag(place.as_bytes()));
            if let Some(seq) = self.take_event(event, key, path, *at)? {
                there.insert(seq);
                count += 1;
            }
        }
        if count > 0 {
            let s = if count == 1 { "" } else { "s" };
            self.report.taken.push(format!("{count} event{s} from {}", path.display()));
        }
        Ok(there)
    }

    fn take_event(
        &mut self,
        event: Map<String, Value>,
        key: String,
        path: &Path,
        at: u64,
    ) -> Result<Option<u64>, Refusal> {
        match self.execute(path, Command::EmitEvent { event }, Some(key)) {
            Ok(reply) => Ok(Some(reply.take::<EventAnswer>()?.event.seq)),
            Err(refusal) if matches!(refusal.code.exit_status(), 1 | 5) => Err(refusal),
            Err(refusal) => {
                let said = format!("{} at byte {at}: {}", path.display(), refusal.message);
                self.report.refused.push(said);
                Ok(None)
            }
        }
    }

    /// Looks up what is needed to judge lines: all of the log for a file that is not known, for one that has grown
    /// the events that its new lines claim to be.
    fn in_log(&self, found: &Added) -> Result<InLog, Refusal> {
        let mut known = InLog::default();
        if found.lines.is_empty() {
            return Ok(known);
        }
        let claimed = found.lines.iter().filter_map(|(_, text)| {
            let value = read_json(text).ok()?;
            value.get("seq")?.as_u64()
        });
        let (from, to) = match (found.anew, claimed.clone().min(), claimed.max()) {
            (true, ..) => (0, u64::MAX),
            (false, Some(least), Some(most)) => (least.saturating_sub(1), most),
            (false, ..) => return Ok(known),
        };
        self.each_event(from, to, |event| known.see(event))?;
        Ok(known)
    }

    /// Looks at the events after a place in the log, up to another.
    fn each_event(
        &self,
        mut after: u64,
        to: u64,
        mut see: impl FnMut(&EventView) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        while after < to {
            let events = self.events_after(after)?;
            events.iter().try_for_each(&mut see)?;
            match events.last() {
                Some(last) => after = last.seq,
                None => break,
            }
        }
        Ok(())
    }

    fn events_after(&self, after: u64) -> Result<Vec<EventView>, Refusal> {
        let (since, limit) = (Some(Since::Seq(after)), Some(PAGE_MAX));
        let filter = EventFilter { since, limit, ..EventFilter::default() };
        Ok(self.service.call::<op::EventList>(&self.caller, filter)?.events)
    }

    /// Appends the events that the file has not.
    pub(super) fn write_events(
        &mut self,
        tags: &BTreeMap<Kind, Etags>,
        there: There,
    ) -> Result<(), Refusal> {
        let (mut after, there) = match there {
            There::UpToLast(there) => (self.history.progress.events_seq, there),
            There::Only(there) => (0, there),
            There::Open => {
                // The end of their line comes first.
                self.report.unsettled = true;
                return Ok(());
            }
            There::Odd => return Ok(()),
        };
        let path = self.tree.events();
        let mut out: Option<Appender> = None;
        loop {
            let events = self.events_after(after)?;
            let Some(last) = events.last().map(|event| event.seq) else { break };
            let mut text = String::new();
            for event in events.iter().filter(|event| !there.contains(&event.seq)) {
                text.push_str(&line(&Value::Object(line_of(event, tags)?)));
                text.push('\n');
            }
            if !text.is_empty() {
                let mut file = match out.take() {
                    Some(file) => file,
                    None => Appender::open(&self.tree, &path)?,
                };
                file.append(&text)?;
                out = Some(file);
            }
            after = last;
        }
        self.history.progress.events_seq = after;
        if let Some(file) = out {
            let read = self.history.progress.events.at;
            // Where nobody wrote in between, our own lines need not be read again.
            if file.began == read && file.ends() {
                self.history.progress.events = Mark::set(&self.tree, &path, file.end);
            }
            self.history.save()?;
            self.report.written.push(path.display().to_string());
        } else if !self.tree.is_there(&path)? {
            self.tree.append(&path)?;
            self.history.progress.events = Mark::set(&self.tree, &path, 0);
        }
        Ok(())
    }

    /// Writes the log for people when there is something new in it.
    pub(super) fn write_log(&mut self) -> Result<(), Refusal> {
        let path = self.tree.log();
        // What the log is made of cannot be read; that was said.
        if self.tree.is_there(&self.tree.events()).is_err() || !self.is_plain(&path)? {
            return Ok(());
        }
        let tag = self.tree.read(&path)?.map(|bytes| etag(&bytes));
        let progress = &self.history.progress;
        if progress.log_seq == progress.events_seq && tag.as_ref() == Some(&progress.log_tag) {
            return Ok(());
        }
        let text = self.log_text()?;
        // The log is made from the events alone; an edit of it is nobody's.
        if let Published::Overtaken(displaced) =
            self.tree.publish(&path, text.as_bytes(), tag.as_deref())?
        {
            self.tree.remove(&displaced);
        }
        self.history.progress.log_seq = self.history.progress.events_seq;
        self.history.progress.log_tag = etag(text.as_bytes());
        self.report.written.push(path.display().to_string());
        Ok(())
    }

    /// Makes the log from `events.jsonl`; a line that is no event is passed over. How a task stands is not taken from
    /// lines, which anybody may write.
    fn log_text(&mut self) -> Result<String, Refusal> {
        let bytes = self.tree.read(&self.tree.events())?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let event = |line: &str| -> Option<Map<String, Value>> {
            read_json(line).ok()?.as_object().cloned()
        };
        let events: Vec<Map<String, Value>> = text.lines().filter_map(event).collect();
        let tasks = self.service.all_tasks(&self.caller)?;
        let known = tasks.into_iter().map(|task| {
            let status = task.status.to_string();
            (task.id, Known { status, assignee: task.assignee, branch: task.branch })
        });
        let now = self.service.store_time()?;
        Ok(log(&events, &seconds(now), &known.collect()))
    }
}

struct Appender<'p> {
    path: &'p Path,
    file: File,
    began: u64,
    /// Its length after, when nobody else writes.
    end: u64,
    /// Whether its last line has no end.
    broken: bool,
}

impl Appender<'_> {
    fn open<'p>(tree: &Tree, path: &'p Path) -> Result<Appender<'p>, Refusal> {
        let wrong = |error: std::io::Error| failed("open", path, &error);
        let mut file = tree.append(path)?;
        let began = file.metadata().map_err(wrong)?.len();
        let mut last = [b'\n'];
        if let Some(at) = began.checked_sub(1) {
            file.seek(SeekFrom::Start(at)).and_then(|_| file.read(&mut last)).map_err(wrong)?;
        }
        Ok(Appender { path, file, began, end: began, broken: last != [b'\n'] })
    }

    fn append(&mut self, text: &str) -> Result<(), Refusal> {
        // A line that somebody left without its end is not made a part of ours.
        let text = if self.broken { format!("\n{text}") } else { text.to_owned() };
        self.broken = false;
        self.end += text.len() as u64;
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| failed("write", self.path, &error))
    }

    /// Tells whether the file ends with what was added.
    fn ends(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == self.end)
    }
}
