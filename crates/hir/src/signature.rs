//! Heads of functions: name, linkage, parameters, results, performance directives.
//!
//! Callers need a head without its body. No statement of a body is read.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::table::Chips;
use oriole_ptx::{Space, Type};
use oriole_syntax::ast::{self, AstNode, DeclarationHead, Function, PerformanceDirective};
use oriole_syntax::{ElementRef, NodeOrToken, TokenRef};

use crate::declaration::{Shape, alignment, shape};
use crate::linkage::single_linkage;
use crate::module_context::HeaderView;
use crate::performance;
use crate::{Directives, Linkage, Parameter, Signature, SignatureInfo};

/// A function's head, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FunctionHead<'t> {
    /// Name.
    pub name: String,
    /// Place of the name, relative to the unit.
    pub name_span: Span,
    /// Linkage word.
    pub linkage: Option<Linkage>,
    /// True for a definition.
    pub has_body: bool,
    /// Kind and signature.
    pub info: SignatureInfo,
    /// Performance directives.
    pub directives: Directives,
    /// Names of results, then of parameters, with their places.
    pub parameter_names: Vec<(&'t str, Span)>,
    /// Diagnostics, with spans relative to the unit.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the head of a function. `None` where it has no name, which the parser has reported.
pub(crate) fn function_head<'t>(
    function: &Function<'t>,
    header: &HeaderView<'_>,
) -> Option<FunctionHead<'t>> {
    let name = function.name()?;
    let mut diagnostics = Vec::new();
    let linkage = single_linkage(&function.linkage(), &mut diagnostics);
    let is_entry = function.is_entry();
    if is_entry && let Some(list) = function.return_list() {
        diagnostics.push(Diagnostic::new(Code::InvalidParameter, list.span(), "a kernel returns nothing"));
    }
    let mut parameter_names = Vec::new();
    let defined = function.body().is_some();
    let mut read = |list: Vec<ast::Parameter<'t>>, role, diagnostics: &mut Vec<Diagnostic>| {
        parameters(&list, ListKind { role, defined }, header, Some(&mut parameter_names), diagnostics)
    };
    let results = read(function.results().collect(), Role::Result, &mut diagnostics);
    let role = if is_entry { Role::Kernel } else { Role::Input };
    let parameters = read(function.parameters().collect(), role, &mut diagnostics);
    let mut directives = Directives::default();
    let mut parts = function.syntax().children_with_tokens();
    while let Some(part) = parts.next() {
        if let Some(directive) = part.into_node().and_then(PerformanceDirective::cast) {
            // The place where ptxas reports a problem of a directive.
            let behind = parts.clone().find_map(first_solid);
            let found = performance::read(&directive, behind, is_entry, header, &mut directives);
            diagnostics.extend(found.err());
        }
    }
    let results_in_memory = results.len() > 1 && results.iter().any(|result| !result.in_register);
    if results_in_memory {
        diagnostics.push(Diagnostic::new(
            Code::InvalidParameter,
            name.span(),
            "several results are possible in registers only",
        ));
    }
    if directives.noreturn && !results.is_empty() {
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            name.span(),
            "a function that does not return has no result",
        ));
    }
    if linkage == Some(Linkage::Extern) && function.body().is_some() {
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            name.span(),
            "an `.extern` function has no body",
        ));
    }
    for pragma in function.pragmas() {
        let scoped = pragma.strings().iter().any(|text| is_scoped(text));
        if !is_entry || scoped {
            let message = if scoped {
                "this pragma belongs inside a function"
            } else {
                "a pragma is allowed before the body of a kernel only"
            };
            diagnostics.push(Diagnostic::new(Code::InvalidDirective, pragma.span(), message));
        }
        directives.pragmas.extend(pragma.strings());
    }
    if is_entry {
        check_limits(function, name, header, &parameters, &directives, &mut diagnostics);
    }
    let signature = Signature { results, parameters, noreturn: directives.noreturn };
    Some(FunctionHead {
        name: name.text().to_string(),
        name_span: name.span(),
        linkage,
        has_body: function.body().is_some(),
        info: SignatureInfo { is_entry, signature, external: function.body().is_none() },
        directives,
        parameter_names,
        diagnostics,
    })
}

/// Whether a pragma is valid inside a function only.
pub(crate) fn is_scoped(text: &str) -> bool {
    let name = text.split_whitespace().next().unwrap_or_default();
    matches!(name, "used_bytes_mask" | "frequency" | "enable_smem_spilling")
}

