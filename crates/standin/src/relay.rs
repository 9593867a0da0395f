//! The door of the stand-in: who asks, what the quota says, what goes wrong, and what was asked.

use crate::emulator::{Emulator, Seed, node, packages, repository};
use crate::extras::rate_limit;
use crate::faults::{Fault, Rule};
use crate::hooks::Hooks;
use crate::http::{self, Request, Response};
use crate::world::World;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The document of a server of a company.
const SERVER: &str = "ghes-3.19";

/// One call, as it was made and answered.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Whose token.
    pub login: String,
    /// GET, POST, …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The body; null where there is none.
    pub body: Value,
    /// What was answered; 0 where the answer was lost.
    pub status: u16,
    /// Whether it costs quota: a 304 does not.
    pub is_counted: bool,
    /// When, since the start.
    pub at: Duration,
}

impl Entry {
    /// Whether it may change something.
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }
}

#[derive(Default)]
struct Desk {
    rules: Vec<Rule>,
    log: Vec<Entry>,
    /// All that comity asked, each once.
    asked: Vec<Value>,
    remaining: HashMap<String, u64>,
    served: HashMap<String, Response>,
}

/// GitHub on loopback.
pub struct Hub {
    /// The address of its API.
    pub url: String,
    /// The deliveries of its webhooks.
    pub hooks: Hooks,
    address: String,
    packages: PathBuf,
    shared: Arc<Shared>,
    _emulator: Emulator,
}

struct Shared {
    world: Mutex<World>,
    desk: Mutex<Desk>,
    users: Vec<String>,
    url: String,
    /// The path that the API is below.
    base: String,
    faulty: String,
    started: Instant,
}

