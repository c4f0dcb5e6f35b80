//! Description of a pass over Ori: its function, the form of Ori that it takes and leaves, and the optimizations
//! whose switches it obeys. The list of phases names the passes; the pipeline driver runs them by this description
//! alone. Neither a pass nor a pass order may enter here.

use crate::pattern::Decisions;
use crate::{Form, Function};
use oriole_chip::Chip;
use oriole_options::{Optimization, PassOptions};
use std::cell::Cell;

/// A pass over one function.
pub struct Pass {
    /// Runs it.
    pub run: fn(&mut Function, &PassContext<'_>) -> Outcome,
    /// Its effect on the form of a function.
    pub form: FormChange,
    /// The optimization that the pass is; where it is turned off, the pass is not run.
    pub optimization: Option<Optimization>,
    /// Other optimizations whose switches the pass reads.
    pub asks: &'static [Optimization],
    /// Nothing is left for the pass at the fixed point of the general optimizations ([`Outcome::FixedPoint`]), so
    /// that it is not run there.
    pub idle_at_fixed_point: bool,
}

impl Pass {
    /// A pass that works in SSA and outside of it, regardless of optimization switches.
    pub const fn new(run: fn(&mut Function, &PassContext<'_>) -> Outcome) -> Pass {
        Pass { run, form: FormChange::Keeps, optimization: None, asks: &[], idle_at_fixed_point: false }
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass").field("form", &self.form).field("optimization", &self.optimization).finish()
    }
}

/// The forms that a pass takes and leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormChange {
    /// Takes either form and keeps it.
    Keeps,
    /// Takes SSA and keeps it.
    InSsa,
    /// Takes several definitions of one value, and leaves them.
    OutsideSsa,
    /// Takes several definitions of one value, leaves SSA form.
    EntersSsa,
    /// Takes SSA, leaves several definitions of one value, one of them on every path to a read.
    LeavesSsa,
}

impl FormChange {
    /// The form after the pass of a function that has this form before; `None` if the pass does not take the form.
    pub fn after(self, before: Form) -> Option<Form> {
        match (self, before) {
            (FormChange::Keeps, form) => Some(form),
            (FormChange::InSsa, Form::Ssa) | (FormChange::EntersSsa, Form::Plain) => Some(Form::Ssa),
            (FormChange::OutsideSsa, Form::Plain | Form::Assigned) => Some(before),
            (FormChange::LeavesSsa, Form::Ssa) => Some(Form::Assigned),
            _ => None,
        }
    }
}

/// Context of a pass besides the function.
#[derive(Clone, Copy, Debug)]
pub struct PassContext<'a> {
    /// Chip.
    pub chip: Chip,
    /// The form that the function has.
    pub form: Form,
    /// Level and optimizations.
    pub options: &'a PassOptions,
    /// Record of contests that are decided before allocation, if they are to be shown.
    pub decisions: Option<&'a Decisions>,
    /// The rewrites that are left to the pass, if they are limited.
    pub allowance: Option<&'a Allowance>,
}

/// A number of rewrites that a pass may still do in a function: for the search for a wrong one. A pass that counts takes one
/// before each rewrite that it would do on its own, and leaves the function right if it gets none.
#[derive(Debug)]
pub struct Allowance(Cell<u32>);

impl Allowance {
    /// A allowance of this number of rewrites.
    pub fn new(rewrites: u32) -> Allowance {
        Allowance(Cell::new(rewrites))
    }

    /// Takes a rewrite; false if there is none left.
    pub fn take(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether there is none left.
    pub fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    /// Takes a rewrite of a allowance; true where there is none.
    pub fn allows(allowance: Option<&Allowance>) -> bool {
        allowance.is_none_or(Allowance::take)
    }
}

impl PassContext<'_> {
    /// True if an optimization is enabled.
    pub fn wants(&self, optimization: Optimization) -> bool {
        self.options.has(optimization)
    }
}

/// Effect of a pass on the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the driver skips passes by it"]
pub enum Outcome {
    /// Nothing was changed.
    Unchanged,
    /// Something may have been changed.
    Changed,
    /// Something was changed, and is simplified like the general optimizations would: a fixed point is still one.
    Kept,
    /// Changed or not, the general optimizations and dead-code removal would change nothing now.
    FixedPoint,
}

impl Outcome {
    /// [`Outcome::Changed`] or [`Outcome::Unchanged`].
    pub fn changed_if(changed: bool) -> Outcome {
        if changed { Outcome::Changed } else { Outcome::Unchanged }
    }

    /// True if a function is at the fixed point of the general optimizations after a pass; `before` is the state
    /// before it.
    pub fn at_fixed_point(self, before: bool) -> bool {
        match self {
            Outcome::Unchanged | Outcome::Kept => before,
            Outcome::Changed => false,
            Outcome::FixedPoint => true,
        }
    }
}
