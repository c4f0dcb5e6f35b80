//! The head of a declaration: state space, element type, vector width, size and alignment.
//!
//! The module, function bodies and parameter lists declare things alike. Layout in memory is not decided here, and
//! initial values are read elsewhere.

use oriole_diagnostics::{Code, Diagnostic};
use oriole_ptx::{Space, Type};
use oriole_syntax::ast::{AlignClause, AstNode, DeclarationHead, Declarator, InitializerValue, Operand};

use crate::{Constant, evaluate};

/// Most bytes that a declared variable may have.
const MAX_BYTES: u64 = 1 << 48;

/// The head of a declaration together with one declarator.
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

/// Reads head and declarator. `param` is used where the head's word is `.param`; `open_length` is the outermost
/// dimension where it is left open and an initializer gives it.
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
                // An array parameter of no elements is one without a size.
                Ok(Constant::Integer { bits: 0, .. })
                    if index == 0
                        && matches!(shape.space, Space::FunctionParameter | Space::KernelParameter) =>
                {
                    shape.open = true;
                    0
                }
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

/// Number of values that an initializer gives for the outermost dimension.
pub(crate) fn outermost_values(value: InitializerValue<'_>) -> u64 {
    match value {
        InitializerValue::InitializerList(list) => list.values().count() as u64,
        _ => 1,
    }
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
            format!("`{}` is not allowed in this declaration", surplus.text()),
        ));
        return None;
    }
    if let Some(misplaced) = head.misplaced_word(param == Space::KernelParameter) {
        diagnostics.push(Diagnostic::new(
            Code::InvalidVariable,
            misplaced.span(),
            format!(
                "`{}` is not allowed here: the order is state space and alignment, vector width, type",
                misplaced.text()
            ),
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

/// Reports what only the declaration of a parameter may have, a `.ptr` clause, or may lack, a state space.
pub(crate) fn check_head<'t>(head: &impl DeclarationHead<'t>, diagnostics: &mut Vec<Diagnostic>) {
    if head.space().is_none() {
        diagnostics.push(Diagnostic::new(Code::InvalidVariable, head.span(), "a state space is missing"));
    }
    if let Some(ptr) = head.ptr() {
        let message = "`.ptr` is for parameters of kernels";
        diagnostics.push(Diagnostic::new(Code::InvalidVariable, ptr.span(), message));
    }
}

/// The value of an `.align` clause.
pub(crate) fn alignment(clause: &AlignClause, diagnostics: &mut Vec<Diagnostic>) -> Option<u32> {
    let value = match evaluate(&clause.value()?) {
        Ok(value) => value.integer(),
        Err(error) => {
            diagnostics.push(error);
            return None;
        }
    };
    match value.and_then(|value| u32::try_from(value).ok()) {
        Some(value) if value.is_power_of_two() => Some(value),
        _ => {
            diagnostics.push(Diagnostic::new(
                Code::InvalidVariable,
                clause.span(),
                "an alignment must be a power of two",
            ));
            None
        }
    }
}
