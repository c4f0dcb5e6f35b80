"""Hand-listed modules, each with one thing right or wrong: headers, variables, functions, directives, names, scopes,
special registers.

It is here because what stands around instructions has no table of its own. Each case is a name and a text; what is
right is not written down here, the outside compiler says it.
"""

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .b32 r<10>; .reg .b64 d<10>; .reg .pred p<4>; .reg .f32 f<8>; .reg .b16 h<4>;"


def kernel(body, before="", after="", parameters="", directives="", head=HEAD):
    """A module with one kernel around a body."""
    return (
        f"{head}{before}\n.visible .entry k({parameters})\n{directives}\n{{\n{REGISTERS}\n{body}\nret;\n}}\n{after}\n"
    )


def headers():
    """Versions, targets, address sizes, and their order."""
    body = ".visible .entry k()\n{\nret;\n}\n"
    versions = "1.0 1.5 2.0 2.3 3.2 4.3 5.0 5.1 6.0 6.5 7.0 7.8 8.0 8.8 9.0 9.1 9.2 10.0".split()
    for version in versions:
        yield f"version {version}", f".version {version}\n.target sm_30\n.address_size 64\n{body}"
    targets = (
        "sm_10 sm_11 sm_12 sm_13 sm_20 sm_21 sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 "
        "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_90f sm_100 sm_100a sm_100f sm_101 sm_101a sm_101f sm_103 "
        "sm_103a sm_103f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f sm_91 sm_999 compute_90 "
        "sm_80a sm_75f"
    ).split()
    for target in targets:
        for version in ("9.0", "8.8", "8.6", "8.0", "7.8", "7.0", "6.0", "4.0"):
            yield f"target {target} {version}", f".version {version}\n.target {target}\n.address_size 64\n{body}"
    for options in (
        "debug", "texmode_unified", "texmode_independent", "map_f64_to_f32", "texmode_unified, texmode_independent",
        "sm_80", "sm_90a", "nosuch", "debug, debug",
    ):
        yield f"options {options}", f".version 9.0\n.target sm_90a, {options}\n.address_size 64\n{body}"
    yield "no version", f".target sm_90\n.address_size 64\n{body}"
    yield "no target", f".version 8.0\n.address_size 64\n{body}"
    yield "nothing", ""
    yield "header alone", HEAD
    yield "version twice", f".version 8.0\n.version 8.0\n.target sm_90\n{body}"
    yield "target twice", f".version 8.0\n.target sm_90\n.target sm_90\n{body}"
    yield "size twice", f".version 8.0\n.target sm_90\n.address_size 64\n.address_size 64\n{body}"
    yield "size 32", f".version 8.0\n.target sm_80\n.address_size 32\n{body}"
    yield "size 16", f".version 8.0\n.target sm_90\n.address_size 16\n{body}"
    yield "size before target", f".version 8.0\n.address_size 64\n.target sm_90\n{body}"
    yield "size late", f".version 8.0\n.target sm_90\n.global .b32 x;\n.address_size 64\n{body}"
    yield "version late", f".version 8.0\n.target sm_90\n{body}.version 8.0\n"
    yield "version of one number", f".version 8\n.target sm_90\n{body}"


