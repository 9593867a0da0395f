//! What every store must do, as cases that run against the trait.
//!
//! Each store passes a [`Factory`] and runs [`CASES`]. Rows are made only by projecting events, as
//! in life. The last case drives a store and the model in memory through the same random history
//! and compares every answer.

mod differential;
mod facts;
mod lists;
mod log;
mod memories;
mod posts;
mod runs;
mod transactions;
mod world;

use comity_store::memory::MemoryStore;
use comity_store::postgres::{OpenOptions as PgOptions, PgStore};
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::test_server::empty_store;
use comity_store::{Clock, ManualClock, Store, StoreError};
use std::sync::Arc;
use world::World;
pub use world::repo;

/// Opens a handle on one store; all handles of one opener see the same data.
type Opener = Box<dyn Fn() -> Box<dyn Store>>;
/// Makes a new, empty store that goes by the given clock.
type Factory<'a> = &'a dyn Fn(Arc<dyn Clock>) -> Opener;
type Outcome = Result<(), StoreError>;

/// One thing that every store must do.
#[derive(Clone, Copy)]
struct Case {
    /// The rule, as a sentence.
    name: &'static str,
    /// Proves the rule, or panics.
    run: fn(&mut World) -> Outcome,
}

macro_rules! cases {
    ($($module:ident: $($name:ident),* $(,)?;)*) => {
        const CASES: &[Case] =
            &[$($(Case { name: stringify!($name), run: $module::$name },)*)*];
    };
}

cases! {
    log: events_come_back_byte_for_byte, the_head_moves_with_the_log,
        an_append_that_leaves_a_gap_is_refused, events_are_found_by_repo_task_name_and_time,
        events_come_newest_first_from_before_a_place, events_are_paged_by_place;
    facts: an_entity_is_loaded_or_known_to_be_absent, a_repository_keeps_what_was_set_for_it, what_is_known_is_not_overwritten,
        a_prefix_finds_at_most_five_tasks, a_number_finds_its_task, work_that_was_sent_back_is_found_for_its_assignee,
        candidates_come_by_priority_and_number_page_by_page,
        a_task_waits_until_its_last_dependency_is_done, leases_near_a_prefix_are_never_too_few,
        ended_leases_near_a_path_are_found_by_when_they_ended,
        what_many_claims_ask_for_is_found_for_each_of_them,
        leases_of_an_owner_are_complete, dependants_children_and_closure_are_complete,
        saved_answers_are_remembered_for_seven_days, saved_answers_are_listed_page_by_page,
        a_saved_answer_that_is_written_later_keeps_its_age,
        what_doors_keep_is_listed_in_order_and_removed,
        presence_only_moves_forward;
    lists: tasks_are_filtered_and_paged, leases_are_filtered_and_paged,
        decisions_are_filtered_and_paged, agents_come_with_their_signs_of_life,
        held_tasks_are_found_in_every_repository, due_comes_earliest_first_and_can_be_moved,
        entities_are_complete_and_in_the_order_of_their_keys;
    transactions: an_uncommitted_transaction_leaves_no_trace,
        a_closed_store_refuses_writers_and_no_reader,
        a_reader_keeps_its_snapshot_while_a_writer_commits,
        a_reader_of_its_own_sees_the_latest_commit_in_its_next_read,
        readers_on_many_threads_read_while_a_writer_writes,
        what_is_kept_after_a_commit_never_hides_what_another_handle_committed,
        a_row_that_ended_is_gone,
        projections_can_be_cleared_and_written_anew, time_is_never_before_the_last_event,
        a_host_that_slept_is_noticed_once, a_watch_wakes_when_another_handle_commits,
        a_watch_notices_what_was_committed_between_two_waits,
        many_commits_wake_a_watch_once, a_watch_is_stopped_from_another_thread;
    memories: memories_are_filtered_and_paged, memories_are_found_by_their_words_and_stems,
        words_follow_their_memory, candidates_hold_every_match,
        directives_are_paged_and_follow_their_events, memories_and_directives_fall_due;
    posts: posts_and_memories_are_found_at_their_places, posts_are_listed_page_by_page,
        places_follow_a_new_version, leases_below_a_directory_are_bounded;
    runs: runs_are_filtered_and_paged, runs_fall_due,
        budgets_follow_their_events_and_come_in_the_order_of_their_scopes;
    differential: a_random_history_gives_the_answers_of_the_model;
}

fn run(case: &Case, factory: Factory<'_>) {
    println!("{}", case.name);
    let clock = ManualClock::new();
    let mut world = World::new(factory(clock.clone()), clock);
    let outcome = (case.run)(&mut world);
    assert!(outcome.is_ok(), "{}: {outcome:?}", case.name);
    let mut broken = world.store.integrity().unwrap();
    broken.extend(world.store.read().unwrap().mismatches().unwrap());
    assert!(broken.is_empty(), "{}: {broken:?}", case.name);
}

fn memory(clock: Arc<dyn Clock>) -> Opener {
    let store = MemoryStore::new(clock);
    Box::new(move || Box::new(store.clone()) as Box<dyn Store>)
}

fn sqlite(clock: Arc<dyn Clock>) -> Opener {
    let dir = tempfile::tempdir().unwrap();
    Box::new(move || {
        let options = OpenOptions { clock: clock.clone(), ..OpenOptions::default() };
        Box::new(SqliteStore::open(&dir.path().join("store.db"), options).unwrap())
    })
}

fn postgres(clock: Arc<dyn Clock>) -> Opener {
    let url = empty_store();
    Box::new(move || {
        let options = PgOptions { clock: Some(clock.clone()), ..PgOptions::default() };
        Box::new(PgStore::open(&url, options, &|_| None).unwrap())
    })
}

#[test]
fn the_model_in_memory_conforms() {
    for case in CASES {
        run(case, &memory);
    }
}

#[test]
fn sqlite_conforms() {
    for case in CASES {
        run(case, &sqlite);
    }
}

#[test]
fn postgresql_conforms() {
    for case in CASES {
        run(case, &postgres);
    }
}
