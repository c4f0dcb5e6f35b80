//! The content store: the bytes are the same with and without it, and a hit hangs on just what compiling reads.

use std::sync::Arc;

use crate::support::{cold, module};
use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_queries::compile;
use oriole_store::{Cache, Counts, Key, Memory, Mode, Store};

/// A store that several caches share.
#[derive(Clone)]
pub struct Shared(Arc<Memory>);

impl Shared {
    pub fn new() -> Shared {
        Shared(Arc::new(Memory::new(1 << 24)))
    }

    /// The cubin of a text, compiled by a new database with this store, and what the cache did.
    fn compile(&self, text: &str, chip: Chip, options: &Options, mode: Mode) -> (Vec<u8>, Counts) {
        let cache = Arc::new(Cache::new(Box::new(self.clone()), mode));
        let db = Database::default().cached(cache.clone());
        let file = SourceFile::open(&db, text);
        let config = Config::create(&db, chip, options);
        let compiled = compile(&db, file, config, 2);
        let cubin = compiled.cubin.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        (cubin.to_vec(), cache.counts())
    }

    fn write(&self, text: &str) -> (Vec<u8>, Counts) {
        self.compile(text, Chip::SM_90, &Options::default(), Mode::Write)
    }
}

impl Store for Shared {
    fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.0.get(key)
    }

    fn put(&self, key: &Key, framed: Arc<[u8]>) {
        self.0.put(key, framed);
    }

    fn remove(&self, key: &Key) {
        self.0.remove(key);
    }
}

fn bytes(text: &str) -> Vec<u8> {
    cold(text).cubin.expect("the module compiles").to_vec()
}

/// Functions found, and functions compiled.
fn found_and_compiled(counts: Counts) -> (u64, u64) {
    (counts.hits, counts.misses)
}

#[test]
fn the_bytes_are_those_of_a_cold_compile() {
    let store = Shared::new();
    let text = module();
    let (first, counts) = store.write(&text);
    // The file, and its functions.
    assert_eq!(found_and_compiled(counts), (0, 54));
    assert_eq!(counts.kept, 54);
    let (second, counts) = store.write(&text);
    assert_eq!(found_and_compiled(counts), (1, 0));
    let (third, counts) = store.write(&format!("{text}// another file\n"));
    assert_eq!(found_and_compiled(counts), (53, 1));
    let cold = bytes(&text);
    assert!(first == cold && second == cold && third == cold);
}

/// The code of a function does not depend on its name, its place or its spelling, so neither does the key.
#[test]
fn a_hit_hangs_on_what_compiling_reads() {
    let store = Shared::new();
    let text = module();
    store.write(&text);
    let counts = |text: &str| {
        let (warm, counts) = store.compile(text, Chip::SM_90, &Options::default(), Mode::Read);
        assert!(warm == bytes(text));
        found_and_compiled(counts)
    };
    assert_eq!(counts(&text.replace("entry k7(", "entry renamed(")), (53, 1));
    assert_eq!(counts(&text.replace("out", "k_param_0")), (53, 1));
    assert_eq!(counts(&text.replace("tile", "other").replace("table", "elsewhere")), (53, 1));
    assert_eq!(counts(&format!("// above\n{text}")), (53, 1));
    assert_eq!(counts(&text.replace("%r2, %r1, 9;", "%r2, %r1, 99;")), (52, 2));
    // A callee's body is part of those that it is inlined into: a function, and through that a kernel.
    assert_eq!(counts(&text.replace("%r1, 1000;", "%r1, 1001;")), (50, 4));
    // The limit of registers that a kernel leaves passes to the functions that its code calls.
    let bounded = |number: u32| {
        let head = format!("k{number}(\n\t.param .u64 out\n)");
        text.replace(&head, &format!("{head}\n.maxnreg 32"))
    };
    assert_eq!(counts(&bounded(1)), (52, 2));
    assert_eq!(counts(&bounded(4)), (50, 4));
}

#[test]
fn options_and_chip_are_part_of_the_key() {
    let store = Shared::new();
    let text = module();
    store.write(&text);
    let compiled = |chip, set: fn(&mut Options)| {
        let mut options = Options::default();
        set(&mut options);
        found_and_compiled(store.compile(&text, chip, &options, Mode::Read).1)
    };
    assert_eq!(compiled(Chip::SM_90, |_| {}), (1, 0));
    assert_eq!(compiled(Chip::SM_90A, |_| {}), (0, 54));
    assert_eq!(compiled(Chip::SM_90, |options| options.level = 0), (0, 54));
    // The routine of the division is that of level 3.
    assert_eq!(compiled(Chip::SM_90, |options| options.level = 4), (1, 53));
    for (knob, value) in [("fmad", "false"), ("maxrregcount", "40")] {
        let mut options = Options::default();
        options.set(knob, value).unwrap();
        assert_eq!(store.compile(&text, Chip::SM_90, &options, Mode::Read).1.hits, 0, "{knob}");
    }
}

/// Whatever the store answers, the bytes are right: each kept value in turn is cut or changed.
#[test]
fn damage_costs_time_and_nothing_else() {
    struct Damaging(Shared, std::sync::atomic::AtomicUsize);
    impl Store for Damaging {
        fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
            let mut bytes = self.0.get(key)?.to_vec();
            let count = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            match count % 4 {
                0 => bytes.truncate(bytes.len() / 2),
                1 => bytes.clear(),
                2 => bytes[100] ^= 1,
                _ => {}
            }
            Some(bytes.into())
        }
        fn put(&self, _: &Key, _: Arc<[u8]>) {}
        fn remove(&self, _: &Key) {}
    }
    let store = Shared::new();
    let text = module();
    store.write(&text);
    let cache = Arc::new(Cache::new(Box::new(Damaging(store, Default::default())), Mode::Read));
    let db = Database::default().cached(cache.clone());
    let file = SourceFile::open(&db, &text);
    let config = Config::create(&db, Chip::SM_90, &Options::default());
    let warm = compile(&db, file, config, 1).cubin.expect("the module compiles").to_vec();
    assert!(warm == bytes(&text));
    assert_eq!((cache.counts().damaged, cache.counts().hits), (41, 13));
}

/// `verify` compiles all the same, and says so when a kept value is not what compiling gives.
#[test]
fn verify_finds_a_wrong_value() {
    let store = Shared::new();
    let text = module();
    store.write(&text);
    let (_, counts) = store.compile(&text, Chip::SM_90, &Options::default(), Mode::Verify);
    assert_eq!(found_and_compiled(counts), (54, 0));

    /// Gives the first function that was asked for under every key, in the right frame.
    struct Lying(Shared, std::sync::Mutex<Option<Vec<u8>>>);
    impl Store for Lying {
        fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
            let framed = self.0.get(key)?;
            let value = oriole_store::unframe(key, &framed)?.to_vec();
            if value.len() > 10_000 {
                return Some(framed);
            }
            let value = self.1.lock().unwrap().get_or_insert(value).clone();
            Some(oriole_store::frame(key, &value).into())
        }
        fn put(&self, _: &Key, _: Arc<[u8]>) {}
        fn remove(&self, _: &Key) {}
    }
    let cache = Arc::new(Cache::new(Box::new(Lying(store, Default::default())), Mode::Verify));
    let db = Database::default().cached(cache);
    let file = SourceFile::open(&db, &text);
    let config = Config::create(&db, Chip::SM_90, &Options::default());
    let compiled = compile(&db, file, config, 1);
    assert!(compiled.cubin.is_none());
    let message = compiled.diagnostics[0].message.to_string();
    assert!(message.contains("a function was kept that compiles to something else"), "{message}");
}
