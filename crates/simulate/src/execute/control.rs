//! Control flow: branches, calls, convergence, barriers and exit. These instructions rearrange the groups of the warp.

use super::context::{Context, Next};
use crate::block::{Arrival, Reduction};
use crate::constants::{CODE_BASE, extern_function};
use crate::launch::Fault;
use crate::warp::{Group, Lanes, Wait, bits};
use oriole_sass::{Mod, Op, OperandKind};

/// Places from this one on are not instructions but functions that the file does not define, by the index of the
/// symbol. No code is as long.
const OUTSIDE: u32 = 1 << 27;
/// Number of symbols that can have such a place.
const MOST_OUTSIDE: u64 = 1 << 24;

/// The symbol index of a place that is a function outside the file.
pub(crate) fn outside(pc: u32) -> Option<u32> {
    pc.checked_sub(OUTSIDE)
}

/// Backward branches after which a group yields to others: a group that waits in a loop for another one's progress must
/// not run forever.
const PATIENCE: u32 = 64;

impl Context<'_> {
    fn current(&mut self) -> &mut Group {
        let warp = &mut self.block.warps[self.warp_index];
        let current = warp.current;
        &mut warp.groups[current]
    }

    /// Sets the group's place after this instruction.
    fn fall_through(&mut self) {
        let next = self.pc + 1;
        self.current().pc = next;
    }

    /// Moves some lanes of the group to other places; the others continue after this instruction and run first.
    fn branch(&mut self, moves: &[(u32, u32)]) {
        let taken = moves.iter().fold(0, |mask, entry| mask | entry.0);
        let pc = self.pc;
        let others = self.group & !taken;
        let backward = moves.iter().any(|&(_, target)| target <= pc);
        let mut moves = moves.iter().filter(|entry| entry.0 != 0);
        if others == 0 {
            if let Some(&(lanes, target)) = moves.next() {
                let apart = self.current().apart;
                *self.current() = Group { lanes, pc: target, wait: Wait::Ready, apart };
            }
        } else {
            self.current().lanes = others;
            self.fall_through();
        }
        let apart = self.current().apart;
        let warp = self.warp_mut();
        for &(lanes, target) in moves {
            warp.groups.push(Group { lanes, pc: target, wait: Wait::Ready, apart });
        }
        if backward && warp.groups.len() > 1 {
            warp.patience += 1;
            if warp.patience > PATIENCE {
                warp.give_way();
            }
        }
    }

    /// Makes some lanes of the group wait after this instruction; the function gives each lane's wait.
    fn wait(&mut self, lanes: u32, wait: impl Fn(usize) -> Wait) {
        self.fall_through();
        let next = self.pc + 1;
        let mut parts: Vec<Group> = Vec::new();
        for lane in bits(lanes) {
            let reason = wait(lane);
            match parts.iter_mut().find(|part| part.wait == reason) {
                Some(part) => part.lanes |= 1 << lane,
                None => parts.push(Group { lanes: 1 << lane, pc: next, wait: reason, apart: 0 }),
            }
        }
        let others = self.group & !lanes;
        let mut parts = parts.into_iter();
        if others != 0 {
            self.current().lanes = others;
        } else if let Some(first) = parts.next() {
            *self.current() = first;
        }
        let warp = self.warp_mut();
        warp.groups.extend(parts);
        warp.release();
    }

    /// The instruction index of a byte offset.
    fn index(&self, offset: i64) -> Result<u32, Fault> {
        self.launch_context.shape.beginning_at(offset).filter(|&at| at < OUTSIDE).ok_or(Fault::RunAway)
    }

    /// The place at an address: an instruction, or a function outside the file.
    fn place(&self, address: u64) -> Result<u32, Fault> {
        match extern_function(address) {
            Some(number) if number < MOST_OUTSIDE => Ok(OUTSIDE + number as u32),
            _ => self.index(address.wrapping_sub(CODE_BASE) as i64),
        }
    }

    /// The index of a relative target.
    fn target(&self, index: usize) -> Result<u32, Fault> {
        match self.kind(index)? {
            OperandKind::Target(distance) | OperandKind::Imm(distance) => {
                self.index(self.launch_context.shape.end(self.pc) + distance)
            }
            _ => Err(self.refuse()),
        }
    }

    /// Lanes grouped by the targets that a function gives.
    fn by_target(
        &self,
        lanes: u32,
        target: impl Fn(usize) -> Result<u32, Fault>,
    ) -> Result<Vec<(u32, u32)>, Fault> {
        let mut moves: Vec<(u32, u32)> = Vec::new();
        for lane in bits(lanes) {
            let index = target(lane)?;
            match moves.iter_mut().find(|entry| entry.1 == index) {
                Some(entry) => entry.0 |= 1 << lane,
                None => moves.push((1 << lane, index)),
            }
        }
        Ok(moves)
    }

    /// Branches to a register plus a distance from after this instruction (or plus nothing, if absolute).
    fn branch_indirect(&mut self, register: usize, lanes: u32, absolute: bool) -> Result<(), Fault> {
        let values = self.raw_wide(register)?;
        let distance = match self.instruction.operands.get(register + 1).map(|operand| operand.kind) {
            Some(OperandKind::Target(distance) | OperandKind::Imm(distance)) => distance,
            None => 0,
            _ => return Err(self.refuse()),
        };
        let moves = self.by_target(lanes, |lane| {
            if absolute {
                return self.place(values[lane].wrapping_add(distance as u64));
            }
            let base = self.launch_context.shape.end(self.pc) + distance;
            // The upper half of a text offset may be missing in a table of 32-bit entries.
            self.index(i64::from((values[lane] as u32).wrapping_add(base as u32)))
        })?;
        let called = matches!(self.instruction.op, Op::CALL) && moves.len() > 1;
        let returned = matches!(self.instruction.op, Op::RET) && lanes != 0 && lanes != self.group;
        if called || returned {
            let (lanes, pc) = (if called { lanes } else { self.group }, self.pc);
            self.warp_mut().partings.part(lanes, pc);
        }
        self.branch(&moves);
        Ok(())
    }

    /// Lets all lanes continue at the address in a pair of registers.
    pub(super) fn go_to(&mut self, register: u8) -> Result<(), Fault> {
        let [low, high] = [register, register + 1].map(|register| self.warp().read(register));
        let moves = self
            .by_target(self.active, |lane| self.place(u64::from(low[lane]) | u64::from(high[lane]) << 32))?;
        self.branch(&moves);
        Ok(())
    }

    /// The lanes that act, under guard and the predicate operand that comes first.
    fn acting(&self) -> Result<u32, Fault> {
        Ok(if self.is_predicate(0) { self.active & self.predicate(0)? } else { self.active })
    }
}

