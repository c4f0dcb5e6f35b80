//! Registers of texture and surface instructions: the numbers of coordinates, levels, offsets and texels.
//!
//! This is part of the checker's own model. Coordinates come first, then the extras of a fetch. With `.SCR` the first
//! operand holds the first half of them, rounded up, and the second the others; without it the first operand holds the
//! coordinates and the second the extras. Of the texels two are in the last destination, the others in the first. For a
//! form that was not seen in ptxas's code the larger number is returned.

use oriole_sass::{Mod, Mods, Op, Operand, OperandKind};

/// Coordinates by the name of the geometry; that of an array counts its layer.
const COORDINATES: [(&str, u8); 7] =
    [("1D", 1), ("2D", 2), ("3D", 3), ("CUBE", 3), ("ARRAY_1D", 2), ("ARRAY_2D", 3), ("ARRAY_CUBE", 4)];

/// The geometry that the operands name.
fn coordinates(all: &[Operand]) -> Option<u8> {
    all.iter().find_map(|operand| match operand.kind {
        OperandKind::Symbol(symbol) => COORDINATES.iter().find(|row| row.0 == symbol.name()).map(|row| row.1),
        _ => None,
    })
}

/// True if the first coordinate is a layer.
fn is_layered(all: &[Operand]) -> bool {
    all.iter().any(
        |operand| matches!(operand.kind, OperandKind::Symbol(symbol) if symbol.name().starts_with("ARRAY")),
    )
}

/// Registers of the source operand `index` of a fetch.
pub(crate) fn source(op: Op, mods: &Mods, all: &[Operand], index: usize) -> u8 {
    const MOST: u8 = 4;
    let given = |list: &[Mod]| list.iter().filter(|&&m| mods.has(m)).count() as u8;
    // A handle in a register is the first of its operand.
    let handle = given(&[if op == Op::TLD4 { Mod::B_2 } else { Mod::B }]);
    if op == Op::TXQ && index == 0 {
        return 1 + handle;
    }
    // Footprints were not seen.
    if !matches!(op, Op::TEX | Op::TLD | Op::TLD4 | Op::TXD) || index > 1 {
        return MOST;
    }
    let Some(coordinates) = coordinates(all) else { return MOST };
    let others = match op {
        // Offsets share a register with the layer; two derivatives for each coordinate that is not a layer.
        Op::TXD => {
            let layer = is_layered(all);
            return if index == 0 {
                coordinates + handle + u8::from(mods.has(Mod::AOFFI) && !layer)
            } else {
                2 * (coordinates - u8::from(layer)) + given(&[Mod::LC])
            };
        }
        _ => {
            handle
                + given(&[Mod::LL, Mod::LB, Mod::LC, Mod::FDV, Mod::DC, Mod::AOFFI, Mod::MS])
                + 2 * given(&[Mod::PTP])
        }
    };
    let first = if mods.has(Mod::SCR) { (coordinates + others).div_ceil(2) } else { coordinates };
    if index == 0 { first } else { coordinates + others - first }
}

/// Registers of the destinations of a fetch or a query, the first and the last, by the mask of its texels.
pub(crate) fn results(mods: &Mods, all: &[Operand]) -> [u8; 2] {
    let mask = all.iter().rev().find_map(|operand| match operand.kind {
        OperandKind::Imm(mask) => Some(mask as u8 & 15),
        OperandKind::Symbol(_) => Some(15),
        _ => None,
    });
    let texels = mask.filter(|&mask| mask != 0).unwrap_or(15).count_ones() as u8;
    // Two f16 share a register.
    let each = if mods.has(Mod::F16) { 2 } else { 1 };
    [texels.saturating_sub(2).div_ceil(each), texels.min(2).div_ceil(each)]
}

/// Registers of the coordinates of a surface.
pub(crate) fn surface_address(mods: &Mods) -> u8 {
    let rows = [
        (Mod::_1D, 1),
        (Mod::_1D_BUFFER, 1),
        (Mod::_1D_ARRAY, 2),
        (Mod::_2D, 2),
        (Mod::_2D_ARRAY, 3),
        (Mod::_3D, 3),
    ];
    rows.iter().find(|row| mods.has(row.0)).map_or(4, |row| row.1)
}

/// Registers of the operand of a surface reduction.
pub(crate) fn surface_operand(mods: &Mods) -> u8 {
    if [Mod::U64, Mod::S64, Mod::SD64].iter().any(|&m| mods.has(m)) { 2 } else { 1 }
}

/// Registers of the data of a surface: for bytes by their size, for texels by their number of components.
pub(crate) fn surface_data(mods: &Mods) -> u8 {
    let rows = [(Mod::_128, 4), (Mod::_64, 2), (Mod::R, 1), (Mod::RG, 2)];
    rows.iter().find(|row| mods.has(row.0)).map_or(if mods.has(Mod::D) { 1 } else { 4 }, |row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_chip::Chip;

    fn widths(text: &str) -> ([u8; 2], [u8; 2]) {
        let instruction =
            oriole_sass::parse(Chip::SM_90, text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (mods, all) = (&instruction.mods, &instruction.operands);
        (results(mods, all), [0, 1].map(|index| source(instruction.op, mods, all, index)))
    }

    /// Fetches as ptxas writes them, with the registers of its code.
    #[test]
    fn registers_of_fetches() {
        assert_eq!(widths("TEX.SCR.LL RZ, R11, R10, R0, 0x0, 0x58, 2D, 0x1"), ([0, 1], [2, 1]));
        assert_eq!(widths("TEX.SCR.LL RZ, R10, R10, R24, 0x0, 0x60, ARRAY_2D, 0x1"), ([0, 1], [2, 2]));
        assert_eq!(widths("TEX.SCR.LL RZ, R8, R20, R8, 0x0, 0x5c, 3D, 0x4"), ([0, 1], [2, 2]));
        assert_eq!(widths("TEX.LL RZ, R15, R8, R21, UR12, 0x0, ARRAY_2D, 0x1"), ([0, 1], [3, 1]));
        assert_eq!(widths("TLD4.SCR.G RZ, R11, R2, R2, 0x0, 0x5a, 2D, 0x4"), ([0, 1], [1, 1]));
        assert_eq!(widths("TLD.SCR.F16.RN.LZ R3, R0, R2, R3, 0x0, 0x5c, 2D"), ([1, 1], [1, 1]));
        assert_eq!(widths("TLD.LZ RZ, R14, R0, UR4, 0x0, 1D, 0x1"), ([0, 1], [1, 0]));
        assert_eq!(widths("TXD RZ, R5, R14, R4, UR6, 0x0, 2D, 0x2"), ([0, 1], [2, 4]));
        assert_eq!(widths("TXD.AOFFI R6, R4, R4, R8, UR4, 0x0, ARRAY_1D"), ([2, 2], [2, 2]));
        assert_eq!(widths("TXD.B R10, R8, R8, R12, 2D"), ([2, 2], [3, 4]));
        assert_eq!(widths("TLD4.R.B.DC R10, R8, R8, R6, ARRAY_2D"), ([2, 2], [3, 2]));
        assert_eq!(widths("TEX.LL R6, R4, R8, R12, UR4, 0x0, 2D, 0xf"), ([2, 2], [2, 1]));
    }
}
