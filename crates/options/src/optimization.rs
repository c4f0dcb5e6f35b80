//! The optimizations of Ori, each with a switch that turns it off, and the view of them that passes get.

/// Declares the optimizations and the list of all of them.
macro_rules! optimizations {
    ($( $(#[$doc:meta])* $name:ident, )*) => {
        /// An optimization. Each has one knob in the registry.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Optimization {
            $( $(#[$doc])* $name, )*
        }

        impl Optimization {
            /// Every optimization.
            pub const ALL: &[Optimization] = &[ $( Optimization::$name, )* ];
        }
    };
}

optimizations! {
    /// Contraction of multiplies and adds.
    Contraction,
    /// Copy propagation, constant folding, algebra.
    Folding,
    /// Removal of dead code.
    DeadCode,
    /// Branch folding and straightening.
    Branches,
    /// Strength reduction.
    StrengthReduction,
    /// Linear replacement.
    LinearReplacement,
    /// Loop-invariant code motion.
    Licm,
    /// Global value numbering.
    Gvn,
    /// Reassociation.
    Reassociation,
    /// One phi for two of halves that are joined.
    JoinPhis,
    /// One branch for nested conditions.
    NestedConditions,
    /// If-conversion.
    Predication,
    /// Merging of consecutive blocks after if-conversion.
    JoinBlocks,
    /// Uniform registers where a value allows it.
    UniformRegisters,
    /// Back copy propagation.
    BackCopy,
    /// Computations go down to the branch that uses them.
    Sinking,
    /// One load for several of shared memory.
    VectorLoads,
    /// One access for several stores, or loads of local and global memory.
    VectorAccesses,
    /// Loads of what registers hold become copies.
    MemoryValues,
    /// Loads that give the same in every round of a loop are done before it.
    InvariantLoads,
    /// Stores that nothing reads are removed.
    DeadStores,
    /// Local variables in registers.
    LocalRegisters,
    /// One update of memory for a warp.
    UniformAtomics,
    /// Copies of the body of a loop, for fewer tests and more loads in flight.
    Unrolling,
    /// One branch to the slow paths of several divisions and roots.
    GatheredSlowPaths,
    /// Loops with the test at the top are tested at the end.
    Rotation,
    /// Slow paths of divisions and roots as routines that are called.
    Routines,
    /// The whole warp executes once what an elected lane would.
    WholeWarp,
}

/// A set of optimizations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Optimizations(u32);

impl Optimizations {
    /// Every optimization.
    pub const ALL: Optimizations = Optimizations((1 << Optimization::ALL.len()) - 1);

    /// Whether it is a member.
    pub fn has(self, optimization: Optimization) -> bool {
        self.0 & 1 << optimization as u32 != 0
    }

    /// The set with one more member.
    #[must_use]
    pub fn with(self, optimization: Optimization) -> Optimizations {
        Optimizations(self.0 | 1 << optimization as u32)
    }

    /// The set without a member.
    #[must_use]
    pub fn without(self, optimization: Optimization) -> Optimizations {
        Optimizations(self.0 & !(1 << optimization as u32))
    }
}

impl FromIterator<Optimization> for Optimizations {
    fn from_iter<I: IntoIterator<Item = Optimization>>(members: I) -> Optimizations {
        members.into_iter().fold(Optimizations::default(), Optimizations::with)
    }
}

/// Where the search for a wrong optimization cuts a compile short. The default is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The number of optional phases that may run, in the order in which they act.
    pub phases: u32,
    /// The number of rewrites that the last of them may do in a function, if it counts them.
    pub rewrites: u32,
}

impl Limits {
    /// A number that is no limit.
    pub const NONE: u32 = 1_000_000;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { phases: Limits::NONE, rewrites: Limits::NONE }
    }
}

/// The options that the passes of a stage can depend on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PassOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// The rules of the intermediate representation are checked after every phase.
    pub verify: bool,
    /// Where passes stop.
    pub limits: Limits,
    /// The enabled optimizations.
    wanted: Optimizations,
    /// The optimizations that the holder may query.
    known: Optimizations,
}

impl PassOptions {
    /// The options for the passes of all stages.
    pub fn new(level: u8, wanted: Optimizations) -> PassOptions {
        PassOptions { level, verify: false, limits: Limits::default(), wanted, known: Optimizations::ALL }
    }

    /// These options, with or without verification after every phase.
    #[must_use]
    pub fn verifying(self, verify: bool) -> PassOptions {
        PassOptions { verify, ..self }
    }

    /// These options with limits.
    #[must_use]
    pub fn limited(self, limits: Limits) -> PassOptions {
        PassOptions { limits, ..self }
    }

    /// Whether an optimization is enabled. Only the optimizations that [`PassOptions::restricted`] kept may be queried.
    pub fn has(&self, optimization: Optimization) -> bool {
        debug_assert!(
            self.known.has(optimization),
            "{optimization:?} is not declared by any pass of the stage"
        );
        self.wanted.has(optimization)
    }

    /// The options without one optimization, if the holder may query it.
    #[must_use]
    pub fn without(self, optimization: Optimization) -> PassOptions {
        if !self.known.has(optimization) {
            return self;
        }
        PassOptions { wanted: self.wanted.without(optimization), ..self }
    }

    /// These options at no higher level than this one.
    #[must_use]
    pub fn at_most(self, level: u8) -> PassOptions {
        PassOptions { level: self.level.min(level), ..self }
    }

    /// The part for a reader of these optimizations only: all others count as enabled, so that option sets that differ
    /// only in those are equal for it.
    #[must_use]
    pub fn restricted(self, known: Optimizations) -> PassOptions {
        PassOptions { wanted: Optimizations(self.wanted.0 | !known.0), known, ..self }
    }
}
