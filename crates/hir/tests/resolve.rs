//! Resolution seen from outside: text of PTX in, canonical text of bodies and diagnostics out.

use expect_test::{Expect, expect};
use oriole_hir::{resolve_module, unsupported};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// Bodies and diagnostics of a module without its header lines.
fn check(text: &str, expected: Expect) {
    check_for("sm_90", text, expected);
}

/// Checks a module for a target.
fn check_for(target: &str, text: &str, expected: Expect) {
    let module = resolve_module(&format!("{}{text}", HEAD.replace("sm_90", target)));
    let mut found = String::new();
    for (name, _, resolved) in &module.functions {
        if !module.has_errors() {
            found.push_str(&format!("{name}: {}", resolved.body));
        }
    }
    for diagnostic in &module.diagnostics {
        found.push_str(&format!(
            "{} [{}] {}\n",
            diagnostic.severity.as_str(),
            diagnostic.code,
            diagnostic.message
        ));
    }
    expected.assert_eq(&found);
}

/// Diagnostics of statements in a kernel with a few registers.
fn statements(text: &str, expected: Expect) {
    let module = resolve_module(&format!(
        "{HEAD}.global .u32 g[4]; .shared .u32 s;\n.func fn(.param .b32 a) {{ ret; }}\n.entry k(.param .u64 in) {{\n\
         .reg .pred p, q; .reg .b16 h; .reg .b32 r, a, b, c; .reg .u32 u; .reg .s32 i; .reg .f32 x, y; .reg .b64 d;\n\
         .reg .f64 z;\n{text}\n}}"
    ));
    let found: String =
        module.diagnostics.iter().map(|found| format!("[{}] {}\n", found.code, found.message)).collect();
    expected.assert_eq(&found);
}

