//! Calls: arguments into the frame or the registers of the callee, and results back.

use smallvec::SmallVec;

use crate::builtin;
use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::lane::{Entered, Lane};
use crate::machine::Machine;
use crate::memory::word;
use crate::observer::{Event, MemorySpace, MemoryUse, Use};
use crate::step::{Action, Argument, CallResult, Formal, FunctionCode};

/// Bytes of a passed value.
type Passed = SmallVec<[u8; 16]>;

/// Enters a function with its arguments; a driver function is executed at once.
pub fn enter(at: &mut LaneContext, callee: usize, arguments: &[Argument]) -> Result<(), Fault> {
    let code = at.machine.code;
    let function = &code.functions[callee];
    // For an array without a size the argument is optional.
    let is_open = matches!(function.parameters.last(), Some(Formal::Open(_)));
    let wanted = function.parameters.len();
    if wanted != arguments.len() && !(is_open && wanted == arguments.len() + 1) {
        return Err(Fault::new(
            FaultKind::Illegal,
            format!("a call of `{}` with {} arguments", function.name, arguments.len()),
        ));
    }
    let passed: SmallVec<[Passed; 4]> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Frame(offset, size) => {
                Passed::from_slice(&at.lane.local[at.lane.frame_range(*offset, *size)])
            }
            Argument::Parameter(offset, size) => {
                let start = *offset as usize;
                Passed::from_slice(&at.machine.memory.parameters[start..start + *size as usize])
            }
            Argument::Value(source) => Passed::from_slice(&at.read(*source).to_le_bytes()),
        })
        .collect();
    let Some(start) = function.start else {
        let values: SmallVec<[u64; 4]> =
            passed.iter().map(|bytes| word(&bytes[..bytes.len().min(8)])).collect();
        let result = builtin::call(at, &function.name, &values)?;
        let size = function.results.first().map_or(0, |formal| match formal {
            Formal::Frame(_, size) | Formal::Register(_, size) => *size as usize,
            Formal::Open(_) => 0,
        });
        let bytes = Passed::from_slice(&result.to_le_bytes()[..size.min(8)]);
        give_results(at.lane, at.lane.pc, &[bytes], at.machine);
        return Ok(());
    };
    let current = &code.functions[code.steps[at.lane.pc as usize].function as usize];
    let lane = &mut *at.lane;
    let open = passed.get(wanted.wrapping_sub(1)).filter(|_| is_open).map_or(0, |bytes| bytes.len() as u32);
    lane.enter(&Entered {
        call: lane.pc,
        callee: callee as u32,
        caller_registers: current.registers,
        registers: function.registers,
        frame_bytes: function.frame_bytes + open.next_multiple_of(16),
    })?;
    for (formal, bytes) in function.parameters.iter().zip(&passed) {
        match formal {
            Formal::Frame(offset, size) => {
                let length = bytes.len().min(*size as usize);
                let range = lane.frame_range(*offset, length as u32);
                lane.local[range].copy_from_slice(&bytes[..length]);
            }
            Formal::Open(offset) => {
                let range = lane.frame_range(*offset, bytes.len() as u32);
                lane.local[range].copy_from_slice(bytes);
            }
            Formal::Register(destination, _) => lane.write(*destination, word(&bytes[..bytes.len().min(8)])),
        }
    }
    lane.pc = start;
    if at.machine.followed {
        show_frame(at, function, function.frame_bytes + open.next_multiple_of(16));
    }
    Ok(())
}

/// Shows the observer the frame of a callee, and that its parameters are there.
fn show_frame(at: &mut LaneContext, function: &FunctionCode, bytes: u32) {
    let thread = at.thread_number();
    let start = at.lane.frame_range(0, 0).start as u64;
    at.machine.tell(&Event::NewFrame { thread, start, bytes });
    for formal in &function.parameters {
        let (offset, bytes) = match formal {
            Formal::Frame(offset, size) => (*offset, *size),
            Formal::Open(offset) => (*offset, bytes.saturating_sub(*offset)),
            Formal::Register(..) => continue,
        };
        let used = MemoryUse {
            thread,
            space: MemorySpace::Local,
            owner: thread.block,
            address: start + u64::from(offset),
            bytes,
            kind: Use::Write,
            of_object: false,
            pc: at.machine.pc,
        };
        at.machine.tell(&Event::Uses(&used));
    }
}

/// Leaves a function and passes its results to the caller.
pub fn leave(lane: &mut Lane, machine: &Machine) -> Result<(), Fault> {
    let code = machine.code;
    let callee = lane.calls.last().map_or(0, |call| call.callee);
    let results: SmallVec<[Passed; 2]> = code.functions[callee as usize]
        .results
        .iter()
        .map(|formal| match formal {
            Formal::Frame(offset, size) => Passed::from_slice(&lane.local[lane.frame_range(*offset, *size)]),
            Formal::Open(_) => Passed::new(),
            Formal::Register(destination, size) => {
                Passed::from_slice(&lane.register(destination.slot).to_le_bytes()[..(*size).min(8) as usize])
            }
        })
        .collect();
    if let Some(call) = lane.leave() {
        lane.cut(&call);
        give_results(lane, call.call, &results, machine);
    }
    Ok(())
}

/// Stores the results of a call in their destinations and continues after it.
fn give_results(lane: &mut Lane, call: u32, results: &[Passed], machine: &Machine) {
    if let Action::Call { results: wanted, .. } = &machine.code.steps[call as usize].action {
        for (wanted, bytes) in wanted.iter().zip(results) {
            match wanted {
                CallResult::Frame(offset, size) => {
                    let length = bytes.len().min(*size as usize);
                    let range = lane.frame_range(*offset, length as u32);
                    lane.local[range].copy_from_slice(&bytes[..length]);
                }
                CallResult::Register(destination) => {
                    lane.write(*destination, word(&bytes[..bytes.len().min(8)]));
                }
            }
        }
    }
    lane.pc = call + 1;
}
