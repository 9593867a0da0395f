//! YAML: from the parser's events to the tree. The only place that names the parser.

use super::{
    Budget, DEPTH_MAX, Data, Entry, Fault, Node, Place, looks_like_time, scalar, too_deep, twice,
};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

/// The key that takes over the entries of another map.
const MERGE_KEY: &str = "<<";

/// A collection that is not yet complete.
struct Open {
    at: Place,
    anchor: usize,
    kind: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, known: HashMap<String, Known>, key: Option<(Key, Place)> },
}

/// Where a key of an open map is, and whether it came by a merge and may be replaced.
struct Known {
    at: Place,
    index: usize,
    merged: bool,
}

struct Key {
    text: String,
    merges: bool,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    budget: Budget,
    root: Option<Node>,
}

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| scan_fault(&error))?;
        let at = place(&span.start);
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(Fault::new(at, SECOND_DOCUMENT));
                }
            }
            Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
            other => builder.take(other, &span)?,
        }
    }
    Ok(builder.root.unwrap_or(Node { data: Data::Null, at: Place::START, plain: true }))
}

/// What the original tools took for success: a document, then `---`, then prose.
const SECOND_DOCUMENT: &str =
    "expected a single document, but another one starts here; leave out what follows";

fn place(marker: &Marker) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: number(marker.line()).max(1), column: number(marker.col()).saturating_add(1) }
}

fn scan_fault(error: &ScanError) -> Fault {
    let at = place(error.marker());
    // The parser has a limit of its own, which it can reach before we see the first event.
    if error.info().contains("recursion limit") {
        too_deep(at)
    } else {
        Fault::new(at, error.info())
    }
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        let at = place(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.budget.take(1, text.len(), at)?;
                let plain = style == ScalarStyle::Plain;
                if plain && tag.is_none() && self.wants_key() {
                    let key = Key { merges: text == MERGE_KEY, text: text.into_owned() };
                    return self.key(key, at);
                }
                let data = typed(&text, plain, tag.as_deref(), at)?;
                // A tag says what a value is, whatever it looks like and however it is quoted.
                let plain = tag.map_or(plain, |tag| tag.suffix == TIME_TAG);
                self.finish(Node { data, at, plain }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                core_tag(tag, &["seq", "omap"], at)?;
                self.begin(Open { at, anchor, kind: Collection::List(Vec::new()) })
            }
            Event::MappingStart(anchor, tag) => {
                core_tag(tag, &["map"], at)?;
                let kind =
                    Collection::Map { entries: Vec::new(), known: HashMap::new(), key: None };
                self.begin(Open { at, anchor, kind })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(Fault::new(at, "an alias names something that contains it"));
                };
                let (nodes, text) = node.size();
                self.budget.take(nodes, text, at)?;
                let node = Node { at, ..node.clone() };
                if depth(&node) + self.open.len() > DEPTH_MAX {
                    return Err(too_deep(at));
                }
                self.add(node)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { kind: Collection::Map { key: None, .. }, .. }))
    }

    fn begin(&mut self, open: Open) -> Result<(), Fault> {
        if self.wants_key() {
            return Err(Fault::new(open.at, "a key must be a word, not a list or a map"));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(open.at));
        }
        self.budget.take(1, 0, open.at)?;
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(Open { at, anchor, kind }) = self.open.pop() else { return Ok(()) };
        let data = match kind {
            Collection::List(items) => Data::List(items),
            Collection::Map { entries, .. } => Data::Map(entries),
        };
        self.finish(Node { data, at, plain: true }, anchor)
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        if anchor > 0 {
            let (nodes, text) = node.size();
            self.budget.take(nodes, text, node.at)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.add(node)
    }

    fn add(&mut self, node: Node) -> Result<(), Fault> {
        if self.wants_key() {
            let at = node.at;
            let Some(text) = node.written() else {
                return Err(Fault::new(at, "a key must be a word, not a list or a map"));
            };
            return self.key(Key { text, merges: false }, at);
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(Collection::List(items)) => items.push(node),
            Some(Collection::Map { entries, known, key }) => {
                let Some((key, key_at)) = key.take() else { return Ok(()) };
                if key.merges {
                    return self.merge(node);
                }
                // What was merged in before gives way to what is written here.
                let index = known.get(&key.text).map_or(entries.len(), |known| known.index);
                known.insert(key.text.clone(), Known { at: key_at, index, merged: false });
                let entry = Entry { key: key.text, key_at, value: node };
                match entries.get_mut(index) {
                    Some(merged) => *merged = entry,
                    None => entries.push(entry),
                }
            }
        }
        Ok(())
    }

    fn key(&mut self, key: Key, at: Place) -> Result<(), Fault> {
        let Some(Collection::Map { known, key: slot, .. }) =
            self.open.last_mut().map(|o| &mut o.kind)
        else {
            return Ok(());
        };
        if let Some(first) = known.get(&key.text).filter(|known| !known.merged) {
            return Err(twice(&key.text, at, first.at));
        }
        *slot = Some((key, at));
        Ok(())
    }

    /// `<<: *other`: entries of the other map, where this one has none of its own.
    fn merge(&mut self, from: Node) -> Result<(), Fault> {
        let at = from.at;
        let maps = match from.data {
            Data::List(items) => items,
            _ => vec![from],
        };
        for map in maps {
            let Data::Map(others) = map.data else {
                return Err(Fault::new(at, "what << takes over must be a map"));
            };
            let Some(Collection::Map { entries, known, .. }) =
                self.open.last_mut().map(|o| &mut o.kind)
            else {
                return Ok(());
            };
            for other in others {
                if !known.contains_key(&other.key) {
                    let place = Known { at: other.key_at, index: entries.len(), merged: true };
                    known.insert(other.key.clone(), place);
                    entries.push(other);
                }
            }
        }
        Ok(())
    }
}

