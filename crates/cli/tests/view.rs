//! `oriole view` as its users run it: where the page goes, which kernels it has, what is refused.

use crate::support::{data, names, oriole, scratch, text};

/// The page goes next to the input or where `-o` says, whole or not at all, and never over the input.
#[test]
fn pages_go_where_they_should() {
    let folder = scratch();
    let input = folder.path().join("calls.ptx");
    std::fs::copy(data("kernels").join("calls.ptx"), &input).expect("a temporary file");
    // Functions have names where they are called.
    let view = |rest: &[&str]| {
        let mut arguments = vec!["view", "--debug-switch", "no-inlining"];
        arguments.extend_from_slice(rest);
        oriole(&arguments)
    };
    let input_name = text(&input);
    let done = view(&[&input_name]);
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    assert_eq!(names(folder.path()), ["calls.html", "calls.ptx"]);
    let page = std::fs::read_to_string(folder.path().join("calls.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(
        page.contains("[\"call_chain\",null]") && page.contains("step_b(unsigned int)\"]"),
        "names are demangled"
    );
    // The same bytes every time, also on standard output; symbols alone where they are wanted.
    let symbols = view(&[&input_name, "-o", "-", "--no-demangle"]);
    assert!(symbols.out.contains("_Z6step_bj\"]") && !symbols.out.contains("step_b(unsigned int)"));
    let shown = view(&[&input_name, "-o", "-", "--jobs", "1"]);
    assert_eq!((shown.status, shown.out == page), (Some(0), true));
    let done = view(&[&input_name, "-o", &input_name]);
    assert!(done.status == Some(1) && done.err.contains("take the place of the input"), "{}", done.err);
    assert_eq!(names(folder.path()), ["calls.html", "calls.ptx"]);
}

/// `--kernel` chooses; what is not there, or does not compile, has no page.
#[test]
fn pages_of_what_is_asked_for() {
    let folder = scratch();
    let (calls, page) = (text(&data("kernels").join("calls.ptx")), text(&folder.path().join("k.html")));
    let done = oriole(&["view", &calls, "-o", &page, "--kernel", "call_recursion", "--maxrregcount", "32"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let written = std::fs::read_to_string(&page).expect("a page");
    assert!(written.contains("[\"call_recursion\",null]") && !written.contains("[\"call_chain\",null]"));
    assert!(written.contains("-O3 --maxrregcount 32"), "the page says how it was compiled");
    std::fs::remove_file(&page).expect("a page");
    let done = oriole(&["view", &calls, "-o", &page, "--kernel", "nobody"]);
    assert!(done.status == Some(2) && done.err.contains("there is no kernel `nobody`"), "{}", done.err);
    let broken = folder.path().join("broken.ptx");
    std::fs::write(&broken, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { foo; }\n")
        .expect("a file");
    let done = oriole(&["view", &text(&broken), "-o", &page]);
    assert!(done.status == Some(1) && done.err.contains("ptx::unknown-instruction"), "{}", done.err);
    assert_eq!(oriole(&["view", "-"]).status, Some(2));
    assert_eq!(names(folder.path()), ["broken.ptx"]);
}

/// A cubin alone, and one next to our code; what does not fit is refused.
#[test]
fn pages_of_cubins() {
    let folder = scratch();
    let at = |name: &str| text(&folder.path().join(name));
    let calls = text(&data("kernels").join("calls.ptx"));
    for (name, options) in
        [("o0.cubin", ["-O0", "--arch", "sm_90"]), ("other.cubin", ["-O3", "--arch", "sm_100"])]
    {
        let target = at(name);
        let done = oriole(&["compile", &calls, "-o", &target, options[0], options[1], options[2]]);
        assert_eq!(done.status, Some(0), "{}", done.err);
    }
    let (cubin, other, page) = (at("o0.cubin"), at("other.cubin"), at("k.html"));
    let alone = oriole(&["view", &cubin, "-o", "-"]);
    assert_eq!((alone.status, alone.err.as_str()), (Some(0), ""));
    assert!(alone.out.contains("\"has_text\":false") && alone.out.contains("[\"call_chain\",null]"));
    let both = oriole(&["view", &calls, "--cubin", &cubin, "-o", "-"]);
    assert_eq!((both.status, both.err.as_str()), (Some(0), ""));
    assert!(both.out.contains("o0.cubin\",\"launch\"") && both.out.contains("\"pairs\":[["));
    let done = oriole(&["view", &calls, "--cubin", &other, "-o", &page]);
    assert!(
        done.status == Some(1) && done.err.contains("is for sm_100, and the code is for sm_90"),
        "{}",
        done.err
    );
    let done = oriole(&["view", &calls, "--cubin", &calls, "-o", &page]);
    assert!(done.status == Some(1) && done.err.contains("calls.ptx"), "{}", done.err);
    assert_eq!(names(folder.path()), ["o0.cubin", "other.cubin"]);
}

/// The heat is that of a launch: of one, of a kernel that is there.
#[test]
fn pages_of_launches() {
    let folder = scratch();
    let ptx = text(&data("kernels").join("calls.ptx"));
    let record = folder.path().join("launch.json");
    let run = |json: &str| {
        std::fs::write(&record, json).expect("a file");
        oriole(&["view", &ptx, "--launch", &text(&record), "-o", "-"])
    };
    let one = |entry: &str| {
        format!(
            r#"{{"entry": "{entry}", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [{{"buffer": {{"len": 4096}}}}]}}"#
        )
    };
    let done = run(&one("call_chain"));
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    assert_eq!(done.out.matches("\"heat\":{\"issued\":[").count(), 1, "of the kernel that ran");
    let done = run(&one("nobody"));
    assert!(done.status == Some(1) && done.err.contains("there is no kernel `nobody`"), "{}", done.err);
    let done = run(&format!("{0}\n{0}", one("call_chain")));
    assert!(done.status == Some(2) && done.err.contains("a page is about one launch"), "{}", done.err);
    let done = run("{");
    assert!(done.status == Some(2) && done.err.contains("launch.json"), "{}", done.err);
}
