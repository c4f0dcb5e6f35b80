//! Arithmetic, logic, comparison and selection in registers, by type.
//!
//! Other families need single steps of it (a min, a conversion to f32, two f16 values in a word). They take them from
//! here, so that the choice between the opcodes of the chips is made once. No memory is accessed here, and no format is
//! converted for its own sake: that is `moves`.

mod approximate;
mod bits;
mod by_type;
mod carry;
mod compare;
mod fields;
mod float32;
mod float64;
mod half;
mod integer;
mod integer64;
mod steps;
mod video;

pub(crate) use approximate::{compare_magnitude, float_function};
pub(crate) use bits::{cnot, funnel_shift, logic, lop3, not, shift};
pub(crate) use by_type::{by_type, divide, exponential, hyperbolic_tangent, reciprocal_or_root};
pub(crate) use carry::add_carry;
pub(crate) use compare::{copy_sign, select, select_by_sign, set, set_predicate, test_class};
pub(crate) use fields::{
    count_bits, count_leading_zeros, extract_field, find_bit, find_nth_set, insert_field, mask_or_extend,
    permute, reverse_bits,
};
pub(crate) use float32::{rounding, single_of_half};
pub(crate) use float64::{compare_double, double_saturate};
pub(crate) use half::{Half, half_of};
pub(crate) use integer::{
    add_saturating, divide_integer, dot_product, multiply, multiply_24, multiply_without_carries, sad,
};
pub(crate) use steps::{constant_by, halves_of, integer_to_single, min_max, packing};
pub(crate) use video::video;
