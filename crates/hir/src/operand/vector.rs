//! Operands in braces: vectors of loads and stores, coordinates, and words that a `mov` packs and unpacks.

use super::{Named, Want};
use crate::compatible::Width;
use crate::names::Meaning;
use crate::resolver::Resolver;
use crate::{Immediate, Operand};
use oriole_diagnostics::{Code, Span};
use oriole_ptx::{SpecialRegister, Type};
use oriole_syntax::ast::{self, AstNode};

/// The use of a vector's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elements {
    /// All are read.
    Read,
    /// They are read; `_` marks one that the instruction leaves unchanged in memory.
    ReadOrLeftOut,
    /// They are written.
    Written,
}

/// Forms of coordinates in addition to `{a, b}`.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// The first one is a layer.
    pub layer: bool,
    /// A single one may be without braces.
    pub alone: bool,
}

impl<'a> Resolver<'a> {
    /// An operand that is a vector with `.v2` and wider. A vector of one is its element.
    pub(super) fn vector(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        width: u8,
        access: Elements,
    ) -> Option<Operand> {
        let span = node.span();
        if width == 1 {
            if let ast::Operand::Vector(vector) = node {
                let elements: Vec<_> = vector.elements().collect();
                if let [single] = &elements[..] {
                    return self.element(single, want, access, false);
                }
                self.report(
                    Code::InvalidVector,
                    span,
                    format!("a vector of {} needs `.v{}`", elements.len(), elements.len()),
                );
                return None;
            }
            return match access {
                Elements::Read => self.source_or_address(node, want, false),
                _ => self.element(node, want, access, false),
            };
        }
        // Moves read special registers of several components.
        if let (Want::Typed(_, Width::Same), ast::Operand::Name(name), 4, false) =
            (want, node, width, access == Elements::Written)
            && let Some(token) = name.token()
            && token.text().starts_with('%')
            && self.look_up(token.text()).is_none()
            && SpecialRegister::from_name(&format!("{}.w", token.text())).is_some()
        {
            return self.special_vector(token.text(), want, span);
        }
        let want = match want {
            Want::Typed(ty, Width::AtLeast) => Want::Typed(ty, Width::AtLeastInVector),
            other => other,
        };
        self.exact_vector(node, want, width, access)
    }

    /// One element. Where it is written, `sink` says whether it may be `_`.
    pub(super) fn element(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        access: Elements,
        sink: bool,
    ) -> Option<Operand> {
        match access {
            Elements::Written => self.destination(node, want, sink),
            Elements::ReadOrLeftOut if matches!(node, ast::Operand::Sink(_)) => Some(Operand::Sink),
            Elements::Read | Elements::ReadOrLeftOut => self.source(node, want, false),
        }
    }

    pub(super) fn exact_vector(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        width: u8,
        access: Elements,
    ) -> Option<Operand> {
        let span = node.span();
        match node {
            ast::Operand::Vector(vector) => {
                let elements: Vec<_> = vector.elements().collect();
                if elements.len() != usize::from(width) {
                    self.report(
                        Code::InvalidVector,
                        span,
                        format!("a vector of {width} is needed here, this one has {}", elements.len()),
                    );
                    return None;
                }
                let resolved: Vec<Option<Operand>> =
                    elements.iter().map(|element| self.element(element, want, access, true)).collect();
                let resolved: Vec<Operand> = resolved.into_iter().collect::<Option<_>>()?;
                if resolved.iter().all(|operand| *operand == Operand::Sink) {
                    self.report(Code::InvalidVector, span, "at least one element must be a register");
                    return None;
                }
                if !self.constants_fit(&resolved, span) {
                    return None;
                }
                Some(Operand::Vector(resolved))
            }
            _ => match self.as_name(node) {
                Some(Ok(Named::Registers(registers))) if registers.len() == usize::from(width) => {
                    let mut operands = Vec::new();
                    for (id, ty) in registers {
                        if !want.accepts(ty) {
                            self.mismatch(span, ty, want);
                            return None;
                        }
                        operands.push(Operand::Register(id));
                    }
                    Some(Operand::Vector(operands))
                }
                Some(Err(())) => None,
                _ => {
                    self.report(Code::InvalidVector, span, format!("a vector of {width} is needed here"));
                    None
                }
            },
        }
    }

    /// Whether an operand is the name of a vector register.
    pub(super) fn names_vector(&mut self, node: &ast::Operand<'a>) -> bool {
        let ast::Operand::Name(name) = node else { return false };
        let meaning = name.token().and_then(|token| self.look_up(token.text()));
        matches!(meaning, Some(Meaning::Vector(..)))
    }

