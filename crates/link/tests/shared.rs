//! Shared memory of kernels in whole programs.

use expect_test::expect;
use oriole_emit::LinkedFunction;
use oriole_link::{ImageError, ModuleSymbols, ModuleVariable, VariableSpace};
use oriole_ori::{AddressPart, Fixup, SymbolId, SymbolKind};

use super::support::{function, image_of, symbol, word};

/// A kernel that takes the addresses of these variables, and declares others.
fn kernel(named: &[&str], own: &[(&str, u64, u64)]) -> LinkedFunction {
    let symbols: Vec<_> = named.iter().map(|name| symbol(SymbolKind::Shared, name)).collect();
    let address =
        |at: usize| Fixup::Address { symbol: SymbolId(at as u32), part: AddressPart::Low, offset: 0 };
    let lines: Vec<_> = (0..named.len()).map(|at| ("MOV R4, 0x0", Some(address(at)))).collect();
    let shared = own.iter().map(|&(name, size, align)| (name.to_owned(), size, align)).collect();
    LinkedFunction { shared, ..function(&lines, &symbols) }
}

fn module(sizes: &[(&str, u64, u64)]) -> ModuleSymbols {
    let variable = |&(name, size, align): &(&str, u64, u64)| ModuleVariable {
        name: name.to_owned(),
        space: VariableSpace::Shared,
        size,
        align,
    };
    ModuleSymbols { variables: sizes.iter().map(variable).collect(), ..ModuleSymbols::default() }
}

fn shown(own: &LinkedFunction, symbols: &ModuleSymbols) -> String {
    let image = match image_of(&[("k", own)], symbols) {
        Ok(image) => image,
        Err(error) => return error.to_string(),
    };
    let mut out = String::new();
    for (at, symbol) in own.symbols.iter().enumerate() {
        out += &format!("{}: {}\n", symbol.name, word(image.code[at], at));
    }
    out + &format!("{:?} bytes, aligned to {}\n", image.shared_size, image.shared_alignment)
}

#[test]
fn whole_units_come_first_and_arrays_of_the_launch_last() {
    let own = kernel(&["odd", "dynamic", "tile"], &[("unnamed", 32, 4)]);
    let symbols = module(&[("odd", 20, 4), ("dynamic", 0, 4), ("tile", 64, 8), ("unused", 4096, 8)]);
    expect![[r#"
        odd: MOV R4, 0x460
        dynamic: MOV R4, 0x480
        tile: MOV R4, 0x400
        Some(128) bytes, aligned to 16
    "#]]
    .assert_eq(&shown(&own, &symbols));
}

#[test]
fn own_variables_hide_those_of_the_module() {
    let own = kernel(&["tile"], &[("tile", 8, 8)]);
    expect![[r#"
        tile: MOV R4, 0x400
        Some(8) bytes, aligned to 8
    "#]]
    .assert_eq(&shown(&own, &module(&[("tile", 4096, 16)])));
}

#[test]
fn too_much_is_refused() {
    let own = kernel(&["tile"], &[]);
    let symbols = module(&[("tile", 0x10_0000, 16)]);
    assert!(matches!(image_of(&[("k", &own)], &symbols), Err(ImageError::SharedTooLarge(0x10_0000, _))));
    assert!(matches!(image_of(&[("k", &own)], &module(&[])), Err(ImageError::MissingVariable(_))));
}
