//! Bulk copies: blocks of bytes and bulk tensor copies, complete at once.

use oriole_ptx::word::TakenCluster;
use smallvec::SmallVec;

use crate::access::updated;
use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::machine::first_block;
use crate::memory::{Place, in_block, misaligned, shared_address, word};
use crate::step::{BoxStep, BulkStep, FieldStep, Location, PolicyStep, Signal, Source, Walk};
use crate::tensor::{Cell, MAP_BYTES, TensorMap};

/// Unit of size and alignment of bulk copies.
const LINE: u64 = 16;
/// Unit of size of zero fills.
const ZEROS: u64 = 8;
/// Alignment of TMA tiles in shared memory.
const BOX_ALIGNMENT: u64 = 128;
/// Alignment of tensor maps.
const MAP_ALIGNMENT: u64 = 64;

fn illegal(reason: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Illegal, reason.to_string())
}

/// Copies a block of bytes, or combines it with the target.
pub fn copy(at: &mut LaneContext, step: &BulkStep) -> Result<(), Fault> {
    let (target, origin, size) = (at.address(&step.to), at.address(&step.from), at.read(step.size));
    for (place, address) in [(step.to.place, target), (step.from.place, origin)] {
        if !address.is_multiple_of(LINE) {
            return Err(misaligned(place, address, LINE as usize));
        }
    }
    if !size.is_multiple_of(LINE) {
        return Err(illegal(format!("{size} bytes are no multiple of 16")));
    }
    let size = size as usize;
    let mask = step.mask.map_or(u64::MAX, |mask| at.read(mask));
    reads(at, step.from.place, origin, size, step.signal.object.is_none());
    let data = at.unaligned(step.from.place, origin, size, false)?.to_vec();
    for (target, object) in receivers(at, target, &step.signal) {
        writes(at, step.to.place, target, size, object)?;
        let memory = at.unaligned(step.to.place, target, size, true)?;
        let mut new = data.clone();
        if let Some((operation, bytes)) = step.combine {
            for (new, old) in new.chunks_exact_mut(bytes).zip(memory.chunks_exact(bytes)) {
                let value = updated(operation, word(old), word(new));
                new.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        for (number, (old, new)) in memory.iter_mut().zip(new).enumerate() {
            if mask >> (number as u64 % LINE) & 1 == 1 {
                *old = new;
            }
        }
        if let Some(object) = object {
            at.complete_transfer(object, size as u64)?;
        }
    }
    Ok(())
}

/// Records that a copy reads bytes; `grouped` says that a group signals its completion.
fn reads(at: &mut LaneContext, place: Place, address: u64, size: usize, grouped: bool) {
    if let Some(bytes) = at.shared_bytes(place, address, size) {
        at.machine.watch.bulk_reads(bytes, grouped);
    }
}

/// Records that a copy writes bytes and signals an mbarrier.
fn writes(
    at: &mut LaneContext,
    place: Place,
    address: u64,
    size: usize,
    object: Option<u64>,
) -> Result<(), Fault> {
    if let (Some(bytes), Some(object)) = (at.shared_bytes(place, address, size), object) {
        let (name, object) = (at.object_name(object), at.object(object)?);
        at.machine.watch.bulk_writes(bytes, name, object);
    }
    Ok(())
}

/// The targets of a copy with their mbarriers: one, or one in each of several blocks.
fn receivers(at: &LaneContext, target: u64, signal: &Signal) -> Vec<(u64, Option<u64>)> {
    let object = signal.object.as_ref().map(|object| at.address(object));
    let Some(blocks) = signal.blocks else { return vec![(target, object)] };
    let mask = at.read(blocks);
    let ranks = (0..16).filter(|rank| mask >> rank & 1 == 1);
    let told = |rank: u32, object: u64| {
        if signal.in_pairs {
            in_block(object, rank & !1 | shared_address(object, at.block.rank).0 & 1)
        } else {
            in_block(object, rank)
        }
    };
    ranks.map(|rank| (in_block(target, rank), object.map(|object| told(rank, object)))).collect()
}

/// Zeros in shared memory.
pub fn fill(at: &mut LaneContext, to: &Location, size: Source) -> Result<(), Fault> {
    let (address, size) = (at.address(to), at.read(size));
    if !size.is_multiple_of(ZEROS) {
        return Err(illegal(format!("{size} bytes are no multiple of 8")));
    }
    if !address.is_multiple_of(LINE) {
        return Err(misaligned(to.place, address, LINE as usize));
    }
    for unit in (address..address + size).step_by(ZEROS as usize) {
        at.used(to.place, unit, ZEROS as usize, true)?.fill(0);
    }
    Ok(())
}

/// Cancels the launch of the next cluster that has not started, if there is one, and writes the answer to shared
/// memory: a word and two halves are the index of its first block, and the third word says whether there is one.
pub fn take_cluster(
    at: &mut LaneContext,
    answer: &Location,
    object: &Location,
    everybody: bool,
) -> Result<(), Fault> {
    let mut bytes = [0; LINE as usize];
    if let Some(number) = at.machine.waiting.next() {
        let [x, y, z] = first_block(at.machine.grid, at.machine.cluster, number);
        let words = [x, y & 0xffff | z << 16, 1, 0];
        bytes
            .chunks_exact_mut(4)
            .zip(words)
            .for_each(|(part, word)| part.copy_from_slice(&word.to_le_bytes()));
    }
    let (target, object) = (at.address(answer), at.address(object));
    if !target.is_multiple_of(LINE) {
        return Err(misaligned(answer.place, target, LINE as usize));
    }
    let ranks = if everybody { 0..at.machine.shared.len() as u32 } else { at.block.rank..at.block.rank + 1 };
    for rank in ranks {
        let (target, object) = (in_block(target, rank), in_block(object, rank));
        writes(at, answer.place, target, bytes.len(), Some(object))?;
        at.unaligned(answer.place, target, bytes.len(), true)?.copy_from_slice(&bytes);
        at.complete_transfer(object, bytes.len() as u64)?;
    }
    Ok(())
}

/// The field of an answer about a cluster.
pub fn taken_cluster(asked: TakenCluster, [low, high]: [u64; 2]) -> [u64; 4] {
    let place = [low & 0xffff_ffff, low >> 32 & 0xffff, low >> 48, 0];
    match asked {
        TakenCluster::IsCanceled => [high & 1, 0, 0, 0],
        TakenCluster::GetFirstCtaid => place,
        TakenCluster::GetFirstCtaidX => [place[0], 0, 0, 0],
        TakenCluster::GetFirstCtaidY => [place[1], 0, 0, 0],
        TakenCluster::GetFirstCtaidZ => [place[2], 0, 0, 0],
    }
}

/// Copies a TMA tile between a tensor and shared memory, or combines it with the tensor.
pub fn copy_box(at: &mut LaneContext, step: &BoxStep) -> Result<(), Fault> {
    let address = at.read(step.map);
    // The start of the parameters in their bank depends on the chip.
    let (place, _) = Place::of_generic(address);
    if place != Place::Parameter && !address.is_multiple_of(MAP_ALIGNMENT) {
        return Err(misaligned(Place::Generic, address, MAP_ALIGNMENT as usize));
    }
    let map = TensorMap::new(at.unaligned(Place::Generic, address, MAP_BYTES, false)?).map_err(illegal)?;
    let coordinates: SmallVec<[i64; 5]> =
        step.coordinates.iter().map(|source| i64::from(at.read(*source) as i32)).collect();
    let offsets: SmallVec<[u64; 3]> = step.offsets.iter().map(|source| at.read(*source)).collect();
    let cells = map.cells(&coordinates, &offsets, step.walk).map_err(illegal)?;
    let Some(shared) = &step.shared else { return Ok(()) };
    map.check_start(&coordinates).map_err(illegal)?;
    let start = at.address(shared);
    if !start.is_multiple_of(BOX_ALIGNMENT) {
        return Err(misaligned(Place::Shared, start, BOX_ALIGNMENT as usize));
    }
    if step.loads {
        return load_box(at, step, &map, &cells, start);
    }
    let bytes = map.element_bytes();
    // Rows that are given by index may be anywhere.
    if step.walk != Walk::Rows && cells.iter().any(|cell| cell.before) {
        return Err(illegal("a store of a box reaches a negative coordinate"));
    }
    match step.combine {
        Some(named) => map.check_combination(named).map_err(illegal)?,
        None => map.check_bounds().map_err(illegal)?,
    }
    reads(at, Place::Shared, start, room(&cells, bytes), true);
    for cell in cells {
        let place = map.swizzled(start + cell.offset);
        let mut value = word(at.unaligned(Place::Shared, place, bytes, false)?);
        let Some(global) = cell.global else { continue };
        let memory = at.unaligned(Place::Global, global, bytes, true)?;
        if let Some(named) = step.combine {
            value = updated(map.combination(named), word(memory), value);
        }
        memory.copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
    Ok(())
}

/// Bytes of shared memory from the first element of a tile to its last one.
fn room(cells: &[Cell], bytes: usize) -> usize {
    cells.last().map_or(0, |cell| cell.offset as usize + bytes)
}

fn load_box(
    at: &mut LaneContext,
    step: &BoxStep,
    map: &TensorMap,
    cells: &[Cell],
    start: u64,
) -> Result<(), Fault> {
    let bytes = map.element_bytes();
    let receivers = receivers(at, start, &step.signal);
    for &(target, object) in &receivers {
        writes(at, Place::Shared, target, room(cells, bytes), object)?;
    }
    for cell in cells {
        let value = match cell.global {
            Some(global) => word(at.unaligned(Place::Global, global, bytes, false)?),
            None => map.filling(),
        };
        for (target, _) in &receivers {
            let place = map.swizzled(target + cell.offset);
            at.unaligned(Place::Shared, place, bytes, true)?.copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }
    // Bytes outside of the tensor count as well.
    for object in receivers.iter().filter_map(|(_, object)| *object) {
        at.complete_transfer(object, (cells.len() * bytes) as u64)?;
    }
    Ok(())
}

/// Changes a field of a tensor map.
pub fn replace_field(at: &mut LaneContext, step: &FieldStep) -> Result<(), Fault> {
    let value = at.read(step.value);
    let address = at.address(&step.map);
    for part in &step.parts {
        let bytes = part.bytes;
        let memory = at.aligned(step.map.place, address + part.offset, bytes, true)?;
        let shifted = value.wrapping_sub(part.less).checked_shr(part.from).unwrap_or(0) << part.to;
        let new = word(memory) & !part.mask | (shifted | part.set) & part.mask;
        memory.copy_from_slice(&new.to_le_bytes()[..bytes]);
    }
    Ok(())
}

/// Makes a cache policy in the format of the hardware.
pub fn policy(at: &mut LaneContext, step: &PolicyStep) {
    let high = match step {
        PolicyStep::Fraction { kind, fraction, .. } => {
            let fraction = f32::from_bits(at.read(*fraction) as u32);
            (kind | (fraction * 15.99) as u32 & 0xf) << 20
        }
        PolicyStep::Range { kind, start, first, total, .. } => {
            range(*kind, at.address(start), at.read(*first) as u32, at.read(*total) as u32)
        }
    };
    let (PolicyStep::Fraction { destination, .. } | PolicyStep::Range { destination, .. }) = step;
    at.write(*destination, u64::from(high) << 32);
}

/// The high word of a policy for `first` of `total` bytes from an address on.
fn range(kind: u32, start: u64, first: u32, total: u32) -> u32 {
    if total == 0 {
        return 0x180 << 20;
    }
    // The hardware takes the logarithm of an f32.
    let log = (libm::log2(f64::from(total as f32)) as f32).ceil() as i32;
    let unit = (log - 7).max(12) as u32;
    let end = start.wrapping_add(u64::from(first.wrapping_sub(1).wrapping_add(1 << unit)));
    let count = (end >> unit).wrapping_sub(start >> unit).min(0x7f) as u32;
    let fields = [(8, kind | (unit - 12) & 0xf), (7, (start >> unit) as u32 & 0x7f), (5, count)];
    fields.iter().fold(0, |word, (shift, field)| (word | field) << shift)
}
