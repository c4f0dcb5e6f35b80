//! The registry of diagnostic codes: one row per code with its stable name,
//! family, severity and page text.
//!
//! It is the only place where a code is declared. A code's name never changes
//! and is never given to something else; a row is added here when a stage has
//! something new to say. No formatting of messages happens here.

use std::fmt;

use crate::Severity;

/// The part of the compiler that reports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Family {
    /// The text is not PTX: lexer, splitter and parser.
    Syntax,
    /// Names, types, operands and rules of the PTX language.
    Language,
    /// The chip or the PTX version does not have it.
    Target,
    /// Correct PTX that Oriole cannot compile yet.
    Support,
    /// A bound on size or nesting.
    Limit,
    /// The file is not one that holds what a command needs.
    File,
    /// The compiler itself.
    Internal,
    /// A run of a program shows it.
    Check,
    /// A model of the time of a kernel shows it.
    Profile,
}

macro_rules! codes {
    ($( $variant:ident = $name:literal, $family:ident, $severity:ident, $page:literal; )*) => {
        /// A diagnostic code.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum Code {
            $( #[doc = $page] $variant, )*
        }

        impl Code {
            /// Every code, in registry order.
            pub const ALL: &'static [Code] = &[ $( Code::$variant, )* ];

            /// The stable name, for example `ptx::unknown-name`.
            pub const fn as_str(self) -> &'static str {
                match self { $( Code::$variant => $name, )* }
            }

            /// The part of the compiler that reports.
            pub const fn family(self) -> Family {
                match self { $( Code::$variant => Family::$family, )* }
            }

            /// The default severity of diagnostics with this code.
            pub const fn severity(self) -> Severity {
                match self { $( Code::$variant => Severity::$severity, )* }
            }

            /// The page: one paragraph that says what the code means, why it is
            /// a problem and what usually helps.
            pub const fn page(self) -> &'static str {
                match self { $( Code::$variant => $page, )* }
            }
        }
    };
}

