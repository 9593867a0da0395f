//! The forms in which dependencies are written, one by one, and what the repository has of its own.

#![expect(
    clippy::disallowed_methods,
    reason = "tests run real processes and read what they are told by the environment"
)]

use super::super::*;
use crate::diff::changes;
use std::path::Path;
use std::process::Command;

/// What a file names, beside what it should.
fn check(cases: &[(&str, &str, &[&str])]) {
    for (path, text, wanted) in cases {
        let found = named(path, text).unwrap_or_else(|| panic!("{path} does not read: {text}"));
        assert_eq!(found.into_keys().collect::<Vec<_>>(), *wanted, "{path}: {text}");
    }
}

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    let output = command.args(args).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

type Files<'a> = &'a [(&'a str, &'a str)];

/// Commits files and then others; returns what that adds.
fn added_by(before: Files<'_>, after: Files<'_>) -> Vec<String> {
    added_last(&repository(&[before, after]))
}

/// Makes a repository with a commit for each list of files.
fn repository(commits: &[Files<'_>]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet"]);
    for files in commits {
        for (path, text) in *files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(dir.path(), &["add", "--force", "--all"]);
        git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    }
    dir
}

/// What the last commit adds.
fn added_last(dir: &tempfile::TempDir) -> Vec<String> {
    let git = Git::at(dir.path());
    let files = changes(&git, "HEAD~1", "HEAD").unwrap();
    let found = added(&git, &git.commit("HEAD~1").unwrap(), &git.commit("HEAD").unwrap(), &files);
    found.into_iter().map(|violation| violation.message).collect()
}

#[test]
fn a_file_that_only_its_own_tool_can_read_counts_when_it_changes() {
    let paths = [
        "pom.xml",
        "setup.py",
        "setup.cfg",
        "app/build.gradle.kts",
        "gradle/libs.versions.toml",
        "gradle/dependency-locks/x.lockfile",
        "pnpm-lock.yaml",
        ".mvn/extensions.xml",
        ".mvn/settings.xml",
        "gradle/wrapper/gradle-wrapper.properties",
        ".yarnrc.yml",
        "bun.lock",
        "bunfig.toml",
        "deno.json",
        "deno.lock",
        "Gemfile",
        "Gemfile.lock",
        "x.gemspec",
        "composer.json",
        "composer.lock",
        "src/App.csproj",
        "Directory.Packages.props",
        "NuGet.Config",
        "packages.lock.json",
        "Package.swift",
        "Package.resolved",
        "Package@swift-5.9.swift",
        ".config/dotnet-tools.json",
        "global.json",
        "Gemfile.local",
        "gemfiles/rails_7.gemfile",
        "jsr.json",
        "bower.json",
        "WORKSPACE",
        "WORKSPACE.bazel",
        "MODULE.bazel",
        "MODULE.bazel.lock",
        "cpanfile",
        "Project.toml",
        "Manifest.toml",
        "stack.yaml",
        "elm.json",
        "shard.yml",
        "deps.edn",
        "project.clj",
        "renv.lock",
        "dub.json",
        "dub.sdl",
        "Podfile",
        "mix.exs",
        "mix.lock",
        "pip.conf",
        "uv.toml",
    ];
    let with = |text| paths.map(|path| (path, text)).to_vec();
    let found = added_by(&with("one"), &with("two"));
    for path in paths {
        let cannot =
            format!("comity cannot read {path} and cannot tell whether it adds a dependency");
        assert!(found.contains(&cannot), "{path}: {found:?}");
    }
    assert_eq!(found.len(), paths.len(), "{found:?}");
    assert_eq!(added_by(&with("one"), &[("a.rs", "")]), [""; 0], "they are as they were");
}

#[test]
fn a_script_that_gradle_applies_counts_under_any_name() {
    let build = "apply from: \"$rootDir/gradle/versions.groovy\"\n";
    let before = [("build.gradle", build), ("gradle/versions.groovy", "1"), ("notes.txt", "1")];
    let found = added_by(&before, &[("gradle/versions.groovy", "2"), ("notes.txt", "2")]);
    assert_eq!(
        found,
        ["comity cannot read gradle/versions.groovy and cannot tell whether it adds a dependency"]
    );
}

#[test]
fn extras_environments_and_heads_of_scripts_bring_dependencies() {
    let extra = [("requirements.txt", "requests[socks]\n")];
    let found = added_by(&[("requirements.txt", "requests\n")], &extra);
    assert_eq!(found, ["requirements.txt adds the dependency requests[socks]"]);
    let project =
        |more: &str| format!("[project]\nname = \"x\"\ndependencies = [\"x[all]\"]\n{more}");
    let (before, after) = (
        project(""),
        project(
            "[tool.hatch.envs.test]\nextra-dependencies = [\"evil\"]\n[tool.ruff]\nselect = [\"E\"]\n",
        ),
    );
    let found = added_by(&[("pyproject.toml", &before)], &[("pyproject.toml", &after)]);
    assert_eq!(found, ["pyproject.toml adds the dependency evil"]);
    let script = |head: &str| format!("#!/usr/bin/env python3\n{head}\nprint(1)\n");
    let head = "# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"evil<3\",\n# ]\n# ///\n";
    let (plain, with) = (script(""), script(head));
    assert_eq!(added_by(&[("a.py", &plain)], &[("a.py", &script("# more"))]), [""; 0]);
    let found = added_by(&[("a.py", &plain)], &[("a.py", &with)]);
    assert_eq!(found, ["a.py adds the dependency evil"]);
    let broken = script("# /// script\n# dependencies = [\n# ///\n");
    let found = added_by(&[("a.py", &plain)], &[("a.py", &broken)]);
    assert_eq!(found, ["comity cannot read a.py and cannot tell whether it adds a dependency"]);
    check(&[
        ("hatch.toml", "[envs.docs]\ndependencies = [\"mkdocs\"]\n", &["mkdocs"]),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\na = {version = \"1\", extras = [\"b\"]}\n",
            &["a", "a[b]"],
        ),
        ("pyproject.toml", "[tool.pixi.feature.x.dependencies]\nevil = \"*\"\n", &["evil"]),
        ("pyproject.toml", "[tool.tox.env.lint]\ndeps = [\"ruff\"]\n", &["ruff"]),
    ]);
}

#[test]
fn a_new_registry_and_a_new_tool_are_new() {
    let usual = "registry=https://registry.npmjs.org/\nsave-exact=true\n";
    let evil =
        "registry = \"https://evil.org/npm/\"\n@s:registry=${PLACE}\n//evil.org/:_authToken=x\n";
    check(&[
        (".npmrc", usual, &[]),
        (".npmrc", evil, &["@s:registry ${PLACE}", "registry https://evil.org"]),
        (
            "go.mod",
            "module x\ntool evil.org/cmd/x\ntool (\n e.org/y\n)\n",
            &["e.org/y", "evil.org/cmd/x"],
        ),
    ]);
    let found = added_by(&[(".npmrc", usual)], &[(".npmrc", evil)]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn forms_of_python_are_read() {
    let dynamic = "[tool.setuptools.dynamic]\ndependencies = {file = [\"deps.lst\"]}\n";
    let uv = "[tool.uv]\noverride-dependencies = [\"six\", \"evil @ https://e.org/v.whl\"]\n\
        [tool.uv.sources]\nsix = [{git = \"https://e.org/s\"}, {path = \"own\"}]\n[[tool.uv.index]]\nurl = \"https://e.org/simple\"\n";
    let own = "[project]\nname = \"X\"\ndependencies = [\"six\", \"mylib\", \"other\"]\n\
        optional-dependencies.all = [\"x[dev]\"]\n[tool.uv.sources]\nmylib = {workspace = true}\nother = {path = \"other\"}\n";
    let outside =
        "[project]\ndependencies = [\"o\"]\n[tool.uv.sources]\no = {path = \"../../o\"}\n";
    let index = "-i https://pypi.org/simple\n--extra-index-url https://e.org/simple\nsix\n";
    let pylock = "[[packages]]\nname = \"a\"\n[[packages]]\nname = \"b\"\nvcs = {url = \"https://e.org/b\"}\n\
        [[packages]]\nname = \"own\"\ndirectory = {path = \".\"}\n";
    check(&[
        ("requirements.txt", "-rdeps.lst\n", &["-r deps.lst"]),
        ("requirements.txt", "-r more-requirements.txt\n", &[]),
        ("requirements.txt", index, &["index https://e.org", "six"]),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\nsix=[{git=\"https://e.org/s\"}]\n",
            &["six (https://e.org/s)"],
        ),
        ("pyproject.toml", dynamic, &["-r deps.lst"]),
        (
            "pyproject.toml",
            uv,
            &["evil (https://e.org)", "index https://e.org", "six (https://e.org/s)"],
        ),
        ("pyproject.toml", own, &["six"]),
        ("a/pyproject.toml", outside, &["o", "o (../../o)"]),
        (
            "Pipfile",
            "[docs]\nevil = \"*\"\n[requires]\npython_version = \"3\"\n[[source]]\nurl = \"https://pypi.org/simple\"\n",
            &["evil"],
        ),
        ("pylock.toml", pylock, &["a", "b (https://e.org/b)"]),
        ("pylock.dev.toml", "[[packages]]\nname = \"a\"\n", &["a"]),
        (
            "uv.lock",
            "[[package]]\nname = \"a\"\nsource = {url = \"https://e.org/a.whl\"}\n[[package]]\nname = \"b\"\n\
             source = {registry = \"https://e.org/simple\"}\n[[package]]\nname = \"c\"\nsource = {registry = \"https://pypi.org/simple\"}\n",
            &["a (https://e.org)", "b (https://e.org)", "c"],
        ),
        (
            "poetry.lock",
            "[[package]]\nname = \"a\"\n[package.source]\ntype = \"legacy\"\nurl = \"https://pypi.org/simple\"\n\
             [[package]]\nname = \"own\"\n[package.source]\ntype = \"directory\"\nurl = \"libs/own\"\n",
            &["a"],
        ),
    ]);
}

#[test]
fn prose_is_no_list_of_requirements() {
    let prose = "Introduction\n\nThe product shall parse dates.\n- The user can log in\n1. First\n";
    check(&[
        ("docs/requirements.txt", prose, &[]),
        ("specs/product_requirements.txt", "Version: 1\nMust be fast\n", &[]),
        ("docs/requirements.txt", "sphinx\nfuro>=1 ; python_version > '3'\n", &["furo", "sphinx"]),
        (
            "requirements.txt",
            "a [x] >= 1 --hash=sha256:00\nb==1 \\\n  --hash=x\n",
            &["a", "a[x]", "b"],
        ),
    ]);
}

#[test]
fn forms_of_go_and_cargo_are_read() {
    let go = "module x\nrequire x/sub v0.0.0\nrequire a v1\nreplace x/sub => ./sub\nreplace a => ../../out\n";
    let work = "go 1.22\nuse (\n ./sub\n ../out\n)\nreplace a => evil.org/a v1\n";
    let own = "[dependencies]\nm = {path=\"m\",version=\"0.1.0\"}\n[workspace.dependencies]\nn = {path=\"n\",version=\"1\"}\n";
    let config = "[patch.crates-io]\nserde = {path = \"../out\"}\nown = {path = \"own\"}\n\
        [source.crates-io]\nreplace-with = \"e\"\n[source.e]\nregistry = \"sparse+https://e.org/\"\n";
    let index = "[dependencies]\na = {version = \"1\", registry-index = \"https://e.org/i\"}\n";
    let lock = |source: &str| format!("[[package]]\nname = \"a\"\nsource = \"{source}\"\n");
    check(&[
        ("go.mod", go, &["a", "a (../../out)"]),
        ("go.work", work, &["../out", "evil.org/a"]),
        ("Cargo.toml", own, &[]),
        ("Cargo.toml", index, &["a (https://e.org/i)"]),
        (
            ".cargo/config.toml",
            config,
            &["serde (../out)", "source crates-io (e)", "source e (sparse+https://e.org)"],
        ),
        ("config.toml.x/.cargo/config.toml", "[build]\njobs = 1\n", &[]),
        ("Cargo.lock", &lock("registry+https://evil.org/index"), &["a (https://evil.org)"]),
        ("Cargo.lock", &lock("registry+https://github.com/rust-lang/crates.io-index"), &["a"]),
        ("Cargo.lock", &lock("sparse+https://index.crates.io/"), &["a"]),
    ]);
    assert!(format_of("config.toml").is_none(), "only Cargo's");
}

#[test]
fn forms_of_npm_and_yarn_are_read() {
    let extended = r#"{"pnpm":{"packageExtensions":{"react":{"dependencies":{"evil":"1"}}}}}"#;
    let resolved = r#"{"packages":{"node_modules/left":{"resolved":"https://evil.org/left.tgz"},
        "node_modules/b":{"resolved":"https://registry.npmjs.org/b/-/b-1.tgz"},"node_modules/c":{"name":"evil"}}}"#;
    let yarn = "\"left@npm:evil@1\":\n  version: 1\n\na@^1, evil2@^1:\n  resolved \"https://registry.yarnpkg.com/a\"\n\n\
        b@1:\n  resolved \"https://evil.org/b.tgz\"\n\n\"own@^1.0.0, own@workspace:packages/own\":\n  version: 0\n\
        \"p@patch:p@npm%3A1#~builtin<compat/p>\":\n  version: 1\n";
    check(&[
        ("package.json", extended, &["evil"]),
        ("package.json", "\u{feff}{\"dependencies\":{\"a\":\"npm:^1\"}}", &["a"]),
        ("package-lock.json", resolved, &["b", "evil", "left (https://evil.org)"]),
        ("yarn.lock", yarn, &["a", "b (https://evil.org)", "evil", "evil2", "p"]),
    ]);
}

#[test]
fn the_repositorys_own_packages_are_not_new() {
    let root = |more: &str| format!(r#"{{"workspaces":["packages/*"]{more}}}"#);
    let (before, after) = (root(""), root(r#","dependencies":{"sib":"*","@s/b":"^1.0.0"}"#));
    let members = [
        ("packages/sib/package.json", r#"{"name":"sib"}"#),
        ("packages/b/package.json", r#"{"name":"@s/b"}"#),
        ("other/package.json", r#"{"name":"other"}"#),
    ];
    let with = |root| [&[("package.json", root)], members.as_slice()].concat();
    assert_eq!(added_by(&with(&before), &with(&after)), [""; 0]);
    let other = root(r#","dependencies":{"other":"1"}"#);
    let found = added_by(&with(&before), &with(&other));
    assert_eq!(found, ["package.json adds the dependency other"], "no member of the workspace");
    let sources = "[tool.uv.sources]\nmylib = {workspace = true}\n";
    let member = [("app/pyproject.toml", "[project]\ndependencies = [\"mylib\"]\n")];
    assert_eq!(added_by(&[("pyproject.toml", sources)], &member), [""; 0], "by the root's sources");
    let work =
        [("go.work", "use ./sub\n"), ("sub/go.mod", "module x/sub\n"), ("go.mod", "module x\n")];
    let found = added_by(&work, &[("go.mod", "module x\nrequire x/sub v0.0.0\n")]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn data_of_tests_names_no_dependencies() {
    let cargo = "[dependencies]\nevil = \"1\"\n";
    let after = [("tests/fixtures/a/Cargo.toml", cargo), ("tests/broken/package.json", "{")];
    assert_eq!(added_by(&[], &after), [""; 0]);
    let found = added_by(&[], &[("app/package.json", "{")]);
    assert_eq!(
        found,
        ["comity cannot read app/package.json and cannot tell whether it adds a dependency"]
    );
    let moved = [("tests/fixtures/a/Cargo.toml", cargo)];
    let dir = repository(&[&moved, &[("Cargo.toml", cargo)]]);
    git(dir.path(), &["rm", "--quiet", "--cached", "tests/fixtures/a/Cargo.toml"]);
    git(dir.path(), &["commit", "--quiet", "--amend", "-m", "x"]);
    assert_eq!(added_last(&dir), ["Cargo.toml adds the dependency evil"], "moved out of it");
    let listed = [("requirements.txt", "-r tests/fixtures/requirements.txt\n")];
    let found = added_by(&[], &listed);
    let named = "requirements.txt adds the dependency -r tests/fixtures/requirements.txt";
    assert_eq!(found, [named], "what is included is used");
}

#[test]
fn a_lockfile_takes_nothing_from_elsewhere_and_asks_for_nothing_by_itself() {
    let lock = |host: &str| {
        format!(
            r#"{{"packages":{{"node_modules/left":{{"resolved":"https://{host}/left.tgz"}}}}}}"#
        )
    };
    let (usual, evil) = (lock("registry.npmjs.org"), lock("evil.org"));
    let package = |version: &str| format!(r#"{{"dependencies":{{"left":"{version}"}}}}"#);
    let (one, two) = (package("1"), package("2"));
    let before = [("package.json", one.as_str()), ("package-lock.json", usual.as_str())];
    let found = added_by(&before, &[("package.json", &two), ("package-lock.json", &evil)]);
    assert_eq!(
        found,
        ["package-lock.json adds the dependency left (https://evil.org)"],
        "a new version explains no new place"
    );
    let asks =
        r#"{"packages":{"":{"dependencies":{"left":"1","evil":"1"}},"node_modules/evil":{}}}"#;
    let found = added_by(&before, &[("package-lock.json", asks)]);
    let evil = "package-lock.json adds the dependency evil";
    assert_eq!(found, [evil], "asked for and taken, and said once");
    let found = added_by(&before, &[("package.json", &two), ("package-lock.json", asks)]);
    assert_eq!(found, [evil], "package.json does not ask for it");
    let lists = [
        ("pyproject.toml", "[tool.setuptools.dynamic]\ndependencies = {file = \"deps.txt\"}\n"),
        ("deps.txt", "six\n"),
    ];
    let found = added_by(&lists, &[("deps.txt", "six\nevil\n")]);
    assert_eq!(found, ["deps.txt adds the dependency evil"], "a list that setuptools reads");
}
