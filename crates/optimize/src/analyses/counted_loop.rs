//! Loops that count: a counter that each iteration moves by the same step, and one test of its new value against a limit
//! that does not change. From them follow the number of iterations, and how many are left at any time.
//!
//! It is here because unrolling has to know that several iterations follow without a test between them. It reads code
//! outside SSA, where a value may have several definitions: each iteration is executed symbolically, and every word is a
//! number, or what a value was when the iteration began plus something that does not change. Nothing here changes the function.

use oriole_ori::{
    BlockId, Cfg, Dominators, File, Function, Guard, Instruction, Loops, Opcode, Pseudo, Source, SourceKind,
    Value, Values, branches,
};
use oriole_sass::{Mod, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Blocks before a loop that are searched for the first value of its counter.
const BLOCKS_BEFORE: usize = 8;

/// The comparison of counter and limit that lets a loop go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Below the limit.
    Less,
    /// At most the limit.
    LessEqual,
    /// Above the limit.
    Greater,
    /// At least the limit.
    GreaterEqual,
    /// Not the limit.
    NotEqual,
}

/// A comparison, the relation that it tests, and the one that holds where it fails (`None`: equality).
const COMPARISONS: [(Mod, Option<Relation>, Option<Relation>); 6] = [
    (Mod::LT, Some(Relation::Less), Some(Relation::GreaterEqual)),
    (Mod::LE, Some(Relation::LessEqual), Some(Relation::Greater)),
    (Mod::GT, Some(Relation::Greater), Some(Relation::LessEqual)),
    (Mod::GE, Some(Relation::GreaterEqual), Some(Relation::Less)),
    (Mod::NE, Some(Relation::NotEqual), None),
    (Mod::EQ, None, Some(Relation::NotEqual)),
];

impl Relation {
    /// The relation of the exchanged operands.
    fn exchanged(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessEqual => Relation::GreaterEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterEqual => Relation::LessEqual,
            Relation::NotEqual => Relation::NotEqual,
        }
    }

    /// The comparison that tests it.
    pub fn comparison(self) -> Mod {
        let row = COMPARISONS.iter().find(|(_, holds, _)| *holds == Some(self));
        row.expect("every relation has a comparison").0
    }
}

/// A limit that does not change in the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Limit {
    /// A number, of as many bits as the counter has.
    Number(u64),
    /// An operand, one word or two.
    Source(Source),
}

/// A loop that counts. The iterations are tested at one place, the end of the only latch, so it is executed once at
/// least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedLoop {
    /// The block that every iteration begins with.
    pub header: BlockId,
    /// The only block that leads back to the header.
    pub latch: BlockId,
    /// Index of the guarded branch in the latch, or of the guarded exit before a plain one.
    pub branch: usize,
    /// The condition, after an iteration, of another one.
    pub again: Guard,
    /// The counter, one word or two.
    pub counter: Values,
    /// Its change in each iteration; a number is signed.
    pub step: Addend,
    /// The comparison of the new counter with the limit, which holds if another iteration follows.
    pub relation: Relation,
    /// The comparison is one of unsigned numbers.
    pub unsigned: bool,
    /// The limit.
    pub limit: Limit,
}

/// Something that is added to a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Addend {
    /// A number, of as many bits as the value has.
    Number(u64),
    /// An operand that does not change in the loop, one word or two.
    Source(Source),
}

/// Content of a word in an iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Word {
    Number(u32),
    /// The value as it was when the iteration began, and what was added to it.
    Sum(Value, Addend),
    /// The low word of the pair as it was when the iteration began, and what was added.
    Low([Value; 2], Addend),
    /// The high word of that.
    High([Value; 2], Addend),
    Unknown,
}

/// Content of an operand: a number, or a sum of former values (one or two words) and an addend.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Content {
    Number(u64),
    Sum(Values, Addend),
}

/// Nothing was added.
const NOTHING: Addend = Addend::Number(0);

/// A comparison that was executed.
#[derive(Clone, Debug)]
struct Test {
    comparison: Mod,
    unsigned: bool,
    /// Content of both operands, if known, and the operands.
    operands: [(Option<Content>, Source); 2],
}

