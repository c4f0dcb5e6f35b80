//! Operands: what stands at a position, and whether it fits the position's kind and type.
//!
//! It is here as the one place that turns an expression of the syntax tree into an operand of the body.

use oriole_diagnostics::{Code, Span};
use oriole_ptx::table::{Form, Kind, OperandRow, OperandType};
use oriole_ptx::{Opcode, Space, SpecialRegister, Type};
use oriole_syntax::ast::{self, AstNode, BinaryOperator, PrefixOperator};
use oriole_syntax::token_span;

use crate::compatible::{Width, immediate_fits, is_address, is_word, register_fits, wanted_registers};
use crate::function::Resolver;
use crate::names::Meaning;
use crate::{Address, AddressBase, Constant, Immediate, Operand, RegisterId, Table, VariableId, evaluate};

/// The type asked of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// This type.
    Typed(Type, Width),
    /// A 32-bit integer or bits.
    Word,
    /// A register that can hold an address, or an integer.
    Address,
    /// Anything.
    Any,
}

impl Want {
    fn accepts(self, register: Type) -> bool {
        match self {
            Want::Typed(ty, width) => register_fits(register, ty, width),
            Want::Word => is_word(register),
            Want::Address => is_address(register),
            Want::Any => true,
        }
    }

    fn immediate(self, constant: Constant) -> Option<Immediate> {
        match (self, constant) {
            (Want::Typed(ty, _), _) => immediate_fits(constant, ty),
            (Want::Word | Want::Address, Constant::Integer { bits, .. }) => {
                Some(Immediate::Integer(bits as i64))
            }
            (Want::Word | Want::Address, _) => None,
            (Want::Any, Constant::Integer { bits, .. }) => Some(Immediate::Integer(bits as i64)),
            (Want::Any, Constant::F32(bits)) => Some(Immediate::F32(bits)),
            (Want::Any, Constant::F64(bits)) => Some(Immediate::F64(bits)),
        }
    }

    fn describe(self) -> String {
        match self {
            Want::Typed(ty, width) => wanted_registers(ty, width),
            Want::Word => "an integer or bits register of 32 bits".to_string(),
            Want::Address => "an integer or bits register of 32 or 64 bits".to_string(),
            Want::Any => "a register".to_string(),
        }
    }
}

fn double(ty: Type) -> Type {
    match ty {
        Type::U8 => Type::U16,
        Type::U16 => Type::U32,
        Type::U32 => Type::U64,
        Type::S8 => Type::S16,
        Type::S16 => Type::S32,
        Type::S32 => Type::S64,
        other => other,
    }
}

/// What an instruction asks of an operand, given the types it is written with.
fn want(ty: OperandType, form: &Form) -> Want {
    let at = |index: u8| form.types.get(usize::from(index)).copied();
    match ty {
        OperandType::Of(index) => at(index).map_or(Want::Any, |ty| Want::Typed(ty, Width::Same)),
        OperandType::Widening(index) => at(index).map_or(Want::Any, |ty| Want::Typed(ty, Width::AtLeast)),
        OperandType::Double(index) => at(index).map_or(Want::Any, |ty| Want::Typed(double(ty), Width::Same)),
        OperandType::Fixed(ty) => Want::Typed(ty, Width::Same),
        OperandType::Word => Want::Word,
        OperandType::AnyInteger => Want::Address,
        OperandType::None => Want::Any,
    }
}

/// A name in an operand.
pub(crate) enum Named {
    Register(RegisterId, Type),
    /// Components of a vector register.
    Registers(Vec<(RegisterId, Type)>),
    Special(SpecialRegister),
    /// A special register of three components.
    SpecialVector,
    Variable(VariableId),
    Other(Meaning),
    Function(String),
    WarpSize,
}

