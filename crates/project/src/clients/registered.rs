//! What is registered, read from the files again, so that it can be tried.

use super::change;
use super::wanted::{AGENT, AgentClient, MCP_PATH, Through, Wanted, of_client};
use super::{json, table};
use crate::machine::Environment;
use crate::plain_file;
use comity_core::refusal::Refusal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item};

/// The largest file of a client that is read.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A client that comity is registered with.
#[derive(Debug, PartialEq)]
pub struct Registered {
    pub client: AgentClient,
    pub through: Through,
    /// The file that names comity's server.
    pub file: &'static str,
    /// Files of the client that are missing, or not as comity would write them today.
    pub outdated: Vec<String>,
}

/// Finds the clients whose files name comity's server.
pub fn registered(root: &Path, beside_store: &Path) -> Result<Vec<Registered>, Refusal> {
    let mut all = Vec::new();
    for client in AgentClient::ALL {
        let through = through(root, client);
        let wanted = of_client(client, &through, false);
        let Some(file) = wanted.first().map(|first| first.path) else { continue };
        let out = change::take_out(root, beside_store, &wanted, true)?;
        if !out.changed.iter().chain(&out.removed).any(|path| path == file) {
            continue;
        }
        // Whether the tools were approved is the user's affair.
        let mut outdated = differing(root, beside_store, &wanted)?;
        if !outdated.is_empty() {
            let approved = of_client(client, &through, true);
            let fewer = differing(root, beside_store, &approved)?;
            outdated = if fewer.len() < outdated.len() { fewer } else { outdated };
        }
        all.push(Registered { client, through, file, outdated });
    }
    Ok(all)
}

/// Names the files that are not as comity wants them.
fn differing(root: &Path, beside_store: &Path, wanted: &[Wanted]) -> Result<Vec<String>, Refusal> {
    let again = change::put_in(root, beside_store, wanted, true)?;
    let left_alone = again.left_alone.into_iter().map(|(path, _)| path);
    Ok(again.created.into_iter().chain(again.changed).chain(left_alone).collect())
}

/// Returns how a client reaches comity by its files: a client that is not registered would start it.
pub fn through(root: &Path, client: AgentClient) -> Through {
    let read = |path: &str| plain_file::read_text(&root.join(path), FILE_BYTES_MAX).ok();
    let (file, keys) = client.server();
    let text = read(file).unwrap_or_default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let of_json = || {
        let url = |name| json::read(text, &[keys, &[name]].concat());
        let settings = || read(".claude/settings.json").filter(|_| client == AgentClient::Claude);
        let agent = || json::read(&settings()?, &["env", AGENT]);
        Some((url("url").or_else(|| url("httpUrl"))?, agent()))
    };
    let found = match client {
        AgentClient::Codex => table::read(text, AGENT),
        AgentClient::Claude
        | AgentClient::Gemini
        | AgentClient::OpenCode
        | AgentClient::Cursor
        | AgentClient::VsCode => of_json(),
    };
    found.map_or(Through::Stdio, |(url, agent)| Through::Http {
        url: url.strip_suffix(MCP_PATH).unwrap_or(&url).to_owned(),
        agent: agent.unwrap_or_default(),
    })
}

/// Returns the hooks of comity that Codex was not told to trust, by their events. Codex skips them without a word.
pub fn untrusted_by_codex(root: &Path, environment: &Environment) -> Vec<String> {
    let file = root.join(".codex/hooks.json");
    let read = |path: &Path| plain_file::read_text(path, FILE_BYTES_MAX).ok();
    let hooks =
        read(&file).and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    let settings = codex_home(environment).and_then(|home| read(&home.join("config.toml")));
    let settings: DocumentMut = settings.and_then(|text| text.parse().ok()).unwrap_or_default();
    let state = settings.get("hooks").and_then(|hooks| hooks.get("state"));
    let is_trusted = |key: &str| {
        let kept = state.and_then(|state| state.get(key));
        kept.and_then(|kept| kept.get("trusted_hash")).is_some_and(Item::is_str)
    };
    let mut untrusted = Vec::new();
    for (event, groups) in hooks.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for (g, group) in groups.as_array().into_iter().flatten().enumerate() {
            let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
            for (h, hook) in hooks.enumerate() {
                let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
                let key = format!("{}:{}:{g}:{h}", file.display(), in_snake_case(event));
                if command.starts_with("comity ") && !is_trusted(&key) {
                    untrusted.push(event.clone());
                }
            }
        }
    }
    untrusted
}

fn codex_home(environment: &Environment) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(environment.own("HOME")?).join(".codex"));
    environment.own("CODEX_HOME").map(PathBuf::from).or_else(home)
}

/// Codex keeps `PreToolUse` as `pre_tool_use`.
fn in_snake_case(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{register, unregister};

    #[test]
    fn a_client_is_registered_while_its_file_names_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let (root, beside) = (dir.path(), dir.path().join("beside"));
        assert_eq!(registered(root, &beside).unwrap(), []);
        register(
            root,
            &beside,
            &[AgentClient::Claude, AgentClient::VsCode],
            &Through::Stdio,
            true,
            false,
        )
        .unwrap();
        let found = registered(root, &beside).unwrap();
        assert_eq!(
            found.iter().map(|one| (one.client, one.file)).collect::<Vec<_>>(),
            [(AgentClient::Claude, ".mcp.json"), (AgentClient::VsCode, ".vscode/mcp.json")]
        );
        assert!(found.iter().all(|one| one.outdated.is_empty()), "{found:?}");
        std::fs::remove_file(root.join(".claude/settings.json")).unwrap();
        let found = registered(root, &beside).unwrap();
        assert_eq!(found.first().unwrap().outdated, [".claude/settings.json"]);
        unregister(root, &beside, false).unwrap();
        assert_eq!(registered(root, &beside).unwrap(), []);
    }

    #[test]
    fn codex_skips_hooks_until_its_own_settings_trust_each_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        let home = root.join("codex-home");
        std::fs::create_dir(&home).unwrap();
        let environment = Environment::new([("CODEX_HOME".into(), home.clone().into())]);
        assert_eq!(untrusted_by_codex(&root, &environment), Vec::<String>::new());
        register(&root, &root.join("beside"), &[AgentClient::Codex], &Through::Stdio, false, false)
            .unwrap();
        let all = ["PreToolUse", "PostToolUse", "Stop", "SessionStart"];
        let mut found = untrusted_by_codex(&root, &environment);
        found.sort();
        let mut wanted = all.map(str::to_owned);
        wanted.sort();
        assert_eq!(found, wanted);
        let state = |event: &str| {
            let file = root.join(".codex/hooks.json");
            format!(
                "[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:00\"\n",
                file.display()
            )
        };
        let trusted = ["pre_tool_use", "post_tool_use", "session_start"].map(state).join("");
        std::fs::write(home.join("config.toml"), trusted).unwrap();
        assert_eq!(untrusted_by_codex(&root, &environment), ["Stop"]);
    }
}
