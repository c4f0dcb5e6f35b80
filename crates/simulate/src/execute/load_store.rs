//! Loads and stores of every space, and the generic addresses that reach several.

use super::context::{Context, each_active};
use crate::cluster::SHARED_BITS;
use crate::launch::Fault;
use crate::memory::{
    CONSTANT_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, load_words, slice, store_words,
};
use crate::transfers::shared_bytes;
use crate::warp::{Lanes, WideLanes};
use oriole_sass::register::{PT, RZ};
use oriole_sass::{Mod, Op, OperandKind};

/// The memory of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    Global,
    /// Of the block itself, whatever block the address names.
    Shared,
    /// Of the block that the address names.
    Cluster,
    Local,
    /// Determined by the address.
    Generic,
}

impl Space {
    pub(super) fn of(op: Op) -> Space {
        match op {
            Op::LD | Op::ST | Op::ATOM => Space::Generic,
            Op::LDS | Op::STS | Op::ATOMS | Op::LDSM | Op::STSM => Space::Shared,
            Op::REDAS => Space::Cluster,
            Op::LDL | Op::STL => Space::Local,
            _ => Space::Global,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared | Space::Cluster => "shared",
            Space::Local => "local",
            Space::Generic => "generic",
        }
    }
}

/// Bits of an address in the shared memory of a block; above them is the rank of the block in its cluster.
pub(super) const SHARED_ADDRESS_MASK: u64 = (1 << SHARED_BITS) - 1;

/// Bytes and sign of the data.
pub(super) fn data_type(context: &Context) -> (u32, bool) {
    // Rows: modifier, bytes, sign extension.
    const ROWS: [(Mod, u32, bool); 6] = [
        (Mod::U8, 1, false),
        (Mod::S8, 1, true),
        (Mod::U16, 2, false),
        (Mod::S16, 2, true),
        (Mod::_64, 8, false),
        (Mod::_128, 16, false),
    ];
    ROWS.iter().find(|row| context.has(row.0)).map_or((4, false), |row| (row.1, row.2))
}

fn extend(words: &mut [u32; 4], size: u32, signed: bool) {
    if signed {
        let shift = 32 - 8 * size;
        words[0] = ((words[0] << shift) as i32 >> shift) as u32;
    }
}

