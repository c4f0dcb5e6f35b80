//! Random functions: any graph, values with many definitions, guarded results, tuples, calls, parallel copies.

use crate::allocation::Prepared;
use crate::driver::prepare;
use crate::linear_scan::ScanInputs;
use crate::one_file::{general, usable};
use crate::reallocate::start;
use crate::tests::run;
use crate::work::Work;
use oriole_chip::Chip;
use oriole_ori::{
    Block, BlockId, CallShape, Destination, File, Function, Guard, Instruction, Opcode, Origin, Pseudo,
    Source, SourceKind, SymbolKind, SymbolRef, Value,
};
use oriole_sass::Op;

/// A small random number generator, so that a failing seed can be named.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn distinct(random: &mut Random, pool: &[Value], count: usize) -> Vec<Value> {
    let mut list = pool.to_vec();
    (0..count).map(|_| list.swap_remove(random.below(list.len()))).collect()
}

fn any(random: &mut Random, pool: &[Value]) -> Value {
    pool[random.below(pool.len())]
}

fn width(random: &mut Random) -> usize {
    [1, 1, 1, 1, 2, 2, 3, 4][random.below(8)]
}

/// A random function. Every block can be reached from the entry; the entry has no predecessor.
pub fn function(seed: u64) -> Function {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut function = Function { is_entry: random.chance(70), ..Function::default() };
    let pool = |function: &mut Function, file: File, count: usize| -> Vec<Value> {
        (0..count).map(|_| function.new_value(file, None)).collect()
    };
    let (general, predicates) = (8 + random.below(50), 2 + random.below(14));
    let general = pool(&mut function, File::R, general);
    let predicates = pool(&mut function, File::P, predicates);
    let uniform = if random.chance(30) { 70 } else { 6 };
    let uniform = pool(&mut function, File::UR, uniform);
    let count = 1 + random.below(9);
    for index in 0..count {
        let mut block = Block::default();
        for _ in 0..random.below(14) {
            block.instructions.push(instruction(random, &general, &predicates, &uniform, index == 0));
        }
        // Edges: forward so that everything is reachable, sometimes back.
        let last = index + 1 == count;
        let mut successors = oriole_ori::Successors::new();
        if !last {
            successors.push(BlockId(index as u32 + 1));
        }
        if random.chance(60) && count > 1 {
            let target = if random.chance(35) && index > 0 {
                1 + random.below(index)
            } else {
                (index + 1 + random.below(count)).min(count - 1).max(1)
            };
            successors.insert(0, BlockId(target as u32));
        }
        if random.chance(50) && !successors.is_empty() {
            let many = 1 + random.below(5);
            let to = distinct(random, &general, many);
            let mut copy = Instruction::new(Pseudo::ParallelCopy, Origin(0));
            for d in to {
                copy.destinations.push(Destination::new(File::R, [d]));
                copy.sources.push(match random.below(6) {
                    0 => Source::imm(random.below(3) as u32),
                    _ => Source::value(any(random, &general)),
                });
            }
            for d in distinct(random, &predicates, 2) {
                copy.destinations.push(Destination::new(File::P, [d]));
                copy.sources.push(match random.below(6) {
                    0 => Source::plain(SourceKind::True(File::P)),
                    1 => Source { invert: true, ..Source::plain(SourceKind::True(File::P)) },
                    _ => Source::value(any(random, &predicates)),
                });
            }
            block.instructions.push(copy);
        }
        match successors.as_slice() {
            [taken, _] => {
                let mut jump = Instruction::new(Op::BRA, Origin(0));
                jump.guard = Some(Guard { value: any(random, &predicates), negated: random.chance(50) });
                jump.sources.push(Source::plain(SourceKind::Block(*taken)));
                block.instructions.push(jump);
            }
            [only] if random.chance(50) || only.0 != index as u32 + 1 => {
                let mut jump = Instruction::new(Op::BRA, Origin(0));
                jump.sources.push(Source::plain(SourceKind::Block(*only)));
                block.instructions.push(jump);
            }
            [] if function.is_entry => block.instructions.push(Instruction::new(Op::EXIT, Origin(0))),
            [] => {
                let mut back = Instruction::new(Pseudo::Return, Origin(0));
                back.sources.push(Source::value(any(random, &general)));
                block.instructions.push(back);
            }
            _ => {}
        }
        block.successors = successors;
        function.blocks.push(block);
    }
    function
}

