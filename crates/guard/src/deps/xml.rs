//! As much of XML as build files have: elements, text, comments and CDATA.

/// One element, by its name without a prefix.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    text: String,
    /// Where the element around it is in the list of all.
    pub(super) parent: Option<usize>,
    children: Vec<usize>,
}

/// All elements of a text, in their order.
pub(super) struct Document(pub(super) Vec<Element>);

impl Document {
    /// Returns the first child of a name.
    pub(super) fn child<'d>(&'d self, of: &Element, name: &str) -> Option<&'d Element> {
        let mut children = of.children.iter().filter_map(|place| self.0.get(*place));
        children.find(|child| child.name == name)
    }

    /// Returns the text of a child.
    pub(super) fn text<'d>(&'d self, of: &Element, name: &str) -> Option<&'d str> {
        self.child(of, name).map(|child| child.text.trim())
    }

    /// Returns the names and texts of all children.
    pub(super) fn entries<'d>(
        &'d self,
        of: &'d Element,
    ) -> impl Iterator<Item = (&'d str, &'d str)> {
        let child = |place: &usize| self.0.get(*place);
        of.children.iter().filter_map(child).map(|child| (child.name.as_str(), child.text.trim()))
    }
}

/// Reads a text; none when it is not well formed, or has definitions of its own that could stand for anything.
pub(super) fn read(text: &str) -> Option<Document> {
    let mut all: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at_checked(start)?;
        add_text(&mut all, &open, before);
        if let Some(comment) = tag.strip_prefix("<!--") {
            rest = comment.split_once("-->")?.1;
        } else if let Some(data) = tag.strip_prefix("<![CDATA[") {
            let (inside, after) = data.split_once("]]>")?;
            add_text(&mut all, &open, inside);
            rest = after;
        } else if let Some(instruction) = tag.strip_prefix("<?") {
            rest = instruction.split_once("?>")?.1;
        } else if let Some(declaration) = tag.strip_prefix("<!") {
            let (inside, after) = declaration.split_once('>')?;
            if inside.contains('[') {
                return None;
            }
            rest = after;
        } else {
            let end = tag_end(tag)?;
            let inside = tag.get(1..end)?;
            rest = tag.get(end + 1..)?;
            if let Some(name) = inside.strip_prefix('/') {
                let place = open.pop()?;
                if all.get(place)?.name != local(name.trim()) {
                    return None;
                }
            } else {
                begin(inside, &mut all, &mut open)?;
            }
        }
    }
    open.is_empty().then_some(Document(all))
}

/// The end of a tag; a `>` inside of an attribute is none.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    let end = tag.char_indices().find(|(_, c)| {
        match (quote, *c) {
            (None, '"' | '\'') => quote = Some(*c),
            (Some(open), close) if open == close => quote = None,
            (None, '>') => return true,
            _ => {}
        }
        false
    });
    end.map(|(place, _)| place)
}

fn begin(inside: &str, all: &mut Vec<Element>, open: &mut Vec<usize>) -> Option<()> {
    let closed = inside.ends_with('/');
    let name = inside.trim_end_matches('/').split_whitespace().next()?;
    let (place, parent) = (all.len(), open.last().copied());
    all.push(Element { name: local(name).to_owned(), parent, ..Element::default() });
    if let Some(parent) = parent.and_then(|parent| all.get_mut(parent)) {
        parent.children.push(place);
    }
    if !closed {
        open.push(place);
    }
    Some(())
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn add_text(all: &mut [Element], open: &[usize], text: &str) {
    if let Some(element) = open.last().and_then(|place| all.get_mut(*place)) {
        element.text.push_str(text);
    }
}
