//! Times as agents write them: ISO 8601, a day or a moment, with or without seconds, fraction and offset.

/// Tells whether a text is a day or a moment in the extended or the basic form.
pub(super) fn is_iso_8601(text: &str) -> bool {
    let text = text.trim();
    let (day, clock) = match text.find(['T', 't', ' ']) {
        Some(place) => (text.get(..place).unwrap_or(""), text.get(place + 1..)),
        None => (text, None),
    };
    is_day(day) && clock.is_none_or(is_clock)
}

/// The digits of parts that have a fixed width; none when something else is there.
fn numbers(text: &str, widths: &[usize], between: &str) -> Option<Vec<u32>> {
    let mut rest = text;
    let mut found = Vec::new();
    for (place, width) in widths.iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix(between)?;
        }
        let part = rest.get(..*width)?;
        if !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        found.push(part.parse().ok()?);
        rest = rest.get(*width..)?;
    }
    rest.is_empty().then_some(found)
}

fn is_day(text: &str) -> bool {
    let parts = numbers(text, &[4, 2, 2], "-").or_else(|| numbers(text, &[4, 2, 2], ""));
    let Some([year, month, day]) = parts.as_deref() else { return false };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(day)
}

fn is_clock(text: &str) -> bool {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(place) => (text.get(..place).unwrap_or(""), text.get(place..).unwrap_or("")),
        None => (text, ""),
    };
    let (clock, fraction) = match clock.find(['.', ',']) {
        Some(place) => (clock.get(..place).unwrap_or(""), clock.get(place + 1..)),
        None => (clock, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_time_of_day(clock, fraction) && fraction.is_none_or(digits) && is_offset(offset)
}

fn is_time_of_day(text: &str, fraction: Option<&str>) -> bool {
    let parts = numbers(text, &[2, 2, 2], ":")
        .or_else(|| numbers(text, &[2, 2, 2], ""))
        .or_else(|| numbers(text, &[2, 2], ":"))
        .or_else(|| numbers(text, &[2, 2], ""))
        .or_else(|| numbers(text, &[2], ""));
    let Some(parts) = parts else { return false };
    let part = |place: usize| parts.get(place).copied().unwrap_or(0);
    let (hour, minute, second) = (part(0), part(1), part(2));
    let zero = fraction.is_none_or(|digits| digits.bytes().all(|b| b == b'0'));
    // Midnight at the end of a day is written 24:00; a leap second is the 60th.
    let midnight = hour == 24 && minute == 0 && second == 0 && zero;
    midnight || (hour <= 23 && minute <= 59 && second <= 60)
}

fn is_offset(text: &str) -> bool {
    if matches!(text, "" | "Z" | "z") {
        return true;
    }
    let Some(rest) = text.strip_prefix(['+', '-']) else { return false };
    let parts = numbers(rest, &[2, 2], ":")
        .or_else(|| numbers(rest, &[2, 2], ""))
        .or_else(|| numbers(rest, &[2], ""));
    parts.is_some_and(|parts| {
        let part = |place: usize| parts.get(place).copied().unwrap_or(0);
        part(0) <= 23 && part(1) <= 59
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
