//! Which registers and which constants fit an operand's type.
//!
//! One small set of rules, measured against ptxas, so that no instruction has rules of its own. No names and no syntax
//! may enter.

use oriole_ptx::Type;

use crate::{Constant, Immediate};

/// The comparison of widths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// The register has the width of the type.
    Same,
    /// The register may be wider.
    AtLeast,
    /// The register may be wider, inside a vector: integers may also hold floating-point elements.
    AtLeastInVector,
}

/// Whether a register behaves as bits or an integer. f16x2 registers count: they are 32 loose bits.
fn is_loose(register: Type) -> bool {
    register.is_bits() || register.is_integer() || register == Type::F16x2
}

/// Whether a register fits an operand of type `wanted`.
pub(crate) fn register_fits(register: Type, wanted: Type, width: Width) -> bool {
    if wanted == Type::Pred || register == Type::Pred {
        return wanted == register;
    }
    let sized = match width {
        Width::Same => register.bits() == wanted.bits(),
        Width::AtLeast | Width::AtLeastInVector => register.bits() >= wanted.bits(),
    };
    if matches!(wanted, Type::U16x2 | Type::S16x2) {
        // Pairs of integers live in untyped words.
        return sized && (register.is_bits() || register == Type::F16x2);
    }
    if wanted.is_bits() {
        sized
    } else if wanted.is_integer() {
        sized && is_loose(register)
    } else {
        let integers = width == Width::AtLeastInVector && register.is_integer();
        register == wanted || (sized && (register.is_bits() || integers))
    }
}

/// Whether a register is a 32-bit integer or bits.
pub(crate) fn is_word(register: Type) -> bool {
    register.bits() == 32 && (register.is_bits() || register.is_integer())
}

/// Whether a register can hold an address.
pub(crate) fn is_address(register: Type) -> bool {
    matches!(register.bits(), 32 | 64) && (register.is_bits() || register.is_integer())
}

/// A constant in the form of an operand of type `wanted`, if it fits. Integers go where integers or bits are wanted
/// (above their 64 bits, zeros), floating-point constants where a floating-point value is wanted, and `0f`/`0d` bits
/// also where bits of their width are.
pub(crate) fn immediate_fits(constant: Constant, wanted: Type) -> Option<Immediate> {
    match constant {
        Constant::Integer { bits, .. } => {
            let fits = wanted == Type::Pred
                || wanted.is_bits()
                || (wanted.is_integer() && !matches!(wanted, Type::U16x2 | Type::S16x2));
            fits.then_some(Immediate::Integer(bits as i64))
        }
        Constant::F32(bits) => match wanted {
            Type::F32 | Type::B32 => Some(Immediate::F32(bits)),
            Type::F64 => Some(Immediate::F64(f64::from(f32::from_bits(bits)).to_bits())),
            _ => None,
        },
        Constant::F64(bits) => match wanted {
            // Rounds to nearest even, as the conversion of Rust does.
            Type::F32 => Some(Immediate::F32((f64::from_bits(bits) as f32).to_bits())),
            Type::F64 | Type::B64 => Some(Immediate::F64(bits)),
            _ => None,
        },
    }
}

/// The registers that fit a type, for messages.
pub(crate) fn wanted_registers(wanted: Type, width: Width) -> String {
    if wanted == Type::Pred {
        return "a `.pred` register".to_string();
    }
    let wider = if width == Width::Same { "" } else { " or wider" };
    match wanted {
        _ if wanted.is_bits() => format!("a register of {} bits{wider}", wanted.bits()),
        _ if wanted.is_integer() => format!("an integer or bits register of {} bits{wider}", wanted.bits()),
        Type::F32 | Type::F64 | Type::F16 | Type::F16x2 => {
            format!("a `{wanted}` or `.b{}` register{wider}", wanted.bits())
        }
        _ => format!("a `.b{}` register{wider}", wanted.bits()),
    }
}
