//! The static checker: it walks the control flow of every kernel with the worst state of all paths to a place, and
//! reports hazards. Calls are opaque: after one nothing is known, and a callee starts with a clean state.

use crate::condition::{Condition, Conditions};
use crate::launch::{Hazard, HazardKind};
use crate::program::{Program, Step, is_always};
use crate::tracker::Tracker;
use oriole_chip::{Chip, WordShape, nameable};
use oriole_cubin::Cubin;
use oriole_cubin::read::Kernel;
use oriole_latency::Model;
use oriole_sass::register::PT;
use oriole_sass::{Access, Guard, Op, OperandKind, RegisterFile};
use std::collections::{BTreeMap, BTreeSet};

/// Two guards exclude each other if one is the opposite of the other; the truth of both is otherwise unknown. A guard's
/// predicate may change between two instructions; the checker does not follow that, so that it may miss a conflict but
/// invents none.
impl Condition for Guard {
    fn excludes(&self, other: &Guard) -> bool {
        self.register < PT
            && self.uniform == other.uniform
            && self.register == other.register
            && self.negated != other.negated
    }

    fn covers(&self, other: &Guard) -> bool {
        is_always(*self) || self == other
    }
}

/// A basic block, and its successors.
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// The edges to its successors.
    next: Vec<Way>,
}

/// An edge from the end of a block.
#[derive(Clone, Copy)]
struct Way {
    /// The first instruction of the block that it leads to.
    to: u32,
    by: By,
}

/// The kind of an edge.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Fall-through.
    Falling,
    Jump,
    /// Back from a call: the state is dropped.
    Return,
}

/// Predicates whose value is known on the path of a thread to a place: a branch on one determines it. Without it, the
/// checker would follow impossible paths where a condition is tested twice.
#[derive(Clone, Copy, PartialEq, Default)]
struct Known {
    /// Bit n for Pn, which is true.
    holds: u8,
    /// Bit n for Pn, which is false.
    fails: u8,
}

impl Known {
    /// The facts that hold on both of two merging paths.
    fn common(self, other: Known) -> Known {
        Known { holds: self.holds & other.holds, fails: self.fails & other.fails }
    }

    fn forget(&mut self, register: u8) {
        let others = !1u8.checked_shl(register.into()).unwrap_or(0);
        (self.holds, self.fails) = (self.holds & others, self.fails & others);
    }

    /// A guard is known to be true, or to be false.
    fn learn(&mut self, guard: Guard, held: bool) {
        if guard.uniform || guard.register >= PT {
            return;
        }
        self.forget(guard.register);
        let set = if guard.negated != held { &mut self.holds } else { &mut self.fails };
        *set |= 1 << guard.register;
    }

    /// The value of a guard, if it is known.
    fn of(self, guard: Guard) -> Option<bool> {
        if guard.uniform || guard.register >= PT {
            return None;
        }
        let bit = |set: u8| set >> guard.register & 1 == 1;
        (bit(self.holds) || bit(self.fails)).then(|| bit(self.holds) != guard.negated)
    }

    /// Updates the facts after an instruction.
    fn pass(&mut self, step: &Step) {
        for access in &step.accesses {
            if let Access::Write { file: RegisterFile::Predicate, register, .. } = *access {
                self.forget(register);
            }
        }
    }

    /// The facts on an edge after the last instruction of a block, `None` if no thread takes it.
    fn along(mut self, way: Way, last: Option<&Step>) -> Option<Known> {
        let Some(last) = last.filter(|_| way.by != By::Return) else { return Some(Known::default()) };
        let (guard, jumps) = (last.instruction.guard, way.by == By::Jump);
        if !ends_thread_or_jumps(last.instruction.op) || !jumps && has_predicate(last) {
            return Some(self);
        }
        if self.of(guard) == Some(!jumps) {
            return None;
        }
        self.learn(guard, jumps);
        Some(self)
    }
}

/// True for an instruction that diverts a thread, or ends it, where its guard is true.
fn ends_thread_or_jumps(op: Op) -> bool {
    use Op::*;
    matches!(op, BRA | BRX | BRXU | JMP | JMX | JMXU | EXIT | RET | KILL)
}

