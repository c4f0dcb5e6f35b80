//! The way of a warp through code, without values: loops go round a fixed number of times, other branches go on.
//!
//! Codes of one function that differ in order and registers only have the same blocks, so that their ways are alike. No time may
//! enter.

use oriole_ori::MachineFunction;
use std::cmp::Reverse;

/// How often a loop goes round each time that it is entered: the outer one, and those in it.
const ROUNDS: u32 = 8;
const INNER_ROUNDS: u32 = 4;
/// Instructions of a way at most.
const LONGEST: usize = 4096;

/// A block, as far as the way depends on it.
#[derive(Debug)]
struct Block {
    /// Index of its first instruction, and their number.
    first: u32,
    count: u32,
    loop_depth: u8,
    /// Taken targets first, then the block that follows.
    successors: Vec<usize>,
}

/// The instructions of the way through a function, by index in it.
pub(super) fn path(function: &MachineFunction) -> Vec<u32> {
    let mut first = 0;
    let blocks = function.blocks.iter().map(|block| {
        let count = block.instructions.len() as u32;
        let successors = block.successors.iter().map(|&to| usize::from(to));
        let successors = successors.filter(|&to| to < function.blocks.len()).collect();
        first += count;
        Block { first: first - count, count, loop_depth: block.loop_depth, successors }
    });
    let blocks: Vec<Block> = blocks.collect();
    way(&blocks).iter().flat_map(|&at| blocks[at].first..blocks[at].first + blocks[at].count).collect()
}

/// The blocks of the way.
fn way(blocks: &[Block]) -> Vec<usize> {
    let mut visits = vec![0u32; blocks.len()];
    let (mut way, mut length) = (Vec::new(), 0);
    let mut at = (!blocks.is_empty()).then_some(0);
    while let Some(block) = at {
        way.push(block);
        visits[block] += 1;
        // Blocks without instructions count as well: a loop of such would have no end.
        length += blocks[block].count as usize + 1;
        if length >= LONGEST {
            break;
        }
        at = successor(blocks, block, &visits);
    }
    way
}

/// Where the way goes on after a block.
fn successor(blocks: &[Block], block: usize, visits: &[u32]) -> Option<usize> {
    let of = &blocks[block];
    let depth = |to: usize| blocks[to].loop_depth;
    let targets = of.successors.iter().copied();
    // Of two like ones the way goes straight on: code that is rarely run is elsewhere.
    let straight = |to: usize| of.successors.last() == Some(&to);
    let rounds = match of.loop_depth {
        // Into loops.
        0 => return targets.max_by_key(|&to| (depth(to), straight(to))),
        1 => ROUNDS,
        _ => INNER_ROUNDS,
    };
    if visits[block].is_multiple_of(rounds) {
        // Out of the loop, or to where it was least.
        let outward = |to: usize| Reverse(depth(to).min(of.loop_depth));
        return targets.max_by_key(|&to| (outward(to), Reverse(visits[to]), straight(to)));
    }
    targets.max_by_key(|&to| (depth(to) >= of.loop_depth, depth(to), visits[to] > 0, straight(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way through blocks of one instruction, each with its depth and successors.
    fn through(blocks: &[(u8, &[usize])]) -> Vec<usize> {
        let block = |(at, &(loop_depth, successors)): (usize, &(u8, &[usize]))| Block {
            first: at as u32,
            count: 1,
            loop_depth,
            successors: successors.to_vec(),
        };
        way(&blocks.iter().enumerate().map(block).collect::<Vec<Block>>())
    }

    fn times(way: &[usize], block: usize) -> usize {
        way.iter().filter(|&&at| at == block).count()
    }

    #[test]
    fn loops_go_round() {
        let way = through(&[(0, &[2, 1]), (1, &[1, 2]), (0, &[])]);
        assert_eq!(way, [0, 1, 1, 1, 1, 1, 1, 1, 1, 2], "the guard goes into the loop");
        let nested = through(&[(0, &[1]), (1, &[2]), (2, &[2, 3]), (1, &[1, 4]), (0, &[])]);
        assert_eq!([1, 2, 3, 4].map(|block| times(&nested, block)), [8, 32, 8, 1]);
    }

    #[test]
    fn a_way_out_in_the_middle_ends_the_loop() {
        let way = through(&[(1, &[3, 1]), (1, &[2]), (1, &[0]), (0, &[])]);
        assert_eq!([0, 2, 3].map(|block| times(&way, block)), [8, 7, 1]);
    }

    #[test]
    fn code_goes_straight_on() {
        assert_eq!(through(&[(0, &[2, 1]), (0, &[2]), (0, &[])]), [0, 1, 2]);
        // One loop after the other, with no block between them.
        let way = through(&[(1, &[0, 1]), (1, &[1, 2]), (0, &[])]);
        assert_eq!([0, 1, 2].map(|block| times(&way, block)), [8, 8, 1]);
    }

    #[test]
    fn a_loop_without_end_ends() {
        assert_eq!(through(&[(1, &[0])]).len(), LONGEST.div_ceil(2));
        assert!(through(&[]).is_empty());
    }
}
