//! Phase 44: a warp updates one address once, in place of once for each lane.
//!
//! All lanes of a warp often update the same counter. Memory does that lane after lane, and other warps wait meanwhile.
//! Here the active lanes vote, and one of them, the leader, updates memory for all: it adds a multiple of the value that
//! all lanes add, or the sum of their values ([`Way`] lists the ways). Where the old value is read, each lane computes
//! its own from the leader's. Lanes come in the order of their numbers, which is one of the possible orders.
//!
//! It preserves the result of memory, and the old values up to the order of lanes. It must not touch floating-point
//! additions, whose result depends on the order, and adds no control flow: the lanes that vote execute all of the
//! sequence together. Where one lane at most is active anyway, the vote would only cost time; that is a guess, and need not be sound.

use crate::analyses::definitions::{Definitions, Place};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    Block, BlockId, Builder, Cfg, Destination, Divergence, Dominators, File, FormChange, Function, Guard,
    Instruction, Opcode, Outcome, Pass, Pseudo, Source, SourceKind, Space, Value, Values, effects,
};
use oriole_sass::{Mod, Op, Symbol, has};

/// The last lane of a warp, and the bits of a lane's number.
const LAST: u32 = 31;
/// Mask of a full warp.
const ALL: u32 = u32::MAX;
/// Distances between lanes that are combined, so that after the last one a lane has combined all of its warp.
const DISTANCES: [u32; 5] = [1, 2, 4, 8, 16];
/// Most conditions that are followed to a test of the lane.
const DEPTH: u32 = 4;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::UniformAtomics),
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.chip)))
};

/// Combines updates of one address. True if there were some. In SSA.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let updates =
        |block: &Block| block.instructions.iter().any(|instruction| Update::of(instruction).is_some());
    if function.block_threads == Some(1) || !function.blocks.iter().any(updates) {
        return false;
    }
    let plans = plans(function, chip);
    for (id, plans) in &plans {
        let mut plans = plans.iter().peekable();
        let mut votes = Votes::default();
        let instructions = std::mem::take(&mut function.block_mut(*id).instructions);
        let mut combined = Vec::with_capacity(instructions.len());
        for (at, instruction) in instructions.into_iter().enumerate() {
            match plans.next_if(|(place, _)| *place == at) {
                Some((_, plan)) => combined.extend(sequence(function, &instruction, plan, &mut votes)),
                None => {
                    votes.pass(&instruction);
                    combined.push(instruction);
                }
            }
        }
        function.block_mut(*id).instructions = combined;
    }
    !plans.is_empty()
}

/// The updates to combine in each block, by place.
fn plans(function: &Function, chip: Chip) -> Vec<(BlockId, Vec<(usize, Plan)>)> {
    let graph = function.graph();
    let known = Known {
        function,
        divergence: Divergence::new(function, &graph),
        definitions: Definitions::in_ssa(function),
        cfg: graph.cfg(),
        dominators: graph.dominators(),
    };
    let mut found = Vec::new();
    for &id in graph.cfg().order() {
        let instructions = function.block(id).instructions.iter().enumerate();
        let here: Vec<(usize, Plan)> =
            instructions.filter_map(|(at, instruction)| Some((at, known.plan(chip, instruction)?))).collect();
        if !here.is_empty() && !known.one_lane_reaches(id) {
            found.push((id, here));
        }
    }
    found
}

/// How lanes combine what they do to one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The value of all lanes, times their count.
    Count,
    /// The value of all lanes: to repeat the operation changes nothing.
    Once,
    /// The value of all lanes if their count is odd, else zero.
    Parity,
    /// The warp's reduction of the values, by one instruction.
    Reduce(Op),
    /// The same by exchanges, where the warp is full.
    Butterfly,
    /// The sums up to each lane, by exchanges, where the warp is full; the old value is read.
    Scan,
}

