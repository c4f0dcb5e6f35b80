//! The replay of recorded blocks on one or a few SMs: the warp that can issue first does so, its instruction goes to units
//! and memory, and what its control fields say is when the next one may issue. Blocks follow each other as room is there.
//!
//! The order of instructions in a warp, and all addresses, are those of the functional run; only times are new.

mod blocks;
mod busy;

use crate::memory::{Chip, Level, Path};
use crate::program::{Kind, Step};
use crate::quarter::Quarter;
use crate::reason::{Line, Reason};
use crate::recorder::{BlockTrace, Extra, Item, NONE, Trace};
use crate::remedy::Change;
use crate::warp::{Ready, Warp};
pub(crate) use busy::Busy;
use oriole_latency::Unit;
use oriole_sass::info::Queue;
use oriole_simulate::Meeting;
use std::collections::{HashMap, VecDeque};

/// Instructions of a line of code, of 16 bytes each.
const INSTRUCTIONS_OF_LINE: u32 = 8;
/// Cycles of an asynchronous matrix multiply beyond those of its unit. Guessed.
const PRODUCT_LATENCY: u64 = 32;
/// Steps between two questions whether the replay is to end.
const BETWEEN_QUESTIONS: u64 = 4096;
/// Quarters of an SM.
const QUARTERS: usize = 4;

/// An SM.
struct Sm {
    quarters: [Quarter; QUARTERS],
    path: Path,
    /// When the 64-bit floating-point unit of the SM is free.
    double: u64,
    double_busy: u64,
    /// Lines of code that were fetched.
    fetched: Vec<bool>,
    /// Blocks that it holds.
    held: u32,
}

/// A block that runs.
struct Running<'a> {
    trace: &'a BlockTrace,
    copy: u64,
    sm: usize,
    /// Warps that have not ended.
    left: usize,
}

/// Arrivals at a meeting.
#[derive(Default)]
struct Met {
    count: u32,
    last: u64,
}

/// Blocks to start together, each on the SM of its position: positions of their traces, and which repetition it is.
pub(crate) struct Start {
    pub blocks: Vec<(usize, usize)>,
    pub copy: u64,
}

/// When an instruction may issue, step by step.
#[derive(Clone, Copy)]
struct Ticket {
    ready: Ready,
    meeting: u64,
    unit: u64,
    throttle: u64,
    issue: u64,
}

impl Ticket {
    fn at(&self) -> u64 {
        self.issue
    }
}

