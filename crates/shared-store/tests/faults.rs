//! Servers that are right, slow, gone or wrong: results are right, and no caller waits longer than it may.

mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_shared_store::{Address, Settings, Shared, SigningKey};
use oriole_store::{Cache, Key, KeyBuilder, Memory, Mode, Store, frame};

use crate::server::{Manner, Server, Speech};

const SPEECHES: [Speech; 2] = [Speech::Http, Speech::Redis];

fn key(number: u32) -> Key {
    KeyBuilder::new("test", "").with(&number).finish()
}

/// A cache over an empty store nearby and a server.
fn cache(server: &Server, settings: Settings) -> Cache {
    let near = Box::new(Memory::new(1 << 20));
    let mode = if settings.sends { Mode::Write } else { Mode::Read };
    Cache::new(Box::new(Shared::new(near, Arc::new(server.address()), settings)), mode)
}

/// The bounds of a test: much longer than a server on this machine needs.
fn patient(sends: bool) -> Settings {
    let (budget, last) = (Duration::from_secs(5), Duration::from_secs(5));
    Settings { sends, budget, last, ..Settings::default() }
}

fn find(cache: &Cache, number: u32) -> Option<Vec<u8>> {
    cache.find(&key(number), |bytes| Some(bytes.to_vec()))
}

#[test]
fn what_one_machine_sends_another_finds() {
    for speech in SPEECHES {
        let server = Server::start(speech, Manner::Right);
        let first = cache(&server, patient(true));
        for number in 0..50 {
            assert_eq!(find(&first, number), None);
            first.keep(&key(number), vec![number as u8; 5000 * number as usize]);
        }
        first.finish();
        assert_eq!(server.count(), 50, "{speech:?}");
        let second = cache(&server, patient(false));
        std::thread::scope(|scope| {
            for part in 0..4 {
                let second = &second;
                scope.spawn(move || {
                    for number in (0..50).filter(|number| number % 4 == part) {
                        let value = vec![number as u8; 5000 * number as usize];
                        assert_eq!(find(second, number), Some(value), "{speech:?} {number}");
                    }
                });
            }
        });
        assert_eq!(second.counts().damaged, 0);
        // One that only reads sends nothing.
        second.keep(&key(99), vec![1]);
        second.finish();
        assert_eq!(server.count(), 50);
    }
}

#[test]
fn what_is_found_comes_nearby() {
    let server = Server::start(Speech::Http, Manner::Right);
    let first = cache(&server, patient(true));
    first.keep(&key(1), vec![7; 100]);
    first.finish();
    let second = cache(&server, patient(false));
    assert!(find(&second, 1).is_some());
    server.forget();
    assert!(find(&second, 1).is_some());
}

/// Whatever a server does wrong, look-ups are misses and a run of many costs a few budgets at most.
#[test]
fn faults_are_misses_and_cost_little() {
    let manners = [
        Manner::Slow(Duration::from_secs(30)),
        Manner::Silent,
        Manner::Closes,
        Manner::Cuts,
        Manner::Nonsense,
        Manner::Refuses,
        Manner::Endless,
    ];
    for speech in SPEECHES {
        for manner in manners {
            let server = Server::start(speech, manner);
            server.fill((0..200).map(|number| {
                let key = key(number);
                (key.to_string(), frame(&key, &[1; 10_000]))
            }));
            let settings = Settings { sends: true, ..Settings::default() };
            let last = settings.last;
            let start = Instant::now();
            let cache = cache(&server, settings);
            for number in 0..200 {
                assert_eq!(find(&cache, number), None, "{speech:?} {manner:?}");
                cache.keep(&key(number), vec![number as u8; 10_000]);
                assert_eq!(find(&cache, number), Some(vec![number as u8; 10_000]));
            }
            cache.finish();
            let took = start.elapsed();
            assert!(took < last + Duration::from_secs(2), "{speech:?} {manner:?}: {took:?}");
        }
    }
}

