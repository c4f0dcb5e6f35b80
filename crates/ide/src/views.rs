//! Views of internals: the syntax tree, the intermediate representation after a phase, counts of queries.

use oriole_chip::Chip;
use oriole_pipeline::Work;
use oriole_queries::{Failed, files};
use oriole_syntax::{ElementRef, NodeOrToken};

use crate::cursor::units_in;
use crate::snapshot::Snapshot;
use crate::{FileId, Range};

/// A node or token of a syntax tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeNode {
    /// Its kind, as `INSTRUCTION`.
    pub kind: String,
    /// The range.
    pub range: Range,
    /// The text of a token; `None` for a node.
    pub text: Option<String>,
    /// The children of a node, without white space.
    pub children: Vec<TreeNode>,
}

/// Execution count of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryCount {
    /// The query.
    pub name: String,
    /// Executions.
    pub count: u64,
}

pub(crate) fn syntax_tree(snapshot: &Snapshot, file: FileId, range: Option<Range>) -> Vec<TreeNode> {
    let db = &snapshot.db;
    let Some(source) = snapshot.ptx(file) else { return Vec::new() };
    let wanted = range.unwrap_or(Range::new(0, u32::MAX));
    units_in(db, source, wanted)
        .filter_map(|(unit, start)| {
            let root = files::function_tree(db, unit).syntax();
            node(NodeOrToken::Node(root), start, wanted)
        })
        .collect()
}

/// The tree below an element, without elements outside of the range. The parser bounds its depth.
fn node(element: ElementRef<'_>, start: u32, wanted: Range) -> Option<TreeNode> {
    let (kind, span) = match element {
        NodeOrToken::Node(node) => (node.kind(), node.span()),
        NodeOrToken::Token(token) => (token.kind(), token.span()),
    };
    let range = Range::from(span).shifted(start);
    if kind == oriole_syntax::SyntaxKind::WHITESPACE || !wanted.meets(range) {
        return None;
    }
    let (text, children) = match element {
        NodeOrToken::Token(token) => (Some(token.text().to_owned()), Vec::new()),
        NodeOrToken::Node(inner) => {
            let children = inner.children_with_tokens();
            (None, children.filter_map(|child| node(child, start, wanted)).collect())
        }
    };
    Some(TreeNode { kind: format!("{kind:?}"), range, text, children })
}

/// A phase of the compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseInfo {
    /// Number, 0 to 158.
    pub number: u16,
    /// Name.
    pub name: &'static str,
    /// The stage that it belongs to.
    pub group: &'static str,
    /// The lowest optimization level at which it acts.
    pub level: u8,
    /// The description.
    pub doc: &'static str,
    /// The state of its implementation: `done`, `done by` another phase or stage, `not for compute` or `not yet`.
    pub state: String,
    /// The reason why there is no Ori to show after it; `None` if there is.
    pub no_ori: Option<String>,
}

/// Every phase in the order of numbers, and whether there is Ori to show after it.
pub fn phases() -> Vec<PhaseInfo> {
    let info = |phase: &oriole_pipeline::Phase| PhaseInfo {
        number: phase.number,
        name: phase.name,
        group: phase.group.name(),
        level: phase.level,
        doc: phase.doc,
        state: phase.state(),
        no_ori: phase.leaves_ori().err().map(|reason| reason.to_string()),
    };
    let mut phases: Vec<PhaseInfo> = oriole_pipeline::PHASES.iter().map(info).collect();
    phases.sort_by_key(|phase| phase.number);
    phases
}

/// Why there is no Ori to show.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OriError {
    /// No phase has the name or number.
    #[error("there is no phase `{0}`")]
    NoPhase(String),
    /// The phase does not leave Ori; the text says why.
    #[error("{0}")]
    NoOri(String),
    /// The file has no such function.
    #[error("there is no function `{0}`")]
    NoFunction(String),
    /// There is no code for the chip.
    #[error("{0} is not supported")]
    Chip(Chip),
    /// The text of the function has errors.
    #[error("`{0}` has errors")]
    Diagnosed(String),
    /// A stage failed; the text says why.
    #[error("{0}")]
    Stage(String),
}

impl OriError {
    /// The error of a function that does not compile.
    pub(crate) fn of(failed: &Failed, function: &str) -> OriError {
        match failed {
            Failed::Diagnosed => OriError::Diagnosed(function.to_owned()),
            other => OriError::Stage(other.to_string()),
        }
    }
}

pub(crate) fn ori(
    snapshot: &Snapshot,
    file: FileId,
    function: &str,
    chip: Chip,
    phase: &str,
) -> Result<String, OriError> {
    let phase = oriole_pipeline::phases::find(phase).ok_or_else(|| OriError::NoPhase(phase.to_owned()))?;
    phase.leaves_ori().map_err(|reason| OriError::NoOri(reason.to_string()))?;
    let db = &snapshot.db;
    let unit = snapshot.code_unit(file, function).ok_or_else(|| OriError::NoFunction(function.to_owned()))?;
    let config = snapshot.config(file, chip).ok_or(OriError::Chip(chip))?;
    let result = oriole_queries::view::ori_after(db, unit, config, phase)
        .map_err(|failed| OriError::of(&failed, function))?;
    let done = match phase.work {
        Work::By(other) => format!(", which is done by {other}"),
        _ => String::new(),
    };
    Ok(format!("// {function} for {chip} after {} {}{done}\n{result}\n", phase.number, phase.name))
}
