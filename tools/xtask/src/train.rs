//! The training run of the profile: typical uses of the program, over the kernels of the repository. Compiling comes
//! first in time and in weight; code that is not run here is optimized for size.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Chips for which every kernel is compiled if they support it, in addition to its own.
const CHIPS: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// The parts of the training, each with a folder of its own for its profiles, and the weight of its counts: loops of
/// the interpreter and the simulator run so often that they would dominate the counts of compiles. Of compiles there is
/// a profile for each kernel.
pub const PARTS: [(&str, u32); 3] = [("compile", 100), ("tools", 100), ("machines", 1)];

/// Number of keystrokes in each kernel for the server.
const KEYSTROKES: usize = 12;

/// Runs an instrumented program, whose profiles go below `raw`. Kernels that a chip refuses are part of it.
///
/// # Errors
/// A file that cannot be read, a program that cannot be started, or that compiles no kernel at all.
pub fn run(program: &Path, scratch: &Path, raw: &Path) -> Result<(), String> {
    std::fs::create_dir_all(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let folder = crate::root().join("test-data/kernels");
    let [compile, tools, machines] = PARTS.map(|(part, _)| raw.join(part));
    let named = |part: &Path, name: &str| {
        let mut command = Command::new(program);
        command.env("LLVM_PROFILE_FILE", part.join(format!("{name}%m.profraw")));
        command
    };
    let instrumented = |part: &Path| named(part, "");
    let kernels = files(&folder, "ptx")?;
    let cubin = scratch.join("kernel.cubin");
    let mut compiled = 0;
    for (at, kernel) in kernels.iter().enumerate() {
        let compile = || named(&compile, &format!("{at}-"));
        let own = quietly(compile().arg("compile").arg(kernel).arg("-o").arg(&cubin))?;
        compiled += usize::from(own);
        if own {
            quietly(instrumented(&tools).arg("lint").arg(&cubin))?;
            quietly(instrumented(&tools).arg("dis").arg(&cubin))?;
        }
        quietly(instrumented(&tools).arg("check").arg(kernel))?;
        for chip in CHIPS {
            let mut command = compile();
            quietly(command.arg("compile").args(["--arch", chip]).arg(kernel).arg("-o").arg(&cubin))?;
        }
    }
    if compiled == 0 {
        return Err(format!("{} compiles no kernel of {}", program.display(), folder.display()));
    }
    for record in files(&folder, "json")? {
        for machine in ["interp", "sim"] {
            quietly(instrumented(&machines).args(["run", "--on", machine]).arg(&record))?;
        }
    }
    serve(instrumented(&tools), &kernels).map_err(|error| format!("{} lsp: {error}", program.display()))
}

/// The files of a folder with this extension, sorted by name.
///
/// # Errors
/// A folder that cannot be read.
pub fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

/// Whether a command succeeds.
fn quietly(command: &mut Command) -> Result<bool, String> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map(|status| status.success()).map_err(|error| format!("{command:?}: {error}"))
}

/// A conversation with the language server: each kernel is opened, edited, and queried.
fn serve(mut program: Command, kernels: &[PathBuf]) -> std::io::Result<()> {
    let mut server = program.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut answers = BufReader::new(server.stdout.take().expect("it is piped"));
    request(
        &mut server,
        &mut answers,
        "initialize",
        json!({"processId": null, "rootUri": null, "capabilities": {}}),
    )?;
    notify(&mut server, "initialized", json!({}))?;
    for (at, kernel) in kernels.iter().enumerate() {
        let text = std::fs::read_to_string(kernel)?;
        let document = json!({"uri": format!("file:///{at}.ptx")});
        let mut item = document.clone();
        item["languageId"] = "ptx".into();
        item["version"] = 0.into();
        item["text"] = text.as_str().into();
        notify(&mut server, "textDocument/didOpen", json!({"textDocument": item}))?;
        let lines = text.lines().count();
        for version in 1..=KEYSTROKES {
            let place = json!({"line": lines * version / (KEYSTROKES + 1), "character": 0});
            let mut changed = document.clone();
            changed["version"] = version.into();
            let typed = json!({"range": {"start": place, "end": place}, "text": "// \n"});
            notify(
                &mut server,
                "textDocument/didChange",
                json!({"textDocument": changed, "contentChanges": [typed]}),
            )?;
            for method in ["textDocument/hover", "textDocument/completion", "textDocument/definition"] {
                request(
                    &mut server,
                    &mut answers,
                    method,
                    json!({"textDocument": document, "position": place}),
                )?;
            }
        }
        let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}});
        request(
            &mut server,
            &mut answers,
            "textDocument/inlayHint",
            json!({"textDocument": document, "range": range}),
        )?;
        for method in
            ["textDocument/semanticTokens/full", "textDocument/documentSymbol", "textDocument/foldingRange"]
        {
            request(&mut server, &mut answers, method, json!({"textDocument": document}))?;
        }
        notify(&mut server, "textDocument/didClose", json!({"textDocument": document}))?;
    }
    request(&mut server, &mut answers, "shutdown", Value::Null)?;
    notify(&mut server, "exit", Value::Null)?;
    server.wait().map(drop)
}

fn notify(server: &mut Child, method: &str, params: Value) -> std::io::Result<()> {
    send(server, &json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// Sends a request and waits for its answer.
fn request(
    server: &mut Child,
    answers: &mut BufReader<ChildStdout>,
    method: &str,
    params: Value,
) -> std::io::Result<()> {
    send(server, &json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))?;
    loop {
        let message = receive(answers)?;
        if message["id"] == method && message["method"].is_null() {
            return Ok(());
        }
    }
}

fn send(server: &mut Child, message: &Value) -> std::io::Result<()> {
    let text = message.to_string();
    let pipe = server.stdin.as_mut().expect("it is piped");
    write!(pipe, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    pipe.flush()
}

fn receive(answers: &mut BufReader<ChildStdout>) -> std::io::Result<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    answers.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
