//! Widths of operands in registers, by opcode and modifiers, for the model of accesses in `accesses`. Where a width is
//! not certain the larger one is returned.

use crate::texture;
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind, Slot};

/// Registers of memory data by the size in the modifiers.
pub(crate) fn data_width(mods: &Mods) -> u8 {
    let any = |list: &[Mod]| list.iter().any(|&m| mods.has(m));
    if any(&[Mod::_256, Mod::_128, Mod::F32x4, Mod::F16x8, Mod::BF16x8, Mod::E4M3x16, Mod::E5M2x16]) {
        4
    } else if any(&[Mod::_64, Mod::F64, Mod::S64, Mod::U64, Mod::F32x2, Mod::F16x4, Mod::BF16x4])
        || any(&[Mod::E4M3x8, Mod::E5M2x8])
    {
        2
    } else {
        1
    }
}

/// Registers of the destination `index` of a load of 256 bits, upper half first: the selected words.
pub(crate) fn widest_words(index: usize, operands: &[Operand]) -> u8 {
    let wanted = operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Imm(mask) => Some(mask),
        _ => None,
    });
    let half = wanted.unwrap_or(0xff) >> (4 * (1 - index)) & 0xf;
    half.count_ones() as u8
}

/// Registers after the addresses of bulk copies and bulk tensor copies, `None` for other opcodes.
pub(crate) fn bulk_width(op: Op, mods: &Mods, index: usize) -> Option<u8> {
    let coordinates = || {
        let shapes = [Mod::_1D, Mod::_2D, Mod::_3D, Mod::_4D, Mod::_5D];
        if mods.has(Mod::GATHER4) || mods.has(Mod::SCATTER4) {
            return 5;
        }
        shapes.iter().position(|&shape| mods.has(shape)).map_or(5, |at| at as u8 + 1)
    };
    Some(match (op, index) {
        // A global address, or that of a target in shared memory with the mbarrier after it; a shared source is alone.
        (Op::UBLKCP | Op::UBLKRED, 1) if !mods.has(Mod::G_2) => 1,
        (Op::UBLKCP | Op::UBLKPF | Op::UBLKRED, _) => 2,
        // The address of a tensor map.
        (Op::UTMACCTL, _) | (Op::UTMALDG | Op::UTMASTG | Op::UTMAREDG | Op::UTMAPF, 1) => 2,
        // Shared address, mbarrier, coordinates.
        (Op::UTMALDG, _) => 2 + coordinates(),
        (Op::UTMASTG | Op::UTMAREDG, _) => 1 + coordinates(),
        (Op::UTMAPF, _) => coordinates(),
        (Op::UGETNEXTWORKID, _) => 2,
        _ => return None,
    })
}

/// Registers of a warp-group accumulator: the instruction's shape is `64 x N x K`.
pub(crate) fn group_width(mods: &Mods) -> u8 {
    let n = mods.iter().find_map(|m| {
        let mut parts = m.name().split('x');
        (parts.next() == Some("64")).then_some(())?;
        let n: u16 = parts.next()?.parse().ok()?;
        parts.next().map(|_| n)
    });
    let n = n.unwrap_or(256);
    // 64 x N results over 128 threads, one f32 or two f16 in a register.
    let half = mods.has(Mod::F16) && !mods.has(Mod::F32);
    (if half { n / 4 } else { n / 2 }) as u8
}

/// Rows of the left factor and of the result of an MMA, and the depth (K), from the modifier that spells the shape. The
/// result has eight columns.
pub(crate) fn matrix_shape(mods: &Mods) -> Option<(usize, usize)> {
    const SHAPES: [(Mod, usize, usize); 16] = [
        (Mod::_1684, 16, 4),
        (Mod::_1688, 16, 8),
        (Mod::_16816, 16, 16),
        (Mod::_16832, 16, 32),
        (Mod::_16864, 16, 64),
        (Mod::_8816, 8, 16),
        (Mod::_8832, 8, 32),
        (Mod::_88128, 8, 128),
        (Mod::_168128, 16, 128),
        (Mod::_168256, 16, 256),
        (Mod::_884, 8, 4),
        (Mod::_8x8x4, 8, 4),
        (Mod::_16x8x4, 16, 4),
        (Mod::_16x8x8, 16, 8),
        (Mod::_16x8x16, 16, 16),
        (Mod::_8864, 8, 64),
    ];
    SHAPES.iter().find(|row| mods.has(row.0)).map(|&(_, rows, depth)| (rows, depth))
}

