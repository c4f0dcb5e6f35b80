//! No words and no file make the simulator or the checker panic: what is wrong is an error in the outcome.

use crate::common::{assemble, launch};
use oriole_simulate::{lint, run};

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
        if oriole_sass::decode::decode_lenient(chip, word).is_ok() {
            words.push(word);
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
