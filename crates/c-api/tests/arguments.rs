//! Arguments of the library's functions: handles, places, texts and strings that are right, null, wrong, or of exactly
//! the required size. This is Rust alone and compiles the smallest kernel, so that Miri runs it
//! (`tools/memory/miri.sh`): the tests in `calls` compile nothing, those in `compiles` are the slow ones there.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use oriole_c::*;

const RET: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
const WRONG: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { frob; }\n";

/// `size` bytes, written by a function. They are an allocation of their own without initial contents: a byte too many
/// is outside of it, a byte too few is read uninitialized.
fn filled(size: usize, fill: impl FnOnce(*mut u8)) -> Vec<u8> {
    let mut room = Box::<[u8]>::new_uninit_slice(size);
    fill(room.as_mut_ptr().cast());
    // SAFETY: they have been written, or Miri says that they have not.
    unsafe { room.assume_init() }.into_vec()
}

/// The value that a function writes to an uninitialized place, and its result code.
fn answered<T, C>(ask: impl FnOnce(*mut T) -> C) -> (C, MaybeUninit<T>) {
    let mut place = MaybeUninit::uninit();
    let code = ask(place.as_mut_ptr());
    (code, place)
}

/// The value that a function writes with the result success.
fn told<T, C: PartialEq + Debug>(success: C, ask: impl FnOnce(*mut T) -> C) -> T {
    let (code, place) = answered(ask);
    assert_eq!(code, success);
    // SAFETY: it has been written, or Miri says that it has not.
    unsafe { place.assume_init() }
}

/// Strings and pointers to them, each in an allocation of its own.
fn with_strings<T>(strings: &[&[u8]], act: impl FnOnce(usize, *const *const c_char) -> T) -> T {
    let strings: Vec<CString> =
        strings.iter().map(|&string| CString::new(string).expect("no zero byte")).collect();
    let pointers: Box<[*const c_char]> = strings.iter().map(|string| string.as_ptr()).collect();
    act(pointers.len(), pointers.as_ptr())
}

/// A log that is read with a size and then a text: the zero byte at its end is the only one, and an empty log has one,
/// too.
fn log<C: PartialEq + Debug + Copy>(
    success: C,
    size_of: impl FnOnce(*mut usize) -> C,
    text_of: impl FnOnce(*mut c_char) -> C,
) -> String {
    let size = told(success, size_of);
    let bytes = filled(size.max(1), |room| assert_eq!(text_of(room.cast()), success));
    let text = CString::from_vec_with_nul(bytes).expect("one zero byte at the end");
    let text = text.into_string().expect("UTF-8");
    assert_eq!(text.is_empty(), size == 0);
    text
}

/// A handle for a text that is freed when this returns.
fn made(text: &[u8]) -> Handle {
    let text: Box<[u8]> = text.into();
    // SAFETY: the text is as long as it says, and the place is the function's to write.
    told(Code::Success, |place| unsafe { nvPTXCompilerCreate(place, text.len(), text.as_ptr().cast()) })
}

fn compiled(handle: Handle, options: &[&[u8]]) -> Code {
    // SAFETY: the handle is alive, and so are the strings.
    with_strings(options, |count, strings| unsafe { nvPTXCompilerCompile(handle, count as c_int, strings) })
}

fn errors(handle: Handle) -> String {
    // SAFETY: the handle is alive, and there is as much room as the size says.
    unsafe {
        log(
            Code::Success,
            |size| nvPTXCompilerGetErrorLogSize(handle, size),
            |text| nvPTXCompilerGetErrorLog(handle, text),
        )
    }
}

fn info(handle: Handle) -> String {
    // SAFETY: the handle is alive, and there is as much room as the size says.
    unsafe {
        log(
            Code::Success,
            |size| nvPTXCompilerGetInfoLogSize(handle, size),
            |text| nvPTXCompilerGetInfoLog(handle, text),
        )
    }
}

fn program(handle: Handle) -> Vec<u8> {
    // SAFETY: the handle is alive, and there is as much room as the size says.
    unsafe {
        let size = told(Code::Success, |size| nvPTXCompilerGetCompiledProgramSize(handle, size));
        filled(size, |room| {
            assert_eq!(nvPTXCompilerGetCompiledProgram(handle, room.cast()), Code::Success);
        })
    }
}

