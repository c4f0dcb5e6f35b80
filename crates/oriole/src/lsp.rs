//! `oriole lsp`: the language server over standard streams or a socket, and the world that it may ask.

use crate::arguments::Lsp;
use crate::outcome::{Outcome, failed};
use oriole_lsp::{Connection, Environment};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The file system, and an installed `ptxas`.
struct Machine;

impl Environment for Machine {
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        std::fs::read(path).ok()
    }

    fn ptxas(&self, text: &str, chip: &str) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
        std::fs::write(&input, text).map_err(|error| error.to_string())?;
        let result = Command::new("ptxas")
            .arg(format!("-arch={chip}"))
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .output()
            .map_err(|error| format!("`ptxas` cannot be started: {error}"))?;
        if !result.status.success() {
            return Err(String::from_utf8_lossy(&result.stderr).into_owned());
        }
        std::fs::read(&output).map_err(|error| error.to_string())
    }
}

/// Runs `oriole lsp`.
pub fn lsp(arguments: &Lsp) -> Outcome {
    let environment: Arc<dyn Environment> = Arc::new(Machine);
    if arguments.schema {
        return crate::outcome::print(&format!("{:#}\n", oriole_lsp::schema()));
    }
    let served = match (arguments.port, &arguments.connect) {
        (Some(port), _) => listen(port, environment),
        (None, Some(address)) => match Connection::connect(address) {
            Ok((connection, threads)) => oriole_lsp::serve(connection, environment)
                .and_then(|()| threads.join().map_err(|error| error.to_string())),
            Err(error) => Err(format!("{address}: {error}")),
        },
        (None, None) => {
            let (connection, threads) = Connection::stdio();
            oriole_lsp::serve(connection, environment)
                .and_then(|()| threads.join().map_err(|error| error.to_string()))
        }
    };
    match served {
        Ok(()) => Outcome::Right,
        Err(message) => failed(&message),
    }
}

/// Waits for one client on a port of this machine. The port that was taken is told, so that 0 may be asked for.
fn listen(port: u16, environment: Arc<dyn Environment>) -> Result<(), String> {
    let probe = TcpListener::bind(("127.0.0.1", port)).map_err(|error| format!("port {port}: {error}"))?;
    let address = probe.local_addr().map_err(|error| error.to_string())?;
    drop(probe);
    eprintln!("listening on {address}");
    let (connection, threads) = Connection::listen(address).map_err(|error| error.to_string())?;
    oriole_lsp::serve(connection, environment)?;
    threads.join().map_err(|error| error.to_string())
}
