//! How fast secrets are looked for: in one long text, and in many short ones.

use crate::stats::{median, whole};
use crate::table::Table;
use crate::{Outcome, Scale};
use comity_engine::redact::{RedactOptions, Redactor};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How the names of source files end.
const SOURCES: [&str; 9] = ["rs", "toml", "md", "c", "h", "ts", "tsx", "js", "py"];
/// Length of a short text, such as a note.
const SHORT_BYTES: usize = 200;

/// A log as programs write it, with what looks like secrets and is none, and a secret now and then.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut number = 0_u64;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!(
            "2026-01-05T10:{:02}:{:02}Z INFO request {number:08x} path=/api/v1/items/{number} status=200 \
             commit=4f1c7b1e5a0d3c9b8e7f6a5d4c3b2a1908172635 id=7d444840-9dc0-11d1-b245-5ffdce74fad2\n",
            number / 60 % 60,
            number % 60,
        ));
        if number.is_multiple_of(500) {
            text.push_str("retrying with password = correct-horse-battery-staple\n");
        }
    }
    text
}

/// What looking through sources found.
#[derive(Default)]
struct Looked {
    bytes: usize,
    lines: usize,
    alarms: Vec<String>,
}

/// Looks for secrets in the source files below a directory. Sources have none, but for examples: what is found is a false alarm.
fn look_through(dir: &Path, redactor: &Redactor, looked: &mut Looked) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let is_source = path.extension().is_some_and(|end| SOURCES.iter().any(|it| end == *it));
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target" && name != ".git") {
                look_through(&path, redactor, looked);
            }
        } else if is_source && let Ok(text) = std::fs::read_to_string(&path) {
            looked.bytes += text.len();
            looked.lines += text.lines().count();
            if let Cow::Owned(out) = redactor.text(&text) {
                let changed = text.lines().zip(out.lines()).filter(|(old, new)| old != new);
                let line = |(old, _): (&str, &str)| format!("{}: {}", path.display(), old.trim());
                looked.alarms.extend(changed.map(line));
            }
        }
    }
}

/// Prints what is found in the sources that `COMITY_SOURCES=DIR[:DIR…]` names.
fn sources(redactor: &Redactor) {
    let Some(dirs) = std::env::var_os("COMITY_SOURCES") else { return };
    let mut table = Table::new(&["sources", "lines", "MB", "MB/s", "found", "found in 1 MB"]);
    let mut found = Vec::new();
    for dir in std::env::split_paths(&dirs) {
        let (start, mut looked) = (Instant::now(), Looked::default());
        look_through(&dir, redactor, &mut looked);
        #[expect(clippy::cast_precision_loss, reason = "sources are far below 2^52 bytes")]
        let (megabytes, alarms) = (looked.bytes as f64 / 1e6, looked.alarms.len() as f64);
        table.row(vec![
            dir.display().to_string(),
            looked.lines.to_string(),
            whole(megabytes),
            whole(megabytes / start.elapsed().as_secs_f64()),
            looked.alarms.len().to_string(),
            format!("{:.2}", alarms / megabytes),
        ]);
        found.extend(looked.alarms);
    }
    table.print("redact: sources");
    found.iter().for_each(|line| println!("- {line}"));
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let text = text(scale.of(20, 4) * 1024 * 1024);
    let redactor = Redactor::new(RedactOptions::default()).map_err(|bad| bad.to_string())?;
    let pieces: Vec<&str> =
        text.as_bytes().chunks(SHORT_BYTES).map(std::str::from_utf8).collect::<Result<_, _>>()?;
    let mut table = Table::new(&["text", "fields of commands MB/s", "free text MB/s"]);
    #[expect(clippy::cast_precision_loss, reason = "a text here is far below 2^52 bytes")]
    let megabytes = text.len() as f64 / 1e6;
    let rate = |scan: &dyn Fn() -> usize| {
        let mut rates = Vec::new();
        for _ in 0..3 {
            let start = Instant::now();
            // Used, so that nothing is left out.
            assert!(scan() > 0, "BUG: nothing was scanned");
            rates.push(megabytes / start.elapsed().as_secs_f64());
        }
        whole(median(&rates))
    };
    table.row(vec![
        "one long text".to_owned(),
        rate(&|| redactor.text(&text).len()),
        rate(&|| redactor.free_text(&text).len()),
    ]);
    table.row(vec![
        format!("pieces of {SHORT_BYTES} bytes"),
        rate(&|| pieces.iter().map(|piece| redactor.text(piece).len()).sum()),
        rate(&|| pieces.iter().map(|piece| redactor.free_text(piece).len()).sum()),
    ]);
    table.print("redact: looking for secrets");
    println!(
        "\nA log of {megabytes:.0} MB with hashes, UUIDs, paths, and a secret in every 500 lines. Target: ≥ 20 MB/s."
    );
    sources(&redactor);
    Ok(())
}
