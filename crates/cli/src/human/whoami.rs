//! Who the caller is, in words.

use super::Screen;
use super::words::{BOLD, DIM, paint};
use comity_core::role::Role;
use comity_core::view::HoldsView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize)]
pub struct Identity {
    pub me: String,
    pub why: String,
    pub via: Value,
    pub roles: Vec<Role>,
    pub holds: HoldsView,
}

pub fn words(identity: &Identity, _: &Screen) -> String {
    let mut out = format!("You are {}: {}.\n", paint(BOLD, &identity.me), identity.why);
    let roles: Vec<&str> = identity.roles.iter().map(|role| role.as_str()).collect();
    for (name, list) in [
        ("roles", roles.join(", ")),
        ("tasks", identity.holds.tasks.join(", ")),
        ("leases", identity.holds.leases.join(", ")),
    ] {
        if !list.is_empty() {
            out.push_str(&format!("  {}  {list}\n", paint(DIM, &format!("{name:<6}"))));
        }
    }
    out
}
