//! The bounded list scheduler: it follows a schedule with few registers, and moves an instruction ahead where that
//! hides latency and nowhere makes more values live than a budget allows.
//!
//! It is here because a list scheduler that only counts currently live values notices too late that it has begun too
//! much: a begun computation must be continued, and the budget is exceeded. Here the rest of the schedule is known at
//! each step, with the pressure at each of its positions. The effect of moving an instruction first is exact: its
//! results are live from now on, and operands that it was the last to read no longer. So no schedule needs more than
//! the budget, or than the followed schedule where that needs more.

use crate::region::{Counts, FILES, Region};
use crate::top_down::heights;
use oriole_ori::csr::Csr;

/// Most instructions of the rest that are considered.
const WINDOW: u32 = 64;

/// No place.
const NONE: u32 = u32::MAX;

/// Tie breaker among the instructions that wait least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// The one on the longest path to the end.
    Longest,
    /// The first one of the followed schedule.
    First,
}

/// A set of positions of a schedule.
struct Places(Vec<u64>);

impl Places {
    fn none(count: usize) -> Places {
        Places(vec![0; count.div_ceil(64)])
    }

    fn set(&mut self, place: u32, is_in: bool) {
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        if is_in {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// Visits the members in a range, ascending.
    #[inline]
    fn for_each_between(&self, from: u32, to: u32, mut visit: impl FnMut(u32)) {
        for word in from / 64..to.div_ceil(64) {
            let mut left = self.0[word as usize];
            if word == from / 64 {
                left &= u64::MAX << (from % 64);
            }
            if word == to / 64 {
                left &= !(u64::MAX << (to % 64));
            }
            while left != 0 {
                visit(word * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }
}

/// A schedule to follow. Its operands are live ranges: a value has one from each definition to the next.
pub struct Followed {
    order: Vec<u32>,
    /// Position of each instruction in it.
    place_of: Vec<u32>,
    /// For each position the longest path in cycles from its instruction to the end.
    heights: Vec<u32>,
    /// For each position the ranges that are read.
    uses: Csr<usize, u32>,
    /// For each place the ranges that begin.
    definitions: Csr<usize, u32>,
    /// For each range the positions where it is read, ascending.
    readers: Csr<usize, u32>,
    /// For each range the index into [`FILES`].
    file: Vec<u8>,
    /// Ranges that are live after the region.
    out: Vec<bool>,
    /// For each position the effect of its results.
    results: Vec<Results>,
    /// Live-in counts.
    live: Counts,
    /// Live counts at each position.
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
            // A guarded definition is also a read: the range continues.
            for &v in own.definitions.iter().filter(|_| !own.partial) {
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
        let heights = order.iter().map(|&node| heights[node as usize]).collect();
        let mut place_of = vec![NONE; region.len()];
        for (place, &node) in (0..).zip(order) {
            place_of[node as usize] = place;
        }
        let mut followed = Followed {
            order: order.to_vec(),
            place_of,
            heights,
            uses: Csr::new(order.len(), &uses),
            definitions: Csr::new(order.len(), &definitions),
            readers: Csr::new(file.len(), &readers),
            file,
            out,
            results: Vec::new(),
            live: region.through,
            pressure: Vec::with_capacity(order.len()),
        };
        for range in 0..region.file.len() as u32 {
            let file = followed.file(range);
            followed.live[file] += u32::from(followed.is_wanted(range));
        }
        let results = |place: usize| {
            let mut results = Results::default();
            for &range in followed.definitions.of(place) {
                let count = if followed.is_wanted(range) { &mut results.begins } else { &mut results.dead };
                count[followed.file(range)] += 1;
            }
            results
        };
        followed.results = (0..order.len()).map(results).collect();
        followed.count();
        followed
    }

    /// Counts the live values at each position.
    fn count(&mut self) {
        let mut now = self.live;
        for place in 0..self.order.len() {
            let mut behind = now;
            let ends = |range: &&u32| self.readers.of(**range as usize).last() == Some(&(place as u32));
            for &range in self.uses.of(place).iter().filter(ends) {
                behind[self.file(range)] -= u32::from(!self.out[range as usize]);
            }
            let Results { begins, dead } = self.results[place];
            self.pressure.push(std::array::from_fn(|k| now[k].max(behind[k] + begins[k] + dead[k])));
            now = std::array::from_fn(|k| behind[k] + begins[k]);
        }
    }

    #[inline]
    fn file(&self, range: u32) -> usize {
        usize::from(self.file[range as usize])
    }

    /// True if a range is read, in the region or after it.
    fn is_wanted(&self, range: u32) -> bool {
        self.out[range as usize] || !self.readers.of(range as usize).is_empty()
    }

    /// A schedule in which no more values are live than the budget, or than in the followed schedule; and whether a
    /// larger budget could give another one.
    pub fn schedule(&self, region: &Region, budget: Counts, preference: Preference) -> (Vec<u32>, bool) {
        let mut rest = Rest::new(self, budget, preference);
        // For each position the count of unscheduled predecessors, and the time at which their results arrive.
        let counts = region.graph.before_counts();
        let mut waiting: Vec<u32> = self.order.iter().map(|&node| counts[node as usize]).collect();
        let mut times =
            Times { cycle: 0, ready_at: vec![0; region.len()], ready: Places::none(region.len()) };
        for place in (0..region.len() as u32).filter(|&place| waiting[place as usize] == 0) {
            times.ready.set(place, true);
        }
        let mut order = Vec::with_capacity(region.len());
        let mut limited = false;
        while order.len() < region.len() {
            let place = rest.next_place(&times, &mut limited);
            rest.place(place);
            times.ready.set(place, false);
            let node = self.order[place as usize];
            let issue = times.cycle.max(times.ready_at[place as usize]);
            times.cycle = issue + 1;
            order.push(node);
            for &(to, cycles) in region.graph.after(node) {
                let to = self.place_of[to as usize];
                let at = to as usize;
                times.ready_at[at] = times.ready_at[at].max(issue + cycles);
                waiting[at] -= 1;
                if waiting[at] == 0 {
                    times.ready.set(to, true);
                }
            }
        }
        (order, limited)
    }
}

/// Effect of the results of an instruction on the registers of each file.
#[derive(Clone, Copy, Default)]
struct Results {
    /// Results that are read.
    begins: Counts,
    /// Unread results.
    dead: Counts,
}

/// The first instructions of the rest, up to one that would pass them.
struct Passed {
    /// The first place that is not among them.
    end: u32,
    /// The most values live at once at their positions.
    most: Counts,
}

impl Passed {
    fn none(first: u32) -> Passed {
        Passed { end: first, most: Counts::default() }
    }

    /// True if no more values than `room` are live at once up to a position.
    #[inline]
    fn keeps_to(&mut self, room: Counts, to: u32, rest: &Rest) -> bool {
        loop {
            if (0..FILES.len()).any(|k| self.most[k] > room[k]) {
                return false;
            }
            if self.end >= to {
                return true;
            }
            let here = &rest.pressure[self.end as usize];
            self.most = std::array::from_fn(|k| self.most[k].max(here[k]));
            self.end = rest.next[self.end as usize];
        }
    }
}

/// Earliest issue times, by position.
struct Times {
    /// The next free issue cycle.
    cycle: u32,
    /// Arrival times of the operands, as far as known.
    ready_at: Vec<u32>,
    /// Those without unscheduled predecessors.
    ready: Places,
}

/// The rest of a schedule.
struct Rest<'a> {
    followed: &'a Followed,
    preference: Preference,
    budget: Counts,
    /// Live counts before it.
    live: Counts,
    /// Live counts at each of its positions.
    pressure: Vec<Counts>,
    /// For each range how many readers are in it.
    left: Vec<u32>,
    /// For each range how many readers there are up to the last one in it.
    last: Vec<u32>,
    /// Its first position, and the end of the considered window.
    first: u32,
    end: u32,
    /// For each place the next one and the one before.
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
            end: count.min(WINDOW),
            next: (1..=count).collect(),
            previous: (0..count).map(|place| place.checked_sub(1).unwrap_or(NONE)).collect(),
            placed: vec![false; count as usize],
        }
    }

    /// The next instruction: of those that wait least the preferred one, unless moving it ahead of others would keep
    /// too many values live; that sets `limited`.
    fn next_place(&self, times: &Times, limited: &mut bool) -> u32 {
        // The first instruction of the rest is always ready.
        let mut best = (self.first, self.key(self.first, times));
        times.ready.for_each_between(self.first, self.end, |place| {
            let key = self.key(place, times);
            if key > best.1 {
                best = (place, key);
            }
        });
        let (place, _) = best;
        if place == self.first || self.may_pass(place, &mut Passed::none(self.first)) {
            return place;
        }
        *limited = true;
        // The best of the others.
        let mut best = (self.first, self.key(self.first, times));
        let mut passed = Passed::none(self.first);
        times.ready.for_each_between(self.first + 1, self.end, |place| {
            let key = self.key(place, times);
            if key > best.1 && self.may_pass(place, &mut passed) {
                best = (place, key);
            }
        });
        best.0
    }

    /// Priority of an instruction over the following ones: the greater is scheduled first.
    #[inline]
    fn key(&self, place: u32, times: &Times) -> u64 {
        let wait = times.ready_at[place as usize].saturating_sub(times.cycle);
        let length = match self.preference {
            Preference::Longest => self.followed.heights[place as usize],
            Preference::First => 0,
        };
        // One integer packs the wait cycles and the path length, for one comparison.
        u64::from(u32::MAX - wait) << 32 | u64::from(length)
    }

    /// Count of operands for which this instruction, scheduled next, is the last reader.
    #[inline]
    fn ends(&self, place: u32) -> Counts {
        let followed = self.followed;
        let mut ends = Counts::default();
        for &range in followed.uses.of(place as usize) {
            let is_last = self.left[range as usize] == 1 && !followed.out[range as usize];
            ends[followed.file(range)] += u32::from(is_last);
        }
        ends
    }

    /// True if an instruction may move ahead of the earlier ones of the rest. `passed` are some of these.
    fn may_pass(&self, place: u32, passed: &mut Passed) -> bool {
        let (ends, Results { begins, dead }) = (self.ends(place), self.followed.results[place as usize]);
        // Room for live values where it passes.
        let mut room = [u32::MAX; FILES.len()];
        for k in 0..FILES.len() {
            let (results, budget) = (begins[k] + dead[k], self.budget[k].saturating_add(ends[k]));
            if results > 0 && self.live[k] + results > budget {
                return false;
            }
            if begins[k] > ends[k] {
                room[k] = budget - begins[k];
            }
        }
        room == [u32::MAX; FILES.len()] || passed.keeps_to(room, place, self)
    }

    /// Places an instruction before the rest.
    fn place(&mut self, place: u32) {
        let followed = self.followed;
        let (ends, Results { begins, .. }) = (self.ends(place), followed.results[place as usize]);
        self.live = std::array::from_fn(|k| self.live[k] + begins[k] - ends[k]);
        self.placed[place as usize] = true;
        if begins != Counts::default() {
            self.each(self.first, place, |pressure| {
                for k in 0..FILES.len() {
                    pressure[k] += begins[k];
                }
            });
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
            // After its new last reader the value is not live any more.
            let from = match last {
                0 => self.first,
                last => self.next[readers[last as usize - 1] as usize],
            };
            self.each(from, place, |pressure| pressure[followed.file(range)] -= 1);
        }
        self.unlink(place);
    }

    /// Changes the pressure at places of the rest, from one on and before another one.
    #[inline]
    fn each(&mut self, from: u32, to: u32, change: impl Fn(&mut Counts)) {
        let mut place = from;
        while place < to {
            change(&mut self.pressure[place as usize]);
            place = self.next[place as usize];
        }
    }

    /// Takes an instruction out of the rest.
    fn unlink(&mut self, place: u32) {
        if (self.end as usize) < self.next.len() {
            self.end = self.next[self.end as usize];
        }
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

#[cfg(test)]
mod tests;
