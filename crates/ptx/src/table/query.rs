//! Queries of editors and pages: the forms of an opcode, the words that may follow, the spelling and the description of
//! a form, and the role of an operand.
//!
//! With them no other code walks slots and guesses. This file reads the table and changes nothing; no syntax tree and
//! no place in a text may enter.

use oriole_chip::{Chip, PtxTarget, Variant};

use super::matching::try_row;
use super::rows::FAMILIES;
use super::token::{Token, classify};
use super::{Chips, Family, Kind, Opaque, OperandRow, OperandType, Row, Slot, rows};
use crate::{Opcode, Word};

/// The forms of an opcode, in table order.
pub fn rows_of(opcode: Opcode) -> impl Iterator<Item = &'static Row> + Clone {
    rows(opcode)
}

/// The syntax of a form: alternatives in `{a,b}`, optional words in brackets.
pub fn synopsis(row: &Row) -> String {
    row.spelling()
}

/// All families, in the order of their file names.
pub fn families() -> &'static [Family] {
    &FAMILIES
}

/// The family of a form: its page in the reference, title and introduction.
pub fn family_of(row: &Row) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.page == row.family)
}

/// The description of an opcode: the lines of its forms, each once, in table order.
pub fn description(opcode: Opcode) -> Vec<&'static str> {
    let mut lines = Vec::new();
    for row in rows(opcode) {
        if !lines.contains(&row.doc) {
            lines.push(row.doc);
        }
    }
    lines
}

/// A word that may be the next one of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Next {
    /// The word without its dot.
    pub word: &'static str,
    /// True if some form needs this word or one of its alternatives before it is complete.
    pub required: bool,
    /// The first form that takes it: for its line, version and chips.
    pub row: &'static Row,
}

/// The words that may follow the written ones, in the order in which the reference prints them: first those that the
/// forms nearest to completion require. `prefix` is an opcode with complete words after it, such as `ld.global`. Empty
/// where no form begins so.
pub fn next_modifiers(prefix: &str) -> Vec<Next> {
    let mut words = prefix.trim_end_matches('.').split('.');
    let Some(opcode) = words.next().and_then(Opcode::from_name) else { return Vec::new() };
    let tokens: Vec<Token<'_>> = words.map(classify).collect();
    let mut found: Vec<(usize, Next)> = Vec::new();
    for row in rows(opcode) {
        let trial = try_row(row, &tokens);
        if !trial.unfit.is_empty() {
            continue;
        }
        let mut type_offered = false;
        for (place, slot) in row.slots.iter().enumerate() {
            if trial.filled[place].is_some() {
                continue;
            }
            let required = trial.missing.contains(&place);
            let names: Vec<&'static str> = match slot {
                Slot::Head(list) if place == tokens.len() => spelled(list),
                Slot::Head(_) => break,
                Slot::Must(list) | Slot::May(list) => spelled(list),
                Slot::Sequence(list) => {
                    let done = list.iter().filter(|&&word| trial.form.modifiers.has(word)).count();
                    list.get(done).map(|word| word.name()).into_iter().collect()
                }
                Slot::Type(list) | Slot::MayType(list) if !type_offered => {
                    type_offered = true;
                    list.iter().map(|ty| ty.name()).collect()
                }
                Slot::Type(_) | Slot::MayType(_) => Vec::new(),
                Slot::Space(list) | Slot::MaySpace(list) => list.iter().map(|space| space.name()).collect(),
                Slot::Vector(list) | Slot::MayVector(list) => {
                    list.iter().map(|&width| super::mismatch::vector_name(width)).collect()
                }
            };
            for word in names {
                match found.iter_mut().find(|(_, next)| next.word == word) {
                    Some((rank, next)) => {
                        *rank = place.min(*rank);
                        next.required |= required;
                    }
                    None => found.push((place, Next { word, required, row })),
                }
            }
            if matches!(slot, Slot::Head(_)) {
                break;
            }
        }
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, next)| next).collect()
}

