//! `oriole check` of several inputs: files, folders and patterns, in one order with any number of threads, with one line of counts.

use crate::support::{Finished, finish, scratch};
use expect_test::expect;
use std::path::Path;
use std::process::Command;

/// A right text, one with an error, one with a warning, and one with many errors.
pub const RIGHT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
const WRONG: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n    mov.u32 %r1, 1;\n    ret;\n}\n";
const WARNED: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n    .reg .b32 %r<3>;\n    add.u32 %r1, %r2, 1;\n    ret;\n}\n";

/// Runs the program in a folder.
pub fn oriole_in(folder: &Path, arguments: &[&str]) -> Finished {
    finish(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).current_dir(folder))
}

fn files() -> tempfile::TempDir {
    let folder = scratch();
    std::fs::create_dir_all(folder.path().join("sub/deep")).expect("a folder");
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    let many = WRONG.replace("    ret;", "    mov.u32 %r2, 1;\n    mov.u32 %r3, 1;\n    ret;");
    let all = [("b.ptx", WRONG), ("a.ptx", RIGHT), ("sub/c.ptx", WARNED), ("sub/deep/d.ptx", &many)];
    for (name, text) in all {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    std::fs::write(folder.path().join("notes.txt"), "no PTX").expect("a file");
    folder
}

#[test]
fn inputs_are_files_folders_and_patterns() {
    let folder = files();
    let check = |arguments: &[&str]| {
        let done = oriole_in(folder.path(), &[&["check", "--message-format", "short"], arguments].concat());
        assert_eq!(done.out, "");
        format!("{}{:?}\n", done.err, done.status)
    };
    expect![[r#"
        b.ptx:6:13: error[ptx::unknown-name]: no register is called `%r1`
        sub/c.ptx:7:5: warning[ptx::uninitialized-register]: `%r2` is read here, and nothing can have written it before
        sub/deep/d.ptx:6:13: error[ptx::unknown-name]: no register is called `%r1`
        sub/deep/d.ptx:7:13: error[ptx::unknown-name]: no register is called `%r2`
        sub/deep/d.ptx:8:13: error[ptx::unknown-name]: no register is called `%r3`
        4 errors, 1 warning in 3 of 4 files
        Some(1)
    "#]].assert_eq(&check(&["."]));
    expect![[r#"
        sub/c.ptx:7:5: warning[ptx::uninitialized-register]: `%r2` is read here, and nothing can have written it before
        sub/deep/d.ptx:6:13: error[ptx::unknown-name]: no register is called `%r1`
        sub/deep/d.ptx:7:13: error[ptx::unknown-name]: no register is called `%r2`
        sub/deep/d.ptx:8:13: error[ptx::unknown-name]: no register is called `%r3`
        3 errors, 1 warning in 2 of 3 files
        Some(1)
    "#]].assert_eq(&check(&["sub/**/*.ptx", "a.ptx", "./a.ptx"]));
    expect![[r#"
        sub/c.ptx:7:5: warning[ptx::uninitialized-register]: `%r2` is read here, and nothing can have written it before
        1 warning
        Some(0)
    "#]].assert_eq(&check(&["sub/c.ptx"]));
    expect![[r#"
        sub/c.ptx:7:5: error[ptx::uninitialized-register]: `%r2` is read here, and nothing can have written it before
        1 error in 1 of 2 files
        Some(1)
    "#]].assert_eq(&check(&["a.ptx", "sub/c.ptx", "--deny-warnings"]));
    expect![[r#"
        sub/c.ptx:7:5: warning[ptx::uninitialized-register]: `%r2` is read here, and nothing can have written it before
        sub/deep/d.ptx:6:13: error[ptx::unknown-name]: no register is called `%r1`
        sub/deep/d.ptx:7:13: error[ptx::unknown-name]: no register is called `%r2`
        3 errors, 1 warning in 2 of 2 files; 1 error not shown
        Some(1)
    "#]].assert_eq(&check(&["sub", "--max-errors", "2"]));
    expect![[r#"
        error: nowhere.ptx: No such file or directory (os error 2)
        error: empty: there is no `.ptx` file below this folder
        error: *.cu: no file has a name of this pattern
        no errors or warnings; 3 inputs could not be read
        Some(1)
    "#]]
    .assert_eq(&check(&["a.ptx", "nowhere.ptx", "empty", "*.cu"]));
    assert_eq!(check(&["a.ptx"]), "Some(0)\n");
    for usage in [&["[a.ptx"][..], &[], &["a.ptx", "--arch", "sm_1"], &["a.ptx", "--unsafe-fixes"]] {
        assert!(check(usage).ends_with("Some(2)\n"), "{usage:?}");
    }
}

/// The same bytes with any number of threads, over more files than are read at a time.
#[test]
fn the_order_does_not_depend_on_threads() {
    let folder = scratch();
    for number in 0..40 {
        let text = if number % 3 == 0 { WRONG } else { WARNED };
        std::fs::write(folder.path().join(format!("k{number:02}.ptx")), text).expect("a file");
    }
    for format in ["human", "short", "json", "github", "sarif"] {
        let with = |jobs: &str| {
            let done = oriole_in(folder.path(), &["check", ".", "--jobs", jobs, "--message-format", format]);
            assert_eq!(done.status, Some(1));
            (done.out, done.err)
        };
        let one = with("1");
        assert!(one.0.len() + one.1.len() > 2000, "{one:?}");
        assert!(one == with("2") && one == with("7"), "{format}");
    }
}
