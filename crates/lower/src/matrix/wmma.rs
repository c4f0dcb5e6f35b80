//! `wmma`: fragments of matrices in memory, and their multiplication.
//!
//! PTX leaves the layout of fragment registers open. Here a fragment is the concatenation of the fragments of the
//! 16x8 (or 8x8) MMAs that a `wmma.mma` consists of; for 8x32 the transposed multiply is used. So a multiply needs no
//! moves, and a load finds the elements of a register contiguous where the layout of the matrix is that of its
//! factor.

use super::fragment::{self, Fragment, Product};
use super::wmma_layout::{Layout, Role, width};
use super::wmma_memory::{self, Matrix, size};
use super::{lanes, products, wmma_quarters};
use crate::context::{Lower, Lowered};
use crate::memory::{self, Place};
use crate::source::{Words, imm};
use oriole_hir::Instruction;
use oriole_ori::{Source, Value};
use oriole_ptx::{MatrixShape, Space, Type, Word};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// An access of a lane: address, byte count, and first word of the fragment. Four byte loads form a word.
struct Access {
    place: Place,
    bytes: u32,
    word: usize,
}

/// `wmma`.
pub(crate) fn wmma(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    match () {
        () if wmma_quarters::is_in_quarters(cx, i) => wmma_quarters::quarter_fragments(cx, i),
        () if i.modifiers.has(Word::Load) => load_fragment(cx, i),
        () if i.modifiers.has(Word::Store) => store_fragment(cx, i),
        () => multiply_fragments(cx, i),
    }
}

fn load_fragment(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let layout = Layout::of(i).ok_or_else(|| cx.unsupported_form(i))?;
    let word = if layout.bits == 64 { Type::F64 } else { Type::B32 };
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = cx.direct_words(&elements, word);
    let words = layout.registers() * (layout.bits as usize / 32).max(1);
    let fresh = |cx: &mut Lower<'_>| -> Words { (0..words).map(|_| cx.b.r()).collect() };
    let d: Words = match &direct {
        Some(all) => all[..words].iter().copied().collect(),
        None => fresh(cx),
    };
    let mut matrix = wmma_memory::matrix(cx, i, 1, &layout)?;
    let moved = layout.role != Role::Sum && (layout.bits == 16 || layout.bits == 8 && layout.along);
    if matrix.place.space == Space::Shared && moved && cx.has(Op::LDSM) {
        load_rows(cx, &layout, matrix, &d);
    } else {
        let accesses = accesses(cx, &layout, &mut matrix);
        load_accesses(cx, &layout, accesses, &d)?;
    }
    let each = words / layout.registers();
    match direct {
        // A fragment with more registers than it fills repeats itself.
        Some(all) => {
            for (at, &again) in all.iter().enumerate().skip(words) {
                cx.b.mov(again, d[at % words]);
            }
            Ok(())
        }
        None => {
            let part = |at: usize| d[at % layout.registers() * each..][..each].iter();
            let parts = (0..elements.len()).map(|at| part(at).map(|&v| Source::value(v)).collect());
            cx.write_all(&elements, word, parts.collect())
        }
    }
}

fn store_fragment(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let layout = Layout::of(i).ok_or_else(|| cx.unsupported_form(i))?;
    let word = if layout.bits == 64 { Type::F64 } else { Type::B32 };
    let mut values = fragment::fragment(cx, i, 1, word)?;
    let mut matrix = wmma_memory::matrix(cx, i, 0, &layout)?;
    if layout.transposes() {
        values = values.into_iter().map(|value| transposed(cx, value)).collect();
    }
    for access in accesses(cx, &layout, &mut matrix) {
        let words = (access.bytes / 4) as usize;
        let value = cx.tuple(values[access.word..][..words].iter().cloned());
        let (_, op, extended) = memory::access_ops(cx, access.place.space)?;
        let memory = memory::memory_info(access.place.space, false, true, false);
        let address = memory::memory_operand(cx, &access.place, true);
        let draft = cx.b.op(op).m_if(extended, Mod::E).mods(size(access.bytes));
        draft.from(address).from(value).memory(memory).emit();
    }
    Ok(())
}

/// Transposes the 8x8 block of 16-bit elements in a register.
fn transposed(cx: &mut Lower<'_>, word: Source) -> Source {
    let word = cx.in_register(word);
    let d = cx.b.r();
    cx.op(Op::MOVM, &[Mod::_16, Mod::MT88], d, [word]);
    d.into()
}

