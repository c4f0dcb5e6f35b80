//! Every form of an instruction that compiles for a chip has a hover, and each of its words is offered at its place;
//! and the reports about descriptors of matrix instructions.

use crate::support::fixture;
use expect_test::expect;
use oriole_chip::PtxTarget;
use oriole_ide::{Change, CompletionKind};
use oriole_ptx::table::{Row, Slot, rows_of};
use oriole_ptx::{Opcode, Space};

/// The forms of the most capable chip of its generation.
fn forms() -> impl Iterator<Item = &'static Row> {
    let chip: PtxTarget = "sm_90a".parse().expect("a chip");
    Opcode::all().flat_map(rows_of).filter(move |row| row.supported && row.chips.has(chip))
}

/// The words of a slot.
fn words_of(slot: &Slot) -> Vec<String> {
    let spaces = |spaces: &[Space]| {
        spaces.iter().map(|space| space.name().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    match slot {
        Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => {
            words.iter().map(|word| word.name().to_owned()).collect()
        }
        Slot::Type(types) | Slot::MayType(types) => types.iter().map(|ty| ty.name().to_owned()).collect(),
        Slot::Space(list) | Slot::MaySpace(list) => spaces(list),
        Slot::Vector(widths) | Slot::MayVector(widths) => {
            widths.iter().map(|width| format!("v{width}")).collect()
        }
    }
}

/// The words that a slot must have.
fn needed(slot: &Slot) -> Vec<String> {
    match slot {
        Slot::Sequence(_) => words_of(slot),
        Slot::Head(_) | Slot::Must(_) | Slot::Type(_) | Slot::Space(_) | Slot::Vector(_) => {
            words_of(slot).into_iter().take(1).collect()
        }
        Slot::May(_) | Slot::MayType(_) | Slot::MaySpace(_) | Slot::MayVector(_) => Vec::new(),
    }
}

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

#[test]
fn every_form_has_a_hover() {
    let mut count = 0;
    for row in forms() {
        let words: Vec<String> = row.slots.iter().flat_map(needed).collect();
        let words: String = words.iter().map(|word| format!(".{word}")).collect();
        let most = row.operands.len();
        // Operands of words that are not written are absent.
        let told = (0..=most).rev().any(|operands| {
            let operands = vec!["x"; operands].join(", ");
            let text = format!("{HEAD}.entry k() {{ $0{}{words} {operands}; }}", row.opcode.name());
            let fixture = fixture(&text);
            let hover = fixture.analysis().hover(fixture.file, fixture.at + 1).unwrap();
            hover.is_some_and(|hover| hover.text.starts_with(&format!("```ptx\n{}", row.opcode.name())))
        });
        assert!(told, "{}{words}", row.opcode.name());
        count += 1;
    }
    assert!(count > 500, "{count}");
}

#[test]
fn every_word_is_offered() {
    let mut fixture = fixture(HEAD);
    let mut count = 0;
    for row in forms() {
        let mut prefix = row.opcode.name().to_owned();
        for slot in row.slots {
            let mut wanted = words_of(slot);
            if matches!(slot, Slot::Sequence(_)) {
                wanted.truncate(1);
            }
            let text = format!("{HEAD}.entry k() {{ {prefix}.");
            let at = text.len() as u32;
            fixture.host.change(fixture.file, &[Change { range: None, text }]);
            let offered = fixture.analysis().completions(fixture.file, at).unwrap();
            for word in wanted {
                let is_it = |item: &&oriole_ide::Completion| {
                    item.kind == CompletionKind::Modifier && item.label == word
                };
                assert!(offered.iter().any(|item| is_it(&item)), "{prefix}: `.{word}` is not offered");
                count += 1;
            }
            needed(slot).iter().for_each(|word| prefix.push_str(&format!(".{word}")));
        }
    }
    assert!(count > 3000, "{count}");
}

const PRODUCT: &str = ".version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
.reqntid 128
{
    .reg .b32 t, base, x, c0, c1, c2, c3;
    .reg .b64 left, right, wrong, far, p1;
    .shared .align 1024 .b8 tiles[8192];
    ld.param.u64 p1, [p];
    mov.u32 base, tiles;
    bfe.u32 x, base, 4, 14;
    cvt.u64.u32 left, x;
    or.b64 left, left, 0x4000004000010000;
    add.s64 right, left, 128;
    mov.u32 c0, 0; mov.u32 c1, 0; mov.u32 c2, 0; mov.u32 c3, 0;
again:
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {c0, c1, c2, c3}, left, right, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    st.global.v4.b32 [p1], {c0, c1, c2, c3};
    ret;
}
";

fn hovered(text: &str) -> String {
    let fixture = fixture(text);
    let hover = fixture.analysis().hover(fixture.file, fixture.at).unwrap();
    hover.map_or("nothing".to_owned(), |hover| hover.text)
}

/// The lines about descriptors.
fn descriptors(text: &str) -> String {
    let hover = hovered(text);
    let parts: Vec<&str> = hover
        .split("\n\n")
        .filter(|part| part.contains("a matrix descriptor") || part.contains("an instruction descriptor:"))
        .collect();
    parts.join("\n\n")
}

#[test]
fn descriptors_are_read() {
    let text = PRODUCT;
    expect![[r#"
        Operand 2, `left`, a matrix descriptor:
        * start address: not known, a multiple of 1024 bytes
        * leading byte offset: `0x10` (16 bytes)
        * stride byte offset: `0x400` (1024 bytes)
        * base offset: `0`
        * swizzle: 128 bytes

        Operand 3, `right`, a matrix descriptor:
        * start address: not known, a multiple of 1024 bytes
        * leading byte offset: `0x10` (16 bytes)
        * stride byte offset: `0x400` (1024 bytes)
        * base offset: `0`
        * swizzle: 128 bytes"#]]
    .assert_eq(&descriptors(&text.replace("wgmma.mma_async", "wgmma.mma$0_async")));
    expect![[r#"
        At line 19 a matrix descriptor:
        * start address: not known, a multiple of 1024 bytes
        * leading byte offset: `0x10` (16 bytes)
        * stride byte offset: `0x400` (1024 bytes)
        * base offset: `0`
        * swizzle: 128 bytes"#]]
    .assert_eq(&descriptors(&text.replace("left, right, 1", "left, ri$0ght, 1")));
    // At its definition, it is shown as a descriptor for its reader.
    expect![[r#"
        At line 19 a matrix descriptor:
        * start address: not known, a multiple of 1024 bytes
        * leading byte offset: `0x10` (16 bytes)
        * stride byte offset: `0x400` (1024 bytes)
        * base offset: `0`
        * swizzle: 128 bytes"#]]
    .assert_eq(&descriptors(&text.replace("add.s64 right", "add.s64 ri$0ght")));
    // In the second iteration of the loop an address is unknown.
    let carried = text
        .replace("left, right, 1", "left, ri$0ght, 1")
        .replace(
            "    st.global",
            "    add.s64 right, right, 2;\n    setp.ne.u32 more, c0, 0;\n    @more bra again;\n    st.global",
        )
        .replace("    .reg .b32 t", "    .reg .pred more;\n    .reg .b32 t");
    expect![[r#"
        At line 20 a matrix descriptor:
        * start address: not known, a multiple of 32 bytes
        * leading byte offset: not known
        * stride byte offset: not known
        * base offset: not known
        * swizzle: not known"#]]
    .assert_eq(&descriptors(&carried));
    let made = "    or.b64 far, p1, 0x8000000000000000;\n";
    let unknown =
        text.replace("again:\n", &format!("{made}again:\n")).replace("left, right, 1", "fa$0r, right, 1");
    expect![[r#"
        At line 20 a matrix descriptor:
        * start address: not known
        * leading byte offset: not known
        * stride byte offset: not known
        * base offset: not known
        * swizzle: not known"#]]
    .assert_eq(&descriptors(&unknown));
    // Nothing else has one.
    assert_eq!(descriptors(&text.replace("bfe.u32 x", "bfe.u32 x$0")), "");
}

/// The warnings of invalid descriptors.
fn told(text: &str) -> String {
    let fixture = fixture(text);
    let found = fixture.analysis().diagnostics(fixture.file).unwrap();
    let found = found.iter().filter(|found| found.code.as_str() == "ptx::impossible-descriptor");
    let lines = found.map(|found| format!("{}: {}", fixture.show(found.range), found.message));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn descriptors_that_mean_nothing_are_told() {
    assert_eq!(told(PRODUCT), "");
    // A distance in bytes instead of units of sixteen; a constant with an address beyond its field.
    expect![[r#"
        19: "wgmma.mma_async.sync.aligned.m64n8k16.f3": `left` is not a valid matrix descriptor: bit 46 is set, but no field covers bits 46 to 48
        19: "wgmma.mma_async.sync.aligned.m64n8k16.f3": `right` is not a valid matrix descriptor: bit 46 is set, but no field covers bits 46 to 48"#]].assert_eq(&told(&PRODUCT.replace("0x4000004000010000", "0x4000400000010000")));
    expect![[r#"19: "wgmma.mma_async.sync.aligned.m64n8k16.f3": the constant is not a valid matrix descriptor: bit 14 is set, but no field covers bits 14 to 15"#]].assert_eq(&told(&PRODUCT.replace("left, right, 1", "left, 0x4000004000014000, 1")));
    // A value that a register has on one path only is not certain.
    let guarded = PRODUCT.replace(
        "again:",
        "    .reg .pred one;\n    setp.eq.u32 one, base, 64;\n    @one mov.b64 right, 0x400000000000;\nagain:",
    );
    assert_eq!(told(&guarded), "");
    let copy = TENSOR_COPY.replace("0x4000404000010000", "0x6000404000010000");
    expect![[r#"8: "tcgen05.cp.cta_group::1.128x256b [t], 0x": the constant is not a valid matrix descriptor: its swizzle is 3, which is undefined"#]].assert_eq(&told(&copy));
    expect![[r#"8: "tcgen05.cp.cta_group::1.128x256b [t], 0x": the constant is not a valid matrix descriptor: bits 46 to 48 are not 1"#]].assert_eq(&told(&TENSOR_COPY.replace("0x4000404000010000", "0x4000004000010000")));
}

const TENSOR_COPY: &str = ".version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 p)
{
    .reg .b32 t;
    ld.param.u32 t, [p];
    tcgen05.cp.cta_group::1.128x256b [t], 0x4000404000010000;
    ret;
}
";

#[test]
fn descriptors_of_tensor_memory_are_read() {
    expect![[r#"
        Operand 2, a matrix descriptor:
        * start address: `0x0` (0 bytes)
        * leading byte offset: `0x10` (16 bytes)
        * stride byte offset: `0x400` (1024 bytes)
        * base offset: `0`
        * leading dimension: an offset in bytes
        * swizzle: 128 bytes"#]]
    .assert_eq(&descriptors(&TENSOR_COPY.replace("tcgen05", "tcg$0en05")));
}

const TENSOR_PRODUCT: &str = ".version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 p)
{
    .reg .b32 t, what;
    .reg .b64 left;
    .reg .pred adds;
    ld.param.u32 t, [p];
    ld.param.u64 left, [p];
    setp.eq.u32 adds, t, 0;
    mov.u32 what, 0x8110410;
    tcgen05.mma.cta_group::1.kind::f16 [t], left, left, what, adds;
    ret;
}
";

#[test]
fn descriptions_of_products_are_read() {
    expect![[r#"
        At line 13 an instruction descriptor:
        * sparsity selector: `0`
        * sparse: no
        * saturated: no
        * type of d: f32
        * type of a: f16
        * type of b: bf16
        * a negated: no
        * b negated: no
        * a transposed: no
        * b transposed: yes
        * columns: `64`
        * rows: `128`
        * greatest shift: none"#]]
    .assert_eq(&descriptors(&TENSOR_PRODUCT.replace("u32 what", "u32 wh$0at")));
    let narrow = TENSOR_PRODUCT.replace("kind::f16", "kind::f8f6f4").replace("0x8110410", "0x8110910");
    expect![[r#"13: "tcgen05.mma.cta_group::1.kind::f8f6f4 [t": `what` describes no matrix multiply: its type of a is 2, which is undefined"#]].assert_eq(&told(&narrow));
}

#[test]
fn cycles_of_matrix_instructions_are_told() {
    let hover = hovered(&PRODUCT.replace("wgmma.mma_async", "wgmma.mma$0_async"));
    let product = hover.lines().find(|line| line.contains("HGMMA")).unwrap_or_default();
    assert!(product.contains("tensor pipe") && product.contains("cycles"), "{hover}");
}
