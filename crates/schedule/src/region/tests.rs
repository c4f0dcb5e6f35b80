//! Random blocks, scheduled by every scheduler: dependencies and counts of live values.

use crate::bounded::Preference;
use crate::tests::model;
use oriole_ori::BlockId;

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    #[test]
    fn orders_keep_edges_and_count_live_values_exactly(
        choices in proptest::collection::vec((0u8..5, 0usize..12, 0usize..12), 1..50),
        budget in 0u32..20,
    ) {
        // Each instruction reads two of the last values; some store, some are guarded.
        let mut text = "kernel params=0 barriers=0\nb0:\n  r0 = MOV 0x1 ; 1\n  p1, PT = ISETP.AND.LT r0, 0x4, PT ; 2\n".to_owned();
        let mut values = vec![0u32];
        let mut next = 2;
        for (which, a, b) in choices {
            let pick = |k: usize| values[values.len() - 1 - k % values.len()];
            let (x, y) = (pick(a), pick(b));
            match which {
                0 => text += &format!("  STS [r{y}], r{x} mem(shared w) ; 3\n"),
                1 => text += &format!("  @p1 r{x} = FADD r{y}, r{y} ; 3\n"),
                2 => text += &format!("  r{next} = LDS [r{x}] mem(shared r) ; 3\n"),
                _ => text += &format!("  r{next} = FFMA r{x}, r{y}, r{x} ; 3\n"),
            }
            if which > 1 {
                values.push(next);
                next += 1;
            }
        }
        text += "  EXIT ; 4\n";
        let function = oriole_ori::parse::parse(&text).expect("Ori");
        let instructions = &function.block(BlockId(0)).instructions;
        let mut numbers = crate::dense_ids::DenseIds::new(function.values.len());
        let graph = crate::graph::Graph::new(instructions, crate::graph::Sides::Kept, &mut numbers, |_, _, _| 4);
        let edges: Vec<Vec<(u32, u32)>> =
            (0..instructions.len() as u32).map(|node| graph.after(node).to_vec()).collect();
        let region = crate::region::Region::new(model(), &function, instructions, &[], graph, &mut numbers);
        let budget = [budget, 6, 6];
        let known = crate::top_down::order(&region, budget);
        let mut orders = vec![crate::bottom_up::order(&region, budget)];
        let block = crate::between_products::MatrixBlock::new(model(), instructions, &region);
        let between = block.orders(&known, budget);
        for (at, (order, weighed)) in between.iter().enumerate() {
            if *weighed <= budget[0] {
                let [least, more] = [*weighed, budget[0] + 9].map(|general| block.orders(&known, [general, 6, 6]));
                proptest::prop_assert_eq!(&least[at].0, order, "no budget above {} matters", weighed);
                proptest::prop_assert_eq!(&more[at].0, order);
            }
        }
        orders.extend(between.map(|(order, _)| order));
        for low in [orders[0].clone(), known.clone()] {
            let followed = crate::bounded::Followed::new(&region, &low);
            let most = region.pressure(&low);
            for preference in [Preference::Longest, Preference::First] {
                let (order, _) = followed.schedule(&region, budget, preference);
                let peak = region.pressure(&order);
                proptest::prop_assert!((0..3).all(|k| peak[k] <= most[k].max(budget[k])), "{peak:?} {most:?}");
                orders.push(order);
            }
        }
        orders.push(known);
        for order in orders {
            let mut place = vec![usize::MAX; order.len()];
            for (at, &node) in order.iter().enumerate() {
                place[node as usize] = at;
            }
            proptest::prop_assert!(place.iter().all(|&at| at < order.len()));
            for (from, list) in edges.iter().enumerate() {
                for &(to, _) in list {
                    proptest::prop_assert!(place[from] < place[to as usize]);
                }
            }
            // Live between two instructions: touched before, and read after before anything overwrites it.
            let live = |gap: usize, v: u32| {
                let first = order[gap..].iter().find_map(|&node| {
                    let touched = &region.operands[node as usize];
                    let read = touched.uses.contains(&v);
                    (read || touched.definitions.contains(&v)).then_some(read)
                });
                first == Some(true)
            };
            let most = (0..=order.len())
                .map(|gap| (0..region.file.len() as u32).filter(|&v| region.file[v as usize] == 0 && live(gap, v)).count())
                .max();
            let peak = region.pressure(&order)[0];
            let most = most.unwrap_or(0) as u32;
            // While an instruction executes, dead results count, too.
            proptest::prop_assert!(peak >= most && peak <= most + 1, "{peak} {most}");
        }
    }
}
