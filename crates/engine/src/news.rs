//! What an agent was not given yet, given once: with a brief, or as news with any answer.
//!
//! Whoever answers offers it, and confirms it when the answer is out. The cursor of each agent is kept like a remembered
//! answer: outside the log, on every store, and carried along when a store moves.

use crate::brief::{AtHand, Extent, LOOK_MAX, PostForReader};
use crate::caller::Caller;
use crate::far::Whereabouts;
use crate::read::Reader;
use crate::service::{Memo, Service};
use comity_core::brief::{Brief, NewsItem, Room, Scope, news_item};
use comity_core::chain::Hash;
use comity_core::facts::Saved;
use comity_core::ids::{AgentId, RepoName, Seq};
use comity_core::limits::{BRIEF_BYTES_MAX, BRIEF_ENTRIES_MAX};
use comity_core::news::Cursor;
use comity_core::policy::Policy;
use comity_core::post::{PostId, PostKind};
use comity_core::refusal::{Code, Refusal};
use comity_store::{Changes, Rows, Store, WriteTx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

/// Posts that one answer looks at, in pages; the next answer goes on from there.
const PAGES_MAX: usize = 16;

/// Agents whose offers a service remembers until they are confirmed.
const OFFERS_MAX: usize = 1_000;

/// What was offered to agents, by their places in the log.
pub(crate) type Offers = BTreeMap<(AgentId, RepoName), Vec<Seq>>;

/// Under which key the cursor of an agent is kept. No caller can use a key with such a character.
fn key(repo: &RepoName) -> String {
    format!("\u{1}news {repo}")
}

/// What an answer brings beside itself.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub brief: Brief,
    pub news: Vec<NewsItem>,
}

/// What is asked of one look.
#[derive(Clone)]
enum Asked {
    /// A brief for what is at hand; the flag says that an answer is asked for again that perhaps never arrived.
    Brief(AtHand, bool),
    /// A brief for a fresh context: everything comes again.
    Fresh(AtHand),
    News,
}

/// What one look found, and the cursor after it if it has to be written.
struct Looked {
    given: Given,
    cursor: Option<Cursor>,
}

impl Service {
    /// Returns what is new for a caller, once. [`Service::delivered`] confirms that it arrived.
    pub fn news(&self, caller: &Caller) -> Result<Vec<NewsItem>, Refusal> {
        match self.far() {
            Some(far) => Ok(far.news()),
            None => {
                let mark = self.mark();
                if mark.is_some_and(|mark| self.is_quiet(caller, mark)) {
                    return Ok(Vec::new());
                }
                let news = self.give(caller, Asked::News)?.news;
                if let (Some(mark), true) = (mark, news.is_empty()) {
                    self.keep_quiet(caller, mark);
                }
                Ok(news)
            }
        }
    }

    /// Returns the brief for a task or paths, without the changes and messages that the caller was given before.
    pub(crate) fn brief_for(
        &self,
        caller: &Caller,
        at_hand: AtHand,
        again: bool,
    ) -> Result<Brief, Refusal> {
        Ok(self.give(caller, Asked::Brief(at_hand, again))?.brief)
    }

    /// Returns the whole brief for a caller whose context is fresh: whatever it was given before is forgotten.
    pub fn fresh_brief(&self, caller: &Caller, task: Option<&str>) -> Result<Brief, Refusal> {
        let at_hand = self.read(caller, |reader| match task {
            Some(id) => Ok(AtHand { task: Some(reader.find(id)?.id), paths: Vec::new() }),
            None => reader.held(),
        })?;
        Ok(self.give(caller, Asked::Fresh(at_hand))?.brief)
    }

    /// Tells whether something was offered to a caller through this service that is not confirmed yet.
    pub fn has_offers(&self, caller: &Caller) -> bool {
        let place = (caller.actor.clone(), caller.repo.clone());
        self.offers().lock().unwrap_or_else(PoisonError::into_inner).contains_key(&place)
    }

    /// Notes that the answers have arrived that brought the caller something through this service.
    pub fn delivered(&self, caller: &Caller) -> Result<(), Refusal> {
        let place = (caller.actor.clone(), caller.repo.clone());
        let offers = self.offers().lock().unwrap_or_else(PoisonError::into_inner).remove(&place);
        let Some(seqs) = offers else { return Ok(()) };
        let (caller, policy) = (caller.clone(), self.settings().policy.clone());
        self.with_store(move |store| {
            change(store, &caller, &policy, |_, mut cursor| {
                cursor.confirm(seqs);
                Ok(((), Some(cursor)))
            })
        })
    }

