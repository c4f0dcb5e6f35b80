//! What `compile -v` tells: for each kernel and function what it needs, what was spilled, its profile and its schedule.

use crate::names;
use crate::session::Session;
use oriole_cubin::read::Kernel;
use oriole_inputs::FunctionUnit;
use oriole_pipeline::ASSUMED_THREADS;
use oriole_queries::{graph, view};
use oriole_syntax::UnitKind;
use std::fmt::Write as _;

/// The report of a file that was compiled to these bytes.
pub fn report(session: &Session, cubin: &[u8]) -> String {
    let db = &session.db;
    let kernels = oriole_cubin::read(cubin).map(|cubin| cubin.kernels).unwrap_or_default();
    let mut text = String::new();
    for unit in view::code_units(db, session.file) {
        let Ok(allocated) = graph::allocated(db, unit, session.config) else { continue };
        let name = names::shown(unit.name(db));
        match kernels.iter().find(|kernel| kernel.name == **unit.name(db)) {
            Some(kernel) if unit.kind(db) == UnitKind::Entry => {
                let _ = writeln!(text, "{name}: {}", needs(session, unit, kernel));
            }
            _ => {
                let registers = graph::encoded(db, unit, session.config)
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
        if let Some(phase) = oriole_pipeline::phases::find("ReportAfterRegisterAllocation")
            && let Ok(profile) = view::profile(db, unit, session.config, phase)
        {
            profile.to_string().lines().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
        if let (Ok(finished), Ok(model)) =
            (graph::finished(db, unit, session.config), view::latencies(db, session.config))
        {
            text.push_str(&oriole_schedule::report(finished, model.0));
        }
    }
    text
}

/// What a kernel needs to be launched, with all that it calls.
fn needs(session: &Session, unit: FunctionUnit<'_>, kernel: &Kernel) -> String {
    let db = &session.db;
    let chip = graph::chip_info(db, session.config);
    let mut line = format!("{} registers", kernel.registers);
    if kernel.barriers > 0 {
        let _ = write!(line, ", {} barriers", kernel.barriers);
    }
    if let Some(stack) = kernel.stack_size.filter(|&stack| stack > 0) {
        let _ = write!(line, ", {stack} bytes cumulative stack size");
    }
    // What the system takes of a block's shared memory is no need of the kernel.
    let reserved = chip.limits().map_or(0, |limits| limits.static_shared_start);
    let shared = kernel.shared_size.saturating_sub(reserved.into());
    if shared > 0 {
        let _ = write!(line, ", {shared} bytes shared");
    }
    let given = graph::body(db, unit).as_deref().and_then(|body| body.directives.block_threads());
    let threads = given.unwrap_or(ASSUMED_THREADS);
    let shared = u32::try_from(shared).unwrap_or(u32::MAX);
    let usage = oriole_chip::Usage { registers: kernel.registers, threads, shared };
    if let Some(occupancy) = oriole_chip::occupancy(chip, usage) {
        let of = if given.is_some() { "its blocks of" } else { "blocks of, say," };
        let _ = write!(line, ", {} warps per SM with {of} {threads} threads", occupancy.warps);
    }
    line
}
