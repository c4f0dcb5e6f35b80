//! The control-flow graph of a kernel's code as a drawing, and as text for Graphviz.
//!
//! Pages and files share these blocks. A graph too large for layers is drawn as a column in the order of the code, with
//! arcs next to it.

use std::fmt::Write as _;

use oriole_sass::Op;
use serde::Serialize;

use crate::code::{Block, KernelCode};
use crate::graphviz::{Edge, EdgeKind, Graph, Node, title};
use crate::layered::{Drawing, Size, layered};

/// Size of a block's rectangle.
const BOX: Size = (168.0, 44.0);
/// Blocks above which the graph is a column.
const MOST_BLOCKS: usize = 600;

/// Whether an edge is a call: callees are drawn separately.
fn is_call(code: &KernelCode, from: usize, to: usize) -> bool {
    let last = code.rows[code.blocks[from].first..code.blocks[from].end].last();
    to != from + 1 && last.is_some_and(|row| row.instruction.op == Op::CALL)
}

/// The edges with the block that each comes from, without calls.
fn edges(code: &KernelCode) -> Vec<(usize, usize)> {
    let blocks = &code.blocks;
    let from =
        |(at, block): (usize, &Block)| block.successors.iter().map(move |&to| (at, to)).collect::<Vec<_>>();
    let edges = blocks.iter().enumerate().flat_map(from);
    edges.filter(|&(from, to)| !is_call(code, from, to)).collect()
}

/// The drawing in numbers, which the script of a page makes shapes of.
#[derive(Serialize)]
pub struct GraphColumns {
    /// Width and height.
    size: [i64; 2],
    /// Width and height of a block.
    block: [i64; 2],
    /// Left and top of each block, one after the other.
    corners: Vec<i64>,
    /// Blocks that each edge goes from and to, one after the other.
    edges: Vec<usize>,
    /// The path of each edge.
    paths: Vec<String>,
    in_layers: bool,
}

/// The graph of a kernel for a page.
pub fn columns(code: &KernelCode) -> GraphColumns {
    let edges = edges(code);
    let sizes = vec![BOX; code.blocks.len()];
    let drawn = (code.blocks.len() <= MOST_BLOCKS).then(|| layered(&sizes, &edges)).flatten();
    let in_layers = drawn.is_some();
    let drawing = drawn.unwrap_or_else(|| column(code.blocks.len(), &edges));
    let whole = |(width, height): Size| [libm::round(width) as i64, libm::round(height) as i64];
    GraphColumns {
        size: whole(drawing.size),
        block: whole(BOX),
        corners: drawing.nodes.into_iter().flat_map(whole).collect(),
        edges: edges.into_iter().flat_map(|(from, to)| [from, to]).collect(),
        paths: drawing.edges.iter().map(|points| route(points)).collect(),
        in_layers,
    }
}

/// A line through the points, with rounded bends.
fn route(points: &[Size]) -> String {
    let mut path = String::new();
    let mut before: Option<Size> = None;
    for &(x, y) in points {
        let _ = match before {
            None => write!(path, "M{x:.0} {y:.0}"),
            Some((last, _)) if (last - x).abs() < 0.5 => write!(path, "V{y:.0}"),
            Some((last, top)) if (top - y).abs() < 0.5 => {
                let _ = last;
                write!(path, "H{x:.0}")
            }
            Some((last, top)) => {
                let middle = (top + y) / 2.0;
                write!(path, "C{last:.0} {middle:.0} {x:.0} {middle:.0} {x:.0} {y:.0}")
            }
        };
        before = Some((x, y));
    }
    path
}

/// All blocks below each other, edges that do not go to the next one as arcs at the side: longer arcs further out.
fn column(count: usize, edges: &[(usize, usize)]) -> Drawing {
    const STEP: f64 = BOX.1 + 18.0;
    let top = |at: usize| 10.0 + STEP * at as f64;
    let arc = |&(from, to): &(usize, usize)| {
        if to == from + 1 {
            return vec![(10.0 + BOX.0 / 2.0, top(from) + BOX.1), (10.0 + BOX.0 / 2.0, top(to))];
        }
        let out = 10.0 + BOX.0 + 14.0 * libm::log2(from.abs_diff(to) as f64 + 1.0) + 10.0;
        let (start, end) = (top(from) + BOX.1 * 0.7, top(to) + BOX.1 * 0.3);
        vec![(10.0 + BOX.0, start), (out, start), (out, end), (10.0 + BOX.0, end)]
    };
    let widest = 14.0 * libm::log2(count as f64 + 1.0) + 30.0;
    Drawing {
        size: (BOX.0 + widest + 20.0, top(count) + 10.0),
        nodes: (0..count).map(|at| (10.0, top(at))).collect(),
        edges: edges.iter().map(arc).collect(),
    }
}

/// The graph for Graphviz, with the code in the blocks.
pub fn dot(code: &KernelCode, name: &str) -> String {
    let node = |(at, block): (usize, &Block)| {
        let inner = code.functions.iter().find(|(first, _)| *first == block.first);
        let name = format!("B{at}{}", inner.map_or(String::new(), |(_, name)| format!("  {name}")));
        let lines = code.rows[block.first..block.end].iter();
        Node {
            title: title(&name, block.loop_depth.into()),
            lines: lines.map(|row| format!("/*{:04x}*/ {}", row.address, row.text)).collect(),
            is_unreachable: false,
        }
    };
    let edge = |from: usize, to: usize| {
        let kind = match code.blocks[to].first <= code.blocks[from].first {
            _ if is_call(code, from, to) => EdgeKind::Call,
            true => EdgeKind::Back,
            false => EdgeKind::Forward,
        };
        Edge { from, to, kind }
    };
    let edges = code.blocks.iter().enumerate();
    let edges = edges.flat_map(|(from, block)| block.successors.iter().map(move |&to| edge(from, to)));
    Graph {
        name: name.to_owned(),
        nodes: code.blocks.iter().enumerate().map(node).collect(),
        edges: edges.collect(),
    }
    .to_string()
}
