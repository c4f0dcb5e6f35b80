//! The machine code of a cubin as blocks and rows: text, control word, issue times and live registers.
//!
//! Views, comparisons and graphs all start from it, for cubins of any compiler. No rendering is done here, and the
//! source is not known.

use std::collections::BTreeMap;

use oriole_chip::Chip;
use oriole_cubin::Bound;
use oriole_cubin::read::Kernel;
use oriole_ide::{CubinError, chip_of};
use oriole_latency::{Model, Unit};
use oriole_ori::MachineFunction;
use oriole_sass::form::{self, Table};
use oriole_sass::{DecodeError, EncodeError, Instruction, InstructionWord, Op, Style};
use oriole_schedule::{Issue, Named, Pressure, Statistics};

/// The code of a cubin.
#[derive(Clone, PartialEq, Debug)]
pub struct Code {
    /// Its chip.
    pub chip: Chip,
    /// Kernels, then the functions that have sections of their own.
    pub kernels: Vec<KernelCode>,
}

/// A kernel or function with the contents of its section.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelCode {
    /// Its name.
    pub name: String,
    /// General registers of a thread.
    pub registers: u32,
    /// Registers of each file that the code names, functions inside of its section included.
    pub named: Named,
    /// Bytes of its own stack frame.
    pub frame_bytes: u32,
    /// Bytes of the stack with all calls, if the file states it.
    pub stack_bytes: Option<u32>,
    /// Bytes of static shared memory, without the reserved part.
    pub shared_bytes: u64,
    /// Bytes of constants and parameters.
    pub constant_bytes: u64,
    /// Named barriers.
    pub barriers: u8,
    /// Threads of a block, where the kernel bounds them.
    pub threads: Option<u32>,
    /// Instructions and cycles, without padding.
    pub figures: Statistics,
    /// Stores to and loads from local memory.
    pub local: (u32, u32),
    /// The instructions.
    pub rows: Vec<Row>,
    /// The blocks in the order of the code.
    pub blocks: Vec<Block>,
    /// Functions inside of the section: index of the first row, and name.
    pub functions: Vec<(usize, String)>,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Byte from the start of the section.
    pub address: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// As text of the disassembler.
    pub text: String,
    /// Its issue time, if the latencies of the chip are known.
    pub issue: Option<Issue>,
    /// Registers that are live.
    pub pressure: Pressure,
    /// The unit that it keeps busy longest.
    pub unit: Option<Unit>,
    /// Its block.
    pub block: usize,
}

/// A block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// First row.
    pub first: usize,
    /// The row after its last one.
    pub end: usize,
    /// Blocks that control may go to.
    pub successors: Vec<usize>,
    /// Loops that it is in.
    pub loop_depth: u8,
    /// Cycles to issue it once.
    pub cycles: u64,
}

/// Why the code of a cubin cannot be shown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
    /// The container, or its chip.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// A word of a kernel or function.
    #[error("{name}: {reason}")]
    Kernel {
        /// The kernel or function.
        name: String,
        /// The reason.
        reason: WordError,
    },
}

/// Why a word cannot be shown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WordError {
    /// It is not an instruction.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The chip has no such form.
    #[error(transparent)]
    Form(#[from] EncodeError),
}

impl Code {
    /// Decodes a cubin.
    ///
    /// # Errors
    /// The bytes are no cubin, are for a chip whose code cannot be read, or hold a word that is not an instruction.
    pub fn read(bytes: &[u8]) -> Result<Code, CodeError> {
        let cubin = oriole_cubin::read(bytes).map_err(CubinError::from)?;
        let chip = chip_of(&cubin)?;
        let forms = form::table(chip).ok_or(CubinError::Unsupported(chip))?;
        let symbol = |index: usize| {
            let symbol = cubin.symbols.get(index)?;
            Some((symbol.value, symbol.name.clone()))
        };
        let kernel = |kernel: &Kernel| {
            let own = format!("${}$", kernel.name);
            let inner = kernel
                .functions
                .iter()
                .filter_map(|&index| symbol(index))
                .map(|(value, name)| (value, name.strip_prefix(&own).map(str::to_owned).unwrap_or(name)));
            KernelCode::of(chip, forms, kernel, inner.collect())
                .map_err(|reason| CodeError::Kernel { name: kernel.name.clone(), reason })
        };
        Ok(Code { chip, kernels: cubin.codes().map(kernel).collect::<Result<_, _>>()? })
    }
}

/// Instructions before the closing branch to itself and the padding.
pub fn code_words(chip: Chip, words: &[InstructionWord]) -> usize {
    let Some(rules) = oriole_cubin::rules(u16::from(chip.number())) else { return words.len() };
    let padding = words.iter().rev().take_while(|&&word| word == rules.padding).count();
    let end = words.len() - padding;
    end - usize::from(end > 0 && words[end - 1] == rules.self_branch)
}

