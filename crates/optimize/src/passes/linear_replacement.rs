//! Phase 31, OriLinearReplacement: fuses chains of two operations into one instruction: nested adds and multiplies
//! (`IADD3`, `IMAD`, `IMAD.WIDE`), chosen numbers (`IADD3.X`), shifted addends (`LEA`), LUT composition (`LOP3`,
//! `PLOP3`), and contraction of floating-point multiply and add (`FFMA`, `DFMA`) where source and option allow it.
//!
//! An inner operation is fused only if it has no other reader and is in the same loop, so that no work is duplicated.
//!
//! A fused instruction has the operands of its parts, and may take constants where those could not. The rules of the
//! general optimizations rewrite it at once, so they have nothing to do after this phase (37, GeneralOptimizeMid, is
//! part of it).

use crate::analyses::definitions::Definitions;
use crate::analyses::slots::exchanged;
use crate::analyses::value_facts::{Evaluation, ValueFacts, fixed_input, uses_input};
use crate::passes::live_dead::Removed;
use crate::rewriting::carry_sums;
use crate::rewriting::view::View;
use crate::{passes::general_optimize, passes::live_dead};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::pattern::{Alternative, Contest, Cost, Decisions};
use oriole_ori::{
    Allowance, BlockId, Destination, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo,
    Source, SourceKind, Value, is_legal,
};
use oriole_sass::{Mod, Mods, Op};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

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
    match (changed, finished) {
        (false, _) => Outcome::Unchanged,
        (true, true) if !definitions.doubted(function) => Outcome::Kept,
        (true, _) => Outcome::Changed,
    }
}

/// 64-bit sums of a pair and a constant that were met, by the low word of the result.
#[derive(Default)]
struct WideSums(FxHashMap<Value, WideSum>);

/// A pair plus a constant.
#[derive(Clone)]
struct WideSum {
    base: Source,
    constant: u64,
}

impl WideSums {
    /// For `(x + c1) + c2`, the sum of `x` and one constant. So the pointers of unrolled iterations do not wait for each
    /// other, and those that addresses take in as offsets are dead.
    fn shortened(&mut self, view: &View<'_>, i: &Instruction) -> Option<WideSum> {
        if i.opcode != Opcode::Pseudo(Pseudo::Add64) || i.guard.is_some() {
            return None;
        }
        let ([a, b], [low, _]) = (i.sources.as_slice(), i.destinations[0].values.as_slice()) else {
            return None;
        };
        let is_bare = |source: &Source| *source == Source::plain(source.kind.clone());
        let (base, constant) = match (view.facts.source_long(a), view.facts.source_long(b)) {
            (None, Some(constant)) if is_bare(a) && is_bare(b) => (a, constant),
            (Some(constant), None) if is_bare(a) && is_bare(b) => (b, constant),
            _ => return None,
        };
        let SourceKind::Values(values) = &base.kind else { return None };
        let [inner_low, inner_high] = values.as_slice() else { return None };
        let inner = view.definitions.instruction(view.function, *inner_low);
        let whole = inner.is_some_and(|inner| {
            inner.destinations.len() == 1
                && inner.destinations[0].values.as_slice() == [*inner_low, *inner_high]
        });
        let inner = self.0.get(inner_low).filter(|_| whole && !view.leaves_loop(*inner_low)).cloned();
        let sum = match &inner {
            Some(inner) => {
                WideSum { base: inner.base.clone(), constant: inner.constant.wrapping_add(constant) }
            }
            None => WideSum { base: base.clone(), constant },
        };
        let stable = view.is_stable(&sum.base) && view.definitions.is_stable(*low);
        if stable {
            self.0.insert(*low, sum.clone());
        }
        inner.filter(|_| stable).map(|_| sum)
    }
}

