//! The folder that an error of the compiler itself leaves: all that a report of it needs. It holds the texts, the command line, the
//! version, what was said, and the panics with their backtraces.
//!
//! It is here so that a user can send one folder instead of searching for these. Nothing is sent anywhere, and nothing but this folder
//! and a line with its path comes of it: messages, files and exit status are as they are without it.

use std::any::Any;
use std::backtrace::Backtrace;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The variable that says where folders are made; `off`, or nothing, for none.
const VARIABLE: &str = "ORIOLE_CRASH_FOLDER";
/// Bytes of a file that is copied, at most.
const LARGEST: u64 = 64 << 20;
/// Panics that are kept, and folders of a process, at most.
const PANICS: usize = 8;
const FOLDERS: usize = 4;

/// The panics of this process: of stages, of requests, or of itself.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The errors that have a folder.
static LEFT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// From now on panics are kept with their backtraces; they are printed as before.
pub fn watch() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name").to_owned();
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < PANICS {
            seen.push(format!("thread {name}: {panic}\n\n{}", Backtrace::force_capture()));
        }
        drop(seen);
        print(panic);
    }));
}

/// Leaves a folder for an error, and prints its path. `texts` are names and texts beyond the files of the command line.
pub fn leave(error: &str, texts: &[(&str, &str)]) {
    if let Some(folder) = left(error, texts) {
        let said =
            format!("note: what a report of this error needs is in {}; please send it\n", folder.display());
        // A reader that went away does not need it.
        let _ = std::io::stderr().write_all(said.as_bytes());
    }
}

/// Leaves a folder for a panic that ends the program. One about output that has no reader is no error of the compiler.
pub fn ended(payload: &(dyn Any + Send)) {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text =
        text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
    if !text.starts_with("failed printing to ") {
        leave(&format!("the program panicked: {text}"), &[]);
    }
}

/// Leaves a folder for an error; none if that is switched off, it has one already, or it cannot be written.
pub fn left(error: &str, texts: &[(&str, &str)]) -> Option<PathBuf> {
    let parent = match std::env::var_os(VARIABLE) {
        Some(value) if value.is_empty() || value == "off" => return None,
        Some(value) => PathBuf::from(value),
        None => std::env::temp_dir(),
    };
    {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= FOLDERS || !left.insert(error.to_owned()) {
            return None;
        }
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    // The error that was there before is the one that counts.
    write(&parent, error, &words, texts).ok()
}

/// Writes the folder.
fn write(parent: &Path, error: &str, words: &[OsString], texts: &[(&str, &str)]) -> std::io::Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("oriole-crash-");
    // Others can neither read it nor put anything there.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir_in(parent)?;
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner).join("\n\n");
    let mut report = format!(
        "error: {error}\nphase: {}\nversion: {} {}\nsystem: {} {}\ncommand line:",
        phase(error).unwrap_or("not known"),
        env!("CARGO_PKG_VERSION"),
        oriole::program::BUILD,
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    for word in words {
        let _ = write!(report, " {:?}", without_password(&word.to_string_lossy()));
    }
    if let Ok(current) = std::env::current_dir() {
        let _ = write!(report, "\nfolder: {}", current.display());
    }
    report.push_str("\ninputs:\n");
    for (number, (name, text)) in (1..).zip(texts) {
        let own = format!("{number}-{}", file_name(Path::new(name)));
        std::fs::write(folder.path().join(&own), text)?;
        let _ = writeln!(report, "  {own} is {name}");
    }
    let known: BTreeSet<&str> = texts.iter().map(|(name, _)| *name).collect();
    for (number, path) in (texts.len() + 1..).zip(inputs(words)) {
        if known.contains(&*path.to_string_lossy()) {
            continue;
        }
        let own = format!("{number}-{}", file_name(path));
        std::fs::copy(path, folder.path().join(&own))?;
        let _ = writeln!(report, "  {own} is {}", path.display());
    }
    let none = "No panic: the compiler found the contradiction itself.\n";
    std::fs::write(folder.path().join("backtrace.txt"), if seen.is_empty() { none } else { &seen })?;
    std::fs::write(folder.path().join("report.txt"), report)?;
    Ok(folder.keep())
}

/// A word of a command line without the user and the password of an address in it, and without its options: those of a client may
/// be keys.
fn without_password(word: &str) -> String {
    let (word, options) = match word.find("://").and_then(|start| Some(start + word[start..].find('?')?)) {
        Some(at) => (&word[..at], "?***"),
        None => (word, ""),
    };
    let secret = word.find("://").and_then(|start| {
        let host = &word[start + 3..];
        let end = host.find('/').unwrap_or(host.len());
        Some((start + 3, start + 3 + host[..end].rfind('@')?))
    });
    secret.map_or(word.to_owned(), |(start, end)| format!("{}***{}", &word[..start], &word[end..])) + options
}

