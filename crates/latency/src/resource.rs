//! The ten units of the machine and how many issue cycles an instruction keeps each of them busy.

use crate::Class;
use oriole_sass::{Mods, Op};

/// How many units there are.
pub const UNITS: usize = 10;

/// Issue cycles for which an instruction occupies each unit, indexed by [`Unit`].
pub type Resources = [u8; UNITS];

/// The units that an instruction occupies and for how many issue cycles: the measured spacing of two instructions
/// of the same opcode, back to back.
pub fn resources(op: Op, mods: &Mods) -> Resources {
    let cycles = match crate::class(op, mods) {
        Class::Alu | Class::Mask | Class::Dual | Class::Dispatch64 | Class::Other => 2,
        Class::Fma if matches!(op, Op::IMAD | Op::IDP) => 2,
        Class::Fma => 1,
        Class::Wide => 4,
        Class::Half | Class::HalfToSingle | Class::HalfAlu | Class::HalfMma | Class::Double => 2,
        Class::Matrix88 | Class::MatrixOne | Class::MatrixOneInteger | Class::Group => 4,
        Class::MatrixTwo | Class::Special => 8,
        Class::MatrixDouble => 16,
        Class::Memory if op == Op::LDS => 1,
        Class::Memory if op == Op::LDC => 8,
        Class::Memory | Class::Texture => 4,
        Class::Bulk | Class::Sync | Class::Fence | Class::Control => 1,
        Class::SpecialRegister if matches!(op, Op::S2UR | Op::REDUX) => 8,
        Class::SpecialRegister => 1,
        Class::ToUniform | Class::Uniform => 2,
        Class::UniformLoad | Class::UniformMove | Class::UniformVote => 1,
    };
    let mut busy = [0; UNITS];
    op.info().units.iter().for_each(|&unit| busy[unit as usize] = cycles);
    busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    #[test]
    fn units_are_listed_in_order() {
        for (index, unit) in Unit::ALL.into_iter().enumerate() {
            assert_eq!(unit as usize, index, "{}", unit.name());
        }
    }

    #[test]
    fn every_instruction_keeps_a_unit_busy() {
        for &op in Op::all() {
            let busy = resources(op, &Mods::none());
            assert!(busy.iter().any(|&cycles| cycles > 0), "{}", op.name());
        }
        let unit = |op, unit: Unit| resources(op, &Mods::none())[unit as usize];
        assert_eq!((unit(Op::FFMA, Unit::Fma), unit(Op::FFMA, Unit::Alu)), (1, 0));
        assert_eq!((unit(Op::DFMA, Unit::Double), unit(Op::MUFU, Unit::Special)), (2, 8));
        // A shared load competes both for the path of loads and for the memory itself.
        assert_eq!((unit(Op::LDS, Unit::LoadStore), unit(Op::LDS, Unit::Shared)), (1, 1));
    }
}
