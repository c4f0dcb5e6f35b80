//! The address of a server: what its scheme names, and a connection to it.

use std::str::FromStr;

use oriole_shared_store::{Connection, Server};

use crate::blocking::Blocking;
use crate::part::{AddressError, SCHEMES};
use crate::{objects, remote, web};

/// A server that needs one of the clients of this crate.
#[derive(Clone, Debug)]
pub struct Address(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Objects(Blocking<objects::Place>),
    Remote(Blocking<remote::Place>),
    Web(Blocking<web::Place>),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        // No library has ciphers of its own. Another part of the program may have chosen some already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (scheme, rest) = text.split_once("://").ok_or_else(|| AddressError::Scheme(text.to_owned()))?;
        let kind = match scheme {
            "grpc" | "grpcs" => Kind::Remote(Blocking::new(remote::Place::new(rest, scheme == "grpcs")?)),
            "https" => Kind::Web(Blocking::new(web::Place::new(rest)?)),
            _ if SCHEMES.contains(&scheme) => {
                Kind::Objects(Blocking::new(objects::Place::new(scheme, rest)?))
            }
            _ => return Err(AddressError::Scheme(text.to_owned())),
        };
        Ok(Address(kind))
    }
}

impl Server for Address {
    fn connect(&self) -> Box<dyn Connection> {
        match &self.0 {
            Kind::Objects(place) => place.connect(),
            Kind::Remote(place) => place.connect(),
            Kind::Web(place) => place.connect(),
        }
    }
}
