//! Finished machine code as blocks with their loops, for statistics of any cubin: the compiler's information is lost
//! there. Symbolic operands stay integers.

use oriole_chip::{Chip, WordShape};
use oriole_ori::{Block, BlockId, Function, MachineBlock, MachineFunction, MachineInstruction, Origin};
use oriole_sass::register::PT;
use oriole_sass::{EncodeError, Instruction, Op, OperandKind, form};
use std::collections::{BTreeMap, BTreeSet};

/// The code as blocks. `tables` maps the index of an indexed branch to the indices of its possible targets; code
/// reached only by an indexed branch counts as outside of loops.
///
/// # Errors
/// An instruction has no form on the chip.
pub fn decoded(
    chip: Chip,
    code: &[Instruction],
    tables: &BTreeMap<usize, Vec<usize>>,
) -> Result<MachineFunction, EncodeError> {
    let shape = chip.words();
    let forms = form::table(chip).ok_or(EncodeError::UnsupportedChip(chip))?;
    let starts = starts(shape, code, tables);
    let block_of = |index: usize| BlockId::from(starts.partition_point(|&start| start <= index) - 1);
    let mut graph = Function::default();
    let mut function = MachineFunction::default();
    for (at, &start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(code.len());
        let next = next(shape, code, end - 1, tables).into_iter().map(block_of).collect::<BTreeSet<_>>();
        let instructions = code[start..end]
            .iter()
            .map(|instruction| MachineInstruction::new(forms, instruction.clone(), Origin(0)));
        graph.blocks.push(Block { successors: next.iter().copied().collect(), ..Block::default() });
        function.blocks.push(MachineBlock {
            instructions: instructions.collect::<Result<_, _>>()?,
            successors: next.into_iter().collect(),
            loop_depth: 0,
        });
    }
    let graph = graph.graph();
    let loops = graph.loops();
    for (id, block) in function.blocks.iter_mut_enumerated() {
        block.loop_depth = u8::try_from(loops.depth(id)).unwrap_or(u8::MAX);
    }
    Ok(function)
}

/// First instructions of blocks, ascending.
fn starts(shape: WordShape, code: &[Instruction], tables: &BTreeMap<usize, Vec<usize>>) -> Vec<usize> {
    let mut starts = BTreeSet::from([0]);
    starts.extend(tables.values().flatten());
    for (index, instruction) in code.iter().enumerate() {
        starts.extend(target(shape, instruction, index));
        if leaves(instruction.op) || instruction.op == Op::CALL {
            starts.insert(index + 1);
        }
    }
    starts.into_iter().filter(|&start| start < code.len()).collect()
}

/// Possible successors after the last instruction of a block.
fn next(
    shape: WordShape,
    code: &[Instruction],
    last: usize,
    tables: &BTreeMap<usize, Vec<usize>>,
) -> BTreeSet<usize> {
    let instruction = &code[last];
    let mut next: BTreeSet<usize> = target(shape, instruction, last).into_iter().collect();
    next.extend(tables.get(&last).into_iter().flatten());
    if !leaves(instruction.op) || conditional(instruction) {
        next.insert(last + 1);
    }
    next.retain(|&index| index < code.len());
    next
}

/// Target of a branch or call.
fn target(shape: WordShape, instruction: &Instruction, index: usize) -> Option<usize> {
    if !matches!(instruction.op, Op::BRA | Op::JMP | Op::CALL) {
        return None;
    }
    instruction.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Target(distance) => {
            shape.beginning_at(shape.end(index as u32) + distance).map(|index| index as usize)
        }
        _ => None,
    })
}

fn leaves(op: Op) -> bool {
    matches!(op, Op::BRA | Op::JMP | Op::BRX | Op::EXIT | Op::RET | Op::KILL)
}

/// True if the instruction may have no effect: by its guard, or by a predicate operand.
fn conditional(instruction: &Instruction) -> bool {
    instruction.guard.register != PT
        || instruction.guard.negated
        || instruction.operands.iter().any(|operand| match operand.kind {
            OperandKind::Pred(register) | OperandKind::UPred(register) => register != PT || operand.invert,
            OperandKind::UReg(_) => true,
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Depths of code given as lines of text.
    fn depths(lines: &[&str], tables: &BTreeMap<usize, Vec<usize>>) -> Vec<u8> {
        let parse = |(index, line): (usize, &&str)| {
            oriole_sass::parse(Chip::SM_90, line, Some(16 * index as u64))
                .unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        let code: Vec<_> = lines.iter().enumerate().map(parse).collect();
        let blocks = decoded(Chip::SM_90, &code, tables).expect("forms").blocks;
        blocks.iter().flat_map(|block| block.instructions.iter().map(|_| block.loop_depth)).collect()
    }

    #[test]
    fn loops_of_finished_code() {
        let none = BTreeMap::new();
        let nop = "NOP";
        let inner = "@P0 BRA 0x10";
        let outer = "@P1 BRA 0x0";
        assert_eq!(depths(&[nop, nop, inner, outer, "EXIT"], &none), [1, 2, 2, 1, 0]);
        // A branch back from the end into the middle closes no loop.
        assert_eq!(depths(&["@P0 BRA 0x40", nop, nop, "EXIT", nop, "BRA 0x20"], &none), [0; 6]);
        assert_eq!(depths(&[], &none), [0; 0]);
        // A loop around an indexed branch is one.
        let table = BTreeMap::from([(1, vec![2, 4])]);
        let code = [nop, "BRX R2 0x0", nop, "BRA 0x0", nop, "@P0 BRA 0x0", "EXIT"];
        assert_eq!(depths(&code, &table), [1, 1, 1, 1, 1, 1, 0]);
    }
}
