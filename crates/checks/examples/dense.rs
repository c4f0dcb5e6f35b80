//! Whether a launch has a race, by a second way: every access is kept, each thread has a whole vector clock, and all pairs
//! of accesses to a byte are compared. Prints `race`, `none`, or `unknown` for a record that it cannot read.
//!
//! It is here for `tools/checks/planted.py`, which asks it about races that the check does not find: the check shares
//! clocks, forgets accesses and counts time only where memory was accessed, and nothing of that is here.

use oriole_interp::{
    Arg, Event, Launch, MemorySpace, MemoryUse, Observer, Program, Semantics, StepFacts, ThreadNumber, Use,
};
use serde_json::Value;
use std::collections::HashMap;
use std::rc::Rc;

/// Threads of a launch at most.
const MOST_THREADS: u32 = 4096;

type Clock = Rc<Vec<u32>>;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Access {
    thread: usize,
    block: u32,
    time: u32,
    strong: bool,
    of_block: bool,
}

#[derive(Default)]
struct Byte {
    reads: Vec<Access>,
    writes: Vec<Access>,
}

#[derive(Default)]
struct Dense {
    steps: Vec<StepFacts>,
    threads: usize,
    clocks: Vec<Clock>,
    fenced: HashMap<usize, (Vec<u32>, bool)>,
    seen: HashMap<usize, Vec<u32>>,
    barriers: HashMap<(u32, u32), Vec<u32>>,
    exited: HashMap<u32, Vec<u32>>,
    clusters: HashMap<(u32, u64), Vec<u32>>,
    objects: HashMap<(u32, u64), (Vec<u32>, Vec<u32>)>,
    released: HashMap<(u32, u64), (Vec<u32>, Option<u32>)>,
    bytes: HashMap<(MemorySpace, u32, u64), Byte>,
    race: bool,
}

fn join(into: &mut Vec<u32>, other: &[u32]) {
    into.resize(other.len().max(into.len()), 0);
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Dense {
    fn number(&self, thread: ThreadNumber) -> usize {
        thread.block as usize * self.threads + thread.thread as usize
    }

    /// The clock that others may learn of a thread now; its next accesses are later.
    fn publish(&mut self, thread: usize) -> Vec<u32> {
        let clock = self.clocks[thread].to_vec();
        Rc::make_mut(&mut self.clocks[thread])[thread] += 1;
        clock
    }

    fn learn(&mut self, thread: usize, clock: &[u32]) {
        join(Rc::make_mut(&mut self.clocks[thread]), clock);
    }

    fn semantics(&self, pc: u32) -> Semantics {
        self.steps[pc as usize].semantics
    }

    fn synchronize(&mut self, used: &MemoryUse, semantics: Semantics) {
        let thread = self.number(used.thread);
        let place = (if used.space == MemorySpace::Shared { used.owner + 1 } else { 0 }, used.address);
        if used.kind != Use::Write
            && let Some((clock, only)) = self.released.get(&place).cloned()
            && only.is_none_or(|block| block == used.thread.block)
        {
            if semantics.acquires {
                self.learn(thread, &clock);
            } else {
                join(self.seen.entry(thread).or_default(), &clock);
            }
        }
        if used.kind == Use::Read {
            return;
        }
        if used.kind == Use::Write {
            self.released.remove(&place);
        }
        let published = if semantics.releases {
            Some((self.publish(thread), semantics.of_block))
        } else {
            self.fenced.get(&thread).cloned()
        };
        if let Some((clock, of_block)) = published {
            let released = self.released.entry(place).or_default();
            released.1 = of_block.then_some(used.thread.block);
            join(&mut released.0, &clock);
        }
    }

    fn access(&mut self, used: &MemoryUse) {
        if used.space == MemorySpace::Local {
            return;
        }
        let semantics = self.semantics(used.pc);
        let strong = used.kind == Use::Atomic || semantics.strong && !semantics.makes_object;
        if strong && !used.of_object {
            self.synchronize(used, semantics);
        }
        let thread = self.number(used.thread);
        let known = self.clocks[thread].clone();
        let of_block = semantics.of_block && !used.of_object;
        let own = Access { thread, block: used.thread.block, time: known[thread], strong, of_block };
        let owner = if used.space == MemorySpace::Shared { used.owner } else { 0 };
        for address in used.address..used.address + u64::from(used.bytes) {
            let byte = self.bytes.entry((used.space, owner, address)).or_default();
            let races = |other: &Access| {
                let narrow = (own.of_block || other.of_block) && own.block != other.block;
                other.thread != thread
                    && known[other.thread] < other.time
                    && (narrow || !(own.strong && other.strong))
            };
            let writes = used.kind != Use::Read;
            self.race |= byte.writes.iter().any(races) || writes && byte.reads.iter().any(races);
            let list = if writes { &mut byte.writes } else { &mut byte.reads };
            if !list.contains(&own) {
                list.push(own);
            }
        }
    }

    fn order(&mut self, event: &Event) {
        match *event {
            Event::LanesMeet { block, warp, lanes, .. } => {
                let lanes: Vec<usize> = (0..32)
                    .filter(|lane| lanes >> lane & 1 != 0)
                    .map(|lane| self.number(ThreadNumber { block, thread: warp * 32 + lane }))
                    .collect();
                let mut all = Vec::new();
                for lane in &lanes {
                    let clock = self.publish(*lane);
                    join(&mut all, &clock);
                }
                lanes.iter().for_each(|lane| self.learn(*lane, &all));
            }
            Event::Arrives { thread, barrier } => {
                let clock = self.publish(self.number(thread));
                join(self.barriers.entry((thread.block, barrier)).or_default(), &clock);
            }
            Event::Exits { thread } => {
                let clock = self.publish(self.number(thread));
                join(self.exited.entry(thread.block).or_default(), &clock);
            }
            Event::BlockMeets { block, barrier, warps, .. } => {
                let mut all = self.barriers.remove(&(block, barrier)).unwrap_or_default();
                if let Some(exited) = self.exited.get(&block) {
                    join(&mut all, exited);
                }
                for (warp, found) in (0..).zip(warps) {
                    for (lane, _) in &found.waiting {
                        let thread = self.number(ThreadNumber { block, thread: warp * 32 + lane });
                        self.learn(thread, &all);
                    }
                }
            }
            Event::ArrivesAtCluster { thread, cluster, phase, pc } if self.semantics(pc).releases => {
                let clock = self.publish(self.number(thread));
                join(self.clusters.entry((cluster, phase)).or_default(), &clock);
            }
            Event::LeavesCluster { thread, cluster, phase, pc } if self.semantics(pc).acquires => {
                let all = self.clusters.get(&(cluster, phase)).cloned().unwrap_or_default();
                self.learn(self.number(thread), &all);
            }
            Event::Signals { thread, object, over, pc, copies } => {
                if copies || self.semantics(pc).releases {
                    let clock = self.publish(self.number(thread));
                    join(&mut self.objects.entry(object).or_default().0, &clock);
                }
                if let Some(object) = self.objects.get_mut(&object).filter(|_| over) {
                    object.1 = object.0.clone();
                }
            }
            Event::Passes { thread, object, pc } if self.semantics(pc).acquires => {
                let all = self.objects.get(&object).map(|object| object.1.clone()).unwrap_or_default();
                self.learn(self.number(thread), &all);
            }
            Event::Fences { thread, pc } => {
                let number = self.number(thread);
                if let Some(seen) = self.seen.remove(&number) {
                    self.learn(number, &seen);
                }
                let clock = self.publish(number);
                self.fenced.insert(number, (clock, self.semantics(pc).of_block));
            }
            Event::Breaks { .. } => self.race = true,
            _ => {}
        }
    }
}

impl Observer for Dense {
    fn follows(&self) -> bool {
        true
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::Begins(setting) => {
                self.threads = setting.block.iter().product::<u32>() as usize;
                self.steps.clone_from(&setting.steps);
                let all = self.threads * setting.grid.iter().product::<u32>() as usize;
                self.clocks = (0..all)
                    .map(|thread| Rc::new((0..all).map(|other| u32::from(other == thread)).collect()))
                    .collect();
            }
            Event::Uses(used) => self.access(used),
            _ => self.order(event),
        }
    }
}

