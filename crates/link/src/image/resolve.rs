//! Meaning of each fix-up of a member: a number, where the image knows it, or a name that the linker or the
//! loader completes.
//!
//! It is one file for whole-program and for relocatable output, so that each kind of symbol has all its answers in one place: a new
//! [`SymbolKind`] is an arm of [`Linker::address`] and one of [`Linker::leaves`], and the compiler asks for both. No word of code is
//! read or written here; `place` does that.

use oriole_chip::texture::DescriptorTable;
use oriole_cubin::{Header, HeaderSlot, KernelImage, RelocationKind, SymbolRef};
use oriole_emit::{LinkedFunction, Relocation};
use oriole_ori::{AddressPart, ConstBase, Fixup, SymbolKind};
use oriole_pipeline::Target;
use oriole_sass::Op;

use super::members::{Member, symbol_ref};
use super::shared::{SharedLayout, Variables};
use crate::error::ImageError;
use crate::symbols::{ADDRESS_SLOTS, ModuleSymbols, ModuleVariable, VariableSpace, function_value};

/// The inputs that resolve names of an image.
pub struct Linker<'a> {
    pub target: &'a Target,
    pub members: &'a [Member<'a>],
    pub symbols: &'a ModuleSymbols,
    pub variables: &'a Variables<'a>,
    pub shared: &'a SharedLayout,
    pub table_offsets: &'a [Vec<u32>],
}

/// Result for the field of a word that was symbolic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// It has this value.
    Value(i64),
    /// The loader adds to the value in the word.
    Loader { kind: RelocationKind, target: SymbolRef, addend: i64 },
    /// The linker fills it, by the one of these relocations that patches just this field.
    Linker { kinds: &'static [RelocationKind], target: SymbolRef, addend: i64 },
}

