//! The merge queue in words.

use super::Screen;
use super::table::{Table, plain};
use super::words::{BAD, BOLD, DIM, GOOD, WARN, ago, count, paint, short_sha};
use comity_api::{MergeQueueAnswer, MergeRunAnswer, ProbesAnswer, ReleaseAnswer, SpacesAnswer};
use comity_core::merging::Probe;

pub fn queue(answer: &MergeQueueAnswer, screen: &Screen) -> String {
    if answer.queue.is_empty() && screen.terminal {
        return "Nothing waits to be merged.\n".to_owned();
    }
    let mut table =
        Table::new(&["TASK", "PRIORITY", "COMMIT", "STATE", "BATCH", "APPROVED"], "APPROVED");
    for one in &answer.queue {
        let at = one.approved_at;
        let approved = if screen.terminal { ago(at, screen) } else { at.to_string() };
        table.row(vec![
            (one.task.clone(), BOLD),
            plain(one.priority.to_string()),
            plain(short_sha(&one.commit).to_owned()),
            plain(one.state.clone()),
            plain(one.batch.clone().unwrap_or_default()),
            plain(approved),
        ]);
    }
    table.render(screen)
}

pub fn run(answer: &MergeRunAnswer, _: &Screen) -> String {
    let mut text = String::new();
    for batch in &answer.batches {
        for one in &batch.landed {
            let line =
                format!("{} landed on {} as {}", one.task, batch.target, short_sha(&one.sha));
            text += &(paint(GOOD, &line) + "\n");
        }
        for one in &batch.ejected {
            let why = one.why.lines().next().unwrap_or_default();
            text += &(paint(BAD, why) + "\n");
        }
    }
    for one in &answer.waiting {
        text += &(paint(WARN, &format!("{} waits: {}", one.task, one.why)) + "\n");
    }
    if text.is_empty() { "Nothing waits to be merged.\n".to_owned() } else { text }
}

pub fn probes(answer: &ProbesAnswer, _: &Screen) -> String {
    let mut text = String::new();
    for probe in &answer.probes {
        let (a, b) = (probe.a.name(), probe.b.name());
        text += &match probe.state {
            Probe::Clean => paint(DIM, &format!("{a} and {b} merge")) + "\n",
            Probe::Conflict => {
                let paths: Vec<&str> = probe.paths.iter().map(|path| path.path.as_str()).collect();
                paint(BAD, &format!("{a} and {b} conflict in {}", paths.join(", "))) + "\n"
            }
        };
    }
    if text.is_empty() { "No two runs change the same file.\n".to_owned() } else { text }
}

pub fn release(answer: &ReleaseAnswer, _: &Screen) -> String {
    let (tag, sha) = (&answer.tag, short_sha(&answer.sha));
    let tasks = count(answer.tasks.len(), "task", "tasks");
    let made = if answer.made { "" } else { " (the tag was there)" };
    let list: String = answer.tasks.iter().map(|id| format!("  {id}\n")).collect();
    format!("{tag} is {sha}{made}, with {tasks}\n{list}")
}

pub fn spaces(answer: &SpacesAnswer, screen: &Screen) -> String {
    if answer.workspaces.is_empty() {
        return "No work trees of runs.\n".to_owned();
    }
    let mut table = Table::new(&["RUN", "TASK", "BRANCH", "STATE", "PATH"], "PATH");
    for one in &answer.workspaces {
        let state = match (&one.why, one.dirty) {
            (Some(why), _) => why.clone(),
            (None, true) => "removable, with uncommitted files".to_owned(),
            (None, false) => "removable".to_owned(),
        };
        table.row(vec![
            (one.run.clone().unwrap_or_default(), BOLD),
            plain(one.task.clone().unwrap_or_default()),
            plain(one.branch.clone().unwrap_or_default()),
            plain(state),
            plain(one.path.clone()),
        ]);
    }
    table.render(screen)
}
