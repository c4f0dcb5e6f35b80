//! Parses the tables: one row for each line, with names of sets, counts and needs resolved.
//!
//! No Rust and no page is written here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Family, Need, Operand, Row, Slot, class, same_space};

/// The families of all tables.
pub fn families(root: &Path) -> Result<Vec<Family>, String> {
    let folder = root.join("crates/ptx/tables");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "forms"))
        .collect();
    paths.sort();
    let mut families = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        families.push(family(&file, &text).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(families)
}

/// The definitions above a row that it can use.
#[derive(Default)]
struct Names {
    sets: BTreeMap<String, Vec<String>>,
    counts: BTreeMap<String, Vec<(String, u8)>>,
    needs: BTreeMap<String, Vec<Need>>,
}

fn family(file: &str, text: &str) -> Result<Family, String> {
    let mut family =
        Family { file: file.to_owned(), title: String::new(), intro: String::new(), rows: Vec::new() };
    let mut names = Names::default();
    for (number, line) in text.lines().enumerate() {
        let wrong = |message: String| format!("line {}: {message}", number + 1);
        let line = line.trim();
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "" | "#" => {}
            "title" => family.title = rest.to_owned(),
            "intro" => family.intro = rest.to_owned(),
            "words" => {
                let mut words = rest.split_whitespace();
                let name = words.next().unwrap_or_default().to_owned();
                names.sets.insert(name, words.map(str::to_owned).collect());
            }
            "counts" => {
                let mut words = rest.split_whitespace();
                let name = words.next().unwrap_or_default().to_owned();
                let counts: Option<Vec<_>> = words
                    .map(|word| {
                        let (token, count) = word.split_once('=')?;
                        Some((token.to_owned(), count.parse().ok()?))
                    })
                    .collect();
                names.counts.insert(name, counts.ok_or_else(|| wrong("a count is `word=number`".into()))?);
            }
            "needs" => {
                let mut words = rest.split_whitespace();
                let name = words.next().unwrap_or_default().to_owned();
                let mut list = Vec::new();
                for word in words {
                    list.extend(need(word, &names).map_err(wrong)?);
                }
                names.needs.insert(name, list);
            }
            _ => family.rows.push(row(line, &names).map_err(wrong)?),
        }
    }
    Ok(family)
}

/// `7.8/90`, `8.6/100f+103f`, `6.0/<70`
fn since(word: &str) -> Result<((u8, u8), Vec<String>), String> {
    let wrong = || format!("`{word}` is no version and chip, as in 7.8/90");
    let (version, chips) = word.split_once('/').ok_or_else(wrong)?;
    let (major, minor) = version.split_once('.').ok_or_else(wrong)?;
    let version = (major.parse().map_err(|_| wrong())?, minor.parse().map_err(|_| wrong())?);
    Ok((version, chips.split('+').map(str::to_owned).collect()))
}

/// `.token=7.8/90`, or `@name` for a list of these.
fn need(word: &str, names: &Names) -> Result<Vec<Need>, String> {
    if let Some(name) = word.strip_prefix('@') {
        return names.needs.get(name).cloned().ok_or_else(|| format!("no `needs {name}`"));
    }
    let wrong = || format!("`{word}` is no need, as in .ftz=7.8/90");
    let (token, value) = word.split_once('=').ok_or_else(wrong)?;
    if !token.starts_with(['.', '+', '-']) {
        return Err(wrong());
    }
    let token = token.trim_start_matches('.').to_owned();
    // `.shared=never`: only the other spellings of the slot are possible.
    if value == "never" {
        return Ok(vec![Need { token, ptx: (1, 0), until: None, chips: Vec::new() }]);
    }
    // `.satfinite=<6.5`: not from that version on.
    if let Some(version) = value.strip_prefix('<') {
        let (until, chips) = since(&format!("{version}/10"))?;
        return Ok(vec![Need { token, ptx: (1, 0), until: Some(until), chips }]);
    }
    let (ptx, chips) = since(value)?;
    Ok(vec![Need { token, ptx, until: None, chips }])
}

fn row(line: &str, names: &Names) -> Result<Row, String> {
    let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let [head, operands, meta, doc] = parts[..] else {
        return Err("a row has four parts between ` | `".to_owned());
    };
    let (head, supported) = match head.strip_prefix('~') {
        Some(head) => (head, false),
        None => (head, true),
    };
    let (opcode, slots) = self::slots(head, names)?;
    let mut meta = meta.split_whitespace();
    let (ptx, chips) = since(meta.next().unwrap_or_default())?;
    let mut needs = Vec::new();
    for word in meta {
        needs.extend(need(word, names)?);
    }
    complete(&mut needs, &slots);
    let mut list = Vec::new();
    for operand in split(operands) {
        list.push(self::operand(operand, names)?);
    }
    Ok(Row { opcode, slots, operands: list, ptx, chips, needs, doc: doc.to_owned(), supported })
}

