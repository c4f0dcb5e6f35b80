//! What single lanes do: moves, arithmetic, memory accesses, calls and arrivals at barriers.

use smallvec::SmallVec;

use crate::calls;
use crate::lane::{LOCAL_START, Lane, SpecialValues, State};
use crate::launch::{Fault, FaultKind};
use crate::machine::{BlockState, Machine};
use crate::memory::{Memory, Place, function_at, misaligned, out_of_bounds, span, word};
use crate::step::{Action, AtomicOperation, BarrierOperation, CallTarget, CarryOperation, Location, Source};
use crate::value::Operation;
use crate::value::compare::Combine;
use crate::value::integer::{self, IntegerOperation, Kind};

/// Executes an instruction after which the lane goes on to the next step.
#[inline]
pub fn sequential(
    lane: &mut Lane,
    number: u32,
    action: &Action,
    machine: &mut Machine,
    block: &mut BlockState,
    specials: &SpecialValues,
) -> Result<(), Fault> {
    let read = |lane: &Lane, source: Source| lane.read(source, number, specials);
    match action {
        Action::Compute { operation, destination, sources } => {
            let operands = sources.map(|source| read(lane, source));
            lane.write(*destination, operation.evaluate(operands));
        }
        Action::Compare { comparison, combine, halves, destinations, sources } => {
            let [a, b, c] = sources.map(|source| read(lane, source));
            let further = c & 1 != 0;
            let (first, second) = if *halves {
                (comparison.holds(a & 0xffff, b & 0xffff), comparison.holds(a >> 16, b >> 16))
            } else {
                let holds = comparison.holds(a, b);
                (holds, !holds)
            };
            lane.write(destinations[0], u64::from(combine.apply(first, further)));
            lane.write(destinations[1], u64::from(combine.apply(second, further)));
        }
        Action::LogicPredicate { table, combine, destinations, sources } => {
            let [a, b, c, further] = sources.map(|source| read(lane, source));
            let kind = Kind { bits: 32, signed: false };
            let value = integer::evaluate(IntegerOperation::Logic3(*table), kind, [a, b, c, 0]);
            lane.write(destinations[0], value);
            lane.write(destinations[1], u64::from(combine.apply(value != 0, further & 1 != 0)));
            debug_assert!(*combine != Combine::None);
        }
        Action::Carry { operation, kind, read: enters, write, destination, sources } => {
            let [a, b, c] = sources.map(|source| read(lane, source));
            let flag = *enters && lane.carry;
            let (value, flag) = match operation {
                CarryOperation::Add => integer::add_carry(*kind, a, b, flag),
                CarryOperation::Subtract => integer::subtract_carry(*kind, a, b, flag || !enters),
                CarryOperation::MultiplyAdd(part) => {
                    integer::add_carry(*kind, integer::product_part(*kind, a, b, *part), c, flag)
                }
            };
            if *write {
                lane.carry = flag;
            }
            lane.write(*destination, value);
        }
        Action::Moves(moves) => {
            let values: SmallVec<[u64; 4]> = moves.iter().map(|(_, source)| read(lane, *source)).collect();
            for ((destination, _), value) in moves.iter().zip(values) {
                lane.write(*destination, value);
            }
        }
        Action::Split { bits, destinations, source } => {
            let value = read(lane, *source);
            for (index, destination) in destinations.iter().enumerate() {
                let part = value >> (bits * index as u32) & (u64::MAX >> (64 - bits));
                lane.write(*destination, part);
            }
        }
        Action::IsPlace { place, destination, source } => {
            let (found, _) = Place::of_generic(read(lane, *source));
            lane.write(*destination, u64::from(found == *place));
        }
        Action::Load { location, bytes, signed, destinations } => {
            let address = address(lane, location, number, specials);
            let total = *bytes as usize * destinations.len();
            let kind = Kind { bits: bytes * 8, signed: *signed };
            let values: SmallVec<[u64; 4]> =
                access(&mut machine.memory, &mut block.shared, lane, location.place, address, total, false)?
                    .chunks_exact(*bytes as usize)
                    .map(|chunk| kind.widen(word(chunk)))
                    .collect();
            for (destination, value) in destinations.iter().zip(values) {
                lane.write(*destination, value);
            }
        }
        Action::Store { location, bytes, sources } => {
            let address = address(lane, location, number, specials);
            let values: SmallVec<[u64; 4]> = sources.iter().map(|source| read(lane, *source)).collect();
            let bytes = *bytes as usize;
            let total = bytes * values.len();
            let target =
                access(&mut machine.memory, &mut block.shared, lane, location.place, address, total, true)?;
            for (chunk, value) in target.chunks_exact_mut(bytes).zip(values) {
                chunk.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        Action::Atomic { location, operation, bytes, destinations, sources, replacements } => {
            let address = address(lane, location, number, specials);
            let values: SmallVec<[u64; 4]> = sources.iter().map(|source| read(lane, *source)).collect();
            let replacements: SmallVec<[u64; 2]> =
                replacements.iter().map(|source| read(lane, *source)).collect();
            let bytes = *bytes as usize;
            let total = bytes * values.len();
            let target =
                access(&mut machine.memory, &mut block.shared, lane, location.place, address, total, true)?;
            let old: SmallVec<[u64; 4]> = target.chunks_exact(bytes).map(word).collect();
            let mask = u64::MAX >> (64 - 8 * bytes);
            let new: SmallVec<[u64; 4]> = if *operation == AtomicOperation::CompareAndSwap {
                // All parts are compared before any is written.
                let equal = old.iter().zip(&values).all(|(old, value)| *old == value & mask);
                if equal { replacements.iter().copied().collect() } else { old.clone() }
            } else {
                old.iter().zip(&values).map(|(old, value)| updated(*operation, *old, value & mask)).collect()
            };
            for (chunk, value) in target.chunks_exact_mut(bytes).zip(new) {
                chunk.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            for (destination, value) in destinations.iter().zip(old) {
                lane.write(*destination, value);
            }
        }
        Action::Copy { to, from, bytes, read: count } => {
            let (target, origin) =
                (address(lane, to, number, specials), address(lane, from, number, specials));
            let total = *bytes as usize;
            let count = (read(lane, *count) as usize).min(total);
            let mut data = vec![0; total];
            if count > 0 {
                if !origin.is_multiple_of(u64::from(*bytes)) {
                    return Err(misaligned(from.place, origin, total));
                }
                let read = unaligned(
                    &mut machine.memory,
                    &mut block.shared,
                    lane,
                    from.place,
                    origin,
                    count,
                    false,
                )?;
                data[..count].copy_from_slice(read);
            }
            access(&mut machine.memory, &mut block.shared, lane, to.place, target, total, true)?
                .copy_from_slice(&data);
        }
        Action::Allocate { destination, size, align } => {
            let size = read(lane, *size);
            let start = lane.allocate(size, *align)?;
            lane.write(*destination, start);
        }
        Action::StackSave(destination) => {
            let top = lane.local.len() as u64;
            lane.write(*destination, top);
        }
        Action::StackRestore(source) => {
            let top = read(lane, *source);
            lane.restore(top);
        }
        Action::NotSupported(text) => {
            return Err(Fault::new(FaultKind::NotSupported, format!("not supported: {text}")));
        }
        Action::Nothing => {}
        Action::Collective { .. }
        | Action::ActiveMask(_)
        | Action::Barrier { .. }
        | Action::Branch(_)
        | Action::BranchTable { .. }
        | Action::Call { .. }
        | Action::Return
        | Action::Exit
        | Action::Trap => unreachable!("control instructions are executed by the warp"),
    }
    Ok(())
}

fn address(lane: &Lane, location: &Location, number: u32, specials: &SpecialValues) -> u64 {
    lane.read(location.base, number, specials).wrapping_add(location.offset as u64)
}

/// The bytes that an access touches; its address is a multiple of its size.
#[inline]
fn access<'m>(
    memory: &'m mut Memory,
    shared: &'m mut [u8],
    lane: &'m mut Lane,
    place: Place,
    address: u64,
    length: usize,
    write: bool,
) -> Result<&'m mut [u8], Fault> {
    if address & (length as u64 - 1) != 0 {
        return Err(misaligned(place, address, length));
    }
    unaligned(memory, shared, lane, place, address, length, write)
}

/// The bytes at an address whatever its alignment.
#[inline]
pub fn unaligned<'m>(
    memory: &'m mut Memory,
    shared: &'m mut [u8],
    lane: &'m mut Lane,
    place: Place,
    address: u64,
    length: usize,
    write: bool,
) -> Result<&'m mut [u8], Fault> {
    let (found, offset) = match place {
        Place::Generic => Place::of_generic(address),
        place => (place, address),
    };
    let bytes = match found {
        Place::Shared if offset >= u64::from(crate::decode::SHARED_START) => span(shared, offset, length),
        Place::Local if offset >= u64::from(LOCAL_START) => span(&mut lane.local, offset, length),
        Place::Constant | Place::Parameter if write => None,
        _ => memory.segment(found, offset).and_then(|(segment, offset)| span(segment, offset, length)),
    };
    bytes.ok_or_else(|| out_of_bounds(found, address, length, write))
}

