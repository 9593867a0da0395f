//! The forms in which dependencies are written, one by one, and what the repository has of its own.

use super::*;
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
fn forms_of_gradle_are_read() {
    check(&[
        (
            "build.gradle",
            "dependencies {\n implementation group: 'e',\n   name: 'v',\n   version: '1'\n}",
            &["e:v"],
        ),
        (
            "build.gradle",
            "dependencies { implementation files('libs/evil.jar') }",
            &["files(libs/evil.jar)"],
        ),
        (
            "build.gradle",
            "dependencies {\n api fileTree(dir: 'libs', include: ['*.jar'])\n}",
            &["fileTree(libs)"],
        ),
        (
            "build.gradle.kts",
            "dependencies { implementation(kotlin(\"reflect\")) }",
            &["org.jetbrains.kotlin:kotlin-reflect"],
        ),
        ("build.gradle.kts", "dependencies { \"implementation\"(\"e\",\"v\",\"1\") }", &["e:v"]),
        ("build.gradle", "dependencies {\n  own 'e:v'\n}\n", &["e:v"]),
        ("build.gradle", "def libs = [a: 'org.e:v:1', b: 'org.e:w']", &["org.e:v", "org.e:w"]),
        ("build.gradle", "println 'a:b'\ndef t = 'HH:mm'\nt = 'HH:mm:ss'\n", &[]),
        ("build.gradle", "host = 'localhost:8080'\ntask x { println \"a:b:1\" }", &[]),
        ("settings.gradle", "include 'app:core'\ninclude ':app', 'lib:x'\n", &[]),
    ]);
}

#[test]
fn forms_of_maven_are_read() {
    let exclusion = "<project><dependencies><dependency><exclusions><exclusion><groupId>n</groupId>\
        <artifactId>o</artifactId></exclusion></exclusions><groupId>e</groupId><artifactId>v</artifactId>\
        </dependency></dependencies></project>";
    let paths = "<project><build><plugins><plugin><artifactId>c</artifactId><configuration><annotationProcessorPaths>\
        <path><groupId>e</groupId><artifactId>v</artifactId></path></annotationProcessorPaths></configuration></plugin>\
        </plugins></build></project>";
    let prefixed = "<m:project xmlns:m='x'><m:dependency><m:groupId>e</m:groupId><m:artifactId>v</m:artifactId>\
        </m:dependency></m:project>";
    let system = "<project><dependency><groupId>e</groupId><artifactId>v</artifactId>\
        <systemPath>${basedir}/libs/v.jar</systemPath></dependency></project>";
    let data = "<project><description><![CDATA[<!--]]></description><dependency><groupId>e</groupId>\
        <artifactId>v</artifactId></dependency></project><!-- x -->";
    let extension = "<extensions><extension><groupId>e</groupId><artifactId>v</artifactId></extension></extensions>";
    let values = "<project><groupId>g</groupId><properties><p>q</p></properties><dependency>\
        <groupId>${project.groupId}.${p}</groupId><artifactId>d</artifactId></dependency></project>";
    check(&[
        ("pom.xml", exclusion, &["e:v"]),
        ("pom.xml", paths, &["e:v", "org.apache.maven.plugins:c"]),
        ("pom.xml", prefixed, &["e:v"]),
        ("pom.xml", system, &["e:v (${basedir}/libs)"]),
        ("pom.xml", data, &["e:v"]),
        (".mvn/extensions.xml", extension, &["e:v"]),
        ("pom.xml", values, &["g.q:d"]),
    ]);
    for broken in ["<project>", "<a></b>", "<!DOCTYPE p [<!ENTITY e 'x'>]><p/>", "<p><!-- </p>"] {
        assert_eq!(named("pom.xml", broken), None, "{broken}");
    }
}

#[test]
fn forms_of_python_are_read() {
    let lists = "from setuptools import setup\nmore = ['six'] + [\"evil\"]\nmore.append('third')\n\
        setup(name='x', install_requires=['a'] + more, tests_require=[])\n";
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
        ("setup.py", lists, &["a", "evil", "six", "third"]),
        ("setup.py", "setup(**{'install_requires': ['a']})", &["a"]),
        ("setup.py", "kw['install_requires'] = ['a']\nsetup(**kw)", &["a"]),
        (
            "setup.py",
            "setup(install_requires=read('x') + list(['a']))",
            &["a", "install_requires that is computed"],
        ),
        ("setup.py", "setup(description=\"install_requires: none\")", &[]),
        ("setup.py", "'''install_requires = ['no']'''\n# install_requires=['no']\n", &[]),
        ("setup.cfg", "[options]\ninstall_requires:\n  six\n", &["six"]),
        ("setup.cfg", "[options]\ninstall_requires = file: deps.lst\n", &["-r deps.lst"]),
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
        ("requirements.txt", "a [x] >= 1 --hash=sha256:00\nb==1 \\\n  --hash=x\n", &["a", "b"]),
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
    assert!(kind("config.toml").is_none(), "only Cargo's");
}

