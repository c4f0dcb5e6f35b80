//! Puts the code of a member into an image and fills in what was symbolic in it.
//!
//! What a linker is to complete is left to it in `relocations`.

use super::members::{Member, symbol_ref};
use super::shared::{SharedLayout, Variables};
use super::symbols::function_value;
use super::{ImageError, ModuleSymbols, ModuleVariable, VariableSpace};
use crate::{Target, unwinding};
use oriole_chip::texture::DescriptorTable;
use oriole_cubin::{
    FrameRow, FrameRule, Header, HeaderSlot, IndirectBranch, InnerFunction, KernelImage, Mbarrier,
    RelocationKind, SymbolRef, TextRelocation,
};
use oriole_encode::Relocation;
use oriole_ori::{AddressPart, ConstBase, Fixup, ObjectOperation, SymbolKind, Table};
use oriole_sass::{Op, OperandKind, register};

/// Addresses in the table that instructions can read.
pub const SLOTS: usize = 8192;

/// The first of the registers in which a function has its return address.
const FUNCTION_RETURN: u8 = oriole_regalloc::abi::RETURN_ADDRESS;
/// The same of a routine.
const ROUTINE_RETURN: u8 = oriole_regalloc::abi::ROUTINE_RETURN;

/// What the places of an image are found by.
pub struct Linker<'a> {
    pub target: &'a Target,
    pub members: &'a [Member<'a>],
    pub symbols: &'a ModuleSymbols,
    pub variables: &'a Variables<'a>,
    pub shared: &'a SharedLayout,
    pub table_offsets: &'a [Vec<u32>],
}

