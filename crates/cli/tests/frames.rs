//! What a module for debuggers says of its frames: which registers each function keeps for its caller, and where it does.

use crate::oracle::{ask, tools};
use crate::support::{compile, read_cubin, scratch, text};
use expect_test::{Expect, expect};
use oriole_cubin::{Cubin, RelocationKind};
use std::fmt::Write as _;
use std::path::Path;

/// Chips of each shape of the register files, and of each family of containers.
const CHIPS: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// A kernel, a function that calls, and one that does not.
const CALLS: &str = "\
.func (.param .b32 r) leaf(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    add.s32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
.func (.param .b32 r) caller(.param .b32 a)
{
    .reg .b32 %r<6>;
    ld.param.b32 %r1, [a];
    mul.lo.s32 %r3, %r1, 7;
    {
    .param .b32 p;
    .param .b32 q;
    st.param.b32 [p], %r1;
    call (q), leaf, (p);
    ld.param.b32 %r2, [q];
    }
    add.s32 %r4, %r2, %r1;
    add.s32 %r5, %r4, %r3;
    st.param.b32 [r], %r5;
    ret;
}
.visible .entry kernel(.param .u64 out)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    {
    .param .b32 p;
    .param .b32 q;
    st.param.b32 [p], %r1;
    call (q), caller, (p);
    ld.param.b32 %r2, [q];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
";

/// The functions as a module for debuggers of the chip.
fn module(chip: &str, functions: &str) -> String {
    let version = if chip.starts_with("sm_1") { "9.0" } else { "8.0" };
    let header = format!(".version {version}\n.target {chip}, debug\n.address_size 64\n");
    format!("{header}{functions}.section .debug_info\n{{\n.b8 0\n}}\n")
}

fn compiled(folder: &Path, chip: &str, functions: &str, more: &[&str]) -> Cubin {
    let [source, output] = ["k.ptx", "ours.cubin"].map(|name| folder.join(name));
    std::fs::write(&source, module(chip, functions)).expect("a temporary file");
    compile(&source, &output, &[&["-O0"][..], more].concat())
        .unwrap_or_else(|message| panic!("{chip}: {message}"));
    read_cubin(&output)
}

/// The same by the reference.
fn theirs(folder: &Path, chip: &str, functions: &str, more: &[&str]) -> Cubin {
    let [source, output] = ["k.ptx", "theirs.cubin"].map(|name| folder.join(name));
    std::fs::write(&source, module(chip, functions)).expect("a temporary file");
    let (chip, from, to) = (format!("-arch={chip}"), text(&source), text(&output));
    ask(&tools(), "ptxas", &[&["-O0", &chip, &from, "-o", &to][..], more].concat());
    read_cubin(&output)
}

/// Reads the section from its start.
struct Section<'a>(&'a [u8]);

impl<'a> Section<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().expect("four bytes"))
    }

    fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().expect("eight bytes"))
    }

    fn number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    /// A register as debug information numbers it: its file and its number there.
    fn register(&mut self) -> (&'static str, u64) {
        let number = self.number();
        let file = match number >> 24 {
            1 => "CC",
            2 => "P",
            5 => "R",
            9 => "UP",
            11 => "UR",
            _ => "?",
        };
        (file, number & 0xff_ffff)
    }

    /// The next entry: whether it is a common one, and its body.
    fn entry(&mut self) -> (bool, Section<'a>) {
        assert_eq!(self.word(), u32::MAX);
        let length = self.long();
        let mut body = Section(self.take(length as usize));
        (body.long() == u64::MAX, body)
    }
}

/// The bytes of the section, with the symbols of the functions whose frames it tells, in its order.
fn section(cubin: &Cubin) -> (&[u8], Vec<String>) {
    let section = cubin.sections.iter().find(|section| section.name == ".debug_frame").expect("frames");
    let mut named: Vec<(u64, String)> = section
        .relocations
        .iter()
        .filter(|relocation| relocation.kind() == Some(RelocationKind::Abs64))
        .map(|relocation| (relocation.offset, cubin.symbols[relocation.symbol].name.clone()))
        .collect();
    named.retain(|(_, name)| name != ".debug_frame");
    named.sort();
    (&section.data, named.into_iter().map(|(_, name)| name).collect())
}

/// Instructions that say something of one register each, where neighbours that are told the same are one.
#[derive(Default)]
struct Told(Vec<(&'static str, &'static str, u64, u64)>);

