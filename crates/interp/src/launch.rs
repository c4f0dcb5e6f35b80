//! Input and output: a launch, and its outcome. Plain data.

use oriole_machine_model::texture::Opaque;
use oriole_ptx::Space;

use crate::fault::Fault;
use crate::program::Program;

/// A kernel launch.
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
    /// Arguments in the order of the kernel's parameters.
    pub args: Vec<Arg>,
    /// Textures, samplers and surfaces that the module declares, by name.
    pub bindings: Vec<(String, Opaque)>,
    /// Most instructions, counted per lane, that the launch may execute.
    pub budget: u64,
    /// Buffers that no parameter names. Their addresses follow those of the arguments: see [`buffer_address`].
    pub extra: Vec<Vec<u8>>,
    /// How to decide where PTX leaves a choice.
    pub choices: Choices,
}

/// Choices that PTX leaves open, decided by numbers. A program whose result is defined has the same result with all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choices {
    /// The order of threads, and the values of clocks: 0 is the usual order, other numbers up to 3 are others.
    pub order: u8,
    /// The contents of registers, and of shared and local memory, before anything writes them; quotients by zero.
    pub fill: u8,
    /// Moves the results of approximated functions within their error, moves products that may be contracted with an
    /// addition to a neighbour, and changes the bits of f64 results that are NaN. 0 takes the nearest value.
    pub rounding: u64,
}

impl Choices {
    /// Whether lanes, warps and clusters go from the last to the first.
    pub(crate) fn backwards(self) -> bool {
        self.order & 1 != 0
    }

    /// Whether warps and blocks have short turns.
    pub(crate) fn short_turns(self) -> bool {
        self.order & 2 != 0
    }
}

impl Launch {
    /// A launch of one block of one thread without arguments; budget: two billion lane instructions.
    pub fn new(entry: impl Into<String>) -> Launch {
        Launch {
            entry: entry.into(),
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            shared_bytes: 0,
            args: Vec::new(),
            bindings: Vec::new(),
            budget: 2_000_000_000,
            extra: Vec::new(),
            choices: Choices::default(),
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A buffer of global memory with these bytes; the kernel gets its address.
    Buffer(Vec<u8>),
    /// The bytes of the parameter itself.
    Scalar(Vec<u8>),
    /// The address of the buffer that is the argument with this index.
    Alias(usize),
    /// These bytes, a tensor map: its address in the first eight bytes is relative to the buffer that is the argument
    /// with this index.
    Map(usize, Vec<u8>),
    /// A texture, sampler or surface; the kernel gets its handle.
    Object(Opaque),
}

/// The address of a buffer of a launch: of argument `number` among the buffers of arguments, or of an extra one after
/// them. It depends on the program only by the number of its variables in global memory.
pub fn buffer_address(program: &Program, number: usize) -> u64 {
    let variables = program.variables.iter().filter(|variable| variable.space == Space::Global).count();
    crate::memory::region_address(variables + number)
}

/// The outcome of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// For each argument that is a buffer or a surface, its bytes afterwards.
    pub buffers: Vec<Option<Vec<u8>>>,
    /// Instructions executed, counted per lane; those whose guard was false do not count.
    pub instructions: u64,
    /// The extra buffers afterwards.
    pub extra: Vec<Vec<u8>>,
    /// The variables of the module in global memory afterwards, by name.
    pub variables: Vec<(String, Vec<u8>)>,
    /// Bytes of each buffer, extra ones after those of the arguments, up to the last one that was read or written.
    pub touched: Vec<u64>,
    /// The same for the dynamic shared memory of any block.
    pub shared_touched: u32,
    /// The kernel's printed output, one string a call.
    pub output: Vec<String>,
    /// The reason for an early stop; the buffers then have their contents at that moment.
    pub error: Option<Fault>,
}
