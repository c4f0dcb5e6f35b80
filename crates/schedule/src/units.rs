//! What the instructions of a block that multiplies matrices keep busy, and how far the block has come.

use oriole_latency::{Model, UNITS, Unit};
use oriole_sass::{Mods, Op};
use smallvec::SmallVec;

/// Cycles for which loads and copies from global memory should be under way before they are waited for.
pub const GLOBAL: u32 = 400;

/// Where the products that are left take no longer than this, a wait for copies is not put off for them: they hide the loads behind
/// it.
const KEPT_FOR_LOADS: u32 = 64;

/// What an instruction is to copies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    None,
    /// It closes a group of copies.
    Commit,
    /// It waits for groups.
    Wait,
}

/// What each instruction of a block keeps busy.
pub struct Units {
    /// Units with the cycles for which they are busy.
    busy: Vec<SmallVec<[(u8, u8); 2]>>,
    roles: Vec<Role>,
}

/// How far an order has come.
#[derive(Clone)]
pub struct Progress {
    /// When each unit is free again.
    free: [u32; UNITS],
    /// When the copies of the groups that are closed should be there.
    pub copied: u32,
    /// Cycles for which the products to come keep their unit busy.
    left: u32,
}

impl Units {
    /// Those of a block; pseudo-instructions have none.
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

    /// When the units of an instruction are free, and copies there that it waits for. As long as there are products to do
    /// meanwhile, copies are given time.
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

    /// For how long an instruction keeps the unit of matrices busy.
    pub fn product(&self, node: usize) -> u32 {
        let mut own = self.busy[node].iter();
        own.find(|&&(unit, _)| usize::from(unit) == Unit::Tensor as usize)
            .map_or(0, |&(_, cycles)| cycles.into())
    }

    /// Raises heights, which are made from the last instruction to the first: a product is at least as high as the products take
    /// that come later, and what closes a group of copies is above their time.
    pub fn raise(&self, node: usize, height: u32, later: &mut u32) -> u32 {
        let product = self.product(node);
        if product > 0 {
            *later += product;
            return height.max(*later);
        }
        if self.roles[node] == Role::Commit { height + GLOBAL } else { height }
    }
}