fn check_limits(
    function: &Function,
    name: TokenRef<'_>,
    header: &HeaderView<'_>,
    parameters: &[Parameter],
    directives: &Directives,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let size = parameters.last().map_or(0, |last| u64::from(last.offset) + last.size());
    let large = header.has_version((8, 1)) && header.has_chips(Chips::From(70));
    let limit = if large { 32764 } else { 4352 };
    if size > limit {
        // ptxas reports it at the end of the body.
        let end = function.span().end();
        diagnostics.push(
            Diagnostic::new(
                Code::TooMuchParameterSpace,
                Span::new(end.saturating_sub(1), 1),
                format!("`{}` has {size} bytes of parameters; {limit} are possible", name.text()),
            )
            .with_label(name.span(), "this kernel"),
        );
    }
    if directives.maxntid.is_some() && directives.reqntid.is_some() {
        let end = function.span().end();
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            Span::new(end.saturating_sub(1), 1),
            "`.maxntid` and `.reqntid` cannot both be given",
        ));
    }
    let end = Span::new(function.span().end().saturating_sub(1), 1);
    if directives.reqnctapercluster.is_some() && directives.maxclusterrank.is_some() {
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            end,
            "`.reqnctapercluster` and `.maxclusterrank` cannot both be given",
        ));
    }
    if directives.blocksareclusters
        && (directives.reqntid.is_none() || directives.reqnctapercluster.is_none())
    {
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            end,
            "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`",
        ));
    }
    let ignored = match directives.block_threads() {
        None if directives.minnctapersm.is_some() => {
            Some("`.minnctapersm` has no effect without `.maxntid` or `.reqntid`".to_owned())
        }
        Some(threads) if !header.holds(1, threads) => {
            Some(format!("an SM of the target does not hold {threads} threads; they do not bound the registers"))
        }
        Some(threads) => directives.minnctapersm.filter(|&blocks| !header.holds(blocks, threads)).map(|blocks| {
            format!(
                "`.minnctapersm` has no effect: an SM of the target does not hold {blocks} blocks of {threads} threads"
            )
        }),
        None => None,
    };
    diagnostics.extend(ignored.map(|message| Diagnostic::new(Code::Ignored, name.span(), message)));
}

/// The role of the parameters of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Parameters of a kernel.
    Kernel,
    /// Parameters of a function.
    Input,
    /// Results of a function.
    Result,
}

/// A list of parameters as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListKind {
    /// The role of the parameters.
    pub role: Role,
    /// Whether they belong to a function with a body, and not to a declaration or a prototype.
    pub defined: bool,
}

/// The parameters of a kernel begin at a multiple of this on every chip.
pub(crate) const BLOCK_ALIGNMENT: u32 = 16;

