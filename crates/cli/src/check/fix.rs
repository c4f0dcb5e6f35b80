//! `check --fix`: the quick fixes of the editor, applied to a whole text until nothing more can be mended.
//!
//! A round applies all fixes that do not touch each other, and is kept only if the text has fewer mistakes after it: a fix that
//! makes another mistake is dropped. The fixes themselves are in `oriole-ide`.

use oriole_diagnostics::{Diagnostic, Family, Severity};
use oriole_ide::{AnalysisHost, Edit, Fix, Language, Range, SettingsId};

/// The most rounds; a fix may uncover the next mistake.
const ROUNDS: usize = 32;

/// The most fixes of a round that are tried one by one, if all together make it worse.
const TRIALS: usize = 32;

/// A text after its fixes.
pub struct Fixed {
    /// The text.
    pub text: String,
    /// The diagnostics that are left.
    pub left: Vec<Diagnostic>,
    /// The number of diagnostics that were fixed.
    pub count: usize,
}

/// The fixes of all diagnostics of a text.
pub fn fixes(text: &str) -> Vec<Fix> {
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, text, SettingsId(0));
    // Nothing cancels here.
    host.analysis().fixes(file, Range::new(0, text.len() as u32)).unwrap_or_default()
}

/// The fixes of one of the diagnostics.
pub fn of<'f>(fixes: &'f [Fix], diagnostic: &Diagnostic) -> impl Iterator<Item = &'f Fix> {
    let (code, range) = (diagnostic.code, Range::from(diagnostic.span));
    fixes.iter().filter(move |fix| fix.code == code && fix.range == range)
}

/// Applies fixes to a text; with `all` also those that may not be what was meant.
pub fn fixed(text: String, all: bool, check: &dyn Fn(&str) -> Vec<Diagnostic>) -> Fixed {
    let left = check(&text);
    let [_, errors, warnings] = mistakes(&left);
    let mut state = Fixed { text, left, count: 0 };
    for _ in 0..ROUNDS {
        if state.left.is_empty() {
            break;
        }
        let offered = fixes(&state.text);
        let chosen: Vec<&Fix> =
            state.left.iter().filter_map(|diagnostic| choice(&offered, diagnostic, all)).collect();
        let together = apart(&chosen);
        let next = after(&state, &together, check).or_else(|| {
            let mut alone = chosen.iter().take(TRIALS).filter(|_| together.len() > 1);
            alone.find_map(|fix| after(&state, &[*fix], check))
        });
        match next {
            Some(next) => state = next,
            None => break,
        }
    }
    // One fix may remove several mistakes.
    let [_, errors_left, warnings_left] = mistakes(&state.left);
    let gone = (errors + warnings).saturating_sub(errors_left + warnings_left);
    state.count = state.count.max(gone);
    state
}

/// The fix of a diagnostic that is applied, if there is one.
fn choice<'f>(offered: &'f [Fix], diagnostic: &Diagnostic, all: bool) -> Option<&'f Fix> {
    if diagnostic.severity == Severity::Note {
        return None;
    }
    let of_it: Vec<&Fix> = of(offered, diagnostic).collect();
    let safe = of_it.iter().copied().find(|fix| fix.safe);
    // Of several without a preferred one none is better than the others.
    let likely = || match of_it.as_slice() {
        &[one] => Some(one),
        several => several.iter().copied().find(|fix| fix.preferred),
    };
    safe.or_else(|| if all { likely() } else { None })
}

/// Those whose edits do not touch edits of the ones before, unless they are the same edits.
fn apart<'f>(chosen: &[&'f Fix]) -> Vec<&'f Fix> {
    let mut sorted: Vec<&Fix> = chosen.to_vec();
    sorted.sort_by_key(|fix| fix.edits.iter().map(|edit| edit.range).min());
    let mut kept: Vec<&Fix> = Vec::new();
    let mut end = None;
    for fix in sorted {
        if kept.last().is_some_and(|last| last.edits == fix.edits) {
            kept.push(fix);
            continue;
        }
        let start = fix.edits.iter().map(|edit| edit.range.start).min();
        if start.is_some() && (end.is_none() || start > end) {
            end = fix.edits.iter().map(|edit| edit.range.end).max().max(end);
            kept.push(fix);
        }
    }
    kept
}

/// The text with these fixes, if it has fewer mistakes.
fn after(state: &Fixed, fixes: &[&Fix], check: &dyn Fn(&str) -> Vec<Diagnostic>) -> Option<Fixed> {
    if fixes.is_empty() {
        return None;
    }
    let mut edits: Vec<Edit> = fixes.iter().flat_map(|fix| fix.edits.clone()).collect();
    edits.sort();
    edits.dedup();
    let text = Edit::apply(&state.text, &edits);
    let left = check(&text);
    (mistakes(&left) < mistakes(&state.left)).then(|| Fixed { text, left, count: state.count + fixes.len() })
}

/// How wrong a text is. Mistakes of the grammar hide others, which may come to light without them.
fn mistakes(found: &[Diagnostic]) -> [usize; 3] {
    let count = |is: &dyn Fn(&Diagnostic) -> bool| found.iter().filter(|found| is(found)).count();
    [
        count(&|found| found.code.family() == Family::Syntax),
        count(&Diagnostic::is_error),
        count(&|found| found.severity == Severity::Warning),
    ]
}
