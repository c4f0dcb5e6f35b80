//! Runs, listings and verifications of the facade as Python values. Arguments are bytes here; arrays and types of numbers are
//! `python/oriole/_arguments.py`'s.

use oriole::run::{self, Argument, Launch, RunError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

use crate::{Found, found};

/// Blocks or threads, and their coordinates.
pub(crate) type Shape = (u32, u32, u32);

pub(crate) fn shape([x, y, z]: [u32; 3]) -> Shape {
    (x, y, z)
}

/// Why a launch stopped early.
#[pyclass(frozen, get_all, module = "oriole")]
#[derive(Clone)]
pub struct Fault {
    message: String,
    line: Option<usize>,
    block: Option<Shape>,
    thread: Option<Shape>,
    address: Option<u64>,
}

/// The state after a launch.
#[pyclass(frozen, module = "oriole")]
pub struct Outcome {
    run: run::Run,
    fault: Option<Fault>,
}

#[pymethods]
impl Outcome {
    #[getter]
    fn buffers<'py>(&self, python: Python<'py>) -> Vec<Option<Bound<'py, PyBytes>>> {
        let buffers = self.run.buffers.iter();
        buffers.map(|bytes| bytes.as_ref().map(|bytes| PyBytes::new(python, bytes))).collect()
    }

    #[getter]
    fn instructions(&self) -> u64 {
        self.run.instructions
    }

    #[getter]
    fn cycles(&self) -> u64 {
        self.run.cycles
    }

    #[getter]
    fn hazards(&self) -> Vec<String> {
        self.run.hazards.clone()
    }

    #[getter]
    fn output(&self) -> Vec<String> {
        self.run.output.clone()
    }

    #[getter]
    fn fault(&self) -> Option<Fault> {
        self.fault.clone()
    }
}

/// A state, or the errors of the text.
pub(crate) type Ran = (Option<Outcome>, Option<Found>);

pub(crate) fn ran(result: Result<run::Run, RunError>, name: &str) -> PyResult<Ran> {
    match result {
        Ok(run) => Ok((Some(Outcome { run, fault: None }), None)),
        Err(RunError::Text(report)) => Ok((None, Some(found(&report, name)))),
        Err(RunError::Cubin(message)) => Err(PyValueError::new_err(message)),
        Err(RunError::Fault(fault)) => {
            let run::Fault { message, line, thread, address, run } = *fault;
            let (block, thread) = thread.map(|(block, thread)| (shape(block), shape(thread))).unzip();
            Ok((Some(Outcome { run, fault: Some(Fault { message, line, block, thread, address }) }), None))
        }
    }
}

/// An argument: the bytes of a buffer (`buffer`) or of a scalar (`scalar`), or the number of an earlier one (`alias`).
#[derive(FromPyObject)]
pub struct Given {
    #[pyo3(item("kind"))]
    kind: String,
    #[pyo3(item("bytes"))]
    bytes: PyBackedBytes,
    #[pyo3(item("alias"))]
    alias: usize,
}

/// The shape of a launch and its arguments.
#[derive(FromPyObject)]
pub struct Asked {
    #[pyo3(item("entry"))]
    entry: String,
    #[pyo3(item("grid"))]
    grid: Shape,
    #[pyo3(item("block"))]
    block: Shape,
    #[pyo3(item("cluster"))]
    cluster: Option<Shape>,
    #[pyo3(item("shared_bytes"))]
    shared_bytes: u32,
    #[pyo3(item("arguments"))]
    arguments: Vec<Given>,
    #[pyo3(item("step_limit"))]
    step_limit: Option<u64>,
}

impl From<Asked> for Launch {
    fn from(asked: Asked) -> Launch {
        let arguments = asked.arguments.iter().map(|given| match given.kind.as_str() {
            "buffer" => Argument::Buffer(given.bytes.to_vec()),
            "alias" => Argument::Alias(given.alias),
            _ => Argument::Scalar(given.bytes.to_vec()),
        });
        Launch {
            entry: asked.entry,
            grid: asked.grid.into(),
            block: asked.block.into(),
            cluster: asked.cluster.map(Shape::into),
            shared_bytes: asked.shared_bytes,
            arguments: arguments.collect(),
            step_limit: asked.step_limit,
        }
    }
}

