//! Object stores: S3, Google Cloud Storage, Azure, the cache of GitHub's actions, WebDAV, and a folder that machines share.

use opendal::{Error, ErrorKind, Operator};
use oriole_shared_store::{Failure, LARGEST};
use tokio_stream::StreamExt;

use crate::blocking::Ask;
use crate::part::{AddressError, login};

/// A place in an object store, with the client for it.
#[derive(Clone)]
pub(crate) struct Place {
    /// The client: requests are made with copies of it.
    operator: Operator,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Options may be secrets.
        write!(f, "{}", self.operator.info().scheme())
    }
}

impl Place {
    /// The place that `SCHEME://` and this name: `BUCKET/PREFIX?OPTION=VALUE&...`.
    pub(crate) fn new(scheme: &str, rest: &str) -> Result<Place, AddressError> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut options: Vec<(String, String)> = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, "true"));
            options.push((name.to_owned(), value.to_owned()));
        }
        let (authority, path) = place.find('/').map_or((place, ""), |at| place.split_at(at));
        let mut give = |name: &str, value: &str| {
            if !value.is_empty() {
                options.push((name.to_owned(), value.to_owned()));
            }
        };
        let needed = match scheme {
            "s3" | "gcs" => ("bucket", authority.to_owned()),
            "azblob" => ("container", authority.to_owned()),
            "fs" => ("root", path.to_owned()),
            "webdav" => {
                let (login, host) = login(authority);
                let (user, password) = login.unwrap_or_default();
                give("username", user);
                give("password", password);
                ("endpoint", if host.is_empty() { String::new() } else { format!("https://{host}") })
            }
            // A run of a workflow finds GitHub's by variables.
            _ => ("version", format!("oriole-{authority}")),
        };
        if needed.1.is_empty() {
            return Err(AddressError::Place(format!("{scheme}://{place}")));
        }
        // One that an option names comes first: a server for tests has no certificate.
        if !options.iter().any(|(name, _)| name == needed.0) {
            options.push((needed.0.to_owned(), needed.1));
        }
        if scheme != "fs" && !path.trim_matches('/').is_empty() {
            options.push(("root".to_owned(), path.to_owned()));
        }
        opendal::init_default_registry();
        let operator = Operator::via_iter(scheme, options)
            .map_err(|error| AddressError::Options(format!("{scheme}: {}", reason(&error))))?;
        Ok(Place { operator })
    }
}

/// The message of an error, in one line.
fn reason(error: &Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The path of a name: no folder has all of them.
fn path(name: &str) -> String {
    let (folder, file) = name.split_at(name.len().min(2));
    format!("{folder}/{file}")
}

/// An object, piece by piece; nothing if it is too large.
async fn read(operator: &Operator, path: &str) -> Result<Option<Vec<u8>>, Error> {
    let mut pieces = operator.reader(path).await?.into_stream(..).await?;
    let mut value = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if value.len() + piece.len() > LARGEST {
            return Ok(None);
        }
        value.extend_from_slice(&piece.to_vec());
    }
    Ok(Some(value))
}

fn failure(error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::Unsupported
        | ErrorKind::ConfigInvalid
        | ErrorKind::PermissionDenied
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::ConditionNotMatch => Failure::Answer,
        _ => Failure::Io,
    }
}

impl Ask for Place {
    type Client = Operator;

    fn client(&self) -> Result<Operator, Failure> {
        Ok(self.operator.clone())
    }

    async fn get(operator: &Operator, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        match read(operator, &path(name)).await {
            Ok(None) => Err(Failure::Answer),
            Ok(value) => Ok(value),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failure(&error)),
        }
    }

    async fn put(operator: &Operator, name: &str, value: &[u8]) -> Result<(), Failure> {
        match operator.write(&path(name), value.to_vec()).await {
            Ok(_) => Ok(()),
            // Stores whose objects never change have it already.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(failure(&error)),
        }
    }
}
