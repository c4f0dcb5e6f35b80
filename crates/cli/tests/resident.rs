//! The resident compiler as its users meet it: the same bytes, streams and exit statuses as without it, whatever happens to it,
//! and one of them for each user and program. Nothing is timed: tests wait for the event that must happen.

use crate::support::{Finished, data, finish, finish_fed, scratch, text};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_oriole");

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(120);

/// A user with a folder of sources and a folder for sockets.
struct Home {
    folder: TempDir,
    program: PathBuf,
    variables: Vec<(&'static str, &'static str)>,
}

impl Home {
    fn new(variables: &[(&'static str, &'static str)]) -> Home {
        let folder = scratch();
        fs::create_dir(folder.path().join("run")).expect("a folder");
        fs::copy(data("kernels").join("reduce.ptx"), folder.path().join("a.ptx")).expect("a file");
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).expect("a file");
        write("b.ptx", format!("{HEAD}.visible .entry second() {{ ret; }}\n"));
        write("wrong.ptx", format!("{HEAD}.visible .entry k()\n{{\n  foo.b32 %r1;\n}}\n"));
        write(
            "doubtful.ptx",
            format!(
                "{HEAD}.visible .entry k(.param .u64 p)\n{{\n  .reg .b32 %r<3>;\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n  add.s32 %r1, %r2, 1;\n  st.global.u32 [%a], %r1;\n  ret;\n}}\n"
            ),
        );
        write("old.ptx", ".version 4.0\n.target sm_20\n.address_size 64\n.entry k() { ret; }\n".to_owned());
        write("options", "-v -O1".to_owned());
        Home { folder, program: PROGRAM.into(), variables: variables.to_vec() }
    }

    fn command(&self, arguments: &[&str], is_on: bool) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder.path());
        command.env_remove("NO_COLOR").env_remove("ORIOLE_LOG").envs(self.variables.iter().copied());
        command.env("XDG_RUNTIME_DIR", self.folder.path().join("run"));
        command.env("ORIOLE_RESIDENT", if is_on { "1" } else { "0" });
        command
    }

    fn run(&self, arguments: &[&str], is_on: bool) -> Finished {
        finish(&mut self.command(arguments, is_on))
    }

    /// Starts one and waits until it answers.
    fn start(&self) {
        let done = self.run(&["resident", "start"], false);
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
        assert!(done.out.starts_with("a resident compiler runs: process "), "{}", done.out);
    }

    fn status(&self) -> Value {
        let done = self.run(&["resident", "status", "--json"], false);
        let status: Value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"));
        assert_eq!(done.status, Some(if status["running"] == true { 0 } else { 3 }), "{status}");
        status
    }

    fn count(&self, figure: &str) -> u64 {
        self.status()[figure].as_u64().unwrap_or_else(|| panic!("{figure} in {}", self.status()))
    }

    /// Waits until something is so.
    fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = self.status();
            if is_so(&status) {
                return status;
            }
            assert!(start.elapsed() < LIMIT, "{what} never comes: {status}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A text whose compile takes long, and the arguments for it.
    fn long(&self) -> [String; 6] {
        let mut source = HEAD.to_owned();
        for kernel in 0..24 {
            let _ = write!(
                source,
                ".visible .entry long{kernel}(.param .u64 p)\n{{\n  .reg .b32 %r<32>;\n  .reg .b64 %a;\n  ld.param.u64 %a, [p];\n"
            );
            (0..32).for_each(|at| _ = writeln!(source, "  ld.global.u32 %r{at}, [%a+{}];", 4 * at));
            (0..1500).for_each(|at| {
                let (first, second) = ((at * 7 + 3) % 32, (at * 11 + kernel) % 32);
                _ = writeln!(
                    source,
                    "  mad.lo.u32 %r{}, %r{first}, %r{second}, %r{};",
                    at % 32,
                    (at * 5 + 1) % 32
                );
            });
            (0..32).for_each(|at| _ = writeln!(source, "  st.global.u32 [%a+{}], %r{at};", 4 * at));
            source.push_str("  ret;\n}\n");
        }
        fs::write(self.path("long.ptx"), source).expect("a file");
        ["compile", "long.ptx", "-o", "long.cubin", "--jobs", "1"].map(str::to_owned)
    }

    fn begin_long(&self) -> Child {
        let long = self.long();
        let mut command = self.command(&long.each_ref().map(String::as_str), true);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.expect("the program");
        self.until("a request", |status| status["in_flight"] == 1);
        child
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let done = self.run(&["resident", "stop"], false);
        assert!(std::thread::panicking() || matches!(done.status, Some(0 | 1)), "{done:?}");
    }
}

