//! Special registers, barrier results and the program counter as a value.

use super::context::Context;
use crate::constants::CODE_BASE;
use crate::launch::Fault;
use crate::memory::SHARED_WINDOW;
use crate::warp::Lanes;
use oriole_sass::{Mod, Op, OperandKind, Symbol};

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    match context.instruction.op {
        Op::S2R | Op::S2UR => {
            let values = register(context)?;
            context.write(0, &values)
        }
        Op::CS2R => {
            let values = register(context)?;
            if context.has(Mod::_32) {
                return context.write(0, &values);
            }
            // The pair of a clock's halves begins with the named one.
            let upper = match context.kind(1)? {
                OperandKind::Symbol(symbol) if symbol.name().starts_with("SR_CLOCK") => {
                    (context.warp().cycle >> 32) as u32
                }
                _ => 0,
            };
            context.write_tuple(0, &[values, [upper; 32]])
        }
        Op::B2R => {
            if !context.has(Mod::RESULT) {
                return Err(context.refuse());
            }
            let (count, holds) = context.warp().reduction;
            context.write(0, &[count; 32])?;
            context.write_predicate(1, if holds { u32::MAX } else { 0 })
        }
        Op::LEPC | Op::ULEPC => {
            let shape = context.launch_context.shape;
            let offset = if context.count() > 1 {
                match context.kind(1)? {
                    OperandKind::Target(distance) | OperandKind::Imm(distance) => {
                        shape.end(context.pc).wrapping_add(distance)
                    }
                    _ => return Err(context.refuse()),
                }
            } else {
                // Its own address: ptxas adds the distance from itself to the return address.
                i64::from(shape.address(context.pc))
            };
            context.write_wide(0, &[CODE_BASE.wrapping_add(offset as u64); 32])
        }
        _ => Err(context.refuse()),
    }
}

fn register(context: &Context) -> Result<Lanes, Fault> {
    let OperandKind::Symbol(symbol) = context.kind(1)? else { return Err(context.refuse()) };
    let warp = context.warp();
    let size = context.launch_context.block;
    let thread: Lanes = std::array::from_fn(|lane| warp.number * 32 + lane as u32);
    let below = |lane: usize| (1u32 << lane) - 1;
    let upto = |lane: usize| below(lane) | 1 << lane;
    Ok(match symbol {
        Symbol::SRZ => [0; 32],
        Symbol::SR_TID_X => thread.map(|t| t % size[0]),
        Symbol::SR_TID_Y => thread.map(|t| t / size[0] % size[1]),
        Symbol::SR_TID_Z => thread.map(|t| t / size[0] / size[1]),
        Symbol::SR_TID => {
            thread.map(|t| (t % size[0]) | ((t / size[0] % size[1]) << 16) | ((t / size[0] / size[1]) << 26))
        }
        Symbol::SR_CTAID_X => [context.block.index[0]; 32],
        Symbol::SR_CTAID_Y => [context.block.index[1]; 32],
        Symbol::SR_CTAID_Z => [context.block.index[2]; 32],
        Symbol::SR_LANEID => std::array::from_fn(|lane| lane as u32),
        Symbol::SR_VIRTID => [warp.number << 8; 32],
        Symbol::SR_EQMASK => std::array::from_fn(|lane| 1 << lane),
        Symbol::SR_LTMASK => std::array::from_fn(below),
        Symbol::SR_LEMASK => std::array::from_fn(upto),
        Symbol::SR_GTMASK => std::array::from_fn(|lane| !upto(lane)),
        Symbol::SR_GEMASK => std::array::from_fn(|lane| !below(lane)),
        Symbol::SR_CLOCKLO => [warp.cycle as u32; 32],
        Symbol::SR_CLOCKHI => [(warp.cycle >> 32) as u32; 32],
        Symbol::SR_GLOBALTIMERLO => [warp.cycle as u32; 32],
        Symbol::SR_GLOBALTIMERHI => [(warp.cycle >> 32) as u32; 32],
        other => match other.name() {
            "SR_SWINHI" => [(SHARED_WINDOW >> 32) as u32; 32],
            // The lowest address that a stack may grow down to.
            "SR_LMEMHIOFF" => [0; 32],
            // The words of the bank that depend on it are where they are without offset.
            "SR_CgaSize" => [0; 32],
            "SR_CgaCtaId" => [context.block.rank; 32],
            "SR_SMEMSZ" => [context.cluster.shared[context.block.rank as usize].len() as u32; 32],
            // Warp slots of the SM, in the second byte.
            "SR_VIRTCFG" => [64 << 8; 32],
            "SR_NWARPID" | "SR_VIRTUALSMID" | "SR_SMID" => [0; 32],
            _ => return Err(Fault::NotSimulated(format!("special register {}", other.name()))),
        },
    })
}
