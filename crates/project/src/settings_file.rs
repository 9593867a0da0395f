//! The settings one by one: what is set, where it comes from, and setting one without touching the rest of the file.

use crate::config::{CONFIG_BYTES_MAX, Config, find_key};
use crate::plain_file;
use crate::setup::{self, DEFAULT_CONFIG, failed};
use comity_core::ids::AgentId;
use comity_core::nearest::nearest;
use comity_core::policy::may_set;
use comity_core::refusal::{Code, Refusal};
use std::io::Write;
use std::path::Path;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// A key that a project can set.
struct Known {
    key: String,
    /// The default or an example, which tells the type.
    example: Value,
    about: String,
}

/// Keys that are shown with an example: without a value, nothing is set, or what their meaning says. All others are shown
/// with their default.
const EXAMPLES: [&str; 33] = [
    "store.url",
    "project.repo",
    "project.base",
    "roles.critic",
    "gates.required",
    "gates.keep",
    "gate.tests.command",
    "gate.tests.timeout",
    "gate.tests.env",
    "branch.pattern",
    "guard.max_commit_files",
    "guard.max_commit_lines",
    "guard.max_pr_lines",
    "commit.template",
    "labels.dialect",
    "labels.states",
    "labels.roles",
    "github.repository",
    "github.repositories",
    "github.token_env",
    "github.token_command",
    "github.app",
    "github.reviewer",
    "github.assignee",
    "github.people",
    "github.agents",
    "github.checks",
    "github.webhook_secret_env",
    "github.dialects",
    "github.project",
    "serve.open_read",
    "sandbox.caches",
    "redact.patterns",
];
/// Tables of which every key is an example.
const TABLES_OF_EXAMPLES: [&str; 3] = ["prices.", "drivers.", "agent."];

fn is_example(key: &str) -> bool {
    EXAMPLES.contains(&key) || TABLES_OF_EXAMPLES.iter().any(|table| key.starts_with(table))
}

/// A setting as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub key: String,
    /// A text as it is, all else as TOML writes it; none where the default counts.
    pub value: Option<String>,
    /// The default, where it is a fixed value.
    pub default: Option<String>,
    /// The line of the file that sets it.
    pub line: Option<usize>,
    pub about: String,
}

/// Reads the keys from the settings that `init` writes: they show every key.
fn known() -> Vec<Known> {
    let mut table = String::new();
    let mut keys = Vec::new();
    for line in DEFAULT_CONFIG.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = name.to_owned();
        } else if let Some(entry) = line.strip_prefix("# ")
            && let Ok(document) = entry.parse::<DocumentMut>()
            && let Some((key, Item::Value(value))) = document.iter().next()
        {
            let after = value.decor().suffix().and_then(|text| text.as_str()).unwrap_or_default();
            let about = after.trim().trim_start_matches('#').trim().to_owned();
            let key = format!("{table}.{key}");
            keys.push(Known { key, example: value.clone(), about });
        }
    }
    keys
}

/// Lists the keys that a project can set.
pub fn keys() -> Vec<String> {
    known().into_iter().map(|known| known.key).collect()
}

fn text_of(root: &Path) -> Result<String, Refusal> {
    // What cannot be used is refused with its line before anything is shown or changed.
    Config::load(root)?;
    match plain_file::read_text(&Config::path(root), CONFIG_BYTES_MAX) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Refusal::input(format!("cannot read the settings: {error}"))),
    }
}

fn document(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse().map_err(|error| Refusal::input(format!("the settings are no TOML: {error}")))
}

/// Lists every setting: those that `init` shows, and what else the file sets.
pub fn list(root: &Path) -> Result<Vec<Setting>, Refusal> {
    let text = text_of(root)?;
    let document = document(&text)?;
    let mut found: Vec<(String, String)> = Vec::new();
    leaves(document.as_table(), "", &mut found);
    let mut settings = Vec::new();
    for Known { key, example, about } in known() {
        let at = found.iter().position(|(name, _)| *name == key);
        let value = at.map(|at| found.remove(at).1);
        let line = value.as_ref().and_then(|_| find_key(&text, &key));
        let default = (!is_example(&key)).then(|| plain(&example));
        settings.push(Setting { key, value, default, line, about });
    }
    for (key, value) in found {
        let line = find_key(&text, &key);
        let (value, default) = (Some(value), None);
        settings.push(Setting { key, value, default, line, about: String::new() });
    }
    Ok(settings)
}

