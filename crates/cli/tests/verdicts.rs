//! Texts that are accepted, texts that are refused, and the messages: verdicts in which the program once differed from ptxas
//! without a word, or stopped where ptxas goes on.

use crate::support::{Finished, data, oriole, scratch, text};
use std::path::Path;

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// Runs a command on a text: `{}` in the words stands for its file.
fn told(folder: &Path, source: &str, words: &[&str]) -> Finished {
    let path = folder.join("a.ptx");
    std::fs::write(&path, source).expect("a temporary file");
    let words: Vec<String> = words.iter().map(|word| word.replace("{}", &text(&path))).collect();
    oriole(&words)
}

/// A text, the words of a command, its status, and what it says on standard error; nothing if that is empty.
type Case<'a> = (&'a str, String, &'a [&'a str], i32, &'a str);

fn check(cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for (name, source, words, status, says) in cases {
        let folder = scratch();
        let run = told(folder.path(), source, words);
        let said = run.err.contains(says) && (!says.is_empty() || run.err.is_empty());
        if run.status != Some(*status) || !said {
            wrong.push(format!(
                "{name}: {:?} instead of {status} and `{says}`:\n{}{}",
                run.status, run.out, run.err
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const COMPILE: &[&str] = &["compile", "{}"];
const OBJECT: &[&str] = &["compile", "-c", "{}"];
const CHECK: &[&str] = &["check", "{}"];

#[test]
fn versions_of_the_language() {
    let module = |version: &str| {
        format!(".version {version}\n.target sm_90\n.address_size 64\n.visible .entry k() {{ ret; }}\n")
    };
    check(&[
        ("newest", module("9.5"), COMPILE, 0, ""),
        ("9.1", module("9.1"), COMPILE, 0, ""),
        ("next", module("9.6"), COMPILE, 0, "warning[ptx::newer-version]"),
        ("next major one", module("10.0"), CHECK, 0, "warning[ptx::newer-version]"),
        ("far away", module("11.0"), CHECK, 1, "ptx::unsupported-version"),
        ("none", module("8.9"), CHECK, 1, "ptx::unsupported-version"),
        ("a terminator at the end", module("9.5") + "\0\0", COMPILE, 0, ""),
    ]);
}

/// A feature of later versions is known by its name, whether it is compiled or not.
#[test]
fn forms_of_later_versions() {
    let module = |version: &str, target: &str, line: &str| {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b64 %d<6>; .reg .b32 %r<6>; .reg .f32 %f<6>; .reg .pred %p<3>; .local .b32 l[4];\nld.param.u64 %d1, [p];\n{line}\nret;\n}}\n"
        )
    };
    let compiled = |version, line| module(version, "sm_90", line);
    check(&[
        (
            "2pi",
            compiled("9.5", "sin.approx.ftz.2pi.f32 %f1, 0f3E800000;\nst.global.f32 [%d1], %f1;"),
            COMPILE,
            0,
            "",
        ),
        (
            "2pi before",
            compiled("9.4", "sin.approx.ftz.2pi.f32 %f1, 0f3E800000;\nst.global.f32 [%d1], %f1;"),
            COMPILE,
            1,
            "target::needs-version",
        ),
        (
            "local",
            compiled("9.1", "st.volatile.local.b32 [l], 1;\nld.volatile.local.b32 %r1, [l];"),
            COMPILE,
            0,
            "",
        ),
        ("clmad", compiled("9.3", "clmad.lo.u64 %d2, %d1, %d1, %d1;"), COMPILE, 0, ""),
        ("fabric", module("9.3", "sm_100", "fabric.submit;"), COMPILE, 1, "oriole::not-supported"),
        ("fabric", module("9.3", "sm_100", "fabric.submit;"), COMPILE, 1, "oriole::not-supported"),
        ("fabric before", compiled("9.3", "fabric.submit;"), COMPILE, 1, "target::needs-chip"),
    ]);
}

/// A range declares variables as it declares registers; gcc's back end writes parameters of calls so.
#[test]
fn ranges_of_variables() {
    let kernel = |body: &str| {
        format!(
            "{HEAD}.extern .func f(.param .u64 a, .param .u64 b);\n.visible .entry k(.param .u64 p) {{\n.reg .u64 %R<2>;\nld.param.u64 %R0, [p];\n{body}\nret;\n}}\n"
        )
    };
    check(&[
        (
            "parameters",
            kernel(
                "{ .param .u64 %P<2>;\nst.param.u64 [%P0], %R0;\nst.param.u64 [%P1], %R0;\ncall f, (%P0, %P1); }",
            ),
            OBJECT,
            0,
            "",
        ),
        (
            "beside others",
            kernel("{ .param .u32 L<2>, M<3>, N;\nst.param.u32 [M2], 4;\nst.param.u32 [N], 4; }"),
            OBJECT,
            0,
            "",
        ),
        (
            "local and shared",
            kernel(".local .u32 L<2>; .shared .u32 S<3>;\nst.local.u32 [L1], 4;\nst.shared.u32 [S2], 4;"),
            OBJECT,
            0,
            "",
        ),
        (
            "of the module",
            kernel("st.global.u32 [G1], 4;").replace(".extern", ".global .u32 G<2>;\n.extern"),
            OBJECT,
            0,
            "",
        ),
        (
            "behind the last",
            kernel("{ .param .u32 L<2>;\nst.param.u32 [L2], 4; }"),
            OBJECT,
            1,
            "ptx::unknown-name",
        ),
        (
            "the name alone",
            kernel("{ .param .u32 L<2>;\nst.param.u32 [L], 4; }"),
            OBJECT,
            1,
            "ptx::unknown-name",
        ),
        ("twice", kernel("{ .param .u32 L1; .param .u32 L<2>; }"), OBJECT, 1, "ptx::duplicate-name"),
        ("an array", kernel("{ .param .b8 L<2>[4]; }"), OBJECT, 1, "ptx::"),
    ]);
}

#[test]
fn accesses_beyond_a_parameter() {
    let function = |lines: &str| {
        format!(
            "{HEAD}.visible .func (.param .align 8 .b8 out[8]) f(.param .b32 in, .param .align 4 .b8 w[8])\n{{\n\
             .reg .b32 %r<4>; .reg .b64 %d<2>;\n{lines}\nret;\n}}\n"
        )
    };
    let beyond = "warning[ptx::beyond-parameter]";
    check(&[
        ("a store", function("st.param.b32 [out+8], 1;"), OBJECT, 0, beyond),
        ("a load", function("ld.param.b32 %r1, [in+4];\nst.param.b32 [out], %r1;"), OBJECT, 0, beyond),
        ("across the end", function("ld.param.b64 %d1, [in];\nst.param.b64 [out], %d1;"), OBJECT, 0, beyond),
        ("a vector", function("st.param.v2.b32 [out+4], {%r1, %r2};"), OBJECT, 0, beyond),
        ("inside", function("ld.param.b32 %r1, [w+4];\nst.param.b32 [out+4], %r1;"), OBJECT, 0, ""),
    ]);
}

#[test]
fn targets_of_branches() {
    let kernel = |lists: &[usize]| {
        let labels =
            |count: usize| (0..count).map(|at| format!("L{}", at % 50)).collect::<Vec<_>>().join(", ");
        let mut body = String::new();
        for (at, &count) in lists.iter().enumerate() {
            body += &format!("t{at}: .branchtargets {};\n@%p brx.idx %r1, t{at};\n", labels(count));
        }
        for at in 0..50 {
            body += &format!("L{at}: st.global.u32 [%d1], {at};\nbra done;\n");
        }
        format!(
            "{HEAD}.visible .entry k(.param .u64 p) {{\n.reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %p;\n\
             ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nsetp.eq.u32 %p, %r1, 7;\n{body}done: ret;\n}}\n"
        )
    };
    check(&[
        ("several lists", kernel(&[8000, 8000]), COMPILE, 0, ""),
        ("the longest", kernel(&[16380]), COMPILE, 0, ""),
        ("a full bank", kernel(&[8192, 8192]), COMPILE, 0, ""),
        ("more than a bank", kernel(&[8192, 8192, 2]), COMPILE, 1, "has size 0x10008, at most 0x10000"),
        ("too long", kernel(&[16381]), COMPILE, 1, "16381 targets of one indirect branch, 16380 at most"),
    ]);
}

/// A function that is missing is the business of a linker: a command that only shows code shows what that linker gets.
#[test]
fn functions_of_other_files() {
    let source = format!(
        "{HEAD}.extern .func far(.param .b32 a);\n.visible .entry k() {{\n.param .b32 a;\nst.param.b32 [a], 1;\ncall far, (a);\nret;\n}}\n"
    );
    let page = scratch();
    let page = text(&page.path().join("page.html"));
    let warned = "warning[ptx::unresolved-external]";
    check(&[
        ("compile", source.clone(), COMPILE, 1, "a.ptx:4:15"),
        ("compile -c", source.clone(), OBJECT, 0, ""),
        ("check", source.clone(), CHECK, 0, warned),
        ("check for a chip", source.clone(), &["check", "--arch", "sm_90", "{}"], 0, warned),
        ("ori", source.clone(), &["ori", "--after", "OriBranchOpt", "{}"], 0, ""),
        ("isel", source.clone(), &["isel", "{}"], 0, ""),
        ("diff", source.clone(), &["diff", "{}", "-O1", "--", "-O3"], 0, ""),
        ("view", source, &["view", "{}", "-o", &page], 0, ""),
    ]);
}

#[test]
fn chips_that_are_too_old() {
    let source = ".version 8.0\n.target sm_61\n.address_size 64\n.visible .entry k() { ret; }\n".to_owned();
    check(&[
        (
            "no choice",
            source.clone(),
            COMPILE,
            0,
            "no code can be made for `sm_61`: this is code for `sm_70`",
        ),
        ("a choice", source.clone(), &["compile", "--arch", "sm_75", "{}"], 0, ""),
        (
            "an old one",
            source,
            &["compile", "--arch", "sm_61", "{}"],
            2,
            "older than each chip that code can be made for; sm_70",
        ),
    ]);
}

#[test]
fn names_and_aliases() {
    let function = "() { .reg .b32 %x; mov.u32 %x, 3; st.param.b32 [r], %x; ret; }\n";
    check(&[
        (
            "of a kernel",
            format!(
                "{HEAD}.visible .entry inner(.param .u64 p) {{ ret; }}\n.visible .entry outer(.param .u64 p);\n.alias outer, inner;\n"
            ),
            COMPILE,
            1,
            "is a kernel",
        ),
        (
            "of a weak function",
            format!(
                "{HEAD}.weak .func (.param .b32 r) pick{function}.visible .func (.param .b32 r) again();\n.alias again, pick;\n.visible .entry k() {{ ret; }}\n"
            ),
            COMPILE,
            1,
            "`.weak`",
        ),
        (
            "of a function",
            format!(
                "{HEAD}.visible .func (.param .b32 r) pick{function}.visible .func (.param .b32 r) again();\n.alias again, pick;\n.visible .entry k() {{ ret; }}\n"
            ),
            COMPILE,
            0,
            "",
        ),
        (
            "a name in parentheses",
            format!("{HEAD}.global .b32 g;\n.visible .entry k() {{ .reg .b64 %d; mov.u64 %d, (g); ret; }}\n"),
            COMPILE,
            1,
            "ptx::syntax",
        ),
        (
            "a constant in parentheses",
            format!(
                "{HEAD}.global .b32 g;\n.visible .entry k() {{ .reg .b64 %d; mov.u64 %d, g+(4*2); ret; }}\n"
            ),
            COMPILE,
            0,
            "",
        ),
    ]);
}

/// A `wgmma` whose accumulator has 128 words.
fn large_product(directives: &str) -> String {
    let registers: Vec<String> = (0..128).map(|at| format!("%f{at}")).collect();
    let sum = (0..128).map(|at| format!("st.global.f32 [%d1+{}], %f{at};\n", 4 * at)).collect::<String>();
    let zero = (0..128).map(|at| format!("ld.global.f32 %f{at}, [%d1+{}];\n", 4 * at)).collect::<String>();
    format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {directives}\n{{\n.reg .f32 %f<128>; .reg .b64 %d<2>;\n\
         ld.param.u64 %d1, [p];\n{zero}wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{{}}}, %d1, %d1, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n{sum}ret;\n}}\n",
        registers.join(", ")
    )
}

