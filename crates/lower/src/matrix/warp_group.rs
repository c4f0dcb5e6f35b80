//! Matrix multiplies by four warps together: `wgmma`.
//!
//! They are asynchronous. The hardware takes descriptors of shared-memory operands in uniform registers, that of the
//! left factor below that of the right one, and accumulates into the registers that it reads. The last MMA of a group
//! marks its end; closing a group needs no other instruction.

use super::fragment;
use crate::context::{Lower, Lowered};
use crate::{LowerError, memory};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{Destination, File, MemoryInfo, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_ptx::{MatrixShape, Space, Type, Word};
use oriole_sass::{Class, Mod, Op, Symbol};
use smallvec::SmallVec;

/// Most groups that a wait can leave in flight.
const MOST_GROUPS: i64 = 7;

/// The immediate operands of an MMA, in PTX order.
#[derive(Default)]
struct Signs {
    negates: [bool; 2],
    transposes: [bool; 2],
}

/// `wgmma` in all its forms.
pub(crate) fn wgmma(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if !cx.has(Op::HGMMA) {
        return Err(cx.unsupported_form(i));
    }
    let behind = cx.begin_region();
    let has = |word| i.modifiers.has(word);
    if has(Word::Fence) {
        cx.b.op(Op::WARPGROUP).m(Mod::ARRIVE).memory(MemoryInfo::EVERYTHING).emit();
    } else if has(Word::CommitGroup) {
        close_group(cx);
    } else if has(Word::WaitGroup) {
        let Operand::Immediate(Immediate::Integer(left)) = *cx.operand(i, 0)? else {
            return Err(cx.unsupported_form(i));
        };
        wait_for_products(cx, left);
    } else {
        multiply_by_warp_group(cx, i)?;
    }
    cx.end_region(behind);
    Ok(())
}

/// Waits until at most `left` of the youngest groups are in flight.
fn wait_for_products(cx: &mut Lower<'_>, left: i64) {
    cx.b.op(Op::WARPGROUP)
        .mods(&[Mod::DEPBAR, Mod::LE])
        .from(group_counter())
        .from(Source::literal(left.clamp(0, MOST_GROUPS)))
        .memory(MemoryInfo::EVERYTHING)
        .emit();
}

/// Closes the group of all MMAs since the last close: marks the last of them, or, if it is not in this block, an
/// MMA without effect.
fn close_group(cx: &mut Lower<'_>) {
    let block = cx.b.block();
    let instructions = &mut cx.b.function_mut().block_mut(block).instructions;
    let last =
        instructions.iter_mut().rev().find(|instruction| is_product(instruction) || is_wait(instruction));
    if let Some(product) = last.filter(|product| is_product(product) && !closes_group(product)) {
        product.sources.push(group_counter());
        return;
    }
    cx.b.op(Op::HGMMA)
        .mods(&[Mod::_64x8x16, Mod::F16])
        .destination(Destination::dropped(File::R, 2))
        .from(Source::plain(SourceKind::Zero(File::UR)))
        .from(Source::rz())
        .from(Source::plain(SourceKind::True(File::UP)).inverted())
        .from(group_counter())
        .memory(memory::memory_info(Space::Shared, true, false, false))
        .emit();
}

fn multiply_by_warp_group(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (Some(shape), &[to, left, right]) = (i.modifiers.matrix_shape(), &i.types[..]) else {
        return Err(cx.unsupported_form(i));
    };
    let sparse = i.modifiers.has(Word::Sp);
    let (op, mods) = machine_product(i, shape, [to, left, right]).ok_or_else(|| cx.unsupported_form(i))?;
    let elements = cx.elements(cx.operand(i, 0)?);
    let old = fragment::fragment(cx, i, 0, Type::B32)?;
    let direct = cx.direct_words(&elements, Type::B32);
    let d = direct.clone().unwrap_or_else(|| old.iter().map(|_| cx.b.r()).collect());
    let in_registers = matches!(cx.operand(i, 1)?, Operand::Vector(_));
    let scale_at = if sparse { 5 } else { 3 };
    let signs = signs(cx, i, scale_at + 1, in_registers)?;
    let scale = uniform_predicate(cx, cx.operand(i, scale_at)?)?;
    let c = if is_never(&scale) { Source::rz() } else { cx.tuple(old) };
    let mut sources: SmallVec<[Source; 7]> = SmallVec::new();
    let mut lower: Option<[Value; 2]> = None;
    if in_registers {
        let a = fragment::fragment(cx, i, 1, Type::B32)?;
        let a = tuple_in_registers(cx, a);
        sources.push(if signs.negates[0] { a.negated() } else { a });
    } else {
        lower = Some(descriptor_words(cx, i, 1)?);
    }
    let upper = descriptor_words(cx, i, 2)?;
    sources.push(factors(cx, lower, upper, &signs));
    sources.push(c);
    sources.push(scale);
    if sparse {
        let selected = cx.word(cx.operand(i, 3)?, Type::B32)?;
        sources.push(cx.in_register(selected));
        let Operand::Immediate(Immediate::Integer(selector)) = *cx.operand(i, 4)? else {
            return Err(cx.unsupported_form(i));
        };
        sources.push(Source::literal(selector));
    }
    let memory = memory::memory_info(Space::Shared, true, false, false);
    cx.b.op(op).mods(&mods).to_tuple(d.iter().copied()).from_all(sources).memory(memory).emit();
    if direct.is_none() {
        let parts = d.iter().map(|&v| SmallVec::from_iter([Source::value(v)])).collect();
        cx.write_all(&elements, Type::B32, parts)?;
    }
    Ok(())
}

/// Immediate operands after the predicate: both signs, then the transpose flags.
fn signs(cx: &Lower<'_>, i: &Instruction, first: usize, in_registers: bool) -> Result<Signs, LowerError> {
    let number = |index: usize| match i.operands.get(index) {
        None => Ok(None),
        Some(Operand::Immediate(Immediate::Integer(number))) => Ok(Some(*number)),
        Some(_) => Err(cx.unsupported_form(i)),
    };
    let mut signs = Signs::default();
    for (at, negates) in signs.negates.iter_mut().enumerate() {
        *negates = number(first + at)? == Some(-1);
    }
    // A factor in registers has one layout only.
    let transposable = usize::from(in_registers)..2;
    for (at, transposes) in signs.transposes[transposable].iter_mut().enumerate() {
        *transposes = number(first + 2 + at)? == Some(1);
    }
    Ok(signs)
}

/// The words of a fragment in registers, zeros included: the operand has no other form.
fn tuple_in_registers(cx: &mut Lower<'_>, words: impl IntoIterator<Item = Source>) -> Source {
    let values: Vec<Value> = words.into_iter().map(|word| cx.value_of(word)).collect();
    Source::values(values)
}

/// A descriptor in uniform registers.
fn descriptor_words(cx: &mut Lower<'_>, i: &Instruction, index: usize) -> Result<[Value; 2], LowerError> {
    let words = cx.words(cx.operand(i, index)?, Type::U64)?;
    let [low, high] = [cx.b.temporary(File::UR), cx.b.temporary(File::UR)];
    for (d, word) in [low, high].into_iter().zip(words) {
        cx.b.mov(d, word);
    }
    Ok([low, high])
}

/// The operand of both descriptors: that of the right factor is the upper one, even without a left one.
fn factors(cx: &mut Lower<'_>, lower: Option<[Value; 2]>, upper: [Value; 2], signs: &Signs) -> Source {
    let alone = lower.is_none();
    let lower = lower.unwrap_or_else(|| {
        [(); 2].map(|()| {
            let nothing = cx.b.temporary(File::UR);
            cx.b.op(Pseudo::Undefined).to(nothing).emit();
            nothing
        })
    });
    let mut source = Source::values(lower.into_iter().chain(upper));
    let suffixes = [
        (signs.negates[0] && !alone, Mod::negA),
        (signs.negates[1], Mod::negB),
        (signs.transposes[0], Mod::tnspA),
        (signs.transposes[1], Mod::tnspB),
    ];
    for (_, suffix) in suffixes.into_iter().filter(|(wanted, _)| *wanted) {
        source = source.suffixed(suffix);
    }
    source
}

/// A warp-uniform predicate, where the hardware requires it.
fn uniform_predicate(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    let predicate = cx.predicate(operand)?;
    Ok(uniform_truth(cx, predicate))
}

/// The predicate in the uniform file.
pub(crate) fn uniform_truth(cx: &mut Lower<'_>, predicate: Source) -> Source {
    if matches!(predicate.kind, SourceKind::True(_)) {
        return Source { kind: SourceKind::True(File::UP), ..predicate };
    }
    let d = cx.b.temporary(File::UP);
    cx.b.op(Op::VOTEU).m(Mod::ANY).to(d).from(predicate).emit();
    Source::value(d)
}

/// The counter of groups in flight.
fn group_counter() -> Source {
    Source::plain(SourceKind::Symbol(Symbol::gsb0))
}

fn closes_group(instruction: &oriole_ori::Instruction) -> bool {
    instruction.sources.last() == Some(&group_counter())
}

fn is_never(predicate: &Source) -> bool {
    matches!(predicate.kind, SourceKind::True(_)) && predicate.invert
}

fn is_product(instruction: &oriole_ori::Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(op) if op.info().class(&instruction.mods) == Class::Group)
}

