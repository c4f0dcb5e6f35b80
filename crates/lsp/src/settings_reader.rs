//! Reads settings field by field: a wrong one is named, with its value and what it should be, and the others are kept.
//!
//! The effect of a setting is in `ruling.rs`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::{Config, DirectoryConfig, HintConfig, ProfileConfig};

/// Reads tables and gathers what is wrong in them.
pub(crate) struct Reader {
    /// The place of all settings, before their names.
    place: String,
    pub warnings: Vec<String>,
}

/// A kind of value, with its name for a reader.
trait Kind: Sized {
    const NAME: &'static str;

    fn of(value: &Value) -> Option<Self>;
}

impl Kind for bool {
    const NAME: &'static str = "true or false";

    fn of(value: &Value) -> Option<bool> {
        value.as_bool()
    }
}

impl Kind for u8 {
    const NAME: &'static str = "a level from 0 to 4";

    fn of(value: &Value) -> Option<u8> {
        u8::try_from(value.as_u64()?).ok()
    }
}

impl Kind for u32 {
    const NAME: &'static str = "a whole number";

    fn of(value: &Value) -> Option<u32> {
        u32::try_from(value.as_u64()?).ok()
    }
}

impl Kind for String {
    const NAME: &'static str = "a text";

    fn of(value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned)
    }
}

/// The fields of a table, with the name of the table before theirs.
struct Table<'a> {
    fields: BTreeMap<&'a str, &'a Value>,
    name: String,
}

impl Reader {
    pub fn new(place: String) -> Reader {
        Reader { place, warnings: Vec::new() }
    }

    fn wrong(&mut self, name: &str, value: &Value, wanted: &str) {
        self.warnings.push(format!("{}the setting `{name}` is {value}; it should be {wanted}", self.place));
    }

