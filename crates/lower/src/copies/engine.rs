//! An instruction of the bulk engine: its operands in consecutive uniform registers, in a block of its own. Which engine
//! instruction a PTX form needs is decided elsewhere.

use crate::context::Lower;
use crate::source::imm;
use oriole_hir::Instruction;
use oriole_ori::{Address as OriAddress, MemoryInfo, Source, SourceKind};
use oriole_ptx::Word;
use oriole_sass::{Mod, Op};

/// The lower half of a word.
pub(super) const LOW_HALF: u32 = 0xffff;

/// An instruction of the engine, before its operands are in uniform registers.
pub(super) struct Bulk {
    /// Opcode and modifiers.
    pub op: Op,
    pub mods: Vec<Mod>,
    /// Operands in brackets: an address, and the operands that must follow it.
    pub brackets: Vec<Vec<Source>>,
    /// Size and mask, or offsets and mask.
    pub count: Option<Source>,
    /// The cache policy.
    pub policy: Option<[Source; 2]>,
}

/// True if several blocks get a copy, as a mask says.
pub(super) fn several_blocks(i: &Instruction) -> bool {
    i.modifiers.has(Word::MulticastCluster) || i.modifiers.has(Word::MulticastCluster16b)
}

/// Packs two 16-bit halves into a word; a missing upper one is zero.
pub(super) fn halves(cx: &mut Lower<'_>, low: Source, high: Option<Source>) -> Source {
    let Some(high) = high else { return low };
    let high = field(cx, high, 0, LOW_HALF, 16);
    either(cx, low, high)
}

/// `(word >> right & mask) << left`.
pub(super) fn field(cx: &mut Lower<'_>, word: Source, right: u32, mask: u32, left: u32) -> Source {
    match word.kind {
        SourceKind::Imm(bits) => return imm((bits >> right & mask) << left),
        SourceKind::Zero(_) => return word,
        _ => {}
    }
    let mut word = word;
    if right != 0 {
        let shifted = cx.b.r();
        cx.b.shr(shifted, word, right);
        word = shifted.into();
    }
    let cut = cx.b.r();
    cx.b.and(cut, word, mask);
    if left == 0 {
        return cut.into();
    }
    let shifted = cx.b.r();
    cx.b.shl(shifted, cut, left);
    shifted.into()
}

pub(super) fn either(cx: &mut Lower<'_>, a: Source, b: Source) -> Source {
    match (&a.kind, &b.kind) {
        (SourceKind::Zero(_), _) => b,
        (_, SourceKind::Zero(_)) => a,
        (SourceKind::Imm(a), SourceKind::Imm(b)) => imm(a | b),
        _ => {
            let both = cx.b.r();
            let (a, b) = if matches!(a.kind, SourceKind::Imm(_)) { (b, a) } else { (a, b) };
            cx.b.or(both, a, b);
            both.into()
        }
    }
}

/// Emits the instruction in a block of its own.
pub(super) fn emit_bulk(cx: &mut Lower<'_>, bulk: Bulk) {
    let inside = cx.b.new_block();
    cx.run_into(inside);
    let bracketed = |address: OriAddress| Source::plain(SourceKind::Address(Box::new(address)));
    let mut sources: Vec<Source> = Vec::new();
    for words in &bulk.brackets {
        let uniform = cx.uniform_words(words);
        sources.push(bracketed(OriAddress { uniform, ..OriAddress::default() }));
    }
    if let Some(count) = bulk.count {
        sources.push(Source::values(cx.uniform_words(&[count])));
    }
    if let Some(policy) = &bulk.policy {
        let descriptor = Some(cx.uniform_words(policy).into_iter().collect());
        sources.push(bracketed(OriAddress { descriptor, ..OriAddress::default() }));
    }
    cx.b.op(bulk.op).mods(&bulk.mods).from_all(sources).memory(MemoryInfo::EVERYTHING).emit();
    let behind = cx.b.new_block();
    cx.run_into(behind);
}
