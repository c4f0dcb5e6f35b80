//! Declarations of variables: element type, size, alignment, and initial values as bytes and references.
//!
//! It is here because the module, function bodies and parameter lists declare things alike. Layout in memory is not
//! decided here.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::{Space, SpecialRegister, Type};
use oriole_syntax::ast::{
    self, AstNode, BinaryOperator, DeclarationHead, Declarator, InitializerValue, Operand,
};

use crate::signature::{alignment, single_linkage};
use crate::surroundings::HeaderQuestion;
use crate::{Constant, GlobalInfo, Linkage, Surroundings, evaluate};

/// Most bytes that a declared variable may have.
const MAX_BYTES: u64 = 1 << 48;
/// Most bytes that an initializer may give; more would only exhaust memory.
const MAX_INITIAL_BYTES: u64 = 1 << 30;

/// What a declaration's head and declarator say together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// State space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Elements of a vector type, 1 for a scalar.
    pub vector: u8,
    /// Product of the dimensions; `None` for a scalar.
    pub length: Option<u64>,
    /// Dimensions, outermost first.
    pub dimensions: Vec<u64>,
    /// True if the outermost dimension is left open.
    pub open: bool,
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub align: u32,
}

impl Shape {
    /// A scalar of this type.
    pub fn of(ty: Type) -> Shape {
        Shape {
            space: Space::FunctionParameter,
            ty,
            vector: 1,
            length: None,
            dimensions: Vec::new(),
            open: false,
            size: u64::from(ty.bytes()),
            align: ty.bytes(),
        }
    }
}

/// Reads head and declarator. `space` is taken where the head's word is `.param`; `open_length` is the outermost
/// dimension where it is left open and an initializer says it.
pub(crate) fn shape<'t>(
    head: &impl DeclarationHead<'t>,
    declarator: Option<Declarator<'t>>,
    param: Space,
    open_length: Option<u64>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Shape> {
    let (mut shape, element) = head_shape(head, param, diagnostics)?;
    for (index, dimension) in declarator.into_iter().flat_map(Declarator::dimensions).enumerate() {
        let count = match dimension.size() {
            Some(size) if !matches!(size, Operand::Literal(_) | Operand::Name(_)) => {
                diagnostics.push(Diagnostic::new(
                    Code::InvalidVariable,
                    size.span(),
                    "a dimension is a number, not an expression",
                ));
                return None;
            }
            Some(size) => match evaluate(&size) {
                Ok(Constant::Integer { bits, unsigned }) if unsigned || bits as i64 > 0 => bits,
                Ok(_) => {
                    diagnostics.push(Diagnostic::new(
                        Code::InvalidVariable,
                        size.span(),
                        "a dimension is a positive integer",
                    ));
                    return None;
                }
                Err(error) => {
                    diagnostics.push(error);
                    return None;
                }
            },
            None if index == 0 => {
                shape.open = true;
                open_length.unwrap_or(0)
            }
            None => {
                diagnostics.push(Diagnostic::new(
                    Code::InvalidVariable,
                    dimension.span(),
                    "only the outermost dimension may be left open",
                ));
                return None;
            }
        };
        shape.dimensions.push(count);
    }
    let mut size = u128::from(element);
    for &count in &shape.dimensions {
        size *= u128::from(count);
        if size > u128::from(MAX_BYTES) {
            let span = declarator.map_or_else(|| head.span(), AstNode::span);
            diagnostics.push(Diagnostic::new(
                Code::TooLarge,
                span,
                format!("a variable of more than {MAX_BYTES} bytes"),
            ));
            return None;
        }
    }
    shape.size = size as u64;
    if !shape.dimensions.is_empty() {
        shape.length = Some(shape.dimensions.iter().product());
    }
    Some(shape)
}

