//! The linker by itself: text in, text out, without a database.

mod call_graph;
mod debug_program;
mod layout;
mod resolver;
mod shared;
mod support;
