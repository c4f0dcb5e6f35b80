//! Addresses, and servers that this process is itself. `tools/clients/shared_cache.py` runs real ones.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_cloud_store::Address;
use oriole_shared_store::{Settings, Shared};
use oriole_store::{Cache, Key, KeyBuilder, Memory, Mode};

fn key(number: u32) -> Key {
    KeyBuilder::new("test", "").with(&number).finish()
}

fn cache(address: &Address, settings: Settings) -> Cache {
    let near = Box::new(Memory::new(1 << 20));
    Cache::new(Box::new(Shared::new(near, Arc::new(address.clone()), settings)), Mode::Write)
}

fn find(cache: &Cache, number: u32) -> Option<Vec<u8>> {
    cache.find(&key(number), |bytes| Some(bytes.to_vec()))
}

#[test]
fn addresses_name_clients() {
    let read = |text: &str| match text.parse::<Address>() {
        Ok(address) => format!("{address:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(read("s3://bucket/a/b?region=eu-west-1"), "Address(Objects(s3))");
    assert_eq!(read("gcs://bucket"), "Address(Objects(gcs))");
    assert_eq!(read("gcs://bucket/a"), "Address(Objects(gcs))");
    assert_eq!(read("grpc://me:secret@cache:9092/one"), "Address(Remote(http://cache:9092/ one))");
    assert_eq!(read("https://me:secret@cache/all/"), "Address(Web(https://cache/all/ac/{key}))");
    assert_eq!(read("s3:///a"), "`s3:///a` names no server, bucket or folder");
    assert_eq!(read("fs://"), "`fs://` names no server, bucket or folder");
    assert_eq!(read("grpc:///one"), "`grpc:///one` names no server, bucket or folder");
    assert!(read("ftp://a").starts_with("`ftp://a` has none of the schemes azblob, fs, "));
    assert!(read("https://a b").starts_with("https://a b: "));
    assert!(read("grpc://a b").starts_with("grpc://a b: "));
}

#[test]
fn a_folder_is_a_server() {
    let folder = std::env::temp_dir().join(format!("oriole-cloud-store-{}", std::process::id()));
    let address: Address = format!("fs://{}", folder.display()).parse().unwrap();
    let patient = Settings {
        sends: true,
        budget: Duration::from_secs(5),
        last: Duration::from_secs(5),
        ..Settings::default()
    };
    let first = cache(&address, patient.clone());
    for number in 0..20 {
        assert_eq!(find(&first, number), None);
        first.keep(&key(number), vec![number as u8; 100 * number as usize]);
    }
    first.finish();
    let second = cache(&address, patient);
    for number in 0..20 {
        assert_eq!(find(&second, number), Some(vec![number as u8; 100 * number as usize]));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A server that takes connections and answers nothing costs a few budgets, by whatever client.
#[test]
fn a_silent_server_costs_little() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let s3 = format!(
        "s3://b?endpoint=http://{place}&region=r&disable_config_load&access_key_id=a&secret_access_key=b"
    );
    for text in [s3, format!("grpc://{place}"), format!("https://{place}")] {
        let address: Address = text.parse().unwrap();
        let start = Instant::now();
        let cache = cache(&address, Settings { sends: true, ..Settings::default() });
        for number in 0..200 {
            assert_eq!(find(&cache, number), None, "{text}");
            cache.keep(&key(number), vec![1; 1000]);
        }
        cache.finish();
        drop(cache);
        assert!(start.elapsed() < Duration::from_secs(3), "{text}: {:?}", start.elapsed());
    }
}
