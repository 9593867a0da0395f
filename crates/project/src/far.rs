//! The command line over a server: requests over TCP, TLS or a socket, one connection each.

use comity_api::{Door, EventView, Kind, Method, Row, SessionAnswer, routes};
use comity_core::brief::NewsItem;
use comity_core::hint::Hint;
use comity_core::ids::AgentId;
use comity_core::refusal::{Code, Refusal};
use comity_engine::{Answered, Caller, Far, Stop};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take. Waits are asked for in parts that are shorter.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Tells the server that next steps are worded here.
const CLIENT_HEADER: &str = "Comity-Client: cli\r\n";

/// The key beside an answer with what is new for the caller.
const NEWS: &str = "news";

/// Where a server is.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Plain(String),
    Tls(String),
    Socket(PathBuf),
}

/// A server that answers in the place of a store.
pub struct Server {
    place: Place,
    url: String,
    token: Option<String>,
    repo: Option<String>,
    at: Option<String>,
    /// What the server said beside its answers.
    news: Mutex<Vec<NewsItem>>,
}

impl Server {
    /// Reads the address of a server: `http://HOST:PORT`, `https://HOST` or `unix:PATH`.
    pub fn new(
        url: &str,
        token: Option<String>,
        repo: Option<String>,
        at: Option<String>,
    ) -> Result<Server, Refusal> {
        let trimmed = url.trim_end_matches('/');
        let with_port = |host: &str, port: &str| match host.rsplit_once(':') {
            Some((_, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => host.to_owned(),
            _ => format!("{host}:{port}"),
        };
        let place = if let Some(path) = trimmed.strip_prefix("unix:") {
            Place::Socket(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))
        } else if let Some(host) = trimmed.strip_prefix("http://") {
            Place::Plain(with_port(host, "80"))
        } else if let Some(host) = trimmed.strip_prefix("https://") {
            Place::Tls(with_port(host, "443"))
        } else {
            return Err(Refusal::input(format!("{url:?} is not the address of a server"))
                .hint("use http://HOST:PORT, https://HOST or unix:PATH"));
        };
        Ok(Server { place, url: trimmed.to_owned(), token, repo, at, news: Mutex::default() })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks the server whom it takes the caller for: the agent of the token.
    pub fn me(&self) -> Result<AgentId, Refusal> {
        if self.token.is_none() {
            return Err(Refusal::input("COMITY_TOKEN is not set, so no agent is known").hint(
                "a person makes a token for the agent where the server runs; set COMITY_TOKEN to it, here and where the \
                 clients run",
            ));
        }
        let status = self.ask("GET /api/v1/status", "", "")?.value()?;
        let me = status.get("me").and_then(Value::as_str).unwrap_or_default();
        AgentId::parse(me)
    }

    fn unreachable(&self, error: &dyn std::fmt::Display) -> Refusal {
        Refusal::new(Code::StoreUnavailable, format!("no server answers at {}: {error}", self.url))
            .hint("start one there, or look at the address")
    }

    /// Sends a request and returns the connection, from which the answer is read.
    fn send(&self, head: &str, body: &str) -> Result<BufReader<Box<dyn Talk>>, Refusal> {
        let failed = |error: std::io::Error| self.unreachable(&error);
        let connect = |address: &str| -> std::io::Result<TcpStream> {
            let mut last = std::io::Error::other("the name has no address");
            for address in std::net::ToSocketAddrs::to_socket_addrs(address)? {
                match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                    Ok(stream) => {
                        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
                        return Ok(stream);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        let (host, mut stream): (String, Box<dyn Talk>) = match &self.place {
            Place::Plain(host) => (host.clone(), Box::new(connect(host).map_err(failed)?)),
            Place::Tls(host) => {
                let stream = connect(host).map_err(failed)?;
                (host.trim_end_matches(":443").to_owned(), Box::new(self.secured(host, stream)?))
            }
            Place::Socket(path) => {
                let stream = UnixStream::connect(path).map_err(failed)?;
                stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
                ("localhost".to_owned(), Box::new(stream))
            }
        };
        let token = match &self.token {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{CLIENT_HEADER}{token}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n"
        );
        // The head ends with the caller's own headers, which `head` cannot carry.
        stream.write_all(request.as_bytes()).map_err(failed)?;
        Ok(BufReader::new(stream))
    }

    fn secured(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> Result<StreamOwned<ClientConnection, TcpStream>, Refusal> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| self.unreachable(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
        let name = ServerName::try_from(name).map_err(|error| self.unreachable(&error))?;
        let connection = ClientConnection::new(Arc::new(config), name)
            .map_err(|error| self.unreachable(&error))?;
        Ok(StreamOwned::new(connection, stream))
    }

    /// Asks once; the status, the headers and the body come back.
    fn ask(&self, head: &str, headers: &str, body: &str) -> Result<Heard, Refusal> {
        let mut reader = self.send(head, body)?;
        let failed = |error: std::io::Error| self.unreachable(&error);
        let rest = format!("{headers}\r\n{body}");
        reader.get_mut().write_all(rest.as_bytes()).map_err(failed)?;
        let mut heard = Heard::head(&mut reader).map_err(failed)?;
        heard.read_body(&mut reader).map_err(failed)?;
        Ok(heard)
    }

    /// Sends a text to an address of the server, and returns the texts that it answers with: none, one, or the data of a stream.
    pub fn post(
        &self,
        path: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> Result<Vec<String>, Refusal> {
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let heard = self.ask(&format!("POST {path}"), &headers, body)?;
        let is_stream = heard.header("content-type").is_some_and(|it| it.contains("event-stream"));
        let text = String::from_utf8_lossy(&heard.body).into_owned();
        let data = |line: &str| line.strip_prefix("data:").map(|data| data.trim().to_owned());
        let mut texts: Vec<String> = match is_stream {
            true => text.lines().filter_map(data).collect(),
            false => vec![text],
        };
        texts.retain(|text| !text.trim().is_empty());
        if !(200..300).contains(&heard.status) && texts.iter().all(|text| !text.contains("jsonrpc"))
        {
            return Err(heard.value().err().unwrap_or_else(|| {
                Refusal::new(Code::StoreUnavailable, format!("the server answers {}", heard.status))
            }));
        }
        Ok(texts)
    }

    /// Asks who the server takes the caller for.
    pub(crate) fn session(&self) -> Result<SessionAnswer, Refusal> {
        let repo = self.repo.iter().map(|repo| format!("?repo={}", encoded(repo)));
        let address: String =
            std::iter::once("GET /api/v1/session".to_owned()).chain(repo).collect();
        let value = self.ask(&address, "", "")?.value()?;
        serde_json::from_value(value).map_err(|error| self.unreachable(&error))
    }

    /// Returns the parameters that every request has.
    fn common(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| (name.to_owned(), value.clone()))
        };
        pair("repo", &self.repo).into_iter().chain(pair("at", &self.at)).collect()
    }
}

/// Something that can be talked over.
trait Talk: Read + Write {}
impl<T: Read + Write> Talk for T {}

/// An answer over HTTP.
#[derive(Default)]
struct Heard {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Heard {
    fn head(reader: &mut impl BufRead) -> std::io::Result<Heard> {
        let mut heard = Heard::default();
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        heard.status = status.ok_or_else(|| std::io::Error::other("the answer is not HTTP"))?;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
                return Ok(heard);
            }
            if let Some((name, value)) = line.split_once(':') {
                heard.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn read_body(&mut self, reader: &mut impl BufRead) -> std::io::Result<()> {
        if self.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = chunk(reader)? {
                self.body.extend(chunk);
            }
            return Ok(());
        }
        let length = self.header("content-length").and_then(|length| length.parse().ok());
        let most = length.unwrap_or(ANSWER_BYTES_MAX).min(ANSWER_BYTES_MAX);
        reader.take(most).read_to_end(&mut self.body).map(drop)
    }

    /// Reads the answer, or the refusal that it is.
    fn value(&self) -> Result<Value, Refusal> {
        let bad =
            || Refusal::new(Code::StoreUnavailable, format!("the server answers {}", self.status));
        let value: Value = serde_json::from_slice(&self.body).map_err(|_| bad())?;
        if (200..300).contains(&self.status) {
            return Ok(value);
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let (Some(code), Some(message)) = (text("code").and_then(Code::parse), text("detail"))
        else {
            return Err(bad());
        };
        let next = value.get("next").cloned().and_then(|hint| serde_json::from_value(hint).ok());
        let hint = next.unwrap_or_else(|| Hint::from(text("hint").unwrap_or_default()));
        let mut refusal = Refusal::new(code, message).hint(hint);
        let details = value.get("details").and_then(Value::as_object);
        refusal.details = details.cloned().unwrap_or_default();
        Err(refusal)
    }

    fn remarks(&self) -> Vec<String> {
        let text = self.header("comity-remarks");
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// Reads one chunk of a body; none at its end.
fn chunk(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let size = usize::from_str_radix(line.trim().split(';').next().unwrap_or_default(), 16);
    let size = size.map_err(std::io::Error::other)?;
    if size == 0 || size as u64 > ANSWER_BYTES_MAX {
        return Ok(None);
    }
    let mut bytes = vec![0; size];
    reader.read_exact(&mut bytes)?;
    line.clear();
    reader.read_line(&mut line)?;
    Ok(Some(bytes))
}

/// Writes a text so that it can stand in an address.
fn encoded(text: &str) -> String {
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

/// Writes the fields of a question as parameters; what is absent is left out.
fn parameters(input: &Map<String, Value>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, value) in input {
        match value {
            Value::Null | Value::Object(_) => {}
            Value::String(text) => all.push((name.clone(), text.clone())),
            Value::Array(list) => {
                let texts = list.iter().filter_map(Value::as_str);
                all.extend(texts.map(|text| (name.clone(), text.to_owned())));
            }
            other @ (Value::Bool(_) | Value::Number(_)) => {
                all.push((name.clone(), other.to_string()));
            }
        }
    }
    all
}

impl Far for Server {
    fn call(
        &self,
        row: &'static Row,
        caller: &Caller,
        input: Value,
    ) -> Result<Answered<Value>, Refusal> {
        if !row.doors.contains(&Door::Http) {
            let message = format!("{} needs the project itself, not a server", row.name);
            return Err(Refusal::input(message).hint("run it where the project is"));
        }
        let Value::Object(mut input) = input else {
            return Err(Refusal::new(Code::Internal, "BUG: an input that is no object"));
        };
        let id = input.get("id").and_then(Value::as_str).map(str::to_owned);
        let all = routes();
        let of_row = all.iter().filter(|route| route.row.name == row.name);
        let mut fitting = of_row.filter(|route| !route.path.contains("{id}") || id.is_some());
        // The address with an id in it, where there is one.
        let route =
            fitting.clone().find(|route| route.path.contains("{id}")).or_else(|| fitting.next());
        let route = route.ok_or_else(|| Refusal::input(format!("{} has no address", row.name)))?;
        let mut path = route.path.clone();
        if path.contains("{id}") {
            path = path.replace("{id}", &encoded(id.as_deref().unwrap_or_default()));
            input.remove("id");
        }
        let is_get = route.method == Method::Get;
        let mut params = self.common();
        if is_get {
            params.extend(parameters(&input));
        }
        let query: Vec<String> = params
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let body = if is_get { String::new() } else { json!(input).to_string() };
        let mut headers = String::new();
        if row.kind == Kind::Write {
            let key =
                caller.key.iter().filter(|key| key.bytes().all(|b| (b' '..=b'~').contains(&b)));
            key.for_each(|key| headers.push_str(&format!("Idempotency-Key: {key}\r\n")));
            let fence = caller.fence.iter();
            fence.for_each(|fence| headers.push_str(&format!("Comity-Fence: {}\r\n", fence.get())));
        }
        let head = format!("{} /api/v1/{path}{query}", route.method.as_str());
        let heard = self.ask(&head, &headers, &body)?;
        let mut output = heard.value()?;
        let news = output.as_object_mut().and_then(|fields| fields.remove(NEWS));
        if let Some(Ok(news)) = news.map(serde_json::from_value::<Vec<NewsItem>>) {
            self.news.lock().unwrap_or_else(PoisonError::into_inner).extend(news);
        }
        Ok(Answered { output, remarks: heard.remarks() })
    }

    fn follow(
        &self,
        from: Option<u64>,
        sink: &mut dyn FnMut(&EventView) -> bool,
        stop: &Stop,
    ) -> Result<(), Refusal> {
        let mut next = from;
        // A stream that breaks is taken up again where it was.
        while !stop.is_told() {
            let mut params = self.common();
            params.extend(next.map(|seq| ("from".to_owned(), seq.to_string())));
            let query: Vec<String> =
                params.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
            let mut reader =
                self.send(&format!("GET /api/v1/events/stream?{}", query.join("&")), "")?;
            let failed = |error: std::io::Error| self.unreachable(&error);
            reader.get_mut().write_all(b"\r\n").map_err(failed)?;
            let mut heard = Heard::head(&mut reader).map_err(failed)?;
            if heard.status != 200 {
                heard.read_body(&mut reader).map_err(failed)?;
                return heard.value().map(drop);
            }
            let mut text = String::new();
            while let Ok(Some(chunk)) = chunk(&mut reader) {
                text.push_str(&String::from_utf8_lossy(&chunk));
                while let Some(end) = text.find("\n\n") {
                    let message: String = text.drain(..end + 2).collect();
                    let Some(event) = log_event(&message) else { continue };
                    next = Some(event.seq + 1);
                    if stop.is_told() || !sink(&event) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    fn news(&self) -> Vec<NewsItem> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads a message of the stream, if it is an event of the log.
fn log_event(message: &str) -> Option<EventView> {
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
    (field("event: ") == Some("log")).then(|| serde_json::from_str(field("data: ")?).ok())?
}
