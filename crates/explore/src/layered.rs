//! Layered layout of a directed graph: each node below its predecessors, back edges upwards, few crossings, long edges
//! straight. The method is Sugiyama's: layers by longest path, order by medians, positions by least squares.
//!
//! A control-flow graph is read as a picture. This file knows nothing of code: nodes have sizes and edges have ends. A
//! graph too large for it is refused, since the cost grows faster than the graph.

/// Width and height.
pub type Size = (f64, f64);

/// Room between nodes of a layer, and between layers.
const GAP: Size = (26.0, 34.0);
/// Width of an edge that passes a layer.
const LANE: f64 = 12.0;
/// Maximum number of nodes, including the places where edges pass layers.
const LARGEST: usize = 6000;
/// Number of sweeps that improve the order of layers, down and up.
const SWEEPS: usize = 12;

/// A drawn graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    /// Size of the whole.
    pub size: Size,
    /// Left upper corner of each node.
    pub nodes: Vec<Size>,
    /// For each edge the points that it passes, in its direction.
    pub edges: Vec<Vec<Size>>,
}

/// A node, or the place where an edge passes a layer.
struct Place {
    layer: usize,
    size: Size,
    up: Vec<usize>,
    down: Vec<usize>,
    /// Middle.
    x: f64,
    is_node: bool,
}

/// Lays out a graph; `None` if it is too large. An edge leads from a node to a node by their indices; nodes without
/// predecessors are on top.
pub fn layered(sizes: &[Size], edges: &[(usize, usize)]) -> Option<Drawing> {
    let mut whole = Drawing {
        size: (0.0, 0.0),
        nodes: vec![(0.0, 0.0); sizes.len()],
        edges: vec![Vec::new(); edges.len()],
    };
    // Unconnected parts are drawn side by side.
    for nodes in components(sizes.len(), edges) {
        let place = |node: usize| nodes.binary_search(&node).ok();
        let own: Vec<(usize, (usize, usize))> = edges
            .iter()
            .enumerate()
            .filter_map(|(at, &(from, to))| Some((at, (place(from)?, place(to)?))))
            .collect();
        let own_sizes: Vec<Size> = nodes.iter().map(|&node| sizes[node]).collect();
        let drawing = connected(&own_sizes, &own.iter().map(|&(_, edge)| edge).collect::<Vec<_>>())?;
        let shift = whole.size.0;
        let moved = |(x, y): Size| (x + shift, y);
        for (&node, corner) in nodes.iter().zip(drawing.nodes) {
            whole.nodes[node] = moved(corner);
        }
        for ((at, _), points) in own.into_iter().zip(drawing.edges) {
            whole.edges[at] = points.into_iter().map(moved).collect();
        }
        whole.size = (shift + drawing.size.0, whole.size.1.max(drawing.size.1));
    }
    Some(whole)
}

/// The nodes of each connected component, ascending.
fn components(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(from, to) in edges {
        near[from].push(to);
        near[to].push(from);
    }
    let mut seen = vec![false; count];
    let mut all = Vec::new();
    for start in 0..count {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut nodes = vec![start];
        let mut next = 0;
        while let Some(&node) = nodes.get(next) {
            next += 1;
            for &other in &near[node] {
                if !std::mem::replace(&mut seen[other], true) {
                    nodes.push(other);
                }
            }
        }
        nodes.sort_unstable();
        all.push(nodes);
    }
    all
}

