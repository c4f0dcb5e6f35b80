//! The content store on disk, and the arguments that ask for it.
//!
//! One file a value, `aa/bbbb…` below a folder, written aside and renamed, so that any number of processes may share
//! the folder: a reader sees a whole value or none. The bound on its size is kept by dropping what was not used for the
//! longest time; two processes that do so at once drop the same files. Whatever goes wrong with a file is a miss: a
//! store that cannot be read or written slows a compile and never fails it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use oriole::program::{Cache, Key, Mode, Store};
use oriole_shared_store::{Settings, Shared, SigningKey};

use crate::arguments::CacheArguments;
use crate::files::output::{TEMPORARY, is_temporary};
use crate::session::ArgumentError;

impl CacheArguments {
    /// The cache that is asked for, if any.
    ///
    /// # Errors
    /// No folder is given and none can be derived.
    pub fn open(&self) -> Result<Option<Arc<Cache>>, ArgumentError> {
        if self.cache == Mode::Off {
            return Ok(None);
        }
        Ok(Some(Arc::new(Cache::new(self.store()?, self.cache))))
    }
}

/// The counts of a cache, in one line.
pub fn summary(cache: &Cache) -> String {
    let counts = cache.counts();
    format!(
        "cache {}: {} hits, {} misses, {} damaged, {} stored",
        cache.mode(),
        counts.hits,
        counts.misses - counts.damaged,
        counts.damaged,
        counts.kept
    )
}

impl CacheArguments {
    /// The cache of a session of many compiles: in memory in any case, on disk as asked.
    ///
    /// # Errors
    /// As [`CacheArguments::open`].
    pub fn session(&self) -> Result<Arc<Cache>, ArgumentError> {
        let store = match self.cache {
            Mode::Off => None,
            _ => Some(self.store()?),
        };
        let mode = if self.cache == Mode::Verify { Mode::Verify } else { Mode::Write };
        Ok(Arc::new(Cache::remembering(MEMORY, store, mode)))
    }

    /// The folder, with the server after it if there is one.
    fn store(&self) -> Result<Box<dyn Store>, ArgumentError> {
        let disk = Box::new(self.restricted(self.disk()?));
        let Some(server) = &self.cache_url else { return Ok(disk) };
        let signing = self.cache_signing_key.as_deref().map(signing_key).transpose()?;
        let sends = self.cache != Mode::Read && !self.cache_url_read_only;
        let budget = Duration::from_millis(self.cache_url_wait);
        let settings = Settings { sends, signing, budget, last: budget * 10, ..Settings::default() };
        Ok(Box::new(Shared::new(disk, server.server(), settings)))
    }

    fn disk(&self) -> Result<Disk, ArgumentError> {
        let folder = self.cache_dir.clone().or_else(default_folder);
        let folder = folder.ok_or(ArgumentError::NoCacheFolder)?;
        Ok(Disk::new(folder, self.cache_size.saturating_mul(1 << 20)))
    }

    /// A store that the mode says is only to be read, takes nothing.
    fn restricted(&self, disk: Disk) -> Disk {
        Disk { keeps: self.cache != Mode::Read, ..disk }
    }
}

fn signing_key(path: &Path) -> Result<SigningKey, ArgumentError> {
    let named = path.to_owned();
    let secret =
        fs::read(path).map_err(|error| ArgumentError::SigningKeyFile { path: named.clone(), error })?;
    SigningKey::new(&secret).map_err(|error| ArgumentError::SigningKey { path: named, error })
}

fn default_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(base.join("oriole"))
}

/// Times of use are noted no finer than this.
const USE_GRAIN: Duration = Duration::from_secs(60);

/// On average one of this many stored values makes the store look at its size, whatever its size is.
const LOOK_EVERY: u8 = 64;

/// Bytes of finished functions that a session keeps in memory.
const MEMORY: usize = 256 << 20;

/// Hex digits of a key that name the folder of its file, and those that name the file.
const FOLDER_DIGITS: usize = 2;
const FILE_DIGITS: usize = 62;

