//! Results of kernels, in the interpreter and the simulator: single instructions, small programs, and the project's own kernels, at the
//! ends of the optimization levels and with clever parts turned off one at a time.

use crate::judge::{Vector, vectors};
use crate::support::{data, files, is_thorough, oriole, say, scratch, text};
use serde_json::Value;
use std::path::Path;

/// The interpreter, and the simulator at both ends of the levels.
const MACHINES: [&[&str]; 3] = [&["--on", "interp"], &["--on", "sim", "-O0"], &["--on", "sim", "-O3"]];

/// Clever parts of the compiler, each of which may be turned off alone, and a budget of registers that makes spills. In one of
/// the budgets calls follow the calling convention, which optimized code has otherwise only where functions are large or recursive.
const WITHOUT: [&[&str]; 8] = [
    &["--on", "sim", "--debug-switch", "min-regs"],
    &["--on", "sim", "--debug-switch", "serial-deps"],
    &["--on", "sim", "--debug-switch", "no-uniform"],
    &["--on", "sim", "--debug-switch", "no-sched"],
    &["--on", "sim", "--debug-switch", "no-routines"],
    &["--on", "sim", "--debug-switch", "no-select-alternatives"],
    &["--on", "sim", "--maxrregcount", "56", "--debug-switch", "no-inlining"],
    &["--on", "sim", "--maxrregcount", "24"],
];

/// Those of `WITHOUT` that a plain run has of the project's own kernels: what changes registers.
const WITHOUT_IN_SHORT: [&[&str]; 2] = [WITHOUT[0], WITHOUT[7]];

/// A kernel with an instruction that needs more registers than the budget is refused with that reason; with more it must be right.
pub fn is_too_large(line: &str) -> bool {
    line.contains("limit::insufficient-registers") && line.contains("and 24 are all that it may have")
}

/// Runs launch records; the lines that are not right.
fn run(launches: &Path, options: &[&str], count: usize) -> Vec<String> {
    let launches = text(launches);
    let mut arguments = vec!["run", &launches];
    arguments.extend(options);
    let run = oriole(&arguments);
    assert!(matches!(run.status, Some(0 | 1)), "{options:?}: {:?} {}", run.status, run.err);
    let wrong: Vec<String> =
        run.out.lines().filter(|line| !line.ends_with(": right")).map(str::to_owned).collect();
    let refused = wrong.iter().filter(|line| is_too_large(line)).count();
    assert_eq!(run.out.lines().count(), count, "{options:?}: a line for each launch");
    assert_eq!(run.status == Some(0), wrong.is_empty(), "{options:?}: the exit status tells");
    say(&format!(
        "{options:?}: {} of {count} launches right, {:.1} s",
        count - wrong.len(),
        run.took.as_secs_f64()
    ));
    // Few kernels have such instructions.
    assert!(refused * 10 <= count, "{refused} of {count} launches need more registers");
    wrong.into_iter().filter(|line| !is_too_large(line)).map(|line| format!("{options:?} {line}")).collect()
}

