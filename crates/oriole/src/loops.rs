//! Loops of finished machine code, for figures that weigh an instruction by how often it may run. It works on the words
//! of anybody's cubin, where the loops that a compiler knew are gone.

use oriole_sass::{Instruction, Op, OperandKind};
use std::collections::BTreeSet;

/// A straight run of instructions.
pub struct Block {
    /// Its instructions.
    pub range: std::ops::Range<usize>,
    /// How many loops it stands in.
    pub depth: u32,
}

/// How many loops each instruction stands in.
pub fn depths(code: &[Instruction]) -> Vec<u32> {
    blocks(code).into_iter().flat_map(|block| block.range.map(move |_| block.depth)).collect()
}

/// The blocks of the code in order, with how many loops each stands in: natural loops, those with one head counted as
/// one. What is reached only by an indexed branch is not seen.
pub fn blocks(code: &[Instruction]) -> Vec<Block> {
    if code.is_empty() {
        return Vec::new();
    }
    let graph = Graph::new(code);
    let blocks = graph.starts.len();
    let dominators = graph.dominators();
    let mut depth = vec![0; blocks];
    for head in 0..blocks {
        let latches: Vec<usize> = graph.before[head]
            .iter()
            .copied()
            .filter(|&latch| dominates(&dominators, &graph.order, head, latch))
            .collect();
        if latches.is_empty() {
            continue;
        }
        let mut body = vec![false; blocks];
        body[head] = true;
        let mut open = latches;
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut body[block], true) {
                open.extend(graph.before[block].iter().filter(|&&before| graph.order[before] != UNSEEN));
            }
        }
        for (depth, _) in depth.iter_mut().zip(&body).filter(|(_, inside)| **inside) {
            *depth += 1;
        }
    }
    let ends = graph.starts.iter().copied().skip(1).chain([code.len()]);
    let ranges = graph.starts.iter().zip(ends).map(|(&start, end)| start..end);
    ranges.zip(depth).map(|(range, depth)| Block { range, depth }).collect()
}

/// The order of a block that is not reached.
const UNSEEN: usize = usize::MAX;

struct Graph {
    /// First instruction of each block, ascending.
    starts: Vec<usize>,
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// Place of each block in reverse post-order.
    order: Vec<usize>,
}

impl Graph {
    fn new(code: &[Instruction]) -> Graph {
        let mut starts = BTreeSet::from([0]);
        for (index, instruction) in code.iter().enumerate() {
            if let Some(target) = target(instruction, index, code.len()) {
                starts.insert(target);
            }
            if ends(instruction.op) && index + 1 < code.len() {
                starts.insert(index + 1);
            }
        }
        let starts: Vec<usize> = starts.into_iter().collect();
        let count = starts.len();
        let mut graph = Graph {
            starts,
            after: vec![Vec::new(); count],
            before: vec![Vec::new(); count],
            order: vec![UNSEEN; count],
        };
        for block in 0..count {
            let last = graph.starts.get(block + 1).copied().unwrap_or(code.len()) - 1;
            let instruction = &code[last];
            let mut next: BTreeSet<usize> = target(instruction, last, code.len())
                .map(|target| graph.block_of(target))
                .into_iter()
                .collect();
            let leaves =
                matches!(instruction.op, Op::BRA | Op::JMP | Op::BRX | Op::EXIT | Op::RET | Op::KILL);
            if (!leaves || conditional(instruction)) && block + 1 < count {
                next.insert(block + 1);
            }
            for &after in &next {
                graph.before[after].push(block);
            }
            graph.after[block] = next.into_iter().collect();
        }
        for (place, block) in graph.reverse_post_order().into_iter().enumerate() {
            graph.order[block] = place;
        }
        graph
    }

    fn block_of(&self, index: usize) -> usize {
        self.starts.partition_point(|&start| start <= index) - 1
    }

    fn reverse_post_order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.starts.len()];
        seen[0] = true;
        let mut path = vec![(0, 0)];
        let mut done = Vec::new();
        while let Some((block, child)) = path.pop() {
            let Some(&next) = self.after[block].get(child) else {
                done.push(block);
                continue;
            };
            path.push((block, child + 1));
            if !std::mem::replace(&mut seen[next], true) {
                path.push((next, 0));
            }
        }
        done.reverse();
        done
    }

    /// The immediate dominator of each block, by the iteration of Cooper, Harvey and Kennedy.
    fn dominators(&self) -> Vec<usize> {
        let mut blocks: Vec<usize> =
            (0..self.starts.len()).filter(|&block| self.order[block] != UNSEEN).collect();
        blocks.sort_by_key(|&block| self.order[block]);
        let mut above = vec![UNSEEN; self.starts.len()];
        above[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &blocks[1..] {
                let known = self.before[block].iter().copied().filter(|&before| above[before] != UNSEEN);
                let new = known.reduce(|mut a, mut b| {
                    while a != b {
                        while self.order[a] > self.order[b] {
                            a = above[a];
                        }
                        while self.order[b] > self.order[a] {
                            b = above[b];
                        }
                    }
                    a
                });
                if let Some(new) = new
                    && above[block] != new
                {
                    above[block] = new;
                    changed = true;
                }
            }
        }
        above
    }
}

fn dominates(above: &[usize], order: &[usize], head: usize, mut block: usize) -> bool {
    if order[block] == UNSEEN || order[head] == UNSEEN {
        return false;
    }
    while order[block] > order[head] {
        block = above[block];
    }
    block == head
}

/// Where a branch or call goes, if it is within the code.
fn target(instruction: &Instruction, index: usize, count: usize) -> Option<usize> {
    if !matches!(instruction.op, Op::BRA | Op::JMP | Op::CALL) {
        return None;
    }
    instruction.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Target(distance) => {
            usize::try_from(index as i64 + 1 + distance / 16).ok().filter(|&target| target < count)
        }
        _ => None,
    })
}

fn ends(op: Op) -> bool {
    matches!(op, Op::BRA | Op::JMP | Op::BRX | Op::EXIT | Op::RET | Op::KILL | Op::CALL)
}

/// True if the instruction may do nothing: by its guard, or by a predicate among its operands.
fn conditional(instruction: &Instruction) -> bool {
    instruction.guard.register != 7
        || instruction.guard.negated
        || instruction.operands.iter().any(|operand| match operand.kind {
            OperandKind::Pred(register) | OperandKind::UPred(register) => register != 7 || operand.invert,
            OperandKind::UReg(_) => true,
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use oriole_chip::Chip;

    /// Depths of code given as lines of text.
    fn depths(lines: &[&str]) -> Vec<u32> {
        let parse = |(index, line): (usize, &&str)| {
            oriole_sass::parse(Chip::SM_90, line, Some(16 * index as u64))
                .unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        super::depths(&lines.iter().enumerate().map(parse).collect::<Vec<_>>())
    }

    #[test]
    fn nested_loops_and_code_out_of_line() {
        let nop = "NOP";
        let inner = "@P0 BRA 0x10";
        let outer = "@P1 BRA 0x0";
        assert_eq!(depths(&[nop, nop, inner, outer, "EXIT"]), [1, 2, 2, 1, 0]);
        // A branch back from the end into the middle closes no loop.
        assert_eq!(depths(&["@P0 BRA 0x40", nop, nop, "EXIT", nop, "BRA 0x20"]), [0; 6]);
        assert_eq!(depths(&[]), [0; 0]);
    }
}