#[test]
fn a_kernel() {
    check(
        ".visible .entry saxpy(.param .u64 out, .param .f32 a, .param .u32 n) .maxntid 128\n\
         { .reg .pred %p<2>; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %rd<4>;\n\
         mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; setp.ge.u32 %p1, %r1, %r2; @%p1 bra END;\n\
         ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3;\n\
         ld.global.v2.f32 {%f1, _}, [%rd2+8]; fma.rn.ftz.f32 %f1, %f1, 2.0, 0fBF800000; st.global.f32 [%rd2+-4], %f1;\n\
         END: ret; }",
        expect![[r#"
            saxpy: .entry () (.u64 at 0, .f32 at 8, .u32 at 12)
            .maxntid 128, 1, 1
            r0-r1: .b32
            r2: .pred
            r3-r5: .b64
            r6: .f32
            v0: .param .u64 size 8 align 8 = parameter 0
            v1: .param .f32 size 4 align 4 = parameter 1
            v2: .param .u32 size 4 align 4 = parameter 2
                mov.u32 r0, %tid.x
                ld.param.u32 r1, [v2+0]
                setp.ge.u32 r2, r0, r1
                @r2 bra L0
                ld.param.u64 r3, [v0+0]
                cvta.to.global.u64 r4, r3
                mul.wide.u32 r5, r0, 4
                add.s64 r4, r4, r5
                ld.global.v2.f32 {r6, _}, [r4+8]
                fma.rn.ftz.f32 r6, r6, 0f40000000, 0fbf800000
                st.global.f32 [r4-4], r6
            L0:
                ret
        "#]],
    );
}

#[test]
fn scopes_calls_and_tables() {
    check(
        ".func (.param .b32 out) twice(.param .b32 in) { .reg .b32 r; ld.param.b32 r, [in]; add.u32 r, r, r;\n\
         st.param.b32 [out], r; ret; }\n\
         .func (.reg .b32 y) plain(.reg .b32 x) { mov.b32 y, x; ret; }\n\
         .entry k() { .reg .b32 r; .reg .b64 f; mov.u32 r, 1;\n\
         { .param .b32 x; .param .b32 y; .reg .f32 r; mov.f32 r, 1.5; st.param.f32 [x], r; call.uni (y), twice, (x);\n\
         ld.param.f32 r, [y]; }\n\
         call (r), plain, (r); mov.u64 f, twice; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         { .param .b32 x; call (_), f, (x), P; }\n\
         T: .branchtargets A, B, A; brx.idx r, T; A: B: ret; }",
        expect![[r#"
            twice: .func (.b32 at 0) (.b32 at 0)
            r0: .b32
            v0: .param .b32 size 4 align 4 = result 0
            v1: .param .b32 size 4 align 4 = parameter 0
                ld.param.b32 r0, [v1+0]
                add.u32 r0, r0, r0
                st.param.b32 [v0+0], r0
                ret
            plain: .func (.reg .b32 at 0) (.reg .b32 at 0)
            r0-r1: .b32
            v0: .reg .b32 size 4 align 4 = result 0
            v1: .reg .b32 size 4 align 4 = parameter 0
            v0 in r0
            v1 in r1
                mov.b32 r0, r1
                ret
            k: .entry () ()
            r0: .b32
            r1: .f32
            r2: .b64
            v0: .param .b32 size 4 align 4
            v1: .param .b32 size 4 align 4
            v2: .param .b32 size 4 align 4
            f0: twice (.b32 at 0) (.b32 at 0)
            f1: plain (.reg .b32 at 0) (.reg .b32 at 0)
            t0: L0, L1, L0
            p0:  (.b32 at 0) (.b32 at 0)
                mov.u32 r0, 1
                mov.f32 r1, 0f3fc00000
                st.param.f32 [v0+0], r1
                call.uni (v1), f0, (v0)
                ld.param.f32 r1, [v1+0]
                call (r0), f1, (r0)
                mov.u64 r2, &f0
                call (_), r2, (v2), p0
                brx.idx r0, t0
            L0:
            L1:
                ret
        "#]],
    );
}

#[test]
fn names_and_addresses_of_the_module() {
    check(
        ".global .u32 table[8]; .extern .shared .align 16 .b8 heap[];\n\
         .entry k() { .local .align 8 .b8 stack[16]; .reg .b64 d; .reg .b32 r; .reg .v2 .f32 v;\n\
         mov.u64 d, table+4; mov.u64 d, table[2]; ld.global.u32 r, [table+12]; mov.u32 r, heap; mov.u64 d, stack;\n\
         ld.shared.v2.f32 v, [heap+8]; mov.b64 d, {v.x, v.y}; mov.b64 {r, _}, d; st.local.u32 [d], WARP_SZ; ret; }",
        expect![[r#"
            k: .entry () ()
            r0: .b64
            r1: .b32
            r2-r3: .f32
            v0: .local .b8 size 16 align 8
            v1: .global .u32 size 32 align 4 = table
            v2: .shared .b8 size 0 align 16 = heap
                mov.u64 r0, v1+4
                mov.u64 r0, v1+8
                ld.global.u32 r1, [v1+12]
                mov.u32 r1, v2+0
                mov.u64 r0, v0+0
                ld.shared.v2.f32 {r2, r3}, [v2+8]
                mov.b64 r0, {r2, r3}
                mov.b64 {r1, _}, r0
                st.local.u32 [r0+0], 32
                ret
        "#]],
    );
}

/// A name that is not there has help: the nearest visible one of its kind, or the end of its range.
#[test]
fn unknown_names_have_help() {
    let help = |text: &str| {
        let module = resolve_module(&format!(
            "{HEAD}.entry k(.param .u64 input) {{ .reg .b32 %r<4>, total, limit; .reg .b64 address;\n{text}\nDONE: ret; }}"
        ));
        let lines = module.diagnostics.iter().map(|found| {
            let help = found.help.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("{} -> {help}\n", found.message)
        });
        lines.collect::<String>()
    };
    expect![[r#"
        no register or variable is called `totla` -> did you mean `total`?
        no register is called `%r9` -> the range ends with `%r3`
        no register or variable is called `lmit` -> did you mean `limit`?
        no register or variable is called `inptu` -> did you mean `input`?
        no label `DNOE` is visible here; labels of inner scopes are not -> did you mean `DONE`?
        no label `total2` is visible here; labels of inner scopes are not -> 
        no register is called `%tidd` -> did you mean `%tid`?
        no register or variable is called `elsewhere` -> 
        no register is called `%laneidd` -> did you mean `%laneid`?
        no register or variable is called `innr` -> 
    "#]].assert_eq(&help(
        "mov.u32 totla, %r9; mov.u32 %r1, lmit; ld.param.u64 address, [inptu]; bra DNOE; bra total2; mov.u32 %r1, %tidd.x;\n\
         mov.u32 %r1, elsewhere; mov.u32 %r1, %laneidd; { .reg .b32 inner; } mov.u32 %r1, innr;",
    ));
    // As many mistakes as there may be: not each name is compared with each.
    let many: String = (0..3000).map(|at| format!(".reg .b32 name{at}; mov.u32 nmae{at}, 1;\n")).collect();
    assert!(help(&many).lines().filter(|line| line.contains("did you mean")).count() < 500);
}

#[test]
fn types_of_operands() {
    statements(
        "add.u32 r, a, x; add.f32 x, y, a; add.u32 r, a, 1.0; add.f32 x, y, 1; mov.b32 r, 0f3F800000;\n\
         ld.global.u16 r, [d]; ld.global.f32 d, [d]; st.global.u8 [d], p; mul.wide.u32 r, a, b; selp.b32 r, a, b, c;\n\
         and.pred p, q, !p; cvt.u64.u32 r, a; add.u32 r, a, %tid.x;",
        expect![[r#"
            [ptx::type-mismatch] an integer or bits register of 32 bits is needed here, this one is `.f32`
            [ptx::type-mismatch] a floating-point constant does not fit an operand of type `.u32`
            [ptx::type-mismatch] an integer constant does not fit an operand of type `.f32`
            [ptx::type-mismatch] an integer or bits register of 8 bits or wider is needed here, this one is `.pred`
            [ptx::type-mismatch] an integer or bits register of 64 bits is needed here, this one is `.b32`
            [ptx::type-mismatch] a `.pred` register is needed here, this one is `.b32`
            [ptx::type-mismatch] an integer or bits register of 64 bits or wider is needed here, this one is `.b32`
            [ptx::invalid-operand] a special register can be read with `mov`, and with `cvt` between integers only
        "#]],
    );
}

#[test]
fn operands_of_the_wrong_kind() {
    statements(
        "add.u32 1, a, b; add.u32 r, a; ld.global.u32 r, d; ld.shared.u32 r, [g]; ld.global.u32 r, [r];\n\
         st.param.u64 [in], d; bar.sync 16; bar.sync 0, 33; lop3.b32 r, a, b, c, a; mov.b64 d, {a, b, c};\n\
         ld.global.v2.u32 {r}, [d]; ld.global.v4.u64 {d, d, d, d}, [d]; @r ret; brx.idx r, nowhere; bra nowhere;\n\
         call nobody; call fn; add.u32 r, nothing, b; frobnicate.u32 r; ad.u32 r, a, b; mov.u32 r, %tid.q; add.u32 _, a, b;",
        expect![[r#"
            [ptx::invalid-operand] a register is needed as destination
            [ptx::operand-count] expected 3 operands, found 2
            [ptx::invalid-operand] an address in brackets is needed here
            [ptx::state-space-mismatch] `ld` accesses `shared`, but `g` is in `.global`
            [ptx::invalid-address] `.global` addresses have 64 bits, this register has fewer
            [ptx::parameter-written] `in` is a parameter of this function and cannot be written
            [ptx::invalid-operand] 16 is out of range; it must be from 0 to 15
            [ptx::invalid-operand] 33 is not a valid multiple of 32
            [ptx::invalid-operand] a constant is needed here
            [ptx::invalid-vector] `.b64` is packed from two or four parts, not 3
            [ptx::invalid-vector] a vector of 2 is needed here, this one has 1
            [target::needs-chip] an access of 256 bits needs `sm_100` or later
            [ptx::invalid-predicate] a guard is a `.pred` register; `r` is `.b32`
            [ptx::unknown-name] no `.branchtargets` list is called `nowhere`
            [ptx::unknown-name] no label `nowhere` is visible here; labels of inner scopes are not
            [ptx::unknown-name] no function is called `nobody`
            [ptx::call-mismatch] expected 1 argument, found 0
            [ptx::unknown-name] no register or variable is called `nothing`
            [ptx::unknown-instruction] no instruction is called `frobnicate`
            [ptx::unknown-instruction] no instruction is called `ad`; did you mean `add`?
            [ptx::unknown-name] `%tid` has the components `.x`, `.y` and `.z`
            [ptx::invalid-operand] the result of this instruction cannot be dropped with `_`
        "#]],
    );
}

/// Operands that only some instructions take: those that ptxas accepts unchecked give a warning, and those that it
/// refuses are refused.
#[test]
fn operands_of_single_instructions() {
    check_for(
        "sm_90a",
        ".global .texref t; .global .b8 g[64]; .shared .b8 s[64];\n\
         .entry k() { .reg .pred p, q; .reg .b32 r, a, b; .reg .u32 u; .reg .f32 x, y, z, w; .reg .b64 d; .reg .b128 o;\n\
         .reg .f16x2 h; .reg .v4 .u32 v; .reg .u64 l;\n\
         setp.eq.u32 _, u, 1; mov.b128 o, -1; mov.v4.u32 {u, _, u, u}, %tid; cvt.u32.u32 u, %clock64;\n\
         cvt.rn.f32.u32 x, %laneid; st.global.v2.b32 [d], {1, x};\n\
         tex.level.2d.v4.f32.f32 {x, y, z, w}, [t, {x, y}], x, u; tex.level.2d.v4.f32.f32 {x, y, z, w}, [t, {x, y}], u;\n\
         wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {a, b, a, b}, l, l, 1, 0, p;\n\
         wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {a, b, a, b}, l, l, p, 0, 2;\n\
         cp.async.bulk.global.shared::cta.bulk_group [g], [s], 64;\n\
         cp.async.bulk.global.shared::cta.bulk_group [s], [g], 63;\n\
         cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [d, {r}], r;\n\
         cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [d, {r}], p;\n\
         cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [d, {r}], [16];\n\
         mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {x, y, z, w}, {r, u}, {h}, {x, y, z, 1};\n\
         ret; }",
        expect![[r#"
            error [ptx::invalid-operand] a special register can be read with `mov`, and with `cvt` between integers only
            error [ptx::invalid-vector] integers and floating-point numbers do not mix in a vector
            error [ptx::type-mismatch] a `.f32` or `.b32` register is needed here, this one is `.u32`
            error [ptx::invalid-operand] a register is needed here
            warning [ptx::unchecked-operand] a register of 32 bits is needed here, this one is `.pred`; other PTX compilers do not check this operand
            error [ptx::invalid-operand] 2 is out of range; it must be from 0 to 1
            error [ptx::state-space-mismatch] an address in `global` memory is needed here, but `s` is in `.shared`
            error [ptx::state-space-mismatch] an address in `shared` memory is needed here, but `g` is in `.global`
            error [ptx::invalid-operand] 63 is not a valid multiple of 16
            warning [ptx::unchecked-operand] an address in brackets is needed here; other PTX compilers do not check this operand
            error [ptx::invalid-operand] an address in brackets is needed here
            error [ptx::invalid-address] an address that is a constant alone is possible in `.local` only
            error [ptx::type-mismatch] a `.b32` register is needed here, this one is `.u32`
            error [ptx::type-mismatch] a `.b32` register is needed here, this one is `.f16x2`
            error [ptx::type-mismatch] an integer constant does not fit an operand of type `.f32`
        "#]],
    );
}

#[test]
fn declarations() {
    check(
        ".global .u32 a; .global .u32 a;\n.global .align 3 .u32 b;\n.global .u32 c[];\n.extern .global .u32 d = 1;\n\
         .local .u32 e;\n.global .pred f;\n.global .u32 h[2] = {1, 2, 3};\n.global .u64 i = nothing;\n\
         .visible .extern .global .u32 j;\n.entry k(.reg .u32 x) .maxntid 0 { .reg .b32 r, r; L: L: ret; }\n\
         .entry k() { ret; }\n.func m(.param .b32 x); .func m(.param .b64 x) { ret; }\n.func n() { call o; ret; }\n\
         .func o() { ret; }\n",
        expect![[r#"
            error [ptx::duplicate-name] `a` is defined twice
            error [ptx::invalid-variable] an alignment must be a power of two
            error [ptx::invalid-variable] the array `c` has no size
            error [ptx::invalid-initializer] an `.extern` variable has no initial value
            error [ptx::invalid-variable] a `.local` variable can be declared in a function only
            error [ptx::invalid-type] a predicate can be a register only
            error [ptx::invalid-initializer] more than 2 values
            error [ptx::unknown-name] no variable or function is called `nothing`
            error [ptx::invalid-variable] `.visible` and `.extern` exclude each other
            error [ptx::invalid-parameter] the parameters of a kernel are in `.param` space
            error [ptx::invalid-directive] `.maxntid` takes positive numbers
            error [ptx::duplicate-name] `r` is declared twice in this scope
            error [ptx::duplicate-name] `L` is declared twice in this scope
            error [ptx::duplicate-name] `k` is defined twice
            error [ptx::declaration-mismatch] two declarations of `m` differ in their parameters
            error [ptx::use-before-declaration] `o` is used above its declaration
        "#]],
    );
}

/// Numbers that stand together are not nodes of the tree; those in parentheses are.
#[test]
fn numbers_of_tables_are_read_as_others() {
    let tables = [
        ".b8 t[7] = {1, 255, 256, 010, 0b11, 7U, 0x1ff}",
        ".u64 t[4] = {18446744073709551615, 1, 18446744073709551616, 2}",
        ".f32 t[4] = {0f3f800000, 1.5, .25, 2e3}",
        ".f64 t[3] = {0d3ff0000000000000, 0f40000000, 1}",
        ".s16 t[2] = {1, 2, 3}",
        ".s32 t[2][2] = {{1, 2}, 3, 4}",
        ".v2 .f32 t[2] = {{1.0, 2.0}, {3.0}}",
        ".u32 t = {1, 2}",
        ".samplerref t = {1, 2}",
        ".samplerref t[2] = {1, 2, 3}",
        ".b32 t[] = {1, 2, 3}",
    ];
    for table in tables {
        let in_parentheses: String = table
            .split_inclusive('=')
            .enumerate()
            .flat_map(|(part, text)| text.split_inclusive([' ', ',', '{', '}']).map(move |word| (part, word)))
            .map(|(part, word)| {
                let number = word.trim_end_matches([' ', ',', '{', '}']);
                if part == 0 || number.is_empty() {
                    word.to_owned()
                } else {
                    word.replace(number, &format!("({number})"))
                }
            })
            .collect();
        let [one, other] = [table, &in_parentheses].map(|table| {
            let module =
                resolve_module(&format!(".version 8.0\n.target sm_90\n.address_size 64\n.global {table};\n"));
            let said: Vec<_> = module.diagnostics.iter().map(|found| found.message.to_string()).collect();
            (
                module
                    .variables
                    .into_iter()
                    .map(|variable| (variable.info.size, variable.initial))
                    .collect::<Vec<_>>(),
                said,
            )
        });
        assert_eq!(one, other, "{table}: {in_parentheses}");
        assert!(!one.0.is_empty() || !one.1.is_empty(), "{table}");
    }
}

#[test]
fn headers() {
    let codes = |text: &str| {
        let module = resolve_module(text);
        module.diagnostics.iter().map(|found| found.code.as_str().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(codes(""), "ptx::missing-version");
    assert_eq!(codes(".target sm_90\n.version 8.0\n"), "ptx::missing-version");
    assert_eq!(codes(".version 8.0\n.address_size 64\n"), "ptx::missing-target");
    assert_eq!(codes(".version 8\n.target sm_90\n").split(' ').next(), Some("ptx::missing-version"));
    assert_eq!(codes(".version 99.9\n.target sm_90\n"), "ptx::unsupported-version");
    assert_eq!(codes(".version 8.0\n.target sm_99999\n"), "target::unknown");
    assert_eq!(codes(".version 8.0\n.target sm_90f\n"), "target::unknown");
    assert_eq!(codes(".version 8.0\n.target sm_91\n"), "target::stand-in");
    assert_eq!(codes(".version 8.0\n.target sm_130a\n"), "target::stand-in");
    assert_eq!(codes(".version 7.0\n.target sm_90\n"), "target::needs-version");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.address_size 16\n"), "ptx::invalid-header");
    assert_eq!(
        codes(".version 8.0\n.target sm_90\n.global .u32 a;\n.address_size 64\n"),
        "ptx::invalid-header"
    );
    assert_eq!(codes(".version 8.0\n.target sm_90, debug\n"), "ptx::invalid-header");
    assert_eq!(codes(".version 8.0\n.target sm_90, debug\n.section .debug_info { .b8 0 }\n"), "");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.pragma \"nounroll\";\n"), "");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.pragma \"frequency 5\";\n"), "ptx::invalid-directive");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.extern .global .b8 x[];\n"), "ptx::unresolved-external");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.extern .shared .b8 x[];\n"), "");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.global .b8 x[2*3];\n"), "ptx::invalid-variable");
    assert_eq!(codes(".version 8.0\n.target sm_90\n.global .ptr .b8 x;\n"), "ptx::invalid-variable");
}

#[test]
fn gates_of_chip_and_version() {
    let check = |version: &str, target: &str, line: &str| {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ .reg .b16 h; .reg .b32 r; .reg .b64 d; {line} ret; }}"
        );
        let module = resolve_module(&text);
        module
            .diagnostics
            .iter()
            .map(|found| format!("[{}] {}", found.code, found.message))
            .collect::<Vec<_>>()
            .join("\n")
    };
    expect!["[target::needs-chip] `fma.rn.bf16` needs `sm_80` or later; the module's target is `sm_75`"]
        .assert_eq(&check("8.0", "sm_75", "fma.rn.bf16 h, h, h, h;"));
    expect!["[target::needs-chip] `wgmma.fence.sync.aligned` needs `sm_90a`; the module's target is `sm_90`"]
        .assert_eq(&check("8.0", "sm_90", "wgmma.fence.sync.aligned;"));
    assert_eq!(check("8.0", "sm_90a", "wgmma.fence.sync.aligned;"), "");
    expect!["[target::needs-version] `.L1::no_allocate` needs `.version` 7.4 or later; the module has 7.0"]
        .assert_eq(&check("7.0", "sm_80", "ld.global.L1::no_allocate.u32 r, [d];"));
}

#[test]
fn what_the_back_end_lacks_is_no_mistake() {
    let module = resolve_module(&format!(
        "{}.entry k() {{ .reg .b32 r; .reg .b64 d; add.u32 r, r, p;\n\
         applypriority.async.bulk.global.bulk_group.L2::evict_normal [d], r; }}",
        HEAD.replace("9.0", "9.4").replace("sm_90", "sm_107f")
    ));
    let codes: Vec<&str> = module.diagnostics.iter().map(|found| found.code.as_str()).collect();
    assert_eq!(codes, ["target::stand-in", "ptx::unknown-name"]);
    let resolved = module.function("k").unwrap();
    let found: Vec<String> = unsupported(&resolved.body, &resolved.source_map)
        .iter()
        .map(|found| found.message.to_string())
        .collect();
    let lacking = "`applypriority.async.bulk.bulk_group.L2::evict_normal` cannot be compiled yet";
    assert_eq!(found, [lacking]);
}

#[test]
fn comments_and_places_do_not_change_a_body() {
    let plain = "{HEAD}.entry k(.param .u64 p) { .reg .b32 %r<3>; add.u32 %r1, %r2, 1; L: bra L; }";
    let moved = "{HEAD}// more\n.entry k(.param .u64 p)\n{\n .reg .b32 %q<3>; // registers\n.loc 1 2 3\n add.u32\t%q1 , %q2, (2-1); M: bra M;\n}";
    let body = |text: &str| resolve_module(&text.replace("{HEAD}", HEAD)).functions.remove(0).2;
    let (plain, moved) = (body(plain), body(moved));
    assert_eq!(plain.body, moved.body);
    assert_eq!(plain.body.to_string(), moved.body.to_string());
    assert_ne!(plain.source_map, moved.source_map);
    assert_eq!(moved.source_map.lines.len(), 1);
    assert_eq!(moved.source_map.registers.values().next().expect("a register").0, "%q1");
}

#[test]
fn initial_values() {
    let module = resolve_module(&format!(
        "{HEAD}.global .align 8 .b8 a[8] = {{1, 0xff, -1, 256}};\n.global .u32 b[2][3] = {{{{1,2}},{{3,4,5}}}};\n\
         .global .f32 c[3] = {{1.0, 0f40000000, 0d4008000000000000}};\n.global .u64 d[3] = {{generic(a), a+4, b[1]}};\n\
         .global .u8 e[2] = {{0xff(a), 0xff00(a)}};\n.global .s16 f[] = {{-1, 70000}};\n.global .v2 .f32 g = {{1.0, 2.0}};\n\
         .global .b32 h[2] = {{1.5, 0d3ff8000000000000}};\n.global .b64 i[2] = {{1.5, 0f3fc00000}};\n\
         .global .b16 j = 0f3fc01234;\n"
    ));
    let mut text = String::new();
    for variable in &module.variables {
        let initial = variable.initial.clone().unwrap_or_default();
        let bytes: String = initial.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("{} size {} {bytes}\n", variable.name, variable.info.size));
        for relocation in initial.relocations {
            text.push_str(&format!(
                "  at {} width {}: {}{:+} generic {} byte {:?}\n",
                relocation.offset,
                relocation.width,
                relocation.symbol,
                relocation.addend,
                relocation.generic,
                relocation.byte
            ));
        }
    }
    for found in &module.diagnostics {
        text.push_str(&format!("{found}\n"));
    }
    expect![[r#"
        a size 8 01ffff00
        b size 24 010000000200000000000000030000000400000005000000
        c size 12 0000803f0000004000004040
        d size 24 000000000000000000000000000000000000000000000000
          at 0 width 8: a+0 generic true byte None
          at 8 width 8: a+4 generic false byte None
          at 16 width 8: b+4 generic false byte None
        e size 2 0000
          at 0 width 1: a+0 generic false byte Some(0)
          at 1 width 1: a+0 generic false byte Some(1)
        f size 4 ffff7011
        g size 8 0000803f00000040
        h size 8 0000c03f0000c03f
        i size 16 000000000000f83f0000c03f00000000
        j size 2 3412
    "#]]
    .assert_eq(&text);
}

#[test]
fn registers_that_nothing_writes_before_they_are_read() {
    let warnings = |body: &str| {
        let module = resolve_module(&format!(
            "{HEAD}.func (.reg .b32 out) f(.reg .b32 in) {{ .reg .b32 a, b, c; .reg .b64 d; .reg .pred p, q; {body} ret; }}"
        ));
        let shown = module.diagnostics.iter().map(|found| match found.code {
            oriole_diagnostics::Code::Uninitialized => {
                found.message.to_string().split('`').nth(1).unwrap_or_default().to_string()
            }
            _ => format!("[{}] {}", found.code, found.message),
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    for (body, expected) in [
        ("mov.b32 a, 1; add.u32 b, a, a;", ""),
        ("add.u32 b, a, a; mov.b32 a, 1;", "a"),
        ("add.u32 a, a, 1;", "a"),
        ("@p mov.b32 a, 1;", "p"),
        ("ld.global.u32 a, [d];", "d"),
        ("st.global.u32 [d], a;", "d a"),
        // Parameters in registers are written by the caller.
        ("add.u32 out, in, in;", ""),
        ("add.u32 in, in, 1; add.u32 a, out, 1;", "out"),
        // A guarded write is a write, and so is one on a single path.
        ("setp.eq.u32 p, in, 0; @p mov.b32 a, 1; add.u32 b, a, a;", ""),
        ("setp.eq.u32 p, in, 0; @p bra L; mov.b32 a, 1; L: add.u32 b, a, a;", ""),
        ("setp.eq.u32 p, in, 0; @p bra L; add.u32 b, a, a; bra M; L: mov.b32 a, 1; M:", "a"),
        // A write further down comes before the read in the next iteration.
        ("L: setp.eq.u32 p, in, 0; @p add.u32 b, a, a; mov.b32 a, 1; bra L;", ""),
        ("bra L; mov.b32 a, 1; L: add.u32 b, a, a;", "a"),
        // Unreachable code reads nothing.
        ("ret; add.u32 b, a, a;", ""),
        // Packed halves may not matter.
        ("mov.b64 d, {in, a};", ""),
        ("vote.sync.any.pred p, q, 1;", "q"),
        ("setp.eq.u32 p|q, in, 0; @q mov.b32 a, 1; @p mov.b32 a, 2;", ""),
        ("call (a), f, (b);", "b"),
    ] {
        assert_eq!(warnings(body), expected, "{body}");
    }
}

#[test]
fn instructions_and_registers_of_no_effect() {
    let notes = |body: &str| {
        let text = format!("{HEAD}.entry k() {{ {body} }}");
        let module = resolve_module(&text);
        let (_, _, resolved) = &module.functions[0];
        let report = oriole_hir::check_flow(&resolved.body);
        // The line break before a unit belongs to it.
        let start = HEAD.len() - 1;
        let notes = report.notes(&resolved.source_map).map(|found| {
            let at = start + found.span.start as usize;
            format!("{}: {}", found.code, &text[at..at + found.span.len as usize])
        });
        notes.collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        ptx::unreachable: mov.b32 a, 1; mov.b32 a, 2;
        ptx::unused-declaration: b
        ptx::unused-declaration: v"#]]
    .assert_eq(&notes(
        ".reg .b32 a, b, %r<9>; .reg .v2 .b32 v; bra END; mov.b32 a, 1; mov.b32 a, 2; END: mov.b32 a, 3; ret;",
    ));
    expect![[""]].assert_eq(&notes(".reg .pred p; .reg .b32 a; L: setp.eq.u32 p, a, 0; @p bra L; ret;"));
}

/// A change of the number of registers has no effect where the initial number is not known.
#[test]
fn register_counts_that_nothing_tells() {
    let with = |bounds: &str, code: &str| {
        let module = resolve_module(&format!(
            ".version 8.6\n.target sm_100a\n.address_size 64\n.entry k() {bounds}\n{{ .reg .b32 %r<130>; setmaxnreg.dec.sync.aligned.u32 40; {code} ret; }}"
        ));
        module
            .diagnostics
            .iter()
            .any(|found| found.message.to_string().starts_with("`setmaxnreg` has no effect"))
    };
    let warned = |bounds: &str| with(bounds, "");
    for bounds in ["", ".maxntid 256", ".reqntid 128, 2"] {
        assert!(warned(bounds), "{bounds}");
    }
    for bounds in [".maxnreg 128", ".maxntid 256 .minnctapersm 1", ".reqntid 256 .minnctapersm 2"] {
        assert!(!warned(bounds), "{bounds}");
    }
    // Matrices that nearly fill the registers that the block leaves: 64 of 1,024 threads, 96 of 640.
    let matrix = |count: usize| {
        let registers: Vec<String> = (1..=count).map(|register| format!("%r{register}")).collect();
        format!("tcgen05.st.sync.aligned.32x32b.x{count}.b32 [%r0], {{{}}};", registers.join(", "))
    };
    let known = [("", 32, false), (".maxntid 1024", 8, false), (".maxntid 1024", 16, true)];
    for (bounds, count, known) in
        known.into_iter().chain([(".maxntid 640", 16, false), (".reqntid 640", 32, true)])
    {
        assert_eq!(!with(bounds, &matrix(count)), known, "{bounds} {count}");
    }
}

/// Bounds that no SM of the target holds are ignored, and reported.
#[test]
fn bounds_beyond_what_an_sm_holds() {
    let warned = |target: &str, bounds: &str| -> Vec<String> {
        let module = resolve_module(&format!(
            ".version 8.7\n.target {target}\n.address_size 64\n.entry k() {bounds}\n{{ ret; }}"
        ));
        module.diagnostics.iter().map(|found| found.message.to_string()).collect()
    };
    let blocks = "`.minnctapersm` has no effect: an SM of the target does not hold 2 blocks of 1024 threads";
    let threads = "an SM of the target does not hold 2048 threads; they do not bound the registers";
    let two_blocks = ".maxntid 1024 .minnctapersm 2";
    assert_eq!(warned("sm_89", two_blocks), [blocks]);
    assert_eq!(warned("sm_90", two_blocks), [""; 0]);
    assert_eq!(warned("sm_89", ".reqntid 2, 1024"), [threads]);
    assert_eq!(warned("sm_90", ".reqntid 2, 1024 .minnctapersm 1"), [""; 0]);
    // Nothing is reported of an unknown chip.
    assert_eq!(warned("sm_60", two_blocks), [""; 0]);
}

/// Static shared memory that a block may use may be declared in code for one chip alone.
#[test]
fn static_shared_memory() {
    let refused = |target: &str, kib: u32| -> Vec<String> {
        let module = resolve_module(&format!(
            ".version 8.8\n.target {target}\n.address_size 64\n\
             .entry k() {{ .shared .b8 s[{}]; .reg .b32 a; ld.shared.u32 a, [s]; ret; }}",
            kib * 1024
        ));
        module.diagnostics.iter().map(|found| found.message.to_string()).collect()
    };
    for (target, most) in
        [("sm_80", 48), ("sm_90", 48), ("sm_90a", 227), ("sm_100f", 48), ("sm_100a", 227), ("sm_120a", 99)]
    {
        assert_eq!(refused(target, most), [""; 0], "{target}");
        let message = format!(
            "`k` uses {} bytes of static shared memory; {} are possible",
            (most + 1) * 1024,
            most * 1024
        );
        assert_eq!(refused(target, most + 1), [message]);
    }
}

/// Where MMAs of warp groups are serialized, by the instruction that is to blame.
#[test]
fn products_that_are_serialized() {
    const FENCE: &str = "wgmma.fence.sync.aligned;";
    const PRODUCT: &str =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, d, d, 1, 1, 1, 0, 0;";
    const FROM_REGISTERS: &str =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, {a, b, c, x}, d, 1, 1, 1, 0;";
    const CLOSE: &str = "wgmma.commit_group.sync.aligned;";
    const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";
    let warnings = |pieces: &[&str]| {
        let module = resolve_module(&format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.func f() {{ ret; }}\n\
             .func (.reg .f32 out) g(.reg .b64 d, .reg .f32 f0, .reg .f32 f1, .reg .f32 f2, .reg .f32 f3,\n\
             .reg .b32 a, .reg .b32 b, .reg .b32 c, .reg .b32 x) {{ .reg .pred p; mov.pred p, 1; {} ret; }}",
            pieces.concat()
        ));
        let shown = module.diagnostics.iter().map(|found| match found.code {
            oriole_diagnostics::Code::SerializedProducts => {
                found.message.to_string().split(':').next().unwrap_or_default().to_string()
            }
            _ => format!("[{}] {}", found.code, found.message),
        });
        shown.collect::<Vec<_>>().join("; ")
    };
    let read = "`f0` is used before `wgmma.wait_group` has waited for the `wgmma` that writes it";
    let factor = "`a` is written before `wgmma.wait_group` has waited for the `wgmma` that reads it";
    let unfenced = "`f1` was written since the last `wgmma.fence`";
    let called = "a function is called while matrix multiplies of the warpgroup are in flight";
    for (pieces, expected) in [
        (&[FENCE, PRODUCT, PRODUCT, CLOSE, WAIT, "mov.f32 out, f0;"][..], ""),
        (&[FENCE, PRODUCT, CLOSE, "add.f32 out, f0, f0;", WAIT], read),
        (&[FENCE, PRODUCT, CLOSE, "mov.f32 f0, 0f00000000;", WAIT, "mov.f32 out, f0;"], read),
        // The wait is for groups that are closed.
        (&[FENCE, PRODUCT, WAIT, "neg.f32 out, f0;", CLOSE], read),
        (&[FENCE, PRODUCT, CLOSE, "wgmma.wait_group.sync.aligned 1;", "neg.f32 out, f0;"], read),
        (&[FENCE, PRODUCT, CLOSE, PRODUCT, CLOSE, WAIT, "neg.f32 out, f0;"], ""),
        // A copy has the state of its source.
        (&[FENCE, PRODUCT, CLOSE, "mov.f32 out, f0;", WAIT], ""),
        (
            &[FENCE, FROM_REGISTERS, CLOSE, "add.u32 x, a, 1;", "mov.b32 a, x;", WAIT, "mov.f32 out, f0;"],
            "`x` is written before `wgmma.wait_group` has waited for the `wgmma` that reads it; `a` is written before `wgmma.wait_group` has waited for the `wgmma` that reads it",
        ),
        (&[FENCE, FROM_REGISTERS, CLOSE, "add.u32 a, b, 1;", WAIT, "mov.f32 out, f0;"], factor),
        (&[FENCE, "neg.f32 f1, f1;", PRODUCT, CLOSE, WAIT, "mov.f32 out, f0;"], unfenced),
        (&["neg.f32 f1, f1;", FENCE, PRODUCT, CLOSE, WAIT, "mov.f32 out, f0;"], ""),
        (&[FENCE, PRODUCT, CLOSE, "call f;", WAIT, "mov.f32 out, f0;"], called),
        // The next iteration comes before the wait.
        (&["L:", FENCE, PRODUCT, CLOSE, "@p bra L;", WAIT, "mov.f32 out, f0;"], ""),
        (&["L: neg.f32 f0, f0;", FENCE, PRODUCT, CLOSE, "@p bra L;", WAIT, "mov.f32 out, f0;"], read),
    ] {
        assert_eq!(warnings(pieces), expected, "{pieces:?}");
    }
}

#[test]
fn a_mask_takes_one_byte_of_an_address() {
    let found = |mask: &str| {
        let module = resolve_module(&format!("{HEAD}.global .u32 a;\n.global .u8 b = {mask}(a);\n"));
        module.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(found("0xff00000000000000"), "");
    for mask in ["0xff0", "0xffff", "0"] {
        assert!(found(mask).contains("does not take one byte of an address"), "{mask}");
    }
}

/// Code knows shared memory by name: variables of two scopes with one name, and one that hides a variable of the module.
#[test]
fn shared_variables_of_scopes_have_names_of_their_own() {
    let module = resolve_module(&format!(
        "{HEAD}.shared .u32 m; .shared .u32 n;\n\
         .entry k() {{ .reg .b32 r; ld.shared.u32 r, [m]; {{ .shared .u32 t; st.shared.u32 [t], r; }}\n\
         {{ .shared .u32 t; st.shared.u32 [t], r; }} {{ .shared .u32 m; st.shared.u32 [m], r; }}\n\
         {{ .shared .u32 n; st.shared.u32 [n], r; }} ret; }}"
    ));
    let body = &module.function("k").expect("the kernel").body;
    let names: Vec<&str> = body.variables.values().map(|variable| &*variable.name).collect();
    assert_eq!(names, ["m", "t", "t.1", "m.1", "n"]);
}
