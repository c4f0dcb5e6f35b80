//! Phases 13, 29, 46, 58, 65 and 81, GeneralOptimize: copy propagation, constant folding, operands from constants,
//! algebra and addresses, to a fixed point, then dead code.
//!
//! A sweep walks the blocks in RPO and rewrites one instruction at a time in place; facts about a definition are
//! complete before its uses are visited. Only loop phis learn late, so few sweeps suffice, and their number is
//! bounded. Another sweep runs only if the last one leaves work: a rule depends on its instruction, on the earlier
//! definitions of its operands and on facts about them. A second sweep would thus find nothing, except in the cases
//! that [`sweep`] lists.
//!
//! It works in SSA and outside it. Outside SSA only values with a single definition that dominates its uses are
//! considered (see [`Definitions`]); the others are left alone.

use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::{Evaluation, ValueFacts};
use crate::passes::live_dead::Removed;
use crate::rewriting::replacement;
use crate::rewriting::view::View;
use crate::{
    analyses::warp_group, passes::live_dead, rewriting::address_fold, rewriting::algebra,
    rewriting::copy_propagation, rewriting::operand_fold,
};
use oriole_options::Optimization;
use oriole_ori::{
    Allowance, BlockId, File, Form, Function, Instruction, Opcode, Origin, Outcome, Pass, PassContext,
    Pseudo, Source, SourceKind, canonical, edges,
};
use oriole_sass::Op;

/// The most sweeps in one run. A run that reaches the bound is correct, but not at a fixed point.
const SWEEPS: usize = 6;

/// The most rewrites of one instruction in one sweep.
const REWRITES: usize = 8;

/// The pass.
pub static PASS: Pass = Pass {
    optimization: Some(Optimization::Folding),
    asks: &[Optimization::DeadCode],
    idle_at_fixed_point: true,
    ..Pass::new(run)
};

/// Optimizes a function.
pub fn run(function: &mut Function, context: &PassContext<'_>) -> Outcome {
    let form = context.form;
    if function.blocks.is_empty() {
        return Outcome::Changed;
    }
    let mut fixed_point = false;
    let mut definitions = look(function, form);
    for _ in 0..SWEEPS {
        if !sweep(function, context, &mut definitions) {
            fixed_point = true;
            break;
        }
    }
    if context.wants(Optimization::DeadCode) {
        fixed_point &= match live_dead::remove(function) {
            Removed::Nothing => true,
            // Removed readers may leave others as the only ones. Outside SSA more may be known of a value that is
            // read in fewer places.
            Removed::Whole => form == Form::Ssa && !definitions.doubted(function),
            Removed::Results => false,
        };
    }
    if fixed_point { Outcome::FixedPoint } else { Outcome::Changed }
}

fn look(function: &Function, form: Form) -> Definitions {
    match form {
        Form::Ssa => Definitions::in_ssa(function),
        _ => Definitions::new(function),
    }
}

