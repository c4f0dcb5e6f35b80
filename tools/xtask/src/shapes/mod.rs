//! `shapes`: programs of one shape and any size, and how compile time grows with the size.
//!
//! Each row of [`SHAPES`] writes a module of about a given number of instructions in which one element is repeated:
//! breaks out of one loop, loops in loops, functions that call each other. This shows superlinear algorithms in a
//! compiler most clearly. `shapes NAME SIZE` prints a module; `shapes --measure PROGRAM [--against PTXAS] [NAME ...]`
//! compiles each shape at 3,000, 10,000 and 30,000 instructions and prints user times and peak memory, with the exponents
//! between the sizes.

mod data;
mod flow;
mod measure;
mod modules;
mod nests;

use std::fmt::Write as _;

use data::*;
use flow::*;
use modules::*;
use nests::*;

/// A shape: its name and the function that writes a module of about a given number of instructions.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("arith", |n| {
        kernel(
            n,
            "",
            |b| {
                (0..n)
                    .for_each(|i| line(b, format_args!("xor.b32 %r{}, %r{}, %r{};", i + 2, i + 1, i / 2 + 1)))
            },
            n + 1,
        )
    }),
    ("diamonds", |n| kernel(n, "", diamonds(n / 6), n / 6 * 2 + 1)),
    ("breaks", |n| kernel(n, "", |b| leave_loop(b, n / 3, "$end"), n + 1)),
    ("continues", |n| kernel(n, "", |b| leave_loop(b, n / 3, "$next"), n + 1)),
    ("merges", |n| kernel(n, "", merges(n / 3), n / 3 + 1)),
    ("exits", |n| kernel(n, "", exits(n / 3), n / 3 + 1)),
    ("nested_ifs", |n| kernel(n, "", nested_ifs(n / 3), n / 3 + 1)),
    ("nested_loops", |n| kernel(n, "", nested_loops(n / 4), 1)),
    ("sequential_loops", |n| kernel(n, "", sequential_loops(n / 4), 1)),
    ("loop_phis", |n| kernel(n, "", loop_phis(n / 2), n / 2 + 1)),
    ("ladder", |n| kernel(n, "", ladder(n / 4), 1)),
    ("switch", |n| kernel(n, "", |b| switch(b, n / 3, "$end"), 1)),
    ("dispatcher", |n| kernel(n, "", |b| switch(b, n / 3, "$head"), 1)),
    ("irreducible", |n| kernel(n, "", irreducible(n / 7), 1)),
    ("live_values", |n| kernel(n, "", live_values(n / 2), n + 2)),
    ("latches", |n| kernel(n, "", latches(n / 3), n + 1)),
    ("nested_counters", |n| kernel(n, "", nested_counters(n / 5), 1)),
    ("nested_exits", |n| kernel(n, "", nested_exits(n / 6), 1)),
    ("scopes", |n| kernel(n, "", scopes(n / 2), 1)),
    ("backward", |n| kernel(n, "", backward(n / 4), 1)),
    ("labels", |n| kernel(n, "", labels(n), 1)),
    ("barriers", |n| kernel(n, "", barriers(n / 2), 1)),
    ("predicates", |n| kernel(n, "", predicates(n / 2), 1)),
    ("carries", |n| kernel(n, "", carries(n), n + 1)),
    ("divisions", |n| kernel(n, "", divisions(n / 40), 1)),
    ("local_array", |n| kernel(n, "", local_array(n / 4), 1)),
    ("memory", |n| kernel(n, "", memory(n / 2, "ld.global.u32"), n / 2 + 1)),
    ("constant_loads", |n| kernel(n, "", memory(n / 2, "ld.global.nc.u32"), n / 2 + 1)),
    ("shared_addresses", |n| {
        kernel(n, ".shared .align 16 .b32 s[1024];\n", shared_addresses(n / 4), n / 4 * 4 + 2)
    }),
    ("shared", |n| kernel(n, &variables(".shared .b32 s", n.min(24_000) / 3), shared(n), n + 2)),
    ("globals", |n| kernel(n, &variables(".global .b32 g", n / 3), globals(n / 3), n + 2)),
    ("call_chain", call_chain),
    ("functions", functions),
    ("empty_functions", |n| kernel(1, &empty_functions(n), |_| {}, 1)),
    ("kernels", kernels),
    ("parameters", |n| parameters(n / 2)),
    ("arguments", |n| arguments(n / 4)),
    ("value_parameter", value_parameter),
    ("initializer", initializer),
];

const HEADER: &str = ".version 8.1\n.target sm_90\n.address_size 64\n";

fn line(body: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = writeln!(body, "  {what}");
}

/// A module of one kernel that loads `%r1`, runs the body and stores `%r{last}`.
fn kernel(size: usize, before: &str, body: impl FnOnce(&mut String), last: usize) -> String {
    let mut text = format!("{HEADER}{before}.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n");
    let registers = size + 16;
    line(
        &mut text,
        format_args!(
            ".reg .pred %p<{registers}>;\n  .reg .b32 %r<{registers}>;\n  .reg .b32 %i<4>;\n  .reg .b64 %rd<{registers}>;"
        ),
    );
    line(&mut text, format_args!("ld.param.u64 %rd1, [out];\n  cvta.to.global.u64 %rd1, %rd1;"));
    line(
        &mut text,
        format_args!(
            "mov.u32 %r1, %tid.x;\n  mul.wide.u32 %rd2, %r1, 4;\n  add.s64 %rd1, %rd1, %rd2;\n  ld.global.u32 %r1, [%rd1];"
        ),
    );
    body(&mut text);
    line(&mut text, format_args!("st.global.u32 [%rd1], %r{last};\n  ret;\n}}"));
    text
}

/// Runs `shapes`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut program, mut against, mut names) = (None, None, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--measure" => program = rest.next(),
            "--against" => against = rest.next(),
            _ => names.push(argument.as_str()),
        }
    }
    let shape = |name: &str| {
        SHAPES.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no shape `{name}`"))
    };
    if let Some(program) = program {
        let chosen: Result<Vec<&Shape>, String> = names.iter().map(|name| shape(name)).collect();
        let chosen = if names.is_empty() { SHAPES.iter().collect() } else { chosen? };
        return measure::measure(&chosen, program, against.map(String::as_str));
    }
    let [name, size] = names[..] else {
        let known: Vec<&str> = SHAPES.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "usage: shapes NAME SIZE | shapes --measure PROGRAM [--against PTXAS] [NAME ...]\nshapes: {}",
            known.join(", ")
        ));
    };
    print!("{}", shape(name)?.1(size.parse().map_err(|_| format!("`{size}` is no size"))?));
    Ok(())
}
