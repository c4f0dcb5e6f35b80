//! Effects of a machine instruction on control words: its class, its registers with their roles, and its scoreboard
//! reports. Computed once per instruction.

use crate::tables::Tables;
use oriole_chip::MOST_UNIFORM;
use oriole_latency::{Class, Milestone, Model, Reports, ResultPart, Slot, Touched};
use oriole_ori::{BlockId, Fixup, MachineBlock, MachineFunction, MachineInstruction};
use oriole_sass::form::Table;
use oriole_sass::register::{PT, RZ};
use oriole_sass::{Access, Effect, Instruction, Mod, Op, RegisterFile, accesses};
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// Starts of the register files in one numbering of all tracked registers, the general one first. The hardware keeps
/// convergence barriers in order.
pub const UNIFORM: u16 = RZ as u16 + 1;
/// All uniform registers.
pub const ALL_UNIFORM: std::ops::Range<u16> = UNIFORM..PREDICATE;
const PREDICATE: u16 = UNIFORM + MOST_UNIFORM as u16;
const UNIFORM_PREDICATE: u16 = PREDICATE + PT as u16 + 1;
/// Count of registers in this numbering.
pub const REGISTERS: usize = (UNIFORM_PREDICATE + PT as u16 + 1) as usize;

/// Index of a register, `None` for a convergence barrier.
pub fn number(file: RegisterFile, register: u8) -> Option<u16> {
    Some(match file {
        RegisterFile::General => u16::from(register),
        RegisterFile::Uniform => UNIFORM + u16::from(register),
        RegisterFile::Predicate => PREDICATE + u16::from(register),
        RegisterFile::UniformPredicate => UNIFORM_PREDICATE + u16::from(register),
        RegisterFile::Barrier => return None,
    })
}

/// A function after form selection, with the effects of its instructions: both are scheduled and completed together.
pub struct Finishing {
    pub(crate) function: MachineFunction,
    pub(crate) effects: TiVec<BlockId, Vec<Effects>>,
    /// Blocks in reverse postorder; unreachable ones come last, so that they get control words too.
    pub(crate) order: Vec<BlockId>,
}

impl Finishing {
    /// Looks at every instruction.
    pub fn new(function: MachineFunction, tables: &Tables) -> Finishing {
        let of_block = |block: &MachineBlock| {
            // One instruction may be added.
            let mut effects = Vec::with_capacity(block.instructions.len() + 1);
            let of = |machine| {
                let effects = Effects::new(tables.latency, tables.forms, machine);
                Effects { reads_in_order: effects.loads_global && tables.loads_read_in_order, ..effects }
            };
            effects.extend(block.instructions.iter().map(of));
            effects
        };
        let effects = function.blocks.iter().map(of_block).collect();
        Finishing { order: reverse_postorder(&function), effects, function }
    }

    /// The function as it is now.
    pub fn function(&self) -> &MachineFunction {
        &self.function
    }
}

/// Blocks in reverse postorder; unreachable ones come last.
fn reverse_postorder(function: &MachineFunction) -> Vec<BlockId> {
    let count = function.blocks.len();
    let mut order = Vec::with_capacity(count);
    let mut seen: TiVec<BlockId, bool> = ti_vec![false; count];
    let mut unreachable = Vec::new();
    for root in function.blocks.keys() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut part = Vec::new();
        let mut stack = vec![(root, 0)];
        while let Some((block, next)) = stack.last_mut() {
            if let Some(&successor) = function.blocks[*block].successors.get(*next) {
                *next += 1;
                if !std::mem::replace(&mut seen[successor], true) {
                    stack.push((successor, 0));
                }
            } else {
                part.push(*block);
                stack.pop();
            }
        }
        part.reverse();
        if root == BlockId(0) { order = part } else { unreachable.extend(part) }
    }
    order.extend(unreachable);
    order
}

/// Effects of an instruction.
#[derive(Clone)]
pub struct Effects {
    /// Scheduling class.
    pub class: Class,
    /// Results or source reads complete at a variable time, which only a scoreboard reports.
    pub variable: bool,
    /// Registers read.
    pub reads: SmallVec<[(u16, Slot); 6]>,
    /// Registers written.
    pub writes: SmallVec<[(u16, ResultPart); 2]>,
    /// Scoreboard reports.
    pub reports: Reports,
    /// Everything pending must be complete: control goes to unknown code.
    pub drains: bool,
    /// It loads from global memory.
    pub loads_global: bool,
    /// It is such a load on a chip where these read their addresses in order.
    pub reads_in_order: bool,
    /// It acts in all lanes that execute it.
    pub is_always: bool,
    /// It loads from tensor memory.
    pub loads_tensor: bool,
    /// All loads from tensor memory must be complete.
    pub awaits_tensor: bool,
    /// The uniform registers are released: an engine must have read its operands in them.
    pub ends: bool,
    /// Its role for instructions that keep a distance whatever their registers.
    pub milestone: Option<Milestone>,
}