/// Checks the scheduling control of all kernels of a file, and of functions with sections of their own. Hazards come
/// sorted by kernel and place, each pair of places once for each register. Kernels of chips without latency facts are
/// not checked.
pub fn lint(cubin: &Cubin) -> Vec<Hazard> {
    let Some(chip) = chip_of(cubin.sm, cubin.accelerated) else { return Vec::new() };
    let Some(model) = Model::of(chip) else { return Vec::new() };
    let mut hazards = Vec::new();
    for kernel in cubin.codes() {
        let program = Program::decode(chip, model, &kernel.code);
        let mut found = BTreeSet::new();
        check(model, kernel, &program, &mut found);
        check_registers(kernel, &program, &mut found);
        hazards.extend(found);
    }
    hazards
}

/// Registers beyond those that a launch allocates, in kernels that do not change their number.
fn check_registers(kernel: &Kernel, program: &Program, found: &mut BTreeSet<Hazard>) {
    let steps = || (0..).zip(&program.steps).filter_map(|(pc, step)| Some((pc, step.as_ref().ok()?)));
    if kernel.registers == 0 || steps().any(|(_, step)| step.instruction.op == Op::USETMAXREG) {
        return;
    }
    let count = nameable(kernel.registers.min(u32::from(u8::MAX)) as u16);
    for (pc, step) in steps() {
        if let Some(register) = step.beyond(u32::from(count)) {
            let pc = program.shape.address(pc);
            found.insert(Hazard {
                kernel: kernel.name.clone(),
                pc,
                other: pc,
                kind: HazardKind::NotAllocated,
                file: RegisterFile::General,
                register,
                distance: 0,
                needed: u32::from(count),
            });
        }
    }
}

/// The chip of a file.
pub(crate) fn chip_of(sm: u16, accelerated: bool) -> Option<Chip> {
    format!("sm_{sm}{}", if accelerated { "a" } else { "" }).parse().ok()
}

/// The index of a branch operand.
fn target(shape: WordShape, step: &Step, pc: u32) -> Option<u32> {
    step.instruction.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Target(distance) => shape.beginning_at(shape.end(pc) + distance),
        _ => None,
    })
}

/// True if an operand other than the guard decides whether the instruction acts.
fn has_predicate(step: &Step) -> bool {
    step.instruction.operands.iter().any(|operand| match operand.kind {
        OperandKind::Pred(register) | OperandKind::UPred(register) => register != PT || operand.invert,
        OperandKind::UReg(_) => step.instruction.op == Op::BRA,
        _ => false,
    })
}

fn is_conditional(step: &Step) -> bool {
    !is_always(step.instruction.guard) || has_predicate(step)
}

/// The edges from the last instruction of a block.
fn ways(shape: WordShape, kernel: &Kernel, step: &Step, pc: u32) -> Vec<Way> {
    use Op::*;
    let behind = |by: By| Way { to: pc + 1, by };
    let jump = |to: u32| Way { to, by: By::Jump };
    let mut next: Vec<Way> = match step.instruction.op {
        BRA | JMP => target(shape, step, pc).map(jump).into_iter().collect(),
        BRX | BRXU | JMX | JMXU => {
            let table = kernel.indirect_branches.iter().find(|branch| branch.offset == shape.address(pc));
            table.iter().flat_map(|branch| &branch.targets).map(|&to| jump(shape.index(to))).collect()
        }
        EXIT | RET | KILL => Vec::new(),
        CALL => return vec![behind(By::Return)],
        WARPSYNC if target(shape, step, pc).is_some() => return vec![behind(By::Return)],
        _ => return vec![behind(By::Falling)],
    };
    if is_conditional(step) {
        next.push(behind(By::Falling));
    }
    next
}

