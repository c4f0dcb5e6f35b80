//! Handles: the headers of textures, samplers and surfaces, in registers and as operands; `istypep`.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{Words, imm};
use oriole_chip::texture::OpaqueKind;
use oriole_hir::{Instruction, Operand, VariableId, VariableKind};
use oriole_ori::{ConstBase, File, Source, SourceKind, SymbolKind, Value};
use oriole_ptx::Type;
use oriole_sass::{Mod, Op};

/// A texture and, where it is separate, its sampler.
pub(super) struct Handle {
    pub texture: Source,
    pub sampler: Option<Source>,
}

/// The handle that an operand names, in a general register.
pub(super) fn opaque(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    match operand {
        &Operand::VariableAddress(variable, 0) => Ok(header(cx, variable)?.into()),
        register => cx.word(register, Type::B64),
    }
}

/// The header index of a texture, sampler or surface of the module.
fn header(cx: &mut Lower<'_>, variable: VariableId) -> Result<Value, LowerError> {
    if let Some(&header) = cx.headers.get(&variable) {
        return Ok(header);
    }
    let declared = &cx.body.variables[variable];
    let symbol = match declared.kind {
        VariableKind::Parameter(number) => cx.symbol(SymbolKind::OpaqueParameter(number), &declared.name),
        _ => cx.symbol(SymbolKind::Opaque, declared.module_name()),
    };
    let header = cx.b.r();
    let mut load = oriole_ori::Instruction::new(Op::LDC, cx.prelude_origin());
    load.destinations.push(oriole_ori::Destination::new(File::R, [header]));
    load.sources.push(Source::plain(SourceKind::Const {
        bank: 0,
        base: ConstBase::HeaderSlot(symbol),
        offset: 0,
    }));
    cx.insert_in_prelude(load);
    cx.headers.insert(variable, header);
    Ok(header)
}

/// The handle of a texture, sampler or surface of the module as a value: its header and its kind. `None` for
/// other variables.
pub(crate) fn handle(cx: &mut Lower<'_>, variable: VariableId) -> Result<Option<[Source; 2]>, LowerError> {
    let Some(kind) = kind_bit(cx.body.variables[variable].ty) else { return Ok(None) };
    Ok(Some([header(cx, variable)?.into(), imm(kind)]))
}

/// `istypep`: tests a bit of the handle.
pub(crate) fn is_type(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let bit = kind_bit(cx.ty(i, 0)?).ok_or_else(|| cx.unsupported_form(i))?;
    let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
    let words = cx.words(cx.operand(i, 1)?, Type::B64)?;
    let high = cx.in_register(words[1].clone());
    let tested = cx.b.r();
    cx.b.and(tested, high, imm(bit));
    cx.b.isetp(d, Mod::NE, true, tested, Source::rz());
    Ok(())
}

/// The bit of the upper word of a handle that marks an object of this type.
fn kind_bit(ty: Type) -> Option<u32> {
    ty.opaque_kind().map(OpaqueKind::handle_bit)
}

/// The sources as one operand; zeros among them are moved to registers.
pub(super) fn values(cx: &mut Lower<'_>, sources: Vec<Source>) -> Source {
    if sources.is_empty() {
        return Source::rz();
    }
    let values: Words = sources.into_iter().map(|source| cx.value_of(source)).collect();
    Source::values(values)
}

/// True where the handle operands are warp-uniform. Operands that may be divergent are in one word, such as a
/// texture handle with its sampler, and are handled like those.
pub(super) fn names_whole_warp(cx: &Lower<'_>) -> bool {
    cx.uniform && !cx.calls && cx.body.is_entry
}

/// A texture and a sampler in one word, for chips with handles in general registers.
pub(super) fn one_handle(cx: &mut Lower<'_>, texture: Source, sampler: Source) -> Source {
    let [moved, both] = [cx.b.r(), cx.b.r()];
    let (texture, sampler) = (cx.in_register(texture), cx.in_register(sampler));
    cx.b.shl(moved, sampler, 20u32);
    cx.b.lop3(both, texture, imm(0xf_ffff), moved, 0xe2);
    both.into()
}

/// A texture and a sampler in two uniform registers.
pub(super) fn uniform_pair(cx: &mut Lower<'_>, texture: Source, sampler: Source) -> [Value; 2] {
    let pair = [cx.b.temporary(File::UR), cx.b.temporary(File::UR)];
    for (d, source) in pair.into_iter().zip([texture, sampler]) {
        let value = cx.value_of(source);
        cx.b.mov(d, value);
    }
    pair
}
