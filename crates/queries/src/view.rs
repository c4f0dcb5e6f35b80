//! What tools show of a function inside the pipeline: Ori after a phase, and failures with their places. No query is here: what is
//! shown is not worth keeping, but what it starts from is.

use oriole_cubin::{Header, KernelImage, OpaqueKind, ParameterSpace};
use oriole_diagnostics::Diagnostic;
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_latency::Model;
use oriole_ori::Function;
use oriole_pipeline::{Decision, Explained, Group, Phase, Profile};
use oriole_ptx::Type;
use oriole_sass::form::Table;
use oriole_syntax::UnitKind;

use crate::driver::is_emitted;
use crate::failure::{Failed, Staged, Static};
use crate::{graph, stage};

/// The units with code, in file order.
pub fn code_units(db: &dyn Db, file: SourceFile) -> Vec<FunctionUnit<'_>> {
    graph::split_file(db, file).iter().copied().filter(|unit| unit.has_code(db)).collect()
}

/// What a kernel or function of a compiled module needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resources {
    /// Its name in the text.
    pub name: String,
    /// It is a kernel: what it needs is with the functions that it calls.
    pub is_kernel: bool,
    /// General registers of a thread.
    pub registers: u32,
    /// Bytes of its own stack frame.
    pub frame_bytes: u32,
    /// Bytes of the stack with all calls; nothing for a function, or where recursion hides it.
    pub stack_bytes: Option<u32>,
    /// Bytes that all instructions that spill a register store, each counted once.
    pub spill_stores: u32,
    /// Bytes that all instructions that reload a spilled register load, each counted once.
    pub spill_loads: u32,
    /// Bytes of static shared memory of a block, without what the system reserves.
    pub shared_bytes: u32,
    /// Named barriers.
    pub barriers: u8,
    /// Textures, samplers and surfaces that the driver gives the kernel.
    pub headers: [usize; 3],
}

/// What the kernels and functions of a file need that the container has, in file order. Those that do not compile are left out.
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn resources(db: &dyn Db, file: SourceFile, config: Config) -> Vec<Resources> {
    let mut all = Vec::new();
    for unit in code_units(db, file) {
        let is_kernel = unit.kind(db) == UnitKind::Entry;
        if !is_emitted(db, file, config, unit) {
            continue;
        }
        let Ok(linked) = graph::encoded(db, unit, config) else { continue };
        let mut needs = Resources {
            name: unit.name(db).to_string(),
            is_kernel,
            registers: linked.encoded.general_registers.into(),
            frame_bytes: linked.frame_bytes,
            stack_bytes: None,
            spill_stores: linked.spill_stores,
            spill_loads: linked.spill_loads,
            shared_bytes: 0,
            barriers: 0,
            headers: [0; 3],
        };
        if is_kernel && let Ok(image) = graph::kernel_image(db, unit, config) {
            needs.registers = image.registers;
            needs.stack_bytes = image.stack_size;
            needs.shared_bytes = image.shared_size.unwrap_or(0);
            needs.barriers = image.barriers;
            needs.headers = count_headers(db, file, image);
        }
        all.push(needs);
    }
    all
}

/// How many headers of textures, of samplers and of surfaces a kernel has.
fn count_headers(db: &dyn Db, file: SourceFile, image: &KernelImage) -> [usize; 3] {
    let types = graph::module_data(db, file).iter().map(|variable| variable.info.ty);
    let of_module: Vec<OpaqueKind> = types.filter_map(Type::opaque_kind).collect();
    let kind = |header| match header {
        Header::Module(index) => of_module.get(index).copied(),
        Header::Parameter(number) => match image.parameters.get(number)?.space {
            ParameterSpace::Opaque(kind) => Some(kind),
            _ => None,
        },
    };
    [OpaqueKind::Texture, OpaqueKind::Sampler, OpaqueKind::Surface]
        .map(|wanted| image.headers.iter().filter(|slot| kind(slot.header) == Some(wanted)).count())
}

/// Ori of a unit after a phase: the phase's stage is run from the stage before it, which the graph remembers, and stopped.
///
/// # Errors
/// The unit has errors, a stage before fails, or the phase leaves no Ori.
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn ori_after<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    phase: &'static Phase,
) -> Staged<Function> {
    stage::until(db, unit, config, phase)
}

/// A unit's Ori at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The phase that has just changed it; nothing for raw Ori.
    pub phase: Option<&'static Phase>,
    /// The Ori.
    pub text: String,
}

/// Raw Ori of a unit, and its Ori after each phase that changed it: all stages up to allocation run once more.
///
/// # Errors
/// As [`ori_after`].
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn history<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Vec<Snapshot>> {
    stage::history(db, unit, config)
}

/// The profile that a report phase prints.
///
/// # Errors
/// As [`ori_after`].
pub fn profile<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    phase: &'static Phase,
) -> Staged<Profile> {
    if phase.group == Group::Allocated {
        let allocated = graph::allocated(db, unit, config).as_ref().map_err(Clone::clone)?;
        return stage::profile(db, unit, config, &allocated.function, Some(&allocated.assignment));
    }
    let function = stage::until(db, unit, config, phase)?;
    stage::profile(db, unit, config, &function, None)
}

/// Why each machine instruction of a unit has its form, block by block as selection gives them.
///
/// # Errors
/// As [`ori_after`].
pub fn explained<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<Vec<Vec<Explained>>> {
    let allocated = graph::allocated(db, unit, config).as_ref().map_err(Clone::clone)?;
    stage::explained(db, config, allocated)
}

/// What the passes decided about a unit before allocation, in the order of its statements: the stages run once more.
///
/// # Errors
/// As [`ori_after`].
pub fn decisions<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Vec<Decision>> {
    stage::decisions(db, unit, config)
}

/// What is known of the times of a configuration's chip.
///
/// # Errors
/// There is no table for the chip.
pub fn latencies(db: &dyn Db, config: Config) -> Staged<Static<Model>> {
    graph::latency_model(db, graph::chip_key(db, config)).clone()
}

/// The forms of a configuration's chip.
///
/// # Errors
/// There is no table for the chip.
pub fn forms(db: &dyn Db, config: Config) -> Staged<Static<Table>> {
    graph::forms(db, graph::chip_key(db, config)).clone()
}

/// A failure about a unit as diagnostics, their spans counted from the start of the file; none if the file's diagnostics say it.
pub fn diagnostics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, failed: &Failed) -> Vec<Diagnostic> {
    let found = failed.diagnostics(graph::source_map(db, unit)).into_iter();
    found.map(|diagnostic| diagnostic.shifted(unit.start(db))).collect()
}
