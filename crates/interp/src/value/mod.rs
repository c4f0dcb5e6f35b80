//! The semantics of single instructions: pure functions from operand bits to result bits.
//!
//! The meaning of an instruction can be read, and tested, without an execution state. No lane, no memory and no operand
//! decoding may enter: an operation is data, its operands are 64-bit patterns.

pub mod approximate;
pub mod compare;
pub mod convert;
pub mod float;
pub mod integer;
pub mod narrow;
pub mod random;
pub mod soft;
pub mod video;

use approximate::Function;
use compare::{Combine, Comparison};
use convert::Conversion;
use float::{FloatOperation, Mode};
use integer::{IntegerOperation, Kind};
use soft::Format;
use video::VideoOperation;

/// An operation with up to four operands and one result.
#[derive(Clone, PartialEq, Debug)]
pub enum Operation {
    /// The first operand as it is.
    Copy,
    /// Integer arithmetic and bit manipulation on one value.
    Integer(IntegerOperation, Kind),
    /// Integer arithmetic on each 16-bit half.
    IntegerHalves(IntegerOperation, Kind),
    /// Integer arithmetic on each byte of a word.
    IntegerBytes(IntegerOperation, Kind),
    /// Floating-point arithmetic; `true`: on each 16-bit half.
    Float(FloatOperation, Format, Mode, bool),
    /// Floating-point arithmetic on each of two f32 values.
    FloatPair(FloatOperation, Mode),
    /// Floating-point arithmetic on f32 values, of which all but the last come as this format.
    FloatMixed(FloatOperation, Format, Mode),
    /// Add, multiply or FMA on each of four narrow values.
    FourNarrow(FourNarrow),
    /// The min or max of three f32 values; `true`: of their magnitudes.
    FloatOfThree(FloatOperation, Mode, bool),
    /// An approximated function; `true`: on each 16-bit half.
    Approximate(Function, Format, bool, bool),
    /// `cvt`
    Convert(Conversion),
    /// `set`: the comparison of a and b, combined with predicate c, as a value.
    Set {
        /// The comparison.
        comparison: Comparison,
        /// The use of the third operand.
        combine: Combine,
        /// The value of true.
        truth: u64,
    },
    /// `set` on f16x2 pairs; `truth` per half.
    SetHalves {
        /// The comparison.
        comparison: Comparison,
        /// The use of the third operand.
        combine: Combine,
        /// The value of true in one half.
        truth: u64,
    },
    /// `selp`, and `slct` once its condition is known: a if c, else b.
    Select,
    /// `slct` with an `.s32` selector.
    SelectSign,
    /// `slct` with an `.f32` selector; `true`: subnormal selectors count as zero.
    SelectFloat(bool),
    /// `testp`
    Test(float::Property, Format),
    /// A video instruction.
    Video(VideoOperation),
    /// Packs operands of this many bits each, the first lowest.
    Pack(u32),
}