impl Linker<'_> {
    /// Puts a member into the image, with what is told of it.
    pub fn place(&self, index: usize, member: &Member, image: &mut KernelImage) -> Result<(), ImageError> {
        let encoded = &member.function.encoded;
        image.names_shared |= member.function.names_shared;
        let first = image.code.len();
        image.code.extend_from_slice(&encoded.words);
        for relocation in &encoded.relocations {
            let by_linker = member.function.is_separate || self.is_open(member, relocation)?;
            if by_linker && self.leave(index, member, relocation, image)? {
                continue;
            }
            if let Some(word) = self.resolve(index, member, relocation, image)? {
                image.code[first + relocation.at as usize] = word;
            }
        }
        let words = self.target.words;
        let at = |position: u32| member.base + words.address(position);
        image.warp_wide.extend(encoded.entry_marks.iter().map(|&mark| at(mark)));
        image.exits.extend(encoded.exits.iter().map(|&exit| at(exit)));
        image.coop_groups.extend(encoded.warp_wide.iter().map(|&(position, mask)| {
            (at(position), mask.map_or(u32::MAX, |register| 0x0500_0000 | u32::from(register)))
        }));
        for &(position, operation) in &encoded.objects {
            let word = image.code[first + position as usize];
            image.mbarriers.push(self.barrier_object(at(position), operation, word)?);
        }
        for (&branch, table) in encoded.indexed_branches.iter().zip(member.function.tables.iter().filter_map(
            |table| match table {
                Table::Targets(blocks) => Some(blocks),
                Table::Words(_) | Table::Functions => None,
            },
        )) {
            let targets = table.iter().filter_map(|block| encoded.block_starts.get(*block));
            image.indirect_branches.push(IndirectBranch {
                offset: at(branch),
                targets: targets.map(|&start| at(start)).collect(),
            });
        }
        if member.function.is_separate {
            self.calls_through_pointers(member, image);
        }
        image.has_call |= encoded.needs_call_stack;
        image.syscalls.extend(encoded.absolute_calls.iter().map(|&call| at(call)));
        image.barriers = image.barriers.max(member.function.barriers);
        image.registers = image.registers.max(u32::from(encoded.general_registers));
        if index == 0 {
            image.max_registers = member.function.register_limit;
            image.frame_size = member.function.frame_bytes;
            image.frame_rows.extend(
                member
                    .function
                    .frame_rows
                    .iter()
                    .map(|row| FrameRow { offset: at(row.at), rule: frame_rule(row.rule) }),
            );
        } else {
            image.functions.push(InnerFunction {
                name: format!("${}${}", image.name, member.name),
                offset: member.base,
                size: words.address(encoded.words.len() as u32),
                frame_size: member.function.frame_bytes,
                return_register: Some(if member.is_routine { ROUTINE_RETURN } else { FUNCTION_RETURN }),
            });
        }
        Ok(())
    }

    /// What the container tells of an access to a barrier object: where the finished word says that the object is.
    fn barrier_object(
        &self,
        offset: u32,
        operation: ObjectOperation,
        word: oriole_sass::InstructionWord,
    ) -> Result<Mbarrier, ImageError> {
        let internal = |reason: String| ImageError::Internal(reason);
        let access =
            oriole_sass::decode(self.target.chip, word).map_err(|error| internal(error.to_string()))?;
        let place = access.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Memory { base, uniform, offset, .. } => Some((base, uniform, offset)),
            _ => None,
        });
        let (base, uniform, displacement) =
            place.ok_or_else(|| internal("an access to a barrier object has no address".to_owned()))?;
        let neutral = self.target.chip.register_files().uniform.neutral_number();
        Ok(Mbarrier {
            offset,
            register: u32::from(base.unwrap_or(register::RZ)),
            displacement: displacement as u32,
            kind: barrier_object_kind(operation),
            uniform: uniform.filter(|&uniform| uniform != register::URZ).unwrap_or(neutral),
        })
    }

    /// The finished word, or `None` where the loader finishes it.
    fn resolve(
        &self,
        index: usize,
        member: &Member,
        relocation: &Relocation,
        image: &mut KernelImage,
    ) -> Result<Option<oriole_sass::InstructionWord>, ImageError> {
        let words = self.target.words;
        let end_of_instruction = i64::from(member.base) + words.end(relocation.at);
        let value = match relocation.fixup {
            Fixup::Block(_) => return Err(ImageError::Internal("a block outlived encoding".to_owned())),
            Fixup::KernelStart => -end_of_instruction,
            Fixup::ReturnAddress(AddressPart::Low) => {
                let place = i64::from(member.base + words.address(relocation.anchor));
                // `LEPC` names it by its distance.
                if relocation.instruction.op == Op::LEPC { place - end_of_instruction } else { place }
            }
            Fixup::ReturnAddress(AddressPart::High) => 0,
            Fixup::ReturnDistance(Some(from)) => {
                i64::from(words.address(relocation.anchor)) - i64::from(words.address(from))
            }
            Fixup::ReturnDistance(None) => {
                return Err(ImageError::Internal("a distance from nowhere".to_owned()));
            }
            Fixup::Call(symbol) => {
                i64::from(self.code_base(&symbol_ref(member.function, symbol)?.name)?) - end_of_instruction
            }
            Fixup::Const { base, offset } => {
                i64::from(offset) + self.constant_base(index, member, base, image)?
            }
            Fixup::SharedOffset { symbol, offset } => {
                image.addresses_shared = true;
                i64::from(offset) + self.shared_offset(index, &symbol_ref(member.function, symbol)?.name)?
            }
            Fixup::Address { symbol, part, offset } => {
                let symbol = symbol_ref(member.function, symbol)?;
                let address = match symbol.kind {
                    SymbolKind::Shared => {
                        image.addresses_shared = true;
                        self.shared_offset(index, &symbol.name)?
                    }
                    SymbolKind::Function => self.function_value(&symbol.name)?,
                    SymbolKind::Constant => self.constant_variable(&symbol.name)?,
                    SymbolKind::Global => {
                        let kind = match part {
                            AddressPart::Low => RelocationKind::Abs32Lo,
                            AddressPart::High => RelocationKind::Abs32Hi,
                        };
                        image.relocations.push(TextRelocation {
                            offset: member.base + words.address(relocation.at),
                            kind,
                            target: SymbolRef::Global(self.global_index(&symbol.name)?),
                            addend: i64::from(offset),
                        });
                        return Ok(None);
                    }
                    SymbolKind::DescriptorSize => {
                        let mut tables = DescriptorTable::ALL.into_iter();
                        let table = tables.find(|table| table.size_symbol() == symbol.name);
                        let table = table.ok_or_else(|| {
                            ImageError::Internal(format!("`{}` is no size of a descriptor", symbol.name))
                        })?;
                        image.relocations.push(TextRelocation {
                            offset: member.base + words.address(relocation.at),
                            kind: RelocationKind::Abs32,
                            target: SymbolRef::DescriptorSize(table),
                            addend: i64::from(offset),
                        });
                        return Ok(None);
                    }
                    SymbolKind::ConstantSize => self.symbols.constant_bytes as i64,
                    SymbolKind::Local(_)
                    | SymbolKind::Arguments
                    | SymbolKind::Helper
                    | SymbolKind::Extern
                    | SymbolKind::Outside
                    | SymbolKind::Opaque
                    | SymbolKind::OpaqueParameter(_) => {
                        return Err(ImageError::Internal(format!(
                            "the address of `{}` is no link-time number",
                            symbol.name
                        )));
                    }
                };
                let address = (address + i64::from(offset)) as u64;
                match part {
                    AddressPart::Low => i64::from(address as u32),
                    AddressPart::High => i64::from((address >> 32) as u32),
                }
            }
        };
        oriole_encode::patch(self.target.chip, relocation, value)
            .map(Some)
            .map_err(|failure| ImageError::Internal(failure.to_string()))
    }

    fn function_value(&self, name: &str) -> Result<i64, ImageError> {
        let meant = self.symbols.meant(name);
        let index = self.symbols.functions.iter().position(|function| function == meant);
        index.map(|index| function_value(index) as i64).ok_or_else(|| ImageError::NoAddress(name.to_owned()))
    }

    fn code_base(&self, name: &str) -> Result<u32, ImageError> {
        let name = self.symbols.meant(name);
        let member = self.members.iter().find(|member| member.name == name);
        member.map(|member| member.base).ok_or_else(|| ImageError::MissingFunction(name.to_owned()))
    }

    fn shared_offset(&self, index: usize, name: &str) -> Result<i64, ImageError> {
        let offset =
            self.shared.offset(index, name).ok_or_else(|| ImageError::MissingVariable(name.to_owned()))?;
        Ok(offset as i64)
    }

    fn variable(&self, name: &str) -> Result<&ModuleVariable, ImageError> {
        self.variables.get(name).copied().ok_or_else(|| ImageError::MissingVariable(name.to_owned()))
    }

    fn constant_variable(&self, name: &str) -> Result<i64, ImageError> {
        match self.variable(name)?.space {
            VariableSpace::Constant(offset) => Ok(offset as i64),
            _ => Err(ImageError::MissingVariable(name.to_owned())),
        }
    }

    fn global_index(&self, name: &str) -> Result<usize, ImageError> {
        match self.variable(name)?.space {
            VariableSpace::Global(index) => Ok(index),
            _ => Err(ImageError::MissingVariable(name.to_owned())),
        }
    }

    fn constant_base(
        &self,
        index: usize,
        member: &Member,
        base: ConstBase,
        image: &mut KernelImage,
    ) -> Result<i64, ImageError> {
        match base {
            ConstBase::Bank => Ok(0),
            ConstBase::Variable(symbol) => self.constant_variable(&symbol_ref(member.function, symbol)?.name),
            ConstBase::Table(table) => {
                let offset = self.table_offsets[index].get(table as usize);
                offset
                    .map(|&offset| i64::from(offset))
                    .ok_or_else(|| ImageError::Internal("no such table".to_owned()))
            }
            ConstBase::HeaderSlot(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                let header = match symbol.kind {
                    SymbolKind::OpaqueParameter(number) => Header::Parameter(number as usize),
                    _ => {
                        let opaque = self.symbols.opaque.iter().position(|opaque| *opaque == symbol.name);
                        Header::Module(
                            opaque.ok_or_else(|| ImageError::MissingVariable(symbol.name.clone()))?,
                        )
                    }
                };
                let bank = self.target.chip.constant_bank();
                let bank = bank.ok_or_else(|| ImageError::Internal("no constant bank".to_owned()))?;
                let parameters = self.members.first().map_or(0, |kernel| kernel.function.parameter_bytes);
                let found = image.headers.iter().find(|slot| slot.header == header);
                let slot = found.copied().unwrap_or_else(|| {
                    let offset = bank.header_slot(parameters, image.headers.len() as u32);
                    let slot = HeaderSlot { offset, header };
                    image.headers.push(slot);
                    slot
                });
                Ok(i64::from(slot.offset))
            }
            ConstBase::AddressSlot(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                let external = self.symbols.externs.iter().position(|name| *name == symbol.name);
                let slot = match external {
                    _ if symbol.kind == SymbolKind::Function => {
                        let kernel = self.symbols.meant(&symbol.name);
                        let at = self.symbols.launched.iter().position(|name| name == kernel);
                        let at = at.ok_or_else(|| ImageError::NoAddress(symbol.name.clone()))?;
                        let kernel = self.named(kernel, image);
                        if !image.launched.contains(&kernel) {
                            image.launched.push(kernel);
                        }
                        self.symbols.globals + self.symbols.externs.len() + at
                    }
                    Some(external) => {
                        if !image.externs.contains(&external) {
                            image.externs.push(external);
                        }
                        self.symbols.globals + external
                    }
                    None => self.global_index(&symbol.name)?,
                };
                // The offset of a constant operand has sixteen bits.
                match slot {
                    ..SLOTS => Ok(8 * slot as i64),
                    _ => Err(ImageError::TooManySlots(symbol.name.clone())),
                }
            }
        }
    }
}

