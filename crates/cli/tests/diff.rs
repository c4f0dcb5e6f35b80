//! `oriole diff` as its users run it: which files may be compared, what options say, how it ends.

use crate::support::{compile, data, files, finish, names, oriole, scratch, text};
use serde_json::Value;
use std::process::Command;

fn reduce() -> String {
    text(&data("kernels").join("reduce.ptx"))
}

/// PTX in two ways, PTX and a cubin, two cubins: the same kernels, as text, as JSON and as a page.
#[test]
fn ptx_and_cubins_are_compared() {
    let folder = scratch();
    let (fast, slow) = (folder.path().join("fast.cubin"), folder.path().join("slow.cubin"));
    compile(&data("kernels").join("reduce.ptx"), &fast, &[]).expect("it compiles");
    compile(&data("kernels").join("reduce.ptx"), &slow, &["-O0"]).expect("it compiles");
    let (fast, slow) = (text(&fast), text(&slow));
    let document = |arguments: &[&str]| {
        let done = oriole(&[&["diff", "--json"], arguments].concat());
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{arguments:?}");
        serde_json::from_str::<Value>(&done.out).expect("one document")
    };
    let lines = |document: &Value| -> Vec<Value> {
        let kernels = document["kernels"].as_array().expect("kernels");
        kernels.iter().map(|kernel| kernel["lines"].clone()).collect()
    };
    let (ptx, cubins) = (document(&[&reduce(), "-O0", "--", "-O3"]), document(&[&slow, &fast]));
    assert_eq!(ptx["sides"][0], format!("{} -O0 for sm_90", reduce()));
    assert_eq!(lines(&ptx), lines(&cubins));
    let named = document(&[&reduce(), "--", "--generate-line-info", "--maxrregcount", "40"]);
    assert_eq!(
        named["sides"][1],
        format!("{} -O3 --generate-line-info --maxrregcount 40 for sm_90", reduce())
    );
    assert!(ptx["kernels"][0]["figures"]["spill_stores_bytes"] == serde_json::json!([0, 0]));
    assert!(cubins["kernels"][0]["figures"]["spill_stores_bytes"] == serde_json::json!([null, null]));
    assert_eq!(document(&[&reduce(), &fast])["same"], true);
    // PTX that is compared with a cubin is compiled for the cubin's chip.
    let other = text(&folder.path().join("other.cubin"));
    compile(&data("kernels").join("reduce.ptx"), other.as_ref(), &["--arch", "sm_100"]).expect("it compiles");
    assert_eq!(document(&[&other, &reduce()])["same"], true);
    assert_eq!(document(&[&other, &reduce(), "--arch", "sm_90"])["same"], false);
    let shown = oriole(&["diff", &slow, &fast, "--kernel", "reduce_tree_i32"]);
    assert!(shown.out.contains("\nreduce_tree_i32\n") && shown.out.contains("  registers "), "{}", shown.out);
    assert!(!shown.out.contains("reduce_shuffle"), "{}", shown.out);
    let page = text(&folder.path().join("page.html"));
    let done = oriole(&["diff", &slow, &fast, "--html", &page]);
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    assert!(std::fs::read_to_string(&page).expect("a page").contains("<h2>reduce_tree_i32</h2>"));
}

/// The exit status reports differences only with `--exit-code`.
#[test]
fn how_a_comparison_ends() {
    let status =
        |arguments: &[&str]| oriole(&[&["diff", &reduce(), "--html", "-"], arguments].concat()).status;
    assert_eq!(status(&["--", "-O0"]), Some(0));
    assert_eq!(status(&["--exit-code", "--", "-O0"]), Some(1));
    assert_eq!(status(&["--exit-code", "--", "-O3"]), Some(0));
}

