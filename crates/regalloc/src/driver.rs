//! The driver of register allocation: the order of the register files, and their register limits.

use crate::allocation::{Allocation, Prepared};
use crate::error::AllocateError;
use crate::frame::{self, FRAME_ALIGN};
use crate::linear_scan::ScanInputs;
use crate::one_file::{general, predicates, usable};
use crate::operands::alignment;
use crate::reallocate::{improve, start};
use crate::rename::rename;
use crate::set::RegisterSet;
use crate::work::Work;
use crate::{abi, color, handles, operands};
use oriole_chip::{Chip, RegisterFiles, allocated, nameable};
use oriole_options::AllocateOptions;
use oriole_ori::{Assignment, File, Function, Grants, Opcode, Origin, Pseudo, Value};

/// Makes the stack pointer and resolves addresses in the frame.
pub fn prepare(mut function: Function, chip: Chip) -> Result<Prepared, AllocateError> {
    for block in &function.blocks {
        if !block.phis.is_empty() {
            return Err(AllocateError::Input("a phi".into()));
        }
        if block.instructions.iter().any(|i| !i.tied.is_empty()) {
            return Err(AllocateError::Input("a guarded definition in SSA form".into()));
        }
    }
    if chip.uniform_handles() {
        handles::complete(chip, &mut function);
    }
    let stack_pointer = function.new_value(File::R, None);
    let frame = frame::layout(&function)?;
    frame::resolve(&mut function, &frame, stack_pointer)?;
    Ok(Prepared { function, stack_pointer, frame })
}

/// General registers that the instruction with the highest register demand needs, stack pointer included; at most all
/// of them. Also returns the statement of that instruction.
fn least(function: &Function, stack_pointer: Value, all: u16) -> (u16, Origin) {
    let (mut most, mut origin) = (0, Origin(0));
    for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
        if operands::is_parallel_copy(instruction) {
            continue;
        }
        let reads = operands::sources(function, instruction, File::R, stack_pointer);
        let writes = operands::destinations(instruction, File::R);
        let span =
            |n: usize| u16::try_from(n.next_multiple_of(usize::from(alignment(n)))).unwrap_or(u16::MAX);
        let total: u16 = reads.iter().chain(&writes).map(|g| span(g.values.len())).sum();
        let in_place = operands::accumulators(instruction, &reads, &writes);
        let total = total - in_place.map_or(0, |g| span(g.values.len()));
        // Sources may be placed so that they break one aligned range for each wide result.
        let slack: u16 =
            writes.iter().map(|g| if g.values.len() > 1 { span(g.values.len()).min(4) } else { 0 }).sum();
        let total = total.saturating_add(slack);
        if total > most {
            (most, origin) = (total, instruction.origin);
        }
    }
    ((most + 6).clamp(nameable(16), all), origin)
}

/// The limits of the general registers: of those that code may name.
struct Limits {
    /// Never fewer than this.
    floor: u16,
    /// The limit from the options.
    limit: u16,
    /// The limit of the chip.
    all: u16,
    /// Registers of a thread at launch, where the count changes later.
    at_start: Option<u16>,
    /// The function follows the calling convention, which fixes the lowest 22 registers.
    by_convention: bool,
    /// The statement with the highest register demand, and its demand.
    neediest: (Origin, u16),
}

/// Registers besides those of values that are taken at first: for the stack pointer, and to assemble tuples.
const BESIDE_VALUES: u16 = 4;

/// Most words in the frame after a first allocation that a better one may keep out of it.
const WON_BACK: u32 = 2;

/// Allocation unit of registers.
const UNIT: u16 = 8;

/// Every requested limit is raised to at least this many registers, as by ptxas.
const FEWEST: u16 = 24;

