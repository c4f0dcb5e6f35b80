//! The form of an instruction as spelled: words matched with the table, checks of version and chip.
//!
//! A spelling is matched once in a function. No name of the function is looked up.

use oriole_diagnostics::Code;
use oriole_ptx::table::{Chips, Form, FormProblem, Need, OperandRow, Shape, match_forms};
use oriole_ptx::{Opcode, Space};
use smallvec::SmallVec;

use crate::module_context::HeaderView;

/// The reason why the module may not use a form: the word at fault, code and message.
type Gate = (Option<usize>, Code, String);

/// The outcome of matching one spelling, cached for the next instruction with this spelling.
#[allow(clippy::large_enum_variant, reason = "one value for each spelling of a function, behind an `Rc`")]
pub(crate) enum KnownForm {
    /// A form, and the reason why the module may not use it, if any: the word at fault, code and message.
    Found { form: Form, opcode: Opcode, operands: SmallVec<[OperandRow; 6]>, gate: Option<Gate> },
    /// No form: the word at fault, code and message.
    Wrong(Option<usize>, Code, String),
}

fn code_of(problem: &FormProblem) -> Code {
    match problem {
        FormProblem::UnknownModifier { .. } => Code::UnknownModifier,
        FormProblem::NotApplicable { .. } => Code::InvalidCombination,
        FormProblem::Conflict { .. } => Code::ConflictingModifiers,
        FormProblem::WrongType { .. } => Code::InvalidType,
        FormProblem::Missing { .. } => Code::MissingModifier,
        FormProblem::OperandCount { .. } => Code::OperandCount,
    }
}

/// Matches a spelling with operands of these shapes.
pub(crate) fn find_form(header: &HeaderView<'_>, spelling: &str, shapes: &[Shape]) -> KnownForm {
    let mut words = spelling.split('.');
    let name = words.next().unwrap_or_default();
    let words: SmallVec<[&str; 8]> = words.collect();
    let Some(opcode) = Opcode::from_name(name) else {
        let mut message = format!("no instruction is called `{}`", shorten(name));
        if let Some(near) = oriole_ptx::nearest(name).first().map(|near| near.name()) {
            message.push_str(&format!("; did you mean `{near}`?"));
        }
        return KnownForm::Wrong(None, Code::UnknownInstruction, message);
    };
    match match_forms(opcode, &words, shapes) {
        Ok(forms) => {
            // The first form that the module may use, else the first, with the reason against it.
            let mut found = None;
            for form in forms {
                let operands = form.operands(shapes.len());
                let gate = gate(header, &form, &words, &operands);
                let usable = gate.is_none();
                if usable || found.is_none() {
                    found = Some(KnownForm::Found { form, opcode, operands, gate });
                }
                if usable {
                    break;
                }
            }
            found.unwrap_or_else(|| KnownForm::Wrong(None, Code::InvalidCombination, "no such form".into()))
        }
        Err(error) => KnownForm::Wrong(error.word, code_of(&error.problem), error.problem.to_string()),
    }
}

/// Why the module's version or target does not have a form.
fn gate(header: &HeaderView<'_>, form: &Form, words: &[&str], operands: &[OperandRow]) -> Option<Gate> {
    let row = form.row;
    let name = || {
        let words = std::iter::once(row.opcode.name()).chain(words.iter().copied());
        format!("`{}`", shorten(&words.collect::<Vec<_>>().join(".")))
    };
    if !header.has_chips(row.chips) {
        return Some((None, Code::NeedsChip, needs_chips(header, &name(), row.chips)));
    }
    if !header.has_version(row.ptx) {
        return Some((None, Code::NeedsVersion, needs_version(header, &name(), row.ptx)));
    }
    row.needs.iter().find_map(|need| {
        let at = place(need, form, words, operands)?;
        let (code, message) = unmet(header, need)?;
        Some((at, code, message))
    })
}

fn needs_chips(header: &HeaderView<'_>, what: &str, chips: Chips) -> String {
    let target = header.whole().target_name();
    format!("{what} needs {}; the module's target is `{target}`", chips.describe())
}

fn needs_version(header: &HeaderView<'_>, what: &str, (major, minor): (u8, u8)) -> String {
    let own = header.whole().version;
    format!("{what} needs `.version` {major}.{minor} or later; the module has {}.{}", own.0, own.1)
}

/// Whether the subject of a need is written: the word at fault, if it is one word; `None` if it is not written.
fn place(need: &Need, form: &Form, words: &[&str], operands: &[OperandRow]) -> Option<Option<usize>> {
    let named = |name: &str| operands.iter().any(|operand| operand.name == name) || words.contains(&name);
    if let Some(name) = need.token.strip_prefix('+') {
        return named(name).then_some(None);
    }
    if let Some(name) = need.token.strip_prefix('-') {
        return (!named(name)).then_some(None);
    }
    if need.token == "generic" && form.space == Some(Space::Generic) {
        return Some(None);
    }
    if need.token.contains('&') {
        let mut places = need.token.split('&').map(|part| words.iter().position(|word| *word == part));
        let (first, second) = (places.next().flatten()?, places.next().flatten()?);
        return Some(Some(first.max(second)));
    }
    // A choice may consist of several words.
    let parts: Vec<&str> = need.token.split('.').collect();
    words.windows(parts.len()).position(|window| window == parts).map(Some)
}

/// Why the module does not meet a need.
fn unmet(header: &HeaderView<'_>, need: &Need) -> Option<(Code, String)> {
    let what = match need.token {
        "generic" => "a generic address here".to_string(),
        token => match (token.strip_prefix('+'), token.strip_prefix('-')) {
            (Some(name), _) => format!("the operand `{name}`"),
            (_, Some(name)) => format!("this instruction without `{name}`"),
            _ => format!("`.{}`", token.replace('&', "` with `.")),
        },
    };
    if need.chips == Chips::AnyOf(&[]) {
        return Some((Code::InvalidCombination, format!("{what} is not possible here as such")));
    }
    if need.until.is_some_and(|until| header.has_version(until)) {
        return Some((Code::InvalidCombination, format!("{what} does not exist any more in this version")));
    }
    if !header.has_chips(need.chips) {
        return Some((Code::NeedsChip, needs_chips(header, &what, need.chips)));
    }
    if !header.has_version(need.ptx) {
        return Some((Code::NeedsVersion, needs_version(header, &what, need.ptx)));
    }
    None
}

/// A name for a message, cut where it is absurdly long.
fn shorten(name: &str) -> String {
    if name.len() <= 80 {
        return name.to_string();
    }
    let end = (0..=77).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", &name[..end])
}
