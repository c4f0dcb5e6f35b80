//! The language server as a process: it ends with the process that its client named, over its streams and over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that the server may take to notice.
const PATIENCE: Duration = Duration::from_secs(30);

fn message(text: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{text}", text.len())
}

/// Says hello in the name of a process, and waits for the answer.
fn greet(process: u32, mut input: impl Write, output: impl Read) {
    let hello = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"processId":{process},"capabilities":{{}}}}}}"#
    );
    input.write_all(message(&hello).as_bytes()).expect("the server listens");
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line).expect("the server answers");
    let length: usize =
        line.trim().strip_prefix("Content-Length: ").expect("a head").parse().expect("a length");
    let mut rest = vec![0; length + 2];
    output.read_exact(&mut rest).expect("an answer");
    input
        .write_all(message(r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#).as_bytes())
        .expect("the server listens");
}

/// A process that does nothing until its input ends.
fn client() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("`cat` can be started")
}

fn server(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_oriole"))
        .arg("lsp")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server can be started")
}

/// The status with which a process ends.
fn end(mut child: Child) -> Option<i32> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be asked for") {
            return status.code();
        }
        if since.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the server goes on without its client");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_server_ends_with_the_process_of_its_client() {
    let mut dead = client();
    let number = dead.id();
    dead.kill().expect("it runs");
    dead.wait().expect("it ends");
    // Its streams stay open, in our hands.
    for over_socket in [false, true] {
        for running in [true, false] {
            let mut process = client();
            let named = if running { process.id() } else { number };
            let mut server = server(if over_socket { &["--port", "0"] } else { &[] });
            let (input, output) =
                (server.stdin.take().expect("a pipe"), server.stdout.take().expect("a pipe"));
            let mut socket = None;
            if over_socket {
                let mut told = String::new();
                BufReader::new(server.stderr.take().expect("a pipe"))
                    .read_line(&mut told)
                    .expect("an address");
                let address = told.trim().strip_prefix("listening on ").expect("an address").to_owned();
                let stream = (0..500).find_map(|_| {
                    std::thread::sleep(Duration::from_millis(10));
                    TcpStream::connect(&address).ok()
                });
                let stream = stream.expect("the server listens");
                greet(named, &stream, &stream);
                socket = Some(stream);
            } else {
                greet(named, &input, output);
            }
            if running {
                // It serves as long as its client is there.
                std::thread::sleep(Duration::from_millis(100));
                assert!(server.try_wait().expect("a child can be asked for").is_none());
            }
            process.kill().expect("it runs");
            process.wait().expect("it ends");
            assert_eq!(end(server), Some(0), "over a socket: {over_socket}, running: {running}");
            drop((input, socket));
        }
    }
}
