//! Unit usage of the instructions in a block that multiplies matrices, and scheduling progress.

use oriole_latency::{Model, UNITS, Unit};
use oriole_sass::{Mods, Op};
use smallvec::SmallVec;

/// Cycles that loads and copies from global memory should be in flight before they are waited for.
pub const GLOBAL: u32 = 400;

/// If the remaining MMAs take no longer than this, a wait for copies is not delayed for them: they hide the loads
/// after it.
const KEPT_FOR_LOADS: u32 = 64;

/// Role of an instruction for copies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    None,
    /// It closes a group of copies.
    Commit,
    /// It waits for groups.
    Wait,
}

/// Unit usage of each instruction of a block.
pub struct Units {
    /// Units with the cycles for which they are busy.
    busy: Vec<SmallVec<[(u8, u8); 2]>>,
    roles: Vec<Role>,
}

/// Progress of a schedule.
#[derive(Clone)]
pub struct Progress {
    /// The cycle at which each unit is free.
    free: [u32; UNITS],
    /// When the copies of the groups that are closed should be there.
    pub copied: u32,
    /// Cycles that the remaining MMAs keep their unit busy.
    left: u32,
}

impl Units {
    /// The unit usage of a block; pseudo-instructions use none.
    pub fn new<'a>(
        model: &Model,
        instructions: impl Iterator<Item = Option<(Op, &'a Mods)>> + Clone,
    ) -> Units {
        let busy = |instruction: Option<(Op, &Mods)>| {
            let all = instruction.map_or([0; UNITS], |(op, mods)| model.resources(op, mods));
            (0u8..).zip(all).filter(|&(_, cycles)| cycles > 0).collect()
        };
        let role = |instruction: Option<(Op, &Mods)>| match instruction {
            Some((Op::LDGDEPBAR, _)) => Role::Commit,
            Some((Op::DEPBAR, _)) => Role::Wait,
            _ => Role::None,
        };
        Units { busy: instructions.clone().map(busy).collect(), roles: instructions.map(role).collect() }
    }

    /// Nothing has been issued.
    pub fn start(&self) -> Progress {
        let left = (0..self.busy.len()).map(|node| self.product(node)).sum();
        Progress { free: [0; UNITS], copied: 0, left }
    }

    /// The cycle at which the units of an instruction are free, and the copies that it waits for complete. Copies are
    /// given time as long as MMAs remain to be done meanwhile.
    pub fn free_at(&self, node: u32, progress: &Progress) -> u32 {
        let own = self.busy[node as usize].iter();
        let free = own.map(|&(unit, _)| progress.free[usize::from(unit)]).max().unwrap_or(0);
        let waits = self.roles[node as usize] == Role::Wait && progress.left > KEPT_FOR_LOADS;
        if waits { free.max(progress.copied) } else { free }
    }

    /// An instruction is issued.
    pub fn issue(&self, node: u32, time: u32, progress: &mut Progress) {
        for &(unit, cycles) in &self.busy[node as usize] {
            progress.free[usize::from(unit)] = time + u32::from(cycles);
        }
        progress.left -= self.product(node as usize);
        if self.roles[node as usize] == Role::Commit {
            progress.copied = time + GLOBAL;
        }
    }

    /// Cycles that an instruction keeps the tensor unit busy.
    pub fn product(&self, node: usize) -> u32 {
        let mut own = self.busy[node].iter();
        own.find(|&&(unit, _)| usize::from(unit) == Unit::Tensor as usize)
            .map_or(0, |&(_, cycles)| cycles.into())
    }

    /// Raises heights, which are computed from the last instruction to the first: an MMA is at least as high as the
    /// time of all later MMAs, and a commit of a copy group is above that.
    pub fn raise(&self, node: usize, height: u32, later: &mut u32) -> u32 {
        let product = self.product(node);
        if product > 0 {
            *later += product;
            return height.max(*later);
        }
        if self.roles[node] == Role::Commit { height + GLOBAL } else { height }
    }
}
