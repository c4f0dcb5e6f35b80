//! `oriole fmt`: white space of files, what is printed, and that no code changes.

use crate::inputs::oriole_in;
use crate::support::{compile, data, files, finish_fed, names, scratch};
use expect_test::expect;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const UGLY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\n\n\n.visible .entry k( ) // comment\n{\n.reg .b32 %r<3>;  \
                    mov.u32 %r1,1 ;\n  /* block */ ret ;\n}";
const PRETTY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k() {\n    ret;\n}\n";

#[test]
fn files_are_formatted_checked_and_compared() {
    let folder = scratch();
    for (name, text) in [("a.ptx", UGLY), ("b.ptx", PRETTY)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let run = |arguments: &[&str]| {
        let done = oriole_in(folder.path(), &[&["fmt"], arguments].concat());
        // An empty line of a difference begins with a blank, which an expected text cannot hold.
        format!("{}{}{:?}\n", done.out, done.err, done.status).replace("\n \n", "\n_\n")
    };
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    expect![[r#"
        a.ptx
        1 file would be formatted, 1 file already formatted
        Some(1)
    "#]]
    .assert_eq(&run(&["--check", "."]));
    expect![[r#"
        --- a.ptx
        +++ a.ptx
        @@ -2,10 +2,9 @@
         .target sm_90
         .address_size 64
        _
        -
        -
        -.visible .entry k( ) // comment
        +.visible .entry k() // comment
         {
        -.reg .b32 %r<3>;  mov.u32 %r1,1 ;
        -  /* block */ ret ;
        -}
        \ No newline at end of file
        +    .reg .b32       %r<3>;
        +    mov.u32         %r1, 1;
        +    /* block */ ret;
        +}
        1 file would be formatted, 1 file already formatted
        Some(1)
    "#]]
    .assert_eq(&run(&["--diff", "a.ptx", "b.ptx"]));
    assert_eq!(text("a.ptx"), UGLY);
    expect![[r#"
        1 file formatted, 1 file already formatted
        Some(0)
    "#]]
    .assert_eq(&run(&["."]));
    expect![[r#"
        .version 8.0
        .target sm_90
        .address_size 64

        .visible .entry k() // comment
        {
            .reg .b32       %r<3>;
            mov.u32         %r1, 1;
            /* block */ ret;
        }
    "#]]
    .assert_eq(&text("a.ptx"));
    assert_eq!(text("b.ptx"), PRETTY);
    expect![[r#"
        0 files would be formatted, 2 files already formatted
        Some(0)
    "#]]
    .assert_eq(&run(&["--check", "*.ptx"]));
    expect![[r#"
        error: nowhere.ptx: No such file or directory (os error 2)
        0 files formatted, 1 file already formatted
        Some(1)
    "#]]
    .assert_eq(&run(&["nowhere.ptx", "b.ptx"]));
    expect![[r#"
        --- b.ptx
        +++ b.ptx
        @@ -3,5 +3,5 @@
         .address_size 64
        _
         .visible .entry k() {
        -    ret;
        +	ret;
         }
        1 file would be formatted, 0 files already formatted
        Some(1)
    "#]]
    .assert_eq(&run(&["--diff", "--tabs", "b.ptx"]));
    assert_eq!(run(&["--check", "--indent", "2", "b.ptx"]).lines().next(), Some("b.ptx"));
    for usage in [&[][..], &["--check", "--diff", "a.ptx"], &["--indent", "99", "a.ptx"]] {
        assert!(run(usage).ends_with("Some(2)\n"), "{usage:?}");
    }
    assert_eq!(names(folder.path()), ["a.ptx", "b.ptx"]);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let folder = scratch();
    let path = folder.path().join("a.ptx");
    std::fs::write(&path, UGLY).expect("a file");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        finish_fed(command.arg("fmt").args(arguments), Stdio::from(File::open(&path).expect("a file")))
    };
    let done = run(&["-"]);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    assert!(done.out.ends_with("    /* block */ ret;\n}\n"), "{}", done.out);
    let done = run(&["-", "--check"]);
    assert_eq!((done.status, done.out.as_str()), (Some(1), "<stdin>\n"));
}

/// Every text of the test data, also the broken ones: a second run changes nothing, and the code stays the same bytes. Debug info has the
/// lines of the PTX.
#[test]
fn no_code_changes() {
    let folder = scratch();
    let (mut count, mut compiled) = (0, 0);
    let folders =
        std::fs::read_dir(data("")).expect("the test data").map(|entry| entry.expect("an entry").path());
    let has_texts =
        |folder: &PathBuf| folder.is_dir() && names(folder).iter().any(|name| name.ends_with(".ptx"));
    let folders: BTreeSet<PathBuf> = folders.filter(has_texts).collect();
    for path in folders.iter().flat_map(|folder| files(folder, "ptx")) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        count += 1;
        std::fs::write(folder.path().join(format!("{count}.ptx")), text).expect("a file");
    }
    let before = |number: usize| folder.path().join(format!("{number}.ptx"));
    let cubin = |number: usize| {
        compile(&before(number), &folder.path().join("k.cubin"), &["-O1", "--suppress-debug-info"]).ok()
    };
    let codes: Vec<Option<Vec<u8>>> =
        (1..=count).map(|number| if number % 7 == 0 { cubin(number) } else { None }).collect();
    let run = |arguments: &[&str]| oriole_in(folder.path(), arguments);
    assert_eq!(run(&["fmt", "."]).status, Some(0));
    let again = run(&["fmt", "--check", "."]);
    assert_eq!((again.status, again.out.as_str()), (Some(0), ""), "{}", again.err);
    for (number, code) in (1..=count).zip(codes) {
        if let Some(code) = code {
            compiled += 1;
            assert!(cubin(number) == Some(code), "{number}: another cubin");
        }
    }
    assert!(count > 100 && compiled > 10, "{count} {compiled}");
}
