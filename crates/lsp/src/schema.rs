//! The JSON schema of the settings, for editors.

use oriole_chip::Chip;
use oriole_options::{KNOBS, KnobKind, Options, Value as KnobValue};
use serde_json::{Value, json};

use crate::config::PROFILE_BUDGET;
use crate::kernel_profile::ProfileSettings;

/// The JSON schema of `oriole.toml` and of the client's settings.
pub fn schema() -> Value {
    let mut knobs = serde_json::Map::new();
    let defaults = Options::default();
    for knob in KNOBS {
        let mut row = match knob.kind {
            KnobKind::Bool => json!({ "type": "boolean" }),
            KnobKind::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
        };
        row["description"] = json!(knob.doc);
        row["default"] = match defaults.get(knob.name) {
            Some(KnobValue::Bool(value)) => json!(value),
            Some(KnobValue::Number(value)) => json!(value),
            None => Value::Null,
        };
        knobs.insert(knob.name.to_owned(), row);
    }
    let chips: Vec<String> =
        Chip::all().into_iter().filter(|chip| chip.is_supported()).map(|chip| chip.to_string()).collect();
    let flag = |text: &str| json!({ "type": "boolean", "default": true, "description": text });
    let common = json!({
        "targets": {
            "type": "array",
            "items": { "enum": chips },
            "description": "Chips to compile for; the first one is shown. Left out: what `.target` says."
        },
        "level": { "type": "integer", "minimum": 0, "maximum": 4, "default": 3, "description": "Optimization level." },
        "relocatable": {
            "type": "boolean",
            "default": false,
            "description": "Take files as parts of programs, as `compile -c` does: others define `.extern` functions."
        },
        "knobs": { "type": "object", "properties": knobs, "additionalProperties": false },
        "hints": {
            "type": "object",
            "properties": {
                "live": flag("Show how many registers are live."),
                "instructions": flag("Show how many machine instructions there are."),
                "stalls": flag("Show how many cycles they stall."),
                "spills": flag("Show spills.")
            },
            "additionalProperties": false
        }
    });
    let mut directory = common.clone();
    directory["path"] =
        json!({ "type": "string", "description": "The folder, relative to that of the file." });
    let mut all = common;
    all["background"] = flag("Compile in the background to report what code generation finds.");
    all["profile"] = json!({
        "type": "object",
        "properties": {
            "enable": {
                "type": "boolean", "default": false,
                "description": "Profile kernels in the background: findings and hot lines of a model of the GPU."
            },
            "budget": {
                "type": "integer", "minimum": PROFILE_BUDGET.start(), "maximum": PROFILE_BUDGET.end(),
                "default": ProfileSettings::default().budget.as_millis() as u64,
                "description": "Milliseconds that the profiles of a file may take."
            }
        },
        "additionalProperties": false
    });
    all["directory"] = json!({
        "type": "array",
        "items": {
            "type": "object", "properties": directory, "required": ["path"], "additionalProperties": false
        },
        "description": "Folders that differ."
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "oriole.toml",
        "type": "object",
        "properties": all,
        "additionalProperties": false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/oriole.schema.json");
        let wanted = format!("{}\n", serde_json::to_string_pretty(&schema()).expect("a schema is JSON"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(path, &wanted).expect("the schema can be written");
        }
        let found = std::fs::read_to_string(path).expect("the schema is there");
        assert_eq!(found, wanted, "run the test with UPDATE_EXPECT=1");
    }
}