fn spelled(words: &[Word]) -> Vec<&'static str> {
    words.iter().map(|word| word.name()).collect()
}

impl Chips {
    /// Whether a target has what these chips have. A target without a chip table has what its stand-in chip has, and
    /// what the rows say of the target itself.
    pub fn has(self, target: PtxTarget) -> bool {
        let stands_in = || target.as_chip().and_then(Chip::stand_in).is_some();
        self.name(target.with_features()) || stands_in() && self.name(target)
    }

    /// Whether these chips include a target, by its number and letter alone.
    fn name(self, target: PtxTarget) -> bool {
        match self {
            Chips::From(number) => target.number() >= number,
            Chips::Before(number) => target.number() < number,
            Chips::Accelerated(numbers) => {
                target.variant() == Variant::Accelerated && numbers.contains(&target.number())
            }
            Chips::Family(numbers) => {
                target.variant() != Variant::Base
                    && numbers.iter().any(|&number| {
                        number == target.number()
                            || (number / 10 == target.number() / 10 && number <= target.number())
                    })
            }
            Chips::AnyOf(list) => list.iter().any(|chips| chips.name(target)),
        }
    }

    /// As text, for messages: "`sm_90` or later".
    pub fn describe(self) -> String {
        let list = |numbers: &[u16], suffix: &str| {
            let names: Vec<String> = numbers.iter().map(|number| format!("`sm_{number}{suffix}`")).collect();
            names.join(" or ")
        };
        match self {
            Chips::From(number) => format!("`sm_{number}` or later"),
            Chips::Before(number) => format!("a target before `sm_{number}`"),
            Chips::Accelerated(numbers) => list(numbers, "a"),
            Chips::Family(numbers) => list(numbers, "f"),
            Chips::AnyOf(all) => all.iter().map(|chips| chips.describe()).collect::<Vec<_>>().join(" or "),
        }
    }
}