/// Without what depends on the clock.
fn timeless(text: &str) -> String {
    let time = regex::Regex::new(r"Compile time = [0-9.]+ ms").expect("an expression");
    time.replace_all(text, "Compile time = ms").into_owned()
}

/// Command lines, and whether the resident compiler answers them.
const LINES: &[(bool, &str)] = &[
    (true, "compile a.ptx -o out"),
    (true, "compile a.ptx -o out --resident"),
    (true, "compile a.ptx -o out -O0"),
    (true, "compile a.ptx -o out -O4 --search-trials 1"),
    (true, "compile a.ptx -o out -c --arch sm_80"),
    (true, "compile a.ptx -o out --ewp"),
    (true, "compile a.ptx -o out --verbose"),
    (true, "compile a.ptx -o out --json"),
    (true, "compile a.ptx -o out --check --jobs 3"),
    (true, "compile a.ptx -o out --maxrregcount 24 --generate-line-info"),
    (true, "compile a.ptx -o out -g"),
    (true, "compile a.ptx -o out --knob stall-cap=14 --debug-switch no-sched,no-uniform"),
    (true, "compile a.ptx -o -"),
    (true, "compile - -o out"),
    (true, "compile b.ptx"),
    (true, "compile wrong.ptx -o out"),
    (true, "compile wrong.ptx -o out --json"),
    (true, "compile doubtful.ptx -o out"),
    (true, "compile doubtful.ptx -o out --json --arch sm_75"),
    (true, "compile old.ptx -o out"),
    (true, "compile b.ptx -o out --arch sm_100a"),
    (false, "compile b.ptx -o out --arch sm_99"),
    (false, "compile b.ptx -o out --arch compute_90"),
    (false, "compile none.ptx -o out"),
    (false, "compile b.ptx -o run"),
    (false, "compile b.ptx -o out --search-trials 3"),
    (false, "compile b.ptx -o out --cache write --cache-dir run/cache -v"),
    (false, "--no-demangle compile wrong.ptx -o out"),
    (true, "ptxas a.ptx -o out -arch sm_90"),
    (true, "ptxas a.ptx -o out -arch sm_90 -v"),
    (true, "ptxas a.ptx -o out -arch sm_90 -v -c -lineinfo -O2"),
    (true, "ptxas --resident a.ptx b.ptx -o out -arch sm_90 -optf options"),
    (true, "ptxas b.ptx -arch sm_90 -w -maxrregcount 32 -maxntid 64"),
    (true, "ptxas - -o out -arch sm_90 -e reduce_tree_i32"),
    (true, "ptxas a.ptx -o out -arch sm_90 -e none"),
    (true, "ptxas a.ptx -o out -arch compute_90"),
    (true, "ptxas a.ptx -o out -arch sm_80"),
    (true, "ptxas wrong.ptx -o out -arch sm_90"),
    (true, "ptxas wrong.ptx b.ptx -o out -arch sm_90 -Werror"),
    (true, "ptxas doubtful.ptx -o out -arch sm_90 -Werror -warn-spills"),
    (true, "ptxas b.ptx -o out -arch sm_90 --fallback /bin/false"),
    (false, "ptxas b.ptx -o out -arch sm_90 --sanitize memcheck"),
    (false, "ptxas b.ptx -o run -arch sm_90"),
    (false, "ptxas none.ptx -o out -arch sm_90"),
    (false, "ptxas b.ptx -o out -arch sm_90 --no-such-option"),
    (false, "ptxas --version"),
];

