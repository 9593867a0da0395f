//! What must hold after every command, whatever it was.

use crate::world::World;
use comity_core::event::{Event, Placed};
use comity_core::facts::Facts;
use comity_core::lease::{Lease, LeaseMode};
use comity_core::pattern::{Pattern, overlap};
use comity_core::status::Status;
use std::collections::{BTreeMap, BTreeSet};

pub fn check(world: &World) {
    tasks_keep_their_invariants(world);
    live_leases_do_not_collide(world);
    claims_and_leases_know_each_other(world);
    fences_are_unique_and_those_of_the_log(world);
    runs_hold_what_is_theirs(world);
    the_log_has_no_gaps(world);
    the_log_gives_the_state(world);
}

fn tasks_keep_their_invariants(world: &World) {
    let mut numbers = BTreeSet::new();
    for task in world.state.tasks.values() {
        assert_eq!(task.broken_invariant(), None);
        assert!(numbers.insert(task.number), "{} shares its number", task.id);
        assert!(task.attempts <= world.policy.max_attempts, "{} has too many attempts", task.id);
        let questions = task.block.iter().flat_map(|block| &block.questions);
        for question in questions {
            assert!(task.decisions.contains(question), "{} knows its questions", task.id);
        }
        if task.status == Status::Queued {
            for id in &task.dependencies {
                let on = world.state.tasks.get(&(task.repo.clone(), id.clone()));
                let given_up = on.is_some_and(|on| on.status == Status::Abandoned);
                assert!(!given_up, "{} waits in the queue for {id}, which is abandoned", task.id);
            }
        }
        if task.status == Status::Done {
            for part in world.state.tasks.values().filter(|t| t.parent.as_ref() == Some(&task.id)) {
                assert!(part.status.is_finished(), "{} is done before its part", task.id);
            }
        }
    }
}

/// The facts with everything in it, to ask what is live.
fn everything(world: &World) -> Facts {
    let mut facts = world.facts();
    for lease in world.state.leases.values() {
        while let Err(comity_core::facts::Halt::Need(need)) = facts.is_live(lease) {
            world.load(&need, &mut facts);
        }
    }
    facts
}

fn live_leases_do_not_collide(world: &World) {
    let facts = everything(world);
    let live: Vec<(&Lease, Pattern)> = world
        .state
        .leases
        .values()
        .filter(|lease| facts.is_live(lease).unwrap())
        .map(|lease| (lease, Pattern::parse(&lease.path).unwrap()))
        .collect();
    for (place, (a, pattern_a)) in live.iter().enumerate() {
        for (b, pattern_b) in &live[place + 1..] {
            let shared = a.mode == LeaseMode::Shared && b.mode == LeaseMode::Shared;
            if a.repo == b.repo && a.owner != b.owner && !shared {
                let both = overlap(pattern_a, pattern_b);
                assert_eq!(both, None, "{} of {} and {} of {}", a.id, a.owner, b.id, b.owner);
            }
        }
    }
}

fn runs_hold_what_is_theirs(world: &World) {
    for task in world.state.tasks.values() {
        let Some(claim) = &task.claim else { continue };
        let of = world.state.runs.values().find(|run| run.identity == claim.agent);
        assert!(
            of.is_none_or(|run| run.state.is_live()),
            "{} is held by a run that ended",
            task.id
        );
    }
    for budget in world.state.budgets.values() {
        for (id, kept) in &budget.live {
            let run = &world.state.runs[&(budget.repo.clone(), *id)];
            assert!(run.state.is_live(), "{} keeps something for {id}", budget.scope);
            assert_eq!(run.reserved, *kept, "{} and {id} agree", budget.scope);
        }
    }
    for run in world.state.runs.values().filter(|run| run.state.is_live()) {
        for scope in comity_core::budget::Scope::of(run) {
            let budget = &world.state.budgets[&(run.repo.clone(), scope)];
            assert!(budget.live.contains_key(&run.id), "{} counts everywhere", run.id);
        }
    }
}

fn claims_and_leases_know_each_other(world: &World) {
    for lease in world.state.leases.values() {
        let Some(id) = &lease.claim_of else { continue };
        let task = &world.state.tasks[&(lease.repo.clone(), id.clone())];
        let claim = task.claim.as_ref().expect("a lease of a claim ends with it");
        assert!(claim.leases.contains(&lease.id), "{} lists {}", task.id, lease.id);
        assert_eq!(claim.agent, lease.owner);
    }
    for task in world.state.tasks.values() {
        let leases = task.claim.iter().flat_map(|claim| &claim.leases);
        for id in leases {
            let lease = &world.state.leases[&(task.repo.clone(), *id)];
            assert_eq!(lease.claim_of.as_ref(), Some(&task.id));
        }
    }
}

fn fences_are_unique_and_those_of_the_log(world: &World) {
    let mut seen = BTreeSet::new();
    for task in world.state.tasks.values() {
        if let Some(claim) = &task.claim {
            assert!(seen.insert(claim.fence), "{} shares its fence", task.id);
            let event = &world.log[usize::try_from(claim.fence.get()).unwrap() - 1].draft;
            assert!(matches!(event.event, Event::TaskClaimed(_)), "the fence is its event's seq");
            assert_eq!(event.task.as_ref(), Some(&task.id));
        }
    }
    let mut granted: BTreeMap<u64, &str> = BTreeMap::new();
    for placed in &world.log {
        let fence = match &placed.draft.event {
            Event::TaskClaimed(body) => body.fence,
            Event::FileLocked(body) if body.fence.get() == placed.seq.0 => body.fence,
            Event::FileLocked(body) => {
                let claimed = granted.get(&body.fence.get());
                assert_eq!(
                    claimed,
                    Some(&"task_claimed"),
                    "a lease has a fence of its own or of its claim"
                );
                continue;
            }
            _ => continue,
        };
        assert_eq!(fence.get(), placed.seq.0, "a fence is the seq of the event that granted it");
        granted.insert(fence.get(), placed.draft.event.name());
    }
}

fn the_log_has_no_gaps(world: &World) {
    let seqs: Vec<u64> = world.log.iter().map(|placed| placed.seq.0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let corrected = |placed: &Placed| matches!(placed.draft.event, Event::ClockCorrected(_));
    let in_order = |pair: &[Placed]| pair[0].ts <= pair[1].ts || corrected(&pair[1]);
    assert!(world.log.windows(2).all(in_order), "time goes forward");
}

fn the_log_gives_the_state(world: &World) {
    assert_eq!(world.replayed, world.state, "replaying the log from empty gives the same state");
}