    /// Whether the constants of a vector are of the kind of its registers: integers are not mixed with floating-point
    /// registers, nor the reverse. Reports an error if not.
    fn constants_fit(&mut self, elements: &[Operand], span: Span) -> bool {
        let registers = elements.iter().filter_map(|element| match element {
            Operand::Register(id) => Some(self.body.registers[*id].ty),
            _ => None,
        });
        let (mut integers, mut floats) = (false, false);
        for ty in registers {
            integers |= ty.is_integer();
            floats |= ty.is_float();
        }
        let mixed = elements.iter().any(|element| match element {
            Operand::Immediate(Immediate::Integer(_)) => floats,
            Operand::Immediate(_) => integers,
            _ => false,
        });
        if mixed {
            self.report(
                Code::InvalidVector,
                span,
                "integers and floating-point numbers do not mix in a vector",
            );
        }
        !mixed
    }

    /// Coordinates: integers and floating-point registers do not mix. More coordinates than the geometry has are
    /// possible and ignored. The first may be a layer, and a single one may be `alone`, without braces.
    pub(super) fn coordinates(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        count: u8,
        Extent { layer, alone }: Extent,
    ) -> Option<Operand> {
        let span = node.span();
        let elements: Vec<ast::Operand> = match node {
            ast::Operand::Vector(vector) => vector.elements().collect(),
            _ if alone && !self.names_vector(node) => return self.source(node, want, false),
            _ => return self.exact_vector(node, want, count, Elements::Read),
        };
        if !matches!(elements.len(), 1 | 2 | 4) || elements.len() < usize::from(count) {
            self.report(Code::InvalidVector, span, format!("{count} coordinates are needed here"));
            return None;
        }
        // Integer registers hold coordinates of either kind.
        let loose = if matches!(want, Want::Typed(Type::F32, _)) { Want::LooseFloat } else { want };
        let (mut integers, mut floats) = (false, false);
        let mut resolved = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let index_of_layer = layer && index == 0;
            let operand = self.source(element, if index_of_layer { Want::Word } else { loose }, false)?;
            if let (Operand::Register(id), false) = (&operand, index_of_layer) {
                let ty = self.body.registers[*id].ty;
                integers |= ty.is_integer();
                floats |= ty.is_float();
            }
            resolved.push(operand);
        }
        if integers && floats {
            self.report(Code::InvalidVector, span, "integers and floating-point coordinates do not mix");
            return None;
        }
        Some(Operand::Vector(resolved))
    }

    /// `{a, b}`, or the name of a vector register, as source or destination of a `mov` that packs or unpacks.
    pub(super) fn packed(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        access: Elements,
    ) -> Option<Operand> {
        let span = node.span();
        let Want::Typed(ty, _) = want else { return None };
        if let ast::Operand::Vector(vector) = node {
            let elements: Vec<_> = vector.elements().collect();
            let want = self.packed_part(ty, elements.len(), span)?;
            let resolved: Vec<Option<Operand>> =
                elements.iter().map(|element| self.element(element, want, access, true)).collect();
            let resolved = resolved.into_iter().collect::<Option<Vec<_>>>()?;
            return self.constants_fit(&resolved, span).then_some(Operand::Vector(resolved));
        }
        let Some(Ok(Named::Registers(registers))) = self.as_name(node) else { return None };
        let want = self.packed_part(ty, registers.len(), span)?;
        let mut components = Vec::with_capacity(registers.len());
        for (id, ty) in registers {
            components.push(self.fitting(id, ty, want, span)?);
        }
        Some(Operand::Vector(components))
    }

    /// The requirement for each of `count` parts that make up a value of a type.
    fn packed_part(&mut self, ty: Type, count: usize, span: Span) -> Option<Want> {
        let parts = count as u32;
        if !matches!(count, 2 | 4) || !ty.is_bits() || !ty.bits().is_multiple_of(parts) {
            let message = if ty.is_bits() {
                format!("`{ty}` is packed from two or four parts, not {count}")
            } else {
                format!("only untyped values can be packed and unpacked; `{ty}` is not")
            };
            self.report(Code::InvalidVector, span, message);
            return None;
        }
        let part = match ty.bits() / parts {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => {
                self.report(Code::InvalidVector, span, format!("`{ty}` has no {count} parts"));
                return None;
            }
        };
        Some(Want::Typed(part, Width::Same))
    }
}