fn has_no_program(handle: Handle) {
    // SAFETY: the handle is alive, and nothing is written if there is no result.
    unsafe {
        let (code, _) = answered(|size| nvPTXCompilerGetCompiledProgramSize(handle, size));
        assert_eq!(code, Code::CompilerInvocationIncomplete);
        let (code, _) = answered(|byte: *mut u8| nvPTXCompilerGetCompiledProgram(handle, byte.cast()));
        assert_eq!(code, Code::CompilerInvocationIncomplete);
    }
}

fn destroyed(mut handle: Handle) {
    // SAFETY: it is no longer in use.
    unsafe {
        assert_eq!(nvPTXCompilerDestroy(&mut handle), Code::Success);
        assert!(handle.is_null());
        assert_eq!(nvPTXCompilerDestroy(&mut handle), Code::InvalidCompilerHandle);
    }
}

/// The linking library's functions, which have two names each.
struct Link {
    create: unsafe extern "C" fn(*mut LinkHandle, u32, *const *const c_char) -> LinkCode,
    destroy: unsafe extern "C" fn(*mut LinkHandle) -> LinkCode,
    add_data: unsafe extern "C" fn(LinkHandle, c_int, *const c_void, usize, *const c_char) -> LinkCode,
    add_file: unsafe extern "C" fn(LinkHandle, c_int, *const c_char) -> LinkCode,
    complete: unsafe extern "C" fn(LinkHandle) -> LinkCode,
    cubin_size: unsafe extern "C" fn(LinkHandle, *mut usize) -> LinkCode,
    cubin: unsafe extern "C" fn(LinkHandle, *mut c_void) -> LinkCode,
    ptx_size: unsafe extern "C" fn(LinkHandle, *mut usize) -> LinkCode,
    ptx: unsafe extern "C" fn(LinkHandle, *mut c_char) -> LinkCode,
    errors_size: unsafe extern "C" fn(LinkHandle, *mut usize) -> LinkCode,
    errors: unsafe extern "C" fn(LinkHandle, *mut c_char) -> LinkCode,
    info_size: unsafe extern "C" fn(LinkHandle, *mut usize) -> LinkCode,
    info: unsafe extern "C" fn(LinkHandle, *mut c_char) -> LinkCode,
}

const LINKS: [Link; 2] = [
    Link {
        create: nvJitLinkCreate,
        destroy: nvJitLinkDestroy,
        add_data: nvJitLinkAddData,
        add_file: nvJitLinkAddFile,
        complete: nvJitLinkComplete,
        cubin_size: nvJitLinkGetLinkedCubinSize,
        cubin: nvJitLinkGetLinkedCubin,
        ptx_size: nvJitLinkGetLinkedPtxSize,
        ptx: nvJitLinkGetLinkedPtx,
        errors_size: nvJitLinkGetErrorLogSize,
        errors: nvJitLinkGetErrorLog,
        info_size: nvJitLinkGetInfoLogSize,
        info: nvJitLinkGetInfoLog,
    },
    Link {
        create: __nvJitLinkCreate_13_0,
        destroy: __nvJitLinkDestroy_13_0,
        add_data: __nvJitLinkAddData_13_0,
        add_file: __nvJitLinkAddFile_13_0,
        complete: __nvJitLinkComplete_13_0,
        cubin_size: __nvJitLinkGetLinkedCubinSize_13_0,
        cubin: __nvJitLinkGetLinkedCubin_13_0,
        ptx_size: __nvJitLinkGetLinkedPtxSize_13_0,
        ptx: __nvJitLinkGetLinkedPtx_13_0,
        errors_size: __nvJitLinkGetErrorLogSize_13_0,
        errors: __nvJitLinkGetErrorLog_13_0,
        info_size: __nvJitLinkGetInfoLogSize_13_0,
        info: __nvJitLinkGetInfoLog_13_0,
    },
];

/// The types of inputs: PTX, a cubin, any.
const PTX: c_int = 2;
const CUBIN: c_int = 1;
const ANY: c_int = 10;

