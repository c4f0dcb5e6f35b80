//! Options of the compiler as data: the knob registry, and one plain struct for each stage.
//!
//! Every knob has one name, type, default and description, and a stage sees only the options that it may depend on. No
//! parsing of command lines, no environment and no pass may enter.
//!
//! [`Options`] holds everything; [`Options::passes`], [`Options::order`] ... project the part that one reader may
//! see. A projection is `Eq + Hash`, so that a change of a knob of one reader leaves the others' inputs equal.

mod choice;
mod groups;
mod optimization;
mod registry;

pub use choice::{CHOICES, Choice, Choices, Scope, SearchOptions};
pub use groups::{
    AllocateOptions, DebugOptions, FinishOptions, Linking, LowerOptions, OrderOptions, ScheduleMode,
    SelectOptions,
};
pub use optimization::{Limits, Optimization, Optimizations, PassOptions};
pub use registry::{KNOBS, Knob, KnobError, KnobId, KnobKind, Reader, Value};

/// All options of one compile, apart from the chip.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// Optimization level 0 to 4.
    pub level: u8,
    /// Debug information.
    pub debug: DebugOptions,
    /// The parts left to a linker.
    pub linking: Linking,
    /// Choices of level 4 that are known already, by name of the kernel or function.
    pub known: Vec<(String, Choices)>,
    /// A value for each row of [`KNOBS`], in that order.
    values: Vec<Value>,
}

impl Default for Options {
    fn default() -> Options {
        let values = KNOBS.iter().map(|knob| knob.default).collect();
        Options {
            level: 3,
            debug: DebugOptions::default(),
            linking: Linking::Whole,
            known: Vec::new(),
            values,
        }
    }
}

impl Options {
    /// The highest level.
    pub const HIGHEST_LEVEL: u8 = 4;

    /// The level of the stages at [`Options::HIGHEST_LEVEL`], which chooses among codes of this one.
    pub const MOST_EFFORT: u8 = 3;

    /// The level that the stages see.
    fn effort(&self) -> u8 {
        self.level.min(Options::MOST_EFFORT)
    }

    /// The value of a knob. The name must be one of the registry.
    pub fn get(&self, name: &str) -> Option<Value> {
        registry::index(name).map(|index| self.values[index])
    }