fn leaves(table: &dyn TableLike, path: &str, found: &mut Vec<(String, String)>) {
    for (key, item) in table.iter() {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match item {
            Item::Value(value) => found.push((path, plain(value))),
            Item::Table(inner) => leaves(inner, &path, found),
            Item::None | Item::ArrayOfTables(_) => {}
        }
    }
}

/// A text as it is, all else as TOML writes it.
fn plain(value: &Value) -> String {
    let toml = || value.clone().decorated("", "").to_string();
    value.as_str().map_or_else(toml, str::to_owned)
}

/// Returns one setting.
pub fn get(root: &Path, key: &str) -> Result<Setting, Refusal> {
    let all = list(root)?;
    all.into_iter().find(|setting| setting.key == key).ok_or_else(|| unknown(key))
}

fn unknown(key: &str) -> Refusal {
    let keys = keys();
    let near = nearest(key, keys.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => format!("the settings are: {}", keys.join(", ")),
    };
    Refusal::new(Code::InvalidInput, format!("there is no setting {key}"))
        .hint(hint)
        .detail("nearest", near)
}

/// Sets one setting and keeps all else in the file as it is, comments included.
pub fn set(actor: &AgentId, root: &Path, key: &str, text: &str) -> Result<Setting, Refusal> {
    may_set(actor)?;
    put(root, key, text)
}

fn put(root: &Path, key: &str, text: &str) -> Result<Setting, Refusal> {
    setup::write(root, None, root)?;
    let before = text_of(root)?;
    let mut document = document(&before)?;
    let (tables, name) = key.rsplit_once('.').ok_or_else(|| unknown(key))?;
    let known = known();
    let example = known.iter().find(|known| known.key == key).map(|known| &known.example);
    // Tables such as [roles] take further keys.
    let open = ["roles.", "labels.states.", "labels.roles.", "gate."];
    if example.is_none() && !open.iter().any(|table| key.starts_with(table)) {
        return Err(unknown(key));
    }
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in tables.split('.') {
        let inner = table.entry(part).or_insert_with(toml_edit::table);
        table = inner
            .as_table_like_mut()
            .ok_or_else(|| Refusal::input(format!("{part} of {key} is not a table")))?;
    }
    let mut value = value_of(text, example);
    if let Some(old) = table.get(name).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(name, Item::Value(value));
    let after = document.to_string();
    let file = Config::path(root);
    Config::parse(&after, &file).map_err(|refusal| invalid(key, text, refusal))?;
    replace(&file, &after)?;
    get(root, key)
}

/// Says that a value makes no sense, without a line that is in no file.
fn invalid(key: &str, text: &str, mut refusal: Refusal) -> Refusal {
    let said = refusal.message.split_once(": ").map_or(refusal.message.as_str(), |(_, said)| said);
    let said = said.strip_prefix(&format!("key {key}: ")).unwrap_or(said);
    refusal.message = format!("{key} cannot be {text:?}: {}", said.replace('\n', " "));
    refusal.hint("nothing was changed")
}

/// Reads a value as people type it: bare words where a text is wanted, a list with commas where a list is.
fn value_of(text: &str, example: Option<&Value>) -> Value {
    let parsed = text.parse::<Value>().ok();
    match example {
        Some(Value::String(_)) => match parsed {
            Some(value @ Value::String(_)) => value,
            _ => Value::from(text),
        },
        Some(Value::Array(_)) | None => match parsed {
            Some(value @ Value::Array(_)) => value,
            Some(value) if example.is_none() && !text.contains(',') => value,
            _ if example.is_none() && !text.contains(',') => Value::from(text),
            _ => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                Value::Array(words.collect())
            }
        },
        Some(_) => parsed.unwrap_or_else(|| Value::from(text)),
    }
}

