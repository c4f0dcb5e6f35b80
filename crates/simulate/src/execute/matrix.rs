//! MMAs of a warp, and the transposition of small matrices.
//!
//! Operand 0 is the result, then the left and the right factor and the accumulator. Elements are located by row and
//! column; sums are computed in f64, which holds every term and every sum exactly.

use super::context::Context;
use super::double;
use super::float::rounding;
use crate::launch::Fault;
use crate::number::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Format, Round, TF32};
use crate::warp::Lanes;
use crate::widths::matrix_shape;
use oriole_chip::MatrixUnit;
use oriole_sass::register::RZ;
use oriole_sass::{Mod, Mods, Op, OperandKind};

/// A matrix as the registers of a warp hold it.
struct Fragment {
    registers: Vec<Lanes>,
    /// Bits of an element.
    bits: u32,
}

/// Rows of the result, and columns of the left factor. The result has eight columns.
struct Shape {
    rows: usize,
    depth: usize,
}

const COLUMNS: usize = 8;

/// The input of inactive lanes: NaN in any floating-point format, and an unlikely integer.
const ABSENT: u32 = 0x7fff_7fff;

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    match context.instruction.op {
        Op::MOVM => transpose(context),
        Op::DMMA => doubles(context),
        Op::IMMA => integers(context),
        Op::BMMA => bits(context),
        _ => floats(context),
    }
}

/// Rows, depth and result from the modifier that spells the shape.
fn shape(context: &Context) -> Result<Shape, Fault> {
    let mods = &context.instruction.mods;
    let spells = mods.iter().find(|&modifier| matrix_shape(&Mods::of(&[modifier])).is_some());
    spells
        .filter(|&modifier| context.has(modifier))
        .and_then(|_| matrix_shape(mods))
        .map(|(rows, depth)| Shape { rows, depth })
        .ok_or_else(|| context.refuse())
}

/// The place of an element in a fragment.
#[derive(Clone, Copy)]
struct Place {
    lane: usize,
    register: usize,
    /// Its lowest bit.
    shift: usize,
}

impl Fragment {
    /// Operand `index`, a matrix of this many elements.
    fn read(context: &Context, index: usize, elements: usize, bits: u32) -> Result<Fragment, Fault> {
        let count = elements * bits as usize / (32 * 32);
        // All lanes give their part; the input of an inactive lane is undefined.
        let given = |values: Lanes| -> Lanes {
            std::array::from_fn(|lane| if context.active >> lane & 1 == 1 { values[lane] } else { ABSENT })
        };
        let registers = match context.kind(index)? {
            OperandKind::Reg(RZ) => vec![[0; 32]; count],
            OperandKind::Reg(first) => {
                (0..count).map(|at| given(context.warp().read(first.saturating_add(at as u8)))).collect()
            }
            _ => return Err(context.refuse()),
        };
        Ok(Fragment { registers, bits })
    }

    /// An empty result of this many elements.
    fn empty(elements: usize, bits: u32) -> Fragment {
        Fragment { registers: vec![[0; 32]; elements * bits as usize / (32 * 32)], bits }
    }

    /// The place of element `at` in a line of a factor. Lines are rows of the left factor and columns
    /// of the right one.
    fn in_factor(&self, lines: usize, line: usize, at: usize) -> Place {
        let bits = self.bits as usize;
        // A lane has a register, or two for an f64, of every four.
        let (packed, words) = if bits == 64 { (1, 2) } else { (32 / bits, 1) };
        let (block, within) = (at / (4 * packed), at % (4 * packed));
        let register = words * (block * (lines / 8) + line / 8);
        Place { lane: line % 8 * 4 + within / packed, register, shift: within % packed * bits }
    }

    /// The place of an element of the accumulator.
    fn in_sum(&self, row: usize, column: usize) -> Place {
        let bits = self.bits as usize;
        let number = row / 8 * 2 + column % 2;
        Place { lane: row % 8 * 4 + column / 2, register: number * bits / 32, shift: number * bits % 32 }
    }

