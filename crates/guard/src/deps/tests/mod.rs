mod forms;

use super::*;

/// Reads a file as its name says.
fn names(path: &str, text: &str) -> Vec<String> {
    named(path, text).unwrap_or_else(|| panic!("{path} does not read")).into_keys().collect()
}

#[test]
fn manifests_name_what_they_depend_on_and_not_what_is_their_own() {
    let cargo = "[dependencies]\nserde = \"1\"\nown = { path = \"../own\" }\nw.workspace = true\n\
        alias = { package = \"real_name\", version = \"2\" }\n[dev-dependencies]\nproptest = \"1\"\n\
        [target.'cfg(unix)'.dependencies]\nlibc = { git = \"https://example.org/x\" }\n\
        [workspace.dependencies]\nclap = \"4\"\n";
    let libc = "libc (https://example.org/x)";
    assert_eq!(names("a/Cargo.toml", cargo), ["clap", libc, "proptest", "real-name", "serde"]);
    let package = r#"{"name":"x","dependencies":{"a":"^1","mine":"workspace:*"},
        "devDependencies":{"@s/b":"2","c":"file:../c"}}"#;
    assert_eq!(names("a/package.json", package), ["@s/b", "a"]);
    let project = "[project]\ndependencies = [\"Requests[socks]>=2; python_version<'4'\"]\n\
        optional-dependencies.dev = [\"pytest\"]\n[dependency-groups]\nlint = [\"ruff==1\"]\n\
        [tool.poetry.dependencies]\npython = \"^3\"\nZope_Interface = \"1\"\nown = {path=\"../o\"}\n\
        [tool.poetry.group.docs.dependencies]\nsphinx = \"*\"\n[build-system]\nrequires = [\"hatchling\"]\n";
    let wanted =
        ["hatchling", "pytest", "requests", "requests[socks]", "ruff", "sphinx", "zope-interface"];
    assert_eq!(names("a/pyproject.toml", project), wanted);
    let pip = "# all\nflask==2 # web\n-r other.txt\n--hash x\n-e .\nname @ https://example.org/n.whl\n\
        git+https://example.org/r.git#egg=egged\nlong \\\n  ==1\n";
    let egged = "egged (git+https://example.org/r.git)";
    let named = "name (https://example.org)";
    assert_eq!(names("requirements-dev.txt", pip), ["-r other.txt", egged, "flask", "long", named]);
    assert_eq!(names("requirements/test.txt", "pytest\n"), ["pytest"]);
    let go = "module x\n\ngo 1.22\n\nrequire example.org/a v1\nrequire (\n\texample.org/b v2\n\texample.org/c v3 // indirect\n)\n\
        replace example.org/z => ../z\n";
    assert_eq!(names("a/go.mod", go), ["example.org/a", "example.org/b"]);
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
    let yarn = "# yarn\n\n__metadata:\n  version: 8\n\n\"@s/b@^1.0.0\", \"@s/b@^1.1\":\n  version \"1\"\na@npm:^2, a@npm:^3:\n  x y\n\"own@workspace:.\":\n  z: y\n";
    assert_eq!(names("yarn.lock", yarn), ["@s/b", "a"]);
    let uv = "[[package]]\nname = \"own\"\nsource = { virtual = \".\" }\n[[package]]\nname = \"Rich\"\nsource = { registry = \"x\" }\n";
    assert_eq!(names("uv.lock", uv), ["rich"]);
    assert_eq!(
        names("go.sum", "example.org/a v1 h1:x\nexample.org/a v1/go.mod h1:y\n"),
        ["example.org/a"]
    );
    assert_eq!(names("Pipfile.lock", r#"{"default":{"a":{}},"develop":{"b":{}}}"#), ["a", "b"]);
}

#[test]
fn what_does_not_read_is_said_and_nothing_panics() {
    for path in ["Cargo.toml", "package.json", "pyproject.toml", "package-lock.json", "Cargo.lock"]
    {
        assert_eq!((format_of(path).unwrap().read)("{[<", ""), None, "{path}");
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
        "install_requires=[\"",
        "extras_require={'é':(",
        "implementation(\"",
        "/*",
        "<plugin ",
        "catalog:\n  x: ",
    ];
    for path in ["yarn.lock", "go.mod", "go.sum", "requirements.txt"] {
        for text in odd {
            let text = format!("packages:\n  {text}\n{text}\n {text}");
            let _ = (format_of(path).unwrap().read)(&text, "a");
        }
    }
    assert!(format_of("src/main.rs").is_none() && format_of("notes.txt").is_none());
}

#[test]
fn the_less_usual_forms_are_read_too() {
    let go = "require(\n\texample.org/a v1\n)\nrequire example.org/b v1 // indirect\nreplace example.org/a => evil.org/a v1\n";
    assert_eq!(names("go.mod", go), ["evil.org/a", "example.org/a"]);
    let marked: Vec<String> = go::indirect(go, "").unwrap().into_keys().collect();
    assert_eq!(marked, ["example.org/b"]);
    let cargo = "[dev_dependencies]\nold = \"1\"\n[patch.crates-io]\nserde = { git = \"https://e.org/s\" }\n\
        [dependencies]\nout = { path = \"../../out\" }\nown = { path = \"../own\" }\n";
    let wanted = ["old", "out (../../out)", "serde (https://e.org/s)"];
    assert_eq!(names("a/Cargo.toml", cargo), wanted);
    let poetry = "[tool.poetry.dependencies]\nout = {path = \"../out\"}\n[tool.uv.sources]\nx = {git = \"https://e.org/x\"}\ny = {workspace = true}\n";
    assert_eq!(names("pyproject.toml", poetry), ["out (../out)", "x (https://e.org/x)"]);
}

#[test]
fn another_source_is_another_dependency_and_another_version_is_not() {
    let package = r#"{"dependencies":{"left":"npm:evil@1","a":"git+https://e.org/a.git#v1","b":"o/b",
        "c":"file:../evil.tgz","d":"catalog:","e":"./packages/e"},
        "overrides":{"x":"1.2.3","y":{"z":"npm:other@2"}}}"#;
    let wanted = ["a (git+https://e.org/a.git)", "b (o/b)", "c (..)", "d", "evil", "other"];
    assert_eq!(names("package.json", package), wanted);
    let pip = "git+https://e.org/r.git@v1\nx @ git+https://e.org/x.git@v2\n../out\n./own\n";
    let wanted = ["../out", "git+https://e.org/r.git", "x (git+https://e.org/x.git)"];
    assert_eq!(names("requirements.txt", pip), wanted);
}
