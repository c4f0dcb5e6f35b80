//! The function under allocation: its instructions, with marks for inserted ones, the parts of split live ranges,
//! spill slots.

use crate::frame::base_register;
use oriole_ori::{Block, BlockId, File, Function, Value};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// A function while its files are allocated one by one.
#[derive(Debug)]
pub struct Work {
    /// The function as rewritten so far.
    pub function: Function,
    /// For each block and instruction: true if the allocator inserted it.
    pub inserted: TiVec<BlockId, Vec<bool>>,
    /// Block of the input; `None` for a new one.
    pub blocks: TiVec<BlockId, Option<BlockId>>,
    /// Register of each value, once chosen.
    pub register: TiVec<Value, Option<u8>>,
    /// The input value that each value represents.
    pub original: TiVec<Value, Value>,
    /// The stack pointer.
    pub stack_pointer: Value,
    /// First byte of the spill area in the frame.
    pub spill_base: u32,
    /// Words in the spill area.
    pub spill_words: u32,
    /// Spill slot (word index) of a value, looked up only.
    pub slots: FxHashMap<Value, u32>,
    /// Inserted stores to the frame.
    pub stores: u32,
    /// Reloads from it.
    pub loads: u32,
    parts: FxHashMap<(Value, u8), Value>,
    slot_values: FxHashMap<Value, Value>,
    emergency: FxHashMap<(File, u8), Value>,
    undefined: FxHashMap<File, Value>,
}

impl Work {
    /// Nothing chosen yet but the stack pointer.
    pub fn new(function: Function, stack_pointer: Value, spill_base: u32) -> Work {
        let mut work = Work {
            inserted: function.blocks.iter().map(|b| vec![false; b.instructions.len()]).collect(),
            blocks: function.block_ids().map(Some).collect(),
            register: ti_vec![None; function.values.len()],
            original: function.values.keys().collect(),
            stack_pointer,
            spill_base,
            spill_words: 0,
            slots: FxHashMap::default(),
            stores: 0,
            loads: 0,
            parts: FxHashMap::default(),
            slot_values: FxHashMap::default(),
            emergency: FxHashMap::default(),
            undefined: FxHashMap::default(),
            function,
        };
        work.register[stack_pointer] = Some(base_register(&work.function));
        work
    }

    /// A copy without the instructions of blocks that the filter selects.
    pub fn without(&self, leave: impl Fn(BlockId) -> bool) -> Work {
        let Work { function, inserted, .. } = self;
        let bare = |(id, block): (BlockId, &Block)| Block {
            phis: block.phis.clone(),
            instructions: if leave(id) { Vec::new() } else { block.instructions.clone() },
            successors: block.successors.clone(),
            nounroll: block.nounroll,
            cold: block.cold,
        };
        Work {
            function: Function {
                is_entry: function.is_entry,
                routine: function.routine,
                is_separate: function.is_separate,
                calls_library: function.calls_library,
                values: function.values.clone(),
                blocks: function.block_ids().zip(&function.blocks).map(bare).collect(),
                symbols: function.symbols.clone(),
                locals: function.locals.clone(),
                tables: function.tables.clone(),
                parameter_bytes: function.parameter_bytes,
                barriers: function.barriers,
                register_limit: function.register_limit,
                states_registers: function.states_registers,
                block_threads: function.block_threads,
                warps_in_rows: function.warps_in_rows,
                lanes_apart: function.lanes_apart,
                shared_bytes: function.shared_bytes,
                at_fixed_point: function.at_fixed_point,
                graph: function.graph.clone(),
            },
            inserted: function
                .block_ids()
                .zip(inserted)
                .map(|(id, marks)| if leave(id) { Vec::new() } else { marks.clone() })
                .collect(),
            blocks: self.blocks.clone(),
            register: self.register.clone(),
            original: self.original.clone(),
            stack_pointer: self.stack_pointer,
            spill_base: self.spill_base,
            spill_words: self.spill_words,
            slots: self.slots.clone(),
            stores: self.stores,
            loads: self.loads,
            parts: self.parts.clone(),
            slot_values: self.slot_values.clone(),
            emergency: self.emergency.clone(),
            undefined: self.undefined.clone(),
        }
    }

    /// The highest general register assigned so far, plus one.
    pub fn highest(&self) -> u16 {
        let general =
            self.function.values.iter().zip(&self.register).filter(|(value, _)| value.file == File::R);
        general.filter_map(|(_, register)| *register).map(|r| u16::from(r) + 1).max().unwrap_or(0)
    }

    /// A new value without a counterpart in the input.
    pub fn new_value(&mut self, file: File) -> Value {
        let value = self.function.new_value(file, None);
        self.register.push(None);
        self.original.push(value);
        value
    }

    /// The part of `value` in this register: the value itself for its first register.
    pub fn part_in(&mut self, value: Value, register: u8) -> Value {
        if self.register[value] == Some(register) {
            return value;
        }
        if self.register[value].is_none() {
            self.register[value] = Some(register);
            return value;
        }
        if let Some(&known) = self.parts.get(&(value, register)) {
            return known;
        }
        let data = self.function.values[value];
        let new = self.function.new_value(data.file, data.source);
        self.register.push(Some(register));
        self.original.push(self.original[value]);
        self.parts.insert((value, register), new);
        new
    }

    /// The spill word of a value.
    pub fn slot(&mut self, value: Value) -> u32 {
        let next = self.spill_words;
        let slot = *self.slots.entry(value).or_insert(next);
        self.spill_words = self.spill_words.max(slot + 1);
        slot
    }

    /// The general value that holds a spilled predicate.
    pub fn slot_value(&mut self, owner: Value) -> Value {
        if let Some(&known) = self.slot_values.get(&owner) {
            return known;
        }
        let new = self.new_value(File::R);
        self.slot_values.insert(owner, new);
        new
    }

    /// A value whose slot is used for the duration of one move.
    pub fn emergency_slot(&mut self, file: File, number: u8) -> Value {
        if let Some(&known) = self.emergency.get(&(file, number)) {
            return known;
        }
        let new = self.new_value(file);
        self.emergency.insert((file, number), new);
        new
    }

    /// Placeholder for the content of a register that is saved temporarily.
    pub fn undefined_value(&mut self, file: File) -> Value {
        if let Some(&known) = self.undefined.get(&file) {
            return known;
        }
        let new = self.new_value(file);
        self.undefined.insert(file, new);
        new
    }

    /// Frame offset in bytes of a slot.
    pub fn slot_offset(&self, slot: u32) -> i32 {
        (self.spill_base + 4 * slot) as i32
    }
}
