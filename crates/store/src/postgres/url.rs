//! Connection strings, and the `PG*` variables for what they leave out.

use crate::{StoreError, plain_file};
use std::path::Path;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How PostgreSQL shows who is connected.
const APPLICATION: &str = "comity";
/// Where Debian and most others put the server's socket.
const SOCKET_DIR: &str = "/var/run/postgresql";

/// Reads a connection string; what it leaves out comes from the environment, as with other clients.
pub fn read(url: &str, var: &dyn Fn(&str) -> Option<String>) -> Result<Config, StoreError> {
    let wrong = |what: &str| StoreError::other("the store URL", what.to_owned());
    // Its words are not repeated: they may hold a password.
    let mut config: Config =
        one_host_each(url).parse().map_err(|_| wrong("not a PostgreSQL connection string"))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let host = var("PGHOST").filter(|host| !host.is_empty());
        match host {
            Some(hosts) => hosts.split(',').for_each(|host| {
                config.host(host);
            }),
            None if Path::new(SOCKET_DIR).is_dir() => {
                config.host(SOCKET_DIR);
            }
            None => {
                config.host("localhost");
            }
        }
    }
    if config.get_ports().is_empty()
        && let Some(ports) = var("PGPORT")
    {
        for port in ports.split(',') {
            config.port(port.trim().parse().map_err(|_| wrong("PGPORT is not a number"))?);
        }
    }
    if config.get_user().is_none() {
        config.user(var("PGUSER").or_else(|| var("USER")).unwrap_or_else(|| "postgres".to_owned()));
    }
    if config.get_password().is_none()
        && let Some(password) = var("PGPASSWORD").or_else(|| from_password_file(&config, var))
    {
        config.password(password);
    }
    if config.get_dbname().is_none()
        && let Some(name) = var("PGDATABASE")
    {
        config.dbname(name);
    }
    if !pairs(url).any(|(key, _)| key == SSLMODE)
        && let Some(mode) = var("PGSSLMODE")
    {
        config.ssl_mode(match mode.as_str() {
            "disable" => SslMode::Disable,
            "allow" | "prefer" => SslMode::Prefer,
            "require" | "verify-ca" | "verify-full" => SslMode::Require,
            _ => return Err(wrong("PGSSLMODE is not a mode of PostgreSQL")),
        });
    }
    if let Some(seconds) = var("PGCONNECT_TIMEOUT").and_then(|text| text.parse().ok()) {
        config.connect_timeout(Duration::from_secs(seconds));
    }
    if config.get_application_name().is_none() {
        config.application_name(var("PGAPPNAME").unwrap_or_else(|| APPLICATION.to_owned()));
    }
    Ok(config)
}

/// Returns a connection string that a file has without an `sslmode` weaker than `wanted`, the user's own, or than the
/// default. What the user's own variable says then counts.
pub fn no_weaker_tls(url: &str, wanted: Option<&str>) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_owned() };
    let floor = wanted.and_then(strength).unwrap_or(DEFAULT_STRENGTH);
    let is_weak = |pair: &str| {
        let (key, value) = decoded(pair);
        key == SSLMODE && strength(&value).is_some_and(|strength| strength < floor)
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_weak(pair)).collect();
    if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }
}

const SSLMODE: &str = "sslmode";
/// That of `prefer`.
const DEFAULT_STRENGTH: usize = 2;

/// Returns how much a mode asks for.
fn strength(mode: &str) -> Option<usize> {
    let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
    modes.iter().position(|known| *known == mode)
}

fn pairs(url: &str) -> impl Iterator<Item = (String, String)> {
    url.split_once('?').map_or("", |(_, query)| query).split('&').map(decoded)
}

/// Reads `key=value` with its `%XX` written out, since a key counts however it is written.
fn decoded(pair: &str) -> (String, String) {
    let plain = |text: &str| {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let [first, after @ ..] = rest {
            let code = after.get(..2).filter(|_| *first == b'%');
            let code =
                code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
            bytes.push(code.unwrap_or(*first));
            rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    (plain(key), plain(value))
}

/// Writes `host=a,b` as other clients understand it: once for each host.
fn one_host_each(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_owned() };
    let pair = |pair: &str| match pair.strip_prefix("host=") {
        Some(hosts) => hosts.replace("%2C", ",").split(',').map(|h| format!("host={h}")).collect(),
        None => vec![pair.to_owned()],
    };
    let pairs: Vec<String> = query.split('&').flat_map(pair).collect();
    format!("{place}?{}", pairs.join("&"))
}

/// The largest file of passwords that is read.
const PASSWORDS_BYTES_MAX: usize = 1024 * 1024;

/// Finds the password in a file of `host:port:database:user:password` lines that only its owner reads.
fn from_password_file(config: &Config, var: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let path = var("PGPASSFILE").or_else(|| Some(format!("{}/.pgpass", var("HOME")?)))?;
    let file = plain_file::open(Path::new(&path)).ok()?;
    if file.metadata().ok()?.permissions().mode() & 0o077 != 0 {
        return None;
    }
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    let wanted = [host, port, database, user];
    let text = String::from_utf8(plain_file::read_all(file, PASSWORDS_BYTES_MAX).ok()?).ok()?;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.splitn(5, ':').collect();
        let fits = |(field, wanted): (&&str, &String)| *field == "*" || field == wanted;
        let password = *fields.get(4)?;
        fields.iter().zip(&wanted).all(fits).then(|| password.to_owned())
    })
}

