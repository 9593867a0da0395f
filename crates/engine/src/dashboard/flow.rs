//! How work flows: how long it takes, what is under way, what it waits for, what is refused.

use super::{DAY, column};
use crate::fold::{Name, Past, Step};
use crate::read::Reader;
use comity_api::{BlockedTime, DayTimes, DayWork, FlowAnswer, FlowDays, RefusedPath, Rounds};
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_core::time::{Millis, Timestamp};
use std::collections::BTreeMap;

const DAYS: u32 = 14;
const DAYS_MAX: u32 = 90;
/// Reasons and paths that are named, and places in the log of one path.
const NAMED_MAX: usize = 8;
/// From this number of rounds on tasks are counted together.
const ROUNDS_MAX: usize = 4;

impl Reader<'_> {
    pub(crate) fn flow(&mut self, wanted: &FlowDays) -> Result<FlowAnswer, Refusal> {
        let days = wanted.days.unwrap_or(DAYS);
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(Refusal::input(format!("{days} days are out of range"))
                .hint(format!("use a number between 1 and {DAYS_MAX}")));
        }
        let (now, repo) = (self.now(), self.caller.repo.to_string());
        let (seq, at) = (self.seq(), self.at());
        let fold = self.fold()?;
        let past = fold.of(&repo);
        let last = now.ms() / DAY.ms();
        let span: Vec<i64> = (last - i64::from(days) + 1..=last).collect();
        let tasks: Vec<Finished> = past.tasks().filter_map(|task| finished(past, task)).collect();
        let in_span = |task: &&Finished| span.contains(&(task.done.ms() / DAY.ms()));
        let done = tasks.iter().filter(in_span).count();
        let times = |length: fn(&Finished) -> Option<Millis>| {
            span.iter().map(|day| of_day(past, &tasks, *day, length)).collect::<Vec<_>>()
        };
        let (blocked, blocked_hours) = blocked(past, &span, now);
        let (refused, refused_total) = refused(past, &span);
        let (rounds, first_pass) = rounds(past, tasks.iter().filter(in_span));
        Ok(FlowAnswer {
            seq,
            at,
            from: span.first().map(|day| date(*day)).unwrap_or_default(),
            to: date(last),
            days,
            done,
            headline: headline(&blocked, &refused),
            lead: times(|task| Some(task.done.since(task.created))),
            cycle: times(|task| task.claimed.map(|claimed| task.done.since(claimed))),
            wip: span.iter().map(|day| under_way(past, *day, now)).collect(),
            blocked,
            blocked_hours,
            refused,
            refused_total,
            rounds,
            first_pass,
        })
    }
}

/// A task that is done, with its times.
struct Finished {
    task: Name,
    created: Timestamp,
    claimed: Option<Timestamp>,
    done: Timestamp,
    rounds: usize,
}

fn finished(past: &Past, task: Name) -> Option<Finished> {
    let steps: Vec<&Step> = past.steps_of(task).collect();
    let last = steps.last().filter(|step| step.status == Status::Done)?;
    let claimed = steps.iter().find(|step| step.status.is_held()).map(|step| step.ts);
    let rounds = steps.iter().filter(|step| step.status == Status::Review).count();
    let created = past.created.get(&task).copied().unwrap_or(last.ts);
    Some(Finished { task, created, claimed, done: last.ts, rounds })
}

fn date(day: i64) -> String {
    let text = Timestamp::from_ms(day * DAY.ms()).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

fn hours(length: Millis) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "hours on a plot")]
    let hours = length.ms() as f64 / 3_600_000.0;
    (hours * 100.0).round() / 100.0
}

fn of_day(
    past: &Past,
    tasks: &[Finished],
    day: i64,
    length: fn(&Finished) -> Option<Millis>,
) -> DayTimes {
    let of: Vec<&Finished> = tasks.iter().filter(|task| task.done.ms() / DAY.ms() == day).collect();
    let mut lengths: Vec<Millis> = of.iter().filter_map(|task| length(task)).collect();
    lengths.sort();
    // The smallest length that so many percent of the tasks do not exceed.
    let percentile = |percent: usize| {
        let place = (lengths.len() * percent).div_ceil(100).saturating_sub(1);
        lengths.get(place).copied().map(hours)
    };
    let tasks = of.iter().map(|task| past.name(task.task).to_owned()).collect();
    DayTimes { day: date(day), p50: percentile(50), p85: percentile(85), tasks }
}

/// Counts what was under way at the end of a day.
fn under_way(past: &Past, day: i64, now: Timestamp) -> DayWork {
    let end = Timestamp::from_ms((day + 1) * DAY.ms()).min(now);
    let mut work = DayWork {
        day: date(day),
        working: 0,
        review: 0,
        approved: 0,
        blocked: 0,
        tasks: Vec::new(),
    };
    for task in past.tasks() {
        let Some(step) = past.steps_of(task).take_while(|step| step.ts <= end).last() else {
            continue;
        };
        match column(step.status) {
            "working" => work.working += 1,
            "review" => work.review += 1,
            "approved" => work.approved += 1,
            "blocked" => work.blocked += 1,
            _ => continue,
        }
        work.tasks.push(past.name(task).to_owned());
    }
    work.tasks.sort();
    work
}

