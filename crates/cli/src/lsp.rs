//! `oriole lsp`: the language server over standard streams or a socket, and the files and programs that it may use.

use crate::arguments::Lsp;
use crate::outcome::{Outcome, failed};
use oriole_lsp::transport::{self, IoThreads};
use oriole_lsp::{Connection, End, Environment, Ptxas, PtxasError, ServeError};
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The error of the system for a process that does not exist: `ESRCH`, and on Windows a wrong parameter.
const NO_SUCH_PROCESS: i32 = if cfg!(windows) { 87 } else { 3 };

/// The file system, processes, and an installed `ptxas`.
struct Machine;

impl Environment for Machine {
    fn read(&self, path: &Path, most: usize) -> Option<Vec<u8>> {
        let file = crate::files::input::is_regular(path).then(|| std::fs::File::open(path).ok())??;
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn sources(&self, folder: &Path) -> Vec<PathBuf> {
        let is_ptx = |path: &Path| path.extension().is_some_and(|extension| extension == "ptx");
        let found = ignore::WalkBuilder::new(folder).sort_by_file_path(Path::cmp).build().flatten();
        let files = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.map(ignore::DirEntry::into_path).filter(|path| is_ptx(path)).collect()
    }

    fn launch(&self, ptx: &Path, kernel: &str) -> Option<Result<(String, oriole_simulate::Launch), String>> {
        // The file of the kernel, then the one of all kernels of the text.
        let folder = ptx.parent()?;
        let own = (!kernel.contains(['/', '\\'])).then(|| folder.join(format!("{kernel}.json")));
        own.into_iter().chain([ptx.with_extension("json")]).find_map(|path| {
            if !crate::files::input::is_regular(&path) {
                return None;
            }
            let launches = match crate::launch::read(&path) {
                Ok(launches) => launches,
                Err(error) => return Some(Err(error.to_string())),
            };
            let name = path.file_name()?.to_string_lossy().into_owned();
            let launch = launches.into_iter().find(|launch| launch.entry == kernel)?;
            Some(Ok((name, launch.for_simulator(oriole_simulate::Options::default()))))
        })
    }

    fn keep_crash(&self, error: &str, texts: &[(&str, &str)]) -> Option<PathBuf> {
        crate::crash::left(error, texts)
    }

    fn wait_for_end(&self, process: u32) -> bool {
        let Ok(number) = i32::try_from(process) else { return false };
        match waitpid_any::WaitHandle::open(number) {
            Ok(mut handle) => handle.wait().is_ok(),
            // There is none of that number: it is gone already.
            Err(error) => error.raw_os_error() == Some(NO_SUCH_PROCESS),
        }
    }

    fn ptxas(&self, text: &str, chip: &str) -> Result<Ptxas, PtxasError> {
        let folder = tempfile::tempdir()?;
        let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
        std::fs::write(&input, text)?;
        let result = Command::new("ptxas")
            .args(["-v", &format!("-arch={chip}")])
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .output()
            .map_err(PtxasError::Start)?;
        let report = String::from_utf8_lossy(&result.stderr).into_owned();
        if !result.status.success() {
            return Ok(Ptxas::Refused(report));
        }
        let cubin = std::fs::read(&output)?;
        Ok(Ptxas::Made { cubin, report })
    }
}

/// Why no client is served any more.
#[derive(Debug, thiserror::Error)]
enum LspError {
    /// A port or an address cannot be used.
    #[error("{place}: {error}")]
    Place {
        /// The port or the address.
        place: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The client's streams failed.
    #[error(transparent)]
    Streams(std::io::Error),
    /// The server ended.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Runs `oriole lsp`.
pub fn lsp(arguments: &Lsp) -> Outcome {
    oriole_lsp::refuse_huge_pages();
    let environment: Arc<dyn Environment> = Arc::new(Machine);
    if arguments.schema {
        return crate::outcome::print(&format!("{:#}\n", oriole_lsp::schema()));
    }
    let served = match (arguments.port, &arguments.connect) {
        (Some(port), _) => listen(port, environment),
        (None, Some(address)) => match transport::connect(address) {
            Ok((connection, threads)) => serve(connection, threads, environment),
            Err(error) => Err(LspError::Place { place: address.clone(), error }),
        },
        (None, None) => {
            let (connection, threads) = transport::stdio();
            serve(connection, threads, environment)
        }
    };
    match served {
        Ok(End::Goodbye | End::Disconnected | End::ClientGone) => Outcome::Right,
        Ok(End::Exit) => failed("the client left without `shutdown`"),
        Err(message) => failed(message),
    }
}

/// Serves a client over its streams.
fn serve(
    connection: Connection,
    threads: IoThreads,
    environment: Arc<dyn Environment>,
) -> Result<End, LspError> {
    let end = oriole_lsp::serve(connection, environment)?;
    // The streams of a client that is gone may stay open in other hands: the thread that reads would never end.
    if end != End::ClientGone {
        threads.join().map_err(LspError::Streams)?;
    }
    Ok(end)
}

/// Waits for one client on a port of this computer. The port is printed, so that 0 may be asked for.
fn listen(port: u16, environment: Arc<dyn Environment>) -> Result<End, LspError> {
    let failed = |error| LspError::Place { place: format!("port {port}"), error };
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(failed)?;
    eprintln!("listening on {}", listener.local_addr().map_err(failed)?);
    let (connection, threads) = transport::accept(&listener).map_err(failed)?;
    serve(connection, threads, environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_a_bound() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("k.cu");
        // Sparse: gigabytes that take no room.
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 33)).expect("a file");
        assert_eq!(Machine.read(&path, 4), Some(vec![0; 5]));
        std::fs::write(&path, "line").expect("a file");
        assert_eq!(Machine.read(&path, 4), Some(b"line".to_vec()));
        assert_eq!(Machine.read(folder.path(), 4), None);
        assert_eq!(Machine.read(Path::new("/dev/zero"), 4), None);
    }
}
