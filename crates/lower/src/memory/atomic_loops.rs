//! Atomic operations that the hardware lacks: compare-and-swap loops.
//!
//! Shared memory has a swap that only tests whether it succeeded, for loops that load the old value in each round. Where
//! many lanes want the same place, these loops are many times as fast as those over a swap that returns the value there.
//!
//! Where shared and global memory need different code, a generic address is tested for shared memory.

use super::atomic_instruction::{self, Atomic};
use super::place::{self, Place};
use super::windows;
use crate::LowerError;
use crate::arithmetic::{Half, half_of};
use crate::context::Lower;
use crate::source::{Words, address_word, imm};
use oriole_chip::Chip;
use oriole_ori::{File, Guard, Pseudo, Source, Value, Values};
use oriole_ptx::{Space, Type};
use oriole_sass::form::{self, SlotKind};
use oriole_sass::{Mod, Op};

/// A generic address: branches on shared or global memory.
pub(super) fn by_space(cx: &mut Lower<'_>, a: &Atomic, place: Place) -> Result<Words, LowerError> {
    let mut base = place.base.clone();
    if place.offset != 0 {
        let offset = i64::from(place.offset);
        let add = cx.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
        let sum = cx.b.pair();
        cx.pseudo(Pseudo::Add64, &[], sum, [Source::values(base), add]);
        base = Values::from_slice(&sum);
    }
    let shared = cx.b.p();
    windows::query_space(cx, shared, Mod::S, Source::values(base.clone()));
    let result: Words = (0..a.bytes().div_ceil(4)).map(|_| cx.b.r()).collect();
    let [in_shared, in_global, join] = [cx.b.new_block(), cx.b.new_block(), cx.b.new_block()];
    cx.b.branch(Guard { value: shared, negated: false }, in_shared, in_global);
    for (block, place) in [
        (in_global, Place { space: Space::Global, base: base.clone(), symbol: None, offset: 0 }),
        (
            in_shared,
            Place { space: Space::Shared, base: Values::from_slice(&base[..1]), symbol: None, offset: 0 },
        ),
    ] {
        cx.open(block);
        let mut place = place;
        if place.space == Space::Shared && cx.bank.shared_window.is_some() {
            let own = windows::through_shared_window(cx, Source::values(base.clone()), true);
            place.base = Values::from_slice(&own[..1]);
        }
        let old = looped(cx, a, &place)?;
        for (&d, &word) in result.iter().zip(&old) {
            cx.b.mov(d, word);
        }
        if block == in_global {
            cx.b.jump(join);
            cx.terminated = true;
        }
    }
    cx.run_into(join);
    Ok(result)
}

/// The operation on memory of a known space, as one instruction or as a loop.
pub(super) fn looped(cx: &mut Lower<'_>, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
    let native = match place.space {
        Space::Global => !a.narrow(),
        _ => a.in_shared(),
    };
    if native {
        let width = a.bytes() / 4;
        let old = atomic_instruction::single(cx, a, place, |cx| Ok((0..width).map(|_| cx.b.r()).collect()))?;
        return Ok(match old {
            Some(words) => words,
            None => {
                // The caller copies the result; return a defined value.
                (0..width)
                    .map(|_| {
                        let d = cx.b.r();
                        cx.b.mov(d, Source::rz());
                        d
                    })
                    .collect()
            }
        });
    }
    match place.space {
        _ if a.narrow() => narrow_loop(cx, a, place),
        Space::Shared => spin_loop(cx, a, place),
        _ => wide_loop(cx, a, place),
    }
}

/// A loop of a load and a swap that tests, on one or two words of shared memory.
fn spin_loop(cx: &mut Lower<'_>, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
    if a.vector != 1 || a.bytes() > 8 {
        return Err(cx.unsupported("this atomic operation on shared memory"));
    }
    let wide = a.bytes() == 8;
    let [again, done] = [cx.b.new_block(), cx.b.new_block()];
    cx.run_into(again);
    let old: Words = (0..a.bytes() / 4).map(|_| cx.b.r()).collect();
    load_words(cx, place, &old);
    let new = combine(cx, a, &old)?;
    if matches!(a.operation, Mod::MIN | Mod::MAX | Mod::AND | Mod::OR) {
        // A value that stays the same need not be stored.
        let changes = differs(cx, &new, &old);
        let swap = cx.b.new_block();
        cx.b.branch(Guard { value: changes, negated: true }, done, swap);
        cx.open(swap);
    }
    let address = place::memory_operand(cx, place, false);
    let operands = [address, Source::values(old.clone()), Source::values(new)];
    let memory = place::memory_info(place.space, true, true, true);
    let stored = cx.b.p();
    let into_predicate = tests_into_predicate(cx.chip);
    let answer: Words = if into_predicate { Words::new() } else { old.iter().map(|_| cx.b.r()).collect() };
    let draft = cx.b.op(Op::ATOMS).mods(&[Mod::CAST, Mod::SPIN]).m_if(wide, Mod::_64);
    let draft = if into_predicate { draft.to(stored) } else { draft.to_tuple(answer.clone()) };
    draft.from_all(operands).memory(memory).emit();
    match *answer {
        // One for success, in one or two words.
        [word] => cx.b.isetp(stored, Mod::EQ, true, word, 1u32),
        [low, high] => {
            let (answer, one) = (Source::values([low, high]), cx.tuple([imm(1), imm(0)]));
            cx.pseudo(Pseudo::SetPredicate64, &[Mod::EQ, Mod::U64], [stored], [answer, one]);
        }
        _ => {}
    }
    cx.b.branch(Guard { value: stored, negated: true }, again, done);
    cx.open(done);
    Ok(old)
}

