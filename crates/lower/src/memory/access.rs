//! Facts that loads and stores have in common: size, space, ordering and caching as SASS modifiers.

use crate::LowerError;
use crate::context::Lower;
use oriole_hir::Instruction;
use oriole_ptx::word::{CacheOperator, FetchSize, L1Priority, L2Priority, Scope, Semantics};
use oriole_ptx::{Space, Word};
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};

/// Memory ordering of an access, as SASS modifiers.
#[derive(Clone, Debug, Default)]
pub(super) struct Strength {
    /// Modifiers of the access.
    pub mods: Vec<Mod>,
    /// Scope of the fence before a release.
    pub release: Option<Mod>,
    /// Invalidation of the cache after an acquire.
    pub acquire: bool,
    /// Never removed or reordered.
    pub ordered: bool,
}

/// Bytes of the widest access, whose words are two operands of four registers each.
pub(super) const WIDEST: u32 = 32;
pub(super) const GROUP: usize = 4;

/// The SASS modifier of a scope, and of the fence that belongs to it.
pub(crate) fn scope_mod(i: &Instruction) -> Option<(Mod, Mod)> {
    Some(match i.modifiers.at()? {
        Scope::Cta => (Mod::SM, Mod::CTA),
        Scope::Cluster | Scope::Gpu => (Mod::GPU, Mod::GPU),
        Scope::Sys => (Mod::SYS, Mod::SYS),
    })
}

/// Memory ordering and caching of an access.
pub(super) fn strength(i: &Instruction) -> Strength {
    let mut s = Strength::default();
    let has = |word| i.modifiers.has(word);
    let semantics = i.modifiers.at();
    match semantics {
        Some(Semantics::Volatile) => {
            s.mods = vec![Mod::STRONG, Mod::SYS];
            s.ordered = true;
        }
        Some(Semantics::Relaxed | Semantics::Acquire | Semantics::Release) => {
            let (scope, fence) = scope_mod(i).unwrap_or((Mod::GPU, Mod::GPU));
            s.mods = vec![if has(Word::Mmio) { Mod::MMIO } else { Mod::STRONG }, scope];
            s.ordered = true;
            s.release = (semantics == Some(Semantics::Release)).then_some(fence);
            s.acquire = semantics == Some(Semantics::Acquire) && fence != Mod::CTA;
        }
        Some(Semantics::Weak | Semantics::AcqRel | Semantics::Sc) | None => {}
    }
    let operator = i.modifiers.at();
    let cache: &[Mod] = match operator {
        // Loads of constant data are kept in the L1 cache anyway.
        Some(CacheOperator::Ca | CacheOperator::Cg) if has(Word::Nc) => &[],
        Some(CacheOperator::Ca | CacheOperator::Wb) => &[Mod::STRONG, Mod::SM],
        Some(CacheOperator::Cg) => &[Mod::STRONG, Mod::GPU],
        Some(CacheOperator::Cv | CacheOperator::Wt) => &[Mod::STRONG, Mod::SYS],
        Some(CacheOperator::Cs) => &[Mod::EF],
        Some(CacheOperator::Lu) => &[Mod::LU],
        None => &[],
    };
    s.mods.extend_from_slice(cache);
    s.ordered |= matches!(operator, Some(CacheOperator::Cv | CacheOperator::Wt));
    if has(Word::Nc) {
        s.mods.push(Mod::CONSTANT);
    }
    s.mods.extend(i.modifiers.at().and_then(|priority| match priority {
        L1Priority::L1NoAllocate => Some(Mod::NA),
        L1Priority::L1EvictLast => Some(Mod::EL),
        L1Priority::L1EvictFirst => Some(Mod::EF),
        L1Priority::L1EvictUnchanged => Some(Mod::EU),
        L1Priority::L1EvictNormal => None,
    }));
    s.mods.extend(i.modifiers.at().map(|size| match size {
        FetchSize::L264B => Mod::LTC64B,
        FetchSize::L2128B => Mod::LTC128B,
        FetchSize::L2256B => Mod::LTC256B,
    }));
    s
}

/// The space of an access: the widest ones are of global memory, whether the text says so or not.
pub(super) fn accessed_space(i: &Instruction, bytes: u32) -> Space {
    let space = i.space.unwrap_or(Space::Generic);
    if bytes == WIDEST && space == Space::Generic { Space::Global } else { space }
}

/// The size modifiers of an access; the widest one also has an L2 eviction modifier.
pub(super) fn size_of_access(
    cx: &Lower<'_>,
    i: &Instruction,
    bytes: u32,
    signed: bool,
) -> Result<Vec<Mod>, LowerError> {
    if bytes != WIDEST {
        let mods = size_mods(bytes, signed).ok_or_else(|| cx.unsupported_form(i))?;
        return Ok(mods.to_vec());
    }
    if !has_widest_accesses(cx) {
        return Err(cx.unsupported_form(i));
    }
    let kept = match i.modifiers.at() {
        Some(L2Priority::L2EvictFirst) => Mod::EFL2,
        Some(L2Priority::L2EvictLast) => Mod::ELL2,
        Some(L2Priority::L2EvictNormal) | None => Mod::ENL2,
    };
    Ok(vec![Mod::_256, kept])
}

/// True if an access may move 256 bits of global memory at once, in two groups of registers.
fn has_widest_accesses(cx: &Lower<'_>) -> bool {
    let place = OperandKind::Memory { descriptor: Some(0), base: Some(0), uniform: None, offset: 0 };
    let group = MachineOperand::plain(OperandKind::Reg(0));
    let mut place = MachineOperand::plain(place);
    place.suffixes = Mods::of(&[Mod::_64]);
    cx.is_legal(Op::LDG, &Mods::of(&[Mod::E, Mod::_256, Mod::ENL2]), &[group.clone(), group, place])
}

/// Size modifiers of loads and stores of `bytes`.
fn size_mods(bytes: u32, signed: bool) -> Option<&'static [Mod]> {
    Some(match (bytes, signed) {
        (1, false) => &[Mod::U8],
        (1, true) => &[Mod::S8],
        (2, false) => &[Mod::U16],
        (2, true) => &[Mod::S16],
        (4, _) => &[],
        (8, _) => &[Mod::_64],
        (16, _) => &[Mod::_128],
        _ => return None,
    })
}
