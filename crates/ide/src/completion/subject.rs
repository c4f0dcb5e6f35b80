//! The descriptions of completions, written only for the one that a reader looks at.
//!
//! A description depends on the language alone and on no text, so its key is all that a client must give back.

use oriole_ptx::Opcode;
use oriole_ptx::table::{Row, rows_of as rows};

use super::templates;
use crate::documentation;

/// The key of a description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A form of an opcode, by its number.
    Form(Opcode, usize),
    /// A directive.
    Directive(&'static str),
    /// A special register.
    Special(&'static str),
    /// A statement with places to fill in.
    Template(&'static str),
}

impl Subject {
    /// The key of a form.
    pub(super) fn form(opcode: Opcode, row: &Row) -> Option<Subject> {
        let number = rows(opcode).position(|known| std::ptr::eq(known, row) || known == row)?;
        Some(Subject::Form(opcode, number))
    }

    /// The key as text.
    pub fn key(self) -> String {
        match self {
            Subject::Form(opcode, number) => format!("form {} {number}", opcode.name()),
            Subject::Directive(word) => format!("directive {word}"),
            Subject::Special(name) => format!("special {name}"),
            Subject::Template(label) => format!("template {label}"),
        }
    }

    /// The description of a key; `None` for a text that is not a key.
    pub fn description(key: &str) -> Option<String> {
        let (kind, rest) = key.split_once(' ')?;
        match kind {
            "form" => {
                let (opcode, number) = rest.split_once(' ')?;
                let row = rows(Opcode::from_name(opcode)?).nth(number.parse().ok()?)?;
                let needs = documentation::needs(row);
                Some(format!("```ptx\n{}\n```\n{}\n\n{needs}", row.spelling(), row.doc))
            }
            "directive" => {
                let (_, shape, meaning) = documentation::directive(rest)?;
                Some(format!("```ptx\n{shape}\n```\n{meaning}"))
            }
            "special" => {
                let (ty, meaning) = documentation::special(rest)?;
                Some(format!("```ptx\n{ty} {rest}\n```\nSpecial register. {meaning}"))
            }
            "template" => {
                let template = templates::all().find(|template| template.label == rest)?;
                Some(format!("```ptx\n{}\n```\n{}", template.plain(), template.meaning))
            }
            _ => None,
        }
    }
}
