//! Operands: what stands at a position, and whether it fits the position's kind and type.
//!
//! It is here as the one place that turns an expression of the syntax tree into an operand of the body.

pub(crate) mod address;
mod selector;
mod single;
mod unchecked;
mod vector;
mod want;

use oriole_diagnostics::{Code, Span};
use oriole_ptx::table::{Form, Kind, Opaque, OperandRow, OperandType};
use oriole_ptx::{Opcode, Space, SpecialRegister, Type};
use oriole_syntax::ast::{self, AstNode, PrefixOperator};

use crate::compatible::Width;
use crate::function::Resolver;
use crate::names::Meaning;
use crate::{Address, AddressBase, Immediate, Operand, RegisterId, Table, VariableId};

use selector::{is_selector, lane_mask, lane_selector, scalar_selector};
pub(crate) use want::Want;
use want::{narrow, want};

/// A name in an operand.
pub(crate) enum Named<'t> {
    Register(RegisterId, Type),
    /// Components of a vector register.
    Registers(Vec<(RegisterId, Type)>),
    Special(SpecialRegister),
    /// A special register of three components.
    SpecialVector,
    Variable(VariableId),
    Other(Meaning),
    Function(&'t str),
    WarpSize,
}

impl<'a> Resolver<'a> {
    /// What a name means in an operand. Reports and gives `None` if it means nothing.
    pub fn named(&mut self, text: &'a str, span: Span) -> Option<Named<'a>> {
        match self.names.look_up(text) {
            Some(Meaning::Register(index)) => {
                let (id, ty) = self.register(index, text);
                Some(Named::Register(id, ty))
            }
            Some(Meaning::Vector(first, count)) => Some(Named::Registers(
                (0..u32::from(count)).map(|component| self.component(first, component, text)).collect(),
            )),
            Some(Meaning::Variable(id)) => Some(Named::Variable(id)),
            Some(other) => Some(Named::Other(other)),
            None if text.starts_with('%') => {
                if let Some(special) = SpecialRegister::from_name(text) {
                    return Some(Named::Special(special));
                }
                if SpecialRegister::from_name(&format!("{text}.x")).is_some() {
                    return Some(Named::SpecialVector);
                }
                // Module names may begin with a percent sign too.
                self.outside(text, span)
            }
            None if text == "WARP_SZ" => Some(Named::WarpSize),
            None => self.outside(text, span),
        }
    }

    fn outside(&mut self, text: &'a str, span: Span) -> Option<Named<'a>> {
        if let Some(id) = self.global(text, span) {
            return Some(Named::Variable(id));
        }
        if self.functions.get(text).is_some_and(Option::is_some)
            || self.surroundings.signature(text).is_some()
        {
            return Some(Named::Function(text));
        }
        let what = if text.starts_with('%') { "register" } else { "register or variable" };
        self.report(Code::UnknownName, span, format!("no {what} is called `{text}`"));
        None
    }

    fn component(&mut self, first: u32, component: u32, name: &str) -> (RegisterId, Type) {
        let suffix = ["x", "y", "z", "w"].get(component as usize).copied().unwrap_or("?");
        self.register(first + component, &format!("{name}.{suffix}"))
    }

    /// `v.x`, `%tid.x`
    fn member(&mut self, member: &ast::Member<'a>) -> Option<Named<'a>> {
        let span = member.span();
        let base = match member.base()? {
            ast::Operand::Name(name) => name.token()?,
            _ => {
                self.report(Code::InvalidOperand, span, "a component can be taken of a name only");
                return None;
            }
        };
        let component = member.component()?;
        let name = format!("{}{}", base.text(), component.text());
        if let Some(special) = SpecialRegister::from_name(&name)
            && self.names.look_up(base.text()).is_none()
        {
            return Some(Named::Special(special));
        }
        match self.names.look_up(base.text()) {
            Some(Meaning::Vector(first, count)) => {
                let index = match component.text() {
                    ".x" | ".r" => 0,
                    ".y" | ".g" => 1,
                    ".z" | ".b" => 2,
                    ".w" | ".a" => 3,
                    _ => u8::MAX,
                };
                if index >= count {
                    self.report(
                        Code::InvalidOperand,
                        component.span(),
                        format!("`{}` has no component `{}`", base.text(), component.text()),
                    );
                    return None;
                }
                let (id, ty) = self.component(first, u32::from(index), base.text());
                Some(Named::Register(id, ty))
            }
            Some(Meaning::Register(_)) if is_selector(component.text()) => {
                self.report(Code::InvalidOperand, span, "only video instructions select bytes and halves");
                None
            }
            Some(_) => {
                self.report(
                    Code::InvalidOperand,
                    component.span(),
                    format!("`{}` has no component `{}`", base.text(), component.text()),
                );
                None
            }
            None => {
                let known = SpecialRegister::from_name(&format!("{}.x", base.text())).is_some();
                if known {
                    self.report(
                        Code::UnknownName,
                        component.span(),
                        format!("`{}` has the components `.x`, `.y` and `.z`", base.text()),
                    );
                } else {
                    self.report(
                        Code::UnknownName,
                        base.span(),
                        format!("no register is called `{}`", base.text()),
                    );
                }
                None
            }
        }
    }

    /// The name that an operand consists of, or nothing if it is something else; reported names give `Err`.
    fn as_name(&mut self, node: &ast::Operand<'a>) -> Option<Result<Named<'a>, ()>> {
        match node {
            ast::Operand::Name(name) => {
                let token = name.token()?;
                Some(self.named(token.text(), token.span()).ok_or(()))
            }
            ast::Operand::Member(member) => Some(self.member(member).ok_or(())),
            _ => None,
        }
    }

    fn mismatch(&mut self, span: Span, register: Type, want: Want) {
        self.report(
            Code::TypeMismatch,
            span,
            format!("{} is needed here, this one is `{register}`", want.describe()),
        );
    }

    /// Resolves the operand at a position and insists on what its row says.
    fn checked(&mut self, node: &ast::Operand<'a>, row: &OperandRow, form: &Form) -> Option<Operand> {
        let want = want(row.ty, form);
        let span = node.span();
        match row.kind {
            Kind::Destination => self.destination(node, want, false),
            Kind::DestinationOrSink => self.destination(node, want, true),
            Kind::VectorDestination | Kind::VectorSource => {
                self.vector(node, want, form.vector, row.kind == Kind::VectorDestination)
            }
            Kind::PairDestinationOrSink if matches!(node, ast::Operand::Sink(_)) => Some(Operand::Sink),
            Kind::PairDestination | Kind::PairDestinationOrSink | Kind::BothDestinations => match node {
                ast::Operand::Pair(pair) => {
                    // Of `setp` and `match` either may be dropped, of other instructions the second.
                    let either = matches!(form.row.opcode, Opcode::Setp | Opcode::Match);
                    let first = self.destination(&pair.first()?, want, either);
                    let second =
                        self.destination(&pair.second()?, Want::Typed(Type::Pred, Width::Same), true);
                    let (first, second) = (first?, second?);
                    if first == Operand::Sink && second == Operand::Sink {
                        self.report(Code::InvalidOperand, span, "one of the two results must be kept");
                        return None;
                    }
                    Some(Operand::Pair(Box::new(first), Box::new(second)))
                }
                _ if row.kind == Kind::BothDestinations => {
                    self.report(Code::InvalidOperand, span, "two destinations are needed here, as in `d|p`");
                    None
                }
                _ => self.destination(node, want, false),
            },
            Kind::Source => {
                // Conversions between integers read special registers.
                let specials =
                    form.row.opcode == Opcode::Cvt && !form.types.first().is_some_and(|ty| ty.is_float());
                self.source(node, want, specials)
            }
            Kind::RegisterSource => {
                let operand = self.source(node, want, false)?;
                if matches!(operand, Operand::Register(_)) {
                    return Some(operand);
                }
                self.report(Code::InvalidOperand, span, "a register is needed here");
                None
            }
            Kind::Constant(least, most) => self.constant(
                node,
                want,
                |value| (least..=most).contains(&value),
                || format!("a constant from {least} to {most} is needed here"),
            ),
            Kind::ConstantOf(list) => self.constant(
                node,
                want,
                |value| list.contains(&value),
                || {
                    let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                    format!("one of these constants is needed here: {}", list.join(", "))
                },
            ),
            Kind::SourceInRange(least, most) => {
                let operand = self.source(node, want, false)?;
                if let Operand::Immediate(Immediate::Integer(value)) = operand
                    && !(least..=most).contains(&narrow(value, want))
                {
                    self.report(
                        Code::InvalidOperand,
                        span,
                        format!("{value} is out of range; it must be from {least} to {most}"),
                    );
                    return None;
                }
                Some(operand)
            }
            Kind::SourceOf(list) => {
                let operand = self.source(node, want, false)?;
                if let Operand::Immediate(Immediate::Integer(value)) = operand
                    && !list.contains(&narrow(value, want))
                {
                    let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                    self.report(
                        Code::InvalidOperand,
                        span,
                        format!("{value} cannot stand here; possible are {}", list.join(", ")),
                    );
                    return None;
                }
                Some(operand)
            }
            Kind::SourceMultipleOf(step) => {
                let operand = self.source(node, want, false)?;
                if let Operand::Immediate(Immediate::Integer(value)) = operand
                    && (narrow(value, want) % step != 0
                        || (narrow(value, want) == 0 && form.modifiers.has("arrive")))
                {
                    self.report(
                        Code::InvalidOperand,
                        span,
                        format!("{value} is no multiple of {step} that can stand here"),
                    );
                    return None;
                }
                Some(operand)
            }
            Kind::Predicate => self.source(node, Want::Typed(Type::Pred, Width::Same), false),
            Kind::PredicateRegister => {
                let operand = self.source(node, Want::Typed(Type::Pred, Width::Same), false)?;
                if matches!(operand, Operand::Register(_)) {
                    return Some(operand);
                }
                self.report(Code::InvalidOperand, span, "a predicate register is needed here");
                None
            }
            Kind::SourceOrPredicate => {
                let predicate = match node {
                    ast::Operand::Prefix(prefix) => prefix.operator() == Some(PrefixOperator::Not),
                    _ => matches!(self.as_name(node), Some(Ok(Named::Register(_, Type::Pred)))),
                };
                let want = if predicate { Want::Typed(Type::Pred, Width::Same) } else { want };
                self.source(node, want, false)
            }
            Kind::Sink => {
                if matches!(node, ast::Operand::Sink(_)) {
                    return Some(Operand::Sink);
                }
                self.report(Code::InvalidOperand, span, "`_` is needed here: there is no result");
                None
            }
            Kind::VectorDestinationOrSink => match node {
                ast::Operand::Sink(_) => Some(Operand::Sink),
                _ => self.vector(node, want, form.vector, true),
            },
            Kind::Texels => match node {
                ast::Operand::Pair(pair) => {
                    let first = self.exact_vector(&pair.first()?, want, form.vector, true);
                    let second =
                        self.destination(&pair.second()?, Want::Typed(Type::Pred, Width::Same), false);
                    Some(Operand::Pair(Box::new(first?), Box::new(second?)))
                }
                _ => self.exact_vector(node, want, form.vector, true),
            },
            Kind::Parts(rows) => {
                let sampler = rows.iter().any(|row| row.kind == Kind::Opaque(Opaque::Sampler));
                let texture =
                    rows.iter().any(|row| row.kind == Kind::Opaque(Opaque::Texture)) && rows.len() > 1;
                if texture && sampler != self.independent_samplers() {
                    let message = if sampler {
                        "a sampler can stand here with `texmode_independent` only"
                    } else {
                        "a sampler is needed here with `texmode_independent`"
                    };
                    self.report(Code::InvalidOperand, span, message);
                    return None;
                }
                let ast::Operand::Address(address) = node else {
                    self.report(Code::InvalidOperand, span, "operands in brackets are needed here");
                    return None;
                };
                let parts: Vec<_> = address.parts().collect();
                if parts.len() != rows.len() {
                    self.report(
                        Code::InvalidOperand,
                        span,
                        format!("{} operands in the brackets are needed here", rows.len()),
                    );
                    return None;
                }
                let parts: Vec<Option<Operand>> =
                    parts.iter().zip(rows).map(|(part, row)| self.operand(part, row, form)).collect();
                parts.into_iter().collect::<Option<Vec<_>>>().map(Operand::List)
            }
            Kind::Opaque(opaque) => self.opaque(node, opaque),
            Kind::Elected => match node {
                ast::Operand::Pair(pair) => {
                    let first = self.destination(&pair.first()?, want, true);
                    let second =
                        self.destination(&pair.second()?, Want::Typed(Type::Pred, Width::Same), false);
                    Some(Operand::Pair(Box::new(first?), Box::new(second?)))
                }
                _ => {
                    self.report(Code::InvalidOperand, span, "two destinations are needed here, as in `d|p`");
                    None
                }
            },
            Kind::Coordinates(counts) | Kind::LayerCoordinates(counts) | Kind::Offsets(counts) => {
                let count = counts.iter().find(|row| form.modifiers.has(row.0)).map_or(1, |row| row.1);
                let layer = matches!(row.kind, Kind::LayerCoordinates(_));
                // One offset may stand for those of all directions.
                let alone = matches!(row.kind, Kind::Offsets(_)) || (count == 1 && !layer);
                self.coordinates(node, want, count, (layer, alone))
            }
            Kind::Selected => self.selected(node, want, scalar_selector, false, false),
            Kind::SelectedSigned => self.selected(node, want, scalar_selector, false, true),
            Kind::SelectedDestination => self.selected(node, want, scalar_selector, true, false),
            Kind::Lanes(count) => {
                let operand = self.selected(node, want, |text| lane_selector(text, count), false, false)?;
                if matches!(operand, Operand::Immediate(_)) {
                    self.report(Code::InvalidOperand, span, "a register is needed here");
                    return None;
                }
                Some(operand)
            }
            Kind::LanesDestination(count) => {
                self.selected(node, want, |text| lane_mask(text, count), true, false)
            }
            Kind::Address => {
                let operand = self.address(node)?;
                let space = match row.ty {
                    OperandType::AddressIn(0) => form.space,
                    OperandType::AddressIn(_) => form.second_space,
                    OperandType::AddressInShared => Some(Space::Shared),
                    _ => None,
                };
                match space {
                    Some(space) if !self.address_in(&operand, space, span) => None,
                    _ => Some(operand),
                }
            }
            Kind::TensorAddress => {
                let operand = self.address(node)?;
                if let Operand::Address(address) = &operand
                    && let AddressBase::Register(id) = address.base
                    && self.body.registers[id.0 as usize].ty.bits() != 32
                {
                    self.report(Code::InvalidAddress, span, "addresses of tensor memory have 32 bits");
                    return None;
                }
                if let Operand::Address(Address { base: AddressBase::Variable(_), .. }) = &operand {
                    self.report(Code::InvalidAddress, span, "no variable lies in tensor memory");
                    return None;
                }
                Some(operand)
            }
            Kind::Destinations(count) => self.exact_vector(node, want, count, true),
            Kind::Sources(count) => self.exact_vector(node, want, count, false),
            Kind::DestinationsBy(counts) | Kind::SourcesBy(counts) => {
                let count = counts.iter().find(|row| form.modifiers.has(row.0)).map_or(1, |row| row.1);
                self.exact_vector(node, want, count, matches!(row.kind, Kind::DestinationsBy(_)))
            }
            Kind::MoveDestination => match node {
                ast::Operand::Vector(_) => self.packed(node, want, true),
                _ => self.destination(node, want, false),
            },
            Kind::MoveSource => self.move_source(node, want),
            Kind::AddressSource => match self.variable_address(node) {
                Some(address) => address,
                None => self.source(node, want, false),
            },
            Kind::Label => match node {
                ast::Operand::Name(name) => self.label(name).map(Operand::Label),
                _ => {
                    self.report(Code::InvalidOperand, span, "a label is needed here");
                    None
                }
            },
            Kind::BranchTargets => self.branch_targets(node),
            Kind::Call => None,
            Kind::Anything => self.anything(node),
        }
    }

    /// A variable of an opaque type, or a register with its handle.
    fn opaque(&mut self, node: &ast::Operand<'a>, opaque: Opaque) -> Option<Operand> {
        let span = node.span();
        let wanted = match opaque {
            Opaque::Texture => [Type::Texref; 2],
            Opaque::Sampler => [Type::Samplerref; 2],
            Opaque::Surface => [Type::Surfref; 2],
            // In the unified mode a texture holds its sampler.
            Opaque::TextureOrSampler if self.independent_samplers() => [Type::Samplerref; 2],
            Opaque::TextureOrSampler => [Type::Texref; 2],
        };
        match self.as_name(node) {
            Some(Ok(Named::Variable(id))) if wanted.contains(&self.body.variables[id.0 as usize].ty) => {
                Some(Operand::VariableAddress(id, 0))
            }
            Some(Ok(Named::Register(id, ty))) if ty.bits() == 64 && !ty.is_float() => {
                Some(Operand::Register(id))
            }
            Some(Err(())) => None,
            _ => {
                self.report(
                    Code::InvalidOperand,
                    span,
                    format!("a `{}` variable or its handle of 64 bits is needed here", wanted[0]),
                );
                None
            }
        }
    }

    /// Whether samplers stand apart from textures in this module.
    pub fn independent_samplers(&self) -> bool {
        self.header.has_independent_textures()
    }

    fn branch_targets(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Name(name) = node
            && let Some(token) = name.token()
        {
            match self.names.look_up(token.text()) {
                Some(Meaning::Table(id, declared)) => {
                    if matches!(self.body.tables[id.0 as usize], Table::Labels(_)) && declared {
                        return Some(Operand::Table(id));
                    }
                    let message = if declared {
                        format!("`{}` lists functions, not labels", token.text())
                    } else {
                        format!("`{}` is declared below its use", token.text())
                    };
                    self.report(Code::WrongKindOfName, span, message);
                }
                _ => self.report(
                    Code::UnknownName,
                    span,
                    format!("no `.branchtargets` list is called `{}`", token.text()),
                ),
            }
            return None;
        }
        self.report(Code::InvalidOperand, span, "the name of a `.branchtargets` list is needed here");
        None
    }

    /// An operand of a family that the table knows only by name.
    fn anything(&mut self, node: &ast::Operand<'a>) -> Option<Operand> {
        match node {
            ast::Operand::Address(address) => {
                let parts: Vec<_> = address.parts().collect();
                match &parts[..] {
                    [_] => self.address(node),
                    _ => {
                        let parts: Vec<Option<Operand>> =
                            parts.iter().map(|part| self.anything(part)).collect();
                        parts.into_iter().collect::<Option<Vec<_>>>().map(Operand::List)
                    }
                }
            }
            ast::Operand::Vector(vector) => {
                let elements: Vec<_> = vector.elements().collect();
                let elements: Vec<Option<Operand>> =
                    elements.iter().map(|element| self.anything(element)).collect();
                elements.into_iter().collect::<Option<Vec<_>>>().map(Operand::Vector)
            }
            ast::Operand::Pair(pair) => {
                let first = self.anything(&pair.first()?);
                let second = self.anything(&pair.second()?);
                Some(Operand::Pair(Box::new(first?), Box::new(second?)))
            }
            ast::Operand::Sink(_) => Some(Operand::Sink),
            ast::Operand::Name(_) | ast::Operand::Member(_) => match self.as_name(node)? {
                Ok(Named::Register(id, _)) => Some(Operand::Register(id)),
                Ok(Named::Registers(list)) => {
                    Some(Operand::Vector(list.into_iter().map(|(id, _)| Operand::Register(id)).collect()))
                }
                Ok(Named::Special(special)) => Some(Operand::Special(special)),
                Ok(Named::Variable(id)) => Some(Operand::VariableAddress(id, 0)),
                Ok(Named::Other(Meaning::Label(id))) => Some(Operand::Label(id)),
                Ok(Named::WarpSize) => Some(Operand::Immediate(Immediate::Integer(32))),
                Ok(_) => {
                    self.report(Code::InvalidOperand, node.span(), "this name cannot stand here");
                    None
                }
                Err(()) => None,
            },
            ast::Operand::Prefix(prefix)
                if prefix.operator() == Some(PrefixOperator::Not)
                    && matches!(prefix.operand(), Some(ast::Operand::Name(_))) =>
            {
                self.source(node, Want::Typed(Type::Pred, Width::Same), false)
            }
            _ => match self.variable_address(node) {
                Some(address) => address,
                None => self.source(node, Want::Any, true),
            },
        }
    }
}
