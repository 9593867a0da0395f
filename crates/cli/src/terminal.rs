//! Text on its way to a terminal. Whoever wrote a title or a file name must not steer the terminal of whoever reads it:
//! all that comity prints passes through here, and only comity's own colours become escape sequences.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

/// A colour or weight of comity's own. It is written as a character that no text may contain, and becomes an escape
/// sequence at the very end, so that data can never pass for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
    Busy,
    Error,
}

/// Unicode keeps 32 characters from here on for use inside a program.
const FIRST_MARK: u32 = 0xfdd0;
const LAST_MARK: u32 = 0xfdef;

/// Inks with the parameters of their escape sequences. All of these are legible on light and on dark: no yellow, white,
/// black or blue, and nothing bright.
const INKS: [(Ink, &str); 8] = [
    (Ink::Plain, "0"),
    (Ink::Bold, "1"),
    (Ink::Dim, "2"),
    (Ink::Good, "32"),
    (Ink::Warn, "35"),
    (Ink::Bad, "31"),
    (Ink::Busy, "36"),
    (Ink::Error, "1;31"),
];

fn mark(ink: Ink) -> char {
    let place = INKS.iter().position(|(known, _)| *known == ink).unwrap_or(0);
    u32::try_from(place).ok().and_then(|at| char::from_u32(FIRST_MARK + at)).unwrap_or(' ')
}

fn parameters(mark: char) -> Option<&'static str> {
    let at = u32::from(mark).checked_sub(FIRST_MARK)?;
    INKS.get(usize::try_from(at).ok()?).map(|(_, parameters)| *parameters)
}

/// Tells whether a character is kept for inks.
pub fn is_mark(c: char) -> bool {
    (FIRST_MARK..=LAST_MARK).contains(&u32::from(c))
}

/// `{ink}` begins it, `{ink:#}` ends it.
impl fmt::Display for Ink {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, to.alternate()) {
            (Ink::Plain, _) => Ok(()),
            (_, true) => write!(to, "{}", mark(Ink::Plain)),
            (ink, false) => write!(to, "{}", mark(*ink)),
        }
    }
}

pub fn paint(ink: Ink, text: &str) -> String {
    format!("{ink}{text}{ink:#}")
}

/// Tells whether a character can steer a terminal, or hide in one: controls but for line feed and tab, what sets the
/// direction of text, and formats that nobody sees. Joiners stay: writing needs them.
pub fn steers(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Makes text that somebody wrote safe to be laid out and painted.
pub fn neutral(text: &str) -> String {
    let safe = |c: char| match c {
        '\t' => ' ',
        c if steers(c) || is_mark(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(safe).collect()
}

/// Returns what is written for a text that is laid out: nothing in it steers a terminal but comity's own inks.
pub fn shown(text: &str, colour: bool) -> Cow<'_, str> {
    if !text.contains(|c| steers(c) || is_mark(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match parameters(c) {
            Some(ink) if colour => {
                out.push_str("\u{1b}[");
                out.push_str(ink);
                out.push('m');
            }
            None if steers(c) => out.push(char::REPLACEMENT_CHARACTER),
            None if !is_mark(c) => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// Escapes in JSON what could steer a terminal. Such characters can only stand inside its strings.
pub fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if steers(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A stream of text that passes through here in pieces, which may end within a character.
pub struct Outlet<W: Write> {
    inner: W,
    pass: fn(&str) -> Cow<'_, str>,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
    /// Whether the reader has gone, which is no failure.
    pub closed: bool,
}

impl<W: Write> Outlet<W> {
    /// A text for people, without colours.
    pub fn words(inner: W) -> Outlet<W> {
        Outlet { inner, pass: |text| shown(text, false), begun: Vec::new(), closed: false }
    }

    /// JSON for programs.
    pub fn json(inner: W) -> Outlet<W> {
        Outlet { inner, pass: escaped, begun: Vec::new(), closed: false }
    }

    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.closed |= matches!(&done, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl<W: Write> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = String::from_utf8_lossy(&self.begun);
        let written = self.inner.write_all((self.pass)(&text).as_bytes());
        self.begun = rest;
        self.noted(written).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.noted(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind that steers: OSC 52 with both ends, DEL, C1, direction, invisible, tags.
    const HOSTILE: &str = "a\u{1b}]52;c;eA==\u{7}b\u{9d}52;c;eA==\u{9c}\r\u{7f}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}z";

    #[test]
    fn what_steers_a_terminal_is_taken_out_of_text() {
        assert_eq!(neutral("a\u{1b}[31mb\u{202e}c\td"), "a\u{fffd}[31mb\u{fffd}c d");
        assert!(!neutral(HOSTILE).contains(steers) && !shown(HOSTILE, true).contains(steers));
        // Joiners and combining marks are writing; line feeds and tabs are layout.
        let writing = "می‌خواهم 👩‍💻 e\u{301}\n\tx";
        assert_eq!(shown(writing, true), writing);
    }

    #[test]
    fn json_escapes_what_steers_and_stays_the_same_value() {
        let line = serde_json::to_string(HOSTILE).unwrap();
        let safe = escaped(&line);
        assert!(!safe.contains(steers), "{safe}");
        assert!(safe.contains("\\u202e") && safe.contains("\\udb40\\udc41"), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), HOSTILE);
    }

    #[test]
    fn only_comitys_own_inks_become_escape_sequences() {
        let painted = paint(Ink::Bad, "no");
        assert_eq!(shown(&painted, true), "\u{1b}[31mno\u{1b}[0m");
        assert_eq!(shown(&painted, false), "no");
        assert_eq!(shown(&neutral(&painted), true), "\u{fffd}no\u{fffd}");
        assert_eq!(shown("\u{1b}[31mno", true), "\u{fffd}[31mno");
    }

    #[test]
    fn inks_are_legible_on_light_and_on_dark() {
        for (ink, parameters) in INKS {
            for one in parameters.split(';') {
                assert!(["0", "1", "2", "31", "32", "35", "36"].contains(&one), "{ink:?}");
            }
        }
    }

    #[test]
    fn a_stream_that_is_cut_within_a_character_is_put_together() {
        let mut out = Outlet::words(Vec::new());
        for byte in "ä\u{202e}\u{9d}x\u{e0041}".bytes() {
            out.write_all(&[byte]).unwrap();
        }
        out.write_all(b"\xff\x1b").unwrap();
        assert_eq!(
            String::from_utf8(out.inner).unwrap(),
            "ä\u{fffd}\u{fffd}x\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
