//! Store URLs, and opening what they name.

use crate::machine::Environment;
use comity_core::hint::{op, say};
use comity_core::refusal::Refusal;
use comity_engine::{Service, Settings};
use comity_store::memory::MemoryStore;
use comity_store::postgres::{OpenOptions as PgOptions, PgStore, no_weaker_tls, without_password};
use comity_store::sqlite::{self, OpenOptions, SqliteStore};
use comity_store::{Store, StoreError, SystemClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// Only read: a store that is not there is an empty one.
    Read,
    /// Write: a store that is not there is made.
    Write,
    /// Write although events are gone. Only a person decides that.
    Mend,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    File(PathBuf),
    /// The connection string of a server.
    Server(String),
}

impl Place {
    pub fn url(&self) -> String {
        match self {
            Place::File(path) => format!("sqlite:{}", path.display()),
            Place::Server(url) => without_password(url),
        }
    }

    /// Tells whether there is a store; a server is asked when it is needed.
    pub fn exists(&self) -> bool {
        match self {
            Place::File(path) => path.exists(),
            Place::Server(_) => true,
        }
    }
}

/// Reads a store URL; a relative path is taken from `base`.
pub fn parse_url(url: &str, base: &Path) -> Result<Place, Refusal> {
    let how = "write sqlite:PATH, for example sqlite:/var/lib/comity/comity.db, or postgres://HOST/DATABASE";
    if let Some(rest) = url.strip_prefix("sqlite:") {
        let path = rest.strip_prefix("//").unwrap_or(rest);
        if path.is_empty() || path == ":memory:" || path.contains('\0') {
            return Err(Refusal::input("the store URL names no file").hint(how));
        }
        return Ok(Place::File(base.join(path)));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Place::Server(url.to_owned()));
    }
    // The URL itself is not repeated: it may hold a password.
    Err(Refusal::input("the store URL begins with neither sqlite: nor postgres:").hint(how))
}

/// Reads a store URL of a file. A file never weakens how the user wants TLS.
pub(crate) fn parse_url_of_file(
    url: &str,
    base: &Path,
    environment: &Environment,
) -> Result<Place, Refusal> {
    Ok(match parse_url(url, base)? {
        Place::Server(url) => {
            Place::Server(no_weaker_tls(&url, environment.own("PGSSLMODE").as_deref()))
        }
        file @ Place::File(_) => file,
    })
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

pub fn open(
    place: &Place,
    access: Access,
    settings: Settings,
    environment: &Environment,
) -> Result<Service, Refusal> {
    Service::inline(open_store(place, access, environment)?, settings)
}

/// Opens a store for many callers.
pub(crate) fn open_shared(
    place: &Place,
    settings: Settings,
    environment: &Environment,
) -> Result<Service, Refusal> {
    Service::start(open_store(place, Access::Write, environment)?, settings)
}

fn open_store(
    place: &Place,
    access: Access,
    environment: &Environment,
) -> Result<Box<dyn Store>, Refusal> {
    Ok(match place {
        Place::File(path) if access == Access::Read && !path.exists() => {
            if let Some(gone) = sqlite::gone(path)? {
                return Err(StoreError::Gone(gone).to_refusal());
            }
            Box::new(MemoryStore::new(Arc::new(SystemClock)))
        }
        Place::File(path) => {
            let (create, accepts_loss) = (access != Access::Read, access == Access::Mend);
            let options = OpenOptions { create, accepts_loss, ..OpenOptions::default() };
            Box::new(SqliteStore::open(path, options).map_err(|error| error.to_refusal())?)
        }
        Place::Server(url) => Box::new(server(url, PgOptions::default(), environment)?),
    })
}

/// Opens a store on a server; what its URL leaves out comes from the `PG*` variables.
pub(crate) fn server(
    url: &str,
    options: PgOptions,
    environment: &Environment,
) -> Result<PgStore, Refusal> {
    let var = |name: &str| environment.own(name);
    PgStore::open(url, options, &var).map_err(|error| match error {
        StoreError::Other { .. } => error.to_refusal().hint(
            say("check that the server is running and that the URL is right; ")
                .quote(op("doctor"))
                .say(" says more"),
        ),
        other => other.to_refusal(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_urls_are_read_relative_to_where_they_were_written() {
        let base = Path::new("/base");
        let file = |path: &str| Place::File(PathBuf::from(path));
        assert_eq!(parse_url("sqlite:a/b.db", base).unwrap(), file("/base/a/b.db"));
        assert_eq!(parse_url("sqlite:/x/b.db", base).unwrap(), file("/x/b.db"));
        assert_eq!(parse_url("sqlite:///x/b.db", base).unwrap(), file("/x/b.db"));
        let place = parse_url("postgres://ann:pw@h/db", base).unwrap();
        assert_eq!(place.url(), "postgres://ann@h/db");
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