/// What an atomic leaves in memory.
fn updated(operation: AtomicOperation, old: u64, value: u64) -> u64 {
    use AtomicOperation::*;
    match operation {
        Add(kind) => old.wrapping_add(value) & kind.mask(),
        Minimum(kind) => integer::evaluate(IntegerOperation::Minimum, kind, [old, value, 0, 0]),
        Maximum(kind) => integer::evaluate(IntegerOperation::Maximum, kind, [old, value, 0, 0]),
        And => old & value,
        Or => old | value,
        Xor => old ^ value,
        Exchange => value,
        Increment => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        Decrement => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
        Float(operation, format, mode, packed) => {
            Operation::Float(operation, format, mode, packed).evaluate([old, value, 0, 0])
        }
        CompareAndSwap => unreachable!("compares all parts before it writes one"),
    }
}

/// Arrives at a barrier; true if the lane has to wait there.
pub fn arrive(
    lane: &mut Lane,
    number: usize,
    action: &Action,
    block: &mut BlockState,
    specials: &SpecialValues,
) -> Result<bool, Fault> {
    let Action::Barrier { operation, id, count, source, .. } = action else {
        unreachable!("only barriers are arrived at")
    };
    let read = |source: Source| lane.read(source, number as u32, specials);
    let id = read(*id);
    let count = count.map(|count| read(count) as u32);
    let holds = read(*source) & 1 != 0;
    let barrier = usize::try_from(id)
        .ok()
        .and_then(|id| block.barriers.get_mut(id))
        .ok_or_else(|| Fault::new(FaultKind::Illegal, format!("a block has no barrier {id}")))?;
    if barrier.in_use && barrier.expected != count {
        return Err(Fault::new(
            FaultKind::Illegal,
            format!("barrier {id} is used with different counts of threads at a time"),
        ));
    }
    barrier.in_use = true;
    barrier.expected = count;
    let warp = specials.warp as usize;
    if barrier.arrived[warp] >> number & 1 != 0 {
        barrier.repeated += 1;
    }
    barrier.arrived[warp] |= 1 << number;
    if !matches!(operation, BarrierOperation::Synchronize | BarrierOperation::Arrive) {
        barrier.votes += 1;
        barrier.ones += u32::from(holds);
    }
    if *operation == BarrierOperation::Arrive {
        return Ok(false);
    }
    lane.state = State::Barrier(id as u32);
    Ok(true)
}

