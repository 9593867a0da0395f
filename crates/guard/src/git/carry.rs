//! Carrying commits to a remote, or from there, without a program that the repository names.

use super::call::Git;
use super::work_tree::OwnDir;
use std::collections::BTreeSet;
use std::path::Path;

/// Which way refs are carried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    There,
    Here,
}

/// What takes a push into a repository of this machine. That one's settings and hooks run nothing, either.
const RECEIVE: &str = "--receive-pack=git -c core.hooksPath=/dev/null -c core.fsmonitor=false \
    -c core.alternateRefsCommand=true -c receive.denyCurrentBranch=refuse -c receive.autoGC=false receive-pack";

/// Carries refs to a remote, or from there. Of the repository's settings only the remote's address counts. What the user set for all
/// repositories holds: credentials are the user's. Returns what git said when it failed.
pub fn carry(dir: &Path, remote: &str, way: Way, refs: &[String]) -> Result<(), String> {
    let plain = Git::at(dir);
    let side: &[&str] = if way == Way::There { &["--push"] } else { &[] };
    let asked = [&["remote", "get-url"], side, &["--", remote]].concat();
    // A name that the settings do not have is an address.
    let url = plain.line(&asked).unwrap_or_else(|| remote.to_owned());
    let is_local = is_local(&url);
    let broken = || format!("{} is no repository that git can read", dir.display());
    let own = OwnDir::of(&plain, &[]).ok_or_else(broken)?;
    let git = own.git.clone().over_network(if is_local { "file" } else { "https:ssh" });
    match way {
        Way::There => {
            let receive: &[&str] = if is_local { &[RECEIVE] } else { &[] };
            let refs: Vec<String> =
                refs.iter().map(|refs| resolved(&plain, refs)).collect::<Result<_, _>>()?;
            let refs = refs.iter().map(String::as_str);
            let args = [&["push", "--quiet", "--no-verify"], receive, &["--", &url]].concat();
            said(&git, &args.into_iter().chain(refs).collect::<Vec<_>>())
        }
        Way::Here => {
            // What is here already is told to the remote.
            let known = listed(&plain);
            std::fs::write(own.dir.path().join("packed-refs"), &known).map_err(|_| broken())?;
            let how = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
            let args = [&["fetch"], &how[..], &["--no-recurse-submodules", "--", &url]].concat();
            let refs = refs.iter().map(String::as_str);
            said(&git, &args.into_iter().chain(refs).collect::<Vec<_>>())?;
            let (known, now): (BTreeSet<&str>, String) =
                (known.lines().collect(), listed(&own.git));
            let new = now.lines().filter(|line| !known.contains(line));
            let changes: String = new
                .filter_map(|line| line.split_once(' '))
                .map(|(commit, name)| format!("update {name} {commit}\n"))
                .collect();
            let written = plain.fed(&["update-ref", "--stdin"], changes);
            written.filter(|output| output.status.success()).map(drop).ok_or_else(broken)
        }
    }
}