pub(super) fn execute(context: &mut Context) -> Result<Next, Fault> {
    use Op::*;
    match context.instruction.op {
        BRA => branch_direct(context)?,
        BRX | BRXU => {
            let lanes = context.acting()?;
            context.branch_indirect(1, lanes, false)?;
        }
        CALL => call(context)?,
        RET => {
            let lanes = context.acting()?;
            let absolute = context.has(Mod::ABS);
            context.branch_indirect(1, lanes, absolute)?;
        }
        EXIT | KILL => {
            let lanes = context.acting()?;
            exit(context, lanes);
        }
        BSSY => {
            let barrier = barrier(context, 1)?;
            let lanes = context.acting()?;
            for lane in bits(lanes) {
                context.warp_mut().barriers[barrier][lane] = lanes;
            }
            context.fall_through();
        }
        BSYNC => {
            let barrier = barrier(context, 1)?;
            let lanes = context.acting()?;
            let masks = context.warp().barriers[barrier];
            context.wait(lanes, |lane| Wait::Convergence {
                barrier: barrier as u8,
                mask: masks[lane] | 1 << lane,
            });
        }
        BREAK => {
            let barrier = barrier(context, 1)?;
            let lanes = context.acting()?;
            leave(context, barrier, lanes);
            context.fall_through();
            context.warp_mut().release();
        }
        WARPSYNC => warp_sync(context)?,
        ENDCOLLECTIVE => {
            let lanes = context.acting()?;
            let targets = context.warp().collective;
            let shape = context.launch_context.shape;
            let moves =
                context.by_target(lanes, |lane| context.index(i64::from(shape.address(targets[lane]))))?;
            context.branch(&moves);
        }
        YIELD | NANOSLEEP => {
            context.fall_through();
            context.warp_mut().give_way();
        }
        BMOV => move_barrier(context)?,
        BAR => synchronize(context)?,
        UCGABAR_ARV => {
            for lane in bits(context.active) {
                context.warp_mut().cluster_arrivals[lane] += 1;
            }
            context.fall_through();
        }
        UCGABAR_WAIT => {
            let (lanes, meetings) = (context.active, context.cluster.meetings);
            let arrivals = context.warp().cluster_arrivals;
            let waiting =
                bits(lanes).filter(|&lane| arrivals[lane] > meetings).fold(0, |mask, lane| mask | 1 << lane);
            if waiting == 0 {
                context.fall_through();
            } else {
                context.wait(waiting, |_| Wait::Cluster);
            }
        }
        RPCMOV => move_return_address(context)?,
        BPT if context.active != 0 => return Err(Fault::Trap),
        BPT => context.fall_through(),
        _ => return Err(context.refuse()),
    }
    Ok(Next::Done)
}

