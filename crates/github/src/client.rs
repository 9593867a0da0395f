//! One account at GitHub: paced writes, each sent once; conditional questions; what every answer says about limits.
//!
//! Nothing is tried again here but questions. A write whose answer is lost is the caller's to look for.

use crate::auth::Token;
use crate::model;
use crate::quota::{Ledger, Pace, WAIT_MAX};
use crate::shared::Shared;
use comity_core::refusal::{Code, Refusal};
use comity_core::time::{Millis, Timestamp};
use comity_store::{Clock, SystemClock};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

const VERSION: &str = "2022-11-28";
const TIMEOUT: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// A question is asked so often.
const ASKED_MAX: u32 = 3;
const PAGES_MAX: usize = 100;
/// Words with which GitHub says that somebody writes too fast.
const TOO_FAST: [&str; 4] = ["secondary rate", "rate limit", "abuse", "temporarily blocked"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Post,
    Patch,
    Delete,
}

/// Why there is no good answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// Nothing was done: the account has to wait.
    Wait(Millis),
    /// Nobody knows whether it was done.
    Unknown(String),
    Unauthorized(String),
    /// This GitHub, or this board, does not have what is needed.
    Unsupported(String),
    /// This side cannot go on: another process took over, or the store fails.
    Here(Box<Refusal>),
    /// GitHub says no.
    Status {
        status: u16,
        message: String,
        wants: Option<String>,
    },
}

impl Trouble {
    pub fn refusal(&self) -> Refusal {
        match self {
            Trouble::Wait(wait) => Refusal::new(
                Code::GithubUnreachable,
                format!("GitHub asks to wait for {wait}; nothing was lost"),
            ),
            Trouble::Unknown(why) => {
                Refusal::new(Code::GithubUnreachable, format!("GitHub does not answer: {why}"))
            }
            Trouble::Unauthorized(why) => {
                Refusal::new(Code::GithubUnauthorized, format!("GitHub refuses the token: {why}"))
            }
            Trouble::Unsupported(why) => Refusal::new(Code::GithubUnsupported, why),
            Trouble::Here(refusal) => Refusal::clone(refusal),
            Trouble::Status { status: 403, message, wants } => {
                let wants = wants.as_deref().unwrap_or("no permission by name");
                let text = format!("GitHub refuses: {message} (it asks for {wants})");
                Refusal::new(Code::GithubUnauthorized, text)
            }
            Trouble::Status { status, message, .. } => {
                Refusal::new(Code::GithubUnreachable, format!("GitHub answers {status}: {message}"))
            }
        }
    }

    pub fn is_gone(&self) -> bool {
        matches!(self, Trouble::Status { status: 404 | 410, .. })
    }

    /// Tells whether what was asked for is somewhere else, or nowhere.
    pub fn is_away(&self) -> bool {
        self.is_gone() || matches!(self, Trouble::Status { status: 301 | 302 | 307 | 308, .. })
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        Trouble::Here(Box::new(refusal))
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Refusal {
        trouble.refusal()
    }
}

/// A good answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub etag: Option<String>,
    /// GitHub's clock.
    pub date: Option<Timestamp>,
    /// Permissions of a classic token.
    pub scopes: Option<String>,
    /// An address that the answer names: the next page, or where something moved.
    pub next: Option<String>,
}

impl Answer {
    pub fn is_unchanged(&self) -> bool {
        self.status == 304
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub reads: u64,
    pub not_modified: u64,
    pub writes: u64,
}

pub struct Client {
    agent: Agent,
    base: String,
    token: Token,
    pace: Pace,
    pub ledger: Ledger,
    /// What other processes of the account share with this one; a dry run shares nothing.
    pub shared: Option<Shared>,
    pub counts: Counts,
    /// Nothing is written: a write is a mistake.
    pub read_only: bool,
}

/// Returns the time by this machine's clock.
pub fn now() -> Timestamp {
    Timestamp::from_ms(SystemClock.read().wall_ms)
}

impl Client {
    pub fn new(base: &str, token: Token, between: Millis) -> Result<Client, Refusal> {
        let local = comity_project::github::is_loopback(base);
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("comity/", env!("CARGO_PKG_VERSION")));
        if local {
            config = config.proxy(None);
        }
        if base.starts_with("https://") {
            config = config.tls_config(tls()?);
        }
        let host = base.split_once("://").map_or(base, |(_, host)| host);
        let host = host.split(['/', ':']).next().unwrap_or_default();
        let floors = host == "api.github.com" || host.ends_with(".ghe.com");
        Ok(Client {
            agent: config.build().new_agent(),
            base: base.to_owned(),
            token,
            pace: Pace { between, floors },
            ledger: Ledger::default(),
            shared: None,
            counts: Counts::default(),
            read_only: false,
        })
    }

    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Refuses to go on where another process took over.
    pub fn keep_turn(&self) -> Result<(), Refusal> {
        self.shared.as_ref().map_or(Ok(()), Shared::keep_turn)
    }

