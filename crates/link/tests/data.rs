//! Initial values: what is written into variables, and what is left to the loader or the linker.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use oriole_cubin::{Form, KernelImage, Module};
use oriole_hir::resolve_module;
use oriole_link::data::place_variables;
use oriole_link::{Layout, function_value};

/// The variables of a container with their bytes and pointers. The functions `f` and `g` have values.
fn placed(declarations: &str, form: Form) -> String {
    let text = format!(".version 8.8\n.target sm_90a\n.address_size 64\n{declarations}");
    let module = resolve_module(&text);
    assert!(!module.has_errors(), "{:?}", module.diagnostics);
    let data: Vec<_> = module.all_variables().cloned().collect();
    let layout = Layout::new(data.iter().map(|one| (one.name.as_str(), &one.info)), Vec::new());
    let functions = match form {
        Form::Relocatable => BTreeMap::new(),
        _ => BTreeMap::from([("f".to_owned(), function_value(0)), ("g".to_owned(), function_value(1))]),
    };
    let code =
        |name: &str| triomphe::Arc::new(KernelImage { name: name.to_owned(), ..KernelImage::default() });
    let mut module = Module { form, kernels: vec![code("f"), code("g")], ..Module::default() };
    let dynamic = match place_variables(&layout.symbols, &data, &functions, &mut module) {
        Ok(dynamic) => dynamic,
        Err(error) => return format!("{error}\n"),
    };
    let mut out = String::new();
    let lists = [("const", &module.constants), ("global", &module.globals), ("shared", &module.shared)];
    for (space, list) in lists {
        for variable in list {
            let (name, binding) = (&variable.name, variable.binding);
            out += &format!("{space} {name} at {}, {binding:?}: {:x?}\n", variable.offset, variable.bytes);
            for pointer in &variable.pointers {
                let (offset, target, addend) = (pointer.offset, pointer.target, pointer.addend);
                out += &format!("    {offset}: {target:?} + {addend}\n");
            }
        }
    }
    out + &format!("alignment of arrays that the launch gives their sizes: {dynamic:?}\n")
}

fn check(declarations: &str, form: Form, expected: Expect) {
    expected.assert_eq(&placed(declarations, form));
}

const MODULE: &str = ".func f() { ret; }
    .func g() { ret; }
    .visible .const .u32 first = 7;
    .const .u64 second[2] = {first, generic(first) + 4};
    .global .u64 handlers[2] = {g, f};
    .weak .global .u64 place = second;
    .extern .shared .b8 dynamic[];
    .shared .b8 tile[8];";

#[test]
fn programs_have_the_values_of_functions_and_constants() {
    check(
        MODULE,
        Form::Whole,
        expect![[r#"
        const first at 0, Global: Some([7, 0, 0, 0])
        const second at 8, Local: Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            8: Constant(0) + 4
        global handlers at 0, Local: Some([10, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0])
        global place at 0, Weak: Some([8, 0, 0, 0, 0, 0, 0, 0])
        alignment of arrays that the launch gives their sizes: Some(16)
    "#]],
    );
}

#[test]
fn a_linker_completes_every_address_of_relocatable_output() {
    check(
        MODULE,
        Form::Relocatable,
        expect![[r#"
        const first at 0, Global: Some([7, 0, 0, 0])
        const second at 8, Local: Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            0: Constant(0) + 0
            8: Constant(0) + 4
        global handlers at 0, Local: Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            0: Kernel(1) + 0
            8: Kernel(0) + 0
        global place at 0, Weak: Some([0, 0, 0, 0, 0, 0, 0, 0])
            0: Constant(1) + 0
        shared tile at 0, Local: None
        alignment of arrays that the launch gives their sizes: None
    "#]],
    );
}

/// No relocation writes half of an address.
#[test]
fn an_address_in_four_bytes_is_completed_byte_by_byte() {
    let four = ".const .u32 one; .const .u32 short[2] = {0, one + 4};";
    check(
        four,
        Form::Whole,
        expect![[r#"
        const one at 0, Local: None
        const short at 4, Local: Some([0, 0, 0, 0, 4, 0, 0, 0])
        alignment of arrays that the launch gives their sizes: None
    "#]],
    );
    check(
        four,
        Form::Relocatable,
        expect![[r#"
        const one at 0, Local: None
        const short at 4, Local: Some([0, 0, 0, 0, 0, 0, 0, 0])
            4: Constant(0) + 4
            5: Constant(0) + 4
            6: Constant(0) + 4
            7: Constant(0) + 4
        alignment of arrays that the launch gives their sizes: None
    "#]],
    );
    check(
        ".global .u32 one; .global .u32 short = one;",
        Form::Whole,
        expect![[r#"
        global one at 0, Local: None
        global short at 0, Local: Some([0, 0, 0, 0])
            0: Global(0) + 0
            1: Global(0) + 0
            2: Global(0) + 0
            3: Global(0) + 0
        alignment of arrays that the launch gives their sizes: None
    "#]],
    );
}
