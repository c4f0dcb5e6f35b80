//! Inlay hints after instructions and lenses above kernels, from compiled code.

use oriole_chip::Chip;
use oriole_pipeline::facts::Wait;
use oriole_queries::files;
use oriole_syntax::UnitKind;

use crate::cursor::units_in;
use crate::snapshot::Snapshot;
use crate::{Feature, FileId, KernelStatistics, Range};

/// The kind of a hint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum HintKind {
    /// General registers that are live.
    Live,
    /// Machine instructions.
    Instructions,
    /// Cycles that they stall.
    Stall,
    /// Spills.
    Spill,
}

/// The enabled hints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HintOptions {
    /// Live registers.
    pub live: bool,
    /// Machine instructions.
    pub instructions: bool,
    /// Stall cycles.
    pub stalls: bool,
    /// Spills.
    pub spills: bool,
}

impl Default for HintOptions {
    fn default() -> HintOptions {
        HintOptions { live: true, instructions: true, stalls: true, spills: true }
    }
}

/// A hint after an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The position.
    pub at: u32,
    /// Its parts in order.
    pub parts: Vec<(HintKind, String)>,
    /// Explanations, one sentence each.
    pub why: Vec<String>,
    /// It is from the last good result.
    pub stale: bool,
}

pub(crate) fn hints(snapshot: &Snapshot, file: FileId, range: Range, options: HintOptions) -> Vec<Hint> {
    let Some(source) = snapshot.ptx(file).filter(|_| snapshot.is_on(file, Feature::Hints)) else {
        return Vec::new();
    };
    let Some(&chip) = snapshot.chips(file).first() else { return Vec::new() };
    let db = &snapshot.db;
    let mut all = Vec::new();
    for (unit, _) in units_in(db, source, range).filter(|(unit, _)| unit.has_code(db)) {
        let Some(shown) = snapshot.compiled(file, unit, chip) else { continue };
        let facts = &shown.compiled.facts;
        // Words and spills by statement, each list walked once.
        let count = shown.compiled.map.instructions.len();
        let mut words: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (index, word) in facts.words.iter().enumerate() {
            if let Some(list) = words.get_mut(word.statement as usize) {
                list.push(index);
            }
        }
        let mut spills = vec![(0u32, 0u32); count];
        for spill in &facts.spills {
            if let Some(known) = spills.get_mut(spill.statement as usize) {
                if spill.reload { known.1 += 1 } else { known.0 += 1 }
            }
        }
        for (ordinal, place) in shown.statements_in(range) {
            let own = &words[ordinal as usize];
            let mut parts = Vec::new();
            let mut why = Vec::new();
            if let Some(live) = facts.live_at(ordinal).filter(|_| options.live) {
                parts.push((HintKind::Live, format!("{} live", live.general)));
            }
            if options.instructions {
                parts.push((HintKind::Instructions, format!("{} SASS", own.len())));
            }
            let stall: u32 = own.iter().map(|&at| u32::from(facts.words[at].stall.max(1))).sum();
            if options.stalls && !own.is_empty() {
                parts.push((HintKind::Stall, format!("{stall} cyc")));
                for wait in own.iter().flat_map(|&at| &facts.words[at].waits) {
                    why.extend(reason(wait, &shown.compiled.code.encoded.words, chip));
                }
            }
            let (stores, loads) = spills[ordinal as usize];
            if options.spills && stores + loads > 0 {
                parts.push((HintKind::Spill, format!("{stores} spilled, {loads} reloaded")));
                why.push(format!(
                    "{} registers are live at the peak of the function, more than it may use",
                    facts.peak.live.general
                ));
            }
            if !parts.is_empty() {
                all.push(Hint { at: place.end, parts, why, stale: shown.stale });
            }
        }
    }
    all
}

fn reason(wait: &Wait, words: &[oriole_sass::InstructionWord], chip: Chip) -> Option<String> {
    let mnemonic = |index: u32| {
        let instruction = oriole_sass::decode(chip, *words.get(index as usize)?).ok()?;
        Some(instruction.op.name())
    };
    Some(match *wait {
        Wait::Result { producer, consumer, cycles, file, register } => format!(
            "{} reads {} and {} has it after {cycles} cycles",
            mnemonic(consumer)?,
            crate::sass::register_name(file, register),
            mnemonic(producer)?
        ),
        Wait::Scoreboard { setter, results, .. } => {
            let what = if results { "the results of" } else { "the sources of" };
            format!("waits for {what} {}", mnemonic(setter)?)
        }
        Wait::Opcode => return None,
    })
}

/// A lens above a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lens {
    /// The kernel.
    pub kernel: String,
    /// Its name in the text.
    pub range: Range,
    /// The resource use; `None` until it is requested.
    pub statistics: Option<KernelStatistics>,
}

impl Lens {
    /// The figures in one line.
    pub fn title(&self) -> Option<String> {
        let found = self.statistics.as_ref()?;
        let stack = found.stack.map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
        let stale = if found.stale { " (stale)" } else { "" };
        let without = if found.cycles_without.is_empty() { "" } else { " without some calls" };
        let name = crate::demangle::readable(&self.kernel)
            .map_or(String::new(), |_| format!("{} · ", crate::demangle::short(&self.kernel, 60)));
        Some(format!(
            "{name}{}{stale}: {} registers, {} B shared, {stack} B stack, {} spills, {}/{} warps at {} threads, \
             ~{} cycles{without}",
            found.chip,
            found.registers,
            found.shared,
            found.spills.0 + found.spills.1,
            found.warps.0,
            found.warps.1,
            found.threads.0,
            found.cycles
        ))
    }
}

pub(crate) fn kernel_names(snapshot: &Snapshot, file: FileId) -> Vec<String> {
    let db = &snapshot.db;
    let Some(source) = snapshot.ptx(file) else { return Vec::new() };
    let units = files::split_file(db, source).iter();
    let kernels = units.filter(|unit| unit.kind(db) == UnitKind::Entry);
    kernels.map(|unit| unit.name(db).to_string()).filter(|name| !name.is_empty()).collect()
}

pub(crate) fn lenses(snapshot: &Snapshot, file: FileId) -> Vec<Lens> {
    if !snapshot.is_on(file, Feature::Lenses) {
        return Vec::new();
    }
    let names = kernel_names(snapshot, file);
    names.into_iter().filter_map(|kernel| bare(snapshot, file, kernel)).collect()
}

/// A lens without figures.
fn bare(snapshot: &Snapshot, file: FileId, kernel: String) -> Option<Lens> {
    let db = &snapshot.db;
    let unit = snapshot.code_unit(file, &kernel)?;
    let span = files::source_map(db, unit).name;
    let range = Range::from(span).shifted(unit.start(db));
    Some(Lens { kernel, range, statistics: None })
}

pub(crate) fn lens(snapshot: &Snapshot, file: FileId, kernel: &str, chip: Chip) -> Option<Lens> {
    let lens = bare(snapshot, file, kernel.to_owned())?;
    let statistics = crate::kernel::statistics(snapshot, file, kernel, chip);
    Some(Lens { statistics, ..lens })
}
