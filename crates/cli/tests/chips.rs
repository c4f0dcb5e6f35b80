//! The other chips: what programs, vectors and the project's own kernels compute there on the simulator, at both ends of the
//! levels and in between. The texts name sm_90; their target is rewritten. Forms that the language has for later chips only are
//! refused, and their number is counted.

use crate::conformance::answers_of;
use crate::judge::{Vector, vectors};
use crate::support::{data, files, is_thorough, oriole, read_cubin, say, scratch, text};
use serde_json::{Value, json};
use std::path::Path;

const CHIPS: [&str; 13] = [
    "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_100", "sm_103", "sm_110",
    "sm_120", "sm_121",
];
/// Launches of the project's own kernels whose file has something that only later chips have.
const KERNELS_REFUSED: [usize; 13] = [205, 205, 195, 162, 162, 162, 162, 160, 14, 14, 14, 14, 14];
/// The same of programs.
const PROGRAMS_REFUSED: [usize; 13] = [12, 12, 12, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0];
/// The same of vectors, by chip.
const VECTORS_REFUSED: [(&str, usize); 13] = [
    ("sm_70", 272),
    ("sm_72", 270),
    ("sm_75", 266),
    ("sm_80", 215),
    ("sm_86", 192),
    ("sm_87", 192),
    ("sm_88", 192),
    ("sm_89", 182),
    ("sm_100", 0),
    ("sm_103", 0),
    ("sm_110", 0),
    ("sm_120", 0),
    ("sm_121", 0),
];
/// Kernels whose records have products of 8-bit values as sm_90 computes them, in halves; and the chips that compute
/// them whole. sm_89 has none of these kernels.
const OF_HALVES: [&str; 2] = ["mma_rounding", "sparse_rounding"];
const WHOLE_PRODUCTS: [&str; 2] = ["sm_120", "sm_121"];
const LEVELS: [&str; 3] = ["-O0", "-O3", "-O4"];
/// The chips whose code is also run without optimization: the oldest of those that often get the same code, and those whose
/// forms are not the same as those of the chip before.
const UNOPTIMIZED: [&str; 6] = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_100", "sm_120"];

/// The chips whose code is also searched for, one of each that are alike: a search compiles a kernel fifteen times.
const SEARCHED: [&str; 4] = ["sm_120", "sm_75", "sm_86", "sm_103"];

/// A plain run has less: the first chip of those that often get the same code, and of the kinds whose unoptimized code
/// differs most. Of many records, each has half of these chips by turns.
const PLAIN: [&str; 4] = ["sm_70", "sm_80", "sm_100", "sm_120"];
const PLAIN_UNOPTIMIZED: [&str; 2] = ["sm_75", "sm_100"];

/// Whether a chip's code is run at a level, of the record `at` where each `turns`-th record has its turn in a plain run.
fn is_run(chip: &str, level: &str, at: usize, turns: usize) -> bool {
    if is_thorough() {
        return match level {
            "-O0" => UNOPTIMIZED.contains(&chip),
            "-O4" => SEARCHED.contains(&chip),
            _ => true,
        };
    }
    let chips = match level {
        "-O0" => &PLAIN_UNOPTIMIZED[..],
        "-O3" => &PLAIN[..],
        _ => &[],
    };
    chips.iter().position(|plain| *plain == chip).is_some_and(|chip| (chip + at).is_multiple_of(turns))
}

/// The text for another chip.
fn retargeted(ptx: &str, chip: &str) -> String {
    let own = format!(".target {chip}\n");
    let ptx = ["sm_80", "sm_90", "sm_90a"]
        .iter()
        .fold(ptx.to_owned(), |ptx, named| ptx.replace(&format!(".target {named}\n"), &own));
    let ptx = ["sm_75", "sm_90"]
        .iter()
        .fold(ptx, |ptx, named| ptx.replace(&format!(".target {named},"), &format!(".target {chip},")));
    let versions = ptx.split_inclusive('\n').map(|line| match line.strip_prefix(".version ") {
        Some(_) if chip.starts_with("sm_1") => ".version 9.0\n",
        _ => line,
    });
    versions.collect()
}

