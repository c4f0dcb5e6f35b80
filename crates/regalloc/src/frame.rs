//! The stack frame: outgoing arguments at the bottom, then `.local` variables, then spills and saved registers.

use crate::abi;
use crate::error::AllocateError;
use crate::operands::local_address;
use oriole_ori::{
    Address, AddressPart, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, SymbolKind, Value,
};
use oriole_sass::{Mod, Op};

/// Frame offsets before spills are known, in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Offset of each local variable.
    pub local_offsets: Vec<u32>,
    /// First byte of the spill area.
    pub spill_base: u32,
}

/// Frame sizes are multiples of this, so that the stack pointer keeps the alignment that any variable may need.
pub const FRAME_ALIGN: u32 = 16;

/// True if the function allocates or frees stack memory dynamically.
pub fn moves_stack(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|i| matches!(i.opcode, Opcode::Pseudo(pseudo) if pseudo.moves_stack()))
}

/// The frame base register: the stack pointer if it does not move.
pub fn base_register(function: &Function) -> u8 {
    if moves_stack(function) { abi::FRAME_POINTER } else { abi::STACK_POINTER }
}

/// Stack pointer alignment that foreign callers guarantee.
const STACK_ALIGN: u32 = 8;

/// Bytes of a frame that its alignment may leave unused.
pub const ALIGNMENT_SLACK: u32 = FRAME_ALIGN - STACK_ALIGN;

/// True if the frame needs more alignment than an unknown caller guarantees.
pub fn aligns_stack(function: &Function) -> bool {
    let is_called_by_others = function.is_separate && !function.is_entry && function.routine.is_none();
    let mut calls =
        function.blocks.iter().flat_map(|block| &block.instructions).filter_map(|i| i.call.as_ref());
    is_called_by_others
        && (function.locals.iter().any(|local| local.align > STACK_ALIGN)
            || calls.any(|call| call.stack_bytes > 0))
}

/// Offsets in address operands are 24 bits, signed.
const LARGEST: u64 = 1 << 23;

/// Lays out the frame.
pub fn layout(function: &Function) -> Result<Frame, AllocateError> {
    let calls = function.blocks.iter().flat_map(|b| &b.instructions).filter_map(|i| i.call.as_ref());
    let mut at = u64::from(calls.map(|c| c.stack_bytes).max().unwrap_or(0));
    let mut local_offsets = Vec::new();
    for local in &function.locals {
        at = at.next_multiple_of(u64::from(local.align.max(1)));
        local_offsets.push(at as u32);
        at += local.size;
        if at >= LARGEST {
            return Err(AllocateError::Frame(at));
        }
    }
    Ok(Frame { local_offsets, spill_base: at.next_multiple_of(8) as u32 })
}

/// Rewrites addresses of local variables to stack pointer plus offset.
pub fn resolve(function: &mut Function, frame: &Frame, stack_pointer: Value) -> Result<(), AllocateError> {
    let offset_of = |function: &Function, symbol: oriole_ori::SymbolId| match function.symbols[symbol].kind {
        SymbolKind::Local(index) => frame.local_offsets.get(index as usize).map(|&o| o as i32),
        SymbolKind::Arguments => Some(0),
        _ => None,
    };
    for block in function.block_ids() {
        let mut instructions = std::mem::take(&mut function.blocks[block].instructions);
        for instruction in &mut instructions {
            if instruction.opcode == Opcode::Pseudo(Pseudo::FrameAddress) {
                let (symbol, offset) = match instruction.sources.first().map(|s| &s.kind) {
                    Some(SourceKind::Address32 { symbol, part: AddressPart::Low, offset }) => {
                        (*symbol, *offset)
                    }
                    _ => return Err(AllocateError::Input("a frame address without a variable".into())),
                };
                let base = offset_of(function, symbol)
                    .ok_or_else(|| AllocateError::Input("a frame address of no local variable".into()))?;
                instruction.opcode = Opcode::Sass(Op::IADD3);
                instruction.sources.clear();
                instruction.sources.push(Source::value(stack_pointer));
                instruction.sources.push(Source::imm((base + offset) as u32));
                instruction.sources.push(Source::plain(SourceKind::Zero(File::R)));
                continue;
            }
            for source in &mut instruction.sources {
                let SourceKind::Address(address) = &source.kind else { continue };
                let Address { descriptor: None, base, symbol: Some(symbol), offset, .. } = &**address else {
                    continue;
                };
                let Some(start) = offset_of(function, *symbol) else { continue };
                if !base.is_empty() {
                    return Err(AllocateError::Input("a local variable with an index in one address".into()));
                }
                *source = local_address(stack_pointer, start + offset);
            }
        }
        function.blocks[block].instructions = instructions;
    }
    Ok(())
}

/// An instruction that adds a constant to the stack pointer.
pub fn move_stack(stack_pointer: Value, by: i32, origin: oriole_ori::Origin) -> Instruction {
    let mut add = Instruction::new(Op::IADD3, origin);
    add.destinations.push(oriole_ori::Destination::new(File::R, [stack_pointer]));
    add.sources.push(Source::value(stack_pointer));
    add.sources.push(Source::imm(by as u32));
    add.sources.push(Source::plain(SourceKind::Zero(File::R)));
    add
}

/// An instruction that aligns the stack pointer to [`FRAME_ALIGN`].
pub fn align_stack(stack_pointer: Value, origin: oriole_ori::Origin) -> Instruction {
    let mut align = Instruction::new(Op::LOP3, origin);
    align.mods.insert(Mod::LUT);
    align.destinations.push(oriole_ori::Destination::new(File::R, [stack_pointer]));
    let never = Source { invert: true, ..Source::plain(SourceKind::True(File::P)) };
    let mask = Source::imm(FRAME_ALIGN.wrapping_neg());
    align.sources.extend([Source::value(stack_pointer), mask, Source::rz()]);
    align.sources.extend([Source::plain(SourceKind::Literal(0xc0)), never]);
    align
}
