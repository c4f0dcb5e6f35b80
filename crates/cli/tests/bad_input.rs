//! Broken input: whatever it is, the program ends with status 1 and the line of the mistake, leaves no file, and neither
//! panics nor hangs.

use crate::support::{names, oriole, say, scratch, text};
use std::time::Duration;

/// The head of a module.
const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A kernel whose body begins in line 6, after the registers.
fn body(lines: &str) -> Vec<u8> {
    let registers = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f<4>;";
    format!("{HEAD}.visible .entry k(.param .u64 p) {{\n{registers}\n{lines}\nret;\n}}\n").into_bytes()
}

/// A case: name, text, line of the first error, code of the first error.
type Case = (&'static str, Vec<u8>, u32, &'static str);

fn cases() -> Vec<Case> {
    let deep = |open: &str, close: &str| body(&format!("{}{}", open.repeat(20_000), close.repeat(20_000)));
    let expression = format!("mov.u32 %r1, {}1{};", "(".repeat(20_000), ")".repeat(20_000));
    let mut garbage = HEAD.as_bytes().to_vec();
    garbage.extend((0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 95 + 32));
    vec![
        ("empty", Vec::new(), 1, "ptx::missing-version"),
        ("blank", b"\n\n  \n".to_vec(), 1, "ptx::missing-version"),
        ("nul", format!("{HEAD}\0\0\0\n").into_bytes(), 4, "ptx::invalid-character"),
        ("not_text", [HEAD.as_bytes(), b"// \xff\xfe\n"].concat(), 4, "ptx::not-utf8"),
        ("garbage", garbage, 4, "ptx::"),
        ("nesting", deep("{", "}"), 6, "limit::nesting"),
        ("parentheses", body(&expression), 6, "limit::nesting"),
        ("comment", body("add.u32 %r1, %r1, 1; /* no end"), 6, "ptx::unterminated-comment"),
        ("string", body(".pragma \"no end;"), 6, "ptx::unterminated-string"),
        ("no_end", format!("{HEAD}.entry k() {{\nret;\n").into_bytes(), 5, "ptx::unterminated-body"),
        ("wrong_type", body("\nadd.f32 %f1, %f2, %d1;"), 7, "ptx::type-mismatch"),
        ("unknown_register", body("add.u32 %r1, %r2, %nobody;"), 6, "ptx::unknown-name"),
        ("unknown_label", body("\n\nbra nowhere;"), 8, "ptx::unknown-name"),
        ("unknown_instruction", body("frobnicate.u32 %r1, %r2;"), 6, "ptx::unknown-instruction"),
        ("duplicate_label", body("here:\nadd.u32 %r1, %r1, 1;\nhere:"), 8, "ptx::duplicate-name"),
        ("operands", body("add.u32 %r1, %r2;"), 6, "ptx::operand-count"),
        ("modifier", body("add.rn.u32 %r1, %r2, %r3;"), 6, "ptx::"),
        ("predicate", body("@%r1 bra end;\nend:"), 6, "ptx::invalid-predicate"),
        ("number", body("mov.u32 %r1, 0x;"), 6, "ptx::invalid-number"),
        ("version", format!(".version 99.0\n{}", &HEAD[13..]).into_bytes(), 1, "ptx::unsupported-version"),
        ("target", HEAD.replace("sm_90", "sm_1").into_bytes(), 2, "target::"),
        ("initializer", format!("{HEAD}.global .b8 g[3000000000] = {{1}};\n").into_bytes(), 1, "limit::size"),
        ("unsupported", body("\nalloca.u64 %d1, 16, 24;"), 7, "oriole::not-supported"),
    ]
}

#[test]
fn broken_input_is_told_apart() {
    let mut wrong = Vec::new();
    let mut slowest = Duration::ZERO;
    let cases = cases();
    for (name, bytes, line, code) in &cases {
        let folder = scratch();
        let path = folder.path().join(format!("{name}.ptx"));
        std::fs::write(&path, bytes).expect("a temporary file");
        let path = text(&path);
        // A check need not refuse code that only a compile can refuse.
        let commands: &[&str] = if code.starts_with("oriole::") || *code == "limit::size" {
            &["compile"]
        } else {
            &["check", "compile"]
        };
        for command in commands {
            let run = oriole(&[*command, path.as_str()]);
            slowest = slowest.max(run.took);
            let shown: String = run.err.chars().take(400).collect();
            if run.status != Some(1) {
                wrong.push(format!("{command} {name}: ends with {:?}: {shown}", run.status));
            }
            if run.err.contains("panicked") {
                wrong.push(format!("{command} {name}: panics: {shown}"));
            }
            let first = run.err.find("error").map_or("", |at| &run.err[at..]);
            let place = first.split_once(&format!("{path}:")).map_or("", |(_, rest)| rest);
            let at: String = place.chars().take_while(char::is_ascii_digit).collect();
            if at != line.to_string() || !run.err.contains(code) {
                wrong.push(format!("{command} {name}: expected {code} in line {line}: {shown}"));
            }
            if names(folder.path()) != [format!("{name}.ptx")] {
                wrong.push(format!("{command} {name}: leaves {:?}", names(folder.path())));
            }
        }
    }
    say(&format!("{} broken inputs, the slowest took {:.2} s", cases.len(), slowest.as_secs_f64()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(slowest < Duration::from_secs(60), "{slowest:?}");
}
