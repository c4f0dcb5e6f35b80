//! The progress of a compile that takes long: a terminal shows it, and nothing else does.

use crate::support::{finish, scratch, text};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A text of kernels with this many instructions.
fn long(instructions: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for kernel in 0..24 {
        let _ = write!(
            text,
            ".visible .entry _Z6long{kernel:02}Pj(.param .u64 p)\n{{\n  .reg .b32 %r<32>;\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n"
        );
        (0..32).for_each(|at| _ = writeln!(text, "  ld.global.u32 %r{at}, [%a+{}];", 4 * at));
        (0..instructions).for_each(|at| {
            let (first, second) = ((at * 7 + 3) % 32, (at * 11 + kernel) % 32);
            _ = writeln!(text, "  mad.lo.u32 %r{}, %r{first}, %r{second}, %r{};", at % 32, (at * 5 + 1) % 32);
        });
        (0..32).for_each(|at| _ = writeln!(text, "  st.global.u32 [%a+{}], %r{at};", 4 * at));
        text.push_str("  ret;\n}\n");
    }
    text
}

/// Runs the program with a terminal as standard error: exit status and what the terminal got.
fn on_a_terminal(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a terminal");
    let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("a path");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(arguments).env("TERM", "xterm").envs(variables.iter().copied());
    let open =
        || std::fs::OpenOptions::new().read(true).write(true).open(Path::new(&name)).expect("a terminal");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(open()).spawn().expect("the program");
    // The terminal ends when no process has it open any more.
    drop(command);
    let mut shown = Vec::new();
    let mut terminal = std::fs::File::from(terminal);
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    (child.wait().expect("it ends").code(), String::from_utf8_lossy(&shown).into_owned())
}

#[test]
fn a_terminal_sees_how_far_a_long_compile_is() {
    let folder = scratch();
    let input = folder.path().join("long.ptx");
    let output = text(&folder.path().join("long.cubin"));
    let arguments = ["compile", &text(&input), "-o", &output, "--jobs", "1"];
    // As long as it must be for this machine to take two seconds. A file sees nothing.
    let is_long = [600, 1200, 2400, 4800, 9600].into_iter().any(|instructions| {
        std::fs::write(&input, long(instructions)).expect("a temporary file");
        let done = finish(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
        done.took > Duration::from_secs(2)
    });
    assert!(is_long, "the text is too short for this machine");
    let plain = std::fs::read(&output).expect("a cubin");
    let (status, shown) = on_a_terminal(&arguments, &[]);
    assert_eq!(status, Some(0), "{shown:?}");
    assert!(shown.contains(" of 24 functions compiled, now _Z6long"), "{shown:?}");
    assert!(shown.contains(" (long"), "names are those of the source: {shown:?}");
    // Nothing is coloured, whether NO_COLOR is set or not, and the line is gone in the end.
    let colours = regex::Regex::new("\x1b\\[[0-9;]*m").expect("an expression");
    assert!(!colours.is_match(&shown), "{shown:?}");
    assert!(shown.ends_with("\x1b[2K"), "{shown:?}");
    assert_eq!(std::fs::read(&output).expect("a cubin"), plain);
    // A terminal that cannot take a line back, programs that read JSON, and short compiles get nothing.
    assert_eq!(on_a_terminal(&arguments, &[("TERM", "dumb")]), (Some(0), String::new()));
    assert_eq!(on_a_terminal(&[&arguments[..], &["--json"]].concat(), &[]), (Some(0), String::new()));
    let short = ["compile", &text(&crate::support::data("kernels").join("reduce.ptx")), "-o", &output];
    assert_eq!(on_a_terminal(&short, &[]), (Some(0), String::new()));
}
