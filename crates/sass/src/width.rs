//! Register counts of the operands of a form. The rule of each operand is a column of the form table; rules that need
//! the modifiers (`LDG.128` spans four) are evaluated here.

use crate::form::{Access, Form, SlotKind, Width};
use crate::{Mod, Mods, Op, Operand, OperandKind, texture};

/// The part that an operand plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Role {
    /// Written, read, or both. The registers inside an address are always read.
    pub access: Access,
    /// Consecutive registers of the operand; of its base for an address; 0 if it has no register.
    pub components: u8,
    /// Registers of the uniform part of an address; otherwise 0.
    pub uniform_components: u8,
    /// Registers of the descriptor of an address; otherwise 0.
    pub descriptor_components: u8,
}

/// The role of an operand in a slot, `None` where the table does not know its register count.
pub(crate) fn role(
    form: &Form,
    slot: usize,
    mods: &Mods,
    operand: &Operand,
    all: &[Operand],
) -> Option<Role> {
    let row = &form.slots[slot];
    let mut role =
        Role { access: row.access, components: 0, uniform_components: 0, descriptor_components: 0 };
    match row.kind {
        SlotKind::Reg if texture::is_texture(row.width) => {
            role.components = texture::components(form.op, row.width, mods, all)?;
        }
        SlotKind::Reg | SlotKind::UReg if row.width == Width::Packed => {
            role.components = if operand.has(Mod::F32) { 1 } else { 2 };
        }
        SlotKind::Reg if matches!(row.width, Width::WordsHigh | Width::WordsLow) => {
            role.components = wanted_words(row.width, all);
        }
        SlotKind::Reg | SlotKind::UReg => role.components = components(form.op, row.width, mods)?,
        SlotKind::Pred | SlotKind::UPred => role.components = 1,
        SlotKind::Barrier => {
            role.components = 1;
            // Reading a barrier out may clear it.
            if form.op == Op::BMOV && row.access == Access::Use && mods.has(Mod::CLEAR) {
                role.access = Access::DefUse;
            }
        }
        SlotKind::MatrixDescriptor | SlotKind::InstructionDescriptor => {
            role.components = components(form.op, row.width, mods)?;
        }
        SlotKind::TensorMemory { .. } => {
            role.access = Access::Use;
            role.uniform_components = components(form.op, row.width, mods)?;
        }
        SlotKind::ConstIndexed | SlotKind::ConstBindlessIndexed => role.components = 1,
        SlotKind::ConstUniformIndexed => role.uniform_components = 1,
        SlotKind::Memory { .. } | SlotKind::Attribute { .. } => {
            role.access = Access::Use;
            let wide = mods.has(Mod::E);
            role.descriptor_components = 2;
            (role.components, role.uniform_components) = match row.width {
                Width::Address if operand.has(Mod::_64) => (2, 2),
                Width::Address if operand.has(Mod::U32) => (1, if wide { 2 } else { 1 }),
                Width::Address => {
                    if wide {
                        (2, 2)
                    } else {
                        (1, 1)
                    }
                }
                // The target of a bulk copy: an address and, in shared memory, the mbarrier after it.
                Width::Bulk if slot == 0 => (0, 2),
                Width::Bulk => (0, if mods.has(Mod::G_2) { 2 } else { 1 }),
                Width::Tensor => (0, tensor(form.op, slot, mods)?),
                Width::Surface => (texture::surface_coordinates(mods)?, 0),
                Width::One | Width::Two => (1, 1),
                _ => return None,
            };
        }
        _ => {}
    }
    if matches!(row.kind, SlotKind::ConstBindless | SlotKind::ConstBindlessIndexed) {
        role.descriptor_components = 2;
    }
    Some(role)
}

/// Registers that an operand spans. `None` where that is not known.
fn components(op: Op, width: Width, mods: &Mods) -> Option<u8> {
    let has = |name: Mod| mods.has(name);
    let pair_if = |condition: bool| Some(if condition { 2 } else { 1 });
    match width {
        Width::One => Some(1),
        Width::Two | Width::UpperTwo => Some(2),
        Width::Four => Some(4),
        Width::Size => Some(memory_registers(mods)),
        Width::Wide => pair_if(has(Mod::WIDE)),
        Width::Long => pair_if(has(Mod::_64) || has(Mod::U64)),
        Width::Float64 => pair_if(has(Mod::F64)),
        Width::FromFloat64 => pair_if(has(Mod::F64_2)),
        Width::Integer64 => pair_if(has(Mod::S64) || has(Mod::U64)),
        Width::PairUnless32 => pair_if(!has(Mod::_32)),
        // A matrix of sixteen rows of sixteen bytes takes two registers.
        Width::Count => Some(
            match (has(Mod::_4), has(Mod::_2)) {
                (true, _) => 4,
                (_, true) => 2,
                _ => 1,
            } << u8::from(has(Mod::MT1616)),
        ),
        Width::MatrixA | Width::MatrixB | Width::MatrixC | Width::MatrixD => matrix(op, width, mods),
        Width::GroupD => group(op, mods),
        Width::TensorData => Some(tensor_data(mods)),
        Width::Lanes => Some(lanes(mods)),
        Width::SurfaceData => Some(texture::surface_data(op, mods)),
        Width::Coordinates | Width::Extras | Width::TexelsLow | Width::TexelsHigh | Width::Level => None,
        Width::WordsHigh | Width::WordsLow => None,
        Width::Address | Width::Bulk | Width::Tensor | Width::Surface | Width::Packed | Width::Unknown => {
            None
        }
    }
}

