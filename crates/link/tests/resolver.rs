//! The resolver of fix-ups: what each fix-up of each kind of symbol becomes in the three forms of output.

use expect_test::{Expect, expect};
use oriole_chip::texture::DescriptorTable;
use oriole_emit::LinkedFunction;
use oriole_link::{ModuleSymbols, ModuleVariable, VariableSpace};
use oriole_ori::{AddressPart, ConstBase, Fixup, SymbolId, SymbolKind, Table};

use super::support::{function, image_of, left_open, symbol, word};

const SYMBOL: SymbolId = SymbolId(0);

fn variable(name: &str, space: VariableSpace, size: u64) -> ModuleVariable {
    ModuleVariable { name: name.to_owned(), space, size, align: 8 }
}

/// A module in which every kind of symbol has a meaning.
fn module() -> ModuleSymbols {
    ModuleSymbols {
        variables: vec![
            variable("shared", VariableSpace::Shared, 64),
            variable("constant", VariableSpace::Constant(0x20), 8),
            variable("global", VariableSpace::Global(1), 8),
        ],
        externs: vec!["vprintf".to_owned()],
        opaque: vec!["other".to_owned(), "image".to_owned()],
        globals: 3,
        functions: vec!["f".to_owned(), "g".to_owned()],
        kernels: ["launched".to_owned()].into(),
        launched: vec!["launched".to_owned()],
        constant_bytes: 0x28,
        ..ModuleSymbols::default()
    }
}

/// The result for the last of these lines of the kernel `k`, which name one symbol, in a whole program, in an extensible one and in a
/// section for a linker.
fn answers(lines: &[(&str, Option<Fixup>)], named: &oriole_ori::SymbolRef) -> [String; 3] {
    let callee = function(&[("RET.REL.NODEC R20 0x10", Some(Fixup::KernelStart))], &[]);
    let own = function(lines, std::slice::from_ref(named));
    let own = LinkedFunction { tables: vec![Table::Words(vec![1]), Table::Words(vec![2])], ..own };
    let separate = LinkedFunction { is_separate: true, ..own.clone() };
    let extensible = ModuleSymbols { extensible: true, ..module() };
    [(&own, module()), (&own, extensible), (&separate, module())].map(|(own, symbols)| {
        let functions = [("k", own), ("f", &callee), ("g", &callee), ("routine", &callee)];
        match image_of(&functions, &symbols) {
            Ok(image) => {
                let at = lines.len() - 1;
                let open = left_open(&image);
                let open = if open.is_empty() { String::new() } else { format!(" ! {}", open.join(", ")) };
                format!("{}{open}", word(image.code[at], at))
            }
            Err(error) => format!("error: {error}"),
        }
    })
}

/// The answers of the three forms under a head; equal ones are one line.
fn entry(head: &str, [whole, extensible, separate]: [String; 3]) -> String {
    if whole == extensible && whole == separate {
        return format!("{head}: {whole}\n");
    }
    format!("{head}\n    whole: {whole}\n    extensible: {extensible}\n    relocatable: {separate}\n")
}

/// The answers of these kinds of symbols to one fix-up.
fn check(line: &str, fixup: Fixup, kinds: &[(SymbolKind, &str)], expected: Expect) {
    let one = |(kind, name): &(SymbolKind, &str)| {
        let named = symbol(kind.clone(), name);
        entry(&format!("{kind:?} {name}"), answers(&[("NOP", None), (line, Some(fixup))], &named))
    };
    expected.assert_eq(&kinds.iter().map(one).collect::<String>());
}

