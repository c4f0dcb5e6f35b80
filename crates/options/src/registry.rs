//! The knob registry: one row is one knob.

use crate::Optimization;

/// Who reads a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reader {
    /// Lowering of PTX.
    Lower,
    /// The stages whose passes ask for an optimization.
    Passes,
    /// Scheduling before allocation.
    Order,
    /// Register allocation.
    Allocate,
    /// Selection.
    Select,
    /// Scheduling after allocation, and control words.
    Finish,
}

/// The type of a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KnobKind {
    /// `true`/`false`, `on`/`off`, `1`/`0`.
    Bool,
    /// A number in this range, both ends included.
    Number(u32, u32),
}

/// The value of a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(u32),
}

/// One knob.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its name on the command line.
    pub name: &'static str,
    /// Type and range.
    pub kind: KnobKind,
    /// Value when nothing is said.
    pub default: Value,
    /// Those who read it; nobody else may.
    pub readers: &'static [Reader],
    /// The optimization that it turns on or off, if that is all it does.
    pub optimization: Option<Optimization>,
    /// What it does.
    pub doc: &'static str,
}

/// Why a knob was not set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KnobError {
    /// No such knob.
    Unknown(String),
    /// Not a value of this knob: the knob's name, the text, what is expected.
    BadValue(&'static str, String, String),
}

impl std::fmt::Display for KnobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KnobError::Unknown(name) => write!(f, "there is no knob `{name}`"),
            KnobError::BadValue(name, text, expected) => {
                write!(f, "`{text}` is no value of knob `{name}`: expected {expected}")
            }
        }
    }
}

impl std::error::Error for KnobError {}

/// A switch that turns an optimization off.
const fn without(name: &'static str, optimization: Optimization, doc: &'static str) -> Knob {
    Knob { optimization: Some(optimization), ..switch(name, &[Reader::Passes], doc) }
}

const fn switch(name: &'static str, readers: &'static [Reader], doc: &'static str) -> Knob {
    let default = Value::Bool(false);
    Knob { name, kind: KnobKind::Bool, default, readers, optimization: None, doc }
}

const fn number(
    name: &'static str,
    (low, high): (u32, u32),
    default: u32,
    readers: &'static [Reader],
    doc: &'static str,
) -> Knob {
    let default = Value::Number(default);
    Knob { name, kind: KnobKind::Number(low, high), default, readers, optimization: None, doc }
}