/// The instructions of a kernel without those that only fill it up, and the same as blocks.
fn decoded(chip: Chip, kernel: &Kernel) -> Result<(Vec<Instruction>, MachineFunction), WordError> {
    let words = &kernel.code[..code_words(chip, &kernel.code)];
    let decode = |&word: &InstructionWord| oriole_sass::decode(chip, word);
    let code: Vec<Instruction> = words.iter().map(decode).collect::<Result<_, _>>()?;
    let index = |offset: u32| chip.words().index(offset) as usize;
    let tables: BTreeMap<usize, Vec<usize>> = kernel
        .indirect_branches
        .iter()
        .map(|branch| (index(branch.offset), branch.targets.iter().copied().map(index).collect()))
        .collect();
    let function = oriole_schedule::decoded(chip, &code, &tables)?;
    Ok((code, function))
}

/// The figures of a kernel or function, and how many instructions access local memory.
///
/// # Errors
/// A word is not an instruction.
pub fn figures(chip: Chip, kernel: &Kernel) -> Result<(Statistics, usize), CodeError> {
    let (code, function) =
        decoded(chip, kernel).map_err(|reason| CodeError::Kernel { name: kernel.name.clone(), reason })?;
    let is_local = |instruction: &&Instruction| matches!(instruction.op, Op::STL | Op::LDL);
    Ok((oriole_schedule::statistics(&function), code.iter().filter(is_local).count()))
}

impl KernelCode {
    fn of(
        chip: Chip,
        forms: &'static Table,
        kernel: &Kernel,
        inner: Vec<(u64, String)>,
    ) -> Result<KernelCode, WordError> {
        let shape = chip.words();
        let (code, function) = decoded(chip, kernel)?;
        let figures = oriole_schedule::statistics(&function);
        let pressure = oriole_schedule::pressure(&function, forms);
        let model = Model::of(chip);
        let times = model.map(|model| oriole_schedule::timeline(&function, model));
        let mut blocks: Vec<Block> = Vec::with_capacity(function.blocks.len());
        let mut block_of = Vec::with_capacity(code.len());
        for (id, block) in function.blocks.iter_enumerated() {
            let first = block_of.len();
            block_of.resize(first + block.instructions.len(), usize::from(id));
            blocks.push(Block {
                first,
                end: block_of.len(),
                successors: block.successors.iter().map(|&id| usize::from(id)).collect(),
                loop_depth: block.loop_depth,
                cycles: block
                    .instructions
                    .iter()
                    .map(|it| u64::from(it.instruction.control.stall.max(1)))
                    .sum(),
            });
        }
        let mut rows = Vec::with_capacity(code.len());
        for (at, instruction) in code.into_iter().enumerate() {
            let address = shape.address(at as u32);
            let text = oriole_sass::text(chip, &instruction, Some(address.into()), Style::Plain)?;
            rows.push(Row {
                address,
                text,
                issue: times.as_ref().map(|times| times[at]),
                pressure: pressure[at],
                unit: model.and_then(|model| busiest(model, &instruction)),
                block: block_of[at],
                instruction,
            });
        }
        let local = |op: Op| rows.iter().filter(|row| row.instruction.op == op).count() as u32;
        let reserved = chip.limits().map_or(0, |limits| u64::from(limits.static_shared_start));
        Ok(KernelCode {
            name: kernel.name.clone(),
            registers: kernel.registers,
            named: oriole_schedule::named(&function, forms),
            frame_bytes: kernel.frame_size,
            stack_bytes: kernel.stack_size,
            shared_bytes: kernel.shared_size.saturating_sub(reserved),
            constant_bytes: u64::from(kernel.parameter_base + kernel.parameter_size)
                + kernel.constant2.len() as u64,
            barriers: kernel.barriers,
            threads: threads(kernel),
            figures,
            local: (local(Op::STL), local(Op::LDL)),
            functions: inner
                .into_iter()
                .map(|(value, name)| (shape.index(value as u32) as usize, name))
                .collect(),
            rows,
            blocks,
        })
    }

    /// Maximum of live general registers, and its row.
    pub fn peak(&self) -> (u16, usize) {
        let all = self.rows.iter().enumerate().map(|(at, row)| (row.pressure.general, at));
        all.max_by_key(|&(general, at)| (general, std::cmp::Reverse(at))).unwrap_or_default()
    }

    /// Cycles until the last instruction has issued, for one warp alone straight through the code.
    pub fn span(&self) -> Option<u64> {
        let last = self.rows.last()?;
        Some(last.issue?.cycle + u64::from(last.instruction.control.stall.max(1)))
    }
}

fn threads(kernel: &Kernel) -> Option<u32> {
    match kernel.bound {
        Bound::None => None,
        Bound::AtMost(size) | Bound::Exactly(size) => {
            Some(size.iter().fold(1u32, |all, &one| all.saturating_mul(one.max(1))))
        }
    }
}

/// The unit that an instruction keeps busy longest.
fn busiest(model: &Model, instruction: &Instruction) -> Option<Unit> {
    let busy = model.resources(instruction.op, &instruction.mods);
    let units = Unit::ALL.into_iter().zip(busy).filter(|&(_, cycles)| cycles > 0);
    units.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(unit, _)| unit)
}