/// Status, streams, and the file.
fn outcome(home: &Home, line: &str, is_on: bool) -> (Option<i32>, String, String, Vec<Option<Vec<u8>>>) {
    let words: Vec<&str> = line.split(' ').collect();
    let made = ["out", "b.cubin", "elf.o"].map(|name| home.path(name));
    made.iter().for_each(|path| drop(fs::remove_file(path)));
    let _ = fs::remove_dir_all(home.path("run/cache"));
    let input = File::open(home.path("a.ptx")).expect("a file");
    let done = finish_fed(&mut home.command(&words, is_on), input.into());
    let files = made.iter().map(|path| fs::read(path).ok()).collect();
    (done.status, timeless(&done.out), timeless(&done.err), files)
}

#[test]
fn everything_is_as_without_it() {
    let home = Home::new(&[]);
    home.start();
    let mut answered = 0;
    for &(is_asked, line) in LINES {
        let alone = outcome(&home, &line.replace("--resident ", "").replace(" --resident", ""), false);
        // The second time the answer is in the store.
        for _ in 0..2 {
            assert_eq!(outcome(&home, line, true), alone, "{line}");
            answered += u64::from(is_asked);
            assert_eq!(home.count("answered"), answered, "{line}");
        }
    }
    assert_eq!((home.count("declined"), home.count("cancelled")), (0, 0));
}

/// All clients have right answers, and the one that starts is not waited for.
#[test]
fn clients_at_once_start_one() {
    let home = Home::new(&[]);
    let (_, _, _, right) = outcome(&home, "compile a.ptx -o out", false);
    let right = right[0].clone().expect("a cubin");
    let names: Vec<String> = (0..8).map(|at| format!("{at}.cubin")).collect();
    let start = |name: &String| {
        home.command(&["compile", "a.ptx", "-o", name], true).stdin(Stdio::null()).spawn().expect("it starts")
    };
    let children: Vec<Child> = names.iter().map(start).collect();
    for (mut child, name) in children.into_iter().zip(&names) {
        assert!(child.wait().expect("it ends").success());
        assert!(fs::read(home.path(name)).expect("a cubin") == right);
    }
    home.until("one that runs", |status| status["running"] == true);
    assert_eq!(servers(&home).len(), 1);
    let twice = home.run(&["resident", "serve"], false);
    assert_eq!((twice.status, twice.err.as_str()), (Some(1), "error: a resident compiler runs already\n"));
}

/// The processes that serve a user.
fn servers(home: &Home) -> Vec<PathBuf> {
    let own = format!("XDG_RUNTIME_DIR={}", text(&home.path("run")));
    let processes = fs::read_dir("/proc").expect("a folder").flatten().map(|entry| entry.path());
    let is_server = |path: &PathBuf| {
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        read("environ").split('\0').any(|variable| variable == own)
            && read("cmdline").contains("\0resident\0")
    };
    processes.filter(is_server).collect()
}

/// It holds no file of the client that started it, and no folder, and gets no signal of its terminal.
#[test]
fn it_is_detached() {
    let home = Home::new(&[]);
    let line = format!("exec 7>{}; exec {PROGRAM} compile a.ptx -o out", text(&home.path("held")));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(home.folder.path()).env("HELD", "by the client");
    for (name, value) in home.command(&[], true).get_envs() {
        value.map(|value| command.env(name, value));
    }
    assert_eq!(finish(&mut command).status, Some(0));
    let status = home.until("one that runs", |status| status["running"] == true);
    let process = Path::new("/proc").join(status["process"].to_string());
    assert_eq!(fs::read_link(process.join("cwd")).expect("a link"), Path::new("/"));
    let open = fs::read_dir(process.join("fd")).expect("a folder").flatten();
    let open: Vec<PathBuf> = open.filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
    assert!(open.iter().all(|path| !path.ends_with("held")), "{open:?}");
    let session = fs::read_to_string(process.join("stat")).expect("a file");
    let session = session.rsplit_once(')').expect("a name").1.split(' ').nth(4).expect("a number").to_owned();
    assert_eq!(session, status["process"].to_string());
    let environment = fs::read_to_string(process.join("environ")).expect("a file");
    assert!(!environment.contains("HELD"), "{environment}");
}