impl Link {
    fn made(&self, expected: LinkCode, options: &[&[u8]]) -> LinkHandle {
        with_strings(options, |count, strings| {
            // SAFETY: the strings are alive, and the place is the function's to write.
            told(expected, |place| unsafe { (self.create)(place, count as u32, strings) })
        })
    }

    /// Adds a text that is freed when this returns, as is its name.
    fn added(&self, handle: LinkHandle, kind: c_int, text: &[u8], name: &[u8]) -> LinkCode {
        let text: Box<[u8]> = text.into();
        // SAFETY: the handle is alive; the text is as long as it says, and the name ends with a zero byte.
        with_strings(&[name], |_, names| unsafe {
            (self.add_data)(handle, kind, text.as_ptr().cast(), text.len(), names.read())
        })
    }

    fn completed(&self, handle: LinkHandle) -> LinkCode {
        // SAFETY: the handle is alive.
        unsafe { (self.complete)(handle) }
    }

    fn logs(&self, handle: LinkHandle) -> (String, String) {
        // SAFETY: the handle is alive, and there is as much room as the size says.
        unsafe {
            let errors = log(
                LinkCode::Success,
                |size| (self.errors_size)(handle, size),
                |text| (self.errors)(handle, text),
            );
            let info = log(
                LinkCode::Success,
                |size| (self.info_size)(handle, size),
                |text| (self.info)(handle, text),
            );
            (errors, info)
        }
    }

    fn has_no_cubin(&self, handle: LinkHandle) {
        // SAFETY: the handle is alive, and nothing is written if there is no result.
        unsafe {
            let (code, _) = answered(|size| (self.cubin_size)(handle, size));
            assert_eq!(code, LinkCode::Internal);
            let (code, _) = answered(|byte: *mut u8| (self.cubin)(handle, byte.cast()));
            assert_eq!(code, LinkCode::Internal);
        }
    }

    fn destroyed(&self, mut handle: LinkHandle) {
        // SAFETY: it is no longer in use.
        unsafe {
            assert_eq!((self.destroy)(&mut handle), LinkCode::Success);
            assert!(handle.is_null());
            assert_eq!((self.destroy)(&mut handle), LinkCode::NullInput);
        }
    }
}

/// Shared state of a callback and its test.
struct Talk {
    asked: AtomicU32,
    /// The call at which the compile is cancelled; the first is 1.
    stop: u32,
}

impl Talk {
    fn until(stop: u32) -> Talk {
        Talk { asked: AtomicU32::new(0), stop }
    }
}

/// Cancels the compile at the chosen call.
extern "C" fn answer(payload: *mut c_void, nothing: *mut c_void) -> c_int {
    assert!(nothing.is_null());
    // SAFETY: the payload is a `Talk` that outlives the handle, and is changed only atomically.
    let talk = unsafe { &*payload.cast::<Talk>() };
    c_int::from(talk.asked.fetch_add(1, Ordering::Relaxed) + 1 >= talk.stop)
}

/// Cancels every compile, after using another handle.
extern "C" fn give_up(payload: *mut c_void, nothing: *mut c_void) -> c_int {
    assert!(payload.is_null() && nothing.is_null());
    let other = made(b"x");
    assert_eq!(compiled(other, &[b"-nosuch"]), Code::CompilationFailure);
    assert!(errors(other).contains("nosuch"));
    destroyed(other);
    1
}

mod calls {
    use super::*;