/// Executes an instruction that takes the lane elsewhere.
pub fn transfer(
    lane: &mut Lane,
    number: u32,
    action: &Action,
    machine: &mut Machine,
    block: &mut BlockState,
    specials: &SpecialValues,
) -> Result<(), Fault> {
    match action {
        Action::BranchTable { index, targets } => {
            let index = lane.read(*index, number, specials);
            lane.pc = usize::try_from(index).ok().and_then(|index| targets.get(index)).copied().ok_or_else(
                || Fault::new(FaultKind::Illegal, format!("the branch has no target number {index}")),
            )?;
            Ok(())
        }
        Action::Call { target, arguments, .. } => {
            let callee = match target {
                CallTarget::Function(index) => *index as usize,
                CallTarget::Address(source) => {
                    let address = lane.read(*source, number, specials);
                    function_at(address).filter(|index| *index < machine.code.functions.len()).ok_or_else(
                        || Fault::new(FaultKind::Illegal, format!("{address:#x} is no function's address")),
                    )?
                }
            };
            calls::enter(lane, number, callee, arguments, machine, block, specials)
        }
        Action::Return => match lane.calls.last() {
            None => {
                lane.state = State::Exited;
                Ok(())
            }
            Some(_) => calls::leave(lane, machine),
        },
        Action::Exit => {
            lane.state = State::Exited;
            Ok(())
        }
        Action::Trap => Err(Fault::new(FaultKind::Trap, "trap")),
        _ => unreachable!("only control instructions take a lane elsewhere"),
    }
}

/// The value of a barrier's reduction.
pub fn reduction(operation: BarrierOperation, ones: u32, votes: u32) -> u64 {
    match operation {
        BarrierOperation::CountOnes => u64::from(ones),
        BarrierOperation::And => u64::from(ones == votes),
        BarrierOperation::Or => u64::from(ones > 0),
        BarrierOperation::Synchronize | BarrierOperation::Arrive => 0,
    }
}
