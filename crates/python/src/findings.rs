//! Findings of the facade as Python values: mistakes that checks found in a run, and profiles with their counters.

use oriole::run::{Launch, RunError};
use oriole::{CheckFinding, CheckPlace, Where};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::machines::{Asked, Outcome, Ran, Shape, ran, shape};
use crate::{Found, found, options};

/// An instruction of a finding.
#[pyclass(frozen, get_all, module = "oriole", name = "CheckPlace")]
#[derive(Clone)]
pub struct PyCheckPlace {
    function: String,
    line: Option<usize>,
    text: String,
    part: String,
    block: Option<Shape>,
    thread: Option<Shape>,
}

#[pymethods]
impl PyCheckPlace {
    fn __repr__(&self) -> String {
        format!("CheckPlace(line={:?}, {:?})", self.line.unwrap_or_default(), self.part)
    }
}

impl From<CheckPlace> for PyCheckPlace {
    fn from(found: CheckPlace) -> PyCheckPlace {
        let CheckPlace { function, line, text, part, thread } = found;
        let (block, thread) = thread.map(|(block, thread)| (shape(block), shape(thread))).unzip();
        PyCheckPlace { function, line, text, part, block, thread }
    }
}

/// A mistake that a check found.
#[pyclass(frozen, get_all, module = "oriole", name = "CheckFinding")]
#[derive(Clone)]
pub struct PyCheckFinding {
    code: &'static str,
    severity: &'static str,
    message: String,
    line: Option<usize>,
    places: Vec<PyCheckPlace>,
    address: Option<u64>,
    count: u64,
    same_value: bool,
}

#[pymethods]
impl PyCheckFinding {
    fn __repr__(&self) -> String {
        format!("CheckFinding({}[{}]: {})", self.severity, self.code, self.message)
    }
}

impl From<CheckFinding> for PyCheckFinding {
    fn from(found: CheckFinding) -> PyCheckFinding {
        PyCheckFinding {
            code: found.code.as_str(),
            severity: found.severity().as_str(),
            line: found.places.first().and_then(|place| place.line),
            places: found.places.into_iter().map(PyCheckPlace::from).collect(),
            message: found.message,
            address: found.address,
            count: found.count,
            same_value: found.same_value,
        }
    }
}

/// A state, the findings, and whether not all was checked for races; or the errors of the text.
type Checked = (Option<Outcome>, Vec<PyCheckFinding>, bool, Option<Found>);

/// Runs PTX in the interpreter with checks.
#[pyfunction]
pub fn interpret_checked(
    python: Python<'_>,
    ptx: &str,
    launch: Asked,
    checks: Vec<String>,
    name: &str,
) -> PyResult<Checked> {
    let checks = oriole::checks(checks.iter().map(String::as_str));
    let checks = checks.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let launch = Launch::from(launch);
    match python.detach(|| oriole::interpret_checked(ptx, &launch, checks)) {
        Ok(checked) => {
            let (outcome, errors): Ran = ran(checked.run, name)?;
            let findings = checked.findings.into_iter().map(PyCheckFinding::from).collect();
            Ok((outcome, findings, checked.is_partial, errors))
        }
        Err(error) => {
            let (outcome, errors): Ran = ran(Err(error), name)?;
            Ok((outcome, Vec::new(), false, errors))
        }
    }
}

/// A place as `line`, `source` and `address`, of which one is there.
type Place = (Option<u32>, Option<(String, u32)>, Option<u32>);

fn place(place: &Where) -> Place {
    match place {
        Where::Line(line) => (Some(*line), None, None),
        Where::Source(file, line) => (None, Some((file.clone(), *line)), None),
        Where::Address(address) => (None, None, Some(*address)),
    }
}

/// A fault that costs time.
#[pyclass(frozen, get_all, module = "oriole", name = "ProfileFinding")]
#[derive(Clone)]
pub struct PyProfileFinding {
    kind: &'static str,
    code: &'static str,
    share: f64,
    cycles: f64,
    message: String,
    advice: &'static str,
    line: Option<u32>,
    source: Option<(String, u32)>,
    address: Option<u32>,
    lines: Vec<u32>,
}

#[pymethods]
impl PyProfileFinding {
    fn __repr__(&self) -> String {
        format!("ProfileFinding({:?}, share={:.2}: {})", self.kind, self.share, self.message)
    }
}

