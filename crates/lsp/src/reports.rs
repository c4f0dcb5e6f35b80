//! Reports about both hosts: execution counts of queries, queries caused by the last edit, and memory.

use std::collections::BTreeMap;

use oriole_ide::{AnalysisHost, Because, Query, Ran, record_reads};
use serde_json::{Value, json};

use crate::outcome::{Answer, Failure};

/// A report about both hosts: the one for answers and the one for compiles.
pub(crate) type Report = fn(&mut [&mut AnalysisHost; 2], &Value) -> Answer;

/// The report for a request.
pub(crate) fn report(method: &str, parameters: &Value) -> Option<Report> {
    match method {
        "ptx/queryStats" => Some(query_counts),
        "ptx/memoryUsage" => Some(memory),
        "ptx/lastEdit" => Some(last_edit),
        "workspace/executeCommand" if parameters["command"] == "oriole.explainEdit" => Some(last_edit),
        _ => None,
    }
}

fn query_counts(hosts: &mut [&mut AnalysisHost; 2], _: &Value) -> Answer {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for row in hosts.iter().flat_map(|host| host.query_counts()) {
        *counts.entry(row.name).or_default() += row.count;
    }
    Ok(counts.iter().map(|(name, count)| json!({ "query": name, "executions": count })).collect())
}

fn memory(hosts: &mut [&mut AnalysisHost; 2], _: &Value) -> Answer {
    let mut sums: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in hosts.iter_mut().flat_map(|host| host.memory()) {
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
    Ok(json!({ "bytes": total, "rows": rows }))
}

/// The queries that the last edit caused to run, and the causes. The first request turns the recording on;
/// `record: false` turns it off.
fn last_edit(hosts: &mut [&mut AnalysisHost; 2], parameters: &Value) -> Answer {
    let wanted = parameters["record"] != false && parameters["arguments"][0]["record"] != false;
    if !record_reads(wanted) && wanted {
        return Err(Failure::Failed("this program does not hear what queries read".to_owned()));
    }
    let (mut queries, mut lines, mut left_out, mut began) = (Vec::new(), Vec::new(), 0, false);
    for (host, part) in hosts.iter().zip(["answers", "compiles"]) {
        let Some(edit) = host.last_edit().filter(|_| wanted) else {
            began |= wanted;
            host.record_edits(wanted);
            continue;
        };
        left_out += edit.left_out;
        lines.extend(edit.queries.iter().map(|ran| format!("{part}: {}", line(ran))));
        queries.extend(edit.queries.iter().map(|ran| {
            let because = match &ran.because {
                Some(Because::Query(query)) => query_value(query),
                Some(Because::Field(name)) => json!({ "field": name }),
                None => Value::Null,
            };
            let mut value = query_value(&ran.what);
            (value["host"], value["because"]) = (json!(part), because);
            value
        }));
    }
    if began {
        lines = vec![
            "From the next edit on it is recorded which queries run and why; ask again then.".to_owned(),
        ];
    } else if !wanted {
        lines = vec!["Nothing is recorded any more.".to_owned()];
    } else if left_out > 0 {
        lines.push(format!("and {left_out} more"));
    } else if lines.is_empty() {
        lines.push("No query ran since the last edit.".to_owned());
    }
    Ok(json!({ "recording": wanted, "text": lines.join("\n"), "queries": queries, "leftOut": left_out }))
}

fn query_value(query: &Query) -> Value {
    let named = |name: &str| if name.is_empty() { Value::Null } else { json!(name) };
    json!({ "query": query.name, "unit": named(&query.unit), "chip": named(&query.chip) })
}

fn line(ran: &Ran) -> String {
    let words = |query: &Query| {
        let parts = [query.name, &query.unit, &query.chip];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let why = match &ran.because {
        Some(Because::Query(query)) => format!("because of {}", words(query)),
        Some(Because::Field(name)) => format!("because {name} changed"),
        None => "its result was not there".to_owned(),
    };
    format!("{}: {why}", words(&ran.what))
}
