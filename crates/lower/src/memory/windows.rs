//! Windows: the parts of the generic address space that stand for shared, local, constant and parameter memory.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{address_of, address_word, bank_0, imm};
use oriole_chip::ParameterWindow;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{AddressPart, CONSTANT_SIZE, File, Pseudo, Source, SymbolKind, Value};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;
use std::ops::Range;

/// A pair of words of constant bank 0.
pub(crate) fn window(cx: &mut Lower<'_>, offset: u32) -> Source {
    let d = cx.b.pair();
    cx.b.ldc(d, bank_0(offset));
    d.into()
}

/// `d <- address + start of a window`, or with `to` the difference.
pub(super) fn move_window(
    cx: &mut Lower<'_>,
    d: &Operand,
    ty: oriole_ptx::Type,
    address: SmallVec<[Source; 4]>,
    start: Source,
    to: bool,
) -> Lowered {
    let a = cx.tuple(address);
    let d = cx.result_pair(d, ty)?;
    cx.pseudo(Pseudo::Add64, &[], d, [a, if to { start.negated() } else { start }]);
    Ok(())
}

/// The generic addresses of the first kernel parameter and of the end of the last.
pub(crate) fn parameter_bounds(cx: &mut Lower<'_>, i: &Instruction) -> Result<Range<Source>, LowerError> {
    match cx.bank.parameter_window {
        ParameterWindow::Bounds(place) => Ok(window(cx, place)..window(cx, place + 8)),
        // The start of the parameters in the bank depends on the kernel, and a function has several.
        ParameterWindow::Bank { .. } if !cx.body.is_entry => Err(cx.unsupported_form(i)),
        ParameterWindow::Bank { start, end } => {
            let bank = window(cx, start);
            let first = cx.bank.parameters_start(cx.b.function().parameter_bytes);
            let last = cx.b.r();
            cx.b.ldc([last], bank_0(end));
            let offsets = [[imm(first), Source::rz()], [last.into(), Source::rz()]];
            let [first, last] = offsets.map(|offset| {
                let (sum, offset) = (cx.b.pair(), cx.tuple(offset));
                cx.pseudo(Pseudo::Add64, &[], sum, [bank.clone(), offset]);
                Source::from(sum)
            });
            Ok(first..last)
        }
    }
}

/// A generic address from a shared address, or with `to` the reverse, on a chip whose window is in the constant
/// bank; elsewhere the address unchanged.
pub(crate) fn through_shared_window(cx: &mut Lower<'_>, a: Source, to: bool) -> [Value; 2] {
    let d = cx.b.pair();
    let Some(place) = cx.bank.shared_window else {
        cx.pseudo(Pseudo::Add64, &[], d, [a, Source::literal(0)]);
        return d;
    };
    let base = window(cx, place);
    cx.pseudo(Pseudo::Add64, &[], d, [a, if to { base.negated() } else { base }]);
    d
}

/// `d <- the address is in the space`, by a hardware query.
pub(super) fn query_space(cx: &mut Lower<'_>, d: Value, space: Mod, address: Source) {
    let address = address_of(address, 0);
    cx.b.op(Op::QSPC).m(Mod::E).m(space).to(d).drop_result(File::R).from(address).emit();
}

/// The generic addresses of the start and of the end of the user's constants.
pub(super) fn constant_bounds(cx: &mut Lower<'_>) -> Range<Source> {
    let start = window(cx, cx.bank.constant_window);
    let (end, low) = (cx.b.pair(), cx.b.r());
    // The linker knows it: global variables follow the constants.
    let symbol = cx.symbol(SymbolKind::ConstantSize, CONSTANT_SIZE);
    cx.b.mov(low, address_word(symbol, AddressPart::Low, 0));
    let size = cx.tuple([low.into(), Source::rz()]);
    cx.pseudo(Pseudo::Add64, &[], end, [start.clone(), size]);
    start..end.into()
}

/// `d <- the address is in a window of the constant bank`.
pub(super) fn in_window(cx: &mut Lower<'_>, d: Value, address: Source, Range { start, end }: Range<Source>) {
    let [above, below] = [cx.b.p(), cx.b.p()];
    cx.pseudo(Pseudo::SetPredicate64, &[Mod::GE, Mod::U64], [above], [address.clone(), start]);
    cx.pseudo(Pseudo::SetPredicate64, &[Mod::LT, Mod::U64], [below], [address, end]);
    cx.b.plop3(d, above, below, Source::pt(), 0x80);
}
