//! Finished functions and whole files in the content store: their keys, their serialized form, the use of a
//! hit.
//!
//! The key of a function is made of the values that the stages read and of nothing else, so that a hit and a miss depend on
//! the same facts: its body without the spellings of names, and the options as its steps get them. The value refers to the
//! names of the body by number, and takes those of the body that asks. The key of a file holds its text; it is asked by the
//! driver, outside of all queries, so that no query depends on more than before. Failed compiles are never kept, nor is a
//! file that has diagnostics.

use oriole_diagnostics::{Code, Diagnostic};
use oriole_hir::{Body, BodyNames, Unnamed};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_pipeline::LinkedFunction;
use oriole_store::{Cache, Key, KeyBuilder, Mode};
use triomphe::Arc;

use crate::failure::{Failed, Staged, at_start};
use crate::unnamed::{self, has_meaning};
use crate::{configuration, stage, steps};

/// The schema of a function, and how it is written. To be changed with the meaning of the bytes, where the
/// build hash does not change.
const SCHEMA: &str = "linked function, 3";

/// The schema of routines and functions of the compiler; their texts are part of the build.
const ROUTINE_SCHEMA: &str = "routine, 2";

/// The schema of whole files.
const FILE_SCHEMA: &str = "cubin, 2";

/// The schema of the text of a unit, whose hash is part of the key of a file.
const UNIT_SCHEMA: &str = "unit, 1";

/// The hash of the sources of all crates that the code of a function depends on, and of the lock file.
pub const BUILD: &str = env!("ORIOLE_BUILD");

/// The start of a key: what everything that is compiled for a configuration depends on.
fn start(db: &dyn Db, config: Config, schema: &str) -> KeyBuilder {
    let mut key = KeyBuilder::new(schema, BUILD);
    key.with(&configuration::chip_info(db, config));
    key
}

/// Adds all options of stages to the key of a whole file.
fn with_all_options(mut key: KeyBuilder, db: &dyn Db, config: Config) -> KeyBuilder {
    key.with(&configuration::search_trials(db, config))
        .with(&configuration::lower_options(db, config))
        .with(&configuration::pass_options(db, config))
        .with(&configuration::order_options(db, config))
        .with(&configuration::allocate_options(db, config))
        .with(&configuration::select_options(db, config))
        .with(&configuration::finish_options(db, config));
    key
}

/// The function under its key, or what `compile` gives.
pub(crate) fn encoded<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    body: &Body,
    compile: impl FnOnce() -> Staged<LinkedFunction>,
) -> Staged<LinkedFunction> {
    let Some(cache) = db.cache().filter(|cache| cache.mode() != Mode::Off) else { return compile() };
    let names = BodyNames::new(body, has_meaning);
    let mut key = start(db, config, SCHEMA);
    // For a function the options hold the registers that the kernels which reach it leave.
    key.with(&steps::all_settings(db, unit, config)).with(&Unnamed { body, names: &names });
    let trials = configuration::search_trials(db, config);
    let known = trials.and_then(|_| configuration::known_choices(db, unit, config));
    kept(cache, &key.with(&trials).with(&known).finish(), &names, compile)
}

/// The routine of the compiler or function of its library under its key, or what `compile` gives.
pub(crate) fn routine(
    db: &dyn Db,
    name: &str,
    config: Config,
    compile: impl FnOnce() -> Staged<LinkedFunction>,
) -> Staged<LinkedFunction> {
    let Some(cache) = db.cache().filter(|cache| cache.mode() != Mode::Off) else { return compile() };
    let mut key = start(db, config, ROUTINE_SCHEMA);
    key.with(&stage::all_settings(db, config)).with(name);
    kept(cache, &key.finish(), &BodyNames::default(), compile)
}

fn kept(
    cache: &Cache,
    key: &Key,
    names: &BodyNames<'_>,
    compile: impl FnOnce() -> Staged<LinkedFunction>,
) -> Staged<LinkedFunction> {
    match cache.find(key, |value| unnamed::read(value, names)) {
        Some(known) if cache.mode() != Mode::Verify => Ok(Arc::new(known)),
        Some(known) => verified(known, compile()?),
        None => {
            let compiled = compile()?;
            // A function that cannot be serialized is not kept: it is compiled again next time.
            if let Some(bytes) = unnamed::write(&compiled, names) {
                cache.keep(key, bytes);
            }
            Ok(compiled)
        }
    }
}

/// The result of compiling a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// The container; `None` if there are errors.
    pub cubin: Option<triomphe::Arc<Vec<u8>>>,
    /// All diagnostics, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// The cubin of a whole file under its key, or what `compile` gives.
pub(crate) fn whole_file(
    db: &dyn Db,
    file: SourceFile,
    config: Config,
    compile: impl FnOnce() -> Compiled,
) -> Compiled {
    let Some(cache) = db.cache().filter(|cache| cache.mode() != Mode::Off) else { return compile() };
    // By the hashes of its units, which are the file when joined: an edit changes one of them.
    let unit = |text: &str| KeyBuilder::new(UNIT_SCHEMA, BUILD).with(text).finish().0;
    let mut key = with_all_options(start(db, config, FILE_SCHEMA), db, config);
    key.with(&configuration::debug_options(db, config));
    key.with(config.search(db));
    for piece in file.cut(db).pieces() {
        key.with(piece.source.digest(unit));
    }
    let key = key.finish();
    let known = cache.find(&key, |value| Some(value.clone()));
    if cache.mode() != Mode::Verify
        && let Some(cubin) = known
    {
        return Compiled { cubin: Some(cubin), diagnostics: Vec::new() };
    }
    let mut compiled = compile();
    match (known, &compiled.cubin) {
        (Some(known), Some(cubin)) if known == *cubin => {}
        (Some(_), _) => {
            let message = "in the content store: a file was kept that compiles to something else";
            compiled.diagnostics.push(at_start(Code::InternalError, message));
            compiled.cubin = None;
        }
        (None, Some(cubin)) if compiled.diagnostics.is_empty() => cache.keep(&key, cubin.clone()),
        (None, _) => {}
    }
    compiled
}

/// Compares the kept function with the compiled one.
fn verified(known: LinkedFunction, compiled: Arc<LinkedFunction>) -> Staged<LinkedFunction> {
    if known == *compiled {
        return Ok(compiled);
    }
    let words = known.encoded.words.iter().zip(&compiled.encoded.words);
    let first = words.take_while(|(known, compiled)| known == compiled).count();
    Err(Failed::internal(
        "the content store",
        format!(
            "a function was kept that compiles to something else: {} words against {}, the first different one {first}",
            known.encoded.words.len(),
            compiled.encoded.words.len()
        ),
    ))
}
