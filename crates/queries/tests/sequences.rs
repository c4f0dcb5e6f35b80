//! Whatever the way to a text, its bytes and diagnostics are those of a cold compile: after a sequence of edits, on
//! several threads, and after a compile that an edit cancelled.

use crate::support::{KERNELS, Session, cold, kernel, module};
use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_queries::compile;
use proptest::prelude::*;

/// One edit of a random sequence.
#[derive(Clone, Debug)]
enum Edit {
    /// A kernel adds another number.
    Number(usize, u32),
    /// A comment in a kernel.
    Comment(usize),
    /// A kernel moves to the end.
    Move(usize),
    /// A kernel goes.
    Remove(usize),
    /// Text is typed at the start of a kernel's body and stays.
    Type(usize, &'static str),
    /// The callee of all changes.
    Callee(u32),
    /// Everything as it was.
    Restore,
}

/// A smaller module than that of the edit table: each case compiles several times.
const FEW: usize = 6;

fn small() -> String {
    let full = module();
    let end = full.find(&kernel(FEW)).expect("the kernel is there");
    full[..end].to_owned()
}

fn apply(text: &str, edit: &Edit) -> String {
    let body = |number: usize| format!(".entry k{number}(\n\t.param .u64 out\n)\n{{\n");
    match edit {
        Edit::Number(number, value) => {
            text.replacen(&format!("add.u32 %r2, %r1, {number};"), &format!("add.u32 %r2, %r1, {value};"), 1)
        }
        Edit::Comment(number) => text.replacen(&body(*number), &format!("{}// note\n", body(*number)), 1),
        Edit::Type(number, typed) => text.replacen(&body(*number), &format!("{}{typed}\n", body(*number)), 1),
        Edit::Move(number) if text.contains(&kernel(*number)) => {
            text.replacen(&kernel(*number), "", 1) + &kernel(*number)
        }
        Edit::Remove(number) => text.replacen(&kernel(*number), "", 1),
        Edit::Callee(value) => text.replacen("%r1, 1000;", &format!("%r1, 1{value:03};"), 1),
        Edit::Move(_) => text.to_owned(),
        Edit::Restore => small(),
    }
}

fn edits() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (0..FEW, 0..99u32).prop_map(|(number, value)| Edit::Number(number, value)),
        (0..FEW).prop_map(Edit::Comment),
        (0..FEW).prop_map(Edit::Move),
        (0..FEW).prop_map(Edit::Remove),
        (0..FEW, prop::sample::select(vec!["{", "}", "\"", "/*", ";", "ret;", ".entry"]))
            .prop_map(|(number, typed)| Edit::Type(number, typed)),
        (0..99u32).prop_map(Edit::Callee),
        Just(Edit::Restore),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_way_to_a_text_gives_the_same(edits in prop::collection::vec(edits(), 1..8)) {
        let mut text = small();
        let mut session = Session::new(&text);
        session.compile();
        for edit in &edits {
            text = apply(&text, edit);
            // A compile runs on another thread when the edit comes: it is cancelled or done, no matter which.
            let db = session.db.clone();
            let (file, config) = (session.file, session.config);
            let worker = std::thread::spawn(move || {
                salsa::Cancelled::catch(std::panic::AssertUnwindSafe(|| compile(&db, file, config, 1))).is_ok()
            });
            session.edit(&text);
            worker.join().expect("the worker does not panic");
            let fresh = cold(&text);
            prop_assert_eq!(&session.compile(), &fresh, "{:?}", edit);
            let parallel = Session::new(&text);
            prop_assert_eq!(&compile(&parallel.db, parallel.file, parallel.config, 4), &fresh);
        }
    }
}

#[test]
fn a_database_that_keeps_no_stages_gives_the_same() {
    let text = module();
    let db = Database::once();
    let file = SourceFile::open(&db, &text);
    let config = Config::create(&db, Chip::SM_90, &Options::default());
    assert_eq!(compile(&db, file, config, 1), cold(&text));
}

#[test]
fn threads_do_not_show() {
    let text = module();
    let alone = cold(&text);
    assert!(alone.cubin.is_some(), "{:?}", alone.diagnostics.first());
    let session = Session::new(&text);
    assert_eq!(compile(&session.db, session.file, session.config, 8), alone);
    assert!(text.contains(&kernel(KERNELS - 1)));
}
