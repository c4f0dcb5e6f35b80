//! Small PTX to Ori text, a file for each family of instructions. The helpers are here; `UPDATE_EXPECT=1` rewrites
//! the expected text. `forms` lowers everything. One test program, so that it is linked once.

mod arithmetic;
mod blackwell;
mod control;
mod copies;
#[path = "../forms.rs"]
mod forms;
mod matrices;
mod memory;
mod newest;
mod tensor_memory;
mod textures;

use expect_test::Expect;
use oriole_chip::Chip;
use oriole_hir::resolve_module;
use oriole_lower::{Environment, lower};
use oriole_options::LowerOptions;

/// Lowers the statements inside a kernel that has a few registers of each type, and checks the text.
fn check(statements: &str, expected: Expect) {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n\
         .global .align 4 .b32 gv[4];\n.const .align 4 .b32 cv[4];\n\
         .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
         .func (.param .b32 r) callee(.param .b32 x, .param .b64 y) {{ ret; }}\n\
         .visible .entry k(.param .u64 p0, .param .u32 p1, .param .align 4 .b8 p2[8]) {{\n\
         .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .reg .f32 %f<9>; .reg .f64 %e<9>;\n\
         .shared .align 4 .b8 sv[64]; .local .align 8 .b8 lv[16];\n{statements}\nret;\n}}"
    );
    expected.assert_eq(&lowered(&text));
}

/// The text of the last function of a module.
fn lowered(text: &str) -> String {
    lowered_for(Chip::SM_90A, text)
}

/// [`lowered`] for another chip.
fn lowered_for(chip: Chip, text: &str) -> String {
    let module = resolve_module(text);
    if module.has_errors() {
        return format!("{:#?}\n", module.diagnostics);
    }
    let Some((_, _, resolved)) = module.functions.last() else { return "no function\n".to_string() };
    let environment = Environment { chip, options: LowerOptions::default() };
    match lower(&resolved.body, &environment) {
        Ok(function) => function.to_string(),
        Err(errors) => {
            errors.iter().map(|error| format!("{error} (statement {:?})\n", error.statement)).collect()
        }
    }
}
