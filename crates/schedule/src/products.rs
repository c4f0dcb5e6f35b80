//! Inserts fences before `wgmma`, and waits where its registers are used.
//!
//! A `wgmma` sees registers written before the last `WARPGROUP.ARRIVE`. Its results are available after a wait for
//! its group, and until then its left factor is still read. No scoreboard reports that. Earlier stages preserve the
//! program's own waits; but an allocation may move a result or reuse the register of a factor, and a program may use
//! either too early. A wait is inserted there: that is always correct, and costs only time.

use crate::effects::{Effects, Finishing, UNIFORM, early_target};
use crate::tables::Tables;
use oriole_latency::{Class, Slot};
use oriole_ori::{BlockId, MachineInstruction};
use oriole_sass::{Control, EncodeError, Guard, Instruction, Mod, Mods, Op, Operand, OperandKind, Symbol};
use smallvec::{SmallVec, smallvec};
use typed_index_collections::{TiVec, ti_vec};

/// More groups than a wait can name.
const MANY: u8 = 8;
/// For a register that no `wgmma` in flight uses.
const NONE: u8 = u8::MAX;

/// For each general register the count of groups closed since the `wgmma` that uses it, its own group included: 0
/// while that is open. Merged paths take the minimum.
#[derive(Clone, PartialEq)]
struct UnderWay {
    results: [u8; 256],
    factors: [u8; 256],
    /// Registers written since the last fence by other instructions than `wgmma`, a bit each.
    fresh: [u64; 4],
}

/// Requirement before an instruction.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    Nothing,
    /// A fence.
    Arrive,
    /// A wait until at most this many groups are in flight.
    Wait(u8),
    /// The open group must be closed first, at its last MMA; then a wait for all.
    CloseAndWait,
}

impl UnderWay {
    fn nothing() -> UnderWay {
        UnderWay { results: [NONE; 256], factors: [NONE; 256], fresh: [0; 4] }
    }

    /// At the start of a function all registers may have been written.
    fn at_start() -> UnderWay {
        UnderWay { fresh: [u64::MAX; 4], ..UnderWay::nothing() }
    }

    /// Merges the state of another path; true if it changed.
    fn merge(&mut self, other: &UnderWay) -> bool {
        let before = self.clone();
        let pairs = self.results.iter_mut().zip(&other.results);
        pairs
            .chain(self.factors.iter_mut().zip(&other.factors))
            .for_each(|(mine, other)| *mine = (*mine).min(*other));
        self.fresh.iter_mut().zip(other.fresh).for_each(|(mine, other)| *mine |= other);
        *self != before
    }

    fn is_fresh(&self, register: u16) -> bool {
        register < UNIFORM && self.fresh[usize::from(register / 64)] >> (register % 64) & 1 == 1
    }

    fn all(&mut self) -> impl Iterator<Item = &mut u8> {
        self.results.iter_mut().chain(&mut self.factors)
    }

    /// The requirement of the instruction.
    fn need(&self, effects: &Effects) -> Need {
        let product = effects.class == Class::Group;
        let mut least = NONE;
        let general = |register: u16| (register < UNIFORM).then_some(usize::from(register));
        for (register, slot) in effects.reads.iter().filter_map(|&(r, slot)| Some((general(r)?, slot))) {
            if !(product && slot == Slot::Accumulator) {
                least = least.min(self.results[register]);
            }
        }
        // MMAs execute in order.
        if !product {
            for register in effects.writes.iter().filter_map(|&(r, _)| general(r)) {
                least = least.min(self.results[register]).min(self.factors[register]);
            }
        }
        if effects.drains {
            let all = self.results.iter().chain(&self.factors).copied();
            least = all.min().unwrap_or(NONE);
            return if least == NONE { Need::Nothing } else { need_of(least.min(1)) };
        }
        let touched = || effects.reads.iter().map(|&(r, _)| r).chain(effects.writes.iter().map(|&(r, _)| r));
        if product && least == NONE && touched().any(|register| self.is_fresh(register)) {
            return Need::Arrive;
        }
        need_of(least)
    }

    /// A group is closed.
    fn close(&mut self) {
        self.all().filter(|closed| **closed < MANY).for_each(|closed| *closed += 1);
    }

