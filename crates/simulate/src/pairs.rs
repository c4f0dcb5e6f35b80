//! Distances of a chip's latency tables that the code of a file depends on, with counts: a guess matters where code
//! depends on it.

use crate::lint::{blocks, chip_of};
use crate::program::{Program, Step};
use oriole_cubin::Cubin;
use oriole_latency::{Class, Listed, Model};
use oriole_sass::{Access, RegisterFile, ResultPart};
use std::collections::{BTreeMap, HashMap};

/// The last writer of a register within a block, and whether its result was read since.
struct Writer {
    class: Class,
    part: ResultPart,
    read: bool,
}

/// Number of dependences within a block for each pair of groups: a result of fixed latency and each of its readers, or
/// two writers with no reader between. Empty for chips without latency facts.
pub fn pairs(cubin: &Cubin) -> BTreeMap<Listed, u64> {
    let mut counts = BTreeMap::new();
    let Some(chip) = chip_of(cubin.sm, cubin.accelerated) else { return counts };
    let Some(model) = Model::of(chip) else { return counts };
    for kernel in &cubin.kernels {
        let program = Program::decode(chip, model, &kernel.code);
        for block in blocks(kernel, &program).values() {
            let mut writers = HashMap::new();
            for step in (block.first..block.end).filter_map(|pc| program.get(pc as usize)) {
                reads(model, step, &mut writers, &mut counts);
                writes(model, step, &mut writers, &mut counts);
            }
        }
    }
    counts
}

type Writers = HashMap<(RegisterFile, u8), Writer>;

fn reads(model: &Model, step: &Step, writers: &mut Writers, counts: &mut BTreeMap<Listed, u64>) {
    for access in &step.accesses {
        let Access::Read { file, register, slot } = *access else { continue };
        let Some(writer) = writers.get_mut(&(file, register)) else { continue };
        writer.read = true;
        if let Some(pair) = model.pair_of_read(writer.class, writer.part, step.class, slot) {
            *counts.entry(pair).or_default() += 1;
        }
    }
}

fn writes(model: &Model, step: &Step, writers: &mut Writers, counts: &mut BTreeMap<Listed, u64>) {
    for access in &step.accesses {
        let Access::Write { file, register, part } = *access else { continue };
        let written = Writer { class: step.class, part, read: false };
        let Some(before) = writers.insert((file, register), written) else { continue };
        if !before.read
            && let Some(pair) = model.pair_of_writes(before.class, before.part, step.class, part)
        {
            *counts.entry(pair).or_default() += 1;
        }
    }
}
