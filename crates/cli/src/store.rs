//! Store URLs, and opening what they name.

use comity_core::refusal::{Code, Refusal};
use comity_engine::{Engine, Settings};
use comity_store::memory::MemoryStore;
use comity_store::sqlite::{OpenOptions, SqliteStore};
use comity_store::{Store, SystemClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a command is going to do with the store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// Only read: a store that is not there is an empty one.
    Read,
    /// Write: a store that is not there is made.
    Write,
}

/// Reads a store URL; a relative path is taken from `base`.
pub fn parse_url(url: &str, base: &Path) -> Result<PathBuf, Refusal> {
    let how = "write sqlite:PATH, for example sqlite:/var/lib/comity/comity.db";
    if let Some(rest) = url.strip_prefix("sqlite:") {
        let path = rest.strip_prefix("//").unwrap_or(rest);
        if path.is_empty() || path == ":memory:" || path.contains('\0') {
            return Err(Refusal::input("the store URL names no file").hint(how));
        }
        return Ok(base.join(path));
    }
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if scheme == "postgres" || scheme == "postgresql" {
        return Err(Refusal::new(
            Code::StoreUnavailable,
            "this build of comity cannot open PostgreSQL stores",
        )
        .hint("use sqlite:PATH"));
    }
    // The URL itself is not repeated: it may hold a password.
    Err(Refusal::input("the store URL is not of a known kind").hint(how))
}

/// Tells whether a URL carries a password, which has no place in a committed file.
pub fn has_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    // Up to the last @, since a careless password may hold a slash.
    let in_authority = rest
        .split('?')
        .next()
        .filter(|_| !url.starts_with("sqlite:"))
        .and_then(|rest| rest.rsplit_once('@'))
        .and_then(|(user, _)| user.split_once(':'))
        .is_some_and(|(_, password)| !password.is_empty());
    let query = url.split_once('?').map_or("", |(_, query)| query);
    in_authority || query.split('&').any(|pair| pair.starts_with("password="))
}

/// Opens the store at a path and puts the rules before it.
pub fn open(path: &Path, access: Access, settings: Settings) -> Result<Engine, Refusal> {
    let store: Box<dyn Store> = if access == Access::Read && !path.exists() {
        Box::new(MemoryStore::new(Arc::new(SystemClock)))
    } else {
        let options = OpenOptions { create: access == Access::Write, ..OpenOptions::default() };
        Box::new(SqliteStore::open(path, options).map_err(|error| error.to_refusal())?)
    };
    Engine::new(store, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_urls_are_read_relative_to_where_they_were_written() {
        let base = Path::new("/base");
        assert_eq!(parse_url("sqlite:a/b.db", base).unwrap(), Path::new("/base/a/b.db"));
        assert_eq!(parse_url("sqlite:/x/b.db", base).unwrap(), Path::new("/x/b.db"));
        assert_eq!(parse_url("sqlite:///x/b.db", base).unwrap(), Path::new("/x/b.db"));
        assert_eq!(parse_url("postgres://h/db", base).unwrap_err().code.exit_status(), 5);
        for bad in ["", "x.db", "sqlite:", "sqlite::memory:", "mysql://u:pw@h"] {
            let refusal = parse_url(bad, base).unwrap_err();
            assert_eq!(refusal.code.exit_status(), 2, "{bad}");
            assert!(!refusal.message.contains("pw"));
        }
    }

    #[test]
    fn a_password_is_noticed() {
        assert!(has_password("postgres://ann:pw@host/db"));
        assert!(has_password("postgres://ann:p/w@host/db"));
        assert!(has_password("postgres://host/db?password=pw"));
        assert!(!has_password("postgres://ann@host:5432/db"));
        assert!(!has_password("sqlite:a:b@c"));
    }
}
