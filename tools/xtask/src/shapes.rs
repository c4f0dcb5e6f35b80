//! `shapes`: programs of one shape and any size, and how compile time grows with the size.
//!
//! Each row of [`SHAPES`] writes a module of about a given number of instructions in which one element is repeated:
//! breaks out of one loop, loops in loops, functions that call each other. This shows superlinear algorithms in a
//! compiler most clearly. `shapes NAME SIZE` prints a module; `shapes --measure PROGRAM [--against PTXAS] [NAME ...]`
//! compiles each shape at 3,000, 10,000 and 30,000 instructions and prints the user times and the exponent between the
//! sizes.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

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

fn diamonds(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            let (r, next) = (2 * i + 1, 2 * i + 2);
            line(b, format_args!("setp.gt.u32 %p{i}, %r{r}, {i};\n  @%p{i} bra $a{i};"));
            line(
                b,
                format_args!(
                    "add.u32 %r{next}, %r{r}, {i};\n  bra $b{i};\n$a{i}:\n  xor.b32 %r{next}, %r{r}, {i};\n$b{i}:"
                ),
            );
            line(b, format_args!("mul.lo.u32 %r{}, %r{next}, 3;", next + 1));
        }
    }
}

/// A loop with `count` branches out of its middle to `target`; the last value is in `%r{3 * count + 1}` or near.
fn leave_loop(b: &mut String, count: usize, target: &str) {
    let last = 3 * count + 1;
    line(b, format_args!("mov.u32 %i1, 0;\n  mov.u32 %r{last}, %r1;\n$head:"));
    for i in 0..count {
        line(
            b,
            format_args!(
                "mad.lo.u32 %r{last}, %r{last}, 5, {i};\n  setp.eq.u32 %p{i}, %r{last}, {i};\n  @%p{i} bra {target};"
            ),
        );
    }
    line(
        b,
        format_args!(
            "$next:\n  add.u32 %i1, %i1, 1;\n  setp.lt.u32 %p{count}, %i1, 9;\n  @%p{count} bra $head;\n$end:"
        ),
    );
}

/// Branches out of straight code, all to one block that reads what each of them could have made.
fn merges(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        let last = count + 1;
        line(b, format_args!("mov.u32 %r{last}, 0;"));
        for i in 0..count {
            line(
                b,
                format_args!(
                    "add.u32 %r{last}, %r{last}, %r1;\n  setp.eq.u32 %p{i}, %r{last}, {};\n  @%p{i} bra $end;",
                    i * 3
                ),
            );
        }
        line(b, format_args!("xor.b32 %r{last}, %r{last}, 5;\n$end:"));
    }
}

fn exits(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "mad.lo.u32 %r{}, %r{}, 5, {i};\n  setp.eq.u32 %p{i}, %r{}, {i};\n  @%p{i} ret;",
                    i + 2,
                    i + 1,
                    i + 2
                ),
            );
        }
    }
}

fn nested_ifs(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        line(b, format_args!("mov.u32 %r{}, 0;", count + 1));
        for i in 0..count {
            line(
                b,
                format_args!(
                    "setp.lt.u32 %p{i}, %r1, {i};\n  @%p{i} bra $e{i};\n  add.u32 %r{}, %r{}, {i};",
                    count + 1,
                    count + 1
                ),
            );
        }
        (0..count)
            .rev()
            .for_each(|i| line(b, format_args!("xor.b32 %r{}, %r{}, {i};\n$e{i}:", count + 1, count + 1)));
    }
}

fn nested_loops(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        (0..count).for_each(|i| line(b, format_args!("$h{i}:\n  add.u32 %r1, %r1, {i};")));
        for i in (0..count).rev() {
            line(
                b,
                format_args!(
                    "mad.lo.u32 %r1, %r1, 3, {i};\n  setp.lt.u32 %p{i}, %r1, {i};\n  @%p{i} bra $h{i};"
                ),
            );
        }
    }
}