    /// At most `left` groups are in flight.
    fn wait(&mut self, left: u8) {
        self.all().filter(|closed| **closed != NONE && **closed > left).for_each(|closed| *closed = NONE);
    }

    /// Steps the state over an instruction whose requirements are met.
    fn step(&mut self, machine: &MachineInstruction, effects: &Effects) {
        loop {
            match self.need(effects) {
                Need::Nothing => break,
                Need::Arrive => self.fresh = [0; 4],
                Need::Wait(left) => self.wait(left),
                Need::CloseAndWait => *self = UnderWay { fresh: self.fresh, ..UnderWay::nothing() },
            }
        }
        let instruction = &machine.instruction;
        if effects.class == Class::Group {
            for &(register, slot) in effects.reads.iter().filter(|(register, _)| *register < UNIFORM) {
                if slot != Slot::Accumulator {
                    self.factors[usize::from(register)] = 0;
                }
            }
            effects.general_writes().for_each(|register| self.results[usize::from(register)] = 0);
            if closes(instruction) {
                self.close();
            }
            return;
        }
        for register in effects.general_writes() {
            self.fresh[usize::from(register / 64)] |= 1 << (register % 64);
        }
        if is_fence(instruction) {
            self.fresh = [0; 4];
        } else if is_wait(instruction) {
            let left = instruction.operands.iter().find_map(|operand| match operand.kind {
                OperandKind::Imm(left) => u8::try_from(left).ok(),
                _ => None,
            });
            self.wait(left.unwrap_or(0));
        }
    }
}

/// True for the fence before `wgmma`.
fn is_fence(instruction: &Instruction) -> bool {
    instruction.op == Op::WARPGROUP && instruction.mods.has(Mod::ARRIVE)
}

/// True for a wait for groups.
fn is_wait(instruction: &Instruction) -> bool {
    instruction.op == Op::WARPGROUP && instruction.mods.has(Mod::DEPBAR)
}

/// The requirement for a register whose `wgmma` is `closed` groups old.
fn need_of(closed: u8) -> Need {
    match closed {
        NONE => Need::Nothing,
        0 => Need::CloseAndWait,
        closed => Need::Wait(closed - 1),
    }
}

/// Inserts the missing fences and waits.
///
/// # Errors
/// The chip has `wgmma` and no wait for it.
pub fn complete(finishing: &mut Finishing, tables: &Tables) -> Result<(), EncodeError> {
    let mut all = finishing.effects.iter().flatten();
    if !all.any(|effects| effects.class == Class::Group) {
        return Ok(());
    }
    let mut entries = under_way_at_entries(finishing);
    if needs_closed_entries(finishing, &entries) {
        // With a group split in several, a wait covers at least as much: closing early is always correct.
        for block in finishing.function.blocks.keys() {
            let (code, does) =
                (&mut finishing.function.blocks[block].instructions, &mut finishing.effects[block]);
            close(code, does, tables)?;
        }
        entries = under_way_at_entries(finishing);
    }
    for (block, mut state) in entries.into_iter_enumerated() {
        let instructions = std::mem::take(&mut finishing.function.blocks[block].instructions);
        let does = std::mem::take(&mut finishing.effects[block]);
        let (mut out, mut out_effects) =
            (Vec::with_capacity(instructions.len()), Vec::with_capacity(does.len()));
        for (machine, effects) in instructions.into_iter().zip(does) {
            loop {
                let missing = match state.need(&effects) {
                    Need::Nothing => break,
                    Need::Arrive => arrive(),
                    Need::Wait(left) => wait(left),
                    Need::CloseAndWait => {
                        close(&mut out, &mut out_effects, tables)?;
                        state.close();
                        wait(0)
                    }
                };
                let made = MachineInstruction::new(tables.forms, missing, machine.origin)?;
                let does = Effects::new(tables.latency, tables.forms, &made);
                state.step(&made, &does);
                if is_wait(&made.instruction) {
                    // The warp group synchronizes again before the next `wgmma`, as in ptxas code.
                    state.fresh = [u64::MAX; 4];
                }
                out.push(made);
                out_effects.push(does);
            }
            state.step(&machine, &effects);
            out.push(machine);
            out_effects.push(effects);
        }
        let_fences_wait(&out, &mut out_effects);
        finishing.function.blocks[block].instructions = out;
        finishing.effects[block] = out_effects;
    }
    Ok(())
}

