//! The control-flow graph of a kernel's code as a drawing, and as text for Graphviz.
//!
//! Pages and files share these blocks. A graph too large for layers is drawn as a column in the order of the code, with
//! arcs next to it.

use std::fmt::Write as _;

use maud::{Markup, html};
use oriole_diagnostics::counted;
use oriole_sass::Op;

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

/// The graph as SVG, and whether it is in layers.
pub fn svg(code: &KernelCode) -> (Markup, bool) {
    let edges = edges(code);
    let sizes = vec![BOX; code.blocks.len()];
    let drawn = (code.blocks.len() <= MOST_BLOCKS).then(|| layered(&sizes, &edges)).flatten();
    let in_layers = drawn.is_some();
    let drawing = drawn.unwrap_or_else(|| column(code.blocks.len(), &edges));
    let longest = code.blocks.iter().map(|block| block.cycles).max().unwrap_or(1).max(1);
    let markup = html! {
        svg.graph width=(number(drawing.size.0)) height=(number(drawing.size.1))
            viewBox={ "0 0 " (number(drawing.size.0)) " " (number(drawing.size.1)) } role="img"
            aria-label={ "Control-flow graph of " (code.blocks.len()) " blocks" } {
            @for (points, &(from, to)) in drawing.edges.iter().zip(&edges) {
                path.edge.back[code.blocks[to].first <= code.blocks[from].first] d=(route(points))
                    data-from=(from) data-to=(to) marker-end="url(#head)" {}
            }
            @for (at, (block, corner)) in code.blocks.iter().zip(&drawing.nodes).enumerate() {
                g.node.{ "depth" (block.loop_depth.min(3)) } data-b=(at)
                    transform={ "translate(" (number(corner.0)) " " (number(corner.1)) ")" } {
                    title { (describe(code, block)) }
                    rect.box width=(BOX.0) height=(BOX.1) rx="5" {}
                    rect.share y=(BOX.1 - 5.0) height="5" width=(number(BOX.0 * block.cycles as f64 / longest as f64)) {}
                    @if let Some((_, name)) = code.functions.iter().find(|(first, _)| *first == block.first) {
                        text.small x="0" y="-4" { (name.chars().take(26).collect::<String>()) }
                    }
                    text x="8" y="16" { (label(code, at)) }
                    text.small x="8" y="32" { (block.end - block.first) " instr., " (block.cycles) " cycles" }
                }
            }
        }
    };
    (markup, in_layers)
}

fn label(code: &KernelCode, at: usize) -> String {
    let block = &code.blocks[at];
    let address = code.rows.get(block.first).map_or(0, |row| row.address);
    format!("B{at}  {address:#06x}")
}

fn describe(code: &KernelCode, block: &Block) -> String {
    let mut text = String::new();
    let rows = &code.rows[block.first..block.end];
    for row in rows.iter().take(12) {
        let _ = writeln!(text, "{:04x}  {}", row.address, row.text);
    }
    if let Some(more @ 1..) = rows.len().checked_sub(12) {
        let _ = writeln!(text, "and {more} more");
    }
    if block.loop_depth > 0 {
        let _ = writeln!(text, "in {}", counted(block.loop_depth.into(), "loop"));
    }
    text
}

fn number(value: f64) -> String {
    format!("{value:.0}")
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
