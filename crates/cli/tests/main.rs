//! Tests of the whole program as its users run it: conformance in the interpreter and the simulator, the command line, broken input, and
//! comparisons with the tools of the platform where they are there. One program, so that it is linked once.

mod asm;
mod bad_input;
mod binaries;
mod bisect;
mod cache;
mod changed;
mod check;
mod checks;
mod chips;
mod cli;
mod clients;
mod conformance;
mod containers;
mod copies;
mod debug_sections;
mod debugger;
mod diff;
mod families;
mod files;
mod fixes;
mod fmt;
mod formats;
mod frames;
mod inputs;
mod judge;
mod levels;
mod linking;
mod lsp;
mod meeting;
mod oracle;
mod parts;
mod profile;
#[cfg(unix)]
mod progress;
mod ptxas;
#[cfg(unix)]
mod readme;
mod records;
mod reduce;
#[cfg(target_os = "linux")]
mod resident;
mod serve;
mod several;
mod support;
mod time;
mod verdicts;
mod verify;
mod view;
mod watch;
mod worker;
mod worse_controls;
#[path = "../../fatbin/tests/writer/mod.rs"]
mod writer;
