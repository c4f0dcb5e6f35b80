//! `-c` of the commands that look at PTX: a part of a program, whose `.extern` functions others define.

use crate::inputs::oriole_in;
use crate::support::scratch;
use expect_test::expect;

const PART: &str = "\
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) other(.param .b32 x);
.extern .global .u32 table[4];
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    .param .b32 x, r;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [table];
    st.param.b32 [x], %r1;
    call (r), other, (x);
    ld.param.b32 %r2, [r];
    st.global.u32 [%rd1], %r2;
    ret;
}
";

#[test]
fn parts_of_programs_are_looked_at() {
    let folder = scratch();
    std::fs::write(folder.path().join("k.ptx"), PART).expect("a file");
    let run = |arguments: &[&str]| oriole_in(folder.path(), arguments);
    let shown = |arguments: &[&str]| {
        let done = run(arguments);
        format!("{}{:?}\n", done.err, done.status)
    };
    // Without the option a missing function is a warning, since no program is made.
    expect![[r#"
        k.ptx:4:31: warning[ptx::unresolved-external]: the function `other` is declared, used, and defined nowhere
        1 warning
        Some(0)
    "#]].assert_eq(&shown(&["check", "k.ptx", "--message-format", "short"]));
    assert_eq!(shown(&["check", "k.ptx", "-c"]), "Some(0)\n");
    assert_eq!(
        shown(&["check", "k.ptx", "-c", "--arch", "sm_80", "--deny-warnings"]).lines().last(),
        Some("Some(1)")
    );
    assert_eq!(shown(&["check", "k.ptx", "-c", "--arch", "sm_100", "--deny-warnings"]), "Some(0)\n");
    assert_eq!(shown(&["check", "k.ptx", "-c", "--for-codegen"]), "Some(0)\n");
    for command in [
        &["ori", "k.ptx", "--after", "96"][..],
        &["isel", "k.ptx"],
        &["view", "k.ptx", "-o", "k.html"],
        &["diff", "k.ptx", "-c", "--", "-c", "-O1"],
    ] {
        let done = run(&[command, if command[0] == "diff" { &[] } else { &["-c"][..] }].concat());
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{command:?}");
    }
    assert_eq!(shown(&["compile", "-c", "k.ptx", "-o", "k.cubin"]), "Some(0)\n");
    // The code that `diff -c` compares is that of `compile -c`.
    let done = run(&["diff", "k.ptx", "k.cubin", "-c", "--exact", "--exit-code"]);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{}", done.out);
    assert_eq!(run(&["diff", "k.cubin", "k.cubin", "-c"]).status, Some(2));
}

/// A text that defines all it calls is compiled as a part, too, if that is asked for.
#[test]
fn whole_texts_may_be_parts() {
    let folder = scratch();
    let whole = crate::inputs::RIGHT
        .replace(".visible .entry", ".visible .func f() { ret; }\n.visible .entry")
        .replace(
            "{ ret; }\n.visible .entry k() { ret; }",
            "{ ret; }\n.visible .entry k() { call f, (); ret; }",
        );
    std::fs::write(folder.path().join("k.ptx"), whole).expect("a file");
    let run = |arguments: &[&str]| oriole_in(folder.path(), arguments);
    assert_eq!(run(&["compile", "-c", "k.ptx", "-o", "part.cubin"]).status, Some(0));
    let exact = ["diff", "k.ptx", "part.cubin", "--exact", "--exit-code"];
    assert_eq!(run(&[&exact[..], &["-c"]].concat()).status, Some(0));
}
