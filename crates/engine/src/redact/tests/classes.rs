//! Five hundred secrets over the ways in which people write them down, and how often source text is taken for one.

use super::*;

const SIGNS: &str = "!@#%^*+";

/// A password as people make them.
fn password(dice: &mut Dice) -> String {
    let words = ["Winter", "hunter", "Dragon", "correct", "Blue", "staple"];
    match dice.roll(4) {
        0 => dice.alnum(12) + "7x",
        1 => {
            format!("{}{}{}", words[dice.roll(6)], dice.text("0123456789", 4), dice.text(SIGNS, 1))
        }
        2 => format!("{}{}{}Q9", dice.alnum(4), dice.text(SIGNS, 1), dice.alnum(5)),
        _ => format!("{}{}{}", dice.text("abcdefgh", 5), dice.text("0123456789", 3), dice.alnum(4)),
    }
}

fn uuid(dice: &mut Dice) -> String {
    [8, 4, 4, 4, 12].map(|n| dice.text(HEX, n)).join("-")
}

fn phrase(dice: &mut Dice) -> String {
    let words = ["correct", "horse", "battery", "staple", "purple", "window", "cactus", "river"];
    (0..5).map(|_| words[dice.roll(8)]).collect::<Vec<_>>().join(" ")
}

type Make = fn(&mut Dice) -> (String, String);

fn with(dice: &mut Dice, make: fn(&mut Dice) -> String, line: &str) -> (String, String) {
    let secret = make(dice);
    (line.replace("{}", &secret), secret)
}

/// The classes; each makes a line and the secret in it.
const CLASSES: &[(&str, Make)] = &[
    ("npmrc", |d| with(d, uuid, "//registry.npmjs.org/:_authToken={}")),
    ("npmrc", |d| with(d, |d| d.alnum(30) + "9==", "_auth = {}")),
    ("curl", |d| with(d, password, "curl -u admin:{} https://ci.example.org/job")),
    ("curl", |d| with(d, password, "$ curl -s --user 'ann:{}' -X POST https://x.org")),
    ("netrc", |d| with(d, password, "machine git.example.org login ann password {}")),
    ("netrc", |d| with(d, password, "machine h\n  login ann\n  password {}\n")),
    ("sshpass", |d| with(d, password, "sshpass -p '{}' ssh root@host")),
    ("sshpass", |d| with(d, password, "sshpass -p{} scp a b:")),
    ("mysql", |d| with(d, password, "mysql -h db -u root -p{} app")),
    ("mysql", |d| with(d, password, "mysqldump -u root -p'{}' app > dump.sql")),
    ("redis", |d| with(d, password, "redis-cli -h cache -a {} ping")),
    ("docker", |d| with(d, password, "docker login -u ann -p {} registry.example.org")),
    ("credentials", |d| with(d, |d| d.alnum(24) + "4k", "credentials: {}")),
    ("credentials", |d| with(d, password, "credentials: admin:{}")),
    ("spoken", |d| with(d, |d| d.alnum(10) + "8Q", "The password is {}.")),
    ("spoken", |d| with(d, |d| d.alnum(9) + "!7a", "I changed the password to {} today")),
    ("spoken", |d| with(d, password, "the root password was `{}`, please rotate it")),
    ("block", |d| with(d, password, "password: |\n  {}\nuser: ann")),
    ("block", |d| with(d, password, "db:\n  password: >-\n    {}\n")),
    ("phrase", |d| with(d, phrase, "passphrase = \"{}\"")),
    ("phrase", |d| with(d, phrase, "password: '{}'")),
    ("full width", |d| with(d, password, "password\u{ff1d}{}")),
    ("full width", |d| with(d, password, "DB_PASSWORD\u{ff1a} {}")),
    ("html", |d| with(d, |d| d.alnum(14) + "5z", "password&#61;{}")),
    ("html", |d| with(d, |d| d.alnum(14) + "5z", "&quot;password&quot;: &quot;{}&quot;")),
    ("cookie", |d| with(d, |d| d.alnum(32) + "3", "Cookie: theme=dark; session={}")),
    ("cookie", |d| with(d, |d| d.alnum(40) + "3", "set-cookie: sid={}; Path=/; HttpOnly")),
    ("glued", |d| with(d, |d| format!("ghp{}{}71", "_", d.alnum(34)), "tokenis{}")),
    ("glued", |d| with(d, |d| format!("AKI{}{}23", "A", d.text(UPPER, 14)), "key{} end")),
    ("env", |d| with(d, password, "export PGPASSWORD={}")),
    ("json", |d| with(d, password, "{\"db_password\":\"{}\",\"user\":\"a\"}")),
    ("url", |d| with(d, password, "postgres://app:{}@db.example.org/app")),
    ("header", |d| with(d, |d| d.alnum(36) + "2", "Authorization: Bearer {}")),
    ("key", |d| with(d, |d| d.alnum(30) + "2", "api_key = \"{}\"")),
];

