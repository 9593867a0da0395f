//! Where dependencies come from.

/// Ends of files that are a package in themselves.
const ARCHIVES: [&str; 7] = [".tgz", ".tar.gz", ".zip", ".whl", ".jar", ".aar", ".tar"];

/// Returns a path that is relative to a directory of the repository; none when it leaves the repository.
pub(super) fn inside(dir: &str, relative: &str) -> Option<String> {
    if relative.starts_with('/') || relative.starts_with('~') || relative.contains(":\\") {
        return None;
    }
    let mut kept: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop()?;
            }
            name => kept.push(name),
        }
    }
    Some(kept.join("/"))
}

/// Tells whether a path is the repository's own: inside of it, and no packed copy of something else.
pub(super) fn is_own(dir: &str, relative: &str) -> bool {
    inside(dir, relative).is_some() && !is_archive(relative)
}

/// Tells whether a name is that of a package in itself.
pub(super) fn is_archive(text: &str) -> bool {
    ARCHIVES.iter().any(|end| text.ends_with(end))
}

/// A name together with where it comes from.
pub(super) fn from(name: &str, source: &str) -> String {
    format!("{name} ({})", without_version(source))
}

/// A source without what only says which version.
pub(super) fn without_version(source: &str) -> &str {
    let source = source.split(['#', '?']).next().unwrap_or(source).trim_end_matches('/');
    // A version after the path, as in `git+https://example.org/r.git@v1`.
    let source = match source.rsplit_once('@') {
        Some((before, version)) if !version.contains(['/', ':']) && before.contains('/') => before,
        _ => source,
    };
    match source.rsplit_once('/') {
        Some((before, _)) if is_archive(source) => before,
        _ => source,
    }
}

/// Returns the scheme and host of an address, when it is at none of the usual places.
pub(super) fn other_host<'u>(url: &'u str, usual: &[&str]) -> Option<&'u str> {
    let at = url.find("://")? + 3;
    let is_usual = |place: &&str| {
        url.strip_prefix(*place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    };
    if usual.iter().any(is_usual) {
        return None;
    }
    let end = url.get(at..)?.find('/').map_or(url.len(), |slash| at + slash);
    url.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_ones_own_inside_of_the_repository_only() {
        assert_eq!(inside("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(inside("a", "../../c"), None);
        assert!(is_own("a", "./b") && !is_own("", "../b") && !is_own("a", "b.tgz"));
        assert!(!is_own("a", "/etc"));
    }

    #[test]
    fn another_host_is_told_from_the_usual_one_by_all_of_its_name() {
        let usual = ["https://pypi.org"];
        assert_eq!(other_host("https://pypi.org/simple", &usual), None);
        assert_eq!(other_host("x", &usual), None);
        let evil = "https://pypi.org.evil.org/simple";
        assert_eq!(other_host(evil, &usual), Some("https://pypi.org.evil.org"));
    }

    #[test]
    fn a_source_is_named_without_its_version() {
        for text in ["git+https://x.org/r.git#v1", "git+https://x.org/r.git@v2?x"] {
            assert_eq!(from("n", text), "n (git+https://x.org/r.git)");
        }
        assert_eq!(from("n", "git@x.org:a/r"), "n (git@x.org:a/r)");
        assert_eq!(from("n", "https://x.org/n-1.0.whl"), "n (https://x.org)");
    }
}
