//! How tests run the program: with a limit of time, its output caught, in a folder of its own. No expectation is here.

use oriole_cubin::Cubin;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that one run may take; far more than any needs, so that only a hang meets it.
const LIMIT: Duration = Duration::from_secs(300);

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit status; `None` where a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How long it took.
    pub took: Duration,
}

/// Runs the program under test. The hazard checker must accept all code that it compiles for a simulation, the parts
/// that do not run included.
pub fn oriole<A: AsRef<OsStr>>(arguments: &[A]) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(arguments);
    let said = |word: &str| arguments.iter().any(|argument| argument.as_ref() == word);
    if arguments.first().is_some_and(|first| first.as_ref() == "run")
        && said("sim")
        && !said("--cubin")
        && !said("--cubins")
    {
        command.arg("--check");
    }
    finish(&mut command)
}

/// The file that a command of the program under test, or of it called as ptxas, has written code to.
fn written(command: &Command) -> Option<PathBuf> {
    let program = Path::new(command.get_program());
    let ours = Path::new(env!("CARGO_BIN_EXE_oriole"));
    let arguments: Vec<&OsStr> = command.get_args().collect();
    let compiles = arguments.first().is_some_and(|first| *first == "compile");
    if !(program == ours && compiles || std::fs::read_link(program).is_ok_and(|to| to == ours)) {
        return None;
    }
    let named = arguments.iter().position(|argument| *argument == "-o" || *argument == "--output");
    let path = match named {
        Some(at) => PathBuf::from(arguments.get(at + 1)?),
        None => Path::new(arguments.get(1)?).with_extension("cubin"),
    };
    Some(command.get_current_dir().map_or(path.clone(), |folder| folder.join(path)))
}

/// No code that a test makes may depend on luck.
fn assert_no_hazards(command: &Command) {
    // A FIFO gives nothing twice.
    let Some(path) = written(command).filter(|path| std::fs::metadata(path).is_ok_and(|it| it.is_file()))
    else {
        return;
    };
    let Some(cubin) = std::fs::read(path).ok().and_then(|bytes| oriole_cubin::read(&bytes).ok()) else {
        return;
    };
    let hazards = oriole_simulate::lint(&cubin);
    let told: Vec<String> = hazards.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{command:?} made code with hazards:\n{}", told.join("\n"));
}

/// Runs a command to its end, which must come before the limit.
pub fn finish(command: &mut Command) -> Finished {
    finish_fed(command, Stdio::null())
}

/// The same with this standard input.
pub fn finish_fed(command: &mut Command, input: Stdio) -> Finished {
    // Files and not pipes: they need no reader while it runs.
    let [out, err] = [(), ()].map(|()| tempfile::NamedTempFile::new().expect("a temporary file"));
    let start = Instant::now();
    let mut child = command
        .stdin(input)
        .stdout(out.reopen().expect("a temporary file"))
        .stderr(err.reopen().expect("a temporary file"))
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} starts: {error}"));
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let took = start.elapsed();
    let read =
        |file: &Path| String::from_utf8_lossy(&std::fs::read(file).expect("a temporary file")).into_owned();
    if status.success() {
        assert_no_hazards(command);
    }
    Finished { status: status.code(), out: read(out.path()), err: read(err.path()), took }
}

/// Says a figure, also where the harness keeps the output of tests to itself.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A folder of the test data.
pub fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data").join(folder)
}

/// Files of a folder with this extension, in order of name.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no .{extension}", folder.display());
    files
}

/// Everything is asked for (`ORIOLE_THOROUGH`), also what tests that many chips and kernels share leave out of a plain run.
pub fn is_thorough() -> bool {
    std::env::var_os("ORIOLE_THOROUGH").is_some()
}

/// A fresh folder that goes away with the value.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A path as an argument.
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Names in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder can be read")
        .map(|entry| entry.expect("a folder can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Compiles a file and gives the cubin's bytes, or what the program says against it.
pub fn compile(input: &Path, output: &Path, options: &[&str]) -> Result<Vec<u8>, String> {
    let (input, output_text) = (text(input), text(output));
    let mut arguments = vec!["compile", &input, "-o", &output_text];
    arguments.extend(options);
    let run = oriole(&arguments);
    if run.status != Some(0) {
        return Err(format!("{input} {options:?}: ends with {:?}: {}", run.status, run.err));
    }
    std::fs::read(output).map_err(|error| format!("{output_text}: {error}"))
}

/// Reads a cubin.
pub fn read_cubin(path: &Path) -> Cubin {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    oriole_cubin::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Disassembles a cubin and assembles the text again: how many words there are, and which do not come back.
pub fn round_trip(cubin: &Path, folder: &Path) -> (usize, Vec<String>) {
    let listing = oriole(&["dis", &text(cubin)]);
    assert_eq!(listing.status, Some(0), "dis {}: {}", cubin.display(), listing.err);
    let (source, words) = (folder.join("listing.sass"), folder.join("words.bin"));
    std::fs::write(&source, &listing.out).expect("a temporary file");
    let read = read_cubin(cubin);
    let chip = format!("sm_{}{}", read.sm, if read.accelerated { "a" } else { "" });
    let back = oriole(&["asm", "--arch", &chip, &text(&source), "-o", &text(&words)]);
    assert_eq!(back.status, Some(0), "asm of {}: {}", cubin.display(), back.err);
    let bytes = std::fs::read(&words).expect("asm leaves a file");
    let back = bytes.chunks_exact(16).map(|word| u128::from_le_bytes(word.try_into().expect("16 bytes")));
    let back: Vec<u128> = back.collect();
    let all: Vec<u128> = read.codes().flat_map(|code| code.code.clone()).collect();
    assert_eq!(all.len(), back.len(), "{}: words that come back", cubin.display());
    let wrong = all.iter().zip(&back).filter(|(word, back)| word != back);
    (all.len(), wrong.map(|(word, back)| format!("{word:032x} comes back as {back:032x}")).collect())
}
