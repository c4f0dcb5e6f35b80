//! The phases of the compiler as a list, and a function after one of them.
//!
//! It is here so that a reader of Ori sees the same marks in text and graph. The effects of phases are known
//! elsewhere.

use std::fmt::Write as _;

use oriole_diagnostics::Diagnostic;
use oriole_options::Optimization;
use oriole_pipeline::{Phase, Work};
use oriole_queries::{Failed, view};
use similar::TextDiff;

use crate::compiled::Function;
use crate::ori_graph::ori_dot;

/// How Ori is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// As text that can be read back.
    Text,
    /// As a control-flow graph for Graphviz.
    Graph,
    /// As the blocks in reverse postorder, with the back edges.
    Order,
}

/// A phase, to show functions after it.
#[derive(Clone, Copy, Debug)]
pub struct PhaseView(&'static Phase);

impl PhaseView {
    /// The phase of a name or a number.
    pub fn find(name: &str) -> Option<PhaseView> {
        oriole_pipeline::phases::find(name).map(PhaseView)
    }

    /// Whether it only reports, and a layout has room for the report.
    fn reports(self, layout: Layout) -> bool {
        matches!(self.0.work, Work::Profile) && layout == Layout::Text
    }

    /// Why nothing can be shown after it; `None` if something can.
    pub fn refusal(self, layout: Layout) -> Option<String> {
        let reason = self.0.leaves_ori().err().filter(|_| !self.reports(layout));
        reason.map(|reason| reason.to_string())
    }

    /// Writes a function after the phase, under its name for readers.
    ///
    /// # Errors
    /// The function does not compile so far: the reasons, unless the diagnostics of the file say them.
    pub fn write(
        self,
        function: &Function<'_>,
        layout: Layout,
        text: &mut String,
    ) -> Result<(), Vec<Diagnostic>> {
        self.written(function, layout, text).map_err(|failed| function.diagnosed(&failed))
    }

    fn written(self, function: &Function<'_>, layout: Layout, text: &mut String) -> Result<(), Failed> {
        let PhaseView(phase) = self;
        let &Function { db, unit, config, .. } = function;
        let mut name = function.shown();
        if let Work::By(_) = phase.work {
            let _ = write!(name, ": {} is {}", phase.name, phase.state());
        }
        if self.reports(layout) {
            let profile = view::profile(db, unit, config, phase)?;
            let _ = write!(text, "// {name}\n{profile}");
            if phase.leaves_ori().is_err() {
                return Ok(());
            }
        } else if layout != Layout::Graph {
            let _ = writeln!(text, "// {name}");
        }
        let function = view::ori_after(db, unit, config, phase)?;
        match layout {
            Layout::Graph => text.push_str(&ori_dot(&name, &function)),
            Layout::Order => text.push_str(&function.graph().cfg().describe()),
            Layout::Text => {
                let _ = writeln!(text, "{function}");
            }
        }
        Ok(())
    }
}

/// Writes what each phase changes in a function, up to and with a phase or all of them: differences of Ori, with this number of
/// lines around each.
///
/// # Errors
/// As [`PhaseView::write`].
pub fn write_changes(
    function: &Function<'_>,
    last: Option<PhaseView>,
    context: usize,
    text: &mut String,
) -> Result<(), Vec<Diagnostic>> {
    let &Function { db, unit, config, .. } = function;
    let place = |phase: &Phase| oriole_pipeline::PHASES.iter().position(|row| row.number == phase.number);
    let end = last.and_then(|PhaseView(phase)| place(phase));
    let name = function.shown();
    let mut changes = String::new();
    let followed = view::followed(db, unit, config, &mut |phase, before, after| {
        if end.is_none_or(|end| place(phase) <= Some(end)) {
            let _ = writeln!(changes, "// {name}: {} {}", phase.number, phase.name);
            changes += &difference(&before(), after, context);
        }
    });
    followed.map_err(|failed| function.diagnosed(&failed))?;
    text.push_str(&changes);
    Ok(())
}

/// The difference of two texts of Ori in unified form, without the names of files.
pub fn difference(before: &str, after: &str, context: usize) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(context).to_string()
}

/// A phase that code is right without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionalPhase {
    /// The value of the knob `phase-limit` with which it is the last one that runs.
    pub limit: u32,
    /// Its number.
    pub number: u16,
    /// Its name.
    pub name: &'static str,
    /// The lowest level at which it runs.
    pub level: u8,
    /// The knob that it is turned off by as a whole.
    pub switch: Option<&'static str>,
    /// The knobs of parts of it.
    pub parts: &'static [Optimization],
}

/// The phases that code is right without, in the order in which they act.
pub fn optional_phases() -> impl Iterator<Item = OptionalPhase> {
    (1..).zip(oriole_pipeline::phases::optional()).map(|(limit, phase)| OptionalPhase {
        limit,
        number: phase.number,
        name: phase.name,
        level: phase.level,
        switch: phase.switch(),
        parts: if let Work::Pass(pass) = phase.work { pass.asks } else { &[] },
    })
}

/// The phases, a line each; with `all`, also those that have nothing to do in compute code.
pub fn phase_list(all: bool) -> String {
    let line = |phase: &Phase| {
        let state = match phase.work {
            Work::Profile => "profile".to_owned(),
            _ if phase.leaves_ori().is_ok() => "Ori".to_owned(),
            Work::NotForCompute | Work::NotYet => phase.state(),
            _ => "machine code".to_owned(),
        };
        let by = match phase.work {
            Work::By(other) => format!(" Done by {other}."),
            _ => String::new(),
        };
        format!("{:>3} {:<40} [{state}] {}{by}\n", phase.number, phase.name, phase.doc)
    };
    let phases = oriole_pipeline::PHASES.iter();
    phases.filter(|phase| all || !matches!(phase.work, Work::NotForCompute)).map(line).collect()
}
