//! Machine operands of an instruction: the one map from destinations and sources to encoded operands, and the form
//! that takes them. Passes query it before registers are assigned, to know whether an instruction is encodable;
//! selection uses it to build the instruction.
//!
//! It is here because both must agree. No choice of operation may enter.

use crate::{
    Address, ConstBase, Destination, File, Fixup, Function, IndexedConst, Instruction, Opcode, Source,
    SourceKind, SymbolKind, Value,
};
use oriole_chip::Chip;
use oriole_sass::form::{self, Form, SlotKind, Table};
use oriole_sass::register::{PT, RZ, URZ};
use oriole_sass::{Class, EncodeError, FormId, Mod, Mods, Op, Operand, OperandKind};
use smallvec::SmallVec;

/// An instruction as the encoder sees it: operands, fixups, and the form that takes them.
#[derive(Clone, Debug)]
pub struct Marshalled {
    /// Operands, destinations first.
    pub operands: SmallVec<[Operand; 6]>,
    /// The symbolic part; its field holds zero.
    pub fixup: Option<Fixup>,
    /// The form.
    pub form: FormId,
}

/// Why an instruction cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarshalError {
    /// It is a pseudo-operation.
    Pseudo,
    /// The value has no register.
    Unassigned(Value),
    /// The registers of a tuple are not consecutive.
    TornTuple,
    /// A word has one field that layout may fill in.
    TwoSymbols,
    /// The address of a local variable, which only the frame knows.
    LocalAddress,
    /// A convergence barrier has no zero.
    NoZero,
    /// No form takes it.
    Form(EncodeError),
}

