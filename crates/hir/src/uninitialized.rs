//! Registers that are read before they are written, and instructions that control never reaches.
//!
//! PTX allows both, so neither is an error, and a value that was never written is rarely meant. A guarded write counts
//! as a write, so that code under one predicate is not reported; so does a write on one path only.

use crate::body::table_of;
use la_arena::ArenaMap;
use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::Opcode;
use smallvec::SmallVec;

use crate::descriptor::{self, Descriptor};
use crate::flow::Flow;
use crate::warp_group::{self, Serialization};
use crate::{Body, Instruction, Operand, RegisterId, SourceMap, VariableKind};

/// The findings of the control-flow checks of a body, by ordinals of instructions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowReport {
    /// Registers with the first instruction that reads them although no write can have come before it, by ascending
    /// instruction.
    pub uninitialized: Vec<(RegisterId, u32)>,
    /// Runs of instructions that control never reaches: first and last.
    pub unreachable: Vec<(u32, u32)>,
    /// Instructions at which MMAs of warp groups are serialized.
    pub serialized: Vec<(u32, Serialization)>,
    /// Descriptors of matrices, with their known bits.
    pub descriptors: Vec<Descriptor>,
}

/// The most blocks that are walked for all registers together, for each block and each read of the body. A body that
/// needs more has unreported registers.
const FUEL: usize = 64;

/// Looks at the control flow of a body.
pub fn check_flow(body: &Body) -> FlowReport {
    let flow = Flow::new(body);
    FlowReport {
        uninitialized: uninitialized(body, &flow),
        unreachable: unreachable(&flow),
        serialized: warp_group::serialized(&flow),
        descriptors: descriptor::descriptors(body, &flow),
    }
}

fn unreachable(flow: &Flow<'_>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for block in flow.blocks.iter().filter(|block| !block.reached && block.count > 0) {
        let last = block.first + block.count - 1;
        match runs.last_mut() {
            Some(run) if run.1 + 1 == block.first => run.1 = last,
            _ => runs.push((block.first, last)),
        }
    }
    runs
}

/// The writes of each register, and its reads without an earlier write in the same block.
struct Accesses {
    /// Pairs of register and block, ascending.
    written: Vec<(RegisterId, u32)>,
    /// Register, block and instruction, ascending.
    exposed: Vec<(RegisterId, u32, u32)>,
    /// Instructions that only pack registers, none of which is written before in the same block.
    packs: Vec<Pack>,
}

/// An instruction that packs registers.
struct Pack {
    ordinal: u32,
    block: u32,
    registers: SmallVec<[RegisterId; 4]>,
}

/// The registers that a vector has as its elements, each once, if it has no other elements.
fn only_registers(operand: Option<&Operand>) -> Option<SmallVec<[RegisterId; 4]>> {
    let Some(Operand::Vector(elements)) = operand else { return None };
    let mut found = SmallVec::new();
    for element in elements {
        let Operand::Register(register) = element else { return None };
        if !found.contains(register) {
            found.push(*register);
        }
    }
    Some(found)
}

/// The registers that the caller has written.
fn passed(body: &Body) -> impl Iterator<Item = RegisterId> + '_ {
    let parameters = body.parameter_registers.iter();
    parameters
        .filter(|(variable, _)| matches!(body.variables[*variable].kind, VariableKind::Parameter(_)))
        .map(|&(_, register)| register)
}

/// Whether an instruction only packs registers. Compilers pack an unwritten one for bits that do not matter; such a
/// read is reported only where no element is written.
fn packs(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Mov && matches!(instruction.operands.get(1), Some(Operand::Vector(_)))
}

fn accesses(body: &Body, flow: &Flow<'_>) -> Accesses {
    const NEVER: u32 = u32::MAX;
    let mut found = Accesses { written: Vec::new(), exposed: Vec::new(), packs: Vec::new() };
    let mut last_written: ArenaMap<RegisterId, u32> = table_of(&body.registers, NEVER);
    let mut last_exposed: ArenaMap<RegisterId, u32> = table_of(&body.registers, NEVER);
    for register in passed(body) {
        last_written[register] = 0;
        found.written.push((register, 0));
    }
    for (at, _) in flow.blocks.iter().enumerate().filter(|(_, block)| block.reached) {
        let at = at as u32;
        for (ordinal, instruction) in flow.block(at as usize) {
            if packs(instruction) {
                let registers = only_registers(instruction.operands.get(1));
                let unwritten =
                    |list: &SmallVec<_>| list.iter().all(|&register| last_written[register] != at);
                if let Some(registers) = registers.filter(unwritten) {
                    found.packs.push(Pack { ordinal, block: at, registers });
                }
            } else {
                instruction.for_each_read(|register| {
                    if last_written[register] != at
                        && std::mem::replace(&mut last_exposed[register], at) != at
                    {
                        found.exposed.push((register, at, ordinal));
                    }
                });
            }
            instruction.for_each_written(|register| {
                if std::mem::replace(&mut last_written[register], at) != at {
                    found.written.push((register, at));
                }
            });
        }
    }
    found.written.sort_unstable();
    found.exposed.sort_unstable();
    found
}

