//! Contents of pages and comparisons of small kernels, as text.

mod comparison;
mod graphs;
mod support;
mod view;
