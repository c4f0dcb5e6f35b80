//! `.nv_debug_info_reg_sass` and `.nv_debug_info_reg_type`: the machine registers that hold PTX registers, and the
//! types of those. DWARF names the PTX registers; debuggers look them up here.

use gimli::LittleEndian;
use gimli::write::{EndianVec, Error, Writer};

/// A part of a PTX register in a machine register.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HeldRegister {
    /// The machine register.
    pub machine: MachineRegister,
    /// Bytes from the start of the function to the instruction that writes it.
    pub first: u32,
    /// Bytes to the one that overwrites it.
    pub end: u32,
    /// The name of the PTX register, with the percent sign if it has one.
    pub name: String,
    /// The 32-bit component of it.
    pub component: u32,
    /// Its type, in the encoding of the tables.
    pub kind: u8,
}

/// A machine register in debug info numbering: its class in bits 24 and up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MachineRegister(u32);

impl MachineRegister {
    const CLASS_SHIFT: u32 = 24;

    /// The condition code.
    pub const CONDITION_CODE: MachineRegister = MachineRegister(1 << Self::CLASS_SHIFT);

    /// The encoded number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// `P0` and so on.
    pub const fn predicate(number: u8) -> MachineRegister {
        MachineRegister(2 << Self::CLASS_SHIFT | number as u32)
    }

    /// `R0` and so on.
    pub const fn general(number: u8) -> MachineRegister {
        MachineRegister(5 << Self::CLASS_SHIFT | number as u32)
    }

    /// `UP0` and so on.
    pub const fn uniform_predicate(number: u8) -> MachineRegister {
        MachineRegister(9 << Self::CLASS_SHIFT | number as u32)
    }

    /// `UR0` and so on.
    pub const fn uniform(number: u8) -> MachineRegister {
        MachineRegister(11 << Self::CLASS_SHIFT | number as u32)
    }
}

/// The two tables, of locations and of types, for functions with their held registers.
///
/// # Errors
/// A function has more ranges than can be counted.
pub fn register_tables(functions: &[(&str, &[HeldRegister])]) -> Result<[Vec<u8>; 2], Error> {
    let [mut places, mut types] = [(); 2].map(|()| EndianVec::new(LittleEndian));
    let text = |out: &mut EndianVec<LittleEndian>, text: &str| {
        out.write(text.as_bytes())?;
        out.write_u8(0)
    };
    for (name, held) in functions {
        let count = u32::try_from(held.len()).map_err(|_| Error::ValueTooLarge)?;
        for out in [&mut places, &mut types] {
            text(out, name)?;
            out.write_u32(count)?;
        }
        for one in *held {
            places.write_u32(one.component)?;
            text(&mut places, &one.name)?;
            for word in [one.machine.0, one.first, one.end] {
                places.write_u32(word)?;
            }
            types.write_u8(one.kind)?;
        }
    }
    Ok([places, types].map(EndianVec::into_vec))
}
