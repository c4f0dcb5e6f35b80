//! The view of an instruction that executes: the instruction, the lanes in which it acts, the block, cluster and memory
//! around it, and access to operands as arrays of lanes.
//!
//! All files of this folder take it. No semantics of an instruction may enter.

use crate::block::Block;
use crate::cluster::Cluster;
use crate::constants::Banks;
use crate::launch::Fault;
use crate::memory::{Global, load_words};
use crate::program::name;
use crate::transfers::Who;
use crate::warp::{Lanes, Warp, WideLanes, bits};
use oriole_chip::{MatrixUnit, WordShape};
use oriole_sass::register::{RZ, URZ};
use oriole_sass::{Guard, Instruction, Mod, OperandKind};
use std::cell::Cell;

/// The constant data of a launch.
pub(crate) struct LaunchContext {
    pub shape: WordShape,
    pub banks: Banks,
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Clusters of the grid.
    pub clusters: [u32; 3],
    pub perturb: Option<u64>,
    pub matrix_unit: MatrixUnit,
    /// Functions of the driver keep all general registers from R32 on.
    pub driver_keeps_from_32: bool,
}

/// The continuation of the group.
pub(crate) enum Next {
    /// At the next instruction.
    Fall,
    /// The groups have been set by the instruction itself.
    Done,
}

/// Everything an instruction can access.
pub(crate) struct Context<'a> {
    pub instruction: &'a Instruction,
    /// Index of the instruction.
    pub pc: u32,
    /// Lanes in which it acts: the group's, under the guard.
    pub active: u32,
    /// Lanes of the group.
    pub group: u32,
    /// Index of the warp in the block.
    pub warp_index: usize,
    pub block: &'a mut Block,
    pub cluster: &'a mut Cluster,
    pub global: &'a mut Global,
    pub launch_context: &'a LaunchContext,
    /// Lane at which a fault happened.
    pub fault_lane: Option<u32>,
    /// The modifiers of the instruction that the execution has queried, bit n for the n-th.
    pub asked: Cell<u64>,
}

/// The lanes in which a guard is true.
pub(crate) fn guarded(warp: &Warp, guard: Guard, lanes: u32) -> u32 {
    let holds = if guard.uniform {
        if warp.uniform_predicates >> guard.register & 1 == 1 { u32::MAX } else { 0 }
    } else {
        warp.predicates[usize::from(guard.register)]
    };
    lanes & if guard.negated { !holds } else { holds }
}

