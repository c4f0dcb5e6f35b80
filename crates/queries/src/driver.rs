//! The entry points of programs: all diagnostics about a file, and the container, in parallel over functions.
//!
//! It is here so that program, editor and tests ask the same questions. Functions here are no queries: they may read places.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic, Severity, Span};
use oriole_inputs::{Config, Database, Db, FunctionUnit, SourceFile};
use oriole_syntax::UnitKind;

use crate::checks::Output;
use crate::failure::{Failed, Refusal, at_start};
use crate::progress::Progress;
use crate::stored::Compiled;
use crate::{checks, configuration, debug, files, functions, images, inlined, modules, stored};

/// All diagnostics about a file that do not depend on a configuration, in file order; spans count from its start. How much
/// shared memory there is says its `.target`.
pub fn diagnostics(db: &dyn Db, file: SourceFile) -> Vec<Diagnostic> {
    let limit = oriole_hir::shared_limit(files::module_header(db, file));
    let mut found = in_file_order(db, file, checks::diagnostics_by_unit(db, file, Some(limit)));
    found.iter_mut().for_each(leave_open);
    found
}

/// A function that is missing is for a linker to find: that is not a mistake where no whole program is made.
fn leave_open(diagnostic: &mut Diagnostic) {
    if diagnostic.code == Code::UnresolvedExternal {
        diagnostic.severity = Severity::Warning;
    }
}

/// True if a file uses functions that it does not define. Its code is then shown as a linker gets it, since
/// no whole program can be made of it.
pub fn leaves_open(db: &dyn Db, file: SourceFile) -> bool {
    let units = files::split_file(db, file).iter();
    // Nearly every file has none, which needs no look at bodies.
    let mut open = units.map(|&unit| files::declared(db, unit).iter().any(oriole_hir::is_open));
    open.any(|open| open)
        && checks::module_diagnostics(db, file)
            .found
            .iter()
            .any(|(_, found)| found.code == Code::UnresolvedExternal)
}

/// All diagnostics for the chip of a configuration: its limit of shared memory, and whether the module may be
/// compiled for it.
pub fn diagnostics_for(db: &dyn Db, file: SourceFile, config: Config) -> Vec<Diagnostic> {
    let output = Output::of(db, file, config);
    let mut found = in_file_order(db, file, checks::diagnostics_by_unit(db, file, output.shared_limit()));
    if !matches!(output, Output::Loaded(_)) {
        found.iter_mut().for_each(leave_open);
    }
    found.extend(target_diagnostics(db, file, config));
    found
}

fn in_file_order(db: &dyn Db, file: SourceFile, found: Vec<(usize, Diagnostic)>) -> Vec<Diagnostic> {
    let units = files::split_file(db, file);
    // An empty file has no unit, and all the same something to say.
    let start = |at: usize| units.get(at).map_or(0, |unit| unit.start(db));
    let mut found: Vec<_> = found.into_iter().map(|(at, diagnostic)| diagnostic.shifted(start(at))).collect();
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.len));
    found
}

/// Where a module-level name is declared, in bytes from the start of the file; for diagnostics that name it.
pub fn place_of(db: &dyn Db, file: SourceFile, name: &str) -> Option<Span> {
    let unit = files::definition(db, file, Arc::from(name))?;
    let span = files::declared(db, unit).iter().find(|declared| declared.name() == name)?.span();
    Some(Span::new(span.start + unit.start(db), span.len))
}

/// Whether a file has kernels. Of one that has none, every function is compiled, for the diagnostics.
fn has_kernels(db: &dyn Db, file: SourceFile) -> bool {
    files::code_units(db, file).iter().any(|unit| unit.kind(db) == UnitKind::Entry)
}

/// Whether only functions are compiled that a kernel reaches: others are for the linker, or for a debugger.
fn is_selective(db: &dyn Db, file: SourceFile, config: Config) -> bool {
    has_kernels(db, file) && !configuration::lowering(db, file, config).separate()
}

/// Compiles every kernel of the file, and every function that one reaches, on `threads` threads, so that what follows only
/// joins results. The answer is the same whatever the number of threads.
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn warm(db: &Database, file: SourceFile, config: Config, threads: usize) {
    warm_watched(db, file, config, threads, &Progress::default());
}

fn warm_watched(db: &Database, file: SourceFile, config: Config, threads: usize, progress: &Progress) {
    let selective = is_selective(db, file, config);
    progress.begin(files::code_units(db, file).len());
    each_code_unit(db, file, threads, |db, unit| {
        progress.during(unit.name(db), || {
            if !selective || unit.kind(db) == UnitKind::Entry || inlined::is_reached(db, file, config, unit) {
                let _ = functions::encoded(db, unit, config);
            }
        });
    });
}