/// An operation of integers on memory whose lanes can be combined.
struct Update {
    /// `ADD`, `MIN`, `MAX`, `AND`, `OR` or `XOR`.
    operation: Mod,
    signed: bool,
    /// Words of an operand.
    words: usize,
    /// It increments without bound: what it adds is 1 instead of its operand.
    increments: bool,
    /// The destination with the old value; `None` if there is none or nothing reads it.
    result: Option<usize>,
}

impl Update {
    fn of(instruction: &Instruction) -> Option<Update> {
        let Opcode::Sass(op) = instruction.opcode else { return None };
        if !matches!(op, Op::RED | Op::REDG | Op::ATOM | Op::ATOMG | Op::ATOMS)
            || instruction.sources.len() != 2
        {
            return None;
        }
        let memory = instruction.memory.filter(|memory| memory.object.is_none())?;
        if !matches!(memory.space, Space::Global | Space::Shared | Space::Generic) {
            return None;
        }
        let (mut operation, mut signed, mut words) = (None, false, 1);
        for modifier in instruction.mods.iter() {
            match modifier {
                Mod::ADD | Mod::MIN | Mod::MAX | Mod::AND | Mod::OR | Mod::XOR | Mod::INC => {
                    operation = Some(modifier);
                }
                Mod::S32 => signed = true,
                Mod::_64 => words = 2,
                Mod::S64 => (signed, words) = (true, 2),
                Mod::E | Mod::STRONG | Mod::CTA | Mod::SM | Mod::GPU | Mod::SYS => {}
                _ => return None,
            }
        }
        let increments = operation == Some(Mod::INC);
        let operation = if increments { Mod::ADD } else { operation? };
        let result = instruction.destinations.iter().position(|d| d.file == File::R && !d.values.is_empty());
        Some(Update { operation, signed, words, increments, result })
    }

    /// How to combine it, if its lanes have one value or not.
    fn way(&self, uniform: bool, chip: Chip) -> Option<Way> {
        let word = self.words == 1;
        let extreme = matches!(self.operation, Mod::MIN | Mod::MAX);
        let reduces = || match () {
            () if extreme && has(chip, Op::CREDUX) => Way::Reduce(Op::CREDUX),
            () if has(chip, Op::REDUX) => Way::Reduce(Op::REDUX),
            () => Way::Butterfly,
        };
        Some(match (self.operation, uniform, self.result.is_some()) {
            (Mod::ADD, true, _) => Way::Count,
            (Mod::ADD, false, true) if word => Way::Scan,
            (Mod::XOR, true, false) => Way::Parity,
            (Mod::MIN | Mod::MAX | Mod::AND | Mod::OR, true, false) => Way::Once,
            (_, false, false) if word => reduces(),
            _ => return None,
        })
    }

    /// The operation on registers.
    fn combine(&self, b: &mut Builder<'_>, d: Value, [x, y]: [Value; 2], guard: Option<Guard>) {
        let table = match self.operation {
            Mod::AND => 0xc0,
            Mod::OR => 0xfc,
            Mod::XOR => 0x3c,
            Mod::ADD => {
                let sum = b.op(Op::IADD3).to(d).from(x).from(y).from(Source::rz());
                return emit(sum, guard, &[y]);
            }
            // Not every chip has an instruction for the smaller or the larger one.
            _ => {
                let first = b.p();
                let compare = if self.operation == Mod::MIN { Mod::LT } else { Mod::GT };
                b.isetp(first, compare, !self.signed, x, y);
                return emit(b.op(Op::SEL).to(d).from(x).from(y).from(first), guard, &[y]);
            }
        };
        let logic = b.op(Op::LOP3).m(Mod::LUT).to(d).from(x).from(y).from(Source::rz());
        emit(logic.from(Source::literal(table)).from(Source::not_pt()), guard, &[y]);
    }
}

/// Appends an instruction, which keeps the old values if its guard does not hold.
fn emit(mut draft: oriole_ori::Draft<'_, '_>, guard: Option<Guard>, old: &[Value]) {
    if let Some(guard) = guard {
        draft = draft.guarded(guard).keeping(old);
    }
    draft.emit();
}

/// An update that is worth combining.
struct Plan {
    update: Update,
    way: Way,
}