/// The head alone, and the bytes of one element.
fn head_shape<'t>(
    head: &impl DeclarationHead<'t>,
    param: Space,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Shape, u64)> {
    let word = head.type_word();
    let Some(word) = word else {
        diagnostics.push(Diagnostic::new(Code::InvalidVariable, head.span(), "a type is missing"));
        return None;
    };
    if let Some(surplus) = head.surplus_words().first() {
        diagnostics.push(Diagnostic::new(
            Code::InvalidVariable,
            surplus.span(),
            format!("`{}` cannot stand in this declaration", surplus.text()),
        ));
        return None;
    }
    let name = word.text().trim_start_matches('.');
    let ty = match Type::from_name(name) {
        Some(ty) if ty.is_fundamental() => ty,
        Some(ty) if ty.is_opaque() => ty,
        found => {
            let message = if found.is_some() {
                format!("no variable can have the type `.{name}`")
            } else {
                format!("no type is called `.{name}`")
            };
            diagnostics.push(Diagnostic::new(Code::InvalidType, word.span(), message));
            return None;
        }
    };
    let vector = match head.vector().as_ref().map(|token| token.text()) {
        Some(".v2") => 2,
        Some(".v4") => 4,
        Some(".v8") => 8,
        _ => 1,
    };
    if vector == 8 || u32::from(vector) * ty.bits() > 128 || (vector > 1 && ty == Type::Pred) {
        diagnostics.push(Diagnostic::new(
            Code::InvalidVector,
            head.span(),
            format!("a vector of {vector} elements of `{ty}` does not exist"),
        ));
        return None;
    }
    let space = match head.space().as_ref().map(|token| token.text()) {
        Some(".param") => param,
        Some(text) => Space::from_name(text.trim_start_matches('.')).unwrap_or(param),
        None => param,
    };
    if ty.is_opaque() && (!matches!(space, Space::Global | Space::KernelParameter) || vector > 1) {
        diagnostics.push(Diagnostic::new(
            Code::InvalidType,
            word.span(),
            format!("a `{ty}` is a scalar in `.global`, or a parameter of a kernel"),
        ));
        return None;
    }
    let element = u64::from(ty.bytes()) * u64::from(vector);
    let align = match head.align() {
        Some(clause) => alignment(&clause, diagnostics)?,
        None => element as u32,
    };
    let shape =
        Shape { space, ty, vector, length: None, dimensions: Vec::new(), open: false, size: element, align };
    Some((shape, element))
}

/// Reports a `.ptr` clause in the declaration of something that is no parameter.
pub(crate) fn no_pointer<'t>(head: &impl DeclarationHead<'t>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(ptr) = head.ptr() {
        let message = "`.ptr` is for parameters of kernels";
        diagnostics.push(Diagnostic::new(Code::InvalidVariable, ptr.span(), message));
    }
}

/// A module-level variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ModuleVariable {
    /// Name.
    pub name: String,
    /// Place of the name, relative to the unit.
    pub name_span: Span,
    /// Space, type, size, alignment, linkage.
    pub info: GlobalInfo,
    /// `.attribute(.managed)`
    pub managed: bool,
    /// `.attribute(.unified(a, b))`
    pub unified: Option<(u64, u64)>,
    /// Initial value; `None` for zeros.
    pub initial: Option<InitialValue>,
}

/// An initial value: bytes, and references that the linker adds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct InitialValue {
    /// Bytes from the start of the variable; what follows is zero.
    pub bytes: Vec<u8>,
    /// References, by rising offset.
    pub relocations: Vec<Relocation>,
}

/// A reference to a symbol inside an initial value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Relocation {
    /// Byte offset into the variable.
    pub offset: u64,
    /// Bytes that are written.
    pub width: u8,
    /// Name of the variable or function.
    pub symbol: String,
    /// Added to the symbol's address.
    pub addend: i64,
    /// `generic(...)`: the generic address and not the one of the symbol's space.
    pub generic: bool,
    /// Whether the symbol is a function.
    pub function: bool,
    /// Which bits of the address: `0xff00(symbol)` takes bits 8 to 15, moved down.
    pub mask: Option<u64>,
}