/// Registers of the operands A, B and C of an MMA, and of its result: 32 lanes hold the elements of a matrix, packed
/// into registers. Of a sparse left factor half the elements are present.
pub(crate) fn matrix_widths(op: Op, mods: &Mods) -> [u8; 3] {
    const COLUMNS: usize = 8;
    let Some((rows, depth)) = matrix_shape(mods) else { return [4, 4, 4] };
    if op == Op::HMMA && mods.has(Mod::_884) {
        // Four MMAs of a quarter of the lanes each, in steps that write half of the result.
        return [2, 2, 2];
    }
    let nibbles = |four: [Mod; 2]| if four.iter().any(|&four| mods.has(four)) { 4 } else { 8 };
    let [left, right] = match op {
        Op::DMMA => [64, 64],
        Op::HMMA if mods.has(Mod::TF32) => [32, 32],
        Op::HMMA => [16, 16],
        Op::IMMA => [nibbles([Mod::S4, Mod::U4]), nibbles([Mod::S4_2, Mod::U4_2])],
        Op::QMMA => [8, 8],
        Op::OMMA => [4, 4],
        _ => [1, 1],
    };
    let narrow = matches!(op, Op::HMMA | Op::QMMA) && mods.has(Mod::F16) && !mods.has(Mod::F32);
    let sum = match op {
        Op::DMMA => 64,
        _ if narrow => 16,
        _ => 32,
    };
    let registers = |elements: usize, bits: usize| (elements * bits).div_ceil(32 * 32) as u8;
    let kept = if mods.has(Mod::SP) { depth / 2 } else { depth };
    [registers(rows * kept, left), registers(COLUMNS * depth, right), registers(rows * COLUMNS, sum)]
}

/// Registers that a load from or a store to tensor memory moves: lanes of 32, 64, 128 or 256 bits, times a count.
pub(crate) fn tensor_width(mods: &Mods) -> u8 {
    let bits: u8 = if mods.has(Mod::_16dp256bit) {
        4
    } else if mods.has(Mod::_16dp128bit) {
        2
    } else {
        1
    };
    let count = mods.iter().find_map(|name| name.name().strip_prefix('x')?.parse::<u8>().ok());
    bits.saturating_mul(count.unwrap_or(1))
}

/// True if some operand is an address in tensor memory: descriptors of matrices have a field each.
pub(crate) fn op_names_tensor_memory(all: &[Operand]) -> bool {
    all.iter().any(|o| matches!(o.kind, OperandKind::TensorMemory { .. }))
}

pub(crate) fn result_width(op: Op, mods: &Mods) -> u8 {
    use Op::*;
    match op {
        IMAD | UIMAD if mods.has(Mod::WIDE) => 2,
        DADD | DMUL | DFMA | CLMAD | FADD2 | FMUL2 | FFMA2 => 2,
        CS2R if !mods.has(Mod::_32) => 2,
        LEPC | ULEPC => 2,
        HMMA | IMMA | BMMA | DMMA | QMMA | OMMA => matrix_widths(op, mods)[2],
        HGMMA | IGMMA | BGMMA | QGMMA => group_width(mods),
        LDSM => {
            let matrices = match (mods.has(Mod::_4), mods.has(Mod::_2)) {
                (true, _) => 4,
                (_, true) => 2,
                _ => 1,
            };
            if mods.has(Mod::MT1616) { 2 * matrices } else { matrices }
        }
        SYNCS if mods.has(Mod::TRANS64) => 2,
        LD | LDG | LDGMC | LDL | LDS | LDC | ULDC | LDCU | ATOM | ATOMG | ATOMS | SUATOM | SYNCS | LDTRAM => {
            data_width(mods)
        }
        MOV | SEL | IADD | UMOV | UIADD3 | ULOP3 | USHF | USEL if mods.has(Mod::_64) => 2,
        IMNMX | UIMNMX if mods.has(Mod::U64) || mods.has(Mod::S64) => 2,
        BMOV if mods.has(Mod::_64) => 2,
        F2F | FRND | I2F if mods.has(Mod::F64) => 2,
        F2I if mods.has(Mod::S64) || mods.has(Mod::U64) => 2,
        TMML | FOOTPRINT => 2,
        LDTM => tensor_width(mods),
        SULD => texture::surface_data(mods),
        SUQUERY => 4,
        _ => 1,
    }
}

