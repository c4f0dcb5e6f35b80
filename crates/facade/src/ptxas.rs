//! A drop-in compile for ptxas: its options take effect, and its messages are emitted, in steps between which a caller
//! opens files, takes the time and cancels.

use oriole_chip::{Chip, PtxTarget};
use oriole_cubin::Cubin;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_inputs::{Canceller, Config, Database, SourceFile};
use oriole_options::Options;
use oriole_ptxas::{
    Compilation, FunctionNeeds, KernelNeeds, Log, Resources, Severity, Source, is_of_the_text,
    is_unsupported, translate,
};
use oriole_queries::{files, view};

use crate::Cancelled;
use crate::program::Opened;

pub use oriole_queries::Compiled;

/// Constant banks of a kernel, and those of the module as a whole.
const KERNEL_BANKS: [u8; 2] = [0, 2];
const MODULE_BANKS: [u8; 2] = [3, 4];

/// The next step for a text.
pub enum Step<'a> {
    /// Done: it was only to be checked.
    Checked,
    /// Done: an option that has an effect for it is not supported.
    Refused,
    /// It is to be compiled.
    Compile(Box<Job<'a>>),
}

/// A text with a pending compile.
pub struct Job<'a> {
    compilation: &'a Compilation,
    source: Source,
    db: Database,
    file: SourceFile,
    config: Config,
}

/// The outcome of a compile without an error of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Success: the container.
    Done(triomphe::Arc<Vec<u8>>),
    /// Oriole cannot compile this, and the text has no reported error.
    Unsupported,
}

/// The steps before a compile: checks a text that is only to be checked, removes unselected entries, writes the options
/// that stand for directives into the text. `None` if that failed; the log says why.
pub fn begin<'a>(compilation: &'a Compilation, source: Source, log: &mut Log) -> Option<Step<'a>> {
    begin_in(&|text, chip, options| Opened::once(text, Some(chip), options), compilation, source, log)
}

/// How a text gets into a database.
#[doc(hidden)]
pub type Open<'a> = dyn Fn(&str, Chip, &Options) -> Opened + 'a;

/// [`begin`], in a database that the caller opens texts in.
#[doc(hidden)]
pub fn begin_in<'a>(
    open: &Open<'_>,
    compilation: &'a Compilation,
    mut source: Source,
    log: &mut Log,
) -> Option<Step<'a>> {
    let chip = compilation.architecture.chip;
    if compilation.warn_doubles {
        source.warn_of_doubles(log);
    }
    if compilation.architecture.is_virtual() || !compilation.entries.is_empty() {
        // All of the text is checked, removed parts included.
        let target = checked(open, compilation, &source, log)?;
        if compilation.architecture.is_virtual() {
            compilation.tensor_checks.tell(target, log);
            return Some(Step::Checked);
        }
    }
    if !compilation.entries.is_empty() {
        source.keep_entries(&compilation.entries, log).then_some(())?;
    }
    source.cache(&compilation.cache);
    source.limit(&compilation.limits, chip, compilation.verbose, log);
    if log.has_failed() {
        log.abort();
        return None;
    }
    let Opened { db, file, mut config, .. } = open(source.text(), chip, &compilation.options);
    if compilation.tensor_checks.refuse(files::module_header(&db, file).target, log) {
        return Some(Step::Refused);
    }
    if compilation.options.level > 0 && files::module_header(&db, file).debug {
        if compilation.level_said {
            log.say(Severity::Fatal, "Optimized debugging not supported");
            return None;
        }
        let mut options = compilation.options.clone();
        options.level = 0;
        config = Config::create(&db, chip, &options);
    }
    Some(Step::Compile(Box::new(Job { compilation, source, db, file, config })))
}