/// Runs launch records on the simulator; the wrong lines, and how many were refused as the language wants it.
fn run(launches: &Path, chip: &str, level: &str, count: usize) -> (Vec<String>, usize) {
    let launches = text(launches);
    let run = oriole(&["run", &launches, "--on", "sim", "--arch", chip, level]);
    assert!(matches!(run.status, Some(0 | 1)), "{chip} {level}: {:?} {}", run.status, run.err);
    assert_eq!(run.out.lines().count(), count, "{chip} {level}: a line for each launch");
    let (refused, rest): (Vec<&str>, Vec<&str>) =
        run.out.lines().partition(|line| line.contains("error[target::needs-chip]"));
    let wrong: Vec<String> = rest
        .iter()
        .filter(|line| !line.ends_with(": right"))
        .map(|line| format!("{chip} {level} {line}"))
        .collect();
    let seconds = run.took.as_secs_f64();
    let right = rest.len() - wrong.len();
    say(&format!("{chip} {level}: {right} right, {} refused, {seconds:.1} s", refused.len()));
    (wrong, refused.len())
}

/// Chips that often get the same code; a run for all of them simulates once what is the same.
const ALIKE: [std::ops::Range<usize>; 4] = [0..3, 3..8, 8..11, 11..13];

/// The records that a chip runs at a level. Those of one text are due together: it is compiled once.
fn due<'a>(records: &'a [Value], chip: &str, level: &str, turns: usize) -> Vec<&'a Value> {
    let mut texts: Vec<&Value> = Vec::new();
    let mut due = Vec::new();
    for record in records {
        let text = record.get("ptx").unwrap_or(&record["ptx_text"]);
        let at = texts.iter().position(|known| *known == text).unwrap_or(texts.len());
        if at == texts.len() {
            texts.push(text);
        }
        if is_run(chip, level, at, turns) {
            due.push(record);
        }
    }
    due
}

