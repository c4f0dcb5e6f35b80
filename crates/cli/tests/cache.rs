//! The content store on a server, as users of `oriole compile` have it.

use crate::support::{data, oriole, scratch, text};

#[allow(dead_code, reason = "the tests of its crate use the rest")]
#[path = "../../shared-store/tests/server/mod.rs"]
mod server;

use server::{Manner, Server, Speech};

/// The bytes and the line about the cache of a compile in a folder.
fn compiled(folder: &std::path::Path, input: &str, more: &[&str]) -> (Vec<u8>, String) {
    let (out, near) = (folder.join("out.cubin"), folder.join("near"));
    let (out, near) = (text(&out), text(&near));
    let done = oriole(&[&["compile", input, "-v", "-o", &out, "--cache-dir", &near], more].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
    let line = done.err.lines().find(|line| line.starts_with("cache ")).unwrap_or_default();
    (std::fs::read(out).expect("a cubin"), line.to_owned())
}

#[test]
fn a_server_is_shared() {
    let input = text(&data("kernels").join("reduce.ptx"));
    for speech in [Speech::Http, Speech::Redis] {
        let server = Server::start(speech, Manner::Right);
        let (first, second, third) = (scratch(), scratch(), scratch());
        let key = first.path().join("key");
        std::fs::write(&key, "a secret of some length\n").expect("a file");
        let key = text(&key);
        let url = server.url();
        let with = |mode: &str, folder: &std::path::Path, more: &[&str]| {
            let options =
                [&["--cache", mode, "--cache-url", &url, "--cache-signing-key", &key], more].concat();
            compiled(folder, &input, &options)
        };
        let (cold, line) = with("write", first.path(), &[]);
        assert!(line.contains(" 0 hits, "), "{line}");
        assert!(server.count() > 1);
        let (warm, line) = with("read", second.path(), &[]);
        assert!(warm == cold && line == "cache read: 1 hits, 0 misses, 0 damaged, 0 stored", "{line}");
        let before = server.count();
        let (other, line) = with("write", third.path(), &["-O1", "--cache-url-read-only"]);
        assert!(other != cold && line.contains(" 0 hits, "), "{line}");
        assert_eq!(server.count(), before);
    }
}

#[test]
fn a_server_that_is_gone_changes_nothing() {
    let input = text(&data("kernels").join("reduce.ptx"));
    let folder = scratch();
    let url = Server::start(Speech::Http, Manner::Right).url();
    let (bytes, _) = compiled(folder.path(), &input, &["--cache", "write", "--cache-url", &url]);
    let (plain, _) = compiled(folder.path(), &input, &[]);
    assert!(bytes == plain);
}

#[test]
fn wrong_urls_and_keys_are_misuse() {
    let input = text(&data("kernels").join("reduce.ptx"));
    let folder = scratch();
    let short = folder.path().join("key");
    std::fs::write(&short, "short").expect("a file");
    let (short, gone) = (text(&short), text(&folder.path().join("gone")));
    let server = "http://localhost:1";
    for (options, message) in [
        (
            &["--cache", "read", "--cache-url", "ftp://cache"][..],
            "begins with neither `http://` nor `redis://`",
        ),
        (&["--cache", "read", "--cache-url", "http://"], "names no server"),
        (&["--cache-url", server], "--cache <MODE>"),
        (
            &["--cache", "read", "--cache-url", "s3://"],
            if cfg!(feature = "cloud") { "bucket" } else { "cloud" },
        ),
        (&["--cache", "read", "--cache-url", server, "--cache-url-wait", "0"], "0 is not in 1..=600000"),
        (&["--cache", "read", "--cache-url-read-only"], "--cache-url <URL>"),
        (&["--cache", "read", "--cache-url", server, "--cache-signing-key", &short], "at least 16 bytes"),
        (&["--cache", "read", "--cache-url", server, "--cache-signing-key", &gone], "--cache-signing-key: "),
    ] {
        let done = oriole(&[&["compile", &input, "-o", "/dev/null"], options].concat());
        assert_eq!(done.status, Some(2), "{options:?}: {}", done.err);
        assert!(done.err.contains(message), "{options:?}: {}", done.err);
    }
}
