//! Printing, the heap and failed assertions.

use expect_test::{Expect, expect};
use oriole_interp::{Arg, Launch, Outcome, Program};

fn run(declarations: &str, body: &str) -> Outcome {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);
        .extern .func (.param .b64 r) malloc (.param .b64 s);
        .extern .func free (.param .b64 a);
        {declarations}
        .visible .entry k(.param .u64 p) {{ {body} }}"
    );
    let module = oriole_hir::resolve_module(&text);
    let errors: Vec<_> = module.diagnostics.iter().filter(|found| found.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut launch = Launch::new("k");
    launch.args = vec![Arg::Buffer(vec![0; 64])];
    oriole_interp::run(&Program::from_module(&module), &launch)
}

/// Prints with this format and these eight-byte values.
fn print(format: &str, values: &[u64], expected: Expect) {
    let bytes: Vec<String> = format.bytes().map(|byte| byte.to_string()).collect();
    let stores: String =
        (0..values.len()).map(|i| format!("st.local.u64 [v+{}], {};", 8 * i, values[i])).collect();
    let outcome = run(
        &format!(".global .b8 text[{}] = {{{}, 0}};", bytes.len() + 1, bytes.join(", ")),
        &format!(
            ".local .align 8 .b8 v[64]; .reg .b64 a, b; .reg .b32 n; {stores}
            mov.u64 a, text; cvta.global.u64 a, a; mov.u64 b, v; cvta.local.u64 b, b;
            {{ .param .b64 f; .param .b64 w; .param .b32 r;
            st.param.b64 [f], a; st.param.b64 [w], b; call (r), vprintf, (f, w); ld.param.b32 n, [r]; }}
            ld.param.u64 a, [p]; st.global.u32 [a], n;"
        ),
    );
    assert_eq!(outcome.error, None);
    let count = outcome.buffers[0].as_ref().expect("a buffer")[0];
    expected.assert_eq(&format!("{count} {:?}", outcome.output));
}

#[test]
fn formats() {
    print(
        "%d %u|%5d|%-5d|%05d|%+d\\n",
        &[0xffff_ffff_ffff_fffe, 7, 8],
        expect![[r#"6 ["-2 4294967295|    7|0    |00008|+0\\n"]"#]],
    );
    print("%lld %llx %p %%", &[u64::MAX, 255, 4096], expect![[r#"3 ["-1 ff 0x1000 %"]"#]]);
    print(
        "%f %.2e %g %g",
        &[1.5f64.to_bits(), 12345.678f64.to_bits(), 0.0001f64.to_bits(), 1e20f64.to_bits()],
        expect![[r#"4 ["1.500000 1.23e+04 0.0001 1e+20"]"#]],
    );
    print("%c%6.3f%*d", &[65, (-2.0f64).to_bits(), 4 | 9 << 32], expect![[r#"4 ["A-2.000   9"]"#]]);
}

#[test]
fn the_heap_gives_and_takes() {
    let outcome = run(
        "",
        ".reg .b64 a, b; .reg .b32 n;
        { .param .b64 s; .param .b64 r; st.param.b64 [s], 16; call (r), malloc, (s); ld.param.b64 a, [r]; }
        st.u32 [a+12], 77; ld.u32 n, [a+12]; ld.param.u64 b, [p]; st.global.u32 [b], n;
        { .param .b64 s; st.param.b64 [s], a; call free, (s); }
        ld.u32 n, [a+12];",
    );
    assert_eq!(outcome.buffers[0].as_ref().expect("a buffer")[0], 77);
    let fault = outcome.error.expect("a read of memory that was given back");
    expect!["read of 4 bytes at global address 0x7b010100000c is outside every object there at instruction 9 of `k`, block [0, 0, 0], thread [0, 0, 0]"].assert_eq(&fault.to_string());
}

#[test]
fn a_buffer_is_not_given_back() {
    let outcome =
        run("", ".reg .b64 a; ld.param.u64 a, [p]; { .param .b64 s; st.param.b64 [s], a; call free, (s); }");
    expect!["free of 0x7b0001000000, which malloc did not give at instruction 2 of `k`, block [0, 0, 0], thread [0, 0, 0]"].assert_eq(&outcome.error.expect("a fault").to_string());
    assert!(outcome.buffers[0].is_some());
}
