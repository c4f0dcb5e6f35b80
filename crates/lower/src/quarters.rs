//! `mma.m8n8k4` of f16: four multiplies, one in each quarter of a warp.
//!
//! Chips up to sm_75 have an instruction for it, in steps (`matrix_steps.rs`). On others, lanes fetch the rows and
//! columns of their elements from the other lanes of their quarter and multiply them in f32. They accumulate in the
//! order of ptxas, since the order affects the result.

use crate::context::{Lower, Lowered, Words};
use crate::matrix::Fragment;
use crate::sparse::{LOWER_HALVES, UPPER_HALVES};
use oriole_hir::Instruction;
use oriole_ori::{Source, Value};
use oriole_ptx::Type;
use oriole_ptx::word::{MatrixLayout, Position};
use oriole_sass::{Mod, Op};

/// Distance between the lanes of a quarter that have lines 0 to 3 and those that have lines 4 to 7.
const UPPER_LINES: u32 = 16;

impl Lower<'_> {
    /// `mma.m8n8k4` of f16.
    pub fn multiply_quarters(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let layout = |word| MatrixLayout::WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
        let layouts: Vec<MatrixLayout> = i.modifiers.iter().filter_map(layout).collect();
        let [of_a, of_b] = layouts[..] else { return Err(self.unsupported_form(i)) };
        let [mut a, mut b] = [self.fragment(i, 1, Type::B32)?, self.fragment(i, 2, Type::B32)?];
        let c = self.fragment(i, 3, Type::B32)?;
        if self.multiplies_in_steps() {
            let factors = [self.tuple(a), self.tuple(b)];
            let d = self.product_in_steps([to, from], [of_a, of_b], factors, &c);
            return self.write_words(i, &d);
        }
        if of_a == MatrixLayout::Col {
            a = self.transpose_fours(a);
        }
        if of_b == MatrixLayout::Row {
            b = self.transpose_fours(b);
        }
        let [a, b] = [a, b]
            .map(|words| -> Fragment { words.into_iter().map(|word| self.in_register(word)).collect() });
        let d = match (to, from) {
            (Type::F16, Type::F16) => {
                let c = self.singles(c);
                let d = self.own_rows(&a, &b, c);
                self.packed_halves(&d)
            }
            (Type::F32, Type::F16) => {
                let c = self.spread_sums(c);
                self.spread_products(&a, &b, c)
            }
            (Type::F32, Type::F32) => self.spread_products(&a, &b, c),
            _ => return Err(self.unsupported_form(i)),
        };
        self.write_words(i, &d)
    }

    /// Writes the words of the result.
    pub fn write_words(&mut self, i: &Instruction, d: &Words) -> Lowered {
        let elements = self.elements(self.operand(i, 0)?);
        let parts = d.iter().map(|&v| [Source::value(v)].into_iter().collect()).collect();
        self.write_all(&elements, Type::B32, parts)
    }

    /// A condition: some of these bits are set in the lane id.
    pub fn lane_has(&mut self, lane: Value, bits: u32) -> Value {
        let (masked, p) = (self.b.r(), self.b.p());
        self.b.and(masked, lane, bits);
        self.b.isetp(p, Mod::NE, true, masked, Source::rz());
        p
    }

    /// Transposes four 16-bit elements of each of four lanes: lane `l` gets element `l` of all four. First lanes two
    /// apart exchange words, then neighbours exchange halves.
    fn transpose_fours(&mut self, words: Fragment) -> Fragment {
        let lane = self.lane_number();
        let [a, b] = [words[0].clone(), words[1].clone()].map(|word| self.value_of(word));
        let second_pair = self.lane_has(lane, 2);
        let sent = self.b.r();
        self.b.sel(sent, a, b, second_pair);
        let got = self.of_lane(Mod::BFLY, sent.into(), Source::literal(2));
        let [even, odd] = [self.b.r(), self.b.r()];
        self.b.sel(even, got, a, second_pair);
        self.b.sel(odd, b, got, second_pair);
        let is_odd = self.lane_has(lane, 1);
        let [own_half, other_half] = [(UPPER_HALVES, LOWER_HALVES), (LOWER_HALVES, UPPER_HALVES)]
            .map(|(yes, no)| self.constant_by(is_odd, yes, no));
        let [own, sent] = [self.b.r(), self.b.r()];
        self.b.prmt(own, even, own_half, odd);
        self.b.prmt(sent, even, other_half, odd);
        let got = self.of_lane(Mod::BFLY, sent.into(), Source::literal(1));
        // The lane with the even id comes first.
        let mut transposed = Fragment::new();
        for (swapped, straight) in [(0x1054, LOWER_HALVES), (0x3276, UPPER_HALVES)] {
            let selector = self.constant_by(is_odd, swapped, straight);
            let d = self.b.r();
            self.b.prmt(d, own, selector, got);
            transposed.push(d.into());
        }
        transposed
    }

    /// The lane id masked with `kept`, plus `more`.
    pub fn lane_of(&mut self, lane: Value, kept: u32, more: u32) -> Value {
        let [masked, d] = [self.b.r(), self.b.r()];
        self.b.and(masked, lane, kept);
        self.b.iadd3(d, masked, more, Source::rz());
        d
    }

    /// The four terms of a line in a lane, as f32.
    fn terms_of(&mut self, words: &Fragment, lane: Value) -> Fragment {
        let words: Fragment =
            words.iter().map(|word| self.of_lane(Mod::IDX, word.clone(), lane.into()).into()).collect();
        self.singles(words)
    }

    /// A row of the result in each lane: the last two terms are added before the first two.
    fn own_rows(&mut self, a: &Fragment, b: &Fragment, c: Fragment) -> Words {
        let lane = self.lane_number();
        let a = self.singles(a.clone());
        let mut d = Words::new();
        for (column, c) in (0..8u32).zip(c) {
            let from = self.lane_of(lane, 0xc, column % 4 + column / 4 * UPPER_LINES);
            let b = self.terms_of(b, from);
            let mut sum = c;
            for first in [2, 0] {
                let [product, pair, next] = [self.b.r(), self.b.r(), self.b.r()];
                self.op(Op::FMUL, &[], product, [a[first].clone(), b[first].clone()]);
                self.op(Op::FFMA, &[], pair, [a[first + 1].clone(), b[first + 1].clone(), product.into()]);
                self.op(Op::FADD, &[], next, [sum, pair.into()]);
                sum = next.into();
            }
            d.push(self.value_of(sum));
        }
        d
    }

    /// Rows and columns of a lane's elements of an f32 accumulator: element `n` is in row `(n & 2) + (lane & 1)` and
    /// column `(n & 4) + (lane & 2) + (n & 1)`, four rows further down in the upper half of the warp.
    fn spread_products(&mut self, a: &Fragment, b: &Fragment, c: Fragment) -> Words {
        let lane = self.lane_number();
        let rows = [0, 2].map(|more| {
            let from = self.lane_of(lane, 0x1d, more);
            self.terms_of(a, from)
        });
        let columns = [0, 1, UPPER_LINES, UPPER_LINES + 1].map(|more| {
            let from = self.lane_of(lane, 0xe, more);
            self.terms_of(b, from)
        });
        let mut d = Words::new();
        for (number, c) in c.into_iter().enumerate() {
            let (row, column) = (&rows[number / 2 % 2], &columns[number / 4 * 2 + number % 2]);
            let mut sum = Source::rz();
            for (a, b) in row.iter().zip(column) {
                let next = self.b.r();
                self.op(Op::FFMA, &[], next, [a.clone(), b.clone(), sum]);
                sum = next.into();
            }
            let (c, whole) = (self.in_register(c), self.b.r());
            self.op(Op::FADD, &[], whole, [c, sum]);
            d.push(whole);
        }
        d
    }

    /// Converts an f16 accumulator, of which a lane has a row, to the layout of an f32 one.
    fn spread_sums(&mut self, c: Fragment) -> Fragment {
        let lane = self.lane_number();
        let c: Fragment = c.into_iter().map(|word| self.in_register(word)).collect();
        let upper = self.lane_has(lane, 2);
        let rows = [0, 2].map(|more| self.lane_of(lane, 0x1d, more));
        let mut words = Fragment::new();
        for number in [0usize, 2, 4, 6] {
            let row = rows[number / 2 % 2];
            let [near, far] =
                [0, 1].map(|beside| self.of_lane(Mod::IDX, c[number / 4 * 2 + beside].clone(), row.into()));
            let word = self.b.r();
            self.b.sel(word, far, near, upper);
            words.push(word.into());
        }
        self.singles(words)
    }
}
