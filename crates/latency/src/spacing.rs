//! Distances that instructions keep whatever registers they have: the fence, the products and the waits of a warp group, and
//! changes of the number of registers. No register and no scoreboard tells of them, so that whoever breaks one gets wrong results
//! and nothing else.

use crate::Class;
use oriole_sass::{Instruction, Mod, Op};

/// An instruction that others keep a distance to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Milestone {
    /// The lanes of a warp meet.
    Meeting,
    /// A pause.
    Pause,
    /// The number of registers changes.
    Grant,
    /// The fence before products of a warp group, `WARPGROUP.ARRIVE`.
    Fence,
    /// A product of a warp group.
    Product,
    /// A wait for groups of products, `WARPGROUP.DEPBAR`.
    Wait,
}

impl Milestone {
    /// How many there are.
    pub const COUNT: usize = Milestone::Wait as usize + 1;
    /// All of them, in order of their numbers.
    pub const ALL: [Milestone; Milestone::COUNT] = [
        Milestone::Meeting,
        Milestone::Pause,
        Milestone::Grant,
        Milestone::Fence,
        Milestone::Product,
        Milestone::Wait,
    ];

    /// What an instruction of this class is to others.
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

/// Cycles from the fence to a product. What the product reads was written before the fence, so much earlier as leaves the two of
/// them the distance of their table.
pub const FENCE_TO_PRODUCT: u8 = 6;

/// The longest of these distances, cycles.
pub const LONGEST_SPACING: u8 = 9;

/// The cycles that code of others may leave: small products of the same factors have been seen three cycles apart.
pub fn accepted_spacing(first: Milestone, second: Milestone) -> u8 {
    match (first, second) {
        (Milestone::Product, Milestone::Product) => 3,
        _ => spacing(first, second),
    }
}

/// The most cycles that any instruction keeps to this one behind it.
pub fn longest_spacing(first: Milestone) -> u8 {
    Milestone::ALL.into_iter().map(|second| spacing(first, second)).max().unwrap_or(0)
}

/// The cycles from the issue of one to the issue of the other, 0 if there is no rule. Each is the least that mature code leaves;
/// on an H200 products gave wrong results whose wait came one cycle behind them, and so did kernels with products of 64 columns
/// three cycles apart.
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
