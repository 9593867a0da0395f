//! Why a run failed, from how its agent came to its end.

use crate::listen::Ended;
use comity_core::run::{RunError, RunFault};

/// Tells why a run failed; nothing at all where somebody else ended it. A report that is there counts although the client
/// did not end as it should.
pub(crate) fn fault(
    ended: &Ended,
    failed: Option<(RunFault, String)>,
    has_report: bool,
) -> Option<Option<RunError>> {
    let error = |kind, message: &str| Some(Some(RunError::new(kind, message)));
    match ended {
        Ended::Elsewhere | Ended::Paused => None,
        Ended::Done => failed.map_or(Some(None), |(kind, message)| error(kind, &message)),
        Ended::Limited(_) => error(RunFault::RateLimit, "the vendor serves no more for now"),
        Ended::TooLate(kind, message) => error(*kind, message),
        Ended::Exited(code) => match failed {
            Some((kind, message)) => error(kind, &message),
            None => error(RunFault::Crash, &format!("the agent ended with {code}")),
        },
        Ended::Silent if has_report => Some(None),
        Ended::Silent => match failed {
            Some((kind, message)) => error(kind, &message),
            None => error(RunFault::NoResult, "the agent ended without a result"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_run_says_how_it_failed() {
        let kind = |ended: Ended, failed: Option<RunFault>, report: bool| {
            let failed = failed.map(|kind| (kind, "why".to_owned()));
            fault(&ended, failed, report).map(|error| error.map(|error| error.kind))
        };
        let late = Ended::TooLate(RunFault::Stall, String::new());
        assert_eq!(kind(Ended::Elsewhere, None, false), None);
        assert_eq!(kind(Ended::Done, None, false), Some(None));
        assert_eq!(kind(Ended::Done, Some(RunFault::Auth), true), Some(Some(RunFault::Auth)));
        assert_eq!(kind(Ended::Limited(None), None, true), Some(Some(RunFault::RateLimit)));
        assert_eq!(kind(late, None, true), Some(Some(RunFault::Stall)));
        assert_eq!(kind(Ended::Exited(7), None, true), Some(Some(RunFault::Crash)));
        assert_eq!(kind(Ended::Silent, None, false), Some(Some(RunFault::NoResult)));
        assert_eq!(kind(Ended::Silent, None, true), Some(None), "its report is read all the same");
        assert_eq!(kind(Ended::Silent, Some(RunFault::Api), false), Some(Some(RunFault::Api)));
    }
}
