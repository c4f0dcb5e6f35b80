//! The cache of tensor maps: prefetches, and the fence after which a map is read again.

use super::engine::{self, Bulk};
use crate::context::{Lower, Lowered};
use crate::memory::{self, Place, whole_address};
use crate::source::imm;
use crate::{LowerError, names};
use oriole_hir::{Address, AddressBase, Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::Space;
use oriole_sass::{Mod, Op};

/// `prefetch.tensormap`: a tensor map into its cache.
pub(crate) fn prefetch_map(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let behind = cx.begin_region();
    let space = i.space.unwrap_or(Space::Generic);
    let operand = cx.operand(i, 0)?;
    let words: Vec<Source> = match space {
        Space::Constant | Space::KernelParameter => {
            let start = match space {
                Space::Constant => memory::window(cx, cx.bank.constant_window),
                _ => memory::parameter_bounds(cx, i)?.start,
            };
            let offset = offset_in_bank(cx, operand)?;
            let sum = cx.b.pair();
            cx.pseudo(oriole_ori::Pseudo::Add64, &[], sum, [start, offset]);
            sum.iter().map(|&word| word.into()).collect()
        }
        Space::Generic | Space::Global => {
            let place: Place = memory::place_of(cx, operand, space)?;
            whole_address(cx, place).base.iter().map(|&word| word.into()).collect()
        }
        _ => return Err(cx.unsupported_form(i)),
    };
    let (op, mods) = (Op::UTMACCTL, vec![Mod::PF]);
    engine::emit_bulk(cx, Bulk { op, mods, brackets: vec![words], count: None, policy: None });
    cx.end_region(behind);
    Ok(())
}

/// `fence.proxy.tensormap` that acquires: the map is read again, after everything in flight.
pub(crate) fn acquire_map(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let behind = cx.begin_region();
    let place = memory::place_of(cx, cx.operand(i, 0)?, Space::Generic)?;
    let words = whole_address(cx, place).base.iter().map(|&word| word.into()).collect();
    let (op, mods) = (Op::UTMACCTL, vec![Mod::IV]);
    engine::emit_bulk(cx, Bulk { op, mods, brackets: vec![words], count: None, policy: None });
    cx.end_region(behind);
    Ok(())
}

/// An address in a constant bank as a pair: the offset of a variable in it, or the content of a register.
fn offset_in_bank(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    let Operand::Address(Address { base, offset }) = operand else {
        return Err(cx.unsupported("a memory operand without brackets"));
    };
    match base {
        AddressBase::Variable(variable) => Ok(names::variable_address(cx, *variable, *offset)?.into()),
        AddressBase::Absolute => Ok(cx.tuple([imm(*offset as u32), Source::rz()])),
        AddressBase::Register(_) => {
            let place = memory::place_of(cx, operand, Space::Generic)?;
            Ok(Source::values(whole_address(cx, place).base))
        }
    }
}
