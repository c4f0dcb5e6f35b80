//! The functions that the driver provides to kernels: printing, the heap, failed assertions.

use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::printf;

/// Size of the heap in bytes.
const HEAP_LIMIT: u64 = 1 << 28;

/// Calls the function with the low 64 bits of its arguments; returns its result.
pub fn call(at: &mut LaneContext, name: &str, arguments: &[u64]) -> Result<u64, Fault> {
    match (name, arguments) {
        ("vprintf", [format, values]) => {
            let (text, conversions) = printf::format(at, *format, *values)?;
            at.machine.output.push(text);
            Ok(conversions)
        }
        ("malloc", [size]) => {
            if at.machine.heap.values().sum::<u64>().saturating_add(*size) > HEAP_LIMIT {
                return Ok(0);
            }
            let address = at.machine.memory.add_region(vec![0; *size as usize]);
            at.machine.heap.insert(address, *size);
            Ok(address)
        }
        ("free", [address]) => {
            if *address != 0 && at.machine.heap.remove(address).is_none() {
                let message = format!("free of {address:#x}, which malloc did not give");
                return Err(Fault::new(FaultKind::Illegal, message));
            }
            at.machine.memory.take_region(*address);
            Ok(0)
        }
        ("__assertfail", [message, file, line, function, ..]) => {
            let [message, file, function] = [message, file, function].map(|address| at.string_at(*address));
            let (message, file, function) = (message?, file?, function?);
            Err(Fault::new(
                FaultKind::Trap,
                format!("assertion `{message}` failed: {file}:{line}, {function}", line = *line as u32),
            ))
        }
        _ => Err(Fault::new(FaultKind::NotSupported, format!("not supported: a call of `{name}`"))),
    }
}
