//! Asynchronous clients as connections that block until a deadline.
//!
//! All connections of a server share one runtime, whose thread drives what the clients leave open between two requests.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use oriole_shared_store::{Connection, Failure};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout_at;

/// A server that is asked asynchronously.
pub(crate) trait Ask: Send + Sync + 'static {
    /// The handle that requests are made with.
    type Client: Clone + Send + Sync + 'static;

    /// Prepares requests; nothing is sent. It runs within the runtime.
    fn client(&self) -> Result<Self::Client, Failure>;

    /// The value of a name, if the server has it.
    fn get(
        client: &Self::Client,
        name: &str,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>> + Send;

    /// Stores a value under a name.
    fn put(
        client: &Self::Client,
        name: &str,
        value: &[u8],
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// A server with the runtime that it is asked by.
pub(crate) struct Blocking<A: Ask>(Arc<State<A>>);

struct State<A: Ask> {
    place: A,
    running: OnceLock<Option<Running<A::Client>>>,
}

struct Running<C> {
    runtime: Option<Runtime>,
    client: C,
}

impl<C> Drop for Running<C> {
    fn drop(&mut self) {
        // No caller waits for these answers any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<A: Ask> Clone for Blocking<A> {
    fn clone(&self) -> Blocking<A> {
        Blocking(self.0.clone())
    }
}

impl<A: Ask + fmt::Debug> fmt::Debug for Blocking<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.place.fmt(f)
    }
}

impl<A: Ask> Blocking<A> {
    pub(crate) fn new(place: A) -> Blocking<A> {
        Blocking(Arc::new(State { place, running: OnceLock::new() }))
    }

    pub(crate) fn connect(&self) -> Box<dyn Connection> {
        Box::new(self.clone())
    }

    /// The answer of a request, if it comes by the deadline.
    fn wait<T>(
        &self,
        deadline: Instant,
        request: impl AsyncFnOnce(&A::Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let running = self.0.running.get_or_init(|| start(&self.0.place)).as_ref().ok_or(Failure::Io)?;
        let runtime = running.runtime.as_ref().ok_or(Failure::Io)?;
        let answer = runtime.block_on(async { timeout_at(deadline.into(), request(&running.client)).await });
        answer.unwrap_or(Err(Failure::Io))
    }
}

fn start<A: Ask>(place: &A) -> Option<Running<A::Client>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().ok()?;
    let entered = runtime.enter();
    let client = place.client().ok()?;
    drop(entered);
    Some(Running { runtime: Some(runtime), client })
}

impl<A: Ask> Connection for Blocking<A> {
    fn get(&mut self, name: &str, deadline: Instant) -> Result<Option<Vec<u8>>, Failure> {
        self.wait(deadline, async |client| A::get(client, name).await)
    }

    fn put(&mut self, name: &str, value: &[u8], deadline: Instant) -> Result<(), Failure> {
        self.wait(deadline, async |client| A::put(client, name, value).await)
    }
}
