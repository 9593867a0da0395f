//! What refs tell of the claims of tasks: where each began and ended, and what was handed in with it.

use crate::git::Git;
use crate::names;
use crate::notes::Begin;
use std::collections::BTreeMap;

/// What was noted of one claim.
#[derive(Clone, Debug, Default)]
struct Noted {
    begin: Option<Begin>,
    resume: Option<String>,
    end: Option<String>,
    lapse: Option<String>,
}

/// The time between two claims that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// What was checked out when the one ended.
    pub(crate) end: String,
    /// What was checked out when the next one went on.
    pub(crate) resume: String,
    /// Whether the holder of both did not notice that the first had expired.
    pub(crate) unnoticed: bool,
}

/// A task's work up to a claim: the claims since it began, each of which went on with the one before.
#[derive(Debug)]
pub(crate) struct Story {
    /// Where it began.
    pub(crate) begin: Begin,
    /// The fence of the claim that it began with.
    pub(crate) first: u64,
    /// The times in which nobody had the task.
    pub(crate) gaps: Vec<Gap>,
    /// What was checked out when claims went on.
    pub(crate) resumed: Vec<String>,
}

/// Returns the work up to a claim; for an unknown one, up to the last.
pub(crate) fn of(git: &Git, task: &str, fence: Option<u64>) -> Option<Story> {
    let mut claims = noted(git, task);
    claims.retain(|number, noted| {
        noted.begin.is_some() && fence.is_none_or(|fence| *number <= fence)
    });
    let (mut gaps, mut resumed) = (Vec::new(), Vec::new());
    let mut back = claims.into_iter().rev();
    let (mut first, mut noted) = back.next()?;
    let begin = noted.begin.clone()?;
    while let Some(resume) = noted.resume {
        let Some((number, before)) = back.next() else { break };
        let unnoticed = before.end.is_none();
        if let Some(end) = before.end.clone().or_else(|| before.lapse.clone()) {
            gaps.push(Gap { end, resume: resume.clone(), unnoticed });
        }
        resumed.push(resume);
        (first, noted) = (number, before);
    }
    Some(Story { begin, first, gaps, resumed })
}

/// Reads `type object ref`.
fn read(line: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = line.split_once(' ')?;
    let (object, name) = rest.split_once(' ')?;
    Some((kind, object, name))
}

fn noted(git: &Git, task: &str) -> BTreeMap<u64, Noted> {
    let places =
        [names::begins(task), names::ends(task), names::lapses(task), names::resumes(task)];
    let mut args = vec!["for-each-ref", "--format=%(objecttype) %(objectname) %(refname)"];
    args.extend(places.iter().map(String::as_str));
    let mut found: BTreeMap<u64, Noted> = BTreeMap::new();
    for line in git.lines(&args) {
        let Some((kind, object, name)) = read(&line) else { continue };
        let Some((place, number)) = name.rsplit_once('/') else { continue };
        let Ok(number) = number.parse() else { continue };
        let (is_commit, object) = (kind == "commit", object.to_owned());
        let claim = found.entry(number).or_default();
        if place.starts_with(names::BEGIN) {
            let begin = if is_commit { Begin::Commit } else { Begin::Nothing };
            claim.begin = Some(begin(object));
        } else if place.starts_with(names::END) {
            claim.end = is_commit.then_some(object);
        } else if place.starts_with(names::LAPSE) {
            claim.lapse = is_commit.then_some(object);
        } else {
            claim.resume = is_commit.then_some(object);
        }
    }
    found
}

/// A claim that is no part of a piece of work: of another task, or of the same one before it began anew.
#[derive(Debug, Default)]
pub(crate) struct Other {
    /// The task, as refs spell it.
    pub(crate) task: String,
    pub(crate) fence: u64,
    pub(crate) begin: Option<Begin>,
    pub(crate) end: Option<String>,
    pub(crate) handed_in: Option<String>,
}

/// Lists all claims that were noted, but those of a task since a fence.
pub(crate) fn others(git: &Git, task: &str, since: u64) -> Vec<Other> {
    let this = names::escaped(task);
    let mut found: BTreeMap<(String, u64), Other> = BTreeMap::new();
    let format = "--format=%(objecttype) %(objectname) %(refname)";
    let args = ["for-each-ref", format, names::BEGIN, names::END, names::HANDED_IN];
    for line in git.lines(&args) {
        let Some((kind, object, name)) = read(&line) else { continue };
        let places = [names::BEGIN, names::END, names::HANDED_IN];
        let Some((place, rest)) =
            places.iter().find_map(|place| Some((*place, name.strip_prefix(place)?)))
        else {
            continue;
        };
        let Some((other, fence)) = rest.split_once('/') else { continue };
        let Ok(fence) = fence.parse::<u64>() else { continue };
        if other == this && fence >= since {
            continue;
        }
        let claim = found.entry((other.to_owned(), fence)).or_insert_with(|| Other {
            task: other.to_owned(),
            fence,
            ..Other::default()
        });
        let object = object.to_owned();
        match (place, kind) {
            (names::BEGIN, "commit") => claim.begin = Some(Begin::Commit(object)),
            (names::BEGIN, _) => claim.begin = Some(Begin::Nothing(object)),
            (names::END, "commit") => claim.end = Some(object),
            (_, "commit") => claim.handed_in = Some(object),
            _ => {}
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn run(dir: &Path, args: &[&str]) -> String {
        let name = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let output = Git::at(dir).output(&[&name, args].concat()).unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn claims_that_go_on_with_one_another_are_one_story_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path();
        run(here, &["init", "--quiet", "--initial-branch=main"]);
        let mut commits = Vec::new();
        for name in ["a", "b", "c", "d"] {
            run(here, &["commit", "--quiet", "--allow-empty", "-m", name]);
            commits.push(run(here, &["rev-parse", "HEAD"]));
        }
        let [a, b, c, d] = commits.as_slice() else { panic!("{commits:?}") };
        for (name, commit) in [
            ("begin/T1/3", a),
            ("end/T1/3", b),
            ("begin/T1/7", a),
            ("resume/T1/7", c),
            ("lapse/T1/7", c),
            ("begin/T1/9", a),
            ("resume/T1/9", d),
            ("begin/T1/12", d),
            ("begin/T10/4", b),
            ("handed-in/T10/4", c),
        ] {
            run(here, &["update-ref", &format!("refs/comity/{name}"), commit]);
        }
        let git = Git::at(here);
        let story = of(&git, "T1", Some(9)).unwrap();
        assert_eq!((&story.begin, story.first), (&Begin::Commit(a.clone()), 3));
        let gap = |end: &String, resume: &String, unnoticed| Gap {
            end: end.clone(),
            resume: resume.clone(),
            unnoticed,
        };
        assert_eq!(story.gaps, [gap(c, d, true), gap(b, c, false)]);
        let anew = of(&git, "T1", None).unwrap();
        assert_eq!((&anew.begin, anew.first, anew.gaps.len()), (&Begin::Commit(d.clone()), 12, 0));
        assert!(of(&git, "T1", Some(2)).is_none());
        let found: Vec<(String, u64)> =
            others(&git, "T1", 9).into_iter().map(|other| (other.task, other.fence)).collect();
        let expected = [("T1", 3), ("T1", 7), ("T10", 4)];
        assert_eq!(found, expected.map(|(task, fence)| (task.to_owned(), fence)));
    }
}
