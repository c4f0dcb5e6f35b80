//! Scalar types of PTX.

/// A fundamental or packed type, as written after the dot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F32,
    F64,
    BF16,
    TF32,
    E4M3,
    E5M2,
    F16x2,
    BF16x2,
    F32x2,
    U16x2,
    S16x2,
    U8x4,
    S8x4,
    E4M3x2,
    E5M2x2,
}

impl Type {
    /// Width in bits; a predicate counts as 1.
    pub fn bits(self) -> u32 {
        use Type::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 | E4M3 | E5M2 => 8,
            B16 | U16 | S16 | F16 | BF16 | E4M3x2 | E5M2x2 => 16,
            B32 | U32 | S32 | F32 | TF32 | F16x2 | BF16x2 | U16x2 | S16x2 | U8x4 | S8x4 => 32,
            B64 | U64 | S64 | F64 | F32x2 => 64,
            B128 => 128,
        }
    }

    /// Width in bytes of a value in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for `.s8` to `.s64` and the packed signed types.
    pub fn is_signed(self) -> bool {
        use Type::*;
        matches!(self, S8 | S16 | S32 | S64 | S16x2 | S8x4)
    }

    /// True for the floating types, packed ones included.
    pub fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F32 | F64 | BF16 | TF32 | E4M3 | E5M2 | F16x2 | BF16x2 | F32x2 | E4M3x2 | E5M2x2)
    }
}
