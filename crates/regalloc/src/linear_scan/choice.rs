//! Decisions of the linear scan: the register of a value, the value to evict, the place of a tuple.

use super::instruction::Assigned;
use super::{COPY, FREE, NONE, Scan};
use crate::operands::Group;
use crate::set::RegisterSet;
use oriole_ori::{File, Value};
use smallvec::SmallVec;

/// Cost of a move, to compare registers for results.
const MOVE: u32 = 8;

/// Cost of a move that waits for memory: less than that of a spill, because the wait would only come later otherwise.
const WAIT: u32 = 16;

impl Scan<'_> {
    /// The value to evict: the one with the farthest next use (Belady); one that need not be stored is preferred a
    /// little.
    pub(super) fn eviction_candidate(&self, avoid: RegisterSet) -> Option<Value> {
        let mut best: Option<((u32, u32), Value)> = None;
        for r in self.usable.without(avoid).iter() {
            let occupant = self.occupant[usize::from(r)];
            if occupant == FREE || occupant == COPY {
                continue;
            }
            let value = Value(occupant);
            let free_of_charge = self.in_memory[value]
                || self.stored_at_definition[value]
                || self.inputs.rematerializations[value].is_some();
            let key = (
                self.next[value].saturating_add(if free_of_charge { 8 } else { 0 }),
                u32::from(free_of_charge),
            );
            if best.is_none_or(|(k, _)| key > k) {
                best = Some((key, value));
            }
        }
        best.map(|(_, v)| v)
    }

    /// Picks the best of some free registers for a single value: its home, else a register that a call prefers, else
    /// one with room for its cluster, else one that no other cluster claims while it is live.
    pub(super) fn pick(&self, free: RegisterSet, v: Value) -> Option<u8> {
        if let Some(home) = self.home(v).filter(|&home| free.contains(home)) {
            return Some(home);
        }
        let argument = self.inputs.calls.argument(v);
        if let Some(r) = argument.filter(|&r| free.contains(r) && !self.is_claimed(r, v)) {
            return Some(r);
        }
        let unclaimed = self.unclaimed(free, v);
        if self.in_tuple(v)
            && let Some(r) = self.room(unclaimed, v).or_else(|| self.room(free, v))
        {
            return Some(r);
        }
        let free = if unclaimed.is_empty() { free } else { unclaimed };
        let cheap = free.within(self.registers.cheap);
        let free = if cheap.is_empty() { free } else { cheap };
        self.lone(self.in_bank(free, v))
    }

    /// Free registers in the bank that the other operands of the value leave free, if there are any. Only once the
    /// register count is fixed: broken pairs would raise it.
    fn in_bank(&self, free: RegisterSet, v: Value) -> RegisterSet {
        if self.registers.file != File::R || !self.registers.least_recently_used {
            return free;
        }
        let register = |other: Value| match self.assigned[other] {
            NONE => self.home(other),
            assigned => Some(assigned),
        };
        let wanted = match self.inputs.banks.preference(v, register) {
            0 => return free,
            preference => free.within(if preference > 0 { RegisterSet::ODD } else { RegisterSet::EVEN }),
        };
        if wanted.is_empty() { free } else { wanted }
    }

    /// The lowest register that spoils no free pair, else the lowest.
    pub(super) fn lone(&self, free: RegisterSet) -> Option<u8> {
        let mut lone = if self.registers.file == File::R { free.lone() } else { RegisterSet::default() };
        // With an odd count the last register has no partner that could be free: taking it would only raise the
        // count.
        if self.registers.count % 2 == 1 {
            lone.remove((self.registers.count - 1) as u8);
        }
        if self.registers.least_recently_used {
            // A broken pair must be worth it.
            const PAIR: u32 = 8;
            let age = |r: &u8| self.used[usize::from(*r)] + if lone.contains(*r) { 0 } else { PAIR };
            return free.iter().min_by_key(age);
        }
        lone.first().or(free.first())
    }

    /// A register for a value with free ones around it for its whole cluster, or at least for its pair.
    fn room(&self, free: RegisterSet, v: Value) -> Option<u8> {
        let (cluster, offset) = self.cluster(v);
        let whole = self.range(free, cluster.width.into(), cluster.align.into()).map(|base| base + offset);
        whole.or_else(|| {
            let base = self.range(free, 2, 2).filter(|_| cluster.width > 2)?;
            Some(base + offset % 2)
        })
    }

    /// The lowest range of consecutive free registers; with LRU, the least recently used one.
    fn range(&self, free: RegisterSet, count: u16, align: u16) -> Option<u8> {
        let mut best: Option<(u32, u16)> = None;
        let mut base = 0u16;
        while base + count <= self.registers.count {
            if (base..base + count).all(|r| free.contains(r as u8)) {
                let age = self.age(base, count);
                if best.is_none_or(|known| (age, base) < known) {
                    best = Some((age, base));
                }
                if !self.registers.least_recently_used {
                    break;
                }
            }
            base += align;
        }
        best.map(|(_, base)| base as u8)
    }

    /// Moves a value out of its register: to a free one, or else it or a better candidate is spilled.
    pub(super) fn relocate(&mut self, v: Value, avoid: RegisterSet) {
        let avoid = avoid.with(self.pinned).with(self.defined).with(self.forbidden);
        let free = self.free().without(avoid);
        let unclaimed = self.unclaimed(free, v);
        if let Some(r) = self.lone(if unclaimed.is_empty() { free } else { unclaimed }) {
            self.put(v, r);
            return;
        }
        match self.eviction_candidate(avoid) {
            Some(x) if x != v && self.next[x] > self.next[v] => {
                let r = self.assigned[x];
                self.spill(x);
                self.put(v, r);
            }
            _ => self.spill(v),
        }
    }

    /// Frees a register for another value.
    pub(super) fn clear(&mut self, register: u8, keep: RegisterSet) {
        let occupant = self.occupant[usize::from(register)];
        if occupant != FREE && occupant != COPY {
            let mut avoid = keep;
            avoid.insert(register);
            self.relocate(Value(occupant), avoid);
        }
    }

    /// Cheapest aligned range for a group of sources.
    pub(super) fn source_base(&self, group: &Group<'_>) -> Option<u8> {
        let count = group.values.len() as u16;
        let align = u16::from(group.align);
        let free = self.free().without(self.forbidden).without(self.pinned).len();
        let home = self.home(group.values[0]);
        let cost = |base: u16| -> Option<u32> {
            let mut cost = u32::from(home != Some(base as u8));
            let mut evicted = 0;
            for (k, v) in group.values.iter().enumerate() {
                let r = (base + k as u16) as u8;
                if !self.usable.contains(r) || self.forbidden.contains(r) {
                    return None;
                }
                let occupant = self.occupant[usize::from(r)];
                if occupant == v.0 {
                    continue;
                }
                if self.pinned.contains(r) || occupant == COPY {
                    return None;
                }
                cost += 2;
                if occupant != FREE {
                    evicted += 1;
                    cost += if evicted > free { 32 } else { 2 };
                    cost += self.wait_of(occupant);
                }
            }
            Some(cost)
        };
        let mut best: Option<(u32, u16)> = None;
        for (k, v) in group.values.iter().enumerate() {
            let assigned = u16::from(self.assigned[*v]);
            if assigned != u16::from(NONE) && assigned >= k as u16 {
                let base = assigned - k as u16;
                if base.is_multiple_of(align)
                    && base + count <= self.registers.count
                    && let Some(c) = cost(base)
                {
                    if c <= 1 {
                        return Some(base as u8);
                    }
                    if best.is_none_or(|b| (c, base) < b) {
                        best = Some((c, base));
                    }
                }
            }
        }
        let mut base = 0;
        while base + count <= self.registers.count {
            if let Some(c) = cost(base)
                && best.is_none_or(|b| (c, base) < b)
            {
                best = Some((c, base));
            }
            base += align;
        }
        best.map(|(_, base)| base as u8)
    }

    /// Moves a group of sources to its required registers and pins it. Returns the lowest register. With `in_place`
    /// the registers are overwritten: values that stay live must be somewhere else too.
    pub(super) fn place_sources(
        &mut self,
        group: &Group<'_>,
        in_place: bool,
        lives: impl Fn(Value) -> bool,
    ) -> Option<u8> {
        if group.values.len() == 1 && group.fixed.is_none() && !in_place {
            return self.place_single(group.values[0], lives(group.values[0]));
        }
        let base = match group.fixed {
            Some(base) => base,
            None => self.source_base(group)?,
        };
        let mut range = RegisterSet::default();
        (0..group.values.len()).for_each(|k| range.insert(base + k as u8));
        for (k, &v) in group.values.iter().enumerate() {
            let r = base + k as u8;
            if self.occupant[usize::from(r)] == v.0 && in_place && lives(v) {
                self.relocate(v, range);
            }
            if self.occupant[usize::from(r)] == v.0 {
                self.pinned.insert(r);
                continue;
            }
            if self.pinned.contains(r) {
                return None;
            }
            self.clear(r, range);
            let assigned = self.assigned[v];
            let elsewhere = assigned != NONE && self.pinned.contains(assigned);
            if elsewhere || ((in_place || self.forbidden.contains(r)) && lives(v)) {
                self.occupant.set(usize::from(r), COPY);
                self.copies.push((v, r));
            } else {
                self.put(v, r);
            }
            self.pinned.insert(r);
        }
        Some(base)
    }

    pub(super) fn place_single(&mut self, v: Value, lives: bool) -> Option<u8> {
        let assigned = self.assigned[v];
        if assigned != NONE {
            self.pinned.insert(assigned);
            return Some(assigned);
        }
        let outside = if lives { self.pinned.with(self.forbidden) } else { self.pinned };
        let free = self.free().without(outside);
        let register = match self.pick(free, v) {
            Some(r) => r,
            None => match self.eviction_candidate(outside) {
                Some(x) => {
                    let r = self.assigned[x];
                    self.spill(x);
                    r
                }
                // Only registers that will be overwritten are left: a copy for this instruction.
                None => {
                    let free = self.free().without(self.pinned);
                    let r = match free.first() {
                        Some(r) => r,
                        None => {
                            let x = self.eviction_candidate(self.pinned)?;
                            let r = self.assigned[x];
                            self.spill(x);
                            r
                        }
                    };
                    self.occupant.set(usize::from(r), COPY);
                    self.copies.push((v, r));
                    self.pinned.insert(r);
                    return Some(r);
                }
            },
        };
        self.put(v, register);
        self.pinned.insert(register);
        Some(register)
    }

    /// The register for a result that is not a tuple.
    fn single_base(&self, v: Value, sources: &[Assigned<'_>]) -> Option<u8> {
        let free = self.free().without(self.defined);
        // A copy prefers the register of its source, an accumulator that of its old value.
        let sources = sources.iter().filter(|(g, _)| g.values.len() == 1).map(|&(_, r)| r);
        if self.home(v).is_none() && !self.in_tuple(v) {
            for r in sources {
                if free.contains(r) && self.registers.cheap.contains(r) && !self.is_claimed(r, v) {
                    return Some(r);
                }
            }
        }
        if let Some(r) = self.pick(free, v) {
            return Some(r);
        }
        let candidate = self.eviction_candidate(self.pinned.with(self.defined))?;
        Some(self.assigned[candidate])
    }

    /// Cheapest aligned range for results.
    pub(super) fn destination_base(&self, group: &Group<'_>, sources: &[Assigned<'_>]) -> Option<u8> {
        if let [v] = group.values {
            return self.single_base(*v, sources);
        }
        let count = group.values.len() as u16;
        let align = u16::from(group.align);
        let free_elsewhere = self.free().without(self.pinned).without(self.forbidden).len();
        let source_hints: SmallVec<[u8; 4]> = sources
            .iter()
            .filter(|(g, r)| g.values.len() == usize::from(count) && r % align as u8 == 0)
            .map(|&(_, r)| r)
            .collect();
        let home = self.home(group.values[0]);
        let fresh = match home {
            None => {
                self.room(self.unclaimed(self.free().without(self.defined), group.values[0]), group.values[0])
            }
            Some(_) => None,
        };
        // A loop-carried value has to be back at its home in the next iteration.
        let away = match (home, self.is_carried(group.values[0])) {
            (Some(_), true) => MOVE * u32::from(count),
            _ => 2,
        };
        let cost = |base: u16| -> Option<u32> {
            let moves = self.result_cost(group, base, free_elsewhere)?;
            let base = Some(base as u8);
            let liked = fresh == base || base.is_some_and(|base| source_hints.contains(&base));
            let strange = match home {
                _ if home == base => 0,
                None if liked => 1,
                _ => away,
            };
            Some(moves + strange)
        };
        let mut best: Option<(u32, u32, u16)> = None;
        // Most are in the right place at once.
        let wanted = home.or(fresh).into_iter().chain(source_hints.iter().copied());
        for base in wanted.map(u16::from).filter(|base| base.is_multiple_of(align)) {
            if base + count <= self.registers.count
                && let Some(c) = cost(base)
            {
                let found = (c, self.age(base, count), base);
                if c <= 1 {
                    return Some(base as u8);
                }
                best = Some(best.map_or(found, |best| best.min(found)));
            }
        }
        let mut base = 0;
        while base + count <= self.registers.count {
            if let Some(c) = cost(base) {
                let found = (c, self.age(base, count), base);
                if best.is_none_or(|best| found < best) {
                    best = Some(found);
                    if c <= away && !self.registers.least_recently_used {
                        break;
                    }
                }
            }
            base += align;
        }
        best.map(|(_, _, base)| base as u8)
    }

    /// Cost of placing results from this register on, if possible.
    fn result_cost(&self, group: &Group<'_>, base: u16, free_elsewhere: u32) -> Option<u32> {
        let mut cost = 0;
        let mut evicted = 0;
        for (&v, r) in group.values.iter().zip(base..) {
            let r = r as u8;
            if !self.usable.contains(r) || self.defined.contains(r) {
                return None;
            }
            match self.occupant[usize::from(r)] {
                FREE => {
                    cost += 2 * u32::from(!self.registers.cheap.contains(r));
                    cost += MOVE / 2 * u32::from(self.is_claimed(r, v));
                }
                _ if self.pinned.contains(r) => return None,
                COPY => return None,
                occupant => {
                    evicted += 1;
                    cost += if evicted > free_elsewhere { 8 * MOVE } else { MOVE };
                    cost += self.wait_of(occupant);
                }
            }
        }
        Some(cost)
    }

    /// Cost of the wait if the value in a register is moved.
    fn wait_of(&self, occupant: u32) -> u32 {
        if self.in_flight.get(Value(occupant)) == Some(&true) { WAIT } else { 0 }
    }

    /// Last use of a range of registers; constant unless LRU is enabled.
    fn age(&self, base: u16, count: u16) -> u32 {
        let range = usize::from(base)..usize::from(base + count);
        if self.registers.least_recently_used {
            self.used[range].iter().copied().max().unwrap_or(0)
        } else {
            0
        }
    }
}
