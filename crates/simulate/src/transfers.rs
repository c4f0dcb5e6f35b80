//! The effect of instructions on copies in flight in shared memory.

pub(crate) use oriole_machine_model::races::{Bytes, Transfers, Who, shared_bytes};

use crate::launch::HazardKind;
use oriole_machine_model::races::Race;
use oriole_sass::{Effect, Instruction, Mod, Op, OperandKind};

/// True for instructions that use shared memory asynchronously.
pub(crate) fn is_asynchronous(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        UBLKCP
            | UBLKRED
            | UTMALDG
            | UTMASTG
            | UTMAREDG
            | UGETNEXTWORKID
            | LDGSTS
            | HGMMA
            | IGMMA
            | QGMMA
            | BGMMA
            | UTCHMMA
            | UTCQMMA
            | UTCIMMA
            | UTCOMMA
            | UTCCP
            | UTCSHIFT
            | STTM
    )
}

/// The effect of instructions that are not accesses.
pub(crate) fn follow(transfers: &mut Transfers, instruction: &Instruction, who: Who) {
    transfers.go_on(who);
    let has = |name| instruction.mods.has(name);
    match instruction.op {
        Op::FENCE if has(Mod::VIEW) && has(Mod::ASYNC) && has(Mod::T) => transfers.wait_for_tensor(true, who),
        Op::FENCE if has(Mod::VIEW) && has(Mod::ASYNC) => transfers.fence(),
        Op::UCGABAR_ARV => transfers.arrive_at_cluster(who),
        Op::UCGABAR_WAIT => transfers.wait_for_cluster(who),
        Op::UTMACMDFLUSH | Op::LDGDEPBAR => transfers.close_group(who),
        Op::DEPBAR if has(Mod::LE) => {
            let left = match instruction.operands.get(1).map(|operand| operand.kind) {
                Some(OperandKind::Imm(left)) => left as u32,
                _ => 0,
            };
            transfers.wait_for_groups(who, left);
        }
        // Signals of mbarriers are followed by mbarrier.
        Op::SYNCS | Op::ARRIVES => {}
        // An instruction that orders other memory may order this one.
        Op::MEMBAR => transfers.through_memory(who),
        op if op.info().effect == Effect::Atomic || has(Mod::STRONG) => transfers.through_memory(who),
        _ => {}
    }
}

impl From<Race> for HazardKind {
    fn from(race: Race) -> HazardKind {
        match race {
            Race::ProxyFenceMissing => HazardKind::ProxyFenceMissing,
            Race::SourceOverwritten => HazardKind::SourceOverwritten,
            Race::CopyNotArrived => HazardKind::CopyNotArrived,
            Race::TargetInUse => HazardKind::TargetInUse,
            Race::ResultNotThere => HazardKind::ResultNotThere,
            Race::OperandOverwritten => HazardKind::OperandOverwritten,
            Race::AccessGoingOn => HazardKind::AccessGoingOn,
        }
    }
}
