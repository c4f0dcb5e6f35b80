//! The Remote Execution API: action cache and content-addressable storage, as bazel-remote, Buildbarn and BuildGrid have them.
//!
//! A value is a file in the storage, and an action whose command names the value has this file as its only output. The action
//! is computed, never sent: servers look results up by its digest alone. Small values travel in one message, others as a
//! stream.

use bazel_remote_apis::build::bazel::remote::execution::v2 as api;
use bazel_remote_apis::google::bytestream::{
    ReadRequest, WriteRequest, byte_stream_client::ByteStreamClient,
};
use oriole_shared_store::{Failure, LARGEST};
use prost::Message;
use sha2::{Digest as _, Sha256};
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

use crate::blocking::Ask;
use crate::part::{AddressError, login};

use api::action_cache_client::ActionCacheClient;
use api::content_addressable_storage_client::ContentAddressableStorageClient;

/// A server and the instance that is asked.
#[derive(Clone)]
pub(crate) struct Place {
    endpoint: Endpoint,
    instance: String,
    /// User and password as the header has them.
    login: Option<String>,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.endpoint.uri(), self.instance)
    }
}

/// The path of the output that is a value.
const OUTPUT: &str = "value";

/// Most bytes of a value in a message: gRPC's messages have 4 MiB at most where nothing else is said.
const INLINE: usize = 3 << 20;

/// Bytes of a message of a stream.
const PIECE: usize = 1 << 20;

impl Place {
    /// The place that `grpc://` or `grpcs://` and this name: `USER:PASSWORD@HOST:PORT/INSTANCE`.
    pub(crate) fn new(rest: &str, secure: bool) -> Result<Place, AddressError> {
        let (authority, instance) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = login(authority);
        let scheme = if secure { "grpcs" } else { "grpc" };
        if host.is_empty() {
            return Err(AddressError::Place(format!("{scheme}://{rest}")));
        }
        let wrong =
            |error: &dyn std::fmt::Display| AddressError::Options(format!("{scheme}://{host}: {error}"));
        let url = format!("{}://{host}", if secure { "https" } else { "http" });
        let mut endpoint = Endpoint::from_shared(url).map_err(|error| wrong(&error))?;
        if secure {
            let roots = ClientTlsConfig::new().with_native_roots();
            endpoint = endpoint.tls_config(roots).map_err(|error| wrong(&error))?;
        }
        let login = login.map(|(user, password)| oriole_shared_store::basic(&format!("{user}:{password}")));
        Ok(Place { endpoint, instance: instance.trim_matches('/').to_owned(), login })
    }
}

/// A channel and the place at its end.
#[derive(Clone)]
pub(crate) struct Asking {
    channel: Channel,
    instance: String,
    login: Option<MetadataValue<tonic::metadata::Ascii>>,
}

fn digest(bytes: &[u8]) -> api::Digest {
    let hash = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    api::Digest { hash, size_bytes: bytes.len() as i64 }
}

/// The digest of the action whose output is the value of a name.
fn action(name: &str) -> api::Digest {
    let command = api::Command {
        arguments: vec!["oriole".to_owned(), name.to_owned()],
        output_paths: vec![OUTPUT.to_owned()],
        ..api::Command::default()
    };
    let action = api::Action {
        command_digest: Some(digest(&command.encode_to_vec())),
        input_root_digest: Some(digest(&api::Directory::default().encode_to_vec())),
        ..api::Action::default()
    };
    digest(&action.encode_to_vec())
}

fn failure(status: &Status) -> Failure {
    match status.code() {
        Code::InvalidArgument
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::FailedPrecondition
        | Code::Unimplemented => Failure::Answer,
        _ => Failure::Io,
    }
}

/// An answer, or nothing where the server has not what is asked for.
fn found<T>(answer: Result<tonic::Response<T>, Status>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer.into_inner())),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(failure(&status)),
    }
}

