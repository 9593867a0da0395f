//! Writes the alternatives of a pattern out. Only then is it known which characters and which segments stand side by
//! side: a combining mark meets its base, a star meets a star, a segment becomes `.`.

use super::glob::has_group;
use super::parse::{Node, render, tokens};
use super::path::nfc;
use super::{CaseRule, PatternError};

/// The most alternatives of one pattern.
pub const ALTERNATIVES_MAX: usize = 256;

/// Returns the texts of all alternatives, each of them normalised (NFC).
pub fn alternatives(text: &str) -> Result<Vec<String>, PatternError> {
    let nodes = tokens(&nfc(text), CaseRule::Sensitive)?;
    Ok(written_out(&nodes)?.iter().map(|one| nfc(&rendered(one)).into_owned()).collect())
}

/// Reads each alternative anew and refuses `.` and `..` among its segments. The tokens stay as they are if they mean
/// the same; otherwise the alternatives take their place.
pub(super) fn settled(nodes: Vec<Node>, rule: CaseRule) -> Result<Vec<Node>, PatternError> {
    if !has_group(&nodes) {
        let plain = |node| if matches!(node, Node::ManyStars) { Node::Star } else { node };
        return Ok(nodes.into_iter().map(plain).collect());
    }
    let mut branches = Vec::new();
    let mut is_same = true;
    for one in written_out(&nodes)? {
        let read = tokens(&nfc(&rendered(&one)), rule)?;
        if read.split(|node| matches!(node, Node::Slash)).any(is_dots) {
            return Err(PatternError::DotSegmentInBraces);
        }
        is_same &= same(&one, &read);
        branches.push(read);
    }
    Ok(if is_same { nodes } else { vec![Node::Group(branches)] })
}

fn is_dots(segment: &[Node]) -> bool {
    matches!(segment, [Node::Char('.')] | [Node::Char('.'), Node::Char('.')])
}

fn rendered(nodes: &[Node]) -> String {
    let mut text = String::new();
    render(nodes, &mut text);
    text
}

fn written_out(nodes: &[Node]) -> Result<Vec<Vec<Node>>, PatternError> {
    // Counted first: a short text can have more alternatives than fit into memory.
    if count(nodes) > ALTERNATIVES_MAX {
        return Err(PatternError::TooManyAlternatives);
    }
    Ok(expanded(nodes))
}

fn count(nodes: &[Node]) -> usize {
    nodes.iter().fold(1, |product: usize, node| match node {
        Node::Group(branches) => {
            let sum = branches.iter().fold(0, |sum: usize, one| sum.saturating_add(count(one)));
            product.saturating_mul(sum)
        }
        Node::Char(_)
        | Node::Slash
        | Node::Any
        | Node::Star
        | Node::DoubleStar
        | Node::ManyStars
        | Node::Class(..) => product,
    })
}

fn expanded(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut all: Vec<Vec<Node>> = vec![Vec::new()];
    for node in nodes {
        let Node::Group(branches) = node else {
            all.iter_mut().for_each(|one| one.push(node.clone()));
            continue;
        };
        let ends: Vec<Vec<Node>> = branches.iter().flat_map(|one| expanded(one)).collect();
        let joined = |one: &Vec<Node>| {
            ends.iter().map(|end| [one.as_slice(), end].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(joined).collect();
    }
    all
}

fn same(a: &[Node], b: &[Node]) -> bool {
    let equal = |(a, b): (&Node, &Node)| match (a, b) {
        (Node::Char(a), Node::Char(b)) => a == b,
        (Node::Class(a, _), Node::Class(b, _)) => a == b,
        (Node::Slash, Node::Slash)
        | (Node::Any, Node::Any)
        | (Node::Star, Node::Star)
        | (Node::DoubleStar, Node::DoubleStar)
        | (Node::ManyStars, Node::ManyStars) => true,
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(equal)
}
