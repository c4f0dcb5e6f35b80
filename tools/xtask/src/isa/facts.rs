//! Reads the facts of a chip's instruction words (JSON, one record for each form): the bits that identify the form, the
//! places of the operands, the names of the values of modifier bits.

use crate::codegen::forms::{Token, What};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// One interpretation of a word.
#[derive(PartialEq)]
pub struct Fact {
    pub op: String,
    pub opcode: u16,
    pub uniform: bool,
    pub operands: Vec<OperandFact>,
    /// The modifier fields and the signs and suffixes of operands.
    pub choices: Vec<Choice>,
    pub always: Vec<Token>,
    pub mask: u128,
    pub value: u128,
    /// The value of the bits without a meaning.
    pub unused: u128,
    pub reuse: [u8; 3],
    pub write_barrier: bool,
    pub read_barrier: bool,
    /// A part that this reader does not carry over.
    pub odd: Vec<String>,
}

/// An operand: its template (`R`, `[R+I]`) and its fields.
#[derive(PartialEq)]
pub struct OperandFact {
    pub template: String,
    pub fields: Vec<FieldFact>,
}

/// The bits of a register or immediate.
#[derive(PartialEq)]
pub struct FieldFact {
    /// First bit and width of each piece, lowest first.
    pub pieces: Vec<(u8, u8)>,
    pub scale: u8,
    pub signed: bool,
    pub complement: bool,
    pub float: Option<String>,
    /// The condition under which the text omits it: nothing, `?`, `?0` or `?1`.
    pub left_out: &'static str,
}

/// Bits, and the tokens of each of their values. Values without a meaning are omitted.
#[derive(PartialEq)]
pub struct Choice {
    pub bits: Vec<u8>,
    pub values: BTreeMap<u32, Vec<Token>>,
}

/// Reads the file of one chip.
pub fn read(path: &str) -> Result<Vec<Fact>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let json: Value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let forms = json["forms"].as_array().ok_or_else(|| format!("{path}: no forms"))?;
    forms.iter().map(|form| fact(form).map_err(|error| format!("{path}: {error}: {form}"))).collect()
}

