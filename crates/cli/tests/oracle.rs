//! Comparisons with the platform's own tools, in the folder that `ORIOLE_ORACLE` names: they read our cubins and see in
//! them what we see, and we read theirs, run them and find no hazard. They are ignored unless asked for.

use crate::asm::replaced_by_itself;
use crate::support::{
    compile, data, files, finish, is_thorough, oriole, read_cubin, round_trip, say, scratch, text,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of tools.
pub fn tools() -> PathBuf {
    tools_of("ORIOLE_ORACLE")
}

/// That of the toolkit whose containers and frames ours are like: what a newer one writes there, it reads of an older one.
pub fn recorded_tools() -> PathBuf {
    tools_of("ORIOLE_ORACLE_RECORDED")
}

fn tools_of(variable: &str) -> PathBuf {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| panic!("{variable} names a folder"));
    for tool in ["ptxas", "nvdisasm", "cuobjdump"] {
        assert!(folder.join(tool).exists(), "{} holds no {tool}", folder.display());
    }
    folder
}

/// The output of a tool about a file; it must not complain.
pub fn ask(folder: &Path, tool: &str, arguments: &[&str]) -> String {
    // One tool calls another by its name.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).expect("a search path");
    let run = finish(Command::new(folder.join(tool)).args(arguments).env("PATH", path));
    assert_eq!(run.status, Some(0), "{tool} {arguments:?}: {}{}", run.out, run.err);
    run.out
}

/// Instructions by function and address, as `cuobjdump -sass` prints them.
fn theirs(listing: &str) -> BTreeMap<(String, u64), String> {
    let mut function = String::new();
    let mut texts = BTreeMap::new();
    for line in listing.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Function :") {
            function = name.trim().to_owned();
        }
        let Some((address, rest)) = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) else {
            continue;
        };
        let (Ok(address), Some((body, _))) = (u64::from_str_radix(address, 16), rest.split_once(';')) else {
            continue;
        };
        texts.insert((function.clone(), address), body.to_owned());
    }
    texts
}

/// The same as `dis --json` has it.
fn ours(cubin: &Path) -> BTreeMap<(String, u64), String> {
    let run = oriole(&["dis", "--json", &text(cubin)]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    run.out
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("each line is JSON");
            let [kernel, body] = ["kernel", "text"].map(|key| line[key].as_str().expect("a text").to_owned());
            ((kernel, line["address"].as_u64().expect("a number")), body)
        })
        .collect()
}

/// Differences that are only a matter of taste: blanks.
fn normal(text: &str) -> String {
    text.replace("] [", "][").replace(" ,", ",").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names that a module declares, and other words outside of braces and parentheses.
fn declared(module: &str) -> BTreeSet<&str> {
    let (mut depth, mut start, mut words) = (0, None, BTreeSet::new());
    for (at, letter) in module.char_indices() {
        let is_word = letter.is_ascii_alphanumeric() || "_$.%".contains(letter);
        match (start, is_word) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let word = &module[from..at];
                if depth == 0 && !word.starts_with(|first: char| first == '.' || first.is_ascii_digit()) {
                    words.insert(word);
                }
                start = None;
            }
            _ => {}
        }
        match letter {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            _ => {}
        }
    }
    words
}

