//! `cp.async`: copies of up to sixteen bytes from global to shared memory.

use crate::context::{Lower, Lowered};
use crate::memory;
use crate::source::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{MemoryInfo, Pseudo, Source, Space as AliasSpace};
use oriole_ptx::word::{CacheOperator, FetchSize};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op};

/// A copy reads one memory and writes another one.
pub(super) const BOTH: MemoryInfo =
    MemoryInfo { space: AliasSpace::Generic, reads: true, writes: true, ordered: false, object: None };

/// Bytes of its source that a copy reads; zeros fill the rest of the target.
enum Extent {
    Whole,
    /// This many bytes, known.
    Bytes(i64),
    /// This many bytes, in a register.
    Counted(Source),
    /// All bytes, or none where the predicate holds.
    UnlessIgnored(Source),
}

pub(super) fn copy_asynchronously(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Operand::Immediate(Immediate::Integer(size)) = *cx.operand(i, 2)? else {
        return Err(cx.unsupported_form(i));
    };
    let width = match size {
        4 => None,
        8 => Some(Mod::_64),
        16 => Some(Mod::_128),
        _ => return Err(cx.unsupported_form(i)),
    };
    let extent = extent(cx, i, size)?;
    let target = memory::place_of(cx, cx.operand(i, 0)?, Space::Shared)?;
    let target = memory::memory_operand(cx, &target, false);
    let mut source = memory::place_of(cx, cx.operand(i, 1)?, Space::Global)?;
    // The low bits of an address that is aligned to the size encode how many bytes are missing at the end.
    let (wanted, fills) = match extent {
        Extent::Whole => (None, false),
        Extent::Bytes(0) => (Some(Source::not_pt()), false),
        Extent::Bytes(read) => {
            source.offset += (size - read) as i32;
            (None, true)
        }
        Extent::Counted(read) => {
            let [missing, cut] = [cx.b.r(), cx.b.r()];
            cx.b.iadd3(missing, read.clone().negated(), imm(size as u32), Source::rz());
            cx.b.and(cut, missing, (size - 1) as u32);
            let [low, high] = [cx.b.r(), cx.b.r()];
            if source.base.len() != 2 {
                return Err(cx.unsupported_form(i));
            }
            let base = Source::values(source.base.iter().copied());
            let cut = cx.tuple([cut.into(), Source::rz()]);
            cx.pseudo(Pseudo::Add64, &[], [low, high], [base, cut]);
            source.base = [low, high].into_iter().collect();
            let some = cx.b.p();
            cx.b.isetp(some, Mod::NE, true, read, Source::rz());
            (Some(some.into()), true)
        }
        Extent::UnlessIgnored(ignored) => (Some(ignored.inverted()), false),
    };
    let mut source = memory::cached_operand(cx, i, &source)?;
    // Said without a descriptor too, where registers of the whole warp cannot hold one (kernels that call
    // functions).
    source.suffixes.insert(Mod::_64);
    let fetch = i.modifiers.at().map(|size| match size {
        FetchSize::L264B => Mod::LTC64B,
        FetchSize::L2128B => Mod::LTC128B,
        FetchSize::L2256B => Mod::LTC256B,
    });
    let bypass = (i.modifiers.at() == Some(CacheOperator::Cg)).then_some(Mod::BYPASS);
    let mods = [Some(Mod::E), bypass, fetch, width, fills.then_some(Mod::ZFILL)];
    let mods: Vec<Mod> = mods.into_iter().flatten().collect();
    cx.b.op(Op::LDGSTS).mods(&mods).from(target).from(source).from_all(wanted).memory(BOTH).emit();
    Ok(())
}

/// How much is read: a byte count, or a predicate that is true if nothing is.
fn extent(cx: &mut Lower<'_>, i: &Instruction, size: i64) -> Result<Extent, crate::LowerError> {
    // The last operand of a form with a policy is the policy.
    let policy = usize::from(i.modifiers.has(Word::L2CacheHint));
    if i.operands.len() <= 3 + policy {
        return Ok(Extent::Whole);
    }
    let operand = cx.operand(i, 3)?;
    Ok(match operand {
        Operand::Register(id) if cx.body.registers[*id].ty == Type::Pred => {
            Extent::UnlessIgnored(cx.predicate(operand)?)
        }
        Operand::NotRegister(_) => Extent::UnlessIgnored(cx.predicate(operand)?),
        &Operand::Immediate(Immediate::Integer(read)) => match read {
            read if (0..size).contains(&read) => Extent::Bytes(read),
            _ => Extent::Whole,
        },
        operand => {
            let read = cx.word(operand, Type::U32)?;
            Extent::Counted(cx.in_register(read))
        }
    })
}
