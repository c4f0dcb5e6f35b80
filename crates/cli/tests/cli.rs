//! The command line: exit statuses, what is printed where, files written whole or not at all, the same bytes every time,
//! and listings that assemble back to the words they came from.

use crate::support::{
    compile, data, files, finish, is_thorough, names, oriole, read_cubin, round_trip, say, scratch, text,
};
use oriole_pipeline::Work;
use serde_json::Value;
use std::path::Path;

const RIGHT: &str = "\
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

/// The same with an unknown register in line 8.
fn wrong() -> String {
    RIGHT.replace("[%a], 7", "[%b], 7")
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    text(&path)
}

/// `-v` reports of each kernel its resources, what its schedule hides, and which units its blocks keep busy.
#[test]
fn a_verbose_compile_reports_the_schedule() {
    let folder = scratch();
    let cubin = text(&folder.path().join("reduce.cubin"));
    let input = text(&data("kernels").join("reduce.ptx"));
    let done = oriole(&["compile", &input, "-v", "-o", &cubin]);
    let errors = done.err;
    assert_eq!(done.status, Some(0), "{errors}");
    for part in
        ["reduce_tree_i32: ", " registers", "  schedule: ", "  LDS latency hiding: Num ", " busy ALU "]
    {
        assert!(errors.contains(part), "{part} is missing in:\n{errors}");
    }
}

