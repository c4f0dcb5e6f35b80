//! Registers of MMAs of a warp group that are used while the MMAs are in flight.
//!
//! `wgmma.mma_async` is asynchronous. Its results are valid, and its factors are free, when `wgmma.wait_group` has
//! waited for its group; and it sees registers that were written before the last `wgmma.fence`. Code that breaks these
//! rules has no meaning in PTX. Compilers insert waits or fences there, so that MMAs no longer overlap: that deserves a
//! warning.

use oriole_diagnostics::{Code, Diagnostic};
use oriole_ptx::{Opcode, Word};
use std::collections::{BTreeMap, BTreeSet};

use crate::flow::Flow;
use crate::{Immediate, Instruction, Operand, RegisterId, SourceMap};

/// The number of groups closed since an MMA is counted up to this bound.
const MANY: u64 = 8;

/// The reason why MMAs do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Serialization {
    /// The register has yet to be written by an MMA.
    Result(RegisterId),
    /// The register is written, and an MMA still reads it.
    Factor(RegisterId),
    /// An MMA uses the register, which was written since the last fence.
    Unfenced(RegisterId),
    /// A function is called while MMAs are in flight.
    Call,
}

/// The MMAs in flight: for each register the number of groups closed since its MMA, its own included.
#[derive(Clone, Default, PartialEq)]
struct State {
    results: BTreeMap<RegisterId, u64>,
    factors: BTreeMap<RegisterId, u64>,
    /// Registers of MMAs written since the last fence.
    fresh: BTreeSet<RegisterId>,
}

impl State {
    /// Merges the state of another path; true if it changed.
    fn merge(&mut self, other: &State) -> bool {
        let mut more = false;
        for (mine, theirs) in [(&mut self.results, &other.results), (&mut self.factors, &other.factors)] {
            for (&register, &closed) in theirs {
                let known = mine.entry(register).or_insert(u64::MAX);
                more |= closed < *known;
                *known = closed.min(*known);
            }
        }
        for &register in &other.fresh {
            more |= self.fresh.insert(register);
        }
        more
    }

    fn wait(&mut self, left: u64) {
        self.results.retain(|_, closed| *closed <= left);
        self.factors.retain(|_, closed| *closed <= left);
    }

    fn commit(&mut self) {
        let all = self.results.values_mut().chain(self.factors.values_mut());
        all.for_each(|closed| *closed = (*closed + 1).min(MANY));
    }

    /// Steps over an instruction and reports the reason why it serializes MMAs, if it does.
    fn step(
        &mut self,
        i: &Instruction,
        of_products: &BTreeSet<RegisterId>,
        say: &mut impl FnMut(Serialization),
    ) {
        if i.opcode == Opcode::Wgmma {
            let has = |word| i.modifiers.has(word);
            match i.operands.first() {
                _ if has(Word::Fence) => self.fresh.clear(),
                _ if has(Word::CommitGroup) => self.commit(),
                Some(Operand::Immediate(Immediate::Integer(left))) if has(Word::WaitGroup) => {
                    self.wait(u64::try_from(*left).unwrap_or(0));
                }
                _ => self.product(i, say),
            }
            return;
        }
        if i.opcode == Opcode::Call && !(self.results.is_empty() && self.factors.is_empty()) {
            say(Serialization::Call);
            *self = State { fresh: std::mem::take(&mut self.fresh), ..State::default() };
        }
        // A copy of a register in flight is in flight; compilers use the original.
        let copied = copied(i).and_then(|(to, from)| Some((to, *self.results.get(&from)?)));
        if copied.is_none() {
            i.for_each_read(|register| {
                if self.results.remove(&register).is_some() {
                    say(Serialization::Result(register));
                }
            });
        }
        i.for_each_written(|register| {
            if self.results.remove(&register).is_some() {
                say(Serialization::Result(register));
            }
            if self.factors.remove(&register).is_some() {
                say(Serialization::Factor(register));
            }
            if of_products.contains(&register) && copied.is_none() {
                self.fresh.insert(register);
            }
        });
        if let Some((to, closed)) = copied {
            self.results.insert(to, closed);
        }
    }

