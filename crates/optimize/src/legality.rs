//! Asks the form table whether an instruction of Ori can be written, before it has registers.
//!
//! It is here because every pass that puts an immediate, a constant or a sign into an operand must ask the same
//! question. No choice may enter: the answer is that of the table.

use oriole_chip::Chip;
use oriole_ori::{ConstBase, File, Function, Instruction, Opcode, Source, SourceKind, SymbolKind};
use oriole_sass::{Op, Operand, OperandKind};
use smallvec::SmallVec;

/// True if the chip has a form for the instruction, whatever registers it gets. Pseudo-operations have none.
pub fn is_legal(chip: Chip, function: &Function, instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
    let mut symbolic = 0;
    for destination in &instruction.destinations {
        operands.push(Operand::plain(register(destination.file, destination.values.is_empty())));
    }
    for source in &instruction.sources {
        let Some(kind) = kind(function, op, source, &mut symbolic) else { return false };
        operands.push(source.operand(kind));
    }
    // A word has one place that a layout may fill in later.
    if symbolic > 1 {
        return false;
    }
    if oriole_sass::legal(chip, op, &instruction.mods, &operands).is_ok() {
        return true;
    }
    // An immediate of Ori is bits; the form says whether it is an integer, a float, or two halves.
    let Some(at) = instruction.sources.iter().position(|source| matches!(source.kind, SourceKind::Imm(_)))
    else {
        return false;
    };
    let SourceKind::Imm(bits) = instruction.sources[at].kind else { return false };
    let at = at + instruction.destinations.len();
    operands[at].kind = OperandKind::Float(bits);
    if oriole_sass::legal(chip, op, &instruction.mods, &operands).is_ok() {
        return true;
    }
    operands[at].kind = OperandKind::Float(bits >> 16);
    operands.insert(at + 1, Operand::plain(OperandKind::Float(bits & 0xffff)));
    oriole_sass::legal(chip, op, &instruction.mods, &operands).is_ok()
}

/// The lowest register of the file, or the one that reads as zero or true.
fn register(file: File, neutral: bool) -> OperandKind {
    match file {
        File::R => OperandKind::Reg(if neutral { oriole_sass::roles::RZ } else { 0 }),
        File::UR => OperandKind::UReg(if neutral { oriole_sass::roles::URZ } else { 0 }),
        File::P => OperandKind::Pred(if neutral { oriole_sass::roles::PT } else { 0 }),
        File::UP => OperandKind::UPred(if neutral { oriole_sass::roles::PT } else { 0 }),
        File::B => OperandKind::Barrier(0),
    }
}

fn kind(function: &Function, op: Op, source: &Source, symbolic: &mut u32) -> Option<OperandKind> {
    let mut based = |base: ConstBase, offset: i32| {
        if base == ConstBase::Bank {
            offset
        } else {
            *symbolic += 1;
            0
        }
    };
    Some(match &source.kind {
        SourceKind::Values(values) => register(function.file(*values.first()?), false),
        SourceKind::Zero(file) | SourceKind::True(file) => register(*file, true),
        SourceKind::Imm(bits) => OperandKind::Imm(i64::from(*bits as i32)),
        SourceKind::Literal(number) => OperandKind::Imm(*number),
        SourceKind::Const { bank, base, offset } => {
            OperandKind::Const { bank: *bank, offset: based(*base, *offset) }
        }
        SourceKind::ConstIndexed(place) => {
            let oriole_ori::IndexedConst { bank, base, index, offset } = &**place;
            let (bank, offset) = (*bank, based(*base, *offset));
            match function.file(*index) {
                File::UR => OperandKind::ConstUniformIndexed { bank, index: 0, offset },
                _ => OperandKind::ConstIndexed { bank, index: 0, offset },
            }
        }
        SourceKind::Address(address) => {
            let oriole_ori::Address { descriptor, base, uniform, symbol, offset } = &**address;
            *symbolic += u32::from(symbol.is_some());
            OperandKind::Memory {
                descriptor: descriptor.as_ref().map(|_| 0),
                base: (!base.is_empty()).then_some(0),
                uniform: (!uniform.is_empty()).then_some(0),
                offset: if symbol.is_some() { 0 } else { *offset },
            }
        }
        SourceKind::Address32 { symbol, .. } => {
            if matches!(function.symbols[symbol.0 as usize].kind, SymbolKind::Local(_)) {
                return None;
            }
            *symbolic += 1;
            OperandKind::Imm(0)
        }
        SourceKind::Block(_) | SourceKind::Callee(_) | SourceKind::KernelStart => {
            *symbolic += 1;
            OperandKind::Target(0)
        }
        SourceKind::ReturnAddress(_) => {
            *symbolic += 1;
            if op == Op::LEPC { OperandKind::Target(0) } else { OperandKind::Imm(0) }
        }
        SourceKind::Symbol(symbol) => OperandKind::Symbol(*symbol),
    })
}
