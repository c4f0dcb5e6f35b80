//! The library as programs use it: from C, and from many threads at once. Invalid arguments are in `arguments.rs`.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use expect_test::expect_file;
use oriole_c::*;

/// The path of the shared library that was built with these tests: in the same folder.
fn library() -> PathBuf {
    let tests = std::env::current_exe().expect("a test knows its own program");
    tests.parent().expect("a program lies in a folder").to_owned()
}

/// The output of a C program of this folder that is linked against the library. `None` without a C compiler.
fn printed(name: &str) -> Option<String> {
    if Command::new("cc").arg("--version").output().is_err() {
        println!("SKIPPED: there is no C compiler");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder for a program");
    let program = folder.path().join("program");
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let built = Command::new("cc")
        .args(["-Wall", "-Werror", "-I"])
        .arg(own.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(own.join("tests").join(name))
        .arg("-L")
        .arg(&library)
        .arg("-loriole_c")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .expect("the C compiler starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).current_dir(folder.path()).output().expect("the program starts");
    assert!(ran.status.success(), "{ran:?}");
    let files = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert_eq!(files, 1, "the library writes no file");
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// The output of `calls.c` was compared line by line with its output with NVIDIA's library of CUDA 13.0.88.
#[test]
fn calls_of_the_compiler_from_c() {
    if let Some(printed) = printed("calls.c") {
        expect_file!["calls.txt"].assert_eq(&printed);
    }
}

/// The output of `link.c`, which was compared in the same way, for the linking library.
#[test]
fn calls_of_the_linker_from_c() {
    if let Some(printed) = printed("link.c") {
        expect_file!["link.txt"].assert_eq(&printed);
    }
}

/// A run without failures does not exclude races; `tools/memory/sanitize.sh` runs it where they are detected.
#[test]
fn calls_of_many_threads_from_c() {
    if let Some(printed) = printed("threads.c") {
        expect_file!["threads.txt"].assert_eq(&printed);
    }
}

/// A kernel with `times` multiply-adds.
fn text(times: usize) -> String {
    let body = "    mad.lo.u32 %r1, %r1, %r1, 7;\n    xor.b32 %r1, %r1, %r2;\n".repeat(times);
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n    .reg .b32 %r<3>;\n    \
         .reg .b64 %d<3>;\n    ld.param.u64 %d1, [p];\n    ld.global.v2.u32 {{%r1, %r2}}, [%d1];\n{body}    \
         st.global.u32 [%d1], %r1;\n    ret;\n}}\n"
    )
}

fn handle(text: &str) -> Handle {
    let mut handle = null_mut();
    // SAFETY: the text is alive, and the place is ours.
    assert_eq!(unsafe { nvPTXCompilerCreate(&mut handle, text.len(), text.as_ptr().cast()) }, Code::Success);
    handle
}

fn compile(handle: Handle) -> Code {
    let option = CString::new("-arch=sm_90").expect("no zero byte");
    let options: [*const c_char; 1] = [option.as_ptr()];
    // SAFETY: the handle is alive, and so are the options.
    unsafe { nvPTXCompilerCompile(handle, options.len() as c_int, options.as_ptr()) }
}

fn program(handle: Handle) -> Vec<u8> {
    let mut size = 0;
    // SAFETY: the handle is alive; the buffer is as large as the library says.
    unsafe {
        assert_eq!(nvPTXCompilerGetCompiledProgramSize(handle, &mut size), Code::Success);
        let mut bytes = vec![0u8; size];
        assert_eq!(nvPTXCompilerGetCompiledProgram(handle, bytes.as_mut_ptr().cast()), Code::Success);
        bytes
    }
}

fn destroy(mut handle: Handle) {
    // SAFETY: it is no longer in use.
    assert_eq!(unsafe { nvPTXCompilerDestroy(&mut handle) }, Code::Success);
}

#[test]
fn sixteen_threads_compile_at_once() {
    let alone: Vec<Vec<u8>> = (0..4)
        .map(|at| {
            let handle = handle(&text(10 * at));
            assert_eq!(compile(handle), Code::Success);
            let bytes = program(handle);
            destroy(handle);
            bytes
        })
        .collect();
    std::thread::scope(|scope| {
        for at in 0..16 {
            let expected = &alone[at % 4];
            scope.spawn(move || {
                let handle = handle(&text(10 * (at % 4)));
                assert_eq!(compile(handle), Code::Success);
                assert_eq!(program(handle), *expected);
                destroy(handle);
            });
        }
    });
}

/// Shared state of a callback and its test.
#[derive(Default)]
struct Talk {
    asked: AtomicU32,
    stop: AtomicBool,
}

extern "C" fn talk(payload: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: the payload of this test is a `Talk` that outlives the handle.
    let talk = unsafe { &*payload.cast::<Talk>() };
    // Not at the first call: the compile is in flight then.
    let before = talk.asked.fetch_add(1, Ordering::Relaxed);
    c_int::from(before > 2 && talk.stop.load(Ordering::Relaxed))
}

#[test]
fn a_long_compile_is_cancelled_while_it_runs() {
    let (handle, talked) = (handle(&text(60_000)), Talk::default());
    talked.stop.store(true, Ordering::Relaxed);
    let payload: *const Talk = &raw const talked;
    // SAFETY: the handle is alive, and the payload outlives it.
    unsafe { nvPTXCompilerSetFlowCallback(handle, Some(talk), payload.cast_mut().cast()) };
    assert_eq!(compile(handle), Code::Cancelled);
    assert!(talked.asked.load(Ordering::Relaxed) > 3);
    let mut size = 0;
    // SAFETY: the handle is alive.
    let code = unsafe { nvPTXCompilerGetCompiledProgramSize(handle, &mut size) };
    assert_eq!(code, Code::CompilerInvocationIncomplete);
    destroy(handle);
}
