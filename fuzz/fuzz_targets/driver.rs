//! Any lines as the stream of any client: no reader stops, and what is written is one line each.
#![no_main]
use comity_protocol::driver::{Acp, Claude, Codex, CommandLines, Opening, Talk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let opening = Opening { prompt: "work".to_owned(), ..Opening::default() };
    let talks = [
        Talk::Command(CommandLines::default()),
        Talk::Claude(Claude::new(&opening)),
        Talk::Codex(Box::new(Codex::new(&opening))),
        Talk::Acp(Box::new(Acp::new(&opening))),
    ];
    for mut talk in talks {
        let mut written = talk.begin();
        for line in text.lines() {
            written.extend(talk.read(line).write);
        }
        written.extend(talk.interrupt());
        written.extend(talk.say(text));
        talk.ended();
        assert!(written.iter().all(|line| !line.contains('\n')));
    }
});
