//! What files bring in, at random: an implementer gets nobody's work approved and nobody's claim (rule 1.8).

use crate::properties::cases;
use crate::verbs::task;
use crate::world::{ANN, CRITIC, IMPL, OTHER, PLANNER, World, id};
use comity_core::command::{ClaimWish, Command, ImportedTask, NewTask, TaskVerb};
use comity_core::status::Status;
use proptest::prelude::*;
use proptest::sample::select;

const FILE: &str = "file:collaboration/state/tasks.json";

const VERBS: [TaskVerb; 7] = [
    TaskVerb::Approve,
    TaskVerb::Merge,
    TaskVerb::Unblock,
    TaskVerb::Release,
    TaskVerb::Fail,
    TaskVerb::Requeue,
    TaskVerb::Abandon,
];

/// What an entry of a file leads to: a new task, one that was kept back, or an edit of one that is here.
fn command() -> impl Strategy<Value = Command> {
    let name = || select(&["a", "b", "c"][..]).prop_map(str::to_owned);
    let status = || select(&Status::ALL[..]);
    let who = || select(&[ANN, IMPL, OTHER, PLANNER, CRITIC, FILE][..]).prop_map(id);
    let imported = (name(), status(), proptest::option::of(who()), any::<(bool, bool)>()).prop_map(
        |(name, status, assignee, (with_state, settles))| {
            Command::ImportTask(Box::new(ImportedTask {
                task: NewTask { id: Some(name), assignee, ..task("old work") },
                status: Some(status),
                needs: Some("a key".to_owned()),
                source: "tasks.json".to_owned(),
                with_state,
                settles,
                ..ImportedTask::default()
            }))
        },
    );
    let step = |id: String, status| Command::Transition {
        id,
        status,
        reason: Some("edited".to_owned()),
        needs: Some("a key".to_owned()),
    };
    let edited =
        (name(), status(), proptest::option::of(who())).prop_map(move |(id, status, agent)| {
            let assign = agent.map(|agent| Command::Assign {
                id: id.clone(),
                agent: Some(agent),
                new: true,
            });
            let steps = assign.into_iter().chain([step(id.clone(), status)]).collect();
            Command::Several { ids: vec![id], steps }
        });
    let claimed = (name(), who(), any::<bool>()).prop_map(|(name, owner, start)| {
        let (id, owner) = (Some(name), Some(owner));
        Command::Claim(ClaimWish { id, owner, start, ..ClaimWish::default() })
    });
    let moved = (name(), select(&VERBS[..]))
        .prop_map(|(name, verb)| verb.on(name, Some("edited".to_owned())));
    prop_oneof![4 => imported, 3 => edited, 1 => claimed, 2 => moved]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(256), ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_an_implementer_imports_or_syncs_is_approved_or_claimed_for_another(
        steps in proptest::collection::vec((select(&[IMPL, FILE][..]), command(), 0..400i64), 1..40)
    ) {
        let mut w = World::new();
        for (who, command, wait) in steps {
            w.pass(wait);
            let _ = w.by(who).does(command);
            for task in w.state.tasks.values() {
                let past = matches!(task.status, Status::Approved | Status::Merging | Status::Done);
                prop_assert!(!past, "{who} made {} {}", task.id, task.status);
                let holder = task.claim.as_ref().map(|claim| claim.agent.as_str());
                prop_assert!(holder.is_none_or(|agent| [IMPL, FILE].contains(&agent)));
            }
        }
        let claims = w.log.iter().filter_map(|placed| match &placed.draft.event {
            comity_core::event::Event::TaskClaimed(claim) => Some((claim, &placed.draft.agent)),
            _ => None,
        });
        for (claim, by) in claims {
            prop_assert_eq!(&claim.assignee, by);
        }
    }
}