impl Context<'_> {
    /// The identity of the warp in the whole cluster.
    pub(super) fn who(&self) -> Who {
        (self.block.rank, self.warp_index)
    }

    pub(super) fn warp(&self) -> &Warp {
        &self.block.warps[self.warp_index]
    }

    pub(super) fn warp_mut(&mut self) -> &mut Warp {
        &mut self.block.warps[self.warp_index]
    }

    /// Whether the instruction has a modifier. Only modifiers that are queried are known; any other is a fault, see
    /// [`super::execute`].
    pub(super) fn has(&self, modifier: Mod) -> bool {
        let place = self.instruction.mods.iter().position(|of| of == modifier);
        self.asked.set(self.asked.get() | place.map_or(0, |place| 1 << place));
        place.is_some()
    }

    pub(super) fn kind(&self, index: usize) -> Result<OperandKind, Fault> {
        self.instruction.operands.get(index).map(|operand| operand.kind).ok_or_else(|| self.refuse())
    }

    pub(super) fn count(&self) -> usize {
        self.instruction.operands.len()
    }

    /// The error for a form that is not simulated.
    pub(super) fn refuse(&self) -> Fault {
        Fault::NotSimulated(name(self.instruction))
    }

    pub(super) fn constant(&self, bank: u8, offset: i64, size: u32) -> Result<[u32; 4], Fault> {
        Ok(load_words(self.launch_context.banks.slice(bank, offset, size)?))
    }

    /// A constant access without a register. The field is signed for the sake of indexed accesses; negative offsets
    /// name the upper half of the bank.
    pub(super) fn direct_constant(&self, bank: u8, offset: i32, size: u32) -> Result<[u32; 4], Fault> {
        self.constant(bank, i64::from(offset as u16), size)
    }

    /// The bits of a 32-bit operand in every lane, without its signs.
    pub(super) fn raw(&self, index: usize) -> Result<Lanes, Fault> {
        let warp = self.warp();
        Ok(match self.kind(index)? {
            OperandKind::Reg(register) => warp.read(register),
            OperandKind::UReg(register) => [warp.read_uniform(register); 32],
            OperandKind::Imm(value) => [value as u32; 32],
            OperandKind::Float(value) => [value; 32],
            OperandKind::Const { bank, offset } => [self.direct_constant(bank, offset, 4)?[0]; 32],
            _ => return Err(self.refuse()),
        })
    }

    /// The bits of a 64-bit operand in every lane, without its signs. A floating-point immediate is the high half, an
    /// integer one is sign-extended.
    pub(super) fn raw_wide(&self, index: usize) -> Result<WideLanes, Fault> {
        let warp = self.warp();
        let join = |low: &Lanes, high: &Lanes| {
            std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
        };
        Ok(match self.kind(index)? {
            OperandKind::Reg(RZ) => [0; 32],
            OperandKind::Reg(register) => join(&warp.read(register), &warp.read(register + 1)),
            OperandKind::UReg(register) => {
                let [low, high] = warp.read_uniform_pair(register);
                [u64::from(low) | u64::from(high) << 32; 32]
            }
            OperandKind::Imm(value) => [value as i32 as i64 as u64; 32],
            OperandKind::Float(value) => [u64::from(value) << 32; 32],
            OperandKind::Const { bank, offset } => {
                let words = self.direct_constant(bank, offset, 8)?;
                [u64::from(words[0]) | u64::from(words[1]) << 32; 32]
            }
            _ => return Err(self.refuse()),
        })
    }

    /// An integer operand with `-`, `|x|` and `~` applied.
    pub(super) fn integer(&self, index: usize) -> Result<Lanes, Fault> {
        let mut lanes = self.raw(index)?;
        let operand = &self.instruction.operands[index];
        if operand.absolute {
            lanes = lanes.map(|x| (x as i32).wrapping_abs() as u32);
        }
        if operand.negate {
            lanes = lanes.map(u32::wrapping_neg);
        }
        if operand.invert {
            lanes = lanes.map(|x| !x);
        }
        Ok(lanes)
    }

    /// A 64-bit integer operand with `-` and `~` applied.
    pub(super) fn integer_wide(&self, index: usize) -> Result<WideLanes, Fault> {
        let mut lanes = self.raw_wide(index)?;
        let operand = &self.instruction.operands[index];
        if operand.negate {
            lanes = lanes.map(u64::wrapping_neg);
        }
        if operand.invert {
            lanes = lanes.map(|x| !x);
        }
        Ok(lanes)
    }

    /// An f32 with `|x|` and `-` applied; subnormals become zeros with `flush`.
    pub(super) fn single(&self, index: usize, flush: bool) -> Result<Lanes, Fault> {
        let mut lanes = self.raw(index)?;
        let operand = &self.instruction.operands[index];
        if flush {
            lanes = lanes.map(|x| if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x });
        }
        if operand.absolute {
            lanes = lanes.map(|x| x & 0x7fff_ffff);
        }
        if operand.negate {
            lanes = lanes.map(|x| x ^ 0x8000_0000);
        }
        Ok(lanes)
    }

    /// An f64 with `|x|` and `-` applied.
    pub(super) fn double(&self, index: usize) -> Result<WideLanes, Fault> {
        let mut lanes = self.raw_wide(index)?;
        let operand = &self.instruction.operands[index];
        if operand.absolute {
            lanes = lanes.map(|x| x & !(1 << 63));
        }
        if operand.negate {
            lanes = lanes.map(|x| x ^ 1 << 63);
        }
        Ok(lanes)
    }

    /// The lanes in which a predicate operand is true, with `!` applied.
    pub(super) fn predicate(&self, index: usize) -> Result<u32, Fault> {
        let warp = self.warp();
        let holds = match self.kind(index)? {
            OperandKind::Pred(register) => warp.predicates[usize::from(register)],
            OperandKind::UPred(register) => {
                if warp.uniform_predicates >> register & 1 == 1 {
                    u32::MAX
                } else {
                    0
                }
            }
            _ => return Err(self.refuse()),
        };
        Ok(if self.instruction.operands[index].invert { !holds } else { holds })
    }

    /// Writes a 32-bit result. A uniform destination takes the value of the first active lane.
    pub(super) fn write(&mut self, index: usize, values: &Lanes) -> Result<(), Fault> {
        let active = self.active;
        match self.kind(index)? {
            OperandKind::Reg(register) => self.warp_mut().write(register, active, values),
            OperandKind::UReg(register) => {
                if active != 0 {
                    self.warp_mut().write_uniform(register, values[active.trailing_zeros() as usize]);
                }
            }
            _ => return Err(self.refuse()),
        }
        Ok(())
    }

    /// Writes a 64-bit result to a pair.
    pub(super) fn write_wide(&mut self, index: usize, values: &WideLanes) -> Result<(), Fault> {
        self.write_tuple(index, &[values.map(|x| x as u32), values.map(|x| (x >> 32) as u32)])
    }

    /// Writes consecutive registers.
    pub(super) fn write_tuple(&mut self, index: usize, parts: &[Lanes]) -> Result<(), Fault> {
        let active = self.active;
        let first = active.trailing_zeros() as usize & 31;
        match self.kind(index)? {
            OperandKind::Reg(RZ) => {}
            OperandKind::Reg(register) => {
                for (part, values) in parts.iter().enumerate() {
                    self.warp_mut().write(register.saturating_add(part as u8), active, values);
                }
            }
            OperandKind::UReg(register) => {
                if active != 0 && register != URZ {
                    for (part, values) in parts.iter().enumerate() {
                        self.warp_mut().write_uniform(register.saturating_add(part as u8), values[first]);
                    }
                }
            }
            _ => return Err(self.refuse()),
        }
        Ok(())
    }

    /// Writes a predicate result given as the mask of lanes in which it is true.
    pub(super) fn write_predicate(&mut self, index: usize, holds: u32) -> Result<(), Fault> {
        let active = self.active;
        match self.kind(index)? {
            OperandKind::Pred(register) => self.warp_mut().write_predicate(register, active, holds),
            OperandKind::UPred(register) => {
                if active != 0 {
                    let value = holds >> active.trailing_zeros() & 1 == 1;
                    self.warp_mut().write_uniform_predicate(register, value);
                }
            }
            _ => return Err(self.refuse()),
        }
        Ok(())
    }

    /// Applies a function to three 32-bit operands and writes the result to operand 0.
    pub(super) fn map3(
        &mut self,
        operands: [usize; 3],
        f: impl Fn(u32, u32, u32) -> u32,
    ) -> Result<(), Fault> {
        let [a, b, c] = [self.integer(operands[0])?, self.integer(operands[1])?, self.integer(operands[2])?];
        let result = std::array::from_fn(|lane| f(a[lane], b[lane], c[lane]));
        self.write(0, &result)
    }

    /// Applies a function to two 32-bit operands and writes the result to operand 0.
    pub(super) fn map2(&mut self, operands: [usize; 2], f: impl Fn(u32, u32) -> u32) -> Result<(), Fault> {
        let [a, b] = [self.integer(operands[0])?, self.integer(operands[1])?];
        let result = std::array::from_fn(|lane| f(a[lane], b[lane]));
        self.write(0, &result)
    }

    /// True if operand `index` is a predicate of either file.
    pub(super) fn is_predicate(&self, index: usize) -> bool {
        self.instruction
            .operands
            .get(index)
            .is_some_and(|operand| matches!(operand.kind, OperandKind::Pred(_) | OperandKind::UPred(_)))
    }
}

/// The mask of lanes for which a test is true.
pub(super) fn mask_of(test: impl Fn(usize) -> bool) -> u32 {
    (0..32).fold(0, |mask, lane| mask | u32::from(test(lane)) << lane)
}

/// A loop over the active lanes that records the lane of a fault.
pub(super) fn each_active(
    context: &mut Context,
    mut act: impl FnMut(&mut Context, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for lane in bits(context.active) {
        context.fault_lane = Some(lane as u32);
        act(context, lane)?;
    }
    context.fault_lane = None;
    Ok(())
}