/// One iteration, executed up to some place.
struct Iteration {
    words: FxHashMap<Value, Word>,
    tests: FxHashMap<Value, Test>,
    /// Values that are written where not every iteration passes: nothing is known of them anywhere.
    conditional: FxHashSet<Value>,
    /// Values that the loop defines somewhere.
    defined: FxHashSet<Value>,
}

impl Iteration {
    fn word(&self, value: Value) -> Word {
        if self.conditional.contains(&value) {
            return Word::Unknown;
        }
        self.words.get(&value).cloned().unwrap_or(Word::Sum(value, NOTHING))
    }

    fn content(&self, source: &Source) -> Option<Content> {
        if *source != Source::plain(source.kind.clone()) {
            return None;
        }
        match &source.kind {
            SourceKind::Imm(bits) => Some(Content::Number(u64::from(*bits))),
            SourceKind::Zero(_) => Some(Content::Number(0)),
            SourceKind::Values(values) => match *values.as_slice() {
                [value] => match self.word(value) {
                    Word::Number(number) => Some(Content::Number(u64::from(number))),
                    Word::Sum(root, addend) => Some(Content::Sum([root].into_iter().collect(), addend)),
                    _ => None,
                },
                [low, high] => self.pair(low, high),
                _ => None,
            },
            _ => None,
        }
    }

    fn pair(&self, low: Value, high: Value) -> Option<Content> {
        match (self.word(low), self.word(high)) {
            (Word::Number(low), Word::Number(high)) => {
                Some(Content::Number(u64::from(high) << 32 | u64::from(low)))
            }
            (Word::Sum(low, NOTHING), Word::Sum(high, NOTHING)) => {
                Some(Content::Sum([low, high].into_iter().collect(), NOTHING))
            }
            (Word::Low(root, addend), Word::High(other, same)) if root == other && addend == same => {
                Some(Content::Sum(root.into_iter().collect(), addend))
            }
            _ => None,
        }
    }

    fn set(&mut self, value: Value, word: Word) {
        self.words.insert(value, word);
        self.tests.remove(&value);
    }

    fn execute(&mut self, instruction: &Instruction) {
        let results = self.results(instruction);
        let test = self.test(instruction);
        let mut place = 0;
        instruction.for_each_definition(|value| {
            let word = results.get(place).cloned().unwrap_or(Word::Unknown);
            place += 1;
            self.set(value, word);
            if let Some(test) = &test
                && !self.conditional.contains(&value)
            {
                self.tests.insert(value, test.clone());
            }
        });
    }