impl Operation {
    /// The result's bits. A signed result narrower than 64 bits is sign-extended where the instruction may write a
    /// wider register, so that a writer only has to cut.
    #[inline]
    pub fn evaluate(&self, operands: [u64; 4]) -> u64 {
        let [a, b, c, d] = operands;
        match self {
            Operation::Copy => a,
            Operation::Integer(operation, kind) => integer::evaluate(*operation, *kind, operands),
            Operation::IntegerHalves(operation, kind) => halves(|shift| {
                integer::evaluate(*operation, *kind, [a >> shift, b >> shift, c >> shift, d]) & 0xffff
            }),
            Operation::IntegerBytes(operation, kind) => (0..4).fold(0, |word, byte| {
                let shift = 8 * byte;
                let operands = [a >> shift, b >> shift, c >> shift, d];
                word | (integer::evaluate(*operation, *kind, operands) & 0xff) << shift
            }),
            Operation::FourNarrow(operation) => operation.evaluate(a, b, c),
            Operation::Float(operation, format, mode, false) => {
                float::evaluate(*operation, *format, *mode, a, b, c)
            }
            Operation::Float(operation, format, mode, true) => halves(|shift| {
                float::evaluate(
                    *operation,
                    *format,
                    *mode,
                    a >> shift & 0xffff,
                    b >> shift & 0xffff,
                    c >> shift & 0xffff,
                )
            }),
            Operation::FloatPair(operation, mode) => {
                let single = |n: u64, shift: u32| n >> shift & u64::from(u32::MAX);
                let half = |shift| {
                    let [a, b, c] = [a, b, c].map(|n| single(n, shift));
                    float::evaluate(*operation, Format::F32, *mode, a, b, c)
                };
                half(0) | half(32) << 32
            }
            Operation::FloatMixed(operation, from, mode) => {
                let wide = |n| soft::convert(*from, Format::F32, n, mode.round);
                let (b, c) = match operation {
                    FloatOperation::MultiplyAdd => (wide(b), c),
                    _ => (b, 0),
                };
                float::evaluate(*operation, Format::F32, *mode, wide(a), b, c)
            }
            Operation::FloatOfThree(operation, mode, magnitudes) => {
                let cleared = if *magnitudes { Format::F32.sign() } else { 0 };
                [b, c].into_iter().fold(a & !cleared, |extreme, next| {
                    float::evaluate(*operation, Format::F32, *mode, extreme, next & !cleared, 0)
                })
            }
            Operation::Approximate(function, format, flush, false) => {
                approximate::evaluate(*function, *format, *flush, a)
            }
            Operation::Approximate(function, format, flush, true) => {
                halves(|shift| approximate::evaluate(*function, *format, *flush, a >> shift & 0xffff))
            }
            Operation::Convert(conversion) => convert::evaluate(conversion, a, b, c),
            Operation::Set { comparison, combine, truth } => {
                if combine.apply(comparison.holds(a, b), c & 1 != 0) { *truth } else { 0 }
            }
            Operation::SetHalves { comparison, combine, truth } => halves(|shift| {
                if combine.apply(comparison.holds(a >> shift & 0xffff, b >> shift & 0xffff), c & 1 != 0) {
                    *truth
                } else {
                    0
                }
            }),
            Operation::Select => {
                if c & 1 != 0 {
                    a
                } else {
                    b
                }
            }
            Operation::SelectSign => {
                if (c as u32 as i32) >= 0 {
                    a
                } else {
                    b
                }
            }
            Operation::SelectFloat(flush) => {
                let selector = if *flush { soft::flush(Format::F32, c & 0xffff_ffff) } else { c };
                if f32::from_bits(selector as u32) >= 0.0 { a } else { b }
            }
            Operation::Test(property, format) => u64::from(property.holds(*format, a)),
            Operation::Video(operation) => operation.evaluate(a, b, c),
            Operation::Pack(bits) => operands.iter().rev().fold(0, |all, part| {
                if *bits >= 64 { *part } else { all << bits | part & ((1 << bits) - 1) }
            }),
        }
    }
}

/// Arithmetic on each of four FP8 or narrower values, rounded once, to nearest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FourNarrow {
    /// Adds or subtracts, multiplies, or both.
    pub operation: FloatOperation,
    /// The format of the result, and of an addend.
    pub to: soft::Eighth,
    /// The format of the first operand, and of a second factor.
    pub factors: [convert::Few; 2],
    /// Overflow becomes the greatest value.
    pub finite: bool,
}

impl FourNarrow {
    fn evaluate(&self, a: u64, b: u64, c: u64) -> u64 {
        let [first, second] = self.factors;
        let addend = convert::Few::Eighth(self.to);
        let part = |from: convert::Few, word: u64, at: u32| {
            let stride = from.stride();
            from.value(word >> (stride * at) & ((1 << stride) - 1))
        };
        (0..4).fold(0, |word, at| {
            let x = part(first, a, at);
            // Products have eight bits, and sums below the greatest value no more than 53, so that f64 holds them
            // exactly.
            let exact = match self.operation {
                FloatOperation::Add => x + part(addend, b, at),
                FloatOperation::Subtract => x - part(addend, b, at),
                FloatOperation::Multiply => x * part(second, b, at),
                _ => x * part(second, b, at) + part(addend, c, at),
            };
            word | self.rounded(exact) << (8 * at)
        })
    }

    fn rounded(&self, exact: f64) -> u64 {
        let nearest = soft::to_eighth(self.to, exact, rustc_apfloat::Round::NearestTiesToEven);
        if self.finite {
            return nearest;
        }
        // This format has no infinity; the midpoint to the next value beyond its range goes to the even one.
        match self.to {
            soft::Eighth::E4M3 if exact.abs() > 464.0 => 0x7f,
            soft::Eighth::E5M2 if exact.abs() >= 61440.0 => 0x7c | u64::from(exact < 0.0) << 7,
            _ => nearest,
        }
    }
}

/// Both 16-bit halves of a result.
fn halves(half: impl Fn(u32) -> u64) -> u64 {
    half(0) & 0xffff | (half(16) & 0xffff) << 16
}
