//! Instructions on tensor memory: operations of a single thread, and of a warp. Operations are complete at once.

use crate::collective::reduced;
use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::lane::{SpecialValues, State, members};
use crate::machine::{BlockState, Machine};
use crate::matrix::{Registers, TensorSum};
use crate::memory::{Place, in_block, out_of_bounds};
use crate::step::{Location, Signal, TensorOperation, TensorProduct, TensorStep, TensorWarp};
use crate::warp::Warp;
use oriole_machine_model::tensor_memory::{Address, Left, Operands, Outcome, PIECE, Product, shift};
use oriole_machine_model::tensor_memory::{Fault as Broken, TensorMemory};

/// Blocks of a cluster that a mask names.
const BLOCKS: u32 = 16;

fn fault(broken: Broken) -> Fault {
    let kind = match &broken {
        Broken::Shared(address) => return out_of_bounds(Place::Shared, *address, PIECE, false),
        Broken::OutOfBounds(_) => FaultKind::OutOfBounds,
        Broken::NotAllocated(_) | Broken::OtherWarp(_) | Broken::Operands(_) => FaultKind::Illegal,
    };
    Fault::new(kind, broken.to_string())
}

/// The address that an operand names.
fn place(at: &LaneContext, location: &Location) -> Address {
    Address::new(at.address(location) as u32)
}

/// The ranks of the participating blocks, the even one first.
fn ranks(at: &LaneContext, blocks: u32) -> Result<Vec<u32>, Fault> {
    let first = at.block.rank / blocks * blocks;
    let ranks: Vec<u32> = (first..first + blocks).collect();
    if ranks.last().is_some_and(|last| (*last as usize) < at.machine.tensor.len()) {
        Ok(ranks)
    } else {
        Err(Fault::new(FaultKind::Illegal, "the block has no other one in its cluster to pair with"))
    }
}

/// Executes an operation of a single thread.
pub fn execute(at: &mut LaneContext, step: &TensorStep) -> Result<(), Fault> {
    let ranks = ranks(at, step.blocks)?;
    let outcome = match &step.operation {
        TensorOperation::Product(product) => multiply(at, product, &ranks)?,
        TensorOperation::Commit(signal) => return commit(at, signal),
        TensorOperation::Copy { copy, to, from } => {
            let (to, from) = (place(at, to), at.read(*from));
            let mut outcome = Outcome::default();
            for rank in ranks {
                let machine = &mut *at.machine;
                let memory = &mut machine.tensor[rank as usize];
                let (pieces, written) =
                    copy.execute(memory, &machine.shared, rank, to, from).map_err(fault)?;
                outcome.pieces.extend(pieces);
                outcome.written.push((rank, written));
            }
            outcome
        }
        TensorOperation::Shift(location) => {
            let address = place(at, location);
            let mut outcome = Outcome::default();
            for rank in ranks {
                let moved = shift(&mut at.machine.tensor[rank as usize], address).map_err(fault)?;
                outcome.written.push((rank, moved));
            }
            outcome
        }
    };
    at.machine.watch.start_operation(&outcome);
    Ok(())
}

fn multiply(at: &mut LaneContext, step: &TensorProduct, ranks: &[u32]) -> Result<Outcome, Fault> {
    let mut kept_lanes = [0; 8];
    kept_lanes.iter_mut().zip(&step.kept_lanes).for_each(|(word, source)| *word = at.read(*source) as u32);
    let operands = Operands {
        result: place(at, &step.result),
        left: match &step.left {
            Ok(location) => Left::Tensor(place(at, location)),
            Err(descriptor) => Left::Shared(at.read(*descriptor)),
        },
        right: at.read(step.right),
        metadata: step.metadata.as_ref().map_or(Address::new(0), |location| place(at, location)),
        scales: match &step.scales {
            Some(scales) => [0, 1].map(|factor| place(at, &scales[factor])),
            None => [Address::new(0); 2],
        },
        adds: at.read(step.adds) & 1 == 1,
        kept_lanes,
        zero_columns: step.zero_columns.map_or(0, |source| at.read(source)),
    };
    let deep = at.machine.matrix_unit.depth_of_96;
    let product = Product::new(step.form, at.read(step.description) as u32, deep).map_err(fault)?;
    let machine = &mut *at.machine;
    let unit = machine.matrix_unit.of_tensor_memory();
    let sum = TensorSum::new(&product, &unit, step.down);
    let dot = |row: &oriole_machine_model::tensor_memory::Row| sum.evaluate(&unit, row);
    product.execute(&mut machine.tensor, &machine.shared, ranks, &operands, dot).map_err(fault)
}

/// Signals the mbarriers that the thread's operations are complete: one, or one in each of several blocks.
fn commit(at: &mut LaneContext, signal: &Signal) -> Result<(), Fault> {
    let Some(object) = &signal.object else { return Ok(()) };
    let Some(blocks) = signal.blocks else { return at.commit_operations(object) };
    let (mask, address) = (at.read(blocks), at.address(object));
    for rank in (0..BLOCKS).filter(|rank| mask >> rank & 1 == 1) {
        let base = crate::step::Source::Immediate(in_block(address, rank));
        at.commit_operations(&Location { place: object.place, base, offset: 0 })?;
    }
    Ok(())
}

