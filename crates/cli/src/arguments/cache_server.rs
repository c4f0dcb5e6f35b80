//! The server of the content store as an argument: a URL, by the clients that this program is built with.
//!
//! Addresses are read by the crates that talk to the servers. Nothing is connected here.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use oriole_shared_store::{Address, AddressError, Server};

/// A server that a URL names.
#[derive(Clone)]
pub struct CacheServer(Arc<dyn Server>);

/// Schemes that need the feature `cloud`.
#[cfg(not(feature = "cloud"))]
const CLOUD: [&str; 9] = ["azblob", "fs", "gcs", "ghac", "grpc", "grpcs", "https", "s3", "webdav"];

/// A URL that names no server.
#[derive(Debug, thiserror::Error)]
pub enum CacheServerError {
    /// It is none of a simple server.
    #[error(transparent)]
    Simple(#[from] AddressError),
    /// It is none of a server that needs a client.
    #[cfg(feature = "cloud")]
    #[error(transparent)]
    Cloud(#[from] oriole_cloud_store::AddressError),
    /// It needs a client that this program is built without.
    #[cfg(not(feature = "cloud"))]
    #[error("this program is built without `{0}://`: build it with `--features cloud`")]
    Without(String),
}

impl CacheServer {
    /// The server.
    pub fn server(&self) -> Arc<dyn Server> {
        self.0.clone()
    }
}

impl fmt::Debug for CacheServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may have a password in it.
        f.write_str("CacheServer")
    }
}

impl FromStr for CacheServer {
    type Err = CacheServerError;

    fn from_str(text: &str) -> Result<CacheServer, CacheServerError> {
        let simple = text.parse::<Address>();
        let Err(error @ AddressError::Protocol(_)) = simple else {
            return Ok(CacheServer(Arc::new(simple?)));
        };
        match text.split_once("://") {
            Some((scheme, _)) if is_cloud(scheme) => cloud(text, scheme),
            _ => Err(error.into()),
        }
    }
}

#[cfg(feature = "cloud")]
fn is_cloud(scheme: &str) -> bool {
    oriole_cloud_store::SCHEMES.contains(&scheme)
}

#[cfg(feature = "cloud")]
fn cloud(text: &str, _: &str) -> Result<CacheServer, CacheServerError> {
    Ok(CacheServer(Arc::new(text.parse::<oriole_cloud_store::Address>()?)))
}

#[cfg(not(feature = "cloud"))]
fn is_cloud(scheme: &str) -> bool {
    CLOUD.contains(&scheme)
}

#[cfg(not(feature = "cloud"))]
fn cloud(_: &str, scheme: &str) -> Result<CacheServer, CacheServerError> {
    Err(CacheServerError::Without(scheme.to_owned()))
}