/// The variables that a unit declares, without the values of their initializers.
pub(crate) fn declared_variables<'t>(
    variable: &ast::Variable<'t>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(Declarator<'t>, ModuleVariable, Shape)> {
    let mut found = Vec::new();
    let linkage = single_linkage(&variable.linkage(), diagnostics);
    let mut managed = false;
    let mut unified = None;
    for attribute in variable.attributes() {
        for word in attribute.words() {
            match word.text() {
                ".managed" => managed = true,
                ".unified" => {
                    let numbers: Vec<u64> = attribute
                        .numbers()
                        .filter_map(|token| match oriole_syntax::parse_number(token.text()) {
                            Ok(oriole_syntax::NumberValue::Integer { bits, .. }) => Some(bits),
                            _ => None,
                        })
                        .collect();
                    if let [first, second] = numbers[..] {
                        unified = Some((first, second));
                    }
                }
                other => diagnostics.push(Diagnostic::new(
                    Code::InvalidVariable,
                    word.span(),
                    format!("no attribute is called `{other}`"),
                )),
            }
        }
    }
    for declarator in variable.declarators() {
        let Some(name) = declarator.name() else { continue };
        let span = name.span();
        let initial = declarator.initializer();
        let elements = initial.and_then(ast::Initializer::value).map(|value| match value {
            InitializerValue::InitializerList(list) => list.values().count() as u64,
            _ => 1,
        });
        no_pointer(variable, diagnostics);
        let Some(shape) = shape(variable, Some(declarator), Space::FunctionParameter, elements, diagnostics)
        else {
            continue;
        };
        let mut report = |code, message: String| diagnostics.push(Diagnostic::new(code, span, message));
        match shape.space {
            Space::Local => {
                report(
                    Code::InvalidVariable,
                    "a `.local` variable can be declared in a function only".to_string(),
                );
            }
            Space::Register => {
                report(Code::InvalidVariable, "a register can be declared in a function only".to_string());
            }
            Space::FunctionParameter | Space::KernelParameter => {
                report(
                    Code::InvalidVariable,
                    "a `.param` variable can be declared in a function only".to_string(),
                );
            }
            _ => {}
        }
        if shape.ty == Type::Pred {
            report(Code::InvalidType, "a predicate can be a register only".to_string());
        }
        if linkage == Some(Linkage::Common) && shape.space != Space::Global {
            report(Code::InvalidVariable, "a `.common` variable is in `.global` space".to_string());
        }
        if managed && shape.space != Space::Global {
            report(Code::InvalidVariable, "a managed variable is in `.global` space".to_string());
        }
        let special = SpecialRegister::from_name(name.text()).is_some()
            || SpecialRegister::from_name(&format!("{}.x", name.text())).is_some();
        if special || matches!(name.text(), "_" | "WARP_SZ") {
            report(Code::InvalidVariable, format!("`{}` has a meaning of its own", name.text()));
        }
        if shape.open && elements.is_none() && linkage != Some(Linkage::Extern) {
            report(Code::InvalidVariable, format!("the array `{}` has no size", name.text()));
        }
        if initial.is_some() && linkage == Some(Linkage::Extern) {
            report(Code::InvalidInitializer, "an `.extern` variable has no initial value".to_string());
        }
        if initial.is_some() && !matches!(shape.space, Space::Global | Space::Constant) {
            report(
                Code::InvalidInitializer,
                format!("a `.{}` variable has no initial value", shape.space.name()),
            );
        }
        if variable.bank().is_some() {
            report(Code::InvalidVariable, "numbered constant banks do not exist since PTX 2.2".to_string());
        }
        if declarator.range().is_some() {
            report(Code::InvalidVariable, "only registers can be declared as a range".to_string());
        }
        let module_variable = ModuleVariable {
            name: name.text().to_string(),
            name_span: span,
            info: GlobalInfo {
                space: shape.space,
                ty: shape.ty,
                vector: shape.vector,
                size: shape.size,
                align: shape.align,
                linkage,
            },
            managed,
            unified,
            initial: None,
        };
        found.push((declarator, module_variable, shape));
    }
    found
}

/// The variables that a unit declares, with initial values.
pub fn module_variables(
    variable: &ast::Variable,
    surroundings: &dyn Surroundings,
) -> (Vec<ModuleVariable>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let declared = declared_variables(variable, &mut diagnostics);
    let mut variables = Vec::new();
    for (declarator, mut module_variable, shape) in declared {
        let allowed = module_variable.info.linkage != Some(Linkage::Extern)
            && matches!(shape.space, Space::Global | Space::Constant);
        if let Some(value) = declarator.initializer().and_then(|initializer| initializer.value())
            && allowed
        {
            let mut reader = Reader {
                surroundings,
                shape: &shape,
                value: InitialValue::default(),
                diagnostics: &mut diagnostics,
            };
            reader.level(&value, 0, 0);
            let mut initial = reader.value;
            initial.relocations.sort_by_key(|relocation| relocation.offset);
            module_variable.initial = Some(initial);
        }
        let independent = || surroundings.answer(HeaderQuestion::IndependentTextures);
        if module_variable.info.ty == Type::Samplerref && !independent() {
            diagnostics.push(Diagnostic::new(
                Code::InvalidVariable,
                module_variable.name_span,
                "samplers stand apart from textures with `texmode_independent` only",
            ));
        }
        variables.push(module_variable);
    }
    (variables, diagnostics)
}

