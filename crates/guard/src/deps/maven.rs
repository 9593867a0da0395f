//! Maven.

use super::{Names, place, xml};
use std::collections::BTreeMap;
use xml::{Document, Element};

/// What a build takes from elsewhere.
const ELEMENTS: [&str; 6] =
    ["dependency", "plugin", "parent", "extension", "artifactItem", "annotationProcessorPath"];
/// The group of a plugin that names none.
const PLUGIN_GROUP: &str = "org.apache.maven.plugins";
/// Values may name others; those that name each other in a ring end here.
const VALUES_DEEP: usize = 4;

/// A pom.xml, with the values that it names.
struct Pom {
    document: Document,
    values: BTreeMap<String, String>,
}

impl Pom {
    fn read(text: &str) -> Option<Pom> {
        let document = xml::read(text)?;
        let project = document.0.first()?;
        let mut values = BTreeMap::new();
        if let Some(properties) = document.child(project, "properties") {
            let named = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
            values.extend(document.entries(properties).map(named));
        }
        let parent = document.child(project, "parent");
        let of_parent = |name: &str| parent.and_then(|parent| document.text(parent, name));
        for name in ["groupId", "artifactId", "version"] {
            let own = document.text(project, name);
            for (key, value) in
                [("project", own.or_else(|| of_parent(name))), ("project.parent", of_parent(name))]
            {
                let value = value.map(str::to_owned);
                values.extend(value.map(|value| (format!("{key}.{name}"), value)));
            }
        }
        Some(Pom { document, values })
    }

    /// Puts values where they are named, as far as the file has them.
    fn resolved(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..VALUES_DEEP {
            let Some((before, rest)) = text.split_once("${") else { break };
            let Some((name, after)) = rest.split_once('}') else { break };
            let full = if name.contains('.') { name.to_owned() } else { format!("project.{name}") };
            let full = full.replace("pom.", "project.");
            let value = self.values.get(name).or_else(|| self.values.get(&full));
            let Some(value) = value else { break };
            text = format!("{before}{value}{after}");
        }
        text
    }

    /// `group:artifact` of an element.
    fn coordinates(&self, of: &Element) -> Option<String> {
        let is_plugin = of.name == "plugin";
        let group = self.document.text(of, "groupId").or(is_plugin.then_some(PLUGIN_GROUP))?;
        let artifact = self.document.text(of, "artifactId")?;
        Some(format!("{}:{}", self.resolved(group), self.resolved(artifact)))
    }

    fn is_taken(&self, element: &Element) -> bool {
        let around = element.parent.and_then(|parent| self.document.0.get(parent));
        ELEMENTS.contains(&element.name.as_str())
            || (element.name == "path"
                && around.is_some_and(|around| around.name == "annotationProcessorPaths"))
    }
}

/// `group:artifact` of everything that a build takes from elsewhere.
pub(super) fn manifest(text: &str, _dir: &str) -> Option<Names> {
    let pom = Pom::read(text)?;
    let mut names = Names::new();
    for element in pom.document.0.iter().filter(|element| pom.is_taken(element)) {
        let Some(name) = pom.coordinates(element) else { continue };
        let version = pom.document.text(element, "version").unwrap_or_default();
        let file = pom.document.text(element, "systemPath");
        let name = file.map_or_else(|| name.clone(), |file| place::from(&name, file));
        names.insert(name, version.to_owned());
    }
    Some(names)
}

/// What a pom.xml says of the repository's own packages.
pub(super) struct Module {
    /// Its `group:artifact`.
    pub(super) name: String,
    /// Files that it names as its modules or as its parent.
    pub(super) named: Vec<String>,
    pub(super) has_modules: bool,
}

/// Reads what a pom.xml defines.
pub(super) fn module(text: &str, dir: &str) -> Option<Module> {
    let pom = Pom::read(text)?;
    let project = pom.document.0.first()?;
    let value = |name: &str| pom.values.get(&format!("project.{name}"));
    let name = pom.resolved(&format!("{}:{}", value("groupId")?, value("artifactId")?));
    let listed = pom.document.0.iter().filter(|element| element.name == "modules");
    let mut named: Vec<String> = listed
        .flat_map(|modules| pom.document.entries(modules))
        .filter_map(|(_, path)| pom_at(dir, path))
        .collect();
    let has_modules = !named.is_empty();
    if let Some(parent) = pom.document.child(project, "parent") {
        let path = pom.document.text(parent, "relativePath").unwrap_or("../pom.xml");
        named.extend(pom_at(dir, path).filter(|_| !path.is_empty()));
    }
    Some(Module { name, named, has_modules })
}

/// The pom.xml that a path names; a directory stands for the one in it.
fn pom_at(dir: &str, path: &str) -> Option<String> {
    let path = place::inside(dir, path)?;
    match path.as_str() {
        "" => Some("pom.xml".to_owned()),
        path if path.ends_with(".xml") => Some(path.to_owned()),
        path => Some(format!("{path}/pom.xml")),
    }
}
