//! Performance directives of a head: their values and their places.

use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_ptx::table::Chips;
use oriole_syntax::ast::{self, AstNode, PerformanceDirective};

use crate::module_context::HeaderView;
use crate::register_bounds::is_change;
use crate::{Body, Directives, SourceMap, Statement, evaluate};

/// Directives that are possible for functions; all others are for kernels.
const OF_FUNCTIONS: [&str; 4] = [".noreturn", ".abi_preserve", ".abi_preserve_control", ".unique"];

/// Reads a directive. Errors are reported at `behind`, the next word, where ptxas reports them there.
pub(crate) fn read(
    directive: &PerformanceDirective,
    behind: Option<Span>,
    is_entry: bool,
    header: &HeaderView<'_>,
    directives: &mut Directives,
) -> Result<(), Diagnostic> {
    let Some(word) = directive.word().map(|word| word.text()) else { return Ok(()) };
    let span = directive.span();
    let values = values(word, directive, behind)?;
    place(word, span, is_entry)?;
    availability(word, behind.unwrap_or(span), header)?;
    enter(word, &values, directives).map_err(|(code, message)| Diagnostic::new(code, span, message))
}

/// The numbers of a directive.
fn values(
    word: &str,
    directive: &PerformanceDirective,
    behind: Option<Span>,
) -> Result<Vec<u32>, Diagnostic> {
    // Numbers just below 2^64 are taken as their low 32 bits, but not as numbers of threads.
    let least = if matches!(word, ".maxntid" | ".reqntid") { 0 } else { i64::from(i32::MIN) };
    let value = |value: ast::Operand<'_>| {
        let error =
            |span, what| Diagnostic::new(Code::InvalidDirective, span, format!("`{word}` takes {what}"));
        if !matches!(value, ast::Operand::Literal(_)) {
            return Err(error(value.span(), "numbers, not expressions"));
        }
        match evaluate(&value)?.integer() {
            Some(number) if number != 0 && (least..=i64::from(u32::MAX)).contains(&number) => {
                Ok(number as u32)
            }
            // For clusters zero means no constraint.
            Some(0) if matches!(word, ".reqnctapercluster" | ".maxclusterrank") => Ok(1),
            _ => Err(error(behind.unwrap_or_else(|| value.span()), "positive numbers")),
        }
    };
    directive.values().map(value).collect()
}

/// Warns of changes of the number of registers that have no effect, since the initial number is not known.
pub(crate) fn check_register_changes(body: &Body, map: &SourceMap, found: &mut Vec<Diagnostic>) {
    if !body.is_entry || body.changes_registers {
        return;
    }
    let instructions = body.statements.iter().filter(|it| matches!(it, Statement::Instruction(_)));
    let changes = instructions.zip(&map.instructions).filter(|(it, _)| is_change(it));
    let mut places = changes.map(|(_, &span)| span);
    let Some(first) = places.next() else { return };
    let message =
        "`setmaxnreg` has no effect: the kernel does not say how many registers a thread starts with";
    let help = "state `.maxnreg`, or `.minnctapersm` together with `.maxntid` or `.reqntid`";
    let told = Diagnostic::new(Code::RegisterChangeIgnored, first, message).with_help(help);
    found.push(places.fold(told, |told, place| told.with_label(place, "nor has this one")));
}

/// Whether the directive is valid for this kind of function, kernel or not.
fn place(word: &str, span: Span, is_entry: bool) -> Result<(), Diagnostic> {
    let wanted = match (OF_FUNCTIONS.contains(&word), is_entry) {
        (false, false) => "kernels",
        (true, true) => "functions",
        _ => return Ok(()),
    };
    Err(Diagnostic::new(Code::InvalidDirective, span, format!("`{word}` is for {wanted} only")))
}

/// Whether the module's version and targets have the directive.
fn availability(word: &str, span: Span, header: &HeaderView<'_>) -> Result<(), Diagnostic> {
    let since = match word {
        ".reqnctapercluster" | ".explicitcluster" | ".maxclusterrank" => (7, 8),
        ".blocksareclusters" => (9, 0),
        _ => return Ok(()),
    };
    if !header.has_version(since) {
        let message = format!("`{word}` needs `.version` {}.{} or later", since.0, since.1);
        return Err(Diagnostic::new(Code::NeedsVersion, span, message));
    }
    if !header.has_chips(Chips::From(90)) {
        let message = format!("`{word}` needs `sm_90` or later");
        return Err(Diagnostic::new(Code::NeedsChip, span, message));
    }
    Ok(())
}

/// Enters the directive. A later value replaces an earlier one, as in ptxas.
fn enter(word: &str, values: &[u32], directives: &mut Directives) -> Result<(), (Code, String)> {
    let shape = |values: &[u32]| {
        let mut all = [1; 3];
        all[..values.len()].copy_from_slice(values);
        all
    };
    let most = match word {
        ".maxntid" | ".reqntid" | ".reqnctapercluster" => 3,
        ".minnctapersm" | ".maxnreg" | ".maxclusterrank" => 1,
        _ => return enter_word(word, directives),
    };
    if !(1..=most).contains(&values.len()) {
        let wanted = if most == 1 { "1" } else { "1 to 3" };
        let message = format!("`{word}` takes {wanted} numbers, found {}", values.len());
        return Err((Code::InvalidDirective, message));
    }
    match word {
        ".maxntid" => directives.maxntid = Some(shape(values)),
        ".reqntid" => directives.reqntid = Some(shape(values)),
        ".reqnctapercluster" => directives.reqnctapercluster = Some(shape(values)),
        ".minnctapersm" => directives.minnctapersm = Some(values[0]),
        ".maxnreg" => directives.maxnreg = Some(values[0]),
        _ => directives.maxclusterrank = Some(values[0]),
    }
    Ok(())
}

/// Enters a directive without values.
fn enter_word(word: &str, directives: &mut Directives) -> Result<(), (Code, String)> {
    match word {
        ".explicitcluster" => directives.explicitcluster = true,
        ".blocksareclusters" => directives.blocksareclusters = true,
        ".noreturn" => directives.noreturn = true,
        ".maxnctapersm" => {
            let message = "`.maxnctapersm` was replaced by `.minnctapersm` in PTX 2.0";
            return Err((Code::InvalidDirective, message.to_owned()));
        }
        // These control calling conventions that this compiler does not use.
        ".abi_preserve" | ".abi_preserve_control" | ".unique" => {}
        ".minperctamemory" => {
            let message = "`.minperctamemory` (memory for each block, PTX 9.4) cannot be compiled yet";
            return Err((Code::NotSupported, message.to_owned()));
        }
        other => {
            let message = format!("no performance directive is called `{other}`");
            return Err((Code::UnknownDirective, message));
        }
    }
    Ok(())
}