    /// Waits until the account may write, and takes that write.
    fn take(&mut self, creates: bool) -> Result<(), Trouble> {
        loop {
            self.keep_turn()?;
            let wait = match &self.shared {
                Some(shared) => shared.take(&mut self.ledger, self.pace, creates)?,
                None => self.ledger.take(now(), self.pace, creates),
            };
            if wait.ms() == 0 {
                return Ok(());
            }
            sleep(wait)?;
        }
    }

    /// Asks; with what the last answer was called, GitHub says when it is the same.
    pub fn get(&mut self, path: &str, etag: Option<&str>) -> Result<Answer, Trouble> {
        let mut url = self.url(path);
        let mut moves = 0;
        loop {
            let answer = self.ask(&url, etag)?;
            if !matches!(answer.status, 301 | 302 | 307 | 308) {
                return checked(answer);
            }
            let to = answer.next.filter(|to| moves < 3 && self.is_own(to));
            let Some(to) = to else {
                let message = "it moved to another host".to_owned();
                return Err(Trouble::Status { status: answer.status, message, wants: None });
            };
            moves += 1;
            url = to;
        }
    }

    fn ask(&mut self, url: &str, etag: Option<&str>) -> Result<Answer, Trouble> {
        self.keep_turn()?;
        let wait = self.ledger.wait_to_read(now());
        sleep(wait)?;
        let (mut asked, mut is_renewed) = (0, false);
        loop {
            asked += 1;
            let token = self.authorization()?;
            let mut request = self.agent.get(url).header("authorization", &token);
            if let Some(etag) = etag {
                request = request.header("if-none-match", etag);
            }
            let request = headers(request);
            self.counts.reads += 1;
            let got = request.call().map_err(|error| error.to_string());
            match got.and_then(|response| self.read(response)) {
                Ok(answer) if answer.status >= 500 && asked < ASKED_MAX => {}
                Ok(answer) if answer.status == 401 && !is_renewed && self.drop_token() => {
                    is_renewed = true;
                    continue;
                }
                Ok(answer) => {
                    self.counts.not_modified += u64::from(answer.is_unchanged());
                    return self.judged(answer);
                }
                Err(_) if asked < ASKED_MAX => {}
                Err(why) => return Err(Trouble::Unknown(why)),
            }
            std::thread::sleep(Duration::from_millis(200 * u64::from(asked)));
        }
    }

    /// Asks for a list, all pages of it. Only a list of one page has a name that stands for the whole.
    pub fn list(&mut self, path: &str, etag: Option<&str>) -> Result<Answer, Trouble> {
        let mut first = self.get(path, etag)?;
        let mut next = first.next.take();
        if next.is_some() {
            // A change of a later page leaves the first one as it is.
            first.etag = None;
        }
        let mut entries = match std::mem::take(&mut first.body) {
            Value::Array(entries) => entries,
            other => {
                first.body = other;
                return Ok(first);
            }
        };
        for _ in 0..PAGES_MAX {
            let Some(url) = next.take() else { break };
            if !self.is_own(&url) {
                return Err(Trouble::Unknown(format!("the next page is at another host: {url}")));
            }
            let page = self.ask(&url, None).and_then(checked)?;
            if let Value::Array(more) = page.body {
                entries.extend(more);
            }
            next = page.next;
        }
        first.body = Value::Array(entries);
        Ok(first)
    }

