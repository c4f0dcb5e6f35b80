//! Distances that instructions keep whatever their registers: the fence, the MMAs and the waits of a warp group, and
//! changes of the register count. No register and no scoreboard reports them: a violation gives wrong results and
//! nothing else.

use crate::Class;
use oriole_sass::{Instruction, Mod, Op};

/// An instruction to which others keep a distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Milestone {
    /// Reconvergence of the warp.
    Meeting,
    /// A pause.
    Pause,
    /// The register count changes.
    Grant,
    /// The fence before `wgmma`, `WARPGROUP.ARRIVE`.
    Fence,
    /// A `wgmma`.
    Product,
    /// A wait for groups of `wgmma`, `WARPGROUP.DEPBAR`.
    Wait,
}

impl Milestone {
    /// Count of milestones.
    pub const COUNT: usize = Milestone::Wait as usize + 1;
    /// All of them, by index.
    pub const ALL: [Milestone; Milestone::COUNT] = [
        Milestone::Meeting,
        Milestone::Pause,
        Milestone::Grant,
        Milestone::Fence,
        Milestone::Product,
        Milestone::Wait,
    ];

    /// The milestone of an instruction of this class.
    pub fn of(instruction: &Instruction, class: Class) -> Option<Milestone> {
        match instruction.op {
            Op::WARPSYNC => Some(Milestone::Meeting),
            Op::NOP => Some(Milestone::Pause),
            Op::USETMAXREG => Some(Milestone::Grant),
            Op::WARPGROUP if instruction.mods.has(Mod::ARRIVE) => Some(Milestone::Fence),
            Op::WARPGROUP if instruction.mods.has(Mod::DEPBAR) => Some(Milestone::Wait),
            _ => (class == Class::Group).then_some(Milestone::Product),
        }
    }
}

/// Cycles from the fence to an MMA. The operands of the MMA were written before the fence, early enough that the
/// distance of the table is kept between the two.
pub const FENCE_TO_PRODUCT: u8 = 6;

/// The longest of these distances, cycles.
pub const LONGEST_SPACING: u8 = 9;

/// The cycles that the checker accepts: ptxas leaves three cycles between small MMAs of the same factors.
pub fn accepted_spacing(first: Milestone, second: Milestone) -> u8 {
    match (first, second) {
        (Milestone::Product, Milestone::Product) => 3,
        _ => spacing(first, second),
    }
}

/// The longest spacing of any instruction before this one.
pub fn longest_spacing(first: Milestone) -> u8 {
    Milestone::ALL.into_iter().map(|second| spacing(first, second)).max().unwrap_or(0)
}

/// The cycles from the issue of one to the issue of the other, 0 if there is no rule. Each is the minimum in ptxas
/// code. On an H100, MMAs whose wait came one cycle after them gave wrong results, and so did kernels with 64-column
/// MMAs three cycles apart.
pub fn spacing(first: Milestone, second: Milestone) -> u8 {
    use Milestone::*;
    match (first, second) {
        (Meeting, Grant) => LONGEST_SPACING,
        (Pause, Grant) => 8,
        (Fence, Product) => FENCE_TO_PRODUCT,
        (Product, Product) => 4,
        (Product, Wait) => 3,
        _ => 0,
    }
}