    /// The words that an instruction writes, if they are known.
    fn results(&self, instruction: &Instruction) -> Results {
        let mut results = Results::new();
        if instruction.guard.is_some() || instruction.is_partial() {
            return results;
        }
        match (instruction.opcode, instruction.sources.as_slice()) {
            (Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV), [source]) => {
                let plain = *source == Source::plain(source.kind.clone());
                match &source.kind {
                    SourceKind::Values(values) if plain && values.len() == 1 => {
                        results.push(self.word(values[0]));
                    }
                    _ => match self.content(source) {
                        Some(Content::Number(number)) => results.push(Word::Number(number as u32)),
                        _ => results.push(Word::Unknown),
                    },
                }
            }
            (Opcode::Sass(Op::IADD3), sources @ [_, _, _]) if instruction.mods.is_empty() => {
                let only = instruction.destinations.iter().skip(1).all(|other| other.values.is_empty());
                let sum = if only { self.sum(sources) } else { None };
                results.push(match sum {
                    Some(Content::Number(number)) => Word::Number(number as u32),
                    Some(Content::Sum(root, addend)) => Word::Sum(root[0], addend),
                    None => Word::Unknown,
                });
            }
            (Opcode::Pseudo(Pseudo::Add64), [a, b]) => {
                if let Some((root, addend)) = self.wide_sum(a, b) {
                    results.push(Word::Low(root, addend.clone()));
                    results.push(Word::High(root, addend));
                }
            }
            _ => {}
        }
        results
    }

    /// The sum of one-word operands: numbers, at most one value that changes, and for that one that does not.
    fn sum(&self, sources: &[Source]) -> Option<Content> {
        let mut roots: smallvec::SmallVec<[Value; 3]> = smallvec::SmallVec::new();
        let mut fixed = None;
        let mut total = 0u32;
        for source in sources {
            let bare = Source { negate: false, ..source.clone() };
            match self.content(&bare) {
                Some(Content::Number(number)) if source.negate => total = total.wrapping_sub(number as u32),
                Some(Content::Number(number)) => total = total.wrapping_add(number as u32),
                Some(Content::Sum(root, Addend::Number(number))) if !source.negate => {
                    roots.push(root[0]);
                    total = total.wrapping_add(number as u32);
                }
                None if !source.negate && is_constant(source) && fixed.is_none() => {
                    fixed = Some(source.clone())
                }
                _ => return None,
            }
        }
        // Of two values the one that does not change is added to the other.
        if roots.len() == 2 && fixed.is_none() {
            let other = roots.iter().position(|root| !self.defined.contains(root))?;
            fixed = Some(roots.remove(other).into());
        }
        match (roots.as_slice(), fixed) {
            ([], None) => Some(Content::Number(u64::from(total))),
            ([root], None) => {
                Some(Content::Sum([*root].into_iter().collect(), Addend::Number(u64::from(total))))
            }
            ([root], Some(fixed)) if total == 0 && self.defined.contains(root) => {
                Some(Content::Sum([*root].into_iter().collect(), Addend::Source(fixed)))
            }
            _ => None,
        }
    }

    /// The sum of two pairs: one that changes, and a number or a pair that does not.
    fn wide_sum(&self, a: &Source, b: &Source) -> Option<([Value; 2], Addend)> {
        let changes = |root: &Values| root.iter().all(|value| self.defined.contains(value));
        let (a, b) = (self.content(a)?, self.content(b)?);
        let (root, other, added) = match (a, b) {
            (Content::Sum(root, Addend::Number(added)), other) if root.len() == 2 && changes(&root) => {
                (root, other, added)
            }
            (other, Content::Sum(root, Addend::Number(added))) if root.len() == 2 => (root, other, added),
            (Content::Sum(root, Addend::Number(added)), other) if root.len() == 2 => (root, other, added),
            _ => return None,
        };
        let pair = [root[0], root[1]];
        match other {
            Content::Number(number) => Some((pair, Addend::Number(added.wrapping_add(number)))),
            Content::Sum(fixed, NOTHING)
                if added == 0
                    && changes(&root)
                    && fixed.len() == 2
                    && fixed.iter().all(|value| !self.defined.contains(value)) =>
            {
                Some((pair, Addend::Source(Source::plain(SourceKind::Values(fixed)))))
            }
            Content::Sum(..) => None,
        }
    }

    /// The comparison that an instruction is.
    fn test(&self, instruction: &Instruction) -> Option<Test> {
        if instruction.guard.is_some() {
            return None;
        }
        let has = |name: Mod| instruction.mods.has(name);
        let comparison = COMPARISONS.iter().map(|(name, ..)| *name).find(|name| has(*name))?;
        let (sources, unsigned) = match (instruction.opcode, instruction.sources.as_slice()) {
            (Opcode::Sass(Op::ISETP), [a, b, p]) => {
                let second = instruction.destinations.iter().skip(1).all(|other| other.values.is_empty());
                let alone = p.kind == SourceKind::True(File::P) && !p.invert;
                let known = instruction.mods.len() == 2 + usize::from(has(Mod::U32));
                if !second || !alone || !known || !has(Mod::AND) {
                    return None;
                }
                ([a, b], has(Mod::U32))
            }
            (Opcode::Pseudo(Pseudo::SetPredicate64), [a, b]) => ([a, b], has(Mod::U64)),
            _ => return None,
        };
        let operands = sources.map(|source| (self.content(source), source.clone()));
        Some(Test { comparison, unsigned, operands })
    }
}

