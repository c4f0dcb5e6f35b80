//! Routines of the compiler keep what they state: registers, no frame, no call, whatever the options. The allocator
//! refuses a routine that does not, so that compiling is the test.

use oriole_chip::Chip;
use oriole_options::{KNOBS, KnobKind, Options, Value};
use oriole_pipeline::{Context, LibraryFunction, Routine, Settings, library, routine};

/// The options of each level.
fn levels() -> impl Iterator<Item = Options> {
    (0..=3).map(|level| {
        let mut options = Options::default();
        options.level = level;
        options
    })
}

/// Options that a user may choose: each level, each switch turned, a few numbers.
fn choices() -> Vec<Options> {
    let mut choices = Vec::new();
    for options in levels() {
        for knob in KNOBS {
            let values = match (knob.kind, knob.default) {
                (KnobKind::Bool, default) => vec![(default != Value::Bool(true)).to_string()],
                (KnobKind::Number(low, high), _) => vec![low.to_string(), high.to_string()],
            };
            for value in values {
                let mut changed = options.clone();
                changed.set(knob.name, &value).expect("a value of the knob");
                choices.push(changed);
            }
        }
        choices.push(options);
    }
    choices
}

#[test]
fn routines_keep_what_they_state() {
    for chip in Chip::all() {
        let target = oriole_pipeline::Target::new(chip).expect("a target");
        // Knobs do the same to the code of each chip.
        let choices = if chip == Chip::SM_90 { choices() } else { levels().collect() };
        for options in choices {
            let settings = Settings::new(&options);
            Routine::all()
                .filter(|which| which.is_on(chip))
                .for_each(|which| keeps_what_it_states(which, &target, &settings, &options));
        }
    }
}

fn keeps_what_it_states(
    which: Routine,
    target: &oriole_pipeline::Target,
    settings: &Settings,
    options: &Options,
) {
    let clobbers = which.code().routine.expect("it states what it overwrites");
    let context = Context::new(target, settings);
    let mut made = vec![routine(which, &context)];
    if let Routine::Exchange(exchange) = which {
        made.push(library(LibraryFunction::Exchange(exchange), &context));
    }
    for linked in made {
        let linked = linked.unwrap_or_else(|failure| panic!("{}: {failure:?}\n{options:?}", which.name()));
        assert_eq!(linked.frame_bytes, 0);
        assert_eq!(linked.called().count(), 0);
        let count = 64 - clobbers.general.leading_zeros() as u16;
        assert!(linked.encoded.general_registers <= oriole_chip::allocated(count), "{}", which.name());
    }
}
