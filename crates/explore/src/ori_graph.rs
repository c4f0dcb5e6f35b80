//! The control-flow graph of a function of the intermediate representation, as text for Graphviz.
//!
//! The marks are those of the graph of machine code. Loops come from the representation's own analyses; no pass is
//! here.

use oriole_ori::print::block_text;
use oriole_ori::{BlockId, Function};

use crate::graphviz::{Edge, EdgeKind, Graph, Node, title};

/// The graph for Graphviz, with the code in the blocks.
pub fn ori_dot(name: &str, function: &Function) -> String {
    let graph = function.graph();
    let (cfg, loops) = (graph.cfg(), graph.loops());
    let node = |block: BlockId| Node {
        title: title(&block.to_string(), loops.depth(block) as usize),
        lines: block_text(function, block).lines().map(|line| line.trim_start().to_owned()).collect(),
        is_unreachable: !cfg.is_reachable(block),
    };
    let edge = |from: BlockId, to: BlockId| {
        let is_back = cfg.position(from).zip(cfg.position(to)).is_some_and(|(from, to)| to <= from);
        let kind = if is_back { EdgeKind::Back } else { EdgeKind::Forward };
        Edge { from: usize::from(from), to: usize::from(to), kind }
    };
    let edges = function
        .block_ids()
        .flat_map(|block| function.block(block).successors.iter().map(move |&to| edge(block, to)));
    Graph { name: name.to_owned(), nodes: function.block_ids().map(node).collect(), edges: edges.collect() }
        .to_string()
}
