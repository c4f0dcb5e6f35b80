//! `cargo xtask codegen`: turns the form tables (`crates/sass/tables/*.forms`) into Rust: the names of opcodes,
//! modifiers and named operands, the static table of each chip, and what tables have in common. The tables of the PTX language have a file of their
//! own, which this one calls. `--check` only reports outdated files.
//!
//! It is not a build script, so that the generated code can be read, and a build needs no generator.

pub mod forms;
mod ops;
mod parts;
mod rust;

use forms::Tables;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Writes the generated files, or with `--check` compares them.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".to_owned()),
    };
    let root = crate::root();
    for (path, text) in generate(&root)? {
        let path = root.join(path);
        let old = fs::read_to_string(&path).unwrap_or_default();
        if old == text {
            continue;
        }
        if check {
            return Err(format!("{} is out of date: run `cargo xtask codegen`", path.display()));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Every generated file: its path below the root, and its text.
fn generate(root: &Path) -> Result<Vec<(String, String)>, String> {
    let chips = forms::read_all(&root.join("crates/sass/tables"))?;
    let mut ops = BTreeSet::new();
    let mut mods = BTreeSet::new();
    let mut symbols = BTreeSet::new();
    for tables in chips.values() {
        collect_names(tables, &mut ops, &mut mods, &mut symbols);
    }
    let mut files = vec![
        ("crates/sass/src/op.rs".to_owned(), rust::names(&rust::OP, &ops)),
        ("crates/sass/src/modifier.rs".to_owned(), rust::names(&rust::MOD, &mods)),
        ("crates/sass/src/symbol.rs".to_owned(), rust::names(&rust::SYMBOL, &symbols)),
        ("crates/sass/src/form/tables/mod.rs".to_owned(), rust::list(&chips)?),
    ];
    let mut parts = parts::Parts::default();
    for (chip, tables) in chips.iter().filter(|(_, tables)| tables.same_as.is_none()) {
        let text =
            rust::table(chip, tables, &ops, &mut parts).map_err(|error| format!("{chip}.forms: {error}"))?;
        files.push((format!("crates/sass/src/form/tables/{chip}.rs"), text));
    }
    files.push(("crates/sass/src/form/tables/parts.rs".to_owned(), parts.text()));
    files.push(ops::generate(root, &ops, &mods)?);
    files.extend(crate::ptx_table::generate(root)?);
    Ok(files)
}

/// Adds every name in a table.
fn collect_names(
    tables: &Tables,
    ops: &mut BTreeSet<String>,
    mods: &mut BTreeSet<String>,
    symbols: &mut BTreeSet<String>,
) {
    for form in &tables.forms {
        ops.insert(form.op.clone());
        for token in &form.always {
            token.names(mods, symbols);
        }
        for slot in &form.slots {
            if let Some(name) = slot.kind.strip_prefix('$')
                && !name.is_empty()
            {
                symbols.insert(name.to_string());
            }
        }
    }
    for rows in tables.choices.values() {
        for (_, tokens) in rows {
            for token in tokens {
                token.names(mods, symbols);
            }
        }
    }
    for order in tables.orders.values() {
        mods.extend(order.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_current() {
        if let Err(message) = super::run(&["--check".to_owned()]) {
            panic!("{message}");
        }
    }
}
