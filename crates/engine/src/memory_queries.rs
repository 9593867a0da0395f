//! Looking up memories and directives as they are in effect.

use crate::pages::{id_after, limit, number_after, page, rest};
use crate::read::Reader;
use comity_api::{
    DirectiveAnswer, DirectivesPage, ListDirectives, ListMemories, MemoriesPage, MemoryAnswer,
    SearchMemories,
};
use comity_core::brief::{NewsItem, excerpt, news_item};
use comity_core::decide::{check_filter, find_directive, find_memory};
use comity_core::directive::{Directive, DirectiveFilter};
use comity_core::facts::{Facts, Need};
use comity_core::hint::Hint;
use comity_core::ids::{DirectiveId, MemoryId, Seq};
use comity_core::limits::{MATCHES_MAX, PAGE_MAX};
use comity_core::memory::{Memory, MemoryFilter};
use comity_core::post::Post;
use comity_core::refusal::Refusal;
use comity_core::search::Search;
use comity_core::state::Key;
use comity_core::view;
use comity_store::{DirectiveQuery, MemoryQuery};

/// Candidates that a search looks at; beyond that only the newest count.
const CANDIDATES_MAX: usize = 100_000;
/// Posts that a search looks through, the newest ones.
const POSTS_MAX: usize = 20_000;
/// Candidates that are read at a time.
const READ_AT_A_TIME: usize = 200;

/// Shows a post from where the words are.
fn found_item(post: &Post, search: &Search) -> NewsItem {
    NewsItem { text: excerpt(search.from_match(&post.text)), ..news_item(post, false) }
}

