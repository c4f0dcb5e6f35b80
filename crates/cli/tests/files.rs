//! Files as the program meets them: what is not a plain file, links, permissions, an input in the place of the output, standard
//! streams, and inputs without an end.

use crate::support::{data, finish, finish_fed, names, oriole, scratch, text};
use std::path::Path;
use std::process::{Command, Stdio};

const MODULE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 7;
  ret;
}
";

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_oriole"))
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    text(&path)
}

fn fifo(path: &Path) -> String {
    assert!(finish(Command::new("mkfifo").arg(path)).status == Some(0));
    text(path)
}

/// An output is never written in the place of its input, whatever the names that lead there.
#[test]
fn the_input_is_never_overwritten() {
    let folder = scratch();
    let input = write(folder.path(), "k.cubin", MODULE);
    let link = text(&folder.path().join("link"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&input, &link).expect("a link");
    #[cfg(not(unix))]
    std::fs::hard_link(&input, &link).expect("a link");
    let listing = write(folder.path(), "words.sass", "NOP");
    for arguments in [
        &["compile", &input][..],
        &["compile", &input, "-o", &input],
        &["compile", &input, "-o", &link],
        &["asm", &listing, "-o", &listing],
    ] {
        let run = oriole(arguments);
        assert_eq!(run.status, Some(1), "{arguments:?}: {}", run.err);
        assert!(run.err.contains("the place of the input"), "{arguments:?}: {}", run.err);
    }
    assert_eq!(std::fs::read_to_string(&input).expect("the input"), MODULE);
    assert_eq!(std::fs::read_to_string(&listing).expect("the input"), "NOP");
}

/// `-` is standard input, and as an output standard output.
#[test]
fn standard_streams() {
    let folder = scratch();
    let path = write(folder.path(), "k.ptx", MODULE);
    let fed = || Stdio::from(std::fs::File::open(&path).expect("the input"));
    let output = text(&folder.path().join("out.cubin"));
    assert_eq!(finish_fed(program().args(["compile", "-", "-o", &output]), fed()).status, Some(0));
    assert_eq!(oriole(&["compile", &path]).status, Some(0));
    let [a, b] =
        ["out.cubin", "k.cubin"].map(|name| std::fs::read(folder.path().join(name)).expect("a cubin"));
    assert_eq!(a, b);
    let run = finish_fed(program().args(["compile", "-", "-o", "-"]), fed());
    assert!(run.status == Some(0) && run.out.contains("ELF"), "{}", run.err);
    let run = finish_fed(program().args(["compile", "-"]), fed());
    assert!(run.status == Some(1) && run.err.contains("-o"), "{}", run.err);
    let run = finish_fed(program().args(["check", "-"]), fed());
    assert_eq!(run.status, Some(0), "{}", run.err);
    let wrong = write(folder.path(), "wrong.ptx", MODULE.replace("[%a], 7", "[%b], 7"));
    let run = finish_fed(program().args(["check", "-"]), std::fs::File::open(wrong).expect("it").into());
    assert!(run.err.contains("<stdin>:8:18"), "{}", run.err);
}

/// A file that holds the result already is not written again, but it is as new as the result; any other one is replaced.
#[cfg(unix)]
#[test]
fn a_file_with_the_same_bytes_is_only_touched() {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, SystemTime};
    let folder = scratch();
    let (input, output) = (write(folder.path(), "k.ptx", MODULE), folder.path().join("k.cubin"));
    let facts = || output.metadata().expect("the cubin");
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let compile_over_old = || {
        let old = std::fs::File::options().write(true).open(&output).expect("the cubin");
        old.set_modified(long_ago).expect("its time");
        let place = facts().ino();
        assert_eq!(oriole(&["compile", &input]).status, Some(0));
        assert!(facts().modified().expect("its time") > long_ago + Duration::from_secs(1800));
        facts().ino() == place
    };
    assert_eq!(oriole(&["compile", &input]).status, Some(0));
    let first = std::fs::read(&output).expect("the cubin");
    assert!(compile_over_old());
    let mut other = first.clone();
    *other.last_mut().expect("a byte") ^= 1;
    std::fs::write(&output, &other).expect("it is written");
    assert!(!compile_over_old());
    assert_eq!(std::fs::read(&output).expect("the cubin"), first);
    assert_eq!(names(folder.path()), ["k.cubin", "k.ptx"]);
}

