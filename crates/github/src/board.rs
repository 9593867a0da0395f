//! A board of GitHub whose field shows the states: which word each issue has there, and single moves.

use crate::bus::{Bus, IssueKey};
use crate::client::{Method, Trouble};
use crate::model::{self, Field, Issue, Item};
use comity_project::github::ProjectBoard;
use comity_protocol::labels::{Carrier, Dialect};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

const SINGLE: &str = "single_select";
const HINT: &str = "check github.project and the token; a server of your own has boards since 3.20";

/// Where a board is, and the words of its field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct BoardRow {
    base: String,
    field: u64,
    /// The ids of the words, as the board spells them.
    options: BTreeMap<String, String>,
    /// What GitHub called the last list of items.
    etag: String,
}

impl BoardRow {
    fn option(&self, word: &str) -> Option<&str> {
        let known = self.options.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        known.map(|(_, id)| id.as_str())
    }
}

fn row_key(board: &ProjectBoard) -> String {
    format!("board/{}/{}", board.owner, board.number)
}

/// Tells whether the states of a repository are words on a board.
pub(crate) fn is_on_board(bus: &Bus, dialect: &Dialect) -> bool {
    dialect.carrier() == Carrier::Field && bus.settings.board.is_some()
}

/// Finds the board and its field, and learns how it spells the words.
pub(crate) fn open(bus: &mut Bus, dialect: &Dialect, anew: bool) -> Result<(), Trouble> {
    let Some(board) = bus.settings.board.clone() else { return Ok(()) };
    let key = row_key(&board);
    let mut row: BoardRow = bus.rows.get(&key);
    if row.base.is_empty() || anew {
        row = find(bus, &board)?;
        bus.rows.put(&key, &row);
    }
    let words: Vec<String> = row.options.keys().cloned().collect();
    let spelled = dialect.spelled(&words).map_err(|missing| {
        let (field, missing) = (&board.field, missing.join(", "));
        Trouble::Unsupported(format!("the field {field} of the board lacks the words: {missing}"))
    })?;
    bus.spelled = Some(spelled);
    Ok(())
}

fn find(bus: &mut Bus, board: &ProjectBoard) -> Result<BoardRow, Trouble> {
    let ProjectBoard { owner, number, field } = board;
    for kind in ["orgs", "users"] {
        let base = format!("/{kind}/{owner}/projectsV2/{number}");
        let answer = match bus.client.list(&format!("{base}/fields?per_page=100"), None) {
            Ok(answer) => answer,
            Err(trouble) if trouble.is_gone() => continue,
            Err(trouble) => return Err(trouble),
        };
        let fields: Vec<Field> = model::list(&answer.body);
        let named = |one: &Field| one.data_type == SINGLE && one.name.eq_ignore_ascii_case(field);
        let Some(found) = fields.into_iter().find(named) else {
            let text = format!("the board {owner}/{number} has no field {field} with single words");
            return Err(Trouble::Unsupported(text));
        };
        let options = found.options.into_iter().map(|one| (one.name.raw, one.id)).collect();
        return Ok(BoardRow { base, field: found.id, options, etag: String::new() });
    }
    Err(Trouble::Unsupported(format!("GitHub shows no board {owner}/{number}; {HINT}")))
}

/// Reads which word each issue of a repository has; returns the issues whose word changed, or that have no task.
pub(crate) fn read(bus: &mut Bus, repository: &str) -> Result<Vec<Issue>, Trouble> {
    let Some(board) = bus.settings.board.clone() else { return Ok(Vec::new()) };
    let key = row_key(&board);
    let mut row: BoardRow = bus.rows.get(&key);
    // Several repositories may share a board: only the home repository's turn may say that nothing changed.
    let etag = Some(row.etag.clone()).filter(|etag| !etag.is_empty() && repository == bus.home);
    let path = format!("{}/items?per_page=100&fields={}", row.base, row.field);
    let answer = bus.client.list(&path, etag.as_deref())?;
    if answer.is_unchanged() {
        return Ok(Vec::new());
    }
    row.etag = answer.etag.clone().unwrap_or_default();
    bus.rows.put(&key, &row);
    let mut fresh = Vec::new();
    for item in model::list::<Item>(&answer.body) {
        let issue: Issue = item.content;
        let at = IssueKey::of_url(&issue.url).or_else(|| IssueKey::of_url(&issue.html_url));
        let Some(at) = at.filter(|at| at.repository.eq_ignore_ascii_case(repository)) else {
            continue;
        };
        let shown = item.fields.into_iter().find(|one| one.id == row.field);
        let word = shown.map(|one| one.value.name.raw).filter(|word| !word.is_empty());
        let mut known = bus.rows.issue(&at.to_string());
        let is_news = known.task.is_none() || known.board != word;
        if known.task.is_some() || word.is_some() {
            known.item = Some(item.id);
            known.board = word;
            bus.rows.set_issue(&at.to_string(), &known);
        }
        fresh.extend(Some(issue).filter(|_| is_news));
    }
    Ok(fresh)
}

/// Moves an issue to a word on the board; an issue that is not there is added.
pub(crate) fn show(bus: &mut Bus, key: &IssueKey, word: &str) -> Result<(), Trouble> {
    let Some(board) = bus.settings.board.clone() else { return Ok(()) };
    // A list that is as it was once is not for that as it was last.
    let row = BoardRow { etag: String::new(), ..bus.rows.get(&row_key(&board)) };
    bus.rows.put(&row_key(&board), &row);
    let option = row.option(word).map(str::to_owned).ok_or_else(|| {
        Trouble::Unsupported(format!("the field {} of the board lacks {word}", board.field))
    })?;
    let mut known = bus.rows.issue(&key.to_string());
    let item = match known.item {
        Some(item) => item,
        None => {
            let (owner, name) = key.repository.split_once('/').unwrap_or_default();
            let body = json!({"type": "Issue", "owner": owner, "repo": name, "number": key.number});
            let path = format!("{}/items", row.base);
            let made: Item =
                model::one(&bus.client.send(Method::Post, &path, Some(&body), true)?.body);
            made.id
        }
    };
    known.item = Some(item);
    known.wrote.insert("added_to_project_v2:".to_owned());
    known.wrote.insert("project_v2_item_status_changed:".to_owned());
    bus.rows.set_issue(&key.to_string(), &known);
    let body = json!({"fields": [{"id": row.field, "value": option}]});
    bus.client.send(Method::Patch, &format!("{}/items/{item}", row.base), Some(&body), false)?;
    known.board = Some(word.to_owned());
    bus.rows.set_issue(&key.to_string(), &known);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_a_word_of_the_board_is_found_in_any_case() {
        let options = [("In Progress".to_owned(), "1".to_owned())].into_iter().collect();
        let row = BoardRow { options, ..BoardRow::default() };
        assert_eq!((row.option("in progress"), row.option("Done")), (Some("1"), None));
    }
}
