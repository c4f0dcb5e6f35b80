//! `oriole check --fix` and `--diff`: what is mended, what is left, and that a second run changes nothing.

use crate::inputs::oriole_in;
use crate::support::{data, files, finish_fed, names, scratch};
use expect_test::expect;
use std::fs::File;
use std::process::{Command, Stdio};

/// A semicolon and a bracket are missing, the version is too low for an instruction, and a name is misspelled.
const BROKEN: &str = "\
.version 6.0
.target sm_90
.address_size 64

// A comment that stays.
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<4>, total;
    ld.param.u64 %rd1, [p]
    ld.global.u32 %r1, [%rd1;
    redux.sync.add.s32 total, %r1, 0xffffffff; // all lanes
    st.global.u32 [%rd1], totla;
    ret;
}
";

#[test]
fn what_cannot_be_wrong_is_fixed() {
    let folder = scratch();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, BROKEN).expect("a file");
    let run = |arguments: &[&str]| {
        let done =
            oriole_in(folder.path(), &[&["check", "k.ptx", "--message-format", "short"], arguments].concat());
        // An empty line of a difference begins with a blank, which an expected text cannot hold.
        format!("{}{}{:?}\n", done.out, done.err, done.status).replace("\n \n", "\n_\n")
    };
    expect![[r#"
        k.ptx:2:9: error[target::needs-version]: `sm_90` needs `.version` 7.8 or later, the module has 6.0
        k.ptx:11:5: error[ptx::syntax]: `;` expected before `ld`
        k.ptx:11:29: error[ptx::syntax]: `,` or `]` expected, found `;`
        k.ptx:12:5: error[target::needs-version]: `redux.sync.add.s32` needs `.version` 7.0 or later; the module has 6.0
        k.ptx:13:27: error[ptx::unknown-name]: no register or variable is called `totla`
        5 errors; 4 can be fixed with --fix
        Some(1)
    "#]].assert_eq(&run(&[]));
    expect![[r#"
        --- k.ptx
        +++ k.ptx
        @@ -1,4 +1,4 @@
        -.version 6.0
        +.version 7.8
         .target sm_90
         .address_size 64
        _
        @@ -7,8 +7,8 @@
         {
             .reg .b64 %rd<3>;
             .reg .b32 %r<4>, total;
        -    ld.param.u64 %rd1, [p]
        -    ld.global.u32 %r1, [%rd1;
        +    ld.param.u64 %rd1, [p];
        +    ld.global.u32 %r1, [%rd1];
             redux.sync.add.s32 total, %r1, 0xffffffff; // all lanes
             st.global.u32 [%rd1], totla;
             ret;
        k.ptx:13:27: error[ptx::unknown-name]: no register or variable is called `totla`
        1 error; 4 would be fixed
        Some(1)
    "#]]
    .assert_eq(&run(&["--diff"]));
    let text = || std::fs::read_to_string(&path).expect("a file");
    assert_eq!(text(), BROKEN, "a difference is only shown");
    expect![[r#"
        k.ptx:13:27: error[ptx::unknown-name]: no register or variable is called `totla`
        4 fixed; 1 error left
        Some(1)
    "#]]
    .assert_eq(&run(&["--fix"]));
    expect![[r#"
        .version 7.8
        .target sm_90
        .address_size 64

        // A comment that stays.
        .visible .entry k(.param .u64 p)
        {
            .reg .b64 %rd<3>;
            .reg .b32 %r<4>, total;
            ld.param.u64 %rd1, [p];
            ld.global.u32 %r1, [%rd1];
            redux.sync.add.s32 total, %r1, 0xffffffff; // all lanes
            st.global.u32 [%rd1], totla;
            ret;
        }
    "#]]
    .assert_eq(&text());
    let once = text();
    // The time of the file stays, too.
    let time = || path.metadata().and_then(|facts| facts.modified()).expect("a time");
    let before = time();
    expect![[r#"
        k.ptx:13:27: error[ptx::unknown-name]: no register or variable is called `totla`
        1 error
        Some(1)
    "#]]
    .assert_eq(&run(&["--fix"]));
    assert_eq!((text(), time()), (once, before), "a second run changes nothing");
    expect![[r#"
        1 fixed; no errors or warnings left
        Some(0)
    "#]]
    .assert_eq(&run(&["--fix", "--unsafe-fixes"]));
    assert!(text().contains("[%rd1], total;"), "{}", text());
    assert_eq!(names(folder.path()), ["k.ptx"]);
}

#[test]
fn misspelled_words_have_fixes() {
    let folder = scratch();
    let path = folder.path().join("k.ptx");
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visble .entry k(.param .u64 p)\n{\n    .rge .b32 %q;\n    \
                .reg .b32 %r<4>, first;\n    .reg .pred %p;\n    mvo.u32 first, %tidd.x;\n    mov.u32 %r7, frist;\n    \
                sept.eq.u32 %p, first, 1;\n    @%p bra DNOE;\n    add.u23 first, first, 1;\nDONE:\n    ret;\n}\n";
    std::fs::write(&path, text).expect("a file");
    let check = |arguments: &[&str]| {
        let done = oriole_in(folder.path(), &[&["check", "k.ptx"], arguments].concat());
        format!("{}{:?}\n", done.err, done.status)
    };
    expect![[r#"
        error[ptx::syntax]: a module-level directive expected, found `.visble`
         --> k.ptx:4:1
          |
        4 | .visble .entry k(.param .u64 p)
          | ^^^^^^^

        error[ptx::unknown-directive]: `.rge` is no directive of a function body; did you mean `.reg`?
         --> k.ptx:6:5
          |
        6 |     .rge .b32 %q;
          |     ^^^^

        error[ptx::unknown-instruction]: no instruction is called `mvo`
         --> k.ptx:9:5
          |
        9 |     mvo.u32 first, %tidd.x;
          |     ^^^^^^^

        error[ptx::unknown-name]: no register is called `%r7`
          --> k.ptx:10:13
           |
        10 |     mov.u32 %r7, frist;
           |             ^^^
           |
           = help: the range ends with `%r3`

        error[ptx::unknown-name]: no register or variable is called `frist`
          --> k.ptx:10:18
           |
        10 |     mov.u32 %r7, frist;
           |                  ^^^^^
           |
           = help: did you mean `first`?

        error[ptx::unknown-instruction]: no instruction is called `sept`; did you mean `set`?
          --> k.ptx:11:5
           |
        11 |     sept.eq.u32 %p, first, 1;
           |     ^^^^^^^^^^^

        error[ptx::unknown-name]: no label `DNOE` is visible here; labels of inner scopes are not
          --> k.ptx:12:13
           |
        12 |     @%p bra DNOE;
           |             ^^^^
           |
           = help: did you mean `DONE`?

        error[ptx::invalid-type]: the type `.u23` is not possible here, did you mean `.u32`?; expected `.f32`, `.f64`, `.f32x2`, `.f16`, `.f16x2`, `.bf16`, `.bf16x2`, `.e4m3x4`, `.e5m2x4`, `.u16`, `.u32`, `.u64`, `.s16`, `.s32`, `.s64`, `.u16x2`, `.s16x2`, `.u8x4` or `.s8x4`
          --> k.ptx:13:8
           |
        13 |     add.u23 first, first, 1;
           |        ^^^^

        8 errors
        Some(1)
    "#]].assert_eq(&check(&[]));
    expect![[r#"
        error[ptx::syntax]: a module-level directive expected, found `.visble`
         --> k.ptx:4:1
          |
        4 | .visble .entry k(.param .u64 p)
          | ^^^^^^^

        error[ptx::unknown-instruction]: no instruction is called `mvo`
         --> k.ptx:9:5
          |
        9 |     mvo.u32 first, %tidd.x;
          |     ^^^^^^^

        error[ptx::missing-modifier]: `set.eq.u32` needs one of `.s16`, `.s32`, `.s64`, `.u16`, `.u32`, `.u64`, `.b16`, `.b32`, `.b64`, `.f32`, `.f64`, `.f16`, `.bf16`, `.f16x2` or `.bf16x2`
          --> k.ptx:11:5
           |
        11 |     set.eq.u32 %p, first, 1;
           |     ^^^^^^^^^^

        6 fixed; 3 errors left
        Some(1)
    "#]].assert_eq(&check(&["--fix", "--unsafe-fixes"]));
    expect![[r#"
        .version 8.0
        .target sm_90
        .address_size 64
        .visble .entry k(.param .u64 p)
        {
            .reg .b32 %q;
            .reg .b32 %r<8>, first;
            .reg .pred %p;
            mvo.u32 first, %tidd.x;
            mov.u32 %r7, first;
            set.eq.u32 %p, first, 1;
            @%p bra DONE;
            add.u32 first, first, 1;
        DONE:
            ret;
        }
    "#]]
    .assert_eq(&std::fs::read_to_string(&path).expect("a file"));
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let folder = scratch();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, BROKEN).expect("a file");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.args(["check", "-"]).args(arguments);
        finish_fed(&mut command, Stdio::from(File::open(&path).expect("a file")))
    };
    let done = run(&["--fix"]);
    assert_eq!(done.status, Some(1));
    assert!(done.out.contains("[%rd1];\n") && done.out.contains(".version 7.8\n"), "{}", done.out);
    assert_eq!(run(&["--fix", "--message-format", "json"]).status, Some(2));
}

/// A file that is read-only is left as it is, and the command fails.
#[test]
#[cfg(unix)]
fn what_cannot_be_written_is_left() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scratch();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, BROKEN).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).expect("permissions");
    let done = oriole_in(folder.path(), &["check", "--fix", "k.ptx"]);
    assert_eq!(done.status, Some(1));
    assert!(done.err.contains("read-only"), "{}", done.err);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), BROKEN);
    assert_eq!(names(folder.path()), ["k.ptx"]);
}

/// Texts that a semicolon was taken out of at some line are as before after `--fix`.
#[test]
fn missing_semicolons_come_back() {
    let folder = scratch();
    let mut texts = Vec::new();
    for (number, path) in files(&data("kernels"), "ptx").into_iter().step_by(11).take(20).enumerate() {
        let text = std::fs::read_to_string(&path).expect("a file");
        let ends: Vec<usize> = text.match_indices(";\n").map(|(at, _)| at).collect();
        let at = ends[(number * 7 + 5) % ends.len()];
        let broken = format!("{}{}", &text[..at], &text[at + 1..]);
        std::fs::write(folder.path().join(format!("k{number}.ptx")), broken).expect("a file");
        texts.push(text);
    }
    let done = oriole_in(folder.path(), &["check", "--fix", "."]);
    let mut same = 0;
    for (number, text) in texts.iter().enumerate() {
        let fixed = std::fs::read_to_string(folder.path().join(format!("k{number}.ptx"))).expect("a file");
        same += usize::from(fixed == *text);
    }
    assert!(same * 10 >= texts.len() * 9, "{same} of {}: {}", texts.len(), done.err);
}
