//! Accumulation in the tensor cores of a chip. The interpreter and the simulator each implement the arithmetic
//! themselves; the differences between chips are rows here.
//!
//! Source: the model of the tensor cores in arXiv 2511.10909, which its authors compared with the hardware bit for bit.

/// Arithmetic of a tensor core on a floating-point dot product with accumulator.
///
/// The terms of one step are aligned to the greatest exponent among them and cut toward zero, added exactly, and
/// rounded once. Where the matrices are deeper than a step, the result of one step is the accumulator of the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixUnit {
    /// Fraction bits that a term keeps when it is aligned.
    pub fraction_bits: u32,
    /// Bits of a row that a step takes: divided by the bits of an element, the depth of a step.
    pub step_bits: u32,
    /// `fraction_bits` for FP8 MMAs, whose accumulators also keep no more bits; `None` if the chip has no FP8 MMA of
    /// its own and widens the elements.
    pub narrow_fraction_bits: Option<u32>,
    /// `narrow_fraction_bits` for `wgmma`.
    pub group_narrow_fraction_bits: Option<u32>,
    /// FP4 MMAs in tensor memory may have a depth of 96.
    pub depth_of_96: bool,
}

impl MatrixUnit {
    /// The arithmetic of `wgmma`.
    pub const fn of_groups(self) -> MatrixUnit {
        MatrixUnit { narrow_fraction_bits: self.group_narrow_fraction_bits, ..self }
    }

    /// The arithmetic of MMAs in tensor memory, which multiply narrow floats directly (not confirmed: the published
    /// model is one of warps and warp groups).
    pub const fn of_tensor_memory(self) -> MatrixUnit {
        MatrixUnit { narrow_fraction_bits: Some(self.fraction_bits), ..self }
    }
}

/// Volta.
pub(crate) const QUARTER_STEPS: MatrixUnit = MatrixUnit { fraction_bits: 23, step_bits: 64, ..HALF_STEPS };

/// Turing and Ampere.
pub(crate) const HALF_STEPS: MatrixUnit = MatrixUnit {
    fraction_bits: 24,
    step_bits: 128,
    narrow_fraction_bits: None,
    group_narrow_fraction_bits: None,
    depth_of_96: false,
};

/// Ada.
pub(crate) const NARROW_PRODUCTS: MatrixUnit = MatrixUnit { narrow_fraction_bits: Some(13), ..HALF_STEPS };

/// Hopper and later.
pub(crate) const WHOLE_STEPS: MatrixUnit = MatrixUnit {
    fraction_bits: 25,
    step_bits: 256,
    narrow_fraction_bits: None,
    group_narrow_fraction_bits: Some(13),
    depth_of_96: false,
};

/// Blackwell with a depth of 96: the PTX ISA names `sm_103a` alone.
pub(crate) const DEEP_PRODUCTS: MatrixUnit = MatrixUnit { depth_of_96: true, ..WHOLE_STEPS };

/// Chips after Hopper that multiply FP8 and narrower floats directly.
pub(crate) const WHOLE_PRODUCTS: MatrixUnit =
    MatrixUnit { narrow_fraction_bits: Some(WHOLE_STEPS.fraction_bits), ..WHOLE_STEPS };
