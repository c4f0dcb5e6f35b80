//! What pages and comparisons tell of small kernels, as text.

mod comparison;
mod graphs;
mod support;
mod view;
