//! Level 4: the bytes are the same however they are made, the choices are those of knobs, and one kernel's search is no other one's.

use crate::support::module;
use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::{CHOICES, Choices, Options};
use oriole_queries::{compile, files, searched};

/// A kernel with loads that can be moved, so that orders differ, and a loop.
const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry sums(.param .u64 from, .param .u64 to, .param .u32 count)
{
\t.reg .pred %p<2>;
\t.reg .f32 %f<24>;
\t.reg .b32 %r<6>;
\t.reg .b64 %rd<8>;
\tld.param.u64 %rd1, [from];
\tld.param.u64 %rd2, [to];
\tld.param.u32 %r1, [count];
\tmov.u32 %r2, %tid.x;
\tmul.wide.u32 %rd3, %r2, 4;
\tadd.u64 %rd4, %rd1, %rd3;
\tmov.f32 %f1, 0f00000000;
again:
\tld.global.f32 %f2, [%rd4];
\tld.global.f32 %f3, [%rd4+512];
\tld.global.f32 %f4, [%rd4+1024];
\tld.global.f32 %f5, [%rd4+1536];
\tmul.f32 %f6, %f2, %f3;
\tfma.rn.f32 %f7, %f4, %f5, %f6;
\tsqrt.approx.f32 %f8, %f7;
\tadd.f32 %f1, %f1, %f8;
\tadd.u64 %rd4, %rd4, 2048;
\tsub.u32 %r1, %r1, 1;
\tsetp.ne.u32 %p1, %r1, 0;
\t@%p1 bra again;
\tadd.u64 %rd5, %rd2, %rd3;
\tst.global.f32 [%rd5], %f1;
\tret;
}
";

fn at(level: u8) -> Options {
    let mut options = Options::default();
    options.level = level;
    options
}

fn bytes(db: &Database, text: &str, options: &Options, threads: usize) -> Vec<u8> {
    let file = SourceFile::open(db, text);
    let compiled = compile(db, file, Config::create(db, Chip::SM_90, options), threads);
    compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)).to_vec()
}

/// On any number of threads, with and without stages that are kept.
#[test]
fn level_4_gives_the_same_bytes_however_they_are_made() {
    for text in [module(), KERNEL.to_owned()] {
        let first = bytes(&Database::once(), &text, &at(4), 1);
        assert!(bytes(&Database::once(), &text, &at(4), 4) == first, "four threads");
        assert!(bytes(&Database::default(), &text, &at(4), 3) == first, "stages are kept");
        let mut none = at(4);
        none.set("search-trials", "0").unwrap();
        assert!(bytes(&Database::once(), &text, &none, 1) == bytes(&Database::once(), &text, &at(3), 1));
    }
}

/// Each choice that is given is a compile with its knob.
#[test]
fn known_choices_are_knobs() {
    for (row, choice) in CHOICES.iter().enumerate() {
        let mut knob = at(3);
        knob.set(choice.knob, choice.value).unwrap();
        let mut known = at(4);
        known.known = vec![("sums".to_owned(), Choices::NONE.with(row))];
        let expected = bytes(&Database::once(), KERNEL, &knob, 1);
        for db in [Database::once(), Database::default()] {
            assert!(bytes(&db, KERNEL, &known, 1) == expected, "{}", choice.text());
        }
    }
}

/// The choices that a search made are knobs, too, and it judged some.
#[test]
fn the_code_is_that_of_the_choices() {
    let db = Database::default();
    let file = SourceFile::open(&db, KERNEL);
    let config = Config::create(&db, Chip::SM_90, &at(4));
    let unit = files::code_units(&db, file)[0];
    let found = searched::found(&db, unit, config).expect("a search");
    assert!(found.judged > 5 && found.ratio() <= 1.0, "{found:?}");
    let mut knobs = at(3);
    found.choices.iter().for_each(|choice| knobs.set(choice.knob, choice.value).unwrap());
    assert!(bytes(&Database::once(), KERNEL, &at(4), 1) == bytes(&Database::once(), KERNEL, &knobs, 1));
    let third = Config::create(&db, Chip::SM_90, &at(3));
    assert_eq!(searched::found(&db, unit, third), None);
}

/// Choices that are known of one kernel compile no other one again.
#[test]
fn known_choices_are_those_of_one_kernel() {
    let mut db = Database::with_log();
    let file = SourceFile::open(&db, &module());
    let mut options = at(4);
    options.set("search-trials", "0").unwrap();
    let config = Config::create(&db, Chip::SM_90, &options);
    let first = compile(&db, file, config, 1).cubin;
    db.log().expect("a log").take();
    options.known = vec![("k5".to_owned(), Choices::NONE.with(1))];
    config.update(&mut db, &options);
    compile(&db, file, config, 1);
    let executed = db.log().expect("a log").take();
    let compiled: Vec<&str> =
        executed.iter().filter(|row| row.query == "allocated").map(|row| row.unit.as_str()).collect();
    assert_eq!(compiled, ["entry k5"]);
    options.known.clear();
    config.update(&mut db, &options);
    assert!(compile(&db, file, config, 1).cubin == first, "set back");
}
