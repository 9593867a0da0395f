//! Tasks as issues, and submitted work as a pull request. Each is made once: what may be there is looked for first.

use crate::bus::{Bus, Github, ISSUE, IssueKey, PROVIDER, label_body};
use crate::claims;
use crate::client::{Method, Trouble, part};
use crate::desired::is_ace;
use crate::model::{self, Comment, Issue, Pull};
use crate::text;
use comity_api::{PublishAnswer, PublishTasks, PublishedTask, PullAnswer};
use comity_core::chain::Stored;
use comity_core::command::{Command, ConstraintChanges};
use comity_core::event::{Event, TaskUpdated};
use comity_core::hint::{op, say};
use comity_core::ids::TaskId;
use comity_core::refusal::{Code, Refusal};
use comity_core::status::Status;
use comity_core::task::Task;
use comity_engine::Caller;
use comity_guard::git::{Git, Way, carry};
use comity_project::github::is_repository;
use comity_protocol::contract::{self, Mode};
use comity_protocol::labels::{Carrier, Dialect};
use comity_protocol::neomjs::safety::{Push, protected_pushes};
use comity_protocol::neomjs::{self, ResultContract, TaskContract, fenced};
use serde_json::{Value, json};
use std::path::Path;

/// Characters of a title that GitHub takes.
const TITLE_CHARS_MAX: usize = 256;

pub(crate) fn publish(
    github: &Github,
    caller: &Caller,
    input: &PublishTasks,
) -> Result<PublishAnswer, Refusal> {
    if let Some(to) = input.to.as_ref().filter(|to| !is_repository(to)) {
        return Err(Refusal::input(format!("{to:?} is not OWNER/NAME")));
    }
    let turn = crate::sync::Turn::take(github)?;
    let mut bus = github.bus(false)?;
    bus.hold(Some(turn));
    let mut answer = PublishAnswer::default();
    let mut parts = Vec::new();
    for id in &input.ids {
        let task = bus.service.task(caller, id)?;
        let published = one(&mut bus, caller, &task, input)?;
        if let Some(epic) = input.epic {
            part_of(&mut bus, epic, &published)?;
            let mark = mark(&bus, &made(&bus, &task)?).replace("/issue", "/part");
            let line = format!("- {}: {}", published.issue, task.title);
            parts.push((mark, line));
        }
        answer.published.push(published);
        bus.save()?;
    }
    if let Some(epic) = input.epic {
        report(&mut bus, epic, parts)?;
    }
    Ok(answer)
}

fn linked(task: &Task, home: &str) -> Option<IssueKey> {
    let value = task.external_ids.get(PROVIDER)?.get(ISSUE)?.as_str()?;
    IssueKey::parse(value, home)
}

fn one(
    bus: &mut Bus,
    caller: &Caller,
    task: &Task,
    input: &PublishTasks,
) -> Result<PublishedTask, Refusal> {
    let home = bus.home.clone();
    let found = |key: &IssueKey, url: String, state: &str| PublishedTask {
        task: task.id.to_string(),
        issue: key.to_string(),
        url,
        state: state.to_owned(),
    };
    if let Some(key) = linked(task, &home) {
        let issue: Issue = model::one(&bus.client.get(&key.path(), None)?.body);
        return Ok(found(&key, issue.html_url, "found"));
    }
    let made = made(bus, task)?;
    let repository = input.to.clone().or(meant_for(task, &made)).unwrap_or_else(|| home.clone());
    let mark = mark(bus, &made);
    let (issue, state) = match find(bus, &repository, &mark)? {
        Some(issue) => (issue, "found"),
        None => (make(bus, task, &repository, &mark)?, "made"),
    };
    let key = IssueKey { repository, number: issue.number };
    let command = Command::Link {
        id: task.id.to_string(),
        provider: PROVIDER.to_owned(),
        key: ISSUE.to_owned(),
        value: key.link(&home),
    };
    let caller = Caller { key: None, ..caller.clone() };
    bus.service.execute(caller.request(command))?;
    let mut row = bus.rows.issue(&key.to_string());
    row.task = Some(task.id.to_string());
    row.own_text = Some(text::hash(&issue.title, &issue.body));
    row.own_mark = Some(mark);
    row.seen.title.clone_from(&issue.title);
    row.seen.labels = issue.label_names();
    row.seen.closed = issue.state == "closed";
    row.seen.author.clone_from(&issue.user.login);
    row.seen.updated_at.clone_from(&issue.updated_at);
    row.seen.text = text::hash(&issue.title, &issue.body);
    bus.rows.set_issue(&key.to_string(), &row);
    Ok(found(&key, issue.html_url, state))
}

