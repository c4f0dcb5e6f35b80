//! The facade as a program sees it.

mod compile;
mod run;
mod session;
mod shared;

/// A kernel that adds a constant to a word.
fn kernel(name: &str, constant: u32) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p)\n{{\n    .reg .b32 %r<2>;\n    .reg .b64 %d<3>;\n    ld.param.u64 %d1, [p];\n    \
         cvta.to.global.u64 %d2, %d1;\n    ld.global.u32 %r1, [%d2];\n    add.u32 %r1, %r1, {constant};\n    \
         st.global.u32 [%d2], %r1;\n    ret;\n}}\n"
    )
}

/// A module of kernels for sm_90.
fn module(kernels: &[String]) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{}", kernels.concat())
}