/// Runs PTX in the interpreter.
#[pyfunction]
pub fn interpret(python: Python<'_>, ptx: &str, launch: Asked, name: &str) -> PyResult<Ran> {
    let launch = Launch::from(launch);
    ran(python.detach(|| run::interpret(ptx, &launch)), name)
}

/// Runs a cubin in the simulator.
#[pyfunction]
pub fn simulate(python: Python<'_>, cubin: PyBackedBytes, launch: Asked, late: bool) -> PyResult<Ran> {
    let launch = Launch::from(launch);
    ran(python.detach(|| run::simulate(&cubin, &launch, late)), "")
}

/// Size in bytes, and type where it is known.
type Parameter = (u64, Option<&'static str>);

/// The parameters of a kernel of a text, or of a cubin.
#[pyfunction]
pub fn parameters(
    ptx: Option<&str>,
    cubin: Option<PyBackedBytes>,
    entry: &str,
    name: &str,
) -> PyResult<(Vec<Parameter>, Option<Found>)> {
    let parameters = match (ptx, cubin) {
        (Some(ptx), _) => run::parameters(ptx, entry),
        (None, Some(cubin)) => run::parameters_of_code(&cubin, entry),
        (None, None) => Ok(Vec::new()),
    };
    match parameters {
        Ok(found) => Ok((found.into_iter().map(|parameter| (parameter.size, parameter.ty)).collect(), None)),
        Err(RunError::Text(report)) => Ok((Vec::new(), Some(found(&report, name)))),
        Err(error) => Err(PyValueError::new_err(error.to_string())),
    }
}

/// The listing of a cubin.
#[pyfunction]
pub fn disassemble(python: Python<'_>, cubin: PyBackedBytes) -> PyResult<Vec<(String, String)>> {
    let listings = python.detach(|| oriole::disassemble(&cubin));
    let listings = listings.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(listings.into_iter().map(|listing| (listing.name.clone(), listing.to_string())).collect())
}

/// The verdict about a kernel.
#[pyclass(frozen, get_all, module = "oriole")]
#[derive(Clone)]
pub struct Verification {
    entry: String,
    verdict: &'static str,
    message: String,
    line: Option<usize>,
    address: Option<u32>,
    launches: u32,
    executed: usize,
    instructions: usize,
}

#[pymethods]
impl Verification {
    fn __repr__(&self) -> String {
        format!("Verification({:?}, {:?})", self.entry, self.verdict)
    }
}

impl From<oriole::Verification> for Verification {
    fn from(found: oriole::Verification) -> Verification {
        let (verdict, message, line, address) = match found.verdict {
            oriole::Verdict::Same => ("same", String::new(), None, None),
            oriole::Verdict::Undecided(reason) => ("undecided", reason, None, None),
            oriole::Verdict::Different { message, line, address } => ("different", message, line, address),
        };
        let (executed, instructions) = found.executed;
        let (entry, launches) = (found.entry, found.launches);
        Verification { entry, verdict, message, line, address, launches, executed, instructions }
    }
}

/// The error that a handler of a signal raised while other work runs, such as `KeyboardInterrupt`.
#[derive(Default)]
struct Signals(Mutex<Option<PyErr>>);

impl Signals {
    /// Lets the handlers of signals run; true if one raised an error, now or before.
    fn raised(&self) -> bool {
        let mut error = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if error.is_none() {
            *error = Python::attach(|python| python.check_signals().err());
        }
        error.is_some()
    }

    /// The error.
    fn error(self) -> PyErr {
        let error = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.unwrap_or_else(|| PyRuntimeError::new_err("the verification was given up"))
    }
}

/// Verifies a cubin against a text.
#[pyfunction]
pub fn verify(
    python: Python<'_>,
    ptx: &str,
    cubin: PyBackedBytes,
    entry: Option<&str>,
    seeds: u32,
    name: &str,
) -> PyResult<(Vec<Verification>, Option<Found>)> {
    let signals = Signals::default();
    match python.detach(|| oriole::verify_until(ptx, &cubin, entry, seeds, &|| signals.raised())) {
        Ok(None) => Err(signals.error()),
        Ok(Some(verdicts)) => Ok((verdicts.into_iter().map(Verification::from).collect(), None)),
        Err(RunError::Text(report)) => Ok((Vec::new(), Some(found(&report, name)))),
        Err(error) => Err(PyValueError::new_err(error.to_string())),
    }
}
