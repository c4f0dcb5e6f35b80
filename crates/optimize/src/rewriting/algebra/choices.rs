//! Algebra of selections and comparisons: comparisons of selected values, and predicates that join comparisons.

use crate::analyses::slots::{comparison, opposite};
use crate::analyses::value_facts::{fixed_input, uses_input};
use crate::rewriting::operands::{beside_a_carry, is_bare};
use crate::rewriting::replacement::{become_copy, sole_destination};
use crate::rewriting::view::View;
use oriole_ori::{Instruction, Opcode, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

impl View<'_> {
    /// For an instruction with one of two constants as its result: the constant where a predicate holds, the other
    /// constant, and the predicate. It is a select, or adds a carry to a constant.
    pub(crate) fn one_of_two(&self, i: &Instruction) -> Option<(u32, u32, Source)> {
        let number = |index: usize| self.known(i.sources.get(index)?);
        let (a, b, choice) = match (i.opcode, i.sources.as_slice()) {
            (Opcode::Sass(Op::SEL), [_, _, choice]) => (number(0)?, number(1)?, choice),
            (Opcode::Sass(Op::IADD3), [first, second, third, carry, no_carry])
                if i.mods.has(Mod::X)
                    && i.mods.len() == 1
                    && no_carry.invert
                    && matches!(no_carry.kind, SourceKind::True(_)) =>
            {
                let number = |source: &Source| {
                    let (plain, complement) = beside_a_carry(source);
                    self.known(&plain).map(|word| if complement { !word } else { word })
                };
                let sum = number(first)?.wrapping_add(number(second)?).wrapping_add(number(third)?);
                (sum.wrapping_add(1), sum, carry)
            }
            _ => return None,
        };
        let is_predicate = matches!(choice.kind, SourceKind::Values(_));
        (is_predicate && self.is_stable(choice)).then(|| (a, b, choice.clone()))
    }

    pub(super) fn select(&self, i: &mut Instruction) -> bool {
        if !i.mods.is_empty() {
            return false;
        }
        let [a, b, choice] = i.sources.as_slice() else { return false };
        let taken = match choice.kind {
            SourceKind::True(_) if choice.invert => b,
            SourceKind::True(_) => a,
            _ if a == b => a,
            _ => return false,
        };
        let taken = taken.clone();
        become_copy(i, taken)
    }

    pub(super) fn compare(&self, i: &mut Instruction) -> bool {
        if i.mods.has(Mod::EX) || i.sources.len() != 3 || sole_destination(i) != Some(0) {
            return false;
        }
        let Some(compare) = comparison(i) else { return false };
        let unsigned = i.mods.has(Mod::U32);
        if !is_bare(&i.sources[0]) || !is_bare(&i.sources[1]) {
            return false;
        }
        // With a neutral predicate the result is that of the comparison.
        let neutral = matches!((&i.sources[2].kind, i.sources[2].invert), (SourceKind::True(_), false))
            && i.mods.has(Mod::AND);
        if !neutral {
            return false;
        }
        let (x, y) = (&i.sources[0], &i.sources[1]);
        if x.as_plain_value().is_some() && x.as_plain_value() == y.as_plain_value() {
            let holds = matches!(compare, Mod::EQ | Mod::GE | Mod::LE);
            return become_copy(i, if holds { Source::pt() } else { Source::not_pt() });
        }
        let Some(limit) = self.known(y) else { return false };
        if unsigned && limit == 0 {
            match compare {
                Mod::LT => return become_copy(i, Source::not_pt()),
                Mod::GE => return become_copy(i, Source::pt()),
                _ => {}
            }
        }
        // A selection of two constants, compared with a constant.
        let Some((a, b, choice)) = self.source_definition(x).and_then(|chosen| self.one_of_two(chosen))
        else {
            return false;
        };
        let holds = |x: u32| {
            let order = if unsigned { x.cmp(&limit) } else { (x as i32).cmp(&(limit as i32)) };
            match compare {
                Mod::LT => order.is_lt(),
                Mod::LE => order.is_le(),
                Mod::GT => order.is_gt(),
                Mod::GE => order.is_ge(),
                Mod::EQ => order.is_eq(),
                _ => order.is_ne(),
            }
        };
        let result = match (holds(a), holds(b)) {
            (true, true) => Source::pt(),
            (false, false) => Source::not_pt(),
            (true, false) => choice,
            (false, true) => choice.inverted(),
        };
        become_copy(i, result)
    }

    /// `p <- comparison joined with q` by a table becomes a comparison that joins.
    pub(super) fn join_comparison(&self, i: &mut Instruction) -> bool {
        if i.sources.len() != 5 || sole_destination(i) != Some(0) {
            return false;
        }
        let (SourceKind::Literal(table), true) =
            (i.sources[3].kind.clone(), i.sources[..3].iter().all(|s| s.suffixes.is_empty()))
        else {
            return false;
        };
        let mut table = table as u8;
        let mut used: SmallVec<[usize; 3]> = SmallVec::new();
        for index in 0..3 {
            if let SourceKind::True(_) = i.sources[index].kind {
                table = fixed_input(table, index, !i.sources[index].invert);
            }
            if uses_input(table, index) {
                used.push(index);
            }
        }
        let [first, second] = used.as_slice() else { return false };
        // The table over the two inputs: bit 2x + y.
        let row = |x: u8, y: u8| x << (2 - first) | y << (2 - second);
        let small = (0..4u8).fold(0u8, |bits, n| bits | (table >> row(n >> 1, n & 1) & 1) << n);
        let mut orders = [
            (*first, *second, small),
            (*second, *first, small & 0b1001 | (small & 2) << 1 | (small & 4) >> 1),
        ];
        // Prefer a comparison without other readers: it becomes dead.
        let shared = |at: usize| !matches!(&i.sources[at].kind, SourceKind::Values(values) if self.definitions.is_read_once(values[0]));
        orders.sort_by_key(|&(at, ..)| shared(at));
        for (at, other, small) in orders {
            let source = &i.sources[at];
            let SourceKind::Values(values) = &source.kind else { continue };
            let value = values[0];
            let Some(comparison_op) = self.definition(value) else { continue };
            let Opcode::Sass(op @ (Op::ISETP | Op::FSETP)) = comparison_op.opcode else { continue };
            let Some((join, deny_x, deny_y)) = join_of_table(small) else { continue };
            if !self.may_join(comparison_op, deny_x != source.invert) {
                continue;
            }
            let Some(compare) = comparison(comparison_op) else { continue };
            let compare_now = if deny_x != source.invert {
                match opposite(compare, op == Op::FSETP) {
                    Some(compare) => compare,
                    None => continue,
                }
            } else {
                compare
            };
            let mut candidate = comparison_op.clone();
            candidate.guard = i.guard;
            candidate.tied = i.tied.clone();
            candidate.origin = i.origin;
            candidate.destinations[0] = i.destinations[0].clone();
            candidate.mods.remove(compare);
            candidate.mods.insert(compare_now);
            candidate.mods.remove(Mod::AND);
            candidate.mods.insert(join);
            let mut with = i.sources[other].clone();
            with.invert ^= deny_y;
            candidate.sources[2] = with;
            return self.accept(i, candidate);
        }
        false
    }

    /// True for a comparison of two words whose result is not combined with another predicate yet. That of high words
    /// also takes the result of the low ones, after that predicate, and its opposite would take the opposite of that.
    fn may_join(&self, comparison: &Instruction, opposite: bool) -> bool {
        let is_high = comparison.mods.has(Mod::EX);
        let once = |value: &Value| self.definitions.is_read_once(*value);
        let moves = !is_high || !opposite && comparison.destinations[0].values.first().is_some_and(once);
        sole_destination(comparison) == Some(0)
            && moves
            && comparison.mods.has(Mod::AND)
            && comparison.sources.len() == 3 + usize::from(is_high)
            && matches!(comparison.sources[2].kind, SourceKind::True(_))
            && !comparison.sources[2].invert
            && comparison.sources.iter().all(|s| self.is_stable(s))
    }
}

/// The join of x or !x with y or !y that has this table over x and y (bit 2x + y), and which of them it denies.
fn join_of_table(table: u8) -> Option<(Mod, bool, bool)> {
    for (join, base) in [(Mod::AND, 0b1000u8), (Mod::OR, 0b1110), (Mod::XOR, 0b0110)] {
        for flip in 0..4u8 {
            let made = (0..4u8).fold(0u8, |bits, n| bits | (base >> (n ^ flip) & 1) << n);
            if made == table {
                return Some((join, flip & 2 != 0, flip & 1 != 0));
            }
        }
    }
    None
}
