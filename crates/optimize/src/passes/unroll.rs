//! Phase 22, OriLoopUnrolling: the body of a counted loop is copied, so that its iterations share tests and additions,
//! and their loads are in flight together.
//!
//! A loop whose number of iterations is known disappears if all its copies together are small. Any other has as many
//! copies as a limit of size allows, after the iterations that are left over. Of any other small loop that counts,
//! four copies run as long as four iterations follow; after them two copies, if two follow; the loop itself does the
//! rest. So a counter may wrap and a limit may be anything: copies without a test between them run only where a
//! comparison has shown that each of these tests would succeed. A small loop whose step is in a register, as that of a
//! loop over a grid, often has one iteration or two: its copies keep their tests, and its loads are guarded by them.
//!
//! The limits are those that ptxas 13.0 was seen to use. Outer loops are copied only if nothing is left of the loops in
//! them. The pass runs outside SSA, where copies need no new names.

use crate::analyses::counted_loop::{Addend, CountedLoop, Limit, Relation};
use crate::analyses::loop_size::{LoopSize, loop_size};
use crate::passes::branch_opt;
use crate::rewriting::guarded_copies::GuardedCopies;
use crate::rewriting::loop_copies::{Body, Copies};
use oriole_options::Optimization;
use oriole_ori::{
    Allowance, Block, BlockId, Builder, FlowGraph, FormChange, Function, Guard, Liveness, Origin, Outcome,
    Pass, Pseudo, Source, SourceKind, Value, edges, effects,
};
use oriole_sass::Mod;
use std::cell::OnceCell;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::Unrolling),
    ..Pass::new(|function, context| Outcome::changed_if(run_within(function, context.allowance)))
};

/// Most iterations of a loop of that many operations or fewer that are all copied. The rows after the last one have
/// [`WHOLE`] operations in all.
const WHOLE_BY_SIZE: [(u32, u64); 23] = [
    (1, 1024),
    (2, 512),
    (3, 341),
    (4, 256),
    (5, 204),
    (6, 170),
    (7, 146),
    (8, 128),
    (10, 102),
    (12, 85),
    (14, 73),
    (16, 64),
    (20, 49),
    (24, 35),
    (28, 25),
    (32, 20),
    (40, 13),
    (48, 10),
    (56, 8),
    (60, 7),
    (72, 6),
    (76, 5),
    (96, 4),
];

/// Most operations of all copies of a larger loop.
const WHOLE: u64 = 372;

/// Most operations of a loop that is copied in part, if its number of iterations is known.
const PART: u32 = 72;

/// Most operations of the copies in it and in front of it.
const PARTS: u64 = 350;

/// Copies of a loop whose number of iterations is not known.
const COPIES: u64 = 4;

/// Most operations of a loop of which there are as many guarded copies, and of one of which there are [`REST`]: the
/// copies are executed even where they have no effect.
const GUARDED: u32 = 8;
const GUARDED_FEW: u32 = 16;

/// Copies after them.
const REST: u64 = 2;

/// Operations of such a loop and of its control, without loads; what each load from shared memory adds; at most; and
/// with a load from farther memory.
const OPEN: u32 = 21;
const OPEN_BY_SHARED_LOAD: u32 = 5;
const OPEN_WITH_SHARED_LOADS: u32 = 71;
const OPEN_WITH_LOAD: u32 = 49;

/// Operations of the control of a loop.
const CONTROL: u32 = 3;

/// Rounds over nested loops, from the inside.
const ROUNDS: u32 = 4;

/// Largest step of a counter.
const STEP: u64 = 1 << 26;

/// Unrolls loops. Returns true if there was one.
pub fn run(function: &mut Function) -> bool {
    run_within(function, None)
}

fn run_within(function: &mut Function, allowance: Option<&Allowance>) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let mut plans = plans(function);
        plans.retain(|_| Allowance::allows(allowance));
        if plans.is_empty() {
            break;
        }
        let nested = plans.iter().any(|plan| plan.is_inner && matches!(plan.shape, Shape::Whole(_)));
        apply(function, &plans);
        branch_opt::run(function);
        changed = true;
        if !nested {
            break;
        }
    }
    // The marks have served: no later phase reads them.
    function.blocks.iter_mut().for_each(|block| block.nounroll = false);
    changed
}

