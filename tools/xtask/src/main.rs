//! Developer commands: oracle, tidy, codegen, bench.

fn main() {}
