//! About how many bytes the values of queries hold on the heap, for reports of memory; nothing decides by it.
//!
//! It is counted from the lengths of the lists that make nearly all of a value. Data that two values share is
//! counted with each.

use std::mem::size_of;

use oriole_cubin::KernelImage;
use oriole_hir::{Body, Declared, SourceMap};
use oriole_inputs::FunctionUnit;
use oriole_link::debug_info::{CodePlaces, DebugParts, KernelLines};
use oriole_ori::{Function, Instruction, MachineFunction, MachineInstruction};
use oriole_pipeline::Allocated;
use oriole_pipeline::LinkedFunction;
use oriole_pipeline::facts::FunctionFacts;
use oriole_syntax::{NodeOrToken, Parse};

use crate::failure::Staged;

pub(crate) fn list<T>(list: &[T]) -> usize {
    size_of_val(list)
}

fn of<T>(staged: &Staged<T>, weight: impl FnOnce(&T) -> usize) -> usize {
    staged.as_ref().map_or(0, |value| size_of::<T>() + weight(value))
}

pub(crate) fn units(units: &Vec<FunctionUnit<'_>>) -> usize {
    list(units)
}

/// A node or token of the tree takes a header of two words and a slot in its parent, a token its text too.
pub(crate) fn tree(parse: &Parse) -> usize {
    const NODE: usize = 40;
    let mut bytes = 0;
    let mut open = vec![&*parse.green];
    while let Some(node) = open.pop() {
        bytes += NODE;
        for child in node.children() {
            match child {
                NodeOrToken::Node(node) => open.push(node),
                NodeOrToken::Token(token) => bytes += NODE + token.text().len(),
            }
        }
    }
    bytes + list(&parse.errors)
}

pub(crate) fn declared(declared: &std::sync::Arc<[Declared]>) -> usize {
    list(declared)
}

pub(crate) fn resolved(body: Option<&Body>, map: &SourceMap) -> usize {
    let body = body.map_or(0, |body| {
        let operands = |statement: &oriole_hir::Statement| match statement {
            oriole_hir::Statement::Instruction(instruction) => list(&instruction.operands),
            _ => 0,
        };
        list(&body.statements)
            + body.statements.iter().map(operands).sum::<usize>()
            + body.registers.len() * size_of::<oriole_hir::Register>()
            + body.variables.len() * size_of::<oriole_hir::Variable>()
    });
    let names = map.registers.values().map(|name| size_of_val(name) + name.0.len()).sum::<usize>();
    body + list(&map.instructions) + list(&map.statements) + names + list(&map.lines)
}

fn ori(function: &Function) -> usize {
    let spilled = |instruction: &Instruction| {
        let sources = if instruction.sources.spilled() { list(&instruction.sources) } else { 0 };
        sources + if instruction.destinations.spilled() { list(&instruction.destinations) } else { 0 }
    };
    let blocks = function.blocks.iter().map(|block| {
        list(&block.instructions)
            + block.instructions.iter().map(spilled).sum::<usize>()
            + list(&block.phis)
            + if block.successors.spilled() { list(&block.successors) } else { 0 }
    });
    blocks.sum::<usize>()
        + list(&function.blocks.raw)
        + list(&function.values.raw)
        + list(&function.symbols.raw)
}

pub(crate) fn function(staged: &Staged<Function>) -> usize {
    of(staged, ori)
}

pub(crate) fn allocated(staged: &Staged<Allocated>) -> usize {
    of(staged, |allocated| ori(&allocated.function) + allocated.function.values.len() * size_of::<u32>())
}

pub(crate) fn machine(staged: &Staged<MachineFunction>) -> usize {
    let operands = |instruction: &MachineInstruction| {
        let operands = &instruction.instruction.operands;
        if operands.spilled() { list(operands) } else { 0 }
    };
    of(staged, |function| {
        let blocks = function
            .blocks
            .iter()
            .map(|block| list(&block.instructions) + block.instructions.iter().map(operands).sum::<usize>());
        blocks.sum::<usize>() + list(&function.blocks.raw)
    })
}

pub(crate) fn linked(staged: &Staged<LinkedFunction>) -> usize {
    of(staged, |function| {
        let encoded = &function.encoded;
        list(&encoded.words)
            + list(&encoded.relocations)
            + list(&encoded.block_starts.raw)
            + list(&encoded.origins)
            + list(&function.symbols.raw)
            + list(&function.held)
    })
}

pub(crate) fn facts(staged: &Staged<FunctionFacts>) -> usize {
    of(staged, |facts| list(&facts.words) + list(&facts.live) + list(&facts.homes) + list(&facts.spills))
}

pub(crate) fn image(staged: &Staged<KernelImage>) -> usize {
    of(staged, |image| {
        list(&image.code) + list(&image.functions) + list(&image.parameters) + list(&image.constant2)
    })
}

pub(crate) fn lines(staged: &Staged<KernelLines>) -> usize {
    of(staged, |lines| list(&lines.rows) + list(&lines.places))
}

pub(crate) fn places(staged: &Staged<CodePlaces>) -> usize {
    of(staged, |places| {
        list(&places.labels) + list(&places.locals) + list(&places.parameters) + list(&places.registers)
    })
}

pub(crate) fn sections(staged: &Staged<DebugParts>) -> usize {
    of(staged, |parts| {
        parts.sections.iter().map(|section| section.bytes.len()).sum::<usize>() + list(&parts.open)
    })
}

pub(crate) fn bytes(staged: &Staged<Vec<u8>>) -> usize {
    of(staged, |bytes| bytes.len())
}