/// Files that cannot be compared are refused with its reason, and no file is written or overwritten.
#[test]
fn what_cannot_be_compared() {
    let folder = scratch();
    let cubin = folder.path().join("k.cubin");
    compile(&data("kernels").join("reduce.ptx"), &cubin, &[]).expect("it compiles");
    let (cubin, input) = (text(&cubin), reduce());
    let broken = text(&folder.path().join("broken.ptx"));
    std::fs::write(&broken, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { foo; }\n")
        .expect("a file");
    let damaged = text(&folder.path().join("damaged.cubin"));
    std::fs::write(&damaged, b"\x7fELF and no more").expect("a file");
    for (arguments, status, message) in [
        (&["diff", input.as_str()][..], 2, "compare with what?"),
        (&["diff", &cubin, "--", "-O1"], 2, "a cubin is compiled already"),
        (&["diff", &cubin, &cubin, "-O1"], 2, "a cubin is compiled already"),
        (&["diff", &input, &cubin, "--", "-O1"], 2, "a cubin is compiled already"),
        (&["diff", &input, "--", "--nonsense"], 2, "behind `--`: unexpected argument '--nonsense'"),
        (&["diff", &input, "--", "-O9"], 2, "behind `--`: invalid value '9'"),
        (&["diff", &input, "--", "--knob", "nonsense=1"], 2, "nonsense"),
        (&["diff", &input, &cubin, "--kernel", "nobody"], 2, "there is no kernel `nobody`"),
        (&["diff", &broken, &cubin], 1, "ptx::unknown-instruction"),
        (&["diff", &damaged, &cubin], 1, "damaged.cubin: "),
        (&["diff", &input, &cubin, "--html", &cubin], 1, "take the place of the input"),
        (&["diff", &input, "nowhere.cubin"], 1, "nowhere.cubin"),
    ] {
        let done = oriole(arguments);
        assert_eq!(done.status, Some(status), "{arguments:?}: {}", done.err);
        assert!(done.err.contains(message) && done.out.is_empty(), "{arguments:?}: {}{}", done.out, done.err);
    }
    assert_eq!(names(folder.path()), ["broken.ptx", "damaged.cubin", "k.cubin"]);
}

/// Two instances of one template, and a kernel in a namespace.
const INSTANCES: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z5scaleIiEvPT_(.param .u64 p) { ret; }
.visible .entry _Z5scaleIfEvPT_(.param .u64 p) { ret; }
.visible .entry _ZN3foo3barIfLi4EEEvPT_(.param .u64 p) { ret; }
";

/// Every command that takes the name of a kernel or function accepts its source name, and lists the candidates of an ambiguous
/// one.
#[test]
fn instances_of_templates_are_found_by_their_names() {
    let folder = scratch();
    let input = text(&folder.path().join("k.ptx"));
    std::fs::write(&input, INSTANCES).expect("a temporary file");
    let page = text(&folder.path().join("k.html"));
    let commands: [(&str, Vec<&str>); 4] = [
        ("kernel", vec!["view", &input, "-o", &page, "--kernel"]),
        ("kernel", vec!["diff", &input, &input, "--all", "--kernel"]),
        ("function", vec!["ori", &input, "--after", "GvnCse", "--function"]),
        ("function", vec!["isel", &input, "--function"]),
    ];
    for (what, command) in commands {
        let run = |name: &'static str| {
            let done = oriole(&[command.as_slice(), &[name]].concat());
            let page = std::fs::read_to_string(&page).unwrap_or_default();
            (done.status, if command[0] == "view" { page } else { done.out }, done.err)
        };
        for (name, symbol) in [
            ("bar", "_ZN3foo3barIfLi4EEEvPT_"),
            ("foo::bar", "_ZN3foo3barIfLi4EEEvPT_"),
            ("scale<int>", "_Z5scaleIiEvPT_"),
            ("_Z5scaleIfEvPT_", "_Z5scaleIfEvPT_"),
        ] {
            let (status, out, err) = run(name);
            assert_eq!(status, Some(0), "{command:?} {name}: {err}");
            let others = ["_ZN3foo3barIfLi4EEEvPT_", "_Z5scaleIiEvPT_", "_Z5scaleIfEvPT_"];
            let found: Vec<&str> = others.into_iter().filter(|other| out.contains(other)).collect();
            assert_eq!(found, [symbol], "{command:?} {name}");
        }
        let (status, _, err) = run("scale");
        let told = format!("`scale` names several {what}s: ");
        assert!(status == Some(2) && err.contains(&told), "{command:?}: {err}");
        assert!(err.contains("_Z5scaleIiEvPT_ (void scale<int>(int*))"), "{command:?}: {err}");
        let (status, _, err) = run("nobody");
        assert!(
            status == Some(2) && err.contains(&format!("there is no {what} `nobody`")),
            "{command:?}: {err}"
        );
    }
    // A name that one side lacks is not an error; a name that both lack is one, whatever other names are given.
    let other = text(&folder.path().join("other.ptx"));
    let fewer = INSTANCES.lines().filter(|line| !line.contains("scaleIf")).collect::<Vec<_>>().join("\n");
    std::fs::write(&other, fewer).expect("a temporary file");
    let done = oriole(&["diff", &input, &other, "--kernel", "scale<float>", "--kernel", "bar"]);
    assert!(done.status == Some(0) && done.out.contains("scale<float>"), "{}{}", done.out, done.err);
    let done = oriole(&["diff", &input, &other, "--kernel", "bar", "--kernel", "nobody"]);
    assert_eq!(done.status, Some(2), "{}", done.out);
}

/// Code of ptxas is read like ours: each file of the repository's kernels, compared with ptxas's code for it.
#[test]
#[ignore = "needs ptxas: ORIOLE_ORACLE names the folder"]
fn comparisons_with_the_reference() {
    let ptxas =
        std::path::PathBuf::from(std::env::var_os("ORIOLE_ORACLE").expect("ORIOLE_ORACLE")).join("ptxas");
    let folder = scratch();
    let cubin = text(&folder.path().join("theirs.cubin"));
    // ptxas 13.5 keeps the metadata of a sparse multiply in the operand cache, which no form of our tables allows.
    let is_read = |input: &std::path::PathBuf| !input.ends_with("fragments.ptx");
    for input in files(&data("kernels"), "ptx").into_iter().filter(is_read).step_by(6) {
        let source = std::fs::read_to_string(&input).expect("a text");
        let target = source.lines().find_map(|line| line.strip_prefix(".target ")).expect("a target");
        let chip = target.split([',', ' ']).next().expect("a chip");
        // ptxas does not optimize debug builds.
        let level = if target.contains("debug") { "-O0" } else { "-O3" };
        let made = finish(Command::new(&ptxas).args(["-arch", chip, level, &text(&input), "-o", &cubin]));
        assert_eq!(made.status, Some(0), "{}: {}", input.display(), made.err);
        let done = oriole(&["diff", &text(&input), &cubin, level]);
        assert_eq!(done.status, Some(0), "{}: {}", input.display(), done.err);
        assert!(!done.out.contains("only in"), "{}: {}", input.display(), done.out);
    }
}
