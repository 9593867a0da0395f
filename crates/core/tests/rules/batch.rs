//! A batch decides several commands on the same facts; that must not differ from one at a time.

use crate::properties::{any_commands, cases};
use crate::verbs::{task, texts};
use crate::world::{ANN, IMPL, World};
use comity_core::command::{ClaimWish, Command, NewTask, Request, TaskVerb};
use comity_core::decide::{check_input, decide, foreseen, needs, sweep};
use comity_core::facts::{CANDIDATES_FIRST, Facts, Need};
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::time::Millis;
use proptest::prelude::*;

/// What a command led to, without what may differ: how many tasks wait for dependencies is counted once
/// in a batch.
fn comparable(verdict: Result<Vec<String>, Refusal>) -> Result<Vec<String>, String> {
    verdict.map_err(|refusal| {
        if refusal.code == Code::NothingReady {
            return refusal.code.to_string();
        }
        format!("{refusal} {:?}", refusal.details)
    })
}

/// Runs a command on facts that earlier ones have left behind.
fn run_on(world: &World, facts: &mut Facts, request: &Request) -> Result<Vec<String>, Refusal> {
    check_input(request)?;
    let request = &world.with_eyes(request, facts);
    let policy = world.policy.clone();
    let outcome = world.settle(facts, |facts| decide(facts, request, &policy))?;
    let mut lines = Vec::new();
    for draft in outcome.events {
        lines.push(format!("{:?}", facts.apply(draft)));
    }
    if request.command != Command::Sweep {
        facts.touch(&request.actor, request.fence, Millis::default());
    }
    Ok(lines)
}

fn accepted_on(world: &World, facts: &mut Facts, who: &str, command: Command) -> Vec<String> {
    let request = world.request(who, None, command);
    run_on(world, facts, &request).unwrap()
}

#[test]
fn a_dependant_made_in_the_batch_is_found_although_dependants_were_loaded_before() {
    let mut world = World::new();
    world.have(task("first"));
    let mut facts = world.facts();
    let abandon = || TaskVerb::Abandon.on("T1", None);
    accepted_on(&world, &mut facts, ANN, abandon());
    let reopen = TaskVerb::Reopen.on("T1", Some("wanted".into()));
    accepted_on(&world, &mut facts, ANN, reopen);
    // As an engine would that writes rows in between.
    facts.take_dirty();
    let new = NewTask { depends_on: texts(&["T1"]), ..task("second") };
    accepted_on(&world, &mut facts, ANN, Command::CreateTask(Box::new(new)));
    facts.take_dirty();
    let events = accepted_on(&world, &mut facts, ANN, abandon());
    assert_eq!(events.len(), 2, "T1 is abandoned and T2 blocked: {events:?}");
}

#[test]
fn a_task_that_the_facts_happen_to_know_does_not_overtake_candidates_not_yet_loaded() {
    let mut world = World::new();
    for n in 1..=70 {
        let blockers = if n <= 64 { texts(&["vendor"]) } else { Vec::new() };
        world.have(NewTask { blockers, ..task(&format!("t{n}")) });
    }
    let mut facts = world.facts();
    let note = |id: &str| Command::Note {
        kind: "progress".into(),
        text: "seen".into(),
        task: Some(id.into()),
    };
    accepted_on(&world, &mut facts, ANN, note("T70"));
    let events = accepted_on(&world, &mut facts, IMPL, Command::Claim(ClaimWish::default()));
    assert!(events[0].contains("TaskId(\"T65\")"), "{events:?}");
}

#[test]
fn a_task_set_free_in_the_batch_is_a_candidate_although_candidates_were_loaded_before() {
    let mut world = World::new();
    world.have_one(Status::Merging);
    world.have(NewTask { depends_on: texts(&["T1"]), ..task("second") });
    let mut facts = world.facts();
    let best = || Command::Claim(ClaimWish::default());
    let request = world.request(IMPL, None, best());
    assert_eq!(run_on(&world, &mut facts, &request).unwrap_err().code, Code::NothingReady);
    let done = Command::Done { id: "T1".into(), merged: None, unmerged: false, reason: None };
    accepted_on(&world, &mut facts, ANN, done);
    let events = accepted_on(&world, &mut facts, IMPL, best());
    assert!(events[0].contains("TaskId(\"T2\")"), "{events:?}");
}

#[test]
fn a_batch_of_claims_is_decided_with_what_was_foreseen_for_all_of_them() {
    let mut world = World::new();
    let tasks = CANDIDATES_FIRST + 3;
    for number in 0..tasks {
        world.have(NewTask { files: vec![format!("part-{number}/")], ..task("part") });
    }
    let wish = || Command::Claim(ClaimWish::default());
    let requests: Vec<Request> =
        (0..tasks).map(|number| world.request(&format!("agent-{number}"), None, wish())).collect();
    let mut facts = world.facts();
    facts.put_due(Vec::new());
    requests.iter().flat_map(needs).for_each(|need| world.load(&need, &mut facts));
    let more = foreseen(&facts, &requests);
    let is_near = |need: &&Need| matches!(need, Need::LeasesNear(..));
    assert_eq!(more.iter().filter(is_near).count(), CANDIDATES_FIRST);
    assert!(more.iter().any(|need| matches!(need, Need::Candidates(_, Some(_)))), "{more:?}");
    more.iter().for_each(|need| world.load(need, &mut facts));
    let rest = foreseen(&facts, &requests);
    assert_eq!((rest.len(), rest.iter().filter(is_near).count()), (3, 3));
    rest.iter().for_each(|need| world.load(need, &mut facts));
    assert!(foreseen(&facts, &requests).is_empty());
    for request in &requests {
        let outcome = decide(&facts, request, &world.policy).unwrap();
        outcome.events.into_iter().for_each(|draft| drop(facts.apply(draft)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), ..ProptestConfig::default() })]

    #[test]
    fn a_batch_gives_the_same_events_and_refusals_as_one_command_at_a_time(
        before in any_commands(25), batch in any_commands(12), prefetch: bool,
    ) {
        let mut world = World::new();
        for step in &before {
            world.pass(step.wait);
            let request = step.request(&world);
            let _ = world.run(&request);
        }
        // Nothing may be due when the batch starts, so that both ways see the same expiry.
        world.sweep();
        let requests: Vec<Request> = {
            let mut planned = world.clone();
            batch.iter().map(|step| {
                let request = step.request(&planned);
                let _ = planned.run(&request);
                request
            }).collect()
        };

        let mut alone = world.clone();
        let one_by_one: Vec<_> = requests.iter().map(|request| {
            let verdict = alone.run(request);
            comparable(verdict.map(|done| {
                assert!(done.expired.is_empty());
                done.events.iter().map(|placed| format!("{placed:?}")).collect()
            }))
        }).collect();

        let mut facts = world.facts();
        facts.put_due(world.due());
        let policy = world.policy.clone();
        let swept = world.settle(&mut facts, |facts| sweep(facts, &policy)).unwrap();
        prop_assert!(swept.events.is_empty());
        if prefetch {
            for need in requests.iter().flat_map(needs) {
                world.load(&need, &mut facts);
            }
            for _ in 0..2 {
                for need in foreseen(&facts, &requests) {
                    world.load(&need, &mut facts);
                }
            }
        }
        let together: Vec<_> = requests
            .iter()
            .map(|request| comparable(run_on(&world, &mut facts, request)))
            .collect();
        prop_assert_eq!(together, one_by_one);
    }
}
