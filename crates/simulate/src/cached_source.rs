//! Registers that an instruction reads through the operand cache, as its form and its flags say. The cache itself is in
//! `operand_cache`.

use oriole_latency::{Model, operand_cache};
use oriole_sass::form::Form;
use oriole_sass::register::RZ;
use oriole_sass::{Instruction, OperandKind};

/// A register that an instruction reads through the operand cache.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Source {
    pub double: bool,
    pub slot: usize,
    pub first: u8,
    pub registers: u8,
    pub keep: bool,
}

/// The sources of an instruction that go through the cache.
pub(crate) fn sources(model: &Model, form: &Form, instruction: &Instruction) -> Vec<Source> {
    let mut list = Vec::new();
    let class = model.class(instruction.op, &instruction.mods);
    for (slot, &at) in form.reuse.iter().enumerate() {
        let Some(operand) = instruction.operands.get(usize::from(at)) else { continue };
        let OperandKind::Reg(first) = operand.kind else { continue };
        let cached = operand_cache(class, slot);
        if let Some(cached) = cached.filter(|_| first != RZ) {
            list.push(Source {
                double: cached.double,
                slot,
                first,
                registers: cached.registers,
                keep: operand.reuse,
            });
        }
    }
    list
}
