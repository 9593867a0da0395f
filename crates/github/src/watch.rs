//! Keeping in step until somebody ends it: woken by the store, by the clock and by deliveries.

use crate::bus::{Bus, Github};
use crate::client::now;
use crate::hook::{self, Listener};
use crate::sync::{Reach, Turn, pass};
use comity_api::{GithubSync, SyncGithub};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::Millis;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// With deliveries, lost ones are looked for so often.
const WITH_HOOKS: Millis = Millis::from_secs(600);
/// What happens within this time is sent and read together.
const GATHERED: Duration = Duration::from_millis(500);
const WAKE: Duration = Duration::from_secs(1);

/// Tells what a pass did, or why it could not.
pub type Tell<'t> = &'t dyn Fn(Result<&GithubSync, &Refusal>);

/// Keeps GitHub and the store in step until `stop` is set. With an address, deliveries of GitHub are taken there.
pub fn watch(
    github: &Github,
    input: &SyncGithub,
    listen: Option<SocketAddr>,
    stop: &Arc<AtomicBool>,
    ready: &dyn Fn(Option<SocketAddr>),
    tell: Tell<'_>,
) -> Result<(), Refusal> {
    let turn = Turn::take(github)?;
    let settings = github.context.config.github()?;
    let poll = if listen.is_some() { settings.poll.max(WITH_HOOKS) } else { settings.poll };
    let address = match listen {
        Some(address) => {
            let listener = Arc::new(Listener::open(github, address)?);
            let address = listener.address()?;
            let named = std::thread::Builder::new().name("comity-hooks".to_owned());
            named
                .spawn(move || listener.run())
                .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
            Some(address)
        }
        None => None,
    };
    ready(address);
    let mut watch = github.service.watch()?;
    let mut bus = Bus::open(github, false)?;
    bus.hold(Some(turn));
    let mut next = 0;
    while !stop.load(Ordering::Relaxed) {
        bus.client.keep_turn()?;
        let hints = if listen.is_some() { hook::hints(github)? } else { Vec::new() };
        let head = github.service.log_head()?.seq;
        let reach = if now().ms() >= next {
            next = now().plus(poll).ms();
            Some(Reach::All)
        } else if !hints.is_empty() {
            Some(Reach::These(hints))
        } else if head > bus.progress().fed || bus.has_unsent() {
            Some(Reach::Outward)
        } else {
            None
        };
        if let Some(reach) = reach {
            let input = SyncGithub { full: input.full, ..input.clone() };
            match pass(&mut bus, &github.service, &input, reach) {
                Ok(report) => tell(Ok(&report)),
                Err(refusal) if refusal.code.exit_status() == 5 => tell(Err(&refusal)),
                Err(refusal) => return Err(refusal),
            }
        }
        if watch.wait(WAKE)? {
            std::thread::sleep(GATHERED);
        }
    }
    Ok(())
}
