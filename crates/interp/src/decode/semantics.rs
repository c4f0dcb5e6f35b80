//! From the modifiers of an instruction to how it orders memory, and to the registers that it reads.

use oriole_hir::Instruction;
use oriole_ptx::word::BarrierObject;
use oriole_ptx::{Opcode, Space, Word};

use crate::step::Semantics;

/// The memory semantics of an instruction.
pub(super) fn semantics(instruction: &Instruction) -> Semantics {
    use Opcode::*;
    let has = |word| instruction.modifiers.has(word);
    let relaxed = has(Word::Relaxed);
    let mut found = Semantics {
        strong: [Word::Relaxed, Word::Acquire, Word::Release, Word::AcqRel, Word::Volatile, Word::Mmio]
            .into_iter()
            .any(has),
        acquires: has(Word::Acquire) || has(Word::AcqRel),
        releases: has(Word::Release) || has(Word::AcqRel),
        of_block: has(Word::Cta),
        aligned: has(Word::Aligned),
        on_parameters: matches!(instruction.space, Some(Space::FunctionParameter | Space::KernelParameter)),
        copies_registers: instruction.opcode == Mov,
        ..Semantics::default()
    };
    match instruction.opcode {
        Atom | Red | Multimem => {
            found.strong = true;
            found.atomic = !has(Word::LdReduce) && !has(Word::St);
        }
        Cp if has(Word::Reduce) => (found.strong, found.atomic) = (true, true),
        Cp if has(Word::Mbarrier) => found.releases = true,
        Mbarrier => {
            let form: Option<BarrierObject> = instruction.modifiers.at();
            let waits = matches!(form, Some(BarrierObject::TestWait | BarrierObject::TryWait));
            let arrives = matches!(form, Some(BarrierObject::Arrive | BarrierObject::ArriveDrop));
            found.strong = true;
            found.acquires = waits && !relaxed;
            found.releases = arrives && !relaxed;
            found.makes_object = matches!(form, Some(BarrierObject::Init | BarrierObject::Inval));
        }
        Bar | Barrier => {
            found.aligned |= instruction.opcode == Bar && !has(Word::Warp);
            found.acquires = !relaxed;
            found.releases = !relaxed;
        }
        // Between proxies only fences with a semantics of their own order the accesses of threads.
        Fence | Membar => {
            found.fences = !has(Word::Proxy) || has(Word::Acquire) || has(Word::Release);
        }
        _ => {}
    }
    found
}
