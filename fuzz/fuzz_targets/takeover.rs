//! Files and reports of other tools: reading them never crashes, and what is read again is the same.
#![no_main]
use comity_core::time::Timestamp;
use comity_protocol::contract::{KINDS, Mode, check};
use comity_protocol::neotx::changes::Base;
use comity_protocol::neotx::lines::{Change, Lines};
use comity_protocol::neotx::records::Record;
use comity_protocol::neotx::{effect, resume, take};
use comity_protocol::plan::Earlier;
use comity_protocol::{beads, taskmaster};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let none = Earlier::default();
    for plan in [beads::read(text, &none), taskmaster::read(text, &none)].into_iter().flatten() {
        assert_eq!(plan.finishing_order().len(), plan.tasks.len());
    }
    let mut lines = Lines::read(data);
    assert_eq!(lines.bytes(), data);
    let now = Timestamp::from_ms(1_767_225_600_000);
    let read: Vec<Record> = lines.records().into_iter().cloned().collect();
    for record in &read {
        assert!(Base::of(record, record).changed_there(record, record).is_empty());
        let change = Change { unset: vec!["context".to_owned()], ..Change::default() };
        lines.change(record.text("id").unwrap_or_default(), &change);
        let _ = take::decision(record, now);
        let _ = take::directive(record);
        let _ = take::memory(record.map(), now);
    }
    for kind in KINDS {
        let checked = check(text, Some(kind), Mode::Full);
        if let (true, Some(tree)) = (checked.is_valid(), &checked.tree) {
            let _ = effect::commands(kind.name, tree, Some("T1"));
            let _ = kind.report.map(|report| report(tree));
        }
    }
    let _ = resume::read(text);
});
