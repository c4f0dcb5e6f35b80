//! How many general registers a thread has where: some kernels give registers back in one part and take more in another.
//!
//! It is here because allocator and checker count registers by place. A place that is reached with different counts has
//! the least of them.

use oriole_ori::effects::register_grant;
use oriole_ori::{BlockId, Cfg, Function};
use typed_index_collections::{TiVec, ti_vec};

/// The registers at the start of each block.
pub struct Grants {
    /// By block; unreachable ones have none.
    pub at_entry: TiVec<BlockId, u16>,
    /// The most that any place has.
    pub most: u16,
    /// The least that any place has.
    pub least: u16,
}

impl Grants {
    /// The counts of a function that starts with so many; `None` if they never change.
    pub fn new(function: &Function, cfg: &Cfg, first: u16) -> Option<Grants> {
        let last = |block: BlockId| function.block(block).instructions.iter().rev().find_map(register_grant);
        let grants =
            || function.blocks.iter().flat_map(|block| &block.instructions).filter_map(register_grant);
        let most = grants().max()?.max(first);
        let least = grants().min()?.min(first);
        let mut at_entry: TiVec<BlockId, u16> = ti_vec![u16::MAX; function.blocks.len()];
        at_entry[BlockId(0)] = first;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.order() {
                let behind = last(block).unwrap_or(at_entry[block]);
                for &successor in &function.block(block).successors {
                    changed |= behind < at_entry[successor];
                    at_entry[successor] = at_entry[successor].min(behind);
                }
            }
        }
        Some(Grants { at_entry, most, least })
    }
}
