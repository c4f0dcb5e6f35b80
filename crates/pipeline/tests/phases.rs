//! Every pass of the list of phases changes a real kernel: the first function of the repository's kernels that it changes
//! is named here, at level 0 if it changes none above. A phase that changes nothing anywhere is no work done, and its row must not
//! say so.

use expect_test::expect;
use oriole_chip::Chip;
use oriole_options::Options;
use oriole_ori::{Function, PassContext, canonical};
use oriole_pipeline::{Allocated, Context, ORI_GROUPS, Settings, Target, Work};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

fn canonical(function: &Function) -> Function {
    let mut function = function.clone();
    canonical::canonicalize(&mut function);
    function
}

/// The passes that change a function, in the order in which they act. Passes that are skipped at the fixed point of the general
/// optimizations run here, and change nothing.
fn changing_passes(name: &str, raw: Function, chip: Chip, settings: &Settings) -> Vec<u16> {
    let mut function = raw;
    let mut changing = Vec::new();
    for group in ORI_GROUPS {
        let mut form = group.form();
        for phase in group.phases().filter(|phase| phase.level <= settings.passes.level) {
            let Work::Pass(pass) = phase.work else { continue };
            let before = canonical(&function);
            let context =
                PassContext { chip, form, options: &settings.passes, decisions: None, allowance: None };
            let outcome = (pass.run)(&mut function, &context);
            form = pass.form.after(form).expect("the pass takes the form");
            if canonical(&function) != before {
                changing.push(phase.number);
                // The driver would not have run it.
                let skipped = pass.idle_at_fixed_point && before.at_fixed_point;
                assert!(!skipped, "{} finds something at the fixed point of {name}", phase.name);
            }
            function.at_fixed_point = outcome.at_fixed_point(before.at_fixed_point);
        }
        function = canonical(&function);
    }
    changing
}

