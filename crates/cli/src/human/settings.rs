//! Settings in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct SettingsShown {
    pub settings: Vec<SettingShown>,
}

#[derive(Serialize, Deserialize)]
pub struct SettingShown {
    pub key: String,
    /// None where the default counts.
    pub value: Option<String>,
    /// Where the value comes from.
    pub origin: String,
    pub about: String,
}

pub fn list(answer: &SettingsShown, screen: &Screen) -> String {
    let mut table = Table::new(&["SETTING", "VALUE", "FROM", "MEANING"], "MEANING");
    for one in &answer.settings {
        let set = one.value.is_some();
        let value = one.value.clone().unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            (one.key.clone(), if set { BOLD } else { DIM }),
            plain(value),
            (one.origin.clone(), DIM),
            (one.about.clone(), DIM),
        ]);
    }
    table.render(screen)
}
