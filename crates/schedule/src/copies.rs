//! Loads without effect in front of asynchronous copies.
//!
//! On some chips the code of other compilers has a few loads from shared memory, which no lane executes, before the first
//! copy of every block. Why is not documented; that the copies rely on it cannot be excluded, so they are made here too, at
//! the end, where nothing moves them away.

use crate::Tables;
use crate::effects::{Effects, Finishing};
use oriole_ori::{MachineInstruction, Origin};
use oriole_sass::form::Table;
use oriole_sass::register::{PT, RZ};
use oriole_sass::{Control, EncodeError, Guard, Instruction, Mods, Op, Operand, OperandKind};
use smallvec::smallvec;

/// Inserts as many loads as the chip wants before the first copy of each block.
///
/// # Errors
/// The chip has copies and no load from shared memory.
pub fn insert_loads(finishing: &mut Finishing, tables: &Tables) -> Result<(), EncodeError> {
    let count = usize::from(tables.loads_before_copies);
    if count == 0 {
        return Ok(());
    }
    let blocks = finishing.function.blocks.iter_mut().zip(finishing.effects.iter_mut());
    for (block, effects) in blocks {
        let first = block.instructions.iter().position(|machine| machine.instruction.op == Op::LDGSTS);
        let Some(first) = first else { continue };
        let load = idle_load(tables.forms, block.instructions[first].origin)?;
        let does = Effects::new(tables.latency, tables.forms, &load);
        block.instructions.splice(first..first, std::iter::repeat_n(load, count));
        effects.splice(first..first, std::iter::repeat_n(does, count));
    }
    Ok(())
}

/// `@!PT LDS RZ, [RZ]`: a load that no lane executes.
fn idle_load(forms: &'static Table, origin: Origin) -> Result<MachineInstruction, EncodeError> {
    let address = OperandKind::Memory { descriptor: None, base: Some(RZ), uniform: None, offset: 0 };
    let load = Instruction {
        guard: Guard { uniform: false, register: PT, negated: true },
        op: Op::LDS,
        mods: Mods::none(),
        operands: smallvec![Operand::plain(OperandKind::Reg(RZ)), Operand::plain(address)],
        control: Control::NEUTRAL,
    };
    MachineInstruction::new(forms, load, origin)
}