/// The limits of a thread are never exceeded in silence: a kernel that needs more could not be launched.
#[test]
fn registers_that_are_not_there() {
    let exceeded = "error[limit::insufficient-registers]";
    check(&[
        ("enough", large_product(".maxntid 256"), COMPILE, 0, ""),
        ("threads of a block", large_product(".maxntid 512"), COMPILE, 1, exceeded),
        ("a directive", large_product(".maxnreg 64"), COMPILE, 1, exceeded),
        ("an option", large_product(""), &["compile", "--maxrregcount", "96", "{}"], 1, exceeded),
        ("without optimization", large_product(".maxntid 512"), &["compile", "-O0", "{}"], 1, exceeded),
        (
            "as ptxas",
            large_product(".maxntid 512"),
            &["ptxas", "-arch=sm_90a", "{}", "-o", "/dev/null"],
            255,
            "(C7602) Insufficient registers (128) to compile instruction at line ",
        ),
    ]);
}

/// The number of registers that is named as enough is.
#[test]
fn as_many_registers_as_are_named_are_enough() {
    let folder = scratch();
    for (limit, count) in [(".maxntid 512", 0), (".maxnreg 32", 0), (".maxnreg 24", 24)] {
        let others: String = (0..count).map(|at| format!("ld.global.u32 %r{at}, [%d1+{at}00];\n")).collect();
        let uses: String = (0..count).map(|at| format!("st.global.u32 [%d1+{at}04], %r{at};\n")).collect();
        let source = large_product(limit)
            .replace(".reg .f32", ".reg .b32 %r<32>; .reg .f32")
            .replace("wgmma.fence", &format!("{others}wgmma.fence"))
            .replace("ret;", &format!("{uses}ret;"));
        let run = told(folder.path(), &source, COMPILE);
        let named = run.err.split_once("than there are: ").and_then(|(_, rest)| rest.split(' ').next());
        let named = named.unwrap_or_else(|| panic!("{limit}: {}", run.err));
        let enough = source.replace(limit, &format!(".maxnreg {named}"));
        let run = told(folder.path(), &enough, COMPILE);
        assert_eq!(run.status, Some(0), "{limit}: {named}: {}", run.err);
    }
}

