//! An evaluator of Ori for tests: runs the lanes of one warp through a function, with convergence barriers.
//!
//! It follows the definition of the operations, independent of any pass. It panics on unknown operations, so that no
//! test passes by luck. Floating-point operations use soft floats; `MUFU` gives results that are off by a chosen
//! error, so that refinements are tested against the worst case of the hardware.

pub mod float;

use oriole_ori::{
    BlockId, ConstBase, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Table, Value,
    exits::is_bare_exit,
};
use oriole_sass::{Mod, Op, Symbol};
use std::collections::BTreeMap;
use typed_index_collections::{TiVec, ti_vec};

/// External inputs of the function, and choices where the hardware has freedom.
#[derive(Clone)]
pub struct World {
    /// Words of constant bank 0 by byte offset.
    pub constants: BTreeMap<i32, u32>,
    /// Error of `MUFU` as a multiple of its bound, -1, 0 or 1: ulps for f32, 16 ulps for f64 high words.
    pub mufu_error: i32,
    /// Arguments of the function.
    pub arguments: Vec<u32>,
    /// The code of the routines that it calls.
    pub routine: fn(&str) -> &'static Function,
    /// Chooses which group of lanes runs next.
    pub schedule: u64,
    /// Instructions (over all lanes) before the run is stopped.
    pub fuel: usize,
    /// Lanes of the warp.
    pub lanes: usize,
    /// For each block whether the whole warp must execute it; `None` checks nothing.
    pub uniform_blocks: Option<TiVec<BlockId, bool>>,
    /// For each value whether all lanes must have the same; `None` checks nothing.
    pub uniform_values: Option<TiVec<Value, bool>>,
}

impl Default for World {
    fn default() -> World {
        World {
            constants: BTreeMap::new(),
            mufu_error: 0,
            arguments: Vec::new(),
            routine: |name| panic!("no routine {name}"),
            schedule: 1,
            fuel: 100_000,
            lanes: 1,
            uniform_blocks: None,
            uniform_values: None,
        }
    }
}

/// Result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Stores of each lane in order: address, word.
    pub stores: Vec<Vec<(u64, u32)>>,
    /// Words that a `Return` gave, for each lane.
    pub returned: Vec<Vec<u32>>,
    /// True if every lane ended.
    pub ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Waiting(Value),
    Ended,
}

struct Lane {
    values: TiVec<Value, u32>,
    block: BlockId,
    index: usize,
    state: State,
    stores: Vec<(u64, u32)>,
    returned: Vec<u32>,
    /// Lanes of one convoy run together; convoys part at branches and join at barriers only.
    convoy: u32,
}

/// Runs the function.
pub fn run(function: &Function, world: &World) -> Outcome {
    let mut machine = Machine {
        function,
        world: world.clone(),
        lanes: (0..world.lanes)
            .map(|lane| Lane {
                values: ti_vec![0xdead_0000 + lane as u32; function.values.len()],
                block: BlockId(0),
                index: 0,
                state: State::Running,
                stores: Vec::new(),
                returned: Vec::new(),
                convoy: 0,
            })
            .collect(),
        barriers: BTreeMap::new(),
        convoys: 0,
    };
    machine.run()
}

struct Machine<'a> {
    function: &'a Function,
    world: World,
    lanes: Vec<Lane>,
    /// Lanes that take part in each convergence barrier.
    barriers: BTreeMap<Value, Vec<bool>>,
    convoys: u32,
}

