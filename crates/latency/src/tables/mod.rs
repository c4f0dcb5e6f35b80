//! The distance tables, one file a chip family. Each number carries its origin.

pub mod sm_90;
