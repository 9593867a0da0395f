//! Settings in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BOLD, DIM, paint, width, wrap};
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
    /// The default, where it is a fixed value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Where the value comes from.
    pub origin: String,
    pub about: String,
}

/// The widest name of a setting that meanings stand beside.
const NAME_COLUMNS: usize = 26;

pub fn list(answer: &SettingsShown, screen: &Screen) -> String {
    if !screen.terminal {
        let mut table = Table::new(&["SETTING", "VALUE", "FROM", "MEANING"], "MEANING");
        for one in &answer.settings {
            let value = one.value.clone().unwrap_or_else(|| "-".to_owned());
            table.row(
                [one.key.clone(), value, one.origin.clone(), one.about.clone()].map(plain).to_vec(),
            );
        }
        return table.render(screen);
    }
    let mut out = String::new();
    let (set, left): (Vec<_>, Vec<_>) = answer.settings.iter().partition(|one| one.value.is_some());
    if !set.is_empty() {
        out.push_str(&format!("{}\n", paint(BOLD, "Set")));
    }
    for one in &set {
        let value = one.value.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "  {} = {value}  {}\n",
            paint(BOLD, &one.key),
            paint(DIM, &one.origin)
        ));
    }
    if !set.is_empty() && !left.is_empty() {
        out.push('\n');
    }
    if !left.is_empty() {
        out.push_str(&format!("{}\n", paint(BOLD, "Left at their defaults")));
    }
    for one in left {
        let meaning = wrap(&one.about, &" ".repeat(NAME_COLUMNS + 4), screen.columns);
        let name = format!("  {:<NAME_COLUMNS$}  ", one.key);
        let line = match meaning.strip_prefix(&" ".repeat(width(&name))) {
            Some(beside) => format!("{name}{}", paint(DIM, beside.trim_end())),
            None => name.trim_end().to_owned(),
        };
        out.push_str(&format!("{line}\n"));
    }
    out
}
