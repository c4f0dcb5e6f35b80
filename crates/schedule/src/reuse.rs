//! Reuse flags of the operand cache: a source is kept where the next instruction that reads the same slot and bank
//! reads the same register. It saves register file reads, and with them bank conflicts; results do not change.
//!
//! The flags are set last, because they depend on the final schedule and on where the warp may be switched out.

use crate::effects::Finishing;
use oriole_latency::{CACHE_SLOTS, Cached, Class, banks, operand_cache};
use oriole_sass::form::Table;
use oriole_sass::register::RZ;
use oriole_sass::{Op, OperandKind, cached_operands};

/// The last reader of a slot and bank whose cached register is still valid.
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
pub fn assign(finishing: &mut Finishing, forms: &'static Table) {
    for (block, effects) in finishing.function.blocks.iter_mut().zip(&finishing.effects) {
        let mut last = Readers::default();
        for (index, e) in effects.iter().enumerate() {
            let machine = &mut block.instructions[index];
            let instruction = &mut machine.instruction;
            instruction.operands.iter_mut().for_each(|operand| operand.reuse = false);
            let known = operand_cache(e.class, 0).is_some();
            // A form that does not take its instruction is reported by the encoder.
            let slots = if known {
                cached_operands(forms, machine.form, instruction).unwrap_or_default()
            } else {
                [None; 3]
            };
            let mut keep = Vec::new();
            for (slot, operand) in slots.into_iter().enumerate() {
                let Some(operand) = operand else { continue };
                let OperandKind::Reg(first) = instruction.operands[usize::from(operand)].kind else {
                    continue;
                };
                let Some(cached) = operand_cache(e.class, slot).filter(|_| first != RZ) else {
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
            lost |= e.class == Class::Control && !matches!(instruction.op, Op::BSSY | Op::WARPSYNC);
            if lost {
                last = Readers::default();
            }
            for register in e.general_writes() {
                for reader in last.iter_mut().flatten().flatten() {
                    reader.take_if(|reader| register.wrapping_sub(reader.first) < reader.cached.registers);
                }
            }
            for (instruction, operand) in keep {
                block.instructions[instruction].instruction.operands[usize::from(operand)].reuse = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