/// The phase of an error whose text is `in PHASE: MESSAGE`.
fn phase(error: &str) -> Option<&str> {
    let start = error.find("in ")? + 3;
    let (phase, _) = error[start..].split_once(": ")?;
    (!phase.contains(char::is_whitespace)).then_some(phase)
}

/// Options before files that are no inputs: outputs, and secrets.
const NO_INPUTS: [&str; 4] = ["-o", "--output", "--output-file", "--cache-signing-key"];

/// The words of a command line that are files to read.
fn inputs(words: &[OsString]) -> impl Iterator<Item = &Path> {
    let is_input = |before: &OsString| !NO_INPUTS.iter().any(|option| before == option);
    let words = words.iter().zip(words.iter().skip(1)).filter(move |(before, _)| is_input(before));
    words
        .map(|(_, word)| Path::new(word))
        .filter(|path| path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().map_or("text".to_owned(), |name| name.to_string_lossy().into_owned());
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// A panic in a stage leaves its inputs, the command line and a backtrace; a name of an input is no path.
    #[test]
    fn a_folder_has_what_a_report_needs() {
        let scratch = tempfile::tempdir().expect("a folder");
        let input = scratch.path().join("k.ptx");
        std::fs::write(&input, ".version 8.0\n").expect("it can be written");
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        watch();
        let panicked = std::panic::catch_unwind(|| panic!("number {}", 7));
        let _ = std::panic::take_hook();
        std::panic::set_hook(quiet);
        assert!(panicked.is_err());
        let output = scratch.path().join("k.cubin");
        std::fs::write(&output, "old").expect("it can be written");
        let key = scratch.path().join("key");
        std::fs::write(&key, "a secret of some length").expect("it can be written");
        let words = [
            "oriole".as_ref(),
            "compile".as_ref(),
            input.as_os_str(),
            "-o".as_ref(),
            output.as_os_str(),
            "--cache-signing-key".as_ref(),
            key.as_os_str(),
        ];
        let words = words.map(OsString::from);
        let folder = write(scratch.path(), "in GvnCse: number 7", &words, &[("../a b<stdin>", "text")]);
        let folder = folder.expect("it is written");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&folder.metadata().expect("it is there").permissions())
                & 0o777,
            0o700
        );
        let mut names: Vec<_> = std::fs::read_dir(&folder).expect("it is there").flatten().collect();
        names.sort_by_key(std::fs::DirEntry::file_name);
        let names: Vec<_> = names.iter().map(std::fs::DirEntry::file_name).collect();
        assert_eq!(names, ["1-a_b_stdin_", "2-k.ptx", "backtrace.txt", "report.txt"]);
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is there");
        let report = read("report.txt").replace(&*scratch.path().to_string_lossy(), "FOLDER");
        let of_build =
            |line: &&str| !["version: ", "system: ", "folder: "].iter().any(|start| line.starts_with(start));
        let report: Vec<&str> = report.lines().filter(of_build).collect();
        expect![[r#"
            error: in GvnCse: number 7
            phase: GvnCse
            command line: "oriole" "compile" "FOLDER/k.ptx" "-o" "FOLDER/k.cubin" "--cache-signing-key" "FOLDER/key"
            inputs:
              1-a_b_stdin_ is ../a b<stdin>
              2-k.ptx is FOLDER/k.ptx"#]]
        .assert_eq(&report.join("\n"));
        assert_eq!((read("2-k.ptx"), read("1-a_b_stdin_")), (".version 8.0\n".to_owned(), "text".to_owned()));
        let trace = read("backtrace.txt");
        assert!(trace.contains("number 7") && trace.contains("src/crash.rs"), "{trace}");
        assert!(write(&scratch.path().join("none"), "x", &words, &[]).is_err());
    }

    #[test]
    fn passwords_are_left_out() {
        let words = [
            "--cache-url=redis://me:p@ss@host:1/0",
            "http://host/a@b",
            "k?.ptx",
            "s3://b/p?secret_access_key=x",
        ];
        let shown = words.map(without_password);
        assert_eq!(shown, ["--cache-url=redis://***@host:1/0", "http://host/a@b", "k?.ptx", "s3://b/p?***"]);
    }

    #[test]
    fn phases_are_read_from_messages() {
        assert_eq!(phase("in FinalInspectionPass: no form"), Some("FinalInspectionPass"));
        assert_eq!(phase("`textDocument/hover` failed: index out of bounds"), None);
        assert_eq!(phase("the program panicked"), None);
    }
}
