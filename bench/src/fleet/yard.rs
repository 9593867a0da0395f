//! A throw-away project whose agents are scripts, and the real binary that starts them.

use crate::Outcome;
use crate::process::run;
use comity_project::{Asked, Context, Environment, Machine};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Files of one directory.
const FILES_IN_DIRECTORY: usize = 100;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct Yard {
    dir: tempfile::TempDir,
    binary: PathBuf,
}

impl Yard {
    /// Makes a repository with so many files; its agents are this script.
    pub fn new(binary: &Path, files: usize, script: &str) -> Outcome<Yard> {
        let yard = Yard { dir: tempfile::tempdir()?, binary: binary.to_owned() };
        let root = yard.root();
        for dir in [&root, &yard.home(), &root.join(".comity")] {
            std::fs::create_dir_all(dir)?;
        }
        for number in 0..files {
            let place = root.join(format!("d{}", number / FILES_IN_DIRECTORY));
            std::fs::create_dir_all(&place)?;
            std::fs::write(place.join(format!("f{number}.rs")), format!("{number}\n"))?;
        }
        let lines: String = (1..=1_000).map(|line| format!("line {line}\n")).collect();
        std::fs::write(root.join("shared.txt"), lines)?;
        let agent = yard.dir.path().join("agent.sh");
        std::fs::write(&agent, format!("COMITY='{}'\n{script}\n", binary.display()))?;
        let settings = format!(
            "[fleet]\nttl = '120s'\nstall = '1h'\nqueue = 200\n[budget]\nday_usd = 1000.0\n[drivers.script]\ncommand = ['sh', '{}']\n",
            agent.display()
        );
        std::fs::write(root.join(".comity/config.toml"), settings)?;
        yard.git(&["init", "--quiet", "--initial-branch=main"])?;
        yard.git(&["add", "--all"])?;
        yard.git(&["commit", "--quiet", "--message", "Files"])?;
        run(yard.comity().args(["init", "--clients", "none"]))?;
        run(yard.comity().args(["trust"]))?;
        Ok(yard)
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The script that is every agent here.
    pub fn agent(&self) -> PathBuf {
        self.dir.path().join("agent.sh")
    }

    pub fn git(&self, args: &[&str]) -> Outcome<()> {
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
        run(Command::new("git").args(who).args(args).current_dir(self.root())).map(drop)
    }

    /// The commit of its branch.
    pub fn tip(&self) -> Outcome<String> {
        let output =
            Command::new("git").args(["rev-parse", "main"]).current_dir(self.root()).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Begins a call of the binary by a person.
    pub fn comity(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().envs(self.variables()).current_dir(self.root()).stdin(Stdio::null());
        command
    }

    fn variables(&self) -> Vec<(String, String)> {
        let home = self.home().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        [("PATH", path), ("HOME", home), ("COMITY_AGENT", "human:bench".to_owned())]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec()
    }

    /// The project as the library sees it.
    pub fn context(&self) -> Outcome<Context> {
        let variables = self.variables().into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let cwd = std::fs::canonicalize(self.root())?;
        let environment = Environment::new(variables);
        let machine = Machine { cwd, environment, login: "bench".to_owned(), ..Machine::default() };
        Ok(Context::find(&machine, &Asked::default())?)
    }

    /// Runs comity and returns its answer.
    pub fn json(&self, args: &[&str]) -> Outcome<Value> {
        let output = self.comity().args(args).arg("--json").output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("comity {args:?}: {said}").into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Makes tasks, in one call each.
    pub fn tasks(&self, count: usize) -> Outcome<()> {
        (0..count).try_for_each(|_| self.json(&["task", "create", "Work"]).map(drop))
    }

    /// Starts a run on a task; returns its id.
    pub fn start(&self, task: usize) -> Outcome<String> {
        let task = format!("T{task}");
        let args = ["run", "developer", "--task", &task, "--driver", "script"];
        let started = self.json(&args)?;
        let id = started.pointer("/run/id").and_then(Value::as_str).ok_or("a run without an id")?;
        Ok(id.to_owned())
    }

    /// Lists what the agent of a run printed, with the time at which its keeper heard it.
    pub fn said(&self, id: &str) -> Outcome<Vec<(f64, String)>> {
        let output = self.comity().args(["run", "logs", id, "--json"]).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of = |line: Value| {
            let at = comity_core::time::Timestamp::parse(line.get("at")?.as_str()?)?;
            let is_text = line.get("kind")?.as_str()? == "text";
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of this century")]
            is_text.then(|| Some((at.ms() as f64, line.get("text")?.as_str()?.to_owned())))?
        };
        Ok(lines.filter_map(of).collect())
    }

    /// Waits until something is so.
    pub fn until(&self, what: &str, mut so: impl FnMut() -> Outcome<bool>) -> Outcome<()> {
        let end = Instant::now() + PATIENCE;
        while !so()? {
            if Instant::now() > end {
                return Err(format!("in vain: {what}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Lists the processes of this project whose command line has a word.
    pub fn processes(&self, word: &str) -> Outcome<Vec<u32>> {
        let here = self.dir.path().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(&here) && line.contains(word) {
                found.extend(entry.file_name().to_str().and_then(|pid| pid.parse::<u32>().ok()));
            }
        }
        Ok(found)
    }
}

impl Drop for Yard {
    /// Ends what still runs here.
    fn drop(&mut self) {
        let Ok(answer) = self.json(&["runs", "--limit", "500"]) else { return };
        for run in answer.get("runs").and_then(Value::as_array).into_iter().flatten() {
            let id = run.get("id").and_then(Value::as_str).unwrap_or_default();
            if run.get("ended_at").is_some_and(Value::is_null) {
                let _ = self.comity().args(["run", "stop", id, "--now"]).output();
            }
        }
        let _ = self.until("the keepers end", || Ok(self.processes("__keeper")?.is_empty()));
    }
}
