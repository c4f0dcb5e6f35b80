//! Virtual documents: machine code, intermediate representation, cubins as text.
//!
//! Their URIs have all data to recreate them: `oriole:///sass/k.sass?uri=…&kernel=k&chip=sm_90`.

use oriole_chip::Chip;

use crate::environment::Environment;
use crate::outcome::Failure;
use crate::snapshot::Snapshot;
use crate::uri::{decode, encode, to_path};

/// The scheme of the URIs.
pub(crate) const SCHEME: &str = "oriole";

/// The subject of a virtual document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Document {
    /// Machine code of a kernel.
    Sass { uri: String, kernel: String, chip: Option<Chip> },
    /// The intermediate representation of a function after a phase.
    Ori { uri: String, function: String, chip: Option<Chip>, phase: String },
    /// A cubin as annotated text.
    Cubin { uri: String },
}

impl Document {
    /// The URI.
    pub fn uri(&self) -> String {
        let chip = |chip: &Option<Chip>| chip.map_or(String::new(), |chip| format!("&chip={chip}"));
        match self {
            Document::Sass { uri, kernel, chip: on } => {
                let (uri, kernel) = (encode(uri), encode(kernel));
                format!("{SCHEME}:///sass/{kernel}.sass?uri={uri}&kernel={kernel}{}", chip(on))
            }
            Document::Ori { uri, function, chip: on, phase } => {
                let (uri, function, phase) = (encode(uri), encode(function), encode(phase));
                format!(
                    "{SCHEME}:///ori/{function}.{phase}.ori?uri={uri}&function={function}&phase={phase}{}",
                    chip(on)
                )
            }
            Document::Cubin { uri } => format!("{SCHEME}:///cubin/code.sass?uri={}", encode(uri)),
        }
    }

    /// The source document.
    pub fn source(&self) -> &str {
        match self {
            Document::Sass { uri, .. } | Document::Ori { uri, .. } | Document::Cubin { uri } => uri,
        }
    }

    /// Parses a URI.
    pub fn parse(uri: &str) -> Option<Document> {
        let rest = uri.strip_prefix(SCHEME)?.strip_prefix(':')?.trim_start_matches('/');
        let (path, query) = rest.split_once('?')?;
        // Some editors percent-encode the whole query.
        let query = if query.contains('=') { query.to_owned() } else { decode(query)? };
        let get = |name: &str| {
            query.split('&').find_map(|part| {
                let (key, value) = part.split_once('=')?;
                (key == name).then(|| decode(value))?
            })
        };
        let chip = match get("chip") {
            Some(name) => Some(name.parse().ok()?),
            None => None,
        };
        match path.split('/').next()? {
            "sass" => Some(Document::Sass { uri: get("uri")?, kernel: get("kernel")?, chip }),
            "ori" => Some(Document::Ori {
                uri: get("uri")?,
                function: get("function")?,
                chip,
                phase: get("phase")?,
            }),
            "cubin" => Some(Document::Cubin { uri: get("uri")? }),
            _ => None,
        }
    }

    /// The text.
    pub fn text(&self, snapshot: &Snapshot) -> Result<String, Failure> {
        match self {
            Document::Sass { uri, kernel, chip } => {
                let file = snapshot.file(uri)?;
                let chip = snapshot.chip(file, *chip)?;
                let listing = snapshot.analysis.sass(file, kernel, chip)?;
                Ok(listing.map_or_else(
                    || {
                        format!(
                            "// {kernel} does not compile for {chip}, and did not since the file was opened\n"
                        )
                    },
                    |listing| listing.text(),
                ))
            }
            Document::Ori { uri, function, chip, phase } => {
                let file = snapshot.file(uri)?;
                let chip = snapshot.chip(file, *chip)?;
                let text = snapshot.analysis.ori(file, function, chip, phase)?;
                Ok(text.unwrap_or_else(|error| format!("// {error}\n")))
            }
            Document::Cubin { uri } => cubin(uri, &*snapshot.environment).map(|found| found.text),
        }
    }
}

/// Bytes of a cubin that is shown, at most.
const LARGEST_CUBIN: usize = 1 << 30;

/// A cubin on disk as text.
pub(crate) fn cubin(uri: &str, environment: &dyn Environment) -> Result<oriole_ide::Annotated, Failure> {
    let path = to_path(uri).ok_or_else(|| Failure::Invalid(format!("`{uri}` is no file")))?;
    let bytes = environment
        .read(&path, LARGEST_CUBIN)
        .ok_or_else(|| Failure::Failed(format!("{} cannot be read", path.display())))?;
    if bytes.len() > LARGEST_CUBIN {
        return Err(Failure::Failed(format!("{} has more than {LARGEST_CUBIN} bytes", path.display())));
    }
    oriole_ide::annotate(&bytes).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back() {
        let uri = "file:///a%20b/k.ptx?x=1&y".to_owned();
        for document in [
            Document::Sass { uri: uri.clone(), kernel: "k$1".to_owned(), chip: Some(Chip::SM_90A) },
            Document::Ori {
                uri: uri.clone(),
                function: "f".to_owned(),
                chip: None,
                phase: "GvnCse".to_owned(),
            },
            Document::Cubin { uri },
        ] {
            assert_eq!(Document::parse(&document.uri()), Some(document));
        }
        assert_eq!(Document::parse("oriole:///other?x"), None);
        assert_eq!(Document::parse("file:///a"), None);
    }
}
