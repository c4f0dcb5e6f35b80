//! Tests of trees: their shape, and that they are their text. One program, so that it is linked once.

mod roundtrip;
mod trees;
