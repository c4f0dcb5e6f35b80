//! The calling convention of device functions: argument registers, callee-saved registers, and the binding of the
//! operands of calls, returns and parameters to them.

use crate::error::AllocateError;
use crate::set::RegisterSet;
use oriole_chip::RegisterFiles;
use oriole_ori::{
    CallShape, Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, SymbolId,
    SymbolKind,
};
use oriole_sass::register::RZ;
use typed_index_collections::TiVec;

/// The stack pointer.
pub const STACK_POINTER: u8 = 1;
/// Old stack pointer at frame creation, in functions that allocate stack memory dynamically. It is not an argument,
/// return address or routine register, and it is callee-saved.
pub const FRAME_POINTER: u8 = 23;
/// The first of the two registers with the return address.
pub const RETURN_ADDRESS: u8 = 20;
/// Register that passes the return offset to a routine: an offset from the start of the kernel, in the low word of a
/// pair. The routine sets the high word to zero itself.
pub const ROUTINE_RETURN: u8 = 2;
/// First register of parameters and results.
const FIRST_WORD: u8 = 4;
/// One past the last argument register.
const LAST_WORD: u8 = 16;
/// The convergence barriers below this one may be overwritten by a routine. That is one, since the paths of a routine meet
/// once, at its end.
pub const ROUTINE_BARRIERS: u8 = 1;
/// First callee-saved convergence barrier.
pub const FIRST_SAVED_BARRIER: u8 = 6;
/// First callee-saved uniform register.
pub const FIRST_SAVED_UNIFORM: u8 = 36;

/// Callee-saved general registers: R2, R16 to R31, then the upper four of each eight from R32 on.
pub fn saved() -> RegisterSet {
    let mut set = RegisterSet::range(16, 32);
    set.insert(2);
    for r in 32..u16::from(RZ) {
        if r % 8 >= 4 {
            set.insert(r as u8);
        }
    }
    set
}

/// Registers that a call by this convention may clobber.
pub fn clobbers() -> [u64; 4] {
    let mut words = [0u64; 4];
    let saved = saved();
    for r in 0..u16::from(RZ) {
        if r != u16::from(STACK_POINTER) && !saved.contains(r as u8) {
            words[usize::from(r / 64)] |= 1 << (r % 64);
        }
    }
    words
}

/// The lowest free aligned registers for a group of words; later groups fill the holes. `None` if it goes on the
/// stack.
fn place(taken: &mut RegisterSet, words: usize) -> Option<u8> {
    let align = words.next_power_of_two().min(4) as u8;
    let mut base = FIRST_WORD;
    while usize::from(base) + words <= usize::from(LAST_WORD) {
        if (0..words as u8).all(|k| !taken.contains(base + k)) {
            (0..words as u8).for_each(|k| taken.insert(base + k));
            return Some(base);
        }
        base += align;
    }
    None
}

fn words(source: &Source) -> usize {
    match &source.kind {
        SourceKind::Values(values) => values.len(),
        _ => 1,
    }
}

/// Binds the operands of a call, a return or of parameters to the registers of the convention, unless they are bound
/// already.
fn bind_operands(instruction: &mut Instruction) -> Result<(), AllocateError> {
    let too_many = || AllocateError::Input("more argument words than registers".into());
    let mut taken = RegisterSet::default();
    for source in instruction.sources.iter_mut().filter(|source| source.fixed.is_none()) {
        source.fixed = Some(place(&mut taken, words(source)).ok_or_else(too_many)?);
    }
    let mut taken = RegisterSet::default();
    for destination in instruction.destinations.iter_mut().filter(|it| it.fixed.is_none()) {
        let width = usize::from(destination.width.max(1));
        destination.fixed = Some(place(&mut taken, width).ok_or_else(too_many)?);
    }
    Ok(())
}

/// Return address: a pair, but one word for routines that are in the section of their callers.
struct ReturnAddress {
    words: oriole_ori::Values,
    register: u8,
}

impl ReturnAddress {
    fn new(function: &mut Function) -> ReturnAddress {
        let (count, register) = match function.routine {
            Some(_) if function.is_separate => (2, ROUTINE_RETURN),
            Some(_) => (1, ROUTINE_RETURN),
            None => (2, RETURN_ADDRESS),
        };
        let words = (0..count).map(|_| function.new_value(File::R, None)).collect();
        ReturnAddress { words, register }
    }

    fn destination(&self) -> Destination {
        Destination { fixed: Some(self.register), ..Destination::new(File::R, self.words.iter().copied()) }
    }

    fn source(&self) -> Source {
        Source { fixed: Some(self.register), ..Source::values(self.words.iter().copied()) }
    }
}

/// Binds calls, returns and parameters to the registers of the convention unless the operands have fixed registers,
/// and makes the return address of functions a value.
///
/// # Errors
/// Words that do not fit into registers: they must have been stored to the stack before.
pub fn bind(function: &mut Function, files: &RegisterFiles) -> Result<(), AllocateError> {
    let external: TiVec<SymbolId, bool> =
        function.symbols.iter().map(|s| s.kind == SymbolKind::Extern).collect();
    let address: Option<ReturnAddress> = (!function.is_entry).then(|| ReturnAddress::new(function));
    let mut parameters = false;
    for block in &mut function.blocks {
        for instruction in &mut block.instructions {
            match instruction.opcode {
                Opcode::Pseudo(Pseudo::Call) => {
                    let indirect = instruction.call.as_ref().is_some_and(|c| c.callee.is_none());
                    if indirect && let Some(target) = instruction.sources.last_mut() {
                        // Two registers that no argument and no return address uses.
                        target.fixed = target.fixed.or(Some(2));
                    }
                    bind_operands(instruction)?;
                    let shape = instruction.call.get_or_insert_with(|| {
                        Box::new(CallShape {
                            callee: None,
                            stack_bytes: 0,
                            clobbers: clobbers(),
                            clobbered_predicates: files.all_predicates(),
                            clobbers_uniform: true,
                            ..CallShape::default()
                        })
                    });
                    let outside = shape.callee.is_some_and(|c| external[c]);
                    if indirect || outside {
                        // The registers of the callee's address.
                        shape.clobbers[0] |= 0b1100;
                    }
                    shape.clobbers[0] |= 0b11 << RETURN_ADDRESS;
                }
                Opcode::Pseudo(Pseudo::CallHelper) => {
                    bind_operands(instruction)?;
                    if let Some(shape) = &mut instruction.call {
                        shape.clobbers[0] |= 0b11 << ROUTINE_RETURN;
                    }
                }
                Opcode::Pseudo(Pseudo::Parameters) => {
                    parameters = true;
                    bind_operands(instruction)?;
                    instruction.destinations.extend(address.as_ref().map(ReturnAddress::destination));
                }
                Opcode::Pseudo(Pseudo::Return) => {
                    bind_operands(instruction)?;
                    instruction.sources.extend(address.as_ref().map(ReturnAddress::source));
                }
                _ => {}
            }
        }
    }
    if let (Some(address), false) = (address, parameters) {
        let mut instruction = Instruction::new(Pseudo::Parameters, oriole_ori::Origin(0));
        instruction.destinations.push(address.destination());
        if let Some(entry) = function.blocks.first_mut() {
            entry.instructions.insert(0, instruction);
        }
    }
    Ok(())
}
