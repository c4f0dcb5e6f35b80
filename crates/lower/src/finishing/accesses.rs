//! Modifiers that some chips require on each access.

use crate::context::Lower;
use oriole_ori::Opcode;
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};

/// Adds modifiers that some chips require on each access: the scope (the system for weak accesses), and the `.U`
/// of loads from shared memory, which ptxas always writes.
pub(crate) fn complete_accesses(cx: &mut Lower<'_>) {
    let (names_scopes, marks_loads) = (!loads(cx, Op::LDG, Mod::E), loads(cx, Op::LDS, Mod::U));
    if !names_scopes && !marks_loads {
        return;
    }
    let function = cx.b.function_mut();
    for block in function.block_ids() {
        for instruction in &mut function.block_mut(block).instructions {
            let scopes = [Mod::CTA, Mod::SM, Mod::GPU, Mod::SYS];
            match instruction.opcode {
                Opcode::Sass(Op::LD | Op::LDG | Op::ST | Op::STG)
                    if names_scopes && !scopes.iter().any(|&scope| instruction.mods.has(scope)) =>
                {
                    instruction.mods.insert(Mod::SYS);
                }
                Opcode::Sass(Op::LDS) if marks_loads => instruction.mods.insert(Mod::U),
                _ => {}
            }
        }
    }
}

/// True if the opcode loads from an address in a register with just this modifier.
fn loads(cx: &Lower<'_>, op: Op, modifier: Mod) -> bool {
    let place = OperandKind::Memory { descriptor: None, base: Some(0), uniform: None, offset: 0 };
    let operands = [MachineOperand::plain(OperandKind::Reg(0)), MachineOperand::plain(place)];
    cx.is_legal(op, &Mods::of(&[modifier]), &operands)
}