/// Parses and resolves every function on `threads` threads, if there is so much text that it is worth while.
fn check_each(db: &Database, file: SourceFile, threads: usize) {
    /// A smaller text is parsed and resolved before other threads would be at work.
    const SMALL: usize = 64 << 10;
    if threads > 1 && file.text(db).len() > SMALL {
        each_code_unit(db, file, threads, |db, unit| {
            let _ = checks::unit_diagnostics(db, unit);
        });
    }
}

/// Does something for each unit with code, in file order on one thread and in no particular order on several.
fn each_code_unit(
    db: &Database,
    file: SourceFile,
    threads: usize,
    act: impl for<'db> Fn(&'db Database, FunctionUnit<'db>) + Sync,
) {
    let count = files::code_units(db, file).len();
    let next = AtomicUsize::new(0);
    let work = |db: &Database| {
        let units = files::code_units(db, file);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&unit) = units.get(at) else { break };
            act(db, unit);
        }
    };
    if threads <= 1 || count <= 1 {
        return work(db);
    }
    // This thread works, too: one less to start and to give memory to.
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(count))
            .map(|_| {
                let db = db.clone();
                let work = &work;
                scope.spawn(move || salsa::Cancelled::catch(std::panic::AssertUnwindSafe(|| work(&db))))
            })
            .collect();
        work(db);
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    for result in results {
        match result {
            Ok(Ok(())) => {}
            // Cancelled on one thread: the whole request is.
            Ok(Err(cancelled)) => std::panic::resume_unwind(Box::new(cancelled)),
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
}

/// Compiles a file. Nothing is compiled if the text has errors. With a content store, a text that compiled before without
/// a diagnostic is not even parsed.
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn compile(db: &Database, file: SourceFile, config: Config, threads: usize) -> Compiled {
    compile_watched(db, file, config, threads, &Progress::default())
}

/// [`compile`], of which another thread may ask how far it is.
///
/// # Panics
/// As [`compile`].
pub fn compile_watched(
    db: &Database,
    file: SourceFile,
    config: Config,
    threads: usize,
    progress: &Progress,
) -> Compiled {
    stored::whole_file(db, file, config, || compile_now(db, file, config, threads, progress))
}

fn compile_now(
    db: &Database,
    file: SourceFile,
    config: Config,
    threads: usize,
    progress: &Progress,
) -> Compiled {
    let mut found = checked(db, file, config, threads);
    if found.iter().any(Diagnostic::is_error) {
        return Compiled { cubin: None, diagnostics: found };
    }
    warm_watched(db, file, config, threads, progress);
    let mut failures = Vec::new();
    for (at, failed) in self::failures(db, file, config) {
        let unit = files::split_file(db, file)[at];
        let diagnostics = failed.diagnostics(files::source_map(db, unit));
        failures.extend(diagnostics.into_iter().map(|diagnostic| (at, diagnostic)));
    }
    let cubin = match modules::cubin(db, file, config) {
        Ok(bytes) => {
            if let Ok(parts) = debug::debug_sections(db, file, config) {
                failures.extend(parts.warnings.iter().cloned());
            }
            failures.extend(dropped_grants(db, file, config));
            Some(bytes.clone())
        }
        Err(failed) => {
            if let (true, Failed::Stage { code, message, .. }) = (failures.is_empty(), failed) {
                found.push(at_start(*code, message.clone()));
            }
            None
        }
    };
    found.extend(in_file_order(db, file, failures));
    Compiled { cubin, diagnostics: found }
}

/// Warns of kernels that keep the registers that they start with, since code needs more than their `setmaxnreg` leave.
fn dropped_grants(db: &Database, file: SourceFile, config: Config) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    for (at, &unit) in files::split_file(db, file).iter().enumerate() {
        if unit.kind(db) == UnitKind::Entry
            && let Ok(code) = functions::encoded(db, unit, config)
            && let Some(first) = code.dropped_grants
        {
            let message =
                "every `setmaxnreg` of this kernel is dropped: code needs more registers than they leave";
            let code = Code::RegisterChangeDropped;
            let dropped = Refusal { code, statement: Some(first.0), message: message.to_owned(), count: 1 };
            found.push((at, dropped.diagnostic(files::source_map(db, unit))));
        }
    }
    found
}

