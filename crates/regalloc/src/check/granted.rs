//! Checks that an allocation names only registers that a thread has at that point.

use super::contents::Place;
use super::{Checker, ProblemKind};
use oriole_chip::nameable;
use oriole_ori::effects::register_grant;
use oriole_ori::{BlockId, File};
use typed_index_collections::{TiVec, ti_vec};

impl Checker<'_> {
    /// Walks all paths through the function with the count of registers that code may name on each.
    pub(super) fn granted(&mut self) {
        let function = &self.allocation.function;
        let Some(first) = function.register_limit.map(nameable) else { return };
        let mut seen: TiVec<BlockId, Vec<u16>> = ti_vec![Vec::new(); function.blocks.len()];
        let mut work = vec![(BlockId(0), first, false)];
        while let Some((block, mut count, mut changed)) = work.pop() {
            if seen[block].contains(&count) {
                continue;
            }
            seen[block].push(count);
            for (index, instruction) in function.block(block).instructions.iter().enumerate() {
                let mut beyond = None;
                let mut look = |value| {
                    if let Some(Place::Register(File::R, register)) = self.place(value)
                        && changed
                        && u16::from(register) >= count
                    {
                        beyond = Some(register);
                    }
                };
                instruction.for_each_use(&mut look);
                instruction.for_each_definition(&mut look);
                if let Some(register) = beyond {
                    self.at = (block, index);
                    self.problem(ProblemKind::Constraint, || format!("R{register} of {count} registers"));
                }
                if let Some(granted) = register_grant(instruction) {
                    (count, changed) = (granted, true);
                }
            }
            work.extend(function.block(block).successors.iter().map(|&next| (next, count, changed)));
        }
    }
}
