//! The semantic tokens of a file as its units give them, packed unit by unit: a unit that did not change is not packed or written again.
//!
//! Places in a packed unit count from its start, so that a change above leaves it as it is; only the first token of a unit is placed in the
//! file, when the units are joined. How a token is packed is in `tokens`; no request is known here.

use std::collections::HashMap;
use std::sync::Arc;

use oriole_ide::{Encoding, LineIndex, UnitTokens};
use serde_json::Value;

use crate::convert::Text;
use crate::tokens::{difference, pack_in, write_numbers};

/// The numbers of a token.
type Packed = [u32; 5];

/// A unit with its first token as it is placed in the file.
type Joined = (Arc<PackedUnit>, Packed);

/// The tokens of a unit, packed. There is at least one.
struct PackedUnit {
    of: UnitTokens,
    /// The first token, placed from the start of the unit.
    first: Packed,
    /// The line in the unit and the column of the last token.
    last: (u32, u32),
    /// How many numbers there are.
    count: usize,
    /// The numbers after those of the first token as they are sent, each after a comma.
    rest: String,
}

impl PackedUnit {
    /// Packs a unit; nothing if it has no token.
    fn new(of: UnitTokens, encoding: Encoding) -> Option<PackedUnit> {
        let data = numbers(&of, encoding);
        let first: Packed = data.get(..5)?.try_into().ok()?;
        let mut last = (0, 0);
        for token in data.chunks_exact(5) {
            last = if token[0] == 0 { (last.0, last.1 + token[1]) } else { (last.0 + token[0], token[1]) };
        }
        let mut rest = String::with_capacity(3 * data.len());
        if data.len() > 5 {
            rest.push(',');
            write_numbers(&mut rest, &data[5..]);
        }
        rest.shrink_to_fit();
        Some(PackedUnit { of, first, last, count: data.len(), rest })
    }
}

/// All numbers of a unit, placed from its start.
fn numbers(of: &UnitTokens, encoding: Encoding) -> Vec<u32> {
    pack_in(&of.text, &LineIndex::of_document(&of.text), encoding, of.tokens())
}

/// The tokens of a file: units with tokens, each with its first token placed in the file.
#[derive(Default)]
pub(crate) struct FileTokens {
    units: Vec<Joined>,
    encoding: Encoding,
}

impl FileTokens {
    /// Joins the units of a file; those that are the same as before are not packed again.
    pub fn new(text: &Text, units: Vec<UnitTokens>, before: Option<&FileTokens>) -> FileTokens {
        let encoding = text.encoding;
        let before = before.filter(|before| before.encoding == encoding);
        let known: HashMap<usize, &Arc<PackedUnit>> = before
            .into_iter()
            .flat_map(|before| &before.units)
            .map(|(unit, _)| (unit.of.key(), unit))
            .collect();
        let mut last = (0, 0);
        let mut joined = Vec::with_capacity(units.len());
        for of in units {
            let start = text.position(of.start);
            let packed = match known.get(&of.key()).filter(|known| known.of.is_same(&of)) {
                Some(&known) => known.clone(),
                None => match PackedUnit::new(of, encoding) {
                    Some(packed) => Arc::new(packed),
                    None => continue,
                },
            };
            // On the first line of a unit columns count from where it begins.
            let placed = |(line, column): (u32, u32)| {
                (start.line + line, if line == 0 { start.character + column } else { column })
            };
            let [line, column, rest @ ..] = packed.first;
            let (line, column) = placed((line, column));
            let delta = if line == last.0 { column - last.1 } else { column };
            let [length, kind, bits] = rest;
            let first = [line - last.0, delta, length, kind, bits];
            last = placed(packed.last);
            joined.push((packed, first));
        }
        FileTokens { units: joined, encoding }
    }

