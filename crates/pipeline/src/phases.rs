//! The list of the 159 phases: number, name, stage, level, and what does the work. One row is one phase; the driver, the
//! `--after` option and the documentation read it.

use oriole_legalize::{exchanges, expand_exact, expand_wide, uniform_operands};
use oriole_optimize::{
    passes::back_copy, passes::branch_opt, passes::constant_addends, passes::convert_mov_phi,
    passes::expand_sync, passes::gather_slow_paths, passes::general_optimize, passes::generate_mov_phi,
    passes::group_descriptors, passes::gvn_cse, passes::hoist_invariants, passes::keep_factors,
    passes::linear_replacement, passes::literal_pool, passes::live_dead, passes::local_registers,
    passes::nested_conditions, passes::predication, passes::reassociate, passes::rotate_loops, passes::sink,
    passes::strength_reduce, passes::uniform_atomics, passes::uniform_registers, passes::unroll,
    passes::vector_loads, passes::whole_warp,
};
use oriole_options::{Limits, Optimization, PassOptions};
use oriole_ori::{Form, Pass};
use std::cmp::Ordering;

/// Which stage of the query graph a phase belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Group {
    /// 0 to 13: from raw Ori to legal opcodes.
    Bridged,
    /// 14 to 22.
    Early,
    /// 23 to 32.
    SsaEarly,
    /// 33 to 52.
    SsaMid,
    /// 53 to 73.
    SsaLate,
    /// 74 to 96.
    Legal,
    /// 97 to 105: schedule and allocate.
    Allocated,
    /// 117 and 118: forms.
    Selected,
    /// 106 to 116 and 119 to 121: layout and control words.
    Finished,
    /// 122: words.
    Encoded,
    /// The rest: reports and late duplicates.
    Report,
}

/// The groups that take Ori and give Ori, in order.
pub const ORI_GROUPS: [Group; 6] =
    [Group::Bridged, Group::Early, Group::SsaEarly, Group::SsaMid, Group::SsaLate, Group::Legal];

impl Group {
    /// The name of the stage.
    pub fn name(self) -> &'static str {
        match self {
            Group::Bridged => "bridged",
            Group::Early => "early",
            Group::SsaEarly => "ssa_early",
            Group::SsaMid => "ssa_mid",
            Group::SsaLate => "ssa_late",
            Group::Legal => "legal",
            Group::Allocated => "allocated",
            Group::Selected => "selected",
            Group::Finished => "finished",
            Group::Encoded => "encoded",
            Group::Report => "report",
        }
    }
}

/// Implementation of a phase.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A pass over the function.
    Pass(&'static Pass),
    /// The verifier, where it is asked for.
    Verify,
    /// The profile of the function; nothing changes.
    Profile,
    /// A stage after Ori, or a part of one: which function, and the debug switch that turns it off.
    Stage(&'static str, Option<&'static str>),
    /// There is no code at this place: the work is done by another phase or stage, which is named.
    By(&'static str),
    /// Only graphics shaders or hooks of ptxas need it.
    NotForCompute,
    /// Known, not implemented.
    NotYet,
}

/// One phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Number, 0 to 158.
    pub number: u16,
    /// Name.
    pub name: &'static str,
    /// Stage.
    pub group: Group,
    /// The lowest optimization level at which it acts.
    pub level: u8,
    /// Its implementation.
    pub work: Work,
    /// Its description.
    pub doc: &'static str,
}

/// The part of the work of a phase that limits leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// It does not run.
    Nothing,
    /// A number of rewrites, if it counts them.
    Rewrites(u32),
    /// All.
    All,
}

/// The phases that limits count, in the order in which they act.
pub fn optional() -> impl Iterator<Item = &'static Phase> {
    PHASES.iter().filter(|phase| phase.is_optional())
}

/// The span of a phase that a stage after Ori implements, by its name.
pub(crate) fn span(name: &str) -> Option<tracing::span::EnteredSpan> {
    find(name).map(Phase::span)
}

