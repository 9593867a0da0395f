//! The output of a command, of which the end is kept.

/// The end of what a command printed.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    max: usize,
    /// Bytes of the beginning that were let go.
    pub left_out: u64,
}

impl Output {
    pub fn new(max: usize) -> Output {
        Output { bytes: Vec::new(), max, left_out: 0 }
    }

    pub fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        // Letting go of half at a time, no byte is moved more than once or twice.
        if self.bytes.len() >= self.max.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.bytes.len().saturating_sub(self.max);
        self.bytes.drain(..over);
        self.left_out += u64::try_from(over).unwrap_or(u64::MAX);
    }

    /// Returns what is kept as text, and how many bytes before it are not.
    pub fn text(mut self) -> (String, u64) {
        self.cut();
        (String::from_utf8_lossy(&self.bytes).into_owned(), self.left_out)
    }

    /// Returns the last line that is not empty.
    pub fn last_line(&self) -> Option<String> {
        let lines = self.bytes.rsplit(|byte| *byte == b'\n');
        let line = lines.map(<[u8]>::trim_ascii).find(|line| !line.is_empty())?;
        Some(String::from_utf8_lossy(line).into_owned())
    }
}

/// Returns the end of a text, from the beginning of a line where there is one, in at most so many bytes.
pub fn tail(text: &str, max: usize) -> &str {
    let mut from = text.len().saturating_sub(max);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = text.get(from..).unwrap_or_default();
    match end.find('\n') {
        Some(line) if from > 0 && line + 1 < end.len() => end.get(line + 1..).unwrap_or_default(),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_rest_is_counted() {
        let mut output = Output::new(4);
        for piece in ["ab", "cdefgh", "ij", "k"] {
            output.push(piece.as_bytes());
        }
        assert_eq!(output.text(), ("hijk".to_owned(), 7));
        let mut output = Output::new(100);
        output.push(b"one\ntwo \n\n");
        assert_eq!(output.last_line().as_deref(), Some("two"));
    }

    #[test]
    fn a_tail_begins_with_a_line_and_cuts_no_character() {
        assert_eq!(tail("one\ntwo\nthree\n", 8), "three\n");
        assert_eq!(tail("short", 8), "short");
        assert_eq!(tail("äöü", 3), "ü");
        assert_eq!(tail("abcdefgh\n", 4), "fgh\n");
    }
}