/// Fences that are added to finished code belong to no instruction of the source.
#[test]
fn debug_info_of_code_with_added_fences() {
    let written = large_product("").replace("wgmma.mma_async", "mov.f32 %f7, 0f3f800000;\nwgmma.mma_async");
    check(&[("wgmma", written, &["compile", "-O0", "-g", "{}"], 0, "warning[ptx::serialized-products]")]);
}

/// Where code needs more registers than its own `setmaxnreg` leave, a thread keeps those it starts with.
#[test]
fn requests_that_leave_too_few_registers_are_dropped() {
    let product = |requests: &str| {
        large_product(".maxntid 256 .minnctapersm 1")
            .replace("wgmma.fence", &format!("{requests}wgmma.fence"))
    };
    let dec = "setmaxnreg.dec.sync.aligned.u32 40;\n";
    let back = "setmaxnreg.inc.sync.aligned.u32 232;\nsetmaxnreg.dec.sync.aligned.u32 40;\n";
    let ptxas = ["ptxas", "-arch=sm_90a", "{}", "-o", "/dev/null"];
    let c7507 = "ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.\n";
    let dropped = "warning[limit::register-change-dropped]";
    check(&[
        ("fewer", product(dec), COMPILE, 0, dropped),
        ("fewer, then more", product(back), COMPILE, 0, dropped),
        ("without optimization", product(back), &["compile", "-O0", "{}"], 0, dropped),
        ("as ptxas", product(dec), &ptxas, 0, c7507),
        ("enough", product(&dec.replace("40", "232")), COMPILE, 0, ""),
    ]);
    let folder = scratch();
    let cubin = text(&folder.path().join("k.cubin"));
    let run = told(folder.path(), &product(back), &["compile", "{}", "-o", &cubin]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    let listing = oriole(&["dis".to_owned(), cubin]).out;
    assert!(listing.contains("HGMMA") && !listing.contains("USETMAXREG"), "{listing}");
}

/// A kernel for `threads` that changes its registers, and has a matrix operand of that size.
fn changing(chip: &str, threads: u32, registers: usize) -> String {
    let list = |letter| (1..=registers).map(|at| format!("%{letter}{at}")).collect::<Vec<_>>().join(", ");
    let operation = if chip == "sm_90a" {
        let columns = 2 * registers;
        format!(
            "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{}}}, %d1, %d1, 1, 1, 1, 0, 0;",
            list("f")
        )
    } else {
        format!("tcgen05.st.sync.aligned.32x32b.x{registers}.b32 [%r0], {{{}}};", list("r"))
    };
    format!(
        ".version 8.6\n.target {chip}\n.address_size 64\n.visible .entry k() .maxntid {threads} {{\n\
         .reg .b32 %r<130>; .reg .f32 %f<130>; .reg .b64 %d<2>;\nsetmaxnreg.dec.sync.aligned.u32 24;\n{operation}\nret;\n}}\n"
    )
}

/// The registers at entry are known from bounds on threads if matrices take nearly all of them.
#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn setmaxnreg_has_an_effect_where_it_has_one_with_ptxas() {
    let tools = crate::oracle::tools();
    let folder = scratch();
    let input = folder.path().join("k.ptx");
    let mut counts = [0, 0];
    for (chip, sizes) in [("sm_90a", &[4, 8, 16, 24, 48, 64][..]), ("sm_100a", &[8, 16, 32, 64])] {
        for (threads, size) in [1024, 640, 512, 256]
            .into_iter()
            .flat_map(|threads| sizes.iter().map(move |size| (threads, *size)))
        {
            std::fs::write(&input, changing(chip, threads, size)).expect("a temporary file");
            let arguments = ["-arch", chip, &text(&input), "-o", "/dev/null"];
            let theirs =
                std::process::Command::new(tools.join("ptxas")).args(arguments).output().expect("ptxas");
            if !theirs.status.success() {
                continue;
            }
            let ignored = |messages: &str| messages.contains("C7508");
            let theirs = ignored(&String::from_utf8_lossy(&theirs.stderr));
            let ours = oriole(&[&["ptxas"][..], &arguments].concat());
            assert_eq!(ours.status, Some(0), "{chip} {threads} {size}: {}", ours.err);
            assert_eq!(ignored(&ours.err) || ignored(&ours.out), theirs, "{chip} {threads} {size}");
            counts[usize::from(theirs)] += 1;
        }
    }
    assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
}