fn fact(form: &Value) -> Result<Fact, String> {
    let word = |value: &Value| match value.as_str().and_then(|text| text.strip_prefix("0x")) {
        Some(hex) => u128::from_str_radix(hex, 16).map_err(|_| format!("word {hex}")),
        None => Ok(0),
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut fact = Fact {
        op: form["mnemonic"].as_str().ok_or("no mnemonic")?.to_owned(),
        opcode: word(&form["opcode"])? as u16,
        uniform: form["guard"] == "UP",
        operands: Vec::new(),
        choices: Vec::new(),
        always: Vec::new(),
        mask: word(&form["fixed"]["mask"])?,
        value: word(&form["fixed"]["value"])?,
        unused: word(&form["ignored_default"])?,
        reuse: [255; 3],
        write_barrier: true,
        read_barrier: true,
        odd: Vec::new(),
    };
    for word in list(&form["always"]) {
        fact.always.push(token(word.as_str().ok_or("always")?, None)?);
    }
    for bit in list(&form["ctl_illegal_bits"]) {
        match bit.as_u64() {
            Some(110..=112) => fact.write_barrier = false,
            Some(113..=115) => fact.read_barrier = false,
            _ => {}
        }
    }
    if let Some(rows) = form["reuse"].as_object() {
        for (bit, operand) in rows {
            let bit: usize = bit.parse().map_err(|_| "reuse")?;
            let operand = operand.as_str().and_then(|text| text.split(':').next()?.parse().ok());
            if let (122..=124, Some(operand)) = (bit, operand) {
                fact.reuse[bit - 122] = operand;
            }
        }
    }
    for (index, operand) in list(&form["operands"]).iter().enumerate() {
        let template = operand["template"].as_str().ok_or("template")?.to_owned();
        let fields = list(&operand["fields"]);
        if fields.iter().any(|field| !field["const"].is_null()) {
            fact.odd.push(format!("operand {index} is fixed"));
        }
        let fields = fields.iter().map(field).collect::<Result<_, String>>()?;
        fact.operands.push(OperandFact { template, fields });
        for attribute in list(&operand["attrs"]) {
            choice(&attribute, Some(index as u8), &mut fact)?;
        }
    }
    for modifier in list(&form["modifiers"]) {
        choice(&modifier, None, &mut fact)?;
    }
    Ok(fact)
}

fn field(field: &Value) -> Result<FieldFact, String> {
    let mut pieces = Vec::new();
    for piece in field["segs"].as_array().into_iter().flatten() {
        let number = |n: usize| piece[n].as_u64().ok_or("a piece has two numbers");
        pieces.push((number(0)? as u8, number(1)? as u8));
    }
    let complement = field["weights"][0].as_i64().is_some_and(|weight| weight < 0);
    let left_out = match (&field["ones"], &field["zero"]) {
        (ones, _) if ones == "elided" && field["kind"] == "I" => "?1",
        (ones, _) if ones == "elided" => "?",
        (_, zero) if zero == "elided" && complement => "?",
        (_, zero) if zero == "elided" => "?0",
        _ => "",
    };
    Ok(FieldFact {
        pieces,
        scale: field["scale"].as_u64().unwrap_or(1) as u8,
        signed: field["signed"].as_bool().unwrap_or(false) && !complement,
        complement,
        float: field["float"].as_str().map(str::to_owned),
        left_out,
    })
}

fn choice(value: &Value, slot: Option<u8>, fact: &mut Fact) -> Result<(), String> {
    let bits: Vec<u8> =
        value["bits"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(|n| n as u8).collect();
    let rows = value["values"].as_object().ok_or("no values")?;
    // The reuse flags are handled elsewhere.
    if bits.iter().all(|&bit| bit >= 105) && !bits.is_empty() {
        return Ok(());
    }
    if bits.len() > 16 || value["partial"].as_bool() == Some(true) {
        fact.odd.push(format!("{} bits from {:?} on", bits.len(), bits.first()));
        return Ok(());
    }
    let mut values = BTreeMap::new();
    for (number, words) in rows {
        let words = words.as_str().ok_or("a value is words")?;
        if words.contains("INVALID") || words.contains("???") {
            continue;
        }
        let number: u32 = number.parse().map_err(|_| "a value has a number")?;
        let tokens = words.split(' ').filter(|word| !word.is_empty()).map(|word| token(word, slot));
        let mut tokens = tokens.collect::<Result<Vec<_>, _>>()?;
        tokens.sort();
        values.insert(number, tokens);
    }
    fact.choices.push(Choice { bits, values });
    Ok(())
}

/// A token in the notation of the facts: `FTZ`, `2:-`, `||`, `1:0.H1`, `].H1`, `=NAME`.
fn token(word: &str, slot: Option<u8>) -> Result<Token, String> {
    let (slot, rest) = match word.split_once(':') {
        Some((number, rest)) => (Some(number.parse().map_err(|_| format!("token `{word}`"))?), rest),
        None => (slot, word),
    };
    let what = match rest {
        "-" => What::Negate,
        "||" => What::Absolute,
        "~" | "!" => What::Invert,
        _ => {
            if let Some(name) = rest.strip_prefix('=') {
                What::Symbol(name.to_owned())
            } else if let Some(name) = rest.strip_prefix("].") {
                What::Suffix(None, name.to_owned())
            } else {
                match rest.split_once('.') {
                    Some((part, name)) if part.parse::<u8>().is_ok() => {
                        What::Suffix(part.parse().ok(), name.to_owned())
                    }
                    _ => What::Mod(rest.to_owned()),
                }
            }
        }
    };
    Ok(Token { slot, what })
}
