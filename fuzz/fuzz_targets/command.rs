//! Commands as JSON: reading and checking them never crashes.
#![no_main]
use comity_core::command::{Command, Request};
use comity_core::decide::check_input;
use comity_core::ids::{AgentId, RepoName};
use comity_core::observed::Observed;
use comity_core::via::Via;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(command) = serde_json::from_slice::<Command>(data) else { return };
    let (Ok(actor), Ok(repo)) = (AgentId::parse("agent-1"), RepoName::parse("a/b")) else { return };
    let (via, workspace, observed) = (Via::default(), None, Observed::default());
    let request = Request { actor, repo, fence: None, key: None, via, workspace, command, observed };
    let _ = check_input(&request);
});
