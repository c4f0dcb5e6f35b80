//! Registers that may be read before they are written.
//!
//! It is here because the initial and the sanitizing check report them; PTX allows such programs, so this is a
//! finding and no error.

use crate::{Cfg, Function, Liveness, Opcode, Pseudo, Value};

/// The values that some path from the entry reads before any write, ascending. Outside SSA these are the values
/// live into the entry; in SSA those that a [`Pseudo::Undefined`] defines and something reads.
pub fn uninitialized(function: &Function) -> Vec<Value> {
    if function.blocks.is_empty() {
        return Vec::new();
    }
    let cfg = Cfg::new(function);
    let liveness = Liveness::new(function, &cfg);
    let mut found: Vec<Value> = liveness.live_in(crate::BlockId(0)).to_vec();
    let mut read = vec![false; function.values.len()];
    for &id in cfg.order() {
        let block = function.block(id);
        block.phis.iter().flat_map(|phi| phi.values()).for_each(|v| read[v.0 as usize] = true);
        block.instructions.iter().for_each(|i| i.for_each_use(|v| read[v.0 as usize] = true));
    }
    for &id in cfg.order() {
        for instruction in &function.block(id).instructions {
            if instruction.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                instruction.for_each_definition(|v| {
                    if read[v.0 as usize] {
                        found.push(v);
                    }
                });
            }
        }
    }
    // A guarded write of a register that nobody reads otherwise keeps an old value that does not matter.
    found.sort_unstable();
    found.dedup();
    found
}

/// The finding in words; `None` if there is nothing to say.
pub fn describe(function: &Function, name: &str) -> Option<String> {
    match uninitialized(function).len() {
        0 => None,
        count => Some(format!("Found {count} potentially uninitialized register(s) in function {name}")),
    }
}
