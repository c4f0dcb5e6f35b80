//! `oriole asm --into`: edited text of machine code runs, and what cannot be put into a cubin is refused with its line.

use crate::support::{compile, data, files, oriole, scratch, text};
use expect_test::{Expect, expect};
use oriole_cubin::edit::{Edit, EditError, edit};
use std::path::{Path, PathBuf};

const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry scale(.param .u64 out, .param .u32 n)
{
    .reg .b64 %a, %o;
    .reg .b32 %i, %n, %x;
    .reg .pred %p;
    ld.param.u64 %a, [out];
    ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x;
    setp.ge.u32 %p, %i, %n;
    @%p bra done;
    mul.wide.u32 %o, %i, 4;
    add.u64 %a, %a, %o;
    mul.lo.u32 %x, %i, 3;
    st.global.u32 [%a], %x;
done:
    ret;
}
.visible .entry other()
{
    ret;
}
";

/// The cubin with each code replaced by itself, not as the same file but through every structure that names places.
pub fn replaced_by_itself(bytes: &[u8]) -> Result<Vec<u8>, EditError> {
    let cubin = oriole_cubin::read(bytes)?;
    let edits = cubin.codes().map(|code| {
        let words = code.code.len() as u32;
        let info = code.info.iter().filter(|row| row.name() == Some("EXIT_INSTR_OFFSETS"));
        Edit {
            text: code.text,
            code: code.code.iter().flat_map(|word| word.to_le_bytes()).collect(),
            word: 16,
            moved: (0..words).map(|index| Some(index * 16)).collect(),
            exits: info.flat_map(|row| row.to_words()).collect(),
            registers: Some(code.registers),
        }
    });
    edit(bytes, &edits.collect::<Vec<_>>())
}

/// The cubin of the program, the text of its code, and a folder for more.
struct Given {
    folder: tempfile::TempDir,
    cubin: PathBuf,
    listing: String,
}

fn given(ptx: &str) -> Given {
    let folder = scratch();
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, ptx).expect("a temporary file");
    compile(&source, &cubin, &[]).expect("it compiles");
    let listing = oriole(&["dis", "--labels", &text(&cubin)]);
    assert_eq!(listing.status, Some(0), "{}", listing.err);
    Given { folder, cubin, listing: listing.out }
}

impl Given {
    /// The messages of `asm` for a text, and the cubin that it makes.
    fn assembled(&self, listing: &str, options: &[&str]) -> (String, Option<PathBuf>) {
        let (source, output) = (self.folder.path().join("k.sass"), self.folder.path().join("new.cubin"));
        let _ = std::fs::remove_file(&output);
        std::fs::write(&source, listing).expect("a temporary file");
        let (source, cubin, new) = (text(&source), text(&self.cubin), text(&output));
        let run = oriole(&[&["asm", &source, "--into", &cubin, "-o", &new], options].concat());
        assert_eq!(run.out, "");
        let said = run.err.replace(&source, "k.sass");
        assert_eq!(run.status == Some(0), output.exists(), "{said}");
        (said, output.exists().then_some(output))
    }

    /// The first eight words that the kernel writes.
    fn run(&self, cubin: &Path) -> String {
        let record = serde_json::json!({
            "name": "k", "ptx": text(&self.folder.path().join("k.ptx")), "entry": "scale",
            "grid": [1, 1, 1], "block": [32, 1, 1], "shared_bytes": 0,
            "args": [{ "buffer": { "len": 32, "fill": 0 } }, { "scalar": { "type": "u32", "value": 7 } }],
        });
        let launch = self.folder.path().join("launch.json");
        std::fs::write(&launch, record.to_string()).expect("a temporary file");
        let run = oriole(&["run", &text(&launch), "--on", "sim", "--cubin", &text(cubin), "--json"]);
        assert_eq!(run.status, Some(0), "{}{}", run.out, run.err);
        let answer: serde_json::Value = serde_json::from_str(&run.out).expect("an answer");
        answer["args"][0]["bytes_hex"].as_str().expect("a buffer").to_owned()
    }

    fn refused(&self, listing: &str, expected: Expect) {
        let (said, output) = self.assembled(listing, &[]);
        assert_eq!(output, None);
        expected.assert_eq(&said);
    }
}

