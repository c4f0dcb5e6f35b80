//! Names are no part of the key of a function: what is stored for a kernel is found after a rename, and a compile that
//! uses it gives the bytes of a cold one.
//!
//! `ORIOLE_RENAMED=FOLDER` reads the PTX files of another folder, each with every row of options, and prints the counts; with
//! `ORIOLE_RENAMED_TO=FOLDER` it only writes them there with new names, for comparisons of programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::{Linking, Options};
use oriole_queries::{Compiled, compile, target_chip};
use oriole_store::{Cache, Counts, Mode};

use crate::renaming::{Renaming, renamed};
use crate::store::Shared;
use crate::support::{cold, module};

/// Options that ask for code in different ways: level, linking, full debug info, most registers.
const ROWS: &[(&str, u8, Linking, bool, &str)] = &[
    ("-O3", 3, Linking::Whole, false, "0"),
    ("-O3 -c", 3, Linking::Relocatable, false, "0"),
    ("-O0", 0, Linking::Whole, false, "0"),
    ("-O3 -ewp", 3, Linking::Extensible, false, "0"),
    ("-O0 -g", 0, Linking::Whole, true, "0"),
    ("-O2 -maxrregcount 32", 2, Linking::Whole, false, "32"),
    ("-O0 -c -g", 0, Linking::Relocatable, true, "0"),
];

fn options(row: usize) -> Options {
    let (_, level, linking, full, registers) = ROWS[row % ROWS.len()];
    let mut options = Options::default();
    (options.level, options.linking, options.debug.full) = (level, linking, full);
    options.set("maxrregcount", registers).expect("a count");
    options
}

fn compiled(text: &str, options: &Options, cache: Option<&Arc<Cache>>) -> Compiled {
    let db = Database::default();
    let db = match cache {
        Some(cache) => db.cached(cache.clone()),
        None => db,
    };
    let file = SourceFile::open(&db, text);
    let config = Config::create(&db, target_chip(&db, file), options);
    compile(&db, file, config, 1)
}

fn with_store(store: &Shared, text: &str, options: &Options, mode: Mode) -> (Compiled, Counts) {
    let cache = Arc::new(Cache::new(Box::new(store.clone()), mode));
    let compiled = compiled(text, options, Some(&cache));
    (compiled, cache.counts())
}

/// Looks the renamed module up in the store of the module, and compares. The functions found, and looked for; nothing
/// for a file that does not compile.
fn found(text: &str, options: &Options, renaming: Renaming, at: &str) -> (u64, u64) {
    let store = Shared::new();
    let (first, _) = with_store(&store, text, options, Mode::Write);
    let renamed = renamed(text, renaming);
    let before = compiled(&renamed, options, None);
    assert_eq!(first.cubin.is_some(), before.cubin.is_some(), "{at}: {:?}", before.diagnostics);
    if first.cubin.is_none() {
        return (0, 0);
    }
    let (warm, counts) = with_store(&store, &renamed, options, Mode::Read);
    assert!(warm == before, "{at}: a rename changes the bytes, {:?}", warm.diagnostics);
    let (verified, _) = with_store(&store, &renamed, options, Mode::Verify);
    assert!(verified == before, "{at}: {:?}", verified.diagnostics);
    // The file itself is another one.
    (counts.hits, counts.hits + counts.misses - 1)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    let (folders, files): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "ptx"));
    files.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}

#[test]
fn renamed_kernels_are_found() {
    let other = std::env::var_os("ORIOLE_RENAMED").map(PathBuf::from);
    let to = std::env::var_os("ORIOLE_RENAMED_TO");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/kernels");
    let paths = files(other.as_deref().unwrap_or(&own));
    assert!(!paths.is_empty());
    for renaming in [Renaming::Kernels, Renaming::Everything] {
        let (mut hits, mut all) = (0, 0);
        for (number, path) in paths.iter().enumerate() {
            // Of our own, some are enough for one run of the tests.
            if other.is_none() && number % 4 != 2 * usize::from(renaming == Renaming::Kernels) {
                continue;
            }
            let text = std::fs::read_to_string(path).expect("a text");
            if let Some(folder) = &to {
                let file = format!("{number}-{renaming:?}.ptx");
                std::fs::write(Path::new(folder).join(file), renamed(&text, renaming)).expect("a file");
                continue;
            }
            let rows = if other.is_some() { 0..ROWS.len() } else { number..number + 1 };
            for row in rows {
                let at = format!("{} {}", path.display(), ROWS[row % ROWS.len()].0);
                let (found, looked) = found(&text, &options(row), renaming, &at);
                if other.is_some() && found < looked {
                    println!("{at}: {found} of {looked}");
                }
                (hits, all) = (hits + found, all + looked);
            }
        }
        println!("{renaming:?}: {hits} of {all} functions found");
        assert!(to.is_some() || all > 0 && hits * 1000 >= all * 999, "{renaming:?}: {hits} of {all}");
    }
}

/// Functions that are found, and functions that are compiled.
fn counts(text: &str, other: &str, options: &Options) -> (u64, u64) {
    let store = Shared::new();
    let (first, _) = with_store(&store, text, options, Mode::Write);
    assert!(first.cubin.is_some(), "{:?}", first.diagnostics);
    let (warm, counts) = with_store(&store, other, options, Mode::Read);
    assert!(warm == compiled(other, options, None));
    let (verified, _) = with_store(&store, other, options, Mode::Verify);
    assert!(verified == warm, "{:?}", verified.diagnostics);
    (counts.hits, counts.misses - 1)
}

