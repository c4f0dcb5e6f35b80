//! Maps allocated Ori to machine instructions: the pattern table says which operation, the assignment which registers,
//! and symbolic parts become fixups.

use crate::hopper;
use crate::matcher::{Candidate, Tree, candidates};
use crate::pattern::{Pattern, Piece, Target, Template};
use oriole_chip::Chip;
use oriole_ori::{
    Assignment, BlockId, ConstBase, Destination, File, Fixup, Function, IndexedConst, Instruction,
    MachineBlock, MachineFunction, MachineInstruction, Opcode, Source, SourceKind, SymbolKind, Value,
};
use oriole_sass::{Control, Guard, Mods, Op, Operand, OperandKind};
use smallvec::SmallVec;

/// An instruction that has no machine form: an error of the compiler, never of its user.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SelectError {
    /// The instruction as Ori text.
    pub instruction: String,
    /// Why.
    pub reason: String,
}

impl std::fmt::Display for SelectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no form for `{}`: {}", self.instruction, self.reason)
    }
}

impl std::error::Error for SelectError {}

/// Number of `RZ`, `URZ`, `PT` in operands.
const RZ: u8 = 255;
const URZ: u8 = 63;
const PT: u8 = 7;

/// Chooses the form of every instruction of an allocated function. Loop depths are filled in, control words are
/// neutral.
///
/// # Errors
/// An instruction that is a pseudo-operation, has an unassigned value, or has no form on the chip.
pub fn select(
    chip: Chip,
    function: &Function,
    assignment: &Assignment,
) -> Result<MachineFunction, SelectError> {
    let mut machine = MachineFunction {
        blocks: Vec::with_capacity(function.blocks.len()),
        general_registers: assignment.general_registers,
        frame_bytes: assignment.frame_bytes,
    };
    let tree = Tree::new(patterns(chip)).map_err(|tie| SelectError {
        instruction: "the pattern table".to_owned(),
        reason: tie.to_string(),
    })?;
    let depths = loop_depths(function);
    for (block, depth) in function.blocks.iter().zip(depths) {
        let mut instructions = Vec::with_capacity(block.instructions.len());
        for instruction in &block.instructions {
            let chosen =
                choose(chip, &tree, function, assignment, instruction).map_err(|reason| SelectError {
                    instruction: oriole_ori::print::InstructionText(function, instruction).to_string(),
                    reason,
                })?;
            instructions.push(chosen);
        }
        machine.blocks.push(MachineBlock {
            instructions,
            successors: block.successors.clone(),
            loop_depth: depth,
        });
    }
    Ok(machine)
}

fn loop_depths(function: &Function) -> Vec<u8> {
    let cfg = oriole_ori::Cfg::new(function);
    let dominators = oriole_ori::Dominators::new(function, &cfg);
    let loops = oriole_ori::Loops::new(function, &cfg, &dominators);
    function.block_ids().map(|block: BlockId| loops.depth(block).min(255) as u8).collect()
}

/// The pattern table of a chip.
pub fn patterns(_chip: Chip) -> &'static [Pattern] {
    // One table serves every chip that code can be made for so far.
    hopper::PATTERNS
}

/// Why an instruction gets the form that it gets: every row of the table that speaks of its operation, best first. The
/// first row without a failed test is the one chosen.
pub fn explain(chip: Chip, function: &Function, instruction: &Instruction) -> Vec<Candidate> {
    candidates(patterns(chip), function, instruction)
}

/// The instruction that a template makes of another.
fn rewrite(template: Template, from: &Instruction) -> Result<Instruction, String> {
    let Template::Build { op, mods, destinations, sources } = template else { return Ok(from.clone()) };
    let missing = || "the template names an operand that is not there".to_owned();
    let mut made = from.clone();
    made.opcode = Opcode::Sass(op);
    made.mods = Mods::of(mods);
    made.destinations.clear();
    made.sources.clear();
    for target in destinations {
        made.destinations.push(match target {
            Target::Destination(n) => from.destinations.get(*n as usize).cloned().ok_or_else(missing)?,
            Target::Dropped(file) => Destination::dropped(*file, 1),
        });
    }
    for piece in sources {
        made.sources.push(match piece {
            Piece::Source(n) => from.sources.get(*n as usize).cloned().ok_or_else(missing)?,
            Piece::True(file) => Source::plain(SourceKind::True(*file)),
            Piece::Literal(number) => Source::literal(*number),
        });
    }
    Ok(made)
}