/// Facts about the function before the pass.
struct Known<'a> {
    function: &'a Function,
    divergence: Divergence,
    definitions: Definitions,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
}

impl Known<'_> {
    fn plan(&self, chip: Chip, instruction: &Instruction) -> Option<Plan> {
        let update = Update::of(instruction)?;
        let [address, value] = instruction.sources.as_slice() else { return None };
        if !matches!(address.kind, SourceKind::Address(_)) || !self.is_same(address) {
            return None;
        }
        if update.words == 2 && !matches!(value.kind, SourceKind::Values(_)) {
            return None;
        }
        if update.increments && self.constant(value) != Some(ALL) {
            return None;
        }
        let one = update.increments || self.is_same(value);
        let way = update.way(one, chip)?;
        Some(Plan { update, way })
    }

    /// The constant that a word is.
    fn constant(&self, source: &Source) -> Option<u32> {
        match source.kind {
            SourceKind::Zero(_) => Some(0),
            SourceKind::Imm(bits) => Some(bits),
            _ => {
                let writer = self.writer(source.as_plain_value()?)?;
                let moves = matches!(writer.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
                match (moves && writer.guard.is_none(), &writer.sources.first()?.kind) {
                    (true, SourceKind::Imm(bits)) => Some(*bits),
                    (true, SourceKind::Zero(_)) => Some(0),
                    _ => None,
                }
            }
        }
    }

    fn writer(&self, value: Value) -> Option<&Instruction> {
        match self.definitions.place(value) {
            Place::Instruction(block, index) => self.function.block(block).instructions.get(index as usize),
            _ => None,
        }
    }

    /// True if a branch on the way to the block lets one lane pass, as far as its condition shows.
    fn one_lane_reaches(&self, block: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            if let [before] = *self.cfg.predecessors(id)
                && let [taken, otherwise] = *self.function.block(before).successors
                && taken != otherwise
                && let Some(guard) =
                    self.function.block(before).instructions.last().and_then(|last| last.guard)
                && self.picks_lane(guard.value, (taken == id) != guard.negated, DEPTH)
            {
                return true;
            }
            at = self.dominators.immediate(id);
        }
        false
    }

    /// True if the predicate has this truth in one lane, as far as can be seen.
    fn picks_lane(&self, predicate: Value, wanted: bool, depth: u32) -> bool {
        let Some(writer) = self.writer(predicate).filter(|_| depth > 0) else { return false };
        let follows = |source: &Source, wanted: bool| match source.kind {
            SourceKind::Values(ref values) => self.picks_lane(values[0], wanted != source.invert, depth - 1),
            _ => false,
        };
        match (writer.opcode, writer.sources.as_slice()) {
            (Opcode::Sass(Op::ELECT), _) => wanted,
            (Opcode::Sass(Op::ISETP), [a, b, and]) => {
                let compare = if wanted { Mod::EQ } else { Mod::NE };
                let tests = writer.mods.has(compare)
                    && [(a, b), (b, a)]
                        .into_iter()
                        .any(|(lane, other)| self.names_lane(lane, depth) && self.is_same(other));
                writer.mods.has(Mod::AND) && (tests || wanted && follows(and, true))
            }
            // Both of two conditions hold.
            (Opcode::Sass(Op::PLOP3), [a, b, _, table, ..]) if wanted => {
                matches!(table.kind, SourceKind::Literal(0x80 | 0xc0))
                    && (follows(a, true) || follows(b, true))
            }
            _ => false,
        }
    }

    /// True if all lanes have the same word.
    fn is_same(&self, source: &Source) -> bool {
        let mut same = true;
        source.for_each_value(|value| same &= self.divergence.is_uniform(value));
        same
    }

    /// True if it is the number of a lane or thread, or that plus a number that all lanes have.
    fn names_lane(&self, source: &Source, depth: u32) -> bool {
        let Some(writer) = source.as_plain_value().and_then(|value| self.writer(value)) else {
            return false;
        };
        match (writer.opcode, writer.sources.as_slice()) {
            (Opcode::Sass(Op::S2R), [register]) => {
                matches!(register.kind, SourceKind::Symbol(Symbol::SR_TID_X | Symbol::SR_LANEID))
            }
            (Opcode::Sass(Op::IADD3), addends) if depth > 0 => {
                let varying = || addends.iter().filter(|addend| !self.is_same(addend));
                varying().count() == 1 && varying().all(|addend| self.names_lane(addend, depth - 1))
            }
            _ => false,
        }
    }
}

