//! The memory after a run, and the comparison of two of them.

use crate::data::{self, Kind};
use crate::places::buffers;
use crate::report::Element;
use crate::usage::Usage;
use oriole_interp::{Arg, Launch, Program, buffer_address};
use oriole_machine_model::texture::Opaque;
use std::collections::BTreeMap;

/// A piece of memory: a buffer or a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its name in reports.
    pub name: String,
    /// Its address, if interpreter and simulator have it at the same one.
    pub address: Option<u64>,
    /// Meaning of its elements.
    pub kind: Kind,
    /// Bytes of an element.
    pub width: usize,
    /// Its bytes before the run, if they are known.
    pub before: Option<Vec<u8>>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The memory after a run.
pub type Image = Vec<Piece>;

/// The memory as pieces.
pub fn image(
    program: &Program,
    launch: &Launch,
    usage: &Usage,
    buffers_after: Vec<Vec<u8>>,
    extra: Vec<Vec<u8>>,
    variables: Vec<(String, Vec<u8>)>,
) -> Image {
    let mut pieces = Vec::new();
    let kind_of = |parameter: u32| {
        let slot = usage.of_parameter(parameter).next().map(|(_, slot)| slot);
        slot.map_or((Kind::Integer, 4), |slot| (slot.kind, slot.bytes.clamp(1, 8) as usize))
    };
    let mut after = buffers_after.into_iter();
    for (number, argument) in (0..).zip(&launch.args) {
        let before = match argument {
            Arg::Buffer(bytes) => Some(bytes.clone()),
            Arg::Object(Opaque::Surface(_)) => None,
            _ => continue,
        };
        let Some(bytes) = after.next() else { break };
        let (kind, width) = kind_of(number);
        let own = pieces.iter().filter(|piece: &&Piece| piece.address.is_some()).count();
        let address = before.is_some().then(|| buffer_address(program, own));
        pieces.push(Piece { name: format!("argument {number}"), address, kind, width, before, bytes });
    }
    let own = buffers(launch);
    for (number, bytes) in extra.into_iter().enumerate() {
        pieces.push(Piece {
            name: format!("buffer {number} behind a pointer"),
            address: Some(buffer_address(program, own + number)),
            kind: Kind::Integer,
            width: 4,
            before: launch.extra.get(number).cloned(),
            bytes,
        });
    }
    let known: BTreeMap<&str, _> =
        program.variables.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    for (name, bytes) in variables {
        // Addresses in initial values are not the same in interpreter and simulator.
        let Some(variable) = known.get(name.as_str()).filter(|variable| variable.addresses.is_empty()) else {
            continue;
        };
        let mut before = variable.bytes.clone();
        before.resize(bytes.len(), 0);
        let name = format!("variable {name}");
        pieces.push(Piece {
            name,
            address: None,
            kind: Kind::Integer,
            width: 4,
            before: Some(before),
            bytes,
        });
    }
    pieces
}

/// A difference: the piece, and the offset of the byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index of the piece in the image of the PTX.
    pub piece: usize,
    /// Offset of the first byte of the element.
    pub offset: usize,
    /// Bytes of the element.
    pub width: usize,
}

/// The elements that differ, at most `most`. A NaN equals every other NaN where the elements are floats, and an address of
/// a variable equals every other one: their places are not those of the other machine.
pub fn differences(expected: &Image, found: &Image, most: usize) -> Vec<Place> {
    let mut places = Vec::new();
    let by_name: BTreeMap<&str, &Piece> = found.iter().map(|piece| (piece.name.as_str(), piece)).collect();
    for (number, piece) in expected.iter().enumerate() {
        let Some(other) = by_name.get(piece.name.as_str()) else { continue };
        if piece.bytes == other.bytes {
            continue;
        }
        let width = piece.kind.bytes().unwrap_or(piece.width).clamp(1, 8);
        let count = piece.bytes.len().min(other.bytes.len());
        let mut offset = 0;
        while offset < count && places.len() < most {
            let end = (offset + width).min(count);
            let (a, b) = (&piece.bytes[offset..end], &other.bytes[offset..end]);
            if a != b
                && !both_nan(piece.kind, a, b)
                && !both_addresses(piece, other, offset)
                && !both_heap(expected, piece, other, offset)
            {
                places.push(Place { piece: number, offset, width: end - offset });
            }
            offset = end;
        }
    }
    places
}

