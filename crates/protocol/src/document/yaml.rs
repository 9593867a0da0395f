//! YAML: from the parser's events to the tree. The only place that names the parser.
//!
//! Anchors, aliases and tags are refused: no protocol here uses them, and an alias makes a large tree of a small text.

use super::{DEPTH_MAX, Data, Entry, Fault, Node, Place, scalar, too_deep, twice};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

struct Open {
    at: Place,
    kind: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, known: HashMap<String, Place>, key: Option<(String, Place)> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
}

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| scan_fault(&error))?;
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(Fault::new(place(&span.start), SECOND_DOCUMENT));
                }
            }
            Event::StreamEnd => break,
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

fn plain_only(anchor: usize, tag: Option<Cow<'_, Tag>>, at: Place) -> Result<(), Fault> {
    match tag {
        Some(tag) => {
            let name: String = format!("{}{}", tag.handle, tag.suffix).chars().take(60).collect();
            Err(Fault::new(at, format!("comity reads no tags: leave out {name:?}")))
        }
        None if anchor > 0 => Err(Fault::new(at, NO_ALIASES)),
        None => Ok(()),
    }
}

const NO_ALIASES: &str = "comity reads no anchors and aliases: write the value out";

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        let at = place(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                plain_only(anchor, tag, at)?;
                let plain = style == ScalarStyle::Plain;
                if self.wants_key() {
                    return self.key(text.into_owned(), at);
                }
                let data =
                    if plain { scalar::resolve(&text) } else { Data::Text(text.into_owned()) };
                self.add(Node { data, at, plain });
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => {
                plain_only(anchor, tag, at)?;
                self.begin(Open { at, kind: Collection::List(Vec::new()) })
            }
            Event::MappingStart(anchor, tag) => {
                plain_only(anchor, tag, at)?;
                let kind =
                    Collection::Map { entries: Vec::new(), known: HashMap::new(), key: None };
                self.begin(Open { at, kind })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { at, kind }) = self.open.pop() {
                    let data = match kind {
                        Collection::List(items) => Data::List(items),
                        Collection::Map { entries, .. } => Data::Map(entries),
                    };
                    self.add(Node { data, at, plain: true });
                }
                Ok(())
            }
            Event::Alias(_) => Err(Fault::new(at, NO_ALIASES)),
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
        self.open.push(open);
        Ok(())
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(Collection::List(items)) => items.push(node),
            Some(Collection::Map { entries, key, .. }) => {
                entries.extend(key.take().map(|(key, key_at)| Entry { key, key_at, value: node }));
            }
        }
    }

    fn key(&mut self, text: String, at: Place) -> Result<(), Fault> {
        if let Some(Open { kind: Collection::Map { known, key, .. }, .. }) = self.open.last_mut() {
            if let Some(first) = known.insert(text.clone(), at) {
                return Err(twice(&text, at, first));
            }
            *key = Some((text, at));
        }
        Ok(())
    }
}
