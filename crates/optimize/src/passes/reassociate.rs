//! Phase 50, OriReassociateAndCommon: for two dependent adds, gathers the loop-invariant terms in the first, so that
//! it can leave the loop.
//!
//! Adds wrap at 32 or 64 bits, so any association gives the same result. The first add must have no other reader and
//! be in the same loop as the second; each keeps its place and its results.

use crate::analyses::definitions::{Definitions, Place};
use crate::rewriting::join_phis;
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    Allowance, BlockId, FormChange, Function, Instruction, Loops, Opcode, Outcome, Pass, Pseudo, Source,
    SourceKind, is_legal,
};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::Reassociation),
    asks: &[Optimization::JoinPhis],
    ..Pass::new(|function, context| {
        let joined = context.wants(Optimization::JoinPhis) && join_phis::run(function);
        Outcome::changed_if(run_within(function, context.chip, context.allowance) | joined)
    })
};

/// Trades terms between additions of a function in SSA. True if some were.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    run_within(function, chip, None)
}

fn run_within(function: &mut Function, chip: Chip, allowance: Option<&Allowance>) -> bool {
    if function.blocks.is_empty() {
        return false;
    }
    let graph = function.graph();
    let (cfg, dominators, loops) = (graph.cfg(), graph.dominators(), graph.loops());
    if loops.loops.is_empty() || loops.is_irreducible() {
        return false;
    }
    let mut changed = false;
    // Places and reader counts do not change: two adds only swap terms.
    let definitions = Definitions::of(function, cfg, dominators);
    for &id in cfg.order() {
        if loops.innermost(id).is_none() {
            continue;
        }
        for index in 0..function.block(id).instructions.len() {
            let trader = Trader { chip, function, definitions: &definitions, loops, block: id };
            let Some(trade) = trader.trade(&function.block(id).instructions[index]) else { continue };
            if !Allowance::allows(allowance) {
                return changed;
            }
            let (block, at) = trade.inner_place;
            function.block_mut(block).instructions[at as usize] = trade.inner;
            function.block_mut(id).instructions[index] = trade.outer;
            changed = true;
        }
    }
    changed
}

struct Trader<'a> {
    chip: Chip,
    function: &'a Function,
    definitions: &'a Definitions,
    loops: &'a Loops,
    block: BlockId,
}

struct Trade {
    inner_place: (BlockId, u32),
    inner: Instruction,
    outer: Instruction,
}

type Terms = SmallVec<[Source; 6]>;

/// The terms of a plain addition of 32 bits, zeros left out.
fn terms_of_sum(i: &Instruction) -> Option<Terms> {
    let plain = i.opcode == Opcode::Sass(Op::IADD3)
        && i.mods.is_empty()
        && i.sources.len() == 3
        && i.guard.is_none()
        && i.destinations[0].values.len() == 1
        && i.destinations[1..].iter().all(|destination| destination.values.is_empty());
    let simple = |s: &Source| !s.invert && !s.absolute && s.suffixes.is_empty() && s.fixed.is_none();
    (plain && i.sources.iter().all(simple))
        .then(|| i.sources.iter().filter(|s| !matches!(s.kind, SourceKind::Zero(_))).cloned().collect())
}

/// The terms of a 64-bit addition, both registers.
fn terms_of_pair(i: &Instruction) -> Option<Terms> {
    let plain = i.opcode == Opcode::Pseudo(Pseudo::Add64) && i.guard.is_none() && i.sources.len() == 2;
    let pair = |s: &Source| {
        matches!(&s.kind, SourceKind::Values(values) if values.len() == 2) && !s.invert && s.fixed.is_none()
    };
    (plain && i.sources.iter().all(pair)).then(|| i.sources.iter().cloned().collect())
}

/// A wide multiply-add of 32-bit factors with a 64-bit addend, all of them registers or immediates.
fn is_wide_product(i: &Instruction) -> bool {
    i.opcode == Opcode::Sass(Op::IMAD)
        && i.guard.is_none()
        && i.mods.has(Mod::WIDE)
        && i.mods.iter().all(|name| matches!(name, Mod::WIDE | Mod::U32))
        && i.sources.len() == 3
        && i.destinations.len() == 1
        && matches!(&i.sources[2].kind, SourceKind::Values(values) if values.len() == 2)
        && !i.sources[2].negate
        && !i.sources[2].invert
}