/// Puts a new file in the place of the old one at once.
fn replace(file: &Path, text: &str) -> Result<(), Refusal> {
    let fresh = file.with_extension("toml.new");
    // What a crash left behind is in nobody's way.
    let _ = std::fs::remove_file(&fresh);
    let written = std::fs::File::create_new(&fresh).and_then(|mut out| {
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&fresh, file)
    });
    written.map_err(|error| failed(file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_init_shows_can_be_set_to_its_example() {
        let dir = tempfile::tempdir().unwrap();
        let all = known();
        assert!(all.len() > 15, "{:?}", keys());
        // Words of one's own for labels only make sense together.
        let dumb: Vec<&str> =
            all.iter().filter(|one| one.about.is_empty()).map(|one| one.key.as_str()).collect();
        assert_eq!(dumb, [""; 0], "each says what it means");
        for Known { key, example, .. } in all.iter().filter(|one| !one.key.starts_with("labels.")) {
            let text = plain(example);
            let set = put(dir.path(), key, &text).unwrap_or_else(|bad| panic!("{key}: {bad:?}"));
            assert_eq!(set.value.as_deref(), Some(text.as_str()), "{key}");
        }
    }

    #[test]
    fn what_is_shown_as_a_default_is_what_counts_without_a_setting() {
        let resolved = |text: &str| {
            let config = Config::parse(text, Path::new("config.toml")).unwrap();
            let settings = config.settings().map_err(|_| ()).unwrap();
            let github = config.github().map_err(|_| ()).unwrap();
            let writes = config.writes().unwrap();
            format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                settings.policy,
                settings.redact,
                writes,
                config.commits(),
                config.protected_branches(),
                config.serve_rate(),
                github,
                config.run_times().map_err(|_| ()),
                config.elsewhere().map_err(|_| ()),
                config.max_duration().map_err(|_| ()),
                config.sandbox().map_err(|_| ()),
                (config.allows_unpriced().map_err(|_| ()), config.agent("any").map_err(|_| ())),
            )
        };
        let as_without = resolved("");
        let mut others = Vec::new();
        for Known { key, example, .. } in known().into_iter().filter(|one| !is_example(&one.key)) {
            let (table, name) = key.rsplit_once('.').unwrap();
            let value = plain(&example);
            let value = if example.is_str() { format!("{value:?}") } else { value };
            if resolved(&format!("[{table}]\n{name} = {value}\n")) != as_without {
                others.push(key);
            }
        }
        assert_eq!(others, [""; 0], "these are examples");
    }

    #[test]
    fn a_setting_is_set_and_the_rest_of_the_file_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        setup::write(root, None, root).unwrap();
        let file = Config::path(root);
        let text = "# ours\n[limits]\nttl = \"10m\" # short\n\n[gates]\nrequired = [] # none\n";
        std::fs::write(&file, text).unwrap();
        assert_eq!(put(root, "limits.ttl", "30m").unwrap().line, Some(3));
        put(root, "gates.required", "tests, lint").unwrap();
        put(root, "roles.critic", "fly").unwrap_err();
        put(root, "roles.critic", "[\"done\"]").unwrap();
        put(root, "project.fold_case", "true").unwrap();
        let wanted = "# ours\n[limits]\nttl = \"30m\" # short\n\n[gates]\nrequired = [\"tests\", \"lint\"] # none\n";
        let now = std::fs::read_to_string(&file).unwrap();
        assert!(now.starts_with(wanted), "{now}");
        assert_eq!(get(root, "roles.critic").unwrap().value.as_deref(), Some("[\"done\"]"));
        assert_eq!(get(root, "limits.max_attempts").unwrap().value, None);
    }

    #[test]
    fn an_unknown_key_and_a_wrong_value_change_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let refused = put(root, "limits.tll", "1h").unwrap_err();
        assert_eq!(
            refused.details.get("nearest").and_then(|near| near.as_str()),
            Some("limits.ttl")
        );
        let before = std::fs::read_to_string(Config::path(root)).unwrap();
        let refused = put(root, "limits.ttl", "soon").unwrap_err();
        assert!(
            refused.message.starts_with("limits.ttl cannot be \"soon\": "),
            "{}",
            refused.message
        );
        assert!(put(root, "limits.max_attempts", "many").is_err());
        assert!(put(root, "ttl", "1h").is_err() && get(root, "limits.nope").is_err());
        assert_eq!(std::fs::read_to_string(Config::path(root)).unwrap(), before);
    }
}
