//! Profiles of kernels as an editor shows them: findings as diagnostics, the hottest lines as hints, a report as text.
//!
//! They come from a model of the time of a launch that runs in the simulator, which may take long: this runs on a worker
//! of its own, with a budget of time, and an edit of the document ends it. No snapshot is held while a kernel runs, so no
//! change waits. The rules that find faults are in `oriole-profile`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oriole_explore::{ProfileError, ProfileOptions, ProfiledImage};
use oriole_ide::{Feature, FileDiagnostic, FileId, Range, Remark};
use oriole_profile::{By, Finding, Place, Profile, Shown};
use oriole_verify::Source;
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::background::push_diagnostics;
use crate::basis::Basis;
use crate::convert::Text;
use crate::hosts::{Core, Pending};
use crate::kernel_profile::{HotLine, KernelProfile};
use crate::lock::locked;
use crate::outcome::{Answer, Failure, parse};
use crate::snapshot::{Document, Snapshot};
use crate::uri;

/// Hints of a kernel, and the share of its waits from which a line has one.
const HOT_LINES: usize = 8;
const HOT_SHARE: f64 = 0.03;
/// Lines of the report with the longest waits.
const REPORTED_LINES: usize = 10;
/// Warp instructions of a launch, at most.
const STEP_LIMIT: u64 = 50_000_000;
/// Blocks of a grid that is made up: at least a wave on every chip.
const MADE_BLOCKS: u64 = 4224;
/// Time between two looks whether the document has changed.
const LOOK: Duration = Duration::from_millis(2);

/// Looks whether a profile is still wanted.
struct Watch<'a> {
    core: &'a Core,
    uri: &'a str,
    version: i32,
    stop: &'a AtomicBool,
    pending: Option<&'a Pending>,
    until: Instant,
    looked: Cell<Instant>,
    ended: Cell<bool>,
}

impl<'a> Watch<'a> {
    fn new(
        core: &'a Core,
        (uri, version): (&'a str, i32),
        budget: Duration,
        stop: &'a AtomicBool,
    ) -> Watch<'a> {
        let now = Instant::now();
        let (looked, ended) = (Cell::new(now), Cell::new(false));
        Watch { core, uri, version, stop, pending: None, until: now + budget, looked, ended }
    }

    /// True if the document has changed, or the profile was cancelled.
    fn is_outdated(&self) -> bool {
        let documents = locked(&self.core.state).documents.clone();
        self.stop.load(Ordering::SeqCst)
            || self.pending.is_some_and(Pending::is_cancelled)
            || documents.get(self.uri).is_none_or(|document| document.version != self.version)
    }

    /// True if the profile is to end.
    fn ends(&self) -> bool {
        let now = Instant::now();
        if !self.ended.get() && now.duration_since(self.looked.get()) >= LOOK {
            self.looked.set(now);
            self.ended.set(now >= self.until || self.is_outdated());
        }
        self.ended.get()
    }

    /// Why a profile that was stopped has ended.
    fn failure(&self) -> Failure {
        if self.is_outdated() {
            return Failure::Cancelled;
        }
        Failure::Failed("the profile took longer than the setting `profile.budget` allows".to_owned())
    }
}

/// Code to profile, with what places in the text need. It holds no snapshot.
struct Prepared {
    file: FileId,
    basis: Basis,
    text: Text,
    image: ProfiledImage,
    /// Kernels with the places of their names.
    kernels: Vec<(String, Range)>,
}

/// Compiles the document that is watched.
fn prepare(watch: &Watch<'_>) -> Result<Prepared, Failure> {
    let revision = locked(&watch.core.state).revision;
    loop {
        let snapshot = watch.core.building_snapshot(revision);
        if watch.is_outdated() {
            return Err(Failure::Cancelled);
        }
        match compiled(&snapshot, watch.uri) {
            // A change of another document.
            Err(Failure::Cancelled) if !watch.is_outdated() => {}
            other => return other,
        }
    }
}

fn compiled(snapshot: &Snapshot, uri: &str) -> Result<Prepared, Failure> {
    let (file, text) = snapshot.open(uri)?;
    if snapshot.analysis.switched_off(file).contains(&Feature::CodeDiagnostics) {
        return Err(Failure::Failed("the file is too large for profiles".to_owned()));
    }
    let basis = Basis::of(snapshot, uri)?;
    let image = ProfiledImage::compiled(&snapshot.analysis, file, basis.chip)?;
    let image = image.map_err(|error| Failure::Failed(error.to_string()))?;
    let lenses = snapshot.analysis.lenses(file)?;
    let kernels = lenses.into_iter().map(|lens| (lens.kernel, lens.range)).collect();
    Ok(Prepared { file, basis, text, image, kernels })
}

