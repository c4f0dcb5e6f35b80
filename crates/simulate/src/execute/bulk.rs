//! Bulk copies: asynchronous operations with their operands in uniform registers. Copies are done at once.

use super::atomic::{Kind, combine, wide};
use super::context::{Context, LaunchContext};
use super::half::OUT_OF_BOUNDS;
use super::load_store::{SHARED_ADDRESS_MASK, Space, place};
use super::tensor::{self, LINE, Map, Row};
use crate::cluster::SHARED_BITS;
use crate::launch::Fault;
use crate::memory::{load_words, slice, store_words};
use crate::number::{BF16, F16, F32, F64};
use crate::transfers::shared_bytes;
use crate::warp::bits;
use oriole_sass::{Mod, Op, OperandKind};

/// Alignment of TMA tiles in shared memory.
const BOX_ALIGNMENT: u64 = 128;

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    if context.active == 0 {
        return Ok(());
    }
    match context.instruction.op {
        // They change no memory.
        Op::UBLKPF | Op::UTMAPF | Op::UTMACCTL | Op::UTMACMDFLUSH => Ok(()),
        Op::UBLKCP | Op::UBLKRED => copy(context),
        Op::UMEMSETS => fill(context),
        Op::UGETNEXTWORKID => take_cluster(context),
        _ => copy_box(context),
    }
}

/// Uniform registers of an operand, from one of them on.
fn uniform(context: &Context, index: usize, part: u8) -> Result<u32, Fault> {
    let register = match context.kind(index)? {
        OperandKind::Memory { uniform: Some(register), .. } | OperandKind::UReg(register) => register,
        _ => return Err(context.refuse()),
    };
    Ok(context.warp().read_uniform(register.saturating_add(part)))
}

fn address(context: &Context, index: usize) -> Result<u64, Fault> {
    Ok(u64::from(uniform(context, index, 0)?) | u64::from(uniform(context, index, 1)?) << 32)
}

/// Bytes of global memory, or of shared memory of the block that the address names.
fn memory<'a>(
    context: &'a mut Context,
    global: bool,
    address: u64,
    size: u32,
) -> Result<&'a mut [u8], Fault> {
    if global {
        return context.global.slice(address, size);
    }
    let (memory, offset) = context.cluster.memory(address)?;
    slice(memory, "shared", offset, size)
}

/// Shared addresses of a target and its mbarrier, in the destination blocks: that of the target, or those of a mask.
fn receivers(context: &Context, mask: u32) -> Result<Vec<(u64, u64)>, Fault> {
    let (target, object) = (uniform(context, 0, 0)?, uniform(context, 0, 1)?);
    let place = |rank: u64, address: u32| rank << SHARED_BITS | u64::from(address) & SHARED_ADDRESS_MASK;
    if !context.has(Mod::MULTICAST) {
        return Ok(vec![(u64::from(target), u64::from(object))]);
    }
    // In a pair of blocks the signalled block has the same position in the pair as the block of the named mbarrier.
    let told = |rank: u64| {
        if context.has(Mod::_2CTA) { rank & !1 | u64::from(object) >> SHARED_BITS & 1 } else { rank }
    };
    let pair = |rank: usize| (place(rank as u64, target), place(told(rank as u64), object));
    Ok(bits(mask).map(pair).collect())
}

/// `UMEMSETS`: zeros, a count of eight-byte units.
fn fill(context: &mut Context) -> Result<(), Fault> {
    let OperandKind::Memory { offset, .. } = context.kind(0)? else { return Err(context.refuse()) };
    if context.raw(1)?[0] != 0 || !context.has(Mod::_64) {
        return Err(context.refuse());
    }
    let address = u64::from(uniform(context, 0, 0)?.wrapping_add(offset as u32)) & SHARED_ADDRESS_MASK;
    let address = u64::from(context.block.rank) << SHARED_BITS | address;
    let count = context.raw(2)?[0];
    aligned(false, address)?;
    let lane = context.active.trailing_zeros() as usize;
    for unit in 0..u64::from(count) {
        store_words(place(context, lane, Space::Shared, address + 8 * unit, 8)?, &[0; 4]);
    }
    Ok(())
}