/// One walk over all instructions; true if another one might find something, which is the case where
///
/// * a phi was changed by facts learned after it, or could be changed once more;
/// * a branch was removed, and with it sources of phis;
/// * rewriting of an instruction stopped before a fixed point;
/// * a value has one reader now and had several when a rule asked;
/// * outside SSA, definitions of values changed from known to unknown or back.
///
/// `definitions` holds the definitions at the start, and is updated.
fn sweep(function: &mut Function, context: &PassContext<'_>, known: &mut Definitions) -> bool {
    let form = context.form;
    let definitions = &*known;
    let mut facts = ValueFacts::new(function);
    let (mut changed, mut open) = (false, false);
    let graph = function.graph();
    for &id in graph.cfg().order() {
        // The visited phis and instructions are outside the function meanwhile: no rule reads a phi or its own
        // instruction through the function.
        let mut phis = std::mem::take(&mut function.block_mut(id).phis);
        for phi in &mut phis {
            let before = context.allowance.map(|_| phi.clone());
            if copy_propagation::run_phi(function, definitions, &facts, phi) && is_kept(context, before, phi)
            {
                changed = true;
                open |= copy_propagation::is_open(function, definitions, &facts, phi);
            }
            facts.learn_phi(definitions, phi);
        }
        function.block_mut(id).phis = phis;
        for index in 0..function.block(id).instructions.len() {
            let place = &mut function.block_mut(id).instructions[index];
            let mut instruction = std::mem::replace(place, Instruction::new(Op::NOP, Origin(0)));
            let view = View {
                chip: context.chip,
                function,
                definitions,
                facts: &facts,
                loops: graph.loops(),
                block: id,
                decisions: context.decisions,
            };
            let before = context.allowance.map(|_| instruction.clone());
            let Rewritten { mut any, mut finished, mut results } = rewrite(&view, &mut instruction);
            if any && !is_kept(context, before, &mut instruction) {
                (any, finished, results) = (false, true, Evaluation::NotMade);
            }
            changed |= any;
            open |= !finished;
            facts.learn(function, definitions, &instruction, results);
            // The placeholder owns nothing.
            std::mem::forget(std::mem::replace(&mut function.block_mut(id).instructions[index], instruction));
        }
    }
    // Loop-carried values are known now: phis of headers get the originals of their sources.
    for id in function.block_ids() {
        let mut phis = std::mem::take(&mut function.block_mut(id).phis);
        for phi in &mut phis {
            let before = context.allowance.map(|_| phi.clone());
            open |= copy_propagation::run_phi(function, definitions, &facts, phi)
                && is_kept(context, before, phi);
        }
        function.block_mut(id).phis = phis;
    }
    // Convergence barriers were placed for the old graph; only in SSA they are certain not to exist yet.
    if form == Form::Ssa && !context.allowance.is_some_and(Allowance::is_spent) {
        // All branches of a walk are one rewrite.
        open |= fold_branches(function, definitions) && Allowance::allows(context.allowance);
    }
    if !changed && !open {
        return false;
    }
    open |= definitions.doubted(function);
    if form == Form::Ssa && !open {
        return false;
    }
    let now = look(function, form);
    open |= !definitions.agrees(&now);
    *known = now;
    open
}

/// Whether a rewrite is within the allowance; if it is not, what was there `before` takes its place again.
fn is_kept<T>(context: &PassContext<'_>, before: Option<T>, now: &mut T) -> bool {
    let kept = Allowance::allows(context.allowance);
    if let (false, Some(before)) = (kept, before) {
        *now = before;
    }
    kept
}

/// Result of rewriting an instruction.
pub(crate) struct Rewritten {
    /// The instruction changed.
    pub(crate) any: bool,
    /// Nothing more is found.
    pub(crate) finished: bool,
    /// Facts about its results.
    pub(crate) results: Evaluation,
}

/// Rewrites one instruction until a fixed point.
pub(crate) fn rewrite(view: &View<'_>, i: &mut Instruction) -> Rewritten {
    let &View { function, definitions, facts, .. } = view;
    let mut any = false;
    for _ in 0..REWRITES {
        let operands = copy_propagation::run(function, definitions, facts, i);
        let mut again = operands.changed;
        again |= decided_guard(facts, i);
        if operands.known || definitions.has_undefined() {
            again |= operand_fold::run(view, i);
        }
        if operands.addresses {
            again |= address_fold::run(view, i);
        }
        again |= algebra::run(view, i);
        again |= warp_group::known_operands(facts, i);
        let mut results = Evaluation::NotMade;
        again |= known_result(definitions, facts, i, &mut results);
        if !again {
            return Rewritten { any, finished: true, results };
        }
        any = true;
    }
    Rewritten { any, finished: false, results: Evaluation::NotMade }
}