/// The addresses that a memory operand names.
pub(super) fn addresses(context: &Context, index: usize, space: Space) -> Result<WideLanes, Fault> {
    let OperandKind::Memory { base, uniform, offset, .. } = context.kind(index)? else {
        return Err(context.refuse());
    };
    let operand = &context.instruction.operands[index];
    let warp = context.warp();
    let long_space = matches!(space, Space::Global | Space::Generic);
    let long = long_space && !operand.has(Mod::U32) && (operand.has(Mod::_64) || context.has(Mod::E));
    let scale = [(Mod::X4, 4), (Mod::X8, 8), (Mod::X16, 16)]
        .into_iter()
        .find(|row| operand.has(row.0))
        .map_or(1, |row| row.1);
    let mut lanes: WideLanes = match base {
        None | Some(RZ) => [0; 32],
        Some(register) => {
            let low = warp.read(register);
            let high: Lanes = if long { warp.read(register.saturating_add(1)) } else { [0; 32] };
            std::array::from_fn(|lane| {
                (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_mul(scale)
            })
        }
    };
    if let Some(register) = uniform {
        let [low, high] = warp.read_uniform_pair(register);
        let high = if long_space { high } else { 0 };
        let value = u64::from(low) | u64::from(high) << 32;
        lanes = lanes.map(|address| address.wrapping_add(value));
    }
    Ok(lanes.map(|address| {
        let address = address.wrapping_add(i64::from(offset) as u64);
        match space {
            Space::Shared => address & SHARED_ADDRESS_MASK | u64::from(context.block.rank) << SHARED_BITS,
            Space::Local => address & 0xffff_ffff,
            Space::Global | Space::Generic if long || uniform.is_some() => address,
            _ => address & 0xffff_ffff,
        }
    }))
}

/// The memory of a generic address and the address in it.
pub(super) fn resolve(space: Space, address: u64) -> (Space, u64) {
    if space != Space::Generic {
        return (space, address);
    }
    match address >> 32 << 32 {
        SHARED_WINDOW => (Space::Cluster, address & 0xffff_ffff),
        LOCAL_WINDOW => (Space::Local, address & 0xffff_ffff),
        _ => (Space::Global, address),
    }
}

/// The bytes of an access by one lane.
pub(super) fn place<'a>(
    context: &'a mut Context,
    lane: usize,
    space: Space,
    address: u64,
    size: u32,
) -> Result<&'a mut [u8], Fault> {
    let (space, address) = resolve(space, address);
    if !address.is_multiple_of(u64::from(size)) {
        return Err(Fault::Misaligned { space: space.name(), address, size });
    }
    match space {
        Space::Shared | Space::Cluster => {
            let writes = !matches!(context.instruction.op, Op::LD | Op::LDS | Op::LDSM);
            let (bytes, who) = (shared_bytes(address, size), context.who());
            let counts = context.instruction.op == Op::ATOMS && context.has(Mod::ARRIVE);
            let transfers = &mut context.cluster.transfers;
            transfers.touch(bytes, writes, context.pc, who);
            if counts {
                transfers.count_arrival(bytes, who);
            }
            let (memory, offset) = context.cluster.memory(address)?;
            slice(memory, "shared", offset, size)
        }
        Space::Local => {
            let thread = context.block.warps[context.warp_index].number as usize * 32 + lane;
            let limit = context.block.local_size;
            let memory = &mut context.block.local[thread];
            if address + u64::from(size) > u64::from(limit) {
                return Err(Fault::OutOfBounds { space: "local", address, size });
            }
            if memory.is_empty() {
                memory.resize(limit as usize, 0);
            }
            slice(memory, "local", address, size)
        }
        _ => context.global.slice(address, size),
    }
}

/// Loads up to 16 bytes for one lane.
pub(super) fn load(
    context: &mut Context,
    lane: usize,
    space: Space,
    address: u64,
    size: u32,
) -> Result<[u32; 4], Fault> {
    if space == Space::Generic {
        // Parameters and constants can be read by generic addresses too.
        let window = address >> 32 << 32;
        let bank = [(PARAMETER_WINDOW, 0), (CONSTANT_WINDOW, 3)].into_iter().find(|row| row.0 == window);
        if let Some((_, bank)) = bank {
            return Ok(load_words(context.launch_context.banks.slice(
                bank,
                (address - window) as i64,
                size,
            )?));
        }
    }
    Ok(load_words(place(context, lane, space, address, size)?))
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let op = context.instruction.op;
    match op {
        Op::LDC | Op::ULDC | Op::LDCU => load_constant(context),
        Op::LDG if context.has(Mod::_256) => load_widest(context),
        Op::STG if context.has(Mod::_256) => store_widest(context),
        Op::LDSM => load_matrix(context),
        Op::STSM => store_matrix(context),
        Op::LDGSTS => copy(context),
        Op::QSPC => query_space(context),
        Op::ST | Op::STG | Op::STS | Op::STL => {
            let space = Space::of(op);
            let addresses = addresses(context, 0, space)?;
            let (size, _) = data_type(context);
            let data = registers(context, 1, size.div_ceil(4) as usize)?;
            each_active(context, |context, lane| {
                let words = std::array::from_fn(|part| data[part][lane]);
                store_words(place(context, lane, space, addresses[lane], size)?, &words);
                Ok(())
            })
        }
        _ => {
            let space = Space::of(op);
            let destination = usize::from(context.is_predicate(0));
            let last = context.count() - 1;
            // A load may have a predicate; the result of a false one is not known.
            for index in [0, last] {
                if context.is_predicate(index)
                    && !matches!(context.kind(index)?, OperandKind::Pred(PT) if !context.instruction.operands[index].invert)
                {
                    return Err(context.refuse());
                }
            }
            let addresses = addresses(context, destination + 1, space)?;
            let (size, signed) = data_type(context);
            let mut parts = vec![[0; 32]; size.div_ceil(4) as usize];
            each_active(context, |context, lane| {
                let mut words = load(context, lane, space, addresses[lane], size)?;
                extend(&mut words, size, signed);
                for (part, values) in parts.iter_mut().enumerate() {
                    values[lane] = words[part];
                }
                Ok(())
            })?;
            context.write_tuple(destination, &parts)
        }
    }
}

