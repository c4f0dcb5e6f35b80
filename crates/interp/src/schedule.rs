//! Scheduling of the lanes of a warp, and the execution of their steps.
//!
//! Every lane has its own program counter. The lanes that are deepest in calls, and among them those at the lowest
//! step, run together until they meet others or a control instruction: so divergent lanes reconverge where their paths
//! do. A lane that starves gets a turn of its own, because a lane may spin on another one's progress.

use crate::barrier;
use crate::collective::evaluate;
use crate::context::LaneContext;
use crate::execute;
use crate::fault::{Fault, FaultKind};
use crate::lane::{SpecialValues, State, members};
use crate::loose;
use crate::machine::{BlockState, Machine};
use crate::mbarrier::parity_of_state;
use crate::observer::Event;
use crate::step::{Action, BarrierOperation, Source};
use crate::warp::Warp;

/// Steps of a warp after which a lane that could run and did not is favoured.
const PATIENCE: u64 = 20_000;
/// Steps for which it is favoured.
const FAVOUR: u64 = 2_000;
/// Steps of warps between two questions whether the run goes on.
const BETWEEN_QUESTIONS: u64 = 4096;
/// No step: nothing ahead to stop at.
const NOWHERE: u32 = u32::MAX;

impl Warp {
    /// Answers all lanes that poll mbarriers. A waiting lane polls again, so that an incomplete phase only costs time.
    pub fn answer_tests(&mut self, machine: &mut Machine, block: &mut BlockState) -> Result<(), Fault> {
        let waiting = self.lanes_where(|lane| lane.state == State::Object);
        if waiting == 0 {
            return Ok(());
        }
        let code = machine.code;
        let specials = machine.special_values(block, self.index);
        for lane in members(waiting) {
            let pc = self.lanes[lane].pc;
            let Action::ObjectTest { location, phase, parity, destination, reported } =
                &code.steps[pc as usize].action
            else {
                unreachable!("a lane that waits for an object is at a test")
            };
            let mut context = LaneContext {
                lane: &mut self.lanes[lane],
                number: lane as u32,
                machine: &mut *machine,
                block: &mut *block,
                specials: &specials,
            };
            context.machine.watch.begin((context.block.rank, self.index as usize), pc, false);
            context.machine.pc = pc;
            let phase = context.read(*phase);
            let phase = if *parity { phase & 1 != 0 } else { parity_of_state(phase) };
            let over = context
                .phase_is_over(location, phase)
                .map_err(|fault| machine.locate(fault, pc, block, &self.lanes[lane]))?;
            self.lanes[lane].write(*destination, u64::from(over));
            reported.iter().for_each(|destination| self.lanes[lane].write(*destination, 0));
            self.release(lane);
        }
        Ok(())
    }

    /// Lets the lanes retry that wait for columns of tensor memory.
    pub fn ask_for_columns(&mut self, machine: &mut Machine, block: &mut BlockState) -> Result<(), Fault> {
        let waiting = self.lanes_where(|lane| lane.state == State::Columns);
        if waiting == 0 {
            return Ok(());
        }
        let code = machine.code;
        for lane in members(waiting) {
            if let Action::Matrix(step) = &code.steps[self.lanes[lane].pc as usize].action {
                self.lanes[lane].state = State::Collective(step.key, u32::MAX);
            }
        }
        let specials = machine.special_values(block, self.index);
        self.meet(machine, block, &specials)
    }

    /// Runs until no lane can, or for this many steps.
    pub fn run(&mut self, machine: &mut Machine, block: &mut BlockState, quantum: u64) -> Result<(), Fault> {
        let end = self.steps + quantum;
        // Divergent lanes stay divergent as long as they may.
        self.apart = machine.choices.order == 3;
        while self.steps < end {
            let Some(leader) = self.leader() else { return Ok(()) };
            let (pc, depth) = (self.lanes[leader].pc, self.lanes[leader].calls.len());
            let group = self
                .lanes_where(|lane| lane.state == State::Ready && lane.pc == pc && lane.calls.len() == depth);
            let stop = if self.favoured.is_some() || self.apart {
                NOWHERE
            } else {
                self.lanes
                    .iter()
                    .filter(|lane| lane.state == State::Ready && lane.calls.len() == depth && lane.pc > pc)
                    .map(|lane| lane.pc)
                    .min()
                    .unwrap_or(NOWHERE)
            };
            self.advance(machine, block, group, pc, stop, end)?;
        }
        Ok(())
    }