/// The words that an instruction writes, in order.
type Results = smallvec::SmallVec<[Word; 2]>;

impl CountedLoop {
    /// The loop with this index, if it counts: one latch that ends in the test, no loop inside.
    pub fn find(
        function: &Function,
        dominators: &Dominators,
        loops: &Loops,
        index: usize,
        blocks: &[BlockId],
    ) -> Option<CountedLoop> {
        let this = &loops.loops[index];
        let [latch] = this.latches[..] else { return None };
        let (branch, again) = test_of(function, latch, this.header)?;
        let on_every_way = |block: BlockId| dominators.dominates(block, latch);
        let mut iteration = Iteration {
            words: FxHashMap::default(),
            tests: FxHashMap::default(),
            conditional: FxHashSet::default(),
            defined: FxHashSet::default(),
        };
        for &block in blocks {
            for instruction in &function.block(block).instructions {
                instruction.for_each_definition(|value| {
                    iteration.defined.insert(value);
                    if !on_every_way(block) {
                        iteration.conditional.insert(value);
                    }
                });
            }
        }
        for &block in blocks.iter().filter(|&&block| on_every_way(block)) {
            let end = if block == latch { branch } else { usize::MAX };
            function.block(block).instructions.iter().take(end).for_each(|it| iteration.execute(it));
        }
        let test = iteration.tests.get(&again.value)?.clone();
        let row = COMPARISONS.iter().find(|(name, ..)| *name == test.comparison)?;
        let relation = if again.negated { row.2? } else { row.1? };
        Self::of_test(&iteration, test, relation).map(|(counter, step, relation, unsigned, limit)| {
            CountedLoop {
                header: this.header,
                latch,
                branch,
                again,
                counter,
                step,
                relation,
                unsigned,
                limit,
            }
        })
    }

    /// Counter, step, relation, signedness and limit of the test that ends an iteration.
    fn of_test(
        iteration: &Iteration,
        test: Test,
        relation: Relation,
    ) -> Option<(Values, Addend, Relation, bool, Limit)> {
        let unsigned = test.unsigned;
        let [first, second] = test.operands;
        for ((counter, _), (limit, source), relation) in
            [(first.clone(), second.clone(), relation), (second, first, relation.exchanged())]
        {
            let Some(Content::Sum(counter, tested)) = counter else { continue };
            if !counter.iter().all(|value| iteration.defined.contains(value)) {
                continue;
            }
            let limit = match limit {
                Some(Content::Number(number)) => Limit::Number(number),
                Some(Content::Sum(root, NOTHING))
                    if root.iter().all(|value| !iteration.defined.contains(value)) =>
                {
                    Limit::Source(Source::plain(SourceKind::Values(root)))
                }
                None if is_constant(&source) && counter.len() == 1 => Limit::Source(source),
                _ => continue,
            };
            let place = Source::plain(SourceKind::Values(counter.clone()));
            let Some(Content::Sum(root, step)) = iteration.content(&place) else { continue };
            if root != counter || step != tested || step == NOTHING {
                continue;
            }
            let step = match step {
                Addend::Number(step) if counter.len() == 1 => {
                    Addend::Number(i64::from(step as u32 as i32) as u64)
                }
                step => step,
            };
            return Some((counter, step, relation, unsigned, limit));
        }
        None
    }

    /// Bits of the counter: 32 or 64.
    pub fn bits(&self) -> u32 {
        32 * self.counter.len() as u32
    }

    /// The least and the greatest number in the order of the comparison.
    pub fn range(&self) -> (i128, i128) {
        let span = 1i128 << self.bits();
        if self.unsigned { (0, span - 1) } else { (-(span / 2), span / 2 - 1) }
    }

    /// A word or two as a number in the order of the comparison.
    pub fn number(&self, bits: u64) -> i128 {
        match (self.bits(), self.unsigned) {
            (32, true) => i128::from(bits as u32),
            (32, false) => i128::from(bits as u32 as i32),
            (_, true) => i128::from(bits),
            (_, false) => i128::from(bits as i64),
        }
    }