/// How a loop is unrolled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// That many copies, and no loop.
    Whole(u64),
    /// That many copies in front of a loop of that many copies.
    Parts { before: u64, inside: u64 },
    /// Copies while more than enough iterations follow, and the loop for the rest; the counter moves by this step.
    Open(i64),
    /// That many copies, each with the test of the one before it.
    Guarded(u64),
}

/// A loop, and how it is unrolled.
struct Plan {
    counted: CountedLoop,
    blocks: Vec<BlockId>,
    entering: Vec<BlockId>,
    /// It is in another loop.
    is_inner: bool,
    shape: Shape,
    /// For [`Shape::Guarded`].
    guarded: Option<GuardedCopies>,
}

/// The innermost loops that are worth it.
fn plans(function: &Function) -> Vec<Plan> {
    let graph = function.graph();
    let (cfg, loops) = (graph.cfg(), graph.loops());
    if loops.loops.is_empty() || loops.is_irreducible() {
        return Vec::new();
    }
    let mut is_outer = vec![false; loops.loops.len()];
    loops.loops.iter().filter_map(|it| it.parent).for_each(|parent| is_outer[parent] = true);
    let mut blocks_of: Vec<Vec<BlockId>> = vec![Vec::new(); loops.loops.len()];
    for &id in cfg.order() {
        if let Some(index) = loops.innermost(id) {
            blocks_of[index].push(id);
        }
    }
    let liveness = OnceCell::new();
    let innermost = (0..loops.loops.len()).filter(|&index| !is_outer[index]);
    innermost
        .filter_map(|index| plan(function, &graph, &liveness, index, std::mem::take(&mut blocks_of[index])))
        .collect()
}

fn plan(
    function: &Function,
    graph: &FlowGraph,
    liveness: &OnceCell<Liveness>,
    index: usize,
    blocks: Vec<BlockId>,
) -> Option<Plan> {
    let (cfg, loops) = (graph.cfg(), graph.loops());
    let this = &loops.loops[index];
    if this.header == BlockId(0) || function.block(this.header).nounroll {
        return None;
    }
    let size = loop_size(function, &blocks, WHOLE as u32)?;
    let counted = CountedLoop::find(function, graph.dominators(), loops, index, &blocks)?;
    let exits = blocks.iter().map(|&id| {
        let block = function.block(id);
        let leaves = block.successors.iter().any(|&to| !loops.contains(index, to));
        usize::from(leaves) + block.instructions.iter().filter(|it| effects::leaves_function(it)).count()
    });
    let exits = exits.sum();
    let trips = counted.start(function, cfg, loops, index).and_then(|start| counted.trips(start));
    let shape = shape(&counted, size, trips, exits)?;
    let mut guarded = None;
    if let Shape::Guarded(_) = shape {
        if blocks.len() > 1 {
            return None;
        }
        let liveness = liveness.get_or_init(|| Liveness::new(function, cfg));
        let CountedLoop { header, branch, again, .. } = counted;
        guarded = Some(GuardedCopies::find(function, liveness, header, branch, again)?);
    }
    let outside = |from: &BlockId| !loops.contains(index, *from);
    let entering = cfg.predecessors(this.header).iter().copied().filter(outside).collect();
    Some(Plan { counted, blocks, entering, is_inner: this.parent.is_some(), shape, guarded })
}

