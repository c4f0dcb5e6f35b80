//! The settings of a file: `oriole.toml` next to the sources, and the settings of the client over it.
//!
//! The nearest `oriole.toml` above a file applies; its `directory` tables override parts of it for folders below.
//! Settings of the client override both. An unknown key, or a value of another kind, is a warning and no error, and the
//! other settings apply.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oriole_chip::Chip;
use oriole_ide::{HintOptions, Settings};
use oriole_options::Linking;
use serde_json::Value;

use crate::Environment;
use crate::config::{Config, DirectoryConfig, FILE, HintConfig, PROFILE_BUDGET, ProfileConfig};
use crate::kernel_profile::ProfileSettings;
use crate::settings_reader::Reader;

/// The effective configuration of a file, and errors of the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ruling {
    /// The key of the settings: files with equal keys share results.
    pub root: String,
    pub settings: Settings,
    pub hints: HintOptions,
    pub background: bool,
    pub profile: ProfileSettings,
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

/// Bytes that are read of a settings file, at most.
const LARGEST_SETTINGS: usize = 1 << 20;

/// The effective configuration of a file with this path.
pub(crate) fn rule(path: Option<&Path>, client: &Value, environment: &dyn Environment) -> Ruling {
    let mut ruling = Ruling { background: true, ..Ruling::default() };
    if let Some(path) = path {
        for folder in path.ancestors().skip(1) {
            let file = folder.join(FILE);
            let Some(bytes) = environment.read(&file, LARGEST_SETTINGS) else { continue };
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
        lay_profile(&config.profile, &mut ruling);
        ruling.warnings.extend(reader.warnings);
    }
    ruling
}

fn lay_profile(config: &ProfileConfig, ruling: &mut Ruling) {
    let own = &mut ruling.profile;
    own.enable = config.enable.unwrap_or(own.enable);
    match config.budget {
        Some(budget) if PROFILE_BUDGET.contains(&budget) => own.budget = Duration::from_millis(budget.into()),
        Some(budget) => ruling.warnings.push(format!(
            "`profile.budget` is {budget}; it should be {} to {} milliseconds",
            PROFILE_BUDGET.start(),
            PROFILE_BUDGET.end()
        )),
        None => {}
    }
}

fn lay_file(config: &Config, folder: &Path, path: &Path, ruling: &mut Ruling) {
    lay(&config.targets, (config.level, config.relocatable), &config.knobs, &config.hints, ruling);
    ruling.background = config.background.unwrap_or(ruling.background);
    lay_profile(&config.profile, ruling);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Files(Vec<(&'static str, &'static str)>);

    impl Environment for Files {
        fn read(&self, path: &Path, _: usize) -> Option<Vec<u8>> {
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
        let wrong = json!({ "level": "two", "targets": "sm_90", "hints": { "live": 1, "spills": false }, "background": false,
            "profile": { "enable": true, "budget": 5 } });
        let ruling = rule(None, &wrong, &files);
        assert!(!ruling.hints.spills && ruling.hints.live && !ruling.background && ruling.profile.enable);
        expect_test::expect![[r#"
            `profile.budget` is 5; it should be 100 to 600000 milliseconds
            the setting `targets` is "sm_90"; it should be a list of texts
            the setting `level` is "two"; it should be a level from 0 to 4
            the setting `hints.live` is 1; it should be true or false"#]]
        .assert_eq(&ruling.warnings.join("\n"));
        let part = rule(None, &json!({ "relocatable": true }), &files);
        assert_eq!((part.settings.options.linking, part.warnings.len()), (Linking::Relocatable, 0));
        let ruling = rule(None, &Value::Null, &files);
        assert!(ruling.settings.targets.is_empty() && ruling.warnings.is_empty());
    }
}
