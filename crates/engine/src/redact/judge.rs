//! Tells random-looking values from words, names, references and ids.

use super::rules::SecretKind;
use super::scan::JUDGED_BYTES_MAX;

/// A body with fewer different bytes is a placeholder such as `xxxxxxxx`.
const TOKEN_DISTINCT_MIN: usize = 6;
const VALUE_DISTINCT_MIN: usize = 8;
const PASSWORD_DISTINCT_MIN: usize = 4;

/// A placeholder gives itself away near its start.
const HEAD_BYTES_MAX: usize = 64;

/// Bits per byte below which a named value is not taken for a secret.
const ENTROPY_MIN: f64 = 3.0;

/// Words may end in a number; a longer one is not a word.
const WORD_DIGITS_MAX: usize = 3;
const NUMBER_DIGITS_MAX: usize = 4;

/// The shortest password after a user and a colon.
const PAIR_MIN: usize = 6;

/// What a passphrase of plain words has at least.
const PHRASE_WORDS_MIN: usize = 4;
const PHRASE_WORD_MIN: usize = 3;

/// Values that stand for a secret, or for its absence. All are 8 bytes or more or carry a digit;
/// shorter ones never reach this list.
const STAND_INS: &str = "required optional undefined changeme change-me change_me disabled redacted replaced \
    encrypted password passw0rd passphrase nullable not-set not_set missing unspecified \
    deprecated mandatory forbidden unchanged expired sensitive confidential incorrect \
    protected";

/// Parts that give away a placeholder or a reference to where the secret is kept.
const GIVEAWAYS: &[&[u8]] = &[
    b"xxxx",
    b"XXXX",
    b"****",
    b"....",
    b"example",
    b"EXAMPLE",
    b"placeholder",
    b"your-",
    b"your_",
    b"YOUR_",
    b"YOUR-",
    b"process.env",
    b"environ",
    b"getenv",
    b"env.",
    b"secrets.",
    b"vars.",
    b"${",
    b"$(",
    b"{{",
    b"%s",
];

fn distinct(bytes: &[u8]) -> usize {
    let mut seen = [false; 256];
    bytes.iter().for_each(|&b| seen[usize::from(b)] = true);
    seen.iter().filter(|&&s| s).count()
}

fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u16; 256];
    bytes.iter().for_each(|&b| counts[usize::from(b)] += 1);
    let total: f64 = counts.iter().map(|&n| f64::from(n)).sum();
    let bits = |n: f64| (n / total) * (log2(total) - log2(n));
    counts.iter().filter(|&&n| n > 0).map(|&n| bits(f64::from(n))).sum()
}

/// Binary digits of the fraction that [`log2`] finds.
const LOG2_DIGITS: usize = 20;

/// The binary logarithm of a number from one on, to six places. The standard library's would have every
/// start of the process load the library of mathematics.
fn log2(number: f64) -> f64 {
    let (mut rest, mut found) = (number, 0.0);
    while rest >= 2.0 {
        rest /= 2.0;
        found += 1.0;
    }
    let mut digit = 1.0;
    for _ in 0..LOG2_DIGITS {
        digit /= 2.0;
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            found += digit;
        }
    }
    found
}

/// Says whether upper and lower case alternate more often than in any naming convention.
fn random_case(bytes: &[u8]) -> bool {
    let turns = bytes.windows(2).filter(|pair| {
        pair[0].is_ascii_alphabetic()
            && pair[1].is_ascii_alphabetic()
            && pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase()
    });
    turns.count() * 3 > bytes.len()
}

fn has_digit(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit)
}

