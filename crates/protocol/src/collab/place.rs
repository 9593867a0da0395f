//! Where a value is in the text of a document that is known to be JSON.

/// One step down into a document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'s> {
    Key(&'s str),
    Item(usize),
}

/// Returns line and column of a value, or of the last value on the way that is there.
pub(super) fn place(text: &str, path: &[Step<'_>]) -> (usize, usize) {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.blanks();
    for step in path {
        let before = scan.at;
        let found = match step {
            Step::Key(key) => scan.enter_key(key),
            Step::Item(index) => scan.enter_item(*index),
        };
        if !found {
            scan.at = before;
            break;
        }
    }
    super::strict::line_and_column(text, scan.at)
}

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn blanks(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    /// Moves past a string and returns its text between the quotes.
    fn string(&mut self) -> &[u8] {
        self.at += 1;
        let start = self.at;
        while self.at < self.bytes.len() && self.peek() != b'"' {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        let end = self.at.min(self.bytes.len());
        self.at = end + 1;
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Moves past a value.
    fn skip(&mut self) {
        let mut depth = 0usize;
        while self.at < self.bytes.len() {
            match self.peek() {
                b'"' => {
                    self.string();
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            if depth == 0 && matches!(self.peek(), b',' | b'}' | b']') {
                return;
            }
        }
    }

    fn enter_key(&mut self, wanted: &str) -> bool {
        if self.peek() != b'{' {
            return false;
        }
        self.at += 1;
        loop {
            self.blanks();
            if self.peek() != b'"' {
                return false;
            }
            let here = self.string() == wanted.as_bytes();
            self.blanks();
            self.at += 1;
            self.blanks();
            if here {
                return true;
            }
            self.skip();
            if self.peek() != b',' {
                return false;
            }
            self.at += 1;
        }
    }

    fn enter_item(&mut self, index: usize) -> bool {
        if self.peek() != b'[' {
            return false;
        }
        self.at += 1;
        for _ in 0..index {
            self.skip();
            if self.peek() != b',' {
                return false;
            }
            self.at += 1;
        }
        self.blanks();
        !matches!(self.peek(), b']' | 0)
    }
}
