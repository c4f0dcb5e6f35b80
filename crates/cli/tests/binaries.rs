//! Files with device code as people have them: fatbins, objects, libraries, archives and caches, made here around our own code;
//! and the commands that read, list and write what is in them.

use crate::support::{Finished, compile, data, oriole, scratch, text};
use crate::writer::{Entry, Packing, archive, cubin, elf, fatbin, together};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The code of a kernel for two chips, and its PTX.
struct Made {
    folder: tempfile::TempDir,
    ptx: Vec<u8>,
    cubins: [Vec<u8>; 2],
}

impl Made {
    fn new() -> Made {
        let folder = scratch();
        let ptx = std::fs::read_to_string(data("kernels").join("reduce.ptx")).expect("a kernel");
        let ptx = ptx.replace(".target sm_90", ".target sm_80");
        let source = folder.path().join("reduce.ptx");
        std::fs::write(&source, &ptx).expect("a file can be written");
        let cubins = ["sm_80", "sm_90"].map(|chip| {
            let path = folder.path().join(format!("{chip}.cubin"));
            compile(&source, &path, &["--arch", chip, "--generate-line-info"]).expect("it compiles");
            std::fs::read(path).expect("a cubin")
        });
        Made { folder, ptx: ptx.into_bytes(), cubins }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        text(&path)
    }

    /// A fatbin with all three.
    fn fatbin(&self) -> Vec<u8> {
        fatbin(&[
            Entry::cubin(80, &self.cubins[0]).named("reduce.cu").packed(Packing::Zstd),
            Entry::cubin(90, &self.cubins[1]).named("reduce.cu"),
            Entry::ptx(80, &self.ptx).named("reduce.cu").with_options("-O3").packed(Packing::Lz4),
        ])
    }
}