impl std::fmt::Display for MarshalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MarshalError::Pseudo => f.write_str("a pseudo-operation has no form"),
            MarshalError::Unassigned(value) => write!(f, "value {} has no register", value.0),
            MarshalError::TornTuple => f.write_str("the registers of a tuple do not follow each other"),
            MarshalError::TwoSymbols => f.write_str("two symbolic parts"),
            MarshalError::LocalAddress => f.write_str("the address of a local variable is not laid out"),
            MarshalError::NoZero => f.write_str("a convergence barrier has no zero"),
            MarshalError::Form(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MarshalError {}

/// No variable of shared memory begins further up than this: a block of threads has less memory than 256 KiB on every
/// chip.
const LAST_SHARED: i32 = 0x3_ffff;

/// True if the chip has a form for the instruction with any register assignment and variable placement.
/// Pseudo-operations have none.
pub fn is_legal(chip: Chip, function: &Function, instruction: &Instruction) -> bool {
    let (Some(forms), Opcode::Sass(op)) = (form::table(chip), instruction.opcode) else { return false };
    // Constant folding asks for one constant more than most operations take: reject that before any operand is built.
    let constants = instruction.sources.iter().filter(|source| is_constant(source)).count();
    if constants > 1 && !forms.takes_constants(op, constants) {
        return false;
    }
    match named_operands(function, instruction, Place::Anywhere, |_| Ok(0)) {
        Ok((op, mut operands, _)) => form_of(forms, op, instruction, &mut operands).is_some(),
        Err(_) => false,
    }
}

/// True if a source is an immediate or in a constant bank.
fn is_constant(source: &Source) -> bool {
    matches!(
        source.kind,
        SourceKind::Imm(_)
            | SourceKind::Literal(_)
            | SourceKind::Const { .. }
            | SourceKind::ConstIndexed(_)
            | SourceKind::Address32 { .. }
    )
}

/// The operands and the form of an instruction. `register` gives the lowest register of a tuple.
///
/// # Errors
/// The instruction cannot be written.
pub fn marshal(
    forms: &'static Table,
    function: &Function,
    instruction: &Instruction,
    register: impl Fn(&[Value]) -> Result<u8, MarshalError>,
) -> Result<Marshalled, MarshalError> {
    let (op, mut operands, fixup) = named_operands(function, instruction, Place::Unknown, register)?;
    match form_of(forms, op, instruction, &mut operands) {
        Some(form) => Ok(Marshalled { operands, fixup, form }),
        None => Err(MarshalError::Form(oriole_sass::why_not_legal(forms, op, &instruction.mods, &operands))),
    }
}

/// The operands of a machine instruction, destinations first.
type Operands = SmallVec<[Operand; 6]>;

/// Opcode, operands and symbolic part of an instruction.
fn named_operands(
    function: &Function,
    instruction: &Instruction,
    place: Place,
    register: impl Fn(&[Value]) -> Result<u8, MarshalError>,
) -> Result<(Op, Operands, Option<Fixup>), MarshalError> {
    let Opcode::Sass(op) = instruction.opcode else { return Err(MarshalError::Pseudo) };
    let absolute = instruction.mods.has(Mod::ABS);
    let mut map = Map { function, op, absolute, place, register, fixup: None };
    let mut operands = Operands::new();
    for destination in &instruction.destinations {
        operands.push(Operand::plain(map.destination(destination)?));
    }
    for source in &instruction.sources {
        operands.push(source.operand(map.source(source)?));
    }
    Ok((op, operands, map.fixup))
}

/// Finds the form that takes the operands. Ori keeps an immediate as 32 bits; the form says whether it is an integer,
/// an f32 or a packed f16x2, and the operands are adjusted. They stay unchanged if no form takes them.
fn form_of(
    forms: &'static Table,
    op: Op,
    instruction: &Instruction,
    operands: &mut Operands,
) -> Option<FormId> {
    let legal = |operands: &[Operand]| oriole_sass::legal(forms, op, &instruction.mods, operands);
    if let Some(form) = legal(operands) {
        return Some(form);
    }
    if let Some((id, named)) = form_in_tensor_memory(forms, op, operands, legal) {
        *operands = named;
        return Some(id);
    }
    // Some addresses always have a uniform part, if only a zero.
    let address = operands.iter().position(|it| matches!(it.kind, OperandKind::Memory { uniform: None, .. }));
    if let Some(at) = address {
        let without = operands[at].kind;
        if let OperandKind::Memory { uniform, .. } = &mut operands[at].kind {
            *uniform = Some(URZ);
        }
        if let Some(form) = legal(operands) {
            return Some(form);
        }
        operands[at].kind = without;
    }
    let (at, bits) = instruction.sources.iter().enumerate().find_map(|(at, source)| match source.kind {
        SourceKind::Imm(bits) => Some((at + instruction.destinations.len(), bits)),
        _ => None,
    })?;
    let integer = operands[at].kind;
    operands[at].kind = OperandKind::Float(bits);
    if let Some(form) = legal(operands) {
        return Some(form);
    }
    operands[at].kind = OperandKind::Float(bits >> 16);
    operands.insert(at + 1, Operand::plain(OperandKind::Float(bits & 0xffff)));
    let halves = legal(operands);
    if halves.is_none() {
        operands.remove(at + 1);
        operands[at].kind = integer;
    }
    halves
}

/// The form that takes the operands as places in tensor memory, and these.
fn form_in_tensor_memory(
    forms: &'static Table,
    op: Op,
    operands: &Operands,
    legal: impl Fn(&[Operand]) -> Option<FormId>,
) -> Option<(FormId, Operands)> {
    // Most operations have no such address: their forms need no look.
    operands.iter().find(|operand| tensor_address(operand).is_some())?;
    let forms = forms.forms_of(op).iter().filter(|form| names_tensor_memory(form));
    let mut named = forms.map(|form| in_tensor_memory(form, operands));
    named.find_map(|named| Some((legal(&named)?, named)))
}

fn names_tensor_memory(form: &Form) -> bool {
    form.slots.iter().any(|slot| matches!(slot.kind, SlotKind::TensorMemory { .. }))
}

/// The address in a uniform register that may be one in tensor memory.
fn tensor_address(operand: &Operand) -> Option<OperandKind> {
    match operand.kind {
        OperandKind::Memory { descriptor: None, base: None, uniform: Some(address), offset } => {
            Some(OperandKind::TensorMemory { address, offset })
        }
        _ => None,
    }
}

/// Ori has addresses and uniform registers; the form says which of them are tensor memory addresses and descriptors.
fn in_tensor_memory(form: &Form, operands: &Operands) -> Operands {
    let mut named = operands.clone();
    for operand in &mut named {
        operand.kind = tensor_address(operand).unwrap_or(operand.kind);
    }
    // Operands that a form may lack follow the descriptors.
    for (operand, slot) in named.iter_mut().zip(form.slots) {
        operand.kind = match (operand.kind, slot.kind) {
            (OperandKind::UReg(n), SlotKind::MatrixDescriptor) => OperandKind::MatrixDescriptor(n),
            (OperandKind::UReg(n), SlotKind::InstructionDescriptor) => OperandKind::InstructionDescriptor(n),
            (kind, _) => kind,
        };
    }
    named
}

/// Assumed offset from a shared-memory variable before the variable has an address.
#[derive(Clone, Copy)]
enum Place {
    /// For zero: layout fills it in.
    Unknown,
    /// The offset furthest from zero that is possible.
    Anywhere,
}

struct Map<'a, R> {
    function: &'a Function,
    op: Op,
    /// The callee is named by its address, not relative to the instruction.
    absolute: bool,
    place: Place,
    register: R,
    fixup: Option<Fixup>,
}

