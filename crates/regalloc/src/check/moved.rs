//! Checks of the rewrites after expansion, which move instructions between and within blocks when registers are
//! assigned: the reaching definitions of every register that an instruction reads must be the same as before.
//!
//! A call also reads arguments and clobbers registers that its operands do not name. Nothing is assumed about the
//! rewrites except that they keep the graph, and that is checked too. Sets of definitions take time and memory that
//! grow with the square of a function, so all registers are compared by [`origins`] first, and by sets
//! ([`reaching`]) only those that differ there.

mod effects;
mod origins;
mod reaching;

use effects::{Effects, Writers};
use oriole_ori::{Assignment, File, Function};

/// A rewrite that changes the code's meaning. Instructions are named by their texts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MovedError {
    /// Blocks follow each other in another way.
    #[error("a rewrite of expanded code changed the graph")]
    Graph,
    /// An instruction reads another value, or there are more or fewer of it.
    #[error(
        "after expansion {reader} reads {file:?}{register}, last written by [{writers}]: {expected} times before, {count} now"
    )]
    Read {
        /// The instruction that reads.
        reader: String,
        /// The file of the register.
        file: File,
        /// The register.
        register: u8,
        /// The instructions that wrote it last.
        writers: String,
        /// How often this read occurred before.
        expected: u32,
        /// How often it occurs now.
        count: u32,
    },
    /// An instruction does not read any more.
    #[error("after expansion a read by {0} is lost")]
    Lost(String),
}

