//! Every row of selection wins somewhere: the kernel of the repository where it does is named here. A row that wins
//! nowhere is no choice, and must go.

use oriole_chip::Chip;
use oriole_isel::{Explained, patterns};
use oriole_options::Options;
use oriole_pipeline::{Allocated, Context, ORI_GROUPS, Settings, Target};
use std::collections::BTreeMap;
use std::path::Path;

/// A row of selection, and a kernel where it wins: file and function.
const ROWS: &[(&str, &str, &str)] = &[
    ("as it is", "control", "control_collatz"),
    ("choice against what is there: IMAD.MOV if", "scan", "scan_block_i64"),
    ("choice for what is there: IMAD.MOV unless", "control", "control_interpreter"),
    ("difference of registers, turned round: IMAD.IADD", "random", "random_mt19937"),
    ("move between uniform registers: UMOV", "selection", "uniform_halves"),
    ("move constant: IMAD.MOV", "atomics", "atomic_append"),
    ("move constant: MOV", "atomics", "atomic_append"),
    ("move immediate: IMAD.MOV", "bits", "bits_mix"),
    ("move immediate: MOV", "atomics", "atomic_append"),
    ("move predicate: PLOP3", "floating", "float_newton_f64"),
    ("move register: IMAD.MOV", "atomics", "atomic_lock"),
    ("move register: MOV", "atomics", "atomic_append"),
    ("move to uniform register: R2UR", "selection", "uniform_across_call"),
    ("move uniform register: IMAD.U32", "selection", "uniform_across_call"),
    ("move uniform register: MOV", "reduce", "reduce_redux_u32"),
    ("move zero to a pair: CS2R", "calls", "call_structures"),
    ("negation of the first addend: IMAD.MOV", "random", "random_mt19937"),
    ("negation of the second addend: IMAD.MOV", "stencil", "stencil_life_u8"),
    ("register and carry in: IMAD.X", "hash", "hash_murmur3"),
    ("shift and sum: IMAD", "hash", "hash_crc32"),
    ("shift: IMAD.SHL", "floating", "half_dot_bf16"),
    ("sum of registers: IMAD.IADD", "control", "control_levenshtein"),
    ("sum with a constant or uniform register: VIADD", "hash", "hash_fnv1a_u64"),
    ("sum with an immediate: VIADD", "calls", "call_pointers"),
    ("sum with carry in: IMAD.X", "scan", "scan_block_i64"),
];

/// The reasons for each instruction of a kernel of the repository at -O3.
fn explained(file: &str, name: &str) -> Vec<Explained> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels");
    let text = std::fs::read_to_string(folder.join(file).with_extension("ptx")).expect("a kernel file");
    let target = Target::new(Chip::SM_90).expect("a target");
    let settings = Settings::new(&Options::default());
    let context = Context::new(&target, &settings);
    let functions = oriole_hir::resolve_module(&text).functions;
    let (.., resolved) = functions.into_iter().find(|function| function.0 == name).expect("a function");
    let mut function = oriole_pipeline::raw(&resolved.body, &context).expect("raw Ori");
    for group in ORI_GROUPS {
        function = oriole_pipeline::run(group, function, &context).expect("legal Ori");
    }
    let allocated: Allocated = oriole_pipeline::allocate(function, &context).expect("registers");
    oriole_pipeline::explain(&allocated, &context).into_iter().flatten().collect()
}

/// The row that won.
fn winner(explained: &Explained) -> &'static str {
    let won = explained.candidates.iter().find(|candidate| candidate.failed.is_none());
    won.expect("some row takes every instruction").name
}

#[test]
fn every_row_of_selection_wins_in_a_kernel() {
    let mut wins: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for &(row, file, name) in ROWS {
        let kernel =
            wins.entry((file, name)).or_insert_with(|| explained(file, name).iter().map(winner).collect());
        if !kernel.contains(&row) {
            wrong.push(format!("`{row}` does not win in {file} {name}"));
        }
    }
    for chip in Chip::all().into_iter().filter(|chip| chip.is_supported()) {
        for (_, row) in patterns(chip).rows() {
            if !ROWS.iter().any(|(name, ..)| *name == row.name) {
                wrong.push(format!("{chip}: no kernel is named where `{}` wins", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
