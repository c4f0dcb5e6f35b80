//! `wmma` on chips that compute f16 MMAs in steps (`f16_steps`).
//!
//! A quarter is lanes `4q..4q + 4` and `4q + 16..4q + 20`. Tiles of `wmma` are laid out so that each quarter has the
//! rows and columns of its part of the accumulator. Of a factor whose lines are contiguous in memory a lane has a
//! line, of another one four elements of four lines. The contents of `wmma` registers are unspecified, so no layout
//! of a factor needs a transposition.

use super::wmma_layout::{Layout, Role};
use super::wmma_memory::{self, Matrix, size};
use super::{f16_steps, fragment, lanes};
use crate::context::{Lower, Lowered};
use crate::source::{LOWER_HALVES, UPPER_HALVES, Words, imm};
use crate::{LowerError, memory};
use oriole_hir::Instruction;
use oriole_ori::{Source, Value};
use oriole_ptx::word::{MatrixLayout, Position};
use oriole_ptx::{MatrixShape, Type, Word};
use oriole_sass::{Mod, Op};

/// f16 elements of the depth of one MMA, as words of a lane.
const DEPTH_WORDS: usize = 2;

/// Rows and columns of a quarter's accumulator.
const SIDE: u32 = 8;

/// An access of a lane: lines and bytes after its start, byte count, and the first fragment element, in units of the
/// access size up to a word.
struct Part {
    line: u32,
    offset: u32,
    bytes: u32,
    word: usize,
    upper: bool,
}

impl Part {
    fn words(line: u32, offset: u32, bytes: u32, word: u32) -> Part {
        Part { line, offset, bytes, word: word as usize, upper: false }
    }
}

/// True if the tile is one of a multiply that the chip computes in steps only.
pub(super) fn is_in_quarters(cx: &Lower<'_>, i: &Instruction) -> bool {
    let of_halves = matches!(i.types.first(), Some(Type::F16 | Type::F32));
    of_halves && !cx.takes(Op::HMMA, &[Mod::_1688, Mod::F32], 4) && f16_steps::multiplies_in_steps(cx)
}

/// `wmma` of f16.
pub(super) fn quarter_fragments(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    match () {
        () if i.modifiers.has(Word::Load) => load_quarters(cx, i),
        () if i.modifiers.has(Word::Store) => store_quarters(cx, i),
        () => multiply_quarter_fragments(cx, i),
    }
}

fn multiply_quarter_fragments(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let &[to, from] = &i.types[..] else { return Err(cx.unsupported_form(i)) };
    let layout = |word| MatrixLayout::WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
    let layouts: Vec<MatrixLayout> = i.modifiers.iter().filter_map(layout).collect();
    let [of_a, of_b] = layouts[..] else { return Err(cx.unsupported_form(i)) };
    let [a, b] = [fragment::fragment(cx, i, 1, Type::B32)?, fragment::fragment(cx, i, 2, Type::B32)?];
    let mut c = fragment::fragment(cx, i, 3, Type::B32)?;
    let through = if from == Type::F32 { Type::F32 } else { to };
    let mut from = from;
    let mut d = Words::new();
    for (a, b) in a.chunks(DEPTH_WORDS).zip(b.chunks(DEPTH_WORDS)) {
        let factors = [a, b].map(|words| cx.tuple(words.iter().cloned()));
        d = f16_steps::product_in_steps(cx, [through, from], [of_a, of_b], factors, &c);
        c = d.iter().map(|&word| Source::value(word)).collect();
        from = through;
    }
    let d = if through == to { d } else { gathered_halves(cx, &d) };
    fragment::write_words(cx, i, &d)
}

/// Converts an f32 accumulator to the layout of an f16 one: a lane gets the words of its row.
fn gathered_halves(cx: &mut Lower<'_>, singles: &Words) -> Words {
    let packed = fragment::packed_halves(cx, singles);
    let lane = lanes::lane_number(cx);
    let upper = lanes::lane_has(cx, lane, 2);
    let owners = [0, 2].map(|more| lanes::lane_of(cx, lane, 0x1d, more));
    let mut d = Words::new();
    for number in 0..packed.len() {
        let owner = owners[number % 2];
        let [near, far] = [0, 1].map(|beside| {
            let word = packed[number / 2 * 2 + beside];
            lanes::of_lane(cx, Mod::IDX, word.into(), owner.into())
        });
        let word = cx.b.r();
        cx.b.sel(word, far, near, upper);
        d.push(word);
    }
    d
}

fn load_quarters(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let layout = Layout::of(i).ok_or_else(|| cx.unsupported_form(i))?;
    let mut matrix = wmma_memory::matrix(cx, i, 1, &layout)?;
    let parts = quarter_parts(cx, i, &layout, &mut matrix)?;
    let count = parts.iter().map(|part| part.word + (part.bytes as usize).div_ceil(4)).max();
    let d: Words = (0..count.unwrap_or(0)).map(|_| cx.b.r()).collect();
    let mut lower: Option<Value> = None;
    for part in parts {
        let is_half = part.bytes < 4;
        let to: Words = if is_half {
            [cx.b.r()].into_iter().collect()
        } else {
            d[part.word..][..part.bytes as usize / 4].iter().copied().collect()
        };
        let place = wmma_memory::behind(cx, &mut matrix, part.line, part.offset);
        let (op, _, extended) = memory::access_ops(cx, place.space)?;
        let memory = memory::memory_info(place.space, true, false, false);
        let address = memory::memory_operand(cx, &place, true);
        let draft = cx.b.op(op).m_if(extended, Mod::E).mods(size(part.bytes));
        draft.to_tuple(to.clone()).from(address).memory(memory).emit();
        match lower.take() {
            Some(lower) if part.upper => cx.b.prmt(d[part.word], lower, LOWER_HALVES, to[0]),
            _ => lower = is_half.then_some(to[0]),
        }
    }
    fragment::write_words(cx, i, &d)
}

