//! Any text as any manifest or lockfile: reading never crashes, and the same text names the same things.
#![no_main]
use comity_guard::deps::named;
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 25] = [
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "package-lock.json",
    "pnpm-workspace.yaml",
    "pnpm-lock.yaml",
    "yarn.lock",
    "pyproject.toml",
    "Pipfile",
    "Pipfile.lock",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "requirements.txt",
    "go.mod",
    "go.sum",
    "pom.xml",
    "build.gradle",
    "gradle/libs.versions.toml",
    "gradle.lockfile",
    "package.yaml",
    "pylock.toml",
    "go.work",
    ".cargo/config.toml",
    ".mvn/extensions.xml",
];

fuzz_target!(|text: &str| {
    for file in FILES {
        let path = format!("a/b/{file}");
        assert_eq!(named(&path, text), named(&path, text), "{file}");
    }
});
