//! The queries that the last edit caused to run, and the causes, in plain data.

use oriole_inputs::{Cause, Edit, Execution};

/// The queries that an edit caused to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recomputed {
    /// The queries in the order in which they began.
    pub queries: Vec<Ran>,
    /// Number of queries beyond those.
    pub left_out: usize,
}

/// A query that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    /// The query.
    pub what: Query,
    /// The cause; `None` if no dependency changed: the result had never been requested, or was evicted.
    pub because: Option<Because>,
}

/// A query with its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// Its name in the query graph.
    pub name: &'static str,
    /// The kind and name of the unit; empty if it is about no unit.
    pub unit: String,
    /// The chip; empty if the query has none.
    pub chip: String,
}

/// The cause of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Because {
    /// The result of another query changed.
    Query(Query),
    /// A field of an input, or of a unit of the text, changed; its name.
    Field(String),
}

impl From<Execution> for Query {
    fn from(it: Execution) -> Query {
        Query { name: it.query, unit: it.unit, chip: it.config }
    }
}

impl From<Edit> for Recomputed {
    fn from(edit: Edit) -> Recomputed {
        let ran = |(it, cause): (Execution, Option<Cause>)| Ran {
            what: it.into(),
            because: cause.map(|cause| match cause {
                Cause::Query(query) => Because::Query(query.into()),
                Cause::Field(name) => Because::Field(name),
            }),
        };
        Recomputed { queries: edit.executions.into_iter().map(ran).collect(), left_out: edit.left_out }
    }
}
