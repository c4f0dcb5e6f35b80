//! Integer arithmetic, bit fields, shifts, permutations and dot products.

/// Width and signedness of an integer operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// Bits of the operands: 8, 16, 32 or 64.
    pub bits: u32,
    /// Signed operands.
    pub signed: bool,
}

impl Kind {
    /// The operand, extended to a mathematical integer.
    #[inline]
    pub fn extend(self, value: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed {
            i128::from((value << unused) as i64 >> unused)
        } else {
            i128::from(value << unused >> unused)
        }
    }

    /// The operand, extended to 64 bits.
    #[inline]
    pub fn widen(self, value: u64) -> u64 {
        let unused = 64 - self.bits;
        if self.signed { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
    }

    /// The order of two operands.
    #[inline]
    pub fn order(self, a: u64, b: u64) -> std::cmp::Ordering {
        let (a, b) = (self.widen(a), self.widen(b));
        if self.signed { (a as i64).cmp(&(b as i64)) } else { a.cmp(&b) }
    }

    /// All ones in the width.
    #[inline]
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Smallest value.
    pub fn minimum(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    /// Largest value.
    pub fn maximum(self) -> i128 {
        if self.signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }

    /// The nearest value that the width holds.
    pub fn clamp(self, value: i128) -> i128 {
        value.clamp(self.minimum(), self.maximum())
    }
}

/// The part of a product that an instruction keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The low half.
    Low,
    /// The high half.
    High,
    /// All of it, in twice the width.
    Wide,
}

/// The interpretation of the selector of `prmt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermuteMode {
    Index,
    ForwardFour,
    BackwardFour,
    ReplicateByte,
    EdgeClampLeft,
    EdgeClampRight,
    ReplicateHalf,
}

/// An integer operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerOperation {
    Add,
    Subtract,
    AddSaturate,
    SubtractSaturate,
    Multiply(Part),
    /// `mad`
    MultiplyAdd(Part),
    /// `clmad`: carry-less multiply; true for the upper half.
    CarrylessMultiplyAdd(bool),
    /// `mad.hi.sat`
    MultiplyAddSaturate,
    Multiply24(Part),
    MultiplyAdd24(Part),
    MultiplyAdd24Saturate,
    Divide,
    Remainder,
    Absolute,
    Negate,
    Minimum,
    Maximum,
    MinimumRelu,
    MaximumRelu,
    /// `sad`
    AbsoluteDifferenceAdd,
    And,
    Or,
    Xor,
    Not,
    /// `cnot`
    IsZero,
    ShiftLeft,
    ShiftRight,
    ExtractField,
    InsertField,
    FindLeading,
    /// `bfind.shiftamt`
    FindLeadingShift,
    /// `bmsk`; `true`: clamp
    Mask(bool),
    Reverse,
    CountLeadingZeros,
    CountOnes,
    /// `fns`
    FindNthSet,
    /// `szext`; `true`: clamp
    ExtendFrom(bool),
    /// `shf.l`; `true`: clamp
    FunnelLeft(bool),
    /// `shf.r`; `true`: clamp
    FunnelRight(bool),
    Permute(PermuteMode),
    /// `lop3` with this truth table.
    Logic3(u8),
    /// `dp4a` with the signedness of a and b.
    Dot4(bool, bool),
    /// `dp2a` with the signedness of a and b; `true`: the high bytes of b.
    Dot2(bool, bool, bool),
}

