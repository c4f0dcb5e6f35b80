//! A profile as a JSON document, with everything that is known. Its fields are in `docs/profile.md`.

use crate::code::Code;
use crate::kinds::Kind;
use crate::profile::{Finding, Profile, Row};
use crate::text::{in_words, limiter};
use oriole_simulate::{AccessKind, Memory};
use oriole_timing::{Bound, Reason, Shape};
use serde_json::{Map, Value, json};

/// The version of the document's form; it rises when a field goes away or changes its meaning.
const VERSION: u32 = 1;

/// The document.
pub fn document(profile: &Profile, code: &Code, name: &str) -> Value {
    let of = &profile.estimate;
    let busy: Map<String, Value> = of
        .busy
        .iter()
        .map(|(bound, share): &(Bound, f64)| (bound.name().to_owned(), (*share).into()))
        .collect();
    let step = profile
        .next_step
        .map(|step| json!({ "fewer": step.fewer, "left": step.left, "blocks": step.blocks }));
    json!({
        "version": VERSION, "name": name, "by": profile.by.name(),
        "cycles": of.cycles, "microseconds": of.microseconds, "product": of.product, "bound": of.bound.name(),
        "busy": busy, "waited": waited(&of.waited), "warm": of.warm,
        "occupancy": {
            "blocks": of.resident, "warps": profile.warps.0, "most_warps": profile.warps.1,
            "limit": limiter(profile.limiter), "threads": profile.usage.threads, "registers": profile.usage.registers,
            "shared_bytes": profile.usage.shared, "next_step": step,
        },
        "grid": { "blocks": of.blocks, "sms": of.sms, "replayed": of.replayed },
        "traffic": {
            "instructions": of.instructions, "wavefronts": of.traffic.wavefronts, "l1_hits": of.traffic.l1_hits,
            "l2_sectors": of.traffic.l2_sectors, "dram_sectors": of.traffic.dram_sectors,
            "atomics": of.traffic.atomics,
        },
        "spilled": code.spilled,
        "findings": profile.findings.iter().map(finding).collect::<Vec<_>>(),
        "instructions": profile.rows.iter().map(|row| instruction(profile, code, row)).collect::<Vec<_>>(),
    })
}

fn waited(waited: &[u64]) -> Map<String, Value> {
    let named = Reason::ALL.into_iter().zip(waited).filter(|(_, cycles)| **cycles > 0);
    named.map(|(reason, &cycles)| (reason.name().to_owned(), cycles.into())).collect()
}

fn finding(finding: &Finding) -> Value {
    json!({
        "kind": Kind::row(finding.kind).name, "share": finding.share, "cycles": finding.cycles,
        "place": finding.place.as_ref().map(ToString::to_string),
        "further": finding.further.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "addresses": finding.offsets, "words": in_words(finding), "advice": finding.advice(),
    })
}

fn instruction(profile: &Profile, code: &Code, row: &Row) -> Value {
    let line = &profile.estimate.lines[row.index];
    let mut value = json!({
        "address": line.address, "text": line.text, "issued": line.issued, "acted": line.acted,
        "lanes": line.lanes, "active_lanes": line.active, "waited": waited(&line.waited),
        "caused": line.caused,
        "awaited": line.awaited.and_then(|at| profile.estimate.lines.get(at as usize)).map(|line| line.address),
    });
    if let Some(known) = code.rows.get(row.index) {
        value["text"] = known.text.clone().into();
        value["ptx_line"] = known.ptx.into();
        value["source"] =
            known.source.as_ref().map(|(file, line)| json!({ "file": file, "line": line })).into();
        value["live_registers"] = known.live.into();
        value["spill"] = known.spill.into();
    }
    if row.shape.requests > 0 {
        value["memory"] = memory(&row.shape);
    }
    value
}

fn memory(shape: &Shape) -> Value {
    let (memory, kind) = shape.access.map_or(("", ""), |(memory, kind)| {
        let memory = match memory {
            Memory::Global => "global",
            Memory::Shared => "shared",
            Memory::Local => "local",
        };
        let kind = match kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic",
        };
        (memory, kind)
    });
    json!({
        "memory": memory, "kind": kind, "bytes": shape.bytes, "requests": shape.requests, "lanes": shape.lanes,
        "sectors": shape.sectors, "least_sectors": shape.least_sectors, "wavefronts": shape.wavefronts,
        "least_wavefronts": shape.least_wavefronts, "lanes_at_one_address": shape.crowd,
        "alignment": shape.alignment, "distance": shape.distance(),
    })
}