impl Hub {
    /// Starts it. Where its packages cannot be had there is none, and the reason is said; with `COMITY_GITHUB=required`
    /// that is a failure.
    pub fn start(seed: &Seed) -> Option<Hub> {
        let packages = match packages() {
            Ok(packages) => packages,
            Err(why) if std::env::var("COMITY_GITHUB").is_ok_and(|value| value == "required") => {
                panic!("{why}")
            }
            Err(why) => {
                eprintln!("GitHub on loopback: NOT CHECKED: {why}");
                return None;
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // PyGithub wants the name of the host in the addresses that it is given.
        let url = address.replace("127.0.0.1", "http://localhost");
        let emulator = Emulator::start(&packages, seed, &url);
        let hook_listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let world = World {
            emulator: emulator.address.clone(),
            url: url.clone(),
            issues: HashMap::new(),
            comments: HashMap::new(),
            edited: Default::default(),
            statuses: HashMap::new(),
            children: HashMap::new(),
            boards: HashMap::new(),
            board_events: HashMap::new(),
            ahead: 0,
            reasons: HashMap::new(),
            git: HashMap::new(),
            heads: HashMap::new(),
            merges: HashMap::new(),
            moved: HashMap::new(),
            gone: Default::default(),
            hook_address: hook_listener.local_addr().unwrap().to_string(),
            hook_targets: Vec::new(),
        };
        for (repo, login, level) in &seed.levels {
            let (owner, _) = repo.split_once('/').unwrap();
            let word = if level == "write" { "push" } else { level };
            let done = world.ask(
                owner,
                "PUT",
                &format!("/repos/{repo}/collaborators/{login}"),
                Some(&json!({ "permission": word })),
            );
            assert!(done.is_fine(), "{done:?}");
        }
        let shared = Shared {
            world: Mutex::new(world),
            desk: Mutex::default(),
            users: seed.users.clone(),
            url: url.clone(),
            base: seed.base.clone(),
            faulty: "comity-bot".to_owned(),
            started: Instant::now(),
        };
        let shared = Arc::new(shared);
        let known = Arc::clone(&shared);
        let hooks = Hooks::start(
            hook_listener,
            Arc::new(move |at| known.world.lock().unwrap().hook_targets.get(at).cloned()),
        );
        let known = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let known = Arc::clone(&known);
                std::thread::spawn(move || known.serve(stream));
            }
        });
        Some(Hub { url, hooks, address, packages, shared, _emulator: emulator })
    }

    /// Adds a rule about what goes wrong for `comity-bot`, or for the App.
    pub fn fault(&self, rule: Rule) {
        self.shared.desk.lock().unwrap().rules.push(rule);
    }

    /// Nothing goes wrong any more.
    pub fn calm(&self) {
        self.shared.desk.lock().unwrap().rules.clear();
    }

    /// Sets how many calls of the hour somebody has left.
    pub fn quota(&self, login: &str, remaining: u64) {
        self.shared.desk.lock().unwrap().remaining.insert(login.to_owned(), remaining);
    }

    /// What `comity-bot`, or the App, has asked since the last time that the log was emptied.
    pub fn log(&self) -> Vec<Entry> {
        let desk = self.shared.desk.lock().unwrap();
        desk.log.iter().filter(|entry| self.shared.is_faulty(&entry.login)).cloned().collect()
    }

    /// Empties the log.
    pub fn forget(&self) {
        self.shared.desk.lock().unwrap().log.clear();
    }

    /// Says where the commits of a repository are pushed to.
    pub fn git(&self, repo: &str, bare: &Path) {
        self.shared.world.lock().unwrap().git.insert(repo.to_owned(), bare.to_owned());
    }

    /// Makes a board of somebody, with the field `Status`.
    pub fn board(&self, owner: &str, number: u64) {
        self.shared.world.lock().unwrap().boards.insert(format!("{owner}/{number}"), Vec::new());
    }

    /// GitHub's clock goes on: this much time passes there.
    pub fn later(&self, time: Duration) {
        let seconds = i64::try_from(time.as_secs()).unwrap();
        self.shared.world.lock().unwrap().ahead += seconds;
    }

    /// An issue (`o/n#1`) was moved to another place.
    pub fn moved(&self, from: &str, to: &str) {
        let mut world = self.shared.world.lock().unwrap();
        world.issues.clear();
        world.moved.insert(from.to_owned(), to.to_owned());
    }

    /// An issue was deleted.
    pub fn deleted(&self, issue: &str) {
        let mut world = self.shared.world.lock().unwrap();
        world.issues.clear();
        world.gone.insert(issue.to_owned());
    }

    /// Does something as somebody; it must succeed.
    pub fn person(&self, login: &str, method: &str, target: &str, body: Value) -> Value {
        let said = self.tries(login, method, target, body);
        assert!(
            said.is_fine(),
            "{login}: {method} {target}: {} {}",
            said.status,
            String::from_utf8_lossy(&said.body)
        );
        said.value()
    }

    /// Does something as somebody, whatever is answered.
    pub fn tries(&self, login: &str, method: &str, target: &str, body: Value) -> Response {
        let mut request = Request::new(method, target, Some(&body).filter(|body| !body.is_null()));
        request.headers.push(("authorization".to_owned(), format!("Bearer gho_{login}")));
        http::call(&self.address, &request).unwrap()
    }

    /// Runs a script of `tests/github` with the packages: JavaScript, or Python.
    pub fn script(&self, name: &str, args: &[&str]) -> Result<String, String> {
        let file = repository().join("tests/github").join(name);
        let program = if name.ends_with(".py") {
            self.packages.join("python/bin/python")
        } else {
            node(&self.packages)
        };
        let mut command = Command::new(program);
        command.arg(file).args(args).env("GITHUB_URL", &self.url).env("PACKAGES", &self.packages);
        let done = command.output().map_err(|error| error.to_string())?;
        let (out, err) = (
            String::from_utf8_lossy(&done.stdout).into_owned(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        );
        if done.status.success() { Ok(out) } else { Err(format!("{name} {args:?}: {out}{err}")) }
    }

    /// Holds everything that comity asked against GitHub's own OpenAPI document. Returns how many calls that were.
    ///
    /// # Panics
    /// With all that is wrong.
    pub fn requests_are_valid(&self) -> usize {
        let calls = self.shared.desk.lock().unwrap().asked.clone();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json!(calls).to_string()).unwrap();
        let document = if self.shared.base.is_empty() { "api.github.com" } else { SERVER };
        let file = file.path().display().to_string();
        if let Err(wrong) = self.script("openapi.mjs", &[&file, document]) {
            panic!("{wrong}");
        }
        calls.len()
    }
}