fn right(arguments: &[&str]) -> String {
    let run = oriole(arguments);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

fn wrong(status: i32, code: &str, arguments: &[&str]) -> Finished {
    let run = oriole(arguments);
    assert!(run.status == Some(status) && run.err.contains(code), "{arguments:?}: {run:?}");
    run
}

fn without_first_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// The same code, whatever it is in.
#[test]
fn code_is_read_from_every_container() {
    let made = Made::new();
    let whole = made.fatbin();
    let other = elf(1, &[(".text", b"host")]);
    let images =
        [Entry::cubin(80, &made.cubins[0]), Entry::cubin(90, &made.cubins[1]), Entry::ptx(80, &made.ptx)];
    let object = elf(1, &[(".text", b"host"), ("__nv_relfatbin", &whole)]);
    let files: [(&str, Vec<u8>); 7] = [
        ("a.fatbin", whole.clone()),
        ("together.fatbin", fatbin(&[together(&images, Packing::Zstd)])),
        ("a.o", object.clone()),
        ("a.so", elf(3, &[(".nv_fatbin", &whole), (".data", b"x")])),
        ("program", elf(2, &[(".nv_fatbin", &whole)])),
        ("a.a", archive(&[("host.o", &other), ("a_member_with_a_long_name.o", &object)])),
        ("program.exe", [&b"MZ"[..], &[7; 99], &whole, b"rest"].concat()),
    ];
    let plain = [text(&made.path("sm_80.cubin")), text(&made.path("sm_90.cubin"))];
    let kernel = made.write("plain.ptx", &made.ptx);
    let compiled = made.path("compiled.cubin");
    let direct = made.path("direct.cubin");
    compile(Path::new(&kernel), &direct, &["--arch", "sm_80"]).expect("it compiles");
    for (name, bytes) in files {
        let file = made.write(name, &bytes);
        for (chip, plain) in ["sm_80", "sm_90"].into_iter().zip(&plain) {
            let code = right(&["dis", &file, "--arch", chip]);
            assert!(code.starts_with(&format!("// {file} #")), "{}", code.lines().next().unwrap_or_default());
            assert_eq!(without_first_line(&code), right(&["dis", plain]), "{name}");
            assert_eq!(
                right(&["dis", &file, "--arch", chip, "--dot"]),
                right(&["dis", plain, "--dot"]),
                "{name}"
            );
            assert_eq!(right(&["lint", &file, "--arch", chip]), "0 hazards\n");
            let same = right(&["diff", plain, &file, "--arch", chip, "--exit-code"]);
            assert!(!same.is_empty());
        }
        right(&["check", &file]);
        right(&["compile", &file, "--arch", "sm_80", "-o", &text(&compiled)]);
        assert_eq!(std::fs::read(&compiled).expect("a cubin"), std::fs::read(&direct).expect("a cubin"));
    }
}

/// Commands that run code take it, and its PTX, from one file.
#[test]
fn code_in_containers_is_run() {
    let made = Made::new();
    let file = made.write("a.so", &elf(3, &[(".nv_fatbin", &made.fatbin())]));
    let entry = "reduce_tree_i32";
    let run =
        oriole(&["verify", &file, "--cubin", &file, "--cubin-image", "2", "--entry", entry, "--seeds", "1"]);
    let plain = text(&made.path("sm_90.cubin"));
    let kernel = made.write("plain.ptx", &made.ptx);
    let expected = oriole(&["verify", &kernel, "--cubin", &plain, "--entry", entry, "--seeds", "1"]);
    assert_eq!((run.status, run.out), (expected.status, expected.out), "{}", run.err);
    let record = text(&data("kernels").join("reduce_tree_i32.json"));
    let time =
        |file: &str, more: &[&str]| right(&[&["time", "--json", &record, "--cubin", file], more].concat());
    assert_eq!(time(&file, &["--image", "2"]), time(&plain, &[]));
    let profile = |file: &str, more: &[&str]| right(&[&["profile", file, &record, "--json"], more].concat());
    assert_eq!(profile(&file, &["--arch", "sm_90"]), profile(&plain, &[]));
    // A difference between two chips in one file.
    let both = right(&["diff", &file, "--image", "1", "--second-image", "2", "--kernel", entry]);
    assert!(both.contains(&format!("{file} #1")) && both.contains(&format!("{file} #2")), "{both}");
}

/// A file with several images is asked for one, and says which it has.
#[test]
fn several_images_need_a_choice() {
    let made = Made::new();
    let file = made.write("a.so", &elf(3, &[(".nv_fatbin", &made.fatbin())]));
    let run = wrong(2, "[file::several-images]", &["dis", &file]);
    assert!(run.err.contains("\n  #1 cubin sm_80 reduce.cu\n  #2 cubin sm_90 reduce.cu\n"), "{}", run.err);
    for (status, code, more) in [
        (2, "[file::no-such-image]", ["--arch", "sm_90a"]),
        (2, "[file::no-such-image]", ["--image", "3"]),
        (2, "[file::no-such-image]", ["--image", "other.cu"]),
        (2, "[file::no-such-image]", ["--entry", "nothing"]),
        (2, "[file::several-images]", ["--image", "reduce.cu"]),
    ] {
        wrong(status, code, &[&["dis", &file], &more[..]].concat());
    }
    let one = right(&["dis", &file, "--image", "2", "--entry", "reduce_tree_i32"]);
    assert_eq!(one.lines().filter(|line| line.contains(" registers ")).count(), 1);
    wrong(
        2,
        "there is no kernel or function `nothing`",
        &["dis", &text(&made.path("sm_80.cubin")), "--entry", "nothing"],
    );
    let host = made.write("host.o", &elf(1, &[(".text", b"host")]));
    for command in ["dis", "lint", "images", "extract", "check"] {
        let run = wrong(1, "[file::no-device-code]", &[command, &host]);
        assert!(run.err.contains("an ELF host object without device code"), "{}", run.err);
    }
    let kernel = text(&data("kernels").join("reduce.ptx"));
    wrong(1, "[file::no-device-code]", &["dis", &kernel]);
    wrong(1, "[file::no-device-code]", &["check", &text(&made.path("sm_80.cubin"))]);
    // The same chip twice is not a question for commands that take all.
    let twice = [fatbin(&[Entry::cubin(90, &made.cubins[1])]), fatbin(&[Entry::cubin(90, &made.cubins[1])])];
    let twice = made.write("twice.so", &elf(3, &[(".nv_fatbin", &twice.concat())]));
    assert_eq!(right(&["dis", &twice]).matches("// reduce_tree_i32 ").count(), 2);
    assert!(right(&["dis", &twice, "--json"]).contains("\"image\":2"));
    wrong(
        2,
        "[file::several-images]",
        &["profile", &twice, &text(&data("kernels").join("reduce_tree_i32.json"))],
    );
}

/// The list has all images, and the files are those that went in.
#[test]
fn images_are_listed_and_extracted() {
    let made = Made::new();
    let file = made.write("a.so", &elf(3, &[(".nv_fatbin", &made.fatbin())]));
    let list = right(&["images", &file]);
    assert!(list.starts_with(&format!("{file}: an ELF shared library with 3 images\n")), "{list}");
    assert_eq!(list.lines().count(), 5);
    let document: Value = serde_json::from_str(&right(&["images", &file, "--json"])).expect("a document");
    let images = document["images"].as_array().expect("images");
    let of = |key: &str| images.iter().map(|image| image[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("kind"), ["cubin", "cubin", "ptx"]);
    assert_eq!(of("chip"), ["sm_80", "sm_90", "sm_80"]);
    assert_eq!(of("compression"), [Value::from("zstd"), Value::Null, Value::from("lz4")]);
    assert_eq!(images[2]["options"], "-O3");
    // The order of the kernels is that of the image.
    let kernels = |image: &Value| {
        let names = image["kernels"].as_array().expect("kernels").iter();
        names.map(|name| name.as_str().expect("a name").to_owned()).collect::<BTreeSet<_>>()
    };
    let count = kernels(&images[0]).len();
    for image in images {
        assert_eq!((kernels(image), image["name"].as_str()), (kernels(&images[0]), Some("reduce.cu")));
    }
    let named = right(&["images", &file, "--arch", "sm_90", "--kernels"]);
    assert_eq!(named.lines().count(), 3 + count);
    let into = text(&made.path("out/of/it"));
    let names = right(&["extract", &file, "-o", &into]);
    let written: Vec<Vec<u8>> = names.lines().map(|name| std::fs::read(name).expect("a file")).collect();
    assert_eq!(written, [made.cubins[0].clone(), made.cubins[1].clone(), made.ptx.clone()]);
    assert!(names.ends_with("a.3.sm_80.ptx\n"), "{names}");
    assert_eq!(right(&["extract", &file, "--ptx", "-o", &into]).lines().count(), 1);
    assert_eq!(right(&["extract", &file, "--cubin", "-o", &into]).lines().count(), 2);
    assert_eq!(right(&["extract", &file, "--ptx", "-o", "-"]).into_bytes(), made.ptx);
    wrong(2, "[file::several-images]", &["extract", &file, "-o", "-"]);
}

/// A folder as Triton's cache is one: a folder for each kernel.
#[test]
fn caches_are_folders() {
    let made = Made::new();
    let cache = made.path("cache");
    for (folder, name, bytes) in [
        ("AB", "reduce_kernel.cubin", &made.cubins[1]),
        ("AB", "reduce_kernel.ptx", &made.ptx),
        ("CD", "other.cubin", &made.cubins[0]),
    ] {
        std::fs::create_dir_all(cache.join(folder)).expect("a folder");
        std::fs::write(cache.join(folder).join(name), bytes).expect("a file");
    }
    std::fs::write(cache.join("AB/reduce_kernel.json"), "{}").expect("a file");
    let cache = text(&cache);
    let list = right(&["images", &cache]);
    assert!(list.starts_with(&format!("{cache}: a folder with 3 images\n")), "{list}");
    let code = right(&["dis", &cache, "--image", "reduce_kernel"]);
    assert_eq!(without_first_line(&code), right(&["dis", &text(&made.path("sm_90.cubin"))]));
    right(&["check", &cache]);
    wrong(2, "[file::several-images]", &["dis", &cache]);
    right(&["dis", &cache, "--arch", "sm_80", "--entry", "reduce_tree_i32"]);
}

/// Lines of the PTX stand before their code, with their text.
#[test]
fn lines_of_the_ptx_are_shown() {
    let made = Made::new();
    let cubin = text(&made.path("sm_90.cubin"));
    let code = right(&["dis", &cubin, "--lines"]);
    let source = String::from_utf8(made.ptx.clone()).expect("text");
    let lines: Vec<&str> = source.lines().collect();
    let mut shown = 0;
    for line in code.lines().filter_map(|line| line.strip_prefix("// ptx ")) {
        let (number, statement) = line.split_once(": ").expect("a number and a statement");
        let number: usize = number.parse().expect("a number");
        assert_eq!(statement, lines[number - 1].trim());
        shown += 1;
    }
    assert!(shown > 20, "{shown}");
    let first = right(&["dis", &cubin, "--lines", "--json"]);
    let rows = first.lines().map(|row| serde_json::from_str::<Value>(row).expect("a row"));
    assert!(rows.filter(|row| row["ptx"]["line"].as_u64() > Some(0)).count() > 20);
}

/// Damage is named, and what is whole is read all the same.
#[test]
fn damaged_files_are_told() {
    let made = Made::new();
    let whole = made.fatbin();
    let file = made.write("cut.fatbin", &whole[..whole.len() - 50]);
    let run = wrong(1, "[file::damaged]", &["images", &file]);
    assert!(run.out.contains("sm_90"), "{}", run.out);
    let run = oriole(&["dis", &file, "--arch", "sm_90"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert!(run.err.starts_with("warning[file::damaged]"), "{}", run.err);
    // The header is that of a cubin, and nothing else is.
    let broken = fatbin(&[Entry::cubin(90, &cubin(90, 9)).letter('a'), Entry::cubin(90, &made.cubins[1])]);
    let broken = made.write("broken.fatbin", &broken);
    wrong(1, "broken.fatbin #1", &["dis", &broken, "--arch", "sm_90a"]);
    right(&["dis", &broken, "--arch", "sm_90"]);
    let zeros = vec![0; 80 << 20];
    let bomb = made.write("bomb.fatbin", &fatbin(&[Entry::cubin(80, &zeros).packed(Packing::Zstd)]));
    for command in ["dis", "images", "extract"] {
        wrong(1, "[file::damaged]", &[command, &bomb]);
    }
}
