//! The fuzz targets, compiled with the workspace and run once over what `scripts/fuzz` begins with.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

extern crate self as libfuzzer_sys;

use std::path::{Path, PathBuf};

/// What a target can be given, made of the bytes of a file.
pub trait Input<'b>: Sized {
    fn of(bytes: &'b [u8]) -> Option<Self>;
}

impl<'b> Input<'b> for &'b [u8] {
    fn of(bytes: &'b [u8]) -> Option<&'b [u8]> {
        Some(bytes)
    }
}

impl<'b> Input<'b> for &'b str {
    fn of(bytes: &'b [u8]) -> Option<&'b str> {
        std::str::from_utf8(bytes).ok()
    }
}

impl<'b> Input<'b> for (u8, &'b [u8]) {
    fn of(bytes: &'b [u8]) -> Option<(u8, &'b [u8])> {
        bytes.split_first().map(|(first, rest)| (*first, rest))
    }
}

impl<'b> Input<'b> for (&'b str, &'b str, &'b str) {
    fn of(bytes: &'b [u8]) -> Option<(&'b str, &'b str, &'b str)> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        Some((lines.next()?, lines.next()?, lines.next()?))
    }
}

macro_rules! targets {
    ($($name:ident $file:literal,)*) => {
        $(#[path = $file]
        #[expect(unused_attributes, reason = "a target is a program of its own elsewhere")]
        mod $name;)*

        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::run),)*];
    };
}

targets! {
    collab "../../../fuzz/fuzz_targets/collab.rs",
    command "../../../fuzz/fuzz_targets/command.rs",
    comment "../../../fuzz/fuzz_targets/comment.rs",
    contract "../../../fuzz/fuzz_targets/contract.rs",
    document "../../../fuzz/fuzz_targets/document.rs",
    driver "../../../fuzz/fuzz_targets/driver.rs",
    event "../../../fuzz/fuzz_targets/event.rs",
    manifest "../../../fuzz/fuzz_targets/manifest.rs",
    pattern "../../../fuzz/fuzz_targets/pattern.rs",
    redact "../../../fuzz/fuzz_targets/redact.rs",
    search "../../../fuzz/fuzz_targets/search.rs",
    takeover "../../../fuzz/fuzz_targets/takeover.rs",
}

/// The longest input that `scripts/fuzz` makes.
const LONGEST: usize = 16_384;

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_target_stands_every_golden_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds = vec![root.join("Cargo.toml"), root.join("web/package.json")];
    files_below(&root.join("crates/protocol/tests/golden"), &mut seeds);
    assert!(seeds.len() > 20, "the goldens are gone: {seeds:?}");
    for seed in &seeds {
        let bytes = std::fs::read(seed).unwrap();
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        for (_, run) in TARGETS {
            run(bytes);
        }
    }
}

#[test]
fn no_target_is_left_out() {
    let mut files = Vec::new();
    files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets"), &mut files);
    let mut names: Vec<&str> =
        files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    names.sort_unstable();
    let listed: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, listed);
}

/// Stands for the macro of libfuzzer: makes a function that runs the target once. It comes last, so that the targets have
/// to import it.
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: $type:ty| $body:block) => {
        pub fn run(bytes: &[u8]) {
            fn target($data: $type) $body
            if let Some(input) = <$type as $crate::Input>::of(bytes) {
                target(input);
            }
        }
    };
}
