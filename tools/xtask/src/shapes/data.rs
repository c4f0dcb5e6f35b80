//! Shapes of values and of memory: many live at once, many variables, many addresses, long chains of wide operations.

use super::line;

pub(super) fn live_values(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        (0..count).for_each(|i| line(b, format_args!("mad.lo.u32 %r{}, %r{}, 3, {i};", i + 2, i + 1)));
        (0..count).for_each(|i| {
            line(b, format_args!("xor.b32 %r{}, %r{}, %r{};", count + i + 2, count + i + 1, count + 1 - i))
        });
        line(b, format_args!("mov.u32 %r{}, %r{};", 2 * count + 2, 2 * count + 1));
    }
}

pub(super) fn memory(count: usize, load: &str) -> impl FnOnce(&mut String) {
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

pub(super) fn variables(declaration: &str, count: usize) -> String {
    (0..count).map(|i| format!("{declaration}{i};\n")).collect()
}

pub(super) fn shared(size: usize) -> impl FnOnce(&mut String) {
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
pub(super) fn shared_addresses(count: usize) -> impl FnOnce(&mut String) {
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

pub(super) fn globals(count: usize) -> impl FnOnce(&mut String) {
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

/// Predicates that are all live at once.
pub(super) fn predicates(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        (0..count).for_each(|i| line(b, format_args!("setp.gt.u32 %p{i}, %r1, {i};")));
        (0..count).for_each(|i| line(b, format_args!("@%p{i} xor.b32 %r1, %r1, {i};")));
    }
}

/// A sum of two long numbers.
pub(super) fn carries(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        line(b, format_args!("add.cc.u32 %r2, %r1, 1;"));
        (1..count).for_each(|i| line(b, format_args!("addc.cc.u32 %r{}, %r{}, {i};", i + 2, i + 1)));
    }
}

/// Divisions, each of which calls a routine.
pub(super) fn divisions(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        line(b, format_args!("mov.b64 %rd3, {{%r1, %r1}};"));
        (0..count).for_each(|i| line(b, format_args!("div.u64 %rd{}, %rd{}, %rd2;", i + 4, i + 3)));
        line(b, format_args!("cvt.u32.u64 %r1, %rd{};", count + 3));
    }
}

/// Stores to an array of the thread, at indices that are known, then loads of each.
pub(super) fn local_array(count: usize) -> impl FnOnce(&mut String) {
    move |b| {
        line(b, format_args!(".local .align 4 .b32 a[{count}];"));
        for i in 0..count {
            line(b, format_args!("add.u32 %r1, %r1, {i};\n  st.local.u32 [a+{}], %r1;", 4 * i));
        }
        for i in 0..count {
            line(b, format_args!("ld.local.u32 %i1, [a+{}];\n  xor.b32 %r1, %r1, %i1;", 4 * i));
        }
    }
}