/// Computes the operation on the low bits of its operands.
#[inline]
pub fn evaluate(operation: IntegerOperation, kind: Kind, [a, b, c, d]: [u64; 4]) -> u64 {
    use IntegerOperation::*;
    let x = || kind.extend(a);
    let y = || kind.extend(b);
    let mask = kind.mask();
    match operation {
        // The common cases come first and without wide integers: they are most of the executed instructions.
        Add => a.wrapping_add(b) & mask,
        Subtract => a.wrapping_sub(b) & mask,
        And => a & b & mask,
        Or => (a | b) & mask,
        Xor => (a ^ b) & mask,
        Not => !a & mask,
        Multiply(Part::Low) => a.wrapping_mul(b) & mask,
        MultiplyAdd(Part::Low) => a.wrapping_mul(b).wrapping_add(c) & mask,
        ShiftLeft => {
            let amount = b as u32;
            if amount >= kind.bits { 0 } else { a << amount & mask }
        }
        ShiftRight => shift_right(kind, a, b as u32) & mask,
        AddSaturate => kind.clamp(x() + y()) as u64 & mask,
        SubtractSaturate => kind.clamp(x() - y()) as u64 & mask,
        Multiply(Part::High) => high(kind, x(), y()) & mask,
        Multiply(Part::Wide) if kind.bits <= 32 => {
            kind.widen(a).wrapping_mul(kind.widen(b)) & (mask << kind.bits | mask)
        }
        MultiplyAdd(Part::Wide) if kind.bits <= 32 => {
            kind.widen(a).wrapping_mul(kind.widen(b)).wrapping_add(c) & (mask << kind.bits | mask)
        }
        Multiply(Part::Wide) => (x() * y()) as u64 & (mask << kind.bits | mask),
        MultiplyAdd(Part::High) => high(kind, x(), y()).wrapping_add(c) & mask,
        MultiplyAdd(Part::Wide) => (x() * y()).wrapping_add(c as i128) as u64 & (mask << kind.bits | mask),
        CarrylessMultiplyAdd(upper) => {
            // Each bit of the second factor adds the first one, shifted there.
            let rows = (0..64).filter(|place| b >> place & 1 == 1).map(|place| u128::from(a) << place);
            let product = rows.fold(0, |sum, row| sum ^ row);
            (if upper { (product >> 64) as u64 } else { product as u64 }) ^ c
        }
        MultiplyAddSaturate => {
            let product = kind.extend(high(kind, x(), y()));
            kind.clamp(product + kind.extend(c)) as u64 & mask
        }
        Multiply24(part) => product24(kind, a, b, part),
        MultiplyAdd24(part) => product24(kind, a, b, part).wrapping_add(c) & mask,
        MultiplyAdd24Saturate => {
            kind.clamp(kind.extend(product24(kind, a, b, Part::High)) + kind.extend(c)) as u64 & mask
        }
        // Division by zero has no defined result; all ones, and the dividend as the remainder, is what the
        // usual reciprocal sequence gives.
        Divide => x().checked_div(y()).map_or(mask, |quotient| quotient as u64 & mask),
        Remainder => x().checked_rem(y()).map_or(a, |remainder| remainder as u64) & mask,
        Absolute => x().unsigned_abs() as u64 & mask,
        Negate => (-x()) as u64 & mask,
        Minimum => (if kind.order(a, b).is_le() { a } else { b }) & mask,
        Maximum => (if kind.order(a, b).is_ge() { a } else { b }) & mask,
        MinimumRelu => x().min(y()).max(0) as u64 & mask,
        MaximumRelu => x().max(y()).max(0) as u64 & mask,
        AbsoluteDifferenceAdd => c.wrapping_add((x() - y()).unsigned_abs() as u64) & mask,
        IsZero => u64::from(a & mask == 0),
        ExtractField => extract(kind, a & mask, b, c),
        InsertField => insert(kind, a, b & mask, c, d),
        FindLeading => find_leading(kind, a).map_or(0xffff_ffff, u64::from),
        FindLeadingShift => find_leading(kind, a).map_or(0xffff_ffff, |top| u64::from(kind.bits - 1 - top)),
        Mask(clamp) => ((1u64 << limited(b, clamp)) - 1) << limited(a, clamp) & 0xffff_ffff,
        Reverse => (a & mask).reverse_bits() >> (64 - kind.bits),
        CountLeadingZeros => u64::from((a & mask).leading_zeros() - (64 - kind.bits)),
        CountOnes => u64::from((a & mask).count_ones()),
        FindNthSet => nth_set(a as u32, b as u32, c as u32 as i32),
        ExtendFrom(clamp) => match limited(b, clamp) {
            0 => 0,
            width => Kind { bits: width, signed: kind.signed }.extend(a) as u64 & mask,
        },
        FunnelLeft(clamp) => ((b & 0xffff_ffff) << 32 | a & 0xffff_ffff) << limited(c, clamp) >> 32,
        FunnelRight(clamp) => ((b & 0xffff_ffff) << 32 | a & 0xffff_ffff) >> limited(c, clamp) & 0xffff_ffff,
        Permute(mode) => permute(mode, a as u32, b as u32, c as u32),
        Logic3(table) => logic3(table, a, b, c) & mask,
        Dot4(signed_a, signed_b) => {
            let kinds = [Kind { bits: 8, signed: signed_a }, Kind { bits: 8, signed: signed_b }];
            c.wrapping_add(dot_product(4, kinds, a, b)) & 0xffff_ffff
        }
        Dot2(signed_a, signed_b, upper) => {
            let kinds = [Kind { bits: 16, signed: signed_a }, Kind { bits: 8, signed: signed_b }];
            c.wrapping_add(dot_product(2, kinds, a, if upper { b >> 16 } else { b })) & 0xffff_ffff
        }
    }
}

