//! The bounded list scheduler: it follows an order in few registers, and takes an instruction ahead of its place where that hides
//! latencies and nowhere makes more values live than a budget allows.
//!
//! It is here because a list scheduler that only counts what is live now notices too late that it has begun too much: what is
//! begun must be carried on, and the budget is overrun. Here the rest of the order is known at each step, with the pressure at
//! each of its places. What an instruction does to them, if it comes first, is exact: its results are live from now on, and
//! operands that it was the last to read no longer. So no order asks for more than the budget, or than the order that is
//! followed where that is more.

use crate::region::{Counts, FILES, Region};
use crate::top_down::heights;
use oriole_ori::csr::Csr;
use std::cmp::Reverse;

/// So many instructions of the rest of the order are looked at.
const WINDOW: usize = 64;

/// No place.
const NONE: u32 = u32::MAX;

/// Which of the instructions that wait least comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// The one on the longest path to the end.
    Longest,
    /// The first one of the order that is followed.
    First,
}

/// An order to follow. What it reads and writes is told by live ranges: a value has one from each definition to the next.
pub struct Followed {
    order: Vec<u32>,
    /// For each place of the order cycles from its instruction to the end.
    heights: Vec<u32>,
    /// The greatest of them from each place on, and 0 behind the last one.
    greatest: Vec<u32>,
    /// For each place of the order the ranges that are read.
    uses: Csr<usize, u32>,
    /// For each place the ranges that begin.
    definitions: Csr<usize, u32>,
    /// For each range the places where it is read, in rising order.
    readers: Csr<usize, u32>,
    /// For each range the index into [`FILES`].
    file: Vec<u8>,
    /// Ranges that are live behind the region.
    out: Vec<bool>,
    /// Values live before the region.
    live: Counts,
    /// Values live at each place.
    pressure: Vec<Counts>,
}

impl Followed {
    pub fn new(region: &Region, order: &[u32]) -> Followed {
        let mut file = region.file.clone();
        let mut current: Vec<u32> = (0..file.len() as u32).collect();
        let (mut uses, mut definitions) = (Vec::new(), Vec::new());
        for (place, &node) in order.iter().enumerate() {
            let own = &region.operands[node as usize];
            uses.extend(own.uses.iter().map(|&v| (place, current[v as usize])));
            // What a guarded instruction writes is among what it reads: the range goes on.
            for &v in own.definitions.iter().filter(|_| !own.guarded) {
                current[v as usize] = file.len() as u32;
                definitions.push((place, current[v as usize]));
                file.push(region.file[v as usize]);
            }
        }
        let mut out = vec![false; file.len()];
        let leaving = current.iter().zip(&region.live_out).filter(|(_, live)| **live);
        leaving.for_each(|(&range, _)| out[range as usize] = true);
        let readers: Vec<(usize, u32)> =
            uses.iter().map(|&(place, range)| (range as usize, place as u32)).collect();
        let heights = heights(region);
        let heights: Vec<u32> = order.iter().map(|&node| heights[node as usize]).collect();
        let mut greatest = vec![0; order.len() + 1];
        for (place, &height) in heights.iter().enumerate().rev() {
            greatest[place] = height.max(greatest[place + 1]);
        }
        let mut followed = Followed {
            order: order.to_vec(),
            heights,
            greatest,
            uses: Csr::new(order.len(), &uses),
            definitions: Csr::new(order.len(), &definitions),
            readers: Csr::new(file.len(), &readers),
            file,
            out,
            live: region.through,
            pressure: Vec::with_capacity(order.len()),
        };
        for range in 0..region.file.len() as u32 {
            let file = followed.file(range);
            followed.live[file] += u32::from(followed.is_wanted(range));
        }
        followed.count();
        followed
    }

