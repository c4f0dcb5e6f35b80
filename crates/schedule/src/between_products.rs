//! Interleaves loads and copies with MMAs: a second schedule of blocks that multiply matrices.
//!
//! The list schedulers issue an instruction per cycle, so MMAs are scheduled in runs, and so are the instructions
//! that separate them in the program. The tensor unit is busy for some cycles with each MMA: this scheduler issues
//! other instructions meanwhile. MMAs, arithmetic and shuffles may move across barriers of the block. So a barrier
//! comes right after the last load before it, and copies to shared memory after the barrier come early.
//!
//! Two schedules are tried for some register budgets: by the longest path, and by the order of the list schedulers,
//! with copies as early as their barrier allows. The best one is used if it is no slower than that of the list
//! schedulers.

use crate::budget::RESERVED;
use crate::dense_ids::DenseIds;
use crate::distance;
use crate::graph::{Graph, Node, Sides, is_value_only};
use crate::matrix_blocks::{is_matrix, operation};
use crate::occupancy::blocks;
use crate::region::{Counts, Region};
use crate::tables::Tables;
use crate::top_down::State;
use crate::units::{GLOBAL, Progress, Units};
use oriole_chip::allocated;
use oriole_latency::Model;
use oriole_ori::{Function, Instruction, Opcode};
use oriole_sass::Op;
use std::rc::Rc;

/// The place of the general registers among the counts of the files.
const GENERAL: usize = 0;

/// Most ready instructions that are compared.
const WINDOW: usize = 64;

/// Registers that such a schedule may take beyond the need of the function without it: allocation places its tuples
/// more easily, since fewer of them become live at once, and needs that many fewer registers.
const MORE: u32 = 4;

/// Budget reductions that are tried: the scheduler looks no further than one instruction, and exceeds its budget.
const FEWER: [u32; 4] = [0, 4, 8, 16];

/// Most cycles that a value may be computed ahead of the instruction with the longest path.
const CYCLES_AHEAD: u32 = 256;

/// Most places that a value may be computed ahead of the first unscheduled instruction.
const PLACES_AHEAD: u32 = 24;

/// Registers for such schedules in a function that needs `needed` without them: a few more, unless an SM would then
/// hold one block less.
pub fn registers(function: &Function, tables: &Tables, needed: u32) -> u32 {
    let blocks = |values: u32| {
        let named = u16::try_from(values + RESERVED).unwrap_or(u8::MAX.into());
        blocks(function, tables, allocated(named))
    };
    let more = needed + MORE;
    if blocks(more) == blocks(needed) { more } else { needed }
}

/// Role of an instruction for the copies of its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Nothing.
    None,
    /// It computes an operand of a copy, or is a copy, a group commit or a barrier. It is scheduled as soon as
    /// possible; after the given barrier, if any.
    Copies { behind: Option<u32> },
}

/// Scheduling priorities.
struct Priorities {
    /// The higher the sooner.
    of: Vec<u32>,
    parts: Vec<Part>,
    /// A value may be computed ahead of instructions whose priority is higher by up to this.
    ahead: u32,
}

/// A block that multiplies matrices, with its unit usage.
pub struct MatrixBlock<'a> {
    region: &'a Region,
    units: Units,
    instructions: &'a [Instruction],
}

