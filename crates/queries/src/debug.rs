//! Sections for debuggers: what the stages know of the origin of each instruction, and what the text says of places in the source, joined.
//!
//! It is here, after the images, so that no code depends on the number of a line: stages name instructions by ordinals, and the places of
//! these come in last. How sections are made is in `oriole-link`.

use std::sync::Arc;

use oriole_chip::WordShape;
use oriole_cubin::SymbolRef;
use oriole_cubin::layout::padded_words;
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_link::debug_info::{
    CodePlaces, DebugParts, FinishedCode, KernelLines, LinedCode, LinedMember, TextSections, add_sections,
    line_sections, name_in_module,
};
use oriole_options::Linking;
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::failure::{Failed, Staged, guarded};
use crate::files::Index;
use crate::{configuration, files, functions, images, weight};

/// Where the code of a kernel stems from, in places of its units. Asked for only where the container has line tables.
#[query(returns(ref), heap_size = weight::lines)]
pub fn kernel_lines<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<KernelLines> {
    let image = images::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
    let words = configuration::target_of(db, config)?.words;
    let inner = image.functions.iter().filter_map(|function| {
        let unit = files::function_unit(db, unit.file(db), name_in_module(image, function)?)?;
        Some((unit, function.offset))
    });
    let member = |(unit, base): (FunctionUnit<'db>, u32)| {
        let origins = &functions::encoded(db, unit, config).as_ref().map_err(Clone::clone)?.encoded.origins;
        Ok(LinedMember { name: unit.name(db).clone(), base, origins, map: files::source_map(db, unit) })
    };
    let members = std::iter::once((unit, image.own_start)).chain(inner).map(member);
    let members: Vec<LinedMember<'_>> = members.collect::<Result<_, Failed>>()?;
    Ok(triomphe::Arc::new(KernelLines::new(words, members)))
}

/// Places in a kernel or function that debug sections name: labels, local variables, parameters. Only for
/// debug builds.
#[query(returns(ref), heap_size = weight::places)]
pub fn code_places<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Staged<CodePlaces> {
    let body = files::body(db, unit).as_deref().ok_or(Failed::Diagnosed)?;
    let image = images::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
    let linked = functions::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
    let target = configuration::target_of(db, config)?;
    let code = FinishedCode { body, map: files::source_map(db, unit), linked, image };
    Ok(triomphe::Arc::new(CodePlaces::new(target, &code)))
}

/// The sections for debuggers. This query alone reads the text of the file and where its units begin, and only where the
/// container has line tables: they number the lines of the text.
#[query(returns(ref), heap_size = weight::sections)]
pub fn debug_sections(db: &dyn Db, file: SourceFile, config: Config) -> Staged<DebugParts> {
    let options = configuration::debug_options(db, config);
    let index = files::index(db, file);
    let functions = &index.functions;
    let mut with_code = functions.iter().filter(|unit| unit.has_code(db));
    let for_debuggers = configuration::is_for_debuggers(db, file, config);
    let wanted = options.lines || for_debuggers || with_code.any(|&unit| files::has_lines(db, unit));
    if options.suppressed || !wanted {
        return Ok(triomphe::Arc::default());
    }
    let words = configuration::target_of(db, config)?.words;
    let units = files::split_file(db, file).iter().enumerate();
    let of_text = units.filter(|(_, unit)| unit.kind(db) == UnitKind::DebugSection);
    let data = TextSections::new(of_text.map(|(ordinal, &unit)| (ordinal, &**files::debug_data(db, unit))));
    let text = file.cut(db).text();
    let code: Vec<FunctionUnit<'_>> = match configuration::lowering(db, file, config).separate() {
        true => files::own_sections(db, file).collect(),
        false => functions.iter().copied().filter(|unit| unit.kind(db) == UnitKind::Entry).collect(),
    };
    let lined = lined_code(db, config, words, index, &code)?;
    let linked = configuration::lower_options(db, config).linking == Linking::Relocatable;
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
    config: Config,
    words: WordShape,
    index: &Index<'db>,
    code: &[FunctionUnit<'db>],
) -> Result<Vec<LinedCode<'db>>, Failed> {
    let lined = |(at, &unit): (usize, &FunctionUnit<'db>)| {
        let lines = kernel_lines(db, unit, config).as_ref().map_err(Clone::clone)?;
        let image = images::kernel_image(db, unit, config).as_ref().map_err(Clone::clone)?;
        let start = |name: &Arc<str>| index.definition(name).map_or(0, |unit| unit.start(db));
        let starts = lines.members.iter().map(start).collect();
        let size = words.size(padded_words(words, image.code.len()));
        Ok(LinedCode { code: SymbolRef::Kernel(at), lines, starts, size })
    };
    code.iter().enumerate().rev().map(lined).collect()
}

/// The places of sections of code by their names, and the names of variables of the module and of shared memory.
type Named<'db> = (Vec<(&'db str, triomphe::Arc<CodePlaces>)>, Vec<&'db str>);

/// Names that debug sections may use.
fn named<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    code: &[FunctionUnit<'db>],
) -> Result<Named<'db>, Failed> {
    let (mut places, mut variables): Named<'db> = Default::default();
    for &unit in code {
        let place = code_places(db, unit, config).clone()?;
        places.push((unit.name(db), place));
        let linked = functions::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
        variables.extend(linked.shared.iter().map(|(name, ..)| name.as_str()));
    }
    variables.extend(images::module_data(db, file).iter().map(|variable| variable.name.as_str()));
    Ok((places, variables))
}
