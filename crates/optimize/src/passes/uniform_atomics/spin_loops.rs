//! Loops of a load, an addition and a swap that tests: what lowering makes of 64-bit additions to shared memory.
//!
//! All lanes load, but only the leader swaps, and it adds what all of them would. For the others the swap is as if it had succeeded,
//! so they leave after one round and wait after the loop, where each computes its own old value from the leader's.

use super::known::Known;
use super::sequence::{Ranks, scratch};
use super::votes::{Vote, Votes};
use oriole_ori::{
    BlockId, Builder, Destination, File, Function, Guard, Instruction, Opcode, Pseudo, Source, SourceKind,
    Value, Values, effects,
};
use oriole_sass::{Mod, Mods, Op};

/// Words of what such a loop adds.
const WORDS: usize = 2;

/// A loop to combine. It has a block in front of it, one body, and one exit.
pub(super) struct Spin {
    front: BlockId,
    body: BlockId,
    exit: BlockId,
    /// Places in the body.
    addition: usize,
    swap: usize,
    added: Added,
    /// The words of memory before the addition.
    old: [Value; WORDS],
}

/// True for a swap of 64 bits that tests.
pub(super) fn is_swap(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::ATOMS)
        && [Mod::CAST, Mod::SPIN, Mod::_64].iter().all(|&wanted| instruction.mods.has(wanted))
}

/// The addend, the same in all lanes.
enum Added {
    Value([Value; WORDS]),
    /// The product of an instruction whose addend is what was in memory.
    Product(Box<Instruction>),
}

impl Added {
    /// The addend of an instruction that adds to `old` and does nothing else.
    fn to(addition: &Instruction, old: [Value; WORDS]) -> Option<Added> {
        let is_old = |source: &&Source| pair(source) == Some(old);
        match (addition.opcode, addition.sources.as_slice()) {
            (Opcode::Pseudo(Pseudo::Add64), [one, other]) => {
                let value = if is_old(&one) { other } else { Some(one).filter(|_| is_old(&other))? };
                pair(value).map(Added::Value)
            }
            (Opcode::Sass(Op::IMAD), [_, _, addend]) if addition.mods.has(Mod::WIDE) && is_old(&addend) => {
                let mut product = addition.clone();
                product.sources[2] = Source::rz();
                Some(Added::Product(Box::new(product)))
            }
            _ => None,
        }
    }

    fn for_each_value(&self, mut visit: impl FnMut(Value)) {
        match self {
            Added::Value(value) => value.iter().copied().for_each(visit),
            Added::Product(product) => product.for_each_use(&mut visit),
        }
    }

    /// The value where the builder is.
    fn value(&self, b: &mut Builder<'_>) -> Values {
        match self {
            Added::Value(value) => value.iter().copied().collect(),
            Added::Product(product) => {
                let value = Values::from_slice(&b.pair());
                let mut product = Instruction::clone(product);
                product.destinations[0] = Destination::new(File::R, value.iter().copied());
                b.push(product);
                value
            }
        }
    }
}

fn pair(source: &Source) -> Option<[Value; WORDS]> {
    match &source.kind {
        SourceKind::Values(values) if !source.negate && !source.invert => values.as_slice().try_into().ok(),
        _ => None,
    }
}