fn sequential_loops(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "mov.u32 %r{0}, 0;\n$h{i}:\n  mad.lo.u32 %r1, %r1, 3, {i};\n  add.u32 %r{0}, %r{0}, 1;\n  setp.lt.u32 %p{i}, %r{0}, %r1;\n  @%p{i} bra $h{i};",
                    i + 2
                ),
            );
        }
    }
}

fn loop_phis(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        (0..count).for_each(|i| line(b, format_args!("add.u32 %r{}, %r1, {i};", i + 2)));
        line(b, format_args!("mov.u32 %i1, 0;\n$head:"));
        (0..count).for_each(|i| {
            line(b, format_args!("mad.lo.u32 %r{}, %r{}, 3, %r{};", i + 2, i + 2, (i + 1) % count + 2))
        });
        line(b, format_args!("add.u32 %i1, %i1, 1;\n  setp.lt.u32 %p0, %i1, 9;\n  @%p0 bra $head;"));
    }
}

fn ladder(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "setp.ne.u32 %p{i}, %r1, {};\n  @%p{i} bra $n{i};\n  mad.lo.u32 %r1, %r1, 7, {i};\n  bra $end;\n$n{i}:",
                    i * 3
                ),
            );
        }
        line(b, format_args!("$end:"));
    }
}

/// A loop around an indexed branch whose cases end at `target`.
fn switch(b: &mut String, count: usize, target: &str) {
    line(
        b,
        format_args!("mov.u32 %i1, 0;\n$head:\n  and.b32 %i2, %r1, {};", count.next_power_of_two() / 2 - 1),
    );
    let names: Vec<String> = (0..count).map(|i| format!("$c{i}")).collect();
    line(b, format_args!("$cases: .branchtargets {};\n  brx.idx %i2, $cases;", names.join(", ")));
    for i in 0..count {
        line(
            b,
            format_args!(
                "$c{i}:\n  mad.lo.u32 %r1, %r1, 7, {i};\n  xor.b32 %r1, %r1, {};\n  bra {target};",
                i * 5
            ),
        );
    }
    line(
        b,
        format_args!("$next:\n  add.u32 %i1, %i1, 1;\n  setp.lt.u32 %p0, %i1, 9;\n  @%p0 bra $head;\n$end:"),
    );
}

fn irreducible(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "setp.gt.u32 %p{}, %r1, {i};\n  @%p{} bra $m{i};\n$t{i}:\n  add.u32 %r1, %r1, 1;",
                    2 * i,
                    2 * i
                ),
            );
            line(
                b,
                format_args!(
                    "$m{i}:\n  mul.lo.u32 %r1, %r1, 3;\n  setp.lt.u32 %p{}, %r1, {i};\n  @%p{} bra $t{i};",
                    2 * i + 1,
                    2 * i + 1
                ),
            );
        }
    }
}

fn live_values(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        (0..count).for_each(|i| line(b, format_args!("mad.lo.u32 %r{}, %r{}, 3, {i};", i + 2, i + 1)));
        (0..count).for_each(|i| {
            line(b, format_args!("xor.b32 %r{}, %r{}, %r{};", count + i + 2, count + i + 1, count + 1 - i))
        });
        line(b, format_args!("mov.u32 %r{}, %r{};", 2 * count + 2, 2 * count + 1));
    }
}

fn memory(count: usize, load: &str) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "{load} %r{}, [%rd1+{}];\n  st.global.u32 [%rd1+{}], %r{};",
                    i + 2,
                    4 * i,
                    4 * i + 65536,
                    i + 2
                ),
            );
        }
    }
}

fn variables(declaration: &str, count: usize) -> String {
    (0..count).map(|i| format!("{declaration}{i};\n")).collect()
}

