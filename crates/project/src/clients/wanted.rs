//! What comity writes for each client, file by file.

use super::json::Entry;
use super::table::Table;
use comity_core::ids::AgentId;
use comity_core::refusal::Refusal;
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

    /// The file that names comity's server, and the keys that lead to it there.
    pub(super) const fn server(self) -> (&'static str, &'static [&'static str]) {
        match self {
            AgentClient::Claude => (".mcp.json", &["mcpServers", "comity"]),
            AgentClient::Codex => (".codex/config.toml", &["mcp_servers", "comity"]),
            AgentClient::Gemini => (".gemini/settings.json", &["mcpServers", "comity"]),
            AgentClient::OpenCode => ("opencode.json", &["mcp", "comity"]),
            AgentClient::Cursor => (".cursor/mcp.json", &["mcpServers", "comity"]),
            AgentClient::VsCode => (".vscode/mcp.json", &["servers", "comity"]),
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

/// How a client reaches comity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Through {
    /// The client starts `comity mcp`.
    Stdio,
    /// The client asks a server. Its token names this agent, and stands in `COMITY_TOKEN` in the client's environment.
    Http { url: String, agent: String },
}

impl Through {
    /// Reads the address of a server, as it can stand in the files and hook commands of every client.
    pub fn http(url: &str, agent: &AgentId) -> Result<Through, Refusal> {
        let url = url.trim_end_matches('/');
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c);
        if !is_web || !url.chars().all(is_plain) {
            return Err(Refusal::input(format!("clients cannot be given the address {url:?}"))
                .hint("name the server as http://HOST:PORT or https://HOST"));
        }
        Ok(Through::Http { url: url.to_owned(), agent: agent.to_string() })
    }

    /// Returns where a server has its MCP door.
    fn door(&self) -> Option<String> {
        match self {
            Through::Stdio => None,
            Through::Http { url, .. } => Some(format!("{url}{MCP_PATH}")),
        }
    }

    fn agent(&self) -> Option<&str> {
        match self {
            Through::Stdio => None,
            Through::Http { agent, .. } => Some(agent),
        }
    }

    /// Returns the words that make a hook ask the same server as the same agent.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Through::Stdio => Vec::new(),
            Through::Http { url, agent } => vec!["--url", url, "--as", agent],
        }
    }
}

/// Where a server has its MCP door.
pub(super) const MCP_PATH: &str = "/mcp";
/// The variable of the client's environment that has the token. No file has the token itself.
const TOKEN: &str = "COMITY_TOKEN";
/// The variable by which commands and git's hooks know who they act for.
pub(super) const AGENT: &str = "COMITY_AGENT";