fn store_quarters(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let layout = Layout::of(i).ok_or_else(|| cx.unsupported_form(i))?;
    let values = fragment::fragment(cx, i, 1, Type::B32)?;
    let mut matrix = wmma_memory::matrix(cx, i, 0, &layout)?;
    for part in quarter_parts(cx, i, &layout, &mut matrix)? {
        let mut value = match part.bytes {
            ..4 => cx.in_register(values[part.word].clone()),
            bytes => cx.tuple(values[part.word..][..bytes as usize / 4].iter().cloned()),
        };
        if part.upper {
            let moved = cx.b.r();
            cx.b.prmt(moved, value, UPPER_HALVES, Source::rz());
            value = moved.into();
        }
        let place = wmma_memory::behind(cx, &mut matrix, part.line, part.offset);
        let (_, op, extended) = memory::access_ops(cx, place.space)?;
        let memory = memory::memory_info(place.space, false, true, false);
        let address = memory::memory_operand(cx, &place, true);
        let draft = cx.b.op(op).m_if(extended, Mod::E).mods(size(part.bytes));
        draft.from(address).from(value).memory(memory).emit();
    }
    Ok(())
}

/// The first row, or column, of a lane's quarter.
fn first_line(cx: &mut Lower<'_>, shape: MatrixShape, lane: Value, is_row: bool) -> Source {
    // Bits of the lane that select the quarter's position, and their distance from eights.
    let (bits, up) = match (shape.rows, shape.columns, is_row) {
        (32, _, true) | (_, 32, false) => (0xc, 1),
        (32, _, false) | (_, 32, true) => return Source::rz(),
        (_, _, true) => (0x4, 1),
        (_, _, false) => (SIDE, 0),
    };
    let chosen = cx.b.r();
    cx.b.and(chosen, lane, bits);
    if up == 0 {
        return chosen.into();
    }
    let first = cx.b.r();
    cx.b.shl(first, chosen, up);
    first.into()
}

/// The line number: `first`, these bits of the lane and, where wanted, four for the upper half of the warp; times
/// a scale.
fn lane_line(cx: &mut Lower<'_>, first: Source, lane: Value, bits: u32, upper: bool, scale: u32) -> Value {
    let mut sum = first;
    if bits != 0 {
        let [own, next] = [cx.b.r(), cx.b.r()];
        cx.b.and(own, lane, bits);
        cx.b.iadd3(next, own, sum, Source::rz());
        sum = next.into();
    }
    if upper {
        let [moved, four, next] = [cx.b.r(), cx.b.r(), cx.b.r()];
        cx.b.shr(moved, lane, 2u32);
        cx.b.and(four, moved, 4u32);
        cx.b.iadd3(next, four, sum, Source::rz());
        sum = next.into();
    }
    let line = cx.value_of(sum);
    if scale == 1 {
        return line;
    }
    let scaled = cx.b.r();
    cx.b.imad(scaled, line, imm(scale), Source::rz());
    scaled
}

/// Moves the start of the matrix to a lane's part, and returns the accesses of the lane from there.
fn quarter_parts(
    cx: &mut Lower<'_>,
    i: &Instruction,
    layout: &Layout,
    matrix: &mut Matrix,
) -> Result<Vec<Part>, LowerError> {
    let shape = i.modifiers.matrix_shape().ok_or_else(|| cx.unsupported_form(i))?;
    let by_rows = i.modifiers.at::<MatrixLayout>() == Some(MatrixLayout::Row);
    let lane = lanes::lane_number(cx);
    let bytes = layout.bits / 8;
    let is_factor = i.modifiers.has(Word::A) || i.modifiers.has(Word::B);
    if is_factor {
        let is_left = i.modifiers.has(Word::A);
        let first = first_line(cx, shape, lane, is_left);
        if by_rows == is_left {
            let lines = lane_line(cx, first, lane, 3, true, 1);
            wmma_memory::enter(cx, matrix, lines, None);
            return Ok([0, 16].map(|offset| Part::words(0, offset, 16, offset / 4)).into());
        }
        let lines = lane_line(cx, Source::rz(), lane, 3, false, 1);
        let start = lane_line(cx, first, lane, 0, true, bytes);
        wmma_memory::enter(cx, matrix, lines, Some(start));
        return Ok((0..4).map(|at| Part::words(4 * at, 0, 8, 2 * at)).collect());
    }
    debug_assert!(layout.role == Role::Sum);
    let [rows, columns] = [true, false].map(|is_row| first_line(cx, shape, lane, is_row));
    let single = layout.bits == 32;
    let (of_row, of_column) = if single { (1, 2) } else { (3, 0) };
    let [row_scale, column_scale] = if by_rows { [1, bytes] } else { [bytes, 1] };
    let row = lane_line(cx, rows, lane, of_row, true, row_scale);
    let column = lane_line(cx, columns, lane, of_column, false, column_scale);
    let [lines, start] = if by_rows { [row, column] } else { [column, row] };
    wmma_memory::enter(cx, matrix, lines, Some(start));
    Ok(match (single, by_rows) {
        (true, true) => (0..4).map(|at| 2 * at).map(|n| Part::words(n & 2, 4 * (n & 4), 8, n)).collect(),
        (true, false) => (0..8).map(|n| Part::words((n & 4) + (n & 1), 4 * (n & 2), 4, n)).collect(),
        (false, true) => vec![Part::words(0, 0, 16, 0)],
        (false, false) => {
            let half = |n: u32| Part { upper: n % 2 == 1, ..Part::words(n, 0, 2, n / 2) };
            (0..SIDE).map(half).collect()
        }
    })
}
