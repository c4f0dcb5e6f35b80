//! From a query to the stage of a pure crate and back: options gathered, panics caught, cancellation passed down.
//!
//! Each caller fills in just the options that its group may know; the others have defaults, which no phase of the group looks at. Which
//! stage runs is for the caller to say.

use std::ops::Deref;
use std::sync::LazyLock;

use oriole_inputs::{Config, Db, FunctionUnit, Place, Slot};
use oriole_options::{AllocateOptions, Choices, Options};
use oriole_pipeline::{Context, Group, Settings};
use triomphe::Arc;

use crate::configuration;
use crate::failure::{Failed, Staged, guarded};

/// Options that the phases of a stage do not read.
pub(crate) fn settings() -> Settings {
    /// They are looked up by name, and asked for by every stage of every function.
    static DEFAULTS: LazyLock<Settings> = LazyLock::new(|| Settings::new(&Options::default()));
    *DEFAULTS
}

/// The settings of a stage of passes for a function with these choices.
pub(crate) fn pass_settings(db: &dyn Db, config: Config, choices: Choices, stage: Group) -> Settings {
    Settings { passes: choices.passes(configuration::stage_options(db, config, stage)), ..settings() }
}

/// The settings of all stages after lowering, for a routine of the compiler.
pub(crate) fn all_settings(db: &dyn Db, config: Config) -> Settings {
    Settings {
        passes: configuration::pass_options(db, config),
        order: configuration::order_options(db, config),
        // The limit of functions of the source is none of a routine.
        allocate: AllocateOptions { function_limit: None, ..configuration::allocate_options(db, config) },
        select: configuration::select_options(db, config),
        finish: configuration::finish_options(db, config),
        ..settings()
    }
}

/// A stage of a unit with its options, to be looked up in the history of the unit.
pub(crate) struct Stage<'db, O> {
    /// The query, and its place in the log.
    query: &'static str,
    place: Place<'db>,
    slot: Slot,
    /// The stage, or the routine.
    name: &'static str,
    /// The options that it reads, and what else its result depends on.
    options: O,
}

impl<'db, O: Clone + PartialEq + Send + Sync + 'static> Stage<'db, O> {
    /// A stage of a unit.
    pub(crate) fn new(unit: FunctionUnit<'db>, config: Config, group: Group, options: O) -> Stage<'db, O> {
        let place = Place::UnitConfig(unit, config);
        let (query, slot) = (group.name(), Slot::new(unit, config));
        Stage { query, place, slot, name: query, options }
    }

    /// All stages of a routine of the compiler, or of a function of the library; the query is the one of its kind.
    pub(crate) fn of_routine(
        query: &'static str,
        name: &'static str,
        config: Config,
        options: O,
    ) -> Stage<'db, O> {
        Stage { query, place: Place::Routine(name, config), slot: Slot::of_routines(config), name, options }
    }

    /// The result for an input, from the history, or what `make` gives. Results that `lasts` refuses are not kept.
    pub(crate) fn of<I, T>(
        &self,
        db: &dyn Db,
        input: &I,
        lasts: impl FnOnce(&T) -> bool,
        make: impl FnOnce(&O) -> Staged<T>,
    ) -> Staged<T>
    where
        I: Deref<Target: PartialEq> + Clone + Send + Sync + 'static,
        T: Send + Sync + 'static,
    {
        let Some(history) = db.history() else { return make(&self.options) };
        if let Some(found) = history.find(self.slot, self.name, input, &self.options) {
            db.found(self.query, self.place);
            return Ok(found);
        }
        let made = make(&self.options)?;
        if lasts(&made) {
            history.keep(self.slot, self.name, input, self.options.clone(), &made);
        }
        Ok(made)
    }
}

/// True for a result that depends on nothing but the input and the options of its stage.
pub(crate) fn always<T>(_: &T) -> bool {
    true
}

/// Runs a stage with a context that cancels it when its answer is no longer wanted.
pub(crate) fn run<T>(
    db: &dyn Db,
    config: Config,
    name: &'static str,
    settings: &Settings,
    stage: impl FnOnce(&Context) -> Result<T, oriole_pipeline::Failure>,
) -> Staged<T> {
    let target = configuration::target_of(db, config)?;
    let check = || db.unwind_if_revision_cancelled();
    let context = Context { check: &check, ..Context::new(target, settings) };
    let _span = tracing::debug_span!("stage", name).entered();
    guarded(name, || stage(&context).map_err(Failed::from))
}

/// The result of a stage before, as a value of its own.
pub(crate) fn copied<T: Clone>(before: &Staged<T>) -> Result<T, Failed> {
    before.as_ref().map(|value| (**value).clone()).map_err(Clone::clone)
}

/// The result of a stage before, moved out if it is used nowhere else.
pub(crate) fn handed_on<T: Clone>(value: Arc<T>) -> T {
    Arc::unwrap_or_clone(value)
}
