//! Requests of our own, in addition to those of the protocol. `docs/lsp.md` has their formats.

use oriole_diagnostics::Code;
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::followed::Subject;
use crate::outcome::{Answer, Failure};
use crate::snapshot::Snapshot;
use crate::values::{live_registers, sass_value, statistics_value, tree};

/// Names of the requests.
pub(crate) const REQUESTS: [&str; 16] = [
    "ptx/viewSyntaxTree",
    "ptx/phases",
    "ptx/viewIr",
    "ptx/viewSass",
    "ptx/viewCubin",
    "ptx/viewPage",
    "ptx/liveness",
    "ptx/kernelStats",
    "ptx/explain",
    "ptx/compare",
    "ptx/serverStatus",
    "ptx/writeWaits",
    "ptx/queryStats",
    "ptx/lastEdit",
    "ptx/memoryUsage",
    "ptx/reload",
];

pub(crate) fn syntax_tree(snapshot: Snapshot, asked: Asked) -> Answer {
    let (file, text) = snapshot.open(asked.uri()?)?;
    let range = asked.range.map(|range| text.bytes(range));
    let nodes = snapshot.analysis.syntax_tree(file, range)?;
    drop(snapshot);
    Ok(Value::Array(nodes.iter().map(|node| tree(&text, node)).collect()))
}

pub(crate) fn ir(snapshot: Snapshot, asked: Asked) -> Answer {
    let file = snapshot.file(asked.uri()?)?;
    let chip = snapshot.chip(file, asked.chip()?)?;
    let phase = asked.phase.as_deref().unwrap_or("FinalInspectionPass");
    match snapshot.analysis.ori(file, asked.kernel()?, chip, phase)? {
        Ok(text) => Ok(json!({ "text": text, "chip": chip.to_string(), "phase": phase })),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}

/// `ptx/phases`
pub(crate) fn phases(_snapshot: Snapshot, _asked: Asked) -> Answer {
    let rows = oriole_ide::phases().into_iter().map(|phase| {
        json!({
            "number": phase.number, "name": phase.name, "group": phase.group, "level": phase.level,
            "state": phase.state, "ori": phase.no_ori.is_none(), "reason": phase.no_ori, "doc": phase.doc
        })
    });
    Ok(rows.collect())
}

pub(crate) fn sass(snapshot: Snapshot, asked: Asked) -> Answer {
    let uri = asked.uri()?.to_owned();
    let (file, text) = snapshot.open(&uri)?;
    let (shown, kernel) = (asked.chip()?, asked.kernel()?);
    let subject = Subject { uri, kernel: kernel.to_owned(), chip: shown };
    let followed = &snapshot.shared.followed;
    match asked.follow {
        // Before anything is computed: a change that cancels this is already in the channel.
        Some(true) => followed.begin(&subject)?,
        Some(false) => followed.end(&subject),
        None => {}
    }
    let chip = snapshot.chip(file, shown)?;
    let listing = snapshot.analysis.sass(file, kernel, chip)?;
    let (shared, revision) = (snapshot.shared.clone(), snapshot.revision);
    drop(snapshot);
    let Some(listing) = listing else { return Ok(Value::Null) };
    let mut value = sass_value(&text, &listing);
    if asked.follow == Some(true) {
        value["resultId"] = json!(shared.followed.answered(&subject, revision, &text, &listing));
    }
    Ok(value)
}

pub(crate) fn cubin(snapshot: Snapshot, asked: Asked) -> Answer {
    let found = crate::virtual_documents::cubin(asked.uri()?, &*snapshot.environment)?;
    let hovers: Vec<Value> = found.lines.iter().map(|line| json!(line.hover)).collect();
    Ok(json!({ "chip": found.chip.to_string(), "text": found.text, "hovers": hovers }))
}

pub(crate) fn liveness(snapshot: Snapshot, asked: Asked) -> Answer {
    let (file, text) = snapshot.open(asked.uri()?)?;
    let chip = snapshot.chip(file, asked.chip()?)?;
    let position = asked.position.ok_or_else(|| Failure::Invalid("`position` is missing".to_owned()))?;
    let Some(found) = snapshot.analysis.liveness(file, text.offset(position), chip)? else {
        return Ok(Value::Null);
    };
    Ok(json!({
        "function": found.function,
        "stale": found.stale,
        "statement": text.range(found.statement),
        "live": { "general": found.live.0, "uniform": found.live.1, "predicates": found.live.2 },
        "registers": live_registers(&text, &found.registers),
        "temporaries": found.temporaries,
        "peak": { "live": found.peak.0, "range": found.peak.1.map(|range| text.range(range)) }
    }))
}

pub(crate) fn kernel_statistics(snapshot: Snapshot, asked: Asked) -> Answer {
    let (file, text) = snapshot.open(asked.uri()?)?;
    let chips = match asked.chip()? {
        Some(chip) => vec![chip],
        None => snapshot.analysis.targets(file)?,
    };
    let kernels = match &asked.kernel {
        Some(kernel) => vec![kernel.clone()],
        None => snapshot.analysis.kernels(file)?,
    };
    let mut all = Vec::new();
    for kernel in &kernels {
        for &chip in &chips {
            let found = snapshot.analysis.kernel_statistics(file, kernel, chip)?;
            all.extend(found.map(|found| statistics_value(&text, &found)));
        }
    }
    Ok(Value::Array(all))
}

pub(crate) fn explain(_snapshot: Snapshot, asked: Asked) -> Answer {
    let name = asked.code.ok_or_else(|| Failure::Invalid("`code` is missing".to_owned()))?;
    let code = Code::from_name(&name)
        .ok_or_else(|| Failure::Invalid(format!("there is no diagnostic code `{name}`")))?;
    Ok(json!({ "code": name, "severity": code.severity().as_str(), "text": code.page() }))
}

pub(crate) fn server_status(snapshot: Snapshot, _asked: Asked) -> Answer {
    Ok(status(&snapshot))
}

/// `ptx/writeWaits`
pub(crate) fn write_waits(snapshot: Snapshot, _asked: Asked) -> Answer {
    Ok(snapshot.shared.waits())
}

/// Health and switched-off features, by document.
pub(crate) fn status(snapshot: &Snapshot) -> Value {
    let mut off = Vec::new();
    for (uri, document) in snapshot.documents.iter() {
        let features: Vec<&str> = snapshot
            .analysis
            .switched_off(document.file)
            .into_iter()
            .map(oriole_ide::Feature::name)
            .collect();
        if !features.is_empty() {
            off.push(json!({ "uri": uri, "features": features }));
        }
    }
    for uri in snapshot.shared.files.too_large() {
        off.push(json!({ "uri": uri, "features": ["diagnostics before it is opened"] }));
    }
    let message = off
        .iter()
        .map(|row| {
            let features: Vec<&str> =
                row["features"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            format!(
                "off because of its size for {}: {}",
                row["uri"].as_str().unwrap_or(""),
                features.join(", ")
            )
        })
        .collect::<Vec<_>>()
        .join("\n");
    json!({
        "health": if off.is_empty() { "ok" } else { "warning" },
        "quiescent": true,
        "message": if message.is_empty() { Value::Null } else { json!(message) },
        "off": off
    })
}