    /// Writes once. What creates something keeps a larger distance.
    pub fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        creates: bool,
    ) -> Result<Answer, Trouble> {
        if self.read_only {
            return Err(Trouble::Unknown("BUG: a dry run does not write".to_owned()));
        }
        let url = self.url(path);
        let text = body.map(ToString::to_string);
        let mut answer = self.write(method, &url, text.as_deref(), creates)?;
        // What was refused was not done: the token of an installation may have ended early.
        if answer.status == 401 && self.drop_token() {
            answer = self.write(method, &url, text.as_deref(), creates)?;
        }
        if answer.status >= 500 {
            return Err(Trouble::Unknown(format!("GitHub answers {}", answer.status)));
        }
        checked(self.judged(answer)?)
    }

    fn write(
        &mut self,
        method: Method,
        url: &str,
        text: Option<&str>,
        creates: bool,
    ) -> Result<Answer, Trouble> {
        self.take(creates)?;
        let token = self.authorization()?;
        let answered = match method {
            Method::Delete => {
                let request = headers(self.agent.delete(url).header("authorization", &token));
                match text {
                    Some(text) => request.force_send_body().send(text.as_bytes()),
                    None => request.call(),
                }
            }
            Method::Post | Method::Patch => {
                let request = match method {
                    Method::Post => self.agent.post(url),
                    Method::Patch | Method::Delete => self.agent.patch(url),
                };
                let request = headers(request.header("authorization", &token));
                request
                    .header("content-type", "application/json")
                    .send(text.unwrap_or("{}").as_bytes())
            }
        };
        self.counts.writes += 1;
        let read = answered.map_err(|error| error.to_string()).and_then(|got| self.read(got));
        read.map_err(Trouble::Unknown)
    }

    /// Gives up the token of an installation; whether there was one that a new one can replace.
    fn drop_token(&mut self) -> bool {
        match &mut self.token {
            Token::App(app) => app.token.take().is_some(),
            Token::Fixed(_) => false,
        }
    }

    /// Tells a limit and a bad token from every other answer.
    fn judged(&mut self, answer: Answer) -> Result<Answer, Trouble> {
        let message = said(&answer.body);
        match answer.status {
            403 | 429 => {
                let slow = message.to_lowercase();
                let limited = answer.status == 429
                    || self.ledger.wait_to_read(now()).ms() > 0
                    || TOO_FAST.iter().any(|words| slow.contains(words));
                if !limited {
                    return Ok(answer);
                }
                if self.ledger.wait_to_read(now()).ms() == 0 {
                    self.ledger.asked_to_wait(now(), None, None);
                }
                Err(Trouble::Wait(self.ledger.wait_to_read(now())))
            }
            401 => {
                self.drop_token();
                Err(Trouble::Unauthorized(message))
            }
            _ => {
                self.ledger.went_well();
                Ok(answer)
            }
        }
    }

    fn read(&mut self, mut response: Response<Body>) -> Result<Answer, String> {
        let status = response.status().as_u16();
        let text = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let number = |name: &str| text(name).and_then(|text| text.trim().parse::<u64>().ok());
        let (remaining, reset) = (number("x-ratelimit-remaining"), number("x-ratelimit-reset"));
        self.ledger.told(remaining, number("x-ratelimit-limit"), reset);
        if matches!(status, 403 | 429) {
            let retry = number("retry-after");
            if retry.is_some() || remaining == Some(0) {
                let reset = reset.filter(|_| remaining == Some(0));
                self.ledger.asked_to_wait(now(), retry, reset);
            }
        }
        let next = match status {
            301 | 302 | 307 | 308 => text("location"),
            _ => text("link").and_then(|link| next_page(&link)),
        };
        let mut answer = Answer {
            status,
            etag: text("etag"),
            date: text("date").and_then(|date| model::http_date(&date)),
            scopes: text("x-oauth-scopes"),
            next,
            body: Value::Null,
        };
        if status == 403 {
            answer.scopes = text("x-accepted-github-permissions").or(answer.scopes);
        }
        let bytes = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let bytes = bytes.map_err(|error| error.to_string())?;
        answer.body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(answer)
    }

    fn url(&self, path: &str) -> String {
        if self.is_own(path) { path.to_owned() } else { format!("{}{path}", self.base) }
    }

    /// The token goes nowhere else.
    fn is_own(&self, url: &str) -> bool {
        let rest = url.strip_prefix(&self.base);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    }

    fn authorization(&mut self) -> Result<String, Trouble> {
        let app = match &self.token {
            Token::Fixed(token) => return Ok(format!("Bearer {token}")),
            Token::App(app) => app,
        };
        if let Some(token) = app.live(now()) {
            return Ok(format!("Bearer {token}"));
        }
        let wrong = |refusal: Refusal| Trouble::Unauthorized(refusal.message);
        let (jwt, installation) = (app.jwt(now()).map_err(wrong)?, app.installation);
        let url = self.url(&format!("/app/installations/{installation}/access_tokens"));
        let request =
            headers(self.agent.post(&url).header("authorization", format!("Bearer {jwt}")));
        let got = request.send(&b"{}"[..]).map_err(|error| Trouble::Unknown(error.to_string()))?;
        let answer = self.read(got).map_err(Trouble::Unknown)?;
        if matches!(answer.status, 401 | 404) {
            let why = format!("no token for installation {installation}: {}", said(&answer.body));
            return Err(Trouble::Unauthorized(why));
        }
        let answer = checked(answer)?;
        let token = answer.body["token"].as_str().unwrap_or_default().to_owned();
        let until = answer.body["expires_at"].as_str().and_then(model::time);
        let until = until.unwrap_or_else(|| now().plus(Millis::from_secs(3_000)));
        if let Token::App(app) = &mut self.token {
            app.token = Some((token.clone(), until));
        }
        Ok(format!("Bearer {token}"))
    }

    /// Asks as the App itself, and not as its installation.
    pub fn get_as_app(&mut self, path: &str) -> Result<Answer, Trouble> {
        let Token::App(app) = &self.token else { return self.get(path, None) };
        let wrong = |refusal: Refusal| Trouble::Unauthorized(refusal.message);
        let jwt = app.jwt(now()).map_err(wrong)?;
        let request =
            self.agent.get(self.url(path)).header("authorization", format!("Bearer {jwt}"));
        self.counts.reads += 1;
        let got = headers(request).call().map_err(|error| Trouble::Unknown(error.to_string()))?;
        let answer = self.read(got).map_err(Trouble::Unknown)?;
        if answer.status == 401 {
            return Err(Trouble::Unauthorized(said(&answer.body)));
        }
        checked(answer)
    }
}