/// A temporary file of this age was left over by a process that died.
const LEFT_OVER: Duration = Duration::from_secs(3600);

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Whether this is a folder, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// True if a name has `digits` hex digits, as keys are written.
fn is_hex(name: &OsStr, digits: usize) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == digits && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A store in a folder.
pub struct Disk {
    folder: PathBuf,
    /// Most bytes of all files.
    limit: u64,
    /// Whether a session writes to it.
    keeps: bool,
    /// Bytes written since the size was looked at.
    written: AtomicU64,
}

impl Disk {
    /// A store in a folder, which is made when there is something to keep.
    pub fn new(folder: PathBuf, limit: u64) -> Disk {
        Disk { folder, limit, keeps: true, written: AtomicU64::new(0) }
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = key.to_string();
        self.folder.join(&name[..FOLDER_DIGITS]).join(&name[FOLDER_DIGITS..])
    }

    /// The file of a key, if it is there: a plain file in a folder, neither of which is a link, of no more than the store may
    /// take.
    fn kept(&self, path: &Path) -> Option<fs::Metadata> {
        let facts = fs::symlink_metadata(path).ok()?;
        (is_folder(path.parent()?) && facts.is_file() && facts.len() <= self.limit).then_some(facts)
    }

    fn write(&self, key: &Key, framed: &[u8]) -> std::io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if !is_folder(folder) {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
        file.write_all(framed)?;
        file.persist(&path).map(drop).map_err(|error| error.error)
    }