def variables():
    """Declarations of variables and registers."""
    types = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 f32 f64 pred bf16 bf16x2 tf32 e4m3 f32x2 u16x2 b1 texref samplerref surfref nosuch".split()
    for space in ("global", "const", "shared", "local", "param", "reg", "tex"):
        for ty in types:
            yield f"module .{space} .{ty}", kernel("", f".{space} .{ty} x;")
            if space != "tex":
                yield f"body .{space} .{ty}", kernel(f".{space} .{ty} x;")
        for vector in ("v2", "v4", "v8", "v3"):
            for ty in ("b8", "f32", "b64", "b128", "pred"):
                if space in ("global", "reg", "shared"):
                    yield f"body .{space} .{vector} .{ty}", kernel(f".{space} .{vector} .{ty} x;")
    for align in ("0", "1", "2", "3", "4", "8", "16", "128", "256", "65536", "-4", "1.0"):
        yield f"align {align}", kernel("", f".global .align {align} .b32 x;")
        yield f"align {align} shared", kernel(f".shared .align {align} .b8 x[64];")
    for name, text in {
        "array": ".global .b32 x[4];", "array of zero": ".global .b32 x[0];", "array of less": ".global .b32 x[-1];",
        "open array": ".global .b32 x[];", "open extern": ".extern .shared .b8 x[];", "open extern global": ".extern .global .b8 x[];",
        "two dimensions": ".global .b32 x[2][3];", "open inner": ".global .b32 x[2][];", "expression": ".global .b32 x[2*3+1];",
        "float size": ".global .b32 x[1.5];", "initial": ".global .b32 x = 5;", "initial float": ".global .f32 x = 1.5;",
        "initial float in integer": ".global .b32 x = 1.5;", "initial integer in float": ".global .f32 x = 1;",
        "initial list": ".global .b32 x[4] = {1, 2, 3, 4};", "short list": ".global .b32 x[4] = {1, 2};",
        "long list": ".global .b32 x[2] = {1, 2, 3};", "nested list": ".global .b32 x[2][2] = {{1, 2}, {3, 4}};",
        "flat list": ".global .b32 x[2][2] = {1, 2, 3, 4};", "list of scalar": ".global .b32 x = {1};",
        "list gives size": ".global .b32 x[] = {1, 2, 3};", "address": ".global .b32 y; .global .u64 x = y;",
        "address plus": ".global .b32 y[4]; .global .u64 x = y + 8;", "generic address": ".global .b32 y; .global .u64 x = generic(y);",
        "address in 32": ".global .b32 y; .global .u32 x = y;", "address in float": ".global .b32 y; .global .f64 x = y;",
        "address of unknown": ".global .u64 x = nosuch;", "mask": ".global .b32 y; .global .u8 x[2] = {0xff(y), 0xff00(y)};",
        "function": ".func f() { ret; }\n.global .u64 x = f;", "shared initial": ".shared .b32 x = 1;", "const initial": ".const .b32 x = 1;",
        "extern initial": ".extern .global .b32 x = 1;", "twice": ".global .b32 x; .global .b32 x;", "twice other type": ".global .b32 x; .global .f32 x;",
        "extern then own": ".extern .global .b32 x; .global .b32 x;", "visible": ".visible .global .b32 x;", "weak": ".weak .global .b32 x;",
        "common": ".common .global .b32 x;", "common const": ".common .const .b32 x;", "common shared": ".common .shared .b32 x;",
        "common initial": ".common .global .b32 x = 1;", "visible shared": ".visible .shared .b32 x;", "extern const": ".extern .const .b32 x;",
        "visible weak": ".visible .weak .global .b32 x;", "managed": ".global .attribute(.managed) .b32 x;", "managed const": ".const .attribute(.managed) .b32 x;",
        "managed shared": ".shared .attribute(.managed) .b32 x;", "unified": ".global .attribute(.unified(1, 2)) .b32 x;",
        "attribute unknown": ".global .attribute(.nosuch) .b32 x;", "two declarators": ".global .b32 x, y;", "no semicolon": ".global .b32 x",
        "name with dollar": ".global .b32 $x;", "name with percent": ".global .b32 %x;", "name of percent": ".global .b32 %;", "name of underscore": ".global .b32 _;",
        "name of digits": ".global .b32 1x;", "name of instruction": ".global .b32 add;", "name WARP_SZ": ".global .b32 WARP_SZ;", "name of special": ".global .b32 %tid;",
        "constant bank": ".const[2] .b32 x;", "integer too large": ".global .u8 x = 300;", "negative in unsigned": ".global .u32 x = -1;", "wide literal": ".global .u64 x = 0xFFFFFFFFFFFFFFFFF;",
        "double literal": ".global .f64 x = 0d3FF0000000000000;", "single literal": ".global .f32 x = 0f3F800000;", "single in double": ".global .f64 x = 0f3F800000;",
        "half initial": ".global .f16 x = 1.0;", "b16 initial": ".global .b16 x = 0x3c00;", "pred initial": ".global .pred x = 1;", "vector initial": ".global .v2 .f32 x = {1.0, 2.0};",
        "vector array": ".global .v2 .f32 x[2] = {{1.0, 2.0}, {3.0, 4.0}};", "much constant memory": ".const .b8 x[70000];", "much shared memory": ".shared .b8 x[50000];",
        "section": ".section .debug_str { .b8 0 }", "file": '.file 1 "a.cu"', "file with size": '.file 1 "a.cu", 5, 6', "pragma": '.pragma "nounroll";', "pragma unknown": '.pragma "nosuch";',
        "alias": ".visible .func f() { ret; }\n.visible .func g();\n.alias g, f;", "alias unknown": ".visible .func g();\n.alias g, f;", "alias of itself": ".visible .func g() { ret; }\n.alias g, g;",
        "reg at module level": ".reg .b32 x;", "param at module level": ".param .b32 x;", "ptr at module level": ".global .b32 .ptr x;",
    }.items():
        yield name, kernel("", text)
    for name, text in {
        "range": ".reg .b32 x<4>;", "range of zero": ".reg .b32 x<0>;", "range twice": ".reg .b32 x<4>; .reg .b32 x<4>;", "range over name": ".reg .b32 x2; .reg .b32 x<4>;",
        "range below name": ".reg .b32 x7; .reg .b32 x<4>;", "register twice": ".reg .b32 x; .reg .b32 x;", "register array": ".reg .b32 x[4];", "register initial": ".reg .b32 x = 1;",
        "register aligned": ".reg .align 8 .b32 x;", "local array": ".local .align 8 .b8 x[16];", "shared initial in body": ".shared .b32 x = 1;", "global in body": ".global .b32 x = 1;",
        "const in body": ".const .b32 x = 1;", "extern in body": ".extern .shared .b8 x[];", "visible in body": ".visible .shared .b32 x;", "param in body": ".param .b32 x;", "param array": ".param .align 8 .b8 x[16];",
        "scope": "{ .reg .b32 x; mov.u32 x, 1; }", "out of scope": "{ .reg .b32 x; }\nmov.u32 x, 1;", "hides": ".reg .b32 x; { .reg .f32 x; mov.f32 x, 1.0; }", "use before": "mov.u32 x, 1;\n.reg .b32 x;",
        "label": "L: bra L;", "label twice": "L: mov.u32 r0, 1;\nL: mov.u32 r0, 2;", "label unknown": "bra nosuch;", "label in scope": "{ L: mov.u32 r0, 1; }\nbra L;", "label from scope": "L:\n{ bra L; }",
        "label as register": ".reg .b32 L;\nL: mov.u32 r0, 1;", "label alone": "L:", "two labels": "L: M: mov.u32 r0, 1;", "branch to register": "bra r0;", "branch to kernel": "bra k;",
        "targets": "T: .branchtargets L, M;\nbrx.idx r0, T;\nL:\nM:", "targets below": "brx.idx r0, T;\nL:\nT: .branchtargets L;", "targets unknown": "T: .branchtargets nosuch;\nbrx.idx r0, T;", "targets empty": "T: .branchtargets ;",
        "brx of label": "L: brx.idx r0, L;", "guard": "@p0 mov.u32 r0, 1;", "guard negated": "@!p0 mov.u32 r0, 1;", "guard no predicate": "@r0 mov.u32 r0, 1;", "guard unknown": "@nosuch mov.u32 r0, 1;", "guard of label": "@p0 L: mov.u32 r0, 1;",
        "guard ret": "@p0 ret;", "guard constant": "@1 mov.u32 r0, 1;", "loc": "mov.u32 r0, 1;\n.loc 1 2 3", "loc without file": ".loc 7 2 3\nmov.u32 r0, 1;", "pragma in body": '.pragma "nounroll";', "pragma used_bytes_mask": '.pragma "used_bytes_mask 0xf";\nld.global.b32 r0, [d0];',
        "empty statement": ";", "empty scope": "{ }", "no such instruction": "nosuch.u32 r0, r1;", "instruction in capitals": "ADD.u32 r0, r1, r2;", "comment": "/* x */ mov.u32 r0, 1; // y",
        "octal": "mov.u32 r0, 017;", "bad octal": "mov.u32 r0, 019;", "binary": "mov.u32 r0, 0b101;", "hexadecimal": "mov.u32 r0, 0xFf;", "unsigned suffix": "mov.u32 r0, 5U;", "float in integer": "mov.u32 r0, 1.5;", "integer in float": "mov.f32 f0, 1;",
        "float forms": "mov.f32 f0, 1e5; mov.f32 f1, .5; mov.f32 f2, 1.;", "expression": "mov.u32 r0, (1 + 2) * 3 << 4 | 5;", "ternary": "mov.u32 r0, 1 ? 2 : 3;", "division by zero": "mov.u32 r0, 1 / 0;", "cast": "mov.u64 d0, (.s64) -1;", "not": "mov.u32 r0, !1;", "complement": "mov.u32 r0, ~1;",
        "string operand": 'mov.u32 r0, "x";', "vector register": ".reg .v4 .f32 v; mov.f32 f0, v.x;", "vector component": ".reg .v2 .f32 v; mov.f32 f0, v.z;", "vector colour": ".reg .v4 .f32 v; mov.f32 f0, v.a;", "component of scalar": "mov.f32 f0, f1.x;",
        "address of variable": ".shared .b32 x; mov.u32 r0, x; mov.u64 d0, x;", "address plus": ".shared .b32 x[4]; ld.shared.b32 r0, [x+4]; ld.shared.b32 r1, [x+-4];", "address index": ".shared .b32 x[4]; ld.shared.b32 r0, x[1];", "address minus": ".shared .b32 x[4]; ld.shared.b32 r0, [x-4];",
        "address register plus": "ld.global.b32 r0, [d0+4]; ld.global.b32 r0, [d0-4];", "address two registers": "ld.global.b32 r0, [d0+d1];", "address float": "ld.global.b32 r0, [f0];", "address constant": "ld.global.b32 r0, [16];", "address misaligned": ".shared .b32 x[4]; ld.shared.b32 r0, [x+2];",
        "local misaligned": ".local .b32 x; ld.local.b64 d0, [x+4];", "wrong space": ".shared .b32 x; ld.global.b32 r0, [x];", "generic of shared": ".shared .b32 x; ld.b32 r0, [x];", "generic of const": "ld.b32 r0, [k];", "unified": "ld.global.b32 r0, [d0].unified;", "nothing behind address": "ld.global.b32 r0, [d0].x;",
    }.items():
        yield "body: " + name, kernel(text)


