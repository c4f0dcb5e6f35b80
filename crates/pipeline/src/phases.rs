//! The list of the 159 phases: number, name, group, level, switch and state. One row is one phase; the driver, the
//! `--after` option and the documentation read it.

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

/// What Oriole does at a phase.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Implemented; it may share its code with another phase, as its description says.
    Done,
    /// Only graphics shaders or hooks of the reference need it.
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
    /// State.
    pub state: State,
    /// The debug switch that turns it off; empty if none does.
    pub switch: &'static str,
    /// What it does.
    pub doc: &'static str,
}

impl Phase {
    /// Whether there is Ori to show after the phase.
    ///
    /// # Errors
    /// Why there is none.
    pub fn leaves_ori(&self) -> Result<(), String> {
        let reason = match self.state {
            State::Done if !crate::ORI_GROUPS.contains(&self.group) => {
                "leaves machine code, not Ori: see `oriole isel` and `oriole dis`"
            }
            State::Done => return Ok(()),
            State::NotForCompute => "does nothing in compute code",
            State::NotYet => "is not implemented yet",
        };
        Err(format!("phase {} {} {reason}", self.number, self.name))
    }
}

const fn row(
    number: u16,
    name: &'static str,
    group: Group,
    level: u8,
    state: State,
    switch: &'static str,
    doc: &'static str,
) -> Phase {
    Phase { number, name, group, level, state, switch, doc }
}

use Group::{
    Allocated, Bridged, Early, Encoded, Finished, Legal, Report, Selected, SsaEarly, SsaLate, SsaMid,
};
use State::{Done, NotForCompute, NotYet};