/// The first part of a row: the opcode and the slots after it.
fn slots(head: &str, names: &Names) -> Result<(String, Vec<Slot>), String> {
    let mut words = head.split_whitespace();
    let name = words.next().unwrap_or_default();
    let (opcode, mut heads) = name.split_once('.').unwrap_or((name, ""));
    let mut slots = Vec::new();
    while !heads.is_empty() {
        let end = if let Some(list) = heads.strip_prefix('{') {
            list.find('}').ok_or("`}` is missing")? + 2
        } else {
            heads.find('.').unwrap_or(heads.len())
        };
        slots.push(Slot::Head(list(&format!(".{}", &heads[..end]), names)?));
        heads = heads[end..].trim_start_matches('.');
    }
    for word in words {
        slots.push(if let Some(inner) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
            Slot::May(list(inner, names)?)
        } else if let Some(inner) = word.strip_prefix("<.").and_then(|word| word.strip_suffix('>')) {
            Slot::Sequence(inner.split('.').map(str::to_owned).collect())
        } else {
            Slot::Must(list(word, names)?)
        });
    }
    for slot in &slots {
        if let Slot::Must(words) | Slot::May(words) = slot {
            let first = words.first().ok_or("an empty list")?;
            if words.iter().any(|word| class(word) != class(first)) {
                return Err(format!("{words:?} mixes types, spaces, widths and other words"));
            }
        }
    }
    Ok((opcode.to_owned(), slots))
}

/// Leaves out needs of words that the row does not have, and adds the one that a lone `shared::cta` implies.
fn complete(needs: &mut Vec<Need>, slots: &[Slot]) {
    let has = |token: &str| {
        slots
            .iter()
            .flat_map(Slot::words)
            .any(|word| word == token || word.split('.').any(|part| part == token) || same_space(word, token))
    };
    needs.retain(|need| {
        need.token.starts_with(['+', '-']) || need.token == "generic" || need.token.split('&').all(has)
    });
    // Where only `shared::cta` is valid, the short spelling of that space is not.
    let spells = |name: &str| {
        slots
            .iter()
            .filter(|slot| matches!(slot, Slot::Must(_) | Slot::May(_)))
            .flat_map(Slot::words)
            .any(|word| word == name)
    };
    if spells("shared::cta") && !spells("shared") {
        needs.push(Need { token: "shared".to_owned(), ptx: (1, 0), until: None, chips: Vec::new() });
    }
}

/// `.word`, `.{a,b}`, `.$set`, `.{a,$set}`
fn list(word: &str, names: &Names) -> Result<Vec<String>, String> {
    let inner = word.strip_prefix('.').ok_or_else(|| format!("`{word}` has no dot"))?;
    let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
    let mut all = Vec::new();
    for part in inner.split(',') {
        match part.strip_prefix('$') {
            Some(name) => {
                all.extend(names.sets.get(name).ok_or_else(|| format!("no `words {name}`"))?.clone())
            }
            None => all.push(part.to_owned()),
        }
    }
    Ok(all)
}

/// Parts between commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn operand(text: &str, names: &Names) -> Result<Operand, String> {
    let (text, presence) = match text.split_once('?') {
        Some((text, word)) => (text, Some(word.to_owned())),
        None => (text, None),
    };
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return bracketed(inner, presence, names);
    }
    let mut fields = text.splitn(3, ':');
    let (name, unchecked) = unmarked(fields.next().unwrap_or_default());
    let usual = if name == "d" { "dst" } else { "src" };
    let (kind, ty) = match (fields.next(), fields.next()) {
        (None, _) => (usual.to_owned(), "0".to_owned()),
        (Some("pred"), None) => ("pred".to_owned(), "pred".to_owned()),
        (Some("any"), None) => ("any".to_owned(), "none".to_owned()),
        (Some(ty), None) => (usual.to_owned(), ty.to_owned()),
        (Some(kind), Some(ty)) => (kind.to_owned(), ty.to_owned()),
    };
    // `dst{by name}`: the number of registers depends on a modifier.
    let kind = match kind.split_once("{by ") {
        Some((head, table)) => {
            let table = table.trim_end_matches('}');
            let counts = names.counts.get(table).ok_or_else(|| format!("no `counts {table}`"))?;
            let counts: Vec<String> =
                counts.iter().map(|(token, count)| format!("{token}={count}")).collect();
            format!("{head}{{by {}}}", counts.join(" "))
        }
        None => kind,
    };
    Ok(Operand { name: name.to_owned(), kind, ty, parts: Vec::new(), presence, unchecked })
}

/// An operand in brackets: an address, or several parts.
fn bracketed(inner: &str, presence: Option<String>, names: &Names) -> Result<Operand, String> {
    let parts = split(inner);
    if let [single] = parts[..]
        && !single.contains(':')
    {
        // `[dst@0]`: the address is in the first state space of the row.
        let (name, ty) = match single.split_once('@') {
            Some((name, space)) => (name, format!("@{space}")),
            None => (single, "int".to_owned()),
        };
        let (name, unchecked) = unmarked(name);
        return Ok(Operand {
            name: name.to_owned(),
            kind: "[]".to_owned(),
            ty,
            parts: Vec::new(),
            presence,
            unchecked,
        });
    }
    let parts: Result<Vec<Operand>, String> = parts.iter().map(|part| operand(part, names)).collect();
    let parts = parts?;
    let name = parts.first().map(|part| part.name.clone()).unwrap_or_default();
    Ok(Operand { name, kind: "parts".to_owned(), ty: "none".to_owned(), parts, presence, unchecked: false })
}

/// A name without its `!`, and whether it has one: then ptxas does not check the operand.
fn unmarked(name: &str) -> (&str, bool) {
    name.strip_suffix('!').map_or((name, false), |name| (name, true))
}
