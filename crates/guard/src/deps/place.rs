//! Where dependencies come from.

/// Ends of files that are a package in themselves.
const ARCHIVES: [&str; 6] = [".tgz", ".tar.gz", ".zip", ".whl", ".jar", ".tar"];

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

fn is_archive(text: &str) -> bool {
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
    fn a_source_is_named_without_its_version() {
        for text in ["git+https://x.org/r.git#v1", "git+https://x.org/r.git@v2?x"] {
            assert_eq!(from("n", text), "n (git+https://x.org/r.git)");
        }
        assert_eq!(from("n", "git@x.org:a/r"), "n (git@x.org:a/r)");
        assert_eq!(from("n", "https://x.org/n-1.0.whl"), "n (https://x.org)");
    }
}
