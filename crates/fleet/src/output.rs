//! The row that shows what the agent of a run said.

use crate::log::head;
use crate::place::RunPlace;
use comity_api::{ById, RunLine, RunLogsAnswer, RunLogsOf, op};
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Caller, Far, Service, Whereabouts};
use comity_project::Context;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the file that one answer looks at.
const LOOK_BYTES: u64 = 1 << 20;
/// Bytes before the end that are shown to whoever names no place.
const LAST_BYTES: u64 = 64 << 10;
/// Bytes of one line that are shown.
const LINE_BYTES_MAX: usize = 16 << 10;

/// What the runs of a project said, on this host.
#[derive(Clone)]
pub struct RunOutputs {
    pub context: Context,
    pub service: Service,
    /// The caller is a process of the user, who can read the files anyway.
    pub is_own: bool,
}

impl Whereabouts for RunOutputs {
    fn far(&self) -> Option<&Arc<dyn Far>> {
        self.service.far()
    }
}

comity_engine::handlers_of! { RunOutputs, register {
    RunLogs(outputs, caller, input) => outputs.said(caller, &input);
} }

impl RunOutputs {
    /// What an agent says may hold what is not public: people see it, and the agent itself.
    fn said(&self, caller: &Caller, input: &RunLogsOf) -> Result<RunLogsAnswer, Refusal> {
        // Asked first: what the agent said before its end is read after it.
        let run = self.service.call::<op::RunShow>(caller, ById { id: input.id.clone() })?.run;
        let is_agent = run.identity.as_deref() == Some(caller.actor.as_str());
        if !self.is_own && !caller.actor.is_person() && !is_agent {
            let message = format!("only people and {} see what it said", run.agent);
            return Err(Refusal::new(Code::HumanOnly, message));
        }
        let file = RunPlace::of(&self.context, &run.id.unwrap_or_default())?.log();
        let (lines, next, more) = lines(&file, input.from).map_err(|error| {
            Refusal::new(Code::Internal, format!("cannot read {}: {error}", file.display()))
        })?;
        Ok(RunLogsAnswer { lines, next, more, live: run.state.is_live() })
    }
}

/// Reads whole lines from a place on; what is no whole line yet is left for later.
fn lines(path: &Path, from: Option<u64>) -> std::io::Result<(Vec<RunLine>, u64, bool)> {
    let Ok(mut file) = File::open(path) else { return Ok((Vec::new(), from.unwrap_or(0), false)) };
    let end = file.metadata()?.len();
    let start = from.unwrap_or_else(|| end.saturating_sub(LAST_BYTES)).min(end);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOOK_BYTES).read_to_end(&mut bytes)?;
    // The first of the last lines may be half a line.
    let begins = match from {
        None if start > 0 => bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1),
        None | Some(_) => 0,
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let is_full = bytes.len() as u64 == LOOK_BYTES;
    // A line that no answer has room for is left out.
    let taken = if whole == 0 && is_full { bytes.len() } else { whole };
    let text = String::from_utf8_lossy(bytes.get(begins..whole).unwrap_or_default());
    let read = text.lines().filter_map(|line| serde_json::from_str::<RunLine>(line).ok());
    Ok((read.map(shortened).collect(), start + taken as u64, is_full))
}

fn shortened(mut line: RunLine) -> RunLine {
    if line.text.len() > LINE_BYTES_MAX {
        line.text = format!("{}…", head(&line.text, LINE_BYTES_MAX));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
    use comity_core::time::Timestamp;

    #[test]
    fn the_last_lines_come_first_and_then_only_what_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        assert_eq!(lines(&path, None).unwrap(), (Vec::new(), 0, false), "no file yet");
        let mut log = Log::open(&path);
        for n in 0..3_000 {
            log.write(Timestamp::from_ms(n), "text", &format!("line {n} {}", "x".repeat(60)));
        }
        let (last, next, more) = lines(&path, None).unwrap();
        assert!(last.len() < 1_000 && !more, "{}", last.len());
        assert!(last.last().unwrap().text.starts_with("line 2999 "));
        assert_eq!(lines(&path, Some(next)).unwrap(), (Vec::new(), next, false));
        log.write(Timestamp::from_ms(1), "text", &"y".repeat(20_000));
        let (new, end, _) = lines(&path, Some(next)).unwrap();
        assert!(end > next && new[0].text.len() < 17_000 && new[0].text.ends_with('…'));
        let (all, _, more) = lines(&path, Some(0)).unwrap();
        assert!((all[0].text.starts_with("line 0 "), more) == (true, false));
    }

    #[test]
    fn a_line_that_is_longer_than_an_answer_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        let mut log = Log::open(&path);
        log.write(Timestamp::from_ms(1), "text", &"y".repeat(3 << 20));
        log.write(Timestamp::from_ms(2), "text", "after it");
        let (mut from, mut found) = (0, Vec::new());
        loop {
            let (lines, next, more) = lines(&path, Some(from)).unwrap();
            found.extend(lines.into_iter().map(|line| line.text));
            from = next;
            if !more {
                break;
            }
        }
        assert_eq!(found, ["after it"]);
    }
}
