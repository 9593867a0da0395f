//! Standing instructions: given, switched, followed, taken back.

use super::{Answer, Rule, not_found};
use crate::command::NewDirective;
use crate::directive::Directive;
use crate::event::{
    DirectiveCreated, DirectiveDeleted, DirectiveToggled, DirectiveTriggered, Draft, Event,
};
use crate::facts::{Facts, Ruling};
use crate::hint::{op, say};
use crate::ids::{DirectiveId, RepoName, shorten};
use crate::refusal::{Code, Refusal};
use crate::role::Verb;

pub fn find_directive<'a>(facts: &'a Facts, repo: &RepoName, text: &str) -> Ruling<&'a Directive> {
    let id = DirectiveId::parse(text).ok_or_else(|| {
        Refusal::input(format!("directive id {:?} is not valid", shorten(text)))
            .hint(say("a directive id looks like I3; list them with ").quote(op("directive.list")))
    })?;
    // One that is to be removed is not there any more, removed or not.
    let gone =
        |directive: &&Directive| directive.removed_at().is_some_and(|at| at <= facts.moment.now);
    let found = facts.directive(repo, id)?.filter(|directive| !gone(directive));
    found.ok_or_else(|| not_found("directive", text).into())
}

impl<'a> Rule<'a> {
    fn directive(&self, text: &str) -> Ruling<&'a Directive> {
        find_directive(self.facts, &self.request.repo, text)
    }

    pub(super) fn direct(&mut self, new: &NewDirective) -> Ruling<Answer> {
        let expires_at = new.end.seen_from(self.now());
        if expires_at.is_some_and(|at| at <= self.now()) {
            return Err(Refusal::input("the directive would end before it begins")
                .hint(say("give a later end, or leave ").mention("duration").say(" out"))
                .into());
        }
        self.require(Verb::Direct)?;
        let id = DirectiveId(self.facts.counters(&self.request.repo)?.directives + 1);
        let created = DirectiveCreated {
            directive: id,
            text: new.text.trim().to_owned(),
            trigger: new.trigger,
            priority: new.priority,
            description: new.description.clone(),
            expires_at,
        };
        self.push(None, Event::DirectiveCreated(Box::new(created)));
        Ok(Answer::Directive(id))
    }

    pub(super) fn toggle(&mut self, id: &str, enabled: Option<bool>) -> Ruling<Answer> {
        let directive = self.directive(id)?;
        self.require(Verb::Direct)?;
        let enabled = enabled.unwrap_or(!directive.enabled);
        if enabled != directive.enabled {
            let body = DirectiveToggled { directive: directive.id, enabled };
            self.push(None, Event::DirectiveToggled(body));
        }
        Ok(Answer::Directive(directive.id))
    }

    pub(super) fn trigger(&mut self, id: &str) -> Ruling<Answer> {
        let directive = self.directive(id)?;
        self.require(Verb::Trigger)?;
        if !directive.enabled {
            let text = format!("{} is switched off", directive.id);
            return Err(Refusal::new(Code::NotReady, text)
                .hint(say("switch it on with ").quote(op("directive.toggle").id(&directive.id)))
                .into());
        }
        if let Some(at) = directive.expires_at.filter(|at| *at <= self.now()) {
            let text = format!("{} ended at {at}", directive.id);
            return Err(Refusal::new(Code::NotReady, text)
                .hint(say("create it again with ").quote(op("directive.create")))
                .into());
        }
        let body = DirectiveTriggered { directive: directive.id, trigger: directive.trigger };
        self.push(None, Event::DirectiveTriggered(body));
        Ok(Answer::Directive(directive.id))
    }

    pub(super) fn take_back(&mut self, id: &str) -> Ruling<Answer> {
        let directive = self.directive(id)?;
        self.require(Verb::Direct)?;
        let body = DirectiveDeleted { directive: directive.id, reason: None };
        self.push(None, Event::DirectiveDeleted(body));
        Ok(Answer::Deleted(Box::new(directive.clone())))
    }
}

/// Removes a directive that expired a while ago.
pub(super) fn expired(directive: &Directive) -> Draft {
    let reason = directive.expires_at.map(|at| format!("expired at {at}"));
    let gone = Event::DirectiveDeleted(DirectiveDeleted { directive: directive.id, reason });
    Draft::by_watchdog(directive.repo.clone(), None, gone)
}
