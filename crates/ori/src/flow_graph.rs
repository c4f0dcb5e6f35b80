//! The graph of a function, with dominators and loops: made once, and again only where an edge has changed.
//!
//! It is here because nearly every pass asks for it and few change an edge. A function keeps the last one
//! ([`Function::graph`]) and gives it away for as long as its blocks and edges are those of the graph, which it
//! compares: no pass has to say that it changed them. Only what blocks and edges decide may enter; what depends on
//! instructions or values would be out of date without notice.

use crate::{Cfg, Dominators, Function, Loops};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Graph, dominators and loops of a function as it was when it was asked.
#[derive(Debug)]
pub struct FlowGraph {
    cfg: Cfg,
    dominators: OnceLock<Dominators>,
    loops: OnceLock<Loops>,
}

impl FlowGraph {
    /// The graph of a function, whatever the function keeps.
    pub fn new(function: &Function) -> FlowGraph {
        FlowGraph { cfg: Cfg::new(function), dominators: OnceLock::new(), loops: OnceLock::new() }
    }

    /// Edges and order of the blocks.
    pub fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// The dominator tree.
    pub fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(&self.cfg))
    }

    /// The natural loops.
    pub fn loops(&self) -> &Loops {
        self.loops.get_or_init(|| Loops::new(&self.cfg, self.dominators()))
    }
}

/// The graph that a function keeps. It is no part of the function's value: functions with and without one are equal.
#[derive(Default)]
pub struct KnownGraph(Mutex<Option<Arc<FlowGraph>>>);

impl KnownGraph {
    fn get(&self) -> Option<Arc<FlowGraph>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Function {
    /// Graph, dominators and loops of the function as it is now. The graph does not follow later changes.
    pub fn graph(&self) -> Arc<FlowGraph> {
        let mut known = self.graph.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(graph) if graph.cfg.is_of(self) => graph.clone(),
            _ => known.insert(Arc::new(FlowGraph::new(self))).clone(),
        }
    }

    /// Drops the graph that it keeps. A stored function needs none.
    pub fn forget_graph(&mut self) {
        self.graph = KnownGraph::default();
    }
}

impl Clone for KnownGraph {
    fn clone(&self) -> KnownGraph {
        KnownGraph(Mutex::new(self.get()))
    }
}

impl PartialEq for KnownGraph {
    fn eq(&self, _: &KnownGraph) -> bool {
        true
    }
}

impl Eq for KnownGraph {}

impl Hash for KnownGraph {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl std::fmt::Debug for KnownGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.get().is_some() { "known" } else { "unknown" })
    }
}

#[cfg(test)]
mod tests {
    use crate::{BlockId, Function, parse};
    use std::sync::Arc;

    fn diamond() -> Function {
        let text = "kernel params=0 barriers=0
b0: -> b2 b1
  @p0 BRA b2 ; 0
b1: -> b2
b2:
  EXIT ; 1
";
        parse(text).expect("Ori")
    }

    #[test]
    fn the_graph_lasts_until_an_edge_changes() {
        let mut function = diamond();
        let first = function.graph();
        function.block_mut(BlockId(1)).instructions.clear();
        function.new_value(crate::File::R, None);
        assert!(Arc::ptr_eq(&first, &function.graph()));
        assert!(Arc::ptr_eq(&first, &function.clone().graph()));
        // One edge less, then one block more.
        function.block_mut(BlockId(0)).successors.truncate(1);
        let second = function.graph();
        assert_eq!(second.cfg().predecessors(BlockId(2)), [BlockId(0)]);
        assert!(!second.cfg().is_reachable(BlockId(1)));
        function.blocks.push(crate::Block::default());
        assert_eq!(function.graph().cfg().count(), 4);
        assert_eq!(first.cfg().predecessors(BlockId(2)).len(), 2);
    }

    #[test]
    fn it_is_no_part_of_the_value() {
        let (asked, unasked) = (diamond(), diamond());
        asked.graph();
        assert_eq!(asked, unasked);
    }
}