/// `USETMAXREG`: an attempt always succeeds. A release of registers cannot increase their number.
pub(super) fn change_registers(context: &mut Context) -> Result<(), Fault> {
    let last = context.count() - 1;
    let count = context.integer(last)?[0];
    if context.active != 0 {
        let held = std::mem::replace(&mut context.warp_mut().registers, count);
        if context.has(Mod::DEALLOC) && count > held {
            return Err(Fault::RegistersRaised { asked: count, held });
        }
        if last > 0 {
            context.write_predicate(0, u32::MAX)?;
        }
    }
    Ok(())
}

fn call(context: &mut Context) -> Result<(), Fault> {
    let lanes = context.acting()?;
    match context.kind(1)? {
        OperandKind::Reg(_) | OperandKind::UReg(_) => {
            let absolute = context.has(Mod::ABS);
            context.branch_indirect(1, lanes, absolute)
        }
        OperandKind::Imm(address) if context.has(Mod::ABS) => {
            let target = context.place(address as u64)?;
            context.branch(&[(lanes, target)]);
            Ok(())
        }
        _ => {
            let target = context.target(1)?;
            context.branch(&[(lanes, target)]);
            Ok(())
        }
    }
}

fn warp_sync(context: &mut Context) -> Result<(), Fault> {
    let lanes = context.acting()?;
    let masks: Lanes = if context.has(Mod::ALL) { [context.warp().live; 32] } else { context.integer(1)? };
    if context.has(Mod::COLLECTIVE) {
        let target = context.target(context.count().saturating_sub(1))?;
        context.wait(lanes, |lane| Wait::Collective { mask: masks[lane] | 1 << lane, target });
    } else {
        let exclusive = context.has(Mod::EXCLUSIVE);
        context.wait(lanes, |lane| Wait::Sync { mask: masks[lane] | 1 << lane, exclusive });
    }
    Ok(())
}

fn barrier(context: &Context, index: usize) -> Result<usize, Fault> {
    match context.kind(index)? {
        OperandKind::Barrier(number) => Ok(number as usize & 15),
        _ => Err(context.refuse()),
    }
}

fn branch_direct(context: &mut Context) -> Result<(), Fault> {
    let last = context.count() - 1;
    let target = context.target(last)?;
    let mut lanes = context.active;
    for index in 0..last {
        if context.is_predicate(index) {
            lanes &= context.predicate(index)?;
        }
    }
    if context.has(Mod::DIV) || context.has(Mod::CONV) {
        let live = context.warp().live;
        let wanted = match context.kind(last - 1)? {
            OperandKind::UReg(_) => context.integer(last - 1)?[0],
            _ => u32::MAX,
        } & live;
        if (wanted == context.group) == context.has(Mod::DIV) {
            lanes = 0;
        }
    }
    if context.has(Mod::ANY) && lanes != 0 {
        // One lane that exits takes all with it.
        lanes = context.group;
    }
    context.branch(&[(lanes, target)]);
    Ok(())
}

/// Removes lanes from the sets of a barrier that they are in. Other lanes that wait at the same barrier may be in
/// another set: a function saves its caller's barrier and restores it, while lanes of the caller wait.
fn leave(context: &mut Context, barrier: usize, lanes: u32) {
    let warp = context.warp_mut();
    let masks = warp.barriers[barrier];
    // A set is identified by its lanes.
    let left =
        |mask: u32| bits(lanes).filter(|&lane| masks[lane] == mask).fold(0, |all, lane| all | 1 << lane);
    for mask in &mut warp.barriers[barrier] {
        *mask &= !left(*mask);
    }
    for group in &mut warp.groups {
        if let Wait::Convergence { barrier: at, mask } = &mut group.wait
            && *at as usize == barrier
        {
            *mask &= !left(*mask);
        }
    }
}

