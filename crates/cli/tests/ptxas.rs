//! Oriole as a drop-in replacement of ptxas: the answers to a table of command lines, by our program and, where it is there, through ptxas;
//! nvcc that calls our program.
//!
//! A line of `test-data/ptxas/lines.txt` that begins with `>` is a command line, with `@name` for the text of a file. After it
//! come the exit status and the files that were made, and what is said: on standard error, or with `out:` before it the first
//! line on standard output. A line that begins with `#` says why ptxas answers something else.
//! `UPDATE_EXPECT=1` writes the table anew.

use crate::support::{Finished, data, finish, finish_fed, names, oriole, scratch, text};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files that may be in the folder after a call and were not before.
const MADE: [&str; 4] = ["elf.o", "out.o", "-", "same.ptx"];

/// A command line, and what it gives.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    words: String,
    /// Why ptxas answers something else.
    differs: Option<String>,
    answer: String,
}

fn table() -> PathBuf {
    data("ptxas").join("lines.txt")
}

fn lines() -> Vec<Line> {
    let file = std::fs::read_to_string(table()).expect("the table");
    let mut lines: Vec<Line> = Vec::new();
    for text in file.lines() {
        match (text.strip_prefix("> "), text.strip_prefix("# "), lines.last_mut()) {
            (Some(words), _, _) => {
                lines.push(Line { words: words.to_owned(), differs: None, answer: String::new() });
            }
            (None, Some(why), Some(line)) => line.differs = Some(why.to_owned()),
            (None, None, Some(line)) => line.answer += &format!("{text}\n"),
            (None, _, None) => panic!("`{text}` stands before the first command line"),
        }
    }
    lines
}

