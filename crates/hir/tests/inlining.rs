//! Calls inlined in bodies: canonical text of a module's kernel, and which calls stay.

use expect_test::{Expect, expect};
use oriole_hir::{Body, inline, resolve_module};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// The bodies of a module, with calls inlined in all but the first function.
fn merged(text: &str) -> Vec<(String, Body)> {
    let module = resolve_module(&format!("{HEAD}{text}"));
    assert!(!module.has_errors(), "{:?}", module.diagnostics);
    let mut bodies: Vec<(String, Body)> = Vec::new();
    for (name, _, resolved) in &module.functions {
        let known = |name: &str| bodies.iter().find(|(known, _)| known == name).map(|(_, body)| body);
        let body = inline(&resolved.body, known).unwrap_or_else(|| resolved.body.clone());
        bodies.push((name.to_string(), body));
    }
    bodies
}

/// The body of the last function of a module.
fn check(text: &str, expected: Expect) {
    let bodies = merged(text);
    let (_, body) = bodies.last().expect("a function");
    expected.assert_eq(&body.to_string());
}

/// A kernel whose call of `f` stays.
fn stays(function: &str, call: &str) {
    let text = format!(
        "{function}\n.visible .entry k() {{ .reg .b32 %r<4>; .reg .pred %p; .param .b32 x; .param .b32 y; .param .b32 z;\n\
         st.param.b32 [x], 7; setp.eq.b32 %p, %r1, 5;\n{call}\nld.param.b32 %r2, [y]; ret; }}"
    );
    let bodies = merged(&text);
    let (_, body) = bodies.last().expect("a function");
    assert!(body.merged.is_none(), "{body}");
}

const DOUBLE: &str = ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, %r1;\n\
     st.param.b32 [r], %r2; ret; }";

