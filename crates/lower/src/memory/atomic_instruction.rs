//! An atomic operation with its operands, and the one instruction that does it where the chip has one.

use super::cache;
use super::place::{self, Place};
use crate::LowerError;
use crate::context::Lower;
use crate::source::Words;
use oriole_ori::{File, Source};
use oriole_ptx::word::Operation;
use oriole_ptx::{Space, Type};
use oriole_sass::{Mod, Op, on_chip};

/// An atomic operation with its operands.
pub(super) struct Atomic {
    pub operation: Mod,
    pub ty: Type,
    pub vector: u32,
    pub scope: Mod,
    /// First operand, in words.
    pub b: Words,
    /// New value of a compare-and-swap, in words.
    pub c: Words,
    /// The old value is dead.
    pub reduction: bool,
    /// Increments a word, where the chip has an instruction for that.
    pub counts: bool,
    /// L2 policy for the line.
    pub policy: Option<[Source; 2]>,
    /// Subnormal f32 values are kept if the operation is on global memory.
    pub keeps_subnormals: bool,
}

impl Atomic {
    /// Bytes that are touched.
    pub fn bytes(&self) -> u32 {
        self.ty.bytes() * self.vector
    }

    /// True for the narrow types that are done on the word around them.
    pub fn narrow(&self) -> bool {
        self.bytes() < 4
    }

    /// The type modifiers of an operation on global or generic memory.
    pub fn type_mods(&self) -> Vec<Mod> {
        let signed = self.ty.is_signed() && matches!(self.operation, Mod::MIN | Mod::MAX);
        let singles = |name: Mod| {
            let flushes = (!self.keeps_subnormals).then_some(Mod::FTZ);
            [Some(name), flushes, Some(Mod::RN)].into_iter().flatten().collect()
        };
        match (self.ty, self.vector) {
            (Type::F32, 1) => singles(Mod::F32),
            (Type::F32, 2) => singles(Mod::F32x2),
            (Type::F32, _) => singles(Mod::F32x4),
            (Type::F64, _) => vec![Mod::F64, Mod::RN],
            (Type::F16x2, 1) => vec![Mod::F16x2, Mod::RN],
            (Type::F16x2, 2) => vec![Mod::F16x4, Mod::RN],
            (Type::F16x2, _) => vec![Mod::F16x8, Mod::RN],
            (Type::BF16x2, 1) => vec![Mod::BF16x2, Mod::RN],
            (Type::BF16x2, 2) => vec![Mod::BF16x4, Mod::RN],
            (Type::BF16x2, _) => vec![Mod::BF16x8, Mod::RN],
            _ => match (self.bytes(), signed) {
                (8, true) => vec![Mod::S64],
                (8, false) => vec![Mod::_64],
                (16, _) => vec![Mod::_128],
                (_, true) => vec![Mod::S32],
                _ => vec![],
            },
        }
    }

    /// True if shared memory has the operation.
    pub fn in_shared(&self) -> bool {
        let integer = !self.ty.is_float();
        match self.bytes() {
            4 => integer,
            8 | 16 => matches!(self.operation, Mod::EXCH | Mod::CAS),
            _ => false,
        }
    }
}

/// The SASS modifier of an operation.
pub(crate) fn operation_mod(operation: Operation) -> Mod {
    match operation {
        Operation::Add => Mod::ADD,
        Operation::Min => Mod::MIN,
        Operation::Max => Mod::MAX,
        Operation::Inc => Mod::INC,
        Operation::Dec => Mod::DEC,
        Operation::And => Mod::AND,
        Operation::Or => Mod::OR,
        Operation::Xor => Mod::XOR,
        Operation::Exch => Mod::EXCH,
        Operation::Cas => Mod::CAS,
    }
}

/// An element type and the count of elements: f16 and bf16 elements of a vector are packed in words, two in each.
pub(super) fn packed_type(ty: Type, vector: u8) -> (Type, u32) {
    let vector = u32::from(vector.max(1));
    match ty {
        Type::F16 if vector > 1 => (Type::F16x2, vector / 2),
        Type::BF16 if vector > 1 => (Type::BF16x2, vector / 2),
        Type::E4M3 if vector > 1 => (Type::E4M3x4, vector / 4),
        Type::E5M2 if vector > 1 => (Type::E5M2x4, vector / 4),
        Type::E4M3x2 if vector > 1 => (Type::E4M3x4, vector / 2),
        Type::E5M2x2 if vector > 1 => (Type::E5M2x4, vector / 2),
        _ => (ty, vector),
    }
}

/// The operation as one instruction. Returns the old value, or `None` for a reduction.
pub(super) fn single(
    cx: &mut Lower<'_>,
    a: &Atomic,
    place: &Place,
    destination: impl FnOnce(&mut Lower<'_>) -> Result<Words, LowerError>,
) -> Result<Option<Words>, LowerError> {
    let width = (a.bytes() / 4) as u8;
    let shared = place.space == Space::Shared;
    let memory = place::memory_info(place.space, true, true, true);
    if shared && a.counts && a.reduction {
        // Lanes with the same word are counted by the hardware, without a waterfall loop.
        let address = place::memory_operand(cx, place, false);
        let result = oriole_ori::Destination::dropped(File::R, 1);
        let draft = cx.b.op(Op::ATOMS).mods(&[Mod::POPC, Mod::INC, Mod::_32]).destination(result);
        draft.from(address).memory(memory).emit();
        return Ok(None);
    }
    let compare = a.operation == Mod::CAS;
    let mut address = place::memory_operand(cx, place, !compare);
    if !shared && !compare {
        address = cache::with_policy(cx, address, a.policy.clone());
    }
    let old = if a.reduction { None } else { Some(destination(cx)?) };
    let mut mods = vec![a.operation];
    if shared {
        match (a.bytes(), a.ty.is_signed() && matches!(a.operation, Mod::MIN | Mod::MAX)) {
            (16, _) => mods.push(Mod::_128),
            (8, _) => mods.push(Mod::_64),
            (_, true) => mods.push(Mod::S32),
            _ => {}
        }
    } else {
        mods.push(Mod::E);
        mods.extend(a.type_mods());
        mods.extend([Mod::STRONG, a.scope]);
    }
    let op = match place.space {
        Space::Shared => Op::ATOMS,
        Space::Global if a.reduction && !compare && a.operation != Mod::EXCH => reduction(cx),
        Space::Global => Op::ATOMG,
        _ => Op::ATOM,
    };
    let mut draft = cx.b.op(op).mods(&mods);
    if matches!(op, Op::ATOMG | Op::ATOM) {
        draft = draft.drop_result(File::P);
    }
    if !matches!(op, Op::REDG | Op::RED) {
        draft = match &old {
            Some(words) => draft.to_tuple(words.clone()),
            None => draft.destination(oriole_ori::Destination::dropped(File::R, width)),
        };
    }
    draft = draft.from(address).from(Source::values(a.b.clone()));
    if compare {
        draft = draft.from(Source::values(a.c.clone()));
    }
    draft.memory(memory).emit();
    Ok(old)
}

/// The opcode of an operation on global memory whose old value is dead.
fn reduction(cx: &Lower<'_>) -> Op {
    on_chip(cx.chip, Op::REDG)
}
