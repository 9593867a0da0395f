//! One project at GitHub: its settings, its account, its rows, and what a pass reports.

use crate::auth::Token;
use crate::client::{Client, Trouble, now};
use crate::model::{self, Permission};
use crate::rows::{ACCOUNTS, LevelRow, Progress, Rows};
use crate::shared::Shared;
use crate::sync::Turn;
use crate::text;
use comity_api::{GithubFinding, GithubQuota, GithubSync};
use comity_core::chain::Hash;
use comity_core::command::{Command, NewTask};
use comity_core::ids::AgentId;
use comity_core::observed::Observed;
use comity_core::outside::{Level, OutsideSeen};
use comity_core::refusal::Refusal;
use comity_core::task::Task;
use comity_core::time::Millis;
use comity_core::via::Via;
use comity_engine::{Caller, Reply, Service};
use comity_project::Context;
use comity_project::github::{Account, GithubSettings, is_repository};
use comity_protocol::labels::Dialect;
use serde_json::json;
use std::collections::BTreeSet;

/// How long the rights of a login are believed.
const LEVEL_LIFE: Millis = Millis::from_secs(600);
/// What a lost answer takes until it is looked for, in paces: GitHub's lists lag.
pub(crate) const LOOK_PACES: i64 = 5;
pub(crate) const PROVIDER: &str = "github";
pub(crate) const ISSUE: &str = "issue";

/// One project, and its store.
#[derive(Clone)]
pub struct Github {
    pub context: Context,
    pub service: Service,
}

impl comity_engine::Whereabouts for Github {
    fn far(&self) -> Option<&std::sync::Arc<dyn comity_engine::Far>> {
        self.service.far()
    }
}

/// An issue of a repository, written `OWNER/NAME#N`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IssueKey {
    pub(crate) repository: String,
    pub(crate) number: u64,
}

impl std::fmt::Display for IssueKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.repository, self.number)
    }
}

impl IssueKey {
    /// Reads `N` of the home repository, `#N`, or `OWNER/NAME#N`.
    pub(crate) fn parse(text: &str, home: &str) -> Option<IssueKey> {
        let (repository, number) = text.trim().rsplit_once('#').unwrap_or(("", text.trim()));
        let number = number.parse().ok().filter(|number| *number > 0)?;
        let repository = if repository.is_empty() { home } else { repository };
        is_repository(repository).then(|| IssueKey { repository: repository.to_owned(), number })
    }

    /// Reads the address of an issue at GitHub's API.
    pub(crate) fn of_url(url: &str) -> Option<IssueKey> {
        let (place, number) = url.rsplit_once("/issues/")?;
        let mut parts = place.rsplit('/');
        let (name, owner) = (parts.next()?, parts.next()?);
        IssueKey::parse(&format!("{owner}/{name}#{number}"), "")
    }

    pub(crate) fn link(&self, home: &str) -> String {
        if self.repository == home { self.number.to_string() } else { self.to_string() }
    }

    pub(crate) fn path(&self) -> String {
        format!("/repos/{}/issues/{}", self.repository, self.number)
    }
}

/// Who did something on GitHub.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Who {
    pub(crate) login: String,
    pub(crate) actor: AgentId,
    /// None for an agent that the settings name: its roles count.
    pub(crate) level: Option<Level>,
}

pub(crate) struct Bus {
    pub(crate) context: Context,
    pub(crate) service: Service,
    pub(crate) settings: GithubSettings,
    pub(crate) client: Client,
    pub(crate) rows: Rows,
    pub(crate) home: String,
    /// The login that the token belongs to.
    pub(crate) account: String,
    /// Tells this store from every other in marks.
    pub(crate) engine: String,
    pub(crate) report: GithubSync,
    pub(crate) dry_run: bool,
    /// The words of a board as it spells them.
    pub(crate) spelled: Option<Dialect>,
}

/// Returns the repository on GitHub that a project belongs to.
pub(crate) fn home(context: &Context, settings: &GithubSettings) -> Result<String, Refusal> {
    let of_remote = || Some(context.repo.to_string()).filter(|name| is_repository(name));
    settings.repository.clone().or_else(of_remote).ok_or_else(|| {
        Refusal::input("comity does not know the repository on GitHub")
            .hint("name it in the settings: key github.repository, as OWNER/NAME")
    })
}

