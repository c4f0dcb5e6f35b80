//! The columns of the instruction table: what a row states of a form, and how the reference manual would print it.
//!
//! The rows are generated, and matching is elsewhere.

use crate::{Opcode, Space, Type, Word};

/// One form of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The word before the first dot.
    pub opcode: Opcode,
    /// The slots that follow it, in the order of the reference manual.
    pub slots: &'static [Slot],
    /// Operands in order.
    pub operands: &'static [OperandRow],
    /// First PTX version that has the form (major, minor).
    pub ptx: (u8, u8),
    /// Chips that have it.
    pub chips: Chips,
    /// Requirements of single modifiers beyond those of the row.
    pub needs: &'static [Need],
    /// One-line description.
    pub doc: &'static str,
    /// The family that the row is in: the name of its file, and of its page in the reference.
    pub family: &'static str,
    /// Whether the back end compiles it.
    pub supported: bool,
}

/// A family of instructions: one file of rows, one page of the reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// Name of the page, without its ending.
    pub page: &'static str,
    /// Title of the page.
    pub title: &'static str,
    /// The introduction of its page.
    pub intro: &'static str,
}

/// Which chips have a form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Chips {
    /// This compute capability and all later ones.
    From(u16),
    /// Only with the `a` feature set of one of these compute capabilities.
    Accelerated(&'static [u16]),
    /// With the `a` feature set of one of these compute capabilities, or the `f` feature set of its family.
    Family(&'static [u16]),
    /// Compute capabilities before this one.
    Before(u16),
    /// Those of any of these.
    AnyOf(&'static [Chips]),
}

/// The requirement of one modifier.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The modifier; `a&b` for two that are written together, `generic` for a missing space, `+name` and `-name` for an
    /// optional operand or modifier that is present or absent.
    pub token: &'static str,
    /// First PTX version that has it.
    pub ptx: (u8, u8),
    /// First PTX version that no longer has it.
    pub until: Option<(u8, u8)>,
    /// Chips that have it; an empty list where this spelling is never possible.
    pub chips: Chips,
}

/// A position after the opcode. Except for [`Slot::Head`], and for several of one kind among themselves, the order is
/// free when an instruction is read, as in ptxas; a row has the order in which words are printed.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// Exactly one of these, at this very place after the opcode: it belongs to the instruction's name. Heads are
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
    /// The kind of operand.
    pub kind: Kind,
    /// Its type.
    pub ty: OperandType,
    /// Whether it is present.
    pub presence: Presence,
    /// Whether ptxas accepts nearly anything here, so that a mismatch is a warning only.
    pub unchecked: bool,
}

/// The kind of an operand position.
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
    /// As `PairDestination`, or `_` alone: nothing is kept.
    PairDestinationOrSink,
    /// `d|p`: both are there.
    BothDestinations,
    /// `d|p`: both are there; the first may be `_`.
    Elected,
    /// `_` alone: the instruction writes no result here.
    Sink,
    /// As a vector destination, or `_` for the whole.
    VectorDestinationOrSink,
    /// The destination of a texture read: a vector, and after `|` an optional predicate.
    Texels,
    /// A register or a constant that is read.
    Source,
    /// As `Source`, or a predicate register.
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
    /// As `Selected`, with an optional minus sign.
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
    /// A vector of registers that are written; a modifier gives their number.
    DestinationsBy(&'static [(Word, u8)]),
    /// A vector of registers that are read; a modifier gives their number.
    SourcesBy(&'static [(Word, u8)]),
    /// Coordinates of a texture or surface: a vector of at least as many elements as the geometry has, or one operand.
    Coordinates(&'static [(Word, u8)]),
    /// Offsets of coordinates: as many as the geometry has, or one word.
    Offsets(&'static [(Word, u8)]),
    /// Coordinates after the index of a layer.
    LayerCoordinates(&'static [(Word, u8)]),
    /// The destination of `mov`: a register, or a vector that the value is unpacked to.
    MoveDestination,
    /// The source of `mov`: any operand with a value.
    MoveSource,
    /// A register, a constant, or a variable's address that is read.
    AddressSource,
    /// A label.
    Label,
    /// The target list of an indexed branch.
    BranchTargets,
    /// The operands of `call`: results, function, arguments, target list or prototype.
    Call,
    /// Anything: an instruction that the table knows only by name.
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

/// The kind of object that an opaque variable denotes.
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
    /// As `Of`, but a register may be wider (loads, stores, conversions).
    Widening(u8),
    /// Twice the width of the type at this position.
    Double(u8),
    /// This type.
    Fixed(Type),
    /// This type in a register of exactly this type or of bits; an integer is taken as its bits.
    Exact(Type),
    /// As `Of`, but integer registers hold floating-point values too (textures).
    Loose(u8),
    /// An f32; integer registers hold it too (textures), f16x2 registers do not.
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

/// Whether an operand is present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Always.
    Always,
    /// It may be left out, together with all that follow.
    Optional,
    /// Exactly when this modifier is written.
    With(Word),
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

impl PartialEq for Row {
    /// Rows are equal if they are the same row: each is a constant of the table.
    fn eq(&self, other: &Row) -> bool {
        std::ptr::eq(self.slots, other.slots)
            && std::ptr::eq(self.operands, other.operands)
            && self.opcode == other.opcode
            && self.doc == other.doc
    }
}

impl Eq for Row {}
