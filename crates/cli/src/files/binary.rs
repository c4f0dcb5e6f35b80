//! A file, or a folder of files, with the images in it. Which of them a command takes is not decided here.

use super::chosen::{Chosen, DeviceError};
use super::{FileError, input};
use crate::names;
use oriole_diagnostics::Code;
use oriole_fatbin::{Contents, Extractor, Fault, Format, Image, Kind, Source, scan};
use oriole_syntax::{UnitKind, split_file};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Files of a folder that are looked at, and folders inside of each other.
const MOST_FILES: usize = 1 << 16;
const DEEPEST: usize = 8;

/// Files of a folder that hold images, by the ends of their names.
const ENDS: &[&str] = &["cubin", "ptx", "fatbin", "o", "so", "a"];

/// A file with device code.
pub struct Binary {
    shown: String,
    is_folder: bool,
    files: Vec<Looked>,
    /// All images, with their file.
    images: Vec<(usize, Image)>,
    faults: Vec<(usize, Fault)>,
}

/// A file that was read.
struct Looked {
    path: PathBuf,
    format: Format,
    /// Kept if it is not a regular file.
    bytes: Option<Vec<u8>>,
}

/// A regular file, of which parts are read.
struct Opened {
    file: File,
    size: u64,
}

impl Source for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }
}

fn open(path: &Path) -> Result<Opened, FileError> {
    let opened = || {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Opened { file, size })
    };
    opened().map_err(FileError::of(path))
}

/// Chip and names of an image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outline {
    /// Its chip.
    pub chip: Option<String>,
    /// Its kernels.
    pub kernels: Vec<String>,
    /// Its other functions.
    pub functions: Vec<String>,
}

impl Outline {
    /// Of the bytes of an image; none if they cannot be read, or the kind has no such thing.
    pub fn of(kind: Kind, bytes: &[u8]) -> Option<Outline> {
        if kind == Kind::Cubin {
            let outline = oriole_cubin::outline(bytes).ok()?;
            let letter = if outline.accelerated { "a" } else { "" };
            let chip = Some(format!("sm_{}{letter}", outline.sm));
            return Some(Outline { chip, kernels: outline.kernels, functions: outline.functions });
        }
        let text = std::str::from_utf8(bytes).ok().filter(|_| kind.is_ptx())?;
        Some(Outline::of_text(text))
    }

    fn of_text(text: &str) -> Outline {
        let mut outline = Outline::default();
        for unit in split_file(text) {
            match unit.kind {
                UnitKind::Entry => outline.kernels.push(unit.name.into()),
                UnitKind::Function => outline.functions.push(unit.name.into()),
                // Of several chips the last one counts.
                UnitKind::Header => {
                    let lines = unit.text(text).lines().map(str::trim);
                    let words = lines.filter_map(|line| line.strip_prefix(".target"));
                    let mut chips = words.flat_map(|words| words.split([',', ' ', '\t']));
                    let chip = chips.rfind(|word| word.starts_with("sm_"));
                    outline.chip = chip.map(str::to_owned).or(outline.chip);
                }
                _ => {}
            }
        }
        outline
    }
}