fn has_letter(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Says whether the body of a prefixed token is more than a placeholder.
pub(super) fn tokenish(body: &[u8], random: bool) -> bool {
    let both_cases =
        || body.iter().any(u8::is_ascii_lowercase) && body.iter().any(u8::is_ascii_uppercase);
    distinct(body) >= TOKEN_DISTINCT_MIN && (!random || has_digit(body) || both_cases())
}

/// Says whether a value is made of words, as names, paths and expressions are.
pub(super) fn wordy(value: &[u8]) -> bool {
    let mut numbered = 0;
    let pieces = value.split(|b| !b.is_ascii_alphanumeric()).filter(|piece| !piece.is_empty());
    for piece in pieces {
        let letters = piece.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let digits = piece.len() - letters;
        if !piece.iter().skip(letters).all(u8::is_ascii_digit) || random_case(&piece[..letters]) {
            return false;
        }
        let most = if letters == 0 { NUMBER_DIGITS_MAX } else { WORD_DIGITS_MAX };
        if digits > most {
            return false;
        }
        numbered += usize::from(digits > 0);
    }
    numbered < 2
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_ulid(value: &[u8]) -> bool {
    value.len() == 26
        && matches!(value.first(), Some(b'0'..=b'7'))
        && value.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

/// Says whether a value stands for a secret instead of being one.
pub(super) fn placeholder(value: &[u8]) -> bool {
    let sigil = matches!(
        value.first(),
        None | Some(b'$' | b'<' | b'{' | b'[' | b'(' | b'*' | b'%' | b'&' | b'?' | b'#' | b'@')
    );
    let head = value.get(..HEAD_BYTES_MAX).unwrap_or(value);
    // Comparing the first byte by hand spares a call at nearly every place.
    let begins = |rest: &[u8], part: &[u8]| rest[0] == part[0] && rest.starts_with(part);
    let given_away =
        (0..head.len()).any(|at| GIVEAWAYS.iter().any(|part| begins(&head[at..], part)));
    sigil && !dollar_password(value)
        || STAND_INS.split(' ').any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || given_away
        || distinct(value) < PASSWORD_DISTINCT_MIN
}

/// A reference is a sigil and a name; `#9f!xQ2` is a password that starts with a sign.
fn dollar_password(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else { return false };
    let signs = rest.iter().filter(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.'));
    matches!(first, b'#' | b'@' | b'%' | b'&' | b'*' | b'?') && has_digit(rest) && {
        signs.count() > 0 || !wordy(rest)
    }
}

fn path_or_url(value: &[u8]) -> bool {
    let starts = |start: &&str| value.starts_with(start.as_bytes());
    [
        "/", "./", "../", "~/", "file:", "sha1:", "sha256:", "sha512:", "sha1-", "sha256-",
        "sha512-", "md5:", "vault:", "op:", "arn:", "env:",
    ]
    .iter()
    .any(starts)
        || value.windows(3).any(|w| w == b"://" || w == b":\\\\")
        || value.windows(2).any(|w| w == b"::" || w == b"->" || w == b":\\")
}

/// Decides on a value that text assigns to a name.
pub(super) fn secret_value(kind: SecretKind, value: &[u8]) -> bool {
    if value.len() < kind.least() {
        return false;
    }
    let value = value.get(..JUDGED_BYTES_MAX).unwrap_or(value);
    match kind {
        SecretKind::AzureKey => return !placeholder(value) && has_digit(value),
        SecretKind::Authorization => {
            let mixed = has_digit(value) || random_case(value) || value.ends_with(b"=");
            let url = value.windows(3).any(|w| w == b"://");
            return !placeholder(value) && mixed && !url && !wordy(value);
        }
        SecretKind::Credentials => {
            // `user:password`, or something that looks random.
            let colon = value.iter().position(|b| *b == b':');
            let after = colon.and_then(|at| value.get(at + 1..)).unwrap_or_default();
            let pair = after.len() >= PAIR_MIN && password_value(after) && !placeholder(after);
            return (pair || random_value(value)) && !placeholder(value) && !path_or_url(value);
        }
        SecretKind::Password | SecretKind::Secret | SecretKind::Key | SecretKind::Token => {}
    }
    // The cheapest check comes first: most names are followed by words.
    let shaped = match kind {
        SecretKind::Password => password_value(value),
        _ => {
            let id = kind == SecretKind::Token && (is_uuid(value) || is_ulid(value));
            !id && looks_random(value)
        }
    };
    shaped && !placeholder(value) && !path_or_url(value)
}

fn looks_random(value: &[u8]) -> bool {
    !wordy(value)
        && (has_digit(value) || random_case(value))
        && distinct(value) >= VALUE_DISTINCT_MIN
        && entropy(value) >= ENTROPY_MIN
}

/// Decides on a value that stands where a secret is expected, such as that of a cookie.
pub(super) fn random_value(value: &[u8]) -> bool {
    let value = value.get(..JUDGED_BYTES_MAX).unwrap_or(value);
    looks_random(value) && !placeholder(value) && !path_or_url(value)
}

/// Decides on a value behind a flag for passwords.
pub(super) fn given_password(value: &[u8], least: usize) -> bool {
    let value = value.get(..JUDGED_BYTES_MAX).unwrap_or(value);
    value.len() >= least && password_value(value) && !placeholder(value) && !path_or_url(value)
}

/// Decides on a word after "the password is": prose goes on with words as well.
pub(super) fn spoken_password(value: &[u8]) -> bool {
    let sign = |b: &u8| matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'*' | b'~' | b'+');
    let inner = value.get(..value.len().saturating_sub(1)).unwrap_or_default();
    let mixed = value.iter().any(u8::is_ascii_uppercase) && has_digit(value);
    let strong = !wordy(value) || inner.iter().any(sign) || mixed;
    strong && has_letter(value) && given_password(value, SecretKind::Password.least())
}

/// Words of sentences; a phrase that somebody chose as a secret has none of them.
const PROSE: &str = "the a an is are was be must should can may not no your you and or of to for with in at on least \
    required enter please this that password passphrase new current confirm invalid wrong incorrect empty \
    same as if it from by than more characters long too short forgot reset change your my our their";

/// Says whether quoted words are a passphrase and not a message.
pub(super) fn passphrase(value: &[u8]) -> bool {
    let words: Vec<&[u8]> = value.split(|b| *b == b' ').filter(|w| !w.is_empty()).collect();
    let prose =
        |word: &&[u8]| PROSE.split(' ').any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    if words.len() < 2 || words.iter().any(prose) || placeholder(value) || path_or_url(value) {
        return false;
    }
    let plain =
        |word: &&[u8]| word.len() >= PHRASE_WORD_MIN && word.iter().all(u8::is_ascii_lowercase);
    let odd = |word: &&[u8]| has_digit(word) && has_letter(word) && !wordy(word);
    (words.len() >= PHRASE_WORDS_MIN && words.iter().all(plain)) || words.iter().any(odd)
}

/// People choose passwords that are words with a digit or a sign; code assigns plain names.
fn password_value(value: &[u8]) -> bool {
    let sign = |b: &u8| matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'*' | b'~' | b'+');
    let dotted = value.contains(&b'.') && wordy(value);
    let marked = has_letter(value) && (has_digit(value) || value.iter().any(sign));
    let number = value.iter().all(u8::is_ascii_digit);
    !dotted && (marked || number || random_case(value))
}

/// Decides on a whole string under a JSON key named like a secret. The name is certain here, so
/// only evident placeholders, names and ids stay.
pub(super) fn secret_field(kind: SecretKind, value: &str) -> bool {
    let bytes = value.as_bytes();
    if bytes.len() < SecretKind::Password.least() || placeholder(bytes) {
        return false;
    }
    let constant =
        bytes.iter().all(|b| b.is_ascii_uppercase() || *b == b'_') && bytes.contains(&b'_');
    let reference = path_or_url(bytes) && kind != SecretKind::Password;
    let id = kind == SecretKind::Token && (is_uuid(bytes) || is_ulid(bytes));
    let one_word = bytes.iter().all(u8::is_ascii_alphanumeric);
    let name = kind != SecretKind::Password && wordy(bytes) && !(one_word && has_digit(bytes));
    !(constant || reference || id || name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_logarithm_is_that_of_the_standard_library() {
        for number in 1..=300_u16 {
            let number = f64::from(number);
            assert!((super::log2(number) - number.log2()).abs() < 2e-6, "{number}");
        }
    }
}