/// `-v` counts as `ptxas -v` does, knows functions and spills, and takes the block that the kernel states.
#[test]
fn a_verbose_compile_counts_what_is_there() {
    let module = "\
.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 r) _Z6squarei(.param .b32 a)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [a];
  mul.lo.s32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry k(.param .u64 p) .reqntid 32, 4
{
  .reg .b32 %r<3>;
  .reg .b64 %a;
  .shared .align 4 .b8 tile[2048];
  mov.u32 %r1, %tid.x;
  {
  .param .b32 x;
  .param .b32 y;
  st.param.b32 [x], %r1;
  call (y), _Z6squarei, (x);
  ld.param.b32 %r2, [y];
  }
  st.shared.u32 [tile], %r2;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], %r2;
  ret;
}
";
    let folder = scratch();
    let input = write(folder.path(), "k.ptx", module);
    let run = oriole(&["compile", &input, "-v"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    for part in [
        "_Z6squarei (square(int)) (function): ",
        ", 2048 bytes shared",
        " with its blocks of 128 threads",
        "0 bytes spill stores, 0 bytes spill loads",
        "  # [est latency = ",
        "  # [Occupancy = ",
    ] {
        assert!(run.err.contains(part), "{part} is missing in:\n{}", run.err);
    }
    // Registers that a function saves for its caller are no spills; those that do not fit are.
    let spilling = text(&data("kernels").join("floating.ptx"));
    let cubin = text(&folder.path().join("spill.cubin"));
    let run = oriole(&["compile", &spilling, "-v", "--maxrregcount", "24", "-o", &cubin]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    let spilled =
        |line: &&str| line.contains("bytes spill stores") && !line.contains(" 0 bytes spill stores");
    assert!(run.err.lines().any(|line| spilled(&line)), "{}", run.err);
}

/// `--json` reports the same as one document, also of a file that does not compile.
#[test]
fn a_compile_as_json_is_one_document() {
    let folder = scratch();
    let module = RIGHT.replace("k(.param .u64 p)\n", "k(.param .u64 p) .reqntid 64\n").replace(
        "  ret;",
        "  .shared .align 4 .b8 tile[49152];\n  st.shared.u32 [tile], 1;\n  bar.sync 0;\n  ret;",
    );
    let input = write(folder.path(), "k.ptx", module);
    let run = oriole(&["compile", &input, "--json"]);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&run.out).expect("one document");
    assert_eq!(document["version"], 1);
    assert_eq!((&document["compiled"], &document["chip"]), (&true.into(), &"sm_90".into()));
    let kernel = &document["kernels"][0];
    for (field, value) in [
        ("shared_bytes", 49152),
        ("barriers", 1),
        ("parameter_bytes", 8),
        ("spill_store_bytes", 0),
        ("frame_bytes", 0),
        ("uniform_registers", 8),
        ("predicates", 0),
        ("uniform_predicates", 0),
    ] {
        assert_eq!(kernel[field], value, "{field} in {document}");
    }
    assert_eq!(kernel["name"], "k");
    assert!(
        kernel["registers"].as_u64() > Some(0) && kernel["instructions"].as_u64() > Some(3),
        "{document}"
    );
    // Four blocks of 48 KiB, and what the system takes of each, fit into the 228 KiB of an SM.
    let occupancy = serde_json::json!({
        "threads": 64, "threads_stated": true, "blocks": 4, "warps": 8, "limit": "shared memory",
    });
    assert_eq!(kernel["occupancy"], occupancy);
    let input = write(folder.path(), "wrong.ptx", wrong());
    let run = oriole(&["compile", &input, "--json"]);
    assert_eq!((run.status, run.err.as_str()), (Some(1), ""));
    let document: Value = serde_json::from_str(&run.out).expect("one document");
    assert_eq!((&document["compiled"], &document["kernels"]), (&false.into(), &serde_json::json!([])));
    assert_eq!(document["diagnostics"][0]["line"], 8, "{document}");
    assert_eq!(oriole(&["compile", &input, "--json", "-o", "-"]).status, Some(2));
}

/// Without `--arch` a file is compiled for the chip that it asks for.
#[test]
fn the_target_of_the_file_is_followed() {
    let folder = scratch();
    let input = write(folder.path(), "a.ptx", RIGHT.replace("sm_90", "sm_90a"));
    for command in [&["compile", &input][..], &["isel", &input], &["ori", &input, "--after", "13"]] {
        let run = oriole(command);
        assert_eq!(run.status, Some(0), "{command:?}: {}", run.err);
    }
    assert!(read_cubin(&folder.path().join("a.cubin")).accelerated);
    let run = oriole(&["compile", &input, "--arch", "sm_90"]);
    assert!(run.status == Some(1) && run.err.contains("target::"), "{}", run.err);
}

/// A command lists the values of an option without a file.
#[test]
fn what_can_be_chosen_is_listed() {
    for (arguments, part) in [
        (&["compile", "--knob", "help"][..], "stall-cap "),
        (&["isel", "--debug-switch", "help"], "serial-deps "),
        (&["ori", "--after", "list"], " 96 ReportBeforeScheduling "),
        (&["explain"], "ptx::unknown-name "),
        (&["list", "phases"], " 96 ReportBeforeScheduling "),
        (&["list", "phases"], "Done by lowering."),
        (&["list", "phases", "--all"], "[not for compute]"),
        (&["list", "switches"], "serial-deps "),
        (&["list", "knobs"], "stall-cap "),
        (&["list", "codes"], "ptx::unknown-name "),
        (
            &["list", "chips"],
            "sm_90a   code         255 registers of a thread, an SM: 64 warps, 228 KiB of shared memory",
        ),
    ] {
        let run = oriole(arguments);
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(run.out.contains(part) && !run.out.contains("error:"), "{arguments:?}: {}", run.out);
    }
    assert!(!oriole(&["compile", "--debug-switch", "help"]).out.contains("stall-cap"));
    assert!(!oriole(&["list", "phases"]).out.contains("[not for compute]"));
}

/// Names of C++ and Rust stand with those of their sources wherever a person reads them, and nowhere else.
#[test]
fn names_of_sources_stand_behind_those_of_symbols() {
    let folder = scratch();
    let named = |text: &str| text.replace("entry k(", "entry _Z1kPj(");
    let input = write(folder.path(), "k.ptx", named(RIGHT));
    let cubin = text(&folder.path().join("k.cubin"));
    assert_eq!(oriole(&["compile", &input]).status, Some(0));
    let twice = RIGHT.lines().skip(3).map(|line| format!("{line}\n")).collect::<String>();
    let twice = write(folder.path(), "twice.ptx", named(&format!("{RIGHT}{twice}")));
    let both = "_Z1kPj` (k(unsigned int*))";
    for (arguments, wanted) in [
        (&["check", twice.as_str()][..], both),
        (&["dis", &cubin], "// _Z1kPj (k(unsigned int*)) registers "),
        (&["dis", "--dot", &cubin], "digraph \"_Z1kPj (k(unsigned int*))\""),
        (&["diff", &input, &cubin], "\n_Z1kPj (k(unsigned int*))\n"),
        (&["ori", &input, "--after", "13"], "// _Z1kPj (k(unsigned int*))"),
    ] {
        let told = |run: crate::support::Finished| format!("{}{}", run.out, run.err);
        let shown = told(oriole(arguments));
        assert!(shown.contains(wanted), "{arguments:?}: {shown}");
        let plain = told(oriole(&[arguments, &["--no-demangle"]].concat()));
        assert!(plain.contains("_Z1kPj") && !plain.contains("k(unsigned"), "{arguments:?}: {plain}");
    }
    for arguments in [
        &["check", &twice, "--message-format", "json"][..],
        &["compile", &input, "--json"],
        &["dis", "--json", &cubin],
        &["diff", &input, &cubin, "--json"],
    ] {
        let shown = oriole(arguments).out;
        assert!(shown.contains("_Z1kPj") && !shown.contains("k(unsigned"), "{arguments:?}: {shown}");
    }
}

/// The phases that report print the profile of the function; one after allocation knows its registers.
#[test]
fn report_phases_print_a_profile() {
    let input = text(&data("kernels").join("reduce.ptx"));
    let mut registers = Vec::new();
    for phase in ["ReportInitialRepresentation", "96", "102"] {
        let run = oriole(&["ori", &input, "--after", phase, "--function", "reduce_tree_i32"]);
        assert_eq!(run.status, Some(0), "{phase}: {}", run.err);
        for part in ["# [inst=", "# [est latency = ", "[LSpillB=0]", "# [issue thru=", "# [avgcaseLat="] {
            assert!(run.out.contains(part), "{phase}: {part} is missing in:\n{}", run.out);
        }
        let count = run.out.split_once("[rregs=").and_then(|(_, rest)| rest.split(']').next());
        registers.push(count.expect("a count").parse::<u32>().expect("a number"));
    }
    let cubin = scratch();
    let output = cubin.path().join("k.cubin");
    compile(Path::new(&input), &output, &[]).expect("it compiles");
    let kernel = read_cubin(&output).kernels.into_iter().find(|kernel| kernel.name == "reduce_tree_i32");
    assert_eq!(registers[2], kernel.expect("it is there").registers, "{registers:?}");
    let order = oriole(&["ori", &input, "--after", "96", "--rpo"]);
    assert!(order.out.contains("RPO traversal order: bix0, "), "{}", order.out);
    assert!(order.out.contains(" -> backedge's successor BB: "), "{}", order.out);
}

/// Where what is asked for is right, wrong, or no question at all, the exit status says so: 0, 1 and 2.
#[test]
fn exit_statuses() {
    let folder = scratch();
    let right = write(folder.path(), "right.ptx", RIGHT);
    let wrong = write(folder.path(), "wrong.ptx", wrong());
    let launch = |expected: &str| {
        format!(
            r#"{{"ptx":"right.ptx","entry":"k","grid":[1,1,1],"block":[32,1,1],"args":[{{"buffer":{{"len":4,"fill":0}}}}],
                "expect":{{"0":{{"bytes_hex":"{expected}"}}}}}}"#
        )
    };
    let good = write(folder.path(), "good.json", launch("07000000"));
    let bad = write(folder.path(), "bad.json", launch("08000000"));
    let no_record = write(folder.path(), "none.json", "{}");
    let cubin = text(&folder.path().join("right.cubin"));
    let cases: &[(i32, &[&str])] = &[
        (0, &["compile", &right]),
        (0, &["compile", &right, "-o", &cubin, "-O0", "-v", "--time-passes"]),
        (0, &["check", &right]),
        (0, &["run", &good, "--on", "interp"]),
        (0, &["run", &good, "--on", "sim"]),
        (0, &["run", &good, "--on", "sim", "--cubin", &cubin]),
        (0, &["dis", &cubin]),
        (0, &["dis", "--json", &cubin]),
        (0, &["dis", "--lines", &cubin]),
        (0, &["dis", "--dot", &cubin]),
        (0, &["dis", "--summary", &cubin]),
        (0, &["lint", &cubin]),
        (0, &["isel", "--explain", &right]),
        (0, &["latency"]),
        (0, &["latency", "--guesses"]),
        (0, &["latency", "--of", &cubin]),
        (0, &["explain", "ptx::syntax"]),
        (0, &["--help"]),
        (0, &["--version"]),
        (1, &["compile", &wrong]),
        (1, &["check", &wrong]),
        (1, &["check", "nowhere.ptx"]),
        (1, &["latency", "--of", "nowhere.cubin"]),
        (1, &["compile", "nowhere.ptx"]),
        (1, &["compile", &right, "-o", "nowhere/right.cubin"]),
        (1, &["run", &bad, "--on", "interp"]),
        (1, &["run", &bad, "--on", "sim"]),
        (1, &["dis", &right]),
        (1, &["dis", "nowhere.cubin"]),
        (1, &["dis", "--dot", &right]),
        (2, &["dis", "--dot", "--json", &cubin]),
        (1, &["lint", &right]),
        (1, &["asm", &right]),
        (2, &["run", &no_record, "--on", "interp"]),
        (2, &["run", &good]),
        (2, &["run", &good, "--on", "paper"]),
        (2, &["list"]),
        (2, &["list", "nonsense"]),
        (2, &["compile"]),
        (2, &["compile", &right, "-O5"]),
        (2, &["compile", &right, "--arch", "sm_0"]),
        (2, &["compile", &right, "--arch", "sm_60"]),
        (2, &["compile", &right, "--knob", "no-such-knob=1"]),
        (2, &["compile", &right, "--knob", "no-equals-sign"]),
        (2, &["compile", &right, "--debug-switch", "no-such-switch"]),
        (2, &["compile", &right, "--maxrregcount", "many"]),
        (2, &["compile", &right, "--no-such-option"]),
        (2, &["ori", &right, "--after", "no-such-phase"]),
        (2, &["isel", &right, "--function", "no_such_function"]),
        (2, &["explain", "no::code"]),
        (2, &["no-such-command"]),
        (2, &[]),
    ];
    for (status, arguments) in cases {
        let run = oriole(arguments);
        assert_eq!(run.status, Some(*status), "{arguments:?}: {}{}", run.out, run.err);
        if *status != 0 && !arguments.contains(&"run") {
            assert!(!run.err.is_empty(), "{arguments:?}: a failure says why");
        }
    }
    say(&format!("{} command lines end as they must", cases.len()));
}

