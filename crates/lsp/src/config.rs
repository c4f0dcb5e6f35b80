//! Configuration: `oriole.toml` next to the sources, and the settings of the client, in one format.
//!
//! The nearest `oriole.toml` above a file applies; its `directory` tables override parts of it for folders below.
//! Settings of the client override both. An unknown key, or a value of another kind, is a warning and no error, and the
//! other settings apply: `settings_reader.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oriole_chip::Chip;
use oriole_ide::{HintOptions, Settings};
use oriole_options::{KNOBS, KnobKind, Linking, Options, Value as KnobValue};
use serde_json::{Value, json};

use crate::Environment;
use crate::settings_reader::Reader;

/// Name of the file.
pub(crate) const FILE: &str = "oriole.toml";

/// The enabled inlay hints. A missing one is inherited, finally `true`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintConfig {
    /// Live registers.
    pub live: Option<bool>,
    /// Machine instructions.
    pub instructions: Option<bool>,
    /// Stall cycles.
    pub stalls: Option<bool>,
    /// Spills.
    pub spills: Option<bool>,
}

/// The settings of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryConfig {
    /// The folder, relative to that of the file.
    pub path: String,
    /// Chips; the first one is the default for display.
    pub targets: Option<Vec<String>>,
    /// Optimization level.
    pub level: Option<u8>,
    /// Whether files are parts of programs, as `compile -c` takes them.
    pub relocatable: Option<bool>,
    /// Knobs by name.
    pub knobs: BTreeMap<String, Value>,
    /// Hints.
    pub hints: HintConfig,
}

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Chips to compile for, the first one is the default for display; empty or left out: the file's `.target`.
    pub targets: Option<Vec<String>>,
    /// Optimization level 0 to 4.
    pub level: Option<u8>,
    /// Whether files are parts of programs, as `compile -c` takes them: `.extern` functions are for a linker to find.
    pub relocatable: Option<bool>,
    /// Knobs by name.
    pub knobs: BTreeMap<String, Value>,
    /// Hints.
    pub hints: HintConfig,
    /// Whether code is compiled in the background to report diagnostics of code generation.
    pub background: Option<bool>,
    /// Folders with other settings.
    pub directory: Vec<DirectoryConfig>,
}

/// The effective configuration of a file, and errors of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ruling {
    /// The key of the settings: files with equal keys share results.
    pub root: String,
    pub settings: Settings,
    pub hints: HintOptions,
    pub background: bool,
    pub warnings: Vec<String>,
}

fn lay(
    targets: &Option<Vec<String>>,
    (level, relocatable): (Option<u8>, Option<bool>),
    knobs: &BTreeMap<String, Value>,
    hints: &HintConfig,
    ruling: &mut Ruling,
) {
    if let Some(targets) = targets {
        ruling.settings.targets.clear();
        for name in targets {
            match name.parse::<Chip>() {
                Ok(chip) if chip.is_supported() => ruling.settings.targets.push(chip),
                Ok(chip) => ruling.warnings.push(format!("target `{chip}` is not supported yet")),
                Err(error) => ruling.warnings.push(error.to_string()),
            }
        }
    }
    match level {
        Some(level @ 0..=4) => ruling.settings.options.level = level,
        Some(level) => ruling.warnings.push(format!("there is no level {level}; levels are 0 to 4")),
        None => {}
    }
    if let Some(relocatable) = relocatable {
        let options = &mut ruling.settings.options;
        options.linking = if relocatable { Linking::Relocatable } else { Linking::Whole };
    }
    for (name, value) in knobs {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if let Err(error) = ruling.settings.options.set(name, &text) {
            ruling.warnings.push(error.to_string());
        }
    }
    let own = &mut ruling.hints;
    for (wanted, place) in [
        (hints.live, &mut own.live),
        (hints.instructions, &mut own.instructions),
        (hints.stalls, &mut own.stalls),
        (hints.spills, &mut own.spills),
    ] {
        *place = wanted.unwrap_or(*place);
    }
}

/// The effective configuration of a file with this path.
pub(crate) fn rule(path: Option<&Path>, client: &Value, environment: &dyn Environment) -> Ruling {
    let mut ruling = Ruling { background: true, ..Ruling::default() };
    if let Some(path) = path {
        for folder in path.ancestors().skip(1) {
            let file = folder.join(FILE);
            let Some(bytes) = environment.read(&file) else { continue };
            ruling.root = file.display().to_string();
            let text = String::from_utf8_lossy(&bytes);
            match toml::from_str::<Value>(&text) {
                Ok(value) => {
                    let mut reader = Reader::new(format!("{}: ", file.display()));
                    lay_file(&reader.config(&value), folder, path, &mut ruling);
                    ruling.warnings.extend(reader.warnings);
                }
                Err(error) => ruling.warnings.push(format!("{}: {error}", file.display())),
            }
            break;
        }
    }
    if client.is_object() {
        let mut reader = Reader::new(String::new());
        let config = reader.config(client);
        lay(&config.targets, (config.level, config.relocatable), &config.knobs, &config.hints, &mut ruling);
        ruling.background = config.background.unwrap_or(ruling.background);
        ruling.warnings.extend(reader.warnings);
    }
    ruling
}