impl OperandRow {
    /// The role of the operand, as text: "destination, `.u32`".
    pub fn role(&self) -> String {
        let role = match self.kind {
            Kind::Destination | Kind::MoveDestination | Kind::SelectedDestination => "destination".to_owned(),
            Kind::DestinationOrSink => "destination, or `_`".to_owned(),
            Kind::Sink => "`_`".to_owned(),
            Kind::VectorDestination | Kind::VectorDestinationOrSink => {
                "destination, a vector with `.v2` and wider".to_owned()
            }
            Kind::PairDestination => "destination, and a predicate behind `|` if wanted".to_owned(),
            Kind::PairDestinationOrSink => {
                "destination or `_`, and a predicate behind `|` if wanted".to_owned()
            }
            Kind::BothDestinations => "destination, and a predicate behind `|`".to_owned(),
            Kind::Texels => "vector of destinations, and a predicate behind `|` if wanted".to_owned(),
            Kind::Source | Kind::MoveSource => "source: register or constant".to_owned(),
            Kind::SourceOrPredicate => "source: register, constant or predicate".to_owned(),
            Kind::RegisterSource => "source register".to_owned(),
            Kind::VectorSource => "source, a vector with `.v2` and wider".to_owned(),
            Kind::Constant(i64::MIN, i64::MAX) => "constant".to_owned(),
            Kind::Constant(least, most) => format!("constant from {least} to {most}"),
            Kind::ConstantOf(list) | Kind::SourceOf(list) => {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                let register = if matches!(self.kind, Kind::SourceOf(_)) { "register, or " } else { "" };
                format!("{register}constant: {}", list.join(", "))
            }
            Kind::SourceInRange(least, most) => format!("register, or a constant from {least} to {most}"),
            Kind::SourceMultipleOf(step) => format!("register, or a constant multiple of {step}"),
            Kind::Predicate => "predicate, also negated".to_owned(),
            Kind::PredicateRegister => "predicate register".to_owned(),
            Kind::Address => "address".to_owned(),
            Kind::TensorAddress => "address of tensor memory".to_owned(),
            Kind::Parts(parts) => {
                let parts: Vec<&str> = parts.iter().map(|part| part.name).collect();
                format!("in brackets: {}", parts.join(", "))
            }
            Kind::Opaque(Opaque::Texture) => "texture".to_owned(),
            Kind::Opaque(Opaque::Sampler) => "sampler".to_owned(),
            Kind::Opaque(Opaque::Surface) => "surface".to_owned(),
            Kind::Opaque(Opaque::TextureOrSampler) => "texture or sampler".to_owned(),
            Kind::Selected => "source, or a byte or half of it".to_owned(),
            Kind::SelectedSigned => "source, or a byte or half of it, also negated".to_owned(),
            Kind::Lanes(_) => "source, with a selector of its parts".to_owned(),
            Kind::LanesDestination(_) => "destination, with a mask of its parts".to_owned(),
            Kind::Destinations(count) => format!("vector of {count} destinations"),
            Kind::Sources(count) => format!("vector of {count} sources"),
            Kind::DestinationsBy(_) => "vector of destinations".to_owned(),
            Kind::SourcesBy(_) => "vector of sources".to_owned(),
            Kind::AddressSource => "register, or the address of a variable".to_owned(),
            Kind::Elected => "destination or `_`, and a predicate behind `|`".to_owned(),
            Kind::Coordinates(_) => "vector of coordinates".to_owned(),
            Kind::Offsets(_) => "vector of offsets".to_owned(),
            Kind::LayerCoordinates(_) => "vector: layer and coordinates".to_owned(),
            Kind::Label => "label".to_owned(),
            Kind::BranchTargets => "list of labels".to_owned(),
            Kind::Call => "function, with results and arguments".to_owned(),
            Kind::Anything => "operand".to_owned(),
        };
        match self.ty {
            OperandType::Fixed(ty) => format!("{role}, `{ty}`"),
            OperandType::Word => format!("{role}, 32 bits"),
            _ => role,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(prefix: &str) -> String {
        next_modifiers(prefix)
            .iter()
            .map(|next| format!("{}{}", next.word, if next.required { "!" } else { "" }))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn what_may_stand_next() {
        expect_test::expect!["rn rz rm rp lo! hi! wide! ftz f64! bf16! bf16x2! satfinite sat f32x2! e4m3x4! e5m2x4! f32! f16! f16x2!"]
            .assert_eq(&words("mul"));
        expect_test::expect!["u16! u32! u64! s16! s32! s64!"].assert_eq(&words("mul.lo"));
        expect_test::expect![""].assert_eq(&words("mul.lo.u32"));
        expect_test::expect![""].assert_eq(&words("nothing.lo"));
    }

    #[test]
    fn families_of_features() {
        let has = |chips: Chips, name: &str| chips.has(name.parse().unwrap());
        assert!(has(Chips::From(90), "sm_100"));
        assert!(!has(Chips::Accelerated(&[90]), "sm_90"));
        assert!(has(Chips::Family(&[107]), "sm_107f"));
        assert!(has(Chips::Family(&[100]), "sm_103f"));
        assert!(!has(Chips::Family(&[100]), "sm_120f"));
        // A chip is in the family of its number today.
        assert!(!has(Chips::Family(&[100]), "sm_101f"));
        assert!(has(Chips::Family(&[110]), "sm_101f"));
        assert!(has(Chips::Accelerated(&[110]), "sm_101a"));
        assert!(has(Chips::AnyOf(&[Chips::Accelerated(&[90]), Chips::From(100)]), "sm_90a"));
    }

    #[test]
    fn every_row_is_on_a_page_and_every_operand_has_a_role() {
        for opcode in Opcode::all() {
            assert!(!description(opcode).is_empty());
            for row in rows_of(opcode) {
                assert!(family_of(row).is_some(), "{}", synopsis(row));
                assert!(row.operands.iter().all(|operand| !operand.role().is_empty()));
            }
        }
    }
}
