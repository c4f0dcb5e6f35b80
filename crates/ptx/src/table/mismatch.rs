//! Why no row fits the words of an instruction: the error, its message, and what the nearest row expects.
//!
//! A search for a row needs none of this until it has failed.

use super::form::Trial;
use super::token::Token;
use super::{Slot, rows};
use crate::{Opcode, Type, nearest_of};
use oriole_diagnostics::plural;

/// Why no row fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormError {
    /// Index of the word that is wrong; `None` where something is missing.
    pub word: Option<usize>,
    /// The problem with it.
    pub problem: FormProblem,
}

/// A problem with an instruction's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormProblem {
    /// No form of the instruction has this modifier.
    UnknownModifier {
        /// As written, without the dot.
        word: String,
        /// The modifier of the instruction that is spelled most like it.
        near: Option<&'static str>,
        /// Words that are valid here.
        expected: Vec<&'static str>,
    },
    /// The modifier exists for other forms, not together with the other words.
    NotApplicable {
        /// As written, without the dot.
        word: String,
        /// The instruction with its types.
        instruction: String,
    },
    /// Two modifiers exclude each other, or one is given twice.
    Conflict {
        /// The later one.
        word: String,
        /// The earlier one.
        with: String,
    },
    /// The type is not among those of the form.
    WrongType {
        /// As written, without the dot.
        word: String,
        /// The one with the most similar spelling.
        near: Option<&'static str>,
        /// Those that exist.
        expected: Vec<&'static str>,
    },
    /// A modifier, type, space or vector width is missing.
    Missing {
        /// The instruction up to there.
        instruction: String,
        /// Those that exist.
        expected: Vec<&'static str>,
    },
    /// The number of operands is wrong.
    OperandCount {
        /// Number of operands found.
        found: usize,
        /// Fewest.
        least: usize,
        /// Most.
        most: usize,
    },
}

/// A list for messages: "`.a`, `.b` or `.c`".
fn one_of(words: &[&str]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push_str(if index + 1 == words.len() { " or " } else { ", " });
        }
        text.push_str(&format!("`.{word}`"));
    }
    text
}

impl std::fmt::Display for FormProblem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FormProblem::UnknownModifier { word, near, expected } => {
                write!(out, "unknown modifier `.{word}`")?;
                if let Some(near) = near {
                    write!(out, ", did you mean `.{near}`?")?;
                }
                if !expected.is_empty() {
                    write!(out, "; expected {}", one_of(expected))?;
                }
                Ok(())
            }
            FormProblem::NotApplicable { word, instruction } => {
                write!(out, "`.{word}` does not apply to `{instruction}`")
            }
            FormProblem::Conflict { word, with } if word == with => write!(out, "`.{word}` is given twice"),
            FormProblem::Conflict { word, with } => write!(out, "`.{word}` and `.{with}` exclude each other"),
            FormProblem::WrongType { word, expected, .. } if expected.is_empty() => {
                write!(out, "there is one type too many: `.{word}`")
            }
            FormProblem::WrongType { word, near, expected } => {
                write!(out, "the type `.{word}` is not possible here")?;
                if let Some(near) = near {
                    write!(out, ", did you mean `.{near}`?")?;
                }
                write!(out, "; expected {}", one_of(expected))
            }
            FormProblem::Missing { instruction, expected } => {
                write!(
                    out,
                    "`{instruction}` needs {}{}",
                    if expected.len() > 1 { "one of " } else { "" },
                    one_of(expected)
                )
            }
            FormProblem::OperandCount { found, least, most } => {
                let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
                write!(out, "expected {wanted} operand{}, found {found}", plural(*most))
            }
        }
    }
}

