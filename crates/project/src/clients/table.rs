//! comity's part of Codex's settings, in a TOML file that belongs to somebody else: the table `[mcp_servers.comity]`, and
//! who the commands of Codex act for.

use toml_edit::{DocumentMut, Item, Table as TomlTable, Value};

const SERVERS: &str = "mcp_servers";
const NAME: &str = "comity";
/// The keys that say how the server is reached. Codex refuses those of two ways at once.
const WAYS: [&str; 5] = ["command", "args", "env_vars", "url", "bearer_token_env_var"];
/// Where Codex has the variables that its commands get.
const POLICY: &str = "shell_environment_policy";
const SET: &str = "set";

/// What comity wants of the file.
pub(super) struct Table {
    /// The keys of `[mcp_servers.comity]`.
    pub server: Vec<(&'static str, Value)>,
    /// A variable for the commands of Codex; without a value comity sets none.
    pub variable: (&'static str, Option<String>),
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| {
        error.message().lines().next().unwrap_or("it is not valid TOML").to_owned()
    })
}

/// A table that is written only with what is in it.
fn implicit() -> Item {
    let mut table = TomlTable::new();
    table.set_implicit(true);
    Item::Table(table)
}

pub(super) fn put_in(text: &str, wanted: &Table) -> Result<String, String> {
    let mut document = parse(text)?;
    let servers = document.entry(SERVERS).or_insert_with(implicit);
    let servers =
        servers.as_table_mut().ok_or_else(|| format!("its key {SERVERS:?} is not a table"))?;
    let own = servers.entry(NAME).or_insert_with(|| Item::Table(TomlTable::new()));
    let own =
        own.as_table_mut().ok_or_else(|| format!("its key {SERVERS}.{NAME} is not a table"))?;
    for key in WAYS {
        if wanted.server.iter().all(|(wanted, _)| *wanted != key) {
            own.remove(key);
        }
    }
    for (key, value) in &wanted.server {
        let is_same =
            own.get(key).and_then(Item::as_value).is_some_and(|found| plain(found) == plain(value));
        if !is_same {
            own.insert(key, Item::Value(value.clone()));
        }
    }
    if let (name, Some(value)) = &wanted.variable {
        set(&mut document, name, value)?;
    }
    Ok(document.to_string())
}

/// Sets a variable for the commands of Codex.
fn set(document: &mut DocumentMut, name: &str, value: &str) -> Result<(), String> {
    let not_a_table = || format!("its key {POLICY}.{SET} is not a table");
    let policy = document.entry(POLICY).or_insert_with(implicit);
    let policy = policy.as_table_like_mut().ok_or_else(not_a_table)?;
    let set = policy.entry(SET).or_insert_with(|| Item::Table(TomlTable::new()));
    let set = set.as_table_like_mut().ok_or_else(not_a_table)?;
    if set.get(name).and_then(Item::as_str) != Some(value) {
        set.insert(name, Item::Value(value.into()));
    }
    Ok(())
}

/// Takes a variable away, with the tables that are empty without it.
fn unset(document: &mut DocumentMut, name: &str) {
    let Some(policy) = document.get_mut(POLICY).and_then(Item::as_table_like_mut) else { return };
    let Some(set) = policy.get_mut(SET).and_then(Item::as_table_like_mut) else { return };
    if set.remove(name).is_some() && set.is_empty() {
        policy.remove(SET);
    }
    let is_ours =
        |item: &Item| item.as_table().is_some_and(|table| table.is_empty() && table.is_implicit());
    if document.get(POLICY).is_some_and(is_ours) {
        document.remove(POLICY);
    }
}

/// Returns the address of comity's server, if the file has one, and what the variable is.
pub(super) fn read(text: &str, variable: &str) -> Option<(String, Option<String>)> {
    let document = parse(text).ok()?;
    let url = document.get(SERVERS)?.get(NAME)?.get("url")?.as_str()?.to_owned();
    let set = document.get(POLICY).and_then(|policy| policy.get(SET));
    let value = set.and_then(|set| set.get(variable)).and_then(Item::as_str);
    Some((url, value.map(str::to_owned)))
}

/// A value without the spaces around its parts.
fn plain(value: &Value) -> String {
    let mut value = value.clone();
    if let Some(array) = value.as_array_mut() {
        array.fmt();
    }
    value.decorated("", "").to_string()
}

/// Takes comity's part out; a file without one stays as it is. Returns nothing when nothing is left.
pub(super) fn take_out(text: &str, wanted: &Table) -> Result<Option<String>, String> {
    let mut document = parse(text)?;
    let servers = document.get_mut(SERVERS).and_then(Item::as_table_mut);
    let Some(servers) = servers.filter(|servers| servers.contains_key(NAME)) else {
        return Ok(Some(text.to_owned()));
    };
    servers.remove(NAME);
    if servers.is_empty() && servers.is_implicit() {
        document.remove(SERVERS);
    }
    unset(&mut document, wanted.variable.0);
    let left = document.to_string();
    Ok((!left.trim().is_empty()).then_some(left))
}
