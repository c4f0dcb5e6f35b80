//! Fragments and what a multiply needs to know of them: the types of this family, reads, writes, and the one instruction.

use crate::context::{Lower, Lowered};
use crate::source::Words;
use crate::{LowerError, arithmetic};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{Source, Value};
use oriole_ptx::{MatrixShape, Type};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// The words of a fragment, lowest register first.
pub(super) type Fragment = SmallVec<[Source; 8]>;

/// Sparsity metadata: the elements that the left factor has.
#[derive(Clone)]
pub(super) struct Metadata {
    /// The word of indices.
    pub word: Source,
    /// Selects the lanes whose metadata counts.
    pub selector: u8,
}

/// A PTX matrix multiply with its operands in registers.
#[derive(Clone)]
pub(super) struct Product {
    pub shape: MatrixShape,
    /// Types of `d`, `a`, `b`.
    pub types: [Type; 3],
    pub a: Fragment,
    pub b: Fragment,
    pub c: Fragment,
    pub d: Words,
    /// For a sparse multiply.
    pub metadata: Option<Metadata>,
}

/// The part of a multiply that its lowering leaves to do.
pub(super) enum Remainder {
    /// Nothing: the instructions are emitted.
    Nothing,
    /// A multiply that the chip lacks, to be done for each half of its depth.
    Depth(Product),
    /// A multiply that the chip lacks, to be done for each half of its rows.
    Rows(Product),
}

/// The words of a fragment that is read.
pub(crate) fn fragment(
    cx: &mut Lower<'_>,
    i: &Instruction,
    index: usize,
    word: Type,
) -> Result<Fragment, LowerError> {
    let mut words = Fragment::new();
    for component in cx.operand(i, index)?.components() {
        words.extend(cx.words(component, word)?);
    }
    Ok(words)
}

/// The last two operands of a sparse multiply.
pub(super) fn metadata(cx: &mut Lower<'_>, i: &Instruction) -> Result<Metadata, LowerError> {
    let word = cx.word(cx.operand(i, 4)?, Type::B32)?;
    let Operand::Immediate(Immediate::Integer(selector)) = *cx.operand(i, 5)? else {
        return Err(cx.unsupported_form(i));
    };
    Ok(Metadata { word: cx.in_register(word), selector: selector as u8 })
}

/// One SASS instruction: the fragments unchanged.
pub(super) fn emit_product(
    cx: &mut Lower<'_>,
    op: Op,
    mods: &[Mod],
    d: &[Value],
    [a, b, c]: [Source; 3],
    metadata: Option<Metadata>,
) {
    let draft = cx.b.op(op).mods(mods).to_tuple(d.iter().copied()).from(a).from(b).from(c);
    match metadata {
        None => draft.emit(),
        Some(Metadata { word, selector }) => {
            draft.m(Mod::SP).from(word).from(Source::literal(selector.into())).emit();
        }
    }
}

/// The operands of an MMA whose modifiers name the layouts of its factors.
pub(super) fn factors(a: Source, b: Source, c: Source) -> [Source; 3] {
    [a.suffixed(Mod::ROW), b.suffixed(Mod::COL), c]
}

/// Writes the words of the result.
pub(super) fn write_words(cx: &mut Lower<'_>, i: &Instruction, d: &Words) -> Lowered {
    let elements = cx.elements(cx.operand(i, 0)?);
    let parts = d.iter().map(|&v| [Source::value(v)].into_iter().collect()).collect();
    cx.write_all(&elements, Type::B32, parts)
}

/// Widens 16-bit floats, two in a word, to f32.
pub(super) fn singles(cx: &mut Lower<'_>, words: Fragment) -> Fragment {
    let mut singles = Fragment::new();
    for word in words {
        let word = cx.in_register(word);
        for half in [Mod::H0_H0, Mod::H1_H1] {
            let d = cx.b.r();
            let half = word.clone().suffixed(half);
            cx.op(Op::HADD2, &[Mod::F32], d, [Source::rz().negated(), half]);
            singles.push(d.into());
        }
    }
    singles
}

/// Narrows f32 values to f16, two in a word.
pub(super) fn packed_halves(cx: &mut Lower<'_>, words: &Words) -> Words {
    words.chunks(2).map(|pair| arithmetic::halves_of(cx, pair[1].into(), pair[0].into())).collect()
}