/// The shape for a loop of this size with that number of exits.
fn shape(counted: &CountedLoop, size: LoopSize, trips: Option<u64>, exits: usize) -> Option<Shape> {
    let operations = size.operations.max(1);
    if let Some(trips) = trips {
        let row = WHOLE_BY_SIZE.iter().find(|(most, _)| operations <= *most);
        let most = row.map_or(WHOLE / u64::from(operations), |(_, trips)| *trips);
        if trips <= most.max(1) {
            return Some(Shape::Whole(trips));
        }
        if operations > PART || exits > 1 {
            return None;
        }
        let fits = |inside: &u64| (inside + trips % inside) * u64::from(operations) <= PARTS;
        let inside = (2..=PARTS / u64::from(operations)).rev().find(fits)?;
        return Some(Shape::Parts { before: trips % inside, inside });
    }
    let most = match (size.far_loads, size.shared_loads) {
        (0, loads) => (OPEN + OPEN_BY_SHARED_LOAD * loads.min(10)).min(OPEN_WITH_SHARED_LOADS),
        _ => OPEN_WITH_LOAD,
    };
    if exits != 1 || operations + CONTROL > most {
        return None;
    }
    match counted.step {
        Addend::Number(step) => Gate::exists(counted, step as i64).then_some(Shape::Open(step as i64)),
        // Tests cost more than they save, but for loads in flight, and with stores there is often one iteration.
        Addend::Source(_) if size.far_loads == 0 || size.stores > 0 => None,
        Addend::Source(_) if operations <= GUARDED && counted.bits() == 32 => Some(Shape::Guarded(COPIES)),
        Addend::Source(_) => (operations <= GUARDED_FEW).then_some(Shape::Guarded(REST)),
    }
}

/// Unrolls the loops of the plans. They are disjoint, and each gets a block before and a block after it first, so that
/// none sees what becomes of another.
fn apply(function: &mut Function, plans: &[Plan]) {
    let mut befores = Vec::with_capacity(plans.len());
    for plan in plans {
        let before = function.blocks.next_key();
        let header = plan.counted.header;
        function.blocks.push(Block { successors: smallvec::smallvec![header], ..Block::default() });
        for &from in &plan.entering {
            edges::redirect(function, from, header, before);
        }
        befores.push(before);
    }
    for (plan, before) in plans.iter().zip(befores) {
        unroll(function, plan, before);
    }
}

fn unroll(function: &mut Function, plan: &Plan, before: BlockId) {
    let CountedLoop { header, latch, branch, again, .. } = plan.counted;
    if let (Shape::Guarded(count), Some(guarded)) = (plan.shape, &plan.guarded) {
        guarded.write(function, count);
        function.block_mut(header).nounroll = true;
        return;
    }
    let old = function.block(latch);
    let origin = old.instructions[branch].origin;
    let out = old.successors.iter().copied().find(|&to| to != header);
    let after = function.blocks.next_key();
    function.blocks.push(Block::default());
    match out {
        Some(out) => {
            function.block_mut(after).successors.push(out);
            edges::redirect(function, latch, out, after);
        }
        None => Builder::new(function, after, origin).exit(),
    }
    let body = Body { blocks: &plan.blocks, header, latch, branch };
    let stop = Guard { negated: !again.negated, ..again };
    match plan.shape {
        Shape::Whole(trips) => {
            let all = body.copies(function, trips);
            function.block_mut(before).successors[0] = all.first;
            function.block_mut(all.last).successors.push(after);
        }
        Shape::Parts { before: few, inside } => {
            let many = body.copies(function, inside);
            function.block_mut(many.first).nounroll = true;
            Builder::new(function, many.last, origin).branch(again, many.first, after);
            let mut next = many.first;
            if few > 0 {
                let few = body.copies(function, few);
                function.block_mut(few.last).successors.push(next);
                next = few.first;
            }
            function.block_mut(before).successors[0] = next;
        }
        Shape::Open(step) => {
            let many = body.copies(function, COPIES);
            let rest = body.copies(function, REST);
            function.block_mut(header).nounroll = true;
            function.block_mut(many.first).nounroll = true;
            open(function, &plan.counted, Open { before, many, rest, after, stop, step, origin });
        }
        Shape::Guarded(_) => {}
    }
}

/// The parts of a loop whose number of iterations is not known.
struct Open {
    before: BlockId,
    many: Copies,
    rest: Copies,
    after: BlockId,
    stop: Guard,
    step: i64,
    origin: Origin,
}