#[test]
fn every_pass_changes_a_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the kernels are there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    // By level and phase: the first kernel that it changes, and how many functions.
    let mut found: BTreeMap<(u8, u16), (String, usize)> = BTreeMap::new();
    // The effect of a phase for older chips only is looked for at level 2.
    let older = "sm_86".parse().expect("a chip");
    for (level, chip) in [(3, Chip::SM_90), (0, Chip::SM_90), (2, older)] {
        let target = oriole_pipeline::Target::new(chip).expect("a target");
        let mut options = Options::default();
        options.level = level;
        let settings = Settings::new(&options);
        for path in &files {
            let text = std::fs::read_to_string(path).expect("a kernel file");
            for (name, _, resolved) in oriole_hir::resolve_module(&text).functions {
                let raw = match oriole_pipeline::raw(&resolved.body, &Context::new(&target, &settings)) {
                    Ok(raw) => raw,
                    // The older chip has not all instructions.
                    Err(_) if chip != Chip::SM_90 => continue,
                    Err(error) => panic!("no raw Ori of {name}: {error:?}"),
                };
                for number in changing_passes(&name, raw, chip, &settings) {
                    let first = || (format!("{} {name}", path.file_stem().unwrap().display()), 0);
                    found.entry((level, number)).or_insert_with(first).1 += 1;
                }
            }
        }
    }
    let mut report = String::new();
    for phase in ORI_GROUPS.into_iter().flat_map(|group| group.phases()) {
        let Work::Pass(_) = phase.work else { continue };
        let changed = |level| found.get(&(level, phase.number));
        let row = match (changed(3), changed(0), changed(2)) {
            (Some((kernel, count)), ..) => format!("{kernel}, {count} functions"),
            (_, Some((kernel, count)), _) => format!("{kernel}, {count} functions at level 0"),
            (.., Some((kernel, count))) => format!("{kernel}, {count} functions for sm_86"),
            _ => "nothing".to_owned(),
        };
        let _ = writeln!(report, "{} {}: {row}", phase.number, phase.name);
    }
    expect![[r#"
        5 ConvertUnsupportedOps: meetings meetings_of_reductions, 12 functions
        10 EarlyOriSimpleLiveDead: atomics atomic_add_floats, 217 functions
        13 GeneralOptimizeEarly: atomics atomic_all_u32, 393 functions
        133 MergeEquivalentConditionalFlow: barrier_objects copy_pipeline, 7 functions
        15 OriBranchOpt: atomics atomic_add_floats, 150 functions
        16 OriPerformLiveDeadFirst: handwritten branch_to_next, 1 functions
        18 OriLoopSimplification: heap heap_lists, 4 functions
        21 OriStrengthReduce: counters counters_global, 15 functions
        22 OriLoopUnrolling: attention attention_f16, 95 functions
        23 GenerateMovPhi: atomics atomic_add_floats, 369 functions
        29 GeneralOptimize: atomics atomic_max_f32, 291 functions
        31 OriLinearReplacement: atomics atomic_all_u32, 175 functions
        32 CompactLocalMemory: memory_values memory_values_first, 8 functions
        33 OriPerformLiveDeadSecond: atomics atomic_add_floats, 231 functions at level 0
        35 OriHoistInvariantsEarly: atomics atomic_lock, 121 functions
        38 OptimizeNestedCondBranches: trees tree_of_sums, 3 functions
        44 OptimizeUniformAtomic: atomics atomic_all_u32, 14 functions
        45 MidExpansion: attention attention_f16, 30 functions
        46 GeneralOptimizeMid2: atomics atomic_append, 52 functions
        49 GvnCse: atomics atomic_all_u64, 258 functions
        50 OriReassociateAndCommon: hash hash_murmur3, 1 functions
        51 ExtractShaderConstsFinal: floating float_horner_f64, 2 functions
        55 LateExpansion: barrier_objects objects, 41 functions
        56 SpeculativeHoistComInsts: attention attention_f16, 16 functions
        58 GeneralOptimizeLate: barrier_objects objects, 59 functions
        63 OriDoPredication: atomics atomic_add_floats, 77 functions
        64 LateOriCommoning: barrier_objects copy_pipeline, 14 functions
        65 GeneralOptimizeLate2: memory_values memory_values_first, 8 functions
        66 OriHoistInvariantsLate: borders borders_sqrt_f64, 13 functions
        69 OriDoRemat: atomics atomic_add_floats, 124 functions
        72 LateExpandSyncInstructions: atomics atomic_add_floats, 204 functions
        73 ConvertAllMovPhiToMov: atomics atomic_add_floats, 237 functions
        74 ConvertToUniformReg: attention attention_f16, 110 functions
        75 LateArchOptimizeFirst: atomics atomic_all_u32, 325 functions for sm_86
        78 LateExpansionUnsupportedOps: atomics atomic_all_u64, 161 functions
        79 OriHoistInvariantsLate2: handwritten invariant_conditions, 3 functions
        81 LateArchOptimizeSecond: atomics atomic_all_u64, 181 functions
        83 OriBackCopyPropagate: atomics atomic_max_f32, 154 functions
        85 OriPropagateGmma: atomics_sm90 atomic_b128, 76 functions
        87 FixupGmmaSequence: warp_group wgmma_floats, 7 functions
        88 OriHoistInvariantsLate3: warp_group wgmma_gemm, 1 functions
    "#]]
    .assert_eq(&report);
}

/// A function with its registers, 40 of them at most, and with a part of the compiler turned off.
fn allocated(raw: &Function, target: &Target, switch: Option<&str>) -> Allocated {
    let mut options = Options::default();
    options.set("maxrregcount", "40").expect("a knob");
    switch.into_iter().for_each(|switch| options.switch_on(switch).expect("a switch"));
    let settings = Settings::new(&options);
    let context = Context::new(target, &settings);
    let mut function = raw.clone();
    for group in ORI_GROUPS {
        function = oriole_pipeline::run(group, function, &context).expect("it runs");
    }
    oriole_pipeline::allocate(function, || None, &context).expect("it can be allocated")
}

/// The work of the stage of allocation in addition to its phases gains something for a kernel: the first that a switch changes is named
/// here, with the accesses to the frame with the switch and without it.
#[test]
fn switches_of_allocation_change_kernels() {
    let switches = ["no-remat", "no-register-clusters", "no-hoist-constants"];
    let mut found = vec![None; switches.len()];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels");
    let target = Target::new(Chip::SM_90).expect("a target");
    let settings = Settings::new(&Options::default());
    let accesses = |code: &Allocated| code.assignment.spill_loads + code.assignment.spill_stores;
    for file in ["fragments", "gemm"] {
        let text = std::fs::read_to_string(folder.join(file).with_extension("ptx")).expect("a kernel file");
        for (name, _, resolved) in oriole_hir::resolve_module(&text).functions {
            let raw =
                oriole_pipeline::raw(&resolved.body, &Context::new(&target, &settings)).expect("raw Ori");
            let with = allocated(&raw, &target, None);
            for (switch, found) in switches.iter().zip(&mut found) {
                if found.is_some() {
                    continue;
                }
                let without = allocated(&raw, &target, Some(switch));
                if without != with {
                    *found = Some(format!("{name}, {} to {}", accesses(&without), accesses(&with)));
                }
            }
        }
    }
    let rows = switches.iter().zip(found);
    let report: String = rows.map(|(switch, found)| format!("{switch}: {found:?}\n")).collect();
    expect![[r#"
        no-remat: Some("mma_quarters, 36 to 0")
        no-register-clusters: Some("sparse_floats, 0 to 0")
        no-hoist-constants: Some("gemm_f16, 218 to 218")
    "#]]
    .assert_eq(&report);
}

/// `pinned` values that live throughout, and loads whose latencies can be hidden in registers, with an MMA or without.
fn loads(pinned: u32, threads: u32, multiplies: bool) -> Function {
    let mut text = format!("kernel params=0 barriers=0 registers=255 threads={threads}\nb0: -> b1\n");
    for value in 0..pinned {
        text += &format!("  r{value} = LDS [{:#x}] mem(shared r) ; 0\n", 4 * value);
    }
    text += "b1: -> b2\n";
    let mut add = |line: String| text += &format!("  {line} ; 0\n");
    for load in 0..24 {
        let (loaded, product) = (200 + 2 * load, 201 + 2 * load);
        if multiplies {
            add(format!("r{loaded} = LDG.E [{{r0 r1}}+{:#x}] mem(global r)", 4 * load));
            add(format!("r{product} = FMUL r{loaded}, r{}", load % pinned));
        } else {
            let four = [500, 501, 502, 503].map(|first| format!("r{}", first + 4 * load));
            add(format!("{{{}}} = LDG.E.128 [{{r0 r1}}+{:#x}] mem(global r)", four.join(" "), 16 * load));
            add(format!("r{loaded} = FFMA {}, {}, {}", four[0], four[1], four[2]));
            add(format!("r{product} = FFMA r{loaded}, r{}, {}", load % pinned, four[3]));
        }
        let sum = if load == 0 { 0 } else { 299 + load };
        add(format!("r{} = FADD r{product}, r{sum}", 300 + load));
    }
    if multiplies {
        add("{r400 r401} = HMMA.1688.F16 {r0 r1}, r2, RZ".to_owned());
    }
    text += "b2:\n";
    for value in (0..pinned).chain([323, 400, 401].into_iter().take(if multiplies { 3 } else { 1 })) {
        text += &format!("  STS [{:#x}], r{value} mem(shared w) ; 0\n", 0x1000 + 4 * value);
    }
    text += "  EXIT ; 1\n";
    oriole_ori::parse::parse(&text).expect("Ori")
}

/// Registers are saved for one block more on each SM, and else none: the registers without and with that. Without products, steps are
/// taken that give a third more blocks.
#[test]
fn registers_are_saved_for_a_block_more() {
    let target = Target::new(Chip::SM_90).expect("a target");
    let registers = |switch: Option<&str>, function: &Function| {
        let mut options = Options::default();
        switch.into_iter().for_each(|switch| options.switch_on(switch).expect("a switch"));
        let settings = Settings::new(&options);
        let context = Context::new(&target, &settings);
        let allocated =
            oriole_pipeline::allocate(function.clone(), || None, &context).expect("it can be allocated");
        allocated.assignment.general_registers
    };
    let mut report = String::new();
    for pinned in [64, 81, 100, 113] {
        let function = loads(pinned, 128, true);
        let (without, with) = (registers(Some("no-occupancy"), &function), registers(None, &function));
        report += &format!("{pinned}: {without} {with}\n");
    }
    for (pinned, threads) in [(10, 128), (10, 384), (10, 512), (14, 256), (40, 128), (40, 512)] {
        let function = loads(pinned, threads, false);
        let (without, with) = (registers(Some("no-occupancy"), &function), registers(None, &function));
        report += &format!("{pinned}, {threads} threads: {without} {with}\n");
    }
    expect![[r#"
        64: 82 78
        81: 102 102
        100: 118 118
        113: 134 134
        10, 128 threads: 78 78
        10, 384 threads: 54 54
        10, 512 threads: 78 62
        14, 256 threads: 94 94
        40, 128 threads: 110 110
        40, 512 threads: 126 126
    "#]]
    .assert_eq(&report);
}