fn exit(context: &mut Context, lanes: u32) {
    context.fall_through();
    let others = context.group & !lanes;
    context.current().lanes = others;
    let warp = context.warp_mut();
    warp.live &= !lanes;
    if others == 0 {
        let current = warp.current;
        warp.groups.remove(current);
        warp.current = if warp.groups.is_empty() { 0 } else { current % warp.groups.len() };
    }
    warp.release();
    for barrier in 0..16 {
        complete(context, barrier);
    }
}

fn move_barrier(context: &mut Context) -> Result<(), Fault> {
    let active = context.active;
    match (context.kind(0)?, context.kind(1)?) {
        (OperandKind::Reg(_), OperandKind::Barrier(number)) => {
            let number = number as usize & 15;
            let values = context.warp().barriers[number];
            context.write(0, &values)?;
            if context.has(Mod::CLEAR) {
                for lane in bits(active) {
                    context.warp_mut().barriers[number][lane] = 0;
                }
            }
        }
        (OperandKind::Barrier(number), OperandKind::Reg(_) | OperandKind::Imm(_) | OperandKind::UReg(_)) => {
            let values = context.integer(1)?;
            for lane in bits(active) {
                context.warp_mut().barriers[number as usize & 15][lane] = values[lane];
            }
        }
        (OperandKind::Barrier(to), OperandKind::Barrier(from)) => {
            let (to, from) = (to as usize & 15, from as usize & 15);
            let clear = context.has(Mod::CLEAR) && to != from;
            let barriers = &mut context.warp_mut().barriers;
            for lane in bits(active) {
                barriers[to][lane] = barriers[from][lane];
                barriers[from][lane] &= if clear { 0 } else { u32::MAX };
            }
        }
        _ => return Err(context.refuse()),
    }
    context.fall_through();
    Ok(())
}

/// Some code uses the halves of the return address as registers.
fn move_return_address(context: &mut Context) -> Result<(), Fault> {
    let half = |kind: OperandKind| match kind {
        OperandKind::Symbol(symbol) => ["Rpc.LO", "Rpc.HI"].iter().position(|name| *name == symbol.name()),
        _ => None,
    };
    let (to, from) = (context.kind(0)?, context.kind(1)?);
    match (half(to), half(from)) {
        (Some(at), None) => {
            let (values, active) = (context.integer(1)?, context.active);
            let place = &mut context.warp_mut().return_address[at];
            bits(active).for_each(|lane| place[lane] = values[lane]);
        }
        (None, Some(at)) => {
            let values = context.warp().return_address[at];
            context.write(0, &values)?;
        }
        _ => return Err(context.refuse()),
    }
    context.fall_through();
    Ok(())
}

fn synchronize(context: &mut Context) -> Result<(), Fault> {
    let lanes = context.active;
    if lanes == 0 {
        context.fall_through();
        return Ok(());
    }
    if context.has(Mod::SCAN) {
        return Err(context.refuse());
    }
    let first = lanes.trailing_zeros() as usize;
    // With index and count in registers it is one register: the index in the low half, the count in the upper one.
    let number = context.kind(0)?;
    let packed = matches!(number, OperandKind::Reg(_))
        && context.instruction.operands.get(1).is_some_and(|operand| operand.kind == number);
    let (mut barrier, mut expected) = (context.integer(0)?[first], context.integer(1)?[first]);
    if packed {
        (barrier, expected) = (barrier & 0xffff, expected >> 16);
    }
    if barrier > 15 {
        return Err(Fault::NotSimulated(format!("barrier {barrier}")));
    }
    let reduces = context.has(Mod::RED);
    let arrival = Arrival {
        barrier: barrier as usize,
        warp: context.warp_index,
        lanes,
        expected,
        vote: if reduces { context.predicate(2)? } else { 0 },
        reduction: if context.has(Mod::AND) {
            Reduction::And
        } else if context.has(Mod::OR) {
            Reduction::Or
        } else {
            Reduction::Count
        },
    };
    if context.has(Mod::ARV) {
        context.fall_through();
    } else {
        context.wait(lanes, |_| Wait::Block { barrier: barrier as u8 });
    }
    context.block.arrive(arrival);
    let (who, waits) = (context.who(), !context.has(Mod::ARV));
    context.cluster.transfers.arrive(who, barrier as usize, waits);
    complete(context, barrier as usize);
    Ok(())
}

/// Completes a barrier if all threads have arrived.
fn complete(context: &mut Context, barrier: usize) {
    if context.block.complete(barrier) {
        context.cluster.transfers.met(context.block.rank, barrier);
    }
}
