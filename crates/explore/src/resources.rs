//! The report of a compile: for each kernel and function its resources, its spills, its profile and its schedule, as text and as
//! JSON.
//!
//! It is here so that both forms have the same figures. The fields of the JSON document are in docs/compile-json.md; nothing is
//! compiled that a compile with these options would not compile.

use oriole_chip::{Limiter, Occupancy};
use oriole_cubin::read::Kernel;
use oriole_inputs::FunctionUnit;
use oriole_pipeline::{ASSUMED_THREADS, Found};
use oriole_queries::{configuration, files, functions, searched, view};
use oriole_syntax::UnitKind;
use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::code::Code;
use crate::compiled::Compiled;

/// The report of a file that was compiled to these bytes.
pub fn resource_report(compiled: &Compiled<'_>, cubin: &[u8]) -> String {
    let db = compiled.db;
    let kernels = oriole_cubin::read(cubin).map(|cubin| cubin.kernels).unwrap_or_default();
    let mut text = String::new();
    for unit in files::code_units(db, compiled.file) {
        let Ok(allocated) = functions::allocated(db, unit, compiled.config) else { continue };
        let name = compiled.shown(unit.name(db));
        match kernels.iter().find(|kernel| kernel.name == **unit.name(db)) {
            Some(kernel) if unit.kind(db) == UnitKind::Entry => {
                let _ = writeln!(text, "{name}: {}", needs(compiled, unit, kernel));
            }
            _ => {
                let registers = functions::encoded(db, unit, compiled.config)
                    .as_ref()
                    .map_or(0, |function| function.encoded.general_registers);
                let _ = writeln!(text, "{name} (function): {registers} registers");
            }
        }
        let found = &allocated.assignment;
        let (stored, loaded) = found.spilled();
        let _ = writeln!(
            text,
            "  {} bytes stack frame, {stored} bytes spill stores, {loaded} bytes spill loads",
            found.frame_bytes,
        );
        if let Some(found) = searched::found(db, unit, compiled.config) {
            let _ = writeln!(text, "  {}", oriole_pipeline::search::describe(found));
        }
        if let Some(phase) = oriole_pipeline::phases::find("ReportAfterRegisterAllocation")
            && let Ok(profile) = view::profile(db, unit, compiled.config, phase)
        {
            profile.to_string().lines().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
        if let (Ok(finished), Ok(model)) =
            (functions::finished(db, unit, compiled.config), view::latencies(db, compiled.config))
        {
            text.push_str(&oriole_schedule::report(finished, model.0));
        }
    }
    text
}

/// The resources of a kernel, with all that it calls.
struct Needs {
    /// Bytes of shared memory, without what the system takes of a block's.
    shared: u64,
    /// Threads of the blocks that the occupancy is for.
    threads: u32,
    /// Whether the kernel states them.
    stated: bool,
    occupancy: Option<Occupancy>,
}

impl Needs {
    fn of(compiled: &Compiled<'_>, unit: FunctionUnit<'_>, kernel: &Kernel) -> Needs {
        let db = compiled.db;
        let chip = configuration::chip_info(db, compiled.config);
        let reserved = chip.limits().map_or(0, |limits| limits.static_shared_start);
        let shared = kernel.shared_size.saturating_sub(reserved.into());
        let given = files::body(db, unit).as_deref().and_then(|body| body.directives.block_threads());
        let threads = given.unwrap_or(ASSUMED_THREADS);
        let bytes = u32::try_from(shared).unwrap_or(u32::MAX);
        let usage = oriole_chip::Usage { registers: kernel.registers, threads, shared: bytes };
        Needs { shared, threads, stated: given.is_some(), occupancy: oriole_chip::occupancy(chip, usage) }
    }
}

fn needs(compiled: &Compiled<'_>, unit: FunctionUnit<'_>, kernel: &Kernel) -> String {
    let Needs { shared, threads, stated, occupancy } = Needs::of(compiled, unit, kernel);
    let mut line = format!("{} registers", kernel.registers);
    if kernel.barriers > 0 {
        let _ = write!(line, ", {} barriers", kernel.barriers);
    }
    if let Some(stack) = kernel.stack_size.filter(|&stack| stack > 0) {
        let _ = write!(line, ", {stack} bytes cumulative stack size");
    }
    if shared > 0 {
        let _ = write!(line, ", {shared} bytes shared");
    }
    if let Some(occupancy) = occupancy {
        let of = if stated { "its blocks of" } else { "blocks of, say," };
        let _ = write!(line, ", {} warps per SM with {of} {threads} threads", occupancy.warps);
    }
    line
}

/// The choices of level 4 for a function.
fn choices(found: &Found) -> Value {
    let knobs = found.choices.iter().map(|choice| (choice.knob.to_owned(), choice.value.into()));
    json!({
        "knobs": knobs.collect::<serde_json::Map<String, Value>>(), "ratio": found.ratio(), "judged": found.judged,
    })
}

/// The version of the document's form; it rises when a field goes away or changes its meaning.
const VERSION: u32 = 1;

/// The document of `--json`: docs/compile-json.md has the fields. Without a cubin it lists no function.
pub fn resource_document(
    compiled: &Compiled<'_>,
    file: &str,
    cubin: Option<&[u8]>,
    diagnostics: Vec<Value>,
) -> Value {
    let db = compiled.db;
    let (mut kernels, mut functions) = (Vec::new(), Vec::new());
    let read = cubin.and_then(|cubin| oriole_cubin::read(cubin).ok()).map(|cubin| cubin.kernels);
    let code = cubin.and_then(|cubin| Code::read(cubin).ok()).map(|code| code.kernels);
    let forms = view::forms(db, compiled.config).ok();
    for unit in files::code_units(db, compiled.file).into_iter().filter(|_| cubin.is_some()) {
        let (Ok(allocated), Ok(finished)) =
            (functions::allocated(db, unit, compiled.config), functions::finished(db, unit, compiled.config))
        else {
            continue;
        };
        let (stored, loaded) = allocated.assignment.spilled();
        let mut row = json!({
            "name": &**unit.name(db),
            "frame_bytes": allocated.assignment.frame_bytes,
            "spill_store_bytes": stored,
            "spill_load_bytes": loaded,
            "instructions": finished.blocks.iter().map(|block| block.instructions.len()).sum::<usize>(),
        });
        // A section of its own also holds the functions that were linked into it.
        let section = code.iter().flatten().find(|code| code.name == **unit.name(db));
        let named = section
            .map(|code| code.named)
            .or_else(|| forms.as_ref().map(|forms| oriole_schedule::named(finished, forms.0)));
        row["choices"] = searched::found(db, unit, compiled.config).map(choices).into();
        row["uniform_registers"] = named.map(|named| named.uniform).into();
        row["predicates"] = named.map(|named| named.predicates).into();
        row["uniform_predicates"] = named.map(|named| named.uniform_predicates).into();
        let kernel = read.iter().flatten().find(|kernel| kernel.name == **unit.name(db));
        let (UnitKind::Entry, Some(kernel)) = (unit.kind(db), kernel) else {
            row["registers"] = finished.general_registers.into();
            functions.push(row);
            continue;
        };
        let needs = Needs::of(compiled, unit, kernel);
        row["registers"] = kernel.registers.into();
        row["barriers"] = kernel.barriers.into();
        row["stack_bytes"] = kernel.stack_size.into();
        row["shared_bytes"] = needs.shared.into();
        row["parameter_bytes"] = kernel.parameter_size.into();
        row["constant_bytes"] = json!({
            "0": kernel.parameter_base + kernel.parameter_size, "2": kernel.constant2.len(),
        });
        row["occupancy"] = needs.occupancy.map_or(Value::Null, |occupancy| {
            let limit = match occupancy.limiter {
                Limiter::Warps => "warps",
                Limiter::Blocks => "blocks",
                Limiter::Registers => "registers",
                Limiter::SharedMemory => "shared memory",
            };
            json!({
                "threads": needs.threads, "threads_stated": needs.stated, "blocks": occupancy.blocks,
                "warps": occupancy.warps, "limit": limit,
            })
        });
        kernels.push(row);
    }
    json!({
        "version": VERSION, "file": file, "chip": configuration::chip_info(db, compiled.config).to_string(),
        "compiled": cubin.is_some(), "kernels": kernels, "functions": functions, "diagnostics": diagnostics,
    })
}
