//! Resource use of a kernel on a chip, its occupancy, and explanations; and live values at a place.

use oriole_chip::{Chip, Limiter, Usage, occupancy};
use oriole_cubin::Bound;
use oriole_pipeline::facts::{Origin, Peak};
use oriole_queries::functions;
use oriole_syntax::UnitKind;

use crate::compiled::Shown;
use crate::cursor::spot;
use crate::last_good::Image;
use crate::snapshot::Snapshot;
use crate::{FileId, Range};

/// Threads of a block where the kernel does not state them.
const USUAL_THREADS: u32 = 256;

/// A register that is live at some place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveRegister {
    /// Name in the source.
    pub name: String,
    /// General registers that it occupies.
    pub registers: u8,
    /// Its declaration.
    pub declaration: Option<Range>,
}

/// The resource use of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelStatistics {
    /// The kernel.
    pub kernel: String,
    /// The chip.
    pub chip: Chip,
    /// From the last good result, because the text does not compile.
    pub stale: bool,
    /// Words, called functions included.
    pub instructions: u32,
    /// General registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Bytes of the stack; `None` for recursion.
    pub stack: Option<u32>,
    /// Named barriers.
    pub barriers: u8,
    /// Spill stores and reloads.
    pub spills: (u32, u32),
    /// Bytes of spilled registers.
    pub spill_bytes: u32,
    /// Registers of the source that are spilled.
    pub spilled: Vec<String>,
    /// Estimated cycles of one warp alone, each loop taken ten times, with the functions that it calls.
    pub cycles: u64,
    /// Number of the cycles in functions that it calls.
    pub cycles_in_callees: u64,
    /// Descriptions of calls that the cycles leave out.
    pub cycles_without: Vec<String>,
    /// Threads of a block that the occupancy is for, and whether the kernel states them.
    pub threads: (u32, bool),
    /// Blocks that fit on an SM.
    pub blocks: u32,
    /// Resident warps of an SM, and the maximum.
    pub warps: (u32, u32),
    /// The limiting resource.
    pub limiter: String,
    /// General registers live at the peak, and the place of the peak.
    pub peak: (u16, Option<Range>),
    /// Registers that are live there, those that occupy most first.
    pub peak_registers: Vec<LiveRegister>,
    /// Registers of the compiler that are live there.
    pub temporaries: u32,
    /// Reasons for its number of registers, and their cost, in sentences.
    pub why: Vec<String>,
}

fn limiter_name(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Warps => "warps",
        Limiter::Blocks => "blocks",
        Limiter::Registers => "registers",
        Limiter::SharedMemory => "shared memory",
    }
}

pub(crate) fn statistics(
    snapshot: &Snapshot,
    file: FileId,
    kernel: &str,
    chip: Chip,
) -> Option<KernelStatistics> {
    let db = &snapshot.db;
    let unit = snapshot.code_unit(file, kernel).filter(|unit| unit.kind(db) == UnitKind::Entry)?;
    let (laid, image_stale) = snapshot.image(file, unit, chip)?;
    let shown = snapshot.compiled(file, unit, chip)?;
    let (image, facts) = (&laid.image, &shown.compiled.facts);
    let threads = match image.bound {
        Bound::None => (USUAL_THREADS, false),
        Bound::AtMost(size) | Bound::Exactly(size) => {
            (size.iter().fold(1u32, |all, &one| all.saturating_mul(one.max(1))), true)
        }
    };
    let shared = image.shared_size.unwrap_or(0);
    let full = occupancy(chip, Usage { registers: image.registers, shared, threads: threads.0 });
    let most = chip.limits().map_or(0, |limits| limits.warps_per_sm);
    let (stores, loads) = facts.spills.iter().fold((0, 0), |(stores, loads), spill| {
        if spill.reload { (stores, loads + 1) } else { (stores + 1, loads) }
    });
    let peak_registers = live_registers(&shown, &facts.peak);
    let cycles = crate::cycles::cycles(snapshot, file, &laid, chip);
    let mut statistics = KernelStatistics {
        kernel: kernel.to_owned(),
        chip,
        stale: shown.stale || image_stale,
        instructions: image.code.len() as u32,
        registers: image.registers,
        shared,
        stack: image.stack_size,
        barriers: image.barriers,
        spills: (stores, loads),
        spill_bytes: facts.spill_bytes,
        spilled: spilled(&shown),
        cycles: cycles.total,
        cycles_in_callees: cycles.in_callees,
        cycles_without: cycles.left_out,
        threads,
        blocks: full.map_or(0, |full| full.blocks),
        warps: (full.map_or(0, |full| full.warps), most),
        limiter: full.map_or("", |full| limiter_name(full.limiter)).to_owned(),
        peak: (facts.peak.live.general, shown.statement(facts.peak.statement)),
        peak_registers,
        temporaries: facts.peak.temporaries,
        why: Vec::new(),
    };
    statistics.why = reasons(snapshot, file, &statistics, &shown, &laid);
    Some(statistics)
}

fn live_registers(shown: &Shown, peak: &Peak) -> Vec<LiveRegister> {
    let mut list: Vec<LiveRegister> = peak
        .registers
        .iter()
        .map(|&(register, registers)| LiveRegister {
            name: shown.register(register).to_owned(),
            registers,
            declaration: shown
                .compiled
                .map
                .registers
                .get(oriole_hir::from_raw_index(register))
                .and_then(|known| shown.now(known.1.into())),
        })
        .collect();
    list.sort_by(|left, right| (right.registers, &left.name).cmp(&(left.registers, &right.name)));
    list
}