    /// Count of iterations, if the counter begins with this number and never wraps.
    pub fn trips(&self, start: u64) -> Option<u64> {
        let (Limit::Number(limit), Addend::Number(step)) = (&self.limit, &self.step) else { return None };
        let (limit, step) = (*limit, i128::from(*step as i64));
        if self.relation == Relation::NotEqual {
            let span = 1i128 << self.bits();
            let way = (i128::from(limit) - i128::from(start)) * step.signum();
            let way = way.rem_euclid(span);
            let exact = way > 0 && way % step.abs() == 0;
            return exact.then(|| u64::try_from(way / step.abs()).ok()).flatten();
        }
        let (start, limit) = (self.number(start), self.number(limit));
        // The distance in the direction of the step, and how much of it is the limit itself.
        let (way, upward) = match self.relation {
            Relation::Less => (limit - start, true),
            Relation::LessEqual => (limit - start + 1, true),
            Relation::Greater => (start - limit, false),
            _ => (start - limit + 1, false),
        };
        if upward != (step > 0) {
            return None;
        }
        let trips = ((way + step.abs() - 1) / step.abs()).max(1);
        let (least, greatest) = self.range();
        let last = start + trips * step;
        (least..=greatest).contains(&last).then(|| u64::try_from(trips).ok()).flatten()
    }

    /// The number that the counter begins with, if every way into the loop comes from one block and passes the same
    /// constant.
    pub fn start(&self, function: &Function, cfg: &Cfg, loops: &Loops, index: usize) -> Option<u64> {
        let mut entering = cfg.predecessors(self.header).iter().filter(|&&from| !loops.contains(index, from));
        let (&from, None) = (entering.next()?, entering.next()) else { return None };
        let mut number = 0;
        for (place, &word) in self.counter.iter().enumerate() {
            number |= u64::from(number_before(function, cfg, from, word)?) << (32 * place);
        }
        Some(number)
    }
}

/// A word of a constant bank, which no loop changes.
fn is_constant(source: &Source) -> bool {
    matches!(source.kind, SourceKind::Const { .. }) && *source == Source::plain(source.kind.clone())
}

/// The guarded branch or exit at the end of a latch, and the condition of another iteration.
fn test_of(function: &Function, latch: BlockId, header: BlockId) -> Option<(usize, Guard)> {
    let instructions = &function.block(latch).instructions;
    match function.block(latch).successors[..] {
        [taken, other] if (taken == header) != (other == header) => {
            let branch = branches::guarded_branch(function, latch)?;
            let guard = instructions[branch].guard?;
            let again = if taken == header { guard } else { Guard { negated: !guard.negated, ..guard } };
            Some((branch, again))
        }
        [only] if only == header => {
            let rest = instructions.last().is_some_and(branches::is_plain_branch);
            let exit = instructions.len().checked_sub(1 + usize::from(rest))?;
            let guard = instructions[exit].guard?;
            let ends = instructions[exit].opcode == Opcode::Sass(Op::EXIT);
            ends.then_some((exit, Guard { negated: !guard.negated, ..guard }))
        }
        _ => None,
    }
}

/// The number that a value has at the end of a block.
fn number_before(function: &Function, cfg: &Cfg, mut block: BlockId, mut value: Value) -> Option<u32> {
    for _ in 0..BLOCKS_BEFORE {
        for instruction in function.block(block).instructions.iter().rev() {
            let mut writes = false;
            instruction.for_each_definition(|written| writes |= written == value);
            if !writes {
                continue;
            }
            let copies = matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV));
            let [source] = instruction.sources.as_slice() else { return None };
            if !copies || instruction.is_partial() || *source != Source::plain(source.kind.clone()) {
                return None;
            }
            match &source.kind {
                SourceKind::Imm(bits) => return Some(*bits),
                SourceKind::Zero(_) => return Some(0),
                SourceKind::Values(values) if values.len() == 1 => value = values[0],
                _ => return None,
            }
        }
        let [before] = *cfg.predecessors(block) else { return None };
        block = before;
    }
    None
}
