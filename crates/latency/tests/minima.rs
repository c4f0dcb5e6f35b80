//! The distances of the tables against those in ptxas code, opcode by opcode: `minima_sm_XX.txt` holds the facts of a
//! chip.
//!
//! A group of the tables has one distance for many opcodes, and the minimum ever seen in a group is that of its
//! fastest member. So each opcode is checked alone: the distance of the tables must be no less than the minimum that
//! ptxas ever left. Rare pairs have minima that are too long by chance, or because another instruction is always
//! between them. [`MEMBERS`] says how often a pair must have been seen to count, and [`EXPLAINED`] which of the
//! counted ones are long for another reason than their latency.

use oriole_chip::Chip;
use oriole_latency::{Class, Model, ResultPart, Slot};
use oriole_sass::{Mod, Mods, Op};
use std::collections::BTreeMap;

/// Minimum count for a group of pairs; of overwriting far more, since mostly there is a reader in between.
const GROUP: [(&str, u32); 3] = [("raw", 50), ("waw", 200), ("war", 200)];

/// Minimum count for one opcode with all the others of a group.
const MEMBERS: u32 = 100;

/// One end of a pair: the opcode, its class, and its name in the facts.
#[derive(Clone, Copy)]
struct End {
    op: Op,
    class: Class,
    name: &'static str,
}

struct Fact {
    hazard: &'static str,
    first: End,
    /// The operand that is written first, or read first.
    role: &'static str,
    second: End,
    second_role: &'static str,
    least: u8,
    pairs: u32,
}

fn end(model: &Model, name: &'static str) -> End {
    // Of a guard the facts record only the unit, which does not matter for it.
    if name.starts_with('@') {
        return End { op: Op::NOP, class: Class::Alu, name };
    }
    let mut parts = name.split('.');
    let op = parts.next().and_then(Op::from_name).unwrap_or_else(|| panic!("no opcode in {name}"));
    let mods: Vec<Mod> = parts.filter_map(Mod::from_name).collect();
    End { op, class: model.class(op, &Mods::of(&mods)), name }
}

/// The chips with a table, and the facts observed on them.
const CHIPS: [(u8, &str); 3] = [
    (80, include_str!("minima_sm_80.txt")),
    (89, include_str!("minima_sm_89.txt")),
    (90, include_str!("minima_sm_90.txt")),
];

fn models() -> impl Iterator<Item = (u8, &'static Model)> {
    CHIPS.iter().map(|&(number, _)| {
        let chip: Chip = format!("sm_{number}").parse().expect("a chip");
        (number, Model::of(chip).expect("distances"))
    })
}

fn facts_of(number: u8, model: &Model) -> Vec<Fact> {
    let mut list = Vec::new();
    let (_, text) = CHIPS.iter().find(|row| row.0 == number).expect("a chip with facts");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (head, tail) = line.split_once(": ").expect("a colon");
        let head: Vec<&str> = head.split(' ').collect();
        for item in tail.split(' ') {
            let (pair, numbers) = item.split_once('=').expect("a distance");
            // The slot of an asynchronous copy's shared address is the only one with a dot in its name.
            let dot = pair.strip_suffix(".sh").unwrap_or(pair).rfind('.').expect("a slot");
            let (name, role) = (&pair[..dot], &pair[dot + 1..]);
            let (least, pairs) = numbers.split_once('/').expect("a count");
            list.push(Fact {
                hazard: head[0],
                first: if head[0] == "war" && head[2] == "guard" {
                    end(model, "@")
                } else {
                    end(model, head[1])
                },
                role: head[2],
                second: end(model, name),
                second_role: role,
                least: least.parse::<u16>().expect("a number").min(255) as u8,
                pairs: pairs.parse().expect("a number"),
            });
        }
    }
    list
}

fn part(role: &str) -> ResultPart {
    match role {
        "R" => ResultPart::General,
        "RL" => ResultPart::Low,
        "RH" => ResultPart::High,
        "P" => ResultPart::Predicate,
        "UR" => ResultPart::Uniform,
        "UP" => ResultPart::UniformPredicate,
        _ => panic!("no such result: {role}"),
    }
}