impl Asking {
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(login) = &self.login {
            request.metadata_mut().insert("authorization", login.clone());
        }
        request
    }

    fn resource(&self, kind: &str, digest: &api::Digest) -> String {
        let start = if self.instance.is_empty() { String::new() } else { format!("{}/", self.instance) };
        format!("{start}{kind}/{}/{}", digest.hash, digest.size_bytes)
    }

    /// A file of the storage.
    async fn file(&self, digest: api::Digest) -> Result<Option<Vec<u8>>, Failure> {
        match usize::try_from(digest.size_bytes) {
            Ok(size) if size <= INLINE => self.file_at_once(digest).await,
            Ok(size) if size <= LARGEST => self.file_in_pieces(&digest, size).await,
            _ => Err(Failure::Answer),
        }
    }

    async fn file_at_once(&self, digest: api::Digest) -> Result<Option<Vec<u8>>, Failure> {
        let request = self.request(api::BatchReadBlobsRequest {
            instance_name: self.instance.clone(),
            digests: vec![digest],
            ..api::BatchReadBlobsRequest::default()
        });
        let mut storage = ContentAddressableStorageClient::new(self.channel.clone());
        let answer = storage.batch_read_blobs(request).await.map_err(|status| failure(&status))?;
        let file = answer.into_inner().responses.into_iter().next().ok_or(Failure::Answer)?;
        match file.status.as_ref().map_or(Code::Ok, |status| Code::from(status.code)) {
            Code::Ok => Ok(Some(file.data)),
            Code::NotFound => Ok(None),
            code => Err(failure(&Status::new(code, ""))),
        }
    }

    async fn file_in_pieces(&self, digest: &api::Digest, size: usize) -> Result<Option<Vec<u8>>, Failure> {
        let resource_name = self.resource("blobs", digest);
        let request = self.request(ReadRequest { resource_name, ..ReadRequest::default() });
        let mut stream = ByteStreamClient::new(self.channel.clone());
        let Some(mut pieces) = found(stream.read(request).await)? else { return Ok(None) };
        let mut value = Vec::new();
        while let Some(piece) = pieces.message().await.map_err(|status| failure(&status))? {
            value.extend_from_slice(&piece.data);
            if value.len() > size {
                return Err(Failure::Answer);
            }
        }
        Ok(Some(value))
    }

    async fn send_file(&self, digest: &api::Digest, value: &[u8]) -> Result<(), Failure> {
        if value.len() > INLINE {
            return self.send_pieces(digest, value).await;
        }
        let file = api::batch_update_blobs_request::Request {
            digest: Some(digest.clone()),
            data: value.to_vec(),
            ..Default::default()
        };
        let request = self.request(api::BatchUpdateBlobsRequest {
            instance_name: self.instance.clone(),
            requests: vec![file],
            ..api::BatchUpdateBlobsRequest::default()
        });
        let mut storage = ContentAddressableStorageClient::new(self.channel.clone());
        let answer = storage.batch_update_blobs(request).await.map_err(|status| failure(&status))?;
        let kept = answer.into_inner().responses.into_iter().next().ok_or(Failure::Answer)?;
        match kept.status.as_ref().map_or(Code::Ok, |status| Code::from(status.code)) {
            Code::Ok | Code::AlreadyExists => Ok(()),
            code => Err(failure(&Status::new(code, ""))),
        }
    }

    async fn send_pieces(&self, digest: &api::Digest, value: &[u8]) -> Result<(), Failure> {
        // The name of this upload: two of one value write the same.
        let upload = format!("uploads/{}/blobs", &digest.hash[..32]);
        let resource = self.resource(&upload, digest);
        let count = value.len().div_ceil(PIECE);
        let pieces: Vec<WriteRequest> = value
            .chunks(PIECE)
            .enumerate()
            .map(|(at, piece)| WriteRequest {
                resource_name: if at == 0 { resource.clone() } else { String::new() },
                write_offset: (at * PIECE) as i64,
                finish_write: at + 1 == count,
                data: piece.to_vec(),
            })
            .collect();
        let mut stream = ByteStreamClient::new(self.channel.clone());
        let request = self.request(tokio_stream::iter(pieces));
        stream.write(request).await.map(drop).map_err(|status| failure(&status))
    }
}

impl Ask for Place {
    type Client = Asking;

    fn client(&self) -> Result<Asking, Failure> {
        let login = match &self.login {
            Some(login) => Some(login.parse().map_err(|_| Failure::Answer)?),
            None => None,
        };
        Ok(Asking { channel: self.endpoint.connect_lazy(), instance: self.instance.clone(), login })
    }

    async fn get(asking: &Asking, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let request = asking.request(api::GetActionResultRequest {
            instance_name: asking.instance.clone(),
            action_digest: Some(action(name)),
            inline_output_files: vec![OUTPUT.to_owned()],
            ..api::GetActionResultRequest::default()
        });
        let mut cache = ActionCacheClient::new(asking.channel.clone()).max_decoding_message_size(LARGEST);
        let Some(result) = found(cache.get_action_result(request).await)? else { return Ok(None) };
        let output =
            result.output_files.into_iter().find(|file| file.path == OUTPUT).ok_or(Failure::Answer)?;
        if !output.contents.is_empty() {
            return Ok(Some(output.contents));
        }
        asking.file(output.digest.ok_or(Failure::Answer)?).await
    }

    async fn put(asking: &Asking, name: &str, value: &[u8]) -> Result<(), Failure> {
        let digest = digest(value);
        asking.send_file(&digest, value).await?;
        let output =
            api::OutputFile { path: OUTPUT.to_owned(), digest: Some(digest), ..api::OutputFile::default() };
        let result = api::ActionResult { output_files: vec![output], ..api::ActionResult::default() };
        let request = asking.request(api::UpdateActionResultRequest {
            instance_name: asking.instance.clone(),
            action_digest: Some(action(name)),
            action_result: Some(result),
            ..api::UpdateActionResultRequest::default()
        });
        let mut cache = ActionCacheClient::new(asking.channel.clone());
        cache.update_action_result(request).await.map(drop).map_err(|status| failure(&status))
    }
}
