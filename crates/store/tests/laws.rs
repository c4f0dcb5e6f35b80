//! Laws of the store: stored values are found, damaged ones are not, and the limit is never exceeded.

use oriole_store::*;
use std::sync::Arc;

fn key(of: &str) -> Key {
    KeyBuilder::new("test", "build").with(of).finish()
}

fn found(cache: &Cache, of: &str) -> Option<Vec<u8>> {
    cache.find(&key(of), |value| Some(value.to_vec()))
}

#[test]
fn keys_tell_everything_apart() {
    let one = |schema, build, parts: &[&str]| {
        let mut builder = KeyBuilder::new(schema, build);
        parts.iter().for_each(|part| {
            builder.with(*part);
        });
        builder.finish()
    };
    let keys = [
        one("a", "b", &["c"]),
        one("ab", "", &["c"]),
        one("a", "bc", &[]),
        one("a", "b", &["c", ""]),
        one("a", "b", &["", "c"]),
        one("a", "b", &["d"]),
    ];
    for (at, left) in keys.iter().enumerate() {
        assert!(keys[at + 1..].iter().all(|right| left != right), "{at}");
    }
    assert_eq!(keys[0], one("a", "b", &["c"]));
}

#[test]
fn modes_read_and_keep() {
    for (mode, reads, keeps) in [
        (Mode::Off, false, false),
        (Mode::Read, true, false),
        (Mode::Write, true, true),
        (Mode::Verify, true, true),
    ] {
        let memory = Memory::new(1000);
        memory.put(&key("there"), frame(&key("there"), b"value").into());
        let cache = Cache::new(Box::new(memory), mode);
        cache.keep(&key("new"), b"new value".to_vec());
        assert_eq!(found(&cache, "there").is_some(), reads, "{mode}");
        assert_eq!(found(&cache, "new").is_some(), keeps, "{mode}");
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
}

#[test]
fn damage_of_any_byte_is_a_miss() {
    let framed = frame(&key("k"), b"the value");
    assert_eq!(unframe(&key("k"), &framed), Some(&b"the value"[..]));
    assert_eq!(unframe(&key("other"), &framed), None);
    for at in 0..framed.len() {
        for bit in 0..8 {
            let mut damaged = framed.clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(unframe(&key("k"), &damaged), None, "byte {at}, bit {bit}");
        }
        assert_eq!(unframe(&key("k"), &framed[..at]), None, "cut at {at}");
    }
    let mut longer = framed;
    longer.push(0);
    assert_eq!(unframe(&key("k"), &longer), None);
}

#[test]
fn damaged_and_foreign_values_are_dropped() {
    let memory = Memory::new(1000);
    memory.put(&key("cut"), Arc::from(&frame(&key("cut"), b"value")[..50]));
    memory.put(&key("strange"), frame(&key("strange"), b"not what is expected").into());
    let cache = Cache::new(Box::new(memory), Mode::Write);
    assert_eq!(found(&cache, "cut"), None);
    assert_eq!(cache.find(&key("strange"), |_| None::<()>), None);
    assert_eq!(cache.counts(), Counts { hits: 0, misses: 2, damaged: 2, kept: 0 });
    // Dropped by now: no damage is found a second time.
    assert_eq!(found(&cache, "cut"), None);
    assert_eq!(cache.counts().damaged, 2);
}

#[test]
fn memory_keeps_what_was_used_last() {
    let memory: Memory = Memory::new(30);
    let put = |of: &str| memory.put(&key(of), Arc::from([0; 10]));
    ["a", "b", "c"].into_iter().for_each(put);
    assert!(memory.get(&key("a")).is_some());
    put("d");
    let there = ["a", "b", "c", "d"].map(|of| memory.get(&key(of)).is_some());
    assert_eq!((there, memory.bytes()), ([true, false, true, true], 30));
    // The same key again takes no more space, and a value that is too large is not stored.
    put("d");
    memory.put(&key("large"), Arc::from([0; 31]));
    assert_eq!(memory.bytes(), 30);
}

/// A cache returns exactly the stored value, without a store or before it consults one.
#[test]
fn a_cache_remembers() {
    struct Nothing;
    impl Store for Nothing {
        fn get(&self, _: &Key) -> Option<Arc<[u8]>> {
            None
        }
        fn put(&self, _: &Key, _: Arc<[u8]>) {
            panic!("a store that keeps nothing is handed a frame");
        }
        fn remove(&self, _: &Key) {}
        fn keeps(&self) -> bool {
            false
        }
    }
    for store in [None, Some(Box::new(Nothing) as Box<dyn Store>)] {
        let cache = Cache::remembering(100, store, Mode::Write);
        let value = Value::new(b"value".to_vec());
        cache.keep(&key("k"), value.clone());
        let found = cache.find(&key("k"), |value| Some(value.clone()));
        assert!(found.is_some_and(|found| Value::ptr_eq(&found, &value)));
        assert_eq!(found_and_missed(&cache), (1, 0));
        assert_eq!(crate::found(&cache, "other"), None);
        assert_eq!(found_and_missed(&cache), (1, 1));
    }
    // Values of a store are remembered too.
    let memory: Memory = Memory::new(1000);
    memory.put(&key("there"), frame(&key("there"), b"value").into());
    let cache = Cache::remembering(100, Some(Box::new(memory)), Mode::Read);
    let [first, second] = [(); 2].map(|()| cache.find(&key("there"), |value| Some(value.clone())).unwrap());
    assert!(Value::ptr_eq(&first, &second));
}

fn found_and_missed(cache: &Cache) -> (u64, u64) {
    (cache.counts().hits, cache.counts().misses)
}