struct Reader<'a> {
    surroundings: &'a dyn Surroundings,
    shape: &'a Shape,
    value: InitialValue,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(Code::InvalidInitializer, span, message.into()));
    }

    /// Bytes of one item at a nesting level: a row of an array, an array's element, a vector's component.
    fn bytes_at(&self, level: usize) -> u64 {
        let element = u64::from(self.shape.ty.bytes());
        let vector = if level <= self.shape.dimensions.len() { u64::from(self.shape.vector) } else { 1 };
        self.shape.dimensions.iter().skip(level).product::<u64>() * vector * element
    }

    fn level(&mut self, value: &InitializerValue, level: usize, offset: u64) {
        let deepest = self.shape.dimensions.len() + usize::from(self.shape.vector > 1);
        match value {
            InitializerValue::InitializerList(list) if level < deepest => {
                let item = self.bytes_at(level + 1);
                let room = self.bytes_at(level) / item.max(1);
                let mut count = 0;
                for value in list.values() {
                    if count == room {
                        self.report(value.span(), format!("more than {room} values"));
                        return;
                    }
                    self.level(&value, level + 1, offset + count * item);
                    count += 1;
                }
                let vector = self.shape.vector > 1 && level + 1 == deepest;
                if vector && count != room {
                    self.report(list.span(), format!("a vector of {room} needs {room} values"));
                }
            }
            InitializerValue::InitializerList(list) => {
                self.report(list.span(), "one value is needed here, not a list")
            }
            InitializerValue::FieldInitializer(field) => {
                self.report(field.span(), "only a sampler has fields");
            }
            other if level < deepest => {
                self.report(other.span(), "a list in braces is needed here");
            }
            other => match other.operand() {
                Some(operand) => self.scalar(&operand, offset),
                None => self.report(other.span(), "a value is needed here"),
            },
        }
    }

    fn write(&mut self, span: Span, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end > MAX_INITIAL_BYTES {
            self.report(span, format!("an initial value of more than {MAX_INITIAL_BYTES} bytes"));
            return;
        }
        let (offset, end) = (offset as usize, end as usize);
        if self.value.bytes.len() < end {
            self.value.bytes.resize(end, 0);
        }
        self.value.bytes[offset..end].copy_from_slice(bytes);
    }

    fn scalar(&mut self, operand: &Operand, offset: u64) {
        let ty = self.shape.ty;
        let width = ty.bytes() as usize;
        if let Some(reference) = self.reference(operand) {
            let Ok(reference) = reference else { return };
            let masked = reference.mask.is_some();
            if !(ty.is_bits() || ty.is_integer()) || (width < 4 && !masked) {
                self.report(operand.span(), format!("an address does not fit the type `{ty}`"));
                return;
            }
            self.write(operand.span(), offset, &[0; 16][..width]);
            self.value.relocations.push(Relocation { offset, width: width as u8, ..reference });
            return;
        }
        let value = match evaluate(operand) {
            Ok(value) => value,
            Err(error) => {
                self.diagnostics.push(error);
                return;
            }
        };
        let bits: u64 = match (value, ty) {
            (Constant::Integer { bits, .. }, _) if !ty.is_float() => bits,
            (Constant::F32(bits), Type::F32) => u64::from(bits),
            (Constant::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Constant::F64(bits), Type::F32 | Type::B32) => {
                u64::from((f64::from_bits(bits) as f32).to_bits())
            }
            (Constant::F64(bits), Type::F64) => bits,
            // Untyped variables hold the bits of the number, or those of them for which there is room.
            (Constant::F32(bits), _) if ty.is_bits() => u64::from(bits),
            (Constant::F64(bits), _) if ty.is_bits() => bits,
            _ => {
                self.report(operand.span(), format!("this value does not fit the type `{ty}`"));
                return;
            }
        };
        let extended = match value {
            Constant::Integer { bits, unsigned } if !unsigned => i128::from(bits as i64) as u128,
            _ => u128::from(bits),
        };
        self.write(operand.span(), offset, &extended.to_le_bytes()[..width]);
    }

    /// Reads `symbol`, `symbol + n`, `generic(symbol)`, `mask(symbol)` and the like; `None` if it is a plain
    /// constant, an error value if it has been reported.
    fn reference(&mut self, operand: &Operand) -> Option<Result<Relocation, ()>> {
        match operand {
            Operand::Name(name) => {
                let token = name.token()?;
                if token.text() == "WARP_SZ" {
                    return None;
                }
                let symbol = token.text();
                let global = self.surroundings.global(symbol);
                if let Some(info) = &global
                    && !matches!(info.space, Space::Global | Space::Constant)
                {
                    self.report(token.span(), format!("`{symbol}` is in neither `.global` nor `.const`"));
                    return Some(Err(()));
                }
                let function = if global.is_some() {
                    false
                } else if self.surroundings.signature(symbol).is_some() {
                    true
                } else {
                    self.diagnostics.push(Diagnostic::new(
                        Code::UnknownName,
                        token.span(),
                        format!("no variable or function is called `{symbol}`"),
                    ));
                    return Some(Err(()));
                };
                Some(Ok(Relocation {
                    offset: 0,
                    width: 0,
                    symbol: symbol.to_string(),
                    addend: 0,
                    generic: false,
                    function,
                    mask: None,
                }))
            }
            Operand::Paren(paren) => self.reference(&paren.operand()?),
            Operand::Index(index) => {
                let base = self.reference(&index.base()?)?;
                let Ok(mut base) = base else { return Some(base) };
                let at = match evaluate(&index.index()?) {
                    Ok(at) => at.integer().unwrap_or(0),
                    Err(error) => {
                        self.diagnostics.push(error);
                        return Some(Err(()));
                    }
                };
                let element = match self.surroundings.global(&base.symbol) {
                    Some(info) => i64::from(info.ty.bytes()) * i64::from(info.vector),
                    None => i64::from(self.shape.ty.bytes()) * i64::from(self.shape.vector),
                };
                base.addend = base.addend.wrapping_add(at.wrapping_mul(element));
                Some(Ok(base))
            }
            Operand::Binary(binary) => {
                let left = self.reference(&binary.left()?)?;
                let Ok(mut left) = left else { return Some(left) };
                let right = match evaluate(&binary.right()?) {
                    Ok(right) => right.integer(),
                    Err(error) => {
                        self.diagnostics.push(error);
                        return Some(Err(()));
                    }
                };
                match (binary.operator()?, right) {
                    (BinaryOperator::Add, Some(value)) => left.addend = left.addend.wrapping_add(value),
                    (BinaryOperator::Subtract, Some(value)) => left.addend = left.addend.wrapping_sub(value),
                    _ => {
                        self.report(operand.span(), "only a constant can be added to an address");
                        return Some(Err(()));
                    }
                }
                Some(Ok(left))
            }
            Operand::CallExpression(call) => {
                let argument = self.reference(&call.argument()?)?;
                let Ok(mut argument) = argument else { return Some(argument) };
                match call.callee()? {
                    Operand::Name(name) if name.token().is_some_and(|token| token.text() == "generic") => {
                        argument.generic = true;
                        Some(Ok(argument))
                    }
                    Operand::Literal(literal) => match evaluate(&Operand::Literal(literal)) {
                        Ok(Constant::Integer { bits, .. }) => {
                            argument.mask = Some(bits);
                            Some(Ok(argument))
                        }
                        _ => None,
                    },
                    Operand::CallExpression(inner) => {
                        // `mask(0xff)(symbol)`
                        if let Some(Ok(Constant::Integer { bits, .. })) =
                            inner.argument().map(|mask| evaluate(&mask))
                        {
                            argument.mask = Some(bits);
                        }
                        Some(Ok(argument))
                    }
                    other => {
                        self.report(other.span(), "`generic` or a mask is needed here");
                        Some(Err(()))
                    }
                }
            }
            _ => None,
        }
    }
}
