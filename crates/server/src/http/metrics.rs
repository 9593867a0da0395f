//! `/metrics`, in the text format of Prometheus.

use comity_core::refusal::Code;
use comity_engine::Committed;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts what was asked and how it ended.
#[derive(Default)]
pub struct Metrics {
    /// Answers by operation and status.
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Refusals by code, at every door of the server.
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    /// Time spent with requests, and how many there were.
    time: Mutex<(Duration, u64)>,
}

/// What is measured when it is asked for.
pub struct Gauges {
    pub projects: Vec<OfProject>,
    pub streams: usize,
    pub queue: usize,
}

/// What is measured of one project.
pub struct OfProject {
    pub repo: String,
    pub head: u64,
    pub committed: Committed,
}

impl Metrics {
    pub fn count(&self, operation: &'static str, status: u16) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry((operation, status)).or_default() += 1;
    }

    pub fn refused(&self, code: Code) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry(code.as_str()).or_default() += 1;
    }

    pub fn took(&self, time: Duration) {
        let mut all = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        *all = (all.0 + time, all.1 + 1);
    }

    pub fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::new();
        out.push_str("# HELP comity_requests_total Requests by operation and status.\n# TYPE comity_requests_total counter\n");
        for ((operation, status), count) in
            &*self.answers.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let _ = writeln!(
                out,
                "comity_requests_total{{operation=\"{operation}\",status=\"{status}\"}} {count}"
            );
        }
        out.push_str("# HELP comity_refusals_total Requests that were refused, by code.\n# TYPE comity_refusals_total counter\n");
        for (code, count) in &*self.refusals.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(out, "comity_refusals_total{{code=\"{code}\"}} {count}");
        }
        let (time, count) = *self.time.lock().unwrap_or_else(PoisonError::into_inner);
        out.push_str("# HELP comity_request_seconds Time of requests, the sync to disk included.\n# TYPE comity_request_seconds summary\n");
        let _ = writeln!(out, "comity_request_seconds_sum {:.6}", time.as_secs_f64());
        let _ = writeln!(out, "comity_request_seconds_count {count}");
        of_projects(&mut out, &gauges.projects);
        let gauge = [
            ("comity_streams", "Open streams of events.", gauges.streams as u64),
            ("comity_queue", "Requests that are worked on.", gauges.queue as u64),
        ];
        for (name, help, value) in gauge {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        out
    }
}

/// Words one figure of a project.
type Measure = fn(&OfProject) -> String;

/// What is measured of each project: its name, kind and meaning, and its values by the ending of their names.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: &'static [(&'static str, Measure)],
}

const FAMILIES: [Family; 3] = [
    Family {
        name: "comity_log_head",
        kind: "gauge",
        help: "The place of the last event.",
        values: &[("", |it| it.head.to_string())],
    },
    Family {
        name: "comity_commands_total",
        kind: "counter",
        help: "Commands that this server accepted and committed.",
        values: &[("", |it| it.committed.commands.to_string())],
    },
    Family {
        name: "comity_commit_seconds",
        kind: "summary",
        help: "Time of commits, from the first row to the end of the sync to disk.",
        values: &[
            ("_sum", |it| format!("{:.6}", it.committed.time.as_secs_f64())),
            ("_count", |it| it.committed.commits.to_string()),
        ],
    },
];

fn of_projects(out: &mut String, projects: &[OfProject]) {
    for Family { name, kind, help, values } in &FAMILIES {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for project in projects {
            for (ending, value) in *values {
                let (repo, value) = (&project.repo, value(project));
                // Names of repositories have no characters that a label could not have.
                let _ = writeln!(out, "{name}{ending}{{repo=\"{repo}\"}} {value}");
            }
        }
    }
}
