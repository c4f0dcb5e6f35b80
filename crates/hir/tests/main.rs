//! Tests of resolution: bodies and diagnostics of small modules, and which modules are accepted. One program, so that it is linked
//! once.

mod inlining;
mod resolve;
mod verdicts;