codes! {
    Syntax = "ptx::syntax", Syntax, Error,
        "The text does not follow the PTX grammar. The message names what was expected at that place. The parser goes on behind the next semicolon or closing brace, so that one mistake gives one diagnostic.";
    InvalidCharacter = "ptx::invalid-character", Syntax, Error,
        "A character cannot begin any PTX token. PTX is ASCII text; outside comments and strings only letters, digits, punctuation of the grammar and white space are allowed. Files in UTF-16, and NUL bytes, end here.";
    UnterminatedComment = "ptx::unterminated-comment", Syntax, Error,
        "A block comment is opened with `/*` and never closed. The comment is taken to end before the next line that starts a kernel or function, so that the rest of the file is still read.";
    UnterminatedString = "ptx::unterminated-string", Syntax, Error,
        "A string literal is not closed on its line. Strings cannot hold line ends; write `\\n` instead.";
    InvalidNumber = "ptx::invalid-number", Syntax, Error,
        "A numeric literal is malformed: an octal number with the digits 8 or 9, a `0f` literal that does not have exactly eight hexadecimal digits, a `0d` literal that does not have exactly sixteen, or letters glued to a number.";
    UnterminatedBody = "ptx::unterminated-body", Syntax, Error,
        "A body, scope or section is opened with `{` and not closed before the next kernel or function starts or the file ends. Close it with `}`.";
    NotUtf8 = "ptx::not-utf8", Syntax, Error,
        "The file is not valid UTF-8 text. PTX files are plain ASCII; a binary, a compressed file or UTF-16 text was probably given instead.";

    MissingVersion = "ptx::missing-version", Language, Error,
        "A module must begin with a `.version` directive, before everything but comments. Add, for example, `.version 8.0` as first line.";
    MissingTarget = "ptx::missing-target", Language, Error,
        "A module must have a `.target` directive directly after `.version`. Add, for example, `.target sm_90`.";
    UndefinedTarget = "ptx::undefined-target", Language, Error,
        "The first `.target` of a module begins with a word that is not a chip name. A chip comes first, followed by options such as `debug` and further chips; the last chip counts.";
    InvalidHeader = "ptx::invalid-header", Language, Error,
        "A header directive has a value that does not exist, or it is where no header directive is allowed. `.version` takes major and minor number, `.target` a chip name and options, `.address_size` 32 or 64, and all three come before the first declaration.";
    UnsupportedVersion = "ptx::unsupported-version", Language, Error,
        "The module asks for a version of the PTX language that does not exist. Use an existing version; the message names the newest supported one.";
    NewerVersion = "ptx::newer-version", Language, Warning,
        "The module asks for a version of the PTX language that came after this compiler. Versions only add to the language, so known instructions keep their meaning; unknown ones are errors where they are used. `ptxas` itself refuses versions later than its own, and so do `oriole ptxas` and the C library.";
    UnknownName = "ptx::unknown-name", Language, Error,
        "A register, variable, label, parameter or function is used without a visible declaration. Names are visible from their declaration to the end of the scope that holds it; labels are visible in the whole scope.";
    DuplicateName = "ptx::duplicate-name", Language, Error,
        "The same name is declared twice in one scope. Rename one of the two, or put the second into a scope of its own.";
    ParameterWritten = "ptx::parameter-written", Language, Error,
        "A store names a parameter of the function that it is in. Parameters are read only. A variable of `.param` in an inner scope that has the name of a parameter counts as one, too: rename it.";
    ParameterPassed = "ptx::parameter-passed", Language, Error,
        "A call names a parameter or a result of the function that it is in. Arguments and results of a call are registers, or `.param` variables that the function declares: copy the value with `ld.param` and `st.param`.";
    ResultRead = "ptx::result-read", Language, Error,
        "A load names a result of the function that it is in. Results are written only. A variable of `.param` in an inner scope that has the name of a result counts as one, too: rename it.";
    WrongKindOfName = "ptx::wrong-kind-of-name", Language, Error,
        "The name exists, but it is of the wrong kind here: a label where a register is needed, for example, or a register where a function is needed.";
    UseBeforeDeclaration = "ptx::use-before-declaration", Language, Error,
        "A function or variable is used above its declaration. PTX is read from top to bottom: add a declaration without a body, or an `.extern` declaration, above the use.";
    UnknownInstruction = "ptx::unknown-instruction", Language, Error,
        "No PTX instruction has this name. The message suggests the closest name.";
    UnknownDirective = "ptx::unknown-directive", Language, Error,
        "No PTX directive has this name, or it is not allowed at this place.";
    InvalidDirective = "ptx::invalid-directive", Language, Error,
        "A directive has a value that the language does not allow, contradicts another directive, or appears twice where only one is allowed.";
    UnknownModifier = "ptx::unknown-modifier", Language, Error,
        "The instruction does not have this modifier. The message lists the modifiers that are allowed here.";
    MissingModifier = "ptx::missing-modifier", Language, Error,
        "The instruction needs a modifier that is missing, for example a rounding mode, `.lo`, `.hi` or `.wide`, a memory scope, or the operand type.";
    ConflictingModifiers = "ptx::conflicting-modifiers", Language, Error,
        "Two modifiers of one instruction exclude each other, or one of them is given twice.";
    InvalidType = "ptx::invalid-type", Language, Error,
        "The instruction does not exist for this operand type, or the type cannot be used for this variable.";
    TypeMismatch = "ptx::type-mismatch", Language, Error,
        "An operand's type does not fit the instruction type. Sizes must agree exactly unless the instruction allows wider registers; integer, bit and floating-point registers may be mixed only where the language says so.";
    OperandCount = "ptx::operand-count", Language, Error,
        "The instruction has too many or too few operands. The message says how many it takes in this form.";
    InvalidOperand = "ptx::invalid-operand", Language, Error,
        "An operand is of a form that the instruction does not take at this position: a constant as destination, a register where only a constant is allowed, an address without brackets, a vector where a scalar is needed.";
    InvalidVector = "ptx::invalid-vector", Language, Error,
        "A vector operand has a number of elements that the instruction or its type does not allow.";
    InvalidAddress = "ptx::invalid-address", Language, Error,
        "The expression in brackets is not an address: an address is a register, a variable, or one of these plus a constant.";
    InvalidPredicate = "ptx::invalid-predicate", Language, Error,
        "A guard or a selector must be a register of type `.pred`, optionally negated once.";
    StateSpaceMismatch = "ptx::state-space-mismatch", Language, Error,
        "The instruction names one state space and the address belongs to another.";
    AddressOfOtherSpace = "ptx::address-of-other-space", Language, Warning,
        "A register holds an address of one state space and is used as one of another: `cvta` is missing, or there is one too many. A variable's address as `mov` gives it counts from the start of the variable's space; a generic access needs what `cvta.shared`, `cvta.local` or `cvta.const` makes of it, and an access that names the space needs the address without it. Only registers whose every value is such an address are reported; global and generic addresses are the same.";
    InvalidExpression = "ptx::invalid-expression", Language, Error,
        "A constant expression cannot be evaluated: it divides by zero, mixes integers and floating-point numbers, or uses something that is not a constant.";
    InvalidInitializer = "ptx::invalid-initializer", Language, Error,
        "A variable's initial value does not fit: too many elements, a value of the wrong type, a symbol that is unknown or has no address, or a variable that cannot be initialized.";
    InvalidVariable = "ptx::invalid-variable", Language, Error,
        "A variable cannot be declared like this: an alignment that is not a power of two, an array without a size, a state space that is not allowed here, or a linkage that contradicts itself.";
    InvalidParameter = "ptx::invalid-parameter", Language, Error,
        "A parameter cannot be declared like this. Kernels take `.param` parameters only and return nothing.";
    CallMismatch = "ptx::call-mismatch", Language, Error,
        "A call does not fit the function's declaration or prototype: number, types or kinds of arguments and return values differ.";
    DeclarationMismatch = "ptx::declaration-mismatch", Language, Error,
        "Two declarations of one function or variable, or a declaration and its definition, differ.";
    UnresolvedExternal = "ptx::unresolved-external", Language, Error,
        "A function or variable is declared `.extern`, used, and not defined in this module. A linker could resolve it; a whole program needs the definition. Compile with `-c` for nvlink.";
    OpenAddress = "ptx::open-address", Language, Error,
        "An extensible whole program takes the address of a function that another file defines. Function pointers are numbers within the module there, and only functions of the module have one. Call the function directly, or compile a relocatable file (`-c`).";
    InvalidCombination = "ptx::invalid-combination", Language, Error,
        "Each part of the instruction is correct, but the combination does not exist.";
    NoDebugSection = "ptx::no-debug-section", Language, Warning,
        "The module is compiled for a debugger (`debug` in `.target`, or `-g`) but has no `.debug_info` or no `.debug_abbrev` section. Debuggers will know lines and registers, but no variables or types. Generate the PTX with debug information (`nvcc -G`).";
    DebugInformation = "ptx::debug-information", Language, Warning,
        "The module asks for full debug information (`debug` in `.target`, or `-g`), but part of it cannot be generated: a debug section refers to something without an address, or in an unsupported way, or the code is optimized, for which only line tables exist. The code itself is not affected. Compile with `-O0`, or fix the section.";
    Ignored = "ptx::ignored", Language, Warning,
        "The directive or modifier has no effect here. It is ignored, as if it were not there.";
    RegisterChangeIgnored = "ptx::register-change-ignored", Language, Warning,
        "`setmaxnreg` changes the register count of a thread, but the count at kernel entry is unknown, so the instruction is ignored. Set the count with `.maxnreg`, or bound it by `.minnctapersm` together with `.maxntid` or `.reqntid`. One of the last two is enough where an operand of `wgmma` or `tcgen05` nearly fills the registers that such a block leaves a thread, as with ptxas.";
    LanesNotNamed = "ptx::lanes-not-named", Language, Warning,
        "A shuffle or vote without `.sync` does not name the participating lanes: it uses those that execute it together. Before sm_70, lanes on the same path executed together; later chips do not guarantee that, and results may differ. Use the form with `.sync` and a lane mask, `0xffffffff` for the whole warp.";
    Unchecked = "ptx::unchecked-operand", Language, Warning,
        "The instruction does not take an operand of this kind. ptxas does not check it, so it is not an error, but its meaning is undefined.";
    BeyondParameter = "ptx::beyond-parameter", Language, Warning,
        "An access begins or ends beyond the end of a parameter, a result, or a variable in `.param` space. Compilers generate such accesses for bits that do not matter. In device functions, stores there are dropped and loads are undefined; Oriole reads zeros, or the memory after the parameter. In kernels, the memory after the parameter is read.";
    Uninitialized = "ptx::uninitialized-register", Language, Warning,
        "A register is read here, but no path to this instruction writes it. PTX allows this and leaves the value undefined. A guarded write counts as a write, and so does a write on only one path, so every reported register is certainly never written before.";
    SerializedProducts = "ptx::serialized-products", Language, Warning,
        "Warpgroup matrix multiplies (`wgmma.mma_async`) execute asynchronously. A register that one writes, or reads as operand A, may be used again only after `wgmma.wait_group` has waited for its group, and registers it reads must be written before a `wgmma.fence`. Here a register is used too early, or a function is called while matrix multiplies are in flight. PTX leaves this undefined; compilers, including this one, insert a wait or a fence, so that matrix multiplies no longer overlap. Move the use after the wait, or the fence after the last write.";
    ImpossibleDescriptor = "ptx::impossible-descriptor", Language, Warning,
        "A matrix multiply takes a descriptor of a matrix in shared memory: start address, leading and stride byte offset in units of 16 bytes, base offset and swizzle mode, each in its own bits. Here bits outside all fields are known to be set, or a field has an undefined value, so the instruction would read the wrong memory. Often an address was not shifted right by 4, or not masked to its field, before it was combined with the rest.";
    Unreachable = "ptx::unreachable", Language, Note,
        "Control flow never reaches this statement, so no code is generated for it.";
    UnusedDeclaration = "ptx::unused-declaration", Language, Note,
        "The name is declared but never used. It costs nothing in the compiled kernel, but it may be a typo.";

    UnknownTarget = "target::unknown", Target, Error,
        "This is not a chip name, or the chip is older than the oldest supported one, or it exists but not in this variant.";
    StandIn = "target::stand-in", Target, Warning,
        "There is no table for this chip. The table of a known chip, named in the message, is used instead: the nearest earlier chip of the same generation, or else the newest chip. Text can be checked and the intermediate representation inspected, but every latency is a guess. No code is generated, since the instruction encodings are unknown.";
    NoEncoding = "target::no-encoding", Target, Error,
        "There is no table for this chip, so its instruction encodings are unknown. The tables of another chip serve for checks, latencies and the intermediate representation, but not for executable code. Compile for a known chip, or use a later version of Oriole.";
    ReplacedTarget = "target::replaced", Target, Warning,
        "The module's `.target` is older than the oldest supported chip. Later chips run such a module when it is compiled for them; without `--arch` it is compiled for the first one that can. The code does not run on the chip in `.target`.";
    NeedsChip = "target::needs-chip", Target, Error,
        "The feature exists only on other chips than the one compiled for. Compile for a chip that has it, or guard the code in the program that generates the PTX.";
    NeedsVersion = "target::needs-version", Target, Error,
        "The feature came with a later version of the PTX language than the module's `.version` line states.";
    TargetMismatch = "target::mismatch", Target, Error,
        "The module's `.target` line asks for a chip that the chosen chip cannot replace.";

    NotSupported = "oriole::not-supported", Support, Error,
        "The PTX is correct, but the back end cannot compile it yet. No code is emitted for it, so a wrong result is impossible.";
    NotSupportedTarget = "oriole::not-supported-target", Support, Error,
        "The chip is known, but the back end cannot generate code for it yet.";
    PhaseNotAvailable = "oriole::phase-not-available", Support, Error,
        "The named compiler phase is not implemented, or has no work in compute code; it has no output to print.";

    NestingTooDeep = "limit::nesting", Limit, Error,
        "Scopes, parentheses or initializers are nested too deeply. The limit bounds memory and time for any input.";
    TooLarge = "limit::size", Limit, Error,
        "Something is larger than the compiler accepts: a file above 4 GiB, an array, a literal or a register range beyond the bound that the message states.";
    TooManyRegisters = "limit::registers", Limit, Error,
        "The function needs more registers than the register budget and local memory together can give.";
    InsufficientRegisters = "limit::insufficient-registers", Limit, Error,
        "An instruction needs more registers at once than a thread may have: `.maxnreg`, the bounds on block size (`.maxntid`, `.reqntid`, `.minnctapersm`), `--maxrregcount` or `setmaxnreg` leave it fewer. A kernel with more could not be launched. Raise the limit to the number in the message, or use a smaller instruction.";
    RegisterChangeDropped = "limit::register-change-dropped", Limit, Warning,
        "Code that runs with the registers that a `setmaxnreg` leaves needs more than those. All `setmaxnreg` of the kernel are dropped, and each thread keeps the registers that it starts with, as with ptxas (C7507). Ask for more registers in that part of the kernel.";
    RegistersRaised = "limit::registers-raised", Limit, Error,
        "`setmaxnreg.dec` asks for more registers than a thread has here, whichever way it came: those that `.maxnreg` or the launch bounds give it at entry, or that an earlier `setmaxnreg` left it. The hardware traps with an illegal instruction.";
    TooMuchSharedMemory = "limit::shared-memory", Limit, Error,
        "The kernel's static shared memory is larger than the chip allows.";
    TooMuchParameterSpace = "limit::parameter-space", Limit, Error,
        "The kernel's parameters are larger than the chip and the PTX version allow.";
    TooMuchConstantMemory = "limit::constant-memory", Limit, Error,
        "The module's `.const` variables are larger than the 64 KiB of a constant bank.";

    NoDeviceCode = "file::no-device-code", File, Error,
        "The file holds no device code, or none of the kind that the command needs. Cubins, PTX, fatbins, host objects, shared libraries, programs, archives of objects and folders such as Triton's cache are read. Host code that loads its kernels at run time, or has them in another library, holds none. `oriole images FILE` lists what a file holds.";
    SeveralImages = "file::several-images", File, Error,
        "The file holds several images that the command could take. Choose one: by its chip with `--arch`, or by its number or a part of its name with `--image`. `oriole images FILE` lists the images with their numbers.";
    NoSuchImage = "file::no-such-image", File, Error,
        "No image of the file is the one that was asked for with `--arch`, `--image` or the name of a kernel. A chip must be that of the image, letter included: code for sm_90 is not code for sm_90a. `oriole images FILE --kernels` lists all images with their kernels.";
    DamagedFile = "file::damaged", File, Error,
        "A part of the file cannot be read: it is cut off, a size in it is wrong, or its compressed bytes are broken or unpack to more than is allowed. Images before and after such a place are read. Compare the file with its original, for example with its checksum.";

    AsmText = "asm::text", File, Error,
        "A line of the text for `oriole asm` cannot be read: its opcode, a modifier or an operand is not known, no form of the chip takes it, a label or an address is not there or is there twice, or it stands before any function. The text is that of `oriole dis`: `oriole dis --labels` prints it with names in place of the addresses of branches. Nothing was written.";
    AsmPlace = "asm::place", File, Error,
        "The text cannot take the place of the code in the cubin: there is no such function, its frame is another one, or instructions have moved or are gone to which something leads by a number, such as a table of branches, a relocation or a return address that passes through several registers. New instructions can always stand after the last old one, with a branch there and back. Nothing was written.";
    AsmHazard = "asm::hazard", File, Error,
        "The new code has an instruction that issues before a value that it reads is there, that overwrites a value which is still to be read, or that uses a register which the kernel does not have. The control after the `;` of each line decides that: `stall=` cycles until the next instruction, `write=` and `read=` the scoreboard that an instruction of variable latency releases, `wait=` the scoreboards that it waits for. The header of a function states its registers. Nothing was written; `--unchecked` writes it all the same.";
    AsmStale = "asm::stale", File, Warning,
        "A part of the cubin describes the old code: line tables and frames of code that has moved, or the form of the code from which tools make that for later chips. The code runs without them; debuggers and profilers show wrong places.";

    InternalError = "oriole::internal-error", Internal, Error,
        "The compiler contradicted itself. This is a bug in Oriole, not in the program; please report it with the PTX file. No output was written.";
    Hazard = "oriole::hazard", Internal, Error,
        "The check of the finished code (`--check`) found an instruction that issues too early: the value that it reads or overwrites depends on timing. The check knows the required latencies and nothing about how the code was generated. This is a bug in Oriole, not in the program; please report it with the PTX file. No output was written. With the switch `serial-deps`, every instruction waits for all earlier ones.";

    NoResident = "oriole::no-resident", Internal, Error,
        "There can be no resident compiler. It runs on Linux, with its socket in the folder `oriole` of `$XDG_RUNTIME_DIR`, or else in one for each user below the folder for temporary files. That folder must belong to the user and have the mode 0700, so that no other user can take the place of the compiler. Compiles are the same without it: each process compiles itself.";

    Race = "check::race", Check, Error,
        "Two threads access the same byte, at least one of them writes, and nothing orders the two accesses: the result depends on the speed of the hardware. Lanes of a warp are threads like others, since they may run apart. Put a barrier (`bar.sync`, or `bar.warp.sync` within a warp) between the accesses, or make both atomic.";
    CopyRace = "check::copy-race", Check, Error,
        "An asynchronous copy or matrix multiply uses memory together with an access that does not wait for it, or that it does not wait for. Wait for the group or for the mbarrier of the copy before its data is used, let all threads meet before the memory is copied over, and put `fence.proxy.async` between writes of threads and asynchronous reads.";
    OutOfBounds = "check::out-of-bounds", Check, Error,
        "An access is outside of every object: a buffer, a variable, the shared memory of the block, the frame of a function. The message names the nearest object. A guard of the index is often missing, or the launch has more threads than elements.";
    LocalAtomic = "check::local-atomic", Check, Error,
        "An atomic has a generic address in local memory. PTX defines atomics on global and shared memory only: on hardware it is an error, or not atomic.";
    Misaligned = "check::misaligned", Check, Error,
        "An address is no multiple of the size of the access. Hardware ends the kernel there. Vectors of two and four elements need addresses that are multiples of the size of the whole vector.";
    UnwrittenMemory = "check::unwritten-memory", Check, Error,
        "A read of shared memory, of local memory or of memory from `malloc` that nothing has written. Its contents are those that another kernel left there. Buffers of a launch have contents, and count as written.";
    UnwrittenRegister = "check::unwritten-register", Check, Error,
        "An instruction uses a register that nothing has written on the way of this thread. Copies of such a register by `mov` are allowed; their use is not. Write the register on every path.";
    Divergence = "check::divergence", Check, Error,
        "A barrier or an instruction of a whole warp is executed by some of the threads that must execute it together. `bar.sync`, and every instruction with `.aligned`, must be executed by all lanes of a warp at the same place. Move it out of the branch, or use `barrier.sync` without `.aligned`.";
    AbsentLane = "check::absent-lane", Check, Error,
        "A shuffle reads from a lane that is not in its mask or that has exited. The value is undefined. Use a mask with all lanes that are read, and keep their threads until then.";
    BrokenRule = "check::broken-rule", Check, Error,
        "A thread breaks a rule of an instruction, and the run ends there: for example a lane that is not in its own member mask, a barrier with two counts of threads at a time, or an mbarrier without `init`.";
    Deadlock = "check::deadlock", Check, Error,
        "All threads that have not exited wait for others that never come. The finding names each place at which threads wait. Often a barrier is in a branch that some threads do not take, or the masks of a collective instruction differ.";
    ExitedThreads = "check::exited-threads", Check, Note,
        "A barrier of the whole block is complete although some threads have exited without it. GPUs since sm_70 count only threads that have not exited; earlier ones would wait forever.";
    BankConflict = "check::bank-conflict", Check, Note,
        "Lanes of a warp want different words of the same bank of shared memory, and the access takes several passes. The result is right. Padding of rows, or a permutation of columns, often helps.";

    Different = "verify::different", Check, Error,
        "Machine code does something else than its PTX on a launch that both ran: a result in memory differs, or the code ends with a fault or depends on the speed of the hardware. One of the two compilers, or the code that was edited by hand, is wrong. `oriole verify --save` writes the launch as a record, which `oriole run` repeats on both.";
    Undecided = "verify::undecided", Check, Note,
        "Nothing could be compared for a kernel: no launch could be made for it, or every one ended early. The message has the reason. Give launch records with `--launch`.";

    Strided = "perf::strided-access", Profile, Note,
        "Lanes of a warp access global memory at a distance that is larger than their bytes, so that most bytes of each sector are moved in vain. Let `threadIdx.x` index the last dimension, or stage the data through shared memory. The time is that of a model, not a measurement.";
    Scattered = "perf::scattered-access", Profile, Note,
        "Lanes of a warp access global memory at places without order: each access moves many sectors. Sort or bin the indices so that neighbouring lanes access neighbouring elements, or gather through shared memory. The time is that of a model, not a measurement.";
    UnalignedAccess = "perf::unaligned-access", Profile, Note,
        "Neighbouring lanes access neighbouring bytes that do not begin at a sector of 32 bytes, so that each access moves one sector more. Pad rows, or peel the first elements. The time is that of a model, not a measurement.";
    ScalarAccess = "perf::scalar-access", Profile, Note,
        "A thread accesses neighbouring addresses one by one. One vector access (`ld.v2`, `ld.v4`) does the same where the address is aligned. The time is that of a model, not a measurement.";
    SlowConflict = "perf::bank-conflict", Profile, Note,
        "Lanes of a warp want different words of the same bank of shared memory, and the kernel waits for the passes that this takes. Pad rows of the tile by one element, or permute the column with bits of the row. The time is that of a model, not a measurement.";
    Contention = "perf::contended-atomics", Profile, Note,
        "Atomic operations on global memory meet at one address and are done one after the other. Add up in each thread, warp or block first, and do one atomic operation for it. The time is that of a model, not a measurement.";
    SharedContention = "perf::contended-shared-atomics", Profile, Note,
        "Atomic operations on shared memory meet at one address and are done one after the other. Add up in registers or with `shfl` first, or have several copies of the counters. The time is that of a model, not a measurement.";
    SpillCost = "perf::spills", Profile, Note,
        "Registers are stored to local memory and loaded again, and the kernel waits for that. Give the thread more registers (`.maxnreg`, `.minnctapersm`), unroll less, or keep fewer values alive. The time is that of a model, not a measurement.";
    LocalMemory = "perf::local-memory", Profile, Note,
        "Local arrays that are indexed at run time are in memory, and the kernel waits for it. Index them by constants, or put them into shared memory. The time is that of a model, not a measurement.";
    Division = "perf::integer-division", Profile, Note,
        "Integers are divided by values of run time, which takes many instructions. Divide by a constant or a power of two, or multiply by a reciprocal that the host computes. The time is that of a model, not a measurement.";
    SplitWarps = "perf::divergence", Profile, Note,
        "Lanes of a warp go different ways, and each way takes its own time. Order the work by its branch or its length, or compute both sides and select. The time is that of a model, not a measurement.";
    PartialWarps = "perf::partial-warps", Profile, Note,
        "The last warp of each block has few lanes. Make the number of threads of a block a multiple of 32. The time is that of a model, not a measurement.";
    Imbalance = "perf::barrier-imbalance", Profile, Note,
        "Some warps of a block do more than others before a barrier, and the others wait. Share the work before the barrier among all warps. The time is that of a model, not a measurement.";
    FewByRegisters = "perf::occupancy-registers", Profile, Note,
        "The registers of a thread leave an SM few warps, which do not hide its waits. Limit them with `.maxnreg` or `.minnctapersm`, use smaller tiles, or unroll less. The time is that of a model, not a measurement.";
    FewByShared = "perf::occupancy-shared-memory", Profile, Note,
        "The shared memory of a block leaves an SM few warps, which do not hide its waits. Use a smaller tile, a smaller type, or fewer stages of a pipeline. The time is that of a model, not a measurement.";
    FewBySize = "perf::occupancy-blocks", Profile, Note,
        "Blocks are too small to fill an SM with warps. Use more threads in a block, or more independent work in each thread. The time is that of a model, not a measurement.";
    SmallGrid = "perf::small-grid", Profile, Note,
        "The grid has fewer blocks than the chip has SMs. Use more and smaller blocks: split the longest dimension, or the sum that each block makes. The time is that of a model, not a measurement.";
    Tail = "perf::tail", Profile, Note,
        "SMs have no work while the last blocks of the grid run. Use a grid of a whole multiple of the blocks that run at a time, or persistent blocks. The time is that of a model, not a measurement.";
    SlowDouble = "perf::double-precision", Profile, Note,
        "The chip has few units for 64-bit floating-point arithmetic, and the kernel waits for them. Use f32, or pairs of f32 where more digits are needed. The time is that of a model, not a measurement.";
    SlowSpecial = "perf::special-functions", Profile, Note,
        "The unit of special functions is busy for most of the time. Reuse results, use one reciprocal for several quotients, or a polynomial for a part of the calls. The time is that of a model, not a measurement.";
    MemoryLatency = "perf::latency", Profile, Note,
        "Warps wait for results of memory, and no unit is busy. Have more loads in flight (unroll, load the next elements early, `cp.async`), or more warps. The time is that of a model, not a measurement.";
    ChainLatency = "perf::dependent-arithmetic", Profile, Note,
        "Warps wait for results of arithmetic, and no unit is busy. Have more independent chains in a thread, for example several accumulators, or more warps. The time is that of a model, not a measurement.";
}

