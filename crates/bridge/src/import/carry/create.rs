//! Makes the tasks that are not here yet, one command each.

use super::{AT_ONCE, Carrier, Fate, Named, by_id};
use comity_core::refusal::{Code, Refusal};
use comity_core::view::TaskView;
use comity_protocol::plan::{ImportedAs, LeftOut, Part, Rights};
use std::collections::BTreeSet;

/// How often what named something that was refused is tried again without it.
const ROUNDS_MAX: usize = 16;

impl Carrier<'_> {
    /// Makes what is wanted; tells whether anything was tried.
    pub(super) fn create(&mut self, here: &[TaskView]) -> Result<bool, Refusal> {
        let wanted = |place: &usize| {
            self.items.get(*place).is_some_and(|item| matches!(item.fate, Fate::Wanted))
        };
        let mut left: Vec<usize> = self.plan.creation_order().into_iter().filter(wanted).collect();
        let tried = !left.is_empty();
        let finished: BTreeSet<&str> = here
            .iter()
            .filter(|task| task.status.is_finished())
            .map(|task| task.id.as_str())
            .collect();
        let mut second = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            if left.is_empty() {
                break;
            }
            self.round(&left, &finished)?;
            left = self.again(left, &mut second)?;
        }
        for place in left {
            self.lose(place, "it names items that were not taken over".to_owned());
        }
        Ok(tried)
    }

    fn set_fate(&mut self, place: usize, fate: Fate) {
        if let Some(item) = self.items.get_mut(place) {
            item.fate = fate;
        }
    }

    fn lose(&mut self, place: usize, why: String) {
        self.leave_out(place, "the task", why);
        self.set_fate(place, Fate::Lost);
    }

    fn round(&mut self, left: &[usize], finished: &BTreeSet<&str>) -> Result<(), Refusal> {
        let mut sent: BTreeSet<usize> = BTreeSet::new();
        for some in left.chunks(AT_ONCE) {
            let (mut places, mut commands) = (Vec::new(), Vec::new());
            for place in some {
                let Some(planned) = self.planned(*place) else { continue };
                match self.way(*place, &sent, finished) {
                    Some(way) => {
                        commands.push(self.source.take_over(planned, &way));
                        places.push(*place);
                        sent.insert(*place);
                    }
                    None => self.set_fate(*place, Fate::Refused(None)),
                }
            }
            let answers = self.run(commands)?;
            for (place, answer) in places.into_iter().zip(answers) {
                let fate = match answer {
                    Ok(_) => Fate::Made,
                    Err(refusal) => Fate::Refused(Some(Box::new(refusal))),
                };
                self.set_fate(place, fate);
            }
        }
        Ok(())
    }

    /// How an item is taken over, as things are; none when it names something that was refused in this round.
    fn way(
        &self,
        place: usize,
        sent: &BTreeSet<usize>,
        finished: &BTreeSet<&str>,
    ) -> Option<ImportedAs> {
        let planned = self.planned(place)?;
        let mut way = ImportedAs { id: self.items.get(place)?.id.clone(), ..ImportedAs::default() };
        let reached = self.reached.get(place) == Some(&true);
        if !reached {
            way.later.extend([Part::Status, Part::Reason]);
        }
        let other = planned.new.assignee.as_ref().is_some_and(|agent| *agent != self.by.actor);
        if other && self.rights == Rights::Other {
            way.later.push(Part::Assignee);
        }
        let was_sent = |named: &Named<'_>| named.place.is_some_and(|place| sent.contains(&place));
        for item in &planned.depends_on {
            let Some(named) = self.named(item) else { continue };
            match named.fate {
                Fate::Made | Fate::Here => way.depends_on.push(named.id.to_owned()),
                Fate::Wanted if was_sent(&named) => way.depends_on.push(named.id.to_owned()),
                Fate::Refused(_) => return None,
                Fate::Wanted | Fate::Lost if way.later.contains(&Part::Dependencies) => {}
                Fate::Wanted | Fate::Lost => way.later.push(Part::Dependencies),
            }
        }
        let Some(named) = planned.parent.as_ref().and_then(|item| self.named(item)) else {
            return Some(way);
        };
        let open = !(reached && planned.target.is_finished());
        match named.fate {
            Fate::Refused(_) => return None,
            Fate::Lost => way.later.push(Part::Parent),
            // What is finished here takes no open parts any more.
            Fate::Here if open && finished.contains(named.id) => {
                way.later.push(Part::Parent);
            }
            Fate::Wanted if !was_sent(&named) => return None,
            Fate::Made | Fate::Here | Fate::Wanted => way.parent = Some(named.id.to_owned()),
        }
        Some(way)
    }

    /// Settles what was refused, and returns what is worth another round.
    fn again(
        &mut self,
        left: Vec<usize>,
        second: &mut BTreeSet<usize>,
    ) -> Result<Vec<usize>, Refusal> {
        let (mut again, mut taken) = (Vec::new(), Vec::new());
        for place in left {
            let Some(Fate::Refused(refusal)) = self.items.get(place).map(|item| item.fate.clone())
            else {
                continue;
            };
            match refusal {
                None => again.push(place),
                Some(refusal) if refusal.code == Code::DuplicateId => {
                    taken.push(place);
                    again.push(place);
                }
                Some(refusal) if refusal.code == Code::NotFound && self.names_refused(place) => {
                    again.push(place);
                }
                Some(refusal) => self.lose(place, refusal.message),
            }
        }
        if !taken.is_empty() {
            let here = self.tasks()?;
            for place in taken {
                if !self.is_free_again(place, &here, second) {
                    again.retain(|other| *other != place);
                }
            }
        }
        for place in &again {
            self.set_fate(*place, Fate::Wanted);
        }
        Ok(again)
    }

    fn names_refused(&self, place: usize) -> bool {
        let Some(planned) = self.planned(place) else { return false };
        let refused = |item: &String| {
            self.named(item)
                .is_some_and(|named| matches!(named.fate, Fate::Refused(_) | Fate::Lost))
        };
        planned.depends_on.iter().chain(&planned.parent).any(refused)
    }

    /// Looks at an id that was taken when its task was to be made; tells whether to try it again, under another one.
    fn is_free_again(
        &mut self,
        place: usize,
        here: &[TaskView],
        second: &mut BTreeSet<usize>,
    ) -> bool {
        let (Some(planned), Some(item)) = (self.plan.tasks.get(place), self.items.get_mut(place))
        else {
            return false;
        };
        // Another import may have made it meanwhile, under this id or another one.
        let same = |task: &&TaskView| self.source.item_of(task) == Some(planned.item.as_str());
        if let Some(task) = here.iter().find(same) {
            (item.id, item.fate) = (task.id.clone(), Fate::Here);
            return false;
        }
        let by_id = by_id(here);
        let task = by_id.get(item.id.as_str());
        let whose = match task.map(|task| self.source.item_of(task)) {
            Some(Some(other)) => format!("the item {other}"),
            Some(None) => "another task".to_owned(),
            // No task has it: its number was given to another one.
            None => "another task by its number".to_owned(),
        };
        let left = &mut self.left_out;
        let taken = |id: &str| by_id.contains_key(id);
        let other = second
            .insert(place)
            .then(|| self.plan.second_id(&planned.item, &item.id, &whose, taken, left))
            .flatten();
        if let Some(other) = other {
            item.id = other;
            return true;
        }
        let why = format!("{whose} has the id {}", item.id);
        left.push(LeftOut::new(&planned.item, "the task", why));
        item.fate = Fate::Lost;
        false
    }
}
