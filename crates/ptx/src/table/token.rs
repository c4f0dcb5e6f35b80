//! Dotted words, classified by their spelling alone.

use crate::{Space, Type, Word};

/// A dotted word, classified by its spelling alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token<'a> {
    /// A type.
    Type(Type),
    /// A state space.
    Space(Space),
    /// A vector width.
    Vector(u8),
    /// Any other word of the tables.
    Word(Word),
    /// A word of no form.
    Unknown(&'a str),
}

/// Classifies a word, given without its dot.
pub fn classify(word: &str) -> Token<'_> {
    if let Some(ty) = Type::from_name(word) {
        return Token::Type(ty);
    }
    if let Some(space) = Space::from_name(word).filter(|&space| space != Space::Register) {
        return Token::Space(space);
    }
    match word {
        "v2" => Token::Vector(2),
        "v4" => Token::Vector(4),
        "v8" => Token::Vector(8),
        _ => Word::from_name(word).map_or(Token::Unknown(word), Token::Word),
    }
}