    #[test]
    fn versions_are_written_where_there_is_room() {
        let mut number = 0;
        // SAFETY: each pointer is null or a place of the size that is written.
        unsafe {
            assert_eq!(nvPTXCompilerGetVersion(null_mut(), &mut number), Code::InvalidInput);
            assert_eq!(nvPTXCompilerGetVersion(&mut number, null_mut()), Code::InvalidInput);
            assert_eq!(number, 0);
            let minor = told(Code::Success, |minor| nvPTXCompilerGetVersion(&mut number, minor));
            assert_eq!(nvJitLinkVersion(null_mut(), &mut 0), LinkCode::NullInput);
            assert_eq!(nvJitLinkVersion(&mut 0, null_mut()), LinkCode::NullInput);
            assert_eq!(told(LinkCode::Success, |place| nvJitLinkVersion(&mut number, place)), minor);
            assert_eq!(nvPTXCompilerGetNumSupportedVersions(null_mut()), Code::InvalidInput);
            assert_eq!(nvPTXCompilerGetSupportedVersions(null_mut()), Code::InvalidInput);
            let count = told(Code::Success, |count| nvPTXCompilerGetNumSupportedVersions(count));
            let mut room = Box::<[[c_int; 2]]>::new_uninit_slice(count as usize);
            let versions = room.as_mut_ptr().cast();
            assert_eq!(nvPTXCompilerGetSupportedVersions(versions), Code::Success);
            let versions = room.assume_init();
            assert!(versions.is_sorted() && versions.contains(&[8, 0]), "{versions:?}");
        }
    }

    #[test]
    fn a_null_handle_is_refused() {
        let (none, mut number, mut byte) = (null_mut(), 0, 0u8);
        let bytes = &raw mut byte;
        // SAFETY: the handle is null, and so nothing else is read.
        unsafe {
            let mut place = none;
            let codes = [
                nvPTXCompilerCompile(none, 1, null()),
                nvPTXCompilerGetCompiledProgramSize(none, &mut number),
                nvPTXCompilerGetCompiledProgram(none, bytes.cast()),
                nvPTXCompilerGetErrorLogSize(none, &mut number),
                nvPTXCompilerGetErrorLog(none, bytes.cast()),
                nvPTXCompilerGetInfoLogSize(none, &mut number),
                nvPTXCompilerGetInfoLog(none, bytes.cast()),
                nvPTXCompilerSetFlowCallback(none, Some(give_up), null_mut()),
                nvPTXCompilerDestroy(&mut place),
            ];
            assert_eq!(codes, [Code::InvalidCompilerHandle; 9]);
        }
        let none = null_mut();
        for link in &LINKS {
            // SAFETY: the same.
            unsafe {
                let mut place = none;
                let codes = [
                    (link.add_data)(none, PTX, bytes.cast(), 1, null()),
                    (link.add_file)(none, PTX, null()),
                    (link.complete)(none),
                    (link.cubin_size)(none, &mut number),
                    (link.cubin)(none, bytes.cast()),
                    (link.ptx_size)(none, &mut number),
                    (link.ptx)(none, bytes.cast()),
                    (link.errors_size)(none, &mut number),
                    (link.errors)(none, bytes.cast()),
                    (link.info_size)(none, &mut number),
                    (link.info)(none, bytes.cast()),
                    (link.destroy)(&mut place),
                ];
                assert_eq!(codes, [LinkCode::NullInput; 12]);
            }
        }
        assert_eq!((number, byte), (0, 0));
    }

