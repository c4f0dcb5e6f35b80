//! No words and no file make the simulator or the checker panic: an invalid one gives an error in the outcome.

use crate::common::{assemble, assemble_for, launch};
use oriole_cubin::Bound;
use oriole_sass::form::Form;
use oriole_simulate::{Argument, Launch, lint, run};
use std::collections::BTreeSet;

#[test]
fn random_words_end_in_an_outcome() {
    let mut cubin = assemble("NOP\nNOP\nNOP\nNOP\nNOP\nNOP\nNOP\nNOP\nEXIT");
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 29
    };
    // Opcodes of real instructions, so that most random words are instructions.
    let chip = "sm_90a".parse().unwrap();
    let mut words = Vec::new();
    while words.len() < 4000 {
        let word = u128::from(next()) << 64 | u128::from(next());
        // A neutral control word and an unconditional guard let more words through.
        let word = word & ((1 << 105) - 1) & !0xf000 | 0x7000 | 0x7f1u128 << 105;
        if let Ok(instruction) = oriole_sass::decode::decode_lenient(chip, word) {
            words.extend(oriole_sass::encode(chip, &instruction));
        }
    }
    let mut errors = 0;
    for chunk in words.chunks(8) {
        cubin.kernels[0].code[..chunk.len()].copy_from_slice(chunk);
        let mut launch = launch(40, &[3; 64], 64);
        launch.options.step_limit = 2000;
        launch.options.perturb = Some(1);
        errors += usize::from(run(&cubin, &launch).error.is_some());
        lint(&cubin);
    }
    assert!(errors > 0);
}

/// A bit that the form does not know may have a meaning: the word is not executed as if it had none.
#[test]
fn a_word_with_unknown_bits_is_an_error() {
    let right = assemble("FADD R9, R0, R0\nEXIT");
    let launch = launch(32, &[0; 8], 8);
    assert_eq!(run(&right, &launch).error, None);
    let mut strange = right.clone();
    strange.kernels[0].code[0] |= 1 << 90;
    let error = run(&strange, &launch).error.map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|text| text.contains("unused bits")), "{error:?}");
}

/// The word of a form with one value of one of its modifier fields, the others at their first value.
fn word_with(form: &Form, field: usize, value: u64) -> u128 {
    let always = 0x7000 | 0x7f1u128 << 105;
    let fields = form.sets.iter().enumerate().filter_map(|(at, set)| {
        let value = if at == field { value } else { set.rows.first()?.value.into() };
        Some(set.bits.iter().enumerate().fold(0, |word, (n, &bit)| word | u128::from(value >> n & 1) << bit))
    });
    form.value | form.unused_value & form.unused | fields.fold(always, |word, bits| word | bits)
}

/// Every modifier of every form is queried by its execution, is known to have no effect, or gives a fault that names
/// it.
#[test]
fn no_modifier_is_passed_over() {
    let (mut executed, mut unknown) = (0, BTreeSet::new());
    for name in ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"] {
        let chip = name.parse().unwrap();
        let mut cubin = assemble_for(name, "NOP\nEXIT");
        for form in oriole_sass::form::table(chip).unwrap().forms() {
            for (field, row) in
                form.sets.iter().enumerate().flat_map(|(at, set)| set.rows.iter().map(move |row| (at, row)))
            {
                let word = word_with(form, field, row.value.into());
                let Ok(instruction) = oriole_sass::decode::decode_lenient(chip, word) else { continue };
                let Ok(word) = oriole_sass::encode(chip, &instruction) else { continue };
                cubin.kernels[0].code[0] = word;
                let mut launch = launch(1, &[3; 8], 8);
                launch.options.step_limit = 50;
                launch.options.check_hazards = false;
                let error = run(&cubin, &launch).error.map(|error| error.to_string()).unwrap_or_default();
                match error.split_once("not simulated: ") {
                    Some((_, text)) if text.contains("is not known") => {
                        unknown.insert(text.to_owned());
                    }
                    Some(_) => {}
                    None => executed += 1,
                }
            }
        }
    }
    for text in ["EXIT.KEEPREFCOUNT", "FSWZADD.NDV", "BRA.INC", "NANOSLEEP.WARP"] {
        assert!(unknown.iter().any(|known| known.starts_with(text)), "{text} is executed");
    }
    assert!(executed > 1000);
}

/// A file may state any sizes: impossible ones are refused before memory is reserved.
#[test]
fn sizes_that_lie_are_refused() {
    let right = assemble("EXIT");
    let launch = launch(32, &[0; 8], 8);
    assert_eq!(run(&right, &launch).error, None);
    let refused = |change: &dyn Fn(&mut oriole_cubin::read::Kernel), what: &str| {
        let mut cubin = right.clone();
        change(&mut cubin.kernels[0]);
        let error = run(&cubin, &launch).error.map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|text| text.contains(what)), "{what}: {error:?}");
    };
    refused(&|kernel| kernel.parameter_base = u32::MAX, "constant bank");
    refused(&|kernel| kernel.parameter_base = 0xfff8, "constant bank");
    refused(&|kernel| kernel.parameter_size = u32::MAX, "constant bank");
    refused(&|kernel| kernel.parameters[1].offset = u32::MAX, "outside its bank");
    refused(&|kernel| kernel.parameters[1].size = u32::MAX, "outside its bank");
    refused(&|kernel| kernel.stack_size = Some(u32::MAX), "stack");
    refused(&|kernel| kernel.shared_size = 0xff00_0600, "shared memory");
    refused(&|kernel| kernel.shared_size = u64::MAX, "shared memory");
    // Parameters that overlap the driver's data make no sense, but do no harm.
    let mut low = right.clone();
    low.kernels[0].parameter_base = 4;
    assert_eq!(run(&low, &launch).error, None);
}

/// A launch beyond the limits of the hardware or of the kernel's directives is refused, and an argument has its
/// parameter's size.
#[test]
fn launches_that_do_not_fit_are_refused() {
    let cubin = assemble("EXIT");
    let fits = |change: &dyn Fn(&mut Launch), bound: Bound| {
        let (mut cubin, mut launch) = (cubin.clone(), launch(32, &[0; 8], 8));
        cubin.kernels[0].bound = bound;
        change(&mut launch);
        run(&cubin, &launch).error.is_none()
    };
    assert!(fits(&|_| {}, Bound::None));
    assert!(!fits(&|launch| launch.grid = [u32::MAX; 3], Bound::None));
    assert!(!fits(&|launch| launch.grid = [1, 65536, 1], Bound::None));
    assert!(!fits(&|launch| launch.grid = [1, 1, 0], Bound::None));
    assert!(!fits(&|launch| launch.block = [1, 1, 65], Bound::None));
    assert!(!fits(&|launch| launch.block = [1024, 2, 1], Bound::None));
    assert!(fits(&|_| {}, Bound::AtMost([8, 4, 1])));
    assert!(!fits(&|_| {}, Bound::AtMost([31, 1, 1])));
    assert!(fits(&|_| {}, Bound::Exactly([32, 1, 1])));
    assert!(!fits(&|_| {}, Bound::Exactly([16, 2, 1])));
    assert!(!fits(&|launch| launch.arguments[1] = Argument::Value(vec![1]), Bound::None));
    assert!(fits(&|launch| launch.arguments[1] = Argument::Value(vec![1; 8]), Bound::None));
}