impl Told {
    fn add(&mut self, what: &'static str, (file, number): (&'static str, u64)) {
        match self.0.last_mut() {
            Some((told, of, _, last)) if (*told, *of, *last + 1) == (what, file, number) => *last = number,
            _ => self.0.push((what, file, number, number)),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for &(what, file, first, end) in &self.0 {
            if what != last {
                let _ = write!(text, "\n  {what}");
                last = what;
            }
            let _ = match end {
                end if end == first => write!(text, " {file}{first}"),
                end => write!(text, " {file}{first}..{end}"),
            };
        }
        text
    }
}

/// The common entries, by the function whose they are.
fn common(cubin: &Cubin) -> Vec<(String, Vec<u8>)> {
    let (bytes, names) = section(cubin);
    let mut rest = Section(bytes);
    let mut found = Vec::new();
    for name in names {
        let (is_common, body) = rest.entry();
        assert!(is_common);
        found.push((name, body.0.to_vec()));
        assert!(!rest.entry().0);
    }
    assert!(rest.0.is_empty());
    found.sort();
    found
}

fn common_text(cubin: &Cubin) -> String {
    let mut listed = String::new();
    for (name, bytes) in common(cubin) {
        let mut body = Section(&bytes);
        assert_eq!(body.take(4), [3, 0, 4, 0x7c]);
        let _ = match body.number() {
            0xffff_ffff => write!(listed, "{name}: no caller"),
            number => write!(listed, "{name}: back to R{}", number & 0xff_ffff),
        };
        let mut told = Told::default();
        let mut general: Vec<&str> = Vec::new();
        while !body.0.is_empty() {
            match body.byte() {
                0 => {}
                0x0c => {
                    let (file, number) = body.register();
                    let _ = write!(listed, ", frame {file}{number}+{}", body.number());
                }
                what @ (0x07 | 0x08) => {
                    let what = if what == 0x07 { "undefined" } else { "same" };
                    let (file, number) = body.register();
                    // From R32 on what is told of eight registers is told of the next eight, too.
                    if file == "R" && number != 255 {
                        assert_eq!(general.len() as u64, number);
                        general.push(what);
                        if number >= 40 {
                            assert_eq!(general[number as usize - 8], what, "{name}: R{number}");
                            continue;
                        }
                    }
                    told.add(what, (file, number));
                }
                other => panic!("{name}: {other:#x}"),
            }
        }
        let _ = writeln!(listed, "{}", told.text());
    }
    listed
}

/// What callees keep, and what they do not: as the calling convention says, of every register of the chip.
#[test]
fn frames_tell_what_callees_keep() {
    let folder = scratch();
    let listed = |chip, expected: Expect| {
        let functions = CALLS.split_once(".func (.param .b32 r) caller").expect("two functions").0;
        let kernel = format!("{functions}.visible .entry kernel() {{ ret; }}\n");
        expected.assert_eq(&common_text(&compiled(folder.path(), chip, &kernel, &[])));
    };
    listed(
        "sm_70",
        expect![[r#"
        kernel: no caller, frame R1+0
          same R255
          undefined CC0 P0 P2..6 R0
          same R1
          undefined R2..39
        leaf: back to R20, frame R1+0
          same R255
          undefined CC0 P0 P2..6 R0
          same R1..2
          undefined R3..15
          same R16..31
          undefined R32..35
          same R36..39
    "#]],
    );
    listed(
        "sm_90",
        expect![[r#"
        kernel: no caller, frame R1+0
          same R255
          undefined UP0 UP2..6 UR4..61 CC0 P0 P2..6 R0
          same R1
          undefined R2..39
        leaf: back to R20, frame R1+0
          same R255
          undefined UP0 UP2..6 UR4..35
          same UR36..61
          undefined CC0 P0 P2..6 R0
          same R1..2
          undefined R3..15
          same R16..31
          undefined R32..35
          same R36..39
    "#]],
    );
    listed(
        "sm_120",
        expect![[r#"
        kernel: no caller, frame R1+0
          same R255
          undefined UP0 UP2..6 UR4..77 CC0 P0 P2..6 R0
          same R1
          undefined R2..39
        leaf: back to R20, frame R1+0
          same R255
          undefined UP0 UP2..6 UR4..35
          same UR36..63
          undefined UR64..77 CC0 P0 P2..6 R0
          same R1..2
          undefined R3..15
          same R16..31
          undefined R32..35
          same R36..39
    "#]],
    );
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas"]
fn common_entries_of_frames_are_those_of_the_reference() {
    let folder = scratch();
    let folder = folder.path();
    for chip in CHIPS {
        for more in [&[][..], &["-c"]] {
            let [own, reference] = [compiled(folder, chip, CALLS, more), theirs(folder, chip, CALLS, more)]
                .map(|cubin| common(&cubin));
            assert!(own == reference, "{chip} {more:?}");
            assert_eq!(own.len(), 3);
        }
    }
}
