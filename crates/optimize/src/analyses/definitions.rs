//! Definitions of values and counts of their uses.
//!
//! It is here because every pass that looks from an operand to its definition must know when that is sound, in SSA
//! and outside it: a value is *stable* if it has one definition, without a guard, that dominates every use. In SSA
//! all values are; outside it most are, and the others are left alone.

use oriole_ori::{BlockId, Cfg, Dominators, Function, Instruction, Opcode, Phi, Pseudo, Value};
use std::cell::RefCell;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// A place in a function that defines values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nowhere, or in several places.
    Unknown,
    /// This phi of the block.
    Phi(BlockId, u32),
    /// This instruction of the block.
    Instruction(BlockId, u32),
}

/// Definitions and use counts of one function, as a snapshot: instructions may be changed in place, but not moved.
pub struct Definitions {
    places: TiVec<Value, Place>,
    stable: TiVec<Value, bool>,
    uses: TiVec<Value, u32>,
    /// Some values are undefined.
    any_undefined: bool,
    /// Values for which [`Definitions::is_read_once`] returned false.
    shared: RefCell<Vec<Value>>,
}

impl Definitions {
    /// Looks at every instruction.
    pub fn new(function: &Function) -> Definitions {
        let graph = function.graph();
        Definitions::of(function, graph.cfg(), graph.dominators())
    }

    /// Like [`Definitions::new`], with a known graph and dominators.
    pub fn of(function: &Function, cfg: &Cfg, dominators: &Dominators) -> Definitions {
        let count = function.values.len();
        let mut places: TiVec<Value, Place> = ti_vec![Place::Unknown; count];
        let mut written: TiVec<Value, u8> = ti_vec![0u8; count];
        for id in function.block_ids() {
            let block = function.block(id);
            for (index, phi) in block.phis.iter().enumerate() {
                places[phi.destination] = Place::Phi(id, index as u32);
                written[phi.destination] += 1;
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                instruction.for_each_definition(|value| {
                    places[value] = Place::Instruction(id, index as u32);
                    // Outside SSA a partial definition may leave the old value, whatever that is.
                    let partial = instruction.keeps_its_results();
                    written[value] = written[value].saturating_add(if partial { 2 } else { 1 });
                });
            }
        }
        Definitions::judged(function, cfg, dominators, places, written)
    }

    /// Definitions of a function in SSA, where one definition dominates all uses by construction.
    pub fn in_ssa(function: &Function) -> Definitions {
        let count = function.values.len();
        let mut places: TiVec<Value, Place> = ti_vec![Place::Unknown; count];
        let mut stable: TiVec<Value, bool> = ti_vec![false; count];
        let mut uses: TiVec<Value, u32> = ti_vec![0u32; count];
        for id in function.block_ids() {
            let block = function.block(id);
            for (index, phi) in block.phis.iter().enumerate() {
                places[phi.destination] = Place::Phi(id, index as u32);
                stable[phi.destination] = true;
                phi.values().for_each(|value| uses[value] += 1);
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                instruction.for_each_use(|value| uses[value] += 1);
                instruction.for_each_definition(|value| {
                    places[value] = Place::Instruction(id, index as u32);
                    stable[value] = true;
                });
            }
        }
        Definitions {
            places,
            stable,
            uses,
            any_undefined: any_undefined(function),
            shared: RefCell::default(),
        }
    }

    fn judged(
        function: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
        mut places: TiVec<Value, Place>,
        written: TiVec<Value, u8>,
    ) -> Definitions {
        let count = function.values.len();
        let mut stable: TiVec<Value, bool> = written.iter().map(|&times| times == 1).collect();
        let mut uses: TiVec<Value, u32> = ti_vec![0u32; count];
        for &id in cfg.order() {
            let block = function.block(id);
            for phi in &block.phis {
                for (from, source) in &phi.sources {
                    let Some(value) = source.value() else { continue };
                    uses[value] += 1;
                    stable[value] &= reaches(dominators, &places, value, *from, u32::MAX);
                }
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                instruction.for_each_use(|value| {
                    uses[value] += 1;
                    stable[value] &= reaches(dominators, &places, value, id, index as u32);
                });
            }
        }
        for (place, stable) in places.iter_mut().zip(&stable) {
            if !stable {
                *place = Place::Unknown;
            }
        }
        Definitions {
            places,
            stable,
            uses,
            any_undefined: any_undefined(function),
            shared: RefCell::default(),
        }
    }

