//! Instruction descriptors: the register that states the shape and the types of an MMA.

use super::elements::{Element, Kind, Sum};
use super::memory::Fault;

/// The instruction descriptor of an MMA, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionDescriptor {
    /// Element types of the factors.
    pub elements: [Element; 2],
    /// Type of the accumulator.
    pub sum: Sum,
    /// Rows of the result, those of both blocks of a pair.
    pub rows: u32,
    /// Columns of the result.
    pub columns: u32,
    /// Each factor is negated.
    pub negated: [bool; 2],
    /// Each factor is transposed.
    pub transposed: [bool; 2],
    /// Integers saturate.
    pub saturates: bool,
    /// The left factor is sparse: half of its elements are stored.
    pub sparse: bool,
    /// The column of the sparse selector.
    pub selector: u32,
    /// Scales have an exponent only.
    pub exponents: bool,
    /// The byte of a word with the first scale of each factor.
    pub scale_bytes: [u32; 2],
    /// The depth is 96.
    pub deep: bool,
}

impl InstructionDescriptor {
    /// Unpacks the bits for a kind of MMA.
    ///
    /// # Errors
    /// Bits that are invalid for this kind.
    pub fn new(kind: Kind, bits: u32) -> Result<InstructionDescriptor, Fault> {
        let field = |bit: u32, width: u32| bits >> bit & ((1 << width) - 1);
        let flag = |bit: u32| field(bit, 1) == 1;
        let scaled = kind.is_scaled();
        let fault = |what: &str, value: u32| {
            Err(Fault::Operands(format!("an instruction descriptor names {what} {value}, which is none")))
        };
        let [Some(a), Some(b)] = [7, 10].map(|bit| kind.element(field(bit, 3))) else {
            return fault("the types", field(7, 6));
        };
        let sum = match (kind, field(4, 2)) {
            _ if scaled => Sum::Single,
            (Kind::F16 | Kind::F8F6F4, 0) => Sum::Half,
            (Kind::F16 | Kind::F8F6F4 | Kind::Tf32, 1) => Sum::Single,
            (Kind::I8, 2) => Sum::Integer,
            (_, other) => return fault("the type of sums", other),
        };
        let rows = if scaled { field(27, 2) << 7 } else { field(24, 5) << 4 };
        Ok(InstructionDescriptor {
            elements: [a, b],
            sum,
            rows,
            columns: field(17, 6) << 3,
            negated: [13, 14].map(flag),
            transposed: [15, 16].map(flag),
            saturates: !scaled && flag(3),
            sparse: flag(2),
            selector: if scaled { 0 } else { field(0, 2) },
            exponents: flag(23),
            scale_bytes: [29, 4].map(|bit| if scaled { field(bit, 2) } else { 0 }),
            deep: matches!(kind, Kind::Mxf4 | Kind::Mxf4Nvf4) && flag(31),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_product() {
        // f32 += bf16 * f16, 128 by 64, the right factor transposed.
        let bits = 1 << 4 | 1 << 7 | 1 << 16 | (64 >> 3) << 17 | (128 >> 4) << 24;
        let product = InstructionDescriptor::new(Kind::F16, bits).unwrap();
        assert_eq!(product.elements, [Element::BF16, Element::F16]);
        assert_eq!([product.rows, product.columns], [128, 64]);
        assert_eq!((product.sum, product.transposed), (Sum::Single, [false, true]));
        assert!(InstructionDescriptor::new(Kind::Tf32, bits).is_err());
        assert!(InstructionDescriptor::new(Kind::I8, bits).is_err());
        let scaled = 1 << 7 | 1 << 10 | 1 << 23 | 2 << 27 | 2 << 29 | (8 >> 3) << 17;
        let product = InstructionDescriptor::new(Kind::Mxf4Nvf4, scaled).unwrap();
        assert_eq!((product.rows, product.scale_bytes, product.exponents), (256, [2, 0], true));
    }
}
