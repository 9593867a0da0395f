//! What GitHub answers, as far as comity reads it. A field that is missing or null is empty: GitHub adds and drops fields.

use comity_core::time::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

fn lenient<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + serde::de::DeserializeOwned,
{
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

macro_rules! lenient {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$attribute])* #[serde(deserialize_with = "lenient")] pub $field: $type,)*
        })*
    };
}

lenient! {
    User { login: String, }
    Label { name: String, description: String, color: String, }
    Issue {
        number: u64,
        title: String,
        body: String,
        state: String,
        state_reason: String,
        user: User,
        labels: Vec<Label>,
        assignees: Vec<User>,
        created_at: String,
        updated_at: String,
        html_url: String,
        url: String,
        id: u64,
        pull_request: Option<Value>,
    }
    Comment {
        id: u64,
        body: String,
        user: User,
        created_at: String,
        updated_at: String,
        issue_url: String,
    }
    IssueEvent { id: u64, event: String, actor: User, label: Label, created_at: String, }
    Branch { sha: String, #[serde(rename = "ref")] name: String, }
    Pull {
        number: u64,
        state: String,
        merged: bool,
        merged_at: String,
        merge_commit_sha: String,
        merged_by: User,
        head: Branch,
        base: Branch,
        html_url: String,
    }
    Review {
        id: u64,
        user: User,
        state: String,
        body: String,
        commit_id: String,
    }
    CheckRuns { check_runs: Vec<CheckRun>, }
    CheckRun { id: u64, name: String, status: String, conclusion: String, html_url: String, }
    Statuses { statuses: Vec<CommitStatus>, }
    CommitStatus { id: u64, context: String, state: String, target_url: String, }
    Words { raw: String, }
    FieldOption { id: String, name: Words, }
    Field { id: u64, name: String, data_type: String, options: Vec<FieldOption>, }
    FieldValue { name: Words, }
    Shown { id: u64, value: FieldValue, }
    Item { id: u64, content: Issue, fields: Vec<Shown>, }
    PullFile { filename: String, previous_filename: String, }
    Permission { permission: String, role_name: String, }
    Hook { id: u64, active: bool, config: HookConfig, }
    HookConfig { url: String, }
    Delivery { status_code: u64, }
}

impl Issue {
    pub fn label_names(&self) -> Vec<String> {
        self.labels.iter().map(|label| label.name.clone()).collect()
    }

    pub fn is_pull(&self) -> bool {
        self.pull_request.as_ref().is_some_and(|pull| !pull.is_null())
    }
}

impl Comment {
    /// Returns the number of its issue, which stands at the end of an address.
    pub fn issue_number(&self) -> Option<u64> {
        self.issue_url.rsplit('/').next()?.parse().ok()
    }
}

/// Reads a time as GitHub writes it.
pub fn time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text)
}

/// Reads the time of a `Date` header, such as `Wed, 18 Nov 2026 15:00:00 GMT`.
pub fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = text.split_whitespace().skip(1);
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let clock = parts.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day:0>2}T{clock}Z"))
}

/// Reads a list; what is no list, or an entry that cannot be read, is left out.
pub fn list<T: serde::de::DeserializeOwned>(value: &Value) -> Vec<T> {
    let entries = value.as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
}

pub fn one<T: serde::de::DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_that_is_null_missing_or_of_another_kind_is_empty() {
        let issue: Issue = one(&json!({"number": 7, "body": null, "user": null, "labels": "x",
            "assignees": [{"login": "ann"}], "pull_request": null, "moon": 1}));
        assert_eq!((issue.number, issue.body.as_str(), issue.is_pull()), (7, "", false));
        assert_eq!(issue.assignees[0].login, "ann");
        assert!(one::<Issue>(&json!({"pull_request": {"url": "u"}})).is_pull());
        assert!(list::<Issue>(&json!({"message": "no list"})).is_empty());
    }

    #[test]
    fn the_date_of_an_answer_is_read() {
        let time = http_date("Wed, 18 Nov 2026 15:04:05 GMT").unwrap();
        assert_eq!(time.to_string(), "2026-11-18T15:04:05.000Z");
        assert_eq!(http_date("yesterday"), None);
    }
}