impl WideSum {
    /// Makes an addition this sum. The words of the constant go before it.
    fn replace(
        self,
        function: &mut Function,
        (id, index): (BlockId, usize),
        insertions: &mut Vec<(BlockId, usize, Instruction)>,
    ) {
        let origin = function.block(id).instructions[index].origin;
        let words = [self.constant as u32, (self.constant >> 32) as u32].map(|word| {
            let register = function.new_value(File::R, None);
            let (opcode, source): (Opcode, _) = match word {
                0 => (Pseudo::Copy.into(), Source::rz()),
                _ => (Op::MOV.into(), Source::imm(word)),
            };
            let mut number = Instruction::new(opcode, origin);
            number.destinations.push(Destination::new(File::R, [register]));
            number.sources.push(source);
            insertions.push((id, index, number));
            register
        });
        let add = &mut function.block_mut(id).instructions[index];
        add.sources = [self.base, Source::from(words)].into_iter().collect();
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

/// An add of a constant and zero that clamps it.
fn is_clamp(i: &Instruction) -> bool {
    let is_zero = |source: &Source| matches!(source.kind, SourceKind::Zero(_)) && !source.negate;
    let is_number = |source: &Source| source.as_plain_value().is_some();
    let [a, b] = i.sources.as_slice() else { return false };
    i.mods.iter().all(|name| matches!(name, Mod::SAT | Mod::FTZ))
        && (is_zero(a) && is_number(b) || is_zero(b) && is_number(a))
}

/// Encodings of an add with one addend shifted left by a known amount.
static SHIFTED_SUM: Contest = Contest {
    name: "a sum with a shifted addend",
    alternatives: &[
        Alternative { name: "LEA", cost: Cost::NONE },
        Alternative { name: "SHF and IADD3", cost: Cost::instruction(1) },
    ],
};

struct Fuser<'a> {
    view: View<'a>,
}

impl Fuser<'_> {
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

    fn accept(&self, candidate: Instruction) -> Option<Instruction> {
        if is_legal(self.view.chip, self.view.function, &candidate) {
            return Some(candidate);
        }
        let other = exchanged(&candidate, 0, 1)?;
        is_legal(self.view.chip, self.view.function, &other).then_some(other)
    }

