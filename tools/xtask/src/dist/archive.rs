//! Reproducible archives, whose bytes depend on their contents alone: entries in order of name, one time for all of
//! them, without an owner.
//!
//! Two builds of one source give files that can be compared by their checksums. The contents of each archive are
//! decided elsewhere.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// The contents of an archive, by name.
#[derive(Default)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

enum Entry {
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// To another name of the archive, relative to the link.
    Link(String),
}

impl Tree {
    /// Puts a text or other bytes into the archive.
    pub fn text(&mut self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.entries.insert(name.to_owned(), Entry::File { bytes: bytes.into(), executable: false });
    }

    /// Puts a program into the archive.
    pub fn program(&mut self, name: &str, bytes: Vec<u8>) {
        self.entries.insert(name.to_owned(), Entry::File { bytes, executable: true });
    }

    /// Puts a copy of a data file into the archive.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(&mut self, name: &str, from: &Path) -> Result<(), String> {
        self.text(name, super::read(from)?);
        Ok(())
    }

    /// Puts a link into the archive.
    pub fn link(&mut self, name: &str, to: &str) {
        self.entries.insert(name.to_owned(), Entry::Link(to.to_owned()));
    }

    /// Writes all of it below one folder as a compressed `tar` archive; every entry has this time, in seconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, folder: &str, place: &Path, epoch: u64, effort: Compression) -> Result<(), String> {
        let told = |error: std::io::Error| format!("{}: {error}", place.display());
        let file = std::io::BufWriter::new(std::fs::File::create(place).map_err(told)?);
        // Neither name nor time of the packed file.
        let mut builder = Builder::new(GzBuilder::new().mtime(0).write(file, effort));
        for (name, entry) in &self.entries {
            let name = format!("{folder}/{name}");
            let mut header = Header::new_gnu();
            header.set_mtime(epoch);
            match entry {
                Entry::File { bytes, executable } => {
                    header.set_mode(if *executable { 0o755 } else { 0o644 });
                    header.set_size(bytes.len() as u64);
                    builder.append_data(&mut header, name, bytes.as_slice()).map_err(told)?;
                }
                Entry::Link(to) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    builder.append_link(&mut header, name, to).map_err(told)?;
                }
            }
        }
        let compressed = builder.into_inner().map_err(told)?;
        compressed.finish().map_err(told)?.flush().map_err(told)
    }
}

/// Unpacks an archive into a folder.
///
/// # Errors
/// The file is not such an archive, or cannot be written.
pub fn unpack(archive: &Path, folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", archive.display());
    let file = std::fs::File::open(archive).map_err(told)?;
    tar::Archive::new(flate2::read::GzDecoder::new(std::io::BufReader::new(file)))
        .unpack(folder)
        .map_err(told)
}

#[cfg(test)]
mod tests {
    use super::{Tree, unpack};
    use flate2::Compression;

    #[test]
    fn archives_depend_on_their_contents_alone() {
        let folder = crate::root().join("target/scratch/xtask-archives");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for archives");
        let deep = format!("share/{}/page", "long-".repeat(30));
        let written = |name: &str, backwards: bool, time: u64| {
            let mut tree = Tree::default();
            let page = |tree: &mut Tree| tree.text(&deep, "a page");
            let mut steps: Vec<&dyn Fn(&mut Tree)> = vec![
                &|tree| tree.program("bin/oriole", b"program".to_vec()),
                &|tree| tree.link("libexec/ptxas", "../bin/oriole"),
                &page,
            ];
            if backwards {
                steps.reverse();
            }
            steps.iter().for_each(|step| step(&mut tree));
            let place = folder.join(name);
            tree.write("oriole", &place, time, Compression::fast()).expect("an archive is written");
            std::fs::read(place).expect("the archive is there")
        };
        let first = written("a.tar.gz", false, 7);
        assert_eq!(first, written("b.tar.gz", true, 7));
        assert_ne!(first, written("c.tar.gz", false, 8));
        unpack(&folder.join("a.tar.gz"), &folder.join("a")).expect("the archive is one");
        let inside = folder.join("a/oriole");
        assert_eq!(
            std::fs::read(inside.join("libexec/ptxas")).expect("a link that leads somewhere"),
            b"program"
        );
        assert_eq!(std::fs::read(inside.join(&deep)).expect("a long name"), b"a page");
        let mode = std::fs::metadata(inside.join("bin/oriole")).expect("a program").permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o755);
    }
}
