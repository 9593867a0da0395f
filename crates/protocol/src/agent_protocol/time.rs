//! Times as agents write them: ISO 8601, a day or a moment, with or without seconds, fraction and offset.

pub(super) fn is_iso_8601(text: &str) -> bool {
    match text.trim().split_once(['T', 't', ' ']) {
        Some((day, clock)) => is_day(day) && is_clock(clock),
        None => is_day(text.trim()),
    }
}

/// The digits of a text in pairs, as numbers; none when it has none of the forms, which write each digit as 0.
fn pairs(text: &str, forms: &[&str]) -> Option<Vec<u32>> {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let pair = |two: &[u32]| two.iter().fold(0, |number, digit| number * 10 + digit);
    forms.contains(&form.as_str()).then(|| digits.chunks(2).map(pair).collect())
}

fn is_day(text: &str) -> bool {
    let parts = pairs(text, &["0000-00-00", "00000000"]);
    let Some([century, year, month, day]) = parts.as_deref() else { return false };
    let leap = year % 4 == 0 && (*year != 0 || century % 4 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(day)
}

fn is_clock(text: &str) -> bool {
    let (clock, offset) = text.split_at(text.find(['Z', 'z', '+', '-']).unwrap_or(text.len()));
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let parts = pairs(clock, &["00:00:00", "000000", "00:00", "0000", "00"]);
    let Some(parts) = parts else { return false };
    let part = |place: usize| parts.get(place).copied().unwrap_or(0);
    let zero = fraction.bytes().all(|digit| digit == b'0');
    // Midnight at the end of a day is written 24:00; a leap second is the 60th.
    let midnight = part(0) == 24 && part(1) == 0 && part(2) == 0 && zero;
    let within = part(0) <= 23 && part(1) <= 59 && part(2) <= 60;
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    (midnight || within) && digits && is_offset(offset)
}

fn is_offset(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['+', '-']) else { return matches!(text, "" | "Z" | "z") };
    let parts = pairs(rest, &["00:00", "0000", "00"]);
    parts.is_some_and(|parts| {
        parts.first().is_some_and(|hours| *hours <= 23) && parts.get(1).is_none_or(|m| *m <= 59)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_iso_8601_allows_is_a_time() {
        for text in [
            "2025-01-15T10:30:00Z",
            "2025-01-15t10:30:00.123456789z",
            "2025-01-15T10:30:00,5Z",
            "2025-01-15T10:30:00+02:00",
            "2025-01-15T10:30:00+0200",
            "2025-01-15T10:30:00+02",
            "2025-01-15T10:30:00-11:30",
            "2025-01-15T10:30+00:00",
            "2025-01-15T10:30Z",
            "2025-01-15T10:30",
            "2025-01-15T10Z",
            "2025-01-15 10:30:00",
            "2025-01-15",
            "20250115",
            "20250115T103000Z",
            "20250115T1030",
            "1969-07-20T20:17:40Z",
            "0001-01-01",
            "2016-12-31T23:59:60Z",
            "2025-01-15T24:00:00Z",
            "2024-02-29",
        ] {
            assert!(is_iso_8601(text), "{text}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "soon",
            "2025",
            "2025-01",
            "2025-1-5",
            "2025-13-01",
            "2025-02-29",
            "2025-01-15T",
            "2025-01-15T25:00:00Z",
            "2025-01-15T24:00:01Z",
            "2025-01-15T24:00:00.5Z",
            "2025-01-15T10:60:00Z",
            "2025-01-15T10:30:00.Z",
            "2025-01-15T10:30:00+-1:-5",
            "2025-01-15T10:30:00++1:00",
            "2025-01-15T10:30:00+24:00",
            "2025-01-15T10:30:00+2",
            "2025-01-15T10:30:00ZZ",
            "2025-01-15T10:3000Z",
            "202501-15",
            "é025-01-15",
            "2025-01-15Z",
        ] {
            assert!(!is_iso_8601(text), "{text}");
        }
    }
}