    fn get(&self, Place { lane, register, shift }: Place) -> u64 {
        let low = u64::from(self.registers[register][lane]) >> shift;
        match self.bits {
            64 => low | u64::from(self.registers[register + 1][lane]) << 32,
            bits => low & ((1 << bits) - 1),
        }
    }

    fn set(&mut self, Place { lane, register, shift }: Place, value: u64) {
        self.registers[register][lane] |= (value as u32) << shift;
        if self.bits == 64 {
            self.registers[register + 1][lane] = (value >> 32) as u32;
        }
    }
}

/// The elements of a row that a sparse left factor keeps: half of them, selected by 2-bit indices.
struct Chosen {
    /// The register of these indices.
    words: Lanes,
    /// The lanes of each four that have them.
    selector: usize,
    /// Bits of an element.
    bits: u32,
}

impl Chosen {
    /// The last operand, or the one before the operands of scale factors.
    fn read(context: &Context, bits: u32) -> Result<Chosen, Fault> {
        let last = context.count() - 1;
        let words = match context.kind(last - if context.has(Mod::SF) { 3 } else { 1 })? {
            OperandKind::Reg(RZ) => [0; 32],
            OperandKind::Reg(register) => context.warp().read(register),
            _ => return Err(context.refuse()),
        };
        let OperandKind::Imm(selector) = context.kind(last)? else { return Err(context.refuse()) };
        Ok(Chosen { words, selector: selector as usize, bits })
    }

    /// The 2-bit index `at` of a row. A lane has four bits for each group of elements: sixteen bits of two rows where
    /// elements have 16 bits or more, else all 32 of one row.
    fn number(&self, row: usize, at: usize, depth: usize) -> usize {
        let group = at / 2;
        let (lane, shift) = if self.bits >= 16 {
            let groups = depth / if self.bits == 32 { 2 } else { 4 };
            (self.selector * groups.div_ceil(4) + group / 4, row / 8 * 16 + group % 4 * 4)
        } else {
            ((self.selector + group / 8) * 2 + row / 8, group % 8 * 4)
        };
        let word = self.words[row % 8 * 4 + lane % 4];
        (word >> (shift + at % 2 * 2) & 3) as usize
    }

    /// The column of the kept element `at` of a row.
    fn column(&self, row: usize, at: usize, depth: usize) -> usize {
        match self.bits {
            // One of two; the index counts halves of elements.
            32 => 2 * at + self.number(row, 2 * at, depth) / 2,
            // Pairs, two of four.
            4 => at / 4 * 8 + 2 * self.number(row, at / 2, depth) + at % 2,
            _ => at / 2 * 4 + self.number(row, at, depth),
        }
    }
}

/// Computes every element of the result from a row, a column and the accumulator, and writes it.
fn multiply(
    context: &mut Context,
    factor_bits: u32,
    sum_bits: u32,
    dot: impl Fn(&[u64], &[u64], u64) -> u64,
) -> Result<(), Fault> {
    multiply_at(context, factor_bits, sum_bits, |_, a, b, c| dot(a, b, c))
}

