//! Routines of the compiler in a container: their callers, the number of copies, what the kernel's facts count.

use crate::support::cold;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_sass::{Op, Style};

/// The calls in each kernel of a module, and the facts that the calls bear on.
fn check(body: &str, expected: Expect) {
    let compiled = cold(&format!(".version 8.0\n.target sm_90\n.address_size 64\n{body}"));
    let cubin = compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let cubin = oriole_cubin::read(&cubin).expect("what is written can be read");
    let mut found = String::new();
    for kernel in &cubin.kernels {
        // Functions by their first byte; the kernel itself begins at 0.
        let mut functions = vec![(0, kernel.name.as_str())];
        functions
            .extend(kernel.functions.iter().map(|&at| (cubin.symbols[at].value, &*cubin.symbols[at].name)));
        functions.sort_unstable();
        let at = |address: u64| functions.iter().rfind(|(start, _)| *start <= address).expect("a function").1;
        found += &format!(
            "{}: {} registers, frame {}, stack {:?}\n",
            kernel.name,
            kernel.registers,
            kernel.frame_size,
            kernel.stack_size.expect("a stack size")
        );
        let mut counts: Vec<(String, usize)> = Vec::new();
        for (index, &word) in kernel.code.iter().enumerate() {
            let address = 16 * index as u64;
            let instruction = oriole_sass::decode(Chip::SM_90, word).expect("a word");
            let text =
                oriole_sass::text(Chip::SM_90, &instruction, Some(address), Style::Plain).expect("a text");
            let event = match instruction.op {
                Op::CALL => {
                    let target =
                        text.rsplit("0x").next().expect("a target").trim_end_matches([' ', ';', '`', ')']);
                    let target = u64::from_str_radix(target, 16).expect("a target");
                    assert!(
                        functions.iter().any(|(start, _)| *start == target),
                        "{text} leads into a function"
                    );
                    format!("  {} calls {}", at(address), at(target))
                }
                Op::RET => format!("  {} goes back: {text}", at(address)),
                Op::BSSY => format!("  {} parts and meets", at(address)),
                Op::STL | Op::LDL => format!("  {} uses the stack", at(address)),
                _ => continue,
            };
            match counts.iter_mut().find(|(known, _)| *known == event) {
                Some((_, count)) => *count += 1,
                None => counts.push((event, 1)),
            }
        }
        for (event, count) in counts {
            found += &format!("{event} x{count}\n");
        }
    }
    expected.assert_eq(&found);
}

const HEAD: &str = "(.param .u64 p) { .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;\n\
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.u64 %rd1, %rd1, %rd2;\n";

#[test]
fn two_divisions_share_a_routine() {
    check(
        &format!(
            ".visible .entry k{HEAD} ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4];\n\
             div.rn.f32 %f3, %f1, %f2; div.rn.f32 %f4, %f2, %f1; st.global.f32 [%rd1], %f3;\n\
             st.global.f32 [%rd1+4], %f4; ret; }}\n\
             .visible .entry plain{HEAD} st.global.u32 [%rd1], %r1; ret; }}\n"
        ),
        expect![[r#"
            plain: 6 registers, frame 0, stack 0
            k: 18 registers, frame 0, stack 0
              k parts and meets x3
              k calls $k$oriole.divide_f32 x2
              $k$oriole.divide_f32 parts and meets x1
              $k$oriole.divide_f32 goes back: RET.REL.NODEC R2 0x0 x1
        "#]],
    );
}

#[test]
fn quotient_and_remainder_are_one_call() {
    check(
        &format!(
            ".visible .entry k{HEAD} ld.global.u64 %rd3, [%rd1]; ld.global.u64 %rd4, [%rd1+8];\n\
             div.u64 %rd5, %rd3, %rd4; rem.u64 %rd6, %rd3, %rd4; div.s64 %rd7, %rd3, %rd4;\n\
             st.global.u64 [%rd1], %rd5; add.u64 %rd6, %rd6, %rd7; st.global.u64 [%rd1+8], %rd6; ret; }}\n"
        ),
        expect![[r#"
            k: 26 registers, frame 0, stack 0
              k parts and meets x2
              k calls $k$oriole.divide_u64 x1
              k calls $k$oriole.divide_s64 x1
              $k$oriole.divide_u64 goes back: RET.REL.NODEC R2 0x0 x1
              $k$oriole.divide_s64 goes back: RET.REL.NODEC R2 0x0 x1
        "#]],
    );
}

#[test]
fn a_recursive_callee_brings_its_routine() {
    check(
        &format!(
            ".func (.param .b64 r) f(.param .b64 x, .param .b32 n) {{ .reg .b32 %r<3>; .reg .f64 %d<4>; .reg .pred %p<2>;\n\
             ld.param.f64 %d1, [x]; ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra end; sub.u32 %r2, %r1, 1;\n\
             {{ .param .b64 a; .param .b32 b; .param .b64 c; st.param.f64 [a], %d1; st.param.b32 [b], %r2;\n\
             call (c), f, (a, b); ld.param.f64 %d2, [c]; }}\n\
             div.rn.f64 %d1, %d2, %d1; end: st.param.f64 [r], %d1; ret; }}\n\
             .visible .entry k{HEAD} ld.global.f64 %d1, [%rd1];\n\
             {{ .param .b64 a; .param .b32 b; .param .b64 c; st.param.f64 [a], %d1; st.param.b32 [b], %r1;\n\
             call (c), f, (a, b); ld.param.f64 %d2, [c]; }}\n\
             sqrt.rn.f64 %d2, %d2; st.global.f64 [%rd1], %d2; ret; }}\n"
        ),
        expect![[r#"
            k: 24 registers, frame 0, stack 32
              k calls $k$f x1
              k parts and meets x1
              k calls $k$oriole.root_f64 x1
              $k$f parts and meets x2
              $k$f uses the stack x12
              $k$f calls $k$f x1
              $k$f goes back: RET.REL.NODEC R20 0x0 x1
              $k$f calls $k$oriole.divide_f64 x1
              $k$oriole.root_f64 parts and meets x1
              $k$oriole.root_f64 goes back: RET.REL.NODEC R2 0x0 x1
              $k$oriole.divide_f64 parts and meets x1
              $k$oriole.divide_f64 goes back: RET.REL.NODEC R2 0x0 x1
        "#]],
    );
}