    #[test]
    fn a_null_place_is_refused() {
        let handle = made(RET.as_bytes());
        let text = RET.as_ptr().cast();
        let mut kept = handle;
        // SAFETY: the handle is alive, and the rest is null or not read.
        unsafe {
            let codes = [
                nvPTXCompilerCreate(null_mut(), RET.len(), text),
                nvPTXCompilerCreate(&mut kept, RET.len(), null()),
                nvPTXCompilerCreate(&mut kept, 0, text),
                nvPTXCompilerDestroy(null_mut()),
                nvPTXCompilerGetCompiledProgramSize(handle, null_mut()),
                nvPTXCompilerGetErrorLogSize(handle, null_mut()),
                nvPTXCompilerGetErrorLog(handle, null_mut()),
                nvPTXCompilerGetInfoLogSize(handle, null_mut()),
                nvPTXCompilerGetInfoLog(handle, null_mut()),
                nvPTXCompilerSetFlowCallback(handle, None, null_mut()),
            ];
            assert_eq!(codes, [Code::InvalidInput; 10]);
            let code = nvPTXCompilerGetCompiledProgram(handle, null_mut());
            assert_eq!(code, Code::CompilerInvocationIncomplete);
        }
        assert_eq!(kept, handle);
        destroyed(handle);
        for link in &LINKS {
            let handle = link.made(LinkCode::Success, &[b"-arch=sm_90"]);
            let mut kept = handle;
            // SAFETY: the same.
            unsafe {
                let codes = [
                    with_strings(&[b"-arch=sm_90"], |_, strings| (link.create)(null_mut(), 1, strings)),
                    (link.create)(&mut kept, 0, null()),
                    (link.create)(&mut kept, 1, null()),
                    (link.create)(&mut kept, 1, [null()].as_ptr()),
                    (link.destroy)(null_mut()),
                    (link.add_data)(handle, PTX, null(), 1, null()),
                    (link.errors_size)(handle, null_mut()),
                    (link.errors)(handle, null_mut()),
                    (link.info_size)(handle, null_mut()),
                    (link.info)(handle, null_mut()),
                ];
                assert_eq!(codes, [LinkCode::NullInput; 10]);
                let codes = [(link.cubin_size)(handle, null_mut()), (link.cubin)(handle, null_mut())];
                assert_eq!(codes, [LinkCode::Internal; 2]);
                let codes = [(link.ptx_size)(handle, null_mut()), (link.ptx)(handle, null_mut())];
                assert_eq!(codes, [LinkCode::InvalidInput; 2]);
                assert_eq!((link.add_file)(handle, PTX, null()), LinkCode::InvalidInput);
            }
            assert_eq!(kept, handle);
            link.destroyed(handle);
        }
    }

    #[test]
    fn texts_are_copied_up_to_their_end() {
        let texts: [&[u8]; 6] = [b"x", b"\0", b"a\0b", b"\xff\xfe", b"\0\0\0", RET.as_bytes()];
        let handles = texts.map(made);
        for handle in handles {
            has_no_program(handle);
            assert_eq!((errors(handle), info(handle)), (String::new(), String::new()));
        }
        // Not in order of creation.
        for handle in handles.into_iter().rev() {
            destroyed(handle);
        }
    }

    #[test]
    fn options_are_read_up_to_their_end() {
        let handle = made(RET.as_bytes());
        let one = [null()];
        // SAFETY: the handle is alive; no more strings are read than exist, and none that is null.
        unsafe {
            for count in [-1, c_int::MIN] {
                assert_eq!(nvPTXCompilerCompile(handle, count, one.as_ptr()), Code::InvalidInput);
            }
            assert_eq!(nvPTXCompilerCompile(handle, 1, one.as_ptr()), Code::InvalidInput);
            assert_eq!(nvPTXCompilerCompile(handle, 1, null()), Code::InvalidInput);
            let code = with_strings(&[b"-arch=sm_90"], |_, strings| {
                let pointers: Box<[*const c_char]> = [strings.read(), null()].into();
                nvPTXCompilerCompile(handle, 2, pointers.as_ptr())
            });
            assert_eq!(code, Code::InvalidInput);
        }
        assert_eq!(errors(handle), "");
        let long = [b"-".as_slice(), &[b'x'; 5000]].concat();
        let wrong: [&[&[u8]]; 8] = [
            &[b"-nosuch"],
            &[b"-arch=sm_90", b"-arch=sm_90", b"-nosuch"],
            &[b"-arch=sm_90", b"-arch=sm_80", b"-nosuch"],
            &[b"-arch"],
            &[b"-arch=sm_20"],
            &[b"-arch=sm_90", b"-\xff\xfe"],
            &[b"-arch=sm_90", &long],
            &[b"-arch=sm_90", b"x.ptx"],
        ];
        for options in wrong {
            let said: Vec<_> = options.iter().map(|option| option.escape_ascii().to_string()).collect();
            assert_eq!(compiled(handle, options), Code::CompilationFailure, "{said:?}");
            assert_ne!(errors(handle), "", "{said:?}");
            has_no_program(handle);
        }
        // The log is that of the last compile alone.
        assert!(errors(handle).contains("x.ptx") && !errors(handle).contains("xxx"));
        destroyed(handle);
    }

