//! `oriole view --serve` as browsers and others meet it: which requests are answered, that it outlives bad ones, that the page
//! hears of changes, and what of the command line is refused.

use crate::support::{data, oriole, scratch, text};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The program while it serves; it ends with the value.
struct Server {
    child: Child,
    port: u16,
    /// The secret of the address.
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn new(input: &Path) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.arg("view").arg(input).args(["--serve", "--jobs", "1"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        let rest = line.trim().strip_prefix("http://127.0.0.1:").expect("an address");
        let (port, token) = rest.trim_end_matches('/').split_once('/').expect("a secret");
        Server { port: port.parse().expect("a port"), token: token.to_owned(), child }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a time");
        stream
    }

    /// Status and body of the answer to these bytes.
    fn send(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let status = answer.get(9..12).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or_else(|| panic!("{answer}")), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        self.send(format!("GET /{}/{path} HTTP/1.1\r\n{host}\r\n\r\n", self.token).as_bytes())
    }

    /// The status of a request with these lines, in which `PORT` and `TOKEN` are replaced.
    fn status(&self, head: &str) -> u16 {
        let head = head.replace("PORT", &self.port.to_string()).replace("TOKEN", &self.token);
        self.send(format!("{head}\n\n").replace('\n', "\r\n").as_bytes()).0
    }
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A folder with a kernel, whose file is served.
fn serve() -> (tempfile::TempDir, std::path::PathBuf, Server) {
    let folder = scratch();
    let input = folder.path().join("k.ptx");
    std::fs::write(&input, KERNEL).expect("a file");
    let server = Server::new(&input);
    (folder, input, server)
}

const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry put(.param .u64 p)
{
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 7;
  ret;
}
";

#[test]
fn what_a_page_asks_for_is_answered() {
    let (_folder, _input, server) = serve();
    let (status, page) = server.get("");
    assert!(
        status == 200 && page.contains("data-served") && !page.contains("st.global"),
        "the page has no data yet"
    );
    let (status, file) = server.get("file");
    assert_eq!((status, &json(&file)["file"]["kernels"]), (200, &serde_json::json!([["put", null]])));
    let (status, code) = server.get("code?kernel=0&revision=1");
    assert_eq!((status, &json(&code)["name"]), (200, &serde_json::json!("put")));
    let (status, ori) = server.get("ori?kernel=0&revision=1");
    assert!(status == 200 && json(&ori)["phases"].as_array().is_some_and(|phases| !phases.is_empty()));
    for (path, wanted) in [
        ("code?kernel=1&revision=1", 404),
        ("code?kernel=0&revision=2", 409),
        ("code?kernel=0", 400),
        ("code?kernel=-1&revision=1", 400),
        ("nothing", 404),
    ] {
        assert_eq!(server.get(path).0, wanted, "{path}");
    }
}

/// A page of elsewhere in the same browser, or a program of another user, gets nothing.
#[test]
fn others_are_refused() {
    let (_folder, _input, server) = serve();
    for head in [
        "GET / HTTP/1.1\nHost: 127.0.0.1:PORT",
        "GET /file HTTP/1.1\nHost: 127.0.0.1:PORT",
        "GET /0123456789abcdef0123456789abcdef/file HTTP/1.1\nHost: 127.0.0.1:PORT",
        "GET /TOKEN/file HTTP/1.1\nHost: evil.example:PORT",
        "GET /TOKEN/file HTTP/1.1",
        "GET /TOKEN/file HTTP/1.1\nHost: 127.0.0.1:PORT\nOrigin: http://evil.example",
        "GET /TOKEN/events HTTP/1.1\nHost: 127.0.0.1:PORT\nOrigin: null",
    ] {
        assert_eq!(server.status(head), 403, "{head}");
    }
    let own = "GET /TOKEN/file HTTP/1.1\nHost: localhost:PORT\nOrigin: http://localhost:PORT";
    assert_eq!(server.status(own), 200);
    // It listens on this machine only.
    let address = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    if let Ok(address) = address.map(|address| address.ip())
        && !address.is_loopback()
    {
        assert!(TcpStream::connect((address, server.port)).is_err(), "{address} answers");
    }
}

/// No request ends the server.
#[test]
fn bad_requests_are_errors_and_the_server_lives_on() {
    let (_folder, _input, server) = serve();
    let host = "Host: 127.0.0.1:PORT";
    assert_eq!(server.status(&format!("POST /TOKEN/file HTTP/1.1\n{host}")), 405);
    assert_eq!(server.status(&format!("GET /TOKEN/file HTTP/1.1\n{host}\nContent-Length: 9999999999")), 413);
    assert_eq!(server.status("nonsense"), 400);
    assert_eq!(server.status(&format!("GET /TOKEN/file HTTP/1.1\n{host}\nX: {}", "y".repeat(100_000))), 431);
    assert_eq!(server.send(b"\xff\xfe\x00\r\n\r\n").0, 400);
    // Clients that say nothing, or go away.
    let silent = server.connect();
    drop(server.connect());
    let mut half = server.connect();
    half.write_all(b"GET /").expect("it reads");
    assert_eq!(server.get("file").0, 200);
    drop((silent, half));
}

/// The next event of a page, as its data.
fn event(lines: &mut impl BufRead) -> serde_json::Value {
    let begun = Instant::now();
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "the events end");
        if let Some(data) = line.strip_prefix("data: ") {
            return json(data);
        }
        assert!(begun.elapsed() < LIMIT, "no event");
    }
}