/// Bytes of the widest access, and of each of its two groups of registers.
const WIDEST: u32 = 32;
const GROUP: u32 = WIDEST / 2;

/// The selected words of the widest access: all without a mask.
fn wanted_words(context: &Context, after: usize) -> Result<u32, Fault> {
    match context.kind(after) {
        Ok(OperandKind::Imm(mask)) => Ok(mask as u32),
        Ok(OperandKind::Pred(PT)) | Err(_) => Ok(u32::MAX),
        Ok(_) => Err(context.refuse()),
    }
}

fn aligned_to_widest(address: u64) -> Result<(), Fault> {
    let fault = Fault::Misaligned { space: Space::Global.name(), address, size: WIDEST };
    if address.is_multiple_of(u64::from(WIDEST)) { Ok(()) } else { Err(fault) }
}

/// `LDG.256`: the upper half goes to the first destination. Words that are not selected have no register.
fn load_widest(context: &mut Context) -> Result<(), Fault> {
    let wanted = wanted_words(context, 3)?;
    let addresses = addresses(context, 2, Space::Global)?;
    let mut halves = [[[0; 32]; 4]; 2];
    each_active(context, |context, lane| {
        aligned_to_widest(addresses[lane])?;
        for (half, parts) in halves.iter_mut().enumerate() {
            let address = addresses[lane] + half as u64 * u64::from(GROUP);
            let words = load(context, lane, Space::Global, address, GROUP)?;
            for (values, word) in parts.iter_mut().zip(words) {
                values[lane] = word;
            }
        }
        Ok(())
    })?;
    let active = context.active;
    for (half, parts) in halves.iter().enumerate() {
        let OperandKind::Reg(first) = context.kind(1 - half)? else { return Err(context.refuse()) };
        let kept = parts.iter().enumerate().filter(|(part, _)| wanted >> (4 * half + part) & 1 == 1);
        for (at, (_, values)) in kept.enumerate().filter(|_| first != RZ) {
            context.warp_mut().write(first.saturating_add(at as u8), active, values);
        }
    }
    Ok(())
}

/// `STG.256`: the lower half is the first operand after the address.
fn store_widest(context: &mut Context) -> Result<(), Fault> {
    if wanted_words(context, 3)? & 0xff != 0xff {
        return Err(context.refuse());
    }
    let addresses = addresses(context, 0, Space::Global)?;
    let halves = [registers(context, 1, 4)?, registers(context, 2, 4)?];
    each_active(context, |context, lane| {
        aligned_to_widest(addresses[lane])?;
        for (half, data) in halves.iter().enumerate() {
            let address = addresses[lane] + half as u64 * u64::from(GROUP);
            let words = std::array::from_fn(|part| data[part][lane]);
            store_words(place(context, lane, Space::Global, address, GROUP)?, &words);
        }
        Ok(())
    })
}

/// Consecutive registers from an operand.
pub(super) fn registers(context: &Context, index: usize, count: usize) -> Result<[Lanes; 4], Fault> {
    let mut parts = [[0; 32]; 4];
    match context.kind(index)? {
        OperandKind::Reg(RZ) => {}
        OperandKind::Reg(register) => {
            for (part, values) in parts.iter_mut().enumerate().take(count) {
                *values = context.warp().read(register.saturating_add(part as u8));
            }
        }
        _ => return Err(context.refuse()),
    }
    Ok(parts)
}

