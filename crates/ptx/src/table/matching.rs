//! Finding the row for the words of an instruction.
//!
//! The checker and completion share one search. It compares words with rows; operands are checked elsewhere.

use smallvec::SmallVec;

use super::form::{Form, Trial};
use super::mismatch::{FormError, FormProblem, explain};
use super::token::{Token, classify};
use super::{Kind, OperandRow, Presence, Row, Slot, rows};
use crate::{Modifiers, Opcode, Space, Type, Word};

/// Whether the words of the row's name are where they must be; a cheap test.
fn has_heads(row: &Row, tokens: &[Token<'_>]) -> bool {
    row.slots.iter().enumerate().all(|(at, slot)| match slot {
        Slot::Head(words) => matches!(tokens.get(at), Some(Token::Word(word)) if words.contains(word)),
        _ => true,
    })
}

/// Whether each word fits some slot of the row. A cheap test: a type rules out most rows of an opcode.
fn has_slots(row: &Row, tokens: &[Token<'_>]) -> bool {
    tokens.iter().all(|token| match token {
        Token::Word(word) if REPEATABLE.contains(word) => true,
        Token::Unknown(_) => false,
        token => row.slots.iter().any(|slot| match (slot, token) {
            (
                Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words),
                Token::Word(word),
            ) => words.contains(word),
            (Slot::Type(types) | Slot::MayType(types), Token::Type(ty)) => types.contains(ty),
            (Slot::Space(spaces) | Slot::MaySpace(spaces), Token::Space(space)) => spaces.contains(space),
            (Slot::Vector(widths) | Slot::MayVector(widths), Token::Vector(width)) => widths.contains(width),
            _ => false,
        }),
    })
}

/// Words that ptxas accepts twice.
const REPEATABLE: [Word; 7] =
    [Word::Sync, Word::Approx, Word::Sat, Word::Satfinite, Word::Relu, Word::Cc, Word::Uni];

/// An ongoing match of an instruction's words with a row.
struct Match {
    trial: Trial,
    /// The slot from which the next type may be.
    next_type: usize,
    /// The slot from which the next space may be.
    next_space: usize,
    /// Progress within the sequence; a row has at most one.
    sequence: usize,
}

impl Match {
    fn new(row: &'static Row) -> Match {
        let form = Form {
            row,
            modifiers: Modifiers::default(),
            types: SmallVec::new(),
            space: None,
            second_space: None,
            vector: 1,
        };
        let filled = SmallVec::from_elem(None, row.slots.len());
        let trial = Trial { form, filled, unfit: SmallVec::new(), missing: SmallVec::new() };
        Match { trial, next_type: 0, next_space: 0, sequence: 0 }
    }

    /// Takes a word, of which `heads` are part of the name and have fixed places; false if it fits no slot.
    fn take(&mut self, at: usize, heads: usize, token: Token<'_>) -> bool {
        match token {
            // A type was written in the place of a forgotten word of the name (`mul.u32`).
            _ if at < heads => self.head(at, token) || matches!(token, Token::Type(ty) if self.ty(at, ty)),
            Token::Word(word) if REPEATABLE.contains(&word) && self.trial.form.modifiers.has(word) => true,
            Token::Type(ty) => self.ty(at, ty),
            Token::Space(space) => self.space(at, space),
            Token::Vector(width) => self.vector(at, width),
            Token::Word(word) => self.word(at, word),
            Token::Unknown(_) => false,
        }
    }

    fn slots(&self) -> &'static [Slot] {
        self.trial.form.row.slots
    }

    /// The first open slot, from this one on, that accepts the word.
    fn open(&self, from: usize, takes: impl Fn(&Slot) -> bool) -> Option<usize> {
        let slots = self.slots().iter().enumerate().skip(from);
        slots
            .into_iter()
            .find(|&(slot, kind)| self.trial.filled[slot].is_none() && takes(kind))
            .map(|open| open.0)
    }

    /// A word of the instruction's name, which has a fixed place.
    fn head(&mut self, at: usize, token: Token<'_>) -> bool {
        let (Slot::Head(words), Token::Word(word)) = (&self.slots()[at], token) else { return false };
        let fits = words.contains(&word);
        if fits {
            self.trial.filled[at] = Some(at);
            self.trial.form.modifiers.0.push(word);
        }
        fits
    }

    /// A type: types keep their order, and one that must be there cannot be passed over.
    fn ty(&mut self, at: usize, ty: Type) -> bool {
        for (slot, kind) in self.slots().iter().enumerate().skip(self.next_type) {
            let fits = match kind {
                Slot::Type(types) | Slot::MayType(types) => types.contains(&ty),
                _ => continue,
            };
            if fits {
                self.trial.filled[slot] = Some(at);
                self.trial.form.types.push(ty);
                self.next_type = slot + 1;
                return true;
            }
            if matches!(kind, Slot::Type(_)) {
                self.next_type = slot;
                return false;
            }
        }
        false
    }

    /// A space: spaces keep their order, so that one after a later space finds no slot.
    fn space(&mut self, at: usize, space: Space) -> bool {
        let takes = |kind: &Slot| matches!(kind, Slot::Space(spaces) | Slot::MaySpace(spaces) if spaces.contains(&space));
        let Some(slot) = self.open(self.next_space, takes) else { return false };
        self.trial.filled[slot] = Some(at);
        self.next_space = slot + 1;
        let form = &mut self.trial.form;
        let known = if form.space.is_none() { &mut form.space } else { &mut form.second_space };
        *known = Some(space);
        true
    }

    fn vector(&mut self, at: usize, width: u8) -> bool {
        let takes = |kind: &Slot| matches!(kind, Slot::Vector(widths) | Slot::MayVector(widths) if widths.contains(&width));
        let Some(slot) = self.open(0, takes) else { return false };
        self.trial.filled[slot] = Some(at);
        self.trial.form.vector = width;
        true
    }

    fn word(&mut self, at: usize, word: Word) -> bool {
        let sequence = self.sequence;
        let takes = |kind: &Slot| match kind {
            Slot::Must(words) | Slot::May(words) => words.contains(&word),
            Slot::Sequence(words) => words[sequence] == word,
            _ => false,
        };
        let Some(slot) = self.open(0, takes) else { return false };
        let complete = match &self.slots()[slot] {
            Slot::Sequence(words) => {
                self.sequence += 1;
                self.sequence == words.len()
            }
            _ => true,
        };
        if complete {
            self.trial.filled[slot] = Some(at);
        }
        self.trial.form.modifiers.0.push(word);
        true
    }

    /// The trial, with the required slots that are still open.
    fn finish(mut self) -> Trial {
        let slots = self.slots();
        for (slot, kind) in slots.iter().enumerate() {
            let needed = matches!(
                kind,
                Slot::Head(_)
                    | Slot::Must(_)
                    | Slot::Sequence(_)
                    | Slot::Type(_)
                    | Slot::Space(_)
                    | Slot::Vector(_)
            );
            if needed && self.trial.filled[slot].is_none() {
                self.trial.missing.push(slot);
            }
        }
        if self.trial.form.space.is_none() && slots.iter().any(|slot| matches!(slot, Slot::MaySpace(_))) {
            self.trial.form.space = Some(Space::Generic);
        }
        self.trial
    }
}