/// A launch of the kernel `k` of a file.
fn launch(ptx: &str) -> String {
    format!(
        r#"{{"ptx":"{ptx}","entry":"k","grid":[1,1,1],"block":[32,1,1],"args":[{{"buffer":{{"len":4,"fill":0}}}}],
            "expect":{{"0":{{"bytes_hex":"07000000"}}}}}}"#
    )
}

/// Asked for a chip that no table knows, what makes no code takes the tables of a known one and says whose; what makes code
/// refuses.
#[test]
fn an_unknown_chip_has_a_stand_in() {
    let folder = scratch();
    let right = write(folder.path(), "right.ptx", RIGHT);
    let good = write(folder.path(), "good.json", launch("right.ptx"));
    let cubin = text(&folder.path().join("right.cubin"));
    for (unknown, known) in [
        ("sm_91", "sm_90"),
        ("sm_101", "sm_110"),
        ("sm_104f", "sm_103f"),
        ("sm_123", "sm_121"),
        ("sm_130a", "sm_121a"),
    ] {
        let whole = ["latency", "--arch", unknown];
        let guesses = ["latency", "--arch", unknown, "--guesses"];
        for arguments in [
            &["check", &right, "--arch", unknown][..],
            &["ori", &right, "--after", "96", "--arch", unknown],
            &whole,
        ] {
            let run = oriole(arguments);
            assert_eq!(run.status, Some(0), "{arguments:?}: {}", run.err);
            assert_eq!(run.err.matches("warning[target::stand-in]").count(), 1, "{arguments:?}: {}", run.err);
            assert!(run.err.contains(unknown) && run.err.contains(&format!("`{known}`")), "{}", run.err);
        }
        let run = oriole(&whole);
        let pairs: Vec<&str> = run.out.lines().filter(|line| line.contains(" -> ")).collect();
        assert!(pairs.len() > 500 && pairs.iter().all(|pair| pair.ends_with(" cycles, guessed")));
        assert_eq!(oriole(&guesses).out.lines().count(), pairs.len());
        let virtual_name = unknown.replace("sm_", "compute_");
        for arguments in [
            &["compile", &right, "-o", &cubin, "--arch", unknown][..],
            &["compile", &right, "-o", &cubin, "--arch", &virtual_name],
            &["isel", &right, "--arch", unknown],
            &["run", &good, "--on", "sim", "--arch", unknown],
        ] {
            let run = oriole(arguments);
            assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{arguments:?}: {}", run.err);
            assert!(run.err.contains("[target::no-encoding]"), "{arguments:?}: {}", run.err);
        }
        assert!(!Path::new(&cubin).exists());
    }
    let known = oriole(&["latency", "--arch", "sm_121"]);
    assert!(known.out.contains(" cycles, observed") && known.err.is_empty(), "{}", known.err);
}