/// True if a group must be closed whose MMAs are all in predecessor blocks.
fn needs_closed_entries(finishing: &Finishing, entries: &TiVec<BlockId, UnderWay>) -> bool {
    entries.iter_enumerated().any(|(block, state)| {
        let mut state = state.clone();
        let code = finishing.function.blocks[block].instructions.iter();
        for (machine, effects) in code.zip(&finishing.effects[block]) {
            if state.need(effects) == Need::CloseAndWait {
                return true;
            }
            if effects.class == Class::Group {
                // The group continues in this block, and is closed here.
                return false;
            }
            state.step(machine, effects);
        }
        false
    })
}

/// Closes the open group at the last MMA, if it does not do so itself.
fn close(
    instructions: &mut [MachineInstruction],
    effects: &mut [Effects],
    tables: &Tables,
) -> Result<(), EncodeError> {
    let last = effects.iter().rposition(|effects| effects.class == Class::Group);
    let Some(last) = last.filter(|&last| !closes(&instructions[last].instruction)) else { return Ok(()) };
    let machine = &mut instructions[last];
    machine.instruction.operands.push(Operand::plain(OperandKind::Symbol(Symbol::gsb0)));
    machine.form = oriole_sass::form_of(tables.forms, &machine.instruction)?;
    effects[last] = Effects::new(tables.latency, tables.forms, machine);
    Ok(())
}

/// True if an MMA is the last one of its group.
fn closes(product: &Instruction) -> bool {
    product.operands.iter().any(|operand| operand.kind == OperandKind::Symbol(Symbol::gsb0))
}

/// Operands of the MMAs in a block must be available at the fence before them.
fn let_fences_wait(instructions: &[MachineInstruction], effects: &mut [Effects]) {
    let mut read: Vec<u16> = Vec::new();
    for (machine, effects) in instructions.iter().zip(effects).rev() {
        if effects.class == Class::Group {
            read.extend(
                effects.reads.iter().map(|&(register, _)| register).filter(|&register| register < UNIFORM),
            );
        } else if is_fence(&machine.instruction) {
            read.sort_unstable();
            read.dedup();
            effects.reads.extend(read.drain(..).map(|register| (register, Slot::Operand)));
        }
    }
}

/// State at the start of each block.
fn under_way_at_entries(finishing: &Finishing) -> TiVec<BlockId, UnderWay> {
    let blocks = &finishing.function.blocks;
    let mut before: TiVec<BlockId, UnderWay> = ti_vec![UnderWay::nothing(); blocks.len()];
    finishing.order.first().into_iter().for_each(|&first| before[first] = UnderWay::at_start());
    let mut work: Vec<BlockId> = finishing.order.iter().rev().copied().collect();
    while let Some(block) = work.pop() {
        let mut state = before[block].clone();
        let mut merge = |successor: BlockId, state: &UnderWay| {
            if before[successor].merge(state) && !work.contains(&successor) {
                work.push(successor);
            }
        };
        let instructions = &blocks[block].instructions;
        for (index, effects) in finishing.effects[block].iter().enumerate() {
            state.step(&instructions[index], effects);
            if let Some(target) = early_target(instructions, index) {
                merge(target, &state);
            }
        }
        blocks[block].successors.iter().for_each(|&successor| merge(successor, &state));
    }
    before
}

fn instruction(op: Op, mods: &[Mod], operands: SmallVec<[Operand; 6]>) -> Instruction {
    Instruction { guard: Guard::ALWAYS, op, mods: Mods::of(mods), operands, control: Control::NEUTRAL }
}

/// A fence.
fn arrive() -> Instruction {
    instruction(Op::WARPGROUP, &[Mod::ARRIVE], SmallVec::new())
}

/// A wait until at most `left` groups are in flight.
fn wait(left: u8) -> Instruction {
    let operands = smallvec![
        Operand::plain(OperandKind::Symbol(Symbol::gsb0)),
        Operand::plain(OperandKind::Imm(left.into())),
    ];
    instruction(Op::WARPGROUP, &[Mod::DEPBAR, Mod::LE], operands)
}

#[cfg(test)]
mod tests;