/// Compares a function before and after the rewrites.
///
/// # Errors
/// The first instruction that reads something else, or that is there more or less often.
pub fn check(before: &Function, after: &Function, assignment: &Assignment) -> Result<(), MovedError> {
    let graph = |function: &Function| -> Vec<oriole_ori::Successors> {
        function.blocks.iter().map(|block| block.successors.clone()).collect()
    };
    if graph(before) != graph(after) {
        return Err(MovedError::Graph);
    }
    let cfg = before.graph();
    let cfg = cfg.cfg();
    let mut writers = Writers::default();
    let wanted = Effects::of(before, assignment, &mut writers);
    let found = Effects::of(after, assignment, &mut writers);
    let differing = origins::differing(cfg, &wanted, &found);
    if differing.is_empty() {
        return Ok(());
    }
    reaching::check(cfg, &wanted, &found, &differing, &writers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use oriole_ori::parse::parse;
    use proptest::prelude::*;

    const CALL: &str =
        "CALL.NOINC.REL callee(s0) call(s0 stack=0 clobbers=ffd,0,0,0 predicates=3 arguments=10,0,0,0,0) ; 4";

    /// Reports of the checker for code with reordered lines; the values have the registers of their ids.
    fn moved(before: &str, after: &str, expected: Expect) {
        let whole = |text: &str| {
            let text = text.replace("CALL", CALL);
            parse(&format!("kernel\n  symbol s0 helper \"routine\"\n{text}"))
                .unwrap_or_else(|error| panic!("{error:?}"))
        };
        let (before, after) = (whole(before), whole(after));
        let registers = before.values.keys().map(|value| Some(value.0 as u8)).collect();
        let assignment = Assignment { registers, ..Assignment::default() };
        let said =
            check(&before, &after, &assignment).map_or_else(|error| error.to_string(), |()| "right".into());
        expected.assert_eq(&said);
    }

    #[test]
    fn a_constant_above_a_call_that_overwrites_it_is_found() {
        let arms = |first: &str, one: &str| {
            format!(
                "b0: -> b2 b1\n{first}  @p19 BRA b2 ; 1\nb1: -> b3\n{one}  CALL\n  r8 = MOV 0x20 ; 5\n  BRA b3 ; 5\nb2: -> b3\n  r8 = MOV 0x20 ; 6\nb3:\n  STG [0x0], r8 mem(global w) ; 7\n  EXIT ; 7\n"
            )
        };
        let hoisted = |text: String| {
            let text = text.replacen("  CALL\n  r8 = MOV 0x20 ; 5\n", "  CALL\n", 1);
            text.replacen("b2: -> b3\n  r8 = MOV 0x20 ; 6\n", "b2: -> b3\n", 1)
        };
        let before = arms("", "");
        moved(
            &before,
            &hoisted(arms("  r8 = MOV 0x20 ; 5\n", "")),
            expect![
                "after expansion Sass(STG)Mods([]) of statement 7 reads R8, last written by [Sass(CALL)Mods([NOINC, REL]) of statement 4; Sass(MOV)Mods([]) of statement 5]: 0 times before, 1 now"
            ],
        );
        // Nothing is overwritten above the call.
        moved(
            &before.replace("r8", "r18"),
            &hoisted(arms("  r18 = MOV 0x20 ; 5\n", "").replace("r8 = MOV 0x20 ; 5\n  BRA", "BRA"))
                .replace("r8", "r18"),
            expect!["right"],
        );
    }

    #[test]
    fn a_move_over_an_argument_of_a_call_is_found() {
        let text = "b0: -> b1\n  r4 = MOV 0x1 ; 0\nb1: -> b2 b3\n  r16 = IADD3 r4, 0x1, RZ ; 1\nHERE  @p19 BRA b3 ; 2\nb2: -> b1\nLATCH  BRA b1 ; 3\nb3:\n  CALL\n  EXIT ; 5\n";
        let before = text.replace("HERE", "").replace("LATCH", "  r4 = Copy r16 ; 3\n");
        moved(
            &before,
            &text.replace("LATCH", "").replace("HERE", "  r4 = Copy r16 ; 3\n"),
            expect![
                "after expansion Sass(CALL)Mods([NOINC, REL]) of statement 4 reads R4, last written by [Pseudo(Copy)Mods([]) of statement 3]: 0 times before, 1 now"
            ],
        );
        moved(&before, &before, expect!["right"]);
    }

    /// Blocks with one or two successors each, and instructions that read one register and write another, some of them
    /// perhaps.
    fn graph() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<Vec<String>>)> {
        let instruction = (4..8, 4..8, 0..3, any::<bool>()).prop_map(|(to, from, number, perhaps)| {
            let guard = if perhaps { "@p19 " } else { "" };
            format!("  {guard}r{to} = IADD3 r{from}, 0x{number}, RZ ; 0\n")
        });
        (2..7_usize).prop_flat_map(move |count| {
            let successors = prop::collection::vec(1..count, 0..3);
            let code = prop::collection::vec(instruction.clone(), 0..4);
            (prop::collection::vec(successors, count), prop::collection::vec(code, count))
        })
    }

    fn function(successors: &[Vec<usize>], code: &[Vec<String>]) -> Function {
        let mut text = String::from("kernel\n");
        for (block, (successors, code)) in successors.iter().zip(code).enumerate() {
            let arrow = if successors.is_empty() { "" } else { " ->" };
            let names: String = successors.iter().map(|block| format!(" b{block}")).collect();
            text += &format!("b{block}:{arrow}{names}\n{}", code.concat());
        }
        text += "  r9 = IADD3 r10, 0x0, RZ ; 0\n  @p19 r11 = MOV 0x0 ; 0\n";
        parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
        /// If an instruction moves, the comparison of origins leaves no register out whose sets differ.
        #[test]
        fn origins_leave_nothing_out((successors, before) in graph(), seeds in any::<[prop::sample::Index; 4]>()) {
            let mut after = before.clone();
            let [from, at, to, place] = seeds;
            let from = from.index(after.len());
            if !after[from].is_empty() {
                let at = at.index(after[from].len());
                let moved = after[from].remove(at);
                let to = to.index(after.len());
                let place = place.index(after[to].len() + 1);
                after[to].insert(place, moved);
            }
            let [before, after] = [before, after].map(|code| function(&successors, &code));
            let registers = before.values.keys().map(|value| Some(value.0 as u8)).collect();
            let assignment = Assignment { registers, ..Assignment::default() };
            let graph = before.graph();
            let mut writers = Writers::default();
            let wanted = Effects::of(&before, &assignment, &mut writers);
            let found = Effects::of(&after, &assignment, &mut writers);
            let general = (4..12).map(|register| (File::R, register));
            let all = general.chain([(File::P, 19)]).collect();
            let exact = reaching::check(graph.cfg(), &wanted, &found, &all, &writers);
            prop_assert_eq!(check(&before, &after, &assignment), exact);
        }
    }
}