impl Limits {
    fn new(
        function: &Function,
        stack_pointer: Value,
        all: u16,
        options: &AllocateOptions,
    ) -> Result<Limits, AllocateError> {
        let calls = function
            .blocks
            .iter()
            .flat_map(|b| &b.instructions)
            .any(|i| matches!(i.opcode, Opcode::Pseudo(Pseudo::Call)));
        let by_convention =
            calls || (!function.is_entry && function.routine.is_none()) || frame::moves_stack(function);
        let (least, origin) = least(function, stack_pointer, all);
        let mut floor = least.max(nameable(if by_convention { 24 } else { 16 }));
        if frame::moves_stack(function) {
            floor = floor.max(u16::from(abi::FRAME_POINTER) + 1);
        }
        let stated = function.register_limit.map_or(all, nameable);
        let first = stated.max(floor);
        let graph = function.graph();
        let cfg = graph.cfg();
        let grants = Grants::new(function, cfg, first);
        let changes = grants.is_some();
        // A kernel that changes its register count has the counts in its instructions and at launch fixed: another
        // count would leave warps waiting for registers that are never released.
        let asked = options.limit.filter(|_| !changes).map_or(all, nameable).min(all);
        if let Some((instruction, more, held)) =
            grants.as_ref().and_then(|grants| grants.raised_by_giving_back(function, cfg))
        {
            let (asked, held) = (allocated(more), allocated(held));
            return Err(AllocateError::Raised { statement: instruction.origin.0, asked, held });
        }
        // Registers that a part of the kernel acquires count as well.
        let granted = grants.map_or(stated, |grants| grants.most);
        let mut limit = asked.min(granted);
        // A launch cannot give a thread more registers than that. The registers of the convention are never too many
        // for a launch.
        let fewest =
            if frame::moves_stack(function) { u16::from(abi::FRAME_POINTER) + 1 } else { nameable(FEWEST) };
        let mut most = limit.max(fewest).min(all);
        let neediest = (origin, floor);
        floor = floor.min(most);
        if let Some(clobbers) = function.routine {
            // A routine has exactly the registers that it may clobber, whatever the options say.
            let count = 64 - clobbers.general.leading_zeros() as u16;
            (floor, limit, most) = (count, count, all);
        }
        if options.minimal {
            limit = floor;
        }
        let at_start = changes.then_some(allocated(first));
        let limit = limit.max(floor).min(most);
        Ok(Limits { floor, limit, all: most, at_start, by_convention, neediest })
    }
}

impl Limits {
    /// True if the limit is not that of the chip.
    fn is_bound(&self, files: &RegisterFiles) -> bool {
        self.all < u16::from(files.general.end_usable)
    }

    /// True if registers that hold nothing may be used as they come: by a kernel with one register count.
    fn may_rename(&self, work: &Work) -> bool {
        work.function.is_entry && work.function.routine.is_none() && self.at_start.is_none()
    }

    /// Renames values where writes would wait for memory accesses: within what is allocated anyway, else up to where
    /// an SM still holds as many warps as it can.
    fn rename(&self, work: &mut Work, options: &AllocateOptions) {
        let highest = work.highest();
        let counted = nameable(allocated(highest).next_multiple_of(UNIT)).max(highest);
        let most = counted.max(nameable(options.enough.unwrap_or(0))).min(self.limit.max(highest));
        let usable = usable(work, most);
        let graph = work.function.graph();
        rename(work, graph.cfg(), usable, usable.within(RegisterSet::range(0, counted)));
    }
}