impl<R: Fn(&[Value]) -> Result<u8, MarshalError>> Map<'_, R> {
    fn symbolic(&mut self, found: Fixup) -> Result<(), MarshalError> {
        match self.fixup.replace(found) {
            None => Ok(()),
            Some(_) => Err(MarshalError::TwoSymbols),
        }
    }

    /// The known part of an offset in a constant bank.
    fn based(&mut self, base: ConstBase, offset: i32) -> Result<i32, MarshalError> {
        if base == ConstBase::Bank {
            return Ok(offset);
        }
        self.symbolic(Fixup::Const { base, offset }).map(|()| 0)
    }

    fn part(&self, values: &[Value]) -> Result<Option<u8>, MarshalError> {
        if values.is_empty() { Ok(None) } else { (self.register)(values).map(Some) }
    }

    fn destination(&self, destination: &Destination) -> Result<OperandKind, MarshalError> {
        match self.part(&destination.values)? {
            Some(number) => Ok(named(destination.file, number)),
            None => neutral(destination.file),
        }
    }

    /// Uniform registers of a matrix instruction of a warp group are descriptors.
    fn descriptor(&self, kind: OperandKind) -> OperandKind {
        match kind {
            OperandKind::UReg(n) if self.op.info().class(&Mods::none()) == Class::Group => {
                OperandKind::MatrixDescriptor(n)
            }
            _ => kind,
        }
    }

    fn source(&mut self, source: &Source) -> Result<OperandKind, MarshalError> {
        Ok(match &source.kind {
            SourceKind::Values(values) => {
                self.descriptor(named(self.function.file(values[0]), (self.register)(values)?))
            }
            SourceKind::Zero(file) | SourceKind::True(file) => self.descriptor(neutral(*file)?),
            SourceKind::Imm(bits) => OperandKind::Imm(i64::from(*bits as i32)),
            SourceKind::Literal(number) => OperandKind::Imm(*number),
            SourceKind::Const { bank, base, offset } => {
                OperandKind::Const { bank: *bank, offset: self.based(*base, *offset)? }
            }
            SourceKind::ConstIndexed(place) => {
                let IndexedConst { bank, base, index, offset } = **place;
                let offset = self.based(base, offset)?;
                let register = (self.register)(&[index])?;
                match self.function.file(index) {
                    File::UR => OperandKind::ConstUniformIndexed { bank, index: register, offset },
                    _ => OperandKind::ConstIndexed { bank, index: register, offset },
                }
            }
            SourceKind::Address(address) => {
                let Address { descriptor, base, uniform, symbol, offset } = &**address;
                let mut offset = *offset;
                if let Some(symbol) = *symbol {
                    self.symbolic(Fixup::SharedOffset { symbol, offset })?;
                    offset = match self.place {
                        Place::Anywhere if offset > 0 => offset.saturating_add(LAST_SHARED),
                        Place::Anywhere => offset,
                        Place::Unknown => 0,
                    };
                }
                OperandKind::Memory {
                    descriptor: descriptor.as_ref().map(|values| (self.register)(values)).transpose()?,
                    base: self.part(base)?,
                    uniform: self.part(uniform)?,
                    offset,
                }
            }
            &SourceKind::Address32 { symbol, part, offset } => {
                if matches!(self.function.symbols[symbol].kind, SymbolKind::Local(_) | SymbolKind::Arguments)
                {
                    return Err(MarshalError::LocalAddress);
                }
                self.symbolic(Fixup::Address { symbol, part, offset })?;
                OperandKind::Imm(0)
            }
            SourceKind::Block(block) => {
                self.symbolic(Fixup::Block(*block))?;
                OperandKind::Target(0)
            }
            SourceKind::Callee(symbol) => {
                self.symbolic(Fixup::Call(*symbol))?;
                if self.absolute { OperandKind::Imm(0) } else { OperandKind::Target(0) }
            }
            SourceKind::KernelStart => {
                self.symbolic(Fixup::KernelStart)?;
                // An indexed branch adds its register to a plain distance.
                if self.op == Op::BRX { OperandKind::Imm(0) } else { OperandKind::Target(0) }
            }
            SourceKind::ReturnAddress(part) => {
                self.symbolic(Fixup::ReturnAddress(*part))?;
                if self.op == Op::LEPC { OperandKind::Target(0) } else { OperandKind::Imm(0) }
            }
            SourceKind::ReturnDistance => {
                self.symbolic(Fixup::ReturnDistance(None))?;
                OperandKind::Imm(0)
            }
            SourceKind::Symbol(symbol) => OperandKind::Symbol(*symbol),
            SourceKind::Scoreboard(number) => OperandKind::Scoreboard(*number),
        })
    }
}

fn named(file: File, number: u8) -> OperandKind {
    match file {
        File::R => OperandKind::Reg(number),
        File::UR => OperandKind::UReg(number),
        File::P => OperandKind::Pred(number),
        File::UP => OperandKind::UPred(number),
        File::B => OperandKind::Barrier(number),
    }
}

/// The register of a file that reads as zero or true.
fn neutral(file: File) -> Result<OperandKind, MarshalError> {
    match file {
        File::R => Ok(OperandKind::Reg(RZ)),
        File::UR => Ok(OperandKind::UReg(URZ)),
        File::P => Ok(OperandKind::Pred(PT)),
        File::UP => Ok(OperandKind::UPred(PT)),
        File::B => Err(MarshalError::NoZero),
    }
}
