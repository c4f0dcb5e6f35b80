//! The fields of an instruction descriptor in tensor memory (PTX ISA, "Instruction descriptor"), which depend on its
//! kind.

use super::{Field, Fixed, Meaning};
use oriole_ptx::Word;

/// Kinds of MMAs whose instruction descriptors have fields of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ProductKind {
    F16,
    Tf32,
    F8F6F4,
    I8,
    Mxf8f6f4,
    Mxf4,
}

const TRUTH: Meaning = Meaning::Names(&["no", "yes"]);

/// The fields where blocks are not scaled.
const fn plain(types: &'static [&'static str], sums: &'static [&'static str]) -> [Field; 13] {
    [
        ("sparsity selector", 0, 2, Meaning::Number),
        ("sparse", 2, 1, TRUTH),
        ("saturated", 3, 1, TRUTH),
        ("type of d", 4, 2, Meaning::Names(sums)),
        ("type of a", 7, 3, Meaning::Names(types)),
        ("type of b", 10, 3, Meaning::Names(types)),
        ("a negated", 13, 1, TRUTH),
        ("b negated", 14, 1, TRUTH),
        ("a transposed", 15, 1, TRUTH),
        ("b transposed", 16, 1, TRUTH),
        ("columns", 17, 6, Meaning::Times(8)),
        ("rows", 24, 5, Meaning::Times(16)),
        ("greatest shift", 30, 2, Meaning::Names(&["none", "8", "16", "32"])),
    ]
}

/// The fields where they are.
const fn scaled(types: &'static [&'static str], scales: &'static [&'static str]) -> [Field; 11] {
    [
        ("sparse", 2, 1, TRUTH),
        ("scales of b", 4, 2, Meaning::Number),
        ("type of a", 7, 3, Meaning::Names(types)),
        ("type of b", 10, 3, Meaning::Names(types)),
        ("a negated", 13, 1, TRUTH),
        ("b negated", 14, 1, TRUTH),
        ("a transposed", 15, 1, TRUTH),
        ("b transposed", 16, 1, TRUTH),
        ("columns", 17, 6, Meaning::Times(8)),
        ("type of scales", 23, 1, Meaning::Names(scales)),
        ("rows", 27, 2, Meaning::Times(128)),
    ]
}

const NARROW: &[&str] = &["e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"];

static OF_F16: [Field; 13] = plain(&["f16", "bf16"], &["f16", "f32"]);
static OF_TF32: [Field; 13] = plain(&["", "", "tf32"], &["", "f32"]);
static OF_F8F6F4: [Field; 13] = plain(NARROW, &["f16", "f32"]);
static OF_I8: [Field; 13] = plain(&["u8", "s8"], &["", "", "s32"]);
static OF_MXF8F6F4: [Field; 11] = scaled(NARROW, &["", "ue8m0"]);
static OF_MXF4: [Field; 11] = scaled(&["", "e2m1"], &["ue4m3", "ue8m0"]);

impl ProductKind {
    pub(super) fn of(modifiers: &oriole_ptx::Modifiers) -> Option<ProductKind> {
        use ProductKind::*;
        let rows = [
            (Word::KindF16, F16),
            (Word::KindTf32, Tf32),
            (Word::KindF8f6f4, F8F6F4),
            (Word::KindI8, I8),
            (Word::KindMxf8f6f4, Mxf8f6f4),
            (Word::KindMxf4, Mxf4),
            (Word::KindMxf4nvf4, Mxf4),
        ];
        rows.into_iter().find(|row| modifiers.has(row.0)).map(|row| row.1)
    }

    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            ProductKind::F16 => &OF_F16,
            ProductKind::Tf32 => &OF_TF32,
            ProductKind::F8F6F4 => &OF_F8F6F4,
            ProductKind::I8 => &OF_I8,
            ProductKind::Mxf8f6f4 => &OF_MXF8F6F4,
            ProductKind::Mxf4 => &OF_MXF4,
        }
    }

    /// Bits that belong to no field.
    pub(super) fn fixed(self) -> &'static [Fixed] {
        match self {
            ProductKind::Mxf8f6f4 => &[(0, 2, 0), (3, 1, 0), (6, 1, 0), (24, 3, 0), (31, 1, 0)],
            ProductKind::Mxf4 => &[(0, 2, 0), (3, 1, 0), (6, 1, 0), (24, 3, 0)],
            _ => &[(6, 1, 0), (23, 1, 0), (29, 1, 0)],
        }
    }
}