/// Returns the repository that a task names, in its context or in the contract that it was made of.
fn meant_for(task: &Task, made: &Stored) -> Option<String> {
    let said = task.context.get("repository").and_then(Value::as_str).map(str::to_owned);
    let contract = || {
        let Ok(Event::TaskCreated(made)) = Event::decode(&made.event, made.body.as_deref()?) else {
            return None;
        };
        let tree = contract::check(&made.body?, Some(&neomjs::TASK), Mode::Full).tree?;
        TaskContract::of(&tree).repository().map(str::to_owned)
    };
    said.or_else(contract).filter(|name| is_repository(name))
}

/// Returns the event that made a task.
fn made(bus: &Bus, task: &Task) -> Result<Stored, Refusal> {
    let id = TaskId::parse(task.id.as_str())?;
    let last = comity_core::ids::Seq(u64::MAX >> 1);
    let events = bus.service.log_of_task_before(&bus.context.repo, &id, last)?;
    let made = events.into_iter().rev().find(|event| event.event == "task_created");
    made.ok_or_else(|| Refusal::new(Code::Internal, "a task without its first event"))
}

/// Names the issue of a task by the event that made the task.
fn mark(bus: &Bus, made: &Stored) -> String {
    let hash = made.hash.to_string();
    format!("{}/{}.{}/issue", bus.engine, made.seq, &hash[..6])
}

fn find(bus: &mut Bus, repository: &str, mark: &str) -> Result<Option<Issue>, Refusal> {
    let path = format!(
        "/repos/{repository}/issues?creator={}&state=all&sort=created&direction=desc&per_page=100",
        part(&bus.account)
    );
    let issues: Vec<Issue> = model::list(&bus.client.list(&path, None)?.body);
    let own = |issue: &Issue| {
        bus.is_own(&issue.user.login) && text::marks(&issue.body).iter().any(|known| known == mark)
    };
    Ok(issues.into_iter().find(|issue| own(issue)))
}

/// Writes a task as the title and the body of an issue.
pub(crate) fn issue_text(task: &Task, dialect: &Dialect, mark: &str) -> (String, String) {
    let body = if is_ace(dialect) {
        let needs: String = task.requirements.iter().map(|one| format!("\n- {one}")).collect();
        format!("{}{}{needs}", task.description, if needs.is_empty() { "" } else { "\n" })
    } else {
        fenced(&TaskContract::of_task(task).render())
    };
    let title: String = task.title.chars().take(TITLE_CHARS_MAX).collect();
    (text::outgoing(&title), text::marked(&text::outgoing(&body), &[mark.to_owned()]))
}

fn make(bus: &mut Bus, task: &Task, repository: &str, mark: &str) -> Result<Issue, Refusal> {
    let dialect = bus.dialect(repository);
    let (title, body) = issue_text(task, &dialect, mark);
    let word = dialect.mark(task.status).word.filter(|_| dialect.carrier() == Carrier::Labels);
    let mut labels: Vec<String> = word.map(str::to_owned).into_iter().collect();
    labels.extend(task.role.and_then(|role| dialect.role_word(role)).map(str::to_owned));
    if !task.created_by.is_person() && !is_ace(&dialect) {
        labels.push("ai-generated".to_owned());
    }
    if repository != bus.home {
        let name = repository.split('/').next_back().unwrap_or_default();
        labels.push(short_label(&format!("repo:{name}")));
    }
    labels.extend(task.labels.iter().filter(|label| label.chars().count() <= 50).cloned());
    let body = json!({"title": title, "body": body, "labels": labels});
    let path = format!("/repos/{repository}/issues");
    match bus.client.send(Method::Post, &path, Some(&body), true) {
        Ok(answer) => Ok(model::one(&answer.body)),
        // It may be there: whoever publishes again finds it.
        Err(Trouble::Unknown(why)) => {
            if let Some(issue) = find(bus, repository, mark)? {
                return Ok(issue);
            }
            bus.wait_to_look();
            find(bus, repository, mark)?.ok_or_else(|| Trouble::Unknown(why).refusal())
        }
        Err(trouble) => Err(trouble.into()),
    }
}