    #[test]
    fn linkers_read_options_up_to_their_end() {
        let long = [b"-".as_slice(), &[b'x'; 5000]].concat();
        let wrong: [(LinkCode, &[&[u8]]); 8] = [
            (LinkCode::MissingArch, &[]),
            (LinkCode::UnrecognizedOption, &[b""]),
            (LinkCode::UnrecognizedOption, &[b"-arch=sm_90", b"-nosuch", b"-lto"]),
            (LinkCode::IncompatibleOptions, &[b"-lto", b"-nosuch"]),
            (LinkCode::UnrecognizedOption, &[b"-arch=sm_90", b"-\xff\xfe"]),
            (LinkCode::UnrecognizedOption, &[b"-arch=sm_90", &long]),
            (LinkCode::UnsupportedArch, &[b"-arch=sm_20", b"-arch=sm_90"]),
            (LinkCode::IncompatibleOptions, &[b"-arch=compute_90"]),
        ];
        for link in &LINKS {
            for (code, options) in wrong {
                let handle = link.made(code, options);
                assert_ne!(link.logs(handle).0, "");
                assert_eq!(link.added(handle, PTX, RET.as_bytes(), b"k"), code);
                assert_eq!(link.completed(handle), code);
                link.has_no_cubin(handle);
                link.destroyed(handle);
            }
        }
    }

    #[test]
    fn inputs_that_are_no_text_are_refused() {
        for link in &LINKS {
            let handle = link.made(LinkCode::Success, &[b"-arch=sm_90", b"-arch=sm_90", b"-fma=0"]);
            assert_eq!(link.completed(handle), LinkCode::InvalidInput);
            for (kind, bytes) in
                [(CUBIN, b"\x7fELF".as_slice()), (ANY, b"\x7fELF"), (0, b""), (c_int::MIN, b"x")]
            {
                assert_eq!(link.added(handle, kind, bytes, b"\xff"), LinkCode::IncorrectInputType);
            }
            assert_eq!(link.added(handle, PTX, b"", b""), LinkCode::InvalidInput);
            let byte = 1u8;
            // SAFETY: the handle is alive, and a byte of no size is not read.
            let code = unsafe { (link.add_data)(handle, ANY, (&raw const byte).cast(), 0, null()) };
            assert_eq!(code, LinkCode::InvalidInput);
            assert_eq!(link.completed(handle), LinkCode::InvalidInput);
            link.has_no_cubin(handle);
            assert!(link.logs(handle).0.contains('\u{fffd}'), "a name that is no UTF-8");
            link.destroyed(handle);
        }
    }

    #[test]
    fn callbacks_are_given_back_with_their_handle() {
        let (first, second) = (Talk::until(1), Talk::until(1));
        let handle = made(RET.as_bytes());
        for talk in [&first, &second] {
            let payload = (&raw const *talk).cast_mut().cast();
            // SAFETY: the handle is alive, and the payload outlives it.
            let code = unsafe { nvPTXCompilerSetFlowCallback(handle, Some(answer), payload) };
            assert_eq!(code, Code::Success);
        }
        // Nothing is compiled, and so the callback is not called.
        assert_eq!(compiled(handle, &[b"-nosuch"]), Code::CompilationFailure);
        destroyed(handle);
        assert_eq!((first.asked.into_inner(), second.asked.into_inner()), (0, 0));
    }

    #[test]
    fn threads_share_a_handle() {
        let handle = AtomicPtr::new(made(RET.as_bytes()));
        let linker = AtomicPtr::new(LINKS[0].made(LinkCode::Success, &[b"-arch=sm_90"]));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let handle = handle.load(Ordering::Relaxed);
                    for _ in 0..2 {
                        assert_eq!(compiled(handle, &[b"-nosuch"]), Code::CompilationFailure);
                        // All logs are equal, so that the size is right whichever thread compiled in between.
                        assert!(errors(handle).contains("nosuch"));
                        assert_eq!(info(handle), "");
                        has_no_program(handle);
                    }
                    let linker = linker.load(Ordering::Relaxed);
                    assert_eq!(LINKS[0].completed(linker), LinkCode::InvalidInput);
                    LINKS[0].has_no_cubin(linker);
                });
            }
        });
        // Created here, used there, and destroyed by a third thread.
        let (handle, linker) = (AtomicPtr::new(handle.into_inner()), AtomicPtr::new(linker.into_inner()));
        let last = std::thread::spawn(move || {
            assert_eq!(LINKS[0].logs(linker.load(Ordering::Relaxed)).0, "nothing was added\n".repeat(3));
            destroyed(handle.into_inner());
            LINKS[0].destroyed(linker.into_inner());
        });
        last.join().expect("the thread ends");
    }
}

