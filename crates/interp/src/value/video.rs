//! Video instructions: scalar ones with saturation and a second operation, and the two- and four-lane forms.

use super::compare::{Comparison, Order};
use super::integer::Kind;

/// The operation of a video instruction on extended operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// `vmad`: right shift of the sum, and whether one is added (`.po`).
    MultiplyAdd(u32, bool),
}

/// The operation of a video instruction on its result and the third operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Second {
    None,
    Add,
    Minimum,
    Maximum,
}

/// A part of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its lowest bit.
    pub shift: u32,
    /// Its width.
    pub bits: u32,
}

impl Piece {
    /// All of it.
    pub const WHOLE: Piece = Piece { shift: 0, bits: 32 };
}

/// A video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoOperation {
    /// The operation.
    pub kind: VideoKind,
    /// Lanes: 1, 2 or 4.
    pub lanes: u32,
    /// Signed result, first and second operand.
    pub signed: [bool; 3],
    /// Saturate the result.
    pub saturate: bool,
    /// Second operation.
    pub second: Second,
    /// Parts of the operands of a scalar one.
    pub parts: [Piece; 2],
    /// The part of the third operand that the result of a scalar one replaces.
    pub target: Option<Piece>,
    /// Operands of a multiply-add whose sign is flipped.
    pub negated: [bool; 3],
    /// For each lane the index of its part among those of both operands, once for each operand.
    pub picks: [[u8; 4]; 2],
    /// Lanes that are written.
    pub written: u32,
}

impl VideoOperation {
    /// The 32-bit result.
    pub fn evaluate(&self, a: u64, b: u64, c: u64) -> u64 {
        if self.lanes == 1 { self.scalar(a, b, c) } else { self.vector(a, b, c) }
    }

    fn scalar(&self, a: u64, b: u64, c: u64) -> u64 {
        let operand = |at: usize, word: u64| {
            let Piece { shift, bits } = self.parts[at];
            Kind { bits, signed: self.signed[at + 1] }.extend(word >> shift)
        };
        let value = self.lane(operand(0, a), operand(1, b), c);
        let value = match self.kind {
            // A value shifted to the left keeps 34 bits, the highest as the sign.
            VideoKind::ShiftLeft(_) if self.saturate => Kind { bits: 34, signed: true }.extend(value as u64),
            _ => value,
        };
        let target = self.target.unwrap_or(Piece::WHOLE);
        let signed = match self.kind {
            VideoKind::MultiplyAdd(..) => self.sum_is_signed(),
            _ => self.signed[0],
        };
        let value = if self.saturate { Kind { bits: target.bits, signed }.clamp(value) } else { value };
        let whole = Kind { bits: 32, signed: self.signed[0] };
        // The second operation works on the result before truncation.
        let long = Kind { bits: 64, signed: self.signed[0] }.extend(value as u64);
        let result = match self.second {
            Second::None => value,
            Second::Add => value + whole.extend(c),
            Second::Minimum => long.min(whole.extend(c)),
            Second::Maximum => long.max(whole.extend(c)),
        };
        let mask = Kind { bits: target.bits, signed: false }.mask() << target.shift;
        let others = if self.target.is_some() { c & !mask & 0xffff_ffff } else { 0 };
        (result as u64) << target.shift & mask | others
    }

    fn vector(&self, a: u64, b: u64, c: u64) -> u64 {
        let bits = 32 / self.lanes;
        let kind = |signed| Kind { bits, signed };
        let [result, first, second] = self.signed.map(kind);
        let both = b << 32 | a & 0xffff_ffff;
        let adds = self.second == Second::Add;
        let mut packed = 0;
        let mut sum: i128 = 0;
        for lane in 0..self.lanes {
            let [x, y] = [0, 1].map(|of: usize| both >> (u32::from(self.picks[of][lane as usize]) * bits));
            let value = self.lane(first.extend(x), second.extend(y), c);
            let value = if self.saturate { result.clamp(value) } else { value };
            let written = self.written >> lane & 1 != 0;
            sum += if written { value } else { 0 };
            let kept = if written { value as u64 } else { c >> (lane * bits) };
            packed |= (kept & result.mask()) << (lane * bits);
        }
        let whole = Kind { bits: 32, signed: self.signed[0] };
        if adds { (sum + whole.extend(c)) as u64 & 0xffff_ffff } else { packed }
    }

    /// Whether the sum of a multiply-add is signed.
    fn sum_is_signed(&self) -> bool {
        let [a, b, c] = self.negated;
        self.signed[1] || self.signed[2] || a != b || c
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
                let sign = |negative: bool, value: i128| if negative { -value } else { value };
                let addend = Kind { bits: 32, signed: self.sum_is_signed() }.extend(c);
                let product = sign(self.negated[0] != self.negated[1], a * b);
                (product + sign(self.negated[2], addend) + i128::from(plus_one)) >> shift
            }
        }
    }
}

/// The shift amount is unsigned whatever the type of the operand says.
fn shift_amount(b: i128, clamp: bool) -> u32 {
    let amount = b as u32;
    if clamp { amount.min(32) } else { amount & 31 }
}
