//! Allocation time of large functions, to check that it is linear in the size; the checker runs separately and is not
//! counted. Nothing is asserted about time.
//!
//! `cargo run --release -p oriole-regalloc --example large`

use oriole_chip::Chip;
use oriole_options::AllocateOptions;
use oriole_ori::{
    Block, BlockId, Destination, File, Function, Guard, Instruction, Origin, Source, SourceKind, Value,
};
use oriole_sass::Op;

fn add(d: Value, a: Value, b: Value) -> Instruction {
    let mut instruction = Instruction::new(Op::IADD3, Origin(0));
    instruction.destinations.push(Destination::new(File::R, [d]));
    instruction.sources.extend([
        Source::value(a),
        Source::value(b),
        Source::plain(SourceKind::Zero(File::R)),
    ]);
    instruction
}

/// One block: each instruction adds an old value to the last result.
fn straight(count: usize, window: usize) -> Function {
    let mut function = Function { is_entry: true, ..Function::default() };
    let values: Vec<Value> = (0..count).map(|_| function.new_value(File::R, None)).collect();
    let mut block = Block::default();
    let mut first = Instruction::new(Op::MOV, Origin(0));
    first.destinations.push(Destination::new(File::R, [values[0]]));
    first.sources.push(Source::imm(1));
    block.instructions.push(first);
    for k in 1..count {
        block.instructions.push(add(values[k], values[k - 1], values[k.saturating_sub(1 + k * 7 % window)]));
    }
    block.instructions.push(Instruction::new(Op::EXIT, Origin(0)));
    function.blocks.push(block);
    function
}

/// A ladder of blocks, each conditional, with values live throughout.
fn ladder(count: usize, carried: usize) -> Function {
    let mut function = Function { is_entry: true, ..Function::default() };
    let values: Vec<Value> = (0..carried).map(|_| function.new_value(File::R, None)).collect();
    let predicate = function.new_value(File::P, None);
    for index in 0..count as u32 {
        let mut block = Block::default();
        let k = index as usize;
        block.instructions.push(add(
            values[k % carried],
            values[(k + 1) % carried],
            values[(k * 5 + 3) % carried],
        ));
        let mut set = Instruction::new(Op::ISETP, Origin(0));
        set.destinations.push(Destination::new(File::P, [predicate]));
        set.sources.push(Source::value(values[(k * 3) % carried]));
        block.instructions.push(set);
        if index + 2 < count as u32 {
            let mut jump = Instruction::new(Op::BRA, Origin(0));
            jump.guard = Some(Guard { value: predicate, negated: false });
            jump.sources.push(Source::plain(SourceKind::Block(BlockId(index + 2))));
            block.instructions.push(jump);
            block.successors = [BlockId(index + 2), BlockId(index + 1)].into_iter().collect();
        } else if index + 1 < count as u32 {
            block.successors = [BlockId(index + 1)].into_iter().collect();
        } else {
            block.instructions.push(Instruction::new(Op::EXIT, Origin(0)));
        }
        function.blocks.push(block);
    }
    function
}

fn main() -> Result<(), oriole_regalloc::AllocateError> {
    for (name, function) in [
        ("straight 25k", straight(25_000, 200)),
        ("straight 100k", straight(100_000, 200)),
        ("straight 100k, spilling", straight(100_000, 2000)),
        ("ladder 2k", ladder(2_000, 60)),
        ("ladder 10k", ladder(10_000, 60)),
        ("ladder 10k, spilling", ladder(10_000, 400)),
    ] {
        let options = |check| AllocateOptions { check, ..oriole_options::Options::default().allocate() };
        let start = std::time::Instant::now();
        let allocation = oriole_regalloc::assign(&function, Chip::SM_90, &options(false))?;
        let took = start.elapsed();
        oriole_regalloc::assign(&function, Chip::SM_90, &options(true))?;
        let assignment = &allocation.assignment;
        println!("{name}: {took:?}, {} stores, {} loads", assignment.spill_stores, assignment.spill_loads);
    }
    Ok(())
}