/// Two functions of one signature, a kernel that calls the first and divides, and variables of each space.
const NAMES: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 first[4];
.global .align 4 .u32 second[4];
.shared .align 4 .b8 outer[64];
.func (.param .b64 r) one(.param .b64 a, .param .b64 b) {
\t.reg .b64 %x<4>;
\tld.param.b64 %x1, [a];
\tld.param.b64 %x2, [b];
\tsub.u64 %x3, %x1, %x2;
\tst.param.b64 [r], %x3;
\tret;
}
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
{
\t.reg .b64 %x<8>;
\t.reg .b32 %r<8>;
\t.shared .align 4 .b8 inner[64];
\t.local .align 4 .b8 slot[64];
\tld.param.u64 %x1, [k_param_0];
\tld.param.u64 %x2, [k_param_1];
\tdiv.u64 %x3, %x1, %x2;
\t{
\t.param .b64 p;
\t.param .b64 q;
\t.param .b64 s;
\tst.param.b64 [p], %x3;
\tst.param.b64 [q], %x1;
\tcall.uni (s), one, (p, q);
\tld.param.b64 %x4, [s];
\t}
\tcvt.u32.u64 %r1, %x4;
\tand.b32 %r1, %r1, 15;
\tcvt.u64.u32 %x5, %r1;
\tst.local.u32 [slot+8], %r1;
\tst.shared.u32 [inner], %r1;
\tst.shared.u32 [outer], %r1;
\tbar.sync 0;
\tld.shared.u32 %r2, [inner+4];
\tld.global.u32 %r3, [first+4];
\tadd.u32 %r2, %r2, %r3;
\tst.global.u32 [second], %r2;
\tret;
}
";

#[test]
fn equal_names_are_what_counts() {
    let inlining = options(0);
    let mut options = inlining.clone();
    options.set("no-inlining", "true").expect("a switch");
    // The kernel with the function in it, and the routine of the division.
    let other = NAMES.replace("inner", "slot_").replace("outer", "zzz").replace("one", "two");
    assert_eq!(counts(NAMES, &other, &inlining), (2, 0));
    let counts = |other: &str| counts(NAMES, other, &options);
    // The kernel, the function, the routine of the division.
    assert_eq!(counts(&format!("{NAMES}//")), (3, 0));
    assert_eq!(counts(&NAMES.replace("k_param", "renamed_param")), (3, 0));
    assert_eq!(
        counts(&NAMES.replace("inner", "slot_").replace("outer", "zzz").replace("one", "two")),
        (3, 0)
    );
    // Which variable is read and which is written is one thing, and their names another.
    assert_eq!(counts(&NAMES.replace("[first+4]", "[second+4]")), (2, 1));
    assert_eq!(counts(&NAMES.replace("[first+4]", "[second+4]").replace("[second]", "[first]")), (3, 0));
    // A variable of the function that has the name of one of the module.
    assert_eq!(counts(&NAMES.replace("inner[64]", "outer[64]").replace("[inner", "[outer")), (2, 1));
}

/// The compiler takes a function with the name of one of its own for that one: such a name is part of the key.
#[test]
fn names_of_the_compilers_own_functions_are_kept() {
    for row in [0, 1, 6] {
        let own = NAMES.replace("one", "__cuda_sm20_div_u64");
        let (found, compiled) = counts(NAMES, &own, &options(row));
        assert!(compiled >= 1 && found >= 1, "{found} {compiled}");
        // In relocatable files the compile fails, with the store as without it: the name is the compiler's.
        if row == 0 {
            assert_eq!(counts(&own, &format!("{own}//"), &options(row)).1, 0);
        }
    }
}

#[test]
fn options_that_nothing_reads_are_no_part_of_the_key() {
    let store = Shared::new();
    let text = module();
    let base = options(0);
    with_store(&store, &text, &base, Mode::Write);
    let counts = |set: &dyn Fn(&mut Options)| {
        let mut options = base.clone();
        set(&mut options);
        let (warm, counts) = with_store(&store, &text, &options, Mode::Read);
        assert!(warm == compiled(&text, &options, None));
        (counts.hits, counts.misses - 1)
    };
    // Of 50 kernels one reads a variable, one a table of functions, one uses shared memory, one calls a function, which
    // calls another.
    assert_eq!(counts(&|options| options.linking = Linking::Extensible), (48, 5));
    assert_eq!(counts(&|options| options.debug.lines = true), (53, 0));
    // Full debug info is for level 0 alone.
    assert_eq!(counts(&|options| options.debug.full = true), (53, 0));
    // A limit of functions that kernels do not have.
    assert_eq!(counts(&|options| options.set("func-maxrregcount", "64").expect("a count")), (51, 2));
    // Level 4 has the routines of level 3.
    let search = |options: &mut Options| {
        options.level = 4;
        options.set("search-trials", "1").expect("a count");
    };
    assert_eq!(counts(&search), (1, 52));
}

#[test]
fn the_module_of_the_tests_is_renamed_whole() {
    let text = renamed(&module(), Renaming::Everything);
    assert!(cold(&text).cubin.is_some());
    assert_eq!(counts(&module(), &text, &options(0)), (53, 0));
}
