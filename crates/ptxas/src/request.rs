//! The request of a command line: help, a check, a compile with its options; and ptxas's errors before it reads an
//! input.

use crate::cache_operators::{OF_LOADS, OF_STORES};
use crate::options::{Here, NO_CHECKS, Opt};
use crate::{Architecture, CacheOperators, CommandLine, Log, Severity};
use oriole_chip::{Chip, PtxTarget, Variant};
use oriole_options::{DebugOptions, Linking, Options};

/// Fewest registers that a kernel may be limited to.
const FEWEST_REGISTERS: i64 = 24;

/// Fewest registers for a linker's architecture, for which a text is only checked.
const FEWEST_FOR_LINKERS: i64 = 16;
/// The value of `archmin`.
const ARCHITECTURE_LEAST: i64 = 32;
/// The highest optimization level.
const HIGHEST_LEVEL: i64 = Options::HIGHEST_LEVEL as i64;
/// The level if none is given.
const DEFAULT_LEVEL: i64 = Options::MOST_EFFORT as i64;
/// The largest value of `--register-usage-level`.
const HIGHEST_USAGE: i64 = 10;
/// The default chip.
const DEFAULT_CHIP: &str = "sm_75";
/// Number of dimensions of a block.
const DIMENSIONS: usize = 3;

/// The action to perform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Print the versions of the language.
    ListVersions,
    /// Print the numbers of the chips.
    ListChips,
    /// Compile, or check.
    Compile(Box<Compilation>),
}

/// A command line and its request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The action.
    pub action: Action,
    /// Refused options, each with the reason; nothing is compiled then.
    pub refused: Vec<String>,
}

/// The number of compile threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    /// Not given.
    #[default]
    Unsaid,
    /// As many as there are CPUs.
    All,
    /// This many.
    Some(usize),
}

/// Options that stand for directives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// `.maxntid`
    pub max_threads: Vec<u32>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u16>,
    /// They go before the directives of the text.
    pub override_directives: bool,
}

/// One compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compilation {
    /// The target.
    pub architecture: Architecture,
    /// The options of the compiler.
    pub options: Options,
    /// The optimization level was given; otherwise debug builds are not optimized.
    pub level_said: bool,
    /// Options that stand for directives.
    pub limits: Limits,
    /// Cache operators of loads and stores.
    pub cache: CacheOperators,
    /// Only these entries; all if empty.
    pub entries: Vec<String>,
    /// The path of the result.
    pub output: String,
    /// Report the resources of each function.
    pub verbose: bool,
    /// Warn of spills.
    pub warn_spills: bool,
    /// Warn of local memory.
    pub warn_local: bool,
    /// Warn of f64 instructions.
    pub warn_doubles: bool,
    /// The number of threads.
    pub threads: Threads,
    /// Whether accesses of tensor memory are checked.
    pub tensor_checks: TensorChecks,
}

/// The options for checks of tensor memory. The target of the text decides whether there is such memory, not the
/// architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorChecks {
    /// Not given.
    Unsaid,
    /// Without checks.
    Off,
    /// With checks.
    On,
}

impl TensorChecks {
    /// Refuses checks where they would be generated; returns whether it did.
    pub fn refuse(self, target: Option<PtxTarget>, log: &mut Log) -> bool {
        let refused = self == TensorChecks::On && target.is_some_and(has_tensor_memory);
        if refused {
            log.say(Severity::Fatal, &refusal(Opt::TensorChecks, NO_CHECKS));
        }
        refused
    }

    /// Reports that the target has nothing to check.
    pub fn tell(self, target: Option<PtxTarget>, log: &mut Log) {
        if let Some(target) =
            target.filter(|&target| self != TensorChecks::Unsaid && !has_tensor_memory(target))
        {
            let text = format!(
                "Command line option '--g-tensor-memory-access-check / --gno-tensor-memory-access-check' not supported for '.target {target}', will be ignored"
            );
            log.say(Severity::Info, &text);
        }
    }
}