    /// True if the value is the same at every use.
    #[inline]
    pub fn is_stable(&self, value: Value) -> bool {
        self.stable.get(value).copied().unwrap_or(false)
    }

    /// The place where a stable value is defined.
    #[inline]
    pub fn place(&self, value: Value) -> Place {
        self.places.get(value).copied().unwrap_or(Place::Unknown)
    }

    /// True if the value is undefined: each reader may assume any content.
    #[inline]
    pub fn is_undefined(&self, function: &Function, value: Value) -> bool {
        self.any_undefined && self.instruction(function, value).is_some_and(is_undefined)
    }

    /// False if no value is undefined.
    #[inline]
    pub fn has_undefined(&self) -> bool {
        self.any_undefined
    }

    /// Count of operands that read the value.
    #[inline]
    pub fn uses(&self, value: Value) -> u32 {
        self.uses.get(value).copied().unwrap_or(0)
    }

    /// True if one operand reads the value. A query that is answered with false is recorded, see
    /// [`Definitions::doubted`].
    pub fn is_read_once(&self, value: Value) -> bool {
        let once = self.uses(value) == 1;
        if !once {
            self.shared.borrow_mut().push(value);
        }
        once
    }

    /// True if a value for which [`Definitions::is_read_once`] returned false has one use now.
    pub fn doubted(&self, function: &Function) -> bool {
        let shared = self.shared.borrow();
        if shared.is_empty() {
            return false;
        }
        // The function may have more values now than when it was looked at.
        let mut uses: TiVec<Value, u32> = ti_vec![0u32; function.values.len().max(self.uses.len())];
        for block in &function.blocks {
            block.phis.iter().flat_map(Phi::values).for_each(|value| uses[value] += 1);
            for instruction in &block.instructions {
                instruction.for_each_use(|value| uses[value] += 1);
            }
        }
        shared.iter().any(|value| uses[*value] == 1)
    }

    /// True if the same definitions are known as in `other`.
    pub fn agrees(&self, other: &Definitions) -> bool {
        self.places == other.places && self.stable == other.stable
    }

    /// Adds a use.
    pub fn add_use(&mut self, value: Value) {
        if let Some(uses) = self.uses.get_mut(value) {
            *uses += 1;
        }
    }

    /// Removes a use.
    pub fn drop_use(&mut self, value: Value) {
        if let Some(uses) = self.uses.get_mut(value) {
            *uses = uses.saturating_sub(1);
        }
    }

    /// The instruction that defines a stable value, if it has no guard.
    pub fn instruction<'f>(&self, function: &'f Function, value: Value) -> Option<&'f Instruction> {
        match self.place(value) {
            Place::Instruction(block, index) => {
                let instruction = &function.block(block).instructions[index as usize];
                instruction.guard.is_none().then_some(instruction)
            }
            _ => None,
        }
    }

    /// [`Self::instruction`], with a guard or not.
    pub fn guarded_instruction<'f>(&self, function: &'f Function, value: Value) -> Option<&'f Instruction> {
        match self.place(value) {
            Place::Instruction(block, index) => Some(&function.block(block).instructions[index as usize]),
            _ => None,
        }
    }

    /// The block that defines a stable value.
    pub fn block(&self, value: Value) -> Option<BlockId> {
        match self.place(value) {
            Place::Instruction(block, _) | Place::Phi(block, _) => Some(block),
            Place::Unknown => None,
        }
    }
}

fn is_undefined(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Pseudo(Pseudo::Undefined)
}

/// True if the function begins with undefined values, as SSA form does if it reads uninitialized registers.
fn any_undefined(function: &Function) -> bool {
    let entry = function.blocks.first().map_or(&[][..], |block| &block.instructions);
    entry.iter().take(2).any(is_undefined)
}

fn reaches(
    dominators: &Dominators,
    places: &TiSlice<Value, Place>,
    value: Value,
    block: BlockId,
    index: u32,
) -> bool {
    match places[value] {
        Place::Unknown => false,
        Place::Phi(at, _) => dominators.dominates(at, block),
        Place::Instruction(at, defined) if at == block => defined < index,
        Place::Instruction(at, _) => dominators.dominates(at, block),
    }
}