fn reasons(
    snapshot: &Snapshot,
    file: FileId,
    found: &KernelStatistics,
    shown: &Shown,
    laid: &Image,
) -> Vec<String> {
    let mut why = Vec::new();
    let line = |range: Range| snapshot.file(file).map_or(0, |data| data.lines.line(range.start) + 1);
    let place = found.peak.1.map_or(String::new(), |range| format!(" at line {}", line(range)));
    let names: Vec<&str> = found.peak_registers.iter().take(12).map(|live| live.name.as_str()).collect();
    let more = found.peak_registers.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let own = u32::from(shown.compiled.facts.general_registers);
    let live = format!(
        "{} are live at once{place}: {}{more}, and {} of the compiler's own",
        found.peak.0,
        names.join(", "),
        found.temporaries
    );
    // Registers that hold nothing at the peak: gaps of pairs, calls and alignment.
    let gaps = own.saturating_sub(u32::from(found.peak.0));
    let gaps = match gaps {
        0..=2 => String::new(),
        gaps => format!(
            "; {gaps} more are what aligned pairs and the places of values at calls leave between them"
        ),
    };
    if found.registers <= own {
        why.push(format!("{} registers, because {live}{gaps}", found.registers));
    } else {
        let using = |name: &&String| {
            let unit = snapshot.code_unit(file, name);
            let other = unit.and_then(|unit| snapshot.compiled(file, unit, found.chip));
            other.is_some_and(|other| u32::from(other.compiled.facts.general_registers) == found.registers)
        };
        let callee = laid.members.iter().skip(1).map(|member| &member.0).find(using);
        let cause = callee.map_or_else(
            || "the least that a kernel with calls takes".to_owned(),
            |name| format!("as many as `{}` uses, which it calls", crate::demangle::short(name, 60)),
        );
        why.push(format!("{} registers, {cause}", found.registers));
        why.push(format!("{own} of its own, because {live}{gaps}"));
    }
    why.extend(spill_reason(found, shown));
    let stated = if found.threads.1 { "" } else { ", as many as are usual" };
    why.push(format!(
        "{} of {} warps at {} threads a block{stated}: {} run out first",
        found.warps.0, found.warps.1, found.threads.0, found.limiter
    ));
    let callees = match found.cycles_in_callees {
        0 => String::new(),
        cycles => format!(", {cycles} of them in functions that it calls"),
    };
    let without = match found.cycles_without.as_slice() {
        [] => String::new(),
        list => format!("; not counted: {}", list.join(", ")),
    };
    why.push(format!(
        "about {} cycles of one warp alone, each loop taken ten times{callees}{without}",
        found.cycles
    ));
    why
}

/// The reason for spills, and the spilled values.
fn spill_reason(found: &KernelStatistics, shown: &Shown) -> Option<String> {
    if found.spills == (0, 0) {
        return None;
    }
    let limit = shown.compiled.code.register_limit;
    let cause = limit.map_or_else(
        || "a thread has no more than 255".to_owned(),
        |limit| format!("the kernel's bounds leave a thread {limit}"),
    );
    let whose = &found.spilled[..found.spilled.len().min(12)];
    Some(format!("{} bytes are spilled, because {cause}: {}", found.spill_bytes, whose.join(", ")))
}

/// Registers of the source that are spilled, by name.
fn spilled(shown: &Shown) -> Vec<String> {
    let origins = shown.compiled.facts.spills.iter().filter_map(|spill| match spill.origin {
        Origin::Source(register, _) => Some(shown.register(register).to_owned()),
        Origin::Temporary => None,
    });
    let mut whose: Vec<String> = origins.collect();
    whose.sort_unstable();
    whose.dedup();
    whose
}

/// Live values at a place of a kernel or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// The kernel or function.
    pub function: String,
    /// From the last good result, because the text does not compile.
    pub stale: bool,
    /// The statement.
    pub statement: Range,
    /// General, uniform and predicate registers.
    pub live: (u16, u16, u16),
    /// Registers of the source, those that occupy most first.
    pub registers: Vec<LiveRegister>,
    /// Registers of the compiler.
    pub temporaries: u32,
    /// General registers live at the peak of the function, and the place of the peak.
    pub peak: (u16, Option<Range>),
}

pub(crate) fn liveness(snapshot: &Snapshot, file: FileId, at: u32, chip: Chip) -> Option<Liveness> {
    let db = &snapshot.db;
    let spot = spot(db, snapshot.ptx(file)?, at)?;
    if !spot.unit.has_code(db) {
        return None;
    }
    let shown = snapshot.compiled(file, spot.unit, chip)?;
    let facts = &shown.compiled.facts;
    // The statement at the position, or the last one before it with code.
    let mut placed = (0..shown.compiled.map.instructions.len() as u32)
        .filter_map(|ordinal| Some((ordinal, shown.statement(ordinal)?)));
    let (ordinal, statement) =
        placed.rfind(|&(ordinal, range)| range.start <= at && facts.live_at(ordinal).is_some())?;
    let live = facts.live_at(ordinal)?;
    let config = snapshot.config(file, chip)?;
    let set = match (shown.stale, functions::allocated(db, spot.unit, config)) {
        (false, Ok(allocated)) => oriole_pipeline::facts::live_set(allocated, ordinal),
        _ => Peak::default(),
    };
    Some(Liveness {
        function: spot.unit.name(db).to_string(),
        stale: shown.stale,
        statement,
        live: (live.general, live.uniform, live.predicates),
        registers: live_registers(&shown, &set),
        temporaries: set.temporaries,
        peak: (facts.peak.live.general, shown.statement(facts.peak.statement)),
    })
}
