//! What words about tests claim: `Passed (3/3)`, `2 passed, 10 failed`, `Did not pass`.
//!
//! A claim counts as evidence, so it is read word by word: whoever says that one test failed has not passed, and what
//! is unclear claims nothing.

const PASSED: [&str; 12] = [
    "pass",
    "passed",
    "passes",
    "passing",
    "ok",
    "okay",
    "green",
    "success",
    "successful",
    "successfully",
    "succeeded",
    "✅",
];
const FAILED: [&str; 14] = [
    "fail",
    "failed",
    "fails",
    "failing",
    "failure",
    "failures",
    "errored",
    "broken",
    "crashed",
    "unsuccessful",
    "unsuccessfully",
    "aborted",
    "red",
    "❌",
];
/// These also name what was tested: only a count makes them clear beside a word of success.
const ERRORS: [&str; 2] = ["error", "errors"];
const NONE: [&str; 9] =
    ["no", "not", "none", "zero", "without", "never", "nothing", "cannot", "neither"];
/// Words between a count and what is counted.
const FILLERS: [&str; 17] = [
    "test",
    "tests",
    "case",
    "cases",
    "spec",
    "specs",
    "suite",
    "suites",
    "unit",
    "assertions",
    "checks",
    "were",
    "was",
    "have",
    "has",
    "are",
    "of",
];
/// With one of these, a word of success is a hope or a part.
const UNCLEAR: [&str; 21] = [
    "should",
    "would",
    "will",
    "could",
    "can",
    "may",
    "might",
    "expect",
    "expected",
    "hopefully",
    "probably",
    "likely",
    "partially",
    "partly",
    "mostly",
    "most",
    "some",
    "almost",
    "nearly",
    "but",
    "except",
];
/// What is counted when nothing is said of how it went.
const RUN: [&str; 5] = ["run", "ran", "test", "tests", "total"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(u64),
    /// So many of so many.
    Ratio(u64, u64),
    Percent(u64),
    Word(String),
    /// `:` or `=`: what follows is the count.
    Colon,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Error,
}

#[derive(Default)]
struct Found {
    passed: bool,
    failed: bool,
    none_failed: bool,
    bare_error: bool,
    unclear: bool,
}

/// Tells what the words claim; none when they claim nothing.
pub(crate) fn claim(said: &str) -> Option<bool> {
    let mut found = Found::default();
    for clause in clauses(&said.to_lowercase()) {
        clause_says(&clause, &mut found);
    }
    let Found { passed, failed, none_failed, bare_error, unclear } = found;
    if failed {
        return Some(false);
    }
    if bare_error || unclear {
        return if bare_error && !passed { Some(false) } else { None };
    }
    (passed || none_failed).then_some(true)
}

fn verdict(word: &str) -> Option<Verdict> {
    match word {
        word if PASSED.contains(&word) => Some(Verdict::Passed),
        word if FAILED.contains(&word) => Some(Verdict::Failed),
        word if ERRORS.contains(&word) => Some(Verdict::Error),
        _ => None,
    }
}

