//! The debug sections of a module that was compiled for a debugger, read by a reader of DWARF that knows nothing of Oriole: where variables
//! are, and which code scopes are. `shapes.cu` is the source of the module, and NVIDIA's compiler made its PTX.

use crate::oracle::{WALKS, ask, tools};
use crate::support::{compile, data, oriole, read_cubin, scratch, text};
use expect_test::{Expect, expect};
use gimli::{AttributeValue, Dwarf, DwarfSections, EndianSlice, LittleEndian, Operation, Reader as _};
use oriole_cubin::Cubin;
use std::fmt::Write as _;
use std::path::Path;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

const CHIPS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// Addresses of different symbols are so far apart.
const SYMBOL_SHIFT: u32 = 40;

/// The bytes of a section with a number for each address: that of the symbol, and the bytes from there.
fn loaded(cubin: &Cubin, name: &str) -> Vec<u8> {
    let section = cubin.sections.iter().find(|section| section.name == name);
    let mut bytes = section.map(|section| section.data.clone()).unwrap_or_default();
    for relocation in section.map_or(&[][..], |section| &section.relocations) {
        let address = (relocation.symbol as u64 + 1) << SYMBOL_SHIFT | relocation.addend as u64;
        let at = relocation.offset as usize;
        bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
    }
    bytes
}

/// Lists functions, scopes and variables of a file, with places in code if asked.
struct Listing<'a> {
    cubin: &'a Cubin,
    dwarf: Dwarf<Slice<'a>>,
    with_code: bool,
    text: String,
}

impl Listing<'_> {
    fn of(cubin: &Cubin, with_code: bool) -> String {
        let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(loaded(cubin, id.name()));
        let sections = DwarfSections::load(load).expect("sections");
        let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let mut listing = Listing { cubin, dwarf, with_code, text: String::new() };
        listing.units();
        listing.text
    }

    fn units(&mut self) {
        let mut headers = self.dwarf.units();
        while let Some(header) = headers.next().expect("a unit") {
            let unit = self.dwarf.unit(header).expect("a unit");
            let mut entries = unit.entries();
            while let Some(entry) = entries.next_dfs().expect("an entry") {
                let depth = entry.depth();
                if ![
                    gimli::DW_TAG_subprogram,
                    gimli::DW_TAG_lexical_block,
                    gimli::DW_TAG_variable,
                    gimli::DW_TAG_formal_parameter,
                ]
                .contains(&entry.tag())
                {
                    continue;
                }
                let _ = write!(self.text, "{:1$}", "", 2 * (depth as usize - 1));
                let kind = entry.tag().static_string().unwrap_or_default();
                let _ = write!(self.text, "{}", kind.trim_start_matches("DW_TAG_"));
                if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
                    let name = self.dwarf.attr_string(&unit, name).expect("a text");
                    let _ = write!(self.text, " {}", name.to_string_lossy());
                }
                let value = |at| entry.attr_value(at);
                if let (Some(AttributeValue::Addr(low)), Some(AttributeValue::Addr(high))) =
                    (value(gimli::DW_AT_low_pc), value(gimli::DW_AT_high_pc))
                {
                    let range = self.range(low, high);
                    let _ = write!(self.text, " {range}");
                }
                match value(gimli::DW_AT_location) {
                    None => {}
                    Some(AttributeValue::Exprloc(expression)) => {
                        let place = self.place(expression, unit.encoding());
                        let _ = write!(self.text, ": {place}");
                    }
                    // A list leaves out the places without code, and which places those are differs between compilers.
                    Some(_) if !self.with_code => self.text.push_str(": a list"),
                    Some(list) => {
                        let mut list =
                            self.dwarf.attr_locations(&unit, list).expect("a list").expect("a list");
                        while let Some(one) = list.next().expect("a place") {
                            let range = self.range(one.range.begin, one.range.end);
                            let place = self.place(one.data, unit.encoding());
                            let _ = write!(self.text, "\n{:1$}{range}: {place}", "", 2 * depth as usize);
                        }
                    }
                }
                self.text.push('\n');
            }
        }
    }

    /// The symbol of an address and the bytes from there.
    fn symbol(&self, address: u64) -> Option<(&oriole_cubin::read::Symbol, u64)> {
        let symbol = self.cubin.symbols.get((address >> SYMBOL_SHIFT).checked_sub(1)? as usize)?;
        Some((symbol, address & ((1 << SYMBOL_SHIFT) - 1)))
    }

    fn range(&self, low: u64, high: u64) -> String {
        let ((from, low), (to, high)) = (self.symbol(low).expect("code"), self.symbol(high).expect("code"));
        assert_eq!(from.name, to.name);
        let whole = (low, high) == (0, from.size);
        match (self.with_code, whole) {
            (_, true) => format!("[all of {}]", from.name),
            (true, false) if high == from.size => format!("[{low:#x}, end)"),
            (true, false) => format!("[{low:#x}, {high:#x})"),
            (false, false) => "[a part]".to_owned(),
        }
    }

    fn place(&self, expression: gimli::Expression<Slice<'_>>, encoding: gimli::Encoding) -> String {
        let mut bytes = expression.0;
        if bytes.read_u8() == Ok(gimli::DW_OP_regx.0) {
            // A register of the PTX: its name, packed into a number.
            let number = bytes.read_uleb128().expect("a number");
            let name = number.to_be_bytes();
            return String::from_utf8_lossy(&name).trim_start_matches('\0').to_owned();
        }
        let mut operations = expression.operations(encoding);
        let mut words = Vec::new();
        while let Some(operation) = operations.next().expect("an operation") {
            match operation {
                Operation::Address { address } => words.push(match self.symbol(address) {
                    Some((symbol, 0)) => symbol.name.clone(),
                    Some((symbol, bytes)) => format!("{} and {bytes}", symbol.name),
                    None => format!("{address:#x}"),
                }),
                Operation::FrameOffset { offset } => words.push(format!("frame {offset:+}")),
                Operation::PlusConstant { value } => words.push(format!("+{value}")),
                Operation::Nop => {}
                other => words.push(format!("{other:?}")),
            }
        }
        words.join(" ")
    }
}

