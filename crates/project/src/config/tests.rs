use super::*;

fn parse(text: &str) -> Result<Config, Refusal> {
    Config::parse(text, Path::new("c.toml"))
}

#[test]
fn every_key_is_read() {
    let config = parse(
        "[store]\nurl='sqlite:x.db'\n[project]\nrepo='ann/tool'\nbase='trunk'\n[agents]\n\
         registration='required'\n[roles]\ncritic=['done']\n[gates]\nrequired=['tests']\n\
         min_tier='observed'\n[limits]\nmax_attempts=5\nttl='1h'\n[watchdog]\n\
         blocked_grace='2d'\n[branch]\npattern='x/{id}'\n[guard]\nundeclared='refuse'\n[redact]\nemails=false\n",
    )
    .unwrap();
    let settings = config.settings().unwrap();
    assert_eq!(settings.policy.max_attempts, 5);
    assert_eq!(settings.policy.default_ttl, Millis::from_secs(3600));
    assert_eq!(settings.policy.blocked_grace, Millis::from_secs(172_800));
    assert_eq!(settings.policy.min_tier, comity_core::task::Tier::Observed);
    assert!(settings.policy.registration_required);
    assert!(settings.policy.extra_permissions.contains(&(Role::Critic, Verb::Done)));
    assert!(!settings.redact.emails);
    assert_eq!(config.repo(), Some("ann/tool"));
    assert_eq!(config.base_branch(), Some("trunk"));
    assert_eq!(settings.policy.undeclared, Undeclared::Refuse);
    assert!(settings.policy.names_branches);
}

#[test]
fn a_mistake_is_named_with_file_line_and_key() {
    for (text, wanted) in [
        ("[store]\n\nuri = 'x'\n", "c.toml:3: unknown field `uri`"),
        ("[limits]\nttl = '1w'\n", "c.toml:2: key limits.ttl: \"1w\" is not a duration"),
        ("[limits]\nmax_attempts = 0\n", "c.toml:2: key limits.max_attempts: must be"),
        ("[roles]\nking = []\n", "c.toml:2: key roles.king: role \"king\" is not known"),
        (
            "[gates]\nrequired = ['']\n",
            "c.toml:2: key gates.required: \"\" cannot be the name of a gate",
        ),
        (
            "[branch]\npattern = ''\n",
            "c.toml:2: key branch.pattern: \"\" cannot be the name of a branch",
        ),
        ("[branch]\npattern = 'a b/{id}'\n", "c.toml:2: key branch.pattern"),
        ("[branch]\npattern = 'feat/{isue}'\n", "one of: {id}, {number}, {issue}, {slug}"),
        ("[roles]\ncritic = ['reopen']\n", "only a person can reopen a task"),
        (
            "[labels]\ndialect = 'jira'\n",
            "c.toml:2: key labels.dialect: comity knows no dialect \"jira\"",
        ),
        (
            "[labels.states]\nqueued = 'todo'\n",
            "c.toml:1: key labels.states: the state in_progress has no word",
        ),
        (
            "[roles]\ncritic = ['done']\n[labels.roles]\nking = 'x'\ncritic = ''\n",
            "c.toml:5: key labels.roles.critic: \"\" cannot be a label",
        ),
        ("[store]\nurl = 'postgres://a:secret@h/db'\n", "c.toml:2: key store.url holds a password"),
    ] {
        let refusal = parse(text).unwrap_err();
        assert!(refusal.message.contains(wanted), "{}", refusal.message);
        assert_eq!(refusal.code.exit_status(), 2);
        assert!(!refusal.message.contains("secret"));
    }
}