/// As `multiply`, where the result depends on its row and column as well.
fn multiply_at(
    context: &mut Context,
    factor_bits: u32,
    sum_bits: u32,
    dot: impl Fn([usize; 2], &[u64], &[u64], u64) -> u64,
) -> Result<(), Fault> {
    let Shape { rows, depth } = shape(context)?;
    let chosen = if context.has(Mod::SP) { Some(Chosen::read(context, factor_bits)?) } else { None };
    let kept = if chosen.is_some() { depth / 2 } else { depth };
    // Shapes that decode and do not exist: four lanes cannot divide a line of so few elements.
    if !kept.is_multiple_of(4 * 32usize.div_ceil(factor_bits as usize)) {
        return Err(context.refuse());
    }
    let left = Fragment::read(context, 1, rows * kept, factor_bits)?;
    let right = Fragment::read(context, 2, COLUMNS * depth, factor_bits)?;
    let sum = Fragment::read(context, 3, rows * COLUMNS, sum_bits)?;
    let line = |matrix: &Fragment, lines: usize, line: usize, length: usize| -> Vec<u64> {
        (0..length).map(|at| matrix.get(matrix.in_factor(lines, line, at))).collect()
    };
    let columns: Vec<Vec<u64>> = (0..COLUMNS).map(|column| line(&right, COLUMNS, column, depth)).collect();
    let mut result = Fragment::empty(rows * COLUMNS, sum_bits);
    for row in 0..rows {
        let a = line(&left, rows, row, kept);
        for (column, b) in columns.iter().enumerate() {
            let place = sum.in_sum(row, column);
            let value = match &chosen {
                None => dot([row, column], &a, b, sum.get(place)),
                Some(chosen) => {
                    let b: Vec<u64> = (0..kept).map(|at| b[chosen.column(row, at, depth)]).collect();
                    dot([row, column], &a, &b, sum.get(place))
                }
            };
            result.set(place, value);
        }
    }
    context.write_tuple(0, &result.registers)
}

fn doubles(context: &mut Context) -> Result<(), Fault> {
    let signs: Vec<u64> = (1..4)
        .map(|index| {
            let operand = &context.instruction.operands[index];
            if operand.absolute { None } else { Some(u64::from(operand.negate) << 63) }
        })
        .collect::<Option<_>>()
        .ok_or_else(|| context.refuse())?;
    let round = rounding(context);
    multiply(context, 64, 64, |a, b, c| {
        a.iter()
            .zip(b)
            .fold(c ^ signs[2], |sum, (a, b)| double::fused(a ^ signs[0], b ^ signs[1], sum, round))
    })
}

fn integers(context: &mut Context) -> Result<(), Fault> {
    let has = |modifier| context.has(modifier);
    let four = has(Mod::S4) || has(Mod::U4);
    let bits = if four { 4 } else { 8 };
    let signed = [has(Mod::S8) || has(Mod::S4), has(Mod::S8_2) || has(Mod::S4_2)];
    let saturates = has(Mod::SAT);
    let value = move |bits_of: u64, signed: bool| {
        let half = 1i64 << (bits - 1);
        let value = bits_of as i64;
        if signed && value >= half { value - 2 * half } else { value }
    };
    multiply(context, bits, 32, |a, b, c| {
        let mut sum = i64::from(c as u32 as i32);
        for (a, b) in a.iter().zip(b) {
            sum += value(*a, signed[0]) * value(*b, signed[1]);
        }
        if saturates {
            sum = sum.max(i64::from(i32::MIN)).min(i64::from(i32::MAX));
        }
        u64::from(sum as u32)
    })
}

fn bits(context: &mut Context) -> Result<(), Fault> {
    let differ = context.has(Mod::XOR);
    multiply(context, 1, 32, |a, b, c| {
        let count =
            a.iter().zip(b).filter(|(a, b)| if differ { a != b } else { **a == 1 && **b == 1 }).count();
        u64::from((c as u32).wrapping_add(count as u32))
    })
}

