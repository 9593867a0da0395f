//! What comity writes for each client, file by file.

use super::json::Entry;
use serde_json::{Value, json};

/// An agent client that comity can be registered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentClient {
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Cursor,
    VsCode,
}

impl AgentClient {
    pub const ALL: [AgentClient; 6] = [
        AgentClient::Claude,
        AgentClient::Codex,
        AgentClient::Gemini,
        AgentClient::OpenCode,
        AgentClient::Cursor,
        AgentClient::VsCode,
    ];

    /// The client's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            AgentClient::Claude => "claude",
            AgentClient::Codex => "codex",
            AgentClient::Gemini => "gemini",
            AgentClient::OpenCode => "opencode",
            AgentClient::Cursor => "cursor",
            AgentClient::VsCode => "vscode",
        }
    }

    /// The client's name in identities: `comity mcp --client NAME`.
    pub const fn identity(self) -> &'static str {
        match self {
            AgentClient::Claude => "claude-code",
            other => other.name(),
        }
    }

    /// Whether the client asks comity before and after its tools.
    pub const fn has_hooks(self) -> bool {
        matches!(self, AgentClient::Claude | AgentClient::Codex)
    }

    /// A program with one of these names says that the client is installed.
    pub(super) const fn programs(self) -> &'static [&'static str] {
        match self {
            AgentClient::Claude => &["claude"],
            AgentClient::Codex => &["codex"],
            AgentClient::Gemini => &["gemini"],
            AgentClient::OpenCode => &["opencode"],
            AgentClient::Cursor => &["cursor", "cursor-agent"],
            AgentClient::VsCode => &["code"],
        }
    }

    /// One of these files says that the project uses the client.
    pub(super) const fn traces(self) -> &'static [&'static str] {
        match self {
            AgentClient::Claude => &[".claude", ".mcp.json", "CLAUDE.md"],
            AgentClient::Codex => &[".codex"],
            AgentClient::Gemini => &[".gemini", "GEMINI.md"],
            AgentClient::OpenCode => &["opencode.json", ".opencode"],
            AgentClient::Cursor => &[".cursor"],
            AgentClient::VsCode => &[".vscode"],
        }
    }
}