/// The accesses of a lane, with all addresses computed.
fn accesses(cx: &mut Lower<'_>, layout: &Layout, matrix: &mut Matrix) -> Vec<Access> {
    let lane = lanes::lane_number(cx);
    let [group, member] = [cx.b.r(), cx.b.r()];
    cx.b.shr(group, lane, 2u32);
    cx.b.and(member, lane, 3u32);
    let width = width(layout.role, layout.bits);
    let (lines, bytes) = if layout.along || layout.transposes() {
        // Eight lines of the matrix in memory for the eight groups.
        let bytes = cx.b.r();
        cx.b.imad(bytes, member, imm(width * layout.bits / 8), Source::rz());
        (group, bytes)
    } else {
        let [lines, bytes] = [cx.b.r(), cx.b.r()];
        cx.b.imad(lines, member, imm(width), Source::rz());
        cx.b.imad(bytes, group, imm(matrix.bytes), Source::rz());
        (lines, bytes)
    };
    wmma_memory::enter(cx, matrix, lines, Some(bytes));
    let element = layout.bits / 8;
    let words = (layout.bits as usize / 32).max(1);
    let mut found = Vec::new();
    let cells = layout.cells.iter().enumerate();
    if layout.role == Role::Sum && layout.along {
        // Two neighbours at a time, whether they share a word or not.
        for (at, cell) in cells.step_by(2) {
            let place = wmma_memory::behind(cx, matrix, cell.line, cell.at * element);
            found.push(Access { place, bytes: 2 * element, word: at * layout.bits as usize / 32 });
        }
        return found;
    }
    let packed = if layout.role == Role::Sum && layout.bits == 16 { 2 } else { 1 };
    for (at, cell) in cells.step_by(packed) {
        let word = at / packed * words;
        let bytes = (words * 4) as u32;
        if layout.along {
            let place = wmma_memory::behind(cx, matrix, cell.line, cell.at * layout.bits / 8);
            found.push(Access { place, bytes, word });
        } else if layout.bits == 8 {
            for part in 0..4 {
                let place = wmma_memory::behind(cx, matrix, cell.at + part, cell.line);
                found.push(Access { place, bytes: 1, word });
            }
        } else {
            let place = wmma_memory::behind(cx, matrix, cell.at, cell.line * element);
            found.push(Access { place, bytes, word });
        }
    }
    found
}

/// Emits the planned loads.
fn load_accesses(cx: &mut Lower<'_>, layout: &Layout, accesses: Vec<Access>, d: &Words) -> Lowered {
    let mut bytes: SmallVec<[Value; 4]> = SmallVec::new();
    for access in accesses {
        let (op, _, extended) = memory::access_ops(cx, access.place.space)?;
        let words = (access.bytes / 4) as usize;
        let through = access.bytes < 4 || layout.transposes();
        let to: Words = if through {
            [cx.b.r()].into_iter().collect()
        } else {
            d[access.word..][..words].iter().copied().collect()
        };
        let memory = memory::memory_info(access.place.space, true, false, false);
        let address = memory::memory_operand(cx, &access.place, true);
        let draft = cx.b.op(op).m_if(extended, Mod::E).mods(size(access.bytes));
        draft.to_tuple(to.clone()).from(address).memory(memory).emit();
        if access.bytes == 1 {
            bytes.push(to[0]);
            if let [a, b, c, e] = bytes[..] {
                join_bytes(cx, d[access.word], [a, b, c, e]);
                bytes.clear();
            }
        } else if through {
            cx.op(Op::MOVM, &[Mod::_16, Mod::MT88], d[access.word], [to[0].into()]);
        }
    }
    Ok(())
}

/// A word of four bytes, lowest first, whose upper bits are zero.
fn join_bytes(cx: &mut Lower<'_>, d: Value, [a, b, c, e]: [Value; 4]) {
    let [low, high] = [cx.b.r(), cx.b.r()];
    cx.b.imad(low, b, imm(0x100), a);
    cx.b.imad(high, e, imm(0x100), c);
    cx.b.prmt(d, low, 0x5410u32, high);
}

/// Loads blocks of eight rows of sixteen bytes each; the lanes supply the addresses: lane `8 m + r` that of row
/// `r` of block `m`.
fn load_rows(cx: &mut Lower<'_>, layout: &Layout, mut matrix: Matrix, d: &Words) {
    let element = layout.bits / 8;
    let steps: Vec<[u32; 2]> = layout
        .cells
        .iter()
        .map(|cell| if layout.along { [cell.line, cell.at] } else { [cell.at, cell.line] })
        .collect();
    let at_once = match steps.len() {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let lane = lanes::lane_number(cx);
    let [row, zero] = [cx.b.r(), cx.b.r()];
    cx.b.and(row, lane, 7u32);
    cx.b.mov(zero, imm(0));
    let [mut lines, mut bytes] = [row, zero];
    for (bit, block) in [(3u32, 1), (4, 2)].into_iter().filter(|step| step.1 < at_once) {
        let chosen = cx.b.r();
        cx.b.shr(chosen, lane, bit);
        let block_bit = cx.b.r();
        cx.b.and(block_bit, chosen, 1u32);
        let more = |cx: &mut Lower<'_>, sum: Value, step: u32| {
            if step == 0 {
                return sum;
            }
            let d = cx.b.r();
            cx.b.imad(d, block_bit, imm(step), sum);
            d
        };
        lines = more(cx, lines, steps[block][0]);
        bytes = more(cx, bytes, steps[block][1] * element);
    }
    wmma_memory::enter(cx, &mut matrix, lines, Some(bytes));
    let places: Vec<Place> = steps
        .iter()
        .step_by(at_once)
        .map(|&[line, at]| wmma_memory::behind(cx, &mut matrix, line, at * element))
        .collect();
    let order = if layout.along { Mod::M88 } else { Mod::MT88 };
    let count = [None, None, Some(Mod::_2), None, Some(Mod::_4)][at_once];
    let mods: SmallVec<[Mod; 3]> = [Some(Mod::_16), Some(order), count].into_iter().flatten().collect();
    for (place, to) in places.iter().zip(d.chunks(at_once)) {
        let memory = memory::memory_info(Space::Shared, true, false, false);
        let address = memory::memory_operand(cx, place, false);
        let draft = cx.b.op(Op::LDSM).mods(&mods).to_tuple(to.iter().copied());
        draft.from(address).memory(memory).emit();
    }
}