#[test]
fn a_page_hears_of_changes() {
    let (_folder, input, server) = serve();
    let mut stream = server.connect();
    let head = format!("GET /{}/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.token, server.port);
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(stream);
    assert_eq!(event(&mut lines), serde_json::json!({ "revision": 1, "error": null }));
    std::fs::write(&input, KERNEL.replace("put", "set")).expect("a file");
    assert_eq!(event(&mut lines), serde_json::json!({ "revision": 2, "error": null }));
    assert_eq!(json(&server.get("file").1)["file"]["kernels"][0][0], "set");
    // The error of a text that does not compile is said, and the state before stays.
    std::fs::write(&input, KERNEL.replace("[%a], 7", "[%nobody], 7")).expect("a file");
    let said = event(&mut lines);
    assert!(
        said["revision"] == 2 && said["error"].as_str().is_some_and(|error| error.contains("nobody")),
        "{said}"
    );
    assert_eq!(server.get("code?kernel=0&revision=2").0, 200);
    std::fs::remove_file(&input).expect("a file");
    let said = event(&mut lines);
    assert!(said["error"].as_str().is_some_and(|error| error.contains("k.ptx")), "{said}");
    std::fs::write(&input, KERNEL).expect("a file");
    assert_eq!(event(&mut lines), serde_json::json!({ "revision": 3, "error": null }));
}

#[test]
fn what_cannot_be_served() {
    let calls = text(&data("kernels").join("calls.ptx"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let done = oriole(&["view", &calls, "--serve", "--port", &port]);
    assert!(done.status == Some(1) && done.err.contains(&format!("port {port} is in use")), "{}", done.err);
    for port in ["65536", "x", ""] {
        let done = oriole(&["view", &calls, "--serve", "--port", port]);
        assert!(done.status == Some(2) && done.err.contains("--port"), "{}", done.err);
    }
    let done = oriole(&["view", "-", "--serve"]);
    assert!(done.status == Some(2) && done.err.contains("standard input"), "{}", done.err);
    let done = oriole(&["view", &calls, "--port", "8000"]);
    assert!(done.status == Some(2) && done.err.contains("--serve"), "{}", done.err);
    let done = oriole(&["view", "/nowhere/k.ptx", "--serve"]);
    assert!(done.status == Some(1) && done.err.contains("/nowhere/k.ptx"), "{}", done.err);
}
