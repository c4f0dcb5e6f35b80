//! Tests of the C library: its arguments, and programs that use it. One program, so that it is linked once.

mod arguments;
// C programs and threads that compile: Miri runs neither.
#[cfg(not(miri))]
mod library;
