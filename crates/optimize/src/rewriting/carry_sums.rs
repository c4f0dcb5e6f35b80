//! Part of phase 31: a number that a predicate chooses and that is added, such as the one of `n += x > y`, becomes a
//! carry of the sum (`IADD3.X`), which takes two.
//!
//! The select is saved, and on chips that add on the multiplier the sum needs none of the time of the unit that
//! compares. A select is taken in only if nothing else reads it, and in its own block: so a predicate lives no longer
//! than to the end of that.

use crate::rewriting::view::View;
use oriole_ori::{Instruction, Opcode, Source, SourceKind, is_legal};
use oriole_sass::{Mod, Mods, Op};
use smallvec::SmallVec;

/// Words and carries that are added.
#[derive(Default)]
struct Sum {
    addends: SmallVec<[Source; 3]>,
    carries: SmallVec<[Source; 2]>,
}

/// The sum with a chosen number, or another sum with carries, taken in. `inner` is the instruction that defines an
/// operand, if nothing else reads it.
pub(crate) fn run<'a>(
    view: &View<'a>,
    i: &Instruction,
    inner: impl Fn(&Source) -> Option<&'a Instruction>,
) -> Option<Instruction> {
    let sum = sum(i)?;
    for (at, source) in sum.addends.iter().enumerate() {
        let here = source.as_plain_value().or_else(|| source.clone().negated().as_plain_value());
        if here.and_then(|value| view.definitions.block(value)) != Some(view.block) {
            continue;
        }
        let Some(part) = inner(source).and_then(|made| part(view, made, source.negate)) else { continue };
        let mut addends = sum.addends.clone();
        addends.remove(at);
        addends.extend(part.addends);
        let mut carries = sum.carries.clone();
        carries.extend(part.carries);
        // With a carry-in, a minus sign would be a complement.
        if addends.len() > 3 || carries.len() > 2 || addends.iter().any(|addend| addend.negate) {
            continue;
        }
        // The second operand is the one that may be something else than a register.
        addends.sort_by_key(|addend| !matches!(addend.kind, SourceKind::Values(_)));
        if addends.len() == 3 {
            addends.swap(1, 2);
        }
        addends.resize(3, Source::rz());
        carries.resize(2, Source::not_pt());
        let mut candidate = i.clone();
        candidate.mods = Mods::of(&[Mod::X]);
        candidate.destinations.truncate(1);
        candidate.sources = addends.into_iter().chain(carries).collect();
        if is_legal(view.chip, view.function, &candidate) {
            return Some(candidate);
        }
    }
    None
}

/// The parts of an add without carry-out.
fn sum(i: &Instruction) -> Option<Sum> {
    let simple = |source: &Source| {
        !source.invert && !source.absolute && source.suffixes.is_empty() && source.fixed.is_none()
    };
    let alone = i.destinations[1..].iter().all(|destination| destination.values.is_empty());
    let extended = i.mods.has(Mod::X);
    let plain = i.mods.len() == usize::from(extended) && i.sources.len() == if extended { 5 } else { 3 };
    if i.opcode != Opcode::Sass(Op::IADD3) || !plain || !alone || !i.sources[..3].iter().all(simple) {
        return None;
    }
    let mut sum = Sum::default();
    sum.addends.extend(i.sources[..3].iter().filter(|s| !matches!(s.kind, SourceKind::Zero(_))).cloned());
    for carry in &i.sources[3..] {
        match carry.kind {
            SourceKind::Values(_) => sum.carries.push(carry.clone()),
            SourceKind::True(_) if carry.invert => {}
            _ => return None,
        }
    }
    Some(sum)
}

/// The parts of an addend: a number and a carry, if it is one of two neighbours, or those of a sum with carries.
fn part(view: &View<'_>, made: &Instruction, negated: bool) -> Option<Sum> {
    if let Some((one, other, choice)) = view.one_of_two(made) {
        let [one, other] = [one, other].map(|number| if negated { number.wrapping_neg() } else { number });
        let (number, carry) = match (one.wrapping_sub(other), other.wrapping_sub(one)) {
            (1, _) => (other, choice),
            (_, 1) => (one, choice.inverted()),
            _ => return None,
        };
        let mut part = Sum::default();
        part.addends.extend((number != 0).then(|| Source::imm(number)));
        part.carries.push(carry);
        return Some(part);
    }
    let part = sum(made)?;
    let stable = made.sources.iter().all(|source| view.is_stable(source));
    let minus = part.addends.iter().any(|addend| addend.negate);
    (!negated && stable && !minus && !part.carries.is_empty()).then_some(part)
}