    /// The instruction that defines all components of an operand and nothing else.
    fn maker(&self, source: &Source) -> Option<&Instruction> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let maker = self.view.definitions.instruction(self.view.function, values[0])?;
        let results: usize = maker.destinations.iter().map(|destination| destination.values.len()).sum();
        let same = maker.destinations.iter().any(|destination| destination.values == *values);
        (same && results == values.len()).then_some(maker)
    }

    /// [`Self::maker`] if only this operand reads the results, in the same loop.
    fn inner(&self, source: &Source) -> Option<&Instruction> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let inner = self.maker(source)?;
        let alone = values.iter().all(|&value| self.view.definitions.uses(value) == 1);
        let block = self.view.definitions.block(values[0])?;
        (alone && self.view.loops.innermost(block) == self.view.loops.innermost(self.view.block))
            .then_some(inner)
    }

    /// The nonzero operands of a plain add.
    fn addends(i: &Instruction) -> Option<SmallVec<[Source; 3]>> {
        let plain = i.opcode == Opcode::Sass(Op::IADD3)
            && i.mods.is_empty()
            && i.sources.len() == 3
            && i.destinations[1..].iter().all(|destination| destination.values.is_empty());
        if !plain || i.sources.iter().any(|s| s.invert || s.absolute || s.fixed.is_some()) {
            return None;
        }
        Some(i.sources.iter().filter(|s| !matches!(s.kind, SourceKind::Zero(_))).cloned().collect())
    }

    fn sum(&self, i: &Instruction) -> Option<Instruction> {
        let addends = Self::addends(i)?;
        for (at, source) in addends.iter().enumerate() {
            let others: SmallVec<[Source; 3]> =
                addends.iter().enumerate().filter(|&(n, _)| n != at).map(|(_, s)| s.clone()).collect();
            let Some(inner) = self.inner(source) else {
                if let [other] = others.as_slice() {
                    self.shifted_sum(i, source, other);
                }
                continue;
            };
            if let Some(inner_addends) = Self::addends(inner)
                && others.len() + inner_addends.len() <= 3
            {
                let mut sources: SmallVec<[Source; 3]> = inner_addends
                    .into_iter()
                    .map(|s| if source.negate { s.negated() } else { s })
                    .chain(others.iter().cloned())
                    .collect();
                // The middle operand is the one that may be something else than a register.
                sources.sort_by_key(|s| !matches!(s.kind, SourceKind::Values(_)));
                while sources.len() < 3 {
                    sources.push(Source::rz());
                }
                sources.swap(1, 2);
                if let Some(fused) = self.accept(rewritten(i, Op::IADD3, Mods::none(), sources)) {
                    return Some(fused);
                }
            }
            let [other] = others.as_slice() else { continue };
            let candidate =
                self.product_sum(i, source, inner, other).or_else(|| self.shifted_sum(i, source, other));
            if candidate.is_some() {
                return candidate;
            }
        }
        None
    }

    /// `a * b + other`.
    fn product_sum(
        &self,
        i: &Instruction,
        source: &Source,
        inner: &Instruction,
        other: &Source,
    ) -> Option<Instruction> {
        let plain = inner.opcode == Opcode::Sass(Op::IMAD)
            && inner.mods.iter().all(|name| name == Mod::U32)
            && inner.sources.len() == 3
            && matches!(inner.sources[2].kind, SourceKind::Zero(_));
        if !plain {
            return None;
        }
        let mut a = inner.sources[0].clone();
        let mut b = inner.sources[1].clone();
        if source.negate {
            match &mut b.kind {
                SourceKind::Imm(bits) => *bits = bits.wrapping_neg(),
                _ => a = a.negated(),
            }
        }
        self.accept(rewritten(i, Op::IMAD, Mods::none(), [a, b, other.clone()]))
    }

    /// `(a << n) + other` as one instruction, if that is cheaper.
    fn shifted_sum(&self, i: &Instruction, source: &Source, other: &Source) -> Option<Instruction> {
        let SourceKind::Values(values) = &source.kind else { return None };
        let shift = self.view.definitions.instruction(self.view.function, *values.first()?)?;
        if shift.opcode != Opcode::Sass(Op::SHF)
            || shift.mods != Mods::of(&[Mod::L, Mod::U32])
            || shift.sources.len() != 3
            || !matches!(shift.sources[2].kind, SourceKind::Zero(_))
        {
            return None;
        }
        let SourceKind::Imm(amount @ 1..=31) = shift.sources[1].kind else { return None };
        SHIFTED_SUM.decide(self.view.decisions, i.origin, |alternative| {
            if alternative > 0 {
                return Ok(None);
            }
            if self.inner(source).is_none() {
                return Err("the shifted value has other readers, or is made outside of the loop");
            }
            let mut a = shift.sources[0].clone();
            if source.negate {
                a = a.negated();
            }
            let sources = [a, other.clone(), Source::literal(amount.into())];
            let candidate = rewritten(i, Op::LEA, Mods::none(), sources);
            if is_legal(self.view.chip, self.view.function, &candidate) {
                Ok(Some(candidate))
            } else {
                Err("no form takes the operands")
            }
        })?
    }

    /// A 64-bit add with one addend that is a multiply of 32-bit factors, or an extended value.
    fn wide_sum(&self, i: &Instruction) -> Option<Instruction> {
        let [a, b] = i.sources.as_slice() else { return None };
        for (x, y) in [(a, b), (b, a)] {
            let pair = matches!(&y.kind, SourceKind::Values(values) if values.len() == 2);
            if x.negate || y.negate || x.invert || y.invert || !pair {
                continue;
            }
            // Two adds and a carry become one multiply-add, however often the multiply is duplicated.
            if let Some(inner) = self.maker(x)
                && inner.opcode == Opcode::Sass(Op::IMAD)
                && inner.mods.has(Mod::WIDE)
                && inner.mods.iter().all(|name| matches!(name, Mod::WIDE | Mod::U32))
                && inner.sources.len() == 3
                && matches!(inner.sources[2].kind, SourceKind::Zero(_))
                && inner.sources.iter().all(|source| self.view.is_stable(source))
            {
                let sources = [inner.sources[0].clone(), inner.sources[1].clone(), y.clone()];
                if let Some(fused) = self.accept(rewritten(i, Op::IMAD, inner.mods.clone(), sources)) {
                    return Some(fused);
                }
            }
            if let Some((value, unsigned, _)) = self.view.widened(x)
                && matches!(value.kind, SourceKind::Values(_))
            {
                let mods = Mods::of(&[Mod::WIDE]).with_if(unsigned, Mod::U32);
                let candidate = rewritten(i, Op::IMAD, mods, [value, Source::imm(1), y.clone()]);
                if let Some(fused) = self.accept(candidate) {
                    return Some(fused);
                }
            }
        }
        None
    }

    /// `(x << n) + y` of 64 bits: the two halves; the caller makes the carry between them.
    fn shifted_pair(&self, i: &Instruction) -> Option<(Instruction, Instruction)> {
        if i.opcode != Opcode::Pseudo(Pseudo::Add64) || i.guard.is_some() {
            return None;
        }
        let [a, b] = i.sources.as_slice() else { return None };
        let [low_result, high_result] = i.destinations[0].values.as_slice() else { return None };
        for (x, y) in [(a, b), (b, a)] {
            let SourceKind::Values(addend) = &y.kind else { continue };
            let [y_low, y_high] = addend.as_slice() else { continue };
            if x.negate || y.negate {
                continue;
            }
            let Some(inner) = self.inner(x) else { continue };
            if inner.opcode != Opcode::Pseudo(Pseudo::Shl64) || inner.sources.len() != 2 {
                continue;
            }
            let SourceKind::Values(shifted) = &inner.sources[0].kind else { continue };
            let ([x_low, x_high], SourceKind::Imm(amount @ 1..=31)) =
                (shifted.as_slice(), &inner.sources[1].kind)
            else {
                continue;
            };
            if inner.sources[0].negate {
                continue;
            }
            let half = |result: Value, mods: &[Mod], sources: &[Source]| {
                let mut half = Instruction::new(Op::LEA, i.origin);
                half.mods = Mods::of(mods);
                half.destinations.push(Destination::new(File::R, [result]));
                half.sources.extend(sources.iter().cloned());
                half
            };
            let amount = Source::literal((*amount).into());
            let mut first = half(*low_result, &[], &[(*x_low).into(), (*y_low).into(), amount.clone()]);
            first.destinations.push(Destination::dropped(File::P, 1));
            let second = half(
                *high_result,
                &[Mod::HI, Mod::X],
                &[(*x_low).into(), (*y_high).into(), (*x_high).into(), amount, Source::pt()],
            );
            let legal = |half: &Instruction| is_legal(self.view.chip, self.view.function, half);
            if legal(&first) && legal(&second) {
                return Some((first, second));
            }
        }
        None
    }

    /// A multiply and an add, both of which the source allows to be contracted, as one FMA.
    fn contraction(&self, i: &Instruction, multiply: Op, fused: Op) -> Option<Instruction> {
        if !i.contract || i.sources.len() != 2 {
            return None;
        }
        if i.mods.iter().any(|name| !matches!(name, Mod::FTZ | Mod::SAT)) {
            return None;
        }
        for (at, source) in i.sources.iter().enumerate() {
            // An f32x2 suffix means the whole operand; any other suffix names a part of the register.
            let whole = source.suffixes.iter().all(|suffix| matches!(suffix, Mod::F32x2 | Mod::HI_LO));
            if source.absolute || source.invert || !whole {
                continue;
            }
            let Some(inner) = self.inner(source) else { continue };
            let plain = inner.opcode == Opcode::Sass(multiply)
                && inner.contract
                && inner.sources.len() == 2
                && inner.mods.iter().all(|name| name == Mod::FTZ)
                && inner.mods.has(Mod::FTZ) == i.mods.has(Mod::FTZ);
            if !plain {
                continue;
            }
            let mut a = inner.sources[0].clone();
            let mut b = inner.sources[1].clone();
            if source.negate {
                match &mut b.kind {
                    SourceKind::Imm(bits) => *bits ^= 0x8000_0000,
                    _ => a = a.negated(),
                }
            }
            let candidate = rewritten(i, fused, i.mods.clone(), [a, b, i.sources[1 - at].clone()]);
            if let Some(fused) = self.accept(candidate) {
                return Some(fused);
            }
        }
        None
    }

    /// Moves a clamp to [0, 1] into the operation that computes the result.
    fn clamped(&self, i: &Instruction) -> Option<Instruction> {
        let number = i.sources.iter().find(|source| !matches!(source.kind, SourceKind::Zero(_)))?;
        let inner = self.inner(number)?;
        let plain = matches!(inner.opcode, Opcode::Sass(Op::FADD | Op::FMUL | Op::FFMA))
            && !inner.mods.has(Mod::SAT)
            && inner.mods.has(Mod::FTZ) == i.mods.has(Mod::FTZ)
            && inner.destinations.len() == 1;
        if !plain {
            return None;
        }
        let mut clamped = Instruction { destinations: i.destinations.clone(), ..inner.clone() };
        clamped.mods.insert(Mod::SAT);
        clamped.origin = i.origin;
        self.accept(clamped)
    }

    /// 3-input min/max of a nested min/max. Only the outer one may clamp its result at zero.
    fn extreme_of_three(&self, i: &Instruction, of_three: Op) -> Option<Instruction> {
        let alone = |i: &Instruction| i.destinations[1..].iter().all(|d| d.values.is_empty());
        if !oriole_sass::has(self.view.chip, of_three) || i.sources.len() != 3 || !alone(i) {
            return None;
        }
        let unbounded =
            Mods::of(&i.mods.iter().filter(|&name| name != Mod::RELU).collect::<SmallVec<[Mod; 4]>>());
        for at in 0..2 {
            if i.sources[at].as_plain_value().is_none() {
                continue;
            }
            let Some(inner) = self.inner(&i.sources[at]) else { continue };
            if inner.opcode != i.opcode
                || inner.mods != unbounded
                || inner.sources.len() != 3
                || inner.sources[2] != i.sources[2]
                || !alone(inner)
            {
                continue;
            }
            let (a, mut b) = (inner.sources[0].clone(), inner.sources[1].clone());
            let mut c = i.sources[1 - at].clone();
            if !matches!(c.kind, SourceKind::Values(_) | SourceKind::Zero(_)) {
                std::mem::swap(&mut b, &mut c);
            }
            let candidate = rewritten(i, of_three, i.mods.clone(), [a, b, c, i.sources[2].clone()]);
            if let Some(fused) = self.accept(candidate) {
                return Some(fused);
            }
        }
        None
    }

    /// The min or max of a 32-bit sum and another integer.
    fn extreme_of_sum(&self, i: &Instruction) -> Option<Instruction> {
        let alone = i.destinations[1..].iter().all(|d| d.values.is_empty());
        let whole = i.mods.iter().all(|name| name == Mod::U32);
        if !oriole_sass::has(self.view.chip, Op::VIADDMNMX) || i.sources.len() != 3 || !alone || !whole {
            return None;
        }
        for at in 0..2 {
            if i.sources[at].as_plain_value().is_none() {
                continue;
            }
            let Some(inner) = self.inner(&i.sources[at]) else { continue };
            let Some(mut addends) = Self::addends(inner).filter(|addends| addends.len() == 2) else {
                continue;
            };
            // The second addend may be something else than a register.
            addends.sort_by_key(|source| !matches!(source.kind, SourceKind::Values(_)));
            let [a, b] = [addends[0].clone(), addends[1].clone()];
            let sources = [a, b, i.sources[1 - at].clone(), i.sources[2].clone()];
            if let Some(fused) = self.accept(rewritten(i, Op::VIADDMNMX, i.mods.clone(), sources)) {
                return Some(fused);
            }
        }
        None
    }

    /// LUT composition over at most three inputs.
    fn table(&self, i: &Instruction) -> Option<Instruction> {
        let (table, inputs) = inputs_of(i)?;
        for (at, input) in inputs.iter().enumerate() {
            if !uses_input(table, at) || input.as_plain_value().is_none() {
                continue;
            }
            let Some(inner) = self.inner(input) else { continue };
            if inner.opcode != i.opcode {
                continue;
            }
            let Some((inner_table, inner_inputs)) = inputs_of(inner) else { continue };
            // The inputs of both, each once.
            let mut all: SmallVec<[Source; 6]> = SmallVec::new();
            let mut place = |source: &Source| match all.iter().position(|known| known == source) {
                Some(place) => place,
                None => {
                    all.push(source.clone());
                    all.len() - 1
                }
            };
            let outer_places: SmallVec<[Option<usize>; 3]> =
                (0..3).map(|n| (n != at && uses_input(table, n)).then(|| place(&inputs[n]))).collect();
            let inner_places: SmallVec<[Option<usize>; 3]> =
                (0..3).map(|n| uses_input(inner_table, n).then(|| place(&inner_inputs[n]))).collect();
            if all.len() > 3 {
                continue;
            }
            // An operand that is no register goes to the middle.
            let mut order: SmallVec<[usize; 3]> = (0..all.len()).collect();
            order.sort_by_key(|&n| !matches!(all[n].kind, SourceKind::Values(_)));
            if order.len() == 3 {
                order.swap(1, 2);
            }
            let bit_of = |row: u8, place: Option<usize>| {
                let at = place.and_then(|place| order.iter().position(|&n| n == place));
                at.map_or(0, |at| row >> (2 - at) & 1)
            };
            let combined = (0..8u8).fold(0u8, |bits, row| {
                let x = (0..3).fold(0u8, |x, n| x | bit_of(row, inner_places[n]) << (2 - n));
                let value = inner_table >> x & 1;
                let y = (0..3).fold(0u8, |y, n| {
                    let bit = if n == at { value } else { bit_of(row, outer_places[n]) };
                    y | bit << (2 - n)
                });
                bits | (table >> y & 1) << row
            });
            let mut candidate = i.clone();
            let neutral = if i.opcode == Opcode::Sass(Op::LOP3) { Source::rz() } else { Source::pt() };
            for n in 0..3 {
                candidate.sources[n] = order.get(n).map_or(neutral.clone(), |&n| all[n].clone());
            }
            candidate.sources[3].kind = SourceKind::Literal(combined.into());
            if is_legal(self.view.chip, self.view.function, &candidate) {
                return Some(candidate);
            }
        }
        None
    }
}