/// Adds up how long tasks were blocked, by what they needed.
fn blocked(past: &Past, span: &[i64], now: Timestamp) -> (Vec<BlockedTime>, f64) {
    let start = Timestamp::from_ms(span.first().copied().unwrap_or_default() * DAY.ms());
    let mut by_reason: BTreeMap<&str, (Millis, Vec<String>)> = BTreeMap::new();
    for task in past.tasks() {
        let steps: Vec<&Step> = past.steps_of(task).collect();
        for (place, step) in steps.iter().enumerate() {
            if step.status != Status::Blocked {
                continue;
            }
            let end = steps.get(place + 1).map_or(now, |next| next.ts);
            if end <= start {
                continue;
            }
            let asked = past.asked.iter().any(|asked| {
                asked.task == Some(task)
                    && asked.from <= end
                    && asked.settled.is_none_or(|(at, ..)| at >= step.ts)
            });
            let reason = match past.needs.get(&step.seq) {
                _ if asked => "Waits for a decision",
                Some(needs) => needs.lines().next().unwrap_or("Blocked"),
                None => "Blocked",
            };
            let (length, tasks) = by_reason.entry(reason).or_default();
            *length = Millis::from_ms(length.ms() + end.since(step.ts.max(start)).ms());
            let id = past.name(task).to_owned();
            if !tasks.contains(&id) {
                tasks.push(id);
            }
        }
    }
    let mut list: Vec<BlockedTime> = by_reason
        .into_iter()
        .map(|(reason, (length, tasks))| BlockedTime {
            reason: reason.to_owned(),
            hours: hours(length),
            tasks,
        })
        .collect();
    let total = list.iter().map(|one| one.hours).sum();
    list.sort_by(|a, b| b.hours.total_cmp(&a.hours));
    list.truncate(NAMED_MAX);
    (list, total)
}

fn refused(past: &Past, span: &[i64]) -> (Vec<RefusedPath>, usize) {
    let mut by_path: BTreeMap<Name, RefusedPath> = BTreeMap::new();
    let inside = |ts: Timestamp| span.contains(&(ts.ms() / DAY.ms()));
    let mut total = 0;
    for write in past.writes.iter().rev().filter(|write| write.refused && inside(write.ts)) {
        total += 1;
        let one = by_path.entry(write.path).or_insert_with(|| RefusedPath {
            path: past.name(write.path).to_owned(),
            count: 0,
            tasks: Vec::new(),
            seqs: Vec::new(),
        });
        one.count += 1;
        if one.seqs.len() < NAMED_MAX {
            one.seqs.push(write.seq);
        }
        if let Some(task) = past.text(write.task).filter(|task| !one.tasks.contains(task)) {
            one.tasks.push(task);
        }
    }
    let mut list: Vec<RefusedPath> = by_path.into_values().collect();
    list.sort_by(|a, b| b.count.cmp(&a.count).then(a.path.cmp(&b.path)));
    list.truncate(NAMED_MAX);
    (list, total)
}

fn rounds<'t>(
    past: &Past,
    tasks: impl Iterator<Item = &'t Finished>,
) -> (Vec<Rounds>, Option<u32>) {
    let words = ["1", "2", "3", "4 or more"];
    let mut list: Vec<Rounds> = words
        .map(|rounds| Rounds { rounds: rounds.to_owned(), count: 0, tasks: Vec::new() })
        .into();
    let mut all: usize = 0;
    for task in tasks.filter(|task| task.rounds > 0) {
        all += 1;
        if let Some(place) = list.get_mut(task.rounds.min(ROUNDS_MAX) - 1) {
            place.count += 1;
            place.tasks.push(past.name(task.task).to_owned());
        }
    }
    let first = list.first().map_or(0, |first| first.count);
    let percent = (first * 100 + all / 2).checked_div(all);
    (list, percent.and_then(|percent| u32::try_from(percent).ok()))
}

fn headline(blocked: &[BlockedTime], refused: &[RefusedPath]) -> String {
    let waits = blocked.first().map(|most| match most.reason.as_str() {
        "Waits for a decision" => "Waiting for decisions costs most time".to_owned(),
        reason => format!("Most time is lost by: {reason}"),
    });
    let path = refused.first().map(|most| format!("most writes were refused to {}", most.path));
    match (waits, path) {
        (Some(waits), Some(path)) => format!("{waits}; {path}."),
        (Some(waits), None) => format!("{waits}."),
        (None, Some(path)) => format!("Nothing was blocked; {path}."),
        (None, None) => "Nothing was blocked and nothing was refused.".to_owned(),
    }
}
