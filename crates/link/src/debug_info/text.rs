//! The debug sections that the text of a module writes out, joined over its units.
//!
//! Names in them are still names: `names` finds what they stand for. No place of a unit in the file enters.

use std::collections::BTreeMap;

use oriole_debug_info::{DebugData, Reference, Section, SourceFile};

/// Debug sections of all units of a module.
#[derive(Default)]
pub struct TextSections {
    /// The files of the source.
    pub files: Vec<SourceFile>,
    /// Sections by name, the parts of units one after the other.
    pub sections: BTreeMap<String, Section>,
    /// The names of the sections in the order of the text.
    pub order: Vec<String>,
    /// For each section the ordinals of the units in which its references stand.
    pub reference_units: BTreeMap<String, Vec<usize>>,
    /// Sections of labels, and offsets in them.
    pub labels: BTreeMap<String, (String, u64)>,
}

impl TextSections {
    /// The data of the units that have any, with their ordinals.
    pub fn new<'a>(units: impl IntoIterator<Item = (usize, &'a DebugData)>) -> TextSections {
        let mut module = TextSections::default();
        for (ordinal, data) in units {
            module.files.extend_from_slice(&data.files);
            for section in &data.sections {
                module.add(ordinal, section);
            }
        }
        module
    }

    fn add(&mut self, unit: usize, section: &Section) {
        let name = &section.name;
        if !self.sections.contains_key(name) {
            self.order.push(name.clone());
        }
        let whole = self.sections.entry(name.clone()).or_default();
        let base = whole.bytes.len() as u64;
        whole.bytes.extend_from_slice(&section.bytes);
        let references = section.references.iter();
        whole.references.extend(references.map(|one| Reference { at: base + one.at, ..one.clone() }));
        self.reference_units.entry(name.clone()).or_default().resize(whole.references.len(), unit);
        for (label, offset) in &section.labels {
            self.labels.insert(label.clone(), (name.clone(), base + offset));
        }
    }

    /// The offset of a label in its section, or 0 for the name of a section.
    pub fn offset(&self, label: &str) -> u64 {
        self.labels.get(label).map_or(0, |&(_, offset)| offset)
    }
}