/// Matches the words of an instruction with a row.
pub(super) fn try_row(row: &'static Row, tokens: &[Token<'_>]) -> Trial {
    let mut state = Match::new(row);
    let heads = heads(row);
    for (at, &token) in tokens.iter().enumerate() {
        if !state.take(at, heads, token) {
            state.trial.unfit.push(at);
        }
    }
    state.finish()
}

/// The form, if all words fit and none is missing.
fn fitting(row: &'static Row, tokens: &[Token<'_>]) -> Option<Form> {
    let mut state = Match::new(row);
    let heads = heads(row);
    let fit = tokens.iter().enumerate().all(|(at, &token)| state.take(at, heads, token));
    if !fit {
        return None;
    }
    let trial = state.finish();
    trial.missing.is_empty().then_some(trial.form)
}

fn heads(row: &Row) -> usize {
    row.slots.iter().take_while(|slot| matches!(slot, Slot::Head(_))).count()
}

/// The shape of an operand, before any name is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// A name, a constant, an expression.
    Value,
    /// `_`
    Sink,
    /// `{a, b}`, and the number of elements.
    Vector(u8),
    /// `[a, b]`, and the number of parts.
    Address(u8),
    /// `d|p`
    Pair,
}

/// Whether an operand of this shape may be at a position; where in doubt, it may.
fn shape_fits(kind: &Kind, shape: Shape) -> bool {
    match kind {
        Kind::TensorAddress => shape == Shape::Address(1),
        Kind::Address => matches!(shape, Shape::Address(1) | Shape::Value),
        Kind::Parts(parts) => shape == Shape::Address(parts.len() as u8),
        Kind::DestinationOrSink | Kind::Sink => matches!(shape, Shape::Value | Shape::Sink),
        Kind::Elected => shape == Shape::Pair,
        Kind::Coordinates(_) | Kind::LayerCoordinates(_) | Kind::Offsets(_) => {
            matches!(shape, Shape::Value | Shape::Vector(_))
        }
        Kind::PairDestination | Kind::BothDestinations => matches!(shape, Shape::Value | Shape::Pair),
        Kind::PairDestinationOrSink => matches!(shape, Shape::Value | Shape::Pair | Shape::Sink),
        Kind::Texels => matches!(shape, Shape::Value | Shape::Pair | Shape::Vector(_)),
        Kind::VectorDestinationOrSink => !matches!(shape, Shape::Address(_) | Shape::Pair),
        Kind::VectorDestination
        | Kind::VectorSource
        | Kind::MoveDestination
        | Kind::MoveSource
        | Kind::AddressSource => matches!(shape, Shape::Value | Shape::Vector(_)),
        Kind::Destinations(count) | Kind::Sources(count) => {
            shape == Shape::Value || shape == Shape::Vector(*count)
        }
        Kind::DestinationsBy(_) | Kind::SourcesBy(_) => matches!(shape, Shape::Value | Shape::Vector(_)),
        Kind::Call | Kind::Anything => true,
        _ => shape == Shape::Value,
    }
}

