//! The options of ptxas, one row each: their spelling, the value they take, and their effect here.
//!
//! This is the only list of them: the parser, the help and the check that no option is ignored silently read it.

/// The kind of value of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// None.
    Flag,
    /// A text.
    Text,
    /// Several texts with commas between them; a repeated option adds to the list.
    List,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One of these numbers, which may be attached to the short name (`-m64`).
    Bits(&'static [&'static str]),
    /// The name of a chip.
    Chip,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A number that is attached to the short name (`-O3`) and never the next word.
    JoinedNumber,
}

/// The reason why checks are refused.
pub(crate) const NO_CHECKS: &str = "no checks are put into the code";

/// The effect of an option here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Here {
    /// Its effect in ptxas.
    Same,
    /// Its effect in ptxas, but for what the text says.
    Differs(&'static str),
    /// It is accepted without effect; the text says why the result is valid all the same.
    NoEffect(&'static str),
    /// It is refused, since the result would be wrong without it; the text names the missing feature.
    Refused(&'static str),
    /// ptxas has no such option.
    Own,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The option.
    pub option: Opt,
    /// The name after two dashes.
    pub long: &'static str,
    /// The name after one dash; empty if there is none.
    pub short: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// Its effect here.
    pub here: Here,
    /// A line of help.
    pub help: &'static str,
}

macro_rules! options {
    ($( $option:ident = $long:literal, $short:literal, $kind:expr, $here:expr, $help:literal; )*) => {
        /// An option by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Opt {
            $( #[doc = $help] $option, )*
        }

        /// Every option, in the order of long names.
        pub const OPTIONS: &[Row] = &[
            $( Row { option: Opt::$option, long: $long, short: $short, kind: $kind, here: $here, help: $help }, )*
        ];
    };
}

use Here::{Differs, NoEffect, Own, Refused, Same};
use Kind::{Bits, Bool, Flag, JoinedNumber, List, Number, OneOf, Text};

/// The reason why a bound on the effort of the compiler may be dropped.
const EFFORT: Here = NoEffect("it trades compile time for code speed and does not change results");
/// The reason why a hint to debuggers may be dropped.
const SHAPE: Here = NoEffect("it changes code for debuggers and does not change results");
/// The reason why a promise to keep quiet may be dropped.
const QUIET: Here = NoEffect("the message that it turns off is never given");

options! {
    AllowExpensive = "allow-expensive-optimizations", "allow-expensive-optimizations", Bool, EFFORT,
        "Allow optimizations that take much time and memory.";
    ApplyControls = "apply-controls", "apply-controls", Text, Refused("the controls are specific to ptxas"),
        "Read controls of parts of the compiler from a file.";
    ToolsPatch = "compile-as-tools-patch", "astoolspatch", Flag, Refused("patches for tools have a calling convention of their own"),
        "Compile a patch for tools.";
    CompileOnly = "compile-only", "c", Flag, Same,
        "Make a relocatable object.";
    Annotate = "compiler-annotations", "annotate", Flag, NoEffect("it adds notes for tools, never code"),
        "Add notes of the compiler to the result.";
    DefLoadCache = "def-load-cache", "dlcm", Text, Same,
        "Cache operator of loads that have none: ca, cg, cs, lu, cv.";
    DefStoreCache = "def-store-cache", "dscm", Text, Same,
        "Cache operator of stores that have none: wb, cg, cs, wt.";
    DeviceDebug = "device-debug", "g", Flag, Same,
        "Make debug information.";
    FunctionRegisters = "device-function-maxrregcount", "func-maxrregcount", Text, Same,
        "Most registers of functions of a relocatable object.";
    StackProtector = "device-stack-protector", "device-stack-protector", Bool, Same,
        "Guard the stack with canaries; only `false`.";
    NoOptimizerConstants = "disable-optimizer-constants", "disable-optimizer-consts", Flag,
        NoEffect("where a constant is kept changes nothing that a program sees"),
        "Keep constants of the optimizer out of constant banks.";
    NoWarnings = "disable-warnings", "w", Flag, Same,
        "Give no warnings.";
    KeepBlocks = "dont-merge-basicblocks", "no-bb-merge", Flag, SHAPE,
        "Do not join basic blocks.";
    CloneFunctions = "enable-func-clone-sc", "enable-func-clone-sc", Bool, EFFORT,
        "Copy functions of a relocatable object for each entry that calls them.";
    Entry = "entry", "e", List, Same,
        "Compile these entries only.";
    ExtensibleProgram = "extensible-whole-program", "ewp", Flag, Same,
        "Make a whole program that a linker completes.";
    Fallback = "fallback", "", Text, Own,
        "Run this ptxas where Oriole lacks support (Oriole's own option).";
    Fmad = "fmad", "fmad", Bool, Same,
        "Contract multiplies and adds into fused ones.";
    ForceLoadCache = "force-load-cache", "flcm", Text, Same,
        "Cache operator of all loads.";
    ForceStoreCache = "force-store-cache", "fscm", Text, Same,
        "Cache operator of all stores.";
    TensorChecks = "g-tensor-memory-access-check", "g-tmem-access-check", Flag, Refused(NO_CHECKS),
        "Check accesses of tensor memory.";
    LineInfo = "generate-line-info", "lineinfo", Flag, Same,
        "Make line information.";
    NoFabricChecks = "gno-fabric-access-check", "gno-fabric-access-check", Flag,
        NoEffect("there are no such checks"),
        "Do not check operations of the fabric.";
    NoTensorChecks = "gno-tensor-memory-access-check", "gno-tmem-access-check", Flag,
        NoEffect("there are no such checks"),
        "Do not check accesses of tensor memory.";
    GpuName = "gpu-name", "arch", Kind::Chip, Same,
        "Chip to compile for; compute_NN and lto_NN only check the text.";
    Help = "help", "h", Flag, Same,
        "Print this help.";
    InputAsString = "input-as-string", "ias", Text, Same,
        "Take the text of a module from the command line.";
    JobServer = "jobserver", "jobserver", Flag, NoEffect("it bounds threads"),
        "Ask a job server for threads.";
    LegacyBarrier = "legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", Flag,
        NoEffect("ptxas ignores it for every chip that is left"),
        "Barriers of warps as they were before Volta.";
    ListChips = "list-arch", "arch-ls", Flag, Same,
        "Print the numbers of the chips.";
    ListVersions = "list-version", "version-ls", Flag, Same,
        "Print the versions of the language.";
    Machine = "machine", "m", Bits(&["64"]), Same,
        "Bits of addresses of the host; only 64.";
    VisibleErrors = "make-errors-visible-at-exit", "make-errors-visible-at-exit", Flag,
        Refused("no such instructions are put before exits"),
        "Make memory errors visible at the exit.";
    MaxThreads = "maxntid", "maxntid", List, Same,
        "Most threads of a block, for entries that do not say it.";
    MaxRegisters = "maxrregcount", "maxrregcount", Text, Same,
        "Most registers of a thread: a number, `archmax` or `archmin`.";
    MinBlocks = "minnctapersm", "minnctapersm", Number, Same,
        "Fewest blocks that an SM holds, for entries that do not say it.";
    FastCompile = "Ofast-compile", "Ofc", Text, Same,
        "How much to leave out for the sake of compile time: 0, min, mid, max.";
    OptLevel = "opt-level", "O", JoinedNumber, Differs("level 4 searches; ptxas takes it as 3"),
        "Optimization level; 3 by default, and higher levels than 4 are 4.";
    FloatAtomics = "optimize-float-atomics", "opt-fp-atomics", Flag, NoEffect("it allows less precision, and asks for none"),
        "Allow optimizations of floating-point atomics.";
    OptionsFile = "options-file", "optf", List, Same,
        "Read options from files.";
    OutputFile = "output-file", "o", Text, Same,
        "Where the result goes; elf.o by default.";
    OverrideDirectives = "override-directive-values", "override-directive-values", Flag, Same,
        "Values of options go before those of directives.";
    PositionIndependent = "position-independent-code", "pic", Bool, NoEffect("code has no position that it depends on"),
        "Make code that does not depend on its position.";
    PreserveRelocations = "preserve-relocs", "preserve-relocs", Flag, Refused("relocations are resolved"),
        "Keep relocations in the result.";
    AllocationLevel = "regAllocOptLevel", "regAllocOptLevel", Number, EFFORT,
        "Effort of register allocation.";
    UsageLevel = "register-usage-level", "regUsageLevel", Number, EFFORT,
        "How freely registers are used, 0 to 10.";
    Resident = "resident", "", Flag, Own,
        "Ask the resident compiler, and start it if there is none (Oriole's own option).";
    ReturnAtEnd = "return-at-end", "ret-end", Flag, SHAPE,
        "Keep the return at the end of a function.";
    Sanitize = "sanitize", "sanitize", OneOf(&["memcheck", "threadsteer"]), Refused("no code is instrumented"),
        "Instrument the code for a sanitizer.";
    StackChecks = "sp-bounds-check", "sp-bounds-check", Flag, Refused(NO_CHECKS),
        "Check the bounds of the stack pointer.";
    SplitCompile = "split-compile", "split-compile", Number, Same,
        "How many threads compile; 0 for all processors.";
    QuietMulticast = "suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", Flag, QUIET,
        "No advice about multicast copies.";
    NoDebugInfo = "suppress-debug-info", "suppress-debug-info", Flag, Same,
        "Leave out what -g and -lineinfo add.";
    QuietDemotion = "suppress-double-demote-warning", "suppress-double-demote-warning", Flag, QUIET,
        "Do not warn about f64 instructions that the chip lacks.";
    QuietPosition = "suppress-position-independent-code-warning", "suppress-position-independent-code-warning", Flag, QUIET,
        "No warning about --position-independent-code.";
    QuietSparse = "suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", Flag, QUIET,
        "Do not advise about sparse matrix multiplies.";
    QuietStack = "suppress-stack-size-warning", "suppress-stack-size-warning", Flag, QUIET,
        "No warning about stacks of unknown size.";
    Verbose = "verbose", "v", Flag, Same,
        "Tell what each function needs.";
    Verbose2 = "verbose2", "v2", Flag, NoEffect("what it tells beyond -v is progress"),
        "Tell what is at work.";
    Version = "version", "V", Flag, Same,
        "Print the version.";
    WarnDoubles = "warn-on-double-precision-use", "warn-double-usage", Flag, Same,
        "Warn about f64 instructions.";
    WarnLocal = "warn-on-local-memory-usage", "warn-lmem-usage", Flag, Same,
        "Warn of functions that use local memory.";
    WarnSpills = "warn-on-spills", "warn-spills", Flag, Same,
        "Warn of functions whose registers are spilled.";
    WarningsAreErrors = "warning-as-error", "Werror", Flag, Same,
        "Take warnings for errors.";
}

impl Opt {
    /// The row of the option.
    pub fn row(self) -> &'static Row {
        &OPTIONS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_rows_are_found() {
        let (mut long, mut short) = (BTreeSet::new(), BTreeSet::new());
        for row in OPTIONS {
            assert!(long.insert(row.long), "{} twice", row.long);
            assert!(row.short.is_empty() || short.insert(row.short), "{} twice", row.short);
            assert_eq!(row.option.row().long, row.long);
            assert!(row.help.ends_with('.'), "{}", row.long);
        }
        let lower = |row: &Row| row.long.to_lowercase();
        assert!(OPTIONS.is_sorted_by_key(lower), "rows are in the order of their long names");
    }
}