#[test]
fn what_has_no_effect_is_told() {
    let kernel = |directives: &str, lines: &str| {
        format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {directives} {{\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n{lines}\nret;\n}}\n"
        )
    };
    let change = "setmaxnreg.inc.sync.aligned.u32 232;\nsetmaxnreg.dec.sync.aligned.u32 40;";
    check(&[
        ("setmaxnreg", kernel("", change), CHECK, 0, "warning[ptx::register-change-ignored]"),
        (
            "setmaxnreg as ptxas",
            kernel("", change),
            &["ptxas", "-arch=sm_90a", "{}", "-o", "/dev/null"],
            0,
            "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n",
        ),
        (
            "spills to shared memory",
            kernel("", ".pragma \"enable_smem_spilling\";"),
            COMPILE,
            0,
            "warning[ptx::ignored]",
        ),
    ]);
}

/// A register that is packed with others may be one that nothing writes; not all of them.
#[test]
fn packs_of_what_nothing_writes() {
    let kernel = |lines: &str| {
        format!(
            "{HEAD}.visible .entry k(.param .u64 p) {{\n.reg .b32 %a, %b, %c; .reg .b64 %d, %v;\nld.param.u64 %d, [p];\n{lines}\nst.global.b64 [%d], %v;\nret;\n}}\n"
        )
    };
    let unwritten = "warning[ptx::uninitialized-register]";
    check(&[
        ("nothing written", kernel("mov.b64 %v, {%a, %b};"), CHECK, 0, unwritten),
        ("the same twice", kernel("mov.b64 %v, {%c, %c};"), CHECK, 0, unwritten),
        ("written behind", kernel("mov.b64 %v, {%a, %b};\nmov.b64 {%a, %b}, %v;"), CHECK, 0, unwritten),
        ("one of two", kernel("mov.u32 %a, 1;\nmov.b64 %v, {%a, %b};"), CHECK, 0, ""),
    ]);
}