    /// The lane whose group runs next.
    fn leader(&mut self) -> Option<usize> {
        if let Some((lane, until)) = self.favoured {
            if self.steps < until && self.lanes[lane].state == State::Ready {
                return Some(lane);
            }
            self.favoured = None;
        }
        let ready = || self.lanes.iter().enumerate().filter(|(_, lane)| lane.state == State::Ready);
        let (starved, last) =
            ready().map(|(index, lane)| (index, lane.last)).min_by_key(|(_, last)| *last)?;
        if self.steps - last > PATIENCE {
            self.favoured = Some((starved, self.steps + FAVOUR));
            return Some(starved);
        }
        if self.apart {
            return ready().max_by_key(|(_, lane)| (lane.calls.len(), lane.pc)).map(|(index, _)| index);
        }
        ready().min_by_key(|(_, lane)| (std::cmp::Reverse(lane.calls.len()), lane.pc)).map(|(index, _)| index)
    }

    /// Executes steps of a group from `pc` until it reaches `stop`, a control instruction, or `end` steps.
    fn advance(
        &mut self,
        machine: &mut Machine,
        block: &mut BlockState,
        group: u32,
        mut pc: u32,
        stop: u32,
        end: u64,
    ) -> Result<(), Fault> {
        let code = machine.code;
        loop {
            let step = &code.steps[pc as usize];
            machine.pc = pc;
            self.steps += 1;
            machine.clock += 1;
            let active = match step.guard {
                None => group,
                Some((slot, negated)) => members(group)
                    .filter(|&lane| (self.lanes[lane].register(slot) & 1 != 0) != negated)
                    .fold(0, |mask, lane| mask | 1 << lane),
            };
            machine.instructions += u64::from(active.count_ones());
            if machine.instructions > machine.budget || machine.clock > machine.budget {
                return Err(Fault::new(FaultKind::Budget, "the budget of instructions is used up"));
            }
            if machine.clock.is_multiple_of(BETWEEN_QUESTIONS)
                && machine.observer.as_ref().is_some_and(|observer| !observer.goes_on())
            {
                return Err(Fault::new(FaultKind::Stopped, "the run was given up"));
            }
            self.leave_products_alone(machine, block, active, pc)?;
            if machine.watch.is_on() && active != 0 {
                machine.watch.begin((block.rank, self.index as usize), pc, step.tells);
            }
            let copied =
                if machine.followed { self.show_step(machine, block, (group, active), pc) } else { 0 };
            let specials = machine.special_values(block, self.index);
            if is_control(&step.action) {
                for lane in members(group) {
                    self.lanes[lane].pc = if active >> lane & 1 != 0 { pc } else { pc + 1 };
                    self.lanes[lane].last = self.steps;
                }
                self.control(machine, block, active, pc, &specials)?;
                return self.follow_rules(machine, block, active, pc);
            }
            let mut left = active;
            while left != 0 {
                let backwards = machine.choices.backwards();
                let lane = if backwards { left.ilog2() } else { left.trailing_zeros() } as usize;
                left &= !(1 << lane);
                let mut context = LaneContext {
                    lane: &mut self.lanes[lane],
                    number: lane as u32,
                    machine: &mut *machine,
                    block: &mut *block,
                    specials: &specials,
                };
                let choices = context.machine.choices;
                let loose = step.loose.filter(|_| choices.rounding != 0 || choices.fill != 0);
                let operands = loose.map(|loose| (loose, loose::operands(&context, &step.action)));
                execute::sequential(&mut context, &step.action)
                    .map_err(|fault| machine.locate(fault, pc, block, &self.lanes[lane]))?;
                if let Some((loose, operands)) = operands {
                    loose.nudge(&mut self.lanes[lane], &step.action, operands, choices);
                }
            }
            members(copied).for_each(|lane| self.lanes[lane].unwrite(&step.writes));
            self.follow_rules(machine, block, active, pc)?;
            pc += 1;
            if pc == stop || self.steps >= end {
                for lane in members(group) {
                    self.lanes[lane].pc = pc;
                    self.lanes[lane].last = self.steps;
                }
                return Ok(());
            }
        }
    }

