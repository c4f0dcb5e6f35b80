//! Part of phase 74: words that are copied to uniform registers are computed there.
//!
//! Lowering copies addresses and descriptors to uniform registers where an instruction takes them. Often they are sums of
//! one word and several constants: then that word, the root, is copied once where it is written, and the sums are
//! computed on the uniform datapath. A word that anything reads from a general register only stays there, and may be
//! a root itself.
//!
//! Chains with a common word are judged together: the copies that they save, weighted by the loops around them, must be
//! no fewer than the copies of their roots. Words and roots are written where the whole warp executes only. Those that are
//! read in other blocks are bounded in number: they are live for long, and rows of descriptors need registers, too. Descriptors of
//! `wgmma` are left to phase 85, which computes them from one another.

use crate::analyses::warp_group::is_product;
use crate::rewriting::uniform_forms::{Candidates, fitting, moved, uniform_form};
use oriole_chip::Chip;
use oriole_ori::{
    BlockId, Chains, Destination, Divergence, File, FlowGraph, Function, Instruction, Opcode, Pseudo, Source,
    Value, is_legal,
};
use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::ti_vec;

/// Most words and roots that are read in other blocks.
const MOST_ACROSS: usize = 24;

/// How much more often the code of a loop is executed than that around it.
const ROUNDS: i64 = 8;

/// Loops that count as one more.
const DEPTH: u32 = 4;

/// A place in the function.
type Place = (BlockId, usize);

/// Computes words in uniform registers that are copied there. Outside SSA.
pub(crate) fn run(function: &mut Function, chip: Chip) {
    let mut leaves: Vec<(BlockId, Value)> = Vec::new();
    for id in function.block_ids() {
        if function.block(id).instructions.iter().any(is_product) {
            continue;
        }
        let words = function.block(id).instructions.iter().filter_map(copied);
        leaves.extend(words.filter(|&word| function.file(word) == File::R).map(|word| (id, word)));
    }
    if leaves.is_empty() {
        return;
    }
    let graph = function.graph();
    let divergence = Divergence::new(function, &graph);
    let order = graph.cfg().order();
    let [definitions, uses] = [Chains::of_definitions(function, order), Chains::of_uses(function, order)];
    let known = Known { chip, graph: &graph, divergence, definitions, uses, leaves };
    let reached = Facts { function, known: &known }.reached();
    let mut uniform: Candidates = ti_vec![None; function.values.len()];
    for &value in &reached {
        let source = function.values[value].source;
        let is_uniform = function.file(value) == File::UR;
        uniform[value] = Some(if is_uniform { value } else { function.new_value(File::UR, source) });
    }
    uniform.resize(function.values.len(), None);
    let facts = Facts { function, known: &known };
    let mut words = reached;
    words.retain(|&word| facts.form(word, &uniform).is_some());
    facts.drop_unfit(&mut words, &uniform);
    let kept = facts.judge(&words);
    if kept.is_empty() {
        return;
    }
    for (value, twin) in uniform.iter_mut_enumerated() {
        let stays = kept.contains(&value) || function.file(value) == File::UR;
        *twin = twin.filter(|_| stays);
    }
    let words: FxHashSet<Value> = words.into_iter().filter(|word| kept.contains(word)).collect();
    rewrite(function, chip, &uniform, &words);
}

/// The word that a copy brings to a uniform register.
fn copied(instruction: &Instruction) -> Option<Value> {
    let copies = instruction.opcode == Opcode::Pseudo(Pseudo::Copy) && instruction.guard.is_none();
    let [destination] = instruction.destinations.as_slice() else { return None };
    let single = destination.file == File::UR && destination.values.len() == 1 && destination.fixed.is_none();
    instruction.sources.first().filter(|_| copies && single)?.as_plain_value()
}

/// Analyses of the function before the pass.
struct Known<'a> {
    chip: Chip,
    graph: &'a FlowGraph,
    divergence: Divergence,
    definitions: Chains,
    uses: Chains,
    /// The copies, by block.
    leaves: Vec<(BlockId, Value)>,
}

