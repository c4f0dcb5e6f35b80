//! Why a kernel is slow: a launch in the simulator, replayed on a model of the GPU. Only figures and words leave; the model and the
//! faults that it looks for are `oriole-timing`'s and `oriole-profile`'s.

use crate::Options;
use crate::run::{Launch, Run, RunError, failed, no_kernel, simulated, stopped};
use oriole_explore::{ProfileError, ProfileOptions, ProfiledImage};
use oriole_ide::{AnalysisHost, Language, Settings, SettingsId};
use oriole_profile::{By, Hot, Place, Shown};

/// Lines of the report with the longest waits.
const REPORTED: usize = 10;

/// The profile of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The time in cycles of the model.
    pub cycles: f64,
    /// The same in microseconds.
    pub microseconds: f64,
    /// The GPU that is modelled.
    pub product: &'static str,
    /// The resource that bounds the time.
    pub bound: &'static str,
    /// Warps of an SM at a time, and most of them.
    pub warps: (u32, u32),
    /// The faults, most costly first.
    pub findings: Vec<ProfileFinding>,
    /// The places of which an instruction ran, the hottest first.
    pub places: Vec<ProfilePlace>,
    /// All of it for a reader.
    pub text: String,
}

/// A fault that costs time.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfileFinding {
    /// The name of its kind, such as `bank-conflicts`.
    pub kind: &'static str,
    /// Its code as a diagnostic.
    pub code: &'static str,
    /// The share of the time that it costs, up to 1.
    pub share: f64,
    /// The same in cycles.
    pub cycles: f64,
    /// The fault in words.
    pub message: String,
    /// Advice.
    pub advice: &'static str,
    /// The places of it, the most costly first.
    pub places: Vec<Where>,
}

/// A place of code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Where {
    /// A line of the PTX, from 1.
    Line(u32),
    /// A file and line of the source.
    Source(String, u32),
    /// The offset of an instruction in bytes.
    Address(u32),
}

/// The counters of a place.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfilePlace {
    /// The place.
    pub place: Where,
    /// Its share of all waits, up to 1.
    pub share: f64,
    /// How often its instructions were issued.
    pub issued: u64,
    /// Cycles that warps waited there.
    pub waited: u64,
    /// The reasons, with their shares of these waits.
    pub reasons: Vec<(&'static str, f64)>,
    /// Accesses of warps to memory.
    pub requests: u64,
    /// Sectors of global memory that they moved, and the fewest that hold their bytes.
    pub sectors: (u64, u64),
    /// Passes through shared memory, and the fewest.
    pub wavefronts: (u64, u64),
}

/// Compiles a text, and profiles a launch of its code. Places are lines of the text. `blocks` is the grid whose time is asked for, if
/// it is another one than that of the launch.
///
/// # Errors
/// The errors of the text, or the launch stops early.
pub fn profile(
    text: &str,
    options: &Options,
    launch: &Launch,
    blocks: Option<u64>,
) -> Result<Profile, RunError> {
    const SHARED: SettingsId = SettingsId(0);
    let mut host = AnalysisHost::new();
    let targets = options.chip.into_iter().collect();
    host.set_settings(SHARED, Settings { targets, options: options.compiler.clone() });
    let file = host.open(Language::Ptx, text, SHARED);
    let analysis = host.analysis();
    // Nothing changes and nothing cancels here: each answer is there.
    let cancelled = |_| failed("the compile was cancelled".to_owned());
    let chips = analysis.targets(file).map_err(cancelled)?;
    let image = match chips.first() {
        Some(&chip) => ProfiledImage::compiled(&analysis, file, chip).map_err(cancelled)?,
        None => Err(ProfileError::Compile("the text names no chip".to_owned())),
    };
    let image = image.map_err(|error| match crate::compile(text, options) {
        Err(report) => RunError::Text(report),
        Ok(_) => failed(error.to_string()),
    })?;
    of_image(&image, launch, ProfileOptions { blocks, by: Some(By::Ptx), ..ProfileOptions::default() })
}

/// Profiles a launch of a cubin, of this compiler or of another. Places are lines of the source if the code has them, else offsets.
///
/// # Errors
/// The bytes are no cubin, or the launch stops early.
pub fn profile_code(cubin: &[u8], launch: &Launch, blocks: Option<u64>) -> Result<Profile, RunError> {
    let image = ProfiledImage::read(cubin).map_err(|error| RunError::Cubin(error.to_string()))?;
    of_image(&image, launch, ProfileOptions { blocks, ..ProfileOptions::default() })
}

fn of_image(image: &ProfiledImage, launch: &Launch, options: ProfileOptions) -> Result<Profile, RunError> {
    let mut simulated = simulated(launch);
    simulated.options.check_hazards = false;
    let found = image.profile(&simulated, options, &|| false).map_err(|error| match error {
        ProfileError::Kernel(..) => no_kernel(&launch.entry),
        ProfileError::Run(oriole_timing::Error::Run(error)) => stopped(&error, launch, Run::default()),
        other => failed(other.to_string()),
    })?;
    let code = image.code(&launch.entry).map_err(|_| no_kernel(&launch.entry))?;
    let text = oriole_profile::text(&found, code, Shown { name: &launch.entry, lines: REPORTED });
    let findings = found.findings.iter().map(|finding| ProfileFinding {
        kind: finding.kind.row().name,
        code: finding.kind.row().code.as_str(),
        share: finding.share,
        cycles: finding.cycles,
        message: finding.words.clone(),
        advice: finding.advice(),
        places: finding.place.iter().chain(&finding.further).map(place).collect(),
    });
    Ok(Profile {
        cycles: found.estimate.cycles,
        microseconds: found.estimate.microseconds,
        product: found.estimate.product,
        bound: found.estimate.bound.name(),
        warps: found.warps,
        findings: findings.collect(),
        places: oriole_profile::hottest(&found).into_iter().map(counters).collect(),
        text,
    })
}

fn place(place: &Place) -> Where {
    match place {
        Place::Line(line) => Where::Line(*line),
        Place::Source(file, line) => Where::Source(file.clone(), *line),
        Place::Offset(offset) => Where::Address(*offset),
    }
}

fn counters(hot: Hot) -> ProfilePlace {
    let reasons = hot.reasons.iter().map(|(reason, share)| (reason.name(), *share));
    ProfilePlace {
        place: place(&hot.place),
        share: hot.share,
        issued: hot.issued,
        waited: hot.waited,
        reasons: reasons.collect(),
        requests: hot.requests,
        sectors: hot.sectors,
        wavefronts: hot.wavefronts,
    }
}
