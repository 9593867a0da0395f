//! Taking a lease among many live ones of others.

use crate::process;
use crate::script::{register, repo, request};
use crate::stats::{count, median, ms, process_cpu};
use crate::table::Table;
use crate::{Outcome, Scale, cli, fill};
use comity_core::command::{Command, LeaseChange};
use comity_core::ids::{AgentId, RepoName};
use comity_core::refusal::Code;
use comity_core::time::Millis;
use comity_engine::Service;
use std::path::Path;
use std::time::{Duration, Instant};

/// Live leases of others.
const HELD: [usize; 3] = [10, 1_000, 10_000];
/// Who holds them.
const OWNERS: usize = 50;
/// Directories that they are spread over.
const AREAS: usize = 40;
/// Long enough to outlive the run.
const TTL: Millis = Millis::from_secs(86_400);

fn acquire(patterns: Vec<String>) -> Command {
    Command::Lease(LeaseChange::Acquire {
        patterns,
        task: None,
        purpose: None,
        ttl: Some(TTL),
        shared: false,
    })
}

/// Half are globs, nine in ten have a literal first segment, no two overlap.
fn held_pattern(number: usize) -> String {
    let area = number % AREAS;
    match number % 10 {
        0 => format!("*.gen{number}/out/**"),
        1..=4 => format!("area-{area}/part-{number}/**/*.rs"),
        _ => format!("area-{area}/part-{number}/file.rs"),
    }
}

fn fill_leases(path: &Path, held: usize) -> Outcome<()> {
    let repo = repo()?;
    let mut filler = fill::Filler::open(path)?;
    let owners: Vec<AgentId> = (0..OWNERS)
        .map(|owner| Ok(AgentId::parse(&format!("owner-{owner:02}"))?))
        .collect::<Outcome<_>>()?;
    let taker = AgentId::parse("taker")?;
    let all = owners.iter().chain([&taker]);
    filler.batch(all.map(|agent| register(agent, &repo)).collect::<Outcome<Vec<_>>>()?)?;
    for (turn, numbers) in (0..held).collect::<Vec<_>>().chunks(100).enumerate() {
        let owner = owners.get(turn % OWNERS).ok_or("no owner")?;
        let patterns = numbers.iter().map(|number| held_pattern(*number)).collect();
        filler.batch([request(owner, &repo, None, acquire(patterns))])?;
    }
    Ok(())
}

/// One store with its engine and what was measured on it.
struct Place {
    held: usize,
    service: Service,
    taker: AgentId,
    repo: RepoName,
    wall: Vec<f64>,
    cpu: Vec<f64>,
    process: Vec<process::Usage>,
}

impl Place {
    fn take(&mut self, turn: usize) -> Outcome<()> {
        // A glob and a literal path by turns, in a directory where others hold leases too.
        let end = if turn.is_multiple_of(2) { "**" } else { "file.rs" };
        let wanted = format!("area-{}/new-{turn}/{end}", turn % AREAS);
        let command = request(&self.taker, &self.repo, None, acquire(vec![wanted]));
        let (start, cpu) = (Instant::now(), process_cpu());
        self.service.execute(command)?;
        self.wall.push(ms(start.elapsed()));
        self.cpu.push(ms(process_cpu().saturating_sub(cpu)));
        self.release()
    }

    fn release(&mut self) -> Outcome<()> {
        let command = Command::Lease(LeaseChange::Release { ids: Vec::new(), all: true });
        self.service.execute(request(&self.taker, &self.repo, None, command))?;
        Ok(())
    }

    fn take_as_process(&mut self, project: &cli::Project, turn: usize) -> Outcome<()> {
        let wanted = format!("area-{}/new-{turn}/**", turn % AREAS);
        let mut command = project.comity("taker");
        self.process.push(process::run(command.args(["lease", "acquire", &wanted]))?);
        self.release()
    }
}

