//! Sections for debuggers: what the stages know of the origin of each instruction, and what the text says of places in the source, joined.
//!
//! It is here, after everything, so that no code depends on the number of a line: stages name instructions by ordinals, and the places of
//! these come in last. How sections are made is in `oriole-link`.

use std::sync::Arc;

use oriole_chip::WordShape;
use oriole_cubin::SymbolRef;
use oriole_cubin::layout::padded_words;
use oriole_diagnostics::{Code, Diagnostic, Span};
use oriole_hir::HeaderQuestion;
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_link::debug_info::{
    CodePlaces, DebugParts, FinishedCode, KernelLines, LinedCode, LinedMember, TextSections, add_sections,
    line_sections, name_in_module,
};
use oriole_options::Linking;
use oriole_syntax::UnitKind;

use crate::failure::{Failed, Staged, guarded};
use crate::graph;
use crate::module::function_unit;
use crate::{relocatable, stage};

/// Whether the container is to have all that debuggers read. At other levels than 0 there is none but line tables.
pub(crate) fn is_for_debuggers(db: &dyn Db, file: SourceFile, config: Config) -> bool {
    let options = graph::debug_options(db, config);
    let header = || graph::header_answer(db, file, HeaderQuestion::Debug);
    !options.suppressed && graph::lower_options(db, config).unoptimized && (options.full || header())
}

/// What debuggers will miss: there is nothing for them in optimized code.
pub fn optimized_diagnostic(db: &dyn Db, file: SourceFile, config: Config) -> Option<Diagnostic> {
    let options = graph::debug_options(db, config);
    let asks = !options.suppressed && (options.full || graph::module_header(db, file).debug);
    let misses = asks && !graph::lower_options(db, config).unoptimized;
    let message = "the module is for debuggers, and optimized code has line tables at most: compile with -O0";
    misses.then(|| Diagnostic::new(Code::DebugInformation, Span::point(0), message.to_owned()))
}

pub(crate) fn code_places<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<CodePlaces> {
    let body = graph::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    let image = graph::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
    let linked = graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
    let target = stage::target_of(db, config)?;
    let code = FinishedCode { body, map: graph::source_map(db, unit), linked, image };
    Ok(triomphe::Arc::new(CodePlaces::new(target, &code)))
}

pub(crate) fn kernel_lines<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> Staged<KernelLines> {
    let image = graph::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
    let words = stage::target_of(db, config)?.words;
    let inner = image.functions.iter().filter_map(|function| {
        let unit = function_unit(db, unit.file(db), name_in_module(image, function)?)?;
        Some((unit, function.offset))
    });
    let member = |(unit, base): (FunctionUnit<'db>, u32)| {
        let origins = &graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?.encoded.origins;
        Ok(LinedMember { name: unit.name(db).clone(), base, origins, map: graph::source_map(db, unit) })
    };
    let members = std::iter::once((unit, image.own_start)).chain(inner).map(member);
    let members: Vec<LinedMember<'_>> = members.collect::<Result<_, Failed>>()?;
    Ok(triomphe::Arc::new(KernelLines::new(words, members)))
}

pub(crate) fn sections(db: &dyn Db, file: SourceFile, config: Config) -> Staged<DebugParts> {
    let options = graph::debug_options(db, config);
    let functions = &graph::index(db, file).functions;
    let mut with_code = functions.iter().filter(|unit| unit.has_code(db));
    let for_debuggers = is_for_debuggers(db, file, config);
    let wanted = options.lines || for_debuggers || with_code.any(|&unit| graph::has_lines(db, unit));
    if options.suppressed || !wanted {
        return Ok(triomphe::Arc::default());
    }
    let words = stage::target_of(db, config)?.words;
    let units = graph::split_file(db, file).iter().enumerate();
    let of_text = units.filter(|(_, unit)| unit.kind(db) == UnitKind::DebugSection);
    let data = TextSections::new(of_text.map(|(ordinal, &unit)| (ordinal, &**graph::debug_data(db, unit))));
    let text = file.cut(db).text();
    let code: Vec<FunctionUnit<'_>> = match graph::lowering(db, file, config).separate() {
        true => relocatable::sections(db, file).collect(),
        false => functions.iter().copied().filter(|unit| unit.kind(db) == UnitKind::Entry).collect(),
    };
    let lined = lined_code(db, file, config, words, &code)?;
    let linked = graph::lower_options(db, config).linking == Linking::Relocatable;
    let (places, variables) =
        if for_debuggers { named(db, file, config, &code)? } else { Default::default() };
    guarded("debug_sections", || {
        let sections = line_sections(text, &data, &lined, linked)?;
        if !for_debuggers {
            return Ok(DebugParts { sections: triomphe::Arc::new(sections), ..DebugParts::default() });
        }
        Ok(add_sections(&data, &places, &variables, linked, sections)?)
    })
}

/// The rows of sections of code, as these are in the file: the last of the source comes first.
fn lined_code<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    words: WordShape,
    code: &[FunctionUnit<'db>],
) -> Result<Vec<LinedCode<'db>>, Failed> {
    let index = graph::index(db, file);
    let lined = |(at, &unit): (usize, &FunctionUnit<'db>)| {
        let lines = graph::kernel_lines(db, unit, config).as_ref().map_err(Clone::clone)?;
        let image = graph::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
        let start = |name: &Arc<str>| index.definition(name).map_or(0, |unit| unit.start(db));
        let starts = lines.members.iter().map(start).collect();
        let size = words.size(padded_words(words, image.code.len()));
        Ok(LinedCode { code: SymbolRef::Kernel(at), lines, starts, size })
    };
    code.iter().enumerate().rev().map(lined).collect()
}

/// The places of sections of code by their names, and the names of variables of the module and of shared memory.
type Named<'db> = (Vec<(&'db str, triomphe::Arc<CodePlaces>)>, Vec<&'db str>);

/// What debug sections may name.
fn named<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    code: &[FunctionUnit<'db>],
) -> Result<Named<'db>, Failed> {
    let (mut places, mut variables): Named<'db> = Default::default();
    for &unit in code {
        let place = graph::code_places(db, unit, config).clone()?;
        places.push((unit.name(db), place));
        let linked = graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
        variables.extend(linked.shared.iter().map(|(name, ..)| name.as_str()));
    }
    variables.extend(graph::module_data(db, file).iter().map(|variable| variable.name.as_str()));
    Ok((places, variables))
}
