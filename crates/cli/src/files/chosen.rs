//! An image of a file, unpacked, and why a file gives none.
//!
//! It is here because the file that holds images and the choice among them both speak of it. No file is read here.

use super::FileError;
use crate::outcome::{Outcome, failed, misused};
use oriole_diagnostics::Code;
use oriole_fatbin::ExtractError;

/// An image that was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// Its number in its file, from 1; none if the file is the image.
    pub number: Option<usize>,
    /// How messages name it.
    pub label: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Why a file gives no image.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It has none of the kind.
    #[error("[{}] {file}: {there}", Code::NoDeviceCode)]
    None {
        /// The name of the file.
        file: String,
        /// The contents instead.
        there: String,
    },
    /// It has several, and one is needed.
    #[error(
        "[{}] {file}: {count} images fit; choose one with --arch or --image, or write them with `oriole extract`:{rows}",
        Code::SeveralImages
    )]
    Several {
        /// The name of the file.
        file: String,
        /// How many.
        count: usize,
        /// A line each.
        rows: String,
    },
    /// None is the one that was asked for.
    #[error("[{}] {file}: there is no {what}; there are:{rows}", Code::NoSuchImage)]
    NoSuch {
        /// The name of the file.
        file: String,
        /// The image that was asked for.
        what: String,
        /// Those that are there, a line each.
        rows: String,
    },
    /// It cannot be unpacked.
    #[error("[{}] {label}: {error}", Code::DamagedFile)]
    Unpack {
        /// The image.
        label: String,
        /// The reason.
        error: ExtractError,
    },
}

impl DeviceError {
    /// Says why, and how the command ends: what is not there or not clear is a matter of the arguments.
    pub fn report(self) -> Outcome {
        match self {
            DeviceError::Several { .. } | DeviceError::NoSuch { .. } => misused(self),
            _ => failed(self),
        }
    }
}
