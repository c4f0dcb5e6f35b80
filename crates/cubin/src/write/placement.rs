//! The places of variables in a section, and the bytes that a section takes. No section is written here.

use crate::image::{Binding, Variable};
use crate::layout;

/// Variables with their places in a section.
pub(super) struct Placed {
    pub(super) offsets: Vec<u64>,
    pub(super) size: u64,
    pub(super) alignment: u64,
    /// Index of the section's variables in the module's list.
    pub(super) members: Vec<usize>,
}

/// Lays out the variables with bytes, or those without: by descending alignment, so that there is no padding between
/// them, and in declaration order for equal alignment.
pub(super) fn place(variables: &[Variable], initialized: bool) -> Placed {
    let belongs =
        |variable: &Variable| variable.binding != Binding::Common && variable.bytes.is_some() == initialized;
    let mut members: Vec<usize> = (0..variables.len()).filter(|&index| belongs(&variables[index])).collect();
    members.sort_by_key(|&index| std::cmp::Reverse(variables[index].alignment.max(1)));
    let items: Vec<(u64, u64)> =
        members.iter().map(|&index| (variables[index].size, variables[index].alignment)).collect();
    let (offsets, size, alignment) = layout::pack(&items);
    Placed { offsets, size, alignment, members }
}

/// Total bytes of variables, and the largest alignment.
pub(super) fn extent(variables: &[&Variable]) -> (u64, u64) {
    let items: Vec<(u64, u64)> =
        variables.iter().map(|variable| (variable.size, variable.alignment)).collect();
    let (_, size, alignment) = layout::pack(&items);
    (size, alignment)
}
