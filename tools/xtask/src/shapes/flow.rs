//! Shapes of branches and loops that are next to each other, or that meet at one block. Nested ones are in `nests`.

use super::line;

pub(super) fn diamonds(count: usize) -> impl FnOnce(&mut String) {
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
pub(super) fn leave_loop(b: &mut String, count: usize, target: &str) {
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
pub(super) fn merges(count: usize) -> impl FnOnce(&mut String) {
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

pub(super) fn exits(count: usize) -> impl FnOnce(&mut String) {
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

pub(super) fn sequential_loops(count: usize) -> impl FnOnce(&mut String) {
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

pub(super) fn loop_phis(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        (0..count).for_each(|i| line(b, format_args!("add.u32 %r{}, %r1, {i};", i + 2)));
        line(b, format_args!("mov.u32 %i1, 0;\n$head:"));
        (0..count).for_each(|i| {
            line(b, format_args!("mad.lo.u32 %r{}, %r{}, 3, %r{};", i + 2, i + 2, (i + 1) % count + 2))
        });
        line(b, format_args!("add.u32 %i1, %i1, 1;\n  setp.lt.u32 %p0, %i1, 9;\n  @%p0 bra $head;"));
    }
}

pub(super) fn ladder(count: usize) -> impl FnOnce(&mut String) {
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
pub(super) fn switch(b: &mut String, count: usize, target: &str) {
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

pub(super) fn irreducible(count: usize) -> impl FnOnce(&mut String) {
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

/// A loop that begins again at each of its branches: as many back edges as branches.
pub(super) fn latches(count: usize) -> impl FnOnce(&mut String) {
    move |b| leave_loop(b, count, "$head")
}

/// Blocks in the reverse of the order in which they run.
pub(super) fn backward(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        line(b, format_args!("bra $b{};", count - 1));
        for i in 0..count {
            line(b, format_args!("$b{i}:\n  mad.lo.u32 %r1, %r1, 3, {i};\n  setp.eq.u32 %p{i}, %r1, {i};"));
            let next = i.checked_sub(1).map_or("$end".to_owned(), |next| format!("$b{next}"));
            line(b, format_args!("@%p{i} bra $end;\n  bra {next};"));
        }
        line(b, format_args!("$end:"));
    }
}

/// Straight code with a label that nothing branches to before each instruction.
pub(super) fn labels(count: usize) -> impl FnOnce(&mut String) {
    move |b| (0..count).for_each(|i| line(b, format_args!("$l{i}:\n  mad.lo.u32 %r1, %r1, 3, {i};")))
}

/// Barriers of the block between instructions that read what the one before the barrier made.
pub(super) fn barriers(count: usize) -> impl FnOnce(&mut String) {
    move |b| (0..count).for_each(|i| line(b, format_args!("bar.sync 0;\n  mad.lo.u32 %r1, %r1, 3, {i};")))
}

/// Scopes after each other, each with a register of the same name.
pub(super) fn scopes(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "{{\n  .reg .b32 %s;\n  mad.lo.u32 %s, %r1, 3, {i};\n  xor.b32 %r1, %r1, %s;\n  }}"
                ),
            );
        }
    }
}
