//! What a repository brings along is data, not authority. A value in its files that has power (a store elsewhere, another
//! root, a command, a token) counts only after this user trusted exactly this value for exactly this root.
//!
//! The list of trusted values is in the user's own directory for settings, outside every repository. It is read only when
//! such a value is found.

use crate::machine::Environment;
use crate::owner;
use comity_core::hint::{Hint, op, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Timestamp;
use comity_store::{Clock, SystemClock, plain_file};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The store of a project, in place of the default one.
pub const STORE: &str = "store";
/// The root of a project, in place of the one where git finds the repository.
pub const ROOT: &str = "root";

/// The largest list that is read.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Nobody but the user reads the list or looks into its directory.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;
/// With one of these bits others could write the list.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A value with power, as a repository's files have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Power {
    /// The directory that the value is for.
    pub root: PathBuf,
    /// [`STORE`], [`ROOT`], or the table of the settings that it stands in, such as `gate.tests`.
    pub kind: String,
    /// Exactly what the file says.
    pub value: String,
}

/// A value that the user trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    pub root: String,
    pub kind: String,
    pub value: String,
    pub at: Timestamp,
}

impl Trusted {
    pub fn is(&self, power: &Power) -> bool {
        Path::new(&self.root) == power.root && self.kind == power.kind && self.value == power.value
    }
}

#[derive(Default, Serialize, Deserialize)]
struct List {
    trusted: Vec<Trusted>,
}

/// What this user trusts.
#[derive(Clone)]
pub struct Trust {
    /// None where the environment names no directory for the user's settings.
    file: Option<PathBuf>,
    environment: Environment,
}

/// Returns the directory of the user's own settings, outside every repository.
pub(crate) fn user_settings(environment: &Environment) -> Option<PathBuf> {
    let dir = |name: &str| {
        let dir = PathBuf::from(environment.own(name)?);
        dir.is_absolute().then_some(dir)
    };
    let settings = dir("XDG_CONFIG_HOME").or_else(|| Some(dir("HOME")?.join(".config")));
    settings.map(|settings| settings.join("comity"))
}

impl Trust {
    pub fn of(environment: &Environment) -> Trust {
        let file = user_settings(environment).map(|settings| settings.join("trust.json"));
        Trust { file, environment: environment.clone() }
    }

    /// Refuses a value that this user did not trust.
    pub fn require(&self, power: &Power) -> Result<(), Refusal> {
        if self.list()?.iter().any(|trusted| trusted.is(power)) {
            Ok(())
        } else {
            Err(refused(power))
        }
    }

    /// Returns all that this user trusts, in the order in which it was trusted.
    pub fn list(&self) -> Result<Vec<Trusted>, Refusal> {
        let Some(path) = &self.file else { return Ok(Vec::new()) };
        let file = match plain_file::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(path, &error)),
        };
        let meta = file.metadata().map_err(|error| unusable(path, &error))?;
        if !owner::is_mine(&meta, &self.environment) || meta.mode() & WRITABLE_BY_OTHERS != 0 {
            return Err(unusable(path, &"others may have written it")
                .hint("look at the file, then make it yours with mode 0600, or remove it"));
        }
        let text =
            plain_file::read_all(file, LIST_BYTES_MAX).map_err(|error| unusable(path, &error))?;
        let list: List = serde_json::from_slice(&text).map_err(|error| unusable(path, &error))?;
        Ok(list.trusted)
    }

    /// Trusts values from now on; what is trusted already keeps its time.
    pub fn add(&self, powers: &[Power]) -> Result<(), Refusal> {
        let now = Timestamp::from_ms(SystemClock.read().wall_ms);
        self.change(|list| {
            for power in powers {
                let Some(root) = power.root.to_str() else {
                    return Err(Refusal::input("the path of the root is not UTF-8").hint(
                        say("give the store with ").ask("store", "URL").say(" or COMITY_STORE"),
                    ));
                };
                if !list.iter().any(|trusted| trusted.is(power)) {
                    let (kind, value) = (power.kind.clone(), power.value.clone());
                    list.push(Trusted { root: root.to_owned(), kind, value, at: now });
                }
            }
            Ok(())
        })
    }

    /// Forgets all that is trusted for some roots; returns it.
    pub fn remove(&self, roots: &[&Path]) -> Result<Vec<Trusted>, Refusal> {
        let mut removed = Vec::new();
        self.change(|list| {
            let is_of = |trusted: &mut Trusted| roots.contains(&Path::new(&trusted.root));
            removed = list.extract_if(.., is_of).collect();
            Ok(())
        })?;
        Ok(removed)
    }

    /// Replaces the list by a changed one, while no other process changes it.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Trusted>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let path = self.file.as_ref().ok_or_else(|| {
            Refusal::input("there is no directory for your settings")
                .hint("set HOME or XDG_CONFIG_HOME to a directory of yours")
        })?;
        let failed = |error: std::io::Error| unusable(path, &error);
        if let Some(dir) = path.parent() {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(DIR_MODE)
                .create(dir)
                .map_err(failed)?;
        }
        let new = |path: &Path| {
            OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)
        };
        let lock = new(&path.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut trusted = self.list()?;
        change(&mut trusted)?;
        let text = serde_json::to_string_pretty(&List { trusted })
            .map_err(|error| unusable(path, &error))?;
        let next = path.with_extension("new");
        let written = new(&next).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| std::fs::rename(&next, path)).map_err(failed)
    }
}

