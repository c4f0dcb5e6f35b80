//! Lowering: a resolved PTX function becomes an Ori function in machine opcodes over virtual registers.
//!
//! It is the one place that knows the meaning of each PTX instruction in SASS. It takes [`oriole_hir::Body`] and
//! returns [`oriole_ori::Function`], not yet in SSA. No PTX text, no physical register beyond those of the calling
//! convention, no latency and no optimization may enter; an operation left whole for a later phase is one of
//! [`oriole_ori::Pseudo`].
//!
//! # How PTX registers map
//!
//! A PTX register of up to 32 bits is one value of file R, a 64-bit one two, a 128-bit one four (low word first); a
//! predicate is one value of file P. Registers of 8 and 16 bits are in the low bits of their value, and *the upper
//! bits are undefined*: each use that depends on them extends first. The condition code of `add.cc` and similar is
//! one value of file P that holds the hardware carry (after a subtraction: no borrow).
//!
//! # Guards
//!
//! A guarded PTX instruction guards the Ori instructions that write PTX registers, touch memory, or act on other
//! threads. Instructions that only feed them write temporaries and are unguarded. Where the expansion has control
//! flow of its own, a branch skips all of it.

mod async_copy;
mod atomics;
mod barrier;
mod barrier_object;
mod bits;
mod body;
mod bulk;
mod cache_policy;
mod calls;
mod compare;
mod context;
mod control;
mod convert;
mod convert_integer;
mod convert_random;
mod dispatch;
mod error;
mod float32;
mod float64;
mod gradients;
mod half;
mod handles;
mod immediate;
mod integer;
mod integer64;
mod leaders;
mod limits;
mod machine;
mod matrix;
mod matrix_steps;
mod memory;
mod moves;
mod multimem;
mod offsets;
mod operand;
mod parameter_accesses;
mod parameters;
mod properties;
mod quarters;
mod register_parameters;
mod space;
mod sparse;
mod special;
mod surface;
mod tensor_columns;
mod tensor_map;
mod tensor_memory;
mod texture;
mod video;
mod warp;
mod warp_group;
mod wmma;

pub use error::LowerError;
pub use limits::{register_cap, register_limit};

use oriole_chip::Chip;
use oriole_hir::Body;
use oriole_options::LowerOptions;
use oriole_ori::{BlockId, Divergence, File, Function, Opcode, values_across_blocks};
use oriole_sass::Op;

/// Inputs of lowering besides the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Environment {
    /// The chip that code is made for.
    pub chip: Chip,
    /// The options of this stage.
    pub options: LowerOptions,
}

/// Lowers one function.
///
/// The result is in canonical form: blocks in RPO, without unreachable ones. It is not in SSA: a value may be written
/// several times.
///
/// # Errors
///
/// Every instruction, operand or construct without back-end support, or an unknown chip.
pub fn lower(body: &Body, environment: &Environment) -> Result<Function, Vec<LowerError>> {
    let function = attempt(body, environment, true)?;
    let (mut function, uniform) = if writes_uniform_in_parts(&function) {
        (attempt(body, environment, false)?, false)
    } else {
        (function, true)
    };
    handles::settle(&mut function, environment.chip, uniform);
    offsets::settle(&mut function, environment.chip);
    Ok(function)
}

fn attempt(body: &Body, environment: &Environment, uniform: bool) -> Result<Function, Vec<LowerError>> {
    let mut function = Function::default();
    let lower =
        context::Lower::new(body, environment, &mut function, uniform).map_err(|error| vec![error])?;
    lower.run()?;
    leaders::take_turns(&mut function);
    oriole_ori::canonical::canonicalize(&mut function);
    Ok(function)
}

/// True if a uniform register is written where only a subset of the warp may execute, and read in another block:
/// other lanes could overwrite it before. The lanes that `REDUX` and `CREDUX` combine must be all of its mask.
fn writes_uniform_in_parts(function: &Function) -> bool {
    let crosses = values_across_blocks(function);
    let is_uniform = |value| matches!(function.file(value), File::UR | File::UP);
    let writes = |block: &BlockId| {
        let mut writes = false;
        for instruction in &function.block(*block).instructions {
            let collective = matches!(instruction.opcode, Opcode::Sass(Op::REDUX | Op::CREDUX));
            instruction
                .for_each_definition(|value| writes |= is_uniform(value) && (collective || crosses[value]));
        }
        writes
    };
    let writers: Vec<BlockId> = function.block_ids().filter(writes).collect();
    let graph = function.graph();
    let cfg = graph.cfg();
    // The whole warp executes the entry; usually no other block writes uniform registers.
    if writers.iter().all(|&block| block == BlockId(0)) && cfg.predecessors(BlockId(0)).is_empty() {
        return false;
    }
    let divergence = Divergence::new(function, &graph);
    writers.iter().any(|&block| !divergence.is_uniform_block(block))
}
