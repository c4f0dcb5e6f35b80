//! Phase 31, OriLinearReplacement: fuses chains of two operations into one instruction: nested adds and multiplies
//! (`IADD3`, `IMAD`, `IMAD.WIDE`), chosen numbers (`IADD3.X`), shifted addends (`LEA`), LUT composition (`LOP3`,
//! `PLOP3`), and contraction of floating-point multiply and add (`FFMA`, `DFMA`) where source and option allow it.
//!
//! An inner operation is fused only if it has no other reader and is in the same loop, so that no work is duplicated.
//!
//! A fused instruction has the operands of its parts, and may take constants where those could not. The rules of the
//! general optimizations rewrite it at once, so they have nothing to do after this phase (37, GeneralOptimizeMid, is
//! part of it).

mod extremes;
mod floats;
mod fuser;
mod sums;
mod tables;
mod wide_sums;

use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::{Evaluation, ValueFacts};
use crate::passes::live_dead::Removed;
use crate::rewriting::carry_sums;
use crate::rewriting::view::View;
use crate::{passes::general_optimize, passes::live_dead};
use floats::is_clamp;
use fuser::Fuser;
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::pattern::Decisions;
use oriole_ori::{
    Allowance, BlockId, Destination, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo,
    Source, SourceKind, Value,
};
use oriole_sass::{Mod, Op};
use wide_sums::WideSums;

/// Most instructions that are fused into one.
const DEPTH: usize = 4;

/// The pass, and the removal of fused inner operations.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::LinearReplacement),
    asks: &[Optimization::Contraction, Optimization::DeadCode, Optimization::Folding],
    ..Pass::new(|function, context| {
        let wants = Wants {
            contraction: context.wants(Optimization::Contraction),
            folding: context.wants(Optimization::Folding),
        };
        let outcome = run_within(function, context.chip, wants, context.decisions, context.allowance);
        let removes = context.wants(Optimization::DeadCode);
        match outcome {
            Outcome::Unchanged => Outcome::changed_if(removes && live_dead::run(function)),
            // Fused inner operations are dead.
            outcome if removes && live_dead::remove(function) != Removed::Results => outcome,
            _ => Outcome::Changed,
        }
    })
};

/// Options besides the fusion of integer, bit and predicate operations.
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    /// Contract floating-point multiply and add.
    pub contraction: bool,
    /// Rewrite fused instructions by the rules of the general optimizations: they may take constants where their
    /// parts could not.
    pub folding: bool,
}

/// Fuses operations of a function in SSA; the fused inner operations remain as dead code.
pub fn run(function: &mut Function, chip: Chip, wants: Wants, decisions: Option<&Decisions>) -> Outcome {
    run_within(function, chip, wants, decisions, None)
}

fn run_within(
    function: &mut Function,
    chip: Chip,
    wants: Wants,
    decisions: Option<&Decisions>,
    allowance: Option<&Allowance>,
) -> Outcome {
    if function.blocks.is_empty() {
        return Outcome::Unchanged;
    }
    let mut changed = false;
    let mut finished = wants.folding;
    let graph = function.graph();
    let (cfg, loops) = (graph.cfg(), graph.loops());
    let mut definitions = Definitions::in_ssa(function);
    let mut facts = ValueFacts::new(function);
    let mut insertions: Vec<(BlockId, usize, Instruction)> = Vec::new();
    let mut sums = WideSums::default();
    for &id in cfg.order() {
        for phi in &function.block(id).phis {
            facts.learn_phi(&definitions, phi);
        }
        for index in 0..function.block(id).instructions.len() {
            let original = &function.block(id).instructions[index];
            let view = View {
                chip,
                function,
                definitions: &definitions,
                facts: &facts,
                loops,
                block: id,
                decisions,
            };
            let fuser = Fuser { view };
            let mut fused: Option<Instruction> = None;
            let mut before = None;
            for _ in 0..DEPTH {
                let Some(next) = fuser.fuse(fused.as_ref().unwrap_or(original), wants.contraction) else {
                    break;
                };
                fused = Some(next);
            }
            fused = fused.filter(|fused| fused != original);
            if fused.is_none()
                && let Some((first, second)) = fuser.shifted_pair(original)
            {
                before = Some(first);
                fused = Some(second);
            }
            if fused.is_some() && !Allowance::allows(allowance) {
                (before, fused) = (None, None);
            }
            if wants.folding {
                for written in before.iter_mut().chain(&mut fused) {
                    finished &= general_optimize::rewrite(&view, written).finished;
                }
            }
            // Facts about the old results, on which readers at their fixed point relied.
            let mut known = None;
            if let Some(fused) = fused.filter(|fused| fused != original) {
                changed = true;
                facts.learn(function, &definitions, original, Evaluation::NotMade);
                known = Some((facts.of_results(original), has_number(&facts, original)));
                fused.for_each_use(|value| definitions.add_use(value));
                let original = std::mem::replace(&mut function.block_mut(id).instructions[index], fused);
                release(function, &mut definitions, &original);
            }
            if let Some(mut first) = before {
                // The carry between the two halves is a new predicate.
                let carry = function.new_value(File::P, None);
                first.destinations[1] = Destination::new(File::P, [carry]);
                let second = &mut function.block_mut(id).instructions[index];
                if let Some(last) = second.sources.last_mut() {
                    *last = carry.into();
                }
                insertions.push((id, index, first));
                continue;
            }
            let view = View {
                chip,
                function,
                definitions: &definitions,
                facts: &facts,
                loops,
                block: id,
                decisions,
            };
            if let Some(total) = sums.shortened(&view, &function.block(id).instructions[index])
                && Allowance::allows(allowance)
            {
                total.replace(function, (id, index), &mut insertions);
                (changed, finished) = (true, false);
                continue;
            }
            let instruction = &function.block(id).instructions[index];
            facts.learn(function, &definitions, instruction, Evaluation::NotMade);
            finished &= known.is_none_or(|(known, number)| {
                known == facts.of_results(instruction) && (number || !has_number(&facts, instruction))
            });
        }
    }
    insert(function, insertions);
    match (changed, finished) {
        (false, _) => Outcome::Unchanged,
        (true, true) if !definitions.doubted(function) => Outcome::Kept,
        (true, _) => Outcome::Changed,
    }
}