/// Registers of one half of a 256-bit load: the words that a mask selects, contiguous.
fn wanted_words(width: Width, all: &[Operand]) -> u8 {
    let mask = all.iter().find_map(|operand| match operand.kind {
        OperandKind::Imm(mask) => Some(mask as u8),
        _ => None,
    });
    let mask = mask.unwrap_or(u8::MAX);
    let half = if width == Width::WordsHigh { mask >> 4 } else { mask & 0xf };
    half.count_ones() as u8
}

/// Registers of the data of a load, store or atomic operation.
fn memory_registers(mods: &Mods) -> u8 {
    let any = |names: &[Mod]| names.iter().any(|&name| mods.has(name));
    if any(&[Mod::_128, Mod::F32x4, Mod::F16x8, Mod::BF16x8, Mod::E4M3x16, Mod::E5M2x16]) {
        4
    } else if any(&[Mod::_64, Mod::U64, Mod::S64, Mod::F64, Mod::F32x2, Mod::F16x4, Mod::BF16x4])
        || any(&[Mod::E4M3x8, Mod::E5M2x8])
    {
        2
    } else {
        1
    }
}

/// Registers of an operand of a warp-wide matrix instruction: the bits of the matrix over the 1024 bits that one
/// register of a warp holds.
fn matrix(op: Op, width: Width, mods: &Mods) -> Option<u8> {
    let (rows, columns, depth) = mods.iter().find_map(|name| shape(name.name())).unwrap_or((8, 8, 4));
    let (input, output) = match op {
        Op::DMMA => (64, 64),
        Op::IMMA if mods.iter().any(|name| matches!(name.spelling(), "S4" | "U4")) => (4, 32),
        Op::IMMA => (8, 32),
        Op::BMMA => (1, 32),
        Op::OMMA => (4, 32),
        Op::QMMA => (8, if mods.has(Mod::F16) { 16 } else { 32 }),
        Op::HMMA => (
            if mods.has(Mod::TF32) { 32 } else { 16 },
            if mods.has(Mod::F16) && !mods.has(Mod::F32) { 16 } else { 32 },
        ),
        _ => return None,
    };
    let bits = match width {
        // A sparse matrix is stored at half its depth.
        Width::MatrixA => rows * depth * input / if mods.has(Mod::SP) { 2 } else { 1 },
        Width::MatrixB => columns * depth * input,
        _ => rows * columns * output,
    };
    Some((bits / 1024).max(1) as u8)
}

/// Rows, columns and depth out of a name such as `16816`, `8832` or `16x8x4`.
fn shape(name: &str) -> Option<(u32, u32, u32)> {
    if name.contains('x') {
        let mut numbers = name.split('x').map(|number| number.parse().ok());
        return Some((numbers.next()??, numbers.next()??, numbers.next()??));
    }
    if let Some(depth) = name.strip_prefix("168") {
        return Some((16, 8, depth.parse().ok()?));
    }
    name.strip_prefix("88").and_then(|depth| Some((8, 8, depth.parse().ok()?)))
}

/// Registers of the accumulator of a warp group's matrix instruction, 64 rows over 128 threads.
fn group(op: Op, mods: &Mods) -> Option<u8> {
    let (_, columns, _) = mods.iter().find_map(|name| shape(name.name()))?;
    let half = matches!(op, Op::HGMMA | Op::QGMMA) && !mods.has(Mod::F32);
    Some((columns / if half { 4 } else { 2 }) as u8)
}

/// Registers of each thread that a load from tensor memory fills: those of one shape, times the repetitions.
fn tensor_data(mods: &Mods) -> u8 {
    let shape = match (mods.has(Mod::_16dp128bit), mods.has(Mod::_16dp256bit)) {
        (true, _) => 2,
        (_, true) => 4,
        _ => 1,
    };
    let counts = [Mod::x2, Mod::x4, Mod::x8, Mod::x16, Mod::x32, Mod::x64, Mod::x128];
    let doublings = counts.iter().position(|&name| mods.has(name)).map_or(0, |at| at + 1);
    shape << doublings
}

/// Registers of the mask of an MMA in tensor memory: a bit for each of its lanes, or for 64 columns.
fn lanes(mods: &Mods) -> u8 {
    match (mods.has(Mod::WS), mods.has(Mod::_2CTA)) {
        (true, _) => 2,
        (_, true) => 8,
        _ => 4,
    }
}

/// Registers after the addresses of the TMA.
fn tensor(op: Op, slot: usize, mods: &Mods) -> Option<u8> {
    let coordinates = [Mod::_1D, Mod::_2D, Mod::_3D, Mod::_4D, Mod::_5D]
        .iter()
        .position(|&name| mods.has(name))
        .map(|index| index as u8 + 1);
    // A column, and four row indices.
    let rows = mods.has(Mod::GATHER4) || mods.has(Mod::SCATTER4);
    let coordinates = if rows { Some(5) } else { coordinates };
    match (op, slot) {
        // The address of the tensor map.
        (Op::UTMACCTL, _) | (_, 1) => Some(2),
        // The shared address, the barrier, one coordinate for each dimension.
        (Op::UTMALDG, 0) => Some(2 + coordinates?),
        // The shared address and the coordinates.
        (Op::UTMASTG | Op::UTMAREDG, 0) => Some(1 + coordinates?),
        (Op::UTMAPF, 0) => Some(coordinates?),
        _ => None,
    }
}
