//! Distances of instructions of Ori: the cycles from the issue of one to that of another that depends on it.
//!
//! It is here because schedulers, estimates and profiles measure with the same figures. Registers and forms are not
//! known yet; the final distances, between machine instructions, are not here.

use crate::graph::Node;
use oriole_latency::{Class, Model, ResultPart, Slot};
use oriole_ori::{File, Instruction, Opcode};

/// Cycles between two instructions joined by an edge.
pub fn latency(model: &Model, from: &Instruction, to: &Instruction, node: Node) -> u32 {
    let (Opcode::Sass(op), Node::Read) = (from.opcode, node) else { return 1 };
    if model.is_variable(op, &from.mods) {
        return u32::from(model.estimate(op));
    }
    let producer = model.class(op, &from.mods);
    let consumer = match to.opcode {
        Opcode::Sass(op) => model.class(op, &to.mods),
        Opcode::Pseudo(_) => Class::Alu,
    };
    let file = from.destinations.first().map_or(File::R, |d| d.file);
    let (part, slot) = match file {
        File::R => (ResultPart::General, Slot::Operand),
        File::P
            if to.guard.is_some_and(|g| from.destinations.iter().any(|d| d.values.contains(&g.value))) =>
        {
            (ResultPart::Predicate, Slot::Guard)
        }
        File::P => (ResultPart::Predicate, Slot::Predicate),
        File::UR => (ResultPart::Uniform, Slot::Uniform),
        File::UP => (ResultPart::UniformPredicate, Slot::UniformPredicate),
        File::B => return 1,
    };
    model.raw(producer, part, consumer, slot).map_or(1, |d| u32::from(d.cycles))
}
