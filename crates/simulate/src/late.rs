//! Execution as slow as the control words allow. A result reaches its register when a scoreboard that covers it is
//! waited for, or when the required latency of the current reader has passed. Until then readers get the old value. A
//! program that computes the right result here does so on any hardware; one that only works on faster hardware is
//! wrong.
//!
//! It works on values and is independent of the hazard checker, which is tested with it. MMAs of warp groups and late
//! reads are not delayed.

use crate::program::{Completion, Step};
use crate::tracker_rules::read_scoreboard_tells_result;
use crate::warp::{Lanes, Warp};
use oriole_latency::{Class, Model, ResultPart, SPECIAL_STALL, completes_before_next};
use oriole_sass::{Access, Mod, Op, OperandKind, RegisterFile};

/// Cycles after which every result of fixed latency is visible.
const LONGEST: u64 = 40;

/// A register of any file.
pub(crate) type Register = (RegisterFile, u8);

/// The value of a register.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    General(Lanes),
    Uniform(u32),
    /// The lanes in which it is true.
    Predicate(u32),
    UniformPredicate(bool),
}

/// The event that makes a result visible.
#[derive(Clone, Copy)]
enum When {
    /// A wait for any of these scoreboards.
    Scoreboards(u8),
    /// Time after the issue.
    Distance { issued: u64, class: Class, part: ResultPart },
}

/// A result that is not visible yet.
struct Due {
    register: Register,
    lanes: u32,
    value: Value,
    when: When,
    queue: Completion,
}

/// The pending results of a warp, in the order of their instructions.
#[derive(Default)]
pub(crate) struct Late {
    time: u64,
    due: Vec<Due>,
}

fn value(warp: &Warp, (file, register): Register) -> Option<Value> {
    Some(match file {
        RegisterFile::General => Value::General(warp.read(register)),
        RegisterFile::Uniform => Value::Uniform(warp.read_uniform(register)),
        RegisterFile::Predicate => Value::Predicate(warp.predicates[usize::from(register)]),
        RegisterFile::UniformPredicate => {
            Value::UniformPredicate(warp.uniform_predicates >> register & 1 != 0)
        }
        RegisterFile::Barrier => return None,
    })
}

fn put(warp: &mut Warp, (_, register): Register, lanes: u32, value: Value) {
    match value {
        Value::General(values) => warp.write(register, lanes, &values),
        Value::Uniform(value) => warp.write_uniform(register, value),
        Value::Predicate(holds) => warp.write_predicate(register, lanes, holds),
        Value::UniformPredicate(holds) => warp.write_uniform_predicate(register, holds),
    }
}

/// Scoreboards that the instruction waits for, by its control word or as a `DEPBAR`.
fn waits(step: &Step) -> u8 {
    let named = step.instruction.operands.iter().filter(|_| step.instruction.op == Op::DEPBAR);
    named.fold(step.instruction.control.wait_mask, |mask, operand| match operand.kind {
        OperandKind::Scoreboard(number) => mask | 1 << number,
        OperandKind::ScoreboardSet(set) => mask | set,
        _ => mask,
    })
}

/// The lanes whose registers the instruction writes when the whole warp executes it.
fn written_lanes(step: &Step) -> u32 {
    let mods = &step.instruction.mods;
    match step.instruction.op {
        Op::LDTM if mods.has(Mod::_16dp32bit_t0_t15) => 0x0000_ffff,
        Op::LDTM if mods.has(Mod::_16dp32bit_t16_t31) => 0xffff_0000,
        _ => u32::MAX,
    }
}

impl Late {
    /// Before an instruction: makes results visible that it waits for, and those whose latency has passed for it.
    pub(crate) fn arrive(&mut self, warp: &mut Warp, model: &Model, step: &Step) {
        let (now, waits) = (self.time, waits(step));
        self.due.retain(|due| {
            let there = match due.when {
                When::Scoreboards(scoreboards) => scoreboards & waits != 0,
                When::Distance { issued, class, part } => {
                    let distance = now - issued;
                    let in_time = |access: &Access| match *access {
                        Access::Read { file, register, slot } if (file, register) == due.register => model
                            .raw(class, part, step.class, slot)
                            .is_none_or(|needed| distance >= u64::from(needed.cycles)),
                        _ => false,
                    };
                    distance >= LONGEST || step.accesses.iter().any(in_time)
                }
            };
            if there {
                put(warp, due.register, due.lanes, due.value);
            }
            !there
        });
    }

    /// Control goes to code outside the file, which takes time: results without a scoreboard are visible.
    pub(crate) fn settle(&mut self, warp: &mut Warp) {
        self.due.retain(|due| {
            let there = matches!(due.when, When::Distance { .. });
            if there {
                put(warp, due.register, due.lanes, due.value);
            }
            !there
        });
        self.time += LONGEST;
    }

    /// The old values of the registers that an instruction writes.
    pub(crate) fn before(&self, warp: &Warp, step: &Step) -> Vec<(Register, ResultPart, Value)> {
        if step.class == Class::Group {
            return Vec::new();
        }
        let mut written: Vec<(Register, ResultPart, Value)> = Vec::new();
        for access in &step.accesses {
            if let Access::Write { file, register, part } = *access
                && !written.iter().any(|known| known.0 == (file, register))
                && let Some(value) = value(warp, (file, register))
            {
                written.push(((file, register), part, value));
            }
        }
        written
    }

    /// After it: its results are pending, and the registers keep their old values. Time advances.
    pub(crate) fn hold_back(
        &mut self,
        warp: &mut Warp,
        step: &Step,
        lanes: u32,
        before: Vec<(Register, ResultPart, Value)>,
    ) {
        let lanes = lanes & written_lanes(step);
        let control = &step.instruction.control;
        let mask = |scoreboard: Option<u8>| scoreboard.map_or(0, |number| 1u8 << number);
        let set = mask(control.write_barrier) | mask(control.read_barrier);
        for due in &mut self.due {
            // A later instruction of the same unit covers the earlier ones.
            if let When::Scoreboards(scoreboards) = &mut due.when
                && step.queue.vouches_for(due.queue)
            {
                *scoreboards |= set;
            }
        }
        let issued = self.time;
        let when = |part| {
            if step.variable || control.write_barrier.is_some() {
                let read = control.read_barrier.filter(|_| read_scoreboard_tells_result(step.instruction.op));
                When::Scoreboards(mask(control.write_barrier) | mask(read))
            } else {
                When::Distance { issued, class: step.class, part }
            }
        };
        for (register, part, old) in before {
            let Some(value) = value(warp, register).filter(|_| lanes != 0) else { continue };
            self.replace(register, lanes, step.queue);
            if completes_before_next(control) {
                continue;
            }
            put(warp, register, lanes, old);
            self.due.push(Due { register, lanes, value, when: when(part), queue: step.queue });
        }
        let stall = if control.stall == 0 { SPECIAL_STALL } else { control.stall };
        self.time += u64::from(stall);
    }

    /// Results of fixed latency, and those of the same unit, are dropped where a later result overwrites them.
    fn replace(&mut self, register: Register, lanes: u32, queue: Completion) {
        for due in self.due.iter_mut().filter(|due| due.register == register) {
            if matches!(due.when, When::Distance { .. }) || due.queue == queue {
                let of_warp = matches!(due.value, Value::Uniform(_) | Value::UniformPredicate(_));
                due.lanes &= if of_warp { 0 } else { !lanes };
            }
        }
        self.due.retain(|due| due.lanes != 0);
    }
}