    /// Sets a knob from its text, as in `--knob NAME=TEXT`.
    ///
    /// # Errors
    /// An unknown name, or a text that is not a value of the knob's type or outside its range.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), KnobError> {
        let index = registry::index(name).ok_or_else(|| KnobError::Unknown(name.to_owned()))?;
        self.values[index] = KNOBS[index].parse(text)?;
        Ok(())
    }

    /// Turns a debug switch on, as in `--debug-switch NAME`. Switches are the boolean knobs whose default is false.
    ///
    /// # Errors
    /// The name is not a switch.
    pub fn switch_on(&mut self, name: &str) -> Result<(), KnobError> {
        let index = registry::index(name)
            .filter(|&index| KNOBS[index].default == Value::Bool(false))
            .ok_or_else(|| KnobError::Unknown(name.to_owned()))?;
        self.values[index] = Value::Bool(true);
        Ok(())
    }

    fn bool(&self, knob: KnobId) -> bool {
        self.values[knob as usize] == Value::Bool(true)
    }

    fn number(&self, knob: KnobId) -> u32 {
        match self.values[knob as usize] {
            Value::Number(number) => number,
            Value::Bool(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_changes_only_what_its_readers_see() {
        for knob in KNOBS {
            let base = Options { level: 4, ..Options::default() };
            let mut changed = base.clone();
            let text = match (knob.kind, knob.default) {
                (KnobKind::Bool, Value::Bool(true)) => "false".to_owned(),
                (KnobKind::Bool, _) => "true".to_owned(),
                (KnobKind::Number(low, high), default) => {
                    if default == Value::Number(low) {
                        high.to_string()
                    } else {
                        low.to_string()
                    }
                }
            };
            changed.set(knob.name, &text).unwrap();
            let differs = [
                (Reader::Lower, base.lower() != changed.lower()),
                (Reader::Passes, base.passes() != changed.passes()),
                (Reader::Order, base.order() != changed.order()),
                (Reader::Allocate, base.allocate() != changed.allocate()),
                (Reader::Select, base.select() != changed.select()),
                (Reader::Finish, base.finish() != changed.finish()),
                (Reader::Search, base.search() != changed.search()),
            ];
            for (reader, differs) in differs {
                assert_eq!(differs, knob.readers.contains(&reader), "knob {} and {reader:?}", knob.name);
            }
        }
    }

    /// Steps that each level adds to the one below it. Those of passes are in the list of phases.
    #[test]
    fn levels_decide_how_often_a_function_is_scheduled_and_allocated() {
        let at = |level| {
            let options = Options { level, ..Options::default() };
            let (order, allocate, finish) = (options.order(), options.allocate(), options.finish());
            let scheduling = [order.reorder, finish.reorder, order.early, order.again];
            (scheduling, [allocate.rename, allocate.improve], [finish.reuse, options.select().alternatives])
        };
        assert_eq!(at(0), ([false; 4], [false; 2], [false; 2]));
        assert_eq!(at(1), ([true, true, false, false], [false; 2], [false; 2]));
        assert_eq!(at(2), ([true, true, true, false], [true, false], [true; 2]));
        assert_eq!(at(3), ([true; 4], [true; 2], [true; 2]));
        assert_eq!(at(4), at(3));
    }

    #[test]
    fn what_is_left_to_a_linker_concerns_lowering_only() {
        let base = Options::default();
        for linking in [Linking::Extensible, Linking::Relocatable] {
            let linked = Options { linking, ..base.clone() };
            assert_ne!(base.lower(), linked.lower());
            assert_eq!(
                (base.passes(), base.order(), base.allocate(), base.select(), base.finish()),
                (linked.passes(), linked.order(), linked.allocate(), linked.select(), linked.finish())
            );
        }
    }

    #[test]
    fn sections_are_for_linkers_and_debuggers() {
        let of = |linking, level, full| {
            let debug = DebugOptions { full, ..DebugOptions::default() };
            let lower = Options { linking, level, debug, ..Options::default() }.lower();
            (lower.separate(), lower.calls_library(), lower.reports_errors())
        };
        for linking in [Linking::Whole, Linking::Extensible] {
            assert_eq!(of(linking, 3, true), (false, false, false), "nothing optimized is for debuggers");
            assert_eq!(of(linking, 0, false), (false, false, false));
            assert_eq!(of(linking, 0, true), (true, true, true));
        }
        assert_eq!(of(Linking::Relocatable, 3, true), (true, false, false));
        assert_eq!(of(Linking::Relocatable, 0, false), (true, true, false));
        assert_eq!(of(Linking::Relocatable, 0, true), (true, true, true));
    }

    #[test]
    fn every_optimization_has_one_knob() {
        for &optimization in Optimization::ALL {
            let knobs = KNOBS.iter().filter(|knob| knob.optimization == Some(optimization));
            assert_eq!(knobs.count(), 1, "{optimization:?}");
            assert!(Options::default().passes().has(optimization), "{optimization:?} is wanted by default");
        }
    }

    #[test]
    fn bad_knobs_are_refused() {
        let mut options = Options::default();
        assert_eq!(options.set("nope", "1").unwrap_err().to_string(), "there is no knob `nope`");
        assert_eq!(
            options.set("stall-cap", "16").unwrap_err().to_string(),
            "`16` is no value of knob `stall-cap`: expected a number from 1 to 15"
        );
        assert!(options.switch_on("fmad").is_err());
        assert!(options.switch_on("serial-deps").is_ok());
        assert!(options.finish().serial);
    }
}
