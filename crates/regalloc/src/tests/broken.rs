//! The checker against allocations that were broken on purpose: each mutation must be found whenever it matters.

use crate::allocation::{Allocation, Prepared};
use crate::check::{ProblemKind, check};
use crate::tests::random::{Random, function};
use crate::tests::run;
use oriole_chip::Chip;
use oriole_ori::{BlockId, File, Opcode, Value};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

#[test]
fn a_value_in_a_wrong_register_is_found() {
    let mut found = 0;
    let mut tried = 0;
    for seed in 1..=30 {
        let Ok((prepared, allocation, problems)) = run(&function(seed), Some(24)) else { continue };
        assert!(problems.is_empty());
        let mut random = Random::new(seed);
        for _ in 0..4 {
            let mut broken = allocation.clone();
            // Move some general value to its neighbour's register.
            let candidates: Vec<Value> = broken
                .assignment
                .registers
                .keys()
                .filter(|&v| broken.assignment.registers[v].is_some_and(|r| r > 2))
                .filter(|&v| broken.function.values[v].file == File::R)
                .filter(|&v| occurs(&broken.function, v))
                .collect();
            if candidates.is_empty() {
                continue;
            }
            let v = candidates[random.below(candidates.len())];
            broken.assignment.registers[v] = broken.assignment.registers[v].map(|r| r ^ 1);
            tried += 1;
            found += u32::from(!check(Chip::SM_90, &prepared, &broken).is_empty());
        }
    }
    // Some registers hold unknown or unread content, and moving those is not an error.
    assert!(tried > 50 && found * 10 > tried * 6, "{found} of {tried}");
}

fn occurs(function: &oriole_ori::Function, v: Value) -> bool {
    let mut found = false;
    for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
        instruction.for_each_use(|u| found |= u == v);
    }
    found
}

#[test]
fn a_lost_instruction_is_found() {
    for seed in 1..=30 {
        let Ok((prepared, allocation, _)) = run(&function(seed), None) else { continue };
        for block in allocation.function.block_ids() {
            let marks = &allocation.inserted[block];
            let Some(at) = marks.iter().position(|mark| !mark) else { continue };
            let mut broken = allocation.clone();
            broken.function.blocks[block].instructions.remove(at);
            broken.inserted[block].remove(at);
            assert!(!check(Chip::SM_90, &prepared, &broken).is_empty(), "seed {seed} {block}");
        }
    }
}

/// Calls `judge` with the place of each of some reloads.
fn for_each_reload(mut judge: impl FnMut(&Prepared, &Allocation, BlockId, usize)) -> u32 {
    let mut tried = 0;
    for seed in 1..=40 {
        let Ok((prepared, allocation, _)) = run(&function(seed), Some(24)) else { continue };
        for block in allocation.function.block_ids() {
            for at in 0..allocation.inserted[block].len() {
                let instruction = &allocation.function.blocks[block].instructions[at];
                if allocation.inserted[block][at]
                    && instruction.opcode == Opcode::Sass(Op::LDL)
                    && tried <= 60
                {
                    tried += 1;
                    judge(&prepared, &allocation, block, at);
                }
            }
        }
    }
    tried
}

/// The registers that the instruction writes, with the value that each then holds.
fn written(allocation: &Allocation, block: BlockId, at: usize) -> Vec<(Option<u8>, Value)> {
    let mut written = Vec::new();
    allocation.function.blocks[block].instructions[at].for_each_definition(|value| {
        let file = allocation.function.values[value].file;
        if file == File::R {
            let register = allocation.assignment.registers[value];
            written.push((register, allocation.original[value]));
        }
    });
    written
}

/// True if the register holds the value before the instruction, on every path that defines it. Walks backwards;
/// shares nothing with the checker, which walks forwards.
fn still_held(allocation: &Allocation, start: (BlockId, usize), register: Option<u8>, value: Value) -> bool {
    let blocks = &allocation.function.blocks;
    let mut seen: TiVec<BlockId, _> = ti_vec![[false; 2]; blocks.len()];
    // Places, each with whether the register was written with something else further on.
    let mut open = vec![(start.0, start.1, false)];
    while let Some((block, end, mut lost)) = open.pop() {
        let mut settled = false;
        for at in (0..end).rev() {
            let writes = written(allocation, block, at);
            let here = writes.iter().find(|write| write.0 == register);
            if here.is_some_and(|write| write.1 == value) && !lost {
                settled = true;
                break;
            }
            // The input defines the value here, and the register did not get it or did not keep it.
            if !allocation.inserted[block][at] && writes.iter().any(|write| write.1 == value) {
                return false;
            }
            lost |= here.is_some() || blocks[block].instructions[at].call.is_some();
        }
        if settled {
            continue;
        }
        for (from, other) in blocks.iter_enumerated() {
            let leads_here = other.successors.contains(&block);
            if leads_here && !std::mem::replace(&mut seen[from][usize::from(lost)], true) {
                open.push((from, other.instructions.len(), lost));
            }
        }
    }
    true
}

/// A lost reload is found, unless the register held the value anyway, or the value was undefined.
#[test]
fn a_lost_reload_is_found() {
    let mut found = 0;
    let tried = for_each_reload(|prepared, allocation, block, at| {
        let mut broken = allocation.clone();
        broken.function.blocks[block].instructions.remove(at);
        broken.inserted[block].remove(at);
        let is_found = !check(Chip::SM_90, prepared, &broken).is_empty();
        found += u32::from(is_found);
        let needless = written(allocation, block, at)
            .into_iter()
            .all(|(register, value)| still_held(allocation, (block, at), register, value));
        assert!(is_found || needless, "{block}, instruction {at}");
    });
    assert!(tried > 10 && found > 10, "{found} of {tried}");
}

/// The second of two loads by half the lanes must write the registers of the first one; only the old value says so.
#[test]
fn a_half_that_is_loaded_elsewhere_is_found() {
    let text = "kernel params=0 barriers=0
b0:
  u0 = UMOV 0x0 ; 0
  {r1 r2} = LDTM.16dp32bit_t0_t15.x2 [^u0] mem(generic rw ordered) ; 1
  {r1 r2} = LDTM.16dp32bit_t16_t31.x2 [^u0+0x8] mem(generic rw ordered) ; 1
  STS.64 [0x0], {r1 r2} mem(shared w) ; 2
  EXIT ; 3
";
    let function = oriole_ori::parse::parse(text).expect("test input parses");
    let (prepared, allocation, problems) = run(&function, None).expect("allocation");
    assert!(problems.is_empty());
    let mut broken = allocation.clone();
    let first = &mut broken.function.blocks[BlockId(0)].instructions[1];
    assert_eq!(first.opcode, Opcode::Sass(Op::LDTM));
    let values: Vec<Value> = first.destinations[0].values.to_vec();
    let mut moved = Vec::new();
    for value in values {
        let other = broken.function.new_value(File::R, None);
        let register = broken.assignment.registers[value].map(|register| register + 8);
        broken.assignment.registers.push(register);
        broken.original.push(broken.original[value]);
        moved.push(other);
    }
    broken.function.blocks[BlockId(0)].instructions[1].destinations[0].values = moved.into_iter().collect();
    let problems = check(Chip::SM_90, &prepared, &broken);
    assert!(problems.iter().any(|problem| problem.kind == ProblemKind::OldValueDestroyed), "{problems:?}");
}
