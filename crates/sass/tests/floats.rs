//! Texts of floating-point numbers: those of the disassembler, and each is read as the number that it was made of.

use oriole_sass::form::FloatKind;
use oriole_sass::tested::{parse, text};

#[test]
fn texts() {
    let single = |bits| text(FloatKind::F32, bits, false);
    assert_eq!(single(0x3dcccccd), "0.10000000149011611938");
    assert_eq!(single(0x4b800000), "16777216");
    assert_eq!(single(0x4e6e6b28), "1.00000000000000000000e+09");
    assert_eq!(single(0x33d6bf95), "1.0000000116860974231e-07");
    assert_eq!(single(0x80000000), "-0.0");
    assert_eq!(single(0xff800000), "-INF");
    assert_eq!(single(0x7f800001), "+SNAN");
    assert_eq!(text(FloatKind::F32, 0x7fc00001, true), "+QNAN[0x7fc00001]");
    assert_eq!(text(FloatKind::F64High, 0x40090fdb, false), "3.1327419281005859375");
    assert_eq!(text(FloatKind::F16, 0x7bff, false), "65504");
}

#[test]
fn every_half_comes_back() {
    for kind in [FloatKind::F16, FloatKind::Bf16] {
        for bits in 0..=0xffff {
            assert_eq!(parse(kind, &text(kind, bits, true)), Some(bits), "{kind:?} {bits:#x}");
        }
    }
}

#[test]
fn many_singles_and_doubles_come_back() {
    let mut bits = 12345u32;
    for _ in 0..20000 {
        bits = bits.wrapping_mul(1664525).wrapping_add(1013904223);
        for kind in [FloatKind::F32, FloatKind::F64High] {
            assert_eq!(parse(kind, &text(kind, bits, true)), Some(bits), "{kind:?} {bits:#x}");
        }
    }
}