    /// Counts what is live at each place.
    fn count(&mut self) {
        let mut now = self.live;
        for place in 0..self.order.len() {
            let mut behind = now;
            let ends = |range: &&u32| self.readers.of(**range as usize).last() == Some(&(place as u32));
            for &range in self.uses.of(place).iter().filter(ends) {
                behind[self.file(range)] -= u32::from(!self.out[range as usize]);
            }
            let mut with_dead = behind;
            for &range in self.definitions.of(place) {
                behind[self.file(range)] += u32::from(self.is_wanted(range));
                with_dead[self.file(range)] += 1;
            }
            self.pressure.push(std::array::from_fn(|k| now[k].max(with_dead[k])));
            now = behind;
        }
    }

    fn file(&self, range: u32) -> usize {
        usize::from(self.file[range as usize])
    }

    /// Whether anything reads a range, in the region or behind it.
    fn is_wanted(&self, range: u32) -> bool {
        self.out[range as usize] || !self.readers.of(range as usize).is_empty()
    }

    /// An order in which no more values are live than a budget allows, or than in the order that is followed; and whether a larger
    /// budget could give another one.
    pub fn schedule(&self, region: &Region, budget: Counts, preference: Preference) -> (Vec<u32>, bool) {
        let mut rest = Rest::new(self, budget, preference);
        let mut waiting = region.graph.before_counts();
        let mut ready = waiting.iter().filter(|&&count| count == 0).count();
        let mut ready_at = vec![0u32; region.len()];
        let mut order = Vec::with_capacity(region.len());
        let mut cycle = 0u32;
        let mut limited = false;
        while order.len() < region.len() {
            let wait = |node: usize| (waiting[node] == 0).then(|| ready_at[node].saturating_sub(cycle));
            let place = rest.next_place(ready, &wait, &mut limited);
            rest.place(place);
            let node = self.order[place as usize];
            let issue = cycle.max(ready_at[node as usize]);
            cycle = issue + 1;
            order.push(node);
            ready -= 1;
            for &(to, cycles) in region.graph.after(node) {
                let at = to as usize;
                ready_at[at] = ready_at[at].max(issue + cycles);
                waiting[at] -= 1;
                ready += usize::from(waiting[at] == 0);
            }
        }
        (order, limited)
    }
}

/// What an instruction does to the registers of each file, if it is the next one.
#[derive(Default)]
struct Change {
    /// Operands that nobody else reads.
    ends: Counts,
    /// Results that are read.
    begins: Counts,
    /// Results that nobody reads.
    dead: Counts,
}

/// The rest of an order.
struct Rest<'a> {
    followed: &'a Followed,
    preference: Preference,
    budget: Counts,
    /// Values live before it.
    live: Counts,
    /// Values live at each of its places.
    pressure: Vec<Counts>,
    /// For each range how many readers are in it.
    left: Vec<u32>,
    /// For each range how many readers there are up to the last one in it.
    last: Vec<u32>,
    /// Its first place, and for each place the next one and the one before.
    first: u32,
    next: Vec<u32>,
    previous: Vec<u32>,
    placed: Vec<bool>,
}

