//! Finding memories by words: what matches, and what comes first.

use crate::memory::Memory;
use crate::search_terms::{split, stem};
use std::collections::BTreeMap;

/// Words of a query that stores look up; the others are checked on what they find.
pub const LOOKED_UP_MAX: usize = 64;
/// How soon more of the same word counts for less, and how much a long text counts for less.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// What a memory must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// A word of this stem.
    Stem(String),
    /// A word that begins so.
    Prefix(String),
}

/// Tells whether texts have every word of a query, in any form or with more letters at its end.
pub fn has_words<'t>(query: &str, texts: impl Iterator<Item = &'t str>) -> bool {
    let words: Vec<String> = texts.flat_map(split).collect();
    split(query).iter().all(|wanted| {
        let stem_of_wanted = stem(wanted);
        words.iter().any(|word| word.starts_with(wanted) || stem(word) == stem_of_wanted)
    })
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    terms: Vec<Term>,
}

impl Search {
    /// Reads a query: words in any order, the last one open at its end when a `*` follows. Whatever is no
    /// word is passed over.
    pub fn parse(query: &str) -> Search {
        let mut words = split(query);
        let mut terms: Vec<Term> = Vec::new();
        let open = query.trim_end().strip_suffix('*').is_some_and(ends_in_word);
        let prefix = words.pop_if(|_| open);
        for word in words {
            terms.push(Term::Stem(stem(&word)));
        }
        terms.extend(prefix.map(Term::Prefix));
        terms.sort();
        terms.dedup();
        Search { terms }
    }

    /// Returns what a memory must have for certain: enough to find candidates by.
    pub fn looked_up(&self) -> &[Term] {
        self.terms.get(..LOOKED_UP_MAX).unwrap_or(&self.terms)
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn matches(&self, memory: &Memory) -> bool {
        self.finds(memory.texts())
    }

    /// Tells whether some texts have everything that is looked for.
    pub fn finds<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let counted = Counted::of(texts);
        !self.is_empty() && self.terms.iter().all(|term| counted.count(term) > 0)
    }

    /// Returns a text from the first line on that has something of what is looked for.
    pub fn from_match<'t>(&self, text: &'t str) -> &'t str {
        let has_some = |line: &str| {
            let counted = Counted::of(std::iter::once(line));
            self.terms.iter().any(|term| counted.count(term) > 0)
        };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if has_some(line) {
                return text.get(at..).unwrap_or(text);
            }
            at += line.len();
        }
        text
    }

    /// Orders memories, the best first, then the newest.
    pub fn rank(&self, memories: Vec<Memory>) -> Vec<Memory> {
        let scores = self.scores(memories.iter().map(Memory::texts));
        let mut scored: Vec<(f64, Memory)> = scores.into_iter().zip(memories).collect();
        scored.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(other.id.cmp(&one.id)));
        scored.into_iter().map(|(_, memory)| memory).collect()
    }

    /// Returns how well each of some things fits, by the texts that it is found by.
    pub fn scores<'t, T: Iterator<Item = &'t str>>(
        &self,
        things: impl Iterator<Item = T>,
    ) -> Vec<f64> {
        let counted: Vec<Counted> = things.map(Counted::of).collect();
        let total: usize = counted.iter().map(|one| one.length).sum();
        let average = (to_f64(total) / to_f64(counted.len().max(1))).max(1.0);
        counted.iter().map(|one| self.score(one, average)).collect()
    }

    /// BM25 without the rarity of words: every candidate has all of them.
    fn score(&self, one: &Counted, average: f64) -> f64 {
        let long = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * to_f64(one.length) / average;
        let each = self.terms.iter().map(|term| {
            let count = to_f64(one.count(term));
            count * (SATURATION + 1.0) / (count + SATURATION * long)
        });
        each.sum()
    }
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(char::is_alphanumeric)
}

/// Counts of words are small: nothing is lost.
fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The words of a memory, counted.
struct Counted {
    words: BTreeMap<String, usize>,
    stems: BTreeMap<String, usize>,
    length: usize,
}

