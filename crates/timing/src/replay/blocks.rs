//! The blocks of a replay: they start while there is room, each warp in the quarter with the fewest, and end with their last
//! warp. No instruction may be known here.

use super::{Replay, Running};
use crate::recorder::Item;
use crate::warp::{Warp, left_out};

impl<'a> Replay<'a> {
    /// A warp has ended.
    pub(super) fn finish(&mut self, sm: usize, quarter: usize, warp: usize, now: u64) {
        let of = &mut self.sms[sm].quarters[quarter];
        of.warps.retain(|&other| other != warp);
        if of.last == Some(warp) {
            of.last = None;
        }
        let block = &mut self.running[self.warps[warp].block];
        block.left -= 1;
        if block.left == 0 {
            self.ends.push(now);
            let sm = block.sm;
            self.sms[sm].held -= 1;
            self.start_blocks(now + self.chip.parameters.launch.cycles());
        }
    }

    /// Starts blocks while there is room for the next ones.
    pub(super) fn start_blocks(&mut self, now: u64) {
        while let Some(start) = self.starts.front() {
            let fits = |&(sm, _): &(usize, usize)| {
                let wanted = start.blocks.iter().filter(|block| block.0 == sm).count() as u32;
                self.sms[sm].held + wanted <= self.resident || self.sms[sm].held == 0
            };
            if !start.blocks.iter().all(fits) {
                return;
            }
            let Some(start) = self.starts.pop_front() else { return };
            for (sm, position) in start.blocks {
                self.start_block(sm, position, start.copy, now);
            }
        }
    }

    pub(super) fn start_block(&mut self, sm: usize, position: usize, copy: u64, now: u64) {
        let Some(trace) = self.trace.blocks.get(position) else { return };
        let block = self.running.len();
        let warps: Vec<&'a Vec<Item>> =
            trace.warps.iter().filter(|items| items.iter().any(|item| !left_out(self.steps, item))).collect();
        if warps.is_empty() {
            return;
        }
        self.running.push(Running { trace, copy, sm, left: warps.len() });
        let of = &mut self.sms[sm];
        of.held += 1;
        for items in warps {
            let (least, _) = of
                .quarters
                .iter()
                .enumerate()
                .min_by_key(|(_, of)| of.warps.len())
                .unwrap_or((0, &of.quarters[0]));
            of.quarters[least].warps.push(self.warps.len());
            of.quarters[least].stale = true;
            self.warps.push(Warp::new(block, items, now, self.steps));
        }
    }

    /// Ends all waits for others when nothing can go on: a trace that was cut off. True if there were any.
    pub(super) fn force(&mut self) -> bool {
        let mut any = false;
        for at in
            self.sms.iter().flat_map(|sm| &sm.quarters).flat_map(|of| &of.warps).copied().collect::<Vec<_>>()
        {
            let steps = self.steps;
            let of = &mut self.warps[at];
            any |= of.item().is_some();
            of.awaits = None;
            // Its wait never ends: the instruction is left out.
            of.advance(steps);
            self.forced += 1;
        }
        self.forget_choices();
        any
    }
}