fn load_constant(context: &mut Context) -> Result<(), Fault> {
    let (size, signed) = data_type(context);
    if [Mod::IL, Mod::IS, Mod::ISL].into_iter().any(|mode| context.has(mode)) {
        return Err(context.refuse());
    }
    let warp = context.warp();
    let (bank, offset, index) = match context.kind(1)? {
        // Without a register the offset is not a signed one (see `direct_constant`).
        OperandKind::Const { bank, offset }
        | OperandKind::ConstIndexed { bank, index: 255, offset }
        | OperandKind::ConstUniformIndexed { bank, index: 255, offset } => {
            (bank, i32::from(offset as u16), [0; 32])
        }
        OperandKind::ConstIndexed { bank, index, offset } => (bank, offset, warp.read(index)),
        OperandKind::ConstUniformIndexed { bank, index, offset } => {
            (bank, offset, [warp.read_uniform(index); 32])
        }
        _ => return Err(context.refuse()),
    };
    let mut parts = vec![[0; 32]; size.div_ceil(4) as usize];
    each_active(context, |context, lane| {
        let at = i64::from((index[lane] as i32).wrapping_add(offset));
        if at.rem_euclid(i64::from(size)) != 0 {
            return Err(Fault::Misaligned { space: "constant", address: at as u64, size });
        }
        let mut words = context.constant(bank, at, size)?;
        extend(&mut words, size, signed);
        for (part, values) in parts.iter_mut().enumerate() {
            values[lane] = words[part];
        }
        Ok(())
    })?;
    context.write_tuple(0, &parts)
}

/// Small matrices of rows of sixteen bytes, as an instruction moves them: eight lanes give the row addresses of each,
/// or sixteen.
struct Matrices {
    /// Registers of a lane.
    registers: usize,
    way: Way,
}

/// The bytes of a matrix in a lane, by its group of four and its index there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Four bytes of a row.
    Straight,
    /// Two b16 elements of a column.
    Halves,
    /// Four bytes of each of two columns, in two registers.
    Columns,
    /// Two bytes of each of two columns.
    Pairs,
}

impl Matrices {
    fn of(context: &Context) -> Result<Matrices, Fault> {
        let has = |name| context.has(name);
        let bytes = has(Mod::_8) || has(Mod::U6x16P32TO8) || has(Mod::U4x16P64TO8);
        let way = match () {
            () if has(Mod::M88) && !bytes => Way::Straight,
            () if has(Mod::MT88) && !bytes => Way::Halves,
            () if has(Mod::M816) && bytes && !has(Mod::_8) => Way::Straight,
            () if has(Mod::MT1616) && bytes => Way::Columns,
            () if has(Mod::MT168) && has(Mod::_8) => Way::Pairs,
            () => return Err(context.refuse()),
        };
        let count = match (has(Mod::_4), has(Mod::_2)) {
            (true, _) => 4,
            (_, true) => 2,
            _ => 1,
        };
        Ok(Matrices { registers: if way == Way::Columns { 2 * count } else { count }, way })
    }

    /// The lane with the address of the row of a register's byte, and the byte's place in the row.
    fn place(&self, lane: usize, register: usize, byte: usize) -> (usize, u64) {
        let (group, member) = (lane / 4, lane % 4);
        let (row, at) = match self.way {
            Way::Straight => (8 * register + group, 4 * member + byte),
            Way::Halves => (8 * register + 2 * member + byte / 2, 2 * group + byte % 2),
            Way::Columns => (16 * (register / 2) + 4 * member + byte, group + 8 * (register % 2)),
            Way::Pairs => (8 * register + 2 * member + byte % 2, group + 8 * (byte / 2)),
        };
        (row, at as u64)
    }
}

fn row_aligned(address: u64) -> Result<(), Fault> {
    if address.is_multiple_of(16) {
        return Ok(());
    }
    Err(Fault::Misaligned { space: "shared", address, size: 16 })
}

