//! The unit splitter: a file's text to kernels, functions, variables and other
//! items, without building a tree.
//!
//! It keeps incremental work small: everything downstream sees one unit's text and no file position, so an edit reaches
//! only the unit it falls into. Therefore it must be total (any bytes), linear, much faster than the parser, and
//! robust: half-typed text may spoil the unit it is in and no other.
//!
//! Rules:
//! * Units concatenated are the file. White space and comments belong to the item that
//!   follows; what follows the last item is a [`UnitKind::Trailer`].
//! * A unit ends where its grammar ends it: a body at its closing brace, a
//!   declaration at its semicolon, header and `.file` lines at the next directive.
//! * Directives that can only be at module level (`.entry`, `.func`, linkage
//!   words, header words, `.section`) end the unit before them, whatever the brace
//!   depth. When a body ends this way, and its last closing brace is followed by a
//!   module-level declaration, the body is taken to end at that brace.
//! * A string ends at its closing quote or at the end of its line.
//! * A block comment ends at the first `*/`. It is taken for unclosed if there is
//!   none, or if a line that starts a kernel, function or other linked item and
//!   then another `/*` come first; an unclosed comment ends before that line and
//!   the comments above it, and the parser reports it. A comment that merely
//!   holds a commented-out kernel is therefore a comment, as the language says.

mod comments;
mod items;
mod scan;
mod splitter;
mod words;

pub(crate) use splitter::Splitter;

use crate::unit::Unit;

/// Cuts a file into units, in file order.
///
/// # Panics
/// If the text is 4 GiB or longer; a driver refuses such files before.
pub fn split_file(text: &str) -> Vec<Unit> {
    let mut splitter = Splitter::new(text, 0);
    let mut units = Vec::new();
    let (mut line, mut line_at) = (1, 0);
    while let Some((unit, _)) = splitter.next_unit() {
        let start = unit.start as usize;
        line += line_ends(&text.as_bytes()[line_at..start]);
        line_at = start;
        units.push(Unit { line, ..unit });
    }
    units
}

