//! Reads the tables of the PTX language (`crates/ptx/tables/*.forms`) and writes what is made of them: the static rows
//! of `crates/ptx`, and the reference pages under `docs/ptx/`.
//!
//! It is here so that rows, pages and checks cannot disagree: a form is a line of text, and everything else derives
//! from it. How a line is written stands in `docs/how-to/add-a-ptx-instruction.md`. What a form means to the back end
//! must not enter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// One family: a file of rows, and a page of the reference.
struct Family {
    file: String,
    title: String,
    intro: String,
    rows: Vec<Row>,
}

/// One row as written, with its names resolved.
struct Row {
    opcode: String,
    slots: Vec<Slot>,
    operands: Vec<Operand>,
    ptx: (u8, u8),
    chips: Vec<String>,
    needs: Vec<Need>,
    doc: String,
    supported: bool,
}

#[derive(Clone)]
struct Need {
    token: String,
    ptx: (u8, u8),
    until: Option<(u8, u8)>,
    chips: Vec<String>,
}

#[derive(Clone, PartialEq)]
enum Slot {
    Head(Vec<String>),
    Must(Vec<String>),
    May(Vec<String>),
    Sequence(Vec<String>),
}

#[derive(Clone)]
struct Operand {
    name: String,
    kind: String,
    ty: String,
    parts: Vec<Operand>,
    presence: Option<String>,
    unchecked: bool,
}

/// Types in the order of their declaration in `crates/ptx`: only their names matter here.
const TYPES: &str = "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f32 f64 bf16 tf32 e4m3 e5m2 f16x2 bf16x2 \
    f32x2 u16x2 s16x2 u8x4 s8x4 e4m3x2 e5m2x2 b1 u2 s2 u4 s4 e2m1 e2m3 e3m2 e2m1x2 e2m3x2 e3m2x2 ue8m0 ue8m0x2 ue4m3 \
    e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4 b1024 texref samplerref surfref";
const SPACES: [(&str, &str); 9] = [
    ("const", "Constant"),
    ("global", "Global"),
    ("local", "Local"),
    ("param", "KernelParameter"),
    ("param::entry", "KernelParameter"),
    ("param::func", "FunctionParameter"),
    ("shared", "Shared"),
    ("shared::cta", "Shared"),
    ("shared::cluster", "SharedCluster"),
];

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Type,
    Space,
    Vector,
    Word,
}

fn class(word: &str) -> Class {
    if TYPES.split_whitespace().any(|name| name == word) {
        Class::Type
    } else if SPACES.iter().any(|row| row.0 == word) {
        Class::Space
    } else if ["v2", "v4", "v8"].contains(&word) {
        Class::Vector
    } else {
        Class::Word
    }
}

/// Whether two words are spellings of one state space: where a slot takes the one, it takes the other.
fn same_space(a: &str, b: &str) -> bool {
    let space = |name: &str| SPACES.iter().find(|row| row.0 == name).map(|row| row.1);
    space(a).is_some() && space(a) == space(b)
}

/// Every generated file: its path below the root, and its text.
pub fn generate(root: &Path) -> Result<Vec<(String, String)>, String> {
    let families = read(root)?;
    let mut files = vec![("crates/ptx/src/table/rows.rs".to_owned(), rust(&families)?)];
    for family in &families {
        files.push((format!("docs/ptx/{}.md", family.file), page(family)));
    }
    files.push(("docs/ptx/README.md".to_owned(), index(&families)));
    Ok(files)
}

