//! The agents that comity knows: its own, and those that a project defines in `.comity/agents/` or `.neo/agents/`.

use comity_api::{AgentDefinition, BadDefinition, Subagent};
use comity_core::money::Usd;
use comity_core::refusal::{Code, Refusal};
use comity_core::run::{Stage, check_name};
use comity_project::plain_file;
use comity_protocol::contract::{self, Mode};
use comity_protocol::document::Node;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const INHERITED: &str = "$inherited";
/// Longest file of a definition or a prompt, in bytes.
const FILE_BYTES_MAX: usize = 256 * 1024;
/// How often one definition may extend another.
const EXTENDS_MAX: usize = 8;
const DIRS: [&str; 2] = [".comity/agents", ".neo/agents"];
/// Where plans are written.
const SPEC_DIRS: [&str; 2] = [".comity/specs/", ".neo/specs/"];

const READS: [&str; 3] = ["Read", "Grep", "Glob"];
const WRITES: [&str; 7] = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "Agent"];
const LOOKS: [&str; 5] = ["Read", "Grep", "Glob", "Bash", "Agent"];

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

fn subagent(name: &str, description: &str, prompt: &str) -> (String, Subagent) {
    let (description, prompt) = (description.to_owned(), prompt.trim().to_owned());
    let model = Some("sonnet".to_owned());
    (name.to_owned(), Subagent { description, prompt, tools: words(&READS), model })
}

fn own(name: &str, stage: Stage, writable: bool, model: &str, about: [&str; 2]) -> AgentDefinition {
    let [description, prompt] = about;
    AgentDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        stage,
        writable,
        model: Some(model.to_owned()),
        tools: words(if writable { &WRITES } else { &LOOKS }),
        prompt: prompt.trim().to_owned(),
        agents: BTreeMap::new(),
        max_turns: None,
        max_cost: None,
        driver: None,
        spec_dirs: words(&SPEC_DIRS),
        file: None,
    }
}

/// Returns the agents that are there without any definition.
fn built_in() -> Vec<AgentDefinition> {
    let plan_reviewer = subagent(
        "plan-reviewer",
        "Reviews an implementation plan before it is handed on",
        include_str!("prompts/plan-reviewer.md"),
    );
    let spec_reviewer = subagent(
        "spec-reviewer",
        "Checks whether work is what was asked for",
        include_str!("prompts/spec-reviewer.md"),
    );
    let quality_reviewer = subagent(
        "code-quality-reviewer",
        "Looks for errors in changed code",
        include_str!("prompts/code-quality-reviewer.md"),
    );
    let architect = ["Designs, and writes plans", include_str!("prompts/architect.md")];
    let developer = ["Carries out plans and tasks", include_str!("prompts/developer.md")];
    let reviewer = ["Reviews what was handed in", include_str!("prompts/reviewer.md")];
    let scout = ["Explores code and reports findings", include_str!("prompts/scout.md")];
    let focused = ["Brings one objective to its end", include_str!("prompts/focused.md")];
    vec![
        AgentDefinition {
            agents: BTreeMap::from([plan_reviewer]),
            ..own("architect", Stage::Plan, true, "opus", architect)
        },
        AgentDefinition {
            agents: BTreeMap::from([spec_reviewer, quality_reviewer]),
            ..own("developer", Stage::Develop, true, "opus", developer)
        },
        own("reviewer", Stage::Review, false, "sonnet", reviewer),
        own("scout", Stage::Scout, false, "opus", scout),
        own("focused", Stage::Scout, false, "opus", focused),
    ]
}

/// Every agent of a project, by name, and the definitions that cannot be used.
pub fn all(root: &Path) -> (Vec<AgentDefinition>, Vec<BadDefinition>) {
    let (mut agents, mut bad) = (built_in(), Vec::new());
    let files = definitions(root);
    for (name, file) in &files {
        match read(root, file, &files, EXTENDS_MAX) {
            Ok(agent) => {
                agents.retain(|known| known.name != *name);
                agents.push(agent);
            }
            Err(problems) => bad.push(BadDefinition { file: shown(root, file), problems }),
        }
    }
    (agents, bad)
}

