//! The instructions in place of an update.

use super::known::Plan;
use super::update::{Update, Way, emit};
use super::votes::{Vote, Votes};
use oriole_ori::{
    Block, Builder, Destination, File, Function, Guard, Instruction, Origin, Pseudo, Source, SourceKind,
    Value, Values,
};
use oriole_sass::{Mod, Op, Symbol};

/// The last lane of a warp, and the bits of a lane's number.
const LAST: u32 = 31;
/// Mask of a full warp.
const ALL: u32 = u32::MAX;
/// Distances between lanes that are combined, so that after the last one a lane has combined all of its warp.
const DISTANCES: [u32; 5] = [1, 2, 4, 8, 16];

/// The instructions in place of an update.
pub(super) fn sequence(
    function: &mut Function,
    old: &Instruction,
    plan: &Plan,
    votes: &mut Votes,
) -> Vec<Instruction> {
    let write = |b: &mut Builder<'_>| {
        let mut writer = Writer { old, update: &plan.update, value: value_of(b, old, &plan.update) };
        let vote = votes.of(b, old.guard);
        match plan.way {
            Way::Count => writer.count(b, vote),
            Way::Once => writer.lead(b, vote),
            Way::Parity => writer.parity(b, vote),
            Way::Reduce(op) => writer.reduce(b, vote, op),
            Way::Butterfly => writer.butterfly(b, vote),
            Way::Scan => writer.scan(b, vote),
        }
    };
    scratch(function, old.origin, write).1
}

/// The instructions that a builder appends, which are in no block yet.
pub(super) fn scratch<T>(
    function: &mut Function,
    origin: Origin,
    write: impl FnOnce(&mut Builder<'_>) -> T,
) -> (T, Vec<Instruction>) {
    // The builder appends to a block, which is gone afterwards.
    let scratch = function.blocks.push_and_get_key(Block::default());
    let written = write(&mut Builder::new(function, scratch, origin));
    (written, function.blocks.pop().map(|block| block.instructions).unwrap_or_default())
}

/// The addend that all lanes have.
pub(super) struct Ranks<'a> {
    pub(super) value: &'a [Value],
}

impl Ranks<'_> {
    /// The value, times a count, plus an addend.
    pub(super) fn times(&self, b: &mut Builder<'_>, count: Value, addend: &[Value]) -> Values {
        let product: Values = self.value.iter().map(|_| b.r()).collect();
        let low = |at: usize| addend.get(at).map_or_else(Source::rz, |&word| Source::value(word));
        match *product {
            [d] => b.imad(d, count, self.value[0], low(0)),
            [d, high] => {
                let addend =
                    if addend.is_empty() { Source::rz() } else { Source::values(addend.iter().copied()) };
                let [wide, upper] = b.pair();
                b.imad_wide([wide, upper], true, count, self.value[0], addend);
                b.mov(d, wide);
                b.imad(high, count, self.value[1], upper);
            }
            _ => {}
        }
        product
    }

    /// The value, times the count of lanes that take part.
    pub(super) fn total(&self, b: &mut Builder<'_>, vote: Vote) -> Values {
        let lanes = b.r();
        b.op(Op::POPC).to(lanes).from(vote.mask).emit();
        self.times(b, lanes, &[])
    }

    /// The old value of a lane, from that of the leader: those before it have added theirs.
    pub(super) fn own(&self, b: &mut Builder<'_>, vote: Vote, first: &[Value]) -> Values {
        let base: Values =
            first.iter().map(|&word| shuffle(b, Mod::IDX, word, vote.top.into(), LAST, None)).collect();
        let [below, before, rank] = [b.r(), b.r(), b.r()];
        b.s2r(below, Symbol::SR_LTMASK);
        b.and(before, below, vote.mask);
        b.op(Op::POPC).to(rank).from(before).emit();
        self.times(b, rank, &base)
    }
}

