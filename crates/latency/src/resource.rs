//! The ten units of the machine and how many issue cycles an instruction keeps each of them busy.

use crate::Class;
use oriole_sass::{Mods, Op};

/// One of the ten units that instructions compete for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Unit {
    /// Integer, logic, compare.
    Alu,
    /// Multiply-add of 32 bits and packed halves.
    Fma,
    /// Doubles.
    Double,
    /// Matrices.
    Tensor,
    /// Loads and stores.
    LoadStore,
    /// Textures and surfaces.
    Texture,
    /// Branches, barriers, fences.
    Control,
    /// Shared memory.
    Shared,
    /// Special functions and conversions.
    Special,
    /// The uniform datapath.
    Uniform,
}

impl Unit {
    /// All of them, in the order of their numbers.
    pub const ALL: [Unit; UNITS] = [
        Unit::Alu,
        Unit::Fma,
        Unit::Double,
        Unit::Tensor,
        Unit::LoadStore,
        Unit::Texture,
        Unit::Control,
        Unit::Shared,
        Unit::Special,
        Unit::Uniform,
    ];

    /// The short name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Alu => "ALU",
            Unit::Fma => "FMA",
            Unit::Double => "DFMA",
            Unit::Tensor => "MMA",
            Unit::LoadStore => "LSU",
            Unit::Texture => "TEX",
            Unit::Control => "BRA",
            Unit::Shared => "SMEM",
            Unit::Special => "SFU",
            Unit::Uniform => "UDP",
        }
    }
}

/// How many units there are.
pub const UNITS: usize = 10;

/// Issue cycles for which an instruction occupies each unit, indexed by [`Unit`].
pub type Resources = [u8; UNITS];

/// The units that an instruction occupies and for how many issue cycles: the measured spacing of two instructions
/// of the same opcode, back to back.
pub fn resources(op: Op, mods: &Mods) -> Resources {
    use Unit::*;
    let mut busy = [0; UNITS];
    let mut occupy = |unit: Unit, cycles: u8| busy[unit as usize] = cycles;
    match crate::class(op, mods) {
        Class::Alu | Class::Mask | Class::Dual | Class::Other => occupy(Alu, 2),
        Class::Dispatch64 => occupy(Alu, 2),
        Class::Fma if matches!(op, Op::IMAD | Op::IDP) => occupy(Fma, 2),
        Class::Fma => occupy(Fma, 1),
        Class::Wide => occupy(Fma, 4),
        Class::Half | Class::HalfToSingle | Class::HalfAlu | Class::HalfMma => occupy(Fma, 2),
        Class::Double => occupy(Double, 2),
        Class::Matrix88 | Class::MatrixOne | Class::MatrixOneInteger => occupy(Tensor, 4),
        Class::MatrixTwo => occupy(Tensor, 8),
        Class::MatrixDouble => occupy(Tensor, 16),
        Class::Group => occupy(Tensor, 4),
        Class::Special => occupy(Special, 8),
        Class::Memory if matches!(op, Op::LDS) => {
            occupy(LoadStore, 1);
            occupy(Shared, 1);
        }
        Class::Memory if matches!(op, Op::STS | Op::ATOMS | Op::LDSM | Op::STSM | Op::SHFL) => {
            occupy(LoadStore, 4);
            occupy(Shared, 4);
        }
        Class::Memory if op == Op::LDC => occupy(LoadStore, 8),
        Class::Memory => occupy(LoadStore, 4),
        Class::Texture => occupy(Texture, 4),
        Class::Bulk | Class::Sync => occupy(LoadStore, 1),
        Class::Fence | Class::Control => occupy(Control, 1),
        Class::SpecialRegister => occupy(LoadStore, if matches!(op, Op::S2UR | Op::REDUX) { 8 } else { 1 }),
        Class::ToUniform | Class::Uniform => occupy(Uniform, 2),
        Class::UniformLoad | Class::UniformMove | Class::UniformVote => occupy(Uniform, 1),
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

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
