//! Graphs as text for Graphviz: boxes with a title and code; forward, back and call edges.
//!
//! Graphs of machine code and of the intermediate representation share this style. It knows neither.

use std::fmt::{self, Display, Formatter};

/// A directed graph.
pub struct Graph {
    /// Its name.
    pub name: String,
    /// Its nodes; edges name them by index.
    pub nodes: Vec<Node>,
    /// Its edges.
    pub edges: Vec<Edge>,
}

/// A box.
pub struct Node {
    /// Its first line.
    pub title: String,
    /// The lines below.
    pub lines: Vec<String>,
    /// It is unreachable from the start.
    pub is_unreachable: bool,
}

/// An edge.
pub struct Edge {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// Its kind.
    pub kind: EdgeKind,
}

/// The kind of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// A forward edge.
    Forward,
    /// A back edge to the head of a loop: drawn bold.
    Back,
    /// A call: drawn dashed.
    Call,
}

impl Display for Graph {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "digraph \"{}\" {{", escaped(&self.name))?;
        writeln!(out, "  node [shape=box fontname=\"monospace\" fontsize=10]")?;
        for (at, node) in self.nodes.iter().enumerate() {
            write!(out, "  b{at} [label=\"")?;
            // Lines are left-aligned.
            for line in std::iter::once(&node.title).chain(&node.lines) {
                write!(out, "{}\\l", escaped(line))?;
            }
            writeln!(out, "\"{}]", if node.is_unreachable { " style=dashed" } else { "" })?;
        }
        for edge in &self.edges {
            let style = match edge.kind {
                EdgeKind::Forward => "",
                EdgeKind::Back => " [style=bold]",
                EdgeKind::Call => " [style=dashed]",
            };
            writeln!(out, "  b{} -> b{}{style}", edge.from, edge.to)?;
        }
        writeln!(out, "}}")
    }
}

/// Text inside of a quoted string of Graphviz.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l")
}

/// The title of a block at this loop depth.
pub fn title(name: &str, loops: usize) -> String {
    match loops {
        0 => name.to_owned(),
        1 => format!("{name}  in 1 loop"),
        _ => format!("{name}  in {loops} loops"),
    }
}
