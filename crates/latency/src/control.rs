//! Constraints on the control word of an opcode on a chip: scoreboards, minimum stalls; and estimates of variable
//! latencies, for priorities only.

use crate::{Class, Model};

use oriole_sass::info::Scoreboard;
use oriole_sass::{Access, Control, Instruction, Mod, Mods, Op, OperandKind, RegisterFile};

/// Scoreboards of a warp.
pub const SCOREBOARDS: u8 = 6;

/// Minimum cycles of the special stall of zero: ptxas relies on it between `ERRBAR` and the next instruction, and for
/// the result of a matrix multiply in two steps. Inferred from its code; published measurements say about 45.
pub const SPECIAL_STALL: u8 = 24;

/// True for the control word that holds back the next instruction until this one has read its operands and its
/// results are available, whatever its unit: the special stall of zero without a scoreboard. Inferred: at -O0 ptxas
/// 13.5 gives it to every instruction, loads, atomics and textures included, without another completion signal
/// (1,230,000 instructions of 114 opcodes, sm_75 to sm_120); ptxas 13.0 has all of them wait for a scoreboard there.
/// Oriole's own code does not rely on it.
pub fn completes_before_next(control: &Control) -> bool {
    control.stall == 0 && control.write_barrier.is_none() && control.read_barrier.is_none()
}

/// True for a fence that reports completion by a scoreboard.
fn is_reported_fence(op: Op) -> bool {
    let info = op.info();
    info.write_scoreboard == Scoreboard::Fence || info.read_scoreboard == Scoreboard::Fence
}

/// True for branches and instructions that stall like them; they accept no scoreboard at all.
pub fn is_branch_like(op: Op) -> bool {
    op.info().class(&Mods::none()) == Class::Control
        && !accepts_write_barrier(op)
        && !accepts_read_barrier(op)
}

/// True if the word may set a write scoreboard.
pub fn accepts_write_barrier(op: Op) -> bool {
    op.info().write_scoreboard != Scoreboard::No
}

/// True if a variable-latency instruction reports its results by a scoreboard.
fn reports_results(op: Op) -> bool {
    matches!(op.info().write_scoreboard, Scoreboard::Yes | Scoreboard::Fence)
}

/// True if the word may set a read scoreboard.
pub fn accepts_read_barrier(op: Op) -> bool {
    op.info().read_scoreboard != Scoreboard::No
}

/// The scoreboard that counts groups of the opcode for a later `DEPBAR.LE`: they always use this one, for writes
/// (`LDGDEPBAR`) or reads (`UTMACMDFLUSH`), and a function with such groups uses it for nothing else.
pub fn counted_scoreboard(op: Op) -> Option<u8> {
    op.info().counted_scoreboard
}

/// Scoreboards that the instruction waits for before it issues: those of its control word and those that a `DEPBAR`
/// names, bit n for SBn.
pub fn waits(instruction: &Instruction) -> u8 {
    instruction.operands.iter().fold(instruction.control.wait_mask, |mask, operand| match operand.kind {
        OperandKind::Scoreboard(number) => mask | 1u8.checked_shl(number.into()).unwrap_or(0),
        OperandKind::ScoreboardSet(set) => mask | set,
        _ => mask,
    })
}

/// Scoreboards that an instruction sets, given its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reports {
    /// Results arrive when a scoreboard reports them.
    pub write: bool,
    /// Source reads are reported by a scoreboard.
    pub read: bool,
    /// The instruction orders memory: the next one waits for its scoreboard.
    pub fence: bool,
}

/// Registers of an instruction that count for its scoreboards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    results: bool,
    general: bool,
    uniform: bool,
}

impl Touched {
    /// Notes a register.
    pub fn add(&mut self, access: Access) {
        match access {
            Access::Write { .. } => self.results = true,
            Access::Read { file: RegisterFile::General, .. } => self.general = true,
            Access::Read { file: RegisterFile::Uniform, .. } => self.uniform = true,
            Access::Read { .. } => {}
        }
    }
}

impl Model {
    /// The scheduling class of an opcode with its modifiers.
    pub fn class(&self, op: Op, mods: &Mods) -> Class {
        if !self.has_own_class[op as usize] {
            return op.info().class(mods);
        }
        let mut exceptions = self.timing.chain().flat_map(|timing| timing.classes);
        let exception = exceptions.find(|(of, with, _)| *of == op && with.iter().all(|&m| mods.has(m)));
        exception.map_or_else(|| op.info().class(mods), |row| row.2)
    }

