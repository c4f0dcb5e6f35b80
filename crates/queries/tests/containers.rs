//! What a container says of variables and limits, in figures that a loader and other tools rely on.

use crate::support::cold;
use oriole_cubin::attribute::code::MAXREG_COUNT;
use oriole_cubin::{Cubin, Payload};

fn compiled(body: &str) -> Cubin {
    let compiled = cold(&format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}"));
    let cubin = compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    oriole_cubin::read(&cubin).expect("what is written can be read")
}

/// A kernel that stores what is loaded from a shared variable.
fn reads(name: &str, variable: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [p];\n\
         ld.shared.u32 %r1, [{variable}]; st.global.u32 [%rd1], %r1; ret; }}\n"
    )
}

/// Bytes and alignment of a kernel's shared memory, without the system's part.
fn shared(cubin: &Cubin, kernel: &str) -> Option<(u64, u64)> {
    let name = format!(".nv.shared.{kernel}");
    cubin.sections.iter().find(|it| it.name == name).map(|it| (it.size - 0x400, it.alignment))
}

/// A dynamic array of the module is there for all its kernels, whether they name it or not: what is static is rounded
/// up to its alignment. Figures of the reference.
#[test]
fn a_dynamic_array_shows_in_every_kernel() {
    let none = ".visible .entry none(.param .u64 p) { ret; }\n";
    let dynamic = ".extern .shared .align 16 .b8 dynamic[];\n";
    let fixed = ".shared .align 8 .b8 fixed[24];\n";
    let cubin = compiled(&format!("{dynamic}{fixed}{none}{}", reads("a", "fixed")));
    assert_eq!((shared(&cubin, "none"), shared(&cubin, "a")), (Some((0, 16)), Some((32, 16))));
    let cubin = compiled(&format!("{dynamic}{fixed}{none}{}", reads("a", "dynamic")));
    assert_eq!((shared(&cubin, "none"), shared(&cubin, "a")), (Some((0, 16)), Some((0, 16))));
    let cubin = compiled(&format!("{fixed}{none}{}", reads("a", "fixed")));
    assert_eq!((shared(&cubin, "none"), shared(&cubin, "a")), (None, Some((24, 8))));
}

/// Globals are in falling order of alignment, those of one alignment in order of declaration.
#[test]
fn globals_leave_no_gaps() {
    let cubin = compiled(
        ".visible .global .align 1 .b8 a[3] = {1, 2, 3};\n.visible .global .align 8 .b8 b[12] = {1};\n\
         .visible .global .align 1 .b8 c[5] = {1};\n.visible .global .align 4 .b8 d[6] = {1};\n",
    );
    let at = |name: &str| cubin.symbols.iter().find(|it| it.name == name).map(|it| it.value);
    assert_eq!(["b", "d", "a", "c"].map(at), [0, 12, 18, 21].map(Some));
}

/// The registers that a bound on threads leaves: each quarter of an SM has its share of the registers, so that warps
/// count in fours. Figures of the reference.
#[test]
fn bounds_on_threads_limit_registers() {
    let limit = |threads: u32, blocks: u32| {
        let cubin = compiled(&format!(
            ".visible .entry k(.param .u64 p) .maxntid {threads}, 1, 1 .minnctapersm {blocks} {{ ret; }}\n"
        ));
        cubin.kernels[0].info.iter().find(|it| it.code == MAXREG_COUNT).map(|it| it.payload.clone())
    };
    let rows = [(320, 1), (320, 2), (33, 16), (96, 5), (288, 2), (1024, 1), (1024, 2), (544, 1), (544, 2)];
    let expected = [168, 96, 64, 128, 96, 64, 32, 96, 56];
    assert_eq!(
        rows.map(|(threads, blocks)| limit(threads, blocks)),
        expected.map(|registers| Some(Payload::Half(registers)))
    );
}

/// An instruction reads an address by a constant operand whose offset has sixteen bits.
#[test]
fn addresses_behind_the_reach_of_constant_operands_are_refused() {
    let variables = |count: usize| (0..count).map(|at| format!(".global .b32 g{at};\n")).collect::<String>();
    let reads = |name: &str| {
        format!(
            ".visible .entry k(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [p];\n\
             ld.global.u32 %r1, [{name}]; st.global.u32 [%rd1], %r1; ret; }}\n"
        )
    };
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let codes = |count: usize, name: &str| -> Vec<String> {
        let compiled = cold(&format!("{head}{}{}", variables(count), reads(name)));
        compiled.diagnostics.iter().map(|diagnostic| diagnostic.code.to_string()).collect()
    };
    assert_eq!(codes(8192, "g8191"), [""; 0]);
    assert_eq!(codes(8193, "g5"), [""; 0]);
    assert_eq!(codes(8193, "g8192"), ["limit::size"]);
}