/// The registers of an operand as words.
fn words(registers: &Registers, count: u32) -> Vec<[u32; 32]> {
    let word = |lane: usize, at: usize| registers[lane].get(at).map_or(0, |word| *word as u32);
    (0..count as usize).map(|at| std::array::from_fn(|lane| word(lane, at))).collect()
}

impl Warp {
    /// Executes an operation of a warp; returns the registers of a load.
    pub(crate) fn tensor(
        &mut self,
        operation: &TensorWarp,
        operands: Vec<Registers>,
        together: u32,
        machine: &mut Machine,
        block: &mut BlockState,
        specials: &SpecialValues,
    ) -> Result<Option<Registers>, Fault> {
        let located =
            |warp: &Warp, machine: &Machine, block: &BlockState, fault| warp.locate(machine, fault, block);
        let one = |at: usize| -> Result<u32, Fault> { same(operands[at].iter().flatten().copied()) };
        let done = match operation {
            TensorWarp::Allocate(to) => match one(0) {
                Ok(columns) => self.allocate(to, columns, together, machine, block, specials),
                Err(fault) => Err(fault),
            },
            TensorWarp::Release => one(0).and_then(|address| {
                machine.events += 1;
                let memory = own(machine, block);
                memory.release(Address::new(address), one(1)?).map_err(fault)
            }),
            TensorWarp::GiveUp => {
                own(machine, block).give_up();
                Ok(())
            }
            TensorWarp::Wait { stores } => {
                self.begin_watch(machine, block);
                machine.watch.wait_for_tensor(*stores);
                Ok(())
            }
            TensorWarp::Load(movement, from, reduction) => {
                let loaded = self.common_address(from, together, specials).and_then(|address| {
                    self.begin_watch(machine, block);
                    machine.watch.access_tensor(movement.touched(address), false);
                    let mut registers =
                        movement.load(own(machine, block), self.index, address).map_err(fault)?;
                    if let Some(reduction) = reduction {
                        let of_lane = |lane: usize| registers.iter().map(move |words| words[lane]);
                        registers.push(std::array::from_fn(|lane| reduced(*reduction, of_lane(lane))));
                    }
                    Ok(std::array::from_fn(|lane| registers.iter().map(|words| words[lane].into()).collect()))
                });
                return loaded.map(Some).map_err(|fault| located(self, machine, block, fault));
            }
            TensorWarp::Store(movement, to) => {
                self.common_address(to, together, specials).and_then(|address| {
                    machine.events += 1;
                    self.begin_watch(machine, block);
                    machine.watch.access_tensor(movement.touched(address), true);
                    let registers = words(&operands[0], movement.registers());
                    movement.store(own(machine, block), self.index, address, &registers).map_err(fault)
                })
            }
        };
        done.map(|()| None).map_err(|fault| located(self, machine, block, fault))
    }

    /// The following accesses are by this warp, at the step where its lanes have synchronized.
    fn begin_watch(&self, machine: &mut Machine, block: &BlockState) {
        let pc =
            self.lanes.iter().find(|lane| matches!(lane.state, State::Collective(..))).map(|lane| lane.pc);
        if let Some(pc) = pc.filter(|_| machine.watch.is_on()) {
            machine.watch.begin((block.rank, self.index as usize), pc, false);
        }
    }

    /// The address, which is the same in all lanes.
    fn common_address(
        &self,
        location: &Location,
        together: u32,
        specials: &SpecialValues,
    ) -> Result<Address, Fault> {
        let addresses = members(together).map(|lane| {
            let base = self.lanes[lane].read(location.base, lane as u32, specials);
            base.wrapping_add(location.offset as u64)
        });
        same(addresses).map(Address::new)
    }

    /// Allocates columns; if there are none, the lanes wait.
    fn allocate(
        &mut self,
        to: &Location,
        columns: u32,
        together: u32,
        machine: &mut Machine,
        block: &mut BlockState,
        specials: &SpecialValues,
    ) -> Result<(), Fault> {
        let Some(address) = own(machine, block).allocate(columns).map_err(fault)? else {
            members(together).for_each(|lane| self.lanes[lane].state = State::Columns);
            return Ok(());
        };
        machine.events += 1;
        let first = together.trailing_zeros() as usize;
        let mut context =
            LaneContext { lane: &mut self.lanes[first], number: first as u32, machine, block, specials };
        let target = context.address(to);
        context.used(to.place, target, 4, true)?.copy_from_slice(&address.bits().to_le_bytes());
        Ok(())
    }
}

/// The tensor memory of the block.
fn own<'m>(machine: &'m mut Machine, block: &BlockState) -> &'m mut TensorMemory {
    &mut machine.tensor[block.rank as usize]
}

/// The word, which is the same in all lanes.
fn same(mut values: impl Iterator<Item = u64>) -> Result<u32, Fault> {
    let first = values.next().unwrap_or(0) as u32;
    if values.all(|value| value as u32 == first) {
        Ok(first)
    } else {
        Err(Fault::new(FaultKind::Illegal, "an operand on tensor memory is not the same in all lanes"))
    }
}
