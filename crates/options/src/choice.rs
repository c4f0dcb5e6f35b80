//! The choices of code generation that the search of level 4 makes for a function, and sets of them.
//!
//! A row is the value of one knob, and its effect on the options of the stages. It is here with the knobs so that a compile with
//! choices is a compile with those knobs, and nothing else: a test holds each row against its knob. How a choice is found, and what it
//! is worth, must not enter.

use crate::{
    AllocateOptions, FinishOptions, Optimization, Options, OrderOptions, PassOptions, ScheduleMode,
    SelectOptions,
};

/// The effect of a choice on options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// The passes go without an optimization.
    Without(Optimization),
    /// The scheduler before allocation ranks otherwise.
    Ranking(ScheduleMode),
    /// No more general registers than this.
    Registers(u16),
    /// Every register counts in the schedule before allocation.
    NoBudget,
    /// Registers are not reduced for one more block.
    NoOccupancy,
    /// As few registers as possible.
    FewRegisters,
    /// Each value gets its register for itself.
    NoClusters,
    /// The same form for an operation, however busy its unit is.
    NoAlternatives,
    /// Code that is rarely run stays where it is.
    InlineColdBlocks,
    /// Nothing moves, neither before nor after allocation.
    SourceOrder,
    /// Nothing moves after allocation.
    NoLateOrder,
    /// A scoreboard for each result.
    NoInOrder,
}

/// The kind of change, which decides how a choice can be judged; a judge of a scope judges those before it as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// Order, registers and control words of the same operations: an estimate without a run compares two codes.
    Arrangement,
    /// The operations, or where they are: only a run says how often each is executed, and what moves between registers cost.
    Operations,
}

/// A choice.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The knob.
    pub knob: &'static str,
    /// Its value, as `--knob` takes it.
    pub value: &'static str,
    /// The effect of that value.
    effect: Effect,
}

const fn on(knob: &'static str, effect: Effect) -> Choice {
    Choice { knob, value: "true", effect }
}

const fn ranking(value: &'static str, mode: ScheduleMode) -> Choice {
    Choice { knob: "schedule-mode", value, effect: Effect::Ranking(mode) }
}

const fn registers(value: &'static str, count: u16) -> Choice {
    Choice { knob: "maxrregcount", value, effect: Effect::Registers(count) }
}

/// Every choice, those that win most often first: a search with few trials makes the first ones. A set is a word of 32 bits. None
/// changes a result: `no-linear`, which gains as often, also leaves multiplies and adds apart, and so rounds otherwise.
pub const CHOICES: &[Choice] = &[
    ranking("0", ScheduleMode::Pressure),
    on("no-sched", Effect::SourceOrder),
    on("no-select-alternatives", Effect::NoAlternatives),
    on("no-sinking", Effect::Without(Optimization::Sinking)),
    on("no-unroll", Effect::Without(Optimization::Unrolling)),
    on("no-uniform", Effect::Without(Optimization::UniformRegisters)),
    registers("40", 40),
    ranking("2", ScheduleMode::Batches),
    on("no-late-sched", Effect::NoLateOrder),
    on("no-join-blocks", Effect::Without(Optimization::JoinBlocks)),
    on("no-routines", Effect::Without(Optimization::Routines)),
    on("no-predication", Effect::Without(Optimization::Predication)),
    on("no-register-budget", Effect::NoBudget),
    registers("24", 24),
    registers("32", 32),
    on("no-in-order", Effect::NoInOrder),
    on("no-register-clusters", Effect::NoClusters),
    on("no-uniform-atomics", Effect::Without(Optimization::UniformAtomics)),
    on("no-cold-blocks", Effect::InlineColdBlocks),
    on("no-occupancy", Effect::NoOccupancy),
    on("min-regs", Effect::FewRegisters),
    registers("48", 48),
    registers("64", 64),
    registers("80", 80),
    registers("96", 96),
    registers("128", 128),
    on("no-nested-conditions", Effect::Without(Optimization::NestedConditions)),
];

