//! `cargo xtask isa CHIP FACTS BASE BASE-FACTS`: writes the form table of a chip as a delta of another chip's table,
//! from facts about the instruction words of both (JSON; `facts.rs` reads it). Widths, accesses and the way modifiers
//! are split come from the base. Open questions are listed, to be resolved by hand in the table.

mod facts;
mod merge;
mod text;

use crate::codegen::forms::{Form, read_one};
use facts::Fact;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Writes `crates/sass/tables/CHIP.forms`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let [chip, facts, base, base_facts] = arguments else {
        return Err("usage: cargo xtask isa CHIP FACTS.json BASE BASE-FACTS.json".to_owned());
    };
    let folder = crate::root().join("crates/sass/tables");
    let mut tables = read_one(&folder, base)?;
    let (mut new, old) = (facts::read(facts)?, facts::read(base_facts)?);
    let unchanged = unchanged(&mut new, &old);
    new.retain(|fact| !unchanged.contains(&(fact.op.clone(), fact.opcode)));
    let known = pair(&old, &tables.forms);
    let partner = pair_facts(&new, &old);
    let mut added = String::new();
    let mut body = String::new();
    let mut hand = Vec::new();
    let forms = tables.forms.clone();
    let is_unchanged = |form: &Form| unchanged.contains(&(form.op.clone(), form.opcode));
    let mut kept: BTreeSet<usize> = (0..forms.len()).filter(|&at| is_unchanged(&forms[at])).collect();
    for (index, fact) in new.iter().enumerate() {
        let mut notes = Vec::new();
        let before = partner
            .get(&index)
            .and_then(|old_index| known.get(old_index).map(|form_index| (&old[*old_index], *form_index)));
        let (name, stanza) = match before {
            Some((before, at)) => {
                kept.insert(at);
                let form = merge::merge(fact, before, &forms[at], &mut tables, &mut added, &mut notes);
                (text::name(&forms[at]), text::change(&forms[at], &form))
            }
            None => {
                let form = merge::fresh(fact, &mut tables, &mut added, &mut notes);
                (text::name(&form), Some(text::stanza(&form)))
            }
        };
        if let Some(stanza) = stanza {
            let _ = writeln!(body, "\n{}", stanza.trim_end());
        }
        if !notes.is_empty() {
            hand.push(format!("{name}: {}", notes.join("; ")));
        }
    }
    let mut out = format!(
        "# The encoded forms of {chip}, as a delta of {base}; its head explains the notation.\n\nlike {base}\n\n"
    );
    out.push_str(&left_out(&forms, &kept));
    out.push('\n');
    out.push_str(&added);
    out.push_str(&body);
    let path = folder.join(format!("{chip}.forms"));
    std::fs::write(&path, out).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}; by hand:\n{}", path.display(), hand.join("\n"));
    Ok(())
}

/// The opcodes with equal facts for both chips; the forms of the base are valid for them, however they were split or
/// joined by hand. A bit that must be zero on one chip only counts as equal.
fn unchanged(new: &mut [Fact], old: &[Fact]) -> BTreeSet<(String, u16)> {
    for fact in &mut *new {
        let close = |before: &&Fact| {
            let bits = (before.mask ^ fact.mask) & (before.value | fact.value);
            (before.op == fact.op && before.opcode == fact.opcode && before.operands == fact.operands)
                && (before.value == fact.value && bits == 0 && before.choices == fact.choices)
        };
        if let Some(before) = old.iter().find(close) {
            fact.mask = before.mask;
        }
    }
    let of = |facts: &[Fact], op: &str, opcode: u16| -> Vec<usize> {
        (0..facts.len()).filter(|&at| facts[at].op == op && facts[at].opcode == opcode).collect()
    };
    let mut same = BTreeSet::new();
    for fact in &*new {
        let (ours, theirs) = (of(new, &fact.op, fact.opcode), of(old, &fact.op, fact.opcode));
        if ours.len() == theirs.len()
            && ours.iter().all(|&at| theirs.iter().any(|&other| new[at] == old[other]))
        {
            same.insert((fact.op.clone(), fact.opcode));
        }
    }
    same
}

/// The rows that remove the forms of the base that the chip lacks.
fn left_out(forms: &[Form], kept: &BTreeSet<usize>) -> String {
    let mut out = String::new();
    let mut whole = BTreeSet::new();
    for (index, form) in forms.iter().enumerate() {
        if kept.contains(&index) {
            continue;
        }
        let any = forms.iter().zip(0..).any(|(other, at)| other.op == form.op && kept.contains(&at));
        if any {
            let _ = writeln!(out, "without {}", text::name(form));
        } else if whole.insert(&form.op) {
            let _ = writeln!(out, "without {}", form.op);
        }
    }
    out
}

/// True if a slot of this kind has this template in the facts.
fn same_kind(template: &str, kind: &str) -> bool {
    template == kind
        || matches!((template, kind), ("I", "T") | ("$", "{}"))
        || (template == "$" && kind.starts_with('$'))
}

/// For each fact its form, by opcode and operands; of several the one whose identifying bits differ least.
fn pair(facts: &[Fact], forms: &[Form]) -> BTreeMap<usize, usize> {
    closest(facts.len(), forms.len(), |fact, form| {
        let (fact, form) = (&facts[fact], &forms[form]);
        let same = fact.op == form.op
            && fact.opcode == form.opcode
            && fact.operands.len() == form.slots.len()
            && fact.operands.iter().zip(&form.slots).all(|(a, b)| same_kind(&a.template, &b.kind));
        same.then(|| ((fact.mask ^ form.mask) | (fact.value ^ form.value)).count_ones())
    })
}

/// For each fact of the new chip its counterpart of the old one.
fn pair_facts(new: &[Fact], old: &[Fact]) -> BTreeMap<usize, usize> {
    closest(new.len(), old.len(), |a, b| {
        let (a, b) = (&new[a], &old[b]);
        let templates =
            |fact: &Fact| fact.operands.iter().map(|operand| operand.template.clone()).collect::<Vec<_>>();
        let same =
            a.op == b.op && a.opcode == b.opcode && a.uniform == b.uniform && templates(a) == templates(b);
        same.then(|| ((a.mask ^ b.mask) | (a.value ^ b.value)).count_ones())
    })
}

/// Pairs two lists, the closest first; each member is used once.
fn closest(from: usize, to: usize, distance: impl Fn(usize, usize) -> Option<u32>) -> BTreeMap<usize, usize> {
    let mut candidates = Vec::new();
    for a in 0..from {
        for b in 0..to {
            if let Some(distance) = distance(a, b) {
                candidates.push((distance, a, b));
            }
        }
    }
    candidates.sort();
    let mut pairs = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (_, a, b) in candidates {
        if !pairs.contains_key(&a) && taken.insert(b) {
            pairs.insert(a, b);
        }
    }
    pairs
}
