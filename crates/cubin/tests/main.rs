//! Tests of the cubin format. One program, so that it is linked once.

mod round_trip;
mod rules;
