//! Execution of single lanes: each action by its kind, and the control instructions.

use smallvec::SmallVec;

use crate::access::{self, Atomic};
use crate::bulk;
use crate::calculate;
use crate::calls;
use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::lane::State;
use crate::mbarrier;
use crate::memory::{Place, function_at, in_block, shared_address, word};
use crate::observer::Event;
use crate::step::{Action, CallTarget, Location};
use crate::tensor_memory;
use crate::texture;
use crate::value::integer::Kind;

/// Executes an instruction after which the lane continues with the next step.
#[inline]
pub fn sequential(at: &mut LaneContext, action: &Action) -> Result<(), Fault> {
    match action {
        Action::Compute { operation, destination, sources } => {
            let operands = sources.map(|source| at.read(source));
            at.write(*destination, operation.evaluate(operands));
        }
        Action::Compare { .. }
        | Action::LogicPredicate { .. }
        | Action::Carry { .. }
        | Action::Split { .. } => {
            calculate::execute(at, action);
        }
        Action::Moves(moves) => {
            let values: SmallVec<[u64; 4]> = moves.iter().map(|(_, source)| at.read(*source)).collect();
            for ((destination, _), value) in moves.iter().zip(values) {
                at.write(*destination, value);
            }
        }
        Action::IsPlace { place, destination, source } => {
            let (found, _) = Place::of_generic(at.read(*source));
            // The parameters of a kernel are in global memory.
            let is_there = found == *place || *place == Place::Global && found == Place::Parameter;
            at.write(*destination, u64::from(is_there));
        }
        Action::Load { location, bytes, signed, destinations } => {
            access::load(at, location, Kind { bits: bytes * 8, signed: *signed }, destinations)?;
        }
        Action::Store { location, bytes, sources } => {
            at.machine.events += 1;
            access::store(at, location, *bytes as usize, sources)?;
        }
        Action::Atomic { location, operation, bytes, destinations, sources, replacements } => {
            at.machine.events += 1;
            let (operation, bytes) = (*operation, *bytes as usize);
            Atomic { operation, bytes, destinations, sources, replacements }.execute(at, location)?;
        }
        Action::Copy { to, from, bytes, read, ignored } => {
            at.machine.events += 1;
            let ignored = ignored.is_some_and(|source| at.read(source) & 1 != 0);
            let read = if ignored { 0 } else { at.read(*read) };
            let target = at.address(to);
            if let Some(target) = at.shared_bytes(to.place, target, *bytes as usize) {
                at.machine.watch.thread_copies(target);
            }
            access::copy(at, to, from, *bytes as usize, read)?;
        }
        Action::Object { operation, location, destination, amount } => {
            let amount = at.read(*amount);
            let state = at.work_on_object(*operation, location, amount)?;
            at.write(*destination, state);
        }
        Action::PendingCount { destination, source } => {
            let state = at.read(*source);
            at.write(*destination, mbarrier::pending_count(state));
        }
        Action::CheckLayout { location, second, destination } => {
            let address = at.object_address(location)?;
            let same = at.object(address)?.second_layout == *second;
            at.write(*destination, u64::from(same));
        }
        Action::Told { write, object, bytes } => {
            sequential(at, write)?;
            let address = at.object_address(object)?;
            at.complete_transfer(address, u64::from(*bytes))?;
        }
        Action::MapRank { .. } | Action::RankOf { .. } | Action::IsShared { .. } => {
            cluster_address(at, action)?
        }
        Action::ClusterArrive => {
            at.machine.events += 1;
            at.lane.cluster_arrivals += 1;
            at.machine.watch.arrive_at_cluster();
            if at.machine.followed {
                let (thread, cluster) = (at.thread_number(), at.machine.cluster_number(at.block));
                let (phase, pc) = (at.lane.cluster_arrivals, at.machine.pc);
                at.machine.tell(&Event::ArrivesAtCluster { thread, cluster, phase, pc });
            }
        }
        Action::RandomConversion(step) => {
            let numbers: SmallVec<[u64; 4]> = step.numbers.iter().map(|number| at.read(*number)).collect();
            let value = step.conversion.evaluate(&numbers, at.read(step.random));
            at.write(step.destination, value);
        }
        Action::Fill { to, size } => bulk::fill(at, to, *size)?,
        Action::TakeCluster { answer, object, everybody } => {
            bulk::take_cluster(at, answer, object, *everybody)?
        }
        Action::TakenCluster { asked, destinations, answer } => {
            let answer = answer.map(|half| at.read(half));
            for (destination, value) in destinations.iter().zip(bulk::taken_cluster(*asked, answer)) {
                at.write(*destination, value);
            }
        }
        Action::Bulk(step) => bulk::copy(at, step)?,
        Action::Box(step) => bulk::copy_box(at, step)?,
        Action::ReplaceField(step) => bulk::replace_field(at, step)?,
        Action::QueryMap { map, bit: (offset, bit), destination } => {
            let address = at.address(map) + offset;
            let kinds = word(at.aligned(map.place, address, 4, false)?);
            at.write(*destination, u64::from(kinds & bit != 0));
        }
        Action::PublishMap { to, from } => {
            let own = |location: &Location| Location {
                offset: location.offset + 4 * i64::from(at.number),
                ..*location
            };
            let (to, from) = (own(to), own(from));
            access::copy(at, &to, &from, 4, 4)?;
        }
        Action::Policy(step) => bulk::policy(at, step),
        Action::Tensor(step) => tensor_memory::execute(at, step)?,
        Action::Texture(step) => texture::execute(at, step)?,
        Action::Allocate { destination, size, align } => {
            let start = at.lane.allocate(at.read(*size), *align)?;
            at.write(*destination, start);
        }
        Action::StackSave(destination) => at.write(*destination, at.lane.local.len() as u64),
        Action::StackRestore(source) => at.lane.restore(at.read(*source)),
        Action::NotSupported(text) => {
            return Err(Fault::new(FaultKind::NotSupported, format!("not supported: {text}")));
        }
        Action::Order(order) => {
            at.machine.watch.order(*order);
            if at.machine.followed && at.machine.code.steps[at.machine.pc as usize].semantics.fences {
                let (thread, pc) = (at.thread_number(), at.machine.pc);
                at.machine.tell(&Event::Fences { thread, pc });
            }
        }
        Action::Nothing => {}
        Action::Collective { .. }
        | Action::Matrix(_)
        | Action::ActiveMask(_)
        | Action::Barrier { .. }
        | Action::ObjectTest { .. }
        | Action::ClusterWait
        | Action::Branch(_)
        | Action::BranchTable { .. }
        | Action::Call { .. }
        | Action::Return
        | Action::Exit
        | Action::Trap => unreachable!("control instructions are executed by the warp"),
    }
    Ok(())
}

