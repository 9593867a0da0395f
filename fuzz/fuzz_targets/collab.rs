//! Files of a collaboration/ tree: reading never crashes, and what was read is written and read back the same.
#![no_main]
use comity_protocol::collab::{StateFile as Kind, check_commit_message, document, edits, pretty, read, read_v1};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for kind in Kind::ALL {
        if let Ok(value) = read(kind, text) {
            let written = document(kind, Some(&value), Vec::new(), &|_| true);
            let again = read(kind, &pretty(&written)).expect("what was written can be read");
            assert!(edits(kind, &again, &written).is_empty());
        }
    }
    let _ = read_v1(text.as_bytes());
    let _ = check_commit_message(text);
});
