//! The steps between the least that code needs and all that a level does, and the search for the one that matters.
//!
//! No launch and no compile is here: only options, and a verdict on them that the caller gives.

use oriole_explore::{OptionalPhase, optional_phases};
use oriole_options::{KNOBS, Knob, KnobError, KnobKind, Limits, Options, Reader, Value};

/// Switches of later stages that ask for something else than less optimization.
const NO_STEPS: [&str; 2] = ["min-regs", "check-registers"];

/// A step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A phase over Ori runs.
    Phase(OptionalPhase),
    /// A later stage does something that this switch turns off.
    Stage(&'static Knob),
}

/// All steps of some options.
pub struct Steps {
    base: Options,
    steps: Vec<Step>,
}

impl Steps {
    /// The steps, in the order in which they act. Those that the options turn off themselves are left out.
    pub fn new(base: &Options) -> Steps {
        let is_on = |name: &str| base.get(name) == Some(Value::Bool(true));
        let phases = optional_phases().filter(|phase| {
            let off = phase.switch.is_some_and(is_switch_and(is_on));
            phase.level <= base.level && !off
        });
        let is_step = |knob: &&Knob| {
            let switch = knob.kind == KnobKind::Bool && knob.default == Value::Bool(false);
            switch && !knob.readers.contains(&Reader::Passes) && !NO_STEPS.contains(&knob.name)
        };
        let mut stages: Vec<&Knob> =
            KNOBS.iter().filter(is_step).filter(|knob| base.level > 0 && !is_on(knob.name)).collect();
        // Readers are declared in the order of the stages.
        stages.sort_by_key(|knob| knob.readers.first().copied());
        let steps = phases.map(Step::Phase).chain(stages.into_iter().map(Step::Stage)).collect();
        Steps { base: base.clone(), steps }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// The step of a number, from 1.
    pub fn step(&self, number: usize) -> Option<Step> {
        self.steps.get(number.checked_sub(1)?).copied()
    }

    /// The options with the first steps only.
    ///
    /// # Errors
    /// A knob is not there any more.
    pub fn options(&self, count: usize) -> Result<Options, KnobError> {
        let mut options = self.base.clone();
        let (done, left) = self.steps.split_at(count.min(self.steps.len()));
        let limit = match left.first() {
            Some(Step::Phase(_)) => done.last().map_or(0, |step| match step {
                Step::Phase(phase) => phase.limit,
                Step::Stage(_) => Limits::NONE,
            }),
            _ => Limits::NONE,
        };
        options.set("phase-limit", &limit.to_string())?;
        for step in left {
            if let Step::Stage(knob) = step {
                options.switch_on(knob.name)?;
            }
        }
        Ok(options)
    }

    /// The options that run the phases up to one, that one with a number of rewrites, and no later stage's step.
    ///
    /// # Errors
    /// As [`Steps::options`].
    pub fn with_rewrites(&self, number: usize, rewrites: u32) -> Result<Options, KnobError> {
        let mut options = self.options(number)?;
        if let Some(Step::Phase(phase)) = self.step(number) {
            options.set("phase-limit", &phase.limit.to_string())?;
        }
        options.set("rewrite-limit", &rewrites.to_string())?;
        Ok(options)
    }
}

/// Whether a name is a switch that is on, and not an optimization that is named after its effect.
fn is_switch_and(is_on: impl Fn(&str) -> bool) -> impl Fn(&str) -> bool {
    move |name| {
        let row = KNOBS.iter().find(|knob| knob.name == name);
        row.is_some_and(|knob| knob.default == Value::Bool(false)) && is_on(name)
    }
}

/// The first wrong number from `low + 1` to `high`. `low` is right, `high` is wrong, and each number after a wrong one is wrong;
/// else one that is wrong and whose predecessor is right.
///
/// # Errors
/// That of `is_wrong`.
pub fn boundary<E>(
    mut low: u64,
    mut high: u64,
    mut is_wrong: impl FnMut(u64) -> Result<bool, E>,
) -> Result<u64, E> {
    while high - low > 1 {
        let middle = low.midpoint(high);
        if is_wrong(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::{Step, Steps, boundary};
    use oriole_options::{Options, Value};
    use std::convert::Infallible;

    #[test]
    fn the_boundary_is_found() {
        for first in 1..=40u64 {
            let mut asked = 0;
            let found = boundary(0, 40, |number| {
                asked += 1;
                Ok::<_, Infallible>(number >= first)
            });
            assert_eq!(found, Ok(first));
            assert!(asked <= 6, "{asked}");
        }
    }

    /// All steps are the options themselves; none of them leaves phases that are needed, and each differs from the one before.
    #[test]
    fn steps_lead_from_nothing_to_everything() {
        let base = Options::default();
        let steps = Steps::new(&base);
        let at = |count| steps.options(count).expect("options");
        assert_eq!(at(steps.count()), base);
        assert_eq!(at(0).get("phase-limit"), Some(Value::Number(0)));
        assert_eq!(at(0).get("serial-deps"), Some(Value::Bool(true)));
        for count in 0..steps.count() {
            assert_ne!(at(count), at(count + 1), "{:?}", steps.step(count + 1));
        }
        let phases = (1..=steps.count()).filter(|&number| matches!(steps.step(number), Some(Step::Phase(_))));
        assert!(phases.count() > 20);
        // A switch that is on is not a step, and at level 0 there is none.
        let mut without = base.clone();
        without.switch_on("no-gvn").expect("a switch");
        without.switch_on("no-remat").expect("a switch");
        assert_eq!(Steps::new(&without).count(), steps.count() - 2);
        let mut unoptimized = base.clone();
        unoptimized.level = 0;
        assert_eq!(Steps::new(&unoptimized).count(), 0);
    }
}
