//! Register counts of the operands of textures and surfaces.
//!
//! A fetch reads its coordinates, layer first, in one operand, and its other arguments in the next one: a handle in a
//! general register, the level, offsets, a comparison value, the sample. With `.SCR` both together are split into two
//! halves. Of the texels that the mask selects, two are in the last destination, the others in the first one.

use crate::form::Width;
use crate::{Mod, Mods, Op, Operand, OperandKind, Symbol};

/// True for the widths that depend on the geometry or the mask of the operands.
pub(crate) fn is_texture(width: Width) -> bool {
    matches!(width, Width::Coordinates | Width::Extras | Width::TexelsLow | Width::TexelsHigh | Width::Level)
}

/// Registers of an operand of a fetch or a query; `None` where the operands name no geometry.
pub(crate) fn components(op: Op, width: Width, mods: &Mods, all: &[Operand]) -> Option<u8> {
    Some(match width {
        Width::TexelsLow => packed(mods, texels(all).min(2)),
        Width::TexelsHigh => packed(mods, texels(all).saturating_sub(2)),
        // A handle in a general register, and the level.
        Width::Level => 1 + u8::from(mods.has(Mod::B)),
        Width::Coordinates => sources(op, mods, all)?[0],
        Width::Extras => sources(op, mods, all)?[1],
        _ => return None,
    })
}

/// Registers of this many texels: two f16 texels share one.
fn packed(mods: &Mods, texels: u8) -> u8 {
    if mods.has(Mod::F16) { texels.div_ceil(2) } else { texels }
}

/// Count of written components.
fn texels(all: &[Operand]) -> u8 {
    let mask = match all.last().map(|operand| operand.kind) {
        Some(OperandKind::Imm(mask)) if mask & 15 != 0 => mask as u8 & 15,
        _ => 15,
    };
    mask.count_ones() as u8
}

/// Counts of position and layer coordinates.
fn geometry(all: &[Operand]) -> Option<(u8, u8)> {
    all.iter().find_map(|operand| match operand.kind {
        OperandKind::Symbol(symbol) => Some(match symbol {
            Symbol::_1D => (1, 0),
            Symbol::_2D => (2, 0),
            Symbol::_3D | Symbol::CUBE => (3, 0),
            Symbol::ARRAY_1D => (1, 1),
            Symbol::ARRAY_2D => (2, 1),
            Symbol::ARRAY_CUBE => (3, 1),
            _ => return None,
        }),
        _ => None,
    })
}

/// Registers of the two sources of a fetch.
fn sources(op: Op, mods: &Mods, all: &[Operand]) -> Option<[u8; 2]> {
    let (place, layer) = geometry(all)?;
    let has = |name| u8::from(mods.has(name));
    let handle = has(Mod::B);
    if op == Op::TXD {
        // Offsets are in the upper half of the layer; two derivatives for each coordinate.
        let layer = layer.max(has(Mod::AOFFI));
        return Some([handle + place + layer, 2 * place + has(Mod::LC)]);
    }
    // `.B` of a gather is one of the texel's components; that of the handle is the second one.
    let handle = if op == Op::TLD4 { has(Mod::B_2) } else { handle };
    let levels = [Mod::LL, Mod::LB, Mod::LC, Mod::FDV].map(has).iter().sum::<u8>();
    let others = levels + has(Mod::AOFFI) + 2 * has(Mod::PTP) + has(Mod::DC) + has(Mod::MS);
    let (coordinates, extras) = (place + layer, handle + others);
    if mods.has(Mod::SCR) {
        Some([(coordinates + extras).div_ceil(2), (coordinates + extras) / 2])
    } else {
        Some([coordinates, extras])
    }
}

/// Registers of the coordinates of a surface.
pub(crate) fn surface_coordinates(mods: &Mods) -> Option<u8> {
    let rows = [
        (Mod::_1D, 1),
        (Mod::_1D_BUFFER, 1),
        (Mod::_1D_ARRAY, 2),
        (Mod::_2D, 2),
        (Mod::_2D_ARRAY, 3),
        (Mod::_3D, 3),
    ];
    rows.iter().find(|row| mods.has(row.0)).map(|row| row.1)
}

/// Registers of surface data that is read or written: for bytes as many as the size says, for texels as many as there
/// are components.
pub(crate) fn surface_data(op: Op, mods: &Mods) -> u8 {
    let any = |names: &[Mod]| names.iter().any(|&name| mods.has(name));
    match op {
        Op::SURED if any(&[Mod::U64, Mod::S64, Mod::SD64]) => 2,
        Op::SURED => 1,
        _ if mods.has(Mod::P) => {
            if mods.has(Mod::R) {
                1
            } else if mods.has(Mod::RG) {
                2
            } else {
                4
            }
        }
        _ if mods.has(Mod::_128) => 4,
        _ if mods.has(Mod::_64) => 2,
        _ => 1,
    }
}