/// The slot of a reader, given the other side of the pair.
fn slot(reader: End, role: &str, written: &str) -> Slot {
    let is_matrix = matches!(reader.op, Op::HMMA | Op::IMMA | Op::BMMA | Op::DMMA);
    match (written, role) {
        ("P", "guard") => Slot::Guard,
        ("UP", "guard") => Slot::UniformGuard,
        ("P", _) if matches!(reader.op, Op::VOTE | Op::VOTEU) => Slot::SlowPredicate,
        ("P", _) => Slot::Predicate,
        ("UP", _) => Slot::UniformPredicate,
        ("UR", "gdesc") => Slot::MatrixDescriptor,
        ("UR", "cidx") => Slot::UniformIndex,
        ("UR", "uaddr" | "desc" | "addr" | "addr.sh") => Slot::UniformAddress,
        ("UR", _) => reader.op.info().uniform_role,
        (_, "CL") => Slot::AddendLow,
        (_, "CH") => Slot::AddendHigh,
        (_, "C") if is_matrix => Slot::Accumulator,
        (_, "A" | "B" | "C") => Slot::Operand,
        (_, "addr" | "addr.sh") => Slot::Address,
        (_, "data") if reader.op == Op::MATCH => Slot::ConstantIndex,
        (_, "data") => Slot::Data,
        (_, "cidx") => Slot::ConstantIndex,
        _ => panic!("no such slot: {role}"),
    }
}

/// The distance of the tables for a pair; `None` where a scoreboard reports it.
fn left(model: &Model, fact: &Fact) -> Option<u8> {
    let (first, second) = (fact.first, fact.second);
    match fact.hazard {
        "raw" => {
            let slot = slot(second, fact.second_role, fact.role);
            Some(model.raw(first.class, part(fact.role), second.class, slot)?.cycles)
        }
        "waw" => Some(model.waw(first.class, part(fact.role), second.class, part(fact.second_role))?.cycles),
        "war" => {
            let slot = slot(first, fact.role, fact.second_role);
            let distance = model.war(first.class, slot, second.class, part(fact.second_role));
            Some(distance.max(model.minimum_stall(first.op, &Mods::none())))
        }
        other => panic!("no such hazard: {other}"),
    }
}

/// Counted pairs whose minimum distance is longer than their latency, and the reason. Each side is an opcode with its
/// slot; `*` matches every one.
const EXPLAINED: &[(&str, &str, &str, &str)] = &[
    ("raw", "LEA.R", "IMAD.WIDE.CL", "the high half of the address comes from a carry between the two"),
    ("raw", "*", "HGMMA.A", "the facts do not tell accumulators, which need two more, from sources"),
    ("raw", "*", "IGMMA.A", "the same"),
    ("raw", "*", "QGMMA.A", "the same"),
    ("raw", "*", "BGMMA.A", "the same"),
    ("raw", "VIADD.R", "F2I.I64.A", "it changes an exponent, with another instruction between"),
    ("raw", "R2UR.P", "@*.guard", "the predicate is tested by others first"),
    ("raw", "IMAD.HI.R", "PLOP3.A", "a test for overflow: the sum, whose signs are read, lies between"),
    ("raw", "UMOV.UR", "LEA.A", "ULDC to the same slot is seen at 2"),
    ("raw", "LOP3.R", "*MMA.*.C", "an accumulator is made by few LOP3, and early"),
    ("raw", "IMMA.16816.R", "IMMA.16816.C", "16 is seen on three sibling chips"),
    ("raw", "IMMA.16832.R", "IMMA.16832.A", "HMMA.16816, of the same two steps, is seen at 32"),
    (
        "raw",
        "*",
        "DMMA.16x8x4.A",
        "7 is seen to the other shapes, and to this one from the multiply-add unit",
    ),
    ("war", "@.guard", "R2P.P", "the mask is loaded in between"),
    ("waw", "*", "DMMA.*", "the accumulator is read as well"),
    ("waw", "*", "*GMMA.R", "the accumulator is read as well, through WARPGROUP.ARRIVE"),
    ("waw", "IMAD.*.P", "IMAD.HI.P", "the carry is read in between"),
];

/// [`EXPLAINED`] for single chips.
const EXPLAINED_ON: &[(u8, &str, &str, &str, &str)] = &[
    (80, "raw", "IADD3.R", "IMAD.WIDE.CL", "the high half of the address comes from a carry between the two"),
    (89, "raw", "IMAD.R", "ST.addr", "the high half of the address comes from a carry between the two"),
    (89, "raw", "IMAD.*.P", "*.pred", "5 is seen on sm_80 and sm_90"),
];

/// True if the name matches the pattern, in which a star matches anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).any(|at| fits(rest, &name[at..]))
}

/// The names of both ends with their roles.
fn names(fact: &Fact) -> (String, String) {
    (format!("{}.{}", fact.first.name, fact.role), format!("{}.{}", fact.second.name, fact.second_role))
}

