//! HTTP with TLS: GET and PUT, as `oriole-shared-store` has them without.

use std::time::Duration;

use oriole_shared_store::{Failure, KEY, LARGEST, path_of_values};
use reqwest::{Client, StatusCode};

use crate::blocking::Ask;
use crate::part::{AddressError, login};

/// A server and the place of values in it.
#[derive(Clone)]
pub(crate) struct Place {
    /// The address of a value, with [`KEY`] in place of its name.
    url: String,
    login: Option<(String, String)>,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.url)
    }
}

impl Place {
    /// The place that `https://` and this name: `USER:PASSWORD@HOST:PORT/PATH`.
    pub(crate) fn new(rest: &str) -> Result<Place, AddressError> {
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (login, host) = login(authority);
        if host.is_empty() {
            return Err(AddressError::Place(format!("https://{rest}")));
        }
        let url = format!("https://{host}{}", path_of_values(path));
        if let Err(error) = reqwest::Url::parse(&url.replace(KEY, "0")) {
            return Err(AddressError::Options(format!("https://{host}: {error}")));
        }
        Ok(Place { url, login: login.map(|(user, password)| (user.to_owned(), password.to_owned())) })
    }
}

/// A client and the place that it asks.
#[derive(Clone)]
pub(crate) struct Asking {
    client: Client,
    place: Place,
}

impl Asking {
    fn request(&self, method: reqwest::Method, name: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, self.place.url.replace(KEY, name));
        match &self.place.login {
            Some((user, password)) => request.basic_auth(user, Some(password)),
            None => request,
        }
    }
}

fn failure(status: StatusCode) -> Failure {
    if status.is_server_error() { Failure::Io } else { Failure::Answer }
}

impl Ask for Place {
    type Client = Asking;

    fn client(&self) -> Result<Asking, Failure> {
        // A login is sent to this server, and to none that it names.
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|_| Failure::Io)?;
        Ok(Asking { client, place: self.clone() })
    }

    async fn get(asking: &Asking, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let request = asking.request(reqwest::Method::GET, name);
        let mut answer = request.send().await.map_err(|_| Failure::Io)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(failure(status)),
        }
        let mut value = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|_| Failure::Io)? {
            if value.len() + piece.len() > LARGEST {
                return Err(Failure::Answer);
            }
            value.extend_from_slice(&piece);
        }
        Ok(Some(value))
    }

    async fn put(asking: &Asking, name: &str, value: &[u8]) -> Result<(), Failure> {
        let request = asking.request(reqwest::Method::PUT, name).body(value.to_vec());
        let answer = request.send().await.map_err(|_| Failure::Io)?;
        if answer.status().is_success() { Ok(()) } else { Err(failure(answer.status())) }
    }
}
