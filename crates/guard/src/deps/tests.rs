use super::*;

/// Reads a file as its name says.
fn names(path: &str, text: &str) -> Vec<String> {
    let kind = kind(path).unwrap_or_else(|| panic!("{path} is no manifest"));
    (kind.read)(text).unwrap_or_else(|| panic!("{path} does not read")).into_iter().collect()
}

#[test]
fn manifests_name_what_they_depend_on_and_not_what_is_their_own() {
    let cargo = "[dependencies]\nserde = \"1\"\nown = { path = \"../own\" }\nw.workspace = true\n\
        alias = { package = \"real_name\", version = \"2\" }\n[dev-dependencies]\nproptest = \"1\"\n\
        [target.'cfg(unix)'.dependencies]\nlibc = { git = \"https://example.org/x\" }\n\
        [workspace.dependencies]\nclap = \"4\"\n";
    assert_eq!(names("a/Cargo.toml", cargo), ["clap", "libc", "proptest", "real-name", "serde"]);
    let package = r#"{"name":"x","dependencies":{"a":"^1","mine":"workspace:*"},
        "devDependencies":{"@s/b":"2","c":"file:../c"}}"#;
    assert_eq!(names("package.json", package), ["@s/b", "a"]);
    let project = "[project]\ndependencies = [\"Requests[socks]>=2; python_version<'4'\"]\n\
        optional-dependencies.dev = [\"pytest\"]\n[dependency-groups]\nlint = [\"ruff==1\"]\n\
        [tool.poetry.dependencies]\npython = \"^3\"\nZope_Interface = \"1\"\nown = {path=\"../o\"}\n\
        [tool.poetry.group.docs.dependencies]\nsphinx = \"*\"\n[build-system]\nrequires = [\"hatchling\"]\n";
    let wanted = ["hatchling", "pytest", "requests", "ruff", "sphinx", "zope-interface"];
    assert_eq!(names("pyproject.toml", project), wanted);
    let pip = "# all\nflask==2 # web\n-r other.txt\n--hash x\n-e .\nname @ https://example.org/n.whl\n\
        git+https://example.org/r.git#egg=egged\nlong \\\n  ==1\n";
    assert_eq!(names("requirements-dev.txt", pip), ["egged", "flask", "long", "name"]);
    assert_eq!(names("requirements/test.txt", "pytest\n"), ["pytest"]);
    let cfg = "[options]\ninstall_requires =\n  attrs\n  six>1\nzip_safe = no\n[options.extras_require]\nx = rich\n";
    assert_eq!(names("setup.cfg", cfg), ["attrs", "rich", "six"]);
    let go = "module x\n\ngo 1.22\n\nrequire example.org/a v1\nrequire (\n\texample.org/b v2\n\texample.org/c v3 // indirect\n)\n\
        replace example.org/z => ../z\n";
    assert_eq!(names("go.mod", go), ["example.org/a", "example.org/b"]);
    let pom = "<project><!-- <dependency><groupId>no</groupId><artifactId>no</artifactId></dependency> -->\n\
        <dependencies><dependency>\n<groupId>org.x</groupId>\n<artifactId>y</artifactId>\n</dependency></dependencies></project>";
    assert_eq!(names("pom.xml", pom), ["org.x:y"]);
    let gradle = "dependencies {\n  implementation 'org.a:b:1.0'\n  // api 'org.no:no:1'\n  testImplementation(\"org.c:d\")\n\
        url = \"https://repo.example.org\"\n}\n";
    assert_eq!(names("app/build.gradle.kts", gradle), ["org.a:b", "org.c:d"]);
    let libs = "[libraries]\na = \"g.a:n:1\"\nb = { module = \"g.b:n\", version = \"1\" }\nc = { group = \"g.c\", name = \"n\" }\n";
    assert_eq!(names("gradle/libs.versions.toml", libs), ["g.a:n", "g.b:n", "g.c:n"]);
    assert_eq!(names("Pipfile", "[packages]\nx = \"*\"\n[dev-packages]\ny = \"*\"\n"), ["x", "y"]);
}

#[test]
fn lockfiles_name_every_package_from_elsewhere() {
    let cargo = "[[package]]\nname = \"own\"\nversion = \"1\"\n[[package]]\nname = \"serde\"\nsource = \"registry+x\"\n";
    assert_eq!(names("Cargo.lock", cargo), ["serde"]);
    let npm = r#"{"packages":{"":{},"node_modules/a":{},"node_modules/a/node_modules/@s/b":{},"node_modules/l":{"link":true}}}"#;
    assert_eq!(names("package-lock.json", npm), ["@s/b", "a"]);
    let old = r#"{"dependencies":{"a":{"dependencies":{"b":{}}}}}"#;
    assert_eq!(names("package-lock.json", old), ["a", "b"]);
    let pnpm = "lockfileVersion: '9.0'\n\nimporters:\n  .:\n    dependencies:\n      x: 1\n\npackages:\n\n  '@s/b@1.0.0':\n    resolution: {}\n\n  /c@2.0.0(peer@1):\n    x: y\n  /d/3.0.0:\n    x: y\n\nsnapshots:\n  z@1:\n";
    assert_eq!(names("pnpm-lock.yaml", pnpm), ["@s/b", "c", "d"]);
    let yarn = "# yarn\n\n__metadata:\n  version: 8\n\n\"@s/b@^1.0.0\", \"@s/b@^1.1\":\n  version \"1\"\na@npm:^2, a@npm:^3:\n  x y\n\"own@workspace:.\":\n  z: y\n";
    assert_eq!(names("yarn.lock", yarn), ["@s/b", "a"]);
    let uv = "[[package]]\nname = \"own\"\nsource = { virtual = \".\" }\n[[package]]\nname = \"Rich\"\nsource = { registry = \"x\" }\n";
    assert_eq!(names("uv.lock", uv), ["rich"]);
    assert_eq!(
        names("go.sum", "example.org/a v1 h1:x\nexample.org/a v1/go.mod h1:y\n"),
        ["example.org/a"]
    );
    assert_eq!(
        names("gradle.lockfile", "# x\norg.a:b:1.0=compileClasspath\nempty=\n"),
        ["org.a:b"]
    );
    assert_eq!(names("Pipfile.lock", r#"{"default":{"a":{}},"develop":{"b":{}}}"#), ["a", "b"]);
}

#[test]
fn what_does_not_read_is_said_and_nothing_panics() {
    for path in ["Cargo.toml", "package.json", "pyproject.toml", "package-lock.json", "Cargo.lock"]
    {
        assert_eq!((kind(path).unwrap().read)("{[<"), None, "{path}");
    }
    let odd = [
        "",
        "\u{0}",
        "<dependency>",
        "<!--",
        "packages:\n  '",
        "@:",
        "\"@\":\n",
        "/é/1:",
        "require (",
        "[x\n",
        "'a:b",
        "=:",
    ];
    for path in [
        "pnpm-lock.yaml",
        "yarn.lock",
        "pom.xml",
        "build.gradle",
        "go.mod",
        "go.sum",
        "requirements.txt",
        "setup.cfg",
        "gradle.lockfile",
        "a.versions.toml",
    ] {
        for text in odd {
            let text = format!("packages:\n  {text}\n{text}\n {text}");
            let _ = (kind(path).unwrap().read)(&text);
        }
    }
    assert!(kind("src/main.rs").is_none() && kind("notes.txt").is_none());
}
