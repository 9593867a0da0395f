//! The tables in the documentation are those of the code. `COMITY_BLESS=1` rewrites them.

use comity_core::role::{Role, Verb};
use comity_core::status::Status;
use std::path::Path;

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->";

fn check(name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has a place for the table");
    let (found, after) = rest.split_once(END).expect("the place for the table ends");
    if std::env::var_os("COMITY_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(found, table, "{name} is out of date: run the tests with COMITY_BLESS=1");
}

fn permission_table() -> String {
    let mut out = String::from("| verb |");
    for role in Role::ALL {
        out.push_str(&format!(" {role} |"));
    }
    out.push_str(" person |\n|---|");
    out.push_str(&"---|".repeat(Role::ALL.len() + 1));
    for verb in Verb::ALL {
        out.push_str(&format!("\n| {verb} |"));
        for role in Role::ALL {
            out.push_str(if verb.roles().contains(&role) { " yes |" } else { " – |" });
        }
        out.push_str(" yes |");
    }
    out.push('\n');
    out
}

fn transition_table() -> String {
    let mut out = String::from("| from | to |\n|---|---|\n");
    for from in Status::ALL {
        let next: Vec<String> = from.next().iter().map(|to| to_words(from, *to)).collect();
        out.push_str(&format!("| `{from}` | {} |\n", next.join(" · ")));
    }
    out
}

fn to_words(from: Status, to: Status) -> String {
    use Status::{Abandoned, Approved, Blocked, Done, Failed, InProgress, Queued};
    let condition = match (from, to) {
        (Queued | Failed, InProgress) => " (claims on the way)",
        (Status::Claimed | InProgress, Queued) => " (released, reclaimed)",
        (Approved, Done) => " (no code to merge)",
        (Blocked, InProgress) => " (its last assignee, claims on the way)",
        (Failed, Queued) => " (attempts left)",
        (Failed, Blocked) => " (none left)",
        (Done | Abandoned, Queued) => " (a person's `reopen`, with a reason)",
        _ => "",
    };
    format!("`{to}`{condition}")
}

#[test]
fn the_page_of_permissions_has_the_table_of_the_code() {
    check("permissions.md", &permission_table());
}

#[test]
fn the_page_of_transitions_has_the_table_of_the_code() {
    check("transitions.md", &transition_table());
}

fn supervisor_table() -> String {
    let table = comity_core::supervise::Table::built_in().unwrap();
    let file: toml::Table = toml::from_str(comity_core::supervise::BUILT_IN).unwrap();
    let given = file["rule"].as_array().unwrap();
    let mut out = String::from("| id | on | when | do |\n|---|---|---|---|\n");
    for (row, text) in table.rows.iter().zip(given) {
        let conditions = text.get("when").and_then(|when| when.as_array());
        let when: Vec<String> = conditions
            .into_iter()
            .flatten()
            .map(|one| {
                let words = one.as_array().unwrap().iter();
                let words = words.map(|word| word.as_str().map_or(word.to_string(), str::to_owned));
                format!("`{}`", words.collect::<Vec<_>>().join(" ").replace('|', "\\|"))
            })
            .collect();
        out.push_str(&format!(
            "| {} | `{}` | {} | `{}` |\n",
            row.id,
            row.on,
            when.join(", "),
            row.words
        ));
    }
    let fields = comity_core::supervise::FIELDS.iter().chain(&comity_core::supervise::COUNTS);
    let fields: Vec<String> = fields.map(|field| format!("`{field}`")).collect();
    out.push_str(&format!("\nFields: {}.\n", fields.join(", ")));
    out
}

#[test]
fn the_page_of_the_supervisor_has_the_rows_of_the_table() {
    check("supervisor.md", &supervisor_table());
}

#[test]
fn rule_1_5_the_docs_say_that_an_identity_is_no_lock_on_one_machine() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("guarantees.md")).unwrap();
    assert!(page.contains("prevents accidents, not forgery"));
}