impl Phase {
    /// The span of its work, for timing and traces.
    pub(crate) fn span(&self) -> tracing::span::EnteredSpan {
        tracing::debug_span!("phase", name = self.name, number = u64::from(self.number)).entered()
    }

    /// The debug switch that turns it off.
    pub fn switch(&self) -> Option<&'static str> {
        match self.work {
            Work::Pass(pass) => pass.optimization.map(Optimization::knob),
            Work::Stage(_, switch) => switch,
            _ => None,
        }
    }

    /// Whether the code is right without it: a pass that no level needs.
    pub fn is_optional(&self) -> bool {
        self.level > 0 && matches!(self.work, Work::Pass(_))
    }

    /// The part of its work that limits leave it.
    pub(crate) fn share(&self, limits: Limits) -> Share {
        if limits == Limits::default() || !self.is_optional() {
            return Share::All;
        }
        let before = optional().take_while(|phase| phase.number != self.number).count() as u32;
        match (before + 1).cmp(&limits.phases) {
            Ordering::Less => Share::All,
            Ordering::Equal => Share::Rewrites(limits.rewrites),
            Ordering::Greater => Share::Nothing,
        }
    }

    /// State of its implementation, in words.
    pub fn state(&self) -> String {
        match self.work {
            Work::Pass(_) | Work::Verify | Work::Profile | Work::Stage(..) => "done".to_owned(),
            Work::By(other) => format!("done by {other}"),
            Work::NotForCompute => "not for compute".to_owned(),
            Work::NotYet => "not yet".to_owned(),
        }
    }

    /// Whether there is Ori to show after the phase.
    ///
    /// # Errors
    /// Why there is none.
    pub fn leaves_ori(&self) -> Result<(), String> {
        let reason = match self.work {
            Work::NotForCompute => "does nothing in compute code",
            Work::NotYet => "is not implemented yet",
            _ if !ORI_GROUPS.contains(&self.group) => {
                "leaves machine code, not Ori: see `oriole isel` and `oriole dis`"
            }
            _ => return Ok(()),
        };
        Err(format!("phase {} {} {reason}", self.number, self.name))
    }
}

const fn row(
    number: u16,
    name: &'static str,
    group: Group,
    level: u8,
    work: Work,
    doc: &'static str,
) -> Phase {
    Phase { number, name, group, level, work, doc }
}

use Group::{
    Allocated, Bridged, Early, Encoded, Finished, Legal, Report, Selected, SsaEarly, SsaLate, SsaMid,
};
use Work::{By, NotForCompute, NotYet, Profile, Stage, Verify};