fn refused(power: &Power) -> Refusal {
    let Power { root, kind, value } = power;
    let place = root.display();
    let (what, next) = match kind.as_str() {
        STORE => (
            format!("the settings of {place} name the store {value:?}"),
            trusting(root)
                .say("; to use another store, give ")
                .ask("store", "URL")
                .say(" or set COMITY_STORE"),
        ),
        ROOT => (
            format!("the git configuration in {place} names the root {value:?}"),
            say(format!("if you know this root, run (a person, not an agent) in {place}: "))
                .quote(op("trust"))
                .say("; to use another project, give ")
                .ask("root", "DIR"),
        ),
        _ => (format!("the settings of {place} have {kind} = {value:?}"), trusting(root)),
    };
    Refusal::new(Code::Untrusted, format!("{what}, and you have not trusted this value"))
        .hint(next)
        .detail("root", root.to_string_lossy())
        .detail("kind", kind.as_str())
        .detail("value", value.as_str())
}

fn trusting(root: &Path) -> Hint {
    say("if you know this value, run (a person, not an agent) ")
        .quote(op("trust").arg("root", &root.to_string_lossy()))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::Untrusted, format!("cannot use {}: {error}", path.display()))
        .hint("remove the file and trust again what you know")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn trust(dir: &Path) -> Trust {
        Trust::of(&Environment::new([("XDG_CONFIG_HOME".into(), dir.into())]))
    }

    fn power(root: &str, value: &str) -> Power {
        Power { root: root.into(), kind: STORE.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn rule_1_7_a_value_is_trusted_exactly_as_it_is_and_for_one_root() {
        let dir = tempfile::tempdir().unwrap();
        let (trust, wanted) = (trust(dir.path()), power("/a", "postgres://h/db"));
        let refusal = trust.require(&wanted).unwrap_err();
        assert_eq!(refusal.code, Code::Untrusted);
        assert!(refusal.message.contains("\"postgres://h/db\""), "{}", refusal.message);
        trust.add(std::slice::from_ref(&wanted)).unwrap();
        trust.require(&wanted).unwrap();
        for other in [
            power("/b", "postgres://h/db"),
            power("/a/b", "postgres://h/db"),
            power("/a", "postgres://h/db?sslmode=disable"),
            power("/a", "postgres://H/db"),
            Power { kind: "gate.tests".to_owned(), ..wanted.clone() },
        ] {
            assert!(trust.require(&other).is_err(), "{other:?}");
        }
        assert_eq!(trust.remove(&[Path::new("/b")]).unwrap(), []);
        assert_eq!(trust.remove(&[Path::new("/a")]).unwrap().len(), 1);
        assert!(trust.require(&wanted).is_err());
    }

    #[test]
    fn rule_1_7_the_list_is_the_users_alone_and_one_that_others_may_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (trust, wanted) = (trust(dir.path()), power("/a", "x"));
        trust.add(std::slice::from_ref(&wanted)).unwrap();
        let file = dir.path().join("comity/trust.json");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, FILE_MODE);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o620)).unwrap();
        let refusal = trust.require(&wanted).unwrap_err();
        assert!(refusal.message.contains("others may have written it"), "{}", refusal.message);
    }

    #[test]
    fn a_list_that_is_no_plain_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let (trust, file) = (trust(dir.path()), dir.path().join("comity/trust.json"));
        std::fs::create_dir(dir.path().join("comity")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(FILE_MODE);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(trust.require(&power("/a", "x")).is_err());
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        assert!(trust.require(&power("/a", "x")).is_err());
    }

    #[test]
    fn two_at_once_trust_both() {
        let dir = tempfile::tempdir().unwrap();
        let trust = trust(dir.path());
        std::thread::scope(|scope| {
            for n in 0..16 {
                let trust = &trust;
                let add = move || trust.add(&[power("/a", &n.to_string())]);
                scope.spawn(move || add().unwrap());
            }
        });
        assert_eq!(trust.list().unwrap().len(), 16);
    }

    #[test]
    fn without_a_directory_of_ones_own_nothing_is_trusted() {
        let trust = Trust::of(&Environment::new([("XDG_CONFIG_HOME".into(), "relative".into())]));
        assert!(trust.require(&power("/a", "x")).is_err());
        assert!(trust.add(&[power("/a", "x")]).is_err());
    }
}