/// The sum of two products is read by a logic operation, which a store reads: each dependence once, the pairs by how often.
#[test]
fn the_distances_that_code_depends_on() {
    let folder = scratch();
    let kernel = write(
        folder.path(),
        "kernel.ptx",
        ".version 9.0
         .target sm_90
         .address_size 64
         .visible .entry k(.param .u64 out, .param .u32 n) {
             .reg .b32 %a<5>;
             .reg .b64 %d<3>;
             ld.param.u64 %d0, [out];
             ld.param.u32 %a0, [n];
             mad.lo.u32 %a1, %a0, %a0, 7;
             mul.lo.u32 %a2, %a1, %a1;
             xor.b32 %a3, %a2, %a1;
             st.global.u32 [%d0], %a3;
             ret;
         }",
    );
    let cubin = text(&folder.path().join("kernel.cubin"));
    assert_eq!(oriole(&["compile", &kernel, "-o", &cubin]).status, Some(0));
    let all = oriole(&["latency", "--of", &cubin]);
    assert_eq!(
        all.out,
        "RAW Fma -> Alu: 5 cycles, observed, 2 times\n\
         RAW UniformLoad -> SlowUniform: 2 cycles, observed, 2 times\n\
         RAW Alu -> Data: 5 cycles, observed, 1 times\n\
         RAW Fma -> Fma: 4 cycles, observed, 1 times\n\
         4 pairs, 0 of them guessed; 6 dependences, 0 on a guess\n"
    );
    let guesses = oriole(&["latency", "--guesses", "--of", &cubin, &cubin]);
    assert_eq!(guesses.out, "4 pairs, 0 of them guessed; 12 dependences, 0 on a guess\n");
    assert_eq!(oriole(&["latency", "--arch", "sm_90", "--of", &cubin]).status, Some(2));
}