impl Choice {
    /// How it can be judged.
    pub fn scope(&self) -> Scope {
        match self.effect {
            Effect::Ranking(_)
            | Effect::Registers(_)
            | Effect::NoBudget
            | Effect::NoOccupancy
            | Effect::SourceOrder
            | Effect::NoLateOrder
            | Effect::NoInOrder => Scope::Arrangement,
            _ => Scope::Operations,
        }
    }

    /// The most registers that it leaves, if it limits them.
    pub fn register_limit(&self) -> Option<u16> {
        match self.effect {
            Effect::Registers(count) => Some(count),
            _ => None,
        }
    }

    /// As `--knob` takes it; a switch by its name alone, as `--debug-switch` takes it.
    pub fn text(&self) -> String {
        if self.value == "true" { self.knob.to_owned() } else { format!("{}={}", self.knob, self.value) }
    }
}

/// A set of choices, of each knob at most one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Choices(u32);

impl Choices {
    /// No choice: code as at level 3.
    pub const NONE: Choices = Choices(0);

    /// The set with a row of [`CHOICES`], instead of the one of the same knob.
    #[must_use]
    pub fn with(self, row: usize) -> Choices {
        let Some(added) = CHOICES.get(row) else { return self };
        let kept = self.rows().filter(|&other| CHOICES[other].knob != added.knob);
        Choices(kept.fold(1 << row, |bits, other| bits | 1 << other))
    }

    /// Whether nothing is chosen.
    pub fn is_empty(self) -> bool {
        self == Choices::NONE
    }

    /// Whether a row of [`CHOICES`] is chosen.
    pub fn has(self, row: usize) -> bool {
        row < CHOICES.len() && self.0 >> row & 1 == 1
    }

    /// The rows that are chosen.
    fn rows(self) -> impl Iterator<Item = usize> {
        (0..CHOICES.len()).filter(move |&row| self.has(row))
    }

    /// The choices.
    pub fn iter(self) -> impl Iterator<Item = &'static Choice> {
        self.rows().map(|row| &CHOICES[row])
    }

    fn effects(self) -> impl Iterator<Item = Effect> {
        self.iter().map(|choice| choice.effect)
    }

    /// Options of passes with these choices.
    #[must_use]
    pub fn passes(self, options: PassOptions) -> PassOptions {
        self.effects().fold(options, |options, effect| match effect {
            Effect::Without(optimization) => options.without(optimization),
            _ => options,
        })
    }

    /// Options of scheduling before allocation with these choices. A ranking that was asked for stays.
    #[must_use]
    pub fn order(self, mut options: OrderOptions) -> OrderOptions {
        let unasked = options.mode == ScheduleMode::default();
        for effect in self.effects() {
            match effect {
                Effect::Ranking(mode) if unasked => options.mode = mode,
                Effect::Registers(count) => options.limit = Some(least(options.limit, count)),
                Effect::NoBudget => options.budgeted = false,
                Effect::NoOccupancy => options.occupancy = false,
                Effect::SourceOrder => options.reorder = false,
                _ => {}
            }
        }
        options
    }

    /// Options of allocation with these choices.
    #[must_use]
    pub fn allocate(self, mut options: AllocateOptions) -> AllocateOptions {
        for effect in self.effects() {
            match effect {
                Effect::Registers(count) => options.limit = Some(least(options.limit, count)),
                Effect::FewRegisters => options.minimal = true,
                Effect::NoClusters => options.clusters = false,
                Effect::InlineColdBlocks => options.cold_blocks = false,
                _ => {}
            }
        }
        options
    }

    /// Options of selection with these choices.
    #[must_use]
    pub fn select(self, mut options: SelectOptions) -> SelectOptions {
        options.alternatives &= !self.effects().any(|effect| effect == Effect::NoAlternatives);
        options
    }

    /// Options of scheduling after allocation, and of control words, with these choices.
    #[must_use]
    pub fn finish(self, mut options: FinishOptions) -> FinishOptions {
        for effect in self.effects() {
            match effect {
                Effect::SourceOrder | Effect::NoLateOrder => options.reorder = false,
                Effect::NoInOrder => options.in_order = false,
                _ => {}
            }
        }
        options
    }
}