/// The diagnostics of a file before anything of it is compiled.
pub(crate) fn checked(db: &Database, file: SourceFile, config: Config, threads: usize) -> Vec<Diagnostic> {
    check_each(db, file, threads);
    let output = Output::of(db, file, config);
    let mut found = diagnostics_for(db, file, config);
    if !matches!(output, Output::Loaded(_)) {
        // A request for output to be linked implies them.
        found.retain(|diagnostic| diagnostic.code != Code::UnresolvedExternal);
    }
    found.extend(stand_in_diagnostic(db, file, config));
    found.extend(encoding_diagnostic(db, config));
    found.extend(optimized_diagnostic(db, file, config));
    found
}

/// Why units of a file have no code that should have, each with the ordinal of the unit.
pub(crate) fn failures(db: &Database, file: SourceFile, config: Config) -> Vec<(usize, &Failed)> {
    let selective = is_selective(db, file, config);
    let separate = configuration::lowering(db, file, config).separate();
    let mut all = Vec::new();
    for (at, &unit) in files::split_file(db, file).iter().enumerate() {
        let failed = match unit.kind(db) {
            UnitKind::Entry => images::kernel_image(db, unit, config).as_ref().err(),
            UnitKind::Function if separate => images::kernel_image(db, unit, config).as_ref().err(),
            UnitKind::Function if !selective || inlined::is_reached(db, file, config, unit) => {
                functions::encoded(db, unit, config).as_ref().err()
            }
            _ => None,
        };
        all.extend(failed.map(|failed| (at, failed)));
    }
    all
}

/// The chip that a file's `.target` asks for, or the first one that can replace it. One that no table knows is replaced by
/// none, and has the tables of the chip that stands in for it.
pub fn target_chip(db: &dyn Db, file: SourceFile) -> Chip {
    let header = files::module_header(db, file);
    let exact = header.chip().filter(|chip| chip.is_supported() || chip.stand_in().is_some());
    let mut supported = Chip::all().into_iter().filter(|chip| chip.is_supported());
    let replaces = || supported.find(|chip| header.target.is_some_and(|target| chip.accepts(target)));
    exact.or_else(replaces).unwrap_or(Chip::DEFAULT)
}

/// The diagnostic of a file for a chip that is too old for any code, which [`target_chip`] replaces.
pub fn replaced_target(db: &dyn Db, file: SourceFile) -> Option<Diagnostic> {
    let target = files::module_header(db, file).target?;
    if target.as_chip().is_some() {
        return None;
    }
    let chip = target_chip(db, file);
    let message = format!("no code can be made for `{target}`: this is code for `{chip}`");
    Some(at_start(Code::ReplacedTarget, message).with_help("`--arch` says which chip to compile for"))
}

/// The diagnostic for a chip whose tables are those of another, unless the file names that chip and has a
/// diagnostic already.
pub fn stand_in_diagnostic(db: &dyn Db, file: SourceFile, config: Config) -> Option<Diagnostic> {
    let chip = configuration::chip_info(db, config);
    if files::module_header(db, file).chip() == Some(chip) {
        return None;
    }
    oriole_hir::stand_in(chip, Span::default())
}

/// Why no code can be made for a chip that no table knows.
pub fn encoding_diagnostic(db: &dyn Db, config: Config) -> Option<Diagnostic> {
    let chip = configuration::chip_info(db, config);
    chip.stand_in()?;
    let message = format!("the instruction encodings are unknown for `{chip}`: no code can be made for it");
    Some(at_start(Code::NoEncoding, message))
}

/// Whether the module may be compiled for the chip.
pub fn target_diagnostics(db: &dyn Db, file: SourceFile, config: Config) -> Option<Diagnostic> {
    let chip = configuration::chip_info(db, config);
    let header = files::module_header(db, file);
    if header.address_size == Some(32) && !chip.has_32_bit_addresses() {
        let message = format!("the module has addresses of 32 bits, which `{chip}` does not have");
        return Some(at_start(Code::TargetMismatch, message));
    }
    if header.target.is_none_or(|target| chip.accepts(target)) {
        return None;
    }
    let message = format!("the module is for `{}`, which `{chip}` cannot replace", header.target_name());
    Some(at_start(Code::TargetMismatch, message))
}

/// The diagnostic about debug info that optimized code does not have.
pub fn optimized_diagnostic(db: &dyn Db, file: SourceFile, config: Config) -> Option<Diagnostic> {
    let options = configuration::debug_options(db, config);
    let asks = !options.suppressed && (options.full || files::module_header(db, file).debug);
    let misses = asks && !configuration::lower_options(db, config).unoptimized;
    let message = "the module is for debuggers, and optimized code has line tables at most: compile with -O0";
    misses.then(|| Diagnostic::new(Code::DebugInformation, Span::point(0), message.to_owned()))
}
