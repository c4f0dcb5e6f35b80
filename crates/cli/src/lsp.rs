//! `oriole lsp`: the language server over standard streams or a socket, and the world that it may ask.

use crate::arguments::Lsp;
use crate::outcome::{Outcome, failed};
use oriole_lsp::transport::{self, IoThreads};
use oriole_lsp::{Connection, End, Environment, Ptxas};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What the system says of a process that is not there: `ESRCH`, and on Windows a parameter that is not right.
const NO_SUCH_PROCESS: i32 = if cfg!(windows) { 87 } else { 3 };

/// The file system, processes, and an installed `ptxas`.
struct Machine;

impl Environment for Machine {
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        crate::files::input::is_regular(path).then(|| std::fs::read(path).ok())?
    }

    fn sources(&self, folder: &Path) -> Vec<PathBuf> {
        let is_ptx = |path: &Path| path.extension().is_some_and(|extension| extension == "ptx");
        let found = ignore::WalkBuilder::new(folder).sort_by_file_path(Path::cmp).build().flatten();
        let files = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.map(ignore::DirEntry::into_path).filter(|path| is_ptx(path)).collect()
    }

    fn wait_for_end(&self, process: u32) -> bool {
        let Ok(number) = i32::try_from(process) else { return false };
        match waitpid_any::WaitHandle::open(number) {
            Ok(mut handle) => handle.wait().is_ok(),
            // There is none of that number: it is gone already.
            Err(error) => error.raw_os_error() == Some(NO_SUCH_PROCESS),
        }
    }

    fn ptxas(&self, text: &str, chip: &str) -> Result<Ptxas, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
        std::fs::write(&input, text).map_err(|error| error.to_string())?;
        let result = Command::new("ptxas")
            .args(["-v", &format!("-arch={chip}")])
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .output()
            .map_err(|error| format!("`ptxas` cannot be started: {error}"))?;
        let report = String::from_utf8_lossy(&result.stderr).into_owned();
        if !result.status.success() {
            return Ok(Ptxas::Refused(report));
        }
        let cubin = std::fs::read(&output).map_err(|error| error.to_string())?;
        Ok(Ptxas::Made { cubin, report })
    }
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
            Err(error) => Err(format!("{address}: {error}")),
        },
        (None, None) => {
            let (connection, threads) = transport::stdio();
            serve(connection, threads, environment)
        }
    };
    match served {
        Ok(End::Goodbye | End::Disconnected | End::ClientGone) => Outcome::Right,
        Ok(End::Exit) => failed("the client left without `shutdown`"),
        Err(message) => failed(&message),
    }
}

/// Serves a client over its streams.
fn serve(
    connection: Connection,
    threads: IoThreads,
    environment: Arc<dyn Environment>,
) -> Result<End, String> {
    let end = oriole_lsp::serve(connection, environment)?;
    // The streams of a client that is gone may stay open in other hands: the thread that reads would never end.
    if end != End::ClientGone {
        threads.join().map_err(|error| error.to_string())?;
    }
    Ok(end)
}

/// Waits for one client on a port of this machine. The port that was taken is told, so that 0 may be asked for.
fn listen(port: u16, environment: Arc<dyn Environment>) -> Result<End, String> {
    let failed = |error: std::io::Error| format!("port {port}: {error}");
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(failed)?;
    eprintln!("listening on {}", listener.local_addr().map_err(failed)?);
    let (connection, threads) = transport::accept(&listener).map_err(failed)?;
    serve(connection, threads, environment)
}