/// The same where the text names the chip: the warning is at the directive, once, and what is wrong besides is said.
#[test]
fn an_unknown_target_has_a_stand_in() {
    let folder = scratch();
    let right = write(folder.path(), "right.ptx", RIGHT.replace("sm_90", "sm_130a"));
    let wrong = write(folder.path(), "wrong.ptx", wrong().replace("sm_90", "sm_130a"));
    let good = write(folder.path(), "good.json", launch("right.ptx"));
    let cubin = text(&folder.path().join("right.cubin"));
    for arguments in
        [&["check", &right][..], &["check", &right, "--arch", "sm_130a"], &["ori", &right, "--after", "96"]]
    {
        let run = oriole(arguments);
        assert_eq!(run.status, Some(0), "{arguments:?}: {}", run.err);
        assert_eq!(run.err.matches("warning[target::stand-in]").count(), 1, "{arguments:?}: {}", run.err);
        assert!(run.err.contains(&format!("{right}:2:9")) && run.err.contains("`sm_121a`"), "{}", run.err);
    }
    let json = oriole(&["check", &right, "--message-format", "json"]);
    let said: Value = serde_json::from_str(&json.out).expect("one diagnostic");
    assert_eq!((&said["code"], &said["severity"]), (&"target::stand-in".into(), &"warning".into()));
    let run = oriole(&["check", &wrong]);
    assert_eq!(run.status, Some(1));
    assert!(run.err.contains("error[ptx::unknown-name]"), "{}", run.err);
    assert_eq!(oriole(&["run", &good, "--on", "interp"]).status, Some(0));
    for arguments in
        [&["compile", &right, "-o", &cubin][..], &["isel", &right], &["run", &good, "--on", "sim"]]
    {
        let run = oriole(arguments);
        assert_eq!(run.status, Some(1), "{arguments:?}: {}", run.err);
        assert!((run.out + &run.err).contains("target::no-encoding"), "{arguments:?}: {}", run.err);
    }
    // A known chip does not replace a later one.
    let run = oriole(&["compile", &right, "-o", &cubin, "--arch", "sm_121a"]);
    assert_eq!(run.status, Some(1));
    assert!(run.err.contains("error[target::mismatch]"), "{}", run.err);
    assert!(!Path::new(&cubin).exists());
}

#[test]
fn diagnostics_have_a_code_and_a_place() {
    let folder = scratch();
    let path = write(folder.path(), "wrong.ptx", wrong());
    for command in ["check", "compile"] {
        let run = oriole(&[command, &path]);
        assert!(run.err.contains("error[ptx::unknown-name]"), "{}", run.err);
        assert!(run.err.contains(&format!("{path}:8:18")), "{}", run.err);
        assert!(run.err.contains("st.global.u32 [%b], 7;"), "the source line is shown: {}", run.err);
        assert_eq!(run.out, "", "diagnostics for people go to standard error");
    }
    let run = oriole(&["check", &path, "--message-format", "json"]);
    assert_eq!(run.status, Some(1));
    let diagnostics: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    assert_eq!(diagnostics.len(), 1, "one mistake, one diagnostic: {}", run.out);
    let diagnostic = &diagnostics[0];
    assert_eq!(diagnostic["code"], "ptx::unknown-name");
    assert_eq!(diagnostic["severity"], "error");
    assert_eq!((&diagnostic["line"], &diagnostic["column"]), (&8.into(), &18.into()));
    assert_eq!(diagnostic["file"], path.as_str());
    assert_eq!(diagnostic["message"], "no register is called `%b`");
    let page = oriole(&["explain", "ptx::unknown-name"]);
    assert!(page.out.starts_with("ptx::unknown-name\n"), "{}", page.out);
}