/// A shift by the whole width or more leaves the sign alone, or nothing.
fn shift_right(kind: Kind, a: u64, amount: u32) -> u64 {
    let amount = amount.min(kind.bits);
    let value = kind.widen(a);
    let (first, second) = (amount.min(63), amount.saturating_sub(63));
    if kind.signed { (value as i64 >> first) as u64 } else { value >> first >> second }
}

/// An amount of bits of a word: at most 32, or modulo 32.
fn limited(amount: u64, clamp: bool) -> u32 {
    if clamp { (amount as u32).min(32) } else { amount as u32 & 31 }
}

/// The highest bit that differs from the sign.
fn find_leading(kind: Kind, a: u64) -> Option<u32> {
    let value = kind.extend(a);
    let value = if value < 0 { !value } else { value } as u64 & kind.mask();
    value.checked_ilog2()
}

/// Any function of three bits, for all bits at a time: bit `4a + 2b + c` of the table is the result.
fn logic3(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut result = 0;
    for row in (0..8u8).filter(|row| table >> row & 1 != 0) {
        let pick = |bit: u8, value: u64| if row & bit != 0 { value } else { !value };
        result |= pick(4, a) & pick(2, b) & pick(1, c);
    }
    result
}

/// The dot product of the first `count` parts of two words.
fn dot_product(count: u32, [ka, kb]: [Kind; 2], a: u64, b: u64) -> u64 {
    (0..count).map(|i| ka.extend(a >> (ka.bits * i)) * kb.extend(b >> (kb.bits * i))).sum::<i128>() as u64
}

/// The upper half of the product of two extended operands.
fn high(kind: Kind, x: i128, y: i128) -> u64 {
    if kind.bits == 64 && !kind.signed {
        // The product of two unsigned 64-bit values needs all 128 bits and no sign.
        return ((x as u128 * y as u128) >> 64) as u64;
    }
    ((x * y) >> kind.bits) as u64
}

/// The product of two 24-bit operands: its low 32 bits, or bits 16 to 47.
fn product24(kind: Kind, a: u64, b: u64, part: Part) -> u64 {
    let narrow = Kind { bits: 24, signed: kind.signed };
    let product = narrow.extend(a) * narrow.extend(b);
    (if part == Part::High { product >> 16 } else { product }) as u64 & 0xffff_ffff
}

fn extract(kind: Kind, a: u64, position: u64, length: u64) -> u64 {
    let top = kind.bits - 1;
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    let sign = kind.signed && length > 0 && a >> (position + length - 1).min(top) & 1 != 0;
    let field = if position > top { 0 } else { a >> position };
    let held = length.min(kind.bits.saturating_sub(position));
    let keep = if held >= 64 { u64::MAX } else { (1 << held) - 1 };
    (field & keep | if sign { !keep } else { 0 }) & kind.mask()
}

fn insert(kind: Kind, a: u64, b: u64, position: u64, length: u64) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    if position >= kind.bits {
        return b;
    }
    let keep = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let field = keep << position & kind.mask();
    b & !field | a << position & field
}

