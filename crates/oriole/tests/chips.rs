//! The other chips: what programs, vectors and the project's own kernels compute there on the simulator, at both ends of
//! the levels. The texts name sm_90; their target is rewritten. What the language keeps for later chips is refused, and
//! how many that are is counted.

use crate::conformance::answers;
use crate::judge::vectors;
use crate::support::{data, files, oriole, say, scratch, text};
use serde_json::{Value, json};
use std::path::Path;

const CHIPS: [&str; 8] =
    ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_100", "sm_103"];
/// Launches of the project's own kernels whose file has something that only later chips have.
const KERNELS_REFUSED: [usize; 8] = [119, 91, 91, 91, 91, 89, 10, 10];
/// The same of programs.
const PROGRAMS_REFUSED: [usize; 8] = [12, 2, 2, 2, 2, 2, 0, 0];
/// The same of vectors, by chip.
const VECTORS_REFUSED: [(&str, usize); 8] = [
    ("sm_75", 266),
    ("sm_80", 215),
    ("sm_86", 192),
    ("sm_87", 192),
    ("sm_88", 192),
    ("sm_89", 182),
    ("sm_100", 0),
    ("sm_103", 0),
];
const LEVELS: [&str; 2] = ["-O0", "-O3"];

/// The text for another chip.
fn retargeted(ptx: &str, chip: &str) -> String {
    let own = format!(".target {chip}\n");
    let ptx = ["sm_80", "sm_90", "sm_90a"]
        .iter()
        .fold(ptx.to_owned(), |ptx, named| ptx.replace(&format!(".target {named}\n"), &own));
    let ptx = ptx.replace(".target sm_90,", &format!(".target {chip},"));
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

fn everywhere(count: usize, refused: [usize; CHIPS.len()], launches: impl Fn(&str) -> std::path::PathBuf) {
    let mut wrong = Vec::new();
    for (chip, refused) in CHIPS.into_iter().zip(refused) {
        let launches = launches(chip);
        for level in LEVELS {
            let (lines, refusals) = run(&launches, chip, level, count);
            wrong.extend(lines);
            if refusals != refused {
                wrong.push(format!("{chip} {level}: {refusals} are refused, not {refused}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_on_other_chips() {
    let folder = scratch();
    let programs = std::fs::read_to_string(data("conformance").join("programs.jsonl")).expect("the programs");
    everywhere(105, PROGRAMS_REFUSED, |chip| {
        let path = folder.path().join(format!("{chip}.jsonl"));
        let text = programs.replace(".target sm_90\\n", &format!(".target {chip}\\n"));
        std::fs::write(&path, text).expect("a temporary file");
        path
    });
}

#[test]
fn own_kernels_on_other_chips() {
    let folder = scratch();
    let kernels = data("kernels").canonicalize().expect("the kernels are there");
    let records = files(&kernels, "json");
    everywhere(records.len(), KERNELS_REFUSED, |chip| {
        let mut lines = String::new();
        for path in &records {
            let record = std::fs::read_to_string(path).expect("a launch record");
            let mut record: Value = serde_json::from_str(&record).expect("a launch record");
            let name = record["ptx"].as_str().expect("a launch record names its kernel file").to_owned();
            let ptx = std::fs::read_to_string(kernels.join(&name)).expect("the kernel file");
            let own = folder.path().join(format!("{chip}-{name}"));
            std::fs::write(&own, retargeted(&ptx, chip)).expect("a temporary file");
            record["ptx"] = text(&own).into();
            lines.push_str(&format!("{record}\n"));
        }
        let path = folder.path().join(format!("{chip}.jsonl"));
        std::fs::write(&path, lines).expect("a temporary file");
        path
    });
}

#[test]
fn vectors_on_other_chips() {
    let vectors = vectors();
    let folder = scratch();
    let mut wrong = Vec::new();
    for (chip, refused) in VECTORS_REFUSED {
        let launches = folder.path().join(format!("{chip}.jsonl"));
        let lines: String = vectors
            .iter()
            .map(|vector| {
                let mut launch = vector.launch();
                let ptx = launch["ptx_text"].as_str().expect("a launch has a kernel").to_owned();
                launch["ptx_text"] = retargeted(&ptx, chip).into();
                format!("{launch}\n")
            })
            .collect();
        std::fs::write(&launches, lines).expect("a temporary file");
        for level in LEVELS {
            let complaints = answers(&vectors, &launches, &["--on", "sim", "--arch", chip, level]);
            let (kept, other): (Vec<String>, Vec<String>) =
                complaints.into_iter().partition(|line| line.contains("target::needs-chip"));
            if kept.len() != refused {
                wrong.push(format!("{chip} {level}: {} are refused, not {refused}", kept.len()));
            }
            wrong.extend(other);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function of the driver, which has to be told where to return to.
const EXTERNAL: &str = ".version 7.8
.target sm_80
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

#[test]
fn external_calls_are_refused_where_no_address_can_be_named() {
    let folder = scratch();
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, EXTERNAL).expect("a temporary file");
    for (chip, status) in [("sm_80", 1), ("sm_86", 1), ("sm_87", 1), ("sm_88", 1), ("sm_89", 1), ("sm_90", 0)]
    {
        let run = oriole(&["compile", &text(&source), "--arch", chip, "-o", &text(&cubin)]);
        assert_eq!(run.status, Some(status), "{chip}: {}", run.err);
        assert_eq!(run.err.contains("oriole::not-supported"), status == 1, "{chip}: {}", run.err);
    }
}

/// A kernel with this many parameters of 8 bytes behind the first, each its own number: it reads the last one by name and
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

/// The bytes of the factors, of what is added, and of the sums: halves and bytes that hold small whole numbers.
fn tiles() -> [String; 3] {
    let (a, b) =
        (|row: i32, k: i32| (row * 7 + k * 3) % 23 - 11, |column: i32, k: i32| (column * 5 + k) % 17 - 8);
    let half = |value: i32| {
        let bits = (value as f32).to_bits();
        let exponent = if value == 0 { 0 } else { ((bits >> 23 & 0xff) - 112) << 10 };
        ((bits >> 16 & 0x8000 | exponent | bits >> 13 & 0x3ff) as u16).to_le_bytes()
    };
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
    [factors, words(0), words(1)].map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[test]
fn tiles_of_matrices_on_every_chip() {
    let folder = scratch();
    let launches = folder.path().join("launches.jsonl");
    let [factors, added, sums] = tiles();
    for chip in CHIPS {
        let ptx = format!(".version 7.8\n.target {chip}\n.address_size 64\n{TILES}");
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