fn is_explained(number: u8, hazard: &str, first: &str, second: &str) -> bool {
    let here =
        EXPLAINED_ON.iter().filter(|row| row.0 == number).map(|&(_, h, a, b, reason)| (h, a, b, reason));
    let mut rows = EXPLAINED.iter().copied().chain(here);
    rows.any(|(h, a, b, _)| h == hazard && fits(a, first) && fits(b, second))
}

/// Minimum observed distance, count of pairs and the minimum distance of the tables, over some facts.
#[derive(Clone, Copy)]
struct Sum {
    least: u8,
    pairs: u32,
    left: u8,
}

fn add<K: Ord>(sums: &mut BTreeMap<K, Sum>, key: K, fact: &Fact, left: u8) {
    let sum = sums.entry(key).or_insert(Sum { least: 255, pairs: 0, left: 255 });
    sum.least = sum.least.min(fact.least);
    sum.pairs += fact.pairs;
    sum.left = sum.left.min(left);
}

#[test]
fn no_group_leaves_less_than_was_ever_seen() {
    for (number, model) in models() {
        let mut groups = BTreeMap::new();
        for fact in facts_of(number, model) {
            // Readers that a scoreboard guards need no distance.
            if fact.hazard == "war" && model.is_variable(fact.first.op, &Mods::none()) {
                continue;
            }
            let Some(left) = left(model, &fact) else { continue };
            let (first, second) = names(&fact);
            if !is_explained(number, fact.hazard, &first, &second) {
                let key = (fact.hazard, fact.first.class, fact.role, fact.second.class, fact.second_role);
                add(&mut groups, key, &fact, left);
            }
        }
        assert!(groups.len() > 200, "only {} groups", groups.len());
        let counts = |hazard: &str, pairs: u32| GROUP.iter().any(|&(h, least)| h == hazard && pairs >= least);
        let short: Vec<_> = groups
            .iter()
            .filter(|(key, sum)| counts(key.0, sum.pairs) && sum.left < sum.least)
            .map(|(key, sum)| {
                format!("{key:?}: {} left, {} seen in {} pairs", sum.left, sum.least, sum.pairs)
            })
            .collect();
        assert!(short.is_empty(), "sm_{number}:\n{}", short.join("\n"));
    }
}

#[test]
fn no_member_of_a_group_is_slower_than_its_group() {
    for (number, model) in models() {
        let (mut producers, mut consumers) = (BTreeMap::new(), BTreeMap::new());
        for fact in facts_of(number, model).iter().filter(|fact| fact.hazard == "raw") {
            let Some(left) = left(model, fact) else { continue };
            let (first, second) = names(fact);
            if !is_explained(number, "raw", &first, &second) {
                add(&mut producers, (first, fact.second.class, fact.second_role), fact, left);
                add(&mut consumers, (fact.first.class, fact.role, second), fact, left);
            }
        }
        assert!(producers.len() > 200 && consumers.len() > 200);
        let mut slow = Vec::new();
        for (key, sum) in &producers {
            if sum.pairs >= MEMBERS && sum.left < sum.least {
                slow.push(format!("{key:?}: {} left, {} seen in {} pairs", sum.left, sum.least, sum.pairs));
            }
        }
        for (key, sum) in &consumers {
            if sum.pairs >= MEMBERS && sum.left < sum.least {
                slow.push(format!("{key:?}: {} left, {} seen in {} pairs", sum.left, sum.least, sum.pairs));
            }
        }
        assert!(slow.is_empty(), "sm_{number}:\n{}", slow.join("\n"));
    }
}

#[test]
fn no_reader_is_asked_for_more_than_was_seen() {
    let model = Model::of(Chip::SM_90).expect("distances");
    let mut long = Vec::new();
    for fact in facts_of(90, model).iter().filter(|fact| fact.hazard == "raw") {
        // A guard of a uniform vote may be one of any unit: the facts have only the name.
        if fact.role == "UP" && fact.second_role == "guard" {
            continue;
        }
        if left(model, fact).is_some_and(|left| left > fact.least) {
            let (first, second) = names(fact);
            let left = left(model, fact);
            long.push(format!(
                "{first} > {second}: {left:?} left, {} seen in {} pairs",
                fact.least, fact.pairs
            ));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn explanations_are_used() {
    let rows = EXPLAINED.iter().map(|&(h, a, b, reason)| (90, h, a, b, reason));
    for (number, hazard, first, second, reason) in rows.chain(EXPLAINED_ON.iter().copied()) {
        let (_, model) = models().find(|row| row.0 == number).expect("a chip");
        let used = facts_of(number, model).iter().any(|fact| {
            let (a, b) = names(fact);
            fact.hazard == hazard && fits(first, &a) && fits(second, &b)
        });
        assert!(used, "sm_{number} {hazard} {first} > {second}: {reason}");
    }
}
