//! The instruction table: one declarative row for each form of each instruction.
//!
//! It is here so that the checker, completion, the reference pages and the back end agree on what may be written.
//! A row says which modifiers follow the opcode, which types each type position takes, what the operands are,
//! since which PTX version and on which chips the form exists, and whether the back end makes code for it. No
//! matching of syntax trees, no evaluation and no machine opcode may enter.

mod matching;
mod mismatch;
mod query;
mod rows;

pub use matching::{Form, Shape, Token, classify, match_form, match_form_with_shapes, match_forms};
pub use mismatch::{FormError, FormProblem};
pub use query::{Next, description, families, family_of, next_modifiers, rows_of, synopsis};

use crate::{Opcode, Space, Type, Word};

/// One form of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The word before the first dot.
    pub opcode: Opcode,
    /// What follows it, in the order of the reference manual.
    pub slots: &'static [Slot],
    /// Operands in order.
    pub operands: &'static [OperandRow],
    /// First PTX version that has the form (major, minor).
    pub ptx: (u8, u8),
    /// Chips that have it.
    pub chips: Chips,
    /// What single modifiers ask for beyond the row.
    pub needs: &'static [Need],
    /// One line on what it does.
    pub doc: &'static str,
    /// The family that the row is in: the name of its file, and of its page in the reference.
    pub family: &'static str,
    /// Whether the back end makes code for it.
    pub supported: bool,
}

/// A family of instructions: one file of rows, one page of the reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Name of the page, without its ending.
    pub page: &'static str,
    /// Title of the page.
    pub title: &'static str,
    /// What the family is about.
    pub intro: &'static str,
}

