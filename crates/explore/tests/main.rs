//! What pages and comparisons tell of small kernels, as text.

mod comparison;
mod support;
mod view;
