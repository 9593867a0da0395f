//! The inboxes of several repositories as one list.

use super::inbox::{AT_WORK_MAX, ITEMS_MAX, WANTED_MAX};
use comity_api::{Aside, InboxAnswer, InboxItem};
use comity_core::attention::{Kind, rank};

/// Puts inboxes together, each with the name of its repository. The order is that of one inbox.
pub fn one_inbox(all: Vec<(String, InboxAnswer)>) -> Option<InboxAnswer> {
    let mut all = all.into_iter().map(|(repo, inbox)| marked(&repo, inbox));
    let mut one = all.next()?;
    for inbox in all {
        one.seq += inbox.seq;
        one.now = one.now.max(inbox.now);
        one.count += inbox.count;
        one.more += inbox.more;
        one.items.extend(inbox.items);
        add(&mut one.aside, inbox.aside);
    }
    one.items.sort_by_cached_key(place);
    one.more += one.items.len().saturating_sub(ITEMS_MAX);
    one.items.truncate(ITEMS_MAX);
    one.aside.at_work.truncate(AT_WORK_MAX);
    one.aside.wanted.truncate(WANTED_MAX);
    Some(one)
}

fn place(item: &InboxItem) -> impl Ord + use<> {
    // A kind that nobody knows comes last.
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == item.kind);
    (kind.is_none(), kind.map(|kind| rank(kind, item.urgent, item.since, &item.id)))
}

fn marked(repo: &str, mut inbox: InboxAnswer) -> InboxAnswer {
    let name = || Some(repo.to_owned());
    for item in &mut inbox.items {
        item.key = format!("{repo}/{}", item.key);
        item.repo = name();
        for action in &mut item.actions {
            action.path = format!("{}?repo={}", action.path, encoded(repo));
        }
    }
    inbox.aside.at_work.iter_mut().for_each(|one| one.repo = name());
    inbox.aside.wanted.iter_mut().for_each(|one| one.repo = name());
    inbox.aside.merging.iter_mut().for_each(|one| one.repo = name());
    inbox
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn add(to: &mut Aside, more: Aside) {
    let (sum, counts) = (&mut to.agents, more.agents);
    sum.total += counts.total;
    sum.at_work += counts.at_work;
    sum.waiting += counts.waiting;
    sum.silent += counts.silent;
    sum.idle += counts.idle;
    to.at_work.extend(more.at_work);
    to.wanted.extend(more.wanted);
    to.merging.extend(more.merging);
    to.done_24h.tasks += more.done_24h.tasks;
    to.done_24h.verified += more.done_24h.verified;
    to.done_24h.partly += more.done_24h.partly;
    to.done_24h.waived += more.done_24h.waived;
    // Several logs are as good as the worst of them, and were checked when the first of them was. They have no common head.
    to.log.events += more.log.events;
    to.log.head = String::new();
    to.log.verified_at = to.log.verified_at.zip(more.log.verified_at).map(|(a, b)| a.min(b));
    to.log.ok = match (to.log.ok, more.log.ok) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    to.last_event = to.last_event.into_iter().chain(more.last_event).max_by_key(|last| last.ts);
}
