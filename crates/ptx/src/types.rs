//! Scalar types of PTX.

use oriole_chip::texture::OpaqueKind;

/// A fundamental or packed type, as written after the dot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
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
    B1,
    U2,
    S2,
    U4,
    S4,
    E2M1,
    E2M3,
    E3M2,
    E2M1x2,
    E2M3x2,
    E3M2x2,
    S2F6x2,
    UE8M0,
    UE8M0x2,
    UE4M3,
    E4M3x4,
    E5M2x4,
    E2M1x4,
    E2M3x4,
    E3M2x4,
    B1024,
    Texref,
    Samplerref,
    Surfref,
}

/// Every type with its spelling, without the dot.
const NAMES: [(Type, &str); 54] = [
    (Type::Pred, "pred"),
    (Type::B8, "b8"),
    (Type::B16, "b16"),
    (Type::B32, "b32"),
    (Type::B64, "b64"),
    (Type::B128, "b128"),
    (Type::U8, "u8"),
    (Type::U16, "u16"),
    (Type::U32, "u32"),
    (Type::U64, "u64"),
    (Type::S8, "s8"),
    (Type::S16, "s16"),
    (Type::S32, "s32"),
    (Type::S64, "s64"),
    (Type::F16, "f16"),
    (Type::F32, "f32"),
    (Type::F64, "f64"),
    (Type::BF16, "bf16"),
    (Type::TF32, "tf32"),
    (Type::E4M3, "e4m3"),
    (Type::E5M2, "e5m2"),
    (Type::F16x2, "f16x2"),
    (Type::BF16x2, "bf16x2"),
    (Type::F32x2, "f32x2"),
    (Type::U16x2, "u16x2"),
    (Type::S16x2, "s16x2"),
    (Type::U8x4, "u8x4"),
    (Type::S8x4, "s8x4"),
    (Type::E4M3x2, "e4m3x2"),
    (Type::E5M2x2, "e5m2x2"),
    (Type::B1, "b1"),
    (Type::U2, "u2"),
    (Type::S2, "s2"),
    (Type::U4, "u4"),
    (Type::S4, "s4"),
    (Type::E2M1, "e2m1"),
    (Type::E2M3, "e2m3"),
    (Type::E3M2, "e3m2"),
    (Type::E2M1x2, "e2m1x2"),
    (Type::E2M3x2, "e2m3x2"),
    (Type::E3M2x2, "e3m2x2"),
    (Type::S2F6x2, "s2f6x2"),
    (Type::UE8M0, "ue8m0"),
    (Type::UE8M0x2, "ue8m0x2"),
    (Type::UE4M3, "ue4m3"),
    (Type::E4M3x4, "e4m3x4"),
    (Type::E5M2x4, "e5m2x4"),
    (Type::E2M1x4, "e2m1x4"),
    (Type::E2M3x4, "e2m3x4"),
    (Type::E3M2x4, "e3m2x4"),
    (Type::B1024, "b1024"),
    (Type::Texref, "texref"),
    (Type::Samplerref, "samplerref"),
    (Type::Surfref, "surfref"),
];

impl Type {
    /// Width in bits; a predicate counts as 1.
    pub fn bits(self) -> u32 {
        use Type::*;
        match self {
            Pred | B1 => 1,
            U2 | S2 => 2,
            U4 | S4 | E2M1 => 4,
            E2M3 | E3M2 => 6,
            B8 | U8 | S8 | E4M3 | E5M2 | E2M1x2 | UE8M0 | UE4M3 => 8,
            B16 | U16 | S16 | F16 | BF16 | E4M3x2 | E5M2x2 | E2M3x2 | E3M2x2 | S2F6x2 | UE8M0x2 | E2M1x4 => {
                16
            }
            B32 | U32 | S32 | F32 | TF32 | F16x2 | BF16x2 | U16x2 | S16x2 | U8x4 | S8x4 | E4M3x4 | E5M2x4
            | E2M3x4 | E3M2x4 => 32,
            B64 | U64 | S64 | F64 | F32x2 | Texref | Samplerref | Surfref => 64,
            B128 => 128,
            B1024 => 1024,
        }
    }

    /// Width in bytes of a value in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for `.s8` to `.s64` and the packed signed types.
    pub fn is_signed(self) -> bool {
        use Type::*;
        matches!(self, S2 | S4 | S8 | S16 | S32 | S64 | S16x2 | S8x4)
    }

    /// True for the floating types, packed ones included.
    pub fn is_float(self) -> bool {
        use Type::*;
        !(self == Pred || self.is_bits() || self.is_integer() || self.is_opaque())
    }

    /// True for the untyped bit strings, `.b1` to `.b1024`.
    pub fn is_bits(self) -> bool {
        use Type::*;
        matches!(self, B1 | B8 | B16 | B32 | B64 | B128 | B1024)
    }

    /// True for the signed and unsigned integers, packed ones included.
    pub fn is_integer(self) -> bool {
        use Type::*;
        self.is_signed() || matches!(self, U2 | U4 | U8 | U16 | U32 | U64 | U16x2 | U8x4)
    }

    /// True for the types of variables that only their own instructions look into; a handle has 64 bits.
    pub fn is_opaque(self) -> bool {
        self.opaque_kind().is_some()
    }

    /// The kind of object that an opaque type stands for.
    pub fn opaque_kind(self) -> Option<OpaqueKind> {
        match self {
            Type::Texref => Some(OpaqueKind::Texture),
            Type::Samplerref => Some(OpaqueKind::Sampler),
            Type::Surfref => Some(OpaqueKind::Surface),
            _ => None,
        }
    }

    /// True for the types that a register or a variable can be declared with.
    pub fn is_fundamental(self) -> bool {
        use Type::*;
        matches!(
            self,
            Pred | B8
                | B16
                | B32
                | B64
                | B128
                | U8
                | U16
                | U32
                | U64
                | S8
                | S16
                | S32
                | S64
                | F16
                | F16x2
                | F32
                | F64
        )
    }

    /// The spelling without the dot.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The type spelled so, without the dot.
    pub fn from_name(name: &str) -> Option<Type> {
        // A few characters decide quickly that most modifier tokens are not types.
        if !matches!(name.as_bytes().first(), Some(b'b' | b'u' | b's' | b'f' | b'p' | b't' | b'e')) {
            return None;
        }
        NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

impl std::fmt::Display for Type {
    /// The spelling with its dot.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, ".{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, Type};

    #[test]
    fn names_stand_in_the_order_of_the_variants() {
        for (index, &(ty, name)) in NAMES.iter().enumerate() {
            assert_eq!(ty as usize, index);
            assert_eq!(Type::from_name(name), Some(ty));
        }
    }
}
