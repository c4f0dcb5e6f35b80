//! Where the server of a user and of a build is: the folder, the socket and the lock, and the checks that no other user
//! made them.
//!
//! The folder is of the user alone. The names of socket and lock hold the identity of the program, so that two builds never
//! meet.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, lstat, open, stat};
use std::collections::hash_map::DefaultHasher;
use std::fs::{DirBuilder, File};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The program that runs, by its file. The child of a client is the same file even where another one has its name by now.
pub(crate) const PROGRAM: &str = "/proc/self/exe";

/// Folder of a user below the folder for such things.
const FOLDER: &str = "oriole";

/// Longest path of a socket, in bytes, that the system takes.
const LONGEST: usize = 107;

/// Which program this is: the build, and the very file. Client and server are one program if theirs are equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    build: [u8; 8],
    file: u64,
}

impl Identity {
    /// That of the running program, of a build with this hash.
    ///
    /// # Errors
    /// The file of the program cannot be looked at.
    pub fn of_program(build: &str) -> Result<Identity, PlaceError> {
        let facts = std::fs::metadata(PROGRAM).map_err(PlaceError::of(Path::new(PROGRAM)))?;
        // Not the time of a change of the file's facts: another link to the file changes nothing.
        let written = (facts.mtime(), facts.mtime_nsec());
        Ok(Identity::new(build, &(facts.dev(), facts.ino(), facts.size(), written)))
    }

    /// That of a build with this hash, with a value that two programs of it do not share.
    pub fn new(build: &str, file: &impl Hash) -> Identity {
        // Its keys are fixed, so that every process gets the same.
        let hash = |value: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            value(&mut hasher);
            hasher.finish()
        };
        let build = hash(&|hasher| (env!("CARGO_PKG_VERSION"), build).hash(hasher));
        Identity { build: build.to_le_bytes(), file: hash(&|hasher| file.hash(hasher)) }
    }

    /// Its bytes in frames.
    pub(crate) fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.build);
        bytes[8..].copy_from_slice(&self.file.to_le_bytes());
        bytes
    }

    fn name(self) -> String {
        let build = u64::from_le_bytes(self.build);
        format!("{build:016x}-{:016x}", self.file)
    }
}

/// Why there can be no server.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The folder is not of the user alone.
    #[error("{}: {reason}", .folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// The path of the socket is too long for the system.
    #[error("{}: the path of a socket may have {LONGEST} bytes", .0.display())]
    TooLong(PathBuf),
    /// The system refuses something.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl PlaceError {
    fn of(path: &Path) -> impl FnOnce(io::Error) -> PlaceError + '_ {
        move |error| PlaceError::Io { path: path.to_owned(), error }
    }
}

/// The folder, the socket and the lock of a server.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
    socket: PathBuf,
    lock: PathBuf,
    pub(crate) identity: Identity,
}

