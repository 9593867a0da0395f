//! The rules as data: which keyword wakes which check.
//!
//! Tokens with a fixed prefix need no regular expression: a prefix, a class of bytes and a
//! length say the same, cost nothing to build, and cannot backtrack.

/// The bytes a token may consist of after its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `A-Za-z0-9`
    Alnum,
    /// `A-Za-z0-9_`
    Word,
    /// `A-Za-z0-9_-`
    Url,
    /// `A-Za-z0-9_.-`
    Dotted,
    /// `A-Za-z0-9_/-`
    Path,
    /// `A-Za-z0-9+/=_%-`
    Base64,
    /// `0-9a-fA-F`
    Hex,
    /// `A-Z0-9-`
    Upper,
}

impl Class {
    pub(super) const fn has(self, b: u8) -> bool {
        match self {
            Self::Alnum => b.is_ascii_alphanumeric(),
            Self::Word => b.is_ascii_alphanumeric() || b == b'_',
            Self::Url => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
            Self::Dotted => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
            Self::Path => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'/'),
            Self::Base64 => {
                b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-' | b'%')
            }
            Self::Hex => b.is_ascii_hexdigit(),
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-',
        }
    }
}

/// How many bytes follow the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// That many or more; the whole run goes.
    Least(usize),
    /// That many, and then no letter, digit or underscore.
    Exact(usize),
}

/// What may stand before the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// Any character may stand there.
    Open,
    /// No letter and no digit.
    Loose,
    /// Also no `_`, `-`, `.`: for prefixes that occur inside ordinary names.
    Strict,
}

/// One token format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) id: &'static str,
    pub(super) prefixes: &'static [&'static str],
    pub(super) class: Class,
    pub(super) length: Length,
    pub(super) edge: Edge,
    /// The prefix is public (a host, a query key) and stays readable.
    pub(super) keep_prefix: bool,
    /// The body must look random, because words could follow the prefix as well.
    pub(super) random: bool,
}

const fn token(
    id: &'static str,
    prefixes: &'static [&'static str],
    class: Class,
    least: usize,
) -> Token {
    Token {
        id,
        prefixes,
        class,
        length: Length::Least(least),
        edge: Edge::Loose,
        keep_prefix: false,
        random: false,
    }
}

impl Token {
    const fn exact(self) -> Self {
        let (Length::Least(n) | Length::Exact(n)) = self.length;
        Self { length: Length::Exact(n), ..self }
    }

    const fn strict(self) -> Self {
        Self { edge: Edge::Strict, random: true, ..self }
    }

    const fn after_prefix(self) -> Self {
        Self { edge: Edge::Open, keep_prefix: true, ..self }
    }

    const fn random(self) -> Self {
        Self { random: true, ..self }
    }
}

use Class::{Alnum, Base64, Dotted, Hex, Path, Upper, Url, Word};

