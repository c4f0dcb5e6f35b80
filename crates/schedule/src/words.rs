//! Rules of a single control word: what an opcode accepts, and when the yield flag is set.

use oriole_latency::{is_branch_like, is_variable};
use oriole_ori::MachineInstruction;
use oriole_sass::{Control, Guard, Instruction, Mod, Mods, Op};
use smallvec::SmallVec;

/// The longest stall that a word can hold, in cycles.
pub const LONGEST_STALL: u8 = 15;

/// The yield flag that goes with a stall. A stall of 12 or more only works with it; short stalls and everything
/// that reports by scoreboard or branches go without.
pub fn yields(op: Op, mods: &Mods, stall: u8) -> bool {
    match stall {
        12.. => true,
        0..=2 => false,
        _ => op == Op::DEPBAR || !(is_variable(op, mods) || is_branch_like(op)),
    }
}

/// False for the one form that has no field for a wait mask.
pub fn accepts_wait(instruction: &Instruction) -> bool {
    !(instruction.op == Op::WARPGROUP && instruction.mods.has(Mod::DEPBAR))
}

/// An instruction that only passes time or waits, put behind (or before) `neighbour` and sharing its origin.
pub fn nop(neighbour: &MachineInstruction, control: Control) -> MachineInstruction {
    MachineInstruction {
        instruction: Instruction {
            guard: Guard::ALWAYS,
            op: Op::NOP,
            mods: Mods::none(),
            operands: SmallVec::new(),
            control,
        },
        fixup: None,
        memory: None,
        origin: neighbour.origin,
    }
}
