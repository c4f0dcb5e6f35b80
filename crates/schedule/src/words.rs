//! Constraints on a single control word: fields that an opcode accepts, and the yield flag.

use crate::effects::Effects;
use crate::tables::Tables;
use oriole_latency::is_branch_like;
use oriole_ori::{MachineInstruction, Origin};
use oriole_sass::{Control, EncodeError, Guard, Instruction, Mod, Mods, Op};
use smallvec::SmallVec;

/// The longest stall that a word can hold, in cycles.
pub const LONGEST_STALL: u8 = 15;

/// The yield flag for a stall. A stall of 12 or more only works with it; short stalls, scoreboard reporters and
/// branches have none.
pub fn yields(op: Op, effects: &Effects, stall: u8) -> bool {
    match stall {
        12.. => true,
        0..=2 => false,
        _ => op == Op::DEPBAR || !(effects.variable || is_branch_like(op)),
    }
}

/// False for the one form that has no field for a wait mask.
pub fn accepts_wait(instruction: &Instruction) -> bool {
    !(instruction.op == Op::WARPGROUP && instruction.mods.has(Mod::DEPBAR))
}

/// The instruction that only passes time or waits.
pub struct Nop {
    machine: MachineInstruction,
    effects: Effects,
}

impl Nop {
    /// The `NOP` of a chip.
    ///
    /// # Errors
    /// The chip has none.
    pub fn new(tables: &Tables) -> Result<Nop, EncodeError> {
        let instruction = Instruction {
            guard: Guard::ALWAYS,
            op: Op::NOP,
            mods: Mods::none(),
            operands: SmallVec::new(),
            control: Control::NEUTRAL,
        };
        let machine = MachineInstruction::new(tables.forms, instruction, Origin(0))?;
        Ok(Nop { effects: Effects::new(tables.latency, tables.forms, &machine), machine })
    }

    /// Its effects.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// A `NOP` next to `neighbour`, with the same origin.
    pub fn beside(&self, neighbour: &MachineInstruction, control: Control) -> MachineInstruction {
        let mut nop = MachineInstruction { origin: neighbour.origin, ..self.machine.clone() };
        nop.instruction.control = control;
        nop
    }
}