/// Every token with a fixed prefix. Lengths are a little below the issued ones, so that a token
/// cut short by a log limit is caught as well.
pub(super) const TOKENS: &[Token] = &[
    token("comity-token", &["cmt_"], Url, 20).random(),
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Word, 30),
    token("github-pat", &["github_pat_"], Word, 30),
    token("gitlab-token", &["glpat-", "glrt-"], Dotted, 20),
    token("gitlab-token", &["gldt-", "glcbt-", "glptt-", "glft-", "glsoat-"], Url, 20),
    token("aws-access-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], Upper, 16).exact(),
    token("aws-bedrock-key", &["ABSK"], Base64, 80),
    token("aws-signature", &["X-Amz-Signature="], Hex, 64).after_prefix(),
    token("gcp-api-key", &["AIza"], Url, 35),
    token("gcp-oauth-token", &["ya29."], Url, 20),
    token("gcp-client-secret", &["GOCSPX-"], Url, 24),
    token("gcp-refresh-token", &["1//0"], Url, 40).random(),
    token("azure-sas", &["?sig=", "&sig="], Base64, 40).after_prefix(),
    token("anthropic-key", &["sk-ant-"], Url, 20),
    token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], Url, 20).random(),
    token("openai-key", &["sk-"], Alnum, 32).strict(),
    token("openrouter-key", &["sk-or-v1-"], Hex, 40),
    token("huggingface-token", &["hf_", "api_org_"], Alnum, 30).strict(),
    token("groq-key", &["gsk_"], Alnum, 40),
    token("xai-key", &["xai-"], Alnum, 60).random(),
    token("perplexity-key", &["pplx-"], Alnum, 40),
    token("replicate-token", &["r8_"], Alnum, 36).strict(),
    token("nvidia-key", &["nvapi-"], Url, 50),
    token("langsmith-key", &["lsv2_"], Word, 40),
    token("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-", "xoxe-"], Url, 12),
    token("slack-token", &["xapp-"], Url, 20).random(),
    token(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        Path,
        30,
    )
    .after_prefix(),
    token(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Path,
        60,
    )
    .after_prefix(),
    token("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], Alnum, 16),
    token("webhook-secret", &["whsec_"], Base64, 24),
    token("sendgrid-key", &["SG."], Dotted, 60).strict(),
    token("twilio-key", &["SK"], Hex, 32).strict().exact(),
    token("mailgun-key", &["key-"], Hex, 32).strict().exact(),
    token("brevo-key", &["xkeysib-"], Url, 40),
    token("npm-token", &["npm_"], Alnum, 36).random(),
    token("pypi-token", &["pypi-AgE"], Url, 40),
    token("crates-io-token", &["cio"], Alnum, 32).strict().exact(),
    token("rubygems-token", &["rubygems_"], Hex, 40),
    token("docker-token", &["dckr_pat_", "dckr_oat_"], Url, 20),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 40),
    token("age-secret-key", &["AGE-SECRET-KEY-"], Upper, 40),
    token("databricks-token", &["dapi"], Hex, 32).strict(),
    token("linear-key", &["lin_api_", "lin_oauth_"], Alnum, 32),
    token("vault-token", &["hvs.", "hvb.", "hvr."], Url, 24).random(),
    token("terraform-token", &[".atlasv1."], Url, 40).after_prefix(),
    token("pulumi-token", &["pul-"], Hex, 40).strict(),
    token("doppler-token", &["dp.pt.", "dp.ct.", "dp.sa."], Alnum, 36),
    token("doppler-token", &["dp.st."], Dotted, 36).random(),
    token("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], Hex, 30),
    token("square-token", &["sq0atp-"], Url, 20),
    token("square-token", &["sq0csp-"], Url, 30),
    token("new-relic-key", &["NRAK-"], Upper, 24),
    token("grafana-token", &["glsa_"], Word, 32),
    token("grafana-token", &["glc_eyJ"], Base64, 32),
    token("postman-key", &["PMAK-"], Url, 40),
    token("atlassian-token", &["ATATT3", "ATCTT3"], Base64, 60),
    token("figma-token", &["figd_"], Url, 36),
    token("notion-token", &["ntn_"], Alnum, 40),
    token("notion-token", &["secret_"], Alnum, 40).strict(),
    token("onepassword-token", &["ops_eyJ"], Base64, 60),
    token("tailscale-key", &["tskey-"], Url, 20).random(),
    token("supabase-key", &["sbp_"], Hex, 40),
    token("supabase-key", &["sb_secret_"], Url, 24),
    token("planetscale-token", &["pscale_tkn_", "pscale_pw_"], Dotted, 30),
    token("sentry-token", &["sntrys_"], Base64, 40),
    token("sentry-token", &["sntryu_"], Hex, 40),
    token("netlify-token", &["nfp_"], Alnum, 36),
    token("sourcegraph-token", &["sgp_"], Word, 40),
    token("buildkite-token", &["bkua_"], Hex, 36),
    token("circleci-token", &["CCIPAT_"], Word, 40),
];