/// Whether the language has tensor memory for a target: for the families of the chips that have it, not for their base
/// targets.
fn has_tensor_memory(target: PtxTarget) -> bool {
    let has = |chip: Chip| chip.tensor_partition().is_some();
    target.variant() != Variant::Base && target.as_chip().is_some_and(has)
}

impl Request {
    /// The request of a line. `None` if it cannot be done; the log says why.
    pub fn new(line: &CommandLine, log: &mut Log) -> Option<Request> {
        let has_input = !line.inputs.is_empty() || line.has(Opt::InputAsString);
        let action = match () {
            () if line.has(Opt::Version) => Action::Version,
            () if line.has(Opt::Help) => Action::Help,
            () if line.has(Opt::ListVersions) => Action::ListVersions,
            () if line.has(Opt::ListChips) => Action::ListChips,
            () if !has_input => Action::Help,
            () => Action::Compile(Box::new(compilation(line, log)?)),
        };
        let refused = match &action {
            Action::Compile(_) => refused(line, log),
            _ => Vec::new(),
        };
        Some(Request { action, refused })
    }
}

fn compilation(line: &CommandLine, log: &mut Log) -> Option<Compilation> {
    let architecture: Architecture = line.value(Opt::GpuName).unwrap_or(DEFAULT_CHIP).parse().ok()?;
    if architecture.is_for_linkers() && architecture.chip.variant() == Variant::Accelerated {
        log.say(Severity::Fatal, &format!("Unsupported gpu architecture '{architecture}'"));
        return None;
    }
    let mut options = options(line, log)?;
    let (limits, of_functions) = limits(line, architecture, log)?;
    if let Some(registers) = of_functions {
        options.set("func-maxrregcount", &registers.to_string()).ok()?;
    }
    usage_level(line, log);
    debugging(line, log)?;
    let threads = threads(line, log)?;
    let cache = cache_operators(line, log);
    if log.has_failed() {
        log.abort();
        return None;
    }
    Some(Compilation {
        architecture,
        options,
        level_said: line.number(Opt::OptLevel).is_some(),
        limits,
        cache,
        entries: line.values(Opt::Entry).map(str::to_owned).collect(),
        output: line.value(Opt::OutputFile).unwrap_or("elf.o").to_owned(),
        verbose: line.has(Opt::Verbose),
        warn_spills: line.has(Opt::WarnSpills),
        warn_local: line.has(Opt::WarnLocal),
        warn_doubles: line.has(Opt::WarnDoubles),
        threads,
        tensor_checks: match (line.has(Opt::TensorChecks), line.has(Opt::NoTensorChecks)) {
            (_, true) => TensorChecks::Off,
            (true, false) => TensorChecks::On,
            (false, false) => TensorChecks::Unsaid,
        },
    })
}

fn options(line: &CommandLine, log: &mut Log) -> Option<Options> {
    let mut options = Options::default();
    let unsaid = if line.has(Opt::DeviceDebug) { 0 } else { DEFAULT_LEVEL };
    options.level = line.number(Opt::OptLevel).unwrap_or(unsaid).clamp(0, HIGHEST_LEVEL) as u8;
    if let Some(fast) = line.value(Opt::FastCompile)
        && !matches!(fast, "0" | "min" | "mid" | "max")
    {
        let text =
            format!("Invalid value for --Ofast-compile/-Ofc ({fast}), is not 'max', 'mid', 'min', or '0'");
        log.say(Severity::Fatal, &text);
        return None;
    }
    if let Some(fmad) = line.value(Opt::Fmad) {
        // The parser accepts only the two texts that the knob takes.
        options.set("fmad", fmad).ok()?;
    }
    options.linking = match (line.has(Opt::CompileOnly), line.has(Opt::ExtensibleProgram)) {
        (true, _) => Linking::Relocatable,
        (false, true) => Linking::Extensible,
        (false, false) => Linking::Whole,
    };
    options.debug = DebugOptions {
        lines: line.has(Opt::LineInfo),
        suppressed: line.has(Opt::NoDebugInfo),
        full: line.has(Opt::DeviceDebug),
    };
    Some(options)
}

