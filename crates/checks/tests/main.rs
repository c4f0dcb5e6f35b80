//! Checks on small kernels: each finds its mistake, and nothing in the right kernel next to it.

mod findings;