/// True if the words of two values differ.
fn differs(cx: &mut Lower<'_>, a: &Words, b: &Words) -> Value {
    let differs = cx.b.p();
    if a.len() == 2 {
        let operands = [a, b].map(|words| Source::values(words.clone()));
        cx.pseudo(Pseudo::SetPredicate64, &[Mod::NE, Mod::U64], [differs], operands);
    } else {
        cx.b.isetp(differs, Mod::NE, true, a[0], b[0]);
    }
    differs
}

/// True if the swap that tests writes a predicate, as newer chips do, instead of a word that is 1 or 0.
fn tests_into_predicate(chip: Chip) -> bool {
    let into_predicate =
        |form: &form::Form| form.slots.first().is_some_and(|slot| slot.kind == SlotKind::Pred);
    form::table(chip).is_some_and(|table| table.forms_of(Op::ATOMS).iter().any(into_predicate))
}

/// A compare-and-swap loop on one or two words.
fn wide_loop(cx: &mut Lower<'_>, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
    if a.vector != 1 || a.bytes() > 8 {
        return Err(cx.unsupported("this atomic operation on shared memory"));
    }
    let count = (a.bytes() / 4) as usize;
    let old: Words = (0..count).map(|_| cx.b.r()).collect();
    load_words(cx, place, &old);
    let again = cx.b.new_block();
    cx.run_into(again);
    let new = combine(cx, a, &old)?;
    let seen: Words = (0..count).map(|_| cx.b.r()).collect();
    compare_and_swap(cx, place, a.scope, &seen, &old, &new);
    let changed = differs(cx, &seen, &old);
    for (&d, &word) in old.iter().zip(&seen) {
        cx.b.mov(d, word);
    }
    let done = cx.b.new_block();
    cx.b.branch(Guard { value: changed, negated: false }, again, done);
    cx.open(done);
    Ok(old)
}

/// A compare-and-swap loop on the word that contains 16 bits.
fn narrow_loop(cx: &mut Lower<'_>, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
    let mut base = place.base.clone();
    let low = cx.b.r();
    let start = base.first().map_or_else(Source::rz, |&v| Source::value(v));
    let whole = if place.offset != 0 || place.symbol.is_some() {
        let sum = cx.b.r();
        if let Some(symbol) = place.symbol {
            let offset = cx.b.r();
            cx.b.mov(offset, address_word(symbol, oriole_ori::AddressPart::Low, place.offset));
            cx.b.iadd3(sum, start, offset, Source::rz());
            Source::value(sum)
        } else if base.len() == 2 {
            let offset = i64::from(place.offset);
            let add = cx.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
            let pair = cx.b.pair();
            cx.pseudo(Pseudo::Add64, &[], pair, [Source::values(base.clone()), add]);
            base = Values::from_slice(&pair);
            Source::value(pair[0])
        } else {
            cx.add(sum, start, imm(place.offset as u32));
            Source::value(sum)
        }
    } else {
        start
    };
    let whole = cx.in_register(whole);
    cx.b.and(low, whole.clone(), !3u32);
    let [half, upper] = [cx.b.r(), cx.b.p()];
    cx.b.and(half, whole, 2u32);
    cx.b.isetp(upper, Mod::NE, true, half, Source::rz());
    let [insert, extract] = [cx.b.r(), cx.b.r()];
    let (low_insert, low_extract) = (cx.in_register(imm(0x3254)), cx.in_register(imm(0x7710)));
    let not_upper = Source::value(upper).inverted();
    cx.b.sel(insert, low_insert, 0x5410u32, not_upper.clone());
    cx.b.sel(extract, low_extract, 0x7732u32, not_upper);
    let word_place = Place {
        space: place.space,
        base: if base.len() == 2 { Values::from_slice(&[low, base[1]]) } else { Values::from_slice(&[low]) },
        symbol: None,
        offset: 0,
    };
    let word: Words = Words::from_slice(&[cx.b.r()]);
    load_words(cx, &word_place, &word);
    let [again, swap, done] = [cx.b.new_block(), cx.b.new_block(), cx.b.new_block()];
    cx.run_into(again);
    let current = cx.b.r();
    cx.b.prmt(current, word[0], extract, Source::rz());
    let new = if a.operation == Mod::CAS {
        let expected = cx.extend(a.b[0].into(), Type::U16);
        let differs = cx.b.p();
        cx.b.isetp(differs, Mod::NE, true, current, expected);
        cx.b.branch(Guard { value: differs, negated: false }, done, swap);
        cx.open(swap);
        a.c[0]
    } else {
        cx.b.fall_through(swap);
        cx.open(swap);
        combine(cx, a, &Words::from_slice(&[current]))?[0]
    };
    let [joined, seen] = [cx.b.r(), cx.b.r()];
    cx.b.prmt(joined, word[0], insert, new);
    let seen = Words::from_slice(&[seen]);
    compare_and_swap(cx, &word_place, a.scope, &seen, &word, &Words::from_slice(&[joined]));
    let changed = cx.b.p();
    cx.b.isetp(changed, Mod::NE, true, seen[0], word[0]);
    cx.b.mov(word[0], seen[0]);
    cx.b.branch(Guard { value: changed, negated: false }, again, done);
    cx.open(done);
    Ok(Words::from_slice(&[current]))
}

