//! A kernel without a GPU: the text in an interpreter, machine code in a simulator. Both are launched alike, with buffers and
//! numbers as plain bytes. Types of elements, files and records of launches belong to the host.

use crate::Report;
use oriole_verify::{Site, Source};
use std::fmt;

/// A launch of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Name of the kernel.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y, z; if not given, the kernel's cluster size, or no clusters.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// One for each parameter, in order.
    pub arguments: Vec<Argument>,
    /// Most instructions that may be executed, counted per thread by the interpreter and per warp by the simulator; if not
    /// given, two billion and 200 million.
    pub step_limit: Option<u64>,
}

impl Launch {
    /// A launch of one block of one thread without arguments.
    pub fn new(entry: impl Into<String>) -> Launch {
        Launch {
            entry: entry.into(),
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            shared_bytes: 0,
            arguments: Vec::new(),
            step_limit: None,
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A buffer of global memory with these bytes; the kernel gets its address.
    Buffer(Vec<u8>),
    /// The bytes of the parameter itself, little-endian.
    Scalar(Vec<u8>),
    /// The address of the buffer that is the argument with this index, an earlier one.
    Alias(usize),
}

/// The state after a launch, also after one that stopped early.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// The bytes of each argument that is a buffer.
    pub buffers: Vec<Option<Vec<u8>>>,
    /// Instructions that were executed, counted per thread by the interpreter and per warp by the simulator.
    pub instructions: u64,
    /// The simulator's estimate: the blocks one after the other, the warps of a block side by side. 0 of the interpreter.
    pub cycles: u64,
    /// Places in machine code whose result depends on the speed of the hardware. None of the interpreter.
    pub hazards: Vec<String>,
    /// Printed output of `printf`, a string for each call. None of the simulator.
    pub output: Vec<String>,
}

/// Why a launch stopped early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The reason, with the place as far as it is known.
    pub message: String,
    /// Line of the text, from 1.
    pub line: Option<usize>,
    /// Block and thread in x, y, z.
    pub thread: Option<([u32; 3], [u32; 3])>,
    /// The address at fault.
    pub address: Option<u64>,
    /// The state at that moment.
    pub run: Run,
}

/// Why there is no result.
#[derive(Clone, PartialEq, Eq)]
pub enum RunError {
    /// The errors of the text.
    Text(Report),
    /// The bytes are no cubin that can be read.
    Cubin(String),
    /// The launch stopped early.
    Fault(Box<Fault>),
}

impl fmt::Display for RunError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Text(report) => match report.errors().next() {
                Some(error) => write!(out, "line {}: {}", error.line, error.message),
                None => out.write_str("the text has errors"),
            },
            RunError::Cubin(message) => out.write_str(message),
            RunError::Fault(fault) => out.write_str(&fault.message),
        }
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RunError({self})")
    }
}

impl std::error::Error for RunError {}

/// A parameter of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Bytes.
    pub size: u64,
    /// The type of the text, such as `u64` or `f32`, of one element. Machine code has none.
    pub ty: Option<&'static str>,
}

/// The parameters of a kernel in a text.
///
/// # Errors
/// The errors of the text, or a fault: it has no such kernel.
pub fn parameters(text: &str, entry: &str) -> Result<Vec<Parameter>, RunError> {
    let source = source(text)?;
    let Some(function) = source.program.function(entry).filter(|function| function.body.is_entry) else {
        return Err(no_kernel(entry));
    };
    let parameters = function.body.parameters.iter();
    Ok(parameters
        .map(|parameter| Parameter { size: parameter.size(), ty: Some(parameter.ty.name()) })
        .collect())
}

/// The parameters of a kernel in a cubin.
///
/// # Errors
/// The bytes are no cubin, or it has no such kernel.
pub fn parameters_of_code(cubin: &[u8], entry: &str) -> Result<Vec<Parameter>, RunError> {
    let cubin = read(cubin)?;
    let Some(kernel) = cubin.kernels.iter().find(|kernel| kernel.name == entry) else {
        return Err(no_kernel(entry));
    };
    let parameters = kernel.parameters.iter();
    Ok(parameters.map(|parameter| Parameter { size: u64::from(parameter.size), ty: None }).collect())
}

/// Runs a kernel of a text in the interpreter, which follows the definition of PTX: no code is made.
///
/// # Errors
/// The errors of the text, or the reason why the launch stopped early.
pub fn interpret(text: &str, launch: &Launch) -> Result<Run, RunError> {
    let source = source(text)?;
    let outcome = oriole_interp::run(&source.program, &interpreted(launch));
    result(&source, outcome)
}