/// Bytes that are not those that were stored are never used.
#[test]
fn changed_entries_are_damage() {
    for speech in SPEECHES {
        let server = Server::start(speech, Manner::Flips);
        server.fill((0..20).map(|number| (key(number).to_string(), frame(&key(number), &[1; 100]))));
        let cache = cache(&server, patient(false));
        assert!((0..20).all(|number| find(&cache, number).is_none()));
        assert_eq!(cache.counts().damaged, 20);
    }
}

#[test]
fn only_signed_entries_are_used_where_there_is_a_signing_key() {
    let signed = |secret: &[u8], sends| Settings {
        signing: Some(SigningKey::new(secret).expect("long enough")),
        ..patient(sends)
    };
    for speech in SPEECHES {
        let server = Server::start(speech, Manner::Right);
        // Without a key, and with another one.
        server.fill([(key(1).to_string(), frame(&key(1), b"a stranger's"))]);
        let stranger = cache(&server, signed(b"another secret, 0123456789", true));
        stranger.keep(&key(1), b"a stranger's".to_vec());
        stranger.finish();
        let ours = cache(&server, signed(b"our secret, 0123456789", true));
        assert_eq!(find(&ours, 1), None);
        ours.keep(&key(1), b"ours".to_vec());
        ours.finish();
        let again = cache(&server, signed(b"our secret, 0123456789", false));
        assert_eq!(find(&again, 1), Some(b"ours".to_vec()));
        // A server that gives one entry for another.
        server.give_all(Some(frame(&key(1), b"a stranger's")));
        let last = cache(&server, signed(b"our secret, 0123456789", false));
        assert_eq!(find(&last, 1), None);
    }
}

#[test]
fn a_server_that_is_gone_costs_one_connection() {
    let address = Server::start(Speech::Http, Manner::Right).address();
    let near = Box::new(Memory::new(1 << 20));
    let shared = Shared::new(near, Arc::new(address), Settings { sends: true, ..Settings::default() });
    let start = Instant::now();
    for number in 0..10_000 {
        assert!(shared.get(&key(number)).is_none());
        shared.put(&key(number), Arc::from([0; 10]));
    }
    shared.finish();
    assert!(start.elapsed() < Duration::from_secs(2));
}

/// Values that wait are bounded: a server that takes nothing costs no memory and no wait at the end.
#[test]
fn what_waits_is_bounded() {
    let server = Server::start(Speech::Http, Manner::Silent);
    let settings = Settings { sends: true, waiting: 100_000, ..Settings::default() };
    let shared = Shared::new(Box::new(Memory::new(0)), Arc::new(server.address()), settings);
    let start = Instant::now();
    for number in 0..1000 {
        shared.put(&key(number), Arc::from(vec![0; 10_000]));
    }
    assert!(start.elapsed() < Duration::from_millis(500));
    shared.finish();
    drop(shared);
    assert!(start.elapsed() < Duration::from_secs(3));
}

/// The real server, where it is installed or `REDIS_SERVER` is its path.
#[test]
fn redis_itself_keeps_values() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).unwrap().port();
    let program = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    let mut redis = std::process::Command::new(program);
    redis.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    let mut running = match redis.stdout(std::process::Stdio::null()).spawn() {
        Ok(running) => running,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED the real Redis: there is no redis-server");
            return;
        }
        Err(error) => panic!("redis-server does not start: {error}"),
    };
    let address: Address = format!("redis://127.0.0.1:{port}/2").parse().unwrap();
    let up = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let open = |sends| {
        let near = Box::new(Memory::new(1 << 20));
        Cache::new(Box::new(Shared::new(near, Arc::new(address.clone()), patient(sends))), Mode::Write)
    };
    let first = open(true);
    first.keep(&key(1), vec![1, 13, 10, 0]);
    first.finish();
    let found = find(&open(false), 1);
    let _ = running.kill();
    let _ = running.wait();
    assert!(up);
    assert_eq!(found, Some(vec![1, 13, 10, 0]));
}
