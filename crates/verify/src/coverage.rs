//! Which instructions of a kernel were executed, and which ways its branches went.

use oriole_chip::Chip;
use oriole_sass::{Op, OperandKind, text};
use oriole_simulate::{AccessKind, Described, Event, Memory, Observer};

/// The executed part of the code of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// For each instruction: it can be executed; it was, by some lane.
    executed: Vec<Option<bool>>,
    /// For each conditional branch: lanes took it, lanes did not.
    branches: Vec<Option<(bool, bool)>>,
}

impl Coverage {
    /// Executed instructions, and all of them without padding.
    pub fn instructions(&self) -> (usize, usize) {
        let all = self.executed.iter().flatten();
        (all.clone().filter(|&&executed| executed).count(), all.count())
    }

    /// Ways of conditional branches that were taken, and all of them.
    pub fn ways(&self) -> (usize, usize) {
        let all = self.branches.iter().flatten();
        let taken = all.clone().map(|&(yes, no)| usize::from(yes) + usize::from(no)).sum();
        (taken, 2 * all.count())
    }

    /// Adds what another run executed.
    pub fn add(&mut self, other: Coverage) {
        if self.executed.len() != other.executed.len() {
            *self = other;
            return;
        }
        for (own, other) in self.executed.iter_mut().zip(other.executed) {
            *own = own.zip(other).map(|(own, other)| own | other);
        }
        for (own, other) in self.branches.iter_mut().zip(other.branches) {
            *own = own.zip(other).map(|(own, other)| (own.0 | other.0, own.1 | other.1));
        }
    }
}

/// A store of the code to global memory.
#[derive(Clone, Debug)]
pub struct CodeStore {
    /// Index of the instruction.
    pub index: u32,
    /// Address and bytes.
    pub address: u64,
    pub bytes: u32,
}

/// Watches the code.
#[derive(Default)]
pub struct CodeWatch {
    /// Executed instructions and branches.
    pub coverage: Coverage,
    /// The code.
    pub steps: Vec<Option<Described>>,
    /// Stores are kept.
    pub keeps: bool,
    /// Stores to global memory, in order.
    pub stores: Vec<CodeStore>,
}

impl CodeWatch {
    /// The instruction at an index as text.
    pub fn text(&self, chip: Option<Chip>, index: u32) -> Option<(u32, String)> {
        let step = self.steps.get(index as usize)?.as_ref()?;
        let line = text(chip?, &step.instruction, Some(u64::from(step.address)), oriole_sass::Style::Plain);
        Some((step.address, line.ok()?))
    }
}

/// True for a branch that a part of the lanes may take.
fn is_conditional(step: &Described) -> bool {
    let guard = step.instruction.guard;
    step.instruction.op == Op::BRA && (guard.register != oriole_sass::register::PT || guard.negated)
}

/// True for the branch to itself that is after the code.
fn is_endless(step: &Described) -> bool {
    let back = |kind| matches!(kind, OperandKind::Target(distance) if (-16..0).contains(&distance));
    step.instruction.op == Op::BRA
        && !is_conditional(step)
        && step.instruction.operands.iter().any(|operand| back(operand.kind))
}

impl Observer for CodeWatch {
    fn code(&mut self, steps: Vec<Option<Described>>) {
        // Padding after the last instruction that ends threads or goes back is not code.
        let ends = |step: &Described| matches!(step.instruction.op, Op::EXIT | Op::RET | Op::BRA);
        let end = steps.iter().rposition(|step| step.as_ref().is_some_and(ends)).map_or(0, |last| last + 1);
        let code = |at: usize, step: &Option<Described>| {
            let is_code = |step: &&Described| at < end && step.instruction.op != Op::NOP && !is_endless(step);
            step.as_ref().filter(is_code).map(|_| false)
        };
        self.coverage.executed = steps.iter().enumerate().map(|(at, step)| code(at, step)).collect();
        self.coverage.branches = steps
            .iter()
            .map(|step| step.as_ref().filter(|step| is_conditional(step)).map(|_| (false, false)))
            .collect();
        self.steps = steps;
    }

    fn wants(&self, _block: u64) -> bool {
        true
    }

    fn issued(&mut self, event: &Event) {
        let index = event.index as usize;
        if let Some(Some(executed)) = self.coverage.executed.get_mut(index) {
            *executed = true;
        }
        if let Some(Some((yes, no))) = self.coverage.branches.get_mut(index) {
            *yes |= event.active != 0;
            *no |= event.lanes & !event.active != 0;
        }
        if !self.keeps {
            return;
        }
        for access in event.accesses {
            if access.memory != Memory::Global || access.kind == AccessKind::Load {
                continue;
            }
            let lanes = (0..32).filter(|lane| access.lanes >> lane & 1 == 1);
            self.stores.extend(lanes.map(|lane| CodeStore {
                index: event.index,
                address: access.addresses[lane as usize],
                bytes: access.bytes,
            }));
        }
    }
}
