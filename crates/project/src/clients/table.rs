//! The table `[mcp_servers.comity]` in a TOML file that belongs to somebody else.

use toml_edit::{DocumentMut, Item, Table, Value};

const SERVERS: &str = "mcp_servers";
const NAME: &str = "comity";

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| {
        error.message().lines().next().unwrap_or("it is not valid TOML").to_owned()
    })
}

pub(super) fn put_in(text: &str, keys: &[(&str, Value)]) -> Result<String, String> {
    let mut document = parse(text)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers =
        servers.as_table_mut().ok_or_else(|| format!("its key {SERVERS:?} is not a table"))?;
    let own = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
    let own =
        own.as_table_mut().ok_or_else(|| format!("its key {SERVERS}.{NAME} is not a table"))?;
    for (key, value) in keys {
        let is_same =
            own.get(key).and_then(Item::as_value).is_some_and(|found| plain(found) == plain(value));
        if !is_same {
            own.insert(key, Item::Value(value.clone()));
        }
    }
    Ok(document.to_string())
}

/// A value without the spaces around its parts.
fn plain(value: &Value) -> String {
    let mut value = value.clone();
    if let Some(array) = value.as_array_mut() {
        array.fmt();
    }
    value.decorated("", "").to_string()
}

/// Returns nothing when nothing is left.
pub(super) fn take_out(text: &str) -> Result<Option<String>, String> {
    let mut document = parse(text)?;
    if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_mut) {
        servers.remove(NAME);
        if servers.is_empty() && servers.is_implicit() {
            document.remove(SERVERS);
        }
    }
    let left = document.to_string();
    Ok((!left.trim().is_empty()).then_some(left))
}
