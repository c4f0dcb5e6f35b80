//! Physical registers that hold PTX registers, from where to where in the finished code. Debuggers show
//! variables by it.
//!
//! It is here because two stages know the answer: allocation knows the source and the register of a value,
//! the finished code the places of its instructions. Only values that are written on every path to a place
//! count there. It reads code in source order, level 0; nothing of it enters the code.

use crate::Allocated;
use crate::places::words;
use oriole_ori::{BlockId, File, Instruction, MachineFunction, Opcode, Pseudo};

/// A part of a PTX register is in a register of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct Held {
    /// The register's file.
    pub file: HolderFile,
    /// Its number there.
    pub number: u8,
    /// Index of the word that writes it, or of the first word of code from which it is there whatever the way.
    pub first: u32,
    /// Index of the word that overwrites it, or of the first one from which it may be something else; at the end of the
    /// code the number of words.
    pub end: u32,
    /// The PTX register, by its number in the body.
    pub register: u32,
    /// Which 32 bits of it.
    pub component: u8,
}

/// Files of registers that hold registers of the PTX.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub enum HolderFile {
    /// General registers.
    General,
    /// Uniform registers.
    Uniform,
    /// Predicates.
    Predicate,
    /// Uniform predicates.
    UniformPredicate,
}

const FILES: [HolderFile; 4] =
    [HolderFile::General, HolderFile::Uniform, HolderFile::Predicate, HolderFile::UniformPredicate];
/// Registers of a file, at most.
const FILE_SIZE: usize = 256;

/// Contents of each register: a PTX register's number and component.
type Holding = Vec<Option<(u32, u8)>>;

fn index(file: File, number: u8) -> Option<usize> {
    let file = match file {
        File::R => 0,
        File::UR => 1,
        File::P => 2,
        File::UP => 3,
        File::B => return None,
    };
    Some(file * FILE_SIZE + usize::from(number))
}

/// Effect of an instruction on the contents of registers.
fn pass(allocated: &Allocated, instruction: &Instruction, holding: &mut Holding) {
    if let Some(call) = &instruction.call {
        for (number, held) in holding[..FILE_SIZE].iter_mut().enumerate() {
            if call.clobbers[number / 64] >> (number % 64) & 1 != 0 {
                *held = None;
            }
        }
        for number in (0..8).filter(|number| call.clobbered_predicates >> number & 1 != 0) {
            holding[2 * FILE_SIZE + number] = None;
        }
        if call.clobbers_uniform {
            holding[FILE_SIZE..2 * FILE_SIZE].fill(None);
            holding[3 * FILE_SIZE..].fill(None);
        }
    }
    let mut written = Vec::new();
    instruction.for_each_definition(|value| {
        let data = allocated.function.values[value];
        let number = allocated.assignment.registers.get(value).copied().flatten();
        if let Some(register) = number.and_then(|number| index(data.file, number)) {
            written.push((register, data.source));
        }
    });
    for &(_, source) in written.iter().filter(|(_, source)| source.is_some()) {
        // The registers that held it before have an older value.
        holding.iter_mut().filter(|held| **held == source).for_each(|held| *held = None);
    }
    let copied = copied_from(allocated, instruction);
    for (register, source) in written {
        // A copy in place that gives no name leaves what the register holds.
        if source.is_some() || copied != Some(register) {
            holding[register] = source;
        }
    }
}

/// The register that a copy reads as it is.
fn copied_from(allocated: &Allocated, instruction: &Instruction) -> Option<usize> {
    let Opcode::Pseudo(Pseudo::Copy) = instruction.opcode else { return None };
    let value = instruction.sources.first()?.as_plain_value()?;
    let number = allocated.assignment.registers.get(value).copied().flatten()?;
    index(allocated.function.file(value), number)
}

/// Contents of registers at the start of each block on every path; `None` for an unreachable block.
fn at_starts(allocated: &Allocated) -> Vec<Option<Holding>> {
    let function = &allocated.function;
    let mut starts: Vec<Option<Holding>> = vec![None; function.blocks.len()];
    if let Some(entry) = starts.first_mut() {
        *entry = Some(vec![None; FILES.len() * FILE_SIZE]);
    }
    let mut waiting: Vec<BlockId> = function.block_ids().take(1).collect();
    while let Some(block) = waiting.pop() {
        let Some(mut holding) = starts[usize::from(block)].clone() else { continue };
        for instruction in &function.blocks[block].instructions {
            pass(allocated, instruction, &mut holding);
        }
        for &next in &function.blocks[block].successors {
            let start = &mut starts[usize::from(next)];
            let before = start.clone();
            match start {
                None => *start = Some(holding.clone()),
                Some(start) => {
                    let both = start.iter_mut().zip(&holding);
                    both.filter(|(one, other)| one != other).for_each(|(one, _)| *one = None);
                }
            }
            if *start != before {
                waiting.push(next);
            }
        }
    }
    starts
}

/// Where registers of the PTX are, by register and then by place.
pub fn held(allocated: &Allocated, finished: &MachineFunction) -> Vec<Held> {
    let mut found = Vec::new();
    let mut open: Vec<Option<(u32, (u32, u8))>> = vec![None; FILES.len() * FILE_SIZE];
    let mut change = |at: u32, holding: &Holding| {
        for (register, (open, &now)) in open.iter_mut().zip(holding).enumerate() {
            if open.map(|(_, held)| held) == now {
                continue;
            }
            if let Some((first, (source, component))) = *open
                && first < at
            {
                let (file, number) = (FILES[register / FILE_SIZE], (register % FILE_SIZE) as u8);
                found.push(Held { file, number, first, end: at, register: source, component });
            }
            *open = now.map(|held| (at, held));
        }
    };
    let nothing: Holding = vec![None; FILES.len() * FILE_SIZE];
    let starts = at_starts(allocated);
    let mut end = 0;
    for (block, start) in allocated.function.block_ids().zip(&starts) {
        let mut holding = start.clone().unwrap_or_else(|| nothing.clone());
        change(end, &holding);
        for (at, instruction) in words(allocated, finished, block) {
            pass(allocated, instruction, &mut holding);
            change(at, &holding);
        }
        end += finished.blocks[block].instructions.len() as u32;
    }
    change(end, &nothing);
    found.sort_unstable();
    found
}