fn listed(arguments: &[&str], with_code: bool, expected: &Expect) {
    let folder = scratch();
    let output = folder.path().join("k.cubin");
    compile(&data("debugger").join("shapes.ptx"), &output, arguments)
        .unwrap_or_else(|message| panic!("{message}"));
    expected.assert_eq(&Listing::of(&read_cubin(&output), with_code));
}

/// The fields that a linker completes in the sections of relocatable files; the result has the contents of a whole program.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with nvlink"]
fn linked_files_have_what_whole_programs_have() {
    let tools = tools();
    let folder = scratch();
    let [whole, part, linked] = ["w.cubin", "p.cubin", "l.cubin"].map(|name| folder.path().join(name));
    let source = data("debugger").join("shapes.ptx");
    for chip in CHIPS {
        let arguments = ["-g", "--arch", chip];
        compile(&source, &whole, &arguments).unwrap_or_else(|message| panic!("{message}"));
        compile(&source, &part, &[&arguments[..], &["-c"]].concat())
            .unwrap_or_else(|message| panic!("{message}"));
        ask(&tools, "nvlink", &["-g", &format!("-arch={chip}"), &text(&part), "-o", &text(&linked)]);
        let [whole, linked] = [&whole, &linked].map(|path| read_cubin(path));
        assert_eq!(Listing::of(&linked, false), Listing::of(&whole, false), "{chip}");
    }
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas"]
fn variables_and_scopes_are_those_of_the_reference() {
    let tools = tools();
    let folder = scratch();
    let [ours, theirs] = ["ours.cubin", "theirs.cubin"].map(|name| folder.path().join(name));
    let source = data("debugger").join("shapes.ptx");
    for chip in CHIPS {
        compile(&source, &ours, &["-g", "--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
        ask(&tools, "ptxas", &["-g", &format!("-arch={chip}"), &text(&source), "-o", &text(&theirs)]);
        let [ours, theirs] = [&ours, &theirs].map(|path| read_cubin(path));
        assert_eq!(Listing::of(&ours, false), Listing::of(&theirs, false), "{chip}");
        let names = |cubin: &Cubin| -> Vec<String> {
            let names = cubin.sections.iter().map(|section| section.name.clone());
            names.filter(|name| name.starts_with(".debug")).collect()
        };
        assert_eq!(names(&ours), names(&theirs), "{chip}");
    }
}

/// A name that a debug section cannot use is reported with its place, and the value is zero; the code is as it was.
#[test]
fn what_has_no_place_is_said() {
    let folder = scratch();
    let [source, output] = ["k.ptx", "k.cubin"].map(|name| folder.path().join(name));
    let compiled = |ptx: &str, arguments: &[&str]| {
        std::fs::write(&source, ptx).expect("a temporary file");
        let (source, output) = (text(&source), text(&output));
        let run = oriole(&[&["compile", &source, "-o", &output], arguments].concat());
        assert_eq!(run.status, Some(0), "{}", run.err);
        run.err.replace(&*source, "k.ptx")
    };
    let header = ".version 7.8\n.target sm_75, debug\n.visible .entry k() {\nhere: ret;\nend:\n}\n";
    let sections = ".section .debug_abbrev { .b8 0 }\n.section .debug_info {\n.b64 here\n.b64 nowhere\n.b32 here\n.b64 end-here\nown: .b32 own\n.b32 .debug_lock\n}\n";
    let module = format!("{header}{sections}");
    expect![[r#"
        warning[ptx::debug-information]: `nowhere` is no name of the module; the value in the debug section is 0
          --> k.ptx:10:6
           |
        10 | .b64 nowhere
           |      ^^^^^^^

        warning[ptx::debug-information]: `here` has an address, which takes eight bytes; the value in the debug section is 0
          --> k.ptx:11:6
           |
        11 | .b32 here
           |      ^^^^

        warning[ptx::debug-information]: `.debug_lock` is no name of the module; the value in the debug section is 0
          --> k.ptx:14:6
           |
        14 | .b32 .debug_lock
           |      ^^^^^^^^^^^

    "#]].assert_eq(&compiled(&module, &["-O0"]));
    let cubin = read_cubin(&output);
    let section = cubin.sections.iter().find(|section| section.name == ".debug_info").expect("the section");
    let text = cubin.sections.iter().find(|section| section.name == ".text.k").expect("the code");
    let words: Vec<u64> =
        [0, 8, 20].map(|at| u64::from_le_bytes(section.data[at..at + 8].try_into().expect("a word"))).into();
    // The last label is the end of the section.
    assert_eq!(words, [0, 0, text.size], "{:x?}", section.data);
    assert_eq!(section.data[28..32], 28u32.to_le_bytes());
    let at: Vec<(u64, i64)> = section.relocations.iter().map(|one| (one.offset, one.addend)).collect();
    assert_eq!(at, [(0, 0)]);
    expect![[r#"
        warning[ptx::debug-information]: the module is for debuggers, and optimized code has line tables at most: compile with -O0
         --> k.ptx:1:1
          |
        1 | .version 7.8
          | ^

    "#]].assert_eq(&compiled(&module, &["-O1"]));
    expect![[r#"
        warning[ptx::no-debug-section]: `.debug_abbrev` is missing, and with it what debuggers know of variables and types
         --> k.ptx:1:1
          |
        1 | .version 7.8
          | ^

    "#]].assert_eq(&compiled(&format!("{header}.section .debug_info {{\n.b8 0\n}}\n"), &["-O0"]));
    assert!(read_cubin(&output).section(".debug_info").is_none());
}

/// Registers in a function's tables: place, register of the PTX, which 32 bits of it, number of its type.
fn registers(cubin: &Cubin, function: &str) -> Vec<(String, std::ops::Range<u32>, String, u32, u8)> {
    let data = |name: &str| cubin.section(name).expect(name).data.clone();
    let [places, types] = [".nv_debug_info_reg_sass", ".nv_debug_info_reg_type"].map(data);
    let [mut places, mut types] = [&places, &types].map(|bytes| Slice::new(bytes, LittleEndian));
    let text = |bytes: &mut Slice<'_>| {
        bytes.read_null_terminated_slice().expect("a text").to_string_lossy().into_owned()
    };
    let word = |bytes: &mut Slice<'_>| bytes.read_u32().expect("a word");
    let mut found = Vec::new();
    while !places.is_empty() {
        let name = text(&mut places);
        assert_eq!(text(&mut types), name);
        let count = word(&mut places);
        assert_eq!(word(&mut types), count);
        for _ in 0..count {
            let component = word(&mut places);
            let register = text(&mut places);
            let [machine, first, end] = [(); 3].map(|()| word(&mut places));
            let file = ["", "", "P", "", "", "R", "", "", "", "UP", "", "UR"][(machine >> 24) as usize];
            let machine = format!("{file}{}", machine & 0xff);
            let kind = types.read_u8().expect("a type");
            if name == function {
                found.push((machine, first..end, register, component, kind));
            }
        }
    }
    assert!(types.is_empty());
    found
}

/// Where registers of the PTX are in a function; values that only get another name are recorded, too.
#[test]
fn registers_of_the_source_are_told() {
    let folder = scratch();
    let output = folder.path().join("k.cubin");
    let source = data("debugger").join("shapes.ptx");
    compile(&source, &output, &["-g", "--arch", "sm_90"]).unwrap_or_else(|message| panic!("{message}"));
    let mut listed = String::new();
    for (machine, range, register, component, kind) in registers(&read_cubin(&output), "_Z3sumPKii") {
        let _ = writeln!(
            listed,
            "{machine} [{:#x}, {:#x}) {register}.{component} {kind}",
            range.start, range.end
        );
    }
    expect![[r#"
        P0 [0xc0, 0xd0) %p1.0 16
        P0 [0xd0, 0x150) %p2.0 16
        P0 [0x2f0, 0x340) %p2.0 16
        R0 [0x30, 0x50) %r8.0 2
        R0 [0x50, 0x70) %r2.0 2
        R0 [0x70, 0xa0) %r15.0 2
        R0 [0xa0, 0x2b0) %r4.0 2
        R0 [0x2b0, 0x2d0) %r6.0 2
        R0 [0x2d0, 0x2f0) %r15.0 2
        R0 [0x2f0, 0x340) %r4.0 2
        R3 [0x40, 0x60) %r1.0 2
        R3 [0x60, 0xb0) %r14.0 2
        R3 [0xb0, 0x290) %r3.0 2
        R3 [0x290, 0x2c0) %r5.0 2
        R3 [0x2c0, 0x2f0) %r14.0 2
        R3 [0x2f0, 0x300) %r3.0 2
        R3 [0x300, 0x340) %r9.0 2
        R4 [0x0, 0x320) %rd1.0 3
        R5 [0x10, 0x340) %rd1.1 3
        R6 [0x20, 0x340) %r7.0 2
        R7 [0x120, 0x130) %rd2.1 3
        R7 [0x130, 0x170) %rd3.1 3
        R7 [0x170, 0x280) %r10.0 2
        R7 [0x280, 0x2f0) %r13.0 2
        R8 [0x110, 0x140) %rd2.0 3
        R8 [0x140, 0x150) %rd3.0 3
        R8 [0x150, 0x180) %rd4.0 3
        R8 [0x180, 0x210) %r11.0 2
        R8 [0x210, 0x240) %rd7.0 3
        R8 [0x240, 0x250) %rd8.0 3
        R8 [0x250, 0x270) %rd9.0 3
        R8 [0x270, 0x2f0) %r12.0 2
        R9 [0x160, 0x190) %rd4.1 3
        R9 [0x1b0, 0x1e0) %rd5.0 3
        R9 [0x1e0, 0x260) %rd6.0 3
        R9 [0x260, 0x2f0) %rd9.1 3
        R10 [0x1c0, 0x1f0) %rd5.1 3
        R10 [0x1f0, 0x2f0) %rd6.1 3
        R11 [0x220, 0x230) %rd7.1 3
        R11 [0x230, 0x2f0) %rd8.1 3
    "#]]
    .assert_eq(&listed);
    for chip in CHIPS {
        compile(&source, &output, &["-g", "--arch", chip]).unwrap_or_else(|message| panic!("{message}"));
        let cubin = read_cubin(&output);
        let listing = Listing::of(&cubin, true);
        let mut known = Vec::new();
        for line in listing.lines() {
            if let Some((_, function)) = line.split_once("[all of ") {
                known = registers(&cubin, function.trim_end_matches(']'));
            }
            if let Some((before, register)) = line.split_once(": %") {
                let held = known.iter().any(|(_, range, name, ..)| {
                    let bound = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
                    let places = before.trim().strip_prefix('[').and_then(|it| it.strip_suffix(')'));
                    let places = places.and_then(|it| it.split_once(", "));
                    let meets = places.is_none_or(|(low, high)| {
                        // The instruction that overwrites it still finds it.
                        bound(low).expect("a place") <= range.end
                            && bound(high).is_none_or(|high| range.start < high)
                    });
                    name.strip_prefix('%') == Some(register) && meets
                });
                assert!(held, "{chip}: {line}");
            }
        }
    }
}

#[test]
fn debuggers_find_variables_and_scopes() {
    listed(
        &["-g", "--arch", "sm_90"],
        true,
        &expect![[r#"
            variable table: table
            variable counter: counter
            variable origin: origin
            variable of_module: 0x400
            subprogram norm [all of _Z4normRK5Pointi]
              formal_parameter p: %rd1
              formal_parameter scale: %r1
              lexical_block [0x30, 0xf0)
                variable squares: %f7
            subprogram sum [all of _Z3sumPKii]
              formal_parameter values: %rd1
              formal_parameter count: %r7
              lexical_block [0x30, 0x340)
                variable total
                  [0x50, 0x70): %r1
                  [0x70, 0xc0): %r14
                  [0xc0, 0x2a0): %r3
                  [0x2a0, 0x2d0): %r5
                  [0x2d0, end): %r14
                lexical_block [0x50, 0x300)
                  variable i
                    [0x60, 0x80): %r2
                    [0x80, 0xc0): %r15
                    [0xc0, 0x2c0): %r4
                    [0x2c0, 0x2e0): %r6
                    [0x2e0, end): %r15
                  lexical_block [0x100, 0x2a0)
                    variable part: %r13
            subprogram shapes [all of shapes]
              formal_parameter out: 0x210
              formal_parameter in: 0x218
              formal_parameter count: 0x220
              formal_parameter weight: %fd1
              lexical_block [0xf0, 0xc70)
                variable local: frame -32 +0
                variable p: frame -32 +16
                variable i: %r1
                variable s
                  [0x790, 0x7f0): %r5
                  [0x7f0, 0x930): %r32
                  [0x930, 0x940): %r6
                  [0x940, 0x960): %r32
                  [0x960, end): %r7
                variable big: %rs1
                variable tile: 0x480
                lexical_block [0x450, 0x6f0)
                  variable k
                    [0x470, 0x480): %r2
                    [0x480, 0x4a0): %r31
                    [0x4a0, 0x6d0): %r3
                    [0x6d0, 0x6e0): %r4
                    [0x6e0, end): %r31
        "#]],
    );
}

/// The opcodes under each line of the source, in the order of the code; what fills up the end is left out.
fn opcodes_by_line(cubin: &Path) -> String {
    let mut rows = String::new();
    let listing = oriole(&["dis", "--lines", &text(cubin)]).out;
    for line in listing.lines().filter(|line| !line.starts_with("// ptx ")) {
        if let Some(place) = line.strip_prefix("// /src/") {
            let _ = write!(rows, "\n{place}:");
        } else if let Some((_, instruction)) = line.split_once("*/ ") {
            let opcode = instruction.split(' ').find(|word| !word.starts_with('@')).unwrap_or_default();
            if opcode != "NOP" {
                let _ = write!(rows, " {}", opcode.trim_end_matches(';'));
            }
        } else if let Some(name) = line.strip_prefix("// ").and_then(|rest| rest.split(' ').next()) {
            let _ = write!(rows, "\n{name}");
        }
    }
    rows
}

/// At level 0 blocks stand in the order of the source, and what compiling puts between them belongs to what stands there: jumps
/// and moves on edges to the branch, waits for other threads to what ends before them, what a function shares to its start.
#[test]
fn unoptimized_code_follows_the_source() {
    let folder = scratch();
    let [source, cubin] = ["walks.ptx", "walks.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, WALKS).expect("a temporary file");
    compile(&source, &cubin, &["-O0", "--arch", "sm_90"]).expect("it compiles");
    expect![[r#"

        rows
        walks.cu:60: ULDC.64 LDC.64 LDC
        walks.cu:61: S2R MOV
        walks.cu:62: BSSY ISETP.GE.U32.AND BRA
        walks.cu:63: I2F.U32.RP MUFU.RCP IADD3 F2I.FTZ.U32.TRUNC.NTZ IADD3 IMAD IMAD.HI.U32 IADD3 IMAD.HI.U32 IMAD ISETP.GE.U32.AND IADD3 IADD3 SEL SEL ISETP.GE.U32.AND IADD3 IADD3 SEL SEL ISETP.EQ.U32.AND MOV SEL
        walks.cu:64: ISETP.LT.U32.AND BSSY BRA
        walks.cu:65: IADD3 BRA
        walks.cu:66: IADD3 BSYNC
        walks.cu:67: IADD3 BRA BSYNC
        walks.cu:68: STG.E EXIT BRA
        walk
        walks.cu:10: LDC LDC.64 LDC
        walks.cu:11: S2R MOV MOV ISETP.GE.U32.AND BSSY BRA MOV BRA
        walks.cu:12: ISETP.EQ.U32.AND BRA
        walks.cu:13: BSSY IADD3 MOV MOV
        walks.cu:14: ISETP.GT.U32.AND BSSY BRA
        walks.cu:15: LOP3.LUT BSYNC
        walks.cu:16: IADD3
        walks.cu:12: ISETP.LT.U32.AND BRA BSYNC BRA MOV MOV BRA
        walks.cu:17: BRA
        walks.cu:18: IADD3
        walks.cu:19: ISETP.EQ.U32.AND BRA BREAK BRA
        walks.cu:20: STG.E BSYNC
        walks.cu:21: STG.E
        walks.cu:22: MOV MOV MOV CALL.REL.NOINC MOV
        walks.cu:23: STG.E
        walks.cu:24: EXIT
        walks.cu:50: IADD3 STL STL STL STL S2R SHF.L.U32
        walks.cu:51: MOV MOV MOV MOV MOV MOV MOV CALL.REL.NOINC MOV
        walks.cu:52: MOV IADD3 S2R
        walks.cu:53: ST.E IADD3 MOV MOV MOV LDL LDL LDL LDL IADD3 RET.REL.NODEC
        walks.cu:41: MOV IADD3 MOV RET.REL.NODEC BRA"#]].assert_eq(&opcodes_by_line(&cubin));
}

/// Values that nothing reads.
const UNREAD: &str = r#".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    .loc 1 2 1
    ld.param.u64 %rd1, [p];
    .loc 1 3 1
    mov.u32 %r1, 7;
    .loc 1 4 1
    ld.global.u32 %r2, [%rd1+4];
    .loc 1 5 1
    mov.u32 %r1, %tid.x;
    .loc 1 6 1
    st.global.u32 [%rd1], %r1;
    .loc 1 7 1
    ret;
}
    .file 1 "unread.cu"
"#;

#[test]
fn unoptimized_code_has_what_is_read_or_shown() {
    let folder = scratch();
    let [source, cubin] = ["unread.ptx", "unread.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, UNREAD).expect("a temporary file");
    compile(&source, &cubin, &["-O0"]).expect("it compiles");
    expect![[r#"

        k
        unread.cu:2 ULDC.64 LDC.64
        unread.cu:5 S2R
        unread.cu:6 STG.E
        unread.cu:7 EXIT BRA"#]]
    .assert_eq(&opcodes_by_line(&cubin));
    // A debugger shows it.
    compile(&source, &cubin, &["-O0", "-g"]).expect("it compiles");
    expect![[r#"

        k
        unread.cu:2 ULDC.64 LDC.64
        unread.cu:3 MOV
        unread.cu:4 LDG.E
        unread.cu:5 S2R MOV
        unread.cu:6 STG.E
        unread.cu:7 MEMBAR.SC.VC ERRBAR CGAERRBAR EXIT BRA"#]]
    .assert_eq(&opcodes_by_line(&cubin));
}

/// Statements that a compiler needs no code for, each on a line of its own.
const COPIES: &str = r#".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<9>;
    .reg .f32 %f<3>;
    .reg .pred %p<3>;
    .reg .b64 %rd<9>;
    .loc 1 2 1
    ld.param.u64 %rd1, [p];
    .loc 1 3 1
    cvta.to.global.u64 %rd2, %rd1;
    .loc 1 4 1
    mov.u32 %r1, %tid.x;
    .loc 1 5 1
    mov.b32 %f1, %r1;
    .loc 1 6 1
    bra.uni next;
next:
    .loc 1 7 1
    add.f32 %f2, %f1, %f1;
    .loc 1 8 1
    mov.b32 %r2, %f2;
    .loc 1 9 1
    setp.eq.u32 %p1, %r2, 4;
    .loc 1 10 1
    mov.pred %p2, %p1;
    .loc 1 11 1
    @%p2 bra other;
    .loc 1 12 1
    bra.uni one;
one:
    .loc 1 13 1
    st.global.u32 [%rd2], %r2;
    .loc 1 14 1
    bra.uni both;
other:
    .loc 1 15 1
    bra.uni both;
both:
    .loc 1 16 1
    mov.u32 %r3, %r2;
    .loc 1 17 1
    st.global.u32 [%rd2+4], %r3;
    .loc 1 18 1
    ret;
}
    .file 1 "copies.cu"
"#;

/// A value that something reads has code at level 0, and so has each jump, even if nothing moves.
#[test]
fn statements_of_unoptimized_code_have_code() {
    let folder = scratch();
    let [source, cubin] = ["copies.ptx", "copies.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, COPIES).expect("a temporary file");
    compile(&source, &cubin, &["-O0"]).expect("it compiles");
    expect![[r#"

        k
        copies.cu:2 ULDC.64 LDC.64
        copies.cu:3 MOV
        copies.cu:4 S2R
        copies.cu:5 MOV
        copies.cu:6 BRA
        copies.cu:7 FADD
        copies.cu:8 MOV
        copies.cu:9 ISETP.EQ.U32.AND
        copies.cu:10 PLOP3.LUT
        copies.cu:11 BSSY BRA
        copies.cu:12 BRA
        copies.cu:13 STG.E
        copies.cu:14 BRA
        copies.cu:15 BSYNC
        copies.cu:16 MOV
        copies.cu:17 STG.E
        copies.cu:18 EXIT BRA"#]]
    .assert_eq(&opcodes_by_line(&cubin));
    compile(&source, &cubin, &["-O1"]).expect("it compiles");
    expect![[r#"

        k
        copies.cu:4 S2R
        copies.cu:13 ULDC.64
        copies.cu:3 MOV MOV
        copies.cu:11 BSSY
        copies.cu:7 FADD
        copies.cu:9 ISETP.EQ.U32.AND
        copies.cu:11 BRA
        copies.cu:13 STG.E
        copies.cu:14 BSYNC
        copies.cu:17 STG.E
        copies.cu:18 EXIT BRA"#]]
    .assert_eq(&opcodes_by_line(&cubin));
}