/// Every phase, in the order of numbers.
#[rustfmt::skip]
pub const PHASES: &[Phase] = &[
    row(0, "OriCheckInitialProgram", Bridged, 0, Done, "", "Structural check of the raw function, in builds with debug assertions."),
    row(1, "ApplyNvOptRecipes", Bridged, 0, Done, "", "What each later phase may do at this level."),
    row(2, "PromoteFP16", Bridged, 0, Done, "", "Half operations the chip lacks become single ones."),
    row(3, "AnalyzeControlFlow", Bridged, 0, Done, "", "Control-flow graph, RPO, dominators, back edges, loops."),
    row(4, "AdvancedPhaseBeforeConvUnSup", Bridged, 0, NotForCompute, "", "Backend hook."),
    row(5, "ConvertUnsupportedOps", Bridged, 0, Done, "", "Every operation becomes one the target has, or a pseudo-operation expanded later."),
    row(6, "SetControlFlowOpLastInBB", Bridged, 0, Done, "", "Control flow stands last in its block."),
    row(7, "AdvancedPhaseAfterConvUnSup", Bridged, 0, NotForCompute, "", "Backend hook."),
    row(8, "OriCreateMacroInsts", Bridged, 0, NotYet, "", "Fuses sequences that stay together until 118."),
    row(9, "ReportInitialRepresentation", Bridged, 0, Done, "", "The per-function profile."),
    row(10, "EarlyOriSimpleLiveDead", Bridged, 1, Done, "no-dead-code", "Quick removal of dead code."),
    row(11, "ReplaceUniformsWithImm", Bridged, 1, NotYet, "", "Known constants become immediates."),
    row(12, "OriSanitize", Bridged, 0, Done, "", "Second structural check, in builds with debug assertions."),
    row(13, "GeneralOptimizeEarly", Bridged, 1, Done, "no-fold", "Copy propagation, folding, algebra and dead code to a fixed point."),
    row(14, "DoSwitchOptFirst", Early, 1, NotYet, "", "Shapes of switches."),
    row(15, "OriBranchOpt", Early, 1, Done, "no-branch-opt", "Branch folding, unreachable blocks, straightening."),
    row(16, "OriPerformLiveDeadFirst", Early, 1, Done, "no-dead-code", "Liveness and dead code."),
    row(17, "OptimizeBindlessHeaderLoads", Early, 1, NotYet, "", "Shares loads of texture headers."),
    row(18, "OriLoopSimplification", Early, 1, NotYet, "", "Preheaders and single latches."),
    row(19, "OriSplitLiveRanges", Early, 1, NotYet, "", "Splits live ranges at loop borders."),
    row(20, "PerformPGO", Early, 1, NotYet, "", "Block weights from a profile."),
    row(21, "OriStrengthReduce", Early, 1, Done, "no-strength", "Multiplications and divisions by constants become cheaper."),
    row(22, "OriLoopUnrolling", Early, 2, NotYet, "", "Unrolls by trip count, size and pressure."),
    row(23, "GenerateMovPhi", SsaEarly, 0, Done, "", "Enters partial SSA."),
    row(24, "OriPipelining", SsaEarly, 2, NotYet, "", "Software pipelining."),
    row(25, "StageAndFence", SsaEarly, 1, NotYet, "", "Fences and staging for coherence."),
    row(26, "OriRemoveRedundantBarriers", SsaEarly, 2, NotYet, "", "Removes barriers proven redundant."),
    row(27, "AnalyzeUniformsForSpeculation", SsaEarly, 1, NotYet, "", "Which constant loads may be speculated."),
    row(28, "SinkRemat", SsaEarly, 2, NotYet, "", "Sinks computations toward their uses."),
    row(29, "GeneralOptimize", SsaEarly, 1, Done, "no-fold", "The bundle again."),
    row(30, "DoSwitchOptSecond", SsaEarly, 1, NotYet, "", "Shapes of switches."),
    row(31, "OriLinearReplacement", SsaEarly, 1, Done, "no-linear", "Affine chains become IADD3, IMAD, LEA; contraction to FFMA."),
    row(32, "CompactLocalMemory", SsaEarly, 1, NotYet, "", "Packs local memory."),
    row(33, "OriPerformLiveDeadSecond", SsaMid, 1, Done, "no-dead-code", "Liveness and dead code."),
    row(34, "ExtractShaderConstsFirst", SsaMid, 1, NotYet, "", "Values that are computed once move to the constant bank."),
    row(35, "OriHoistInvariantsEarly", SsaMid, 1, Done, "no-licm", "Loop-invariant code motion."),
    row(36, "EmitPSI", SsaMid, 1, NotForCompute, "", "Graphics only."),
    row(37, "GeneralOptimizeMid", SsaMid, 1, Done, "no-fold", "The bundle again."),
    row(38, "OptimizeNestedCondBranches", SsaMid, 1, NotYet, "", "Flattens nested conditions."),
    row(39, "ConvertVTGReadWrite", SsaMid, 0, NotForCompute, "", "Graphics only."),
    row(40, "DoVirtualCTAExpansion", SsaMid, 0, NotForCompute, "", "Virtual-CTA operations."),
    row(41, "MarkAdditionalColdBlocks", SsaMid, 1, NotYet, "", "Marks cold blocks."),
    row(42, "ExpandMbarrier", SsaMid, 0, NotYet, "", "mbarrier operations become native sequences."),
    row(43, "ForwardProgress", SsaMid, 0, NotYet, "", "Guarantees of forward progress."),
    row(44, "OptimizeUniformAtomic", SsaMid, 1, NotYet, "", "One atomic for a warp."),
    row(45, "MidExpansion", SsaMid, 0, Done, "no-routines", "Divisions and roots become sequences, and calls of routines for their slow ways."),
    row(46, "GeneralOptimizeMid2", SsaMid, 1, Done, "no-fold", "The bundle again."),
    row(47, "AdvancedPhaseEarlyEnforceArgs", SsaMid, 0, NotForCompute, "", "Backend hook."),
    row(48, "EnforceArgumentRestrictions", SsaMid, 0, Done, "", "Operands of calls take the registers of the ABI."),
    row(49, "GvnCse", SsaMid, 2, Done, "no-gvn", "Global value numbering."),
    row(50, "OriReassociateAndCommon", SsaMid, 1, Done, "no-reassociate", "Reassociation to expose common parts."),
    row(51, "ExtractShaderConstsFinal", SsaMid, 1, NotYet, "", "As 34."),
    row(52, "OriReplaceEquivMultiDefMov", SsaMid, 1, NotYet, "", "Merges equal copies."),
    row(53, "OriPropagateVaryingFirst", SsaLate, 0, Done, "", "Divergence analysis."),
    row(54, "OriDoRematEarly", SsaLate, 2, NotYet, "", "Rematerialization near uses."),
    row(55, "LateExpansion", SsaLate, 0, Done, "", "Operations kept whole until here."),
    row(56, "SpeculativeHoistComInsts", SsaLate, 2, NotYet, "", "Hoists common code above branches."),
    row(57, "RemoveASTToDefaultValues", SsaLate, 0, NotForCompute, "", "Graphics only."),
    row(58, "GeneralOptimizeLate", SsaLate, 1, Done, "no-fold", "The bundle again."),
    row(59, "OriLoopFusion", SsaLate, 1, NotYet, "", "Fuses loops."),
    row(60, "DoVTGMultiViewExpansion", SsaLate, 0, NotForCompute, "", "Graphics only."),
    row(61, "OriPerformLiveDeadThird", SsaLate, 1, Done, "no-dead-code", "Liveness and dead code."),
    row(62, "OriRemoveRedundantMultiDefMov", SsaLate, 1, NotYet, "", "Removes redundant copies."),
    row(63, "OriDoPredication", SsaLate, 2, Done, "no-predication", "If-conversion."),
    row(64, "LateOriCommoning", SsaLate, 1, NotYet, "", "Late common subexpressions."),
    row(65, "GeneralOptimizeLate2", SsaLate, 1, Done, "no-fold", "The bundle again."),
    row(66, "OriHoistInvariantsLate", SsaLate, 1, Done, "no-licm", "Loop-invariant code motion."),
    row(67, "DoKillMovement", SsaLate, 3, NotYet, "", "Moves kills."),
    row(68, "DoTexMovement", SsaLate, 3, NotYet, "", "Moves texture fetches up."),
    row(69, "OriDoRemat", SsaLate, 2, NotYet, "", "Rematerialization."),
    row(70, "OriPropagateVaryingSecond", SsaLate, 0, Done, "", "Divergence analysis."),
    row(71, "OptimizeSyncInstructions", SsaLate, 2, Done, "", "Removes warp synchronizations where the whole warp is together; acts at the end of 72."),
    row(72, "LateExpandSyncInstructions", SsaLate, 0, Done, "", "Places convergence barriers."),
    row(73, "ConvertAllMovPhiToMov", SsaLate, 0, Done, "", "Leaves partial SSA: parallel copies on edges."),
    row(74, "ConvertToUniformReg", Legal, 1, Done, "no-uniform", "Warp-uniform values move to uniform registers."),
    row(75, "LateArchOptimizeFirst", Legal, 1, NotYet, "", "Rewrites for the chip."),
    row(76, "UpdateAfterOptimize", Legal, 0, Done, "", "Canonical form."),
    row(77, "AdvancedPhaseLateConvUnSup", Legal, 0, NotForCompute, "", "Backend hook."),
    row(78, "LateExpansionUnsupportedOps", Legal, 0, Done, "", "64-bit operations become sequences."),
    row(79, "OriHoistInvariantsLate2", Legal, 1, Done, "no-licm", "Loop-invariant code motion."),
    row(80, "ExpandJmxComputation", Legal, 0, NotYet, "", "Indexed jumps."),
    row(81, "LateArchOptimizeSecond", Legal, 1, Done, "no-fold", "Constants and copies that the expansions brought become operands."),
    row(82, "AdvancedPhaseBackPropVReg", Legal, 0, NotForCompute, "", "Backend hook."),
    row(83, "OriBackCopyPropagate", Legal, 1, Done, "no-back-copy", "Copies fold into the definition of their source."),
    row(84, "OriPerformLiveDeadFourth", Legal, 1, Done, "no-dead-code", "Liveness and dead code."),
    row(85, "OriPropagateGmma", Legal, 0, NotYet, "", "Accumulators of warpgroup matrix operations."),
    row(86, "InsertPseudoUseDefForConvUR", Legal, 0, NotYet, "", "Keeps uniform values alive across divergent code."),
    row(87, "FixupGmmaSequence", Legal, 0, NotYet, "", "Order rules of warpgroup matrix operations."),
    row(88, "OriHoistInvariantsLate3", Legal, 1, Done, "no-licm", "Loop-invariant code motion."),
    row(89, "AdvancedPhaseSetRegAttr", Legal, 0, NotForCompute, "", "Backend hook."),
    row(90, "OriSetRegisterAttr", Legal, 0, NotYet, "", "Scheduling attributes of registers."),
    row(91, "OriCalcDependantTex", Legal, 0, NotYet, "", "Chains of texture fetches."),
    row(92, "AdvancedPhaseAfterSetRegAttr", Legal, 0, NotForCompute, "", "Backend hook."),
    row(93, "LateExpansionUnsupportedOps2", Legal, 0, Done, "", "What 78 left."),
    row(94, "FinalInspectionPass", Legal, 0, Done, "", "Every instruction has a form on the chip."),
    row(95, "SetAfterLegalization", Legal, 0, Done, "", "Canonical form."),
    row(96, "ReportBeforeScheduling", Legal, 0, Done, "", "The per-function profile."),
    row(97, "AdvancedPhasePreSched", Allocated, 1, Done, "no-sched", "List scheduling before allocation."),
    row(98, "BackPropagateVEC2D", Allocated, 1, NotForCompute, "", "Graphics only."),
    row(99, "OriDoSyncronization", Allocated, 1, NotYet, "", "Synchronization after scheduling."),
    row(100, "ApplyPostSyncronizationWars", Allocated, 0, NotYet, "", "Workarounds after synchronization."),
    row(101, "AdvancedPhaseAllocReg", Allocated, 0, Done, "min-regs", "Register allocation."),
    row(102, "ReportAfterRegisterAllocation", Allocated, 0, Done, "", "The per-function profile."),
    row(103, "Get64bRegComponents", Allocated, 0, Done, "", "Tuples become components."),
    row(104, "PostExpansion", Allocated, 0, Done, "", "Copies, frames and calls become instructions."),
    row(105, "ApplyPostRegAllocWars", Allocated, 0, NotYet, "", "Workarounds after allocation."),
    row(106, "AdvancedPhasePostSched", Finished, 1, Done, "no-late-sched", "List scheduling after allocation."),
    row(107, "OriRemoveNopCode", Finished, 1, Done, "", "Removes copies of a register to itself."),
    row(108, "OptimizeHotColdInLoop", Finished, 1, NotYet, "", "Moves cold blocks out of loops."),
    row(109, "OptimizeHotColdFlow", Finished, 1, NotYet, "", "Moves cold blocks to the end."),
    row(110, "PostSchedule", Finished, 1, NotYet, "", "Clean-up after scheduling."),
    row(111, "AdvancedPhasePostFixUp", Finished, 0, NotForCompute, "", "Backend hook."),
    row(112, "PlaceBlocksInSourceOrder", Finished, 0, Done, "", "Layout of blocks; branches to the next block fall through."),
    row(113, "PostFixForMercTargets", Finished, 0, NotYet, "", "Fix-ups of the encoder."),
    row(114, "FixUpTexDepBarAndSync", Finished, 0, NotYet, "", "Texture dependency barriers."),
    row(115, "AdvancedScoreboardsAndOpexes", Finished, 1, Done, "serial-deps", "Scoreboards, stalls, yield and reuse."),
    row(116, "ProcessO0WaitsAndSBs", Finished, 0, Done, "", "At level 0 every instruction waits for everything."),
    row(117, "MercEncodeAndDecode", Selected, 0, Done, "", "Form of every instruction."),
    row(118, "MercExpandInstructions", Selected, 0, Done, "", "Pseudo-instructions become instructions."),
    row(119, "MercGenerateWARs1", Finished, 0, Done, "", "Write-after-read hazards; part of 115."),
    row(120, "MercGenerateOpex", Finished, 0, Done, "", "Control words; part of 115."),
    row(121, "MercGenerateWARs2", Finished, 0, Done, "", "Write-after-read hazards; part of 115."),
    row(122, "MercGenerateSassUCode", Encoded, 0, Done, "", "Words."),
    row(123, "ComputeVCallRegUse", Report, 0, Done, "", "Registers of indirect callees; part of the kernel image."),
    row(124, "CalcRegisterMap", Report, 0, Done, "", "Register counts of the container."),
    row(125, "UpdateAfterPostRegAlloc", Report, 0, NotForCompute, "", "Empty in the reference."),
    row(126, "ReportFinalMemoryUsage", Report, 0, NotYet, "", "Memory report."),
    row(127, "AdvancedPhaseOriPhaseEncoding", Report, 0, NotForCompute, "", "Backend hook."),
    row(128, "UpdateAfterFormatCodeList", Report, 0, NotForCompute, "", "Empty in the reference."),
    row(129, "DumpNVuCodeText", Report, 0, Done, "", "`oriole dis`."),
    row(130, "DumpNVuCodeHex", Report, 0, Done, "", "`oriole dis`."),
    row(131, "DebuggerBreak", Report, 0, NotForCompute, "", "Development hook of the reference."),
    row(132, "UpdateAfterConvertUnsupportedOps", Bridged, 0, Done, "", "Canonical form after 5."),
    row(133, "MergeEquivalentConditionalFlow", Early, 0, NotYet, "", "Merges equal conditional flow; runs after 13."),
    row(134, "AdvancedPhaseAfterMidExpansion", SsaMid, 0, NotForCompute, "", "Backend hook after 45."),
    row(135, "AdvancedPhaseLateExpandSyncInstructions", SsaLate, 0, NotForCompute, "", "Backend hook before 72."),
    row(136, "LateMergeEquivalentConditionalFlow", Legal, 0, NotYet, "", "As 133, after 78."),
    row(137, "LateExpansionUnsupportedOpsMid", Legal, 0, Done, "", "Expansions between 79 and 80; part of 78."),
    row(138, "OriSplitHighPressureLiveRanges", Legal, 0, NotYet, "", "Splits live ranges under pressure; runs before 84."),
    row(139, "ProcessO0WaitsAndSBs", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(140, "PostFixUp", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(141, "MercConverter", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(142, "MercEncodeAndDecode", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(143, "MercExpandInstructions", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(144, "MercGenerateWARs1", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(145, "MercGenerateOpex", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(146, "MercGenerateWARs2", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(147, "MercGenerateSassUCode", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(148, "ComputeVCallRegUse", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(149, "CalcRegisterMap", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(150, "UpdateAfterPostRegAlloc", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(151, "ReportFinalMemoryUsage", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(152, "AdvancedPhaseOriPhaseEncoding", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(153, "FormatCodeList", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(154, "UpdateAfterFormatCodeList", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(155, "DumpNVuCodeText", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(156, "DumpNVuCodeHex", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(157, "DebuggerBreak", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
    row(158, "NOP", Report, 0, NotForCompute, "", "Late duplicate: the work is done where the earlier phase of the name stands."),
];

/// The phase with this name or number. Where two phases share a name, the one that does the work.
pub fn find(text: &str) -> Option<&'static Phase> {
    if let Ok(number) = text.parse::<u16>() {
        return PHASES.get(usize::from(number));
    }
    PHASES.iter().find(|phase| phase.name.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_numbered_and_found() {
        assert_eq!(PHASES.len(), 159);
        for (number, phase) in PHASES.iter().enumerate() {
            assert_eq!(usize::from(phase.number), number, "{}", phase.name);
            assert!(phase.level <= 3 && !phase.doc.is_empty(), "{}", phase.name);
            let by_number = find(&phase.number.to_string()).map(|found| found.number);
            assert_eq!(by_number, Some(phase.number));
            // Of two with one name the first is meant, and only it may do work.
            let by_name = find(&phase.name.to_lowercase()).expect("a name is found");
            assert!(by_name.number <= phase.number, "{}", phase.name);
            assert!(by_name.number == phase.number || phase.state != State::Done, "{}", phase.name);
            let knob = oriole_options::KNOBS.iter().any(|knob| knob.name == phase.switch);
            assert!(phase.switch.is_empty() || knob, "{}: no switch {}", phase.name, phase.switch);
        }
        assert!(find("159").is_none() && find("Nothing").is_none());
    }
}
