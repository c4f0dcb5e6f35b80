//! Units that complete in issue order: which results need no scoreboard of their own, because a later one of the same
//! opcode arrives after them.
//!
//! It is here because there are six scoreboards and a wait is for all operations that share one. It says which
//! operations depend on which report; numbers and waits must not enter.

use crate::effects::{Effects, early_target};
use oriole_ori::MachineInstruction;
use oriole_sass::{Effect, Op};

/// Permissions of the chip and the options.
#[derive(Clone, Copy)]
pub struct Rules {
    /// One scoreboard suffices for results that arrive in order and are waited for together.
    pub silent: bool,
    /// A load from global memory has read its address before a later one writes its result.
    pub loads_read: bool,
}

/// Opcodes whose results arrive in issue order, each among its own. Those of ptxas code that leave scoreboards out;
/// loads from global memory are not among them.
const IN_ORDER: [Op; 8] = [Op::LDS, Op::LDSM, Op::MUFU, Op::POPC, Op::F2I, Op::SHFL, Op::S2R, Op::LDC];

/// Instead of an instruction index: none.
const NONE: u32 = u32::MAX;

/// For each instruction of a block an earlier one whose result arrives before its own and has no scoreboard. Empty if
/// there are none.
#[derive(Clone, Default)]
pub struct Covered(Vec<u32>);

impl Covered {
    /// The instructions whose results are there with that of this one.
    pub fn by(&self, index: usize) -> impl Iterator<Item = usize> {
        let next =
            |&index: &usize| self.0.get(index).filter(|&&before| before != NONE).map(|&it| it as usize);
        std::iter::successors(next(&index), move |index| next(index))
    }

    /// Finds them, and leaves them without a waiter. `waiters` has for each instruction of the block the first that
    /// waits for its results; those from `behind` on are not in the block.
    ///
    /// The reports of a group are those of its last instruction, so that must be executed whenever another one is: it
    /// has no guard, and no instruction in between leaves the block.
    pub fn find(
        instructions: &[MachineInstruction],
        effects: &[Effects],
        waiters: &mut [(u32, u32)],
        behind: u32,
    ) -> Covered {
        let mut before = Vec::new();
        let mut last: [u32; IN_ORDER.len()] = [NONE; IN_ORDER.len()];
        for index in 0..instructions.len() {
            let instruction = &instructions[index].instruction;
            let effect = instruction.op.info().effect;
            let leaves = matches!(effect, Effect::Branch | Effect::Call | Effect::Leave);
            if leaves || early_target(instructions, index).is_some() {
                last.fill(NONE);
                continue;
            }
            let Some(unit) = IN_ORDER.iter().position(|&op| op == instruction.op) else { continue };
            let (waiter, _) = waiters[index];
            if waiter >= behind {
                continue;
            }
            let is_always = effects[index].is_always;
            let known = last[unit];
            let alike = |known: u32| {
                // Conversions of other widths may go through other units.
                instruction.op != Op::F2I || instructions[known as usize].instruction.mods == instruction.mods
            };
            if known != NONE && is_always && waiters[known as usize].0 == waiter && alike(known) {
                if before.is_empty() {
                    before = vec![NONE; instructions.len()];
                }
                before[index] = known;
                waiters[known as usize].0 = behind + 1;
            }
            last[unit] = index as u32;
        }
        Covered(before)
    }
}

#[cfg(test)]
mod tests;
