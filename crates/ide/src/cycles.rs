//! Estimated cycles of a kernel with the functions that it calls, and the calls that the estimate leaves out.
//!
//! The facts of a function count its own words. A callee counts as often as the words that call it run; calls that
//! cannot be resolved before run time are named and left out.

use std::collections::BTreeMap;

use oriole_chip::Chip;
use oriole_pipeline::facts::weight;

use crate::FileId;
use crate::last_good::Image;
use crate::snapshot::Snapshot;

/// An estimate for one warp that runs alone, each loop taken ten times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cycles {
    /// All of them.
    pub total: u64,
    /// Those in functions that are called.
    pub in_callees: u64,
    /// Descriptions of the parts that are not counted.
    pub left_out: Vec<String>,
}

/// The facts of a member of a kernel.
#[derive(Default)]
struct Member {
    own: u64,
    /// Execution count and callee of each call.
    calls: Vec<(u64, String)>,
}

/// The estimate of a kernel that is laid out.
pub(crate) fn cycles(snapshot: &Snapshot, file: FileId, laid: &Image, chip: Chip) -> Cycles {
    let code = &laid.image.code;
    let shape = chip.words();
    let mut members: BTreeMap<&str, Member> = BTreeMap::new();
    let mut left_out: Vec<String> = Vec::new();
    for (at, (name, start)) in laid.members.iter().enumerate() {
        let end = laid.members.get(at + 1).map_or(code.len(), |next| shape.index(next.1) as usize);
        let unit = snapshot.code_unit(file, name);
        let member = match unit.and_then(|unit| snapshot.compiled(file, unit, chip)) {
            Some(shown) => {
                let (facts, linked) = (&shown.compiled.facts, &shown.compiled.code);
                let times =
                    |word: u32| facts.words.get(word as usize).map_or(1, |word| weight(word.loop_depth));
                if linked.calls_through_pointers() {
                    left_out.push(format!("calls through pointers in `{name}`"));
                }
                if !linked.encoded.absolute_calls.is_empty() {
                    left_out.push(format!("what the driver does for `{name}`"));
                }
                Member {
                    own: facts.cycles,
                    calls: linked.calls().map(|(word, callee)| (times(word), callee.to_owned())).collect(),
                }
            }
            // A routine of the compiler: no loop, only its control words are known.
            None => {
                let words = code.get(shape.index(*start) as usize..end).unwrap_or_default();
                let stall = |&word: &oriole_sass::InstructionWord| {
                    oriole_sass::decode(chip, word).map_or(1, |found| u64::from(found.control.stall.max(1)))
                };
                Member { own: words.iter().map(stall).sum(), calls: Vec::new() }
            }
        };
        members.insert(name, member);
    }
    let root = laid.image.name.as_str();
    let total = sum(&members, root, &mut left_out);
    let own = members.get(root).map_or(0, |member| member.own);
    left_out.dedup();
    Cycles { total, in_callees: total.saturating_sub(own), left_out }
}

/// A member's cycles with those of its callees: callees first, without recursion, since call chains may be long.
fn sum(members: &BTreeMap<&str, Member>, root: &str, left_out: &mut Vec<String>) -> u64 {
    #[derive(Clone, Copy)]
    enum State {
        Open,
        Known(u64),
    }
    let mut states: BTreeMap<&str, State> = BTreeMap::new();
    let mut stack: Vec<(&str, bool)> = vec![(root, false)];
    while let Some((name, visited)) = stack.pop() {
        let Some((&name, member)) = members.get_key_value(name) else { continue };
        if visited {
            let mut total = member.own;
            for (times, callee) in &member.calls {
                match states.get(callee.as_str()) {
                    Some(State::Known(inner)) => total = total.saturating_add(inner.saturating_mul(*times)),
                    Some(State::Open) => left_out.push(format!("the recursion of `{callee}`")),
                    None => left_out.push(format!("`{callee}`")),
                }
            }
            states.insert(name, State::Known(total));
        } else if let std::collections::btree_map::Entry::Vacant(entry) = states.entry(name) {
            entry.insert(State::Open);
            stack.push((name, true));
            stack.extend(member.calls.iter().map(|(_, callee)| (callee.as_str(), false)));
        }
    }
    match states.get(root) {
        Some(State::Known(total)) => *total,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_count_as_often_as_they_are_called() {
        let member = |own: u64, calls: &[(u64, &str)]| Member {
            own,
            calls: calls.iter().map(|&(times, callee)| (times, callee.to_owned())).collect(),
        };
        let members = BTreeMap::from([
            ("k", member(5, &[(10, "f"), (1, "g"), (1, "f")])),
            ("f", member(7, &[(2, "g")])),
            ("g", member(3, &[])),
            ("r", member(1, &[(1, "s")])),
            ("s", member(1, &[(1, "r"), (1, "lost")])),
        ]);
        let mut left_out = Vec::new();
        assert_eq!(sum(&members, "k", &mut left_out), 5 + 11 * (7 + 2 * 3) + 3);
        assert!(left_out.is_empty());
        assert_eq!(sum(&members, "r", &mut left_out), 2);
        assert_eq!(left_out, ["the recursion of `r`", "`lost`"]);
    }
}
