//! A plain restatement of the rules: write the alternatives out, then match by backtracking.

pub(super) fn covers(pattern: &str, path: &str) -> bool {
    let literal = !pattern.contains(['*', '?', '[', '{']);
    // Stars are read before braces are written out: `*{*,a}` holds no `**`.
    let read = pattern.replace("**", "G");
    written_out(&read).iter().any(|text| {
        let glob: Vec<&str> = text.split('/').filter(|segment| !segment.is_empty()).collect();
        let names: Vec<&str> = path.split('/').collect();
        if text.ends_with('/') || pattern == "." {
            let glob = if pattern == "." { &[][..] } else { &glob[..] };
            (0..names.len()).any(|end| segments(glob, &names[..end], true))
        } else {
            (1..=names.len())
                .filter(|end| literal || *end == names.len())
                .any(|end| segments(&glob, &names[..end], false))
        }
    })
}

fn written_out(text: &str) -> Vec<String> {
    let Some(open) = text.find('{') else { return vec![text.to_owned()] };
    let (mut depth, mut from, mut branches) = (0, open + 1, Vec::new());
    for (at, c) in text.char_indices().skip(open) {
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

fn segments(glob: &[&str], names: &[&str], below: bool) -> bool {
    match (glob, names) {
        ([], []) => true,
        (["G"], []) => below,
        (["G"], _) => true,
        (["G", rest @ ..], _) => {
            (0..=names.len()).any(|skip| segments(rest, &names[skip..], below))
        }
        ([first, rest @ ..], [name, others @ ..]) => {
            segment(first.as_bytes(), name.as_bytes()) && segments(rest, others, below)
        }
        _ => false,
    }
}

fn segment(glob: &[u8], name: &[u8]) -> bool {
    match (glob, name) {
        ([], []) => true,
        ([b'*' | b'G', rest @ ..], _) => {
            segment(rest, name) || (!name.is_empty() && segment(glob, &name[1..]))
        }
        ([b'[', b'a', b'b', b']', rest @ ..], [b'a' | b'b', others @ ..]) => segment(rest, others),
        ([b'[', b'!', b'a', b']', rest @ ..], [c, others @ ..]) => {
            *c != b'a' && segment(rest, others)
        }
        ([b'[', ..], _) => false,
        ([b'?', rest @ ..], [_, others @ ..]) => segment(rest, others),
        ([g, rest @ ..], [c, others @ ..]) => g == c && segment(rest, others),
        _ => false,
    }
}