/// A failed compile neither leaves a file nor touches the one that was there; a good one leaves nothing next to it.
#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = scratch();
    let right = write(folder.path(), "right.ptx", RIGHT);
    let wrong = write(folder.path(), "wrong.ptx", wrong());
    let output = text(&folder.path().join("out.cubin"));
    assert_eq!(oriole(&["compile", &wrong, "-o", &output]).status, Some(1));
    assert_eq!(oriole(&["compile", &wrong]).status, Some(1));
    assert_eq!(names(folder.path()), ["right.ptx", "wrong.ptx"]);
    std::fs::write(&output, "what was there before").expect("a temporary file");
    assert_eq!(oriole(&["compile", &wrong, "-o", &output]).status, Some(1));
    assert_eq!(std::fs::read(&output).expect("it is still there"), b"what was there before");
    assert_eq!(oriole(&["compile", &right, "-o", &output]).status, Some(0));
    assert_eq!(oriole(&["compile", &right]).status, Some(0));
    assert_eq!(names(folder.path()), ["out.cubin", "right.cubin", "right.ptx", "wrong.ptx"]);
    let [a, b] =
        ["out.cubin", "right.cubin"].map(|name| std::fs::read(folder.path().join(name)).expect("a cubin"));
    assert_eq!(a, b, "the bytes do not depend on the name of the file");
    assert!(a.starts_with(b"\x7fELF"));
    // A folder is where the file should go.
    let taken = folder.path().join("taken.cubin");
    std::fs::create_dir(&taken).expect("a folder");
    assert_eq!(oriole(&["compile", &right, "-o", &text(&taken)]).status, Some(1));
    assert_eq!(names(folder.path()), ["out.cubin", "right.cubin", "right.ptx", "taken.cubin", "wrong.ptx"]);
    assert_eq!(names(&taken), [""; 0]);
}

/// An option for registers changes nothing of kernels that say how many they start with, give back and take.
#[test]
fn kernels_that_change_their_registers_have_their_own_counts() {
    let folder = scratch();
    for input in ["grants.ptx", "pipelines.ptx"].map(|name| data("kernels").join(name)) {
        let cubin = |options: &[&str]| {
            let output = folder.path().join("k.cubin");
            compile(&input, &output, options).expect("the kernels compile")
        };
        assert!(cubin(&["-O3", "--maxrregcount", "24"]) == cubin(&["-O3"]), "{}", input.display());
    }
}