/// Every phase, in the order in which they act; ptxas counts 132 and up by themselves.
#[rustfmt::skip]
pub static PHASES: [Phase; 159] = [
    row(0, "OriCheckInitialProgram", Bridged, 0, Verify, "Structural check of the raw function, where verification is asked for."),
    row(1, "ApplyNvOptRecipes", Bridged, 0, By("the level that each row of this list names"), "What each later phase may do at this level."),
    row(2, "PromoteFP16", Bridged, 0, NotYet, "f16 operations that the chip lacks become f32 operations."),
    row(3, "AnalyzeControlFlow", Bridged, 0, By("the analyses that each pass asks for"), "Control-flow graph, RPO, dominators, back edges, loops."),
    row(4, "AdvancedPhaseBeforeConvUnSup", Bridged, 0, NotForCompute, "Backend hook."),
    row(5, "ConvertUnsupportedOps", Bridged, 0, Work::Pass(&exchanges::PASS), "Lowering makes every operation one the target has, or a pseudo-operation expanded later; exchanges that lanes may reach at several places go through routines."),
    row(6, "SetControlFlowOpLastInBB", Bridged, 0, By("lowering"), "Control flow comes last in its block."),
    row(7, "AdvancedPhaseAfterConvUnSup", Bridged, 0, NotForCompute, "Backend hook."),
    row(132, "UpdateAfterConvertUnsupportedOps", Bridged, 0, By("lowering"), "Canonical form after 5."),
    row(8, "OriCreateMacroInsts", Bridged, 0, NotYet, "Fuses sequences that stay together until 118."),
    row(9, "ReportInitialRepresentation", Bridged, 0, Profile, "The per-function profile."),
    row(10, "EarlyOriSimpleLiveDead", Bridged, 2, Work::Pass(&live_dead::PASS), "Quick removal of dead code."),
    row(11, "ReplaceUniformsWithImm", Bridged, 1, NotYet, "Known constants become immediates."),
    row(12, "OriSanitize", Bridged, 0, Verify, "Second structural check, where verification is asked for."),
    row(13, "GeneralOptimizeEarly", Bridged, 2, Work::Pass(&general_optimize::PASS), "Copy propagation, folding, algebra and dead code to a fixed point."),
    row(133, "MergeEquivalentConditionalFlow", Early, 1, Work::Pass(&whole_warp::PASS), "The whole warp executes what an elected lane would; runs after 13."),
    row(14, "DoSwitchOptFirst", Early, 1, NotYet, "Shapes of switches."),
    row(15, "OriBranchOpt", Early, 1, Work::Pass(&branch_opt::PASS), "Branch folding, unreachable blocks, straightening."),
    row(16, "OriPerformLiveDeadFirst", Early, 2, Work::Pass(&live_dead::PASS), "Liveness and dead code."),
    row(17, "OptimizeBindlessHeaderLoads", Early, 1, NotYet, "Shares loads of texture headers."),
    row(18, "OriLoopSimplification", Early, 1, Work::Pass(&rotate_loops::PASS), "Loops with the test at the top are tested before them and at their end."),
    row(19, "OriSplitLiveRanges", Early, 1, NotYet, "Splits live ranges at loop borders."),
    row(20, "PerformPGO", Early, 1, NotYet, "Block weights from a profile."),
    row(21, "OriStrengthReduce", Early, 1, Work::Pass(&strength_reduce::PASS), "Multiplications and divisions by constants become cheaper."),
    row(22, "OriLoopUnrolling", Early, 2, Work::Pass(&unroll::PASS), "Unrolls counted loops by trip count and size."),
    row(23, "GenerateMovPhi", SsaEarly, 0, Work::Pass(&generate_mov_phi::PASS), "Enters partial SSA."),
    row(24, "OriPipelining", SsaEarly, 2, NotYet, "Software pipelining."),
    row(25, "StageAndFence", SsaEarly, 1, NotYet, "Fences and staging for coherence."),
    row(26, "OriRemoveRedundantBarriers", SsaEarly, 2, NotYet, "Removes barriers proven redundant."),
    row(27, "AnalyzeUniformsForSpeculation", SsaEarly, 1, NotYet, "Which constant loads may be speculated."),
    row(28, "SinkRemat", SsaEarly, 2, By("OriDoRemat and AdvancedPhasePreSched"), "Sinks computations toward their uses."),
    row(29, "GeneralOptimize", SsaEarly, 1, Work::Pass(&general_optimize::PASS), "The bundle again."),
    row(30, "DoSwitchOptSecond", SsaEarly, 1, NotYet, "Shapes of switches."),
    row(31, "OriLinearReplacement", SsaEarly, 1, Work::Pass(&linear_replacement::PASS), "Affine chains become IADD3, IMAD, LEA; contraction to FFMA."),
    row(32, "CompactLocalMemory", SsaEarly, 1, Work::Pass(&local_registers::PASS), "Local variables move to registers if they are stored to at known offsets only, and loads at others are cheap comparisons."),
    row(33, "OriPerformLiveDeadSecond", SsaMid, 0, Work::Pass(&live_dead::UNOPTIMIZED), "Liveness and dead code at level 0, but for what debuggers read; above it OriLinearReplacement does that."),
    row(34, "ExtractShaderConstsFirst", SsaMid, 1, NotYet, "Values that are computed once move to the constant bank."),
    row(35, "OriHoistInvariantsEarly", SsaMid, 2, Work::Pass(&hoist_invariants::PASS), "Loop-invariant code motion."),
    row(36, "EmitPSI", SsaMid, 1, NotForCompute, "Graphics only."),
    row(37, "GeneralOptimizeMid", SsaMid, 1, By("OriLinearReplacement and GeneralOptimizeMid2"), "The bundle again: what phase 31 writes it writes in its best form, and the rest waits for phase 46."),
    row(38, "OptimizeNestedCondBranches", SsaMid, 2, Work::Pass(&nested_conditions::PASS), "Branches of nested conditions to one place become one."),
    row(39, "ConvertVTGReadWrite", SsaMid, 0, NotForCompute, "Graphics only."),
    row(40, "DoVirtualCTAExpansion", SsaMid, 0, NotForCompute, "Virtual-CTA operations."),
    row(41, "MarkAdditionalColdBlocks", SsaMid, 1, By("MidExpansion"), "Marks cold blocks."),
    row(42, "ExpandMbarrier", SsaMid, 0, By("lowering and LateExpansion"), "mbarrier operations become native sequences."),
    row(43, "ForwardProgress", SsaMid, 0, NotYet, "Guarantees of forward progress."),
    row(44, "OptimizeUniformAtomic", SsaMid, 1, Work::Pass(&uniform_atomics::PASS), "Lanes that update one address have one of them do it for all."),
    row(45, "MidExpansion", SsaMid, 0, Work::Pass(&expand_exact::PASS), "Divisions and roots become sequences, and calls of routines for their slow paths."),
    row(134, "AdvancedPhaseAfterMidExpansion", SsaMid, 0, NotForCompute, "Backend hook after 45."),
    row(46, "GeneralOptimizeMid2", SsaMid, 2, Work::Pass(&general_optimize::PASS), "The bundle again."),
    row(47, "AdvancedPhaseEarlyEnforceArgs", SsaMid, 0, NotForCompute, "Backend hook."),
    row(48, "EnforceArgumentRestrictions", SsaMid, 0, By("lowering and AdvancedPhaseAllocReg"), "Operands of calls take the registers of the ABI."),
    row(49, "GvnCse", SsaMid, 2, Work::Pass(&gvn_cse::PASS), "Global value numbering; mul.lo and mul.hi of the same operands become one instruction; loads of what registers hold become copies, invariant loads leave loops, and dead stores go."),
    row(50, "OriReassociateAndCommon", SsaMid, 2, Work::Pass(&reassociate::PASS), "Reassociation to expose common parts."),
    row(51, "ExtractShaderConstsFinal", SsaMid, 1, Work::Pass(&literal_pool::PASS), "f64 constants move to a constant bank, where the chip reads 64-bit operands from it."),
    row(52, "OriReplaceEquivMultiDefMov", SsaMid, 1, NotYet, "Merges equal copies."),
    row(53, "OriPropagateVaryingFirst", SsaLate, 0, By("the phases that ask for divergence"), "Divergence analysis."),
    row(54, "OriDoRematEarly", SsaLate, 2, By("AdvancedPhasePreSched"), "Rematerialization near uses."),
    row(55, "LateExpansion", SsaLate, 0, Work::Pass(&uniform_operands::PASS), "Operands of warp-wide instructions move to uniform registers."),
    row(56, "SpeculativeHoistComInsts", SsaLate, 2, Work::Pass(&gather_slow_paths::PASS), "Divisions and roots in a row share one branch to their slow paths, above which the code between them goes."),
    row(57, "RemoveASTToDefaultValues", SsaLate, 0, NotForCompute, "Graphics only."),
    row(58, "GeneralOptimizeLate", SsaLate, 2, Work::Pass(&general_optimize::PASS), "The bundle again."),
    row(59, "OriLoopFusion", SsaLate, 1, NotYet, "Fuses loops."),
    row(60, "DoVTGMultiViewExpansion", SsaLate, 0, NotForCompute, "Graphics only."),
    row(61, "OriPerformLiveDeadThird", SsaLate, 1, By("GeneralOptimizeLate"), "Liveness and dead code."),
    row(62, "OriRemoveRedundantMultiDefMov", SsaLate, 1, NotYet, "Removes redundant copies."),
    row(63, "OriDoPredication", SsaLate, 2, Work::Pass(&predication::PASS), "If-conversion."),
    row(64, "LateOriCommoning", SsaLate, 1, Work::Pass(&vector_loads::PASS), "Adjacent accesses of memory become vector accesses where the address is aligned; phase 49 finds common subexpressions."),
    row(65, "GeneralOptimizeLate2", SsaLate, 2, Work::Pass(&general_optimize::PASS), "The bundle again."),
    row(66, "OriHoistInvariantsLate", SsaLate, 1, Work::Pass(&hoist_invariants::PASS), "Loop-invariant code motion."),
    row(67, "DoKillMovement", SsaLate, 3, NotYet, "Moves kills."),
    row(68, "DoTexMovement", SsaLate, 3, NotYet, "Moves texture fetches up."),
    row(69, "OriDoRemat", SsaLate, 2, Work::Pass(&sink::PASS), "Computations go down to the branch that uses them; AdvancedPhasePreSched makes values again where registers do not suffice."),
    row(70, "OriPropagateVaryingSecond", SsaLate, 0, By("the phases that ask for divergence"), "Divergence analysis."),
    row(71, "OptimizeSyncInstructions", SsaLate, 2, By("LateExpandSyncInstructions"), "Removes warp synchronizations where the whole warp has converged."),
    row(135, "AdvancedPhaseLateExpandSyncInstructions", SsaLate, 0, NotForCompute, "Backend hook before 72."),
    row(72, "LateExpandSyncInstructions", SsaLate, 0, Work::Pass(&expand_sync::PASS), "Places convergence barriers."),
    row(73, "ConvertAllMovPhiToMov", SsaLate, 0, Work::Pass(&convert_mov_phi::PASS), "Leaves partial SSA: parallel copies on edges."),
    row(74, "ConvertToUniformReg", Legal, 2, Work::Pass(&uniform_registers::PASS), "Warp-uniform values move to uniform registers."),
    row(75, "LateArchOptimizeFirst", Legal, 1, Work::Pass(&constant_addends::PASS), "64-bit constants become addends of multiply-adds, and loads of constants moves, where the chip reads constants there."),
    row(76, "UpdateAfterOptimize", Legal, 0, By("the canonical form at the end of the stage"), "Canonical form."),
    row(77, "AdvancedPhaseLateConvUnSup", Legal, 0, NotForCompute, "Backend hook."),
    row(78, "LateExpansionUnsupportedOps", Legal, 0, Work::Pass(&expand_wide::PASS), "64-bit operations become sequences."),
    row(136, "LateMergeEquivalentConditionalFlow", Legal, 0, NotYet, "As 133, after 78."),
    row(79, "OriHoistInvariantsLate2", Legal, 2, Work::Pass(&hoist_invariants::PASS), "Loop-invariant code motion."),
    row(137, "LateExpansionUnsupportedOpsMid", Legal, 0, By("LateExpansionUnsupportedOps"), "Expansions between 79 and 80."),
    row(80, "ExpandJmxComputation", Legal, 0, NotYet, "Indexed jumps."),
    row(81, "LateArchOptimizeSecond", Legal, 1, Work::Pass(&general_optimize::PASS), "Constants and copies that the expansions brought become operands."),
    row(82, "AdvancedPhaseBackPropVReg", Legal, 0, NotForCompute, "Backend hook."),
    row(83, "OriBackCopyPropagate", Legal, 1, Work::Pass(&back_copy::PASS), "Copies fold into the definition of their source."),
    row(138, "OriSplitHighPressureLiveRanges", Legal, 0, NotYet, "Splits live ranges under pressure; runs before 84."),
    row(84, "OriPerformLiveDeadFourth", Legal, 1, By("LateArchOptimizeSecond"), "Liveness and dead code."),
    row(85, "OriPropagateGmma", Legal, 1, Work::Pass(&group_descriptors::PASS), "Descriptors of warpgroup matrix operations are computed in uniform registers; words of tensor copies go there once."),
    row(86, "InsertPseudoUseDefForConvUR", Legal, 0, By("the interference graph of uniform registers"), "Keeps uniform values alive across divergent code."),
    row(87, "FixupGmmaSequence", Legal, 0, Work::Pass(&keep_factors::PASS), "Factors of warpgroup matrix operations stay in their registers until the wait."),
    row(88, "OriHoistInvariantsLate3", Legal, 2, Work::Pass(&hoist_invariants::PASS), "Loop-invariant code motion."),
    row(89, "AdvancedPhaseSetRegAttr", Legal, 0, NotForCompute, "Backend hook."),
    row(90, "OriSetRegisterAttr", Legal, 0, NotYet, "Scheduling attributes of registers."),
    row(91, "OriCalcDependantTex", Legal, 0, NotYet, "Chains of texture fetches."),
    row(92, "AdvancedPhaseAfterSetRegAttr", Legal, 0, NotForCompute, "Backend hook."),
    row(93, "LateExpansionUnsupportedOps2", Legal, 0, By("LateExpansionUnsupportedOps"), "What 78 left."),
    row(94, "FinalInspectionPass", Legal, 0, Verify, "Structural check of the legal function, where verification is asked for."),
    row(95, "SetAfterLegalization", Legal, 0, By("the canonical form at the end of the stage"), "Canonical form."),
    row(96, "ReportBeforeScheduling", Legal, 0, Profile, "The per-function profile."),
    row(97, "AdvancedPhasePreSched", Allocated, 2, Stage("oriole_schedule::before_allocation", Some("no-sched")), "List scheduling before allocation, at level 1 of functions that need the frame otherwise; where registers do not suffice, rematerialization and sinking."),
    row(98, "BackPropagateVEC2D", Allocated, 1, NotForCompute, "Graphics only."),
    row(99, "OriDoSyncronization", Allocated, 1, NotYet, "Synchronization after scheduling."),
    row(100, "ApplyPostSyncronizationWars", Allocated, 0, NotYet, "Workarounds after synchronization."),
    row(101, "AdvancedPhaseAllocReg", Allocated, 0, Stage("oriole_regalloc::allocate", None), "Register allocation."),
    row(102, "ReportAfterRegisterAllocation", Allocated, 0, Profile, "The per-function profile."),
    row(103, "Get64bRegComponents", Allocated, 0, By("AdvancedPhaseAllocReg"), "Tuples become components."),
    row(104, "PostExpansion", Allocated, 0, Stage("oriole_regalloc::expand", None), "Copies, frames and calls become instructions."),
    row(105, "ApplyPostRegAllocWars", Allocated, 0, NotYet, "Workarounds after allocation."),
    row(117, "MercEncodeAndDecode", Selected, 0, Stage("oriole_isel::select", None), "Form of every instruction."),
    row(118, "MercExpandInstructions", Selected, 0, Stage("oriole_isel::select", None), "Pseudo-instructions become instructions."),
    row(106, "AdvancedPhasePostSched", Finished, 1, Stage("oriole_schedule::after_allocation", Some("no-late-sched")), "List scheduling after allocation."),
    row(107, "OriRemoveNopCode", Finished, 1, By("PostExpansion"), "Removes copies of a register to itself."),
    row(108, "OptimizeHotColdInLoop", Finished, 1, By("OptimizeHotColdFlow"), "Moves cold blocks out of loops."),
    row(109, "OptimizeHotColdFlow", Finished, 1, Stage("oriole_regalloc::expand", Some("no-cold-blocks")), "Moves cold blocks to the end."),
    row(110, "PostSchedule", Finished, 1, NotYet, "Clean-up after scheduling."),
    row(111, "AdvancedPhasePostFixUp", Finished, 0, NotForCompute, "Backend hook."),
    row(112, "PlaceBlocksInSourceOrder", Finished, 0, Stage("oriole_emit::encode_function", None), "Layout of blocks; branches to the next block fall through."),
    row(113, "PostFixForMercTargets", Finished, 0, NotYet, "Fix-ups of the encoder."),
    row(114, "FixUpTexDepBarAndSync", Finished, 0, NotYet, "Texture dependency barriers."),
    row(115, "AdvancedScoreboardsAndOpexes", Finished, 1, Stage("oriole_schedule::control_words", Some("serial-deps")), "Scoreboards, stalls, yield and reuse."),
    row(116, "ProcessO0WaitsAndSBs", Finished, 0, Stage("oriole_schedule::control_words", None), "At level 0 every instruction waits for everything."),
    row(119, "MercGenerateWARs1", Finished, 0, By("AdvancedScoreboardsAndOpexes"), "Write-after-read hazards."),
    row(120, "MercGenerateOpex", Finished, 0, By("AdvancedScoreboardsAndOpexes"), "Control words."),
    row(121, "MercGenerateWARs2", Finished, 0, By("AdvancedScoreboardsAndOpexes"), "Write-after-read hazards."),
    row(122, "MercGenerateSassUCode", Encoded, 0, Stage("oriole_emit::encode_function", None), "Words."),
    row(123, "ComputeVCallRegUse", Report, 0, By("the layout of the kernel"), "Registers of indirect callees."),
    row(124, "CalcRegisterMap", Report, 0, By("the layout of the kernel"), "Register counts of the container."),
    row(125, "UpdateAfterPostRegAlloc", Report, 0, NotForCompute, "Empty in ptxas."),
    row(126, "ReportFinalMemoryUsage", Report, 0, NotYet, "Memory report."),
    row(127, "AdvancedPhaseOriPhaseEncoding", Report, 0, NotForCompute, "Backend hook."),
    row(128, "UpdateAfterFormatCodeList", Report, 0, NotForCompute, "Empty in ptxas."),
    row(129, "DumpNVuCodeText", Report, 0, By("`oriole dis`"), "`oriole dis`."),
    row(130, "DumpNVuCodeHex", Report, 0, By("`oriole dis`"), "`oriole dis`."),
    row(131, "DebuggerBreak", Report, 0, NotForCompute, "Development hook of ptxas."),
    row(139, "ProcessO0WaitsAndSBs", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(140, "PostFixUp", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(141, "MercConverter", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(142, "MercEncodeAndDecode", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(143, "MercExpandInstructions", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(144, "MercGenerateWARs1", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(145, "MercGenerateOpex", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(146, "MercGenerateWARs2", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(147, "MercGenerateSassUCode", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(148, "ComputeVCallRegUse", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(149, "CalcRegisterMap", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(150, "UpdateAfterPostRegAlloc", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(151, "ReportFinalMemoryUsage", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(152, "AdvancedPhaseOriPhaseEncoding", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(153, "FormatCodeList", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(154, "UpdateAfterFormatCodeList", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(155, "DumpNVuCodeText", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(156, "DumpNVuCodeHex", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(157, "DebuggerBreak", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
    row(158, "NOP", Report, 0, NotForCompute, "Late duplicate: the work is done at the earlier phase of the name."),
];

/// The phase with this name or number. Where two phases share a name, the one that does the work.
pub fn find(text: &str) -> Option<&'static Phase> {
    let number = text.parse::<u16>().ok();
    PHASES.iter().find(|phase| match number {
        Some(number) => phase.number == number,
        None => phase.name.eq_ignore_ascii_case(text),
    })
}

impl Group {
    /// The phases of the stage, in the order in which they act.
    pub fn phases(self) -> impl Iterator<Item = &'static Phase> {
        PHASES.iter().filter(move |phase| phase.group == self)
    }

    /// The part of the options that the passes of the stage may know. Levels above those of all passes are one
    /// level for it.
    pub fn options(self, all: &PassOptions) -> PassOptions {
        let levels =
            PHASES.iter().filter(|phase| matches!(phase.work, Work::Pass(_))).map(|phase| phase.level);
        let all = all.at_most(levels.max().unwrap_or(0));
        let passes = self.phases().filter_map(|phase| match phase.work {
            Work::Pass(pass) => Some(pass),
            _ => None,
        });
        all.restricted(passes.flat_map(|pass| pass.optimization.iter().chain(pass.asks).copied()).collect())
    }

    /// The form of the functions that the stage takes.
    pub fn form(self) -> Form {
        match self {
            Group::Bridged | Group::Early | Group::SsaEarly => Form::Plain,
            Group::SsaMid | Group::SsaLate => Form::Ssa,
            _ => Form::Assigned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_numbered_and_found() {
        let mut numbers: Vec<u16> = PHASES.iter().map(|phase| phase.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..159).collect::<Vec<u16>>());
        for phase in &PHASES {
            assert!(phase.level <= 3 && !phase.doc.is_empty(), "{}", phase.name);
            let by_number = find(&phase.number.to_string()).map(|found| found.number);
            assert_eq!(by_number, Some(phase.number));
            // Of two with one name the first is meant, and only it may do work.
            let by_name = find(&phase.name.to_lowercase()).expect("a name is found");
            assert!(by_name.number <= phase.number, "{}", phase.name);
            assert!(by_name.number == phase.number || phase.state() != "done", "{}", phase.name);
            let known = |name| oriole_options::KNOBS.iter().any(|knob| knob.name == name);
            assert!(phase.switch().is_none_or(known), "{}: {:?}", phase.name, phase.switch());
        }
        assert!(find("159").is_none() && find("Nothing").is_none());
    }

    /// Each pass takes the form that the passes before it leave, from stage to stage.
    #[test]
    fn every_pass_gets_the_form_that_it_takes() {
        let mut form = Form::Plain;
        for group in ORI_GROUPS {
            assert_eq!(group.form(), form, "at the start of {}", group.name());
            for phase in group.phases() {
                if let Work::Pass(pass) = phase.work {
                    let after = pass.form.after(form);
                    form = after.unwrap_or_else(|| panic!("{} does not take {form:?}", phase.name));
                }
            }
        }
        assert_eq!(form, Form::Assigned, "after the passes");
    }

    /// A switch changes what the stages may know whose passes ask for it, and no other stage's options.
    #[test]
    fn a_switch_reaches_the_stages_that_declare_it() {
        let changed = |switch: &str| -> Vec<&str> {
            let mut options = oriole_options::Options::default();
            let before = options.passes();
            options.switch_on(switch).expect("a switch");
            let after = options.passes();
            let groups = ORI_GROUPS.into_iter();
            groups.filter(|group| group.options(&before) != group.options(&after)).map(Group::name).collect()
        };
        assert_eq!(changed("no-licm"), ["ssa_mid", "ssa_late", "legal"]);
        assert_eq!(changed("no-gvn"), ["ssa_mid"]);
        assert_eq!(changed("no-strength"), ["early"]);
        assert_eq!(changed("no-uniform"), ["legal"]);
    }
}
