//! Launches with equal outcomes, even if their chips differ: many chips get the same code, and the simulator reads few
//! facts of a chip.

use crate::launch::Launch;
use crate::launch_limits::fits;
use crate::lint::chip_of;
use crate::program::{Program, Step, is_always};
use oriole_cubin::Cubin;
use oriole_cubin::read::{Kernel, Section, Symbol};
use oriole_latency::{Class, Model};
use oriole_sass::{Access, DecodeError, Op, ResultPart, Slot};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A fingerprint of everything that a run depends on apart from the launch: equal launches of kernels of the same
/// likeness have equal outcomes, messages included. It is valid within a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Likeness([u64; 2]);

/// The likeness of the kernel of a launch, `None` where the launch does not start: the chip's launch limits are not
/// part of it.
pub fn likeness(cubin: &Cubin, launch: &Launch) -> Option<Likeness> {
    let chip = chip_of(cubin.sm, cubin.accelerated)?;
    let (layout, limits, model) = (chip.constant_bank()?, chip.limits()?, Model::of(chip)?);
    let kernel = cubin.kernel(&launch.kernel)?;
    fits(chip, limits, launch, kernel).ok()?;
    let codes = std::iter::once(kernel).chain(&cubin.functions);
    let steps: Vec<_> = codes.flat_map(|code| Program::decode(chip, model, &code.code).steps).collect();
    let multiplies = |step: &Step| is_product(step.instruction.op);
    let unit = steps.iter().flatten().any(multiplies).then(|| chip.matrix_unit());
    // Two hashes, so that collisions of different kernels are out of the question.
    Some(Likeness([0u8, 1].map(|number| {
        let mut hash = DefaultHasher::new();
        number.hash(&mut hash);
        (chip.words(), layout, limits.static_shared_start, unit, chip.driver_keeps_from_32()).hash(&mut hash);
        contents(cubin, kernel, &mut hash);
        instructions(model, &steps, &mut hash);
        hash.finish()
    })))
}

/// True for instructions that depend on how the chip rounds sums of an MMA.
fn is_product(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        HMMA | IMMA
            | DMMA
            | BMMA
            | QMMA
            | OMMA
            | HGMMA
            | IGMMA
            | BGMMA
            | QGMMA
            | UTCHMMA
            | UTCQMMA
            | UTCIMMA
            | UTCOMMA
    )
}

/// The parts of the file that become memory, code or the launch of the kernel.
fn contents(cubin: &Cubin, kernel: &Kernel, hash: &mut DefaultHasher) {
    for code in std::iter::once(kernel).chain(&cubin.functions) {
        // Fields that do not affect a run are left out by name, so that a new field is not forgotten.
        let Kernel {
            name,
            symbol: _,
            text,
            code,
            functions: _,
            info: _,
            registers,
            frame_size: _,
            stack_size,
            barriers: _,
            shared_size,
            parameters,
            opaque_parameters,
            parameter_base,
            parameter_size,
            constant2,
            bound,
            cluster_size,
            indirect_branches: _,
        } = code;
        (name, code, registers, stack_size, shared_size, parameters, opaque_parameters).hash(hash);
        (parameter_base, parameter_size, constant2, bound, cluster_size).hash(hash);
        section(cubin, *text, false, hash);
    }
    let bank = format!(".nv.constant0.{}", kernel.name);
    let memory = [&*bank, ".nv.constant3", ".nv.constant4", ".nv.global", ".nv.global.init"];
    for (at, part) in cubin.sections.iter().enumerate() {
        if memory.contains(&part.name.as_str()) {
            section(cubin, at, true, hash);
        }
    }
    // Undefined symbols are known by their index.
    for (at, symbol) in cubin.symbols.iter().enumerate().filter(|(_, symbol)| symbol.section == 0) {
        (at, &symbol.name).hash(hash);
    }
}

/// A section and its relocations.
fn section(cubin: &Cubin, at: usize, with_bytes: bool, hash: &mut DefaultHasher) {
    let Section { name, size, data, relocations, .. } = &cubin.sections[at];
    (name, size, with_bytes.then_some(data)).hash(hash);
    for relocation in relocations {
        let Symbol { name, section, value, .. } = &cubin.symbols[relocation.symbol];
        let within = &cubin.sections[*section].name;
        (relocation.offset, relocation.number, relocation.addend, relocation.symbol).hash(hash);
        (name, within, value).hash(hash);
    }
}

/// The model of the instructions, and the distances that they need from each other.
fn instructions(model: &Model, steps: &[Result<Step, DecodeError>], hash: &mut DefaultHasher) {
    (model.barrier_reads_memory(), model.accepted_jump(1)).hash(hash);
    let mut written: BTreeSet<(Class, ResultPart)> = BTreeSet::new();
    let mut read: BTreeSet<(Class, Slot)> = BTreeSet::new();
    for step in steps {
        let step = match step {
            Ok(step) => step,
            Err(error) => {
                error.to_string().hash(hash);
                continue;
            }
        };
        let Step { instruction, class, variable, estimate, queue, read_queue, accesses, cached } = step;
        (instruction, class, variable, estimate, queue, read_queue, accesses, cached).hash(hash);
        let guarded = !is_always(instruction.guard);
        model.accepted_stall(instruction.op, &instruction.mods, guarded).hash(hash);
        for access in accesses {
            match *access {
                Access::Write { part, .. } => written.insert((*class, part)),
                Access::Read { slot, .. } => read.insert((*class, slot)),
            };
        }
    }
    for &(first, part) in &written {
        for &(second, slot) in &read {
            cycles(model.raw(first, part, second, slot)).hash(hash);
            model.war(second, slot, first, part).hash(hash);
        }
        for &(second, later) in &written {
            cycles(model.waw(first, part, second, later)).hash(hash);
            cycles(model.raw(first, part, second, Slot::Operand)).hash(hash);
        }
    }
}

/// The cycles of a distance, without its origin.
fn cycles(distance: Option<oriole_latency::Distance>) -> Option<u8> {
    distance.map(|distance| distance.cycles)
}