/// Connects the copies: many while enough iterations follow, then two if two follow, then the loop.
fn open(function: &mut Function, counted: &CountedLoop, parts: Open) {
    let Open { before, many, rest, after, stop, step, origin } = parts;
    let mut b = Builder::new(function, before, origin);
    b.function_mut().block_mut(before).successors.clear();
    let between = b.new_block();
    let second = b.new_block();
    let mut gate = Gate::new(&mut b, counted, step, COPIES);
    gate.exact = Gate::exact(&mut b, counted, step);
    let enough = gate.test(&mut b, counted, true);
    b.branch(Guard { negated: true, ..enough }, second, many.first);
    b.set_block(many.last);
    let enough = gate.test(&mut b, counted, false);
    b.branch(enough, many.first, between);
    b.set_block(between);
    b.branch(stop, after, second);
    b.set_block(second);
    let gate = Gate { exact: gate.exact, ..Gate::new(&mut b, counted, step, REST) };
    let enough = gate.test(&mut b, counted, true);
    b.branch(Guard { negated: true, ..enough }, counted.header, rest.first);
    b.set_block(rest.last);
    b.branch(stop, after, counted.header);
}

/// The test that two or four iterations follow for certain.
struct Gate {
    /// The limit for the counter before these iterations; for `NotEqual` the limit itself.
    bound: Vec<Source>,
    /// The condition that makes it right, which does not change in the loop; `None` if it is known to hold.
    exact: Option<Value>,
    /// For `NotEqual`, the distance of the last counter that is tested.
    distance: u64,
    /// For `NotEqual`, whether the counter moves up.
    upward: bool,
}

impl Gate {
    /// Whether there can be such a test: the counter moves toward the limit in steps that are not too large, and a
    /// known limit is not at the end of the range.
    fn exists(counted: &CountedLoop, step: i64) -> bool {
        let toward = match counted.relation {
            Relation::Less | Relation::LessEqual => step > 0,
            Relation::Greater | Relation::GreaterEqual => step < 0,
            Relation::NotEqual => true,
        };
        let reach = (COPIES - 1) * step.unsigned_abs().min(STEP);
        let in_range = match counted.limit {
            Limit::Number(limit) if counted.relation != Relation::NotEqual => {
                let bound = counted.number(limit) - i128::from(reach) * i128::from(step.signum());
                let (least, greatest) = counted.range();
                (least..=greatest).contains(&bound)
            }
            _ => true,
        };
        toward && in_range && step.unsigned_abs() <= STEP
    }

    /// Prepares the test for `count` iterations.
    fn new(b: &mut Builder<'_>, counted: &CountedLoop, step: i64, count: u64) -> Gate {
        let distance = (count - 1) * step.unsigned_abs();
        let change = (count as i64 - 1) * step;
        let bound = match (&counted.limit, counted.relation) {
            (limit, Relation::NotEqual) => words(b, counted, limit),
            (Limit::Number(limit), _) => words(b, counted, &Limit::Number(limit.wrapping_sub(change as u64))),
            (limit, _) => {
                let limit = words(b, counted, limit);
                let back = words(b, counted, &Limit::Number((change as u64).wrapping_neg()));
                add(b, operand(&limit), operand(&back))
            }
        };
        Gate { bound, exact: None, distance, upward: step > 0 }
    }

    /// Tests that the limit is not so near to the end of its range that the difference to it wraps, if it can be.
    fn exact(b: &mut Builder<'_>, counted: &CountedLoop, step: i64) -> Option<Value> {
        if counted.relation == Relation::NotEqual || matches!(counted.limit, Limit::Number(_)) {
            return None;
        }
        let (least, greatest) = counted.range();
        let reach = i128::from(COPIES - 1) * i128::from(step);
        let (comparison, edge) =
            if reach > 0 { (Mod::GE, least + reach) } else { (Mod::LE, greatest + reach) };
        let limit = words(b, counted, &counted.limit);
        let edge = words(b, counted, &Limit::Number(edge as u64));
        Some(compare(b, counted, comparison, counted.unsigned, &limit, &edge))
    }

