//! Line tables as another reader of DWARF sees them.

use expect_test::{Expect, expect};
use gimli::{AttributeValue, DebugLine, DebugLineOffset, LineInstruction, LittleEndian};
use oriole_debug_info::{
    Caller, Place, Row, Sequence, SourceFile, Start, Table, line_table, ptx_line_table, ptx_text,
    ptx_text_section, read_line_table,
};
use std::fmt::Write as _;

/// The header, the rows, and the bytes that the reader skips.
fn read(table: &Table) -> String {
    let mut out = String::new();
    let section = DebugLine::new(&table.bytes, LittleEndian);
    let program = section.program(DebugLineOffset(0), 8, None, None).expect("a header");
    let header = program.header();
    let text = |value: AttributeValue<gimli::EndianSlice<'_, LittleEndian>>| match value {
        AttributeValue::String(text) => text.to_string_lossy().into_owned(),
        other => format!("{other:?}"),
    };
    let _ = writeln!(out, "version {} opcodes from {}", header.version(), header.opcode_base());
    for folder in header.include_directories() {
        let _ = writeln!(out, "folder {}", text(*folder));
    }
    for file in header.file_names() {
        let (name, folder) = (text(file.path_name()), file.directory_index());
        let _ = writeln!(out, "file {name} in {folder}, {} {}", file.timestamp(), file.size());
    }
    let mut instructions = header.instructions();
    while let Some(instruction) = instructions.next_instruction(header).expect("an opcode") {
        if let LineInstruction::UnknownExtended(opcode, operands) = instruction {
            let _ = writeln!(out, "extended {:#x} {:?}", opcode.0, operands.slice());
        }
    }
    let mut rows = program.rows();
    while let Some((_, row)) = rows.next_row().expect("a row") {
        let line = row.line().map_or(0, |line| line.get());
        let end = if row.end_sequence() { " end" } else { "" };
        let _ = writeln!(out, "{:#06x} file {} line {line}{end}", row.address(), row.file_index());
    }
    let _ = writeln!(out, "addresses {:?}", table.addresses);
    out
}

fn check(table: &Table, expected: Expect) {
    expected.assert_eq(&read(table));
}

fn place(file: u32, line: u32) -> Place {
    Place { file, line, caller: None }
}

fn inlined(file: u32, line: u32, caller: usize, name: u64) -> Place {
    Place { file, line, caller: Some(Caller { place: caller, name }) }
}

fn row(address: u64, ptx_line: u32, place: usize) -> Row {
    Row { address, ptx_line, place: Some(place) }
}

fn files() -> Vec<SourceFile> {
    let file = |number, path: &str| SourceFile { number, path: path.to_owned(), time: 7, size: 9 };
    vec![file(1, "/src/a.cu"), file(9, "/src/b.h"), file(4, "c.h")]
}

