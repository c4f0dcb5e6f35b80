//! What an instruction does besides writing its results: the questions that decide whether it may be removed, moved,
//! duplicated or executed by lanes that would not have.
//!
//! It is here because dead-code removal, code motion, value numbering, if-conversion and divergence must give the same
//! answers. Each list names the operations that are known to be harmless; what is not listed counts as harmful.

use crate::{Instruction, Opcode, Pseudo};
use oriole_sass::{Op, Symbol};

/// True if nothing but its results would tell that the instruction ran: it may go when nobody reads them.
pub fn is_removable(instruction: &Instruction) -> bool {
    if let Some(memory) = instruction.memory
        && (memory.writes || memory.ordered)
    {
        return false;
    }
    if instruction.call.is_some() || instruction.destinations.is_empty() {
        return false;
    }
    match instruction.opcode {
        Opcode::Sass(op) => {
            is_lane_wise(op)
                || is_uniform_datapath(op)
                || matches!(
                    op,
                    Op::S2R
                        | Op::S2UR
                        | Op::CS2R
                        | Op::R2UR
                        | Op::P2R
                        | Op::B2R
                        | Op::VOTE
                        | Op::VOTEU
                        | Op::SHFL
                        | Op::MATCH
                        | Op::REDUX
                        | Op::FSWZADD
                        | Op::GETLMEMBASE
                        | Op::QSPC
                        | Op::MOVM
                        | Op::TXQ
                        | Op::SUQUERY
                        | Op::TEX
                        | Op::TLD
                        | Op::TLD4
                        | Op::TXD
                        | Op::TMML
                )
                || (matches!(op, Op::LD | Op::LDG | Op::LDS | Op::LDL | Op::LDSM)
                    && instruction.memory.is_some())
                || matches!(op, Op::HMMA | Op::IMMA | Op::DMMA | Op::BMMA)
        }
        Opcode::Pseudo(pseudo) => {
            !matches!(pseudo, Pseudo::Call | Pseudo::CallHelper | Pseudo::Return | Pseudo::Parameters)
        }
    }
}

/// True if the results depend on nothing but the operands: equal operands give equal results, wherever and whenever
/// it runs. Such an instruction may be numbered, moved and duplicated freely (guard and divergence apart).
pub fn is_pure(instruction: &Instruction) -> bool {
    if instruction
        .memory
        .is_some_and(|memory| memory.writes || memory.ordered || memory.space != crate::Space::Constant)
    {
        return false;
    }
    match instruction.opcode {
        Opcode::Sass(Op::S2R | Op::CS2R | Op::S2UR) => instruction.sources.iter().all(|source| {
            matches!(&source.kind, crate::SourceKind::Symbol(register) if is_fixed_register(*register))
        }),
        Opcode::Sass(op) => (is_lane_wise(op) || is_uniform_datapath(op)) && !is_convergent(instruction),
        Opcode::Pseudo(pseudo) => !matches!(
            pseudo,
            Pseudo::ParallelCopy
                | Pseudo::Call
                | Pseudo::CallHelper
                | Pseudo::Return
                | Pseudo::Parameters
                | Pseudo::Undefined
        ),
    }
}

/// True if which lanes run it together matters: it must not be moved into or out of control flow, nor duplicated.
pub fn is_convergent(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(op) => is_convergent_operation(op),
        Opcode::Pseudo(pseudo) => matches!(pseudo, Pseudo::Call | Pseudo::CallHelper),
    }
}

/// [`is_convergent`] of a machine operation.
pub fn is_convergent_operation(op: Op) -> bool {
    matches!(
        op,
        Op::VOTE
            | Op::VOTEU
            | Op::SHFL
            | Op::MATCH
            | Op::REDUX
            | Op::FSWZADD
            | Op::ELECT
            | Op::BAR
            | Op::WARPSYNC
            | Op::WARPGROUP
            | Op::WARPGROUPSET
            | Op::BSSY
            | Op::BSYNC
            | Op::BREAK
            | Op::BMOV
            | Op::R2UR
            | Op::ENDCOLLECTIVE
            | Op::HMMA
            | Op::IMMA
            | Op::DMMA
            | Op::BMMA
            | Op::HGMMA
            | Op::IGMMA
            | Op::QGMMA
            | Op::BGMMA
            | Op::LDSM
            | Op::STSM
            | Op::MOVM
            | Op::UCGABAR_ARV
            | Op::UCGABAR_WAIT
            | Op::TEX
            | Op::TLD
            | Op::TLD4
            | Op::TXD
            | Op::TMML
    ) || (op.name().starts_with('U') && !is_uniform_datapath(op))
}

/// Special registers that hold one value for the whole life of a thread.
pub fn is_fixed_register(register: Symbol) -> bool {
    let name = register.name();
    register == Symbol::SRZ
        || ["SR_TID", "SR_CTAID", "SR_NTID", "SR_LANEID", "SR_CLUSTER", "SR_GRID"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || matches!(name, "SR_EQMASK" | "SR_LTMASK" | "SR_LEMASK" | "SR_GTMASK" | "SR_GEMASK")
}

/// Operations of the uniform datapath whose results depend on their operands only.
pub fn is_uniform_datapath(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        UBMSK
            | UBREV
            | UCLEA
            | UF2FP
            | UFLO
            | UIADD3
            | UIMAD
            | UISETP
            | ULDC
            | ULEA
            | ULOP3
            | UMOV
            | UPLOP3
            | UPOPC
            | UPRMT
            | USEL
            | USGXT
            | USHF
    )
}

/// Operations whose results in a lane depend on nothing but the operands in that lane.
pub fn is_lane_wise(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        BMSK | BREV
            | DADD
            | DFMA
            | DMUL
            | DSETP
            | F2F
            | F2FP
            | F2I
            | F2IP
            | FADD
            | FCHK
            | FFMA
            | FLO
            | FMNMX
            | FMUL
            | FRND
            | FSEL
            | FSET
            | FSETP
            | HADD2
            | HFMA2
            | HMNMX2
            | HMUL2
            | HSET2
            | HSETP2
            | I2F
            | I2FP
            | I2I
            | I2IP
            | IABS
            | IADD3
            | IDP
            | IMAD
            | IMNMX
            | ISETP
            | LDC
            | LEA
            | LEPC
            | LOP3
            | MOV
            | MUFU
            | PLOP3
            | POPC
            | PRMT
            | SEL
            | SGXT
            | SHF
            | VABSDIFF
            | VABSDIFF4
            | VHMNMX
            | VIADD
            | VIADDMNMX
            | VIMNMX
            | VIMNMX3
    )
}