/// Lays out a connected graph.
fn connected(sizes: &[Size], edges: &[(usize, usize)]) -> Option<Drawing> {
    let back = back_edges(sizes.len(), edges);
    let layers = layers(sizes.len(), edges, &back);
    let mut places: Vec<Place> = sizes
        .iter()
        .zip(&layers)
        .map(|(&size, &layer)| Place { layer, size, up: Vec::new(), down: Vec::new(), x: 0.0, is_node: true })
        .collect();
    let mut chains: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    for (&(from, to), &back) in edges.iter().zip(&back) {
        let (top, bottom) = if back { (to, from) } else { (from, to) };
        let mut chain = vec![top];
        if top != bottom {
            for layer in layers[top] + 1..layers[bottom] {
                let lane = places.len();
                if lane >= LARGEST {
                    return None;
                }
                let size = (LANE, 0.0);
                places.push(Place { layer, size, up: Vec::new(), down: Vec::new(), x: 0.0, is_node: false });
                chain.push(lane);
            }
            chain.push(bottom);
            for pair in chain.windows(2) {
                places[pair[0]].down.push(pair[1]);
                places[pair[1]].up.push(pair[0]);
            }
        }
        chains.push(chain);
    }
    if places.len() > LARGEST {
        return None;
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
    for (at, place) in places.iter().enumerate() {
        rows[place.layer].push(at);
    }
    order(&mut rows, &places);
    set(&rows, &mut places);
    Some(drawing(&rows, &places, sizes.len(), edges, &back, &chains))
}

/// The edges that close a cycle in a depth-first search.
fn back_edges(count: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, &(from, _)) in edges.iter().enumerate() {
        out[from].push(at);
    }
    let mut back = vec![false; edges.len()];
    // 0 unseen, 1 on the path, 2 done.
    let mut state = vec![0u8; count];
    for start in 0..count {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.last_mut() {
            match out[*node].get(*next) {
                None => {
                    state[*node] = 2;
                    stack.pop();
                }
                Some(&edge) => {
                    *next += 1;
                    let to = edges[edge].1;
                    match state[to] {
                        0 => {
                            state[to] = 1;
                            stack.push((to, 0));
                        }
                        1 => back[edge] = true,
                        _ => {}
                    }
                }
            }
        }
    }
    back
}

/// The layer of each node: the longest path to it, back edges left out.
fn layers(count: usize, edges: &[(usize, usize)], back: &[bool]) -> Vec<usize> {
    let forward = || edges.iter().zip(back).filter(|&(_, &back)| !back).map(|(edge, _)| *edge);
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut missing = vec![0usize; count];
    for (from, to) in forward() {
        out[from].push(to);
        missing[to] += 1;
    }
    let mut layer = vec![0; count];
    let mut ready: Vec<usize> = (0..count).filter(|&node| missing[node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &to in &out[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            missing[to] -= 1;
            if missing[to] == 0 {
                ready.push(to);
            }
        }
    }
    layer
}

/// Orders each layer by the medians of the neighbours in the previous layer, in both directions.
fn order(rows: &mut [Vec<usize>], places: &[Place]) {
    let mut position = vec![0usize; places.len()];
    let number = |row: &[usize], position: &mut Vec<usize>| {
        row.iter().enumerate().for_each(|(at, &place)| position[place] = at);
    };
    rows.iter().for_each(|row| number(row, &mut position));
    let mut best = (crossings(rows, places, &position), rows.to_vec());
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let all = 0..rows.len();
        let walk: Vec<usize> = if down { all.collect() } else { all.rev().collect() };
        for layer in walk {
            let median = |place: usize| {
                let near = if down { &places[place].up } else { &places[place].down };
                let mut at: Vec<usize> = near.iter().map(|&other| position[other]).collect();
                at.sort_unstable();
                // Without neighbours it stays in place.
                if at.is_empty() { 2 * position[place] } else { at[(at.len() - 1) / 2] + at[at.len() / 2] }
            };
            let mut keyed: Vec<(usize, usize)> =
                rows[layer].iter().map(|&place| (median(place), place)).collect();
            keyed.sort_by_key(|&(key, _)| key);
            rows[layer] = keyed.into_iter().map(|(_, place)| place).collect();
            number(&rows[layer], &mut position);
        }
        let found = crossings(rows, places, &position);
        if found < best.0 {
            best = (found, rows.to_vec());
        }
    }
    rows.clone_from_slice(&best.1);
}

