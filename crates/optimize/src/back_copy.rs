//! Phase 83, OriBackCopyPropagate: a result that is only copied is written where the copy goes.
//!
//! Outside SSA, within a block: `t <- ...; d <- t` becomes `d <- ...` if nobody else reads t, and d is neither read nor
//! written between. Components of parallel copies count one by one.

use oriole_options::Optimization;
use oriole_ori::{FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Value};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::BackCopy),
    ..Pass::new(|function, _| Outcome::changed_if(run(function)))
};

/// Removes such copies. True if there was one.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    let count = function.values.len();
    let mut definitions = vec![0u32; count];
    let mut uses = vec![0u32; count];
    for block in &function.blocks {
        for instruction in &block.instructions {
            instruction.for_each_definition(|v| definitions[v.0 as usize] += 1);
            instruction.for_each_use(|v| uses[v.0 as usize] += 1);
        }
    }
    // Per block, told apart by the block's number: where each value was last read or written, and where written.
    let mut touched: Vec<(u32, usize)> = vec![(u32::MAX, 0); count];
    let mut written: Vec<(u32, Option<usize>)> = vec![(u32::MAX, None); count];
    for id in function.block_ids() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for at in 0..instructions.len() {
            if is_copy(&instructions[at]) && instructions[at].guard.is_none() {
                let mut component = 0;
                while component < instructions[at].destinations.len() {
                    let copy = &instructions[at];
                    let to = copy.destinations[component].values.first().copied();
                    let from = copy.sources[component].as_plain_value();
                    let (Some(to), Some(from)) = (to, from) else {
                        component += 1;
                        continue;
                    };
                    let place = match written[from.0 as usize] {
                        (block, Some(place)) if block == id.0 => place,
                        _ => {
                            component += 1;
                            continue;
                        }
                    };
                    let (block, last) = touched[to.0 as usize];
                    let untouched = block != id.0 || last < place;
                    let only = uses[from.0 as usize] == 1 && definitions[from.0 as usize] == 1;
                    let movable = copy.destinations[component].fixed.is_none()
                        && function.file(to) == function.file(from)
                        && !others_touch(copy, component, to)
                        && writes_alone(&instructions[place], from);
                    if !(untouched && only && movable) {
                        component += 1;
                        continue;
                    }
                    instructions[place].for_each_definition_mut(|v| {
                        if *v == from {
                            *v = to;
                        }
                    });
                    instructions[at].destinations.remove(component);
                    instructions[at].sources.remove(component);
                    changed = true;
                    touched[to.0 as usize] = (id.0, at);
                }
            }
            let instruction = &instructions[at];
            instruction.for_each_use(|v| touched[v.0 as usize] = (id.0, at));
            instruction.for_each_definition(|v| {
                touched[v.0 as usize] = (id.0, at);
                // A guarded write keeps what was there: it is no place to move another register to.
                written[v.0 as usize] = (id.0, instruction.guard.is_none().then_some(at));
            });
        }
        instructions.retain(|i| !(is_copy(i) && i.destinations.is_empty()));
        function.block_mut(id).instructions = instructions;
    }
    changed
}

fn is_copy(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy))
}

/// True if the value is an operand by itself, in a place that no convention fixes, of an ordinary instruction. Parts
/// of tuples stay: a register that is written in several places should not have to lie beside others.
fn writes_alone(instruction: &Instruction, value: Value) -> bool {
    instruction.call.is_none()
        && !matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Parameters | Pseudo::Undefined))
        && instruction.destinations.iter().any(|d| d.values.as_slice() == [value] && d.fixed.is_none())
}

/// True if another component of the copy reads or writes the value: it would see the new one too early.
fn others_touch(copy: &Instruction, component: usize, value: Value) -> bool {
    let mut touches = false;
    for (index, source) in copy.sources.iter().enumerate() {
        if index != component {
            source.for_each_value(|v| touches |= v == value);
        }
    }
    for (index, destination) in copy.destinations.iter().enumerate() {
        touches |= index != component && destination.values.contains(&value);
    }
    touches
}