fn nth_set(mask: u32, base: u32, offset: i32) -> u64 {
    let is_set = |position: i64| (0..32).contains(&position) && mask >> position & 1 != 0;
    if offset == 0 {
        return if is_set(i64::from(base)) { u64::from(base) } else { 0xffff_ffff };
    }
    let step = if offset > 0 { 1 } else { -1 };
    let mut left = offset.unsigned_abs() - 1;
    let mut position = i64::from(base);
    while (0..32).contains(&position) {
        if is_set(position) {
            if left == 0 {
                return position as u64;
            }
            left -= 1;
        }
        position += step;
    }
    0xffff_ffff
}

fn permute(mode: PermuteMode, a: u32, b: u32, selector: u32) -> u64 {
    let bytes = u64::from(a) | u64::from(b) << 32;
    let byte = |index: u32| (bytes >> (8 * (index & 7)) & 0xff) as u32;
    let n = selector & 3;
    let mut result = 0;
    for place in 0..4 {
        let value = match mode {
            PermuteMode::Index => {
                let nibble = selector >> (4 * place) & 15;
                let value = byte(nibble);
                // Bit 3 of a nibble selects the sign of the byte instead of the byte.
                if nibble & 8 == 0 {
                    value
                } else if value & 0x80 != 0 {
                    0xff
                } else {
                    0
                }
            }
            PermuteMode::ForwardFour => byte(n + place),
            PermuteMode::BackwardFour => byte(n.wrapping_sub(place)),
            PermuteMode::ReplicateByte => byte(n),
            PermuteMode::EdgeClampLeft => byte(place.max(n)),
            PermuteMode::EdgeClampRight => byte(place.min(n)),
            PermuteMode::ReplicateHalf => byte((n & 1) * 2 + (place & 1)),
        };
        result |= value << (8 * place);
    }
    u64::from(result)
}

/// Add with the carry flag: result and new flag.
pub fn add_carry(kind: Kind, a: u64, b: u64, carry: bool) -> (u64, bool) {
    let mask = kind.mask();
    let sum = u128::from(a & mask) + u128::from(b & mask) + u128::from(carry);
    (sum as u64 & mask, sum >> kind.bits != 0)
}

/// Subtract with the carry flag: an add of the complement of b, so that a set flag means that nothing was borrowed. An
/// instruction that does not read the flag takes it as set.
pub fn subtract_carry(kind: Kind, a: u64, b: u64, carry: bool) -> (u64, bool) {
    add_carry(kind, a, !b, carry)
}

