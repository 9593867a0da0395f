//! Branch names: `agent/<issue>-<slug>`.

const SLUG_CHARS_MAX: usize = 40;

/// Makes the slug of a title: lower case, one dash for what is neither letter nor digit, none at the ends, and of that
/// the first 40 characters. Where the cut comes after a dash, the dash stays, as it does in the original.
pub fn slug(title: &str) -> String {
    let mut out = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let slug = out.trim_end_matches('-');
    let slug = slug.get(..SLUG_CHARS_MAX).unwrap_or(slug);
    if slug.is_empty() { "issue".to_owned() } else { slug.to_owned() }
}

pub fn branch(issue: u64, title: &str) -> String {
    format!("agent/{issue}-{}", slug(title))
}

pub fn issue_of_branch(branch: &str) -> Option<u64> {
    let (number, slug) = branch.strip_prefix("agent/")?.split_once('-')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !slug.is_empty()).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_the_issue_and_its_title() {
        assert_eq!(branch(123, "Dark mode"), "agent/123-dark-mode");
        assert_eq!(branch(12, "  X: (y)  "), "agent/12-x-y");
        assert_eq!(branch(12, "…"), "agent/12-issue");
        assert_eq!(slug(&"abc ".repeat(30)), "abc-".repeat(10));
        assert_eq!(slug(&format!("{} !", "a".repeat(40))), "a".repeat(40));
        assert_eq!(slug(&"a".repeat(60)).len(), 40);
        assert_eq!(issue_of_branch("agent/123-dark-mode"), Some(123));
        for other in ["agent/-x", "agent/12", "agent/12-", "feat/12-x", "agent/+1-x"] {
            assert_eq!(issue_of_branch(other), None, "{other}");
        }
    }
}