#[test]
fn a_call_becomes_what_it_calls() {
    check(
        ".global .b32 g;\n\
         .func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16]) { .reg .b32 %r<3>; .reg .pred %p; .local .b32 t;\n\
         ld.param.b32 %r1, [a]; ld.param.b32 %r2, [s+8]; st.local.b32 [t], %r1; st.global.b32 [g], %r2;\n\
         setp.eq.b32 %p, %r1, 5; @%p bra L; st.param.b32 [r], %r2; @%p ret; L: st.param.b32 [r], %r1; ret; }\n\
         .visible .entry k() { .reg .b32 %r<3>; .param .b32 x; .param .align 8 .b8 y[16]; .param .b32 z;\n\
         ld.global.b32 %r1, [g]; st.param.b32 [x], %r1; st.param.b32 [y+8], %r1; call.uni (z), f, (x, y);\n\
         ld.param.b32 %r2, [z]; st.global.b32 [g], %r2; ret; }",
        expect![[r#"
            .entry () ()
            r0-r3: .b32
            r4: .pred
            v0: .param .b32 size 4 align 4
            v1: .param .b8 size 16 align 8
            v2: .param .b32 size 4 align 4
            v3: .global .b32 size 4 align 4 = g
            v4: .local .b32 size 4 align 4
            f0: f (.b32 at 0) (.b32 at 0, .b8[16] at 8 align 8)
                ld.global.b32 r0, [v3+0] // 0
                st.param.b32 [v0+0], r0 // 1
                st.param.b32 [v1+8], r0 // 2
                ld.param.b32 r2, [v0+0] // 3
                ld.param.b32 r3, [v1+8] // 3
                st.local.b32 [v4+0], r2 // 3
                st.global.b32 [v3+0], r3 // 3
                setp.eq.b32 r4, r2, 5 // 3
                @r4 bra L0 // 3
                st.param.b32 [v2+0], r3 // 3
                @r4 bra L1 // 3
            L0:
                st.param.b32 [v2+0], r2 // 3
                bra L1 // 3
            L1:
                ld.param.b32 r1, [v2+0] // 4
                st.global.b32 [v3+0], r1 // 5
                ret // 6
        "#]],
    );
}

/// Both calls have registers and labels of their own; a function brings what is inlined into it.
#[test]
fn each_call_has_its_own() {
    check(
        ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p; ld.param.b32 %r1, [a];\n\
         T: .branchtargets L0, L1; brx.idx %r1, T; L0: st.param.b32 [r], %r1; ret; L1: st.param.b32 [r], 1; }\n\
         .func (.param .b32 r) h(.param .b32 a) { .reg .b32 %r<3>; .param .b32 x; .param .b32 y; ld.param.b32 %r1, [a];\n\
         st.param.b32 [x], %r1; call (y), f, (x); ld.param.b32 %r2, [y]; st.param.b32 [r], %r2; ret; }\n\
         .visible .entry k() { .reg .b32 %r<3>; .param .b32 x; .param .b32 y; st.param.b32 [x], 1; call (y), h, (x);\n\
         ld.param.b32 %r1, [y]; st.param.b32 [x], %r1; call (y), f, (x); ld.param.b32 %r2, [y]; ret; }",
        expect![[r#"
            .entry () ()
            r0-r5: .b32
            v0: .param .b32 size 4 align 4
            v1: .param .b32 size 4 align 4
            v2: .param .b32 size 4 align 4
            v3: .param .b32 size 4 align 4
            f0: h (.b32 at 0) (.b32 at 0)
            f1: f (.b32 at 0) (.b32 at 0)
            t0: L0, L1
            t1: L4, L5
                st.param.b32 [v0+0], 1 // 0
                ld.param.b32 r2, [v0+0] // 1
                st.param.b32 [v2+0], r2 // 1
                ld.param.b32 r4, [v2+0] // 1
                brx.idx r4, t0 // 1
            L0:
                st.param.b32 [v3+0], r4 // 1
                bra L2 // 1
            L1:
                st.param.b32 [v3+0], 1 // 1
            L2:
                ld.param.b32 r3, [v3+0] // 1
                st.param.b32 [v1+0], r3 // 1
                bra L3 // 1
            L3:
                ld.param.b32 r0, [v1+0] // 2
                st.param.b32 [v0+0], r0 // 3
                ld.param.b32 r5, [v0+0] // 4
                brx.idx r5, t1 // 4
            L4:
                st.param.b32 [v1+0], r5 // 4
                bra L6 // 4
            L5:
                st.param.b32 [v1+0], 1 // 4
            L6:
                ld.param.b32 r1, [v1+0] // 5
                ret // 6
        "#]],
    );
}

#[test]
fn calls_that_stay() {
    stays(DOUBLE, "@%p call (y), f, (x);");
    stays(DOUBLE, "call (%r2), f, (%r1);");
    stays(DOUBLE, "call (x), f, (x);");
    stays(&DOUBLE.replace("ret; }", "bar.sync 0; ret; } .func g() .noreturn { trap; }"), "call g;");
    // Addresses of parameters, stacks and shared variables of its own.
    stays(
        &DOUBLE.replace("ld.param.b32 %r1, [a];", ".reg .b64 %d; mov.b64 %d, a; ld.param.b32 %r1, [%d];"),
        "call (y), f, (x);",
    );
    stays(&DOUBLE.replace("ret; }", ".reg .b64 %d; stacksave.u64 %d; ret; }"), "call (y), f, (x);");
    stays(
        &DOUBLE.replace("ret; }", ".shared .b32 own; st.shared.b32 [own], %r2; ret; }"),
        "call (y), f, (x);",
    );
    // Registers as parameters.
    stays(".func (.reg .b32 r) f(.reg .b32 a) { add.s32 r, a, a; ret; }", "call (y), f, (x);");
}

/// A function of some size is inlined where it is called once, not where it is called often.
#[test]
fn size_and_number_of_calls() {
    let long = DOUBLE.replace("ret; }", &format!("{} ret; }}", "xor.b32 %r2, %r2, %r1;".repeat(150)));
    let kernel = |calls: usize| {
        let call = "call (y), f, (x);".repeat(calls);
        let text = format!(
            "{long}\n.visible .entry k() {{ .param .b32 x; .param .b32 y; st.param.b32 [x], 7; {call} ret; }}"
        );
        merged(&text).pop().expect("a kernel").1.merged.is_some()
    };
    assert_eq!([1, 2, 3].map(kernel), [true, true, false]);
}