fn choose(
    chip: Chip,
    tree: &Tree,
    function: &Function,
    assignment: &Assignment,
    original: &Instruction,
) -> Result<MachineInstruction, String> {
    let pattern = tree
        .find(function, original)
        .ok_or_else(|| "no pattern speaks of this pseudo-operation".to_owned())?;
    let rewritten;
    let instruction = match pattern.template {
        Template::Keep => original,
        template => {
            rewritten = rewrite(template, original)?;
            &rewritten
        }
    };
    let Opcode::Sass(op) = instruction.opcode else {
        return Err("a pseudo-operation after expansion".to_owned());
    };
    let registers = Registers { function, assignment };
    let guard = match instruction.guard {
        None => Guard::ALWAYS,
        Some(guard) => Guard {
            uniform: function.file(guard.value) == File::UP,
            register: registers.number(guard.value)?,
            negated: guard.negated,
        },
    };
    let mut fixup = None;
    let mut operands: SmallVec<[Operand; 6]> = SmallVec::new();
    for destination in &instruction.destinations {
        operands.push(Operand::plain(registers.destination(destination)?));
    }
    for source in &instruction.sources {
        let kind = registers.source(op, source, &mut fixup)?;
        operands.push(source.operand(kind));
    }
    let mut chosen = oriole_sass::Instruction {
        guard,
        op,
        mods: instruction.mods.clone(),
        operands,
        control: Control::NEUTRAL,
    };
    fit_immediates(chip, &mut chosen, instruction)?;
    Ok(MachineInstruction {
        instruction: chosen,
        fixup,
        memory: instruction.memory,
        origin: instruction.origin,
    })
}

/// Makes sure that the instruction has a form. Ori keeps an immediate as 32 bits; the form says whether it is an integer,
/// a float, or two halves.
fn fit_immediates(
    chip: Chip,
    chosen: &mut oriole_sass::Instruction,
    from: &Instruction,
) -> Result<(), String> {
    let legal = |candidate: &oriole_sass::Instruction| {
        oriole_sass::legal(chip, candidate.op, &candidate.mods, &candidate.operands)
    };
    let Err(first) = legal(chosen) else { return Ok(()) };
    let immediate = from.sources.iter().enumerate().find_map(|(at, source)| match source.kind {
        SourceKind::Imm(bits) => Some((at + from.destinations.len(), bits)),
        _ => None,
    });
    let Some((at, bits)) = immediate else { return Err(first.to_string()) };
    let mut float = chosen.clone();
    float.operands[at].kind = OperandKind::Float(bits);
    if legal(&float).is_ok() {
        *chosen = float;
        return Ok(());
    }
    let mut halves = chosen.clone();
    halves.operands[at].kind = OperandKind::Float(bits >> 16);
    halves.operands.insert(at + 1, Operand::plain(OperandKind::Float(bits & 0xffff)));
    if legal(&halves).is_ok() {
        *chosen = halves;
        return Ok(());
    }
    Err(first.to_string())
}

struct Registers<'a> {
    function: &'a Function,
    assignment: &'a Assignment,
}

