//! Any text as any kind of contract: there is a verdict, and a valid one reports something.
#![no_main]
use comity_protocol::contract::{KINDS, Mode, check, check_handed_in, recognise};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = recognise(text);
    let _ = check_handed_in(text, None);
    for kind in KINDS {
        for mode in [Mode::Full, Mode::Compat, Mode::Strict] {
            let checked = check(text, Some(kind), mode);
            if let (true, Some(tree), Some(report)) =
                (checked.is_valid(), &checked.tree, kind.report)
            {
                let _ = report(tree);
            }
        }
    }
});
