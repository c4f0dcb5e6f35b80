//! Flags of the operand cache: a source is kept where the next instruction that reads the same slot and bank reads the
//! same register. It saves reads of the register file, and with them conflicts of banks; results do not change.
//!
//! The flags are set last, because they depend on the final order and on where the warp may be put aside.

use oriole_latency::{CACHE_SLOTS, Cached, Class, Model, banks};
use oriole_ori::MachineFunction;
use oriole_sass::form::Table;
use oriole_sass::register::RZ;
use oriole_sass::{Access, Op, OperandKind, RegisterFile, accesses, cached_operands};

/// The last reader of a slot and bank since which nothing happened that loses its register.
#[derive(Clone, Copy)]
struct Reader {
    instruction: usize,
    operand: u8,
    first: u8,
    cached: Cached,
}

/// By unit (64-bit floating or not), slot and bank.
type Readers = [[[Option<Reader>; 2]; CACHE_SLOTS]; 2];

/// Sets the flags of all instructions; other fields are final.
pub fn assign(function: &mut MachineFunction, model: &Model, forms: &'static Table) {
    for block in &mut function.blocks {
        let mut last = Readers::default();
        for index in 0..block.instructions.len() {
            let machine = &mut block.instructions[index];
            let instruction = &mut machine.instruction;
            instruction.operands.iter_mut().for_each(|operand| operand.reuse = false);
            let (op, mods) = (instruction.op, &instruction.mods);
            let class = model.class(op, mods);
            let known = model.operand_cache(op, mods, 0).is_some();
            // A form that does not take its instruction is reported where it is encoded.
            let slots = match known {
                true => cached_operands(forms, machine.form, instruction).unwrap_or_default(),
                false => [None; 3],
            };
            let mut keep = Vec::new();
            for (slot, operand) in slots.into_iter().enumerate() {
                let Some(operand) = operand else { continue };
                let OperandKind::Reg(first) = instruction.operands[usize::from(operand)].kind else {
                    continue;
                };
                let Some(cached) = model.operand_cache(op, mods, slot).filter(|_| first != RZ) else {
                    continue;
                };
                let readers = &mut last[usize::from(cached.double)][slot];
                let mine = banks(first, cached.registers);
                let mut same = true;
                for bank in (0..2).filter(|bank| mine >> bank & 1 != 0) {
                    same &= readers[bank].is_some_and(|r| (r.first, r.cached) == (first, cached));
                }
                if let (true, Some(reader)) = (same, readers[usize::from(first % 2)]) {
                    keep.push((reader.instruction, reader.operand));
                }
                for bank in (0..2).filter(|bank| mine >> bank & 1 != 0) {
                    readers[bank] = Some(Reader { instruction: index, operand, first, cached });
                }
            }
            let mut lost = instruction.control.yields;
            lost |= class == Class::Control && !matches!(op, Op::BSSY | Op::WARPSYNC);
            accesses(forms, machine.form, instruction, |access| {
                if let Access::Write { file: RegisterFile::General, register, .. } = access {
                    for reader in last.iter_mut().flatten().flatten() {
                        let overwritten =
                            |r: &mut Reader| register.wrapping_sub(r.first) < r.cached.registers;
                        reader.take_if(|r| overwritten(r));
                    }
                }
            });
            if lost {
                last = Readers::default();
            }
            for (instruction, operand) in keep {
                block.instructions[instruction].instruction.operands[usize::from(operand)].reuse = true;
            }
        }
    }
}
