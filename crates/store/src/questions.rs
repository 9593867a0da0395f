//! The questions that both databases answer alike: each by a function over a connection, with the questions of `ReadTx`
//! written down once.

/// Writes the methods of `ReadTx` that hand their arguments to a function with the field `$conn` before them.
macro_rules! questions {
    ($conn:ident) => {
        $crate::questions::questions! { $conn;
            tasks = query::tasks(query: &$crate::TaskQuery) -> Vec<comity_core::task::Task>;
            leases = query::leases(query: &$crate::LeaseQuery) -> Vec<comity_core::lease::Lease>;
            leases_below = query::leases_below(repo: &RepoName, directory: &str, limit: usize)
                -> Vec<comity_core::lease::Lease>;
            decisions = query::decisions(query: &$crate::DecisionQuery)
                -> Vec<comity_core::decision::Decision>;
            memories = memories::memories(query: &$crate::MemoryQuery)
                -> Vec<comity_core::memory::Memory>;
            memories_with = memories::memories_with(
                repo: &RepoName, terms: &[comity_core::search::Term], limit: usize)
                -> Vec<comity_core::ids::MemoryId>;
            posts_at = posts::at(
                repo: &RepoName, places: &[String], from: $crate::PostsFrom, limit: usize)
                -> Vec<(Seq, comity_core::post::PostId)>;
            posts_before = posts::before(repo: &RepoName, before: Seq, limit: usize)
                -> Vec<(Seq, comity_core::post::PostId)>;
            directives = memories::directives(query: &$crate::DirectiveQuery)
                -> Vec<comity_core::directive::Directive>;
            runs = runs::runs(query: &$crate::RunQuery) -> Vec<comity_core::run::Run>;
            budgets = runs::budgets(
                repo: &RepoName, after: Option<&comity_core::budget::Scope>, limit: usize)
                -> Vec<comity_core::budget::Budget>;
            held_by = query::held_by(agent: &AgentId, limit: usize)
                -> Vec<(RepoName, comity_core::ids::TaskId)>;
            events = query::events(query: &$crate::EventQuery) -> Vec<Stored>;
            kept_rows = query::kept_rows(after: Option<&(String, String)>, limit: usize)
                -> Vec<$crate::KeptRow>;
            status_counts = query::status_counts(repo: &RepoName)
                -> std::collections::BTreeMap<comity_core::status::Status, u64>;
            entities = query::entities(after: Option<&Key>, limit: usize)
                -> Vec<(Key, comity_core::facts::Entity)>;
            mismatches = integrity::mismatches() -> Vec<String>;
        }
    };
    ($conn:ident; $($name:ident = $room:ident::$by:ident($($said:ident: $kind:ty),*) -> $found:ty;)*) => {
        $(fn $name(&mut self, $($said: $kind),*) -> Result<$found, StoreError> {
            self.read($room::$by(&self.$conn, $($said),*))
        })*
    };
}

pub(crate) use questions;
