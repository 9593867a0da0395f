//! A piece of work from plan to done.

use crate::support::{World, claim, claim_best, start, submit};
use comity_core::command::{Command, TaskVerb};
use comity_core::refusal::Code;
use comity_core::role::Role;

#[test]
fn a_task_goes_from_plan_to_done_with_everything_on_record() {
    for mut world in World::all() {
        world.register("critic-1", Role::Critic);
        world.register("integrator-1", Role::Integrator);
        let first = world.create("Parse the config", |new| {
            new.files = vec!["src/config/**".to_owned()];
            new.gates = vec!["tests".to_owned()];
            new.dod = vec!["docs updated".to_owned()];
        });
        let second = world.create("Use the config", |new| new.depends_on = vec![first.clone()]);
        let claimed = world.run("agent-1", claim_best());
        assert_eq!(claimed["task"]["id"], first.as_str());
        assert_eq!(claimed["branch"], "feat/T1-parse-the-config");
        assert_eq!(claimed["mission"]["task_id"], "T1");
        assert_eq!(claimed["leases"][0]["path"], "src/config/**");
        assert_eq!(claimed["leases"][0]["fence"], claimed["fence"]);
        world.refused("agent-2", claim_best(), Code::NothingReady);
        world.run("agent-1", start(&first));
        world.run(
            "agent-1",
            Command::GateRecord {
                id: first.clone(),
                gate: "tests".to_owned(),
                pass: true,
                report: None,
                commit: Some("abcdef1".to_owned()),
                new: true,
            },
        );
        world.run("agent-1", submit(&first, "abcdef1"));
        let approve = TaskVerb::Approve.on(first.clone(), None);
        world.refused("agent-1", approve.clone(), Code::RoleForbidden);
        let refusal = world.refused("critic-1", approve.clone(), Code::GateUnmet);
        assert_eq!(refusal.details["missing"].as_array().unwrap().len(), 1);
        world.run(
            "critic-1",
            Command::Check { id: first.clone(), item: "1".to_owned(), waive: false, reason: None },
        );
        world.run("critic-1", approve);
        world.run("integrator-1", TaskVerb::Merge.on(first.clone(), None));
        world.run(
            "integrator-1",
            Command::Done {
                id: first.clone(),
                merged: Some("fedcba9".to_owned()),
                unmerged: false,
                reason: None,
            },
        );
        assert_eq!(world.status(&first), "done");
        let next = world.run("agent-2", claim(&second));
        assert_eq!(next["task"]["status"], "claimed");
        world.assert_log_is_sound();
        let rebuilt = world.engine.rebuild().unwrap();
        assert_eq!(rebuilt.rebuilt.tasks, 2);
        world.assert_log_is_sound();
    }
}

#[test]
fn a_silent_holder_loses_its_claim_and_its_fence() {
    for mut world in World::all() {
        let id = world.create("Work", |new| new.files = vec!["a".to_owned()]);
        let claimed = world.run("agent-1", claim_best());
        let fence = claimed["fence"].as_u64().unwrap();
        world.sleep(899);
        assert_eq!(world.status(&id), "claimed");
        world.sleep(2);
        assert_eq!(world.status(&id), "queued");
        let again = world.run("agent-2", claim_best());
        assert_eq!(again["task"]["attempts"], 1);
        let refusal = world.with_fence("agent-1", fence, start(&id)).unwrap_err();
        assert_eq!(refusal.code, Code::StaleFence);
        world.assert_log_is_sound();
    }
}