impl Machine<'_> {
    fn run(&mut self) -> Outcome {
        let mut fuel = self.world.fuel;
        let mut seed = self.world.schedule | 1;
        while fuel > 0 {
            // A group is the set of running lanes at one place; divergent lanes reconverge only at a barrier, which
            // is stricter than the hardware.
            let mut groups: Vec<Vec<usize>> = Vec::new();
            for lane in 0..self.lanes.len() {
                if self.lanes[lane].state != State::Running {
                    continue;
                }
                let place = |l: &Lane| (l.block, l.index, l.convoy);
                match groups.iter_mut().find(|g| place(&self.lanes[g[0]]) == place(&self.lanes[lane])) {
                    Some(group) => group.push(lane),
                    None => groups.push(vec![lane]),
                }
            }
            if groups.is_empty() {
                break;
            }
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let group = groups.swap_remove((seed % groups.len() as u64) as usize);
            fuel = fuel.saturating_sub(group.len());
            self.step(&group);
            self.part(&group);
            self.release();
        }
        let waiting = self.lanes.iter().any(|l| matches!(l.state, State::Waiting(_)));
        let running = self.lanes.iter().any(|l| l.state == State::Running);
        assert!(running || !waiting, "lanes wait at a barrier forever");
        Outcome {
            stores: self.lanes.iter_mut().map(|l| std::mem::take(&mut l.stores)).collect(),
            returned: self.lanes.iter_mut().map(|l| std::mem::take(&mut l.returned)).collect(),
            ended: self.lanes.iter().all(|l| l.state == State::Ended),
        }
    }

    /// Lanes that a step took to different places are different convoys from now on.
    fn part(&mut self, group: &[usize]) {
        let place = |lane: &Lane| (lane.block, lane.index);
        let mut places = vec![(place(&self.lanes[group[0]]), self.lanes[group[0]].convoy)];
        for &lane in &group[1..] {
            let here = place(&self.lanes[lane]);
            let convoy = match places.iter().find(|(known, _)| *known == here) {
                Some((_, convoy)) => *convoy,
                None => {
                    self.convoys += 1;
                    places.push((here, self.convoys));
                    self.convoys
                }
            };
            self.lanes[lane].convoy = convoy;
        }
    }

    /// Releases barriers whose lanes have all arrived or ended.
    fn release(&mut self) {
        let mut freed = Vec::new();
        for (&barrier, members) in &self.barriers {
            let complete = members.iter().enumerate().all(|(lane, &member)| {
                !member
                    || matches!(self.lanes[lane].state, State::Ended)
                    || self.lanes[lane].state == State::Waiting(barrier)
            });
            if complete {
                freed.push(barrier);
            }
        }
        for barrier in freed {
            self.barriers.remove(&barrier);
            self.convoys += 1;
            for lane in &mut self.lanes {
                if lane.state == State::Waiting(barrier) {
                    lane.state = State::Running;
                    lane.convoy = self.convoys;
                }
            }
        }
    }

    fn go(&mut self, lane: usize, to: BlockId) {
        let from = self.lanes[lane].block;
        let block = self.function.block(to);
        let mut merged = Vec::new();
        for phi in &block.phis {
            let (_, source) = phi
                .sources
                .iter()
                .find(|(p, _)| *p == from)
                .expect("a phi has a source for each predecessor");
            merged.push((phi.destination, self.read(lane, &source.source(), 0)));
        }
        let lane = &mut self.lanes[lane];
        for (value, word) in merged {
            lane.values[value] = word;
        }
        lane.block = to;
        lane.index = 0;
    }

    fn step(&mut self, group: &[usize]) {
        let function = self.function;
        let (id, index) = (self.lanes[group[0]].block, self.lanes[group[0]].index);
        if let Some(uniform) = &self.world.uniform_blocks
            && uniform[id]
            && !is_bare_exit(function, id)
            // Lanes reconverge by waiting.
            && function.block(id).instructions.get(index).is_some_and(|i| i.opcode != Op::BSYNC.into())
            // After a branch of the block only its other side remains.
            && !function.block(id).instructions[..index].iter().any(|i| i.opcode == Op::BRA.into())
        {
            // A lane that has passed its branches has only to fall through to the exit.
            let ends = |block: BlockId, index: usize| {
                let rest = &function.block(block).instructions[index..];
                let next = function.block(block).successors.last();
                is_bare_exit(function, block)
                    || index > 0 && rest.is_empty() && next.is_some_and(|&to| is_bare_exit(function, to))
            };
            for (lane, state) in self.lanes.iter().enumerate() {
                let elsewhere = !group.contains(&lane) && state.state != State::Ended;
                assert!(
                    !elsewhere || ends(state.block, state.index),
                    "lane {lane} is at {} while others are in uniform {id}",
                    state.block
                );
            }
        }
        let block = function.block(id);
        let Some(instruction) = block.instructions.get(index) else {
            let next = *block.successors.last().expect("a block that falls through has a successor");
            group.iter().for_each(|&lane| self.go(lane, next));
            return;
        };
        // Barriers concern the group.
        match instruction.opcode {
            Opcode::Sass(Op::BSSY) => {
                let mut members = vec![false; self.lanes.len()];
                group.iter().for_each(|&lane| members[lane] = true);
                let barrier = instruction.destinations[0].values[0];
                let old = self.barriers.insert(barrier, members);
                assert!(old.is_none(), "barrier {barrier:?} is set up while it is in use");
                group.iter().for_each(|&lane| self.lanes[lane].index += 1);
                return;
            }
            Opcode::Sass(Op::BREAK) => {
                let SourceKind::Values(values) = &instruction.sources[0].kind else {
                    panic!("BREAK of no barrier")
                };
                for &lane in group {
                    let members = self.barriers.get_mut(&values[0]).expect("a barrier that is set up");
                    assert!(
                        std::mem::replace(&mut members[lane], false),
                        "lane {lane} leaves a barrier twice"
                    );
                    self.lanes[lane].index += 1;
                }
                return;
            }
            Opcode::Sass(Op::BSYNC) => {
                let SourceKind::Values(values) = &instruction.sources[0].kind else {
                    panic!("BSYNC of no barrier")
                };
                for &lane in group {
                    let member = self.barriers.get(&values[0]).is_some_and(|members| members[lane]);
                    assert!(member, "lane {lane} waits at a barrier in {id} that it does not belong to");
                    self.lanes[lane].index += 1;
                    self.lanes[lane].state = State::Waiting(values[0]);
                }
                return;
            }
            _ => {}
        }
        for &lane in group {
            self.execute(lane, instruction);
        }
        if let Some(uniform) = &self.world.uniform_values {
            instruction.for_each_definition(|value| {
                if uniform[value] {
                    let first = self.lanes[group[0]].values[value];
                    for &lane in group {
                        assert_eq!(self.lanes[lane].values[value], first, "{value:?} differs in {id}");
                    }
                }
            });
        }
    }

    fn execute(&mut self, lane: usize, instruction: &Instruction) {
        let function = self.function;
        if let Some(guard) = instruction.guard {
            let holds = (self.lanes[lane].values[guard.value] & 1 != 0) != guard.negated;
            if !holds {
                let mut tied = instruction.tied.clone().into_iter();
                if !instruction.tied.is_empty() {
                    let mut writes = Vec::new();
                    instruction.for_each_definition(|d| {
                        writes.push((d, tied.next().expect("one old value for each")))
                    });
                    for (d, old) in writes {
                        self.lanes[lane].values[d] = self.lanes[lane].values[old];
                    }
                }
                self.lanes[lane].index += 1;
                return;
            }
        }
        let source = |i: usize| &instruction.sources[i];
        match instruction.opcode {
            Opcode::Sass(Op::BRA) => {
                let SourceKind::Block(target) =
                    instruction.sources.last().expect("a branch has a target").kind
                else {
                    panic!("a branch without a block")
                };
                return self.go(lane, target);
            }
            Opcode::Sass(Op::BRX) => {
                let target = self.read(lane, source(0), 0);
                return self.go(lane, BlockId(target));
            }
            Opcode::Sass(Op::EXIT) => {
                self.lanes[lane].state = State::Ended;
                return;
            }
            Opcode::Pseudo(Pseudo::Return) => {
                self.lanes[lane].returned = self.words(lane, instruction);
                self.lanes[lane].state = State::Ended;
                return;
            }
            Opcode::Pseudo(Pseudo::Parameters) => {
                let words = self.world.arguments.clone();
                self.write_all(lane, instruction, &words);
            }
            Opcode::Pseudo(Pseudo::CallHelper) => {
                let callee =
                    instruction.call.as_ref().and_then(|call| call.callee).expect("a routine has a name");
                let routine = (self.world.routine)(&function.symbols[callee].name);
                let world = World {
                    arguments: self.words(lane, instruction),
                    mufu_error: self.world.mufu_error,
                    ..World::default()
                };
                let words = run(routine, &world).returned.swap_remove(0);
                self.write_all(lane, instruction, &words);
            }
            Opcode::Sass(Op::STG | Op::STS | Op::ST) => {
                let SourceKind::Address(address) = &source(0).kind else {
                    panic!("a store needs an address")
                };
                let oriole_ori::Address { base, offset, .. } = &**address;
                let mut address = i64::from(*offset) as u64;
                for (place, value) in base.iter().enumerate() {
                    address =
                        address.wrapping_add(u64::from(self.lanes[lane].values[*value]) << (32 * place));
                }
                let width = match &source(1).kind {
                    SourceKind::Values(values) => values.len(),
                    _ => 1,
                };
                for part in 0..width {
                    let word = self.read(lane, source(1), part);
                    self.lanes[lane].stores.push((address.wrapping_add(4 * part as u64), word));
                }
            }
            Opcode::Sass(Op::LDC | Op::ULDC | Op::LDCU) => {
                let width = instruction.destinations[0].values.len();
                for part in 0..width {
                    let word = self.read(lane, source(0), part);
                    let value = instruction.destinations[0].values[part];
                    self.lanes[lane].values[value] = word;
                }
            }
            Opcode::Sass(Op::NOP | Op::WARPSYNC) | Opcode::Pseudo(Pseudo::Undefined) => {}
            Opcode::Sass(Op::S2R | Op::S2UR) => {
                let word = match source(0).kind {
                    SourceKind::Symbol(Symbol::SR_TID_X) => lane as u32,
                    SourceKind::Symbol(Symbol::SR_CTAID_X) => 5,
                    ref other => panic!("special register {other:?}"),
                };
                self.write(lane, instruction, 0, 0, word);
            }
            Opcode::Pseudo(Pseudo::ParallelCopy) => {
                let words: Vec<u32> = instruction.sources.iter().map(|s| self.read(lane, s, 0)).collect();
                for (index, word) in words.into_iter().enumerate() {
                    self.write(lane, instruction, index, 0, word);
                }
            }
            _ => {
                let world_error = self.world.mufu_error;
                let results =
                    compute(instruction, &|index, part| self.read(lane, source(index), part), world_error);
                for (destination, part, word) in results {
                    self.write(lane, instruction, destination, part, word);
                }
            }
        }
        let _ = function;
        self.lanes[lane].index += 1;
    }

    /// All words of all sources.
    fn words(&self, lane: usize, instruction: &Instruction) -> Vec<u32> {
        let width = |source: &Source| match &source.kind {
            SourceKind::Values(values) => values.len(),
            _ => 1,
        };
        let parts = instruction.sources.iter().flat_map(|s| (0..width(s)).map(move |part| (s, part)));
        parts.map(|(source, part)| self.read(lane, source, part)).collect()
    }

    /// Words for all results.
    fn write_all(&mut self, lane: usize, instruction: &Instruction, words: &[u32]) {
        let mut words = words.iter();
        instruction.for_each_definition(|value| {
            self.lanes[lane].values[value] = *words.next().expect("a word for each result");
        });
    }

    fn write(&mut self, lane: usize, instruction: &Instruction, destination: usize, part: usize, word: u32) {
        if let Some(&value) = instruction.destinations.get(destination).and_then(|d| d.values.get(part)) {
            self.lanes[lane].values[value] = word;
        }
    }

    /// One word of a source with its complement; negation and magnitude are left to the operation, as they depend on
    /// the type.
    fn read(&self, lane: usize, source: &Source, part: usize) -> u32 {
        let values = &self.lanes[lane].values;
        match &source.kind {
            SourceKind::Values(v) => values[v[part]],
            SourceKind::Zero(_) => 0,
            SourceKind::True(_) => 1,
            SourceKind::Imm(bits) => *bits,
            SourceKind::Literal(number) => *number as u32,
            SourceKind::Const { bank: 0, base: ConstBase::Bank, offset } => {
                let offset = offset + 4 * part as i32;
                *self.world.constants.get(&offset).unwrap_or_else(|| panic!("no constant at {offset:#x}"))
            }
            SourceKind::Const { base: ConstBase::Table(table), offset, .. } => {
                self.table_word(*table, (*offset as u32) / 4 + part as u32)
            }
            SourceKind::ConstIndexed(place) => match place.base {
                ConstBase::Table(table) => {
                    let at = values[place.index] + place.offset as u32;
                    self.table_word(table, at / 4 + part as u32)
                }
                base => panic!("cannot read {base:?} by an index"),
            },
            other => panic!("cannot read {other:?}"),
        }
    }

    fn table_word(&self, table: u32, index: u32) -> u32 {
        match &self.function.tables[table as usize] {
            Table::Words(words) => words[index as usize],
            Table::Targets(blocks) => blocks[index as usize].0,
            Table::Functions => panic!("only the layout knows where functions are"),
        }
    }
}