    fn give(&self, caller: &Caller, asked: Asked) -> Result<Given, Refusal> {
        if caller.actor.is_file() {
            return Ok(Given::default());
        }
        let looked = self.read(caller, |reader| {
            let cursor = cursor(reader)?;
            look(reader, cursor, &asked)
        })?;
        if looked.cursor.is_none() {
            return Ok(looked.given);
        }
        // What is offered is decided again under the lock: another process of the same agent may have been faster.
        let (caller, policy) = (caller.clone(), self.settings().policy.clone());
        let place = (caller.actor.clone(), caller.repo.clone());
        let given = self.with_store(move |store| {
            change(store, &caller, &policy, |reader, cursor| {
                let Looked { given, cursor } = look(reader, cursor, &asked)?;
                Ok((given, cursor))
            })
        })?;
        let news = given.news.iter().map(|item| Seq(item.seq));
        let seqs: Vec<Seq> = given.brief.seqs().into_iter().map(Seq).chain(news).collect();
        if !seqs.is_empty() {
            let mut offers = self.offers().lock().unwrap_or_else(PoisonError::into_inner);
            if offers.len() >= OFFERS_MAX {
                // They were made, and are made again later.
                offers.clear();
            }
            offers.entry(place).or_default().extend(seqs);
        }
        Ok(given)
    }
}

fn cursor(reader: &mut Reader<'_>) -> Result<Cursor, Refusal> {
    let (me, key): (AgentId, String) = (reader.caller.actor.clone(), key(&reader.caller.repo));
    let saved = reader.settled(|facts| Ok(facts.saved(&me, &key)?.cloned()))?;
    // A cursor that this build cannot read is that of somebody new.
    Ok(saved.and_then(|saved| serde_json::from_str(&saved.answer).ok()).unwrap_or_default())
}

