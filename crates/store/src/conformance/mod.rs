//! What every store must do, as cases that run against the trait.
//!
//! A back end passes a [`Factory`] and runs [`CASES`]. Rows are made only by projecting events, as
//! in life. The last case drives a store and the model in memory through the same random history
//! and compares every answer.
#![expect(clippy::unwrap_used, reason = "a case that cannot go on has failed")]

mod differential;
mod facts;
mod lists;
mod log;
mod memories;
pub mod server;
mod transactions;
mod world;

use crate::{Clock, Store, StoreError};
use std::sync::Arc;
pub use world::{ManualClock, World, repo};

/// Opens a handle on one store; all handles of one opener see the same data.
pub type Opener = Box<dyn Fn() -> Box<dyn Store>>;
/// Makes a new, empty store that goes by the given clock.
pub type Factory<'a> = &'a dyn Fn(Arc<dyn Clock>) -> Opener;
pub type Outcome = Result<(), StoreError>;

/// One thing that every store must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// The rule, as a sentence.
    pub name: &'static str,
    /// Proves the rule, or panics.
    pub run: fn(&mut World) -> Outcome,
}

macro_rules! cases {
    ($($module:ident: $($name:ident),* $(,)?;)*) => {
        pub const CASES: &[Case] =
            &[$($(Case { name: stringify!($name), run: $module::$name },)*)*];
    };
}

cases! {
    log: events_come_back_byte_for_byte, the_head_moves_with_the_log,
        an_append_that_leaves_a_gap_is_refused, events_are_found_by_repo_task_name_and_time,
        events_are_paged_by_place;
    facts: an_entity_is_loaded_or_known_to_be_absent, what_is_known_is_not_overwritten,
        a_prefix_finds_at_most_five_tasks, a_number_finds_its_task, work_that_was_sent_back_is_found_for_its_assignee,
        candidates_come_by_priority_and_number_page_by_page,
        a_task_waits_until_its_last_dependency_is_done, leases_near_a_prefix_are_never_too_few,
        what_many_claims_ask_for_is_found_for_each_of_them,
        leases_of_an_owner_are_complete, dependants_children_and_closure_are_complete,
        saved_answers_are_remembered_for_seven_days, saved_answers_are_listed_page_by_page,
        a_saved_answer_that_is_written_later_keeps_its_age,
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
    differential: a_random_history_gives_the_answers_of_the_model;
}

pub fn run(case: &Case, factory: Factory<'_>) {
    let clock = ManualClock::new();
    let mut world = World::new(factory(clock.clone()), clock);
    let outcome = (case.run)(&mut world);
    assert!(outcome.is_ok(), "{}: {outcome:?}", case.name);
    let mut broken = world.store.integrity().unwrap();
    broken.extend(world.store.read().unwrap().mismatches().unwrap());
    assert!(broken.is_empty(), "{}: {broken:?}", case.name);
}

pub fn run_all(factory: Factory<'_>) {
    for case in CASES {
        run(case, factory);
    }
}