/// Checks a text against the language; returns its target.
fn checked(
    open: &Open<'_>,
    compilation: &Compilation,
    source: &Source,
    log: &mut Log,
) -> Option<Option<PtxTarget>> {
    let chip = compilation.architecture.chip;
    let Opened { db, file, config, .. } = open(source.text(), chip, &compilation.options);
    let mut diagnostics = oriole_queries::diagnostics_for(&db, file, config);
    // ptxas checks the shared memory of a kernel when it generates code.
    diagnostics.retain(|diagnostic| diagnostic.code != Code::TooMuchSharedMemory);
    // A text that is only checked is not linked, and so no definition is missing; nor where a linker may supply it.
    if compilation.architecture.is_virtual() || compilation.options.linking.leaves_open() {
        diagnostics.retain(|diagnostic| diagnostic.code != Code::UnresolvedExternal);
    }
    translate(&diagnostics, source, compilation.architecture, log);
    if log.has_failed() && !diagnostics.iter().any(Diagnostic::is_error) {
        log.abort();
    }
    (!log.has_failed()).then(|| files::module_header(&db, file).target)
}

impl Job<'_> {
    /// Number of functions to compile: more threads are useless.
    pub fn functions(&self) -> usize {
        files::code_units(&self.db, self.file).len()
    }

    /// A handle that cancels the compile, from another thread.
    pub fn canceller(&self) -> Canceller {
        self.db.canceller()
    }

    /// Compiles on `threads` threads.
    ///
    /// # Errors
    /// It was cancelled.
    pub fn compile(&self, threads: usize) -> Result<Compiled, Cancelled> {
        self.db.cancellable(|db| oriole_queries::compile(db, self.file, self.config, threads))
    }

    /// Reports a compile that took this many microseconds. `None` if it failed; the log says why.
    pub fn tell(&self, compiled: Compiled, microseconds: u64, log: &mut Log) -> Option<Outcome> {
        let compilation = self.compilation;
        if !compiled.diagnostics.iter().any(is_of_the_text) {
            compilation.tensor_checks.tell(files::module_header(&self.db, self.file).target, log);
        }
        translate(&compiled.diagnostics, &self.source, compilation.architecture, log);
        if compiled.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::NewerVersion) {
            return None;
        }
        let Some(cubin) = compiled.cubin else {
            let mut errors = compiled.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
            return errors.all(is_unsupported).then_some(Outcome::Unsupported);
        };
        if compilation.verbose || compilation.warn_spills || compilation.warn_local {
            let resources = self.resources(&cubin, microseconds);
            resources.warn(compilation.warn_spills, compilation.warn_local, log);
            if compilation.verbose {
                resources.say(log);
            }
        }
        (!log.has_failed()).then_some(Outcome::Done(cubin))
    }

    /// The resources of the text, from its compiled bytes.
    fn resources(&self, cubin: &[u8], microseconds: u64) -> Resources {
        let chip = self.compilation.architecture.chip;
        let Ok(cubin) = oriole_cubin::read(cubin) else { return Resources::default() };
        // ptxas reports constant banks only for the chips without clusters.
        let tells_banks = chip.constant_bank().is_some_and(|bank| bank.cluster_blocks.is_none());
        let banks = |numbers: [u8; 2], owner: &str| -> Vec<(u8, u64)> {
            let size = |number: u8| (number, section(&cubin, &format!(".nv.constant{number}{owner}")));
            if tells_banks { numbers.map(size).to_vec() } else { Vec::new() }
        };
        let mut resources = Resources {
            chip: chip.to_string(),
            global_bytes: section(&cubin, ".nv.global") + section(&cubin, ".nv.global.init"),
            constant_bytes: banks(MODULE_BANKS, ""),
            microseconds,
            ..Resources::default()
        };
        for needs in view::resources(&self.db, self.file, self.config) {
            let function = FunctionNeeds {
                frame_bytes: needs.frame_bytes.into(),
                spill_store_bytes: needs.spill_stores.into(),
                spill_load_bytes: needs.spill_loads.into(),
                name: needs.name,
            };
            if !needs.is_kernel {
                resources.functions.push(function);
                continue;
            }
            let constant_bytes = banks(KERNEL_BANKS, &format!(".{}", function.name));
            let [textures, samplers, surfaces] = needs.headers;
            resources.kernels.push(KernelNeeds {
                function,
                registers: needs.registers,
                barriers: needs.barriers.into(),
                stack_bytes: needs.stack_bytes.unwrap_or(0).into(),
                shared_bytes: needs.shared_bytes.into(),
                constant_bytes,
                textures,
                samplers,
                surfaces,
            });
        }
        resources
    }
}

fn section(cubin: &Cubin, name: &str) -> u64 {
    cubin.section(name).map_or(0, |section| section.size)
}