fn short_label(label: &str) -> String {
    label.chars().take(50).collect()
}

/// Makes an issue part of an epic: as a sub-issue where GitHub has them, and with a label for another repository.
fn part_of(bus: &mut Bus, epic: u64, made: &PublishedTask) -> Result<(), Refusal> {
    let home = bus.home.clone();
    let Some(key) = IssueKey::parse(&made.issue, &home) else { return Ok(()) };
    let epic_path = format!("/repos/{home}/issues/{epic}");
    let issue: Issue = model::one(&bus.client.get(&key.path(), None)?.body);
    let body = json!({"sub_issue_id": issue.id});
    match bus.client.send(Method::Post, &format!("{epic_path}/sub_issues"), Some(&body), false) {
        // It is one already, or this GitHub has none.
        Ok(_) | Err(Trouble::Status { status: 404 | 410 | 422, .. }) => {}
        Err(trouble) => return Err(trouble.into()),
    }
    if key.repository == home {
        return Ok(());
    }
    let name = key.repository.split('/').next_back().unwrap_or_default();
    let label = short_label(&format!("project:{name}"));
    let labels = format!("/repos/{home}/labels");
    let about = label_body(&label, "d4c5f9", "Parts of this epic are in another repository.");
    match bus.client.send(Method::Post, &labels, Some(&about), true) {
        Ok(_) | Err(Trouble::Status { status: 422, .. }) => {}
        Err(trouble) => return Err(trouble.into()),
    }
    bus.client.send(
        Method::Post,
        &format!("{epic_path}/labels"),
        Some(&json!({"labels": [label]})),
        false,
    )?;
    Ok(())
}

/// Tells the epic which issues are its parts, each once.
fn report(bus: &mut Bus, epic: u64, mut parts: Vec<(String, String)>) -> Result<(), Refusal> {
    let path = format!("/repos/{}/issues/{epic}/comments", bus.home);
    let there: Vec<Comment> =
        model::list(&bus.client.list(&format!("{path}?per_page=100"), None)?.body);
    let own = there.iter().filter(|comment| bus.is_own(&comment.user.login));
    let said: Vec<String> = own.flat_map(|comment| text::marks(&comment.body)).collect();
    parts.retain(|(mark, _)| !said.contains(mark));
    if parts.is_empty() {
        return Ok(());
    }
    let (marks, lines): (Vec<String>, Vec<String>) = parts.into_iter().unzip();
    let said = text::outgoing(&format!("Parts of this epic:\n\n{}", lines.join("\n")));
    let body = json!({"body": text::marked(&said, &marks)});
    bus.client.send(Method::Post, &path, Some(&body), true)?;
    bus.save()
}

