//! Live registers at each instruction of finished code: liveness over physical registers, as the forms read and write
//! them, along the branches of the code.
//!
//! It is here because it needs only the words of a cubin. The count is conservative: registers that a called function
//! may return count as live before its call too.

use oriole_ori::{BlockId, MachineFunction, MachineInstruction};
use oriole_sass::form::Table;
use oriole_sass::register::PT;
use oriole_sass::{Access, RegisterFile, accesses};
use typed_index_collections::{TiVec, ti_vec};

/// Live registers at an instruction: before it or, with its results, after it, whichever is more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Pressure {
    /// General registers.
    pub general: u16,
    /// Uniform registers.
    pub uniform: u16,
    /// Predicates, those of the uniform file left out.
    pub predicates: u16,
}

/// Files that are counted, 256 registers each.
const FILES: usize = 3;
const WORDS: usize = FILES * 4;

/// A set of registers, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Registers([u64; WORDS]);

impl Registers {
    fn bit(file: RegisterFile, register: u8) -> Option<usize> {
        let file = match file {
            RegisterFile::General => 0,
            RegisterFile::Uniform => 1,
            RegisterFile::Predicate => 2,
            RegisterFile::UniformPredicate | RegisterFile::Barrier => return None,
        };
        Some(file * 256 + usize::from(register))
    }

    fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn join(&mut self, other: &Registers) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
    }

    /// Live-in registers from the live-out ones, the definitions and the uses.
    fn before(&self, written: &Registers, read: &Registers) -> Registers {
        let mut result = *self;
        for (at, word) in result.0.iter_mut().enumerate() {
            *word = *word & !written.0[at] | read.0[at];
        }
        result
    }

    fn count(&self, file: usize) -> u16 {
        self.0[file * 4..][..4].iter().map(|word| word.count_ones() as u16).sum()
    }
}

/// Registers that an instruction reads, those that it writes, and those that it writes unconditionally.
struct Effect {
    read: Registers,
    written: Registers,
    killed: Registers,
}

fn effect(forms: &'static Table, machine: &MachineInstruction) -> Effect {
    let (mut read, mut written) = (Registers::default(), Registers::default());
    accesses(forms, machine.form, &machine.instruction, |access| match access {
        Access::Read { file, register, .. } => {
            Registers::bit(file, register).into_iter().for_each(|bit| read.insert(bit));
        }
        Access::Write { file, register, .. } => {
            Registers::bit(file, register).into_iter().for_each(|bit| written.insert(bit));
        }
    });
    let guard = machine.instruction.guard;
    let always = guard.register == PT && !guard.negated;
    Effect { read, written, killed: if always { written } else { Registers::default() } }
}

/// The live registers at each instruction in code order.
pub fn pressure(function: &MachineFunction, forms: &'static Table) -> Vec<Pressure> {
    let mut before: TiVec<BlockId, Registers> = ti_vec![Registers::default(); function.blocks.len()];
    let mut predecessors: TiVec<BlockId, Vec<BlockId>> = ti_vec![Vec::new(); function.blocks.len()];
    // Summary of each block: registers read before written, and registers written unconditionally.
    let mut sums: TiVec<BlockId, (Registers, Registers)> = TiVec::with_capacity(function.blocks.len());
    for (id, block) in function.blocks.iter_enumerated() {
        block.successors.iter().for_each(|&successor| predecessors[successor].push(id));
        let (mut read, mut killed) = (Registers::default(), Registers::default());
        for machine in block.instructions.iter().rev() {
            let effect = effect(forms, machine);
            read = read.before(&effect.killed, &effect.read);
            killed.join(&effect.killed);
        }
        sums.push((read, killed));
    }
    let after = |id: BlockId, before: &TiVec<BlockId, Registers>| {
        let mut live = Registers::default();
        function.blocks[id].successors.iter().for_each(|&successor| live.join(&before[successor]));
        live
    };
    // Last blocks first: most are then looked at once.
    let mut open: Vec<BlockId> = function.blocks.keys().collect();
    let mut is_open: TiVec<BlockId, bool> = ti_vec![true; function.blocks.len()];
    while let Some(id) = open.pop() {
        is_open[id] = false;
        let (read, killed) = &sums[id];
        let live = after(id, &before).before(killed, read);
        if live != before[id] {
            before[id] = live;
            for &predecessor in &predecessors[id] {
                if !std::mem::replace(&mut is_open[predecessor], true) {
                    open.push(predecessor);
                }
            }
        }
    }
    let mut all = Vec::new();
    for (id, block) in function.blocks.iter_enumerated() {
        let mut live = after(id, &before);
        let first = all.len();
        for machine in block.instructions.iter().rev() {
            let effect = effect(forms, machine);
            // Results may reuse registers of operands: the count is that before or that after, whichever is more.
            let mut behind = live;
            behind.join(&effect.written);
            live = live.before(&effect.killed, &effect.read);
            let most = |file: usize| behind.count(file).max(live.count(file));
            all.push(Pressure { general: most(0), uniform: most(1), predicates: most(2) });
        }
        all[first..].reverse();
    }
    all
}

