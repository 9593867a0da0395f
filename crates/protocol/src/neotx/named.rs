//! The commit and the branch that a report of neo's agents names.

use comity_core::command::WorkReport;
use serde_json::Value;

#[derive(Debug, Default, PartialEq)]
pub struct Named {
    pub commit: Option<String>,
    pub branch: Option<String>,
}

impl Named {
    pub fn by(report: &WorkReport) -> Named {
        if !matches!(report.contract.as_str(), "developer" | "supervisor") {
            return Named::default();
        }
        let text = |value: Option<&Value>| {
            value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let ended = report.other.get("branch_completion").and_then(|ended| ended.get("branch"));
        let branch = text(ended).or_else(|| text(report.other.get("branch")));
        let steps = report.other.get("tasks").and_then(Value::as_array);
        let mut steps = steps.map_or(&[][..], Vec::as_slice).iter().rev();
        // A plan has a commit for each task; without a branch the last one is what was made.
        let last = steps.find_map(|step| text(step.get("commit"))).filter(|_| branch.is_none());
        Named { commit: text(report.other.get("commit")).or(last), branch }
    }
}