/// A launch, with its origin in words, and whether it was made up.
struct Origin {
    launch: oriole_simulate::Launch,
    words: String,
    made: bool,
}

/// The launch of a kernel: that of a launch record next to the file, or one that is made from the PTX.
fn launch(watch: &Watch<'_>, prepared: &Prepared, kernel: &str) -> Result<Origin, Failure> {
    let path = uri::to_path(watch.uri);
    if let Some(found) = path.and_then(|path| watch.core.environment.launch(&path, kernel)) {
        let (name, mut launch) = found.map_err(Failure::Failed)?;
        launch.options.step_limit = STEP_LIMIT;
        launch.options.check_hazards = false;
        return Ok(Origin { launch, words: format!("the launch of {name}"), made: false });
    }
    let source = Source::of(&prepared.text.text).map_err(|error| Failure::Failed(error.to_string()))?;
    let source = source.on(prepared.basis.chip);
    let options = oriole_verify::Options { seeds: 1, ..oriole_verify::Options::default() };
    let made = oriole_verify::launches_until(&source.program, kernel, &options, &|| watch.ends())
        .ok_or_else(|| watch.failure())?;
    let none = "no launch can be made for it, and there is no record";
    let made = made.map_err(|reason| Failure::Failed(format!("{none}: {reason}")))?;
    let first = made.first().ok_or_else(|| Failure::Failed(none.to_owned()))?;
    let mut launch = oriole_verify::simulated(&source.program, first, STEP_LIMIT);
    launch.options.check_hazards = false;
    Ok(Origin { launch, words: "a launch made from the PTX".to_owned(), made: true })
}

/// The profile of a kernel of a prepared document.
fn kernel_profile(watch: &Watch<'_>, prepared: &Prepared, kernel: &str) -> Result<KernelProfile, Failure> {
    let origin = launch(watch, prepared, kernel)?;
    let blocks = origin.made.then_some(MADE_BLOCKS);
    let options = ProfileOptions { blocks, by: Some(By::Ptx), ..ProfileOptions::default() };
    let mut profile = match prepared.image.profile(&origin.launch, options, &|| watch.ends()) {
        Ok(profile) => profile,
        Err(ProfileError::Stopped) => return Err(watch.failure()),
        Err(error) => return Err(Failure::Failed(error.to_string())),
    };
    if origin.made {
        profile.findings.retain(|finding| !finding.kind.is_of_launch());
    }
    let code = prepared.image.code(kernel).map_err(|error| Failure::Failed(error.to_string()))?;
    let shown = Shown { name: kernel, lines: REPORTED_LINES };
    let text = format!("{}  ({})\n", oriole_profile::text(&profile, code, shown), origin.words);
    let name = prepared.kernels.iter().find(|known| known.0 == kernel).map(|known| known.1);
    let name = name.unwrap_or(Range::new(0, 0));
    let on = format!("{} on {}", origin.words, prepared.basis.chip);
    Ok(KernelProfile {
        kernel: kernel.to_owned(),
        basis: prepared.basis.clone(),
        findings: profile
            .findings
            .iter()
            .map(|finding| diagnostic(finding, &prepared.text, name, &on))
            .collect(),
        hot: hot_lines(&profile, &prepared.text),
        text,
    })
}

/// The statement of a place in the text.
fn range_of(place: &Place, text: &Text) -> Option<Range> {
    let Place::Line(line) = place else { return None };
    let start = text.lines.range(line.checked_sub(1)?)?.start;
    let rest = text.text.get(start as usize..)?;
    let line = rest.lines().next()?;
    let before = line.len() - line.trim_start().len();
    let end = line.rfind(';').map_or(line.trim_end().len(), |at| at + 1).max(before);
    Some(Range::new(start + before as u32, start + end as u32))
}

