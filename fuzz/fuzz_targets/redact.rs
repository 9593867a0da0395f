//! Any text: redacting never crashes and does nothing the second time.
#![no_main]
use comity_engine::redact::{RedactOptions, Redactor};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let redactor = Redactor::new(RedactOptions::default()).expect("the default options are valid");
    let once = redactor.free_text(text).into_owned();
    assert_eq!(redactor.free_text(&once), once);
});