/// What the name of an assigned thing says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretKind {
    Password,
    Secret,
    Key,
    Token,
    Authorization,
    AzureKey,
    Credentials,
}

impl SecretKind {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Secret => "secret",
            Self::Key => "api-key",
            Self::Token => "token",
            Self::Authorization => "authorization",
            Self::AzureKey => "azure-key",
            Self::Credentials => "credentials",
        }
    }

    /// The shortest value taken for a secret: the vaguer the name, the longer.
    pub(super) const fn least(self) -> usize {
        match self {
            Self::Password | Self::Authorization | Self::Credentials => 8,
            Self::Secret => 10,
            Self::Key => 12,
            Self::Token => 16,
            Self::AzureKey => 40,
        }
    }
}

/// Names that announce a secret, in the spellings that occur. One case-sensitive automaton with
/// spelled-out variants has far fewer idle hits than a case-insensitive one.
pub(super) const NAMES: &[(SecretKind, &[&str])] = &[
    (
        SecretKind::Password,
        &[
            "password",
            "Password",
            "PASSWORD",
            "passwd",
            "Passwd",
            "PASSWD",
            "passphrase",
            "Passphrase",
            "PASSPHRASE",
            "pwd",
            "Pwd",
            "PWD",
        ],
    ),
    (SecretKind::Secret, &["secret", "Secret", "SECRET", "_auth"]),
    (SecretKind::Credentials, &["credentials", "Credentials", "CREDENTIALS"]),
    (
        SecretKind::Key,
        &[
            "api_key",
            "api-key",
            "apikey",
            "apiKey",
            "ApiKey",
            "Api-Key",
            "API-Key",
            "API_KEY",
            "APIKEY",
            "access_key",
            "access-key",
            "accessKey",
            "ACCESS_KEY",
            "private_key",
            "privateKey",
            "PRIVATE_KEY",
            "encryption_key",
            "ENCRYPTION_KEY",
        ],
    ),
    (SecretKind::Token, &["token", "Token", "TOKEN"]),
    (SecretKind::Authorization, &["authorization", "Authorization", "AUTHORIZATION"]),
    (SecretKind::AzureKey, &["AccountKey", "SharedAccessKey"]),
];

/// Checks that need more than a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Jwt,
    Pem,
    UrlPassword,
    Bearer,
    Telegram,
    AzureClient,
    Discord,
    Cookie,
    Netrc,
    Curl,
    Sshpass,
    Mysql,
    Redis,
    Docker,
}

/// Keywords of the special checks. Discord's are the base64 of a first digit of a user id.
pub(super) const SPECIALS: &[(Special, &[&str])] = &[
    (Special::Jwt, &["eyJ"]),
    (Special::Pem, &["-----BEGIN "]),
    (Special::UrlPassword, &["://"]),
    (Special::Bearer, &["bearer ", "Bearer ", "BEARER "]),
    (Special::Telegram, &[":AA"]),
    (Special::AzureClient, &["Q~"]),
    (Special::Cookie, &["Cookie: ", "cookie: ", "COOKIE: "]),
    (Special::Netrc, &["login "]),
    (Special::Curl, &["curl "]),
    (Special::Sshpass, &["sshpass "]),
    (Special::Mysql, &["mysql ", "mysqldump ", "mysqladmin ", "mariadb "]),
    (Special::Redis, &["redis-cli "]),
    (Special::Docker, &["docker login "]),
    (Special::Discord, &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"]),
];

/// Ids that are not in a table above. Markers are recognised by id, so that a forged marker
/// cannot shelter a secret.
pub(super) const OTHER_IDS: &[&str] = &[
    "jwt",
    "private-key",
    "url-password",
    "telegram-token",
    "azure-client-secret",
    "discord-token",
    "aws-secret-key",
    "secret-field",
    "known-secret",
    "too-deep",
    "cookie",
    "email",
];