#[test]
fn slips_are_told_the_nearest_word() {
    let kernel = |line: &str| {
        format!(
            "{HEAD}.visible .entry k() {{\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n{line}\nret;\n}}\n"
        )
    };
    check(&[
        ("a space", kernel("ld.globl.u32 %r1, [%d1];"), CHECK, 1, "did you mean `.global`?"),
        ("a type", kernel("add.f23 %f1, %f2, %f3;"), CHECK, 1, "did you mean `.f32`?"),
        ("a missing word", kernel("mul.s32 %r1, %r2, %r3;"), CHECK, 1, "`.lo`"),
    ]);
}

/// Words of an argument in memory that no instruction writes, or reads, are not copied.
#[test]
fn large_arguments_are_copied_where_they_are_written() {
    let source = format!(
        "{HEAD}.func f(.param .b8 x[1000000]) {{ ret; }}\n.visible .entry k(.param .u64 a) {{\n.param .b8 x[1000000];\n.reg .b32 %r;\nmov.u32 %r, 0;\nst.param.b32 [x+999996], %r;\ncall f, (x);\nret;\n}}\n"
    );
    let folder = scratch();
    assert_eq!(told(folder.path(), &source, COMPILE).status, Some(0));
    let run = oriole(&["dis", &text(&folder.path().join("a.cubin"))]);
    assert!(run.status == Some(0) && run.out.lines().count() < 200, "{} lines", run.out.lines().count());
}

