//! Facts that the replay has of each instruction of the code: units, latency, control fields, and what it does to time. Facts
//! about opcodes come from `sass` and `latency`; no state of a run may enter.

use crate::parameters::Parameters;
use crate::remedy::{Change, Changes};
use oriole_latency::{
    CachedRead, Class, Model, SPECIAL_STALL, UNITS, Unit, completes_before_next, counted_scoreboard, waits,
};
use oriole_sass::info::{Effect, Queue};
use oriole_sass::{Mod, Op, OperandKind};
use oriole_simulate::Described;

/// Cycles for which 32-bit floating-point arithmetic keeps its unit busy.
const QUICK: u8 = 2;

/// The effect of an instruction on time, besides keeping units busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Its result comes after a fixed latency, or a variable one of its unit.
    Plain,
    /// It accesses memory, as its requests say.
    Memory,
    /// It copies from global to shared memory; a group signals its completion.
    Copy,
    /// It closes a group of copies.
    CloseGroup,
    /// An asynchronous matrix multiply.
    Product,
    /// It waits until no more than this many setters of a scoreboard are pending.
    WaitFor {
        /// The scoreboard; `None` for groups of matrix multiplies.
        scoreboard: Option<u8>,
        /// How many may be pending.
        left: u8,
    },
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Offset in bytes.
    pub address: u32,
    /// Mnemonic and modifiers.
    pub text: String,
    pub kind: Kind,
    /// Cycles for which it keeps each unit of its quarter busy.
    pub units: [u8; UNITS],
    /// Cycles for which it keeps the 64-bit floating-point unit of the SM busy.
    pub double: u64,
    /// Passes through the unit of loads and stores that are not accesses: shuffles.
    pub passes: u32,
    /// Cycles until a result that a scoreboard reports is there.
    pub latency: u64,
    /// Results of its unit come in order: which one.
    pub queue: Queue,
    pub stall: u64,
    /// It holds back the next instruction until it is complete.
    pub completes: bool,
    pub yields: bool,
    pub write_barrier: Option<u8>,
    pub read_barrier: Option<u8>,
    /// Scoreboards that it waits for, bit n for SBn.
    pub waits: u8,
    pub sources: Vec<CachedRead>,
    /// It goes past L1.
    pub bypasses: bool,
    /// It is replayed with these changes.
    pub changes: Changes,
}

/// The instruction as text: mnemonic and modifiers.
fn text(step: &Described) -> String {
    let mut text = step.instruction.op.name().to_string();
    for modifier in step.instruction.mods.iter() {
        text.push('.');
        text.push_str(modifier.spelling());
    }
    text
}

fn kind(step: &Described) -> Kind {
    let instruction = &step.instruction;
    match instruction.op {
        Op::LDGSTS => return Kind::Copy,
        Op::LDGDEPBAR | Op::UTMACMDFLUSH => return Kind::CloseGroup,
        _ => {}
    }
    let counts = instruction.mods.has(Mod::LE);
    if counts && matches!(instruction.op, Op::DEPBAR | Op::WARPGROUP) {
        let scoreboard = instruction.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Scoreboard(number) => Some(number),
            _ => None,
        });
        let left = instruction.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Imm(left) => u8::try_from(left).ok(),
            _ => None,
        });
        return Kind::WaitFor { scoreboard, left: left.unwrap_or(0) };
    }
    let info = instruction.op.info();
    match (step.class, info.effect) {
        (Class::Group, Effect::Asynchronous) => Kind::Product,
        (_, Effect::Load | Effect::Store | Effect::Atomic) if info.queue != Queue::Constant => Kind::Memory,
        _ => Kind::Plain,
    }
}

/// Cycles of a matrix multiply of a warp group, for its columns: 128 bytes of each operand in a cycle.
fn product_cycles(step: &Described) -> u8 {
    let shape = step.instruction.mods.iter().find_map(|modifier| {
        let (rows, rest) = modifier.spelling().split_once('x')?;
        let (columns, _) = rest.split_once('x')?;
        rows.parse::<u32>().ok()?;
        columns.parse::<u32>().ok()
    });
    (shape.unwrap_or(64) / 2).clamp(4, 128) as u8
}

impl Step {
    pub(crate) fn new(described: &Described, model: &Model, parameters: &Parameters) -> Step {
        let instruction = &described.instruction;
        let (op, control) = (instruction.op, &instruction.control);
        let info = op.info();
        let mut units = model.resources(op, &instruction.mods);
        let kind = kind(described);
        let special = &mut units[Unit::Special as usize];
        if *special > 0 {
            *special = (*special).max(parameters.special.cycles() as u8);
        }
        let shared_double = units[Unit::Double as usize] > 0 && parameters.double.value > 0.0;
        if shared_double {
            units[Unit::Double as usize] = 1;
        }
        let goes_through = units[Unit::LoadStore as usize] > 0 || units[Unit::Shared as usize] > 0;
        if goes_through && info.queue != Queue::Constant {
            // A quarter hands over an instruction a cycle; how fast they pass is a matter of the SM.
            units[Unit::LoadStore as usize] = 1;
            units[Unit::Shared as usize] = 1;
        }
        if kind == Kind::Product {
            units[Unit::Tensor as usize] = product_cycles(described);
        }
        let passes = u32::from(goes_through && kind == Kind::Plain && info.queue == Queue::Shared);
        let least = if control.stall == 0 && !completes_before_next(control) { SPECIAL_STALL } else { 1 };
        Step {
            address: described.address,
            text: text(described),
            kind,
            units,
            double: if shared_double { parameters.double.cycles() } else { 0 },
            passes,
            latency: u64::from(model.estimate(op)),
            queue: info.queue,
            stall: u64::from(control.stall.max(least)),
            completes: completes_before_next(control),
            yields: control.yields,
            write_barrier: control.write_barrier,
            read_barrier: control.read_barrier,
            waits: match kind {
                Kind::WaitFor { .. } => control.wait_mask,
                _ => waits(instruction),
            },
            sources: described.sources.clone(),
            bypasses: instruction.mods.has(Mod::STRONG) && counted_scoreboard(op).is_none(),
            changes: Changes::default(),
        }
    }

    /// The instruction with some changes.
    pub(crate) fn changed(&self, changes: Changes, no_stalls: bool) -> Step {
        let mut step = Step { changes, ..self.clone() };
        if changes.has(Change::Quick) {
            step.double = 0;
            for unit in [Unit::Double, Unit::Special] {
                let cycles = &mut step.units[unit as usize];
                *cycles = (*cycles).min(QUICK);
            }
        }
        if no_stalls && !step.completes {
            step.stall = step.stall.min(1);
        }
        step
    }
}
