//! Every row of selection wins somewhere, and so does every alternative of the choices before allocation: the kernel of
//! the repository where it does is named here. A row that wins nowhere must go.

use oriole_chip::Chip;
use oriole_isel::{Explained, patterns};
use oriole_options::Options;
use oriole_ori::pattern::{Candidate, Decision, Decisions, Test};
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
    ("move immediate: MOV", "control", "control_queens"),
    ("move predicate: PLOP3", "bulk", "bulk_stencil"),
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
    ("sum of registers: IMAD.IADD", "hash", "hash_sha256"),
    ("sum with a constant or uniform register: VIADD", "hash", "hash_fnv1a_u64"),
    ("sum with an immediate: VIADD", "calls", "call_pointers"),
    ("sum with carry in: IMAD.X", "scan", "scan_block_i64"),
];

/// An alternative of a contest that passes decide, and a kernel where it wins: file and function.
const ALTERNATIVES: &[(&str, &str, &str, &str)] = &[
    ("a sum with a shifted addend", "LEA", "hash", "hash_crc32"),
    ("a sum with a shifted addend", "SHF and IADD3", "hash", "hash_crc32"),
    ("a uniform value", "in a general register", "atomics", "atomic_append"),
    ("a uniform value", "in a uniform register", "rows_barrier", "rows_barrier_handover"),
    ("a value that a condition chooses", GUARDED, "narrow_parameters", "chosen_loads"),
    ("a value that a condition chooses", "selected", "control", "control_interpreter"),
    ("an address with a known part", "[R+imm]", "atomics", "atomic_append"),
    ("an address with a known part", "the sum in a register", "selection", "guarded_and_far"),
    ("an address with a uniform part", "[R+UR+imm]", "sort", "sort_bitonic_u32"),
    ("an address with a uniform part", "[R+imm] of the sum", "shared", "shared_transpose_u16"),
    ("an operand from a constant bank", "in a register", "calls", "call_pointers"),
    ("an operand from a constant bank", "in its slot", "atomics", "atomic_append"),
    ("an operand from a constant bank", EXCHANGED, "calls", "call_pointers"),
    ("an operand that is known", "in a register", "bits", "bits_mix"),
    ("an operand that is known", "in its slot", "atomics", "atomic_append"),
    ("an operand that is known", EXCHANGED, "calls", "call_pointers"),
];

/// The same of the rows that only sm_120 has.
const LONG_ROWS: &[(&str, &str, &str)] = &[
    ("choice between pairs: SEL.64", "scan", "scan_block_i64"),
    ("move a pair of registers: MOV.64", "floating", "float_newton_f64"),
    ("move two numbers to uniform registers: UMOV.64", "barrier_objects", "copy_pipeline"),
    ("move two numbers: MOV.64", "floating", "float_horner_f64"),
];

const GUARDED: &str = "predicated: the guarded definition keeps the other value";
const EXCHANGED: &str = "in the slot of another operand, exchanged";

/// The decisions of selection and of the passes before about a kernel.
struct Decided {
    rows: Vec<Explained>,
    alternatives: Vec<Decision>,
}

/// The reasons for each instruction of a kernel of the repository on a chip at -O3.
fn decided(chip: &str, file: &str, name: &str) -> Decided {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels");
    let text = std::fs::read_to_string(folder.join(file).with_extension("ptx")).expect("a kernel file");
    let target = Target::new(chip.parse().expect("a chip")).expect("a target");
    let settings = Settings::new(&Options::default());
    let decisions = Decisions::default();
    let context = Context { decisions: Some(&decisions), ..Context::new(&target, &settings) };
    let functions = oriole_hir::resolve_module(&text).functions;
    let (.., resolved) = functions.into_iter().find(|function| function.0 == name).expect("a function");
    let mut function = oriole_pipeline::raw(&resolved.body, &context).expect("raw Ori");
    for group in ORI_GROUPS {
        function = oriole_pipeline::run(group, function, &context).expect("legal Ori");
    }
    let allocated: Allocated = oriole_pipeline::allocate(function, || None, &context).expect("registers");
    let rows = oriole_pipeline::explain(&allocated, &context);
    Decided { rows: rows.into_iter().flatten().collect(), alternatives: decisions.into_sorted() }
}

/// The named kernels, each compiled once.
#[derive(Default)]
struct Kernels(BTreeMap<[&'static str; 3], Decided>);

impl Kernels {
    fn get(&mut self, chip: &'static str, file: &'static str, name: &'static str) -> &Decided {
        self.0.entry([chip, file, name]).or_insert_with(|| decided(chip, file, name))
    }
}

#[test]
fn every_row_of_selection_wins_in_a_kernel() {
    let mut kernels = Kernels::default();
    let mut wrong = Vec::new();
    let rows = ROWS.iter().map(|&row| ("sm_90", row));
    for (chip, (row, file, name)) in rows.chain(LONG_ROWS.iter().map(|&row| ("sm_120", row))) {
        let rows = &kernels.get(chip, file, name).rows;
        if !rows.iter().any(|explained| explained.winner().is_some_and(|winner| winner.name == row)) {
            wrong.push(format!("`{row}` does not win in {file} {name}"));
        }
    }
    for chip in Chip::all().into_iter().filter(|chip| chip.is_supported()) {
        for (_, row) in patterns(chip).rows() {
            if !ROWS.iter().chain(LONG_ROWS).any(|(name, ..)| *name == row.name) {
                wrong.push(format!("{chip}: no kernel is named where `{}` wins", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_alternative_before_allocation_wins_in_a_kernel() {
    let mut kernels = Kernels::default();
    let mut wrong = Vec::new();
    for &(contest, alternative, file, name) in ALTERNATIVES {
        let decided = &kernels.get("sm_90", file, name).alternatives;
        if !decided.iter().any(|one| one.contest.name == contest && one.winner() == alternative) {
            wrong.push(format!("{contest}: `{alternative}` does not win in {file} {name}"));
        }
        // All others of its contest are named too, and none costs as much as another.
        for one in decided.iter().filter(|one| one.contest.name == contest) {
            let costs: Vec<u32> = one.contest.alternatives.iter().map(|other| other.cost.total()).collect();
            if !costs.is_sorted_by(|a, b| a < b) {
                wrong.push(format!("{contest}: the costs {costs:?} do not rise"));
            }
            for other in one.contest.alternatives {
                if !ALTERNATIVES.iter().any(|row| (row.0, row.1) == (contest, other.name)) {
                    wrong.push(format!("{contest}: no kernel is named where `{}` wins", other.name));
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// IADD3 stays what it is where the pipe of the others has less time; the same row takes all that no other row takes.
#[test]
fn a_sum_stays_as_it_is_where_the_other_pipe_is_busy() {
    let rows = decided("sm_90", "bits", "bits_pages").rows;
    let contested = |explained: &&Explained| {
        let by_pipe = |candidate: &&Candidate| matches!(candidate.failed, Some(Test::Pipe(_)));
        explained.before.contains("IADD3") && explained.candidates.iter().any(|one| by_pipe(&one))
    };
    let kept =
        rows.iter().filter(contested).filter(|one| one.winner().is_some_and(|row| row.name == "as it is"));
    assert!(kept.count() > 0, "no sum lost against the other pipe");
}
