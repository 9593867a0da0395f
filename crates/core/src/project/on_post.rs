//! What events do to posts.

use crate::event::{Draft, Event, PadChange, Placed};
use crate::ids::Seq;
use crate::limits::POST_HISTORY_MAX;
use crate::pad;
use crate::post::{Owner, Post, PostId, PostKind};
use crate::state::Key;

/// Names the post that an event writes.
pub(super) fn touched(seq: Seq, draft: &Draft) -> Option<Key> {
    let id = match &draft.event {
        Event::ChangeNoted(_) => PostId::at(PostKind::Change, seq),
        Event::Merged(e) if e.change.is_some() => PostId::at(PostKind::Change, seq),
        Event::MessageSent(_) => PostId::at(PostKind::Message, seq),
        Event::PadWritten(e) => PostId::named(PostKind::Pad, &e.scope),
        Event::InterfacePublished(e) => PostId::named(PostKind::Interface, &e.name),
        _ => return None,
    };
    Some(Key::Post(draft.repo.clone(), id))
}

fn blank(placed: &Placed, id: PostId, kind: PostKind) -> Post {
    let draft = &placed.draft;
    Post {
        repo: draft.repo.clone(),
        id,
        kind,
        seq: placed.seq,
        ts: placed.ts,
        by: draft.agent.clone(),
        task: draft.task.clone(),
        version: 1,
        text: String::new(),
        paths: Vec::new(),
        to: Vec::new(),
        commit: None,
        owner: None,
        sections: Default::default(),
        history: Vec::new(),
    }
}

/// Projects a post. An event that is about another one leaves it as it is.
pub fn post(before: Option<Post>, id: &PostId, placed: &Placed) -> Option<Post> {
    if touched(placed.seq, &placed.draft).as_ref()
        != Some(&Key::Post(placed.draft.repo.clone(), id.clone()))
    {
        return before;
    }
    let new = |kind| blank(placed, id.clone(), kind);
    Some(match &placed.draft.event {
        Event::ChangeNoted(e) => {
            Post { text: e.text.clone(), paths: e.paths.clone(), ..new(PostKind::Change) }
        }
        Event::Merged(e) => {
            let change = e.change.as_ref()?;
            let (text, paths) = (change.text.clone(), change.paths.clone());
            Post { text, paths, commit: e.sha.clone(), ..new(PostKind::Change) }
        }
        Event::MessageSent(e) => {
            Post { text: e.text.clone(), to: vec![e.to.clone()], ..new(PostKind::Message) }
        }
        Event::PadWritten(e) => {
            let old = before.as_ref().map_or("", |post| post.text.as_str());
            let text = match &e.how {
                PadChange::Append => pad::appended(old, &e.text),
                PadChange::Replace => e.text.clone(),
                PadChange::Section(name) => pad::with_section(old, name, &e.text),
            };
            let known = before.as_ref().map(|post| post.sections.clone()).unwrap_or_default();
            let sections = pad::changed_sections(old, &text, &known, e.version);
            let history = with_seq(before.as_ref(), placed.seq);
            Post { version: e.version, text, sections, history, ..new(PostKind::Pad) }
        }
        Event::InterfacePublished(e) => {
            let first = Owner { task: e.owner_task.clone(), agent: placed.draft.agent.clone() };
            let owner = before.as_ref().and_then(|post| post.owner.clone()).unwrap_or(first);
            let history = with_seq(before.as_ref(), placed.seq);
            Post {
                version: e.version,
                text: e.text.clone(),
                paths: e.paths.clone(),
                to: e.to.clone(),
                owner: Some(owner),
                history,
                ..new(PostKind::Interface)
            }
        }
        _ => return before,
    })
}

fn with_seq(before: Option<&Post>, seq: Seq) -> Vec<Seq> {
    let mut history = before.map(|post| post.history.clone()).unwrap_or_default();
    history.push(seq);
    let over = history.len().saturating_sub(POST_HISTORY_MAX);
    history.drain(..over);
    history
}
