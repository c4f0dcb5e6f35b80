//! Shapes of regions in regions: branches and loops nested as deep as the module is large.

use super::line;

pub(super) fn nested_ifs(count: usize) -> impl FnOnce(&mut String) {
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

pub(super) fn nested_loops(count: usize) -> impl FnOnce(&mut String) {
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

/// Loops in loops, each with a counter of its own that begins at its head.
pub(super) fn nested_counters(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(b, format_args!("mov.u32 %r{}, 0;\n$h{i}:\n  add.u32 %r1, %r1, {i};", i + 2));
        }
        for i in (0..count).rev() {
            line(
                b,
                format_args!(
                    "add.u32 %r{0}, %r{0}, 1;\n  setp.lt.u32 %p{i}, %r{0}, 9;\n  @%p{i} bra $h{i};",
                    i + 2
                ),
            );
        }
    }
}

/// Loops in loops, each with a branch out of all of them.
pub(super) fn nested_exits(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        for i in 0..count {
            line(
                b,
                format_args!(
                    "$h{i}:\n  mad.lo.u32 %r1, %r1, 3, {i};\n  setp.eq.u32 %p{i}, %r1, {i};\n  @%p{i} bra $end;"
                ),
            );
        }
        for i in (0..count).rev() {
            line(
                b,
                format_args!(
                    "add.u32 %r1, %r1, {i};\n  setp.lt.u32 %p{}, %r1, {i};\n  @%p{} bra $h{i};",
                    count + i,
                    count + i
                ),
            );
        }
        line(b, format_args!("$end:"));
    }
}