fn instruction(
    random: &mut Random,
    general: &[Value],
    predicates: &[Value],
    uniform: &[Value],
    first: bool,
) -> Instruction {
    if random.chance(6) {
        // A constant: may be rematerialized.
        let mut made = Instruction::new(Op::MOV, Origin(0));
        made.destinations.push(Destination::new(File::R, [any(random, general)]));
        made.sources.push(Source::imm(random.below(5) as u32));
        return made;
    }
    if random.chance(5) {
        return call(random, general);
    }
    if random.chance(6) {
        let mut copy = Instruction::new(Pseudo::Copy, Origin(0));
        copy.destinations.push(Destination::new(File::R, [any(random, general)]));
        copy.sources.push(Source::value(any(random, general)));
        return copy;
    }
    if first && random.chance(10) {
        let mut unknown = Instruction::new(Pseudo::Undefined, Origin(0));
        unknown.destinations.push(Destination::new(File::R, [any(random, general)]));
        return unknown;
    }
    let mut instruction = Instruction::new(Op::IMAD, Origin(0));
    if random.chance(70) {
        let count = width(random);
        instruction.destinations.push(Destination::new(File::R, distinct(random, general, count)));
    }
    if random.chance(25) {
        instruction.destinations.push(Destination::new(File::P, [any(random, predicates)]));
    }
    if first && random.chance(20) {
        let count = 1 + random.below(2);
        instruction.destinations.clear();
        instruction.destinations.push(Destination::new(File::UR, distinct(random, uniform, count)));
    }
    for _ in 0..random.below(4) {
        let source = match random.below(10) {
            0 => Source::imm(7),
            1 => Source::value(any(random, predicates)),
            2 => Source::value(any(random, uniform)),
            3 => {
                let base: Vec<Value> = (0..1 + random.below(2)).map(|_| any(random, general)).collect();
                let descriptor: Vec<Value> = distinct(random, uniform, 2);
                Source::plain(SourceKind::Address(Box::new(oriole_ori::Address {
                    descriptor: random.chance(50).then(|| descriptor.into_iter().collect()),
                    base: base.into_iter().collect(),
                    uniform: oriole_ori::Values::new(),
                    symbol: None,
                    offset: 4,
                })))
            }
            // A tuple may name a value twice.
            _ => {
                let count = width(random);
                Source::values((0..count).map(|_| any(random, general)).collect::<Vec<_>>())
            }
        };
        instruction.sources.push(source);
    }
    let uniform_result = instruction.destinations.first().is_some_and(|d| d.file == File::UR);
    if random.chance(25) && !uniform_result {
        instruction.guard = Some(Guard { value: any(random, predicates), negated: random.chance(50) });
    }
    instruction
}

fn call(random: &mut Random, general: &[Value]) -> Instruction {
    let mut call = Instruction::new(Pseudo::Call, Origin(0));
    for _ in 0..random.below(4) {
        call.sources.push(Source::value(any(random, general)));
    }
    let results = random.below(3);
    for d in distinct(random, general, results) {
        call.destinations.push(Destination::new(File::R, [d]));
    }
    call.call = Some(Box::new(CallShape {
        callee: None,
        stack_bytes: 0,
        clobbers: crate::abi::clobbers(),
        clobbered_predicates: 0x7f,
        clobbers_uniform: random.chance(50),
        ..CallShape::default()
    }));
    // An indirect call: the target pair is last.
    call.sources.push(Source::values(distinct(random, general, 2)));
    call
}