/// Modules of one target, and of which no two declare the same name, as one module: the disassembler takes longer to start than to
/// read. The name and the text of each.
fn joined(inputs: &[PathBuf]) -> Vec<(String, String)> {
    struct Joined {
        target: String,
        version: (u32, u32),
        names: BTreeSet<String>,
        body: String,
    }
    let mut all: Vec<Joined> = Vec::new();
    for input in inputs {
        let module = std::fs::read_to_string(input).expect("a kernel file");
        let header = |directive: &str| {
            let line = module.lines().find_map(|line| line.strip_prefix(directive)).expect("a header");
            line.trim().to_owned()
        };
        let (target, version) = (header(".target "), header(".version "));
        let (major, minor) = version.split_once('.').expect("a version");
        let version = [major, minor].map(|part| part.parse().expect("a number"));
        let is_header =
            |line: &&str| [".target ", ".version ", ".address_size "].iter().any(|it| line.starts_with(it));
        let body: String = module
            .lines()
            .filter(|line| !is_header(line))
            .map(|line| format!("{}\n", line.split("//").next().unwrap_or_default()))
            .collect();
        let names: BTreeSet<String> = declared(&body).into_iter().map(str::to_owned).collect();
        let at = all.iter().position(|it| it.target == target && it.names.is_disjoint(&names));
        let at = at.unwrap_or_else(|| {
            all.push(Joined { target, version: (0, 0), names: BTreeSet::new(), body: String::new() });
            all.len() - 1
        });
        let joined = &mut all[at];
        joined.version = joined.version.max((version[0], version[1]));
        joined.names.extend(names);
        joined.body.push_str(&body);
    }
    let module = |(at, Joined { target, version: (major, minor), body, .. }): (usize, Joined)| {
        let header = format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n");
        (format!("{at}, {target}"), header + &body)
    };
    all.into_iter().enumerate().map(module).collect()
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn our_cubins_are_read_alike() {
    let tools = tools();
    let folder = scratch();
    let [source, cubin] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    let (mut cubins, mut instructions, mut wrong) = (0, 0, Vec::new());
    for (at, (name, module)) in joined(&files(&data("kernels"), "ptx")).into_iter().enumerate() {
        std::fs::write(&source, module).expect("a temporary file");
        // Unoptimized code has fewer forms: the first module, which holds most kernels, has them all.
        let levels: &[&str] = if at == 0 || is_thorough() { &["-O3", "-O0"] } else { &["-O3"] };
        for level in levels {
            let name = format!("{name} {level}");
            if let Err(message) = compile(&source, &cubin, &[level]) {
                wrong.push(format!("{name}: {message}"));
                continue;
            }
            let path = text(&cubin);
            assert!(!ask(&tools, "cuobjdump", &["-elf", &path]).is_empty());
            // The listing below reads the whole file.
            if at < 2 || is_thorough() {
                assert!(!ask(&tools, "nvdisasm", &["-c", &path]).is_empty());
            }
            let theirs = theirs(&ask(&tools, "cuobjdump", &["-sass", &path]));
            let ours = ours(&cubin);
            if theirs.len() != ours.len() {
                wrong.push(format!("{name}: {} instructions, we see {}", theirs.len(), ours.len()));
            }
            for (place, theirs) in &theirs {
                let ours = ours.get(place).map(String::as_str).unwrap_or("nothing");
                if normal(ours) != normal(theirs) {
                    wrong.push(format!("{name} {place:?}\n  ours   {ours}\n  theirs {theirs}"));
                }
            }
            cubins += 1;
            instructions += theirs.len();
        }
    }
    say(&format!(
        "{cubins} of our cubins read by the tools, {instructions} instructions, {} differ",
        wrong.len()
    ));
    assert!(instructions > 50_000);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fixed random programs give on the reference's code what they give on ours.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn random_programs_on_their_code() {
    let tools = tools();
    let folder = scratch();
    let launches =
        std::fs::read_to_string(data("programs").join("programs.jsonl")).expect("the programs are there");
    let mut wrong = Vec::new();
    for launch in launches.lines() {
        let record: Value = serde_json::from_str(launch).expect("a launch record");
        let [name, ptx] = ["name", "ptx_text"].map(|key| record[key].as_str().expect("a text"));
        let [source, json, cubin] =
            ["ptx", "json", "cubin"].map(|end| folder.path().join(format!("{name}.{end}")));
        std::fs::write(&source, ptx).expect("a temporary file");
        std::fs::write(&json, launch).expect("a temporary file");
        let target = ptx.lines().find_map(|line| line.strip_prefix(".target ")).expect("a target");
        let target = format!("-arch={target}");
        ask(&tools, "ptxas", &[&target, "-O3", &text(&source), "-o", &text(&cubin)]);
        let run = oriole(&["run", &text(&json), "--on", "sim", "--cubin", &text(&cubin)]);
        if run.status != Some(0) {
            wrong.push(format!("{name}: {}{}", run.out, run.err));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without and with optimization.
const LEVELS: [&str; 2] = ["-O0", "-O3"];

/// The interpreter's results with tensor memory are those of ptxas's code.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn tensor_memory_on_their_code() {
    let machines: [&[&str]; 2] = [&[], &["--late"]];
    let wrong: Vec<String> = machines
        .iter()
        .flat_map(|options| on_their_code(&recorded_tools(), "tensor-memory", &LEVELS, &[], options))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same for the other forms of Blackwell.
#[test]
#[ignore = "needs ORIOLE_ORACLE_RECORDED, a folder with ptxas, nvdisasm and cuobjdump"]
fn blackwell_on_their_code() {
    // ptxas has instructions for asynchronous stores that the table does not have, and leaves some stores out.
    let wrong =
        on_their_code(&recorded_tools(), "blackwell", &LEVELS, &["stores_beside", "accesses_of_lines"], &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same for the forms that PTX 9.1 to 9.5 added, which only a newer reference reads. Its code without optimization waits
/// for nothing.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn newest_on_their_code() {
    let wrong = on_their_code(&tools(), "newest", &["-O3"], &[], &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The mistakes when ptxas's code of a folder is read and run, but for some launches.
fn on_their_code(
    tools: &Path,
    name: &str,
    levels: &[&str],
    left_out: &[&str],
    options: &[&str],
) -> Vec<String> {
    let folder = scratch();
    let kernels = data(name);
    let mut wrong = Vec::new();
    for level in levels {
        for input in files(&kernels, "ptx") {
            let name = input.file_stem().expect("a file name").to_string_lossy().into_owned();
            let cubin = folder.path().join(format!("{name}.cubin"));
            let source = std::fs::read_to_string(&input).expect("a kernel");
            let target = source.lines().find_map(|line| line.strip_prefix(".target ")).expect("a target");
            let chip = format!("-arch={target}");
            ask(tools, "ptxas", &[&chip, level, &text(&input), "-o", &text(&cubin)]);
            let lint = oriole(&["lint", &text(&cubin)]);
            if lint.status != Some(0) {
                wrong.push(format!("{level} lint {name}: {}{}", lint.out, lint.err));
            }
        }
        for launch in files(&kernels, "json") {
            if left_out.iter().any(|name| launch.file_stem().is_some_and(|stem| stem == *name)) {
                continue;
            }
            let [launch, cubins] = [&launch, folder.path()].map(text);
            let mut arguments = vec!["run", &launch, "--on", "sim", "--cubins", &cubins];
            arguments.extend(options);
            let run = oriole(&arguments);
            if run.status != Some(0) {
                wrong.push(format!("{level} {options:?} {launch}: {}{}", run.out, run.err));
            }
        }
    }
    wrong
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn their_cubins_round_trip_run_and_have_no_hazard() {
    let tools = recorded_tools();
    let folder = scratch();
    let cubins = folder.path().join("cubins");
    std::fs::create_dir(&cubins).expect("a folder");
    let kernels = data("kernels");
    let (mut words, mut wrong) = (0, Vec::new());
    for input in files(&kernels, "ptx") {
        let name = input.file_stem().expect("a file name").to_string_lossy().into_owned();
        let cubin = cubins.join(format!("{name}.cubin"));
        let source = std::fs::read_to_string(&input).expect("a kernel");
        let chip = if source.contains(".target sm_90a") { "-arch=sm_90a" } else { "-arch=sm_90" };
        ask(&tools, "ptxas", &[chip, &text(&input), "-o", &text(&cubin)]);
        if name == "fragments" {
            say("SKIPPED the words of fragments: bit 125 of sparse four-bit products has no known name");
            continue;
        }
        let (count, failures) = round_trip(&cubin, folder.path());
        words += count;
        let bytes = std::fs::read(&cubin).expect("a cubin");
        if replaced_by_itself(&bytes) != Ok(bytes) {
            wrong.push(format!("{name}: its own code in the place of its code makes another file"));
        }
        wrong.extend(failures.iter().map(|failure| format!("{name}: {failure}")));
        assert!(!read_cubin(&cubin).kernels.is_empty(), "{name}");
        let lint = oriole(&["lint", &text(&cubin)]);
        if lint.status != Some(0) {
            wrong.push(format!("lint {name}: {}{}", lint.out, lint.err));
        }
    }
    // Saturating `vshl` with `min`: the reference extends the sign of an unsigned value before it compares, PTX does not.
    // Generic vector atomics: the reference asks `QSPC.D`, whose meaning is not known; the simulator refuses it.
    // Carries of 16 bits, limits near the end of the range, directed rounding of bf16, subnormal numbers to halves, parts
    // of words: the reference's code is wrong (docs/ptxas-differences.md).
    // Exchanges under opposite guards: the reference's code waits forever. Exchanges of two masks at once: it takes both as one.
    // Gradients of volumes and cubes: the reference calls functions of the driver, which no file holds.
    let differs = [
        "rows_shifts",
        "rows_atomics_fetch",
        "rows_atomics_reduce",
        "carries_of_16_bits",
        "loops_open",
        "rounded_bf16",
        "singles_between_floats",
        "video_parts",
        "sparse_nibbles",
        "out_of_bounds_rounded",
        "texture_gradients",
        "texture_gradients_apart",
        "meetings_of_guards",
        "meetings_of_halves",
    ];
    let mut launches = 0;
    for launch in files(&kernels, "json") {
        let name = launch.file_stem().expect("a file name").to_string_lossy().into_owned();
        if differs.contains(&name.as_str()) {
            say(&format!("SKIPPED {name}: see the list in this test"));
            continue;
        }
        let run = oriole(&["run", &text(&launch), "--on", "sim", "--cubins", &text(&cubins)]);
        if run.status != Some(0) {
            wrong.push(format!("{}: {}", launch.display(), run.out));
        }
        launches += 1;
    }
    say(&format!(
        "{words} words of their cubins by way of text, {launches} launches of them, {} wrong",
        wrong.len()
    ));
    assert!(words > 10_000);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two kernels with places in two files: some inlined, in two depths, some in a function that is called.
pub const PLACES: &str = "\
.version 8.0
.target sm_75
.address_size 64
.file 1 \"/src/a.cu\", 1700000000, 123
.file 2 \"/src/lib/b.h\"
.func (.param .b32 r) square(.param .b32 x)
{
    .reg .b32 %r<4>;
    .loc 1 50 0
    ld.param.b32 %r1, [x];
    add.s32 %r1, %r1, 5;
    .loc 1 51 3
    mul.lo.s32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry first(.param .u64 p, .param .u32 n)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<9>;
    .reg .pred %p<2>;
    .loc 1 10 5
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    cvta.to.global.u64 %rd2, %rd1;
    .loc 1 11 7
    mov.u32 %r2, %tid.x;
    add.u32 %r3, %r2, %r1;
    .loc 1 12 9
    .loc 2 33 3, function_name $L_outer, inlined_at 1 12 9
    .loc 2 44 4, function_name $L_inner, inlined_at 2 33 3
    mul.lo.u32 %r4, %r3, %r1;
    .loc 2 35 3, function_name $L_outer, inlined_at 1 12 9
    xor.b32 %r4, %r4, %r3;
    .loc 1 13 1
    setp.gt.u32 %p1, %r4, 77;
    @%p1 bra DONE;
    .loc 2 36 3, function_name $L_outer, inlined_at 1 12 9
    st.global.u32 [%rd2], %r4;
DONE:
    .loc 1 15 1
    st.global.u32 [%rd2+4], %r3;
    ret;
}
.visible .entry second(.param .u64 p)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .loc 1 61 0
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    .loc 1 66 9
    .loc 2 44 4, function_name $L_inner, inlined_at 1 66 9
    ld.global.u32 %r1, [%rd2];
    .loc 1 67 1
    { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), square, (a);
    ld.param.b32 %r2, [b]; }
    .loc 1 68 1
    st.global.u32 [%rd2], %r2;
    ret;
}
.section .debug_str
{
$L_outer:
.b8 111, 117, 116, 101, 114, 0
$L_inner:
.b8 105, 110, 110, 101, 114, 0
}
";

/// Kernels with loops, branches over and out of them, moves on edges, and an expansion of several blocks; and functions that
/// keep registers and read values that a whole function shares. No instruction is without code in either compiler.
pub const WALKS: &str = "\
.version 8.0
.target sm_75
.address_size 64
.file 1 \"/src/walks.cu\"
.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<4>;
    .loc 1 41 3
    ld.param.b32 %r1, [x];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
.func (.param .b32 r) kept(.param .b32 x)
{
    .shared .b32 last[32];
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    .loc 1 50 0
    ld.param.b32 %r1, [x];
    .loc 1 51 3
    { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), twice, (a);
    ld.param.b32 %r2, [b]; }
    .loc 1 52 3
    mov.u64 %rd1, last;
    cvta.shared.u64 %rd2, %rd1;
    .loc 1 53 3
    st.b32 [%rd2], %r2;
    add.s32 %r3, %r2, %r1;
    st.param.b32 [r], %r3;
    ret;
}
.visible .entry walk(.param .u64 p, .param .u32 n)
{
    .reg .b64 %rd<8>;
    .reg .b32 %r<12>;
    .reg .pred %p<8>;
    .loc 1 10 0
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    .loc 1 11 3
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
    mov.u32 %r4, 1;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    .loc 1 12 5
    setp.eq.u32 %p2, %r1, 7;
    @%p2 bra SEVEN;
LOOP:
    .loc 1 13 7
    add.u32 %r5, %r3, %r4;
    mov.u32 %r3, %r4;
    mov.u32 %r4, %r5;
    .loc 1 14 9
    setp.gt.u32 %p3, %r5, 100;
    @%p3 bra SKIP;
    .loc 1 15 11
    xor.b32 %r4, %r5, %r2;
SKIP:
    .loc 1 16 7
    add.u32 %r2, %r2, 32;
    .loc 1 12 5
    setp.lt.u32 %p4, %r2, %r1;
    @%p4 bra LOOP;
    .loc 1 17 5
    bra.uni DONE;
SEVEN:
    .loc 1 18 5
    add.u32 %r3, %r2, %r1;
    .loc 1 19 5
    setp.eq.u32 %p5, %r3, 9;
    @%p5 bra OUT;
    .loc 1 20 5
    st.global.u32 [%rd1+4], %r3;
DONE:
    .loc 1 21 3
    st.global.u32 [%rd1], %r3;
    .loc 1 22 3
    { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r3;
    call.uni (b), kept, (a);
    ld.param.b32 %r6, [b]; }
    .loc 1 23 3
    st.global.u32 [%rd1+8], %r6;
OUT:
    .loc 1 24 1
    ret;
}
.visible .entry rows(.param .u64 p, .param .u32 n)
{
    .reg .b64 %rd<8>;
    .reg .b32 %r<12>;
    .reg .pred %p<8>;
    .loc 1 60 0
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    .loc 1 61 3
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
WHILE:
    .loc 1 62 3
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra END;
    .loc 1 63 5
    div.u32 %r4, %r1, %r2;
    .loc 1 64 5
    setp.lt.u32 %p2, %r4, 5;
    @%p2 bra LESS;
    .loc 1 65 7
    add.u32 %r3, %r3, %r4;
    bra.uni NEXT;
LESS:
    .loc 1 66 7
    sub.u32 %r3, %r3, %r4;
NEXT:
    .loc 1 67 5
    add.u32 %r2, %r2, 32;
    bra.uni WHILE;
END:
    .loc 1 68 3
    st.global.u32 [%rd1], %r3;
    ret;
}
";

/// Both as one module, which a disassembler reads at once.
fn places_and_walks() -> String {
    let (_, walks) = WALKS.split_once(".file 1 ").expect("a file");
    let walks = format!(".file 3 {}", walks.replace(".loc 1 ", ".loc 3 "));
    let code = PLACES.find(".func").expect("a function");
    [&PLACES[..code], &walks, &PLACES[code..]].concat()
}

/// The places that a disassembler writes between instructions, by kernel.
pub fn places(listing: &str) -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kernel = String::new();
    for line in listing.lines() {
        if let Some(name) = line.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':')) {
            kernel = name.to_owned();
        }
        if let Some(place) = line.trim().strip_prefix("//## ") {
            places.entry(kernel.clone()).or_default().push(place.to_owned());
        }
    }
    places
}

/// Whatever reads the tables of the reference reads ours, and at level 0, where code stands in the order of the source, both
/// say the same.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn line_tables_are_read_alike() {
    let tools = tools();
    let folder = scratch();
    let source = folder.path().join("source.ptx");
    let [ours, theirs] = ["ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, places_and_walks()).expect("a temporary file");
    let chips = ["sm_75", "sm_120", "sm_80", "sm_90", "sm_100"];
    for chip in &chips[..if is_thorough() { 5 } else { 2 }] {
        compile(&source, &ours, &["-O0", "--arch", chip]).expect("it compiles");
        ask(&tools, "ptxas", &["-O0", "-arch", chip, &text(&source), "-o", &text(&theirs)]);
        for option in ["-g", "-gi"] {
            let [ours, theirs] =
                [&ours, &theirs].map(|cubin| places(&ask(&tools, "nvdisasm", &[option, "-c", &text(cubin)])));
            assert_eq!(ours.len(), 4, "{chip} {option}");
            assert_eq!(ours, theirs, "{chip} {option}");
        }
        // Of the PTX they name the lines of instructions that take no code here, and of the opening braces, too.
        let lines = |cubin: &Path| places(&ask(&tools, "nvdisasm", &["-gp", "-c", &text(cubin)]));
        let theirs_of_ptx = lines(&theirs);
        for (kernel, places) in lines(&ours) {
            let others: Vec<&String> =
                places.iter().filter(|place| !theirs_of_ptx[&kernel].contains(place)).collect();
            assert_eq!((others, places.len() > 5), (vec![], true), "{chip} {kernel}");
        }
        assert!(!ask(&tools, "nvdisasm", &["-plr", "-hex", "-c", &text(&ours)]).is_empty());
        assert!(ask(&tools, "cuobjdump", &["-elf", &text(&ours)]).contains(".nv_debug_ptx_txt"));
    }
}