/// The replay.
pub(crate) struct Replay<'a> {
    pub chip: Chip<'a>,
    steps: &'a [Option<Step>],
    trace: &'a Trace,
    sms: Vec<Sm>,
    /// Most blocks of an SM.
    resident: u32,
    starts: VecDeque<Start>,
    running: Vec<Running<'a>>,
    warps: Vec<Warp<'a>>,
    meetings: HashMap<(u64, u64, Meeting), Met>,
    signals: HashMap<(u64, u64, u64), Vec<u64>>,
    pub lines: Vec<Line>,
    /// No warp waits at a barrier.
    pub no_barriers: bool,
    /// Waits that were ended because nothing else could go on.
    pub forced: u64,
    pub end: u64,
    /// When each block ended, in order.
    pub ends: Vec<u64>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(
        chip: Chip<'a>,
        steps: &'a [Option<Step>],
        sms: usize,
        resident: u32,
        l1_bytes: u64,
        starts: VecDeque<Start>,
    ) -> Replay<'a> {
        let code = steps.len().div_ceil(INSTRUCTIONS_OF_LINE as usize) + 1;
        let sm = |_| Sm {
            quarters: Default::default(),
            path: Path::new(l1_bytes),
            double: 0,
            double_busy: 0,
            fetched: vec![false; code],
            held: 0,
        };
        let line = |step: &Option<Step>| {
            let step = step.as_ref();
            let text = step.map_or(String::new(), |step| step.text.clone());
            Line { address: step.map_or(0, |step| step.address), text, ..Line::default() }
        };
        Replay {
            trace: chip.trace,
            chip,
            steps,
            sms: (0..sms).map(sm).collect(),
            resident,
            starts,
            running: Vec::new(),
            warps: Vec::new(),
            meetings: HashMap::new(),
            signals: HashMap::new(),
            lines: steps.iter().map(line).collect(),
            no_barriers: false,
            forced: 0,
            end: 0,
            ends: Vec::new(),
        }
    }

    /// Runs all blocks to their end.
    pub(crate) fn run(&mut self, stop: &dyn Fn() -> bool) {
        self.start_blocks(0);
        let mut steps = 0u64;
        loop {
            steps += 1;
            if steps.is_multiple_of(BETWEEN_QUESTIONS) && stop() {
                break;
            }
            let Some((sm, quarter)) = self.first() else {
                if self.force() {
                    continue;
                }
                break;
            };
            let known = self.sms[sm].quarters[quarter].next;
            let found = self.choose(sm, quarter);
            match found {
                // The other quarters may have made it later.
                Some((ticket, warp)) if known.is_some_and(|known| ticket.at() <= known.0) => {
                    self.issue(sm, quarter, warp, ticket);
                }
                _ => {
                    let quarter = &mut self.sms[sm].quarters[quarter];
                    quarter.next = found.map(|(ticket, warp)| (ticket.at(), warp));
                    quarter.stale = false;
                }
            }
        }
        self.end = self.end.max(self.chip.end.ceil() as u64);
    }

    /// The quarter whose next issue is the first of all.
    fn first(&mut self) -> Option<(usize, usize)> {
        let mut first: Option<(u64, usize, usize)> = None;
        for sm in 0..self.sms.len() {
            for quarter in 0..QUARTERS {
                if self.sms[sm].quarters[quarter].stale {
                    let next = self.choose(sm, quarter).map(|(ticket, warp)| (ticket.at(), warp));
                    let quarter = &mut self.sms[sm].quarters[quarter];
                    (quarter.next, quarter.stale) = (next, false);
                }
                if let Some((at, _)) = self.sms[sm].quarters[quarter].next
                    && first.is_none_or(|first| at < first.0)
                {
                    first = Some((at, sm, quarter));
                }
            }
        }
        first.map(|(_, sm, quarter)| (sm, quarter))
    }

    /// The warp of a quarter that issues next: of those that can issue first the one that issued last, else the one that
    /// has waited longest.
    fn choose(&self, sm: usize, quarter: usize) -> Option<(Ticket, usize)> {
        let of = &self.sms[sm].quarters[quarter];
        let mut best: Option<(Ticket, usize)> = None;
        for &warp in &of.warps {
            let Some(mut ticket) = self.ticket(sm, quarter, warp) else { continue };
            ticket.issue = ticket.throttle.max(of.free);
            let better = best.is_none_or(|(other, chosen)| {
                let waits_longer = self.warps[warp].since < self.warps[chosen].since;
                let preferred = of.last == Some(warp) || of.last != Some(chosen) && waits_longer;
                ticket.at() < other.at() || ticket.at() == other.at() && preferred
            });
            if better {
                best = Some((ticket, warp));
            }
        }
        best
    }

    /// When a warp may issue its next instruction; `None` while others must go on first.
    fn ticket(&self, sm: usize, quarter: usize, warp: usize) -> Option<Ticket> {
        let of = &self.warps[warp];
        let item = of.item()?;
        let step = self.steps.get(item.index as usize)?.as_ref()?;
        let ready = of.ready(step);
        let mut meeting = ready.scoreboard;
        if let Some((awaited, lanes)) = of.awaits
            && lanes & item.lanes != 0
            && !self.no_barriers
        {
            meeting = meeting.max(self.met(of.block, awaited)?);
        }
        if let Some(extra) = self.extra(item) {
            for &(address, count) in &extra.passed {
                meeting = meeting.max(self.signalled(of.block, address, count)?);
            }
        }
        let sm = &self.sms[sm];
        let mut unit = meeting.max(sm.quarters[quarter].accepts(step, warp));
        if step.double > 0 {
            unit = unit.max(sm.double);
        }
        let goes_through = step.units[Unit::LoadStore as usize] > 0 || step.units[Unit::Shared as usize] > 0;
        let throttle = if goes_through { unit.max(sm.path.accepts()) } else { unit };
        Some(Ticket { ready, meeting, unit, throttle, issue: throttle })
    }

    fn extra(&self, item: &Item) -> Option<&'a Extra> {
        if item.extra == NONE { None } else { self.trace.extras.get(item.extra as usize) }
    }

    /// The block or cluster of a meeting.
    fn place(&self, block: usize, meeting: Meeting) -> u64 {
        let trace = self.running[block].trace;
        if matches!(meeting, Meeting::Block { .. }) { trace.block } else { trace.cluster }
    }

    /// When a meeting was complete, `None` if it is not.
    fn met(&self, block: usize, meeting: Meeting) -> Option<u64> {
        let place = self.place(block, meeting);
        let needed = self.trace.arrivals.get(&(place, meeting)).copied().unwrap_or(0);
        let met = self.meetings.get(&(place, self.running[block].copy, meeting));
        let met = met.filter(|met| met.count >= needed)?;
        Some(met.last + self.chip.parameters.barrier.cycles())
    }

    /// When an mbarrier had been signalled so often, `None` if it has not.
    fn signalled(&self, block: usize, address: u64, count: u32) -> Option<u64> {
        let of = &self.running[block];
        let times = self.signals.get(&(of.trace.cluster, of.copy, address));
        let times = times.map_or(&[][..], Vec::as_slice);
        if count == 0 {
            return Some(0);
        }
        times.get(..count as usize)?.iter().max().copied()
    }

    fn issue(&mut self, sm: usize, quarter: usize, warp: usize, ticket: Ticket) {
        let now = ticket.at();
        let steps = self.steps;
        let Some(item) = self.warps[warp].item().copied() else { return };
        let Some(step) = steps.get(item.index as usize).and_then(Option::as_ref) else { return };
        self.account(&item, warp, ticket);
        self.sms[sm].quarters[quarter].issue(step, warp, now);
        if step.double > 0 {
            self.sms[sm].double = now + step.double;
            self.sms[sm].double_busy += step.double;
        }
        let (done, read, reason) = self.execute(sm, warp, &item, step, now);
        let of = &mut self.warps[warp];
        if of.awaits.is_some_and(|(_, lanes)| lanes & item.lanes != 0) {
            of.awaits = None;
        }
        of.complete(step, item.index, (done, read), reason);
        of.advance(steps);
        of.since = now + 1;
        of.stalled = if step.completes { done.max(now + 1) } else { now + step.stall.max(1) };
        of.fetched = of.stalled;
        self.end = self.end.max(now + 1);
        if let Some(extra) = self.extra(&item) {
            self.meet(sm, warp, &item, extra, (now, done));
        }
        self.fetch(sm, warp, &item);
        if self.warps[warp].item().is_none() {
            self.finish(sm, quarter, warp, now);
        }
    }

    /// Puts down what the warp waited for.
    fn account(&mut self, item: &Item, warp: usize, ticket: Ticket) {
        let Ticket { ready, meeting, unit, throttle, issue } = ticket;
        let line = &mut self.lines[item.index as usize];
        line.issued += 1;
        line.lanes += u64::from(item.lanes.count_ones());
        line.acted += u64::from(item.active != 0);
        line.active += u64::from(item.active.count_ones());
        let mut from = self.warps[warp].since;
        let mut add = |until: u64, reason: Reason| {
            line.waited[reason as usize] += until.saturating_sub(from);
            from = from.max(until);
        };
        add(ready.stall, Reason::Stall);
        add(ready.fetch, Reason::Fetch);
        add(ready.scoreboard, ready.reason);
        add(meeting, Reason::Barrier);
        add(unit, Reason::Unit);
        add(throttle, Reason::Throttle);
        add(issue, Reason::NotSelected);
        let waited = ready.scoreboard.saturating_sub(ready.fetch.max(self.warps[warp].since));
        if let Some(setter) = ready.setter.filter(|_| waited > 0) {
            line.await_for(setter, waited);
            if let Some(setter) = self.lines.get_mut(setter as usize) {
                setter.caused += waited;
            }
        }
    }

    /// The effect of an instruction on memory: when its result is there, when its operands are read, and why one waits.
    fn execute(&mut self, sm: usize, warp: usize, item: &Item, step: &Step, now: u64) -> (u64, u64, Reason) {
        let path = &mut self.sms[sm].path;
        let (mut done, mut read) = (now + step.latency, now + 4);
        let mut reason = if step.queue == Queue::Shared { Reason::Shared } else { Reason::Scoreboard };
        if step.passes > 0 && item.active != 0 {
            let start = path.pass(&mut self.chip, now, step.passes) as u64;
            (done, read) = (start + step.latency, start + 4);
        }
        if step.kind == Kind::Memory || step.kind == Kind::Copy {
            (done, read) = (now + 4, now + 4);
            let copy = self.running[self.warps[warp].block].copy;
            let first = item.request as usize;
            for request in &self.trace.requests[first..first + usize::from(item.requests)] {
                let through = path.access(&mut self.chip, now, request, copy, (step.bypasses, step.changes));
                done = done.max(through.done);
                read = read.max(through.read + 4);
                reason = match through.level {
                    Level::Shared => Reason::Shared,
                    Level::L1 | Level::L2 | Level::Dram => Reason::Memory,
                    Level::Atomic => Reason::Atomic,
                };
            }
        }
        if step.kind == Kind::Product {
            done = now + u64::from(step.units[Unit::Tensor as usize]) + PRODUCT_LATENCY;
        }
        if step.changes.has(Change::Instant) {
            done = done.min(now + 4);
        }
        (done, read, reason)
    }

    /// Arrivals and signals of an instruction that issued.
    fn meet(&mut self, sm: usize, warp: usize, item: &Item, extra: &Extra, (now, done): (u64, u64)) {
        let block = self.warps[warp].block;
        let copy = self.running[block].copy;
        let mut done = done;
        if extra.moved > 0 {
            done = self.sms[sm].path.move_bytes(&mut self.chip, now, extra.moved);
            self.warps[warp].copy_until(done);
        }
        if let Some(meeting) = extra.arrives {
            let place = self.place(block, meeting);
            let met = self.meetings.entry((place, copy, meeting)).or_default();
            met.count += 1;
            met.last = met.last.max(now);
            self.forget_choices();
        }
        if let Some(meeting) = extra.awaits {
            self.warps[warp].awaits = Some((meeting, item.lanes));
        }
        if !extra.signals.is_empty() {
            let cluster = self.running[block].trace.cluster;
            for &address in &extra.signals {
                self.signals.entry((cluster, copy, address)).or_default().push(done);
            }
            self.forget_choices();
        }
    }

    /// All quarters must look for their next warp again.
    fn forget_choices(&mut self) {
        for quarter in self.sms.iter_mut().flat_map(|sm| &mut sm.quarters) {
            quarter.stale = true;
        }
    }

    /// When the code of the next instruction is there.
    fn fetch(&mut self, sm: usize, warp: usize, item: &Item) {
        let of = &mut self.warps[warp];
        let follower = of.at.checked_sub(1).and_then(|at| of.items.get(at));
        let Some(next) = of.item() else { return };
        // After an instruction that is left out, the branch is that one's.
        let skipped = follower.is_some_and(|before| before.index != item.index);
        if next.index != item.index + 1 && !skipped {
            of.fetched += self.chip.parameters.branch.cycles();
        }
        let line = (next.index / INSTRUCTIONS_OF_LINE) as usize;
        if let Some(fetched) = self.sms[sm].fetched.get_mut(line)
            && !std::mem::replace(fetched, true)
        {
            of.fetched += self.chip.parameters.fetch.cycles();
        }
    }
}
