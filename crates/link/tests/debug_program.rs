//! Debug builds: shared memory, tables and stacks of several sections of code that one launch reaches.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use oriole_cubin::{CodeKind, KernelImage, Module, Variable};
use oriole_link::debug_program::Program;
use oriole_link::{CallGraph, ModuleSymbols};

use super::support::target;

/// A section of code with its frame, its shared variables and the bytes of its tables.
fn code(name: &str, kind: CodeKind, frame: u32, shared: &[(&str, u64)], tables: usize) -> KernelImage {
    let variable = |&(variable, size): &(&str, u64)| Variable {
        name: format!("${name}${variable}"),
        size,
        alignment: 8,
        ..Variable::default()
    };
    KernelImage {
        name: name.to_owned(),
        kind,
        frame_size: frame,
        registers: 8 + frame,
        own_shared: shared.iter().map(variable).collect(),
        constant2: vec![frame as u8; tables],
        shared_alignment: 1,
        ..KernelImage::default()
    }
}

fn check(code: Vec<KernelImage>, calls: &[(&str, &[&str])], expected: Expect) {
    let name = |name: &&str| Arc::from(*name);
    let entries: BTreeSet<Arc<str>> =
        code.iter().filter(|code| code.is_kernel()).map(|code| Arc::from(code.name.as_str())).collect();
    let callees = calls.iter().map(|(caller, callees)| (name(caller), callees.iter().map(name).collect()));
    let calls = CallGraph::new(callees.collect(), &entries);
    let target = target();
    let layout = ModuleSymbols::default();
    let mut module =
        Module { kernels: code.into_iter().map(triomphe::Arc::new).collect(), ..Module::default() };
    let program = Program { target: &target, calls: &calls, layout: &layout, data: &[], open: &[] };
    let mut out = String::new();
    if let Err(error) = program.link(&mut module) {
        out += &format!("{error}\n");
    }
    for placed in &module.placed_shared {
        let (variable, kernel) = (&placed.variable, placed.kernel);
        out += &format!("{} at {}, of kernel {kernel:?}\n", variable.name, variable.offset);
    }
    for code in &module.kernels {
        out += &format!(
            "{}: shared {:?} aligned to {}, stack {:?}, registers {}, tables {:?}\n",
            code.name,
            code.shared_size,
            code.shared_alignment,
            code.stack_size,
            code.registers,
            code.constant2
        );
    }
    expected.assert_eq(&out);
}

#[test]
fn what_several_kernels_reach_is_at_one_place() {
    check(
        vec![
            code("k", CodeKind::Kernel, 16, &[("tile", 8)], 0),
            code("l", CodeKind::Kernel, 0, &[("tile", 40)], 3),
            code("f", CodeKind::Function, 32, &[("scratch", 24)], 2),
        ],
        &[("k", &["f"]), ("l", &["f"]), ("f", &[])],
        expect![[r#"
            scratch at 0, of kernel None
            tile at 24, of kernel Some(0)
            tile.1 at 24, of kernel Some(1)
            k: shared Some(32) aligned to 8, stack Some(48), registers 40, tables [0, 0, 0, 0, 0, 0, 0, 0, 32, 32]
            l: shared Some(64) aligned to 8, stack Some(32), registers 40, tables [0, 0, 0, 0, 0, 0, 0, 0, 32, 32]
            f: shared None aligned to 1, stack None, registers 40, tables []
        "#]],
    );
}

#[test]
fn arrays_of_the_launch_begin_where_the_last_of_their_kernels_ends() {
    check(
        vec![
            code("k", CodeKind::Kernel, 0, &[("tile", 100)], 0),
            code("l", CodeKind::Kernel, 0, &[("other", 8)], 0),
            code("f", CodeKind::Function, 8, &[("dynamic", 0)], 0),
            code("unused", CodeKind::Function, 0, &[("lost", 8)], 0),
        ],
        &[("k", &["f"]), ("l", &["f"]), ("f", &["f"]), ("unused", &[])],
        expect![[r#"
            tile at 0, of kernel Some(0)
            other at 0, of kernel Some(1)
            dynamic at 112, of kernel None
            k: shared Some(112) aligned to 16, stack Some(8), registers 16, tables []
            l: shared Some(112) aligned to 16, stack Some(8), registers 16, tables []
            f: shared None aligned to 1, stack None, registers 16, tables []
            unused: shared None aligned to 1, stack None, registers 8, tables []
        "#]],
    );
}

#[test]
fn too_much_shared_memory_is_refused() {
    let large = code("k", CodeKind::Kernel, 0, &[("tile", 1 << 20)], 0);
    check(
        vec![large],
        &[("k", &[])],
        expect![[r#"
        `k`: uses too much shared data (0x100000 bytes, 0x38c00 at most)
        tile at 0, of kernel Some(0)
        k: shared Some(0) aligned to 1, stack None, registers 8, tables []
    "#]],
    );
}
