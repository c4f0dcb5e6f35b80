//! The requirements of an operand, derived from the table's row and the types that are written; which registers and
//! constants fit it. The text is not read here.

use crate::compatible::{Width, immediate_fits, is_address, is_word, register_fits, wanted_registers};
use crate::{Constant, Immediate};
use oriole_ptx::Type;
use oriole_ptx::table::{Form, OperandType};

/// The type required of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// This type.
    Typed(Type, Width),
    /// This type in a register of exactly this type or of bits, or an integer.
    Exact(Type),
    /// A 32-bit integer or bits.
    Word,
    /// An integer or bits of 32 bits or more.
    WideWord,
    /// An f32, in a register of any kind.
    LooseFloat,
    /// A register that can hold an address, or an integer.
    Address,
    /// Anything.
    Any,
}

impl Want {
    pub(super) fn accepts(self, register: Type) -> bool {
        match self {
            Want::Typed(ty, width) => register_fits(register, ty, width),
            Want::Exact(ty) => register == ty || (register.is_bits() && register.bits() == ty.bits()),
            Want::Word => is_word(register),
            Want::LooseFloat => register.bits() == 32 && register != Type::F16x2,
            Want::WideWord => register.bits() >= 32 && (register.is_bits() || register.is_integer()),
            Want::Address => is_address(register),
            Want::Any => true,
        }
    }

    pub(super) fn immediate(self, constant: Constant) -> Option<Immediate> {
        match (self, constant) {
            (Want::Typed(ty, _), _) => immediate_fits(constant, ty),
            (
                Want::Exact(_) | Want::Word | Want::WideWord | Want::Address,
                Constant::Integer { bits, .. },
            ) => Some(Immediate::Integer(bits as i64)),
            (Want::LooseFloat, _) => {
                immediate_fits(constant, Type::F32).or_else(|| immediate_fits(constant, Type::B32))
            }
            (Want::Exact(_) | Want::Word | Want::WideWord | Want::Address, _) => None,
            (Want::Any, Constant::Integer { bits, .. }) => Some(Immediate::Integer(bits as i64)),
            (Want::Any, Constant::F32(bits)) => Some(Immediate::F32(bits)),
            (Want::Any, Constant::F64(bits)) => Some(Immediate::F64(bits)),
        }
    }

    pub(super) fn describe(self) -> String {
        match self {
            Want::Typed(ty, width) => wanted_registers(ty, width),
            Want::Exact(ty) => wanted_registers(ty, Width::Same),
            Want::Word => "an integer or bits register of 32 bits".to_string(),
            Want::LooseFloat => "a register of 32 bits".to_string(),
            Want::WideWord => "an integer or bits register of 32 bits or more".to_string(),
            Want::Address => "an integer or bits register of 32 or 64 bits".to_string(),
            Want::Any => "a register".to_string(),
        }
    }
}

/// A constant as the operand holds it: words keep 32 bits.
pub(super) fn narrow(value: i64, want: Want) -> i64 {
    if want == Want::Word { i64::from(value as i32) } else { value }
}

pub(super) fn double(ty: Type) -> Type {
    match ty {
        Type::U8 => Type::U16,
        Type::U16 => Type::U32,
        Type::U32 => Type::U64,
        Type::S8 => Type::S16,
        Type::S16 => Type::S32,
        Type::S32 => Type::S64,
        other => other,
    }
}

/// The requirement of an instruction for an operand, given the types it is written with.
pub(super) fn want(ty: OperandType, form: &Form) -> Want {
    let at = |index: u8| form.types.get(usize::from(index)).copied();
    match ty {
        OperandType::Of(index) => at(index).map_or(Want::Any, |ty| Want::Typed(ty, Width::Same)),
        OperandType::Widening(index) => at(index).map_or(Want::Any, |ty| Want::Typed(ty, Width::AtLeast)),
        OperandType::Double(index) => at(index).map_or(Want::Any, |ty| Want::Typed(double(ty), Width::Same)),
        OperandType::Fixed(ty) => Want::Typed(ty, Width::Same),
        OperandType::Exact(ty) => Want::Exact(ty),
        OperandType::Loose(index) => at(index).map_or(Want::Any, |ty| match ty {
            Type::F32 => Want::LooseFloat,
            ty => Want::Typed(ty, Width::Same),
        }),
        OperandType::LooseFloat => Want::LooseFloat,
        OperandType::Bits(index) => at(index).map_or(Want::Any, |ty| match ty.bits() {
            8 => Want::Typed(Type::B8, Width::Same),
            16 => Want::Typed(Type::B16, Width::Same),
            32 => Want::Typed(Type::B32, Width::Same),
            _ => Want::Typed(ty, Width::Same),
        }),
        OperandType::Word => Want::Word,
        OperandType::WideWord => Want::WideWord,
        OperandType::AnyInteger | OperandType::AddressIn(_) | OperandType::AddressInShared => Want::Address,
        OperandType::None => Want::Any,
    }
}
