//! Reads the tables of the PTX language (`crates/ptx/tables`) and generates from them the enum of words and the enums
//! of modifier positions, the static rows of `crates/ptx`, and the reference pages under `docs/ptx/`.
//!
//! Words, rows, pages and checks cannot disagree: a form is a line of text, and everything else derives from it.
//! `docs/how-to/add-a-ptx-instruction.md` explains the format of a line. The lowering of a form must not enter.

mod pages;
mod read;
mod rows;
mod words;

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

impl Slot {
    /// The words of the slot, types and spaces included.
    fn words(&self) -> &[String] {
        match self {
            Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => words,
        }
    }
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
    f32x2 u16x2 s16x2 u8x4 s8x4 e4m3x2 e5m2x2 b1 u2 s2 u4 s4 e2m1 e2m3 e3m2 e2m1x2 e2m3x2 e3m2x2 s2f6x2 ue8m0 ue8m0x2 ue4m3 \
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
    let positions = words::read(root)?;
    let families = read::families(root)?;
    words::check(&families, &positions)?;
    let mut files = vec![
        ("crates/ptx/src/word/names.rs".to_owned(), words::names(&families)?),
        ("crates/ptx/src/word/positions.rs".to_owned(), words::positions(&positions)),
        ("crates/ptx/src/table/rows.rs".to_owned(), rows::rust(&families)?),
    ];
    for family in &families {
        files.push((format!("docs/ptx/{}.md", family.file), pages::page(family)));
    }
    files.push(("docs/ptx/README.md".to_owned(), pages::index(&families)));
    files.push(("docs/ptx/missing.md".to_owned(), pages::missing(&families)));
    Ok(files)
}