fn is_wait(instruction: &oriole_ori::Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::WARPGROUP) && instruction.mods.has(Mod::DEPBAR)
}

/// Opcode and modifiers of an MMA; `None` if there is no such instruction.
fn machine_product(
    i: &Instruction,
    shape: MatrixShape,
    [to, left, right]: [Type; 3],
) -> Option<(Op, SmallVec<[Mod; 5]>)> {
    let size = Mod::from_name(&format!("{}x{}x{}", shape.rows, shape.columns, shape.depth))?;
    let sum = match to {
        Type::F16 => Some(Mod::F16),
        Type::F32 => Some(Mod::F32),
        _ => None,
    };
    let (op, factors) = match left {
        Type::F16 => (Op::HGMMA, [None, None]),
        Type::BF16 => (Op::HGMMA, [Some(Mod::BF16), None]),
        Type::TF32 => (Op::HGMMA, [Some(Mod::TF32), None]),
        Type::E4M3 | Type::E5M2 => {
            let a = if left == Type::E4M3 { Mod::E4M3 } else { Mod::E5M2 };
            let b = if right == Type::E4M3 { Mod::E4M3_2 } else { Mod::E5M2_2 };
            (Op::QGMMA, [Some(a), Some(b)])
        }
        Type::S8 | Type::U8 => {
            let a = if left == Type::S8 { Mod::S8 } else { Mod::U8 };
            let b = if right == Type::S8 { Mod::S8_2 } else { Mod::U8_2 };
            (Op::IGMMA, [Some(a), Some(b)])
        }
        Type::B1 => (Op::BGMMA, [Some(Mod::AND), Some(Mod::POPC)]),
        _ => return None,
    };
    let sparse = i.modifiers.has(Word::Sp).then_some(Mod::SP);
    let saturates = i.modifiers.has(Word::Satfinite).then_some(Mod::SAT);
    let mods = [Some(size), sparse, sum, factors[0], factors[1], saturates];
    Some((op, mods.into_iter().flatten().collect()))
}