fn lay_file(config: &Config, folder: &Path, path: &Path, ruling: &mut Ruling) {
    lay(&config.targets, (config.level, config.relocatable), &config.knobs, &config.hints, ruling);
    ruling.background = config.background.unwrap_or(ruling.background);
    // The directory with the longest path that contains the file comes last.
    let mut inside: Vec<(PathBuf, &DirectoryConfig)> = config
        .directory
        .iter()
        .map(|directory| (folder.join(&directory.path), directory))
        .filter(|(folder, _)| path.starts_with(folder))
        .collect();
    inside.sort_by_key(|(folder, _)| folder.components().count());
    for (folder, directory) in inside {
        ruling.root = folder.display().to_string();
        lay(
            &directory.targets,
            (directory.level, directory.relocatable),
            &directory.knobs,
            &directory.hints,
            ruling,
        );
    }
}

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

    struct Files(Vec<(&'static str, &'static str)>);

    impl Environment for Files {
        fn read(&self, path: &Path) -> Option<Vec<u8>> {
            let found = self.0.iter().find(|(known, _)| Path::new(known) == path);
            found.map(|(_, text)| text.as_bytes().to_vec())
        }

        fn sources(&self, _folder: &Path) -> Vec<PathBuf> {
            Vec::new()
        }

        fn wait_for_end(&self, _process: u32) -> bool {
            false
        }

        fn ptxas(&self, _text: &str, _chip: &str) -> Result<crate::Ptxas, crate::PtxasError> {
            Err(crate::PtxasError::Missing)
        }
    }

    #[test]
    fn files_folders_and_clients() {
        let files = Files(vec![(
            "/w/oriole.toml",
            "targets = [\"sm_90a\"]\nlevel = 2\n[knobs]\nfmad = false\nno = 1\n[hints]\nlive = false\n\
             [[directory]]\npath = \"fast\"\nlevel = 3\n[directory.knobs]\nmaxrregcount = 64\n",
        )]);
        let ruling = rule(Some(Path::new("/w/a/k.ptx")), &Value::Null, &files);
        assert_eq!((ruling.root.as_str(), ruling.settings.options.level), ("/w/oriole.toml", 2));
        assert_eq!(ruling.settings.targets, [Chip::SM_90A]);
        assert!(!ruling.hints.live && ruling.hints.stalls);
        assert_eq!(ruling.warnings, ["there is no knob `no`"]);
        let family = rule(None, &json!({ "targets": ["sm_100f", "sm_101f"] }), &files);
        assert_eq!(family.settings.targets, ["sm_100f".parse().unwrap()]);
        assert_eq!(family.warnings, ["no target is called `sm_101f`"]);
        let client = json!({ "targets": ["sm_90"], "colour": 1, "hints": { "stalls": false } });
        let ruling = rule(Some(Path::new("/w/fast/k.ptx")), &client, &files);
        assert_eq!((ruling.root.as_str(), ruling.settings.options.level), ("/w/fast", 3));
        assert_eq!(ruling.settings.options.allocate().limit, Some(64));
        assert_eq!(ruling.settings.targets, [Chip::SM_90]);
        assert!(!ruling.hints.stalls && ruling.warnings.iter().any(|text| text.contains("colour")));
        let wrong = json!({ "level": "two", "targets": "sm_90", "hints": { "live": 1, "spills": false }, "background": false });
        let ruling = rule(None, &wrong, &files);
        assert!(!ruling.hints.spills && ruling.hints.live && !ruling.background);
        expect_test::expect![[r#"
            the setting `targets` is "sm_90"; it should be a list of texts
            the setting `level` is "two"; it should be a level from 0 to 4
            the setting `hints.live` is 1; it should be true or false"#]]
        .assert_eq(&ruling.warnings.join("\n"));
        let part = rule(None, &json!({ "relocatable": true }), &files);
        assert_eq!((part.settings.options.linking, part.warnings.len()), (Linking::Relocatable, 0));
        let ruling = rule(None, &Value::Null, &files);
        assert!(ruling.settings.targets.is_empty() && ruling.warnings.is_empty());
    }

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
