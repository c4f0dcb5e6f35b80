//! Loads of constant banks: `.const` variables and the parameters of a kernel.

use crate::context::{Lower, Lowered};
use crate::names;
use crate::source::{Words, imm};
use oriole_hir::{Address, AddressBase, Instruction, VariableKind};
use oriole_ori::{ConstBase, IndexedConst, Source, SourceKind, Value};
use oriole_ptx::{Space, Type};
use oriole_sass::Mod;
use smallvec::SmallVec;

/// A load of a constant bank: of a `.const` variable, or of a kernel parameter.
pub(super) fn load_bank(cx: &mut Lower<'_>, i: &Instruction, address: &Address, space: Space) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let count = usize::from(i.vector.max(1));
    let elements = cx.elements(cx.operand(i, 0)?);
    if elements.len() != count {
        return Err(cx.unsupported_form(i));
    }
    let (bank, start) = match space {
        Space::Constant => (3, 0),
        _ => (0, i64::from(cx.bank.parameters_start(cx.b.function().parameter_bytes))),
    };
    let mut index: Option<Value> = None;
    let mut base = ConstBase::Bank;
    let mut offset = address.offset + start;
    match address.base {
        AddressBase::Register(id) => index = Some(cx.register(id)[0]),
        AddressBase::Variable(variable) => match cx.body.variables[variable].kind {
            VariableKind::Parameter(number) if space == Space::KernelParameter => {
                offset += i64::from(cx.body.parameters[number as usize].offset);
            }
            _ => base = ConstBase::Variable(names::variable_symbol(cx, variable)?),
        },
        AddressBase::Absolute => {}
    }
    if !(-0x8000..=0x7fff).contains(&offset) {
        let sum = cx.b.r();
        let low = index.map_or_else(Source::rz, Source::value);
        cx.add(sum, low, imm(offset as u32));
        index = Some(sum);
        offset = 0;
    }
    let at = |extra: i64| {
        let offset = (offset + extra) as i32;
        match index {
            Some(index) => SourceKind::ConstIndexed(Box::new(IndexedConst { bank, base, index, offset })),
            None => SourceKind::Const { bank, base, offset },
        }
    };
    let mut parts: Vec<SmallVec<[Source; 4]>> = Vec::new();
    let whole = if ty.bits() < 32 { if ty.is_signed() { Type::S32 } else { Type::U32 } } else { ty };
    if ty.bits() < 32 {
        for number in 0..count as i64 {
            let d = cx.b.r();
            let signed = ty.bits() == 8 && ty.is_signed() && cx.chip.loads_signed_constants();
            let size = match ty.bits() {
                8 if signed => Mod::S8,
                8 => Mod::U8,
                _ => Mod::U16,
            };
            cx.load_constant([d], &[size], at(number * i64::from(ty.bytes())));
            let extended = if ty.is_signed() && !signed { cx.extend(d.into(), ty) } else { d.into() };
            parts.push(SmallVec::from_iter([extended]));
        }
        return cx.write_all(&elements, whole, parts);
    }
    let each = ty.bits().div_ceil(32) as usize;
    let words = each * count;
    if let (1, Some(direct)) = (count, cx.direct_words(&elements, ty))
        && each <= 2
    {
        let size: &[Mod] = if each == 2 { &[Mod::_64] } else { &[] };
        cx.load_constant(direct, size, at(0));
        return Ok(());
    }
    let mut loaded = Vec::new();
    for number in (0..words).step_by(2) {
        // Vectors and wide elements are aligned to their size.
        let group = (words - number).min(2);
        let d: Words = (0..group).map(|_| cx.b.r()).collect();
        let size: &[Mod] = if group == 2 { &[Mod::_64] } else { &[] };
        cx.load_constant(d.clone(), size, at(4 * number as i64));
        loaded.extend(d);
    }
    for chunk in loaded.chunks(each) {
        parts.push(chunk.iter().map(|&v| Source::value(v)).collect());
    }
    cx.write_all(&elements, whole, parts)
}
