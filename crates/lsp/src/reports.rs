//! Reports about both hosts at once: how often queries ran, and what memory holds.

use std::collections::BTreeMap;

use oriole_ide::AnalysisHost;
use serde_json::{Value, json};

/// A report about both hosts.
pub(crate) type Report = fn(&mut AnalysisHost, &mut AnalysisHost) -> Value;

pub(crate) fn report(method: &str) -> Option<Report> {
    match method {
        "ptx/queryStats" => Some(|first, second| {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for row in first.query_counts().into_iter().chain(second.query_counts()) {
                *counts.entry(row.name).or_default() += row.count;
            }
            let rows = counts.iter().map(|(name, count)| json!({ "query": name, "executions": count }));
            Value::Array(rows.collect())
        }),
        "ptx/memoryUsage" => Some(|first, second| {
            let mut sums: BTreeMap<String, (usize, usize)> = BTreeMap::new();
            for row in first.memory().into_iter().chain(second.memory()) {
                let sum = sums.entry(row.name).or_default();
                (sum.0, sum.1) = (sum.0 + row.count, sum.1 + row.bytes);
            }
            let total: usize = sums.values().map(|sum| sum.1).sum();
            let mut rows: Vec<_> = sums.into_iter().collect();
            rows.sort_by(|left, right| (right.1.1, &left.0).cmp(&(left.1.1, &right.0)));
            let rows: Vec<Value> = rows
                .iter()
                .map(|(name, (count, bytes))| json!({ "name": name, "count": count, "bytes": bytes }))
                .collect();
            json!({ "bytes": total, "rows": rows })
        }),
        _ => None,
    }
}