/// A symbol of each kind; of functions one of the module, and a kernel whose address is taken.
fn every_kind() -> [(SymbolKind, &'static str); 14] {
    [
        (SymbolKind::Shared, "shared"),
        (SymbolKind::Global, "global"),
        (SymbolKind::Constant, "constant"),
        (SymbolKind::Local(0), "local"),
        (SymbolKind::Function, "g"),
        (SymbolKind::Function, "launched"),
        (SymbolKind::Helper, "routine"),
        (SymbolKind::Extern, "vprintf"),
        (SymbolKind::Outside, "outside"),
        (SymbolKind::Opaque, "image"),
        (SymbolKind::OpaqueParameter(2), "parameter"),
        (SymbolKind::DescriptorSize, DescriptorTable::ALL[0].size_symbol()),
        (SymbolKind::ConstantSize, oriole_ori::CONSTANT_SIZE),
        (SymbolKind::Arguments, "arguments"),
    ]
}

#[test]
fn low_halves_of_addresses() {
    check(
        "MOV R4, 0x0",
        Fixup::Address { symbol: SYMBOL, part: AddressPart::Low, offset: 4 },
        &every_kind(),
        expect![[r#"
        Shared shared
            whole: MOV R4, 0x404
            extensible: MOV R4, 0x404
            relocatable: MOV R4, 0x0 ! Abs32 `shared` + 1028
        Global global
            whole: MOV R4, 0x0 ! Abs32Lo Global(1) + 4
            extensible: MOV R4, 0x0 ! Abs32Lo `global` + 4
            relocatable: MOV R4, 0x0 ! Abs32Lo `global` + 4
        Constant constant
            whole: MOV R4, 0x24
            extensible: MOV R4, 0x24
            relocatable: MOV R4, 0x0 ! Abs16 `constant` + 4
        Local(0) local: error: internal error: the address of `local` is no link-time number
        Function g
            whole: MOV R4, 0x14
            extensible: MOV R4, 0x14
            relocatable: MOV R4, 0x0 ! UnifiedLo `g` + 4
        Function launched
            whole: error: code takes the address of `launched`, which is no `.func` here
            extensible: MOV R4, 0x0 ! DescriptorLo `launched` + 4
            relocatable: MOV R4, 0x0 ! DescriptorLo `launched` + 4
        Helper routine: error: internal error: the address of `routine` is no link-time number
        Extern vprintf: error: internal error: the address of `vprintf` is no link-time number
        Outside outside: error: internal error: the address of `outside` is no link-time number
        Opaque image: error: internal error: the address of `image` is no link-time number
        OpaqueParameter(2) parameter: error: internal error: the address of `parameter` is no link-time number
        DescriptorSize .nv.unified.texrefDescSize: MOV R4, 0x0 ! Abs32 DescriptorSize(Textures) + 4
        ConstantSize .nv.ptx.const0.size
            whole: MOV R4, 0x2c
            extensible: MOV R4, 0x2c
            relocatable: MOV R4, 0x0 ! Abs32 ConstantSize + 4
        Arguments arguments: error: internal error: the address of `arguments` is no link-time number
    "#]],
    );
}

/// The kinds of symbols with addresses of more than 32 bits.
const HALVES: [(SymbolKind, &str); 3] =
    [(SymbolKind::Global, "global"), (SymbolKind::Function, "g"), (SymbolKind::Function, "launched")];

#[test]
fn high_halves_of_addresses() {
    check(
        "MOV R4, 0x0",
        Fixup::Address { symbol: SYMBOL, part: AddressPart::High, offset: 4 },
        &HALVES,
        expect![[r#"
        Global global
            whole: MOV R4, 0x0 ! Abs32Hi Global(1) + 4
            extensible: MOV R4, 0x0 ! Abs32Hi `global` + 4
            relocatable: MOV R4, 0x0 ! Abs32Hi `global` + 4
        Function g
            whole: MOV R4, 0x0
            extensible: MOV R4, 0x0
            relocatable: MOV R4, 0x0 ! UnifiedHi `g` + 4
        Function launched
            whole: error: code takes the address of `launched`, which is no `.func` here
            extensible: MOV R4, 0x0 ! DescriptorHi `launched` + 4
            relocatable: MOV R4, 0x0 ! DescriptorHi `launched` + 4
    "#]],
    );
}

#[test]
fn calls() {
    let kinds =
        [(SymbolKind::Function, "g"), (SymbolKind::Helper, "routine"), (SymbolKind::Outside, "outside")];
    check(
        "CALL.REL.NOINC 0x0",
        Fixup::Call(SYMBOL),
        &kinds,
        expect![[r#"
        Function g
            whole: CALL.REL.NOINC 0x20
            extensible: CALL.REL.NOINC 0x20
            relocatable: CALL.REL.NOINC 0x20 ! BranchAbs `g` + 0
        Helper routine: CALL.REL.NOINC 0x20
        Outside outside
            whole: error: unresolved extern function `outside`
            extensible: CALL.REL.NOINC 0x20 ! BranchAbs `outside` + 0
            relocatable: CALL.REL.NOINC 0x20 ! BranchAbs `outside` + 0
    "#]],
    );
}

#[test]
fn operands_in_constant_memory() {
    let kinds = [(SymbolKind::Constant, "constant"), (SymbolKind::Constant, "elsewhere")];
    let base = ConstBase::Variable(SYMBOL);
    check(
        "FADD R5, R5, c[0x3][0x0]",
        Fixup::Const { base, offset: 4 },
        &kinds,
        expect![[r#"
        Constant constant
            whole: FADD R5, R5, c[0x3][0x24]
            extensible: FADD R5, R5, c[0x3][0x24]
            relocatable: FADD R5, R5, c[0x0][0x0] ! ConstOperand `constant` + 4
        Constant elsewhere
            whole: error: unresolved variable `elsewhere`
            extensible: FADD R5, R5, c[0x0][0x0] ! ConstOperand `elsewhere` + 4
            relocatable: FADD R5, R5, c[0x0][0x0] ! ConstOperand `elsewhere` + 4
    "#]],
    );
}

#[test]
fn slots_of_headers() {
    let kinds = [(SymbolKind::Opaque, "image"), (SymbolKind::OpaqueParameter(2), "parameter")];
    let base = ConstBase::HeaderSlot(SYMBOL);
    check(
        "MOV R5, c[0x0][0x0]",
        Fixup::Const { base, offset: 0 },
        &kinds,
        expect![[r#"
        Opaque image
            whole: MOV R5, c[0x0][0x210]
            extensible: MOV R5, c[0x0][0x210]
            relocatable: MOV R5, c[0x0][0x0] ! ConstOperand `image` + 0
        OpaqueParameter(2) parameter
            whole: MOV R5, c[0x0][0x210]
            extensible: MOV R5, c[0x0][0x210]
            relocatable: MOV R5, c[0x0][0x0] ! ConstOperand OwnParameter(2) + 0
    "#]],
    );
}

#[test]
fn slots_of_addresses() {
    let kinds = [
        (SymbolKind::Global, "global"),
        (SymbolKind::Extern, "vprintf"),
        (SymbolKind::Function, "launched"),
        (SymbolKind::Function, "g"),
    ];
    let base = ConstBase::AddressSlot(SYMBOL);
    check(
        "LDC.64 R6, c[0x4][RZ]",
        Fixup::Const { base, offset: 0 },
        &kinds,
        expect![[r#"
        Global global
            whole: LDC.64 R6, c[0x4][0x8]
            extensible: LDC.64 R6, c[0x4][0x8]
            relocatable: error: internal error: a slot for the address of `global`
        Extern vprintf
            whole: LDC.64 R6, c[0x4][0x18]
            extensible: LDC.64 R6, c[0x4][0x18]
            relocatable: error: internal error: a slot for the address of `vprintf`
        Function launched
            whole: LDC.64 R6, c[0x4][0x20]
            extensible: LDC.64 R6, c[0x4][0x20]
            relocatable: error: internal error: a slot for the address of `launched`
        Function g
            whole: error: code takes the address of `g`, which is no `.func` here
            extensible: error: code takes the address of `g`, which is no `.func` here
            relocatable: error: internal error: a slot for the address of `g`
    "#]],
    );
}

#[test]
fn offsets_in_shared_memory() {
    let kinds = [(SymbolKind::Shared, "shared"), (SymbolKind::Shared, "missing")];
    check(
        "LDS R5, [R4]",
        Fixup::SharedOffset { symbol: SYMBOL, offset: 8 },
        &kinds,
        expect![[r#"
        Shared shared
            whole: LDS R5, [R4+0x408]
            extensible: LDS R5, [R4+0x408]
            relocatable: LDS R5, [R4] ! Abs24 `shared` + 1032
        Shared missing
            whole: error: unresolved variable `missing`
            extensible: error: unresolved variable `missing`
            relocatable: LDS R5, [R4] ! Abs24 `missing` + 1032
    "#]],
    );
}

#[test]
fn what_names_no_symbol() {
    let named = symbol(SymbolKind::Function, "g");
    let mut out = String::new();
    for (line, fixup) in [
        ("MOV R5, c[0x0][0x0]", Fixup::Const { base: ConstBase::Bank, offset: 0x210 }),
        ("MOV R5, c[0x2][0x0]", Fixup::Const { base: ConstBase::Table(1), offset: 4 }),
        ("MOV R5, c[0x2][0x0]", Fixup::Const { base: ConstBase::Table(2), offset: 4 }),
        ("RET.REL.NODEC R20 0x10", Fixup::KernelStart),
    ] {
        let lines = [("NOP", None), (line, Some(fixup))];
        out += &entry(&format!("{fixup:?}"), answers(&lines, &named));
    }
    expect![[r#"
        Const { base: Bank, offset: 528 }: MOV R5, c[0x0][0x210]
        Const { base: Table(1), offset: 4 }
            whole: MOV R5, c[0x2][0xc]
            extensible: MOV R5, c[0x2][0xc]
            relocatable: MOV R5, c[0x0][0x0] ! ConstOperand OwnConstants + 12
        Const { base: Table(2), offset: 4 }: error: internal error: no such table
        KernelStart: RET.REL.NODEC R20 0x0
    "#]]
    .assert_eq(&out);
}

#[test]
fn addresses_to_which_calls_return() {
    let named = symbol(SymbolKind::Outside, "outside");
    let mut out = String::new();
    for call in ["CALL.REL.NOINC 0x0", "CALL.ABS.NOINC 0x0"] {
        let lines = [
            ("MOV R20, 0x0", Some(Fixup::ReturnAddress(AddressPart::Low))),
            ("MOV R21, 0x0", Some(Fixup::ReturnAddress(AddressPart::High))),
            (call, Some(Fixup::Call(SYMBOL))),
        ];
        out += &entry(call, answers(&lines, &named));
    }
    expect![[r#"
        CALL.REL.NOINC 0x0
            whole: error: unresolved extern function `outside`
            extensible: CALL.REL.NOINC 0x30 ! BranchAbs `outside` + 0
            relocatable: CALL.REL.NOINC 0x30 ! BranchAbs `outside` + 0
        CALL.ABS.NOINC 0x0
            whole: error: unresolved extern function `outside`
            extensible: CALL.ABS.NOINC 0x0 ! Abs32Lo Own + 48, Abs32Hi Own + 48, BranchAbs `outside` + 0
            relocatable: CALL.ABS.NOINC 0x0 ! Abs32Lo Own + 48, Abs32Hi Own + 48, BranchAbs `outside` + 0
    "#]]
    .assert_eq(&out);
}

#[test]
fn an_alias_is_the_function_that_it_stands_for() {
    let call = [("CALL.REL.NOINC 0x0", Some(Fixup::Call(SYMBOL)))];
    let own = function(&call, &[symbol(SymbolKind::Function, "other_name")]);
    let callee = function(&[("EXIT", None)], &[]);
    let symbols = ModuleSymbols { aliases: [("other_name".to_owned(), "g".to_owned())].into(), ..module() };
    let separate = LinkedFunction { is_separate: true, ..own.clone() };
    let whole = image_of(&[("k", &own), ("g", &callee)], &symbols).expect("an image");
    let section = image_of(&[("k", &separate)], &symbols).expect("a section");
    assert_eq!(word(whole.code[0], 0), "CALL.REL.NOINC 0x10");
    assert_eq!(left_open(&section), ["BranchAbs `g` + 0"]);
}
