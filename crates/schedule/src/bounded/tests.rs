//! Schedules that follow another within a budget.

use crate::bounded::Preference;
use crate::tests::model;
use oriole_ori::{BlockId, Instruction};
use oriole_sass::Op;

/// A schedule that finishes one sum after the other: with more registers more loads move ahead, and the time is that
/// of one of them.
#[test]
fn what_a_budget_allows_comes_ahead() {
    let mut text = "kernel params=0 barriers=0\nb0:\n  r0 = MOV 0x1 ; 1\n".to_owned();
    for sum in 0..6 {
        let (word, sum) = (1 + 2 * sum, 2 + 2 * sum);
        text += &format!("  r{word} = LDG [r0+{word}] mem(global r) ; 2\n  r{sum} = FADD r{word}, r0 ; 3\n");
        text += &format!("  STS [r0+{sum}], r{sum} mem(shared w) ; 4\n");
    }
    text += "  EXIT ; 5\n";
    let function = oriole_ori::parse::parse(&text).expect("Ori");
    let instructions = &function.block(BlockId(0)).instructions;
    let mut numbers = crate::dense_ids::DenseIds::new(function.values.len());
    let cycles =
        |from: &Instruction, to: &Instruction, node| crate::distance::latency(model(), from, to, node);
    let graph = crate::graph::Graph::new(instructions, crate::graph::Sides::Kept, &mut numbers, cycles);
    let region = crate::region::Region::new(model(), &function, instructions, &[], graph, &mut numbers);
    let low: Vec<u32> = (0..region.len() as u32).collect();
    let followed = crate::bounded::Followed::new(&region, &low);
    let figures = |registers: u32| {
        let (order, limited) = followed.schedule(&region, [registers, 6, 48], Preference::Longest);
        (region.pressure(&order)[0], region.time(&order), limited)
    };
    let loads = |count: u32| count * u32::from(model().estimate(Op::LDG));
    let [(peak, slow, _), (more, quicker, _), (most, quick, limited)] = [2, 4, 20].map(figures);
    assert_eq!([peak, more, most], [2, 4, 7]);
    assert!(
        slow > loads(6) && quicker > loads(2) && quicker < loads(3) && quick < loads(2),
        "{slow} {quicker} {quick}"
    );
    assert!(!limited && figures(6).2, "registers are short below seven");
}
