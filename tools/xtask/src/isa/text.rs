//! Writes forms in the language of the form tables: the stanza of a new form, and the rows of a form that differ from
//! another one.

use crate::codegen::forms::{FieldRow, Form, Slot, Tables, Token, What};
use std::fmt::Write as _;

/// The name of a form in a delta: mnemonic, opcode, and the mask and value of its `word` row.
pub fn name(form: &Form) -> String {
    format!("{} {:03x} {:#x} {:#x}", form.op, form.opcode, form.mask & !0xfff, form.value & !0xfff)
}

/// The stanza of a new form.
pub fn stanza(form: &Form) -> String {
    let uniform = if form.uniform { " uniform" } else { "" };
    let mut out = format!("form {} {:03x}{uniform}\n", form.op, form.opcode);
    let plain = Form::new(form.op.clone(), form.opcode, form.uniform);
    for row in rows(&plain, form) {
        let _ = writeln!(out, "  {row}");
    }
    out
}

/// The stanza that turns one form into another; `None` if they are equal.
pub fn change(old: &Form, new: &Form) -> Option<String> {
    let rows = rows(old, new);
    (!rows.is_empty()).then(|| format!("change {}\n  {}\n", name(old), rows.join("\n  ")))
}

fn rows(old: &Form, new: &Form) -> Vec<String> {
    let mut out = Vec::new();
    let mut row = |key: &str, old: String, new: String| {
        if old != new {
            out.push(format!("{key}{new}").trim_end().to_owned());
        }
    };
    let word = |form: &Form| format!("{:#x} {:#x}", form.mask & !0xfff, form.value & !0xfff);
    row("word ", word(old), word(new));
    row("unused ", format!("{:#x}", old.unused), format!("{:#x}", new.unused));
    row("always ", tokens(&old.always, " "), tokens(&new.always, " "));
    row("", slots(&old.slots), slots(&new.slots));
    let sets = |form: &Form| {
        let each = form.sets.iter().map(|set| {
            let bits: Vec<String> = set.bits.iter().map(u8::to_string).collect();
            let slot = set.slot.map_or(String::new(), |slot| format!(" on {slot}"));
            format!("{} {}{slot}", bits.join(","), set.choice)
        });
        each.collect::<Vec<_>>().join("; ")
    };
    row("set ", sets(old), sets(new));
    let reuse = |form: &Form| {
        let each = form.reuse.iter().enumerate().filter(|(_, slot)| **slot != 255);
        each.map(|(bit, slot)| format!("{bit}={slot}")).collect::<Vec<_>>().join(" ")
    };
    row("reuse ", reuse(old), reuse(new));
    let barriers = |form: &Form| {
        let names = [("write", form.write_barrier), ("read", form.read_barrier)];
        names.iter().filter(|(_, may)| !may).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
    };
    row("no_barrier ", barriers(old), barriers(new));
    out
}

/// Tokens with a separator.
pub fn tokens(tokens: &[Token], between: &str) -> String {
    let each = tokens.iter().map(|token| {
        let slot = token.slot.map_or(String::new(), |slot| format!("{slot}:"));
        match &token.what {
            What::Mod(name) => format!("{slot}.{name}"),
            What::Negate => format!("{slot}-"),
            What::Absolute => format!("{slot}|"),
            What::Invert => format!("{slot}!"),
            What::Suffix(None, name) => format!("{slot}].{name}"),
            What::Unwritten(name) => format!("{slot}^.{name}"),
            What::Suffix(Some(part), name) => format!("{slot}{part}.{name}"),
            What::Symbol(name) => format!("{slot}={name}"),
        }
    });
    each.collect::<Vec<_>>().join(between)
}

fn slots(slots: &[Slot]) -> String {
    slots.iter().map(slot).collect::<Vec<_>>().join("; ")
}

fn slot(slot: &Slot) -> String {
    let access = match slot.access.as_str() {
        "Def" => "def",
        "DefUse" => "mod",
        _ => "use",
    };
    let mut out = format!("{access} {}", slot.kind);
    for each in &slot.fields {
        let _ = write!(out, " {}", field(each, &slot.kind, slot.float.as_deref()));
    }
    if slot.width != "one" {
        let _ = write!(out, " {}", slot.width);
    }
    for (sign, bit) in ["-", "|", if slot.kind.ends_with('P') { "!" } else { "~" }].iter().zip(slot.signs) {
        if bit != 255 {
            let _ = write!(out, " {sign}{bit}");
        }
    }
    out
}

fn field(field: &FieldRow, kind: &str, float: Option<&str>) -> String {
    let mut out = format!("{}+{}", field.low.0, field.low.1);
    if field.bias != 0 {
        let _ = write!(out, "+{}", field.bias);
    }
    if field.high.1 != 0 {
        let _ = write!(out, ",{}+{}", field.high.0, field.high.1);
    }
    if field.complement {
        out.push('~');
    }
    if field.signed {
        out.push('s');
    }
    if field.scale != 1 {
        let _ = write!(out, "*{}", field.scale);
    }
    if let (Some(float), "F") = (float, kind) {
        let _ = write!(out, ":{float}");
    }
    out.push_str(&match field.elided.as_str() {
        "Neutral" => "?".to_owned(),
        "Zero" => "?0".to_owned(),
        "Ones" => "?1".to_owned(),
        "Byte" => "?8".to_owned(),
        "Written" => "?!".to_owned(),
        hidden => match hidden.strip_prefix("Hidden(") {
            Some(value) => format!("?={}", value.trim_end_matches(')')),
            None => String::new(),
        },
    });
    out
}

/// The name of the choice with these rows: that of an existing one, or a new one, which is added to the tables and
/// written after `added`.
pub fn choice(rows: Vec<(u16, Vec<Token>)>, tables: &mut Tables, added: &mut String) -> String {
    if let Some((name, _)) = tables.choices.iter().find(|(_, known)| **known == rows) {
        return name.clone();
    }
    let mut words: Vec<String> = rows
        .iter()
        .flat_map(|(_, tokens)| tokens)
        .map(|token| match &token.what {
            What::Mod(name) | What::Suffix(_, name) | What::Unwritten(name) | What::Symbol(name) => {
                name.to_lowercase()
            }
            What::Negate => "negated".to_owned(),
            What::Absolute => "absolute".to_owned(),
            What::Invert => "inverted".to_owned(),
        })
        .collect();
    let mut known = std::collections::BTreeSet::new();
    words.retain(|word| known.insert(word.clone()));
    let mut name: String = words.join("_").chars().take(28).collect();
    name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_").trim_end_matches('_').to_owned();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    let plain = name.clone();
    let mut number = 2;
    while tables.choices.contains_key(&name) {
        name = format!("{plain}_{number}");
        number += 1;
    }
    let text: Vec<String> =
        rows.iter().map(|(value, each)| format!("{value}={}", tokens(each, "+"))).collect();
    let _ = writeln!(added, "table {name} {}", text.join(" "));
    tables.choices.insert(name.clone(), rows);
    name
}
