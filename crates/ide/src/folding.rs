//! Foldable ranges: bodies, scopes, sections, runs of comments and of header lines.

use oriole_inputs::Db;
use oriole_queries::files;
use oriole_query_macro::query;
use oriole_syntax::{NodeOrToken, SyntaxKind, UnitKind};

use crate::cursor::{token_range, trimmed};
use crate::snapshot::Snapshot;
use crate::{Feature, FileId, Range};

/// The kind of a fold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FoldKind {
    /// A body, a scope, a section.
    Block,
    /// Comments.
    Comment,
    /// Header or `.file` lines.
    Header,
}

/// A stretch of more than one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fold {
    /// From the first byte that stays visible to the last one.
    pub range: Range,
    /// Its kind.
    pub kind: FoldKind,
}

pub(crate) fn folds(snapshot: &Snapshot, file: FileId) -> Vec<Fold> {
    let mut all = Vec::new();
    if !snapshot.is_on(file, Feature::Folding) {
        return all;
    }
    let db = &snapshot.db;
    for located in snapshot.sources(file) {
        for &unit in files::split_file(db, located.source) {
            let start = unit.start(db);
            for fold in unit_folds(db, unit) {
                if let Some(range) = located.up(fold.range.shifted(start)) {
                    all.push(Fold { range, kind: fold.kind });
                }
            }
        }
    }
    let Some(data) = snapshot.file(file) else { return all };
    all.retain(|fold| data.lines.line(fold.range.start) < data.lines.line(fold.range.end));
    all.sort();
    all.dedup();
    all
}

#[query(returns(ref))]
fn unit_folds<'db>(db: &'db dyn Db, unit: oriole_inputs::FunctionUnit<'db>) -> Vec<Fold> {
    let root = files::function_tree(db, unit).syntax();
    let mut folds = Vec::new();
    if matches!(unit.kind(db), UnitKind::Header | UnitKind::DebugSection) {
        folds.push(Fold { range: trimmed(root), kind: FoldKind::Header });
    }
    // Consecutive line comments are one fold.
    let mut run: Option<Range> = None;
    for element in root.descendants_with_tokens() {
        match element {
            NodeOrToken::Node(node) => {
                let folded = matches!(
                    node.kind(),
                    SyntaxKind::BLOCK
                        | SyntaxKind::PARAMETER_LIST
                        | SyntaxKind::SECTION
                        | SyntaxKind::INITIALIZER_LIST
                );
                if folded {
                    folds.push(Fold { range: trimmed(node), kind: FoldKind::Block });
                }
            }
            NodeOrToken::Token(token) => match token.kind() {
                SyntaxKind::COMMENT => {
                    let range = token_range(token);
                    run = Some(run.map_or(range, |run| Range::new(run.start, range.end)));
                }
                SyntaxKind::WHITESPACE => {}
                _ => folds.extend(run.take().map(|range| Fold { range, kind: FoldKind::Comment })),
            },
        }
    }
    folds.extend(run.map(|range| Fold { range, kind: FoldKind::Comment }));
    let text = unit.text(db);
    folds.retain(|fold| fold.range.slice(text).contains('\n'));
    folds
}
