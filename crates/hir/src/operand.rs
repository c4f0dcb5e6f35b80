//! Operands: the operand at a position, and whether it fits the position's kind and type.
//!
//! This is the one place that turns an expression of the syntax tree into an operand of the body: each kind of position
//! has a method in the file of its family.

pub(crate) mod address;
mod anything;
mod constant;
mod destination;
mod name;
mod selector;
mod selector_words;
mod single;
mod target;
mod texture;
mod unchecked;
mod vector;
mod want;

use oriole_diagnostics::{Code, Span};
use oriole_ptx::table::{Form, Kind, OperandRow, OperandType};
use oriole_ptx::{Opcode, Space, Type};
use oriole_syntax::ast::{self, AstNode, PrefixOperator};

use crate::compatible::Width;
use crate::resolver::Resolver;
use crate::{Address, AddressBase, Operand};

pub(crate) use name::Named;
use selector_words::{lane_mask, lane_selector, scalar_selector};
use vector::{Elements, Extent};
pub(crate) use want::Want;
use want::want;

/// Number of elements or coordinates that a modifier stands for.
fn counted(counts: &[(oriole_ptx::Word, u8)], form: &Form) -> u8 {
    counts.iter().find(|row| form.modifiers.has(row.0)).map_or(1, |row| row.1)
}

impl<'a> Resolver<'a> {
    fn mismatch(&mut self, span: Span, register: Type, want: Want) {
        self.report(
            Code::TypeMismatch,
            span,
            format!("{} is needed here, this one is `{register}`", want.describe()),
        );
    }

    /// Resolves the operand at a position; it must fit its row.
    fn checked(&mut self, node: &ast::Operand<'a>, row: &OperandRow, form: &Form) -> Option<Operand> {
        let want = want(row.ty, form);
        let predicate = Want::Typed(Type::Pred, Width::Same);
        match row.kind {
            Kind::Destination => self.destination(node, want, false),
            Kind::DestinationOrSink => self.destination(node, want, true),
            Kind::VectorDestination => self.vector(node, want, form.vector, Elements::Written),
            Kind::VectorSource => self.vector(node, want, form.vector, stored_elements(form)),
            Kind::PairDestination | Kind::PairDestinationOrSink | Kind::BothDestinations => {
                self.pair_destination(node, row.kind, want, form)
            }
            Kind::Source => {
                // Conversions between integers read special registers.
                let specials =
                    form.row.opcode == Opcode::Cvt && !form.types.first().is_some_and(|ty| ty.is_float());
                self.source_or_address(node, want, specials)
            }
            Kind::RegisterSource => self.register_source(node, want, "a register is needed here"),
            Kind::Constant(least, most) => self.constant_in_range(node, want, least..=most),
            Kind::ConstantOf(list) => self.constant_of(node, want, list),
            Kind::SourceInRange(least, most) => self.source_in_range(node, want, least..=most),
            Kind::SourceOf(list) => self.source_of(node, want, list),
            Kind::SourceMultipleOf(step) => self.source_multiple_of(node, want, step, form),
            Kind::Predicate => self.source(node, predicate, false),
            Kind::PredicateRegister => {
                self.register_source(node, predicate, "a predicate register is needed here")
            }
            Kind::SourceOrPredicate => self.source_or_predicate(node, want),
            Kind::Sink => self.sink(node),
            Kind::VectorDestinationOrSink => match node {
                ast::Operand::Sink(_) => Some(Operand::Sink),
                _ => self.vector(node, want, form.vector, Elements::Written),
            },
            Kind::Texels => self.texels(node, want, form.vector),
            Kind::Parts(rows) => self.parts(node, rows, form),
            Kind::Opaque(opaque) => self.opaque(node, opaque),
            Kind::Elected => self.elected(node, want),
            Kind::Coordinates(counts) => {
                let count = counted(counts, form);
                self.coordinates(node, want, count, Extent { layer: false, alone: count == 1 })
            }
            Kind::LayerCoordinates(counts) => {
                self.coordinates(node, want, counted(counts, form), Extent { layer: true, alone: false })
            }
            // One offset may apply to all directions.
            Kind::Offsets(counts) => {
                let extent = Extent { layer: false, alone: true };
                self.coordinates(node, want, counted(counts, form), extent)
            }
            Kind::Selected => self.selected(node, want, scalar_selector, false, false),
            Kind::SelectedSigned => self.selected(node, want, scalar_selector, false, true),
            Kind::SelectedDestination => self.selected(node, want, scalar_selector, true, false),
            Kind::Lanes(count) => self.lanes(node, want, count),
            Kind::LanesDestination(count) => {
                self.selected(node, want, |text| lane_mask(text, count), true, false)
            }
            Kind::Address => self.address_of_row(node, row, form),
            Kind::TensorAddress => self.tensor_address(node),
            Kind::Destinations(count) => self.exact_vector(node, want, count, Elements::Written),
            Kind::Sources(count) => self.exact_vector(node, want, count, Elements::Read),
            Kind::DestinationsBy(counts) => {
                self.exact_vector(node, want, counted(counts, form), Elements::Written)
            }
            Kind::SourcesBy(counts) => self.exact_vector(node, want, counted(counts, form), Elements::Read),
            Kind::MoveDestination => match node {
                ast::Operand::Vector(_) => self.packed(node, want, Elements::Written),
                _ if self.names_vector(node) => self.packed(node, want, Elements::Written),
                _ => self.destination(node, want, false),
            },
            Kind::MoveSource => self.move_source(node, want),
            Kind::AddressSource => match self.variable_address(node) {
                Some(address) => address,
                None => self.source(node, want, false),
            },
            Kind::Label => self.branch_target(node),
            Kind::BranchTargets => self.branch_targets(node),
            Kind::Call => None,
            Kind::Anything => self.anything(node),
        }
    }