impl Shared {
    fn is_faulty(&self, login: &str) -> bool {
        login == self.faulty || login.ends_with("[bot]")
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Ok(Some(mut request)) = http::read_request(&mut reader) {
            let below = match request.target.strip_prefix(&self.base) {
                Some(rest) if !self.base.is_empty() => {
                    request.target = rest.to_owned();
                    true
                }
                _ => false,
            };
            let Some(mut response) = self.answer(&request) else { return };
            if below {
                self.moved_below(&mut response);
            }
            if http::write_response(reader.get_mut(), &response).is_err() {
                return;
            }
        }
    }

    /// A server of a company has its API below a path, and says so in every address.
    fn moved_below(&self, response: &mut Response) {
        let (plain, moved) =
            (format!("{}/repos/", self.url), format!("{}{}/repos/", self.url, self.base));
        if let Ok(text) = std::str::from_utf8(&response.body) {
            response.body = text.replace(&plain, &moved).into_bytes();
        }
        for name in ["link", "location"] {
            if let Some(text) = response.header(name).map(|text| text.replace(&plain, &moved)) {
                response.set(name, text);
            }
        }
    }

    /// The login of a token. Tokens of the App, and what it signs, are the emulator's business.
    fn login(&self, request: &Request) -> Result<String, Response> {
        let Some(said) = request.header("authorization") else { return Ok(String::new()) };
        let token = said.split_once(' ').map_or(said, |(_, token)| token).trim();
        if token.starts_with("ghs_") || token.contains('.') {
            return Ok("comity[bot]".to_owned());
        }
        let login = token
            .strip_prefix("gho_")
            .filter(|login| self.users.iter().any(|known| known == login));
        login.map(str::to_owned).ok_or_else(|| Response::refusal(401, "Bad credentials"))
    }

    fn answer(&self, request: &Request) -> Option<Response> {
        let login = match self.login(request) {
            Ok(login) => login,
            Err(refused) => return Some(self.kept("", request, refused)),
        };
        let fault = self.is_faulty(&login).then(|| self.fault(request)).flatten();
        match fault {
            None => {}
            Some(Fault::Refused) => return self.lost(&login, request),
            Some(Fault::Before(status)) => {
                return Some(self.kept(&login, request, Response::refusal(status, "Server Error")));
            }
            Some(Fault::After(status)) => {
                self.carried_out(request, &login);
                return Some(self.kept(&login, request, Response::refusal(status, "Server Error")));
            }
            Some(Fault::Lost) => {
                self.carried_out(request, &login);
                return self.lost(&login, request);
            }
            Some(Fault::Primary(seconds)) => {
                let mut refused =
                    Response::refusal(403, &format!("API rate limit exceeded for user {login}."));
                refused.set("x-ratelimit-remaining", 0);
                refused.set("x-ratelimit-reset", jiff::Timestamp::now().as_second() + seconds);
                return Some(self.kept(&login, request, refused));
            }
            Some(Fault::Secondary(wait)) => {
                let mut refused = Response::refusal(
                    403,
                    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
                );
                if let Some(seconds) = wait {
                    refused.set("retry-after", seconds);
                }
                return Some(self.kept(&login, request, refused));
            }
            Some(Fault::Dropped) => {
                let (thing, _) =
                    request.target.rsplit_once("/assignees").unwrap_or((&request.target, ""));
                let thing = thing
                    .rsplit_once("/labels/")
                    .map_or(thing.to_owned(), |(issue, _)| format!("{issue}/labels"));
                let same = self.carried_out(&Request::new("GET", &thing, None), &login);
                return Some(self.kept(&login, request, same));
            }
            Some(Fault::Slow(time)) => std::thread::sleep(time),
            Some(Fault::Stale) => {
                let old = self.desk.lock().unwrap().served.get(&request.target).cloned();
                if let Some(old) = old.filter(|_| !request.is_write()) {
                    return Some(self.kept(&login, request, old));
                }
            }
        }
        let response = self.carried_out(request, &login);
        let response = conditional(request, &login, response);
        Some(self.kept(&login, request, response))
    }

