//! The graph of a function, with dominators and loops: made once, and again only where an edge has changed.
//!
//! It is here because nearly every pass asks for it and few change an edge. A function keeps the last one
//! ([`crate::Function::graph`]) and gives it away for as long as its blocks and edges are those of the graph, which it
//! compares: no pass has to say that it changed them. Only what blocks and edges decide may enter; what depends on
//! instructions or values would be out of date without notice.

use crate::{BlockId, Cfg, Dominators, Loops};
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
    /// The graph with these successors of each block.
    pub fn new<'a>(edges: impl ExactSizeIterator<Item = &'a [BlockId]>) -> FlowGraph {
        FlowGraph { cfg: Cfg::new(edges), dominators: OnceLock::new(), loops: OnceLock::new() }
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

/// The graph that a function keeps. It is not a part of the function's value: functions with and without one are equal.
#[derive(Default)]
pub struct KnownGraph(Mutex<Option<Arc<FlowGraph>>>);

impl KnownGraph {
    fn get(&self) -> Option<Arc<FlowGraph>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The graph with these successors of each block: the one that is kept, or else a new one.
    pub(crate) fn of<'a>(
        &self,
        edges: impl ExactSizeIterator<Item = &'a [BlockId]> + Clone,
    ) -> Arc<FlowGraph> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(graph) if graph.cfg.has_edges(edges.clone()) => graph.clone(),
            _ => known.insert(Arc::new(FlowGraph::new(edges))).clone(),
        }
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
