//! Stored bytes: decoding never crashes, and what decodes encodes to something that decodes again.
#![no_main]
use comity_core::event::Event;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (u8, &[u8])| {
    let name = Event::NAMES[usize::from(data.0) % Event::NAMES.len()];
    if let Ok(event) = Event::decode(name, data.1) {
        let bytes = event.encode().expect("what was decoded can be encoded");
        assert_eq!(Event::decode(event.name(), &bytes).expect("and decoded again"), event);
    }
});
