//! `comity init`

use clap::Args;

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Register comity with these agent clients: claude, codex, gemini, opencode, cursor, vscode; all or none
    /// (default: those that are installed here or have files in the project)
    #[arg(long, value_name = "LIST")]
    pub clients: Option<String>,
    /// Let the clients call comity's tools without asking each time
    #[arg(long)]
    pub approve_tools: bool,
    /// Install no git hooks
    #[arg(long)]
    pub no_hooks: bool,
    /// Take comity out of the clients' files and git's hooks; the store, the log and the settings stay
    #[arg(long)]
    pub remove: bool,
    /// Say what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Set the store's file aside and begin a new log (only a person)
    #[arg(long)]
    pub new_log: bool,
    /// Treat A and a in paths as one letter, or not (default: as the file system does)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub fold_case: Option<bool>,
    /// Ask nothing
    #[arg(long, short)]
    pub yes: bool,
}

impl InitArgs {
    /// Sets up what is found, and asks nothing.
    pub fn quiet() -> InitArgs {
        InitArgs {
            clients: None,
            approve_tools: false,
            no_hooks: false,
            remove: false,
            dry_run: false,
            new_log: false,
            fold_case: None,
            yes: true,
        }
    }
}
