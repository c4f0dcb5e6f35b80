//! One compile: result, diagnostics, effect of options.

use std::num::NonZeroUsize;

use expect_test::expect;
use oriole::{Options, Style, check, compile};

use crate::{kernel, module};

#[test]
fn a_kernel_and_what_it_needs() {
    let cubin = compile(&module(&[kernel("k", 3)]), &Options::new()).unwrap();
    assert_eq!(&cubin.bytes[..4], b"\x7fELF");
    assert!(cubin.warnings.is_empty());
    expect![[r#"
        [
            Resources {
                name: "k",
                is_kernel: true,
                registers: 6,
                frame_bytes: 0,
                stack_bytes: Some(
                    0,
                ),
                spill_stores: 0,
                spill_loads: 0,
                shared_bytes: 0,
                barriers: 0,
                headers: [
                    0,
                    0,
                    0,
                ],
            },
        ]
    "#]]
    .assert_debug_eq(&cubin.functions);
}

#[test]
fn spills_are_counted() {
    // Sixty values that live across a barrier, in the fewest registers that a kernel may have.
    let mut body = String::new();
    for at in 0..60 {
        body += &format!("    ld.global.u32 %r{at}, [%d2+{}];\n", 4 * at);
    }
    body += "    bar.sync 0;\n";
    for at in 0..60 {
        body += &format!("    st.global.u32 [%d2+{}], %r{at};\n", 4 * (59 - at));
    }
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n    .reg .b32 %r<60>;\n    \
         .reg .b64 %d<3>;\n    ld.param.u64 %d1, [p];\n    cvta.to.global.u64 %d2, %d1;\n{body}    ret;\n}}\n"
    );
    let tight = Options::new().with_knob("maxrregcount", "24").unwrap();
    let function = &compile(&text, &tight).unwrap().functions[0];
    assert!(function.registers <= 24 && function.barriers == 1, "{function:?}");
    assert!(function.spill_stores >= 4 * 36 && function.spill_loads >= 4 * 36, "{function:?}");
    assert!(function.frame_bytes >= 4 * 36, "{function:?}");
    assert_eq!(compile(&text, &Options::new()).unwrap().functions[0].spill_stores, 0);
}

#[test]
fn what_is_wrong_has_a_place() {
    let text = module(&[kernel("k", 3)]).replace("add.u32", "add.u33");
    let report = compile(&text, &Options::new()).unwrap_err();
    assert!(report.has_errors());
    expect![[r#"
        11:8: error[ptx::invalid-type]: the type `.u33` is not possible here, did you mean `.u32`?; expected `.f32`, `.f64`, `.f32x2`, `.f16`, `.f16x2`, `.bf16`, `.bf16x2`, `.e4m3x4`, `.e5m2x4`, `.u16`, `.u32`, `.u64`, `.s16`, `.s32`, `.s64`, `.u16x2`, `.s16x2`, `.u8x4` or `.s8x4`
    "#]].assert_eq(&report.to_string());
    expect![[r#"
        error[ptx::invalid-type]: the type `.u33` is not possible here, did you mean `.u32`?; expected `.f32`, `.f64`, `.f32x2`, `.f16`, `.f16x2`, `.bf16`, `.bf16x2`, `.e4m3x4`, `.e5m2x4`, `.u16`, `.u32`, `.u64`, `.s16`, `.s32`, `.s64`, `.u16x2`, `.s16x2`, `.u8x4` or `.s8x4`
          --> k.ptx:11:8
           |
        11 |     add.u33 %r1, %r1, 3;
           |        ^^^^

    "#]].assert_eq(&report.rendered("k.ptx", Style::Plain));
    assert_eq!(check(&text, &Options::new()), report);
    assert!(report.rendered("k.ptx", Style::Coloured).contains("\u{1b}["));
}

#[test]
fn options_are_checked_when_they_are_given() {
    let says = |result: Result<Options, oriole::OptionError>| result.unwrap_err().to_string();
    expect!["no target is called `sm_1`; sm_70, sm_72, sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_103, sm_103f, sm_103a, sm_110, sm_110f, sm_110a, sm_120, sm_120f, sm_120a, sm_121, sm_121f, sm_121a can be compiled for"].assert_eq(&says(Options::new().for_chip("sm_1")));
    expect!["optimization level 5: 0 to 4 are known"].assert_eq(&says(Options::new().at_level(5)));
    expect!["there is no knob `nope`"].assert_eq(&says(Options::new().with_knob("nope", "1")));
    expect!["there is no knob `fmad`"].assert_eq(&says(Options::new().with_switch("fmad")));
}

#[test]
fn a_chip_that_cannot_replace_the_target_is_refused() {
    let text = module(&[kernel("k", 3)]);
    let older = Options::new().for_chip("sm_80").unwrap();
    assert!(check(&text, &older).has_errors() && compile(&text, &older).is_err());
    let newer = Options::new().for_chip("sm_100").unwrap();
    assert!(!check(&text, &newer).has_errors());
    assert_ne!(compile(&text, &newer).unwrap().bytes, compile(&text, &Options::new()).unwrap().bytes);
}

#[test]
fn a_module_of_a_family_is_for_its_chips() {
    let text = module(&[kernel("k", 3)]).replace(".version 8.0", ".version 8.8").replace("sm_90", "sm_100f");
    let bytes = |name: &str| compile(&text, &Options::new().for_chip(name).unwrap()).map(|cubin| cubin.bytes);
    assert_eq!(bytes("sm_100f").unwrap(), compile(&text, &Options::new()).unwrap().bytes);
    for name in ["sm_100", "sm_100a", "sm_103", "sm_103f", "sm_103a"] {
        assert!(bytes(name).is_ok(), "{name}");
    }
    for name in ["sm_90a", "sm_110f", "sm_120f", "sm_121f"] {
        let options = Options::new().for_chip(name).unwrap();
        assert!(bytes(name).is_err() && check(&text, &options).has_errors(), "{name}");
    }
    // The declared shared memory of a block is checked against the requested chip.
    let shared = "{\n    .shared .b8 s[49153];\n";
    let text = text.replacen("{\n", shared, 1);
    assert!(check(&text, &Options::new()).has_errors());
    for (name, refused) in [("sm_103f", true), ("sm_103a", false)] {
        let options = Options::new().for_chip(name).unwrap();
        assert_eq!(
            (check(&text, &options).has_errors(), compile(&text, &options).is_err()),
            (refused, refused)
        );
    }
}

#[test]
fn threads_change_no_byte() {
    let text = module(&(0..20).map(|at| kernel(&format!("k{at}"), at)).collect::<Vec<_>>());
    let many = Options::new().on_threads(NonZeroUsize::new(8).unwrap());
    assert_eq!(compile(&text, &many), compile(&text, &Options::new()));
}
