//! The functions that the CUDA driver provides to kernels: printing, the heap, failed assertions. They follow the
//! calling convention of NVIDIA's compiler. They leave garbage in every register that they may clobber, so that a
//! caller that relies on one is found. Calls within the file are not handled here.

use super::context::{Context, each_active};
use super::load_store::{Space, load, place};
use crate::format::values;
use crate::launch::Fault;
use crate::memory::store_words;
use crate::warp::{Lanes, bits};
use oriole_sass::register::{PT, RZ};
use oriole_sass::{Control, Guard, Instruction, Op};
use std::ops::Range;

/// The stack pointer.
const STACK_POINTER: u8 = 1;
/// The first word of the arguments, and of the result.
const FIRST_WORD: u8 = 4;
/// The first of the two registers with the return address.
pub(crate) const RETURN_ADDRESS: u8 = 20;
/// Uniform registers that a call may overwrite.
pub(crate) const FREE_UNIFORM: Range<u8> = 4..36;
/// Convergence barriers that a call may overwrite.
const FREE_BARRIERS: Range<usize> = 0..6;
/// Frame size of a function, in bytes below the stack pointer.
const FRAME: u64 = 128;
/// Maximum length of a string that is read.
const STRING_LIMIT: u64 = 1 << 16;

/// General registers that a call may overwrite: NVIDIA's compiler keeps values in all others across a call. Functions
/// of a file may overwrite more.
fn is_free(register: u8, keeps_from_32: bool) -> bool {
    match register {
        0 | 3..16 => true,
        1 | 2 | 16..32 => false,
        _ => !keeps_from_32 && register % 8 < 4,
    }
}

/// The garbage left in a register that a call may overwrite.
fn garbage(register: u8) -> u32 {
    0xbad0_0001 | u32::from(register) << 8
}

/// The effect of a function in a lane, and its result.
type Function = fn(&mut Context, usize) -> Result<u64, Fault>;

/// The instruction that stands for the code of the functions: they only read the memory of a kernel.
pub(crate) fn reading() -> Instruction {
    Instruction {
        guard: Guard::ALWAYS,
        op: Op::LD,
        mods: Default::default(),
        operands: Default::default(),
        control: Control::NEUTRAL,
    }
}

/// Executes a function of the driver in all lanes of the group, and returns to the call.
pub(crate) fn execute(context: &mut Context, name: &str) -> Result<(), Fault> {
    let (function, words): (Function, u8) = match name {
        "vprintf" => (print, 1),
        "malloc" => (allocate, 2),
        "free" => (release, 0),
        "__assertfail" => (assertion_failed, 0),
        _ => return Err(Fault::NotSimulated(format!("a call of `{name}`, which the file does not define"))),
    };
    let mut result = [[0; 32]; 2];
    each_active(context, |context, lane| {
        take_frame(context, lane)?;
        let value = function(context, lane)?;
        result[0][lane] = value as u32;
        result[1][lane] = (value >> 32) as u32;
        Ok(())
    })?;
    leave_garbage(context);
    let active = context.active;
    for (register, values) in (FIRST_WORD..FIRST_WORD + words).zip(&result) {
        context.warp_mut().write(register, active, values);
    }
    context.go_to(RETURN_ADDRESS)
}

/// Fills the frame of the function, which is below the stack pointer.
fn take_frame(context: &mut Context, lane: usize) -> Result<(), Fault> {
    let top = u64::from(word(context, lane, STACK_POINTER));
    for offset in (8..=FRAME).step_by(8) {
        let address = top.wrapping_sub(offset) & 0xffff_ffff;
        store_words(place(context, lane, Space::Local, address, 8)?, &[garbage(STACK_POINTER); 4]);
    }
    Ok(())
}

/// Overwrites all registers that a call may overwrite, predicates and barriers included.
fn leave_garbage(context: &mut Context) {
    let (active, keeps_from_32) = (context.active, context.launch_context.driver_keeps_from_32);
    let warp = context.warp_mut();
    for register in (0..RZ).filter(|&register| is_free(register, keeps_from_32)) {
        let values: Lanes = [garbage(register); 32];
        warp.write(register, active, &values);
    }
    for register in FREE_UNIFORM {
        warp.write_uniform(register, garbage(register));
    }
    for register in 0..PT {
        let holds = warp.predicates[usize::from(register)];
        warp.write_predicate(register, active, !holds);
        warp.write_uniform_predicate(register, warp.uniform_predicates >> register & 1 == 0);
    }
    for barrier in FREE_BARRIERS {
        for lane in bits(active) {
            warp.barriers[barrier][lane] = !warp.barriers[barrier][lane];
        }
    }
}

fn word(context: &Context, lane: usize, register: u8) -> u32 {
    context.warp().read(register)[lane]
}

fn pair(context: &Context, lane: usize, register: u8) -> u64 {
    u64::from(word(context, lane, register)) | u64::from(word(context, lane, register + 1)) << 32
}

/// The string at a generic address, up to its zero byte.
fn string(context: &mut Context, lane: usize, address: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    for offset in 0..STRING_LIMIT {
        match load(context, lane, Space::Generic, address.wrapping_add(offset), 1)?[0] {
            0 => break,
            byte => bytes.push(byte as u8),
        }
    }
    Ok(bytes)
}

/// `vprintf`: the format in R4, the address of the arguments in R6. Each is aligned to its size.
fn print(context: &mut Context, lane: usize) -> Result<u64, Fault> {
    let (format, mut address) = (pair(context, lane, 4), pair(context, lane, 6));
    let format = string(context, lane, format)?;
    let values = values(&format);
    for value in &values {
        address = address.checked_next_multiple_of(u64::from(value.bytes)).unwrap_or(0);
        let words = load(context, lane, Space::Generic, address, value.bytes)?;
        if value.is_string {
            string(context, lane, u64::from(words[0]) | u64::from(words[1]) << 32)?;
        }
        address = address.wrapping_add(u64::from(value.bytes));
    }
    Ok(values.len() as u64)
}

/// `malloc`: the size in R4.
fn allocate(context: &mut Context, lane: usize) -> Result<u64, Fault> {
    let bytes = pair(context, lane, 4);
    Ok(context.global.allocate(bytes))
}

/// `free`: the address in R4.
fn release(context: &mut Context, lane: usize) -> Result<u64, Fault> {
    let address = pair(context, lane, 4);
    context.global.release(address).map(|()| 0)
}

/// `__assertfail`: the condition in R4, the file in R6, the line in R8, the function in R10.
fn assertion_failed(context: &mut Context, lane: usize) -> Result<u64, Fault> {
    let line = word(context, lane, 8);
    let mut text = |register| {
        let address = pair(context, lane, register);
        string(context, lane, address).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let (asserted, file, function) = (text(4)?, text(6)?, text(10)?);
    Err(Fault::Assertion(format!("assertion `{asserted}` failed: {file}:{line}, {function}")))
}