/// The instruction with another operation on other sources; results, guard and position stay.
fn rewritten(i: &Instruction, op: Op, mods: Mods, sources: impl IntoIterator<Item = Source>) -> Instruction {
    let mut made = i.clone();
    made.opcode = op.into();
    made.mods = mods;
    made.destinations.truncate(1);
    made.sources.clear();
    made.sources.extend(sources);
    made.contract = false;
    made
}

/// Table and inputs of a logic operation with one result, constants and inversions in the table where they can be.
fn inputs_of(i: &Instruction) -> Option<(u8, [Source; 3])> {
    let predicates = i.opcode == Opcode::Sass(Op::PLOP3);
    let shape =
        if predicates { i.sources.len() == 5 } else { i.sources.len() >= 4 && i.destinations.len() == 1 };
    let results_dropped = i.destinations.get(1).is_none_or(|second| second.values.is_empty());
    if !shape || !results_dropped || i.mods.iter().any(|name| name != Mod::LUT) {
        return None;
    }
    if i.destinations[0].values.len() != 1 {
        return None;
    }
    let SourceKind::Literal(table) = i.sources[3].kind else { return None };
    let mut table = table as u8;
    let mut inputs = [i.sources[0].clone(), i.sources[1].clone(), i.sources[2].clone()];
    for (at, input) in inputs.iter_mut().enumerate() {
        if input.negate || input.absolute || !input.suffixes.is_empty() || input.fixed.is_some() {
            return None;
        }
        if input.invert {
            if !predicates {
                return None;
            }
            let shift = 1 << (2 - at);
            let low: u8 = [0x0f, 0x33, 0x55][at];
            table = (table & low) << shift | table >> shift & low;
            input.invert = false;
        }
        match input.kind {
            SourceKind::Zero(_) => table = fixed_input(table, at, false),
            SourceKind::True(_) => table = fixed_input(table, at, true),
            _ => {}
        }
    }
    Some((table, inputs))
}
