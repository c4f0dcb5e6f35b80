//! The target-independent passes over Ori, with the analyses and the rewriting that they share.
//!
//! It is here because every pass changes a function and nothing else: each is `run(&mut Function, &OptimizeOptions)`
//! (or without options where correctness needs it at every level). No PTX, no encoding and no pass order may enter:
//! the order belongs to the pipeline.

pub mod analyses;
pub mod passes;
pub mod rewriting;
