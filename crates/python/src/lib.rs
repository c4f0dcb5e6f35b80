//! The native half of the Python package `oriole`: it converts values, and releases the GIL while the compiler works.
//!
//! Python users get the facade and nothing else; names of arguments and exceptions are in `python/oriole`.
//! No compiler stage and no file may enter.

mod findings;
mod machines;
mod session;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use oriole::{Options, Report, Style};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The resources of a kernel or function.
#[pyclass(frozen, get_all, eq, module = "oriole")]
#[derive(Clone, PartialEq)]
struct Function {
    name: String,
    is_kernel: bool,
    registers: u32,
    frame_bytes: u32,
    stack_bytes: Option<u32>,
    spill_store_bytes: u32,
    spill_load_bytes: u32,
    shared_bytes: u32,
    barriers: u8,
}

#[pymethods]
impl Function {
    fn __repr__(&self) -> String {
        format!("Function({:?}, registers={})", self.name, self.registers)
    }
}

impl From<&oriole::Resources> for Function {
    fn from(needs: &oriole::Resources) -> Function {
        Function {
            name: needs.name.clone(),
            is_kernel: needs.is_kernel,
            registers: needs.registers,
            frame_bytes: needs.frame_bytes,
            stack_bytes: needs.stack_bytes,
            spill_store_bytes: needs.spill_stores,
            spill_load_bytes: needs.spill_loads,
            shared_bytes: needs.shared_bytes,
            barriers: needs.barriers,
        }
    }
}

/// A diagnostic.
#[pyclass(frozen, get_all, eq, module = "oriole")]
#[derive(Clone, PartialEq)]
struct Diagnostic {
    code: String,
    severity: String,
    line: u32,
    column: u32,
    message: String,
    help: Vec<String>,
}

#[pymethods]
impl Diagnostic {
    fn __repr__(&self) -> String {
        format!(
            "Diagnostic({}:{}: {}[{}]: {})",
            self.line, self.column, self.severity, self.code, self.message
        )
    }
}

impl From<oriole::Diagnostic> for Diagnostic {
    fn from(found: oriole::Diagnostic) -> Diagnostic {
        Diagnostic {
            code: found.code.as_str().to_owned(),
            severity: found.severity.as_str().to_owned(),
            line: found.line,
            column: found.column,
            message: found.message,
            help: found.help,
        }
    }
}

/// A compiled module.
#[pyclass(frozen, module = "oriole")]
struct Result {
    bytes: Vec<u8>,
    functions: Vec<Function>,
    warnings: Vec<Diagnostic>,
}

#[pymethods]
impl Result {
    #[getter]
    fn cubin<'py>(&self, python: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(python, &self.bytes)
    }

    #[getter]
    fn functions(&self) -> Vec<Function> {
        self.functions.clone()
    }

    #[getter]
    fn warnings(&self) -> Vec<Diagnostic> {
        self.warnings.clone()
    }

    fn __repr__(&self) -> String {
        format!("Result({} bytes, {} functions)", self.bytes.len(), self.functions.len())
    }
}

/// Diagnostics, and their rendering for people.
type Found = (Vec<Diagnostic>, String);

fn found(report: &Report, name: &str) -> Found {
    (report.diagnostics().map(Diagnostic::from).collect(), report.rendered(name, Style::Plain))
}

/// Compiles; returns a result, or diagnostics.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each argument that the Python half passes on")]
fn compile(
    python: Python<'_>,
    ptx: &str,
    arch: Option<&str>,
    level: u8,
    knobs: BTreeMap<String, String>,
    switches: Vec<String>,
    threads: NonZeroUsize,
    name: &str,
) -> PyResult<Compiled> {
    let options = options(arch, level, knobs, switches)?.on_threads(threads);
    Ok(compiled(python.detach(|| oriole::compile(ptx, &options)), name))
}

/// A compiled module, or diagnostics.
type Compiled = (Option<Result>, Option<Found>);

fn compiled(compiled: std::result::Result<oriole::Cubin, Report>, name: &str) -> Compiled {
    match compiled {
        Ok(cubin) => {
            let functions = cubin.functions.iter().map(Function::from).collect();
            let warnings = cubin.warnings.diagnostics().map(Diagnostic::from).collect();
            (Some(Result { bytes: cubin.bytes, functions, warnings }), None)
        }
        Err(report) => (None, Some(found(&report, name))),
    }
}

/// Checks, and returns diagnostics.
#[pyfunction]
fn check(python: Python<'_>, ptx: &str, arch: Option<&str>) -> PyResult<Vec<Diagnostic>> {
    let options = options(arch, 3, BTreeMap::new(), Vec::new())?;
    let report = python.detach(|| oriole::check(ptx, &options));
    Ok(report.diagnostics().map(Diagnostic::from).collect())
}

fn options(
    arch: Option<&str>,
    level: u8,
    knobs: BTreeMap<String, String>,
    switches: Vec<String>,
) -> PyResult<Options> {
    let refused = |error: oriole::OptionError| PyValueError::new_err(error.to_string());
    let mut options = Options::new().at_level(level).map_err(refused)?;
    if let Some(arch) = arch {
        options = options.for_chip(arch).map_err(refused)?;
    }
    for (name, text) in &knobs {
        options = options.with_knob(name, text).map_err(refused)?;
    }
    for switch in &switches {
        options = options.with_switch(switch).map_err(refused)?;
    }
    Ok(options)
}

/// The module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::findings::{
        PyCheckFinding, PyCheckPlace, PyProfile, PyProfileFinding, PyProfileLine, interpret_checked, profile,
    };
    #[pymodule_export]
    use super::machines::{
        Fault, Outcome, Verification, disassemble, interpret, parameters, simulate, verify,
    };
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::{Diagnostic, Function, Result, check, compile};
}