fn load_words(cx: &mut Lower<'_>, place: &Place, d: &Words) {
    let shared = place.space == Space::Shared;
    let address = place::memory_operand(cx, place, true);
    cx.b.op(if shared { Op::LDS } else { Op::LDG })
        .m_if(!shared, Mod::E)
        .m_if(d.len() == 2, Mod::_64)
        .to_tuple(d.clone())
        .from(address)
        .memory(place::memory_info(place.space, true, false, true))
        .emit();
}

/// `seen <- memory; if it is old, memory <- new`.
fn compare_and_swap(cx: &mut Lower<'_>, place: &Place, scope: Mod, seen: &Words, old: &Words, new: &Words) {
    let shared = place.space == Space::Shared;
    let address = place::memory_operand(cx, place, false);
    let mut draft = cx.b.op(if shared { Op::ATOMS } else { Op::ATOMG }).m(Mod::CAS);
    draft = draft.m_if(seen.len() == 2, Mod::_64);
    if !shared {
        draft = draft.mods(&[Mod::E, Mod::STRONG, scope]).drop_result(File::P);
    }
    draft
        .to_tuple(seen.clone())
        .from(address)
        .from(Source::values(old.clone()))
        .from(Source::values(new.clone()))
        .memory(place::memory_info(place.space, true, true, true))
        .emit();
}

/// The value that the operation stores, computed from the old one.
fn combine(cx: &mut Lower<'_>, a: &Atomic, old: &Words) -> Result<Words, LowerError> {
    let d: Words = old.iter().map(|_| cx.b.r()).collect();
    let (x, y) = (Source::values(old.clone()), Source::values(a.b.clone()));
    let signed = if a.ty.is_signed() { Mod::S64 } else { Mod::U64 };
    let logic = |operation: Mod| match operation {
        Mod::AND => 0xc0,
        Mod::OR => 0xfc,
        _ => 0x3c,
    };
    match (a.operation, a.ty) {
        (Mod::ADD, Type::F32) => cx.op(Op::FADD, &[], d[0], [x, y]),
        (Mod::ADD, Type::F64) => cx.b.op(Op::DADD).to_tuple(d.clone()).from(x).from(y).emit(),
        (Mod::ADD, ty) if half_of(ty).is_some() => {
            let half = half_of(ty).unwrap_or(Half { bf16: false, packed: true });
            let (x, y) = if half.packed { (x, y) } else { (x.suffixed(Mod::H0_H0), y.suffixed(Mod::H0_H0)) };
            cx.op(Op::HADD2, half.mods(), d[0], [x, y]);
        }
        (Mod::ADD, _) if d.len() == 2 => cx.pseudo(Pseudo::Add64, &[], d.clone(), [x, y]),
        (Mod::MIN, _) if d.len() == 2 => cx.pseudo(Pseudo::Min64, &[signed], d.clone(), [x, y]),
        (Mod::MAX, _) if d.len() == 2 => cx.pseudo(Pseudo::Max64, &[signed], d.clone(), [x, y]),
        (Mod::AND | Mod::OR | Mod::XOR, _) if d.len() == 2 => {
            let table = Source::literal(logic(a.operation));
            cx.pseudo(Pseudo::Logic64, &[], d.clone(), [x, y, Source::rz(), table]);
        }
        (Mod::EXCH, _) => return Ok(a.b.clone()),
        _ => return Err(cx.unsupported("this atomic operation")),
    }
    Ok(d)
}