fn clause_says(clause: &[Token], found: &mut Found) {
    let word_at = |place: usize| match clause.get(place) {
        Some(Token::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let verdict_at = |place: usize| word_at(place).and_then(verdict);
    let first_word = (0..clause.len()).find(|place| verdict_at(*place).is_some());
    let first_number = clause.iter().position(is_count);
    // `3 passed` or `passed 3`: whichever comes first in the clause shows how it counts.
    let counts_first = first_number.is_some_and(|number| first_word.is_none_or(|w| number < w));
    let mut taken = vec![false; clause.len()];
    let mut denied = false;
    for place in 0..clause.len() {
        let Some(word) = word_at(place) else { continue };
        if NONE.contains(&word) || word.ends_with("n't") || word.ends_with("n’t") {
            denied = true;
        }
        found.unclear |= UNCLEAR.contains(&word);
        let Some(verdict) = verdict_at(place) else { continue };
        let after = count_after(clause, place, !counts_first);
        let at = after.or_else(|| if counts_first { count_before(clause, place) } else { None });
        if let Some(slot) = at.and_then(|at| taken.get_mut(at)) {
            *slot = true;
        }
        let none_after = clause.get(place + 1) == Some(&Token::Colon)
            && word_at(place + 2).is_some_and(|word| ["none", "no", "zero"].contains(&word));
        judge(verdict, at.and_then(|at| clause.get(at)), denied || none_after, found);
        denied = false;
    }
    for (token, taken) in clause.iter().zip(taken) {
        if let (Token::Ratio(some, all), false) = (token, taken) {
            of_all(*some, *all, found);
        }
    }
    let ran_none = first_word.is_none()
        && clause.contains(&Token::Number(0))
        && (0..clause.len()).any(|place| word_at(place).is_some_and(|word| RUN.contains(&word)));
    found.unclear |= ran_none;
}

fn is_count(token: &Token) -> bool {
    matches!(token, Token::Number(_) | Token::Ratio(..) | Token::Percent(_))
}

/// `failed: 2`, and `failed 2` where counts follow their words.
fn count_after(clause: &[Token], place: usize, bare: bool) -> Option<usize> {
    let next = place + 1;
    let at = if clause.get(next) == Some(&Token::Colon) { next + 1 } else { next };
    let here = clause.get(at).is_some_and(is_count);
    (here && (bare || at > next)).then_some(at)
}

/// `2 failed`, `2 tests have failed`.
fn count_before(clause: &[Token], place: usize) -> Option<usize> {
    for at in (0..place).rev() {
        match clause.get(at)? {
            Token::Word(word) if FILLERS.contains(&word.as_str()) => {}
            Token::Colon => {}
            token if is_count(token) => return Some(at),
            _ => return None,
        }
    }
    None
}

fn judge(verdict: Verdict, count: Option<&Token>, denied: bool, found: &mut Found) {
    match (verdict, count) {
        (Verdict::Passed, _) if denied => found.failed = true,
        (Verdict::Passed, Some(Token::Ratio(some, all))) => of_all(*some, *all, found),
        (Verdict::Passed, Some(Token::Number(0))) => found.failed = true,
        (Verdict::Passed, Some(Token::Percent(share))) if *share < 100 => found.failed = true,
        (Verdict::Passed, _) => found.passed = true,
        (_, Some(Token::Number(0) | Token::Ratio(0, _) | Token::Percent(0))) => {
            found.none_failed = true;
        }
        (_, Some(_)) => found.failed = true,
        (_, None) if denied => found.none_failed = true,
        (Verdict::Error, None) => found.bare_error = true,
        (Verdict::Failed, None) => found.failed = true,
    }
}

/// `3/3`; more than all is no count of tests.
fn of_all(some: u64, all: u64, found: &mut Found) {
    match some.cmp(&all) {
        std::cmp::Ordering::Equal if all > 0 => found.passed = true,
        std::cmp::Ordering::Less | std::cmp::Ordering::Equal => found.failed = true,
        std::cmp::Ordering::Greater => found.unclear = true,
    }
}

/// Takes a text apart; punctuation ends a clause.
fn clauses(text: &str) -> Vec<Vec<Token>> {
    let chars: Vec<char> = text.chars().collect();
    let at = |place: usize| chars.get(place).copied().unwrap_or(' ');
    let mut clauses = vec![Vec::new()];
    let mut place = 0;
    while place < chars.len() {
        let start = place;
        let part_of_word = |place: usize| {
            let c = at(place);
            let inside = place > start && at(place + 1).is_alphanumeric();
            // `1,000` and `12.5` are numbers, `3/3` a ratio, `didn't` a word.
            let number =
                at(place.saturating_sub(1)).is_ascii_digit() && at(place + 1).is_ascii_digit();
            c.is_alphanumeric()
                || (inside && matches!(c, '\'' | '’' | '_'))
                || (inside && number && matches!(c, ',' | '.' | '/'))
        };
        while place < chars.len() && part_of_word(place) {
            place += 1;
        }
        if place > start {
            let percent = at(place) == '%';
            let word: String = chars.get(start..place).unwrap_or_default().iter().collect();
            push(&mut clauses, token(&word, percent));
            place += usize::from(percent);
            continue;
        }
        match at(place) {
            ':' | '=' => push(&mut clauses, Token::Colon),
            c @ ('✅' | '❌') => push(&mut clauses, Token::Word(c.to_string())),
            ',' | ';' | '.' | '!' | '?' | '(' | ')' | '[' | ']' | '|' | '\n' => {
                clauses.push(Vec::new());
            }
            _ => {}
        }
        place += 1;
    }
    clauses.iter().map(|clause| with_ratios(clause)).collect()
}

fn push(clauses: &mut [Vec<Token>], token: Token) {
    if let Some(clause) = clauses.last_mut() {
        clause.push(token);
    }
}

fn token(word: &str, percent: bool) -> Token {
    let number = |text: &str| {
        let digits: String = text.chars().filter(|c| *c != ',').collect();
        let all = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        all.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    if let Some((some, all)) = word.split_once('/')
        && let (Some(some), Some(all)) = (number(some), number(all))
    {
        return Token::Ratio(some, all);
    }
    let whole = word.split_once('.').map_or(word, |(whole, _)| whole);
    match number(if percent { whole } else { word }) {
        Some(share) if percent => Token::Percent(share),
        Some(number) => Token::Number(number),
        None => Token::Word(word.to_owned()),
    }
}

/// `3 of 3` and `3 out of 3` are ratios, too.
fn with_ratios(clause: &[Token]) -> Vec<Token> {
    let is = |token: Option<&Token>, wanted: &str| matches!(token, Some(Token::Word(word)) if word == wanted);
    let mut out = Vec::new();
    let mut place = 0;
    while let Some(token) = clause.get(place) {
        let of = place + 1 + usize::from(is(clause.get(place + 1), "out"));
        // `2 of the 3`.
        let end =
            of + 1 + usize::from(is(clause.get(of + 1), "the") || is(clause.get(of + 1), "all"));
        match (token, clause.get(end)) {
            (Token::Number(some), Some(Token::Number(all))) if is(clause.get(of), "of") => {
                out.push(Token::Ratio(*some, *all));
                place = end + 1;
            }
            _ => {
                out.push(token.clone());
                place += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: &[&str] = &[
        "Passed",
        "passed",
        "PASS",
        "ok",
        "All tests pass",
        "all green",
        "Success",
        "Build successful",
        "Passed (3/3)",
        "3/3",
        "3 of 3 passed",
        "3 out of 3 tests passed",
        "3 passed, 0 failed",
        "12 passed, 0 errors",
        "1,000 passed, 0 failures",
        "passed: 10, failed: 0",
        "passed 3 failed 0",
        "Tests run: 10, Failures: 0, Errors: 0, Skipped: 0",
        "Tests: 3 passed, 3 total",
        "OK (skipped=1)",
        "0 failures",
        "No failures",
        "No errors",
        "no tests failed",
        "Failures: none",
        "Passed without failures",
        "0/3 failed",
        "100% passed",
        "12 passing (5s)",
        "✅",
        "nothing failed",
        "12.5s, all passed",
    ];
    const FAIL: &[&str] = &[
        "Failed",
        "Failed (1/3)",
        "Passed (2/3)",
        "0/0",
        "0/3",
        "2 passed, 10 failed",
        "10 failed",
        "100 failures",
        "1,000 failed",
        "not ok",
        "Not OK 3 - it parses",
        "Did not pass",
        "didn't pass",
        "never passed",
        "No tests passed",
        "not all tests passed",
        "unsuccessful",
        "0 passed",
        "0 passed, 0 failed",
        "1 passed, 0 failed, 1 error",
        "passed: 10, failed: 2",
        "passed 3 failed 1",
        "FAILED (failures=1, errors=2)",
        "Tests run: 10, Failures: 1, Errors: 0",
        "Test Suites: 1 failed, 5 passed, 6 total",
        "3 tests have failed",
        "2 of 3 passed",
        "1 of 3 failed",
        "95% passed",
        "Passed, but one failed",
        "Error: cannot find module",
        "broken",
        "3 of the 4 tests passed",
    ];
    const NOTHING: &[&str] = &[
        "",
        "not run",
        "n/a",
        "none",
        "token refreshed",
        "see the log",
        "should pass",
        "most tests pass",
        "all but one pass",
        "error handling tests pass",
        "Tests run: 0, Failures: 0",
        "exit code 0",
        "tests look okayish",
    ];

    #[test]
    fn words_about_tests_claim_what_they_say_and_no_more() {
        for (words, wanted) in [(PASS, Some(true)), (FAIL, Some(false)), (NOTHING, None)] {
            for said in words {
                assert_eq!(claim(said), wanted, "{said}");
            }
        }
    }
}
