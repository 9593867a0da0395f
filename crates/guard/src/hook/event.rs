//! What a client tells its hook, read from JSON.

use serde_json::Value;

/// A client whose hooks comity understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookClient {
    Claude,
    Codex,
}

impl HookClient {
    /// The client's name in identities.
    pub fn identity(self) -> &'static str {
        match self {
            HookClient::Claude => "claude-code",
            HookClient::Codex => "codex",
        }
    }
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool runs: the only moment at which comity can say no.
    Before,
    After,
    /// At the end of a turn or a session, and at moments that comity does not know.
    Other,
}

impl Moment {
    fn named(event: &str) -> Moment {
        match event {
            "PreToolUse" => Moment::Before,
            "PostToolUse" | "PostToolUseFailure" => Moment::After,
            _ => Moment::Other,
        }
    }

    /// Tells the moment from as much of a hook's input as there is, whatever is wrong with the rest. None: it does not say.
    pub fn of_fragment(text: &str) -> Option<Moment> {
        let name = |rest: &str| {
            let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
            Some(Moment::named(value.split_once('"')?.0))
        };
        let key = format!("\"{EVENT_NAME}\"");
        let mut named = text.split(key.as_str()).skip(1).filter_map(name);
        let first = named.next()?;
        // A tool's own arguments may have such a key, too: as long as one of them means a no, it is one.
        Some(if named.any(|other| other == Moment::Before) { Moment::Before } else { first })
    }
}

/// The key that has the client's own name of the moment.
const EVENT_NAME: &str = "hook_event_name";

/// One call of a hook.
#[derive(Debug)]
pub struct HookEvent {
    /// The client's own name of the moment.
    pub name: String,
    pub moment: Moment,
    pub tool: String,
    /// Files that the tool is about to write, as the client names them.
    pub files: Vec<String>,
    /// The tool may write files that nobody can tell beforehand.
    pub may_write_anything: bool,
    pub cwd: Option<String>,
    pub session: Option<String>,
    /// A part of the session that is an agent of its own.
    pub agent: Option<String>,
}

impl HookEvent {
    pub fn read(text: &str) -> Result<HookEvent, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("the hook's input is not JSON: {error}"))?;
        let word = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let name = word(EVENT_NAME).ok_or("the hook's input names no event")?;
        let moment = Moment::named(&name);
        let tool = word("tool_name").unwrap_or_default();
        let input = value.get("tool_input").unwrap_or(&Value::Null);
        let (files, may_write_anything) = written(&tool, input)?;
        Ok(HookEvent {
            moment,
            files,
            may_write_anything,
            cwd: word("cwd"),
            session: word("session_id"),
            agent: word("agent_id"),
            tool,
            name,
        })
    }
}

/// Returns the files that a tool names, and whether it may write others.
fn written(tool: &str, input: &Value) -> Result<(Vec<String>, bool), String> {
    let word = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    match tool {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => {
            let file = word("file_path").or_else(|| word("notebook_path"));
            let file = file.ok_or_else(|| format!("the tool {tool} names no file"))?;
            Ok((vec![file], false))
        }
        "apply_patch" => {
            let patch = word("command").or_else(|| word("input")).or_else(|| word("patch"));
            let patch = patch.ok_or("the tool apply_patch has no patch")?;
            Ok((patched(&patch), false))
        }
        // comity's own tools write no files of the project.
        _ if tool.starts_with("mcp__comity__") => Ok((Vec::new(), false)),
        _ => {
            let command = match input.get("command") {
                Some(Value::Array(words)) => {
                    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
                }
                other => other.and_then(Value::as_str).unwrap_or_default().to_owned(),
            };
            let is_patch = command.contains("apply_patch");
            Ok((if is_patch { patched(&command) } else { Vec::new() }, true))
        }
    }
}

/// Returns the files that a patch of Codex names: both names of a file that is moved.
fn patched(patch: &str) -> Vec<String> {
    const HEADS: [&str; 4] =
        ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let named = |line: &str| {
        HEADS
            .iter()
            .find_map(|head| line.trim().strip_prefix(head))
            .map(str::trim)
            .map(str::to_owned)
    };
    patch.lines().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(tool: &str, input: &Value) -> HookEvent {
        let text = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
        HookEvent::read(&text.to_string()).unwrap()
    }

    #[test]
    fn a_tool_names_the_files_that_it_writes() {
        assert_eq!(read("Edit", &json!({"file_path": "/p/a.rs"})).files, ["/p/a.rs"]);
        assert_eq!(read("NotebookEdit", &json!({"notebook_path": "n.ipynb"})).files, ["n.ipynb"]);
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-x\n+y\n*** Add File: c d.rs\n+z\n*** Delete File: e\n*** End Patch";
        let files = ["a.rs", "b.rs", "c d.rs", "e"];
        assert_eq!(read("apply_patch", &json!({"command": patch})).files, files);
        let shell = read("Bash", &json!({"command": format!("apply_patch <<'E'\n{patch}\nE")}));
        assert_eq!(shell.files, files);
        assert!(shell.may_write_anything);
        let list = read("shell", &json!({"command": ["bash", "-lc", "sed -i s/a/b/ x"]}));
        assert!(list.files.is_empty() && list.may_write_anything);
        assert!(!read("mcp__comity__claim_task", &json!({})).may_write_anything);
        assert!(read("mcp__files__write", &json!({"path": "x"})).may_write_anything);
    }

    #[test]
    fn a_part_of_the_input_is_enough_to_tell_the_moment() {
        for (text, moment) in [
            ("{\"hook_event_name\": \"Stop\", ", Some(Moment::Other)),
            ("{\"session_id\":\"s\",\"hook_event_name\":\"PostToolUse\"", Some(Moment::After)),
            ("{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/Stop", Some(Moment::Before)),
            (
                "{\"a\":{\"hook_event_name\":\"Stop\"},\"hook_event_name\":\"PreToolUse\"",
                Some(Moment::Before),
            ),
            ("{\"hook_event_name\":\"Sto", None),
            ("{\"cwd\":\"/Stop/PostToolUse\"", None),
            ("{\"x\":\"\\\"hook_event_name\\\":\\\"Stop\\\"\"", None),
            ("", None),
        ] {
            assert_eq!(Moment::of_fragment(text), moment, "{text}");
        }
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        for text in ["", "{", "[]", "{}", "{\"hook_event_name\": 3}"] {
            assert!(HookEvent::read(text).is_err(), "{text}");
        }
        let edit = json!({"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {}});
        assert!(HookEvent::read(&edit.to_string()).is_err());
    }
}