fn shared(size: usize) -> impl FnOnce(&mut String) {
    let (count, variables) = (size / 3, size.min(24_000) / 3);
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "st.shared.u32 [s{}], %r{};\n  ld.shared.u32 %r{}, [s{}];",
                    i % variables,
                    i + 1,
                    i + 2,
                    (i * 7) % variables
                ),
            );
        }
        line(b, format_args!("mov.u32 %r{}, %r{};", size + 2, count + 1));
    }
}

/// Loads from shared memory, each at an address that depends on the one before it.
fn shared_addresses(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            let (from, at) = (2 * i + 1, 2 * i + 2);
            line(
                b,
                format_args!(
                    "and.b32 %r{at}, %r{from}, 4092;\n  mov.u32 %i1, s;\n  add.u32 %r{at}, %r{at}, %i1;\n  ld.shared.u32 %r{}, [%r{at}];",
                    at + 1
                ),
            );
        }
        line(b, format_args!("mov.u32 %r{}, %r{};", 4 * count + 2, 2 * count + 1));
    }
}

fn globals(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "st.global.u32 [g{i}], %r{};\n  ld.global.u32 %r{}, [g{}];",
                    i + 1,
                    i + 2,
                    (i * 7) % count
                ),
            );
        }
        line(b, format_args!("mov.u32 %r{}, %r{};", 3 * count + 2, count + 1));
    }
}

/// A function that adds to its argument and, if there is a next one, passes the sum on to it.
fn function(number: usize, next: Option<usize>) -> String {
    let mut text = format!(".func (.param .b32 r) f{number}(.param .b32 a)\n{{\n  .reg .b32 %r<4>;\n");
    line(&mut text, format_args!("ld.param.b32 %r1, [a];\n  mad.lo.u32 %r1, %r1, 3, {number};"));
    if let Some(next) = next {
        call(&mut text, next, 1);
    }
    line(&mut text, format_args!("st.param.b32 [r], %r1;\n  ret;\n}}"));
    text
}

fn call(text: &mut String, callee: usize, register: usize) {
    line(
        text,
        format_args!(
            "{{\n  .param .b32 x;\n  .param .b32 y;\n  st.param.b32 [x], %r{register};\n  call (y), f{callee}, (x);\n  ld.param.b32 %r{register}, [y];\n  }}"
        ),
    );
}

fn call_chain(size: usize) -> String {
    let count = size / 6;
    let functions: String = (0..count).map(|i| function(i, i.checked_sub(1))).collect();
    kernel(1, &functions, |b| call(b, count - 1, 1), 1)
}

fn functions(size: usize) -> String {
    let count = size / 8;
    let functions: String = (0..count).map(|i| function(i, None)).collect();
    kernel(1, &functions, |b| (0..count).for_each(|i| call(b, i, 1)), 1)
}

fn empty_functions(count: usize) -> String {
    (0..count).map(|i| format!(".func f{i}()\n{{\n  ret;\n}}\n")).collect()
}

fn kernels(size: usize) -> String {
    let mut text = HEADER.to_owned();
    for i in 0..size / 10 {
        let one = kernel(
            16,
            "",
            |b| (0..4).for_each(|j| line(b, format_args!("mad.lo.u32 %r1, %r1, {i}, {j};"))),
            1,
        );
        text.push_str(&one[HEADER.len()..].replace(" k(", &format!(" k{i}(")));
    }
    text
}

fn initializer(size: usize) -> String {
    let values: Vec<String> = (0..size * 10).map(|i| (i * 37 % 256).to_string()).collect();
    let before = format!(".global .align 4 .b8 g[{}] = {{{}}};\n", values.len(), values.join(", "));
    kernel(16, &before, |b| line(b, format_args!("ld.global.u8 %r1, [g+7];")), 1)
}

/// User seconds of one run, and whether it succeeded.
fn user_time(program: &Path, arguments: &[&str]) -> Result<(f64, bool), String> {
    let script = "TIMEFORMAT=%U; time timeout 60 \"$@\" > /dev/null 2>&1";
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{script}; exit $?"), "shapes"]).arg(program).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("bash: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let seconds = text.trim().parse().map_err(|_| format!("no time in `{}`", text.trim()))?;
    Ok((seconds, output.status.success()))
}

