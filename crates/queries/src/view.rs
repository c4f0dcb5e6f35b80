//! Views of a function inside the pipeline for tools: Ori after a phase, and failures with their places. No
//! query is here: views are not worth keeping, but their inputs are.

use oriole_cubin::{Header, KernelImage, OpaqueKind, ParameterSpace};
use oriole_diagnostics::Diagnostic;
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_latency::Model;
use oriole_ori::{Assignment, Function};
use oriole_pipeline::{Context, Decision, Decisions, Explained, Group, ORI_GROUPS, Phase, Profile, Settings};
use oriole_ptx::Type;
use oriole_sass::form::Table;
use oriole_syntax::UnitKind;

use crate::failure::{Failed, Staged, Static};
use crate::stage::{copied, handed_on, pass_settings, settings};
use crate::{configuration, files, functions, images, inlined, searched, stage};

/// The resources of a kernel or function of a compiled module.
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

/// The resources of the kernels and functions of a file that the container has, in file order. Those that do
/// not compile are left out.
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn resources(db: &dyn Db, file: SourceFile, config: Config) -> Vec<Resources> {
    let mut all = Vec::new();
    for unit in files::code_units(db, file) {
        let is_kernel = unit.kind(db) == UnitKind::Entry;
        if !is_emitted(db, file, config, unit) {
            continue;
        }
        let Ok(linked) = functions::encoded(db, unit, config) else { continue };
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
        if is_kernel && let Ok(image) = images::kernel_image(db, unit, config) {
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

/// Whether the container has code of a unit of its own, or in that of a kernel: all of it where functions have
/// sections of their own.
fn is_emitted<'db>(db: &'db dyn Db, file: SourceFile, config: Config, unit: FunctionUnit<'db>) -> bool {
    unit.kind(db) == UnitKind::Entry
        || configuration::lowering(db, file, config).separate()
        || inlined::is_reached(db, file, config, unit)
}

/// How many headers of textures, of samplers and of surfaces a kernel has.
fn count_headers(db: &dyn Db, file: SourceFile, image: &KernelImage) -> [usize; 3] {
    let types = images::module_data(db, file).iter().map(|variable| variable.info.ty);
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
    let before = match phase.group {
        Group::Early => Some(functions::bridged(db, unit, config)),
        Group::SsaEarly => Some(functions::early(db, unit, config)),
        Group::SsaMid => Some(functions::ssa_early(db, unit, config)),
        Group::SsaLate => Some(functions::ssa_mid(db, unit, config)),
        Group::Legal => Some(functions::ssa_late(db, unit, config)),
        _ => None,
    };
    let before = before.map(copied).transpose()?;
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    let settings = Settings {
        lower: configuration::lowering(db, unit.file(db), config),
        ..pass_settings(db, config, searched::choices(db, unit, config), phase.group)
    };
    stage::run(db, config, phase.group.name(), &settings, |context| {
        let before = before.map_or_else(|| oriole_pipeline::raw(body, context), Ok)?;
        oriole_pipeline::run_part(phase, before, context)
    })
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
    let mut history = Vec::new();
    let raw = followed(db, unit, config, &mut |phase, _, text| {
        history.push(Snapshot { phase: Some(phase), text: text.to_owned() });
    })?;
    history.insert(0, Snapshot { phase: None, text: raw });
    Ok(triomphe::Arc::new(history))
}

/// Sees a phase that changed a function, the text before, if it asks for it, and the text after.
pub type Watch<'a> = dyn FnMut(&'static Phase, &dyn Fn() -> String, &str) + 'a;

/// Runs all stages of a unit up to allocation once more, and shows its Ori before and after each phase that changes it: the
/// text before is made where it is asked for. The result is raw Ori.
///
/// # Errors
/// As [`ori_after`].
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn followed<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    watch: &mut Watch<'_>,
) -> Result<String, Failed> {
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    let lower = configuration::lowering(db, unit.file(db), config);
    let raw_settings = Settings { lower, ..settings() };
    let raw = stage::run(db, config, "raw", &raw_settings, |context| oriole_pipeline::raw(body, context))?;
    let first = raw.to_string();
    let mut function = handed_on(raw);
    // That nothing is left to do is not a change.
    let shown = |function: &Function| Function { at_fixed_point: false, ..function.clone() };
    let choices = searched::choices(db, unit, config);
    for group in ORI_GROUPS {
        let settings = Settings { lower, ..pass_settings(db, config, choices, group) };
        // Between groups numbers change, which is not a phase's doing. Most phases change nothing: a comparison is cheaper
        // than a text, so a text is made only where functions differ, and different functions have different texts.
        let mut last = shown(&function);
        let mut before: Option<String> = None;
        let after = stage::run(db, config, group.name(), &settings, |context| {
            oriole_pipeline::run_watched(group, function, context, &mut |phase, function| {
                last.at_fixed_point = function.at_fixed_point;
                if *function == last {
                    return;
                }
                last.at_fixed_point = false;
                let now = shown(function);
                let text = now.to_string();
                let earlier = || before.clone().unwrap_or_else(|| last.to_string());
                watch(phase, &earlier, &text);
                last = now;
                before = Some(text);
            })
        })?;
        function = handed_on(after);
    }
    Ok(first)
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
        let allocated = functions::allocated(db, unit, config).as_ref().map_err(Clone::clone)?;
        return profile_of(db, unit, config, &allocated.function, Some(&allocated.assignment));
    }
    let function = ori_after(db, unit, config, phase)?;
    profile_of(db, unit, config, &function, None)
}

