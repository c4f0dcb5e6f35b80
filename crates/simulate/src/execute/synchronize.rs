//! Operations on mbarriers in shared memory (`SYNCS`, `ARRIVES`), and stores that signal one (`STAS`).

use super::context::{Context, each_active};
use super::load_store::{Space, addresses, place, registers};
use crate::barrier_object::{self, Change, OBJECT_BYTES};
use crate::launch::Fault;
use crate::memory::store_words;
use crate::transfers::shared_bytes;
use crate::warp::WideLanes;
use oriole_sass::register::URZ;
use oriole_sass::{Mod, Op, OperandKind};

/// Cycles for which a try waits before it reports an incomplete phase.
const TRY: u64 = 100;

impl Context<'_> {
    /// Changes the mbarrier at an address of shared memory that names its block; returns its old value.
    pub(super) fn change_object(&mut self, address: u64, change: Change) -> Result<u64, Fault> {
        let (memory, offset) = self.cluster.memory(address)?;
        let before = barrier_object::change(memory, offset, change)?;
        let over = barrier_object::parity(before) != self.parity(address)?;
        let who = (change.arrivals != 0).then(|| self.who());
        if let Some(log) = &mut self.cluster.log {
            log.signals.push(address);
        }
        self.cluster.transfers.change_object(address, who, over);
        Ok(before)
    }

    /// The parity of the current phase of an mbarrier.
    pub(super) fn parity(&mut self, address: u64) -> Result<bool, Fault> {
        let (memory, offset) = self.cluster.memory(address)?;
        Ok(barrier_object::parity(barrier_object::read(memory, offset)?))
    }

    /// Completes transaction bytes of the mbarrier at an address.
    pub(super) fn complete_transfer(&mut self, address: u64, bytes: u32) -> Result<(), Fault> {
        if let Some(log) = &mut self.cluster.log {
            log.moved += u64::from(bytes);
        }
        self.change_object(address, Change::complete(bytes)).map(drop)
    }
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    match context.instruction.op {
        Op::STAS => store_and_tell(context),
        Op::ARRIVES => copies_arrive(context),
        _ if context.has(Mod::PHASECHK) => check_phase(context),
        _ if context.has(Mod::EXCH) => exchange(context),
        _ if context.has(Mod::LD) => read(context),
        _ if context.has(Mod::ARRIVE) => arrive(context),
        _ if context.has(Mod::CCTL) && context.has(Mod::IV) => invalidate(context),
        _ => Err(context.refuse()),
    }
}

/// Addresses of mbarriers: those of another block keep its rank.
fn objects(context: &Context, index: usize, anywhere: bool) -> Result<WideLanes, Fault> {
    let space = if anywhere { Space::Cluster } else { Space::Shared };
    addresses(context, index, space)
}

fn check_phase(context: &mut Context) -> Result<(), Fault> {
    let places = objects(context, 1, false)?;
    let states = context.integer(2)?;
    let mut over = 0;
    each_active(context, |context, lane| {
        let (memory, offset) = context.cluster.memory(places[lane])?;
        let ended = barrier_object::is_over(memory, offset, states[lane])?;
        over |= u32::from(ended) << lane;
        if ended {
            let (who, parity) = (context.who(), states[lane] >> 31 != 0);
            context.cluster.transfers.phase_over((places[lane], parity), who);
            if let Some(log) = &mut context.cluster.log {
                log.passed.push(places[lane]);
            }
        }
        Ok(())
    })?;
    context.write_predicate(0, over)?;
    if context.active & !over != 0 {
        let warp = context.warp_index;
        context.block.poll_in_vain(warp, context.cluster);
        if context.has(Mod::TRYWAIT) {
            context.warp_mut().cycle += TRY;
        }
    }
    Ok(())
}

/// `EXCH`: replaces an mbarrier. All operands are uniform.
fn exchange(context: &mut Context) -> Result<(), Fault> {
    if context.active == 0 {
        return Ok(());
    }
    let lane = context.active.trailing_zeros() as usize;
    let place = objects(context, 1, false)?[lane];
    let object = context.raw_wide(2)?[lane];
    let (memory, offset) = context.cluster.memory(place)?;
    let old = barrier_object::read(memory, offset)?;
    barrier_object::write(memory, offset, object)?;
    context.write_wide(0, &[old; 32])
}

/// `LD`: the value of an mbarrier.
fn read(context: &mut Context) -> Result<(), Fault> {
    let places = objects(context, 1, false)?;
    let mut found = [0; 32];
    each_active(context, |context, lane| {
        let (memory, offset) = context.cluster.memory(places[lane])?;
        found[lane] = barrier_object::read(memory, offset)?;
        Ok(())
    })?;
    context.write_wide(0, &found)
}