/// Number of crossing pairs of edges, by the inversions of each layer.
fn crossings(rows: &[Vec<usize>], places: &[Place], position: &[usize]) -> u64 {
    let mut total = 0;
    for pair in rows.windows(2) {
        let mut tree = vec![0u64; pair[1].len() + 1];
        let mut seen = 0;
        for &place in &pair[0] {
            let mut ends: Vec<usize> = places[place].down.iter().map(|&to| position[to]).collect();
            ends.sort_unstable();
            for &end in &ends {
                // Number of earlier ends that are not after this one.
                let (mut at, mut before) = (end + 1, 0);
                while at > 0 {
                    before += tree[at];
                    at &= at - 1;
                }
                total += seen - before;
            }
            for &end in &ends {
                let mut at = end + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
                seen += 1;
            }
        }
    }
    total
}

/// Sets the middles: each place as near to its neighbours as the order allows.
fn set(rows: &[Vec<usize>], places: &mut [Place]) {
    for row in rows {
        let mut x = 0.0;
        for &place in row {
            places[place].x = x + places[place].size.0 / 2.0;
            x += places[place].size.0 + GAP.0;
        }
    }
    for sweep in 0..2 * SWEEPS {
        let down = sweep % 2 == 0;
        let all = 0..rows.len();
        let walk: Vec<usize> = if down { all.collect() } else { all.rev().collect() };
        for layer in walk {
            let wanted: Vec<(f64, f64)> = rows[layer]
                .iter()
                .map(|&at| {
                    let place = &places[at];
                    // In the last sweeps both sides count.
                    let both = sweep + 4 >= 2 * SWEEPS;
                    let near = place.up.iter().filter(|_| down || both);
                    let near: Vec<usize> =
                        near.chain(place.down.iter().filter(|_| !down || both)).copied().collect();
                    if near.is_empty() {
                        return (place.x, 0.1);
                    }
                    let sum: f64 = near.iter().map(|&other| places[other].x).sum();
                    // A passing edge should not bend in a layer.
                    (sum / near.len() as f64, if place.is_node { 1.0 } else { 4.0 })
                })
                .collect();
            let widths: Vec<f64> = rows[layer].iter().map(|&at| places[at].size.0).collect();
            for (&at, x) in rows[layer].iter().zip(nearest(&wanted, &widths)) {
                places[at].x = x;
            }
        }
    }
}

/// The places nearest to the wanted ones, by weighted least squares, under the order and the distances: neighbours that
/// would overlap are pooled.
fn nearest(wanted: &[(f64, f64)], widths: &[f64]) -> Vec<f64> {
    let mut shifts = Vec::with_capacity(wanted.len());
    let mut shift = 0.0;
    for (at, &width) in widths.iter().enumerate() {
        if at > 0 {
            shift += (widths[at - 1] + width) / 2.0 + GAP.0;
        }
        shifts.push(shift);
    }
    // Pools of neighbours: weight, weighted sum, length.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (&(x, weight), &shift) in wanted.iter().zip(&shifts) {
        let mut pool = (weight, (x - shift) * weight, 1);
        while let Some(&last) = pools.last().filter(|last| last.1 / last.0 > pool.1 / pool.0) {
            pools.pop();
            pool = (last.0 + pool.0, last.1 + pool.1, last.2 + pool.2);
        }
        pools.push(pool);
    }
    let middles = pools.iter().flat_map(|&(weight, sum, length)| std::iter::repeat_n(sum / weight, length));
    middles.zip(shifts).map(|(x, shift)| x + shift).collect()
}