/// A guard that is always true is removed. One that is never true leaves the old values.
fn decided_guard(facts: &ValueFacts, i: &mut Instruction) -> bool {
    let Some(guard) = i.guard else { return false };
    let Some(word) = facts.word(guard.value) else { return false };
    if oriole_ori::effects::is_transfer(i) {
        return false;
    }
    if (word & 1 == 1) != guard.negated {
        i.guard = None;
        if !i.is_partial() {
            i.tied.clear();
        }
        return true;
    }
    let single =
        matches!(i.destinations.as_slice(), [only] if only.values.len() == 1 && only.fixed.is_none());
    if let ([old], true, None) = (i.tied.as_slice(), single, &i.call)
        && !i.memory.is_some_and(|memory| memory.writes || memory.ordered)
    {
        let old = *old;
        i.guard = None;
        i.tied.clear();
        i.memory = None;
        i.contract = false;
        i.opcode = Pseudo::Copy.into();
        i.mods = Default::default();
        i.sources.clear();
        i.sources.push(Source::value(old));
        return true;
    }
    false
}

/// Replaces an instruction whose only result is a known word by a move. Returns the evaluation, if one was made.
fn known_result(
    definitions: &Definitions,
    facts: &ValueFacts,
    i: &mut Instruction,
    results: &mut Evaluation,
) -> bool {
    let is_move = matches!(i.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
    if is_move || i.guard.is_some() {
        return false;
    }
    // Few results are known.
    let Some(known) = crate::rewriting::fold::evaluate(i, &|source| facts.source_word(source)) else {
        *results = Evaluation::Unknown;
        return false;
    };
    if !oriole_ori::effects::is_pure(i) {
        return false;
    }
    let Some(index) = replacement::sole_destination(i) else { return false };
    let Some(&word) = known.get(index) else { return false };
    let destination = i.destinations[index].clone();
    let [value] = destination.values.as_slice() else { return false };
    if !matches!(destination.file, File::R | File::P) || !definitions.is_stable(*value) {
        return false;
    }
    if destination.file == File::P {
        i.opcode = Pseudo::Copy.into();
        i.mods = Default::default();
        i.destinations = [destination].into_iter().collect();
        i.sources.clear();
        i.sources.push(if word & 1 == 1 { Source::pt() } else { Source::not_pt() });
        return true;
    }
    i.destinations = [destination].into_iter().collect();
    i.opcode = if word == 0 { Pseudo::Copy.into() } else { Op::MOV.into() };
    i.mods = Default::default();
    i.memory = None;
    i.contract = false;
    i.sources.clear();
    i.sources.push(if word == 0 { Source::rz() } else { Source::imm(word as u32) });
    true
}

/// Makes branches with a known guard unconditional or removes them.
fn fold_branches(function: &mut Function, definitions: &Definitions) -> bool {
    let mut changed = false;
    for id in function.block_ids() {
        let block = function.block(id);
        let [taken, other] = block.successors[..] else { continue };
        let Some(at) = block.instructions.iter().position(|i| {
            i.opcode == Opcode::Sass(Op::BRA)
                && i.guard.is_some()
                && matches!(i.sources.as_slice(), [Source { kind: SourceKind::Block(_), .. }])
        }) else {
            continue;
        };
        let guard = block.instructions[at].guard.expect("the position was found by its guard");
        let Some(word) = constant_predicate(function, definitions, guard.value) else { continue };
        let goes = word != guard.negated;
        let (stays, gone): (BlockId, BlockId) = if goes { (taken, other) } else { (other, taken) };
        let block = function.block_mut(id);
        if goes {
            block.instructions[at].guard = None;
            block.instructions.truncate(at + 1);
        } else {
            block.instructions.remove(at);
        }
        block.successors = smallvec::smallvec![stays];
        if gone != stays {
            edges::forget_predecessor(function, gone, id);
        }
        changed = true;
    }
    if changed {
        canonical::order_blocks(function);
    }
    changed
}

fn constant_predicate(
    function: &Function,
    definitions: &Definitions,
    value: oriole_ori::Value,
) -> Option<bool> {
    let instruction = definitions.instruction(function, value)?;
    if instruction.opcode != Opcode::Pseudo(Pseudo::Copy) {
        return None;
    }
    match instruction.sources.as_slice() {
        [Source { kind: SourceKind::True(_), invert, .. }] => Some(!invert),
        _ => None,
    }
}
