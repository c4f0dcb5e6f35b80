//! The checker against allocations that were broken on purpose: each mutation must be found whenever it matters.

use crate::check::check;
use crate::tests::random::{Random, function};
use crate::tests::run;
use oriole_ori::File;

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
            // Some value of the general file goes to its neighbour's register.
            let candidates: Vec<usize> = (0..broken.assignment.registers.len())
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
            found += u32::from(!check(&prepared, &broken).is_empty());
        }
    }
    // Some registers hold what nobody knows or reads, and moving those is no mistake.
    assert!(tried > 50 && found * 10 > tried * 6, "{found} of {tried}");
}

fn occurs(function: &oriole_ori::Function, v: usize) -> bool {
    let mut found = false;
    for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
        instruction.for_each_use(|u| found |= u.0 as usize == v);
    }
    found
}

#[test]
fn a_lost_instruction_is_found() {
    for seed in 1..=30 {
        let Ok((prepared, allocation, _)) = run(&function(seed), None) else { continue };
        for block in 0..allocation.function.blocks.len() {
            let marks = &allocation.inserted[block];
            let Some(at) = marks.iter().position(|mark| !mark) else { continue };
            let mut broken = allocation.clone();
            broken.function.blocks[block].instructions.remove(at);
            broken.inserted[block].remove(at);
            assert!(!check(&prepared, &broken).is_empty(), "seed {seed} block {block}");
        }
    }
}

#[test]
fn a_lost_reload_is_found() {
    let mut found = 0;
    let mut tried = 0;
    for seed in 1..=40 {
        let Ok((prepared, allocation, _)) = run(&function(seed), Some(24)) else { continue };
        for block in 0..allocation.function.blocks.len() {
            for at in 0..allocation.inserted[block].len() {
                let instruction = &allocation.function.blocks[block].instructions[at];
                let reload = allocation.inserted[block][at]
                    && instruction.opcode == oriole_ori::Opcode::Sass(oriole_sass::Op::LDL);
                if !reload || tried > 60 {
                    continue;
                }
                let mut broken = allocation.clone();
                broken.function.blocks[block].instructions.remove(at);
                broken.inserted[block].remove(at);
                tried += 1;
                found += u32::from(!check(&prepared, &broken).is_empty());
            }
        }
    }
    assert!(tried > 10 && found * 10 > tried * 6, "{found} of {tried}");
}
