//! What an agent was not given yet, given once: with a brief, or as news with any answer.
//!
//! Whoever answers offers it, and confirms it when the answer is out. The cursor of each agent is kept like a remembered
//! answer: outside the log, on every store, and carried along when a store moves.

use crate::brief::{AtHand, Extent, LOOK_MAX, PostForReader};
use crate::caller::Caller;
use crate::far::Whereabouts;
use crate::past::last_before;
use crate::read::Reader;
use crate::service::{Memo, Service};
use comity_core::brief::{Brief, NewsItem, Room, Scope, news_item};
use comity_core::chain::Hash;
use comity_core::facts::Saved;
use comity_core::ids::{AgentId, RepoName, Seq};
use comity_core::news::{Cursor, NEWS_LIFE, Unread};
use comity_core::policy::Policy;
use comity_core::post::{PostId, PostKind};
use comity_core::refusal::{Code, Refusal};
use comity_store::{Changes, EventQuery, PostsFrom, Rows, Store, WriteTx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

/// Times that one answer looks posts up; the next answer goes on from there.
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
    /// Whether there is more to look at next time.
    goes_on: bool,
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
                let (given, goes_on) = self.give(caller, Asked::News)?;
                if let (Some(mark), true) = (mark, given.news.is_empty() && !goes_on) {
                    self.keep_quiet(caller, mark);
                }
                Ok(given.news)
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
        Ok(self.give(caller, Asked::Brief(at_hand, again))?.0.brief)
    }

    /// Returns the whole brief for a caller whose context is fresh: whatever it was given before is forgotten.
    pub fn fresh_brief(&self, caller: &Caller, task: Option<&str>) -> Result<Brief, Refusal> {
        let at_hand = self.read(caller, |reader| match task {
            Some(id) => Ok(AtHand { task: Some(reader.find(id)?.id), paths: Vec::new() }),
            None => reader.held(),
        })?;
        Ok(self.give(caller, Asked::Fresh(at_hand))?.0.brief)
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

    /// Returns what is asked for, and whether there is more to look at next time.
    fn give(&self, caller: &Caller, asked: Asked) -> Result<(Given, bool), Refusal> {
        if caller.actor.is_file() {
            return Ok((Given::default(), false));
        }
        let looked = self.read(caller, |reader| {
            let cursor = cursor(reader)?;
            look(reader, cursor, &asked)
        })?;
        if looked.cursor.is_none() {
            return Ok((looked.given, looked.goes_on));
        }
        // What is offered is decided again under the lock: another process of the same agent may have been faster.
        let (caller, policy) = (caller.clone(), self.settings().policy.clone());
        let place = (caller.actor.clone(), caller.repo.clone());
        let (given, goes_on) = self.with_store(move |store| {
            change(store, &caller, &policy, |reader, cursor| {
                let Looked { given, cursor, goes_on } = look(reader, cursor, &asked)?;
                Ok(((given, goes_on), cursor))
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
        Ok((given, goes_on))
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
    let given = Given { brief, news: Vec::new() };
    Ok(Looked { given, cursor: is_new.then_some(cursor), goes_on: false })
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
    let mut told = Told { room: Room::default(), items: Vec::new(), posts: Vec::new() };
    for (seq, id) in cursor.lost(now) {
        match reader.found(&scope, &cursor, (seq, &id), Extent::Unread)? {
            Some(lost) if lost.unread.is_some() => {
                told.takes(&lost);
            }
            _ => cursor.forget(seq),
        }
    }
    let digest = scope.digest();
    if cursor.scope != digest {
        // Here it has not looked yet, so it looks at everything that is young enough.
        if let Some(old) = too_old(reader, &scope)? {
            cursor.give_up_to(old);
        }
        (cursor.scope, cursor.looked) = (digest, cursor.floor());
    }
    let walk = walk(reader, &scope, &cursor, &mut told)?;
    cursor.looked = walk.looked;
    told.items.sort_by_key(|item| item.seq);
    // Whoever passed by much without being told anything goes on from there.
    let write = !told.posts.is_empty() || walk.is_long;
    cursor.offer(told.posts, now);
    let given = Given { brief: Brief::default(), news: told.items };
    Ok(Looked { given, cursor: write.then_some(cursor), goes_on: !walk.is_over })
}

/// What one answer tells, as far as there is room.
struct Told {
    room: Room,
    items: Vec<NewsItem>,
    posts: Vec<(Seq, PostId)>,
}

impl Told {
    /// Takes something that is unread, if it fits.
    fn takes(&mut self, it: &PostForReader) -> bool {
        let item = news_item(&it.post, it.unread == Some(Unread::Repeated));
        let fits = self.room.take(item.text.len());
        if fits {
            self.posts.push((it.post.seq, it.post.id.clone()));
            self.items.push(item);
        }
        fits
    }
}

/// How far one look went.
struct Walk {
    /// Everything up to here is told, or need not be.
    looked: Seq,
    is_over: bool,
    is_long: bool,
}

/// Looks through what lies at the places of a scope, the oldest first, until there is no more room.
fn walk(
    reader: &mut Reader<'_>,
    scope: &Scope,
    cursor: &Cursor,
    told: &mut Told,
) -> Result<Walk, Refusal> {
    let places = told_places(scope);
    let mut looked = cursor.looked;
    for number in 0..PAGES_MAX {
        let is_long = number > 0;
        let page = reader.tx.posts_at(&scope.repo, &places, PostsFrom::After(looked), LOOK_MAX)?;
        let is_last = page.len() < LOOK_MAX;
        // Beyond that many, posts of another place may lie between.
        for (seq, id) in page.into_iter().take(LOOK_MAX) {
            let found = reader.found(scope, cursor, (seq, &id), Extent::Unread)?;
            let is_told = told.posts.iter().any(|(known, _)| *known == seq);
            if let Some(unread) = found.filter(|it| it.unread.is_some() && !is_told)
                && !told.takes(&unread)
            {
                return Ok(Walk { looked, is_over: false, is_long });
            }
            looked = seq;
        }
        if is_last {
            return Ok(Walk { looked, is_over: true, is_long });
        }
    }
    Ok(Walk { looked, is_over: false, is_long: true })
}

/// Returns the places of everything that may be told to whoever has a scope.
fn told_places(scope: &Scope) -> Vec<String> {
    let kinds = [PostKind::Change, PostKind::Interface, PostKind::Message];
    kinds.into_iter().flat_map(|kind| scope.places(kind)).collect()
}

/// Returns up to where the log is too old to be told, if anything of it lies at the places of a scope.
fn too_old(reader: &mut Reader<'_>, scope: &Scope) -> Result<Option<Seq>, Refusal> {
    let places = told_places(scope);
    let oldest = reader.tx.posts_at(&scope.repo, &places, PostsFrom::After(Seq(0)), 1)?;
    let Some((seq, _)) = oldest.first() else { return Ok(None) };
    let before = reader.facts.moment.now.minus(NEWS_LIFE);
    // Most often nothing is that old.
    let first = EventQuery { after: Seq(seq.0 - 1), limit: 1, ..EventQuery::default() };
    if reader.tx.events(&first)?.first().is_none_or(|event| event.ts > before) {
        return Ok(None);
    }
    let head = reader.facts.head.seq;
    last_before(reader.tx, before, head).map(Some)
}
