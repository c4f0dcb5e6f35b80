//! What the control word of an opcode must and may say: scoreboards, least stalls; and estimates of how long
//! the variable instructions take, for priorities only.

use crate::{Access, Class, RegisterFile, class};
use oriole_sass::{Instruction, Mod, Mods, Op, OperandKind};

/// How many scoreboards a warp has.
pub const SCOREBOARDS: u8 = 6;

/// True if results or source reads of the instruction complete at a time that only a scoreboard tells.
pub fn is_variable(op: Op, mods: &Mods) -> bool {
    match class(op, mods) {
        Class::Special
        | Class::Memory
        | Class::Texture
        | Class::Bulk
        | Class::Sync
        | Class::SpecialRegister
        | Class::MatrixDouble => true,
        Class::Fence => matches!(op, Op::MEMBAR | Op::FENCE),
        _ => false,
    }
}

/// True for branches and what stalls like them; they accept no scoreboard at all.
pub fn is_branch_like(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        BRA | BRX
            | BRXU
            | BSSY
            | BSYNC
            | BREAK
            | CALL
            | RET
            | EXIT
            | JMP
            | JMX
            | JMXU
            | KILL
            | BPT
            | WARPSYNC
            | YIELD
            | NANOSLEEP
    )
}

/// True if the word may set a write scoreboard.
pub fn accepts_write_barrier(op: Op) -> bool {
    use Op::*;
    !is_branch_like(op)
        && !matches!(
            op,
            ST | STG
                | STL
                | STS
                | STSM
                | REDG
                | SUST
                | SURED
                | BAR
                | CCTL
                | CCTLL
                | CCTLT
                | MEMBAR
                | DEPBAR
                | ARRIVES
                | AST
                | ISBEWR
                | SETLMEMBASE
                | WARPGROUP
                | HGMMA
                | IGMMA
                | BGMMA
                | QGMMA
        )
}

/// True if the word may set a read scoreboard.
pub fn accepts_read_barrier(op: Op) -> bool {
    use Op::*;
    !is_branch_like(op) && !matches!(op, DEPBAR | WARPGROUP | HGMMA | IGMMA | BGMMA | QGMMA | FENCE)
}

/// True if the instruction must set a write scoreboard when somebody uses its results. `FENCE` has no result;
/// its scoreboard tells that the fence is through.
pub fn needs_write_barrier(op: Op, mods: &Mods) -> bool {
    use Op::*;
    is_variable(op, mods)
        && accepts_write_barrier(op)
        && !matches!(op, LDGSTS | UBLKCP | UBLKPF | UBLKRED | UTMACCTL | UTMACMDFLUSH | UTMALDG | UTMAPF)
        && !matches!(op, UTMAREDG | UTMASTG | STAS | REDAS | OUT)
}

/// True if the instruction must set a read scoreboard when somebody overwrites a register that it reads. General
/// registers count always; uniform registers only for the asynchronous engines. `MEMBAR` reads nothing; its
/// scoreboard tells that the fence is through.
pub fn needs_read_barrier(op: Op, mods: &Mods) -> bool {
    is_variable(op, mods) && accepts_read_barrier(op)
}

/// Opcodes whose scoreboard counts groups for a later `DEPBAR.LE`: they always use this one, for writes
/// (`LDGDEPBAR`) or reads (`UTMACMDFLUSH`), and a function that holds one keeps it free of everything else.
pub fn counted_scoreboard(op: Op) -> Option<u8> {
    matches!(op, Op::LDGDEPBAR | Op::UTMACMDFLUSH).then_some(0)
}

/// The least stall that the opcode itself demands, whatever follows; 1 for most. `ERRBAR` has the special
/// stall 0 with yield, which is not handled by this number.
pub fn minimum_stall(op: Op) -> u8 {
    use Op::*;
    match op {
        BRA | BRX | BRXU | BSYNC | BREAK | CALL | RET | EXIT | JMP | JMX | JMXU | KILL | WARPSYNC | YIELD
        | NANOSLEEP => 5,
        BMOV => 5,
        BAR | MEMBAR | CGAERRBAR => 6,
        DEPBAR => 4,
        FENCE | SYNCS => 2,
        _ => 1,
    }
}

/// Estimated cycles until the results of a variable instruction arrive. For priorities only, never for
/// correctness; published or guessed figures of H100.
pub fn estimate(op: Op, mods: &Mods) -> u16 {
    use Op::*;
    match op {
        LDS | LDSM => 30,
        LDG | LD if mods.has(Mod::CONSTANT) => 260,
        LDG | LD | LDGMC => 260,
        LDL => 40,
        LDC => 28,
        S2R | B2R | BMOV => 24,
        S2UR | REDUX => 30,
        SHFL | MATCH | MOVM | QSPC => 24,
        MUFU => 22,
        F2I | I2F | F2F | FRND | POPC | FLO | BREV | FCHK => 18,
        ATOMS => 80,
        ATOM | ATOMG => 400,
        TEX | TLD | TLD4 | TXD | TXQ | SULD | SUATOM => 400,
        DMMA => 40,
        SYNCS => 30,
        _ => 30,
    }
}

/// Which scoreboards an instruction sets, given its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reports {
    /// Results arrive when a scoreboard says so.
    pub write: bool,
    /// Sources are read when a scoreboard says so.
    pub read: bool,
    /// The instruction orders memory: whatever comes next waits for its scoreboard.
    pub fence: bool,
}

/// What an instruction reports. An instruction without results (or with none but `RZ`) reports none, and one without
/// register sources no reads; fences report all the same.
pub fn reports(instruction: &Instruction) -> Reports {
    let (op, mods) = (instruction.op, &instruction.mods);
    if !is_variable(op, mods) {
        return Reports::default();
    }
    let bulk = matches!(class(op, mods), Class::Bulk | Class::Sync);
    let (mut results, mut sources) = (false, false);
    crate::accesses(instruction, |access| match access {
        Access::Write { .. } => results = true,
        Access::Read { file: RegisterFile::General, .. } => sources = true,
        Access::Read { file: RegisterFile::Uniform, .. } => sources |= bulk,
        Access::Read { .. } => {}
    });
    match op {
        Op::MEMBAR => Reports { write: false, read: true, fence: true },
        Op::FENCE => Reports { write: true, read: false, fence: true },
        // An exchange of the whole barrier object is waited for although nobody wants the old one.
        Op::SYNCS => Reports { write: true, read: sources, fence: mods.has(Mod::EXCH) },
        // General from convergence register has only the one field, the other way round only the other.
        Op::BMOV => {
            let to_general =
                instruction.operands.first().is_some_and(|o| matches!(o.kind, OperandKind::Reg(_)));
            Reports { write: to_general && results, read: !to_general && sources, fence: false }
        }
        _ => Reports {
            write: results && needs_write_barrier(op, mods),
            read: sources && needs_read_barrier(op, mods),
            fence: false,
        },
    }
}
