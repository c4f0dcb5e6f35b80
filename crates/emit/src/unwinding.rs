//! Saved registers of functions, from where to where in the finished code, and the registers that point to
//! their frames. Debuggers unwind from a function to its caller by it.
//!
//! It is here because two stages know the answer: expansion saves registers and the allocator moves the
//! return address like any value, the finished code knows where its instructions are. It follows the values
//! that a function has at its entry through the instructions, so that no stage has to record its moves. It
//! reads code in source order, level 0; nothing of it enters the code.

use crate::Allocated;
use crate::places::words;
use oriole_ori::{BlockId, File, Instruction, MachineFunction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_regalloc::abi::{FRAME_POINTER, STACK_POINTER, saved};
use oriole_sass::Op;
use std::collections::BTreeMap;

/// From a word on something else is true of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// Index of the first word before which it is true.
    pub at: u32,
    /// The rule.
    pub rule: Rule,
}

/// Where the frame ends, which is its address for debuggers, or where the caller's value of a register is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Rule {
    /// The frame ends `bytes` after the address in `register`.
    Frame {
        /// The register.
        register: u8,
        /// Bytes.
        bytes: u32,
    },
    /// The caller's value of a register.
    Caller {
        /// The register.
        register: u8,
        /// Where its value is.
        place: Place,
    },
}

/// Where a value of the caller is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Place {
    /// In its register.
    Same,
    /// In the frame, this many bytes before its end.
    Frame(u32),
    /// In another register.
    Register(u8),
    /// Nowhere.
    Lost,
}

const REGISTERS: usize = 256;
const WORD: i32 = 4;

/// State of frame and registers at a place of the code.
#[derive(Clone, PartialEq, Eq)]
struct State {
    /// The register that points to the frame, and the bytes from there to its end.
    frame: (u8, i32),
    /// The end of the frame is where the caller's stack pointer was: it is not where a frame was aligned.
    ends_at_caller: bool,
    /// For each register the one whose value at the entry it holds.
    registers: [Option<u8>; REGISTERS],
    /// For each word of the frame, by its offset from the end, the register whose value at the entry it
    /// holds.
    slots: BTreeMap<i32, u8>,
}

impl State {
    fn entry(is_kernel: bool) -> State {
        let mut registers = [None; REGISTERS];
        if !is_kernel {
            let kept =
                (0..=u8::MAX).filter(|&register| saved().contains(register) || register == STACK_POINTER);
            kept.for_each(|register| registers[usize::from(register)] = Some(register));
        }
        State { frame: (STACK_POINTER, 0), ends_at_caller: true, registers, slots: BTreeMap::new() }
    }

    /// Keeps the facts that hold on both paths; true if one was dropped.
    fn meet(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (one, other) in self.registers.iter_mut().zip(&other.registers) {
            *one = one.filter(|_| *one == *other);
        }
        self.slots.retain(|at, value| other.slots.get(at) == Some(value));
        *self != before
    }

    /// Where the value of each register at the entry is.
    fn places(&self) -> [Place; REGISTERS] {
        let mut places = [Place::Lost; REGISTERS];
        for (register, held) in (0..=u8::MAX).zip(&self.registers) {
            let Some(value) = *held else { continue };
            let place = &mut places[usize::from(value)];
            match *place {
                _ if value == register => *place = Place::Same,
                Place::Lost => *place = Place::Register(register),
                _ => {}
            }
        }
        for (&at, &value) in self.slots.iter().rev() {
            places[usize::from(value)] = Place::Frame(at.unsigned_abs());
        }
        if self.ends_at_caller {
            places[usize::from(STACK_POINTER)] = Place::Same;
        }
        places
    }
}

struct Code<'a>(&'a Allocated);

