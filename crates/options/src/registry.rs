//! The knob registry: one row is one knob.

/// Which group of phases reads a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Lowering of PTX.
    Lower,
    /// The target-independent passes.
    Optimize,
    /// Expansion of what the chip lacks.
    Legalize,
    /// Scheduling and control words.
    Schedule,
    /// Register allocation.
    Allocate,
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
    /// The only group that reads it.
    pub group: Group,
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

const fn switch(name: &'static str, group: Group, doc: &'static str) -> Knob {
    Knob { name, kind: KnobKind::Bool, default: Value::Bool(false), group, doc }
}

const fn flag(name: &'static str, group: Group, doc: &'static str) -> Knob {
    Knob { name, kind: KnobKind::Bool, default: Value::Bool(true), group, doc }
}

const fn number(
    name: &'static str,
    low: u32,
    high: u32,
    default: u32,
    group: Group,
    doc: &'static str,
) -> Knob {
    Knob { name, kind: KnobKind::Number(low, high), default: Value::Number(default), group, doc }
}

/// Every knob. Debug switches are the rows of yes or no whose default is no: each turns one clever part off, or
/// a check on.
pub const KNOBS: &[Knob] = &[
    flag("fmad", Group::Optimize, "Contract separate f32 and f64 multiplies and adds into fused ones."),
    switch("no-fold", Group::Optimize, "Leave out copy propagation, constant folding and algebra."),
    switch("no-dead-code", Group::Optimize, "Leave unused instructions in."),
    switch("no-branch-opt", Group::Optimize, "Leave out branch folding and straightening."),
    switch("no-strength", Group::Optimize, "Leave out strength reduction."),
    switch("no-linear", Group::Optimize, "Leave out the fusion of adds, shifts and multiplies."),
    switch("no-licm", Group::Optimize, "Leave out loop-invariant code motion."),
    switch("no-gvn", Group::Optimize, "Leave out global value numbering."),
    switch("no-reassociate", Group::Optimize, "Leave out reassociation."),
    switch("no-predication", Group::Optimize, "Leave out if-conversion."),
    switch(
        "no-uniform",
        Group::Optimize,
        "Keep every value out of the uniform registers unless the machine demands one.",
    ),
    switch("no-back-copy", Group::Optimize, "Leave out back copy propagation."),
    switch(
        "no-routines",
        Group::Legalize,
        "Put the slow ways of divisions and roots in place instead of calling them.",
    ),
    switch("serial-deps", Group::Schedule, "Every instruction waits for everything before it."),
    switch("no-sched", Group::Schedule, "Keep the order of instructions, before allocation and after it."),
    switch("no-late-sched", Group::Schedule, "Keep the order of instructions after allocation."),
    switch("no-reuse", Group::Schedule, "Set no flags of the operand cache."),
    number(
        "schedule-mode",
        0,
        2,
        1,
        Group::Schedule,
        "How the scheduler before allocation ranks: 0 pressure, 1 latency, 2 batches.",
    ),
    number(
        "stall-cap",
        1,
        15,
        15,
        Group::Schedule,
        "Longest stall in cycles that one control word may hold.",
    ),
    switch("min-regs", Group::Allocate, "Allocate as few registers as the function can be compiled with."),
    switch(
        "check-registers",
        Group::Allocate,
        "Prove each allocation of registers right by a checker of its own.",
    ),
    number(
        "maxrregcount",
        0,
        255,
        0,
        Group::Allocate,
        "Most general registers a thread may use; 0 for no limit.",
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