/// The target of an output keeps its kind: a link, a device, a FIFO, a file with its permissions.
#[cfg(unix)]
#[test]
fn outputs_are_written_where_they_lead() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let folder = scratch();
    let input = write(folder.path(), "k.ptx", MODULE);
    let at = |name: &str| folder.path().join(name);
    let compile = |output: &str| oriole(&["compile", &input, "-o", &text(&at(output))]);
    let mode = |name: &str| std::fs::metadata(at(name)).expect("a file").permissions().mode() & 0o777;
    let is_cubin = |name: &str| std::fs::read(at(name)).expect("a file").starts_with(b"\x7fELF");

    // Links, to a file and to nothing, stay links.
    std::fs::create_dir(at("below")).expect("a folder");
    write(&at("below"), "there.cubin", "old");
    symlink("below/there.cubin", at("to_file")).expect("a link");
    symlink("below/new.cubin", at("to_nothing")).expect("a link");
    symlink("round", at("round")).expect("a link");
    for name in ["to_file", "to_nothing"] {
        assert_eq!(compile(name).status, Some(0), "{name}");
        assert!(at(name).symlink_metadata().expect("the link").is_symlink(), "{name}");
        assert!(is_cubin(name));
    }
    assert_eq!(names(&at("below")), ["new.cubin", "there.cubin"]);
    assert_eq!(compile("round").status, Some(1));

    // Devices and FIFOs are written to.
    let null = oriole(&["compile", &input, "-o", "/dev/null"]);
    assert_eq!(null.status, Some(0), "{}", null.err);
    assert!(Path::new("/dev/null").metadata().expect("it is there").file_type().is_char_device());
    let pipe = fifo(&at("pipe"));
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().expect("cat starts");
    assert_eq!(compile("pipe").status, Some(0));
    assert!(reader.wait_with_output().expect("cat ends").stdout.starts_with(b"\x7fELF"));
    assert!(at("pipe").metadata().expect("it is there").file_type().is_fifo());
    let run = compile("pipe");
    assert!(run.status == Some(1) && run.err.contains("no process reads"), "{}", run.err);

    // Permissions.
    write(folder.path(), "kept", "old");
    std::fs::set_permissions(at("kept"), PermissionsExt::from_mode(0o640)).expect("permissions");
    assert!(compile("kept").status == Some(0) && is_cubin("kept"));
    assert_eq!(mode("kept"), 0o640);
    write(folder.path(), "read_only", "old");
    std::fs::set_permissions(at("read_only"), PermissionsExt::from_mode(0o444)).expect("permissions");
    let run = compile("read_only");
    assert!(run.status == Some(1) && run.err.contains("read-only"), "{}", run.err);
    assert_eq!(std::fs::read(at("read_only")).expect("it is there"), b"old");
    let script =
        format!("umask 077; '{}' compile '{input}' -o '{}'", env!("CARGO_BIN_EXE_oriole"), text(&at("own")));
    assert_eq!(finish(Command::new("sh").args(["-c", &script])).status, Some(0));
    assert_eq!(mode("own"), 0o600);
}

/// Nothing that is given as an input makes the program wait without end or read without a bound.
#[cfg(unix)]
#[test]
fn inputs_end() {
    let folder = scratch();
    let pipe = fifo(&folder.path().join("pipe.ptx"));
    let launch =
        |ptx: &str| format!(r#"{{"ptx":"{ptx}","entry":"k","grid":[1,1,1],"block":[1,1,1],"args":[]}}"#);
    let piped = write(folder.path(), "piped.json", launch("pipe.ptx"));
    let endless = write(folder.path(), "endless.json", launch("/dev/zero"));
    let cases: &[(i32, &str, &[&str])] = &[
        (1, "no process writes", &["check", &pipe]),
        (1, "no process writes", &["dis", &pipe]),
        (2, "no process writes", &["run", &piped, "--on", "interp"]),
        (1, "a device", &["check", "/dev/zero"]),
        (1, "a device", &["compile", "/dev/zero", "-o", "/dev/null"]),
        (1, "a device", &["asm", "/dev/zero"]),
        (2, "a device", &["run", &endless, "--on", "interp"]),
        (2, "neither a file nor a folder", &["watch", &pipe]),
        (1, "", &["check", &text(folder.path())]),
    ];
    for (status, message, arguments) in cases {
        let run = oriole(arguments);
        assert_eq!(run.status, Some(*status), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(message), "{arguments:?}: {}", run.err);
    }
    // With a writer a FIFO is an input like any other, however late he writes.
    let module = data("kernels").join("reduce.ptx");
    let script = format!("(sleep 1; cat '{}') > '{pipe}'", text(&module));
    let mut writer = Command::new("sh").args(["-c", &script]).spawn().expect("sh starts");
    let run = oriole(&["check", &pipe]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert!(writer.wait().expect("sh ends").success());
}