/// Commands that print notice that they could not.
#[test]
#[cfg(target_os = "linux")]
fn output_that_is_lost_is_a_failure() {
    let folder = scratch();
    let source = format!("{HEAD}.visible .entry k() {{ ret; }}\n");
    assert_eq!(told(folder.path(), &source, COMPILE).status, Some(0));
    let [ptx, cubin] = ["a.ptx", "a.cubin"].map(|name| text(&folder.path().join(name)));
    let record = text(&data("kernels").join("reduce_tree_i32.json"));
    let commands: [&[&str]; 14] = [
        &["check", &ptx, "--message-format", "sarif"],
        &["fmt", "--diff", &ptx],
        &["time", &record],
        &["verify", &ptx],
        &["profile", &record],
        &["dis", &cubin],
        &["images", &cubin],
        &["dis", "--json", &cubin],
        &["explain"],
        &["list", "knobs"],
        &["ori", "--after", "OriBranchOpt", &ptx],
        &["diff", &ptx, "-O1", "--", "-O3"],
        &["ptxas", "--version"],
        &["--help"],
    ];
    for words in commands {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is full");
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(words)
            .stdout(full)
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(
            !run.status.success() && said.contains("standard output"),
            "{words:?}: {:?} {said}",
            run.status
        );
    }
}

/// The examples of the help can be run as they stand.
#[test]
fn examples_of_the_help_work() {
    let mut tried = 0;
    for command in [
        "", "compile", "check", "fmt", "verify", "diff", "dis", "run", "view", "ori", "isel", "lint", "list",
        "asm", "watch",
    ] {
        let help = oriole(&[command, "--help"].iter().filter(|word| !word.is_empty()).collect::<Vec<_>>());
        let examples = help.out.lines().skip_while(|line| !line.contains("Examples:")).skip(1);
        for example in examples.take_while(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = example.split_whitespace().collect();
            // Commands that wait for changes or serve do not end, and `run` needs records of its own.
            if words.first() != Some(&"oriole") || ["watch", "lsp", "run"].contains(&words[1]) {
                continue;
            }
            let folder = scratch();
            let source = format!("{HEAD}.visible .entry k() {{ ret; }}\n").replace("sm_90", "sm_75");
            std::fs::write(folder.path().join("kernel.ptx"), &source).expect("a temporary file");
            assert_eq!(told(folder.path(), &source, COMPILE).status, Some(0));
            for name in ["before.cubin", "after.cubin", "by-ptxas.cubin", "kernel.cubin"] {
                std::fs::copy(folder.path().join("a.cubin"), folder.path().join(name)).expect("a copy");
            }
            let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_oriole"));
            let run = run.args(&words[1..]).current_dir(folder.path()).output().expect("the program starts");
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "{example}: {:?} {said}", run.status);
            tried += 1;
        }
    }
    assert!(tried >= 4, "{tried} examples");
}
