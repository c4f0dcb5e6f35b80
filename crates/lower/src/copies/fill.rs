//! `st.bulk`: zeros in shared memory.

use crate::context::{Lower, Lowered};
use crate::memory;
use crate::source::imm;
use oriole_hir::Instruction;
use oriole_ori::{Address as OriAddress, File, MemoryInfo, Source, SourceKind};
use oriole_ptx::Type;
use oriole_sass::{Mod, Op};

/// Zeros are in units of 2^ZEROS_UNIT bytes.
const ZEROS_UNIT: u32 = 3;

/// `st.bulk`: zeros in shared memory, counted in units of eight bytes.
pub(crate) fn fill_shared(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let behind = cx.begin_region();
    let target = memory::shared_address(cx, cx.operand(i, 0)?)?;
    let bytes = cx.words(cx.operand(i, 1)?, Type::U64)?;
    let units = match (&bytes[0].kind, &bytes[1].kind) {
        (SourceKind::Imm(bytes), _) => imm(bytes >> ZEROS_UNIT),
        (SourceKind::Zero(_), _) => Source::rz(),
        _ => {
            let [low, high] = [cx.in_register(bytes[0].clone()), cx.in_register(bytes[1].clone())];
            let units = cx.b.r();
            cx.b.shf(units, &[Mod::R, Mod::U64], low, imm(ZEROS_UNIT), high);
            units.into()
        }
    };
    let inside = cx.b.new_block();
    cx.run_into(inside);
    let uniform = cx.uniform_words(&[target]);
    let address = OriAddress { uniform, ..OriAddress::default() };
    let address = Source::plain(SourceKind::Address(Box::new(address)));
    let zeros = Source::plain(SourceKind::Zero(File::UR));
    let count = Source::values(cx.uniform_words(&[units]));
    let draft = cx.b.op(Op::UMEMSETS).mods(&[Mod::_64]).from(address).from(zeros).from(count);
    draft.memory(MemoryInfo::EVERYTHING).emit();
    let out = cx.b.new_block();
    cx.run_into(out);
    cx.end_region(behind);
    Ok(())
}