#[test]
fn of_five_hundred_secrets_in_the_ways_people_write_them_at_most_five_in_a_hundred_survive() {
    const PLANTED: usize = 510;
    let mut dice = Dice(20_261_118);
    let (mut survived, mut named) = (Vec::new(), BTreeSet::new());
    for n in 0..PLANTED {
        let (class, make) = CLASSES[n % CLASSES.len()];
        named.insert(class);
        let (line, secret) = make(&mut dice);
        let out = redactor().text(&line).into_owned();
        assert_eq!(redactor().text(&out), out, "{class}: twice");
        if out.contains(secret.as_str()) {
            survived.push(format!("{class}: {line}"));
        }
    }
    println!("{} of {PLANTED} planted secrets survive: {survived:#?}", survived.len());
    assert!(named.len() >= 18);
    assert!(survived.len() * 20 <= PLANTED, "{} survived: {survived:#?}", survived.len());
}

#[test]
fn what_people_say_about_passwords_is_no_password() {
    for text in [
        "the password is required and must be at least 8 characters",
        "password is base64-encoded",
        "password: \"The password is incorrect\"",
        "password: 'must have at least eight characters'",
        "credentials: 'same-origin'",
        "credentials: include",
        "curl -u user:password https://example.org",
        "curl -u $USER:$PASS https://x.org",
        "mysql -p app",
        "login as ann, password below",
        "Cookie: theme=dark; lang=en",
        "sshpass -p $PASSWORD ssh host",
        "docker run -p 8080:80 nginx",
        "password: |\n  see the vault",
    ] {
        assert_eq!(redactor().text(text), text);
    }
}

/// Walks a bounded part of the source files below a directory.
fn sources(dir: &std::path::Path, left: &mut usize, see: &mut dyn FnMut(&std::path::Path, &str)) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, left, see);
        } else if path
            .extension()
            .is_some_and(|end| ["rs", "toml", "md", "c", "h"].iter().any(|e| end == *e))
            && let Ok(text) = std::fs::read_to_string(&path)
            && *left >= text.len()
        {
            *left -= text.len();
            see(&path, &text);
        }
    }
}

/// `COMITY_SOURCES=DIR[:DIR…]` names trees; at most 200 MB of each are looked at.
#[test]
#[expect(clippy::disallowed_methods, reason = "whoever measures names the sources")]
fn source_text_gives_at_most_one_false_alarm_in_a_megabyte() {
    const BYTES_MAX: usize = 200_000_000;
    // Those of our own crates in which no secret is written down, also not for a test.
    let own = ["api", "bridge", "cli", "core", "fleet", "github", "guard", "protocol", "server"];
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let given = std::env::var_os("COMITY_SOURCES");
    let dirs: Vec<_> = match &given {
        Some(dirs) => std::env::split_paths(dirs).collect(),
        None => own.iter().map(|name| crates.join(name).join("src")).collect(),
    };
    for dir in dirs {
        let (mut left, mut bytes, mut alarms) = (BYTES_MAX, 0, Vec::new());
        let begun = Instant::now();
        sources(&dir, &mut left, &mut |path, text| {
            bytes += text.len();
            if let Cow::Owned(out) = redactor().text(text) {
                let differ = text.lines().zip(out.lines()).filter(|(old, new)| old != new);
                alarms.extend(differ.map(|(old, _)| format!("{}: {}", path.display(), old.trim())));
            }
        });
        let seconds = begun.elapsed();
        if given.is_some() {
            println!(
                "{}: {bytes} bytes, {} alarms, {seconds:?}\n{}",
                dir.display(),
                alarms.len(),
                alarms.join("\n")
            );
        }
        let most = if given.is_some() { bytes / 1_000_000 + 1 } else { 0 };
        assert!(bytes > 50_000 && alarms.len() <= most, "{}: {alarms:#?}", dir.display());
    }
}