impl Bus {
    pub(crate) fn open(github: &Github, dry_run: bool) -> Result<Bus, Refusal> {
        let settings = github.context.config.github()?;
        let home = home(&github.context, &settings)?;
        let token = Token::find(&github.context, &settings)?;
        let mark = match &token {
            Token::Fixed(token) => Hash::of(token.as_bytes()).to_string()[..16].to_owned(),
            Token::App(app) => format!("app-{}", app.installation),
        };
        let mut client = Client::new(&settings.api_url, token, settings.pace)?;
        client.read_only = dry_run;
        let rows = Rows::open(&github.service, &github.context.repo)?;
        let first = github.service.first_event()?;
        let engine = first.map_or_else(|| "00000000".to_owned(), |event| event.hash.to_string());
        let service = if dry_run { github.service.trial()? } else { github.service.clone() };
        let report = GithubSync { repo: home.clone(), dry_run, ..GithubSync::default() };
        let mut bus = Bus {
            context: github.context.clone(),
            service,
            settings,
            client,
            rows,
            home,
            account: String::new(),
            engine: text::short(&engine).to_owned(),
            report,
            dry_run,
            spelled: None,
        };
        bus.meet(&format!("login/{}/{mark}", bus.settings.api_url))?;
        Ok(bus)
    }

    /// Learns whose token it is, and what that account has written.
    fn meet(&mut self, key: &str) -> Result<(), Refusal> {
        let known = self.service.kept(ACCOUNTS)?;
        let login = known.get(key).and_then(|bytes| String::from_utf8(bytes.clone()).ok());
        self.account = match login {
            Some(login) => login,
            None => {
                let login = self.ask_login()?;
                let (row, value) = (key.to_owned(), login.clone().into_bytes());
                if !self.dry_run {
                    self.service.change_kept(ACCOUNTS, move |_| (vec![(row, Some(value))], ()))?;
                }
                login
            }
        };
        let row = format!("ledger/{}/{}", self.settings.api_url, self.account);
        let shared = Shared::new(self.service.clone(), row);
        self.client.ledger = shared.read()?.with(&self.client.ledger);
        self.client.shared = Some(shared).filter(|_| !self.dry_run);
        Ok(())
    }

    /// Does what follows in this turn, and no further than it lasts.
    pub(crate) fn hold(&mut self, turn: Option<Turn>) {
        if let (Some(turn), Some(shared)) = (turn, &mut self.client.shared) {
            shared.hold(turn);
        }
    }

