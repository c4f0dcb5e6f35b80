//! Block-local values: each read follows a write in the same block.
//!
//! It is here because lowering, the verifier and the allocator must agree on which uniform registers a subset of the
//! warp may write. Divergent lanes reconverge only where blocks end, so no other lane sees a block-local value.

use crate::{Function, Value};
use typed_index_collections::{TiVec, ti_vec};

/// For each value whether it is read in some block that has not written it before.
pub fn values_across_blocks(function: &Function) -> TiVec<Value, bool> {
    let mut crosses: TiVec<Value, bool> = ti_vec![false; function.values.len()];
    // The last block that wrote the value, counted from one.
    let mut written: TiVec<Value, u32> = ti_vec![0; function.values.len()];
    for (number, block) in (1..).zip(&function.blocks) {
        for phi in &block.phis {
            phi.values().for_each(|value| crosses[value] = true);
            crosses[phi.destination] = true;
        }
        for instruction in &block.instructions {
            instruction.for_each_use(|value| crosses[value] |= written[value] != number);
            // The old value stays where the guard is false, and in lanes that are left out.
            let partial = instruction.is_partial();
            instruction.for_each_definition(|value| {
                crosses[value] |= partial && written[value] != number;
                written[value] = number;
            });
        }
    }
    crosses
}
