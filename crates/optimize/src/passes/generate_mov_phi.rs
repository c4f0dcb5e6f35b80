//! Phase 23, GenerateMovPhi: enters SSA.
//!
//! Before: registers are values that may be written several times. After: every value has one definition that
//! dominates its uses; phis are placed on iterated dominance frontiers where the value is live (pruned SSA); a
//! guarded definition lists the old values it keeps; an uninitialized read is of a [`Pseudo::Undefined`] in the
//! entry. No edge is critical, the entry has no predecessor, and a device function returns in one place, so that the
//! warp returns converged.

use oriole_ori::{
    BlockId, Builder, Destination, FormChange, Function, Instruction, IteratedFrontiers, Liveness, Opcode,
    Origin, Outcome, Pass, Phi, PhiSources, Pseudo, Value, canonical,
};
use oriole_ori::{branches, edges};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::EntersSsa,
    ..Pass::new(|function, _| {
        run(function);
        Outcome::Changed
    })
};

/// Brings a function into SSA.
pub fn run(function: &mut Function) {
    if function.blocks.is_empty() {
        return;
    }
    unify_returns(function);
    branches::fold_equal_targets(function);
    edges::detach_entry(function);
    canonical::order_blocks(function);
    if edges::split_critical(function) {
        canonical::order_blocks(function);
    }
    rename(function, Value(0));
}

/// Creates one return block: the others copy their results and jump there.
fn unify_returns(function: &mut Function) {
    let is_return = |instruction: &Instruction| instruction.opcode == Opcode::Pseudo(Pseudo::Return);
    let mut returns: Vec<(BlockId, usize)> = Vec::new();
    for id in function.block_ids() {
        for (index, instruction) in function.block(id).instructions.iter().enumerate() {
            if is_return(instruction) {
                returns.push((id, index));
            }
        }
    }
    if returns.len() < 2 {
        return;
    }
    let (first_block, first_index) = returns[0];
    let template = function.block(first_block).instructions[first_index].clone();
    // Values of the merged return: one for each component that the returns read.
    let mut shared = template.clone();
    shared.guard = None;
    shared.for_each_use_mut(|value| *value = function_copy(function, *value));
    let mut merged: Vec<Value> = Vec::new();
    shared.for_each_use(|value| merged.push(value));
    let exit = function.blocks.next_key();
    function.blocks.push(oriole_ori::Block { instructions: vec![shared], ..Default::default() });
    // From the back, so that indices stay right where a block holds a guarded return in its middle.
    for (id, index) in returns.into_iter().rev() {
        let instruction = function.block(id).instructions[index].clone();
        let guard = instruction.guard;
        let mut plain = instruction.clone();
        plain.guard = None;
        let mut sources = Vec::new();
        plain.for_each_use(|value| sources.push(value));
        if sources.len() != merged.len() {
            // Returns of different shapes cannot be merged; each stays for itself.
            continue;
        }
        let tail = function.block_mut(id).instructions.split_off(index);
        let mut rest = tail.into_iter();
        rest.next();
        let rest: Vec<Instruction> = rest.collect();
        let origin = instruction.origin;
        match guard {
            None => {
                let mut builder = Builder::new(function, id, origin);
                copy_all(&mut builder, &merged, &sources);
                builder.jump(exit);
            }
            Some(guard) => {
                // The rest of the block becomes a block of its own.
                let successors = std::mem::take(&mut function.block_mut(id).successors);
                let mut builder = Builder::new(function, id, origin);
                let leave = builder.new_block();
                let stay = builder.new_block();
                builder.branch(guard, leave, stay);
                builder.set_block(leave);
                copy_all(&mut builder, &merged, &sources);
                builder.jump(exit);
                let block = function.block_mut(stay);
                block.instructions = rest;
                block.successors = successors;
            }
        }
    }
}

fn function_copy(function: &mut Function, value: Value) -> Value {
    let data = function.values[value];
    function.new_value(data.file, None)
}

fn copy_all(builder: &mut Builder<'_>, to: &[Value], from: &[Value]) {
    for (&to, &from) in to.iter().zip(from) {
        builder.mov(to, from);
    }
}

/// Work items of the walk, including the undo when it leaves a block.
enum Step {
    Visit(BlockId),
    Leave(usize),
}

