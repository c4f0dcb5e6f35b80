//! Classes of memory operations as the seeds name them: hot or cold.
//!
//! It is here because scheduling, statistics and dumps must use one classification. Latencies stay out.

use crate::{Instruction, Opcode, Space};
use oriole_sass::Op;

/// How long a memory operation takes, coarsely.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Temperature {
    /// Long latency: global, generic, local and texture memory. Worth scheduling around.
    Hot,
    /// Short latency: constant and shared memory.
    Cold,
}

/// Hot or cold; `None` for what touches no memory.
pub fn temperature(instruction: &Instruction) -> Option<Temperature> {
    if is_texture(instruction) {
        return Some(Temperature::Hot);
    }
    let memory = instruction.memory?;
    Some(match memory.space {
        Space::Generic | Space::Global | Space::Local | Space::Spill => Temperature::Hot,
        Space::Shared | Space::Constant => Temperature::Cold,
    })
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
    fn spaces_have_a_temperature() {
        let rows = [
            (Space::Generic, Temperature::Hot),
            (Space::Shared, Temperature::Cold),
            (Space::Local, Temperature::Hot),
            (Space::Constant, Temperature::Cold),
            (Space::Spill, Temperature::Hot),
            (Space::Global, Temperature::Hot),
        ];
        for (space, heat) in rows {
            let mut load = Instruction::new(Op::LD, Origin(0));
            assert_eq!(temperature(&load), None, "{space:?}");
            load.memory = Some(MemoryInfo { space, reads: true, writes: false, ordered: false });
            assert_eq!(temperature(&load), Some(heat), "{space:?}");
        }
        assert_eq!(temperature(&Instruction::new(Op::TEX, Origin(0))), Some(Temperature::Hot));
    }
}