/// `UGETNEXTWORKID`: the position of the next cluster that has not started, a word and two halves, then whether there
/// is one.
fn take_cluster(context: &mut Context) -> Result<(), Fault> {
    let [target, object] = [uniform(context, 0, 0)?, uniform(context, 0, 1)?].map(u64::from);
    let taken = context.cluster.waiting.next();
    let words = match taken.map(|number| first_block(context.launch_context, number)) {
        Some([x, y, z]) => [x, y & 0xffff | z << 16, 1, 0],
        None => [0; 4],
    };
    let own = u64::from(context.block.rank);
    let ranks =
        if context.has(Mod::BROADCAST) { 0..context.cluster.shared.len() as u64 } else { own..own + 1 };
    for rank in ranks {
        let [target, object] = [target, object].map(|at| rank << SHARED_BITS | at & SHARED_ADDRESS_MASK);
        aligned(false, target)?;
        writes(context, target, LINE as u32, object)?;
        store_words(memory(context, false, target, LINE as u32)?, &words);
        context.complete_transfer(object, LINE as u32)?;
    }
    Ok(())
}

/// The first block of a cluster.
pub(crate) fn first_block(launch: &LaunchContext, number: u64) -> [u32; 3] {
    let [across, along, _] = launch.clusters.map(u64::from);
    let place = [number % across, number / across % along, number / across / along];
    std::array::from_fn(|axis| place[axis] as u32 * launch.cluster[axis])
}

fn copy(context: &mut Context) -> Result<(), Fault> {
    let to_global = context.has(Mod::G);
    let from_global = context.has(Mod::G_2);
    let source = if from_global { address(context, 1)? } else { uniform(context, 1, 0)?.into() };
    let count = uniform(context, 2, 0)?;
    let size = (count & 0xffff) * LINE as u32;
    let targets = if to_global {
        vec![(address(context, 0)?, None)]
    } else {
        let told = receivers(context, count >> 16)?;
        told.into_iter().map(|(target, object)| (target, Some(object))).collect()
    };
    aligned(from_global, source)?;
    if !from_global {
        reads(context, source, size, to_global);
    }
    let data = memory(context, from_global, source, size)?.to_vec();
    for (target, object) in targets {
        aligned(to_global, target)?;
        if let Some(object) = object {
            writes(context, target, size, object)?;
        }
        let mut new = data.clone();
        if context.instruction.op == Op::UBLKRED {
            let old = memory(context, to_global, target, size)?.to_vec();
            new = combined(context, kind(context)?, &old, &data)?;
        }
        let masked = context.has(Mod::DST_G_BYTE_MASK);
        let memory = memory(context, to_global, target, size)?;
        for (at, (old, new)) in memory.iter_mut().zip(new).enumerate() {
            // A bit for each byte of sixteen.
            if !masked || count >> (16 + at % LINE) & 1 == 1 {
                *old = new;
            }
        }
        if let Some(object) = object {
            context.complete_transfer(object, size)?;
        }
    }
    Ok(())
}

/// Records that a copy reads shared memory; `grouped` says that a group signals its completion.
fn reads(context: &mut Context, address: u64, size: u32, grouped: bool) {
    if let Some(log) = &mut context.cluster.log {
        log.moved += u64::from(size);
    }
    let (pc, who) = (context.pc, context.who());
    context.cluster.transfers.read(shared_bytes(address, size), pc, who, grouped);
}

/// Records that a copy writes shared memory and signals an mbarrier.
fn writes(context: &mut Context, address: u64, size: u32, object: u64) -> Result<(), Fault> {
    let phase = (object, context.parity(object)?);
    let (pc, who) = (context.pc, context.who());
    let transfers = &mut context.cluster.transfers;
    let copy = transfers.start(pc, who, Some(phase));
    transfers.write(shared_bytes(address, size), copy, who);
    Ok(())
}

/// Bytes of the elements of a TMA tile.
fn box_bytes(map: &Map, rows: &[Row]) -> u32 {
    rows.iter().map(|row| row.count as u32 * map.element as u32).sum()
}

/// Bytes of shared memory from the first element of a TMA tile to its last one.
fn room(map: &Map, rows: &[Row]) -> u32 {
    rows.last().map_or(0, |row| row.offset as u32 + row.count as u32 * map.element as u32)
}

