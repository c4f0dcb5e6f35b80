//! The files that several arguments of a command mean: files, folders with every PTX file below them, and patterns.
//!
//! It is here so that `check` and `fmt` take the same arguments. No file is read.

use super::{FileError, folder, input};
use crate::outcome::{Outcome, failed, misused};
use globset::{GlobBuilder, GlobMatcher};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The files, each once, in the order of the arguments.
#[derive(Debug, Default)]
pub struct Sources {
    /// The paths.
    pub files: Vec<PathBuf>,
    /// Arguments that mean no file.
    pub errors: Vec<SourceError>,
}

/// Why an argument means no file.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The path leads to nothing.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder without PTX.
    #[error("{0}: there is no `.ptx` file below this folder")]
    Empty(String),
    /// A pattern that no file has.
    #[error("{0}: no file has a name of this pattern")]
    Unmatched(String),
    /// The pattern is none.
    #[error("{pattern}: {error}")]
    Pattern {
        /// The argument.
        pattern: String,
        /// The mistake in it.
        error: globset::Error,
    },
}

impl SourceError {
    /// Says why, and how the command ends.
    pub fn report(&self) -> Outcome {
        match self {
            SourceError::Pattern { .. } => misused(self),
            _ => failed(self),
        }
    }
}

impl Sources {
    /// The files that arguments mean. With `whole` a folder is left as it is: a cache of images.
    pub fn of(arguments: &[PathBuf], whole: bool) -> Sources {
        let mut sources = Sources::default();
        let mut seen = HashSet::new();
        for argument in arguments {
            match meant(argument, whole) {
                Ok(files) => {
                    let new = |path: &PathBuf| seen.insert(path.canonicalize().unwrap_or(path.clone()));
                    sources.files.extend(files.into_iter().filter(new));
                }
                Err(error) => sources.errors.push(error),
            }
        }
        sources
    }
}

/// Whether a name that leads to nothing is a pattern of names.
pub fn is_pattern(name: &Path) -> bool {
    name.to_str().is_some_and(|text| text.contains(['*', '?', '[', '{']))
}

fn meant(argument: &Path, whole: bool) -> Result<Vec<PathBuf>, SourceError> {
    if input::is_standard(argument) {
        return Ok(vec![argument.to_owned()]);
    }
    match argument.metadata() {
        Ok(facts) if facts.is_dir() && !whole => {
            let files: Vec<PathBuf> = folder::ptx_below(argument).into_iter().map(relative).collect();
            if files.is_empty() { Err(SourceError::Empty(argument.display().to_string())) } else { Ok(files) }
        }
        Ok(_) => Ok(vec![argument.to_owned()]),
        Err(error) => match argument.to_str().filter(|_| is_pattern(argument)) {
            Some(pattern) => matching(pattern),
            None => Err(FileError::of(argument)(error).into()),
        },
    }
}

/// Without the `./` of the current folder.
fn relative(path: PathBuf) -> PathBuf {
    path.strip_prefix(".").map_or(path.clone(), Path::to_owned)
}

/// The files with a name of a pattern, in the order of names: `*` and `?` stay within a folder, `**` is any number of folders.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, SourceError> {
    let wrong = |error| SourceError::Pattern { pattern: pattern.to_owned(), error };
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(wrong)?;
    let matcher: GlobMatcher = glob.compile_matcher();
    // Up to the first folder whose name is not written out.
    let special = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let start = pattern[..special].rfind('/').map_or("", |end| &pattern[..=end]);
    let folder = if start.is_empty() { Path::new(".") } else { Path::new(start) };
    let name = |path: &Path| if start.is_empty() { relative(path.to_owned()) } else { path.to_owned() };
    let rest = &pattern[start.len()..];
    let depth = if rest.contains("**") { usize::MAX } else { rest.matches('/').count() };
    let files: Vec<PathBuf> = folder::below(folder, depth, |path| matcher.is_match(name(path)))
        .into_iter()
        .map(|path| name(&path))
        .collect();
    if files.is_empty() { Err(SourceError::Unmatched(pattern.to_owned())) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_files_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        for name in ["b.ptx", "a.ptx", "sub/c.ptx", "d.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let given = |pattern: &str| {
            let sources = Sources::of(&[folder.path().join(pattern)], false);
            let short = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
            let errors = sources.errors.iter().map(ToString::to_string);
            let errors = errors.map(|text| text.replace(&folder.path().display().to_string(), ""));
            sources.files.iter().map(short).chain(errors).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(given("*.ptx"), "a.ptx b.ptx");
        assert_eq!(given("**/*.ptx"), "a.ptx b.ptx sub/c.ptx");
        assert_eq!(given("[ad].*"), "a.ptx d.txt");
        assert_eq!(given("{a,b}.ptx"), "a.ptx b.ptx");
        assert_eq!(given(""), "a.ptx b.ptx sub/c.ptx");
        assert_eq!(given("*.cu"), "/*.cu: no file has a name of this pattern");
        assert!(given("[a.ptx").contains("[a.ptx: "));
        let twice = [folder.path().join("a.ptx"), folder.path().to_owned()];
        assert_eq!(Sources::of(&twice, false).files.len(), 3);
    }
}