/// Opens a pull request for submitted work, or finds the one that is open.
pub(crate) fn pull(github: &Github, caller: &Caller, id: &str) -> Result<PullAnswer, Refusal> {
    let turn = crate::sync::Turn::take(github)?;
    let mut bus = github.bus(false)?;
    bus.hold(Some(turn));
    let task = bus.service.task(caller, id)?;
    claims::fence(github, &task)?;
    let wrong = |what: &str| {
        Refusal::new(Code::InvalidTransition, format!("{} {what}", task.id))
            .hint(say("submit the work first: ").quote(op("task.submit").id(&task.id)))
    };
    if !matches!(task.status, Status::Review | Status::Approved | Status::Merging) {
        return Err(wrong(&format!("is {}, so there is nothing to open", task.status)));
    }
    let branch = task.branch.clone().ok_or_else(|| wrong("has no branch"))?;
    let commit = task.commit.clone().ok_or_else(|| wrong("has no commit"))?;
    let tree = github.context.git_tree().cloned().ok_or_else(|| wrong("has no repository here"))?;
    let home = bus.home.clone();
    let owner = home.split('/').next().unwrap_or_default().to_owned();
    // No hook runs: what it would ask is asked here.
    let name = format!("refs/heads/{branch}");
    let (local, remote) = (name.clone(), name.clone());
    let pushed = [Push { local, commit: commit.clone(), remote }];
    if !protected_pushes(&pushed, &github.context.config.protected_branches()).is_empty() {
        return Err(wrong(&format!(
            "is on {branch}, a protected branch that nothing is pushed to"
        )));
    }
    let refs = [format!("{commit}:{name}")];
    carry(&tree, "origin", Way::There, &refs).map_err(|why| {
        Refusal::new(Code::GithubUnreachable, format!("cannot push {branch}: {why}"))
    })?;
    let base = github.context.config.base_branch().map(str::to_owned);
    let base = match base {
        Some(base) => base,
        None => {
            let answer = bus.client.get(&format!("/repos/{home}"), None)?;
            answer.body["default_branch"].as_str().unwrap_or("main").to_owned()
        }
    };
    let path =
        format!("/repos/{home}/pulls?state=open&head={owner}:{}&per_page=100", part(&branch));
    let open: Vec<Pull> = model::list(&bus.client.list(&path, None)?.body);
    let there = open.into_iter().find(|pull| pull.head.name == branch);
    let (pull, state) = match there {
        Some(pull) => (pull, "found"),
        None => {
            let files = changed(&tree, &base, &commit);
            (open_pull(&mut bus, &task, &branch, &base, files)?, "made")
        }
    };
    let changes = TaskUpdated { pr: Some(pull.html_url.clone()), ..TaskUpdated::default() };
    let command = Command::UpdateTask {
        id: task.id.to_string(),
        changes: Box::new(changes),
        constraints: ConstraintChanges::default(),
        if_match: None,
    };
    if task.pr.as_ref() != Some(&pull.html_url) {
        // Whoever asked for it, it is what GitHub says.
        let actor = comity_core::ids::AgentId::github();
        let caller = Caller { key: None, actor, fence: None, ..caller.clone() };
        bus.service.execute(caller.request(command))?;
    }
    bus.save()?;
    let (task, url) = (task.id.to_string(), pull.html_url);
    Ok(PullAnswer { task, number: pull.number, url, state: state.to_owned() })
}

/// Lists the files that the work changes.
fn changed(tree: &Path, base: &str, commit: &str) -> Option<Vec<String>> {
    let git = Git::at(tree);
    let tip = git.commit(&format!("origin/{base}")).or_else(|| git.commit(base))?;
    let from = git.line(&["merge-base", "--end-of-options", &tip, commit])?;
    let changes = comity_guard::diff::changes(&git, &from, commit)?;
    Some(changes.into_iter().map(|change| change.file.path).collect())
}

/// Says how the gate `tests` ended, and how far that is to be trusted.
fn tests(task: &Task) -> Option<String> {
    let seen = task.gates.iter().find(|gate| gate.name == "tests")?.evidence.as_ref()?;
    Some(format!("{} ({})", if seen.pass { "Passed" } else { "Failed" }, seen.tier.as_str()))
}

fn open_pull(
    bus: &mut Bus,
    task: &Task,
    branch: &str,
    base: &str,
    files: Option<Vec<String>>,
) -> Result<Pull, Refusal> {
    let home = bus.home.clone();
    let result = ResultContract {
        status: "success".to_owned(),
        files_modified: files.unwrap_or_else(|| task.files.clone()),
        test_results: tests(task),
        ..ResultContract::default()
    };
    let issue = linked(task, &home).map(|key| match key.repository == home {
        true => format!("Part of #{}\n\n", key.number),
        false => format!("Part of {key}\n\n"),
    });
    let text = format!("{}{}", issue.unwrap_or_default(), fenced(&result.render()));
    let body = json!({
        "title": text::outgoing(&task.title.chars().take(TITLE_CHARS_MAX).collect::<String>()),
        "head": branch,
        "base": base,
        "body": text::outgoing(&text),
    });
    let answer =
        bus.client.send(Method::Post, &format!("/repos/{home}/pulls"), Some(&body), true)?;
    Ok(model::one(&answer.body))
}
