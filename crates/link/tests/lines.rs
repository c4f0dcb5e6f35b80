//! Rows of line tables, from the text of a kernel and the statements that its words stem from.

use std::sync::Arc;

use expect_test::expect;
use oriole_hir::resolve_module;
use oriole_link::debug_info::{KernelLines, LinedMember, name_in_module};
use oriole_ori::Origin;

use oriole_cubin::{InnerFunction, KernelImage};

use super::support::target;

const TEXT: &str = ".version 8.8
.target sm_90a
.address_size 64
.file 1 \"kernel.cu\"
.visible .entry k() {
    .reg .u32 %r<3>;
    .loc 1 10 3
    mov.u32 %r1, 1;
    add.u32 %r2, %r1, 1;
    .loc 1 12 1
    ret;
}
";

#[test]
fn a_row_for_each_statement_and_its_place() {
    let module = resolve_module(TEXT);
    let map = &module.function("k").expect("a kernel").source_map;
    let origins = [0, 0, 1, 2, 2, 1].map(Origin);
    let member = LinedMember { name: Arc::from("k"), base: 32, origins: &origins, map };
    let lines = KernelLines::new(target().words, [member]);
    let mut out = String::new();
    for row in &lines.rows {
        let line = row.place.map(|place| lines.places[place].line);
        out += &format!("{:#x}: {line:?}\n", row.address);
    }
    expect![[r#"
        0x0: Some(10)
        0x40: Some(10)
        0x50: Some(12)
        0x70: Some(10)
    "#]]
    .assert_eq(&out);
}

#[test]
fn functions_in_an_image_have_their_names_in_the_module() {
    let image = KernelImage { name: "k".to_owned(), ..KernelImage::default() };
    let inner = |name: &str| InnerFunction { name: name.to_owned(), ..InnerFunction::default() };
    assert_eq!(name_in_module(&image, &inner("$k$twice")), Some("twice"));
    assert_eq!(name_in_module(&image, &inner("$other$twice")), None);
}
