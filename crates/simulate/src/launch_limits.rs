//! Limits of a launch: what chip, kernel and its own directives allow, and the memory that each block and thread gets.

use crate::launch::{Fault, Launch};
use crate::program::{Program, Step};
use oriole_chip::{Chip, Limits, Usage};
use oriole_cubin::Bound;
use oriole_cubin::read::Kernel;
use oriole_sass::{Op, OperandKind};

/// Most threads of a block.
const MOST_THREADS: u32 = 1024;

/// Most threads of a block in each dimension, and most blocks of a grid.
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];
const MOST_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];

/// Most blocks of a cluster.
const MOST_CLUSTER: u64 = 16;

/// Local memory that a thread with calls has beyond the file's statement, in bytes.
const UNKNOWN_STACK: u32 = 0x10000;
/// The general register that is the stack pointer, by convention.
const STACK_POINTER: u8 = 1;

/// Most bytes of local memory that a thread may have.
const MOST_LOCAL: u32 = 512 << 10;

/// Limits of the hardware and of the kernel's own directives on grids and blocks.
fn check_shape(launch: &Launch, bound: Bound) -> Result<(), Fault> {
    let (grid, block) = (launch.grid, launch.block);
    let within = |sizes: [u32; 3], most: [u32; 3]| sizes.iter().zip(most).all(|(&size, most)| size <= most);
    let threads: u64 = block.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
    if grid.contains(&0)
        || !within(grid, MOST_GRID)
        || !within(block, MOST_BLOCK)
        || !(1..=u64::from(MOST_THREADS)).contains(&threads)
    {
        return Err(Fault::Launch(format!("grid {grid:?} with blocks {block:?} cannot be launched")));
    }
    let volume = |sizes: [u32; 3]| sizes.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
    match bound {
        // Only the number of threads counts.
        Bound::AtMost(most) if threads > volume(most) => {
            Err(Fault::Launch(format!("blocks {block:?} for a kernel with `.maxntid` {most:?}")))
        }
        Bound::Exactly(sizes) if block != sizes => {
            Err(Fault::Launch(format!("blocks {block:?} for a kernel with `.reqntid` {sizes:?}")))
        }
        _ => Ok(()),
    }
}

/// Checks launch limits of chip and kernel; returns the bytes of shared memory of a block.
pub(crate) fn fits(chip: Chip, limits: Limits, launch: &Launch, kernel: &Kernel) -> Result<u32, Fault> {
    check_shape(launch, kernel.bound)?;
    check_registers(chip, launch, kernel)?;
    let most_shared = limits.shared_per_block + limits.static_shared_start;
    let shared_size = kernel
        .shared_size
        .max(u64::from(limits.static_shared_start))
        .saturating_add(u64::from(launch.dynamic_shared));
    match u32::try_from(shared_size).ok().filter(|&size| size <= most_shared) {
        Some(size) => Ok(size),
        None => Err(Fault::Launch(format!(
            "{shared_size} bytes of shared memory for a block, {most_shared} at most"
        ))),
    }
}

/// All threads of a block have their registers at the same time.
fn check_registers(chip: Chip, launch: &Launch, kernel: &Kernel) -> Result<(), Fault> {
    let (registers, threads) = (kernel.registers, launch.block.iter().product());
    let held = oriole_chip::occupancy(chip, Usage { registers, shared: 0, threads });
    match held {
        Some(held) if held.blocks == 0 => Err(Fault::Launch(format!(
            "{registers} registers for each of {threads} threads of a block are more than the chip has"
        ))),
        _ => Ok(()),
    }
}

/// The blocks of a cluster: from the kernel, or else from the launch; one block if neither states it.
pub(crate) fn cluster_shape(launch: &Launch, kernel: &Kernel) -> Result<[u32; 3], Fault> {
    if let (Some(required), Some(given)) = (kernel.cluster_size, launch.cluster)
        && required != given
    {
        return Err(Fault::Launch(format!(
            "clusters {given:?} for a kernel with `.reqnctapercluster` {required:?}"
        )));
    }
    let shape = kernel.cluster_size.or(launch.cluster).unwrap_or([1; 3]);
    let blocks = shape.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
    let fits = launch.grid.iter().zip(shape).all(|(&blocks, size)| size != 0 && blocks % size == 0);
    if !fits || blocks > MOST_CLUSTER {
        return Err(Fault::Launch(format!(
            "grid {:?} with clusters {shape:?} cannot be launched",
            launch.grid
        )));
    }
    Ok(shape)
}

/// Bytes of local memory of a thread. The file states the size for a kernel without calls; recursion needs the size
/// that the caller grants.
pub(crate) fn local_bytes(kernel: &Kernel, program: &Program) -> Result<u32, Fault> {
    let stack = kernel.stack_size.unwrap_or(0);
    if stack > MOST_LOCAL {
        return Err(Fault::Launch(format!("a stack of {stack} bytes, {MOST_LOCAL} at most")));
    }
    let steps = || (0..kernel.code.len()).filter_map(|at| program.get(at));
    let calls = steps().any(|step| matches!(step.instruction.op, Op::CALL));
    // The stack pointer is loaded, and the frame is allocated. Further allocations depend on the data.
    let moves = steps().filter(|step| first_register(step) == Some(STACK_POINTER)).count();
    let unknown = calls || moves > 1 + usize::from(stack > 0);
    let stack = stack.next_multiple_of(16);
    Ok(if unknown || kernel.stack_size.is_none() { stack + UNKNOWN_STACK } else { stack })
}

/// The first general register that an instruction names: its destination, if it has one.
fn first_register(step: &Step) -> Option<u8> {
    step.instruction.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Reg(register) => Some(register),
        _ => None,
    })
}
