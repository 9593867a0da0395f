//! A repository as far as a crew sees it: files of functions that call each other, what tasks change in it, how two versions
//! merge, and its one test: every call names a function that exists.
//!
//! Two versions merge by function. That is what git does with these files, since functions are apart by more lines than
//! git looks at; `agrees_with_git` checks it with git itself.

use crate::Outcome;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::process::Command;
use std::rc::Rc;

pub const FILES: usize = 200;
pub const FUNCTIONS: usize = 12;
/// The first files are those that many tasks change.
pub const HOT: usize = 5;
/// The part of the tasks that change a hot file, in percent.
pub const HOT_PERCENT: u64 = 40;
/// Names beyond this one are given by renaming.
const RENAMED: u32 = 100_000;
/// Merges that are compared with git's.
const SAMPLES_MAX: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: u32,
    /// The tasks that changed it, in order.
    pub body: Vec<u32>,
    /// The names that it calls.
    pub calls: Vec<u32>,
}

pub type File = Rc<Vec<Function>>;
/// A file and a function in it.
pub type Place = (usize, usize);

#[derive(Clone, Debug)]
pub struct Tree(pub Vec<File>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Body,
    /// It calls this function from now on.
    Call(Place),
    Rename,
}

#[derive(Clone, Copy, Debug)]
pub struct Edit {
    pub place: Place,
    pub change: Change,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub id: u32,
    pub edits: Vec<Edit>,
}

thread_local! {
    /// File merges in which both sides changed something: base, ours, theirs, merged, whether there is a conflict.
    static SAMPLES: RefCell<Vec<[File; 4]>> = const { RefCell::new(Vec::new()) };
    static CONFLICTS: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

impl Tree {
    pub fn new() -> Tree {
        let function = |file: usize, at: usize| Function {
            name: u32::try_from(file * FUNCTIONS + at).unwrap_or(u32::MAX),
            body: Vec::new(),
            calls: Vec::new(),
        };
        let file = |file: usize| Rc::new((0..FUNCTIONS).map(|at| function(file, at)).collect());
        Tree((0..FILES).map(file).collect())
    }

    pub fn at(&self, (file, at): Place) -> &Function {
        &self.0[file][at]
    }

    pub fn at_mut(&mut self, (file, at): Place) -> &mut Function {
        &mut Rc::make_mut(&mut self.0[file])[at]
    }

    /// Makes an edit; doing it again changes nothing.
    pub fn edit(&mut self, task: u32, edit: Edit) {
        let called = match edit.change {
            Change::Call(target) => Some(self.at(target).name),
            Change::Body | Change::Rename => None,
        };
        let old = self.at(edit.place).name;
        let function = self.at_mut(edit.place);
        if !function.body.contains(&task) {
            function.body.push(task);
        }
        if let Some(name) = called.filter(|name| !function.calls.contains(name)) {
            function.calls.push(name);
        }
        let new = RENAMED + task;
        if edit.change == Change::Rename && old != new {
            function.name = new;
            self.rename_calls(old, new);
        }
    }

    fn rename_calls(&mut self, old: u32, new: u32) {
        for file in &mut self.0 {
            if file.iter().any(|function| function.calls.contains(&old)) {
                for function in Rc::make_mut(file) {
                    function
                        .calls
                        .iter_mut()
                        .filter(|name| **name == old)
                        .for_each(|name| *name = new);
                }
            }
        }
    }

    /// Lists calls of functions that do not exist: the test is red where there is one.
    pub fn undefined(&self) -> Vec<(Place, u32)> {
        let functions = || self.0.iter().flat_map(|file| file.iter());
        let defined: HashSet<u32> = functions().map(|function| function.name).collect();
        let mut found = Vec::new();
        for (file, functions) in self.0.iter().enumerate() {
            for (at, function) in functions.iter().enumerate() {
                let missing = function.calls.iter().filter(|name| !defined.contains(name));
                found.extend(missing.map(|name| ((file, at), *name)));
            }
        }
        found
    }

    /// Mends calls of functions that were renamed; returns how many.
    pub fn mend(&mut self, tasks: &[Task]) -> usize {
        let missing = self.undefined();
        for (place, name) in &missing {
            let now = self.at(place_of(*name, tasks)).name;
            let function = self.at_mut(*place);
            function.calls.retain(|known| *known != now);
            function.calls.iter_mut().filter(|known| *known == name).for_each(|known| *known = now);
        }
        missing.len()
    }
}

/// Finds the function that has or had a name.
fn place_of(name: u32, tasks: &[Task]) -> Place {
    let number = usize::try_from(name).unwrap_or(0);
    let Some(task) = number.checked_sub(RENAMED as usize).and_then(|at| tasks.get(at)) else {
        return (number / FUNCTIONS, number % FUNCTIONS);
    };
    let edit = task.edits.iter().find(|edit| edit.change == Change::Rename);
    edit.map_or((0, 0), |edit| edit.place)
}

/// Merges what both sides did since `base`. Where both changed a function, ours stays, and the place is returned.
pub fn merge(base: &Tree, ours: &Tree, theirs: &Tree) -> (Tree, Vec<Place>) {
    let (mut merged, mut conflicts) = (ours.clone(), Vec::new());
    for file in 0..FILES {
        let (base, our, their) = (&base.0[file], &ours.0[file], &theirs.0[file]);
        if Rc::ptr_eq(base, their) || base == their {
            continue;
        }
        if Rc::ptr_eq(base, our) || base == our {
            merged.0[file] = their.clone();
            continue;
        }
        let before = conflicts.len();
        for at in 0..FUNCTIONS {
            let (old, mine, other) = (&base[at], &our[at], &their[at]);
            if other == old || other == mine {
                continue;
            }
            if mine == old {
                *merged.at_mut((file, at)) = other.clone();
            } else {
                conflicts.push((file, at));
            }
        }
        sample([base, our, their, &merged.0[file]], conflicts.len() > before);
    }
    (merged, conflicts)
}

fn sample(files: [&File; 4], conflict: bool) {
    SAMPLES.with_borrow_mut(|samples| {
        if samples.len() < SAMPLES_MAX {
            samples.push(files.map(Rc::clone));
            CONFLICTS.with_borrow_mut(|all| all.push(conflict));
        }
    });
}

fn text(file: &File) -> String {
    let mut text = String::new();
    for function in file.iter() {
        let _ = writeln!(text, "fn f{} {{\n    // begin", function.name);
        for task in &function.body {
            let _ = writeln!(text, "    work({task});");
        }
        for name in &function.calls {
            let _ = writeln!(text, "    f{name}();");
        }
        let _ = writeln!(text, "    // end\n}}\n\n// ---\n");
    }
    text
}

/// Lets git merge what was merged here, and compares; returns how many files were compared.
pub fn agrees_with_git() -> Outcome<usize> {
    let samples = SAMPLES.take();
    let conflicts = CONFLICTS.take();
    let dir = tempfile::tempdir()?;
    for (files, conflict) in samples.iter().zip(&conflicts) {
        let [base, ours, theirs, merged] = files;
        for (name, file) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            std::fs::write(dir.path().join(name), text(file))?;
        }
        let output = Command::new("git")
            .args(["merge-file", "-p", "ours", "base", "theirs"])
            .current_dir(dir.path())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let git_conflicts = output.status.code().unwrap_or(255) != 0;
        if git_conflicts != *conflict || (!conflict && said != text(merged)) {
            return Err(format!("git merges a file otherwise: {said}").into());
        }
    }
    Ok(samples.len())
}