pub(crate) fn blocks(kernel: &Kernel, program: &Program) -> BTreeMap<u32, Block> {
    use Op::*;
    let (shape, count) = (program.shape, program.steps.len() as u32);
    let mut starts: BTreeSet<u32> = BTreeSet::from([0]);
    for branch in &kernel.indirect_branches {
        starts.extend(branch.targets.iter().map(|&target| shape.index(target)));
    }
    for pc in 0..count {
        let Some(step) = program.get(pc as usize) else {
            starts.insert(pc + 1);
            continue;
        };
        starts.extend(target(shape, step, pc));
        if matches!(
            step.instruction.op,
            BRA | BRX | BRXU | JMP | JMX | JMXU | EXIT | RET | KILL | CALL | BSYNC | WARPSYNC | BPT
        ) {
            starts.insert(pc + 1);
        }
    }
    let starts: Vec<u32> = starts.into_iter().filter(|&start| start < count).collect();
    let mut map = BTreeMap::new();
    for (index, &first) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(count);
        let next =
            program.get(end as usize - 1).map_or(Vec::new(), |step| ways(shape, kernel, step, end - 1));
        map.insert(first, Block { first, end, next });
    }
    map
}

fn check(model: &Model, kernel: &Kernel, program: &Program, found: &mut BTreeSet<Hazard>) {
    let blocks = blocks(kernel, program);
    let mut states: BTreeMap<u32, (Tracker<Guard>, Known)> = BTreeMap::new();
    let mut visits: BTreeMap<u32, u32> = BTreeMap::new();
    let mut work: Vec<u32> = Vec::new();
    let mut entries = blocks.keys().copied();
    loop {
        let Some(at) = work.pop() else {
            // Code that is reached only by calls or unknown branches starts with nothing in flight.
            let Some(entry) = entries.by_ref().find(|entry| !states.contains_key(entry)) else { break };
            states.insert(entry, (Tracker::new(), Known::default()));
            work.push(entry);
            continue;
        };
        let block = &blocks[&at];
        *visits.entry(at).or_default() += 1;
        let (mut state, mut known) = states[&at].clone();
        let last = program.get(block.end as usize - 1);
        for pc in block.first..block.end {
            let Some(step) = program.get(pc as usize) else { continue };
            let address = program.shape.address(pc);
            let conditions = Conditions { reached: Guard::ALWAYS, acts: step.instruction.guard };
            state.issue(model, step, address, conditions, |conflict| {
                found.insert(Hazard {
                    kernel: kernel.name.clone(),
                    pc: address,
                    other: conflict.other,
                    kind: conflict.kind,
                    file: conflict.register.0,
                    register: conflict.register.1,
                    distance: conflict.distance,
                    needed: conflict.needed,
                });
            });
            known.pass(step);
        }
        let state = state.rebased();
        for &way in &block.next {
            let next = way.to;
            let Some(known) = known.along(way, last).filter(|_| blocks.contains_key(&next)) else {
                continue;
            };
            let mut arriving = state.clone();
            match (way.by, last) {
                (By::Return, _) => arriving.clear(),
                (By::Jump, Some(last)) => arriving.jump(model, last.instruction.control.stall),
                _ => {}
            }
            let changed = match states.get_mut(&next) {
                Some((there, known_there)) => {
                    let common = known_there.common(known);
                    let fewer = common != *known_there;
                    *known_there = common;
                    there.merge(&arriving) | fewer
                }
                None => {
                    states.insert(next, (arriving, known));
                    true
                }
            };
            // The state only grows towards worse, so that few visits suffice; the bound is for safety.
            if changed && visits.get(&next).copied().unwrap_or(0) < 32 && !work.contains(&next) {
                work.push(next);
            }
        }
    }
    // Distances depend on the path; the worst of each pair is kept.
    let mut worst: BTreeMap<(u32, u32, HazardKind, u8), Hazard> = BTreeMap::new();
    for hazard in std::mem::take(found) {
        let key = (hazard.pc, hazard.other, hazard.kind, hazard.register);
        match worst.get(&key) {
            Some(known) if known.distance <= hazard.distance => {}
            _ => {
                worst.insert(key, hazard);
            }
        }
    }
    found.extend(worst.into_values());
}
