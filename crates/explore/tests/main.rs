//! What pages and comparisons tell of small kernels, as text.

mod support;
mod view;
