//! Compiled code and trees as JSON, in the formats of `docs/lsp.md`.

use oriole_ide::{KernelStatistics, LiveRegister, SassListing, SassRow, TreeNode};
use serde_json::{Value, json};

use crate::convert::Text;

/// A node of a syntax tree with its children.
pub(crate) fn tree(text: &Text, node: &TreeNode) -> Value {
    let mut value = json!({ "kind": node.kind, "range": text.range(node.range) });
    match &node.text {
        Some(token) => value["text"] = json!(token),
        None => {
            value["children"] = Value::Array(node.children.iter().map(|child| tree(text, child)).collect());
        }
    }
    value
}

/// A listing of machine code.
pub(crate) fn sass_value(text: &Text, listing: &SassListing) -> Value {
    let row = |row: &SassRow| {
        let mut value = row_value(row);
        value["source"] = json!(row.source.map(|range| text.range(range)));
        value
    };
    let rows: Vec<Value> = listing.rows.iter().map(row).collect();
    json!({ "kernel": listing.kernel, "chip": listing.chip.to_string(), "stale": listing.stale, "rows": rows })
}

/// A row without its place in the text.
pub(crate) fn row_value(row: &SassRow) -> Value {
    json!({
        "address": row.address,
        "text": row.text,
        "hex": format!("{:032x}", row.word),
        "control": {
            "stall": row.stall, "yield": row.yields, "write": row.write_barrier,
            "read": row.read_barrier, "wait": row.wait_mask
        },
        "function": row.function,
        "live": row.live.map(|(general, uniform, predicates)| {
            json!({ "general": general, "uniform": uniform, "predicates": predicates })
        }),
        "loopDepth": row.loop_depth,
        "spill": row.spill,
        "why": row.why
    })
}

/// Live registers with the places of their declarations.
pub(crate) fn live_registers(text: &Text, list: &[LiveRegister]) -> Vec<Value> {
    list.iter()
        .map(|live| {
            json!({
                "name": live.name, "registers": live.registers,
                "declaration": live.declaration.map(|range| text.range(range))
            })
        })
        .collect()
}

/// The resource use of a kernel.
pub(crate) fn statistics_value(text: &Text, found: &KernelStatistics) -> Value {
    json!({
        "kernel": found.kernel,
        "chip": found.chip.to_string(),
        "stale": found.stale,
        "instructions": found.instructions,
        "registers": found.registers,
        "shared": found.shared,
        "stack": found.stack,
        "barriers": found.barriers,
        "spills": { "stores": found.spills.0, "loads": found.spills.1, "bytes": found.spill_bytes },
        "cycles": found.cycles,
        "cyclesInCallees": found.cycles_in_callees,
        "cyclesWithout": found.cycles_without,
        "occupancy": {
            "threads": found.threads.0, "stated": found.threads.1, "blocks": found.blocks,
            "warps": found.warps.0, "most": found.warps.1, "limiter": found.limiter
        },
        "peak": {
            "live": found.peak.0, "range": found.peak.1.map(|range| text.range(range)),
            "registers": live_registers(text, &found.peak_registers), "temporaries": found.temporaries
        },
        "why": found.why
    })
}
