//! Words of `.param` variables in memory that a function writes and reads, so that calls copy no others: unwritten
//! words are undefined, and unread words need no copy.

use oriole_hir::{AddressBase, Body, Instruction, Operand, Statement, VariableId};
use oriole_ptx::Opcode;
use std::collections::BTreeMap;

/// The words of a variable that a function reads or writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    /// Every word may be.
    all: bool,
    /// Otherwise these, as first word and end (exclusive); ascending and disjoint.
    ranges: Vec<(i32, i32)>,
}

impl Touched {
    /// The words below a count.
    pub fn words(&self, count: i32) -> impl Iterator<Item = i32> + '_ {
        let all = (0, if self.all { count } else { 0 });
        let ranges = self.ranges.iter().filter(|_| !self.all).copied();
        std::iter::once(all).chain(ranges).flat_map(move |(first, end)| first.max(0)..end.min(count))
    }

    fn add(&mut self, offset: i64, bytes: u32) {
        let word = |byte: i64| i32::try_from(byte.div_euclid(4)).unwrap_or(i32::MAX);
        self.ranges.push((word(offset), word(offset.saturating_add(i64::from(bytes) + 3))));
    }

    /// Sorts and joins ranges.
    fn settle(&mut self) {
        self.ranges.sort_unstable();
        let mut joined: Vec<(i32, i32)> = Vec::with_capacity(self.ranges.len());
        for &(first, end) in &self.ranges {
            match joined.last_mut() {
                Some(last) if first <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((first, end)),
            }
        }
        self.ranges = joined;
    }
}

/// Accesses of a function to the words of a variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    /// Words that it may write.
    pub written: Touched,
    /// Words that it may read.
    pub read: Touched,
}

impl Accesses {
    /// True if all of them are to words that are known: no call takes or gives the variable, and its address is not taken.
    pub fn are_known(&self) -> bool {
        !self.written.all && !self.read.all
    }
}

/// The accesses to all variables that are named as memory or passed to calls.
pub(super) fn accesses(body: &Body) -> BTreeMap<VariableId, Accesses> {
    let mut found: BTreeMap<VariableId, Accesses> = BTreeMap::new();
    for statement in &body.statements {
        if let Statement::Instruction(instruction) = statement {
            visit(instruction, &mut found);
        }
    }
    for accesses in found.values_mut() {
        accesses.written.settle();
        accesses.read.settle();
    }
    found
}

fn visit(instruction: &Instruction, found: &mut BTreeMap<VariableId, Accesses>) {
    let bytes = instruction.types.first().map_or(0, |ty| ty.bytes()) * u32::from(instruction.vector.max(1));
    for operand in &instruction.operands {
        match operand {
            Operand::Address(address) => {
                let AddressBase::Variable(variable) = address.base else { continue };
                let accesses = found.entry(variable).or_default();
                match instruction.opcode {
                    Opcode::Ld => accesses.read.add(address.offset, bytes),
                    Opcode::St => accesses.written.add(address.offset, bytes),
                    _ => escapes(accesses),
                }
            }
            Operand::VariableAddress(variable, _) => escapes(found.entry(*variable).or_default()),
            // Arguments are read, and results written; a variable may be both, in the same call or in others.
            Operand::List(list) => {
                for element in list {
                    if let Operand::Variable(variable) = element {
                        passed(instruction, operand, found.entry(*variable).or_default());
                    }
                }
            }
            _ => {}
        }
    }
}

/// The address escapes: any access is possible.
fn escapes(accesses: &mut Accesses) {
    accesses.written.all = true;
    accesses.read.all = true;
}

/// Records a variable in one of the lists of a call: in the list of results, if the callee follows it.
fn passed(call: &Instruction, list: &Operand, accesses: &mut Accesses) {
    let is_callee = |operand: &Operand| matches!(operand, Operand::Function(_) | Operand::Register(_));
    let callee = call.operands.iter().position(is_callee);
    let at = call.operands.iter().position(|operand| std::ptr::eq(operand, list));
    if at < callee {
        accesses.written.all = true;
    } else {
        accesses.read.all = true;
    }
}