impl Form {
    /// Fewest and most operands, given the modifiers written.
    pub fn operand_counts(&self) -> (usize, usize) {
        let mut least = 0;
        let mut most = 0;
        for operand in self.row.operands {
            if matches!(operand.kind, Kind::Call) {
                return (1, 4);
            }
            let more = match operand.presence {
                Presence::Always => (1, 1),
                Presence::Optional => (0, 1),
                Presence::With(token) if self.modifiers.has(token) => (1, 1),
                Presence::With(_) => (0, 0),
            };
            least += more.0;
            most += more.1;
        }
        (least, most)
    }

    /// The operand rows for `count` operands: optional ones are dropped from the end.
    pub fn operands(&self, count: usize) -> SmallVec<[OperandRow; 6]> {
        let (least, _) = self.operand_counts();
        let mut extra = count.saturating_sub(least);
        let mut list = SmallVec::new();
        for operand in self.row.operands {
            let there = match operand.presence {
                Presence::Always => true,
                Presence::Optional => {
                    let there = extra > 0;
                    extra = extra.saturating_sub(1);
                    there
                }
                Presence::With(token) => self.modifiers.has(token),
            };
            if there {
                list.push(*operand);
            }
        }
        list
    }

    /// Number of operands whose shape does not fit their position.
    fn misfits(&self, shapes: &[Shape]) -> usize {
        let rows = self.operands(shapes.len());
        rows.iter().zip(shapes).filter(|(row, shape)| !shape_fits(&row.kind, **shape)).count()
    }
}

/// Joins words that only together are a modifier; each result comes with the index of its first word.
fn join<'a>(words: &[&'a str]) -> SmallVec<[(usize, Token<'a>); 8]> {
    let mut joined = SmallVec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at] == "xorsign" && words.get(at + 1) == Some(&"abs") {
            joined.push((at, Token::Word(Word::XorsignAbs)));
            at += 2;
        } else {
            joined.push((at, classify(words[at])));
            at += 1;
        }
    }
    joined
}

