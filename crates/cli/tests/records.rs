//! Launch records that people write: typed buffers, rules, expectations and tolerances, and what is said where one is wrong.

use crate::support::{oriole, scratch, text};
use serde_json::{Value, json};

/// `out[i] = 2 * in[i]` for 32 f32 values.
const TWICE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 in, .param .u64 out)
{
  .reg .b32 %t;
  .reg .f32 %x;
  .reg .b64 %i, %a, %b;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %i, %t, 4;
  ld.param.u64 %a, [in];
  ld.param.u64 %b, [out];
  add.u64 %a, %a, %i;
  add.u64 %b, %b, %i;
  ld.global.f32 %x, [%a];
  add.f32 %x, %x, %x;
  st.global.f32 [%b], %x;
  ret;
}
";

/// Leaves its buffers as they are.
const NOTHING: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing(.param .u64 a)
{
  ret;
}
";

/// A record of `twice` with these fields on top.
fn twice(fields: &Value) -> Value {
    let mut record = json!({
        "name": "twice", "ptx_text": TWICE, "entry": "twice", "grid": [1, 1, 1], "block": [32, 1, 1],
        "args": [
            { "buffer": { "type": "f32", "iota": { "step": 0.25, "count": 32 } } },
            { "buffer": { "type": "f32", "fill": { "value": "nan", "count": 32 } } },
        ],
    });
    for (key, value) in fields.as_object().expect("fields") {
        record[key] = value.clone();
    }
    record
}

/// Runs the text of a file of records: exit status, standard output, standard error without the folder.
fn run(records: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let folder = scratch();
    let path = folder.path().join("case.json");
    std::fs::write(&path, records).expect("a temporary file");
    let path = text(&path);
    let mut arguments = vec!["run", path.as_str()];
    arguments.extend(if options.is_empty() { &["--on", "interp"] } else { options });
    let run = oriole(&arguments);
    (run.status, run.out, run.err.replace(&path, "case.json"))
}

/// A typed record is right in the interpreter and the simulator, and wrong with the element, both numbers and the type.
#[test]
fn typed_expectations_are_compared() {
    let wanted = json!({ "1": { "type": "f32", "iota": { "step": 0.5, "count": 32 } } });
    let right = twice(&json!({ "expect": wanted })).to_string();
    for machine in ["interp", "sim"] {
        let (status, out, err) = run(&right, &["--on", machine]);
        assert_eq!((status, out.as_str()), (Some(0), "twice: right\n"), "{machine}: {err}");
    }
    let mut values: Vec<Value> = (0..32).map(|index| json!(f64::from(index) * 0.5)).collect();
    values[3] = json!(1.25);
    values[9] = json!("inf");
    let wrong = twice(&json!({ "expect": { "1": { "type": "f32", "values": values } } })).to_string();
    let (status, out, _) = run(&wrong, &[]);
    assert_eq!(status, Some(1), "{out}");
    assert_eq!(
        out,
        "twice: wrong: argument 1: element 3 differs: expected 1.25, found 1.5, of type f32; 2 of 32 differ\n"
    );
    // Within a tolerance the one is right; nothing finite is near an infinity.
    values[9] = json!(4.5);
    let near = |values: &[Value]| {
        let expected = json!({ "type": "f32", "values": values, "tolerance": { "rel": 0.25 } });
        run(&twice(&json!({ "expect": { "1": expected } })).to_string(), &[])
    };
    assert_eq!(near(&values).1, "twice: right\n");
    values[9] = json!("inf");
    assert!(near(&values).1.contains("element 9 differs: expected inf, found 4.5"), "{}", near(&values).1);
}

/// Nothing is right that nothing was expected of, and what the kernel wrote is printed in its type.
#[test]
fn results_are_printed_in_their_type() {
    let (status, out, err) = run(&twice(&json!({})).to_string(), &[]);
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(
        out,
        "twice: ran, nothing to compare with\n  argument 1, f32: 0.0 0.5 1.0 1.5 2.0 2.5 3.0 3.5 4.0 4.5 5.0 5.5 6.0 6.5 7.0 7.5 ... (32 in all)\n"
    );
    assert_eq!(err, "0 of 0 right; 1 ran, nothing to compare with\n");
    let (_, out, _) = run(&twice(&json!({})).to_string(), &["--on", "interp", "--json"]);
    let line: Value = serde_json::from_str(&out).expect("a line is an object");
    assert_eq!(line["verdict"], "ran");
    assert_eq!(line["args"][1]["type"], "f32");
    assert_eq!(line["args"][1]["values"][31], 15.5);
}

