//! The kinds of MMAs, which an instruction states, and the types of elements that each kind has.

/// `.kind`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    F16,
    Tf32,
    F8F6F4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4Nvf4,
}

/// The element type of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    F16,
    BF16,
    TF32,
    E4M3,
    E5M2,
    E2M3,
    E3M2,
    E2M1,
    U8,
    S8,
}

/// The type of the accumulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    Half,
    Single,
    Integer,
}

impl Kind {
    /// Whether blocks of both factors are scaled.
    pub fn is_scaled(self) -> bool {
        matches!(self, Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4Nvf4)
    }

    /// Bits of an element in tensor memory, which determine the depth.
    pub fn container_bits(self) -> u32 {
        match self {
            Kind::Tf32 => 32,
            Kind::F16 => 16,
            Kind::F8F6F4 | Kind::I8 | Kind::Mxf8f6f4 => 8,
            Kind::Mxf4 | Kind::Mxf4Nvf4 => 4,
        }
    }

    /// The type in a field of the descriptor.
    pub(super) fn element(self, field: u32) -> Option<Element> {
        let named: &[Option<Element>] = match self {
            Kind::F16 => &[Some(Element::F16), Some(Element::BF16)],
            Kind::Tf32 => &[None, None, Some(Element::TF32)],
            Kind::I8 => &[Some(Element::U8), Some(Element::S8)],
            Kind::F8F6F4 | Kind::Mxf8f6f4 => {
                const {
                    &[
                        Some(Element::E4M3),
                        Some(Element::E5M2),
                        None,
                        Some(Element::E2M3),
                        Some(Element::E3M2),
                        Some(Element::E2M1),
                    ]
                }
            }
            Kind::Mxf4 | Kind::Mxf4Nvf4 => &[None, Some(Element::E2M1)],
        };
        *named.get(field as usize)?
    }
}

impl Element {
    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Element::TF32 => 32,
            Element::F16 | Element::BF16 => 16,
            Element::E4M3 | Element::E5M2 | Element::U8 | Element::S8 => 8,
            Element::E2M3 | Element::E3M2 => 6,
            Element::E2M1 => 4,
        }
    }

    /// The element in a container of tensor memory. FP4 is in the middle of a byte (not confirmed).
    pub(super) fn unpack(self, container: u32, bits: u32) -> u64 {
        let place = if bits == 8 && self.bits() == 4 { 2 } else { 0 };
        u64::from(container) >> place & (u64::MAX >> (64 - self.bits()))
    }
}