/// Every knob. Debug switches are the rows of yes or no whose default is no: each turns one clever part off, or
/// a check on.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "fmad",
        kind: KnobKind::Bool,
        default: Value::Bool(true),
        readers: &[Reader::Passes],
        optimization: Some(Optimization::Contraction),
        doc: "Contract separate f32 and f64 multiplies and adds into fused ones.",
    },
    without("no-fold", Optimization::Folding, "Leave out copy propagation, constant folding and algebra."),
    without("no-dead-code", Optimization::DeadCode, "Leave unused instructions in."),
    without("no-branch-opt", Optimization::Branches, "Leave out branch folding and straightening."),
    without("no-strength", Optimization::StrengthReduction, "Leave out strength reduction."),
    without(
        "no-linear",
        Optimization::LinearReplacement,
        "Leave out the fusion of adds, shifts and multiplies.",
    ),
    without(
        "no-sinking",
        Optimization::Sinking,
        "Leave computations where they are, though one way of a branch uses them only.",
    ),
    without(
        "no-vector-loads",
        Optimization::VectorLoads,
        "Load each word of shared memory by itself, though words beside it are loaded as well.",
    ),
    without("no-licm", Optimization::Licm, "Leave out loop-invariant code motion."),
    without("no-gvn", Optimization::Gvn, "Leave out global value numbering."),
    without("no-reassociate", Optimization::Reassociation, "Leave out reassociation."),
    without(
        "no-join-phis",
        Optimization::JoinPhis,
        "Leave phis of halves as they are where the halves are joined.",
    ),
    without("no-predication", Optimization::Predication, "Leave out if-conversion."),
    without(
        "no-join-blocks",
        Optimization::JoinBlocks,
        "Leave straight lines of blocks as they are after if-conversion.",
    ),
    without(
        "no-uniform",
        Optimization::UniformRegisters,
        "Keep every value out of the uniform registers unless the machine demands one.",
    ),
    without("no-back-copy", Optimization::BackCopy, "Leave out back copy propagation."),
    without(
        "no-routines",
        Optimization::Routines,
        "Expand the slow paths of divisions and roots in place instead of calling routines.",
    ),
    switch(
        "verify",
        &[Reader::Passes],
        "Check the rules of the intermediate representation after every phase.",
    ),
    switch(
        "no-select-alternatives",
        &[Reader::Select],
        "Write each operation in one way, whichever unit it burdens.",
    ),
    switch("serial-deps", &[Reader::Finish], "Every instruction waits for everything before it."),
    switch(
        "no-sched",
        &[Reader::Order, Reader::Finish],
        "Keep the order of instructions, before allocation and after it.",
    ),
    switch(
        "no-cross-barriers",
        &[Reader::Order],
        "Keep all instructions on their side of barriers, even where registers do not suffice.",
    ),
    switch(
        "no-between-products",
        &[Reader::Order, Reader::Finish],
        "Do not interleave loads and copies with the products of matrix blocks.",
    ),
    switch("no-occupancy", &[Reader::Order], "Save no registers to let an SM hold one block more."),
    switch(
        "no-remat",
        &[Reader::Order],
        "Keep values in registers or in the frame that could be made again where they are used.",
    ),
    switch("no-late-sched", &[Reader::Finish], "Keep the order of instructions after allocation."),
    switch("no-reuse", &[Reader::Finish], "Set no flags of the operand cache."),
    number(
        "schedule-mode",
        (0, 2),
        1,
        &[Reader::Order],
        "How the scheduler before allocation ranks: 0 pressure, 1 latency, 2 batches.",
    ),
    number(
        "stall-cap",
        (1, 15),
        15,
        &[Reader::Finish],
        "Longest stall in cycles that one control word may hold.",
    ),
    switch(
        "no-thread-branches",
        &[Reader::Allocate],
        "Keep the blocks that allocation made for moves and did not need, and branches as they are.",
    ),
    switch(
        "no-hoist-constants",
        &[Reader::Allocate],
        "Put constants into registers on both sides of a branch, even where both put them into the same ones.",
    ),
    switch(
        "no-latch-moves",
        &[Reader::Allocate],
        "Keep the moves that a loop needs on its back edge in a block of their own.",
    ),
    switch(
        "no-register-clusters",
        &[Reader::Allocate],
        "Choose a register for each value by itself, whatever copies and tuples connect it with.",
    ),
    switch(
        "min-regs",
        &[Reader::Allocate],
        "Allocate as few registers as the function can be compiled with.",
    ),
    switch(
        "check-registers",
        &[Reader::Allocate],
        "Prove each allocation of registers right by a checker of its own.",
    ),
    number(
        "maxrregcount",
        (0, 255),
        0,
        &[Reader::Order, Reader::Allocate],
        "Most general registers a thread may use; 0 for no limit.",
    ),
    number(
        "func-maxrregcount",
        (0, 255),
        0,
        &[Reader::Allocate],
        "The same of functions in place of that, within what the kernels of the file leave them; 0 for the same limit.",
    ),
];

/// The row with this name.
pub(crate) fn index(name: &str) -> Option<usize> {
    KNOBS.iter().position(|knob| knob.name == name)
}

impl Knob {
    /// Reads a value of this knob.
    ///
    /// # Errors
    /// The text is not of the knob's type, or outside its range.
    pub fn parse(&self, text: &str) -> Result<Value, KnobError> {
        let bad = |expected: String| KnobError::BadValue(self.name, text.to_owned(), expected);
        match self.kind {
            KnobKind::Bool => match text {
                "true" | "on" | "1" => Ok(Value::Bool(true)),
                "false" | "off" | "0" => Ok(Value::Bool(false)),
                _ => Err(bad("true or false".to_owned())),
            },
            KnobKind::Number(low, high) => match text.parse::<u32>() {
                Ok(number) if (low..=high).contains(&number) => Ok(Value::Number(number)),
                _ => Err(bad(format!("a number from {low} to {high}"))),
            },
        }
    }
}
