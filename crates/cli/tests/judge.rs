//! Vectors: what single PTX instructions must compute, the kernel that asks one, and the judge of its answer.
//!
//! A vector gives the bytes of 256 lanes in and out. Where PTX leaves a result free, a rule says so for the element:
//! anything, any NaN, or an interval of numbers.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A vector.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// Name, also of the instruction.
    pub name: String,
    /// Threads.
    lanes: usize,
    /// Registers of the body with their types.
    regs: serde_json::Map<String, serde_json::Value>,
    /// Values that are loaded before the body.
    #[serde(rename = "in")]
    pub inputs: Vec<Input>,
    /// Lines of PTX.
    body: Vec<String>,
    /// Values that are stored after it.
    pub out: Output,
    /// How it is judged.
    compare: Compare,
    /// The least PTX version that knows the instruction, where that is above [`VERSION`].
    version: Option<String>,
}

/// A register and its bytes by lane.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    reg: String,
    load: String,
    /// Hexadecimal, little-endian.
    pub bytes: String,
}

/// The result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    reg: String,
    store: String,
    /// Hexadecimal, little-endian.
    pub bytes: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compare {
    #[serde(rename = "type")]
    ty: String,
    mode: Mode,
    element_bytes: Option<usize>,
    #[serde(default)]
    rules: BTreeMap<usize, Rule>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Bit for bit.
    Bytes,
    /// Bit for bit, but zeros of both signs are equal.
    ValueEq,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Rule {
    /// `any` or `nan`.
    Word(String),
    /// Numbers from `lo` to `hi`; NaN too where `nan`.
    Interval {
        lo: String,
        hi: String,
        #[serde(default)]
        nan: bool,
    },
}

/// The PTX version of kernels that need no later one.
const VERSION: (u32, u32) = (8, 0);

/// All vectors of the project.
pub fn vectors() -> Vec<Vector> {
    let path = crate::support::data("conformance").join("vectors.jsonl.zst");
    let file = std::fs::File::open(&path).expect("the vectors are there");
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).expect("the vectors are compressed");
    let mut lines = String::new();
    std::io::Read::read_to_string(&mut decoder, &mut lines).expect("the vectors are text");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    lines.lines().map(read).collect()
}

impl Vector {
    /// The kernel that loads the inputs of each lane, runs the body and stores the result.
    pub fn kernel(&self) -> String {
        let version = self.version.as_deref().map_or(VERSION, |text| {
            let (major, minor) = text.split_once('.').expect("a version has two numbers");
            VERSION.max((major.parse().expect("a number"), minor.parse().expect("a number")))
        });
        let stride = |bytes: &str| bytes.len() / 2 / self.lanes;
        let strides = self.inputs.iter().map(|input| stride(&input.bytes)).chain([stride(&self.out.bytes)]);
        let last = self.inputs.len();
        let parameters: Vec<String> = (0..=last).map(|number| format!(".param .u64 p{number}")).collect();
        let mut ptx = format!(
            ".version {}.{}\n.target sm_90\n.address_size 64\n\n.visible .entry k({})\n{{\n  \
             .reg .b64 %a<{}>;\n  .reg .b64 %lane;\n  .reg .b32 %t<3>;\n",
            version.0,
            version.1,
            parameters.join(", "),
            last + 1
        );
        for (name, ty) in &self.regs {
            let _ = writeln!(ptx, "  .reg .{} {name};", ty.as_str().expect("a type is a text"));
        }
        ptx.push_str(
            "  mov.u32 %t0, %ctaid.x;\n  mov.u32 %t1, %ntid.x;\n  mov.u32 %t2, %tid.x;\n  \
             mad.lo.u32 %t0, %t0, %t1, %t2;\n  cvt.u64.u32 %lane, %t0;\n",
        );
        for (number, stride) in strides.enumerate() {
            let _ = writeln!(
                ptx,
                "  ld.param.u64 %a{number}, [p{number}];\n  mad.lo.u64 %a{number}, %lane, {stride}, %a{number};"
            );
        }
        for (number, input) in self.inputs.iter().enumerate() {
            let _ = writeln!(ptx, "  ld.global.{} {}, [%a{number}];", input.load, input.reg);
        }
        for line in &self.body {
            let _ = writeln!(ptx, "  {line}");
        }
        let _ = writeln!(ptx, "  st.global.{} [%a{last}], {};\n  ret;\n}}", self.out.store, self.out.reg);
        ptx
    }

    /// The launch record of the kernel: one lane a thread, two blocks.
    pub fn launch(&self) -> serde_json::Value {
        let mut arguments: Vec<serde_json::Value> = self
            .inputs
            .iter()
            .map(|input| serde_json::json!({ "buffer": { "bytes_hex": input.bytes } }))
            .collect();
        arguments.push(serde_json::json!({ "buffer": { "len": self.out.bytes.len() / 2, "fill": 0xaa } }));
        serde_json::json!({
            "name": self.name, "ptx_text": self.kernel(), "entry": "k", "args": arguments,
            "grid": [2, 1, 1], "block": [self.lanes / 2, 1, 1],
        })
    }

