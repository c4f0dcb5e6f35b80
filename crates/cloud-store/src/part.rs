//! Parts of addresses, and the errors in them. Which client an address is for is in `address.rs`.

/// Schemes of addresses, without those of `oriole-shared-store`.
pub const SCHEMES: [&str; 9] = ["azblob", "fs", "gcs", "ghac", "grpc", "grpcs", "https", "s3", "webdav"];

/// An address that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// No client has this scheme.
    #[error("`{0}` has none of the schemes {schemes}", schemes = SCHEMES.join(", "))]
    Scheme(String),
    /// There is no machine, bucket or folder in it.
    #[error("`{0}` names no server, bucket or folder")]
    Place(String),
    /// A client refuses an option, or has not all that it needs.
    #[error("{0}")]
    Options(String),
}

/// User and password of an authority, and the rest of it.
pub(crate) fn login(authority: &str) -> (Option<(&str, &str)>, &str) {
    match authority.rsplit_once('@') {
        Some((login, place)) => (Some(login.split_once(':').unwrap_or((login, ""))), place),
        None => (None, authority),
    }
}
