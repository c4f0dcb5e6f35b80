//! Results of stages with options that were set before: a knob, a level or a switch that is set back finds them.
//!
//! Salsa keeps one result for each query and key. The options are not part of the key, so that a changed option runs only its
//! readers. A stage therefore looks here before it runs: for its unit and configuration, the last results, each with the input and
//! the options that it depends on. A result is a function of those, so one that is found is what the stage would give. Nothing
//! that a stage reads may be missing from them.

use std::any::Any;
use std::ops::Deref;
use std::sync::{self, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use salsa::plumbing::AsId;
use triomphe::Arc;

use crate::{Config, FunctionUnit};

/// Results of a stage that are kept for each unit, the last used ones.
const DEPTH: usize = 3;

/// Units and configurations with kept results. Half of them are dropped if there are more.
const MOST: usize = 1024;

/// A unit for a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(u64, u64);

impl Slot {
    /// The slot of a unit and a configuration.
    pub fn new(unit: FunctionUnit<'_>, config: Config) -> Slot {
        Slot(unit.as_id().as_bits(), config.as_id().as_bits())
    }

    /// The slot of all routines of the compiler for a configuration; each counts as a stage.
    pub fn of_routines(config: Config) -> Slot {
        Slot(u64::MAX, config.as_id().as_bits())
    }
}

/// The results of stages, by slot.
#[derive(Default)]
pub struct History {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    slots: FxHashMap<Slot, Stages>,
    /// Counts uses, to drop what was not used for the longest time.
    clock: u64,
}

/// The results for one slot.
#[derive(Default)]
struct Stages {
    /// The last use.
    used: u64,
    /// By stage, the last results first; each is an [`Entry`].
    results: FxHashMap<&'static str, Vec<AnyEntry>>,
}

/// An [`Entry`] of any types.
type AnyEntry = sync::Arc<dyn Any + Send + Sync>;

/// A result with what it depends on; the input is a shared pointer.
struct Entry<I, O, T> {
    input: I,
    options: O,
    result: Arc<T>,
}

impl<I: Deref<Target: PartialEq>, O, T> Entry<I, O, T> {
    /// Whether the input is this one or equal.
    fn is_of(&self, input: &I) -> bool {
        std::ptr::eq(&*self.input, &**input) || *self.input == **input
    }
}

impl History {
    /// The result of a stage for this input and these options, if it is kept.
    pub fn find<I, O, T>(&self, slot: Slot, stage: &'static str, input: &I, options: &O) -> Option<Arc<T>>
    where
        I: Deref<Target: PartialEq> + 'static,
        O: PartialEq + 'static,
        T: 'static,
    {
        // Inputs may be large: they are compared without the lock.
        let results = self.lock().used(slot)?.results.get(stage)?.clone();
        let is_wanted = |entry: &Entry<I, O, T>| entry.options == *options && entry.is_of(input);
        let found = results.iter().find(|result| result.downcast_ref().is_some_and(is_wanted))?;
        self.lock().move_to_front(slot, stage, found);
        Some(found.downcast_ref::<Entry<I, O, T>>()?.result.clone())
    }

    /// Keeps the result of a stage that was not found. Where too many are kept, the one that was not used for the longest time goes.
    pub fn keep<I, O, T>(&self, slot: Slot, stage: &'static str, input: &I, options: O, result: &Arc<T>)
    where
        I: Clone + Send + Sync + 'static,
        O: Send + Sync + 'static,
        T: Send + Sync + 'static,
    {
        let mut kept = self.lock();
        if kept.slots.len() >= MOST && !kept.slots.contains_key(&slot) {
            kept.drop_half();
        }
        kept.slots.entry(slot).or_default();
        let Some(stages) = kept.used(slot) else { return };
        let results = stages.results.entry(stage).or_default();
        results.truncate(DEPTH - 1);
        let entry = Entry { input: input.clone(), options, result: result.clone() };
        results.insert(0, sync::Arc::new(entry));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A panic leaves whole entries.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The results of a slot, which are used now.
    fn used(&mut self, slot: Slot) -> Option<&mut Stages> {
        self.clock += 1;
        let stages = self.slots.get_mut(&slot)?;
        stages.used = self.clock;
        Some(stages)
    }

    /// Makes a result of a stage the last used one, if it is still kept.
    fn move_to_front(&mut self, slot: Slot, stage: &'static str, found: &AnyEntry) {
        let results = self.slots.get_mut(&slot).and_then(|stages| stages.results.get_mut(stage));
        if let Some(results) = results
            && let Some(at) = results.iter().position(|result| sync::Arc::ptr_eq(result, found))
        {
            results[..=at].rotate_right(1);
        }
    }

    /// Drops the half of the slots that was not used for the longest time.
    fn drop_half(&mut self) {
        let mut uses: Vec<u64> = self.slots.values().map(|stages| stages.used).collect();
        let middle = uses.len() / 2;
        let (_, &mut since, _) = uses.select_nth_unstable(middle);
        self.slots.retain(|_, stages| stages.used >= since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(unit: u64) -> Slot {
        Slot(unit, 0)
    }

    #[test]
    fn a_result_is_found_for_its_input_and_options_only() {
        let history = History::default();
        let (one, other) = (Arc::new("one"), Arc::new("other"));
        let find = |slot: Slot, stage: &'static str, input: &Arc<&'static str>, options: u8| {
            history.find::<Arc<&str>, u8, u32>(slot, stage, input, &options).map(|found| *found)
        };
        history.keep(slot(0), "early", &one, 1u8, &Arc::new(11u32));
        history.keep(slot(0), "early", &one, 2u8, &Arc::new(12u32));
        assert_eq!(find(slot(0), "early", &one, 1), Some(11));
        assert_eq!(find(slot(0), "early", &Arc::new("one"), 2), Some(12), "an equal input is the same one");
        for (unit, stage, input, options) in
            [(1, "early", &one, 1), (0, "late", &one, 1), (0, "early", &other, 1), (0, "early", &one, 3)]
        {
            assert_eq!(find(slot(unit), stage, input, options), None, "{unit} {stage} {input} {options}");
        }
        // Of three results the one that was not used for the longest time goes with the fourth: that for 1 was found before 2.
        history.keep(slot(0), "early", &other, 2u8, &Arc::new(22u32));
        history.keep(slot(0), "early", &one, 3u8, &Arc::new(13u32));
        assert_eq!(find(slot(0), "early", &one, 1), None);
        assert_eq!(
            (find(slot(0), "early", &one, 2), find(slot(0), "early", &other, 2)),
            (Some(12), Some(22))
        );
    }

    #[test]
    fn the_units_with_results_are_bounded() {
        let history = History::default();
        let input = Arc::new(());
        for unit in 0..MOST as u64 * 3 {
            history.keep(slot(unit), "early", &input, (), &Arc::new(unit));
            assert!(history.lock().slots.len() <= MOST);
            // The first unit is used all the time.
            assert!(history.find::<Arc<()>, (), u64>(slot(0), "early", &input, &()).is_some(), "{unit}");
        }
    }
}