/// The same input and options give the same bytes, whatever the number of threads and the run. And `dis` prints all there is in a
/// word: its text assembles to the same words.
#[test]
fn own_cubins_are_the_same_bytes_every_time_and_round_trip() {
    let folder = scratch();
    let (mut cubins, mut count, mut wrong) = (0, 0, Vec::new());
    for (at, input) in files(&data("kernels"), "ptx").into_iter().enumerate() {
        // A plain run has one of these by turns.
        let all: [&[&str]; 3] = [&["-O3"], &["-O0"], &["-O3", "--maxrregcount", "24"]];
        for &options in if is_thorough() { &all[..] } else { &all[at % 3..][..1] } {
            let output = folder.path().join("k.cubin");
            let compile = |jobs| compile(&input, &output, &[options, &["--jobs", jobs]].concat());
            let first = match compile("1") {
                Ok(bytes) => bytes,
                Err(message) => {
                    // A kernel with an instruction that needs more registers is refused.
                    let refused = options.contains(&"24") && crate::conformance::is_too_large(&message);
                    wrong.extend(Some(message).filter(|_| !refused));
                    continue;
                }
            };
            let (words, failures) = round_trip(&output, folder.path());
            count += words;
            wrong
                .extend(failures.iter().map(|failure| format!("{} {options:?}: {failure}", input.display())));
            if compile("5").as_ref() != Ok(&first) {
                wrong.push(format!("{} {options:?} --jobs 5: other bytes", input.display()));
            }
            cubins += 1;
        }
    }
    say(&format!(
        "{cubins} own cubins, with 1 and 5 threads, and {count} words of them by way of their text"
    ));
    assert!(count > 10_000);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `dis --json` gives the words and the parts of the control word.
#[test]
fn listings_as_json_hold_the_words() {
    let folder = scratch();
    let (input, output) = (data("kernels").join("reduce.ptx"), folder.path().join("k.cubin"));
    compile(&input, &output, &[]).expect("the kernel compiles");
    let run = oriole(&["dis", "--json", &text(&output)]);
    let lines: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let cubin = read_cubin(&output);
    let words =
        cubin.kernels.iter().flat_map(|kernel| kernel.code.iter().map(move |word| (&kernel.name, word)));
    let mut count = 0;
    for (line, (kernel, word)) in lines.iter().zip(words) {
        assert_eq!(line["kernel"], kernel.as_str());
        assert_eq!(line["word"], format!("{word:032x}"));
        assert_eq!(line["stall"], (word >> 105 & 15) as u64, "{line}");
        count += 1;
    }
    assert!(count > 0 && count == lines.len());
}

/// A word that no form takes is written as a number and named, the others are read all the same; `asm` takes it back.
#[test]
fn a_bad_word_hides_no_other() {
    let folder = scratch();
    let (input, output) = (data("kernels").join("reduce.ptx"), folder.path().join("k.cubin"));
    let mut bytes = compile(&input, &output, &[]).expect("the kernel compiles");
    let kernel = read_cubin(&output).kernels.remove(0);
    let words = |code: &[u128]| code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let whole = words(&kernel.code);
    let at = bytes.windows(whole.len()).position(|part| part == whole).expect("its code lies in the file");
    bytes[at + 3 * 16..at + 4 * 16].copy_from_slice(&0xfff_u128.to_le_bytes());
    std::fs::write(&output, &bytes).expect("a temporary file");
    let run = oriole(&["dis", &text(&output)]);
    assert_eq!(run.status, Some(1));
    assert!(run.err.contains("at 0x30: no instruction has opcode 0xfff"), "{}", run.err);
    assert!(run.out.contains(&format!("/*0030*/ .word 0x{:032x}", 0xfff)), "{}", run.out);
    let source = folder.path().join("k.sass");
    std::fs::write(&source, &run.out).expect("a temporary file");
    let back = oriole(&["asm", &text(&source)]);
    let code = read_cubin(&output).kernels.remove(0).code;
    let expected: Vec<String> = code.iter().map(|word| format!("{word:032x}")).collect();
    assert_eq!(back.out.lines().take(code.len()).collect::<Vec<_>>(), expected, "{}", back.err);
    let json = oriole(&["dis", "--json", &text(&output)]);
    assert_eq!(
        (json.status, json.out.lines().count()),
        (Some(1), run.out.lines().filter(|l| l.starts_with("/*")).count())
    );
}

/// `ori --after` prints the function after a phase that exists, and says so of a phase that does nothing here.
#[test]
fn phases_that_are_not_there_are_refused() {
    let folder = scratch();
    let path = write(folder.path(), "right.ptx", RIGHT);
    let (mut done, mut refused) = (0, 0);
    for phase in &oriole_pipeline::PHASES {
        let number = phase.number.to_string();
        let run = oriole(&["ori", &path, "--after", &number]);
        let by_name = oriole(&["ori", &path, "--after", phase.name]);
        match phase.work {
            Work::NotYet | Work::NotForCompute => {
                assert_eq!(run.status, Some(1), "{}", phase.name);
                assert!(run.err.contains("oriole::phase"), "{}: {}", phase.name, run.err);
                assert!(run.err.contains(phase.name) && run.out.is_empty(), "{}", run.err);
                refused += 1;
            }
            // Phases after allocation leave machine code, which this command does not print.
            _ if phase.leaves_ori().is_err() && !matches!(phase.work, Work::Profile) => {
                assert_eq!(run.status, Some(1), "{}: {}", phase.name, run.err);
                assert!(!run.err.is_empty(), "{}", phase.name);
            }
            work => {
                assert!(run.status == Some(0) && run.out.contains("// k"), "{}: {}", phase.name, run.out);
                if let Work::By(other) = work {
                    assert!(run.out.contains(&format!("done by {other}")), "{}: {}", phase.name, run.out);
                }
                done += 1;
            }
        }
        assert_eq!((run.status, &run.out), (by_name.status, &by_name.out), "{} by name", phase.name);
    }
    say(&format!("{done} phases print what they leave, {refused} are refused"));
    assert!(done > 20 && refused > 0);
    let dot = oriole(&["ori", &path, "--after", "0", "--dot"]);
    assert!(dot.status == Some(0) && dot.out.contains("digraph"), "{}{}", dot.out, dot.err);
}

/// A reader that goes away is not a failure, and nothing is said of it.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let program = env!("CARGO_BIN_EXE_oriole");
    let command = format!("'{program}' latency | head -n 1; exit ${{PIPESTATUS[0]}}");
    let run = finish(std::process::Command::new("bash").args(["-c", &command]));
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
}

