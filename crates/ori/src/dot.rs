//! Graphviz text of the control-flow graph, as the seeds show it.

use crate::{Cfg, Dominators, Function, Loops};
use std::fmt::Write;

/// The graph of blocks, `digraph f { ... }`; edges back to a loop header carry a comment.
pub fn dot(function: &Function) -> String {
    let cfg = Cfg::new(function);
    let loops = Loops::new(function, &cfg, &Dominators::new(function, &cfg));
    let mut text = String::from("digraph f {\nnode [fontname=\"Courier\" shape=box]\n");
    for block in function.block_ids() {
        let count = function.block(block).instructions.len();
        let depth = loops.depth(block);
        let unreachable = if cfg.is_reachable(block) { "" } else { " style=dashed" };
        writeln!(
            text,
            "bix{} [label=\"bix{}\\n{count} instructions, loop depth {depth}\"{unreachable}]",
            block.0, block.0
        )
        .expect("writing to a string");
        for &successor in &function.block(block).successors {
            let back = match (cfg.position(block), cfg.position(successor)) {
                (Some(from), Some(to)) => to <= from,
                _ => false,
            };
            let comment = if back { " // backedge (loop)" } else { "" };
            writeln!(text, "bix{} -> bix{}{comment}", block.0, successor.0).expect("writing to a string");
        }
    }
    text.push_str("}\n");
    text
}