fn aligned(global: bool, address: u64) -> Result<(), Fault> {
    if address.is_multiple_of(LINE as u64) {
        return Ok(());
    }
    let space = if global { "global" } else { "shared" };
    Err(Fault::Misaligned { space, address, size: LINE as u32 })
}

/// The type of a reduction of bytes.
fn kind(context: &Context) -> Result<Kind, Fault> {
    let float = |format, bytes| Kind::Float { format, flush: false, bytes };
    let rows = [
        (Mod::F16, float(F16, 2)),
        (Mod::BF16, float(BF16, 2)),
        (Mod::F32, float(F32, 4)),
        (Mod::F64, float(F64, 8)),
        (Mod::U64, Kind::Integer { bytes: 8, signed: false }),
        (Mod::S64, Kind::Integer { bytes: 8, signed: true }),
        (Mod::S32, Kind::Integer { bytes: 4, signed: true }),
    ];
    if context.has(Mod::FTZ) {
        return Err(context.refuse());
    }
    let found = rows.into_iter().find(|row| context.has(row.0));
    Ok(found.map_or(Kind::Integer { bytes: 4, signed: false }, |row| row.1))
}

/// Types that the TMA combines for the instruction, which are those of the PTX manual.
fn combinable(context: &Context) -> &'static [&'static str] {
    let rows: [(&[Mod], &[&str]); 3] = [
        (&[Mod::ADD], &["u32", "s32", "u64", "f16", "bf16", "f32", "f64"]),
        (&[Mod::MIN, Mod::MAX], &["u32", "s32", "u64", "s64", "f16", "bf16"]),
        (&[Mod::INC, Mod::DEC], &["u32"]),
    ];
    // The others are those of bits.
    rows.into_iter()
        .find(|row| row.0.iter().any(|&named| context.has(named)))
        .map_or(&["u32", "s32", "u64", "s64"], |row| row.1)
}

/// The type of a reduction into a tensor.
fn tensor_kind(map: &Map) -> Kind {
    let bytes = map.element as u32;
    match map.kind {
        tensor::Kind::Unsigned => Kind::Integer { bytes, signed: false },
        tensor::Kind::Signed => Kind::Integer { bytes, signed: true },
        tensor::Kind::Half => Kind::Float { format: F16, flush: false, bytes },
        tensor::Kind::BrainHalf => Kind::Float { format: BF16, flush: false, bytes },
        tensor::Kind::Single => Kind::Float { format: F32, flush: false, bytes },
        tensor::Kind::Double => Kind::Float { format: F64, flush: false, bytes },
    }
}

fn combined(context: &Context, kind: Kind, old: &[u8], data: &[u8]) -> Result<Vec<u8>, Fault> {
    let (Kind::Integer { bytes, .. } | Kind::Float { bytes, .. }) = kind;
    let bytes = bytes as usize;
    let mut new = old.to_vec();
    for (place, operand) in new.chunks_exact_mut(bytes).zip(data.chunks_exact(bytes)) {
        let value = combine(context, kind, wide(load_words(place)), wide(load_words(operand)))?;
        store_words(place, &std::array::from_fn(|part| (value >> (32 * part)) as u32));
    }
    Ok(new)
}