impl From<&oriole::ProfileFinding> for PyProfileFinding {
    fn from(found: &oriole::ProfileFinding) -> PyProfileFinding {
        let (line, source, address) = found.places.first().map(place).unwrap_or_default();
        PyProfileFinding {
            kind: found.kind,
            code: found.code,
            share: found.share,
            cycles: found.cycles,
            message: found.message.clone(),
            advice: found.advice,
            line,
            source,
            address,
            lines: found.places.iter().filter_map(|of| place(of).0).collect(),
        }
    }
}

/// The counters of a place.
#[pyclass(frozen, get_all, module = "oriole", name = "ProfileLine")]
#[derive(Clone)]
pub struct PyProfileLine {
    line: Option<u32>,
    source: Option<(String, u32)>,
    address: Option<u32>,
    share: f64,
    issued: u64,
    waited: u64,
    reasons: Vec<(&'static str, f64)>,
    requests: u64,
    sectors: u64,
    least_sectors: u64,
    wavefronts: u64,
    least_wavefronts: u64,
}

#[pymethods]
impl PyProfileLine {
    fn __repr__(&self) -> String {
        format!("ProfileLine(issued={}, share={:.2})", self.issued, self.share)
    }
}

impl From<&oriole::ProfilePlace> for PyProfileLine {
    fn from(found: &oriole::ProfilePlace) -> PyProfileLine {
        let (line, source, address) = place(&found.place);
        PyProfileLine {
            line,
            source,
            address,
            share: found.share,
            issued: found.issued,
            waited: found.waited,
            reasons: found.reasons.clone(),
            requests: found.requests,
            sectors: found.sectors.0,
            least_sectors: found.sectors.1,
            wavefronts: found.wavefronts.0,
            least_wavefronts: found.wavefronts.1,
        }
    }
}

/// The profile of a launch.
#[pyclass(frozen, get_all, module = "oriole", name = "Profile")]
#[derive(Clone)]
pub struct PyProfile {
    cycles: f64,
    microseconds: f64,
    product: &'static str,
    bound: &'static str,
    warps: (u32, u32),
    findings: Vec<PyProfileFinding>,
    lines: Vec<PyProfileLine>,
    text: String,
}

#[pymethods]
impl PyProfile {
    fn __str__(&self) -> String {
        self.text.clone()
    }

    fn __repr__(&self) -> String {
        format!("Profile({:.0} cycles, {} findings)", self.cycles, self.findings.len())
    }
}

impl From<oriole::Profile> for PyProfile {
    fn from(found: oriole::Profile) -> PyProfile {
        PyProfile {
            cycles: found.cycles,
            microseconds: found.microseconds,
            product: found.product,
            bound: found.bound,
            warps: found.warps,
            findings: found.findings.iter().map(PyProfileFinding::from).collect(),
            lines: found.places.iter().map(PyProfileLine::from).collect(),
            text: found.text,
        }
    }
}

/// A profile, or the state of a launch that stopped early, or the errors of the text.
type Profiled = (Option<PyProfile>, Option<Outcome>, Option<Found>);

/// Profiles a launch of a text, which is compiled, or of a cubin.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each argument that the Python half passes on")]
pub fn profile(
    python: Python<'_>,
    ptx: Option<&str>,
    cubin: Option<PyBackedBytes>,
    launch: Asked,
    blocks: Option<u64>,
    arch: Option<&str>,
    level: u8,
    name: &str,
) -> PyResult<Profiled> {
    let options = options(arch, level, std::collections::BTreeMap::new(), Vec::new())?;
    let launch = Launch::from(launch);
    let profiled = python.detach(|| match (ptx, &cubin) {
        (Some(ptx), _) => oriole::profile(ptx, &options, &launch, blocks),
        (None, Some(cubin)) => oriole::profile_code(cubin, &launch, blocks),
        (None, None) => Err(RunError::Cubin("there is neither PTX nor a cubin".to_owned())),
    });
    match profiled {
        Ok(profile) => Ok((Some(profile.into()), None, None)),
        Err(RunError::Text(report)) => Ok((None, None, Some(found(&report, name)))),
        Err(error) => {
            let (outcome, errors): Ran = ran(Err(error), name)?;
            Ok((None, outcome, errors))
        }
    }
}