/// The options for directives of entries, and the register limit of functions: these have no such directive.
fn limits(line: &CommandLine, architecture: Architecture, log: &mut Log) -> Option<(Limits, Option<u16>)> {
    let max_registers = registers(line, Opt::MaxRegisters, architecture, log)?;
    let mut of_functions = None;
    if line.has(Opt::CompileOnly) {
        // The kernels of the file need not call them.
        of_functions = registers(line, Opt::FunctionRegisters, architecture, log)?.or(max_registers);
    } else if line.has(Opt::FunctionRegisters) {
        let text = "Command line option 'device-function-maxrregcount' not supported for 'whole program compilation', will be ignored";
        log.say(Severity::Warning, text);
    }
    let mut limits = Limits {
        max_threads: line.values(Opt::MaxThreads).filter_map(|number| number.parse().ok()).collect(),
        min_blocks: line.number(Opt::MinBlocks).and_then(|number| u32::try_from(number).ok()),
        max_registers,
        override_directives: line.has(Opt::OverrideDirectives),
    };
    if limits.max_threads.len() > DIMENSIONS {
        log.say(Severity::Warning, "Too many values specified for option '-maxntid', option will be ignored");
        limits.max_threads.clear();
    }
    if max_registers.is_some() {
        let mut ignore = |name: &str| {
            let text =
                format!("Conflicting options -maxrregcount and -{name} specified, ignoring -{name} option");
            log.say(Severity::Warning, &text);
        };
        if limits.min_blocks.take().is_some() {
            ignore("minnctapersm");
        }
        if !limits.max_threads.is_empty() {
            ignore("maxntid");
            limits.max_threads.clear();
        }
    }
    Some((limits, of_functions))
}

/// The register limit of an option.
#[allow(clippy::option_option, reason = "no bound, or a text that is none")]
fn registers(
    line: &CommandLine,
    option: Opt,
    architecture: Architecture,
    log: &mut Log,
) -> Option<Option<u16>> {
    let Some(text) = line.value(option) else { return Some(None) };
    // A virtual chip has none, so that every number is too large.
    let is_virtual = architecture.is_virtual();
    let most = if is_virtual { 0 } else { i64::from(architecture.chip.register_files().general.count) };
    let number = match text {
        "archmax" | "archmin" if is_virtual => return Some(None),
        "archmax" => most,
        "archmin" => ARCHITECTURE_LEAST,
        _ => match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => {
                let long = option.row().long;
                log.say(Severity::Fatal, &format!("Invalid value '{text}' for option '{long}'"));
                return None;
            }
        },
    };
    let fewest = if architecture.is_for_linkers() { FEWEST_FOR_LINKERS } else { FEWEST_REGISTERS };
    let bound = match number {
        0.. if number < fewest && number <= most => {
            let text = format!(
                "For profile {architecture} adjusting per thread register count of {number} to lower bound of {fewest}"
            );
            log.say(Severity::Warning, &text);
            fewest
        }
        _ if number < 0 || number > most => {
            log.say(
                Severity::Warning,
                &format!("Too big maxrregcount value specified {number}, will be ignored"),
            );
            if is_virtual {
                return Some(None);
            }
            most
        }
        _ => number,
    };
    Some(u16::try_from(bound).ok())
}

fn usage_level(line: &CommandLine, log: &mut Log) {
    if let Some(level) = line.number(Opt::UsageLevel)
        && !(0..=HIGHEST_USAGE).contains(&level)
    {
        let text = format!(
            "Value of RegUsageLevel ({level}) is out of valid range {{0..{HIGHEST_USAGE}}}, option will be ignored"
        );
        log.say(Severity::Warning, &text);
    }
}

