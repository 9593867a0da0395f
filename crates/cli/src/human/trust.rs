//! What a user trusts, in words.

use super::Screen;
use super::words::{BOLD, paint};
use comity_project::trust::{Power, Trusted};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Trusts {
    pub trusted: Vec<Trusted>,
    /// What the repository asks for and nobody has trusted.
    pub pending: Vec<Pending>,
    pub removed: Vec<Trusted>,
}

#[derive(Serialize, Deserialize)]
pub struct Pending {
    root: String,
    kind: String,
    value: String,
}

impl From<&Power> for Pending {
    fn from(power: &Power) -> Pending {
        let Power { root, kind, value } = power.clone();
        Pending { root: root.to_string_lossy().into_owned(), kind, value }
    }
}

pub fn words(trusts: &Trusts, _: &Screen) -> String {
    let mut out = String::new();
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push_str(&format!("{}\n{}", paint(BOLD, title), lines.concat()));
        }
    };
    let line = |root: &str, kind: &str, value: &str| format!("  {kind}  {value}\n    for {root}\n");
    let lines =
        |list: &[Trusted]| list.iter().map(|one| line(&one.root, &one.kind, &one.value)).collect();
    part("No longer trusted:", lines(&trusts.removed));
    part("You trust:", lines(&trusts.trusted));
    let pending = trusts.pending.iter().map(|one| line(&one.root, &one.kind, &one.value));
    part("Not trusted; `comity trust` trusts it:", pending.collect());
    if out.is_empty() {
        out.push_str("Nothing here needs your trust.\n");
    }
    out
}