/// Finds an agent by its name.
pub fn find(root: &Path, name: &str) -> Result<AgentDefinition, Refusal> {
    let (agents, bad) = all(root);
    let hidden = bad.iter().find(|bad| Path::new(&bad.file).file_stem() == Some(name.as_ref()));
    if let Some(hidden) = hidden {
        let message = format!("{}: {}", hidden.file, hidden.problems.join("; "));
        return Err(
            Refusal::new(Code::ContractInvalid, message).hint("mend the file, or remove it")
        );
    }
    let names: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
    let found = agents.into_iter().find(|agent| agent.name == name);
    found.ok_or_else(|| {
        let nearest = comity_core::nearest::nearest(name, names.iter().map(String::as_str));
        Refusal::new(Code::UnknownName, format!("there is no agent {name:?}"))
            .hint(format!("the agents are {}", names.join(", ")))
            .detail("agent_name", name)
            .detail("nearest", nearest)
    })
}

/// Lists the files of definitions, by the name of the agent. Those of comity hide those of neo.
fn definitions(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    for dir in DIRS {
        let Ok(entries) = std::fs::read_dir(root.join(dir)) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_yaml = path.extension().is_some_and(|end| end == "yml" || end == "yaml");
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|_| is_yaml);
            if let Some(name) = name {
                files.entry(name.to_owned()).or_insert(path);
            }
        }
    }
    files
}

