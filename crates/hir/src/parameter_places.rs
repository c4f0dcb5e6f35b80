//! Places of a kernel's parameters on a chip that the module does not name.
//!
//! A body is resolved for the target of its module. It is compiled for other chips, too, and only this depends on the
//! chip: nothing else of a body may be changed here.

use crate::Body;
use crate::module_context::PARAMETER_ALIGNMENT;
use crate::signature::BLOCK_ALIGNMENT;
use oriole_chip::Chip;

impl Body {
    /// The kernel with its parameters where a chip that is not the target of the module has them, if that differs: a
    /// parameter with a larger alignment than the block is aligned in the constant bank, in which the block begins
    /// elsewhere.
    pub fn placed_for(&self, chip: Chip) -> Option<Body> {
        if !self.is_entry || self.parameters.iter().all(|parameter| parameter.align <= BLOCK_ALIGNMENT) {
            return None;
        }
        let behind = u64::from(chip.constant_bank()?.parameters % PARAMETER_ALIGNMENT);
        let mut offset: u64 = 0;
        let mut places = Vec::new();
        for parameter in &self.parameters {
            let opaque = parameter.ty.is_opaque();
            let align = if opaque { 1 } else { u64::from(parameter.align.max(1)) };
            let behind = if parameter.align > BLOCK_ALIGNMENT { behind } else { 0 };
            offset = (behind + offset).next_multiple_of(align) - behind;
            places.push(u32::try_from(offset).unwrap_or(u32::MAX));
            offset = offset.saturating_add(if opaque { 0 } else { parameter.size() });
        }
        if self.parameters.iter().map(|parameter| parameter.offset).eq(places.iter().copied()) {
            return None;
        }
        let mut placed = self.clone();
        for (parameter, place) in placed.parameters.iter_mut().zip(places) {
            parameter.offset = place;
        }
        Some(placed)
    }
}