impl Code<'_> {
    fn register(&self, value: Value) -> Option<u8> {
        let is_general = self.0.function.values[value].file == File::R;
        self.0.assignment.registers.get(value).copied().flatten().filter(|_| is_general)
    }

    fn source(&self, source: &Source) -> Vec<Option<u8>> {
        match &source.kind {
            SourceKind::Values(values) if !source.negate && !source.absolute && !source.invert => {
                values.iter().map(|&value| self.register(value)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The offset from the end of the frame that an access has, if it names the frame.
    fn slot(&self, instruction: &Instruction, (base, bytes): (u8, i32)) -> Option<i32> {
        let SourceKind::Address(address) = &instruction.sources.first()?.kind else { return None };
        let [value] = address.base[..] else { return None };
        (self.register(value)? == base).then(|| address.offset - bytes)
    }

    /// Effect of an instruction on the state.
    fn pass(&self, instruction: &Instruction, state: &mut State) {
        if let Some(call) = &instruction.call {
            for (number, held) in state.registers.iter_mut().enumerate() {
                if call.clobbers[number / 64] >> (number % 64) & 1 != 0 {
                    *held = None;
                }
            }
        }
        let mut written = Vec::new();
        instruction.for_each_definition(|value| written.extend(self.register(value)));
        let always = instruction.guard.is_none();
        let op = match instruction.opcode {
            Opcode::Sass(op) => Some(op),
            _ => None,
        };
        let slot = self.slot(instruction, state.frame);
        let mut values = vec![None; written.len()];
        match (op, slot) {
            (None, _) if always && instruction.opcode == Opcode::Pseudo(Pseudo::Copy) => {
                let sources = instruction.sources.first().map(|source| self.source(source));
                for (value, source) in values.iter_mut().zip(sources.unwrap_or_default()) {
                    *value = source.and_then(|source| state.registers[usize::from(source)]);
                }
            }
            (Some(Op::STL), Some(at)) => {
                let stored = instruction.sources.get(1).map(|source| self.source(source)).unwrap_or_default();
                let end = at + WORD * stored.len().max(1) as i32;
                state.slots.retain(|&slot, _| slot + WORD <= at || slot >= end);
                for (at, source) in (at..).step_by(WORD as usize).zip(stored).filter(|_| always) {
                    if let Some(value) = source.and_then(|source| state.registers[usize::from(source)]) {
                        state.slots.insert(at, value);
                    }
                }
            }
            (Some(Op::LDL), Some(at)) if always => {
                for ((at, &register), value) in (at..).step_by(WORD as usize).zip(&written).zip(&mut values) {
                    *value = state.slots.get(&at).copied();
                    if *value == Some(register) {
                        // It is given back.
                        state.slots.remove(&at);
                    }
                }
            }
            _ => {}
        }
        self.move_frame(instruction, op, &written, state);
        for (register, value) in written.into_iter().zip(values) {
            state.registers[usize::from(register)] = value;
        }
    }

    /// The frame register after an instruction.
    fn move_frame(&self, instruction: &Instruction, op: Option<Op>, written: &[u8], state: &mut State) {
        let (base, bytes) = state.frame;
        let copied = match instruction.sources.first().map(|source| self.source(source)).as_deref() {
            Some(&[register]) => register,
            _ => None,
        };
        let addend = instruction.sources.get(1).and_then(|source| match source.kind {
            SourceKind::Imm(addend) => Some(addend as i32),
            _ => None,
        });
        let mut ends_at_caller = state.ends_at_caller;
        state.frame = match (written, op) {
            // A function that takes more from the stack has another name for its frame meanwhile.
            ([FRAME_POINTER], None) if base == STACK_POINTER && copied == Some(STACK_POINTER) => {
                (FRAME_POINTER, bytes)
            }
            ([STACK_POINTER], None) if base == FRAME_POINTER && copied == Some(FRAME_POINTER) => {
                (STACK_POINTER, bytes)
            }
            _ if base != STACK_POINTER || !written.contains(&STACK_POINTER) => return,
            ([STACK_POINTER], Some(Op::IADD3)) => (base, bytes - addend.unwrap_or_default()),
            // It is aligned by an unknown number of bytes: the frame is as large as it may be.
            ([STACK_POINTER], Some(Op::LOP3)) => {
                ends_at_caller = false;
                (base, self.0.assignment.frame_bytes as i32)
            }
            // A kernel gets the start of the stack, and a function has its caller's stack pointer again.
            _ => {
                ends_at_caller = true;
                (base, 0)
            }
        };
        state.ends_at_caller = ends_at_caller;
    }

    /// State at the start of each block on every path; `None` for an unreachable block.
    fn at_starts(&self) -> Vec<Option<State>> {
        let function = &self.0.function;
        let mut starts: Vec<Option<State>> = vec![None; function.blocks.len()];
        if let Some(entry) = starts.first_mut() {
            *entry = Some(State::entry(function.is_entry));
        }
        let mut waiting: Vec<BlockId> = function.block_ids().take(1).collect();
        while let Some(block) = waiting.pop() {
            let Some(mut state) = starts[usize::from(block)].clone() else { continue };
            for instruction in &function.blocks[block].instructions {
                self.pass(instruction, &mut state);
            }
            for &next in &function.blocks[block].successors {
                let start = &mut starts[usize::from(next)];
                let changed = match start {
                    None => {
                        *start = Some(state.clone());
                        true
                    }
                    Some(start) => start.meet(&state),
                };
                if changed {
                    waiting.push(next);
                }
            }
        }
        starts
    }
}

/// Unwind rows of a function, by place.
pub fn rows(allocated: &Allocated, finished: &MachineFunction) -> Vec<Row> {
    let function = &allocated.function;
    let code = Code(allocated);
    let entry = State::entry(function.is_entry);
    let (mut frame, mut places) = (entry.frame, entry.places());
    let mut rows = Vec::new();
    let mut change = |at: u32, state: &State| {
        if state.frame != frame {
            let (register, bytes) = state.frame;
            rows.push(Row { at, rule: Rule::Frame { register, bytes: bytes.unsigned_abs() } });
            frame = state.frame;
        }
        let now = state.places();
        for (register, (&place, before)) in (0..=u8::MAX).zip(now.iter().zip(&places)) {
            if place != *before {
                rows.push(Row { at, rule: Rule::Caller { register, place } });
            }
        }
        places = now;
    };
    let mut end = 0;
    for (block, start) in function.block_ids().zip(code.at_starts()) {
        // Nothing comes to a block that has no start.
        if let Some(mut state) = start {
            change(end, &state);
            for (at, instruction) in words(allocated, finished, block) {
                code.pass(instruction, &mut state);
                change(at + 1, &state);
            }
        }
        end += finished.blocks[block].instructions.len() as u32;
    }
    rows.retain(|row| row.at < end);
    rows
}