/// `--time-passes` has rows for queries, stages, phases, and for scheduling and allocation of their own; `--trace` gives the same
/// spans to a viewer, `--log` to the terminal. None of it changes a byte.
#[test]
fn times_traces_and_logs() {
    let folder = scratch();
    let input = text(&data("kernels").join("reduce.ptx"));
    let [cubin, plain, trace] =
        ["k.cubin", "plain.cubin", "trace.json"].map(|name| text(&folder.path().join(name)));
    let run = oriole(&["compile", &input, "-o", &cubin, "--time-passes", "--trace", &trace, "--jobs", "2"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    for row in [
        "query resolved",
        "stage allocated",
        "   97 AdvancedPhasePreSched",
        "  101 AdvancedPhaseAllocReg",
        "  106 AdvancedPhasePostSched",
        "  115 AdvancedScoreboardsAndOpexes",
        "   49 GvnCse",
        "all, by the clock",
    ] {
        assert_eq!(run.err.matches(row).count(), 1, "{row}:\n{}", run.err);
    }
    let events: Value =
        serde_json::from_str(&std::fs::read_to_string(&trace).expect("a trace")).expect("JSON");
    let events = events["traceEvents"].as_array().expect("a list");
    let encoded = |event: &&Value| event["name"] == "encoded" && event["cat"] == "query";
    assert!(
        events
            .iter()
            .filter(encoded)
            .all(|event| event["args"]["unit"].as_str().is_some_and(|u| !u.is_empty()))
    );
    assert!(events.iter().any(|event| event["name"] == "AdvancedPhaseAllocReg" && event["cat"] == "phase"));
    let run = oriole(&["compile", &input, "-o", &plain, "--log", "oriole_pipeline=debug"]);
    assert!(run.status == Some(0) && run.err.contains("GvnCse") && !run.err.contains("query"), "{}", run.err);
    assert_eq!(std::fs::read(&cubin).expect("a cubin"), std::fs::read(&plain).expect("a cubin"));
    assert_eq!(oriole(&["compile", &input, "-o", &plain, "--log", "no=such=filter"]).status, Some(2));
    assert_eq!(oriole(&["compile", &input, "-o", &plain]).err, "");
}

/// There is a page for each command that `--help` lists, and it names the command's arguments.
#[test]
fn every_command_has_a_page_of_the_manual() {
    let folder = scratch();
    let pages = folder.path().join("share/man1");
    let done = oriole(&["man", &text(&pages)]);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    let help = oriole(&["--help"]).out;
    let listed = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    let commands: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands.iter().filter(|command| **command != "help") {
        let page = std::fs::read_to_string(pages.join(format!("oriole-{command}.1"))).expect("a page");
        let help = oriole(&[command, "--help"]).out;
        for word in help.lines().filter_map(|line| line.trim().strip_prefix("--")) {
            let name = word.split([' ', '=', '[']).next().expect("a name").replace('-', "\\-");
            assert!(page.contains(&format!("\\-\\-{name}")), "{command}: {name} is missing in:\n{page}");
        }
    }
    let first = std::fs::read_to_string(pages.join("oriole.1")).expect("a page");
    assert!(first.contains("Exit status:"), "{first}");
    let file = write(folder.path(), "file", "");
    assert_eq!(oriole(&["man", &file]).status, Some(1));
}

/// A shell completes the commands and their arguments; bash, where it is there, reads it without an error.
#[test]
fn shells_complete_command_lines() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = oriole(&["completions", shell]);
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{shell}");
        for word in ["init-shadow", "maxrregcount", "debug-switch"] {
            assert!(done.out.contains(word), "{word} is missing for {shell}");
        }
        if shell == "bash" {
            let folder = scratch();
            let script = write(folder.path(), "oriole.bash", &done.out);
            let line = format!(
                "source {script}; COMP_WORDS=(oriole comp); COMP_CWORD=1; _oriole oriole comp oriole; echo ${{COMPREPLY[@]}}"
            );
            let Ok(bash) = std::process::Command::new("bash").args(["-c", &line]).output() else { continue };
            assert_eq!(String::from_utf8_lossy(&bash.stdout), "compile completions\n");
        }
    }
    assert_eq!(oriole(&["completions", "tcsh"]).status, Some(2));
}
