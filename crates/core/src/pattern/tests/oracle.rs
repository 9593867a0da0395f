//! A plain restatement of the rules: write the alternatives out, then match by backtracking.

use unicode_normalization::UnicodeNormalization;

/// Tells whether a pattern, as somebody wrote it, covers a normalised path.
pub(super) fn covers(pattern: &str, path: &str) -> bool {
    let literal = !pattern.contains(['*', '?', '[', '{']);
    let names: Vec<Vec<char>> = path.split('/').map(|name| name.chars().collect()).collect();
    written_out(pattern).iter().any(|text| {
        let glob = normal_segments(text);
        if glob.is_empty() {
            return true;
        }
        if text.ends_with('/') {
            (0..names.len()).any(|end| segments(&glob, &names[..end], true))
        } else {
            (1..=names.len())
                .filter(|end| literal || *end == names.len())
                .any(|end| segments(&glob, &names[..end], false))
        }
    })
}

/// Composes, resolves `.`, `..` and `//`, and writes runs of stars as one character each: `G` for two.
fn normal_segments(text: &str) -> Vec<Vec<char>> {
    let text: String = text.nfc().collect();
    let mut kept: Vec<&str> = Vec::new();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let stars = |segment: &str| {
        let mut out: Vec<char> = Vec::new();
        let mut run = 0;
        for c in segment.chars().chain(['\0']) {
            match (c, run) {
                ('*', _) => {
                    run += 1;
                    continue;
                }
                (_, 0) => {}
                (_, 2) => out.push('G'),
                _ => out.push('*'),
            }
            run = 0;
            out.push(c);
        }
        out.pop();
        out
    };
    kept.into_iter().map(stars).collect()
}

fn written_out(text: &str) -> Vec<String> {
    let Some(open) = text.find('{') else { return vec![text.to_owned()] };
    let (mut depth, mut from, mut branches) = (0, open + 1, Vec::new());
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            ',' if depth == 1 => {
                branches.push(&text[from..at]);
                from = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            branches.push(&text[from..at]);
            let (head, tail) = (&text[..open], &text[at + 1..]);
            return branches
                .iter()
                .flat_map(|branch| written_out(&format!("{head}{branch}{tail}")))
                .collect();
        }
    }
    vec![]
}

fn segments(glob: &[Vec<char>], names: &[Vec<char>], below: bool) -> bool {
    match (glob, names) {
        ([], []) => true,
        ([only], _) if only == &['G'] => below || !names.is_empty(),
        ([first, rest @ ..], _) if first == &['G'] => {
            (0..=names.len()).any(|skip| segments(rest, &names[skip..], below))
        }
        ([first, rest @ ..], [name, others @ ..]) => {
            segment(first, name) && segments(rest, others, below)
        }
        _ => false,
    }
}

fn segment(glob: &[char], name: &[char]) -> bool {
    match (glob, name) {
        ([], []) => true,
        (['*' | 'G', rest @ ..], _) => {
            segment(rest, name) || (!name.is_empty() && segment(glob, &name[1..]))
        }
        (['[', 'a', 'b', ']', rest @ ..], ['a' | 'b', others @ ..]) => segment(rest, others),
        (['[', '!', 'a', ']', rest @ ..], [c, others @ ..]) => *c != 'a' && segment(rest, others),
        (['[', ..], _) => false,
        (['?', rest @ ..], [_, others @ ..]) => segment(rest, others),
        ([g, rest @ ..], [c, others @ ..]) => g == c && segment(rest, others),
        _ => false,
    }
}