/// What comity wants of one file.
pub(super) enum What {
    Json(Vec<Entry>),
    /// The table `[mcp_servers.comity]`.
    Server(Vec<(&'static str, toml_edit::Value)>),
    /// Lines between comity's two marks.
    Block(&'static str),
    /// A file of comity's own.
    Own(&'static str),
    /// A file that is written only where there is none.
    IfAbsent(&'static str),
}

/// One file of a client, below the root.
pub(super) struct Wanted {
    pub path: &'static str,
    pub what: What,
}

/// The variables that Codex hands to comity's server: it hands on no others.
const VARIABLES: [&str; 10] = [
    "COMITY_AGENT",
    "COMITY_FENCE",
    "COMITY_REPO",
    "COMITY_ROOT",
    "COMITY_RUN",
    "COMITY_SOCKET",
    "COMITY_STORE",
    "COMITY_TOKEN",
    "COMITY_URL",
    "CODEX_THREAD_ID",
];

const AGENTS_MD: &str = include_str!("agents.md");
const SKILL_MD: &str = include_str!("skill.md");
/// Claude Code reads `AGENTS.md` only through this line.
const CLAUDE_MD: &str = "@AGENTS.md\n";

/// How long a client waits for a hook, in seconds. The guard itself gives up earlier.
const HOOK_SECONDS: u32 = 10;
/// Tools of Claude Code that can write files, and every MCP server but comity's own.
const CLAUDE_WRITERS: &str =
    "Edit|Write|NotebookEdit|Bash|PowerShell|Monitor|Workflow|mcp__(?!comity__).*";

/// Returns the files of these clients. `approve` lets the clients call comity's tools without asking each time.
pub(super) fn wanted(clients: &[AgentClient], approve: bool) -> Vec<Wanted> {
    let mut files: Vec<Wanted> = clients.iter().flat_map(|one| of_client(*one, approve)).collect();
    if !clients.is_empty() {
        files.push(Wanted { path: "AGENTS.md", what: What::Block(AGENTS_MD) });
    }
    let shared = ".agents/skills/comity/SKILL.md";
    if clients
        .iter()
        .any(|one| matches!(one, AgentClient::Codex | AgentClient::Gemini | AgentClient::OpenCode))
    {
        files.push(Wanted { path: shared, what: What::Own(SKILL_MD) });
    }
    files
}

/// The first file names comity's server.
pub(super) fn of_client(client: AgentClient, approve: bool) -> Vec<Wanted> {
    let file = |path, what| Wanted { path, what };
    let args = json!(["mcp", "--client", client.identity()]);
    let server = json!({"command": "comity", "args": args});
    match client {
        AgentClient::Claude => {
            let server = json!({"type": "stdio", "command": "comity", "args": args});
            vec![
                file(".mcp.json", What::Json(vec![Entry::Key(&["mcpServers", "comity"], server)])),
                file(".claude/settings.json", What::Json(claude_settings(approve))),
                file(".claude/skills/comity/SKILL.md", What::Own(SKILL_MD)),
                file("CLAUDE.md", What::IfAbsent(CLAUDE_MD)),
            ]
        }
        AgentClient::Codex => {
            let words = |words: &[&str]| words.iter().copied().collect::<toml_edit::Array>().into();
            let mut keys: Vec<(&'static str, toml_edit::Value)> = vec![
                ("command", "comity".into()),
                ("args", words(&["mcp", "--client", "codex"])),
                ("env_vars", words(&VARIABLES)),
            ];
            if approve {
                keys.push(("default_tools_approval_mode", "approve".into()));
            }
            vec![
                file(".codex/config.toml", What::Server(keys)),
                file(".codex/hooks.json", What::Json(codex_hooks())),
            ]
        }
        AgentClient::Gemini => {
            let mut server = server;
            if approve && let Some(map) = server.as_object_mut() {
                map.insert("trust".to_owned(), Value::Bool(true));
            }
            let names = json!(["AGENTS.md", "GEMINI.md"]);
            let entries = vec![
                Entry::Key(&["mcpServers", "comity"], server),
                Entry::Default(&["context", "fileName"], names),
            ];
            vec![file(".gemini/settings.json", What::Json(entries))]
        }
        AgentClient::OpenCode => {
            let command = json!(["comity", "mcp", "--client", "opencode"]);
            let server = json!({"type": "local", "command": command, "enabled": true});
            vec![file("opencode.json", What::Json(vec![Entry::Key(&["mcp", "comity"], server)]))]
        }
        AgentClient::Cursor => {
            let entry = Entry::Key(&["mcpServers", "comity"], server);
            vec![file(".cursor/mcp.json", What::Json(vec![entry]))]
        }
        AgentClient::VsCode => {
            let server = json!({"type": "stdio", "command": "comity", "args": args});
            let entry = Entry::Key(&["servers", "comity"], server);
            vec![file(".vscode/mcp.json", What::Json(vec![entry]))]
        }
    }
}

/// Claude Code's hooks. Only the one before a tool blocks when it fails.
fn claude_settings(approve: bool) -> Vec<Entry> {
    let hook = |args: Value, blocks: bool| {
        let mut hook =
            json!({"type": "command", "command": "comity", "args": args, "timeout": HOOK_SECONDS});
        if blocks && let Some(map) = hook.as_object_mut() {
            map.insert("onFailure".to_owned(), json!("block"));
        }
        hook
    };
    let guard = json!(["guard", "hook", "--client", "claude"]);
    let before = json!({"matcher": CLAUDE_WRITERS, "hooks": [hook(guard.clone(), true)]});
    let after = json!({"matcher": CLAUDE_WRITERS, "hooks": [hook(guard.clone(), false)]});
    let end = json!({"hooks": [hook(guard, false)]});
    let start = json!({"hooks": [hook(json!(["prime", "--hook"]), false)]});
    let mut entries = vec![
        Entry::Item(&["hooks", "PreToolUse"], before),
        Entry::Item(&["hooks", "PostToolUse"], after.clone()),
        Entry::Item(&["hooks", "PostToolUseFailure"], after),
        Entry::Item(&["hooks", "Stop"], end.clone()),
        Entry::Item(&["hooks", "SessionEnd"], end),
        Entry::Item(&["hooks", "SessionStart"], start),
    ];
    if approve {
        entries.push(Entry::Item(&["permissions", "allow"], json!("mcp__comity")));
        entries.push(Entry::Item(&["enabledMcpjsonServers"], json!("comity")));
    }
    entries
}

/// Codex's hooks. Codex lets a tool run when a hook cannot be started, so the shell closes that gap; a hook that fails
/// after a tool would make Codex go on for ever.
fn codex_hooks() -> Vec<Entry> {
    let group = |command: &str| {
        json!({"matcher": "*",
            "hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]})
    };
    // The guard's own no ends with 2, and has said why.
    let before = "comity guard hook --client codex || \
                  { [ $? -eq 2 ] || echo 'comity: no answer from the guard' >&2; exit 2; }";
    let after = "comity guard hook --client codex || true";
    vec![
        Entry::Item(&["hooks", "PreToolUse"], group(before)),
        Entry::Item(&["hooks", "PostToolUse"], group(after)),
        Entry::Item(&["hooks", "Stop"], group(after)),
        Entry::Item(
            &["hooks", "SessionStart"],
            group("comity prime --hook --client codex || true"),
        ),
    ]
}