fn frame_rule(rule: unwinding::Rule) -> FrameRule {
    match rule {
        unwinding::Rule::Frame { register, bytes } => FrameRule::Frame { register, bytes },
        unwinding::Rule::Caller { register, place } => match place {
            unwinding::Place::Same => FrameRule::Restored(register),
            unwinding::Place::Frame(below) => FrameRule::Saved { register, below },
            unwinding::Place::Register(by) => FrameRule::Held { register, by },
            unwinding::Place::Lost => FrameRule::Lost(register),
        },
    }
}

/// The number of the operation in the attribute.
pub fn barrier_object_kind(operation: ObjectOperation) -> u8 {
    match operation {
        ObjectOperation::Initialize => 0,
        ObjectOperation::Arrive => 1,
        ObjectOperation::ArriveIncomplete => 2,
        ObjectOperation::Drop => 3,
        ObjectOperation::DropIncomplete => 4,
        ObjectOperation::TestState => 5,
        ObjectOperation::TestParity => 6,
        ObjectOperation::CopiesArrive => 7,
        ObjectOperation::Invalidate => 8,
        ObjectOperation::TryState => 9,
        ObjectOperation::TryParity => 10,
        ObjectOperation::ExpectBytes => 11,
        ObjectOperation::CompleteBytes => 12,
    }
}
