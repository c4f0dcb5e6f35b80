//! PTX instructions about spaces: conversions to and from the generic address space, queries of the space of an address, and
//! addresses in other blocks of the cluster.

use super::windows;
use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::{Space, Word};
use oriole_sass::{Mod, Symbol};

/// `cvta`: into the generic address space, or out of it.
pub(crate) fn cvta(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let (d, a) = (cx.operand(i, 0)?, cx.operand(i, 1)?);
    let space = i.space.or(i.second_space).unwrap_or(Space::Generic);
    let words = cx.words(a, ty)?;
    if ty.bits() != 64 {
        return Err(cx.unsupported_form(i));
    }
    let to = i.modifiers.has(Word::To);
    let base = match space {
        Space::Global | Space::Generic => return cx.write(d, ty, &words),
        Space::Shared if cx.bank.shared_window.is_some() => {
            let a = cx.tuple(words);
            let words = windows::through_shared_window(cx, a, to);
            let high = if to { Source::rz() } else { words[1].into() };
            return cx.write(d, ty, &[words[0].into(), high]);
        }
        Space::Shared | Space::SharedCluster => {
            // The window of shared memory covers one high word, so its low word is the address in the window.
            let high = if to {
                Source::rz()
            } else {
                let high = cx.b.r();
                cx.b.s2r(high, Symbol::SR_SWINHI);
                high.into()
            };
            return cx.write(d, ty, &[words[0].clone(), high]);
        }
        Space::Local => cx.bank.local_window,
        Space::Constant => cx.bank.constant_window,
        Space::KernelParameter => {
            let start = windows::parameter_bounds(cx, i)?.start;
            return windows::move_window(cx, d, ty, words, start, to);
        }
        // Parameters of a function whose address is taken are in its frame.
        Space::FunctionParameter => cx.bank.local_window,
        Space::Register => return Err(cx.unsupported_form(i)),
    };
    let base = windows::window(cx, base);
    windows::move_window(cx, d, ty, words, base, to)
}

/// `isspacep`.
pub(crate) fn isspacep(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
    let a = cx.operand(i, 1)?;
    let address = cx.pair(a, oriole_ptx::Type::B64)?;
    match i.space.unwrap_or(Space::Generic) {
        Space::Shared => windows::query_space(cx, d, Mod::S, address),
        Space::SharedCluster => windows::query_space(cx, d, Mod::D, address),
        Space::Local => windows::query_space(cx, d, Mod::L, address),
        Space::Global => {
            // The constant window is within global addresses.
            let [global, constant] = [cx.b.p(), cx.b.p()];
            windows::query_space(cx, global, Mod::G, address.clone());
            let bounds = windows::constant_bounds(cx);
            windows::in_window(cx, constant, address, bounds);
            cx.b.plop3(d, global, Source::value(constant).inverted(), Source::pt(), 0x80);
        }
        Space::Constant => {
            let bounds = windows::constant_bounds(cx);
            windows::in_window(cx, d, address, bounds);
        }
        Space::KernelParameter | Space::FunctionParameter => {
            let bounds = windows::parameter_bounds(cx, i)?;
            windows::in_window(cx, d, address, bounds);
        }
        Space::Generic | Space::Register => return Err(cx.unsupported_form(i)),
    }
    Ok(())
}

/// `mapa`: the address of a shared variable in another block of the cluster. The rank is byte 3 of the address.
pub(crate) fn mapa(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let (d, a) = (cx.operand(i, 0)?, cx.operand(i, 1)?);
    let words = cx.words(a, ty)?;
    let rank = cx.word(cx.operand(i, 2)?, oriole_ptx::Type::U32)?;
    let rank = cx.in_register(rank);
    let low = cx.in_register(words[0].clone());
    let moved = cx.b.r();
    cx.b.prmt(moved, rank, 0x0654u32, low);
    let mut result: Vec<Source> = words.to_vec();
    result[0] = moved.into();
    cx.write(d, ty, &result)
}

/// `getctarank`.
pub(crate) fn getctarank(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let a = cx.in_register(a);
    let d = cx.result_word(cx.operand(i, 0)?, oriole_ptx::Type::U32)?;
    cx.b.shr(d, a, 24u32);
    Ok(())
}