/// True if it invalidates a tensor map, which only makes sense after everything in flight.
fn drops_map(instruction: &Instruction) -> bool {
    instruction.op == Op::UTMACCTL && instruction.mods.has(Mod::IV)
}

/// True if registers are released: the next instruction waits until they are, as in ptxas code.
fn gives_registers_back(instruction: &Instruction) -> bool {
    instruction.op == Op::USETMAXREG && instruction.mods.has(Mod::DEALLOC)
}

impl Effects {
    /// The effects of an instruction.
    pub fn new(model: &Model, forms: &'static Table, machine: &MachineInstruction) -> Effects {
        let instruction = &machine.instruction;
        let class = model.class(instruction.op, &instruction.mods);
        let mut effects = Effects {
            class,
            variable: model.is_variable_as(instruction.op, class),
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            reports: Reports::default(),
            drains: matches!(instruction.op, Op::CALL | Op::RET) || drops_map(instruction),
            loads_global: instruction.op == Op::LDG,
            reads_in_order: false,
            is_always: instruction.guard.register == PT && !instruction.guard.negated,
            loads_tensor: instruction.op == Op::LDTM,
            // Waits for tensor loads, and fences, leave an instruction that nothing moves across.
            awaits_tensor: instruction.op == Op::NOP && machine.memory.is_some(),
            ends: instruction.op == Op::EXIT,
            milestone: Milestone::of(instruction, class),
        };
        let mut touched = Touched::default();
        accesses(forms, machine.form, instruction, |access| {
            touched.add(access);
            match access {
                Access::Read { file, register, slot } => {
                    effects.reads.extend(number(file, register).map(|n| (n, slot)))
                }
                Access::Write { file, register, part } => {
                    effects.writes.extend(number(file, register).map(|n| (n, part)));
                }
            }
        });
        effects.reports = model.reports(instruction, class, touched);
        if gives_registers_back(instruction) {
            (effects.reports.write, effects.reports.fence) = (true, true);
        }
        effects
    }

    /// Registers read and written.
    pub fn touched(&self) -> Registers {
        let mut touched = Registers::default();
        self.reads.iter().for_each(|&(register, _)| touched.insert(register));
        self.writes.iter().for_each(|&(register, _)| touched.insert(register));
        touched
    }

    /// General registers written.
    pub fn general_writes(&self) -> impl Iterator<Item = u8> {
        self.writes.iter().filter(|&&(register, _)| register < UNIFORM).map(|&(register, _)| register as u8)
    }

    /// True if the scoreboard for sources covers this read: general registers, and for asynchronous engines uniform
    /// ones.
    pub fn reported_read(&self, register: u16) -> bool {
        let bulk = matches!(self.class, Class::Bulk | Class::Sync);
        self.reports.read && (register < UNIFORM || (bulk && register < PREDICATE))
    }
}

/// True for branches: their stall also holds for the target block.
pub fn is_branch(machine: &MachineInstruction) -> bool {
    machine.instruction.op.info().effect == Effect::Branch
}

/// Target of a branch that is not the last instruction of its block: a jump or an exit may follow. A dataflow must
/// propagate the state right after the branch there, since the instructions after it are not executed on that edge.
pub fn early_target(instructions: &[MachineInstruction], index: usize) -> Option<BlockId> {
    let machine = &instructions[index];
    match machine.fixup {
        Some(Fixup::Block(target)) if index + 1 < instructions.len() && is_branch(machine) => Some(target),
        _ => None,
    }
}

/// A set of registers in this numbering.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers([u64; REGISTERS.div_ceil(64)]);

impl Registers {
    /// Adds one.
    #[inline]
    pub fn insert(&mut self, register: u16) {
        self.0[usize::from(register / 64)] |= 1 << (register % 64);
    }

    /// True if it is in the set.
    #[inline]
    pub fn contains(&self, register: u16) -> bool {
        self.0[usize::from(register / 64)] >> (register % 64) & 1 != 0
    }

    /// Adds all of another set; true if one was new.
    pub fn extend(&mut self, other: &Registers) -> bool {
        let mut new = 0;
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            new |= other & !*mine;
            *mine |= other;
        }
        new != 0
    }
}