/// The profile of a function, with the registers that it was given or none.
fn profile_of<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    function: &Function,
    assignment: Option<&Assignment>,
) -> Staged<Profile> {
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    stage::run(db, config, "profile", &settings(), |context| {
        Ok(oriole_pipeline::profile(body, function, assignment, context))
    })
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
    let allocated = functions::allocated(db, unit, config).as_ref().map_err(Clone::clone)?;
    let select = searched::choices(db, unit, config).select(configuration::select_options(db, config));
    let settings = Settings { select, ..settings() };
    stage::run(db, config, "explained", &settings, |context| Ok(oriole_pipeline::explain(allocated, context)))
}

/// The decisions of the passes about a unit before allocation, in the order of its statements: the stages run
/// once more.
///
/// # Errors
/// As [`ori_after`].
pub fn decisions<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<Vec<Decision>> {
    let body = inlined::code(db, unit, config).ok_or(Failed::Diagnosed)?;
    let decisions = Decisions::default();
    let mut function: Option<Function> = None;
    let choices = searched::choices(db, unit, config);
    for group in ORI_GROUPS {
        let settings = Settings {
            lower: configuration::lowering(db, unit.file(db), config),
            ..pass_settings(db, config, choices, group)
        };
        let before = function.take();
        let after = stage::run(db, config, group.name(), &settings, |context| {
            let context = &Context { decisions: Some(&decisions), ..*context };
            let before = before.map_or_else(|| oriole_pipeline::raw(body, context), Ok)?;
            oriole_pipeline::run(group, before, context)
        })?;
        function = Some(handed_on(after));
    }
    Ok(triomphe::Arc::new(decisions.into_sorted()))
}

/// The latency model of a configuration's chip.
///
/// # Errors
/// There is no table for the chip.
pub fn latencies(db: &dyn Db, config: Config) -> Staged<Static<Model>> {
    configuration::latency_model(db, configuration::chip_key(db, config)).clone()
}

/// The forms of a configuration's chip.
///
/// # Errors
/// There is no table for the chip.
pub fn forms(db: &dyn Db, config: Config) -> Staged<Static<Table>> {
    configuration::forms(db, configuration::chip_key(db, config)).clone()
}

/// A failure about a unit as diagnostics, their spans counted from the start of the file; none if the file's diagnostics say it.
pub fn diagnostics<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, failed: &Failed) -> Vec<Diagnostic> {
    let found = failed.diagnostics(files::source_map(db, unit)).into_iter();
    found.map(|diagnostic| diagnostic.shifted(unit.start(db))).collect()
}