impl<'a> MatrixBlock<'a> {
    /// A block. The region has the graph of [`graph`].
    pub fn new(model: &Model, instructions: &'a [Instruction], region: &'a Region) -> MatrixBlock<'a> {
        let units = Units::new(model, instructions.iter().map(operation));
        MatrixBlock { region, units, instructions }
    }

    fn is(&self, node: u32, among: &[Op]) -> bool {
        matches!(self.instructions[node as usize].opcode, Opcode::Sass(op) if among.contains(&op))
    }

    /// True if an instruction is value-only arithmetic.
    fn is_arithmetic(&self, node: u32) -> bool {
        let instruction = &self.instructions[node as usize];
        is_value_only(instruction) && self.units.product(node as usize) == 0
    }

    /// Priorities by the longest path to the end. A path from an MMA is at least as long as all MMAs later in the
    /// program take.
    fn by_path(&self) -> Priorities {
        let region = self.region;
        let mut of = vec![0u32; region.len()];
        let mut later = 0;
        for node in (0..region.len()).rev() {
            let after = region.graph.after(node as u32).iter();
            let below = after.map(|&(to, cycles)| of[to as usize] + cycles).max();
            let height = below.unwrap_or(1).max(region.live_out_latency[node]);
            of[node] = self.units.raise(node, height, &mut later);
        }
        Priorities { of, parts: vec![Part::None; region.len()], ahead: CYCLES_AHEAD }
    }

    /// Priorities by position in an order, except for copies and barriers.
    fn by_order(&self, order: &[u32]) -> Priorities {
        let mut of = vec![0; order.len()];
        for (height, &node) in (1..).zip(order.iter().rev()) {
            of[node as usize] = height;
        }
        let mut parts = vec![Part::None; order.len()];
        for node in (0..order.len() as u32).rev() {
            let before = || self.region.graph.before(node).iter().map(|&(from, _)| from);
            let part = if self.is(node, &[Op::LDGSTS]) {
                let barriers = before().filter(|&from| self.is(from, &[Op::BAR, Op::DEPBAR, Op::LDGDEPBAR]));
                Part::Copies { behind: barriers.max() }
            } else if self.is(node, &[Op::BAR, Op::LDGDEPBAR]) {
                Part::Copies { behind: None }
            } else {
                parts[node as usize]
            };
            parts[node as usize] = part;
            if part != Part::None && (self.is(node, &[Op::LDGSTS]) || self.is_arithmetic(node)) {
                for from in before().filter(|&from| self.is_arithmetic(from)) {
                    if parts[from as usize] == Part::None {
                        parts[from as usize] = part;
                    }
                }
            }
        }
        Priorities { of, parts, ahead: PLACES_AHEAD }
    }

    /// Cycles of a schedule, and cycles until all copies are complete.
    fn time(&self, order: &[u32]) -> [u32; 2] {
        let region = self.region;
        let mut clock = Clock::new(self);
        let mut end = 0;
        for &node in order {
            let time = clock.issue(node);
            end = end.max(time + region.live_out_latency[node as usize]);
        }
        [end, end.max(clock.progress.copied)]
    }

    /// The best schedule within `most` registers by the count of `registers`, if there is one no slower than a known
    /// one. `budget` gives the file budgets for a count of general registers.
    pub fn order(
        &self,
        known: &[u32],
        most: u32,
        budget: impl Fn(u32) -> Counts,
        registers: impl Fn(&[u32]) -> u32,
    ) -> Option<Vec<u32>> {
        let [slowest, mut least] = self.time(known);
        let mut best: Option<Rc<Tried>> = None;
        let mut lists =
            [self.by_path(), self.by_order(known)].map(|priorities| (priorities, None::<Rc<Tried>>));
        for fewer in FEWER {
            let budget = budget(most.saturating_sub(fewer));
            for (priorities, last) in &mut lists {
                // A larger budget than any register count considered before gives the same choices.
                let tried = match last {
                    Some(last) if last.weighed <= budget[GENERAL] => last.clone(),
                    _ => {
                        let (order, weighed) = List::new(self, priorities, budget).order();
                        let [time, copied] = self.time(&order);
                        let fits = time <= slowest && copied <= least && registers(&order) <= most;
                        last.insert(Rc::new(Tried { order, weighed, copied, fits })).clone()
                    }
                };
                if tried.fits && tried.copied <= least {
                    least = tried.copied;
                    best = Some(tried);
                }
            }
        }
        best.map(|tried| tried.order.clone())
    }
}

#[cfg(test)]
impl MatrixBlock<'_> {
    /// The two schedules for a budget, which they may exceed, each with the most general registers that were
    /// considered.
    pub fn orders(&self, known: &[u32], budget: Counts) -> [(Vec<u32>, u32); 2] {
        [self.by_path(), self.by_order(known)].map(|priorities| List::new(self, &priorities, budget).order())
    }
}

