//! git's hooks: a commit and a push are checked before they are made.

use crate::identity;
use crate::plain_file;
use comity_core::refusal::{Code, Refusal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Each hook with what it asks comity.
const HOOKS: [(&str, &str); 3] = [
    ("pre-commit", "guard commit"),
    ("commit-msg", "guard commit --hook"),
    ("pre-push", "guard push"),
];
/// What was there before runs first, under this name.
const FORMER: &str = "before-comity";
/// The largest hook that is read.
const HOOK_BYTES_MAX: usize = 1024 * 1024;
/// How comity knows its own hooks.
const MARK: &str = "# comity: made by `comity init`; `comity init --remove` takes it away";

/// What became of git's hooks. Names are those of git.
#[derive(Debug, Default)]
pub struct HookOutcome {
    pub installed: Vec<String>,
    pub removed: Vec<String>,
    /// Lines for a person to add by hand, where git looks for hooks elsewhere.
    pub by_hand: Vec<String>,
}

/// Installs the hooks below the repository's common directory. `elsewhere` is git's `core.hooksPath`, if it is set: those
/// hooks belong to somebody else, so comity writes nothing and says what to add.
pub fn install_hooks(
    common_dir: &Path,
    elsewhere: Option<&str>,
    program: &Path,
    dry_run: bool,
) -> Result<HookOutcome, Refusal> {
    let mut outcome = HookOutcome::default();
    if let Some(dir) = elsewhere {
        let line =
            |(name, ask): &(&str, &str)| format!("{dir}/{name}: comity {ask} \"$@\" || exit 1");
        outcome.by_hand = HOOKS.iter().map(line).collect();
        return Ok(outcome);
    }
    let dir = common_dir.join("hooks");
    for (name, ask) in HOOKS {
        let place = dir.join(name);
        let text = script(name, ask, program);
        let there = found(&place);
        if there.as_deref() == Some(text.as_bytes()) {
            continue;
        }
        outcome.installed.push(name.to_owned());
        if dry_run {
            continue;
        }
        std::fs::create_dir_all(&dir).map_err(|error| failed(&dir, &error))?;
        if there.is_some_and(|there| !is_own(&there)) {
            let former = former(&place);
            if former.exists() {
                return Err(Refusal::new(
                    Code::StoreReadOnly,
                    format!("{} exists already", former.display()),
                )
                .hint("move that file away, and run the command again"));
            }
            std::fs::rename(&place, &former).map_err(|error| failed(&place, &error))?;
        }
        let new = dir.join(format!("{name}.comity-new"));
        std::fs::write(&new, text).map_err(|error| failed(&new, &error))?;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&new, mode).map_err(|error| failed(&new, &error))?;
        std::fs::rename(&new, &place).map_err(|error| failed(&place, &error))?;
    }
    Ok(outcome)
}

/// Takes the hooks away, and gives what was there before its name back.
pub fn remove_hooks(common_dir: &Path, dry_run: bool) -> Result<HookOutcome, Refusal> {
    let mut outcome = HookOutcome::default();
    for (name, _) in HOOKS {
        let place = common_dir.join("hooks").join(name);
        if !found(&place).is_some_and(|there| is_own(&there)) {
            continue;
        }
        outcome.removed.push(name.to_owned());
        if dry_run {
            continue;
        }
        let former = former(&place);
        let gone = if former.exists() {
            std::fs::rename(&former, &place)
        } else {
            std::fs::remove_file(&place)
        };
        gone.map_err(|error| failed(&place, &error))?;
    }
    Ok(outcome)
}

/// Reads a hook that is there. What is no plain file of this size is none of comity's, and its text does not matter.
fn found(place: &Path) -> Option<Vec<u8>> {
    match plain_file::read(place, HOOK_BYTES_MAX) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        read => Some(read.unwrap_or_default()),
    }
}

fn former(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(format!(".{FORMER}"));
    PathBuf::from(name)
}

fn is_own(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).lines().any(|line| line == MARK)
}

/// A shell script that runs what was there before, with the same arguments and input, and then comity.
fn script(name: &str, ask: &str, program: &Path) -> String {
    // Nothing, unless an agent client runs git.
    let markers: String = std::iter::once("COMITY_AGENT")
        .chain(identity::marker_variables())
        .map(|name| format!("${name}"))
        .collect();
    let program = program.display().to_string().replace('\'', "'\\''");
    // git gives only the pre-push hook something to read.
    let (read, give) = match name {
        "pre-push" => ("input=$(cat)\n", "printf '%s' \"${input:+$input\n}\" | "),
        _ => ("", ""),
    };
    format!(
        "#!/bin/sh\n{MARK}\n{read}\
         before=\"$0.{FORMER}\"\n\
         if [ -x \"$before\" ]; then\n  {give}\"$before\" \"$@\" || exit $?\nfi\n\
         comity='{program}'\n\
         [ -x \"$comity\" ] || comity=$(command -v comity) || comity=\n\
         if [ -z \"$comity\" ]; then\n\
         \x20 echo 'comity: the program is gone, so nothing was checked; install comity again, or remove this hook' >&2\n\
         \x20 if [ -n \"{markers}\" ]; then exit 1; fi\n\
         \x20 exit 0\n\
         fi\n\
         {give}\"$comity\" {ask} \"$@\"\n"
    )
}

fn failed(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::StoreReadOnly, format!("cannot write {}: {error}", path.display()))
}