impl Trader<'_> {
    /// True if the source is invariant in the current loop.
    fn is_invariant(&self, source: &Source) -> bool {
        let Some(index) = self.loops.innermost(self.block) else { return false };
        let mut invariant = true;
        source.for_each_value(|value| {
            invariant &=
                self.definitions.block(value).is_some_and(|block| !self.loops.contains(index, block));
        });
        invariant
    }

    /// The add that defines a term, with its place, if nothing else reads it.
    fn inner(&self, source: &Source) -> Option<(&Instruction, (BlockId, u32))> {
        let SourceKind::Values(values) = &source.kind else { return None };
        if source.negate || values.iter().any(|&value| self.definitions.uses(value) != 1) {
            return None;
        }
        let Place::Instruction(block, index) = self.definitions.place(values[0]) else { return None };
        let instruction = self.definitions.instruction(self.function, values[0])?;
        let same = instruction.destinations.first().is_some_and(|first| first.values == *values);
        (same && self.loops.innermost(block) == self.loops.innermost(self.block))
            .then_some((instruction, (block, index)))
    }

    fn trade(&self, outer: &Instruction) -> Option<Trade> {
        if let Some(terms) = terms_of_sum(outer) {
            return self.trade_sum(outer, &terms);
        }
        let terms = terms_of_pair(outer)?;
        for (at, term) in terms.iter().enumerate() {
            let other = &terms[1 - at];
            let Some((inner, inner_place)) = self.inner(term) else { continue };
            if !self.is_invariant(other) {
                continue;
            }
            if let Some(inner_terms) = terms_of_pair(inner) {
                // Swap a variant inner term with the outer addend.
                let [first, second] = inner_terms.as_slice() else { continue };
                let (stays, goes) = match (self.is_invariant(first), self.is_invariant(second)) {
                    (true, false) => (first, second),
                    (false, true) => (second, first),
                    _ => continue,
                };
                let mut new_inner = inner.clone();
                new_inner.sources = [stays.clone(), other.clone()].into_iter().collect();
                let mut new_outer = outer.clone();
                new_outer.sources = [term.clone(), goes.clone()].into_iter().collect();
                return Some(Trade { inner_place, inner: new_inner, outer: new_outer });
            }
            if is_wide_product(inner) && self.is_invariant(&inner.sources[2]) {
                let factors_vary = inner.sources[..2].iter().any(|factor| !self.is_invariant(factor));
                if !factors_vary {
                    continue;
                }
                let mut new_inner = outer.clone();
                new_inner.destinations = inner.destinations.clone();
                new_inner.origin = inner.origin;
                new_inner.sources = [inner.sources[2].clone(), other.clone()].into_iter().collect();
                let mut new_outer = inner.clone();
                new_outer.destinations = outer.destinations.clone();
                new_outer.origin = outer.origin;
                new_outer.sources[2] = term.clone();
                return Some(Trade { inner_place, inner: new_inner, outer: new_outer });
            }
        }
        None
    }

    /// 3-input adds: worth it only where at least two terms leave the loop together.
    fn trade_sum(&self, outer: &Instruction, terms: &Terms) -> Option<Trade> {
        for (at, term) in terms.iter().enumerate() {
            let Some((inner, inner_place)) = self.inner(term) else { continue };
            let Some(inner_terms) = terms_of_sum(inner) else { continue };
            if inner_terms.iter().all(|term| self.is_invariant(term)) {
                continue;
            }
            let others = terms.iter().enumerate().filter(|&(n, _)| n != at).map(|(_, term)| term);
            let all: Terms = inner_terms.iter().chain(others).cloned().collect();
            let (fixed, changing): (Terms, Terms) = all.into_iter().partition(|term| self.is_invariant(term));
            if !(2..=3).contains(&fixed.len()) || changing.len() > 2 {
                continue;
            }
            let candidate = |i: &Instruction, terms: &[Source]| {
                let mut sources: SmallVec<[Source; 3]> = terms.iter().cloned().collect();
                sources.sort_by_key(|source| !matches!(source.kind, SourceKind::Values(_)));
                while sources.len() < 3 {
                    sources.push(Source::rz());
                }
                // An operand that is not a register goes to the middle.
                if !matches!(sources[2].kind, SourceKind::Values(_) | SourceKind::Zero(_)) {
                    sources.swap(1, 2);
                }
                let mut made = i.clone();
                made.opcode = Op::IADD3.into();
                made.mods = Mods::none();
                made.sources = sources.into_iter().collect();
                is_legal(self.chip, self.function, &made).then_some(made)
            };
            let mut outer_terms: Terms = changing;
            outer_terms.push(term.clone());
            if let (Some(new_inner), Some(new_outer)) =
                (candidate(inner, &fixed), candidate(outer, &outer_terms))
            {
                return Some(Trade { inner_place, inner: new_inner, outer: new_outer });
            }
        }
        None
    }
}