/// A schedule for a budget.
struct Tried {
    order: Vec<u32>,
    /// The most general registers that an instruction would have taken which was ready while it was made.
    weighed: u32,
    /// Cycles until all copies are there.
    copied: u32,
    /// It is no slower than the known schedule, its copies complete no later than in the best one then, and it fits
    /// the registers.
    fits: bool,
}

/// The graph of a block whose MMAs may move across barriers, `None` if it multiplies no matrices.
pub fn graph(model: &Model, instructions: &[Instruction], ids: &mut DenseIds) -> Option<Graph> {
    let latency = |from: &Instruction, to: &Instruction, node| match distance::latency(model, from, to, node)
    {
        // Loads from global memory get as much time as copies from there.
        _ if node == Node::Read && from.opcode == Opcode::Sass(Op::LDG) => GLOBAL,
        cycles => cycles,
    };
    is_matrix(instructions).then(|| Graph::new(instructions, Sides::Open, ids, latency))
}

/// The cycle, and the state of the units.
struct Clock<'a> {
    block: &'a MatrixBlock<'a>,
    ready_at: Vec<u32>,
    progress: Progress,
    cycle: u32,
}

impl<'a> Clock<'a> {
    fn new(block: &'a MatrixBlock<'a>) -> Clock<'a> {
        Clock { block, ready_at: vec![0; block.region.len()], progress: block.units.start(), cycle: 0 }
    }

    /// When an instruction can be issued.
    fn time(&self, node: u32) -> u32 {
        let free = self.block.units.free_at(node, &self.progress);
        self.ready_at[node as usize].max(free).max(self.cycle)
    }

    /// Issues an instruction; returns the issue time.
    fn issue(&mut self, node: u32) -> u32 {
        let time = self.time(node);
        self.block.units.issue(node, time, &mut self.progress);
        for &(to, distance) in self.block.region.graph.after(node) {
            let ready = &mut self.ready_at[to as usize];
            *ready = (*ready).max(time + distance);
        }
        self.cycle = time + 1;
        time
    }
}

/// Comparison key of an instruction; the greatest is scheduled first.
type Rank = (i64, u64);

/// The list scheduler.
struct List<'a> {
    priorities: &'a Priorities,
    budget: Counts,
    clock: Clock<'a>,
    state: State<'a>,
    done: Vec<bool>,
    /// The most general registers that an instruction would have taken which was ready.
    weighed: u32,
}