impl Rest<'_> {
    fn new(followed: &Followed, budget: Counts, preference: Preference) -> Rest<'_> {
        let count = followed.order.len() as u32;
        let left: Vec<u32> =
            (0..followed.file.len()).map(|range| followed.readers.of(range).len() as u32).collect();
        Rest {
            followed,
            preference,
            budget,
            live: followed.live,
            pressure: followed.pressure.clone(),
            last: left.clone(),
            left,
            first: 0,
            next: (1..=count).collect(),
            previous: (0..count).map(|place| place.checked_sub(1).unwrap_or(NONE)).collect(),
            placed: vec![false; count as usize],
        }
    }

    /// Which instruction comes next: of those that wait least the preferred one, unless others of the rest, which
    /// it would pass, then kept too many values alive; that sets `limited`. So many are ready, `wait` says how long each of them
    /// waits.
    fn next_place(&self, ready: usize, wait: &impl Fn(usize) -> Option<u32>, limited: &mut bool) -> u32 {
        // The first instruction of the rest is always ready.
        let mut best = None;
        let mut others = Counts::default();
        let (mut place, mut seen) = (self.first, 0);
        for _ in 0..WINDOW {
            let node = self.followed.order[place as usize] as usize;
            if let Some(wait) = wait(node) {
                seen += 1;
                let length = self.length(place);
                let key = (Reverse(wait), length, Reverse(place));
                if best.is_none_or(|known| key > known) {
                    let may = place == self.first || self.may_pass(place, &others);
                    *limited |= !may;
                    best = if may { Some(key) } else { best };
                }
            }
            let next = self.next[place as usize];
            let is_best = |(Reverse(wait), length, _)| wait == 0 && length >= self.most(next);
            if seen == ready || best.is_some_and(is_best) {
                break;
            }
            let here = self.pressure[place as usize];
            others = std::array::from_fn(|k| others[k].max(here[k]));
            place = next;
        }
        best.map_or(self.first, |(_, _, Reverse(place))| place)
    }

    /// What decides among instructions that wait equally long: the greater one comes first, of equals the one at the earlier place.
    fn length(&self, place: u32) -> u32 {
        match self.preference {
            Preference::Longest => self.followed.heights[place as usize],
            Preference::First => 0,
        }
    }

    /// No instruction from a place on has a greater length.
    fn most(&self, place: u32) -> u32 {
        match self.preference {
            Preference::Longest => self.followed.greatest[place as usize],
            Preference::First => 0,
        }
    }

    fn change(&self, place: u32) -> Change {
        let followed = self.followed;
        let mut change = Change::default();
        for &range in followed.uses.of(place as usize) {
            let is_last = self.left[range as usize] == 1 && !followed.out[range as usize];
            change.ends[followed.file(range)] += u32::from(is_last);
        }
        for &range in followed.definitions.of(place as usize) {
            let count = if followed.is_wanted(range) { &mut change.begins } else { &mut change.dead };
            count[followed.file(range)] += 1;
        }
        change
    }

    /// Whether an instruction may come before others of the rest, at which at most so many values are live.
    fn may_pass(&self, place: u32, others: &Counts) -> bool {
        let Change { ends, begins, dead } = self.change(place);
        (0..FILES.len()).all(|k| {
            let (results, budget) = (begins[k] + dead[k], self.budget[k].saturating_add(ends[k]));
            (begins[k] <= ends[k] || others[k] + begins[k] <= budget)
                && (results == 0 || self.live[k] + results <= budget)
        })
    }

    /// Places an instruction before the rest.
    fn place(&mut self, place: u32) {
        let followed = self.followed;
        let Change { ends, begins, .. } = self.change(place);
        self.live = std::array::from_fn(|k| self.live[k] + begins[k] - ends[k]);
        self.placed[place as usize] = true;
        for &range in followed.definitions.of(place as usize).iter().filter(|&&r| followed.is_wanted(r)) {
            self.each(self.first, place, |pressure| pressure[followed.file(range)] += 1);
        }
        for &range in followed.uses.of(place as usize) {
            self.left[range as usize] -= 1;
            let readers = followed.readers.of(range as usize);
            let mut last = self.last[range as usize];
            if readers[last as usize - 1] != place {
                continue;
            }
            while last > 0 && self.placed[readers[last as usize - 1] as usize] {
                last -= 1;
            }
            self.last[range as usize] = last;
            if followed.out[range as usize] {
                continue;
            }
            // Behind the reader that is the last one now, the value is not live any more.
            let from = match last {
                0 => self.first,
                last => self.next[readers[last as usize - 1] as usize],
            };
            self.each(from, place, |pressure| pressure[followed.file(range)] -= 1);
        }
        self.unlink(place);
    }

    /// Changes the pressure at places of the rest, from one on and before another one.
    fn each(&mut self, from: u32, to: u32, change: impl Fn(&mut Counts)) {
        let mut place = from;
        while place < to {
            change(&mut self.pressure[place as usize]);
            place = self.next[place as usize];
        }
    }

    /// Takes an instruction out of the rest.
    fn unlink(&mut self, place: u32) {
        let (before, behind) = (self.previous[place as usize], self.next[place as usize]);
        match before {
            NONE => self.first = behind,
            before => self.next[before as usize] = behind,
        }
        if let Some(previous) = self.previous.get_mut(behind as usize) {
            *previous = before;
        }
    }
}