    fn fault(&self, request: &Request) -> Option<Fault> {
        self.desk.lock().unwrap().rules.iter_mut().find_map(|rule| rule.of(request))
    }

    fn carried_out(&self, request: &Request, login: &str) -> Response {
        let (remaining, reset) = self.quota(login);
        if let Some(said) = rate_limit(request, remaining, reset) {
            return said;
        }
        if remaining == 0 {
            return Response::refusal(403, &format!("API rate limit exceeded for user {login}."));
        }
        self.world.lock().unwrap().answer(request, login)
    }

    /// What is left of the hour, and when it ends.
    fn quota(&self, login: &str) -> (u64, i64) {
        let remaining =
            *self.desk.lock().unwrap().remaining.entry(login.to_owned()).or_insert(5000);
        let left = Duration::from_secs(3600).saturating_sub(self.started.elapsed());
        (remaining, jiff::Timestamp::now().as_second() + i64::try_from(left.as_secs()).unwrap_or(0))
    }

    fn lost(&self, login: &str, request: &Request) -> Option<Response> {
        self.write_down(login, request, 0, true);
        None
    }

    /// The answer with what every answer of GitHub says, written down.
    fn kept(&self, login: &str, request: &Request, mut response: Response) -> Response {
        let is_counted = response.status != 304 && request.path() != "/rate_limit";
        self.write_down(login, request, response.status, is_counted);
        let (_, reset) = self.quota(login);
        let mut desk = self.desk.lock().unwrap();
        let left = desk.remaining.entry(login.to_owned()).or_insert(5000);
        *left = left.saturating_sub(u64::from(is_counted));
        let known = response.header("x-ratelimit-remaining") == Some("0")
            && response.header("x-ratelimit-reset").is_some()
            && response.status == 403;
        if !known {
            response.set("x-ratelimit-remaining", *left);
            response.set("x-ratelimit-reset", reset);
        }
        response.set("x-ratelimit-limit", 5000);
        response.set("x-ratelimit-used", 5000 - (*left).min(5000));
        response.set("x-ratelimit-resource", "core");
        response.set("x-github-request-id", format!("{:04X}:{:06X}", desk.log.len(), reset));
        let ahead = jiff::SignedDuration::from_secs(self.world.lock().unwrap().ahead);
        let date = jiff::Timestamp::now() + ahead;
        response.set("date", date.strftime("%a, %d %b %Y %H:%M:%S GMT"));
        if request.method == "GET" && response.status == 200 {
            desk.served.insert(request.target.clone(), response.clone());
        }
        response
    }

    fn write_down(&self, login: &str, request: &Request, status: u16, is_counted: bool) {
        let entry = Entry {
            login: login.to_owned(),
            method: request.method.clone(),
            target: request.target.clone(),
            body: request.json(),
            status,
            is_counted,
            at: self.started.elapsed(),
        };
        let asked = json!({ "method": entry.method, "target": entry.target, "body": entry.body });
        let mut desk = self.desk.lock().unwrap();
        if self.is_faulty(login) && !desk.asked.contains(&asked) {
            desk.asked.push(asked);
        }
        desk.log.push(entry);
    }
}

/// An ETag for each answer, which differs for each token, and 304 where the caller has it.
fn conditional(request: &Request, login: &str, mut response: Response) -> Response {
    if request.method != "GET" || response.status != 200 {
        return response;
    }
    let mut hasher = DefaultHasher::new();
    (login, &response.body, response.header("link")).hash(&mut hasher);
    let tag = format!("W/\"{:016x}\"", hasher.finish());
    response.set("etag", &tag);
    response.set("cache-control", "private, max-age=60, s-maxage=60");
    if request
        .header("if-none-match")
        .is_some_and(|known| known.split(',').any(|one| one.trim() == tag))
    {
        response.status = 304;
        response.body.clear();
    }
    response
}
