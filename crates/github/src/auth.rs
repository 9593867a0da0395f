//! Where the token comes from: a variable, a command, GitHub's own command line, or an App's key. It stays in memory.

use comity_core::hint::{op, say};
use comity_core::refusal::{Code, Refusal};
use comity_core::time::{Millis, Timestamp};
use comity_project::Context;
use comity_project::github::{GithubSettings, TOKEN_VARIABLES};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// With one of these bits others could read a key.
const OPEN_TO_OTHERS: u32 = 0o077;
const KEY_BYTES_MAX: usize = 64 * 1024;
/// GitHub takes a JWT of ten minutes at most; clocks differ a little.
const JWT_LIFE: i64 = 9 * 60;
const JWT_BACK: i64 = 60;
/// A token of an installation is made anew so long before it ends.
const RENEW_BEFORE: Millis = Millis::from_secs(120);

/// What proves to GitHub who asks.
pub enum Token {
    Fixed(String),
    App(Box<App>),
}

pub struct App {
    id: u64,
    pub installation: u64,
    key: RsaKeyPair,
    pub token: Option<(String, Timestamp)>,
}

impl Token {
    /// Finds the token that the settings, else the environment, name. None was found where nothing names one.
    pub fn find(context: &Context, settings: &GithubSettings) -> Result<Token, Refusal> {
        if !settings.api_url.eq(comity_project::github::API_URL) {
            context.require_trust("github.api_url", &settings.api_url)?;
        }
        if let Some(app) = &settings.app {
            context.require_trust("github.app.key_file", &app.key_file)?;
            let file = context.root.dir.join(&app.key_file);
            let key = read_key(&file)?;
            return Ok(Token::App(Box::new(App {
                id: app.id,
                installation: app.installation,
                key,
                token: None,
            })));
        }
        if !settings.token_command.is_empty() {
            let command = settings.token_command.join(" ");
            context.require_trust("github.token_command", &command)?;
            return told_by(&settings.token_command).map(Token::Fixed).ok_or_else(|| {
                none(format!("the command of github.token_command prints no token: {command}"))
            });
        }
        let environment = context.environment();
        let own = |name: &str| environment.own(name).filter(|token| !token.trim().is_empty());
        if let Some(name) = &settings.token_env {
            if !TOKEN_VARIABLES.contains(&name.as_str()) {
                context.require_trust("github.token_env", name)?;
            }
            let token = own(name).ok_or_else(|| none(format!("the variable {name} is not set")))?;
            return Ok(Token::Fixed(token.trim().to_owned()));
        }
        let found = TOKEN_VARIABLES.iter().find_map(|name| own(name));
        let ask = || told_by(&["gh".to_owned(), "auth".to_owned(), "token".to_owned()]);
        let token = found.map(|token| token.trim().to_owned()).or_else(ask);
        token.map(Token::Fixed).ok_or_else(|| none("there is no token for GitHub".to_owned()))
    }
}

fn none(message: String) -> Refusal {
    Refusal::new(Code::GithubUnauthorized, message).hint(
        say("set GH_TOKEN, or log in with GitHub's own command line; see ")
            .quote(op("github.doctor")),
    )
}

/// Returns what a command prints.
fn told_by(command: &[String]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the user trusted this command, or it is GitHub's own"
    )]
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = process.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let token = text.trim();
    (!token.is_empty() && !token.contains(char::is_whitespace)).then(|| token.to_owned())
}

fn read_key(file: &Path) -> Result<RsaKeyPair, Refusal> {
    let wrong = |what: &str| {
        none(format!("cannot use the key {}: {what}", file.display()))
            .hint("save the private key of the App there, in PEM, with mode 0600")
    };
    let meta = file.metadata().map_err(|error| wrong(&error.to_string()))?;
    if meta.mode() & OPEN_TO_OTHERS != 0 {
        return Err(wrong("others may read it"));
    }
    let text = comity_project::plain_file::read_text(file, KEY_BYTES_MAX)
        .map_err(|error| wrong(&error.to_string()))?;
    key_of(&text).ok_or_else(|| wrong("it is no RSA key in PEM"))
}

fn key_of(pem: &str) -> Option<RsaKeyPair> {
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    let der = decode(&lines.collect::<String>())?;
    if pem.contains("BEGIN RSA PRIVATE KEY") {
        return RsaKeyPair::from_der(&der).ok();
    }
    RsaKeyPair::from_pkcs8(&der).ok()
}

impl App {
    /// Makes the JWT with which the App asks for a token.
    pub fn jwt(&self, now: Timestamp) -> Result<String, Refusal> {
        let secs = now.ms() / 1_000;
        let claims =
            json!({"iat": secs - JWT_BACK, "exp": secs + JWT_LIFE, "iss": self.id.to_string()});
        let head = json!({"alg": "RS256", "typ": "JWT"});
        let text = format!(
            "{}.{}",
            encode(head.to_string().as_bytes()),
            encode(claims.to_string().as_bytes())
        );
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| none("the key of the App cannot sign".to_owned()))?;
        Ok(format!("{text}.{}", encode(&signature)))
    }

    /// Returns the token of the installation while it is good.
    pub fn live(&self, now: Timestamp) -> Option<&str> {
        let (token, until) = self.token.as_ref()?;
        (now.plus(RENEW_BEFORE) < *until).then_some(token)
    }
}

const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Writes bytes in base64 for URLs, without padding.
fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            out.push(char::from(URL_SAFE[(bits >> (18 - 6 * place)) as usize & 63]));
        }
    }
    out
}

/// Reads base64 as PEM has it.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let byte = match byte {
            b'+' => b'-',
            b'/' => b'_',
            other => other,
        };
        let value = URL_SAFE.iter().position(|known| *known == byte)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 255).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_written_and_read() {
        for (bytes, text) in [(&b""[..], ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"\xfb\xff", "-_8")] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).unwrap(), bytes);
        }
        assert_eq!(decode("+/8=\n").unwrap(), b"\xfb\xff");
        assert_eq!(decode("*"), None);
    }
}