impl Registers<'_> {
    fn number(&self, value: Value) -> Result<u8, String> {
        let register = self.assignment.registers.get(value.0 as usize).copied().flatten();
        register.ok_or_else(|| format!("value {} has no register", value.0))
    }

    /// The lowest register of a tuple, which must lie in order.
    fn tuple(&self, values: &[Value]) -> Result<u8, String> {
        let first = self.number(values[0])?;
        for (index, &value) in values.iter().enumerate() {
            if usize::from(self.number(value)?) != usize::from(first) + index {
                return Err("a tuple is torn apart".to_owned());
            }
        }
        Ok(first)
    }

    fn destination(&self, destination: &Destination) -> Result<OperandKind, String> {
        if destination.values.is_empty() {
            return zero_or_true(destination.file);
        }
        Ok(register(destination.file, self.tuple(&destination.values)?))
    }

    fn source(&self, op: Op, source: &Source, fixup: &mut Option<Fixup>) -> Result<OperandKind, String> {
        let mut symbolic = |found: Fixup| match fixup.replace(found) {
            None => Ok(()),
            Some(_) => Err("two symbolic parts".to_owned()),
        };
        let based = |base: ConstBase, offset: i32, symbolic: &mut dyn FnMut(Fixup) -> Result<(), String>| {
            if base == ConstBase::Bank {
                return Ok(offset);
            }
            symbolic(Fixup::Const { base, offset }).map(|()| 0)
        };
        Ok(match &source.kind {
            SourceKind::Values(values) => register(self.function.file(values[0]), self.tuple(values)?),
            SourceKind::Zero(file) | SourceKind::True(file) => zero_or_true(*file)?,
            SourceKind::Imm(bits) => OperandKind::Imm(i64::from(*bits as i32)),
            SourceKind::Literal(number) => OperandKind::Imm(*number),
            SourceKind::Const { bank, base, offset } => {
                OperandKind::Const { bank: *bank, offset: based(*base, *offset, &mut symbolic)? }
            }
            SourceKind::ConstIndexed(place) => {
                let IndexedConst { bank, base, index, offset } = &**place;
                let offset = based(*base, *offset, &mut symbolic)?;
                let index_register = self.number(*index)?;
                match self.function.file(*index) {
                    File::UR => {
                        OperandKind::ConstUniformIndexed { bank: *bank, index: index_register, offset }
                    }
                    _ => OperandKind::ConstIndexed { bank: *bank, index: index_register, offset },
                }
            }
            SourceKind::Address(address) => {
                let oriole_ori::Address { descriptor, base, uniform, symbol, offset } = &**address;
                let part = |values: &[Value]| {
                    if values.is_empty() { Ok(None) } else { self.tuple(values).map(Some) }
                };
                let mut offset = *offset;
                if let Some(symbol) = symbol {
                    symbolic(Fixup::SharedOffset { symbol: *symbol, offset })?;
                    offset = 0;
                }
                OperandKind::Memory {
                    descriptor: descriptor.as_ref().map(|values| self.tuple(values)).transpose()?,
                    base: part(base)?,
                    uniform: part(uniform)?,
                    offset,
                }
            }
            SourceKind::Address32 { symbol, part, offset } => {
                if matches!(self.function.symbols[symbol.0 as usize].kind, SymbolKind::Local(_)) {
                    return Err("a local address outlived the frame layout".to_owned());
                }
                symbolic(Fixup::Address { symbol: *symbol, part: *part, offset: *offset })?;
                OperandKind::Imm(0)
            }
            SourceKind::Block(block) => {
                symbolic(Fixup::Block(*block))?;
                OperandKind::Target(0)
            }
            SourceKind::Callee(symbol) => {
                symbolic(Fixup::Call(*symbol))?;
                OperandKind::Target(0)
            }
            SourceKind::KernelStart => {
                symbolic(Fixup::KernelStart)?;
                // An indexed branch adds its register to a plain distance.
                if op == Op::BRX { OperandKind::Imm(0) } else { OperandKind::Target(0) }
            }
            SourceKind::ReturnAddress(part) => {
                symbolic(Fixup::ReturnAddress(*part))?;
                if op == Op::LEPC { OperandKind::Target(0) } else { OperandKind::Imm(0) }
            }
            SourceKind::Symbol(symbol) => OperandKind::Symbol(*symbol),
        })
    }
}

fn register(file: File, number: u8) -> OperandKind {
    match file {
        File::R => OperandKind::Reg(number),
        File::UR => OperandKind::UReg(number),
        File::P => OperandKind::Pred(number),
        File::UP => OperandKind::UPred(number),
        File::B => OperandKind::Barrier(number),
    }
}

fn zero_or_true(file: File) -> Result<OperandKind, String> {
    match file {
        File::R => Ok(OperandKind::Reg(RZ)),
        File::UR => Ok(OperandKind::UReg(URZ)),
        File::P => Ok(OperandKind::Pred(PT)),
        File::UP => Ok(OperandKind::UPred(PT)),
        File::B => Err("a convergence barrier has no zero".to_owned()),
    }
}
