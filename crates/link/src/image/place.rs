//! Puts the code of a member into an image: its words with their fields completed, and the facts that the container has of it.
//!
//! It is apart from `resolve`, which says what each field means. Nothing is decided here that another member depends on.

use oriole_cubin::{
    FrameRow, FrameRule, IndirectBranch, InnerFunction, KernelImage, Mbarrier, RelocationKind, SymbolRef,
    TextRelocation,
};
use oriole_emit::{Relocation, unwinding};
use oriole_ori::{Fixup, ObjectOperation, Table};
use oriole_sass::{InstructionWord, OperandKind, register};

use super::fields::emptied;
use super::members::Member;
use super::resolve::{Linker, Resolved};
use crate::error::ImageError;

/// The first of the registers in which a function has its return address.
const FUNCTION_RETURN: u8 = oriole_regalloc::abi::RETURN_ADDRESS;
/// The first of the registers in which a routine has its return address.
pub(super) const ROUTINE_RETURN: u8 = oriole_regalloc::abi::ROUTINE_RETURN;

impl Linker<'_> {
    /// Puts a member into the image, with what the container says of it.
    pub fn place(&self, index: usize, member: &Member, image: &mut KernelImage) -> Result<(), ImageError> {
        let encoded = &member.function.encoded;
        let first = image.code.len();
        image.code.extend_from_slice(&encoded.words);
        for relocation in &encoded.relocations {
            let word = first + relocation.at as usize;
            match self.resolve(index, member, relocation, image)? {
                Resolved::Value(value) => {
                    image.code[word] = oriole_emit::patch(self.target.chip, relocation, value)
                        .map_err(|failure| ImageError::Internal(failure.to_string()))?;
                }
                Resolved::Loader { kind, target, addend } => {
                    let offset = member.base + self.target.words.address(relocation.at);
                    image.relocations.push(TextRelocation { offset, kind, target, addend });
                }
                Resolved::Linker { kinds, target, addend } => {
                    let (empty, kind) = self.left(member, relocation, kinds, target, image)?;
                    image.code[word] = empty;
                    let offset = member.base + self.target.words.address(relocation.at);
                    image.relocations.push(TextRelocation { offset, kind, target, addend });
                }
            }
        }
        self.record_places(member, first, image)?;
        if member.function.is_separate {
            self.calls_through_pointers(member, image);
        }
        self.record_needs(index, member, image);
        Ok(())
    }

    /// The word that the linker completes, and how.
    fn left(
        &self,
        member: &Member,
        relocation: &Relocation,
        kinds: &[RelocationKind],
        target: SymbolRef,
        image: &KernelImage,
    ) -> Result<(InstructionWord, RelocationKind), ImageError> {
        let (word, kind) = emptied(self.target.chip, relocation, kinds)?.ok_or_else(|| {
            let name = match target {
                SymbolRef::Named(name) => image.names[name].clone(),
                _ => member.name.clone(),
            };
            ImageError::NoRelocation(name)
        })?;
        Ok((kind.without_bank(word), kind))
    }

    /// Records the places of a member's code that the container lists.
    fn record_places(
        &self,
        member: &Member,
        first: usize,
        image: &mut KernelImage,
    ) -> Result<(), ImageError> {
        let encoded = &member.function.encoded;
        let words = self.target.words;
        let at = |position: u32| member.base + words.address(position);
        image.warp_wide.extend(encoded.entry_marks.iter().map(|&mark| at(mark)));
        image.exits.extend(encoded.exits.iter().map(|&exit| at(exit)));
        image.coop_groups.extend(encoded.warp_wide.iter().map(|&(position, mask)| {
            (at(position), mask.map_or(u32::MAX, |register| 0x0500_0000 | u32::from(register)))
        }));
        for &(position, operation) in &encoded.objects {
            let word = image.code[first + position as usize];
            image.mbarriers.push(self.mbarrier(at(position), operation, word)?);
        }
        let targets = member.function.tables.iter().filter_map(|table| match table {
            Table::Targets(blocks) => Some(blocks),
            Table::Words(_) | Table::Functions => None,
        });
        for (&branch, table) in encoded.indexed_branches.iter().zip(targets) {
            let targets = table.iter().filter_map(|block| encoded.block_starts.get(*block));
            image.indirect_branches.push(IndirectBranch {
                offset: at(branch),
                targets: targets.map(|&start| at(start)).collect(),
            });
        }
        image.syscalls.extend(encoded.absolute_calls.iter().map(|&call| at(call)));
        Ok(())
    }

    /// Records what a member needs, and its frame.
    fn record_needs(&self, index: usize, member: &Member, image: &mut KernelImage) {
        let encoded = &member.function.encoded;
        let words = self.target.words;
        image.names_shared |= member.function.names_shared;
        image.has_call |= encoded.needs_call_stack;
        image.barriers = image.barriers.max(member.function.barriers);
        image.registers = image.registers.max(u32::from(encoded.general_registers));
        if index == 0 {
            image.max_registers = member.function.register_limit;
            image.frame_size = member.function.frame_bytes;
            image.frame_rows.extend(member.function.frame_rows.iter().map(|row| FrameRow {
                offset: member.base + words.address(row.at),
                rule: frame_rule(row.rule),
            }));
        } else {
            image.functions.push(InnerFunction {
                name: format!("${}${}", image.name, member.name),
                offset: member.base,
                size: words.address(encoded.words.len() as u32),
                frame_size: member.function.frame_bytes,
                return_register: Some(if member.is_routine { ROUTINE_RETURN } else { FUNCTION_RETURN }),
            });
        }
    }

    /// The container's record of an access to an mbarrier: where the finished word says that the mbarrier is.
    fn mbarrier(
        &self,
        offset: u32,
        operation: ObjectOperation,
        word: InstructionWord,
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
            kind: mbarrier_kind(operation),
            uniform: uniform.filter(|&uniform| uniform != register::URZ).unwrap_or(neutral),
        })
    }

    /// Calls through pointers name what the loader adds to the addresses of functions, where it does.
    fn calls_through_pointers(&self, member: &Member, image: &mut KernelImage) {
        if !self.target.container.calls_by_table() {
            return;
        }
        let encoded = &member.function.encoded;
        let direct = |call: u32| {
            let named = |it: &Relocation| it.at == call && matches!(it.fixup, Fixup::Call(_));
            encoded.relocations.iter().any(named)
        };
        for &call in encoded.absolute_calls.iter().filter(|&&call| !direct(call)) {
            image.relocations.push(TextRelocation {
                offset: member.base + self.target.words.address(call),
                kind: RelocationKind::CallOffset,
                target: SymbolRef::FunctionTable,
                addend: 0,
            });
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
pub fn mbarrier_kind(operation: ObjectOperation) -> u8 {
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