    fn product(&mut self, i: &Instruction, say: &mut impl FnMut(Serialization)) {
        let (sums, factors) = registers(i);
        for &register in sums.iter().chain(&factors) {
            if self.fresh.remove(&register) {
                say(Serialization::Unfenced(register));
            }
        }
        for &register in &factors {
            if self.results.remove(&register).is_some() {
                say(Serialization::Result(register));
            }
            self.factors.insert(register, 0);
        }
        self.results.extend(sums.into_iter().map(|register| (register, 0)));
    }
}

/// The registers that an MMA writes, and those that it reads asynchronously.
fn registers(i: &Instruction) -> (Vec<RegisterId>, Vec<RegisterId>) {
    let of = |operand: Option<&Operand>| {
        let mut registers = Vec::new();
        if let Some(operand) = operand {
            operand.for_each_register(&mut |register| registers.push(register));
        }
        registers
    };
    let mut factors = match i.operands.get(1) {
        operand @ Some(Operand::Vector(_)) => of(operand),
        _ => Vec::new(),
    };
    if i.modifiers.has(Word::Sp) {
        factors.extend(of(i.operands.get(3)));
    }
    (of(i.operands.first()), factors)
}

/// The registers of an unguarded copy: target and source.
fn copied(i: &Instruction) -> Option<(RegisterId, RegisterId)> {
    match (i.opcode, i.guard, i.operands.as_slice()) {
        (Opcode::Mov, None, &[Operand::Register(to), Operand::Register(from)]) => Some((to, from)),
        _ => None,
    }
}

/// Serialized MMAs: ordinals of instructions, each with the first reason.
pub(crate) fn serialized(flow: &Flow<'_>) -> Vec<(u32, Serialization)> {
    let products = || flow.instructions.iter().filter(|i| i.opcode == Opcode::Wgmma);
    if products().next().is_none() {
        return Vec::new();
    }
    let of_products: BTreeSet<RegisterId> = products()
        .flat_map(|i| {
            let (sums, factors) = registers(i);
            sums.into_iter().chain(factors)
        })
        .collect();
    let mut before: Vec<State> = vec![State::default(); flow.blocks.len()];
    // Writes before the first fence are unknown.
    if let Some(first) = before.first_mut() {
        first.fresh.clone_from(&of_products);
    }
    let mut work: Vec<usize> = (0..flow.blocks.len()).rev().filter(|&at| flow.blocks[at].reached).collect();
    while let Some(at) = work.pop() {
        let mut state = before[at].clone();
        flow.block(at).for_each(|(_, i)| state.step(i, &of_products, &mut |_| {}));
        for &successor in &flow.blocks[at].successors {
            if before[successor as usize].merge(&state) && !work.contains(&(successor as usize)) {
                work.push(successor as usize);
            }
        }
    }
    let mut found: BTreeMap<u32, Serialization> = BTreeMap::new();
    for (at, mut state) in before.into_iter().enumerate() {
        let instructions = flow.block(at).filter(|_| flow.blocks[at].reached);
        for (ordinal, i) in instructions {
            state.step(i, &of_products, &mut |reason| {
                found.entry(ordinal).or_insert(reason);
            });
        }
    }
    found.into_iter().collect()
}

impl Serialization {
    /// The warning at an instruction.
    pub(crate) fn warning(self, ordinal: u32, map: &SourceMap) -> Option<Diagnostic> {
        let span = map.instructions.get(ordinal as usize).copied()?;
        let name = |register: RegisterId| map.registers.get(register).map_or("", |(name, _)| name.as_str());
        let message = match self {
            Serialization::Result(register) => format!(
                "`{}` is used before `wgmma.wait_group` has waited for the `wgmma` that writes it: matrix multiplies are serialized here",
                name(register)
            ),
            Serialization::Factor(register) => format!(
                "`{}` is written before `wgmma.wait_group` has waited for the `wgmma` that reads it: matrix multiplies are serialized here",
                name(register)
            ),
            Serialization::Unfenced(register) => {
                let name = name(register);
                format!(
                    "`{name}` was written since the last `wgmma.fence`: a fence is inserted before this matrix multiply"
                )
            }
            Serialization::Call => {
                "a function is called while matrix multiplies of the warpgroup are in flight: they are serialized here"
                    .to_owned()
            }
        };
        Some(Diagnostic::new(Code::SerializedProducts, span, message))
    }
}