/// The operand in registers.
fn value_of(b: &mut Builder<'_>, old: &Instruction, update: &Update) -> Values {
    let operand = if update.increments { Source::imm(1) } else { old.sources[1].clone() };
    match operand.kind {
        SourceKind::Values(values) => values,
        _ => (0..update.words)
            .map(|_| {
                let word = b.r();
                b.mov(word, operand.clone());
                word
            })
            .collect(),
    }
}

/// Writes the sequence of one update.
struct Writer<'a> {
    old: &'a Instruction,
    update: &'a Update,
    value: Values,
}

impl Writer<'_> {
    /// The update by the lanes for which a predicate holds. Gives the old value in these lanes.
    fn update(&self, b: &mut Builder<'_>, value: Values, leads: Value) -> Values {
        let mut update = self.old.clone();
        update.guard = Some(Guard { value: leads, negated: false });
        update.tied.clear();
        update.sources[1] = Source::values(value);
        if self.update.increments {
            update.mods.remove(Mod::INC);
            update.mods.insert(Mod::ADD);
        }
        let mut results = Values::new();
        if let Some(at) = self.update.result {
            results = (0..self.update.words).map(|_| b.r()).collect();
            update.destinations[at] = Destination::new(File::R, results.clone());
            for _ in &results {
                update.tied.push(undefined(b, File::R));
            }
        }
        b.push(update);
        results
    }

    /// The leader's update where the old value is not read.
    fn lead(&mut self, b: &mut Builder<'_>, vote: Vote) {
        self.update(b, self.value.clone(), vote.leads);
    }

    fn count(&mut self, b: &mut Builder<'_>, vote: Vote) {
        let ranks = Ranks { value: &self.value };
        let total = ranks.total(b, vote);
        let first = self.update(b, total, vote.leads);
        if !first.is_empty() {
            let own = ranks.own(b, vote, &first);
            self.results(b, &own);
        }
    }

    fn parity(&mut self, b: &mut Builder<'_>, vote: Vote) {
        let [lanes, odd] = [b.r(), b.r()];
        b.op(Op::POPC).to(lanes).from(vote.mask).emit();
        b.and(odd, lanes, 1u32);
        let mut total = Values::new();
        for &word in &*self.value {
            let d = b.r();
            b.imad(d, odd, word, Source::rz());
            total.push(d);
        }
        self.update(b, total, vote.leads);
    }

    /// The value in the lanes that take part, in others what changes nothing.
    fn neutral_elsewhere(&self, b: &mut Builder<'_>) -> Value {
        let Some(guard) = self.old.guard else { return self.value[0] };
        let neutral = match (self.update.operation, self.update.signed) {
            (Mod::MIN, true) => i32::MAX as u32,
            (Mod::MAX, true) => i32::MIN as u32,
            (Mod::MIN | Mod::AND, _) => ALL,
            _ => 0,
        };
        let [other, d] = [b.r(), b.r()];
        b.mov(other, Source::imm(neutral));
        b.sel(d, self.value[0], other, guard);
        d
    }

    fn reduce(&mut self, b: &mut Builder<'_>, vote: Vote, op: Op) {
        let value = self.neutral_elsewhere(b);
        let whole = b.temporary(File::UR);
        let operation = match self.update.operation {
            Mod::ADD => Some(Mod::SUM),
            Mod::AND => None,
            other => Some(other),
        };
        let mods: Vec<Mod> = operation.into_iter().chain(self.update.signed.then_some(Mod::S32)).collect();
        b.op(op).mods(&mods).to(whole).from(value).emit();
        let total = b.r();
        b.mov(total, whole);
        self.update(b, Values::from_slice(&[total]), vote.leads);
    }

    /// A predicate that is true if all lanes of the warp take part.
    fn full(b: &mut Builder<'_>, vote: Vote) -> Guard {
        let full = b.p();
        b.isetp(full, Mod::EQ, true, vote.mask, ALL);
        Guard { value: full, negated: false }
    }

    /// In a full warp this lane, else all lanes that take part.
    fn turns(&self, b: &mut Builder<'_>, full: Guard, lane: u32) -> Value {
        let [number, d] = [b.r(), b.p()];
        let [is_lane, acts] = [b.p(), b.p()];
        b.s2r(number, Symbol::SR_LANEID);
        b.isetp(is_lane, Mod::EQ, true, number, lane);
        b.plop3(acts, is_lane, Source::from(full).inverted(), Source::pt(), 0xfc);
        let takes_part = self.old.guard.map_or_else(Source::pt, Source::from);
        b.plop3(d, acts, takes_part, Source::pt(), 0xc0);
        d
    }

    fn butterfly(&mut self, b: &mut Builder<'_>, vote: Vote) {
        let full = Self::full(b, vote);
        let mut sum = self.value[0];
        for distance in DISTANCES {
            let other = shuffle(b, Mod::BFLY, sum, Source::literal(distance.into()), LAST, Some(full));
            let next = b.r();
            self.update.combine(b, next, [other, sum], Some(full));
            sum = next;
        }
        let acts = self.turns(b, full, 0);
        self.update(b, Values::from_slice(&[sum]), acts);
    }

    fn scan(&mut self, b: &mut Builder<'_>, vote: Vote) {
        let full = Self::full(b, vote);
        let mut sum = self.value[0];
        for distance in DISTANCES {
            sum = self.add_from_below(b, sum, sum, distance, full);
        }
        let acts = self.turns(b, full, LAST);
        let first = self.update(b, Values::from_slice(&[sum]), acts);
        let base = shuffle(b, Mod::IDX, first[0], Source::literal(LAST.into()), LAST, Some(full));
        let own = b.r();
        b.sel(own, base, first[0], full);
        // A lane follows the sum up to the lane before it.
        let own = self.add_from_below(b, own, sum, 1, full);
        self.results(b, &[own]);
    }

    /// `to`, plus `from` of the lane that is so far below, in lanes that have one. In a full warp.
    fn add_from_below(
        &self,
        b: &mut Builder<'_>,
        to: Value,
        from: Value,
        distance: u32,
        full: Guard,
    ) -> Value {
        let [other, sum] = [b.r(), b.r()];
        let inside = b.p();
        let outside = b.p();
        b.mov(outside, Source::not_pt());
        let anything = undefined(b, File::R);
        let draft = b.op(Op::SHFL).m(Mod::UP).to(inside).to(other).from(from);
        let draft = draft.from(Source::literal(distance.into())).from(Source::literal(0));
        emit(draft, Some(full), &[outside, anything]);
        let draft = b.op(Op::IADD3).to(sum).from(to).from(other).from(Source::rz());
        emit(draft, Some(Guard { value: inside, negated: false }), &[to]);
        sum
    }

    /// Writes the old values where the update did.
    fn results(&self, b: &mut Builder<'_>, words: &[Value]) {
        let Some(at) = self.update.result else { return };
        let before: usize = self.old.destinations[..at].iter().map(|d| d.values.len()).sum();
        for (index, (&d, &word)) in self.old.destinations[at].values.iter().zip(words).enumerate() {
            let draft = b.op(Pseudo::Copy).to(d).from(word);
            let kept = self.old.tied.get(before + index).copied();
            emit(draft, self.old.guard.filter(|_| kept.is_some()), kept.as_slice());
        }
    }
}

fn undefined(b: &mut Builder<'_>, file: File) -> Value {
    let value = b.temporary(file);
    b.op(Pseudo::Undefined).to(value).emit();
    value
}

/// A word of another lane, in a full warp if there is a guard.
fn shuffle(
    b: &mut Builder<'_>,
    kind: Mod,
    word: Value,
    lane: Source,
    lanes: u32,
    guard: Option<Guard>,
) -> Value {
    let other = b.r();
    let anything = guard.map(|_| undefined(b, File::R));
    let draft = b.op(Op::SHFL).m(kind).drop_result(File::P).to(other).from(word);
    let draft = draft.from(lane).from(Source::literal(lanes.into()));
    emit(draft, guard, anything.as_slice());
    other
}