/// Prints the section.
pub fn run(scale: Scale) -> Outcome<()> {
    let turns = scale.of(100, 20);
    let binary = cli::binary();
    let mut places = Vec::new();
    for held in HELD {
        let project = cli::Project::new(binary.as_ref().ok().cloned())?;
        fill_leases(&project.store(), held)?;
        let place = Place {
            held,
            service: fill::service(&project.store())?,
            taker: AgentId::parse("taker")?,
            repo: repo()?,
            wall: Vec::new(),
            cpu: Vec::new(),
            process: Vec::new(),
        };
        places.push((project, place));
    }
    for turn in 0..turns {
        for (project, place) in &mut places {
            place.take(turn)?;
            if project.has_binary() && turn < turns / 4 {
                place.take_as_process(project, turn)?;
            }
        }
    }
    if let Err(error) = binary {
        println!("\n(no process figures: {error})");
    }
    print(&places, turns);
    question_marks()
}

fn print(places: &[(cli::Project, Place)], turns: usize) {
    let mut table = Table::new(&[
        "live leases of others",
        "engine wall ms",
        "engine CPU ms",
        "CPU ÷ first",
        "wall ÷ first",
        "process wall ms",
        "process CPU ms",
        "process CPU ÷ first",
    ]);
    let process = |place: &Place, field: fn(&process::Usage) -> Duration| {
        median(&place.process.iter().map(|usage| ms(field(usage))).collect::<Vec<_>>())
    };
    let Some((_, first)) = places.first() else { return };
    for (_, place) in places {
        let cpu = process(place, |usage| usage.cpu);
        let as_process =
            |text: String| if place.process.is_empty() { "–".to_owned() } else { text };
        table.row(vec![
            count(place.held),
            format!("{:.2}", median(&place.wall)),
            format!("{:.2}", median(&place.cpu)),
            format!("{:.1}×", median(&place.cpu) / median(&first.cpu)),
            format!("{:.1}×", median(&place.wall) / median(&first.wall)),
            as_process(format!("{:.2}", process(place, |usage| usage.wall))),
            as_process(format!("{cpu:.2}")),
            as_process(format!("{:.1}×", cpu / process(first, |usage| usage.cpu))),
        ]);
    }
    table.print("lease: taking one among many");
    println!(
        "\nHalf of the live leases are globs, nine in ten have a literal first segment; the tenth could lie \
         anywhere and is looked at every time. Medians of {turns} acquisitions (a quarter as many as processes), \
         the three stores by turns. Wall time includes the sync to disk. Target: ≤ 3× from 10 to 10,000."
    );
}

/// Forty `?` against forty: a product of automata would have 2^40 states.
fn question_marks() -> Outcome<()> {
    let project = cli::Project::new(None)?;
    fill_leases(&project.store(), 0)?;
    let service = fill::service(&project.store())?;
    let (owner, taker, repo) = (AgentId::parse("owner-00")?, AgentId::parse("taker")?, repo()?);
    let held = format!("{}*a", "?".repeat(40));
    service.execute(request(&owner, &repo, None, acquire(vec![held])))?;
    let mut table =
        Table::new(&["wanted, beside one held `?`×40 `*a`", "answer", "wall ms", "CPU ms"]);
    for (name, end, conflicts) in
        [("`?`×40 `*b`", "*b", false), ("`*` `?`×40 `a`", "a", true), ("`?`×40 `/x`", "/x", false)]
    {
        let start = if conflicts { "*" } else { "" };
        let wanted = format!("{start}{}{end}", "?".repeat(40));
        let before = process_cpu();
        let begin = Instant::now();
        let answer = service.execute(request(&taker, &repo, None, acquire(vec![wanted])));
        let (wall, cpu) = (begin.elapsed(), process_cpu().saturating_sub(before));
        let word = match answer {
            Ok(_) if !conflicts => "granted",
            Err(refusal) if conflicts && refusal.code == Code::LeaseHeld => {
                "refused, with a witness"
            }
            other => return Err(format!("{name} was answered {other:?}").into()),
        };
        let row = [
            name.to_owned(),
            word.to_owned(),
            format!("{:.2}", ms(wall)),
            format!("{:.2}", ms(cpu)),
        ];
        table.row(row.to_vec());
    }
    table.print("lease: forty question marks");
    Ok(())
}
