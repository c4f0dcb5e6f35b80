//! Verdicts on small modules that ptxas accepts or refuses: each case is a text, and its expected verdict.
//!
//! For rules that are in no manual, or that compilers implement differently. Where `ORIOLE_ORACLE` names a folder with
//! `ptxas`, the same cases are checked with it, so that no verdict is ours alone.

use std::path::PathBuf;
use std::process::Command;

use oriole_hir::resolve_module;

/// The text around the lines of a case.
#[derive(Clone, Copy)]
enum Around {
    /// A kernel with registers of many types.
    Kernel,
    /// A header, and nothing else.
    Header,
    /// Nothing but `.version` and `.target`.
    Bare,
}
use Around::{Bare, Header, Kernel};

/// Version, target, surroundings, lines, whether they are accepted.
type Case = (&'static str, &'static str, Around, &'static str, bool);

const ACCEPTED: bool = true;
const REFUSED: bool = false;

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Compare-and-swap of 32 and 64 bits is older than that of 16.
    ("2.0", "sm_20", Bare, ".entry k() { .reg .b32 r; .reg .b64 d; atom.cas.b32 r, [d], r, r; }", ACCEPTED),
    ("1.2", "sm_12", Bare, ".entry k() { .reg .b32 r; atom.shared.cas.b32 r, [r], r, r; }", ACCEPTED),
    ("5.0", "sm_60", Kernel, "atom.cta.cas.b64 d1, [d3], d2, d1;", ACCEPTED),
    ("5.0", "sm_60", Kernel, "atom.gpu.shared.cas.b32 r1, [d3], r2, r1;", ACCEPTED),
    ("5.0", "sm_35", Kernel, "atom.gpu.cas.b32 r1, [d3], r2, r1;", REFUSED),
    ("6.0", "sm_70", Kernel, "atom.acquire.cas.b32 r1, [d3], r2, r1;", ACCEPTED),
    ("6.0", "sm_60", Kernel, "atom.acquire.cas.b32 r1, [d3], r2, r1;", REFUSED),
    ("6.3", "sm_70", Kernel, "atom.cas.b16 h1, [d3], h2, h1;", ACCEPTED),
    ("6.2", "sm_70", Kernel, "atom.cas.b16 h1, [d3], h2, h1;", REFUSED),
    ("6.3", "sm_60", Kernel, "atom.cas.b16 h1, [d3], h2, h1;", REFUSED),
    // `.shared::cta` is another spelling of `.shared`, and younger.
    ("6.3", "sm_70", Kernel, "atom.shared.cas.b16 h1, [d3], h2, h1;", ACCEPTED),
    ("6.3", "sm_70", Kernel, "atom.shared::cta.cas.b16 h1, [d3], h2, h1;", REFUSED),
    ("7.8", "sm_70", Kernel, "atom.shared::cta.cas.b16 h1, [d3], h2, h1;", ACCEPTED),
    ("7.7", "sm_70", Kernel, "atom.shared::cta.add.u32 r1, [d3], r2;", REFUSED),
    ("7.7", "sm_70", Kernel, "ld.shared::cta.u32 r1, [d3];", REFUSED),
    // Up to PTX 6.2, matrix instructions of 16-bit types are written without `.aligned`, and with it from 6.3 on.
    ("6.0", "sm_70", Kernel, "wmma.load.c.sync.row.m16n16k16.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [d1];", ACCEPTED),
    ("6.0", "sm_70", Kernel, "wmma.load.c.sync.row.m8n32k16.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [d1];", REFUSED),
    ("6.1", "sm_70", Kernel, "wmma.load.c.sync.row.m8n32k16.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [d1];", ACCEPTED),
    ("6.2", "sm_70", Kernel, "wmma.load.c.sync.aligned.row.m16n16k16.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [d1];", REFUSED),
    ("6.3", "sm_70", Kernel, "wmma.load.c.sync.aligned.row.m16n16k16.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [d1];", ACCEPTED),
    ("6.3", "sm_70", Kernel, "wmma.load.c.sync.row.m16n16k16.f32 {f0,f1,f2,f3,f4,f5,f6,f7}, [d1];", REFUSED),
    // The stack.
    ("7.3", "sm_52", Kernel, "alloca.u64 d1, d2;", ACCEPTED),
    ("7.3", "sm_52", Kernel, "stacksave.u64 d1;", ACCEPTED),
    ("7.3", "sm_52", Kernel, "stackrestore.u64 d1;", ACCEPTED),
    ("7.3", "sm_50", Kernel, "alloca.u64 d1, d2;", REFUSED),
    // Four values at a time, with stochastic rounding.
    ("8.7", "sm_100a", Kernel, "cvt.rs.satfinite.e4m3x4.f32 r1, {f1, f2, f3, f4}, r9;", ACCEPTED),
    ("8.7", "sm_100a", Kernel, "cvt.rs.relu.satfinite.e2m1x4.f32 h1, {f1, f2, f3, f4}, r9;", ACCEPTED),
    ("8.7", "sm_100a", Kernel, "cvt.rs.satfinite.e2m1x4.f32 r1, {f1, f2, f3, f4}, r9;", REFUSED),
    ("8.7", "sm_100a", Kernel, "cvt.rs.satfinite.e4m3x4.f32 r1, {f1, f2}, r9;", REFUSED),
    ("8.7", "sm_100a", Kernel, "cvt.rs.satfinite.e4m3x4.f32 f1, {f1, f2, f3, f4}, r9;", REFUSED),
    ("8.8", "sm_100f", Kernel, "cvt.rs.satfinite.e4m3x4.f32 r1, {f1, f2, f3, f4}, r9;", REFUSED),
    // A store of 256 bits may leave elements out.
    ("9.0", "sm_100", Kernel, "st.global.v8.b32 [d1], {_, r1, r2, r3, r4, r5, r6, _};", ACCEPTED),
    ("9.0", "sm_100", Kernel, "st.relaxed.gpu.v4.f64 [d1], {_, e1, e2, e3};", ACCEPTED),
    ("9.0", "sm_100", Kernel, "st.global.v8.b32 [d1], {_, _, _, _, _, _, _, _};", REFUSED),
    ("9.0", "sm_100", Kernel, "st.global.v4.b32 [d1], {_, r1, r2, r3};", REFUSED),
    // Scale blocks come with the collector on a whole family.
    ("8.8", "sm_100f", Kernel, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32.collector::a::use [r1], d1, d2, r3, [r5], [r6], p1;", ACCEPTED),
    ("9.0", "sm_110f", Kernel, "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16.collector::a::fill [r1], [r2], d2, r3, [r5], [r6], p1;", ACCEPTED),
    ("8.8", "sm_100f", Kernel, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.collector::a::use [r1], d1, d2, r3, [r5], [r6], p1;", REFUSED),
    // Features of a family, and features outside of it.
    ("8.8", "sm_100f", Kernel, "setmaxnreg.dec.sync.aligned.u32 40;", ACCEPTED),
    ("9.0", "sm_120f", Kernel, "setmaxnreg.dec.sync.aligned.u32 40;", ACCEPTED),
    ("9.0", "sm_120", Kernel, "setmaxnreg.dec.sync.aligned.u32 40;", REFUSED),
    ("9.0", "sm_103f", Kernel, "redux.sync.min.f32 f1, f2, r1;", ACCEPTED),
    ("9.0", "sm_110f", Kernel, "redux.sync.min.f32 f1, f2, r1;", REFUSED),
    ("9.0", "sm_103f", Kernel, "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {r1, r2}, r3, [r4];", ACCEPTED),
    ("9.0", "sm_110f", Kernel, "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {r1, r2}, r3, [r4];", ACCEPTED),
    ("9.0", "sm_100f", Kernel, "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {r1, r2}, r3, [r4];", REFUSED),
    ("9.0", "sm_100f", Kernel, "tcgen05.mma.cta_group::1.kind::i8 [r1], d1, d2, r3, p1;", REFUSED),
    ("9.0", "sm_121f", Kernel, "tcgen05.wait::ld.sync.aligned;", REFUSED),
    ("9.0", "sm_103a", Kernel, "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [d1], 4;", ACCEPTED),
    ("9.0", "sm_100a", Kernel, "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [d1], 4;", REFUSED),
    ("9.0", "sm_103a", Kernel, "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [d1], 5;", REFUSED),
    // Of several targets the last one counts, in one line or in several; the first word names one.
    ("8.0", "sm_80, sm_90", Kernel, "fence.acq_rel.cluster;", ACCEPTED),
    ("8.0", "sm_90, sm_80", Kernel, "fence.acq_rel.cluster;", REFUSED),
    ("8.0", "sm_80\n.target sm_90", Kernel, "fence.acq_rel.cluster;", ACCEPTED),
    ("8.0", "sm_90\n.target sm_80", Kernel, "fence.acq_rel.cluster;", REFUSED),
    ("8.0", "sm_90, texmode_independent, sm_80", Kernel, "fence.acq_rel.cluster;", REFUSED),
    ("8.0", "sm_90\n.target texmode_independent", Kernel, "fence.acq_rel.cluster;", ACCEPTED),
    ("8.0", "compute_90, compute_80", Kernel, "fence.acq_rel.cluster;", REFUSED),
    ("8.0", "sm_90a, sm_90", Kernel, "wgmma.fence.sync.aligned;", REFUSED),
    ("8.0", "sm_90, sm_90a", Kernel, "wgmma.fence.sync.aligned;", ACCEPTED),
    ("7.0", "sm_90, sm_80", Kernel, "", REFUSED),
    ("8.0", "texmode_unified, sm_80", Kernel, "", REFUSED),
    ("8.0", "debug", Kernel, "", REFUSED),
    ("8.0", "foo, sm_80", Kernel, "", REFUSED),
    ("8.0", "sm_80, foo", Kernel, "", REFUSED),
    ("8.0", "lto_80, sm_80", Kernel, "", REFUSED),
    ("8.0", "sm_80, debug", Kernel, "", REFUSED),
    ("8.0", "sm_80, texmode_independent\n.target sm_80, texmode_unified", Kernel, "", REFUSED),
    ("8.0", "sm_80\n.target sm_12, map_f64_to_f32, sm_80", Bare, "", ACCEPTED),
    ("8.0", "sm_12\n.target sm_80, map_f64_to_f32, sm_12", Bare, "", REFUSED),
    // Hidden in an inner scope, a parameter still counts where a `.param` of its name is written, and a result where one is read.
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { .param .b32 p; st.param.b32 [p], 1; } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { .param .b64 p[2]; st.param.b64 [p+8], 1; } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { { .param .b32 p; st.param.b32 [p], 1; } } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { .reg .b32 p; { .param .b32 p; st.param.b32 [p], 1; } } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func g(.reg .b32 p) { { .param .b32 p; st.param.b32 [p], 1; } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.reg .b32 q) g() { .reg .b32 r; { .param .b32 q; ld.param.b32 r, [q]; } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.reg .b32 q) g() { { .param .b32 q; st.param.b32 [q], 1; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func (.param .b32 r) f(.param .b32 a) { ret; } .entry k(.param .b32 p) { .reg .b32 r; { .param .b32 p; .param .b32 q; st.param.b32 [q], 1; call (p), f, (q); ld.param.b32 r, [p]; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func (.param .b32 r) f(.param .b32 a) { ret; } .func (.param .b32 q) g() { { .param .b32 q; .param .b32 a; st.param.b32 [q], 1; call (a), f, (q); } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func (.param .b32 r) f(.param .b32 a) { ret; } .func (.param .b32 q) g(.param .b32 p) { { .param .b32 a; call (p), f, (a); } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.param .b32 r) f(.param .b32 a) { ret; } .func (.param .b32 q) g(.param .b32 p) { { .param .b32 a; call (a), f, (p); } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.param .b32 r) f(.param .b32 a) { ret; } .func (.param .b32 q) g() { { .param .b32 a; call (q), f, (a); } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.param .b32 r) f(.param .b32 a) { ret; } .entry k(.param .b32 p) { { .param .b32 q; call (q), f, (p); } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.reg .b32 r) f(.reg .b32 a) { ret; } .func (.reg .b32 q) g(.reg .b32 p) { call (q), f, (p); ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { .local .b32 p; st.local.b32 [p], 1; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { .shared .b32 p; st.shared.b32 [p], 1; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { .param .b32 p; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { .reg .b32 p; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { p: ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b32 p) { { p: bra p; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k() { { .param .b32 p; st.param.b32 [p], 1; { .param .b32 p; st.param.b32 [p], 1; } } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k() { { .param .b32 p; .param .b32 p; } ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k() { .reg .b32 a; { a: bra a; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k() { .reg .b32 a; a: bra a; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k() { a: { a: bra a; } bra a; ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k() { .shared .b32 a; { .shared .b32 a; st.shared.b32 [a], 1; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k() { { .reg .b32 k; mov.b32 k, 1; } ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".global .b32 g; .entry k() { { g: bra g; } ret; }", ACCEPTED),
    // Repeated words, unchecked numbers.
    ("8.0", "sm_90", Kernel, "bra.uni .uni END;", ACCEPTED),
    ("8.0", "sm_90", Kernel, "cp.async.wait_group -1;", ACCEPTED),
    ("8.0", "sm_90", Kernel, "cp.async.bulk.wait_group.read 2147483648;", ACCEPTED),
    // Pointers to opaque types, and the order of a declaration's words.
    ("8.0", "sm_90", Header, ".entry k(.param .u64 .ptr .texref p) { ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .u64 .ptr .samplerref .align 8 p) { ret; }", ACCEPTED),
    ("4.2", "sm_50", Header, ".entry k(.param .u64 .ptr .surfref p) { ret; }", REFUSED),
    ("2.1", "sm_20", Bare, ".entry k(.param .u32 .ptr .global p) { ret; }", REFUSED),
    ("2.2", "sm_20", Bare, ".address_size 32\n.entry k() { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.u64 .param p) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.align 8 .param .u64 p) { ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .u64 .align 8 p) { ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .ptr .u64 p) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.param .u64 .align 8 p) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.u64 p) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .u32 .v2 p;", REFUSED),
    ("8.0", "sm_90", Header, ".global .v2 .align 8 .u32 p;", REFUSED),
    ("8.0", "sm_90", Header, ".global .weak .u32 p;", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b8 4294967296 }", ACCEPTED),
    // The last parameter of a function may be an array without a size; anything may be passed for it, or nothing.
    ("8.0", "sm_90", Header, ".func f(.param .b32 y, .param .b8 x[]) { ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func f(.param .b8 x[0]) { ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func f(.param .b8 x[], .param .b32 y) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func (.param .b8 x[]) f() { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.reg .b32 x[]) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .b8 x[]) { ret; }", REFUSED),
    ("5.0", "sm_50", Header, ".func f(.param .b8 x[]) { ret; }", REFUSED),
    ("6.0", "sm_20", Header, ".func f(.param .b8 x[]) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.param .b8 x[]) { ret; }\n.func g() { .param .b8 z[8]; call f, (z); ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func f(.param .b32 x[]) { ret; }\n.func g() { .param .b8 z[8]; call f, (z); ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func g() { p: .callprototype _ (.param .b8 x[]); .reg .b64 r; call r, (), p; ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func f(.param .v4 .f32 x) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.reg .b32 x[4]) { ret; }", REFUSED),
    // Handles of textures and surfaces as values.
    ("8.0", "sm_90", Header, ".global .texref t; .entry k() { .reg .b64 d; mov.u64 d, t; txq.width.b32 _, [d]; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref t; .entry k() { .reg .b64 d; .reg .b32 r; mov.u64 d, t; txq.width.b32 r, [d]; ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".global .surfref t; .entry k() { .reg .b64 d; mov.b64 d, t; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref t; .entry k() { .reg .b64 d; mov.s64 d, t; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref t; .entry k() { .reg .b32 r; mov.u32 r, t; ret; }", REFUSED),
    // Fields of textures, samplers and surfaces.
    ("8.0", "sm_90, texmode_independent", Header, ".global .samplerref a = { addr_mode_0 = clamp_to_border, filter_mode = nearest };", ACCEPTED),
    ("8.0", "sm_90, texmode_independent", Header, ".global .samplerref a = { force_unnormalized_coords = 1 };", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .texref t) { .reg .b64 d; mov.u64 d, t; ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k(.param .texref t) { .reg .b32 r; mov.u32 r, t; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .texref t) { .reg .b64 d; ld.param.u64 d, [t]; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k(.param .texref t) { .reg .b64 d; st.param.u64 [t], d; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref t; .entry k() { .reg .b64 d; ld.global.u64 d, [t]; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref t; .entry k() { .reg .b64 d; st.global.u64 [t], d; ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.param .texref t) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref a[2] = { { width = 4, height = 2 }, { normalized_coords = 1 } };", ACCEPTED),
    ("8.0", "sm_90", Header, ".global .surfref a = { memory_layout = 1 };", ACCEPTED),
    ("8.0", "sm_90", Header, ".global .surfref a = { filter_mode = nearest };", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref a = { width = a };", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref a = { 1 };", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref a = 1;", REFUSED),
    ("8.0", "sm_90", Header, ".global .texref a = { width = 1, };", REFUSED),
    // Numbers of directives.
    ("8.0", "sm_90", Header, ".entry k() .maxnreg 18446744073709551615 { ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".entry k() .maxnreg 4294967296 { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k() .maxntid (1) { ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k() .maxntid 1+1 { ret; }", REFUSED),
    // Lines of the source.
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 4294967295 1\nret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 4294967296 1\nret; }", REFUSED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, function_name n, inlined_at 1 5 1\nret; }\n.section .debug_str { n: .b8 1 }", ACCEPTED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, function_name n, inlined_at 1 5 2\nret; }\n.section .debug_str { n: .b8 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 6 1, function_name n, inlined_at 1 6 1\nret; }\n.section .debug_str { n: .b8 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry a() {\n.loc 1 5 1\nret; }\n.entry k() {\n.loc 1 6 1, function_name n, inlined_at 1 5 1\nret; }\n.section .debug_str { n: .b8 1 }", ACCEPTED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 6 1, function_name n, inlined_at 1 5 1\nret; }\n.entry a() {\n.loc 1 5 1\nret; }\n.section .debug_str { n: .b8 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, inlined_at 1 5 1\nret; }", REFUSED),
    // Debug sections.
    ("8.0", "sm_90", Header, ".section .debug_info { a: .b8 255, -128\n.b32 a .b32 a+4 .b32 a-a .b64 .debug_str .b64 .debug_str+4 .b64 b }", ACCEPTED),
    ("8.0", "sm_90", Header, ".section .debug_info { a: .b32 1, a }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { a: .b32 a, 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b8 256 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b16 -32769 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b8 bra }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b64 1.5 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .x 3 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .u8 3 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b64 4+4 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { .b64 .debug_str-4 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info { a: .b64 a+a }", REFUSED),
    ("8.0", "sm_90", Header, ".section debug_info { .b8 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_info .x { .b8 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_str { a: .b8 1\na: .b8 2 }", REFUSED),
    ("8.0", "sm_90", Header, ".section .debug_str { a: .b8 1 }\n.section .debug_loc { a: .b8 2 }", REFUSED),
    ("8.0", "sm_90", Header, ".entry k() { a: ret; }\n.section .debug_str { a: .b8 1\nk: .b8 2 }", ACCEPTED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, function_name n, inlined_at 1 5 1\nret; }\n.section .debug_str { m: .b8 1 }", REFUSED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, function_name k, inlined_at 1 5 1\nret; }", REFUSED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, function_name .debug_str+1, inlined_at 1 5 1\nret; }\n.section .debug_str { m: .b8 1 }", ACCEPTED),
    ("8.0", "sm_90", Header, ".file 1 \"a\"\n.entry k() {\n.loc 1 5 1\n.loc 1 6 1, function_name .debug_more, inlined_at 1 5 1\nret; }", REFUSED),
    // An alignment and attributes before the state space.
    ("8.0", "sm_90", Header, ".align 8 .global .b32 x;", ACCEPTED),
    ("8.0", "sm_90", Header, ".visible .align 8 .global .b32 x;", ACCEPTED),
    ("8.0", "sm_90", Header, ".extern .align 8 .shared .b8 x[];", ACCEPTED),
    ("8.0", "sm_90", Header, ".attribute(.managed) .align 8 .global .b32 x;", ACCEPTED),
    ("8.0", "sm_90", Header, ".align 8 .visible .global .b32 x;", REFUSED),
    ("8.0", "sm_90", Header, ".align 8 .b32 x;", REFUSED),
    ("8.0", "sm_90", Kernel, ".align 8 .shared .b32 x;", ACCEPTED),
    ("8.0", "sm_90", Kernel, ".align 8 .b32 x;", REFUSED),
    ("8.0", "sm_90", Kernel, ".attribute(.managed) .global .b32 x;", ACCEPTED),
    // 64 bits at a time in shared memory.
    ("2.0", "sm_13", Bare, ".entry k() { .reg .b32 r; .reg .b64 d; atom.shared.cas.b64 d, [r], d, d; }", REFUSED),
    ("2.0", "sm_13", Bare, ".entry k() { .reg .b32 r; .reg .b64 d; atom.exch.shared.b64 d, [r], d; }", REFUSED),
    ("2.0", "sm_13", Bare, ".entry k() { .reg .b32 r; .reg .b64 d; red.shared.add.u64 [r], d; }", REFUSED),
    ("2.0", "sm_20", Bare, ".entry k() { .reg .b32 r; .reg .b64 d; atom.shared.cas.b64 d, [r], d, d; }", ACCEPTED),
    ("2.0", "sm_20", Bare, ".entry k() { .reg .b32 r; .reg .b64 d; atom.shared.add.u64 d, [r], d; }", ACCEPTED),
    // Vector registers as a whole.
    ("8.0", "sm_90", Header, ".func (.reg .v2 .b32 r) f(.reg .v2 .b32 a) { add.u32 r.x, a.x, a.y; ret; }\n.func g() { .reg .v2 .b32 v; call (v), f, (v); ret; }", ACCEPTED),
    ("8.0", "sm_90", Header, ".func f(.reg .v2 .b32 a) { ret; }\n.func g() { .reg .v2 .b32 v; call f, ({v.x, v.y}); ret; }", REFUSED),
    ("8.0", "sm_90", Header, ".func f(.reg .v2 .pred a) { ret; }", REFUSED),
    ("8.0", "sm_90", Kernel, ".reg .v4 .u16 v; mov.v4.u16 v, {h1, h2, h3, h4};", ACCEPTED),
    ("8.0", "sm_90", Kernel, ".reg .v2 .b16 v; mov.b32 v, r1; mov.b32 r1, v;", ACCEPTED),
    ("8.0", "sm_90", Kernel, ".reg .v2 .b16 v; mov.b32 v, {h1, h2};", REFUSED),
    ("8.0", "sm_90", Kernel, ".reg .v2 .b16 v; mov.u32 r1, v;", REFUSED),
    ("8.0", "sm_90", Kernel, "mov.b32 {h1, h2}, {h3, h4};", REFUSED),
    // An address with an offset is a value, one without is not.
    ("8.0", "sm_90", Kernel, ".global .u32 x[4]; st.global.u64 [x], x+4;", ACCEPTED),
    ("8.0", "sm_90", Kernel, ".global .u32 x[4]; st.global.u64 [x], x;", REFUSED),
    ("8.0", "sm_90", Kernel, ".global .u32 x[4]; st.global.u64 [x], x[1]+4;", REFUSED),
    ("8.0", "sm_90", Kernel, ".global .u32 x[4]; st.global.v2.u64 [x], {x+4, d1};", REFUSED),
    ("8.0", "sm_90", Kernel, ".global .u32 x[4]; st.global.f64 [x], x+4;", REFUSED),
    ("8.0", "sm_90", Kernel, ".shared .u32 x[4]; mul.lo.u32 r1, r2, x+4;", ACCEPTED),
    // Variables of a function with values.
    ("8.0", "sm_90", Kernel, ".global .u32 x = 5; .const .u32 y[] = {1, 2}; .global .u64 z = x;", ACCEPTED),
    ("8.0", "sm_90", Kernel, ".shared .u32 x = 5;", REFUSED),
    ("8.0", "sm_90", Kernel, ".local .u32 x = 5;", REFUSED),
    ("8.0", "sm_90", Kernel, ".shared .u32 x; .global .u64 y = x;", REFUSED),
    ("8.0", "sm_90", Kernel, ".global .u64 y = later;", REFUSED),
    ("8.0", "sm_90", Kernel, ".global .u32 x[];", REFUSED),
];

fn text(case: &Case) -> String {
    let (version, target, around, lines, _) = case;
    let head = format!(".version {version}\n.target {target}\n");
    match around {
        Bare => format!("{head}{lines}\n"),
        Header => format!("{head}.address_size 64\n{lines}\n"),
        Kernel => format!(
            "{head}.address_size 64\n.entry k() {{\n.reg .b16 h<9>; .reg .b32 r<10>; .reg .b64 d<9>; .reg .pred p<9>;\n\
             .reg .f32 f<9>; .reg .f64 e<9>;\n{lines}\nEND: ret; }}\n"
        ),
    }
}

fn name(case: &Case) -> String {
    format!("{} {} {:?}", case.0, case.1, case.3)
}

#[test]
fn modules_that_others_accept_or_refuse() {
    let mut wrong = Vec::new();
    for case in CASES {
        let module = resolve_module(&text(case));
        if module.has_errors() == case.4 {
            let messages: Vec<_> = module.diagnostics.iter().map(|found| found.message.to_string()).collect();
            wrong.push(format!("{}: {messages:?}", name(case)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas"]
fn ptxas_has_the_same_verdicts() {
    let folder = std::env::var_os("ORIOLE_ORACLE").map(PathBuf::from).expect("ORIOLE_ORACLE names a folder");
    let here = std::env::temp_dir().join(format!("oriole-verdicts-{}", std::process::id()));
    std::fs::create_dir_all(&here).unwrap();
    let input = here.join("in.ptx");
    let mut wrong = Vec::new();
    for case in CASES {
        std::fs::write(&input, text(case)).unwrap();
        // The last chip that is named counts.
        let words = case.1.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let target = words.rev().find(|word| word.starts_with("sm_")).unwrap_or("sm_90");
        let number: u32 = target.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        let chip = if number < 75 { "sm_75" } else { target };
        let mut command = Command::new(folder.join("ptxas"));
        let run = command.args(["-arch", chip, "-O0"]).arg(&input).arg("-o").arg(here.join("out"));
        let run = run.output().expect("ptxas runs");
        if run.status.success() != case.4 {
            wrong.push(format!("{}: {}", name(case), String::from_utf8_lossy(&run.stderr)));
        }
    }
    std::fs::remove_dir_all(&here).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
