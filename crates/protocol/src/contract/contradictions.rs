//! Finds reports in one text that contradict each other. comity picks none of them and names both places.

use super::recognise::{is_bare, keys, kind_of};
use super::{ContractKind, Mode, report};
use crate::ace;
use crate::blocks::{self, BLOCKS_MAX, Block};
use crate::document::{Fault, Node, Place};
use crate::neomjs;
use comity_core::command::ReportStatus;

/// For these kinds the protocol itself says which of several reports counts: neo's last, and the first of Neo.mjs.
const OWN_RULE: [&[&str]; 2] = [&["developer", "supervisor"], &["neo-result", "neo-error"]];
/// A block with fewer keys of a kind than this is no report, but other output that happens to have a status.
const KEYS_MIN: usize = 2;

struct Said {
    kind: &'static str,
    status: ReportStatus,
    at: Place,
}

/// Finds a statement that contradicts the report which comity would take from the text.
pub(super) fn find(text: &str, kind: &'static ContractKind) -> Option<Fault> {
    let tree = (kind.read)(text, Mode::Full).ok()?;
    let taken = Said::of(kind, &tree)?;
    if is_bare(text) {
        return None;
    }
    let lines = blocks::lines(text);
    let blocks = blocks::of(&lines);
    let may_be = blocks.iter().filter(|block| block.may_be_contract()).take(BLOCKS_MAX);
    let in_blocks = may_be.filter_map(|block| in_block(block, &lines, &taken));
    let other = in_blocks.chain(in_words(&lines, &blocks)).find(|said| said.status != taken.status);
    other.map(|other| contradiction(taken, other))
}

impl Said {
    fn of(kind: &ContractKind, tree: &Node) -> Option<Said> {
        let valid = (kind.validate)(tree, Mode::Full).is_valid();
        let report = report(kind, tree).filter(|_| valid)?;
        Some(Said { kind: kind.name, status: report.status, at: tree.at })
    }
}

fn in_block(block: &Block, lines: &[&str], taken: &Said) -> Option<Said> {
    let taken_line = usize::try_from(taken.at.line).ok()?.saturating_sub(1);
    let tree = block.read(lines).ok().filter(|_| !block.has(taken_line))?;
    let kind = kind_of(&block.lines(lines).join("\n"))?;
    let is_ruled = |kinds: &&[&str]| kinds.contains(&kind.name) && kinds.contains(&taken.kind);
    let known = keys(&(kind.schema)());
    let there = tree.entries().iter().filter(|entry| known.contains(&entry.key)).count();
    let counts = there >= KEYS_MIN && !OWN_RULE.iter().any(is_ruled);
    Said::of(kind, &tree).filter(|_| counts)
}

/// Returns how the work ended according to the words outside of blocks. The lines of blocks are emptied first, because a
/// fence inside a contract is no fence of the message.
fn in_words(lines: &[&str], blocks: &[Block]) -> Vec<Said> {
    let mut outside = vec![""; lines.len()];
    for (number, line) in blocks::outside(lines, blocks) {
        if let Some(place) = outside.get_mut(number) {
            *place = line;
        }
    }
    let outside = outside.join("\n");
    let said = |kind: &ContractKind, status, at| Said { kind: kind.name, status, at };
    let comments = ace::ends(&outside).into_iter();
    let comments = comments.map(|(at, status)| said(&ace::COMMENT, status, at));
    let created = neomjs::created(&outside);
    let created = created.map(|(_, at)| said(&neomjs::RESULT, ReportStatus::Completed, at));
    comments.chain(created).collect()
}

fn contradiction(one: Said, other: Said) -> Fault {
    let (first, second) = if one.at.line <= other.at.line { (one, other) } else { (other, one) };
    let shown =
        |said: &Said| format!("{} (line {}, {})", said.status.as_str(), said.at.line, said.kind);
    let message = format!(
        "this text reports {} and {}; remove one, or name the kind",
        shown(&first),
        shown(&second)
    );
    Fault { message, at: second.at }
}