impl Code {
    /// Finds a code by its stable name.
    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl Code {
    /// The address of the code's section of `docs/codes.md`.
    pub fn href(self) -> String {
        crate::reference::href(self)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Code;

    /// A documented code is emitted somewhere: the sources of the crates name each code.
    #[test]
    fn every_code_is_given_by_something() {
        fn sources(folder: &std::path::Path, text: &mut String) {
            for entry in std::fs::read_dir(folder).expect("a folder can be read").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    sources(&path, text);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    text.push_str(&std::fs::read_to_string(&path).expect("a source can be read"));
                }
            }
        }
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::new();
        for entry in std::fs::read_dir(crates).expect("the folder of crates").flatten() {
            // ptxas's message for a code, and an editor's use of a code, do not emit it.
            if entry.path().join("src").is_dir()
                && entry.file_name() != "ptxas"
                && entry.file_name() != "diagnostics"
            {
                sources(&entry.path().join("src"), &mut text);
            }
        }
        for &code in Code::ALL {
            let name = format!("Code::{code:?}");
            let whole = |at: usize| !text[at + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
            assert!(text.match_indices(&name).any(|(at, _)| whole(at)), "nothing gives {code}");
        }
    }

    #[test]
    fn every_code_has_a_unique_name_and_a_page() {
        let mut names = BTreeSet::new();
        for &code in Code::ALL {
            assert!(names.insert(code.as_str()), "{code} twice");
            assert_eq!(Code::from_name(code.as_str()), Some(code));
            assert!(code.page().len() > 60 && code.page().ends_with('.'), "{code} has no page");
            let (space, name) = code.as_str().split_once("::").expect("name has a family");
            assert!(
                [space, name].iter().all(|part| part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'8')),
                "{code}"
            );
        }
    }
}