/// Returns the connection string without its password, for people to see.
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "postgres:".to_owned() };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let place = match rest.rsplit_once('@') {
        Some((user, place)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            format!("{user}@{place}")
        }
        None => rest.to_owned(),
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("password="))
        .collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{scheme}://{place}{mark}{}", kept.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn what_the_url_says_beats_what_the_environment_says() {
        let var = |name: &str| match name {
            "PGHOST" => Some("elsewhere".to_owned()),
            "PGUSER" => Some("bob".to_owned()),
            "PGDATABASE" => Some("other".to_owned()),
            "PGPORT" => Some("6000".to_owned()),
            _ => None,
        };
        let config = read("postgres://ann@here:5433/app", &var).unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("here".to_owned())]);
        assert_eq!((config.get_user(), config.get_dbname()), (Some("ann"), Some("app")));
        assert_eq!(config.get_ports(), [5433]);
        let config = read("postgres://", &var).unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("elsewhere".to_owned())]);
        assert_eq!((config.get_user(), config.get_dbname()), (Some("bob"), Some("other")));
        assert_eq!(config.get_ports(), [6000]);
    }

    #[test]
    fn several_hosts_are_kept_in_order() {
        let url = "postgres://a:1,b:2/app?target_session_attrs=read-write";
        assert_eq!(read(url, &none).unwrap().get_hosts().len(), 2);
        let url = "postgres://ann@/app?host=/run/a,/run/b&target_session_attrs=read-write";
        let hosts = ["/run/a", "/run/b"].map(|dir| Host::Unix(dir.into()));
        assert_eq!(read(url, &none).unwrap().get_hosts(), hosts);
    }

    #[test]
    fn a_password_comes_from_a_plain_file_of_the_users_own() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pgpass");
        let name = file.display().to_string();
        let var = |wanted: &str| (wanted == "PGPASSFILE").then(|| name.clone());
        let password = || {
            let config = read("postgres://ann@h/app", &var).unwrap();
            config.get_password().map(|found| String::from_utf8_lossy(found).into_owned())
        };
        std::fs::write(&file, "other:*:*:*:no\nh:5432:app:ann:s3cret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(password().as_deref(), Some("s3cret"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(password(), None, "others may read it");
        // A pipe that nobody writes to, and a file without an end, are not waited for.
        std::fs::remove_file(&file).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(password(), None);
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        assert_eq!(password(), None);
    }

    #[test]
    fn a_bad_url_is_refused_without_its_words() {
        let error = read("postgres://ann:hunter2@h/db?no_such_thing=1", &none).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn rule_1_7_a_file_asks_for_more_tls_and_never_for_less() {
        let of_file = |query: &str, wanted: Option<&str>| {
            let url = no_weaker_tls(&format!("postgres://h/db?{query}"), wanted);
            let var = |name: &str| wanted.filter(|_| name == "PGSSLMODE").map(str::to_owned);
            read(&url, &var).unwrap().get_ssl_mode()
        };
        assert_eq!(of_file("sslmode=disable", Some("require")), SslMode::Require);
        assert_eq!(of_file("sslm%6fde=d%69sable", Some("verify-full")), SslMode::Require);
        assert_eq!(of_file("sslmode=disable", None), SslMode::Prefer);
        assert_eq!(of_file("sslmode=prefer&sslmode=disable", Some("require")), SslMode::Require);
        assert_eq!(of_file("sslmode=require", Some("disable")), SslMode::Require);
        assert_eq!(of_file("sslmode=disable", Some("disable")), SslMode::Disable);
        assert_eq!(of_file("application_name=sslmode", Some("require")), SslMode::Require);
        let kept = "postgres://h/db?connect_timeout=3";
        assert_eq!(no_weaker_tls(&format!("{kept}&sslmode=disable"), None), kept);
    }

    #[test]
    fn a_password_is_not_shown() {
        let shown = without_password("postgres://ann:hunter2@h:5/db?password=x&sslmode=require");
        assert_eq!(shown, "postgres://ann@h:5/db?sslmode=require");
        assert_eq!(without_password("postgres://h/db"), "postgres://h/db");
    }
}