/// The number of bytes that the PTX changed.
pub fn changed(image: &Image) -> u64 {
    let changed = image.iter().map(|piece| match &piece.before {
        Some(before) => piece.bytes.iter().zip(before).filter(|(after, before)| after != before).count(),
        None => 0,
    });
    changed.sum::<usize>() as u64
}

/// The element at a place with both values.
pub fn element(expected: &Image, found: &Image, place: Place) -> Element {
    let piece = &expected[place.piece];
    let range = place.offset..place.offset + place.width;
    let other = found.iter().find(|other| other.name == piece.name);
    Element {
        buffer: piece.name.clone(),
        offset: place.offset,
        expected: piece.bytes.get(range.clone()).unwrap_or_default().to_vec(),
        found: other.and_then(|other| other.bytes.get(range)).unwrap_or_default().to_vec(),
    }
}

/// A little-endian number.
pub fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn both_nan(kind: Kind, a: &[u8], b: &[u8]) -> bool {
    let nan = |bytes: &[u8]| match kind.bytes() {
        Some(width) if bytes.len() == width => data::decode(kind, word(bytes)).is_nan(),
        // Where nothing is known of the elements, a word may be a float.
        None if bytes.len() == 4 => f32::from_bits(word(bytes) as u32).is_nan(),
        None if bytes.len() == 8 => f64::from_bits(word(bytes)).is_nan(),
        _ => false,
    };
    let halves = || {
        let ((a, c), (b, d)) = (a.split_at(4), b.split_at(4));
        (a == b || nan(a) && nan(b)) && (c == d || nan(c) && nan(d))
    };
    nan(a) && nan(b) || kind == Kind::Integer && a.len() == 8 && b.len() == 8 && halves()
}

/// End of the addresses of buffers and heap.
const BUFFERS_END: u64 = 0x7c00 << 32;

/// Windows of addresses in the interpreter and in the simulator: first and last upper half of each.
const WINDOWS: [[std::ops::RangeInclusive<u64>; 2]; 5] = [
    [0x7b00..=0x7bff, 0x7a00..=0x7aff],
    [0x7e00..=0x7e00, 0x7f10..=0x7f10],
    [0x7e01..=0x7e01, 0x7f20..=0x7f20],
    [0x7e03..=0x7e03, 0x7f30..=0x7f30],
    [0x7e02..=0x7e02, 0x7f40..=0x7f40],
];

/// Whether the word of 8 bytes around an offset is an address after all buffers in interpreter and simulator, where the heap is.
fn both_heap(image: &Image, piece: &Piece, other: &Piece, offset: usize) -> bool {
    let start = offset / 8 * 8;
    let value = |bytes: &[u8]| bytes.get(start..start + 8).map(word);
    let (Some(a), Some(b)) = (value(&piece.bytes), value(&other.bytes)) else { return false };
    let ends = image.iter().filter_map(|piece| Some(piece.address? + piece.bytes.len() as u64));
    let end = ends.max().unwrap_or(u64::MAX);
    let heap = end..BUFFERS_END;
    heap.contains(&a) && heap.contains(&b)
}

/// Whether the word of 8 bytes around an offset is an address of the same kind of memory in interpreter and simulator.
fn both_addresses(piece: &Piece, other: &Piece, offset: usize) -> bool {
    let start = offset / 8 * 8;
    let upper = |bytes: &[u8]| bytes.get(start..start + 8).map(|bytes| word(bytes) >> 32);
    let (Some(a), Some(b)) = (upper(&piece.bytes), upper(&other.bytes)) else { return false };
    WINDOWS.iter().any(|[interpreter, simulator]| interpreter.contains(&a) && simulator.contains(&b))
}