impl<'a> List<'a> {
    fn new(block: &'a MatrixBlock<'a>, priorities: &'a Priorities, budget: Counts) -> List<'a> {
        let (state, done) = (State::new(block.region), vec![false; block.region.len()]);
        List { priorities, budget, clock: Clock::new(block), state, done, weighed: 0 }
    }

    /// The rank of a ready instruction if it need not wait: it fits the budget, or exceeds it by few values; it is
    /// not early; it waits least; it has priority. `front` is the highest priority of the unscheduled ones. Each
    /// integer packs two of these, for one comparison.
    fn rank_at_once(&mut self, node: u32, front: u32) -> Rank {
        let change = self.state.change(node);
        let then = |k: usize| self.state.count[k].saturating_add_signed(change[k]);
        if change[GENERAL] > 0 {
            self.weighed = self.weighed.max(then(GENERAL));
        }
        let is_over = |k: usize| change[k] > 0 && then(k) > self.budget[k];
        let over: i32 = if (0..change.len()).any(is_over) { change.iter().sum() } else { 0 };
        let at_once = match self.priorities.parts[node as usize] {
            Part::None => false,
            Part::Copies { behind } => behind.is_none_or(|barrier| self.done[barrier as usize]),
        };
        let priority = if at_once { u32::MAX } else { self.priorities.of[node as usize] };
        let early = change[GENERAL] > 0 && priority.saturating_add(self.priorities.ahead) < front;
        (i64::from(-over) * 2 + i64::from(!early), u64::from(u32::MAX) << 32 | u64::from(priority))
    }

    /// The schedule, and the most general registers that were considered.
    fn order(mut self) -> (Vec<u32>, u32) {
        let region = self.clock.block.region;
        let count = region.len();
        let mut left: Vec<u32> = (0..count as u32).collect();
        left.sort_by_key(|&node| self.priorities.of[node as usize]);
        let mut waiting = region.graph.before_counts();
        // The earliest in program order come first, so that the window follows the program.
        let mut ready: Vec<u32> = (0..count as u32).filter(|&n| waiting[n as usize] == 0).collect();
        let mut places = Vec::with_capacity(count);
        while !ready.is_empty() {
            while left.pop_if(|node| self.done[*node as usize]).is_some() {}
            let front = left.last().map_or(0, |&node| self.priorities.of[node as usize]);
            // Ties go to the first.
            let mut best = (0, (i64::MIN, 0));
            for (slot, &node) in ready.iter().take(WINDOW).enumerate() {
                let (fits, at_once) = self.rank_at_once(node, front);
                // The issue time is only computed for instructions that would win without a wait.
                if (fits, at_once) > best.1 {
                    let wait = self.clock.time(node) - self.clock.cycle;
                    let rank = (fits, at_once - (u64::from(wait) << 32));
                    if rank > best.1 {
                        best = (slot, rank);
                    }
                }
            }
            let (slot, _) = best;
            let node = ready.remove(slot);
            self.clock.issue(node);
            self.state.issue(node);
            self.done[node as usize] = true;
            places.push(node);
            for &(to, _) in region.graph.after(node) {
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 {
                    ready.insert(ready.partition_point(|&n| n < to), to);
                }
            }
        }
        (places, self.weighed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Tables, before_allocation};
    use oriole_chip::Chip;
    use oriole_options::{Options, OrderOptions};
    use oriole_ori::{BlockId, Opcode};
    use oriole_sass::Op;

    /// An iteration of a loop: load the second half of a tile, multiply both halves, synchronize, and copy the next
    /// tile.
    fn tile() -> String {
        let products = |first: u32, factor: u32| -> String {
            let product = |k: u32| {
                let [c, d] = [first + 2 * k, first + 100 + 2 * k];
                format!(
                    "  {{r{d} r{}}} = HMMA.16816.F16 {{r{factor} r{} r{} r{}}}, {{r4 r5}}, {{r{c} r{}}} ; {first}\n",
                    d + 1,
                    factor + 1,
                    factor + 2,
                    factor + 3,
                    c + 1
                )
            };
            (0..12).map(product).collect()
        };
        let entry: String = (100..124).map(|r| format!("  r{r} = LDC c[0][{:#x}] ; 0\n", 4 * r)).collect();
        let stores: String =
            (300..324).map(|r| format!("  STG.E [r2+{:#x}], r{r} mem(global w) ; 9\n", 4 * r)).collect();
        let body = products(100, 10) + &products(200, 20);
        format!(
            "kernel params=0 barriers=1\nb0: -> b1\n{entry}\
             {{r10 r11 r12 r13}} = LDSM.16.4.M88 [r4] mem(shared r) ; 1
b1: -> b2
  {{r20 r21 r22 r23}} = LDSM.16.4.M88 [r4] mem(shared r) ; 1
{body}  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 5
  LDGSTS.128.BYPASS.E [r3], desc{{u0 u1}}[{{r6 r7}}].64 mem(generic rw) ; 6
  LDGDEPBAR mem(generic rw ordered) ; 7
  BRA b2 ; 8
b2:
{stores}  EXIT ; 9
"
        )
    }

    #[test]
    fn barrier_and_copies_stand_between_products() {
        let after_barrier = |between_products: bool, limit: Option<u16>| {
            let mut function = oriole_ori::parse::parse(&tile()).expect("Ori");
            let tables = Tables::of("sm_80".parse::<Chip>().expect("a chip")).expect("tables");
            let options = OrderOptions { between_products, limit, ..Options::default().order() };
            before_allocation(&mut function, &tables, &options, None);
            let operations = function.block(BlockId(1)).instructions.iter().map(|it| it.opcode);
            let behind = operations.skip_while(|&opcode| opcode != Opcode::Sass(Op::LDGDEPBAR));
            behind.filter(|&opcode| opcode == Opcode::Sass(Op::HMMA)).count()
        };
        assert_eq!(after_barrier(false, None), 0, "as in the program");
        assert!(after_barrier(true, None) >= 12, "{}", after_barrier(true, None));
    }
}