/// A bulk tensor copy.
fn copy_box(context: &mut Context) -> Result<(), Fault> {
    let op = context.instruction.op;
    let loads = op == Op::UTMALDG;
    let count = [Mod::_1D, Mod::_2D, Mod::_3D, Mod::_4D, Mod::_5D];
    let count = count.iter().position(|&name| context.has(name)).map_or(0, |at| at as u8 + 1);
    let by_rows = context.has(Mod::GATHER4) || context.has(Mod::SCATTER4);
    let count = if by_rows { 5 } else { count };
    let mut coordinates = Vec::new();
    for part in 0..count {
        coordinates.push(i64::from(uniform(context, 0, 1 + u8::from(loads) + part)? as i32));
    }
    let map_address = address(context, 1)?;
    let map = Map::at(context, map_address)?;
    let packed =
        if matches!(context.kind(2), Ok(OperandKind::UReg(_))) { uniform(context, 2, 0)? } else { 0 };
    map.begins_at_line(&coordinates)?;
    let rows = if by_rows {
        map.numbered_rows(&coordinates)?
    } else if context.has(Mod::W) || context.has(Mod::W128) {
        let [halo, offset] = [packed & 0x7ff, packed >> 11 & 0x1f].map(i64::from);
        map.line_rows(&coordinates, halo, offset, context.has(Mod::W128))?
    } else {
        let pixels = context.has(Mod::IM2COL).then(|| pixel_offsets(packed, count));
        map.rows(&coordinates, pixels)?
    };
    if loads {
        return load_rows(context, &map, &rows, packed >> 16);
    }
    let start = u64::from(uniform(context, 0, 0)?);
    box_aligned(start)?;
    if !by_rows && rows.iter().any(|row| row.before) {
        return Err(Fault::Tensor("a store into it reaches negative coordinates".into()));
    }
    if op == Op::UTMAREDG && !combinable(context).contains(&map.element_name()) {
        return Err(Fault::Tensor(format!("it has no such reduction of {}", map.element_name())));
    }
    if op != Op::UTMAREDG && map.has_border() {
        return Err(Fault::Tensor("a store into an image with a negative lower bound".into()));
    }
    reads(context, start, room(&map, &rows), true);
    for row in rows {
        let data = read_lines(context, &map, start + row.offset, row.count as u64 * map.element)?;
        let (first, last) = (row.inside.start as u64 * map.element, row.inside.end as u64 * map.element);
        if first >= last {
            continue;
        }
        let mut data = data[first as usize..last as usize].to_vec();
        let target = row.address.wrapping_add(first);
        if op == Op::UTMAREDG {
            let old = context.global.slice(target, data.len() as u32)?.to_vec();
            data = combined(context, tensor_kind(&map), &old, &data)?;
        }
        context.global.slice(target, data.len() as u32)?.copy_from_slice(&data);
    }
    Ok(())
}

/// Offsets in an image: a half word, two bytes, or three fields of five bits.
fn pixel_offsets(packed: u32, dimensions: u8) -> [i64; 3] {
    let fields = match dimensions {
        3 => [packed & 0xffff, 0, 0],
        4 => [packed & 0xff, packed >> 8 & 0xff, 0],
        _ => [packed & 0x1f, packed >> 5 & 0x1f, packed >> 10 & 0x1f],
    };
    fields.map(i64::from)
}

fn box_aligned(address: u64) -> Result<(), Fault> {
    if address.is_multiple_of(BOX_ALIGNMENT) {
        return Ok(());
    }
    Err(Fault::Misaligned { space: "shared", address, size: BOX_ALIGNMENT as u32 })
}

/// Rows of a tensor to shared memory, with fill values for outside elements.
fn load_rows(context: &mut Context, map: &Map, rows: &[Row], mask: u32) -> Result<(), Fault> {
    let receivers = receivers(context, mask)?;
    let total = box_bytes(map, rows);
    for &(target, object) in &receivers {
        writes(context, target, room(map, rows), object)?;
    }
    for row in rows {
        let mut data = filling(map, row.count as usize);
        let (first, last) = (row.inside.start as u64 * map.element, row.inside.end as u64 * map.element);
        if first < last {
            let inside = context.global.slice(row.address.wrapping_add(first), (last - first) as u32)?;
            data[first as usize..last as usize].copy_from_slice(inside);
        }
        for &(target, _) in &receivers {
            box_aligned(target)?;
            for (number, line) in data.chunks(LINE).enumerate() {
                let place = map.swizzle(target + row.offset + (number * LINE) as u64);
                memory(context, false, place, LINE as u32)?.copy_from_slice(line);
            }
        }
    }
    for (_, object) in receivers {
        context.complete_transfer(object, total)?;
    }
    Ok(())
}

/// A row that is entirely outside.
fn filling(map: &Map, count: usize) -> Vec<u8> {
    let length = map.element as usize * count;
    // The 16-bit fill value, in wide elements as well.
    match map.kind {
        tensor::Kind::Unsigned | tensor::Kind::Signed => vec![0; length],
        _ if map.nan => (OUT_OF_BOUNDS as u16).to_le_bytes().repeat(length / 2),
        _ => vec![0; length],
    }
}

/// Bytes of a row in shared memory.
fn read_lines(context: &mut Context, map: &Map, start: u64, length: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(length as usize);
    for at in (0..length).step_by(LINE) {
        let place = map.swizzle(start + at);
        bytes.extend_from_slice(memory(context, false, place, LINE as u32)?);
    }
    Ok(bytes)
}