/// A finding as a diagnostic; one without a place is at the name of its kernel.
fn diagnostic(finding: &Finding, text: &Text, name: Range, on: &str) -> FileDiagnostic {
    let place = |place: &Place| range_of(place, text);
    let row = finding.kind.row();
    let related = finding.further.iter().filter_map(place);
    FileDiagnostic {
        range: finding.place.as_ref().and_then(place).unwrap_or(name),
        code: row.code,
        severity: row.code.severity(),
        message: format!(
            "{:.0} % of the time: {}\nhelp: {}\n(model of {on})",
            100.0 * finding.share,
            finding.words,
            finding.advice()
        ),
        related: related.map(|range| Remark { range, message: "and here".to_owned() }).collect(),
        tags: Vec::new(),
    }
}

fn hot_lines(profile: &Profile, text: &Text) -> Vec<HotLine> {
    let hottest = oriole_profile::hottest(profile).into_iter();
    let lines = hottest.filter(|hot| hot.share >= HOT_SHARE).filter_map(|hot| {
        let reasons = hot.reasons.iter().take(3);
        let reasons: Vec<String> =
            reasons.map(|(reason, share)| format!("{} {:.0} %", reason.name(), 100.0 * share)).collect();
        let why = format!("waits for: {}; issued {} times", reasons.join(", "), hot.issued);
        Some(HotLine { at: range_of(&hot.place, text)?.end, share: hot.share, why })
    });
    lines.take(HOT_LINES).collect()
}

/// Profiles all kernels of a document that is at rest, as far as its budget reaches.
pub(crate) fn profile_in_background(core: &Core, uri: &str, version: i32, stop: &AtomicBool) {
    let settings = locked(&core.state).documents.get(uri).map(|document| document.profile);
    let Some(settings) = settings.filter(|settings| settings.enable) else { return };
    let watch = Watch::new(core, (uri, version), settings.budget, stop);
    let mut profiles = Vec::new();
    let mut reasons = Vec::new();
    let prepared = match prepare(&watch) {
        Ok(prepared) => prepared,
        // An error of the text is a diagnostic already.
        Err(_) => return,
    };
    for (kernel, _) in &prepared.kernels {
        match kernel_profile(&watch, &prepared, kernel) {
            Ok(profile) => profiles.push(profile),
            Err(Failure::Cancelled) => return,
            Err(Failure::Invalid(reason) | Failure::Failed(reason)) => {
                reasons.push(format!("{kernel}: {reason}"));
                if watch.ended.get() {
                    break;
                }
            }
        }
    }
    keep(&watch, &prepared, profiles);
    for reason in reasons {
        core.notify(
            "window/logMessage",
            json!({ "type": 3, "message": format!("oriole: no profile of {reason}") }),
        );
    }
}

/// Keeps profiles, and has the client ask for what it shows of them.
fn keep(watch: &Watch<'_>, prepared: &Prepared, profiles: Vec<KernelProfile>) {
    let core = watch.core;
    if watch.is_outdated() || !core.shared.keep_profiles(prepared.file, profiles) {
        return;
    }
    if !core.client.pulls_diagnostics {
        push_diagnostics(core, watch.uri, watch.version);
    }
    core.refresh();
}

/// The subject of `oriole.profile`: a kernel of a document as it is when the request comes.
pub(crate) struct Subject {
    uri: String,
    kernel: String,
    document: Document,
}

impl Subject {
    /// Reads the parameters of the command. It computes nothing.
    pub fn of(core: &Core, parameters: &Value) -> Result<Subject, Failure> {
        let asked: Asked = parse(parameters["arguments"][0].clone())?;
        let (uri, kernel) = (asked.uri()?.to_owned(), asked.kernel()?.to_owned());
        let document = locked(&core.state).documents.get(&uri).cloned();
        let document = document.ok_or_else(|| Failure::Invalid(format!("`{uri}` is not open")))?;
        Ok(Subject { uri, kernel, document })
    }

    /// The document.
    pub fn uri(&self) -> &str {
        &self.uri
    }
}

/// `oriole.profile`: profiles a kernel now, whether or not the setting is on, and returns the report.
pub(crate) fn command(core: &Core, subject: &Subject, pending: &Pending, stop: &AtomicBool) -> Answer {
    let Subject { uri, kernel, document } = subject;
    let mut watch = Watch::new(core, (uri, document.version), document.profile.budget, stop);
    watch.pending = Some(pending);
    let prepared = prepare(&watch)?;
    let profile = kernel_profile(&watch, &prepared, kernel)?;
    let answer = json!({
        "kernel": kernel, "chip": profile.basis.chip.to_string(), "text": profile.text,
        "findings": profile.findings.len()
    });
    keep(&watch, &prepared, vec![profile]);
    Ok(answer)
}
