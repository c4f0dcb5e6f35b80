//! `oriole watch`: what is compiled, written and said when files change, break, go away and come back.

use crate::support::{oriole, scratch};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn kernel(name: &str, value: u32) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p)\n{{\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n  st.global.u32 [%a], {value};\n  ret;\n}}\n"
    )
}

fn module(kernels: &[(&str, u32)]) -> String {
    let kernels: String = kernels.iter().map(|(name, value)| kernel(name, *value)).collect();
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{kernels}")
}

/// A running watch; it dies with this value.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(folder: &Path, arguments: &[&str]) -> Watch {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .current_dir(folder)
            .arg("watch")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok());
        });
        Watch { child, lines }
    }

    /// Writes a line to its standard input.
    fn enter(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input is piped");
        writeln!(input, "{line}").expect("it reads");
    }

    /// The next line, without the time at its end; waits for it.
    fn line(&self) -> String {
        let line = self.lines.recv_timeout(Duration::from_secs(60)).expect("the watch says something");
        match line.rsplit_once("; ") {
            Some((line, time)) if time.ends_with(" ms") => line.to_owned(),
            _ => line,
        }
    }

    fn lines<const N: usize>(&self) -> [String; N] {
        std::array::from_fn(|_| self.line())
    }

    /// Nothing more is said for a while.
    fn is_quiet(&self) -> bool {
        self.lines.recv_timeout(Duration::from_millis(500)).is_err()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_change_recomputes_what_depends_on_it() {
    let folder = scratch();
    let (ptx, cubin) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
    let write = |text: &str| std::fs::write(&ptx, text).unwrap();
    let first = module(&[("one", 1), ("two", 2), ("three", 3)]);
    write(&first);
    let watch = Watch::start(folder.path(), &[]);
    let [start, ready] = watch.lines();
    assert!(start.starts_with("a.ptx [sm_90]: 3 functions compiled, 3 kernels laid out"), "{start}");
    assert_eq!(ready, "watching 1 file");
    let bytes = std::fs::read(&cubin).unwrap();

    // One kernel of three.
    let second = module(&[("one", 1), ("two", 22), ("three", 3)]);
    write(&second);
    let [what, why] = watch.lines();
    assert!(what.starts_with("a.ptx [sm_90]: 1 function compiled, 1 kernel laid out"), "{what}");
    assert_eq!(why, "  entry two: compiled, as its text changed");
    assert_ne!(std::fs::read(&cubin).unwrap(), bytes);

    // The same bytes again: nothing happens at all.
    write(&second);
    assert!(watch.is_quiet());

    // A comment: nothing is compiled, nothing is written.
    let written = std::fs::metadata(&cubin).unwrap().modified().unwrap();
    write(&second.replace("  ret;", "  ret; // done"));
    let what = watch.line();
    assert!(what.contains("0 functions compiled"), "{what}");
    assert!(what.ends_with("the cubin stays the same"), "{what}");
    let _: [String; 3] = watch.lines();
    assert_eq!(std::fs::metadata(&cubin).unwrap().modified().unwrap(), written);

    // First one kernel gets its first text again, then all do: both are still known, and the bytes are those of the first
    // compile.
    write(&first.replace("ret;", "ret; "));
    assert!(watch.line().contains("0 functions compiled, 1 from the store"));
    let _: [String; 3] = watch.lines();
    assert!(std::fs::read(&cubin).unwrap() == bytes);
    write(&first);
    assert_eq!(watch.line(), "a.ptx [sm_90]: known as a whole; the cubin stays the same");
}

/// A family and its base chip are compiled apart: each has a container, and an edit runs in each what was edited.
#[test]
fn families_are_watched_beside_their_base_chips() {
    let folder = scratch();
    let path = folder.path().join("a.ptx");
    let text = |value| {
        let text = module(&[("one", 1), ("two", value)]).replace(".version 8.0", ".version 9.0");
        text.replace("sm_90", "sm_100f")
    };
    std::fs::write(&path, text(2)).unwrap();
    let watch = Watch::start(folder.path(), &["--arch", "sm_100,sm_100f", "."]);
    let [base, family, ready] = watch.lines();
    assert!(base.starts_with("a.ptx [sm_100]: 2 functions compiled, 2 kernels laid out"), "{base}");
    assert!(family.starts_with("a.ptx [sm_100f]: 2 functions compiled, 2 kernels laid out"), "{family}");
    assert_eq!(ready, "watching 1 file");
    std::fs::write(&path, text(22)).unwrap();
    for chip in ["sm_100", "sm_100f"] {
        let [what, why] = watch.lines();
        let one = format!("a.ptx [{chip}]: 1 function compiled, 1 kernel laid out");
        assert!(what.starts_with(&one), "{what}");
        assert_eq!(why, "  entry two: compiled, as its text changed");
    }
    drop(watch);
    // Without a chip the file is for its family.
    let watch = Watch::start(folder.path(), &["."]);
    let what = watch.line();
    assert!(what.starts_with("a.ptx [sm_100f]: "), "{what}");
}

/// A file for a chip that no table knows is not compiled, and nothing is written.
#[test]
fn a_file_for_an_unknown_chip_is_not_compiled() {
    let folder = scratch();
    let text = module(&[("one", 1)]).replace("sm_90", "sm_130");
    std::fs::write(folder.path().join("a.ptx"), text).unwrap();
    let watch = Watch::start(folder.path(), &["."]);
    let what = watch.line();
    assert!(what.starts_with("a.ptx [sm_130]: ") && what.contains("; not compiled; "), "{what}");
    drop(watch);
    assert!(!folder.path().join("a.cubin").exists());
}

#[test]
fn broken_gone_and_renamed_files_lose_nothing() {
    let folder = scratch();
    let (ptx, cubin) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
    let text = module(&[("one", 1), ("two", 2)]);
    std::fs::write(&ptx, &text).unwrap();
    let watch = Watch::start(folder.path(), &["."]);
    let _: [String; 2] = watch.lines();
    let bytes = std::fs::read(&cubin).unwrap();

    // Half-written, no text at all, then whole again: the last good cubin stays all the while.
    std::fs::write(&ptx, &text[..text.len() - 20]).unwrap();
    let what = watch.line();
    assert!(what.ends_with("not compiled; what was written before stays"), "{what}");
    assert_eq!(watch.line(), "  entry two: its text changed");
    std::fs::write(&ptx, [0xff, 0xfe, 0]).unwrap();
    assert_eq!(watch.line(), "a.ptx: cannot be read; what was written before stays");
    assert!(std::fs::read(&cubin).unwrap() == bytes);
    std::fs::write(&ptx, &text).unwrap();
    let what = watch.line();
    assert_eq!(what, "a.ptx [sm_90]: known as a whole; the cubin stays the same");

    // Renamed into a folder that is made meanwhile.
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    std::fs::rename(&ptx, below.join("b.ptx")).unwrap();
    let mut said = watch.lines::<2>();
    said.sort();
    assert_eq!(said[0], "a.ptx: gone; its cubins stay");
    assert!(said[1].starts_with("below/b.ptx [sm_90]: known as a whole; wrote"), "{}", said[1]);
    assert!(std::fs::read(below.join("b.cubin")).unwrap() == bytes);
    assert!(cubin.exists());
}

#[test]
fn several_chips_and_a_folder_for_cubins() {
    let folder = scratch();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/a.ptx"), module(&[("one", 1)])).unwrap();
    let watch = Watch::start(folder.path(), &["in", "--arch", "sm_90,sm_90a", "--out", "out"]);
    let [first, second, _] = watch.lines();
    assert!(first.starts_with("a.ptx [sm_90]: 1 function compiled"), "{first}");
    assert!(second.starts_with("a.ptx [sm_90a]: 1 function compiled"), "{second}");
    for chip in ["sm_90", "sm_90a"] {
        let watched = std::fs::read(folder.path().join(format!("out/a.{chip}.cubin"))).unwrap();
        let output = folder.path().join("cold.cubin");
        let input = folder.path().join("in/a.ptx");
        let arguments = ["compile", input.to_str().unwrap(), "--arch", chip, "-o", output.to_str().unwrap()];
        assert_eq!(oriole(&arguments).status, Some(0));
        assert!(watched == std::fs::read(&output).unwrap());
    }
    drop(watch);
    assert_eq!(oriole(&["watch", "in/no_such_file"]).status, Some(2));
    assert_eq!(oriole(&["watch", "--arch", "sm_60"]).status, Some(2));
    let unknown = oriole(&["watch", "--arch", "sm_90,sm_123"]);
    assert_eq!(unknown.status, Some(2));
    assert!(unknown.err.contains("[target::no-encoding]"), "{}", unknown.err);
}

/// A folder that is removed and created anew is watched again, and both are reported.
#[test]
fn a_folder_that_comes_back_is_watched_again() {
    let folder = scratch();
    let sources = folder.path().join("in");
    let make = |value| {
        std::fs::create_dir_all(&sources).unwrap();
        std::fs::write(sources.join("a.ptx"), module(&[("one", value)])).unwrap();
    };
    make(1);
    let watch = Watch::start(folder.path(), &["in", "--out", "out"]);
    let _: [String; 2] = watch.lines();
    for round in 2..4 {
        std::fs::remove_dir_all(&sources).unwrap();
        let mut said = watch.lines::<2>();
        said.sort();
        assert_eq!(said, ["a.ptx: gone; its cubins stay", "in: gone; it is looked for"]);
        make(round);
        assert_eq!(watch.line(), "in: there again");
        let what = watch.line();
        assert!(what.starts_with("a.ptx [sm_90]: 1 function compiled"), "{what}");
        // And events of the new folder arrive.
        std::fs::write(sources.join("a.ptx"), module(&[("one", 10 * round)])).unwrap();
        let [what, why] = watch.lines();
        assert!(what.starts_with("a.ptx [sm_90]: 1 function compiled"), "{what}");
        assert_eq!(why, "  entry one: compiled, as its text changed");
    }
}

/// Links are followed: to files, whose changes happen elsewhere, and to folders, round and round or not.
#[cfg(unix)]
#[test]
fn changes_behind_links_are_seen() {
    use std::os::unix::fs::symlink;
    let folder = scratch();
    let at = |name: &str| folder.path().join(name);
    for name in ["in", "far", "away"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    let write = |name: &str, value| std::fs::write(at(name), module(&[("one", value)])).unwrap();
    write("far/real.ptx", 1);
    write("away/b.ptx", 2);
    symlink("../far/real.ptx", at("in/a.ptx")).unwrap();
    symlink("../away", at("in/away")).unwrap();
    symlink(".", at("away/round")).unwrap();
    let watch = Watch::start(folder.path(), &["in", "--out", "out"]);
    let [a, b] = watch.lines();
    assert!(a.starts_with("a.ptx [sm_90]: 1 function compiled"), "{a}");
    assert!(b.starts_with("away/b.ptx [sm_90]: 1 function compiled"), "{b}");
    assert_eq!(watch.line(), "watching 2 files");
    for (name, shown, value) in [("far/real.ptx", "a.ptx", 3), ("away/b.ptx", "away/b.ptx", 4)] {
        write(name, value);
        let [what, why] = watch.lines();
        assert!(what.starts_with(&format!("{shown} [sm_90]: 1 function compiled")), "{what}");
        assert_eq!(why, "  entry one: compiled, as its text changed");
    }
}

/// Anything but a plain file is passed over, whatever its name.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_passed_over() {
    let folder = scratch();
    let made = Command::new("mkfifo").arg(folder.path().join("pipe.ptx")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.ptx")).unwrap();
    let watch = Watch::start(folder.path(), &[]);
    assert_eq!(watch.line(), "watching 0 files");
    std::fs::write(folder.path().join("a.ptx"), module(&[("one", 1)])).unwrap();
    let what = watch.line();
    assert!(what.starts_with("a.ptx [sm_90]: 1 function compiled"), "{what}");
}

/// Options change while a watch runs: what they bear on is compiled, what is set back is known, and each cubin is that of a
/// compile with the same options.
#[test]
fn options_change_while_it_runs() {
    let folder = scratch();
    let (ptx, cubin) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
    std::fs::write(&ptx, module(&[("one", 1), ("two", 2)])).unwrap();
    let mut watch = Watch::start(folder.path(), &["--interactive"]);
    let [_, ready] = watch.lines();
    assert_eq!(ready, "watching 1 file");
    let first = std::fs::read(&cubin).unwrap();
    let cold = |options: &[&str]| {
        let path = folder.path().join("cold.out");
        let words = ["compile", "a.ptx", "-o", "cold.out"];
        let run = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .current_dir(folder.path())
            .args(words.iter().chain(options))
            .output()
            .expect("the program runs");
        assert!(run.status.success());
        std::fs::read(path).unwrap()
    };
    for (line, says) in [
        ("--knob stall-cap=14", "2 functions compiled"),
        ("-O0", "2 functions compiled"),
        ("", "known as a whole"),
        ("-O0", "known as a whole"),
        ("--debug-switch no-reuse --maxrregcount 40", "2 functions compiled"),
    ] {
        watch.enter(line);
        let said = watch.line();
        assert!(said.starts_with(&format!("a.ptx [sm_90]: {says}")), "{line}: {said}");
        let options: Vec<&str> = line.split_whitespace().collect();
        assert!(std::fs::read(&cubin).unwrap() == cold(&options), "{line}");
    }
    watch.enter("");
    watch.line();
    assert!(std::fs::read(&cubin).unwrap() == first);
    // A mistake changes nothing; another chip, and the first one again.
    watch.enter("--arch sm_1");
    watch.enter("--arch sm_80");
    assert!(watch.line().contains("[sm_80]: ") && std::fs::read(&cubin).unwrap() == first);
    watch.enter("--arch sm_100");
    assert!(watch.line().starts_with("a.ptx [sm_100]: 2 functions compiled"));
    watch.enter("");
    let said = watch.line();
    assert!(
        said.starts_with("a.ptx [sm_90]: known as a whole") || said.contains(" 0 functions compiled"),
        "{said}"
    );
    assert!(std::fs::read(&cubin).unwrap() == first);
}