fn depth(node: &Node) -> usize {
    let below = match &node.data {
        Data::List(items) => items.iter().map(depth).max(),
        Data::Map(entries) => entries.iter().map(|entry| depth(&entry.value)).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}

/// The tag of a date, which stays the text that it is.
const TIME_TAG: &str = "timestamp";

/// The tag of bytes, which stay the base64 that they are written as.
const BINARY_TAG: &str = "binary";

fn base64(text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect();
    let data = text.trim_end_matches('=');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let whole = text.len().is_multiple_of(4) && text.len() - data.len() <= 2;
    (whole && data.bytes().all(fits)).then_some(text)
}

fn typed(text: &str, plain: bool, tag: Option<&Tag>, at: Place) -> Result<Data, Fault> {
    let Some(tag) = tag else {
        return Ok(if plain { scalar::resolve(text) } else { Data::Text(text.to_owned()) });
    };
    let wrong = || Fault::new(at, format!("this value is no !!{}", tag.suffix));
    let resolved = scalar::resolve(text);
    match (tag.is_yaml_core_schema(), tag.suffix.as_str(), &resolved) {
        (true, "str", _) => Ok(Data::Text(text.to_owned())),
        (true, "int", Data::Number(_)) if scalar::is_int(text) => Ok(resolved),
        (true, "float", Data::Number(_)) if scalar::is_float(text) => Ok(resolved),
        (true, "bool", Data::Bool(_)) => Ok(resolved),
        (true, "null", Data::Null) if plain || !text.is_empty() => Ok(resolved),
        (true, TIME_TAG, _) if looks_like_time(text) => Ok(Data::Text(text.to_owned())),
        (true, BINARY_TAG, _) => base64(text).map(Data::Text).ok_or_else(wrong),
        (true, "int" | "float" | "bool" | "null" | TIME_TAG, _) => Err(wrong()),
        _ if format!("{}{}", tag.handle, tag.suffix) == "!" => Ok(Data::Text(text.to_owned())),
        _ => Err(unknown_tag(tag, at)),
    }
}

fn core_tag(tag: Option<Cow<'_, Tag>>, wanted: &[&str], at: Place) -> Result<(), Fault> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && wanted.contains(&tag.suffix.as_str())) => {
            Err(unknown_tag(&tag, at))
        }
        _ => Ok(()),
    }
}

fn unknown_tag(tag: &Tag, at: Place) -> Fault {
    let name: String = format!("{}{}", tag.handle, tag.suffix).chars().take(60).collect();
    Fault::new(at, format!("the tag {name:?} is not known"))
}