/// Runs the records of every chip, of which each has a text for that chip; what is wrong. A plain run has those whose turn it is.
fn everywhere(refused: [usize; CHIPS.len()], turns: usize, records: impl Fn(&str) -> Vec<Value>) {
    let folder = scratch();
    let launches = folder.path().join("launches.jsonl");
    let mut wrong = Vec::new();
    for chips in ALIKE {
        let own: Vec<(usize, Vec<Value>)> = chips
            .clone()
            .map(|at| {
                let mut own = records(CHIPS[at]);
                for record in &mut own {
                    let name = record["name"].as_str().expect("a record has a name");
                    record["name"] = format!("{} {name}", CHIPS[at]).into();
                }
                (at, own)
            })
            .collect();
        for level in LEVELS {
            let of_level = |(chip, records): &(usize, Vec<Value>)| {
                let own = due(records, CHIPS[*chip], level, turns);
                let is_all = own.len() == records.len();
                let own: Vec<String> = own.iter().map(|record| format!("{record}\n")).collect();
                (*chip, own, is_all)
            };
            let own: Vec<_> = own.iter().map(of_level).filter(|(_, own, _)| !own.is_empty()).collect();
            if own.is_empty() {
                continue;
            }
            let lines = own.iter().flat_map(|(_, own, _)| own).map(String::as_str);
            std::fs::write(&launches, lines.collect::<String>()).expect("a temporary file");
            let run = oriole(&["run", &text(&launches), "--on", "sim", level]);
            assert!(matches!(run.status, Some(0 | 1)), "{chips:?} {level}: {:?} {}", run.status, run.err);
            let mut answers = run.out.lines();
            for &(at, ref own, is_all) in &own {
                let count = own.len();
                let own: Vec<&str> = answers.by_ref().take(count).collect();
                let chip = CHIPS[at];
                assert!(
                    own.len() == count && own.iter().all(|line| line.starts_with(&format!("{chip} "))),
                    "{chip} {level}: a line for each launch"
                );
                let (refusals, rest): (Vec<&str>, Vec<&str>) =
                    own.into_iter().partition(|line| line.contains("error[target::needs-chip]"));
                wrong.extend(
                    rest.into_iter()
                        .filter(|line| !line.ends_with(": right"))
                        .map(|line| format!("{level} {line}")),
                );
                if refusals.len() > refused[at] || is_all && refusals.len() != refused[at] {
                    wrong.push(format!(
                        "{chip} {level}: {} are refused, not {}",
                        refusals.len(),
                        refused[at]
                    ));
                }
            }
            assert_eq!(answers.next(), None, "{chips:?} {level}: a line for each launch");
            let right = run.out.lines().filter(|line| line.ends_with(": right")).count();
            say(&format!(
                "{:?} {level}: {right} right, {:.1} s",
                &CHIPS[chips.clone()],
                run.took.as_secs_f64()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text for a chip, which it names.
fn for_chip(ptx: &str, chip: &str) -> String {
    let own = retargeted(ptx, chip);
    let named = [format!(".target {chip}\n"), format!(".target {chip},")];
    assert!(named.iter().any(|target| own.contains(target)), "{chip}: {own}");
    own
}

#[test]
fn programs_on_other_chips() {
    let programs = std::fs::read_to_string(data("conformance").join("programs.jsonl")).expect("the programs");
    everywhere(PROGRAMS_REFUSED, 1, |chip| {
        let records: Vec<Value> = programs
            .lines()
            .map(|line| {
                let mut record: Value = serde_json::from_str(line).expect("a launch record");
                record["ptx_text"] = for_chip(record["ptx_text"].as_str().expect("a text"), chip).into();
                record
            })
            .collect();
        assert_eq!(records.len(), 105);
        records
    });
}

#[test]
fn own_kernels_on_other_chips() {
    let folder = scratch();
    let kernels = data("kernels").canonicalize().expect("the kernels are there");
    let paths = files(&kernels, "json");
    everywhere(KERNELS_REFUSED, 2, |chip| {
        let otherwise = |path: &Path| {
            WHOLE_PRODUCTS.contains(&chip)
                && OF_HALVES.iter().any(|name| path.file_stem().is_some_and(|stem| stem == *name))
        };
        let record = |path: &Path| {
            let record = std::fs::read_to_string(path).expect("a launch record");
            let mut record: Value = serde_json::from_str(&record).expect("a launch record");
            let name = record["ptx"].as_str().expect("a launch record names its kernel file").to_owned();
            let ptx = std::fs::read_to_string(kernels.join(&name)).expect("the kernel file");
            let own = folder.path().join(format!("{chip}-{name}"));
            std::fs::write(&own, for_chip(&ptx, chip)).expect("a temporary file");
            record["ptx"] = text(&own).into();
            record
        };
        paths.iter().filter(|path| !otherwise(path)).map(|path| record(path)).collect()
    });
}

#[test]
fn vectors_on_other_chips() {
    let vectors = vectors();
    let folder = scratch();
    let launches = folder.path().join("launches.jsonl");
    let mut wrong = Vec::new();
    for chips in ALIKE {
        for level in LEVELS {
            let of_chip = |chip| {
                let own = vectors.iter().enumerate().filter(|(at, _)| is_run(chip, level, *at, 2));
                own.map(|(_, vector)| vector).collect::<Vec<&Vector>>()
            };
            let chips = &VECTORS_REFUSED[chips.clone()];
            let rounds: Vec<Vec<&Vector>> = chips.iter().map(|(chip, _)| of_chip(*chip)).collect();
            if rounds.iter().all(Vec::is_empty) {
                continue;
            }
            let lines: String = chips
                .iter()
                .zip(&rounds)
                .flat_map(|((chip, _), round)| {
                    round.iter().map(move |vector| {
                        let mut launch = vector.launch();
                        let ptx = launch["ptx_text"].as_str().expect("a launch has a kernel").to_owned();
                        launch["ptx_text"] = for_chip(&ptx, chip).into();
                        format!("{launch}\n")
                    })
                })
                .collect();
            std::fs::write(&launches, lines).expect("a temporary file");
            let complaints = answers_of(&rounds, &launches, &["--on", "sim", level]);
            for (((chip, refused), round), complaints) in chips.iter().zip(&rounds).zip(complaints) {
                let (kept, other): (Vec<String>, Vec<String>) =
                    complaints.into_iter().partition(|line| line.contains("target::needs-chip"));
                let is_all = round.len() == vectors.len();
                if kept.len() > *refused || is_all && kept.len() != *refused {
                    wrong.push(format!("{chip} {level}: {} are refused, not {refused}", kept.len()));
                }
                wrong.extend(other.into_iter().map(|line| format!("{chip} {line}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function of the driver, which takes its return address as an argument.
const EXTERNAL: &str = ".version 7.8
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %d1, [p];
  {
    .param .b64 a;
    .param .b64 b;
    .param .b32 r;
    st.param.b64 [a], %d1;
    st.param.b64 [b], %d1;
    call (r), vprintf, (a, b);
    ld.param.b32 %r1, [r];
  }
  ret;
}
";

/// Differences of bits are counted by one product on the chips that have it: sm_75 has nothing else.
#[test]
fn differences_of_bits() {
    let folder = scratch();
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    for (chip, products) in [("sm_75", [1, 0]), ("sm_80", [1, 0]), ("sm_89", [1, 0]), ("sm_90", [0, 2])] {
        let module = format!(
            ".version 7.8\n.target {chip}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b64 %d; .reg .b32 %r<4>; ld.param.u64 %d, [p]; ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%d];\n\
             mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {{%r0, %r1}}, {{%r2}}, {{%r3}}, {{%r0, %r1}};\n\
             st.global.v2.b32 [%d], {{%r0, %r1}}; ret; }}\n"
        );
        std::fs::write(&source, module).expect("a temporary file");
        let run = oriole(&["compile", &text(&source), "-o", &text(&cubin)]);
        assert_eq!(run.status, Some(0), "{chip}: {}", run.err);
        let code = oriole(&["dis", &text(&cubin)]).out;
        let found = ["BMMA.88128.XOR.POPC", "BMMA.88128.AND.POPC"].map(|name| code.matches(name).count());
        assert_eq!(found, products, "{chip}:\n{code}");
    }
}

/// Where a chip cannot name a place in the code, the distance from `LEPC` to the end of the call is added to its own address.
#[test]
fn external_calls_are_told_where_to_return() {
    let folder = scratch();
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, EXTERNAL).expect("a temporary file");
    for chip in ["sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89"] {
        for level in ["-O0", "-O3"] {
            let run = oriole(&["compile", &text(&source), "--arch", chip, level, "-o", &text(&cubin)]);
            assert_eq!(run.status, Some(0), "{chip}: {}", run.err);
            let code = oriole(&["dis", &text(&cubin)]).out;
            let place = |what: &str| {
                let line = code.lines().find(|line| line.contains(what)).expect(what);
                let number =
                    line.split("/*").nth(1).and_then(|rest| rest.split("*/").next()).expect("an offset");
                i64::from_str_radix(number, 16).expect("an offset")
            };
            let add = code.lines().find(|line| line.contains("IADD3 R20, P0")).expect("the lower sum");
            let distance = place("CALL.ABS.NOINC R2") + 16 - place("LEPC R20");
            assert!(
                add.contains(&format!("R20, {distance:#x}, RZ")),
                "{chip} {level}: {distance:#x}\n{code}"
            );
            assert!(code.contains("IADD3.X R21, R21, RZ, RZ, P0, !PT"), "{chip} {level}:\n{code}");
        }
    }
}

/// A parameter with a large alignment has it in the constant bank of the chip that is compiled for, whatever the module names.
#[test]
fn parameters_are_aligned_for_the_chip_that_runs_them() {
    let module = ".version 7.8\n.target sm_70\n.address_size 64\n\
        .visible .entry k(.param .u64 p, .param .align 64 .b8 map[128])\n\
        { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p]; ld.param.u32 %r, [map];\n\
        st.global.u32 [%d], %r; ret; }\n";
    let folder = scratch();
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, module).expect("a temporary file");
    let places = [("sm_70", 0x180), ("sm_80", 0x180), ("sm_90", 0x240), ("sm_100", 0x3c0), ("sm_120", 0x3c0)];
    for (chip, place) in places {
        for level in LEVELS {
            let run = oriole(&["compile", &text(&source), "--arch", chip, level, "-o", &text(&cubin)]);
            assert_eq!(run.status, Some(0), "{chip}: {}", run.err);
            let code = oriole(&["dis", &text(&cubin)]).out;
            assert!(code.contains(&format!("c[0x0][{place:#x}]")), "{chip} {level}: {place:#x}\n{code}");
            let kernel = &read_cubin(&cubin).kernels[0];
            assert_eq!(kernel.parameter_base + kernel.parameters[1].offset, place, "{chip} {level}");
        }
    }
}

/// A kernel with this many parameters of 8 bytes after the first, each its own number: it reads the last one by name and
/// through its generic address, and asks of three addresses whether they are of parameters: the last one's, the end of the
/// last one, and one in global memory.
fn many_parameters(chip: &str, count: usize) -> Value {
    let declared: String = (1..=count).map(|number| format!(", .param .u64 p{number}")).collect();
    let ptx = format!(
        ".version 8.1
.target {chip}
.address_size 64
.visible .entry k(.param .u64 out{declared})
{{
  .reg .pred %p<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  mov.b64 %rd2, p{count};
  cvta.param.u64 %rd3, %rd2;
  ld.u32 %r1, [%rd3];
  ld.param.u32 %r2, [p{count}];
  isspacep.param %p1, %rd3;
  isspacep.param %p2, %rd1;
  add.u64 %rd4, %rd3, 7;
  isspacep.param %p3, %rd4;
  selp.u32 %r3, 1, 0, %p1;
  @%p2 add.u32 %r3, %r3, 2;
  @%p3 add.u32 %r3, %r3, 4;
  cvta.to.param.u64 %rd5, %rd4;
  sub.u64 %rd5, %rd5, %rd2;
  cvt.u32.u64 %r4, %rd5;
  st.global.v4.u32 [%rd1], {{%r1, %r2, %r3, %r4}};
  ret;
}}
"
    );
    let mut arguments = vec![json!({"buffer": {"len": 16}})];
    arguments.extend((1..=count).map(|number| json!({"scalar": {"type": "u64", "value": number}})));
    let words = [count as u32, count as u32, 5, 7].map(|word| format!("{:08x}", word.swap_bytes()));
    json!({"name": format!("{chip} {count}"), "ptx_text": ptx, "entry": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
        "args": arguments, "expect": {"0": {"bytes_hex": words.concat()}}})
}

/// Beyond 4,352 bytes parameters are at another place of the constant bank on some chips, and addresses of parameters
/// begin at the bank's start there.
#[test]
fn addresses_of_few_and_of_many_parameters() {
    let folder = scratch();
    let launches = folder.path().join("launches.jsonl");
    for (chip, starts) in [("sm_80", [0x160, 0x1a80]), ("sm_89", [0x160, 0x1a80]), ("sm_90", [0x210, 0x210])]
    {
        for (count, start) in [(543, starts[0]), (544, starts[1]), (4094, starts[1])] {
            let record = many_parameters(chip, count);
            std::fs::write(&launches, format!("{record}\n")).expect("a temporary file");
            for level in LEVELS {
                assert_eq!(run(&launches, chip, level, 1), (Vec::new(), 0), "{chip} {level} {count}");
            }
            let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
            std::fs::write(&source, record["ptx_text"].as_str().expect("a text")).expect("a temporary file");
            let compiled = oriole(&["compile", &text(&source), "-o", &text(&cubin)]);
            assert_eq!(compiled.status, Some(0), "{}", compiled.err);
            // The upper half of the bank is written with negative offsets.
            let last = match start + 8 * count {
                place if place > 0x7fff => format!("c[0x0][-{:#x}]", 0x10000 - place),
                place => format!("c[0x0][{place:#x}]"),
            };
            let listing = oriole(&["dis", &text(&cubin)]).out;
            assert!(listing.contains(&last), "{chip} {count}: {last} is not in\n{listing}");
        }
    }
}

/// Tiles of 16x16 halves and bytes, whose products some chips have only in parts.
const TILES: &str = "
.visible .entry k(.param .u64 p, .param .u64 q)
{
  .reg .b64 %rd<5>;
  .reg .b32 %a<8>, %b<8>, %i<16>;
  .reg .f32 %c<16>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [q];
  wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%rd1];
  wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%rd1+512];
  wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7}, [%rd2];
  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%c8,%c9,%c10,%c11,%c12,%c13,%c14,%c15},
    {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7};
  wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%c8,%c9,%c10,%c11,%c12,%c13,%c14,%c15};
  wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%a0,%a1}, [%rd1+1024];
  wmma.load.b.sync.aligned.col.m16n16k16.global.s8 {%b0,%b1}, [%rd1+1280];
  wmma.load.c.sync.aligned.row.m16n16k16.global.s32 {%i0,%i1,%i2,%i3,%i4,%i5,%i6,%i7}, [%rd2+1024];
  wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%i8,%i9,%i10,%i11,%i12,%i13,%i14,%i15},
    {%a0,%a1}, {%b0,%b1}, {%i0,%i1,%i2,%i3,%i4,%i5,%i6,%i7};
  wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%rd2+1024], {%i8,%i9,%i10,%i11,%i12,%i13,%i14,%i15};
  ret;
}
";

/// A small whole number as a half.
fn half(value: i32) -> [u8; 2] {
    let bits = (value as f32).to_bits();
    let exponent = if value == 0 { 0 } else { ((bits >> 23 & 0xff) - 112) << 10 };
    ((bits >> 16 & 0x8000 | exponent | bits >> 13 & 0x3ff) as u16).to_le_bytes()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of the factors, of the addend, and of the sums: halves and bytes that hold small whole numbers.
fn tiles() -> [String; 3] {
    let (a, b) =
        (|row: i32, k: i32| (row * 7 + k * 3) % 23 - 11, |column: i32, k: i32| (column * 5 + k) % 17 - 8);
    let places = || (0..256).map(|at| (at / 16, at % 16));
    let mut factors: Vec<u8> = places().flat_map(|(row, k)| half(a(row, k))).collect();
    factors.extend(places().flat_map(|(column, k)| half(b(column, k))));
    factors.extend(places().map(|(row, k)| a(row, k) as u8));
    factors.extend(places().map(|(column, k)| b(column, k) as u8));
    let sum = |row, column| (0..16).map(|k| a(row, k) * b(column, k)).sum::<i32>();
    let words = |with: i32| -> Vec<u8> {
        let values = || places().map(move |(row, column)| row - 2 * column + with * sum(row, column));
        let floats = values().flat_map(|value| (value as f32).to_le_bytes());
        floats.chain(values().flat_map(|value| value.to_le_bytes())).collect()
    };
    [factors, words(0), words(1)].map(|bytes| hexadecimal(&bytes))
}

/// Hexadecimal digits of 256 f32 values.
const WORDS_OF_SINGLES: usize = 256 * 4 * 2;

#[test]
fn tiles_of_matrices_on_every_chip() {
    let folder = scratch();
    let launches = folder.path().join("launches.jsonl");
    let [factors, added, sums] = tiles();
    for chip in CHIPS {
        let (start, end) =
            (TILES.find("  wmma.load.a.sync.aligned.row.m16n16k16.global.s8"), TILES.find("  ret;"));
        let without_bytes =
            start.zip(end).map(|(start, end)| TILES[..start].to_owned() + &TILES[end..]).expect("both parts");
        // The first of them multiplies halves only.
        let [tiles, sums] = if chip == "sm_70" {
            [without_bytes, sums[..WORDS_OF_SINGLES].to_owned() + &added[WORDS_OF_SINGLES..]]
        } else {
            [TILES.to_owned(), sums.clone()]
        };
        let ptx = format!(".version 7.8\n.target {chip}\n.address_size 64\n{tiles}");
        let later = chip == "sm_88" || chip.starts_with("sm_1");
        let ptx = if later { ptx.replace("7.8", "9.0") } else { ptx };
        let arguments = [json!({"buffer": {"bytes_hex": factors}}), json!({"buffer": {"bytes_hex": added}})];
        let record = json!({"name": chip, "ptx_text": ptx, "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1],
            "args": arguments, "expect": {"1": {"bytes_hex": sums}}});
        std::fs::write(&launches, format!("{record}\n")).expect("a temporary file");
        for level in LEVELS {
            assert_eq!(run(&launches, chip, level, 1), (Vec::new(), 0), "{chip} {level}");
        }
    }
}

/// One product of a tile of halves: rows and columns of the sum; the orders of both factors, of the addend and of the
/// sum; the types of the last two.
struct Tile<'a> {
    rows: usize,
    columns: usize,
    orders: [&'a str; 4],
    types: [&'a str; 2],
}

impl Tile<'_> {
    fn ptx(&self, chip: &str) -> String {
        let Tile { rows, columns, orders: [a, b, c, d], types: [from, to] } = self;
        let shape = format!("m{rows}n{columns}k16");
        let registers = |ty: &str, name: &str| -> String {
            let count = if ty == "f16" { 4 } else { 8 };
            (0..count).map(|n| format!("%{name}{}{n}", &ty[1..])).collect::<Vec<_>>().join(",")
        };
        let factor = |name: &str| (0..8).map(|n| format!("%{name}{n}")).collect::<Vec<_>>().join(",");
        let (fa, fb, rc, rd) = (factor("a"), factor("b"), registers(from, "c"), registers(to, "d"));
        format!(
            ".version 7.8\n.target {chip}\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 r, \
             .param .u64 s)\n{{\n.reg .b64 %p<4>;\n.reg .b32 %a<8>, %b<8>, %c16<4>, %d16<4>;\n.reg .f32 %c32<8>, %d32<8>;\n\
             ld.param.u64 %p0, [p];\nld.param.u64 %p1, [q];\nld.param.u64 %p2, [r];\nld.param.u64 %p3, [s];\n\
             wmma.load.a.sync.aligned.{a}.{shape}.global.f16 {{{fa}}}, [%p0];\n\
             wmma.load.b.sync.aligned.{b}.{shape}.global.f16 {{{fb}}}, [%p1];\n\
             wmma.load.c.sync.aligned.{c}.{shape}.global.{from} {{{rc}}}, [%p2];\n\
             wmma.mma.sync.aligned.{a}.{b}.{shape}.{to}.{from} {{{rd}}}, {{{fa}}}, {{{fb}}}, {{{rc}}};\n\
             wmma.store.d.sync.aligned.{d}.{shape}.global.{to} [%p3], {{{rd}}};\nret;\n}}\n"
        )
    }

    fn record(&self, chip: &str) -> Value {
        let (rows, columns) = (self.rows, self.columns);
        let a = |row: usize, k: usize| ((row * 3 + k * 5 + row * k) % 7) as i32 - 3;
        let b = |k: usize, column: usize| ((k * 2 + column * 11 + k * column) % 5) as i32 - 2;
        let c = |row: usize, column: usize| (row as i32 - column as i32) * 3;
        let d = |row, column| c(row, column) + (0..16).map(|k| a(row, k) * b(k, column)).sum::<i32>();
        let matrix =
            |[rows, columns]: [usize; 2], order: &str, ty: &str, of: &dyn Fn(usize, usize) -> i32| {
                let by_rows = order == "row";
                let (lines, length) = if by_rows { (rows, columns) } else { (columns, rows) };
                let all = (0..lines).flat_map(|line| (0..length).map(move |at| (line, at)));
                let values = all.map(|(line, at)| if by_rows { of(line, at) } else { of(at, line) });
                let bytes: Vec<u8> = match ty {
                    "f16" => values.flat_map(half).collect(),
                    _ => values.flat_map(|value| (value as f32).to_le_bytes()).collect(),
                };
                hexadecimal(&bytes)
            };
        let [of_a, of_b, of_c, of_d] = self.orders;
        let [from, to] = self.types;
        let expected = matrix([rows, columns], of_d, to, &d);
        let buffers = [
            matrix([rows, 16], of_a, "f16", &a),
            matrix([16, columns], of_b, "f16", &b),
            matrix([rows, columns], of_c, from, &c),
        ];
        let mut arguments: Vec<Value> =
            buffers.iter().map(|bytes| json!({"buffer": {"bytes_hex": bytes}})).collect();
        arguments.push(json!({"buffer": {"len": expected.len() / 2}}));
        json!({"name": format!("{rows}x{columns} {:?} {:?}", self.orders, self.types), "ptx_text": self.ptx(chip),
            "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": arguments,
            "expect": {"3": {"bytes_hex": expected}}})
    }
}

/// Where the chip multiplies in steps, tiles are laid out otherwise, and each order of a matrix is loaded in its own way.
#[test]
fn tiles_of_halves_in_all_orders() {
    const ORDERS: [&str; 2] = ["row", "col"];
    let mut tiles = Vec::new();
    for [rows, columns] in [[16, 16], [32, 8], [8, 32]] {
        for bits in 0..8 {
            let [a, b, c] = [bits & 1, bits >> 1 & 1, bits >> 2 & 1].map(|bit| ORDERS[bit]);
            let d = ORDERS[(bits ^ bits >> 1) & 1];
            for types in [["f32", "f32"], ["f16", "f16"], ["f16", "f32"], ["f32", "f16"]] {
                tiles.push(Tile { rows, columns, orders: [a, b, c, d], types });
            }
        }
    }
    let folder = scratch();
    let launches = folder.path().join("launches.jsonl");
    for chip in ["sm_70", "sm_80"] {
        let lines: String = tiles.iter().map(|tile| format!("{}\n", tile.record(chip))).collect();
        std::fs::write(&launches, lines).expect("a temporary file");
        for level in LEVELS {
            assert_eq!(run(&launches, chip, level, tiles.len()), (Vec::new(), 0), "{chip} {level}");
        }
    }
}

/// A kernel with a barrier of the block that calls a function.
const MARKED: &str = ".version 7.0
.target sm_70
.address_size 64
.func (.reg .u32 r) f(.reg .u32 a) { mul.hi.u32 r, a, a; ret; }
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d<2>;
  .reg .b32 %r<4>;
  ld.param.u64 %d1, [p];
  ld.global.u32 %r1, [%d1];
  call (%r2), f, (%r1);
  bar.sync 0;
  max.s32 %r3, %r1, %r2;
  st.global.u32 [%d1], %r3;
  ret;
}
";

/// Instructions that the code of other compilers has on the oldest chips for no known reason: a shuffle at each entry, which the
/// container names, and an instruction without effect in front of each barrier. Nothing is on a uniform datapath, and
/// what these chips lack is made of other operations.
#[test]
fn entries_are_marked_and_barriers_wait_on_the_oldest_chips() {
    let folder = scratch();
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, MARKED).expect("a temporary file");
    for (chip, lacks) in [("sm_70", true), ("sm_72", false)] {
        for level in LEVELS {
            let run = oriole(&["compile", &text(&source), "--arch", chip, level, "-o", &text(&cubin)]);
            assert_eq!(run.status, Some(0), "{chip} {level}: {}", run.err);
            let listing = oriole(&["dis", &text(&cubin)]).out;
            let at = |part: &str| -> Vec<usize> {
                let code = listing.lines().filter(|line| line.contains("/*"));
                code.enumerate().filter(|(_, line)| line.contains(part)).map(|(index, _)| index).collect()
            };
            let marks = at("@!PT SHFL.IDX PT, RZ, RZ, RZ, RZ");
            let info = &read_cubin(&cubin).kernels[0].info;
            let told = info
                .iter()
                .find(|row| row.name() == Some("INT_WARP_WIDE_INSTR_OFFSETS"))
                .map(|row| row.to_words());
            assert!(marks.first() == Some(&1), "{chip} {level}: {marks:?}\n{listing}");
            let places: Vec<u32> = marks.iter().map(|&mark| 16 * mark as u32).collect();
            assert_eq!(told, Some(places), "{chip} {level}\n{listing}");
            let barriers = at("BAR.SYNC");
            assert!(
                !barriers.is_empty() && barriers.iter().all(|bar| at("NOP").contains(&(bar - 1))),
                "{listing}"
            );
            assert!(at("UR").is_empty() && at("ULDC").is_empty(), "{listing}");
            let [multiplies, chooses] = [at("IMAD.HI").is_empty(), at("IMNMX").is_empty()];
            assert_eq!([multiplies, chooses], [lacks; 2], "{chip} {level}\n{listing}");
        }
    }
}