/// Inserts instructions before those with these indices; they come in the order of the blocks and indices.
fn insert(function: &mut Function, insertions: Vec<(BlockId, usize, Instruction)>) {
    // From the back, so that indices stay valid; each block is rebuilt once.
    let mut insertions = insertions.into_iter().rev().peekable();
    while let Some((id, index, instruction)) = insertions.next() {
        let mut here = vec![(index, instruction)];
        while let Some((_, index, instruction)) = insertions.next_if(|(other, ..)| *other == id) {
            here.push((index, instruction));
        }
        let old = std::mem::take(&mut function.block_mut(id).instructions);
        let mut new = Vec::with_capacity(old.len() + here.len());
        for (index, instruction) in old.into_iter().enumerate() {
            while here.last().is_some_and(|(before, _)| *before == index) {
                new.extend(here.pop().map(|(_, first)| first));
            }
            new.push(instruction);
        }
        function.block_mut(id).instructions = new;
    }
}

/// An add or LUT with a constant, which a reader of the result may fuse.
fn has_number(facts: &ValueFacts, i: &Instruction) -> bool {
    let is_number =
        |source: &Source| !matches!(source.kind, SourceKind::Zero(_)) && facts.source_word(source).is_some();
    matches!(i.opcode, Opcode::Sass(Op::IADD3 | Op::LOP3)) && i.sources.iter().take(3).any(is_number)
}

/// Removes the uses of an instruction's operands; an instruction that is dead then reads nothing either.
fn release(function: &Function, definitions: &mut Definitions, instruction: &Instruction) {
    let mut work: Vec<Value> = Vec::new();
    instruction.for_each_use(|value| work.push(value));
    while let Some(value) = work.pop() {
        definitions.drop_use(value);
        if definitions.uses(value) > 0 {
            continue;
        }
        if let Some(dead) = definitions.instruction(function, value) {
            let mut wanted = !oriole_ori::effects::is_removable(dead);
            dead.for_each_definition(|result| wanted |= definitions.uses(result) > 0);
            // Of several results the last one to become dead releases the operands.
            if !wanted {
                dead.for_each_use(|operand| work.push(operand));
            }
        }
    }
}

impl Fuser<'_> {
    /// The instruction fused with one that it reads, if there is one that it can be fused with.
    fn fuse(&self, i: &Instruction, contract: bool) -> Option<Instruction> {
        match i.opcode {
            Opcode::Sass(Op::IADD3) => {
                self.sum(i).or_else(|| carry_sums::run(&self.view, i, |source| self.inner(source)))
            }
            Opcode::Sass(Op::FADD) if i.mods.has(Mod::SAT) && is_clamp(i) => self.clamped(i),
            Opcode::Sass(Op::FADD) if contract => self.contraction(i, Op::FMUL, Op::FFMA),
            Opcode::Sass(Op::DADD) if contract => self.contraction(i, Op::DMUL, Op::DFMA),
            Opcode::Sass(Op::FADD2) if contract => self.contraction(i, Op::FMUL2, Op::FFMA2),
            // The sign of three would not be that of two and one.
            Opcode::Sass(Op::HMNMX2) if !i.mods.has(Mod::XORSIGN) => self.extreme_of_three(i, Op::VHMNMX),
            Opcode::Sass(Op::FMNMX) => self.extreme_of_three(i, Op::FMNMX3),
            Opcode::Sass(Op::VIMNMX) => {
                self.extreme_of_sum(i).or_else(|| self.extreme_of_three(i, Op::VIMNMX3))
            }
            Opcode::Sass(Op::LOP3 | Op::PLOP3) => self.table(i),
            Opcode::Pseudo(Pseudo::Add64) => self.wide_sum(i),
            _ => None,
        }
    }
}
