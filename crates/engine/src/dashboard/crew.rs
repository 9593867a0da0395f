//! Everybody who works here: what they do now, and what they did lately.

use super::scene::covers;
use super::{DAY, age};
use crate::fold::{HOUR_MS, Past};
use crate::read::Reader;
use comity_api::{CrewAnswer, CrewCounts, CrewMember, Life, TaskFilter};
use comity_core::ids::TaskId;
use comity_core::lease::Lease;
use comity_core::limits::PAGE_MAX;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::task::Task;
use comity_core::time::{Millis, Timestamp};
use comity_core::view::AgentView;

/// Hours of the sparkline.
const HOURS: i64 = 24;
/// How long an agent that was refused a file, and holds no task, is said to wait for it.
const WAITS_FOR_FILE: Millis = Millis::from_secs(900);
/// Leases that are looked at for who waits for a file.
const LEASES_MAX: usize = 2_000;
const WEEK: Millis = Millis::from_secs(7 * 86_400);
/// Tasks that are looked at for who works on what.
const TASKS_MAX: usize = 10_000;
/// Characters of a note that are shown.
const NOTE_CHARS_MAX: usize = 120;

/// A task that somebody has to do with now.
struct Duty {
    task: Task,
    life: Option<Life>,
}

impl Reader<'_> {
    pub(crate) fn crew(&mut self) -> Result<CrewAnswer, Refusal> {
        let mut agents: Vec<AgentView> = Vec::new();
        for (agent, presence) in self.tx.agents(None, PAGE_MAX)? {
            agents.push(self.agent_view(&agent, &presence)?);
        }
        let duties = self.duties()?;
        let open = self.decision_rows(false, None, PAGE_MAX)?;
        let (now, repo) = (self.now(), self.caller.repo.to_string());
        let (seq, at) = (self.seq(), self.at());
        let leases = self.live_leases(None, None, LEASES_MAX)?;
        let fold = self.fold()?;
        let past = fold.of(&repo);
        let mut members = Vec::new();
        for agent in agents {
            let file = past.number(&agent.id).and_then(|who| wanted_file(past, who, &leases, now));
            let own = || open.iter().filter(|one| one.asked_by.as_str() == agent.id);
            let is_held = |id: &TaskId| agent.holds.tasks.iter().any(|held| *held == id.as_str());
            let of_held = own().find(|one| one.task.as_ref().is_some_and(is_held));
            let asks = of_held.or_else(|| own().next());
            let asks = asks.map(|decision| (decision.id.to_string(), decision.created_at));
            members.push(member(agent, &duties, Waits { asks, file }, past, now));
        }
        drop(fold);
        let group = |name: &str| members.iter().filter(|member| member.group == name).count();
        let counts = CrewCounts {
            total: members.iter().filter(|member| !member.person).count(),
            at_work: group("at_work"),
            waiting: group("waiting"),
            silent: group("silent"),
            idle: group("idle"),
        };
        members.sort_by_key(|member| {
            let place = GROUPS.iter().position(|group| *group == member.group);
            (place, member.last_seen.map_or(0, |seen| -seen.ms() / HOUR_MS), member.id.clone())
        });
        Ok(CrewAnswer { seq, at, now, counts, agents: members })
    }

    fn duties(&mut self) -> Result<Vec<Duty>, Refusal> {
        let statuses = vec![
            Status::Claimed,
            Status::InProgress,
            Status::ChangesRequested,
            Status::Review,
            Status::Merging,
        ];
        let filter = TaskFilter { statuses, ..TaskFilter::default() };
        let (tasks, _) = self.task_rows(&filter, 0, TASKS_MAX)?;
        let now = self.now();
        let mut duties = Vec::new();
        for task in tasks {
            let life = match &task.claim {
                Some(claim) => {
                    let until = crate::batch::settle(self.tx, &mut self.facts, |facts| {
                        facts.claim_expiry(claim)
                    })?;
                    Some(super::life(until, claim.ttl, now))
                }
                None => None,
            };
            duties.push(Duty { task, life });
        }
        Ok(duties)
    }
}

/// What an agent waits for: its open question, a file that somebody else holds; since when.
struct Waits {
    asks: Option<(String, Timestamp)>,
    file: Option<(String, Timestamp)>,
}

/// Returns the file that an agent was refused last, while that is not long ago and somebody else holds it still.
fn wanted_file(
    past: &Past,
    who: u32,
    leases: &[Lease],
    now: Timestamp,
) -> Option<(String, Timestamp)> {
    let lately = past.writes.iter().rev().take_while(|write| now.since(write.ts) < WAITS_FOR_FILE);
    let last = lately.filter(|write| write.by == who).find(|write| write.refused)?;
    let (me, path) = (past.name(who), past.name(last.path));
    let held = leases.iter().any(|lease| lease.owner.as_str() != me && covers(lease, path));
    held.then(|| (path.to_owned(), last.ts))
}