/// Width and role of the register that is source operand `index` (immediates counted).
pub(crate) fn source(op: Op, mods: &Mods, index: usize, all: &[Operand], uniform: bool) -> (u8, Slot) {
    use Op::*;
    let operand = if uniform { Slot::Uniform } else { Slot::Operand };
    match op {
        IMAD if (mods.has(Mod::WIDE) || mods.has(Mod::HI)) && index == 2 => {
            (2, if uniform { Slot::Uniform } else { Slot::AddendLow })
        }
        UIMAD if (mods.has(Mod::WIDE) || mods.has(Mod::HI)) && index == 2 => (2, operand),
        DADD | DMUL | DFMA | CLMAD | DSETP => (2, operand),
        // A suffix marks one register for both places.
        FADD2 | FMUL2 | FFMA2 => (if all[index + 1].has(Mod::F32) { 1 } else { 2 }, operand),
        HMMA | IMMA | BMMA | DMMA | QMMA | OMMA => match index {
            0 | 1 => (matrix_widths(op, mods)[index], operand),
            2 => (matrix_widths(op, mods)[2], Slot::Accumulator),
            // Metadata and the scale factors of the left factor.
            _ if mods.has(Mod::SF) && mods.has(Mod::SP) && index + 5 == all.len() => (2, operand),
            _ => (1, operand),
        },
        // A in registers takes four of them, whatever N is.
        HGMMA | IGMMA | BGMMA | QGMMA if index == 0 => (4, operand),
        // The selector of a sparse matrix takes one.
        HGMMA | IGMMA | BGMMA | QGMMA if index > 2 && mods.has(Mod::SP) => (1, operand),
        HGMMA | IGMMA | BGMMA | QGMMA => (group_width(mods), Slot::Accumulator),
        ST | STG | STL | STS | ATOM | ATOMG | ATOMS | RED | REDG | SUATOM | SURED | SUST | STAS | REDAS
        | SYNCS => {
            let width = match op {
                SUST | SURED if uniform => 1,
                // A handle in a register, after the data.
                SUST | SURED if index > 1 => 1,
                SUST => texture::surface_data(mods),
                SURED => texture::surface_operand(mods),
                SUATOM => 4,
                _ => data_width(mods),
            };
            let width = if op == SYNCS && !uniform { 1 } else { width };
            (width, if uniform { Slot::Uniform } else { Slot::Data })
        }
        STTM => (tensor_width(mods), Slot::Data),
        UTCHMMA | UTCQMMA | UTCIMMA | UTCOMMA => {
            // Masks: of the columns that are zero, or of the lanes that keep their values.
            let mask = match (mods.has(Mod::WS), mods.has(Mod::_2CTA)) {
                (true, _) => 2,
                (_, true) => 8,
                _ => 4,
            };
            (mask, Slot::UniformAddress)
        }
        STSM => (
            if mods.has(Mod::_4) {
                4
            } else if mods.has(Mod::_2) {
                2
            } else {
                1
            },
            Slot::Data,
        ),
        SULD => (1, if uniform { Slot::UniformAddress } else { Slot::Data }),
        TEX | TLD | TLD4 | TXD | TXQ | TMML | FOOTPRINT | SUQUERY => {
            if uniform {
                (2, Slot::UniformAddress)
            } else {
                (texture::source(op, mods, all, index), Slot::Data)
            }
        }
        // Of two formats the result's comes first; the source's is in the second place.
        F2F if mods.has(Mod::F64_2) => (2, operand),
        F2I | FRND if mods.has(Mod::F64) => (2, operand),
        I2F if mods.has(Mod::S64) || mods.has(Mod::U64) => (2, operand),
        // Not an address: it is read like the operands of the special function unit.
        MATCH => (if mods.has(Mod::U64) { 2 } else { 1 }, Slot::ConstantIndex),
        ISETP | UISETP | IMNMX | UIMNMX if mods.has(Mod::U64) || mods.has(Mod::S64) => (2, operand),
        MOV | SEL | IADD | UMOV | UIADD3 | ULOP3 | USHF | USEL if mods.has(Mod::_64) => (2, operand),
        BMOV if mods.has(Mod::_64) => (2, operand),
        CALL | RET | BRX | BRXU | JMX | JMXU | JMP => (2, operand),
        UBLKCP | UBLKPF | UBLKRED | UTMALDG | UTMAPF | UTMAREDG | UTMASTG | UTCBAR | UTCATOMSWS
        | UMEMSETS => (1, Slot::UniformAddress),
        _ => (1, operand),
    }
}