/// ptxas's errors about conflicting debugging options.
fn debugging(line: &CommandLine, log: &mut Log) -> Option<()> {
    let [debug, lines] = [Opt::DeviceDebug, Opt::LineInfo].map(|option| line.has(option));
    if debug && line.number(Opt::OptLevel).is_some_and(|level| level > 0) {
        log.say(Severity::Fatal, "Optimized debugging not supported");
        return None;
    }
    if line.has(Opt::CompileOnly) && line.has(Opt::ExtensibleProgram) {
        let text = "Conflicting options '--compile-only' and '--extensible-whole-program' specified, ignoring '--extensible-whole-program' option";
        log.say(Severity::Warning, text);
    }
    if debug && lines {
        let text = "Conflicting options --device-debug and --generate-line-info specified, ignoring --generate-line-info option";
        log.say(Severity::Warning, text);
    }
    if line.has(Opt::NoDebugInfo) && !debug && !lines {
        let text = "Option suppress-debug-info requires option device-debug or lineinfo; ignoring since latter is not specified";
        log.say(Severity::Warning, text);
    }
    if line.has(Opt::LegacyBarrier) {
        let text = "'--legacy-bar-warp-wide-behavior' is a deprecated option, It will be removed in future release and is not recommended";
        log.say(Severity::Warning, text);
        let text = "Command line option '--legacy-bar-warp-wide-behavior' not supported for '.target sm_70', will be ignored";
        log.say(Severity::Warning, text);
    }
    let extensible = line.has(Opt::ExtensibleProgram) && !line.has(Opt::CompileOnly);
    if extensible && line.value(Opt::PositionIndependent).is_some() {
        let text = "Conflicting options '--position-independent-code' and '--extensible-whole-program' specified, ignoring '--position-independent-code' option";
        log.say(Severity::Warning, text);
    }
    Some(())
}

fn threads(line: &CommandLine, log: &mut Log) -> Option<Threads> {
    match line.number(Opt::SplitCompile) {
        None => Some(Threads::Unsaid),
        Some(0) => Some(Threads::All),
        Some(number) => match usize::try_from(number) {
            Ok(number) => Some(Threads::Some(number)),
            Err(_) => {
                log.say(Severity::Fatal, &format!("Invalid value '{number}' for option '--split-compile'"));
                None
            }
        },
    }
}

fn cache_operators(line: &CommandLine, log: &mut Log) -> CacheOperators {
    for option in [Opt::DefLoadCache, Opt::ForceLoadCache, Opt::DefStoreCache, Opt::ForceStoreCache] {
        let (known, what) = match option {
            Opt::DefLoadCache | Opt::ForceLoadCache => (&OF_LOADS[..], "load"),
            _ => (&OF_STORES[..], "store"),
        };
        if let Some(operator) = line.value(option).filter(|operator| !known.contains(operator)) {
            let text = format!("Invalid default cache modifier on {what} specified: {operator}");
            log.say(Severity::Error, &text);
        }
    }
    let value = |option| line.value(option).map(str::to_owned);
    CacheOperators {
        default_load: value(Opt::DefLoadCache),
        default_store: value(Opt::DefStoreCache),
        force_load: value(Opt::ForceLoadCache),
        force_store: value(Opt::ForceStoreCache),
    }
}

fn refusal(option: Opt, why: &str) -> String {
    format!("Option '--{}' is not supported by Oriole: {why}", option.row().long)
}

/// Refused options, whose effect the result would lack, each with the reason.
fn refused(line: &CommandLine, log: &mut Log) -> Vec<String> {
    let mut found = Vec::new();
    for option in line.given() {
        let row = option.row();
        let why = match (option, row.here) {
            // The target of the text decides whether there is anything to check.
            (Opt::TensorChecks, _) => continue,
            (Opt::StackProtector, _) if line.value(option) == Some("true") => {
                "no canaries are put into the code"
            }
            (_, Here::Refused(why)) => why,
            _ => continue,
        };
        let text = refusal(option, why);
        log.say(Severity::Fatal, &text);
        found.push(text);
    }
    found
}
