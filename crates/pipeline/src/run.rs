//! Runs the phases of a group over one function, in the order in which they act.

use crate::phases::Share;
use crate::{Context, Failure, Group, ORI_GROUPS, Phase, Work};
use oriole_ori::{Allowance, Form, Function, PassContext, canonical, verify};

/// Runs a group whose result is Ori. The result is canonical.
///
/// # Errors
/// A phase found the function broken, or cannot compile it.
pub fn run(group: Group, function: Function, context: &Context) -> Result<Function, Failure> {
    let mut progress = Progress::new(group, function);
    for phase in group.phases() {
        progress.step(phase, context)?;
    }
    Ok(progress.end())
}

/// Runs the phases of a phase's group up to and with that phase, over what the group before gave: raw Ori for the first.
///
/// # Errors
/// As [`run`]; a phase that does not act on Ori.
pub fn run_part(last: &Phase, function: Function, context: &Context) -> Result<Function, Failure> {
    if !ORI_GROUPS.contains(&last.group) {
        return Err(Failure::internal("run_part", format!("phase {} gives no Ori", last.name)));
    }
    let mut progress = Progress::new(last.group, function);
    for phase in last.group.phases() {
        progress.step(phase, context)?;
        if phase.number == last.number {
            break;
        }
    }
    Ok(progress.function)
}

/// Runs a group and shows the function after each phase that acts on it. Functions shown inside of a group
/// are not canonical.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    group: Group,
    function: Function,
    context: &Context,
    watch: &mut dyn FnMut(&'static Phase, &Function),
) -> Result<Function, Failure> {
    let mut progress = Progress::new(group, function);
    for phase in group.phases() {
        progress.step(phase, context)?;
        if matches!(phase.work, Work::Pass(_)) {
            watch(phase, &progress.function);
        }
    }
    Ok(progress.end())
}

/// A function on its way through a group.
struct Progress {
    function: Function,
    form: Form,
}

impl Progress {
    fn new(group: Group, function: Function) -> Progress {
        Progress { function, form: group.form() }
    }

    fn end(mut self) -> Function {
        canonical::canonicalize(&mut self.function);
        // A stage's result may be stored for long: without its analyses.
        self.function.forget_graph();
        self.function
    }

    /// Runs a phase, if the level and the switches want it.
    fn step(&mut self, phase: &'static Phase, context: &Context) -> Result<(), Failure> {
        let options = &context.settings.passes;
        let verifies = context.verify || options.verify;
        if options.level < phase.level {
            return Ok(());
        }
        match phase.work {
            Work::Pass(pass) => {
                (context.check)();
                let span = phase.span();
                let wanted = pass.optimization.is_none_or(|optimization| options.has(optimization));
                let share = phase.share(options.limits);
                let idle = pass.idle_at_fixed_point && self.function.at_fixed_point;
                if wanted && !idle && !matches!(share, Share::Nothing) {
                    let allowance = match share {
                        Share::Rewrites(count) => Some(Allowance::new(count)),
                        Share::Nothing | Share::All => None,
                    };
                    let known = PassContext {
                        chip: context.target.chip,
                        form: self.form,
                        options,
                        decisions: context.decisions,
                        allowance: allowance.as_ref(),
                    };
                    let outcome = (pass.run)(&mut self.function, &known);
                    // A pass that had to stop has left something to do.
                    self.function.at_fixed_point =
                        allowance.is_none() && outcome.at_fixed_point(self.function.at_fixed_point);
                }
                drop(span);
                // A pass that changes the form is never turned off.
                self.form = pass.form.after(self.form).unwrap_or(self.form);
                if verifies {
                    self.verify(phase)?;
                }
            }
            Work::Verify if verifies => self.verify(phase)?,
            _ => {}
        }
        Ok(())
    }

    fn verify(&self, phase: &Phase) -> Result<(), Failure> {
        verify(&self.function, self.form).map_err(|violations| {
            let list: Vec<String> = violations.iter().take(8).map(ToString::to_string).collect();
            Failure::internal(phase.name, list.join("; "))
        })
    }
}