/// Finds the form of an instruction.
///
/// `words` are the dotted words after the opcode, without dots; `operands` is the number of written operands.
///
/// # Errors
/// The word that does not fit, or the missing words, measured against the nearest form.
pub fn match_form(opcode: Opcode, words: &[&str], operands: usize) -> Result<Form, FormError> {
    find(opcode, words, operands, None)
}

/// Finds the form where the operands are known: among forms of equal words, their shapes decide.
///
/// # Errors
/// As for [`match_form`]. Operands of a wrong shape are not an error here: they are checked one by one later.
pub fn match_form_with_shapes(opcode: Opcode, words: &[&str], shapes: &[Shape]) -> Result<Form, FormError> {
    find(opcode, words, shapes.len(), Some(shapes))
}

/// All forms of these words that take operands of these shapes, in table order: where one is not for the module's
/// version or chips, another may be.
///
/// # Errors
/// As for [`match_form_with_shapes`].
pub fn match_forms(opcode: Opcode, words: &[&str], shapes: &[Shape]) -> Result<Vec<Form>, FormError> {
    let tokens: SmallVec<[Token<'_>; 8]> = join(words).iter().map(|pair| pair.1).collect();
    let mut forms = Vec::new();
    for row in rows(opcode).filter(|row| has_heads(row, &tokens) && has_slots(row, &tokens)) {
        let Some(form) = fitting(row, &tokens) else { continue };
        let (least, most) = form.operand_counts();
        if (least..=most).contains(&shapes.len()) && form.misfits(shapes) == 0 {
            forms.push(form);
        }
    }
    // Nothing fits: use the nearest form, or report the mismatch.
    if forms.is_empty() {
        forms.push(find(opcode, words, shapes.len(), Some(shapes))?);
    }
    Ok(forms)
}

fn find(
    opcode: Opcode,
    words: &[&str],
    operands: usize,
    shapes: Option<&[Shape]>,
) -> Result<Form, FormError> {
    let joined = join(words);
    let tokens: SmallVec<[Token<'_>; 8]> = joined.iter().map(|pair| pair.1).collect();
    let mut nearest: Option<(usize, Trial)> = None;
    let mut counts: Option<(usize, usize)> = None;
    let mut best: Option<(usize, Form)> = None;
    for row in rows(opcode) {
        let trial = try_row(row, &tokens);
        let cost = trial.cost(&tokens);
        if cost == 0 {
            let (least, most) = trial.form.operand_counts();
            if (least..=most).contains(&operands) {
                let misfits = shapes.map_or(0, |shapes| trial.form.misfits(shapes));
                if misfits == 0 {
                    return Ok(trial.form);
                }
                if best.as_ref().is_none_or(|(fewest, _)| misfits < *fewest) {
                    best = Some((misfits, trial.form));
                }
                continue;
            }
            counts = Some(match counts {
                Some((low, high)) => (low.min(least), high.max(most)),
                None => (least, most),
            });
        } else if nearest.as_ref().is_none_or(|(best, _)| cost < *best) {
            nearest = Some((cost, trial));
        }
    }
    if let Some((_, form)) = best {
        return Ok(form);
    }
    if let Some((least, most)) = counts {
        return Err(FormError {
            word: None,
            problem: FormProblem::OperandCount { found: operands, least, most },
        });
    }
    let Some((_, trial)) = nearest else {
        return Err(FormError {
            word: None,
            problem: FormProblem::Missing { instruction: opcode.name().to_string(), expected: Vec::new() },
        });
    };
    Err(explain(opcode, words, &joined, &trial))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::mismatch::vector_name;
    use super::*;

    fn check(text: &str, operands: usize, expected: Expect) {
        let mut parts = text.split('.');
        let opcode = Opcode::from_name(parts.next().unwrap()).unwrap();
        let words: Vec<&str> = parts.collect();
        let found = match match_form(opcode, &words, operands) {
            Ok(form) => {
                let modifiers: Vec<&str> = form.modifiers.iter().map(Word::name).collect();
                format!(
                    "{modifiers:?} {:?} {:?} v{}: {}",
                    form.types,
                    form.space,
                    form.vector,
                    form.row.spelling()
                )
            }
            Err(error) => format!("word {:?}: {}", error.word, error.problem),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn forms_are_found_in_any_order() {
        check(
            "add.ftz.rn.f32",
            3,
            expect![[r#"["ftz", "rn"] [F32] None v1: add[.{rn,rz,rm,rp}][.ftz][.sat].f32 d, a, b"#]],
        );
        check(
            "atom.acq_rel.gpu.global.cas.b32",
            4,
            expect![[
                r#"["acq_rel", "gpu", "cas"] [B32] Some(Global) v1: atom[.{relaxed,acquire,release,acq_rel}][.{cta,cluster,gpu,sys}][.{global,shared,shared::cluster}].cas.{b32,b64} d, [a], b, c"#
            ]],
        );
    }

    #[test]
    fn the_number_of_operands_picks_the_form() {
        check(
            "bar.red.popc.u32",
            4,
            expect![[r#"["red", "popc"] [U32] None v1: bar[.cta].red.popc.u32 d, a, b, c"#]],
        );
        check("add.u32", 2, expect!["word None: expected 3 operands, found 2"]);
    }

    /// The fewest words that a row takes, the first of each choice.
    fn shortest(row: &Row) -> Vec<&'static str> {
        let mut words = Vec::new();
        for slot in row.slots {
            match slot {
                Slot::Head(list) | Slot::Must(list) => words.extend(list[0].name().split('.')),
                Slot::Sequence(list) => words.extend(list.iter().map(|word| word.name())),
                Slot::Type(types) => words.push(types[0].name()),
                Slot::Space(spaces) => words.push(spaces[0].name()),
                Slot::Vector(widths) => words.push(vector_name(widths[0])),
                _ => {}
            }
        }
        words
    }

    #[test]
    fn every_row_is_found_by_its_own_words_in_any_order_but_the_head() {
        for opcode in Opcode::all() {
            for row in rows(opcode) {
                let words = shortest(row);
                let form = try_row(row, &join(&words).iter().map(|pair| pair.1).collect::<Vec<_>>());
                assert!(form.unfit.is_empty() && form.missing.is_empty(), "{}", row.spelling());
                let (least, most) = form.form.operand_counts();
                assert!(least <= most, "{}", row.spelling());
                assert!(match_form(opcode, &words, least).is_ok(), "{} {words:?}", row.spelling());
                // A word that is in no table is always refused.
                let mut strange = words.clone();
                strange.push("strange");
                assert!(match_form(opcode, &strange, least).is_err(), "{}", row.spelling());
            }
        }
    }

    #[test]
    fn messages() {
        check("add.ftz.f64", 3, expect!["word Some(0): `.ftz` does not apply to `add.f64`"]);
        check("add.rn.rz.f32", 3, expect!["word Some(1): `.rz` and `.rn` exclude each other"]);
        check("add.ftz.ftz.f32", 3, expect!["word Some(1): `.ftz` is given twice"]);
        check("mul.u32", 3, expect!["word None: `mul.u32` needs one of `.lo` or `.hi`"]);
        check(
            "and.u32",
            3,
            expect![
                "word Some(0): the type `.u32` is not possible here; expected `.pred`, `.b16`, `.b32` or `.b64`"
            ],
        );
        check(
            "setp.zz.u32",
            3,
            expect![
                "word Some(0): unknown modifier `.zz`; expected `.eq`, `.ne`, `.lt`, `.le`, `.gt`, `.ge`, `.lo`, `.ls`, `.hi` or `.hs`"
            ],
        );
        check("setp.ltu.s32", 3, expect!["word Some(0): `.ltu` does not apply to `setp.s32`"]);
        check(
            "ld.global",
            2,
            expect![
                "word None: `ld.global` needs one of `.b8`, `.b16`, `.b32`, `.b64`, `.b128`, `.u8`, `.u16`, `.u32`, `.u64`, `.s8`, `.s16`, `.s32`, `.s64`, `.f32` or `.f64`"
            ],
        );
        check(
            "cvt.f32.f64",
            2,
            expect!["word None: `cvt.f32.f64` needs one of `.rn`, `.rz`, `.rm` or `.rp`"],
        );
    }
}