/// `wmma.mma`: one MMA for each tile of the accumulator.
fn multiply_fragments(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let shape = i.modifiers.matrix_shape().ok_or_else(|| cx.unsupported_form(i))?;
    let (to, left, right, from) = match i.types[..] {
        [to, from] => (to, Type::F16, Type::F16, from),
        [to, left, right, from] => (to, left, right, from),
        _ => return Err(cx.unsupported_form(i)),
    };
    let word = if to == Type::F64 { Type::F64 } else { Type::B32 };
    let [a, b, c] = [
        fragment::fragment(cx, i, 1, word)?,
        fragment::fragment(cx, i, 2, word)?,
        fragment::fragment(cx, i, 3, word)?,
    ];
    let mixed = to != from;
    let c = if from == Type::F16 && mixed { fragment::singles(cx, c) } else { c };
    let elements = cx.elements(cx.operand(i, 0)?);
    // A tile is written before the next one is read.
    let direct = cx.direct_words(&elements, word).filter(|d| !mixed || to == Type::F32 && apart(d, &c));
    let direct = direct.filter(|d| apart(d, &a) && apart(d, &b) && in_place(d, &c));
    let d: Words = match &direct {
        Some(d) => d.clone(),
        None => c.iter().map(|_| cx.b.r()).collect(),
    };
    let turned = shape.rows < shape.columns;
    let [rows, columns] = if turned { [shape.columns, shape.rows] } else { [shape.rows, shape.columns] };
    let shape = MatrixShape { rows: rows.min(16), columns: 8, depth: shape.depth };
    let tiles = (rows / shape.rows * columns / 8) as usize;
    let through = if mixed { Type::F32 } else { to };
    let types = if turned { [through, right, left] } else { [through, left, right] };
    let [a, b] = if turned { [b, a] } else { [a, b] };
    let wide = |lines: u32, ty: Type| {
        let bits = if ty == Type::TF32 { 32 } else { ty.bits() };
        (lines * shape.depth * bits / (32 * 32)) as usize
    };
    let [na, nb, nc] = [wide(shape.rows, left), wide(8, right), c.len() / tiles];
    for tile in 0..tiles {
        // The tiles are along the longer side, which only one of the factors has.
        let [at_a, at_b] = if rows > 16 { [tile * na, 0] } else { [0, tile * nb] };
        let part = |words: &Fragment, at: usize, count: usize| words[at..][..count].iter().cloned().collect();
        let product = Product {
            shape,
            types,
            a: part(&a, at_a, na),
            b: part(&b, at_b, nb),
            c: part(&c, tile * nc, nc),
            d: d[tile * nc..][..nc].iter().copied().collect(),
            metadata: None,
        };
        multiply_tile(cx, i, product)?;
    }
    if direct.is_some() {
        return Ok(());
    }
    let d = if mixed && to == Type::F16 { fragment::packed_halves(cx, &d) } else { d };
    let each = word.bits() as usize / 32;
    let parts = d.chunks(each).map(|part| part.iter().map(|&v| Source::value(v)).collect()).collect();
    cx.write_all(&elements, word, parts)
}

/// The multiply of a tile. For `.tf32`, four terms are a step of their own.
fn multiply_tile(cx: &mut Lower<'_>, i: &Instruction, p: Product) -> Lowered {
    if p.types[1] != Type::TF32 {
        return products::product(cx, i, p);
    }
    products::product_in_halves(cx, i, p)
}

/// True if none of the registers is among those that are read.
fn apart(written: &Words, read: &Fragment) -> bool {
    read.iter().all(|source| source.as_plain_value().is_none_or(|value| !written.contains(&value)))
}

/// True if a register that is read is written only at the same index, by the MMA that reads it.
fn in_place(written: &Words, read: &Fragment) -> bool {
    let same = |(at, source): (usize, &Source)| {
        let value = source.as_plain_value();
        value.is_none_or(|value| written.iter().position(|own| *own == value).is_none_or(|own| own == at))
    };
    read.iter().enumerate().all(same)
}