/// Which chips have a form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Chips {
    /// This number and all later ones.
    From(u16),
    /// Only with the `a` feature set of one of these numbers.
    Accelerated(&'static [u16]),
    /// With the `a` feature set of one of these numbers, or the `f` feature set of its family.
    Family(&'static [u16]),
    /// Up to and without this number.
    Before(u16),
    /// Those of any of these.
    AnyOf(&'static [Chips]),
}

/// What one modifier asks for.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The modifier; `a&b` for two that are written together, `generic` for a space that is not written, `+name` and `-name`
    /// for an optional operand or modifier that is there or not.
    pub token: &'static str,
    /// First PTX version that has it.
    pub ptx: (u8, u8),
    /// First PTX version that has it no more.
    pub until: Option<(u8, u8)>,
    /// Chips that have it; an empty list where this spelling is never possible.
    pub chips: Chips,
}

/// A position behind the opcode. Except for [`Slot::Head`], and for several of one kind among themselves, the order
/// is free when an instruction is read, as other PTX compilers have it; the order of a row is the one to print.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// Exactly one of these, at this very place behind the opcode: it belongs to the instruction's name. Heads are
    /// before all other slots.
    Head(&'static [Word]),
    /// Exactly one of these.
    Must(&'static [Word]),
    /// At most one of these.
    May(&'static [Word]),
    /// All of these, in this order.
    Sequence(&'static [Word]),
    /// A type.
    Type(&'static [Type]),
    /// A type that may be left out.
    MayType(&'static [Type]),
    /// A state space.
    Space(&'static [Space]),
    /// A state space; a generic address where none is written.
    MaySpace(&'static [Space]),
    /// A vector width.
    Vector(&'static [u8]),
    /// A vector width; 1 where none is written.
    MayVector(&'static [u8]),
}

/// One operand position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandRow {
    /// Name in the reference manual, for messages and completion.
    pub name: &'static str,
    /// What may be here.
    pub kind: Kind,
    /// Its type.
    pub ty: OperandType,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether other PTX compilers accept nearly anything here, so that what does not fit gives a warning only.
    pub unchecked: bool,
}

/// What may be at an operand position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A register that is written.
    Destination,
    /// A register that is written, or `_`.
    DestinationOrSink,
    /// A register, or with `.v2` and wider a vector of registers and `_`, that is written.
    VectorDestination,
    /// `d` or `d|p`: the second is a predicate and may be left out; either may be `_` where both are written.
    PairDestination,
    /// The same, and it may be `_` alone: nothing is kept.
    PairDestinationOrSink,
    /// `d|p`: both are there.
    BothDestinations,
    /// `d|p`: both are there; the first may be `_`.
    Elected,
    /// `_` alone: the instruction writes no result here.
    Sink,
    /// As a vector destination, or `_` for the whole.
    VectorDestinationOrSink,
    /// What a texture read writes: a vector, and behind `|` a predicate that may be left out.
    Texels,
    /// A register or a constant that is read.
    Source,
    /// The same, or a predicate register.
    SourceOrPredicate,
    /// A register that is read.
    RegisterSource,
    /// A register or a constant, or with `.v2` and wider a vector of them, that is read.
    VectorSource,
    /// A constant in this range.
    Constant(i64, i64),
    /// One of these constants.
    ConstantOf(&'static [i64]),
    /// A register or a constant in this range.
    SourceInRange(i64, i64),
    /// A register or one of these constants.
    SourceOf(&'static [i64]),
    /// A register, or a constant that is a multiple of this.
    SourceMultipleOf(i64),
    /// A predicate register, also negated, or a constant.
    Predicate,
    /// A predicate register that is read, not negated.
    PredicateRegister,
    /// An address in brackets.
    Address,
    /// An address of tensor memory in brackets: 32 bits.
    TensorAddress,
    /// Several things in brackets, each as its row says.
    Parts(&'static [OperandRow]),
    /// A variable of an opaque type, or a register that holds its handle.
    Opaque(Opaque),
    /// A word, or a byte or half of it: the operand of a video instruction.
    Selected,
    /// The same, and it may have a minus sign.
    SelectedSigned,
    /// A register, or a byte or half of it that is written.
    SelectedDestination,
    /// A word whose halves (2) or bytes (4) are picked by a selector.
    Lanes(u8),
    /// A word of which some halves (2) or bytes (4) are written.
    LanesDestination(u8),
    /// A vector of this many registers that are written.
    Destinations(u8),
    /// A vector of this many registers that are read.
    Sources(u8),
    /// A vector of registers that are written; how many, a modifier says.
    DestinationsBy(&'static [(Word, u8)]),
    /// A vector of registers that are read; how many, a modifier says.
    SourcesBy(&'static [(Word, u8)]),
    /// Coordinates of a texture or surface: a vector of at least as many elements as the geometry has, or one operand.
    Coordinates(&'static [(Word, u8)]),
    /// Offsets of coordinates: as many as the geometry has, or one word.
    Offsets(&'static [(Word, u8)]),
    /// Coordinates behind the number of a layer.
    LayerCoordinates(&'static [(Word, u8)]),
    /// The destination of `mov`: a register, or a vector that the value is unpacked to.
    MoveDestination,
    /// The source of `mov`: everything that has a value.
    MoveSource,
    /// A register, a constant, or a variable's address that is read.
    AddressSource,
    /// A label.
    Label,
    /// The target list of an indexed branch.
    BranchTargets,
    /// What `call` has behind it: results, function, arguments, target list or prototype.
    Call,
    /// Anything: a family that the table only knows by name.
    Anything,
}

impl Kind {
    /// Whether the operand is written.
    pub fn is_written(&self) -> bool {
        matches!(
            self,
            Kind::Destination
                | Kind::DestinationOrSink
                | Kind::VectorDestination
                | Kind::VectorDestinationOrSink
                | Kind::PairDestination
                | Kind::PairDestinationOrSink
                | Kind::BothDestinations
                | Kind::Elected
                | Kind::Sink
                | Kind::Texels
                | Kind::Destinations(_)
                | Kind::DestinationsBy(_)
                | Kind::SelectedDestination
                | Kind::LanesDestination(_)
                | Kind::MoveDestination
        )
    }
}

/// What an opaque variable denotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opaque {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
    /// `.texref` or `.samplerref`
    TextureOrSampler,
}

/// The type of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandType {
    /// The type at this type position of the row; a constant or a register of the same width and a kind that fits.
    Of(u8),
    /// The same, but a register may be wider (loads, stores, conversions).
    Widening(u8),
    /// Twice the width of the type at this position.
    Double(u8),
    /// This type.
    Fixed(Type),
    /// This type in a register of the very type or of bits; an integer is taken as its bits.
    Exact(Type),
    /// The same as the first, but registers of integers hold floating-point values too (textures).
    Loose(u8),
    /// A single-precision number; registers of integers hold it too (textures), pairs of halves do not.
    LooseFloat,
    /// As wide as the type at this position, whatever the kind.
    Bits(u8),
    /// Anything 32 bits wide that is an integer or bits.
    Word,
    /// An integer or bits of 32 bits or more.
    WideWord,
    /// Any integer register: an address or a size.
    AnyInteger,
    /// An address in the state space at this position of the row.
    AddressIn(u8),
    /// An address in shared memory, whatever the row's spaces are.
    AddressInShared,
    /// No type, or one that is not checked.
    None,
}

/// Whether an operand is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Always.
    Always,
    /// It may be left out, together with all that follow.
    Optional,
    /// Exactly when this modifier is written.
    With(Word),
}

/// What single words ask for in any row: nothing today, since each row says it for its words.
pub const COMMON_NEEDS: &[Need] = &[];

/// The forms of an opcode, in table order.
pub fn rows(opcode: Opcode) -> impl Iterator<Item = &'static Row> + Clone {
    rows::INDEX[opcode as usize].iter()
}

impl Row {
    /// Spelling of the form as the reference manual would print it: alternatives in `{a,b}`, what may be left out
    /// in brackets.
    pub fn spelling(&self) -> String {
        let mut text = self.opcode.name().to_string();
        for slot in self.slots {
            slot.spell(&mut text);
        }
        let mut separator = " ";
        for operand in self.operands {
            text.push_str(separator);
            separator = ", ";
            let optional = operand.presence != Presence::Always;
            if optional {
                text.push('[');
            }
            match operand.kind {
                Kind::Address | Kind::TensorAddress => {
                    text.push('[');
                    text.push_str(operand.name);
                    text.push(']');
                }
                Kind::PairDestination | Kind::PairDestinationOrSink => {
                    text.push_str(operand.name);
                    text.push_str("[|q]");
                }
                Kind::BothDestinations | Kind::Elected => {
                    text.push_str(operand.name);
                    text.push_str("|q");
                }
                Kind::Texels => {
                    text.push_str(operand.name);
                    text.push_str("[|p]");
                }
                Kind::Sink => text.push('_'),
                Kind::Parts(parts) => {
                    let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
                    text.push('[');
                    text.push_str(&names.join(", "));
                    text.push(']');
                }
                Kind::Destinations(count) | Kind::Sources(count) => {
                    text.push_str(operand.name);
                    text.push_str(&format!("{{{count}}}"));
                }
                Kind::DestinationsBy(_) | Kind::SourcesBy(_) => {
                    text.push_str(operand.name);
                    text.push_str("{n}");
                }
                _ => text.push_str(operand.name),
            }
            if optional {
                text.push(']');
            }
        }
        text
    }
}

impl Slot {
    fn spell(&self, text: &mut String) {
        let mut list = |names: &mut dyn Iterator<Item = String>, optional: bool| {
            let mut names: Vec<String> = names.collect();
            // Two spaces may share a name.
            names.dedup();
            text.push_str(if optional { "[." } else { "." });
            if names.len() == 1 {
                text.push_str(&names[0]);
            } else {
                text.push('{');
                text.push_str(&names.join(","));
                text.push('}');
            }
            if optional {
                text.push(']');
            }
        };
        let own = |word: &Word| word.name().to_string();
        match self {
            Slot::Head(names) | Slot::Must(names) => list(&mut names.iter().map(own), false),
            Slot::May(names) => list(&mut names.iter().map(own), true),
            Slot::Sequence(names) => {
                for name in *names {
                    list(&mut std::iter::once(own(name)), false);
                }
            }
            Slot::Type(types) => list(&mut types.iter().map(|ty| ty.name().to_string()), false),
            Slot::MayType(types) => list(&mut types.iter().map(|ty| ty.name().to_string()), true),
            Slot::Space(spaces) => list(&mut spaces.iter().map(|space| space.name().to_string()), false),
            Slot::MaySpace(spaces) => list(&mut spaces.iter().map(|space| space.name().to_string()), true),
            Slot::Vector(widths) => list(&mut widths.iter().map(|width| format!("v{width}")), false),
            Slot::MayVector(widths) => list(&mut widths.iter().map(|width| format!("v{width}")), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_has_a_row_and_every_row_a_line() {
        for opcode in Opcode::all() {
            assert!(rows(opcode).next().is_some(), "{} has no row", opcode.name());
            for row in rows(opcode) {
                assert_eq!(row.opcode, opcode, "opcodes are in alphabetical order, as their rows are");
                assert!(row.doc.len() > 4 && row.doc.ends_with('.'), "{}", row.spelling());
            }
        }
    }

    #[test]
    fn a_row_prints_as_the_manual_does() {
        let row = rows(Opcode::Fma).next().unwrap();
        expect_test::expect!["fma.{rn,rz,rm,rp}[.ftz][.sat].f32 d, a, b, c"].assert_eq(&row.spelling());
    }
}
