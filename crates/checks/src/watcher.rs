//! The observer of a run: gives each event to the checks that were asked for.

use crate::banks::Banks;
use crate::collector::{Collector, Part};
use crate::divergence;
use crate::fault;
use crate::finding::Finding;
use crate::kind::{Check, Checks};
use crate::order::Order;
use crate::race::Races;
use crate::unwritten::Unwritten;
use oriole_diagnostics::Code;
use oriole_interp::{Event, MemoryUse, Observer, Semantics};
use oriole_machine_model::races::Race;

/// The rules for copies that the interpreter checks, and how an instruction breaks each with another one.
const RULES: &[(Race, &str, &str)] = &[
    (Race::ProxyFenceMissing, "reads asynchronously without a fence between proxies", "wrote before"),
    (Race::SourceOverwritten, "overwrites memory that a copy may not have read", "copies from it"),
    (Race::CopyNotArrived, "uses memory that a copy may not have written", "copies to it"),
    (Race::TargetInUse, "copies over memory that may still be in use", "may still use it"),
    (Race::ResultNotThere, "uses tensor memory that may not have been written", "writes it"),
    (Race::OperandOverwritten, "overwrites tensor memory that may still be read", "may still read it"),
    (Race::AccessGoingOn, "uses tensor memory whose access may be in flight", "accesses it"),
];

/// The observer.
pub struct Watcher {
    checks: Checks,
    run: Option<Run>,
    ended_by: Option<Finding>,
}

/// The state of a run.
struct Run {
    collector: Collector,
    order: Order,
    races: Option<Races>,
    unwritten: Option<Unwritten>,
    banks: Option<Banks>,
}

impl Watcher {
    /// An observer for these checks.
    pub fn new(checks: Checks) -> Watcher {
        Watcher { checks, run: None, ended_by: None }
    }

    /// The findings, and whether accesses were left out.
    pub fn finish(self) -> (Vec<Finding>, bool) {
        let Some(mut run) = self.run else { return (Vec::new(), false) };
        if let Some(banks) = run.banks.take() {
            banks.finish(&mut run.collector);
        }
        let is_partial = run.races.as_ref().is_some_and(Races::is_partial);
        let mut findings = run.collector.finish();
        // The fault that ended the run comes first.
        findings.splice(0..0, self.ended_by);
        (findings, is_partial)
    }
}

impl Observer for Watcher {
    fn follows(&self) -> bool {
        true
    }

    fn follow(&mut self, event: &Event) {
        if let Event::Begins(setting) = event {
            let threads = divergence::threads_of_block(setting);
            let has = |check| self.checks.has(check);
            self.run = Some(Run {
                collector: Collector::new((*setting).clone()),
                order: Order::new(threads as usize),
                races: has(Check::Races).then(Races::new),
                unwritten: has(Check::Unwritten).then(Unwritten::default),
                banks: has(Check::Banks).then(Banks::default),
            });
        }
        let Some(run) = &mut self.run else { return };
        match event {
            Event::Uses(used) => run.access(used, self.checks),
            Event::Fails(fault) => {
                self.ended_by = fault::finding(fault, self.checks, &run.collector.setting);
            }
            _ => {
                if self.checks.has(Check::Divergence) {
                    divergence::follow(event, &mut run.collector);
                }
                run.follow(event);
            }
        }
    }
}

impl Run {
    fn access(&mut self, used: &MemoryUse, checks: Checks) {
        if let Some(races) = &mut self.races {
            races.access(used, &mut self.order, &mut self.collector);
        }
        if let Some(unwritten) = &mut self.unwritten {
            unwritten.access(used, &mut self.collector);
        }
        if let Some(banks) = &mut self.banks {
            banks.access(used);
        }
        if checks.has(Check::Bounds) {
            fault::access(used, &mut self.collector);
        }
    }

    fn semantics(&self, pc: u32) -> Semantics {
        self.collector.setting.steps.get(pc as usize).map_or(Semantics::default(), |facts| facts.semantics)
    }

    /// The events that the state of a check depends on.
    fn follow(&mut self, event: &Event) {
        match *event {
            Event::Step { .. } => {
                if let Some(banks) = &mut self.banks {
                    banks.step();
                }
            }
            Event::NewFrame { thread, start, bytes } => {
                if let Some(unwritten) = &mut self.unwritten {
                    unwritten.new_frame(thread, start, bytes);
                }
            }
            Event::Unwritten { thread, pc, slot } if self.unwritten.is_some() => {
                Unwritten::register(thread, (pc, slot), &mut self.collector);
            }
            Event::Ends(block) => {
                let threads = divergence::threads_of_block(&self.collector.setting);
                if let Some(unwritten) = &mut self.unwritten {
                    unwritten.ends(block, threads);
                }
                if let Some(races) = &mut self.races {
                    races.ends(block);
                }
                self.order.ends(block);
            }
            _ if self.races.is_some() => self.follow_order(event),
            _ => {}
        }
    }

    /// The events that order accesses.
    fn follow_order(&mut self, event: &Event) {
        match *event {
            Event::Unchanged => {
                if let Some(races) = &self.races {
                    races.unchanged(&mut self.collector);
                }
            }
            Event::LanesMeet { block, warp, lanes, .. } => self.order.lanes_meet(block, warp, lanes),
            Event::Arrives { thread, barrier } => self.order.arrives(thread, barrier),
            Event::Exits { thread } => self.order.exits(thread),
            Event::BlockMeets { block, barrier, warps, .. } => self.order.block_meets(block, barrier, warps),
            Event::ArrivesAtCluster { thread, cluster, phase, pc } => {
                let releases = self.semantics(pc).releases;
                self.order.arrives_at_cluster(thread, cluster, phase, releases);
            }
            Event::LeavesCluster { thread, cluster, phase, pc } if self.semantics(pc).acquires => {
                self.order.leaves_cluster(thread, cluster, phase);
            }
            Event::Signals { thread, object, over, pc, copies } => {
                let releases = copies || self.semantics(pc).releases;
                self.order.signals(thread, object, releases, over);
            }
            Event::Passes { thread, object, pc } if self.semantics(pc).acquires => {
                self.order.passes(thread, object);
            }
            Event::Fences { thread, pc } => {
                let of_block = self.semantics(pc).of_block;
                self.order.fences(thread, of_block);
            }
            Event::Breaks { thread, pc, rule, other } => {
                let Some((_, does, did)) = RULES.iter().find(|(known, ..)| *known == rule) else { return };
                let key = (Code::CopyRace, pc, other, rule as u8);
                let parts = [(other, *did, None), (pc, *does, Some(thread))].map(|(pc, does, thread)| Part {
                    pc,
                    thread,
                    does,
                });
                self.collector.add(key, &parts, None, |_| format!("an instruction {does}"));
            }
            _ => {}
        }
    }
}
