//! Two agents under one id: how the place of a command tells them apart.
//!
//! Most agents have no terminal, and neither has a process that an agent starts. So only two known hosts that differ, or
//! two known terminals of one host that differ, are two places.

use crate::command::Command;
use crate::ids::AgentId;
use crate::via::Via;

/// Tells whether somebody else could act under this id by mistake. A person has many terminals, and an id that a client's
/// session gave is nobody else's.
pub fn may_be_shared(actor: &AgentId, via: &Via) -> bool {
    let of_session = via.client.as_deref().is_some_and(|client| {
        let rest = actor.as_str().strip_prefix(client);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    !of_session && !actor.is_person() && !actor.is_file()
}

/// Returns where the id acted last, if that was at another place than `here`. The places of its acts come newest first.
pub fn last_elsewhere<'a, T>(
    here: &Via,
    acts: &'a [T],
    place: impl Fn(&T) -> &Via,
) -> Option<&'a T> {
    let known = acts.iter().find(|act| is_elsewhere(here, place(act)).is_some())?;
    (is_elsewhere(here, place(known)) == Some(true)).then_some(known)
}

/// Returns where the id acted at another place than `here`, also if it has acted here since.
pub fn ever_elsewhere<'a, T>(
    here: &Via,
    acts: &'a [T],
    place: impl Fn(&T) -> &Via,
) -> Option<&'a T> {
    acts.iter().find(|act| is_elsewhere(here, place(act)) == Some(true))
}

/// None: too little is known to say.
fn is_elsewhere(here: &Via, there: &Via) -> Option<bool> {
    if here.host.as_ref()? != there.host.as_ref()? {
        return Some(true);
    }
    match (&here.terminal, &there.terminal) {
        (None, None) => Some(false),
        (here, there) => Some(here.as_ref()? != there.as_ref()?),
    }
}

/// Names a place in words.
pub fn place_words(via: &Via) -> String {
    let host = via.host.as_deref().map(|host| format!("host {host}"));
    let terminal = via.terminal.as_deref().map(|terminal| format!("terminal {terminal}"));
    [terminal, host].into_iter().flatten().collect::<Vec<_>>().join(" on ")
}

impl Command {
    /// Tells whether the command is one that a holder of work makes, so that two holders under one id would meet.
    pub fn is_of_holder(&self) -> bool {
        matches!(
            self,
            Command::Claim(_)
                | Command::Start { .. }
                | Command::Submit(_)
                | Command::Move { .. }
                | Command::Block { .. }
                | Command::Subtask { .. }
                | Command::Lease(_)
                | Command::Several { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, terminal: &str) -> Via {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Via { host: known(host), terminal: known(terminal), ..Via::default() }
    }

    fn last(here: &Via, acts: &[Via]) -> Option<Via> {
        last_elsewhere(here, acts, |via| via).cloned()
    }

    #[test]
    fn only_two_known_hosts_or_two_known_terminals_are_two_places() {
        let here = at("h1", "/dev/pts/1");
        for other in [at("h2", ""), at("h2", "/dev/pts/1"), at("h1", "/dev/pts/2")] {
            assert_eq!(last(&here, std::slice::from_ref(&other)), Some(other.clone()));
            assert_eq!(last(&other, std::slice::from_ref(&here)), Some(here.clone()));
        }
        for same in [at("h1", "/dev/pts/1"), at("h1", ""), at("", ""), at("", "/dev/pts/2")] {
            assert_eq!(last(&here, std::slice::from_ref(&same)), None, "{same:?}");
            assert_eq!(last(&same, std::slice::from_ref(&here)), None, "{same:?}");
        }
    }

    #[test]
    fn each_of_two_agents_is_told_once_whenever_they_take_turns() {
        let (one, two, process) = (at("h", "1"), at("h", "2"), at("h", ""));
        // The process of the second has no terminal, and hides nobody.
        let acts = [process.clone(), two.clone(), one.clone()];
        assert_eq!(last(&one, &acts), Some(two.clone()));
        assert_eq!(last(&two, &acts), None, "it was told before");
        assert_eq!(last(&process, &acts), None);
        assert_eq!(ever_elsewhere(&two, &acts, |via| via), Some(&one));
        assert_eq!(ever_elsewhere(&process, &acts, |via| via), None);
    }

    #[test]
    fn a_person_and_the_session_of_a_client_share_their_id_with_nobody() {
        let id = |text: &str| AgentId::parse(text).unwrap();
        let claude = Via { client: Some("claude-code".to_owned()), ..Via::default() };
        assert!(!may_be_shared(&id("human:ann"), &Via::default()));
        assert!(!may_be_shared(&id("claude-code:8a2c7e01"), &claude));
        assert!(may_be_shared(&id("ada"), &claude));
        assert!(may_be_shared(&id("claude-code-2"), &claude));
        assert!(may_be_shared(&id("ada"), &Via::default()));
    }

    #[test]
    fn a_place_is_named_as_far_as_it_is_known() {
        assert_eq!(place_words(&at("h1", "/dev/pts/1")), "terminal /dev/pts/1 on host h1");
        assert_eq!(place_words(&at("h1", "")), "host h1");
    }
}