fn read(root: &Path) -> Result<Vec<Family>, String> {
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

/// What the definitions above a row give it.
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
    let mut meta = meta.split_whitespace();
    let (ptx, chips) = since(meta.next().unwrap_or_default())?;
    let mut needs = Vec::new();
    for word in meta {
        needs.extend(need(word, names)?);
    }
    // Where only `shared::cta` stands, the short spelling of the same space is not possible.
    let spells = |name: &str| {
        slots.iter().any(|slot| matches!(slot, Slot::Must(words) | Slot::May(words) if words.iter().any(|word| word == name)))
    };
    let short = spells("shared::cta") && !spells("shared");
    // A need of a word that the row does not have says nothing.
    needs.retain(|need| {
        need.token.starts_with(['+', '-'])
            || need.token == "generic"
            || slots.iter().any(|slot| match slot {
                Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => {
                    words.iter().any(|word| {
                        *word == need.token
                            || word.split('.').any(|part| part == need.token)
                            || same_space(word, &need.token)
                    })
                }
            })
    });
    if short {
        needs.push(Need { token: "shared".to_owned(), ptx: (1, 0), until: None, chips: Vec::new() });
    }
    let mut list = Vec::new();
    for operand in split(operands) {
        list.push(self::operand(operand, names)?);
    }
    Ok(Row {
        opcode: opcode.to_owned(),
        slots,
        operands: list,
        ptx,
        chips,
        needs,
        doc: doc.to_owned(),
        supported,
    })
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

/// Parts between commas that no bracket holds.
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
        return Ok(Operand {
            name,
            kind: "parts".to_owned(),
            ty: "none".to_owned(),
            parts,
            presence,
            unchecked: false,
        });
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

/// A name without its `!`, and whether that stands there: nobody checks the operand.
fn unmarked(name: &str) -> (&str, bool) {
    name.strip_suffix('!').map_or((name, false), |name| (name, true))
}

// ---- Rust

fn rust(families: &[Family]) -> Result<String, String> {
    let mut out = String::from(
        "//! The rows of the instruction table. Generated by `cargo xtask codegen` from `tables/*.forms`; do not edit.\n\n\
         #![cfg_attr(rustfmt, rustfmt_skip)]\n\n\
         use super::Chips::*;\nuse super::Kind as K;\nuse super::OperandType as O;\nuse super::Presence as P;\nuse super::Slot as S;\n\
         use super::{Family, Need, OperandRow, Row};\nuse crate::Opcode;\nuse crate::Space;\nuse crate::Type as T;\n\n\
         const fn o(name: &'static str, kind: K, ty: O, presence: P) -> OperandRow {\n    OperandRow { name, kind, ty, presence, unchecked: false }\n}\n\n\
         const fn u(name: &'static str, kind: K, ty: O, presence: P) -> OperandRow {\n    OperandRow { name, kind, ty, presence, unchecked: true }\n}\n\n",
    );
    let mut by_opcode: BTreeMap<&str, Vec<(&Family, &Row)>> = BTreeMap::new();
    for family in families {
        for row in &family.rows {
            by_opcode.entry(&row.opcode).or_default().push((family, row));
        }
    }
    let mut pool = Pool::default();
    let mut body = String::new();
    for (opcode, rows) in &by_opcode {
        let _ = writeln!(body, "static {}: [Row; {}] = [", opcode.to_uppercase(), rows.len());
        for (family, row) in rows {
            let slots: Vec<String> = row.slots.iter().map(slot).collect();
            let slots = pool.list("S", "S", slots);
            let mut operands = Vec::new();
            for operand in &row.operands {
                operands.push(operand_rust(operand, &mut pool)?);
            }
            let operands = pool.list("R", "OperandRow", operands);
            let mut needs = Vec::new();
            for need in &row.needs {
                needs.push(format!(
                    "Need{{token:{:?},ptx:{:?},until:{:?},chips:{}}}",
                    need.token,
                    need.ptx,
                    need.until,
                    chips(&need.chips)?
                ));
            }
            let needs = pool.list("N", "Need", needs);
            let _ = writeln!(
                body,
                "    Row {{ opcode: Opcode::{}, slots: {slots}, operands: {operands}, ptx: {:?}, chips: {}, needs: {needs}, \
                 doc: {:?}, family: {:?}, supported: {} }},",
                capital(opcode),
                row.ptx,
                chips(&row.chips)?,
                row.doc,
                family.file,
                row.supported
            );
        }
        body.push_str("];\n");
    }
    out.push_str(&pool.text);
    out.push('\n');
    out.push_str(&body);
    let _ = writeln!(
        out,
        "\n/// The rows of each opcode, in the order of opcodes.\npub(super) static INDEX: [&[Row]; Opcode::COUNT] = ["
    );
    for opcode in by_opcode.keys() {
        let _ = writeln!(out, "    &{},", opcode.to_uppercase());
    }
    out.push_str("];\n\n/// File name, title and introduction of each family.\n");
    let _ = writeln!(out, "pub(super) static FAMILIES: [Family; {}] = [", families.len());
    for family in families {
        let _ = writeln!(
            out,
            "    Family {{ page: {:?}, title: {:?}, intro: {:?} }},",
            family.file, family.title, family.intro
        );
    }
    out.push_str("];\n");
    Ok(out)
}

/// Lists that several rows share, each written once.
#[derive(Default)]
struct Pool {
    known: BTreeMap<(String, String), String>,
    text: String,
}

impl Pool {
    fn list(&mut self, letter: &str, ty: &str, items: Vec<String>) -> String {
        if items.is_empty() {
            return "&[]".to_owned();
        }
        let value = format!("&[{}]", items.join(","));
        let next = self.known.len();
        let key = (letter.to_owned(), value.clone());
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let name = format!("{letter}{next}");
        let _ = writeln!(self.text, "const {name}: &[{ty}] = {value};");
        self.known.insert(key, name.clone());
        name
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn type_name(name: &str) -> String {
    match name {
        "pred" | "texref" | "samplerref" | "surfref" => capital(name),
        _ => name.to_uppercase().replace('X', "x"),
    }
}

fn space_name(name: &str) -> &'static str {
    SPACES.iter().find(|row| row.0 == name).map_or("Generic", |row| row.1)
}

fn slot(slot: &Slot) -> String {
    let words = |list: &[String]| list.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(",");
    let (may, list) = match slot {
        Slot::Head(list) => return format!("S::Head(&[{}])", words(list)),
        Slot::Sequence(list) => return format!("S::Sequence(&[{}])", words(list)),
        Slot::Must(list) => ("", list),
        Slot::May(list) => ("May", list),
    };
    match class(&list[0]) {
        Class::Type => {
            let list: Vec<String> = list.iter().map(|ty| format!("T::{}", type_name(ty))).collect();
            format!("S::{may}Type(&[{}])", list.join(","))
        }
        Class::Space => {
            let mut seen = BTreeSet::new();
            let list: Vec<String> = list
                .iter()
                .map(|space| space_name(space))
                .filter(|space| seen.insert(*space))
                .map(|space| format!("Space::{space}"))
                .collect();
            format!("S::{may}Space(&[{}])", list.join(","))
        }
        Class::Vector => {
            let list: Vec<&str> = list.iter().map(|width| &width[1..]).collect();
            format!("S::{may}Vector(&[{}])", list.join(","))
        }
        Class::Word if may.is_empty() => format!("S::Must(&[{}])", words(list)),
        Class::Word => format!("S::May(&[{}])", words(list)),
    }
}

fn chips(list: &[String]) -> Result<String, String> {
    let number = |text: &str| text.parse::<u8>().map_err(|_| format!("`{text}` is no chip"));
    let mut plain = Vec::new();
    let mut exact = Vec::new();
    let mut families = Vec::new();
    for chip in list {
        if let Some(text) = chip.strip_prefix('<') {
            plain.push(format!("Before({})", number(text)?));
        } else if let Some(text) = chip.strip_suffix('a') {
            exact.push(number(text)?);
        } else if let Some(text) = chip.strip_suffix('f') {
            families.push(number(text)?);
        } else {
            plain.push(format!("From({})", number(chip)?));
        }
    }
    if !exact.is_empty() {
        plain.push(format!("Accelerated(&{exact:?})"));
    }
    if !families.is_empty() {
        plain.push(format!("Family(&{families:?})"));
    }
    Ok(match &plain[..] {
        [single] => single.clone(),
        _ => format!("AnyOf(&[{}])", plain.join(", ")),
    })
}

fn operand_rust(operand: &Operand, pool: &mut Pool) -> Result<String, String> {
    let wrong = || format!("operand `{}`: kind `{}`", operand.name, operand.kind);
    let inner = |open: char, close: char| -> Option<(&str, &str)> {
        let (head, rest) = operand.kind.split_once(open)?;
        Some((head, rest.strip_suffix(close)?))
    };
    let kind = match operand.kind.as_str() {
        "dst" => "K::Destination".to_owned(),
        "dst_" => "K::DestinationOrSink".to_owned(),
        "sink" => "K::Sink".to_owned(),
        "dstv" => "K::VectorDestination".to_owned(),
        "dstv_" => "K::VectorDestinationOrSink".to_owned(),
        "pair" => "K::PairDestination".to_owned(),
        "pair_" => "K::PairDestinationOrSink".to_owned(),
        "both" => "K::BothDestinations".to_owned(),
        "elected" => "K::Elected".to_owned(),
        "src" => "K::Source".to_owned(),
        "srcpred" => "K::SourceOrPredicate".to_owned(),
        "reg" => "K::RegisterSource".to_owned(),
        "srcv" => "K::VectorSource".to_owned(),
        "const" => "K::Constant(i64::MIN, i64::MAX)".to_owned(),
        "pred" => "K::Predicate".to_owned(),
        "predreg" => "K::PredicateRegister".to_owned(),
        "[]" => "K::Address".to_owned(),
        "[32]" => "K::TensorAddress".to_owned(),
        "parts" => {
            let mut parts = Vec::new();
            for part in &operand.parts {
                parts.push(operand_rust(part, pool)?);
            }
            format!("K::Parts({})", pool.list("R", "OperandRow", parts))
        }
        "movedst" => "K::MoveDestination".to_owned(),
        "movesrc" => "K::MoveSource".to_owned(),
        "addr" => "K::AddressSource".to_owned(),
        "texture" => "K::Opaque(super::Opaque::Texture)".to_owned(),
        "sampler" => "K::Opaque(super::Opaque::Sampler)".to_owned(),
        "surface" => "K::Opaque(super::Opaque::Surface)".to_owned(),
        "textureorsampler" => "K::Opaque(super::Opaque::TextureOrSampler)".to_owned(),
        "label" => "K::Label".to_owned(),
        "targets" => "K::BranchTargets".to_owned(),
        "call" => "K::Call".to_owned(),
        "any" => "K::Anything".to_owned(),
        "texels" => "K::Texels".to_owned(),
        "selected" => "K::Selected".to_owned(),
        "signed" => "K::SelectedSigned".to_owned(),
        "selecteddst" => "K::SelectedDestination".to_owned(),
        "lanes2" => "K::Lanes(2)".to_owned(),
        "lanes4" => "K::Lanes(4)".to_owned(),
        "lanesdst2" => "K::LanesDestination(2)".to_owned(),
        "lanesdst4" => "K::LanesDestination(4)".to_owned(),
        _ => {
            if let Some((head, text)) = inner('(', ')') {
                match (head, text.split_once("..")) {
                    ("const", Some((low, high))) => format!("K::Constant({low}, {high})"),
                    ("in", Some((low, high))) => format!("K::SourceInRange({low}, {high})"),
                    ("oneof" | "of", _) => {
                        let list: Vec<&str> = text.split_whitespace().collect();
                        let end = if head == "of" { "SourceOf" } else { "ConstantOf" };
                        format!("K::{end}(&[{}])", list.join(", "))
                    }
                    ("multiple", _) => format!("K::SourceMultipleOf({text})"),
                    _ => return Err(wrong()),
                }
            } else if let Some((head, text)) = inner('{', '}') {
                let end = match head {
                    "dst" => "Destinations",
                    "src" => "Sources",
                    "coord" => "Coordinates",
                    "offset" => "Offsets",
                    "layer" => "LayerCoordinates",
                    _ => return Err(wrong()),
                };
                match text.strip_prefix("by ") {
                    Some(counts) => {
                        let list: Option<Vec<String>> = counts
                            .split_whitespace()
                            .map(|pair| {
                                pair.split_once('=').map(|(token, count)| format!("({token:?},{count})"))
                            })
                            .collect();
                        let list = pool.list("C", "(&str, u8)", list.ok_or_else(wrong)?);
                        let by = if end.ends_with("Coordinates") || end == "Offsets" { "" } else { "By" };
                        format!("K::{end}{by}({list})")
                    }
                    None => format!("K::{end}({text})"),
                }
            } else {
                return Err(wrong());
            }
        }
    };
    let ty = match operand.ty.as_str() {
        "word" => "O::Word".to_owned(),
        "wword" => "O::WideWord".to_owned(),
        "lf" => "O::LooseFloat".to_owned(),
        "int" => "O::AnyInteger".to_owned(),
        "none" => "O::None".to_owned(),
        "@shared" => "O::AddressInShared".to_owned(),
        text if text.starts_with('=') && class(&text[1..]) == Class::Type => {
            format!("O::Exact(T::{})", type_name(&text[1..]))
        }
        text if text.starts_with('@') && text.len() == 2 => format!("O::AddressIn({})", &text[1..]),
        text if text.starts_with("2x") => format!("O::Double({})", &text[2..]),
        text if text.starts_with('b') && text.len() == 2 && class(text) == Class::Word => {
            format!("O::Bits({})", &text[1..])
        }
        text if text.starts_with('l') && text.len() == 2 => format!("O::Loose({})", &text[1..]),
        text if text.starts_with('w') && text.len() == 2 => format!("O::Widening({})", &text[1..]),
        text if text.len() == 1 => format!("O::Of({text})"),
        text if class(text) == Class::Type => format!("O::Fixed(T::{})", type_name(text)),
        text => return Err(format!("operand `{}`: type `{text}`", operand.name)),
    };
    let presence = match operand.presence.as_deref() {
        None => "P::Always".to_owned(),
        Some("") => "P::Optional".to_owned(),
        Some(token) => format!("P::With({token:?})"),
    };
    let function = if operand.unchecked { 'u' } else { 'o' };
    Ok(format!("{function}({:?},{kind},{ty},{presence})", operand.name))
}

// ---- pages

fn index(families: &[Family]) -> String {
    let mut out = String::from(
        "# The PTX language\n\n\
         <!-- Generated by `cargo xtask codegen` from `crates/ptx/tables/*.forms`; do not edit. -->\n\n\
         Every form of every instruction that the checker knows, from the same table. PTX versions up to 9.0 are understood.\n\
         How a row is added: [add-a-ptx-instruction](../how-to/add-a-ptx-instruction.md).\n\n\
         | page | forms | compiled | opcodes |\n|---|---|---|---|\n",
    );
    let (mut rows, mut supported) = (0, 0);
    for family in families {
        let opcodes: BTreeSet<&str> = family.rows.iter().map(|row| row.opcode.as_str()).collect();
        let compiled = family.rows.iter().filter(|row| row.supported).count();
        rows += family.rows.len();
        supported += compiled;
        let _ = writeln!(
            out,
            "| [{}]({}.md) | {} | {compiled} | {} |",
            family.title,
            family.file,
            family.rows.len(),
            opcodes.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
        );
    }
    let _ = writeln!(out, "| all | {rows} | {supported} | |");
    out.push_str(
        "\nIn the forms, `{a,b}` is a choice, and what stands in brackets behind the opcode may be left out. Words behind the\n\
         opcode may stand in any order, except for those before the first space, which belong to the instruction's name;\n\
         types keep their order among themselves, and so do state spaces. `check` accepts every form for the versions and\n\
         chips that have it; `compile` refuses those that the back end makes no code for yet, with a code of its own.\n\
         Where this differs from ptxas, and why: [differences to ptxas](../ptxas-differences.md).\n",
    );
    out
}

fn page(family: &Family) -> String {
    let mut out = format!(
        "# {}\n\n<!-- Generated by `cargo xtask codegen` from `crates/ptx/tables/{}.forms`; do not edit. -->\n\n{}\n",
        family.title, family.file, family.intro
    );
    let mut opcode = "";
    for row in &family.rows {
        if row.opcode != opcode {
            opcode = &row.opcode;
            let _ = write!(
                out,
                "\n## `{opcode}`\n\n| form | PTX | chips | compiled | what it does |\n|---|---|---|---|---|\n"
            );
        }
        let mut form = row.opcode.clone();
        for slot in &row.slots {
            if !matches!(slot, Slot::Head(_)) {
                form.push(' ');
            }
            spell(slot, &mut form);
        }
        let operands: Vec<String> = row.operands.iter().map(spell_operand).collect();
        if !operands.is_empty() {
            form.push_str("  ");
            form.push_str(&operands.join(", "));
        }
        let mut doc = row.doc.clone();
        if !row.needs.is_empty() {
            let mut groups: Vec<(&Need, Vec<&str>)> = Vec::new();
            for need in &row.needs {
                let alike = |other: &Need| {
                    other.ptx == need.ptx && other.until == need.until && other.chips == need.chips
                };
                match groups.iter_mut().find(|group| alike(group.0)) {
                    Some(group) => group.1.push(&need.token),
                    None => groups.push((need, vec![&need.token])),
                }
            }
            for (Need { ptx, until, chips, .. }, tokens) in groups {
                let tokens: Vec<String> = tokens
                    .iter()
                    .map(|token| match (token.strip_prefix('+'), token.strip_prefix('-')) {
                        (Some(operand), _) => format!("with {operand}"),
                        (_, Some(operand)) => format!("without {operand}"),
                        _ if *token == "generic" => "generic addresses".to_owned(),
                        _ => format!("`.{token}`"),
                    })
                    .collect();
                let tokens = tokens.join(" ");
                let _ = match (chips.is_empty(), until) {
                    (true, _) => write!(doc, " Not {tokens} as such."),
                    (_, Some((major, minor))) => write!(doc, " {tokens}: before PTX {major}.{minor}."),
                    _ => write!(doc, " {tokens}: PTX {}.{}, {}.", ptx.0, ptx.1, spell_chips(chips)),
                };
            }
        }
        let _ = writeln!(
            out,
            "| `{}` | {}.{} | {} | {} | {doc} |",
            form.replace('|', "\\|"),
            row.ptx.0,
            row.ptx.1,
            spell_chips(&row.chips),
            if row.supported { "yes" } else { "no" }
        );
    }
    out
}

fn spell(slot: &Slot, out: &mut String) {
    let (open, list, close) = match slot {
        Slot::Head(list) | Slot::Must(list) => ("", list, ""),
        Slot::May(list) => ("[", list, "]"),
        Slot::Sequence(list) => {
            let _ = write!(out, ".{}", list.join("."));
            return;
        }
    };
    if let [single] = &list[..] {
        let _ = write!(out, "{open}.{single}{close}");
    } else {
        let _ = write!(out, "{open}.{{{}}}{close}", list.join(","));
    }
}

fn spell_operand(operand: &Operand) -> String {
    let name = &operand.name;
    let text = match operand.kind.as_str() {
        "[]" | "[32]" => format!("[{name}]"),
        "pair" | "pair_" | "texels" => format!("{name}[|p]"),
        "both" | "elected" => format!("{name}|p"),
        "sink" => "_".to_owned(),
        "call" => "results, function, arguments, prototype".to_owned(),
        "parts" => format!("[{}]", operand.parts.iter().map(spell_operand).collect::<Vec<_>>().join(", ")),
        kind => match kind.split_once('{') {
            Some((_, count)) if !count.starts_with("by") => format!("{name}{{{count}"),
            Some(_) => format!("{name}{{n}}"),
            None => name.clone(),
        },
    };
    if operand.presence.is_some() { format!("[{text}]") } else { text }
}

fn spell_chips(chips: &[String]) -> String {
    let list: Vec<String> = chips
        .iter()
        .map(|chip| match chip.strip_prefix('<') {
            Some(number) => format!("before sm_{number}"),
            None if chip.ends_with(['a', 'f']) => format!("sm_{chip}"),
            None => format!("sm_{chip}+"),
        })
        .collect();
    list.join(", ")
}