    fn ask_login(&mut self) -> Result<String, Refusal> {
        if let Token::App(_) = self.client.token() {
            let app = self.client.get_as_app("/app")?;
            return Ok(format!("{}[bot]", app.body["slug"].as_str().unwrap_or_default()));
        }
        let user = self.client.get("/user", None)?;
        Ok(user.body["login"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until what was sent shows in lists.
    pub(crate) fn wait_to_look(&self) {
        let wait = LOOK_PACES * self.settings.pace.ms();
        std::thread::sleep(std::time::Duration::from_millis(wait.unsigned_abs()));
    }

    pub(crate) fn is_app(&self) -> bool {
        matches!(self.client.token(), Token::App(_))
    }

    /// Writes everything that is remembered.
    pub(crate) fn save(&mut self) -> Result<(), Refusal> {
        if self.dry_run {
            return Ok(());
        }
        self.rows.save(&self.service)?;
        self.save_ledger()
    }

    pub(crate) fn save_ledger(&mut self) -> Result<(), Refusal> {
        let client = &mut self.client;
        client.shared.as_ref().map_or(Ok(()), |shared| shared.save(&mut client.ledger))
    }

    pub(crate) fn quota(&self) -> GithubQuota {
        self.client.ledger.view(Some(self.account.clone()), now())
    }

    pub(crate) fn dialect(&self, repository: &str) -> Dialect {
        let dialect = self.settings.dialect(repository);
        let spelled = self.spelled.as_ref().filter(|spelled| spelled.name() == dialect.name());
        spelled.unwrap_or(dialect).clone()
    }

    pub(crate) fn finding(
        &mut self,
        kind: &str,
        issue: Option<&IssueKey>,
        why: String,
        hint: &str,
    ) {
        let issue = issue.map(ToString::to_string);
        let finding = GithubFinding { kind: kind.to_owned(), issue, why, hint: hint.to_owned() };
        if !self.report.findings.contains(&finding) {
            self.report.findings.push(finding);
        }
    }

    pub(crate) fn is_own(&self, login: &str) -> bool {
        login.eq_ignore_ascii_case(&self.account)
    }

    /// Says who a login is here; none is somebody who may do nothing.
    pub(crate) fn who(&mut self, repository: &str, login: &str) -> Result<Option<Who>, Trouble> {
        let lower = login.to_ascii_lowercase();
        // Agents write with the account, too: whoever it belongs to judges nothing with it.
        let shares = self.settings.account == Account::Person && self.is_own(login);
        if let Some(actor) = self.settings.agents.get(&lower).cloned().filter(|_| !shares) {
            return Ok(Some(Who { login: login.to_owned(), actor, level: None }));
        }
        let listed = self.settings.people.get(&lower).cloned();
        let actor = listed.clone().or_else(|| AgentId::parse(&format!("human:{login}")).ok());
        // An App is nobody, whatever it calls itself.
        let Some(actor) = actor.filter(|_| !login.is_empty() && !login.ends_with("[bot]")) else {
            return Ok(None);
        };
        let mut level = self.level(repository, login)?;
        // Where a person lends the account, only people whom the settings name judge work.
        if shares || self.lends_an_account() && listed.is_none() {
            level = level.min(Level::Triage);
        }
        Ok((level >= Level::Triage).then(|| Who {
            login: login.to_owned(),
            actor,
            level: Some(level),
        }))
    }

    /// Every repository that is named or linked.
    pub(crate) fn repositories(&self) -> Vec<String> {
        let mut all = vec![self.home.clone()];
        let linked = self.rows.issues().into_iter();
        let linked = linked.filter_map(|key| IssueKey::parse(&key, &self.home));
        all.extend(self.settings.repositories.iter().cloned());
        all.extend(linked.map(|key| key.repository));
        let mut seen = BTreeSet::new();
        all.retain(|name| seen.insert(name.to_lowercase()));
        all
    }

    /// Tells whether a login is that of a person, whom one can ask. The account of a bot is nobody's.
    pub(crate) fn is_person(&self, login: &str) -> bool {
        let is_agent = self.settings.agents.contains_key(&login.to_ascii_lowercase());
        let is_bot = self.is_own(login) && self.settings.account == Account::Bot;
        !login.is_empty() && !login.ends_with("[bot]") && !is_agent && !is_bot
    }

    /// Tells whether a person shares the account, or stands for the agents as who is assigned.
    fn lends_an_account(&self) -> bool {
        let assigned = self.settings.assignee.as_deref().filter(|login| !self.is_own(login));
        let is_agent = |login: &str| self.settings.agents.contains_key(&login.to_ascii_lowercase());
        self.settings.account == Account::Person || assigned.is_some_and(|login| !is_agent(login))
    }

    pub(crate) fn level(&mut self, repository: &str, login: &str) -> Result<Level, Trouble> {
        let key = format!("level/{repository}/{}", login.to_ascii_lowercase());
        let known: LevelRow = self.rows.get(&key);
        if now().ms() - known.at < LEVEL_LIFE.ms()
            && let Ok(level) = Level::parse(&known.level)
        {
            return Ok(level);
        }
        let path = format!("/repos/{repository}/collaborators/{login}/permission");
        let level = match self.client.get(&path, None) {
            Ok(answer) => {
                let told: Permission = model::one(&answer.body);
                let role =
                    Level::parse(&told.role_name).or_else(|_| Level::parse(&told.permission));
                role.unwrap_or(Level::None)
            }
            Err(trouble) if trouble.is_gone() => Level::None,
            Err(Trouble::Status { status: 403, message, .. }) => {
                return Err(Trouble::Unauthorized(format!("cannot ask for rights: {message}")));
            }
            Err(trouble) => return Err(trouble),
        };
        let row = LevelRow { level: level.as_str().to_owned(), at: now().ms() };
        self.rows.put(&key, &row);
        Ok(level)
    }

    /// Who may not queue work allows no deletions, either, and neither do agents with the account.
    pub(crate) fn bounds(
        &mut self,
        new: &mut NewTask,
        repository: &str,
        author: &str,
    ) -> Result<(), Trouble> {
        if new.constraints.allow_delete.is_empty() {
            return Ok(());
        }
        if self.is_own(author) || self.level(repository, author)? < Level::Triage {
            new.constraints.allow_delete.clear();
        }
        Ok(())
    }

    /// Runs a command for somebody on GitHub. What GitHub says about it comes along as an observation.
    pub(crate) fn act(
        &self,
        who: &Who,
        issue: &IssueKey,
        source: &str,
        command: Command,
        seen: Observed,
    ) -> Result<Reply, Refusal> {
        let outside = who.level.map(|level| OutsideSeen { login: who.login.clone(), level });
        let seen = Observed { outside, ..seen };
        let caller = self.caller(who.actor.clone(), Some(&who.login), issue, source);
        self.execute(&caller, command, seen)
    }

    /// Runs a command that nobody in particular asked for.
    pub(crate) fn record(
        &self,
        issue: &IssueKey,
        source: &str,
        command: Command,
        seen: Observed,
    ) -> Result<Reply, Refusal> {
        let caller = self.caller(AgentId::github(), None, issue, source);
        self.execute(&caller, command, seen)
    }

    /// Runs a command with what GitHub says about it. What judges work is looked at here, as at every other door.
    fn execute(&self, caller: &Caller, command: Command, seen: Observed) -> Result<Reply, Refusal> {
        let mut request = caller.request(command);
        request.observed = seen;
        if let Some(observer) = &self.context.observer {
            request.observed.rules = self.service.rules_seen(&request, observer.as_ref())?;
        }
        self.service.execute(request)
    }

    fn caller(
        &self,
        actor: AgentId,
        login: Option<&str>,
        issue: &IssueKey,
        source: &str,
    ) -> Caller {
        let source = format!("gh:{issue}:{source}");
        let via = Via {
            client: Some(PROVIDER.to_owned()),
            session: login.map(str::to_owned),
            source: Some(source.clone()),
            ..Via::default()
        };
        Caller { key: Some(source), via, ..Caller::new(actor, self.context.repo.clone()) }
    }

    pub(crate) fn task(&self, id: &str) -> Option<Task> {
        let caller = Caller::new(AgentId::github(), self.context.repo.clone());
        self.service.task(&caller, id).ok()
    }

    /// Names this moment of the log, for what may happen again later.
    pub(crate) fn stamp(&self) -> String {
        self.service.log_head().map(|head| head.seq.to_string()).unwrap_or_default()
    }

    /// Tells whether something waits to be sent that can be.
    pub(crate) fn has_unsent(&self) -> bool {
        let unsent = |op: &crate::rows::OpRow| {
            let row = self.rows.issue(&op.issue);
            op.dead.is_none() && op.not_before <= now().ms() && !row.is_held_back()
        };
        self.client.ledger.wait_to_read(now()).ms() == 0
            && self.rows.ops().iter().any(|(_, op)| unsent(op))
    }

    pub(crate) fn progress(&self) -> Progress {
        self.rows.progress()
    }

    pub(crate) fn set_progress(&mut self, progress: &Progress) {
        self.rows.put("main", progress);
    }

    /// Throws away what was noted since the rows were written last: a pass that ends early has not looked at it.
    pub(crate) fn discard(&mut self) -> Result<(), Refusal> {
        self.rows = Rows::open(&self.service, &self.context.repo)?;
        Ok(())
    }

    /// Gives up a pass. Where another process took over, what this one noted counts no more.
    pub(crate) fn gives_up(&mut self, trouble: &Trouble) -> Refusal {
        let refusal = trouble.refusal();
        if matches!(trouble, Trouble::Here(_)) {
            let _ = self.discard();
            return refusal;
        }
        self.failed(refusal)
    }

    /// Gives up what a write or a question came to, with what is remembered kept.
    pub(crate) fn failed(&mut self, refusal: Refusal) -> Refusal {
        let mut progress = self.progress();
        progress.last_error = Some(refusal.message.clone());
        self.set_progress(&progress);
        let _ = self.save();
        refusal
    }
}

/// Returns the body of a label to be made.
pub(crate) fn label_body(name: &str, color: &str, description: &str) -> serde_json::Value {
    json!({"name": name, "color": color, "description": description})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_is_named_by_its_number_at_home_and_with_its_repository_elsewhere() {
        let at = |text| IssueKey::parse(text, "acme/app").map(|key| key.to_string());
        assert_eq!(at("7").as_deref(), Some("acme/app#7"));
        assert_eq!(at("#7").as_deref(), Some("acme/app#7"));
        assert_eq!(at("acme/web#7").as_deref(), Some("acme/web#7"));
        for no in ["", "0", "x", "acme#7", "a/b/c#1", "../x#1"] {
            assert_eq!(at(no), None, "{no}");
        }
        let key = IssueKey::parse("acme/web#7", "acme/app").unwrap();
        assert_eq!((key.link("acme/app"), key.link("acme/web")), ("acme/web#7".into(), "7".into()));
    }
}