#[test]
fn rows_of_two_kernels() {
    let first = Sequence {
        size: 0x2100,
        places: vec![place(1, 10), place(9, 3), place(1, 300), place(1, 0)],
        rows: vec![row(0, 5, 0), row(0x10, 6, 0), row(0x20, 7, 1), row(0x2000, 8, 2), row(0x2010, 9, 3)],
    };
    // No row of it has a location.
    let second =
        Sequence { size: 0x80, rows: vec![Row { address: 0, ptx_line: 20, place: None }], ..first.clone() };
    let third = Sequence { size: 0x100, places: vec![place(4, 1)], rows: vec![row(0x10, 30, 0)] };
    let sequences = [first, second, third];
    check(
        &line_table(&files(), &sequences).unwrap(),
        expect![[r#"
        version 2 opcodes from 10
        folder /src
        file a.cu in 1, 7 9
        file c.h in 0, 7 9
        file b.h in 1, 7 9
        0x0000 file 1 line 10
        0x0020 file 3 line 3
        0x2000 file 1 line 300
        0x2100 file 1 line 300 end
        0x0010 file 2 line 1
        0x0100 file 2 line 1 end
        addresses [(56, 0), (94, 2)]
    "#]],
    );
    check(
        &ptx_line_table(None, &sequences).unwrap(),
        expect![[r#"
        version 2 opcodes from 10
        0x0000 file 0 line 5
        0x0010 file 0 line 6
        0x0020 file 0 line 7
        0x2000 file 0 line 8
        0x2010 file 0 line 9
        0x2100 file 0 line 9 end
        0x0000 file 0 line 20
        0x0080 file 0 line 20 end
        0x0010 file 0 line 30
        0x0100 file 0 line 30 end
        addresses [(29, 0), (58, 1), (80, 2)]
    "#]],
    );
}

/// A linker distinguishes the texts of several modules by their names, and each table names its text.
#[test]
fn linked_modules_name_their_text() {
    let text = ptx_text_section(".version 8.0\n", true);
    let sequence = Sequence { size: 0x80, rows: vec![row(0, 5, 0)], ..Sequence::default() };
    check(
        &ptx_line_table(Some(&text), &[sequence]).unwrap(),
        expect![[r#"
            version 2 opcodes from 10
            file .nv_debug_ptx_txt.538575861 in 0, 0 0
            0x0000 file 1 line 5
            0x0080 file 1 line 5 end
            addresses [(60, 0)]
        "#]],
    );
    assert_ne!(ptx_text_section(".version 8.1\n", true), text);
    assert_eq!(ptx_text_section(".version 8.0\n", false), ".nv_debug_ptx_txt");
}

/// The call location has a row of its own, whose index in the sequence inlined code names, at any depth.
#[test]
fn inlined_code_names_the_rows_of_its_calls() {
    let places = vec![place(1, 10), place(1, 12), inlined(9, 33, 1, 0), inlined(9, 44, 2, 5), place(1, 13)];
    let kernel = Sequence {
        size: 0x80,
        places,
        rows: vec![row(0, 5, 0), row(0x10, 6, 3), row(0x20, 7, 2), row(0x30, 8, 4), row(0x40, 9, 3)],
    };
    let table = line_table(&files(), &[kernel.clone(), kernel]).unwrap();
    // The last field of the header.
    let end = 10 + u32::from_le_bytes(table.bytes[6..10].try_into().unwrap());
    assert_eq!(table.names, Some(u64::from(end) - 4));
    check(
        &table,
        expect![[r#"
        version 2 opcodes from 10
        folder /src
        file a.cu in 1, 7 9
        file c.h in 0, 7 9
        file b.h in 1, 7 9
        extended 0x90 [2, 0]
        extended 0x90 [3, 5]
        extended 0x90 [2, 0]
        extended 0x90 [0, 0]
        extended 0x90 [5, 5]
        extended 0x90 [2, 0]
        extended 0x90 [3, 5]
        extended 0x90 [2, 0]
        extended 0x90 [0, 0]
        extended 0x90 [5, 5]
        0x0000 file 1 line 10
        0x0010 file 1 line 12
        0x0010 file 3 line 33
        0x0010 file 3 line 44
        0x0020 file 3 line 33
        0x0030 file 1 line 13
        0x0040 file 3 line 44
        0x0080 file 3 line 44 end
        0x0000 file 1 line 10
        0x0010 file 1 line 12
        0x0010 file 3 line 33
        0x0010 file 3 line 44
        0x0020 file 3 line 33
        0x0030 file 1 line 13
        0x0040 file 3 line 44
        0x0080 file 3 line 44 end
        addresses [(60, 0), (134, 1)]
    "#]],
    );
}

#[test]
fn what_is_written_is_read_back() {
    let places = vec![place(1, 10), place(9, 3), inlined(4, 7, 1, 0)];
    let kernel =
        |at| Sequence { size: 0x80, places: places.clone(), rows: vec![row(0, 5, 0), row(at, 6, 2)] };
    let table = line_table(&files(), &[kernel(0x10), kernel(0x20)]).unwrap();
    let starts: Vec<Start> = table.addresses.iter().map(|&(at, sequence)| (at, sequence, 0x1000)).collect();
    let rows = read_line_table(&table.bytes, &starts).unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.code, row.address, &*row.file, row.line)).collect();
    let expected = [
        (0, 0x1000, "/src/a.cu", 10),
        (0, 0x1010, "/src/b.h", 3),
        (0, 0x1010, "c.h", 7),
        (1, 0x1000, "/src/a.cu", 10),
        (1, 0x1020, "/src/b.h", 3),
        (1, 0x1020, "c.h", 7),
    ];
    assert_eq!(rows, expected);
    assert!(read_line_table(&table.bytes[..20], &[]).is_err());
}

/// A program begins at line 1 of file 1, without a row.
#[test]
fn the_first_line_of_the_first_file_has_a_row() {
    let places = vec![place(1, 1), inlined(9, 202, 0, 3)];
    let kernel = Sequence { size: 0x80, places, rows: vec![row(0, 5, 0), row(0x10, 6, 1)] };
    check(
        &line_table(&files(), &[kernel]).unwrap(),
        expect![[r#"
        version 2 opcodes from 10
        folder /src
        file a.cu in 1, 7 9
        file c.h in 0, 7 9
        file b.h in 1, 7 9
        extended 0x90 [1, 3]
        0x0000 file 1 line 1
        0x0010 file 3 line 202
        0x0080 file 3 line 202 end
        addresses [(60, 0)]
    "#]],
    );
}

#[test]
fn places_in_files_that_nobody_names_have_no_row() {
    let kernel = Sequence { size: 0x80, places: vec![place(2, 10)], rows: vec![row(0, 5, 0)] };
    check(
        &line_table(&files(), &[kernel]).unwrap(),
        expect![[r#"
        version 2 opcodes from 10
        folder /src
        file a.cu in 1, 7 9
        file c.h in 0, 7 9
        file b.h in 1, 7 9
        addresses []
    "#]],
    );
}

#[test]
fn the_text_keeps_its_lines() {
    let text = "\
// of a compiler
.version 9.0\r
\t.file 1 \"a.cu\"
.visible .entry k() {
\t.loc 1 2 3
\t.local .b8 a;
  ret; // done
}
.section .debug_str {
label:
\t.b8 105, 0
}

.file 2 \"b.cu\"
";
    let bytes = ptx_text(text);
    let lines: Vec<String> =
        bytes.split(|&byte| byte == 0).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let expected = [
        "",
        ".version 9.0",
        "",
        ".visible .entry k() {",
        "",
        ".local .b8 a;",
        "ret; // done",
        "}",
        ".section .debug_str {",
        "label:",
        "",
        "}",
        "",
    ];
    assert_eq!(lines, expected);
}