def functions():
    """Functions, parameters, calls and performance directives."""
    simple = ".func (.param .b32 o) f(.param .b32 i) { st.param.b32 [o], 1; ret; }"
    call = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], r0; call (b), f, (a); ld.param.b32 r1, [b]; }"
    for name, body in {
        "call": call, "call uni": call.replace("call", "call.uni"), "call too few": "{ .param .b32 b; call (b), f; }", "call too many": "{ .param .b32 a, b; call (b), f, (a, a); }",
        "call no result": "{ .param .b32 a; call f, (a); }", "call wrong size": "{ .param .b64 a; .param .b32 b; call (b), f, (a); }", "call wrong kind": "{ .param .f32 a; .param .b32 b; call (b), f, (a); }",
        "call register": "call (r1), f, (r0);", "call constant": "{ .param .b32 b; call (b), f, (5); }", "call unknown": "call g;", "call kernel": "call k;", "call variable": "call r0;",
        "call indirect": "{ .param .b32 a, b; P: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 d0, f; call (b), d0, (a), P; }", "call indirect no prototype": "{ .param .b32 a, b; mov.u64 d0, f; call (b), d0, (a); }",
        "call targets": "{ .param .b32 a, b; T: .calltargets f; mov.u64 d0, f; call (b), d0, (a), T; }", "call targets unknown": "T: .calltargets nosuch;", "call prototype wrong": "{ .param .b64 a; .param .b32 b; P: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 d0, f; call (b), d0, (a), P; }",
        "call with space": "{ .param .b32 a, b; call(b),f,(a); }", "call guarded": "{ .param .b32 a, b; @p0 call (b), f, (a); }", "call in parentheses empty": "{ .param .b32 b; call (b), f, (); }",
    }.items():
        yield name, kernel(body, simple)
    for name, text in {
        "declaration": ".func f(.param .b32 x);", "declared and defined": ".func f(.param .b32 x);\n.func f(.param .b32 x) { ret; }", "defined twice": ".func f() { ret; }\n.func f() { ret; }",
        "declared otherwise": ".func f(.param .b64 x);\n.func f(.param .b32 x) { ret; }", "extern": ".extern .func f(.param .b32 x);", "extern defined": ".extern .func f() { ret; }", "visible": ".visible .func f() { ret; }", "weak": ".weak .func f() { ret; }",
        "weak kernel": ".weak .entry f() { ret; }", "extern kernel": ".extern .entry f();", "kernel declared": ".entry f();", "kernel result": ".entry (.param .b32 o) f() { ret; }", "kernel register parameter": ".entry f(.reg .b32 x) { ret; }",
        "register parameters": ".func (.reg .b32 o) f(.reg .b32 x) { mov.b32 o, x; ret; }", "two results": ".func (.param .b32 o, .param .b32 p) f() { ret; }", "array parameter": ".func f(.param .align 8 .b8 x[16]) { ret; }", "array without size": ".func f(.param .b8 x[]) { ret; }",
        "parameter twice": ".func f(.param .b32 x, .param .b32 x) { ret; }", "parameter of f16": ".func f(.param .f16 x) { ret; }", "parameter of pred": ".func f(.param .pred x) { ret; }", "pred register parameter": ".func f(.reg .pred x) { ret; }", "parameter without name": ".func f(.param .b32) { ret; }",
        "small register parameter": ".func f(.reg .b8 x) { ret; }", "pointer": ".entry f(.param .u64 .ptr .global .align 8 x) { ret; }", "pointer no align": ".entry f(.param .u64 .ptr x) { ret; }", "pointer of 16": ".entry f(.param .u16 .ptr x) { ret; }", "pointer in function": ".func f(.param .u64 .ptr .global x) { ret; }",
        "pointer shared": ".entry f(.param .u64 .ptr .shared .align 4 x) { ret; }", "pointer bad align": ".entry f(.param .u64 .ptr .global .align 3 x) { ret; }", "pointer to reg": ".entry f(.param .u64 .ptr .reg x) { ret; }",
        "noreturn": ".func f() .noreturn { trap; }", "noreturn kernel": ".entry f() .noreturn { trap; }", "noreturn result": ".func (.param .b32 o) f() .noreturn { trap; }", "no body": ".func f()", "no parentheses": ".func f { ret; }", "no name": ".func () { ret; }",
        "same name as variable": ".global .b32 f;\n.func f() { ret; }", "same name as kernel": ".func k() { ret; }", "nested": ".func f() { .func g() { ret; } ret; }", "no ret": ".func f() { }", "store to parameter": ".func f(.param .b32 x) { st.param.b32 [x], 1; ret; }",
        "load result": ".func (.param .b32 o) f() { .reg .b32 r; ld.param.b32 r, [o]; ret; }", "texref parameter": ".entry f(.param .texref x) { ret; }", "many parameters": ".entry f(.param .b8 x[4096]) { ret; }", "too many parameters": ".entry f(.param .b8 x[40000]) { ret; }",
        "trailing comma": ".func f(.param .b32 x,) { ret; }", "recursion": ".func f() { call f; ret; }", "abi_preserve": ".func f() .abi_preserve 4 { ret; }", "abi_preserve_control": ".func f() .abi_preserve_control 2 { ret; }", "attribute unified": ".func .attribute(.unified(1,2)) f() { ret; }",
    }.items():
        yield name, kernel("", text)
    for directives in (
        ".maxntid 256", ".maxntid 16, 16", ".maxntid 8, 8, 8", ".maxntid 8, 8, 8, 8", ".maxntid 0", ".maxntid 2000", ".maxntid 1024, 2", ".maxntid", ".maxntid r0", ".maxntid 1.5", ".maxntid -1", ".reqntid 256", ".reqntid 0", ".reqntid 2048",
        ".reqntid 16, 16, 2", ".maxntid 128 .reqntid 128", ".maxntid 128 .maxntid 128", ".reqntid 32 .reqntid 32", ".minnctapersm 2", ".maxntid 128 .minnctapersm 2", ".minnctapersm 0", ".maxntid 128 .minnctapersm 100", ".maxnctapersm 2", ".maxntid 128 .maxnctapersm 2", ".maxnreg 32", ".maxnreg 0", ".maxnreg 300",
        ".maxnreg 32 .maxnreg 32", ".maxnreg 16", ".maxnreg 255", ".reqnctapercluster 2", ".reqnctapercluster 2, 2, 2", ".reqnctapercluster 0", ".reqnctapercluster 16", ".reqnctapercluster 4, 4, 4", ".explicitcluster", ".maxclusterrank 4", ".maxclusterrank 0", ".maxclusterrank 4 .reqnctapercluster 2",
        ".explicitcluster .maxclusterrank 4", ".reqnctapercluster 2 .explicitcluster", ".blocksareclusters", ".reqntid 32 .reqnctapercluster 2 .blocksareclusters", ".reqntid 32 .blocksareclusters", ".reqnctapercluster 2 .blocksareclusters", ".noreturn", ".nosuch 4", '.pragma "nounroll";', ".maxntid 128;", ".minnctapersm 2 .maxntid 64 .maxnreg 40",
        ".abi_preserve 4", ".language 1", ".maxntid 32, 1, 1 .minnctapersm 1 .maxclusterrank 8",
    ):
        yield "directive " + directives, kernel("", directives=directives)
        yield "old directive " + directives, kernel("", directives=directives, head=".version 6.0\n.target sm_70\n.address_size 64\n")
        yield "function directive " + directives, kernel("", f".func f()\n{directives}\n{{ ret; }}")
    for parameters in (
        ".param .b32 x", ".param .u64 x, .param .f32 y", ".param .b128 x", ".param .v2 .f32 x", ".param .align 16 .b8 x[32]", ".param .align 3 .b8 x[32]", ".param .align 256 .b8 x[32]", ".param .b8 x[0]", ".param .s8 x", ".param .f64 x", ".param .f16 x", ".param .f16x2 x", ".reg .b32 x", ".b32 x", ".param x", ".param .b32 x[2][2]", ".param .b32 x = 1",
    ):
        yield "parameters " + parameters, kernel("", parameters=parameters)
    for body in ("ld.param.b32 r0, [x];", "ld.param.b32 r0, [x+4];", "ld.param.b64 d0, [x];", "ld.param.b32 r0, [nosuch];", "st.param.b32 [x], r0;", "mov.b64 d0, x;", "ld.b32 r0, [x];", "ld.global.b32 r0, [x];", "ld.param.v2.b32 {r0, r1}, [y];", "ld.param.b64 d0, [y+4];", "cvta.param.u64 d0, x;", "ld.const.b32 r0, [x];", "ld.param::entry.b32 r0, [x];", "ld.param::func.b32 r0, [x];"):
        yield "parameter " + body, kernel(body, parameters=".param .b32 x, .param .align 8 .b8 y[16]")


