//! Any text: reading never crashes, and what is read is written as YAML that reads as the same.
#![no_main]
use comity_protocol::document::{BYTES_MAX, Style, read, to_yaml};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(tree) = read(text) else { return };
    let value = tree.to_value();
    let written = to_yaml(&value, &Style::default());
    if written.len() < BYTES_MAX {
        assert_eq!(read(&written).expect("what was written").to_value(), value);
    }
});
