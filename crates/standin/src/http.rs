//! HTTP/1.1 as far as a test needs it: one message read, one written, on a plain connection.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// More than any message of a test has, so that a mistake ends instead of filling the memory.
const LARGEST: usize = 64 << 20;
/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// GET, POST, …
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Headers with names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What is answered.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Headers with names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A request with a JSON body, or none.
    pub fn new(method: &str, target: &str, body: Option<&Value>) -> Request {
        let (method, target) = (method.to_owned(), target.to_owned());
        let headers = body.map(|_| ("content-type".to_owned(), "application/json".to_owned()));
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        Request { method, target, headers: headers.into_iter().collect(), body }
    }

    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A parameter of the query, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(decoded(&pair.replace('+', " ")))
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Whether something may be changed by it.
    pub fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

impl Response {
    /// An answer in JSON.
    pub fn json(status: u16, body: &Value) -> Response {
        let headers =
            vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
        Response { status, headers, body: body.to_string().into_bytes() }
    }

    /// A refusal in GitHub's form.
    pub fn refusal(status: u16, message: &str) -> Response {
        let page = "https://docs.github.com/rest";
        Response::json(
            status,
            &serde_json::json!({ "message": message, "documentation_url": page, "status": status.to_string() }),
        )
    }

    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Sets a header.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_string()));
    }

    /// The body as JSON; null where it is none.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Whether it was done.
    pub fn is_fine(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Text with `%20` and the like written out.
pub fn decoded(text: &str) -> String {
    let (mut out, bytes) = (Vec::new(), text.as_bytes());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.filter(|_| bytes[at] == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok())
        {
            Some(byte) => (out.push(byte), at += 3).1,
            None => (out.push(bytes[at]), at += 1).1,
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Text as one segment of a path or one value of a query.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Reads the next request of a connection; none where the client has closed it.
pub fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let Some(first) = line(reader)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(broken("request line"));
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let headers = headers(reader)?;
    if find(&headers, "expect").is_some() {
        reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = body(reader, &headers, Some(0))?;
    Ok(Some(Request { method, target, headers, body }))
}

/// Asks a server on loopback, on a connection of its own.
pub fn call(address: &str, request: &Request) -> io::Result<Response> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = format!(
        "{} {} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n",
        request.method, request.target
    );
    for (name, value) in &request.headers {
        if ![
            "host",
            "connection",
            "content-length",
            "transfer-encoding",
            "accept-encoding",
            "expect",
        ]
        .contains(&name.as_str())
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", request.body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(&request.body)?;
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?.ok_or_else(|| broken("no answer"))?;
    let status = first
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| broken("status line"))?;
    let headers = headers(&mut reader)?;
    let empty = status == 204 || status == 304 || request.method == "HEAD";
    let body = if empty { Vec::new() } else { body(&mut reader, &headers, None)? };
    Ok(Response { status, headers, body })
}

/// Writes an answer.
pub fn write_response(stream: &mut TcpStream, response: &Response) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Answer\r\n", response.status);
    for (name, value) in &response.headers {
        if !["connection", "content-length", "transfer-encoding", "keep-alive"]
            .contains(&name.as_str())
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if response.status != 204 && response.status != 304 {
        head.push_str(&format!("content-length: {}\r\n", response.body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&response.body);
    stream.write_all(&bytes)?;
    stream.flush()
}

fn line(reader: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut text = String::new();
    match reader.take(1 << 16).read_line(&mut text)? {
        0 => Ok(None),
        _ => Ok(Some(text.trim_end().to_owned())),
    }
}

fn headers(reader: &mut BufReader<TcpStream>) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    while let Some(text) = line(reader)? {
        if text.is_empty() {
            return Ok(headers);
        }
        let (name, value) = text.split_once(':').ok_or_else(|| broken("header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Err(broken("end inside the headers"))
}

fn body(
    reader: &mut BufReader<TcpStream>,
    headers: &[(String, String)],
    otherwise: Option<usize>,
) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if find(headers, "transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let size = line(reader)?.ok_or_else(|| broken("end inside a chunk"))?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)
                .map_err(|_| broken("chunk"))?;
            if size == 0 {
                line(reader)?;
                return Ok(body);
            }
            let start = body.len();
            if start + size > LARGEST {
                return Err(broken("a body beyond all bounds"));
            }
            body.resize(start + size, 0);
            reader.read_exact(&mut body[start..])?;
            line(reader)?;
        }
    }
    match find(headers, "content-length").and_then(|value| value.parse().ok()).or(otherwise) {
        Some(size) if size > LARGEST => return Err(broken("a body beyond all bounds")),
        Some(size) => {
            body.resize(size, 0);
            reader.read_exact(&mut body)?;
        }
        None => drop(reader.read_to_end(&mut body)?),
    }
    Ok(body)
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
