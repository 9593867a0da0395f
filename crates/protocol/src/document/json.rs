//! JSON with places. Strict, so that what it refuses can still be tried as YAML.

use super::{Budget, DEPTH_MAX, Data, Entry, Fault, Node, Numeral, Place, too_deep, twice};
use serde_json::Number;
use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    /// A contract: it is bounded, and gives no key twice.
    Contract,
    File,
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    at: Place,
    bounds: Bounds,
    budget: Budget,
}

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    read_within(text, Bounds::Contract)
}

/// Reads a file that `serde_json` has accepted. A key that is given twice is there twice.
pub(super) fn read_file(text: &str) -> Result<Node, Fault> {
    read_within(text, Bounds::File)
}

fn read_within(text: &str, bounds: Bounds) -> Result<Node, Fault> {
    let (rest, budget) = (text.chars().peekable(), Budget::default());
    let mut reader = Reader { rest, at: Place::START, bounds, budget };
    let node = reader.value(0)?;
    reader.space();
    match reader.rest.peek() {
        None => Ok(node),
        Some(_) => Err(reader.fault("text after the end of the JSON document")),
    }
}

impl Reader<'_> {
    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }

    fn take(&mut self, nodes: usize, text: usize, at: Place) -> Result<(), Fault> {
        match self.bounds {
            Bounds::Contract => self.budget.take(nodes, text, at),
            Bounds::File => Ok(()),
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.at = self.at.next(c);
        Some(c)
    }

    fn space(&mut self) {
        while matches!(self.rest.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.next();
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        self.space();
        match self.rest.peek().copied() {
            Some(c) if c == wanted => {
                self.next();
                Ok(())
            }
            Some(c) => Err(self.fault(format!("expected {wanted:?}, found {c:?}"))),
            None => Err(self.fault(format!("expected {wanted:?}, but the text ends"))),
        }
    }

    /// Takes the character when it comes next.
    fn comes(&mut self, wanted: char) -> bool {
        self.space();
        let comes = self.rest.peek() == Some(&wanted);
        if comes {
            self.next();
        }
        comes
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        self.space();
        let at = self.at;
        self.take(1, 0, at)?;
        let data = match self.rest.peek() {
            Some('{' | '[') if depth >= DEPTH_MAX && self.bounds == Bounds::Contract => {
                return Err(too_deep(at));
            }
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => {
                let text = self.string()?;
                self.take(0, text.len(), at)?;
                return Ok(Node { data: Data::Text(text), at, plain: false });
            }
            Some(c) if c.is_ascii_alphanumeric() || *c == '-' => self.word()?,
            Some(c) => {
                let message = format!("expected a value, found {c:?}");
                return Err(self.fault(message));
            }
            None => return Err(self.fault("expected a value, but the text ends")),
        };
        Ok(Node { data, at, plain: true })
    }

    fn map(&mut self, depth: usize) -> Result<Data, Fault> {
        self.next();
        let mut entries: Vec<Entry> = Vec::new();
        let mut places: HashMap<String, Place> = HashMap::new();
        if self.comes('}') {
            return Ok(Data::Map(entries));
        }
        loop {
            self.space();
            let key_at = self.at;
            if self.rest.peek() != Some(&'"') {
                return Err(self.fault("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.take(1, key.len(), key_at)?;
            if self.bounds == Bounds::Contract
                && let Some(first) = places.insert(key.clone(), key_at)
            {
                return Err(twice(&key, key_at, first));
            }
            self.expect(':')?;
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, key_at, value });
            if !self.comes(',') {
                self.expect('}')?;
                return Ok(Data::Map(entries));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Data, Fault> {
        self.next();
        let mut items = Vec::new();
        if self.comes(']') {
            return Ok(Data::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.comes(',') {
                self.expect(']')?;
                return Ok(Data::List(items));
            }
        }
    }

    fn word(&mut self) -> Result<Data, Fault> {
        let at = self.at;
        let mut text = String::new();
        while let Some(c) = self.rest.peek() {
            if !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
                break;
            }
            text.extend(self.next());
        }
        match text.as_str() {
            "null" => Ok(Data::Null),
            "true" => Ok(Data::Bool(true)),
            "false" => Ok(Data::Bool(false)),
            _ => match serde_json::from_str::<Number>(&text) {
                Ok(number) => {
                    // Fractions are read to the last digit.
                    let exact = text.parse().ok().filter(|_| number.is_f64());
                    let value = exact.map_or(Some(number), Number::from_f64);
                    Ok(Data::Number(Numeral { text, value }))
                }
                Err(_) => {
                    let word: String = text.chars().take(60).collect();
                    Err(Fault::new(at, format!("{word:?} is no JSON value")))
                }
            },
        }
    }

    /// Reads a string: the ends are found here, and `serde_json` reads what is between them.
    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let mut raw: String = self.next().into_iter().collect();
        let mut escaped = false;
        loop {
            let at = self.at;
            match self.next() {
                None => return Err(Fault::new(at, "a string is not closed")),
                Some(c) if c < ' ' => {
                    return Err(Fault::new(at, "a line break or tab in a string must be escaped"));
                }
                Some(c) => {
                    raw.push(c);
                    if c == '"' && !escaped {
                        let wrong = |_| {
                            Fault::new(start, "the string has an escape that JSON does not know")
                        };
                        return serde_json::from_str(&raw).map_err(wrong);
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
        }
    }
}