/// Words between blanks; a quoted one may hold blanks. `@name` is the text of a file.
pub fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, piece) in line.split('"').enumerate() {
        if at % 2 == 1 {
            found.push(piece.to_owned());
        } else {
            found.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    let read = |name: &str| std::fs::read_to_string(data("ptxas").join(name)).expect("a file of the folder");
    let put = |word: String| match word.strip_prefix('@') {
        Some(name) => read(name),
        None => word,
    };
    found.into_iter().map(put).collect()
}

/// A folder with the inputs in it.
pub fn folder() -> tempfile::TempDir {
    let folder = scratch();
    for name in names(&data("ptxas")) {
        std::fs::copy(data("ptxas").join(&name), folder.path().join(&name)).expect("a copy");
    }
    folder
}

/// Our program under the name of ptxas.
pub fn ours(folder: &Path) -> PathBuf {
    let path = folder.join("ptxas");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_oriole"), &path).expect("a link");
    path
}

/// The answer of a program to a command line.
fn answer(program: &Path, folder: &Path, line: &str) -> String {
    let same = folder.join("same.ptx");
    for name in MADE {
        let _ = std::fs::remove_file(folder.join(name));
    }
    std::fs::copy(data("ptxas").join("k.ptx"), &same).expect("a copy");
    let run = finish(Command::new(program).args(words(line)).current_dir(folder));
    let is_new =
        |name: &&str| std::fs::read(folder.join(name)).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let made: Vec<&str> = MADE.into_iter().filter(is_new).collect();
    let status = run.status.map_or("a signal".to_owned(), |status| status.to_string());
    let mut answer = format!("{status} {}", made.join(" ")).trim_end().to_owned() + "\n";
    if !run.out.is_empty() {
        let _ = writeln!(answer, "out: {}", run.out.trim().lines().next().unwrap_or_default());
    }
    answer + &normal(&run.err)
}

/// The messages, without the parts that differ between compilers: times, and numbers of registers and of spills.
fn normal(said: &str) -> String {
    let mut text = String::new();
    for line in said.lines() {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for at in 0..words.len() {
            let rest = words[at..].join(" ");
            let before = at.checked_sub(1).map(|before| words[before].clone()).unwrap_or_default();
            let counted = words.get(at + 1).is_some_and(|next| {
                next.starts_with("registers,")
                    || next == "bytes"
                        && ["stack frame", "spill stores", "spill loads", "cumulative stack"]
                            .iter()
                            .any(|what| rest.splitn(3, ' ').nth(2).is_some_and(|rest| rest.starts_with(what)))
            });
            if (counted || before == "frame:" || before == "=")
                && words[at].starts_with(|c: char| c.is_ascii_digit())
            {
                words[at] = if words[at] == "0" { "0".to_owned() } else { "N".to_owned() };
            }
        }
        text += &format!("{}\n", words.join(" "));
    }
    text
}

/// Every option in every spelling, the command lines of the callers that we know, and mistakes.
#[test]
fn command_lines_of_ptxas_are_answered() {
    let folder = folder();
    let program = ours(folder.path());
    let mut found = String::from("");
    let mut wrong = Vec::new();
    let lines = lines();
    assert!(lines.len() > 150, "{} command lines", lines.len());
    for line in lines {
        let answer = answer(&program, folder.path(), &line.words);
        let differs = line.differs.as_ref().map(|why| format!("# {why}\n")).unwrap_or_default();
        let _ = write!(found, "> {}\n{differs}{answer}", line.words);
        if answer != line.answer {
            wrong.push(format!("> {}\n{answer}instead of\n{}", line.words, line.answer));
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(table(), found).expect("the table can be written");
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// ptxas answers what the table says, but where the table says why not.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn ptxas_answers_the_same() {
    let folder = folder();
    let program = crate::oracle::tools().join("ptxas");
    let mut wrong = Vec::new();
    for line in lines() {
        let answer = answer(&program, folder.path(), &line.words);
        if (answer != line.answer) != line.differs.is_some() {
            wrong.push(format!("> {}\n{answer}instead of\n{}", line.words, line.answer));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The name with which the program is called decides, and so does the first word.
#[test]
fn many_names_lead_to_ptxas() {
    let folder = folder();
    let call = |name: &str, words: &[&str]| {
        let path = folder.path().join(name);
        if !path.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_oriole"), &path).expect("a link");
        }
        finish(Command::new(path).args(words).current_dir(folder.path()))
    };
    for (name, words, program) in [
        ("ptxas", vec!["-nosuch"], "ptxas"),
        ("ptxas-blackwell", vec!["-nosuch"], "ptxas-blackwell"),
        ("ptxas.bin", vec!["ptxas", "-nosuch"], "ptxas"),
        ("other", vec!["ptxas", "-nosuch"], "ptxas"),
        ("other", vec!["ptxas", "ptxas", "-nosuch"], "ptxas"),
    ] {
        let run = call(name, &words);
        assert_eq!(run.status, Some(255), "{name} {words:?}");
        assert_eq!(run.err, format!("{program} fatal   : Unknown option 'nosuch'\n"), "{name} {words:?}");
    }
    assert_eq!(call("other", &["-nosuch"]).status, Some(2), "it is Oriole itself under any other name");
}

/// The result is that of `oriole compile`, byte for byte, also in the place of the input and with several threads.
#[test]
fn the_result_is_that_of_compile() {
    let folder = folder();
    let program = ours(folder.path());
    let at = |name: &str| folder.path().join(name);
    let input = text(&at("doubles.ptx"));
    let compiled = text(&at("compiled.cubin"));
    let done = oriole(&["compile", &input, "--arch", "sm_80", "-o", &compiled]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let wanted = std::fs::read(&compiled).expect("a cubin");
    for extra in
        [&["-o", "elf.o"][..], &["-v", "-split-compile=4"], &["-e", "k", "-O3", "-m64", "--warn-on-spills"]]
    {
        let run = finish(
            Command::new(&program)
                .args(["-arch=sm_80", "doubles.ptx"])
                .args(extra)
                .current_dir(folder.path()),
        );
        assert_eq!(run.status, Some(0), "{}", run.err);
        assert!(std::fs::read(at("elf.o")).expect("a result") == wanted, "{extra:?}");
        std::fs::remove_file(at("elf.o")).expect("it is there");
    }
    let run = finish(
        Command::new(&program)
            .args(["-arch", "sm_80", "doubles.ptx", "-o", "doubles.ptx"])
            .current_dir(folder.path()),
    );
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert!(std::fs::read(at("doubles.ptx")).expect("a result") == wanted);
}

/// Options that stand for directives are in the result as the directives are.
#[test]
fn options_stand_for_directives() {
    let folder = folder();
    let program = ours(folder.path());
    let bounds = |options: &[&str]| {
        let run = finish(
            Command::new(&program).args(["-arch=sm_80", "k.ptx"]).args(options).current_dir(folder.path()),
        );
        assert_eq!(run.status, Some(0), "{}", run.err);
        let cubin = crate::support::read_cubin(&folder.path().join("elf.o"));
        format!("{:?}", cubin.kernels[0].bound)
    };
    let unbound = bounds(&[]);
    assert_ne!(bounds(&["--maxntid", "32,2"]), unbound);
    assert!(bounds(&["--maxntid", "32,2"]).contains("32"), "{}", bounds(&["--maxntid", "32,2"]));
    assert_eq!(
        bounds(&["-maxrregcount", "32", "--maxntid", "64", "-w"]),
        unbound,
        "a bound on registers goes before"
    );
}

/// A bound on registers holds for functions of objects, too, and they may have one of their own.
#[test]
fn functions_of_objects_have_bounds() {
    let folder = folder();
    let program = ours(folder.path());
    let body = |head: &str| {
        let each = |line: &dyn Fn(u32) -> String| (0..64).map(line).collect::<String>();
        let loads = each(&|at| format!("ld.volatile.global.f32 %f{at}, [%rd1+{}];\n", 4 * at));
        let stores = each(&|at| format!("st.volatile.global.f32 [%rd1+{}], %f{};\n", 4 * at, 63 - at));
        let registers = ".reg .b64 %rd<2>;\n.reg .f32 %f<64>;\nld.param.u64 %rd1, [p];\n";
        format!(".visible {head}(.param .b64 p)\n{{\n{registers}{loads}{stores}ret;\n}}\n")
    };
    let module = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{}{}",
        body(".func function"),
        body(".entry kernel")
    );
    std::fs::write(folder.path().join("many.ptx"), module).expect("a file");
    let registers = |options: &[&str]| {
        let mut command = Command::new(&program);
        let run =
            finish(command.args(["-c", "-arch=sm_80", "many.ptx"]).args(options).current_dir(folder.path()));
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{options:?}");
        let cubin = crate::support::read_cubin(&folder.path().join("elf.o"));
        (cubin.kernels[0].registers, cubin.functions[0].registers)
    };
    let (free, of_function) = registers(&[]);
    assert!(free > 64 && of_function > 64, "{free} {of_function}");
    assert_eq!(registers(&["-func-maxrregcount", "40"]), (free, 40));
    assert_eq!(registers(&["-maxrregcount=48"]), (48, 48));
    assert_eq!(registers(&["-maxrregcount=48", "--device-function-maxrregcount=32"]), (48, 32));
    assert_eq!(registers(&["-maxrregcount=32", "-func-maxrregcount=archmax"]), (32, of_function));
}

/// Another ptxas compiles what Oriole does not support, with the same words and without ours.
#[test]
fn another_ptxas_is_run_for_what_is_not_supported() {
    let folder = folder();
    let program = ours(folder.path());
    let other = folder.path().join("real");
    std::fs::write(&other, "#!/bin/sh\necho \"called with $*\"\ncat\nexit 7\n").expect("a script");
    finish(Command::new("chmod").arg("+x").arg(&other));
    let call = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["--fallback", &text(&other), "-arch=sm_80"]).args(words).current_dir(folder.path());
        finish(&mut command)
    };
    let Finished { status, out, err, .. } = call(&["-sanitize=memcheck", "k.ptx", "-v"]);
    assert_eq!((status, out.as_str()), (Some(7), "called with -arch=sm_80 -sanitize=memcheck k.ptx -v\n"));
    assert!(err.starts_with("oriole: ") && err.contains("'--sanitize' is not supported by Oriole"), "{err}");
    let wrong = call(&["types.ptx"]);
    assert_eq!((wrong.status, wrong.out.as_str()), (Some(255), ""), "a mistake is a mistake");
    let right = call(&["k.ptx"]);
    assert_eq!((right.status, right.err.as_str()), (Some(0), ""));
}

/// Standard input is `-`, and what another ptxas is run for goes on to it; a pipe is read.
#[test]
fn inputs_come_from_streams() {
    let folder = folder();
    let program = ours(folder.path());
    let module = || Stdio::from(std::fs::File::open(folder.path().join("k.ptx")).expect("a module"));
    let mut command = Command::new(&program);
    let run = finish_fed(command.args(["-arch=sm_80", "-"]).current_dir(folder.path()), module());
    assert_eq!(run.status, Some(0), "{}", run.err);
    let plain = std::fs::read(folder.path().join("elf.o")).expect("a result");
    let other = folder.path().join("real");
    std::fs::write(&other, "#!/bin/sh\nwc -c\n").expect("a script");
    finish(Command::new("chmod").arg("+x").arg(&other));
    let mut command = Command::new(&program);
    command.args(["-arch=sm_80", "-", "-sanitize=memcheck", "--fallback", &text(&other)]);
    let run = finish_fed(command.current_dir(folder.path()), module());
    let bytes = std::fs::metadata(folder.path().join("k.ptx")).expect("a module").len();
    assert_eq!((run.status, run.out.trim()), (Some(0), bytes.to_string().as_str()), "{}", run.err);
    let script = "mkfifo pipe && (cat k.ptx > pipe &) && ./ptxas -arch=sm_80 pipe -o out.o";
    let run = finish(Command::new("sh").args(["-c", script]).current_dir(folder.path()));
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert!(std::fs::read(folder.path().join("out.o")).expect("a result") == plain);
}

/// The newest version in the list is the newest one that is accepted.
#[test]
fn the_newest_version_is_the_one_that_is_told() {
    let folder = folder();
    let program = ours(folder.path());
    let list = finish(Command::new(&program).arg("--list-version"));
    let newest = list.out.lines().last().expect("a version").to_owned();
    let (major, minor) = newest.split_once('.').expect("major and minor");
    let next = format!("{major}.{}", minor.parse::<u32>().expect("a number") + 1);
    for (version, status) in [(newest.as_str(), 0), (next.as_str(), 255)] {
        let module = std::fs::read_to_string(data("ptxas").join("k.ptx")).expect("a module");
        let path = folder.path().join("version.ptx");
        std::fs::write(&path, module.replace("8.0", version)).expect("a file");
        let run =
            finish(Command::new(&program).args(["-arch=sm_80", "version.ptx"]).current_dir(folder.path()));
        assert_eq!(run.status, Some(status), "{version}: {}", run.err);
        assert_eq!(status == 0, !run.err.contains(&format!("current version is '{newest}'")), "{}", run.err);
    }
}

/// nvcc compiles with our program as a drop-in replacement of ptxas: by a folder that stands for the toolkit, and by a prefix.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn nvcc_compiles_with_oriole() {
    let folder = folder();
    let cuda = crate::oracle::tools().parent().expect("a toolkit").to_owned();
    let shadow = text(&folder.path().join("shadow"));
    let made = oriole(&["init-shadow", &shadow, "--cuda", &text(&cuda)]);
    assert_eq!(made.status, Some(0), "{}", made.err);
    let source = "__global__ void twice(float *a) { a[threadIdx.x] *= 2; }\nint main() { return 0; }\n";
    std::fs::write(folder.path().join("a.cu"), source).expect("a file");
    let caller =
        "__device__ int f(int);\n__global__ void g(int *a) { *a = f(*a); }\nint main() { return 0; }\n";
    std::fs::write(folder.path().join("b.cu"), caller).expect("a file");
    std::fs::write(folder.path().join("c.cu"), "__device__ int f(int x) { return 3 * x; }\n")
        .expect("a file");
    let real = text(&cuda.join("bin/nvcc"));
    let prefix = ["--ptxas-prefix", env!("CARGO_BIN_EXE_oriole")];
    for (nvcc, options) in [(made.out.trim(), &[][..]), (real.as_str(), &prefix[..])] {
        let words = ["-arch=sm_80", "-cubin", "a.cu", "-o", "a.cubin", "-Xptxas", "-v"];
        let run = finish(Command::new(nvcc).args(words).args(options).current_dir(folder.path()));
        assert_eq!(run.status, Some(0), "{nvcc}: {}{}", run.out, run.err);
        assert!(run.err.contains("Compiling entry function '_Z5twicePf' for 'sm_80'"), "{}", run.err);
        let cubin = std::fs::read(folder.path().join("a.cubin")).expect("a cubin");
        assert!(cubin.windows(6).any(|part| part == b"Oriole"), "{nvcc} called another ptxas");
        for words in [
            &["-c", "a.cu", "-o", "a.o"][..],
            &["-dc", "b.cu", "c.cu"],
            &["-dlink", "b.o", "c.o", "-o", "d.o"],
        ] {
            let mut command = Command::new(nvcc);
            let run = finish(command.arg("-arch=sm_80").args(words).args(options).current_dir(folder.path()));
            assert_eq!(run.status, Some(0), "{nvcc} {words:?}: {}{}", run.out, run.err);
        }
    }
}