/// The function, and what is known of it.
struct Facts<'a> {
    function: &'a Function,
    known: &'a Known<'a>,
}

impl Facts<'_> {
    /// The place of the definition of a general word that all lanes have and the whole warp writes once.
    fn place(&self, value: Value) -> Option<Place> {
        let &[(block, index)] = self.known.definitions.of(value) else { return None };
        let index = (index as usize).checked_sub(self.function.block(block).phis.len())?;
        let fits = self.function.file(value) == File::R
            && self.known.divergence.is_uniform(value)
            && self.known.divergence.is_uniform_block(block)
            && self.function.block(block).instructions[index].guard.is_none();
        fits.then_some((block, index))
    }

    fn instruction(&self, (block, index): Place) -> &Instruction {
        &self.function.block(block).instructions[index]
    }

    /// The words that are copied, those they are computed from, and so on, as far as the uniform datapath may compute
    /// them; and uniform values that are read meanwhile.
    fn reached(&self) -> Vec<Value> {
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        let mut reached: Vec<Value> = self.known.leaves.iter().map(|leaf| leaf.1).collect();
        reached.retain(|&word| self.place(word).is_some() && seen.insert(word));
        let mut at = 0;
        while let Some(&value) = reached.get(at) {
            at += 1;
            let Some(place) = self.place(value) else { continue };
            let inputs = inputs(self.instruction(place));
            let known = |&input: &Value| self.function.file(input) == File::UR || self.place(input).is_some();
            if has_twin(self.instruction(place)) && inputs.iter().all(known) {
                reached.extend(inputs.into_iter().filter(|&input| seen.insert(input)));
            }
        }
        reached
    }

    /// The word on the uniform datapath, if its operands were there.
    fn form(&self, value: Value, uniform: &Candidates) -> Option<Instruction> {
        let instruction = self.instruction(self.place(value)?);
        if !has_twin(instruction) || !inputs(instruction).iter().all(|&input| uniform[input].is_some()) {
            return None;
        }
        let form = moved(&uniform_form(self.known.chip, instruction, uniform)?, uniform, true);
        (form.destinations[0].width == 1 && is_legal(self.known.chip, self.function, &form)).then_some(form)
    }

    /// Drops words that something else reads from a general register, until none is left.
    fn drop_unfit(&self, words: &mut Vec<Value>, uniform: &Candidates) {
        let mut members: Candidates = ti_vec![None; uniform.len()];
        words.iter().for_each(|&word| members[word] = uniform[word]);
        loop {
            let before = words.len();
            words.retain(|&word| {
                let fits = self.known.uses.of(word).iter().all(|&(block, index)| {
                    let phis = self.function.block(block).phis.len();
                    let Some(at) = (index as usize).checked_sub(phis) else { return false };
                    let reader = self.instruction((block, at));
                    copied(reader) == Some(word)
                        || single_result(reader).is_some_and(|result| members[result].is_some())
                        || !reader.is_copy()
                            && fitting(self.function, self.known.chip, reader, &members).is_some()
                });
                if !fits {
                    members[word] = None;
                }
                fits
            });
            if words.len() == before {
                return;
            }
        }
    }

    fn weight(&self, block: BlockId) -> i64 {
        let loops = self.known.graph.loops();
        let around = std::iter::successors(loops.innermost(block), |&at| loops.loops[at].parent);
        ROUNDS.pow(u32::try_from(around.count()).unwrap_or(DEPTH).min(DEPTH))
    }

    /// The words and roots of the chains that save copies.
    fn judge(&self, words: &[Value]) -> FxHashSet<Value> {
        let members: FxHashSet<Value> = words.iter().copied().collect();
        let mut groups = Groups::default();
        let mut roots: FxHashSet<Value> = FxHashSet::default();
        for &word in words {
            let Some(place) = self.place(word) else { continue };
            groups.find(word);
            for input in inputs(self.instruction(place)) {
                if self.function.file(input) == File::R {
                    groups.join(word, input);
                    if !members.contains(&input) {
                        roots.insert(input);
                    }
                }
            }
        }
        // The copies that each group saves, and how many of its values live for long.
        let mut totals: FxHashMap<Value, (i64, usize)> = FxHashMap::default();
        for &(block, word) in self.known.leaves.iter().filter(|leaf| members.contains(&leaf.1)) {
            totals.entry(groups.find(word)).or_default().0 += self.weight(block);
        }
        for &value in words.iter().chain(&roots) {
            let Some((block, _)) = self.place(value) else { continue };
            let total = totals.entry(groups.find(value)).or_default();
            if roots.contains(&value) {
                total.0 -= self.weight(block);
            }
            total.1 += usize::from(self.known.uses.of(value).iter().any(|&(reader, _)| reader != block));
        }
        let mut order: Vec<(Value, (i64, usize))> = totals.into_iter().collect();
        order.sort_unstable_by_key(|&(group, (saved, _))| (std::cmp::Reverse(saved), group));
        let mut left = MOST_ACROSS;
        order.retain(|&(_, (saved, across))| {
            let taken = saved >= 0 && across <= left;
            left -= if taken { across } else { 0 };
            taken
        });
        let taken: FxHashSet<Value> = order.into_iter().map(|(group, _)| group).collect();
        let all = words.iter().chain(&roots).copied();
        all.filter(|&value| taken.contains(&groups.find(value))).collect()
    }
}

