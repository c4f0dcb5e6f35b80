//! The content store over a network: a store nearby, and a server after it that many machines share.
//!
//! A look-up that the store nearby cannot answer goes to the server, and has a time budget: a server that is slow, gone
//! or wrong costs that once, and is then left alone for a while. New values are sent in the background, within a bound of
//! bytes. An entry is used only if its frame is whole, so what a server damages is a miss; with a signing key it must also be
//! signed, so that writers without the key are not trusted. No command line and no environment is read here.

mod address;
mod client;
mod http;
mod pause;
mod redis;
mod request;
mod server;
mod signature;
mod stream;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use oriole_store::{Key, Store, unframe};

pub use address::{Address, AddressError, KEY, path_of_values};
pub use http::basic;
pub use server::{Connection, Failure, LARGEST, Server};
pub use signature::{SigningKey, SigningKeyError};

use crate::workers::Workers;

/// How a server is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// New values are sent to it.
    pub sends: bool,
    /// Entries are signed with this key, and others are not used.
    pub signing: Option<SigningKey>,
    /// The longest that a look-up waits.
    pub budget: Duration,
    /// The longest that [`Store::finish`] waits until values are sent.
    pub last: Duration,
    /// Most bytes of values that wait to be sent; others are not sent.
    pub waiting: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sends: false,
            signing: None,
            budget: Duration::from_millis(50),
            last: Duration::from_millis(500),
            waiting: 64 << 20,
        }
    }
}

/// A store nearby with a server after it.
pub struct Shared {
    near: Box<dyn Store>,
    workers: Workers,
    sends: bool,
    signing: Option<SigningKey>,
}

impl Shared {
    /// A store over `near` and a server. Nothing is connected before the first look-up.
    pub fn new(near: Box<dyn Store>, server: Arc<dyn Server>, settings: Settings) -> Shared {
        let Settings { sends, signing, budget, last, waiting } = settings;
        Shared { near, workers: Workers::new(server, budget, last, waiting), sends, signing }
    }

    /// The name of a value on the server. Signed entries have names of their own, which only those with the signing key know.
    fn name(&self, key: &Key) -> String {
        self.signing.as_ref().map_or(*key, |signing| signing.name(key)).to_string()
    }
}

impl Store for Shared {
    fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        if let Some(found) = self.near.get(key) {
            return Some(found);
        }
        let answer = self.workers.get(self.name(key))?;
        let framed: Arc<[u8]> = match &self.signing {
            Some(signing) => signing.checked(key, &answer)?.into(),
            None => answer.into(),
        };
        // A damaged frame is counted by the caller, and never comes nearby.
        if self.near.keeps() && unframe(key, &framed).is_some() {
            self.near.put(key, framed.clone());
        }
        Some(framed)
    }

    fn put(&self, key: &Key, framed: Arc<[u8]>) {
        if self.sends {
            let sent = self.signing.as_ref().map_or_else(|| framed.to_vec(), |it| it.signed(key, &framed));
            self.workers.put(self.name(key), sent);
        }
        if self.near.keeps() {
            self.near.put(key, framed);
        }
    }

    fn remove(&self, key: &Key) {
        self.near.remove(key);
    }

    fn keeps(&self) -> bool {
        self.sends || self.near.keeps()
    }

    fn finish(&self) {
        self.near.finish();
        self.workers.finish();
    }
}