fn drawing(
    rows: &[Vec<usize>],
    places: &[Place],
    count: usize,
    edges: &[(usize, usize)],
    back: &[bool],
    chains: &[Vec<usize>],
) -> Drawing {
    let left = places.iter().map(|place| place.x - place.size.0 / 2.0).fold(f64::INFINITY, f64::min);
    let left = if left.is_finite() { left - GAP.0 } else { 0.0 };
    let mut tops = Vec::with_capacity(rows.len());
    let mut y = GAP.1 / 2.0;
    let heights: Vec<f64> =
        rows.iter().map(|row| row.iter().map(|&at| places[at].size.1).fold(0.0, f64::max)).collect();
    for height in &heights {
        tops.push(y);
        y += height + GAP.1;
    }
    let right = places.iter().map(|place| place.x + place.size.0 / 2.0).fold(left, f64::max);
    let at = |index: usize| (places[index].x - left, tops[places[index].layer]);
    let corner = |index: usize| (at(index).0 - places[index].size.0 / 2.0, at(index).1);
    let bottom = |index: usize| (at(index).0, at(index).1 + places[index].size.1);
    let route = |(edge, chain): (usize, &Vec<usize>)| {
        let mut points = Vec::with_capacity(2 * chain.len());
        if chain.len() == 1 {
            // An edge to itself leaves at the right and comes back there.
            let (node, (x, top)) = (&places[chain[0]], at(chain[0]));
            let (side, height) = (x + node.size.0 / 2.0, node.size.1);
            return vec![
                (side, top + height * 0.7),
                (side + GAP.0 * 0.8, top + height * 0.7),
                (side + GAP.0 * 0.8, top + height * 0.3),
                (side, top + height * 0.3),
            ];
        }
        for (step, &place) in chain.iter().enumerate() {
            if step == 0 {
                points.push(bottom(place));
            } else if step + 1 == chain.len() {
                points.push(at(place));
            } else {
                // Past the whole layer, so that it crosses no node.
                points.push(at(place));
                points.push((at(place).0, at(place).1 + heights[places[place].layer]));
            }
        }
        if back[edge] {
            points.reverse();
        }
        points
    };
    debug_assert_eq!(edges.len(), chains.len(), "each edge has a chain");
    Drawing {
        size: (right - left + GAP.0, y - GAP.1 / 2.0),
        nodes: (0..count).map(corner).collect(),
        edges: chains.iter().enumerate().map(route).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(count: usize, edges: &[(usize, usize)]) -> Drawing {
        layered(&vec![(100.0, 40.0); count], edges).expect("a small graph")
    }

    /// No node overlaps another one, and forward edges go down.
    fn check(count: usize, edges: &[(usize, usize)]) {
        let drawing = draw(count, edges);
        for a in 0..count {
            for b in 0..a {
                let (p, q) = (drawing.nodes[a], drawing.nodes[b]);
                let apart = (p.0 - q.0).abs() >= 100.0 || (p.1 - q.1).abs() >= 40.0;
                assert!(apart, "{a} at {p:?} covers {b} at {q:?}");
            }
            let (x, y) = drawing.nodes[a];
            assert!(x >= 0.0 && y >= 0.0 && x + 100.0 <= drawing.size.0 && y + 40.0 <= drawing.size.1);
        }
        let back = back_edges(count, edges);
        for (at, &(from, to)) in edges.iter().enumerate() {
            let down = drawing.nodes[from].1 < drawing.nodes[to].1;
            assert_eq!(down, !back[at], "{from} -> {to}");
        }
    }

    #[test]
    fn nodes_are_apart_and_edges_go_down() {
        check(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        check(5, &[(0, 1), (1, 2), (2, 1), (2, 3), (0, 4), (3, 4), (3, 3)]);
        // Two unconnected components.
        check(4, &[(0, 1), (2, 3)]);
        // A ladder of diamonds with long edges past them.
        let mut edges = Vec::new();
        for at in (0..30).step_by(3) {
            edges.extend([(at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3), (0, at + 3)]);
        }
        check(31, &edges);
    }

    #[test]
    fn a_diamond_is_even_and_crosses_nothing() {
        let drawing = draw(4, &[(0, 2), (0, 1), (2, 3), (1, 3)]);
        let middle = drawing.nodes[0].0;
        assert_eq!(drawing.nodes[3].0, middle);
        assert!((drawing.nodes[1].0 + drawing.nodes[2].0 - 2.0 * middle).abs() < 1e-6);
        // Two boxes side by side, and room at both ends.
        assert_eq!(drawing.size.0, 2.0 * 100.0 + 3.0 * GAP.0);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let edges: Vec<(usize, usize)> = (0..400).flat_map(|at| [(at, at + 1), (at, 400)]).collect();
        assert_eq!(layered(&vec![(1.0, 1.0); 401], &edges), None);
        assert_eq!(layered(&[], &[]).map(|drawing| drawing.nodes), Some(Vec::new()));
    }
}
