//! The choices of code generation of a function, and the search for them at level 4.
//!
//! Each trial takes the steps of an ordinary compile with other options, so that it is as right as they are. The search is a query
//! of the function: an edit of another one runs none again. Below level 4 nothing is asked and nothing kept. Where choices are known already,
//! because the program was tuned for a launch, nothing is searched.

use oriole_hir::Body;
use oriole_inputs::{Config, Db, FunctionUnit};
use oriole_options::{Choices, Scope};
use oriole_ori::{Function, MachineFunction};
use oriole_pipeline::{Allocated, Found, Group, Judge, LinkedFunction, search};
use oriole_query_macro::query;
use triomphe::Arc;

use crate::failure::Failed;
use crate::stage::handed_on;
use crate::steps::{
    control_settings, form_settings, lowered, lowering_settings, passed, register_settings, with_control,
    with_forms, with_registers, words,
};
use crate::{configuration, inlined, stage};

/// The groups of passes between lowering and registers.
const PASSES: [Group; 5] = [Group::Early, Group::SsaEarly, Group::SsaMid, Group::SsaLate, Group::Legal];

/// The choices for a function: none below level 4, where nothing is asked that depends on the function.
pub(crate) fn choices<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Choices {
    match configuration::search_trials(db, config) {
        Some(_) => chosen(db, unit, config).choices,
        None => Choices::NONE,
    }
}

/// The result of the search for a function; nothing below level 4.
pub fn found<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<&'db Found> {
    configuration::search_trials(db, config)?;
    Some(chosen(db, unit, config))
}

/// The choices that the search made for a function. A function that does not compile has none.
#[query(returns(ref))]
pub fn chosen<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Found {
    if let Some(known) = configuration::known_choices(db, unit, config) {
        return Found::given(known);
    }
    let Some(body) = inlined::code(db, unit, config) else { return Found::default() };
    compiled(db, unit, config, body).map(|(found, _)| found).unwrap_or_default()
}

/// All stages after the body at once, with the choices that are best: the same steps as the queries, each value handed on and none kept.
pub(crate) fn compiled<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    body: &Body,
) -> Result<(Found, Arc<LinkedFunction>), Failed> {
    let trials = configuration::search_trials(db, config);
    let known = trials.and_then(|_| configuration::known_choices(db, unit, config));
    let compile = Compile { db, unit, config };
    let first = known.unwrap_or(Choices::NONE);
    let legal = compile.legal(body, first)?;
    let judge = Judge::new(configuration::target_of(db, config)?);
    let (Some(judge), Some(trials @ 1..), None) = (judge, trials, known) else {
        let code = compile.finished(legal, first)?;
        return Ok((Found::given(first), words(db, config, body, &code.0, &code.1)?));
    };
    let code = compile.finished(legal.clone(), first)?;
    // Diagnostics must be those of level 3.
    let dropped = code.0.assignment.dropped_grants;
    let Some(before) = judge.estimate(&code.0, &code.1) else {
        return Ok((Found::default(), words(db, config, body, &code.0, &code.1)?));
    };
    let rows = oriole_pipeline::search::rows(code.1.general_registers, Scope::Arrangement);
    let mut best = (Choices::NONE, 1.0, code);
    let found = search(&rows, trials, 1.0, |choices| {
        // One that does not compile is none.
        let code = compile.finished(legal.clone(), choices).ok()?;
        if code.0.assignment.dropped_grants != dropped {
            return None;
        }
        let ratio = judge.estimate(&code.0, &code.1)?.ratio(&before)?;
        tracing::debug!(%choices, ratio, "judged");
        if ratio < best.1 {
            best = (choices, ratio, code);
        }
        Some(ratio)
    });
    let (choices, _, code) = best;
    let code = if choices == found.choices { code } else { compile.finished(legal, found.choices)? };
    let linked = words(db, config, body, &code.0, &code.1)?;
    Ok((found, linked))
}

/// The compile of a function for a configuration, whatever the choices.
struct Compile<'db> {
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
}

/// A function with registers, and its code.
type Code = (Arc<Allocated>, Arc<MachineFunction>);

impl Compile<'_> {
    /// Lowers a function and runs all passes.
    fn legal(&self, body: &Body, choices: Choices) -> Result<Function, Failed> {
        let &Compile { db, unit, config } = self;
        let settings = lowering_settings(db, unit, config, choices);
        let mut function = handed_on(lowered(db, config, &settings, body)?);
        for group in PASSES {
            let settings = stage::pass_settings(db, config, choices, group);
            function = handed_on(passed(db, config, &settings, group, function)?);
        }
        Ok(function)
    }

    /// Schedules a function, gives it registers, forms and control words.
    fn finished(&self, legal: Function, choices: Choices) -> Result<Code, Failed> {
        let &Compile { db, unit, config } = self;
        let settings = register_settings(db, unit, config, choices);
        let mut allocated = with_registers(db, unit, config, &settings, legal)?;
        let machine = with_forms(db, config, &form_settings(db, config, choices), &allocated)?;
        let machine = handed_on(machine);
        // The stages left need names and the frame only, except for debug info about the places of registers.
        if !oriole_pipeline::is_for_debuggers(&allocated)
            && let Some(allocated) = Arc::get_mut(&mut allocated)
        {
            allocated.function.blocks = Default::default();
            allocated.function.values = Default::default();
        }
        let finished = with_control(db, config, &control_settings(db, config, choices), machine)?;
        Ok((allocated, finished))
    }
}
