//! Reads what a short text says about tests: `Passed (3/3)`, `2 passed, 10 failed`, `exit code 1`.
//!
//! A claim counts as evidence. So a text claims success only when every word of it is known here, and a text that
//! denies something (`not`, `no`, `without`) claims nothing.

const PASSED: [&str; 8] =
    ["pass", "passed", "passes", "passing", "ok", "green", "success", "successful"];
const FAILED: [&str; 7] = ["fail", "failed", "fails", "failing", "failure", "failures", "red"];
/// These words also name what was tested. They count as failures only with a number.
const ERRORS: [&str; 2] = ["error", "errors"];
const DENIALS: [&str; 7] = ["no", "not", "none", "never", "without", "nothing", "cannot"];
const NEUTRAL: [&str; 20] = [
    "all", "the", "test", "tests", "suite", "suites", "case", "cases", "spec", "specs", "unit",
    "check", "checks", "build", "run", "ran", "total", "were", "have", "skipped",
];
const EXIT: [&str; 5] = ["exit", "exited", "code", "status", "with"];

#[derive(Default)]
struct Claims {
    passed: bool,
    failed: bool,
    unclear: bool,
}

pub fn claim(text: &str) -> Option<bool> {
    let mut claims = Claims::default();
    for clause in
        without_thousands(&text.to_lowercase()).split([',', ';', '(', ')', '[', ']', '|', '\n'])
    {
        let is_separator = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '!');
        let words = clause.split(is_separator).map(|word| word.trim_end_matches('.'));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        if words.iter().any(|word| DENIALS.contains(word) || word.contains(['\'', '’'])) {
            return None;
        }
        claims.read(&words);
    }
    match claims {
        Claims { failed: true, .. } => Some(false),
        Claims { passed: true, unclear: false, .. } => Some(true),
        _ => None,
    }
}

/// Writes `1,000` as `1000`.
fn without_thousands(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if c != ',' || !is_digit(out.chars().last()) || !is_digit(rest.peek().copied()) {
            out.push(c);
        }
    }
    out
}

impl Claims {
    /// Reads the words between two commas or brackets. A single number counts what the words name.
    fn read(&mut self, words: &[&str]) {
        let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let is_exit = words.first().is_some_and(|word| ["exit", "exited"].contains(word));
        let count = numbers.first().copied();
        for word in words {
            match *word {
                word if word.starts_with(|c: char| c.is_ascii_digit()) => self.ratio(word),
                word if PASSED.contains(&word) && count != Some(0) => self.passed = true,
                word if FAILED.contains(&word) && count != Some(0) => self.failed = true,
                word if ERRORS.contains(&word) && count > Some(0) => self.failed = true,
                word if ERRORS.contains(&word) && count == Some(0) => {}
                word if FAILED.contains(&word) || NEUTRAL.contains(&word) => {}
                word if is_exit && EXIT.contains(&word) => {}
                _ => self.unclear = true,
            }
        }
        match (is_exit, &numbers[..]) {
            (true, [0]) => self.passed = true,
            (true, [_]) => self.failed = true,
            (_, [] | [_]) => {}
            _ => self.unclear = true,
        }
    }

    /// Reads `3/3`. Other words that begin with a digit, such as `12.5s`, claim nothing.
    fn ratio(&mut self, word: &str) {
        self.unclear |= word.ends_with('%');
        let Some((some, all)) = word.split_once('/') else { return };
        match (some.parse::<u64>(), all.parse::<u64>()) {
            (Ok(some), Ok(all)) if some == all && all > 0 => self.passed = true,
            (Ok(some), Ok(all)) if some <= all => self.failed = true,
            _ => self.unclear = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: &[&str] = &[
        "Passed",
        "PASS",
        "ok",
        "All tests pass",
        "all green",
        "Build successful",
        "Passed (3/3)",
        "3/3",
        "3 passed, 0 failed",
        "12 passed, 0 errors",
        "1,000 passed, 0 failures",
        "passed: 10, failed: 0",
        "Tests: 3 passed, 3 total",
        "OK (skipped=1)",
        "12 passing (5s)",
        "12.5s, all passed",
        "exit code 0",
        "Passed. (exit status 0)",
    ];
    const FAIL: &[&str] = &[
        "Failed",
        "Failed (1/3)",
        "Passed (2/3)",
        "0/0",
        "0/3",
        "2 passed, 10 failed",
        "100 failures",
        "1,000 failed",
        "1 passed, 0 failed, 1 error",
        "passed: 10, failed: 2",
        "FAILED (failures=1, errors=2)",
        "Test Suites: 1 failed, 5 passed, 6 total",
        "3 tests have failed",
        "Passed, but one failed",
        "Failed: the login page times out",
        "exited with 1",
        "ok (exit code 2)",
    ];
    const NOTHING: &[&str] = &[
        "",
        "not run",
        "n/a",
        "none",
        "0 passed",
        "0 passed, 0 failed",
        "see the log",
        "should pass",
        "most tests pass",
        "all but one pass",
        "Did not pass",
        "didn't pass",
        "not all tests passed",
        "No failures",
        "error handling tests pass",
        "Tests run: 0, Failures: 0",
        "95% passed",
        "2 of 3 passed",
        "5/3",
    ];

    #[test]
    fn a_text_about_tests_claims_what_it_says_and_no_more() {
        for (texts, wanted) in [(PASS, Some(true)), (FAIL, Some(false)), (NOTHING, None)] {
            for text in texts {
                assert_eq!(claim(text), wanted, "{text}");
            }
        }
    }
}
