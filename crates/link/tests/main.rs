//! The linker by itself: text in, text out, without a database.

mod call_graph;
mod data;
mod debug_program;
mod layout;
mod lines;
mod resolver;
mod shared;
mod source;
mod support;
