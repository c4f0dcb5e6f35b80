//! Texts that change: the bytes are those of a compile of the new text alone.

use oriole::{Cancelled, Options, Session, compile};

use crate::{kernel, module};

#[test]
fn edits_give_what_a_compile_of_the_new_text_gives() {
    let mut text = module(&[kernel("a", 1), kernel("b", 2)]);
    let mut session = Session::new(Options::new());
    let file = session.open(&text);
    for (old, new) in
        [("add.u32 %r1, %r1, 2", "mul.lo.u32 %r1, %r1, 6"), ("entry a", "entry c"), ("ret;", "trap;")]
    {
        let at = text.find(old).unwrap();
        text.replace_range(at..at + old.len(), new);
        session.edit(file, at..at + old.len(), new);
        assert_eq!(session.compile(file), compile(&text, &Options::new()), "after {new}");
    }
    text.push_str("what is this");
    session.replace(file, &text);
    assert_eq!(session.compile(file), compile(&text, &Options::new()));
    assert!(session.compile(file).is_err());
}

#[test]
fn options_of_a_session_change() {
    let text = module(&[kernel("a", 1)]);
    let mut session = Session::new(Options::new());
    let file = session.open(&text);
    for options in [
        Options::new().at_level(0).unwrap(),
        Options::new().for_chip("sm_120").unwrap(),
        Options::new().with_switch("serial-deps").unwrap(),
    ] {
        session.set_options(options.clone());
        assert_eq!(session.compile(file), compile(&text, &options), "{options:?}");
    }
}

#[test]
fn a_snapshot_is_cancelled_from_another_thread() {
    let mut session = Session::new(Options::new());
    let file = session.open(&module(&[kernel("a", 1)]));
    let snapshot = session.snapshot();
    snapshot.canceller().cancel();
    let answer = std::thread::spawn(move || snapshot.compile(file)).join().unwrap();
    assert_eq!(answer, Err(Cancelled));
    // The session is unchanged.
    assert!(session.compile(file).is_ok());
    // A change while a thread compiles makes it stop, or comes after it.
    let snapshot = session.snapshot();
    let worker = std::thread::spawn(move || snapshot.compile(file));
    session.replace(file, &module(&[kernel("b", 2)]));
    let _ = worker.join().unwrap();
    assert_eq!(session.compile(file).unwrap().functions[0].name, "b");
}

#[test]
fn a_closed_file_is_an_empty_text() {
    let mut session = Session::new(Options::new());
    let file = session.open(&module(&[kernel("a", 1)]));
    session.close(file);
    assert!(session.compile(file).is_err());
}