fn bytes(contents: &Value) -> Option<Vec<u8>> {
    if let (Some(count), Some(byte)) = (contents.get("len"), contents.get("fill")) {
        return Some(vec![byte.as_u64()? as u8; count.as_u64()? as usize]);
    }
    let hex = contents.get("bytes_hex")?.as_str()?;
    (0..hex.len() / 2).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

fn argument(value: &Value) -> Option<Arg> {
    if let Some(contents) = value.get("buffer") {
        return bytes(contents).map(Arg::Buffer);
    }
    if let Some(of) = value.get("alias") {
        return Some(Arg::Alias(of.as_u64()? as usize));
    }
    let scalar = value.get("scalar")?;
    let ty = scalar.get("type")?.as_str()?;
    let size = ty.trim_start_matches(char::is_alphabetic).parse::<usize>().ok()? / 8;
    let bits = match scalar.get("value")? {
        Value::String(text) => u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?,
        number if ty.starts_with('f') && size == 4 => u64::from((number.as_f64()? as f32).to_bits()),
        number if ty.starts_with('f') => number.as_f64()?.to_bits(),
        number => number.as_u64().or_else(|| number.as_i64().map(|value| value as u64))?,
    };
    Some(Arg::Scalar(bits.to_le_bytes()[..size.min(8)].to_vec()))
}

fn shape(value: &Value) -> Option<[u32; 3]> {
    let axes: Vec<u32> = value.as_array()?.iter().filter_map(|axis| Some(axis.as_u64()? as u32)).collect();
    axes.try_into().ok()
}

fn answer(record: &Value) -> Option<bool> {
    let program = Program::of_text(record.get("ptx_text")?.as_str()?).ok()?;
    let launch = Launch {
        grid: shape(record.get("grid")?)?,
        block: shape(record.get("block")?)?,
        cluster: record.get("cluster").and_then(shape),
        shared_bytes: record.get("shared_bytes").and_then(Value::as_u64).unwrap_or(0) as u32,
        args: record.get("args")?.as_array()?.iter().map(argument).collect::<Option<_>>()?,
        ..Launch::new(record.get("entry")?.as_str()?)
    };
    if launch.grid.iter().chain(&launch.block).product::<u32>() > MOST_THREADS {
        return None;
    }
    let mut dense = Dense::default();
    let outcome = oriole_interp::run_observed(&program, &launch, &mut dense);
    outcome.error.is_none().then_some(dense.race)
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let record = std::fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok());
    println!(
        "{}",
        match record.as_ref().and_then(answer) {
            Some(true) => "race",
            Some(false) => "none",
            None => "unknown",
        }
    );
}
