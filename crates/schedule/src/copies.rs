//! Dummy loads before asynchronous copies.
//!
//! Code of ptxas has a few loads from shared memory that no lane executes: on some chips before the first copy of
//! every block, on others before each signal that copies are complete. The reason is not documented; the copies may
//! rely on them, so they are added here too, at the end, where no pass moves them away.

use crate::effects::{Effects, Finishing};
use crate::tables::Tables;
use oriole_ori::{MachineInstruction, Origin};
use oriole_sass::form::Table;
use oriole_sass::register::{PT, RZ};
use oriole_sass::{Control, EncodeError, Guard, Instruction, Mods, Op, Operand, OperandKind};
use smallvec::smallvec;

/// Inserts the dummy loads of the chip before the first copy of each block, and before each signal of copies.
///
/// # Errors
/// The chip has copies and no load from shared memory.
pub fn insert_loads(finishing: &mut Finishing, tables: &Tables) -> Result<(), EncodeError> {
    let (copies, signals) = (tables.loads_before_copies, tables.loads_before_signals);
    if copies == 0 && signals == 0 {
        return Ok(());
    }
    let blocks = &finishing.function.blocks;
    let copies_at_all = blocks.iter().flat_map(|block| &block.instructions).any(is_copy);
    if !copies_at_all {
        return Ok(());
    }
    let blocks = finishing.function.blocks.iter_mut().zip(finishing.effects.iter_mut());
    for (block, effects) in blocks {
        let first = block.instructions.iter().position(is_copy).filter(|_| copies != 0);
        let mut places: Vec<(usize, u8)> = first.map(|at| (at, copies)).into_iter().collect();
        if signals != 0 {
            let found =
                block.instructions.iter().enumerate().filter(|(_, it)| it.instruction.op == Op::ARRIVES);
            places.extend(found.map(|(at, _)| (at, signals)));
        }
        // From the end on, so that indices stay valid.
        places.sort_unstable();
        for (at, count) in places.into_iter().rev() {
            let load = idle_load(tables.forms, block.instructions[at].origin)?;
            let does = Effects::new(tables.latency, tables.forms, &load);
            block.instructions.splice(at..at, std::iter::repeat_n(load, count.into()));
            effects.splice(at..at, std::iter::repeat_n(does, count.into()));
        }
    }
    Ok(())
}

fn is_copy(machine: &MachineInstruction) -> bool {
    machine.instruction.op == Op::LDGSTS
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