/// Groups of the page, in their order.
const GROUPS: [&str; 5] = ["silent", "waiting", "at_work", "idle", "person"];

fn member(
    agent: AgentView,
    duties: &[Duty],
    Waits { asks, file }: Waits,
    past: &Past,
    now: Timestamp,
) -> CrewMember {
    let is = |who: Option<&str>| who == Some(agent.id.as_str());
    let holder = |duty: &Duty| duty.task.claim.as_ref().map(|claim| claim.agent.to_string());
    let held = duties.iter().find(|duty| is(holder(duty).as_deref()));
    let reviews = duties.iter().find(|duty| {
        let task = &duty.task;
        task.status == Status::Review
            && task.review_taken
            && is(task.reviewer.as_ref().map(|who| who.as_str()))
    });
    let merges = duties.iter().find(|duty| {
        let task = past.number(duty.task.id.as_str());
        let last = task.and_then(|task| past.steps_of(task).next_back());
        duty.task.status == Status::Merging && last.is_some_and(|step| is(Some(past.name(step.by))))
    });
    let sent_back = duties.iter().find(|duty| {
        duty.task.status == Status::ChangesRequested
            && is(duty.task.assignee.as_ref().map(|who| who.as_str()))
    });
    let person = agent.id.starts_with("human:");
    let life = held.and_then(|duty| duty.life);
    let silent = life.is_some_and(|life| life.silent);
    let waited = asks.as_ref().map(|(_, since)| age(now.since(*since)));
    let (group, doing, duty, words) = if person {
        ("person", "here", None, None)
    } else if silent {
        let until = life.map(|life| format!("ends at {}", life.expires_at));
        ("silent", "silent", held, until)
    } else if let Some((id, _)) = &asks {
        let words = format!("asks {id}, {}", waited.unwrap_or_default());
        ("waiting", "for_decision", held, Some(words))
    } else if let Some(duty) = held {
        let claimed = duty.task.status == Status::Claimed;
        ("at_work", if claimed { "claimed" } else { "working" }, held, None)
    } else if reviews.is_some() {
        ("at_work", "reviewing", reviews, None)
    } else if merges.is_some() {
        ("at_work", "merging", merges, None)
    } else if sent_back.is_some() {
        ("idle", "sent_back", sent_back, None)
    } else if let Some((path, since)) = &file {
        let words = format!("`{}`, {}", last_part(path), age(now.since(*since)));
        ("waiting", "for_file", None, Some(words))
    } else {
        ("idle", "idle", None, None)
    };
    let number = past.number(&agent.id);
    let (done_7d, failed_7d) = number.map_or((0, 0), |name| results(past, name, now));
    let note = number.and_then(|name| past.last_words.get(&name));
    CrewMember {
        person,
        roles: agent.roles,
        skills: agent.skills,
        group: group.to_owned(),
        doing: doing.to_owned(),
        words,
        task: duty.map(|duty| duty.task.id.to_string()),
        title: duty.map(|duty| duty.task.title.clone()),
        decision: asks.map(|(id, _)| id),
        last_seen: agent.last_seen,
        life,
        tasks: agent.holds.tasks,
        leases: agent.holds.leases.len(),
        lock_ids: agent.holds.leases,
        done_7d,
        failed_7d,
        hours: hours(past, number, now),
        now_doing: note.map(|note| note.chars().take(NOTE_CHARS_MAX).collect()),
        id: agent.id,
    }
}

/// Returns the last part of a path.
fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// Counts the tasks of a worker that were done and that failed in the last week.
fn results(past: &Past, worker: u32, now: Timestamp) -> (usize, usize) {
    let recent = past.steps.iter().rev().take_while(|step| now.since(step.ts) < WEEK);
    let own: Vec<Status> =
        recent.filter(|step| step.worker == Some(worker)).map(|step| step.status).collect();
    let count = |status| own.iter().filter(|known| **known == status).count();
    (count(Status::Done), count(Status::Failed))
}

fn hours(past: &Past, name: Option<u32>, now: Timestamp) -> Vec<u32> {
    let last = now.ms() / HOUR_MS;
    let of = |hour: i64| name.and_then(|name| past.hours.get(&(hour, name))).copied();
    (last - HOURS + 1..=last).map(|hour| of(hour).unwrap_or(0)).collect()
}

/// A day has as many hours as the sparkline.
const _: () = assert!(DAY.ms() == HOURS * HOUR_MS);