    /// Drops what was not used for the longest time, until a tenth of the limit is free. Only what the store itself may have
    /// put there is counted and dropped: the folder may hold anything else.
    fn prune(&self) {
        let mut files = Vec::new();
        let folders = entries(&self.folder).filter(|entry| is_hex(&entry.file_name(), FOLDER_DIGITS));
        let folders = folders.map(|entry| entry.path()).filter(|path| is_folder(path));
        for file in folders.flat_map(|folder| entries(&folder)) {
            // Of links these are the facts of the link.
            let Some(facts) = file.metadata().ok().filter(fs::Metadata::is_file) else { continue };
            let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let left_over =
                || used.elapsed().is_ok_and(|age| age > LEFT_OVER) && is_temporary(&file.file_name());
            if is_hex(&file.file_name(), FILE_DIGITS) || left_over() {
                files.push((used, file.path(), facts.len()));
            }
        }
        let mut total: u64 = files.iter().map(|file| file.2).sum();
        if total <= self.limit {
            return;
        }
        files.sort();
        for (_, path, bytes) in files {
            if total <= self.limit / 10 * 9 {
                break;
            }
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }
}

impl Store for Disk {
    fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        let path = self.path(key);
        let facts = self.kept(&path)?;
        let bytes = fs::read(&path).ok()?;
        let used = facts.modified();
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > USE_GRAIN)) {
            let touched = fs::File::options().append(true).open(&path);
            let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(bytes.into())
    }

    fn put(&self, key: &Key, framed: Arc<[u8]>) {
        if framed.len() as u64 > self.limit || self.write(key, &framed).is_err() {
            return;
        }
        let written = self.written.fetch_add(framed.len() as u64, Ordering::Relaxed) + framed.len() as u64;
        // Also a process that writes little looks now and then; which one does is the key's to say.
        if written > self.limit / u64::from(LOOK_EVERY) || key.0[31].is_multiple_of(LOOK_EVERY) {
            self.written.store(0, Ordering::Relaxed);
            self.prune();
        }
    }

    fn keeps(&self) -> bool {
        self.keeps
    }

    fn remove(&self, key: &Key) {
        let path = self.path(key);
        if self.kept(&path).is_some() {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole::program::{KeyBuilder, frame};

    fn key(number: u32) -> Key {
        KeyBuilder::new("test", "").with(&number).finish()
    }

    fn total(folder: &Path) -> u64 {
        let folders = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.map(|file| file.metadata().map_or(0, |facts| facts.len())).sum()
    }

    #[test]
    fn the_bound_is_kept_and_the_longest_unused_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path().to_owned(), 100_000);
        let old = SystemTime::now() - Duration::from_secs(3600);
        for number in 0..300 {
            disk.put(&key(number), frame(&key(number), &[7; 1000]).into());
            assert!(total(folder.path()) <= 110_000);
            if let Ok(file) = fs::File::options().append(true).open(disk.path(&key(number))) {
                // Each older than the next, the first one newest.
                file.set_modified(
                    old + Duration::from_secs(u64::from(number) + if number == 0 { 3000 } else { 0 }),
                )
                .unwrap();
            }
        }
        assert!(disk.get(&key(0)).is_some() && disk.get(&key(299)).is_some());
        assert!(disk.get(&key(1)).is_none());
    }

    /// A folder that holds other things than the store's: nothing of them is touched, however small the bound.
    #[test]
    fn foreign_files_are_never_dropped() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_secs(100_000);
        let name = "0".repeat(FILE_DIGITS);
        let mut foreign = Vec::new();
        let mut keep = |path: PathBuf| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [7; 5000]).unwrap();
            fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
            foreign.push(path);
        };
        // In a folder that is not of the store, in one of the store under another name, and in the target of
        // a link to a folder.
        keep(folder.path().join("sources").join(&name));
        keep(folder.path().join("AB").join(&name));
        keep(folder.path().join("ab/notes.txt"));
        keep(folder.path().join("ab").join(format!("{TEMPORARY}notes.txt")));
        keep(folder.path().join("ab").join(&name[1..]));
        keep(folder.path().join("ab").join(&name).join("file"));
        keep(folder.path().join("top.txt"));
        keep(outside.path().join(&name));
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.path(), folder.path().join("cd")).unwrap();
        // Files that a process of the store left half-written are dropped.
        let left = folder.path().join("ab").join(format!("{TEMPORARY}a1B2c3"));
        fs::write(&left, [7; 5000]).unwrap();
        fs::File::options().append(true).open(&left).unwrap().set_modified(old).unwrap();

        let disk = Disk::new(folder.path().to_owned(), 2000);
        for number in 0..600 {
            disk.put(&key(number), frame(&key(number), &[7; 1000]).into());
        }
        for path in foreign {
            assert!(path.exists(), "{}", path.display());
        }
        assert!(!left.exists());
    }

    /// Anything but a plain file under the name of a value is a miss, and no request waits for it.
    #[cfg(unix)]
    #[test]
    fn what_is_no_plain_file_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path().to_owned(), 1 << 20);
        disk.put(&key(1), frame(&key(1), b"value").into());
        let path = disk.path(&key(1));
        assert!(disk.get(&key(1)).is_some());
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success() && disk.get(&key(1)).is_none());
        disk.remove(&key(1));
        assert!(path.exists());
        fs::remove_file(&path).unwrap();
        let value = folder.path().join("elsewhere");
        fs::write(&value, frame(&key(1), b"value")).unwrap();
        std::os::unix::fs::symlink(&value, &path).unwrap();
        assert!(disk.get(&key(1)).is_none());
    }

    #[test]
    fn many_processes_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let cache =
                        Cache::new(Box::new(Disk::new(folder.path().to_owned(), 20_000)), Mode::Write);
                    for number in 0..200u32 {
                        let value = vec![number as u8; 500];
                        let found = cache.find(&key(number % 40), |bytes| Some(bytes.to_vec()));
                        assert!(found.is_none_or(|found| found == vec![(number % 40) as u8; 500]));
                        cache.keep(
                            &key(number % 40),
                            value[..500].iter().map(|_| (number % 40) as u8).collect::<Vec<_>>(),
                        );
                    }
                    assert_eq!(cache.counts().damaged, 0);
                });
            }
        });
    }

    #[test]
    fn what_cannot_be_written_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "no folder").unwrap();
        let disk = Disk::new(file.clone(), 1000);
        disk.put(&key(1), frame(&key(1), b"value").into());
        assert!(disk.get(&key(1)).is_none());
        assert_eq!(fs::read(file).unwrap(), b"no folder");
    }
}