/// Brings the values from `first` on into SSA; those before are in SSA already, and no phi reads or writes the others.
pub(crate) fn rename(function: &mut Function, first: Value) {
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let mut frontiers = IteratedFrontiers::new(cfg, dominators);
    let count = function.values.len();

    // Blocks that write each value.
    let mut writes: Vec<(Value, BlockId)> = Vec::new();
    for &id in cfg.order() {
        for instruction in &function.block(id).instructions {
            instruction.for_each_definition(|value| {
                if value >= first {
                    writes.push((value, id));
                }
            });
        }
    }
    writes.sort_unstable();
    writes.dedup();

    // Phis for each value at the iterated frontier of its writers, where it is live.
    let mut phi_for: TiVec<BlockId, Vec<Value>> = ti_vec![Vec::new(); function.blocks.len()];
    let mut definitions = writes.chunk_by(|one, next| one.0 == next.0).peekable();
    Liveness::visit(function, cfg, first, |value, is_live_in| {
        while definitions.next_if(|definitions| definitions[0].0 < value).is_some() {}
        let Some(definitions) = definitions.next_if(|definitions| definitions[0].0 == value) else { return };
        // The only definition dominates every use unless the value is read before it.
        if definitions.len() > 1 || is_live_in(BlockId(0)) {
            let blocks = definitions.iter().map(|(_, block)| *block);
            frontiers.of(blocks, is_live_in, |block| phi_for[block].push(value));
        }
    });
    for &id in cfg.order() {
        let phis = phi_for[id].iter().map(|&destination| Phi {
            destination,
            sources: PhiSources::with_capacity(cfg.predecessors(id).len()),
        });
        function.block_mut(id).phis.extend(phis);
    }

    let mut renaming = Renaming {
        function,
        first,
        current: ti_vec![None; count],
        taken: ti_vec![false; count],
        undefined: ti_vec![None; count],
        log: Vec::new(),
    };
    let mut steps: Vec<Step> = dominators.roots().iter().map(|&root| Step::Visit(root)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Leave(length) => renaming.rewind(length),
            Step::Visit(id) => {
                steps.push(Step::Leave(renaming.log.len()));
                renaming.block(id, &phi_for);
                steps.extend(dominators.children(id).iter().rev().map(|&child| Step::Visit(child)));
            }
        }
    }
    renaming.define_undefined();
}

struct Renaming<'a> {
    function: &'a mut Function,
    /// Values before this one keep their names.
    first: Value,
    /// The SSA value of each register at this point of the walk.
    current: TiVec<Value, Option<Value>>,
    /// Registers whose id is taken: the first definition keeps it.
    taken: TiVec<Value, bool>,
    /// The value of an uninitialized register.
    undefined: TiVec<Value, Option<Value>>,
    log: Vec<(Value, Option<Value>)>,
}

impl Renaming<'_> {
    fn rewind(&mut self, length: usize) {
        while self.log.len() > length {
            let (value, old) = self.log.pop().expect("the log is longer than the mark");
            self.current[value] = old;
        }
    }

    fn read(&mut self, register: Value) -> Value {
        if register < self.first {
            return register;
        }
        if let Some(value) = self.current[register] {
            return value;
        }
        if let Some(value) = self.undefined[register] {
            return value;
        }
        let data = self.function.values[register];
        let value = self.function.new_value(data.file, data.source);
        self.undefined[register] = Some(value);
        value
    }

    fn write(&mut self, register: Value) -> Value {
        if register < self.first {
            return register;
        }
        let value = if std::mem::replace(&mut self.taken[register], true) {
            let data = self.function.values[register];
            self.function.new_value(data.file, data.source)
        } else {
            register
        };
        self.log.push((register, self.current[register]));
        self.current[register] = Some(value);
        value
    }

    fn block(&mut self, id: BlockId, phi_for: &TiSlice<BlockId, Vec<Value>>) {
        let mut phis = std::mem::take(&mut self.function.block_mut(id).phis);
        let known = phis.len() - phi_for[id].len();
        for phi in &mut phis[known..] {
            phi.destination = self.write(phi.destination);
        }
        self.function.block_mut(id).phis = phis;
        let mut instructions = std::mem::take(&mut self.function.block_mut(id).instructions);
        for instruction in &mut instructions {
            instruction.for_each_use_mut(|value| *value = self.read(*value));
            if instruction.keeps_its_results() {
                let mut tied = oriole_ori::Values::new();
                instruction.for_each_definition(|value| tied.push(self.read(value)));
                instruction.tied = tied;
            }
            instruction.for_each_definition_mut(|value| *value = self.write(*value));
        }
        self.function.block_mut(id).instructions = instructions;
        let mut successors = self.function.block(id).successors.clone();
        successors.sort_unstable();
        successors.dedup();
        for successor in successors {
            let known = self.function.block(successor).phis.len() - phi_for[successor].len();
            for (index, &register) in (known..).zip(&phi_for[successor]) {
                let value = self.read(register);
                self.function.block_mut(successor).phis[index].sources.push((id, value.into()));
            }
        }
    }

    fn define_undefined(self) {
        let mut definitions = Vec::new();
        for value in self.undefined.into_iter().flatten() {
            let mut instruction = Instruction::new(Pseudo::Undefined, Origin(0));
            instruction.destinations.push(Destination::new(self.function.file(value), [value]));
            definitions.push(instruction);
        }
        // Parameters of a function must stay first.
        let entry = self.function.block_mut(BlockId(0));
        let first = usize::from(
            entry.instructions.first().is_some_and(|i| i.opcode == Opcode::Pseudo(Pseudo::Parameters)),
        );
        entry.instructions.splice(first..first, definitions);
    }
}