/// The part of the product that `mad.lo.cc` and `mad.hi.cc` add to.
pub fn product_part(kind: Kind, a: u64, b: u64, part: Part) -> u64 {
    evaluate(IntegerOperation::Multiply(part), kind, [a, b, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with long runs of equal bits, and others.
    fn values() -> impl Iterator<Item = u64> {
        let mut state = 1u64;
        (0..4000).map(move |round| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = state ^ state >> 29;
            match round % 4 {
                0 => value,
                1 => value >> (value & 63),
                2 => !(value >> (value & 63)),
                _ => 1 << (value & 63),
            }
        })
    }

    /// The bit-by-bit definition of an extracted field.
    fn extract_slowly(kind: Kind, a: u64, position: u32, length: u32) -> u64 {
        let top = kind.bits - 1;
        let sign = if !kind.signed || length == 0 { 0 } else { a >> (position + length - 1).min(top) & 1 };
        (0..kind.bits).fold(0, |field, i| {
            let bit = if i < length && position + i <= top { a >> (position + i) & 1 } else { sign };
            field | bit << i
        })
    }

    #[test]
    fn fields_follow_their_definition() {
        let values: Vec<u64> = values().collect();
        for bits in [32, 64] {
            for signed in [false, true] {
                let kind = Kind { bits, signed };
                for row in values.windows(3) {
                    let (position, length) = ((row[1] & 255) as u32, (row[2] >> 8 & 255) as u32);
                    let operands = [row[0], u64::from(position), u64::from(length), 0];
                    let found = evaluate(IntegerOperation::ExtractField, kind, operands);
                    assert_eq!(
                        found,
                        extract_slowly(kind, row[0] & kind.mask(), position, length),
                        "{row:?}"
                    );
                    // An inserted field can be extracted again.
                    let (position, length) = (position % bits, length % (bits - position % bits) + 1);
                    let operands = [row[0], row[1], u64::from(position), u64::from(length)];
                    let inserted = evaluate(IntegerOperation::InsertField, kind, operands);
                    let operands = [inserted, u64::from(position), u64::from(length), 0];
                    let unsigned = Kind { bits, signed: false };
                    let back = evaluate(IntegerOperation::ExtractField, unsigned, operands);
                    assert_eq!(back, row[0] & (u64::MAX >> (64 - length)), "{row:?}");
                }
            }
        }
    }

    #[test]
    fn products_agree_with_wide_arithmetic() {
        let values: Vec<u64> = values().collect();
        for row in values.windows(2) {
            let (a, b) = (row[0], row[1]);
            for bits in [16, 32, 64] {
                for signed in [false, true] {
                    let kind = Kind { bits, signed };
                    let part = |part| evaluate(IntegerOperation::Multiply(part), kind, [a, b, 0, 0]);
                    let whole = kind.extend(a).wrapping_mul(kind.extend(b)) as u128;
                    assert_eq!(part(Part::Low), whole as u64 & kind.mask());
                    assert_eq!(part(Part::High), (whole >> bits) as u64 & kind.mask());
                    if bits < 64 {
                        assert_eq!(part(Part::Wide), part(Part::High) << bits | part(Part::Low));
                    }
                }
            }
        }
    }

    #[test]
    fn carries_make_wide_sums() {
        let kind = Kind { bits: 32, signed: false };
        let values: Vec<u64> = values().collect();
        for row in values.windows(2) {
            let (a, b) = (row[0], row[1]);
            let (low, carry) = add_carry(kind, a, b, false);
            let (high, _) = add_carry(kind, a >> 32, b >> 32, carry);
            assert_eq!(high << 32 | low, a.wrapping_add(b));
            let (low, carry) = subtract_carry(kind, a, b, true);
            let (high, _) = subtract_carry(kind, a >> 32, b >> 32, carry);
            assert_eq!(high << 32 | low, a.wrapping_sub(b));
        }
    }

    #[test]
    fn shifts_follow_their_definition() {
        for value in values() {
            for amount in [0, 1, 15, 16, 31, 32, 63, 64, 200] {
                for bits in [16, 32, 64] {
                    for signed in [false, true] {
                        let kind = Kind { bits, signed };
                        let right = evaluate(IntegerOperation::ShiftRight, kind, [value, amount, 0, 0]);
                        assert_eq!(right, (kind.extend(value) >> amount.min(100)) as u64 & kind.mask());
                        let left = evaluate(IntegerOperation::ShiftLeft, kind, [value, amount, 0, 0]);
                        let wide = u128::from(value & kind.mask()) << amount.min(64);
                        assert_eq!(left, wide as u64 & kind.mask());
                    }
                }
            }
        }
    }

    #[test]
    fn permutations() {
        let run = |mode, selector: u64| {
            let kind = Kind { bits: 32, signed: false };
            evaluate(IntegerOperation::Permute(mode), kind, [0x8382_8180, 0x0706_0504, selector, 0])
        };
        assert_eq!(run(PermuteMode::Index, 0x7650), 0x0706_0580);
        assert_eq!(run(PermuteMode::Index, 0xb40c), 0xff04_8000);
        assert_eq!(run(PermuteMode::ForwardFour, 2), 0x0504_8382);
        assert_eq!(run(PermuteMode::BackwardFour, 1), 0x0607_8081);
        assert_eq!(run(PermuteMode::ReplicateByte, 3), 0x8383_8383);
        assert_eq!(run(PermuteMode::EdgeClampLeft, 2), 0x8382_8282);
        assert_eq!(run(PermuteMode::EdgeClampRight, 1), 0x8181_8180);
        assert_eq!(run(PermuteMode::ReplicateHalf, 1), 0x8382_8382);
    }
}