impl Binary {
    /// Finds the images of a file or a folder.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Binary, DeviceError> {
        if !input::is_standard(path) && path.is_dir() {
            return Binary::of_folder(path);
        }
        if input::is_standard(path) || !input::is_regular(path) {
            return Binary::of_bytes(path, input::bytes(path)?);
        }
        let mut binary = Binary::empty(path);
        let contents = scan(&open(path)?).map_err(FileError::of(path))?;
        binary.add(path.to_owned(), None, contents);
        Ok(binary)
    }

    /// Finds the images of bytes that were read.
    ///
    /// # Errors
    /// As [`Binary::open`].
    pub fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Binary, DeviceError> {
        let mut binary = Binary::empty(path);
        let contents = scan(&Bytes(&bytes)).map_err(FileError::of(path))?;
        binary.add(path.to_owned(), Some(bytes), contents);
        Ok(binary)
    }

    fn of_folder(path: &Path) -> Result<Binary, DeviceError> {
        let mut binary = Binary { is_folder: true, ..Binary::empty(path) };
        let mut files = Vec::new();
        collect(path, DEEPEST, &mut files).map_err(FileError::of(path))?;
        files.sort();
        for path in files {
            let contents = scan(&open(&path)?).map_err(FileError::of(&path))?;
            if !contents.images.is_empty() || !contents.faults.is_empty() {
                binary.add(path, None, contents);
            }
        }
        Ok(binary)
    }

    fn empty(path: &Path) -> Binary {
        Binary {
            shown: input::shown(path),
            is_folder: false,
            files: Vec::new(),
            images: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn add(&mut self, path: PathBuf, bytes: Option<Vec<u8>>, contents: Contents) {
        let file = self.files.len();
        self.images.extend(contents.images.into_iter().map(|image| (file, image)));
        self.faults.extend(contents.faults.into_iter().map(|fault| (file, fault)));
        self.files.push(Looked { path, format: contents.format, bytes });
    }

    /// The bytes that it was made of.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.files.pop().and_then(|file| file.bytes).unwrap_or_default()
    }

    /// How messages name it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Its kind, for messages.
    pub fn described(&self) -> &'static str {
        match self.files.first() {
            _ if self.is_folder => "a folder",
            Some(file) => file.format.described(),
            None => "nothing",
        }
    }

    /// Whether the file is itself an image.
    pub fn is_one_image(&self) -> bool {
        let is_image = |file: &Looked| matches!(file.format, Format::Cubin | Format::Ptx);
        !self.is_folder && self.files.first().is_some_and(is_image)
    }

    /// Number of images.
    pub fn count(&self) -> usize {
        self.images.len()
    }

    /// An image.
    pub fn image(&self, number: usize) -> &Image {
        &self.images[number].1
    }

    /// The kind of an image.
    pub fn kind(&self, number: usize) -> Kind {
        self.image(number).kind
    }

    /// The file of an image, in a folder.
    pub fn file_of(&self, number: usize) -> Option<&Path> {
        self.is_folder.then(|| self.files[self.images[number].0].path.as_path())
    }

    /// Whether an image is for a linker: its section is in files that have other sections for linked code.
    pub fn is_unlinked(&self, number: usize) -> bool {
        self.image(number).origin.section.as_deref() == Some("__nv_relfatbin")
    }

    /// The chip of an image, if it is known. An image without a header is read.
    pub fn chip(&self, number: usize) -> Option<String> {
        let image = self.image(number);
        image.chip_name().or_else(|| Outline::of(image.kind, &self.unpacked(number).ok()?.bytes)?.chip)
    }

    /// The names by which an image is found: those of its source, of its member of an archive, and of its file.
    pub fn names(&self, number: usize) -> impl Iterator<Item = &str> {
        let image = self.image(number);
        let file = self.file_of(number).and_then(Path::to_str);
        image.name.as_deref().into_iter().chain(image.origin.member.as_deref()).chain(file)
    }

    /// A line about an image.
    pub fn row(&self, number: usize) -> String {
        let names: Vec<&str> = self.names(number).collect();
        let chip = self.chip(number).unwrap_or_default();
        let row = format!("#{} {} {chip} {}", number + 1, self.kind(number), names.join(" "));
        row.trim_end().to_owned()
    }

    /// The damaged places, with their files.
    pub fn faults(&self) -> impl Iterator<Item = (&Path, &Fault)> {
        self.faults.iter().map(|(file, fault)| (self.files[*file].path.as_path(), fault))
    }

    /// Says what is damaged.
    pub fn warn(&self) {
        for (path, fault) in self.faults() {
            eprintln!("warning[{}]: {}: {fault}", Code::DamagedFile, input::shown(path));
        }
    }

    /// Gives some images, or why they cannot be unpacked, one after the other. Images that are packed together are unpacked once, if
    /// they follow each other.
    ///
    /// # Errors
    /// A file cannot be opened any more.
    pub fn each(
        &self,
        numbers: &[usize],
        mut give: impl FnMut(Result<Chosen, DeviceError>),
    ) -> Result<(), DeviceError> {
        self.each_numbered(numbers, |_, chosen| give(chosen))
    }

    /// The same with the number of each image, from 0.
    ///
    /// # Errors
    /// As [`Binary::each`].
    pub fn each_numbered(
        &self,
        numbers: &[usize],
        mut give: impl FnMut(usize, Result<Chosen, DeviceError>),
    ) -> Result<(), DeviceError> {
        for group in numbers.chunk_by(|&one, &other| self.images[one].0 == self.images[other].0) {
            let file = &self.files[self.images[group[0]].0];
            let mut all = |source: &dyn Source| {
                let mut extractor = Extractor::new(source);
                for &number in group {
                    let label = self.label(number);
                    let chosen = match extractor.bytes(self.image(number)) {
                        Ok(bytes) => {
                            let number = (!self.is_one_image()).then_some(number + 1);
                            Ok(Chosen { number, label, bytes })
                        }
                        Err(error) => Err(DeviceError::Unpack { label, error }),
                    };
                    give(number, chosen);
                }
            };
            match &file.bytes {
                Some(bytes) => all(&Bytes(bytes)),
                None => all(&open(&file.path)?),
            }
        }
        Ok(())
    }

    /// An image.
    ///
    /// # Errors
    /// It cannot be unpacked.
    pub fn unpacked(&self, number: usize) -> Result<Chosen, DeviceError> {
        let mut found = None;
        self.each(&[number], |chosen| found = Some(chosen))?;
        // Each number is given once.
        found.unwrap_or_else(|| {
            Err(FileError::of(Path::new(&self.shown))(io::ErrorKind::NotFound.into()).into())
        })
    }

    /// How messages name an image.
    pub fn label(&self, number: usize) -> String {
        match self.file_of(number) {
            Some(file) => file.display().to_string(),
            None if self.is_one_image() => self.shown.clone(),
            None => format!("{} #{}", self.shown, number + 1),
        }
    }

    /// Those that have one of these kernels or functions.
    ///
    /// # Errors
    /// One cannot be unpacked.
    pub fn with_kernels(&self, numbers: &[usize], asked: &[String]) -> Result<Vec<usize>, DeviceError> {
        let mut fitting = Vec::new();
        let mut broken = None;
        self.each_numbered(numbers, |number, chosen| match chosen {
            Ok(chosen) => {
                let outline = Outline::of(self.kind(number), &chosen.bytes).unwrap_or_default();
                let known: Vec<&str> =
                    outline.kernels.iter().chain(&outline.functions).map(String::as_str).collect();
                if asked.iter().any(|name| names::is_any(&known, name)) {
                    fitting.push(number);
                }
            }
            Err(error) => broken = broken.take().or(Some(error)),
        })?;
        match broken.filter(|_| fitting.is_empty()) {
            Some(error) => Err(error),
            None => Ok(fitting),
        }
    }
}

/// Bytes in memory.
struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)
    }
}

/// The files of a folder that may hold images. Links are not followed: they may lead in a circle.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)?;
        }
        let end = path.extension().and_then(|end| end.to_str());
        if kind.is_file() && end.is_some_and(|end| ENDS.contains(&end)) {
            if files.len() >= MOST_FILES {
                return Err(io::Error::other(format!("there are more than {MOST_FILES} files with images")));
            }
            files.push(path);
        }
    }
    Ok(())
}