/// Lists the refs, each with what it names, as git keeps them in one file.
fn listed(git: &Git) -> String {
    let lines = git.lines(&["for-each-ref", "--format=%(objectname) %(refname)"]);
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Puts the commit in the place of the name that is to be pushed: the git directory that pushes has no names.
fn resolved(git: &Git, refs: &str) -> Result<String, String> {
    let force = if refs.starts_with('+') { "+" } else { "" };
    let (from, to) =
        refs[force.len()..].split_once(':').ok_or_else(|| format!("{refs} has no aim"))?;
    let commit = git.commit(from).ok_or_else(|| format!("there is no commit {from}"))?;
    Ok(format!("{force}{commit}:{to}"))
}

fn said(git: &Git, args: &[&str]) -> Result<(), String> {
    match git.command(args).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Tells whether git takes an address for a directory of this machine.
fn is_local(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => scheme == "file",
        None => {
            let colon = url.find(':');
            colon.is_none_or(|colon| url.find('/').is_some_and(|slash| slash < colon))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// A repository with a remote. The settings and hooks of both name a program that says that it ran.
    struct Field {
        dir: TempDir,
    }

    impl Field {
        fn new() -> Field {
            let field = Field { dir: tempfile::tempdir().unwrap() };
            for (name, more) in [("here", "--initial-branch=main"), ("there", "--bare")] {
                field.git(".", &["init", "--quiet", more, name]);
            }
            field.git("here", &["commit", "--quiet", "--allow-empty", "-m", "one"]);
            field
        }

        fn at(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn git(&self, name: &str, args: &[&str]) -> String {
            let mut git = Git::at(&self.at(name)).with("GIT_CONFIG_GLOBAL", "/dev/null");
            for (name, value) in [("NAME", "t"), ("EMAIL", "t@example.org")] {
                for who in ["GIT_AUTHOR_", "GIT_COMMITTER_"] {
                    let name: &'static str = format!("{who}{name}").leak();
                    git = git.with(name, value);
                }
            }
            let output = git.output(args).unwrap();
            assert!(
                output.status.success(),
                "{args:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }

        fn plant(&self, url: &str) {
            let evil = self.at("evil.sh");
            let text = format!("#!/bin/sh\necho $0 $* >> {}\n", self.at("ran").display());
            std::fs::write(&evil, text).unwrap();
            std::fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
            let program = evil.display().to_string();
            for name in [
                "core.sshCommand",
                "core.gitProxy",
                "core.askPass",
                "core.fsmonitor",
                "core.alternateRefsCommand",
                "credential.helper",
                "remote.origin.uploadpack",
                "remote.origin.receivepack",
                "uploadpack.packObjectsHook",
            ] {
                self.git("here", &["config", name, &program]);
                self.git("there", &["config", name, &program]);
            }
            for (name, value) in [("protocol.allow", "always"), ("protocol.ext.allow", "always")] {
                self.git("here", &["config", name, value]);
            }
            self.git("here", &["config", "remote.origin.url", url]);
            for dir in [self.at("here/.git/hooks"), self.at("there/hooks")] {
                for hook in [
                    "pre-push",
                    "reference-transaction",
                    "pre-receive",
                    "update",
                    "post-receive",
                    "post-update",
                ] {
                    std::fs::create_dir_all(&dir).unwrap();
                    std::fs::copy(&evil, dir.join(hook)).unwrap();
                }
            }
        }

        fn ran(&self) -> String {
            std::fs::read_to_string(self.at("ran")).unwrap_or_default()
        }
    }

    const REF: &str = "refs/comity/run/R1/head";

    #[test]
    fn commits_go_there_and_come_back_and_no_program_of_either_repository_runs() {
        let field = Field::new();
        let there = field.at("there").display().to_string();
        field.git(".", &["init", "--quiet", "second"]);
        let (here, main) = (field.at("here").display().to_string(), "+main:refs/heads/main");
        carry(&field.at("second"), &here, Way::Here, &[main.to_owned()]).unwrap();
        field.plant(&there);
        let tip = field.git("here", &["rev-parse", "main"]);
        let pushed = [format!("+main:{REF}"), format!("{tip}:refs/heads/work")];
        carry(&field.at("here"), "origin", Way::There, &pushed).unwrap();
        assert_eq!(field.git("there", &["rev-parse", REF, "work"]), format!("{tip}\n{tip}"));
        // Somebody else goes on with it, and it comes back.
        let text = field.git("second", &["commit-tree", "-p", "main", "-m", "two", "main^{tree}"]);
        carry(&field.at("second"), &there, Way::There, &[format!("+{text}:{REF}")]).unwrap();
        let all = "+refs/comity/run/R1/*:refs/comity/run/R1/*".to_owned();
        carry(&field.at("here"), "origin", Way::Here, std::slice::from_ref(&all)).unwrap();
        assert_eq!(field.git("here", &["rev-parse", REF]), text);
        assert_eq!(field.git("here", &["rev-parse", "main"]), tip, "no other ref moves");
        carry(&field.at("here"), "origin", Way::Here, &[all]).unwrap();
        assert_eq!(field.ran(), "");
    }

    #[test]
    fn an_address_starts_no_program_that_the_repository_names() {
        let field = Field::new();
        let refs = [format!("+main:{REF}")];
        let evil = format!("ext::{}", field.at("evil.sh").display());
        for url in [
            "ssh://localhost.invalid/x",
            "h.invalid:x",
            &evil,
            "https://localhost:1/x",
            "http://localhost:1/x",
        ] {
            field.plant(url);
            for way in [Way::There, Way::Here] {
                let refs =
                    if way == Way::There { &refs[..] } else { &["+refs/x:refs/x".to_owned()][..] };
                assert!(carry(&field.at("here"), "origin", way, refs).is_err(), "{url}");
            }
            assert_eq!(field.ran(), "", "{url}");
        }
        for (url, local) in [
            ("file:///x", true),
            ("../x", true),
            ("x/a:b", true),
            ("h:x", false),
            ("ssh://h/x", false),
        ] {
            assert_eq!(is_local(url), local, "{url}");
        }
    }
}
