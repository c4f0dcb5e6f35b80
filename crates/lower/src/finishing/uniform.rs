//! A check whether uniform registers can be used as they were.

use oriole_ori::handle::handles_of_one_lane;
use oriole_ori::{BlockId, Divergence, File, Function, Instruction, Opcode, values_across_blocks};
use oriole_sass::Op;

/// True if a uniform register is written where only a subset of the warp may execute, and read in another block:
/// other lanes could overwrite it before; or if it holds a texture or a sampler, of which lanes may have several. The lanes that `REDUX` and `CREDUX` combine must be all of its mask; a subset of
/// the warp may call a function.
pub(crate) fn writes_uniform_in_parts(function: &Function) -> bool {
    let crosses = values_across_blocks(function);
    let is_uniform = |value| matches!(function.file(value), File::UR | File::UP);
    let writes = |block: &BlockId| {
        let mut writes = false;
        for instruction in &function.block(*block).instructions {
            let collective = matches!(instruction.opcode, Opcode::Sass(Op::REDUX | Op::CREDUX));
            instruction
                .for_each_definition(|value| writes |= is_uniform(value) && (collective || crosses[value]));
        }
        writes
    };
    let writers: Vec<BlockId> = function.block_ids().filter(writes).collect();
    let graph = function.graph();
    if !handles_of_one_lane(function, &graph).is_empty() {
        return true;
    }
    let cfg = graph.cfg();
    let reduces = |block: &BlockId| {
        let reduces = |it: &Instruction| matches!(it.opcode, Opcode::Sass(Op::REDUX | Op::CREDUX));
        function.block(*block).instructions.iter().any(reduces)
    };
    if !function.is_entry && writers.iter().any(reduces) {
        return true;
    }
    // The whole warp executes the entry; usually no other block writes uniform registers.
    if writers.iter().all(|&block| block == BlockId(0)) && cfg.predecessors(BlockId(0)).is_empty() {
        return false;
    }
    let divergence = Divergence::new(function, &graph);
    writers.iter().any(|&block| !divergence.is_uniform_block(block))
}