/// Looks back from reads for writes.
struct Search<'a> {
    flow: &'a Flow<'a>,
    body: &'a Body,
    written: &'a [(RegisterId, u32)],
    /// Blocks that may still be walked.
    fuel: usize,
    /// For each block the index of the last walk that visited it.
    seen: Vec<u32>,
    walk: u32,
    open: Vec<u32>,
}

impl Search<'_> {
    /// Whether something can have written the register before the block begins.
    fn is_preceded(&mut self, register: RegisterId, block: u32) -> bool {
        if block == 0 && passed(self.body).any(|passed| passed == register) {
            return true;
        }
        let first = self.written.partition_point(|entry| entry.0 < register);
        let writers = &self.written[first..];
        let writers = &writers[..writers.partition_point(|entry| entry.0 == register)];
        let writes = |block: u32| match writers {
            [(_, only)] => *only == block,
            _ => writers.binary_search(&(register, block)).is_ok(),
        };
        if writers.is_empty() {
            return false;
        }
        self.walk += 1;
        self.open.clear();
        self.look_at(block);
        while let Some(at) = self.open.pop() {
            if self.fuel == 0 || writes(at) {
                return true;
            }
            self.fuel -= 1;
            self.look_at(at);
        }
        false
    }

    /// The predecessors of a block that this walk has not visited.
    fn look_at(&mut self, block: u32) {
        for &predecessor in &self.flow.blocks[block as usize].predecessors {
            if std::mem::replace(&mut self.seen[predecessor as usize], self.walk) != self.walk {
                self.open.push(predecessor);
            }
        }
    }
}

fn uninitialized(body: &Body, flow: &Flow<'_>) -> Vec<(RegisterId, u32)> {
    let Accesses { written, exposed, packs } = accesses(body, flow);
    let mut search = Search {
        flow,
        body,
        written: &written,
        fuel: FUEL * (flow.blocks.len() + exposed.len()),
        seen: vec![0; flow.blocks.len()],
        walk: 0,
        open: Vec::new(),
    };
    let mut found: Vec<(RegisterId, u32)> = Vec::new();
    for &(register, block, ordinal) in &exposed {
        if found.last().is_none_or(|last| last.0 != register) && !search.is_preceded(register, block) {
            found.push((register, ordinal));
        }
    }
    for Pack { ordinal, block, registers } in packs {
        if registers.iter().all(|&register| !search.is_preceded(register, block)) {
            found.extend(registers.into_iter().map(|register| (register, ordinal)));
        }
    }
    // Only the first read of a register is reported.
    found.sort_unstable();
    found.dedup_by_key(|entry| entry.0);
    found.sort_by_key(|&(register, ordinal)| (ordinal, register));
    found
}

impl FlowReport {
    /// Whether there are warnings, without the map that gives them their places.
    pub fn has_warnings(&self) -> bool {
        !(self.uninitialized.is_empty() && self.serialized.is_empty())
            || self.descriptors.iter().any(|found| found.fault().is_some())
    }

    /// Warnings of registers that are read before they are written, of MMAs that are serialized, and of invalid
    /// descriptors.
    pub fn warnings<'a>(&'a self, map: &'a SourceMap) -> impl Iterator<Item = Diagnostic> + 'a {
        let serialized = self.serialized.iter().filter_map(|&(ordinal, reason)| reason.warning(ordinal, map));
        let uninitialized = self.uninitialized.iter().filter_map(|&(register, ordinal)| {
            let (name, declaration) = map.registers.get(register)?;
            let message = format!("`{name}` is read here, and nothing can have written it before");
            let span = map.instructions.get(ordinal as usize).copied()?;
            Some(
                Diagnostic::new(Code::Uninitialized, span, message).with_label(*declaration, "declared here"),
            )
        });
        let impossible = self.descriptors.iter().filter_map(|found| found.warning(map));
        uninitialized.chain(serialized).chain(impossible)
    }

    /// Notes of instructions that control never reaches, and of registers that are declared and never used.
    pub fn notes<'a>(&'a self, map: &'a SourceMap) -> impl Iterator<Item = Diagnostic> + 'a {
        let unreachable = self.unreachable.iter().filter_map(|&(first, last)| {
            let first = map.instructions.get(first as usize)?;
            let last = map.instructions.get(last as usize)?;
            let span = Span::between(first.start, last.end());
            Some(Diagnostic::new(Code::Unreachable, span, "control never arrives here"))
        });
        let message = "the register is declared and never used";
        let unused = map.unused.iter();
        unreachable.chain(unused.map(move |&span| Diagnostic::new(Code::UnusedDeclaration, span, message)))
    }
}