    /// True if results or source reads of the instruction complete at a variable time, which only a scoreboard
    /// reports.
    pub fn is_variable(&self, op: Op, mods: &Mods) -> bool {
        self.is_variable_as(op, self.class(op, mods))
    }

    /// [`Self::is_variable`] for an instruction whose class is known.
    pub fn is_variable_as(&self, op: Op, class: Class) -> bool {
        self.is_variable_class(class) || is_reported_fence(op)
    }

    /// True if the instruction must set a write scoreboard when its results are used. `FENCE` has no result; its
    /// scoreboard reports completion.
    pub fn needs_write_barrier(&self, op: Op, mods: &Mods) -> bool {
        self.is_variable(op, mods) && reports_results(op)
    }

    /// The minimum stall of the instruction itself, whatever follows; 1 for most. `ERRBAR` has the special stall 0
    /// with yield, which is not covered here.
    pub fn minimum_stall(&self, op: Op, mods: &Mods) -> u8 {
        let stall = self.stalls[op as usize];
        // Few chips have stalls of classes, and to find out a class takes longer than all the rest.
        if self.has_class_stalls {
            stall.max(self.class_stalls[self.class(op, mods) as usize])
        } else {
            stall
        }
    }

    /// The minimum stall that the checker accepts: under a guard it may be less than what Oriole uses. ptxas code
    /// leaves a loop by a call, which then stalls as little as a jump that is not taken.
    pub fn accepted_stall(&self, op: Op, mods: &Mods, guarded: bool) -> u8 {
        let rows = self.timing.chain().flat_map(|timing| timing.guarded_stalls);
        let exception = rows.into_iter().find(|row| guarded && row.0 == op);
        exception.map_or_else(|| self.minimum_stall(op, mods), |row| row.1)
    }

    /// True if a barrier of the block is passed only when the memory instructions before it have read their
    /// registers.
    pub fn barrier_reads_memory(&self) -> bool {
        self.timing.chain().any(|timing| timing.barrier_reads_memory)
    }

    /// Cycles between a jump with this stall and an MMA after it, as counted for ptxas code; Oriole keeps its
    /// distances by stalls.
    pub fn accepted_jump(&self, stall: u8) -> u8 {
        self.timing.chain().fold(stall, |cycles, timing| cycles.max(timing.jump_to_product))
    }

    /// Estimated cycles until the results of a variable instruction arrive. For priorities only, never for
    /// correctness; published or guessed figures.
    pub fn estimate(&self, op: Op) -> u16 {
        self.estimates[op as usize]
    }

    /// The scoreboard reports of an instruction of this class. An instruction without results (or with none but `RZ`)
    /// has no write report, and one without register sources no read report: general registers count always, uniform
    /// registers only for the asynchronous engines. Fences report all the same.
    pub fn reports(&self, instruction: &Instruction, class: Class, touched: Touched) -> Reports {
        let (op, mods) = (instruction.op, &instruction.mods);
        if !self.is_variable_as(op, class) {
            return Reports::default();
        }
        let bulk = matches!(class, Class::Bulk | Class::Sync);
        let (results, sources) = (touched.results, touched.general || bulk && touched.uniform);
        if is_reported_fence(op) {
            let set = |scoreboard: Scoreboard| scoreboard == Scoreboard::Fence;
            let info = op.info();
            return Reports {
                write: set(info.write_scoreboard),
                read: set(info.read_scoreboard),
                fence: true,
            };
        }
        match op {
            // An exchange of the whole mbarrier is waited for although the old value is dead.
            Op::SYNCS => Reports { write: true, read: sources, fence: mods.has(Mod::EXCH) },
            // A move from a convergence barrier to a general register has only the one field, the opposite direction
            // only the other.
            Op::BMOV => {
                let to_general =
                    instruction.operands.first().is_some_and(|o| matches!(o.kind, OperandKind::Reg(_)));
                Reports { write: to_general && results, read: !to_general && sources, fence: false }
            }
            _ => Reports {
                write: results && reports_results(op),
                read: sources && accepts_read_barrier(op),
                fence: false,
            },
        }
    }
}
