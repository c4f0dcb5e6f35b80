//! Classes of memory operations by latency.
//!
//! It is here because statistics and dumps must use one classification. The latencies themselves are in the crate
//! `latency`.

use crate::{Instruction, Opcode, Space};
use oriole_sass::Op;

/// True for an access of short latency: constant and shared memory. Global, generic, local and texture memory take long
/// enough to be worth scheduling around.
pub fn is_short_latency_access(instruction: &Instruction) -> bool {
    !is_texture(instruction)
        && instruction.memory.is_some_and(|memory| matches!(memory.space, Space::Shared | Space::Constant))
}

/// True for texture fetches and queries.
pub fn is_texture(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::TEX | Op::TLD | Op::TLD4 | Op::TMML | Op::TXD | Op::TXQ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryInfo, Origin};

    #[test]
    fn shared_and_constant_memory_have_short_latency() {
        let rows = [
            (Space::Generic, false),
            (Space::Shared, true),
            (Space::Local, false),
            (Space::Constant, true),
            (Space::Spill, false),
            (Space::Global, false),
        ];
        for (space, short) in rows {
            let mut load = Instruction::new(Op::LD, Origin(0));
            assert!(!is_short_latency_access(&load), "{space:?}");
            load.memory =
                Some(MemoryInfo { space, reads: true, writes: false, ordered: false, object: None });
            assert_eq!(is_short_latency_access(&load), short, "{space:?}");
        }
        let mut fetch = Instruction::new(Op::TEX, Origin(0));
        fetch.memory = Some(MemoryInfo {
            space: Space::Constant,
            reads: true,
            writes: false,
            ordered: false,
            object: None,
        });
        assert!(!is_short_latency_access(&fetch));
    }
}
