//! Live values of random functions, in SSA and outside it, against their definition.

use crate::common::random_function;
use oriole_optimize::passes::{branch_opt, generate_mov_phi};
use oriole_ori::{BlockId, Function, Liveness, Value};
use std::collections::BTreeSet;

/// Values that a block reads before it writes them, and those that it writes whatever the guard.
fn reads_and_writes(function: &Function, block: BlockId) -> (BTreeSet<Value>, BTreeSet<Value>) {
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    writes.extend(function.block(block).phis.iter().map(|phi| phi.destination));
    for instruction in &function.block(block).instructions {
        let mut read = |value: Value| {
            if !writes.contains(&value) {
                reads.insert(value);
            }
        };
        instruction.for_each_use(&mut read);
        if instruction.keeps_its_results() {
            instruction.for_each_definition(&mut read);
        } else {
            instruction.for_each_definition(|value| writes.extend([value]));
        }
    }
    (reads, writes)
}

/// Pairs of blocks and values live at their top and at their end, by iteration to a fixed point.
fn live_pairs(function: &Function) -> [BTreeSet<(BlockId, Value)>; 2] {
    let graph = function.graph();
    let order = graph.cfg().order();
    let (mut tops, mut ends) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let before = (tops.len(), ends.len());
        for &block in order {
            for &successor in &function.block(block).successors {
                let carried = function.values.keys().filter(|&value| tops.contains(&(successor, value)));
                ends.extend(carried.map(|value| (block, value)));
                let sources = function.block(successor).phis.iter().flat_map(|phi| &phi.sources);
                let read =
                    sources.filter(|(from, _)| *from == block).filter_map(|(_, source)| source.value());
                ends.extend(read.map(|value| (block, value)));
            }
            let (reads, writes) = reads_and_writes(function, block);
            tops.extend(reads.iter().map(|&value| (block, value)));
            let through = function.values.keys();
            let through = through.filter(|&value| ends.contains(&(block, value)) && !writes.contains(&value));
            tops.extend(through.map(|value| (block, value)));
        }
        if before == (tops.len(), ends.len()) {
            return [tops, ends];
        }
    }
}

/// Sets of live values, and what visits of them without sets find, are those of the definition.
#[test]
fn live_values_of_random_functions_agree_however_they_are_found() {
    let mut most = 0;
    for seed in 0..200 {
        let mut function = random_function(seed);
        branch_opt::run(&mut function);
        if seed % 2 == 0 {
            generate_mov_phi::run(&mut function);
        }
        let [tops, ends] = live_pairs(&function);
        let graph = function.graph();
        let cfg = graph.cfg();
        let liveness = Liveness::new(&function, cfg);
        for block in function.block_ids() {
            let of = |pairs: &BTreeSet<(BlockId, Value)>| -> Vec<Value> {
                pairs.iter().filter(|pair| pair.0 == block).map(|pair| pair.1).collect()
            };
            assert_eq!(liveness.live_in(block), of(&tops), "seed {seed}, {block}\n{function}");
            assert_eq!(liveness.live_out(block), of(&ends), "seed {seed}, {block}\n{function}");
        }
        let (mut begins, mut stops) = (Vec::new(), Vec::new());
        let begin = |block, value| begins.push((block, value));
        Liveness::for_each(&function, cfg, |_| true, begin, |block, value| stops.push((block, value)));
        assert_eq!((begins.len(), stops.len()), (tops.len(), ends.len()), "seed {seed}: once each");
        assert_eq!((BTreeSet::from_iter(begins), BTreeSet::from_iter(stops)), (tops.clone(), ends));
        let mut seen = BTreeSet::new();
        Liveness::visit(&function, cfg, Value(0), |value, is_live_in| {
            seen.extend(function.block_ids().filter(|&block| is_live_in(block)).map(|block| (block, value)));
        });
        most = most.max(tops.len());
        assert_eq!(seen, tops, "seed {seed}");
    }
    assert!(most > 20, "{most}");
}
