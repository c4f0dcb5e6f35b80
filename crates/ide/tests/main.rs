//! Tests of an editor's queries: each feature on small texts, broken texts, the embedding page. One program, so that it
//! is linked once and shares its fixtures.

mod across;
mod code;
mod embedding;
mod features;
mod forms;
mod hostile;
mod insight;
mod recomputed;
mod support;
mod typing;
