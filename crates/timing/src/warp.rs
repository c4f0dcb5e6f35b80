//! A warp that replays its trace: when its next instruction may issue, and what its control fields then set. No unit and
//! no other warp may be known here.

use crate::program::{Kind, Step};
use crate::reason::Reason;
use crate::recorder::Item;
use crate::remedy::Change;
use oriole_latency::SCOREBOARDS;
use oriole_sass::info::Queue;
use oriole_simulate::Meeting;
use std::collections::VecDeque;

/// Setters of a scoreboard that are remembered, the latest ones.
const REMEMBERED: usize = 64;
/// Queues in which results come in order.
const QUEUES: usize = 7;

/// The setters of a scoreboard.
#[derive(Clone, Debug)]
struct Scoreboard {
    /// When all are complete.
    clear: u64,
    reason: Reason,
    /// The instruction that is complete last.
    setter: Option<u32>,
    /// When each was complete, in order.
    setters: VecDeque<u64>,
}

/// A warp.
pub(crate) struct Warp<'a> {
    /// Its block, as the replay numbers them.
    pub block: usize,
    /// Number in the block.
    pub items: &'a [Item],
    pub at: usize,
    /// When the warp began to wait for its next issue.
    pub since: u64,
    /// When the stall of the last instruction is over, and when code is there.
    pub stalled: u64,
    pub fetched: u64,
    /// The meeting that lanes wait for.
    pub awaits: Option<(Meeting, u32)>,
    scoreboards: [Scoreboard; SCOREBOARDS as usize],
    /// When copies of the open group, and all those before, are complete.
    copies: u64,
    /// When matrix multiplies are complete, in order.
    products: VecDeque<u64>,
    /// The last completion in each queue of results that come in order.
    in_order: [u64; QUEUES],
}

/// When the next instruction may issue as far as the warp itself knows, step by step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub stall: u64,
    pub fetch: u64,
    pub scoreboard: u64,
    pub reason: Reason,
    /// The instruction whose scoreboard it is.
    pub setter: Option<u32>,
}

impl<'a> Warp<'a> {
    pub(crate) fn new(block: usize, items: &'a [Item], now: u64, steps: &[Option<Step>]) -> Warp<'a> {
        let none =
            Scoreboard { clear: 0, reason: Reason::Scoreboard, setter: None, setters: VecDeque::new() };
        let mut warp = Warp {
            block,
            items,
            at: 0,
            since: now,
            stalled: now,
            fetched: now,
            awaits: None,
            scoreboards: std::array::from_fn(|_| none.clone()),
            copies: 0,
            products: VecDeque::new(),
            in_order: [0; QUEUES],
        };
        warp.skip(steps);
        warp
    }

    /// Goes on to the next instruction that is replayed.
    pub(crate) fn advance(&mut self, steps: &[Option<Step>]) {
        self.at += 1;
        self.skip(steps);
    }

    fn skip(&mut self, steps: &[Option<Step>]) {
        while self.item().is_some_and(|item| left_out(steps, item)) {
            self.at += 1;
        }
    }

    pub(crate) fn item(&self) -> Option<&'a Item> {
        self.items.get(self.at)
    }

    /// When the next instruction may issue.
    pub(crate) fn ready(&self, step: &Step) -> Ready {
        let stall = self.stalled;
        let fetch = stall.max(self.fetched);
        let mut scoreboard = fetch;
        let (mut reason, mut setter) = (Reason::Scoreboard, None);
        let mut wait = |until: u64, of: Reason, by: Option<u32>| {
            if until > scoreboard {
                (scoreboard, reason, setter) = (until, of, by);
            }
        };
        for (number, board) in self.scoreboards.iter().enumerate() {
            if step.waits >> number & 1 == 1 {
                wait(board.clear, board.reason, board.setter);
            }
        }
        if let Kind::WaitFor { scoreboard, left } = step.kind {
            match scoreboard.and_then(|number| self.scoreboards.get(usize::from(number))) {
                Some(board) => wait(all_but(&board.setters, left), board.reason, board.setter),
                None => wait(all_but(&self.products, left), Reason::Unit, None),
            }
        }
        Ready { stall, fetch, scoreboard, reason, setter }
    }

    /// Notes when an instruction that issued is complete, and has read its operands.
    pub(crate) fn complete(&mut self, step: &Step, index: u32, (done, read): (u64, u64), reason: Reason) {
        let (mut done, mut read) = (done, read);
        match step.kind {
            Kind::Copy => self.copies = self.copies.max(done),
            Kind::CloseGroup => (done, read) = (self.copies, self.copies),
            Kind::Product => {
                let last = self.products.back().copied().unwrap_or(0);
                remember(&mut self.products, done.max(last));
            }
            _ => {}
        }
        if step.queue != Queue::Own {
            let last = &mut self.in_order[step.queue as usize];
            *last = done.max(*last);
            done = *last;
        }
        let reason = if step.kind == Kind::CloseGroup { Reason::Memory } else { reason };
        if let Some(number) = step.write_barrier {
            self.set(number, index, done, reason);
        }
        if let Some(number) = step.read_barrier {
            // Bulk stores of a group count by their reads.
            self.set(
                number,
                index,
                read,
                if reason == Reason::Scoreboard { reason } else { Reason::Throttle },
            );
        }
    }

    /// Copies that the warp started are not complete before this.
    pub(crate) fn copy_until(&mut self, done: u64) {
        self.copies = self.copies.max(done);
    }

    fn set(&mut self, number: u8, index: u32, done: u64, reason: Reason) {
        let Some(board) = self.scoreboards.get_mut(usize::from(number)) else { return };
        if done >= board.clear {
            (board.clear, board.reason, board.setter) = (done, reason, Some(index));
        }
        let last = board.setters.back().copied().unwrap_or(0);
        remember(&mut board.setters, done.max(last));
    }
}

fn remember(list: &mut VecDeque<u64>, done: u64) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(done);
}

/// True if an instruction is not replayed.
pub(crate) fn left_out(steps: &[Option<Step>], item: &Item) -> bool {
    let step = steps.get(item.index as usize).and_then(Option::as_ref);
    step.is_some_and(|step| step.changes.has(Change::Absent))
}

/// When all but the last `left` are complete.
fn all_but(list: &VecDeque<u64>, left: u8) -> u64 {
    let count = list.len().saturating_sub(usize::from(left));
    count.checked_sub(1).and_then(|at| list.get(at)).copied().unwrap_or(0)
}
