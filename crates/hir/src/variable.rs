//! Variables of the module: declarations with linkage and attributes.
//!
//! Users of a module variable need its declaration without its initial value. Layout in memory is not decided here.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::{Space, SpecialRegister, Type};
use oriole_syntax::ast::{self, DeclarationHead, Declarator};

use crate::declaration::{Shape, check_head, outermost_values, shape};
use crate::initializer::{self, InitialValue};
use crate::linkage::single_linkage;
use crate::module_context::HeaderQuestion;
use crate::texture;
use crate::{GlobalInfo, Linkage, ModuleContext};

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

/// The `.attribute` clauses of a variable.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    /// `.managed`
    pub managed: bool,
    /// `.unified(a, b)`
    pub unified: Option<(u64, u64)>,
}

/// Reads the attributes of a variable.
pub(crate) fn attributes(variable: &ast::Variable<'_>, diagnostics: &mut Vec<Diagnostic>) -> Attributes {
    let mut found = Attributes::default();
    for attribute in variable.attributes() {
        for word in attribute.words() {
            match word.text() {
                ".managed" => found.managed = true,
                ".unified" => {
                    let numbers: Vec<u64> = attribute
                        .numbers()
                        .filter_map(|token| match oriole_syntax::parse_number(token.text()) {
                            Ok(oriole_syntax::NumberValue::Integer { bits, .. }) => Some(bits),
                            _ => None,
                        })
                        .collect();
                    if let [first, second] = numbers[..] {
                        found.unified = Some((first, second));
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
    found
}

/// Each member of a range of the module is a variable of its own, whether it is named or not.
const MOST_OF_RANGE: u64 = 0x1_0000;

/// The names that a declarator of the module declares.
fn declared_names(name: &str, declarator: Declarator<'_>) -> Vec<String> {
    match declarator.range() {
        None => vec![name.to_owned()],
        Some(range) => {
            let count = range.count().unwrap_or(0).min(MOST_OF_RANGE);
            (0..count).map(|number| format!("{name}{number}")).collect()
        }
    }
}

/// A fault of a variable of the module.
type Fault = (Code, String);

/// Faults of the space, the type or the name of a variable.
fn place_faults(
    name: &str,
    shape: &Shape,
    linkage: Option<Linkage>,
    managed: bool,
) -> impl Iterator<Item = Fault> {
    let local = match shape.space {
        Space::Local => Some("a `.local` variable"),
        Space::Register => Some("a register"),
        Space::FunctionParameter | Space::KernelParameter => Some("a `.param` variable"),
        _ => None,
    };
    let global = shape.space == Space::Global;
    let special = SpecialRegister::from_name(name).is_some()
        || SpecialRegister::from_name(&format!("{name}.x")).is_some()
        || matches!(name, "_" | "WARP_SZ");
    let fault = |code, message: &str| (code, message.to_string());
    [
        local.map(|what| (Code::InvalidVariable, format!("{what} can be declared in a function only"))),
        (shape.ty == Type::Pred).then(|| fault(Code::InvalidType, "a predicate can be a register only")),
        (linkage == Some(Linkage::Common) && !global)
            .then(|| fault(Code::InvalidVariable, "a `.common` variable is in `.global` space")),
        (managed && !global)
            .then(|| fault(Code::InvalidVariable, "a managed variable is in `.global` space")),
        special.then(|| (Code::InvalidVariable, format!("`{name}` has a meaning of its own"))),
    ]
    .into_iter()
    .flatten()
}

/// Faults of the parts of a declaration: size, initial value, bank, range.
fn form_faults(
    variable: &ast::Variable<'_>,
    declarator: Declarator<'_>,
    shape: &Shape,
    linkage: Option<Linkage>,
    elements: Option<u64>,
) -> impl Iterator<Item = Fault> {
    let external = linkage == Some(Linkage::Extern);
    let initial = declarator.initializer().is_some();
    let name = declarator.name().map_or("", |name| name.text());
    let fault = |code, message: &str| (code, message.to_string());
    [
        (shape.open && elements.is_none() && !external)
            .then(|| (Code::InvalidVariable, format!("the array `{name}` has no size"))),
        (initial && external)
            .then(|| fault(Code::InvalidInitializer, "an `.extern` variable has no initial value")),
        (initial && !matches!(shape.space, Space::Global | Space::Constant)).then(|| {
            (Code::InvalidInitializer, format!("a `.{}` variable has no initial value", shape.space.name()))
        }),
        variable
            .bank()
            .is_some()
            .then(|| fault(Code::InvalidVariable, "numbered constant banks do not exist since PTX 2.2")),
        (declarator.range().is_some() && (initial || !shape.dimensions.is_empty())).then(|| {
            fault(Code::InvalidVariable, "variables of a range have neither dimensions nor an initial value")
        }),
        (declarator.range().is_some_and(|range| range.count().is_none_or(|count| count > MOST_OF_RANGE)))
            .then(|| (Code::TooLarge, format!("a range of variables has 1 to {MOST_OF_RANGE} members"))),
    ]
    .into_iter()
    .flatten()
}

/// The variables that a unit declares, without the values of their initializers.
pub(crate) fn declared_variables<'t>(
    variable: &ast::Variable<'t>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(Declarator<'t>, ModuleVariable, Shape)> {
    let mut found = Vec::new();
    let linkage = single_linkage(&variable.linkage(), diagnostics);
    let Attributes { managed, unified } = attributes(variable, diagnostics);
    check_head(variable, diagnostics);
    for declarator in variable.declarators() {
        let Some(name) = declarator.name() else { continue };
        let span = name.span();
        let initial = declarator.initializer();
        let elements = initial.and_then(ast::Initializer::value).map(outermost_values);
        let Some(shape) = shape(variable, Some(declarator), Space::FunctionParameter, elements, diagnostics)
        else {
            continue;
        };
        let fault = |(code, message): Fault| Diagnostic::new(code, span, message);
        diagnostics.extend(place_faults(name.text(), &shape, linkage, managed).map(fault));
        diagnostics.extend(form_faults(variable, declarator, &shape, linkage, elements).map(fault));
        let module_variable = |name| ModuleVariable {
            name,
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
        for name in declared_names(name.text(), declarator) {
            found.push((declarator, module_variable(name), shape.clone()));
        }
    }
    found
}

/// The variables that a unit declares, with initial values.
pub fn module_variables(
    variable: &ast::Variable,
    context: &dyn ModuleContext,
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
            if shape.ty.is_opaque() {
                texture::check_fields(&value, &shape, &mut diagnostics);
            } else {
                let initial = initializer::read(&value, &shape, context, &mut diagnostics);
                module_variable.initial = Some(initial);
            }
        }
        let independent = || context.answer(HeaderQuestion::IndependentTextures);
        if module_variable.info.ty == Type::Samplerref && !independent() {
            diagnostics.push(Diagnostic::new(
                Code::InvalidVariable,
                module_variable.name_span,
                "samplers are separate from textures with `texmode_independent` only",
            ));
        }
        variables.push(module_variable);
    }
    (variables, diagnostics)
}
