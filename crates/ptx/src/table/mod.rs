//! The instruction table: one declarative row for each form of each instruction.
//!
//! It is here so that the checker, completion, the reference pages and the back end agree on what may be written.
//! A row says which modifiers stand behind the opcode, which types each type position takes, what the operands are,
//! since which PTX version and on which chips the form exists, and whether the back end makes code for it. No
//! matching of syntax trees, no evaluation and no machine opcode may enter.

mod atomics;
mod barrier;
mod compare;
mod control;
mod conversion;
mod float;
mod half;
mod integer;
mod logic;
mod matching;
mod matrix;
mod memory;
mod pieces;
mod special;
mod texture;
mod transfer;
mod video;
mod warp;

pub use matching::{Form, FormError, FormProblem, Token, classify, match_form};

use crate::{Opcode, Space, Type};

/// One form of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The word before the first dot.
    pub opcode: Opcode,
    /// What stands behind it, in the order of the reference manual.
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
    /// Whether the back end makes code for it.
    pub supported: bool,
}

/// Which chips have a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chips {
    /// This number and all later ones.
    From(u8),
    /// Only with the `a` feature set of one of these numbers.
    Accelerated(&'static [u8]),
    /// With the `a` feature set of one of these numbers, or the `f` feature set of its family.
    Family(&'static [u8]),
    /// Up to and without this number.
    Before(u8),
}

/// What one modifier asks for.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The modifier.
    pub token: &'static str,
    /// First PTX version that has it.
    pub ptx: (u8, u8),
    /// First chip that has it.
    pub chip: u8,
}

/// A position behind the opcode. Except for [`Slot::Head`], and for several of one kind among themselves, the order
/// is free when an instruction is read, as other PTX compilers have it; the order of a row is the one to print.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// Exactly one of these, directly behind the opcode: it belongs to the instruction's name.
    Head(&'static [&'static str]),
    /// Exactly one of these.
    Must(&'static [&'static str]),
    /// At most one of these.
    May(&'static [&'static str]),
    /// All of these, in this order.
    Sequence(&'static [&'static str]),
    /// Any number of modifiers of any spelling: a family that the table only knows by name.
    Anything,
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
#[derive(Clone, Copy, Debug)]
pub struct OperandRow {
    /// Name in the reference manual, for messages and completion.
    pub name: &'static str,
    /// What may stand here.
    pub kind: Kind,
    /// Its type.
    pub ty: OperandType,
    /// Whether it is there.
    pub presence: Presence,
}

/// What may stand at an operand position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A register that is written.
    Destination,
    /// A register that is written, or `_`.
    DestinationOrSink,
    /// A register, or with `.v2` and wider a vector of registers and `_`, that is written.
    VectorDestination,
    /// `d` or `d|p`: the second is a predicate and may be left out; either may be `_` where both stand.
    PairDestination,
    /// `d|p`: both are there.
    BothDestinations,
    /// A register or a constant that is read.
    Source,
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
    /// A register, or a constant that is a multiple of this.
    SourceMultipleOf(i64),
    /// A predicate register, also negated, or a constant.
    Predicate,
    /// An address in brackets.
    Address,
    /// A vector of this many registers that are written.
    Destinations(u8),
    /// A vector of this many registers that are read.
    Sources(u8),
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
    /// Anything 32 bits wide that is an integer or bits.
    Word,
    /// Any integer register: an address or a size.
    AnyInteger,
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
    With(&'static str),
}

/// What single words ask for wherever they stand.
pub const COMMON_NEEDS: &[Need] = &[
    Need { token: "shared::cluster", ptx: (7, 8), chip: 90 },
    Need { token: "shared::cta", ptx: (7, 8), chip: 30 },
    Need { token: "cluster", ptx: (7, 8), chip: 90 },
    Need { token: "b128", ptx: (8, 3), chip: 70 },
];

/// All families. An opcode may have rows in several.
const FAMILIES: [&[(Opcode, &[Row])]; 16] = [
    integer::ROWS,
    float::ROWS,
    half::ROWS,
    compare::ROWS,
    logic::ROWS,
    memory::ROWS,
    transfer::ROWS,
    atomics::ROWS,
    control::ROWS,
    conversion::ROWS,
    video::ROWS,
    warp::ROWS,
    barrier::ROWS,
    special::ROWS,
    matrix::ROWS,
    texture::ROWS,
];

/// The most families that one opcode has rows in.
const SHARES: usize = 4;

const fn index() -> [[&'static [Row]; SHARES]; Opcode::COUNT] {
    let mut index: [[&'static [Row]; SHARES]; Opcode::COUNT] = [[&[]; SHARES]; Opcode::COUNT];
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut entry = 0;
        while entry < FAMILIES[family].len() {
            let (opcode, rows) = FAMILIES[family][entry];
            let mut share = 0;
            while !index[opcode as usize][share].is_empty() {
                share += 1;
            }
            index[opcode as usize][share] = rows;
            entry += 1;
        }
        family += 1;
    }
    index
}

static INDEX: [[&[Row]; SHARES]; Opcode::COUNT] = index();

/// The forms of an opcode, in table order.
pub fn rows(opcode: Opcode) -> impl Iterator<Item = &'static Row> + Clone {
    INDEX[opcode as usize].iter().flat_map(|rows| rows.iter())
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
                Kind::Address => {
                    text.push('[');
                    text.push_str(operand.name);
                    text.push(']');
                }
                Kind::PairDestination => {
                    text.push_str(operand.name);
                    text.push_str("[|q]");
                }
                Kind::BothDestinations => {
                    text.push_str(operand.name);
                    text.push_str("|q");
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
            let names: Vec<String> = names.collect();
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
        let own = |name: &&str| name.to_string();
        match self {
            Slot::Head(names) | Slot::Must(names) => list(&mut names.iter().map(own), false),
            Slot::May(names) => list(&mut names.iter().map(own), true),
            Slot::Sequence(names) => {
                for name in *names {
                    list(&mut std::iter::once(name.to_string()), false);
                }
            }
            Slot::Anything => text.push_str("..."),
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
                assert_eq!(row.opcode, opcode);
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
