//! How the client of each driver is started: its words, its variables and the files that it reads.

use crate::keeper::Job;
use crate::place::{RunPlace, failed, write_private};
use comity_api::AgentDefinition;
use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::RunView;
use comity_project::clients::{self, AgentClient, Through};
use comity_project::fleet::{Driver, DriverKind};
use comity_project::{Context, Environment};
use comity_protocol::driver::{Acp, Claude, Codex, CommandLines, McpServer, Opening, Talk};
use comity_protocol::neotx::resume::HEADER;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Variables that every agent gets as they are.
const PASSED: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TERM",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
];
/// How long a tool may wait: as long as the longest wait for an answer, and five minutes.
const TOOL_SECONDS: u32 = 2_100;
/// Variables by which the clients show who pays.
const CLAUDE_KEYS: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
const CODEX_KEYS: [&str; 2] = ["OPENAI_API_KEY", "CODEX_API_KEY"];
/// The file in which Codex keeps its login.
const CODEX_LOGIN: &str = "auth.json";

/// What an agent is started with, beside where.
pub(crate) struct Line {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) talk: Talk,
    /// What a command reads; its input ends with that.
    pub(crate) stdin: Option<String>,
}

/// Everything that a start depends on.
pub(crate) struct Setting<'a> {
    pub(crate) context: &'a Context,
    pub(crate) job: &'a Job,
    pub(crate) run: &'a RunView,
    pub(crate) place: &'a RunPlace,
    pub(crate) tree: &'a Path,
    /// comity itself.
    pub(crate) program: &'a Path,
    pub(crate) socket: Option<&'a Path>,
    pub(crate) confined: bool,
    /// The session of the client to go on with.
    pub(crate) resume: Option<String>,
    pub(crate) prompt: String,
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Setting<'_> {
    pub(crate) fn line(self) -> Result<Line, Refusal> {
        let opening = Opening {
            prompt: match self.job.kind {
                // Claude Code has a place of its own for what an agent is.
                DriverKind::Claude => self.prompt.clone(),
                // Whoever goes on after a crash sees that first.
                _ if self.prompt.starts_with(HEADER) => {
                    format!("{}\n\n{}", self.prompt, self.job.agent.prompt)
                }
                _ => format!("{}\n\n{}", self.job.agent.prompt, self.prompt),
            },
            dir: shown(self.tree),
            resume: self.resume.clone(),
            model: self.run.model.clone(),
            mcp: Some(self.server()),
        };
        let mut env = self.environment();
        let mut argv = self.job.argv.clone();
        let (talk, stdin) = match self.job.kind {
            DriverKind::Command => (Talk::Command(CommandLines::default()), Some(opening.prompt)),
            DriverKind::Claude => {
                argv.extend(self.claude()?);
                env.extend(self.claude_variables());
                (Talk::Claude(Claude::new(&opening)), None)
            }
            DriverKind::Codex => {
                self.write_codex_settings()?;
                argv.extend(
                    ["app-server", "--disable", "apps", "--disable", "plugins"].map(str::to_owned),
                );
                env.push(("CODEX_HOME".to_owned(), shown(&self.place.client())));
                // A name such as opus is one of Claude's.
                let model = opening.model.clone().filter(|model| !is_claudes(model));
                let opening = Opening { model, ..opening };
                (Talk::Codex(Box::new(Codex::new(&opening))), None)
            }
            DriverKind::Acp => (Talk::Acp(Box::new(Acp::new(&opening))), None),
        };
        Ok(Line { argv, env, talk, stdin })
    }

    fn environment(&self) -> Vec<(String, String)> {
        let environment = self.context.environment();
        let names = PASSED.iter().copied().chain(self.job.kind.env_pass().iter().copied());
        let names = names.chain(self.job.env_pass.iter().map(String::as_str));
        let passed = names.flat_map(|name| environment.like(name));
        passed.chain(self.job.env.clone()).chain(self.own()).collect()
    }

    /// What tells the agent who it is, and where comity is.
    fn own(&self) -> Vec<(String, String)> {
        let run = &self.job.run;
        let mut all = vec![
            ("COMITY_AGENT", self.job.identity.clone()),
            ("COMITY_RUN", run.clone()),
            ("COMITY_TASK", self.run.task.clone().unwrap_or_default()),
            ("COMITY_FENCE", self.run.fence.unwrap_or_default().to_string()),
            ("COMITY_ROOT", self.job.root.clone()),
            ("COMITY_REPO", self.job.repo.clone()),
            ("COMITY_PROMPT_FILE", shown(&self.place.prompt())),
            ("NEO_AGENT_NAME", self.run.agent.clone()),
            ("NEO_RUN_ID", run.clone()),
            ("NEO_REPOSITORY", self.job.root.clone()),
            ("TMPDIR", shown(&self.place.temporary())),
            ("XDG_CACHE_HOME", shown(&self.place.cache())),
        ];
        match self.socket {
            Some(socket) => all.push(("COMITY_SOCKET", shown(socket))),
            None => all.push(("COMITY_STORE", self.job.store.clone())),
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns comity's own tools, as a client starts them.
    fn server(&self) -> McpServer {
        let client = match self.job.kind {
            DriverKind::Claude => "claude-code",
            DriverKind::Codex => "codex",
            DriverKind::Acp | DriverKind::Command => "acp",
        };
        McpServer {
            command: shown(self.program),
            args: ["mcp", "--client", client].map(str::to_owned).to_vec(),
            env: self.own(),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<String, Refusal> {
        let path = self.place.client().join(name);
        write_private(&path, text.as_bytes()).map_err(|error| failed(&path, &error))?;
        Ok(shown(&path))
    }

    fn claude(&self) -> Result<Vec<String>, Refusal> {
        let agent: &AgentDefinition = &self.job.agent;
        let McpServer { command, args, env } = self.server();
        let env: Map<String, Value> =
            env.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        let server = json!({"type": "stdio", "command": command, "args": args, "env": env});
        let servers =
            self.write("mcp.json", &json!({"mcpServers": {"comity": server}}).to_string())?;
        let settings = self.write("comity-settings.json", &json!({"hooks": {}}).to_string())?;
        let inner: Map<String, Value> = agent
            .agents
            .iter()
            .map(|(name, inner)| {
                let mut about = json!({"description": inner.description, "prompt": inner.prompt, "tools": inner.tools});
                if let (Some(model), Some(fields)) = (&inner.model, about.as_object_mut()) {
                    fields.insert("model".to_owned(), json!(model));
                }
                (name.clone(), about)
            })
            .collect();
        let agents = self.write("agents.json", &Value::Object(inner).to_string())?;
        let (session, id) = match &self.resume {
            Some(id) => ("--resume", id.clone()),
            None => ("--session-id", uuid()?),
        };
        let tools: Vec<&str> = agent.tools.iter().map(String::as_str).collect();
        let mut words: Vec<String> = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            session,
            &id,
            "--tools",
            &tools.join(","),
            "--agents",
            &agents,
            "--append-system-prompt",
            &agent.prompt,
            "--mcp-config",
            &servers,
            "--strict-mcp-config",
            "--settings",
            &settings,
            "--setting-sources",
            "",
            "--permission-mode",
            "acceptEdits",
            "--permission-prompt-tool",
            "stdio",
        ]
        .map(str::to_owned)
        .to_vec();
        let more = [
            ("--model", self.run.model.clone()),
            ("--max-turns", self.job.max_turns.map(|turns| turns.to_string())),
        ];
        for (name, value) in more {
            words.extend(value.map(|value| [name.to_owned(), value]).into_iter().flatten());
        }
        Ok(words)
    }

    fn claude_variables(&self) -> Vec<(String, String)> {
        let long = (u64::from(TOOL_SECONDS) * 1_000).to_string();
        let mut all = vec![
            ("CLAUDE_CONFIG_DIR", shown(&self.place.client())),
            ("CLAUDE_CODE_TMPDIR", shown(&self.place.temporary())),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("ENABLE_TOOL_SEARCH", "false".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
            ("BASH_DEFAULT_TIMEOUT_MS", long.clone()),
            ("BASH_MAX_TIMEOUT_MS", long.clone()),
            ("MCP_TOOL_TIMEOUT", long),
        ];
        if self.confined {
            all.push(("IS_SANDBOX", "1".to_owned()));
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn write_codex_settings(&self) -> Result<(), Refusal> {
        let text = |text: &str| Value::String(text.to_owned()).to_string();
        let McpServer { command, args, env } = self.server();
        let args: Vec<String> = args.iter().map(|word| text(word)).collect();
        let env: Vec<String> =
            env.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
        let settings = format!(
            "check_for_update_on_startup = false\n\n[analytics]\nenabled = false\n\n\
             [projects.{}]\ntrust_level = \"trusted\"\n\n\
             [mcp_servers.comity]\ncommand = {}\nargs = [{}]\nenv = {{ {} }}\n\
             default_tools_approval_mode = \"approve\"\nstartup_timeout_sec = 60\ntool_timeout_sec = {TOOL_SECONDS}\n",
            text(&shown(self.tree)),
            text(&command),
            args.join(", "),
            env.join(", "),
        );
        self.write("config.toml", &settings)?;
        if let Some(login) = codex_login(self.context.environment()) {
            let own = self.place.client().join(CODEX_LOGIN);
            std::fs::copy(&login, &own).map_err(|error| failed(&own, &error))?;
        }
        Ok(())
    }
}

fn is_claudes(model: &str) -> bool {
    ["opus", "sonnet", "haiku"].contains(&model) || model.starts_with("claude-")
}

fn codex_login(environment: &Environment) -> Option<PathBuf> {
    let own = environment.own("CODEX_HOME").map(PathBuf::from);
    let dir = own.or_else(|| Some(PathBuf::from(environment.own("HOME")?).join(".codex")))?;
    Some(dir.join(CODEX_LOGIN)).filter(|file| file.is_file())
}

/// Refuses an agent whose client has nothing to show its vendor who pays.
pub(crate) fn credentials(
    environment: &Environment,
    driver: &Driver,
    env_pass: &[String],
) -> Result<(), Refusal> {
    let keys: &[&str] = match driver.kind {
        DriverKind::Claude => &CLAUDE_KEYS,
        DriverKind::Codex => &CODEX_KEYS,
        DriverKind::Command | DriverKind::Acp => return Ok(()),
    };
    // Whoever hands a client variables of its own knows what it wants.
    let chosen = env_pass.iter().any(|name| !environment.like(name).is_empty());
    let logged_in = driver.kind == DriverKind::Codex && codex_login(environment).is_some();
    let set = keys.iter().any(|key| environment.has(key));
    if chosen || logged_in || set || !driver.env.is_empty() {
        return Ok(());
    }
    let message = format!("{} has no key: none of {} is set", driver.name, keys.join(", "));
    Err(Refusal::new(Code::NoCredentials, message).detail("driver", driver.name.as_str()))
}

/// Refuses Codex where the project's own settings give it comity's tools over a server: Codex cannot have them in two ways at
/// once, and would not start.
pub(crate) fn server_of_its_own(root: &Path, driver: &Driver) -> Result<(), Refusal> {
    let is_far = || clients::through(root, AgentClient::Codex) != Through::Stdio;
    if driver.kind != DriverKind::Codex || !is_far() {
        return Ok(());
    }
    let message =
        "the project's settings give Codex comity's tools over a server, and a run has its own";
    let hint = say("a person registers Codex again without a server: ");
    Err(Refusal::input(message).hint(hint.quote(op("init").arg("clients", "codex"))))
}

/// Finds the program of a driver, before anything is reserved for it.
pub(crate) fn program_exists(environment: &Environment, dir: &Path, program: &str) -> bool {
    if program.contains('/') {
        return dir.join(program).is_file();
    }
    let path = environment.own("PATH").unwrap_or_default();
    path.split(':').any(|dir| Path::new(dir).join(program).is_file())
}

/// Bytes of a UUID.
const UUID_BYTES: usize = 16;

/// Returns bytes that nobody can guess, as hexadecimal digits.
pub(crate) fn random() -> Result<String, Refusal> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0_u8; UUID_BYTES];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| failed(path, &error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes a UUID of version 4.
fn uuid() -> Result<String, Refusal> {
    let hex: Vec<char> = random()?.chars().collect();
    let part =
        |from: usize, to: usize| hex.get(from..to).unwrap_or_default().iter().collect::<String>();
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn driver(kind: DriverKind) -> Driver {
        let (name, command) = ("x".to_owned(), vec!["x".to_owned()]);
        Driver { name, kind, command, env: BTreeMap::new(), is_set: false }
    }

    #[test]
    fn a_client_without_a_key_is_refused_before_anything_is_reserved() {
        let nothing = Environment::new([]);
        for kind in [DriverKind::Claude, DriverKind::Codex] {
            let refusal = credentials(&nothing, &driver(kind), &[]).unwrap_err();
            assert_eq!(refusal.code, Code::NoCredentials);
        }
        assert!(credentials(&nothing, &driver(DriverKind::Command), &[]).is_ok());
        let set = Environment::new([("ANTHROPIC_API_KEY".into(), "k".into())]);
        assert!(credentials(&set, &driver(DriverKind::Claude), &[]).is_ok());
        assert!(credentials(&set, &driver(DriverKind::Codex), &[]).is_err());
        let own = Environment::new([("MODEL_KEY".into(), "k".into())]);
        assert!(credentials(&own, &driver(DriverKind::Codex), &["MODEL_KEY".to_owned()]).is_ok());
    }

    #[test]
    fn codex_needs_a_project_that_does_not_give_it_a_server() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".codex")).unwrap();
        let tries = |text: &str| {
            std::fs::write(dir.path().join(".codex/config.toml"), text).unwrap();
            server_of_its_own(dir.path(), &driver(DriverKind::Codex))
        };
        assert!(tries("[mcp_servers.comity]\ncommand = 'comity'\n").is_ok());
        let refusal = tries("[mcp_servers.comity]\nurl = 'http://h:1/mcp'\n").unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput);
        assert!(server_of_its_own(dir.path(), &driver(DriverKind::Claude)).is_ok());
    }

    #[test]
    fn a_session_has_an_id_that_the_client_takes() {
        let id = uuid().unwrap();
        assert_eq!((id.len(), id.matches('-').count()), (36, 4), "{id}");
        assert_ne!(id, uuid().unwrap());
    }
}
