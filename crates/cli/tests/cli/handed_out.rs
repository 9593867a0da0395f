//! What a stranger gets: the run in the README, word for word, and the archive.

use crate::sandbox::Sandbox;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The shell commands of some sections of a document, in order.
fn blocks(text: &str, sections: &[&str]) -> String {
    let (mut script, mut is_wanted, mut is_inside) = (String::new(), false, false);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            is_wanted = sections.contains(&title);
        }
        match line {
            "```sh" => is_inside = true,
            "```" => is_inside = false,
            command if is_inside && is_wanted => script.push_str(&format!("{command}\n")),
            _ => {}
        }
    }
    script
}

#[test]
fn the_run_in_the_readme_works_word_for_word() {
    let sandbox = Sandbox::without_git();
    let text = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let lines = blocks(&text, &["One run", "Keep it, upgrade it, remove it"]);
    assert!(lines.lines().count() > 25, "{lines}");
    sandbox.write("run.sh", &format!("set -ex\n{lines}"));
    let binary = Path::new(env!("CARGO_BIN_EXE_comity")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    // A terminal of its own: the reader is a person.
    let mut command = sandbox.clean(OsStr::new("script"));
    command.args(["-qec", "sh run.sh", "/dev/null"]).current_dir(&sandbox.root);
    command.env("PATH", path).env("TERM", "dumb").env("PAGER", "cat").env("GIT_PAGER", "cat");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    let show = |id| sandbox.comity().at(&sandbox.root.join("calendar")).args(&["task", "show", id]);
    let tasks = ["T1", "T2"].map(|id| show(id).json()["task"].clone());
    assert_eq!((&tasks[0]["status"], &tasks[1]["status"]), (&"done".into(), &"queued".into()));
    assert_eq!(tasks[0]["gates"][0]["tier"], "observed", "{said}");
    assert!(tasks[0]["merged_sha"].is_string());
    assert!(sandbox.root.join("calendar-backup.db").exists());
}

#[test]
fn the_archive_has_the_binary_completions_man_pages_and_a_checksum_that_fits() {
    let sandbox = Sandbox::without_git();
    let out = sandbox.root.join("dist");
    let mut command = Command::new(repository().join("scripts/dist"));
    let done = command.args(["--binary", env!("CARGO_BIN_EXE_comity")]).arg(&out).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let shell = |line: &str| {
        let done = Command::new("sh").args(["-ec", line]).current_dir(&out).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    shell("sha256sum --check *.sha256");
    let names = shell("tar -tzf *.tar.gz");
    for name in [
        "/comity",
        "/completions/_comity",
        "/completions/comity.bash",
        "/completions/comity.fish",
        "/man/man1/comity.1",
        "/man/man1/comity-task-claim.1",
        "/README.md",
        "/LICENSE-MIT",
    ] {
        assert!(names.lines().any(|line| line.ends_with(name)), "{name}: {names}");
    }
    let version = shell("tar -xzf *.tar.gz && ./*/comity --version");
    assert!(version.starts_with("comity "), "{version}");
    // The same files make the same archive.
    let first = shell("cat *.sha256");
    command.output().unwrap();
    assert_eq!(shell("cat *.sha256"), first);
    let is_static = Command::new("ldd").arg(env!("CARGO_BIN_EXE_comity")).output().unwrap();
    let is_static = String::from_utf8_lossy(&is_static.stdout).contains("statically linked");
    assert_eq!(said.contains("(static)"), is_static, "{said}");
}
