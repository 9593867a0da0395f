//! Texts that are written in an editor.

use crate::{child, env, output};
use comity_core::limits::TEXT_BYTES_MAX;
use comity_core::refusal::{Code, Refusal};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;

/// The editor where the environment names none.
const USUAL: &str = "vi";
/// What a line begins with that is no part of the text. Other headings of Markdown stay.
const COMMENT: &str = "# ";
const HELP: &str = "# The first line is the title. The rest is the description.\n\
    # Lines that begin with `# ` are left out. An empty text creates nothing.\n";

/// A title and a description that somebody wrote.
pub(super) struct Written {
    pub(super) title: String,
    pub(super) description: String,
    file: tempfile::NamedTempFile,
}

impl Written {
    /// Keeps the text, because the task was not made of it.
    pub(super) fn keep(self) {
        let path: Result<(_, PathBuf), _> = self.file.keep();
        if let Ok((_, path)) = path {
            output::remark(&format!("note: your text is in {}", path.display()));
        }
    }
}

/// Lets the caller write a title and a description, beginning with what there is.
pub(super) fn write(title: &str, description: &str) -> Result<Written, Refusal> {
    let failed = |error: std::io::Error| {
        Refusal::new(Code::Internal, format!("cannot prepare the text: {error}"))
    };
    let made = tempfile::Builder::new().prefix("comity-task-").suffix(".md").tempfile();
    let mut file = made.map_err(failed)?;
    write!(file, "{title}\n\n{description}\n{HELP}").map_err(failed)?;
    let path = file.path().to_owned();
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| env::var(name).ok().flatten());
    let editor = named.unwrap_or_else(|| USUAL.to_owned());
    let script = format!("{editor} \"$1\"");
    let command: [OsString; 5] =
        ["sh".into(), "-c".into(), script.into(), "sh".into(), path.clone().into_os_string()];
    let ended = child::run(&command)?;
    if ended.exit != 0 {
        let message = format!("the editor {editor:?} ended with status {}", ended.exit);
        return Err(Refusal::input(message).hint("nothing was created; set VISUAL or EDITOR"));
    }
    // Many editors replace the file, so that it is opened anew.
    let mut bytes = Vec::new();
    let limit = TEXT_BYTES_MAX * 2;
    let opened = std::fs::File::open(&path).map_err(failed)?;
    let _ = opened.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::input("the text is not UTF-8"))?;
    let (title, description) = divided(&text).ok_or_else(|| {
        Refusal::input("the text is empty").hint("nothing was created; write a title")
    })?;
    Ok(Written { title, description, file })
}

/// Divides a text into title and description, without comments; none when nothing is left.
fn divided(text: &str) -> Option<(String, String)> {
    let is_text = |line: &&str| !line.starts_with(COMMENT) && *line != COMMENT.trim_end();
    let lines: Vec<&str> = text.lines().filter(is_text).collect();
    let mut lines = lines.into_iter().skip_while(|line| line.trim().is_empty());
    let title = lines.next()?.trim().to_owned();
    let rest: Vec<&str> = lines.collect();
    Some((title, rest.join("\n").trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::divided;

    #[test]
    fn the_first_line_is_the_title_and_comments_are_left_out() {
        let text = "\n# hint\nParse dates \n\n## How\nWith care.\n\n#\n# hint\n";
        let wanted = ("Parse dates".to_owned(), "## How\nWith care.".to_owned());
        assert_eq!(divided(text), Some(wanted));
        assert_eq!(divided("# only a comment\n\n"), None);
    }
}