/// The launch for the interpreter.
pub(crate) fn interpreted(launch: &Launch) -> oriole_interp::Launch {
    let whole = oriole_interp::Launch::new(launch.entry.clone());
    let arguments = launch.arguments.iter().map(|argument| match argument {
        Argument::Buffer(bytes) => oriole_interp::Arg::Buffer(bytes.clone()),
        Argument::Scalar(bytes) => oriole_interp::Arg::Scalar(bytes.clone()),
        Argument::Alias(of) => oriole_interp::Arg::Alias(*of),
    });
    oriole_interp::Launch {
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        shared_bytes: launch.shared_bytes,
        args: arguments.collect(),
        budget: launch.step_limit.unwrap_or(whole.budget),
        ..whole
    }
}

/// The state that the interpreter left, or the reason why it stopped early.
pub(crate) fn result(source: &Source<'_>, outcome: oriole_interp::Outcome) -> Result<Run, RunError> {
    let run = Run {
        buffers: outcome.buffers,
        instructions: outcome.instructions,
        output: outcome.output,
        ..Run::default()
    };
    let Some(fault) = outcome.error else { return Ok(run) };
    let thread = fault.thread;
    let line = fault.place.as_ref().and_then(|(function, ordinal)| {
        let (block, thread) = thread.unwrap_or_default();
        let site = Site { function: function.clone(), ordinal: *ordinal, block, thread };
        source.line(&site).map(|(line, _)| line)
    });
    let message = match line {
        Some(line) => format!("line {line}: {fault}"),
        None => fault.to_string(),
    };
    Err(RunError::Fault(Box::new(Fault { message, line, thread, address: fault.address, run })))
}

/// Runs a kernel of a cubin, of this compiler or of another, in the simulator. `late` delays each result as long as the
/// code's control words allow.
///
/// # Errors
/// The bytes are no cubin, or the reason why the launch stopped early.
pub fn simulate(cubin: &[u8], launch: &Launch, late: bool) -> Result<Run, RunError> {
    let cubin = read(cubin)?;
    let mut simulated = simulated(launch);
    simulated.options.late_results = late;
    let outcome = oriole_simulate::run(&cubin, &simulated);
    // The simulator numbers buffers.
    let mut buffers = outcome.buffers.into_iter();
    let by_argument = launch.arguments.iter().map(|argument| match argument {
        Argument::Buffer(_) => buffers.next(),
        Argument::Scalar(_) | Argument::Alias(_) => None,
    });
    let run = Run {
        buffers: by_argument.collect(),
        instructions: outcome.instructions,
        cycles: outcome.cycles,
        hazards: outcome.hazards.iter().map(ToString::to_string).collect(),
        output: Vec::new(),
    };
    let Some(error) = outcome.error else { return Ok(run) };
    Err(stopped(&error, launch, run))
}

/// The launch for the simulator.
pub(crate) fn simulated(launch: &Launch) -> oriole_simulate::Launch {
    let arguments = launch.arguments.iter().map(|argument| match argument {
        Argument::Buffer(bytes) => oriole_simulate::Argument::Buffer(bytes.clone()),
        Argument::Scalar(bytes) => oriole_simulate::Argument::Value(bytes.clone()),
        Argument::Alias(of) => oriole_simulate::Argument::Alias(*of),
    });
    let defaults = oriole_simulate::Options::default();
    oriole_simulate::Launch {
        kernel: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        dynamic_shared: launch.shared_bytes,
        arguments: arguments.collect(),
        bindings: Vec::new(),
        options: oriole_simulate::Options {
            step_limit: launch.step_limit.unwrap_or(defaults.step_limit),
            ..defaults
        },
    }
}

/// The fault of a run in the simulator.
pub(crate) fn stopped(error: &oriole_simulate::Error, launch: &Launch, run: Run) -> RunError {
    let thread = error.thread.map(|linear| (error.block, place(linear, launch.block)));
    RunError::Fault(Box::new(Fault { message: error.to_string(), line: None, thread, address: None, run }))
}

/// A thread of a block by its linear index.
fn place(linear: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (x.max(1), y.max(1));
    [linear % x, linear / x % y, linear / x / y]
}

pub(crate) fn no_kernel(entry: &str) -> RunError {
    failed(format!("there is no kernel `{entry}`"))
}

/// A launch that did not begin.
pub(crate) fn failed(message: String) -> RunError {
    RunError::Fault(Box::new(Fault { message, line: None, thread: None, address: None, run: Run::default() }))
}

pub(crate) fn source(text: &str) -> Result<Source<'_>, RunError> {
    Source::of(text).map_err(|error| RunError::Text(Report::new(text, vec![error])))
}

pub(crate) fn read(bytes: &[u8]) -> Result<oriole_cubin::Cubin, RunError> {
    oriole_cubin::read(bytes).map_err(|error| RunError::Cubin(error.to_string()))
}