fn floats(context: &mut Context) -> Result<(), Fault> {
    let negated = (1..3).filter(|index| context.instruction.operands[*index].negate).count() == 1;
    let narrow = matches!(context.instruction.op, Op::QMMA | Op::OMMA);
    let (left, right) = match context.instruction.op {
        Op::QMMA | Op::OMMA => (narrow_factor(context, 0), narrow_factor(context, 1)),
        _ if context.has(Mod::BF16) => (BF16, BF16),
        _ if context.has(Mod::TF32) => (TF32, TF32),
        _ => (F16, F16),
    };
    // A `.tf32` factor has the layout of an f32, and where a factor may have eight bits every one has.
    let bytes = context.instruction.op == Op::QMMA;
    let bits = if bytes { 8 } else { left.bits().next_power_of_two() };
    let element = |format: Format, bits: u64| {
        Term::of(format, if bytes && format == E2M1 { bits >> 2 & 0xf } else { bits })
    };
    let sum = if context.has(Mod::F16) && !context.has(Mod::F32) { F16 } else { F32 };
    let unit = context.launch_context.matrix_unit;
    let steps = Steps::new(&unit, bits, narrow).ok_or_else(|| context.refuse())?;
    let scales = if context.has(Mod::SF) { Some(Scales::read(context)?) } else { None };
    multiply_at(context, bits, sum.bits(), |[row, column], a, b, c| {
        let product = |(at, (x, y)): (usize, (&u64, &u64))| {
            let [x, y] = [element(left, *x), element(right, *y)];
            let product = Term { value: x.value * y.value, exponent: x.exponent + y.exponent };
            let product = match &scales {
                Some(scales) => scales.apply(product, [row, column], at * scales.factors / a.len()),
                None => product,
            };
            Term { value: if negated { -product.value } else { product.value }, ..product }
        };
        let terms: Vec<Term> = a.iter().zip(b).enumerate().map(product).collect();
        terms.chunks(steps.depth).fold(c, |c, terms| steps.add(sum, terms, c))
    })
}

/// The format of a factor of eight bits or less: the left one, or the right one.
fn narrow_factor(context: &Context, side: usize) -> Format {
    let rows = [
        ([Mod::E5M2, Mod::E5M2_2], E5M2),
        ([Mod::E3M2, Mod::E3M2_2], E3M2),
        ([Mod::E2M3, Mod::E2M3_2], E2M3),
        ([Mod::E2M1, Mod::E2M1_2], E2M1),
    ];
    rows.into_iter().find(|row| context.has(row.0[side])).map_or(E4M3, |row| row.1)
}

/// The scale factors of an MMA's rows and columns.
struct Scales {
    /// Registers that hold those of the left factor, and of the right one.
    words: [Lanes; 2],
    /// Byte of the left ones, pair of lanes; byte of the right ones, lane.
    places: [usize; 4],
    /// Number of factors of a row.
    factors: usize,
    /// They are exponents.
    powers: bool,
}

impl Scales {
    fn read(context: &Context) -> Result<Scales, Fault> {
        // The selector of a sparse MMA is after them, and the metadata are in the register before those of the left
        // factor.
        let sparse = context.has(Mod::SP);
        let last = context.count() - 1 - usize::from(sparse);
        let places = context.raw(last)?[0] as usize;
        let left = match context.kind(last - 2)? {
            OperandKind::Reg(register) if sparse && register != RZ => {
                context.warp().read(register.saturating_add(1))
            }
            _ => context.raw(last - 2)?,
        };
        let factors = match context.instruction.op {
            Op::QMMA => 1,
            _ if context.has(Mod::_4X) => 4,
            _ => 2,
        };
        Ok(Scales {
            words: [left, context.raw(last - 1)?],
            places: [places & 3, places >> 2 & 1, places >> 3 & 3, places >> 5 & 3],
            factors,
            powers: context.has(Mod::E8),
        })
    }

    /// A scaled term of an element of the result, in a block of its row and column.
    fn apply(&self, term: Term, [row, column]: [usize; 2], block: usize) -> Term {
        // A zero keeps its small exponent, unless a factor is NaN.
        let [byte_a, pair, byte_b, lane] = self.places;
        let left = self.words[0][row % 8 * 4 + 2 * pair + row / 8];
        let right = self.words[1][column * 4 + lane];
        let scale = |word: u32, byte: usize| {
            let first = byte / self.factors * self.factors;
            let bits = u64::from(word >> (8 * (first + block)) & 0xff);
            match self.powers {
                true if bits == 0xff => Term { value: f64::NAN, exponent: ZERO_EXPONENT },
                true => Term { value: 2f64.powi(bits as i32 - 127), exponent: bits as i32 - 127 },
                // The sign bit is ignored.
                false => Term::of(E4M3, bits & 0x7f),
            }
        };
        let [left, right] = [scale(left, byte_a), scale(right, byte_b)];
        if term.value == 0.0 && left.value.is_finite() && right.value.is_finite() {
            return term;
        }
        Term {
            value: term.value * left.value * right.value,
            exponent: term.exponent + left.exponent + right.exponent,
        }
    }
}

