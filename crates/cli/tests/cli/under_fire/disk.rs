//! Full and read-only disks: a clear refusal, no damage, and recovery without a restart of anything.

use super::{Field, code};
use std::path::Path;
use std::process::Command;

/// A file system of its own, small enough to fill; none where mounting is not allowed.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk(dir)),
            _ => {
                println!("skipped: this user cannot mount a file system");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, mode: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{mode}")])
            .arg(self.path())
            .status();
        assert!(done.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l"]).arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_refused_clearly_and_works_again_when_there_is_space() {
    let Some(disk) = SmallDisk::mount("2m") else { return };
    let field = Field::with_store(&disk.path().join("comity.db"));
    field.ok("human:ann", &["task", "create", "before"]);
    let ballast = disk.path().join("ballast");
    // Writing until the file system says no leaves less than a page.
    let filled = std::fs::write(&ballast, vec![0_u8; 4 << 20]);
    assert!(filled.is_err());
    let text = "x".repeat(60_000);
    let mut refused = 0;
    for _ in 0..4 {
        let output = field.run("human:ann", &["task", "create", "during", "--description", &text]);
        if output.status.code() == Some(5) {
            assert_eq!(code(&output), "storage-full");
            refused += 1;
        }
    }
    assert!(refused > 0, "a full disk refuses");
    assert_eq!(field.titles()[0], "before", "what was there can still be read");
    std::fs::remove_file(&ballast).unwrap();
    field.ok("human:ann", &["task", "create", "after"]);
    field.log_is_clean();
    let titles = field.titles();
    assert_eq!(titles.last().unwrap(), "after");
    assert_eq!(titles.iter().filter(|title| *title == "during").count(), 4 - refused);
}

#[test]
fn a_read_only_store_can_be_read_and_refuses_writes_until_it_is_writable_again() {
    let Some(disk) = SmallDisk::mount("8m") else { return };
    let field = Field::with_store(&disk.path().join("comity.db"));
    field.ok("human:ann", &["task", "create", "before"]);
    disk.remount("ro");
    let output = field.run("human:ann", &["task", "create", "during"]);
    assert_eq!((output.status.code(), code(&output).as_str()), (Some(5), "store-read-only"));
    assert_eq!(field.titles(), ["before"]);
    disk.remount("rw");
    field.ok("human:ann", &["task", "create", "after"]);
    assert_eq!(field.titles(), ["before", "after"]);
    field.log_is_clean();
}