/// Allocates all register files.
pub fn allocate(
    prepared: Prepared,
    chip: Chip,
    options: &AllocateOptions,
) -> Result<Allocation, AllocateError> {
    let Prepared { function, stack_pointer, frame } = prepared;
    let files = chip.register_files();
    let limits = Limits::new(&function, stack_pointer, u16::from(files.general.end_usable), options)?;
    let mut work = Work::new(function, stack_pointer, frame.spill_base);
    for file in [File::UR, File::UP, File::B] {
        color::color(&mut work, file, files)?;
    }
    predicates(&mut work, files, options.clusters)?;
    let mut work = general_within(work, &limits, options).map_err(|error| match error {
        AllocateError::TooFewRegisters { file: File::R, limit } if limits.is_bound(files) => {
            // A part of a kernel that changes its register count may have fewer than others.
            let limit = allocated(if limits.at_start.is_some() { limit.min(limits.all) } else { limits.all });
            let (origin, least) = limits.neediest;
            AllocateError::Exceeded { statement: origin.0, needed: allocated(least).max(limit + 1), limit }
        }
        error => error,
    })?;
    if options.rename && limits.may_rename(&work) {
        limits.rename(&mut work, options);
    }
    let mut general_registers = allocated(work.highest());
    if limits.by_convention {
        general_registers = general_registers.max(24);
    }
    // Registers that the convention fixes count as well.
    if limits.is_bound(files) && general_registers > allocated(limits.all).max(FEWEST) {
        let (statement, needed, limit) = (limits.neediest.0.0, general_registers, allocated(limits.all));
        return Err(AllocateError::Exceeded { statement, needed, limit });
    }
    if let Some(first) = limits.at_start {
        general_registers = first;
    }
    let spill_bytes = 4 * work.spill_words;
    let frame_bytes = (frame.spill_base + spill_bytes).next_multiple_of(FRAME_ALIGN);
    Ok(Allocation {
        assignment: Assignment {
            registers: work.register,
            general_registers,
            frame_bytes,
            spill_bytes,
            spill_base: frame.spill_base,
            local_offsets: frame.local_offsets,
            spill_stores: work.stores,
            spill_loads: work.loads,
            dropped_grants: None,
        },
        function: work.function,
        original: work.original,
        inserted: work.inserted,
        blocks: work.blocks,
        stack_pointer,
    })
}

/// Allocates the general registers in turn: as many as leave an SM all of its warps, and more where more are live at once.
fn in_turn(
    mut work: Work,
    inputs: &ScanInputs,
    limits: &Limits,
    options: &AllocateOptions,
) -> Result<Work, AllocateError> {
    let live = inputs.pressure.iter().copied().max().unwrap_or(0).min(u32::from(u8::MAX));
    let needed = allocated(live as u16 + BESIDE_VALUES).next_multiple_of(UNIT);
    let limit = nameable(needed.max(options.enough.unwrap_or(0))).max(limits.floor).min(limits.limit);
    general(&mut work, None, inputs, limit, true, None)?;
    Ok(work)
}

/// Allocates the general registers within the limits; above level 0 the result is improved afterwards.
fn general_within(mut work: Work, limits: &Limits, options: &AllocateOptions) -> Result<Work, AllocateError> {
    let improved = options.improve;
    let &Limits { floor, mut limit, all, .. } = limits;
    let inputs = ScanInputs::new(&work, File::R, options.clusters);
    if options.in_turn {
        return in_turn(work, &inputs, limits, options);
    }
    // The state before allocation, for another attempt.
    let before = if limit < all || improved {
        let first = start(&work, &inputs);
        Some(std::mem::replace(&mut work, first))
    } else {
        None
    };
    loop {
        match general(&mut work, before.as_ref(), &inputs, limit, false, None) {
            Ok(()) => break,
            // Sources may be placed so that a wide result finds no aligned range: a few more registers help.
            Err(error @ AllocateError::TooFewRegisters { .. }) => {
                let more = limit < all && work.function.routine.is_none();
                let Some(before) = before.as_ref().filter(|_| more) else { return Err(error) };
                limit = (limit + 8).min(all);
                work = start(before, &inputs);
            }
            Err(error) => return Err(error),
        }
    }
    let given_up = options.frameless && work.spill_words > WON_BACK;
    if let Some(before) = before.filter(|_| improved && !given_up) {
        let enough = nameable(options.enough.unwrap_or(0)).min(limits.all);
        improve(&mut work, before, &inputs, [floor, enough]);
    }
    Ok(work)
}
