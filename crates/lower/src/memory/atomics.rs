//! Atomic operations and reductions on global, shared and generic memory: their operands, their ordering, and their
//! results. How one is done is in `atomic_instruction` and `atomic_loops`.

use super::access::scope_mod;
use super::atomic_instruction::{self, Atomic, operation_mod, packed_type};
use super::{atomic_loops, cache, place};
use crate::context::{Lower, Lowered};
use crate::source::Words;
use crate::{LowerError, threads};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::word::Semantics;
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::Mod;

/// `atom`, `red`, and `multimem.red`, which differs by the address and by its default scope.
pub(crate) fn atomic(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (ty, vector) = packed_type(cx.ty(i, 0)?, i.vector);
    let Some(operation) = i.modifiers.at().map(operation_mod) else {
        return Err(cx.unsupported_form(i));
    };
    let is_atom = i.opcode == Opcode::Atom;
    let first = usize::from(is_atom);
    let (release, acquire) = match i.modifiers.at() {
        Some(Semantics::AcqRel) => (true, true),
        Some(Semantics::Acquire) => (false, true),
        Some(Semantics::Release) => (true, false),
        Some(Semantics::Relaxed) | None => (false, false),
        Some(Semantics::Weak | Semantics::Sc | Semantics::Volatile) => {
            return Err(cx.unsupported_form(i));
        }
    };
    let copies = i.opcode == Opcode::Multimem;
    let (scope, fence) =
        scope_mod(i).unwrap_or(if copies { (Mod::SYS, Mod::SYS) } else { (Mod::GPU, Mod::GPU) });
    let mut place = place::place_of(cx, cx.operand(i, first)?, i.space.unwrap_or(Space::Generic))?;
    place = place::cluster_to_generic(cx, place);
    let is_global = copies || i.vector > 1 || i.modifiers.has(Word::Async);
    if is_global && place.space == Space::Generic {
        // Vectors, copies and asynchronous operations are in global memory only, where both addresses are equal.
        place.space = Space::Global;
    }
    let b = atomic_words(cx, cx.operand(i, first + 1)?, ty)?;
    let c =
        if operation == Mod::CAS { atomic_words(cx, cx.operand(i, first + 2)?, ty)? } else { Words::new() };
    let policy = cache::policy(cx, i)?;
    // An acquire waits for the old value, even if it is unread.
    let reduction = !is_atom || !acquire && operation != Mod::CAS && is_unread(cx, i)?;
    let counts = cx.chip.counts_in_shared_memory()
        && operation == Mod::ADD
        && matches!(ty, Type::U32 | Type::B32)
        && matches!(cx.operand(i, first + 1)?, Operand::Immediate(Immediate::Integer(1)));
    let keeps_subnormals = i.modifiers.has(Word::Noftz);
    let atomic = Atomic { operation, ty, vector, scope, b, c, reduction, counts, policy, keeps_subnormals };
    let simple = match place.space {
        Space::Global => !atomic.narrow(),
        Space::Shared => atomic.in_shared(),
        Space::Generic => !atomic.narrow() && atomic.in_shared() && atomic.bytes() == 4,
        _ => false,
    };
    if simple {
        if release {
            threads::fence(cx, fence, false, false);
        }
        let old = atomic_instruction::single(cx, &atomic, &place, |cx| {
            match atomic_destination(cx, i, ty, vector)? {
                Some(words) => Ok(words),
                None => Ok((0..atomic.bytes() / 4).map(|_| cx.b.r()).collect()),
            }
        })?;
        if acquire && fence != Mod::CTA && place.space != Space::Shared {
            threads::invalidate(cx);
        }
        return write_atomic(cx, i, ty, vector, old);
    }
    let behind = cx.begin_region();
    if release {
        threads::fence(cx, fence, false, false);
    }
    let old = match place.space {
        Space::Global | Space::Shared => atomic_loops::looped(cx, &atomic, &place)?,
        Space::Generic => atomic_loops::by_space(cx, &atomic, place)?,
        other => {
            return Err(cx.unsupported(format!("an atomic operation on `.{}` memory", other.name())));
        }
    };
    if acquire && fence != Mod::CTA {
        threads::invalidate(cx);
    }
    write_atomic(cx, i, ty, vector, (!atomic.reduction).then_some(old))?;
    cx.end_region(behind);
    Ok(())
}

/// True if the old value is unread.
fn is_unread(cx: &mut Lower<'_>, i: &Instruction) -> Result<bool, LowerError> {
    Ok(match cx.operand(i, 0)? {
        Operand::Sink => true,
        // Debuggers read registers as well.
        &Operand::Register(register) => !cx.options.unoptimized && !cx.is_read(register),
        _ => false,
    })
}

/// The words of an operand, vector elements concatenated.
fn atomic_words(cx: &mut Lower<'_>, operand: &Operand, ty: Type) -> Result<Words, LowerError> {
    let mut words = Words::new();
    let elements = cx.elements(operand);
    if are_halves(cx, &elements, ty) {
        for pair in elements.chunks(2) {
            let halves = pair.iter().map(|half| cx.word(half, Type::B16)).collect::<Result<_, _>>()?;
            let word = cx.join(halves, 16);
            words.push(cx.value_of(word));
        }
        return Ok(words);
    }
    for element in elements {
        for word in cx.words(&element, ty)? {
            words.push(cx.value_of(word));
        }
    }
    Ok(words)
}

/// The destination registers, if the old value can be written straight there.
fn atomic_destination(
    cx: &mut Lower<'_>,
    i: &Instruction,
    ty: Type,
    vector: u32,
) -> Result<Option<Words>, LowerError> {
    let d = cx.operand(i, 0)?;
    if vector != 1 || matches!(d, Operand::Sink | Operand::Vector(_)) {
        return Ok(None);
    }
    Ok(Some(cx.result(d, ty)?))
}

/// Writes the old value, unless it is there already or it is dead.
fn write_atomic(cx: &mut Lower<'_>, i: &Instruction, ty: Type, vector: u32, old: Option<Words>) -> Lowered {
    let Some(old) = old.filter(|_| i.opcode == Opcode::Atom) else { return Ok(()) };
    let d = cx.operand(i, 0)?;
    if matches!(d, Operand::Sink) {
        return Ok(());
    }
    let elements = cx.elements(d);
    write_vector(cx, &elements, ty, vector, &old)
}

/// Writes the elements of a vector, which are packed in these words.
pub(super) fn write_vector(
    cx: &mut Lower<'_>,
    elements: &[Operand],
    ty: Type,
    vector: u32,
    old: &Words,
) -> Lowered {
    if are_halves(cx, elements, ty) {
        let mut parts = Vec::new();
        for half in 0..elements.len() as u64 {
            parts.push(cx.extract(old, 2 * half, Type::U16)?.into_iter().collect());
        }
        return cx.write_all(elements, Type::U32, parts);
    }
    let each = (old.len() / vector as usize).max(1);
    let parts = old.chunks(each).map(|part| part.iter().map(|&v| Source::value(v)).collect()).collect();
    if let ([Operand::Register(id)], 1) = (elements, vector)
        && cx.register(*id) == *old
    {
        return Ok(());
    }
    cx.write_all(elements, ty, parts)
}

/// True for a vector of f16 or bf16 elements, two in each word.
fn are_halves(cx: &Lower<'_>, elements: &[Operand], ty: Type) -> bool {
    let half = |element: &Operand| match element {
        Operand::Register(id) => cx.body.registers[*id].ty.bits() == 16,
        _ => true,
    };
    elements.len() > 1 && matches!(ty, Type::F16x2 | Type::BF16x2) && elements.iter().all(half)
}