    /// A register that is read.
    fn register_source(
        &mut self,
        node: &ast::Operand<'a>,
        want: Want,
        message: &'static str,
    ) -> Option<Operand> {
        let operand = self.source(node, want, false)?;
        if matches!(operand, Operand::Register(_)) {
            return Some(operand);
        }
        self.report(Code::InvalidOperand, node.span(), message);
        None
    }

    fn source_or_predicate(&mut self, node: &ast::Operand<'a>, want: Want) -> Option<Operand> {
        let predicate = match node {
            ast::Operand::Prefix(prefix) => prefix.operator() == Some(PrefixOperator::Not),
            _ => matches!(self.as_name(node), Some(Ok(Named::Register(_, Type::Pred)))),
        };
        let want = if predicate { Want::Typed(Type::Pred, Width::Same) } else { want };
        self.source(node, want, false)
    }

    fn lanes(&mut self, node: &ast::Operand<'a>, want: Want, count: u8) -> Option<Operand> {
        let operand = self.selected(node, want, |text| lane_selector(text, count), false, false)?;
        if matches!(operand, Operand::Immediate(_)) {
            self.report(Code::InvalidOperand, node.span(), "a register is needed here");
            return None;
        }
        Some(operand)
    }

    /// An address in brackets, in the state space that its row says.
    fn address_of_row(&mut self, node: &ast::Operand<'a>, row: &OperandRow, form: &Form) -> Option<Operand> {
        let operand = self.address(node)?;
        let space = match row.ty {
            OperandType::AddressIn(0) => form.space,
            OperandType::AddressIn(_) => form.second_space,
            OperandType::AddressInShared => Some(Space::Shared),
            _ => None,
        };
        match space {
            Some(space) if !self.address_in(&operand, space, node.span()) => None,
            _ => Some(operand),
        }
    }

    fn tensor_address(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        let operand = self.address(node)?;
        let message = match &operand {
            Operand::Address(Address { base: AddressBase::Register(id), .. })
                if self.body.registers[*id].ty.bits() != 32 =>
            {
                "addresses of tensor memory have 32 bits"
            }
            Operand::Address(Address { base: AddressBase::Variable(_), .. }) => {
                "no variable can be in tensor memory"
            }
            _ => return Some(operand),
        };
        self.report(Code::InvalidAddress, node.span(), message);
        None
    }
}

/// The reading of a source vector: a store of 256 bits may leave elements out.
fn stored_elements(form: &Form) -> Elements {
    let bits = form.types.first().map_or(0, |ty| ty.bits()) * u32::from(form.vector);
    if form.row.opcode == Opcode::St && bits == 256 { Elements::ReadOrLeftOut } else { Elements::Read }
}
