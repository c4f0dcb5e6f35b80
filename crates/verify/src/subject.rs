//! The program and the code of a verification, and its limits. No comparison may enter.

use oriole_cubin::Cubin;
use oriole_interp::Program;

/// Limits of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Launches that are made for a kernel.
    pub seeds: u32,
    /// Most thread instructions of a launch in the interpreter.
    pub budget: u64,
    /// Most warp instructions of a launch in the simulator.
    pub step_limit: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { seeds: 4, budget: 3_000_000, step_limit: 2_000_000 }
    }
}

/// A program, and the code that is to do the same.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The PTX.
    pub program: &'a Program,
    /// The code.
    pub cubin: &'a Cubin,
}

/// The chip of a cubin.
pub fn chip_of(cubin: &Cubin) -> Option<oriole_chip::Chip> {
    format!("sm_{}{}", cubin.sm, if cubin.accelerated { "a" } else { "" }).parse().ok()
}