/// Changes a caller's cursor in a transaction of its own.
fn change<T>(
    store: &mut dyn Store,
    caller: &Caller,
    policy: &Policy,
    work: impl FnOnce(&mut Reader<'_>, Cursor) -> Result<(T, Option<Cursor>), Refusal>,
) -> Result<T, Refusal> {
    let mut tx: Box<dyn WriteTx + '_> = store.write()?;
    // No page is folded here, so that there is nothing to remember for the next one.
    let memo = Memo::default();
    let mut reader = Reader::open(tx.as_mut(), policy, caller, &memo)?;
    let before = cursor(&mut reader)?;
    let (answer, after) = work(&mut reader, before)?;
    let facts = reader.facts;
    let Some(after) = after else { return Ok(answer) };
    let text = serde_json::to_string(&after)
        .map_err(|error| Refusal::new(Code::Internal, format!("a cursor: {error}")))?;
    let saved = Saved { input: Hash::of(b"news"), answer: text, at: facts.moment.now };
    let (dirty, due) = (BTreeSet::new(), BTreeMap::new());
    tx.commit(Changes {
        events: &[],
        rows: Rows { facts: &facts, dirty: &dirty, due: &due },
        presence: &[],
        saved: &[(caller.actor.clone(), key(&caller.repo), saved)],
        kept: &[],
    })?;
    Ok(answer)
}

fn look(reader: &mut Reader<'_>, mut cursor: Cursor, asked: &Asked) -> Result<Looked, Refusal> {
    match asked {
        Asked::News => look_for_news(reader, cursor),
        Asked::Brief(at_hand, again) => {
            if *again {
                cursor.give_up_offers();
            }
            look_for_brief(reader, cursor, at_hand, Extent::Unread)
        }
        Asked::Fresh(at_hand) => {
            let looked = look_for_brief(reader, Cursor::default(), at_hand, Extent::Whole)?;
            let forgotten = (cursor != Cursor::default()).then(Cursor::default);
            Ok(Looked { cursor: looked.cursor.or(forgotten), ..looked })
        }
    }
}

fn look_for_brief(
    reader: &mut Reader<'_>,
    mut cursor: Cursor,
    at_hand: &AtHand,
    extent: Extent,
) -> Result<Looked, Refusal> {
    let scope = reader.scope(at_hand)?;
    let mut brief = reader.brief(at_hand, &scope, &cursor, (extent, Room::default()))?;
    if extent == Extent::Whole {
        brief.interfaces.iter_mut().for_each(|line| line.changed = true);
    }
    let posts = offered(&brief);
    let is_new = !posts.is_empty();
    cursor.offer(posts, reader.facts.moment.now);
    Ok(Looked { given: Given { brief, news: Vec::new() }, cursor: is_new.then_some(cursor) })
}

/// Returns the posts that count as given with a brief.
fn offered(brief: &Brief) -> Vec<(Seq, PostId)> {
    let at = |kind, seq| (Seq(seq), PostId::at(kind, Seq(seq)));
    let changes = brief.changes.iter().map(|it| at(PostKind::Change, it.seq));
    let messages = brief.messages.iter().map(|it| at(PostKind::Message, it.seq));
    let new = brief.interfaces.iter().filter(|it| it.changed);
    let interfaces = new.map(|it| (Seq(it.seq), PostId::named(PostKind::Interface, &it.name)));
    changes.chain(messages).chain(interfaces).collect()
}

fn look_for_news(reader: &mut Reader<'_>, mut cursor: Cursor) -> Result<Looked, Refusal> {
    let now = reader.facts.moment.now;
    let scope = reader.own_scope()?;
    let digest = scope.digest();
    let is_same = cursor.scope == digest;
    let mut found = Vec::new();
    for (seq, id) in cursor.lost(now) {
        match reader.found(&scope, &cursor, (seq, &id), Extent::Unread)? {
            Some(lost) => found.push(lost),
            None => cursor.forget(seq),
        }
    }
    let (unread, looked) = if is_same {
        since(reader, &scope, &cursor)?
    } else {
        (everywhere(reader, &scope, &cursor)?, reader.facts.head.seq)
    };
    found.extend(unread);
    found.sort_by_key(|it| it.post.seq);
    found.dedup_by_key(|it| it.post.seq);
    let mut room = BRIEF_BYTES_MAX;
    let mut news = Vec::new();
    let mut posts = Vec::new();
    for it in &found {
        let repeated = it.unread == Some(comity_core::news::Unread::Repeated);
        let item = news_item(&it.post, repeated);
        if news.len() == BRIEF_ENTRIES_MAX || item.text.len() > room {
            break;
        }
        room -= item.text.len();
        posts.push((it.post.seq, it.post.id.clone()));
        news.push(item);
    }
    let all = posts.len() == found.len();
    // A cursor saves a long way to the end of the log. Who has none yet looks by index, and needs none.
    let far =
        cursor != Cursor::default() && looked.0.saturating_sub(cursor.looked.0) > LOOK_MAX as u64;
    let write = !posts.is_empty() || (far && all);
    cursor.offer(posts, now);
    // What did not fit is looked for again.
    if all {
        (cursor.scope, cursor.looked) = (digest, looked);
    }
    Ok(Looked { given: Given { brief: Brief::default(), news }, cursor: write.then_some(cursor) })
}

/// Finds what is unread among the posts since the last look, and how far this look went.
fn since(
    reader: &mut Reader<'_>,
    scope: &Scope,
    cursor: &Cursor,
) -> Result<(Vec<PostForReader>, Seq), Refusal> {
    let mut found = Vec::new();
    let mut looked = cursor.looked;
    for _ in 0..PAGES_MAX {
        let page = reader.tx.posts_since(&scope.repo, looked, LOOK_MAX)?;
        let full = page.len() == LOOK_MAX;
        for (seq, id) in page {
            found.extend(reader.found(scope, cursor, (seq, &id), Extent::Unread)?);
            looked = seq;
            if found.len() > BRIEF_ENTRIES_MAX {
                return Ok((found, looked));
            }
        }
        if !full {
            return Ok((found, reader.facts.head.seq));
        }
    }
    Ok((found, looked))
}

/// Finds what is unread of everything that concerns a scope that was not looked at before.
fn everywhere(
    reader: &mut Reader<'_>,
    scope: &Scope,
    cursor: &Cursor,
) -> Result<Vec<PostForReader>, Refusal> {
    let mut found = Vec::new();
    for kind in [PostKind::Change, PostKind::Interface, PostKind::Message] {
        found.extend(reader.concerning(kind, scope, cursor, Extent::Unread)?);
    }
    Ok(found)
}
