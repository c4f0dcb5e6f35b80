//! `cargo xtask codegen`: turns the form tables of the machine (`crates/sass/tables/*.forms`) into Rust: the names of
//! opcodes, modifiers and named operands, and the static table of each chip. The tables of the PTX language have a file
//! of their own, which this one calls. `--check` only says what is out of date.
//!
//! It is here, and not in a build script, so that the generated code can be read, and a build needs no generator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Names that no form uses (yet), but that other rooms of the house may speak of.
const EXTRA_SYMBOLS: [&str; 0] = [];

/// Writes the generated files, or with `--check` compares them.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".to_owned()),
    };
    let root = crate::root();
    for (path, text) in generate(&root)? {
        let path = root.join(path);
        let old = fs::read_to_string(&path).unwrap_or_default();
        if old == text {
            continue;
        }
        if check {
            return Err(format!("{} is out of date: run `cargo xtask codegen`", path.display()));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Every generated file: its path below the root, and its text.
fn generate(root: &Path) -> Result<Vec<(String, String)>, String> {
    let source = root.join("crates/sass/tables/sm_90.forms");
    let text = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    let tables = parse(&text)?;
    let mut ops = BTreeSet::new();
    let mut mods = BTreeSet::new();
    let mut symbols: BTreeSet<String> = EXTRA_SYMBOLS.iter().map(|name| name.to_string()).collect();
    for form in &tables.forms {
        ops.insert(form.op.clone());
        for token in &form.always {
            token.names(&mut mods, &mut symbols);
        }
        for slot in &form.slots {
            if let Some(name) = slot.kind.strip_prefix('$')
                && !name.is_empty()
            {
                symbols.insert(name.to_string());
            }
        }
    }
    for rows in tables.choices.values() {
        for (_, tokens) in rows {
            for token in tokens {
                token.names(&mut mods, &mut symbols);
            }
        }
    }
    for order in tables.orders.values() {
        mods.extend(order.iter().cloned());
    }
    let mut files = vec![
        ("crates/sass/src/op.rs".to_owned(), names(&OP, &ops)),
        ("crates/sass/src/modifier.rs".to_owned(), names(&MOD, &mods)),
        ("crates/sass/src/symbol.rs".to_owned(), names(&SYMBOL, &symbols)),
        ("crates/sass/src/form/sm_90.rs".to_owned(), table(&tables, &ops)?),
    ];
    files.extend(crate::ptx_table::generate(root)?);
    Ok(files)
}

/// What a form table says.
struct Tables {
    choices: BTreeMap<String, Vec<(u16, Vec<Token>)>>,
    orders: BTreeMap<String, Vec<String>>,
    forms: Vec<Form>,
}

struct Form {
    op: String,
    opcode: u16,
    uniform: bool,
    mask: u128,
    value: u128,
    unused: u128,
    always: Vec<Token>,
    slots: Vec<Slot>,
    sets: Vec<SetRow>,
    reuse: [u8; 3],
    write_barrier: bool,
    read_barrier: bool,
}

struct SetRow {
    bits: Vec<u8>,
    choice: String,
    slot: Option<u8>,
}

struct Slot {
    access: String,
    kind: String,
    float: Option<String>,
    fields: Vec<FieldRow>,
    width: String,
    signs: [u8; 3],
}

struct FieldRow {
    low: (u8, u8),
    high: (u8, u8),
    scale: u8,
    bias: u8,
    signed: bool,
    complement: bool,
    elided: &'static str,
}

/// A token with the operand it belongs to, where it says so itself.
#[derive(Clone)]
struct Token {
    slot: Option<u8>,
    what: What,
}

#[derive(Clone)]
enum What {
    Mod(String),
    Negate,
    Absolute,
    Invert,
    Suffix(Option<u8>, String),
    Symbol(String),
}

impl Token {
    fn parse(text: &str) -> Result<Token, String> {
        let (slot, rest) = match text.split_once(':') {
            Some((number, rest)) => (Some(number.parse().map_err(|_| format!("token `{text}`"))?), rest),
            None => (None, text),
        };
        let what = match rest {
            "-" => What::Negate,
            "|" => What::Absolute,
            "!" | "~" => What::Invert,
            _ => {
                if let Some(name) = rest.strip_prefix('.') {
                    What::Mod(name.to_owned())
                } else if let Some(name) = rest.strip_prefix('=') {
                    What::Symbol(name.to_owned())
                } else if let Some(name) = rest.strip_prefix("].") {
                    What::Suffix(None, name.to_owned())
                } else if let Some((part, name)) = rest.split_once('.') {
                    let part = part.parse().map_err(|_| format!("token `{text}`"))?;
                    What::Suffix(Some(part), name.to_owned())
                } else {
                    return Err(format!("token `{text}`"));
                }
            }
        };
        Ok(Token { slot, what })
    }

    fn names(&self, mods: &mut BTreeSet<String>, symbols: &mut BTreeSet<String>) {
        match &self.what {
            What::Mod(name) | What::Suffix(_, name) => mods.insert(name.clone()),
            What::Symbol(name) => symbols.insert(name.clone()),
            What::Negate | What::Absolute | What::Invert => false,
        };
    }

    fn rust(&self) -> String {
        let slot = self.slot.map_or("SELF".to_owned(), |slot| slot.to_string());
        match &self.what {
            What::Mod(name) => format!("M({})", identifier(name)),
            What::Negate => format!("Token::Negate({slot})"),
            What::Absolute => format!("Token::Absolute({slot})"),
            What::Invert => format!("Token::Invert({slot})"),
            What::Suffix(None, name) => format!("Suffix({slot},End,Mod::{})", identifier(name)),
            What::Suffix(Some(part), name) => {
                format!("Suffix({slot},Part({part}),Mod::{})", identifier(name))
            }
            What::Symbol(name) => format!("N({slot},{})", identifier(name)),
        }
    }
}

fn parse(text: &str) -> Result<Tables, String> {
    let mut tables = Tables { choices: BTreeMap::new(), orders: BTreeMap::new(), forms: Vec::new() };
    for (index, line) in text.lines().enumerate() {
        parse_line(line, &mut tables).map_err(|error| format!("line {}: {error}", index + 1))?;
    }
    Ok(tables)
}

fn parse_line(line: &str, tables: &mut Tables) -> Result<(), String> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    if let Some(rest) = line.strip_prefix("  ") {
        let form = tables.forms.last_mut().ok_or("a row before the first form")?;
        return parse_row(rest, form);
    }
    let mut words = line.split_whitespace();
    match words.next() {
        Some("table") => {
            let name = words.next().ok_or("a table needs a name")?;
            let mut rows = Vec::new();
            for word in line.splitn(3, ' ').nth(2).unwrap_or("").split(' ') {
                let (value, tokens) = word.split_once('=').ok_or("a row is VALUE=TOKENS")?;
                let tokens = tokens.split('+').filter(|token| !token.is_empty()).map(Token::parse);
                rows.push((number(value)? as u16, tokens.collect::<Result<_, _>>()?));
            }
            if tables.choices.insert(name.to_owned(), rows).is_some() {
                return Err(format!("table `{name}` is there twice"));
            }
        }
        Some("order") => {
            let op = words.next().ok_or("an order needs an opcode")?;
            tables.orders.insert(op.to_owned(), words.map(str::to_owned).collect());
        }
        Some("form") => {
            let op = words.next().ok_or("a form needs an opcode")?.to_owned();
            let opcode = words.next().ok_or("a form needs its opcode bits")?;
            let opcode = u16::from_str_radix(opcode, 16).map_err(|_| "opcode bits are hexadecimal")?;
            tables.forms.push(Form {
                op,
                opcode,
                uniform: words.next() == Some("uniform"),
                mask: 0xfff,
                value: opcode as u128,
                unused: 0,
                always: Vec::new(),
                slots: Vec::new(),
                sets: Vec::new(),
                reuse: [255; 3],
                write_barrier: true,
                read_barrier: true,
            });
        }
        _ => return Err("neither table, order nor form".to_owned()),
    }
    Ok(())
}

fn parse_row(row: &str, form: &mut Form) -> Result<(), String> {
    let (key, rest) = row.split_once(' ').unwrap_or((row, ""));
    match key {
        "word" => {
            let (mask, value) = rest.split_once(' ').ok_or("word needs a mask and a value")?;
            form.mask |= number(mask)?;
            form.value |= number(value)?;
        }
        "unused" => form.unused = number(rest)?,
        "always" => form.always = rest.split(' ').map(Token::parse).collect::<Result<_, _>>()?,
        "set" => {
            for set in rest.split("; ") {
                let words: Vec<&str> = set.split(' ').collect();
                let bits =
                    words[0].split(',').map(|bit| Ok(number(bit)? as u8)).collect::<Result<_, String>>()?;
                let slot = match words.get(2..) {
                    Some(["on", slot]) => Some(number(slot)? as u8),
                    Some([]) => None,
                    _ => return Err(format!("set `{set}`")),
                };
                form.sets.push(SetRow { bits, choice: words[1].to_owned(), slot });
            }
        }
        "reuse" => {
            for word in rest.split(' ') {
                let (bit, slot) = word.split_once('=').ok_or("reuse is BIT=OPERAND")?;
                form.reuse[number(bit)? as usize] = number(slot)? as u8;
            }
        }
        "no_barrier" => {
            for word in rest.split(' ') {
                match word {
                    "write" => form.write_barrier = false,
                    "read" => form.read_barrier = false,
                    _ => return Err(format!("barrier `{word}`")),
                }
            }
        }
        "def" | "use" | "mod" => {
            for slot in row.split("; ") {
                form.slots.push(parse_slot(slot)?);
            }
        }
        _ => return Err(format!("row `{key}`")),
    }
    Ok(())
}

fn parse_slot(text: &str) -> Result<Slot, String> {
    let mut words = text.split(' ');
    let access = match words.next() {
        Some("def") => "Def",
        Some("use") => "Use",
        Some("mod") => "DefUse",
        _ => return Err(format!("access of `{text}`")),
    };
    let kind = words.next().ok_or("a slot needs a kind")?.to_owned();
    let mut slot = Slot {
        access: access.to_owned(),
        kind,
        float: None,
        fields: Vec::new(),
        width: "one".to_owned(),
        signs: [255; 3],
    };
    for word in words {
        let first = word.as_bytes().first().copied().unwrap_or(b' ');
        match first {
            b'0'..=b'9' => {
                let (field, float) = parse_field(word, &slot.kind)?;
                slot.fields.push(field);
                slot.float = float.or(slot.float);
            }
            b'-' => slot.signs[0] = number(&word[1..])? as u8,
            b'|' => slot.signs[1] = number(&word[1..])? as u8,
            b'!' | b'~' => slot.signs[2] = number(&word[1..])? as u8,
            _ => slot.width = word.to_owned(),
        }
    }
    Ok(slot)
}

fn parse_field(word: &str, kind: &str) -> Result<(FieldRow, Option<String>), String> {
    let bad = || format!("field `{word}`");
    let (word_rest, elided) = match word.split_once('?') {
        Some((rest, "")) => (rest, "Neutral"),
        Some((rest, "0")) => (rest, if matches!(kind, "R" | "P") { "Neutral" } else { "Zero" }),
        Some((rest, "1")) => (rest, "Ones"),
        Some(_) => return Err(bad()),
        None => (word, "Never"),
    };
    let (rest, float) = match word_rest.split_once(':') {
        Some((rest, float)) => (rest, Some(float.to_owned())),
        None => (word_rest, None),
    };
    let (rest, scale) = match rest.split_once('*') {
        Some((rest, scale)) => (rest, number(scale)? as u8),
        None => (rest, 1),
    };
    let (rest, signed) = rest.strip_suffix('s').map_or((rest, false), |rest| (rest, true));
    let (rest, complement) = rest.strip_suffix('~').map_or((rest, false), |rest| (rest, true));
    let mut runs = [(0, 0); 2];
    let mut bias = 0;
    for (n, run) in rest.split(',').enumerate() {
        let mut numbers = run.split('+');
        let low = number(numbers.next().ok_or_else(bad)?)? as u8;
        let width = number(numbers.next().ok_or_else(bad)?)? as u8;
        if let Some(extra) = numbers.next() {
            bias = number(extra)? as u8;
        }
        *runs.get_mut(n).ok_or_else(bad)? = (low, width);
    }
    Ok((FieldRow { low: runs[0], high: runs[1], scale, bias, signed, complement, elided }, float))
}

fn number(text: &str) -> Result<u128, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

/// A name as a Rust identifier.
fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

struct NameKind {
    about: &'static str,
    doc: &'static str,
    name: &'static str,
}

const OP: NameKind = NameKind {
    about: "Opcode names of the machine, without bits.",
    doc: "A SASS mnemonic, without modifiers.",
    name: "Op",
};
const MOD: NameKind = NameKind {
    about: "Modifier tokens of the machine.",
    doc: "One dot-suffix of an opcode (`FTZ`, `E`, `X`) or of an operand (`H0_H0`, `X4`).",
    name: "Mod",
};
const SYMBOL: NameKind = NameKind {
    about: "Named operands of the machine (special registers and the like).",
    doc: "An operand that is a name: a special register, a texture shape, a thread-state field.",
    name: "Symbol",
};

/// The file of one enumeration of names.
fn names(kind: &NameKind, names: &BTreeSet<String>) -> String {
    let (name, count) = (kind.name, names.len());
    let mut out = format!("//! {} Generated by `cargo xtask codegen`; do not edit.\n\n", kind.about);
    let _ = write!(
        out,
        "/// {}\n#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]\n\
         #[allow(non_camel_case_types, missing_docs, clippy::upper_case_acronyms)]\n#[repr(u16)]\npub enum {name} {{\n",
        kind.doc
    );
    for each in names {
        let _ = writeln!(out, "    {},", identifier(each));
    }
    let _ = writeln!(out, "}}\n\nconst NAMES: [&str; {count}] = [");
    for each in names {
        let _ = writeln!(out, "    \"{each}\",");
    }
    let _ = writeln!(out, "];\n\nconst ALL: [{name}; {count}] = [");
    for each in names {
        let _ = writeln!(out, "    {name}::{},", identifier(each));
    }
    let _ = write!(
        out,
        "];\n\nimpl {name} {{\n    /// The spelling NVIDIA's disassembler uses.\n    \
         pub fn name(self) -> &'static str {{\n        NAMES[self as usize]\n    }}\n\n    \
         /// The value with this spelling.\n    pub fn from_name(name: &str) -> Option<{name}> {{\n        \
         // The table is sorted by spelling, so that a lookup is a binary search.\n        \
         NAMES.binary_search(&name).ok().map(|index| ALL[index])\n    }}\n\n    \
         /// Every value, in the order of spelling.\n    pub fn all() -> &'static [{name}] {{\n        &ALL\n    }}\n}}\n"
    );
    out
}

/// The file of one chip's table.
fn table(tables: &Tables, ops: &BTreeSet<String>) -> Result<String, String> {
    let mut out = String::from(
        "//! The forms of sm_90 as static data. Generated by `cargo xtask codegen` from `tables/sm_90.forms`; do not edit.\n\n\
         #![cfg_attr(rustfmt, rustfmt_skip)]\n\
         #![allow(clippy::unreadable_literal)]\n\n\
         use super::Access::*;\nuse super::Elided::*;\nuse super::Place::*;\nuse super::SlotKind as K;\n\
         use super::Token::Suffix;\nuse super::{Field, FloatKind, Form, Row, SELF, Set, Slot, Table, Token, Width as W};\n\
         use super::{field, row, set, slot};\nuse crate::{Mod, Op, Symbol};\n\n\
         const fn m(name: Mod) -> Token { Token::Mod(name) }\n\
         const fn n(slot: u8, name: Symbol) -> Token { Token::Symbol(slot, name) }\n\n",
    );
    let spell = |token: &Token| {
        let text = token.rust();
        match &token.what {
            What::Mod(name) => format!("m(Mod::{})", identifier(name)),
            What::Symbol(name) => {
                format!(
                    "n({},Symbol::{})",
                    token.slot.map_or("SELF".into(), |s| s.to_string()),
                    identifier(name)
                )
            }
            _ => text,
        }
    };
    let list = |tokens: &[Token]| tokens.iter().map(spell).collect::<Vec<_>>().join(",");
    let mut choice_number = BTreeMap::new();
    for (number, (name, rows)) in tables.choices.iter().enumerate() {
        choice_number.insert(name.clone(), number);
        let rows: Vec<String> =
            rows.iter().map(|(value, tokens)| format!("row({value},&[{}])", list(tokens))).collect();
        let _ = writeln!(out, "const T{number}: &[Row] = &[{}];", rows.join(","));
    }
    let mut pool = Pool::default();
    let mut forms = String::new();
    let mut sorted: Vec<&Form> = tables.forms.iter().collect();
    sorted.sort_by(|a, b| a.op.cmp(&b.op));
    let mut by_opcode: Vec<(u16, u32, u16)> = Vec::new();
    let mut ranges: BTreeMap<&str, (u16, u16)> = ops.iter().map(|op| (op.as_str(), (0, 0))).collect();
    for (index, form) in sorted.iter().enumerate() {
        let index = index as u16;
        let range = ranges.get_mut(form.op.as_str()).ok_or("an opcode without a name")?;
        *range = if range.1 == 0 { (index, index + 1) } else { (range.0, index + 1) };
        by_opcode.push((form.opcode, u32::MAX - form.mask.count_ones(), index));
        let mut used = form.mask | 0xf000;
        let mut slots = Vec::new();
        for slot in &form.slots {
            for field in &slot.fields {
                used |= run_mask(field.low) | run_mask(field.high);
            }
            for bit in slot.signs {
                if bit != 255 {
                    used |= 1 << bit;
                }
            }
            slots.push(pool.slot(slot)?);
        }
        let mut sets = Vec::new();
        for row in &form.sets {
            for &bit in &row.bits {
                used |= 1 << bit;
            }
            let choice =
                choice_number.get(&row.choice).ok_or_else(|| format!("no table `{}`", row.choice))?;
            let slot = row.slot.map_or("SELF".to_owned(), |slot| slot.to_string());
            sets.push(pool.add('G', "Set", format!("set(&{:?},{slot},T{choice})", row.bits)));
        }
        let unused = ((1u128 << 105) - 1) & !used;
        if form.unused & !unused != 0 {
            return Err(format!("form {} {:03x}: `unused` names used bits", form.op, form.opcode));
        }
        let _ = writeln!(
            forms,
            "    Form {{ op: Op::{}, uniform_guard: {}, mask: {:#x}, value: {:#x}, unused: {:#x}, unused_value: {:#x}, \
             always: &[{}], slots: &[{}], sets: &[{}], reuse: {:?}, write_barrier: {}, read_barrier: {} }},",
            identifier(&form.op),
            form.uniform,
            form.mask,
            form.value,
            unused,
            form.unused,
            list(&form.always),
            slots.join(","),
            sets.join(","),
            form.reuse,
            form.write_barrier,
            form.read_barrier
        );
    }
    out.push('\n');
    out.push_str(&pool.text);
    let _ = write!(out, "\nstatic FORMS: [Form; {}] = [\n{forms}];\n\n", sorted.len());
    by_opcode.sort();
    let mut opcodes: Vec<(u16, u16, u16)> = Vec::new();
    for (at, &(opcode, _, _)) in by_opcode.iter().enumerate() {
        match opcodes.last_mut() {
            Some(last) if last.0 == opcode => last.2 = at as u16 + 1,
            _ => opcodes.push((opcode, at as u16, at as u16 + 1)),
        }
    }
    let order: Vec<u16> = by_opcode.iter().map(|row| row.2).collect();
    let _ = writeln!(out, "static OPCODES: [(u16, u16, u16); {}] = {opcodes:?};\n", opcodes.len());
    let _ = writeln!(out, "static BY_OPCODE: [u16; {}] = {order:?};\n", order.len());
    let ranges: Vec<(u16, u16)> = ranges.into_values().collect();
    let _ = writeln!(out, "static OPS: [(u16, u16); {}] = {ranges:?};\n", ranges.len());
    let _ = writeln!(out, "static ORDERS: [&[Mod]; {}] = [", ops.len());
    for op in ops {
        let order = tables.orders.get(op).map(Vec::as_slice).unwrap_or_default();
        let order: Vec<String> = order.iter().map(|name| format!("Mod::{}", identifier(name))).collect();
        let _ = writeln!(out, "    &[{}],", order.join(","));
    }
    out.push_str("];\n\npub(super) static TABLE: Table =\n    Table { forms: &FORMS, opcodes: &OPCODES, by_opcode: &BY_OPCODE, ops: &OPS, orders: &ORDERS };\n");
    Ok(out)
}

fn run_mask((low, width): (u8, u8)) -> u128 {
    ((1u128 << width) - 1) << low
}

/// Constants that several forms share, each written once.
#[derive(Default)]
struct Pool {
    known: BTreeMap<String, String>,
    text: String,
}

impl Pool {
    fn add(&mut self, letter: char, kind: &str, value: String) -> String {
        if let Some(name) = self.known.get(&value) {
            return name.clone();
        }
        let name = format!("{letter}{}", self.known.len());
        let _ = writeln!(self.text, "const {name}: {kind} = {value};");
        self.known.insert(value, name.clone());
        name
    }

    fn slot(&mut self, slot: &Slot) -> Result<String, String> {
        let mut fields = Vec::new();
        for f in &slot.fields {
            let value = format!(
                "field({:?},{:?},{},{},{},{},{})",
                f.low, f.high, f.scale, f.bias, f.signed, f.complement, f.elided
            );
            fields.push(self.add('F', "Field", value));
        }
        let width = match slot.width.as_str() {
            "one" => "One",
            "two" => "Two",
            "four" => "Four",
            "size" => "Size",
            "wide" => "Wide",
            "long" => "Long",
            "float64" => "Float64",
            "from_float64" => "FromFloat64",
            "integer64" => "Integer64",
            "count" => "Count",
            "pair_unless_32" => "PairUnless32",
            "matrix_a" => "MatrixA",
            "matrix_b" => "MatrixB",
            "matrix_c" => "MatrixC",
            "matrix_d" => "MatrixD",
            "group_d" => "GroupD",
            "address" => "Address",
            "bulk" => "Bulk",
            "tensor" => "Tensor",
            "unknown" => "Unknown",
            other => return Err(format!("width `{other}`")),
        };
        let kind = slot_kind(slot)?;
        let value =
            format!("slot({},{kind},&[{}],W::{width},{:?})", slot.access, fields.join(","), slot.signs);
        Ok(self.add('S', "Slot", value))
    }
}

fn slot_kind(slot: &Slot) -> Result<String, String> {
    let plain = match slot.kind.as_str() {
        "R" => "Reg",
        "UR" => "UReg",
        "P" => "Pred",
        "UP" => "UPred",
        "B" => "Barrier",
        "SB" => "Scoreboard",
        "I" => "Imm",
        "T" => "Target",
        "$" => "Symbol",
        "{}" => "ScoreboardSet",
        "c[I][I]" => "Const",
        "c[I][R+I]" => "ConstIndexed",
        "c[I][UR+I]" => "ConstUniformIndexed",
        "cx[UR][I]" => "ConstBindless",
        "cx[UR][R+I]" => "ConstBindlessIndexed",
        "gdesc[UR]" => "MatrixDescriptor",
        "F" => {
            let kind = match slot.float.as_deref() {
                Some("f32") => "F32",
                Some("f64hi") => "F64High",
                Some("f16") => "F16",
                Some("bf16") => "Bf16",
                other => return Err(format!("float kind {other:?}")),
            };
            return Ok(format!("K::Float(FloatKind::{kind})"));
        }
        _ => "",
    };
    if !plain.is_empty() {
        return Ok(format!("K::{plain}"));
    }
    if let Some(name) = slot.kind.strip_prefix('$') {
        return Ok(format!("K::FixedSymbol(Symbol::{})", identifier(name)));
    }
    let (descriptor, rest) = match slot.kind.strip_prefix("desc[UR]") {
        Some(rest) => (true, rest),
        None => (false, slot.kind.as_str()),
    };
    let (attribute, inner) = match rest.strip_prefix("a[") {
        Some(inner) => (true, inner),
        None => (false, rest.strip_prefix('[').unwrap_or("]")),
    };
    let inner = inner.strip_suffix(']').ok_or_else(|| format!("slot `{}`", slot.kind))?;
    let mut parts = [false; 3];
    for part in inner.split('+').filter(|part| !part.is_empty()) {
        match part {
            "R" => parts[0] = true,
            "UR" => parts[1] = true,
            "I" => parts[2] = true,
            _ => return Err(format!("slot `{}`", slot.kind)),
        }
    }
    let [base, uniform, offset] = parts;
    Ok(if attribute {
        format!("K::Attribute {{ base: {base}, uniform: {uniform}, offset: {offset} }}")
    } else {
        format!(
            "K::Memory {{ descriptor: {descriptor}, base: {base}, uniform: {uniform}, offset: {offset} }}"
        )
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_current() {
        if let Err(message) = super::run(&["--check".to_owned()]) {
            panic!("{message}");
        }
    }
}
