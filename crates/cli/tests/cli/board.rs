//! `comity board` in a real terminal of 80 columns and 24 lines: tmux draws it, types, and tells what is left.

use crate::runs::{start, with_agent};
use crate::sandbox::Sandbox;
use serde_json::json;
use std::ffi::OsStr;
use std::time::{Duration, Instant};

/// However busy the machine is, a screen is drawn by then.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell in a terminal; it ends with the test.
struct Terminal<'s> {
    sandbox: &'s Sandbox,
    socket: String,
}

impl Terminal<'_> {
    fn open(sandbox: &Sandbox) -> Terminal<'_> {
        let socket = sandbox.outside().join("tmux").display().to_string();
        let terminal = Terminal { sandbox, socket };
        let shell = "PS1='shell> ' exec sh";
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", shell]);
        terminal.wait("shell>");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = self.sandbox.clean(OsStr::new("tmux"));
        command.current_dir(&self.sandbox.root).env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8").args(["-u", "-S", &self.socket]).args(args);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "tmux {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen has some words.
    fn wait(&self, words: &str) -> String {
        self.wait_for(words, |screen| screen.contains(words))
    }

    fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(begin.elapsed() < PATIENCE, "no {what} in\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    fn board(&self, before: &str) -> String {
        self.line(&format!("{before} {} --as human:ann board", env!("CARGO_BIN_EXE_comity")));
        self.wait("j k h l move")
    }

    fn is_alternate(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    /// The shell is back, echoes what is typed, and reads whole lines.
    fn is_given_back(&self) -> String {
        self.wait_for("end of the board", |_| !self.is_alternate());
        self.line("echo status $?; stty -a");
        let screen = self.wait_for("settings", |screen| screen.contains("iexten"));
        for setting in ["icanon", "echo", "isig", "opost"] {
            let is_on = screen.split_whitespace().any(|word| word == setting);
            assert!(is_on, "{setting} is off:\n{screen}");
        }
        screen
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = self.sandbox.clean(OsStr::new("tmux"));
        let _ = command.args(["-S", &self.socket, "kill-server"]).output();
    }
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let by = |who: &str, args: &[&str]| sandbox.comity().by(who).args(args).json();
    by("human:ann", &["init"]);
    by("human:ann", &["task", "create", "Parse dates", "--file", "src/date/**", "--gate", "tests"]);
    by("human:ann", &["task", "create", "Print dates", "--depends-on", "T1"]);
    by("ada", &["task", "claim", "T1", "--start"]);
    sandbox
}

fn ask(sandbox: &Sandbox) {
    let question = ["decision", "ask", "Which calendar do we follow?", "--task", "T1"];
    let options = ["--option", "iso:ISO 8601", "--option", "local:the reader's own"];
    sandbox.comity().by("ada").args(&[&question[..], &options].concat()).json();
}

#[test]
fn eighty_columns_show_inbox_columns_leases_and_the_log_and_follow_them() {
    let sandbox = project();
    let terminal = Terminal::open(&sandbox);
    let screen = terminal.board("");
    for words in [
        "tool  2 tasks, 0 ready  human:ann  live",
        "Inbox 0",
        "Nothing needs you.",
        "Queued 1",
        "Working 1",
        "Done 0",
        "T1 Parse",
        "Leases 1",
        "src/date/** ada",
        "ada T1 claimed it on",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    assert!(screen.lines().count() <= 24 && screen.lines().all(|line| line.chars().count() <= 80));
    // Somebody else does something: it is there without a key.
    ask(&sandbox);
    terminal.wait("Inbox 1");
    terminal.wait("Which calendar do we follow?");
    terminal.keys(&["/"]);
    terminal.keys(&["P", "r", "i", "n", "t", "Enter"]);
    // The inbox is filtered with the first key, the columns with a later one.
    let filtered = terminal.wait_for("filter", |screen| !screen.contains("T1 Parse"));
    assert!(filtered.contains("T2 Print") && filtered.contains("Nothing matches."), "{filtered}");
    terminal.keys(&["Escape"]);
    terminal.wait("T1 Parse");
    // From the inbox down to the columns, and one to the right: the task that is worked on.
    terminal.keys(&["j", "l", "Enter"]);
    let task = terminal.wait("Parse dates");
    assert!(task.contains("T1 Parse") || task.contains("T1 in_progress"), "{task}");
    terminal.wait("T1 in_progress ─");
    terminal.keys(&["Escape"]);
    // A terminal cannot tell Escape from the beginning of a longer key before it has read it alone.
    terminal.wait_for("board", |screen| !screen.contains("T1 in_progress ─"));
    terminal.keys(&["?"]);
    terminal.wait("open a question and answer it");
    terminal.keys(&["q"]);
    terminal.wait_for("board", |screen| !screen.contains("open a question and answer it"));
    terminal.keys(&["q"]);
    assert!(terminal.is_given_back().contains("status 0"));
}

#[test]
fn live_runs_have_a_line_while_there_are_some() {
    let sandbox = with_agent("sleep 600", "");
    start(&sandbox).json();
    let terminal = Terminal::open(&sandbox);
    terminal.board("");
    terminal.wait("Runs 1: R1 developer T1");
    sandbox.comity().by("human:ann").args(&["run", "stop", "R1", "--now"]).json();
    terminal.wait_for("the line goes", |screen| !screen.contains("Runs 1:"));
}

#[test]
fn a_question_is_answered_in_place_and_wakes_who_waits_for_it() {
    let sandbox = project();
    ask(&sandbox);
    let waiting = sandbox
        .comity()
        .by("ada")
        .args(&["decision", "wait", "D1", "--timeout", "120s", "--json"])
        .spawn();
    let terminal = Terminal::open(&sandbox);
    terminal.board("");
    terminal.keys(&["Enter"]);
    let open = terminal.wait("1 iso  ISO 8601");
    assert!(open.contains("2 local") && open.contains("ada asks about T1."), "{open}");
    terminal.keys(&["2"]);
    terminal.keys(&["Enter"]);
    terminal.wait("D1 is answered: local");
    let heard = waiting.wait_with_output().unwrap();
    let heard: serde_json::Value = serde_json::from_slice(&heard.stdout).unwrap();
    assert_eq!(heard["decision"]["answer"], "local");
    assert_eq!(heard["decision"]["answered_by"], "human:ann");
    terminal.wait("Nothing needs you.");
    sandbox.comity().by("ada").args(&["decision", "ask", "And the name?"]).json();
    terminal.wait("And the name?");
    terminal.keys(&["Enter"]);
    terminal.wait("Enter sends, Esc closes");
    terminal.tmux(&["send-keys", "-l", "calq"]);
    terminal.keys(&["Enter"]);
    terminal.wait("D2 is answered: calq");
    let told = sandbox.json(&["decision", "show", "D2"]);
    assert_eq!(
        told["decision"]["text"].as_str().or(told["decision"]["answer"].as_str()),
        Some("calq")
    );
}

#[test]
fn the_terminal_is_given_back_after_a_signal_and_after_a_panic() {
    let sandbox = project();
    let terminal = Terminal::open(&sandbox);
    terminal.board("");
    assert!(terminal.is_alternate());
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let children = format!("/proc/{0}/task/{0}/children", pane.trim());
    let pid: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(terminal.is_given_back().contains("status 143"));
    terminal.line("clear");
    let comity = env!("CARGO_BIN_EXE_comity");
    terminal.line(&format!("COMITY_TEST_BOARD_PANICS=1 {comity} --as human:ann board"));
    terminal.wait("the board was asked to panic");
    assert!(terminal.is_given_back().contains("status 101"));
}

#[test]
fn titles_cannot_steer_the_terminal() {
    let sandbox = project();
    sandbox.comity().by("human:ann").args(&["task", "create", "x\u{202e}y\u{200b}z"]).json();
    let terminal = Terminal::open(&sandbox);
    let screen = terminal.board("");
    assert!(screen.contains("T3 x\u{fffd}y\u{fffd}z"), "{screen}");
}

#[test]
fn without_a_terminal_the_board_is_lines_or_json() {
    let sandbox = project();
    let done = sandbox.comity().args(&["board"]).done();
    assert_eq!(done.stdout, "T2\tqueued\t-\tPrint dates\nT1\tworking\tada\tParse dates\n");
    let answer = sandbox.json(&["board"]);
    assert_eq!(answer["columns"][1], json!({"name": "working", "title": "Working", "count": 1}));
    assert_eq!(sandbox.json(&["--at", "2", "board"])["at"]["seq"], 2);
}