impl Counted {
    fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Counted {
        let mut counted = Counted { words: BTreeMap::new(), stems: BTreeMap::new(), length: 0 };
        for word in texts.flat_map(split) {
            *counted.stems.entry(stem(&word)).or_default() += 1;
            *counted.words.entry(word).or_default() += 1;
            counted.length += 1;
        }
        counted
    }

    fn count(&self, term: &Term) -> usize {
        let beginning = |map: &BTreeMap<String, usize>, text: &String| -> usize {
            let from = map.range(text.clone()..);
            from.take_while(|(word, _)| word.starts_with(text)).map(|(_, count)| count).sum()
        };
        match term {
            Term::Stem(stem) => self.stems.get(stem).copied().unwrap_or(0),
            Term::Prefix(text) => beginning(&self.words, text).max(beginning(&self.stems, text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, MemoryId, RepoName, Seq};
    use crate::memory::{MemoryType, Source};
    use crate::time::Timestamp;

    fn memory(number: u64, text: &str, tags: &[&str]) -> Memory {
        Memory {
            repo: RepoName::parse("acme/app").unwrap(),
            id: MemoryId(number),
            kind: MemoryType::Fact,
            scope: "global".to_owned(),
            text: text.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            source: Source {
                agent: AgentId::parse("ann").unwrap(),
                task: None,
                event: Seq(number),
            },
            created_at: Timestamp::default(),
            expires_at: None,
            superseded_by: None,
            origin: None,
        }
    }

    fn found(query: &str, text: &str) -> bool {
        Search::parse(query).matches(&memory(1, text, &["ci"]))
    }

    #[test]
    fn a_memory_matches_when_every_word_occurs_by_stem() {
        let text = "The migrations are run by the deployer";
        for query in ["migrate", "RUNNING migration", "deployers, migrated!", "ci migrations"] {
            assert!(found(query, text), "{query}");
        }
        for query in ["migrate database", "depl", "migr"] {
            assert!(!found(query, text), "{query}");
        }
    }

    #[test]
    fn texts_have_words_by_their_beginning_or_their_stem() {
        let has = |query: &str| has_words(query, ["T12", "Parse dates", "rust ci"].into_iter());
        for query in ["date", "PARSING", "par dat", "t12", "ci parse", ""] {
            assert!(has(query), "{query}");
        }
        for query in ["ates", "parse time", "t2"] {
            assert!(!has(query), "{query}");
        }
    }

    #[test]
    fn the_last_word_is_open_when_a_star_follows() {
        let text = "All configuration is in one file";
        for query in ["conf*", "configuratio*", "file configuration*", "configur* "] {
            assert!(found(query, text), "{query}");
        }
        for query in ["conf* file", "conf *", "zonf*", "*"] {
            assert!(!found(query, text), "{query}");
        }
    }

    #[test]
    fn hostile_queries_find_nothing_and_harm_nothing() {
        let long = "a OR b NEAR(c) ".repeat(700);
        for query in ["", "\"", "'; DROP TABLE memories; --", "\0", "* * *", "NOT AND \"x", &long] {
            assert!(!found(query, "one fine day"), "{query:?}");
        }
        assert!(Search::parse("\0\"()*^").is_empty());
        assert!(Search::parse(&"w1 w2 ".repeat(9_000)).looked_up().len() <= LOOKED_UP_MAX);
    }

    #[test]
    fn the_best_comes_first_and_of_equals_the_newest() {
        let all = vec![
            memory(1, "retry", &[]),
            memory(2, "retry and then retry again, always retry", &[]),
            memory(3, &format!("retry {}", "much else ".repeat(40)), &[]),
            memory(4, "retry", &[]),
        ];
        let ids: Vec<u64> =
            Search::parse("retries").rank(all).iter().map(|memory| memory.id.0).collect();
        assert_eq!(ids, [2, 4, 1, 3]);
    }
}