#[test]
fn inserted_instructions_run() {
    let given = given(PTX);
    expect!["00000000030000000600000009000000 0c0000000f0000001200000000000000"]
        .assert_eq(&spaced(&given.run(&given.cubin)));
    // Everything after the new lines moves, by a little and by much.
    for (count, expected) in [
        (2, expect!["0200000005000000080000000b000000 0e000000110000001400000000000000"]),
        (300, expect!["2c0100002f0100003201000035010000 380100003b0100003e01000000000000"]),
    ] {
        let more = "IADD3 R0, R0, 0x1, RZ ; stall=5\n".repeat(count);
        let listing = before(&given.listing, "STG.E", &more);
        let (said, cubin) = given.assembled(&listing, &[]);
        assert_eq!(said, "");
        let cubin = cubin.expect("a cubin");
        expected.assert_eq(&spaced(&given.run(&cubin)));
        let exits = |path: &Path| {
            let cubin = oriole_cubin::read(&std::fs::read(path).expect("a cubin")).expect("a cubin");
            let info = cubin.kernel("scale").expect("a kernel").info.clone();
            info.iter().find(|row| row.name() == Some("EXIT_INSTR_OFFSETS")).expect("exits").to_words()
        };
        let moved: Vec<u32> =
            exits(&given.cubin).iter().enumerate().map(|(n, at)| at + n as u32 * 16 * count as u32).collect();
        assert_eq!(exits(&cubin), moved, "the second exit follows");
        let lint = oriole(&["lint", &text(&cubin)]);
        assert_eq!(lint.out, "0 hazards\n");
    }
}

fn spaced(hex: &str) -> String {
    format!("{} {}", &hex[..32], &hex[32..])
}

/// A text with more lines before the first one that has a word.
fn before(listing: &str, word: &str, more: &str) -> String {
    let at = listing.find(word).expect("the word is there");
    let line = listing[..at].rfind('\n').expect("a line before") + 1;
    format!("{}{more}{}", &listing[..line], &listing[line..])
}

/// A loop that was not there, by labels.
#[test]
fn new_loops_run() {
    let given = given(PTX);
    let round =
        "MOV R1, 0x3 ; stall=5\n.L_again:\nIADD3 R0, R0, 0x10, RZ ; stall=5\nIADD3 R1, R1, -0x1, RZ ; stall=5
ISETP.NE.U32.AND P1, PT, R1, RZ, PT ; stall=13\n@P1 BRA .L_again ; stall=5\n";
    let (said, cubin) = given.assembled(&before(&given.listing, "STG.E", round), &[]);
    assert_eq!(said, "");
    expect!["30000000330000003600000039000000 3c0000003f0000004200000000000000"]
        .assert_eq(&spaced(&given.run(&cubin.expect("a cubin"))));
}