SPECIALS = (
    "%tid.x %tid.y %tid.z %tid.w %tid %ntid.x %ntid.w %laneid %warpid %nwarpid %ctaid.x %nctaid.z %smid %nsmid %gridid %lanemask_eq %lanemask_le %lanemask_lt "
    "%lanemask_ge %lanemask_gt %clock %clock_hi %clock64 %pm0 %pm3 %pm7 %pm8 %pm0_64 %pm7_64 %envreg0 %envreg31 %envreg32 %globaltimer %globaltimer_lo %globaltimer_hi "
    "%reserved_smem_offset_begin %reserved_smem_offset_end %reserved_smem_offset_cap %reserved_smem_offset_0 %reserved_smem_offset_1 %reserved_smem_offset_2 %total_smem_size "
    "%aggr_smem_size %dynamic_smem_size %current_graph_exec %clusterid.x %nclusterid.y %cluster_ctaid.z %cluster_nctaid.x %cluster_ctarank %cluster_nctarank %is_explicit_cluster WARP_SZ %nosuch"
).split()


def specials():
    """Special registers: each in every type, and since when."""
    for name in SPECIALS:
        for ty, register in (("u16", "h0"), ("b16", "h0"), ("u32", "r0"), ("b32", "r0"), ("s32", "r0"), ("f32", "f0"), ("u64", "d0"), ("b64", "d0"), ("pred", "p0")):
            yield f"{name} as {ty}", kernel(f"mov.{ty} {register}, {name};")
        for version, target in (("1.0", "sm_10"), ("1.3", "sm_13"), ("2.0", "sm_20"), ("3.0", "sm_30"), ("4.0", "sm_30"), ("4.1", "sm_35"), ("5.0", "sm_60"), ("7.5", "sm_80"), ("7.6", "sm_80"), ("7.8", "sm_80"), ("7.8", "sm_90"), ("8.0", "sm_80"), ("8.1", "sm_90")):
            for ty, register in (("u32", "r0"), ("u64", "d0"), ("pred", "p0")):
                head = f".version {version}\n.target {target}\n"
                yield f"{name} as {ty} in {version} {target}", kernel(f"mov.{ty} {register}, {name};", head=head)
        yield f"{name} in add", kernel(f"add.u32 r0, {name}, 1;")
        yield f"{name} in cvt", kernel(f"cvt.u32.u32 r0, {name};")
        yield f"{name} as destination", kernel(f"mov.u32 {name}, r0;")
    yield "vector of a special", kernel(".reg .v4 .u32 v; mov.v4.u32 v, %tid;")


def cases():
    """Every case: name and text."""
    for group in (headers, variables, functions, specials):
        yield from group()