impl Resolver<'_> {
    /// What a name means in an operand. Reports and gives `None` if it means nothing.
    pub fn named(&mut self, text: &str, span: Span) -> Option<Named> {
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

    fn outside(&mut self, text: &str, span: Span) -> Option<Named> {
        if let Some(id) = self.global(text, span) {
            return Some(Named::Variable(id));
        }
        if self.functions.get(text).is_some_and(Option::is_some)
            || self.surroundings.signature(text).is_some()
        {
            return Some(Named::Function(text.to_string()));
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
    fn member(&mut self, member: &ast::Member) -> Option<Named> {
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
                        token_span(&component),
                        format!("`{}` has no component `{}`", base.text(), component.text()),
                    );
                    return None;
                }
                let (id, ty) = self.component(first, u32::from(index), base.text());
                Some(Named::Register(id, ty))
            }
            Some(Meaning::Register(_)) if is_selector(component.text()) => {
                self.report(Code::NotSupported, span, "selectors of bytes and halves cannot be compiled yet");
                None
            }
            Some(_) => {
                self.report(
                    Code::InvalidOperand,
                    token_span(&component),
                    format!("`{}` has no component `{}`", base.text(), component.text()),
                );
                None
            }
            None => {
                let known = SpecialRegister::from_name(&format!("{}.x", base.text())).is_some();
                if known {
                    self.report(
                        Code::UnknownName,
                        token_span(&component),
                        format!("`{}` has the components `.x`, `.y` and `.z`", base.text()),
                    );
                } else {
                    self.report(
                        Code::UnknownName,
                        token_span(&base),
                        format!("no register is called `{}`", base.text()),
                    );
                }
                None
            }
        }
    }

    /// The name that an operand consists of, or nothing if it is something else; reported names give `Err`.
    fn as_name(&mut self, node: &ast::Operand) -> Option<Result<Named, ()>> {
        match node {
            ast::Operand::Name(name) => {
                let token = name.token()?;
                Some(self.named(token.text(), token_span(&token)).ok_or(()))
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

    /// Resolves the operand at a position.
    pub fn operand(&mut self, node: &ast::Operand, row: &OperandRow, form: &Form) -> Option<Operand> {
        let want = want(row.ty, form);
        let span = node.span();
        match row.kind {
            Kind::Destination => self.destination(node, want, false),
            Kind::DestinationOrSink => self.destination(node, want, true),
            Kind::VectorDestination | Kind::VectorSource => {
                self.vector(node, want, form.vector, row.kind == Kind::VectorDestination)
            }
            Kind::PairDestination | Kind::BothDestinations => match node {
                ast::Operand::Pair(pair) => {
                    let first = self.destination(&pair.first()?, want, true);
                    let second =
                        self.destination(&pair.second()?, Want::Typed(Type::Pred, Width::Same), true);
                    Some(Operand::Pair(Box::new(first?), Box::new(second?)))
                }
                _ if row.kind == Kind::BothDestinations => {
                    self.report(Code::InvalidOperand, span, "two destinations are needed here, as in `d|p`");
                    None
                }
                _ => self.destination(node, want, false),
            },
            Kind::Source => {
                let specials = form.row.opcode == Opcode::Cvt;
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
                |value| (least..=most).contains(&value),
                || format!("a constant from {least} to {most} is needed here"),
            ),
            Kind::ConstantOf(list) => self.constant(
                node,
                |value| list.contains(&value),
                || {
                    let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                    format!("one of these constants is needed here: {}", list.join(", "))
                },
            ),
            Kind::SourceInRange(least, most) => {
                let operand = self.source(node, want, false)?;
                if let Operand::Immediate(Immediate::Integer(value)) = operand
                    && !(least..=most).contains(&value)
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
            Kind::SourceMultipleOf(step) => {
                let operand = self.source(node, want, false)?;
                if let Operand::Immediate(Immediate::Integer(value)) = operand
                    && (value <= 0 || value % step != 0)
                {
                    self.report(
                        Code::InvalidOperand,
                        span,
                        format!("{value} is no positive multiple of {step}"),
                    );
                    return None;
                }
                Some(operand)
            }
            Kind::Predicate => self.source(node, Want::Typed(Type::Pred, Width::Same), false),
            Kind::Address => self.address(node),
            Kind::Destinations(count) => self.exact_vector(node, want, count, true),
            Kind::Sources(count) => self.exact_vector(node, want, count, false),
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

    fn destination(&mut self, node: &ast::Operand, want: Want, sink: bool) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Sink(_) = node {
            if sink {
                return Some(Operand::Sink);
            }
            self.report(
                Code::InvalidOperand,
                span,
                "the result of this instruction cannot be dropped with `_`",
            );
            return None;
        }
        match self.as_name(node) {
            Some(Ok(Named::Register(id, ty))) => {
                if want.accepts(ty) {
                    return Some(Operand::Register(id));
                }
                self.mismatch(span, ty, want);
                None
            }
            Some(Err(())) => None,
            _ => {
                let what = match node {
                    ast::Operand::Vector(_) => "a single register is needed here, not a vector",
                    ast::Operand::Pair(_) => "this instruction has one destination only",
                    _ => "a register is needed as destination",
                };
                self.report(Code::InvalidOperand, span, what);
                None
            }
        }
    }

    /// A register, a constant, or with `!` a negated predicate.
    pub fn source(&mut self, node: &ast::Operand, want: Want, specials: bool) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Prefix(prefix) = node
            && prefix.operator() == Some(PrefixOperator::Not)
            && want == Want::Typed(Type::Pred, Width::Same)
            && let Some(ast::Operand::Name(_)) = prefix.operand()
        {
            return match self.source(&prefix.operand()?, want, false)? {
                Operand::Register(id) => Some(Operand::NotRegister(id)),
                _ => {
                    self.report(Code::InvalidPredicate, span, "only a register can be negated");
                    None
                }
            };
        }
        match self.as_name(node) {
            Some(Ok(Named::Register(id, ty))) => {
                if want.accepts(ty) {
                    return Some(Operand::Register(id));
                }
                self.mismatch(span, ty, want);
                None
            }
            Some(Ok(Named::WarpSize)) => {
                self.immediate(Constant::Integer { bits: 32, unsigned: false }, want, span)
            }
            Some(Ok(Named::Special(special))) => {
                if specials {
                    return self.special(special, want, span);
                }
                self.report(
                    Code::InvalidOperand,
                    span,
                    "a special register can be read with `mov` and `cvt` only",
                );
                None
            }
            Some(Ok(Named::Registers(_) | Named::SpecialVector)) => {
                self.report(Code::InvalidOperand, span, "a vector cannot stand here; name one component");
                None
            }
            Some(Ok(Named::Variable(_) | Named::Function(_))) => {
                self.report(
                    Code::InvalidOperand,
                    span,
                    "the address of a variable or function must be moved to a register first",
                );
                None
            }
            Some(Ok(Named::Other(_))) => {
                self.report(Code::WrongKindOfName, span, "a label cannot stand here");
                None
            }
            Some(Err(())) => None,
            None => match node {
                ast::Operand::Vector(_)
                | ast::Operand::Address(_)
                | ast::Operand::Pair(_)
                | ast::Operand::Sink(_) => {
                    let what = match node {
                        ast::Operand::Vector(_) => "a vector",
                        ast::Operand::Address(_) => "an address",
                        ast::Operand::Pair(_) => "a pair",
                        _ => "`_`",
                    };
                    self.report(Code::InvalidOperand, span, format!("{what} cannot stand here"));
                    None
                }
                ast::Operand::Index(_) => {
                    self.report(
                        Code::InvalidOperand,
                        span,
                        "the address of a variable or function must be moved to a register first",
                    );
                    None
                }
                _ => match evaluate(node) {
                    Ok(constant) => self.immediate(constant, want, span),
                    Err(error) => {
                        self.push(error);
                        None
                    }
                },
            },
        }
    }

    fn immediate(&mut self, constant: Constant, want: Want, span: Span) -> Option<Operand> {
        let fitted = want.immediate(constant);
        if fitted.is_none() {
            let kind =
                if matches!(constant, Constant::Integer { .. }) { "an integer" } else { "a floating-point" };
            let ty = match want {
                Want::Typed(ty, _) => format!("`{ty}`"),
                _ => "integer".to_string(),
            };
            self.report(
                Code::TypeMismatch,
                span,
                format!("{kind} constant does not fit an operand of type {ty}"),
            );
        }
        fitted.map(Operand::Immediate)
    }

    /// A constant integer that must pass a test.
    fn constant(
        &mut self,
        node: &ast::Operand,
        fits: impl Fn(i64) -> bool,
        wanted: impl Fn() -> String,
    ) -> Option<Operand> {
        let span = node.span();
        match evaluate(node).map(Constant::integer) {
            Ok(Some(value)) if fits(value) => Some(Operand::Immediate(Immediate::Integer(value))),
            _ => {
                self.report(Code::InvalidOperand, span, wanted());
                None
            }
        }
    }

    /// An operand that is a vector with `.v2` and wider. A vector of one stands for its element.
    fn vector(&mut self, node: &ast::Operand, want: Want, width: u8, destination: bool) -> Option<Operand> {
        let span = node.span();
        if width == 1 {
            if let ast::Operand::Vector(vector) = node {
                let elements: Vec<_> = vector.elements().collect();
                if let [single] = &elements[..] {
                    return self.element(single, want, destination, false);
                }
                self.report(
                    Code::InvalidVector,
                    span,
                    format!("a vector of {} needs `.v{}`", elements.len(), elements.len()),
                );
                return None;
            }
            return self.element(node, want, destination, false);
        }
        let want = match want {
            Want::Typed(ty, Width::AtLeast) => Want::Typed(ty, Width::AtLeastInVector),
            other => other,
        };
        self.exact_vector(node, want, width, destination)
    }

    fn element(&mut self, node: &ast::Operand, want: Want, destination: bool, sink: bool) -> Option<Operand> {
        if destination { self.destination(node, want, sink) } else { self.source(node, want, false) }
    }

    fn exact_vector(
        &mut self,
        node: &ast::Operand,
        want: Want,
        width: u8,
        destination: bool,
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
                    elements.iter().map(|element| self.element(element, want, destination, true)).collect();
                let resolved: Vec<Operand> = resolved.into_iter().collect::<Option<_>>()?;
                if resolved.iter().all(|operand| *operand == Operand::Sink) {
                    self.report(Code::InvalidVector, span, "at least one element must be a register");
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

    /// `{a, b}` as source or destination of a `mov` that packs or unpacks.
    fn packed(&mut self, node: &ast::Operand, want: Want, destination: bool) -> Option<Operand> {
        let span = node.span();
        let ast::Operand::Vector(vector) = node else { return None };
        let Want::Typed(ty, _) = want else { return None };
        let elements: Vec<_> = vector.elements().collect();
        let count = elements.len() as u32;
        if !matches!(count, 2 | 4) || !ty.is_bits() || !ty.bits().is_multiple_of(count) {
            let message = if ty.is_bits() {
                format!("`{ty}` is packed from two or four parts, not {count}")
            } else {
                format!("only untyped values can be packed and unpacked; `{ty}` is not")
            };
            self.report(Code::InvalidVector, span, message);
            return None;
        }
        let part = match ty.bits() / count {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => {
                self.report(Code::InvalidVector, span, format!("`{ty}` has no {count} parts"));
                return None;
            }
        };
        let want = Want::Typed(part, Width::Same);
        let resolved: Vec<Option<Operand>> =
            elements.iter().map(|element| self.element(element, want, destination, true)).collect();
        resolved.into_iter().collect::<Option<Vec<_>>>().map(Operand::Vector)
    }

    fn special(&mut self, special: SpecialRegister, want: Want, span: Span) -> Option<Operand> {
        let Want::Typed(ty, _) = want else { return Some(Operand::Special(special)) };
        let bits: &[u32] = match special {
            SpecialRegister::Clock64 | SpecialRegister::Globaltimer | SpecialRegister::CurrentGraphExec => {
                &[64]
            }
            SpecialRegister::Gridid => &[16, 32, 64],
            SpecialRegister::IsExplicitCluster => &[1],
            _ => &[16, 32],
        };
        if bits.contains(&ty.bits()) && !ty.is_float() {
            return Some(Operand::Special(special));
        }
        self.report(
            Code::TypeMismatch,
            span,
            format!("this special register has {} bits, it cannot be read as `{ty}`", bits[bits.len() - 1]),
        );
        None
    }

    fn move_source(&mut self, node: &ast::Operand, want: Want) -> Option<Operand> {
        let span = node.span();
        if let ast::Operand::Vector(_) = node {
            return self.packed(node, want, false);
        }
        if let Some(address) = self.variable_address(node) {
            let operand = address?;
            if let Want::Typed(ty, _) = want
                && !((ty.is_bits() || ty.is_integer()) && matches!(ty.bits(), 32 | 64))
            {
                self.report(Code::TypeMismatch, span, format!("an address does not fit the type `{ty}`"));
                return None;
            }
            if let (Operand::VariableAddress(id, _), Want::Typed(ty, _)) = (&operand, want)
                && self.body.variables[id.0 as usize].space == Space::Global
                && ty.bits() < u32::from(self.header.address_bits())
            {
                let bits = self.header.address_bits();
                self.report(Code::InvalidAddress, span, format!("`.global` addresses have {bits} bits"));
                return None;
            }
            return Some(operand);
        }
        if let ast::Operand::Name(name) = node
            && let Some(token) = name.token()
        {
            match self.named(token.text(), token_span(&token))? {
                Named::Function(function) => {
                    let id = self.function(&function, span, false)?;
                    return Some(Operand::FunctionAddress(id));
                }
                Named::Special(special) => return self.special(special, want, span),
                Named::SpecialVector => {
                    self.report(
                        Code::InvalidVector,
                        span,
                        format!("`{}` has three components; name one of them", token.text()),
                    );
                    return None;
                }
                _ => {}
            }
        }
        self.source(node, want, true)
    }

    /// `variable`, `variable + 4`, `variable[2]` as a value; `None` if the operand is something else, `Some(None)`
    /// if it has been reported.
    fn variable_address(&mut self, node: &ast::Operand) -> Option<Option<Operand>> {
        if !self.mentions_variable(node) {
            return None;
        }
        match self.base_and_offset(node) {
            Some((AddressBase::Variable(id), offset)) => Some(Some(Operand::VariableAddress(id, offset))),
            Some(_) => None,
            None => Some(None),
        }
    }

    /// Whether the leftmost name of an expression is a variable.
    fn mentions_variable(&mut self, node: &ast::Operand) -> bool {
        let mut node = node.clone();
        loop {
            let next = match &node {
                ast::Operand::Name(name) => {
                    let Some(token) = name.token() else { return false };
                    return match self.names.look_up(token.text()) {
                        Some(Meaning::Variable(_)) => true,
                        Some(_) => false,
                        None => self.global(token.text(), token_span(&token)).is_some(),
                    };
                }
                ast::Operand::Binary(binary) => binary.left(),
                ast::Operand::Index(index) => index.base(),
                ast::Operand::Paren(paren) => paren.operand(),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return false,
            }
        }
    }

    /// Splits an address into a base and an offset in bytes.
    fn base_and_offset(&mut self, node: &ast::Operand) -> Option<(AddressBase, i64)> {
        let span = node.span();
        match node {
            ast::Operand::Name(name) => {
                let token = name.token()?;
                match self.named(token.text(), token_span(&token))? {
                    Named::Register(id, ty) => {
                        if is_address(ty) {
                            return Some((AddressBase::Register(id), 0));
                        }
                        self.mismatch(span, ty, Want::Address);
                    }
                    Named::Variable(id) => return Some((AddressBase::Variable(id), 0)),
                    Named::WarpSize => return Some((AddressBase::Absolute, 32)),
                    _ => self.report(
                        Code::InvalidAddress,
                        span,
                        format!("`{}` is neither a register nor a variable", token.text()),
                    ),
                }
                None
            }
            ast::Operand::Member(member) => match self.member(member)? {
                Named::Register(id, ty) if is_address(ty) => Some((AddressBase::Register(id), 0)),
                _ => {
                    self.report(Code::InvalidAddress, span, "this cannot hold an address");
                    None
                }
            },
            ast::Operand::Paren(paren) => self.base_and_offset(&paren.operand()?),
            ast::Operand::Index(index) => {
                let (base, offset) = self.base_and_offset(&index.base()?)?;
                let AddressBase::Variable(id) = base else {
                    self.report(Code::InvalidAddress, span, "only a variable can be indexed");
                    return None;
                };
                let at = self.integer(&index.index()?)?;
                let element = self.element_bytes[id.0 as usize] as i64;
                Some((base, offset.wrapping_add(at.wrapping_mul(element))))
            }
            ast::Operand::Binary(binary) => {
                let operator = binary.operator()?;
                let left = binary.left()?;
                if !matches!(operator, BinaryOperator::Add | BinaryOperator::Subtract)
                    || !self.has_name(&left)
                {
                    let value = self.integer(node)?;
                    return Some((AddressBase::Absolute, value));
                }
                let (base, offset) = self.base_and_offset(&left)?;
                let value = self.integer(&binary.right()?)?;
                let offset = if operator == BinaryOperator::Add {
                    offset.wrapping_add(value)
                } else {
                    offset.wrapping_sub(value)
                };
                Some((base, offset))
            }
            _ => Some((AddressBase::Absolute, self.integer(node)?)),
        }
    }

    fn has_name(&self, node: &ast::Operand) -> bool {
        node.syntax().descendants().any(|node| node.kind() == oriole_syntax::SyntaxKind::NAME)
    }

    fn integer(&mut self, node: &ast::Operand) -> Option<i64> {
        match evaluate(node) {
            Ok(value) => {
                let integer = value.integer();
                if integer.is_none() {
                    self.report(Code::InvalidAddress, node.span(), "an integer constant is needed here");
                }
                integer
            }
            Err(error) => {
                self.report(
                    Code::InvalidAddress,
                    error.span,
                    "behind the plus sign of an address stands an integer constant",
                );
                None
            }
        }
    }

    fn address(&mut self, node: &ast::Operand) -> Option<Operand> {
        let span = node.span();
        let inner = match node {
            ast::Operand::Address(address) => {
                if let Some(suffix) = address.suffix()
                    && suffix.text() != ".unified"
                {
                    self.report(
                        Code::InvalidAddress,
                        token_span(&suffix),
                        "nothing can stand behind an address",
                    );
                    return None;
                }
                let parts: Vec<_> = address.parts().collect();
                match &parts[..] {
                    [single] => single.clone(),
                    _ => {
                        self.report(Code::InvalidAddress, span, "an address has one part");
                        return None;
                    }
                }
            }
            // `table[2]` is an address without brackets of its own.
            ast::Operand::Index(_) => node.clone(),
            _ => {
                self.report(Code::InvalidOperand, span, "an address in brackets is needed here");
                return None;
            }
        };
        let (base, offset) = self.base_and_offset(&inner)?;
        if let AddressBase::Variable(id) = base
            && self.body.variables[id.0 as usize].space == Space::Register
        {
            self.report(Code::InvalidAddress, span, "a register has no address");
            return None;
        }
        Some(Operand::Address(Address { base, offset }))
    }

    fn branch_targets(&mut self, node: &ast::Operand) -> Option<Operand> {
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
    fn anything(&mut self, node: &ast::Operand) -> Option<Operand> {
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

fn is_selector(component: &str) -> bool {
    matches!(component, ".b0" | ".b1" | ".b2" | ".b3" | ".h0" | ".h1")
        || (component.len() > 2 && (component.starts_with(".b") || component.starts_with(".h")))
}
