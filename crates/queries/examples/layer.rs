//! The cost of the query layer: makes the words of every function of a PTX file, once by way of the queries, once by
//! the same stages called straight. Time and memory are those of the process; `cargo xtask bench --query-layer` reads
//! them. Nothing is written, so that the two differ in the layer alone.
//!
//! `queries` is the database of one compile, `session` that of an editor, which keeps what each stage gave.
//!
//! `layer queries|session|straight FILE.ptx CHIP`

use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_pipeline::{Context, Group, ORI_GROUPS, Settings, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, path, chip] = arguments.as_slice() else {
        return Err("layer queries|session|straight FILE CHIP".into());
    };
    let text = std::fs::read_to_string(path)?;
    let chip: Chip = chip.parse().map_err(|_| "no such chip")?;
    let words = match way.as_str() {
        "queries" => by_queries(&Database::once(), &text, chip),
        "session" => by_queries(&Database::default(), &text, chip),
        "straight" => straight(&text, chip)?,
        _ => return Err("queries, session or straight".into()),
    };
    println!("{words} words");
    Ok(())
}

fn by_queries(db: &Database, text: &str, chip: Chip) -> usize {
    let file = SourceFile::open(db, text);
    let config = Config::create(db, chip, &Options::default());
    oriole_queries::driver::warm(db, file, config, 1);
    let units = oriole_queries::files::split_file(db, file).iter();
    let coded = units.filter(|unit| unit.has_code(db));
    coded
        .filter_map(|&unit| oriole_queries::functions::encoded(db, unit, config).as_ref().ok())
        .map(|linked| linked.encoded.words.len())
        .sum()
}

fn straight(text: &str, chip: Chip) -> Result<usize, oriole_pipeline::Failure> {
    let module = oriole_hir::resolve_module(text);
    let target = Target::new(chip).expect("a target");
    let settings = Settings::new(&Options::default());
    let context = Context::new(&target, &settings);
    let mut words = 0;
    for (_, _, resolved) in module.functions {
        let mut function = oriole_pipeline::lower(&resolved.body, &context)?;
        for group in ORI_GROUPS.into_iter().filter(|&group| group != Group::Bridged) {
            function = oriole_pipeline::run(group, function, &context)?;
        }
        let allocated = oriole_pipeline::allocate(function, || None, &context)?;
        let selected = oriole_pipeline::select(&allocated, &context)?;
        let finished = oriole_pipeline::finish(selected, &context)?;
        words +=
            oriole_pipeline::encode(&resolved.body, &allocated, &finished, &context)?.encoded.words.len();
    }
    Ok(words)
}