/// Sets of values with a common member each.
#[derive(Default)]
struct Groups(FxHashMap<Value, Value>);

impl Groups {
    fn find(&mut self, value: Value) -> Value {
        let mut at = value;
        while let Some(&next) = self.0.get(&at).filter(|&&next| next != at) {
            at = next;
        }
        self.0.insert(value, at);
        at
    }

    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.find(a), self.find(b));
        self.0.insert(a.max(b), a.min(b));
    }
}

fn has_twin(instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    op.info().uniform.is_some() && single_result(instruction).is_some()
}

fn single_result(instruction: &Instruction) -> Option<Value> {
    match instruction.destinations.as_slice() {
        [only] if only.width == 1 => only.values.first().copied(),
        _ => None,
    }
}

fn inputs(instruction: &Instruction) -> Vec<Value> {
    let mut inputs = Vec::new();
    instruction.for_each_use(|value| inputs.push(value));
    inputs
}

/// Rewrites the words, their readers and the copies.
fn rewrite(function: &mut Function, chip: Chip, uniform: &Candidates, words: &FxHashSet<Value>) {
    let mut members = uniform.clone();
    for (value, member) in members.iter_mut_enumerated() {
        if !words.contains(&value) {
            *member = None;
        }
    }
    for id in function.block_ids() {
        let instructions = std::mem::take(&mut function.block_mut(id).instructions);
        let mut rewritten = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let result = single_result(&instruction);
            let new = if result.is_some_and(|result| words.contains(&result)) {
                uniform_form(chip, &instruction, uniform).map(|form| moved(&form, uniform, true))
            } else {
                let mut reads = false;
                let fit = if copied(&instruction).is_some() { uniform } else { &members };
                instruction.for_each_use(|value| reads |= fit[value].is_some());
                reads.then(|| fitting(function, chip, &instruction, fit)).flatten()
            };
            let new = new.unwrap_or(instruction);
            let origin = new.origin;
            let mut roots = Vec::new();
            new.for_each_definition(|value| roots.extend(uniform[value].map(|twin| (value, twin))));
            rewritten.push(new);
            for (root, to) in roots.into_iter().filter(|&(root, _)| function.file(root) == File::R) {
                let mut copy = Instruction::new(Pseudo::Copy, origin);
                copy.destinations.push(Destination::new(File::UR, [to]));
                copy.sources.push(Source::value(root));
                rewritten.push(copy);
            }
        }
        function.block_mut(id).instructions = rewritten;
    }
}