    /// Executes a control instruction for the active lanes, whose `pc` is still at it.
    fn control(
        &mut self,
        machine: &mut Machine,
        block: &mut BlockState,
        active: u32,
        pc: u32,
        specials: &SpecialValues,
    ) -> Result<(), Fault> {
        let code = machine.code;
        let step = &code.steps[pc as usize];
        match &step.action {
            Action::Branch(target) => {
                for lane in members(active) {
                    self.lanes[lane].pc = *target;
                }
            }
            Action::ActiveMask(destination) => {
                for lane in members(active) {
                    self.lanes[lane].write(*destination, u64::from(active));
                    self.lanes[lane].pc += 1;
                }
            }
            Action::Collective { key, members: mask, .. } => {
                for lane in members(active) {
                    let mask = match mask {
                        Some(mask) => self.lanes[lane].read(*mask, lane as u32, specials) as u32,
                        None => active,
                    };
                    if mask >> lane & 1 == 0 {
                        let fault = Fault::new(
                            FaultKind::Illegal,
                            format!("lane {lane} is not in its own member mask {mask:#x}"),
                        );
                        return Err(machine.locate(fault, pc, block, &self.lanes[lane]));
                    }
                    self.lanes[lane].state = State::Collective(*key, mask);
                }
                self.meet(machine, block, specials)?;
            }
            Action::Matrix(matrix) => {
                for lane in members(active) {
                    self.lanes[lane].state = State::Collective(matrix.key, u32::MAX);
                }
                self.meet(machine, block, specials)?;
            }
            Action::ObjectTest { .. } => {
                members(active).for_each(|lane| self.lanes[lane].state = State::Object);
            }
            Action::ClusterWait => {
                machine.watch.wait_for_cluster();
                for lane in members(active) {
                    if self.lanes[lane].cluster_arrivals > machine.cluster_meetings {
                        self.lanes[lane].state = State::Cluster;
                    } else {
                        self.show_cluster_wait(machine, block, lane);
                        self.lanes[lane].pc += 1;
                    }
                }
            }
            Action::Barrier { id, operation, .. } => {
                machine.events += 1;
                for lane in members(active) {
                    let id = self.lanes[lane].read(*id, lane as u32, specials);
                    machine.watch.arrive(id, *operation != BarrierOperation::Arrive);
                    if machine.followed {
                        let thread = self.thread_number(block, lane);
                        machine.tell(&Event::Arrives { thread, barrier: id as u32 });
                    }
                    let barriers = &mut block.barriers;
                    let arrived =
                        barrier::arrive(&mut self.lanes[lane], lane, &step.action, barriers, specials);
                    let blocked =
                        arrived.map_err(|fault| machine.locate(fault, pc, block, &self.lanes[lane]))?;
                    if !blocked {
                        self.lanes[lane].pc += 1;
                    }
                }
            }
            _ => {
                let mut ended = false;
                for lane in members(active) {
                    let mut context = LaneContext {
                        lane: &mut self.lanes[lane],
                        number: lane as u32,
                        machine: &mut *machine,
                        block: &mut *block,
                        specials,
                    };
                    execute::transfer(&mut context, &step.action)
                        .map_err(|fault| machine.locate(fault, pc, block, &self.lanes[lane]))?;
                    ended |= self.lanes[lane].state == State::Exited;
                    if machine.followed && self.lanes[lane].state == State::Exited {
                        let thread = self.thread_number(block, lane);
                        machine.tell(&Event::Exits { thread });
                    }
                }
                if ended {
                    machine.events += 1;
                    // Collective instructions do not wait for lanes that have exited.
                    self.meet(machine, block, specials)?;
                }
            }
        }
        Ok(())
    }

