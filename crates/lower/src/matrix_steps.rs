//! Matrix multiplies on chips that compute them in steps: `HMMA.884` computes four 8x4x8 f16 MMAs, one in each
//! quarter of a warp; each of its two or four steps computes a register pair of the accumulator.
//!
//! A quarter is lanes `4q..4q + 4` and `4q + 16..4q + 20`. Tiles of `wmma` are laid out so that each quarter has the
//! rows and columns of its part of the accumulator. Of a factor whose lines are contiguous in memory a lane has a
//! line, of another one four elements of four lines. The contents of `wmma` registers are unspecified, so no layout
//! of a factor needs a transposition.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::matrix::Fragment;
use crate::operand::imm;
use crate::sparse::{LOWER_HALVES, UPPER_HALVES};
use crate::wmma::{Layout, Matrix, Role, size};
use oriole_hir::Instruction;
use oriole_ori::{Source, Value};
use oriole_ptx::word::{MatrixLayout, Position};
use oriole_ptx::{MatrixShape, Type, Word};
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind};

const STEPS: [Mod; 4] = [Mod::STEP0, Mod::STEP1, Mod::STEP2, Mod::STEP3];
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

impl Lower<'_> {
    /// True if the chip multiplies f16 matrices in steps.
    pub fn multiplies_in_steps(&self) -> bool {
        let mut operands = vec![Operand::plain(OperandKind::Reg(0)); 4];
        operands[1].suffixes = Mods::of(&[Mod::ROW]);
        operands[2].suffixes = Mods::of(&[Mod::COL]);
        self.is_legal(Op::HMMA, &Mods::of(&[Mod::_884, Mod::F32, Mod::F32_2, Mod::STEP0]), &operands)
    }

    /// True if the tile is one of a multiply that the chip computes in steps only.
    pub fn is_in_quarters(&self, i: &Instruction) -> bool {
        let of_halves = matches!(i.types.first(), Some(Type::F16 | Type::F32));
        of_halves && !self.takes(Op::HMMA, &[Mod::_1688, Mod::F32], 4) && self.multiplies_in_steps()
    }

    /// The accumulator of a multiply of two words of each factor.
    pub fn product_in_steps(
        &mut self,
        [to, from]: [Type; 2],
        layouts: [MatrixLayout; 2],
        factors: [Source; 2],
        c: &Fragment,
    ) -> Words {
        let named = |is_single: bool, single: Mod, half: Mod| if is_single { single } else { half };
        let types =
            [named(to == Type::F32, Mod::F32, Mod::F16), named(from == Type::F32, Mod::F32_2, Mod::F16_2)];
        let mut at = 0;
        let [a, b] = factors.map(|factor| {
            let by_rows = layouts[at] == MatrixLayout::Row;
            at += 1;
            factor.suffixed(if by_rows { Mod::ROW } else { Mod::COL })
        });
        let pairs = if to == Type::F32 { 4 } else { 2 };
        let mut d = Words::new();
        for (step, name) in STEPS.into_iter().enumerate().take(pairs) {
            // The f32 results of two steps come from one pair of f16 words.
            let first = 2 * if to == from { step } else { step / 2 };
            let c = self.tuple(c[first..][..2].iter().cloned());
            let sum = self.b.pair();
            let mods = [Mod::_884, types[0], types[1], name];
            self.emit_product(Op::HMMA, &mods, &sum, [a.clone(), b.clone(), c], None);
            d.extend(sum);
        }
        d
    }

    /// `wmma` of f16.
    pub fn quarter_fragments(&mut self, i: &Instruction) -> Lowered {
        match () {
            () if i.modifiers.has(Word::Load) => self.load_quarters(i),
            () if i.modifiers.has(Word::Store) => self.store_quarters(i),
            () => self.multiply_quarter_fragments(i),
        }
    }

    fn multiply_quarter_fragments(&mut self, i: &Instruction) -> Lowered {
        let &[to, from] = &i.types[..] else { return Err(self.unsupported_form(i)) };
        let layout = |word| MatrixLayout::WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
        let layouts: Vec<MatrixLayout> = i.modifiers.iter().filter_map(layout).collect();
        let [of_a, of_b] = layouts[..] else { return Err(self.unsupported_form(i)) };
        let [a, b] = [self.fragment(i, 1, Type::B32)?, self.fragment(i, 2, Type::B32)?];
        let mut c = self.fragment(i, 3, Type::B32)?;
        let through = if from == Type::F32 { Type::F32 } else { to };
        let mut from = from;
        let mut d = Words::new();
        for (a, b) in a.chunks(DEPTH_WORDS).zip(b.chunks(DEPTH_WORDS)) {
            let factors = [a, b].map(|words| self.tuple(words.iter().cloned()));
            d = self.product_in_steps([through, from], [of_a, of_b], factors, &c);
            c = d.iter().map(|&word| Source::value(word)).collect();
            from = through;
        }
        let d = if through == to { d } else { self.gathered_halves(&d) };
        self.write_words(i, &d)
    }

    /// Converts an f32 accumulator to the layout of an f16 one: a lane gets the words of its row.
    fn gathered_halves(&mut self, singles: &Words) -> Words {
        let packed = self.packed_halves(singles);
        let lane = self.lane_number();
        let upper = self.lane_has(lane, 2);
        let owners = [0, 2].map(|more| self.lane_of(lane, 0x1d, more));
        let mut d = Words::new();
        for number in 0..packed.len() {
            let owner = owners[number % 2];
            let [near, far] = [0, 1].map(|beside| {
                let word = packed[number / 2 * 2 + beside];
                self.of_lane(Mod::IDX, word.into(), owner.into())
            });
            let word = self.b.r();
            self.b.sel(word, far, near, upper);
            d.push(word);
        }
        d
    }

    fn load_quarters(&mut self, i: &Instruction) -> Lowered {
        let layout = Layout::of(i).ok_or_else(|| self.unsupported_form(i))?;
        let mut matrix = self.matrix(i, 1, &layout)?;
        let parts = self.quarter_parts(i, &layout, &mut matrix)?;
        let count = parts.iter().map(|part| part.word + (part.bytes as usize).div_ceil(4)).max();
        let d: Words = (0..count.unwrap_or(0)).map(|_| self.b.r()).collect();
        let mut lower: Option<Value> = None;
        for part in parts {
            let is_half = part.bytes < 4;
            let to: Words = if is_half {
                [self.b.r()].into_iter().collect()
            } else {
                d[part.word..][..part.bytes as usize / 4].iter().copied().collect()
            };
            let place = self.behind(&mut matrix, part.line, part.offset);
            let (op, _, extended) = self.access_ops(place.space)?;
            let memory = Self::memory_info(place.space, true, false, false);
            let address = self.memory_operand(&place, true);
            let draft = self.b.op(op).m_if(extended, Mod::E).mods(size(part.bytes));
            draft.to_tuple(to.clone()).from(address).memory(memory).emit();
            match lower.take() {
                Some(lower) if part.upper => self.b.prmt(d[part.word], lower, LOWER_HALVES, to[0]),
                _ => lower = is_half.then_some(to[0]),
            }
        }
        self.write_words(i, &d)
    }

    fn store_quarters(&mut self, i: &Instruction) -> Lowered {
        let layout = Layout::of(i).ok_or_else(|| self.unsupported_form(i))?;
        let values = self.fragment(i, 1, Type::B32)?;
        let mut matrix = self.matrix(i, 0, &layout)?;
        for part in self.quarter_parts(i, &layout, &mut matrix)? {
            let mut value = match part.bytes {
                ..4 => self.in_register(values[part.word].clone()),
                bytes => self.tuple(values[part.word..][..bytes as usize / 4].iter().cloned()),
            };
            if part.upper {
                let moved = self.b.r();
                self.b.prmt(moved, value, UPPER_HALVES, Source::rz());
                value = moved.into();
            }
            let place = self.behind(&mut matrix, part.line, part.offset);
            let (_, op, extended) = self.access_ops(place.space)?;
            let memory = Self::memory_info(place.space, false, true, false);
            let address = self.memory_operand(&place, true);
            let draft = self.b.op(op).m_if(extended, Mod::E).mods(size(part.bytes));
            draft.from(address).from(value).memory(memory).emit();
        }
        Ok(())
    }

    /// The first row, or column, of a lane's quarter.
    fn first_line(&mut self, shape: MatrixShape, lane: Value, is_row: bool) -> Source {
        // Bits of the lane that select the quarter's position, and their distance from eights.
        let (bits, up) = match (shape.rows, shape.columns, is_row) {
            (32, _, true) | (_, 32, false) => (0xc, 1),
            (32, _, false) | (_, 32, true) => return Source::rz(),
            (_, _, true) => (0x4, 1),
            (_, _, false) => (SIDE, 0),
        };
        let chosen = self.b.r();
        self.b.and(chosen, lane, bits);
        if up == 0 {
            return chosen.into();
        }
        let first = self.b.r();
        self.b.shl(first, chosen, up);
        first.into()
    }

    /// The line number: `first`, these bits of the lane and, where wanted, four for the upper half of the warp; times
    /// a scale.
    fn lane_line(&mut self, first: Source, lane: Value, bits: u32, upper: bool, scale: u32) -> Value {
        let mut sum = first;
        if bits != 0 {
            let [own, next] = [self.b.r(), self.b.r()];
            self.b.and(own, lane, bits);
            self.b.iadd3(next, own, sum, Source::rz());
            sum = next.into();
        }
        if upper {
            let [moved, four, next] = [self.b.r(), self.b.r(), self.b.r()];
            self.b.shr(moved, lane, 2u32);
            self.b.and(four, moved, 4u32);
            self.b.iadd3(next, four, sum, Source::rz());
            sum = next.into();
        }
        let line = self.value_of(sum);
        if scale == 1 {
            return line;
        }
        let scaled = self.b.r();
        self.b.imad(scaled, line, imm(scale), Source::rz());
        scaled
    }

    /// Moves the start of the matrix to a lane's part, and returns the accesses of the lane from there.
    fn quarter_parts(
        &mut self,
        i: &Instruction,
        layout: &Layout,
        matrix: &mut Matrix,
    ) -> Result<Vec<Part>, LowerError> {
        let shape = i.modifiers.matrix_shape().ok_or_else(|| self.unsupported_form(i))?;
        let by_rows = i.modifiers.at::<MatrixLayout>() == Some(MatrixLayout::Row);
        let lane = self.lane_number();
        let bytes = layout.bits / 8;
        let is_factor = i.modifiers.has(Word::A) || i.modifiers.has(Word::B);
        if is_factor {
            let is_left = i.modifiers.has(Word::A);
            let first = self.first_line(shape, lane, is_left);
            if by_rows == is_left {
                let lines = self.lane_line(first, lane, 3, true, 1);
                self.enter(matrix, lines, None);
                return Ok([0, 16].map(|offset| Part::words(0, offset, 16, offset / 4)).into());
            }
            let lines = self.lane_line(Source::rz(), lane, 3, false, 1);
            let start = self.lane_line(first, lane, 0, true, bytes);
            self.enter(matrix, lines, Some(start));
            return Ok((0..4).map(|at| Part::words(4 * at, 0, 8, 2 * at)).collect());
        }
        debug_assert!(layout.role == Role::Sum);
        let [rows, columns] = [true, false].map(|is_row| self.first_line(shape, lane, is_row));
        let single = layout.bits == 32;
        let (of_row, of_column) = if single { (1, 2) } else { (3, 0) };
        let [row_scale, column_scale] = if by_rows { [1, bytes] } else { [bytes, 1] };
        let row = self.lane_line(rows, lane, of_row, true, row_scale);
        let column = self.lane_line(columns, lane, of_column, false, column_scale);
        let [lines, start] = if by_rows { [row, column] } else { [column, row] };
        self.enter(matrix, lines, Some(start));
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
}