/// The minimum time of several runs, `None` if one failed.
#[derive(Default)]
struct Least {
    best: Option<f64>,
    failed: bool,
}

impl Least {
    fn take(&mut self, (seconds, right): (f64, bool)) {
        self.failed |= !right;
        self.best = Some(self.best.map_or(seconds, |best| best.min(seconds)));
    }

    /// A run of many seconds is conclusive, and so is one that failed.
    fn wants_more(&self) -> bool {
        !self.failed && self.best.is_none_or(|best| best < 3.0)
    }

    fn seconds(&self) -> f64 {
        self.best.filter(|_| !self.failed).unwrap_or(f64::NAN)
    }
}

/// The times at each size and the exponents between them.
fn row(times: &[f64]) -> String {
    let exponents: Vec<String> = times
        .windows(2)
        .zip(SIZES.windows(2))
        .map(|(times, sizes)| (times[1] / times[0]).ln() / (sizes[1] as f64 / sizes[0] as f64).ln())
        .map(|exponent| figure(exponent, 2))
        .collect();
    let times: Vec<String> = times.iter().map(|&time| format!("{:>8}", figure(time, 3))).collect();
    format!("{}  {}", times.join(" "), exponents.join(" "))
}

/// A figure with this number of digits after the point; a dash for a missing one.
fn figure(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "-".to_owned() }
}

/// Number of compiles of a shape by each program.
const RUNS: usize = 3;

const SIZES: [usize; 3] = [3_000, 10_000, 30_000];

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
    let Some(program) = program else {
        let [name, size] = names[..] else {
            let known: Vec<&str> = SHAPES.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "usage: shapes NAME SIZE | shapes --measure PROGRAM [--against PTXAS] [NAME ...]\nshapes: {}",
                known.join(", ")
            ));
        };
        let (_, write) =
            SHAPES.iter().find(|(known, _)| *known == name).ok_or(format!("no shape `{name}`"))?;
        print!("{}", write(size.parse().map_err(|_| format!("`{size}` is no size"))?));
        return Ok(());
    };
    let folder = std::env::temp_dir().join(format!("oriole-shapes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (source, object) = (folder.join("shape.ptx"), folder.join("shape.cubin"));
    let (source, object) = (source.display().to_string(), object.display().to_string());
    println!("{:<18} {:>8} {:>8} {:>8}  exponents", "shape", SIZES[0], SIZES[1], SIZES[2]);
    for (name, write) in SHAPES.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for size in SIZES {
            std::fs::write(&source, write(size)).map_err(|error| error.to_string())?;
            // Alternating, so that both have the same load.
            let (mut own, mut other) = (Least::default(), Least::default());
            // A shape that is superlinear and slow already would take minutes, without new information.
            let bearable = theirs.last().is_none_or(|&last: &f64| last < 0.5);
            for _ in 0..RUNS {
                if own.wants_more() {
                    let arguments = ["compile", &source, "--arch", "sm_90", "--jobs", "1", "-o", &object];
                    own.take(user_time(program.as_ref(), &arguments)?);
                }
                if let Some(ptxas) = against.filter(|_| bearable && other.wants_more()) {
                    other.take(user_time(ptxas.as_ref(), &["-arch=sm_90", &source, "-o", &object])?);
                }
            }
            ours.push(own.seconds());
            theirs.push(other.seconds());
        }
        println!("{name:<18} {}", row(&ours));
        if against.is_some() {
            let ratio: Vec<String> = (0..SIZES.len()).map(|at| figure(theirs[at] / ours[at], 1)).collect();
            println!("{:<18} {}  {} times as long", "  ptxas", row(&theirs), ratio.join(" "));
        }
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}
