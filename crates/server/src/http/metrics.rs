//! `/metrics`, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts what was asked and how it ended.
#[derive(Default)]
pub struct Metrics {
    /// Answers by operation and status.
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Time spent with requests, and how many there were.
    time: Mutex<(Duration, u64)>,
}

/// What is measured when it is asked for.
pub struct Gauges {
    pub head: u64,
    pub streams: usize,
    pub queue: usize,
}

impl Metrics {
    pub fn count(&self, operation: &'static str, status: u16) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry((operation, status)).or_default() += 1;
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
        let (time, count) = *self.time.lock().unwrap_or_else(PoisonError::into_inner);
        out.push_str("# HELP comity_request_seconds Time of requests, the sync to disk included.\n# TYPE comity_request_seconds summary\n");
        let _ = writeln!(out, "comity_request_seconds_sum {:.6}", time.as_secs_f64());
        let _ = writeln!(out, "comity_request_seconds_count {count}");
        let gauge = [
            ("comity_log_head", "The place of the last event.", gauges.head),
            ("comity_streams", "Open streams of events.", gauges.streams as u64),
            ("comity_queue", "Requests that are worked on.", gauges.queue as u64),
        ];
        for (name, help, value) in gauge {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        out
    }
}