fn invalidate(context: &mut Context) -> Result<(), Fault> {
    let places = objects(context, 0, false)?;
    each_active(context, |context, lane| {
        let (memory, offset) = context.cluster.memory(places[lane])?;
        barrier_object::write(memory, offset, 0)
    })
}

/// The change that one lane makes to the counts of an mbarrier: `A` and `T` of the modifier stand for arrivals and
/// transactions, 0 and 1 for themselves, `R` for the operand, and `X` for a subtracted operand.
fn change(context: &Context, operand: u32) -> Change {
    let (arrivals, transactions) = if context.has(Mod::A1T0) {
        (1, 0)
    } else if context.has(Mod::A0T1) {
        (0, 1)
    } else if context.has(Mod::A0TR) {
        (0, i64::from(operand))
    } else if context.has(Mod::A0TX) {
        (0, -i64::from(operand))
    } else if context.has(Mod::ART0) {
        (operand, 0)
    } else {
        (1, i64::from(operand))
    };
    Change { arrivals, transactions, leaves: context.has(Mod::OPTOUT) }
}

fn arrive(context: &mut Context) -> Result<(), Fault> {
    let places = objects(context, 1, context.has(Mod::RED))?;
    let operands = context.integer(2)?;
    let together = context.has(Mod::TMASK);
    let mut states = [[0; 32]; 2];
    // Lanes that arrive in one phase of one mbarrier all get the state before the first of them; with `.TMASK` its low
    // word is the mask of these lanes.
    let mut first: Vec<(u64, u64)> = Vec::new();
    let active = context.active;
    let at_one = |place: u64| {
        let lanes = (0..32).filter(|&lane| active >> lane & 1 != 0 && places[lane] == place);
        lanes.fold(0u64, |mask, lane| mask | 1 << lane)
    };
    each_active(context, |context, lane| {
        let change = change(context, operands[lane]);
        let state = context.change_object(places[lane], change)?;
        let same = |before: &&(u64, u64)| before.0 == places[lane] && before.1 >> 63 == state >> 63;
        let state = first.iter().find(same).map_or(state, |before| before.1);
        first.push((places[lane], state));
        let state = if together { state >> 32 << 32 | at_one(places[lane]) } else { state };
        states[0][lane] = state as u32;
        states[1][lane] = (state >> 32) as u32;
        Ok(())
    })?;
    context.write_tuple(0, &states)
}

/// The copies of each lane are done at once, so that the mbarrier is signalled at once. The older format is read by
/// plain loads.
fn copies_arrive(context: &mut Context) -> Result<(), Fault> {
    if !context.has(Mod::LDGSTSBAR) {
        return Err(context.refuse());
    }
    let places = objects(context, 0, false)?;
    let who = context.who();
    each_active(context, |context, lane| {
        if context.has(Mod::TRANSCNT) || context.has(Mod::ARVCNT) {
            let phase = (places[lane], context.parity(places[lane])?);
            context.cluster.transfers.tell_copies_by(phase, who);
        } else {
            let object = shared_bytes(places[lane], OBJECT_BYTES);
            context.cluster.transfers.forget_copies(who);
            context.cluster.transfers.count_arrival(object, who);
        }
        if context.has(Mod::TRANSCNT) {
            return context.complete_transfer(places[lane], 1);
        }
        if context.has(Mod::ARVCNT) {
            let one = Change { arrivals: 1, transactions: 0, leaves: false };
            return context.change_object(places[lane], one).map(drop);
        }
        let (memory, offset) = context.cluster.memory(places[lane])?;
        let object = barrier_object::read(memory, offset)?;
        barrier_object::write(memory, offset, barrier_object::counted_arrival(object))
    })
}

/// The address of a write and that of the mbarrier to signal, in two registers of each lane.
pub(super) fn told(context: &Context, index: usize) -> Result<(WideLanes, WideLanes), Fault> {
    match context.kind(index)? {
        OperandKind::Memory { base: Some(base), uniform: None | Some(URZ), offset: 0, .. } => {
            let warp = context.warp();
            let [places, objects] = [base, base.saturating_add(1)].map(|at| warp.read(at).map(u64::from));
            Ok((places, objects))
        }
        _ => Err(context.refuse()),
    }
}

fn store_and_tell(context: &mut Context) -> Result<(), Fault> {
    let (places, objects) = told(context, 0)?;
    let words = if context.has(Mod::_128) {
        4
    } else if context.has(Mod::_64) {
        2
    } else {
        1
    };
    let data = registers(context, 1, words)?;
    each_active(context, |context, lane| {
        let values = std::array::from_fn(|part| data[part][lane]);
        let size = 4 * words as u32;
        store_words(place(context, lane, Space::Cluster, places[lane], size)?, &values);
        context.complete_transfer(objects[lane], size)
    })
}