#[test]
fn registers_and_hazards_are_checked() {
    let given = given(PTX);
    given.refused(
        &before(&given.listing, "STG.E", "IADD3 R0, R0, 0x1, RZ ; stall=1\n"),
        expect![[r#"
        error: [asm::hazard] k.sass: scale+0x80: reads R0 1 cycles after 0x70, 5 are needed
    "#]],
    );
    let far = before(&given.listing, "STG.E", "IADD3 R9, R0, 0x1, RZ ; stall=5\n");
    given.refused(
        &far,
        expect![[r#"
        error: [asm::hazard] k.sass: scale+0x70: names R9, code may name 4 registers
    "#]],
    );
    let (said, cubin) = given.assembled(&far, &["--unchecked"]);
    assert_eq!((said.as_str(), cubin.is_some()), ("", true));
    let (said, cubin) = given.assembled(&far.replacen("registers 6", "registers 12", 1), &[]);
    assert_eq!(said, "");
    let read =
        oriole_cubin::read(&std::fs::read(cubin.expect("a cubin")).expect("a cubin")).expect("a cubin");
    assert_eq!(read.kernel("scale").expect("a kernel").registers, 12);
    assert_eq!(read.kernel("other").expect("a kernel").code.len(), 16);
}

#[test]
fn what_does_not_fit_is_refused_with_its_line() {
    let given = given(PTX);
    given.refused("EXIT ; stall=5\n", expect![[r#"
        error: [asm::place] k.sass:1: these lines belong to no function: `// NAME registers N frame N` stands before its code
    "#]]);
    given.refused(
        "// nobody registers 8 frame 0\nEXIT ; stall=5\n",
        expect![[r#"
        error: [asm::place] k.sass:1: the cubin has no kernel or function `nobody`
    "#]],
    );
    given.refused(
        "// other registers 8 frame 16\nEXIT ; stall=5\n",
        expect![[r#"
        error: [asm::place] k.sass:1: a frame of 16 bytes instead of 0: it cannot be changed
    "#]],
    );
    given.refused(
        "// other registers 300 frame 0\nEXIT ; stall=5\n",
        expect![[r#"
        error: [asm::place] k.sass:1: a thread cannot have 300 registers
    "#]],
    );
    given.refused("// other registers 4 frame 0\nEXIT ; stall=5\n", expect![[r#"
        error: [asm::place] k.sass:1: 1 instructions instead of 16: which are new is not known without the addresses that `dis` prints
    "#]]);
    given.refused("// other registers 4 frame 0\n/*7000*/ EXIT ; stall=5\n", expect![[r#"
        error: [asm::place] k.sass:2: the old code has no instruction at 0x7000; a line that is new has no address
    "#]]);
    given.refused(
        "// other registers 4 frame 0\n/*0000*/ BRA .L_none ; stall=5\nWORD\n",
        expect![[r#"
        error: [asm::text] k.sass:2: there is no label `.L_none` in this function
        error: [asm::text] k.sass:3: column 0: unknown opcode
    "#]],
    );
    let (said, _) = given.assembled(&given.listing, &["--arch", "sm_80"]);
    expect![[r#"
        error: [file::no-such-image] k.cubin: there is no cubin for sm_80; there are:
          #1 cubin sm_90
    "#]]
    .assert_eq(&said.replace(&text(&given.cubin), "k.cubin"));
}

/// A kernel that calls a function; `between` is code of the function.
fn calling(between: &str) -> String {
    let function = format!(
        ".func (.param .b32 r) slow(.param .b32 x)\n{{\n    .reg .b32 %v, %w;\n    ld.param.b32 %v, [x];\n    {between}\n    \
        st.param.b32 [r], %w;\n    ret;\n}}\n.visible .entry scale"
    );
    PTX.replace("mul.lo.u32 %x, %i, 3;", "call (%x), slow, (%i);").replace(".visible .entry scale", &function)
}

/// Return addresses are numbers, and follow their calls: lines are new before a call, after it, in the function that is called and
/// before everything.
#[test]
fn return_addresses_follow_their_calls() {
    for chip in ["sm_75", "sm_90", "sm_120"] {
        for level in ["-O0", "-O3"] {
            let folder = scratch();
            let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
            // The division has a routine, which is called too.
            let ptx = calling("mul.lo.u32 %w, %v, 3;").replace("sm_90", "sm_75");
            std::fs::write(&source, ptx).expect("a temporary file");
            compile(&source, &cubin, &[level, "--arch", chip]).expect("it compiles");
            let listing = oriole(&["dis", "--labels", &text(&cubin)]).out;
            let given = Given { folder, cubin, listing };
            let expected = given.run(&given.cubin);
            let header = given.listing.lines().find(|line| line.starts_with("// scale")).expect("the kernel");
            for word in ["CALL", "RET", "STG", header] {
                let nop = "NOP ; stall=1\n";
                let moved = match word == header {
                    true => given.listing.replace(&format!("{header}\n"), &format!("{header}\n{nop}")),
                    false => before(&given.listing, word, nop),
                };
                assert_ne!(moved, given.listing);
                let (said, cubin) = given.assembled(&moved, &[]);
                let cubin = cubin.unwrap_or_else(|| panic!("{chip} {level} {word}: {said}"));
                assert_eq!(given.run(&cubin), expected, "{chip} {level} {word}");
            }
        }
    }
}

/// A return address that is somewhere else: the code stays where it is, or grows at its end.
#[test]
fn code_with_unknown_return_addresses_stays() {
    let given = given(&calling("mul.lo.u32 %w, %v, 3;"));
    let call = given.listing.find("CALL.REL.NOINC").expect("a call");
    let number = given.listing[..call].rfind("R20, ").expect("the return address");
    let line = given.listing[..number].rfind('\n').expect("a line") + 1;
    let end = line + given.listing[line..].find('\n').expect("an end");
    let changed = given.listing[line..end].replace("0x", "0x1");
    let wrong = format!("{}{changed}{}", &given.listing[..line], &given.listing[end..]);
    let (said, cubin) = given.assembled(&wrong, &[]);
    let made = cubin.unwrap_or_else(|| panic!("{said}"));
    let cubin = given.folder.path().join("wrong.cubin");
    std::fs::rename(made, &cubin).expect("a temporary file");
    let given = Given { cubin, listing: wrong, folder: given.folder };
    let moved = before(&given.listing, "CALL", "NOP ; stall=1\n");
    let (said, _) = given.assembled(&moved, &[]);
    assert!(
        said.contains("have moved, and the return address of the call at 0x")
            && said.contains("is not known"),
        "{said}"
    );
    let (said, cubin) = given.assembled(&format!("{}NOP ; stall=1\n", given.listing), &[]);
    assert_eq!((said.as_str(), cubin.is_some()), ("", true));
}

/// Every structure of the file that names places, on all kernels of the repository.
#[test]
fn code_in_its_own_place_is_the_same_file() {
    let folder = scratch();
    let kernels = data("kernels").canonicalize().expect("the kernels are there");
    let mut count = 0;
    for source in files(&kernels, "ptx") {
        let cubin = folder.path().join("k.cubin");
        if compile(&source, &cubin, &["-O0"]).is_err() {
            continue;
        }
        let bytes = std::fs::read(&cubin).expect("a cubin");
        let again = replaced_by_itself(&bytes).expect("it fits");
        let differs = bytes.iter().zip(&again).position(|(old, new)| old != new);
        assert!(again == bytes, "{} at byte {differs:?}", source.display());
        count += 1;
    }
    assert!(count > 50, "{count} files");
}