/// The function with calls of routines instead of some calls; each states its clobbers, few enough that its
/// caller has registers left.
fn with_routines(mut function: Function, seed: u64) -> Function {
    let random = &mut Random::new(seed);
    function.symbols.push(SymbolRef {
        name: "oriole.routine".to_owned(),
        kind: SymbolKind::Helper,
        align: 1,
    });
    for instruction in function.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        if instruction.opcode != Opcode::Pseudo(Pseudo::Call) || random.chance(30) {
            continue;
        }
        instruction.opcode = Pseudo::CallHelper.into();
        instruction.call = Some(Box::new(CallShape {
            callee: Some(oriole_ori::SymbolId(0)),
            stack_bytes: 0,
            clobbers: [(1 << (9 + random.below(12))) - 1 - 2, 0, 0, 0],
            clobbered_predicates: random.below(16) as u8,
            clobbers_uniform: false,
            ..CallShape::default()
        }));
    }
    function
}

/// With more held values than registers, every allocation uses the frame.
#[test]
fn held_values_are_in_registers_or_in_the_frame() {
    let mut beyond = 0;
    for seed in 1..=120 {
        let mut input = function(seed);
        // Constants, which can be rematerialized at their uses; most other values are defined from the start.
        let values: Vec<Value> = input.values.keys().filter(|&v| input.file(v) == File::R).collect();
        let constants: Vec<Value> = (0..24).map(|_| input.new_value(File::R, None)).collect();
        let write = |op: Op, v: Value| {
            let mut write = Instruction::new(op, Origin(0));
            write.destinations.push(Destination::new(File::R, [v]));
            write
        };
        let made = constants.iter().map(|&v| {
            let mut made = write(Op::MOV, v);
            made.sources.push(Source::imm(v.0));
            made
        });
        let read = constants.iter().map(|&v| {
            let mut read = Instruction::new(Op::IMAD, Origin(0));
            read.sources.push(Source::value(v));
            read
        });
        let known = values.into_iter().filter(|v| v.0 % 8 != 0).map(|v| write(Op::IMAD, v));
        let first: Vec<Instruction> = made.chain(read).chain(known).collect();
        input.blocks[BlockId(0)].instructions.splice(0..0, first);
        crate::abi::bind(&mut input, Chip::SM_90.register_files()).expect("the convention fits");
        let Prepared { function, stack_pointer, frame } =
            prepare(input, Chip::SM_90).expect("a function without phis");
        let before = Work::new(function, stack_pointer, frame.spill_base);
        let inputs = ScanInputs::new(&before, File::R, true);
        for limit in (16..64).step_by(4) {
            if inputs.held <= usable(&before, limit).len() {
                continue;
            }
            let mut work = start(&before, &inputs);
            if general(&mut work, Some(&before), &inputs, limit, false, None).is_ok() {
                beyond += 1;
                assert!(work.stores + work.loads > 0, "seed {seed} limit {limit}: {}", before.function);
            }
        }
    }
    assert!(beyond > 100, "{beyond}: the limits are too wide");
}

#[test]
fn random_functions_are_allocated_right_at_every_limit() {
    let rounds = std::env::var("ORIOLE_ALLOCATION_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut spills = 0;
    let both = |seed| [(seed, function(seed)), (seed, with_routines(function(seed), seed))];
    for (seed, function) in (1..=rounds).flat_map(both) {
        let calls = function
            .blocks
            .iter()
            .flat_map(|b| &b.instructions)
            .any(|i| i.opcode == Opcode::Pseudo(Pseudo::Call));
        let bound = if calls || !function.is_entry { 24 } else { 16 };
        for limit in [None, Some(40), Some(bound)] {
            match run(&function, limit) {
                Ok((_, allocation, problems)) => {
                    assert!(
                        problems.is_empty(),
                        "seed {seed} limit {limit:?}: {}\n{function}\n---\n{}\n{:?}",
                        problems.iter().map(|p| format!("{p}\n")).collect::<String>(),
                        allocation.function,
                        allocation.assignment.registers.iter().enumerate().collect::<Vec<_>>(),
                    );
                    spills += allocation.assignment.spill_stores;
                }
                // Uniform values live across a call in a function have no location.
                Err(crate::AllocateError::Pressure { .. }) => {}
                Err(error) => panic!("seed {seed} limit {limit:?}: {error}\n{function}"),
            }
        }
    }
    assert!(spills > 0, "the limits are too wide to test spilling");
}
