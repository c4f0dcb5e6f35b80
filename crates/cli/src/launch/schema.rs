//! The JSON schema of launch records, made of the types that read them, for editors and other programs.
//!
//! It is here, and in tests alone, so that the file in `docs` agrees with the parser. The parser says which
//! fields go together: a schema that said it too would report errors less clearly.

use super::elements::{ELEMENTS, Element, Fill};
use super::record::Record;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A value as records write it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what is read by hand")]
pub enum Number {
    /// A number in decimal.
    Number(f64),
    /// Decimal, or bits in hexadecimal, or `nan`, `inf` or `-inf`.
    Text(String),
}

/// The value of `fill`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what is read by hand")]
pub enum ByteOrFill {
    /// With `len`.
    Byte(u8),
    /// With `type`.
    Fill(Fill),
}

impl JsonSchema for Element {
    fn schema_name() -> Cow<'static, str> {
        "Type".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let plain = ELEMENTS.iter().map(|element| element.name().to_owned());
        let dotted = ELEMENTS.iter().map(|element| format!(".{}", element.name()));
        json_schema!({ "description": "A fundamental type of PTX.", "enum": plain.chain(dotted).collect::<Vec<_>>() })
    }
}

/// The schema in `docs` is the one of the parser; `UPDATE_EXPECT=1` writes it.
#[test]
fn the_schema_of_launch_records_is_that_of_the_parser() {
    let schema = schemars::schema_for!(Record);
    let text = serde_json::to_string_pretty(&schema).expect("a schema") + "\n";
    expect_test::expect_file!["../../../../docs/launch-record.schema.json"].assert_eq(&text);
}