/// A value and the exponent of its leading bit in its format.
pub(super) struct Term {
    pub value: f64,
    pub exponent: i32,
}

/// The first power of two beyond the range of an f32.
const F32_END: i32 = 128;

/// The exponent of a zero.
const ZERO_EXPONENT: i32 = -126;

impl Term {
    pub(super) fn of(format: Format, bits: u64) -> Term {
        let value = if format == TF32 {
            // The lowest bits of the f32 are ignored.
            F32.to_f64(bits & !0x1fff)
        } else {
            format.to_f64(bits)
        };
        let exponent = if value == 0.0 {
            ZERO_EXPONENT
        } else {
            let leading = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
            leading.max(format.least_exponent())
        };
        Term { value, exponent }
    }
}

/// The accumulation of terms on a chip.
pub(super) struct Steps {
    /// Terms of a step.
    pub depth: usize,
    /// Number of bits kept below the greatest exponent.
    fraction_bits: u32,
    /// Number of fraction bits that an f32 result keeps.
    kept: Option<u32>,
}

impl Steps {
    /// For factors of `bits` bits; `None` if the chip has no such MMA.
    pub(super) fn new(unit: &MatrixUnit, bits: u32, narrow: bool) -> Option<Steps> {
        let depth = (unit.step_bits / bits) as usize;
        if !narrow {
            return Some(Steps { depth, fraction_bits: unit.fraction_bits, kept: None });
        }
        let kept = unit.narrow_fraction_bits?;
        Some(Steps { depth, fraction_bits: kept, kept: Some(kept) })
    }

    /// One step: the terms and the accumulator, truncated to a common exponent, added and rounded.
    pub(super) fn add(&self, sum: Format, terms: &[Term], c: u64) -> u64 {
        self.add_to(sum, terms, &Term::of(sum, c))
    }

    /// As `add`, with the accumulator as a term.
    pub(super) fn add_to(&self, sum: Format, terms: &[Term], old: &Term) -> u64 {
        let all = || terms.iter().chain([old]);
        // Infinities and NaN follow ordinary addition.
        let plain: f64 = all().map(|term| term.value).sum();
        if all().any(|term| !term.value.is_finite()) {
            return if plain.is_nan() { sum.not_a_number() } else { sum.of_f64(plain, Round::Nearest) };
        }
        let greatest = all().map(|term| term.exponent).max().unwrap_or(ZERO_EXPONENT);
        let unit = 2f64.powi(greatest - self.fraction_bits as i32);
        let total: f64 = all().map(|term| (term.value / unit).trunc()).sum();
        // Rounding toward zero does not prevent overflow.
        let beyond = (total * unit).abs() >= 2f64.powi(F32_END);
        let round = if sum == F16 || beyond { Round::Nearest } else { Round::Zero };
        // An empty sum is a positive zero.
        let result = sum.of_f64(if total == 0.0 { 0.0 } else { total * unit }, round);
        match self.kept {
            Some(kept) if sum == F32 => result & (u64::MAX << F32.fraction_bits().saturating_sub(kept)),
            _ => result,
        }
    }
}

/// `MOVM`: the b16 matrix in a register, transposed.
fn transpose(context: &mut Context) -> Result<(), Fault> {
    if !context.has(Mod::MT88) {
        return Err(context.refuse());
    }
    let source = Fragment::read(context, 1, 64, 16)?;
    let mut result = Fragment::empty(64, 16);
    for row in 0..8 {
        for column in 0..8 {
            result.set(source.in_factor(8, row, column), source.get(source.in_factor(8, column, row)));
        }
    }
    context.write(0, &result.registers[0])
}
