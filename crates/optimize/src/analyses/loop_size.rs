//! The size of a loop as unrolling counts it: operations as the source has them, before later phases fuse and split
//! them. Operations that must not be copied, or are never worth it, have no size.
//!
//! It is here because the limits of unrolling (`crate::passes::unroll`) are numbers of such operations. Weights and
//! limits are those that ptxas 13.0 was seen to use.

use oriole_ori::{BlockId, Function, Instruction, Opcode, Pseudo, SourceKind, Space, effects};
use oriole_sass::info::Effect;
use oriole_sass::{Mod, Op};

/// Operations of a loop that belong to its control: the step of the counter, the comparison and the branch.
const CONTROL: u32 = 3;

/// An atomic addition of integers: later phases make a vote and a reduction of it.
const ATOMIC_ADDITION: u32 = 10;

/// A division of 32-bit integers, which becomes a sequence.
const DIVISION: u32 = 18;

/// The size of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoopSize {
    /// Operations without those of its control.
    pub operations: u32,
    /// Loads from shared memory.
    pub shared_loads: u32,
    /// Loads from global, local or generic memory.
    pub far_loads: u32,
    /// Stores and atomics.
    pub stores: u32,
}

/// The size of these blocks, which are a loop; `None` if one of the operations must stay single, or the loop has more
/// than `most` operations.
pub fn loop_size(function: &Function, blocks: &[BlockId], most: u32) -> Option<LoopSize> {
    let mut size = LoopSize::default();
    for &block in blocks {
        for instruction in &function.block(block).instructions {
            size.operations += operations(instruction)?;
            if size.operations > most + CONTROL {
                return None;
            }
            match instruction.memory {
                Some(memory) if memory.writes => size.stores += 1,
                Some(memory) if memory.reads => match memory.space {
                    Space::Shared => size.shared_loads += 1,
                    Space::Constant => {}
                    _ => size.far_loads += 1,
                },
                _ => {}
            }
        }
    }
    size.operations = size.operations.saturating_sub(CONTROL);
    Some(size)
}

/// The operations that an instruction counts as; `None` if it must stay single.
fn operations(instruction: &Instruction) -> Option<u32> {
    if instruction.call.is_some() || effects::is_product_step(instruction) {
        return None;
    }
    let op = match instruction.opcode {
        Opcode::Pseudo(pseudo) => return of_pseudo(instruction, pseudo),
        Opcode::Sass(op) => op,
    };
    match op.info().effect {
        // Copies and numbers become operands; descriptors are made once.
        Effect::Pure | Effect::PureUniform if op == Op::MOV || op == Op::UMOV => Some(0),
        Effect::Pure
        | Effect::PureUniform
        | Effect::Register
        | Effect::Predicates
        | Effect::Query
        | Effect::Collective => Some(1),
        Effect::Load | Effect::Store => Some(access(instruction)),
        Effect::Atomic if op != Op::SYNCS && op != Op::ARRIVES => {
            Some(if is_integer_addition(instruction) { ATOMIC_ADDITION } else { access(instruction) })
        }
        Effect::Synchronize if op == Op::WARPSYNC => Some(0),
        Effect::Synchronize if op == Op::BAR => Some(1),
        Effect::Asynchronous if op == Op::LDGSTS => Some(access(instruction)),
        Effect::Branch if op == Op::BRA => Some(u32::from(instruction.guard.is_some())),
        Effect::Leave if op == Op::EXIT => Some(1),
        _ => None,
    }
}

fn of_pseudo(instruction: &Instruction, pseudo: Pseudo) -> Option<u32> {
    match pseudo {
        Pseudo::Copy | Pseudo::ParallelCopy | Pseudo::Undefined => Some(0),
        Pseudo::Divide | Pseudo::Remainder => {
            let wide = instruction.mods.has(Mod::U64) || instruction.mods.has(Mod::S64);
            (!wide).then_some(DIVISION)
        }
        Pseudo::Add64
        | Pseudo::Mul64
        | Pseudo::MulHi64
        | Pseudo::Shl64
        | Pseudo::Shr64
        | Pseudo::SetPredicate64
        | Pseudo::Select64
        | Pseudo::Logic64
        | Pseudo::Min64
        | Pseudo::Max64
        | Pseudo::FrameAddress => Some(1),
        _ => None,
    }
}

/// An access counts once more for the addition of an offset, and for the branch that a guard stands for.
fn access(instruction: &Instruction) -> u32 {
    let offset = instruction.sources.iter().any(
        |source| matches!(&source.kind, SourceKind::Address(address) if address.offset != 0 && !address.base.is_empty()),
    );
    let stores = instruction.memory.is_some_and(|memory| memory.writes);
    1 + u32::from(offset) + u32::from(stores && instruction.guard.is_some())
}

fn is_integer_addition(instruction: &Instruction) -> bool {
    let has = |name: Mod| instruction.mods.has(name);
    has(Mod::ADD) && ![Mod::F16x2, Mod::BF16_V2, Mod::F32, Mod::F64].into_iter().any(has)
}
