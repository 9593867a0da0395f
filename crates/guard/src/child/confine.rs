//! A process that shuts itself in: from now on neither it nor what it starts writes anywhere but below some directories.

use std::ffi::OsString;
use std::io;

/// Devices that everybody may write to.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
/// Directories of devices that everybody may write to.
#[cfg(target_os = "linux")]
const DEVICE_DIRS: [&str; 2] = ["/dev/pts", "/dev/shm"];

/// Shuts this process in with Landlock: everything can be read and run, and only these directories can be written to. Where
/// the kernel knows how, the process signals none outside, either.
#[cfg(target_os = "linux")]
pub(super) fn confine(writable: &[OsString]) -> io::Result<()> {
    use landlock::{
        ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, Scope,
    };
    let wrong = |error: landlock::RulesetError| io::Error::other(error.to_string());
    let all = AccessFs::from_all(ABI::V3);
    // The third version can keep files from being cut short; less is no wall.
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let rules = rules.handle_access(all).map_err(wrong)?;
    let rules = rules.set_compatibility(CompatLevel::BestEffort);
    let rules = rules.scope(Scope::Signal).map_err(wrong)?;
    let mut rules = rules.create().map_err(wrong)?;
    let mut allow = |path: &std::ffi::OsStr, access: BitFlags<AccessFs>| -> io::Result<()> {
        let Ok(opened) = PathFd::new(path) else { return Ok(()) };
        let rule = PathBeneath::new(opened, access);
        (&mut rules).add_rule(rule).map(drop).map_err(wrong)
    };
    allow("/".as_ref(), AccessFs::from_read(ABI::V3))?;
    for dir in writable {
        allow(dir, all)?;
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    for path in DEVICES {
        allow(path.as_ref(), device & AccessFs::from_file(ABI::V3))?;
    }
    for path in DEVICE_DIRS {
        allow(path.as_ref(), all)?;
    }
    rules.restrict_self().map(drop).map_err(wrong)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn confine(_: &[OsString]) -> io::Result<()> {
    Err(io::Error::other("this system cannot shut a process in"))
}

/// Tells whether this host can shut a process in.
pub fn can_confine() -> bool {
    #[cfg(target_os = "linux")]
    {
        use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(AccessFs::from_all(ABI::V3)).and_then(|rules| rules.create()).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    false
}