/// Addresses of the shared memory of a cluster.
fn cluster_address(at: &mut LaneContext, action: &Action) -> Result<(), Fault> {
    match action {
        Action::MapRank { destination, sources: [address, rank] } => {
            let (address, rank) = (at.read(*address), at.read(*rank) as u32);
            if rank as usize >= at.machine.shared.len() {
                let message = format!("the cluster has no block of rank {rank}");
                return Err(Fault::new(FaultKind::Illegal, message));
            }
            at.write(*destination, in_block(address, rank));
        }
        Action::RankOf { destination, source } => {
            let (_, address) = Place::of_generic(at.read(*source));
            let (rank, _) = shared_address(address, at.block.rank);
            at.write(*destination, u64::from(rank));
        }
        Action::IsShared { own, destination, source } => {
            let (place, address) = Place::of_generic(at.read(*source));
            let (rank, _) = shared_address(address, at.block.rank);
            let holds = place == Place::Shared && (!own || rank == at.block.rank);
            at.write(*destination, u64::from(holds));
        }
        _ => unreachable!("no instruction on addresses of a cluster"),
    }
    Ok(())
}

/// Executes a control instruction of a lane.
pub fn transfer(at: &mut LaneContext, action: &Action) -> Result<(), Fault> {
    match action {
        Action::BranchTable { index, targets } => {
            let index = at.read(*index);
            at.lane.pc =
                usize::try_from(index).ok().and_then(|index| targets.get(index)).copied().ok_or_else(
                    || Fault::new(FaultKind::Illegal, format!("the branch has no target number {index}")),
                )?;
            Ok(())
        }
        Action::Call { target, arguments, .. } => {
            let callee = match target {
                CallTarget::Function(index) => *index as usize,
                CallTarget::Address(source) => {
                    let address = at.read(*source);
                    function_at(address).filter(|index| *index < at.machine.code.functions.len()).ok_or_else(
                        || Fault::new(FaultKind::Illegal, format!("{address:#x} is no function's address")),
                    )?
                }
            };
            calls::enter(at, callee, arguments)
        }
        Action::Return => match at.lane.calls.last() {
            None => {
                at.lane.state = State::Exited;
                Ok(())
            }
            Some(_) => calls::leave(at.lane, at.machine),
        },
        Action::Exit => {
            at.lane.state = State::Exited;
            Ok(())
        }
        Action::Trap => Err(Fault::new(FaultKind::Trap, "trap")),
        _ => unreachable!("only control instructions take a lane elsewhere"),
    }
}
