//! `oriole compile` of several files: the cubins are those of a compile each, and a file that fails keeps no other from its own.

use crate::support::{data, files, names, oriole, scratch, text};
use expect_test::expect;
use std::path::{Path, PathBuf};

/// Copies of some kernels in a folder.
fn kernels(folder: &Path) -> Vec<PathBuf> {
    let some = files(&data("kernels"), "ptx").into_iter().take(6);
    let copy = |from: PathBuf| {
        let to = folder.join(from.file_name().unwrap());
        std::fs::copy(&from, &to).unwrap();
        to
    };
    some.map(copy).collect()
}

#[test]
fn several_files_give_the_cubins_of_each_alone() {
    let (folder, together, alone) = (scratch(), scratch(), scratch());
    let inputs = kernels(folder.path());
    for input in &inputs {
        let output = alone.path().join(input.file_name().unwrap()).with_extension("cubin");
        assert_eq!(oriole(&["compile", &text(input), "-o", &text(&output)]).status, Some(0));
    }
    let pattern = text(&folder.path().join("*.ptx"));
    for options in [&["--jobs", "1"][..], &["--jobs", "4"], &["--jobs", "2", "-v"]] {
        let done =
            oriole(&[&["compile", &pattern, "-o", &text(&together.path().join("new"))], options].concat());
        assert_eq!(done.status, Some(0), "{}", done.err);
        assert_eq!(names(&together.path().join("new")), names(alone.path()));
        for name in names(alone.path()) {
            let read = |folder: &Path| std::fs::read(folder.join(&name)).unwrap();
            assert!(read(&together.path().join("new")) == read(alone.path()), "{name} {options:?}");
        }
        std::fs::remove_dir_all(together.path().join("new")).unwrap();
    }
    // With `/` at its end a folder is one for a single file, too.
    let one = format!("{}/", text(&together.path().join("one")));
    assert_eq!(oriole(&["compile", &text(&inputs[0]), "-o", &one]).status, Some(0));
    assert_eq!(names(&together.path().join("one")).len(), 1);
    // Without a folder they are next to the files; a folder means all files in it.
    assert_eq!(oriole(&["compile", &text(folder.path())]).status, Some(0));
    assert_eq!(names(folder.path()).len(), 2 * inputs.len());
}

#[test]
fn a_file_that_fails_keeps_no_other_from_its_cubin() {
    let folder = scratch();
    let inputs = kernels(folder.path());
    let bad = folder.path().join("bad.ptx");
    std::fs::write(&bad, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { mov.u32 %r1, 0; }\n")
        .unwrap();
    let out = folder.path().join("out");
    let gone = text(&folder.path().join("gone.ptx"));
    let done =
        oriole(&["compile", &text(&inputs[0]), &text(&bad), &gone, &text(&inputs[1]), "-o", &text(&out)]);
    assert_eq!(done.status, Some(1));
    assert_eq!(names(&out).len(), 2);
    let said = done.err.replace(&text(folder.path()), "");
    assert!(said.contains("ptx::unknown-name") && said.contains("/gone.ptx: "), "{said}");
}

#[test]
fn what_is_about_one_file_is_refused() {
    let (folder, other) = (scratch(), scratch());
    let input = text(&kernels(folder.path())[0]);
    let same = other.path().join(Path::new(&input).file_name().unwrap());
    std::fs::copy(&input, &same).unwrap();
    let mut all = String::new();
    for options in [
        &["--json"][..],
        &["--arch", "compute_90"],
        &["-o", "-"],
        &["-"],
        &[&text(&same), "-o", &text(&folder.path().join("out"))],
    ] {
        let done = oriole(&[&["compile", &input, &input.replace(".ptx", "?ptx")], options].concat());
        assert_eq!(done.status, Some(2), "{options:?}: {}", done.err);
        all += &done.err.replace(&text(folder.path()), "A").replace(&text(other.path()), "B");
    }
    expect![[r#"
        error: --json is about one file, and there are several
        error: --arch compute_... is about one file, and there are several
        error: `-` is about one file, and there are several
        error: `-` is about one file, and there are several
        error: A/atomics.ptx and B/atomics.ptx would both be compiled to A/out/atomics.cubin
    "#]]
    .assert_eq(&all);
}
