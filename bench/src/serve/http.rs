//! A small client of HTTP/1.1 that keeps its connection.

use crate::Outcome;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// However busy the machine is, an answer is there by then.
const PATIENCE: Duration = Duration::from_secs(120);

/// One connection.
pub struct Conversation {
    reader: BufReader<TcpStream>,
    head: String,
}

impl Conversation {
    pub fn open(address: &str, token: &str) -> Outcome<Conversation> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let head = format!(
            " HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        );
        Ok(Conversation { reader: BufReader::new(stream), head })
    }

    /// Sends a request such as `GET /path` and returns status and body.
    pub fn ask(&mut self, ask: &str, body: &str) -> Outcome<(u16, Vec<u8>)> {
        self.send(ask, "", body)?;
        let (status, length) = self.answer()?;
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok((status, bytes))
    }

    pub fn send(&mut self, ask: &str, headers: &str, body: &str) -> Outcome<()> {
        let (head, length) = (&self.head, body.len());
        let request = format!("{ask}{head}{headers}Content-Length: {length}\r\n\r\n{body}");
        Ok(self.reader.get_mut().write_all(request.as_bytes())?)
    }

    /// Reads the head of an answer: its status and how long its body is.
    pub fn answer(&mut self) -> Outcome<(u16, usize)> {
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err("the server has closed the connection".into());
            }
            let line = line.trim_end();
            if line.is_empty() {
                return Ok((status, length));
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).unwrap_or_default().parse()?;
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
    }

    /// Reads the next line of a body that does not end; none when the server has ended it.
    pub fn line(&mut self, line: &mut String) -> Outcome<bool> {
        line.clear();
        Ok(self.reader.read_line(line)? > 0)
    }
}
