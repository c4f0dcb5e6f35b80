//! Heads of functions: name, linkage, parameters, results, performance directives.
//!
//! It is here because callers need a head without its body. No statement of a body is read.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::table::Chips;
use oriole_ptx::{Space, Type};
use oriole_syntax::ast::{self, AstNode, DeclarationHead, Function, PerformanceDirective};
use oriole_syntax::{ElementRef, NodeOrToken, TokenRef};

use crate::surroundings::HeaderView;
use crate::variable::{Shape, shape};
use crate::{Directives, Parameter, Signature, SignatureInfo, evaluate};

/// Linkage of a function or variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// The single linkage word of a declaration; more than one is a finding.
pub(crate) fn single_linkage(
    words: &[(ast::Linkage, TokenRef<'_>)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Linkage> {
    if let Some((_, second)) = words.get(1) {
        diagnostics.push(Diagnostic::new(
            Code::InvalidVariable,
            second.span(),
            format!("`{}` and `{}` cannot stand together", words[0].1.text(), second.text()),
        ));
    }
    words.first().map(|word| match word.0 {
        ast::Linkage::Extern => Linkage::Extern,
        ast::Linkage::Visible => Linkage::Visible,
        ast::Linkage::Weak => Linkage::Weak,
        ast::Linkage::Common => Linkage::Common,
    })
}

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
    /// Findings, with spans relative to the unit.
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
    let mut read = |list: Vec<ast::Parameter<'t>>, diagnostics: &mut Vec<Diagnostic>| {
        parameters(&list, is_entry, Some(&mut parameter_names), diagnostics)
    };
    let results = read(function.results().collect(), &mut diagnostics);
    let parameters = read(function.parameters().collect(), &mut diagnostics);
    let mut directives = Directives::default();
    let mut parts = function.syntax().children_with_tokens();
    while let Some(part) = parts.next() {
        if let Some(directive) = part.into_node().and_then(PerformanceDirective::cast) {
            // Where other PTX compilers see what is wrong with a directive.
            let behind = parts.clone().find_map(first_solid);
            performance(&directive, behind, is_entry, header, &mut directives, &mut diagnostics);
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
                "this pragma stands inside a function"
            } else {
                "a pragma stands before the body of a kernel only"
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

/// Whether a pragma is one that stands inside a function only.
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
    let large = header.has_version((8, 1)) && header.every_target_from(70);
    let limit = if large { 32764 } else { 4352 };
    if size > limit {
        // Where the body ends is where other compilers report it.
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
    if directives.minnctapersm.is_some() && directives.maxntid.is_none() && directives.reqntid.is_none() {
        diagnostics.push(Diagnostic::new(
            Code::Ignored,
            name.span(),
            "`.minnctapersm` has no effect without `.maxntid` or `.reqntid`",
        ));
    }
}

/// Reads a list of parameters; their names and places go to `names`.
pub(crate) fn parameters<'t>(
    list: &[ast::Parameter<'t>],
    is_entry: bool,
    mut names: Option<&mut Vec<(&'t str, Span)>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut offset: u64 = 0;
    for parameter in list {
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
        let Shape { ty, vector, length, size, align, open, .. } =
            match shape(parameter, declarator, space, None, diagnostics) {
                Some(shape) => shape,
                // Keeps the numbering of the parameters that follow.
                None => Shape::of(Type::B32),
            };
        if let Some(names) = names.as_deref_mut() {
            names.push((name.map_or("", TokenRef::text), span));
        }
        if ty == Type::Pred && !in_register {
            diagnostics.push(Diagnostic::new(
                Code::InvalidType,
                span,
                "a predicate cannot be in `.param` space",
            ));
        }
        if ty == Type::F16x2 && !in_register {
            diagnostics.push(Diagnostic::new(
                Code::InvalidType,
                span,
                "a pair of halves cannot be in `.param` space",
            ));
        }
        let dimensions = declarator.map_or(0, |declarator| declarator.dimensions().count());
        if dimensions > 1 || declarator.is_some_and(|declarator| declarator.initializer().is_some()) {
            diagnostics.push(Diagnostic::new(
                Code::InvalidParameter,
                span,
                "a parameter has at most one dimension and no initial value",
            ));
        }
        if is_entry && open {
            diagnostics.push(Diagnostic::new(
                Code::InvalidParameter,
                span,
                "a parameter of a kernel cannot be an array without a size",
            ));
        }
        if is_entry && vector > 1 {
            diagnostics.push(Diagnostic::new(
                Code::InvalidParameter,
                span,
                "a parameter of a kernel cannot have a vector type",
            ));
        }
        let pointer = parameter.ptr().map(|ptr| {
            let space = ptr.space().and_then(|word| Space::from_name(word.text().trim_start_matches('.')));
            let memory = match space {
                Some(space) => {
                    matches!(space, Space::Global | Space::Constant | Space::Local | Space::Shared)
                }
                None => ptr.space().is_none(),
            };
            if !is_entry || !memory {
                diagnostics.push(Diagnostic::new(
                    Code::InvalidParameter,
                    span,
                    "`.ptr` is for parameters of kernels, and names a memory",
                ));
            }
            (space, ptr.align().and_then(|align| alignment(&align, diagnostics)).unwrap_or(4))
        });
        offset = offset.next_multiple_of(u64::from(align.max(1)));
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

/// The value of an `.align` clause.
pub(crate) fn alignment(clause: &ast::AlignClause, diagnostics: &mut Vec<Diagnostic>) -> Option<u32> {
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

fn performance(
    directive: &PerformanceDirective,
    behind: Option<Span>,
    is_entry: bool,
    header: &HeaderView<'_>,
    directives: &mut Directives,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(word) = directive.word() else { return };
    let span = directive.span();
    let mut values = Vec::new();
    for value in directive.values() {
        match evaluate(&value).map(|value| value.integer()) {
            Ok(Some(value)) if value > 0 && value <= i64::from(u32::MAX) => values.push(value as u32),
            // Zero says nothing of a cluster.
            Ok(Some(0)) if matches!(word.text(), ".reqnctapercluster" | ".maxclusterrank") => values.push(1),
            Ok(_) => {
                diagnostics.push(Diagnostic::new(
                    Code::InvalidDirective,
                    behind.unwrap_or_else(|| value.span()),
                    format!("`{}` takes positive numbers", word.text()),
                ));
                return;
            }
            Err(error) => {
                diagnostics.push(error);
                return;
            }
        }
    }
    let mut arity = |least: usize, most: usize| {
        let fits = (least..=most).contains(&values.len());
        if !fits {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            diagnostics.push(Diagnostic::new(
                Code::InvalidDirective,
                span,
                format!("`{}` takes {wanted} numbers, found {}", word.text(), values.len()),
            ));
        }
        fits
    };
    let three = |values: &[u32]| {
        let mut all = [1; 3];
        all[..values.len()].copy_from_slice(values);
        all
    };
    let launch = !matches!(word.text(), ".noreturn" | ".abi_preserve" | ".abi_preserve_control" | ".unique");
    if launch && !is_entry {
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            span,
            format!("`{}` is for kernels only", word.text()),
        ));
        return;
    }
    if !launch && is_entry && word.text() != ".noreturn" {
        diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            span,
            format!("`{}` is for functions only", word.text()),
        ));
        return;
    }
    let since = match word.text() {
        ".reqnctapercluster" | ".explicitcluster" | ".maxclusterrank" => Some((7, 8)),
        ".blocksareclusters" => Some((9, 0)),
        _ => None,
    };
    if let Some(since) = since {
        let found = if !header.has_version(since) {
            Some((Code::NeedsVersion, format!("needs `.version` {}.{} or later", since.0, since.1)))
        } else if !header.has_chips(Chips::From(90)) {
            Some((Code::NeedsChip, "needs `sm_90` or later".to_string()))
        } else {
            None
        };
        if let Some((code, what)) = found {
            let place = behind.unwrap_or(span);
            diagnostics.push(Diagnostic::new(code, place, format!("`{}` {what}", word.text())));
            return;
        }
    }
    // A later value replaces an earlier one, as other compilers have it.
    match word.text() {
        ".maxntid" if arity(1, 3) => directives.maxntid = Some(three(&values)),
        ".reqntid" if arity(1, 3) => directives.reqntid = Some(three(&values)),
        ".reqnctapercluster" if arity(1, 3) => directives.reqnctapercluster = Some(three(&values)),
        ".minnctapersm" if arity(1, 1) => directives.minnctapersm = Some(values[0]),
        ".maxnreg" if arity(1, 1) => directives.maxnreg = Some(values[0]),
        ".maxclusterrank" if arity(1, 1) => directives.maxclusterrank = Some(values[0]),
        ".maxnctapersm" => diagnostics.push(Diagnostic::new(
            Code::InvalidDirective,
            span,
            "`.maxnctapersm` was replaced by `.minnctapersm` in PTX 2.0",
        )),
        ".explicitcluster" => directives.explicitcluster = true,
        ".blocksareclusters" => directives.blocksareclusters = true,
        ".noreturn" if is_entry => {
            diagnostics.push(Diagnostic::new(
                Code::InvalidDirective,
                span,
                "`.noreturn` is for functions only",
            ));
        }
        ".noreturn" => directives.noreturn = true,
        // These steer conventions of the binary interface that the calls of this compiler do not have.
        ".abi_preserve"
        | ".abi_preserve_control"
        | ".unique"
        | ".maxntid"
        | ".reqntid"
        | ".reqnctapercluster"
        | ".minnctapersm"
        | ".maxnreg"
        | ".maxclusterrank" => {}
        other => diagnostics.push(Diagnostic::new(
            Code::UnknownDirective,
            span,
            format!("no performance directive is called `{other}`"),
        )),
    }
}

/// Where the first word of a part stands, if it has one.
fn first_solid(part: ElementRef<'_>) -> Option<Span> {
    let token = match part {
        NodeOrToken::Node(node) => node.first_solid_token(),
        NodeOrToken::Token(token) => (!token.kind().is_trivia()).then_some(token),
    };
    token.map(TokenRef::span)
}
