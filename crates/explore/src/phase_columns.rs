//! The intermediate representation of a kernel through the phases, in JSON: each line once, and for each phase its
//! stretches of lines.
//!
//! Most lines are those of the phase before, so a page holds all phases in little more than one. No markup is written here.

use std::collections::HashMap;

use oriole_ide::OriSnapshot;
use serde::Serialize;

use crate::columns::json;
use crate::texts::Texts;

#[derive(Serialize)]
struct Columns {
    lines: Texts,
    /// For each line that of the PTX, 0 if there is none.
    sources: Vec<u32>,
    phases: Vec<PhaseColumns>,
}

#[derive(Serialize)]
struct PhaseColumns {
    name: String,
    doc: &'static str,
    /// Start and length of each stretch, one after the other.
    lines: Vec<usize>,
}

/// The visible lines: names of registers are in the PTX next to it.
fn visible(snapshot: &OriSnapshot) -> impl Iterator<Item = (&str, Option<u32>)> {
    let lines = snapshot.lines.iter().filter(|line| !line.text.starts_with("  value "));
    lines.map(|line| (&*line.text, line.source.map(|line| line + 1)))
}

/// The phases as JSON.
pub fn phase_columns(snapshots: &[OriSnapshot]) -> String {
    let mut known: HashMap<(&str, Option<u32>), usize> = HashMap::new();
    let mut columns = Columns { lines: Texts::default(), sources: Vec::new(), phases: Vec::new() };
    for snapshot in snapshots {
        let mut stretches: Vec<usize> = Vec::new();
        for (text, source) in visible(snapshot) {
            let id = *known.entry((text, source)).or_insert_with(|| {
                columns.lines.push(text);
                columns.sources.push(source.unwrap_or(0));
                columns.sources.len() - 1
            });
            match stretches.as_mut_slice() {
                [.., start, length] if *start + *length == id => *length += 1,
                _ => stretches.extend([id, 1]),
            }
        }
        let name = match snapshot.phase {
            Some((number, name)) => format!("{number} {name}"),
            None => "as lowered".to_owned(),
        };
        columns.phases.push(PhaseColumns { name, doc: snapshot.doc, lines: stretches });
    }
    json(&columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ide::OriLine;
    use serde_json::{Value, json};

    /// The script reconstructs the lines of each phase.
    #[test]
    fn phases_as_stretches() {
        let line = |text: &str, source| OriLine { text: text.into(), source };
        let (a, b, c) = (line("a </script>", None), line("b", Some(1)), line("c", Some(1)));
        let value = line("  value r1 = %0.0", None);
        let raw = OriSnapshot { phase: None, doc: "d", lines: vec![a.clone(), value, b.clone(), c.clone()] };
        let after = OriSnapshot { phase: Some((5, "Fold")), doc: "e", lines: vec![a, c, b] };
        let wanted = json!({
            "lines": { "forms": [["a </script>"], ["b"], ["c"]], "of": [0, 1, 2], "numbers": [] }, "sources": [0, 2, 2],
            "phases": [
                { "name": "as lowered", "doc": "d", "lines": [0, 3] },
                { "name": "5 Fold", "doc": "e", "lines": [0, 1, 2, 1, 1, 1] },
            ],
        });
        let text = phase_columns(&[raw, after]);
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), wanted);
    }
}
