//! `comity trust`

use crate::args::Global;
use crate::env;
use crate::human::trust::{self, Pending, Trusts};
use crate::output::Reply;
use comity_core::refusal::{Code, Refusal};
use comity_guard::git::Git;
use comity_guard::{About, CheckSettings};
use comity_project::Context;
use comity_project::trust::{Power, Trust, Trusted};
use std::path::Path;

pub(super) fn run(global: &Global, list: bool, remove: bool) -> Result<Reply, Refusal> {
    let machine = env::machine()?;
    let (context, mut powers) = Context::find_untrusted(&machine, &global.asked())?;
    // Gates run by the settings of the base branch, which may not be those of the checkout.
    if let Some(tree) = context.git_tree() {
        let settings = CheckSettings::of(&context, &Git::at(tree), About::default())?;
        let others = settings.config.powers(&context.root)?;
        let others: Vec<Power> = others.into_iter().filter(|one| !powers.contains(one)).collect();
        powers.extend(others);
    }
    let (actor, why) = (&context.actor, &context.actor_because);
    if !actor.is_person() {
        let text = format!("only a person trusts a repository, and you are {actor}: {why}");
        return Err(Refusal::new(Code::HumanOnly, text).hint(
            "a person runs this command at a terminal; a script names its store in COMITY_STORE",
        ));
    }
    let trust = Trust::of(&machine.environment);
    let mut roots: Vec<&Path> = powers.iter().map(|power| power.root.as_path()).collect();
    roots.push(&context.root.dir);
    let removed = if remove { trust.remove(&roots)? } else { Vec::new() };
    if !list && !remove && !powers.is_empty() {
        trust.add(&powers)?;
    }
    let all = trust.list()?;
    let waits = |power: &&Power| !all.iter().any(|trusted| trusted.is(power));
    let pending = powers.iter().filter(waits).map(Pending::from).collect();
    let is_here = |one: &Trusted| roots.contains(&Path::new(&one.root));
    let trusted = all.into_iter().filter(|one| list || is_here(one)).collect();
    Ok(Reply::new(Trusts { trusted, pending, removed }, trust::words))
}