mod compiles {
    use super::*;

    fn a_program_fills_its_room() {
        let handle = made(RET.as_bytes());
        assert_eq!(compiled(handle, &[b"-arch", b"sm_90", b"-v"]), Code::Success);
        let bytes = program(handle);
        assert!(bytes.starts_with(b"\x7fELF"));
        assert_eq!(program(handle), bytes);
        assert!(info(handle).contains("registers"));
        assert_eq!(errors(handle), "");
        // A requested program belongs to the caller; the handle's is dropped by the next compile.
        assert_eq!(compiled(handle, &[b"-nosuch"]), Code::CompilationFailure);
        has_no_program(handle);
        assert_eq!(info(handle), "");
        destroyed(handle);
    }

    fn a_cubin_fills_its_room() {
        let link = &LINKS[1];
        let handle = link.made(LinkCode::Success, &[b"-arch=sm_90", b"-Xptxas=-v"]);
        assert_eq!(link.added(handle, ANY, RET.as_bytes(), b"k"), LinkCode::Success);
        link.has_no_cubin(handle);
        assert_eq!(link.added(handle, PTX, RET.as_bytes(), b"again"), LinkCode::InvalidInput);
        assert_eq!(link.completed(handle), LinkCode::Success);
        // SAFETY: the handle is alive, and there is as much room as the size says.
        let cubin = || unsafe {
            let size = told(LinkCode::Success, |size| (link.cubin_size)(handle, size));
            filled(size, |room| assert_eq!((link.cubin)(handle, room.cast()), LinkCode::Success))
        };
        let bytes = cubin();
        assert!(bytes.starts_with(b"\x7fELF"));
        assert_eq!(cubin(), bytes);
        let (errors, info) = link.logs(handle);
        assert_eq!(errors, "again: Oriole links one text of PTX\n");
        assert!(info.contains("registers"));
        link.destroyed(handle);
    }

    #[test]
    fn results_of_two_threads_fill_their_rooms() {
        std::thread::scope(|scope| {
            scope.spawn(a_program_fills_its_room);
            scope.spawn(a_cubin_fills_its_room);
        });
    }

    #[test]
    fn wrong_texts_are_refused() {
        let handle = made(WRONG.as_bytes());
        assert_eq!(compiled(handle, &[b"-arch=sm_90"]), Code::CompilationFailure);
        assert!(errors(handle).contains("frob"), "{}", errors(handle));
        has_no_program(handle);
        destroyed(handle);
    }

    #[test]
    fn callbacks_give_a_compile_up() {
        let handle = made(RET.as_bytes());
        // SAFETY: the handle is alive, and the payload is not read.
        unsafe { nvPTXCompilerSetFlowCallback(handle, Some(give_up), null_mut()) };
        assert_eq!(compiled(handle, &[b"-arch=sm_90"]), Code::Cancelled);
        has_no_program(handle);
        assert_eq!((errors(handle), info(handle)), (String::new(), String::new()));
        // Replaces the other one; its first answer lets the compile begin.
        let talk = Talk::until(2);
        // SAFETY: the handle is alive, and the payload outlives it.
        unsafe { nvPTXCompilerSetFlowCallback(handle, Some(answer), (&raw const talk).cast_mut().cast()) };
        match compiled(handle, &[b"-arch=sm_90"]) {
            Code::Cancelled => {
                assert_eq!(talk.asked.load(Ordering::Relaxed), 2);
                has_no_program(handle);
            }
            // Such a small kernel may be done before the second thread polls.
            code => {
                assert_eq!(code, Code::Success);
                assert!(program(handle).starts_with(b"\x7fELF"));
            }
        }
        destroyed(handle);
    }
}
