//! The address of a server: which protocol, where, and which name a value has there.

use std::str::FromStr;

/// A server and the place of values in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub(crate) protocol: Protocol,
    /// Name or number of the machine.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The protocol of a server, and what it needs to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// GET and PUT, as bazel-remote, sccache's and Gradle's simple caches and WebDAV servers understand them.
    Http {
        /// The path, in which [`KEY`] stands for the name of a value.
        path: String,
        /// User and password.
        login: Option<String>,
    },
    /// GET and SET of Redis, and of servers that speak its protocol.
    Redis {
        /// User, if one is named, and password.
        login: Option<(Option<String>, String)>,
        /// The number of the database.
        database: u32,
    },
}

/// Stands for the name of a value in the path of an address.
pub const KEY: &str = "{key}";

/// The path of values on a server with GET and PUT: one that names no place for [`KEY`] has it in `ac/`.
pub fn path_of_values(path: &str) -> String {
    if path.contains(KEY) { path.to_owned() } else { format!("{}/ac/{KEY}", path.trim_end_matches('/')) }
}

/// An address that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It begins with neither.
    #[error("`{0}` begins with neither `http://` nor `redis://`")]
    Protocol(String),
    /// There is no machine in it.
    #[error("`{0}` names no server")]
    Host(String),
    /// The port is none.
    #[error("`{0}` is no port")]
    Port(String),
    /// The database of Redis is not a number.
    #[error("`{0}` is not the number of a database")]
    Database(String),
    /// It has characters that no address has.
    #[error("an address has no blanks and no control characters")]
    Characters,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(AddressError::Characters);
        }
        let (is_http, rest) = match (text.strip_prefix("http://"), text.strip_prefix("redis://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(AddressError::Protocol(text.to_owned())),
        };
        let (server, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (login, place) = match server.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, server),
        };
        let (host, port) = host_and_port(place, if is_http { 80 } else { 6379 })?;
        if host.is_empty() {
            return Err(AddressError::Host(text.to_owned()));
        }
        let protocol = match is_http {
            true => Protocol::Http { path: path_of_values(path), login: login.map(str::to_owned) },
            false => {
                let login = login.map(|login| match login.split_once(':') {
                    Some(("", password)) => (None, password.to_owned()),
                    Some((user, password)) => (Some(user.to_owned()), password.to_owned()),
                    None => (None, login.to_owned()),
                });
                let database = match path.trim_matches('/') {
                    "" => 0,
                    number => number.parse().map_err(|_| AddressError::Database(number.to_owned()))?,
                };
                Protocol::Redis { login, database }
            }
        };
        Ok(Address { protocol, host: host.to_owned(), port })
    }
}

/// `host`, `host:port`, `[::1]`, `[::1]:port`.
fn host_and_port(place: &str, default: u16) -> Result<(&str, u16), AddressError> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(default), |port| port.parse().map_err(|_| AddressError::Port(port.to_owned())));
    Ok((host, port?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let http = |text: &str| match text.parse::<Address>().unwrap() {
            Address { protocol: Protocol::Http { path, login }, host, port } => {
                format!("{host} {port} {path} {login:?}")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(http("http://cache"), "cache 80 /ac/{key} None");
        assert_eq!(http("http://me:secret@[::1]:8080/all/"), "::1 8080 /all/ac/{key} Some(\"me:secret\")");
        assert_eq!(http("http://cache:90/cache/{key}"), "cache 90 /cache/{key} None");
        let redis = |text: &str| text.parse::<Address>().unwrap();
        let of = |login, database| Protocol::Redis { login, database };
        assert_eq!(redis("redis://r").protocol, of(None, 0));
        assert_eq!(redis("redis://r").port, 6379);
        assert_eq!(redis("redis://:p@r:1/3").protocol, of(Some((None, "p".into())), 3));
        assert_eq!(redis("redis://u:p@r/").protocol, of(Some((Some("u".into()), "p".into())), 0));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "cache", "https://cache", "http://", "http://c:x", "redis://r/one", "http://a b"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
