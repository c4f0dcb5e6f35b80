//! Lowering: a resolved PTX function becomes an Ori function in machine opcodes over virtual registers.
//!
//! It is the one place that knows the meaning of each PTX instruction in SASS. It takes [`oriole_hir::Body`] and
//! returns [`oriole_ori::Function`], not yet in SSA. No PTX text, no physical register beyond those of the calling
//! convention, no latency and no optimization may enter; an operation left whole for a later phase is one of
//! [`oriole_ori::Pseudo`].
//!
//! # Families
//!
//! `dispatch` is the table from each PTX opcode to a function of its family. A family is a folder; its `mod.rs` says what
//! belongs there, and names what other families may use. Its functions take the context (`context::Lower`) and the
//! instruction. The context has what every family needs: operands, registers, blocks, emission, errors.
//!
//! | folder | what |
//! |---|---|
//! | `arithmetic` | arithmetic, logic, comparison, selection |
//! | `moves` | `mov` and `cvt` |
//! | `names` | addresses of variables and functions, special registers |
//! | `memory` | loads, stores, atomic operations, cache lines, spaces |
//! | `copies` | asynchronous and bulk copies, tensor maps |
//! | `threads` | lanes of a warp, barriers, fences, mbarriers |
//! | `matrix` | `mma`, `wmma`, `wgmma` |
//! | `tensor_memory` | `tcgen05` |
//! | `texture` | textures and surfaces |
//! | `control` | branches, the end of a function, the stack pointer |
//! | `functions` | the calling convention, parameters, the frame, calls |
//! | `finishing` | steps over a whole function after its last statement |
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

mod arithmetic;
mod body;
mod context;
mod control;
mod copies;
mod dispatch;
mod environment;
mod error;
mod finishing;
mod functions;
mod limits;
mod matrix;
mod memory;
mod moves;
mod names;
mod outside;
mod source;
mod tensor_memory;
mod texture;
mod threads;

pub use environment::Environment;
pub use error::LowerError;
pub use limits::register_limit;
pub use outside::options_for;

use oriole_hir::Body;
use oriole_ori::Function;

/// Lowers one function.
///
/// The result is in canonical form: blocks in RPO, without unreachable ones. It is not in SSA: a value may be written
/// several times.
///
/// # Errors
///
/// Every instruction, operand or construct without back-end support, or an unknown chip.
pub fn lower(body: &Body, environment: &Environment) -> Result<Function, Vec<LowerError>> {
    let placed = body.placed_for(environment.chip);
    let body = placed.as_ref().unwrap_or(body);
    let function = attempt(body, environment, true)?;
    let (mut function, uniform) = if finishing::writes_uniform_in_parts(&function) {
        (attempt(body, environment, false)?, false)
    } else {
        (function, true)
    };
    finishing::settle_handles(&mut function, environment.chip, uniform);
    finishing::settle_offsets(&mut function, environment.chip);
    Ok(function)
}

fn attempt(body: &Body, environment: &Environment, uniform: bool) -> Result<Function, Vec<LowerError>> {
    let mut function = Function::default();
    let mut cx =
        context::Lower::new(body, environment, &mut function, uniform).map_err(|error| vec![error])?;
    body::lower(&mut cx)?;
    finishing::take_turns(&mut function);
    oriole_ori::canonical::canonicalize(&mut function);
    Ok(function)
}
