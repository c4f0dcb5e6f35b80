//! The event of an instruction for an observer: its accesses to memory before it executes, its meetings and signals after
//! that. No change of any state may be made here.

use super::context::{Context, LaunchContext};
use super::load_store::{Space, addresses, data_type, resolve};
use crate::observer::{Access, AccessKind, Event, Meeting, Memory, Observer};
use crate::warp::bits;
use oriole_sass::{Effect, Mod, Op, OperandKind};

/// An instruction that an observer wants, while it executes.
pub(crate) struct Watched<'a> {
    observer: &'a mut dyn Observer,
    accesses: Vec<Access>,
    block: u64,
    cluster: u64,
}

/// The number of a place in a grid of this size.
fn number(place: [u32; 3], size: [u32; 3]) -> u64 {
    let [x, y, z] = place.map(u64::from);
    let [width, height, _] = size.map(u64::from);
    x + width * (y + height * z)
}

/// The numbers of a block and of its cluster in the grid.
fn numbers(launch: &LaunchContext, block: [u32; 3]) -> (u64, u64) {
    let grid = std::array::from_fn(|axis| launch.clusters[axis].saturating_mul(launch.cluster[axis]));
    let cluster = std::array::from_fn(|axis| block[axis] / launch.cluster[axis].max(1));
    (number(block, grid), number(cluster, launch.clusters))
}

impl<'a> Watched<'a> {
    /// Looks at an instruction before it executes.
    pub(crate) fn begin(observer: &'a mut dyn Observer, context: &Context) -> Option<Watched<'a>> {
        let (block, cluster) = numbers(context.launch_context, context.block.index);
        let wanted = observer.wants(block);
        wanted.then(|| Watched { observer, accesses: accesses(context), block, cluster })
    }

    /// Shows the observer the instruction after that.
    pub(crate) fn end(self, context: &mut Context) {
        let mut log = context.cluster.log.take().unwrap_or_default();
        let (arrives, awaits) = meetings(context);
        self.observer.issued(&Event {
            block: self.block,
            cluster: self.cluster,
            warp: context.warp_index as u32,
            index: context.pc,
            lanes: context.group,
            active: context.active,
            accesses: &self.accesses,
            moved: log.moved,
            arrives,
            awaits,
            signals: &log.signals,
            passed: &log.passed,
        });
        log.clear();
        context.cluster.log = Some(log);
    }
}

/// The meetings that an instruction has arrived at and waits for.
fn meetings(context: &mut Context) -> (Option<Meeting>, Option<Meeting>) {
    if context.active == 0 {
        return (None, None);
    }
    let at_cluster = || {
        let lane = context.active.trailing_zeros() as usize;
        Some(Meeting::Cluster { generation: context.warp().cluster_arrivals[lane] })
    };
    match context.instruction.op {
        Op::BAR => {
            let arrival = context.block.arrival.take();
            let meeting = arrival.map(|(barrier, generation)| Meeting::Block { barrier, generation });
            let waits = !context.instruction.mods.has(Mod::ARV);
            (meeting, meeting.filter(|_| waits))
        }
        Op::UCGABAR_ARV => (at_cluster(), None),
        Op::UCGABAR_WAIT => (None, at_cluster()),
        _ => (None, None),
    }
}

/// The accesses of the active lanes. Those of asynchronous engines are not among them. Accesses whose addresses cannot
/// be read are left out: executing the instruction reports why.
fn accesses(context: &Context) -> Vec<Access> {
    if context.active == 0 {
        return Vec::new();
    }
    // Looking at modifiers must not count as knowing them.
    let asked = context.asked.get();
    let found = match context.instruction.op {
        Op::LD | Op::LDG | Op::LDS | Op::LDL | Op::LDSM => plain(context, AccessKind::Load),
        Op::ST | Op::STG | Op::STS | Op::STL | Op::STSM => plain(context, AccessKind::Store),
        Op::LDGSTS => copy(context),
        Op::REDAS => Vec::new(),
        op if op.info().effect == Effect::Atomic && op.info().space.is_some() => {
            plain(context, AccessKind::Atomic)
        }
        _ => Vec::new(),
    };
    context.asked.set(asked);
    found
}

fn is_memory(kind: OperandKind) -> bool {
    matches!(kind, OperandKind::Memory { .. })
}

/// Bytes and lanes of an access: a matrix access has a row of 16 bytes at the address of each of its lanes.
fn shape(context: &Context, kind: AccessKind) -> (u32, u32) {
    let lanes = context.active;
    match context.instruction.op {
        Op::LDSM | Op::STSM => {
            let rows = [(Mod::_4, 32), (Mod::_2, 16)].into_iter().find(|row| context.has(row.0));
            let rows = rows.map_or(8, |row| row.1);
            (16, lanes & (u32::MAX >> (32 - rows)))
        }
        _ if kind == AccessKind::Atomic => (super::atomic::bytes(context).unwrap_or(4), lanes),
        _ if context.has(Mod::_256) => (32, lanes),
        _ => (data_type(context).0, lanes),
    }
}

fn plain(context: &Context, kind: AccessKind) -> Vec<Access> {
    let operands = &context.instruction.operands;
    let Some(index) = operands.iter().position(|operand| is_memory(operand.kind)) else { return Vec::new() };
    let space = match context.instruction.op {
        // Mbarriers are in shared memory.
        Op::SYNCS | Op::ARRIVES => Space::Shared,
        op => Space::of(op),
    };
    let Ok(places) = addresses(context, index, space) else { return Vec::new() };
    let (bytes, lanes) = shape(context, kind);
    let mut found: Vec<Access> = Vec::new();
    for lane in bits(lanes) {
        let (space, address) = resolve(space, places[lane]);
        let memory = match space {
            Space::Shared | Space::Cluster => Memory::Shared,
            Space::Local => Memory::Local,
            Space::Global | Space::Generic => Memory::Global,
        };
        let at = found.iter().position(|access| access.memory == memory).unwrap_or_else(|| {
            found.push(Access { memory, kind, bytes, lanes: 0, addresses: [0; 32] });
            found.len() - 1
        });
        found[at].lanes |= 1 << lane;
        found[at].addresses[lane] = address;
    }
    found
}

/// A copy from global to shared memory.
fn copy(context: &Context) -> Vec<Access> {
    let bytes = data_type(context).0;
    let wanted = if context.count() > 2 { context.predicate(2).unwrap_or(u32::MAX) } else { u32::MAX };
    let access = |index, space, memory, kind, lanes| {
        let addresses = addresses(context, index, space).ok()?;
        (lanes != 0).then_some(Access { memory, kind, bytes, lanes, addresses })
    };
    let from = access(1, Space::Global, Memory::Global, AccessKind::Load, context.active & wanted);
    let to = access(0, Space::Shared, Memory::Shared, AccessKind::Store, context.active);
    from.into_iter().chain(to).collect()
}
