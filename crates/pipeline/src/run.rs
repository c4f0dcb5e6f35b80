//! Runs the phases of a group over one function, in the order in which they act.

use crate::{Context, Failure, Group, PHASES, Phase, State};
use oriole_ori::{Assignment, Form, Function, canonical, verify};

/// The groups that take Ori and give Ori, in order.
pub const ORI_GROUPS: [Group; 6] =
    [Group::Bridged, Group::Early, Group::SsaEarly, Group::SsaMid, Group::SsaLate, Group::Legal];

/// The phases of a group in the order in which they act. Numbers of 132 and up act where their names say.
fn order(group: Group) -> impl Iterator<Item = &'static Phase> {
    let mut phases: Vec<&'static Phase> = PHASES.iter().filter(|phase| phase.group == group).collect();
    phases.sort_by_key(|phase| match phase.number {
        132 => (7, 1),
        133 => (13, 1),
        134 => (45, 1),
        135 => (71, 1),
        136 => (78, 1),
        137 => (79, 1),
        138 => (83, 1),
        number => (number, 0),
    });
    phases.into_iter()
}

/// Runs a group whose result is Ori. The result is canonical.
///
/// # Errors
/// A phase found the function broken, or cannot compile it.
pub fn run(group: Group, function: Function, context: &Context) -> Result<Function, Failure> {
    let mut function = function;
    let mut settled = false;
    for phase in order(group) {
        step(phase, &mut function, &mut settled, context)?;
    }
    canonical::canonicalize(&mut function);
    Ok(function)
}

/// Checks raw Ori before the first phase touches it.
pub(crate) fn run_raw(function: &Function, context: &Context) -> Result<(), Failure> {
    match context.verify {
        true => check(&PHASES[0], function),
        false => Ok(()),
    }
}

/// Replays from raw Ori up to and with a phase.
///
/// # Errors
/// As [`run`]; a phase that is not implemented, or that does not act on Ori.
pub fn run_until(last: &Phase, function: Function, context: &Context) -> Result<Function, Failure> {
    let mut function = function;
    for group in ORI_GROUPS {
        let mut settled = false;
        for phase in order(group) {
            step(phase, &mut function, &mut settled, context)?;
            if phase.number == last.number {
                return Ok(function);
            }
        }
        canonical::canonicalize(&mut function);
    }
    Err(Failure::internal("run_until", format!("phase {} gives no Ori", last.name)))
}

/// Runs a phase. `settled` says that the bundle of 13 has found nothing left to do, and that nothing changed since.
fn step(
    phase: &'static Phase,
    function: &mut Function,
    settled: &mut bool,
    context: &Context,
) -> Result<(), Failure> {
    if phase.state != State::Done || context.settings.optimize.level < phase.level {
        return Ok(());
    }
    (context.check)();
    context.observer.before(phase);
    *settled = apply(phase, function, *settled, context)?;
    context.observer.after(phase, function);
    if context.verify {
        check(phase, function)?;
    }
    Ok(())
}

/// SSA holds from 23 up to 72.
fn form_after(phase: &Phase) -> Form {
    match phase.group {
        Group::SsaEarly | Group::SsaMid => Form::Ssa,
        Group::SsaLate if phase.number != 73 => Form::Ssa,
        _ => Form::Plain,
    }
}

fn check(phase: &Phase, function: &Function) -> Result<(), Failure> {
    verify(function, form_after(phase)).map_err(|violations| {
        let list: Vec<String> = violations.iter().take(8).map(ToString::to_string).collect();
        Failure::internal(phase.name, list.join("; "))
    })
}

/// Runs the code of a phase; gives back what is settled after it.
fn apply(
    phase: &'static Phase,
    function: &mut Function,
    settled: bool,
    context: &Context,
) -> Result<bool, Failure> {
    let settings = context.settings;
    let optimize = &settings.optimize;
    match phase.number {
        // The function goes on to form choice, which trusts it; between phases it is verified after each one if at all.
        94 => {
            check(phase, function)?;
            return Ok(settled);
        }
        10 | 16 | 33 | 61 | 84 if optimize.dead_code => {
            // The bundle leaves nothing dead behind.
            if !settled {
                oriole_optimize::live_dead::run(function);
            }
            return Ok(settled);
        }
        13 | 29 | 37 | 46 | 58 | 65 | 81 => {
            let form = form_after(phase);
            return Ok(
                settled || oriole_optimize::general_optimize::run(function, settings.chip, optimize, form)
            );
        }
        31 => {
            let fused = oriole_optimize::linear_replacement::run(function, settings.chip, optimize);
            if optimize.dead_code && (fused || !settled) {
                oriole_optimize::live_dead::run(function);
            }
            return Ok(settled && !fused);
        }
        35 | 66 | 79 | 88 => {
            let moved = oriole_optimize::hoist_invariants::run(function, optimize, form_after(phase));
            return Ok(settled && !moved);
        }
        50 => return Ok(!oriole_optimize::reassociate::run(function, settings.chip, optimize) && settled),
        49 if optimize.gvn => return Ok(!oriole_optimize::gvn_cse::run(function) && settled),
        15 if optimize.branch => oriole_optimize::branch_opt::run(function),
        21 if optimize.strength => oriole_optimize::strength_reduce::run(function),
        23 => oriole_optimize::generate_mov_phi::run(function),
        45 => return Ok(!oriole_legalize::expand_exact::run(function, &settings.legalize) && settled),
        63 if optimize.predication => return Ok(!oriole_optimize::predication::run(function) && settled),
        // What 71 does follows from where 72 has put barriers.
        72 => oriole_optimize::expand_sync::run(function, optimize.level >= 2),
        73 => oriole_optimize::convert_mov_phi::run(function),
        74 if optimize.uniform => oriole_optimize::uniform_registers::run(function, settings.chip),
        78 => oriole_legalize::expand_wide::run(function),
        83 if optimize.back_copy => oriole_optimize::back_copy::run(function),
        _ => return Ok(settled),
    }
    Ok(false)
}

/// A function with its registers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Allocated {
    /// The function, copies and spills included, pseudo-operations expanded.
    pub function: Function,
    /// Where each value lives.
    pub assignment: Assignment,
}