/// The votes of a block, by guard: the lanes that execute one of its instructions execute all of them.
#[derive(Default)]
struct Votes(Vec<(Option<Guard>, Vote)>);

/// The lanes that take part.
#[derive(Clone, Copy)]
struct Vote {
    /// Mask of the lanes.
    mask: Value,
    /// The highest of them.
    top: Value,
    /// True in that lane.
    leads: Value,
}

impl Votes {
    /// Lanes may have left after the instruction, or others may have come.
    fn pass(&mut self, instruction: &Instruction) {
        if effects::is_convergent(instruction) && !effects::is_exchange(instruction)
            || effects::is_transfer(instruction)
            || instruction.call.is_some()
        {
            self.0.clear();
        }
    }

    fn of(&mut self, b: &mut Builder<'_>, guard: Option<Guard>) -> Vote {
        if let Some((_, known)) = self.0.iter().find(|(of, _)| *of == guard) {
            return *known;
        }
        let [mask, top, lane] = [b.r(), b.r(), b.r()];
        let leads = b.p();
        let takes_part = guard.map_or_else(Source::pt, Source::from);
        b.op(Op::VOTE).m(Mod::ANY).to(mask).drop_result(File::P).from(takes_part).emit();
        b.op(Op::FLO).m(Mod::U32).to(top).from(mask).emit();
        b.s2r(lane, Symbol::SR_LANEID);
        b.isetp(leads, Mod::EQ, true, lane, top);
        let vote = Vote { mask, top, leads };
        self.0.push((guard, vote));
        vote
    }
}

/// The instructions in place of an update.
fn sequence(function: &mut Function, old: &Instruction, plan: &Plan, votes: &mut Votes) -> Vec<Instruction> {
    // The builder appends to a block, which is gone afterwards.
    let scratch = function.blocks.push_and_get_key(Block::default());
    let mut b = Builder::new(function, scratch, old.origin);
    let mut writer = Writer { old, update: &plan.update, value: value_of(&mut b, old, &plan.update) };
    let vote = votes.of(&mut b, old.guard);
    match plan.way {
        Way::Count => writer.count(&mut b, vote),
        Way::Once => writer.lead(&mut b, vote),
        Way::Parity => writer.parity(&mut b, vote),
        Way::Reduce(op) => writer.reduce(&mut b, vote, op),
        Way::Butterfly => writer.butterfly(&mut b, vote),
        Way::Scan => writer.scan(&mut b, vote),
    }
    function.blocks.pop().map(|block| block.instructions).unwrap_or_default()
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

    /// The value, times a count, plus an addend.
    fn times(&self, b: &mut Builder<'_>, count: Value, addend: &[Value]) -> Values {
        let product: Values = (0..self.update.words).map(|_| b.r()).collect();
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

    fn count(&mut self, b: &mut Builder<'_>, vote: Vote) {
        let lanes = b.r();
        b.op(Op::POPC).to(lanes).from(vote.mask).emit();
        let total = self.times(b, lanes, &[]);
        let first = self.update(b, total, vote.leads);
        if first.is_empty() {
            return;
        }
        let base: Values =
            first.iter().map(|&word| shuffle(b, Mod::IDX, word, vote.top.into(), LAST, None)).collect();
        let [below, before, rank] = [b.r(), b.r(), b.r()];
        b.s2r(below, Symbol::SR_LTMASK);
        b.and(before, below, vote.mask);
        b.op(Op::POPC).to(rank).from(before).emit();
        let own = self.times(b, rank, &base);
        self.results(b, &own);
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