impl Place {
    /// The place for the user: in `$XDG_RUNTIME_DIR`, else in the folder for temporary files. Nothing is made or looked at.
    ///
    /// # Errors
    /// The path is too long.
    pub fn of_user(identity: Identity) -> Result<Place, PlaceError> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        match runtime.filter(|path| path.is_absolute() && path.is_dir()) {
            Some(runtime) => Place::within(runtime.join(FOLDER), identity),
            None => {
                let user = rustix::process::geteuid().as_raw();
                Place::within(std::env::temp_dir().join(format!("{FOLDER}-{user}")), identity)
            }
        }
    }

    /// The place in a folder.
    ///
    /// # Errors
    /// The path is too long.
    pub fn within(folder: PathBuf, identity: Identity) -> Result<Place, PlaceError> {
        let named = |end: &str| folder.join(format!("{}.{end}", identity.name()));
        let (socket, lock) = (named("socket"), named("lock"));
        // A socket is made under a name that is one byte longer.
        if socket.as_os_str().len() >= LONGEST {
            return Err(PlaceError::TooLong(socket));
        }
        Ok(Place { folder, socket, lock, identity })
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The name under which the socket is made.
    pub(crate) fn unfinished(&self) -> PathBuf {
        let mut path = self.socket.clone().into_os_string();
        path.push("~");
        path.into()
    }

    /// Checks that the folder is of the user alone; false if there is none.
    ///
    /// # Errors
    /// It is of another user, others may write or read it, or it is not a folder.
    pub fn check(&self) -> Result<bool, PlaceError> {
        let foreign = |reason| Err(PlaceError::Foreign { folder: self.folder.clone(), reason });
        let facts = match lstat(&self.folder) {
            Ok(facts) => facts,
            Err(rustix::io::Errno::NOENT) => return Ok(false),
            Err(error) => return Err(PlaceError::of(&self.folder)(error.into())),
        };
        if facts.st_mode & 0o170_000 != 0o040_000 {
            return foreign("this is no folder");
        }
        if facts.st_uid != rustix::process::geteuid().as_raw() {
            return foreign("the folder belongs to another user");
        }
        if facts.st_mode & 0o077 != 0 {
            return foreign("others than its owner may use the folder: it must have the mode 0700");
        }
        Ok(true)
    }

    /// Makes the folder if there is none, and checks it.
    ///
    /// # Errors
    /// As [`Place::check`], or it cannot be made.
    pub(crate) fn make(&self) -> Result<(), PlaceError> {
        if self.check()? {
            return Ok(());
        }
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(PlaceError::of(&self.folder)(error));
            }
            _ => {}
        }
        self.check().map(drop)
    }

    /// The lock of the server, if no process has it. The folder must be there.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn lock(&self) -> Result<Option<File>, PlaceError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = open(&self.lock, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(file.map_err(|error| PlaceError::of(&self.lock)(error.into()))?);
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(PlaceError::of(&self.lock)(error.into())),
        }
    }

    /// Whether a file is the lock of this place, and locked by the process or one that gave it the file.
    pub(crate) fn is_locked_by(&self, file: impl rustix::fd::AsFd) -> bool {
        let same = |one: rustix::fs::Stat, other: rustix::fs::Stat| {
            (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
        };
        fstat(&file).is_ok_and(|own| stat(&self.lock).is_ok_and(|lock| same(own, lock)))
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place(folder: PathBuf) -> Place {
        Place::within(folder, Identity::new("build", &1)).expect("a short path")
    }

    #[test]
    fn folders_that_are_not_of_the_user_alone_are_refused() {
        let scratch = tempfile::tempdir().expect("a folder");
        let own = place(scratch.path().join("own"));
        assert!(!own.check().expect("nothing is there"));
        own.make().expect("it is made");
        assert!(own.check().expect("it is right"));
        for mode in [0o755, 0o770, 0o701] {
            set_permissions(scratch.path().join("own"), Permissions::from_mode(mode)).expect("a mode");
            own.check().expect_err("others may use it");
            own.make().expect_err("others may use it");
        }
        symlink(scratch.path().join("own"), scratch.path().join("link")).expect("a link");
        write(scratch.path().join("file"), "").expect("a file");
        create_dir(scratch.path().join("wide")).expect("a folder");
        for name in ["link", "file"] {
            let told = place(scratch.path().join(name)).check().expect_err("it is no folder").to_string();
            assert!(told.ends_with("this is no folder"), "{told}");
        }
        Place::within(scratch.path().join("x".repeat(100)), own.identity).expect_err("too long");
    }

    #[test]
    fn programs_have_places_of_their_own() {
        let names = [("a", 1), ("a", 2), ("b", 1)].map(|(build, file)| Identity::new(build, &file).name());
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2], "{names:?}");
    }

    #[test]
    fn one_process_has_the_lock() {
        let scratch = tempfile::tempdir().expect("a folder");
        let own = place(scratch.path().join("own"));
        own.make().expect("a folder");
        let held = own.lock().expect("a file").expect("nobody has it");
        assert!(own.lock().expect("a file").is_none());
        assert!(own.is_locked_by(&held));
        let other = File::open("/dev/null").expect("it is there");
        assert!(!own.is_locked_by(&other));
        drop(held);
        assert!(own.lock().expect("a file").is_some());
    }
}