impl Reader<'_> {
    pub(crate) fn memory(&mut self, id: &str) -> Result<MemoryAnswer, Refusal> {
        let repo = &self.caller.repo;
        let found = self.settled(|facts| find_memory(facts, repo, id).cloned())?;
        Ok(MemoryAnswer { memory: view::memory(&found) })
    }

    pub(crate) fn memories(&mut self, wanted: &ListMemories) -> Result<MemoriesPage, Refusal> {
        let filter = wanted.filter();
        check_filter(&filter, None)?;
        let limit = limit(wanted.limit)?;
        let mut query = MemoryQuery {
            repo: self.caller.repo.clone(),
            filter,
            after: id_after(wanted.after.as_deref(), MemoryId::parse)?,
            limit: PAGE_MAX,
        };
        let mut found: Vec<Memory> = Vec::new();
        while found.len() <= limit {
            let stored = self.tx.memories(&query)?;
            let Some(last) = stored.last() else { break };
            query.after = Some(last.id);
            let now = self.facts.moment.now;
            found.extend(stored.into_iter().filter(|memory| !memory.is_expired(now)));
        }
        let views: Vec<_> = found.iter().map(view::memory).collect();
        let (memories, next) = page(views, limit, |memory| memory.id.clone());
        Ok(MemoriesPage { memories, next, posts: Vec::new() })
    }

    /// Finds memories by words, the best first. Of very many the newest are ranked.
    pub(crate) fn search(&mut self, wanted: &SearchMemories) -> Result<MemoriesPage, Refusal> {
        if self.memo.at.is_some() {
            let message = "memories are only searched as they are now";
            return Err(Refusal::input(message)
                .hint(Hint::default().say("leave ").mention("at").say(" out")));
        }
        let filter = &wanted.filter();
        check_filter(filter, Some(&wanted.query))?;
        let limit = limit(wanted.limit)?;
        let skipped = number_after(wanted.after.as_deref())?;
        let search = Search::parse(&wanted.query);
        let repo = self.caller.repo.clone();
        let candidates = self.tx.memories_with(&repo, search.looked_up(), CANDIDATES_MAX)?;
        let mut found: Vec<Memory> = Vec::new();
        for some in candidates.chunks(READ_AT_A_TIME) {
            found.extend(self.matching(some, &search, filter)?);
            if found.len() >= MATCHES_MAX {
                break;
            }
        }
        found.truncate(MATCHES_MAX);
        let ranked = search.rank(found);
        let views: Vec<_> = ranked.iter().map(view::memory).collect();
        let (memories, next) = rest(views, skipped, limit);
        // What only memories have is not looked for elsewhere.
        let posts = match skipped == 0 && *filter == MemoryFilter::default() {
            true => self.posts_with(&search, limit)?,
            false => Vec::new(),
        };
        Ok(MemoriesPage { memories, next, posts })
    }

    /// Finds what agents left for each other by words, the newest first.
    fn posts_with(&mut self, search: &Search, limit: usize) -> Result<Vec<NewsItem>, Refusal> {
        let repo = self.caller.repo.clone();
        let mut before = Seq(u64::MAX);
        let mut found = Vec::new();
        for _ in 0..POSTS_MAX / READ_AT_A_TIME {
            let page = self.tx.posts_before(&repo, before, READ_AT_A_TIME)?;
            let Some((last, _)) = page.last() else { break };
            before = *last;
            let needs: Vec<Need> =
                page.into_iter().map(|(_, id)| Need::Entity(Key::Post(repo.clone(), id))).collect();
            let mut facts = Facts::at(self.facts.moment, self.facts.head);
            self.tx.load(&needs, &mut facts)?;
            let has_all =
                |post: &Post| search.finds([post.id.name(), post.text.as_str()].into_iter());
            let mut some: Vec<Post> = facts.state.posts.into_values().filter(has_all).collect();
            some.sort_by_key(|post| std::cmp::Reverse(post.seq));
            found.extend(some);
            if found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found.iter().map(|post| found_item(post, search)).collect())
    }

    /// Candidates are read into facts of their own, so that they do not pile up.
    fn matching(
        &mut self,
        ids: &[MemoryId],
        search: &Search,
        filter: &MemoryFilter,
    ) -> Result<Vec<Memory>, Refusal> {
        let repo = &self.caller.repo;
        let needs: Vec<Need> =
            ids.iter().map(|id| Need::Entity(Key::Memory(repo.clone(), *id))).collect();
        let mut facts = Facts::at(self.facts.moment, self.facts.head);
        self.tx.load(&needs, &mut facts)?;
        let now = self.facts.moment.now;
        let fits = |m: &Memory| !m.is_expired(now) && filter.fits(m) && search.matches(m);
        Ok(facts.state.memories.into_values().filter(|memory| fits(memory)).collect())
    }

    pub(crate) fn directive(&mut self, id: &str) -> Result<DirectiveAnswer, Refusal> {
        let repo = &self.caller.repo;
        let found = self.settled(|facts| find_directive(facts, repo, id).cloned())?;
        Ok(DirectiveAnswer { directive: view::directive(&found) })
    }

    /// Lists directives by number; those that count now, the most important first.
    pub(crate) fn directives(
        &mut self,
        wanted: &ListDirectives,
    ) -> Result<DirectivesPage, Refusal> {
        let limit = limit(wanted.limit)?;
        let filter = DirectiveFilter { trigger: wanted.trigger, active: wanted.active };
        let (directives, next) = if filter.active {
            let skipped = number_after(wanted.after.as_deref())?;
            let mut found = self.directives_after(&filter, None, usize::MAX)?;
            found.sort_by(|a, b| b.priority.cmp(&a.priority).then(a.id.cmp(&b.id)));
            rest(found.iter().map(view::directive).collect(), skipped, limit)
        } else {
            let after = id_after(wanted.after.as_deref(), DirectiveId::parse)?;
            let found = self.directives_after(&filter, after, limit + 1)?;
            let views: Vec<_> = found.iter().map(view::directive).collect();
            page(views, limit, |directive| directive.id.clone())
        };
        Ok(DirectivesPage { directives, next })
    }

    fn directives_after(
        &mut self,
        filter: &DirectiveFilter,
        after: Option<DirectiveId>,
        count: usize,
    ) -> Result<Vec<Directive>, Refusal> {
        let now = self.facts.moment.now;
        let gone = |d: &Directive| d.removed_at().is_some_and(|at| at <= now);
        let mut query = DirectiveQuery { repo: self.caller.repo.clone(), after, limit: PAGE_MAX };
        let mut found: Vec<Directive> = Vec::new();
        while found.len() < count {
            let stored = self.tx.directives(&query)?;
            let Some(last) = stored.last() else { break };
            query.after = Some(last.id);
            found.extend(stored.into_iter().filter(|d| !gone(d) && filter.fits(d, now)));
        }
        found.truncate(count);
        Ok(found)
    }
}