#[test]
fn a_client_of_one_that_is_killed_compiles_itself() {
    let home = Home::new(&[]);
    home.start();
    let mut child = home.begin_long();
    let process = home.count("process").to_string();
    assert!(Command::new("kill").args(["-9", &process]).status().expect("it runs").success());
    assert!(child.wait().expect("it ends").success());
    let with = fs::read(home.path("long.cubin")).expect("a cubin");
    let long = home.long();
    assert_eq!(home.run(&long.each_ref().map(String::as_str), false).status, Some(0));
    assert!(with == fs::read(home.path("long.cubin")).expect("a cubin"));
    // Its socket is left, and does not matter.
    assert!(!home.until("none", |status| status["running"] == false)["socket"].is_null());
    home.start();
    assert_eq!(home.run(&["compile", "b.ptx", "-o", "out"], true).status, Some(0));
    assert_eq!(home.count("answered"), 1);
}

#[test]
fn the_compile_of_a_client_that_is_killed_is_cancelled() {
    let home = Home::new(&[]);
    home.start();
    let mut child = home.begin_long();
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    home.until("the end of the compile", |status| status["cancelled"] == 1 && status["in_flight"] == 0);
    assert!(!home.path("long.cubin").exists());
    assert_eq!(home.run(&["compile", "b.ptx", "-o", "out"], true).status, Some(0));
    assert_eq!(home.count("answered"), 1);
}

#[test]
fn it_ends_when_it_is_idle_or_too_large() {
    let idle = Home::new(&[("ORIOLE_RESIDENT_IDLE", "1")]);
    idle.start();
    idle.until("the end", |status| status["running"] == false);
    let large = Home::new(&[("ORIOLE_RESIDENT_MEMORY", "1")]);
    for _ in 0..2 {
        large.start();
        assert_eq!(large.run(&["compile", "a.ptx", "-o", "out"], true).status, Some(0));
        large.until("the end", |status| status["running"] == false);
    }
    let wrong = Home::new(&[("ORIOLE_RESIDENT_MEMORY", "much")]);
    let done = wrong.run(&["resident", "serve"], false);
    assert_eq!((done.status, &*done.err), (Some(2), "error: ORIOLE_RESIDENT_MEMORY: `much` is no number\n"));
}

/// A folder that others may use is not used, and nothing is put into it.
#[test]
fn folders_of_others_are_refused() {
    let home = Home::new(&[]);
    let folder = home.path("run/oriole");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("a mode");
    let alone = outcome(&home, "compile a.ptx -o out", false);
    assert_eq!(outcome(&home, "compile a.ptx -o out", true), alone);
    for action in ["status", "start", "stop", "serve"] {
        let done = home.run(&["resident", action], false);
        assert_eq!(done.status, Some(1), "{done:?}");
        let expected =
            format!("error[oriole::no-resident]: {}: others than its owner may use", text(&folder));
        assert!(done.err.starts_with(&expected), "{}", done.err);
    }
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
}

/// Whatever is at the socket, answers are right and come.
#[test]
fn garbage_at_the_socket_is_no_answer() {
    let home = Home::new(&[]);
    let socket = home.status()["socket"].as_str().expect("a path").to_owned();
    fs::create_dir(home.path("run/oriole")).expect("a folder");
    fs::set_permissions(home.path("run/oriole"), Permissions::from_mode(0o700)).expect("a mode");
    let alone = outcome(&home, "compile a.ptx -o out", false);
    for (bytes, waits) in [(&[0x7f; 100_000][..], false), (b"OR\x01\n", false), (b"", true), (b"", false)] {
        let listener = UnixListener::bind(&socket).expect("a socket");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("a client");
                let _ = stream.write_all(bytes);
                if waits {
                    let _ = stream.read_to_end(&mut Vec::new());
                }
            });
            assert_eq!(outcome(&home, "compile a.ptx -o out", true), alone);
        });
        fs::remove_file(&socket).expect("a socket");
    }
}

/// Another program, even of the same sources, has another one.
#[test]
fn programs_do_not_share_one() {
    let mut home = Home::new(&[]);
    home.start();
    let copy = home.path("copy");
    fs::copy(PROGRAM, &copy).expect("a file");
    home.program = copy;
    assert_eq!(home.status()["running"], false);
    home.start();
    assert_eq!(servers(&home).len(), 2);
    let done = home.run(&["resident", "stop"], false);
    assert!(done.status == Some(0) && done.out.starts_with("stopped process "), "{done:?}");
    home.program = PROGRAM.into();
    assert_eq!(home.status()["running"], true);
}
