//! Sessions of the facade: texts that change, with cached results. Positions are bytes here; those of Python's strings are
//! `python/oriole`'s.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use oriole::FileId;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::{Compiled, compiled, options};

/// A session.
#[pyclass(frozen, module = "oriole")]
pub struct Session {
    session: Mutex<oriole::Session>,
}

impl Session {
    /// Changes the session without Python's lock: a change waits until running compiles have stopped, which need it to return.
    fn change<T: Send>(
        &self,
        python: Python<'_>,
        change: impl FnOnce(&mut oriole::Session) -> T + Send,
    ) -> T {
        python.detach(|| change(&mut self.session.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(
        arch: Option<&str>,
        level: u8,
        knobs: BTreeMap<String, String>,
        switches: Vec<String>,
        threads: NonZeroUsize,
    ) -> PyResult<Session> {
        let options = options(arch, level, knobs, switches)?.on_threads(threads);
        Ok(Session { session: Mutex::new(oriole::Session::new(options)) })
    }

    fn open(&self, python: Python<'_>, text: &str) -> u32 {
        self.change(python, |session| session.open(text)).0
    }

    fn edit(&self, python: Python<'_>, file: u32, start: usize, end: usize, text: &str) {
        self.change(python, |session| session.edit(FileId(file), start..end, text));
    }

    fn replace(&self, python: Python<'_>, file: u32, text: &str) {
        self.change(python, |session| session.replace(FileId(file), text));
    }

    fn close(&self, python: Python<'_>, file: u32) {
        self.change(python, |session| session.close(FileId(file)));
    }

    fn compile(&self, python: Python<'_>, file: u32, name: &str) -> PyResult<Compiled> {
        let snapshot = self.change(python, |session| session.snapshot());
        match python.detach(move || snapshot.compile(FileId(file))) {
            Ok(done) => Ok(compiled(done, name)),
            Err(_) => Err(PyRuntimeError::new_err("cancelled by a change of the session")),
        }
    }
}