    /// Executes every collective instruction whose members have all arrived.
    fn meet(
        &mut self,
        machine: &mut Machine,
        block: &mut BlockState,
        specials: &SpecialValues,
    ) -> Result<(), Fault> {
        let live = self.live();
        let mut waiting = self.lanes_where(|lane| matches!(lane.state, State::Collective(..)));
        while waiting != 0 {
            let first = waiting.trailing_zeros() as usize;
            let state = self.lanes[first].state;
            let State::Collective(_, mask) = state else { unreachable!("the lane waits for others") };
            let together = self.lanes_where(|lane| lane.state == state);
            waiting &= !together;
            if mask & live == together & mask {
                match &machine.code.steps[self.lanes[first].pc as usize].action {
                    Action::Matrix(_) => self.matrix(together, machine, block, specials)?,
                    _ => self.collective(machine, block, mask & live, specials),
                }
                if machine.followed {
                    self.show_meeting(machine, block, mask & live);
                }
                for lane in members(mask & live) {
                    // A lane that waits for columns continues when there are some.
                    if self.lanes[lane].state != State::Columns {
                        self.release(lane);
                    }
                }
            }
        }
        Ok(())
    }

    fn collective(&mut self, machine: &mut Machine, block: &BlockState, mask: u32, specials: &SpecialValues) {
        let mut operands = [[0u64; 3]; 32];
        for lane in members(mask) {
            let Action::Collective { sources, .. } = &machine.code.steps[self.lanes[lane].pc as usize].action
            else {
                unreachable!("a lane that waits for others is at a collective instruction")
            };
            operands[lane] =
                sources.map(|source: Source| self.lanes[lane].read(source, lane as u32, specials));
        }
        if machine.followed {
            self.show_absent_lanes(machine, block, mask, &operands);
        }
        for lane in members(mask) {
            let Action::Collective { operation, destinations, .. } =
                &machine.code.steps[self.lanes[lane].pc as usize].action
            else {
                unreachable!("a lane that waits for others is at a collective instruction")
            };
            let results = evaluate(*operation, lane as u32, mask, &operands);
            for (destination, result) in destinations.iter().zip(results) {
                self.lanes[lane].write(*destination, result);
            }
        }
    }

    /// Whether the step at `pc` has kept the rules for copies.
    fn follow_rules(
        &self,
        machine: &mut Machine,
        block: &BlockState,
        active: u32,
        pc: u32,
    ) -> Result<(), Fault> {
        if !machine.watch.is_on() {
            return Ok(());
        }
        if machine.followed {
            let lane = active.trailing_zeros() as usize % self.lanes.len();
            while let Some((rule, other)) = machine.watch.broken() {
                let thread = self.thread_number(block, lane);
                machine.tell(&Event::Breaks { thread, pc, rule, other });
            }
            return Ok(());
        }
        match machine.watch.fault(machine.code) {
            Some(fault) => {
                let lane = &self.lanes[active.trailing_zeros() as usize % self.lanes.len()];
                Err(machine.locate(fault, pc, block, lane))
            }
            None => Ok(()),
        }
    }

    /// A step must not use registers that MMAs in flight write, unless it is an MMA itself.
    fn leave_products_alone(
        &self,
        machine: &Machine,
        block: &BlockState,
        active: u32,
        pc: u32,
    ) -> Result<(), Fault> {
        let step = &machine.code.steps[pc as usize];
        if self.products.is_empty() || active == 0 || matches!(step.action, Action::Matrix(_)) {
            return Ok(());
        }
        let lane = &self.lanes[active.trailing_zeros() as usize];
        if self.products.writes_one_of(&step.touched, lane.calls.len()) {
            let text = "a register is used that a matrix multiply in flight has yet to write";
            return Err(machine.locate(Fault::new(FaultKind::Illegal, text), pc, block, lane));
        }
        Ok(())
    }
}

/// True for an instruction that changes control flow or the state of lanes.
fn is_control(action: &Action) -> bool {
    matches!(
        action,
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
            | Action::Trap
    )
}
