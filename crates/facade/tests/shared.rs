//! One database for many texts, on several threads: results are those of a database for each text, also after databases were
//! left.

use crate::{kernel, module};
use oriole::program::{Opened, Shared};
use oriole_options::Options;

fn texts() -> Vec<String> {
    // A division has a routine, and a text that names no chip of its own has a warning.
    let division = |at: u32| kernel(&format!("k{at}"), at).replace("add.u32 %r1, %r1,", "div.u32 %r1, %r1,");
    let mut texts: Vec<String> = (0..150).map(|at| module(&[kernel(&format!("k{at}"), at)])).collect();
    texts.extend((3..40).map(|at| module(&[division(at), kernel("same", 7)])));
    texts.push(module(&[kernel("broken", 1).replace("add", "foo")]));
    texts.push(".version 4.0\n.target sm_20\n.address_size 64\n.entry k() { ret; }\n".to_owned());
    texts.push(String::new());
    texts
}

#[test]
fn texts_of_one_database_compile_as_alone() {
    let texts = texts();
    let mut unoptimized = Options::default();
    unoptimized.level = 0;
    let all = [Options::default(), unoptimized];
    let shared = Shared::new(16 << 20);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (texts, all, shared) = (&texts, &all, &shared);
            scope.spawn(move || {
                // Each thread in an order of its own, so that most results are those of another one.
                for step in 0..texts.len() {
                    let at = (step * 7 + thread * 61) % texts.len();
                    let options = &all[(at + thread) % 2];
                    let alone = Opened::once(&texts[at], None, options).compile(1);
                    let together = shared.open(&texts[at], None, options).compile(1);
                    assert!(together == alone, "{at}: {:?} {:?}", together.diagnostics, alone.diagnostics);
                }
            });
        }
    });
}
