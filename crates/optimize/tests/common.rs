//! Random functions for the pass tests, and the comparison of their behaviour before and after.

#[path = "../../legalize/tests/evaluator/mod.rs"]
pub mod evaluator;

use evaluator::{Outcome, World};
use oriole_ori::{
    Builder, Divergence, File, Form, Function, Guard, Instruction, MemoryInfo, Origin, Source, SourceKind,
    Space, Value, verify,
};
use oriole_sass::{Mod, Op, Symbol};
use typed_index_collections::ti_vec;

/// A small deterministic random number generator (xorshift).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % sides as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.roll(items.len())]
    }
}

/// A raw function: registers written many times, guarded writes, any control flow. Every register is written in the
/// entry; thread id, block id and constants are its inputs.
pub fn random_function(seed: u64) -> Function {
    let mut dice = Dice::new(seed);
    let mut function = Function { is_entry: true, ..Function::default() };
    let registers: Vec<Value> = (0..6).map(|i| function.new_value(File::R, Some((i, 0)))).collect();
    let predicates: Vec<Value> = (0..3).map(|i| function.new_value(File::P, Some((6 + i, 0)))).collect();
    let count = 2 + dice.roll(9);
    function.blocks = ti_vec![Default::default(); count];
    for id in function.block_ids() {
        let mut b = Builder::new(&mut function, id, Origin(id.0));
        if id.0 == 0 {
            b.s2r(registers[0], Symbol::SR_TID_X);
            b.s2r(registers[1], Symbol::SR_CTAID_X);
            for (index, &register) in registers.iter().enumerate().skip(2) {
                b.mov(register, Source::imm(index as u32));
            }
            for &predicate in &predicates {
                let (a, c) = (dice.pick(&registers), dice.roll(4) as u32);
                b.isetp(predicate, Mod::LT, true, a, c);
            }
        }
        for _ in 0..dice.roll(5) {
            let guard = (dice.roll(4) == 0)
                .then(|| Guard { value: dice.pick(&predicates), negated: dice.roll(2) == 0 });
            b.set_guard(guard);
            let (d, x, y, z) =
                (dice.pick(&registers), dice.pick(&registers), dice.pick(&registers), dice.pick(&registers));
            match dice.roll(8) {
                0 => b.iadd3(d, x, y, z),
                1 => b.iadd3(d, x, 1u32, Source::rz()),
                2 => b.lop3(d, x, y, z, 0x96),
                3 => b.sel(d, x, y, dice.pick(&predicates)),
                4 => b.isetp(dice.pick(&predicates), dice.pick(&[Mod::LT, Mod::EQ, Mod::GE]), true, x, y),
                5 => b.isetp(dice.pick(&predicates), Mod::LT, false, x, dice.roll(9) as u32),
                6 => b.mov(d, x),
                _ => store(&mut b, dice.roll(64) as i32, x),
            }
        }
        b.set_guard(None);
        // Mostly forward and near; how often back differs between functions.
        let target = |dice: &mut Dice| {
            let here = usize::from(id);
            let back = dice.roll(100) < 12 * (seed as usize % 4) || here + 1 >= count;
            let to = if back {
                1 + dice.roll(here.max(1))
            } else {
                here + 1 + dice.roll((count - here - 1).min(3))
            };
            oriole_ori::BlockId::from(to)
        };
        match if usize::from(id) + 1 == count { 0 } else { dice.roll(10) } {
            0 => b.exit(),
            1 | 2 => {
                let to = target(&mut dice);
                b.jump(to);
            }
            3 => {
                let guard = Guard { value: dice.pick(&predicates), negated: dice.roll(2) == 0 };
                b.op(Op::EXIT).guarded(guard).emit();
                let to = target(&mut dice);
                b.jump(to);
            }
            _ => {
                let (to, other) = (target(&mut dice), target(&mut dice));
                let guard = Guard { value: dice.pick(&predicates), negated: dice.roll(2) == 0 };
                b.branch(guard, to, other);
            }
        }
        // Results must be observable.
        if function.block(id).successors.is_empty() {
            let exit = function.block_mut(id).instructions.pop().expect("the exit");
            let mut b = Builder::new(&mut function, id, Origin(id.0));
            for (index, &register) in registers.iter().enumerate() {
                store(&mut b, 0x100 + index as i32, register);
            }
            b.push(exit);
        }
    }
    function
}

pub fn store(b: &mut Builder<'_>, offset: i32, value: Value) {
    let address = SourceKind::Address(Box::new(oriole_ori::Address { offset, ..Default::default() }));
    b.op(Op::STG)
        .from(address)
        .from(value)
        .memory(MemoryInfo { space: Space::Global, reads: false, writes: true, ordered: false, object: None })
        .emit();
}

pub fn world(schedule: u64) -> World {
    World { lanes: 4, schedule, fuel: 6000, ..World::default() }
}

/// Two runs must agree as far as both went.
pub fn assert_same(before: &Outcome, after: &Outcome, what: &str) {
    for (lane, (old, new)) in before.stores.iter().zip(&after.stores).enumerate() {
        let common = old.len().min(new.len());
        assert_eq!(old[..common], new[..common], "{what}: lane {lane}");
        if before.ended && after.ended {
            assert_eq!(old.len(), new.len(), "{what}: lane {lane}");
        }
    }
    assert!(!before.ended || after.ended, "{what}: the function ended before and does not now");
}

pub fn assert_verified(function: &Function, form: Form, what: &str) {
    if let Err(violations) = verify(function, form) {
        let text: Vec<String> = violations.iter().map(|v| v.to_string()).collect();
        panic!("{what}:\n{}\n{function}", text.join("\n"));
    }
}

/// A world that also checks the results of divergence analysis.
pub fn checking_world(function: &Function, schedule: u64) -> World {
    let graph = function.graph();
    let _cfg = graph.cfg();
    let divergence = Divergence::new(function, &graph);
    World {
        uniform_blocks: Some(function.block_ids().map(|b| divergence.is_uniform_block(b)).collect()),
        uniform_values: Some(function.values.keys().map(|v| divergence.is_uniform(v)).collect()),
        ..world(schedule)
    }
}

/// Counts instructions of an opcode.
pub fn count(function: &Function, test: impl Fn(&Instruction) -> bool) -> usize {
    function.blocks.iter().flat_map(|b| &b.instructions).filter(|i| test(i)).count()
}