    /// The mistake in an answer: the first element that is, or nothing.
    pub fn judge(&self, got: &str) -> Option<String> {
        let (want, got) = (bytes(&self.out.bytes), bytes(got));
        if want.len() != got.len() {
            return Some(format!("{} bytes, {} expected", got.len(), want.len()));
        }
        let width = self.compare.width();
        let elements = want.chunks_exact(width).zip(got.chunks_exact(width)).enumerate();
        let wrong: Vec<String> = elements
            .filter(|&(index, (want, got))| !self.compare.holds(index, number(want), number(got)))
            .map(|(index, (want, got))| {
                format!("element {index} is {:#x}, expected {:#x}", number(got), number(want))
            })
            .collect();
        wrong.first().map(|first| format!("{} elements wrong, the first: {first}", wrong.len()))
    }
}

impl Compare {
    /// Bytes of an element.
    fn width(&self) -> usize {
        self.element_bytes.unwrap_or_else(|| {
            let digits: String = self.ty.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<usize>().expect("a type with a width") / 8
        })
    }

    fn sign(&self) -> u128 {
        1 << (8 * self.width() - 1)
    }

    /// The bits of infinity of the type, or of the floating type of its width.
    fn is_nan(&self, bits: u128) -> bool {
        let infinity: u128 = match (self.ty.as_str(), self.width()) {
            ("bf16", _) => 0x7f80,
            ("f16", _) | (_, 2) => 0x7c00,
            ("f32", _) | (_, 4) => 0x7f80_0000,
            ("f64", _) | (_, 8) => 0x7ff0 << 48,
            (ty, width) => panic!("{ty} of {width} bytes has no NaN"),
        };
        bits & (self.sign() - 1) > infinity
    }

    /// The place of a number in the order of numbers; minus zero is just below zero.
    fn order(&self, bits: u128) -> i128 {
        if bits & self.sign() != 0 { -((bits & (self.sign() - 1)) as i128) - 1 } else { bits as i128 }
    }

    fn holds(&self, index: usize, want: u128, got: u128) -> bool {
        match self.rules.get(&index) {
            None => want == got || (self.mode == Mode::ValueEq && (want | got) & (self.sign() - 1) == 0),
            Some(Rule::Word(word)) if word == "any" => true,
            Some(Rule::Word(word)) if word == "nan" => self.is_nan(got),
            Some(Rule::Word(word)) => panic!("there is no rule `{word}`"),
            Some(Rule::Interval { nan, .. }) if self.is_nan(got) => *nan,
            Some(Rule::Interval { lo, hi, .. }) => {
                let bounds = [lo, hi].map(|bound| self.order(number(&bytes(bound))));
                (bounds[0]..=bounds[1]).contains(&self.order(got))
            }
        }
    }
}

/// A little-endian number.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("a hexadecimal digit") as u8;
    hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn vector_of(ty: &str, mode: &str, rules: &str, out: &str) -> Vector {
    serde_json::from_str(&format!(
        r#"{{"name":"x","lanes":1,"regs":{{}},"in":[],"body":[],"out":{{"reg":"r","store":"b32","bytes":"{out}"}},
            "compare":{{"type":"{ty}","mode":"{mode}","rules":{rules}}}}}"#
    ))
    .expect("a vector")
}

#[test]
fn the_judge_knows_rules() {
    let exact = vector_of("f32", "bytes", "{}", "0000803f00000000");
    assert_eq!(exact.judge("0000803f00000000"), None);
    assert!(exact.judge("0000803f00000080").is_some(), "a zero of the other sign");
    assert!(exact.judge("0000803f").is_some(), "too short");
    let equal = vector_of("f32", "value_eq", "{}", "0000803f00000000");
    assert_eq!(equal.judge("0000803f00000080"), None);
    let rules = r#"{"0":"any","1":"nan","2":{"lo":"00000080","hi":"00000000"}}"#;
    let ruled = vector_of("f32", "bytes", rules, "000000000000c07f00000000");
    assert_eq!(ruled.judge("123456780100807f00000080"), None);
    assert!(ruled.judge("123456780000807f00000080").is_some(), "infinity is no NaN");
    assert!(ruled.judge("123456780100807f01000080").is_some(), "below the interval");
    assert!(ruled.judge("123456780100807f0000c07f").is_some(), "NaN in an interval without");
    let nan = vector_of("f16", "bytes", r#"{"0":{"lo":"003c","hi":"003c","nan":true}}"#, "003c");
    assert_eq!(nan.judge("ff7f"), None);
    assert_eq!(nan.judge("003c"), None);
    assert!(nan.judge("013c").is_some());
}
