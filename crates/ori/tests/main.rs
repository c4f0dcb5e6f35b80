//! Tests of the intermediate representation: its analyses, its text and the page about it. One program, so that it is
//! linked once.

mod analyses;
mod page;
mod text;