    /// Tests the counter as it is. After copies that such a test led to, the range is known to be right.
    fn test(&self, b: &mut Builder<'_>, counted: &CountedLoop, first: bool) -> Guard {
        let counter: Vec<Source> = counted.counter.iter().map(|&word| word.into()).collect();
        let value = if counted.relation == Relation::NotEqual {
            let (from, to) = if self.upward { (&counter, &self.bound) } else { (&self.bound, &counter) };
            let way = difference(b, to, from);
            let distance = words(b, counted, &Limit::Number(self.distance));
            compare(b, counted, Mod::GT, true, &way, &distance)
        } else {
            compare(b, counted, counted.relation.comparison(), counted.unsigned, &counter, &self.bound)
        };
        let exact = self.exact.filter(|_| first);
        Guard { value: exact.map_or(value, |exact| both(b, value, exact)), negated: false }
    }
}

/// `a and b`, in a new predicate.
fn both(b: &mut Builder<'_>, one: Value, other: Value) -> Value {
    let both = b.p();
    b.plop3(both, one, other, Source::pt(), 0x80);
    both
}

/// The words of a limit: immediates of a 32-bit number, registers of anything else.
fn words(b: &mut Builder<'_>, counted: &CountedLoop, limit: &Limit) -> Vec<Source> {
    match limit {
        Limit::Number(number) if counted.bits() == 32 => vec![Source::imm(*number as u32)],
        Limit::Number(number) => [*number as u32, (*number >> 32) as u32]
            .into_iter()
            .map(|word| {
                let register = b.r();
                b.mov(register, if word == 0 { Source::rz() } else { Source::imm(word) });
                register.into()
            })
            .collect(),
        Limit::Source(source) => match &source.kind {
            SourceKind::Values(values) => values.iter().map(|&value| value.into()).collect(),
            _ => {
                let register = b.r();
                b.mov(register, source.clone());
                vec![register.into()]
            }
        },
    }
}

/// Words as one operand.
fn operand(words: &[Source]) -> Source {
    match words {
        [only] => only.clone(),
        _ => Source::values(words.iter().filter_map(|word| match &word.kind {
            SourceKind::Values(values) => values.first().copied(),
            _ => None,
        })),
    }
}

/// `a - b`, in new registers.
fn difference(b: &mut Builder<'_>, to: &[Source], from: &[Source]) -> Vec<Source> {
    let (a, mut other) = (operand(to), operand(from));
    if let SourceKind::Imm(bits) = other.kind {
        other = Source::imm(bits.wrapping_neg());
    } else {
        other.negate = true;
    }
    add(b, a, other)
}

/// `a + other`, in new registers.
fn add(b: &mut Builder<'_>, a: Source, other: Source) -> Vec<Source> {
    // A number comes second.
    let (a, other) = if matches!(a.kind, SourceKind::Imm(_)) { (other, a) } else { (a, other) };
    let wide = matches!(&a.kind, SourceKind::Values(values) if values.len() == 2);
    if !wide {
        let result = b.r();
        b.iadd3(result, a, other, Source::rz());
        return vec![result.into()];
    }
    let pair = b.pair();
    b.op(Pseudo::Add64).to_tuple(pair).from(a).from(other).emit();
    pair.into_iter().map(Source::from).collect()
}

/// `a (comparison) b`, in a new predicate.
fn compare(
    b: &mut Builder<'_>,
    counted: &CountedLoop,
    comparison: Mod,
    unsigned: bool,
    first: &[Source],
    second: &[Source],
) -> Value {
    let result = b.p();
    if counted.bits() == 32 {
        b.isetp(result, comparison, unsigned, operand(first), operand(second));
    } else {
        let signs = if unsigned { Mod::U64 } else { Mod::S64 };
        let draft = b.op(Pseudo::SetPredicate64).m(comparison).m(signs).to(result);
        draft.from(operand(first)).from(operand(second)).emit();
    }
    result
}