/// Number of line ends in a text.
fn line_ends(text: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', text).count() as u32
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::split_file;

    fn check(text: &str, expected: Expect) {
        let mut out = String::new();
        let mut joined = String::new();
        for unit in split_file(text) {
            out += &format!("{}: {:?} `{}` {:?}\n", unit.line, unit.kind, unit.name, unit.text(text));
            joined += unit.text(text);
        }
        assert_eq!(joined, text);
        expected.assert_eq(&out);
    }

    #[test]
    fn items() {
        check(
            "// head\n.version 8.0\n.target sm_90, debug // x\n.address_size 64\n\n\
             .pragma \"a;b\";\n.extern .func (.param .b32 r) f (.param .b32 a);\n\
             .visible .global .align 8 .v2 .f32 arr[2] = {{1,2},{3,4}}, z;\n\
             // k\n.visible .entry k(.param .u64 .ptr .global .align 4 p)\n.maxntid 32\n.pragma \"x\";\n{ { /* } */ } }\n\
             .weak .func g { ret; }\n.alias b, g;\n.file 1 \"a\"\n.file 2 \"b\"\n\
             .section .debug_str {\n.b32 .debug_abbrev\n}\n// end\n",
            expect![[r#"
                1: Header `` "// head\n.version 8.0\n.target sm_90, debug // x\n.address_size 64"
                4: Header `` "\n\n.pragma \"a;b\";"
                6: Declaration `f` "\n.extern .func (.param .b32 r) f (.param .b32 a);"
                7: Variable `arr` "\n.visible .global .align 8 .v2 .f32 arr[2] = {{1,2},{3,4}}, z;"
                8: Entry `k` "\n// k\n.visible .entry k(.param .u64 .ptr .global .align 4 p)\n.maxntid 32\n.pragma \"x\";\n{ { /* } */ } }"
                13: Function `g` "\n.weak .func g { ret; }"
                14: Declaration `b` "\n.alias b, g;"
                15: DebugSection `` "\n.file 1 \"a\"\n.file 2 \"b\""
                17: DebugSection `.debug_str` "\n.section .debug_str {\n.b32 .debug_abbrev\n}"
                20: Trailer `` "\n// end\n"
            "#]],
        );
    }

    #[test]
    fn one_line_and_empty() {
        check(
            ".version 8.0 .target sm_90 .entry k { ld .weak.u32 a, [b].unified; }",
            expect![[r#"
                1: Header `` ".version 8.0 .target sm_90"
                1: Entry `k` " .entry k { ld .weak.u32 a, [b].unified; }"
            "#]],
        );
        check("", expect![[""]]);
        check(
            " \n",
            expect![[r#"
            1: Trailer `` " \n"
        "#]],
        );
    }

    #[test]
    fn unclosed_brace_spoils_one_unit() {
        check(
            ".entry a { { ret; }\n\n// b\n.visible .entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { { ret; }"
                1: Entry `b` "\n\n// b\n.visible .entry b { ret; }"
            "#]],
        );
        check(
            ".entry a { { ret; }\n.global .b32 x = {1};\n.shared .b32 y;\n.entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { { ret; }"
                1: Variable `x` "\n.global .b32 x = {1};"
                2: Variable `y` "\n.shared .b32 y;"
                3: Entry `b` "\n.entry b { ret; }"
            "#]],
        );
    }

    #[test]
    fn surplus_brace_spoils_one_unit() {
        check(
            ".entry a { ret; } add.u32 a, b, c; .shared .b32 q; }\n.shared .b32 y;\n.entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { ret; }"
                1: Broken `` " add.u32 a, b, c; .shared .b32 q; }"
                1: Variable `y` "\n.shared .b32 y;"
                2: Entry `b` "\n.entry b { ret; }"
            "#]],
        );
    }

    #[test]
    fn open_string_spoils_its_line() {
        check(
            ".entry a { \" ret; \n }\n.entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { \" ret; \n }"
                2: Entry `b` "\n.entry b { ret; }"
            "#]],
        );
    }

    #[test]
    fn open_comment_spoils_one_unit() {
        let expected = expect![[r#"
            1: Entry `a` ".entry a {\n /* ret;\n}"
            3: Entry `b` "\n\n\t// .globl b\n\n.visible .entry b { /* c */ ret; }"
            7: Entry `c` "\n.entry c {}"
        "#]];
        check(
            ".entry a {\n /* ret;\n}\n\n\t// .globl b\n\n.visible .entry b { /* c */ ret; }\n.entry c {}",
            expected,
        );
        check(
            ".entry a {\n /* ret; }\n.entry b { /* ret; }\n.entry c {}\n",
            expect![[r#"
                1: Entry `a` ".entry a {\n /* ret; }"
                2: Entry `b` "\n.entry b { /* ret; }"
                3: Entry `c` "\n.entry c {}"
                4: Trailer `` "\n"
            "#]],
        );
    }

    #[test]
    fn a_commented_out_kernel_is_a_comment() {
        check(
            "/*\n.entry a {}\n*/ .entry b {}",
            expect![[r#"
                1: Entry `b` "/*\n.entry a {}\n*/ .entry b {}"
            "#]],
        );
    }

    #[test]
    fn missing_semicolons_and_half_typed_headers() {
        check(
            ".global .b32 x\n.global .b32 y;\n.entry\n.entry b {}\n.func (\n.visible .entry c {}",
            expect![[r#"
                1: Variable `x` ".global .b32 x"
                1: Variable `y` "\n.global .b32 y;"
                2: Entry `` "\n.entry"
                3: Entry `b` "\n.entry b {}"
                4: Function `` "\n.func ("
                5: Entry `c` "\n.visible .entry c {}"
            "#]],
        );
    }

    #[test]
    fn many_open_comments_are_linear() {
        let text = "/* \n.entry a {\n".repeat(20_000);
        assert_eq!(split_file(&text).len(), 20_001);
        let text = "/* ".repeat(200_000);
        assert_eq!(split_file(&text).len(), 1);
    }
}