    /// The answer in JSON text, with the id under which the tokens are kept.
    pub fn written(&self, name: &str) -> String {
        let length: usize = self.units.iter().map(|(unit, _)| unit.rest.len() + 32).sum();
        let mut text = String::with_capacity(length + 64);
        text.push_str("{\"data\":[");
        for (at, (unit, first)) in self.units.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            write_numbers(&mut text, first);
            text.push_str(&unit.rest);
        }
        text.push_str("],\"resultId\":");
        text.push_str(&Value::from(name).to_string());
        text.push('}');
        text
    }

    /// The edits of the protocol that make these tokens of earlier ones.
    pub fn changes(&self, old: &FileTokens) -> Value {
        let same = |(old, new): &(&Joined, &Joined)| Arc::ptr_eq(&old.0, &new.0) && old.1 == new.1;
        let (olds, news) = (&old.units[..], &self.units[..]);
        let above = olds.iter().zip(news).take_while(same).count();
        let (olds, news) = (&olds[above..], &news[above..]);
        let below = olds.iter().rev().zip(news.iter().rev()).take_while(same).count();
        let before = self.units[..above].iter().map(|(unit, _)| unit.count).sum();
        let numbers = |units: &[Joined], encoding| {
            let mut all = Vec::new();
            for (unit, first) in units {
                all.extend(first);
                all.extend_from_slice(&numbers(&unit.of, encoding)[5..]);
            }
            all
        };
        difference(
            before,
            &numbers(&olds[..olds.len() - below], old.encoding),
            &numbers(&news[..news.len() - below], self.encoding),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::pack;
    use oriole_ide::{AnalysisHost, Change, Language, Range, RegisterMarks, Settings, SettingsId};
    use serde_json::json;

    const TEXT: &str = ".version 8.0 .target sm_90\n.address_size 64 .global .b32 x; /* \u{e9}\u{1f600} */ .entry a() { ret; } .entry b()\n{\n  // \u{1f600}\n  bar.sync 0; ret;\n}\n\n.entry c() { ret; }\n";

    #[test]
    fn units_are_joined_to_the_tokens_of_the_whole_file() {
        let mut host = AnalysisHost::new();
        host.set_settings(SettingsId(0), Settings::default());
        let file = host.open(Language::Ptx, TEXT, SettingsId(0));
        let mut before: Option<FileTokens> = None;
        let mut client: Vec<Value> = Vec::new();
        for (at, new) in
            [(0, ""), (TEXT.find("ret; } .entry b").unwrap(), "bar.sync 1;\n "), (0, "// \u{e9}\n\n")]
        {
            let range = Some(Range::new(at as u32, at as u32));
            host.change(file, &[Change { range, text: new.to_owned() }]);
            let analysis = host.analysis();
            let text = Text::of(&analysis, file, Encoding::Utf16).unwrap();
            let marks = RegisterMarks::default();
            let whole = json!(pack(&text, &analysis.tokens(file, None, &marks).unwrap()));
            let units = analysis.unit_tokens(file, &marks).unwrap();
            let joined = FileTokens::new(&text, units, before.as_ref());
            let read: Value = serde_json::from_str(&joined.written("a\"7")).unwrap();
            assert_eq!(read, json!({ "data": whole, "resultId": "a\"7" }));
            match &before {
                None => client = read["data"].as_array().unwrap().clone(),
                Some(before) => {
                    let edits = joined.changes(before);
                    let edit = &edits[0];
                    let (start, deleted) =
                        (edit["start"].as_u64().unwrap(), edit["deleteCount"].as_u64().unwrap());
                    client.splice(
                        start as usize..(start + deleted) as usize,
                        edit["data"].as_array().unwrap().iter().cloned(),
                    );
                    let kept = joined
                        .units
                        .iter()
                        .filter(|(new, _)| before.units.iter().any(|(old, _)| Arc::ptr_eq(old, new)));
                    assert_eq!(kept.count() + 1, joined.units.len());
                }
            }
            assert_eq!(json!(client), whole);
            assert_eq!(joined.changes(&joined), json!([]));
            before = Some(joined);
        }
    }
}
