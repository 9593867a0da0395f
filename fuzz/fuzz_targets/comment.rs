//! Any text as a comment, a contract or a plan of the label protocols: reading never crashes.
#![no_main]
use comity_protocol::ace::{Answer, Author, Comment, Generation, HandOver};
use comity_protocol::contract::{Mode, check, kind};
use comity_protocol::neomjs::{new_task, read_plan, safety, title_beside};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for author in [Author::Agent, Author::Allowed, Author::Other] {
        if let Some(comment) = Comment::read(text, author) {
            comment.render(Generation::Labels);
            comment.render(Generation::Project);
        }
    }
    if let Some(answer) = Answer::find(text) {
        let _ = answer.matched(3);
    }
    if let Some(tree) = check(text, kind("neo-task"), Mode::Full).tree {
        let _ = new_task(text, &tree, None);
    }
    if let Ok(value) = serde_json::from_str(text) {
        let _ = HandOver::of(&value);
    }
    let _ = (read_plan(text), title_beside(text), safety::read_pushes(text));
});
