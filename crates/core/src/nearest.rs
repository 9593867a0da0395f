//! The known name that a mistyped one is nearest to.

/// One letter may differ for so many that the name has; one is always allowed.
const LETTERS_PER_SLIP: usize = 2;

/// Returns the known name that differs from `name` in the fewest letters, if it is near enough to be meant.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let slips_max = (name.chars().count() / LETTERS_PER_SLIP).max(1);
    let measured = known.into_iter().map(|other| (slips(name, other), other));
    let near = measured.filter(|(slips, _)| *slips <= slips_max);
    near.min().map(|(_, other)| other)
}

/// Counts the letters to add, drop or change to make one name of the other; case is no difference.
fn slips(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.to_lowercase().chars().enumerate() {
        let mut next = vec![at + 1];
        for (column, known) in other.iter().enumerate() {
            let cost = |place: usize| row.get(place).copied().unwrap_or(usize::MAX - 1);
            let changed = cost(column) + usize::from(letter != *known);
            let before = next.last().copied().unwrap_or(usize::MAX - 1);
            next.push(changed.min(cost(column + 1) + 1).min(before + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_has_a_nearest_name_and_another_word_has_none() {
        let known = ["tests", "lint", "security-review"];
        for (typed, meant) in [
            ("test", Some("tests")),
            ("tetss", Some("tests")),
            ("Tests", Some("tests")),
            ("lnt", Some("lint")),
            ("security-reviews", Some("security-review")),
            ("deploy", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed:?}");
        }
    }
}
