//! Tests of the query graph: what runs after which edit, what is found, what a container holds. One program, so that it is
//! linked once and shares its module of fifty kernels.

mod containers;
mod diagnostics;
mod edits;
mod failure;
mod forms;
mod pointers;
mod progress;
mod renamed;
mod renaming;
mod routines;
mod searched;
mod sequences;
mod store;
mod support;