#[test]
fn programs_on_both_machines() {
    let programs = data("conformance").join("programs.jsonl");
    let count = std::fs::read_to_string(&programs).expect("the programs are there").lines().count();
    assert_eq!(count, 105);
    let wrong: Vec<String> =
        MACHINES.iter().chain(&WITHOUT).flat_map(|options| run(&programs, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The launch records in a folder of `test-data`, as one file, so that each kernel file is compiled once.
fn launches_of(name: &str, folder: &Path) -> (std::path::PathBuf, usize) {
    let kernels = data(name).canonicalize().expect("the kernels are there");
    let mut lines = String::new();
    let mut count = 0;
    for path in files(&kernels, "json") {
        let record = std::fs::read_to_string(&path).expect("a launch record");
        let mut record: Value = serde_json::from_str(&record).expect("a launch record");
        let ptx = kernels.join(record["ptx"].as_str().expect("a launch record names its kernel file"));
        record["ptx"] = text(&ptx).into();
        lines.push_str(&format!("{record}\n"));
        count += 1;
    }
    let path = folder.join("launches.jsonl");
    std::fs::write(&path, lines).expect("a temporary file");
    (path, count)
}

#[test]
fn own_kernels_on_both_machines() {
    let folder = scratch();
    let (launches, count) = launches_of("kernels", folder.path());
    let without = if is_thorough() { &WITHOUT[..] } else { &WITHOUT_IN_SHORT };
    let wrong: Vec<String> =
        MACHINES.iter().chain(without).flat_map(|options| run(&launches, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tensor_memory_on_both_machines() {
    let folder = scratch();
    let (launches, count) = launches_of("tensor-memory", folder.path());
    let late: &[&str] = &["--on", "sim", "--late"];
    let machines = MACHINES.iter().copied().chain([late]);
    let wrong: Vec<String> = machines.flat_map(|options| run(&launches, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A kernel of the project's with one thing changed, run in the interpreter and the simulator: their output.
fn changed(name: &str, [from, to]: [&str; 2], change: impl Fn(&mut Value)) -> Vec<String> {
    let (folder, kernels) = (scratch(), data("kernels"));
    let record = std::fs::read_to_string(kernels.join(format!("{name}.json"))).expect("a launch record");
    let mut record: Value = serde_json::from_str(&record).expect("a launch record");
    let source = kernels.join(record["ptx"].as_str().expect("a launch record names its kernel file"));
    let source = std::fs::read_to_string(source).expect("a kernel file");
    assert!(source.contains(from), "{name}: {from}");
    let other = folder.path().join("other.ptx");
    std::fs::write(&other, source.replace(from, to)).expect("a temporary file");
    record["ptx"] = text(&other).into();
    change(&mut record);
    let launch = folder.path().join("launch.json");
    std::fs::write(&launch, record.to_string()).expect("a temporary file");
    let run = |machine: &&[&str]| {
        let run = oriole(&[&["run", &text(&launch), "--json"], *machine].concat());
        run.out + &run.err
    };
    MACHINES.iter().map(run).collect()
}

/// A program that a GPU ends with an illegal instruction is a fault in the interpreter and the simulator.
#[test]
fn boxes_that_a_gpu_refuses_are_refused() {
    let check = |name: &str, edit: [&str; 2], change: &dyn Fn(&mut Value), told: &str| {
        for answer in changed(name, edit, change) {
            assert!(answer.contains(told), "{name}: {answer}");
        }
    };
    let same = |_: &mut Value| {};
    check("load_line", ["[m, {896}]", "[m, {900}]"], &same, "no multiple of 16");
    check("store_line", ["[m, {896}]", "[m, {900}]"], &same, "no multiple of 16");
    check("load_swizzle_64", ["[m, {28, -3}]", "[m, {30, -3}]"], &same, "no multiple of 16");
    check("store_swizzle_64", ["[m, {28, 5}]", "[m, {-4, 5}]"], &same, "negative coordinate");
    check("store_narrow", ["[m, {8, 6, 1}]", "[m, {8, -1, 1}]"], &same, "negative coordinate");
    let bounded =
        |record: &mut Value| record["args"][2]["tensor_map"]["image"]["lower"] = serde_json::json!([-1, -1]);
    check("store_image", ["", ""], &bounded, "negative coordinate");
    // It need not reach a pixel before the image.
    let bounded = |record: &mut Value| {
        record["args"][2]["tensor_map"]["image"]["lower"] = serde_json::json!([-1, -1]);
        record["args"][2]["tensor_map"]["image"]["pixels"] = 1.into();
    };
    check("store_image", ["", ""], &bounded, "negative lower bound");
}

/// Types have the reductions that the PTX manual lists for them; of the others an H200 refused the first seven here.
#[test]
fn reductions_of_tensors_are_those_of_the_manual() {
    let answers = |operation: &str, kind: &str| {
        let to = format!("shared::cta.{operation}.");
        changed("reduce_line_and", ["shared::cta.and.", &to], |record| {
            record["args"][2]["tensor_map"]["type"] = kind.into();
            // Two elements of the box are in the tensor, and the widest in the memory there is.
            record["args"][2]["tensor_map"]["dims"] = serde_json::json!([50]);
            record["args"][2]["tensor_map"]["box"] = serde_json::json!([32]);
        })
    };
    let refused = [
        ("add", "s64"),
        ("inc", "u64"),
        ("add", "u8"),
        ("add", "u16"),
        ("max", "u16"),
        ("max", "f32"),
        ("max", "f64"),
        ("min", "u8"),
        ("dec", "u64"),
        ("inc", "s32"),
        ("xor", "u16"),
        ("or", "f16"),
    ];
    for (operation, kind) in refused {
        for answer in answers(operation, kind) {
            let told = format!("no such reduction of {kind}");
            assert!(answer.contains(&told), "{operation} of {kind}: {answer}");
        }
    }
    let there = [
        ("max", "s64"),
        ("and", "u64"),
        ("add", "s32"),
        ("add", "f64"),
        ("max", "f16"),
        ("add", "f32"),
        ("add", "u64"),
        ("min", "bf16"),
        ("inc", "u32"),
    ];
    for (operation, kind) in there {
        for answer in answers(operation, kind) {
            // It runs to its end, with other results than those of the record.
            let ran = answer.contains("differs") || answer.contains("\"verdict\":\"right\"");
            assert!(ran, "{operation} of {kind}: {answer}");
        }
    }
}

/// A fetch reads zeros from texels with another layout than it takes for granted.
#[test]
fn texels_are_read_where_they_lie() {
    let zeros = |answer: &str, argument: usize, words: usize| {
        let answer: Value =
            answer.lines().next().and_then(|line| serde_json::from_str(line).ok()).expect(answer);
        let bytes = answer["args"][argument]["bytes_hex"].as_str().expect("a buffer").to_owned();
        (0..words).all(|word| bytes[8 * word..8 * word + 8] == *"00000000")
    };
    for answer in
        changed("texture_cube", ["", ""], |record| record["args"][0]["texture"]["layout"] = "array".into())
    {
        assert!(zeros(&answer, 2, 128), "{answer}");
    }
    for answer in
        changed("texture_nearest", ["", ""], |record| record["args"][6]["texture"]["layout"] = "array".into())
    {
        assert!(zeros(&answer, 5, 1), "{answer}");
    }
}

/// A depth of 96 is of one chip, in the interpreter and the simulator.
#[test]
fn a_depth_of_96_is_of_the_chip_that_has_it() {
    let folder = scratch();
    let kernels = data("tensor-memory");
    let source = std::fs::read_to_string(kernels.join("tensor_deep.ptx")).expect("a kernel file");
    let other = folder.path().join("other.ptx");
    std::fs::write(&other, source.replace(".target sm_103a", ".target sm_100a")).expect("a temporary file");
    let record = std::fs::read_to_string(kernels.join("tensor_deep.json")).expect("a launch record");
    let mut record: Value = serde_json::from_str(&record).expect("a launch record");
    record["ptx"] = text(&other).into();
    let launch = folder.path().join("launch.json");
    std::fs::write(&launch, record.to_string()).expect("a temporary file");
    for machine in ["interp", "sim"] {
        let run = oriole(&["run", &text(&launch), "--on", machine]);
        assert_eq!(run.status, Some(1), "{machine}: {}{}", run.out, run.err);
        let told = run.out + &run.err;
        assert!(told.contains("the chip has no products of a depth of 96"), "{machine}: {told}");
    }
}

/// Instructions of Blackwell other than those of tensor memory.
#[test]
fn blackwell_on_both_machines() {
    let folder = scratch();
    let (launches, count) = launches_of("blackwell", folder.path());
    let wrong: Vec<String> = MACHINES.iter().flat_map(|options| run(&launches, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Instructions that PTX 9.1 to 9.5 added.
#[test]
fn newest_on_both_machines() {
    let folder = scratch();
    let (launches, count) = launches_of("newest", folder.path());
    let wrong: Vec<String> = LEVELS.iter().flat_map(|options| run(&launches, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The interpreter, and the simulator at every level.
const LEVELS: [&[&str]; 5] = [
    &["--on", "interp"],
    &["--on", "sim", "-O0"],
    &["--on", "sim", "-O1"],
    &["--on", "sim", "-O2"],
    &["--on", "sim", "-O3"],
];

/// Programs of fixed seeds out of `tools/programs`, with what all machines agreed on.
#[test]
fn random_programs_on_both_machines() {
    let programs = data("programs").join("programs.jsonl");
    let count = std::fs::read_to_string(&programs).expect("the programs are there").lines().count();
    assert_eq!(count, 14);
    let others: [&[&str]; 2] = [&["--on", "sim", "--maxrregcount", "20"], &["--on", "sim", "--late"]];
    let machines = LEVELS.iter().chain(&others);
    let wrong: Vec<String> = machines.flat_map(|options| run(&programs, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Small kernels that were compiled or executed wrong once, at every level.
#[test]
fn regressions_on_both_machines() {
    let folder = scratch();
    let (launches, count) = launches_of("regressions", folder.path());
    let wrong: Vec<String> = LEVELS.iter().flat_map(|options| run(&launches, options, count)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs vectors and judges them; what is wrong.
fn answers(vectors: &[Vector], launches: &Path, options: &[&str]) -> Vec<String> {
    answers_of(&[vectors.iter().collect()], launches, options).remove(0)
}

/// The same for several rounds of vectors one after the other, each with other texts; what is wrong in each.
pub fn answers_of(rounds: &[Vec<&Vector>], launches: &Path, options: &[&str]) -> Vec<Vec<String>> {
    let launches = text(launches);
    let mut arguments = vec!["run", &launches, "--json"];
    arguments.extend(options);
    let run = oriole(&arguments);
    assert!(matches!(run.status, Some(0 | 1)), "{options:?}: {:?} {}", run.status, run.err);
    let mut lines = run.out.lines();
    let mut judge = |round: &Vec<&Vector>| {
        let mut wrong = Vec::new();
        for vector in round {
            let line = lines.next().unwrap_or_else(|| panic!("{options:?}: no answer for {}", vector.name));
            let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
            assert_eq!(answer["name"], vector.name.as_str(), "{options:?}: answers come in order");
            let complaint = match answer.get("error") {
                Some(error) => Some(error.to_string()),
                None => match &answer["args"][vector.inputs.len()]["bytes_hex"] {
                    Value::String(hex) => vector.judge(hex),
                    other => Some(format!("the result is {other}")),
                },
            };
            wrong.extend(complaint.map(|complaint| format!("{options:?} {}: {complaint}", vector.name)));
        }
        wrong
    };
    let wrong: Vec<Vec<String>> = rounds.iter().map(&mut judge).collect();
    let count = rounds.iter().map(Vec::len).sum::<usize>();
    say(&format!(
        "{options:?}: {} of {count} vectors right, {:.1} s",
        count - wrong.iter().map(Vec::len).sum::<usize>(),
        run.took.as_secs_f64()
    ));
    wrong
}

fn vectors_on(machines: &[&[&str]]) {
    let vectors = vectors();
    assert_eq!(vectors.len(), 1616);
    let folder = scratch();
    let launches = folder.path().join("vectors.jsonl");
    let lines: String = vectors.iter().map(|vector| format!("{}\n", vector.launch())).collect();
    std::fs::write(&launches, lines).expect("a temporary file");
    let wrong: Vec<String> =
        machines.iter().flat_map(|options| answers(&vectors, &launches, options)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn vectors_on_both_machines() {
    vectors_on(&MACHINES);
}

/// Approximate results of the machine may differ within their error; results must allow for that.
#[test]
fn vectors_on_a_perturbed_machine() {
    let seeds: [&[&str]; 2] = [&["--on", "sim", "--perturb", "1"], &["--on", "sim", "--perturb", "9001"]];
    vectors_on(if is_thorough() { &seeds } else { &seeds[..1] });
}