/// Chance with a seed.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap_or(0)
    }

    pub fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// A number between nought and one, neither included.
    pub fn part(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let part = (self.next() as f64 + 0.5) / 9_007_199_254_740_992.0;
        part
    }

    /// One of the hot files: the first half as often again as the second, and so on (Zipf, 1.1).
    fn hot(&mut self) -> usize {
        let weight = |at: usize| {
            #[expect(clippy::cast_precision_loss, reason = "a handful of files")]
            let rank = (at + 1) as f64;
            rank.powf(-1.1)
        };
        let all: f64 = (0..HOT).map(weight).sum();
        let mut left = self.part() * all;
        for at in 0..HOT {
            left -= weight(at);
            if left <= 0.0 {
                return at;
            }
        }
        HOT - 1
    }
}

/// Tasks of two to five files: 40 % with a hot one; a tenth rename the first function that they change, three tenths call one
/// more, half of them one of a hot file.
pub fn tasks(seed: u64, count: usize) -> Vec<Task> {
    let mut chance = Chance::new(seed);
    (0..count).map(|at| task(&mut chance, at)).collect()
}

fn task(chance: &mut Chance, at: usize) -> Task {
    let mut files = BTreeSet::new();
    if chance.percent(HOT_PERCENT) {
        files.insert(chance.hot());
    }
    let wanted = 2 + chance.below(4);
    while files.len() < wanted {
        files.insert(HOT + chance.below(FILES - HOT));
    }
    let kind = chance.below(10);
    let mut edits: Vec<Edit> = files
        .into_iter()
        .map(|file| Edit { place: (file, chance.below(FUNCTIONS)), change: Change::Body })
        .collect();
    // What many change is what many call.
    let hot = chance.percent(50);
    let file = if hot { chance.hot() } else { HOT + chance.below(FILES - HOT) };
    let target = (file, chance.below(FUNCTIONS));
    let place = if kind == 0 { edits.first_mut() } else { edits.last_mut() };
    if let Some(edit) = place {
        edit.change = match kind {
            0 => Change::Rename,
            1..=3 => Change::Call(target),
            _ => Change::Body,
        };
    }
    Task { id: u32::try_from(at).unwrap_or(u32::MAX), edits }
}

/// Tasks of which a third call what another third renames.
pub fn renaming_tasks(seed: u64, count: usize) -> Vec<Task> {
    let mut all = tasks(seed, count);
    for at in 0..count {
        let renamed = all[at - at % 3].edits.first().map(|edit| edit.place);
        let Some(place) = renamed else { continue };
        for edit in &mut all[at].edits {
            edit.change = Change::Body;
        }
        let is_same_file = all[at].edits.iter().any(|edit| edit.place.0 == place.0);
        if let Some(edit) = all[at].edits.first_mut() {
            match at % 3 {
                0 => edit.change = Change::Rename,
                1 if !is_same_file => edit.change = Change::Call(place),
                _ => {}
            }
        }
    }
    all
}

/// Counts the edits of tasks that are not in the tree.
pub fn lost(tree: &Tree, tasks: &[Task]) -> usize {
    let missing = |task: &Task| {
        task.edits.iter().filter(|edit| !tree.at(edit.place).body.contains(&task.id)).count()
    };
    tasks.iter().map(missing).sum()
}