impl Spin {
    /// The loop whose body this is.
    pub(super) fn of(known: &Known<'_>, body: BlockId) -> Option<Spin> {
        let function = known.function;
        let block = function.block(body);
        let [.., last] = block.instructions.as_slice() else { return None };
        let [one, other] = *block.successors else { return None };
        if !block.phis.is_empty() || last.guard.is_none() {
            return None;
        }
        let at = |wanted: &dyn Fn(&Instruction) -> bool| {
            let mut found = block.instructions.iter().enumerate().filter(|(_, i)| wanted(i));
            found.next().filter(|_| found.next().is_none())
        };
        let (swap_at, swap) = at(&is_swap)?;
        let [address, expected, new] = swap.sources.as_slice() else { return None };
        let (old, new) = (pair(expected)?, pair(new)?);
        let (_, load) = at(&|i| i.opcode == Opcode::Sass(Op::LDS))?;
        let (addition_at, addition) =
            at(&|i| i.destinations.iter().any(|d| *d.values == new) && i.guard.is_none())?;
        let added = Added::to(addition, old)?;
        let is_loaded = matches!(load.destinations.as_slice(), [only] if *only.values == old);
        let is_one_place = load.sources.first() == Some(address) && known.is_same(address);
        if !is_loaded || !is_one_place || load.guard.is_some() || swap.guard.is_some() {
            return None;
        }
        let (mut same, mut from_before) = (true, true);
        added.for_each_value(|value| {
            same &= known.divergence.is_uniform(value);
            let writes = |i: &Instruction| i.destinations.iter().any(|d| d.values.contains(&value));
            from_before &= !block.instructions.iter().any(writes);
        });
        if !same || !from_before {
            return None;
        }
        // The way back leads through a block of its own, which is empty, or to the body at once.
        let comes_back = |id: BlockId| {
            id == body || {
                let between = function.block(id);
                *between.successors == [body] && between.instructions.is_empty() && between.phis.is_empty()
            }
        };
        let (back, exit) = match (comes_back(one), comes_back(other)) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            _ => return None,
        };
        let front = match *known.cfg.predecessors(body) {
            [first, second] if second == back || (back == body && second == body) => first,
            [first, second] if first == back || (back == body && first == body) => second,
            _ => return None,
        };
        let before = function.block(front);
        let falls_in = *before.successors == [body]
            && before.instructions.last().is_none_or(|i| !effects::is_transfer(i));
        let is_only_way_out = *known.cfg.predecessors(exit) == [body] && function.block(exit).phis.is_empty();
        (falls_in && is_only_way_out).then_some(Spin {
            front,
            body,
            exit,
            addition: addition_at,
            swap: swap_at,
            added,
            old,
        })
    }

    /// Lets one lane swap for all.
    pub(super) fn combine(&self, function: &mut Function) {
        let origin = function.block(self.body).instructions[self.swap].origin;
        let mut b = Builder::new(function, self.front, origin);
        let vote = Votes::default().of(&mut b, None);
        let value = self.added.value(&mut b);
        let ranks = Ranks { value: &value };
        let total = ranks.total(&mut b, vote);
        self.let_leader_swap(function, vote, total);
        self.give_each_its_own(function, vote, &ranks);
    }

    fn let_leader_swap(&self, function: &mut Function, vote: Vote, total: Values) {
        // The swap's result on success: one, in as many words as there are, or a predicate.
        let results = function.block(self.body).instructions[self.swap].destinations.clone();
        let results = results.iter().flat_map(|destination| &destination.values);
        let results: Vec<File> = results.map(|&result| function.file(result)).collect();
        let origin = function.block(self.body).instructions[self.swap].origin;
        let mut b = Builder::new(function, self.front, origin);
        let mut succeeded = Values::new();
        for (at, file) in results.into_iter().enumerate() {
            let (known, one) = match file {
                File::P => (b.p(), Source::pt()),
                _ => (b.r(), Source::imm(u32::from(at == 0))),
            };
            b.mov(known, one);
            succeeded.push(known);
        }
        let instructions = &mut function.block_mut(self.body).instructions;
        let addition = &mut instructions[self.addition];
        addition.opcode = Opcode::Pseudo(Pseudo::Add64);
        addition.mods = Mods::default();
        addition.sources = [Source::values(self.old), Source::values(total)].into_iter().collect();
        let swap = &mut instructions[self.swap];
        swap.guard = Some(Guard { value: vote.leads, negated: false });
        swap.tied = succeeded;
    }

    /// Computes the old value of each lane after the loop, where something reads it.
    fn give_each_its_own(&self, function: &mut Function, vote: Vote, ranks: &Ranks<'_>) {
        let mut read = false;
        for id in function.block_ids().filter(|&id| id != self.body) {
            let block = function.block(id);
            let mut check = |value: Value| read |= self.old.contains(&value);
            block.instructions.iter().for_each(|i| i.for_each_use(&mut check));
            block.phis.iter().flat_map(|phi| phi.values()).for_each(&mut check);
        }
        if !read {
            return;
        }
        let origin = function.block(self.body).instructions[self.swap].origin;
        let (own, first) = scratch(function, origin, |b| ranks.own(b, vote, &self.old));
        let renamed = |value: &mut Value| {
            if let Some(at) = self.old.iter().position(|old| old == value) {
                *value = own[at];
            }
        };
        for id in function.block_ids().filter(|&id| id != self.body) {
            let block = function.block_mut(id);
            block.instructions.iter_mut().for_each(|i| i.for_each_use_mut(renamed));
            block.phis.iter_mut().flat_map(|phi| phi.values_mut()).for_each(renamed);
        }
        function.block_mut(self.exit).instructions.splice(0..0, first);
    }
}
