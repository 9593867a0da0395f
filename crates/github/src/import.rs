//! Issues of an existing backlog as tasks.

use crate::bus::{Bus, Github, ISSUE, IssueKey, PROVIDER};
use crate::client::part;
use crate::intake;
use crate::model::{self, Issue};
use comity_api::{GithubFinding, GithubImport, GithubImported, ImportIssues};
use comity_core::command::{Command, ImportedTask, NewTask};
use comity_core::event::TaskLinked;
use comity_core::refusal::Refusal;
use comity_core::status::Status;
use comity_engine::Caller;
use comity_protocol::labels::Issue as State;

pub(crate) fn import(
    github: &Github,
    caller: &Caller,
    input: &ImportIssues,
) -> Result<GithubImport, Refusal> {
    let state = input.state.as_deref().unwrap_or("open");
    if !["open", "closed", "all"].contains(&state) {
        return Err(Refusal::input(format!("the state {state:?} is not known"))
            .hint("use open, closed or all"));
    }
    let mut bus = github.bus(input.dry_run)?;
    let issues = read(&mut bus, input, state)?;
    let mut answer = GithubImport { dry_run: input.dry_run, ..GithubImport::default() };
    // Tasks that are linked already are known from the log.
    let linked = linked(&bus)?;
    for issue in issues.iter().filter(|issue| !issue.is_pull()) {
        let key = IssueKey { repository: bus.home.clone(), number: issue.number };
        let mut one = GithubImported {
            issue: key.to_string(),
            task: linked.get(&key.to_string()).cloned(),
            title: issue.title.clone(),
            status: Status::Queued.as_str().to_owned(),
            state: "present".to_owned(),
        };
        if one.task.is_none() {
            match take(&mut bus, caller, issue, &key, input.dry_run) {
                Ok((task, status)) => {
                    one.state = if input.dry_run { "planned" } else { "made" }.to_owned();
                    one.task = task;
                    status.as_str().clone_into(&mut one.status);
                }
                Err(refusal) => {
                    answer.findings.push(GithubFinding {
                        kind: refusal.code.as_str().to_owned(),
                        issue: Some(key.to_string()),
                        why: refusal.message.clone(),
                        hint: "mend the issue, then import it again".to_owned(),
                    });
                    continue;
                }
            }
        }
        answer.imported.push(one);
    }
    Ok(answer)
}

fn read(bus: &mut Bus, input: &ImportIssues, state: &str) -> Result<Vec<Issue>, Refusal> {
    if !input.issues.is_empty() {
        let mut issues = Vec::new();
        for number in &input.issues {
            let path = format!("/repos/{}/issues/{number}", bus.home);
            issues.push(model::one(&bus.client.get(&path, None)?.body));
        }
        return Ok(issues);
    }
    let label = input.label.as_deref().map(|label| format!("&labels={}", part(label)));
    let path = format!(
        "/repos/{}/issues?state={state}&sort=created&direction=asc&per_page=100{}",
        bus.home,
        label.unwrap_or_default()
    );
    Ok(model::list(&bus.client.list(&path, None)?.body))
}

fn linked(bus: &Bus) -> Result<std::collections::BTreeMap<String, String>, Refusal> {
    let mut linked = std::collections::BTreeMap::new();
    let mut at = comity_core::ids::Seq(0);
    loop {
        let page = bus.service.log_after(&bus.context.repo, at)?;
        let Some(last) = page.last() else { return Ok(linked) };
        at = last.seq;
        for stored in page.iter().filter(|stored| stored.event == "task_linked") {
            let body = stored.body.as_deref().unwrap_or_default();
            let link: Option<TaskLinked> = serde_json::from_slice(body).ok();
            let Some(link) = link.filter(|link| link.provider == PROVIDER && link.key == ISSUE)
            else {
                continue;
            };
            let key = IssueKey::parse(&link.value, &bus.home);
            linked.extend(key.map(|key| key.to_string()).zip(stored.task.clone()));
        }
    }
}

fn take(
    bus: &mut Bus,
    caller: &Caller,
    issue: &Issue,
    key: &IssueKey,
    dry_run: bool,
) -> Result<(Option<String>, Status), Refusal> {
    let dialect = bus.dialect(&key.repository);
    // A backlog without contracts is taken over as it is.
    let mut new = intake::new_task(issue, &dialect)
        .or_else(|_| intake::new_task(issue, &comity_protocol::labels::Dialect::ace()))
        .map_err(Refusal::input)?;
    bus.bounds(&mut new, &key.repository, &issue.user.login)?;
    let labels = issue.label_names();
    let state = match (issue.state.as_str(), issue.state_reason.as_str()) {
        ("closed", "not_planned" | "duplicate") => State::NotPlanned,
        ("closed", _) => State::Completed,
        _ => State::Open,
    };
    let word = dialect.settle(&labels, None).map(|settled| settled.word);
    let status = dialect.status(word.as_deref(), state);
    let value = key.link(&bus.home);
    let link = TaskLinked { provider: PROVIDER.to_owned(), key: ISSUE.to_owned(), value };
    let task = NewTask { links: vec![link], labels: foreign(labels, &dialect), ..new };
    let imported = ImportedTask {
        task,
        status,
        source: format!("github {key}"),
        needs: status.filter(|status| *status == Status::Blocked).map(|_| format!("see {key}")),
        with_state: true,
        ..ImportedTask::default()
    };
    let caller = Caller { key: None, fence: None, observer: None, ..caller.clone() };
    let reply = bus.service.execute(caller.request(Command::ImportTask(Box::new(imported))))?;
    let answer: comity_api::TaskAnswer = reply.take()?;
    Ok((Some(answer.task.id).filter(|_| !dry_run), answer.task.status))
}

fn foreign(labels: Vec<String>, dialect: &comity_protocol::labels::Dialect) -> Vec<String> {
    let is_foreign = |label: &String| {
        let one = std::slice::from_ref(label);
        dialect.states_in(one).is_empty() && dialect.role(one).is_none()
    };
    labels.into_iter().filter(is_foreign).collect()
}