    /// The table of a value; `null` is an empty one, and so is a value of another kind, which is named.
    fn table<'a>(&mut self, value: &'a Value, name: &str) -> Table<'a> {
        let fields = match value {
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.as_str(), value)).collect(),
            Value::Null => BTreeMap::new(),
            other => {
                self.wrong(name, other, "a table");
                BTreeMap::new()
            }
        };
        Table { fields, name: if name.is_empty() { String::new() } else { format!("{name}.") } }
    }

    /// A field; `None` if it is left out, or wrong.
    fn field<T: Kind>(&mut self, table: &mut Table<'_>, key: &str) -> Option<T> {
        let value = table.fields.remove(key).filter(|value| !value.is_null())?;
        let read = T::of(value);
        if read.is_none() {
            self.wrong(&format!("{}{key}", table.name), value, T::NAME);
        }
        read
    }

    /// A list of texts; a wrong member is left out.
    fn texts(&mut self, table: &mut Table<'_>, key: &str) -> Option<Vec<String>> {
        let value = table.fields.remove(key).filter(|value| !value.is_null())?;
        let name = format!("{}{key}", table.name);
        let Value::Array(list) = value else {
            self.wrong(&name, value, "a list of texts");
            return None;
        };
        let mut texts = Vec::new();
        for (at, member) in list.iter().enumerate() {
            match String::of(member) {
                Some(text) => texts.push(text),
                None => self.wrong(&format!("{name}[{at}]"), member, String::NAME),
            }
        }
        Some(texts)
    }

    fn knobs(&mut self, table: &mut Table<'_>) -> BTreeMap<String, Value> {
        let name = format!("{}knobs", table.name);
        let value = table.fields.remove("knobs").unwrap_or(&Value::Null);
        let knobs = self.table(value, &name).fields;
        knobs.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    fn hints(&mut self, table: &mut Table<'_>) -> HintConfig {
        let name = format!("{}hints", table.name);
        let value = table.fields.remove("hints").unwrap_or(&Value::Null);
        let mut own = self.table(value, &name);
        let hints = HintConfig {
            live: self.field(&mut own, "live"),
            instructions: self.field(&mut own, "instructions"),
            stalls: self.field(&mut own, "stalls"),
            spills: self.field(&mut own, "spills"),
        };
        self.rest(own);
        hints
    }

    fn profile(&mut self, table: &mut Table<'_>) -> ProfileConfig {
        let value = table.fields.remove("profile").unwrap_or(&Value::Null);
        let mut own = self.table(value, "profile");
        let profile =
            ProfileConfig { enable: self.field(&mut own, "enable"), budget: self.field(&mut own, "budget") };
        self.rest(own);
        profile
    }

    /// The fields that nothing has read.
    fn rest(&mut self, table: Table<'_>) {
        for key in table.fields.keys() {
            self.warnings.push(format!("{}the setting `{}{key}` is not known", self.place, table.name));
        }
    }

    fn directories(&mut self, table: &mut Table<'_>) -> Vec<DirectoryConfig> {
        let value = table.fields.remove("directory").unwrap_or(&Value::Null);
        let list = match value {
            Value::Array(list) => list.as_slice(),
            Value::Null => &[],
            other => {
                self.wrong("directory", other, "a list of tables");
                &[]
            }
        };
        let mut found = Vec::new();
        for (at, value) in list.iter().enumerate() {
            let name = format!("directory[{at}]");
            let mut own = self.table(value, &name);
            let path = self.field(&mut own, "path");
            let directory = DirectoryConfig {
                path: path.clone().unwrap_or_default(),
                targets: self.texts(&mut own, "targets"),
                level: self.field(&mut own, "level"),
                relocatable: self.field(&mut own, "relocatable"),
                knobs: self.knobs(&mut own),
                hints: self.hints(&mut own),
            };
            self.rest(own);
            match path {
                Some(_) => found.push(directory),
                None => self
                    .warnings
                    .push(format!("{}`{name}` applies to no folder: it has no `path`", self.place)),
            }
        }
        found
    }

    /// All settings of a file or of a client.
    pub fn config(&mut self, value: &Value) -> Config {
        let mut table = self.table(value, "");
        let config = Config {
            targets: self.texts(&mut table, "targets"),
            level: self.field(&mut table, "level"),
            relocatable: self.field(&mut table, "relocatable"),
            knobs: self.knobs(&mut table),
            hints: self.hints(&mut table),
            background: self.field(&mut table, "background"),
            profile: self.profile(&mut table),
            directory: self.directories(&mut table),
        };
        self.rest(table);
        config
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_wrong_setting_is_named_and_the_others_stay() {
        let mut reader = Reader::new("/w/oriole.toml: ".to_owned());
        let config = reader.config(&json!({
            "targets": ["sm_90", 90, "sm_80"],
            "level": 1000,
            "relocatable": null,
            "knobs": [],
            "hints": { "live": "no", "stalls": false, "colour": 1 },
            "background": true,
            "directory": [{ "path": "fast", "level": 2, "hints": 1 }, { "level": 1 }, 7],
            "other": 1
        }));
        assert_eq!(config.targets, Some(vec!["sm_90".to_owned(), "sm_80".to_owned()]));
        assert_eq!((config.level, config.background, config.hints.stalls), (None, Some(true), Some(false)));
        assert_eq!((config.directory.len(), config.directory[0].level), (1, Some(2)));
        expect![[r#"
            /w/oriole.toml: the setting `targets[1]` is 90; it should be a text
            /w/oriole.toml: the setting `level` is 1000; it should be a level from 0 to 4
            /w/oriole.toml: the setting `knobs` is []; it should be a table
            /w/oriole.toml: the setting `hints.live` is "no"; it should be true or false
            /w/oriole.toml: the setting `hints.colour` is not known
            /w/oriole.toml: the setting `directory[0].hints` is 1; it should be a table
            /w/oriole.toml: `directory[1]` applies to no folder: it has no `path`
            /w/oriole.toml: the setting `directory[2]` is 7; it should be a table
            /w/oriole.toml: `directory[2]` applies to no folder: it has no `path`
            /w/oriole.toml: the setting `other` is not known"#]]
        .assert_eq(&reader.warnings.join("\n"));
    }
}