/// A buffer of each type, as text and as the bytes it must be.
#[test]
fn all_types_have_their_bytes() {
    let cases = [
        (json!({ "type": "u8", "values": [1, 255] }), "01ff"),
        (json!({ "type": "s8", "values": [-1, 127] }), "ff7f"),
        (json!({ "type": "u16", "iota": { "start": 65534, "step": 1, "count": 2 } }), "feffffff"),
        (json!({ "type": "s16", "iota": { "start": 1, "step": -2, "count": 3 } }), "0100fffffdff"),
        (json!({ "type": "u32", "values": ["0xdeadbeef"] }), "efbeadde"),
        (json!({ "type": "s32", "fill": { "value": -2, "count": 2 } }), "fefffffffeffffff"),
        (json!({ "type": "u64", "values": [u64::MAX] }), "ffffffffffffffff"),
        (json!({ "type": "s64", "values": [i64::MIN] }), "0000000000000080"),
        (json!({ "type": "b8", "values": ["0x0f"] }), "0f"),
        (json!({ "type": "b16", "values": ["0x1234", -1] }), "3412ffff"),
        (json!({ "type": "b32", "values": ["0x12345678"] }), "78563412"),
        (json!({ "type": "b64", "values": ["0x1"] }), "0100000000000000"),
        (json!({ "type": "b128", "values": ["0x1"] }), "01000000000000000000000000000000"),
        (json!({ "type": "f16", "values": [1, -0.5, "inf"] }), "003c00b8007c"),
        (json!({ "type": "bf16", "values": [1, "-inf", "nan"] }), "803f80ffc07f"),
        (json!({ "type": "f32", "values": [0.1, "0x7fc00001"] }), "cdcccc3d0100c07f"),
        (json!({ "type": "f64", "values": [0.1] }), "9a9999999999b93f"),
        (json!({ "type": "u8", "random": { "seed": 7, "low": 0, "high": 255, "count": 4 } }), "6304e695"),
        (
            json!({ "type": "f32", "random": { "seed": 7, "low": -1, "high": 1, "count": 2 } }),
            "f1a061be866777bf",
        ),
    ];
    let records = cases.iter().map(|(buffer, bytes)| {
        let record = json!({
            "name": buffer["type"], "ptx_text": NOTHING, "entry": "nothing", "grid": [1, 1, 1], "block": [1, 1, 1],
            "args": [{ "buffer": buffer }], "expect": { "0": { "bytes_hex": bytes } },
        });
        format!("{record}\n")
    });
    let (status, out, err) = run(&records.collect::<String>(), &[]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert_eq!(out.lines().filter(|line| line.ends_with(": right")).count(), cases.len(), "{out}");
}

/// A mistake is reported with its line and its place, at once and without a panic.
#[test]
fn mistakes_have_a_place() {
    let buffer = |buffer: Value| twice(&json!({ "args": [{ "buffer": buffer }] })).to_string();
    let expect = |expected: Value| twice(&json!({ "expect": { "1": expected } })).to_string();
    let cases = [
        (
            buffer(json!({ "type": "f33", "values": [] })),
            "case.json:1: args[0].buffer.type: `f33` is no type",
        ),
        (
            buffer(json!({ "type": "u8", "values": [1, 2, 256] })),
            "args[0].buffer.values[2]: `256` is no value of type u8",
        ),
        (buffer(json!({ "type": "u8", "valeus": [1] })), "args[0].buffer.valeus: unknown field `valeus`"),
        (buffer(json!({ "type": "u8" })), "args[0].buffer: give `bytes_hex`"),
        (buffer(json!({ "values": [1] })), "args[0].buffer: give `bytes_hex`"),
        (
            buffer(json!({ "len": 4, "fill": { "value": 1, "count": 4 } })),
            "args[0].buffer.fill: beside `len`",
        ),
        (buffer(json!({ "type": "u32", "fill": 1 })), "args[0].buffer.fill: "),
        (
            buffer(json!({ "type": "u32", "iota": { "count": u64::MAX } })),
            "args[0].buffer.iota: 18446744073709551615 of type u32 are more than",
        ),
        (
            buffer(json!({ "type": "u8", "iota": { "count": 300 } })),
            "args[0].buffer.iota: element 256 is no value of type u8",
        ),
        (
            buffer(json!({ "type": "f32", "random": { "seed": 1, "low": 2, "high": 1, "count": 1 } })),
            "args[0].buffer.random: `low` is not below",
        ),
        (
            buffer(json!({ "type": "f32", "values": [], "tolerance": { "abs": 1 } })),
            "args[0].buffer.tolerance: ",
        ),
        (buffer(json!({ "bytes_hex": "abc" })), "args[0].buffer.bytes_hex: odd number"),
        (
            twice(&json!({ "args": [{ "scalar": { "type": "s8", "value": 128 } }] })).to_string(),
            "args[0].scalar.value: `128` is no value of type s8",
        ),
        (twice(&json!({ "args": [{ "alias": 3 }] })).to_string(), "args[0].alias: "),
        (expect(json!({ "type": "f32", "values": [1] })), "expect.1: 4 bytes, and the buffer has 128"),
        (
            expect(json!({ "type": "u32", "iota": { "count": 32 }, "tolerance": { "abs": 1 } })),
            "expect.1: u32 is no type to compare with a tolerance",
        ),
        (
            expect(json!({ "type": "f32", "iota": { "count": 32 }, "tolerance": { "abs": -1 } })),
            "expect.1: a tolerance is not below zero",
        ),
        (
            twice(&json!({ "compare": { "1": { "type": "f32", "abs": 1 } } })).to_string(),
            "compare.1: nothing is expected of this argument",
        ),
        (twice(&json!({ "expect": { "7": { "bytes_hex": "" } } })).to_string(), "expect.7: `7` names no"),
        ("{\n  \"entry\": \"k\",\n  \"grid\": [1, 1],\n}".to_owned(), "case.json:4: "),
        (
            format!("{}\n\n{}", twice(&json!({})), "{ \"entry\": \"k\",\n \"grid\": [1, 1] }"),
            "case.json:4: grid: ",
        ),
        ("{\n  \"entry\": ".to_owned() + &"[".repeat(100_000), "case.json:2: "),
    ];
    for (record, message) in cases {
        let (status, out, err) = run(&record, &[]);
        assert_eq!(status, Some(2), "{message}: {out}{err}");
        assert!(err.contains(message), "{message} is missing in:\n{err}");
    }
}
