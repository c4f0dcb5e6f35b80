//! Which requests are answered: those of a page of this program, and of nothing else that a browser has open. A request has the
//! secret of the address, the host that was given out, and no foreign origin.
//!
//! It is here so that all refusals are in one place. Nothing is read or written, and no answer is made.

use std::hash::{BuildHasher, RandomState};

/// Bytes of the head of a request, at most.
pub const LARGEST_HEAD: usize = 8 << 10;
/// Headers of a request, at most.
const MOST_HEADERS: usize = 64;

/// Why a request is not answered: its status and the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub status: &'static str,
    pub reason: &'static str,
}

const fn refusal(status: &'static str, reason: &'static str) -> Refusal {
    Refusal { status, reason }
}

const MALFORMED: Refusal = refusal("400 Bad Request", "this is no HTTP request");
pub const TOO_LARGE: Refusal =
    refusal("431 Request Header Fields Too Large", "the head of the request is too large");
const WITH_BODY: Refusal = refusal("413 Content Too Large", "a request has no body here");
const METHOD: Refusal = refusal("405 Method Not Allowed", "only GET is answered");
const TOKEN: Refusal = refusal("403 Forbidden", "the address lacks the secret that the program printed");
const HOST: Refusal = refusal("403 Forbidden", "the request is for another host");
const ORIGIN: Refusal = refusal("403 Forbidden", "the request comes from a page of another origin");

/// A request that is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The path after the secret.
    pub path: String,
    /// Names and values after the question mark.
    pub query: Vec<(String, String)>,
}

impl Request {
    /// The number that a name of the query has.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.query.iter().find(|(known, _)| known == name)?.1.parse().ok()
    }
}

/// The requirements of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gate {
    token: String,
    port: u16,
}

impl Gate {
    /// A gate with a new secret.
    pub fn new(port: u16) -> Gate {
        Gate { token: secret(), port }
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The request of a head, which ends with an empty line.
    ///
    /// # Errors
    /// It is not answered.
    pub fn admit(&self, head: &[u8]) -> Result<Request, Refusal> {
        let text = std::str::from_utf8(head).map_err(|_| MALFORMED)?;
        let text = text.strip_suffix("\r\n\r\n").ok_or(MALFORMED)?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().ok_or(MALFORMED)?.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(MALFORMED);
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Err(MALFORMED);
        }
        let headers = lines.map(header).collect::<Option<Vec<_>>>().ok_or(MALFORMED)?;
        if headers.len() > MOST_HEADERS {
            return Err(TOO_LARGE);
        }
        let all = |name: &str| {
            let found = headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| *value).collect::<Vec<_>>()
        };
        // Another page's name for this machine would make its script one of this origin.
        match all("host")[..] {
            [host] if self.hosts().iter().any(|own| host.eq_ignore_ascii_case(own)) => {}
            _ => return Err(HOST),
        }
        let is_own = |origin: &&str| self.hosts().iter().any(|own| **origin == format!("http://{own}"));
        if !all("origin").iter().all(is_own) {
            return Err(ORIGIN);
        }
        if !all("transfer-encoding").is_empty() || all("content-length").iter().any(|length| *length != "0") {
            return Err(WITH_BODY);
        }
        if method != "GET" {
            return Err(METHOD);
        }
        let rest = target.strip_prefix('/').ok_or(MALFORMED)?;
        let (token, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if !equal(token.as_bytes(), self.token.as_bytes()) {
            return Err(TOKEN);
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        };
        Ok(Request { path: path.to_owned(), query: pairs.map(pair).collect() })
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port))
    }
}

/// Name and value of a header; nothing for a line that is none.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let plain = !value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t');
    (!name.is_empty() && name.bytes().all(is_name) && plain).then_some((name, value.trim()))
}

/// Compares in a time that does not depend on where the difference is.
fn equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// 128 bits that cannot be guessed. The hasher of the standard library has keys that the system chose at random, and what it
/// makes of a number cannot be known without them.
fn secret() -> String {
    let keys = RandomState::new();
    format!("{:016x}{:016x}", keys.hash_one(1u64), keys.hash_one(2u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(head: &str) -> Result<String, u32> {
        let gate = Gate { token: "secret".to_owned(), port: 7 };
        let request = gate.admit(head.replace('\n', "\r\n").as_bytes());
        request.map(|request| request.path).map_err(|refusal| refusal.status[..3].parse().expect("a status"))
    }

    #[test]
    fn requests_of_the_page_are_answered() {
        assert_eq!(admitted("GET /secret/ HTTP/1.1\nHost: 127.0.0.1:7\n\n"), Ok(String::new()));
        assert_eq!(admitted("GET /secret/file HTTP/1.1\nhost:localhost:7\n\n"), Ok("file".to_owned()));
        let own = "GET /secret/code?kernel=3&revision=1 HTTP/1.1\nHost: 127.0.0.1:7\nOrigin: http://127.0.0.1:7\n\n";
        assert_eq!(admitted(own), Ok("code".to_owned()));
        let request =
            Gate { token: "secret".to_owned(), port: 7 }.admit(own.replace('\n', "\r\n").as_bytes());
        assert_eq!(request.expect("it is answered").number("kernel"), Some(3));
    }

    #[test]
    fn requests_of_others_are_refused() {
        let with = |target: &str, headers: &str| admitted(&format!("GET {target} HTTP/1.1\n{headers}\n\n"));
        for target in ["/", "/file", "/secre/", "/secrets/", "/Secret/", "//secret/"] {
            assert_eq!(with(target, "Host: 127.0.0.1:7"), Err(403), "{target}");
        }
        for host in [
            "Host: 127.0.0.1",
            "Host: 127.0.0.1:8",
            "Host: evil.example:7",
            "Host: 127.0.0.1:7.evil.example",
            "X: y",
            "Host: 127.0.0.1:7\nHost: evil.example",
        ] {
            assert_eq!(with("/secret/", host), Err(403), "{host}");
        }
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:7",
            "http://127.0.0.1:8",
            "http://127.0.0.1:70",
        ] {
            assert_eq!(
                with("/secret/", &format!("Host: 127.0.0.1:7\nOrigin: {origin}")),
                Err(403),
                "{origin}"
            );
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let host = "Host: 127.0.0.1:7";
        assert_eq!(admitted(&format!("POST /secret/ HTTP/1.1\n{host}\n\n")), Err(405));
        assert_eq!(admitted(&format!("GET /secret/ HTTP/1.1\n{host}\nContent-Length: 5\n\n")), Err(413));
        assert_eq!(
            admitted(&format!("GET /secret/ HTTP/1.1\n{host}\nTransfer-Encoding: chunked\n\n")),
            Err(413)
        );
        for head in [
            "\n\n",
            "GET /secret/\n\n",
            "GET  /secret/ HTTP/1.1\n\n",
            "GET /secret/ HTTP/2\n\n",
            "GET /secret/ HTTP/1.1\nno header\n\n",
            "GET secret HTTP/1.1\nHost: 127.0.0.1:7\n\n",
            "GET /secret/ HTTP/1.1\nHost: 127.0.0.1:7\n",
        ] {
            assert_eq!(admitted(head), Err(400), "{head:?}");
        }
        let many = "A: b\n".repeat(MOST_HEADERS);
        assert_eq!(admitted(&format!("GET /secret/ HTTP/1.1\n{host}\n{many}\n")), Err(431));
    }

    #[test]
    fn secrets_differ() {
        let (one, other) = (secret(), secret());
        assert!(
            one != other && one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{one} {other}"
        );
    }
}