/// Registers that code names: for each file the highest index plus one, 0 where it names none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Named {
    /// General registers.
    pub general: u16,
    /// Uniform registers.
    pub uniform: u16,
    /// Predicates.
    pub predicates: u16,
    /// Predicates of the uniform file.
    pub uniform_predicates: u16,
}

/// The registers that a function names, neutral ones left out.
pub fn named(function: &MachineFunction, forms: &'static Table) -> Named {
    let mut named = Named::default();
    for machine in function.blocks.iter().flat_map(|block| &block.instructions) {
        accesses(forms, machine.form, &machine.instruction, |access| {
            let (Access::Read { file, register, .. } | Access::Write { file, register, .. }) = access;
            let highest = match file {
                RegisterFile::General => &mut named.general,
                RegisterFile::Uniform => &mut named.uniform,
                RegisterFile::Predicate => &mut named.predicates,
                RegisterFile::UniformPredicate => &mut named.uniform_predicates,
                RegisterFile::Barrier => return,
            };
            *highest = (*highest).max(u16::from(register) + 1);
        });
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_chip::Chip;
    use std::collections::BTreeMap;

    fn function(lines: &[&str]) -> (MachineFunction, &'static Table) {
        let parse = |(index, line): (usize, &&str)| {
            oriole_sass::parse(Chip::SM_90, line, Some(16 * index as u64))
                .unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        let code: Vec<_> = lines.iter().enumerate().map(parse).collect();
        let function = crate::decoded(Chip::SM_90, &code, &BTreeMap::new()).expect("forms");
        (function, oriole_sass::form::table(Chip::SM_90).expect("a table"))
    }

    /// General registers and predicates that are live at each line of code.
    fn live(lines: &[&str]) -> Vec<(u16, u16)> {
        let (function, forms) = function(lines);
        pressure(&function, forms).iter().map(|at| (at.general, at.predicates)).collect()
    }

    #[test]
    fn registers_live_from_their_writes_to_their_last_reads() {
        // A pair for the address, the value, and its double in the same register.
        let straight = [
            "LDC.64 R2, c[0x0][0x210]",
            "LDG.E R4, desc[UR4][R2.64]",
            "IADD3 R4, R4, R4, RZ",
            "STG.E desc[UR4][R2.64], R4",
            "EXIT",
        ];
        assert_eq!(live(&straight), [(2, 0), (3, 0), (3, 0), (3, 0), (0, 0)]);
        // A guarded write may keep the old content: R1 is live from the start.
        let guarded =
            ["ISETP.NE.AND P0, PT, R0, RZ, PT", "@P0 MOV R1, R0", "STG.E desc[UR4][R2.64], R1", "EXIT"];
        assert_eq!(live(&guarded), [(4, 1), (4, 1), (3, 0), (0, 0)]);
        // Around a loop: R0 and R1 are read again, R2 holds the sum that is stored after it.
        let round = [
            "IADD3 R2, R2, R1, RZ",
            "IADD3 R0, R0, -0x1, RZ",
            "ISETP.NE.AND P0, PT, R0, RZ, PT",
            "@P0 BRA 0x0",
            "STG.E desc[UR4][R4.64], R2",
            "EXIT",
        ];
        assert_eq!(live(&round), [(5, 0), (5, 0), (5, 1), (5, 1), (3, 0), (0, 0)]);
        // An unread result takes a register all the same.
        assert_eq!(live(&["MOV R7, 0x1", "EXIT"]), [(1, 0), (0, 0)]);
    }

    #[test]
    fn registers_that_code_names() {
        let (function, forms) = function(&[
            "ULDC.64 UR4, c[0x0][0x208]",
            "UISETP.NE.AND UP1, UPT, UR4, URZ, UPT",
            "ISETP.NE.AND P2, PT, R0, RZ, PT",
            "@P2 LDG.E.64 R6, desc[UR4][R2.64]",
            "EXIT",
        ]);
        // A pair of general registers from 6 on, a pair of uniform ones from 4 on; RZ, URZ, PT and UPT do not count.
        let named = named(&function, forms);
        assert_eq!(named, Named { general: 8, uniform: 6, predicates: 3, uniform_predicates: 2 });
        let (function, forms) = self::function(&["EXIT"]);
        assert_eq!(super::named(&function, forms), Named::default());
    }
}