#[test]
fn forms_of_npm_pnpm_and_yarn_are_read() {
    let extended = r#"{"pnpm":{"packageExtensions":{"react":{"dependencies":{"evil":"1"}}}}}"#;
    let workspace = "catalog: {evil: '1'}\ncatalogs:\n    one:\n        'b': ^2 # x\n";
    let pnpm = "# a comment\npackages: # x\n    '@s/b@1.0.0':\n        resolution: {integrity: x}\n\
        \x20   left@1.0.0:\n        resolution: {tarball: https://evil.org/left.tgz}\n";
    let resolved = r#"{"packages":{"node_modules/left":{"resolved":"https://evil.org/left.tgz"},
        "node_modules/b":{"resolved":"https://registry.npmjs.org/b/-/b-1.tgz"},"node_modules/c":{"name":"evil"}}}"#;
    let yarn = "\"left@npm:evil@1\":\n  version: 1\n\na@^1, evil2@^1:\n  resolved \"https://registry.yarnpkg.com/a\"\n\n\
        b@1:\n  resolved \"https://evil.org/b.tgz\"\n\n\"own@^1.0.0, own@workspace:packages/own\":\n  version: 0\n\
        \"p@patch:p@npm%3A1#~builtin<compat/p>\":\n  version: 1\n";
    check(&[
        ("package.yaml", "dependencies:\n  evil: '1'\n", &["evil"]),
        ("package.json", extended, &["evil"]),
        ("package.json", "\u{feff}{\"dependencies\":{\"a\":\"npm:^1\"}}", &["a"]),
        ("pnpm-workspace.yaml", workspace, &["b", "evil"]),
        ("pnpm-lock.yaml", pnpm, &["@s/b", "left (https://evil.org)"]),
        ("package-lock.json", resolved, &["b", "evil", "left (https://evil.org)"]),
        ("yarn.lock", yarn, &["a", "b (https://evil.org)", "evil", "evil2", "p"]),
    ]);
    assert_eq!(named("pnpm-workspace.yaml", "x: &a {evil: '1'}\ncatalog: *a\n"), None);
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
    let pnpm = [("pnpm-workspace.yaml", "packages:\n  - 'libs/**'\n  - '!libs/no'\n")];
    let libs =
        [("libs/a/package.json", r#"{"name":"a"}"#), ("libs/no/package.json", r#"{"name":"no"}"#)];
    let wants = [("package.json", r#"{"dependencies":{"a":"^1","no":"1"}}"#)];
    let found = added_by(&[pnpm.as_slice(), &libs].concat(), &wants);
    assert_eq!(found, ["package.json adds the dependency no"]);
    let sources = "[tool.uv.sources]\nmylib = {workspace = true}\n";
    let member = [("app/pyproject.toml", "[project]\ndependencies = [\"mylib\"]\n")];
    assert_eq!(added_by(&[("pyproject.toml", sources)], &member), [""; 0], "by the root's sources");
    let work =
        [("go.work", "use ./sub\n"), ("sub/go.mod", "module x/sub\n"), ("go.mod", "module x\n")];
    let found = added_by(&work, &[("go.mod", "module x\nrequire x/sub v0.0.0\n")]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn modules_of_maven_are_the_repositorys_own() {
    let root = |modules: &str| {
        format!(
            "<project><groupId>g</groupId><artifactId>root</artifactId><modules>{modules}</modules></project>"
        )
    };
    let (one, two) = (root("<module>d</module>"), root("<module>d</module><module>m</module>"));
    let parent = "<parent><groupId>g</groupId><artifactId>root</artifactId></parent>";
    let d = format!("<project>{parent}<artifactId>d</artifactId></project>");
    let wants = |group: &str, artifact: &str| {
        format!(
            "<project>{parent}<artifactId>m</artifactId><dependencies><dependency><groupId>{group}</groupId>\
             <artifactId>{artifact}</artifactId></dependency></dependencies></project>"
        )
    };
    let before = [("pom.xml", one.as_str()), ("d/pom.xml", &d)];
    let own = wants("${project.groupId}", "d");
    assert_eq!(added_by(&before, &[("pom.xml", &two), ("m/pom.xml", &own)]), [""; 0]);
    let evil = wants("e", "vil");
    let found = added_by(&before, &[("pom.xml", &two), ("m/pom.xml", &evil)]);
    assert_eq!(found, ["m/pom.xml adds the dependency e:vil"]);
}

#[test]
fn data_of_tests_names_no_dependencies() {
    let cargo = "[dependencies]\nevil = \"1\"\n";
    let after = [("tests/fixtures/a/Cargo.toml", cargo), ("tests/broken/package.json", "{")];
    assert_eq!(added_by(&[], &after), [""; 0]);
    let found = added_by(&[], &[("app/package.json", "{")]);
    assert_eq!(found, ["app/package.json cannot be read, so new dependencies cannot be ruled out"]);
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
    let lists = [("setup.cfg", "[options]\ninstall_requires = file: deps.txt\n"), lists[1]];
    let found = added_by(&lists, &[("deps.txt", "six\nevil\n")]);
    assert_eq!(found, ["deps.txt adds the dependency evil"], "in its older form, too");
}
