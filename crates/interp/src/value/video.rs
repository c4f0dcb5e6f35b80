//! Video instructions: scalar ones with saturation and a second operation, and the two- and four-lane forms.

use super::compare::{Comparison, Order};
use super::integer::Kind;

/// What a video instruction computes on extended operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum VideoKind {
    Add,
    Subtract,
    AbsoluteDifference,
    Minimum,
    Maximum,
    Average,
    /// `true`: clamp the amount, otherwise wrap it.
    ShiftLeft(bool),
    ShiftRight(bool),
    Set(Order),
    /// `vmad`: shift of the sum to the right, and whether one is added (`.po`).
    MultiplyAdd(u32, bool),
}

/// What a video instruction does with its result and the third operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Second {
    None,
    Add,
    Minimum,
    Maximum,
}

/// A video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoOperation {
    /// What it computes.
    pub kind: VideoKind,
    /// Lanes: 1, 2 or 4.
    pub lanes: u32,
    /// Signed result, first and second operand.
    pub signed: [bool; 3],
    /// Saturate the result.
    pub saturate: bool,
    /// Second operation.
    pub second: Second,
}

impl VideoOperation {
    /// The 32-bit result.
    pub fn evaluate(&self, a: u64, b: u64, c: u64) -> u64 {
        let bits = 32 / self.lanes;
        let kind = |signed| Kind { bits, signed };
        let [result, first, second] = self.signed.map(kind);
        let mut packed = 0;
        let mut sum: i128 = 0;
        for lane in 0..self.lanes {
            let shift = lane * bits;
            let value = self.lane(first.extend(a >> shift), second.extend(b >> shift), c);
            let value = match self.kind {
                // Of a value shifted to the left 34 bits are seen, the highest as the sign.
                VideoKind::ShiftLeft(_) if self.saturate => {
                    Kind { bits: 34, signed: true }.extend(value as u64)
                }
                _ => value,
            };
            let value = if self.saturate { result.clamp(value) } else { value };
            // The second operation works on what is not cut to the width yet.
            sum += value;
            packed |= (value as u64 & result.mask()) << shift;
        }
        let long = Kind { bits: 64, signed: self.signed[0] }.extend(sum as u64);
        let whole = Kind { bits: 32, signed: self.signed[0] };
        match self.second {
            Second::None => packed,
            Second::Add => (sum + whole.extend(c)) as u64 & 0xffff_ffff,
            Second::Minimum => long.min(whole.extend(c)) as u64 & 0xffff_ffff,
            Second::Maximum => long.max(whole.extend(c)) as u64 & 0xffff_ffff,
        }
    }

    fn lane(&self, a: i128, b: i128, c: u64) -> i128 {
        match self.kind {
            VideoKind::Add => a + b,
            VideoKind::Subtract => a - b,
            VideoKind::AbsoluteDifference => (a - b).abs(),
            VideoKind::Minimum => a.min(b),
            VideoKind::Maximum => a.max(b),
            VideoKind::Average => (a + b + i128::from(a + b >= 0)) >> 1,
            VideoKind::ShiftLeft(clamp) => a << shift_amount(b, clamp),
            VideoKind::ShiftRight(clamp) => a >> shift_amount(b, clamp),
            VideoKind::Set(order) => {
                let ordering = a.cmp(&b);
                i128::from(Comparison::integers(order, ordering))
            }
            VideoKind::MultiplyAdd(shift, plus_one) => {
                let addend = Kind { bits: 32, signed: self.signed[1] || self.signed[2] }.extend(c);
                (a * b + addend + i128::from(plus_one)) >> shift
            }
        }
    }
}

/// The shift amount is unsigned whatever the type of the operand says.
fn shift_amount(b: i128, clamp: bool) -> u32 {
    let amount = b as u32;
    if clamp { amount.min(32) } else { amount & 31 }
}