fn shown(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

/// Reads a definition. What it leaves out comes from the agent that it extends, else from comity's own of its name.
fn read(
    root: &Path,
    file: &Path,
    files: &BTreeMap<String, PathBuf>,
    further: usize,
) -> Result<AgentDefinition, Vec<String>> {
    let one = |text: String| vec![text];
    let text =
        plain_file::read_text(file, FILE_BYTES_MAX).map_err(|error| one(error.to_string()))?;
    let checked = contract::check(&text, contract::kind("agent"), Mode::Full);
    let Some(tree) = checked.tree.as_ref().filter(|_| checked.is_valid()) else {
        return Err(checked.problems.errors().into_iter().map(str::to_owned).collect());
    };
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    check_name(name).map_err(|refusal| one(refusal.message))?;
    let extended = tree.said("extends");
    let base = extended.as_deref().unwrap_or(name);
    let defined = files.get(base).filter(|other| *other != file);
    let parent = match (defined, further.checked_sub(1)) {
        (Some(other), Some(further)) => Some(read(root, other, files, further)?),
        (Some(_), None) => return Err(one("definitions extend one another for ever".to_owned())),
        (None, _) => built_in().into_iter().find(|agent| agent.name == base),
    };
    if let (None, Some(missing)) = (&parent, &extended) {
        return Err(one(format!("it extends {missing:?}, which is no agent")));
    }
    let writes = tree.said("sandbox").map(|word| word == "writable");
    let fresh = || {
        let writable = writes.unwrap_or(true);
        let stage = if writable { Stage::Develop } else { Stage::Scout };
        own(name, stage, writable, "opus", ["", ""])
    };
    let mut agent = parent.unwrap_or_else(fresh);
    name.clone_into(&mut agent.name);
    agent.writable = writes.unwrap_or(agent.writable);
    agent.file = Some(shown(root, file));
    fill(&mut agent, tree, file).map_err(one)?;
    Ok(agent)
}

fn fill(agent: &mut AgentDefinition, tree: &Node, file: &Path) -> Result<(), String> {
    let said = |key: &str| tree.said(key);
    if let Some(text) = said("description") {
        agent.description = text;
    }
    agent.model = said("model").or(agent.model.take());
    agent.driver = said("driver").or(agent.driver.take());
    if let Some(text) = said("prompt") {
        agent.prompt = prompt(&text, file)?;
    }
    if let Some(text) = said("promptAppend") {
        agent.prompt = format!("{}\n\n{}", agent.prompt, prompt(&text, file)?);
    }
    if tree.get("tools").is_some() {
        let before = std::mem::take(&mut agent.tools);
        for tool in tree.items_of("tools").iter().filter_map(Node::text) {
            let added = if tool == INHERITED { before.clone() } else { vec![tool.to_owned()] };
            agent.tools.extend(added);
        }
    }
    let dirs: Vec<&str> = tree.items_of("spec_dirs").iter().filter_map(Node::text).collect();
    if !dirs.is_empty() {
        agent.spec_dirs =
            dirs.iter().map(|dir| format!("{}/", dir.trim_end_matches('/'))).collect();
    }
    let turns = tree.get("maxTurns").and_then(|node| node.written()?.parse().ok());
    agent.max_turns = turns.or(agent.max_turns);
    let cost = tree.get("maxCost").and_then(|node| node.written()?.parse().ok());
    agent.max_cost = cost.and_then(Usd::from_dollars).or(agent.max_cost);
    for entry in tree.get("agents").map_or(&[][..], Node::entries) {
        let inner = &entry.value;
        let tools: Vec<String> =
            inner.items_of("tools").iter().filter_map(Node::text).map(str::to_owned).collect();
        let subagent = Subagent {
            description: inner.text_of("description"),
            prompt: prompt(&inner.text_of("prompt"), file)?,
            tools: if tools.is_empty() { words(&READS) } else { tools },
            model: inner.said("model"),
        };
        agent.agents.insert(entry.key.clone(), subagent);
    }
    Ok(())
}

/// Returns a prompt: the text itself, or that of the file which it names, beside the definition.
fn prompt(text: &str, file: &Path) -> Result<String, String> {
    let is_name = text.lines().count() == 1 && text.trim_end().ends_with(".md");
    if !is_name {
        return Ok(text.trim().to_owned());
    }
    let (dir, name) = (file.parent().unwrap_or(file), Path::new(text.trim()));
    let is_inside = name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_inside {
        return Err(format!("the prompt {text:?} does not lie beside the definition"));
    }
    let read = plain_file::read_text(&dir.join(name), FILE_BYTES_MAX);
    read.map(|text| text.trim().to_owned())
        .map_err(|error| format!("cannot read the prompt {text:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> AgentDefinition {
        find(Path::new("/nowhere"), name).unwrap()
    }

    #[test]
    fn the_prompts_have_the_five_duties() {
        let has = |name: &str, words: &str| {
            assert!(known(name).prompt.contains(words), "{name}: {words}");
        };
        has("reviewer", "Make two passes");
        has("reviewer", "(spec FAIL) and you stop");
        has("developer", "begins with RESUMING FROM CRASH");
        has("developer", "If one is missing, report BLOCKED");
        has("developer", "after each commit log a milestone");
        has("developer", "log a milestone that you resume");
    }

    #[test]
    fn the_built_in_agents_are_those_of_the_specification() {
        let expected = [
            ("architect", "opus", true, vec!["plan-reviewer"]),
            ("developer", "opus", true, vec!["code-quality-reviewer", "spec-reviewer"]),
            ("reviewer", "sonnet", false, vec![]),
            ("scout", "opus", false, vec![]),
            ("focused", "opus", false, vec![]),
        ];
        for (name, model, writable, inner) in expected {
            let agent = known(name);
            assert_eq!((agent.model.as_deref(), agent.writable), (Some(model), writable), "{name}");
            assert_eq!(agent.agents.keys().collect::<Vec<_>>(), inner, "{name}");
            assert_eq!(agent.max_turns, None);
            for inner in agent.agents.values() {
                assert_eq!(
                    (inner.model.as_deref(), &inner.tools),
                    (Some("sonnet"), &words(&READS))
                );
            }
        }
    }

    #[test]
    fn a_mistyped_agent_is_refused_with_the_nearest_one() {
        let refusal = find(Path::new("/nowhere"), "develper").unwrap_err();
        assert_eq!(refusal.code, Code::UnknownName);
        assert_eq!(refusal.details["nearest"], "developer");
    }

    #[test]
    fn a_definition_overrides_and_extends_and_a_bad_one_hides_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            ".neo/agents/developer.yml",
            "name: developer\nextends: developer\nmodel: haiku\ndriver: codex\nmaxTurns: 7\npromptAppend: Be brief.\n\
             tools: [$inherited, WebFetch]\n",
        );
        write(
            ".comity/agents/auditor.yml",
            "name: auditor\nprompt: audit.md\nsandbox: readonly\ntools: [Read]\n",
        );
        write(".comity/agents/audit.md", "You audit.\n");
        write(".comity/agents/broken.yml", "name: [\n");
        write(".comity/agents/escape.yml", "name: escape\nprompt: ../../secret.md\n");
        let developer = find(dir.path(), "developer").unwrap();
        assert_eq!((developer.model.as_deref(), developer.max_turns), (Some("haiku"), Some(7)));
        assert!(developer.prompt.starts_with("You are a developer"));
        assert!(developer.prompt.ends_with("Be brief."));
        assert_eq!(developer.tools.len(), WRITES.len() + 1);
        assert_eq!(developer.stage, Stage::Develop);
        let auditor = find(dir.path(), "auditor").unwrap();
        assert_eq!((auditor.prompt.as_str(), auditor.writable), ("You audit.", false));
        let (agents, bad) = all(dir.path());
        assert_eq!(agents.len(), 6);
        let files: Vec<&str> = bad.iter().map(|bad| bad.file.as_str()).collect();
        assert_eq!(files, [".comity/agents/broken.yml", ".comity/agents/escape.yml"]);
        assert_eq!(find(dir.path(), "broken").unwrap_err().code, Code::ContractInvalid);
    }
}