fn load_matrix(context: &mut Context) -> Result<(), Fault> {
    let matrices = Matrices::of(context)?;
    let rows = addresses(context, 1, Space::Shared)?;
    let narrow = [(Mod::U6x16P32TO8, 6), (Mod::U4x16P64TO8, 4)].into_iter().find(|row| context.has(row.0));
    let mut parts = vec![[0; 32]; matrices.registers];
    for (register, values) in parts.iter_mut().enumerate() {
        for (lane, value) in values.iter_mut().enumerate() {
            for byte in 0..4 {
                let (row, at) = matrices.place(lane, register, byte);
                row_aligned(rows[row])?;
                let bits = match narrow {
                    None => load(context, row, Space::Shared, rows[row] + at, 1)?[0],
                    Some((_, width)) => number(context, row, rows[row], at, width)?,
                };
                *value |= bits << (8 * byte);
            }
        }
    }
    context.write_tuple(0, &parts)
}

/// Element `at` of a row of elements of `width` bits.
fn number(context: &mut Context, lane: usize, row: u64, at: u64, width: u64) -> Result<u32, Fault> {
    let mut bits = 0;
    for bit in 0..width {
        let place = width * at + bit;
        let byte = load(context, lane, Space::Shared, row + place / 8, 1)?[0];
        bits |= (byte >> (place % 8) & 1) << bit;
    }
    Ok(bits)
}

fn store_matrix(context: &mut Context) -> Result<(), Fault> {
    let matrices = Matrices::of(context)?;
    let rows = addresses(context, 0, Space::Shared)?;
    let data = registers(context, 1, matrices.registers)?;
    for (register, values) in data.iter().enumerate().take(matrices.registers) {
        for (lane, value) in values.iter().enumerate() {
            for byte in 0..4 {
                let (row, at) = matrices.place(lane, register, byte);
                row_aligned(rows[row])?;
                let bits = value >> (8 * byte) & 0xff;
                store_words(place(context, lane, Space::Shared, rows[row] + at, 1)?, &[bits, 0, 0, 0]);
            }
        }
    }
    Ok(())
}

/// The asynchronous copy from global to shared memory; it is done at once. Where the predicate is false, zeros are
/// written. With `.ZFILL` the low bits of the source's address give the number of zero bytes at the end.
fn copy(context: &mut Context) -> Result<(), Fault> {
    let to = addresses(context, 0, Space::Shared)?;
    let from = addresses(context, 1, Space::Global)?;
    let (size, _) = data_type(context);
    let wanted = if context.count() > 2 { context.predicate(2)? } else { u32::MAX };
    let fill = context.has(Mod::ZFILL);
    let (pc, who) = (context.pc, context.who());
    let copy = context.cluster.transfers.start(pc, who, None);
    each_active(context, |context, lane| {
        let missing = if fill { from[lane] % u64::from(size) } else { 0 };
        let mut words = [0; 4];
        if wanted >> lane & 1 == 1 {
            let start = from[lane] - missing;
            if !start.is_multiple_of(u64::from(size)) {
                return Err(Fault::Misaligned { space: "global", address: start, size });
            }
            for at in 0..u64::from(size) - missing {
                let byte = load(context, lane, Space::Global, start + at, 1)?[0];
                words[at as usize / 4] |= byte << (at % 4 * 8);
            }
        }
        if !to[lane].is_multiple_of(u64::from(size)) {
            return Err(Fault::Misaligned { space: "shared", address: to[lane], size });
        }
        context.cluster.transfers.write(shared_bytes(to[lane], size), copy, who);
        let (memory, offset) = context.cluster.memory(to[lane])?;
        store_words(slice(memory, "shared", offset, size)?, &words);
        Ok(())
    })
}

fn query_space(context: &mut Context) -> Result<(), Fault> {
    let addresses = addresses(context, 2, Space::Generic)?;
    let own = u64::from(context.block.rank);
    let asked = if context.has(Mod::S) || context.has(Mod::D) {
        Space::Cluster
    } else if context.has(Mod::L) {
        Space::Local
    } else if context.has(Mod::G) {
        Space::Global
    } else {
        return Err(context.refuse());
    };
    let everywhere = !context.has(Mod::S);
    let holds = super::context::mask_of(|lane| {
        let (space, address) = resolve(Space::Generic, addresses[lane]);
        space == asked && (space != Space::Cluster || everywhere || address >> SHARED_BITS == own)
    });
    context.write(1, &[0; 32])?;
    context.write_predicate(0, holds)
}