/// What comity wants of one file.
pub(super) enum What {
    Json(Vec<Entry>),
    /// The table `[mcp_servers.comity]`, and comity's variables for the commands of Codex.
    Codex(Table),
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
pub(super) fn wanted(clients: &[AgentClient], through: &Through, approve: bool) -> Vec<Wanted> {
    let mut files: Vec<Wanted> =
        clients.iter().flat_map(|one| of_client(*one, through, approve)).collect();
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
pub(super) fn of_client(client: AgentClient, through: &Through, approve: bool) -> Vec<Wanted> {
    let file = |path, what| Wanted { path, what };
    let server = |entries| {
        let (path, keys) = client.server();
        let entry = Entry::Key(keys, json_server(client, through, approve));
        file(path, What::Json([vec![entry], entries].concat()))
    };
    match client {
        AgentClient::Claude => vec![
            server(Vec::new()),
            file(".claude/settings.json", What::Json(claude_settings(through, approve))),
            file(".claude/skills/comity/SKILL.md", What::Own(SKILL_MD)),
            file("CLAUDE.md", What::IfAbsent(CLAUDE_MD)),
        ],
        AgentClient::Codex => vec![
            file(client.server().0, What::Codex(codex_table(through, approve))),
            file(".codex/hooks.json", What::Json(codex_hooks(through))),
        ],
        AgentClient::Gemini => {
            let names = json!(["AGENTS.md", "GEMINI.md"]);
            vec![server(vec![Entry::Default(&["context", "fileName"], names)])]
        }
        AgentClient::OpenCode | AgentClient::Cursor | AgentClient::VsCode => {
            vec![server(Vec::new())]
        }
    }
}

/// Says how a client with JSON files reaches comity. Each client has its own words for a variable of its environment.
fn json_server(client: AgentClient, through: &Through, approve: bool) -> Value {
    let args = json!(["mcp", "--client", client.identity()]);
    let door = through.door();
    let token = |variable: String| json!({"Authorization": format!("Bearer {variable}")});
    let mut server = match (client, door) {
        (AgentClient::Claude, Some(url)) => {
            json!({"type": "http", "url": url, "headers": token(format!("${{{TOKEN}}}"))})
        }
        (AgentClient::Gemini, Some(url)) => {
            json!({"httpUrl": url, "headers": token(format!("${TOKEN}"))})
        }
        (AgentClient::OpenCode, Some(url)) => {
            let headers = token(format!("{{env:{TOKEN}}}"));
            json!({"type": "remote", "url": url, "headers": headers, "enabled": true})
        }
        (AgentClient::VsCode, Some(url)) => {
            json!({"type": "http", "url": url, "headers": token(format!("${{env:{TOKEN}}}"))})
        }
        (AgentClient::Cursor | AgentClient::Codex, Some(url)) => {
            json!({"url": url, "headers": token(format!("${{env:{TOKEN}}}"))})
        }
        (AgentClient::OpenCode, None) => {
            let command = json!(["comity", "mcp", "--client", client.identity()]);
            json!({"type": "local", "command": command, "enabled": true})
        }
        (AgentClient::Claude | AgentClient::VsCode, None) => {
            json!({"type": "stdio", "command": "comity", "args": args})
        }
        (AgentClient::Gemini | AgentClient::Cursor | AgentClient::Codex, None) => {
            json!({"command": "comity", "args": args})
        }
    };
    if client == AgentClient::Gemini
        && approve
        && let Some(map) = server.as_object_mut()
    {
        map.insert("trust".to_owned(), Value::Bool(true));
    }
    server
}

fn codex_table(through: &Through, approve: bool) -> Table {
    let words = |words: &[&str]| words.iter().copied().collect::<toml_edit::Array>().into();
    let mut server: Vec<(&'static str, toml_edit::Value)> = match through.door() {
        None => vec![
            ("command", "comity".into()),
            ("args", words(&["mcp", "--client", "codex"])),
            ("env_vars", words(&VARIABLES)),
        ],
        Some(url) => vec![("url", url.into()), ("bearer_token_env_var", TOKEN.into())],
    };
    if approve {
        server.push(("default_tools_approval_mode", "approve".into()));
    }
    Table { server, variable: (AGENT, through.agent().map(str::to_owned)) }
}

/// Claude Code's hooks. Only the one before a tool blocks when it fails.
fn claude_settings(through: &Through, approve: bool) -> Vec<Entry> {
    let hook = |args: &[&str], blocks: bool| {
        let args = [args, &through.words()].concat();
        let mut hook =
            json!({"type": "command", "command": "comity", "args": args, "timeout": HOOK_SECONDS});
        if blocks && let Some(map) = hook.as_object_mut() {
            map.insert("onFailure".to_owned(), json!("block"));
        }
        hook
    };
    let guard = ["guard", "hook", "--client", "claude"];
    let before = json!({"matcher": CLAUDE_WRITERS, "hooks": [hook(&guard, true)]});
    let after = json!({"matcher": CLAUDE_WRITERS, "hooks": [hook(&guard, false)]});
    let end = json!({"hooks": [hook(&guard, false)]});
    let start = json!({"hooks": [hook(&["prime", "--hook"], false)]});
    let mut entries = vec![
        Entry::Item(&["hooks", "PreToolUse"], before),
        Entry::Item(&["hooks", "PostToolUse"], after.clone()),
        Entry::Item(&["hooks", "PostToolUseFailure"], after),
        Entry::Item(&["hooks", "Stop"], end.clone()),
        Entry::Item(&["hooks", "SessionEnd"], end),
        Entry::Item(&["hooks", "SessionStart"], start),
        Entry::Beside(&["env", AGENT], through.agent().map(|agent| json!(agent))),
    ];
    if approve {
        entries.push(Entry::Item(&["permissions", "allow"], json!("mcp__comity")));
        entries.push(Entry::Item(&["enabledMcpjsonServers"], json!("comity")));
    }
    entries
}

/// Codex's hooks. Codex lets a tool run when a hook cannot be started, so the shell closes that gap; a hook that fails
/// after a tool would make Codex go on for ever.
fn codex_hooks(through: &Through) -> Vec<Entry> {
    let group = |command: &str| {
        json!({"matcher": "*",
            "hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]})
    };
    let more: String = through.words().iter().map(|word| format!(" {word}")).collect();
    // The guard's own no ends with 2, and has said why.
    let before = format!(
        "comity guard hook --client codex{more} || \
         {{ [ $? -eq 2 ] || echo 'comity: no answer from the guard' >&2; exit 2; }}"
    );
    let after = format!("comity guard hook --client codex{more} || true");
    vec![
        Entry::Item(&["hooks", "PreToolUse"], group(&before)),
        Entry::Item(&["hooks", "PostToolUse"], group(&after)),
        Entry::Item(&["hooks", "Stop"], group(&after)),
        Entry::Item(
            &["hooks", "SessionStart"],
            group(&format!("comity prime --hook --client codex{more} || true")),
        ),
    ]
}
