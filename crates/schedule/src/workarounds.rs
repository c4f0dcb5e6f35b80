//! Instructions that ptxas emits on some chips without any known effect. One is a shuffle that no lane executes, at
//! the entry of each function; the cubin names it to the driver. The other only passes time before each block
//! barrier, or before a register count change where the warp need not be converged. The hardware may rely on them, so
//! they are added here too, at the end, where no pass moves them away.

use crate::effects::{Effects, Finishing};
use crate::tables::Tables;
use crate::words::Nop;
use oriole_ori::{BlockId, MachineInstruction, Origin};
use oriole_sass::form::Table;
use oriole_sass::register::{PT, RZ};
use oriole_sass::{Class, Control, EncodeError, Guard, Instruction, Mod, Mods, Op, Operand, OperandKind};
use smallvec::smallvec;

/// Inserts the workarounds of the chip.
///
/// # Errors
/// The chip marks entries and has no shuffle.
pub fn insert(finishing: &mut Finishing, tables: &Tables, nop: &Nop) -> Result<(), EncodeError> {
    if tables.marks_entries {
        mark_entry(finishing, tables)?;
    }
    if tables.pauses_before_barriers {
        pause_before(finishing, nop, |_, instruction| instruction.op == Op::BAR);
    }
    pause_before(finishing, nop, |before, instruction| {
        let gathered = || before.iter().any(|machine| machine.instruction.op == Op::WARPSYNC);
        instruction.op == Op::USETMAXREG && !gathered()
    });
    Ok(())
}

/// The mark is the second instruction of a kernel, after the stack setup, and the first of other functions.
fn mark_entry(finishing: &mut Finishing, tables: &Tables) -> Result<(), EncodeError> {
    let mut all = finishing.function.blocks.iter().flat_map(|block| &block.instructions);
    let returns = all.any(|machine| machine.instruction.op == Op::RET);
    let Some(block) = finishing.function.blocks.get_mut(BlockId(0)) else { return Ok(()) };
    let passes = |machine: &MachineInstruction| {
        let Instruction { op, mods, .. } = &machine.instruction;
        !matches!(op.info().class(mods), Class::Control | Class::Fence)
    };
    let at = usize::from(!returns && block.instructions.first().is_some_and(passes));
    let origin = block.instructions.first().map_or(Origin(0), |first| first.origin);
    let mark = mark(tables.forms, origin)?;
    finishing.effects[BlockId(0)].insert(at, Effects::new(tables.latency, tables.forms, &mark));
    block.instructions.insert(at, mark);
    Ok(())
}

/// `@!PT SHFL.IDX PT, RZ, RZ, RZ, RZ`.
fn mark(forms: &'static Table, origin: Origin) -> Result<MachineInstruction, EncodeError> {
    let zero = || Operand::plain(OperandKind::Reg(RZ));
    let shuffle = Instruction {
        guard: Guard { uniform: false, register: PT, negated: true },
        op: Op::SHFL,
        mods: Mods::of(&[Mod::IDX]),
        operands: smallvec![Operand::plain(OperandKind::Pred(PT)), zero(), zero(), zero(), zero()],
        control: Control::NEUTRAL,
    };
    MachineInstruction::new(forms, shuffle, origin)
}

/// Inserts a pause before the instructions that need one, given those of the block before them.
fn pause_before(
    finishing: &mut Finishing,
    nop: &Nop,
    wants: impl Fn(&[MachineInstruction], &Instruction) -> bool,
) {
    for (block, effects) in finishing.function.blocks.iter_mut().zip(finishing.effects.iter_mut()) {
        // From the end on, so that indices stay valid.
        for at in (0..block.instructions.len()).rev() {
            let (before, rest) = block.instructions.split_at(at);
            if wants(before, &rest[0].instruction) {
                let pause = nop.beside(&block.instructions[at], Control::NEUTRAL);
                block.instructions.insert(at, pause);
                effects.insert(at, nop.effects().clone());
            }
        }
    }
}