impl Linker<'_> {
    /// Meaning of a relocation of a member. Names that the image has to have for it are added to the image.
    pub fn resolve(
        &self,
        index: usize,
        member: &Member,
        relocation: &Relocation,
        image: &mut KernelImage,
    ) -> Result<Resolved, ImageError> {
        let words = self.target.words;
        let end_of_instruction = i64::from(member.base) + words.end(relocation.at);
        let value = match relocation.fixup {
            Fixup::Block(_) => return Err(ImageError::Internal("a block outlived encoding".to_owned())),
            Fixup::KernelStart => -end_of_instruction,
            Fixup::ReturnAddress(part) => return Ok(self.return_address(member, relocation, part)),
            Fixup::ReturnDistance(Some(from)) => {
                i64::from(words.address(relocation.anchor)) - i64::from(words.address(from))
            }
            Fixup::ReturnDistance(None) => {
                return Err(ImageError::Internal("a distance from nowhere".to_owned()));
            }
            Fixup::Call(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                if self.leaves(member.function, symbol) && symbol.kind != SymbolKind::Helper {
                    let target = self.named(&symbol.name, image);
                    return Ok(Resolved::Linker { kinds: &CALLS, target, addend: 0 });
                }
                i64::from(self.code_base(&symbol.name)?) - end_of_instruction
            }
            Fixup::Const { base, offset } => return self.constant(index, member, base, offset, image),
            Fixup::SharedOffset { symbol, offset } => {
                let name = &symbol_ref(member.function, symbol)?.name;
                if member.function.is_separate {
                    return Ok(self.linked_shared(name, &SHARED_OFFSETS, offset, image));
                }
                image.addresses_shared = true;
                i64::from(offset) + self.shared_offset(index, name)?
            }
            Fixup::Address { symbol, part, offset } => {
                let symbol = symbol_ref(member.function, symbol)?;
                return self.address(index, member, symbol, (part, offset), image);
            }
        };
        Ok(Resolved::Value(value))
    }

    /// Whether the linker completes what names a symbol. It does for all code with a section of its own. In an extensible kernel
    /// it does for symbols that other files may define, for global memory, and for the symbols of a launch of another kernel.
    fn leaves(&self, function: &LinkedFunction, symbol: &oriole_ori::SymbolRef) -> bool {
        let in_extensible = || match symbol.kind {
            SymbolKind::Outside | SymbolKind::Global => true,
            SymbolKind::Constant => !self.variables.contains_key(symbol.name.as_str()),
            SymbolKind::Function => self.symbols.kernels.contains(&symbol.name),
            SymbolKind::Shared
            | SymbolKind::Local(_)
            | SymbolKind::Arguments
            | SymbolKind::Helper
            | SymbolKind::Extern
            | SymbolKind::Opaque
            | SymbolKind::OpaqueParameter(_)
            | SymbolKind::DescriptorSize
            | SymbolKind::ConstantSize => false,
        };
        function.is_separate || self.symbols.extensible && in_extensible()
    }

    /// The value of a part of a symbol's address with an offset, by the kind of the symbol.
    fn address(
        &self,
        index: usize,
        member: &Member,
        symbol: &oriole_ori::SymbolRef,
        (part, offset): (AddressPart, i32),
        image: &mut KernelImage,
    ) -> Result<Resolved, ImageError> {
        let separate = member.function.is_separate;
        let addend = i64::from(offset);
        let known = |address: i64| Ok(Resolved::Value(part_of(address + addend, part)));
        let linked = |target, kinds| Ok(Resolved::Linker { kinds, target, addend });
        match symbol.kind {
            SymbolKind::Shared if separate => {
                Ok(self.linked_shared(&symbol.name, &[RelocationKind::Abs32], offset, image))
            }
            SymbolKind::Shared => {
                image.addresses_shared = true;
                known(self.shared_offset(index, &symbol.name)?)
            }
            SymbolKind::Function if self.leaves(member.function, symbol) => {
                let kinds = match self.symbols.kernels.contains(&symbol.name) {
                    true => descriptor_half(part),
                    false => half(part, self.target.container.calls_by_table()),
                };
                linked(self.named(&symbol.name, image), kinds)
            }
            SymbolKind::Function => known(self.function_value(&symbol.name)?),
            SymbolKind::Constant if self.leaves(member.function, symbol) => {
                linked(self.named(&symbol.name, image), &[RelocationKind::Abs16])
            }
            SymbolKind::Constant => known(self.constant_variable(&symbol.name)?),
            SymbolKind::Global if self.leaves(member.function, symbol) => {
                linked(self.named(&symbol.name, image), half(part, false))
            }
            SymbolKind::Global => {
                let kind = match part {
                    AddressPart::Low => RelocationKind::Abs32Lo,
                    AddressPart::High => RelocationKind::Abs32Hi,
                };
                let target = SymbolRef::Global(self.global_index(&symbol.name)?);
                Ok(Resolved::Loader { kind, target, addend })
            }
            SymbolKind::DescriptorSize => {
                let target = SymbolRef::DescriptorSize(descriptor_table(&symbol.name)?);
                Ok(Resolved::Loader { kind: RelocationKind::Abs32, target, addend })
            }
            SymbolKind::ConstantSize if separate => linked(SymbolRef::ConstantSize, &[RelocationKind::Abs32]),
            SymbolKind::ConstantSize => known(self.symbols.constant_bytes as i64),
            SymbolKind::Local(_)
            | SymbolKind::Arguments
            | SymbolKind::Helper
            | SymbolKind::Extern
            | SymbolKind::Outside
            | SymbolKind::Opaque
            | SymbolKind::OpaqueParameter(_) => {
                Err(ImageError::Internal(format!("the address of `{}` is no link-time number", symbol.name)))
            }
        }
    }

    /// The offset of an operand in a constant bank.
    fn constant(
        &self,
        index: usize,
        member: &Member,
        base: ConstBase,
        offset: i32,
        image: &mut KernelImage,
    ) -> Result<Resolved, ImageError> {
        let separate = member.function.is_separate;
        let offset = i64::from(offset);
        let known = |start: i64| Ok(Resolved::Value(offset + start));
        let linked = |target, start: i64| {
            Ok(Resolved::Linker { kinds: &CONSTANT_FIELDS, target, addend: start + offset })
        };
        match base {
            ConstBase::Bank => known(0),
            ConstBase::Table(table) => {
                let start = self.table_offsets[index].get(table as usize);
                let start = start.ok_or_else(|| ImageError::Internal("no such table".to_owned()))?;
                if separate {
                    return linked(SymbolRef::OwnConstants, i64::from(*start));
                }
                known(i64::from(*start))
            }
            ConstBase::Variable(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                if self.leaves(member.function, symbol) {
                    return linked(self.operand(symbol, image), 0);
                }
                known(self.constant_variable(&symbol.name)?)
            }
            ConstBase::HeaderSlot(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                if separate {
                    return linked(self.operand(symbol, image), 0);
                }
                known(self.header_slot(symbol, image)?)
            }
            ConstBase::AddressSlot(symbol) => {
                let symbol = symbol_ref(member.function, symbol)?;
                if separate {
                    let name = &symbol.name;
                    return Err(ImageError::Internal(format!("a slot for the address of `{name}`")));
                }
                known(self.address_slot(symbol, image)?)
            }
        }
    }

    /// Where a call goes back to. Only calls by an absolute address are moved by the linker; `LEPC` names the place by its distance.
    fn return_address(&self, member: &Member, relocation: &Relocation, part: AddressPart) -> Resolved {
        let words = self.target.words;
        let place = i64::from(member.base + words.address(relocation.anchor));
        let call = relocation.anchor.checked_sub(1);
        let is_absolute = call.is_some_and(|call| member.function.encoded.absolute_calls.contains(&call));
        if is_absolute && (member.function.is_separate || self.symbols.extensible) {
            return Resolved::Linker { kinds: half(part, false), target: SymbolRef::Own, addend: place };
        }
        Resolved::Value(match part {
            AddressPart::Low if relocation.instruction.op == Op::LEPC => {
                place - (i64::from(member.base) + words.end(relocation.at))
            }
            AddressPart::Low => place,
            AddressPart::High => 0,
        })
    }

    /// The symbol for a name of another section.
    pub fn named(&self, name: &str, image: &mut KernelImage) -> SymbolRef {
        let name = self.symbols.meant(name);
        let known = image.names.iter().position(|known| known == name);
        SymbolRef::Named(known.unwrap_or_else(|| {
            image.names.push(name.to_owned());
            image.names.len() - 1
        }))
    }

    /// The symbol for a constant operand of code with a section of its own.
    fn operand(&self, symbol: &oriole_ori::SymbolRef, image: &mut KernelImage) -> SymbolRef {
        match symbol.kind {
            SymbolKind::OpaqueParameter(number) => SymbolRef::OwnParameter(number as usize),
            _ => self.named(&symbol.name, image),
        }
    }

    /// A shared variable of code with a section of its own: of the function, or of whatever module defines it. Linkers count shared
    /// variables from the end of the system's part.
    fn linked_shared(
        &self,
        name: &str,
        kinds: &'static [RelocationKind],
        offset: i32,
        image: &mut KernelImage,
    ) -> Resolved {
        let own = self
            .members
            .first()
            .and_then(|member| member.function.shared.iter().position(|(variable, ..)| variable == name));
        let target = own.map_or_else(|| self.named(name, image), SymbolRef::OwnShared);
        let addend = i64::from(offset) + i64::from(self.target.limits.static_shared_start);
        Resolved::Linker { kinds, target, addend }
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

    /// The place in bank 0 at which the driver writes the index of a header; the first use of a header takes the next place.
    fn header_slot(
        &self,
        symbol: &oriole_ori::SymbolRef,
        image: &mut KernelImage,
    ) -> Result<i64, ImageError> {
        let header = match symbol.kind {
            SymbolKind::OpaqueParameter(number) => Header::Parameter(number as usize),
            _ => {
                let opaque = self.symbols.opaque.iter().position(|opaque| *opaque == symbol.name);
                Header::Module(opaque.ok_or_else(|| ImageError::MissingVariable(symbol.name.clone()))?)
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

    /// The place in bank 4 that has the address of a global variable, of a function of the driver or of a launched kernel.
    fn address_slot(
        &self,
        symbol: &oriole_ori::SymbolRef,
        image: &mut KernelImage,
    ) -> Result<i64, ImageError> {
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
            ..ADDRESS_SLOTS => Ok(8 * slot as i64),
            _ => Err(ImageError::TooManySlots(symbol.name.clone())),
        }
    }
}

/// One half of an address.
fn part_of(address: i64, part: AddressPart) -> i64 {
    let address = address as u64;
    match part {
        AddressPart::Low => i64::from(address as u32),
        AddressPart::High => i64::from((address >> 32) as u32),
    }
}

/// The table whose size a symbol stands for.
fn descriptor_table(name: &str) -> Result<DescriptorTable, ImageError> {
    let table = DescriptorTable::ALL.into_iter().find(|table| table.size_symbol() == name);
    table.ok_or_else(|| ImageError::Internal(format!("`{name}` is no size of a descriptor")))
}

/// The relocations of calls.
const CALLS: [RelocationKind; 2] = [RelocationKind::Branch, RelocationKind::BranchAbs];

/// The relocations of operands in constant memory.
const CONSTANT_FIELDS: [RelocationKind; 3] =
    [RelocationKind::ConstField, RelocationKind::ConstOperand, RelocationKind::ConstUniform];

/// The relocations of offsets in shared memory, by the field that an access has for it.
const SHARED_OFFSETS: [RelocationKind; 2] = [RelocationKind::Abs24, RelocationKind::Abs20];

/// The relocation of one half of an address; of a function perhaps in the table that the loader knows.
fn half(part: AddressPart, in_table: bool) -> &'static [RelocationKind] {
    match (part, in_table) {
        (AddressPart::Low, false) => &[RelocationKind::Abs32Lo],
        (AddressPart::High, false) => &[RelocationKind::Abs32Hi],
        (AddressPart::Low, true) => &[RelocationKind::UnifiedLo],
        (AddressPart::High, true) => &[RelocationKind::UnifiedHi],
    }
}

/// The relocation of one half of the descriptor that a kernel is launched by.
fn descriptor_half(part: AddressPart) -> &'static [RelocationKind] {
    match part {
        AddressPart::Low => &[RelocationKind::DescriptorLo],
        AddressPart::High => &[RelocationKind::DescriptorHi],
    }
}