type Results = Vec<(usize, usize, u32)>;

/// The results of a lane-wise operation: destination, component, word.
fn compute(instruction: &Instruction, raw: &dyn Fn(usize, usize) -> u32, mufu_error: i32) -> Results {
    let mods = &instruction.mods;
    let has = |m: Mod| mods.has(m);
    let src = |i: usize| &instruction.sources[i];
    // Integer source with sign and complement.
    let int = |i: usize| {
        let mut word = raw(i, 0);
        if src(i).invert {
            word = !word;
        }
        if src(i).absolute {
            word = (word as i32).unsigned_abs();
        }
        if src(i).negate {
            word = word.wrapping_neg();
        }
        word
    };
    let wide = |i: usize| {
        let high = match &src(i).kind {
            SourceKind::Zero(_) => 0,
            // An integer immediate of a 64-bit operation is sign-extended.
            SourceKind::Imm(bits) => ((*bits as i32) >> 31) as u32,
            _ => raw(i, 1),
        };
        let mut word = u64::from(raw(i, 0)) | u64::from(high) << 32;
        if src(i).invert {
            word = !word;
        }
        if src(i).negate {
            word = word.wrapping_neg();
        }
        word
    };
    let pred = |i: usize| match instruction.sources.get(i) {
        Some(source) => (raw(i, 0) & 1 != 0) != source.invert,
        None => true,
    };
    let pair = |d: usize, word: u64| vec![(d, 0, word as u32), (d, 1, (word >> 32) as u32)];
    match instruction.opcode {
        Opcode::Sass(op) => match op {
            Op::MOV | Op::UMOV => vec![(0, 0, int(0))],
            Op::SEL if has(Mod::_64) => pair(0, if pred(2) { wide(0) } else { wide(1) }),
            Op::IADD => pair(0, wide(0).wrapping_add(wide(1))),
            Op::IMNMX if has(Mod::U64) || has(Mod::S64) => {
                let (a, b) = (wide(0), wide(1));
                let less = if has(Mod::S64) { (a as i64) < b as i64 } else { a < b };
                pair(2, if less == pred(2) { a } else { b })
            }
            Op::SEL => vec![(0, 0, if pred(2) { int(0) } else { int(1) })],
            Op::IADD3 | Op::UIADD3 => {
                let carries_in: u64 = if has(Mod::X) { u64::from(pred(3)) + u64::from(pred(4)) } else { 0 };
                let mut total = carries_in;
                let mut carry = 0;
                for i in 0..3 {
                    let mut word = u64::from(raw(i, 0));
                    if src(i).invert {
                        word ^= 0xffff_ffff;
                    }
                    if src(i).negate {
                        // The carry of a subtraction is that of adding the complement and one.
                        word ^= 0xffff_ffff;
                        total += 1;
                    }
                    total += word;
                }
                carry += total >> 32;
                let mut results = vec![(0, 0, total as u32)];
                results.push((1, 0, u32::from(carry >= 1)));
                results.push((2, 0, u32::from(carry >= 2)));
                results
            }
            Op::LOP3 | Op::ULOP3 => {
                let (a, b, c, table) = (int(0), int(1), int(2), raw(3, 0));
                let word = lut(a, b, c, table);
                // `LOP3` lists a predicate result first if it has one.
                let shift = usize::from(instruction.destinations[0].file == oriole_ori::File::P);
                let nonzero = word != 0 || pred(4);
                let mut results = vec![(shift, 0, word)];
                if shift == 1 {
                    results.push((0, 0, u32::from(nonzero)));
                }
                results
            }
            Op::PLOP3 => {
                let bits = |i: usize| if pred(i) { u32::MAX } else { 0 };
                let word = lut(bits(0), bits(1), bits(2), raw(3, 0));
                let second = lut(bits(0), bits(1), bits(2), raw(4, 0));
                vec![(0, 0, word & 1), (1, 0, second & 1)]
            }
            Op::SHF | Op::USHF => {
                let (low, amount, high) = (int(0), int(1), int(2));
                let both = u64::from(low) | u64::from(high) << 32;
                let is64 = has(Mod::U64) || has(Mod::S64);
                let limit = if is64 { 64 } else { 32 };
                let amount = if has(Mod::W) { amount % limit } else { amount.min(limit) };
                let word = if has(Mod::L) {
                    let shifted = if amount >= 64 { 0 } else { both << amount };
                    if has(Mod::HI) {
                        (shifted >> 32) as u32
                    } else if is64 {
                        shifted as u32
                    } else {
                        // Without HI a left shift of 32 bits shifts the low word.
                        if amount >= 32 { 0 } else { low << amount }
                    }
                } else {
                    let signed = has(Mod::S64) || has(Mod::S32);
                    if has(Mod::HI) {
                        // The high word shifted, zeros or signs coming in.
                        if signed {
                            ((high as i32) >> amount.min(31)) as u32
                        } else if amount >= 32 {
                            0
                        } else {
                            high >> amount
                        }
                    } else if signed {
                        ((both as i64) >> amount.min(63)) as u32
                    } else if amount >= 64 {
                        0
                    } else {
                        (both >> amount) as u32
                    }
                };
                vec![(0, 0, word)]
            }
            Op::ISETP => {
                let order = if has(Mod::U64) {
                    wide(0).cmp(&wide(1))
                } else if has(Mod::S64) {
                    (wide(0) as i64).cmp(&(wide(1) as i64))
                } else if has(Mod::U32) {
                    int(0).cmp(&int(1))
                } else {
                    (int(0) as i32).cmp(&(int(1) as i32))
                };
                let holds = compare(mods, order);
                let result = if has(Mod::EX) {
                    use std::cmp::Ordering::Equal;
                    let low = pred(3);
                    let strict = if has(Mod::EQ) {
                        false
                    } else if has(Mod::NE) {
                        order != Equal
                    } else if has(Mod::LT) || has(Mod::LE) {
                        order.is_lt()
                    } else {
                        order.is_gt()
                    };
                    strict || (order == Equal && low)
                } else {
                    holds
                };
                let other = pred(2);
                let joined = if has(Mod::OR) {
                    (result || other, !result || other)
                } else if has(Mod::XOR) {
                    (result != other, result == other)
                } else {
                    (result && other, !result && other)
                };
                vec![(0, 0, u32::from(joined.0)), (1, 0, u32::from(joined.1))]
            }
            Op::IMNMX | Op::VIMNMX => {
                let (a, b) = (int(0), int(1));
                let less = if has(Mod::U32) { a < b } else { (a as i32) < (b as i32) };
                vec![(0, 0, if less == pred(2) { a } else { b })]
            }
            Op::IMAD | Op::UIMAD => {
                let unsigned = has(Mod::U32);
                let (mut a, b) = (raw(0, 0), raw(1, 0));
                if src(0).negate {
                    a = a.wrapping_neg();
                }
                let product = if unsigned {
                    u64::from(a) * u64::from(b)
                } else {
                    (i64::from(a as i32) * i64::from(b as i32)) as u64
                };
                let carry_in = |i: usize| u128::from(has(Mod::X) && pred(i));
                if has(Mod::WIDE) {
                    let total = u128::from(product) + u128::from(wide(2)) + carry_in(3);
                    let mut results = pair(0, total as u64);
                    results.push((1, 0, (total >> 64) as u32 & 1));
                    results
                } else if has(Mod::HI) {
                    vec![(0, 0, (product.wrapping_add(wide(2)) >> 32) as u32)]
                } else {
                    let mut c = raw(2, 0);
                    if src(2).invert {
                        c = !c;
                    }
                    if src(2).negate {
                        c = c.wrapping_neg();
                    }
                    vec![(0, 0, (product as u32).wrapping_add(c).wrapping_add(carry_in(3) as u32))]
                }
            }
            Op::LEA => {
                // `LEA.HI` adds to the upper word of the shifted pair, with `X` also a carry.
                let high = has(Mod::HI);
                let (a, b) = (int(0), int(1));
                let (top, amount) = if high { (raw(2, 0), raw(3, 0)) } else { (0, raw(2, 0)) };
                let shifted = (u64::from(top) << 32 | u64::from(a)) << amount;
                let part = if high { (shifted >> 32) as u32 } else { shifted as u32 };
                let carry = has(Mod::X) && pred(if high { 4 } else { 3 });
                let total = u64::from(part) + u64::from(b) + u64::from(carry);
                vec![(0, 0, total as u32), (1, 0, (total >> 32) as u32)]
            }
            Op::VIADD => vec![(0, 0, int(0).wrapping_add(int(1)))],
            Op::IABS => vec![(0, 0, (int(0) as i32).unsigned_abs())],
            Op::POPC => vec![(0, 0, int(0).count_ones())],
            Op::FLO => {
                let word = int(0);
                let word = if has(Mod::U32) || word as i32 >= 0 { word } else { !word };
                let place = if word == 0 {
                    u32::MAX
                } else if has(Mod::SH) {
                    word.leading_zeros()
                } else {
                    31 - word.leading_zeros()
                };
                vec![(0, 0, place)]
            }
            Op::PRMT => {
                let bytes: Vec<u8> = int(0).to_le_bytes().into_iter().chain(int(2).to_le_bytes()).collect();
                let selector = int(1);
                let mut word = 0;
                for place in 0..4 {
                    let nibble = (selector >> (4 * place)) & 15;
                    let mut byte = bytes[(nibble & 7) as usize];
                    if nibble & 8 != 0 {
                        byte = ((byte as i8) >> 7) as u8;
                    }
                    word |= u32::from(byte) << (8 * place);
                }
                vec![(0, 0, word)]
            }
            _ => float::compute(op, instruction, raw, mufu_error),
        },
        Opcode::Pseudo(pseudo) => match pseudo {
            Pseudo::Copy => {
                let word =
                    if matches!(instruction.destinations[0].file, oriole_ori::File::P | oriole_ori::File::UP)
                    {
                        u32::from(pred(0))
                    } else {
                        int(0)
                    };
                vec![(0, 0, word)]
            }
            Pseudo::Add64 => pair(0, wide(0).wrapping_add(wide(1))),
            Pseudo::Mul64 => pair(0, wide(0).wrapping_mul(wide(1))),
            Pseudo::MulHi64 => {
                let (a, b) = (wide(0), wide(1));
                let high = if has(Mod::S64) {
                    ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
                } else {
                    ((u128::from(a) * u128::from(b)) >> 64) as u64
                };
                pair(0, high)
            }
            Pseudo::Shl64 => pair(0, if int(1) >= 64 { 0 } else { wide(0) << int(1) }),
            Pseudo::Shr64 => {
                let word = if has(Mod::S64) {
                    ((wide(0) as i64) >> int(1).min(63)) as u64
                } else if int(1) >= 64 {
                    0
                } else {
                    wide(0) >> int(1)
                };
                pair(0, word)
            }
            Pseudo::SetPredicate64 => {
                let (a, b) = (wide(0), wide(1));
                let order = if has(Mod::U64) { a.cmp(&b) } else { (a as i64).cmp(&(b as i64)) };
                let holds = compare(mods, order);
                vec![(0, 0, u32::from(holds))]
            }
            Pseudo::Select64 => pair(0, if pred(2) { wide(0) } else { wide(1) }),
            Pseudo::Logic64 => {
                let (a, b, c) = (wide(0), wide(1), wide(2));
                let table = raw(3, 0);
                let high = lut((a >> 32) as u32, (b >> 32) as u32, (c >> 32) as u32, table);
                vec![(0, 0, lut(a as u32, b as u32, c as u32, table)), (0, 1, high)]
            }
            Pseudo::Min64 | Pseudo::Max64 => {
                let (a, b) = (wide(0), wide(1));
                let less = if has(Mod::S64) { (a as i64) < (b as i64) } else { a < b };
                pair(0, if less == (pseudo == Pseudo::Min64) { a } else { b })
            }
            Pseudo::Divide | Pseudo::Remainder => {
                let rest = pseudo == Pseudo::Remainder;
                if has(Mod::U64) || has(Mod::S64) {
                    let (a, b) = (wide(0), wide(1));
                    let word = match (has(Mod::S64), rest) {
                        (false, false) => a.checked_div(b).unwrap_or(u64::MAX),
                        (false, true) => a.checked_rem(b).unwrap_or(a),
                        (true, false) => (a as i64).wrapping_div(b as i64) as u64,
                        (true, true) => (a as i64).wrapping_rem(b as i64) as u64,
                    };
                    pair(0, word)
                } else {
                    let (a, b) = (int(0), int(1));
                    let word = match (has(Mod::S32), rest) {
                        (false, false) => a.checked_div(b).unwrap_or(u32::MAX),
                        (false, true) => a.checked_rem(b).unwrap_or(a),
                        (true, false) => (a as i32).wrapping_div(b as i32) as u32,
                        (true, true) => (a as i32).wrapping_rem(b as i32) as u32,
                    };
                    vec![(0, 0, word)]
                }
            }
            other => panic!("no meaning for {other:?}"),
        },
    }
}

/// Truth table of three inputs, bit 4a+2b+c.
pub fn lut(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut word = 0;
    for entry in 0..8 {
        if table & (1 << entry) != 0 {
            let side = |word: u32, bit: u32| if entry & bit != 0 { word } else { !word };
            word |= side(a, 4) & side(b, 2) & side(c, 1);
        }
    }
    word
}

fn compare(mods: &oriole_sass::Mods, order: std::cmp::Ordering) -> bool {
    if mods.has(Mod::LT) {
        order.is_lt()
    } else if mods.has(Mod::LE) {
        order.is_le()
    } else if mods.has(Mod::GT) {
        order.is_gt()
    } else if mods.has(Mod::GE) {
        order.is_ge()
    } else if mods.has(Mod::EQ) {
        order.is_eq()
    } else if mods.has(Mod::NE) {
        order.is_ne()
    } else {
        panic!("no comparison in {mods:?}")
    }
}