/// Reads a list of parameters; their names and places go to `names`.
pub(crate) fn parameters<'t>(
    list: &[ast::Parameter<'t>],
    kind: ListKind,
    header: &HeaderView<'_>,
    mut names: Option<&mut Vec<(&'t str, Span)>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Parameter> {
    let is_entry = kind.role == Role::Kernel;
    let mut parameters = Vec::new();
    let mut offset: u64 = 0;
    for (index, parameter) in list.iter().enumerate() {
        let in_register = parameter.space().is_some_and(|space| space.text() == ".reg");
        let declarator = parameter.declarator();
        let name = declarator.and_then(ast::Declarator::name);
        let span = name.map_or_else(|| parameter.span(), TokenRef::span);
        if is_entry && (in_register || parameter.space().is_none_or(|space| space.text() != ".param")) {
            diagnostics.push(Diagnostic::new(
                Code::InvalidParameter,
                span,
                "the parameters of a kernel are in `.param` space",
            ));
        }
        let space = if is_entry { Space::KernelParameter } else { Space::FunctionParameter };
        let shape = match shape(parameter, declarator, space, None, diagnostics) {
            Some(shape) => shape,
            // Keeps the indices of the parameters that follow.
            None => Shape::of(Type::B32),
        };
        if let Some((code, message)) =
            problem(parameter, &shape, in_register, kind, index + 1 == list.len(), header)
        {
            diagnostics.push(Diagnostic::new(code, span, message));
        }
        let Shape { ty, vector, length, size, align, .. } = shape;
        // A texture, sampler or surface takes no space among the parameters.
        let (size, align) = if ty.is_opaque() { (0, 1) } else { (size, align) };
        if let Some(names) = names.as_deref_mut() {
            names.push((name.map_or("", TokenRef::text), span));
        }
        let pointer = parameter.ptr().map(|ptr| pointer(&ptr, span, is_entry, header, diagnostics));
        // A parameter with a larger alignment than the block is aligned in the constant bank, not in the block.
        let behind =
            if is_entry && align > BLOCK_ALIGNMENT { u64::from(header.parameters_behind()) } else { 0 };
        offset = (behind + offset).next_multiple_of(u64::from(align.max(1))) - behind;
        let elements = if vector > 1 { Some(u64::from(vector) * length.unwrap_or(1)) } else { length };
        parameters.push(Parameter {
            ty,
            length: elements,
            align,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            pointer,
            in_register,
        });
        offset = offset.saturating_add(size);
    }
    parameters
}

/// The problem of a parameter, if any.
fn problem(
    parameter: &ast::Parameter<'_>,
    shape: &Shape,
    in_register: bool,
    kind: ListKind,
    last: bool,
    header: &HeaderView<'_>,
) -> Option<(Code, &'static str)> {
    let kernel = kind.role == Role::Kernel;
    if !in_register {
        match shape.ty {
            Type::Pred => return Some((Code::InvalidType, "a predicate cannot be in `.param` space")),
            Type::F16x2 => {
                return Some((
                    Code::InvalidType,
                    "an `.f16x2` or `.bf16x2` value cannot be in `.param` space",
                ));
            }
            _ => {}
        }
    }
    let declarator = parameter.declarator();
    let message = if shape.dimensions.len() > 1
        || declarator.is_some_and(|declarator| declarator.initializer().is_some())
    {
        "a parameter has at most one dimension and no initial value"
    } else if !kernel && parameter.space().is_none() {
        "a parameter of a function is in `.param` or `.reg` space"
    } else if shape.open && kernel {
        "a parameter of a kernel cannot be an array without a size"
    } else if shape.open && kind.role == Role::Result {
        "a result cannot be an array without a size"
    } else if shape.open && !last {
        "only the last parameter can be an array without a size"
    } else if shape.open && in_register {
        "an array without a size is in `.param` space"
    } else if shape.open && !header.has_version((6, 0)) {
        return Some((Code::NeedsVersion, "an array without a size needs `.version` 6.0 or later"));
    } else if shape.open && !header.has_chips(Chips::From(30)) {
        return Some((Code::NeedsChip, "an array without a size needs `sm_30` or later"));
    } else if in_register && kind.defined && !shape.dimensions.is_empty() {
        "an array cannot be in a register"
    } else if !in_register && shape.vector > 1 && (kernel || (kind.defined && !shape.open)) {
        "a parameter in `.param` space cannot have a vector type"
    } else {
        return None;
    };
    Some((Code::InvalidParameter, message))
}

/// Reads a `.ptr` clause: space and alignment of the pointee.
fn pointer(
    ptr: &ast::PtrClause<'_>,
    span: Span,
    is_entry: bool,
    header: &HeaderView<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Space>, u32) {
    let word = ptr.space().map(|word| word.text().trim_start_matches('.'));
    let space = word.and_then(Space::from_name);
    let opaque = word.and_then(Type::from_name).is_some_and(|ty| ty.is_opaque());
    let memory = match space {
        Some(space) => matches!(space, Space::Global | Space::Constant | Space::Local | Space::Shared),
        None => word.is_none() || opaque,
    };
    if !is_entry || !memory {
        diagnostics.push(Diagnostic::new(
            Code::InvalidParameter,
            span,
            "`.ptr` is for parameters of kernels, and names a memory",
        ));
    } else {
        let (since, message) = if opaque {
            ((4, 3), "pointers to textures, samplers and surfaces need `.version` 4.3 or later")
        } else {
            ((2, 2), "`.ptr` needs `.version` 2.2 or later")
        };
        if !header.has_version(since) {
            diagnostics.push(Diagnostic::new(Code::NeedsVersion, span, message));
        }
    }
    (space, ptr.align().and_then(|align| alignment(&align, diagnostics)).unwrap_or(4))
}

/// The place of the first word of a part, if it has one.
fn first_solid(part: ElementRef<'_>) -> Option<Span> {
    let token = match part {
        NodeOrToken::Node(node) => node.first_solid_token(),
        NodeOrToken::Token(token) => (!token.kind().is_trivia()).then_some(token),
    };
    token.map(TokenRef::span)
}
