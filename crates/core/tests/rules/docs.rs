//! The tables in the documentation are those of the code. `COMITY_BLESS=1` rewrites them.

use comity_core::{role, status};
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

#[test]
fn the_page_of_permissions_has_the_table_of_the_code() {
    check("permissions.md", &role::permission_table());
}

#[test]
fn the_page_of_transitions_has_the_table_of_the_code() {
    check("transitions.md", &status::transition_table());
}

#[test]
fn rule_1_5_the_docs_say_that_an_identity_is_no_lock_on_one_machine() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("guarantees.md")).unwrap();
    assert!(page.contains("prevents accidents, not forgery"));
}