fn least(limit: Option<u16>, count: u16) -> u16 {
    limit.map_or(count, |limit| limit.min(count))
}

/// The knobs, separated by commas.
impl std::fmt::Display for Choices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts: Vec<String> = self.iter().map(Choice::text).collect();
        f.write_str(&texts.join(", "))
    }
}

/// Options of the search, which level 4 asks for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SearchOptions {
    /// Compiles of each function beyond the first; nothing below level 4.
    pub trials: Option<u32>,
    /// Choices that are known already, by name of the kernel or function: nothing is searched for these.
    pub known: Vec<(String, Choices)>,
}

impl SearchOptions {
    /// The choices that are known for a function.
    pub fn known(&self, name: &str) -> Option<Choices> {
        self.known.iter().find(|(known, _)| known == name).map(|&(_, choices)| choices)
    }
}

impl Options {
    /// The part that the search reads: nothing below level 4.
    pub fn search(&self) -> SearchOptions {
        if self.level <= Options::MOST_EFFORT {
            return SearchOptions::default();
        }
        SearchOptions { trials: Some(self.number(crate::KnobId::SearchTrials)), known: self.known.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_its_knob() {
        assert!(CHOICES.len() <= 32);
        for (row, choice) in CHOICES.iter().enumerate() {
            let base = Options::default();
            let mut changed = base.clone();
            changed.set(choice.knob, choice.value).unwrap();
            let chosen = Choices::NONE.with(row);
            assert_eq!(chosen.passes(base.passes()), changed.passes(), "{}", choice.text());
            assert_eq!(chosen.order(base.order()), changed.order(), "{}", choice.text());
            assert_eq!(chosen.allocate(base.allocate()), changed.allocate(), "{}", choice.text());
            assert_eq!(chosen.select(base.select()), changed.select(), "{}", choice.text());
            assert_eq!(chosen.finish(base.finish()), changed.finish(), "{}", choice.text());
            assert_ne!(base, changed, "{} is no default", choice.text());
            assert!(choice.scope() > Scope::Arrangement || base.passes() == changed.passes());
        }
    }

    #[test]
    fn a_set_has_one_choice_of_a_knob() {
        let row = |text: &str| CHOICES.iter().position(|choice| choice.text() == text).unwrap();
        let (fewest, batches, unroll) = (row("schedule-mode=0"), row("schedule-mode=2"), row("no-unroll"));
        let set = Choices::NONE.with(fewest).with(unroll).with(batches);
        assert_eq!(set.to_string(), "no-unroll, schedule-mode=2");
        assert!(set.has(batches) && !set.has(fewest) && !set.is_empty());
        assert_eq!(set.with(CHOICES.len()), set);
    }

    #[test]
    fn limits_that_are_given_hold() {
        let mut options = Options::default();
        options.set("maxrregcount", "28").unwrap();
        options.set("schedule-mode", "0").unwrap();
        let every = (0..CHOICES.len()).fold(Choices::NONE, Choices::with);
        assert_eq!(every.order(options.order()).limit, Some(28));
        assert_eq!(every.allocate(options.allocate()).limit, Some(28));
        assert_eq!(every.order(options.order()).mode, ScheduleMode::Pressure);
    }

    #[test]
    fn only_level_4_searches() {
        let mut options = Options::default();
        for level in 0..=3 {
            options.level = level;
            assert_eq!(options.search(), SearchOptions::default(), "{level}");
        }
        options.level = 4;
        assert!(options.search().trials > Some(0));
        let third = Options::default();
        assert_eq!(
            (options.lower(), options.passes(), options.order(), options.allocate(), options.finish()),
            (third.lower(), third.passes(), third.order(), third.allocate(), third.finish()),
            "what it starts from is level 3"
        );
        options.set("search-trials", "0").unwrap();
        assert_eq!(options.search().trials, Some(0));
    }
}
