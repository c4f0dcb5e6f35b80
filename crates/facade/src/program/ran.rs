//! The queries that ran after a change, by their meaning to a user: read from the log of executed queries.
//!
//! The names of queries are known here, so that a program reports functions and kernels. The words are the program's.

use std::collections::BTreeSet;

use oriole_inputs::Execution;
use oriole_queries::functions::STAGES;

/// The queries that ran, by their meaning to a user.
#[derive(Debug)]
pub struct Ran {
    /// Units whose text was parsed again.
    pub parsed: BTreeSet<String>,
    /// Units whose text was parsed again now, or for another chip after the same change.
    changed: BTreeSet<String>,
    /// Units that were resolved again now, or for another chip after the same change.
    resolved: BTreeSet<String>,
    /// Functions that were compiled.
    pub compiled: BTreeSet<String>,
    /// Functions that were looked up, and were in the store.
    pub found: BTreeSet<String>,
    /// Kernels that were laid out again.
    pub placed: BTreeSet<String>,
    /// Nothing ran that looks into a kernel: the file as a whole was in the store.
    pub whole: bool,
    /// How many queries ran.
    pub queries: usize,
}

impl Ran {
    /// Sorts the executions of a log. The meaning of a change is asked once, for the first of several chips:
    /// `before` is what ran for the one before this.
    pub(crate) fn new(executions: Vec<Execution>, before: Option<&Ran>) -> Ran {
        let units = |name: &str| -> BTreeSet<String> {
            executions.iter().filter(|it| it.query == name).map(|it| it.unit.clone()).collect()
        };
        // Encoding alone compiles nothing: the query looks into the store.
        let [stages @ .., _] = STAGES;
        let compiled =
            stages.iter().chain(&["compiled"]).flat_map(|&stage| units(stage)).collect::<BTreeSet<_>>();
        let asked = units("encoded");
        let parsed = units("function_tree");
        let (mut changed, mut resolved) = (parsed.clone(), units("resolved"));
        if let Some(before) = before {
            changed.extend(before.changed.iter().cloned());
            resolved.extend(before.resolved.iter().cloned());
        }
        let looked = ["function_tree", "resolved", "encoded", "cubin"];
        Ran {
            whole: compiled.is_empty()
                && !executions.iter().any(|it| looked.contains(&it.query) && it.unit != "header"),
            parsed,
            changed,
            resolved,
            found: asked.difference(&compiled).cloned().collect(),
            compiled,
            placed: units("kernel_image"),
            queries: executions.len(),
        }
    }

    /// Whether a text was read again now, or for another chip after the same change.
    pub fn is_changed(&self, unit: &str) -> bool {
        self.changed.contains(unit)
    }

    /// Whether a unit was resolved again now, or for another chip after the same change.
    pub fn is_resolved(&self, unit: &str) -> bool {
        self.resolved.contains(unit)
    }
}
