//! The code that is profiled: compiled here, or read from a cubin, with the sources that it names. No time is known here.

use crate::files::DeviceError;
use crate::files::device::{self, Asked, Given, Wanted};
use crate::files::input;
use oriole_chip::Chip;
use oriole_explore::ProfiledImage;
use oriole_ide::{AnalysisHost, Language, Settings, SettingsId};
use oriole_options::Options;
use std::path::Path;

/// Bytes of a source that is read for its lines, at most.
const LARGEST_SOURCE: u64 = 16 << 20;

/// The first file of the command line.
pub enum Source {
    /// A cubin.
    Cubin(Vec<u8>),
    /// Launch records.
    Records,
    /// PTX.
    Text(String),
}

impl Source {
    /// A file, or the image in it that was asked for, by how it begins.
    ///
    /// # Errors
    /// It cannot be read, is none of these, or has not one such image.
    pub fn of(path: &Path, asked: Asked<'_>) -> Result<Source, DeviceError> {
        Ok(match device::either(path, asked)? {
            Given::Cubin(image) => Source::Cubin(image.bytes),
            Given::Text(text) => match text.trim_ascii_start().starts_with('{') {
                true if path.extension().is_none_or(|extension| extension != "ptx") => Source::Records,
                _ => Source::Text(text),
            },
        })
    }
}

/// How a text is compiled.
pub struct Compile {
    /// The chip; that of the text if there is none.
    pub chip: Option<Chip>,
    /// The options.
    pub options: Options,
    /// The chip as it was asked for, which chooses among the images of a file.
    pub arch: Option<String>,
}

impl Compile {
    /// Which image of a file with a cubin.
    pub fn asked(&self) -> Asked<'_> {
        Asked { chip: self.arch.as_deref(), ..Asked::default() }
    }

    /// The code of a cubin.
    ///
    /// # Errors
    /// It is no cubin, or its code or its line table cannot be read.
    pub fn read(&self, path: &Path, bytes: &[u8]) -> Result<ProfiledImage, String> {
        let image = ProfiledImage::read(bytes).map_err(|error| format!("{}: {error}", path.display()));
        image.map(|image| with_sources(image, path))
    }

    /// The code of a text: that of a cubin if there is one, else compiled.
    ///
    /// # Errors
    /// As [`Compile::read`] and [`Compile::compiled`].
    pub fn compiled_or(
        &self,
        path: &Path,
        text: &str,
        cubin: Option<&Path>,
    ) -> Result<ProfiledImage, String> {
        match cubin {
            Some(cubin) => {
                let image = device::image(cubin, Wanted::Cubin, self.asked());
                self.read(cubin, &image.map_err(|error| error.to_string())?.bytes)
            }
            None => self.compiled(path, text),
        }
    }

    /// The code of a text, with its lines and spills.
    ///
    /// # Errors
    /// The text does not compile.
    pub fn compiled(&self, path: &Path, text: &str) -> Result<ProfiledImage, String> {
        const SHARED: SettingsId = SettingsId(0);
        let mut options = self.options.clone();
        options.debug.lines |= text.contains(".loc") && !options.debug.full;
        let mut host = AnalysisHost::new();
        host.set_settings(SHARED, Settings { targets: self.chip.into_iter().collect(), options });
        let file = host.open(Language::Ptx, text, SHARED);
        let analysis = host.analysis();
        let failed = |first: String| format!("{}: {first}", path.display());
        // Nothing changes and nothing cancels here: each answer is there.
        let cancelled = |_| failed("the compile was cancelled".to_owned());
        let chip = *analysis.targets(file).map_err(cancelled)?.first().ok_or("the file names no chip")?;
        let image = ProfiledImage::compiled(&analysis, file, chip).map_err(cancelled)?;
        let image = image.map_err(|error| failed(error.to_string()))?;
        Ok(with_sources(image, path))
    }
}

/// An image with its sources, where those can be read: as they are named, or in the folder of the code.
fn with_sources(mut image: ProfiledImage, path: &Path) -> ProfiledImage {
    image.give_sources(|file| {
        let named = Path::new(file);
        let beside = path.parent().zip(named.file_name()).map(|(folder, name)| folder.join(name));
        let known = [Some(named.to_owned()), beside]
            .into_iter()
            .flatten()
            .find(|path| path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST_SOURCE));
        known.and_then(|path| input::text(&path).ok()).unwrap_or_default()
    });
    image
}
