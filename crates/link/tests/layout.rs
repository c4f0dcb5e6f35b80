//! The layout of a module's variables, from the text of their declarations.

use expect_test::{Expect, expect};
use oriole_hir::resolve_module;
use oriole_link::Layout;

fn layout(declarations: &str) -> Layout {
    let text = format!(".version 8.8\n.target sm_90a\n.address_size 64\n{declarations}");
    let module = resolve_module(&text);
    assert!(!module.has_errors(), "{:?}", module.diagnostics);
    let variables = module.all_variables().map(|variable| (variable.name.as_str(), &variable.info));
    Layout::new(variables, vec!["vprintf".to_owned()])
}

fn check(declarations: &str, expected: Expect) {
    let symbols = layout(declarations).symbols;
    let mut out = String::new();
    for variable in &symbols.variables {
        let (size, align) = (variable.size, variable.align);
        out += &format!("{}: {:?}, {size} bytes, aligned to {align}\n", variable.name, variable.space);
    }
    out += &format!("globals {}, constants {} bytes\n", symbols.globals, symbols.constant_bytes);
    out += &format!("opaque {:?}, externs {:?}\n", symbols.opaque, symbols.externs);
    expected.assert_eq(&out);
}

#[test]
fn constants_are_packed_and_globals_counted() {
    check(
        ".const .b8 tag;
         .const .f64 pi = 0d400921fb54442d18;
         .global .u32 counter;
         .const .b16 pair[3];
         .global .f32 table[4];",
        expect![[r#"
            tag: Constant(0), 1 bytes, aligned to 1
            pi: Constant(8), 8 bytes, aligned to 8
            counter: Global(0), 4 bytes, aligned to 4
            pair: Constant(16), 6 bytes, aligned to 2
            table: Global(1), 16 bytes, aligned to 4
            globals 2, constants 22 bytes
            opaque [], externs ["vprintf"]
        "#]],
    );
}

#[test]
fn what_other_files_define_has_no_place_but_shared_memory() {
    check(
        ".extern .global .u32 elsewhere;
         .extern .const .u32 bank;
         .extern .shared .align 8 .b8 dynamic[];
         .shared .b8 tile[96];
         .global .texref image;",
        expect![[r#"
            dynamic: Shared, 0 bytes, aligned to 8
            tile: Shared, 96 bytes, aligned to 1
            globals 0, constants 0 bytes
            opaque ["image"], externs ["vprintf"]
        "#]],
    );
}

#[test]
fn a_variable_is_found_by_its_name() {
    let layout = layout(".global .u32 first; .global .u64 second;");
    assert_eq!(layout.placed("second").map(|variable| variable.size), Some(8));
    assert_eq!(layout.placed("third"), None);
}