fn headers<S>(request: ureq::RequestBuilder<S>) -> ureq::RequestBuilder<S> {
    request.header("accept", "application/vnd.github+json").header("x-github-api-version", VERSION)
}

fn sleep(wait: Millis) -> Result<(), Trouble> {
    if wait > WAIT_MAX {
        return Err(Trouble::Wait(wait));
    }
    std::thread::sleep(Duration::from_millis(wait.ms().unsigned_abs()));
    Ok(())
}

fn checked(answer: Answer) -> Result<Answer, Trouble> {
    match answer.status {
        200..300 | 304 => Ok(answer),
        500.. => Err(Trouble::Unknown(format!("GitHub answers {}", answer.status))),
        status => {
            let wants = answer.scopes.filter(|_| status == 403);
            Err(Trouble::Status { status, message: said(&answer.body), wants })
        }
    }
}

fn said(body: &Value) -> String {
    let message = body["message"].as_str().unwrap_or("no reason given").to_owned();
    let errors = body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let more: Vec<&str> = errors.iter().filter_map(|error| error["message"].as_str()).collect();
    if more.is_empty() { message } else { format!("{message}: {}", more.join("; ")) }
}

/// Returns the address of the next page from a `Link` header.
pub(crate) fn next_page(link: &str) -> Option<String> {
    link.split(',').find_map(|part| {
        let (url, rest) = part.trim().strip_prefix('<')?.split_once('>')?;
        rest.contains("rel=\"next\"").then(|| url.to_owned())
    })
}

fn tls() -> Result<TlsConfig, Refusal> {
    let found = rustls_native_certs::load_native_certs();
    let certificates: Vec<Certificate<'static>> =
        found.certs.iter().map(|cert| Certificate::from_der(cert).to_owned()).collect();
    if certificates.is_empty() {
        return Err(Refusal::new(Code::GithubUnreachable, "this machine has no root certificates"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// Writes a text as one part of a path, whatever is in it.
pub fn part(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        let token = Token::Fixed("t".to_owned());
        Client::new("http://127.0.0.1:9/api/v3", token, Millis::from_secs(1)).unwrap()
    }

    #[test]
    fn the_token_goes_to_its_own_host_only() {
        let client = client();
        for own in ["http://127.0.0.1:9/api/v3", "http://127.0.0.1:9/api/v3/repos?page=2"] {
            assert!(client.is_own(own), "{own}");
        }
        for other in
            ["http://127.0.0.1:9/api/v33", "http://127.0.0.1:90/api/v3", "https://evil/api/v3"]
        {
            assert!(!client.is_own(other), "{other}");
        }
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        let link = "<http://h/a?page=1>; rel=\"prev\", <http://h/a?page=3>; rel=\"next\"";
        assert_eq!(next_page(link).as_deref(), Some("http://h/a?page=3"));
        assert_eq!(next_page("<http://h/a>; rel=\"last\""), None);
    }

    #[test]
    fn a_label_is_one_part_of_a_path() {
        assert_eq!(part("agent:ready"), "agent%3Aready");
        assert_eq!(part("a/b%ü"), "a%2Fb%25%C3%BC");
    }

    #[test]
    fn a_limit_is_told_from_a_missing_right() {
        let mut client = client();
        let no = |message: &str| Answer {
            status: 403,
            body: serde_json::json!({"message": message}),
            ..Answer::default()
        };
        assert!(client.judged(no("Resource not accessible by integration")).is_ok());
        let limited = client.judged(no("You have exceeded a secondary rate limit"));
        assert!(matches!(limited, Err(Trouble::Wait(wait)) if wait.ms() > 50_000), "{limited:?}");
    }
}