/// Turns the nearest trial into a diagnostic.
pub(super) fn explain(
    opcode: Opcode,
    words: &[&str],
    joined: &[(usize, Token<'_>)],
    trial: &Trial,
) -> FormError {
    let Some(&unfit) = trial.unfit.first() else {
        let instruction =
            std::iter::once(opcode.name()).chain(words.iter().copied()).collect::<Vec<_>>().join(".");
        let expected = what_is_missing(opcode, trial);
        return FormError { word: None, problem: FormProblem::Missing { instruction, expected } };
    };
    let (at, token) = joined[unfit];
    let problem = match token {
        Token::Type(ty) => wrong_type(opcode, joined, trial, unfit, ty),
        _ => unfit_word(opcode, words, joined, trial, unfit),
    };
    FormError { word: Some(at), problem }
}

/// Words that fit the first slot that needs one and has none.
fn what_is_missing(opcode: Opcode, trial: &Trial) -> Vec<&'static str> {
    let Some(&slot) = trial.missing.first() else { return Vec::new() };
    match &trial.form.row.slots[slot] {
        Slot::Head(words) | Slot::Must(words) => words.iter().map(|word| word.name()).collect(),
        Slot::Sequence(words) => words.first().map(|word| word.name()).into_iter().collect(),
        Slot::Type(_) => types_at(opcode, trial.form.types.len()),
        Slot::Space(spaces) => spaces.iter().map(|space| space.name()).collect(),
        Slot::Vector(widths) => widths.iter().map(|&width| vector_name(width)).collect(),
        _ => Vec::new(),
    }
}

/// A type that the nearest form does not take. Expected are the types of its place there, or those of any form of the
/// opcode if the nearest form is not the reason.
fn wrong_type(
    opcode: Opcode,
    joined: &[(usize, Token<'_>)],
    trial: &Trial,
    unfit: usize,
    ty: Type,
) -> FormProblem {
    let position = joined[..unfit].iter().filter(|pair| matches!(pair.1, Token::Type(_))).count();
    let wider = types_at(opcode, position);
    let expected = if wider.contains(&ty.name()) {
        let mut slots = trial.form.row.slots.iter().filter_map(|slot| match slot {
            Slot::Type(types) | Slot::MayType(types) => Some(*types),
            _ => None,
        });
        slots.nth(position).map(|types| types.iter().map(|ty| ty.name()).collect()).unwrap_or_default()
    } else {
        wider
    };
    // A type that exists is not a misspelling.
    FormProblem::WrongType { word: ty.name().to_string(), near: None, expected }
}

/// A word other than a type that the nearest form does not take.
fn unfit_word(
    opcode: Opcode,
    words: &[&str],
    joined: &[(usize, Token<'_>)],
    trial: &Trial,
    unfit: usize,
) -> FormProblem {
    let (at, token) = joined[unfit];
    let word = match token {
        Token::Word(word) => word.name().to_string(),
        _ => words[at].to_string(),
    };
    let slots = trial.form.row.slots;
    let types = || joined.iter().filter(|pair| matches!(pair.1, Token::Type(_)));
    let competing = slots.iter().zip(&trial.filled).find_map(|(slot, &filled)| {
        filled.filter(|_| !matches!(slot, Slot::Sequence(_)) && takes(slot, token))
    });
    if let Some(first) = competing {
        return FormProblem::Conflict { word, with: words[joined[first].0].to_string() };
    }
    if rows(opcode).any(|row| row.slots.iter().any(|slot| takes(slot, token))) {
        let instruction = std::iter::once(opcode.name())
            .chain(types().map(|pair| words[pair.0]))
            .collect::<Vec<_>>()
            .join(".");
        return FormProblem::NotApplicable { word, instruction };
    }
    if is_like_type(&word) && trial.missing.iter().any(|&slot| matches!(slots[slot], Slot::Type(_))) {
        let expected = types_at(opcode, types().count());
        let near = nearest_of(&word, expected.iter().copied());
        return FormProblem::WrongType { word, near, expected };
    }
    // The open slots of the nearest form are the best list to offer.
    let mut expected: Vec<&'static str> = Vec::new();
    for (slot, filled) in slots.iter().zip(&trial.filled) {
        if filled.is_none()
            && let Slot::Head(list) | Slot::Must(list) | Slot::May(list) = slot
        {
            expected.extend(list.iter().map(|word| word.name()));
        }
    }
    expected.truncate(12);
    let near = nearest_of(&word, rows(opcode).flat_map(|row| row.slots).flat_map(words_of));
    FormProblem::UnknownModifier { word, near, expected }
}

/// The words that a slot takes, as they are spelled.
fn words_of(slot: &Slot) -> Vec<&'static str> {
    match slot {
        Slot::Head(list) | Slot::Must(list) | Slot::May(list) | Slot::Sequence(list) => {
            list.iter().map(|word| word.name()).collect()
        }
        Slot::Type(list) | Slot::MayType(list) => list.iter().map(|ty| ty.name()).collect(),
        Slot::Space(list) | Slot::MaySpace(list) => list.iter().map(|space| space.name()).collect(),
        Slot::Vector(list) | Slot::MayVector(list) => list.iter().map(|&width| vector_name(width)).collect(),
    }
}

/// Whether a slot accepts a word that is not a type.
fn takes(slot: &Slot, token: Token<'_>) -> bool {
    match (slot, token) {
        (Slot::Head(list) | Slot::Must(list) | Slot::May(list) | Slot::Sequence(list), Token::Word(own)) => {
            list.contains(&own)
        }
        (Slot::Space(list) | Slot::MaySpace(list), Token::Space(own)) => list.contains(&own),
        (Slot::Vector(list) | Slot::MayVector(list), Token::Vector(own)) => list.contains(&own),
        _ => false,
    }
}

/// Whether a word is spelled like a type: a letter or two, and a number of bits.
fn is_like_type(word: &str) -> bool {
    let bits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    matches!(word.len() - bits.len(), 1 | 2)
        && word.starts_with(['b', 'e', 'f', 's', 'u'])
        && !bits.is_empty()
        && bits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Every type that some form of the opcode has at a type position.
fn types_at(opcode: Opcode, position: usize) -> Vec<&'static str> {
    let mut names = Vec::new();
    for row in rows(opcode) {
        let types = row
            .slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Type(types) | Slot::MayType(types) => Some(*types),
                _ => None,
            })
            .nth(position);
        for ty in types.unwrap_or_default() {
            if !names.contains(&ty.name()) {
                names.push(ty.name());
            }
        }
    }
    names
}

pub(super) fn vector_name(width: u8) -> &'static str {
    match width {
        2 => "v2",
        4 => "v4",
        _ => "v8",
    }
}
