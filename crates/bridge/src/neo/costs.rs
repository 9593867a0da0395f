//! neo's runs and what they cost. They stay in neo (ADR 69); an import lists them.

use comity_project::plain_file;
use comity_protocol::plan::{FILE_BYTES_MAX, LeftOut};
use serde_json::Value;
use std::path::{Path, PathBuf};

const RUNS_STAY: &str = "they stay in neo: comity has seen neither their work nor their ends, and nobody goes on with them here";
const COSTS_STAY: &str =
    "they stay in neo: what was spent before comity counts in no cost and no budget of comity";

/// Lists the runs and the costs that neo keeps beside its supervisors.
pub(super) fn left_out(home: &Path) -> Vec<LeftOut> {
    let runs = entries(&home.join("runs")).into_iter().filter_map(|dir| {
        let is_run = |path: &PathBuf| {
            let name = name(path);
            name.ends_with(".json") && !name.ends_with(".dispatch.json")
        };
        let count = entries(&dir).iter().filter(|path| is_run(path)).count();
        let what = if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
        (count > 0).then(|| LeftOut::new(format!("runs/{}", name(&dir)), what, RUNS_STAY))
    });
    let is_journal = |path: &PathBuf| {
        let name = name(path);
        name.starts_with("cost-") && name.ends_with(".jsonl")
    };
    let journals = entries(&home.join("journals")).into_iter().filter(is_journal);
    let costs = journals.map(|path| {
        let item = format!("journals/{}", name(&path));
        match spent(&path) {
            Ok((usd, lines)) => {
                LeftOut::new(item, format!("{usd:.4} US dollars in {lines} sessions"), COSTS_STAY)
            }
            Err(error) => LeftOut::new(item, "costs", format!("cannot read it: {error}")),
        }
    });
    runs.chain(costs).collect()
}

/// Adds up the lines of a journal that say what a session cost.
fn spent(path: &Path) -> std::io::Result<(f64, usize)> {
    let text = plain_file::read(path, FILE_BYTES_MAX)?;
    let cost = |line: &[u8]| serde_json::from_slice::<Value>(line).ok()?.get("costUsd")?.as_f64();
    let costs: Vec<f64> = text.split(|byte| *byte == b'\n').filter_map(cost).collect();
    Ok((costs.iter().sum(), costs.len()))
}

/// Lists what is in a directory, in the order of the names; nothing where there is none.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_costs_that_stay_in_neo_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(left_out(home.path()), [], "nothing is there");
        for file in ["a.json", "b.json", "b.dispatch.json", "b.log"] {
            write(&format!("runs/tool/{file}"), "{}");
        }
        let lines = "{\"costUsd\":1.25}\nbroken\n{\"costUsd\":0.5}\n{\"agent\":\"x\"}\n";
        write("journals/cost-2026-04.jsonl", lines);
        write("journals/events-2026-04.jsonl", lines);
        let found = left_out(home.path());
        let told: Vec<(&str, &str)> = found.iter().map(|left| (&*left.item, &*left.what)).collect();
        assert_eq!(
            told,
            [
                ("runs/tool", "2 runs"),
                ("journals/cost-2026-04.jsonl", "1.7500 US dollars in 2 sessions")
            ]
        );
    }
}
