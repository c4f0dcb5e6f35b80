//! Copies of the body of a loop inside it, each of which acts only where the tests before it let the loop go on.
//!
//! A loop of one block `do { body } while (p)` becomes `do { body; @p body; @q body } while (r)`, where `q` and `r` are
//! also false where a test before them was. Nothing has to be known of the counter, nothing comes before the loop or
//! after it, and loads of all copies are in flight together. Accesses are guarded. Computations are not, but values
//! that are read after the loop are kept by selections, which phase 63 makes guards of where it can.
//!
//! It is here because unrolling decides which loops get such copies, and how many. Outside SSA.

use crate::analyses::guarding::{fits, is_harmless};
use oriole_ori::{BlockId, Builder, File, Function, Guard, Instruction, Liveness, Pseudo, Source, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A loop of one block.
pub(crate) struct GuardedCopies {
    header: BlockId,
    /// Index of the branch with a condition, back or out.
    branch: usize,
    /// On which it goes back.
    again: Guard,
    /// Values that an iteration changes, and that the next one or the code after the loop reads.
    kept: Vec<Kept>,
}

struct Kept {
    value: Value,
    /// The code after the loop reads it.
    after: bool,
}

impl GuardedCopies {
    /// A loop of one block, if its instructions can be guarded and its values be kept.
    pub fn find(
        function: &Function,
        liveness: &Liveness,
        header: BlockId,
        branch: usize,
        again: Guard,
    ) -> Option<GuardedCopies> {
        let block = function.block(header);
        let code = &block.instructions[..branch];
        let tests = code.iter().any(|instruction| defines(instruction, again.value));
        if !tests || function.file(again.value) != File::P || !code.iter().all(fits) {
            return None;
        }
        let out = block.successors.iter().find(|&&to| to != header);
        let after: FxHashSet<Value> =
            out.map_or(&[][..], |&out| liveness.live_in(out)).iter().copied().collect();
        let before: FxHashSet<Value> = liveness.live_in(header).iter().copied().collect();
        let mut kept: Vec<Kept> = Vec::new();
        for instruction in code {
            instruction.for_each_definition(|value| {
                let after = after.contains(&value);
                if (after || before.contains(&value)) && kept.iter().all(|it| it.value != value) {
                    kept.push(Kept { value, after });
                }
            });
        }
        let selects = |kept: &Kept| function.file(kept.value) == File::R;
        kept.iter().all(selects).then_some(GuardedCopies { header, branch, again, kept })
    }

    /// Makes a loop with that many iterations of this one.
    pub fn write(&self, function: &mut Function, count: u64) {
        let GuardedCopies { header, branch, .. } = *self;
        let block = function.block_mut(header);
        let mut end = block.instructions.split_off(branch);
        let successors = block.successors.clone();
        let code = block.instructions.clone();
        let kept = &self.kept;
        let origin = end[0].origin;
        let mut again = self.again;
        let mut names: FxHashMap<Value, Value> = FxHashMap::default();
        for _ in 1..count {
            let before: Vec<Value> =
                kept.iter().map(|it| names.get(&it.value).copied().unwrap_or(it.value)).collect();
            for instruction in &code {
                copy(function, header, instruction, again, &mut names);
            }
            let mut b = Builder::new(function, header, origin);
            for (kept, before) in kept.iter().zip(before).filter(|(kept, _)| kept.after) {
                let selected = b.r();
                b.sel(selected, names[&kept.value], before, Source::from(again));
                names.insert(kept.value, selected);
            }
            let test = Guard { value: names[&self.again.value], ..self.again };
            let both = b.p();
            b.plop3(both, Source::from(again), Source::from(test), Source::pt(), 0xc0);
            again = Guard { value: both, negated: false };
        }
        let mut b = Builder::new(function, header, origin);
        for kept in kept {
            b.mov(kept.value, names[&kept.value]);
        }
        // The branch leads back or out.
        let leads_out = end[0].guard != Some(self.again);
        end[0].guard = Some(Guard { negated: again.negated != leads_out, ..again });
        let block = function.block_mut(header);
        block.instructions.extend(end);
        block.successors = successors;
    }
}

fn defines(instruction: &Instruction, wanted: Value) -> bool {
    let mut found = false;
    instruction.for_each_definition(|value| found |= value == wanted);
    found
}

/// Appends a copy with new names, guarded if it would be seen otherwise.
fn copy(
    function: &mut Function,
    block: BlockId,
    instruction: &Instruction,
    guard: Guard,
    names: &mut FxHashMap<Value, Value>,
) {
    let mut copy = instruction.clone();
    copy.for_each_use_mut(|value| *value = names.get(value).copied().unwrap_or(*value));
    copy.for_each_definition_mut(|value| {
        let data = function.values[*value];
        let new = function.new_value(data.file, data.source);
        names.insert(*value, new);
        *value = new;
    });
    if !is_harmless(&copy) {
        // Where it does not act, it keeps no value of an earlier copy.
        let mut b = Builder::new(function, block, copy.origin);
        copy.for_each_definition(|value| b.op(Pseudo::Undefined).to(value).emit());
        copy.guard = Some(guard);
    }
    function.block_mut(block).instructions.push(copy);
}
